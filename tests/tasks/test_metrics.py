"""Equal to scikit-learn, ties included."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn import metrics as sk

from hypergraph.tasks import metrics


@pytest.mark.parametrize("num_classes", [2, 3, 7])
@pytest.mark.parametrize("seed", range(5))
def test_predictions(num_classes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    label = random.integers(0, num_classes, 200)
    guess = np.where(random.random(200) < 0.5, label, random.integers(0, num_classes, 200))
    ours = torch.from_numpy(guess), torch.from_numpy(label)
    assert metrics.accuracy(*ours) == pytest.approx(sk.accuracy_score(label, guess), abs=1e-12)
    average = "binary" if num_classes == 2 else "micro"
    assert metrics.f1(*ours, num_classes) == pytest.approx(
        sk.f1_score(label, guess, average=average), abs=1e-12
    )
    assert metrics.mcc(*ours, num_classes) == pytest.approx(sk.matthews_corrcoef(label, guess), abs=1e-12)


@pytest.mark.parametrize("levels", [2, 5, 1000000])
@pytest.mark.parametrize("seed", range(5))
def test_scores(levels: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, 300)
    score = (np.floor((0.3 * label + random.random(300)) * levels) / levels).astype(np.float32)
    ours = torch.from_numpy(score), torch.from_numpy(label)
    assert metrics.auc(*ours) == pytest.approx(sk.roc_auc_score(label, score), abs=1e-12)
    assert metrics.average_precision(*ours) == pytest.approx(
        sk.average_precision_score(label, score), abs=1e-12
    )


def test_degenerate() -> None:
    zeros, ones = torch.zeros(4, dtype=torch.long), torch.ones(4, dtype=torch.long)
    assert metrics.f1(zeros, zeros, 2) == 0.0
    assert metrics.f1(ones, zeros, 2) == 0.0
    assert metrics.mcc(zeros, torch.tensor([0, 1, 0, 1]), 2) == 0.0
    assert metrics.auc(torch.zeros(4), torch.tensor([0, 1, 0, 1])) == 0.5
    assert np.isnan(metrics.auc(torch.rand(4), ones))

"""Paired differences: scipy's test and interval, and what is said where nothing can be."""

from __future__ import annotations

import numpy as np
import pytest

from hypergraph.tasks.result import Result
from hypergraph.tasks.statistics import paired, paired_runs


def test_the_test_is_scipys_and_the_interval_holds_the_truth() -> None:
    from scipy.stats import ttest_rel

    random = np.random.default_rng(0)
    ours, theirs = random.normal(size=(2, 6))
    assert paired(list(ours - theirs)).p == pytest.approx(ttest_rel(ours, theirs).pvalue)
    held = 0
    for _ in range(200):
        interval = paired(list(random.normal(0.3, 1.0, 20))).interval
        assert interval is not None
        held += interval[0] <= 0.3 <= interval[1]
    assert 0.88 <= held / 200 <= 0.99


@pytest.mark.parametrize(
    ("differences", "interval", "p", "settled"),
    [
        ([0.1], None, None, "open"),
        ([0.0, 0.0, 0.0], (0.0, 0.0), 1.0, "open"),
        ([0.5, 0.5], (0.5, 0.5), 0.0, "better"),
        ([-0.5, -0.5], (-0.5, -0.5), 0.0, "worse"),
    ],
)
def test_where_nothing_varies(
    differences: list[float], interval: tuple[float, float] | None, p: float | None, settled: str
) -> None:
    found = paired(differences)
    assert (found.interval, found.p, found.settled, found.pairs) == (interval, p, settled, len(differences))


def test_only_shared_seeds_count() -> None:
    def run(values: dict[int, float]) -> Result:
        seeds = [{"seed": seed, "test": {"f1": value}, "val": {}} for seed, value in values.items()]
        return Result("node-clf", "f1", {}, {}, "", 0, seeds, 0, {}, 0.0)

    found = paired_runs(run({0: 0.9, 1: 0.8, 2: 0.1}), run({2: 0.2, 0: 0.7, 7: 0.0}))
    assert found is not None and found.pairs == 2 and found.mean == pytest.approx(0.05)
    assert found.settled == "open"
    assert paired_runs(run({0: 0.9}), run({1: 0.9})) is None

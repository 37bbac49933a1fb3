"""The paper's metrics, vectorised: every function takes tensors and returns a float as scikit-learn would."""

from __future__ import annotations

import torch
from torch import Tensor


def accuracy(predicted: Tensor, label: Tensor) -> float:
    """The share of right predictions."""
    return (predicted == label).double().mean().item()


def f1(predicted: Tensor, label: Tensor, num_classes: int) -> float:
    """Micro F1, which is the accuracy where every node has one label; on two classes the F1 of class 1."""
    if num_classes > 2:
        return accuracy(predicted, label)
    right = torch.count_nonzero((predicted == 1) & (label == 1)).item()
    wrong = torch.count_nonzero(predicted != label).item()
    return 2 * right / (2 * right + wrong) if right or wrong else 0.0


def confusion(predicted: Tensor, label: Tensor, num_classes: int) -> Tensor:
    """How many of each class (row) were taken for each class (column)."""
    cells = torch.bincount(label * num_classes + predicted, minlength=num_classes**2)
    return cells.view(num_classes, num_classes)


def mcc(predicted: Tensor, label: Tensor, num_classes: int) -> float:
    """Matthews' correlation coefficient, for any number of classes; 0 where one side is constant."""
    cells = confusion(predicted, label, num_classes).double()
    total, true, guess = cells.sum(), cells.sum(1), cells.sum(0)
    covariance = cells.trace() * total - true @ guess
    spread = (total**2 - guess @ guess) * (total**2 - true @ true)
    return (covariance / spread.sqrt()).item() if spread > 0 else 0.0


def _thresholds(score: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
    """Positives and negatives at or above each distinct score, the highest score first."""
    score, order = score.detach().sort(descending=True)
    positive = label[order].double().cumsum(0)
    rank = torch.arange(1, len(score) + 1, dtype=torch.float64, device=score.device)
    last = torch.cat([score[1:] != score[:-1], score.new_ones(1, dtype=torch.bool)])
    return positive[last], (rank - positive)[last]


def auc(score: Tensor, label: Tensor) -> float:
    """Area under the ROC curve, ties counted a half; NaN where one of the two classes is missing."""
    positive, negative = _thresholds(score, label)
    zero = positive.new_zeros(1)
    height, width = torch.cat([zero, positive]), torch.cat([zero, negative])
    area = torch.trapezoid(height, width)
    return (area / (positive[-1] * negative[-1])).item()


def average_precision(score: Tensor, label: Tensor) -> float:
    """Area under the precision-recall steps; NaN where there is no positive."""
    positive, negative = _thresholds(score, label)
    gain = torch.diff(positive, prepend=positive.new_zeros(1)) / positive[-1]
    return (gain * positive / (positive + negative)).sum().item()

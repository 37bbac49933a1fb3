"""The tasks by name, without importing torch, and what each must offer."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hypergraph.tasks.config import Config

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import nn
    from torch.optim import Optimizer

    from hypergraph.tasks.loop import Schedule


class Task(Protocol):
    """One seed of a task: what the loop trains (``keeper.Trainable``), and what is asked of it then."""

    model: nn.Module
    optimizer: Optimizer
    schedule: Schedule

    def __init__(self, config: Any, seed: int, data: Any) -> None: ...

    @staticmethod
    def load(config: Any) -> Any:
        """The data of every seed; mistakes in what was asked for are found here, before a folder is made."""
        ...

    @staticmethod
    def fingerprint(data: Any) -> str:
        """A hash of the data: a run goes on, and its model is used, only with the same."""
        ...

    @staticmethod
    def about(config: Any, data: Any) -> dict[str, Any]:
        """What ``result.json`` says of the data: the split, and why it leaks if it does."""
        ...

    def train_epoch(self, epoch: int) -> float: ...

    def evaluate(self) -> dict[str, float]: ...

    def test(self) -> dict[str, Any]:
        """Metrics of the present weights: ``{"val": {...}, "test": {...}}``; of classes ``confusion`` too."""
        ...

    def embedding(self) -> dict[str, NDArray[Any]]:
        """The arrays of ``embedding.npz``: ``points``, ``K``, ``space``, and what is known of each point."""
        ...

    def predictions(self) -> dict[str, NDArray[np.generic]]:
        """The columns of ``hypergraph predict``."""
        ...


@dataclass(frozen=True)
class Kind:
    """A task: where its configuration and its class are, the metric that tables show, and what it is."""

    config: str
    task: str
    metric: str
    help: str

    def load_config(self) -> type[Config]:
        return _import(self.config)

    def load_task(self) -> type[Task]:
        return _import(self.task)


KINDS: Mapping[str, Kind] = {
    "node-clf": Kind(
        "hypergraph.tasks.config:NodeConfig",
        "hypergraph.tasks.node_clf:NodeClf",
        "f1",
        "Train and test node classification: mean ± std over seeds, and a run folder.",
    ),
    "link-pred": Kind(
        "hypergraph.tasks.config:LinkConfig",
        "hypergraph.tasks.link_pred:LinkPred",
        "auc",
        "Train and test link prediction: mean ± std over seeds, and a run folder.",
    ),
    "image": Kind(
        "hypergraph.tasks.classify_config:ImageConfig",
        "hypergraph.tasks.image:Image",
        "accuracy",
        "Train and test image classification: a ResNet-18 and any head.",
    ),
    "genome": Kind(
        "hypergraph.tasks.classify_config:GenomeConfig",
        "hypergraph.tasks.genome:Genome",
        "mcc",
        "Train and test the classification of DNA: a CNN and any head.",
    ),
}

METRICS: Mapping[str, str] = {
    "f1": "F1",
    "accuracy": "accuracy",
    "auc": "AUC",
    "ap": "AP",
    "mcc": "MCC",
    "loss": "loss",
}


def _import(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)

"""A run as an object: its model, its settings, what it found, and what it predicts."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypergraph.errors import InputError
from hypergraph.tasks.config import Config
from hypergraph.tasks.result import Result
from hypergraph.tasks.run import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn


class LoadedRun:
    """A finished run; :func:`load_run` makes it.

    Args:
        folder: The run folder.
        seed: Whose model; by default the best on validation.
        data: The graph of a run that was made in Python from one; other runs find their data themselves.

    Example:
        >>> from hypergraph import load_run
        >>> from hypergraph.tasks import node_classification
        >>> result = node_classification("disease", "bmlr-p", seeds=1, epochs=2, out="runs/example")
        >>> run = load_run("runs/example")
        >>> run.config.head, run.classes_, run.embed().shape
        ('bmlr-p', ('0', '1'), (1044, 16))
        >>> sorted(set(run.predict().tolist()) - {"0", "1"})
        []
    """

    def __init__(self, folder: Path, seed: int | None = None, data: Any = None) -> None:
        self.folder, self.seed = folder, seed
        self._run = Run.open(folder)
        self._data = data

    @property
    def config(self) -> Config:
        """Its settings."""
        return self._run.config

    @cached_property
    def results(self) -> Result:
        """What it found: ``results.mean``, ``results.std``, ``results.values("accuracy")``."""
        return Result.read(self.folder)

    @cached_property
    def task(self) -> Any:
        """The task with the trained model, on the run's own data."""
        from hypergraph.tasks.predict import load_task

        return load_task(self.folder, self.seed, own=self._data)

    @property
    def model(self) -> nn.Module:
        """The trained model, ready to predict."""
        model: nn.Module = self.task.model
        return model.eval()

    @cached_property
    def classes_(self) -> tuple[str, ...]:
        """The names of the classes, in the order of the model's outputs; none of link prediction."""
        found: tuple[str, ...] = getattr(self.task, "classes", None) or self.task.data.classes
        return tuple(found)

    def predict(self, data: Any = None, **options: Any) -> NDArray[Any]:
        """The predicted class of every node or example by name; of link prediction the probability of pairs.

        Args:
            data: Another graph, in any form that :func:`hypergraph.datasets.load_graph` takes; by default the
                run's own data.
            **options: Those of :meth:`table`.
        """
        table = self.table(data, **options)
        return table["predicted" if "predicted" in table else "probability"]

    def predict_proba(self, data: Any = None) -> NDArray[Any]:
        """The probability of every class, in the order of :attr:`classes_`."""
        import numpy as np

        table = self.table(data)
        if "predicted" not in table:
            raise InputError(f"{self.folder}: a run of {self.config.task} has no classes; use predict.")
        return np.stack([table[f"p_{name}"] for name in self.classes_], axis=1)

    def embed(self, data: Any = None) -> NDArray[Any]:
        """The points of the nodes, or of the test examples."""
        if data is None:
            return self._alone(lambda task: task.embedding()["points"])
        import numpy as np

        table = self.table(data, embedding=True)
        return np.stack([column for name, column in table.items() if name != "node"], axis=1)

    def table(self, data: Any = None, **options: Any) -> dict[str, NDArray[Any]]:
        """The columns that ``hypergraph predict`` writes, with the ids of nodes.

        Args:
            data: Another graph; by default the run's own data.
            **options: Those of :func:`hypergraph.tasks.predict.predictions`, such as ``top_links=10``.
        """
        if data is None and not options:
            return self._alone(lambda task: task.predictions())
        from hypergraph.tasks.predict import predictions

        own = self._data if data is None else None
        return dict(predictions(self.folder, seed=self.seed, dataset=data, own=own, **options))

    def show(self, height: int = 640, method: str = "auto") -> Any:
        """The run in a notebook, to be explored: see :func:`hypergraph.viz.show`."""
        from hypergraph.viz.scene import run_scene
        from hypergraph.viz.widget import widget

        return widget([run_scene(self.folder, method, data=self._data)], height)

    def _alone(self, ask: Callable[[Any], Any]) -> Any:
        from hypergraph.tasks.runner import alone

        with alone(self.config, self.config.seed):
            return ask(self.task)

    def __repr__(self) -> str:
        return f"LoadedRun({str(self.folder)!r}, {self.config.task}, {self.results.headline()})"


def load_run(run: str | os.PathLike[str] | Result, seed: int | None = None, data: Any = None) -> LoadedRun:
    """A finished run as an object.

    Args:
        run: A run folder, or what a task returned in Python.
        seed: Whose model; by default the best on validation.
        data: The graph of a run that was made in Python from one, where ``run`` is its folder.

    Example:
        >>> from hypergraph.tasks import node_classification
        >>> result = node_classification("disease", "bmlr-p", seeds=1, epochs=1, out="runs/one")
        >>> run = load_run("runs/one")  # or load_run(result)
        >>> run.config.head, run.predict().shape, run.embed().shape
        ('bmlr-p', (1044,), (1044, 16))
    """
    if isinstance(run, Result):
        return LoadedRun(run.folder, seed, run.data if data is None else data)
    return LoadedRun(Path(run), seed, data)

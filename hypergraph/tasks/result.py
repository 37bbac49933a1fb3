"""What a run found: the object that Python gets, ``result.json`` holds and the commands print."""

from __future__ import annotations

import json
import os
import statistics
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin, get_type_hints

from hypergraph.errors import InputError
from hypergraph.files import reading
from hypergraph.tasks.kinds import METRICS
from hypergraph.tasks.sealed import read_json

if TYPE_CHECKING:
    from rich.table import Table


@dataclass
class Result:
    """The numbers of a run, shares between 0 and 1.

    Args:
        task: ``"node-clf"``, ``"link-pred"`` ...
        metric: The metric that tables show, such as ``"f1"``.
        about: What is known of the data: split, and why it leaks if it does.
        config: The whole configuration.
        data_sha256: The hash of the data.
        parameters: The number of trained parameters.
        seeds: For each seed: ``seed``, ``val`` and ``test`` metrics, ``best_epoch``, ``epochs``, ``seconds``,
            and the ``confusion`` matrix of the test part where there are at most 100 classes.
        model_seed: The seed with the best validation metric, whose model the folder holds.
        versions: Of everything that the numbers may depend on.
        seconds: Wall time of the command that finished the run.
        files: The SHA-256 of each file of the run; none in runs of versions that did not keep it.
        folder: The run folder; not in ``result.json``, which may be moved.
        data: The graph, where the run was made in Python from one.

    Example:
        >>> result = node_classification("disease", seeds=2, epochs=1, out="runs/two")
        >>> len(result.values("accuracy", "val")), result.folder.name, result.seeds[1]["best_epoch"]
        (2, 'two', 1)
        >>> Result.read("runs/two").mean == result.mean
        True
    """

    task: str
    metric: str
    about: dict[str, Any]
    config: dict[str, Any]
    data_sha256: str
    parameters: int
    seeds: list[dict[str, Any]]
    model_seed: int
    versions: dict[str, str]
    seconds: float
    files: dict[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)
    data: Any = field(default=None, repr=False, compare=False)

    def values(self, metric: str | None = None, part: str = "test") -> list[float]:
        """A metric of each seed."""
        return [seed[part][metric or self.metric] for seed in self.seeds]

    @property
    def mean(self) -> float:
        """The mean of the test metric over the seeds."""
        return statistics.fmean(self.values())

    @property
    def std(self) -> float | None:
        """Its standard deviation over the seeds (n - 1); ``None`` for one seed."""
        return _std(self.values())

    @property
    def summary(self) -> dict[str, dict[str, float | None]]:
        """Mean and standard deviation of every metric, under names like ``test_f1``."""
        return {
            f"{part}_{metric}": {
                "mean": statistics.fmean(self.values(metric, part)),
                "std": _std(self.values(metric, part)),
            }
            for part in ("val", "test")
            for metric in self.seeds[0][part]
        }

    def to_dict(self) -> dict[str, Any]:
        """What ``result.json`` holds."""
        values = asdict(replace(self, data=None))
        del values["folder"], values["data"]
        return values | {"summary": self.summary}

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Result:
        """The result of a finished run."""
        folder = Path(folder)
        path = folder / "result.json"
        if not path.exists():
            raise InputError(f"{folder}: no result.json there; it is no run, or an unfinished one.")
        remedy = "if the seeds of the run are whole, --resume makes it anew of them"
        with reading(path, "a result written by hypergraph", remedy):
            values = read_json(path, remedy)
            del values["summary"]
            result = cls(**values, folder=folder)
            result._check()
            result._check_run(remedy)
            return result

    def _check(self) -> None:
        """Raise where the values are not of the kind that we write, before anything is made of them."""
        kinds = get_type_hints(type(self))
        for name in vars(self).keys() - {"data"}:
            wanted = get_origin(kinds[name]) or kinds[name]
            if not isinstance(getattr(self, name), (int, float) if wanted is float else wanted):
                raise TypeError(f"{name} is not of type {wanted.__name__}")
        if self.metric not in METRICS or not self.seeds:
            raise ValueError("no seeds, or an unknown metric")
        if not isinstance(self.about["split"], str) or not isinstance(self.config["dataset"], str):
            raise TypeError("the split or the dataset has no name")
        for seed in self.seeds:
            numbers = [seed[name] for name in ("seed", "best_epoch", "epochs", "seconds")]
            numbers += [value for part in ("val", "test") for value in seed[part].values()]
            if not all(isinstance(number, (int, float)) for number in numbers):
                raise TypeError(f"not a number among those of seed {seed['seed']}")
            rows = seed.get("confusion", [])
            if not all(isinstance(cell, int) and len(row) == len(rows) for row in rows for cell in row):
                raise TypeError(f"the confusion matrix of seed {seed['seed']} is none")
        if self.model_seed not in [seed["seed"] for seed in self.seeds]:
            raise ValueError(f"no seed {self.model_seed}")
        json.dumps([self.summary, self.mean, self.values(part="val")])

    def _check_run(self, remedy: str) -> None:
        """Refuse the result of another run than that of the ``config.toml`` beside it."""
        if not (self.folder / "config.toml").exists():
            return
        from hypergraph.tasks.config import renamed
        from hypergraph.tasks.run import Run

        run = Run.open(self.folder)
        ours = {"task": run.config.task, "data_sha256": run.data_sha256, **run.config.to_dict()}
        found = {"task": self.task, "data_sha256": self.data_sha256, **renamed(self.config)}
        for name, here, there in run.differences(ours, found):
            raise InputError(
                f"{self.folder / 'result.json'}: of a run with {name} = {there}, config.toml has "
                f"{name} = {here}; {remedy}."
            )

    @property
    def confusion(self) -> list[list[int]] | None:
        """How many test examples of each class (row) were taken for each class (column), over all seeds."""
        found = [seed.get("confusion") for seed in self.seeds]
        if not found or None in found:
            return None
        return [[sum(cells) for cells in zip(*rows)] for rows in zip(*found)]

    def confusion_table(self) -> Table | None:
        """The same with the names of the classes, for a terminal; ``None`` where it would not fit."""
        from rich.table import Table
        from rich.text import Text

        cells, names = self.confusion, [str(name) for name in self.about.get("classes", [])]
        if cells is None or len(cells) != len(names) or len(names) > 12:
            return None
        title = f"test, {count(len(self.seeds), 'seed')}: row is the class, column what it was taken for"
        table = Table(title=title, title_justify="left")
        table.add_column("")
        for name in names:
            table.add_column(Text(name), justify="right")
        table.add_column("right, %", justify="right")
        for k, (name, row) in enumerate(zip(names, cells)):
            share = f"{100 * row[k] / sum(row):.1f}" if sum(row) else ""
            table.add_row(Text(name), *map(str, row), share)
        return table

    def headline(self) -> str:
        """One line: the test metric over the seeds."""
        return f"test {METRICS[self.metric]} {spread(self.mean, self.std)} ({count(len(self.seeds), 'seed')})"

    def table(self) -> Table:
        """The seeds and their mean, for a terminal."""
        from rich.table import Table

        chosen = self.config.get("head") or self.config.get("fc")
        table = Table(title=f"{self.task} · {self.config['dataset']} · {chosen}", title_justify="left")
        name = METRICS[self.metric]
        for column in ("seed", f"val {name}", f"test {name}", "best epoch", "epochs", "seconds"):
            table.add_column(column, justify="right")
        for seed in self.seeds:
            cells = (seed["val"][self.metric], seed["test"][self.metric])
            table.add_row(
                str(seed["seed"]),
                *(f"{100 * cell:.2f}" for cell in cells),
                str(seed["best_epoch"]),
                str(seed["epochs"]),
                f"{seed['seconds']:.1f}",
            )
        table.add_section()
        parts = (self.values(part=part) for part in ("val", "test"))
        means = (spread(statistics.fmean(part), _std(part)) for part in parts)
        columns = [[seed[name] for seed in self.seeds] for name in ("best_epoch", "epochs", "seconds")]
        table.add_row("mean", *means, *(f"{statistics.fmean(column):.1f}" for column in columns))
        return table


def count(number: int, noun: str) -> str:
    """A number of things in words.

    >>> count(1, "seed"), count(5, "seed")
    ('1 seed', '5 seeds')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def spread(mean: float, std: float | None) -> str:
    """Mean ± standard deviation, in per cent."""
    return f"{100 * mean:.2f}" + ("" if std is None else f" ± {100 * std:.2f}")


def _std(values: list[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None

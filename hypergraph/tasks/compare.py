"""Runs side by side, with a paired test over the seeds they share."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypergraph.errors import InputError
from hypergraph.tasks.config import renamed
from hypergraph.tasks.kinds import KINDS, METRICS
from hypergraph.tasks.result import Result, spread
from hypergraph.tasks.statistics import paired_runs

if TYPE_CHECKING:
    from rich.table import Table

# Settings that have a column of their own, or do not change the results.
_SHOWN = ("dataset", "data", "seeds", "seed", "threads", "device")


@dataclass(frozen=True)
class Row:
    """One run against the first.

    Args:
        kind: What was chosen by name: ``"head"`` or ``"fc"``.
        chosen: Its name.
        settings: Those in which the runs differ.
        difference: Of the mean over the shared seeds, this run minus the first.
        interval: Its 95 % interval, by the bootstrap; ``None`` with fewer than two.
        p: Of a two-sided paired t-test over them; ``None`` with fewer than two.
        note: Why the two cannot be paired, if so.
    """

    run: str
    dataset: str
    kind: str
    chosen: str
    split: str
    seeds: int
    parameters: int
    mean: float
    std: float | None
    settings: dict[str, Any] = field(default_factory=dict)
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    note: str = ""


def compare(paths: list[Path]) -> tuple[str, list[Row]]:
    """The metric and a row for each run; each is tested against the first."""
    if len(paths) < 2:
        raise InputError("A comparison needs two runs or more.")
    results = [Result.read(path) for path in paths]
    first = results[0]
    for result in results[1:]:
        if result.task != first.task:
            raise InputError(f"{result.folder} is a run of {result.task}, {first.folder} of {first.task}.")
    return first.metric, [_row(result, first, differing(results)) for result in results]


def finished(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """The runs that are finished, and those that are not."""
    left = [path for path in paths if (path / "config.toml").exists() and not (path / "result.json").exists()]
    return [path for path in paths if path not in left], left


def differing(results: list[Result]) -> list[str]:
    """The settings in which runs differ, without those that the table has anyway."""
    cls = KINDS[results[0].task].load_config()
    configs = [renamed(result.config, cls) for result in results]
    chosen = {"head"} if "head" in configs[0] else {"fc"}
    names = {name: None for config in configs for name in config if name not in {*_SHOWN, *chosen}}
    return [name for name in names if len({repr(config.get(name)) for config in configs}) > 1]


def _row(result: Result, first: Result, names: list[str]) -> Row:
    config = renamed(result.config)
    row = Row(
        run=str(result.folder),
        dataset=config["dataset"],
        kind="head" if "head" in config else "fc",
        chosen=str(config.get("head") or config.get("fc")),
        split=result.about.get("split", ""),
        seeds=len(result.seeds),
        parameters=result.parameters,
        mean=result.mean,
        std=result.std,
        settings={name: config.get(name) for name in names},
    )
    if result is first:
        return row
    other = _unlike(result, first)
    if other:
        return Row(**asdict(row) | {"note": f"another {other} than the first run's, so not tested"})
    found = paired_runs(result, first)
    if found is None:
        return Row(**asdict(row) | {"note": "no seed in common with the first run, so not tested"})
    return Row(**asdict(row) | {"difference": found.mean, "interval": found.interval, "p": found.p})


def _unlike(result: Result, first: Result) -> str | None:
    if result.data_sha256 != first.data_sha256:
        return "dataset"
    same = result.about.get("split") == first.about.get("split")
    return None if same and result.config.get("split_seed") == first.config.get("split_seed") else "split"


def table(metric: str, rows: list[Row]) -> Table:
    """The rows, for a terminal."""
    from rich.table import Table

    view = Table(
        caption="difference, 95 % interval (bootstrap), p (t-test): paired over seeds, against the first run",
        caption_justify="left",
    )
    view.add_column("run", overflow="fold", min_width=16)
    for name in ("dataset", rows[0].kind, *rows[0].settings):
        view.add_column(name)
    for name in ("seeds", f"test {METRICS[metric]}", "difference", "95 %", "p"):
        view.add_column(name, justify="right")
    for row in rows:
        what = (Path(row.run).name, Path(row.dataset).name, row.chosen)
        settings = ("" if value is None else str(value) for value in row.settings.values())
        difference = "" if row.difference is None else f"{100 * row.difference:+.2f}"
        interval = (
            "" if row.interval is None else "{:+.2f} to {:+.2f}".format(*(100 * x for x in row.interval))
        )
        p = "" if row.p is None else f"{row.p:.3g}"
        view.add_row(*what, *settings, str(row.seeds), spread(row.mean, row.std), difference, interval, p)
    return view


def print_comparison(paths: list[Path]) -> None:
    """Print the table of runs and what is to be said of them; unfinished ones are left out."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    done, left = finished(paths)
    for path in left:
        print(f"{path} is left out: it is unfinished.")
    metric, rows = compare(done)
    console.print(table(metric, rows))
    for row in rows:
        if row.note:
            print(f"{row.run}: {row.note}.")

"""Runs side by side, with a paired test over the seeds they share."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hypergraph.errors import InputError
from hypergraph.tasks.kinds import METRICS
from hypergraph.tasks.result import Result, spread

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One run against the first.

    Args:
        difference: Of the mean over the shared seeds, this run minus the first.
        p: Of a two-sided paired t-test over them; ``None`` with fewer than two.
        note: Why the two cannot be paired, if so.
    """

    run: str
    dataset: str
    chosen: str
    split: str
    seeds: int
    parameters: int
    mean: float
    std: float | None
    difference: float | None = None
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
    return first.metric, [_row(result, first) for result in results]


def _row(result: Result, first: Result) -> Row:
    config = result.config
    row = Row(
        run=str(result.folder),
        dataset=config["dataset"],
        chosen=str(config.get("head") or config.get("fc")),
        split=result.about.get("split", ""),
        seeds=len(result.seeds),
        parameters=result.parameters,
        mean=result.mean,
        std=result.std,
    )
    if result is first:
        return row
    other = _unlike(result, first)
    if other:
        return Row(**asdict(row) | {"note": f"another {other} than the first run's, so not tested"})
    ours, theirs = (dict(zip((s["seed"] for s in r.seeds), r.values())) for r in (result, first))
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        return Row(**asdict(row) | {"note": "no seed in common with the first run, so not tested"})
    differences = [ours[seed] - theirs[seed] for seed in shared]
    mean = sum(differences) / len(differences)
    return Row(**asdict(row) | {"difference": mean, "p": paired_p(differences)})


def _unlike(result: Result, first: Result) -> str | None:
    if result.data_sha256 != first.data_sha256:
        return "dataset"
    same = result.about.get("split") == first.about.get("split")
    return None if same and result.config.get("split_seed") == first.config.get("split_seed") else "split"


def paired_p(differences: list[float]) -> float | None:
    """The two-sided p of a paired t-test; 1 where nothing differs, ``None`` for fewer than two pairs."""
    from scipy.stats import t

    n = len(differences)
    if n < 2:
        return None
    mean = sum(differences) / n
    deviation = math.sqrt(sum((d - mean) ** 2 for d in differences) / (n - 1))
    if deviation == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * t.sf(abs(mean) / deviation * math.sqrt(n), n - 1))


def table(metric: str, rows: list[Row]) -> Table:
    """The rows, for a terminal."""
    from rich.table import Table

    view = Table(caption="difference, p: paired over seeds, against the first run", caption_justify="left")
    view.add_column("run", overflow="fold")
    for name in ("dataset", "layer"):
        view.add_column(name)
    for name in ("seeds", f"test {METRICS[metric]}", "difference", "p"):
        view.add_column(name, justify="right")
    for row in rows:
        what = (Path(row.run).name, Path(row.dataset).name, row.chosen, str(row.seeds))
        difference = "" if row.difference is None else f"{100 * row.difference:+.2f}"
        view.add_row(*what, spread(row.mean, row.std), difference, "" if row.p is None else f"{row.p:.3g}")
    return view

"""A table of the paper, run again over the datasets that are here, with the published figures beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from hypergraph.errors import InputError, unknown_name
from hypergraph.tasks.config import Config, renamed, settle, tomllib
from hypergraph.tasks.kinds import KINDS, METRICS
from hypergraph.tasks.result import Result, spread

# What may differ between a finished run and what is asked for: none has a say in the numbers of a seed.
_FREE = ("seeds", "data", "dataset", "threads", "device")


@dataclass(frozen=True)
class Row:
    """One method on one dataset."""

    dataset: str
    method: str
    published: str | None
    result: Result


def published(task: str) -> dict[str, Any]:
    """The published table of a task: ``table``, ``note``, and the figures by dataset and method."""
    text = (files("hypergraph") / "presets" / "published.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    if task not in tables:
        raise unknown_name("table", task, tables)
    found: dict[str, Any] = tables[task]
    return found


def reproduce(
    task: str,
    *,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
    runs: Path = Path("runs"),
    finished: bool = False,
    jobs: int | None = None,
    say: Callable[[str], None] = lambda text: None,
    **settings: Any,
) -> str:
    """Run a published table, and write it with ours beside as Markdown.

    Args:
        task: ``image``, ``genome``, ``node-clf`` or ``link-pred``.
        datasets: By default all of the table; those that are not here are left out, with the reason.
        methods: Heads or layers; by default all of the table.
        runs: Where the run folders are. Finished ones are taken as they are, interrupted ones go on.
        finished: Train nothing: take what is finished.
        jobs: How many seeds run side by side.
        say: Told what is being done.
        **settings: Fields of the task's configuration for every run, such as ``seeds`` and ``data``.
    """
    table = published(task)
    figures = {name: cells for name, cells in table.items() if isinstance(cells, dict)}
    rows, missing = [], {}
    for dataset in datasets or figures:
        cells: Mapping[str, str] = figures.get(Path(dataset).name, {})
        for method in methods or cells or next(iter(figures.values())):
            config = settle(
                KINDS[task].load_config(), {"dataset": dataset, _chosen(task): method, **settings}
            )
            folder = runs / f"{task}-{Path(dataset).stem}-{method}"
            if finished:
                if (folder / "result.json").is_file():
                    rows.append(Row(Path(dataset).stem, method, cells.get(method), _take(folder, config)))
                continue
            reason = _absent(config)
            if reason:
                missing[dataset] = reason
                say(f"{dataset} is left out: {reason}")
                break
            say(f"{dataset}, {method}: {folder}")
            result = _run(folder, config, jobs, say)
            rows.append(Row(Path(dataset).stem, method, cells.get(method), result))
    if not rows:
        why = "; ".join(missing.values()) or f"no finished run below {runs}"
        raise InputError(f"Nothing to show of {task}: {why}")
    return markdown(table, task, rows, missing)


def _chosen(task: str) -> str:
    return KINDS[task].load_config().chosen


def _absent(config: Config) -> str | None:
    """Why the dataset cannot be had."""
    try:
        KINDS[config.task].load_task().load(config)
    except InputError as error:
        return str(error)
    return None


def _run(folder: Path, config: Config, jobs: int | None, say: Callable[[str], None]) -> Result:
    from hypergraph.tasks import runner
    from hypergraph.tasks.run import Run

    if (folder / "result.json").is_file():
        return _take(folder, config)
    if (folder / "config.toml").is_file():
        _check(folder, Run.open(folder).config.to_dict(), config)
        return runner.resume(folder, jobs=jobs, say=say)
    return runner.run(config, out=folder, jobs=jobs, say=say)


def _take(folder: Path, config: Config) -> Result:
    result = Result.read(folder)
    _check(folder, result.config, config)
    return result


def _check(folder: Path, there: Mapping[str, Any], config: Config) -> None:
    """Figures in one table are made with the same settings."""
    here, there = config.to_dict(), renamed(there)
    for name in sorted((there.keys() | here.keys()) - {*_FREE}):
        if there.get(name) != here.get(name):
            raise InputError(
                f"{folder}: a run with {name} = {there.get(name)}, not {here.get(name)}; move it away, or "
                "name another folder with --runs."
            )


def markdown(
    table: Mapping[str, Any], task: str, rows: Sequence[Row], missing: Mapping[str, str] | None = None
) -> str:
    """A page of Markdown with the rows in a table."""
    metric = METRICS[KINDS[task].metric]
    lines = [
        f"# {table['title']}",
        "",
        f"From `hypergraph reproduce {task} --data FOLDER`, in per cent. Published: Chen et al. 2026, table",
        f'"{table["table"]}" (five folds). {table["note"]}'.rstrip(),
        "",
        f"| dataset | method | seeds | {metric}, ours | {metric}, published | best epoch |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        seeds = row.result.seeds
        epochs = ", ".join(str(seed["best_epoch"]) for seed in seeds)
        ours = spread(row.result.mean, row.result.std)
        cells = (row.dataset, row.method, str(len(seeds)), ours, row.published or "–", epochs)
        lines.append(f"| {' | '.join(cells)} |")
    lines += [f"\nLeft out: {dataset} ({reason.rstrip('.')})." for dataset, reason in (missing or {}).items()]
    return "\n".join(lines) + "\n"

"""The paper's tables, run again over the datasets that are here, with the published figures beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

from hypergraph.errors import InputError, unknown_name
from hypergraph.nn.registry import FCS
from hypergraph.tasks.config import Config, renamed, settle, tomllib
from hypergraph.tasks.executors import as_done, executor, tell
from hypergraph.tasks.kinds import KINDS
from hypergraph.tasks.reproduce_page import Row, page, read_rows, write_rows
from hypergraph.tasks.result import Result
from hypergraph.tasks.tables import MEASURED, TABLES, TRAINED

Say = Callable[[str], None]

# Rows that are not the name of a head or layer. Those of OURS are in no published table, and marked.
SETTINGS: Mapping[str, Mapping[str, dict[str, Any]]] = {
    "node-clf": {
        "gcn": {"head": "mlr", "encoder": "gcn"},
        "mlp": {"head": "mlr", "encoder": "mlp"},
        **{
            f"{head}, default recipe": {"head": head, "recipe": "few-labels"}
            for head in ("bmlr-p", "bmlr-l", "tangent-p")
        },
        # on Airport and Disease validation still rises after a pause of over a hundred epochs
        **{f"{head}, patience 500": {"head": head, "patience": 500} for head in ("bmlr-p", "bmlr-l")},
    },
    "link-pred": {
        "gcn": {"fc": "linear", "encoder": "gcn"},
        "mlp": {"fc": "linear", "encoder": "mlp"},
        "hgcn with mobius": {"fc": "mobius", "encoder": "hgcn"},
        "hgcn with bfc-p": {"fc": "bfc-p", "encoder": "hgcn"},
        "hgcn with bfc-l": {"fc": "bfc-l", "encoder": "hgcn"},
        **{f"{fc}, our recipe": {"fc": fc, "recipe": "ours"} for fc in FCS if FCS[fc].space != "euclidean"},
    },
    "activation": {
        f"{fc}, {phi}": {"fc": fc, "phi": phi} for fc in ("bfc-p", "bfc-l") for phi in ("none", "tanh")
    },
    "curvature": {
        f"bmlr-p, K {K:g}": {"head": "bmlr-p", "recipe": "few-labels", "K": K}
        for K in (-1.0, -0.3, -0.1, -0.03, -0.01)
    },
}
OURS: Mapping[str, Sequence[str]] = {
    "node-clf": tuple(SETTINGS["node-clf"]),
    "link-pred": tuple(SETTINGS["link-pred"]),
    "curvature": tuple(SETTINGS["curvature"]),
    "genome": ("mlr",),
}

# Datasets of a table that the paper has not.
MORE_DATASETS: Mapping[str, Sequence[str]] = {
    "node-clf": ("citeseer",),
    "curvature": ("citeseer",),
    "genome": ("splice",),
}

# What may differ between a finished run and what is asked for: none of these changes the results of a seed.
_FREE = ("seeds", "seed", "data", "dataset", "threads", "device", "recipe")


@dataclass(frozen=True)
class Cell:
    """One row that is asked for: a method on a dataset."""

    dataset: str
    method: str
    config: Config
    folder: Path


def published(table: str) -> dict[str, Any]:
    """A published table: ``title``, ``table``, ``note``, and the figures by dataset and method."""
    text = (files("hypergraph") / "presets" / "published.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    if table not in tables:
        raise unknown_name("table", table, TABLES)
    found: dict[str, Any] = tables[table]
    return found


def figures(table: str) -> dict[str, dict[str, str]]:
    """The published figures of a table, by dataset and method."""
    return {name: cells for name, cells in published(table).items() if isinstance(cells, dict)}


def reproduce(
    table: str,
    *,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
    runs: Path = Path("runs"),
    finished: bool = False,
    keep: Path | None = None,
    jobs: int | None = None,
    backend: str = "local",
    say: Say = lambda text: None,
    **settings: Any,
) -> str:
    """Run a table, and write it with the published figures beside ours as Markdown.

    Args:
        table: One of :data:`TABLES`.
        datasets: By default all of the table; those that are not here are left out, with the reason.
        methods: Heads or layers; by default all of the table, and our baselines.
        runs: Where the run folders are. Finished ones are taken as they are, interrupted ones go on, and
            those with fewer seeds than asked for get the others.
        finished: Train nothing: take what is finished.
        keep: A file of rows (JSON lines). Rows of earlier calls that are not asked for now are taken from it,
            if they were made with the settings of today, and it is written anew.
        jobs: How many seeds run side by side; of at least as many rows, one of each.
        backend: Where: ``"local"``, or ``"ray"`` for a Ray cluster.
        say: Told what is being done.
        **settings: Fields of the task's configuration for every run, such as ``seeds`` and ``data``.
    """
    if table not in TABLES:
        raise unknown_name("table", table, (*TABLES, "all"))
    if table in MEASURED:
        from hypergraph.tasks import measured

        if finished:
            raise InputError(f"The table {table} is measured anew each time: leave out --finished.")
        return measured.measure(table, datasets=datasets, methods=methods, runs=runs, say=say, **settings)
    missing: dict[str, str] = {}
    cells = [*_cells(table, datasets, methods, runs, settings)]
    if finished:
        cells = [cell for cell in cells if (cell.folder / "result.json").is_file()]
        rows = [_row(cell, _take(cell.folder, cell.config)) for cell in cells]
    else:
        rows = [_row(*made) for made in _made(_present(cells, missing, say), jobs, backend, say)]
    if not rows:
        why = "; ".join(missing.values()) or f"no finished run below {runs}"
        raise InputError(f"Nothing to show of {table}: {why}")
    if keep is not None:
        rows = _with_kept(table, rows, read_rows(keep), say)
        write_rows(keep, rows)
    return page(table, published(table), rows, missing)


def _cells(
    table: str, datasets: Sequence[str], methods: Sequence[str], runs: Path, settings: Mapping[str, Any]
) -> Iterator[Cell]:
    known = figures(table)
    for dataset in datasets or (*known, *MORE_DATASETS.get(table, ())):
        name = Path(dataset).stem
        cells = known.get(name, {})
        for method in methods or (*(cells or next(iter(known.values()))), *OURS.get(table, ())):
            if not methods and _needless(method, name):
                continue
            config = _config(table, dataset, method, settings)
            folder = runs / f"{table}-{name}-{method.replace(', ', '-').replace(' ', '-')}"
            yield Cell(name, method, config, folder)


def _needless(method: str, dataset: str) -> bool:
    """Whether a row of ours says nothing on a dataset, unless it is asked for."""
    if method.endswith((", default recipe", ", our recipe")):
        return dataset not in ("pubmed", "cora")  # other graphs have no such recipe, or no other one
    return method.endswith(", patience 500") and dataset not in ("airport", "disease")


def _config(table: str, dataset: str, method: str, settings: Mapping[str, Any]) -> Config:
    cls = KINDS[TRAINED[table]].load_config()
    chosen = SETTINGS.get(table, {}).get(method) or {cls.chosen: method}
    return settle(cls, {"dataset": dataset, **chosen, **settings})


def _row(cell: Cell, result: Result) -> Row:
    told = {name: value for name, value in cell.config.to_dict().items() if name not in _FREE}
    return Row.of(cell.dataset, cell.method, result, told)


def _with_kept(table: str, rows: Sequence[Row], kept: Sequence[Row], say: Say) -> list[Row]:
    """The rows and those of earlier calls, in the order of the table."""
    merged = {(row.dataset, row.method): row for row in rows}
    for row in kept:
        if (row.dataset, row.method) in merged:
            continue
        try:
            other = difference(row.settings, _config(table, row.dataset, row.method, {}))
        except InputError:  # a name that is no more
            other = "a method or settings that are not known"
        if other:
            say(f"{row.dataset}, {row.method} is left out: it was made with {other}.")
            continue
        merged[row.dataset, row.method] = row
    cells = [(cell.dataset, cell.method) for cell in _cells(table, (), (), Path(), {})]
    return [merged[key] for key in dict.fromkeys((*cells, *merged)) if key in merged]


def _present(cells: Sequence[Cell], missing: dict[str, str], say: Say) -> Iterator[Cell]:
    """The cells whose datasets are here; why others are not is put into ``missing``."""
    for cell in cells:
        reason = None if cell.dataset in missing else _absent(cell.config)
        if reason:
            missing[cell.dataset] = reason
            say(f"{cell.dataset} is left out: {reason}")
        if cell.dataset not in missing:
            yield cell


def _made(cells: Iterable[Cell], jobs: int | None, backend: str, say: Say) -> Iterator[tuple[Cell, Result]]:
    """The cells with their results: one after another, their seeds side by side; or, where at least as
    many are to be made as there are processes, several at a time, so that none waits for the last seed of
    another."""
    from hypergraph.tasks.runner import cores

    cells = [*cells]
    most = jobs or (cores(cells[0].config) if cells else 1)
    pending = [cell for cell in cells if not (cell.folder / "result.json").is_file()]
    if backend == "local" and len(pending) >= most > 1:
        with executor("local", most) as running:
            futures = {running.submit(_train, cell): cell for cell in pending}
            ended = as_done(running, futures, lambda name, _, text: say(f"{name}: {text}"))
            for count, future in enumerate(ended, 1):
                future.result()
                say(f"{_name(futures[future])}: finished, {count} of {len(pending)} rows")
    for cell in cells:
        if not (cell.folder / "result.json").is_file():
            say(f"{_name(cell)}: {cell.folder}")
        yield cell, _run(cell.folder, cell.config, jobs, backend, say)


def _name(cell: Cell) -> str:
    return f"{cell.dataset}, {cell.method}"


def _train(cell: Cell) -> None:
    """Make one cell in a process of its own, whose terminal is shared: so without a progress bar."""
    with redirect_stderr(StringIO()):
        _run(cell.folder, cell.config, 1, "local", lambda text: tell(_name(cell), 0.0, text))


def _absent(config: Config) -> str | None:
    """Why the dataset cannot be had."""
    try:
        KINDS[config.task].load_task().load(config)
    except InputError as error:
        return str(error)
    return None


def _run(folder: Path, config: Config, jobs: int | None, backend: str, say: Say) -> Result:
    """The run of a folder with all its seeds: taken, continued, or made."""
    from hypergraph.tasks import runner
    from hypergraph.tasks.run import Run

    if not (folder / "config.toml").is_file():
        return runner.run(config, out=folder, jobs=jobs, backend=backend, say=say)
    if not (folder / "result.json").is_file():
        _check(folder, Run.open(folder).config.to_dict(), config)
        runner.resume(folder, jobs=jobs, backend=backend, say=say)
    result = _take(folder, config)
    if len(result.seeds) >= config.seeds:
        return result
    # a run is never changed, so more seeds are a run of their own beside it
    have = len(result.seeds)
    rest = replace(config, seed=config.seed + have, seeds=config.seeds - have)
    more = _run(_beside(folder, have), rest, jobs, backend, say)
    return _joined(result, more)


def _beside(folder: Path, have: int) -> Path:
    return folder.with_name(f"{folder.name}-from-{have}")


def _joined(result: Result, more: Result) -> Result:
    return replace(result, seeds=[*result.seeds, *more.seeds])


def _take(folder: Path, config: Config) -> Result:
    """A finished run, with the seeds of the runs beside it."""
    result = Result.read(folder)
    _check(folder, result.config, config)
    beside = _beside(folder, len(result.seeds))
    while (beside / "result.json").is_file():
        more = Result.read(beside)
        _check(beside, more.config, config)
        result = _joined(result, more)
        beside = _beside(folder, len(result.seeds))
    return result


def _check(folder: Path, there: Mapping[str, Any], config: Config) -> None:
    """Figures in one table are made with the same settings."""
    other = difference(there, config)
    if other:
        raise InputError(f"{folder}: a run with {other}; move it away, or name another folder with --runs.")


def difference(there: Mapping[str, Any], config: Config) -> str | None:
    """The first setting that differs, in words; one that is unknown there is at its default."""
    there = {entry.name: entry.default for entry in fields(config)} | renamed(there)
    here = config.to_dict()
    for name in sorted({entry.name for entry in fields(config)} - {*_FREE}):
        if name == "split" and there.get(name) is None:
            continue  # earlier versions left the published split without its name
        if there.get(name) != here.get(name):
            return f"{name} = {there.get(name)}, not {here.get(name)}"
    return None

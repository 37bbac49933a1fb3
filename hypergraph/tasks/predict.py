"""What a run's model predicts: of its own graph, of another one, of pairs of nodes; as a table."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.errors import InputError
from hypergraph.files import atomic_path, reading
from hypergraph.tasks.kinds import KINDS
from hypergraph.tasks.run import Run

Columns = Mapping[str, NDArray[Any]]
SUFFIXES = (".csv", ".tsv", ".json", ".parquet", ".npz")


def load_task(
    path: Path,
    seed: int | None = None,
    *,
    graph: Any = None,
    data: str | os.PathLike[str] | None = None,
    own: Any = None,
    say: Callable[[str], None] = lambda text: None,
) -> Any:
    """The task of a run with its trained model, on the run's own data or on another graph.

    Args:
        path: The run folder.
        seed: Whose model; by default the one at the top of the folder, best on validation.
        graph: Another graph, in any form that :func:`hypergraph.datasets.load_graph` takes.
        data: A folder of raw files, of ``graph`` or of the run's own data, where that is elsewhere now.
        own: The run's own graph, where it was made in Python from one.
        say: Told in words what matters.
    """
    from hypergraph.tasks import checkpoint
    from hypergraph.tasks.runner import alone

    run = Run.open(path, None if data is None else os.fspath(data))
    config = run.config
    if seed is not None and seed not in config.all_seeds:
        raise InputError(f"{path}: no seed {seed}; it has {', '.join(map(str, config.all_seeds))}.")
    source = (path if seed is None else run.seed_folder(seed)) / "model.safetensors"
    again = f"hypergraph {config.task} --resume {path}"
    if not source.exists():
        raise InputError(f"{source}: no model yet; the run is unfinished. Continue it with: {again}")
    run.whole("model.safetensors", seed)
    tensors, state = checkpoint.load(source, f"'{again}' says more")
    with reading(source, "a model written by hypergraph", f"'{again}' says more"):
        owner = state["owner"]["seed"] if seed is None else seed
        run.check_owner(owner, state["owner"], source)
    cls: Any = KINDS[config.task].load_task()
    if graph is None:
        loaded = _own(cls, run.loading, own)
        run.check_data(cls.fingerprint(loaded))
    else:
        loaded = _fitted(cls, run, owner, graph, data, say)
    with alone(config, config.seed):
        task = cls(config, config.seed, loaded)
        checkpoint.load_model(task.model, tensors, source)
    return task


def _own(cls: Any, config: Any, graph: Any) -> Any:
    if graph is not None:
        from hypergraph.datasets import load_graph

        return cls.prepare(config, load_graph(graph))
    try:
        return cls.load(config)
    except InputError as error:
        if Path(config.dataset).exists():
            raise
        hint = "A run that was made in Python from a graph needs it again: load_run(folder, data=graph)."
        if config.data is not None:
            hint = "If the folder with the raw files is elsewhere now, name it with --data."
        raise InputError(f"{error} {hint}") from error


def _fitted(cls: Any, run: Run, seed: int, graph: Any, data: Any, say: Callable[[str], None]) -> Any:
    if not hasattr(cls, "fitted"):
        raise InputError(f"{run.path}: a run of {run.config.task}; --dataset is for graphs.")
    from hypergraph.datasets import load_graph
    from hypergraph.datasets.reading import load_numpy

    other = load_graph(graph, data=data, task="node" if run.config.task == "node-clf" else "link")
    found = run.seed_result(seed) or {}
    with reading(run.path / "seeds" / str(seed) / "result.json", "the result of a seed"):
        kept = found["about"]
        ids = load_numpy(run.whole("embedding.npz", seed))["node"]
    loaded = cls.fitted(run.config, kept, ids, other)
    known = set(map(str, ids.tolist()))
    new = sum(str(node) not in known for node in loaded.ids.tolist())
    say(
        f"{other.name} is not the graph of the run (inductive): {new} of its {other.num_nodes} nodes are "
        "new, and all are predicted from its features and edges."
    )
    return loaded


def predictions(
    path: Path,
    *,
    seed: int | None = None,
    dataset: Any = None,
    data: str | os.PathLike[str] | None = None,
    pairs: Path | None = None,
    top_links: int | None = None,
    embedding: bool = False,
    own: Any = None,
    say: Callable[[str], None] = lambda text: None,
) -> Columns:
    """The columns of a table of predictions, with the user's ids and class names.

    Args:
        path: The run folder.
        seed: Whose model; by default the best on validation.
        dataset: Another graph; by default the run's own.
        data: A folder of raw files, of ``dataset`` or of the run's own data, where that is elsewhere now.
        pairs: A file of pairs of nodes, whose probability of being an edge is wanted.
        top_links: The number of likeliest new neighbours wanted for each node.
        embedding: Whether the points are wanted instead.
        own: The run's own graph, where it was made in Python from one.
        say: Told in words what matters.
    """
    if top_links is not None and top_links < 1:
        raise InputError(f"--top-links must be at least 1, got {top_links}.")
    config = Run.open(path).config
    if (pairs is not None or top_links is not None) and config.task != "link-pred":
        raise InputError(f"{path}: a run of {config.task}; pairs are predicted by a run of link-pred.")
    if dataset is not None and config.task == "link-pred" and not (pairs or top_links or embedding):
        raise InputError("Of another graph, say which pairs are wanted: --pairs FILE or --top-links N.")
    task = load_task(path, seed, graph=dataset, data=data, own=own, say=say)
    from hypergraph.tasks.runner import alone

    with alone(config, config.seed):
        if embedding:
            return _points(task)
        if pairs is not None:
            return task.pair_predictions(_read_pairs(pairs, task.data.ids))
        if top_links is not None:
            from hypergraph.progress import progress

            with progress("Scoring pairs", len(task.data.ids)) as report:
                return task.top_links(top_links, report)
        return task.predictions()


def predict(path: Path, out: str | Path, seed: int | None = None, **options: Any) -> int:
    """Write the predictions of a run's model to a file; the number of rows.

    Args:
        path: The run folder.
        out: A file ending in .csv, .tsv, .json, .parquet or .npz; ``"-"`` is standard output.
        seed: Whose model; by default the best on validation.
        **options: Those of :func:`predictions`.
    """
    if str(out) != "-" and Path(out).suffix.lower() not in SUFFIXES:
        raise InputError(f"{out}: a table is written as {', '.join(SUFFIXES)}.")
    columns = predictions(path, seed=seed, **options)
    write_table(columns, out)
    return len(next(iter(columns.values())))


def _points(task: Any) -> Columns:
    """The coordinates of every point, under the node's id."""
    arrays = task.embedding()
    points = arrays["points"]
    named = arrays.get("node", np.arange(len(points)))
    return {"node": named, **{f"z{k}": points[:, k] for k in range(points.shape[1])}}


def _read_pairs(path: Path, ids: NDArray[Any]) -> Any:
    """The nodes that a file of pairs names."""
    import torch

    from hypergraph.datasets.edge_lists import read_edge_list, without_header

    index = {str(node): at for at, node in enumerate(ids.tolist())}
    listed = without_header(read_edge_list(path), index)
    place = np.array([index.get(node, -1) for node in listed.ids], dtype=np.int64)
    pairs = place[listed.edge_index]
    if (pairs < 0).any():
        row = int((pairs < 0).any(axis=0).nonzero()[0][0])
        unknown = next(listed.ids[at] for at in listed.edge_index[:, row] if place[at] < 0)
        raise InputError(f"{listed.where(row)}: node '{unknown}' is not in the graph.")
    return torch.from_numpy(pairs)


def records(columns: Columns) -> list[dict[str, Any]]:
    """The rows of a table, each by the names of its columns."""
    return [dict(zip(columns, row)) for row in zip(*(column.tolist() for column in columns.values()))]


def write_table(columns: Columns, out: str | Path) -> None:
    """Write a table whose form follows from the file's ending, atomically; ``"-"`` is standard output."""
    if str(out) == "-":
        print(_text(columns, ","), end="")
        return
    path = Path(out)
    suffix = path.suffix.lower()
    try:
        with atomic_path(path) as part:
            if suffix == ".npz":
                arrays: dict[str, Any] = {name: _plain(column) for name, column in columns.items()}
                np.savez(part, **arrays)
            elif suffix == ".parquet":
                _write_parquet(columns, part)
            elif suffix == ".json":
                part.write_text(json.dumps(records(columns), indent=1) + "\n", encoding="utf-8")
            else:
                part.write_text(_text(columns, "\t" if suffix == ".tsv" else ","), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}).") from error


def _text(columns: Columns, mark: str) -> str:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=mark, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values())))
    return file.getvalue()


def _plain(column: NDArray[Any]) -> NDArray[Any]:
    """Words as an array that needs no pickle."""
    return column.astype(str) if column.dtype == object else column


def _write_parquet(columns: Columns, part: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError("Parquet files need pyarrow: pip install 'hypergraph[table]'.") from None
    table = pyarrow.table({name: column.tolist() for name, column in columns.items()})
    pyarrow.parquet.write_table(table, part)

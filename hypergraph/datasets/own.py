"""The user's own graph: an edge list with its tables, an npz, GraphML, GML or GEXF, a saved ``Data``."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hypergraph.datasets.arrays import GraphArrays
from hypergraph.datasets.check import checked_csr, checked_graph
from hypergraph.datasets.edge_lists import (
    EdgeList,
    edge_blocks,
    from_columns,
    read_edge_list,
    without_header,
)
from hypergraph.datasets.large import LargeGraph, Stored, is_edge_index, stored_names, stored_pairs
from hypergraph.datasets.reading import load_numpy
from hypergraph.datasets.sources import sha256
from hypergraph.datasets.tables import TEXT, NodeTable, read_nodes, sparse_parts, stem_of, suffix_of
from hypergraph.errors import InputError
from hypergraph.files import reading, regular_file

FORMATS = (
    ".csv, .tsv, .txt, .edgelist (edge lists, also as .gz), .parquet, .npz, .graphml, .gml, .gexf, .pt, "
    "or a folder with edges.csv"
)
_EDGES = (*TEXT, ".parquet")
_TABLES = (*_EDGES, ".npy", ".npz")
_KINDS = {
    "nodes": ("nodes", "node"),
    "features": ("features", "feats", "x"),
    "labels": ("labels", "label", "y"),
}
_SMALL = {"num_nodes", "y", "classes", "node_ids", "columns", "train_mask", "val_mask", "test_mask"}
_LISTS = ("edges", "edge_list", "edgelist")


def read_own_graph(path: Path) -> GraphArrays:
    """Read a user's graph from a file, or from a folder with an edge list and its tables."""
    if path.is_dir():
        return _read_edges(_edge_list_in(path))
    suffix = suffix_of(path)
    if regular_file(path) == 0:
        raise InputError(f"{path}:1: the file is empty.")
    if suffix in _EDGES:
        return _read_edges(path)
    if suffix == ".npz":
        return _read_npz(path)
    if suffix in (".graphml", ".gml", ".gexf"):
        from hypergraph.datasets.markup import read_markup

        return read_markup(path)
    if suffix in (".pt", ".pth"):
        from hypergraph.datasets.pyg import read_saved_data

        return read_saved_data(path)
    raise InputError(f"{path}: a graph in '{suffix}' files is not known; known are {FORMATS}.")


def _edge_list_in(folder: Path) -> Path:
    with reading(folder, "a folder"):
        inside = sorted(folder.iterdir())
    found = [
        file
        for file in inside
        if suffix_of(file) in _EDGES and stem_of(file).split(".")[-1].lower() in _LISTS
    ]
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        raise InputError(
            f"{folder}: one edge list named edges.csv (or .tsv, .txt, .parquet; or NAME.edges.csv) is "
            f"needed, found {names}."
        )
    return found[0]


def _beside(edges: Path, kind: str) -> Path | None:
    """The table that goes with an edge list: ``features.csv`` with ``edges.csv``, ``a.feats.npz`` with
    ``a.edges.csv`` or ``a.csv``."""
    prefix, _, last = stem_of(edges).rpartition(".")
    if last.lower() not in _LISTS:
        prefix = stem_of(edges)
    stems = {(f"{prefix}.{name}" if prefix else name).lower() for name in _KINDS[kind]}
    found = [
        file
        for file in sorted(edges.parent.iterdir())
        if stem_of(file).lower() in stems and suffix_of(file) in _TABLES and file != edges
    ]
    if len(found) > 1:
        raise InputError(f"{found[1]}: {found[0].name} is there too; keep one of them.")
    return found[0] if found else None


def _read_edges(path: Path) -> GraphArrays:
    found = {kind: _beside(path, kind) for kind in _KINDS}
    tables = {kind: read_nodes(file, kind) for kind, file in found.items() if file is not None}
    known = {node for table in tables.values() for node in table.ids or ()}
    edges = without_header(read_edge_list(path), known)
    files = [path, *(file for file in found.values() if file is not None)]
    return assemble(_name_of(path), edges, tables, path, files)


def _name_of(edges: Path) -> str:
    """What the graph of an edge list is called: ``a`` of ``a/edges.csv``, ``a.edges.csv`` or ``a.csv``."""
    stem = stem_of(edges)
    if stem.lower() in _LISTS:
        return edges.parent.resolve().name
    first, _, last = stem.rpartition(".")
    return first or stem if last.lower() in _LISTS else stem


def assemble(
    name: str, edges: EdgeList, tables: dict[str, NodeTable], path: Path | str, files: list[Path]
) -> GraphArrays:
    """One graph of an edge list and what tables say of its nodes."""
    for kind, has in (("features", "x"), ("labels", "y")):
        nodes = tables.get("nodes")
        if kind in tables and nodes is not None and getattr(nodes, has) is not None:
            raise InputError(f"{tables[kind].path}: {nodes.path.name} has {kind} too; keep one of them.")
    with_x = next((table for table in tables.values() if table.x is not None), None)
    with_y = next((table for table in tables.values() if table.y is not None), None)
    described = tables.get("nodes") or with_x
    ids, known = _all_ids(edges, described, with_y)
    index = {node: at for at, node in enumerate(ids)} if tables else {}
    if not tables:
        place = np.arange(len(ids))
    else:
        place = np.array([index.get(node, -1) for node in edges.ids], dtype=np.int64)
    if (place < 0).any():
        row = int((place[edges.edge_index] < 0).any(axis=0).nonzero()[0][0])
        unknown = next(edges.ids[at] for at in edges.edge_index[:, row] if place[at] < 0)
        raise InputError(
            f"{edges.where(row)}: node '{unknown}' is unknown; {known} describes {len(ids)} nodes, "
            f"{ids[0]} to {ids[-1]}; add it there, or take its edges out."
        )
    rows = [None] * len(ids) if with_y is None else _rows_of(with_y, index)
    y = None if with_y is None else _placed(with_y.y, rows)
    lines = described or with_y

    def where(row: int) -> str:
        if lines is with_y and with_y is not None:
            at = rows[row]
            return f"{path}: node '{ids[row]}'" if at is None else with_y.where(at)
        assert lines is not None
        return lines.where(row)

    if with_y is not None and with_y is not lines:
        from hypergraph.datasets.labels import encode_labels

        encode_labels(with_y.y, str(with_y.path), with_y.where)  # a mistake is named in its own file
    counted = ids == [str(node) for node in range(len(ids))]
    return checked_graph(
        name,
        place[edges.edge_index],
        num_nodes=len(ids),
        x=None if with_x is None else with_x.x,
        y=y,
        weights=edges.weights,
        ids=None if counted else ids,
        columns=() if with_x is None else with_x.columns,
        changes=[*edges.changes, *(change for table in tables.values() for change in table.changes)],
        where=str(path),
        node=where if lines is not None else None,
        edge=edges.where,
        provenance=_provenance(*files),
    )


def _all_ids(edges: EdgeList, described: NodeTable | None, labels: NodeTable | None) -> tuple[list[str], str]:
    """The nodes: those that a table of features describes, or all that a label or an edge names."""
    if described is not None:
        if described.ids is not None:
            return described.ids, str(described.path)
        return [str(node) for node in range(described.count)], str(described.path)
    if labels is None:
        return edges.ids, ""
    if labels.ids is None:
        return [str(node) for node in range(labels.count)], str(labels.path)
    return list(dict.fromkeys([*labels.ids, *edges.ids])), str(labels.path)


def _rows_of(table: NodeTable, index: dict[str, int]) -> list[Any]:
    """The row of a table that tells of each node; ``None`` where there is none."""
    if table.ids is None:
        if table.count != len(index):
            raise InputError(f"{table.path}: {table.count} labels, where the graph has {len(index)} nodes.")
        return list(range(table.count))
    rows: list[Any] = [None] * len(index)
    for row, node in enumerate(table.ids):
        if node not in index:
            raise InputError(
                f"{table.where(row)}: node '{node}' is unknown; the features do not describe it."
            )
        rows[index[node]] = row
    return rows


def _placed(values: Any, rows: list[Any]) -> NDArray[Any]:
    """Labels in the order of the nodes, ``None`` where there is none."""
    if rows == list(range(len(values))):
        return np.asarray(values)
    placed = np.empty(len(rows), dtype=object)
    listed = values.tolist()
    for node, row in enumerate(rows):
        placed[node] = None if row is None else listed[row]
    return placed


def _read_npz(path: Path) -> GraphArrays:
    """Read ``edge_index``, and where there are ``x`` (or the parts of a CSR matrix), ``y``, ``edge_weight``,
    ``node_ids``, ``classes`` and masks; or the adjacency that SciPy saved."""
    arrays = load_numpy(path)
    if not isinstance(arrays, dict):
        raise InputError(f"{path}: a single array, where an npz with 'edge_index' is needed.")
    provenance = _provenance(path)
    if "format" in arrays and "edge_index" not in arrays:
        return from_matrix(_scipy_matrix(arrays, path), path.stem, where=str(path), provenance=provenance)
    if "edge_index" not in arrays:
        raise InputError(
            f"{path}: no array 'edge_index' of shape (2, edges), only {', '.join(arrays) or 'none'}."
        )
    with reading(path, "an npz of a graph"):
        return checked_graph(
            path.stem,
            arrays["edge_index"],
            num_nodes=_num_nodes(arrays),
            x=arrays["x"] if "x" in arrays else sparse_parts(arrays, "x_", path),
            weights=arrays.get("edge_weight", arrays.get("weights")),
            where=str(path),
            provenance=provenance,
            **_of_nodes(arrays, path),
        )


def _num_nodes(arrays: dict[str, Any]) -> int | None:
    return operator.index(arrays["num_nodes"].item()) if "num_nodes" in arrays else None


def _of_nodes(arrays: dict[str, Any], path: Path) -> dict[str, Any]:
    """What an npz says of nodes, but for their features."""
    return {
        "y": arrays.get("y"),
        "classes": arrays.get("classes"),
        "ids": _node_ids(arrays.get("node_ids"), str(path)),
        "columns": tuple(map(str, arrays["columns"].tolist())) if "columns" in arrays else (),
        "masks": {p: arrays[f"{p}_mask"] for p in ("train", "val", "test") if f"{p}_mask" in arrays},
    }


def large_own_graph(path: Path) -> LargeGraph | None:
    """A user's graph that is read in blocks: an npz, or an edge list of whole numbers with ``.npy`` files
    beside it; ``None`` of what is read as a whole, also where something is wrong with it."""
    if path.is_dir():
        path = _edge_list_in(path)
    if regular_file(path) and suffix_of(path) == ".npz":
        return _large_npz(path)
    return _large_text(path) if suffix_of(path) in TEXT else None


def _large_npz(path: Path) -> LargeGraph | None:
    names = stored_names(path)
    if "edge_index" not in names or {"x_data", "x_indptr"} & names:
        return None
    edge_index = Stored(path, "edge_index")
    x = Stored(path, "x") if "x" in names else None
    weight = next((Stored(path, name) for name in ("edge_weight", "weights") if name in names), None)
    if not is_edge_index(edge_index) or (x is not None and not x.matrix):
        return None
    if weight is not None and (weight.shape != edge_index.shape[1:] or weight.dtype.kind not in "biuf"):
        return None
    arrays = load_numpy(path, _SMALL.__contains__)
    with reading(path, "an npz of a graph"):
        return LargeGraph(
            path.stem,
            str(path),
            stored_pairs(edge_index),
            _num_nodes(arrays),
            x,
            weight,
            _of_nodes(arrays, path) | {"provenance": _provenance(path)},
        )


def _large_text(path: Path) -> LargeGraph | None:
    found = {kind: _beside(path, kind) for kind in _KINDS}
    files = {kind: file for kind, file in found.items() if file is not None}
    if "nodes" in files or any(suffix_of(file) != ".npy" for file in files.values()):
        return None
    x = Stored(files["features"]) if "features" in files else None
    edges = edge_blocks(path, numbered=bool(files))
    if edges is None or (x is not None and not x.matrix):
        return None
    y = load_numpy(files["labels"]) if "labels" in files else None
    about = {"y": y, "ids": edges.ids, "provenance": _provenance(path, *files.values())}
    return LargeGraph(_name_of(path), str(path), edges.read, None, x, None, about, edges.where)


def _provenance(*files: Path) -> dict[str, Any]:
    return {"source": "file", "sha256": {file.name: sha256(file) for file in files}}


def _node_ids(given: Any, where: str) -> list[str] | None:
    if given is None:
        return None
    ids = [str(node) for node in np.asarray(given).tolist()]
    if len(set(ids)) != len(ids):
        raise InputError(f"{where}: two nodes have the same id; an id names one node.")
    return ids


def _scipy_matrix(arrays: dict[str, Any], path: Path) -> Any:
    """What ``scipy.sparse.save_npz`` wrote, whichever of its formats."""
    with reading(path, "a sparse matrix saved by SciPy"):
        kind = arrays["format"].item()
        kind = kind.decode() if isinstance(kind, bytes) else kind
        shape = tuple(int(side) for side in arrays["shape"].tolist())
        if kind in ("csr", "csc"):
            parts = tuple(arrays[key] for key in ("data", "indices", "indptr"))
            made = {"csr": sp.csr_matrix, "csc": sp.csc_matrix}[kind](parts, shape=shape)
            return checked_csr(made, str(path))
        if kind == "coo":
            return sp.coo_matrix((arrays["data"], (arrays["row"], arrays["col"])), shape=shape)
    raise InputError(f"{path}: a sparse matrix in the format {kind!r}; save it with `matrix.tocsr()`.")


def from_matrix(
    matrix: Any, name: str = "matrix", *, where: str = "sparse matrix", provenance: Any = None
) -> GraphArrays:
    """The graph of a square adjacency matrix; its entries are weights."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"{where}: an adjacency matrix is square, this one is {matrix.shape}.")
    coo = matrix.tocoo()
    stored = coo.data != 0
    edge_index = np.stack([coo.row[stored], coo.col[stored]]).astype(np.int64)
    return checked_graph(
        name,
        edge_index,
        num_nodes=matrix.shape[0],
        weights=coo.data[stored],
        where=where,
        provenance=provenance,
    )


def from_frame(frame: Any) -> GraphArrays:
    """The graph of a pandas data frame of edges."""
    columns = {str(name): frame[name].tolist() for name in frame.columns}
    return assemble("edges", from_columns(columns, "data frame"), {}, "data frame", [])

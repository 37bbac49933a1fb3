"""The user's own graph: an edge list with its tables, an npz, a GraphML or GML file, a saved ``Data``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from hypergraph.datasets.arrays import GraphArrays
from hypergraph.datasets.check import checked_features, checked_graph, checked_labels
from hypergraph.datasets.sources import sha256
from hypergraph.datasets.tables import (
    DELIMITERS,
    NodeTable,
    load_numpy,
    read_edge_list,
    read_features,
    read_labels,
    sparse_parts,
)
from hypergraph.errors import InputError

FORMATS = ".csv, .tsv (edge list), .npz, .graphml, .gml, .pt"
_TABLES = (*DELIMITERS, ".npy", ".npz")
_FEATURES, _LABELS = ("features", "feats", "x"), ("labels", "label", "y")


def read_own_graph(path: Path) -> GraphArrays:
    """Read a user's graph from a file, or from a folder with an edge list and its tables."""
    if path.is_dir():
        return _read_edges(_edge_list_in(path))
    if path.stat().st_size == 0:
        raise InputError(f"{path}:1: the file is empty.")
    suffix = path.suffix.lower()
    if suffix in DELIMITERS:
        return _read_edges(path)
    if suffix == ".npz":
        return _read_npz(path)
    if suffix in (".graphml", ".gml"):
        from hypergraph.datasets.markup import read_markup

        return read_markup(path)
    if suffix in (".pt", ".pth"):
        from hypergraph.datasets.pyg import read_saved_data

        return read_saved_data(path)
    raise InputError(f"{path}: a graph in '{suffix}' files is not known; known are {FORMATS}.")


def _edge_list_in(folder: Path) -> Path:
    found = [
        file
        for file in sorted(folder.iterdir())
        if file.suffix.lower() in DELIMITERS and file.stem.split(".")[-1].lower() in ("edges", "edge_list")
    ]
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        raise InputError(
            f"{folder}: one edge list named edges.csv, edges.tsv or NAME.edges.csv is needed, found {names}."
        )
    return found[0]


def _beside(edges: Path, kinds: tuple[str, ...]) -> Path | None:
    """The table that goes with an edge list: ``features.csv`` with ``edges.csv``, ``a.feats.npz`` with
    ``a.edges.csv``."""
    prefix, _, last = edges.stem.rpartition(".")
    if last.lower() not in ("edges", "edge_list"):
        prefix = edges.stem
    stems = {f"{prefix}.{kind}" if prefix else kind for kind in kinds}
    found = [
        file
        for file in sorted(edges.parent.iterdir())
        if file.stem.lower() in {stem.lower() for stem in stems} and file.suffix.lower() in _TABLES
    ]
    if len(found) > 1:
        raise InputError(f"{found[1]}: {found[0].name} is there too; keep one of them.")
    return found[0] if found else None


def _read_edges(path: Path) -> GraphArrays:
    table, pairs = read_edge_list(path)
    features_path, labels_path = _beside(path, _FEATURES), _beside(path, _LABELS)
    features = None if features_path is None else read_features(features_path)
    labels = None if labels_path is None else read_labels(labels_path)
    x = None if features is None else checked_features(features.values, str(features.path), features.where)
    y = None if labels is None else checked_labels(labels.values, str(labels.path), labels.where)

    described = features or labels
    ids = _ids_of_edges(pairs) if described is None else _ids_of_table(described)
    index = {node: i for i, node in enumerate(ids)}
    edge_index = np.empty((2, len(pairs)), dtype=np.int64)
    for row, pair in enumerate(pairs):
        for end, node in enumerate(pair):
            if node not in index:
                raise InputError(
                    f"{table.where(row)}: node '{node}' is unknown; {described.path if described else path} "
                    f"describes {len(ids)} nodes, {ids[0]} to {ids[-1]}."
                )
            edge_index[end, row] = index[node]
    graph = checked_graph(
        path.parent.resolve().name if path.stem.lower() == "edges" else path.stem.removesuffix(".edges"),
        edge_index,
        num_nodes=len(ids),
        x=x,
        y=None if labels is None else _by_index(labels, y, index),
        where=str(path),
    )
    files = [file for file in (path, features_path, labels_path) if file is not None]
    graph.provenance = {"source": "file", "sha256": {file.name: sha256(file) for file in files}}
    if ids != _counted(len(ids)):
        graph.provenance["node_ids"] = ids
    return graph


def _ids_of_edges(pairs: list[tuple[str, str]]) -> list[str]:
    """The nodes that occur in an edge: numbers in their order, words in the order of the file."""
    ids = list(dict.fromkeys(node for pair in pairs for node in pair))
    return sorted(ids, key=int) if all(re.fullmatch(r"-?\d+", node) for node in ids) else ids


def _ids_of_table(table: NodeTable) -> list[str]:
    return table.ids if table.ids is not None else _counted(table.values.shape[0])


def _counted(count: int) -> list[str]:
    return [str(node) for node in range(count)]


def _by_index(table: NodeTable, values: Any, index: dict[str, int]) -> Any:
    """The values of a table in the order of the nodes."""
    if len(values) != len(index):
        raise InputError(f"{table.path}: {len(values)} labels, where the graph has {len(index)} nodes.")
    ordered = np.empty_like(values)
    for row, node in enumerate(_ids_of_table(table)):
        if node not in index and table.ids is not None:
            raise InputError(
                f"{table.where(row)}: node '{node}' is unknown; the features do not describe it."
            )
        ordered[row if table.ids is None else index[node]] = values[row]
    return ordered


def _read_npz(path: Path) -> GraphArrays:
    """Read ``edge_index``, and where there are ``x`` (or the parts of a CSR matrix), ``y`` and masks."""
    arrays = load_numpy(path)
    if not isinstance(arrays, dict):
        raise InputError(f"{path}: a single array, where an npz with 'edge_index' is needed.")
    if "edge_index" not in arrays:
        raise InputError(
            f"{path}: no array 'edge_index' of shape (2, edges), only {', '.join(arrays) or 'none'}."
        )
    return checked_graph(
        path.stem,
        arrays["edge_index"],
        num_nodes=int(arrays["num_nodes"]) if "num_nodes" in arrays else None,
        x=arrays["x"] if "x" in arrays else sparse_parts(arrays, "x_", path),
        y=arrays.get("y"),
        masks={part: arrays[f"{part}_mask"] for part in ("train", "val", "test") if f"{part}_mask" in arrays},
        where=str(path),
        provenance={"source": "file", "sha256": {path.name: sha256(path)}},
    )

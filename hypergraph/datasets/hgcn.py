"""Reading the files of the HGCN repository: Airport, and Disease for nodes and for links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.datasets.arrays import GraphArrays, fitting_layout, simple_edges
from hypergraph.datasets.reading import load_numpy
from hypergraph.datasets.tables import sparse_parts
from hypergraph.datasets.unpickle import MOST, restricted_load
from hypergraph.errors import InputError
from hypergraph.files import reading


class _Graph:
    """Stands in for networkx's graph and node view: takes their dictionaries and runs nothing."""

    _node: dict[Any, dict[str, Any]]
    _adj: dict[Any, dict[Any, Any]]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._node, self._adj = state.get("_node", {}), state.get("_adj", {})


_MEANINGS: dict[tuple[str, str], Any] = {
    ("networkx.classes.graph", "Graph"): _Graph,
    ("networkx.classes.reportviews", "NodeView"): _Graph,
    ("builtins", "dict"): "dict",
}


def read_airport(files: dict[str, Path], task: str) -> GraphArrays:
    """Read HGCN's Airport; nodes keep the order of the file, as in HGCN, which its split depends on.

    The class is the fifth feature, cut at 1, 8/7 and 9/7: it is left out of the features for ``"node"``.
    """
    path = files["airport.p"]
    with reading(path, "HGCN's Airport"):
        graph = restricted_load(path, _MEANINGS)
        _check(graph)
        index = {node: i for i, node in enumerate(graph._node)}
        features = np.array([attributes["feat"] for attributes in graph._node.values()], dtype=np.float64)
        pairs = np.array([(index[u], index[v]) for u, others in graph._adj.items() for v in others])
        return _airport(features, pairs, task)


def _check(graph: object) -> None:
    """Refuse a graph that is no dictionary of short lists, or one dictionary in a thousand places."""
    if not isinstance(graph, _Graph) or not isinstance(graph._node, dict) or not isinstance(graph._adj, dict):
        raise ValueError("no graph")
    if not all(isinstance(inner, dict) for outer in (graph._node, graph._adj) for inner in outer.values()):
        raise ValueError("nodes without attributes or neighbors")
    if sum(map(len, graph._adj.values())) > MOST:
        raise ValueError(f"more than {MOST:,} neighbors")
    for attributes in graph._node.values():
        numbers = attributes["feat"]
        if not isinstance(numbers, list) or len(numbers) != 5 or not {*map(type, numbers)} <= {int, float}:
            raise ValueError("features that are not five numbers")


def _airport(features: NDArray[np.float64], pairs: NDArray[np.int64], task: str) -> GraphArrays:
    return GraphArrays(
        name="airport",
        num_nodes=len(features),
        edges=simple_edges(pairs[:, 0], pairs[:, 1], len(features)),
        x=features[:, : 4 if task == "node" else 5].astype(np.float32),
        y=np.digitize(features[:, 4], [1.0, 8 / 7, 9 / 7]).astype(np.int64),
    )


def read_disease(files: dict[str, Path], task: str) -> GraphArrays:
    """Read HGCN's ``disease_nc`` (for ``"node"``) or ``disease_lp`` (for ``"link"``)."""
    stem = "disease_nc" if task == "node" else "disease_lp"
    labels = load_numpy(files[f"{stem}.labels.npy"]).astype(np.int64)
    pairs = np.loadtxt(files[f"{stem}.edges.csv"], dtype=np.int64, delimiter=",", ndmin=2)
    features_path = files[f"{stem}.feats.npz"]  # no checksum of it is known
    arrays = load_numpy(features_path)
    features = sparse_parts(arrays, "", features_path) if isinstance(arrays, dict) else None
    if features is None:
        raise InputError(f"{features_path}: not a SciPy sparse matrix; download the file again.")
    features = features.astype(np.float32)
    if features.shape[0] != len(labels) or not np.isfinite(features.data).all():
        raise InputError(
            f"{features_path}: {len(labels)} finite rows expected, {features.shape[0]} rows found; "
            "download the file again."
        )
    features.sort_indices()
    return GraphArrays(
        name="disease-hgcn",
        num_nodes=len(labels),
        edges=simple_edges(pairs[:, 0], pairs[:, 1], len(labels)),
        x=fitting_layout(features),
        y=labels,
    )

"""What can be asked for its delta, brought to one form: a simple undirected graph in CSR arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hypergraph.errors import InputError, unknown_name


@dataclass(frozen=True)
class Graph:
    """A simple undirected graph: the neighbours of ``u`` are ``indices[indptr[u]:indptr[u + 1]]``.

    ``labels[u]`` is what the caller calls node ``u``.
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    labels: Sequence[Any]

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        return len(self.indices) // 2


def as_graph(graph: Any, *, component: str = "largest", symmetrize: bool = False) -> Graph:
    """Read an ``edge_index``, scipy sparse matrix, networkx graph or ``Data``.

    Self-loops and repeated edges change no distance and are dropped.

    Args:
        graph: the graph, unweighted.
        component: ``"largest"`` keeps the largest connected component, ``"all"`` keeps every one.
        symmetrize: read a directed graph as undirected instead of refusing it.
    """
    if component not in ("largest", "all"):
        raise unknown_name("component", str(component), ["largest", "all"])
    sources, targets, labels = _arcs(graph)
    n = len(labels)
    if n == 0:
        raise InputError("The graph has no nodes; delta needs at least one.")
    loops = sources == targets
    sources, targets = sources[~loops], targets[~loops]
    matrix = sp.csr_matrix((np.ones(len(sources), dtype=np.int8), (sources, targets)), shape=(n, n))
    matrix.data[:] = 1
    if (matrix != matrix.T).nnz:
        if not symmetrize:
            raise InputError(
                "The graph is directed: some edge is stored in one direction only; "
                "pass symmetrize=True to read it as undirected."
            )
        matrix = (matrix + matrix.T).tocsr()
    if component == "largest":
        count, member = sp.csgraph.connected_components(matrix, directed=False)
        if count > 1:
            kept = np.flatnonzero(member == np.bincount(member).argmax())
            matrix = matrix[kept][:, kept]
            labels = [labels[i] for i in kept.tolist()]
    return Graph(matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), labels)


def _arcs(graph: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], Sequence[Any]]:
    """The arcs as two index arrays, and the label of every node."""
    if sp.issparse(graph):
        if graph.shape[0] != graph.shape[1]:
            raise InputError(
                f"An adjacency matrix is square; this one is {graph.shape[0]} x {graph.shape[1]}."
            )
        coo = graph.tocoo()
        stored = coo.data != 0
        _refuse_weights(coo.data[stored])
        return coo.row[stored].astype(np.int64), coo.col[stored].astype(np.int64), range(graph.shape[0])
    if hasattr(graph, "adj") and hasattr(graph, "is_directed"):
        return _networkx_arcs(graph)
    if hasattr(graph, "edge_index"):
        if graph.edge_index is None:
            raise InputError("The Data object has no edge_index; delta is a property of edges.")
        count = _array(graph.edge_index).shape[-1]
        for name in ("edge_weight", "weight", "edge_attr"):
            values = _array(getattr(graph, name, None))
            # Edge features are no weights: only one real number for each edge is.
            if values.dtype.kind == "f" and values.size == count:
                _refuse_weights(values)
        return _edge_index_arcs(graph.edge_index, getattr(graph, "num_nodes", None))
    return _edge_index_arcs(graph, None)


def _edge_index_arcs(
    edge_index: Any, num_nodes: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], Sequence[Any]]:
    try:
        edges = _array(edge_index)
    except (TypeError, ValueError) as error:
        raise InputError(_kinds(edge_index)) from error
    if edges.ndim != 2 or edges.shape[0] != 2 or (edges.dtype.kind not in "iu" and edges.size):
        raise InputError(_kinds(edge_index))
    if edges.size and edges.min() < 0:
        raise InputError("edge_index holds a negative node index; nodes are numbered from 0.")
    n = max(int(edges.max()) + 1 if edges.size else 0, num_nodes or 0)
    return edges[0].astype(np.int64), edges[1].astype(np.int64), range(n)


def _networkx_arcs(graph: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], Sequence[Any]]:
    labels = list(graph.nodes)
    index = {label: i for i, label in enumerate(labels)}
    weights = [weight for _, _, weight in graph.edges(data="weight") if weight is not None]
    _refuse_weights(np.asarray(weights, dtype=np.float64))
    arcs = np.array([(index[u], index[v]) for u, v in graph.edges()], dtype=np.int64).reshape(-1, 2)
    if not graph.is_directed():
        arcs = np.concatenate([arcs, arcs[:, ::-1]])
    return arcs[:, 0], arcs[:, 1], labels


def _refuse_weights(weights: NDArray[Any]) -> None:
    if weights.size and (weights != 1).any():
        raise InputError(
            "The graph is weighted, and delta is defined here on unweighted shortest paths; "
            "drop the weights first (set every weight to 1)."
        )


def _array(values: Any) -> NDArray[Any]:
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    return np.asarray(values)


def _kinds(given: Any) -> str:
    shape = f" of shape {tuple(given.shape)}" if hasattr(given, "shape") else ""
    return (
        f"Cannot read a graph from {type(given).__name__}{shape}; give an integer edge_index (2 x edges), "
        "a scipy sparse adjacency matrix, a networkx graph or a torch_geometric Data."
    )

"""What makes arrays a graph: the checks that every reader of a user's own graph ends in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hypergraph.datasets.arrays import GraphArrays, fitting_layout, simple_edges
from hypergraph.errors import InputError

Where = Callable[[int], str]


def checked_graph(
    name: str,
    edge_index: Any,
    *,
    num_nodes: int | None = None,
    x: Any = None,
    y: Any = None,
    masks: dict[str, Any] | None = None,
    where: str = "",
    node: Where | None = None,
    edge: Where | None = None,
    provenance: dict[str, Any] | None = None,
) -> GraphArrays:
    """Build a graph of arrays from outside, or say what is wrong with them and where.

    Args:
        name: What the graph is called.
        edge_index: ``(2, E)`` node indices, in any order, one direction or both.
        num_nodes: By default the rows of ``x``, the length of ``y``, or the largest index and one.
        x: Features, dense or sparse; without any, every node gets a column of its own.
        y: Integer labels.
        masks: ``train``, ``val`` and ``test``; taken where all three are there.
        where: The file, for messages.
        node: Where a node's row is described, for messages; by default its index.
        edge: The same for an edge.
        provenance: Where the graph is from.
    """
    name_node: Where = node or (lambda row: f"{where}: node {row}")
    name_edge: Where = edge or (lambda row: f"{where}: edge {row}")
    edge_index = np.asarray(edge_index)
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or not np.issubdtype(edge_index.dtype, np.integer):
        raise InputError(
            f"{where}: edge_index is {edge_index.dtype} of shape {edge_index.shape}, where integers of shape "
            "(2, edges) are needed."
        )
    count = _count(num_nodes, x, y, edge_index)
    for part, given in (("x", x), ("y", y)):
        if given is not None and given.shape[0] != count:
            raise InputError(f"{where}: {part} has {given.shape[0]} rows, where the graph has {count} nodes.")
    bad = ((edge_index < 0) | (edge_index >= count)).any(axis=0).nonzero()[0]
    if len(bad):
        ends = edge_index[:, bad[0]]
        unknown = ends[1] if 0 <= ends[0] < count else ends[0]
        raise InputError(
            f"{name_edge(int(bad[0]))}: node '{unknown}' is unknown; the graph has 0 to {count - 1}."
        )
    return GraphArrays(
        name=name,
        num_nodes=count,
        edges=simple_edges(edge_index[0], edge_index[1], count),
        x=_identity(count) if x is None else checked_features(x, where, name_node),
        y=None if y is None else checked_labels(np.asarray(y), where, name_node),
        masks=_masks(masks or {}, count),
        provenance=provenance or {"source": where},
    )


def _count(num_nodes: int | None, x: Any, y: Any, edge_index: NDArray[Any]) -> int:
    if num_nodes is not None:
        return num_nodes
    for part in (x, y):
        if part is not None:
            return int(part.shape[0])
    return int(edge_index.max(initial=-1)) + 1


def _identity(count: int) -> sp.csr_matrix:
    return sp.identity(count, dtype=np.float32, format="csr")


def checked_features(x: Any, where: str, node: Where) -> Any:
    """Finite float32 features, dense or CSR; ``node`` says where a row is described."""
    if x.ndim != 2:
        raise InputError(
            f"{where}: features with {x.ndim} dimensions, where two are needed: nodes and columns."
        )
    if sp.issparse(x):
        x = x.tocsr().astype(np.float32)
        x.sum_duplicates()
        bad = (~np.isfinite(x.data)).nonzero()[0][:1]
        places = [(np.searchsorted(x.indptr, i, side="right") - 1, x.indices[i]) for i in bad]
    else:
        x = np.ascontiguousarray(x, dtype=np.float32)
        places = [tuple(place) for place in np.argwhere(~np.isfinite(x))[:1]]
    for row, column in places:
        raise InputError(
            f"{node(int(row))}: feature {column + 1} is {x[row, column]}, where a finite number is needed."
        )
    return fitting_layout(x)


def checked_labels(y: NDArray[Any], where: str, node: Where) -> NDArray[np.int64]:
    """Labels that are integers from 0 on; ``node`` says where a row is described."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or not (np.issubdtype(y.dtype, np.number) or y.dtype == bool):
        raise InputError(
            f"{where}: labels are {y.dtype} of shape {y.shape}, where one integer a node is needed."
        )
    bad = (~((y >= 0) & (y == np.floor(y)))).nonzero()[0]
    if len(bad):
        raise InputError(
            f"{node(int(bad[0]))}: label '{y[bad[0]]}' is not an integer >= 0; number the classes from 0."
        )
    return np.ascontiguousarray(y, dtype=np.int64)


def _masks(masks: dict[str, Any], count: int) -> dict[str, NDArray[np.bool_]]:
    """The masks where all three are there; of several splits in columns, the first."""
    taken = {}
    for part in ("train", "val", "test"):
        mask = np.asarray(masks.get(part, np.empty(0)))
        mask = mask[:, 0] if mask.ndim == 2 else mask
        if mask.shape != (count,) or mask.dtype != bool:
            return {}
        taken[part] = np.ascontiguousarray(mask)
    return taken

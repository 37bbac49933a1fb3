"""A graph as plain arrays: what every reader returns, what the cache keeps, what becomes a ``Data``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_geometric.data import Data

UNLABELLED = -1


@dataclass
class GraphArrays:
    """One undirected graph; ``edges`` is ``(2, E)``, each edge once, ``i < j``, sorted.

    Args:
        y: The class of every node, an index into ``classes``, or -1 where it has none.
        classes: The names of the classes.
        ids: What the user calls the nodes; ``None`` where they are 0, 1, ...
        columns: What the user calls the features, where they have names.
        weights: One for every edge; ``None`` where all are alike.
        changes: What was dropped or changed on the way here, in words.
        bare: Whether there were no features, so that every node has a column of its own.
    """

    name: str
    num_nodes: int
    edges: NDArray[np.int64]
    x: Any  # sp.csr_matrix where sparse, else an array; float32
    y: NDArray[np.int64] | None = None
    masks: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    ids: list[str] | None = None
    columns: tuple[str, ...] = ()
    weights: NDArray[np.float32] | None = None
    changes: list[str] = field(default_factory=list)
    bare: bool = False

    def to_data(self) -> Data:
        """The PyG graph: both directions of every edge, sorted, and sparse CSR features where sparse."""
        import torch
        from torch_geometric.data import Data

        from hypergraph.sparse import csr_tensor

        if sp.issparse(self.x):
            x = csr_tensor(self.x.indptr, self.x.indices, self.x.data, self.x.shape)
        else:
            x = torch.from_numpy(self.x)
        edge_index = both_directions(self.edges, self.num_nodes)
        data = Data(x=x, edge_index=torch.from_numpy(edge_index))
        if self.weights is not None:
            weights = weights_of(edge_index, self.edges, self.weights, self.num_nodes)
            data.edge_weight = torch.from_numpy(weights)
        if self.y is not None:
            data.y = torch.from_numpy(self.y)
            data.classes = self.classes or tuple(map(str, range(int(self.y.max(initial=-1)) + 1)))
        if self.ids is not None:
            data.node_ids = self.ids
        if self.columns:
            data.columns = self.columns
        for part, mask in self.masks.items():
            data[f"{part}_mask"] = torch.from_numpy(mask)
        data.num_nodes = self.num_nodes
        data.name = self.name
        data.provenance = self.provenance
        data.changes = self.changes
        if self.bare:
            data.own_columns = True
        return data


def node_ids(data: Data) -> Sequence[str] | range:
    """What the user calls the nodes of a graph: their ids, or 0, 1, ..."""
    ids: list[str] | None = data.get("node_ids")
    return range(int(data.num_nodes)) if ids is None else ids


@dataclass(frozen=True)
class SimpleEdges:
    """The edges of a simple undirected graph, and what became of those given.

    Args:
        edges: Each once with ``i < j``, sorted, no self-loops.
        weights: The mean of the weights given for each.
        loops: How many self-loops were dropped.
        repeated: How many were given again in the same direction.
        one_way: How many edges were given in one direction only.
    """

    edges: NDArray[np.int64]
    weights: NDArray[np.float32] | None
    loops: int
    repeated: int
    one_way: int


def simplify(
    source: NDArray[Any], target: NDArray[Any], num_nodes: int, weights: NDArray[Any] | None = None
) -> SimpleEdges:
    """The simple undirected graph of edges in any order, one direction or both: one sort, and masks."""
    low, high = np.minimum(source, target), np.maximum(source, target)
    proper = low != high
    # The last bit is the direction, so that the two of a pair lie side by side; in place, for large graphs.
    keys = low.astype(np.int64)
    keys *= num_nodes
    keys += high
    keys <<= 1
    keys += source > target
    keys = keys[proper]
    if weights is None:
        keys.sort()
    else:
        order = np.argsort(keys, kind="stable")
        keys, given = keys[order], np.asarray(weights, dtype=np.float64)[proper][order]
    distinct = first_of_each(keys)
    total = len(keys)
    keys >>= 1
    first = first_of_each(keys)
    pairs = keys[first]
    edges = np.empty((2, len(pairs)), np.int64)
    np.divmod(pairs, max(num_nodes, 1), out=(edges[0], edges[1]))
    two_way = int(distinct.sum()) - edges.shape[1]
    return SimpleEdges(
        edges,
        None if weights is None else means(given, first),
        loops=len(proper) - total,
        repeated=total - int(distinct.sum()),
        one_way=edges.shape[1] - two_way,
    )


def first_of_each(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of sorted keys differ from the one before; np.unique hashes, and takes seventy times as long."""
    first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first


def means(values: NDArray[np.float64], first: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The mean of each group of values; ``first`` says where one begins."""
    starts = first.nonzero()[0]
    sums = np.add.reduceat(values, starts) if len(starts) else np.empty(0)
    return (sums / np.diff(np.append(starts, len(values)))).astype(np.float32)


def simple_edges(source: NDArray[Any], target: NDArray[Any], num_nodes: int) -> NDArray[np.int64]:
    """The edges of the simple undirected graph: each once with ``i < j``, sorted, no self-loops."""
    return simplify(source, target, num_nodes).edges


def both_directions(edges: NDArray[np.int64], num_nodes: int) -> NDArray[np.int64]:
    """Both directions of every edge, sorted by source and target: PyG's coalesced ``edge_index``."""
    low, high = edges.astype(np.int32 if num_nodes < 2**31 else np.int64, copy=False)
    # SciPy counts where NumPy sorts, and leaves those of a node in their order: the smaller ones, the larger.
    ends = np.concatenate([high, low]), np.concatenate([low, high])
    csr = sp.coo_matrix((np.ones(len(ends[0]), np.int8), ends), shape=(num_nodes, num_nodes)).tocsr()
    both = np.empty((2, csr.nnz), np.int64)
    both[0] = np.repeat(np.arange(num_nodes, dtype=csr.indices.dtype), np.diff(csr.indptr))
    both[1] = csr.indices
    return both


def weights_of(
    edge_index: NDArray[np.int64], edges: NDArray[np.int64], weights: NDArray[Any], num_nodes: int
) -> NDArray[Any]:
    """The weight of every arc of ``edge_index``, whose edges are among the sorted ``edges``."""
    keys = edge_index.min(axis=0) * num_nodes + edge_index.max(axis=0)
    return weights[np.searchsorted(edges[0] * num_nodes + edges[1], keys)]


def fitting_layout(x: Any) -> Any:
    """Features as CSR where that is the smaller of the two, and as an array where they are mostly filled."""
    if sp.issparse(x):
        return x.toarray() if x.nnz > 0.5 * x.shape[0] * x.shape[1] else x
    return sp.csr_matrix(x) if mostly_empty(int(np.count_nonzero(x)), x.shape) else x


def mostly_empty(filled: int, shape: tuple[int, ...]) -> bool:
    """Whether features of which so many are not 0 are better sparse; a few columns are as fast dense."""
    return shape[1] >= 64 and filled < 0.2 * shape[0] * shape[1]

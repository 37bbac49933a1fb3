"""A graph as plain arrays: what every reader returns, what the cache keeps, what becomes a ``Data``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass
class GraphArrays:
    """One undirected graph; ``edges`` is ``(2, E)``, each edge once, ``i < j``, sorted."""

    name: str
    num_nodes: int
    edges: NDArray[np.int64]
    x: Any  # sp.csr_matrix where sparse, else an array; float32
    y: NDArray[np.int64] | None = None
    masks: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)

    def to_data(self) -> Data:
        """The PyG graph: both directions of every edge, sorted, and sparse CSR features where sparse."""
        import torch
        from torch_geometric.data import Data

        from hypergraph.sparse import csr_tensor

        if sp.issparse(self.x):
            x = csr_tensor(self.x.indptr, self.x.indices, self.x.data, self.x.shape)
        else:
            x = torch.from_numpy(self.x)
        data = Data(x=x, edge_index=torch.from_numpy(both_directions(self.edges, self.num_nodes)))
        if self.y is not None:
            data.y = torch.from_numpy(self.y)
        for part, mask in self.masks.items():
            data[f"{part}_mask"] = torch.from_numpy(mask)
        data.num_nodes = self.num_nodes
        data.name = self.name
        data.provenance = self.provenance
        return data


def simple_edges(source: NDArray[Any], target: NDArray[Any], num_nodes: int) -> NDArray[np.int64]:
    """The edges of the simple undirected graph: each once with ``i < j``, sorted, no self-loops."""
    low = np.minimum(source, target).astype(np.int64)
    high = np.maximum(source, target).astype(np.int64)
    keys = np.unique((low * num_nodes + high)[low != high])
    return np.stack([keys // max(num_nodes, 1), keys % max(num_nodes, 1)])


def both_directions(edges: NDArray[np.int64], num_nodes: int) -> NDArray[np.int64]:
    """Both directions of every edge, sorted by source and target: PyG's coalesced ``edge_index``."""
    keys = np.concatenate([edges[0] * num_nodes + edges[1], edges[1] * num_nodes + edges[0]])
    keys.sort()
    return np.stack([keys // max(num_nodes, 1), keys % max(num_nodes, 1)])


def fitting_layout(x: Any) -> Any:
    """Features as CSR where that is the smaller of the two, and as an array where they are mostly filled."""
    if sp.issparse(x):
        return x.toarray() if x.nnz > 0.5 * x.shape[0] * x.shape[1] else x
    # A few columns are as fast dense, however empty they are.
    return sp.csr_matrix(x) if x.shape[1] >= 64 and np.count_nonzero(x) < 0.2 * x.size else x

"""The usual loader: batches of nodes with sampled neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.loader import NodeLoader
from torch_geometric.loader.utils import get_input_nodes

from hypergraph.loader.rows import take_rows
from hypergraph.loader.sampler import NeighborSampler


class _Loader(NodeLoader):
    """PyG's loader; every pass over it draws anew, and sparse features are taken too."""

    def __iter__(self) -> Iterator[Any]:
        self.node_sampler.epoch += 1
        return super().__iter__()

    def filter_fn(self, out: Any) -> Any:
        batch = super().filter_fn(out)
        if self.sparse is not None:
            batch.x = take_rows(self.sparse, out.node)
        return batch


class _Order(torch.utils.data.Sampler[int]):
    """All nodes in another order in each epoch. A loader's own order depends on its workers too."""

    def __init__(self, sampler: NeighborSampler, count: int) -> None:
        self.sampler, self.count = sampler, count

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        yield from self.sampler.shuffled(self.count).tolist()


def neighbor_loader(
    data: Data,
    num_neighbors: Sequence[int],
    input_nodes: Tensor | None = None,
    *,
    batch_size: int = 1024,
    shuffle: bool = False,
    replace: bool = False,
    disjoint: bool = False,
    subgraph_type: str = "directional",
    seed: int = 0,
    **options: Any,
) -> NodeLoader:
    """PyG's NodeLoader over a :class:`~hypergraph.loader.NeighborSampler`; neither pyg-lib nor torch-sparse
    is needed.

    The order of the nodes and what is drawn for them follow from ``seed``, whatever the number of workers.

    Args:
        data: A graph with ``edge_index``; its features may be dense, sparse CSR, or mapped from a file.
        num_neighbors: How many neighbours a node draws in each hop; -1 is all of them.
        input_nodes: The nodes of the batches, as numbers or a mask; by default all.
        batch_size, shuffle: Those of :class:`torch_geometric.loader.NodeLoader`.
        **options: More of them.
        replace, disjoint, subgraph_type, seed: Those of the sampler.

    Example:
        >>> data = datasets.load_graph("cora")
        >>> loader = neighbor_loader(data, [15, 10], data.train_mask, batch_size=64, shuffle=True)
        >>> [batch.batch_size for batch in loader]
        [64, 64, 12]
    """
    sampler = NeighborSampler(
        data, num_neighbors, replace=replace, disjoint=disjoint, subgraph_type=subgraph_type, seed=seed
    )
    sampler.epoch = -1  # the first pass is epoch 0
    sparse = data.x if isinstance(data.x, Tensor) and data.x.layout == torch.sparse_csr else None
    if sparse is not None:
        data = data.__copy__()
        data.num_nodes = sampler.num_nodes
        del data.x
    if shuffle:
        _, nodes, _ = get_input_nodes(data, input_nodes, None)
        options["sampler"] = _Order(sampler, len(nodes))
    loader = _Loader(data, sampler, input_nodes, batch_size=batch_size, **options)
    loader.sparse = sparse
    return loader

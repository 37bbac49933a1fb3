"""Neighbour sampling behind PyG's own interface, for its NodeLoader and LinkLoader."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.sampler import (
    BaseSampler,
    EdgeSamplerInput,
    NegativeSampling,
    NodeSamplerInput,
    SamplerOutput,
)
from torch_geometric.sampler.base import SubgraphType
from torch_geometric.sampler.neighbor_sampler import edge_sample, node_sample

from hypergraph.errors import InputError, unknown_name
from hypergraph.loader import kernels


class NeighborSampler(BaseSampler):
    """Draws neighbours of nodes or of the ends of edges, hop by hop, along edges towards them.

    What is drawn for a batch depends on ``seed``, :attr:`epoch` and the nodes of the batch, and on nothing
    else: it is the same in any worker, in any number of them, and on any machine.

    Args:
        data: A PyG ``Data`` with an ``edge_index``, or the pair ``(pointer, row)`` of a graph whose edges are
            grouped by target: those into ``i`` come from ``row[pointer[i]:pointer[i + 1]]``.
        num_neighbors: How many neighbours a node draws in each hop; -1 is all of them.
        replace: Whether a neighbour may be drawn twice.
        disjoint: Whether each seed has a neighbourhood of its own; ``batch`` says whose a node is.
        subgraph_type: ``"directional"`` has the edges that were drawn, ``"bidirectional"`` these in both
            directions, ``"induced"`` all edges of the graph between the nodes that were drawn.
        seed: Of the random numbers.

    Example:
        >>> from torch_geometric.loader import NodeLoader
        >>> from torch_geometric.datasets import KarateClub
        >>> graph = KarateClub()[0]
        >>> loader = NodeLoader(graph, NeighborSampler(graph, [10, 5]), input_nodes=None, batch_size=20)
        >>> [batch.batch_size for batch in loader]
        [20, 14]
    """

    def __init__(
        self,
        data: Data | tuple[Any, Any],
        num_neighbors: Sequence[int],
        *,
        replace: bool = False,
        disjoint: bool = False,
        subgraph_type: str = "directional",
        seed: int = 0,
    ) -> None:
        counts = np.asarray(num_neighbors)
        whole = counts.size == 0 or np.issubdtype(counts.dtype, np.integer)
        if counts.ndim != 1 or not whole or (counts < -1).any():
            raise InputError(
                f"num_neighbors must be a list of whole numbers, one a hop and -1 for all neighbours, got "
                f"{num_neighbors!r}."
            )
        kinds = [kind.value for kind in SubgraphType]
        if subgraph_type not in kinds:
            raise unknown_name("subgraph_type", str(subgraph_type), kinds)
        self.num_neighbors = [int(count) for count in counts]
        self.replace, self.disjoint, self.subgraph_type = replace, disjoint, subgraph_type
        self.seed = seed
        self._edge: Tensor | None = None
        self._pointer, self._row = self._grouped(data)
        # shared, so that workers that live on see the next epoch
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()

    def _grouped(self, data: Any) -> tuple[Any, Any]:
        if isinstance(data, tuple):
            pointer, row = (np.asarray(part) for part in data)
            if len(pointer) < 1 or pointer[0] != 0 or pointer[-1] != len(row) or (np.diff(pointer) < 0).any():
                raise InputError("The pointer of the graph must rise from 0 to the number of its edges.")
            return _constant(pointer.astype(np.int64, copy=False)), _constant(row)
        if not isinstance(data, Data) or not isinstance(data.edge_index, Tensor):
            given = type(data).__name__
            raise InputError(
                f"NeighborSampler takes a Data with an edge_index, or (pointer, row), not {given}."
            )
        count = int(data.num_nodes or 0)
        source, target = data.edge_index.cpu().numpy()
        if data.edge_index.numel() and not (data.edge_index.min() >= 0 and data.edge_index.max() < count):
            raise InputError(f"edge_index names a node outside 0 to {count - 1}.")
        pointer, row, edge = kernels.by_target(source, target, count)
        self._edge = torch.from_numpy(edge)
        return _constant(pointer), _constant(row)

    @property
    def num_nodes(self) -> int:
        """Of the graph."""
        return len(self._pointer) - 1

    @property
    def epoch(self) -> int:
        """Another epoch draws other neighbours for the same batch."""
        return int(self._epoch)

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self._epoch.fill_(epoch)

    @property
    def edge_permutation(self) -> Tensor | None:
        """Where the edges of the sampler are in ``edge_index``."""
        return self._edge

    def shuffled(self, count: int) -> Tensor:
        """The numbers below ``count`` in an order that follows from ``seed`` and :attr:`epoch`."""
        state = kernels.stream(self.seed, self.epoch, np.zeros(0, np.int64))
        return torch.randperm(count, generator=torch.Generator().manual_seed(int(state >> np.uint64(1))))

    def sample_from_nodes(self, index: NodeSamplerInput, **kwargs: Any) -> SamplerOutput:
        """A batch of nodes and what was drawn around them."""
        return self._finish(node_sample(index, self._sample))

    def sample_from_edges(
        self, index: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None
    ) -> SamplerOutput:
        """A batch of edges, negative ones drawn for them where asked for, and what is around their ends."""
        ends = np.concatenate([index.row.numpy(), index.col.numpy()])
        with torch.random.fork_rng(devices=[]):  # PyG draws the negatives with torch's numbers
            torch.manual_seed(int(kernels.stream(self.seed, self.epoch, ends) >> np.uint64(1)))
            out = edge_sample(
                index, self._sample, self.num_nodes, self.disjoint, None, NegativeSampling.cast(neg_sampling)
            )
        return self._finish(out)

    def _finish(self, out: SamplerOutput) -> SamplerOutput:
        return out.to_bidirectional() if self.subgraph_type == "bidirectional" else out

    def _sample(self, seed: Tensor, seed_time: Tensor | None = None) -> SamplerOutput:
        if seed_time is not None or isinstance(seed, dict):
            raise InputError("NeighborSampler takes one type of nodes, and no times.")
        seeds = seed.numpy()
        if len(seeds) and not (seeds.min() >= 0 and seeds.max() < self.num_nodes):
            raise InputError(f"The nodes of a batch must be from 0 to {self.num_nodes - 1}.")
        state = np.array([kernels.stream(self.seed, self.epoch, seeds)], np.uint64)
        counts = np.array(self.num_neighbors, np.int64)
        nodes, trees, source, target, edge, nodes_in, edges_in, bad = kernels.sample(
            self._pointer, self._row, seeds, counts, self.replace, self.disjoint, state
        )
        if bad >= 0:
            raise InputError(f"Edge {bad} of the graph names a node outside 0 to {self.num_nodes - 1}.")
        if self.subgraph_type == "induced":
            source, target, edge = kernels.induced(self._pointer, self._row, nodes, trees)
        hops = self.subgraph_type != "induced"
        return SamplerOutput(
            node=torch.from_numpy(nodes),
            row=torch.from_numpy(source),
            col=torch.from_numpy(target),
            edge=torch.from_numpy(edge),
            batch=torch.from_numpy(trees) if self.disjoint else None,
            num_sampled_nodes=nodes_in.tolist() if hops else None,
            num_sampled_edges=edges_in.tolist() if hops else None,
        )

    def __copy__(self) -> NeighborSampler:
        """The same graph with an epoch of its own."""
        other = object.__new__(NeighborSampler)
        other.__dict__ |= self.__dict__
        other._epoch = self._epoch.clone().share_memory_()
        return other

    def with_seed(self, seed: int) -> NeighborSampler:
        """The same sampler with another seed; the graph is not copied."""
        other = copy.copy(self)
        other.seed = seed
        return other

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_nodes} nodes, {self.num_neighbors})"


def _constant(array: Any) -> Any:
    """A view that cannot be written: numba compiles for one kind of array instead of two."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view

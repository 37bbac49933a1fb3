"""Training on a graph in batches: seeds, their sampled neighbourhoods, and exact embeddings of all nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_geometric.sampler import NodeSamplerInput

from hypergraph.errors import InputError
from hypergraph.loader.blocks import blocks, degrees
from hypergraph.loader.layerwise import ROWS, encode
from hypergraph.nn.registry import ENCODERS
from hypergraph.sparse import SparseMatrix
from hypergraph.tasks.classify import mean_over_processes, share
from hypergraph.tasks.config import GraphConfig
from hypergraph.tasks.distributed import processes
from hypergraph.tasks.graph import GraphData


def check(config: GraphConfig, name: str, count: int) -> None:
    """Refuse batches that cannot be made of ``count`` nodes or edges."""
    if processes() > 1 and not config.batch_size:
        raise InputError("Several processes share out batches: give a --batch-size, such as 1024.")
    if config.batch_size > count:
        raise InputError(
            f"{name}: a batch of {config.batch_size}, and only {count} train; lower --batch-size."
        )
    if config.batch_size % processes():
        raise InputError(
            f"A batch of {config.batch_size} cannot be divided among {processes()} processes; choose a "
            "--batch-size that can."
        )


class Batches:
    """The batches of one seed; they depend on the seed and the epoch alone.

    Args:
        config: The configuration.
        seed: Of the order and of the neighbours.
        data: The graph.
        count: How many nodes or edges train.
    """

    def __init__(self, config: GraphConfig, seed: int, data: GraphData, count: int) -> None:
        from hypergraph.loader import NeighborSampler  # which imports numba

        self.config, self.data, self.count = config, data, count
        self.pointer, self.column = data.grouped()
        hops = config.fanouts if ENCODERS[config.encoder].uses_graph else []
        self.seed = seed
        self.sampler = NeighborSampler((self.pointer.numpy(), self.column.numpy()), hops, seed=seed)
        self.degree = degrees(self.pointer, data.edge_weight, self._dtype)

    def epoch(self, epoch: int, train: Callable[[Tensor, float], float]) -> float:
        """Train one epoch, and give its mean loss.

        Args:
            epoch: Its number.
            train: Takes one step on this process's share of a batch, with the loss times a factor, and gives
                that product. Gradients are averaged over processes; with the factors the average is the mean
                over the whole batch.
        """
        self.sampler.epoch = epoch
        if processes() > 1:
            # The checkpoint holds the generator of one process alone, and shares of different sizes draw a
            # different number of random values for dropout: so all begin each epoch from this seed.
            torch.manual_seed((self.seed + (epoch << 32)) % 2**63)
        total = 0.0
        for index in self.sampler.shuffled(self.count).split(self.config.batch_size):
            # A last batch with fewer nodes than processes is not shared out: every process trains all of it.
            mine = share(index) if len(index) >= processes() else index
            factor = len(mine) * processes() / len(index) if mine is not index else 1.0
            total += train(mine, factor) * len(index)
        return mean_over_processes(total / self.count)

    def around(self, nodes: Tensor) -> tuple[Tensor, list[SparseMatrix]]:
        """The features of some nodes and of the neighbours drawn for them, and one matrix for each layer.

        Each layer needs fewer nodes than the one before: the encoder returns the points of ``nodes`` alone.
        """
        found = self.sampler.sample_from_nodes(NodeSamplerInput(None, nodes))
        # an encoder that has no choice of norm weighs messages as GCN does
        chooses = "norm" in ENCODERS[self.config.encoder].takes
        symmetric = not chooses or self.config.norm == "symmetric"
        made = blocks(found, self.pointer, self.degree, self.data.edge_weight, symmetric=symmetric)
        return self.features(found.node), [matrix.to(self.config.device) for matrix in made]

    @property
    def _dtype(self) -> torch.dtype:
        dtype: torch.dtype = getattr(torch, self.config.dtype)
        return dtype

    def features(self, nodes: Tensor) -> Tensor:
        """The features of nodes as the model takes them."""
        return self.data.rows(nodes).to(device=self.config.device, dtype=self._dtype)

    def embed(self, encoder: Any) -> Tensor:
        """What the encoder gives for all nodes, exactly."""
        return encode(encoder, self.features, self.pointer, self.column, self.data.edge_weight)

    @staticmethod
    def by_rows(function: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
        """``function(rows)`` in blocks, so that the memory it needs does not grow with the number of rows."""
        return torch.cat([function(part) for part in rows.split(ROWS)])

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor
from torch_geometric.sampler import NodeSamplerInput

from hypergraph.loader import NeighborSampler
from hypergraph.loader.blocks import blocks, degrees
from hypergraph.nn import GCN, HGCN, make_space
from hypergraph.nn.adjacency import Nodes, normalize

NODES = 60
SEEDS = torch.tensor([7, 3, 41, NODES - 1])  # the last node has no edge


def graph() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Features, the edges of an undirected graph sorted by source, their weights, and the pointer."""
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(NODES - 1, (2, 4 * NODES), generator=generator)
    pairs = pairs[:, pairs[0] != pairs[1]]
    keys = torch.cat([pairs[0] * NODES + pairs[1], pairs[1] * NODES + pairs[0]]).unique()
    edges = torch.stack([keys // NODES, keys % NODES])
    degree = torch.bincount(edges[0], minlength=NODES)
    pointer = torch.cat([degree.new_zeros(1), degree.cumsum(0)])
    weight = 0.2 + edges.min(0).values * 0.01 + edges.max(0).values * 0.02  # the same both ways
    return torch.randn(NODES, 5, generator=generator, dtype=torch.float64), edges, weight.double(), pointer


def drawn(counts: list[int], symmetric: bool, weight: Tensor | None, epoch: int = 0):
    _, edges, _, pointer = graph()
    sampler = NeighborSampler((pointer.numpy(), edges[1].numpy()), counts)
    sampler.epoch = epoch
    found = sampler.sample_from_nodes(NodeSamplerInput(None, SEEDS))
    degree = degrees(pointer, weight, torch.float64)
    return found.node, blocks(found, pointer, degree, weight, symmetric=symmetric)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize(
    ("cls", "norm", "model"),
    [(HGCN, "mean", "lorentz"), (HGCN, "symmetric", "poincare"), (GCN, "symmetric", "euclidean")],
)
def test_all_neighbours_give_the_points_of_the_whole_graph(cls, norm, model, residual, weighted):
    x, edges, weight, _ = graph()
    weight = weight if weighted else None
    torch.manual_seed(1)
    options = {"residual": residual, "propagate": 1} | ({"norm": norm} if cls is HGCN else {})
    encoder = cls(5, 5, 2, make_space(model, -0.7), **options).double()
    nodes, found = drawn([-1, -1, -1], norm == "symmetric", weight)
    assert all(a.shape[0] == b.shape[1] for a, b in pairwise(found))
    points = encoder(x[nodes], found)
    expected = encoder(x, edges, weight)[SEEDS]
    assert torch.allclose(points, expected, rtol=0, atol=1e-10)
    weights = list(encoder.parameters())
    for a, b in zip(*(torch.autograd.grad(out.square().sum(), weights) for out in (points, expected))):
        assert torch.allclose(a, b, rtol=0, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("norm", ["mean", "symmetric"])
def test_the_mean_over_draws_is_the_matrix_of_the_graph(norm, weighted):
    _, edges, weight, _ = graph()
    weight = weight if weighted else None
    made = normalize(edges, weight, Nodes(NODES, NODES), torch.float64, norm)
    whole = torch.zeros(NODES, NODES, dtype=torch.float64)
    whole[made.edge_index[1], made.edge_index[0]] = made.weight
    total, square = torch.zeros(2, len(SEEDS), NODES, dtype=torch.float64)
    draws = 2000
    for epoch in range(draws):
        nodes, (matrix,) = drawn([2], norm == "symmetric", weight, epoch)
        dense = torch.zeros(len(SEEDS), NODES, dtype=torch.float64)
        dense[:, nodes] = matrix.csr.to_dense()
        total += dense / draws
        square += dense.square() / draws
    deviation = ((square - total.square()).clamp_min(0) / draws).sqrt()
    assert ((total - whole[SEEDS]).abs() <= 5 * deviation + 1e-12).all()


def test_without_hops_there_is_nothing_to_aggregate():
    assert drawn([], False, None)[1] == []

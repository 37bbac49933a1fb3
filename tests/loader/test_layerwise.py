from __future__ import annotations

import pytest
import torch

from hypergraph.errors import InputError
from hypergraph.loader import layerwise, take_rows
from hypergraph.nn import FCS, GCN, HGCN, HNN, MLP, make_space


def graph(dtype: torch.dtype, nodes: int = 90) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Features, the edges of an undirected graph sorted by source, and where those of each node begin."""
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(nodes - 2, (2, 5 * nodes), generator=generator)
    pairs = pairs[:, pairs[0] != pairs[1]]
    keys = torch.cat([pairs[0] * nodes + pairs[1], pairs[1] * nodes + pairs[0]]).unique()
    edges = torch.stack([keys // nodes, keys % nodes])
    pointer = torch.cat(
        [torch.zeros(1, dtype=torch.long), torch.bincount(edges[0], minlength=nodes).cumsum(0)]
    )
    return torch.randn(nodes, 7, generator=generator, dtype=dtype), edges, pointer


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(layerwise, "ROWS", 13)
    monkeypatch.setattr(layerwise, "EDGES", 60)


ENCODERS = [
    *((HGCN, entry.space, entry.name) for entry in FCS.values() if entry.space != "euclidean"),
    *((HNN, entry.space, entry.name) for entry in FCS.values() if entry.space != "euclidean"),
    (GCN, "euclidean", None),
    (MLP, "euclidean", None),
]


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize(("cls", "model", "linear"), ENCODERS)
def test_equals_the_forward_of_the_whole_graph(cls, model, linear, dtype, bound):
    x, edges, pointer = graph(dtype)
    torch.manual_seed(1)
    options = {} if linear is None else {"fc": linear}
    encoder = cls(7, 5, 3, make_space(model, -0.7), dropout=0.3, clip=2.0, **options).to(dtype)
    encoder(x, edges)  # BFC initialises itself on the first batch
    with torch.no_grad():
        for parameter in encoder.parameters():  # biases start at 0
            parameter += 0.1 * torch.randn_like(parameter)
    expected = encoder.eval()(x, edges)
    encoder.train()
    found = layerwise.encode(encoder, lambda nodes: take_rows(x, nodes), pointer, edges[1])
    assert encoder.training and not found.requires_grad
    assert (found - expected).abs().max() <= bound * expected.abs().max().clamp_min(1)


@pytest.mark.parametrize("cls", [HGCN, GCN])
def test_weights_of_edges(cls):
    x, edges, pointer = graph(torch.float64)
    a, b = edges
    weight = 0.1 + torch.minimum(a, b) * 0.01 + torch.maximum(a, b) * 0.02  # the same both ways
    torch.manual_seed(1)
    encoder = cls(7, 5, 2, make_space("euclidean" if cls is GCN else "lorentz")).double().eval()
    expected = encoder(x, edges, weight.double())
    found = layerwise.encode(encoder, lambda nodes: x[nodes], pointer, b, weight.double())
    assert torch.allclose(found, expected, rtol=0, atol=1e-10)


def test_a_damaged_graph_is_named():
    x, edges, pointer = graph(torch.float32)
    column = edges[1].clone()
    column[100] = 99
    with pytest.raises(InputError, match="a node outside 0 to 89"):
        layerwise.encode(HGCN(7, 5, 2, make_space("poincare")), lambda nodes: x[nodes], pointer, column)

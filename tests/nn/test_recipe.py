"""What a good recipe needs of encoders, layers and heads."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from hypergraph.errors import InputError
from hypergraph.geometry import Euclidean, Lorentz, PoincareBall, Space
from hypergraph.loader import layerwise
from hypergraph.nn import BFC, BMLR, GCN, HGCN, HNN, MLP, LorentzFC, PoincareMLR, make_space
from hypergraph.nn.adjacency import Nodes, normalize
from hypergraph.nn.registry import FCS, make_fc
from hypergraph.sparse import SparseMatrix, csr_tensor

NODES, FEATURES, DIM = 18, 9, 4
SPACES = [PoincareBall(K=-0.4), Lorentz(K=-2.3)]
pytestmark = pytest.mark.usefixtures("double")


def graph() -> tuple[Tensor, Tensor]:
    pairs = torch.randint(0, NODES, (2, 40))
    pairs = pairs[:, pairs[0] != pairs[1]]
    keys = torch.cat([pairs[0] * NODES + pairs[1], pairs[1] * NODES + pairs[0]]).unique()
    x = torch.randn(NODES, FEATURES) * (torch.rand(NODES, FEATURES) < 0.5)
    return x, torch.stack([keys // NODES, keys % NODES])


def matrix(edges: Tensor, norm: str) -> Tensor:
    made = normalize(edges, None, Nodes(NODES, NODES), torch.float64, norm)
    return torch.zeros(NODES, NODES).index_put((made.edge_index[1], made.edge_index[0]), made.weight)


def test_symmetric_weights_are_those_of_a_gcn() -> None:
    _, edges = graph()
    index, weight = gcn_norm(edges, None, NODES, dtype=torch.float64)
    expected = torch.zeros(NODES, NODES).index_put((index[1], index[0]), weight)
    assert torch.allclose(matrix(edges, "symmetric"), expected)
    assert torch.allclose(matrix(edges, "mean").sum(1), torch.ones(NODES))
    with pytest.raises(InputError, match="bipartite graph has no symmetric adjacency"):
        normalize(edges, None, Nodes(NODES, NODES, NODES), torch.float64, "symmetric")


@pytest.mark.parametrize("norm", ["mean", "symmetric"])
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_propagation_is_the_aggregation_alone(space: Space, norm: str) -> None:
    x, edges = graph()
    torch.manual_seed(0)
    plain = HGCN(FEATURES, DIM, 2, space, norm=norm).eval()
    torch.manual_seed(0)
    more = HGCN(FEATURES, DIM, 2, space, norm=norm, propagate=2).eval()
    more.load_state_dict(plain.state_dict(), strict=False)
    A = matrix(edges, norm)
    expected = space.exp0(A @ (A @ space.log0(plain(x, edges))))
    assert torch.allclose(more(x, edges), expected, atol=1e-9)
    count = sum(p.numel() for p in more.parameters())
    assert count == sum(p.numel() for p in plain.parameters())


def test_one_layer_and_a_propagation_under_a_head_are_a_gcn_of_two_layers() -> None:
    x, edges = graph()
    encoder = GCN(FEATURES, DIM, 1, propagate=1).eval()
    head = nn.Linear(DIM, 3)
    second = GCNConv(DIM, 3)
    second.lin.weight, second.bias = head.weight, head.bias
    first = encoder.layers[0]
    hidden = torch.relu(matrix(edges, "symmetric") @ (x @ first.lin.weight.T) + first.bias)
    assert torch.allclose(head(encoder(x, edges)), second(hidden, edges))


@pytest.mark.parametrize("cls", [HGCN, HNN, GCN, MLP])
def test_residuals_and_dropout(cls: Any) -> None:
    """The second layer adds its input; dropout acts in training alone, and on all coordinates alike."""
    x, edges = graph()
    space = Euclidean() if cls in (GCN, MLP) else SPACES[0]
    torch.manual_seed(0)
    plain = cls(FEATURES, DIM, 2, space).eval()
    first = cls(FEATURES, DIM, 1, space).eval()
    first.load_state_dict({k: v for k, v in plain.state_dict().items() if "layers.1" not in k})
    added = cls(FEATURES, DIM, 2, space, residual=True).eval()
    added.load_state_dict(plain.state_dict())
    expected = space.log0(plain(x, edges)) + space.log0(first(x, edges))
    assert torch.allclose(space.log0(added(x, edges)), expected, atol=1e-9)
    noisy = cls(FEATURES, DIM, 2, space, hidden_dropout=0.9, feature_dropout=0.5)
    noisy.load_state_dict(plain.state_dict())
    assert not torch.allclose(noisy(x, edges), noisy(x, edges))
    assert (space.log0(noisy(x, edges)) == 0).double().mean() > 0.5
    assert torch.equal(noisy.eval()(x, edges), plain(x, edges))


def test_sparse_features_are_dropped_as_dense_ones() -> None:
    x, edges = graph()
    row, col = x.nonzero().T
    crow = torch.cat([torch.zeros(1, dtype=torch.long), torch.bincount(row, minlength=NODES).cumsum(0)])
    sparse = SparseMatrix(csr_tensor(crow, col, x[row, col], (NODES, FEATURES)))
    total = torch.zeros(NODES, FEATURES)
    for _ in range(400):
        dropped = sparse.dropout(0.5)
        dense = dropped.csr.to_dense()
        assert torch.equal(dense.T, dropped.transposed.to_dense())
        assert ((dense == 0) | torch.isclose(dense, 2 * x)).all()
        total += dense / 400
    assert (total - x).abs().max() < 0.25 * x.abs().max()
    encoder = HGCN(FEATURES, DIM, 1, SPACES[0], feature_dropout=0.5)
    loss = encoder(sparse.csr, edges).sum()
    loss.backward()
    assert encoder.layers[0].fc.weight.grad.isfinite().all()
    assert not torch.equal(encoder(sparse.csr, edges), encoder(sparse.csr, edges))


@pytest.mark.parametrize("cls", [HGCN, GCN])
def test_blocks_of_rows_give_the_same(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layerwise, "ROWS", 7)
    x, edges = graph()
    order = (edges[0] * NODES + edges[1]).argsort()
    edges = edges[:, order]
    pointer = torch.cat(
        [torch.zeros(1, dtype=torch.long), torch.bincount(edges[0], minlength=NODES).cumsum(0)]
    )
    space = Euclidean() if cls is GCN else SPACES[1]
    options = {} if cls is GCN else {"norm": "symmetric"}
    encoder = cls(FEATURES, DIM, 2, space, residual=True, propagate=2, hidden_dropout=0.5, **options)
    found = layerwise.encode(encoder, lambda nodes: x[nodes], pointer, edges[1])
    assert torch.allclose(found, encoder.eval()(x, edges), atol=1e-10)


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (HNN, {"propagate": 1}, "HNN cannot propagate 1 times; HGCN and GCN can"),
        (HGCN, {"propagate": -1}, "cannot propagate -1 times"),
        (HGCN, {"hidden_dropout": 1.0}, "hidden_dropout must be at least 0 and below 1"),
        (HGCN, {"norm": "max"}, "Unknown norm 'max'; use 'mean' or 'symmetric'"),
    ],
)
def test_what_makes_no_sense_is_said(cls: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cls(FEATURES, DIM, 2, SPACES[0], **options)


@pytest.mark.parametrize("cls", [BMLR, PoincareMLR])
def test_magnitudes_are_norms_of_rows(cls: Any) -> None:
    space = PoincareBall(K=-0.4)
    row, free = cls(DIM, 3, space, magnitude="row"), cls(DIM, 3, space)
    assert sum(p.numel() for p in row.parameters()) == 3 * (DIM + 1)
    with torch.no_grad():
        free.weight.copy_(row.weight)
        free.raw_alpha.copy_(torch.log(torch.expm1(row.weight.norm(dim=-1))))
    x = space.exp0(torch.randn(6, DIM))
    assert torch.allclose(row(x), free(x))
    row(x).sum().backward()
    with torch.no_grad():
        twice = row(x) - row.b
        row.weight.mul_(2)
        assert torch.allclose(row(x) - row.b, 2 * twice)  # so weight decay restrains the function
    with pytest.raises(InputError, match="Unknown magnitude 'none'; use 'free' or 'row'"):
        cls(DIM, 3, space, magnitude="none")


@pytest.mark.parametrize("name", ["bfc-p", "bfc-l", "poincare-fc"])
def test_magnitudes_of_layers_are_norms_of_rows(name: str) -> None:
    space = make_space(FCS[name].space, -0.4)
    row, free = (make_fc(name, DIM, 3, space, magnitude=magnitude) for magnitude in ("row", "free"))
    assert sum(p.numel() for p in row.parameters()) == 3 * (DIM + 2)
    x = space.exp0(torch.randn(40, DIM))
    row(x)
    with torch.no_grad():
        for mine, other in ((free.weight, row.weight), (free.b, row.b), (free.bias, row.bias)):
            mine.copy_(other)
        free.set_alpha(row.alpha)
    assert torch.allclose(row.eval()(x), free.eval()(x), atol=1e-6)
    if name != "poincare-fc":  # the first batch has set the spread of the responses to 1
        spread = space.horospheres(x, row.weight, -row.alpha, row.b).std(0, correction=0)
        assert torch.allclose(spread, torch.ones(3), atol=1e-4)


@pytest.mark.parametrize("name", ["bfc-p", "poincare-fc"])
def test_dropped_entries_do_not_count_in_a_row(name: str) -> None:
    space = make_space("poincare", -0.4)
    layer = make_fc(name, DIM, 3, space, magnitude="row", dropout=0.5)
    x = space.exp0(torch.randn(40, DIM))
    layer(x)
    torch.manual_seed(0)
    y = layer(x)
    torch.manual_seed(0)
    dropped = layer.dropped_weight(layer.weight)
    assert not torch.allclose(layer.alpha_of(dropped), layer.alpha)
    with torch.no_grad():
        layer.weight.copy_(dropped)
    assert torch.allclose(layer.eval()(x), y, atol=1e-6)


def test_in_flat_space_norms_of_rows_make_the_usual_head() -> None:
    head = BMLR(DIM, 3, Euclidean(), magnitude="row")
    x = torch.randn(6, DIM)
    assert torch.allclose(head(x), x @ head.weight.T + head.b)


@pytest.mark.parametrize("model", ["poincare", "lorentz"])
def test_bfc_begins_from_data_or_as_published(model: str) -> None:
    space = make_space(model, -0.7)
    x = space.exp0(2 * torch.randn(30, DIM))
    layer = BFC(DIM, 3, space, init="published")
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    layer(x)
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())
    layer = BFC(DIM, 3, space)
    layer(x)
    assert not torch.equal(layer.b, torch.zeros(3))
    with pytest.raises(InputError, match="Unknown init 'batch'; use 'data' or 'published'"):
        BFC(DIM, 3, space, init="batch")


def test_lorentz_fc_begins_as_in_hybonets_graph_code() -> None:
    layer = LorentzFC(200, 16, Lorentz())
    assert layer.weight[:, 0].abs().max() == 0
    assert 0.9 / math.sqrt(16) < layer.weight.abs().max() <= 1 / math.sqrt(16)

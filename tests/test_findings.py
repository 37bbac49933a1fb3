"""What was found in published code and papers, each reproduced; docs/results/findings.md has the words."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from hypergraph.datasets import load_graph, node_split
from hypergraph.geometry import Lorentz, PoincareBall
from hypergraph.nn import BFC, LorentzMLR, PseudoBusemannMLR

pytestmark = pytest.mark.usefixtures("_double")


@pytest.fixture
def _double() -> object:
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize("model", [PoincareBall, Lorentz])
def test_the_official_bfc_adds_its_bias_from_the_other_side(model: type) -> None:
    """The paper has F + b, the code b + F: a rotation apart, so that lengths agree and points do not."""
    space = model(K=-0.7)
    layer = BFC(4, 3, space, init="published").eval()
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([0.5, -0.3, 0.8]))
    x = space.exp0(torch.randn(10, 4))
    bias, layer.bias = space.exp0(layer.bias), None
    F = layer(x)
    paper, code = space.gyro_add(F, bias), space.gyro_add(bias.expand_as(F), F)
    layer.bias = torch.nn.Parameter(space.log0(bias))
    assert torch.allclose(layer(x), paper)
    origin = space.origin(3)
    assert torch.allclose(space.dist(origin, paper), space.dist(origin, code))
    assert (space.dist(paper, code) > 0.05).any()
    assert torch.allclose(space.gyration(bias.expand_as(F), F, paper), code, atol=1e-8)


def pseudo_busemann_at_minus_one(x: Tensor, p: Tensor, v: Tensor) -> Tensor:
    """The pseudo-Busemann logit with every formula at K = -1, as the published code has it."""
    p2, x2, px = p.square().sum(-1, True), x.square().sum(-1, True), -(p * x).sum(-1, True)
    w = ((1 + 2 * px + x2) * -p + (1 - p2) * x) / (1 + 2 * px + p2 * x2)
    size = w.norm(dim=-1)
    distance = torch.log1p(2 * size / (1 - size))
    busemann = ((v - w).square().sum(-1) / (1 - w.square().sum(-1))).log()
    return -distance * busemann / size


@pytest.mark.parametrize("K", [-1.0, -0.1, -4.0])
def test_the_published_pseudo_busemann_head_ignores_the_curvature(K: float) -> None:
    """At K = -1 it is ours; at others it is far off, and NaN beyond the unit ball, which they allow."""
    space = PoincareBall(K=K)
    head = PseudoBusemannMLR(3, 1, space)
    with torch.no_grad():
        head.point.normal_(std=0.2)
    x = space.exp0(0.3 * torch.randn(20, 3))
    v = head.weight / head.weight.norm()
    theirs = pseudo_busemann_at_minus_one(x, space.exp0(head.point), v)
    ours = head(x).squeeze(-1)
    if K == -1:
        assert torch.allclose(ours, theirs)
        return
    assert ((ours - theirs).abs() > 0.2 * ours.abs()).any()
    if K == -0.1:
        far = space.exp0(torch.tensor([[2.0, 0.0, 0.0]]))
        assert pseudo_busemann_at_minus_one(far, space.exp0(head.point), v).isnan().all()
        assert head(far).isfinite().all()


def test_the_printed_lorentz_mlr_is_no_distance_to_its_hyperplane() -> None:
    """Of cosh <z, x_s> - sinh |z| x_t the paper prints the sinh alone: it is not 0 on the hyperplane."""
    space = Lorentz(K=-0.5)
    head = LorentzMLR(3, 1, space)
    s, b, z = 0.5**0.5, head.b[0], head.weight[0]
    length = z.norm()
    normal = z / length
    # a point of the hyperplane: go b along the normal, then at right angles to it
    across = torch.linalg.cross(normal, torch.tensor([1.0, 0.0, 0.0]))
    point = space.exp(space.exp0(b * normal).unsqueeze(0), torch.cat([torch.zeros(1), across]).unsqueeze(0))
    assert head(point).abs().item() < 1e-9
    time, rest = point[0, 0], point[0, 1:]
    whole = torch.cosh(s * b) * (z @ rest) - torch.sinh(s * b) * length * time
    printed = torch.cosh(s * b) * (z @ rest) - torch.sinh(s * b)
    assert whole.abs() < 1e-9 and printed.abs() > 1e-2


def test_the_published_airport_split_leaks(data_dir: Path) -> None:
    graph = load_graph("airport", data=str(data_dir))
    split = node_split(graph, "hgcn", 1234)
    train, test = set(split.train.tolist()), set(split.test.tolist())
    assert (len(train & test), len(test)) == (225, 506)
    strict = node_split(graph, "strict", 1234)
    assert not set(strict.train.tolist()) & set(strict.test.tolist())


def test_rows_of_disease_that_are_divided_by_almost_nothing(data_dir: Path) -> None:
    """HGCN divides rows by their sum; Disease has features of both signs, and some rows become long."""
    from hypergraph.datasets import prepare_features

    graph = load_graph("disease-hgcn", data=str(data_dir), task="link")
    before, after = graph.x.to_dense().norm(dim=1), prepare_features(graph, "link").to_dense().norm(dim=1)
    assert before.max() < 6 and after.max() > 100

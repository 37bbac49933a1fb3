"""HGCNConv in the patterns that PyG tests its own layers in: flow, sizes, sparse adjacencies, pairs."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import HeteroConv as PyGHeteroConv

from hypergraph import Lorentz, PoincareBall
from hypergraph.errors import InputError
from hypergraph.geometry import lorentz, poincare
from hypergraph.nn import FCS, HEADS, HeteroConv, HGCNConv, make_fc, make_head, make_space
from hypergraph.sparse import csr_tensor

SPACES = [PoincareBall(-0.5), Lorentz(-2.3)]
EDGES = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 2, 0]])
both = pytest.mark.parametrize("space", SPACES, ids=repr)


def points(space: PoincareBall | Lorentz, rows: int = 4, n: int = 3, seed: int = 0) -> Tensor:
    return space.exp0(torch.randn(rows, n, generator=torch.Generator().manual_seed(seed)))


def make(space: PoincareBall | Lorentz, **options: object) -> HGCNConv:
    torch.manual_seed(0)
    return HGCNConv(3, 2, space, **options)


@both
def test_other_flow_is_refused(space: PoincareBall | Lorentz) -> None:
    with pytest.raises(InputError, match=r"pass edge_index.flip\(0\)"):
        make(space, flow="target_to_source")
    conv = make(space, flow="source_to_target")
    conv.flow = "target_to_source"
    for fuse in (True, False):
        conv.fuse = fuse
        with pytest.raises(InputError, match=r"pass edge_index.flip\(0\)"):
            conv(points(space), EDGES)


def test_aggr_is_refused() -> None:
    with pytest.raises(InputError, match="aggregation='tangent' or aggregation='centroid'"):
        make(SPACES[0], aggr="max")


def sparse(values: Tensor, shape: tuple[int, int], layout: str) -> Tensor:
    """The transposed adjacency of EDGES."""
    coo = torch.sparse_coo_tensor(EDGES.flip(0), values, shape, check_invariants=True)
    if layout == "coo":
        return coo
    order = (EDGES[1] * shape[1] + EDGES[0]).argsort()
    crow = torch.cat(
        [torch.zeros(1, dtype=torch.long), torch.bincount(EDGES[1], minlength=shape[0]).cumsum(0)]
    )
    return csr_tensor(crow, EDGES[0][order], values[order], shape)


@pytest.mark.parametrize("aggregation", ["tangent", "centroid"])
@pytest.mark.parametrize("layout", ["coo", "csr"])
@both
def test_a_sparse_adjacency_that_learns(space: PoincareBall | Lorentz, layout: str, aggregation: str) -> None:
    for cached in (False, True):
        conv = make(space, aggregation=aggregation, cached=cached)
        x, weight = points(space), torch.rand(6) + 0.5
        grads = []
        for graph in (lambda w: (EDGES, w), lambda w: (sparse(w, (4, 4), layout),)):
            leaf = weight.clone().requires_grad_()
            conv(x, *graph(leaf)).square().sum().backward()
            assert leaf.grad is not None
            grads.append(leaf.grad)
        assert grads[0].abs().min() > 0
        torch.testing.assert_close(*grads)


@pytest.mark.parametrize("layout", ["coo", "csr"])
@both
def test_a_rectangular_adjacency_without_targets(space: PoincareBall | Lorentz, layout: str) -> None:
    """(x, None): there are as many targets as the adjacency has rows, or as size says."""
    conv, x, ones = make(space), points(space), torch.ones(6)
    for fuse in (True, False):
        conv.fuse = fuse
        few, many = conv((x, None), EDGES), conv((x, None), EDGES, size=(4, 7))
        assert len(few) == 3 and len(many) == 7
        torch.testing.assert_close(conv((x, None), sparse(ones, (7, 4), layout)), many)
        torch.testing.assert_close(many[:3], few)
        # a node without any message is at the origin
        torch.testing.assert_close(many[3:], space.origin(2).expand(4, -1))


@both
def test_size_is_checked(space: PoincareBall | Lorentz) -> None:
    conv, x = make(space), points(space)
    torch.testing.assert_close(conv(x, EDGES, size=(4, 4)), conv(x, EDGES))
    pair = (x, points(space, 5, seed=1))
    torch.testing.assert_close(conv(pair, EDGES, size=(4, 5)), conv(pair, EDGES))
    for given, size in ((x, (4, 5)), (pair, (4, 4)), (pair, (5, 5)), ((x, None), (3, 4))):
        with pytest.raises(InputError, match="pass the numbers of rows of x"):
            conv(given, EDGES, size=size)


@both
def test_a_batch_of_graphs_in_three_dimensions_is_refused(space: PoincareBall | Lorentz) -> None:
    with pytest.raises(InputError, match=r"takes a matrix of points, one row a node, got shape \(2, 4"):
        make(space)(points(space).expand(2, -1, -1), EDGES)


@pytest.mark.parametrize("module", [poincare, lorentz], ids=["poincare", "lorentz"])
def test_a_curvature_for_each_point(module: object) -> None:
    """One K a row, which needs no gradients."""
    K = torch.tensor([[-0.5], [-2.0]], dtype=torch.float64)
    u = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = torch.cat([module.exp0(u[i : i + 1], K=K[i].item()) for i in range(2)])
    torch.testing.assert_close(module.exp0(u, K=K), x)
    for name in ("log0", "log", "gyro_add"):
        args = [x] if name == "log0" else [x, module.gyro_neg(module.exp0(u.flip(-1), K=K), K=K)]
        want = [getattr(module, name)(*(a[i : i + 1] for a in args), K=K[i].item()) for i in range(2)]
        torch.testing.assert_close(getattr(module, name)(*args, K=K), torch.cat(want))


NODES = {"a": 4, "b": 5}
TYPES = {
    ("a", "to", "b"): EDGES,
    ("b", "near", "b"): torch.tensor([[0, 1, 4], [1, 0, 2]]),
    ("b", "back", "a"): EDGES.flip(0),
}


@pytest.mark.parametrize("aggr", ["tangent", "centroid"])
@both
def test_hetero_conv_stays_on_the_model(space: PoincareBall | Lorentz, aggr: str) -> None:
    convs = {key: make(space) for key in TYPES}
    x = {node: points(space, rows, seed=rows) for node, rows in NODES.items()}
    hetero = HeteroConv(convs, aggr=aggr)
    out = hetero(x, TYPES)
    each = torch.stack(
        [
            convs["a", "to", "b"]((x["a"], x["b"]), EDGES),
            convs["b", "near", "b"](x["b"], TYPES["b", "near", "b"]),
        ],
        1,
    )
    mean = space.centroid(each) if aggr == "centroid" else space.exp0(space.log0(each).mean(1))
    torch.testing.assert_close(out["b"], mean)
    torch.testing.assert_close(out["a"], convs["b", "back", "a"]((x["b"], x["a"]), EDGES.flip(0)))
    assert all(space.contains(points).all() for points in out.values())
    torch.testing.assert_close(copy.deepcopy(hetero)(x, TYPES), out)
    if isinstance(space, Lorentz):  # what this class is for
        added = PyGHeteroConv(convs, aggr="sum")(x, TYPES)
        assert not space.contains(added["b"]).any()


def test_hetero_conv_refuses_sums_of_coordinates() -> None:
    convs = {key: make(SPACES[0]) for key in TYPES}
    for aggr in ("sum", "mean", "max", "cat", None):
        with pytest.raises(InputError, match="use 'tangent' or 'centroid'"):
            HeteroConv(convs, aggr=aggr)
    convs["b", "near", "b"] = make(PoincareBall(-0.5))
    with pytest.raises(InputError, match="must share one space"):
        HeteroConv(convs)


@pytest.mark.parametrize("name", [*HEADS, *FCS])
def test_points_of_sparse_features_are_accepted(name: str) -> None:
    """What space.lift makes of a sparse matrix of features goes into every head, layer and convolution."""
    torch.manual_seed(0)
    table, make_one = (HEADS, make_head) if name in HEADS else (FCS, make_fc)
    space = make_space(table[name].space, -0.5)
    features = torch.randn(4, 3) * (torch.rand(4, 3) < 0.6)
    crow = torch.cat([torch.zeros(1, dtype=torch.long), (features != 0).sum(1).cumsum(0)])
    index = features.nonzero()
    csr = csr_tensor(crow, index[:, 1], features[features != 0], (4, 3))
    module = make_one(name, 3, 2, space).eval()
    if name in FCS:
        conv = HGCNConv(3, 2, space, fc=name).eval()
        torch.testing.assert_close(conv(space.lift(csr), EDGES), conv(space.lift(features), EDGES))
    torch.testing.assert_close(module(space.lift(csr, clip=1.0)), module(space.lift(features, clip=1.0)))


@pytest.mark.parametrize("name", [*HEADS, *FCS])
def test_lazy_channels_are_refused(name: str) -> None:
    make_one = make_head if name in HEADS else make_fc
    for channels in ((-1, 2), (3, 0), (3, -1)):
        with pytest.raises(InputError, match="must be a whole number above 0"):
            make_one(name, *channels)
    with pytest.raises(InputError, match="in_channels must be a whole number above 0, got -1"):
        HGCNConv(-1, 2, SPACES[0])

from __future__ import annotations

import copy
import importlib.util
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.nn import Sequential, to_hetero
from torch_geometric.utils import to_undirected

from hypergraph.errors import InputError
from hypergraph.geometry import Euclidean, Lorentz, PoincareBall, Space, numerics, origin, planes, poincare
from hypergraph.geometry import lorentz as lorentz_model
from hypergraph.geometry.kernels import dispatch
from hypergraph.geometry.kernels.dispatch import definitions_only
from hypergraph.nn import HGCNConv, make_head, normalized_adjacency
from hypergraph.nn.adjacency import Nodes, normalize, to_edges
from hypergraph.sparse import SparseMatrix, csr_tensor

NODES, IN, OUT = 20, 6, 4
SPACES = [(space, K) for space in (PoincareBall, Lorentz) for K in (-0.1, -0.5, -1.0, -2.3)]
LINEAR = {"poincare": ["mobius", "bfc-p", "poincare-fc"], "lorentz": ["ltfc", "bfc-l", "lorentz-fc"]}


pytestmark = [
    pytest.mark.usefixtures("double"),
    # which torch says once a process, of the sparse tensors that tests make
    pytest.mark.filterwarnings("ignore:Sparse:UserWarning"),
]


def edges() -> Tensor:
    """A directed graph with a loop, parallel edges, and isolated nodes."""
    pairs = torch.randint(0, NODES - 3, (2, 50))
    return torch.cat([pairs, pairs[:, :2], torch.tensor([[3], [3]])], 1)


def points(space: Space, size: float = 0.4, nodes: int = NODES) -> Tensor:
    return space.exp0(size * torch.randn(nodes, IN)).detach()


def make(space: Space, **options: Any) -> HGCNConv:
    conv = HGCNConv(IN, OUT, space, **options)
    with torch.no_grad():
        for name, parameter in conv.named_parameters():
            if name.endswith(("bias", ".b")):
                parameter.add_(0.3 * torch.randn_like(parameter))
    return conv.eval()


def dense(edge_index: Tensor, weight: Tensor | None = None, nodes: int = NODES) -> Tensor:
    """D^-1 (A + I), from its definition."""
    A = torch.eye(nodes)
    for k, (source, target) in enumerate(edge_index.T.tolist()):
        A[target, source] += 1 if weight is None else weight[k].item()
    return A / A.sum(1, keepdim=True)


def reference(conv: HGCNConv, x: Tensor, A: Tensor) -> Tensor:
    """The layer composed of operators of the Space."""
    u = A @ conv.space.log0(conv.fc(x))
    return conv.out_space.exp0(conv.act(u))


def gradients(f: Callable[[Tensor], Tensor], conv: HGCNConv, x: Tensor) -> list[Tensor]:
    x = x.clone().requires_grad_()
    out = f(x)
    inputs = [x, *conv.parameters()]
    found = torch.autograd.grad((out * torch.linspace(0.5, 1.5, out.numel()).view_as(out)).sum(), inputs)
    return [out, *found]


def assert_same(a: list[Tensor], b: list[Tensor], tolerance: float = 1e-10) -> None:
    for left, right in zip(a, b, strict=True):
        torch.testing.assert_close(left, right, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize(("model", "K"), SPACES)
def test_fast_path_equals_message_path_equals_reference(model: type, K: float, which: int) -> None:
    space = model(K)
    conv = make(space, fc=LINEAR[space.model][which], out_space=model(1.7 * K))
    edge_index, x = edges(), points(space)
    expected = gradients(lambda x: reference(conv, x, dense(edge_index)), conv, x)
    assert_same(gradients(lambda x: conv(x, edge_index), conv, x), expected)
    conv.fuse = False
    assert_same(gradients(lambda x: conv(x, edge_index), conv, x), expected)


@pytest.fixture
def near_limit(monkeypatch: pytest.MonkeyPatch) -> float:
    """A limit to which points are clipped that is nearer than the true one.

    That lies where the radius, in float64, resolves a distance to 1e-3 only; a nearer one tests the same code
    at full accuracy.
    """
    for module in (numerics, poincare, lorentz_model, origin, planes):
        if hasattr(module, "radius_limit"):
            monkeypatch.setattr(module, "radius_limit", lambda dtype: 0.97)
    return numerics.distance_limit(torch.float64)


@pytest.mark.parametrize("learnable", [False, True])
@pytest.mark.parametrize(("model", "K"), SPACES)
def test_paths_agree_where_projection_is_active(
    model: type, K: float, learnable: bool, near_limit: float
) -> None:
    space = model(K, learnable=learnable)
    conv = make(space)
    edge_index, x = edges(), points(space, 1.5 / (-K) ** 0.5)
    A = dense(edge_index)
    clipped = space.dist0(conv.fc(x)) > near_limit / (-K) ** 0.5 - 1e-9
    assert 3 < clipped.sum() < NODES, "some rows are clipped, and some are not"
    expected = gradients(lambda x: reference(conv, x, A), conv, x)
    assert_same(gradients(lambda x: conv(x, edge_index), conv, x), expected)
    conv.fuse = False
    assert_same(gradients(lambda x: conv(x, edge_index), conv, x), expected)
    conv.fuse = True
    # by autograd instead of by hand
    with definitions_only():
        assert_same(gradients(lambda x: conv(x, edge_index), conv, x), expected)
    # and all of these are the slope of the values
    weight = conv.fc.weight
    step = 1e-6 * torch.randn_like(weight)
    change = []
    with torch.no_grad():
        for sign in (1, -1):
            weight.add_(step, alpha=sign)
            change.append(reference(conv, x, A))
            weight.sub_(step, alpha=sign)
    slope = (
        (change[0] - change[1]) / 2 * torch.linspace(0.5, 1.5, change[0].numel()).view_as(change[0])
    ).sum()
    grad = expected[[name for name, _ in conv.named_parameters()].index("fc.weight") + 2]
    torch.testing.assert_close((grad * step).sum(), slope, rtol=1e-5, atol=0)


@pytest.mark.parametrize("aggregation", ["tangent", "centroid"])
@pytest.mark.parametrize("attention", [False, True])
@pytest.mark.parametrize(("model", "K"), [(PoincareBall, -0.5), (Lorentz, -2.3)])
def test_equivariance_and_layouts(model: type, K: float, attention: bool, aggregation: str) -> None:
    conv = make(model(K), attention=attention, aggregation=aggregation)
    x, edge_index = points(conv.space), edges().unique(dim=1)
    expected = conv(x, edge_index)
    assert conv.space.contains(expected).all()

    nodes, order = torch.randperm(NODES), torch.randperm(edge_index.size(1))
    place = nodes.argsort()
    torch.testing.assert_close(conv(x[nodes], place[edge_index]), expected[nodes])
    torch.testing.assert_close(conv(x, edge_index[:, order]), expected)

    size = (NODES, NODES)
    coo = torch.sparse_coo_tensor(edge_index.flip(0), torch.ones(edge_index.size(1)), size)
    row, col = coo.coalesce().indices()
    crow = torch.cat([torch.zeros(1, dtype=torch.long), torch.bincount(row, minlength=NODES).cumsum(0)])
    csr = csr_tensor(crow, col, torch.ones(len(col)), size)
    csc = csr.to_sparse_csc()
    layouts = [
        coo,
        csr,
        csc,
        EdgeIndex(edge_index.contiguous(), sparse_size=size),
        normalized_adjacency(edge_index, num_nodes=NODES),
    ]
    for layout in layouts:
        torch.testing.assert_close(conv(x, layout), expected)


@pytest.mark.skipif(importlib.util.find_spec("torch_sparse") is None, reason="torch-sparse is not installed")
def test_torch_sparse_tensor() -> None:
    from torch_sparse import SparseTensor

    conv, edge_index = make(PoincareBall(-0.5)), edges().unique(dim=1)
    x = points(conv.space)
    weight = torch.rand(edge_index.size(1), dtype=torch.float64)
    for given in (None, weight):
        adj_t = SparseTensor.from_edge_index(edge_index, given, sparse_sizes=(NODES, NODES)).t()
        torch.testing.assert_close(conv(x, adj_t), conv(x, edge_index, given))
    with pytest.raises(InputError, match="holds its own weights"):
        conv(x, adj_t, weight)


@pytest.mark.skipif(
    importlib.util.find_spec("torch_scatter") is None, reason="torch-scatter is not installed"
)
def test_torch_scatter_gives_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch_geometric.typing

    conv, edge_index = make(PoincareBall(-0.5)), edges()
    conv.fuse = False
    x = points(conv.space)
    with_scatter = conv(x, edge_index)
    monkeypatch.setattr(torch_geometric.typing, "WITH_TORCH_SCATTER", False)
    torch.testing.assert_close(conv(x, edge_index), with_scatter)


@pytest.mark.parametrize("K", [-0.1, -0.5, -2.3])
def test_isometry_between_the_models(K: float) -> None:
    ball, sheet = PoincareBall(K), Lorentz(K)
    first, second = make(ball), make(sheet)
    with torch.no_grad():
        second.fc.weight.copy_(first.fc.weight)
        second.fc.bias.copy_(2 * first.fc.bias)  # exp0(u) is 2|u| away on the ball
    x, edge_index = points(ball), edges()
    out, other = first(x, edge_index), second(ball.to_lorentz(x), edge_index)
    torch.testing.assert_close(ball.to_lorentz(out), other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("model", "K"), [(PoincareBall, -0.5), (Lorentz, -2.3)])
def test_centroid_is_the_one_of_the_space(model: type, K: float) -> None:
    conv = make(model(K), aggregation="centroid", act=None)
    x, edge_index = points(conv.space), edges()
    h = conv.fc(x).expand(NODES, NODES, -1)
    torch.testing.assert_close(conv(x, edge_index), conv.space.centroid(h, dense(edge_index)))


def test_attention_is_a_softmax_over_neighbours() -> None:
    conv = make(PoincareBall(-0.5), attention=True, act=None)
    x, edge_index = points(conv.space), edges()
    u = conv.space.log0(conv.fc(x))
    score = torch.nn.functional.leaky_relu((u @ conv.att[0])[None, :] + (u @ conv.att[1])[:, None], 0.2)
    alpha = torch.softmax(score + dense(edge_index).log(), 1)
    torch.testing.assert_close(conv(x, edge_index), conv.space.exp0(alpha @ u))
    conv(x, edge_index).sum().backward()
    assert conv.att.grad.abs().sum() > 0


@pytest.mark.parametrize("attention", [False, True])
def test_edge_weights_and_their_gradient(attention: bool) -> None:
    conv = make(Lorentz(-0.5), attention=attention)
    x, edge_index = points(conv.space), edges()
    weight = torch.rand(edge_index.size(1)) + 0.1
    plain = conv(x, edge_index, weight)
    if not attention:
        torch.testing.assert_close(plain, reference(conv, x, dense(edge_index, weight)))
    learned = weight.clone().requires_grad_()
    out = conv(x, edge_index, learned)
    torch.testing.assert_close(out, plain)
    (grad,) = torch.autograd.grad(out[:, 1].sum(), learned)
    step = torch.zeros_like(weight)
    step[5] = 1e-6
    slope = (conv(x, edge_index, weight + step) - conv(x, edge_index, weight - step))[:, 1].sum() / 2e-6
    torch.testing.assert_close(grad[5], slope, rtol=1e-6, atol=1e-8)


def test_bipartite() -> None:
    conv = make(PoincareBall(-0.5))
    source, target = points(conv.space), points(conv.space, nodes=5)
    edge_index = torch.stack([torch.randint(0, NODES, (12,)), torch.randint(0, 4, (12,))])
    u, v = (conv.space.log0(conv.fc(x)) for x in (source, target))
    A = torch.zeros(5, NODES)
    A.index_put_((edge_index[1], edge_index[0]), torch.ones(12), accumulate=True)
    expected = conv.space.exp0(conv.act((A @ u + v) / (A.sum(1, keepdim=True) + 1)))
    for fuse in (True, False):
        conv.fuse = fuse
        torch.testing.assert_close(conv((source, target), edge_index), expected)
        alone = conv.space.exp0(conv.act(A @ u / A.sum(1, keepdim=True).clamp_min(1)))[:4]
        torch.testing.assert_close(
            conv((source, None), torch.cat([edge_index, edge_index[:, :0]], 1)),
            alone[: int(edge_index[1].max()) + 1],
        )
    # the first rows of the sources as targets: what a neighbour sampler gives
    whole = torch.stack([torch.randint(0, NODES, (30,)), torch.randint(0, 6, (30,))])
    whole = whole[:, whole[0] != whole[1]]
    torch.testing.assert_close(conv((source, source[:6]), whole), conv(source, whole)[:6])


def test_isolated_nodes_and_empty_graphs() -> None:
    conv = make(Lorentz(-0.5))
    x, nothing = points(conv.space), torch.empty(2, 0, dtype=torch.long)
    torch.testing.assert_close(conv(x, nothing), reference(conv, x, torch.eye(NODES)))
    assert conv(x[:0], nothing).shape == (0, OUT + 1)
    x = x[:0].clone().requires_grad_()
    conv(x, nothing).sum().backward()
    assert all(parameter.grad.abs().sum() == 0 for parameter in conv.parameters())


def test_cache_is_never_stale() -> None:
    conv = make(PoincareBall(-0.5), cached=True)
    plain = copy.deepcopy(conv)
    plain.cached = False
    x, edge_index = points(conv.space), edges()
    kept = conv._memo
    torch.testing.assert_close(conv(x, edge_index), plain(x, edge_index))
    first = kept._last[1]
    conv(x, edge_index)
    assert kept._last[1] is first, "the second call takes what was kept"
    edge_index[0, :5] = 7
    torch.testing.assert_close(conv(x, edge_index), plain(x, edge_index))
    assert kept._last[1] is not first
    other = edges()
    torch.testing.assert_close(conv(x, other), plain(x, other))
    weight = torch.rand(other.size(1))
    torch.testing.assert_close(conv(x, other, weight), plain(x, other, weight))
    conv.reset_parameters()
    assert conv._memo._last is None
    pickle.loads(pickle.dumps(conv))


def test_state_dict_round_trip() -> None:
    conv = make(Lorentz(-0.5, learnable=True), attention=True)
    other = HGCNConv(IN, OUT, Lorentz(-2.3, learnable=True), attention=True)
    other.load_state_dict(conv.state_dict())
    x, edge_index = points(conv.space), edges()
    torch.testing.assert_close(other(x, edge_index), conv(x, edge_index))


def test_curvature_learns() -> None:
    space, out_space = PoincareBall(-0.5, learnable=True), PoincareBall(-2.0, learnable=True)
    conv = make(space, out_space=out_space)
    conv(points(space), edges()).square().sum().backward()
    assert space.curvature.raw.grad.abs() > 0
    assert out_space.curvature.raw.grad.abs() > 0


def test_second_derivative() -> None:
    conv = make(PoincareBall(-0.5), act="tanh")
    edge_index = edges()
    x = points(conv.space)[:4].requires_grad_()
    small = edge_index[:, (edge_index < 4).all(0)]
    assert torch.autograd.gradgradcheck(lambda x: conv(x, small), x)


def test_large_graphs_are_mapped_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    space = PoincareBall(-0.5)
    conv, head = make(space), make_head("bmlr-p", OUT, 3, space)
    x, edge_index = points(space), edges()
    whole = gradients(lambda x: head(conv(x, edge_index)), conv, x)
    monkeypatch.setattr(dispatch, "BLOCK_ROWS", 3)
    assert_same(gradients(lambda x: head(conv(x, edge_index)), conv, x), whole)


def test_flat_space() -> None:
    conv = make(Euclidean())
    x, edge_index = torch.randn(NODES, IN), edges()
    torch.testing.assert_close(
        conv(x, edge_index), (dense(edge_index) @ (x @ conv.fc.weight.T + conv.fc.bias)).relu()
    )


def test_sequential() -> None:
    space = PoincareBall(-0.5)
    model = Sequential(
        "x, edge_index",
        [(HGCNConv(IN, 8, space), "x, edge_index -> x"), (HGCNConv(8, OUT, space), "x, edge_index -> x")],
    )
    x, edge_index = points(space), edges()
    torch.testing.assert_close(model(x, edge_index), model[1](model[0](x, edge_index), edge_index))


def test_to_hetero() -> None:
    space = PoincareBall(-0.5)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = HGCNConv(IN, OUT, space)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.conv(x, edge_index)

    kinds = [("a", "to", "b"), ("b", "to", "a")]
    model = to_hetero(Net(), (["a", "b"], kinds))
    x = {"a": points(space), "b": points(space, nodes=5)}
    edge_index = {kinds[0]: torch.tensor([[0, 19], [4, 1]]), kinds[1]: torch.tensor([[4, 1], [0, 19]])}
    out = model(x, edge_index)
    assert out["a"].shape == (NODES, OUT) and out["b"].shape == (5, OUT)
    expected = model.conv["a__to__b"]((x["a"], x["b"]), edge_index[kinds[0]])
    torch.testing.assert_close(out["b"], expected)


def test_explainer() -> None:
    from torch_geometric.explain import Explainer, GNNExplainer

    torch.set_default_dtype(torch.float32)
    space = PoincareBall(-0.5)
    conv = HGCNConv(IN, OUT, space, cached=True)
    x, edge_index = space.exp0(0.4 * torch.randn(NODES, IN)), edges()
    before = conv(x, edge_index)
    explainer = Explainer(
        conv,
        GNNExplainer(epochs=3),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "regression", "task_level": "node", "return_type": "raw"},
    )
    explanation = explainer(x, edge_index, index=3)
    assert explanation.edge_mask.shape == edge_index.shape[1:]
    assert explanation.edge_mask.sum() > 0
    torch.testing.assert_close(conv(x, edge_index), before)


def test_bad_input() -> None:
    space = PoincareBall(-0.5)
    conv = make(space, undirected=True)
    x, edge_index = points(space), to_undirected(edges())
    conv(x, edge_index)
    with pytest.raises(InputError, match=r"source node 20.*20 nodes"):
        conv(x, torch.tensor([[NODES], [0]]))
    with pytest.raises(InputError, match="target node -1"):
        conv(x, torch.tensor([[0], [-1]]))
    with pytest.raises(InputError, match="6 coordinates"):
        conv(x[:, :3], edge_index)
    with pytest.raises(InputError, match="node 4 are not finite"):
        conv(x.index_fill(0, torch.tensor(4), torch.nan), edge_index)
    with pytest.raises(InputError, match=r"undirected.*0 -> 1 is the first.*to_undirected"):
        conv(x, torch.tensor([[0], [1]]))
    with pytest.raises(InputError, match=r"shape \(2, edges\)"):
        conv(x, edge_index.T)
    with pytest.raises(InputError, match="one number for each"):
        conv(x, edge_index, torch.ones(3))
    with pytest.raises(InputError, match="not negative"):
        conv(x, edge_index, -torch.ones(edge_index.size(1)))
    with pytest.raises(InputError, match="not a list"):
        conv(x, [[0], [1]])
    with pytest.raises(InputError, match="its own weights"):
        conv(x, torch.eye(NODES).to_sparse(), torch.ones(NODES))
    with pytest.raises(InputError, match="num_nodes=20"):
        conv(x, normalized_adjacency(edge_index, num_nodes=25))
    with pytest.raises(InputError, match="aggregation 'mean'; use 'tangent'"):
        HGCNConv(IN, OUT, space, aggregation="mean")
    with pytest.raises(InputError, match="pass x as"):
        make(space, attention=True)((x, None), edge_index)
    ends, ones, source = torch.tensor([[0, 1], [1, 0]]), torch.ones(2), points(space, nodes=4)
    for shape in ((9, 9), (2, 4), (4, 3)):
        adjacency = torch.sparse_coo_tensor(ends, ones, shape)
        with pytest.raises(InputError, match=f"adjacency is {shape[0]} x {shape[1]}"):
            make(space)(source, adjacency)
        with pytest.raises(InputError, match=f"adjacency is {shape[0]} x {shape[1]}"):
            make(space)((source, points(space, nodes=3)), adjacency)
        with pytest.raises(InputError, match=f"adjacency is {shape[0]} x {shape[1]}"):
            make(space)((source, None), adjacency, size=(4, 7))


def test_other_messages_and_hooks_on_messages_are_seen() -> None:
    class Doubled(HGCNConv):
        def message(self, x_j: Tensor, norm: Tensor) -> Tensor:
            return 2 * super().message(x_j, norm)

    space = PoincareBall(-0.5)
    conv, x, edge_index = make(space, act=None), points(space), edges()
    doubled = Doubled(IN, OUT, space, act=None)
    doubled.load_state_dict(conv.state_dict())
    torch.testing.assert_close(space.log0(doubled(x, edge_index)), 2 * space.log0(conv(x, edge_index)))
    fired: list[str] = []
    for step in ("propagate", "message", "aggregate"):
        for when in ("forward_pre_hook", "forward_hook"):
            handle = getattr(conv, f"register_{step}_{when}")(lambda *_: fired.append(1))
            conv(x, edge_index)
            assert len(fired) == 1, (step, when)
            handle.remove()
            fired.clear()


def test_backward_hooks_see_every_module() -> None:
    space, seen = PoincareBall(-0.5), []
    conv = make(space)
    for module in (conv, conv.fc, conv.act):
        module.register_full_backward_hook(lambda module, *_: seen.append(type(module).__name__))
    conv(points(space).requires_grad_(), edges()).sum().backward()
    assert set(seen) == {"HGCNConv", "ReLU", "TangentLinear"}


def test_half_precision_of_attention() -> None:
    conv = make(PoincareBall(-0.5), attention=True).bfloat16()
    assert conv(points(conv.space).bfloat16(), edges()).isfinite().all()


def test_reset_parameters_resets_the_activation() -> None:
    conv = make(PoincareBall(-0.5), act="prelu")
    with torch.no_grad():
        conv.act.weight.fill_(7)
    conv.reset_parameters()
    assert conv.act.weight.item() == 0.25


def test_a_bipartite_graph_has_no_symmetric_adjacency() -> None:
    conv = make(PoincareBall(-0.5), norm="symmetric")
    x, edge_index = points(conv.space), edges()
    for other in (x, None):
        with pytest.raises(InputError, match="use norm='mean'"):
            conv((x, other), edge_index)


def test_normalized_adjacency() -> None:
    edge_index = edges()
    matrix = normalized_adjacency(edge_index, num_nodes=NODES)
    assert isinstance(matrix, SparseMatrix)
    torch.testing.assert_close(matrix.csr.to_dense(), dense(edge_index))
    found = normalize(*to_edges(edge_index), Nodes(NODES, NODES), torch.float64, "mean")
    assert found.edge_index[:, -NODES:].tolist() == [list(range(NODES))] * 2, "loops come last"
    assert normalized_adjacency(torch.tensor([[0], [1]])).shape == (2, 2)
    assert normalized_adjacency(torch.empty(2, 0, dtype=torch.long)).shape == (0, 0)
    conv = make(PoincareBall(-0.5))
    with pytest.raises(InputError, match="pass no edge_weight with it"):
        conv(points(conv.space), matrix, torch.ones(edge_index.size(1)))


def test_repr() -> None:
    assert str(HGCNConv(16, 32, PoincareBall(-0.5))) == "HGCNConv(16, 32, PoincareBall(K=-0.5))"

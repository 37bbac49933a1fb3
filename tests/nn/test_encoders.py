from __future__ import annotations

import copy
import importlib.util
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import HeteroData
from torch_geometric.nn import to_hetero

from hypergraph.datasets import load_graph, prepare_features
from hypergraph.errors import InputError
from hypergraph.geometry import Euclidean, Lorentz, PoincareBall, Space, clip
from hypergraph.nn import FCS, GCN, HGCN, HNN, MLP, make_head, make_space, normalized_adjacency
from hypergraph.sparse import SparseMatrix, SparseRows, csr_tensor

NODES, FEATURES, DIM = 18, 9, 4
HYPERBOLIC = [entry for entry in FCS.values() if entry.space != "euclidean"]


pytestmark = pytest.mark.usefixtures("double")


def features(size: float = 0.5) -> Tensor:
    x = size * torch.randn(NODES, FEATURES) * (torch.rand(NODES, FEATURES) < 0.4)
    x[2] = 0
    return x


def sparse(x: Tensor) -> Tensor:
    row, col = x.nonzero().T
    crow = torch.cat([torch.zeros(1, dtype=torch.long), torch.bincount(row, minlength=len(x)).cumsum(0)])
    return csr_tensor(crow, col, x[row, col], (x.size(0), x.size(1)))


def edges() -> Tensor:
    return torch.randint(0, NODES, (2, 40))


def make(cls: type, space: Space, **options: Any) -> nn.Module:
    encoder = cls(FEATURES, DIM, 2, space, **options).eval()
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if name.endswith(("bias", ".b")):
                parameter.add_(0.3 * torch.randn_like(parameter))
    return encoder


def gradients(encoder: nn.Module, *inputs: Any) -> list[Tensor]:
    out = encoder(*inputs)
    scale = torch.linspace(0.5, 1.5, out.numel()).view_as(out)
    return [out, *torch.autograd.grad((out * scale).sum(), list(encoder.parameters()))]


def assert_same(a: list[Tensor], b: list[Tensor]) -> None:
    for left, right in zip(a, b, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("cls", [HGCN, HNN])
@pytest.mark.parametrize("entry", HYPERBOLIC, ids=lambda entry: entry.name)
@pytest.mark.parametrize("K", [-0.1, -0.5, -2.3])
def test_tangent_vectors_between_layers_are_points_between_layers(cls: type, entry: Any, K: float) -> None:
    space = make_space(entry.space, K)
    encoder = make(cls, space, fc=entry.name, clip=1.5)
    x, edge_index = features(), edges()
    z = space.lift(x, clip=1.5)
    for number, layer in enumerate(encoder.layers):
        if cls is HGCN:
            layer.fuse = False
            z = layer(z, edge_index)
            layer.fuse = True
        else:
            z = space.exp0(encoder.acts[number](space.log0(layer(z))))
    out = encoder(x, edge_index)
    torch.testing.assert_close(out, z, rtol=1e-9, atol=1e-10)
    assert space.contains(out).all()
    assert out.shape == (NODES, space.ambient(DIM))


@pytest.mark.parametrize("cls", [HGCN, HNN])
@pytest.mark.parametrize("entry", HYPERBOLIC, ids=lambda entry: entry.name)
def test_sparse_features_give_what_dense_ones_give(cls: type, entry: Any) -> None:
    encoder = make(cls, make_space(entry.space, -0.5), fc=entry.name)
    x, edge_index = features(), edges()
    assert_same(gradients(encoder, sparse(x), edge_index), gradients(encoder, x, edge_index))


@pytest.mark.parametrize("cls", [GCN, MLP])
def test_baselines_take_sparse_features(cls: type) -> None:
    encoder = make(cls, Euclidean(), clip=0.7)
    x, edge_index = features(), edges()
    assert_same(gradients(encoder, sparse(x), edge_index), gradients(encoder, x, edge_index))
    u = clip(x, 0.7)
    if cls is MLP:
        for layer in encoder.layers:
            u = (u @ layer.weight.T + layer.bias).relu()
        torch.testing.assert_close(encoder(x), u)


def test_sparse_features_of_any_size_are_bounded_as_dense_ones() -> None:
    x, edge_index = features(30.0), edges()
    for space in (PoincareBall(-0.5), Lorentz(-2.3)):
        encoder = make(HGCN, space)
        lifted = encoder.first.logarithms(sparse(x))
        assert isinstance(lifted, SparseRows)
        weight = encoder.layers[0].fc.weight
        torch.testing.assert_close(lifted.product(weight), encoder.first.logarithms(x) @ weight.T)
        torch.testing.assert_close(encoder(sparse(x), edge_index), encoder(x, edge_index))


@pytest.mark.parametrize("K", [-0.1, -0.5, -2.3])
@pytest.mark.parametrize("cls", [HGCN, HNN])
def test_the_two_models_give_isometric_embeddings(cls: type, K: float) -> None:
    ball, sheet = make(cls, PoincareBall(K)), make(cls, Lorentz(K))
    state = {name: 2 * value if "bias" in name else value for name, value in ball.state_dict().items()}
    sheet.load_state_dict(state)
    x, edge_index = features(), edges()
    z, other = ball(x, edge_index), sheet(2 * x, edge_index)  # exp0(u) is 2|u| away on the ball
    torch.testing.assert_close(ball.space.to_lorentz(z), other, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(
        ball.space.dist(z[:, None], z), sheet.space.dist(other[:, None], other), rtol=1e-9, atol=1e-7
    )


def test_what_is_kept_of_features_is_never_stale() -> None:
    encoder, edge_index = make(HGCN, PoincareBall(-0.5)), edges()
    for x in (features(), sparse(features())):
        before = encoder(x, edge_index)
        kept = encoder.first.memo._last[1]
        torch.testing.assert_close(encoder(x, edge_index), before, rtol=0, atol=0)
        assert encoder.first.memo._last[1] is kept
        values = x if x.layout == torch.strided else x.values()
        values.mul_(2)
        fresh = make(HGCN, PoincareBall(-0.5))
        fresh.load_state_dict(encoder.state_dict())
        torch.testing.assert_close(encoder(x, edge_index), fresh(x, edge_index), rtol=0, atol=0)
        encoder.space.curvature.value.fill_(-2.0)
        fresh.load_state_dict(encoder.state_dict())
        torch.testing.assert_close(encoder(x, edge_index), fresh(x, edge_index))
    encoder.reset_parameters()
    assert encoder.first.memo._last is None


@pytest.mark.parametrize("name", ["disease", "airport", "cora", "pubmed"])
def test_a_gradient_step_on_real_data_is_finite(name: str, real_data: Callable[[str], Path | None]) -> None:
    torch.set_default_dtype(torch.float32)
    graph = load_graph(name, data=real_data(name))
    x = prepare_features(graph, "node")
    for entry in FCS.values():
        space = make_space(entry.space)
        cls = MLP if entry.space == "euclidean" else HGCN
        encoder = cls(x.shape[1], 16, 2, space, fc=entry.name)
        head = {"poincare": "bmlr-p", "lorentz": "bmlr-l", "euclidean": "mlr"}[entry.space]
        head = make_head(head, 16, int(graph.y.max()) + 1, space)
        parameters = [*encoder.parameters(), *head.parameters()]
        optimizer = torch.optim.Adam(parameters, lr=1e-2, fused=True)
        before = F.cross_entropy(head(encoder(x, graph.edge_index)), graph.y)
        before.backward()
        assert all(parameter.grad.isfinite().all() for parameter in parameters), (name, entry.name)
        assert any(parameter.grad.abs().sum() > 0 for parameter in encoder.parameters()), (name, entry.name)
        optimizer.step()
        loss = F.cross_entropy(head(encoder(x, graph.edge_index)), graph.y)
        assert math.isfinite(loss.item()), (name, entry.name)


@pytest.mark.parametrize("given", ["dense", "sparse"])
def test_second_derivative_by_weights_with_fixed_features(given: str) -> None:
    encoder, edge_index = make(HGCN, PoincareBall(-0.5), act="tanh"), edges()
    x = features() if given == "dense" else SparseMatrix(sparse(features()))
    parameters = dict(encoder.named_parameters())

    def forward(*values: Tensor) -> Tensor:
        return torch.func.functional_call(encoder, dict(zip(parameters, values)), (x, edge_index))[:3]

    values = tuple(p.detach().requires_grad_() for p in parameters.values())
    assert torch.autograd.gradgradcheck(forward, values)


def test_dropout_acts_on_weights_in_training_only() -> None:
    x, edge_index = features(), edges()
    for cls, space in ((HGCN, PoincareBall(-0.5)), (HNN, Lorentz(-0.5)), (GCN, None), (MLP, None)):
        encoder = make(cls, space, dropout=0.5)
        torch.testing.assert_close(encoder(x, edge_index), encoder(x, edge_index), rtol=0, atol=0)
        encoder.train()
        assert not torch.equal(encoder(x, edge_index), encoder(x, edge_index))


@pytest.mark.parametrize("cls", [HGCN, GCN])
def test_an_adjacency_that_learns_is_not_kept(cls: type) -> None:
    encoder, x = make(cls, PoincareBall(-0.5) if cls is HGCN else Euclidean()), features()
    index = edges().unique(dim=1)
    size = (NODES, NODES)
    adjacency = torch.sparse_coo_tensor(index.flip(0), torch.rand(index.size(1)), size, check_invariants=True)
    adjacency.requires_grad_()
    for _ in range(2):
        encoder(x, adjacency).square().sum().backward()
    assert adjacency.grad is not None and adjacency.grad.coalesce().values().abs().sum() > 0


def test_options() -> None:
    space, x, edge_index = PoincareBall(-0.5), features(), edges()
    plain = HGCN(FEATURES, DIM, 3, space, act=None, bias=False, attention=True, aggregation="centroid")
    assert all(conv.fc.bias is None and conv.att is not None for conv in plain.layers)
    assert plain(x, edge_index).shape == (NODES, DIM)
    bfc = HNN(FEATURES, DIM, 2, space, fc="bfc-p", phi="tanh")
    assert isinstance(bfc.layers[1].phi, nn.Tanh)
    assert str(plain) == "HGCN(9, 4, num_layers=3, PoincareBall(K=-0.5))"


def test_bad_input() -> None:
    encoder, x, edge_index = make(HGCN, PoincareBall(-0.5)), features(), edges()
    with pytest.raises(InputError, match=r"shape \(nodes, 9\), got \(18, 5\)"):
        encoder(x[:, :5], edge_index)
    with pytest.raises(InputError, match=r"use x\.to_sparse_csr"):
        encoder(x.to_sparse(), edge_index)
    bad = x.clone()
    bad[5, 1] = torch.nan
    for given in (bad, sparse(bad)):
        with pytest.raises(InputError, match="node 5 are not finite"):
            encoder(given, edge_index)
    with pytest.raises(InputError, match="pass edge_index"):
        encoder(x)
    with pytest.raises(InputError, match="pass edge_index"):
        GCN(FEATURES, DIM, 2)(x)
    with pytest.raises(InputError, match="Euclidean baseline"):
        MLP(FEATURES, DIM, 2, PoincareBall())
    with pytest.raises(InputError, match="needs a space"):
        HGCN(FEATURES, DIM, 2)
    with pytest.raises(InputError, match="leave out fc"):
        GCN(FEATURES, DIM, 2, fc="mobius")
    with pytest.raises(InputError, match="num_layers must be a whole number above 0"):
        HNN(FEATURES, DIM, 0, PoincareBall())
    with pytest.raises(InputError, match="in_channels must be a whole number above 0, got -1"):
        GCN(-1, DIM, 2)
    with pytest.raises(InputError, match="no gradient here"):
        encoder(sparse(x).requires_grad_(), edge_index)
    matrix = normalized_adjacency(edge_index, num_nodes=len(x))
    for one in (encoder, GCN(FEATURES, DIM, 2)):
        for matrices in ([matrix], [matrix] * 3):
            with pytest.raises(InputError, match="a list of 2 matrices"):
                one(x, matrices)
        with pytest.raises(InputError, match="no edge_weight"):
            one(x, [matrix] * 2, torch.ones(edge_index.size(1)))


@pytest.mark.parametrize("cls", [HNN, HGCN, MLP, GCN])
def test_reset_parameters_resets_activations(cls: type) -> None:
    space = None if cls in (MLP, GCN) else PoincareBall(-0.5)
    encoder = cls(FEATURES, DIM, 2, space, act="prelu")
    slopes = [m.weight for m in encoder.modules() if isinstance(m, nn.PReLU)]
    assert len(slopes) == 2
    with torch.no_grad():
        for slope in slopes:
            slope.fill_(7)
    encoder.reset_parameters()
    assert [slope.item() for slope in slopes] == [0.25, 0.25]


def test_a_subclass_may_take_arguments_of_its_own() -> None:
    class Named(HGCN):
        def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.name = name

    assert Named("mine", FEATURES, DIM, 2, PoincareBall(-0.5))(features(), edges()).shape == (
        len(features()),
        DIM,
    )


@pytest.mark.parametrize("cls", [HGCN, GCN])
def test_an_evaluation_in_inference_mode_leaves_nothing_that_training_cannot_use(cls: type) -> None:
    space = PoincareBall(-0.5) if cls is HGCN else None
    options = {"attention": True} if cls is HGCN else {}
    encoder, x, edge_index = cls(FEATURES, DIM, 2, space, clip=1.0, **options), 9 * features(), edges()
    for given in (x, sparse(x)):
        with torch.inference_mode():
            encoder(given, edge_index)
        encoder(given, edge_index).sum().backward()


def test_the_adjacency_of_a_gcn_has_the_type_of_its_points() -> None:
    encoder, x, edge_index = GCN(FEATURES, DIM, 2), features(), edges()
    encoder.float()(x.float(), edge_index)
    kept = encoder.double()(x, edge_index)
    encoder._memo.clear()
    torch.testing.assert_close(kept, encoder(x, edge_index), rtol=1e-14, atol=1e-14)


def test_autocast_runs() -> None:
    torch.set_default_dtype(torch.float32)
    encoder = HGCN(FEATURES, DIM, 2, PoincareBall(-0.5))
    x, edge_index = features(), edges()
    expected = encoder(x, edge_index)
    for given in (x, sparse(x)):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = encoder(given, edge_index)
        assert out.dtype == torch.float32
        torch.testing.assert_close(out, expected, rtol=0.05, atol=0.05)


KINDS = [("paper", "by", "author"), ("author", "of", "paper"), ("paper", "cites", "paper")]


def hetero() -> HeteroData:
    data = HeteroData()
    data["paper"].x, data["author"].x = 2 * torch.randn(NODES, FEATURES), torch.randn(7, FEATURES)
    for kind in KINDS:
        ends = (data[kind[0]].num_nodes, data[kind[2]].num_nodes)
        data[kind].edge_index = torch.stack([torch.randint(0, size, (30,)) for size in ends])
    return data


@pytest.mark.parametrize("learnable", [False, True])
@pytest.mark.parametrize("model", [PoincareBall, Lorentz])
def test_to_hetero(model: type, learnable: bool) -> None:
    data, space = hetero(), model(-0.5, learnable=learnable)
    original = HGCN(FEATURES, DIM, 2, space, clip=1.5)
    state = set(original.state_dict())
    encoder = to_hetero(original, data.metadata())
    assert set(original.state_dict()) == state
    out = encoder(data.x_dict, data.edge_index_dict)
    u = {kind: clip(x, 1.5) for kind, x in data.x_dict.items()}
    for layer in encoder.layers:
        sums = {kind: torch.zeros(()) for kind in u}
        for kind, conv in zip(KINDS, layer.values(), strict=True):
            pair = u[kind[0]] if kind[0] == kind[2] else (u[kind[0]], u[kind[2]])
            sums[kind[2]] = sums[kind[2]] + conv(pair, data[kind].edge_index, tangent=True)
        u = sums
    head = make_head("bmlr-p" if model is PoincareBall else "bmlr-l", DIM, 3, space)
    for kind, points in out.items():
        torch.testing.assert_close(points, space.exp0(u[kind]))
        head(points).sum().backward(retain_graph=True)
    assert all(p.grad is not None for p in encoder.layers.parameters())
    assert len(list(encoder.last.parameters())) == 2 * learnable


@pytest.mark.parametrize("learnable", [False, True])
@pytest.mark.parametrize("model", [PoincareBall, Lorentz])
def test_to_hetero_with_residuals_and_dropout(model: type, learnable: bool) -> None:
    data, space = hetero(), model(-0.5, learnable=learnable)
    plain = HGCN(FEATURES, DIM, 2, space)
    given = {"residual": True, "hidden_dropout": 0.5, "feature_dropout": 0.5}
    original = HGCN(FEATURES, DIM, 2, space, **given)
    assert list(original.state_dict()) == list(plain.state_dict())
    assert list(copy.deepcopy(original).state_dict()) == list(plain.state_dict())
    encoder = to_hetero(original, data.metadata())
    noisy = [encoder(data.x_dict, data.edge_index_dict) for _ in range(2)]
    out = encoder.eval()(data.x_dict, data.edge_index_dict)
    u = data.x_dict
    for layer in encoder.layers:
        before = u
        u = {kind: torch.zeros(()) for kind in before}
        for kind, conv in zip(KINDS, layer.values(), strict=True):
            pair = before[kind[0]] if kind[0] == kind[2] else (before[kind[0]], before[kind[2]])
            u[kind[2]] = u[kind[2]] + conv(pair, data[kind].edge_index, tangent=True)
        if layer is encoder.layers[1]:
            u = {kind: u[kind] + before[kind] for kind in u}
    for kind, points in out.items():
        torch.testing.assert_close(points, space.exp0(u[kind]))
        assert not torch.allclose(noisy[0][kind], noisy[1][kind])
        assert space.contains(noisy[0][kind]).all()
    own = [part.space for step in (encoder.first, encoder.last) for part in step.values()]
    assert len({id(each) for each in (space, *own)}) == 5


def test_a_copy_of_an_encoder_is_whole() -> None:
    """Its steps use the space of the copy, and are in its mode."""
    encoder = HGCN(FEATURES, DIM, 2, PoincareBall(-0.5, learnable=True), feature_dropout=0.5).eval()
    x, edge_index = features(), edges()
    for made in (copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):
        assert list(made.state_dict()) == list(encoder.state_dict())
        assert torch.equal(made(x, edge_index), encoder(x, edge_index))
        before = encoder(x, edge_index)
        with torch.no_grad():
            made.space.curvature.raw.add_(1)
        assert torch.equal(encoder(x, edge_index), before)
        other = HGCN(FEATURES, DIM, 2, PoincareBall(-2.0, learnable=True)).eval()
        other.load_state_dict(made.state_dict())
        assert torch.equal(made(x, edge_index), other(x, edge_index))
        made(x, edge_index).sum().backward()
        assert made.space.curvature.raw.grad is not None and encoder.space.curvature.raw.grad is None


def test_to_hetero_takes_parts_whole() -> None:
    data, space = hetero(), PoincareBall(-0.5)

    class Net(nn.Module):
        def __init__(self, encoder: nn.Module) -> None:
            super().__init__()
            self.encoder, self.head = encoder, make_head("bmlr-p", DIM, 3, space)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.head(
                self.encoder(x) if isinstance(self.encoder, HNN) else self.encoder(x, edge_index)
            )

    net = to_hetero(Net(HNN(FEATURES, DIM, 2, space)), data.metadata())
    assert net(data.x_dict, data.edge_index_dict)["author"].shape == (7, 3)
    net = to_hetero(Net(HGCN(FEATURES, DIM, 2, space)), data.metadata())
    with pytest.raises(InputError, match=r"to_hetero\(HGCN"):
        net(data.x_dict, data.edge_index_dict)


@pytest.mark.skipif(
    importlib.util.find_spec("pyg_lib") is None and importlib.util.find_spec("torch_sparse") is None,
    reason="NeighborLoader needs pyg-lib or torch-sparse, and neither is installed",
)
@pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without a 'pyg-lib' installation")
def test_neighbor_loader() -> None:
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader

    encoder = make(HGCN, PoincareBall(-0.5))
    data = Data(x=features(), edge_index=edges())
    whole = encoder(data.x, data.edge_index)
    for batch in NeighborLoader(data, [-1, -1], batch_size=4):
        found = encoder(batch.x, batch.edge_index)[: batch.batch_size]
        torch.testing.assert_close(found, whole[batch.n_id[: batch.batch_size]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("space", "backend"),
    [
        (PoincareBall(-0.5), "inductor"),
        (PoincareBall(-0.5, learnable=True), "aot_eager"),
        (Lorentz(-0.5), "aot_eager"),
    ],
)
def test_compile_without_a_graph_break(space: Space, backend: str) -> None:
    torch._dynamo.reset()
    encoder = make(HGCN, space.double())
    x = features()
    adjacency = normalized_adjacency(edges(), num_nodes=NODES)
    compiled = torch.compile(encoder, fullgraph=True, backend=backend)
    for given in (x, SparseMatrix(sparse(x))):
        assert_same(gradients(compiled, given, adjacency), gradients(encoder, given, adjacency))


def _distributed(rank: int, size: int, file: str) -> None:
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=size)
    torch.manual_seed(0)
    encoder = HGCN(FEATURES, DIM, 2, PoincareBall(-0.5, learnable=True))
    x, edge_index = 0.3 * torch.randn(NODES, FEATURES), edges()
    wrapped = DistributedDataParallel(encoder)
    (wrapped(x, edge_index).square().sum() * (rank + 1)).backward()
    grad = encoder.layers[0].fc.weight.grad
    everyone = [torch.empty_like(grad) for _ in range(size)]
    dist.all_gather(everyone, grad)
    assert all(torch.equal(other, grad) for other in everyone)
    alone = HGCN(FEATURES, DIM, 2, PoincareBall(-0.5, learnable=True))
    alone.load_state_dict(encoder.state_dict())
    alone(x, edge_index).square().sum().backward()
    mean = sum(range(1, size + 1)) / size
    torch.testing.assert_close(grad, mean * alone.layers[0].fc.weight.grad)
    dist.destroy_process_group()


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2])
def test_distributed_data_parallel(size: int, tmp_path: Path) -> None:
    torch.multiprocessing.spawn(_distributed, (size, str(tmp_path / "store")), nprocs=size)

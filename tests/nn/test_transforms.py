"""What torch does to modules, over the registry: fake and meta tensors, forward mode, hooks.

Export, tracing, half precision and others are in test_deploy.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from hypergraph.geometry import Euclidean, Lorentz, PoincareBall, Space
from hypergraph.geometry.space import Curvature
from hypergraph.nn import (
    FCS,
    GCN,
    HEADS,
    HGCN,
    HNN,
    MLP,
    make_fc,
    make_head,
    make_space,
    normalized_adjacency,
)
from hypergraph.nn.registry import Entry
from hypergraph.sparse import SparseMatrix
from hypergraph.tasks.guard import first_non_finite

ENTRIES = [*HEADS.values(), *FCS.values()]
every = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
N, C = 6, 4


def make(entry: Entry) -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    space = make_space(entry.space, -0.7)
    module = (make_head if entry.kind == "head" else make_fc)(entry.name, N, C, space).eval()
    return module, space.exp0(torch.randn(8, N)).detach()


@every
def test_fake_and_meta_tensors(entry: Entry) -> None:
    module, x = make(entry)
    shape = module(x).shape
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert module(mode.from_tensor(x)).shape == shape
    assert module.to("meta")(x.to("meta")).shape == shape


@every
def test_forward_mode(entry: Entry) -> None:
    module, x = make(entry)
    module, x = module.double(), x.double()
    _, along = torch.func.jvp(module, (x,), (torch.ones_like(x),))
    jacobian = torch.autograd.functional.jacobian(module, x)
    torch.testing.assert_close(along, jacobian.sum((-1, -2)), rtol=1e-9, atol=1e-9)


class Model(nn.Module):
    """An encoder and a head."""

    def __init__(self, encoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.head(self.encoder(x, edge_index))


CASES = [(HGCN, fc) for fc in FCS if FCS[fc].space != "euclidean"] + [(HNN, "bfc-p"), (HNN, "ltfc")]


def model_of(cls: type, fc: str) -> tuple[Model, Tensor, Tensor]:
    torch.manual_seed(0)
    space = make_space(FCS[fc].space, -0.7)
    head = "bmlr-p" if FCS[fc].space == "poincare" else "bmlr-l"
    model = Model(cls(9, 5, 2, space, fc=fc, residual=True), make_head(head, 5, 3, space))
    return model, torch.randn(12, 9), torch.randint(0, 12, (2, 30))


@pytest.mark.parametrize("given", ["dense", "sparse"])
@pytest.mark.parametrize(("cls", "fc"), [*CASES, (GCN, None), (MLP, "linear")])
def test_a_hook_on_every_module_fires_once(cls: type, fc: str | None, given: str) -> None:
    if cls in (GCN, MLP):
        model = Model(cls(9, 5, 2), make_head("mlr", 5, 3, Euclidean()))
        x, edge_index = torch.randn(12, 9), torch.randint(0, 12, (2, 30))
    else:
        model, x, edge_index = model_of(cls, fc or "")
    fired: dict[str, int] = {}
    before: dict[str, int] = {}
    for name, module in model.named_modules():
        # what holds parameters or parts, and computes nothing of its own
        if not name or isinstance(module, (Space, Curvature, nn.ModuleList)) or "aggr_module" in name:
            continue
        before[name] = fired[name] = 0

        def count(*_: object, name: str = name) -> None:
            fired[name] += 1

        def count_before(*_: object, name: str = name) -> None:
            before[name] += 1

        module.register_forward_hook(count)
        module.register_forward_pre_hook(count_before)
    model(x if given == "dense" else x.to_sparse_csr(), edge_index)
    assert set(fired.values()) == set(before.values()) == {1}, fired
    assert len(fired) >= 6


ENCODERS: dict[str, Callable[[], nn.Module]] = {
    "hnn": lambda: HNN(9, 5, 2, PoincareBall(-0.7), fc="bfc-p"),
    "mlp": lambda: MLP(9, 5, 2),
    "hgcn": lambda: HGCN(9, 5, 2, PoincareBall(-0.7)),
    "hgcn, attention": lambda: HGCN(9, 5, 2, PoincareBall(-0.7), attention=True),
    "hgcn, centroid": lambda: HGCN(9, 5, 2, Lorentz(-0.7), aggregation="centroid"),
    "gcn": lambda: GCN(9, 5, 2),
}


def encoder_of(name: str) -> tuple[nn.Module, Tensor, Tensor, SparseMatrix]:
    torch.manual_seed(0)
    edge_index = torch.randint(0, 12, (2, 30))
    matrix = normalized_adjacency(edge_index, num_nodes=12, dtype=torch.float64)
    return ENCODERS[name]().double().eval(), torch.randn(12, 9).double(), edge_index, matrix


@pytest.mark.parametrize("graph", ["edges", "matrix"])
@pytest.mark.parametrize("name", ENCODERS)
def test_torch_func_takes_encoders(name: str, graph: str) -> None:
    encoder, x, edge_index, matrix = encoder_of(name)
    given = edge_index if graph == "edges" else matrix
    f = partial(encoder, edge_index=given)
    want = f(x)
    out, along = torch.func.jvp(f, (x,), (torch.ones_like(x),))
    torch.testing.assert_close(out, want)
    jacobian = torch.autograd.functional.jacobian(f, x)
    torch.testing.assert_close(along, jacobian.sum((-1, -2)), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(torch.func.vmap(f)(torch.stack([x, x]))[1], want)
    leaf = x.clone().requires_grad_()
    f(leaf).square().sum().backward()
    torch.testing.assert_close(torch.func.grad(lambda x: f(x).square().sum())(x), leaf.grad)


@pytest.mark.parametrize("name", ENCODERS)
def test_fake_tensors_pass_through_encoders(name: str) -> None:
    """With matrices: what an ``edge_index`` becomes depends on its numbers."""
    encoder, x, _, matrix = encoder_of(name)
    shape = encoder(x, matrix).shape
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert encoder(mode.from_tensor(x), matrix).shape == shape
    if name in ("hnn", "mlp"):
        assert encoder.to("meta")(x.to("meta")).shape == shape
        assert torch.export.export(ENCODERS[name]().double().eval(), (x,)).module()(x).shape == shape


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the compiler, where it breaks the graph
def test_compile_takes_an_edge_index() -> None:
    """With a break of the graph, where the edges are looked at."""
    encoder, x, edge_index, _ = encoder_of("hgcn")
    got = torch.compile(encoder, backend="aot_eager")(x, edge_index)
    torch.testing.assert_close(got, encoder(x, edge_index))


def test_a_curious_look_leaves_a_layer_to_be_initialised() -> None:
    layer = make_fc("bfc-p", N, C).train()
    x = layer.space.exp0(torch.randn(8, N))
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        layer(mode.from_tensor(x))
    torch.func.vmap(layer)(x)
    assert not layer.initialised and not layer._initialised
    layer(x)
    assert layer.initialised and layer._initialised


def test_a_device_context_is_not_remembered() -> None:
    """What kernels keep is on the CPU, wherever new tensors go by default."""
    head = make_head("bmlr-p", 11, 3)
    x = head.space.exp0(torch.randn(13, 11))
    with torch.device("meta"):
        head(x)
    head(x).sum().backward()


@pytest.mark.parametrize("cls", [HGCN, HNN])
def test_the_guard_names_a_layer_inside_an_encoder(cls: type) -> None:
    model, x, edge_index = model_of(cls, "bfc-p")
    model.train()
    model(x, edge_index)
    with torch.no_grad():
        fc = model.encoder.layers[1].fc if cls is HGCN else model.encoder.layers[1]
        fc.b[0] = torch.nan
    found = first_non_finite(model, lambda: model(x, edge_index))
    name = "encoder.layers.1.fc" if cls is HGCN else "encoder.layers.1"
    assert found is not None and found.startswith(f"{name}.phi")

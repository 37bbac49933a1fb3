"""Heads and layers inside other people's tools, over the registry: half precision, autocast, torch.export,
ONNX, jit.trace, fx, summaries, parametrisations and explainers."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import warnings

import pytest
import torch
from torch import Tensor, nn

from hypergraph.nn import (
    BMLR,
    FCS,
    HEADS,
    HGCN,
    HNN,
    TangentLinear,
    TangentMLR,
    make_fc,
    make_head,
    make_space,
)

EVERY = [*HEADS, *FCS]


def make(name: str, n: int = 4, out: int = 3, learnable: bool = False) -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    table = HEADS if name in HEADS else FCS
    space = make_space(table[name].space, -0.5, learnable)
    module = (make_head if name in HEADS else make_fc)(name, n, out, space)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim():
                parameter.add_(0.3 * torch.randn_like(parameter))
    return module.eval(), space.exp0(torch.randn(6, n)).detach()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", EVERY)
def test_half_precision(name: str, dtype: torch.dtype) -> None:
    module, x = make(name)
    low = copy.deepcopy(module).to(dtype)
    rounded = copy.deepcopy(module)
    with torch.no_grad():
        for high, half in zip(rounded.parameters(), low.parameters()):
            high.copy_(half)
    for given in (x, x.to(dtype)):
        given = given.requires_grad_()
        out = low(given)
        assert out.dtype == torch.float32
        torch.testing.assert_close(out, rounded(given.float()), rtol=1e-5, atol=1e-5)
        out.sum().backward()
        for parameter in low.parameters():
            if parameter.grad is not None:
                assert parameter.grad.isfinite().all() and parameter.grad.dtype == parameter.dtype
    assert low.weight.grad is not None and low.weight.grad.abs().max() > 0


@pytest.mark.parametrize("name", EVERY)
def test_autocast_stays_out(name: str) -> None:
    """The products too: with 8 bits of <x, v> logits up to 27 were 2.4 off."""
    module, _ = make(name)
    far = module.space.exp0(3 * torch.randn(6, 4))
    with torch.autocast("cpu", torch.bfloat16):
        out = module(far)
    assert out.dtype == torch.float32
    want = module(far)
    gap = (out - want).abs().max() / want.abs().max()
    # a linear map of logarithms is as in flat space, and autocast may lower it
    assert gap < (0.05 if isinstance(module, (TangentLinear, TangentMLR)) else 1e-5)


slow = pytest.mark.slow


@pytest.mark.parametrize("learnable", [False, pytest.param(True, marks=slow)], ids=["fixed K", "learnable K"])
@pytest.mark.parametrize("name", EVERY)
def test_export_with_a_dynamic_batch(name: str, learnable: bool) -> None:
    module, x = make(name, learnable=learnable)
    batch = torch.export.Dim("batch")
    program = torch.export.export(module, (x,), dynamic_shapes=({0: batch},))
    exported = program.module()
    for rows in (1, 6, 40000):
        many = x[torch.arange(rows) % 6]
        torch.testing.assert_close(exported(many), module(many), rtol=1e-5, atol=1e-5)


@slow
@pytest.mark.parametrize("name", EVERY)
def test_onnx(name: str) -> None:
    for package in ("onnx", "onnxscript"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"torch.onnx.export needs {package}, which is not installed")
    reference = importlib.import_module("onnx.reference")
    module, x = make(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(module, (x,), dynamo=True, verbose=False, dynamic_shapes=({0: "batch"},))
    session = reference.ReferenceEvaluator(program.model_proto)
    many = x.repeat(5, 1)
    (out,) = session.run(None, {session.input_names[0]: many.numpy()})
    torch.testing.assert_close(torch.from_numpy(out), module(many).detach(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", EVERY)
def test_jit_trace(name: str) -> None:
    module, x = make(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is on its way out, and a check becomes a constant
        traced = torch.jit.trace(module, x)
    many = module.space.exp0(torch.randn(50, 4))
    torch.testing.assert_close(traced(many), module(many), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", EVERY)
def test_fx(name: str) -> None:
    module, x = make(name)
    alone = None if name in HEADS else {"tangent": False}
    for model, given in ((module, alone), (nn.Sequential(module, nn.Identity()), None)):
        graph = torch.fx.symbolic_trace(model, concrete_args=given)
        torch.testing.assert_close(graph(x), model(x))
        graph.zero_grad()
        graph(x).sum().backward()
        assert all(parameter.grad is not None for parameter in graph.parameters())


def model(space_name: str = "poincare") -> nn.ModuleDict:
    space = make_space(space_name, -0.5)
    return nn.ModuleDict({"encoder": HGCN(5, 4, 2, space), "head": BMLR(4, 3, space)})


EDGES = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 0, 3, 2, 0, 4]])


@pytest.mark.parametrize("space", ["poincare", "lorentz"])
def test_summary_lists_every_layer(space: str) -> None:
    pytest.importorskip("tabulate", reason="torch_geometric.nn.summary needs tabulate")
    from torch_geometric.nn import summary

    parts = model(space).eval()
    encoder = parts["encoder"]
    text = summary(encoder, torch.randn(5, 5), EDGES, max_depth=9, leaf_module=None)
    for name, part in encoder.named_modules():
        if name and not any(word in name for word in ("space", "curvature", "aggr_module")):
            assert type(part).__name__ in text
    head = summary(parts["head"], encoder(torch.randn(5, 5), EDGES))
    assert "[5, 3]" in head


def test_weights_under_a_parametrisation() -> None:
    """Spectral normalisation of every weight: the layers compute with what it gives."""
    torch.manual_seed(0)
    for name in ("bmlr-p", "bmlr-l", "pmlr", "bfc-p", "bfc-l", "mobius", "ltfc"):
        module, x = make(name)
        plain = copy.deepcopy(module)
        torch.nn.utils.parametrizations.spectral_norm(module, n_power_iterations=30)
        with torch.no_grad():
            plain.weight.copy_(module.weight)
        torch.testing.assert_close(module.eval()(x), plain(x), rtol=1e-4, atol=1e-5)
        module(x).sum().backward()
        assert module.parametrizations.weight.original.grad is not None
    encoder = HNN(5, 4, 2, make_space("poincare", -0.5)).eval()
    before = encoder(torch.ones(2, 5))
    for part in encoder.modules():
        if hasattr(part, "weight") and isinstance(part.weight, nn.Parameter):
            torch.nn.utils.parametrize.register_parametrization(part, "weight", _Half())
    assert (encoder(torch.ones(2, 5)) - before).abs().max() > 1e-3


class _Half(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight / 2


@pytest.mark.parametrize("space", ["poincare", "lorentz"])
def test_explainer(space: str) -> None:
    from torch_geometric.explain import Explainer, GNNExplainer

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = model(space)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.parts["head"](self.parts["encoder"](x, edge_index)).log_softmax(-1)

    torch.manual_seed(0)
    explainer = Explainer(
        Model(),
        GNNExplainer(epochs=5),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "log_probs"},
    )
    explanation = explainer(torch.randn(5, 5), EDGES)
    assert explanation.edge_mask.shape == (6,) and explanation.edge_mask.abs().max() > 0
    assert explanation.node_mask.isfinite().all() and explanation.node_mask.abs().max() > 0

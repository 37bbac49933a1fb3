"""The walk over the registry: whatever is registered must do all of this."""

from __future__ import annotations

import copy
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry.space import Lorentz, Space
from hypergraph.nn import FCS, HEADS, make_fc, make_head, make_space
from hypergraph.nn.registry import ENCODERS, EncoderEntry, Entry

ENTRIES = [*HEADS.values(), *FCS.values()]
every = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)

N, C = 6, 4


def make(entry: Entry, K: float = -0.7, learnable: bool = False) -> tuple[nn.Module, Space]:
    torch.manual_seed(0)
    space = make_space(entry.space, K, learnable)
    return entry_module(entry, space), space


def entry_module(entry: Entry, space: Space | None) -> nn.Module:
    return (make_head if entry.kind == "head" else make_fc)(entry.name, N, C, space)


def points(space: Space, rows: int = 8, dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return space.exp0(torch.randn(rows, N, generator=generator).to(dtype)).detach()


def width(entry: Entry, space: Space) -> int:
    return C if entry.kind == "head" else space.ambient(C)


def count(formula: str, n: int, out: int) -> int:
    """The value of a formula of the registry, such as ``m(n+1)+m``, in which a product is juxtaposition."""
    product = re.sub(r"(?<=[\dnmC)])(?=[nmC(])", "*", formula)
    return eval(product, {"n": n, "m": out, "C": out})


@every
def test_parameters_are_as_many_as_the_registry_says(entry: Entry) -> None:
    layer = entry_module(entry, None)
    expected = count(entry.params, N, C) + (count(entry.bias, N, C) if entry.bias else 0)
    assert sum(p.numel() for p in layer.parameters()) == expected
    if entry.kind == "fc":
        bare = make_fc(entry.name, N, C, bias=False)
        assert sum(p.numel() for p in bare.parameters()) == count(entry.params, N, C)
        assert bare.bias is None


@pytest.mark.parametrize("entry", [*ENTRIES, *ENCODERS.values()], ids=lambda entry: entry.name)
def test_a_class_has_what_its_entry_says_it_takes(entry: Entry | EncoderEntry) -> None:
    known = {name for cls in entry.load().__mro__ for name in inspect.signature(cls.__init__).parameters}
    assert set(entry.takes) <= known


@pytest.mark.parametrize("entry", ENCODERS.values(), ids=lambda entry: entry.name)
def test_an_encoder_is_what_its_entry_says(entry: EncoderEntry) -> None:
    cls = entry.load()
    assert (cls.flat, cls.uses_graph) == (entry.flat, entry.uses_graph)


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_forward_and_backward(entry: Entry, dtype: torch.dtype) -> None:
    layer, space = make(entry, learnable=True)
    layer = layer.to(dtype)
    x = points(space, dtype=dtype).requires_grad_()
    y = layer(x)
    assert y.shape == (8, width(entry, space)) and y.dtype == dtype
    assert layer(x.reshape(2, 4, -1)).shape == (2, 4, width(entry, space))
    torch.testing.assert_close(layer(x[0]), layer(x)[0])
    y.square().sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None and bool(parameter.grad.isfinite().all()), name
    assert bool(x.grad.isfinite().all())


@every
def test_gradients_are_right(entry: Entry) -> None:
    layer, space = make(entry, learnable=True)
    layer = layer.double().eval()
    names, values = zip(*((name, p.detach().requires_grad_()) for name, p in layer.named_parameters()))
    with torch.no_grad():
        for value in values:
            value.add_(0.1 * torch.randn_like(value))
    x = points(space, 2, torch.float64).requires_grad_()

    def call(x: Tensor, *values: Tensor) -> Tensor:
        return torch.func.functional_call(layer, dict(zip(names, values)), x)

    assert torch.autograd.gradcheck(call, (x, *values), fast_mode=True)


@every
def test_vmap_agrees_with_the_batch(entry: Entry) -> None:
    layer, space = make(entry)
    layer.double().eval()  # in single precision the two orders of summation differ by more than is told apart
    x = points(space, dtype=torch.float64)
    torch.testing.assert_close(torch.func.vmap(layer)(x), layer(x), rtol=1e-10, atol=1e-10)
    rows = torch.func.vmap(torch.func.jacrev(layer))(x)
    assert rows.shape == (8, width(entry, space), x.size(-1))


@every
def test_gradients_of_each_point(entry: Entry) -> None:
    # in double precision: some of the gradients are 0, and rounding is all that single precision has of them
    layer, space = make(entry)
    layer.double().eval()
    x, parameters = points(space, dtype=torch.float64), dict(layer.named_parameters())

    def loss(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return torch.func.functional_call(layer, parameters, (x,)).square().sum()

    loss(parameters, x).backward()
    total = torch.func.grad(loss)(parameters, x)
    each = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x.unsqueeze(1))
    for name, parameter in parameters.items():
        torch.testing.assert_close(total[name], parameter.grad, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(each[name].sum(0), parameter.grad, rtol=1e-9, atol=1e-9)


@every
def test_state_survives_saving_and_copying(entry: Entry, tmp_path: Path) -> None:
    layer, space = make(entry, learnable=True)
    x = points(space)
    expected = layer(x)
    fresh = entry_module(entry, make_space(entry.space, -1.3, learnable=True))
    fresh.load_state_dict(layer.state_dict())
    torch.testing.assert_close(fresh(x), expected, rtol=0, atol=0)
    torch.testing.assert_close(copy.deepcopy(layer)(x), expected, rtol=0, atol=0)
    save_file(layer.state_dict(), tmp_path / "layer.safetensors")
    other = entry_module(entry, make_space(entry.space, -1.3, learnable=True))
    other.load_state_dict(load_file(tmp_path / "layer.safetensors"))
    torch.testing.assert_close(other(x), expected, rtol=0, atol=0)


@every
def test_autocast_keeps_the_geometry_in_single_precision(entry: Entry) -> None:
    layer, space = make(entry)
    x = points(space).requires_grad_()
    expected = layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x)
        half = layer(x.bfloat16())
    assert y.dtype == half.dtype == torch.float32
    assert bool(half.isfinite().all())
    torch.testing.assert_close(y, expected, rtol=0.1, atol=0.1)
    y.sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in layer.parameters())
    if entry.kind == "fc":
        assert bool(space.contains(y).all())


@every
def test_empty_batch(entry: Entry) -> None:
    layer, space = make(entry)
    y = layer(points(space)[:0].requires_grad_())
    assert y.shape == (0, width(entry, space))
    y.sum().backward()


@every
def test_wrong_last_dimension(entry: Entry) -> None:
    layer, space = make(entry)
    with pytest.raises(InputError, match=rf"with {space.ambient(N)} coordinates, got {N + 3} in the last"):
        layer(torch.zeros(2, N + 3))


@every
def test_features_that_were_not_lifted_are_said_to_be_such(entry: Entry) -> None:
    layer, space = make(entry)
    x = 5 * torch.randn(3, space.ambient(N))
    x[0] = points(space)[0]
    if space.flat:
        layer(x)
        return
    with pytest.raises(InputError, match=r"row 1 is not on its space.* not lifted; use space.lift"):
        layer(x)
    # nearly on the space is near enough: a point in half precision, one at the boundary
    layer(points(space).bfloat16())


@every
@pytest.mark.parametrize("size", [1e1, 1e4, 1e12])
def test_points_far_outside_the_range_give_finite_values(entry: Entry, size: float) -> None:
    layer, space = make(entry, learnable=True)
    layer(points(space))
    x = (size * points(space)).requires_grad_()
    y = layer(x)
    assert bool(y.isfinite().all())
    y.sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in layer.parameters())


@every
def test_huge_parameters_give_finite_values(entry: Entry) -> None:
    layer, space = make(entry)
    layer.eval()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(1e3).add_(1e2)
    assert bool(layer(points(space)).isfinite().all())


@every
def test_zero_weights_give_finite_gradients(entry: Entry) -> None:
    layer, space = make(entry)
    layer.eval()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
    x = torch.cat([points(space), space.origin(N)[None]]).requires_grad_()
    layer(x).sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in layer.parameters())
    assert bool(x.grad.isfinite().all())


@every
def test_repr(entry: Entry) -> None:
    layer, space = make(entry)
    assert repr(layer) == f"{entry.cls.rpartition(':')[2]}({N}, {C}, {space!r})"


@every
@pytest.mark.slow
def test_compiles_to_one_graph(entry: Entry) -> None:
    layer, space = make(entry)
    x = points(space)
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True)
    first = compiled(x.clone().requires_grad_())
    torch.testing.assert_close(first, layer(x), rtol=1e-4, atol=1e-4)
    first.square().sum().backward()
    assert all(p.grad is not None for p in layer.parameters())


def test_unknown_names_and_wrong_spaces() -> None:
    with pytest.raises(InputError, match=r"Unknown head 'bmlr'; did you mean 'bmlr-[pl]'"):
        make_head("bmlr", 3, 2)
    with pytest.raises(InputError, match="Unknown fc 'bfc-e'"):
        make_fc("bfc-e", 3, 2)
    with pytest.raises(InputError, match="Unknown space 'ball'"):
        make_space("ball")
    with pytest.raises(InputError, match=r"'bmlr-p' works on the poincare model.*there use bmlr-l, lmlr"):
        make_head("bmlr-p", 3, 2, Lorentz())


def test_the_registry_does_not_import_torch() -> None:
    code = "import sys, hypergraph.nn, hypergraph.nn.registry; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

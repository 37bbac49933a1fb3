"""The gradients of every head, layer and convolution at ties, against differences at 50 digits.

The ties: parameters as they are initialised (zero offsets, points at the origin), an input at the origin, at
a class's own point, straight towards or away from its direction, and nodes that coincide or are opposite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from mpmath import mp, mpf
from torch import Tensor, nn

from hypergraph.geometry.space import Space
from hypergraph.nn import FCS, HEADS, Activation, FermiDirac, HGCNConv, make_fc, make_head, make_space
from tests.geometry.oracle import Vector, axpy, dot, lorentz, norm, poincare, sheet, times

pytestmark = pytest.mark.usefixtures("either_way")
STEP, K0 = mpf(10) ** -15, -0.4
Numbers = dict[str, Any]  # the parameters by name, lists of (lists of) numbers
MODEL = {"poincare": poincare, "lorentz": lorentz}
EDGES = [(0, 1), (1, 0), (2, 1), (1, 2)]


def softplus(raw: Any) -> Any:
    return mp.log(1 + mp.exp(raw))


def unit(z: Vector) -> Vector:
    return times(1 / norm(z), z)


def flat_or(model: str, name: str) -> Callable[..., Any]:
    flat = {
        "exp0": lambda u, K: u,
        "log0": lambda x, K: x,
        "gyro_add": lambda x, y, K: axpy(1, x, 1, y),
    }
    return flat[name] if model == "euclidean" else getattr(MODEL[model], name)


def busemann_logits(model: str, p: Numbers, x: Vector, K: Any) -> Vector:
    return [
        b - softplus(raw) * MODEL[model].busemann(x, unit(z), K)
        for z, raw, b in zip(p["weight"], p["raw_alpha"], p["b"])
    ]


def hyperplane_logits(p: Numbers, x: Vector, K: Any) -> Vector:
    s, lam = mp.sqrt(-K), poincare.conformal(x, K)
    return [
        2
        * softplus(raw)
        / s
        * mp.asinh(lam * s * dot(x, unit(z)) * mp.cosh(2 * s * b) - (lam - 1) * mp.sinh(2 * s * b))
        for z, raw, b in zip(p["weight"], p["raw_alpha"], p["b"])
    ]


def head_logits(name: str, p: Numbers, x: Vector, K: Any) -> Vector:
    model, s = HEADS[name].space, mp.sqrt(-K)
    if name.startswith("bmlr"):
        return busemann_logits(model, p, x, K)
    if name == "pmlr":
        return hyperplane_logits(p, x, K)
    if name == "lmlr":
        return [
            norm(z) / s * mp.asinh(s * (mp.cosh(s * b) * dot(unit(z), x[1:]) - mp.sinh(s * b) * x[0]))
            for z, b in zip(p["weight"], p["b"])
        ]
    if name in ("pmlr-ganea", "pbmlr-p"):
        out = []
        for z, point in zip(p["weight"], p["point"]):
            at = poincare.exp0(point, K)
            m = poincare.gyro_add(times(-1, at), x, K)
            r = norm(m)
            if name == "pmlr-ganea":
                inner = 2 * s * dot(m, unit(z)) / (1 + K * r**2)
                out.append(poincare.conformal(at, K) * norm(z) / s * mp.asinh(inner))
            else:
                ratio = 2 / s * mp.atanh(s * r) / r if r else mpf(2)
                out.append(-ratio * poincare.busemann(m, unit(z), K))
        return out
    u = flat_or(model, "log0")(x, K)
    return [dot(z, u) + b for z, b in zip(p["weight"], p["b"])]


def from_distances(model: str, u: Vector, K: Any) -> Vector:
    s = mp.sqrt(-K)
    omega = [mp.sinh(s * c) / s for c in u]
    if model == "lorentz":
        return sheet(omega, K)
    return times(1 / (1 + mp.sqrt(1 - K * dot(omega, omega))), omega)


def layer_point(name: str, p: Numbers, x: Vector, K: Any) -> Vector:
    model = FCS[name].space
    if name == "lorentz-fc":
        direction = unit([dot(w, x) + b for w, b in zip(p["weight"], p["b"])])
        size = mp.exp(p["log_lambda"]) / (1 + mp.exp(-dot(p["v"][0], x) - p["b_prime"][0]))
        return lorentz.gyro_add(sheet(times(size, direction), K), sheet(p["bias"][1:], K), K)
    if name.startswith("bfc"):
        y = from_distances(model, busemann_logits(model, p, x, K), K)
    elif name == "poincare-fc":
        y = from_distances(model, hyperplane_logits(p, x, K), K)
    else:
        u = flat_or(model, "log0")(x, K)
        y = flat_or(model, "exp0")([dot(w, u) for w in p["weight"]], K)
    return flat_or(model, "gyro_add")(y, flat_or(model, "exp0")(p["bias"], K), K)


def conv_points(model: str, aggregation: str, p: Numbers, x: list[Vector], K: Any) -> list[Vector]:
    name = {"poincare": "mobius", "lorentz": "ltfc"}[model]
    inner = {key.removeprefix("fc."): value for key, value in p.items()}
    h = [layer_point(name, inner, row, K) for row in x]
    out = []
    for i in range(len(x)):
        near = [i, *(source for source, target in EDGES if target == i)]
        if aggregation == "tangent":
            u = [mp.fsum(c) / len(near) for c in zip(*(MODEL[model].log0(h[j], K) for j in near))]
            out.append(MODEL[model].exp0(u, K))
        else:
            out.append(MODEL[model].centroid([h[j] for j in near], K))
    return out


def flat(value: Any) -> list[Any]:
    return [c for part in value for c in flat(part)] if isinstance(value, list) else [value]


def rebuilt(value: Any, numbers: Iterator[Any]) -> Any:
    return [rebuilt(part, numbers) for part in value] if isinstance(value, list) else next(numbers)


def true_gradient(f: Callable[[Any, Any], Any], given: Any, weights: Tensor, K: Any) -> Tensor:
    """The derivatives of the weighted sum of f by every number that is given, and by K."""
    numbers, w = flat(given), [mpf(c) for c in weights.tolist()]

    def value(numbers: list[Any], K: Any) -> Any:
        return mp.fdot(w, flat(f(rebuilt(given, iter(numbers)), K)))

    pairs = [
        [value([c + h * (i == j) for j, c in enumerate(numbers)], K) for h in (STEP, -STEP)]
        for i in range(len(numbers))
    ]
    pairs.append([value(numbers, K + h) for h in (STEP, -STEP)])
    return torch.tensor([float((a - b) / (2 * STEP)) for a, b in pairs], dtype=torch.float64)


def on_model(space: Space, x: Tensor) -> Tensor:
    """Points by their spatial parts."""
    if space.model != "lorentz":
        return x
    return torch.cat([(x.square().sum(-1, keepdim=True) - 1 / space.K).sqrt(), x], -1)


def as_mp(tensor: Tensor) -> Any:
    values = tensor.detach().tolist()
    return rebuilt(values, (mpf(c) for c in flat(values))) if isinstance(values, list) else mpf(values)


def check(
    module: nn.Module,
    space: Space,
    x: Tensor,
    formula: Callable[[Numbers, list[Vector], Any], Any],
    call: Callable[[Tensor], Tensor],
) -> None:
    """The gradients of a module in double precision by its parameters, its input and the curvature."""
    parameters = {
        name: p for name, p in module.named_parameters() if "curvature" not in name and "space" not in name
    }
    leaf = x.clone().requires_grad_()
    out = call(on_model(space, leaf))
    weights = torch.linspace(-0.7, 1.3, out.numel(), dtype=torch.float64)
    given = [leaf, *parameters.values(), *space.parameters()]
    grads = torch.autograd.grad(out.reshape(-1) @ weights, given, materialize_grads=True)
    numbers = [as_mp(leaf), *(as_mp(p) for p in parameters.values())]

    def f(numbers: list[Any], K: Any) -> Any:
        rows = [sheet(row, K) if space.model == "lorentz" else row for row in numbers[0]]
        return formula(dict(zip(parameters, numbers[1:])), rows, K)

    K = mpf(space.K.item()) if space.model != "euclidean" else mpf(-1)
    want = true_gradient(f, numbers, weights, K)
    value = torch.tensor([float(c) for c in flat(f(numbers, K))], dtype=torch.float64)
    torch.testing.assert_close(out.detach().reshape(-1), value, rtol=1e-10, atol=1e-12)
    names = ["x", *parameters, "K"]
    if list(space.parameters()):  # K = -softplus(raw)
        grads = (*grads[:-1], grads[-1] / -torch.sigmoid(given[-1].detach()))
    start = 0
    for name, grad in zip(names, grads):
        part = want[start : start + grad.numel()].reshape(grad.shape)
        start += grad.numel()
        torch.testing.assert_close(grad, part, rtol=1e-7, atol=1e-8, msg=lambda m, n=name: f"{n}: {m}")


def inputs(module: nn.Module, space: Space) -> Tensor:
    """Points with ties: the origin, opposite ones, on both sides of a direction, a class's own point."""
    a = torch.tensor([0.375, -0.5], dtype=torch.float64)
    weight = module.get_parameter("weight").detach()[0, -2:]
    rows = [0 * a, a, -a, 0.4 * weight / weight.norm(), -0.4 * weight / weight.norm()]
    if hasattr(module, "point"):
        rows.append(space.exp0(module.get_parameter("point").detach()[0]))
    return torch.stack(rows).detach()


def settled(module: nn.Module, spread: bool) -> nn.Module:
    """In evaluation; the parameters as they are initialised, or away from there."""
    if spread:
        with torch.no_grad():
            for parameter in module.parameters():
                if parameter.dim():
                    parameter.add_(0.3 * torch.randn_like(parameter))
    return module.eval()


@pytest.mark.parametrize("learnable", [False, True], ids=["fixed K", "learnable K"])
@pytest.mark.parametrize("spread", [False, True], ids=["initial", "spread"])
@pytest.mark.parametrize("name", HEADS)
@pytest.mark.usefixtures("double")
def test_heads(name: str, spread: bool, learnable: bool) -> None:
    space = make_space(HEADS[name].space, K0, learnable)
    head = settled(make_head(name, 2, 2, space), spread)
    check(head, space, inputs(head, space), lambda p, x, K: [head_logits(name, p, r, K) for r in x], head)


@pytest.mark.parametrize("learnable", [False, True], ids=["fixed K", "learnable K"])
@pytest.mark.parametrize("spread", [False, True], ids=["initial", "spread"])
@pytest.mark.parametrize("name", FCS)
@pytest.mark.usefixtures("double")
def test_layers(name: str, spread: bool, learnable: bool) -> None:
    space = make_space(FCS[name].space, K0, learnable)
    layer = settled(make_fc(name, 2, 2, space), spread)
    x = inputs(layer, space)
    if name == "lorentz-fc" and not spread:
        x = x[1:]  # at the origin W x + b is 0, and has no direction
    check(layer, space, x, lambda p, x, K: [layer_point(name, p, r, K) for r in x], layer)


@pytest.mark.parametrize("learnable", [False, True], ids=["fixed K", "learnable K"])
@pytest.mark.parametrize("aggregation", ["tangent", "centroid"])
@pytest.mark.parametrize("model", MODEL)
@pytest.mark.usefixtures("double")
def test_convolution(model: str, aggregation: str, learnable: bool) -> None:
    space = make_space(model, K0, learnable)
    conv = settled(HGCNConv(2, 2, space, act=None, aggregation=aggregation), False)
    edge_index = torch.tensor(EDGES).T
    a = torch.tensor([0.375, -0.5])
    for rows in ([a, a, a], [a, -a, a], [0 * a, a, 0 * a], [0 * a] * 3, [a, a.flip(0), -a]):
        check(
            conv,
            space,
            torch.stack(rows),
            lambda p, x, K: conv_points(model, aggregation, p, x, K),
            lambda x: conv(x, edge_index),
        )


@pytest.mark.parametrize("model", MODEL)
@pytest.mark.usefixtures("double")
def test_decoder_and_activation(model: str) -> None:
    space = make_space(model, K0)
    a = torch.tensor([0.375, -0.5])
    x = torch.stack([0 * a, 0 * a, a, a, -a])
    pairs = torch.tensor([[0, 1, 2, 2, 0], [1, 2, 3, 4, 4]])
    decoder = FermiDirac(space, r=2.0, t=0.5)
    d = MODEL[model].dist
    check(
        decoder,
        space,
        x,
        lambda p, x, K: [(2 - d(x[i], x[j], K) ** 2) / mpf(0.5) for i, j in pairs.T.tolist()],
        lambda x: decoder(x, pairs),
    )
    act = Activation("tanh", space)
    oracle_of = MODEL[model]
    check(
        act,
        space,
        x,
        lambda p, x, K: [oracle_of.exp0([mp.tanh(c) for c in oracle_of.log0(row, K)], K) for row in x],
        act,
    )

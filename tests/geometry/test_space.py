"""The spaces: the curvature as state, errors for a bad one, and what torch does to modules and functions."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry import Euclidean, Lorentz, PoincareBall, Space, lorentz, poincare
from hypergraph.sparse import csr_tensor
from tests.geometry.operators import FOR_LAYERS, KINDS, NAMES, arguments, operator

MODELS = [PoincareBall, Lorentz]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("learnable", [False, True])
@pytest.mark.parametrize("K", [-10.0, -2.3, -1.0, -0.1, -1e-3, -1e-6])
def test_the_value_asked_for_is_the_value_got(model: type[Space], learnable: bool, K: float) -> None:
    space = model(K, learnable=learnable)
    assert space.K.shape == ()
    # softplus(raw) moves by as much as raw is rounded: a few units in the last place
    assert space.K.item() == pytest.approx(K, rel=1e-6 if learnable else 1e-7)
    assert model(K, learnable=learnable).double().K.dtype == torch.float64
    assert [p.requires_grad for p in space.parameters()] == [True] * learnable


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("learnable", [False, True])
def test_the_curvature_is_state(model: type[Space], learnable: bool) -> None:
    space = model(-0.37, learnable=learnable)
    assert len(space.state_dict()) == 1
    other = model(-5.0, learnable=learnable)
    other.load_state_dict(space.state_dict())
    copies = [
        other,
        copy.deepcopy(space),
        pickle.loads(pickle.dumps(space)),
        copy.deepcopy(space).to(torch.float64),
    ]
    for twin in copies:
        assert twin.K.item() == pytest.approx(space.K.item(), rel=1e-7)
        assert str(twin) == f"{model.__name__}(K=-0.37{', learnable' if learnable else ''})"
    assert copies[-1].K.dtype == torch.float64
    # the copies are their own
    with torch.no_grad():
        for state in (*copies[1].parameters(), *copies[1].buffers()):
            state.add_(-1)
    assert copies[1].K.item() != pytest.approx(space.K.item())


def test_a_learnable_curvature_learns() -> None:
    space = Lorentz(-1.0, learnable=True)
    x, y = (space.exp0(torch.tensor(u)).detach() for u in ([0.5, 0.1], [-0.3, 1.0]))
    optimiser = torch.optim.Adam(space.parameters(), lr=0.05)
    for _ in range(20):
        optimiser.zero_grad()
        space.dist(x, y).backward()
        optimiser.step()
    assert space.K.item() != -1.0 and space.K.item() < 0


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "K", [0.0, 1.0, float("nan"), float("-inf"), "one", None, [1.0, 2.0], torch.tensor([-1.0, -2.0]), -0.0]
)
def test_a_bad_curvature_is_refused(model: type[Space], K: Any) -> None:
    with pytest.raises(InputError, match="curvature K must be a"):
        model(K)


@pytest.mark.parametrize("space", [PoincareBall(-0.5), Lorentz(-2.3), Euclidean()], ids=str)
def test_interface(space: Space) -> None:
    n = 4
    origin = space.origin(n)
    assert origin.shape == (space.ambient(n),) and space.contains(origin)
    assert (space.dist0(origin) == 0) and (space.log0(origin) == 0).all()
    x, y = space.exp0(torch.randn(2, 6, n, generator=torch.Generator().manual_seed(0)))
    v = nn.functional.normalize(torch.randn(3, n, generator=torch.Generator().manual_seed(1)), dim=-1)
    assert space.busemann(x, v).shape == (6, 3)
    assert space.busemann(x.reshape(2, 3, -1), v).shape == (2, 3, 3)
    assert space.dist(x[:, None], y[None]).shape == (6, 6)
    assert space.gyro_add(x[:, None], y[None]).shape == (6, 6, space.ambient(n))
    assert space.log(x[:, None], y).shape == (6, 6, space.ambient(n))
    assert space.dist_horosphere(x, v, 0.3).shape == (6, 3)
    assert space.dist_hyperplane(x, y, space.log(y, x)).shape == (6,)
    assert space.centroid(x, torch.rand(6)).shape == space.frechet_mean(x).shape == (space.ambient(n),)
    assert (space.K < 0) == (space.model != "euclidean")
    if space.model != "euclidean":
        other = (Lorentz if space.model == "poincare" else PoincareBall)(space.K.item())
        there, back = (
            ("to_lorentz", "to_poincare") if space.model == "poincare" else ("to_poincare", "to_lorentz")
        )
        moved = getattr(space, there)(x)
        assert other.contains(moved).all()
        torch.testing.assert_close(getattr(other, back)(moved), x)
        assert getattr(space, back)(x) is x


@pytest.mark.parametrize(
    "space", [PoincareBall(-0.5, learnable=True), Lorentz(-2.3, learnable=True), Euclidean()], ids=str
)
@pytest.mark.parametrize("clip", [None, 0.7])
def test_sparse_features_are_lifted_as_dense_ones(space: Space, clip: float | None) -> None:
    dense = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    dense[dense.abs() < 0.8] = 0
    dense[2] = 0
    rows = [row.nonzero().flatten() for row in dense]
    crow = torch.tensor([0, *(len(r) for r in rows)]).cumsum(0)
    csr = csr_tensor(crow, torch.cat(rows), dense[dense != 0], (5, 7))
    lifted = space.lift(csr, clip)
    torch.testing.assert_close(lifted, space.lift(dense, clip))
    if not space.flat:
        by_sparse, by_dense = (
            torch.autograd.grad(points.sum(), list(space.parameters()))
            for points in (lifted, space.lift(dense, clip))
        )
        torch.testing.assert_close(by_sparse, by_dense)


@pytest.mark.parametrize(("model", "name"), NAMES)
def test_autocast_keeps_single_precision(model: str, name: str) -> None:
    args = [a.float() for a in arguments(model, name, -0.5)]
    want = operator(model, name)(*args, K=-0.5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = operator(model, name)(*args, K=-0.5)
    assert got.dtype == torch.float32
    torch.testing.assert_close(got, want, rtol=0, atol=0)


@pytest.mark.parametrize("space", [PoincareBall(-0.5), Lorentz(-0.5)], ids=str)
def test_half_precision_features_are_raised(space: Space) -> None:
    features = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
    layer = nn.Linear(8, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        u = layer(features)
        x = space.lift(u)
    assert u.dtype == torch.bfloat16 and x.dtype == torch.float32
    assert space.contains(x).all()


@pytest.mark.parametrize("ops", [poincare, lorentz], ids=["poincare", "lorentz"])
def test_arguments_by_keyword(ops: ModuleType) -> None:
    u = torch.tensor([0.3, -0.4], dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = ops.exp0(u=u, K=-0.5)
    torch.testing.assert_close(x, ops.exp0(u.float(), K=torch.tensor(-0.5)), rtol=0, atol=0)
    torch.testing.assert_close(ops.dist(y=x, x=ops.exp0(-u, K=-0.5), K=-0.5), 2 * ops.dist0(x, K=-0.5))
    with pytest.raises(TypeError, match="'K'"):
        ops.exp0(u)


@pytest.mark.parametrize(("model", "name"), NAMES)
def test_pullback(model: str, name: str) -> None:
    """The gradients of torch.func are those of autograd, and can be differentiated after it is left."""
    args = [a.requires_grad_() for a in arguments(model, name, -0.5)]

    def function(*args: Tensor) -> Tensor:
        return operator(model, name)(*args, K=-0.5)

    out, pullback = torch.func.vjp(function, *args)
    weights = torch.linspace(0.5, 1, out.numel(), dtype=out.dtype).view_as(out)
    expected = torch.autograd.grad(
        function(*args), args, weights, create_graph=True, materialize_grads=True, allow_unused=True
    )
    got = pullback(weights)
    torch.testing.assert_close(list(got), list(expected))
    if any(g.requires_grad for g in expected):
        twice = [
            torch.autograd.grad(
                sum(g.square().sum() for g in grads), args, materialize_grads=True, allow_unused=True
            )
            for grads in (got, expected)
        ]
        torch.testing.assert_close(*twice)


@pytest.mark.parametrize(("model", "name"), NAMES)
def test_vmap(model: str, name: str) -> None:
    function = operator(model, name)
    args = arguments(model, name, -0.5)
    shared = {"busemann": (0, None), "dist_horosphere": (0, None, None)}.get(name, (0,) * len(args))
    torch.testing.assert_close(
        torch.func.vmap(lambda *a: function(*a, K=-0.5), in_dims=shared)(*args), function(*args, K=-0.5)
    )

    def total(x: Tensor, *rest: Tensor) -> Tensor:
        return function(x, *rest, K=-0.5).sum()

    one_by_one = torch.func.vmap(torch.func.grad(total), in_dims=shared)(*args)
    torch.testing.assert_close(one_by_one, torch.func.grad(total)(*args))


@pytest.mark.slow
@pytest.mark.parametrize(("model", "name"), NAMES)
def test_compile(model: str, name: str) -> None:
    torch._dynamo.reset()
    function = operator(model, name)
    K = torch.tensor(-0.5, dtype=torch.float64, requires_grad=True)
    args = [a.requires_grad_() for a in arguments(model, name, -0.5)]
    compiled = torch.compile(lambda *a: function(*a[:-1], K=a[-1]), fullgraph=True)
    results = []
    for out in (compiled(*args, K), function(*args, K=K)):
        grads = torch.autograd.grad(out.square().sum(), [*args, K], materialize_grads=True)
        results.append((out.detach(), *grads))
    torch.testing.assert_close(*results)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_compile_through_a_space_under_autocast(model: type[Space]) -> None:
    torch._dynamo.reset()
    space = model(-0.5, learnable=True)
    v = nn.functional.normalize(torch.randn(3, 4), dim=-1)

    def head(u: Tensor) -> Tensor:
        return space.busemann(space.lift(u, clip=1.0), v)

    u = torch.randn(6, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(torch.compile(head, fullgraph=True)(u), head(u))


def test_every_operator_is_tried() -> None:
    """A new operator of the Space has to join the tables of the tests."""
    other = {"contains", "origin", "ambient", "lift", "to_poincare", "to_lorentz", "train"}
    methods = {m for m in vars(Space) if not m.startswith("_") and callable(getattr(Space, m))} - other
    assert methods == set(KINDS) | set(FOR_LAYERS)


@pytest.mark.parametrize(("model", "name"), NAMES)
def test_one_argument_stands_for_many(model: str, name: str) -> None:
    """One point or vector beside many others: as if it were repeated."""
    args, function = arguments(model, name, -0.5), operator(model, name)
    for i, kind in enumerate(KINDS.get(name, "p")):
        if kind in "vput":
            one, many = list(args), list(args)
            one[i], many[i] = args[i][0], args[i][:1].expand_as(args[i])
            expected = function(*many, K=-0.5)
            torch.testing.assert_close(function(*one, K=-0.5).expand_as(expected), expected)

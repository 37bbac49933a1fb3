"""The curvature asked for is the one that is used, whatever a model is converted to."""

from __future__ import annotations

import copy
from types import ModuleType

import pytest
import torch

from hypergraph import Lorentz, PoincareBall
from hypergraph.geometry import lorentz, poincare
from hypergraph.nn import BMLR


@pytest.mark.parametrize("learnable", [False, True])
@pytest.mark.parametrize("cls", [PoincareBall, Lorentz])
def test_double_keeps_the_number_asked_for(cls: type, learnable: bool) -> None:
    space = cls(K=-0.3, learnable=learnable)
    for converted in (
        copy.deepcopy(space).double(),
        copy.deepcopy(space).double().float().double(),
        BMLR(2, 3, copy.deepcopy(space)).double().space,
        copy.deepcopy(space).half().double(),
    ):
        assert converted.K.dtype == torch.float64
        assert converted.K.item() == pytest.approx(-0.3, rel=1e-15)


@pytest.mark.parametrize("learnable", [False, True])
def test_half_precision_does_not_round_the_curvature(learnable: bool) -> None:
    space = PoincareBall(K=-0.3, learnable=learnable).half()
    assert space.K.dtype == torch.float32
    assert space.K.item() == pytest.approx(-0.3, rel=1e-6)


def test_a_number_that_was_learned_or_loaded_stays() -> None:
    space = PoincareBall(K=-0.3, learnable=True)
    with torch.no_grad():
        space.curvature.raw.add_(0.5)
    learned = space.K.item()
    assert space.double().K.item() == pytest.approx(learned, rel=1e-6)
    fixed = PoincareBall(K=-0.3)
    fixed.load_state_dict(PoincareBall(K=-0.7).state_dict())
    assert fixed.double().K.item() == pytest.approx(-0.7, rel=1e-6)


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("ops", [poincare, lorentz], ids=["poincare", "lorentz"])
def test_a_curvature_for_each_point(ops: ModuleType, learns: bool) -> None:
    K = torch.tensor([[-1.0], [-0.5]], dtype=torch.float64, requires_grad=learns)
    u = torch.tensor([[0.3, -0.2, 0.5], [-0.1, 0.4, 0.2]], dtype=torch.float64)
    x, y = ops.exp0(u, K=K), ops.exp0(u.flip(0) / 2, K=K)
    v = ops.log(x, y, K=K)
    cases = {"exp0": [u], "log0": [x], "dist0": [x], "dist": [x, y], "log": [x, y], "exp": [x, v]}
    cases |= {"gyro_add": [x, y], "project": [x], "transport": [x, y, v], "inner": [x, v, v]}
    cases |= {"gyration": [x, y, x], "dist_hyperplane": [y, x, v]}
    for name, points in cases.items():
        function = getattr(ops, name)
        one_by_one = [function(*(a[i] for a in points), K=K[i, 0]) for i in range(2)]
        torch.testing.assert_close(function(*points, K=K), torch.stack(one_by_one), msg=name)
    assert ops.contains(x, K=K, slack=0.1).tolist() == [True, True]
    groups = torch.stack([x, x])  # two sets of two points, a curvature each
    for name in ("centroid", "frechet_mean"):
        function = getattr(ops, name)
        means = torch.stack([function(x, K=K[i, 0]) for i in range(2)])
        torch.testing.assert_close(function(groups, K=K.unsqueeze(-1)), means, msg=name)


@pytest.mark.parametrize("ops", [poincare, lorentz], ids=["poincare", "lorentz"])
def test_horospheres_with_a_curvature_for_each_point(ops: ModuleType) -> None:
    K = torch.tensor([[-1.0], [-0.5], [-2.0], [-0.3]], dtype=torch.float64)
    x, v = (torch.randn(n, 3, dtype=torch.float64).requires_grad_() for n in (4, 5))

    def gradients(values: torch.Tensor) -> list[torch.Tensor]:
        return list(torch.autograd.grad(values.square().sum(), [x, v]))

    whole = ops.busemann(ops.exp0(x, K=K), v, K=K)
    single = torch.stack([ops.busemann(ops.exp0(x[i], K=K[i, 0]), v, K=K[i, 0]) for i in range(4)])
    torch.testing.assert_close(whole, single)
    torch.testing.assert_close(gradients(whole), gradients(single))

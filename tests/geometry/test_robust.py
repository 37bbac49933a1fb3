"""Nothing returns NaN or infinity for any finite input, in range or far out of it, on the model or off."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hypergraph.geometry.numerics import clip, distance_limit, radius_limit
from tests.geometry.operators import KINDS, MODELS, NAMES, operator
from tests.ways import WAYS, way

N, BATCH = 3, 4
# ordinary numbers, and any finite number of the dtype
numbers = {
    torch.float32: st.one_of(
        st.floats(-3, 3, width=32), st.floats(allow_nan=False, allow_infinity=False, width=32)
    ),
    torch.float64: st.one_of(st.floats(-3, 3), st.floats(allow_nan=False, allow_infinity=False)),
}
curvatures = st.sampled_from([-10.0, -2.3, -1.0, -0.1, -1e-3])
dtypes = st.sampled_from([torch.float32, torch.float64])


@pytest.mark.parametrize(("model", "name"), NAMES)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(data=st.data(), K=curvatures, dtype=dtypes)
def test_always_finite(model: str, name: str, data: st.DataObject, K: float, dtype: torch.dtype) -> None:
    ambient = N if model == "poincare" else N + 1
    shapes = {"v": (BATCH, N), "p": (BATCH, ambient), "u": (BATCH, ambient), "m": (2, BATCH, ambient)}
    args = []
    for kind in KINDS.get(name, "p"):
        if kind == "b":
            args.append(
                torch.nn.functional.normalize(
                    torch.tensor([[1, 0, 0], [1.0, 2.0, -2.0]], dtype=dtype), dim=-1
                )
            )
            continue
        shape = shapes.get(kind, (2,) if name == "dist_horosphere" else (BATCH,))
        kind_of_float = np.float32 if dtype == torch.float32 else np.float64
        values = data.draw(arrays(kind_of_float, shape, elements=numbers[dtype], fill=st.nothing()))
        args.append(torch.from_numpy(values))
    modest = all(a.abs().max() <= 1e9 for a in args)
    args = [a.requires_grad_() for a in args]
    for which in WAYS:
        with way(which):
            out = operator(model, name)(*args, K=K)
            assert out.dtype == dtype
            assert out.isfinite().all()
            if modest:
                for grad in torch.autograd.grad(out.sum(), args, allow_unused=True):
                    assert grad is None or grad.isfinite().all()
    if name in ("exp0", "exp", "gyro_add", "gyro_scale", "project", "centroid"):
        assert MODELS[model].contains(out.detach(), K=K).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("K", [-10.0, -1.0, -1e-3])
def test_clipping_is_at_the_limit(dtype: torch.dtype, K: float) -> None:
    s = math.sqrt(-K)
    v = torch.tensor([0.6, -0.8], dtype=dtype)
    limit = distance_limit(dtype)
    assert limit == pytest.approx(2 * math.atanh(radius_limit(dtype)))
    for model, module in MODELS.items():
        for far in (module.exp0(1e3 / s * v, K=K), module.gyro_scale(9.0, module.exp0(v * 5 / s, K=K), K=K)):
            assert module.contains(far, K=K)
            # within what the last digits of 1 - s|x| can tell
            assert s * module.dist0(far, K=K).item() == pytest.approx(limit, rel=0.01)
        outside = 7 / s * v if model == "poincare" else torch.cat([torch.ones(1, dtype=dtype), 1e15 / s * v])
        assert s * module.dist0(module.project(outside, K=K), K=K).item() == pytest.approx(limit, rel=0.01)
        assert not module.contains(outside, K=K)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_projection_leaves_points_alone(model: str, dtype: torch.dtype) -> None:
    module, K = MODELS[model], -0.5
    u = torch.randn(50, 5, generator=torch.Generator().manual_seed(0)).to(dtype)
    x = module.exp0(u, K=K)
    torch.testing.assert_close(module.project(x, K=K), x, rtol=4 * torch.finfo(dtype).eps, atol=0)
    assert module.contains(x, K=K).all()
    assert not module.contains(torch.full_like(x, math.nan), K=K).any()


def test_clip_of_zero_and_of_huge_rows() -> None:
    u = torch.tensor([[0.0, 0.0], [1e30, 1e30], [1e-30, 0.0]], requires_grad=True)
    out = clip(u, 2.0)
    out.sum().backward()
    assert out.isfinite().all() and u.grad is not None and u.grad.isfinite().all()
    assert (out.norm(dim=-1) <= 2 + 1e-6).all()

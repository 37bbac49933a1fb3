"""A NaN that goes in comes out, in its own row and no other; vectors of any size that stand for a direction
give finite values; half precision is looked at as any other."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from hypergraph import Euclidean, Lorentz, PoincareBall
from hypergraph.geometry.space import Space
from tests.geometry.operators import KINDS, arguments

SPACES = {"poincare": PoincareBall, "lorentz": Lorentz, "euclidean": Euclidean}
# what a formula does not contain: the base point of a product that is the same everywhere
UNUSED = {
    ("lorentz", "inner"): [0],
    ("euclidean", "inner"): [0],
    ("euclidean", "transport"): [0, 1],
    ("euclidean", "gyration"): [0, 1],
}


def make(model: str, dtype: torch.dtype = torch.float64) -> Space:
    return (SPACES[model]() if model == "euclidean" else SPACES[model](K=-0.5)).to(dtype)


def given(model: str, name: str) -> list[Tensor]:
    return arguments("poincare" if model == "euclidean" else model, name, -0.5)


@pytest.mark.parametrize("name", [*KINDS, "to_poincare", "to_lorentz"])
@pytest.mark.parametrize("model", SPACES)
def test_nan_in_nan_out(model: str, name: str) -> None:
    space = make(model)
    if name in ("to_poincare", "to_lorentz") and model == "euclidean":
        pytest.skip("flat space has no isometry to another model")
    for i, kind in enumerate(KINDS.get(name, "p")):
        if i in UNUSED.get((model, name), []):
            continue
        columns = given(model, name)[i].flatten(1).size(1) if given(model, name)[i].dim() > 1 else 1
        for column in range(columns):
            args = given(model, name)
            args[i].reshape(len(args[i]), -1)[1, column] = math.nan
            out = getattr(space, name)(*args)
            # ideal points and offsets of horospheres are columns of the result
            out = out.T if kind in "bt" and name in ("busemann", "dist_horosphere") else out
            touched = out.reshape(len(out), -1).isnan().any(-1)
            assert touched.tolist() == [row == 1 for row in range(len(out))], (i, column)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("model", SPACES)
def test_only_the_direction_of_a_direction_counts(model: str, dtype: torch.dtype) -> None:
    """v and a of denormal length, or of one whose square overflows, give what a unit vector gives."""
    space = make(model, dtype)
    info = torch.finfo(dtype)
    x, p, a = (t.to(dtype) for t in given(model, "dist_hyperplane"))
    if model == "lorentz":  # a tangent vector follows from its spatial part
        a = a[..., 1:]
    unit = torch.nn.functional.normalize(torch.randn(3, 3, generator=torch.Generator().manual_seed(0))).to(
        dtype
    )
    for size in (info.tiny / 64, info.tiny, 1e-10, 1e10, math.sqrt(info.max) * 4, info.max / 4):
        v = unit * size
        tolerance = 0.05 if size < info.tiny else 1e-4 if dtype == torch.float32 else 1e-9
        for name, rest in (("busemann", ()), ("dist_horosphere", (0.3,))):
            want, got = (getattr(space, name)(x, w, *rest) for w in (unit, v))
            torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)
        normals = [a / a.norm(dim=-1, keepdim=True), a / a.abs().amax() * size]
        if model == "lorentz":
            normals = [torch.cat([torch.zeros_like(n[..., :1]), n], -1) for n in normals]
        want, got = (space.dist_hyperplane(x, p, n) for n in normals)
        torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)
    for zero in (torch.zeros_like(unit), torch.full_like(unit, info.smallest_normal / 2**20)):
        assert space.busemann(x, zero).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("model", SPACES)
def test_half_precision_is_on_the_model(model: str, dtype: torch.dtype) -> None:
    space = make(model, torch.float32)
    u = torch.randn(20, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    x = space.exp0(u / 4).to(dtype)
    assert space.contains(x).all()
    assert not space.contains(torch.full_like(x, math.nan)).any()
    if model != "euclidean":
        assert not space.contains(torch.full_like(x, 3.0)).any()
    torch.testing.assert_close(space.lift(u, clip=1.0), space.lift(u.float(), clip=1.0))

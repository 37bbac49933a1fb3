"""Every operator of the package as a function of free arguments, and arguments to call it with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry import Lorentz, PoincareBall
from hypergraph.geometry.numerics import clip


class At:
    """The operators of a space, which is what runs, as functions of the curvature too: any number or tensor,
    such as one to differentiate by."""

    def __init__(self, cls: Any) -> None:
        self.cls = type(cls.__name__, (cls,), {"K": property(lambda space: space.given)})

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def run(*args: Any, K: Any, **kwargs: Any) -> Any:
            space = self.cls()
            object.__setattr__(space, "given", K)
            return getattr(space, name)(*args, **kwargs)

        return run


MODELS = {"poincare": At(PoincareBall), "lorentz": At(Lorentz)}
CURVATURES = [-2.3, -1.0, -0.5, -0.1]
# Kinds of arguments: v tangent at 0, p point, u tangent at a point, b ideal points, t scalars, m many points.
KINDS = {
    "exp0": "v",
    "log0": "p",
    "exp": "pu",
    "log": "pp",
    "dist": "pp",
    "dist0": "p",
    "transport": "ppu",
    "inner": "puu",
    "gyro_add": "pp",
    "gyro_neg": "p",
    "gyro_scale": "tp",
    "gyration": "ppp",
    "busemann": "pb",
    "dist_horosphere": "pbt",
    "dist_hyperplane": "ppu",
    "project": "p",
    "centroid": "m",
    "frechet_mean": "m",
}
# What a Space has for layers besides; tests/geometry/test_kernels.py tries these.
FOR_LAYERS = (
    "horospheres",
    "hyperplanes",
    "hyperplanes_through",
    "pseudo_busemann",
    "linear_forms",
    "shift0",
    "from_distances0",
    "bound0",
    "summand",
    "log0_of_sum",
)
NAMES = [(model, name) for model in MODELS for name in [*KINDS, "convert"]]


def operator(model: str, name: str) -> Callable[..., Tensor]:
    """The function; `convert` is the isometry to the other model, and the Fréchet mean takes few steps."""
    if name == "convert":
        name = "to_lorentz" if model == "poincare" else "to_poincare"
    function = getattr(MODELS[model], name)
    if name == "frechet_mean":
        return lambda x, K: function(x, K=K, max_iter=4)
    return lambda *args, K: function(*args, K=K)


def unit(x: Tensor) -> Tensor:
    return torch.nn.functional.normalize(x, dim=-1)


def tangent(model: str, x: Tensor, u: Tensor, K: float) -> Tensor:
    """The plain vector u at the origin, carried to x: of the same length there."""
    if model == "poincare":
        return u * (1 + K * x.square().sum(-1, keepdim=True))
    space, time = x[..., 1:], x[..., :1]
    along = (space * u).sum(-1, keepdim=True)
    s = (-K) ** 0.5
    return torch.cat([s * along, u + along * s * s / (1 + s * time) * space], -1)


def arguments(
    model: str, name: str, K: float, n: int = 3, batch: int = 4, size: float = 1.0, seed: int = 0
) -> list[Tensor]:
    """Random float64 arguments; `size` scales the distances from the origin."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    module, scale = MODELS[model], size / (-K) ** 0.5 / n**0.5
    out: list[Tensor] = []
    for kind in KINDS.get(name, "p"):
        if kind == "v":
            out.append(normal(batch, n) * scale)
        elif kind == "p":
            out.append(module.exp0(normal(batch, n) * scale / 2, K=K))
        elif kind == "m":
            out.append(module.exp0(normal(batch, 5, n) * scale / 2, K=K))
        elif kind == "u":
            at = out[1] if name == "dist_hyperplane" else out[0]
            out.append(tangent(model, at, normal(batch, n) * scale, K))
        elif kind == "b":
            out.append(unit(normal(2, n)))
        else:
            out.append(normal(2 if name == "dist_horosphere" else batch))
    return out


__all__ = [
    "CURVATURES",
    "FOR_LAYERS",
    "KINDS",
    "MODELS",
    "NAMES",
    "arguments",
    "clip",
    "operator",
    "tangent",
    "unit",
]

"""What heads and layers share: points checked on entry, unit rows, signed distances to hyperplanes."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry import lorentz
from hypergraph.geometry.numerics import clip, distance_limit, sq_norm
from hypergraph.geometry.space import Space


def check_points(x: Tensor, space: Space, n: int, layer: nn.Module) -> Tensor:
    """x, in single precision at least; an error where its last dimension is not that of the space."""
    if x.size(-1) != space.ambient(n):
        raise InputError(
            f"{layer} takes points of the {space.model} model with {space.ambient(n)} coordinates, got "
            f"{x.size(-1)} in the last dimension; lift features with space.lift(x) and check in_channels."
        )
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def product(x: Tensor, weight: Tensor) -> Tensor:
    """``x @ weight.T`` in the dtype of the weight: autocast may lower the product, not what follows."""
    return (x @ weight.mT).to(weight.dtype)


def unit(z: Tensor) -> Tensor:
    """The rows of z over their norms; a row of zeros stays, with a finite gradient."""
    q = sq_norm(z)
    return torch.where(q > 0, q, 1.0).rsqrt() * z


def softplus_inverse(y: Tensor) -> Tensor:
    """The argument at which softplus is y > 0, with neither end overflowing."""
    return y + torch.log(-torch.expm1(-y))


def hyperplane_distances(x: Tensor, v: Tensor, offset: Tensor, space: Space) -> Tensor:
    r"""Signed distances, times :math:`s`, to the hyperplanes with unit normal :math:`v_k` at ``offset`` / s.

    With :math:`(x_t, x_s)` the point of the Lorentz model and :math:`o_k` the offset,
    :math:`\sinh^{-1}(s(\cosh(o_k)\langle x_s, v_k\rangle - \sinh(o_k) x_t))`.

    Shapes: x points ``(..., ambient)``, v ``(C, n)``, offset ``(C,)``, result ``(..., C)``.
    """
    limit = distance_limit(v.dtype)
    offset = offset.clamp(-limit, limit)
    x = space.to_lorentz(x)
    s = (-space.K) ** 0.5
    return torch.asinh(s * (offset.cosh() * product(x[..., 1:], v) - offset.sinh() * x[..., :1]))


def point_from_distances(u: Tensor, space: Space) -> Tensor:
    r"""The point whose signed distances to the coordinate hyperplanes are :math:`u_k`.

    :math:`y_s = \sinh(s u)/s` on the Lorentz model, its image on the ball, u itself in flat space.
    """
    if space.model == "euclidean":
        return u
    s = (-space.K) ** 0.5
    limit = distance_limit(u.dtype)
    omega = clip((s * u).clamp(-limit, limit).sinh(), math.sinh(limit)) / s
    y = lorentz.from_space(omega, K=space.K)
    return y if space.model == "lorentz" else lorentz.to_poincare(y, K=space.K)

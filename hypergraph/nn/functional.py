"""What heads and layers share: points checked on entry, unit rows, signed distances to hyperplanes."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry.fused import nonzero, products, tail
from hypergraph.geometry.numerics import distance_limit, shrink
from hypergraph.geometry.rows import sq_norm
from hypergraph.geometry.space import Space
from hypergraph.nn import radial
from hypergraph.nn.radial import Lifted


def check_points(x: Tensor | Lifted, space: Space, n: int, layer: nn.Module) -> Any:
    """x, in single precision at least; an error where its last dimension is not that of the space."""
    if x.size(-1) != space.ambient(n):
        raise InputError(
            f"{layer} takes points of the {space.model} model with {space.ambient(n)} coordinates, got "
            f"{x.size(-1)} in the last dimension; lift features with space.lift(x) and check in_channels."
        )
    return x.float() if isinstance(x, Tensor) and x.dtype in (torch.float16, torch.bfloat16) else x


def product(x: Tensor | Lifted, weight: Tensor) -> Tensor:
    """``x @ weight.T`` in the dtype of the weight: autocast may lower the product, not what follows."""
    if isinstance(x, Lifted):
        return x.product(weight)
    return (x @ weight.mT).to(weight.dtype)


def unit(z: Tensor) -> Tensor:
    """The rows of z over their norms; a row of zeros stays, with a finite gradient."""
    return z / nonzero(torch.linalg.vector_norm(z, dim=-1, keepdim=True))


def softplus_inverse(y: Tensor) -> Tensor:
    """The argument at which softplus is y > 0, with neither end overflowing."""
    return y + torch.log(-torch.expm1(-y))


def horosphere_distances(
    x: Tensor | Lifted, weight: Tensor, offset: Tensor, scale: Tensor, space: Space
) -> Tensor:
    r"""Signed distances, scaled, to horospheres: :math:`-\alpha_k B^{v_k}(x) + b_k`, with :math:`v_k` the
    direction of a row of ``weight``.

    Shapes: x points ``(..., ambient)``, weight ``(C, n)``, offset and scale ``(C,)``, result ``(..., C)``.
    """
    if isinstance(x, Lifted):
        return torch.addcmul(offset, x.busemann(unit(weight)), scale, value=-1)
    return radial.busemann(x, weight, space, scale=-scale, offset=offset)


def hyperplane_distances(
    x: Tensor | Lifted, weight: Tensor, offset: Tensor, scale: Tensor | None, space: Space
) -> Tensor:
    r"""Signed distances, scaled, to the hyperplanes with normals :math:`z_k` at distances :math:`b_k`.

    With :math:`(x_t, x_s)` the point of the Lorentz model and :math:`v_k = z_k / \lVert z_k\rVert`,
    :math:`c_k \sinh^{-1}(s(\cosh(s b_k)\langle x_s, v_k\rangle - \sinh(s b_k) x_t)) / s`. Without a scale
    :math:`c_k = \lVert z_k\rVert`.

    Shapes: x points ``(..., ambient)``, weight ``(C, n)``, offset and scale ``(C,)``, result ``(..., C)``.
    """
    s = (-space.K) ** 0.5
    limit = distance_limit(weight.dtype)
    offset = (s * offset).clamp(-limit, limit)
    cosh, sinh = s * offset.cosh(), -s * offset.sinh()
    if isinstance(x, Lifted):
        norms = torch.linalg.vector_norm(weight, dim=-1)
        normal = torch.cat([sinh.unsqueeze(-1), (cosh / nonzero(norms)).unsqueeze(-1) * weight], -1)
        return (norms if scale is None else scale) / s * x.product(normal).asinh()
    x = space.project(x) if space.model == "lorentz" else space.to_lorentz(x)  # either bounds the point
    inner, norms = products(x[..., 1:], weight)
    scale = (norms if scale is None else scale) / s
    return tail("asinh", inner, x[..., :1], cosh / nonzero(norms), sinh, scale=scale)


def point_from_distances(u: Tensor, space: Space) -> Tensor:
    r"""The point whose signed distances to the coordinate hyperplanes are :math:`u_k`.

    :math:`y_s = \sinh(s u)/s` on the Lorentz model, its image on the ball, u itself in flat space.
    """
    if space.model == "euclidean":
        return u
    s = (-space.K) ** 0.5
    limit = distance_limit(u.dtype)
    omega = (s * u).clamp(-limit, limit).sinh()
    # row scalars: omega is brought to the norm of the farthest point, and c is the cosh of what is left
    square, top = sq_norm(omega), math.sinh(limit)
    scale = shrink(square, top) / s
    c = (1 + square.clamp_max(top * top)).sqrt()
    if space.model == "poincare":
        return scale / (1 + c) * omega
    return torch.cat([c / s, scale * omega], -1)

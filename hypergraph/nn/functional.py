"""What heads and layers share: points checked on entry, unit rows, signed distances to hyperplanes."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry import lorentz
from hypergraph.geometry.numerics import clip, distance_limit, sq_norm
from hypergraph.geometry.space import Space
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
    q = sq_norm(z)
    return torch.where(q > 0, q, 1.0).rsqrt() * z


def softplus_inverse(y: Tensor) -> Tensor:
    """The argument at which softplus is y > 0, with neither end overflowing."""
    return y + torch.log(-torch.expm1(-y))


class _Asinh(torch.autograd.Function):
    """asinh by log1p: torch.asinh is not vectorised, and took three times as long as the matrix product."""

    generate_vmap_rule = True

    @staticmethod
    def forward(y: Tensor) -> Tensor:
        a = y.abs()
        q = a * a
        q /= (q + 1).sqrt_().add_(1)
        return a.add_(q).log1p_().copysign_(y)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return grad * (1 + y * y).rsqrt()

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        return _Asinh.backward(ctx, tangent)


def asinh(y: Tensor) -> Tensor:
    r""":math:`\sinh^{-1}(y)`, differentiable any number of times."""
    return _Asinh.apply(y)


_SERIES_BELOW = 1e-3


def _slope(q: Any) -> Any:
    """The derivative of h coth h by q = sinh(h)^2, as a series."""
    value = -512 / 3003
    for coefficient in (128 / 693, -64 / 315, 8 / 35, -4 / 15, 1 / 3):
        value = value * q + coefficient
    return value


class _HCothH(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(q: Tensor) -> Tensor:
        # a root of 0 would give 0/0; the smallest number leaves the right limit, 1
        q = q.clamp_min(torch.finfo(q.dtype).tiny)
        root = (1 + q).sqrt_()
        r = q.sqrt()
        h = (q / (1 + root)).add_(r).log1p_()
        return h.mul_(root).div_(r)

    setup_context = _Asinh.setup_context

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (q,) = ctx.saved_tensors
        # The closed form above the bound plus the series below it, each constant on the other side:
        # a choice by torch.where over batch x classes costs as much as ten other passes.
        near, far = q.clamp_max(_SERIES_BELOW), q.clamp_min(_SERIES_BELOW)
        root = (1 + far).sqrt()
        h = torch.log1p(far.sqrt() + far / (1 + root))
        closed = (1 - h / (far.sqrt() * root)) / (2 * far)
        return grad * (closed + (_slope(near) - _slope(_SERIES_BELOW)))

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        return _HCothH.backward(ctx, tangent)


def hcothh(q: Tensor) -> Tensor:
    r""":math:`h\coth h` at :math:`q = \sinh^2 h \ge 0`, smooth at 0."""
    return _HCothH.apply(q)


def busemann(x: Tensor | Lifted, v: Tensor, space: Space) -> Tensor:
    """``space.busemann(x, v)``, also for sparse features that were lifted."""
    return x.busemann(v) if isinstance(x, Lifted) else space.busemann(x, v)


def hyperplane_distances(x: Tensor | Lifted, weight: Tensor, offset: Tensor, space: Space) -> Tensor:
    r"""Signed distances, times s, to the hyperplanes with normals :math:`z_k` at distances :math:`o_k/s`.

    With :math:`(x_t, x_s)` the point of the Lorentz model and :math:`v_k = z_k / \lVert z_k\rVert`,
    :math:`\sinh^{-1}(s(\cosh(o_k)\langle x_s, v_k\rangle - \sinh(o_k) x_t))`.

    Shapes: x points ``(..., ambient)``, weight ``(C, n)``, offset ``(C,)``, result ``(..., C)``.
    """
    limit = distance_limit(weight.dtype)
    offset = offset.clamp(-limit, limit).unsqueeze(-1)
    s = (-space.K) ** 0.5
    # one product with the whole point, so that no pass over batch x classes is spent on the time
    normal = torch.cat([-s * offset.sinh(), s * offset.cosh() * unit(weight)], -1)
    return asinh(product(x if isinstance(x, Lifted) else space.to_lorentz(x), normal))


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

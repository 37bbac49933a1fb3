"""Sums and products of vectors in the last dimension, which is kept, with a number for each vector."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hypergraph.geometry.kernels import Combine, Dot, Join, SqNorm, with_kernel

Factor = float | Tensor


def overflow(dtype: torch.dtype) -> float:
    """Where a squared norm counts as overflown: products with it are still finite."""
    return 1e16 * math.sqrt(torch.finfo(dtype).max)


@with_kernel(Dot())
def dot(x: Tensor, y: Tensor) -> Tensor:
    """The Euclidean inner product."""
    return (x * y).sum(-1, keepdim=True)


@with_kernel(SqNorm())
def _sq_norm(x: Tensor, overflow: float) -> Tensor:
    return (x * x).sum(-1, keepdim=True).clamp_max(overflow)


def sq_norm(x: Tensor) -> Tensor:
    """The squared Euclidean norm; finite also where it overflows."""
    return _sq_norm(x, overflow(x.dtype))


@with_kernel(Combine())
def _combine(x: Tensor, a: Tensor, y: Tensor | None, b: Tensor | None, z: Tensor | None) -> Tensor:
    out = a * x if z is None else torch.addcmul(z, a, x)
    return out if y is None or b is None else torch.addcmul(out, b, y)


def times(a: Factor, x: Tensor) -> Tensor:
    """Vectors x, each times its number: a has a last dimension of 1, or is one number for all."""
    if isinstance(a, Tensor):
        return _combine(x, a, None, None, None)
    return x if a == 1 else a * x


def combine(a: Factor, x: Tensor, b: Factor, y: Tensor, z: Tensor | None = None) -> Tensor:
    """ax + by, or z + ax + by, with numbers a and b for each row: a last dimension of 1; or, without z, with
    one number for all."""
    if not isinstance(a, Tensor):
        if not isinstance(b, Tensor):
            return torch.add(x, y, alpha=b) if a == 1 else torch.add(times(b, y), x, alpha=a)
        return _combine(y, b, None, None, times(a, x))
    if not isinstance(b, Tensor):
        return _combine(x, a, None, None, times(b, y))
    return _combine(x, a, y, b, z)


@with_kernel(Join())
def _join(x: Tensor, a: Tensor, t: Tensor) -> Tensor:
    x = a * x
    return torch.cat([t.expand(*x.shape[:-1], 1), x], -1)


def join(t: Tensor, a: Factor, x: Tensor) -> Tensor:
    """[t, ax]: a coordinate t and vectors x, each times its number, or all times one."""
    if isinstance(a, Tensor):
        return _join(x, a, t)
    x = times(a, x)
    return torch.cat([t.expand(*x.shape[:-1], 1), x], -1)

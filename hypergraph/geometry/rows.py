"""Sums and products of vectors in the last dimension, which is kept, with a number for each vector. Where one
set of vectors is enough, it may be sparse."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import with_kernel
from hypergraph.geometry.kernels.small import SqNorm
from hypergraph.geometry.radial import safe_sqrt
from hypergraph.sparse import SparseRows

Scalar = float | Tensor


def dot(x: Tensor, y: Tensor) -> Tensor:
    """The Euclidean inner product."""
    return (x * y).sum(-1, keepdim=True)


@with_kernel(SqNorm())
def _sq_norm(x: Tensor) -> Tensor:
    return (x * x).sum(-1, keepdim=True)


def sq_norm(x: Any) -> Tensor:
    """The squared Euclidean norm."""
    return x.sq_norm() if isinstance(x, SparseRows) else _sq_norm(x)


def times(a: Scalar, x: Any) -> Any:
    """Vectors x, each times its number: a has a last dimension of 1, or is one number for all."""
    if isinstance(a, float) and a == 1:
        return x
    return x.scaled(a) if isinstance(x, SparseRows) else a * x


def nonzero(x: Tensor) -> Tensor:
    """x, and 1 where it is 0, so that one can divide by it."""
    return x + (x == 0)


def unit(a: Tensor) -> Tensor:
    """a over its norm, and 0 at 0 with gradient 0."""
    # over its largest coordinate first: the square of its norm could over- or underflow
    a = a / nonzero(a.detach().abs().amax(-1, keepdim=True))
    r = safe_sqrt(sq_norm(a))
    return torch.where(r == 0, 0.0, 1 / nonzero(r)) * a

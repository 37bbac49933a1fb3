"""Sums and products of vectors in the last dimension, which is kept, with a number for each vector."""

from __future__ import annotations

from torch import Tensor

from hypergraph.geometry.kernels.dispatch import with_kernel
from hypergraph.geometry.kernels.small import SqNorm


def dot(x: Tensor, y: Tensor) -> Tensor:
    """The Euclidean inner product."""
    return (x * y).sum(-1, keepdim=True)


@with_kernel(SqNorm())
def sq_norm(x: Tensor) -> Tensor:
    """The squared Euclidean norm."""
    return (x * x).sum(-1, keepdim=True)


def times(a: float | Tensor, x: Tensor) -> Tensor:
    """Vectors x, each times its number: a has a last dimension of 1, or is one number for all."""
    return x if isinstance(a, float) and a == 1 else a * x

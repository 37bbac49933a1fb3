"""Sums and products of vectors in the last dimension, which is kept, with a number for each vector. Where one
set of vectors is enough, it may be sparse."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from hypergraph.geometry.kernels.dispatch import with_kernel
from hypergraph.geometry.kernels.small import SqNorm
from hypergraph.sparse import SparseRows


def dot(x: Tensor, y: Tensor) -> Tensor:
    """The Euclidean inner product."""
    return (x * y).sum(-1, keepdim=True)


@with_kernel(SqNorm())
def _sq_norm(x: Tensor) -> Tensor:
    return (x * x).sum(-1, keepdim=True)


def sq_norm(x: Any) -> Tensor:
    """The squared Euclidean norm."""
    return x.sq_norm() if isinstance(x, SparseRows) else _sq_norm(x)


def times(a: float | Tensor, x: Any) -> Any:
    """Vectors x, each times its number: a has a last dimension of 1, or is one number for all."""
    if isinstance(a, float) and a == 1:
        return x
    return x.scaled(a) if isinstance(x, SparseRows) else a * x

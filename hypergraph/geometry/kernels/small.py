"""What the kernels of layers share. At a few thousand rows a map is bound by the number of operations, not by
their size: each costs some microseconds, so these spare torch the conversion of numbers."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Inputs, Kernel

TINY = 1e-30  # is added to squared norms where one divides by them


@functools.lru_cache(maxsize=64)
def constant(size: int, value: float, dtype: torch.dtype) -> Tensor:
    """A kept vector of one value: a product with it takes half the time of a sum over few columns. Of size 1
    it stands for a Python number, which torch would make a tensor of at every call."""
    with torch.inference_mode(False):
        return torch.full((size,), value, dtype=dtype, device="cpu")


def plus(x: Tensor, number: float) -> Tensor:
    """x plus a number that changes from step to step, again with no tensor made of it."""
    return torch.add(x, constant(1, 1.0, x.dtype), alpha=number)


def scaled(x: Tensor, number: float) -> Tensor:
    """x times such a number."""
    return torch.add(constant(1, 0.0, x.dtype), x, alpha=number)


def sq_norms(u: Tensor, factor: float = 1.0, tiny: float = 0.0) -> Tensor:
    """``factor`` times the squared norm of every row, plus ``tiny``: shape ``(rows,)``."""
    weights = constant(u.size(1), factor, u.dtype)
    return torch.addmv(constant(1, tiny, u.dtype), u * u, weights) if tiny else torch.mv(u * u, weights)


def dots(a: Tensor, b: Tensor) -> Tensor:
    """The inner products of the rows."""
    return torch.mv(a * b, constant(a.size(1), 1.0, a.dtype))


class SqNorm(Kernel):
    """:func:`hypergraph.geometry.rows.sq_norm`: its gradient in one pass; torch's own rule takes three."""

    least = 2**15

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[()]]:
        return (x * x).sum(-1, keepdim=True), ()

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        return ((2 * grads[0]) * inputs[0],)

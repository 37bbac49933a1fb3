"""Sums and products of vectors, with a number for each, of many points.

At 100,000 points and 16 dimensions the time goes into fresh memory, not into arithmetic: a tensor costs less
to compute than to page in. So none of these keeps anything but its inputs, and none takes memory for a
product that it only sums, neither forwards nor backwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import Inputs, Kernel

# Numbers in a block of rows: what is computed of it stays in the cache of a core, and its memory is taken
# again.
BLOCK_NUMBERS = 2**18
# Numbers in a tensor above which the definitions, whose gradients torch takes in compiled code, are slower.
LEAST = 2**15


def summed(grad: Tensor, shape: torch.Size) -> Tensor:
    """The gradient of what was broadcast from this shape."""
    return grad if grad.shape == shape else grad.sum_to_size(shape)


def blocks(*vectors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Blocks of rows of tensors with the same leading dimensions; what is written to must be contiguous."""
    columns = max(z.size(-1) for z in vectors)
    size = max(BLOCK_NUMBERS * torch.get_num_threads() // columns, 1)
    return zip(*(z.reshape(-1, z.size(-1)).split(size) for z in vectors))


def block_dot(a: Tensor, b: Tensor, weights: Tensor, out: Tensor, spare: Tensor | None) -> Tensor:
    """The weighted inner products of a block, by way of memory that the next one takes again: it is returned.

    To page in the product takes longer than to compute it, and a sum over few columns twice as long as a
    product with a vector.
    """
    spare = torch.empty_like(a) if spare is None else spare
    torch.mv(torch.mul(a, b, out=spare[: len(a)]), weights, out=out.squeeze(-1))
    return spare


def row_dot(x: Tensor, y: Tensor, weights: Tensor | None = None) -> Tensor:
    """The inner products over the last dimension, with a weight for each coordinate where given."""
    if x.shape != y.shape or x.numel() <= BLOCK_NUMBERS:
        product = x * y
        return product.sum(-1, keepdim=True) if weights is None else product @ weights.unsqueeze(-1)
    weights = x.new_ones(x.size(-1)) if weights is None else weights
    out, spare = x.new_empty(*x.shape[:-1], 1), None
    for a, b, sums in blocks(x, y, out):
        spare = block_dot(a, b, weights, sums, spare)
    return out


class Dot(Kernel):
    """:func:`hypergraph.geometry.rows.dot`."""

    least = LEAST

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, tuple[()]]:
        return row_dot(x, y), ()

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (x, y), (grad,) = inputs, grads
        return (
            summed(grad * y, x.shape) if needed[0] else None,
            summed(grad * x, y.shape) if needed[1] else None,
        )


class Combine(Kernel):
    """:func:`hypergraph.geometry.rows.combine`: z + ax + by, where z, and b with y, may be ``None``."""

    least = LEAST

    def forward(
        self, x: Tensor, a: Tensor, y: Tensor | None, b: Tensor | None, z: Tensor | None
    ) -> tuple[Tensor, tuple[()]]:
        out = a * x if z is None else torch.addcmul(z, a, x)
        if y is None or b is None:
            return out, ()
        in_place = out.shape == y.shape and out.shape[:-1] == b.shape[:-1]
        return (out.addcmul_(b, y) if in_place else torch.addcmul(out, b, y)), ()

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (x, a, y, b, z), (grad,) = inputs, grads
        return (
            summed(a * grad, x.shape) if needed[0] else None,
            summed(row_dot(grad, x), a.shape) if needed[1] else None,
            summed(b * grad, y.shape) if needed[2] else None,
            summed(row_dot(grad, y), b.shape) if needed[3] else None,
            summed(grad, z.shape) if needed[4] else None,
        )


class Join(Kernel):
    """:func:`hypergraph.geometry.rows.join`: [t, ax]."""

    least = LEAST

    def forward(self, x: Tensor, a: Tensor, t: Tensor) -> tuple[Tensor, tuple[()]]:
        shape = torch.broadcast_shapes(t.shape[:-1], a.shape[:-1], x.shape[:-1])
        out = x.new_empty(*shape, x.size(-1) + 1)
        out[..., :1] = t
        torch.mul(a, x, out=out[..., 1:])
        return out, ()

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        (x, a, t), (grad,) = inputs, grads
        rest = grad[..., 1:]
        return (
            summed(a * rest, x.shape) if needed[0] else None,
            summed(row_dot(rest, x), a.shape) if needed[1] else None,
            summed(grad[..., :1], t.shape) if needed[2] else None,
        )


class SqNorm(Kernel):
    """:func:`hypergraph.geometry.rows.sq_norm`, below the number that counts as overflown."""

    least = LEAST

    def forward(self, x: Tensor, overflow: float) -> tuple[Tensor, tuple[()]]:
        return row_dot(x, x).clamp_max_(overflow), ()

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Any:
        return (2 * grads[0]) * inputs[0], None

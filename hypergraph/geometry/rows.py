"""Sums, products and norms of vectors, with a number for each.

At 100,000 points and 16 dimensions the time goes into fresh memory, not into arithmetic: a tensor costs less
to compute than to page in. So none of these keeps anything but its inputs, and none takes memory for a
product that it only sums, neither forwards nor backwards. Each gradient is made of the same functions:
derivatives of any order, vmap and torch.compile work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch._functorch.utils import unwrap_dead_wrappers

Factor = float | Tensor


def transformed(x: Tensor | None = None) -> bool:
    """Whether torch.compile or torch.func looks on, or x has a batch dimension that does not show: then
    nothing may be written to a given place."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return True
    return x is not None and torch._C._functorch.is_legacy_batchedtensor(x)


def at_hand(x: Tensor) -> bool:
    """Whether one may look at the numbers, and write others to a given place: on the CPU, untransformed."""
    return not (x.is_cuda or transformed(x))


def apply(function: Any, *inputs: Any) -> Any:
    """``function.apply(*inputs)`` for a function with a separate ``setup_context``.

    torch looks at its signature each time, which takes longer than several operations on small tensors, and
    needs it for arguments with defaults alone.
    """
    if transformed():
        return function.apply(*inputs)
    inputs = unwrap_dead_wrappers(inputs)  # as torch does: what torch.func.vjp has left
    if not torch.is_grad_enabled():
        return function.forward(*inputs)
    return super(torch.autograd.Function, function).apply(*inputs)


class _Norm(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return torch.linalg.vector_norm(x, dim=-1, keepdim=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, r = ctx.saved_tensors
        return over_norm(grad, r) * x


class _SqNorm(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return row_dot(x, x).clamp_max_(overflow(x.dtype))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return times(2 * grad, x)


class _Dot(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return row_dot(x, y)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, y = ctx.saved_tensors
        by_x, by_y = ctx.needs_input_grad
        return (
            summed(times(grad, y), x.shape) if by_x else None,
            summed(times(grad, x), y.shape) if by_y else None,
        )


class _Times(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a: Tensor, x: Tensor) -> Tensor:
        return a * x

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, x = ctx.saved_tensors
        by_a, by_x = ctx.needs_input_grad
        return (
            summed(dot(grad, x), a.shape) if by_a else None,
            summed(times(a, grad), x.shape) if by_x else None,
        )


class _Combine(torch.autograd.Function):
    @staticmethod
    def forward(a: Tensor, x: Tensor, b: Tensor, y: Tensor, z: Tensor | None) -> Tensor:
        first = a * x if z is None else torch.addcmul(z, a, x)
        in_place = first.shape == y.shape and first.shape[:-1] == b.shape[:-1]
        return first.addcmul_(b, y) if in_place else torch.addcmul(first, b, y)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:4])
        ctx.shape = None if inputs[4] is None else inputs[4].shape

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Tensor, int]:
        return torch.func.vmap(_combine, in_dims)(*inputs), 0

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        a, x, b, y = ctx.saved_tensors
        by = ctx.needs_input_grad
        return (
            summed(dot(grad, x), a.shape) if by[0] else None,
            summed(times(a, grad), x.shape) if by[1] else None,
            summed(dot(grad, y), b.shape) if by[2] else None,
            summed(times(b, grad), y.shape) if by[3] else None,
            summed(grad, ctx.shape) if by[4] else None,
        )


class _Plus(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(z: Tensor, a: Tensor, x: Tensor) -> Tensor:
        return torch.addcmul(z, a, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        z, a, x = inputs
        ctx.save_for_backward(a, x)
        ctx.shape = z.shape

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        a, x = ctx.saved_tensors
        by_z, by_a, by_x = ctx.needs_input_grad
        return (
            summed(grad, ctx.shape) if by_z else None,
            summed(dot(grad, x), a.shape) if by_a else None,
            summed(times(a, grad), x.shape) if by_x else None,
        )


class _Join(torch.autograd.Function):
    @staticmethod
    def forward(t: Tensor, a: Tensor, x: Tensor) -> Tensor:
        shape = x.shape[:-1]
        if not t.shape[:-1] == a.shape[:-1] == shape:
            shape = torch.broadcast_shapes(t.shape[:-1], a.shape[:-1], shape)
        out = x.new_empty(*shape, x.size(-1) + 1)
        out[..., :1] = t
        torch.mul(a, x, out=out[..., 1:])
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        t, a, x = inputs
        ctx.save_for_backward(a, x)
        ctx.shape = t.shape

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Tensor, int]:
        return torch.func.vmap(_join, in_dims)(*inputs), 0

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        a, x = ctx.saved_tensors
        _, by_a, by_x = ctx.needs_input_grad
        return (
            summed(grad[..., :1], ctx.shape),
            summed(dot(grad[..., 1:], x), a.shape) if by_a else None,
            summed(times(a, grad[..., 1:]), x.shape) if by_x else None,
        )


def summed(grad: Tensor, shape: torch.Size) -> Tensor:
    """The gradient of what was broadcast from this shape."""
    return grad if grad.shape == shape else grad.sum_to_size(shape)


def over_norm(grad: Tensor, r: Tensor) -> Tensor:
    """grad / r; at 0, where it is the factor of a vector that is 0, some finite number."""
    return grad / r.clamp_min(torch.finfo(r.dtype).tiny ** 0.5)


def norm(x: Tensor) -> Tensor:
    """The Euclidean norm of the last dimension, which is kept, with gradient 0 at 0."""
    return apply(_Norm, x)


def overflow(dtype: torch.dtype) -> float:
    """Where a squared norm counts as overflown: products with it are still finite."""
    return 1e16 * math.sqrt(torch.finfo(dtype).max)


def sq_norm(x: Tensor) -> Tensor:
    """The squared Euclidean norm of the last dimension, which is kept; finite also where it overflows."""
    return apply(_SqNorm, x)


def dot(x: Tensor, y: Tensor) -> Tensor:
    """The Euclidean inner product over the last dimension, which is kept."""
    return apply(_Dot, x, y)


def times(a: Factor, x: Tensor) -> Tensor:
    """Vectors x, each times its number: a has a last dimension of 1, or is one number for all."""
    if isinstance(a, Tensor):
        return apply(_Times, a, x)
    return x if a == 1 else a * x


def combine(a: Factor, x: Tensor, b: Factor, y: Tensor, z: Tensor | None = None) -> Tensor:
    """ax + by, or z + ax + by, with numbers a and b for each row: a last dimension of 1; or, without z, with
    one number for all."""
    if not isinstance(a, Tensor):
        if not isinstance(b, Tensor):
            return torch.add(x, y, alpha=b) if a == 1 else torch.add(times(b, y), x, alpha=a)
        return apply(_Plus, times(a, x), b, y)
    if not isinstance(b, Tensor):
        return apply(_Plus, times(b, y), a, x)
    if torch.compiler.is_compiling():
        return _combine(a, x, b, y, z)
    return apply(_Combine, a, x, b, y, z)


def _combine(a: Tensor, x: Tensor, b: Tensor, y: Tensor, z: Tensor | None) -> Tensor:
    return torch.addcmul(a * x if z is None else torch.addcmul(z, a, x), b, y)


def join(t: Tensor, a: Factor, x: Tensor) -> Tensor:
    """[t, ax]: a coordinate t and vectors x, each times its number, or all times 1."""
    if torch.compiler.is_compiling() or not isinstance(a, Tensor):
        return _join(t, a, x)
    return apply(_Join, t, a, x)


def _join(t: Tensor, a: Factor, x: Tensor) -> Tensor:
    x = times(a, x)
    return torch.cat([t.expand(*x.shape[:-1], 1), x], -1)


# Numbers in a block of rows: what is computed of it stays in the cache of a core, and its memory is taken
# again.
_BLOCK = 2**18


def blocks(*vectors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Blocks of rows of tensors with the same leading dimensions, on the CPU where they are many; what is
    written to must be contiguous."""
    columns = max(z.size(-1) for z in vectors)
    size = max(_BLOCK * torch.get_num_threads() // columns, 1)
    if vectors[0].is_cuda:
        size = max(vectors[0].numel(), 1)
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
    """:func:`dot` without a gradient; with a weight for each coordinate, where given."""
    if x.shape != y.shape or x.numel() <= _BLOCK or not at_hand(x):
        product = x * y
        return product.sum(-1, keepdim=True) if weights is None else product @ weights.unsqueeze(-1)
    weights = x.new_ones(x.size(-1)) if weights is None else weights
    out, spare = x.new_empty(*x.shape[:-1], 1), None
    for a, b, sums in blocks(x, y, out):
        spare = block_dot(a, b, weights, sums, spare)
    return out

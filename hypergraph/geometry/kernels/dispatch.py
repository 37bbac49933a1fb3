"""Where a kernel runs instead of a definition, and how autograd sees it.

A definition is a function of torch operations: it is what the operator means, and it works under
torch.compile, torch.export, torch.func, on every device, to any order of derivatives. A kernel computes the
same values and first derivatives faster, in eager mode on the CPU. ``@with_kernel(kernel)`` puts the two
together, and :func:`eager` alone decides which one runs.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from hypergraph.geometry.kernels.torch_internals import in_disguise, transformed, without_autograd

Inputs = Sequence[Any]
Found = tuple[Any, tuple[Any, ...]] | None
Function = TypeVar("Function", bound=Callable[..., Any])
_PLAIN = (Tensor, nn.Parameter)
_NUMBERS = {float, int, bool, str, type(None)}
_OTHERS = (Tensor, torch.fx.Proxy)  # subclasses, such as fake tensors, and what a tracer puts in their place
_DTYPES = (torch.float32, torch.float64)
# Rows that are mapped together: their intermediate results stay in the cache, and are not paged in anew. A
# million rows of 16 take 144 ms like this, and 400 as one.
BLOCK_ROWS = 2**14
_switch = {"on": True}


class Kernel:
    """A fast version of a definition, with its gradient by hand.

    Attributes:
        by_rows: whether the first input is a matrix of which every row is mapped for itself, so that many
            rows are mapped in blocks.
        least: the smallest size of the first input at which the kernel is the faster one.
    """

    by_rows = False
    least = 0

    def forward(self, *inputs: Any) -> Found:
        """The result, and what :meth:`backward` needs besides the inputs; ``None`` where the numbers need the
        definition, such as points beyond the limit."""
        raise NotImplementedError

    def backward(self, inputs: Inputs, kept: Inputs, needed: Sequence[bool], *grads: Tensor) -> Inputs:
        """The gradients by the inputs; ``None`` for those that are not needed or are no tensors."""
        raise NotImplementedError


@contextlib.contextmanager
def definitions_only() -> Iterator[None]:
    """Inside, every operator runs by its definition: to compare, or to step through it with a debugger."""
    before, _switch["on"] = _switch["on"], False
    try:
        yield
    finally:
        _switch["on"] = before


def eager(*tensors: Any) -> bool:
    """The one decision: whether these are ordinary tensors on the CPU that nothing transforms. Then a kernel
    may run in place of its definition, and one may look at the numbers."""
    for x in tensors:
        kind = type(x)
        if kind in _PLAIN:
            if x.dtype not in _DTYPES or not x.is_cpu:
                return False
        elif kind not in _NUMBERS and isinstance(x, _OTHERS):
            return False
    return _switch["on"] and not transformed()


def with_kernel(kernel: Kernel) -> Callable[[Function], Function]:
    """The definition that follows, with this kernel beside it; positional arguments only."""

    def decorate(definition: Function) -> Function:
        @functools.wraps(definition)
        def run(*inputs: Any) -> Any:
            if not eager(*inputs) or (kernel.least and inputs[0].numel() < kernel.least):
                return definition(*inputs)
            if kernel.by_rows and inputs[0].dim() == 2 and inputs[0].size(0) > 2 * BLOCK_ROWS:
                return torch.cat([run(block, *inputs[1:]) for block in inputs[0].split(BLOCK_ROWS)])
            if torch.is_grad_enabled():
                out = _ByHand.apply(kernel, definition, *inputs)
            else:
                with without_autograd():
                    out = (kernel.forward(*inputs) or (None,))[0]
            return definition(*inputs) if out is None else out

        run.kernel = kernel  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate


class _ByHand(torch.autograd.Function):
    """A kernel as autograd sees it. A second derivative, or a hidden batch of gradients
    (``is_grads_batched``), is taken through the definition."""

    @staticmethod
    def forward(ctx: Any, kernel: Kernel, definition: Callable[..., Any], *inputs: Any) -> Any:
        with without_autograd():
            made = kernel.forward(*inputs)
        if made is None:
            return None
        out, kept = made
        ctx.kernel, ctx.definition, ctx.count = kernel, definition, len(inputs)
        everything = (*inputs, *kept)
        ctx.others = [None if type(x) in _PLAIN else x for x in everything]
        ctx.save_for_backward(*[x if type(x) in _PLAIN else None for x in everything])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        everything = [other if x is None else x for x, other in zip(ctx.saved_tensors, ctx.others)]
        inputs, kept = everything[: ctx.count], everything[ctx.count :]
        needed = ctx.needs_input_grad[2:]
        if torch.is_grad_enabled() or not eager(*grads) or any(map(in_disguise, grads)):
            return None, None, *_differentiate(ctx.definition, inputs, needed, grads)
        with without_autograd():
            return None, None, *ctx.kernel.backward(inputs, kept, needed, *grads)


def _differentiate(
    definition: Callable[..., Any], inputs: Inputs, needed: Sequence[bool], grads: Sequence[Tensor]
) -> Iterator[Tensor | None]:
    record = torch.is_grad_enabled()
    with torch.enable_grad():
        # an alias of each input, so that an input that depends on another one counts for itself
        given = [x.view_as(x) if need else x for x, need in zip(inputs, needed)]
        found = iter(
            torch.autograd.grad(
                definition(*given),
                [x for x, need in zip(given, needed) if need],
                grads,
                create_graph=record,
                allow_unused=True,
            )
        )
    return (next(found) if need else None for need in needed)

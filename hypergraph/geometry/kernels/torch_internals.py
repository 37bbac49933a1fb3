"""The one place that depends on how torch works inside; tried on torch 2.13.

Nothing here is needed for right results: where a later torch has moved a name, let :func:`transformed` return
``True``, and every operator runs by its definition.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad


def transformed() -> bool:
    """Whether torch runs this for more than its values: the compiler, an exporter or a tracer, torch.func,
    forward-mode differentiation, or a mode that replaces tensors (``FakeTensorMode``)."""
    return (
        torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._is_tracing()
    )


def in_disguise(x: Tensor) -> bool:
    """Whether x has a batch dimension that does not show, as gradients of ``is_grads_batched=True`` have, or
    stands for zeros that have no memory."""
    return torch._C._functorch.is_legacy_batchedtensor(x) or x._is_zerotensor()


def without_autograd() -> Any:
    """Inside, torch does not ask at every operation whether it is to be recorded: a sixth of the time of a
    small one."""
    return torch._C._AutoDispatchBelowAutograd()

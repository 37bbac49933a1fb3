"""Gradient steps that stop at the first number that is not finite, and what to say of where it came from."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from hypergraph.errors import InputError
from hypergraph.geometry.space import Space

# A point at this distance from the origin (times sqrt(-K)) is at 99 % of the radius of the Poincaré ball.
_NEAR_BOUNDARY = 2 * math.atanh(0.99)


class NonFinite(ArithmeticError):
    """A loss or a gradient is not finite; the weights are still those before the step."""


class TrainingStopped(InputError):
    """Training cannot go on; the sentence says where and why."""


def step(loss: Tensor, model: nn.Module, optimizer: Optimizer) -> float:
    """One optimiser step, taken only if the loss and every gradient are finite; returns the loss."""
    value = loss.item()
    if not math.isfinite(value):
        raise NonFinite(f"the loss is {value}")
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    if not math.isfinite(nn.utils.get_total_norm(gradients).item()):
        # The norm of finite gradients may overflow, which is no reason to stop.
        for name, parameter in model.named_parameters():
            if parameter.grad is not None and not parameter.grad.isfinite().all():
                raise NonFinite(f"the gradient of {name} is not finite")
    optimizer.step()
    return value


def telemetry(points: Tensor, space: Space) -> dict[str, float]:
    """The share of points within 1 % of the boundary, the largest distance from the origin, the curvature."""
    radius, K = space.dist0(points), space.K
    near = (radius * (-K).sqrt() >= _NEAR_BOUNDARY).to(radius.dtype).mean()
    share, largest, curvature = torch.stack([near, radius.max(), K.to(radius.dtype)]).tolist()
    return {"boundary_share": share, "max_radius": largest, "K": curvature}


def first_non_finite(model: nn.Module, rerun: Callable[[], object]) -> str | None:
    """The name of the module whose output is the first that is not finite while ``rerun`` runs."""
    found: list[str] = []

    def look(name: str, module: nn.Module, output: Any) -> None:
        if not found and isinstance(output, Tensor) and not output.isfinite().all():
            found.append(f"{name} ({type(module).__name__})")

    def watch(name: str, module: nn.Module) -> RemovableHandle:
        return module.register_forward_hook(lambda module, args, output: look(name, module, output))

    hooks = [watch(name, module) for name, module in model.named_modules() if name]
    try:
        rerun()
    except NonFinite:
        pass
    finally:
        for hook in hooks:
            hook.remove()
    return found[0] if found else None


def explain(
    epoch: int, cause: NonFinite, model: nn.Module, rerun: Callable[[], object], evaluate: Callable[[], Any]
) -> TrainingStopped:
    """The sentence for a run that is no longer finite: epoch, first bad layer, points at the boundary."""
    layer = first_non_finite(model, rerun)
    where = f"the first layer with such an output is {layer}" if layer else "every layer's output is finite"
    share = evaluate().get("boundary_share")
    points = "" if share is None else f"; {share:.1%} of the points are within 1 % of the boundary"
    return TrainingStopped(
        f"Training stopped at epoch {epoch}: {cause}; {where}{points}. "
        "A smaller --lr, a --clip, or --dtype float64 may help."
    )

"""Directions, magnitudes and offsets: the parameters that Busemann and Poincaré heads and layers share."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry.numerics import raised, unit
from hypergraph.nn.inputs import softplus_inverse


class Directed(nn.Module):
    """Unit directions v_k, those of the rows of ``weight``, magnitudes alpha_k > 0 and offsets b_k."""

    weight: nn.Parameter
    raw_alpha: nn.Parameter | None

    def direct(self, magnitude: str) -> None:
        """Add the parameters beside ``weight``: magnitudes (``"free"``) or none (``"row"``), and offsets."""
        if magnitude not in ("free", "row"):
            raise InputError(f"Unknown magnitude '{magnitude}'; use 'free' or 'row'.")
        count = self.weight.size(0)
        self.register_parameter(
            "raw_alpha", nn.Parameter(torch.empty(count)) if magnitude == "free" else None
        )
        self.b = nn.Parameter(torch.empty(count))

    def reset_directions(self, std: float) -> None:
        """Directions and magnitudes of normal vectors, zero offsets, as HNN++ does."""
        nn.init.normal_(self.weight, std=std)
        self.set_alpha(self.weight.norm(dim=-1))
        nn.init.zeros_(self.b)

    @torch.no_grad()
    def set_alpha(self, alpha: Tensor) -> None:
        """Give the magnitudes these values."""
        if self.raw_alpha is not None:
            self.raw_alpha.copy_(softplus_inverse(alpha))
        else:
            self.weight.mul_((alpha / self.weight.norm(dim=-1)).unsqueeze(-1))

    def alpha_of(self, weight: Tensor) -> Tensor:
        """The magnitudes, where ``weight`` stands for this layer's."""
        if self.raw_alpha is None:
            return torch.linalg.vector_norm(raised(weight), dim=-1)
        return F.softplus(raised(self.raw_alpha))

    @property
    def alpha(self) -> Tensor:
        """The magnitudes, positive."""
        return self.alpha_of(self.weight)

    @property
    def v(self) -> Tensor:
        """The unit directions."""
        return unit(self.weight)

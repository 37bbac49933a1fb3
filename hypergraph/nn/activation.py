"""Activations: by name, and in the tangent space at the origin."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry.space import Space
from hypergraph.nn.registry import as_space

Act = str | Callable[[Tensor], Tensor] | None


def resolve_activation(act: Act) -> nn.Module:
    """The activation of this name (any that PyG's resolver knows), a module as it is, ``None`` the identity.

    >>> resolve_activation("tanh")
    Tanh()
    """
    if act is None:
        return nn.Identity()
    if isinstance(act, nn.Module):
        return act
    from torch_geometric.nn.resolver import activation_resolver

    try:
        return activation_resolver(act)
    except ValueError:
        raise InputError(
            f"Unknown activation '{act}'; use the name of one in torch.nn, such as 'relu', 'tanh' or 'elu'."
        ) from None


class Activation(nn.Module):
    r"""An activation in the tangent space at the origin, :math:`\mathrm{Exp}_0(\phi(\mathrm{Log}_0(x)))`.

    Args:
        act: a name that PyG's resolver knows, or a module; ``None`` is the identity.
        space: the space of the points that come in.
        out_space: the space of the points that go out; by default the same. Both are of one dimension.

    Shapes:
        - **input:** points ``(..., space.ambient(n))``
        - **output:** points ``(..., out_space.ambient(n))``

    >>> ball = PoincareBall(K=-1.0)
    >>> Activation("relu", ball)(ball.exp0(torch.tensor([-1.0, 0.0])))
    tensor([0., 0.])
    """

    def __init__(self, act: Act, space: Space, out_space: Space | None = None) -> None:
        super().__init__()
        self.act = resolve_activation(act)
        self.space = as_space(space)
        self.out_space = self.space if out_space is None else as_space(out_space)

    def forward(self, x: Tensor) -> Tensor:
        if self.out_space is self.space and isinstance(self.act, nn.Identity):
            return x
        u = self.space.log0(x)
        with torch.autocast(u.device.type, enabled=False):
            return self.out_space.exp0(self.act(u))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.act}, {self.space})"

"""Decoders: from the points of two nodes to the logit of an edge between them."""

from __future__ import annotations

from torch import Tensor, nn

from hypergraph.geometry.space import Space
from hypergraph.nn.registry import as_space


class FermiDirac(nn.Module):
    r"""The decoder of `Hyperbolic Geometry of Complex Networks <https://arxiv.org/abs/1006.5169>`_: the logit
    of an edge is

    .. math::
        \frac{r - d(z_i, z_j)^2}{t}

    so that its probability is :math:`1 / (e^{(d^2 - r)/t} + 1)`.

    Args:
        space: the space of the points.
        r: the squared distance at which an edge is as likely as not.
        t: the temperature, above 0.

    Shapes:
        - **input:** points ``(nodes, space.ambient(n))``, pairs of nodes ``(2, pairs)``
        - **output:** logits ``(pairs,)``

    >>> ball = PoincareBall(K=-1.0)
    >>> FermiDirac(ball)(torch.zeros(3, 2), torch.tensor([[0, 1], [1, 2]]))
    tensor([2., 2.])
    """

    def __init__(self, space: Space, r: float = 2.0, t: float = 1.0) -> None:
        super().__init__()
        if t <= 0:
            raise ValueError(f"the temperature t must be above 0, got {t}")
        self.space, self.r, self.t = as_space(space), r, t

    def forward(self, z: Tensor, edge_index: Tensor) -> Tensor:
        source, target = edge_index
        # index_select, whose backward is a plain sum into rows; z[source] sorts the indices first
        distance = self.space.dist(z.index_select(0, source), z.index_select(0, target))
        return (self.r - distance.square()) / self.t

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.space}, r={self.r:g}, t={self.t:g})"

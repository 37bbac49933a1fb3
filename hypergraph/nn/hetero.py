"""Convolutions over graphs with several types of edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch_geometric.nn
from torch import Tensor

from hypergraph.errors import InputError
from hypergraph.nn.conv import HGCNConv


class HeteroConv(torch_geometric.nn.HeteroConv):
    r"""PyG's ``HeteroConv`` for :class:`HGCNConv`: where several types of edges meet in a node, their points
    are brought together by a mean of the space.

    PyG's own ``aggr="sum"`` adds points coordinate by coordinate, and what comes out is not on the model.

    Args:
        convs: an :class:`HGCNConv` for each type of edge; those that end in one type of node share their
            ``out_space``.
        aggr: ``"tangent"``, the mean in the tangent space at the origin, or ``"centroid"``, the Lorentzian
            centroid.

    Shapes:
        - **input:** as PyG's: a dictionary of points for each type of node, one of graphs for each type of
          edge
        - **output:** a dictionary of points for each type of node

    >>> ball, edges = PoincareBall(K=-1.0), ("paper", "cites", "paper")
    >>> conv = HeteroConv({edges: HGCNConv(4, 2, ball)})
    >>> conv({"paper": torch.zeros(3, 4)}, {edges: torch.tensor([[0, 1], [1, 2]])})["paper"].shape
    torch.Size([3, 2])
    """

    def __init__(self, convs: Mapping[tuple[str, str, str], HGCNConv], aggr: str = "tangent") -> None:
        if aggr not in ("tangent", "centroid"):
            raise InputError(
                f"Points are not combined by coordinates (aggr={aggr!r}); use 'tangent' or 'centroid'."
            )
        spaces: dict[str, Any] = {}
        for (_, _, node), conv in convs.items():
            if spaces.setdefault(node, conv.out_space) is not conv.out_space:
                raise InputError(
                    f"The convolutions that end in '{node}' must share one space: give them one out_space."
                )
        super().__init__(dict(convs), aggr=None)
        self.aggregation = aggr
        self._spaces = spaces

    def forward(self, *args_dict: Any, **kwargs_dict: Any) -> dict[str, Tensor]:
        """The points of every type of node: see PyG's ``HeteroConv``."""
        out = {}
        for node, x in super().forward(*args_dict, **kwargs_dict).items():
            space = self._spaces[node]
            if x.size(1) == 1:
                out[node] = x.squeeze(1)
            elif self.aggregation == "centroid":
                out[node] = space.centroid(x)
            else:
                out[node] = space.exp0(space.log0(x).mean(1))
        return out

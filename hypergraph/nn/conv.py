"""The hyperbolic graph convolution, as a PyG message-passing layer, for one type of edges and for several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import HeteroConv as PyGHeteroConv
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.inits import reset
from torch_geometric.utils import softmax

from hypergraph.errors import InputError
from hypergraph.geometry.kernels.torch_internals import transformed
from hypergraph.geometry.numerics import raised
from hypergraph.geometry.space import Space
from hypergraph.nn.adjacency import Edges, Nodes, check_size, normalize, weights_learn
from hypergraph.nn.linear import Act, resolve_activation
from hypergraph.nn.registry import as_space, make_fc
from hypergraph.nn.shared import check_finite, check_points
from hypergraph.sparse import Memo, SparseMatrix, SparseRows, spmm

_HOOKS = [f"_{at}_forward_{pre}hooks" for at in ("propagate", "message", "aggregate") for pre in ("", "pre_")]


class HGCNConv(MessagePassing):
    r"""The graph convolution of `Hyperbolic Graph Convolutional Neural Networks
    <https://arxiv.org/abs/1910.12933>`_, on the Poincaré ball and on the Lorentz model.

    .. math::
        h_i = f(x_i), \quad
        x_i' = \mathrm{Exp}_0^{K'}\Bigl(\sigma\Bigl(\sum_{j \in \mathcal{N}(i) \cup \{i\}}
        \frac{w_{ij}}{\sum_k w_{ik}}\, \mathrm{Log}_0^{K}(h_j)\Bigr)\Bigr)

    with a linear layer :math:`f` that includes the gyro bias, and :math:`w_{ii}` one more than in the graph.

    :meth:`message` says what is computed. Where neither attention, nor an explainer, nor the gradient of edge
    weights asks for single messages, one SpMM computes it; ``conv.fuse = False`` turns that off.

    Args:
        in_channels: the dimension of the input space.
        out_channels: the dimension of the output space.
        space: the space of the points that come in, and of the linear layer.
        out_space: the space of the points that go out, by default the same; its curvature may differ.
        fc: a registered linear layer by name; by default ``"mobius"`` on the ball, ``"ltfc"`` on Lorentz.
        act: an activation that PyG's resolver knows, in the tangent space; ``None`` for none.
        dropout: the probability with which an entry of the weight is dropped in training (DropConnect).
        bias: whether the linear layer has a gyro bias.
        cached: keep the normalised adjacency. It is recomputed when another graph comes, or when the tensors
            of this one are changed in place, and forgotten by :meth:`reset_parameters`.
        aggregation: ``"tangent"``, at the origin, or ``"centroid"``, the Lorentzian centroid.
        attention: weigh the neighbours by a softmax of
            :math:`\log w_{ij} + \mathrm{LeakyReLU}(a^\top[\mathrm{Log}_0(h_j) \Vert \mathrm{Log}_0(h_i)])`.
        undirected: refuse a graph in which some edge has no opposite one.
        norm: ``"mean"`` divides a message by the sum of the target's weights, as here; ``"symmetric"`` by the
            root of the target's times the source's, as GCN does.
        **options: keyword arguments of the linear layer, such as ``phi`` of BFC.

    Shapes:
        - **input:** points ``(nodes, space.ambient(in_channels))``, or a pair of them for source and target
          nodes (the second may be ``None``: then a target has no message of its own); a graph that
          :func:`~hypergraph.nn.adjacency.to_edges` takes, or the :class:`~hypergraph.sparse.SparseMatrix` of
          :func:`~hypergraph.nn.adjacency.normalized_adjacency`, which is used as it is; edge weights
          ``(edges,)`` *(optional)*; the numbers of source and target nodes *(optional)*
        - **output:** points ``(target nodes, out_space.ambient(out_channels))``

    >>> ball, edge_index = PoincareBall(K=-1.0), torch.tensor([[0, 1], [1, 0]])
    >>> HGCNConv(16, 8, ball)(ball.lift(torch.randn(3, 16)), edge_index).shape
    torch.Size([3, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        space: Space,
        *,
        out_space: Space | None = None,
        fc: str | None = None,
        act: Act = "relu",
        dropout: float = 0.0,
        bias: bool = True,
        cached: bool = False,
        aggregation: str = "tangent",
        attention: bool = False,
        undirected: bool = False,
        norm: str = "mean",
        **options: Any,
    ) -> None:
        if norm not in ("mean", "symmetric"):
            raise InputError(f"Unknown norm '{norm}'; use 'mean' or 'symmetric'.")
        if aggregation not in ("tangent", "centroid"):
            raise InputError(f"Unknown aggregation '{aggregation}'; use 'tangent' or 'centroid'.")
        if "aggr" in options:
            raise InputError(
                f"HGCNConv has no aggr={options['aggr']!r}, since points are not combined by coordinates; "
                f"use aggregation='tangent' or aggregation='centroid'."
            )
        self._check_flow(options.pop("flow", "source_to_target"))
        super().__init__(aggr="sum")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.space = space = as_space(space)
        self.out_space = space if out_space is None else as_space(out_space)
        self.cached, self.undirected = cached, undirected
        self.aggregation, self.attention, self.norm = aggregation, attention, norm
        self.fc = make_fc(fc, in_channels, out_channels, space, bias=bias, dropout=dropout, **options)
        self.act = resolve_activation(act)
        self.register_parameter("att", nn.Parameter(torch.empty(2, out_channels)) if attention else None)
        self._memo = Memo()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise anew, and forget the adjacency."""
        for part in self.children():
            reset(part)
        if self.attention:
            nn.init.xavier_uniform_(self.att)
        self._memo.clear()

    def forward(
        self,
        x: Tensor | SparseRows | tuple[Tensor, Tensor | None],
        edge_index: Any,
        edge_weight: Tensor | None = None,
        size: tuple[int, int] | None = None,
        *,
        tangent: bool = False,
    ) -> Tensor:
        """The points of the target nodes; with ``tangent`` these and x, which may be sparse, are logarithms
        at the origin: between the layers of an encoder no point is formed. ``size``, the numbers of source
        and target nodes, is by default what x and a sparse adjacency say, and for ``(x, None)`` with an
        ``edge_index`` one more than the largest target in it."""
        self._check_flow(self.flow)
        parts = [part for part in (x if isinstance(x, tuple) else (x,)) if part is not None]
        h = [self.fc(part if tangent else self._logarithm(part), tangent=True) for part in parts]
        graph = self._graph(edge_index, edge_weight, _nodes(x, size), h[0].dtype)
        u = self.act(self._aggregate(h[0] if len(h) == 1 else torch.cat(h), graph))
        if not tangent:
            return self.out_space.exp0(u)
        mean = (
            self.aggregation == "tangent" and self.norm == "mean" and not isinstance(edge_index, SparseMatrix)
        )
        if mean and self.out_space is self.space and isinstance(self.act, (nn.ReLU, nn.Identity)):
            return u  # a mean of bounded vectors is bounded, and ReLU shortens it
        return self.out_space.bound0(u)

    def _logarithm(self, x: Any) -> Tensor:
        """The logarithms of points that were checked."""
        x = check_points(x, self.space, self.in_channels, self)
        if x.dim() != 2:
            raise InputError(
                f"{self} takes a matrix of points, one row a node, got shape {tuple(x.shape)}; join the "
                f"graphs of a batch by torch_geometric.data.Batch, or pass one at a time."
            )
        if not x.requires_grad:
            check_finite(x)
        return self.space.log0(x)

    def _check_flow(self, flow: str) -> None:
        if flow != "source_to_target":
            raise InputError(
                f"HGCNConv sends messages from source to target, not by flow={flow!r}; pass "
                f"edge_index.flip(0), or the transposed adjacency, instead."
            )

    def _graph(
        self, graph: Any, edge_weight: Tensor | None, nodes: Nodes, dtype: torch.dtype
    ) -> SparseMatrix | Edges:
        """The normalised graph: a matrix for the fast path, else edges."""
        learns = weights_learn(graph, edge_weight)
        single = self.attention or bool(self.explain) or not self.fuse or learns
        # so do a message of a subclass, and PyG's hooks on messages
        single |= type(self).message is not HGCNConv.message or any(map(vars(self).get, _HOOKS))
        if isinstance(graph, SparseMatrix):
            if edge_weight is not None:
                raise InputError("A SparseMatrix holds its own weights; pass no edge_weight with it.")
            check_size(graph.shape, *nodes.size)
            return Edges(*graph.edges(), nodes._replace(targets=graph.shape[0])) if single else graph
        single |= transformed()

        def make() -> SparseMatrix | Edges:
            edges = normalize(graph, edge_weight, nodes, dtype, self.norm, self.undirected)
            return edges if single else edges.matrix()

        if not self.cached or learns or not isinstance(graph, Tensor) or transformed():
            return make()
        return self._memo(make, graph, edge_weight, *nodes, single, dtype)

    def _aggregate(self, u: Tensor, graph: SparseMatrix | Edges) -> Tensor:
        if self.attention and isinstance(graph, Edges):
            graph = graph._replace(weight=self._attention(u, graph))
        if self.aggregation == "tangent":
            return self._sum(u, graph)
        return self.space.log0_of_sum(self._sum(self.space.summand(u), graph))

    def _sum(self, x: Tensor, graph: SparseMatrix | Edges) -> Tensor:
        if isinstance(graph, SparseMatrix):
            return self.message_and_aggregate(graph, x)
        return self.propagate(graph.edge_index, x=x, norm=graph.weight, size=graph.nodes.size)

    def message(self, x_j: Tensor, norm: Tensor) -> Tensor:
        return norm.unsqueeze(-1) * x_j

    def message_and_aggregate(self, edge_index: SparseMatrix, x: Tensor) -> Tensor:
        return spmm(edge_index, x)

    def _attention(self, u: Tensor, graph: Edges) -> Tensor:
        """The softmax over the messages to a node, weighted by the edges."""
        own = graph.nodes.own
        if own is None:
            raise InputError("Attention needs the features of the target nodes: pass x as (source, target).")
        source, target = graph.edge_index
        score = u @ raised(self.att).T
        score = F.leaky_relu(score[:, 0][source] + score[:, 1][own + target], 0.2)
        return softmax(score + graph.weight.log(), target, num_nodes=graph.nodes.targets)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, {self.space})"


def _nodes(x: Any, size: tuple[int, int] | None) -> Nodes:
    """The nodes of a convolution of x, which is one matrix or a pair of them."""
    source, target = x if isinstance(x, tuple) else (x, x)
    sources, targets = source.size(0), None if target is None else target.size(0)
    if size is not None:
        if size[0] != sources or targets not in (None, size[1]):
            raise InputError(
                f"size says {size[0]} source and {size[1]} target nodes, but there are features for "
                f"{sources} and {size[1] if targets is None else targets}; pass the numbers of rows of x."
            )
        targets = size[1]
    own = None if target is None else sources if isinstance(x, tuple) else 0
    return Nodes(sources, targets, own)


class AsItIs(nn.Module):
    """In the place of a linear layer: the logarithms as they are."""

    def forward(self, x: Tensor, *, tangent: bool = False) -> Tensor:
        return x


class HeteroConv(PyGHeteroConv):
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
        self.aggregation, self._spaces = aggr, spaces

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

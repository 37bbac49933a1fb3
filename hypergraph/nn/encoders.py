"""Encoders of node features: HGCN and HNN, and their Euclidean baselines, all with one signature."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.nn.dense.linear import Linear

from hypergraph.errors import InputError
from hypergraph.geometry.numerics import bound_factor
from hypergraph.geometry.numerics import clip as clip_norm
from hypergraph.geometry.space import Euclidean, Space
from hypergraph.nn.activation import Act, resolve_activation
from hypergraph.nn.adjacency import check_edges, to_edges
from hypergraph.nn.conv import HGCNConv, HGCNPropagation
from hypergraph.nn.inputs import check_finite
from hypergraph.nn.registry import as_space, make_fc
from hypergraph.sparse import Memo, SparseMatrix, SparseRows, spmm

Features = Tensor | SparseMatrix


class Encoder(nn.Module):
    """What the encoders share: a stack of layers on lifted features.

    Args:
        in_channels: the number of features.
        hidden_channels: the dimension of the space after every layer.
        num_layers: the number of layers.
        space: the space of the embeddings; the baselines take only ``Euclidean()``, their default.
        fc: a registered linear layer by name; by default ``"mobius"`` on the ball, ``"ltfc"`` on Lorentz.
        act: an activation that PyG's resolver knows, in the tangent space; ``None`` for none.
        dropout: in the hyperbolic encoders the probability with which an entry of a weight is dropped
            (DropConnect), in the baselines that of an output before its activation.
        bias: whether layers have a (gyro) bias.
        clip: the norm to which features are clipped before they are lifted; ``None`` for none.
        feature_dropout: the probability with which an entry of the (lifted) features is dropped in training.
        hidden_dropout: that of a coordinate, in the tangent space, of what comes out of a layer.
        residual: whether a layer adds what comes into it, where it has as many coordinates.
        propagate: how many aggregations without a weight follow the layers of HGCN and GCN. One layer and one
            of these under a head are what is called a GCN of two layers: its second matrix is the head's.
        **options: keyword arguments of the layers.

    Shapes:
        - **input:** features ``(nodes, in_channels)``, dense, ``torch.sparse_csr`` or a
          :class:`~hypergraph.sparse.SparseMatrix`; a graph, as for :class:`~hypergraph.nn.conv.HGCNConv`,
          or a list of matrices that aggregate, one for each layer and propagation, whose rows are those that
          the next one takes; edge weights ``(edges,)`` *(optional)*
        - **output:** points ``(nodes, space.ambient(hidden_channels))``
    """

    layers: Any
    uses_graph = False
    own_acts = True  # and not those of its layers

    def __init_subclass__(cls) -> None:
        # Subclasses pass their arguments on: help() and editors are to show them all.
        own = inspect.signature(Encoder.__init__).parameters.values()
        cls.__signature__ = inspect.Signature(list(own)[1:])  # type: ignore[attr-defined]

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        space: Space | None = None,
        *,
        fc: str | None = None,
        act: Act = "relu",
        dropout: float = 0.0,
        bias: bool = True,
        clip: float | None = None,
        feature_dropout: float = 0.0,
        hidden_dropout: float = 0.0,
        residual: bool = False,
        propagate: int = 0,
        **options: Any,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers must be at least 1, got {num_layers}")
        for name, p in (("feature_dropout", feature_dropout), ("hidden_dropout", hidden_dropout)):
            if not 0 <= p < 1:
                raise InputError(f"{name} must be at least 0 and below 1, got {p}.")
        if propagate < 0 or (propagate and not self.uses_graph):
            raise InputError(
                f"{type(self).__name__} cannot propagate {propagate} times; HGCN and GCN can, from 0."
            )
        self.in_channels = in_channels
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        self.space = self._check_space(space)
        self.fc = fc
        self.act = act
        self.dropout = dropout
        self.clip = clip
        self.feature_dropout = feature_dropout
        self.hidden_dropout = hidden_dropout
        self.residual = residual
        self.propagate = propagate
        widths = [in_channels] + [hidden_channels] * num_layers
        self.layers = nn.ModuleList(self.init_layer(n, m, bias=bias, **options) for n, m in pairwise(widths))
        if self.own_acts:
            self.acts = nn.ModuleList(resolve_activation(act) for _ in self.layers)
        self._features = Memo()

    def _check_space(self, space: Space | None) -> Space:
        if space is None:
            raise InputError(f"{type(self).__name__} needs a space, such as PoincareBall(K=-1.0).")
        return as_space(space)

    def init_layer(self, in_channels: int, out_channels: int, **options: Any) -> nn.Module:
        """One layer."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Initialise anew, and forget what was kept of features and graph."""
        self._features.clear()
        for layer in self.layers:
            layer.reset_parameters()

    def lift(self, x: Features) -> Tensor | SparseRows:
        """The logarithms of the lifted features, kept while these stay the same; a sparse x stays sparse."""
        if torch.compiler.is_compiling():
            return _lift(x, self.space, self.clip)
        if isinstance(x, SparseMatrix) or x.layout != torch.strided:
            key = x.csr if isinstance(x, SparseMatrix) else x
            return _lift(self._features(lambda: self._checked(x), key), self.space, self.clip)
        K = self.space.K
        if x.requires_grad or K.requires_grad:
            return _lift(self._checked(x), self.space, self.clip)
        return self._features(lambda: _lift(self._checked(x), self.space, self.clip), x, self.clip, K)

    def features(self, x: Features) -> Tensor | SparseRows:
        """The lifted features, in training with dropout."""
        u = self.lift(x)
        if not self.training or self.feature_dropout == 0:
            return u
        if isinstance(u, SparseRows):
            return SparseRows(u.matrix.dropout(self.feature_dropout), u.factor)
        return F.dropout(u, self.feature_dropout)

    def after(self, u: Tensor, before: Any) -> Tensor:
        """What goes on to the next layer: the output u of a layer, its input added, with dropout."""
        if self.residual and isinstance(before, Tensor) and before.size(1) == u.size(1):
            u = self.space.bound0(u + before[: len(u)])
        return F.dropout(u, self.hidden_dropout, self.training) if self.hidden_dropout else u

    def _checked(self, x: Features) -> Tensor | SparseMatrix:
        """x without NaN and of the right width; CSR with its transpose."""
        if len(x.shape) != 2 or x.shape[1] != self.in_channels:
            raise InputError(
                f"{self} takes features of shape (nodes, {self.in_channels}), got {tuple(x.shape)}; "
                f"check in_channels."
            )
        if isinstance(x, Tensor) and x.layout not in (torch.strided, torch.sparse_csr):
            raise InputError(
                f"Sparse features must be torch.sparse_csr, got {x.layout}; use x.to_sparse_csr()."
            )
        if isinstance(x, Tensor) and x.layout == torch.sparse_csr:
            x = SparseMatrix(x)
        check_finite(x)
        return x

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, {self.hidden_channels}, "
            f"num_layers={self.num_layers}, {self.space})"
        )


class _Step(nn.Module):
    """A function of node features, as torch.fx sees it: it looks into functions, and takes modules whole.

    The model that is traced keeps its state as it was; the copies that to_hetero makes have their own space.
    """

    def __init__(self, function: Callable[..., Tensor], space: Space, *given: Any) -> None:
        super().__init__()
        self.function = function
        self.given = (space, *given)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Step:
        own = _Step(self.function, *copy.deepcopy(self.given, memo))
        own.space = own.given[0]
        return own

    def reset_parameters(self) -> None:
        """Nothing is drawn at random."""

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, *self.given)


def _lift(x: Any, space: Space, clip: float | None) -> Any:
    if isinstance(x, SparseMatrix):
        rows = SparseRows(x)
        return space.bound0(rows if clip is None else rows.scaled(bound_factor(rows.sq_norm(), clip)))
    return space.bound0(x if clip is None else clip_norm(x, clip))


def _exp0(u: Tensor, space: Space) -> Tensor:
    return space.exp0(u)


class HGCN(Encoder):
    r"""A stack of :class:`~hypergraph.nn.conv.HGCNConv`, after
    `Hyperbolic Graph Convolutional Neural Networks <https://arxiv.org/abs/1910.12933>`_.

    See :class:`Encoder` for the arguments; ``**options`` are those of the convolution, where ``cached`` is on
    by default.

    >>> encoder = HGCN(16, 8, num_layers=2, space=Lorentz(K=-1.0))
    >>> encoder(torch.randn(3, 16), torch.tensor([[0, 1], [1, 0]])).shape
    torch.Size([3, 9])
    """

    uses_graph = True
    own_acts = False

    def __init__(self, *args: Any, norm: str = "mean", **kwargs: Any) -> None:
        super().__init__(*args, norm=norm, **kwargs)
        for _ in range(self.propagate):
            self.layers.append(HGCNPropagation(self.hidden_channels, self.space, norm=norm, cached=True))
        for conv in self.layers[1:]:
            conv._memo = self.layers[0]._memo  # one graph, normalised once

    def init_layer(self, in_channels: int, out_channels: int, **options: Any) -> HGCNConv:
        given = {"fc": self.fc, "act": self.act, "dropout": self.dropout, "cached": True}
        return HGCNConv(in_channels, out_channels, self.space, **(given | options))

    def forward(self, x: Features, edge_index: Any = None, edge_weight: Tensor | None = None) -> Tensor:
        if edge_index is None:
            raise InputError("HGCN needs a graph: pass edge_index.")
        if isinstance(x, tuple):
            raise InputError(
                "HGCN takes one matrix of features; for several types of nodes use to_hetero(HGCN(...), "
                "metadata), and put the head after it."
            )
        traced = isinstance(x, torch.fx.Proxy)  # by PyG's to_hetero
        if traced and (self.feature_dropout or self.hidden_dropout or self.residual):
            raise InputError(
                "to_hetero takes an HGCN without dropout of features and hidden vectors and residuals."
            )
        u: Any = self._step("first", x, _lift, self.clip) if traced else self.features(x)
        for i, conv in enumerate(self.layers):
            before = u
            if isinstance(edge_index, list):
                u = conv((u, None), edge_index[i], tangent=True)
            else:
                u = conv(u, edge_index, edge_weight, tangent=True)
            if not traced and i < self.num_layers:
                u = self.after(u, before)
        return self._step("last", u, _exp0) if traced else self.space.exp0(u)

    def _step(self, name: str, x: Any, function: Callable[..., Tensor], *given: Any) -> Any:
        """A function of nodes as a submodule, of which to_hetero makes a copy for each of their types."""
        setattr(self, name, _Step(function, self.space, *given))
        return x.tracer.create_proxy("call_module", name, (x,), {})


class HNN(Encoder):
    r"""Hyperbolic linear layers with an activation in the tangent space, after `Hyperbolic Neural Networks
    <https://arxiv.org/abs/1805.09112>`_; blind to the graph. See :class:`Encoder` for the arguments;
    ``**options`` are those of the linear layer.

    >>> HNN(16, 8, 2, PoincareBall(K=-1.0), fc="bfc-p")(torch.randn(3, 16)).shape
    torch.Size([3, 8])
    """

    def init_layer(self, in_channels: int, out_channels: int, **options: Any) -> nn.Module:
        return make_fc(self.fc, in_channels, out_channels, self.space, dropout=self.dropout, **options)

    def forward(self, x: Features, edge_index: Any = None, edge_weight: Tensor | None = None) -> Tensor:
        u: Any = self.features(x)
        for layer, act in zip(self.layers, self.acts):
            u = self.after(self.space.bound0(act(layer(u, tangent=True))), u)
        return self.space.exp0(u)


class _Flat(Encoder):
    def _check_space(self, space: Space | None) -> Space:
        if space is None:
            return Euclidean()
        space = as_space(space)
        if not space.flat:
            raise InputError(f"{type(self).__name__} is a Euclidean baseline: its space is Euclidean().")
        return space

    def dropped(self, x: Tensor) -> Tensor:
        """The output of a layer with dropout."""
        return F.dropout(x, self.dropout, self.training)


class MLP(_Flat):
    """Linear layers with activations: :class:`HNN` in flat space. See :class:`Encoder` for the arguments.

    >>> MLP(16, 8, num_layers=2)(torch.randn(3, 16)).shape
    torch.Size([3, 8])
    """

    def init_layer(self, in_channels: int, out_channels: int, **options: Any) -> nn.Module:
        return make_fc(self.fc, in_channels, out_channels, self.space, **options)

    def forward(self, x: Features, edge_index: Any = None, edge_weight: Tensor | None = None) -> Tensor:
        u: Any = self.features(x)
        for layer, act in zip(self.layers, self.acts):
            u = self.after(act(self.dropped(layer(u, tangent=True))), u)
        return u


class _Linear(Linear):
    """PyG's linear layer, for sparse features too."""

    def forward(self, x: Tensor | SparseRows) -> Tensor:
        return x.product(self.weight) if isinstance(x, SparseRows) else super().forward(x)


class GCN(_Flat):
    r"""PyG's :class:`~torch_geometric.nn.conv.GCNConv` in a stack, after `Semi-Supervised Classification with
    Graph Convolutional Networks <https://arxiv.org/abs/1609.02907>`_. See :class:`Encoder` for the arguments.

    >>> GCN(16, 8, num_layers=2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 0]])).shape
    torch.Size([3, 8])
    """

    uses_graph = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.fc is not None:
            raise InputError("GCN has PyG's own linear layer; leave out fc.")
        self._graph = Memo()

    def init_layer(self, in_channels: int, out_channels: int, **options: Any) -> nn.Module:
        conv = GCNConv(in_channels, out_channels, normalize=False, **options)
        conv.lin = _Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        return conv

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._graph.clear()

    def forward(self, x: Features, edge_index: Any = None, edge_weight: Tensor | None = None) -> Tensor:
        if edge_index is None:
            raise InputError("GCN needs a graph: pass edge_index.")
        u: Any = self.features(x)
        if isinstance(edge_index, list):
            return self._by_matrices(u, edge_index)

        def normalized() -> tuple[Tensor, Tensor]:
            edges, weight = to_edges(edge_index, edge_weight)
            check_edges(edges, weight, u.size(0), u.size(0))
            return gcn_norm(edges, weight, u.size(0), dtype=u.dtype)

        learns = edge_weight is not None and edge_weight.requires_grad
        keep = isinstance(edge_index, Tensor) and not learns and not torch.compiler.is_compiling()
        edges, weight = self._graph(normalized, edge_index, edge_weight, u.size(0)) if keep else normalized()
        for conv, act in zip(self.layers, self.acts):
            u = self.after(act(self.dropped(conv(u, edges, weight))), u)
        for _ in range(self.propagate):
            u = self.layers[-1].propagate(edges, x=u, edge_weight=weight)
        return u

    def _by_matrices(self, u: Any, matrices: list[SparseMatrix]) -> Tensor:
        for conv, act, matrix in zip(self.layers, self.acts, matrices):
            total = spmm(matrix, conv.lin(u))
            total = total if conv.bias is None else total + conv.bias
            u = self.after(act(self.dropped(total)), u)
        for matrix in matrices[len(self.layers) :]:
            u = spmm(matrix, u)
        return u

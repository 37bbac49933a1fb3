"""Encoders of node features: HGCN and HNN, and their Euclidean baselines, all with one signature."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.nn.dense.linear import Linear
from torch_geometric.nn.inits import reset

from hypergraph.errors import InputError
from hypergraph.geometry.kernels.torch_internals import transformed
from hypergraph.geometry.numerics import clip as clip_norm
from hypergraph.geometry.space import Euclidean, Space
from hypergraph.nn.adjacency import check_edges, to_edges, weights_learn
from hypergraph.nn.conv import AsItIs, HGCNConv
from hypergraph.nn.linear import Act, resolve_activation
from hypergraph.nn.registry import as_space, make_fc
from hypergraph.nn.shared import ShowsArguments, check_channels, check_finite, check_probabilities
from hypergraph.sparse import Memo, SparseMatrix, SparseRows, spmm

Features = Tensor | SparseMatrix


class Encoder(ShowsArguments):
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
    between: Any
    flat = False  # a Euclidean baseline
    uses_graph = False

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
        name = type(self).__name__
        check_channels(in_channels=in_channels, hidden_channels=hidden_channels, num_layers=num_layers)
        check_probabilities(dropout=dropout, feature_dropout=feature_dropout, hidden_dropout=hidden_dropout)
        if propagate < 0 or (propagate and not self.uses_graph):
            raise InputError(f"{name} cannot propagate {propagate} times; HGCN and GCN can, from 0.")
        if space is None and not self.flat:
            raise InputError(f"{name} needs a space, such as PoincareBall(K=-1.0).")
        self.space = Euclidean() if space is None else as_space(space)
        if self.flat and not self.space.flat:
            raise InputError(f"{name} is a Euclidean baseline: its space is Euclidean().")
        self.in_channels, self.hidden_channels, self.num_layers = in_channels, hidden_channels, num_layers
        self.fc, self.act, self.dropout, self.propagate = fc, act, dropout, propagate
        self.first = _First(self.space, in_channels, clip, feature_dropout)
        needed = num_layers if residual or hidden_dropout else 0
        self.between = nn.ModuleList(_Between(residual, hidden_dropout) for _ in range(needed))
        widths = [in_channels] + [hidden_channels] * num_layers
        self.layers = nn.ModuleList(self.init_layer(n, m, bias=bias, **options) for n, m in pairwise(widths))
        if not isinstance(self.layers[0], HGCNConv):  # which has its own
            self.acts = nn.ModuleList(resolve_activation(act) for _ in self.layers)

    def init_layer(self, in_channels: int, out_channels: int, **options: Any) -> nn.Module:
        """One layer."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Initialise anew, and forget what was kept of features and graph."""
        for part in self.children():
            reset(part)

    def matrices(self, graph: Any, edge_weight: Tensor | None) -> list[SparseMatrix] | None:
        """The matrices that aggregate, one for each layer and propagation, where the graph is a list of them;
        a baseline has no other use for a single one."""
        count = self.num_layers + self.propagate
        if self.flat and isinstance(graph, SparseMatrix):
            graph = [graph] * count
        if not isinstance(graph, list):
            return None
        if len(graph) != count or edge_weight is not None:
            raise InputError(f"{self} takes a list of {count} matrices, and no edge_weight beside it.")
        return graph

    def dropped_output(self, u: Tensor) -> Tensor:
        """The output of a layer: with dropout in a baseline, where the layers themselves have none."""
        return F.dropout(u, self.dropout, self.training) if self.flat else u

    def __repr__(self) -> str:
        sizes = f"{self.in_channels}, {self.hidden_channels}, num_layers={self.num_layers}"
        return f"{type(self).__name__}({sizes}, {self.space})"


class _Step(nn.Module):
    """A step beside the layers, as a module: PyG's to_hetero copies it whole."""

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.space = space

    def reset_parameters(self) -> None:
        """Nothing of its own to initialise."""


class _First(_Step):
    """From features to the logarithms of points, in training with dropout."""

    def __init__(self, space: Space, in_channels: int, clip: float | None, dropout: float) -> None:
        super().__init__(space)
        self.in_channels, self.clip, self.dropout = in_channels, clip, dropout
        self.matrix_memo, self.memo = Memo(), Memo()

    def reset_parameters(self) -> None:
        self.matrix_memo.clear()
        self.memo.clear()

    def forward(self, x: Features) -> Tensor | SparseRows:
        u = self.logarithms(x)
        if isinstance(u, Tensor):
            return F.dropout(u, self.dropout, self.training) if self.dropout else u
        if self.training and self.dropout:
            return SparseRows(u.matrix.dropout(self.dropout), u.factor)
        return u

    def logarithms(self, x: Features) -> Tensor | SparseRows:
        """The logarithms of the lifted features, kept while these stay the same; a sparse x stays sparse."""
        if transformed():
            return self._lifted(self._checked(x))
        sparse = isinstance(x, SparseMatrix) or x.layout != torch.strided
        if sparse:
            x = self.matrix_memo(lambda: self._checked(x), x.csr if isinstance(x, SparseMatrix) else x)
        K = self.space.K
        if K.requires_grad or (isinstance(x, Tensor) and x.requires_grad):
            return self._lifted(x if sparse else self._checked(x))
        return self.memo(lambda: self._lifted(x if sparse else self._checked(x)), x, self.clip, K)

    def _lifted(self, x: Any) -> Any:
        u = SparseRows(x) if isinstance(x, SparseMatrix) else x
        return self.space.bound0(u if self.clip is None else clip_norm(u, self.clip))

    def _checked(self, x: Features) -> Tensor | SparseMatrix:
        """x without NaN and of the right width; CSR with its transpose."""
        if len(x.shape) != 2 or x.shape[1] != self.in_channels:
            raise InputError(
                f"The encoder takes features of shape (nodes, {self.in_channels}), got {tuple(x.shape)}; "
                f"check in_channels."
            )
        if isinstance(x, Tensor) and x.layout != torch.strided:
            if x.layout != torch.sparse_csr:
                raise InputError(
                    f"Sparse features must be torch.sparse_csr, got {x.layout}; use x.to_sparse_csr()."
                )
            if x.requires_grad:
                raise InputError("Sparse features have no gradient here; pass them as a dense tensor.")
            x = SparseMatrix(x)
        check_finite(x)
        return x


class _Between(nn.Module):
    """From the output of a layer to the input of the next: the layer's own input added, with dropout."""

    def __init__(self, residual: bool, dropout: float) -> None:
        super().__init__()
        self.residual, self.dropout = residual, dropout

    def forward(self, u: Tensor, before: Any) -> Tensor:
        if self.residual and isinstance(before, Tensor) and before.size(1) == u.size(1):
            u = u + before[: len(u)]
        return F.dropout(u, self.dropout, self.training) if self.dropout else u


class _Last(_Step):
    """From logarithms to points."""

    def forward(self, u: Tensor) -> Tensor:
        return self.space.exp0(u)


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

    def __init__(self, *args: Any, norm: str = "mean", **kwargs: Any) -> None:
        super().__init__(*args, norm=norm, **kwargs)
        for _ in range(self.propagate):
            channels, space = self.hidden_channels, self.space
            conv = HGCNConv(channels, channels, space, act=None, bias=False, norm=norm, cached=True)
            conv.fc = AsItIs()
            self.layers.append(conv)
        for conv in self.layers[1:]:
            conv._memo = self.layers[0]._memo  # one graph, normalised once
        self.last = _Last(self.space)

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
        u, matrices = self.first(x), self.matrices(edge_index, edge_weight)
        for i, conv in enumerate(self.layers):
            given = ((u, None), matrices[i]) if matrices else (u, edge_index, edge_weight)
            out = conv(*given, tangent=True)
            u = self.between[i](out, u) if i < len(self.between) else out
        return self.last(u)


class HNN(Encoder):
    r"""Hyperbolic linear layers with an activation in the tangent space, after `Hyperbolic Neural Networks
    <https://arxiv.org/abs/1805.09112>`_; blind to the graph. See :class:`Encoder` for the arguments;
    ``**options`` are those of the linear layer.

    >>> HNN(16, 8, 2, PoincareBall(K=-1.0), fc="bfc-p")(torch.randn(3, 16)).shape
    torch.Size([3, 8])
    """

    def init_layer(self, in_channels: int, out_channels: int, **options: Any) -> nn.Module:
        dropout = 0.0 if self.flat else self.dropout
        return make_fc(self.fc, in_channels, out_channels, self.space, dropout=dropout, **options)

    def forward(self, x: Features, edge_index: Any = None, edge_weight: Tensor | None = None) -> Tensor:
        u = self.first(x)
        for i, (layer, act) in enumerate(zip(self.layers, self.acts)):
            out = self.space.bound0(act(self.dropped_output(layer(u, tangent=True))))
            u = self.between[i](out, u) if self.between else out
        return self.space.exp0(u)


class MLP(HNN):
    """Linear layers with activations: :class:`HNN` in flat space. See :class:`Encoder` for the arguments.

    >>> MLP(16, 8, num_layers=2)(torch.randn(3, 16)).shape
    torch.Size([3, 8])
    """

    flat = True


class _SparseLinear(Linear):
    """PyG's linear layer, for sparse features too."""

    def forward(self, x: Tensor | SparseRows) -> Tensor:
        return x.product(self.weight) if isinstance(x, SparseRows) else super().forward(x)


class _GCNConv(GCNConv):
    """PyG's layer, for a matrix that aggregates too."""

    def propagate(self, edge_index: Any, **inputs: Any) -> Tensor:
        if isinstance(edge_index, SparseMatrix):
            return spmm(edge_index, inputs["x"])
        return super().propagate(edge_index, **inputs)


class GCN(Encoder):
    r"""PyG's :class:`~torch_geometric.nn.conv.GCNConv` in a stack, after `Semi-Supervised Classification with
    Graph Convolutional Networks <https://arxiv.org/abs/1609.02907>`_. See :class:`Encoder` for the arguments.

    >>> GCN(16, 8, num_layers=2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 0]])).shape
    torch.Size([3, 8])
    """

    flat = True
    uses_graph = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.fc is not None:
            raise InputError("GCN has PyG's own linear layer; leave out fc.")
        self._memo = Memo()

    def init_layer(self, in_channels: int, out_channels: int, **options: Any) -> nn.Module:
        conv = _GCNConv(in_channels, out_channels, normalize=False, **options)
        conv.lin = _SparseLinear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        return conv

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._memo.clear()

    def forward(self, x: Features, edge_index: Any = None, edge_weight: Tensor | None = None) -> Tensor:
        if edge_index is None:
            raise InputError("GCN needs a graph: pass edge_index.")
        u, matrices = self.first(x), self.matrices(edge_index, edge_weight)
        if matrices:
            graphs: list[Any] = [(matrix, None) for matrix in matrices]
        else:
            graphs = [self._normalized(edge_index, edge_weight, u)] * (self.num_layers + self.propagate)
        for i, (conv, act) in enumerate(zip(self.layers, self.acts)):
            out = act(self.dropped_output(conv(u, *graphs[i])))
            u = self.between[i](out, u) if self.between else out
        for graph in graphs[self.num_layers :]:
            u = self.layers[-1].propagate(graph[0], x=u, edge_weight=graph[1])
        return u

    def _normalized(self, graph: Any, edge_weight: Tensor | None, u: Any) -> tuple[Tensor, Tensor]:
        nodes = u.size(0)

        def make() -> tuple[Tensor, Tensor]:
            edges, weight = to_edges(graph, edge_weight)
            check_edges(edges, weight, nodes, nodes)
            return gcn_norm(edges, weight, nodes, dtype=u.dtype)

        if not isinstance(graph, Tensor) or weights_learn(graph, edge_weight) or transformed():
            return make()
        return self._memo(make, graph, edge_weight, nodes, u.dtype)

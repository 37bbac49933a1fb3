"""Graphs as users have them, checked, with the row-normalised adjacency that HGCN aggregates with."""

from __future__ import annotations

from typing import Any, NamedTuple

import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.utils import is_sparse

from hypergraph.errors import InputError
from hypergraph.geometry.kernels.dispatch import eager
from hypergraph.geometry.kernels.torch_internals import transformed
from hypergraph.sparse import SparseMatrix, csr_tensor


class Nodes(NamedTuple):
    """How many nodes send messages, and how many get them.

    ``own`` is the row with the first target's message to itself: 0 where sources and targets are the same
    nodes, ``sources`` where the rows of the targets come after theirs, ``None`` where no target has one.
    """

    sources: int
    targets: Any  # an int; None until the graph says
    own: int | None = 0

    @property
    def size(self) -> tuple[int, Any]:
        """The number of rows of messages, and that of targets."""
        return self.sources if self.own is None else self.own + self.targets, self.targets


class Edges(NamedTuple):
    """Weighted edges from rows of messages to target nodes."""

    edge_index: Tensor
    weight: Tensor
    nodes: Nodes

    def matrix(self) -> SparseMatrix:
        """One row for a target and one column for a sender; parallel edges are summed."""
        columns, rows = self.nodes.size
        weight = self.weight.detach()
        if eager(weight):
            # SciPy counts where torch sorts: linear in the edges, also for the transpose
            source, target = self.edge_index.numpy()
            csr = sp.coo_matrix((weight.numpy(), (target, source)), (rows, columns)).tocsr()
            both = (csr, (rows, columns)), (csr.tocsc(), (columns, rows))
            return SparseMatrix(
                *(csr_tensor(made.indptr, made.indices, made.data, size) for made, size in both)
            )
        ends = self.edge_index.flip(0)
        coo = torch.sparse_coo_tensor(ends, weight, (rows, columns), check_invariants=False).coalesce()
        row, column = coo.indices()
        crow = torch.cat([row.new_zeros(1), row.bincount(minlength=rows).cumsum(0)])
        return SparseMatrix(csr_tensor(crow, column, coo.values(), (rows, columns)))


def to_edges(graph: Any, edge_weight: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
    """``(edge_index, edge_weight)`` of any graph that PyG knows: an ``edge_index`` of shape ``(2, edges)``,
    weights beside it, an ``EdgeIndex``, or a transposed adjacency (row = target) as a ``torch.sparse`` tensor
    or a ``torch_sparse.SparseTensor``."""
    if is_sparse(graph):
        if edge_weight is not None:
            raise InputError("A sparse adjacency holds its own weights; pass no edge_weight with it.")
        if not isinstance(graph, Tensor):
            target, source, weight = graph.coo()
            return torch.stack([source, target]), weight
        graph = graph.to_sparse_coo().coalesce()
        return graph.indices().flip(0), graph.values()
    if not isinstance(graph, Tensor):
        raise InputError(
            f"A graph is an edge_index tensor of shape (2, edges) or a sparse adjacency, not a "
            f"{type(graph).__name__}."
        )
    return (graph.as_tensor() if hasattr(graph, "as_tensor") else graph), edge_weight


def weights_learn(graph: Any, edge_weight: Tensor | None) -> bool:
    """Whether the weights of the edges, beside the graph or in a sparse adjacency, require gradients."""
    learns = getattr(graph if edge_weight is None else edge_weight, "requires_grad", False)
    return bool(learns() if callable(learns) else learns)  # of a torch_sparse.SparseTensor it is a method


def number_of_nodes(graph: Any, ends: Tensor) -> int:
    """The rows of a sparse adjacency; of an ``edge_index`` one more than the largest of these ends."""
    if is_sparse(graph):
        return int(graph.size(0))
    return int(ends.max()) + 1 if ends.numel() else 0


def check_edges(edge_index: Tensor, edge_weight: Tensor | None, sources: int, targets: int) -> None:
    """An :class:`InputError` where the graph does not fit its nodes."""
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or edge_index.is_floating_point():
        raise InputError(
            f"edge_index must be an integer tensor of shape (2, edges), "
            f"got {edge_index.dtype} of shape {tuple(edge_index.shape)}."
        )
    if edge_weight is not None and edge_weight.shape != edge_index.shape[1:]:
        raise InputError(
            f"edge_weight must hold one number for each of the {edge_index.size(1)} edges, "
            f"got shape {tuple(edge_weight.shape)}."
        )
    if edge_index.numel() == 0 or transformed():
        return
    for row, count, role in zip(edge_index, (sources, targets), ("source", "target")):
        low, high = (int(bound) for bound in row.aminmax())
        if low < 0 or high >= count:
            raise InputError(
                f"edge_index names {role} node {low if low < 0 else high}, but there are features for "
                f"{count} nodes, numbered from 0; pass the features of every node."
            )
    if edge_weight is not None and not (edge_weight.detach().isfinite() & (edge_weight.detach() >= 0)).all():
        raise InputError("edge_weight must be finite and not negative, since a node divides by their sum.")


def check_size(shape: tuple[int, int], sources: int, targets: int | None) -> None:
    """An :class:`InputError` where an adjacency lacks a row for a target or a column for a source."""
    rows, columns = shape
    if columns != sources or targets not in (None, rows):
        raise InputError(
            f"The adjacency is {rows} x {columns}, but there are {sources} rows of features; use "
            f"normalized_adjacency(edge_index, num_nodes={sources})."
        )


def check_undirected(edge_index: Tensor, num_nodes: int) -> None:
    """An :class:`InputError` where some edge has no opposite one."""
    alone = ~torch.isin(edge_index[0] * num_nodes + edge_index[1], edge_index[1] * num_nodes + edge_index[0])
    if alone.any():
        source, target = edge_index[:, alone][:, 0].tolist()
        raise InputError(
            f"The graph must be undirected, but {int(alone.sum())} of its edges have no opposite one "
            f"({source} -> {target} is the first); use torch_geometric.utils.to_undirected."
        )


def normalize(
    graph: Any, weight: Tensor | None, nodes: Nodes, dtype: torch.dtype, norm: str, undirected: bool = False
) -> Edges:
    r"""The edges of :math:`D^{-1}(A + I)`, or where ``norm`` is ``"symmetric"`` of
    :math:`D^{-1/2}(A + I)D^{-1/2}`, those of I last; differentiable in the weights. A loop in the graph is
    added to that of I, so every node has one."""
    edge_index, weight = to_edges(graph, weight)
    if nodes.targets is None:
        nodes = nodes._replace(targets=number_of_nodes(graph, edge_index[1]))
    sources, targets, own = nodes
    if is_sparse(graph):
        check_size((graph.size(0), graph.size(1)), sources, targets)
    check_edges(edge_index, weight, sources, targets)
    if undirected:
        check_undirected(edge_index, sources)
    if norm == "symmetric" and own != 0:
        raise InputError("A bipartite graph has no symmetric adjacency; use norm='mean'.")
    source, target = edge_index
    weight = torch.ones_like(source, dtype=dtype) if weight is None else weight.to(dtype)
    if own is None:
        degree = weight.new_zeros(targets).index_add(0, target, weight)
        return Edges(edge_index, weight / degree[target].clamp_min(1e-30), nodes)
    node = torch.arange(targets, device=source.device)
    loops = weight.new_ones(targets)
    if own == 0:
        loop = source == target
        loops = loops.index_add(0, target[loop], weight[loop])
        source, target, weight = source[~loop], target[~loop], weight[~loop]
    degree = loops.index_add(0, target, weight)
    if norm == "symmetric":
        root = degree.sqrt()
        weight = weight / root[source] / root[target]
    else:
        weight = weight / degree[target]
    ends = torch.stack([torch.cat([source, node + own]), torch.cat([target, node])])
    return Edges(ends, torch.cat([weight, loops / degree]), nodes)


def normalized_adjacency(
    graph: Any,
    edge_weight: Tensor | None = None,
    num_nodes: int | None = None,
    dtype: torch.dtype | None = None,
) -> SparseMatrix:
    r""":math:`D^{-1}(A + I)`, to be computed once and passed in place of ``edge_index``.

    Args:
        graph: an ``edge_index``, ``EdgeIndex``, ``torch.sparse`` or ``SparseTensor`` adjacency.
        edge_weight: one weight an edge; ones by default.
        num_nodes: by default one more than the largest number in ``edge_index``.
        dtype: of the weights; by default torch's.
    """
    edges, weight = to_edges(graph, edge_weight)
    if num_nodes is None:
        num_nodes = number_of_nodes(graph, edges)
    dtype = dtype or torch.get_default_dtype()
    return normalize(edges, weight, Nodes(num_nodes, num_nodes), dtype, "mean").matrix()

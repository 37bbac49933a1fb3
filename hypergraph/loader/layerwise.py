"""Exact embeddings of all nodes, layer by layer and in blocks of rows: edges are never in one piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.loader.blocks import degrees
from hypergraph.nn.conv import AsItIs
from hypergraph.nn.encoders import GCN, HGCN
from hypergraph.sparse import SparseMatrix, csr_tensor

ROWS = 1 << 16  # of features at a time
EDGES = 1 << 22  # of the graph at a time

Rows = Callable[[Tensor], Tensor]


@torch.no_grad()
def encode(
    encoder: Any, features: Rows, pointer: Tensor, column: Tensor, weight: Tensor | None = None
) -> Tensor:
    """What ``encoder(x, edge_index)`` gives for an undirected graph, without its edges in one piece.

    Of several processes each computes some blocks of rows, and all get the whole.

    Args:
        encoder: One of :mod:`hypergraph.nn`; as it is in evaluation, whatever its mode.
        features: Gives the features of the nodes that it is asked for, on the device of the encoder.
        pointer: Where the edges of each node begin, ``(nodes + 1,)``.
        column: The other end of each edge.
        weight: The weight of each edge; ones by default.
    """
    training = encoder.training
    encoder.eval()
    try:
        if isinstance(encoder, HGCN):
            return _hgcn(encoder, features, _Graph(pointer, column, weight))
        if isinstance(encoder, GCN):
            return _gcn(encoder, features, _Graph(pointer, column, weight))
        return _by_rows(len(pointer) - 1, lambda nodes: encoder(features(nodes)))
    finally:
        encoder.train(training)


def _hgcn(encoder: HGCN, features: Rows, graph: _Graph) -> Tensor:
    u: Tensor | None = None
    for i, conv in enumerate(encoder.layers):
        before = u
        h = _by_rows(graph.count, partial(_transformed, encoder, partial(conv.fc, tangent=True), features, u))
        with _standing_in(conv, "fc"):
            u = graph.aggregate(h, partial(_convolved, conv, h), symmetric=conv.norm == "symmetric")
        u = encoder.between[i](u, before) if i < len(encoder.between) else u
    assert u is not None
    return encoder.space.exp0(u)


def _gcn(encoder: GCN, features: Rows, graph: _Graph) -> Tensor:
    u: Tensor | None = None
    for i, (conv, act) in enumerate(zip(encoder.layers, encoder.acts)):
        before = u
        h = _by_rows(graph.count, partial(_transformed, encoder, conv.lin, features, u))
        u = graph.aggregate(h, partial(_summed, conv.bias, act, h), symmetric=True)
        u = encoder.between[i](u, before) if encoder.between else u
    assert u is not None
    for _ in range(encoder.propagate):
        u = graph.aggregate(u, partial(_summed, None, nn.Identity(), u), symmetric=True)
    return u


def _transformed(encoder: Any, linear: Any, features: Rows, u: Tensor | None, nodes: Tensor) -> Tensor:
    """What the linear layer of a convolution gives for some rows: of the features in the first, of u then."""
    return linear(encoder.first.logarithms(features(nodes)) if u is None else u[nodes.to(u.device)])


def _convolved(conv: Any, h: Tensor, matrix: Tensor) -> Tensor:
    # nothing is differentiated, so that the transpose of the matrix is not needed
    return conv((h, None), SparseMatrix(matrix, matrix), tangent=True)


def _summed(bias: Tensor | None, act: Any, h: Tensor, matrix: Tensor) -> Tensor:
    total = matrix @ h
    return act(total if bias is None else total + bias)


@contextmanager
def _standing_in(module: nn.Module, name: str) -> Iterator[None]:
    own = getattr(module, name)
    setattr(module, name, AsItIs())
    try:
        yield
    finally:
        setattr(module, name, own)


def _by_rows(count: int, compute: Rows) -> Tensor:
    return _gathered(count, ((start, min(start + ROWS, count)) for start in range(0, count, ROWS)), compute)


def _gathered(count: int, blocks: Any, compute: Rows) -> Tensor:
    """The rows that ``compute`` gives for blocks of nodes; processes take turns."""
    rank, processes = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    out = None
    for turn, (start, stop) in enumerate(blocks):
        if turn % processes == rank or out is None:  # the first block says what the rows are
            part = compute(torch.arange(start, stop))
            if out is None:
                out = part.new_zeros(count, *part.shape[1:])
            if turn % processes == rank:
                out[start:stop] = part
    assert out is not None
    if processes > 1:
        dist.all_reduce(out)  # a row is 0 in all processes but one
    return out


class _Graph:
    """The normalised adjacency with self-loops, a few rows at a time."""

    def __init__(self, pointer: Tensor, column: Tensor, weight: Tensor | None) -> None:
        self.pointer, self.column, self.weight = pointer, column, weight
        self.count = len(pointer) - 1

    def _blocks(self) -> Iterator[tuple[int, int]]:
        start = 0
        while start < self.count:
            stop = int(torch.searchsorted(self.pointer, self.pointer[start] + EDGES, right=True)) - 1
            stop = min(max(stop, start + 1), start + ROWS, self.count)
            yield start, stop
            start = stop

    def aggregate(self, h: Tensor, compute: Rows, symmetric: bool = False) -> Tensor:
        """Rows of ``compute(matrix)``, where a matrix is some rows of :math:`D^{-1}(A + I)`.

        With ``symmetric`` of :math:`D^{-1/2}(A + I)D^{-1/2}`.
        """
        degree = degrees(self.pointer, self.weight, h.dtype)

        def block(nodes: Tensor) -> Tensor:
            start, stop = int(nodes[0]), int(nodes[-1]) + 1
            return compute(self._matrix(start, stop, degree, symmetric).to(h.device))

        return _gathered(self.count, self._blocks(), block)

    def _matrix(self, start: int, stop: int, degree: Tensor, symmetric: bool) -> Tensor:
        first, last = int(self.pointer[start]), int(self.pointer[stop])
        column = self.column[first:last]
        if column.numel() and not (int(column.min()) >= 0 and int(column.max()) < self.count):
            raise InputError(f"The graph names a node outside 0 to {self.count - 1}.")
        length = self.pointer[start : stop + 1].diff() + 1
        pointer = torch.cat([length.new_zeros(1), length.cumsum(0)])
        loops = pointer[:-1]  # the self-loop is the first of its row
        own = torch.zeros(int(pointer[-1]), dtype=torch.bool)
        own[loops] = True
        columns = torch.empty(len(own), dtype=torch.int64)
        columns[loops] = torch.arange(start, stop)
        columns[~own] = column.long()
        value = torch.ones(len(own), dtype=degree.dtype)
        if self.weight is not None:
            value[~own] = self.weight[first:last].to(degree.dtype)
        row = degree[start:stop].repeat_interleave(length)
        value /= (row * degree[columns]).sqrt() if symmetric else row
        return csr_tensor(pointer, columns, value, (stop - start, self.count))

"""What the layers of an encoder aggregate with in a batch: of each layer the rows that the next one needs."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hypergraph.sparse import SparseMatrix, csr_tensor


def degrees(pointer: Tensor, weight: Tensor | None, dtype: torch.dtype) -> Tensor:
    """The sum of the weights of each node's edges, and one for its self-loop."""
    if weight is None:
        return pointer.diff().to(dtype) + 1
    return torch.segment_reduce(weight.to(dtype), "sum", lengths=pointer.diff(), unsafe=True) + 1


def blocks(
    found: Any, pointer: Tensor, degree: Tensor, weight: Tensor | None, *, symmetric: bool
) -> list[SparseMatrix]:
    r"""Rows of :math:`D^{-1}(A + I)`, or of :math:`D^{-1/2}(A + I)D^{-1/2}` with ``symmetric``.

    D has the degrees in the whole graph, and the k messages that a node with d neighbours draws count d/k
    times each. So a sum over a sample is on average the sum over all neighbours, and equals it where all are
    drawn.

    Args:
        found: What a :class:`~hypergraph.loader.NeighborSampler` drew in each hop, along ``pointer``.
        pointer: Where the edges of each node of the graph begin.
        degree: Those of :func:`degrees`, of the type that the matrices are to have.
        weight: The weights of the edges of the graph.
        symmetric: Which of the two.

    Returns:
        A matrix for each hop. The last has one row for each node of the batch, and each of the others one for
        each column of its follower.
    """
    from hypergraph.loader import kernels  # which imports numba

    until = list(accumulate(found.num_sampled_nodes))
    given = np.empty(0, np.float32) if weight is None else weight[found.edge].numpy()
    nodes, source, target = (part.numpy() for part in (found.node, found.row, found.col))
    made: list[SparseMatrix] = []
    if len(until) == 1:  # the encoder does not look at the graph
        return made
    whole = kernels.normalized(
        pointer.numpy(), degree.numpy(), nodes, until[-2], source, target, given, symmetric
    )
    for rows, columns in zip(until[-2::-1], until[:0:-1]):
        crow = whole[0][: rows + 1]
        col, value = (part[: crow[-1]] for part in whole[1:])
        back = kernels.transposed(crow, col, value, columns)
        made.append(
            SparseMatrix(csr_tensor(crow, col, value, (rows, columns)), csr_tensor(*back, (columns, rows)))
        )
    return made

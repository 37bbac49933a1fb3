"""Rows of a matrix by their numbers, whatever holds it."""

from __future__ import annotations

import torch
from torch import Tensor

from hypergraph.memory import empty
from hypergraph.sparse import csr_tensor


def take_rows(x: Tensor, rows: Tensor) -> Tensor:
    """``x[rows]``; of a ``torch.sparse_csr`` matrix too, for which torch cannot do it.

    >>> take_rows(torch.eye(3).to_sparse_csr(), torch.tensor([2, 0])).to_dense()
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    if x.layout != torch.sparse_csr:
        if x.dim() != 2 or x.requires_grad:
            return x.index_select(0, rows)
        out = empty(len(rows), x.shape[1], x)
        return torch.index_select(x, 0, rows, out=out)
    crow, col, value = x.crow_indices().long(), x.col_indices(), x.values()
    first, length = crow[rows], crow[rows + 1] - crow[rows]
    pointer = torch.cat([length.new_zeros(1), length.cumsum(0)])
    # the place of every entry: those of a row follow each other
    place = torch.arange(int(pointer[-1]), device=rows.device)
    place = place + (first - pointer[:-1]).repeat_interleave(length)
    return csr_tensor(pointer, col[place], value[place], (len(rows), x.shape[1]))

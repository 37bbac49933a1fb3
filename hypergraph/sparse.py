"""Sparse CSR tensors, built in one place."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor


def csr_tensor(crow: Any, col: Any, value: Any, size: tuple[int, int]) -> Tensor:
    """A ``torch.sparse_csr`` matrix from its row pointer, column indices and values (arrays or tensors).

    Indices become int32 where they fit: the CPU kernels copy int64 ones at every product.

    >>> csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2)).to_dense()
    tensor([[0., 1.],
            [2., 0.]])
    """
    crow, col, value = torch.as_tensor(crow), torch.as_tensor(col), torch.as_tensor(value)
    index = torch.int32 if max(*size, value.numel()) < 2**31 else torch.int64
    with warnings.catch_warnings():
        # torch says once per process that the layout is in beta and that its invariants go unchecked.
        warnings.filterwarnings("ignore", "Sparse", UserWarning)
        return torch.sparse_csr_tensor(crow.to(index), col.to(index), value, size)

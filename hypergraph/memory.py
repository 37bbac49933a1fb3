"""Memory for large matrices."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

_NUMPY = {torch.float32: np.float32, torch.float64: np.float64}
_LARGE = 2**22


def empty(rows: int, columns: int, like: Tensor) -> Tensor:
    """A matrix that is to be written, of the type and on the device of ``like``.

    A large one lies in huge pages where the system has them: NumPy asks for those, torch does not, and in
    pages of 4 KB the first write to each takes longer than all that is computed from it.
    """
    large = rows * columns * like.element_size() >= _LARGE
    if large and like.device.type == "cpu" and like.dtype in _NUMPY:
        return torch.from_numpy(np.empty((rows, columns), _NUMPY[like.dtype]))
    return like.new_empty(rows, columns)

"""How the compiled functions are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile without the interpreter lock, and keep the code on disk where a folder for it can be written.

    numba looks at ``NUMBA_CACHE_DIR``, beside the source, and in the user's cache folder.
    """
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)

"""How the compiled functions are compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

LITTLE = 20_000  # arcs: until then Python is done sooner than the compiler

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile without the interpreter lock, and keep the code on disk where a folder for it can be written.

    numba looks at ``NUMBA_CACHE_DIR``, beside the source, and in the user's cache folder.
    """
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)


def linear_kernel(function: Function) -> Function:
    """A kernel in time linear in its second array, the arcs of a graph; plain Python where they are few."""
    compiled = kernel(function)

    @functools.wraps(function)
    def choose(indptr: Any, indices: Any, *more: Any) -> Any:
        return (function if len(indices) <= LITTLE else compiled)(indptr, indices, *more)

    return cast(Function, choose)

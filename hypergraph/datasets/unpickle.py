"""Reading pickles that others made, without running what is in them."""

from __future__ import annotations

import io
import math
import os
import pickle
import pickletools
import re
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.errors import InputError
from hypergraph.files import regular_file
from hypergraph.limits import require

Global = tuple[str, str]


class InertType:
    """Stands in for NumPy's dtype, whose own ``__setstate__`` makes pointers of bytes: keeps the name."""

    def __init__(self, name: object = None, *_: object) -> None:
        self.name, self.order = name, "="  # type: tuple[object, object]

    def __setstate__(self, state: Any) -> None:
        self.order = state[1]

    def numbers(self) -> np.dtype[Any]:
        """The type, if it is one of plain numbers."""
        name = self.name.decode("latin1") if isinstance(self.name, bytes) else self.name
        order = self.order if isinstance(self.order, str) else ""
        if not isinstance(name, str) or not re.fullmatch(r"[<>=|][biuf][1248]", order + name):
            raise ValueError(f"arrays of {name!r} are not read, only arrays of numbers")
        return np.dtype(order + name)


class InertArray:
    """Stands in for NumPy's array and for the function that makes one: keeps what the pickle says of it."""

    def __init__(self, *_: object) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def numbers(self) -> NDArray[Any]:
        """The array, built of its bytes if they are what its shape and type take."""
        _, shape, kind, fortran, raw = self.state
        if not isinstance(kind, InertType) or not isinstance(shape, tuple):
            raise ValueError("an array without a shape and a type")
        if not all(isinstance(side, int) and side >= 0 for side in shape):
            raise ValueError("an array of an impossible shape")
        raw = raw.encode("latin1") if isinstance(raw, str) else raw
        dtype = kind.numbers()
        if not isinstance(raw, bytes) or len(raw) != math.prod(shape) * dtype.itemsize:
            raise ValueError("an array with more or fewer bytes than its shape takes")
        flat = np.frombuffer(bytearray(raw), dtype)
        return flat.reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="), copy=False)


ARRAYS: dict[Global, Any] = {
    ("numpy.core.multiarray", "_reconstruct"): InertArray,
    ("numpy", "ndarray"): InertArray,
    ("numpy", "dtype"): InertType,
}


def restricted_load(
    path: str | os.PathLike[str],
    allowed: Set[Global],
    *,
    aliases: Mapping[Global, Any] | None = None,
    encoding: str = "latin1",
    verified: bool = False,
) -> Any:
    """Unpickle ``path``, admitting exactly the globals in ``allowed`` and refusing any other by its name.

    Args:
        path: The file.
        allowed: ``(module, name)`` of every global that the file may use, as spelled in the file.
        aliases: What a global in ``allowed`` means where it is not to be imported: an inert stand-in.
        encoding: How the byte strings of Python 2 are decoded.
        verified: Whether the file is a known one, by its SHA-256: then its sizes are not looked at.
    """
    meanings = aliases or {}

    class Restricted(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if (module, name) not in allowed:
                raise InputError(
                    f"{path}: refused to load '{module}.{name}': this pickle may run code; "
                    "take the file from its public home instead."
                )
            if (module, name) in meanings:
                return meanings[module, name]
            return super().find_class(module, name)

    require(8 * regular_file(Path(path)), str(path))
    content = Path(path).read_bytes()
    try:
        if not verified:
            _check_sizes(content)
        return Restricted(io.BytesIO(content), encoding=encoding).load()
    except InputError:
        raise
    # A broken pickle may raise nearly anything, from EOFError to UnicodeDecodeError.
    except Exception as error:
        raise InputError(f"{path}: not a readable pickle ({error}); download the file again.") from error


def _check_sizes(content: bytes) -> None:
    """Refuse sizes that the file cannot fill: the unpickler takes the memory before it looks."""
    for code, argument, _ in pickletools.genops(content):
        if "PUT" in code.name and not 0 <= int(argument or 0) <= len(content):
            raise ValueError(f"a memo of {argument} places in {len(content)} bytes")
        if code.name == "STOP":
            return

"""Reading pickles that others made, without running what is in them."""

from __future__ import annotations

import io
import math
import os
import pickle
import re
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.errors import InputError, short
from hypergraph.files import first_line, regular_file
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
            # Only a word is shown: to print what nests may take for ever.
            what = repr(short(name)) if isinstance(name, str) else "another type"
            raise ValueError(f"arrays of {what} are not read, only arrays of numbers")
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


# No batch of images has nearly as many parts; in Python each takes a hundred bytes and half a microsecond.
_MOST = 4_000_000


class _Codes(dict[int, Callable[[Any], None]]):
    """The handlers of a pickle's codes, of which a file may use so many."""

    def __init__(self, handlers: Mapping[int, Callable[[Any], None]]) -> None:
        super().__init__(handlers)
        self.left = _MOST

    def __getitem__(self, code: int) -> Callable[[Any], None]:
        self.left -= 1
        if self.left < 0:
            raise ValueError(f"more than {_MOST:,} parts")
        if code not in self:
            raise ValueError(f"the code {code}, which no such file has")
        return super().__getitem__(code)


def _plain_keys(name: str, keys: slice) -> Callable[[Any], None]:
    """A handler that fills a dictionary, for keys that are plain.

    The hash of a tuple that holds a tuple twice, which holds one twice, and so on, takes for ever.
    """

    def fill(unpickler: Any) -> None:
        if not all(isinstance(key, (str, bytes, int)) for key in unpickler.stack[keys]):
            raise ValueError("a key that is neither text nor a whole number")
        getattr(pickle._Unpickler, name)(unpickler)

    return fill


_HANDLERS: dict[int, Callable[[Any], None]] = {
    **pickle._Unpickler.dispatch,
    pickle.SETITEM[0]: _plain_keys("load_setitem", slice(-2, -1)),
    pickle.SETITEMS[0]: _plain_keys("load_setitems", slice(None, None, 2)),
    pickle.DICT[0]: _plain_keys("load_dict", slice(None, None, 2)),
}
# Sets have keys too, and buffers take memory for a size that the file only claims.
for _code in (pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET, pickle.BYTEARRAY8):
    del _HANDLERS[_code[0]]


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
        verified: Whether the file is a known one, by its SHA-256: then it is read faster, and not watched.
    """
    meanings = aliases or {}
    # The one in C takes memory for an index of nine bytes; the one in Python can be watched.
    base: Any = pickle.Unpickler if verified else pickle._Unpickler

    class Restricted(base):
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
        unpickler = Restricted(io.BytesIO(content), encoding=encoding)
        if not verified:
            unpickler.dispatch = _Codes(_HANDLERS)
        return unpickler.load()
    except InputError:
        raise
    # A broken pickle may raise nearly anything, from EOFError to UnicodeDecodeError.
    except Exception as error:
        reason = first_line(error) or type(error).__name__
        raise InputError(f"{path}: not a readable pickle ({reason}); download the file again.") from error

"""Reading pickles that others made, without running what is in them."""

from __future__ import annotations

import io
import math
import os
import pickle
import re
from collections.abc import Callable, Mapping
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
        if len(shape) > 4 or not all(isinstance(side, int) and 0 <= side < 2**48 for side in shape):
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


# CIFAR-100 has 200,000 parts, PubMed 180,000; each takes a hundred bytes and a microsecond in Python.
MOST = 1_000_000


class _Codes(dict[int, Callable[[Any], None]]):
    """The handlers of a pickle's codes, of which a file may use so many."""

    def __init__(self, handlers: Mapping[int, Callable[[Any], None]]) -> None:
        super().__init__(handlers)
        self.left = MOST

    def __getitem__(self, code: int) -> Callable[[Any], None]:
        self.left -= 1
        if self.left < 0:
            raise ValueError(f"more than {MOST:,} parts")
        if code not in self:
            raise ValueError(f"the code {code}, which no such file has")
        return super().__getitem__(code)


def _short(key: object) -> bool:
    """Whether a key is hashed and compared at once.

    The hash of a tuple that holds a tuple twice, which holds one twice, and so on, takes for ever; that of a
    number of a million digits is taken anew every time.
    """
    return (isinstance(key, (str, bytes)) and len(key) < 1000) or (
        isinstance(key, int) and key.bit_length() < 64
    )


def _fill(name: str, keys: slice) -> Callable[[Any], None]:
    """A handler that fills a dictionary, for keys that are short."""

    def fill(unpickler: Any) -> None:
        if not all(map(_short, unpickler.stack[keys])):
            raise ValueError("a key that is neither a short text nor a whole number")
        getattr(pickle._Unpickler, name)(unpickler)

    return fill


def _call(name: str) -> Callable[[Any], None]:
    """A handler that makes an object, of few arguments: to hand over a million takes time at every call."""

    def call(unpickler: Any) -> None:
        arguments = unpickler.stack[-1]
        if not isinstance(arguments, tuple) or len(arguments) > 10:
            raise ValueError("an object of too many arguments")
        getattr(pickle._Unpickler, name)(unpickler)

    return call


_HANDLERS: dict[int, Callable[[Any], None]] = {
    **pickle._Unpickler.dispatch,
    pickle.SETITEM[0]: _fill("load_setitem", slice(-2, -1)),
    pickle.SETITEMS[0]: _fill("load_setitems", slice(None, None, 2)),
    pickle.DICT[0]: _fill("load_dict", slice(None, None, 2)),
    pickle.REDUCE[0]: _call("load_reduce"),
    pickle.NEWOBJ[0]: _call("load_newobj"),
}
# Sets have keys too, buffers take memory for a size that the file only claims; the last is in no such file.
for _code in (pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET, pickle.BYTEARRAY8, pickle.NEWOBJ_EX):
    del _HANDLERS[_code[0]]


def restricted_load(
    path: str | os.PathLike[str], meanings: Mapping[Global, Any], *, encoding: str = "latin1"
) -> Any:
    """Unpickle ``path``; nothing is imported, and a global without a meaning is refused by its name.

    Also files that are known by their SHA-256 are read in this way, which takes a tenth of a second more.

    Args:
        path: The file.
        meanings: For the ``(module, name)`` of every global that the file may use, as spelled in the file,
            the inert stand-in that takes its place.
        encoding: How the byte strings of Python 2 are decoded.
    """

    # The one in C takes memory for an index of nine bytes; the one in Python can be watched.
    class Restricted(pickle._Unpickler):
        dispatch = _Codes(_HANDLERS)

        def find_class(self, module: str, name: str) -> Any:
            if (module, name) not in meanings:
                raise InputError(
                    f"{path}: refused to load '{short(module)}.{short(name)}': this pickle may run code; "
                    "take the file from its public home instead."
                )
            return meanings[module, name]

    require(8 * regular_file(Path(path)), str(path))
    content = Path(path).read_bytes()
    try:
        return Restricted(io.BytesIO(content), encoding=encoding).load()
    except InputError:
        raise
    # A broken pickle may raise nearly anything, from EOFError to UnicodeDecodeError.
    except Exception as error:
        reason = first_line(error) or type(error).__name__
        raise InputError(f"{path}: not a readable pickle ({reason}); download the file again.") from error

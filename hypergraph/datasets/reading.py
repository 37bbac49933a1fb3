"""Text, gzip and NumPy files from elsewhere: what they take is known before it is taken."""

from __future__ import annotations

import functools
import gzip
import io
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.errors import InputError
from hypergraph.files import reading, regular_file
from hypergraph.limits import require, size

# Text that shrinks more than this is no table of edges: it is made to fill the memory.
_RATIO, _UNSUSPECTED = 100, 64 << 20
_BLOCK = 1 << 22  # read at a time: a whole array would be held twice


def open_text(path: Path) -> io.TextIOWrapper:
    """A text file in UTF-8, unpacked where its name ends in ``.gz``."""
    require(regular_file(path), str(path))
    if path.suffix.lower() != ".gz":
        return path.open(encoding="utf-8-sig", newline="")
    _check_unpacked(path)
    return io.TextIOWrapper(gzip.GzipFile(path), encoding="utf-8-sig", newline="")


@functools.lru_cache(maxsize=1)  # a table is opened more than once
def _check_unpacked(path: Path) -> None:
    """Unpack a gzip file and keep nothing, so that its size is known before it is read."""
    most = max(_UNSUSPECTED, _RATIO * path.stat().st_size)
    count = 0
    with reading(path, "a gzip file"), gzip.GzipFile(path) as file:
        while count <= most and (block := file.read(1 << 20)):
            count += len(block)
    if count > most:
        raise InputError(
            f"{path}: {size(path.stat().st_size)} that unpack to more than {size(most)}; unpack it yourself "
            "if you trust it."
        )
    require(count, f"{path}: its text")


def load_numpy(path: Path, chosen: Callable[[str], bool] = lambda name: True) -> Any:
    """An array, or a dictionary of the chosen arrays of an npz; pickled objects are refused."""
    if regular_file(path) == 0:
        raise InputError(f"{path}:1: the file is empty.")
    with reading(path, "a NumPy file without pickled objects"), path.open("rb") as stream:
        if stream.read(4) != b"PK\x03\x04":
            stream.seek(0)
            return _read_npy(stream, path.stat().st_size, f"{path}")
        with zipfile.ZipFile(stream) as archive:
            members = [m for m in archive.infolist() if chosen(m.filename.removesuffix(".npy"))]
            require(sum(member.file_size for member in members), f"{path}: its arrays")
            arrays = {}
            for member in members:
                name = member.filename.removesuffix(".npy")
                if member.filename.endswith(".npy"):
                    with archive.open(member) as part:
                        arrays[name] = _read_npy(part, member.file_size, f"{path}: {name}")
            return arrays


def read_header(stream: IO[bytes], length: int, where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape, whether it is in Fortran's order, and the type, if ``length`` bytes are enough."""
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise InputError(f"{where}: NumPy's format {version[0]}.{version[1]} is not known; save it again.")
    shape, fortran, dtype = readers[version](stream)
    if dtype.kind not in "biufUS" or dtype.hasobject or not dtype.itemsize:
        raise InputError(f"{where}: an array of {dtype}; only arrays without pickled objects are read.")
    needed = math.prod(shape) * dtype.itemsize
    if min((0, *shape)) < 0 or not 0 <= needed <= length:
        raise InputError(f"{where}: {length} bytes, where an array of shape {shape} takes {needed}.")
    return shape, fortran, dtype


def _read_npy(stream: IO[bytes], length: int, where: str) -> NDArray[Any]:
    """One array, if its header agrees with the bytes that are there."""
    shape, fortran, dtype = read_header(stream, length, where)
    needed = math.prod(shape) * dtype.itemsize
    content = np.empty(needed, np.uint8)
    read = 0
    while read < needed and (block := stream.read(min(needed - read, _BLOCK))):
        content[read : read + len(block)] = np.frombuffer(block, np.uint8)
        read += len(block)
    if read != needed:
        raise InputError(f"{where}: truncated, {read} of {needed} bytes are there.")
    return content.view(dtype).reshape(shape, order="F" if fortran else "C")

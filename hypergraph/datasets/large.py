"""Graphs that are larger than the memory: their edges and features are read a block at a time.

What is said of nodes (labels, masks, ids) is held in memory. What cannot be read so is read as a whole.
"""

from __future__ import annotations

import itertools
import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hypergraph.datasets.arrays import GraphArrays
from hypergraph.datasets.check import Where, check_ends, checked_graph, checked_weights, finite, told
from hypergraph.datasets.reading import read_header
from hypergraph.datasets.sorting import BLOCK, Block, write_edges, write_features
from hypergraph.errors import InputError
from hypergraph.files import reading

_BYTES = 1 << 22  # of features that are read at once
Pairs = Callable[[], Iterator[tuple[NDArray[Any], NDArray[Any]]]]


class Rows(Protocol):
    """A matrix that is read in blocks of rows."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def in_rows(self) -> Iterator[NDArray[Any]]: ...


class Stored:
    """An array in an ``.npy`` file, or in an npz where it has a name, of which blocks are read."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.path, self.name = path, name
        self.where = str(path) if name is None else f"{path}: {name}"
        with self._open() as (_, header):
            self.shape, self.fortran, self.dtype = header

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], Any]]:
        """What follows the header, and the header."""
        with ExitStack() as files:
            with reading(self.path, "a NumPy file"):
                file: IO[bytes] = files.enter_context(self.path.open("rb"))
                length = self.path.stat().st_size
                if self.name is not None:
                    archive = files.enter_context(zipfile.ZipFile(file))
                    member = archive.getinfo(f"{self.name}.npy")
                    file, length = files.enter_context(archive.open(member)), member.file_size
                header = read_header(file, length, self.where)
            yield file, header

    @property
    def matrix(self) -> bool:
        """Whether it is a matrix of numbers."""
        return self.dtype.kind in "biuf" and len(self.shape) == 2 and self.shape[1] > 0

    def blocks(self, size: int, begin: int = 0, end: int | None = None) -> Iterator[NDArray[Any]]:
        """The numbers from ``begin`` to ``end``, ``size`` at a time."""
        end = math.prod(self.shape) if end is None else end
        with self._open() as (file, _):
            with reading(self.path, "a whole file"):
                file.seek(begin * self.dtype.itemsize, 1)
            for at in range(begin, end, size):
                wanted = (min(at + size, end) - at) * self.dtype.itemsize
                with reading(self.path, "a whole file"):
                    block = file.read(wanted)
                if len(block) != wanted:
                    raise InputError(f"{self.where}: truncated.")
                yield np.frombuffer(block, self.dtype)

    def in_rows(self) -> Iterator[NDArray[Any]]:
        """A matrix in blocks of its rows; in Fortran's order it is one block."""
        width = self.shape[1]
        if self.fortran:
            return (block.reshape(self.shape, order="F") for block in self.blocks(math.prod(self.shape)))
        height = max(_BYTES // (self.dtype.itemsize * width), 1)
        return (block.reshape(-1, width) for block in self.blocks(height * width))


@dataclass
class LargeGraph:
    """A graph in blocks.

    Args:
        name: What it is called.
        where: The file, for messages.
        pairs: Reads the ends of all edges, each time it is called.
        num_nodes: By default the rows of ``x``, the length of ``y``, or the largest number and one.
        x: The features.
        weights: One for each edge.
        about: What else :func:`~hypergraph.datasets.check.checked_graph` takes: ``y``, ``ids`` and so on.
        edge: Where an edge is described, for messages.
    """

    name: str
    where: str
    pairs: Pairs
    num_nodes: int | None = None
    x: Rows | None = None
    weights: Stored | None = None
    about: dict[str, Any] = field(default_factory=dict)
    edge: Where | None = None

    def write(self, folder: Path) -> tuple[GraphArrays, NDArray[np.int64], bool]:
        """Write edges and features to a folder.

        Returns:
            The graph without edges, and with a column of zeros for its features; where the edges of each node
            begin; and whether the features are sparse.
        """
        count, y = self.num_nodes, self.about.get("y")
        if count is None and self.x is None and y is None:
            count = 1 + max((int(max(a.max(), b.max())) for a, b in self.pairs()), default=-1)
        graph = checked_graph(
            self.name,
            np.empty((2, 0), np.int64),
            num_nodes=count,
            x=None if self.x is None else np.zeros((self.x.shape[0], 1), np.float32),
            where=self.where,
            **self.about,
        )
        count = graph.num_nodes
        simple, pointer = write_edges(folder, lambda: self._edges(count), count, weighted=self._weighted())
        graph.changes = told(graph, simple, np.diff(pointer))
        sparse = self.x is not None and write_features(folder, self._rows(), self.x.shape)
        return graph, pointer, sparse

    def _edges(self, count: int) -> Iterator[Block]:
        row = 0
        given = itertools.repeat(None) if self.weights is None else self.weights.blocks(BLOCK)
        for (source, target), weight in zip(self.pairs(), given):
            check_ends(np.stack([source, target]), count, self._named(self.edge, "edge", row))
            row += len(source)
            yield source.astype(np.int64, copy=False), target.astype(np.int64, copy=False), weight

    def _weighted(self) -> bool:
        """Whether there are weights other than 1; all are checked."""
        row, found = 0, False
        for block in () if self.weights is None else self.weights.blocks(BLOCK):
            named = self._named(self.edge, "edge", row)
            found |= checked_weights(block, len(block), self.where, named) is not None
            row += len(block)
        return found

    def _rows(self) -> Iterator[NDArray[np.float32]]:
        row = 0
        assert self.x is not None
        for block in self.x.in_rows():
            yield finite(block, self._named(None, "node", row))
            row += len(block)
        if row != self.x.shape[0]:
            raise InputError(f"{self.where}: x has {row} rows, where the graph has {self.x.shape[0]} nodes.")

    def _named(self, named: Where | None, kind: str, begin: int) -> Where:
        """Where something is that was read in a block which begins at ``begin``."""
        whole = named or (lambda row: f"{self.where}: {kind} {row}")
        return lambda row: whole(begin + row)


def is_edge_index(array: Stored) -> bool:
    """Whether it is whole numbers of shape ``(2, edges)``."""
    return array.matrix and array.shape[0] == 2 and array.dtype.kind in "iu"


def stored_pairs(edge_index: Stored) -> Pairs:
    """Reads an ``edge_index`` of shape ``(2, edges)``."""
    if not is_edge_index(edge_index):
        raise InputError(f"{edge_index.where}: not whole numbers of shape (2, edges).")
    half = edge_index.shape[1]
    if edge_index.fortran:  # the ends of an edge are side by side
        return lambda: (tuple(block.reshape(-1, 2).T) for block in edge_index.blocks(2 * BLOCK))
    return lambda: zip(edge_index.blocks(BLOCK, 0, half), edge_index.blocks(BLOCK, half))


def stored_names(path: Path) -> set[str]:
    """The names of the arrays in an npz; none where it is no such file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")}
    except (zipfile.BadZipFile, OSError):
        return set()

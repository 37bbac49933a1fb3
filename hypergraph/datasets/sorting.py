"""Edges and features of a graph that is larger than the memory: written to a folder in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.datasets.arrays import SimpleEdges, first_of_each, means, mostly_empty

# Sources, targets, and weights where there are any, of some of the edges.
Block = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any] | None]
BLOCK = 1 << 18  # edges that are read at once
BUCKET = 1 << 20  # directed edges that are sorted at once
_ROWS = 1 << 22  # bytes of features


def write_array(path: Path, dtype: Any, shape: tuple[int, ...], pieces: Iterable[NDArray[Any]]) -> None:
    """An ``.npy`` file of pieces that follow each other."""
    header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for piece in pieces:
            file.write(np.ascontiguousarray(piece, dtype).data)


def write_edges(
    folder: Path, edges: Callable[[], Iterator[Block]], num_nodes: int, *, weighted: bool
) -> tuple[SimpleEdges, NDArray[np.int64]]:
    """Write ``edge_index.npy`` and, where ``weighted``, ``edge_weight.npy``, as ``simplify`` and
    ``both_directions`` of :mod:`hypergraph.datasets.arrays` make them of a graph in memory.

    The nodes are divided into buckets of equally many edges, which are sorted one after the other. In memory
    are a block, a bucket and one number a node; on the disk are the edges twice beside the result.

    Args:
        folder: Where to write, also what is removed again.
        edges: Reads all edges, between nodes of the graph, each time it is called.
        num_nodes: Of the graph.
        weighted: Whether edges have weights.

    Returns:
        What became of the edges (without the edges), and where those of each node begin.
    """
    pointer = np.zeros(num_nodes + 1, np.int64)
    loops = 0
    for source, target, _ in edges():
        proper = source != target
        loops += len(proper) - int(proper.sum())
        for ends in (source, target):
            np.add.at(pointer, ends[proper] + 1, 1)
    np.cumsum(pointer, out=pointer)
    given = int(pointer[-1])
    cuts = np.searchsorted(pointer, np.arange(0, given, BUCKET), side="right") - 1
    cuts = np.unique(np.append(cuts, num_nodes))
    _scatter(folder, edges, num_nodes, cuts, pointer[cuts], weighted)
    distinct = _sort(folder, num_nodes, cuts, pointer, weighted)
    kept = int(pointer[-1])
    sources = (np.repeat(np.arange(a, b), np.diff(pointer[a : b + 1])) for a, b in pairwise(cuts))
    targets = _numbers(folder / "targets", np.int64)
    write_array(folder / "edge_index.npy", np.int64, (2, kept), chain(sources, targets))
    if weighted:
        write_array(folder / "edge_weight.npy", np.float32, (kept,), _numbers(folder / "weights", np.float32))
    for name in ("keys", "given", "targets", "weights"):
        (folder / name).unlink(missing_ok=True)
    # Each edge is counted at both of its ends.
    repeated, one_way = (given - distinct) // 2, (2 * kept - distinct) // 2
    return SimpleEdges(np.empty((2, 0), np.int64), None, loops, repeated, one_way), pointer


def _scatter(
    folder: Path,
    edges: Callable[[], Iterator[Block]],
    num_nodes: int,
    cuts: NDArray[np.int64],
    place: NDArray[np.int64],
    weighted: bool,
) -> None:
    """Write a key for each end of each edge (that end, the other, the direction) to its bucket in a file,
    which begins at ``place``; and the weights to another."""
    place = place.copy()
    with ExitStack() as files:
        keys_file = files.enter_context((folder / "keys").open("wb"))
        given_file = files.enter_context((folder / "given").open("wb")) if weighted else None
        for source, target, weight in edges():
            proper = source != target
            source, target = source[proper], target[proper]
            keys = np.concatenate([source * num_nodes + target, target * num_nodes + source])
            keys <<= 1
            keys += np.tile(source > target, 2)
            if weight is None:
                keys.sort()
            else:
                order = np.argsort(keys, kind="stable")
                keys, values = keys[order], np.tile(weight[proper].astype(np.float64), 2)[order]
            inside = np.searchsorted(keys, 2 * cuts * num_nodes)
            for bucket, (begin, end) in enumerate(pairwise(inside)):
                if begin == end:
                    continue
                keys_file.seek(8 * place[bucket])
                keys_file.write(keys[begin:end].data)
                if given_file is not None:
                    given_file.seek(8 * place[bucket])
                    given_file.write(values[begin:end].data)
                place[bucket] += end - begin


def _sort(
    folder: Path, num_nodes: int, cuts: NDArray[np.int64], pointer: NDArray[np.int64], weighted: bool
) -> int:
    """Sort the buckets and drop what repeats; ``pointer`` becomes that of what is left.

    Returns:
        How many different keys there were.
    """
    distinct = 0
    with ExitStack() as files:
        keys_file = files.enter_context((folder / "keys").open("rb"))
        targets_file = files.enter_context((folder / "targets").open("wb"))
        if weighted:
            given_file = files.enter_context((folder / "given").open("rb"))
            weights_file = files.enter_context((folder / "weights").open("wb"))
        for (first, last), (begin, end) in zip(pairwise(cuts), pairwise(pointer[cuts])):
            keys = np.fromfile(keys_file, np.int64, end - begin)
            if weighted:
                order = np.argsort(keys, kind="stable")
                keys, given = keys[order], np.fromfile(given_file, np.float64, end - begin)[order]
            else:
                keys.sort()
            distinct += int(first_of_each(keys).sum())
            keys >>= 1
            chosen = first_of_each(keys)
            if weighted:
                weights_file.write(means(given, chosen).data)
            near, far = np.divmod(keys[chosen], num_nodes)
            targets_file.write(far.data)
            pointer[first + 1 : last + 1] = np.bincount(near - first, minlength=last - first)
    np.cumsum(pointer, out=pointer)
    return distinct


def _numbers(path: Path, dtype: Any) -> Iterator[NDArray[Any]]:
    with path.open("rb") as file:
        while len(block := np.fromfile(file, dtype, BLOCK)):
            yield block


def write_features(folder: Path, rows: Iterable[NDArray[np.float32]], shape: tuple[int, ...]) -> bool:
    """Write ``x.npy``, or where most of it is 0 ``x_crow.npy``, ``x_col.npy`` and ``x_value.npy``.

    Returns:
        Whether they are sparse.
    """
    filled = 0

    def counted() -> Iterator[NDArray[np.float32]]:
        nonlocal filled
        for block in rows:
            filled += int(np.count_nonzero(block))
            yield block

    dense = folder / "x.npy"
    write_array(dense, np.float32, shape, counted())
    if not mostly_empty(filled, shape):
        return False
    index = np.int32 if max(*shape, filled) < 2**31 else np.int64
    height = max(_ROWS // (4 * shape[1]), 1)

    def blocks() -> Iterator[NDArray[np.float32]]:
        with dense.open("rb") as file:
            file.seek(dense.stat().st_size - 4 * shape[0] * shape[1])
            while len(block := np.fromfile(file, np.float32, height * shape[1])):
                yield block.reshape(-1, shape[1])

    crow = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.concatenate([np.count_nonzero(block, axis=1) for block in blocks()]), out=crow[1:])
    write_array(folder / "x_crow.npy", index, crow.shape, [crow])
    write_array(folder / "x_col.npy", index, (filled,), (block.nonzero()[1] for block in blocks()))
    write_array(folder / "x_value.npy", np.float32, (filled,), (block[block != 0] for block in blocks()))
    dense.unlink()
    return True

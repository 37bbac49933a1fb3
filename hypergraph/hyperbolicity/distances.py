"""Unweighted shortest paths from many nodes at once: one bit of a machine word is one search."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from hypergraph.hyperbolicity.blocks import SWEEP
from hypergraph.hyperbolicity.bracket import STOP
from hypergraph.kernel import kernel, linear_kernel

WORDS = SWEEP // 64


@intrinsic
def _lowest_bit(typing_context: Any, word: Any) -> Any:
    """The position of the lowest set bit: one instruction, which numba does not offer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.uint64(types.uint64), generate


def sweep(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    sources: NDArray[np.int32],
    distances: NDArray[Any],
    column: int,
    shared: NDArray[np.int64],
) -> int:
    """Breadth-first search from at most ``SWEEP`` sources together.

    Writes the distance from ``sources[i]`` to ``v`` into ``distances[v, column + i]`` (into nothing if
    ``distances`` has no columns) and returns the largest one; -1 if ``shared[STOP]`` was set meanwhile.
    """
    n = len(indptr) - 1
    seen, front, reached = (np.zeros((n, WORDS), np.uint64) for _ in range(3))
    listed, active, fresh = np.zeros(n, np.uint8), np.empty(n, np.int32), np.empty(n, np.int32)
    found: int = _sweep(
        indptr,
        indices,
        sources,
        distances,
        column,
        shared,
        seen,
        front,
        reached,
        listed,
        active,
        fresh,
    )
    return found


@kernel
def _sweep(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    sources: NDArray[np.int32],
    distances: NDArray[Any],
    column: int,
    shared: NDArray[np.int64],
    seen: NDArray[np.uint64],
    front: NDArray[np.uint64],
    reached: NDArray[np.uint64],
    listed: NDArray[np.uint8],
    active: NDArray[np.int32],
    fresh: NDArray[np.int32],
) -> int:
    one, zero = np.uint64(1), np.uint64(0)
    write = distances.shape[1] > 0
    for i in range(len(sources)):
        s = sources[i]
        seen[s, i >> 6] |= one << np.uint64(i & 63)
        front[s, i >> 6] = seen[s, i >> 6]
        active[i] = s
        if write:
            distances[s, column + i] = 0
    actives = len(sources)
    level = 0
    while True:
        if shared[STOP]:
            return -1
        found = 0
        for i in range(actives):
            u = active[i]
            f0, f1, f2, f3 = front[u, 0], front[u, 1], front[u, 2], front[u, 3]
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                n0 = f0 & ~seen[v, 0]
                n1 = f1 & ~seen[v, 1]
                n2 = f2 & ~seen[v, 2]
                n3 = f3 & ~seen[v, 3]
                if n0 | n1 | n2 | n3:
                    reached[v, 0] |= n0
                    reached[v, 1] |= n1
                    reached[v, 2] |= n2
                    reached[v, 3] |= n3
                    if not listed[v]:
                        listed[v] = 1
                        fresh[found] = v
                        found += 1
        if found == 0:
            return level
        level += 1
        for i in range(found):
            v = fresh[i]
            listed[v] = 0
            row = distances[v]
            for w in range(WORDS):
                new = reached[v, w]
                reached[v, w] = zero
                front[v, w] = new
                seen[v, w] |= new
                if write:
                    first = column + 64 * w
                    while new:
                        row[first + np.int64(_lowest_bit(new))] = level
                        new &= new - one
        active, fresh = fresh, active
        actives = found


@linear_kernel
def depths(indptr: NDArray[np.int32], indices: NDArray[np.int32], source: int) -> NDArray[np.int32]:
    """The distance of every node from ``source``, -1 where there is no path."""
    depth = np.full(len(indptr) - 1, -1, np.int32)
    queue = np.empty(len(indptr) - 1, np.int32)
    depth[source] = 0
    queue[0] = source
    head, tail = 0, 1
    while head < tail:
        u = queue[head]
        head += 1
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if depth[v] < 0:
                depth[v] = depth[u] + 1
                queue[tail] = v
                tail += 1
    return depth


def centre(
    indptr: NDArray[np.int32], indices: NDArray[np.int32], start: int
) -> tuple[int, NDArray[np.int32]]:
    """A node in the middle of a long shortest path of the component of ``start``, and its depths.

    Its eccentricity bounds the diameter: from half of it to twice it, and mostly tightly.
    """
    end = int(depths(indptr, indices, start).argmax())
    from_end = depths(indptr, indices, end)
    other = int(from_end.argmax())
    from_other = depths(indptr, indices, other)
    length = from_end[other]
    on_path = from_end + from_other == length
    middle = int(np.flatnonzero(on_path & (from_end == length // 2))[0])
    return middle, depths(indptr, indices, middle)

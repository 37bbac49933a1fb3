"""The kernels of the exact search: a local search from below, and the far-apart pairs from above.

A quadruple is two pairs (x, y), (v, w) with d(x, y) + d(v, w) the largest of its sums; twice its delta is

    t = d(x, y) + d(v, w) - max(d(x, v) + d(y, w), d(x, w) + d(y, v)).

All kernels read the distances of one block, work on a range of its rows, and share two numbers:
``shared[STOP]`` asks them to return, ``shared[LOWER]`` is the largest t seen by any of them. What a kernel
finds it leaves in ``found`` as t and the four nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.hyperbolicity.bracket import LOWER, STOP
from hypergraph.kernel import kernel


@kernel
def _random(state: int) -> int:
    """The next of 2**31 pseudo-random numbers. (numba's own generator takes five seconds to compile.)"""
    return (state * 1103515245 + 12345) & 0x7FFFFFFF


@kernel
def _farthest(row: NDArray[Any]) -> int:
    at = 0
    for v in range(len(row)):
        if row[v] > row[at]:
            at = v
    return at


@kernel
def climb(
    distances: NDArray[Any],
    starts: int,
    seed: int,
    shared: NDArray[np.int64],
    value: NDArray[np.int32],
    found: NDArray[np.int64],
    quadruple: NDArray[np.int64],
) -> None:
    """Local search: exchange one node of a quadruple at a time for the best of all nodes, ties at random."""
    n = distances.shape[0]
    state = _random(seed)
    for start in range(starts):
        if shared[STOP]:
            return
        for i in range(4):
            state = _random(state)
            quadruple[i] = (state >> 8) % n
        quadruple[1] = _farthest(distances[quadruple[0]])
        if start % 2:
            quadruple[0] = _farthest(distances[quadruple[1]])
        best, stale, place = np.int32(-1), 0, 3
        while stale < 16:
            a, b, c = quadruple[(place + 1) & 3], quadruple[(place + 2) & 3], quadruple[(place + 3) & 3]
            to_a, to_b, to_c = distances[a], distances[b], distances[c]
            bc, ac, ab = np.int32(to_b[c]), np.int32(to_a[c]), np.int32(to_a[b])
            top = np.int32(0)
            for p in range(n):
                s1, s2, s3 = np.int32(to_a[p] + bc), np.int32(to_b[p] + ac), np.int32(to_c[p] + ab)
                # Largest minus second largest, without a branch.
                high, low = s1 if s1 > s2 else s2, s1 if s1 < s2 else s2
                second = s3 if s3 > low else low
                gap = np.int32(high - second) if high > second else np.int32(second - high)
                value[p] = gap
                top = gap if gap > top else top
            state = _random(state)
            p = (state >> 8) % n
            while value[p] != top:
                p = p + 1 if p + 1 < n else 0
            quadruple[place] = p
            place = (place + 1) & 3
            stale += 1
            if top > best:
                best, stale = top, 0
        if best > shared[LOWER] and best > found[0]:
            found[0] = shared[LOWER] = best
            for i in range(4):
                found[1 + i] = quadruple[i]


@kernel
def _far_apart(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    from_x: NDArray[Any],
    from_y: NDArray[Any],
    x: int,
    y: int,
) -> bool:
    """Whether no neighbour of y is farther from x than y is, and no neighbour of x farther from y.

    Moving an end of a pair to such a neighbour raises the largest sum by 1 and no other by more: some
    quadruple of largest delta consists of two far-apart pairs.
    """
    k = from_x[y]
    for e in range(indptr[y], indptr[y + 1]):
        if from_x[indices[e]] > k:
            return False
    for e in range(indptr[x], indptr[x + 1]):  # noqa: SIM110 (numba has no all())
        if from_y[indices[e]] > k:
            return False
    return True


@kernel
def mark_far_apart(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    distances: NDArray[Any],
    k: int,
    first: int,
    last: int,
    reach: NDArray[np.int32],
    shared: NDArray[np.int64],
) -> None:
    """Set ``reach`` to k for the nodes whose farthest far-apart partner is at distance k."""
    n = distances.shape[0]
    for x in range(first, last):
        if shared[STOP]:
            return
        from_x = distances[x]
        for y in range(x + 1, n):
            if (
                from_x[y] == k
                and (reach[x] == 0 or reach[y] == 0)
                and _far_apart(indptr, indices, from_x, distances[y], x, y)
            ):
                if reach[x] == 0:
                    reach[x] = k
                if reach[y] == 0:
                    reach[y] = k


@kernel
def check_pairs(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    distances: NDArray[Any],
    k: int,
    first: int,
    last: int,
    reach: NDArray[np.int32],
    centres: NDArray[np.int64],
    shared: NDArray[np.int64],
    scratch: NDArray[np.int32],
    mask: NDArray[np.uint8],
    words: NDArray[np.uint64],
    found: NDArray[np.int64],
) -> None:
    """Compare the far-apart pairs (x, y) at distance k, x in [first, last), with those at distance k or more.

    Borassi, Coudert, Crescenzi and Marino's pruning. With L = shared[LOWER], t > L needs of v, and of w,

    - |d(x, v) - d(y, v)| < k - L, and
    - d(x, v) + d(y, v) <= 2 reach(v) + k - 2L - 2        (*acceptable*),

    and of v or w, for any node c one likes,

    - d(x, v) + d(y, v) < 2 d(c, v) + k - L               (*valuable*).

    The valuable nodes are few when c is central. With the first condition they are limited for all y at once:
    ``candidate`` holds them for one x, under the centre that leaves the fewest.
    """
    n = distances.shape[0]
    slack, candidate, valuable, acceptable = scratch[0], scratch[1], scratch[2], scratch[3]
    for x in range(first, last):
        if reach[x] == 0:
            continue
        from_x = distances[x]
        candidates = -1
        centre = from_x
        lower = shared[LOWER]
        gap = np.int32(k - lower)
        for y in range(x + 1, n):
            if from_x[y] != k or reach[y] == 0:
                continue
            from_y = distances[y]
            if not _far_apart(indptr, indices, from_x, from_y, x, y):
                continue
            if shared[STOP] or shared[LOWER] >= k:
                return
            if candidates < 0 or shared[LOWER] > lower:
                lower = shared[LOWER]
                gap = np.int32(k - lower)
                for v in range(n):
                    slack[v] = 2 * reach[v] + k - 2 * lower - 2 if reach[v] else -1
                chosen = _best_centre(distances, from_x, centres, slack, k, gap)
                centre = distances[chosen]
                candidates = 0
                for v in range(n):
                    least = 2 * np.int32(from_x[v]) - gap + 1
                    least = least if least > k else k
                    if least <= slack[v] and least < 2 * np.int32(centre[v]) + gap:
                        candidate[candidates] = v
                        candidates += 1
            valuables = 0
            for i in range(candidates):
                v = candidate[i]
                a, b = np.int32(from_x[v]), np.int32(from_y[v])
                if abs(a - b) < gap and a + b <= slack[v] and a + b < 2 * np.int32(centre[v]) + gap:
                    valuable[valuables] = v
                    valuables += 1
            if valuables == 0:
                continue
            for v in range(n):
                a, b = np.int32(from_x[v]), np.int32(from_y[v])
                mask[v] = (abs(a - b) < gap) & (a + b <= slack[v])
            acceptables = 0
            for i in range(len(words)):
                if words[i]:
                    for v in range(8 * i, 8 * i + 8):
                        if mask[v]:
                            acceptable[acceptables] = v
                            acceptables += 1
            for i in range(valuables):
                v = valuable[i]
                from_v = distances[v]
                a, b = np.int64(from_x[v]), np.int64(from_y[v])
                for j in range(acceptables):
                    w = acceptable[j]
                    other, third = a + from_y[w], b + from_x[w]
                    t = k + from_v[w] - (other if other > third else third)
                    if t > lower and t > found[0]:
                        found[0], found[1], found[2], found[3], found[4] = t, x, y, v, w
                        if t > shared[LOWER]:
                            shared[LOWER] = t


@kernel
def _best_centre(
    distances: NDArray[Any],
    from_x: NDArray[Any],
    centres: NDArray[np.int64],
    slack: NDArray[np.int32],
    k: int,
    gap: int,
) -> int:
    """The centre that leaves the fewest candidates for x."""
    best, chosen = len(from_x) + 1, centres[0]
    low, high, nearest = np.int32(1 - gap), np.int32(gap), np.int32(k)
    for c in centres:
        centre = distances[c]
        count = np.int32(0)
        for v in range(len(from_x)):
            least = np.int32(2 * np.int32(from_x[v]) + low)
            least = least if least > nearest else nearest
            count += np.int32((least <= slack[v]) & (least < 2 * np.int32(centre[v]) + high))
        if count < best:
            best, chosen = count, c
    return chosen

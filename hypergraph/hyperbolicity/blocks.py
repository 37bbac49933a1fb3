"""Biconnected components: delta is the largest of theirs, and each is isometric in the graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hypergraph.kernel import linear_kernel

# One bit-parallel search (sweep) starts from this many nodes: four machine words.
SWEEP = 256


@linear_kernel
def biconnected(
    indptr: NDArray[np.int32], indices: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Hopcroft and Tarjan's algorithm without recursion.

    Returns the nodes of all blocks one after the other, and where each block begins (and the last one ends).
    """
    n = len(indptr) - 1
    order = np.zeros(n, np.int32)
    low = np.empty(n, np.int32)
    parent = np.full(n, -1, np.int32)
    edge = indptr[:-1].copy()
    path = np.empty(n, np.int32)
    waiting = np.empty(n, np.int32)
    # A graph has fewer than n blocks, and a block repeats one node of those found before it.
    nodes = np.empty(2 * n, np.int32)
    starts = np.zeros(n + 1, np.int64)
    blocks = filled = time = 0
    for root in range(n):
        if order[root]:
            continue
        time += 1
        order[root] = low[root] = time
        path[0] = root
        depth = pending = 0
        while depth >= 0:
            u = path[depth]
            if edge[u] < indptr[u + 1]:
                v = indices[edge[u]]
                edge[u] += 1
                if order[v] == 0:
                    time += 1
                    order[v] = low[v] = time
                    parent[v] = u
                    depth += 1
                    path[depth] = v
                    waiting[pending] = v
                    pending += 1
                elif v != parent[u]:
                    low[u] = min(low[u], order[v])
                continue
            depth -= 1
            if depth < 0:
                break
            above = path[depth]
            low[above] = min(low[above], low[u])
            if low[u] >= order[above]:
                while True:
                    pending -= 1
                    nodes[filled] = waiting[pending]
                    filled += 1
                    if waiting[pending] == u:
                        break
                nodes[filled] = above
                filled += 1
                blocks += 1
                starts[blocks] = filled
    return nodes[:filled].copy(), starts[: blocks + 1].copy()


@linear_kernel
def induced(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    nodes: NDArray[np.int32],
    position: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The subgraph on ``nodes``, numbered in that order. ``position`` is all -1 before and after."""
    for i in range(len(nodes)):
        position[nodes[i]] = i
    total = 0
    for u in nodes:
        for e in range(indptr[u], indptr[u + 1]):
            total += position[indices[e]] >= 0
    sub_indptr = np.zeros(len(nodes) + 1, np.int32)
    sub_indices = np.empty(total, np.int32)
    filled = 0
    for i in range(len(nodes)):
        for e in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            v = position[indices[e]]
            if v >= 0:
                sub_indices[filled] = v
                filled += 1
        sub_indptr[i + 1] = filled
    for u in nodes:
        position[u] = -1
    return sub_indptr, sub_indices


@linear_kernel
def clustered(indptr: NDArray[np.int32], indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """An order of the nodes in which each run of ``SWEEP`` is a small ball.

    Searches from one ball meet the rest of the graph together, so a sweep touches a node few times.
    """
    n = len(indptr) - 1
    order = np.empty(n, np.int32)
    taken = np.zeros(n, np.bool_)
    filled = 0
    for first in range(n):
        if taken[first]:
            continue
        taken[first] = True
        order[filled] = first
        head = filled
        filled += 1
        while head < filled:
            u = order[head]
            head += 1
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                if not taken[v]:
                    taken[v] = True
                    order[filled] = v
                    filled += 1
                    if filled % SWEEP == 0:
                        # The ball is full; the next one grows from the rim of this one.
                        head = filled - 1
                        break
    return order

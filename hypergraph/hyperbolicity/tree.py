"""An upper bound by Gromov's approximating tree: a graph near a tree metric has a small delta.

With twice the Gromov products g(x, y) = d(p, x) + d(p, y) - d(x, y) at a base point p, let g'(x, y) be the
smallest product on the best chain from x to y. Then d'(x, y) = d(p, x) + d(p, y) - g'(x, y) is the metric of
a tree, and d - e <= d' <= d where e is the largest g' - g. The sums of a quadruple differ by at most 2e from
the tree's, of which the two largest are equal: twice delta is at most 2e.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.hyperbolicity.bracket import STOP
from hypergraph.kernel import kernel


@kernel
def chain(
    distances: NDArray[Any], base: int, shared: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Prim's order of the maximum spanning tree of the products, and the product that let each node in.

    Between the nodes at places i < j of the order, g' is the smallest of the products at places i + 1 to j.
    """
    n = distances.shape[0]
    from_base = distances[base]
    order = np.empty(n, np.int32)
    gaps = np.zeros(n, np.int32)
    best = np.full(n, -1, np.int32)
    u = np.int64(base)
    for i in range(n):
        if shared[STOP]:
            break
        order[i] = u
        best[u] = -2
        from_u = distances[u]
        depth = np.int32(from_base[u])
        largest = np.int32(-1)
        for v in range(n):
            product = np.int32(depth + np.int32(from_base[v]) - np.int32(from_u[v]))
            best[v] = max(best[v], product) if best[v] != -2 else -2
            largest = max(largest, best[v])
        if i + 1 < n:
            gaps[i + 1] = largest
            u = 0
            while best[u] != largest:
                u += 1
    return order, gaps


@kernel
def chain_error(
    distances: NDArray[Any],
    order: NDArray[np.int32],
    gaps: NDArray[np.int32],
    first: int,
    last: int,
    shared: NDArray[np.int64],
) -> int:
    """The largest g' - g between the nodes at places [first, last) and those after them."""
    n = len(order)
    from_base = distances[order[0]]
    error = np.int32(0)
    for i in range(first, last):
        if shared[STOP]:
            break
        from_u = distances[order[i]]
        depth = np.int32(from_base[order[i]])
        smallest = np.int32(2**30)
        for j in range(i + 1, n):
            v = order[j]
            smallest = min(smallest, gaps[j])
            error = max(error, smallest - depth - np.int32(from_base[v]) + np.int32(from_u[v]))
    return error

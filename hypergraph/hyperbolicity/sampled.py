"""Lower bounds: random quadruples of a graph, and one base point of a point cloud."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.errors import InputError
from hypergraph.hyperbolicity.blocks import SWEEP
from hypergraph.hyperbolicity.bracket import Bracket, Team, cores
from hypergraph.hyperbolicity.distances import sweep
from hypergraph.hyperbolicity.graph import Graph
from hypergraph.hyperbolicity.result import DeltaResult
from hypergraph.kernel import kernel

# The six distances of a quadruple, from three of its nodes; each two in a row add up to one of its sums.
FROM, TO = [0, 2, 0, 1, 0, 1], [1, 3, 2, 3, 3, 2]

# The part of the (max, min) product worked on at a time.
ROWS, STRIP = 16, 512


def sample(graph: Graph, bracket: Bracket, team: Team, samples: int, seed: int) -> dict[str, Any]:
    """The published estimator: the largest delta of ``samples`` quadruples of distinct nodes.

    Quadruples without a path between some two nodes are left out, as in the published script. Stopped early,
    it reports on the quadruples it came to.
    """
    bracket.stage = "sampling"
    n = graph.num_nodes
    if n < 4:
        return {"samples": 0}
    rng = np.random.default_rng(seed)
    quadruples = _distinct(rng, n, samples)
    # Sources in the order of first use, so that the quadruples whose distances are known are a prefix.
    used, first_use = np.unique(quadruples[:, :3], return_index=True)
    sources = used[np.argsort(first_use)].astype(np.int32)
    rank = np.full(n, -1)
    rank[sources] = np.arange(len(sources))
    asked, wanted = rank[quadruples[:, FROM]].ravel(), quadruples[:, TO].ravel()
    by_source = np.argsort(asked, kind="stable")
    kind = np.uint8 if bracket.diameter_upper < np.iinfo(np.uint8).max else np.uint16
    absent = np.iinfo(kind).max
    distance = np.full(6 * samples, absent, kind)
    known = np.zeros(len(sources), bool)

    def search_from(first: int, last: int) -> None:
        strip = np.full((n, last - first), absent, kind)
        if sweep(graph.indptr, graph.indices, sources[first:last], strip, 0, team.shared) < 0:
            return
        low, high = np.searchsorted(asked, [first, last], sorter=by_source)
        queries = by_source[low:high]
        distance[queries] = strip[wanted[queries], asked[queries] - first]
        known[first:last] = True

    team.run(search_from, len(sources), SWEEP)
    missing = np.flatnonzero(~known[rank[quadruples[:, :3]]].all(axis=1))
    prefix = int(missing[0]) if len(missing) else samples
    table = distance.reshape(samples, 6)[:prefix]
    whole = np.flatnonzero((table != absent).all(axis=1))
    if len(whole) == 0:
        return {"samples": 0}
    sums = np.sort(table[whole].reshape(-1, 3, 2).sum(axis=2, dtype=np.int64), axis=1)
    twice = sums[:, 2] - sums[:, 1]
    best = int(twice.argmax())
    a, b, c, d = (int(node) for node in quadruples[whole[best]])
    bracket.raise_lower(int(twice[best]), (a, b, c, d))
    mean = float(twice.mean()) / 2
    error = 1.96 * float(twice.std(ddof=1)) / 2 / len(whole) ** 0.5 if len(whole) > 1 else float("inf")
    return {"samples": len(whole), "mean": mean, "mean_interval": (mean - error, mean + error)}


def _distinct(rng: np.random.Generator, n: int, samples: int) -> NDArray[np.int64]:
    quadruples = rng.integers(n, size=(samples, 4))
    while True:
        ordered = np.sort(quadruples, axis=1)
        repeated = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if len(repeated) == 0:
            return quadruples
        quadruples[repeated] = rng.integers(n, size=(len(repeated), 4))


def delta_from_distances(distances: Any, *, base: int = 0) -> DeltaResult:
    r"""The base-point estimate of :math:`\delta` for a point cloud, from its matrix of distances.

    With the Gromov products :math:`(x|y)_p = \tfrac{1}{2} (d(p, x) + d(p, y) - d(x, y))` at the base point
    :math:`p`,

    .. math::
        \delta_p = \max_{x, y, z} \min\{(x|z)_p, (z|y)_p\} - (x|y)_p,

    the (max, min) product of the matrix of products with itself, minus that matrix (Fournier, Ismail and
    Vigneron, 2015; used for images by Khrulkov et al., 2020). It is a lower bound:
    :math:`\delta_p \le \delta \le 2 \delta_p`.

    Args:
        distances: a symmetric matrix of distances, n x n: an array or tensor.
        base: the index of :math:`p`.

    Example:
        >>> points = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        >>> result = delta_from_distances(torch.cdist(points, points))
        >>> round(result.delta, 4), result.method
        (0.4142, 'base point')
    """
    start = time.monotonic()
    if hasattr(distances, "detach"):
        distances = distances.detach().cpu()
    matrix = np.asarray(distances, dtype=np.float64)
    _check_metric(matrix)
    n = len(matrix)
    if not 0 <= base < n:
        raise InputError(f"base is {base}; the points are numbered from 0 to {n - 1}.")
    from_base = matrix[base]
    products = np.maximum((from_base[:, None] + from_base[None, :] - matrix) / 2, 0).astype(np.float32)
    team = Team(cores())
    found: list[tuple[float, int, int]] = []

    def excess(first: int, last: int) -> None:
        found.append(max_min_excess(products, products.view(np.int32), first, last))

    team.run(excess, n, 32)
    team.close()
    _, x, y = max(found)
    z = int(np.minimum(products[x], products[y]).argmax())
    pairings = ((x, y, z), (y, x, z), (z, x, y))
    sums = sorted((float(matrix[base, i] + matrix[j, k]) for i, j, k in pairings), reverse=True)
    # Single precision found the place; the value is that of the distances themselves.
    value = (sums[0] - sums[1]) / 2
    diameter = float(matrix.max())
    upper = min(2 * value, diameter / 2)
    return DeltaResult(
        delta=value,
        lower=value,
        upper=upper,
        exact=value == upper,
        witness=(base, x, y, z),
        sums=(sums[0], sums[1], sums[2]),
        diameter=diameter,
        diameter_exact=True,
        nodes=n,
        edges=n * (n - 1) // 2,
        seconds=time.monotonic() - start,
        relative=2 * value / diameter if diameter else 0.0,
        method="base point",
    )


@kernel
def max_min_excess(
    products: NDArray[np.float32], bits: NDArray[np.int32], first: int, last: int
) -> tuple[float, int, int]:
    """The largest entry, and where, of the (max, min) product of ``products`` with itself minus ``products``.

    Columns in strips that stay in the cache, a few rows at a time. ``bits`` is the same memory as integers:
    they are in the same order where no number is negative, and their max and min are one vector instruction.
    """
    n = len(products)
    best, at_x, at_y = np.float32(-1), 0, 0
    top = np.empty((ROWS, STRIP), np.int32)
    values = top.view(np.float32)
    for x in range(first, last, ROWS):
        rows = min(ROWS, last - x)
        for left in range(0, n, STRIP):
            right = min(left + STRIP, n)
            top[:] = 0
            for z in range(n):
                row = bits[z, left:right]
                for i in range(rows):
                    _raise(top[i], bits[x + i, z], row)
            for i in range(rows):
                for y in range(left, right):
                    if values[i, y - left] - products[x + i, y] > best:
                        best, at_x, at_y = values[i, y - left] - products[x + i, y], x + i, y
    return best, at_x, at_y


@kernel
def _raise(top: NDArray[np.int32], through: int, row: NDArray[np.int32]) -> None:
    for y in range(len(row)):
        top[y] = max(top[y], min(through, row[y]))


def _check_metric(matrix: NDArray[Any]) -> None:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise InputError(f"A matrix of distances is square; this one has shape {matrix.shape}.")
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise InputError(
            "A matrix of distances holds finite numbers that are not negative; this one does not."
        )
    scale = 1e-4 * float(matrix.max())
    if np.abs(np.diagonal(matrix)).max() > scale or np.abs(matrix - matrix.T).max() > scale:
        raise InputError("A matrix of distances is symmetric with zeros on its diagonal; this one is not.")

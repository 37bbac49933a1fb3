"""The exact search, block by block; whatever stops it, the bracket stays certified."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.hyperbolicity.blocks import SWEEP, biconnected, clustered, induced
from hypergraph.hyperbolicity.bracket import Bracket, Team
from hypergraph.hyperbolicity.distances import centre, sweep
from hypergraph.hyperbolicity.graph import Graph
from hypergraph.hyperbolicity.search import check_pairs, climb, mark_far_apart
from hypergraph.hyperbolicity.tree import chain, chain_error

STARTS = 1024
CENTRES = 8
LANDMARKS = 1024


def solve(graph: Graph, bracket: Bracket, team: Team, memory_limit: int, seed: int) -> None:
    """Close the bracket of ``graph``: delta is the largest delta of a biconnected component."""
    bracket.stage = "blocks"
    nodes, starts = biconnected(graph.indptr, graph.indices)
    sizes = np.diff(starts)
    # Twice delta is at most half the longest cycle (Wu and Zhang), so at most half the nodes of a block.
    order = [int(b) for b in np.argsort(-sizes, kind="stable") if sizes[b] >= 4]
    unsolved = 0
    position = np.full(graph.num_nodes, -1, np.int32)
    for rank, b in enumerate(order):
        if sizes[b] // 2 <= bracket.lower or team.stopped:
            break
        rest = int(sizes[order[rank + 1]]) // 2 if rank + 1 < len(order) else 0
        members = nodes[starts[b] : starts[b + 1]]
        block = Block(graph, members, position, bracket, team, floor=max(rest, unsolved))
        unsolved = max(unsolved, block.solve(memory_limit, seed))
    if not team.stopped:
        bracket.cap_upper(max(bracket.lower, unsolved))


class Block:
    """One biconnected component, and the bracket that all share."""

    def __init__(
        self,
        graph: Graph,
        members: NDArray[np.int32],
        position: NDArray[np.int32],
        bracket: Bracket,
        team: Team,
        floor: int,
    ) -> None:
        local = induced(graph.indptr, graph.indices, members, position)
        self.nodes = members[clustered(*local)]
        self.indptr, self.indices = induced(graph.indptr, graph.indices, self.nodes, position)
        self.bracket, self.team, self.floor = bracket, team, floor

    def solve(self, memory_limit: int, seed: int) -> int:
        """Search the block. Returns twice the upper bound of what was left open, 0 if nothing was."""
        n = len(self.nodes)
        if len(self.indices) == n * (n - 1):
            return 0
        eccentricity = int(centre(self.indptr, self.indices, 0)[1].max())
        bound = min(n // 2, 2 * eccentricity)
        self._cap(bound)
        kind = np.uint8 if 2 * eccentricity <= np.iinfo(np.uint8).max else np.uint16
        needed = n * n * np.dtype(kind).itemsize
        if needed > memory_limit:
            self.bracket.remark = (
                f"memory limit: the distances of a block of {n} nodes need {needed / 1e6:.0f} MB, "
                f"{memory_limit / 1e6:.0f} MB are allowed, so delta is bracketed by {min(n, LANDMARKS)} "
                "landmarks from below and by the diameter from above"
            )
            self._landmarks(kind, seed)
            return bound
        self.bracket.stage = "distances"
        distances = np.empty((n, n), kind)
        everyone = np.arange(n, dtype=np.int32)

        def search_from(first: int, last: int) -> None:
            sweep(self.indptr, self.indices, everyone[first:last], distances, first, self.team.shared)

        if self.team.run(search_from, n, SWEEP):
            self._close(distances, seed)
        return 0

    def _landmarks(self, kind: type, seed: int) -> None:
        """Raise the lower bound by the delta of a few nodes: half at random, half far from those."""
        n = len(self.nodes)
        rng = np.random.default_rng(seed)
        chosen = rng.permutation(n)[: LANDMARKS // 2].astype(np.int32)
        total = np.zeros(n, np.int64)
        strip: NDArray[Any] = np.empty((n, SWEEP), kind)
        rows: list[NDArray[Any]] = []

        def distances_from(sources: NDArray[np.int32]) -> None:
            for first in range(0, len(sources), SWEEP):
                part = sources[first : first + SWEEP]
                if sweep(self.indptr, self.indices, part, strip, 0, self.team.shared) < 0:
                    return
                np.add(total, strip[:, : len(part)].sum(axis=1, dtype=np.int64), out=total)
                rows.append(strip[:, : len(part)].T.copy())

        self.bracket.stage = "landmarks"
        distances_from(chosen)
        total[chosen] = -1
        far = np.argsort(-total, kind="stable")[: LANDMARKS - len(chosen)].astype(np.int32)
        distances_from(far)
        if self.team.stopped:
            return
        chosen = np.concatenate([chosen, far])
        between = np.ascontiguousarray(np.concatenate(rows)[:, chosen])
        self._climb(between, self.nodes[chosen], seed)

    def _climb(self, distances: NDArray[Any], nodes: NDArray[np.int32], seed: int) -> None:
        """Raise the lower bound by local search among ``nodes``."""
        self.bracket.stage = "local search"

        def climb_from(first: int, last: int) -> None:
            found, value = np.zeros(5, np.int64), np.empty(len(nodes), np.int32)
            quadruple = np.empty(4, np.int64)
            climb(distances, last - first, seed + first, self.team.shared, value, found, quadruple)
            self._keep(found, nodes)

        self.team.run(climb_from, min(STARTS, len(nodes)), 64)

    def _close(self, distances: NDArray[Any], seed: int) -> None:
        """Close the bracket of the block: far-apart pairs from the farthest down."""
        n, team, shared = len(self.nodes), self.team, self.team.shared
        team.raise_lower(self.bracket.lower)
        eccentricity = np.empty(n, np.int32)
        total = np.empty(n, np.int64)

        def summarize(first: int, last: int) -> None:
            eccentricity[first:last] = distances[first:last].max(axis=1)
            total[first:last] = distances[first:last].sum(axis=1, dtype=np.int64)

        team.run(summarize, n, SWEEP)
        if team.stopped:
            return
        diameter = int(eccentricity.max())
        self._cap(diameter)
        self._climb(distances, self.nodes, seed)
        centres = np.argsort(total, kind="stable")[:CENTRES]
        bound = diameter
        if diameter > 2 * self.bracket.lower:
            bound = min(bound, self._tree_bound(distances, int(centres[0])))
            self._cap(bound)
        reach = np.zeros(n, np.int32)
        for k in range(diameter, 0, -1):
            if min(k, bound) <= self.bracket.lower:
                break
            self.bracket.stage = f"pairs at distance {k}"

            def mark(first: int, last: int, k: int = k) -> None:
                mark_far_apart(self.indptr, self.indices, distances, k, first, last, reach, shared)

            def check(first: int, last: int, k: int = k) -> None:
                found, scratch = np.zeros(5, np.int64), np.empty((4, n), np.int32)
                words = np.zeros(-(-n // 8), np.uint64)
                check_pairs(
                    self.indptr,
                    self.indices,
                    distances,
                    k,
                    first,
                    last,
                    reach,
                    centres,
                    shared,
                    scratch,
                    words.view(np.uint8),
                    words,
                    found,
                )
                self._keep(found, self.nodes)

            if not (team.run(mark, n, 64) and team.run(check, n, 16)):
                return
            self._cap(min(k - 1, bound))
        self._cap(0)

    def _tree_bound(self, distances: NDArray[Any], base: int) -> int:
        """What the distance from a tree metric allows: much where delta is small for the diameter."""
        self.bracket.stage = "approximating tree"
        order, gaps = chain(distances, base, self.team.shared)
        errors: list[int] = []

        def compare(first: int, last: int) -> None:
            errors.append(chain_error(distances, order, gaps, first, last, self.team.shared))

        whole = self.team.run(compare, len(order), 64)
        return 2 * max(errors) if whole else len(order)

    def _keep(self, found: NDArray[np.int64], nodes: NDArray[np.int32]) -> None:
        if found[0] > self.bracket.lower:
            a, b, c, d = (int(nodes[i]) for i in found[1:])
            self.bracket.raise_lower(int(found[0]), (a, b, c, d))

    def _cap(self, bound: int) -> None:
        """Twice delta of this block is at most ``bound``, and of the blocks still open at most ``floor``."""
        self.bracket.cap_upper(max(bound, self.floor))

"""The exact diameter by few searches."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hypergraph.hyperbolicity.blocks import SWEEP
from hypergraph.hyperbolicity.bracket import Bracket, Team
from hypergraph.hyperbolicity.distances import centre, sweep
from hypergraph.hyperbolicity.graph import Graph


class DiameterSearch:
    """Crescenzi, Grossi, Habib, Lanzi and Marino's iFUB with ``SWEEP`` searches at a time.

    Two nodes more than 2i apart cannot both be within i of the centre: once every node deeper than i has been
    searched from, the diameter is at most the larger of 2i and what was seen.
    """

    def __init__(self, graph: Graph, bracket: Bracket, team: Team) -> None:
        self.graph, self.bracket, self.team = graph, bracket, team
        self._started = False

    def run(self, most: int | None = None) -> None:
        """Take up to ``most`` steps of one sweep for each thread; all that are needed if None."""
        bracket = self.bracket
        if not self._started:
            self._start()
        steps = 0
        while bracket.diameter_lower < bracket.diameter_upper and not self.team.stopped:
            if steps == most:
                return
            steps += 1
            self._step()

    def _start(self) -> None:
        self._started = True
        indptr, indices = self.graph.indptr, self.graph.indices
        n = self.graph.num_nodes
        adjacency = sp.csr_matrix((np.ones(len(indices), np.int8), indices, indptr), shape=(n, n))
        _, member = sp.csgraph.connected_components(adjacency, directed=False)
        depth = np.empty(n, np.int32)
        for first in np.unique(member, return_index=True)[1]:
            if self.team.stopped:
                return
            from_centre = centre(indptr, indices, int(first))[1]
            inside = from_centre >= 0
            depth[inside] = from_centre[inside]
        self.depth = depth
        self.order = np.argsort(-depth, kind="stable").astype(np.int32)
        self.done = 0
        self._bound(int(depth.max()), 2 * int(depth.max()))

    def _step(self) -> None:
        graph, team = self.graph, self.team
        batch = self.order[self.done : self.done + SWEEP * team.threads]
        nothing: NDArray[np.uint8] = np.empty((graph.num_nodes, 0), np.uint8)
        seen: list[int] = []

        def search_from(first: int, last: int) -> None:
            seen.append(sweep(graph.indptr, graph.indices, batch[first:last], nothing, 0, team.shared))

        if not team.run(search_from, len(batch), SWEEP):
            return
        self.done += len(batch)
        left = 2 * int(self.depth[self.order[self.done]]) if self.done < len(self.order) else 0
        self._bound(max(seen), left)

    def _bound(self, lower: int, upper: int) -> None:
        bracket = self.bracket
        bracket.diameter_lower = max(bracket.diameter_lower, lower)
        bracket.diameter_upper = max(bracket.diameter_lower, min(bracket.diameter_upper, upper))
        bracket.cap_upper(bracket.diameter_upper)

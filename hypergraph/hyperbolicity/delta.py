"""``delta_hyperbolicity``: one call for the exact value and for the published estimate."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hypergraph.errors import InputError, unknown_name
from hypergraph.hyperbolicity.bracket import Bracket, Quadruple, Team, cores, supervise
from hypergraph.hyperbolicity.graph import Graph, as_graph
from hypergraph.hyperbolicity.result import DeltaResult

Watch = Callable[[float, float, str], None]


def delta_hyperbolicity(
    graph: Any,
    *,
    method: str = "exact",
    time_limit: float | None = None,
    component: str = "largest",
    seed: int = 0,
    samples: int = 50_000,
    memory_limit: int | None = None,
    threads: int | None = None,
    symmetrize: bool = False,
    watch: Watch | None = None,
) -> DeltaResult:
    r"""Gromov's :math:`\delta`-hyperbolicity of an unweighted graph.

    By the four-point condition: with :math:`S_1 \ge S_2 \ge S_3` the sums :math:`d(a,b) + d(c,d)`,
    :math:`d(a,c) + d(b,d)`, :math:`d(a,d) + d(b,c)` of unweighted shortest-path distances,

    .. math::
        \delta(a, b, c, d) = \tfrac{1}{2} (S_1 - S_2), \qquad
        \delta = \max_{a, b, c, d} \delta(a, b, c, d).

    Args:
        graph: an ``edge_index``, scipy sparse matrix, networkx graph or ``Data``.
        method: ``"exact"``, or ``"sampled"``: the largest of ``samples`` random quadruples, a lower bound.
        time_limit: seconds after which the bracket reached so far is returned.
        component: ``"largest"`` connected component, or ``"all"`` of them.
        seed: of the sampling and of the local search.
        samples: how many quadruples ``"sampled"`` draws.
        memory_limit: bytes that the distance matrix may take; by default what the machine has available.
        threads: by default one for each core this process may use.
        symmetrize: read a directed graph as undirected instead of refusing it.
        watch: called with ``(lower, upper, stage)`` some ten times a second.

    An interrupt (Ctrl-C) ends the search like a time limit does: the bracket is returned.

    Example:
        >>> import networkx as nx
        >>> delta_hyperbolicity(nx.grid_graph((4, 7)))
        DeltaResult(delta=3, nodes=28, diameter=9, method='exact')
    """
    start = time.monotonic()
    if method not in ("exact", "sampled"):
        raise unknown_name("method", str(method), ["exact", "sampled"])
    for name, value in {"time_limit": time_limit, "samples": samples, "threads": threads}.items():
        if value is not None and not 0 < value < float("inf"):
            raise InputError(f"{name} is {value}; it has to be positive.")
    if not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed}; it has to be at least 0 and below 2**63.")
    simple = as_graph(graph, component=component, symmetrize=symmetrize)

    bracket = _first_bracket(simple)
    team = Team(threads or cores())
    limit = _available_memory() if memory_limit is None else memory_limit
    if method == "sampled" and 100 * samples > limit:  # what the quadruples and their distances take
        raise InputError(f"{samples} samples take {samples / 10**7:.1f} GB of memory; draw fewer.")
    drawn: dict[str, Any] = {"samples": 0} if method == "sampled" else {}

    def work() -> None:
        # numba and its compiled kernels load here, under the eyes of the time limit.
        from hypergraph.hyperbolicity.diameter import DiameterSearch
        from hypergraph.hyperbolicity.exact import solve
        from hypergraph.hyperbolicity.sampled import sample

        diameter = DiameterSearch(simple, bracket, team)
        diameter.run(most=8)
        if team.stopped:
            return
        if method == "sampled":
            drawn.update(sample(simple, bracket, team, samples, seed))
        else:
            solve(simple, bracket, team, limit, seed)
        bracket.stage = "diameter"
        diameter.run()

    def report() -> None:
        if watch is not None:
            lower, upper, _ = bracket.read()
            watch(lower / 2, upper / 2, bracket.stage)

    stopped = supervise(work, team, None if time_limit is None else start + time_limit, report)
    lower, upper, witness = bracket.read()
    witness, sums = _ordered(simple, witness)
    if sums[0] - sums[1] != lower:
        raise AssertionError(f"the witness {witness} shows {sums[0] - sums[1]}, not {lower}")
    diameter_exact = bracket.diameter_lower == bracket.diameter_upper
    a, b, c, d = (simple.labels[i] for i in witness)
    return DeltaResult(
        delta=lower / 2,
        lower=lower / 2,
        upper=upper / 2,
        exact=lower == upper,
        witness=(a, b, c, d),
        sums=sums,
        diameter=bracket.diameter_lower,
        diameter_exact=diameter_exact,
        nodes=simple.num_nodes,
        edges=simple.num_edges,
        seconds=time.monotonic() - start,
        relative=(lower / bracket.diameter_lower if lower else 0.0) if diameter_exact else None,
        method=method,
        stopped="" if lower == upper else stopped or bracket.remark,
        seed=seed if method == "sampled" else None,
        **drawn,
    )


def _first_bracket(graph: Graph) -> Bracket:
    """What scipy tells at once: four nodes of the hub's component, and bounds on the diameter."""
    hub = int(np.diff(graph.indptr).argmax())
    from_hub = _distances_from(graph, [hub])[0]
    reached = np.flatnonzero(np.isfinite(from_hub))
    near = reached[np.argsort(from_hub[reached], kind="stable")]
    a, b, c, d = (int(near[i * (len(near) - 1) // 3]) for i in range(4))
    witness, sums = _ordered(graph, (a, b, c, d))
    eccentricity = int(from_hub[reached].max())
    connected = len(reached) == graph.num_nodes
    # Wu and Zhang: twice delta is at most half the longest cycle, so at most half the nodes.
    bracket = Bracket(
        lower=sums[0] - sums[1],
        upper=graph.num_nodes // 2 if graph.num_nodes >= 4 else 0,
        witness=witness,
        diameter_lower=eccentricity,
        diameter_upper=2 * eccentricity if connected else graph.num_nodes - 1,
    )
    bracket.cap_upper(bracket.diameter_upper)
    return bracket


def _ordered(graph: Graph, nodes: Quadruple) -> tuple[Quadruple, tuple[int, int, int]]:
    """The nodes in an order (a, b, c, d) with ab + cd >= ac + bd >= ad + bc, and these sums."""
    between = _distances_from(graph, nodes)[:, nodes].astype(int)
    pairings = ((1, 2, 3), (2, 1, 3), (3, 1, 2))
    ranked = sorted(((int(between[0, i] + between[j, k]), i) for i, j, k in pairings), reverse=True)
    (first, i), (second, j), (third, k) = ranked
    return (nodes[0], nodes[i], nodes[j], nodes[k]), (first, second, third)


def _distances_from(graph: Graph, sources: Sequence[int]) -> NDArray[np.float64]:
    ones = np.ones(len(graph.indices), np.int8)
    n = graph.num_nodes
    adjacency = sp.csr_matrix((ones, graph.indices, graph.indptr), shape=(n, n))
    return sp.csgraph.shortest_path(adjacency, method="D", unweighted=True, indices=list(sources))


def _available_memory() -> int:
    """Four fifths of the memory that the system can give without swapping; no limit where that is unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        try:
            available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError):
            return 2**63
    return available * 4 // 5

"""Exact delta against the published sampling script, and over families of graphs. Prints Markdown tables.

    python benchmarks/delta.py              # everything: about ten minutes
    python benchmarks/delta.py --quick      # small sizes, short limits: about a minute
    python benchmarks/delta.py real         # one part: real, families or hard

The real graphs are read from the folder in HYPERGRAPH_DATA, or downloaded. Each exact run is a process of its
own, so that its time holds loading the compiled code and its memory is nobody else's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
Edges = NDArray[np.int64]

CHILD = """
import json, sys
import numpy as np
from hypergraph.hyperbolicity import delta_hyperbolicity
limit = float(sys.argv[2]) or None
result = delta_hyperbolicity(np.load(sys.argv[1]), symmetrize=True, time_limit=limit)
record = result.as_dict()
with open("/proc/self/status") as status:
    record["peak"] = next(int(line.split()[1]) / 1e3 for line in status if line.startswith("VmHWM"))
print(json.dumps(record, default=int))
"""


def exact(edges: Edges, limit: float = 0) -> dict[str, Any]:
    """Delta in a fresh process with a warm compile cache: the result, and its peak memory in MB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.npy"
        np.save(path, edges)
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(path), str(limit)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
            text=True,
        )
    return json.loads(done.stdout)


def published_loop(edges: Edges, samples: int, seed: int = 0) -> tuple[float, float]:
    """The estimator behind the published values: quadruples one at a time, a search for each distance."""
    graph = nx.Graph(edges.T.tolist())
    nodes = list(graph)
    rng = np.random.default_rng(seed)
    start, best = time.perf_counter(), 0.0
    for _ in range(samples):
        a, b, c, d = (nodes[i] for i in rng.choice(len(nodes), 4, replace=False))
        try:
            sums = sorted(
                nx.shortest_path_length(graph, *first) + nx.shortest_path_length(graph, *second)
                for first, second in (((a, b), (c, d)), ((a, c), (b, d)), ((a, d), (b, c)))
            )
        except nx.NetworkXNoPath:
            continue
        best = max(best, (sums[2] - sums[1]) / 2)
    return best, time.perf_counter() - start


def real_graphs(quick: bool) -> None:
    from hypergraph.datasets import load_graph
    from hypergraph.hyperbolicity import PUBLISHED

    samples, whole = (100 if quick else 500), 50_000
    rows = []
    for name in ("disease", "airport", "cora", "pubmed"):
        edges = load_graph(name).edge_index.numpy()
        exact(edges)
        ours = exact(edges)
        _, seconds = published_loop(edges, samples)
        rows.append(
            [
                name,
                f"{ours['nodes']} / {ours['edges']}",
                str(ours["diameter"]),
                f"**{ours['delta']:g}**" if ours["exact"] else f"[{ours['lower']:g}, {ours['upper']:g}]",
                f"{PUBLISHED[name]:g}",
                f"{ours['relative']:.3f}",
                f"{ours['seconds']:.2f} s",
                f"{ours['peak']:.0f} MB",
                f"{seconds * whole / samples:.0f} s",
            ]
        )
    table(
        "nodes / edges,diameter,delta,published,2 delta / diameter,time,peak memory,published loop",
        rows,
        first="graph",
    )
    print(f"\nPublished loop: {samples} of its {whole} samples were timed, and the time scaled.")


def families(quick: bool) -> None:
    limit = 5 if quick else 30
    rows = []
    for name, make in FAMILIES.items():
        for n in (1000,) if quick else (1000, 5000, 10_000, 20_000):
            rows.append([name, str(n), *measured(make(n, np.random.default_rng(0)), limit)])
    table("n,edges,diameter,delta,time,peak memory", rows, first="graph")


def hard_cases(quick: bool) -> None:
    limit = 5 if quick else 30
    rows = []
    for name, make in HARD.items():
        for n in (1000,) if quick else (1000, 5000, 10_000):
            rows.append([name, str(n), *measured(make(n, np.random.default_rng(0)), limit)])
    table(f"n,edges,diameter,delta or bracket in {limit} s,time,peak memory", rows, first="graph")


def measured(edges: Edges, limit: float) -> Iterator[str]:
    result = exact(edges, limit)
    yield str(result["edges"])
    yield str(result["diameter"]) + ("" if result["diameter_exact"] else "+")
    yield f"**{result['delta']:g}**" if result["exact"] else f"[{result['lower']:g}, {result['upper']:g}]"
    yield f"{result['seconds']:.2f} s"
    yield f"{result['peak']:.0f} MB"


def table(columns: str, rows: list[list[str]], *, first: str) -> None:
    names = [first, *columns.split(",")]
    print("\n| " + " | ".join(name.strip() for name in names) + " |")
    print("|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def random_tree(n: int, rng: np.random.Generator) -> Edges:
    """A uniformly random recursive tree."""
    return np.stack([np.arange(1, n), (rng.random(n - 1) * np.arange(1, n)).astype(np.int64)])


def tree_and_edges(n: int, rng: np.random.Generator) -> Edges:
    return np.concatenate([random_tree(n, rng), rng.integers(n, size=(2, n // 10))], axis=1)


def tree_times_edge(n: int, rng: np.random.Generator) -> Edges:
    """The product of a random tree and K2: delta is 1 whatever the diameter."""
    half = n // 2
    tree = nx.random_labeled_tree(half, seed=int(rng.integers(2**31)))
    one = np.array(tree.edges()).T
    return np.concatenate([one, one + half, [np.arange(half), np.arange(half) + half]], axis=1)


def hyperbolic_random(n: int, rng: np.random.Generator) -> Edges:
    """Krioukov et al.: points of a hyperbolic disk, joined when nearer than its radius."""
    radius = 2 * np.log(n * 0.4)
    r = np.arccosh(1 + rng.random(n) * (np.cosh(0.75 * radius) - 1)) / 0.75
    angle = 2 * np.pi * rng.random(n)
    pairs = []
    for i in range(n - 1):
        cosine = np.cos(angle[i] - angle[i + 1 :])
        cosh = np.cosh(r[i]) * np.cosh(r[i + 1 :]) - np.sinh(r[i]) * np.sinh(r[i + 1 :]) * cosine
        near = i + 1 + np.flatnonzero(cosh < np.cosh(radius))
        pairs.append(np.stack([np.full(len(near), i), near]))
    return np.concatenate(pairs, axis=1)


def from_networkx(make: Callable[[int, int], nx.Graph]) -> Callable[[int, np.random.Generator], Edges]:
    def edges(n: int, rng: np.random.Generator) -> Edges:
        graph = nx.convert_node_labels_to_integers(make(n, int(rng.integers(2**31))))
        return np.array(graph.edges(), dtype=np.int64).T

    return edges


FAMILIES = {
    "tree + n/10 edges": tree_and_edges,
    "Barabási-Albert, m = 3": from_networkx(lambda n, seed: nx.barabasi_albert_graph(n, 3, seed=seed)),
    "grid": from_networkx(lambda n, seed: nx.grid_2d_graph(int(n**0.5), n // int(n**0.5))),
    "Erdős-Rényi, degree 6": from_networkx(lambda n, seed: nx.fast_gnp_random_graph(n, 6 / n, seed=seed)),
    "Watts-Strogatz, k = 6, p = 0.1": from_networkx(
        lambda n, seed: nx.connected_watts_strogatz_graph(n, 6, 0.1, seed=seed)
    ),
}
HARD = {
    "tree x K2": tree_times_edge,
    "random geometric, degree 8": from_networkx(
        lambda n, seed: nx.random_geometric_graph(n, (8 / (np.pi * n)) ** 0.5, seed=seed)
    ),
    "hyperbolic random": hyperbolic_random,
}
PARTS = {"real": real_graphs, "families": families, "hard": hard_cases}


def main() -> None:
    parser = argparse.ArgumentParser(description="Time exact delta-hyperbolicity.")
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="which tables; all by default")
    parser.add_argument("--quick", action="store_true", help="small sizes and short limits")
    given = parser.parse_args()
    for part in given.part or PARTS:
        print(f"\n### {part}")
        PARTS[part](given.quick)


if __name__ == "__main__":
    main()

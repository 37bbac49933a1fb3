"""How fast PubMed loads and splits, and in how much memory: prints Markdown.

python benchmarks/datasets.py [FOLDER]     FOLDER holds the raw files, HYPERGRAPH_DATA by default
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hypergraph.datasets import link_split, load_graph
from hypergraph.errors import InputError


def seconds(job: Callable[[], object], repeats: int = 5) -> float:
    """The median time of a job."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        job()
        times.append(perf_counter() - start)
    return statistics.median(times)


def megabytes(job: Callable[[], object]) -> float:
    """The most memory that a job holds at once, beyond what was there before."""
    tracemalloc.start()
    job()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main(folder: str | None) -> None:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["HYPERGRAPH_CACHE"] = cache
        load_graph("disease")  # imports torch and PyG, which is not what is measured
        start = perf_counter()
        graph = load_graph("pubmed", data=folder)
        cold = perf_counter() - start
        warm = seconds(lambda: load_graph("pubmed"))
        verified = seconds(lambda: load_graph("pubmed", data=folder))
    rows = [
        ("PubMed, cold: verify, unpickle, write the cache", f"{cold:.3f} s", "3 s"),
        ("PubMed, from the cache", f"{warm:.3f} s", "0.3 s"),
        ("PubMed, from the cache, with the folder verified", f"{verified:.3f} s", ""),
    ]
    for kind in ("hgcn", "strict"):
        split = link_split(graph, kind)
        rows.append(
            (f"Link split of PubMed, {kind}", f"{seconds(lambda k=kind: link_split(graph, k)):.3f} s", "1 s")
        )
        rows.append(
            (
                f"Training negatives of an epoch, {kind}",
                f"{1e3 * seconds(lambda s=split: s.train_neg(1)):.1f} ms",
                "",
            )
        )
    memory = megabytes(lambda: link_split(graph, "strict").train_neg(1))
    rows.append(("Memory for a split and an epoch of negatives", f"{memory:.1f} MB", "300 MB"))
    print("| what | measured | limit |\n|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else None)
    except InputError as error:
        print(f"skipped: {error}")

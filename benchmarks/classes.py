"""Heads as the number of classes grows: simulated species that differ in their k-mers.

    python benchmarks/classes.py [--runs runs/classes] [--out docs/results]

Every run is a folder below ``--runs``: finished ones are used again, interrupted ones go on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from hypergraph.datasets.genome_simulation import simulate_species
from hypergraph.files import atomic_path
from hypergraph.nn.registry import HEADS
from hypergraph.tasks import runner
from hypergraph.tasks.api import settle
from hypergraph.tasks.classify_config import GenomeConfig
from hypergraph.tasks.result import Result, spread

CLASSES = (2, 5, 10, 25, 50)
METHODS = ("mlr", "pmlr", "bmlr-p", "lmlr", "bmlr-l")
# The clip radii are the paper's for species classification; the rest is what two cores can train.
CLIP = {"poincare": 2.0, "lorentz": 5.0, "euclidean": None}
SETTINGS = {"epochs": 12, "milestones": "8", "lr": 1e-3, "weight_decay": 1e-3, "seeds": 1}
SIZES = (2000, 500, 1000)
LENGTH = 60


def run(num_classes: int, head: str, runs: Path) -> Result:
    """One head on one number of classes."""
    folder = runs / f"species-{num_classes}-{head}"
    if (folder / "result.json").is_file():
        return Result.read(folder)
    data = simulate_species(num_classes, length=LENGTH, sizes=SIZES)
    if (folder / "config.toml").is_file():
        return runner.resume(folder, data=data)
    given = {"dataset": data.name, "head": head, "clip": CLIP[HEADS[head].space], **SETTINGS}
    return runner.run(settle(GenomeConfig, given), data=data, out=folder)


def plot(results: dict[str, list[Result]], path: Path) -> None:
    """MCC against the number of classes, a line for each head."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for head, line in results.items():
        axes.plot(CLASSES, [100 * result.mean for result in line], marker="o", label=head)
    axes.set(xscale="log", xlabel="classes", ylabel="test MCC (%)", xticks=CLASSES)
    axes.set_xticklabels([str(number) for number in CLASSES])
    axes.minorticks_off()
    axes.legend()
    with atomic_path(path) as part:
        figure.savefig(part, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/classes"))
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    given = parser.parse_args()
    results: dict[str, list[Result]] = {head: [] for head in METHODS}
    for num_classes in CLASSES:
        for head in METHODS:
            results[head].append(run(num_classes, head, given.runs))
            print(num_classes, head, results[head][-1].headline(), flush=True)
    lines = [
        f"| head | {' | '.join(f'{number} classes' for number in CLASSES)} |",
        f"|---|{'---:|' * len(CLASSES)}",
    ]
    for head, line in results.items():
        lines.append(f"| {head} | {' | '.join(spread(result.mean, result.std) for result in line)} |")
    plot(results, given.out / "classes.png")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

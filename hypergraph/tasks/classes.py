"""Heads as the number of classes grows: simulated species that differ in their k-mers."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypergraph.tasks.result import Result, spread

CLASSES = (2, 5, 10, 25, 50)
METHODS = ("mlr", "pmlr", "bmlr-p", "lmlr", "bmlr-l")
# The clip radii are the paper's for species classification; the rest is what two cores can train.
CLIP = {"poincare": 2.0, "lorentz": 5.0, "euclidean": None}
SETTINGS = {"epochs": 12, "milestones": "8", "lr": 1e-3, "weight_decay": 1e-3, "seeds": 1}
SIZES = (2000, 500, 1000)
LENGTH = 60


def classes(
    runs: Path, say: Callable[[str], None], numbers: tuple[int, ...] = CLASSES, **settings: int | None
) -> str:
    """A page with accuracy and time of every head; finished runs are taken, interrupted ones go on."""
    given = SETTINGS | {name: value for name, value in settings.items() if value is not None}
    lines = []
    for head in METHODS:
        cells = []
        for number in numbers:
            say(f"{number} classes, {head}")
            result = _run(number, head, runs, given)
            seconds = statistics.fmean(seed["seconds"] / seed["epochs"] for seed in result.seeds)
            cells.append(f"{spread(result.mean, result.std)}, {seconds:.2f} s")
        lines.append(f"| {head} | {' | '.join(cells)} |")
    return (
        "# Heads against the number of classes\n\n"
        f"From `hypergraph reproduce classes`. Test MCC in per cent (seeds: {given['seeds']}) and seconds\n"
        "an epoch, on simulated species that differ in their k-mers: 2000 training sequences of 60 letters,\n"
        f"the DNA CNN, {given['epochs']} epochs.\n\n"
        f"| head | {' | '.join(f'{number} classes' for number in numbers)} |\n"
        f"|---|{'---:|' * len(numbers)}\n" + "\n".join(lines) + "\n"
    )


def _run(number: int, head: str, runs: Path, given: dict[str, Any]) -> Result:
    from hypergraph.datasets.genome_simulation import simulate_species
    from hypergraph.nn.registry import HEADS
    from hypergraph.tasks import runner
    from hypergraph.tasks.classify_config import GenomeConfig
    from hypergraph.tasks.config import settle
    from hypergraph.tasks.run import Run

    folder = runs / f"classes-{number}-{head}"
    if (folder / "config.toml").is_file():
        Run.open(folder).check_given(given)
    if (folder / "result.json").is_file():
        return Result.read(folder)
    data = simulate_species(number, length=LENGTH, sizes=SIZES)
    if (folder / "config.toml").is_file():
        return runner.resume(folder, data=data)
    settings = {"dataset": data.name, "head": head, "clip": CLIP[HEADS[head].space], **given}
    return runner.run(settle(GenomeConfig, settings), data=data, out=folder)

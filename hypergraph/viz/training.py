"""Curves of training: one run's in panels, and several runs' in one plot."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hypergraph.errors import InputError, unknown_name
from hypergraph.files import reading
from hypergraph.tasks.run import Run
from hypergraph.tasks.sealed import read_text
from hypergraph.viz.style import INK, class_colours, legend, new_axes, new_figure, plain, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = {
    "loss": "training loss",
    "val_loss": "validation loss",
    "val_f1": "validation F1",
    "val_auc": "validation AUC",
    "val_mcc": "validation MCC",
    "val_accuracy": "validation accuracy",
    "boundary_share": "share of points within 1 % of the boundary",
    "max_radius": "largest distance from the origin",
    "K": "curvature K",
}
HEADLINE = ("val_f1", "val_auc", "val_mcc", "val_accuracy")


def read_metrics(path: Path) -> dict[int, dict[str, list[Any]]]:
    """The columns of a run's ``metrics.jsonl`` for each seed; ``nan`` where a value is missing."""
    file = path / "metrics.jsonl" if path.is_dir() else path
    if not file.exists():
        raise InputError(f"{path}: no metrics.jsonl there; it is no run, or an unfinished one.")
    if (path / "result.json").exists():
        Run.open(path).whole("metrics.jsonl")
    seeds: dict[int, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    with reading(file, "metrics written by hypergraph"):
        for line in read_text(file).splitlines():
            values = json.loads(line)
            for name, value in values.items():
                seeds[int(values.get("seed", 0))][name].append(float("nan") if value is None else +value)
        if not seeds:
            raise ValueError("no epochs")
    return seeds


def plot_curves(metrics: Path, out: Path) -> None:
    """Draw every known column of a ``metrics.jsonl`` against the epoch, one line a seed."""
    seeds = read_metrics(metrics)
    shown = [name for name in PANELS if all(name in columns for columns in seeds.values())]
    rows = -(-len(shown) // 2)
    figure = new_figure(10, 2.6 * rows)
    axes = figure.subplots(rows, 2, squeeze=False).flat
    colours = class_colours(len(seeds))
    for name, ax in zip(shown, axes):
        for (seed, columns), colour in zip(sorted(seeds.items()), colours):
            ax.plot(columns["epoch"], columns[name], linewidth=1, color=colour, label=f"seed {seed}")
        ax.set_title(PANELS[name], fontsize=10)
        ax.set_xlabel("epoch", fontsize=9)
        plain(ax)
    for unused in axes:
        unused.set_visible(False)
    if len(seeds) <= 10:
        legend(figure.axes[0])
    save(figure.axes[0], out)


def curves(
    runs: Sequence[Path], metric: str | None = None, names: Sequence[str] = (), ax: Axes | None = None
) -> Axes:
    """One metric of several runs against the epoch: the mean over seeds, with the range they span.

    Args:
        runs: run folders.
        metric: a column of ``metrics.jsonl``; by default the validation metric of the task.
        names: what to call the runs; by default their folders' names.
        ax: where to draw.

    Example:
        >>> from pathlib import Path
        >>> result = hypergraph.tasks.node_classification("disease", seeds=2, epochs=2, out="runs/drawn")
        >>> curves([Path("runs/drawn")], "loss").get_ylabel()
        'training loss'
    """
    if not runs:
        raise InputError("Curves need at least one run folder.")
    ax = ax or new_axes(7, 4.2)
    read = [read_metrics(run) for run in runs]
    known = [name for name in next(iter(read[0].values())) if name not in ("seed", "epoch")]
    chosen = metric or next((name for name in HEADLINE if name in known), known[0])
    for run, seeds in zip(runs, read):
        if any(chosen not in columns for columns in seeds.values()):
            raise InputError(f"{run}: {unknown_name('metric', chosen, known)}")
    labels = list(names) or [run.name for run in runs]
    if len(labels) != len(runs):
        raise InputError(f"{len(labels)} names for {len(runs)} runs; give one name for each run.")
    for seeds, label, colour in zip(read, labels, class_colours(len(runs))):
        values: dict[int, list[float]] = defaultdict(list)
        for columns in seeds.values():
            for epoch, value in zip(columns["epoch"], columns[chosen]):
                if np.isfinite(value):
                    values[epoch].append(value)
        epochs = sorted(values)
        ax.plot(epochs, [np.mean(values[e]) for e in epochs], color=colour, linewidth=1.6, label=label)
        if len(seeds) > 1:
            low, high = ([edge(values[e]) for e in epochs] for edge in (min, max))
            ax.fill_between(epochs, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.set_xlabel("epoch")
    ax.set_ylabel(PANELS.get(chosen, chosen))
    plain(ax)
    legend(ax)
    return ax


def bracket(trace: Sequence[tuple[float, float, float]], ax: Axes | None = None) -> Axes:
    """The bracket around delta as it closes: ``(seconds, lower, upper)`` at each moment.

    Example:
        >>> bracket([(0.0, 1.0, 4.5), (0.2, 3.0, 4.0), (0.3, 4.0, 4.0)]).get_xlabel()
        'seconds'
    """
    if not trace:
        raise InputError("There is no bracket to draw; the search reported nothing.")
    ax = ax or new_axes(7, 4.2)
    seconds, lower, upper = np.array(trace, dtype=float).T
    colours = class_colours(2)
    ax.fill_between(seconds, lower, upper, step="post", color=INK, alpha=0.15, linewidth=0)
    ax.step(seconds, upper, where="post", color=colours[1], linewidth=1.8, label="upper bound")
    ax.step(seconds, lower, where="post", color=colours[0], linewidth=1.8, label="lower bound")
    ax.set_xlabel("seconds")
    ax.set_ylabel("δ")
    ax.set_ylim(bottom=0)
    plain(ax)
    legend(ax)
    return ax

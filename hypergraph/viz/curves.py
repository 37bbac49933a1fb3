"""Curves of a run: loss, validation metric, and how near its points are to the boundary."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from hypergraph.files import atomic_path

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


def plot_curves(metrics: Path, out: Path) -> None:
    """Draw every known column of a ``metrics.jsonl`` against the epoch, one line a seed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    seeds: dict[int, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for line in metrics.read_text(encoding="utf-8").splitlines():
        values = json.loads(line)
        for name, value in values.items():
            seeds[values.get("seed", 0)][name].append(float("nan") if value is None else value)
    shown = [name for name in PANELS if all(name in columns for columns in seeds.values())]
    rows = -(-len(shown) // 2)
    figure = Figure(figsize=(10, 2.6 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, 2, squeeze=False).flat
    for name, axis in zip(shown, axes):
        for seed, columns in sorted(seeds.items()):
            axis.plot(columns["epoch"], columns[name], linewidth=1, label=f"seed {seed}")
        axis.set_title(PANELS[name], fontsize=10)
        axis.set_xlabel("epoch", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.3)
    for unused in axes:
        unused.set_visible(False)
    if len(seeds) <= 10:
        figure.axes[0].legend(fontsize=8)
    with atomic_path(out) as part:
        figure.savefig(part, dpi=110)

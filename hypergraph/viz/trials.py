"""The trials of a search: in their order with the best so far, and against each setting."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypergraph.files import atomic_path


def plot_trials(trials: Sequence[dict[str, Any]], out: Path, metric: str) -> None:
    """Draw the trials of :func:`hypergraph.tasks.tune.tune`; pruned ones are grey."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if not trials:
        return
    score = [100 * statistics.fmean(trial["scores"]) for trial in trials]
    number = [trial["number"] for trial in trials]
    color = ["0.75" if trial["pruned"] else "tab:blue" for trial in trials]
    names = list(trials[0]["settings"])
    figure = Figure(figsize=(3 * (1 + len(names)), 3), layout="constrained")
    FigureCanvasAgg(figure)
    first, *others = figure.subplots(1, 1 + len(names), sharey=True)
    first.scatter(number, score, c=color, s=14)
    whole = [float("-inf") if trial["pruned"] else value for trial, value in zip(trials, score)]
    best = [max(whole[: i + 1]) for i in range(len(whole))]
    shown = [(n, value) for n, value in zip(number, best) if value > float("-inf")]
    first.step(*zip(*shown), where="post", color="tab:orange", label="best so far")
    first.set(xlabel="trial (grey: pruned)", ylabel=f"mean validation {metric}, %")
    first.legend(loc="lower right", fontsize=8)
    for axis, name in zip(others, names):
        values = [trial["settings"][name] for trial in trials]
        number_like = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        axis.scatter(values if number_like else [str(value) for value in values], score, c=color, s=14)
        if number_like:
            small, large = sorted((abs(min(values)), abs(max(values))))
            if min(values) * max(values) > 0 and large > 20 * small:
                axis.set_xscale("log" if min(values) > 0 else "symlog", **_linear(small, min(values) < 0))
        axis.set(xlabel=name)
        axis.tick_params(labelsize=8)
    with atomic_path(out) as part:
        figure.savefig(part, dpi=110)


def _linear(small: float, negative: bool) -> dict[str, float]:
    return {"linthresh": small} if negative else {}

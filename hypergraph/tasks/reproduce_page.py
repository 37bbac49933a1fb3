"""A page of results: ours beside the published, what it cost, and which method is better than which."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypergraph.tasks.kinds import METRICS
from hypergraph.tasks.result import Result, spread
from hypergraph.tasks.statistics import paired_runs

# The row that every other one of its dataset is compared with, the first of these that is there.
REFERENCE = ("bmlr-p", "bfc-p", "bfc-p, tanh")


@dataclass(frozen=True)
class Row:
    """One method on one dataset."""

    dataset: str
    method: str
    published: str | None
    result: Result

    def cells(self) -> list[str]:
        """The row of the table."""
        result = self.result
        return [
            self.dataset,
            self.method if self.published else f"{self.method} (ours)",
            str(len(result.seeds)),
            spread(result.mean, result.std),
            self.published or "–",
            _gap(result.mean, result.std, self.published),
            f"{statistics.fmean(seed['seconds'] for seed in result.seeds):.1f}",
            _head_parameters(result.folder / "model.safetensors"),
            str(result.parameters),
            result.about.get("split", "–"),
            "yes" if result.about.get("leaks") else "no",
        ]


COLUMNS = (
    *("dataset", "method", "seeds", "{}, ours", "{}, published", "difference", "seconds"),
    *("head", "model", "split", "leaks"),
)


def page(
    table: str, about: Mapping[str, Any], rows: Sequence[Row], missing: Mapping[str, str] | None = None
) -> str:
    """A page of Markdown: the rows, and the paired differences between methods."""
    metric = METRICS[rows[0].result.metric]
    names = [name.format(metric) for name in COLUMNS]
    lines = [
        f"# {about['title']}",
        "",
        f"From `hypergraph reproduce {table} --data FOLDER`, in per cent. Published: Chen et al. 2026, table",
        f'"{about["table"]}" (five folds). {about["note"]}'.rstrip(),
        "",
        "The difference is that of the means, in units of the pooled standard deviation. Seconds are those",
        "of a seed on one thread, beside other work; *head* and *model* count parameters.",
        "",
        f"| {' | '.join(names)} |",
        "|---|---|" + "---:|" * (len(names) - 4) + "---|---|",
        *(f"| {' | '.join(row.cells())} |" for row in rows),
    ]
    lines += comparisons(rows)
    lines += [f"\nLeft out: {dataset} ({reason.rstrip('.')})." for dataset, reason in (missing or {}).items()]
    return "\n".join(lines) + "\n"


def comparisons(rows: Sequence[Row]) -> list[str]:
    """Which method is better than the reference of its dataset, as far as the shared seeds can tell."""
    lines: list[str] = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        here = {row.method: row.result for row in rows if row.dataset == dataset}
        reference = next((name for name in REFERENCE if name in here), None)
        for method, result in here.items() if reference else ():
            found = None if method == reference else paired_runs(result, here[reference or ""])
            if found is None or found.interval is None:
                continue
            low, high = (100 * bound for bound in found.interval)
            said = {"better": f"{method} is better", "worse": f"{reference} is better", "open": "open"}
            lines.append(
                f"| {dataset} | {method} against {reference} | {found.pairs} | {100 * found.mean:+.2f} | "
                f"{low:+.2f} to {high:+.2f} | {said[found.settled]} |"
            )
    if not lines:
        return []
    return [
        "\n## Which is better",
        "",
        "Paired differences over the same seeds on the same split, with a 95 % interval (bootstrap, BCa);",
        "*open* where it contains 0. Of five seeds it is too short: a hint. `--seeds 20` trains the others.",
        "",
        "| dataset | methods | seeds | difference | 95 % interval | |",
        "|---|---|---:|---:|---:|---|",
        *lines,
    ]


def _gap(mean: float, std: float | None, published: str | None) -> str:
    """The distance from the published mean, in pooled standard deviations."""
    if published is None or "±" not in published or std is None:
        return "–"
    theirs, deviation = (float(part) for part in published.split("±"))
    pooled = math.sqrt(((100 * std) ** 2 + deviation**2) / 2)
    return f"{(100 * mean - theirs) / pooled:+.1f}" if pooled else "–"


def _head_parameters(model: Path) -> str:
    """How many of the parameters are the head's; a dash where the model has none."""
    from safetensors import safe_open

    if not model.is_file():
        return "–"
    with safe_open(model, framework="np") as tensors:
        names = [name for name in tensors.keys() if name.startswith("head.") and ".space." not in name]  # noqa: SIM118
        sizes = [math.prod(tensors.get_slice(name).get_shape()) for name in names]
    return str(sum(sizes)) if sizes else "–"

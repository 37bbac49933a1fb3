"""A page of results: ours beside the published, what it cost, and which method is better than which."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hypergraph.files import atomic_write_text, reading
from hypergraph.tasks.kinds import METRICS
from hypergraph.tasks.result import Result, spread
from hypergraph.tasks.statistics import paired_seeds

# The row that every other one of its dataset is compared with, the first of these that is there.
REFERENCE = ("bmlr-p", "bfc-p", "bfc-p, tanh")


@dataclass(frozen=True)
class Row:
    """One method on one dataset: all that a page says of it, and what is needed to make it again.

    Args:
        dataset: Its name in the table.
        method: A head or layer, or a name of ours.
        metric: The metric of the table.
        seeds: The seeds; ``test``, ``val``, ``best_epoch`` and ``seconds`` have a number for each.
        head: Parameters of the head, if the model has one.
        model: Parameters of the model.
        split: The name of the split.
        leaks: Whether training nodes are tested.
        settings: Every setting that changes the results.
    """

    dataset: str
    method: str
    metric: str
    seeds: list[int]
    test: list[float]
    val: list[float]
    best_epoch: list[int]
    seconds: list[float]
    head: int | None
    model: int
    split: str
    leaks: bool
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, dataset: str, method: str, result: Result, settings: dict[str, Any]) -> Row:
        """The row of a run."""

        def each(name: str) -> list[Any]:
            return [seed[name] for seed in result.seeds]

        return cls(
            dataset,
            method,
            result.metric,
            each("seed"),
            result.values(),
            result.values(part="val"),
            each("best_epoch"),
            [round(seconds, 1) for seconds in each("seconds")],
            _head_parameters(result.folder / "model.safetensors"),
            result.parameters,
            result.about.get("split", "–"),
            bool(result.about.get("leaks")),
            settings,
        )

    def cells(self, published: str | None) -> list[str]:
        """The row of the table."""
        mean = statistics.fmean(self.test)
        std = statistics.stdev(self.test) if len(self.test) > 1 else None
        return [
            self.dataset,
            self.method if published else f"{self.method} (ours)",
            str(len(self.seeds)),
            spread(mean, std),
            f"{100 * statistics.fmean(self.val):.2f}",
            published or "–",
            _gap(mean, std, published),
            f"{statistics.fmean(self.seconds):.1f}",
            "–" if self.head is None else str(self.head),
            str(self.model),
            self.split,
            "yes" if self.leaks else "no",
        ]


def read_rows(path: Path) -> list[Row]:
    """The rows that :func:`write_rows` wrote; none where there is no file."""
    if not path.is_file():
        return []
    with reading(path, "rows written by hypergraph reproduce"):
        return [Row(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """One row a line, as JSON."""
    lines = (json.dumps(asdict(row), ensure_ascii=False) for row in rows)
    atomic_write_text(path, "".join(f"{line}\n" for line in lines))


COLUMNS = (
    *("dataset", "method", "seeds", "{}, ours", "validation", "{}, published", "difference", "seconds"),
    *("head", "model", "split", "leaks"),
)


def page(
    table: str, about: Mapping[str, Any], rows: Sequence[Row], missing: Mapping[str, str] | None = None
) -> str:
    """A page of Markdown: the rows, and the paired differences between methods.

    Args:
        table: The table's name.
        about: The published table: ``title``, ``table``, ``note``, and figures by dataset and method.
        rows: Its rows.
        missing: Why a dataset is left out.
    """
    metric = METRICS[rows[0].metric]
    names = [name.format(metric) for name in COLUMNS]
    source = (
        f'Published: Chen et al. 2026, table\n"{about["table"]}" (five folds). ' if about["table"] else ""
    )
    lines = [
        f"# {about['title']}",
        "",
        f"From `hypergraph reproduce {table} --data FOLDER`, in per cent. {source}{about['note']}".rstrip(),
        "",
        "The difference is that of the means, in units of the pooled standard deviation. Seconds are those",
        "of a seed on one thread, beside other work; *head* and *model* count parameters.",
        "",
        f"| {' | '.join(names)} |",
        "|---|---|" + "---:|" * (len(names) - 4) + "---|---|",
        *(f"| {' | '.join(row.cells(_figure(about, row)))} |" for row in rows),
    ]
    lines += comparisons(rows)
    lines += [f"\nLeft out: {dataset} ({reason.rstrip('.')})." for dataset, reason in (missing or {}).items()]
    return "\n".join(lines) + "\n"


def _reference(method: str, here: Container[str]) -> str | None:
    """What a method is compared with: the paper's on the ball, with the same recipe where it has one."""
    recipe = "".join(method.partition(", ")[1:])
    names = (name + end for end in (recipe, "") for name in REFERENCE)
    return next((name for name in names if name in here and name != method), None)


def comparisons(rows: Sequence[Row]) -> list[str]:
    """Which method is better than the reference of its dataset, as far as the shared seeds can tell."""
    lines: list[str] = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        here = {row.method: dict(zip(row.seeds, row.test)) for row in rows if row.dataset == dataset}
        for method, scores in here.items():
            reference = _reference(method, here)
            found = paired_seeds(scores, here[reference]) if reference else None
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


def _figure(about: Mapping[str, Any], row: Row) -> str | None:
    return about.get(row.dataset, {}).get(row.method)


def _gap(mean: float, std: float | None, published: str | None) -> str:
    """The distance from the published mean, in pooled standard deviations."""
    if published is None or "±" not in published or std is None:
        return "–"
    theirs, deviation = (float(part) for part in published.split("±"))
    pooled = math.sqrt(((100 * std) ** 2 + deviation**2) / 2)
    return f"{(100 * mean - theirs) / pooled:+.1f}" if pooled else "–"


def _head_parameters(model: Path) -> int | None:
    """How many of the parameters are the head's, where the model has one."""
    from safetensors import safe_open

    if not model.is_file():
        return None
    with safe_open(model, framework="np") as tensors:
        names = [name for name in tensors.keys() if name.startswith("head.") and ".space." not in name]  # noqa: SIM118
        sizes = [math.prod(tensors.get_slice(name).get_shape()) for name in names]
    return sum(sizes) or None

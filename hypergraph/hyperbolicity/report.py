"""``hypergraph delta``: load, watch the bracket close, and say what came of it."""

from __future__ import annotations

import re
from typing import Any

from hypergraph.errors import InputError
from hypergraph.hyperbolicity.delta import delta_hyperbolicity
from hypergraph.hyperbolicity.result import PUBLISHED, DeltaResult
from hypergraph.hyperbolicity.settings import DeltaSettings
from hypergraph.progress import progress

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def measure(settings: DeltaSettings) -> tuple[DeltaResult, dict[str, Any]]:
    """Delta of a dataset or file, and the same as plain values with the published one beside it."""
    dataset = settings.dataset
    limit = None if settings.memory_limit is None else parse_bytes(settings.memory_limit)

    from hypergraph.datasets.load import load_adjacency

    graph, names, weighted = load_adjacency(dataset, data=settings.data)
    with progress(f"delta of {dataset}", total=100) as report:
        widest = 0.0

        def watch(lower: float, upper: float, stage: str) -> None:
            nonlocal widest
            widest = max(widest, upper - lower)
            closed = 100 * (1 - (upper - lower) / widest) if widest else 100
            report(round(closed), note=f"{lower:g} <= delta <= {upper:g} ({stage})")

        result = delta_hyperbolicity(
            graph,
            method=settings.method,
            time_limit=settings.time_limit,
            memory_limit=limit,
            samples=settings.samples,
            seed=settings.seed,
            watch=watch,
        )
    record = {"dataset": dataset, **result.as_dict(), "published": PUBLISHED.get(dataset)}
    if weighted:
        record["note"] = "weights of edges are left out: a path is as long as its number of edges"
    if names is not None:
        record["witness"] = [names[node] for node in result.witness]
    return result, record


def parse_bytes(text: str) -> int:
    """A number of bytes such as 500MB, 2G or 100000.

    >>> parse_bytes("1.5 GB")
    1500000000
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*", text.lower())
    if match is None:
        raise InputError(f"'{text}' is no amount of memory; write it like 500MB or 2GB.")
    return int(min(float(match[1]) * _UNITS[match[2]], 2.0**63))


def describe(record: dict[str, Any]) -> list[str]:
    """The lines that a person reads."""
    a, b, c, d = record["witness"]
    first, second, third = record["sums"]
    bracket = f"{record['lower']:g} <= delta <= {record['upper']:g}"
    lines = [
        f"{record['dataset']}: " + (f"delta = {record['delta']:g} (exact)" if record["exact"] else bracket)
    ]
    if record["method"] == "sampled":
        lines.append(
            f"a lower bound: the largest of {record['samples']} random quadruples, seed {record['seed']}"
        )
    if record["stopped"]:
        lines.append(f"stopped: {record['stopped']}")
    if record["mean"] is not None:
        low, high = record["mean_interval"]
        lines.append(f"mean delta of a quadruple: {record['mean']:.4f} (95 %: {low:.4f} to {high:.4f})")
    lines += [
        f"witness: {a}, {b}, {c}, {d}; it shows ({first} - {second}) / 2 = {record['lower']:g}",
        f"  d({a}, {b}) + d({c}, {d}) = {first}",
        f"  d({a}, {c}) + d({b}, {d}) = {second}",
        f"  d({a}, {d}) + d({b}, {c}) = {third}",
    ]
    least = "" if record["exact"] else ">= "
    seen = "" if record["diameter_exact"] else " or more"
    relative = "" if record["relative"] is None else f", 2 delta / diameter {least}{record['relative']:.3f}"
    lines.append(
        f"largest component: {record['nodes']} nodes, {record['edges']} edges, "
        f"diameter {record['diameter']}{seen}{relative}"
    )
    if "note" in record:
        lines.append(record["note"])
    if record["published"] is not None:
        lines.append(_compared(record))
    lines.append(f"{record['seconds']:.2f} s")
    return lines


def _compared(record: dict[str, Any]) -> str:
    published, half = record["published"], record["diameter"] / 2
    text = f"published (Chami et al., 2019): {published:g}"
    if record["diameter_exact"] and published > half:
        return f"{text}, which is impossible: delta is at most half the diameter, {half:g}"
    if published < record["lower"]:
        return f"{text}, which is too low: the witness shows {record['lower']:g}"
    return text

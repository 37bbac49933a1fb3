"""The tables that are measured: delta, time and size of layers, heads against classes and batch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hypergraph.errors import InputError, unknown_name

Say = Callable[[str], None]
# What may be chosen of a table; the others are always made whole.
_CHOOSES: Mapping[str, Sequence[str]] = {
    "hyperbolicity": ("dataset",),
    "efficiency": ("dataset", "method"),
    "heads": (),
    "classes": (),
}


def measure(
    table: str,
    *,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
    runs: Path = Path("runs"),
    say: Say,
    **settings: Any,
) -> str:
    """A page of Markdown; ``settings`` may hold ``data``, and for ``classes`` those of its runs."""
    for name, given in (("dataset", datasets), ("method", methods)):
        if given and name not in _CHOOSES[table]:
            raise InputError(f"The table {table} has no choice of a {name}; leave out --{name}.")
    if table == "classes":
        from hypergraph.tasks.classes import classes

        return classes(runs, say, **{k: v for k, v in settings.items() if k in ("seeds", "epochs")})
    if table == "heads":
        return heads(say)
    if table == "hyperbolicity":
        return hyperbolicity(datasets, settings.get("data"), say)
    return efficiency(datasets, settings.get("data"), say, methods)


def hyperbolicity(datasets: Sequence[str], data: str | None, say: Say) -> str:
    """Exact delta beside the published."""
    from hypergraph.hyperbolicity.report import measure as delta
    from hypergraph.hyperbolicity.settings import DeltaSettings

    lines, missing = [], []
    for dataset in datasets or ("disease", "disease-hgcn", "airport", "pubmed", "cora", "citeseer"):
        say(f"delta of {dataset}")
        start = time.monotonic()
        try:
            result, record = delta(DeltaSettings(dataset=dataset, data=data))
        except InputError as error:
            missing.append(f"Left out: {dataset} ({str(error).rstrip('.')}).")
            continue
        shown = "–" if record["published"] is None else f"{record['published']:g}"
        exact = (
            f"{result.lower:g}" if result.lower == result.upper else f"{result.lower:g} to {result.upper:g}"
        )
        lines.append(f"| {dataset} | {exact} | {shown} | {time.monotonic() - start:.1f} |")
    _need(lines, missing, "hyperbolicity")
    return _page(
        "δ-hyperbolicity",
        "hyperbolicity --data FOLDER",
        "Exact Gromov δ of the largest component, beside the published value (a maximum\n"
        "over samples, or of unknown origin: δ is at most half the diameter, so 11 is impossible on Cora).\n"
        "See [delta](../delta.md).",
        ("dataset", "exact δ", "published δ", "seconds"),
        lines + [f"\n{text}" for text in missing],
    )


def efficiency(
    datasets: Sequence[str], data: str | None, say: Say, methods: Sequence[str] = (), epochs: int = 40
) -> str:
    """Processor time of an epoch of link prediction and parameters of the two layers."""
    from hypergraph.tasks.config import LinkConfig, settle
    from hypergraph.tasks.link_pred import LinkPred
    from hypergraph.tasks.reproduce import figures
    from hypergraph.tasks.runner import alone

    lines, missing = [], []
    known: Mapping[str, Mapping[str, Any]] = figures("efficiency")
    for dataset in datasets:
        if dataset not in known:
            raise unknown_name("dataset", dataset, known)
    layers = list(dict.fromkeys(fc for cells in known.values() for fc in cells))
    for method in methods:
        if method not in layers:
            raise unknown_name("method", method, layers)
    for dataset in datasets or known:
        published = {fc: cell for fc, cell in known[dataset].items() if fc in (methods or layers)}
        configs = {fc: settle(LinkConfig, {"dataset": dataset, "fc": fc, "data": data}) for fc in published}
        say(dataset)
        try:
            loaded = {fc: LinkPred.load(config) for fc, config in configs.items()}
        except InputError as error:
            missing.append(f"Left out: {dataset} ({str(error).rstrip('.')}).")
            continue
        tasks: dict[str, LinkPred] = {}
        spent: dict[str, list[float]] = {}
        for fc, config in configs.items():
            with alone(config, 0):
                tasks[fc], spent[fc] = LinkPred(config, 0, loaded[fc]), []
        for epoch in range(1, epochs + 4):
            for fc, task in tasks.items():  # in turns, so that a busy machine slows all of them
                with alone(configs[fc], epoch):
                    spent[fc].append(_processor_time(partial(task.train_epoch, epoch)))
        for fc, (seconds, parameters) in published.items():
            fit = statistics.median(spent[fc][3:])
            ours = sum(p.numel() for p in tasks[fc].model.parameters() if p.requires_grad)
            lines.append(f"| {dataset} | {fc} | {fit:.4f} | {seconds:.4f} | {ours} | {parameters} |")
    _need(lines, missing, "efficiency")
    return _page(
        "Time and size of linear layers",
        "efficiency --data FOLDER",
        "One epoch of link prediction (forward, backward, step): the median processor time of\n"
        f"{epochs} epochs on one core, in which every layer takes its turn, beside the published time on an\n"
        "RTX A6000; and trained parameters.",
        (
            "dataset",
            "fc",
            "s/epoch, ours",
            "s/epoch, published",
            "parameters, ours",
            "parameters, published",
        ),
        lines + [f"\n{text}" for text in missing],
        left=2,
    )


def _need(lines: Sequence[str], missing: Sequence[str], table: str) -> None:
    """Refuse a page without a row."""
    if not lines:
        raise InputError(f"Nothing to show of {table}. {' '.join(missing)}")


def heads(say: Say, features: int = 64, rounds: int = 7) -> str:
    """Time and memory of every head, against the number of classes and the batch."""
    import torch

    from hypergraph.nn.registry import HEADS, make_head

    shapes = ((256, 10), (256, 100), (256, 1000), (4096, 10), (4096, 100))
    lines = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            for batch, classes in shapes:
                say(f"batch {batch}, {classes} classes")
                made: dict[str, Any] = {name: make_head(name, features, classes) for name in HEADS}
                rows = torch.randn(batch, features) / features**0.5
                spent: dict[str, list[float]] = {name: [] for name in made}
                steps = {name: _step(head, head.space.exp0(rows).detach()) for name, head in made.items()}
                for number in range(rounds + 2):
                    for name, step in steps.items():  # in turns, so that a busy machine slows all of them
                        seconds = _processor_time(step)
                        if number >= 2:
                            spent[name].append(seconds)
                base = statistics.median(spent["mlr"])
                for name, times in spent.items():
                    middle = statistics.median(times)
                    lines.append(
                        f"| {batch} | {classes} | {name} | {1e3 * middle:.2f} | {middle / base:.2f} | "
                        f"{_peak(steps[name]) / 2**20:.1f} |"
                    )
    finally:
        torch.set_num_threads(threads)
    return _page(
        "Heads against the number of classes and the batch",
        "heads",
        f"Forward and backward on {features} features, in single precision on one thread: the\n"
        f"median processor time of {rounds} rounds in which every head takes its turn, and the most\n"
        "memory that one step allocates.",
        ("batch", "classes", "head", "ms", "times mlr", "peak MiB"),
        lines,
        left=3,
    )


def _step(head: Any, points: Any) -> Callable[[], None]:
    x = points.requires_grad_()

    def run() -> None:
        head.zero_grad(set_to_none=True)
        x.grad = None
        head(x).sum().backward()

    return run


def _processor_time(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def _peak(step: Callable[[], None]) -> int:
    """The most bytes that a step has allocated at a time."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    now = most = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            most = max(most, now)
    return most


def _page(
    title: str, command: str, text: str, names: Sequence[str], lines: Sequence[str], left: int = 1
) -> str:
    head = f"| {' | '.join(names)} |\n|{'---|' * left}{'---:|' * (len(names) - left)}\n"
    return f"# {title}\n\nFrom `hypergraph reproduce {command}`. {text}\n\n{head}" + "\n".join(lines) + "\n"

"""Follows a run by its files: a line for each finished seed, and logs that other programs read."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from hypergraph.errors import InputError, unknown_name
from hypergraph.files import atomic_write_text
from hypergraph.tasks.kinds import METRICS
from hypergraph.tasks.run import Run

Log = Callable[[int, dict[str, Any]], None]  # takes a seed and a line of its metrics
_logs: ContextVar[tuple[str, ...]] = ContextVar("logs", default=())
_PACKAGES = {"csv": "csv", "tensorboard": "tensorboard", "wandb": "wandb"}


@contextmanager
def log_to(*names: str) -> Iterator[None]:
    """Runs inside the ``with`` block also log to ``"csv"``, ``"tensorboard"`` or ``"wandb"``.

    CSV is ``metrics.csv`` in the run folder, TensorBoard's files are in ``tensorboard/`` there.
    """
    for name in names:
        if name not in _PACKAGES:
            raise unknown_name("log", name, _PACKAGES)
        if importlib.util.find_spec(_PACKAGES[name]) is None:
            raise InputError(f"{name} is not installed; install it with: pip install 'hypergraph[{name}]'.")
    token = _logs.set(names)
    try:
        yield
    finally:
        _logs.reset(token)


@contextmanager
def follow(folder: Run, say: Callable[[str], None]) -> Iterator[None]:
    """Tell of a run while the ``with`` block trains it: here or in other processes."""
    with ExitStack() as stack:
        logs = [stack.enter_context(_LOGS[name](folder)) for name in _logs.get()]
        pending = folder.pending()
        speak = (lambda text: None) if sys.stderr.isatty() else say  # on a terminal there is a bar instead
        seen: dict[int, int] = {}

        def look() -> None:
            # If a file was damaged or deleted meanwhile, the run itself says so.
            with suppress(OSError, ValueError, KeyError):
                look_closely()

        def look_closely() -> None:
            for seed in list(pending):
                for line in _new_lines(folder, seed, seen) if logs else ():
                    for log in logs:
                        log(seed, line)
                if (folder.seed_folder(seed) / "result.json").exists():
                    pending.remove(seed)
                    speak(_finished(folder, seed))

        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.5):
                look()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            look()


def _finished(folder: Run, seed: int) -> str:
    found, metric = folder.seed_result(seed) or {}, folder.kind.metric
    scores = ", ".join(
        f"{part} {METRICS[metric]} {100 * found[part][metric]:.2f}" for part in ("val", "test")
    )
    return f"seed {seed}: {scores}, best epoch {found['best_epoch']}, {found['seconds']:.1f} s"


def _new_lines(folder: Run, seed: int, seen: dict[int, int]) -> list[dict[str, Any]]:
    """The whole lines of a seed's metrics since the last time."""
    try:
        lines = (folder.seed_folder(seed) / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    except OSError:
        return []
    fresh = lines[seen.get(seed, 0) :]
    seen[seed] = len(lines)
    return [json.loads(line) for line in fresh]


@contextmanager
def _csv(folder: Run) -> Iterator[Log]:
    yield lambda seed, line: None
    seeds = folder.config.all_seeds
    rows = [{"seed": seed, **line} for seed in seeds for line in _new_lines(folder, seed, {})]
    if not rows:
        return
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    atomic_write_text(folder.path / "metrics.csv", text.getvalue())


@contextmanager
def _tensorboard(folder: Run) -> Iterator[Log]:
    from torch.utils.tensorboard import SummaryWriter

    writers: dict[int, Any] = {}

    def log(seed: int, line: dict[str, Any]) -> None:
        if seed not in writers:
            writers[seed] = SummaryWriter(str(folder.path / "tensorboard" / f"seed-{seed}"))
        for name, value in _numbers(line).items():
            writers[seed].add_scalar(name, value, line["epoch"])

    try:
        yield log
    finally:
        for writer in writers.values():
            writer.close()


@contextmanager
def _wandb(folder: Run) -> Iterator[Log]:
    import wandb

    run = wandb.init(
        project="hypergraph", name=folder.path.name, dir=str(folder.path), config=folder.config.to_dict()
    )

    def log(seed: int, line: dict[str, Any]) -> None:
        run.log(
            {
                f"seed-{seed}/{name}": value
                for name, value in {**_numbers(line), "epoch": line["epoch"]}.items()
            }
        )

    try:
        yield log
    finally:
        run.finish()


_LOGS: Mapping[str, Any] = {"csv": _csv, "tensorboard": _tensorboard, "wandb": _wandb}


def _numbers(line: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: value for name, value in line.items() if name != "epoch" and isinstance(value, (int, float))
    }

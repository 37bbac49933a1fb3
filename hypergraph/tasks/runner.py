"""Runs the seeds of a run, side by side or one after the other, to the same numbers."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypergraph.errors import InputError, unknown_name
from hypergraph.files import atomic_path
from hypergraph.progress import progress
from hypergraph.tasks.config import Config
from hypergraph.tasks.distributed import processes
from hypergraph.tasks.executors import as_done, check_backend, executor, tell
from hypergraph.tasks.follow import follow
from hypergraph.tasks.kinds import KINDS
from hypergraph.tasks.result import Result
from hypergraph.tasks.run import Run

if TYPE_CHECKING:
    from hypergraph.tasks.loop import Report

Say = Callable[[str], None]
_START = 3.0  # seconds that a new process takes before it trains


def run(
    config: Config,
    *,
    data: Any = None,
    out: Path | None = None,
    jobs: int | None = None,
    backend: str = "local",
    say: Say = lambda text: None,
) -> Result:
    """Start a run and finish it.

    Args:
        config: The configuration.
        data: A dataset that is already loaded; its seeds run in this process.
        out: The run folder; by default the next free one under ``runs/``.
        jobs: How many seeds run side by side; by default as many as there are cores, once it is known that
            they take longer than it takes to start a process.
        backend: ``"local"``, or ``"ray"`` for a Ray cluster.
        say: Told in words what matters before training.
    """
    check_backend(backend)
    check_device(config.device)
    task = KINDS[config.task].load_task()
    loaded = task.load(config) if data is None else data
    config = with_split(config, loaded)
    with Run.create(config, task.fingerprint(loaded), out) as folder:
        return finish(folder, loaded, jobs if data is None else 1, say, backend if data is None else "local")


def resume(
    path: Path,
    *,
    data: Any = None,
    source: str | None = None,
    jobs: int | None = None,
    backend: str = "local",
    say: Say = lambda text: None,
) -> Result:
    """Continue a run that was interrupted, to the numbers of an uninterrupted one.

    Args:
        path: The run folder.
        source: The folder of raw files, where that is elsewhere now.

    The other arguments are those of :func:`run`.
    """
    check_backend(backend)
    folder = Run.open(path, source)
    check_device(folder.config.device)
    task = KINDS[folder.config.task].load_task()
    loaded = task.load(folder.loading) if data is None else data
    folder.check_data(task.fingerprint(loaded))
    if finished(folder):
        return Result.read(path)
    with folder.hold() as held:
        return finish(held, loaded, jobs if data is None else 1, say, backend if data is None else "local")


def finished(folder: Run) -> bool:
    """Whether nothing is left to do; damaged files of a finished seed are an error, others are made anew."""
    pending = folder.pending()
    for seed in folder.config.all_seeds:
        for said in () if seed in pending else folder.damaged(seed):
            raise InputError(said)
    if pending or not (folder.path / "result.json").exists():
        return False
    try:
        return not folder.damaged()
    except InputError:
        return False


def with_split(config: Config, data: Any) -> Config:
    """The configuration with the name of the split that its data have, where it names none."""
    named = getattr(config, "split", "") is not None
    return config if named else replace(config, split=data.split.kind)  # type: ignore[call-arg]


def check_device(name: str) -> None:
    """Refuse a device that is not there."""
    if name.partition(":")[0] not in ("cpu", "cuda", "mps", "xpu"):
        raise unknown_name("device", name, ("cpu", "cuda", "mps", "xpu"))
    import torch

    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"The device '{name}' is not available ({reason}); use --device cpu.") from error


def finish(folder: Run, data: Any, jobs: int | None, say: Say, backend: str = "local") -> Result:
    """Train the seeds that are left of a run that is held, and make the files at its top."""
    start = time.monotonic()
    about = folder.kind.load_task().about(folder.config, data)
    for note in (about.get("leaks"), *about.get("notices", ()), _other_processes(folder)):
        if note:
            say(f"Note: {note}")
    say(f"Run folder: {folder.path}")
    try:
        with follow(folder, say), progress(folder.config.task, folder.config.seeds) as bar:
            _train(folder, data, jobs, backend, bar)
        return folder.finish(time.monotonic() - start)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_hint(folder)) from None
    except (OSError, InputError) as error:
        if not (folder.path / "config.toml").exists():
            raise InputError(
                f"{folder.path}: the run folder was deleted while the run went on; start the run again."
            ) from error
        said = str(error)
        if isinstance(error, OSError):
            said = f"{error.filename or folder.path}: {error.strerror}."
        raise InputError(f"{said} {_hint(folder)}") from error


def _other_processes(folder: Run) -> str | None:
    began, now = folder.processes, processes()
    if began in (None, now):
        return None
    return (
        f"the run was begun with {began} processes and goes on with {now}, which share the batches in "
        "another way: its numbers are not those of a whole run."
    )


def _train(folder: Run, data: Any, jobs: int | None, backend: str, bar: Any) -> None:
    """Train the seeds that are left: here, or in other processes."""
    pending = folder.pending()
    total, here = folder.config.seeds, backend == "local"
    most = min(jobs or cores(folder.config), len(pending))
    if here and (most == 1 or jobs is None):
        # Short seeds run here: they are finished before a new process would have started.
        enough = None if most == 1 else time.monotonic() + _START
        pending = _one_by_one(folder, pending, data, enough, bar)
        most = min(most, len(pending))
    if pending:
        done = total - len(pending)
        _side_by_side(folder, pending, most, backend, lambda extra, note: bar(done + extra, note))


class _Enough(Exception):
    """This seed takes long; another process continues it from its checkpoint."""


def _one_by_one(folder: Run, seeds: list[int], data: Any, enough: float | None, bar: Any) -> list[int]:
    """Train seeds in this process, until ``enough`` by the clock; those that are left."""
    done = folder.config.seeds - len(seeds)
    for i, seed in enumerate(seeds):
        shown = _at(bar, done + i, seed)

        def report(fraction: float, note: str, shown: Report = shown, i: int = i) -> None:
            shown(fraction, note)
            late = enough is not None and time.monotonic() > enough
            if late and fraction < 1 and len(seeds) - i > 1:
                raise _Enough

        try:
            run_seed(folder, seed, data, report)
        except _Enough:
            return seeds[i:]
    return []


def _hint(folder: Run) -> str:
    seeds = folder.config.all_seeds
    kept = sum((folder.seed_folder(seed) / "result.json").exists() for seed in seeds)
    command = f"hypergraph {folder.config.task} --resume {folder.path}"
    return f"{kept} of {len(seeds)} seeds are finished and kept; '{command}' continues."


def _at(bar: Any, done: int, seed: int) -> Report:
    return lambda fraction, note: bar(done + fraction, f"seed {seed} {note}")


def cores(config: Config) -> int:
    """How many seeds this machine has room for side by side."""
    if not config.device.startswith("cpu"):
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // config.threads)


def run_seed(folder: Run, seed: int, data: Any, report: Report | None = None) -> None:
    """Train one seed, from its checkpoint where there is one, and write what it found."""
    import numpy as np

    from hypergraph.tasks import checkpoint, loop
    from hypergraph.tasks.keeper import Keeper

    config, place, owner = folder.config, folder.seed_folder(seed), folder.owner(seed)
    place.mkdir(parents=True, exist_ok=True)
    with alone(config, seed):
        task = folder.kind.load_task()(config, seed, data)
        keeper = Keeper(
            place,
            owner,
            lambda found, path: folder.check_owner(seed, found, path),
            run=folder.path / "config.toml",
        )
        done, _ = loop.train(task, task.schedule, keeper, report)
        checkpoint.save(place / "model.safetensors", task.model.state_dict(), {"owner": owner})
        with atomic_path(place / "embedding.npz") as part:
            arrays: dict[str, Any] = dict(task.embedding())
            np.savez_compressed(part, **arrays)
        found = {
            "seed": seed,
            **task.test(),
            "best_epoch": done.best_epoch,
            "epochs": done.epoch,
            "seconds": round(done.seconds, 3),
            "about": task.about(config, data),
            "parameters": sum(p.numel() for p in task.model.parameters() if p.requires_grad),
        }
    folder.write_seed(seed, found)
    keeper.path.unlink(missing_ok=True)


# Torch has one random generator in a process, so seeds that are trained in several threads take turns.
_TURN = threading.RLock()


@contextmanager
def alone(config: Config, seed: int) -> Iterator[None]:
    """A seed's own random numbers, threads and dtype, and the caller's again afterwards.

    All three belong to the whole process, so only one thread at a time trains.
    """
    import torch

    with _TURN:
        threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
        with torch.random.fork_rng():
            torch.set_num_threads(config.threads)
            torch.set_default_dtype(getattr(torch, config.dtype))
            torch.manual_seed(seed)
            try:
                yield
            finally:
                torch.set_num_threads(threads)
                torch.set_default_dtype(dtype)


def _side_by_side(
    folder: Run, seeds: list[int], jobs: int, backend: str, report: Callable[[float, str], None]
) -> None:
    """Give the seeds to other processes."""
    config = folder.config
    fractions = dict.fromkeys(seeds, 0.0)

    def heard(seed: int, fraction: float, note: str) -> None:
        fractions[seed] = fraction
        report(sum(fractions.values()), f"seed {seed} {note}")

    gpus = int(config.device.startswith("cuda"))
    errors = []
    with executor(backend, jobs, threads=config.threads, gpus=gpus, lock=folder.lock) as running:
        path = str(folder.path.absolute())
        futures = {running.submit(train_seed, path, seed, folder.source): seed for seed in seeds}
        for future in as_done(running, futures, heard):
            try:
                future.result()
                heard(futures[future], 1.0, "finished")
            except InputError as error:
                errors.append(f"seed {futures[future]}: {error}")
    if errors:
        raise InputError(" ".join(errors))


def train_seed(path: str, seed: int, source: str | None) -> None:
    """Train one seed of a run folder; it is called in another process.

    Args:
        path: The run folder.
        seed: The seed.
        source: The folder of raw files, where that is elsewhere now.
    """
    told = 0.0

    def report(fraction: float, note: str) -> None:
        nonlocal told
        if time.monotonic() - told > 0.1:
            told = time.monotonic()
            tell(seed, fraction, note)

    try:
        folder, data = _opened(path, (Path(path) / "config.toml").stat().st_mtime_ns, source)
        run_seed(folder, seed, data, report)
    except OSError as error:
        raise InputError(f"{error.filename or path}: {error.strerror}.") from error


@functools.lru_cache(maxsize=1)
def _opened(path: str, changed: int, source: str | None) -> tuple[Run, Any]:
    """A run folder and its data, for several seeds in one process."""
    folder = Run.open(Path(path), source)
    task = folder.kind.load_task()
    data = task.load(folder.loading)
    folder.check_data(task.fingerprint(data))  # it may have changed since the run began
    return folder, data

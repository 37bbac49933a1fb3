"""Runs the seeds of a run, side by side or one after the other, to the same numbers."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypergraph
from hypergraph.errors import InputError, unknown_name
from hypergraph.files import atomic_path
from hypergraph.progress import progress
from hypergraph.tasks.config import Config
from hypergraph.tasks.kinds import KINDS
from hypergraph.tasks.result import Result
from hypergraph.tasks.run import Run

if TYPE_CHECKING:
    from hypergraph.tasks.loop import Report

Say = Callable[[str], None]


def run(
    config: Config,
    *,
    data: Any = None,
    out: Path | None = None,
    jobs: int | None = None,
    say: Say = lambda text: None,
) -> Result:
    """Start a run and finish it.

    Args:
        config: The configuration.
        data: A dataset that is already loaded; its seeds run in this process.
        out: The run folder; by default the next free one under ``runs/``.
        jobs: How many seeds run side by side; by default as many as there are cores.
        say: Told in words what matters before training.
    """
    check_device(config.device)
    task = KINDS[config.task].load_task()
    loaded = task.load(config) if data is None else data
    with Run.create(config, task.fingerprint(loaded), out) as folder:
        return finish(folder, loaded, jobs if data is None else 1, say)


def resume(path: Path, *, data: Any = None, jobs: int | None = None, say: Say = lambda text: None) -> Result:
    """Continue a run that was interrupted, to the numbers of an uninterrupted one."""
    folder = Run.open(path)
    check_device(folder.config.device)
    task = KINDS[folder.config.task].load_task()
    loaded = task.load(folder.config) if data is None else data
    folder.check_data(task.fingerprint(loaded))
    if finished(folder):
        return Result.read(path)
    with folder.hold() as held:
        return finish(held, loaded, jobs if data is None else 1, say)


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


def finish(folder: Run, data: Any, jobs: int | None, say: Say) -> Result:
    """Train the seeds that are left of a run that is held, and make the files at its top."""
    start = time.monotonic()
    about = folder.kind.load_task().about(folder.config, data)
    for note in (about.get("leaks"), *about.get("notices", ())):
        if note:
            say(f"Note: {note}")
    say(f"Run folder: {folder.path}")
    try:
        pending = folder.pending()
        done = folder.config.seeds - len(pending)
        jobs = min(jobs or _cores(folder.config), len(pending))
        with progress(folder.config.task, folder.config.seeds) as bar:
            if jobs > 1:
                _side_by_side(folder, pending, jobs, lambda extra, note: bar(done + extra, note))
            else:
                for i, seed in enumerate(pending):
                    run_seed(folder, seed, data, _at(bar, done + i, seed))
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


def _hint(folder: Run) -> str:
    seeds = folder.config.all_seeds
    kept = sum((folder.seed_folder(seed) / "result.json").exists() for seed in seeds)
    command = f"hypergraph {folder.config.task} --resume {folder.path}"
    return f"{kept} of {len(seeds)} seeds are finished and kept; '{command}' continues."


def _at(bar: Any, done: int, seed: int) -> Report:
    return lambda fraction, note: bar(done + fraction, f"seed {seed} {note}")


def _cores(config: Config) -> int:
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
        keeper = Keeper(place, owner, lambda found, path: folder.check_owner(seed, found, path))
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


# Of a process's one generator: seeds that are trained in several threads take turns.
_TURN = threading.RLock()


@contextmanager
def alone(config: Config, seed: int) -> Iterator[None]:
    """A seed's own random numbers, threads and dtype, and the caller's again afterwards.

    All three belong to the whole process, so that of several threads one at a time is let in.
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


def _side_by_side(folder: Run, seeds: list[int], jobs: int, report: Callable[[float, str], None]) -> None:
    """Give the seeds to ``jobs`` worker processes, each the next one when it is ready."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    news: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    for seed in seeds:
        waiting.put(seed)
    workers = [_start_worker(folder) for _ in range(jobs)]
    try:
        for worker in workers:
            threading.Thread(target=_serve, args=(worker, waiting, news), daemon=True).start()
        fractions = dict.fromkeys(seeds, 0.0)
        errors: list[str] = []
        idle = 0
        while idle < jobs:
            message = news.get()
            if "fraction" in message:
                fractions[message["seed"]] = message["fraction"]
                report(sum(fractions.values()), f"seed {message['seed']} {message['note']}")
            elif "error" in message:
                errors.append(f"seed {message['seed']}: {message['error']}")
            idle += "idle" in message
        if errors:
            raise InputError(" ".join(errors))
    finally:
        for worker in workers:
            worker.kill()
            worker.__exit__(None, None, None)  # waits, and closes the pipes


def _start_worker(folder: Run) -> subprocess.Popen[str]:
    paths = [str(Path(hypergraph.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-m", "hypergraph.tasks.worker", str(folder.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        pass_fds=() if folder.lock is None else (folder.lock,),
    )


def _serve(
    worker: subprocess.Popen[str],
    waiting: queue.SimpleQueue[int],
    news: queue.SimpleQueue[dict[str, Any]],
) -> None:
    """Feed one worker until no seed is left or one fails; pass on what it says."""
    assert worker.stdin and worker.stdout
    try:
        while True:
            seed = waiting.get_nowait()
            said: dict[str, Any] = {}
            try:
                print(seed, file=worker.stdin, flush=True)
                while not said.keys() & {"done", "error"}:
                    said = json.loads(worker.stdout.readline())
                    news.put(said)
            except (OSError, ValueError):
                code = worker.wait()
                news.put({"seed": seed, "error": f"its process ended with code {code}."})
                return
            if "error" in said:
                return
    except queue.Empty:
        pass
    finally:
        news.put({"idle": True})

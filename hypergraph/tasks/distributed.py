"""A run under ``torchrun``: the first process keeps the run folder, the others train along."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypergraph.errors import InputError
from hypergraph.tasks.config import Config
from hypergraph.tasks.kinds import KINDS

if TYPE_CHECKING:
    from hypergraph.tasks.result import Result
    from hypergraph.tasks.run import Run


# Parts of the messages of gloo and NCCL when another process has ended.
_SEVERED = (
    "connection closed by peer",
    "connection reset by peer",
    "broken pipe",
    "connection refused",
    "nccl",
)


def processes() -> int:
    """How many train one model together: those of ``torchrun``, when they have met."""
    import torch.distributed as dist

    return dist.get_world_size() if dist.is_initialized() else 1


def launched() -> bool:
    """Whether this process was started as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def speaks_for_all(error: InputError) -> bool:
    """Whether this process stays silent: an error that all processes have is printed by the first one."""
    from hypergraph.tasks.guard import TrainingStopped

    return launched() and os.environ.get("RANK", "0") != "0" and not isinstance(error, TrainingStopped)


def run(
    chosen: Config | Path, out: Path | None, say: Callable[[str], None], source: str | None = None
) -> Result | None:
    """Train the seeds of a new run (a configuration) or of an old one (its folder), one after the other.

    Args:
        chosen: The configuration or the folder.
        out: The folder of a new run.
        say: Told in words what matters.
        source: The folder of raw files of an old run, where that is elsewhere now.

    Returns:
        In the first process the result, in the others ``None``.
    """
    import torch
    import torch.distributed as dist

    from hypergraph.tasks import runner
    from hypergraph.tasks.run import Run

    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if cuda else "gloo")
    try:
        config = Run.open(chosen, source).loading if isinstance(chosen, Path) else chosen
        runner.check_device(config.device)
        task = KINDS[config.task].load_task()
        data = _together(lambda: task.load(config))
        if dist.get_rank() == 0:
            return _lead(chosen, task.fingerprint(data), data, out, say, source)
        told: list[Any] = [None, None]
        dist.broadcast_object_list(told)
        if told[0] is not None:  # else the first process says what is wrong
            _train_along(Run.open(told[0], source), told[1], data)
        return None
    except RuntimeError as error:  # torch has no class of its own for a lost connection
        if not any(sign in str(error).lower() for sign in _SEVERED):
            raise
        raise InputError(
            f"Process {dist.get_rank()} ends, because another has ended; --resume continues."
        ) from error
    finally:
        dist.destroy_process_group()


def _together(load: Callable[[], Any]) -> Any:
    """``load()`` in every process; an error in one of them is raised in all."""
    import torch.distributed as dist

    said: list[str | None] = [None] * dist.get_world_size()
    loaded, wrong = None, None
    try:
        loaded = load()
    except InputError as error:
        wrong = str(error)
    dist.all_gather_object(said, wrong)
    for text in said:
        if text is not None:
            raise InputError(text)
    return loaded


def _lead(
    chosen: Config | Path,
    sha256: str,
    data: Any,
    out: Path | None,
    say: Callable[[str], None],
    source: str | None,
) -> Result:
    """What the first process does: it alone holds the folder, and tells the others what to train."""
    import torch.distributed as dist

    from hypergraph.tasks import runner
    from hypergraph.tasks.result import Result
    from hypergraph.tasks.run import Run

    told: list[Any] = [None, None]
    with ExitStack() as held:
        try:
            if isinstance(chosen, Path):
                folder = Run.open(chosen, source)
                folder.check_data(sha256)
                if runner.finished(folder):
                    return Result.read(chosen)
                folder = held.enter_context(folder.hold())
            else:
                folder = held.enter_context(Run.create(chosen, sha256, out))
            told = [folder.path, folder.pending()]
        finally:
            dist.broadcast_object_list(told)
        return runner.finish(folder, data, 1, say)


def _train_along(folder: Run, seeds: list[int], data: Any) -> None:
    from hypergraph.tasks import loop, runner
    from hypergraph.tasks.keeper import Keeper

    for seed in seeds:
        with runner.alone(folder.config, seed):
            task = folder.kind.load_task()(folder.config, seed, data)
            # The first process checks that the checkpoint is of this run, and writes the next ones.
            loop.train(task, task.schedule, Keeper(folder.seed_folder(seed), owner={}))
            # The first process writes the results of these; all take part, because rows are shared out.
            task.embedding()
            task.test()

"""A run under ``torchrun``: the first process keeps the run folder, the others train along."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypergraph.tasks.config import Config
from hypergraph.tasks.kinds import KINDS

if TYPE_CHECKING:
    from hypergraph.tasks.result import Result
    from hypergraph.tasks.run import Run


def launched() -> bool:
    """Whether this process is one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def run(chosen: Config | Path, out: Path | None, say: Callable[[str], None]) -> Result | None:
    """Train the seeds of a new run (a configuration) or of an old one (its folder), one after the other.

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
        first = dist.get_rank() == 0
        config = Run.open(chosen).config if isinstance(chosen, Path) else chosen
        task = KINDS[config.task].load_task()
        data = task.load(config)
        told: list[Any] = [None, None]
        if first:
            folder = Run.open(chosen) if isinstance(chosen, Path) else _new(config, task, data, out)
            told = [folder.path, folder.pending()]
        dist.broadcast_object_list(told)
        if first:
            return runner.resume(told[0], data=data, jobs=1, say=say)
        _train_along(Run.open(told[0]), told[1], data)
        return None
    finally:
        dist.destroy_process_group()


def _new(config: Config, task: Any, data: Any, out: Path | None) -> Run:
    from hypergraph.tasks.run import Run

    return Run.create(config, task.fingerprint(data), out)


def _train_along(folder: Run, seeds: list[int], data: Any) -> None:
    from hypergraph.tasks import loop, runner
    from hypergraph.tasks.keeper import Keeper

    for seed in seeds:
        with runner.alone(folder.config, seed):
            task = folder.kind.load_task()(folder.config, seed, data)
            # Nobody has to be told apart: the first process has checked whose checkpoint it is.
            loop.train(task, task.schedule, Keeper(folder.seed_folder(seed), owner={}))

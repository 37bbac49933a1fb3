"""The one training loop: graphs, images and genomes are the same to it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from torch.optim import Optimizer

from hypergraph.tasks import checkpoint, guard
from hypergraph.tasks.keeper import Keeper, Progress, Trainable


@dataclass(frozen=True)
class Schedule:
    """When to evaluate, when to stop, which weights to keep.

    Args:
        epochs: The most epochs.
        select: The metric of :meth:`Trainable.evaluate` whose best epoch is kept; ``None`` keeps the last.
        patience: Stop after so many epochs without a better value; ``None`` never stops early.
        min_epochs: Do not stop before this epoch.
        eval_every: Evaluate after every so many epochs, and after the last.
        milestones: Epochs after which the learning rate is multiplied by ``gamma``.
    """

    epochs: int
    select: str | None = None
    patience: int | None = None
    min_epochs: int = 0
    eval_every: int = 1
    milestones: tuple[int, ...] = ()
    gamma: float = 0.1


class Report(Protocol):
    """Called after every evaluation with the share that is done, as far as can be known, and a note."""

    def __call__(self, fraction: float, note: str) -> None: ...


def train(
    task: Trainable, schedule: Schedule, keeper: Keeper, report: Report | None = None
) -> tuple[Progress, dict[str, float]]:
    """Train until the schedule says stop, and leave the task with its best weights.

    Continues from the keeper's checkpoint where there is one, to the very numbers of an uninterrupted run.

    Returns:
        How far training went, and the metrics of the epoch whose weights are kept.
    """
    start = time.monotonic()
    progress, best = keeper.restore(task)
    before = progress.seconds
    for group in task.optimizer.param_groups:
        group.setdefault("initial_lr", group["lr"])
    if not progress.epoch:
        # Written before the first step, so that a full disk is noticed now.
        keeper.save(task, progress, best, force=True)
    try:
        while not _finished(progress, schedule):
            epoch = progress.epoch + 1
            _set_lr(task.optimizer, schedule, epoch)
            loss = _guarded(task, epoch)
            progress.epoch = epoch
            if epoch % schedule.eval_every and epoch != schedule.epochs:
                continue
            metrics = task.evaluate()
            keeper.log({"epoch": epoch, "loss": loss, **metrics})
            value = metrics[schedule.select] if schedule.select else float(epoch)
            if value > progress.best_value:
                progress.best_epoch, progress.best_value = epoch, value
                if schedule.select:
                    best = {name: tensor.clone() for name, tensor in task.model.state_dict().items()}
            progress.seconds = before + time.monotonic() - start
            keeper.save(task, progress, best)
            if report is not None:
                report(_share_done(progress, schedule), _note(epoch, loss, metrics, schedule.select))
    finally:
        keeper.close()
    if best:
        task.model.load_state_dict(best)
    return progress, task.evaluate()


def _finished(progress: Progress, schedule: Schedule) -> bool:
    return progress.epoch >= _horizon(progress, schedule)


def _horizon(progress: Progress, schedule: Schedule) -> int:
    """The epoch at which training ends if nothing gets better any more."""
    if schedule.patience is None or schedule.select is None:
        return schedule.epochs
    return min(schedule.epochs, max(schedule.min_epochs, progress.best_epoch + schedule.patience))


def _share_done(progress: Progress, schedule: Schedule) -> float:
    return progress.epoch / _horizon(progress, schedule)


def _note(epoch: int, loss: float, metrics: dict[str, float], select: str | None) -> str:
    chosen = f" {select} {metrics[select]:.4f}" if select else ""
    return f"epoch {epoch} loss {loss:.4f}{chosen}"


def _set_lr(optimizer: Optimizer, schedule: Schedule, epoch: int) -> None:
    factor = schedule.gamma ** sum(epoch > milestone for milestone in schedule.milestones)
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] * factor


def _guarded(task: Trainable, epoch: int) -> float:
    """One epoch; numbers that are not finite end it with a sentence that says where they arose."""
    random = checkpoint.random_state()
    try:
        return task.train_epoch(epoch)
    except guard.NonFinite as cause:

        def rerun() -> None:
            checkpoint.load_random_state(random)
            task.train_epoch(epoch)

        raise guard.explain(epoch, cause, task.model, rerun, task.evaluate) from cause

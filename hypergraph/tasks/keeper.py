"""What a run leaves on disk while it trains, so that it can be killed at any moment."""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer

from hypergraph.errors import InputError
from hypergraph.tasks import checkpoint


class Trainable(Protocol):
    """What the loop needs of a task. Randomness comes from torch's global generator, or from the epoch."""

    model: nn.Module
    optimizer: Optimizer

    def train_epoch(self, epoch: int) -> float:
        """One epoch of :func:`guard.step`, over the whole graph or over batches; returns the loss."""
        ...

    def evaluate(self) -> dict[str, float]:
        """Validation metrics and telemetry with the present weights."""
        ...


@dataclass
class Progress:
    """How far a run is; the plain part of a checkpoint."""

    epoch: int = 0
    best_epoch: int = 0
    best_value: float = -math.inf
    seconds: float = 0.0


@dataclass
class Keeper:
    """Writes checkpoints and metrics of one seed into its folder, and finds them again.

    Args:
        folder: Where ``checkpoint.safetensors`` and ``metrics.jsonl`` are.
        owner: What the run is (task, dataset, head ...); a checkpoint of anything else is refused.
        every: Seconds between checkpoints; they also take no more than a fiftieth of the time.
    """

    folder: Path
    owner: dict[str, Any]
    every: float = 5.0
    _due: float = field(default=0.0, init=False)
    _log: IO[str] | None = field(default=None, init=False)

    @property
    def path(self) -> Path:
        return self.folder / "checkpoint.safetensors"

    def restore(self, task: Trainable) -> tuple[Progress, dict[str, Tensor]]:
        """The state of the last checkpoint, loaded into the task; of a fresh run where there is none."""
        if not self.path.exists():
            return Progress(), {}
        tensors, state = checkpoint.load(self.path)
        for name, value in self.owner.items():
            if state["owner"].get(name) != value:
                raise InputError(
                    f"{self.path}: the checkpoint is of a run with {name} = {state['owner'].get(name)}, "
                    f"this run has {name} = {value}; delete it to start this seed again."
                )
        checkpoint.load_model(task.model, checkpoint.under("model.", tensors), self.path)
        checkpoint.load_optimizer(task.optimizer, checkpoint.under("optimizer.", tensors), state["optimizer"])
        checkpoint.load_random_state(checkpoint.under("random.", tensors))
        return Progress(**state["progress"]), checkpoint.under("best.", tensors)

    def save(
        self, task: Trainable, progress: Progress, best: dict[str, Tensor], *, force: bool = False
    ) -> None:
        """Write a checkpoint if one is due."""
        start = time.monotonic()
        if not (_first_rank() and (force or start >= self._due)):
            return
        if self._log is not None:
            self._log.flush()
        optimizer, plain = checkpoint.optimizer_state(task.optimizer)
        tensors = (
            checkpoint.prefixed("model.", task.model.state_dict())
            | checkpoint.prefixed("optimizer.", optimizer)
            | checkpoint.prefixed("random.", checkpoint.random_state())
            | checkpoint.prefixed("best.", best)
        )
        # JSON has no infinity: an unset best value is left out and comes back as the default.
        known = {name: value for name, value in vars(progress).items() if value != -math.inf}
        checkpoint.save(self.path, tensors, {"owner": self.owner, "optimizer": plain, "progress": known})
        now = time.monotonic()
        self._due = now + max(self.every, 50 * (now - start) if self.every else 0.0)

    def log(self, line: dict[str, float], epoch: int) -> None:
        """Append the metrics of an epoch, after cutting off what a killed run wrote beyond its checkpoint."""
        if not _first_rank():
            return
        if self._log is None:
            self._log = _cut(self.folder / "metrics.jsonl", epoch).open("a", encoding="utf-8")
        whole = {name: value if math.isfinite(value) else None for name, value in line.items()}
        self._log.write(json.dumps(whole) + "\n")

    def close(self) -> None:
        """Flush and close the metrics."""
        if self._log is not None:
            self._log.close()
            self._log = None


def _cut(path: Path, epoch: int) -> Path:
    """Keep the lines of ``path`` before ``epoch``; a half-written line at its end is none of them."""
    kept = 0
    if path.exists():
        with path.open("rb") as file:
            for line in file:
                try:
                    if json.loads(line)["epoch"] >= epoch:
                        break
                except (ValueError, KeyError):
                    break
                kept += len(line)
        os.truncate(path, kept)
    return path


def _first_rank() -> bool:
    return not dist.is_initialized() or dist.get_rank() == 0

"""What a run leaves on disk while it trains, so that it can be killed at any moment."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import IO, Any, Protocol

import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer

from hypergraph.errors import InputError
from hypergraph.files import atomic_write_bytes, reading, regular_file
from hypergraph.tasks import checkpoint
from hypergraph.tasks.run import CHECKPOINT

# Seconds between checkpoints, which also take no more than a fiftieth of the time.
EVERY = 5.0
_SHARE = 50


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
        owner: What the run is (task, dataset, head ...); kept in the checkpoint.
        check: Called with the owner of a checkpoint that is found; raises where that is another run.
        every: Seconds between checkpoints.
        run: The file without which the run is no more; by default the checkpoint.
    """

    folder: Path
    owner: dict[str, Any]
    check: Callable[[Any, Path], None] = lambda found, path: None
    every: float = field(default_factory=lambda: EVERY)
    run: Path | None = None
    _due: float = field(default=0.0, init=False)
    _log: IO[bytes] | None = field(default=None, init=False)
    _kept: bytes = field(default=b"", init=False)  # the metrics up to the checkpoint
    _digest: Any = field(default_factory=hashlib.sha256, init=False)
    _bytes: int = field(default=0, init=False)

    @property
    def path(self) -> Path:
        return self.folder / CHECKPOINT

    def restore(self, task: Trainable) -> tuple[Progress, dict[str, Tensor]]:
        """The state of the last checkpoint, loaded into the task; of a fresh run where there is none."""
        found = self._restore(task) if self.path.exists() else (Progress(), {})
        if dist.is_initialized():
            dist.barrier()  # all have read the checkpoint before the first process writes or deletes one
        return found

    def _restore(self, task: Trainable) -> tuple[Progress, dict[str, Tensor]]:
        remedy = f"delete the folder {self.folder} to train this seed again"
        tensors, state = checkpoint.load(self.path, remedy)
        with reading(self.path, "a checkpoint written by hypergraph", remedy):
            self.check(state["owner"], self.path)
            progress = _progress(state["progress"])
            best = checkpoint.under("best.", tensors)
            if best:
                what = f"{self.path}: weights of another model"
                checkpoint.check_same(task.model.state_dict(), best, what)
            checkpoint.load_optimizer(task.optimizer, checkpoint.under("optimizer.", tensors), self.path)
            checkpoint.load_model(task.model, checkpoint.under("model.", tensors), self.path)
            checkpoint.load_random_state(checkpoint.under("random.", tensors))
            if _first_rank():
                self._kept = metrics_before(self.folder, state, remedy)
                self._digest, self._bytes = hashlib.sha256(self._kept), len(self._kept)
        return progress, best

    def save(
        self, task: Trainable, progress: Progress, best: dict[str, Tensor], *, force: bool = False
    ) -> None:
        """Write a checkpoint if one is due."""
        start = time.monotonic()
        if not (_first_rank() and (force or start >= self._due)):
            return
        if self._log is not None:
            self._log.flush()
            os.fsync(self._log.fileno())  # a checkpoint on disk needs the metrics before it
        tensors = (
            checkpoint.prefixed("model.", task.model.state_dict())
            | checkpoint.prefixed("optimizer.", checkpoint.optimizer_state(task.optimizer))
            | checkpoint.prefixed("random.", checkpoint.random_state())
            | checkpoint.prefixed("best.", best)
        )
        # JSON has no infinity: an unset best value is left out and comes back as the default.
        known = {name: value for name, value in vars(progress).items() if value != -math.inf}
        metrics = {"bytes": self._bytes, "sha256": self._digest.hexdigest()}
        checkpoint.save(self.path, tensors, {"owner": self.owner, "progress": known, "metrics": metrics})
        now = time.monotonic()
        self._due = now + max(self.every, _SHARE * (now - start) if self.every else 0.0)

    def log(self, line: dict[str, float]) -> None:
        """Append the metrics of an epoch."""
        if not _first_rank():
            return
        # A checkpoint, which is written before the first epoch, may have made the folder again.
        if not (self.run or self.path).exists():
            raise FileNotFoundError(errno.ENOENT, "deleted while the run went on", str(self.run or self.path))
        if self._log is None:
            atomic_write_bytes(self.folder / "metrics.jsonl", self._kept)
            self._log = (self.folder / "metrics.jsonl").open("ab")
        whole = {name: value if math.isfinite(value) else None for name, value in line.items()}
        written = json.dumps(whole).encode() + b"\n"
        self._log.write(written)
        self._digest.update(written)
        self._bytes += len(written)

    def close(self) -> None:
        """Flush and close the metrics."""
        if self._log is not None:
            self._log.close()
            self._log = None


def metrics_before(folder: Path, state: dict[str, Any], remedy: str) -> bytes:
    """The metrics up to a checkpoint, as they were then; what a killed run wrote beyond it is cut off."""
    path, kept = folder / "metrics.jsonl", b""
    if length := int(state["metrics"]["bytes"]):
        regular_file(path)
        with path.open("rb") as file:
            kept = file.read(length)
    if hashlib.sha256(kept).hexdigest() != state["metrics"]["sha256"]:
        raise InputError(f"{path}: damaged (it is not what the checkpoint goes on from); {remedy}.")
    return kept


def _progress(state: dict[str, Any]) -> Progress:
    for entry in fields(Progress):
        wanted = int if isinstance(entry.default, int) else (int, float)
        if not isinstance(state.get(entry.name, entry.default), wanted):
            raise TypeError(f"{entry.name} is no number")
    return Progress(**state)


def _first_rank() -> bool:
    return not dist.is_initialized() or dist.get_rank() == 0


class Forgetful(Keeper):
    """Keeps nothing on disk."""

    def restore(self, task: Any) -> tuple[Progress, dict[str, Any]]:
        return Progress(), {}

    def save(self, task: Any, progress: Progress, best: dict[str, Any], *, force: bool = False) -> None: ...

    def log(self, line: dict[str, float]) -> None: ...

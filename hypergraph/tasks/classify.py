"""What the image and genome tasks share: features, lifted into a space, then a head; trained in batches."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from hypergraph.geometry.space import Space
from hypergraph.nn.genome import GenomeCNN
from hypergraph.nn.registry import HEADS, make_head, make_space
from hypergraph.nn.vision import ResNet18
from hypergraph.tasks import metrics
from hypergraph.tasks.classify_config import ClassifyConfig
from hypergraph.tasks.distributed import processes
from hypergraph.tasks.guard import step, telemetry
from hypergraph.tasks.loop import Schedule

EVAL_BATCH = 256
MOST_CLASSES = 100  # of a confusion matrix


class FeatureClassifier(nn.Module):
    """Any network of features, CLIP(x; r), exp0, any registered head."""

    def __init__(self, features: nn.Module, head: Any, clip: float | None = None) -> None:
        super().__init__()
        self.features, self.head, self.clip = features, head, clip

    @property
    def space(self) -> Space:
        """The space of the points: the head's, so that it is saved once."""
        space: Space = self.head.space
        return space

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The points, and their logits."""
        features = self.features(x)
        # Autocast is for the network: the geometry stays in float32.
        with torch.autocast(x.device.type, enabled=False):
            z = self.space.lift(features.to(self.head.weight.dtype), self.clip)
            return z, self.head(z)


class Classify(ABC):
    """One seed of a task that classifies examples in batches; see :class:`hypergraph.tasks.kinds.Task`."""

    model: FeatureClassifier
    optimizer: Optimizer
    parts: dict[str, Tensor]  # the labels of "train", "val" and "test"
    select: str | None

    def __init__(self, config: Any, features: GenomeCNN | ResNet18, classes: tuple[str, ...]) -> None:
        self.config, self.classes = config, classes
        space = make_space(HEADS[config.head].space, config.K, config.learn_curvature)
        head = make_head(config.head, features.out_channels, len(classes), space)
        clip = None if space.flat else config.clip
        self.model = FeatureClassifier(features, head, clip).to(config.device)
        self.schedule = Schedule(
            epochs=config.epochs,
            select=self.select,
            patience=config.patience or None,
            min_epochs=config.min_epochs,
            eval_every=config.eval_every,
            milestones=config.milestone_epochs,
            gamma=config.gamma,
        )

    @abstractmethod
    def examples(self, part: str, index: Tensor, *, augment: bool = False) -> Tensor:
        """The examples at ``index`` as the network takes them; of training batches this process's share."""

    def network(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The model as it is trained: points and logits."""
        return self.model(x)

    def train_epoch(self, epoch: int) -> float:
        self.model.train()
        labels, total, seen = self.parts["train"], 0.0, 0
        for index in torch.randperm(len(labels)).split(self.config.batch):
            if len(index) >= 2 * processes():  # batch norm needs two examples in each process
                total += self.train_batch(index) * len(index)
                seen += len(index)
        return mean_over_processes(total / seen)

    def train_batch(self, index: Tensor) -> float:
        """One step on the examples at ``index``, of which this process takes its share; the loss."""
        _, logits = self.network(self.examples("train", index, augment=True))
        mine = share(index)
        loss = F.cross_entropy(logits, self.parts["train"][mine].to(logits.device))
        # Gradients are averaged over processes; with this weight the average is the mean over examples.
        return step(loss * (len(mine) * processes() / len(index)), self.model, self.optimizer)

    @torch.no_grad()
    def forward_part(self, part: str) -> tuple[Tensor, Tensor]:
        """Points and logits of a whole part."""
        self.model.eval()
        batches = torch.arange(len(self.parts[part])).split(EVAL_BATCH)
        points, logits = zip(*(self.network(self.examples(part, index)) for index in batches))
        return torch.cat(points), torch.cat(logits)

    def scores(self, part: str, logits: Tensor) -> dict[str, float]:
        """The metrics of a part."""
        label = self.parts[part].to(logits.device)
        return self.measure(logits.argmax(1), label) | {"loss": F.cross_entropy(logits, label).item()}

    def measure(self, predicted: Tensor, label: Tensor) -> dict[str, float]:
        """The metrics of predictions; :meth:`scores` adds the loss."""
        return {"accuracy": metrics.accuracy(predicted, label)}

    def evaluate(self) -> dict[str, float]:
        points, logits = self.forward_part("val")
        named = {f"val_{name}": value for name, value in self.scores("val", logits).items()}
        return named | telemetry(points, self.model.space)

    def test(self) -> dict[str, Any]:
        logits = {part: self.forward_part(part)[1] for part in ("val", "test")}
        label = self.parts["test"].to(logits["test"].device)
        taken = confusion(logits["test"].argmax(1), label, len(self.classes))
        return {part: self.scores(part, found) for part, found in logits.items()} | taken

    def embedding(self) -> dict[str, NDArray[Any]]:
        points, logits = self.forward_part("test")
        return {
            "points": points.cpu().numpy(),
            "K": np.array(self.model.space.K.item()),
            "space": np.array(self.model.space.model),
            "label": self.parts["test"].numpy(),
            "predicted": logits.argmax(1).cpu().numpy(),
        }

    def predictions(self) -> dict[str, NDArray[Any]]:
        _, logits = self.forward_part("test")
        share = logits.softmax(1).cpu().numpy()
        names = np.array(self.classes, dtype=object)
        return {
            "example": np.arange(len(share)),
            "label": names[self.parts["test"].numpy()],
            "predicted": names[share.argmax(1)],
            **{f"p_{name}": share[:, k] for k, name in enumerate(self.classes)},
        }


def confusion(predicted: Tensor, label: Tensor, num_classes: int) -> dict[str, Any]:
    """The confusion matrix of the test part for ``result.json``; none where many classes make it large."""
    if num_classes > MOST_CLASSES:
        return {}
    return {"confusion": metrics.confusion(predicted, label, num_classes).tolist()}


def parallel(model: nn.Module) -> nn.Module:
    """The model to train: where there are several processes, gradients are averaged over them."""
    return DistributedDataParallel(model) if dist.is_initialized() else model


def mean_over_processes(value: float) -> float:
    """The mean of a number over the processes."""
    if not dist.is_initialized():
        return value
    total = torch.tensor(value, dtype=torch.float64)
    dist.all_reduce(total)
    return total.item() / processes()


def share(index: Tensor) -> Tensor:
    """The part of a batch that this process trains."""
    return index[dist.get_rank() :: dist.get_world_size()] if dist.is_initialized() else index


def fingerprint(*arrays: NDArray[Any]) -> str:
    """A hash of arrays, the same in every process and on every machine."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def fused(config: ClassifyConfig) -> bool:
    """Whether the optimiser updates all parameters in one pass."""
    return config.device != "mps"

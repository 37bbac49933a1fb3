"""Node classification: an encoder, a head, micro F1 (binary F1 on two classes)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from hypergraph.datasets import default_split, node_split
from hypergraph.errors import InputError
from hypergraph.geometry.space import Space
from hypergraph.nn.registry import ENCODERS, HEADS, make_head, make_space
from hypergraph.tasks import graph as graphs
from hypergraph.tasks import metrics
from hypergraph.tasks.config import NodeConfig
from hypergraph.tasks.graph import GraphData
from hypergraph.tasks.guard import step, telemetry
from hypergraph.tasks.loop import Schedule


class NodeClassifier(nn.Module):
    """An encoder and a head; where the encoder is flat and the head is not, its output is lifted by exp0."""

    def __init__(self, encoder: Any, head: nn.Module, space: Space, clip: float | None = None) -> None:
        super().__init__()
        self.encoder, self.head, self.space = encoder, head, space
        self.clip = clip
        self.lifts = encoder.space.model != space.model

    def embed(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The points that the head classifies."""
        z = self.encoder(x, edge_index)
        return self.space.lift(z, self.clip) if self.lifts else z

    def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        """The points, and their logits."""
        z = self.embed(x, edge_index)
        return z, self.head(z)


class NodeClf:
    """One seed of node classification; see :class:`hypergraph.tasks.kinds.Task`."""

    def __init__(self, config: NodeConfig, seed: int, data: GraphData) -> None:
        self.data, self.split = data, data.split
        self.x, self.edge_index = graphs.move(data.x, config), graphs.move(data.edge_index, config)
        self.y = graphs.move(data.graph.y, config)
        self.num_classes = int(data.graph.y.max()) + 1
        space = make_space(HEADS[config.head].space, config.K, config.learn_curvature)
        encoder = graphs.make_encoder(config, self.x.shape[1], space, config.fc)
        head = make_head(config.head, config.dim, self.num_classes, space)
        self.model = NodeClassifier(encoder, head, space, config.clip).to(config.device)
        self.optimizer = graphs.make_optimizer(self.model, config)
        self.schedule = Schedule(
            epochs=config.epochs,
            select="val_f1",
            patience=config.patience or None,
            min_epochs=config.min_epochs,
            eval_every=config.eval_every,
        )

    @staticmethod
    def load(config: NodeConfig) -> GraphData:
        return NodeClf.prepare(config, graphs.load(config, "node"))

    @staticmethod
    def prepare(config: NodeConfig, graph: Any) -> GraphData:
        """Split a graph and prepare its features."""
        if graph.y is None:
            raise InputError(f"{graph.name}: the graph has no labels, which node classification needs.")
        flat = HEADS[config.head].space == "euclidean"
        if flat and not ENCODERS[config.encoder].flat:
            raise InputError(
                f"The head '{config.head}' is Euclidean, the encoder {config.encoder} is not; "
                "use --encoder gcn or mlp, or the head tangent-p or tangent-l."
            )
        if config.fc and not flat:
            graphs.check_layer(config.fc, HEADS[config.head].space, f"the head '{config.head}'")
        split = node_split(graph, config.split or default_split(graph), config.split_seed)
        x = graphs.features(graph, "node", graph.edge_index)
        return GraphData(graph, split, x, graph.edge_index)

    @staticmethod
    def fingerprint(data: GraphData) -> str:
        return graphs.fingerprint(data.graph)

    @staticmethod
    def about(config: NodeConfig, data: GraphData) -> dict[str, Any]:
        sizes = {part: len(getattr(data.split, part)) for part in ("train", "val", "test")}
        return {"split": data.split.kind, "sizes": sizes, "leaks": data.split.leaks}

    def train_epoch(self, epoch: int) -> float:
        self.model.train()
        _, logits = self.model(self.x, self.edge_index)
        train = self.split.train
        return step(F.cross_entropy(logits[train], self.y[train]), self.model, self.optimizer)

    @torch.no_grad()
    def _forward(self) -> tuple[Tensor, Tensor]:
        self.model.eval()
        z, logits = self.model(self.x, self.edge_index)
        return z, logits

    def _scores(self, logits: Tensor, nodes: Tensor) -> dict[str, float]:
        predicted, label = logits[nodes].argmax(1), self.y[nodes]
        return {
            "f1": metrics.f1(predicted, label, self.num_classes),
            "accuracy": metrics.accuracy(predicted, label),
            "loss": F.cross_entropy(logits[nodes], label).item(),
        }

    def evaluate(self) -> dict[str, float]:
        z, logits = self._forward()
        scores = self._scores(logits, self.split.val)
        return {f"val_{name}": value for name, value in scores.items()} | telemetry(z, self.model.space)

    def test(self) -> dict[str, dict[str, float]]:
        _, logits = self._forward()
        return {part: self._scores(logits, getattr(self.split, part)) for part in ("val", "test")}

    def embedding(self) -> dict[str, NDArray[Any]]:
        z, logits = self._forward()
        parts = self.split.masks(len(z))
        return {
            "points": z.cpu().numpy(),
            "K": np.array(self.model.space.K.item()),
            "space": np.array(self.model.space.model),
            "label": self.y.cpu().numpy(),
            "predicted": logits.argmax(1).cpu().numpy(),
            **{name: mask.numpy() for name, mask in parts.items()},
        }

    def predictions(self) -> dict[str, NDArray[Any]]:
        _, logits = self._forward()
        share = logits.softmax(1).cpu().numpy()
        parts = np.full(len(share), "none", dtype=object)
        for part in ("train", "val", "test"):
            parts[getattr(self.split, part).numpy()] = part
        return {
            "node": np.arange(len(share)),
            "part": parts,
            "label": self.y.cpu().numpy(),
            "predicted": share.argmax(1),
            **{f"p{k}": share[:, k] for k in range(self.num_classes)},
        }

"""Node classification: an encoder, a head, micro F1 (binary F1 on two classes)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from hypergraph.datasets import NodeSplit, default_split, node_split
from hypergraph.datasets.arrays import UNLABELLED
from hypergraph.datasets.features import recipe_of
from hypergraph.errors import InputError
from hypergraph.geometry.space import Space
from hypergraph.limits import require
from hypergraph.nn.registry import HEADS, make_head, make_space
from hypergraph.tasks import batches, classify, metrics
from hypergraph.tasks import graph as graphs
from hypergraph.tasks.batches import Batches
from hypergraph.tasks.config import NodeConfig
from hypergraph.tasks.graph import GraphData
from hypergraph.tasks.guard import step, telemetry
from hypergraph.tasks.loop import Schedule


class NodeClassifier(nn.Module):
    """An encoder and a head; where the encoder is flat and the head is not, its output is lifted by exp0."""

    def __init__(self, encoder: Any, head: Any, clip: float | None = None) -> None:
        super().__init__()
        self.encoder, self.head, self.clip = encoder, head, clip
        self.lifts = encoder.space.flat and not head.space.flat

    @property
    def space(self) -> Space:
        """The space of the points: the head's, so that it is saved once."""
        space: Space = self.head.space
        return space

    def embed(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """The points that the head classifies."""
        return self.lift(self.encoder(x, edge_index, edge_weight))

    def lift(self, z: Tensor) -> Tensor:
        """What an encoder gave, in the space of the head."""
        return self.space.lift(z, self.clip) if self.lifts else z

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The points, and their logits."""
        z = self.embed(x, edge_index, edge_weight)
        return z, self.head(z)


class NodeClf:
    """One seed of node classification; see :class:`hypergraph.tasks.kinds.Task`."""

    def __init__(self, config: NodeConfig, seed: int, data: GraphData) -> None:
        self.data, self.split = data, data.split
        self.batches = Batches(config, seed, data, len(data.split.train)) if config.batch_size else None
        if self.batches is None:
            self.x, self.edge_index = graphs.move(data.x, config), graphs.move(data.edge_index, config)
            weight = data.edge_weight
            self.edge_weight = None if weight is None else graphs.move(weight, config)
        self.y = graphs.move(_known_labels(data), config)
        self.num_classes = len(data.classes)
        space = make_space(HEADS[config.head].space, config.K, config.learn_curvature)
        encoder = graphs.make_encoder(config, data.x.shape[1], space, config.fc)
        options = {"magnitude": config.magnitude} if "magnitude" in HEADS[config.head].takes else {}
        head = make_head(config.head, config.dim, self.num_classes, space, **options)
        self.model = NodeClassifier(encoder, head, config.clip).to(config.device)
        self.parallel = classify.parallel(self.model)
        self.optimizer = graphs.make_optimizer(
            self.model, config, head, lr=config.head_lr, weight_decay=config.head_weight_decay
        )
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
            raise InputError(
                f"{graph.name}: the graph has no labels, which node classification needs; give some in a "
                "nodes.csv (id, label) beside the edges, or use link-pred."
            )
        split = node_split(graph, config.split or default_split(graph), config.split_seed)
        if len(graph.classes) < 2:
            raise InputError(
                f"{graph.name}: all labelled nodes are of the class '{graph.classes[0]}', and two or more "
                "classes are needed; a label of -1 counts as none."
            )
        room = 4 * 4 * int(graph.num_nodes) * len(graph.classes)  # logits, their gradients, softmax
        require(room, f"{graph.name}: {graph.num_nodes:,} nodes in {len(graph.classes):,} classes")
        batches.check(config, graph.name, len(split.train))
        x, unprepared = graphs.features(config, graph, "node", graph.edge_index)
        weight = graphs.edge_weights(config, graph, graph.edge_index)
        recipe = recipe_of(graph, config.normalize_features)
        return GraphData(
            graph, split, x, graph.edge_index, weight, graph.classes, recipe=recipe, unprepared=unprepared
        )

    @staticmethod
    def fitted(config: NodeConfig, kept: dict[str, Any], ids: Any, graph: Any) -> GraphData:
        """Another graph as the model of a run takes it, which is only predicted."""
        none = torch.empty(0, dtype=torch.long)
        data = graphs.fitted(config, kept, ids, graph, "node")
        return replace(data, split=NodeSplit("none", none, none, none))

    @staticmethod
    def fingerprint(data: GraphData) -> str:
        return graphs.fingerprint(data.graph)

    @staticmethod
    def about(config: NodeConfig, data: GraphData) -> dict[str, Any]:
        sizes = {part: len(getattr(data.split, part)) for part in ("train", "val", "test")}
        kept = graphs.about(config, data)
        if thin := _thin_classes(data):
            kept["notices"].append(f"Too few labelled nodes to be in every part of the split: {thin}.")
        if other := _other_recipe(config.recipe, sizes["train"] / sum(sizes.values())):
            kept["notices"].append(other)
        if len(data.classes) == 2:
            kept["notices"].append(f"F1 is that of the class '{data.classes[1]}'.")
        return {"split": data.split.kind, "sizes": sizes, "leaks": data.split.leaks, **kept}

    def train_epoch(self, epoch: int) -> float:
        self.model.train()
        if self.batches is not None:
            return self.batches.epoch(epoch, self._train_batch)
        _, logits = self.model(self.x, self.edge_index, self.edge_weight)
        train = self.split.train
        return step(F.cross_entropy(logits[train], self.y[train]), self.model, self.optimizer)

    def _train_batch(self, index: Tensor, factor: float) -> float:
        assert self.batches is not None
        nodes = self.split.train[index]
        _, logits = self.parallel(*self.batches.around(nodes))
        return step(factor * F.cross_entropy(logits, self.y[nodes]), self.model, self.optimizer)

    @torch.no_grad()
    def _forward(self) -> tuple[Tensor, Tensor]:
        self.model.eval()
        if self.batches is not None:
            z = self.model.lift(self.batches.embed(self.model.encoder))
            return z, self.batches.by_rows(self.model.head, z)
        z, logits = self.model(self.x, self.edge_index, self.edge_weight)
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

    def test(self) -> dict[str, Any]:
        _, logits = self._forward()
        nodes = self.split.test
        taken = classify.confusion(logits[nodes].argmax(1), self.y[nodes], self.num_classes)
        return {part: self._scores(logits, getattr(self.split, part)) for part in ("val", "test")} | taken

    def embedding(self) -> dict[str, NDArray[Any]]:
        z, logits = self._forward()
        parts = self.split.masks(len(z))
        return {
            "points": z.cpu().numpy(),
            "K": np.array(self.model.space.K.item()),
            "space": np.array(self.model.space.model),
            "node": self.data.ids,
            "classes": np.array(self.data.classes),
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
        names = np.array(self.data.classes, dtype=object)
        return {
            "node": self.data.ids,
            "part": parts,
            "label": _label_names(self.data.graph),
            "predicted": names[share.argmax(1)],
            **{f"p_{name}": share[:, k] for k, name in enumerate(self.data.classes)},
        }


def _known_labels(data: GraphData) -> Tensor:
    """The labels as indices of the model's classes, -1 where a node has none or another one."""
    graph = data.graph
    if graph.y is None:
        return torch.full((int(graph.num_nodes),), UNLABELLED)
    if graph.classes == data.classes:
        return graph.y
    place = {name: k for k, name in enumerate(data.classes)}
    index = torch.tensor([*(place.get(name, UNLABELLED) for name in graph.classes), UNLABELLED])
    return index[graph.y]


def _label_names(graph: Any) -> NDArray[Any]:
    """The label of every node by name, empty where it has none."""
    if graph.y is None:
        return np.full(int(graph.num_nodes), "", dtype=object)
    return np.array([*graph.classes, ""], dtype=object)[graph.y.numpy()]


def _other_recipe(recipe: str | None, share: float) -> str | None:
    """Where the recipe is made for other splits than this one, which trains a share of its nodes."""
    other = {"few-labels": share > 0.3, "many-labels": share < 0.1}
    if recipe is None or not other[recipe]:
        return None
    better = next(name for name in other if name != recipe)
    return f"{share:.0%} of the labelled nodes are trained: --recipe {better} is made for that, not {recipe}."


def _thin_classes(data: GraphData) -> str:
    """The classes that some part of the split lacks."""
    count = len(data.classes)
    counts = [
        torch.bincount(data.graph.y[getattr(data.split, part)], minlength=count)
        for part in ("train", "val", "test")
    ]
    thin = [data.classes[k] for k in (torch.stack(counts) == 0).any(0).nonzero().flatten().tolist()]
    return ", ".join(thin[:10]) + (f" and {len(thin) - 10} more" if len(thin) > 10 else "")

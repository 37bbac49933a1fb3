"""Link prediction: an encoder of linear layers, a Fermi-Dirac decoder, AUC and average precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from hypergraph.datasets import LinkSplit, link_split
from hypergraph.datasets.features import recipe_of
from hypergraph.geometry.space import Space
from hypergraph.nn.decoders import FermiDirac
from hypergraph.nn.linear import TangentLinear
from hypergraph.nn.registry import FCS, make_space
from hypergraph.tasks import batches, classify, metrics
from hypergraph.tasks import graph as graphs
from hypergraph.tasks.batches import Batches
from hypergraph.tasks.config import LinkConfig
from hypergraph.tasks.graph import GraphData
from hypergraph.tasks.guard import step, telemetry
from hypergraph.tasks.loop import Schedule

PAIRS = 1 << 20  # so many are scored at once
_LOOK = 10_000  # nodes whose features are looked at to find out how long they are


class LinkPredictor(nn.Module):
    """An encoder and a decoder of pairs of its points."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(
        self, x: Tensor, edge_index: Tensor, pairs: Tensor, edge_weight: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The points, and the logits of the pairs."""
        z = self.encoder(x, edge_index, edge_weight)
        return z, self.decoder(z, pairs)


class LinkPred:
    """One seed of link prediction; see :class:`hypergraph.tasks.kinds.Task`."""

    def __init__(self, config: LinkConfig, seed: int, data: GraphData) -> None:
        self.data, self.split, self.seed = data, data.split, seed
        self.config = config
        count = data.split.train_pos.shape[1]
        self.batches = Batches(config, seed, data, count) if config.batch_size else None
        if self.batches is None:
            self.x, self.edge_index = graphs.move(data.x, config), graphs.move(data.edge_index, config)
            weight = data.edge_weight
            self.edge_weight = None if weight is None else graphs.move(weight, config)
        space = make_space(FCS[config.fc].space, config.K, config.learn_curvature)
        own = {"phi": graphs.activation(config.phi), "init": config.init, "magnitude": config.magnitude}
        options = {name: value for name, value in own.items() if name in FCS[config.fc].takes}
        encoder = graphs.make_encoder(config, data.x.shape[1], space, config.fc, **options)
        self.space: Space = encoder.space
        if config.init == "data":
            _begin_near(encoder, data, config.dtype)
        self.model = LinkPredictor(encoder, FermiDirac(self.space, config.r, config.t)).to(config.device)
        self.parallel = classify.parallel(self.model)
        self.optimizer = graphs.make_optimizer(self.model, config)
        self.schedule = Schedule(
            epochs=config.epochs,
            select="val_mean",
            patience=config.patience or None,
            min_epochs=config.min_epochs,
            eval_every=config.eval_every,
        )
        self.train_pos = graphs.move(self.split.train_pos, config)
        self.pairs = {}
        for part in ("val", "test"):
            both = [getattr(self.split, f"{part}_{sign}") for sign in ("pos", "neg")]
            self.pairs[part] = graphs.move(torch.cat(both, dim=1), config)

    @staticmethod
    def load(config: LinkConfig) -> GraphData:
        return LinkPred.prepare(config, graphs.load(config, "link"))

    @staticmethod
    def prepare(config: LinkConfig, graph: Any) -> GraphData:
        """Split the edges of a graph and prepare its features."""
        split = link_split(graph, config.split or "hgcn", config.split_seed)
        batches.check(config, graph.name, split.train_pos.shape[1])
        x, unprepared = graphs.features(config, graph, "link", split.train_edge_index)
        weight = graphs.edge_weights(config, graph, split.train_edge_index)
        recipe = recipe_of(graph, config.normalize_features)
        return GraphData(
            graph, split, x, split.train_edge_index, weight, recipe=recipe, unprepared=unprepared
        )

    @staticmethod
    def fitted(config: LinkConfig, kept: dict[str, Any], ids: Any, graph: Any) -> GraphData:
        """Another graph as the model of a run takes it, of which pairs are predicted."""
        data = graphs.fitted(config, kept, ids, graph, "link")
        return replace(data, split=LinkSplit.empty(graph.edge_index, int(graph.num_nodes)))

    @staticmethod
    def fingerprint(data: GraphData) -> str:
        return graphs.fingerprint(data.graph)

    @staticmethod
    def about(config: LinkConfig, data: GraphData) -> dict[str, Any]:
        sizes = {part: getattr(data.split, f"{part}_pos").shape[1] for part in ("train", "val", "test")}
        return {"split": data.split.kind, "sizes": sizes, "leaks": None, **graphs.about(config, data)}

    def train_epoch(self, epoch: int) -> float:
        self.model.train()
        negatives = self.split.train_neg(epoch, seed=self.seed).to(self.train_pos.device)
        if self.batches is not None:
            return self.batches.epoch(epoch, partial(self._train_batch, negatives))
        pairs = torch.cat([self.train_pos, negatives], 1)
        _, logits = self.model(self.x, self.edge_index, pairs, self.edge_weight)
        return step(_loss(logits), self.model, self.optimizer)

    def _train_batch(self, negatives: Tensor, index: Tensor, factor: float) -> float:
        assert self.batches is not None
        index = index.to(negatives.device)
        nodes, pairs = torch.cat([self.train_pos[:, index], negatives[:, index]], 1).unique(
            return_inverse=True
        )
        _, logits = self.parallel(*self.batches.around(nodes.cpu()), pairs)
        return step(factor * _loss(logits), self.model, self.optimizer)

    @torch.no_grad()
    def points(self) -> Tensor:
        """The points of all nodes."""
        self.model.eval()
        if self.batches is not None:
            return self.batches.embed(self.model.encoder)
        return self.model.encoder(self.x, self.edge_index, self.edge_weight)

    @torch.no_grad()
    def scores_of(self, z: Tensor, pairs: Tensor) -> Tensor:
        """The logits of pairs ``(2, count)`` of nodes, in blocks."""
        blocks = pairs.to(z.device).split(PAIRS, dim=1)
        return torch.cat([z.new_empty(0), *(self.model.decoder(z, block) for block in blocks)])

    @torch.no_grad()
    def top_links(
        self, count: int, report: Callable[[int], None] = lambda done: None
    ) -> dict[str, NDArray[Any]]:
        """For every node the ``count`` likeliest nodes that it has no edge to."""
        z, ids = self.points(), self.data.ids
        graph = self.data.graph
        nodes = int(graph.num_nodes)
        degree = torch.bincount(graph.edge_index[0], minlength=nodes)
        start = torch.cat([degree.new_zeros(1), degree.cumsum(0)])
        count = min(count, nodes - 1)
        found: list[tuple[Tensor, Tensor, Tensor]] = []
        rows = max(1, PAIRS // nodes)
        for first in range(0, nodes, rows):
            block = torch.arange(first, min(first + rows, nodes))
            pairs = torch.cartesian_prod(block, torch.arange(nodes)).T
            logits = self.scores_of(z, pairs).view(len(block), nodes).cpu()
            near = graph.edge_index[:, start[first] : start[first + len(block)]]
            logits[near[0] - first, near[1]] = -torch.inf
            logits[block - first, block] = -torch.inf
            best, target = logits.topk(count, dim=1)
            there = best > -torch.inf
            found.append((block[:, None].expand_as(target)[there], target[there], best[there]))
            report(first + len(block))
        source, target, score = (torch.cat(parts) for parts in zip(*found))
        return {
            "source": ids[source.numpy()],
            "target": ids[target.numpy()],
            "probability": score.sigmoid().numpy(),
        }

    def pair_predictions(self, pairs: Tensor) -> dict[str, NDArray[Any]]:
        """The probability that each pair is an edge."""
        source, target = self.data.ids[pairs.numpy()]
        chance = self.scores_of(self.points(), pairs).sigmoid().cpu().numpy()
        return {"source": source, "target": target, "probability": chance}

    @torch.no_grad()
    def _forward(self, part: str) -> tuple[Tensor, Tensor, Tensor]:
        self.model.eval()
        if self.batches is not None:
            z = self.batches.embed(self.model.encoder)
            logits = self.batches.by_rows(lambda pairs: self.model.decoder(z, pairs.T), self.pairs[part].T)
        else:
            z, logits = self.model(self.x, self.edge_index, self.pairs[part], self.edge_weight)
        half = logits.shape[0] // 2
        label = torch.zeros_like(logits, dtype=torch.long)
        label[:half] = 1
        return z, logits, label

    def _scores(self, logits: Tensor, label: Tensor) -> dict[str, float]:
        return {
            "auc": metrics.auc(logits, label),
            "ap": metrics.average_precision(logits, label),
            "loss": F.binary_cross_entropy_with_logits(logits, label.to(logits.dtype)).item(),
        }

    def evaluate(self) -> dict[str, float]:
        z, logits, label = self._forward("val")
        scores = {f"val_{name}": value for name, value in self._scores(logits, label).items()}
        scores["val_mean"] = (scores["val_auc"] + scores["val_ap"]) / 2
        return scores | telemetry(z, self.space)

    def test(self) -> dict[str, dict[str, float]]:
        return {part: self._scores(*self._forward(part)[1:]) for part in ("val", "test")}

    def embedding(self) -> dict[str, NDArray[Any]]:
        z = self.points()
        graph = self.data.graph
        labels = {} if graph.y is None else {"label": graph.y.numpy(), "classes": np.array(graph.classes)}
        return {
            "points": z.cpu().numpy(),
            "K": np.array(self.space.K.item()),
            "space": np.array(self.space.model),
            "node": self.data.ids,
            **labels,
        }

    def predictions(self) -> dict[str, NDArray[Any]]:
        columns: dict[str, list[NDArray[Any]]] = {}
        for part in ("val", "test"):
            _, logits, label = self._forward(part)
            source, target = self.data.ids[self.pairs[part].cpu().numpy()]
            chance = logits.sigmoid().cpu().numpy()
            whole = {"source": source, "target": target, "part": np.full(len(source), part, dtype=object)}
            for name, values in {**whole, "edge": label.cpu().numpy(), "probability": chance}.items():
                columns.setdefault(name, []).append(values)
        return {name: np.concatenate(values) for name, values in columns.items()}


def _loss(logits: Tensor) -> Tensor:
    """Binary cross-entropy of as many edges as non-edges, each a mean of its own, as HGCN has it."""
    positive, negative = logits.chunk(2)
    return F.softplus(-positive).mean() + F.softplus(negative).mean()


@torch.no_grad()
def _begin_near(encoder: Any, data: GraphData, dtype: str) -> None:
    """Scale the first matrix down, where it is one in the tangent space, so that points begin within about 1.

    Long features place the points far out. There the decoder gives every pair the probability 0, and these
    layers need a hundred epochs to come back, or never do. Biases are 0 at the start, so that the points of
    the later layers come nearer in proportion.
    """
    layer = getattr(encoder.layers[0], "fc", encoder.layers[0])
    if not isinstance(layer, TangentLinear):
        return
    count = min(data.x.shape[0], _LOOK)
    rows = data.rows(torch.arange(count)).to(getattr(torch, dtype))
    space = encoder.space
    points = space.exp0(layer(encoder.first.logarithms(rows), tangent=True))
    distance = space.dist0(points).square().mean().sqrt()
    layer.weight.div_(distance.clamp_min(1))

"""What node classification and link prediction share: the graph, its hash, the encoder, the optimiser."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hypergraph.datasets import load_graph, prepare_features
from hypergraph.datasets.arrays import node_ids, weights_of
from hypergraph.datasets.features import prepare_rows, recipe_of
from hypergraph.errors import InputError
from hypergraph.geometry.space import Space
from hypergraph.limits import available, size
from hypergraph.loader import take_rows
from hypergraph.nn.registry import ENCODERS, make_space
from hypergraph.sparse import csr_tensor
from hypergraph.tasks.config import GraphConfig

if TYPE_CHECKING:
    from torch_geometric.data import Data


_EDGE_BYTES = 100  # of a direction of an edge, while the adjacency is normalised and transposed


@dataclass(frozen=True)
class GraphData:
    """A graph, its split, and what a model takes of it.

    Args:
        graph: What :func:`hypergraph.datasets.load_graph` gave: with the user's ids, if they have any.
        split: Of nodes or of edges.
        x: The features as a model takes them.
        edge_index: The graph that messages go along.
        edge_weight: Its weights, where they are used.
        classes: The names of the classes that a model tells apart.
        recipe: How the features were prepared: the dataset whose way it is, or ``"own"``.
        unprepared: Where x is a map of a file, it stays as it is there, and rows are prepared for this task
            (``"node"`` or ``"link"``) when they are taken.
    """

    graph: Data
    split: Any
    x: Tensor
    edge_index: Tensor
    edge_weight: Tensor | None = None
    classes: tuple[str, ...] = ()
    recipe: str = "own"
    unprepared: str | None = None

    @property
    def ids(self) -> NDArray[Any]:
        """What the user calls the nodes."""
        return np.array(node_ids(self.graph))

    def rows(self, nodes: Tensor) -> Tensor:
        """The features of some nodes as a model takes them."""
        x = take_rows(self.x, nodes)
        return x if self.unprepared is None else prepare_rows(x, self.recipe, self.unprepared)

    def grouped(self) -> tuple[Tensor, Tensor]:
        """Where the edges of each node begin, and their other ends; they are sorted and go both ways."""
        pointer: Tensor | None = self.graph.get("rowptr")
        if pointer is None or self.edge_index is not self.graph.edge_index:
            degree = torch.bincount(self.edge_index[0], minlength=int(self.graph.num_nodes or 0))
            pointer = torch.cat([degree.new_zeros(1), degree.cumsum(0)])
        return pointer, self.edge_index[1]


def load(config: GraphConfig, task: str) -> Data:
    """The graph of a configuration, for ``task`` node or link."""
    return load_graph(config.dataset, data=config.data, task=task)


def edge_weights(config: GraphConfig, graph: Data, edge_index: Tensor) -> Tensor | None:
    """The weights of the arcs of ``edge_index``, where there are any and they are asked for and used."""
    weights: Tensor | None = graph.get("edge_weight")
    if weights is None or not (config.weights and ENCODERS[config.encoder].uses_graph):
        return None
    if (weights < 0).any():
        raise InputError(
            f"{graph.name}: some edges have a weight below 0, which no encoder can use; add --no-weights."
        )
    if edge_index is graph.edge_index:
        return weights
    whole = graph.edge_index.numpy()
    forward = whole[0] < whole[1]
    found = weights_of(edge_index.numpy(), whole[:, forward], weights.numpy()[forward], int(graph.num_nodes))
    return torch.from_numpy(found)


def about(config: GraphConfig, data: GraphData) -> dict[str, Any]:
    """What a run keeps of its graph, to say what was done and to use its model on another one."""
    graph = data.graph
    notices = [f"{graph.name}: {'; '.join(graph.changes)}."] if graph.get("changes") else []
    if graph.get("edge_weight") is not None and data.edge_weight is None:
        why = "are left out" if not config.weights else f"are not used by the encoder {config.encoder}"
        notices.append(f"The weights of the edges {why}.")
    features: dict[str, Any] = {"count": int(graph.x.shape[1]), "recipe": data.recipe}
    if graph.get("columns"):
        features["columns"] = list(graph.columns)
    if graph.get("own_columns"):
        features["own_columns"] = True
    kept = {"nodes": int(graph.num_nodes), "edges": graph.edge_index.shape[1] // 2}
    return {"notices": notices, "graph": kept, "features": features, "classes": list(data.classes)}


def fitted(config: GraphConfig, kept: dict[str, Any], ids: Any, graph: Data, task: str) -> GraphData:
    """Another graph as the model of a run takes it: the same columns in the same order, prepared alike.

    Args:
        config: The run's configuration.
        kept: What :func:`about` kept.
        ids: What the nodes of the run's graph are called.
        graph: The other graph; it has no split.
        task: ``"node"`` or ``"link"``.
    """
    wanted = kept["features"]
    graph = copy.copy(graph)
    if wanted.get("own_columns"):
        graph.x = _columns_of_nodes(graph, [str(node) for node in ids.tolist()])
    elif wanted.get("columns") and graph.get("columns"):
        graph.x = _columns_by_name(graph, wanted["columns"])
    if graph.x.shape[1] != wanted["count"]:
        raise InputError(
            f"{graph.name}: {graph.x.shape[1]} features, and the model takes {wanted['count']}; give it the "
            "columns of its own graph."
        )
    x = prepare_features(graph, task, graph.edge_index, recipe=wanted["recipe"])
    weight = edge_weights(config, graph, graph.edge_index)
    return GraphData(
        graph, None, x, graph.edge_index, weight, tuple(kept["classes"]), recipe=wanted["recipe"]
    )


def _columns_of_nodes(graph: Data, known: list[str]) -> Tensor:
    """One column for every node of the run, which had no features: other nodes have none."""
    place = {node: column for column, node in enumerate(known)}
    columns = []
    for node in map(str, node_ids(graph)):
        if node not in place:
            raise InputError(
                f"{graph.name}: node '{node}' is new, and the model was trained without features, so that it "
                "knows the nodes of its own graph alone; train on a graph with features."
            )
        columns.append(place[node])
    count = len(columns)
    return csr_tensor(torch.arange(count + 1), torch.tensor(columns), torch.ones(count), (count, len(known)))


def _columns_by_name(graph: Data, wanted: list[str]) -> Tensor:
    place = {name: column for column, name in enumerate(graph.columns)}
    missing = [name for name in wanted if name not in place]
    if missing:
        raise InputError(f"{graph.name}: no feature '{missing[0]}', which the model takes.")
    if list(graph.columns) == wanted:
        return graph.x
    return graph.x.to_dense()[:, [place[name] for name in wanted]]


def features(config: GraphConfig, graph: Data, task: str, edge_index: Tensor) -> tuple[Tensor, str | None]:
    """The features as a model takes them, or those of a file that are prepared when they are taken."""
    if config.batch_size and "mapped" in graph and graph.name != "airport":
        return graph.x, task
    if not config.batch_size:
        _check_room(config, graph, edge_index)
    return prepare_features(graph, task, edge_index, recipe=recipe_of(graph, config.normalize_features)), None


def _check_room(config: GraphConfig, graph: Data, edge_index: Tensor) -> None:
    """Refuse a full batch that would not fit into the memory that is there."""
    nodes, item = int(graph.num_nodes or 0), torch.finfo(getattr(torch, config.dtype)).bits // 8
    width = 0 if graph.x.layout == torch.sparse_csr else graph.x.shape[1]
    # features twice; of a layer its outputs, their gradients and what the backward pass keeps of them
    needed = nodes * item * (2 * width + 10 * config.dim * config.num_layers)
    if ENCODERS[config.encoder].uses_graph:
        needed += _EDGE_BYTES * edge_index.shape[1]
    free = available()
    if needed > free:
        raise InputError(
            f"{graph.name}: a full batch of {nodes:,} nodes and {edge_index.shape[1] // 2:,} edges takes "
            f"about {size(needed)} of memory, and {size(free)} are free; train in batches with "
            "--batch-size 1024."
        )


def fingerprint(graph: Data) -> str:
    """A hash of features, edges, labels, weights and the graph's own split, the same on every machine."""
    if "mapped" in graph:
        return str(graph.mapped)
    digest = hashlib.sha256()
    for name in ("x", "edge_index", "y", "edge_weight", "train_mask", "val_mask", "test_mask"):
        tensor = graph.get(name)
        if tensor is None:
            continue
        sparse = tensor.layout == torch.sparse_csr
        parts = (tensor.crow_indices(), tensor.col_indices(), tensor.values()) if sparse else (tensor,)
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        for part in parts:
            digest.update(part.contiguous().numpy().tobytes())
    return digest.hexdigest()


def make_encoder(config: GraphConfig, in_channels: int, space: Space, fc: str | None, **options: Any) -> Any:
    """The encoder of a configuration; the Euclidean ones have no space and no layer to choose."""
    encoder = ENCODERS[config.encoder]
    if encoder.flat:
        space = make_space("euclidean")
    own = {"fc": fc, "norm": config.norm, "propagate": config.propagate}
    options |= {name: value for name, value in own.items() if name in encoder.takes}
    cls: Any = encoder.load()
    return cls(
        in_channels,
        config.dim,
        config.num_layers,
        space,
        act=activation(config.act),
        dropout=config.dropout,
        clip=config.clip,
        feature_dropout=config.feature_dropout,
        hidden_dropout=config.hidden_dropout,
        residual=config.residual,
        **options,
    )


def activation(name: str) -> str | None:
    """The activation of this name as layers take it."""
    return None if name == "none" else name


def make_optimizer(
    model: Any, config: GraphConfig, head: nn.Module | None = None, **of_head: float | None
) -> torch.optim.Optimizer:
    """Fused Adam with L2 weight decay, as HGCN has it: every parameter is Euclidean.

    Args:
        model: The model.
        config: The settings.
        head: Its head, where that has settings of its own.
        **of_head: ``lr`` and ``weight_decay`` of the head; ``None`` for those of the rest.
    """
    own = {name: value for name, value in of_head.items() if value is not None}
    groups: list[dict[str, Any]] = [{"params": list(model.parameters())}]
    if head is not None and own:
        # the curvature of a space that both share stays with the rest
        shared = {id(parameter) for parameter in model.encoder.parameters()}
        mine = [parameter for parameter in head.parameters() if id(parameter) not in shared]
        theirs = {id(parameter) for parameter in mine}
        rest = [parameter for parameter in model.parameters() if id(parameter) not in theirs]
        groups = [{"params": rest}, {"params": mine, **own}]
    return torch.optim.Adam(
        groups, lr=config.lr, weight_decay=config.weight_decay, fused=config.device != "mps"
    )


def move(tensor: Tensor, config: GraphConfig) -> Tensor:
    """On the device of the run, and of its dtype if it is made of floats."""
    dtype = getattr(torch, config.dtype) if tensor.is_floating_point() else None
    return tensor.to(device=config.device, dtype=dtype)

"""What node classification and link prediction share: the graph, its hash, the encoder, the optimiser."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hypergraph.datasets import load_graph, prepare_features
from hypergraph.errors import InputError
from hypergraph.geometry.space import Space
from hypergraph.nn.registry import ENCODERS, LAYERS, make_space
from hypergraph.tasks.config import GraphConfig

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True)
class GraphData:
    """A graph, its split, and the features that a model takes."""

    graph: Data
    split: Any
    x: Tensor
    edge_index: Tensor


def load(config: GraphConfig, task: str) -> Data:
    """The graph of a configuration, for ``task`` node or link."""
    return load_graph(config.dataset, data=config.data, task=task)


def features(graph: Data, task: str, edge_index: Tensor) -> Tensor:
    """The features as a model takes them."""
    if graph.x is None:
        raise InputError(f"{graph.name}: the graph has no node features; add a file of features.")
    return prepare_features(graph, task, edge_index)


def fingerprint(graph: Data) -> str:
    """A hash of features, edges and labels, the same in every process and on every machine."""
    digest = hashlib.sha256()
    for name in ("x", "edge_index", "y"):
        tensor = graph[name]
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
    elif fc is not None:
        options = {"linear": fc, **options}
    cls: Any = encoder.load()
    return cls(
        in_channels,
        config.dim,
        config.num_layers,
        space,
        act=activation(config.act),
        dropout=config.dropout,
        clip=config.clip,
        **options,
    )


def activation(name: str) -> str | None:
    """The activation of this name as layers take it."""
    return None if name == "none" else name


def make_optimizer(model: nn.Module, config: GraphConfig) -> torch.optim.Optimizer:
    """Fused Adam with L2 weight decay, as HGCN has it: every parameter is Euclidean."""
    return torch.optim.Adam(
        model.parameters(), lr=config.lr, weight_decay=config.weight_decay, fused=config.device != "mps"
    )


def move(tensor: Tensor, config: GraphConfig) -> Tensor:
    """On the device of the run, and of its dtype if it is made of floats."""
    dtype = getattr(torch, config.dtype) if tensor.is_floating_point() else None
    return tensor.to(device=config.device, dtype=dtype)


def check_layer(name: str, space: str, what: str) -> None:
    """Refuse a linear layer of another space."""
    if LAYERS[name].space != space:
        fitting = ", ".join(entry.name for entry in LAYERS.values() if entry.space == space)
        raise InputError(f"The layer '{name}' is {LAYERS[name].space}, but {what} is {space}; use {fitting}.")

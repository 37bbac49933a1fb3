"""Node classification in the way of scikit-learn, thin over the task: fit, predict, classes_."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_array, check_is_fitted
from torch import Tensor
from torch_geometric.data import Data

from hypergraph.datasets import NodeSplit, load_graph
from hypergraph.datasets.labels import encode_labels
from hypergraph.errors import InputError
from hypergraph.files import first_line
from hypergraph.nn.registry import HEADS
from hypergraph.tasks import graph as graphs
from hypergraph.tasks import loop
from hypergraph.tasks.config import NodeConfig, settle
from hypergraph.tasks.graph import GraphData
from hypergraph.tasks.keeper import Forgetful
from hypergraph.tasks.node_clf import NodeClf
from hypergraph.tasks.runner import alone


class HyperbolicClassifier(ClassifierMixin, BaseEstimator):
    """A hyperbolic encoder and head for nodes of a graph, or for rows of features without a graph.

    ``X`` is a matrix of features, or a graph in any form that :func:`hypergraph.datasets.load_graph` takes.
    Of what is labelled, a share is kept for validation: training stops when it gets no better.

    Args:
        head: A registered head.
        encoder: By default ``"hgcn"`` on a graph and ``"hnn"`` on features; of a Euclidean head ``"gcn"``
            and ``"mlp"``.
        dim: The dimension of the embedding.
        num_layers: The number of the encoder's layers; by default as in the presets of node classification.
        K: The curvature, below 0; by default as there. A Euclidean head has none.
        lr: The learning rate.
        weight_decay: L2 weight decay; by default as there.
        dropout: Of weights (DropConnect).
        epochs: The most epochs.
        patience: Stop after so many epochs without a better validation score.
        validation_fraction: The share of what is labelled that is kept for validation.
        random_state: The seed.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from hypergraph import HyperbolicClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = HyperbolicClassifier(head="bmlr-l", epochs=60).fit(X, y)
        >>> model.predict(X).shape, bool(model.score(X, y) > 0.8)
        ((150,), True)
    """

    def __init__(
        self,
        head: str = "bmlr-p",
        encoder: str | None = None,
        dim: int = 16,
        num_layers: int | None = None,
        K: float | None = None,
        lr: float = 0.01,
        weight_decay: float | None = None,
        dropout: float = 0.0,
        epochs: int = 300,
        patience: int = 50,
        validation_fraction: float = 0.15,
        random_state: int = 0,
    ) -> None:
        self.head = head
        self.encoder = encoder
        self.dim = dim
        self.num_layers = num_layers
        self.K = K
        self.lr = lr
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.epochs = epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None) -> HyperbolicClassifier:
        """Train on a graph or on features; ``y`` may be left out where the graph has labels."""
        graph, names = self._labelled(X, y)
        config = self._config(graph)
        x, _ = graphs.features(config, graph, "node", graph.edge_index)
        weight = graphs.edge_weights(config, graph, graph.edge_index)
        data = GraphData(graph, self._split(graph), x, graph.edge_index, weight, graph.classes)
        with alone(config, self.random_state):
            task: Any = NodeClf(config, self.random_state, data)
            loop.train(task, task.schedule, Forgetful(Path(), {}))
        self.config_, self.model_, self.data_ = config, task.model.eval(), data
        self.kept_ = graphs.about(config, data)
        self.classes_ = names
        self.n_features_in_ = int(x.shape[1])
        return self

    def predict(self, X: Any = None) -> NDArray[Any]:
        """The class of every node or row; without ``X`` of what it was fitted to."""
        best = self.predict_proba(X).argmax(1)
        found: NDArray[Any] = self.classes_[best]
        return found

    def predict_proba(self, X: Any = None) -> NDArray[np.float64]:
        """The probability of every class, in the order of ``classes_``."""
        check_is_fitted(self)
        return self._forward(X)[1].double().softmax(1).cpu().numpy()

    def embed(self, X: Any = None) -> NDArray[Any]:
        """The points that the head classifies."""
        check_is_fitted(self)
        return self._forward(X)[0].cpu().numpy()

    @torch.no_grad()
    def _forward(self, X: Any) -> tuple[Tensor, Tensor]:
        data = self.data_
        if X is not None:
            graph = _features(X) if _is_matrix(X) else load_graph(X)
            data = graphs.fitted(self.config_, self.kept_, self.data_.ids, graph, "node")
        config, weight = self.config_, data.edge_weight
        with alone(config, self.random_state):
            x, edges = graphs.move(data.x, config), graphs.move(data.edge_index, config)
            points, logits = self.model_(x, edges, None if weight is None else graphs.move(weight, config))
        return points, logits

    def _config(self, graph: Data) -> NodeConfig:
        flat = self.head in HEADS and HEADS[self.head].space == "euclidean"
        alike = ("mlp" if flat else "hnn") if not graph.edge_index.shape[1] else "gcn" if flat else "hgcn"
        given = {name: getattr(self, name) for name in self.get_params() if name in _SETTINGS}
        given |= {"encoder": self.encoder or alike, "seed": self.random_state, "min_epochs": 0}
        if not graph.edge_index.shape[1]:  # the presets' dropout is for documents with many words
            given |= {"feature_dropout": 0.0, "hidden_dropout": 0.0}
        if flat:  # so that a grid of heads and curvatures may have a Euclidean head too
            del given["K"]
        return settle(NodeConfig, {"dataset": "yours", **given})

    def _labelled(self, X: Any, y: ArrayLike | None) -> tuple[Data, NDArray[Any]]:
        """The graph with labels as indices, and the names of the classes as they were given."""
        graph = _features(X) if _is_matrix(X) else load_graph(X)
        if y is not None:
            labels = np.asarray(y)
            if labels.shape != (graph.num_nodes,):
                raise InputError(f"y has shape {labels.shape}, and one label a node is needed.")
            index, classes = encode_labels(labels, "y", lambda row: f"row {row}")
            graph.y, graph.classes = torch.from_numpy(index), classes
        if graph.get("y") is None:
            raise InputError("There are no labels: give y.")
        if len(graph.classes) < 2:
            raise InputError(f"All labels are alike ({', '.join(graph.classes)}); two classes are needed.")
        names = np.array(graph.classes)
        if y is not None:  # numbers stay numbers
            known = graph.y.numpy() >= 0
            first = [np.flatnonzero(known & (graph.y.numpy() == k))[0] for k in range(len(names))]
            names = np.asarray(y)[first]
        return graph, names

    def _split(self, graph: Data) -> NodeSplit:
        """Some of what is labelled for validation, of every class where that is possible."""
        y = graph.y.numpy()
        known = np.flatnonzero(y >= 0)
        share = self.validation_fraction
        if not 0 < share < 1:
            raise InputError(f"validation_fraction must be above 0 and below 1, got {share}.")
        sizes = np.unique(y[known], return_counts=True)[1]
        enough = sizes.min() > 1 and share * len(known) >= len(sizes)
        train, val = train_test_split(
            known, test_size=share, random_state=self.random_state, stratify=y[known] if enough else None
        )
        train, val = (torch.from_numpy(np.sort(part)) for part in (train, val))
        return NodeSplit("yours", train, val, val)


_SETTINGS = (*("head", "dim", "num_layers", "K", "lr", "weight_decay", "dropout", "epochs", "patience"),)


def _is_matrix(X: Any) -> bool:
    return isinstance(X, (np.ndarray, list, Tensor)) or hasattr(X, "iloc")


def _features(X: Any) -> Data:
    """Rows of features as a graph without edges."""
    try:
        x = torch.from_numpy(np.ascontiguousarray(check_array(X, dtype=np.float32)))
    except ValueError as error:
        raise InputError(
            f"X is no table of numbers ({first_line(error)}); of a table of edges load_graph makes a graph."
        ) from error
    none = torch.empty(2, 0, dtype=torch.long)
    return Data(x=x, edge_index=none, num_nodes=len(x), name="yours")

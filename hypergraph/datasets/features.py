"""What a model gets of the features, which depends on the task and on the training graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hypergraph.datasets.names import DATASETS
from hypergraph.memory import empty
from hypergraph.sparse import csr_tensor

if TYPE_CHECKING:
    from torch_geometric.data import Data


def recipe_of(data: Data, normalize: bool | None = None) -> str:
    """How the features of a graph are prepared: as published for its dataset, or as one's ``"own"``.

    Where ``normalize`` is not what that does with rows, ``" normalized"`` or ``" raw"`` is added.
    """
    name = data.name if data.name in DATASETS else "own"
    return name if normalize is None else f"{name} {'normalized' if normalize else 'raw'}"


def prepare_features(
    data: Data, task: str, edge_index: Tensor | None = None, *, recipe: str | None = None
) -> Tensor:
    """The features as published experiments take them; sparse features stay sparse.

    Rows are divided by their sum (the simulated Disease for links: left as they are). HGCN's own Disease has
    features of both signs, and some rows become long where their sum is near 0, as in publications. Airport
    then gets six columns with its degree in the training graph, one-hot and capped at 5, and a column of
    ones: 11 columns for nodes, 12 for links.

    Args:
        data: What :func:`load_graph` gave for the same task.
        task: ``"node"`` or ``"link"``.
        edge_index: The message-passing graph, ``LinkSplit.train_edge_index`` for links; by default all edges.
        recipe: The dataset whose way of preparing is used, for a graph that a model was not trained on.

    Example:
        >>> prepare_features(load_graph("cora"), "node").to_dense().sum(1)[:2]
        tensor([1.0000, 1.0000])
    """
    recipe = recipe or recipe_of(data)
    x = prepare_rows(data.x, recipe, task)
    if recipe.split()[0] == "airport":
        source = (data.edge_index if edge_index is None else edge_index)[0]
        degree = torch.bincount(source, minlength=data.num_nodes).clamp(max=5)
        columns = torch.nn.functional.one_hot(degree, 6).to(x.dtype)
        x = torch.cat([x, columns, torch.ones_like(x[:, :1])], dim=1)
    return x


def prepare_rows(x: Tensor, recipe: str, task: str) -> Tensor:
    """What :func:`prepare_features` does to each row by itself."""
    name, *more = recipe.split()
    if more == ["raw"] or (not more and task == "link" and name == "disease"):
        return x
    # A user's features may have both signs, so that their sum says nothing about their size.
    return _divide_rows(x, signed=name != "own")


def _divide_rows(x: Tensor, *, signed: bool) -> Tensor:
    """Divide each row by its sum, or by the sum of absolute values; a row that sums to 0 becomes 0."""
    if x.layout != torch.sparse_csr:
        out = empty(x.shape[0], x.shape[1], x)
        total = (x if signed else torch.abs(x, out=out)).sum(dim=1, keepdim=True)
        return torch.div(x, torch.where(total == 0, torch.inf, total), out=out)
    crow, col, value = x.crow_indices(), x.col_indices(), x.values()
    row = torch.repeat_interleave(torch.arange(x.shape[0]), crow.diff().long())
    total = torch.zeros(x.shape[0], dtype=x.dtype).index_add_(0, row, value if signed else value.abs())
    scale = torch.where(total == 0, torch.zeros_like(total), 1 / total)
    return csr_tensor(crow, col, value * scale[row], (x.shape[0], x.shape[1]))

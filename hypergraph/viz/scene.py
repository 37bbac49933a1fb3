"""What a picture or a page shows: the points in the disk, and all that is known of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.datasets.reading import load_numpy
from hypergraph.errors import InputError
from hypergraph.viz.decision import Horosphere, Region

if TYPE_CHECKING:
    from torch import nn

    from hypergraph.tasks.run import Run
    from hypergraph.viz.reduction import Reduced

Say = Callable[[str], None]
FEATURES = 16  # features of a graph that are shown as attributes, where there are no more


@dataclass(frozen=True)
class Column:
    """One attribute of every node.

    Attributes:
        values: a number for each node, or the index of its name; nan, or -1, where it has none.
        names: the names, of an attribute that has them.
    """

    values: NDArray[Any]
    names: list[str] | None = None


@dataclass
class Scene:
    """Points on the hyperboloid of curvature -1 ``(n, 3)``, and what belongs to them.

    Attributes:
        title: what it is.
        sheet: the points, time first.
        s: the square root of -K: distances of the space are those of the sheet over it.
        ids: what the user calls the nodes.
        columns: attributes by name.
        edges: ``(2, E)``, each edge once.
        classes: the names of the classes.
        horospheres: of the classes, where the head has them and they meet the picture.
        distances: signed distances to the class horospheres in the points' own dimension, positive inside.
        regions: decision regions.
        section: what horospheres and regions are, where the points have more than two dimensions.
        curves: for each metric of the training, for each seed, epochs and values.
        facts: metrics and settings, by section.
        note: how the points came to the disk.
    """

    title: str
    sheet: NDArray[np.float64]
    s: float
    ids: list[str]
    columns: dict[str, Column] = field(default_factory=dict)
    edges: NDArray[np.int64] = field(default_factory=lambda: np.empty((2, 0), dtype=np.int64))
    classes: list[str] = field(default_factory=list)
    horospheres: list[Horosphere] = field(default_factory=list)
    distances: NDArray[np.float32] | None = None
    regions: list[Region] = field(default_factory=list)
    section: str = ""
    curves: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    facts: dict[str, dict[str, str]] = field(default_factory=dict)
    note: str = ""

    @property
    def half(self) -> NDArray[np.float64]:
        """Half-angle coordinates: sinh(r / 2) times the direction, for a point at distance r."""
        half: NDArray[np.float64] = self.sheet[:, 1:] / np.sqrt(2 * (1 + self.sheet[:, :1]))
        return half


def quiet(text: str) -> None:
    """Say nothing."""


def run_scene(path: Path, method: str = "auto", say: Say = quiet, data: Any = None) -> Scene:
    """The scene of a finished run; ``data`` is the graph of one that was made in Python from a graph."""
    from hypergraph.nn.registry import make_space
    from hypergraph.tasks.run import Run
    from hypergraph.viz.reduction import reduce

    run = Run.open(path)
    arrays = read_embedding(path, run.config.task)
    run.whole("embedding.npz")
    space = make_space(str(arrays["space"]), float(arrays["K"]) or -1.0)
    if space.flat:
        raise InputError(
            f"{path}: the points of this run are Euclidean, and the disk is hyperbolic; "
            "train with a head of the Poincaré ball or the Lorentz model, such as bmlr-p."
        )
    reduced = reduce(arrays["points"], space, method)
    say(f"{path}: {reduced}.")
    graph = _graph(run, len(reduced.sheet), say, data)
    dataset, chosen = Path(str(run.config.dataset)).name, getattr(run.config, run.config.chosen)
    scene = Scene(
        title=f"{run.config.task} · {dataset} · {chosen}",
        sheet=reduced.sheet,
        s=float(-space.K) ** 0.5,
        ids=_ids(arrays, graph, len(reduced.sheet)),
        classes=_classes(arrays, graph),
        note=str(reduced),
    )
    head = load_head(run, arrays, space)
    _add_classes(scene, arrays, head)
    add_graph(scene, graph)
    distance = space.dist0(_tensor(arrays["points"])).numpy()
    scene.columns["distance to the origin"] = Column(distance)
    if head is not None:
        _add_head(scene, arrays, head, reduced)
    scene.curves = read_curves(path)
    scene.facts = _facts(path)
    return scene


def read_embedding(path: Path, task: str = "") -> dict[str, NDArray[Any]]:
    """The arrays of a run's ``embedding.npz``; an unfinished run has none."""
    file = path / "embedding.npz"
    if not file.exists():
        raise InputError(
            f"{path}: no embedding.npz there, the run is unfinished; continue it with: "
            f"hypergraph {task or 'TASK'} --resume {path}"
        )
    arrays: dict[str, NDArray[Any]] = load_numpy(file)
    return arrays


def _tensor(points: NDArray[Any]) -> Any:
    import torch

    return torch.from_numpy(points).double()


def _graph(run: Run, count: int, say: Say, data: Any) -> Any:
    """The graph of a run's dataset; without it the page has no edges, and says why."""
    if run.config.task not in ("node-clf", "link-pred"):
        return None
    from hypergraph.datasets import load_graph

    config: Any = run.config
    try:
        task = "node" if config.task == "node-clf" else "link"
        graph = load_graph(config.dataset if data is None else data, data=config.data, task=task)
    except (InputError, OSError) as error:
        say(f"The graph is not shown: {error}")
        return None
    if graph.num_nodes != count:
        say(f"The graph is not shown: it has {graph.num_nodes} nodes now, the run has {count}.")
        return None
    return graph


def _ids(arrays: dict[str, NDArray[Any]], graph: Any, count: int) -> list[str]:
    if "node" in arrays and len(arrays["node"]) == count:
        return [str(value) for value in arrays["node"].tolist()]
    if graph is not None and (found := graph.get("node_ids")) is not None:
        return [str(value) for value in found]
    return [str(i) for i in range(count)]


def _classes(arrays: dict[str, NDArray[Any]], graph: Any) -> list[str]:
    if "classes" in arrays:
        return [str(value) for value in arrays["classes"].tolist()]
    if graph is not None and graph.get("classes"):
        return [str(value) for value in graph.get("classes")]
    labels = [arrays[name].max(initial=-1) for name in ("label", "predicted") if name in arrays]
    return [str(k) for k in range(int(max(labels, default=-1)) + 1)]


def load_head(run: Run, arrays: dict[str, NDArray[Any]], space: Any) -> nn.Module | None:
    """The trained head of a run; ``None`` of link prediction, which has none."""
    name = getattr(run.config, "head", None)
    source = run.path / "model.safetensors"
    if name is None or not source.exists():
        return None
    from hypergraph.nn.registry import make_head
    from hypergraph.tasks import checkpoint

    tensors = checkpoint.under("head.", checkpoint.load(run.whole("model.safetensors"))[0])
    if "weight" not in tensors:
        return None
    classes, dim = tensors["weight"].shape
    head = make_head(name, dim, classes, space)
    checkpoint.load_model(head, tensors, source)
    return head.double().eval()


def _add_classes(scene: Scene, arrays: dict[str, NDArray[Any]], head: nn.Module | None) -> None:
    label, predicted = arrays.get("label"), arrays.get("predicted")
    if label is not None:
        scene.columns["class"] = Column(label, scene.classes)
    if predicted is not None:
        scene.columns["prediction"] = Column(predicted, scene.classes)
    if label is not None and predicted is not None:
        wrong = np.where(label < 0, -1, label != predicted)
        scene.columns["error"] = Column(wrong, ["right", "wrong"])
    if head is not None:
        logits = _logits(head, arrays["points"])
        scene.columns["confidence"] = Column(logits.softmax(-1).max(-1).values.numpy())
    masks = [f"{part}_mask" for part in ("train", "val", "test")]
    if all(name in arrays for name in masks):
        part = np.select([arrays[name] for name in masks], [0, 1, 2], 3)
        scene.columns["part"] = Column(part, ["train", "val", "test", "none"])
    known = {"points", "K", "space", "label", "predicted", "node", "classes", *masks}
    for name, values in arrays.items():
        if name not in known and values.shape == (len(scene.sheet),):
            scene.columns[name] = column(values)


def column(values: NDArray[Any]) -> Column:
    """A column of numbers, or of names where the values are none."""
    if values.dtype.kind in "fiu":
        return Column(values)
    names, codes = np.unique(values.astype(str), return_inverse=True)
    return Column(codes, names.tolist())


def _logits(head: nn.Module, points: NDArray[Any]) -> Any:
    import torch

    with torch.no_grad():
        return head(_tensor(points))


def add_graph(scene: Scene, graph: Any) -> None:
    """The edges of a graph, the degrees, and its features where they are few."""
    if graph is None:
        return
    edges = graph.edge_index.numpy()
    scene.edges = edges[:, edges[0] < edges[1]]
    degree = np.bincount(scene.edges.ravel(), minlength=len(scene.sheet))
    scene.columns["degree"] = Column(degree)
    x = graph.x
    if x is not None and str(x.layout) == "torch.strided" and x.shape[1] <= FEATURES:
        names = graph.get("columns") or [f"feature {j}" for j in range(x.shape[1])]
        for j, name in enumerate(names):
            values = x[:, j].numpy()
            if len(np.unique(values)) > 1:
                scene.columns.setdefault(str(name), Column(values))


def _add_head(scene: Scene, arrays: dict[str, NDArray[Any]], head: Any, reduced: Reduced) -> None:
    """The horospheres of a Busemann head, and the regions of any head, in the plane of the picture."""
    from hypergraph.nn.heads import BMLR
    from hypergraph.viz.decision import decision_regions, lifted_logits

    if isinstance(head, BMLR):
        # u_k = alpha_k times the signed distance to the horosphere of level b_k / alpha_k
        scene.distances = (_logits(head, arrays["points"]) / head.alpha.detach()).float().numpy()
    if reduced.dim < 2:
        return
    if isinstance(head, BMLR):
        w, shift = reduced.section(head.v.detach())
        level = scene.s * (head.b / head.alpha).detach() - shift
        found = (Horosphere(k, *at) for k, at in enumerate(zip(w.tolist(), level.tolist())))
        scene.horospheres = [ball for ball in found if ball.circle]
    scene.regions = decision_regions(head, reduced.lift)
    if reduced.dim > 2:
        there = lifted_logits(head, scene.sheet, reduced.lift).argmax(-1)
        same = np.mean(there == _logits(head, arrays["points"]).numpy().argmax(-1))
        what = "horospheres and regions" if scene.horospheres else "regions"
        scene.section = (
            f"{what} are a section of {reduced.dim} dimensions: {100 * same:.1f} % of the points lie in the "
            "region of their prediction"
        )


def read_curves(path: Path) -> dict[str, list[dict[str, Any]]]:
    """What ``metrics.jsonl`` holds: for each metric, for each seed, ``seed``, ``epoch`` and ``value``."""
    from hypergraph.viz.training import read_metrics

    curves: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for seed, columns in sorted(read_metrics(path).items()):
        for name, values in columns.items():
            if name not in ("seed", "epoch"):
                curves[name].append({"seed": seed, "epoch": columns["epoch"], "value": values})
    return dict(curves)


def _facts(path: Path) -> dict[str, dict[str, str]]:
    from hypergraph.tasks.result import Result

    result = Result.read(path)
    metrics = {
        name: f"{value['mean']:.4f}" + ("" if value["std"] is None else f" ± {value['std']:.4f}")
        for name, value in result.summary.items()
    }
    metrics |= {"seeds": str(len(result.seeds)), "parameters": str(result.parameters)}
    settings = {name: str(value) for name, value in result.config.items()}
    return {"metrics": metrics, "settings": settings, "versions": result.versions}

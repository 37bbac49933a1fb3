"""The tasks from Python; the command line is a thin layer over these functions."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypergraph.errors import InputError
from hypergraph.option import check_text
from hypergraph.tasks.config import DEFAULT_GRAPH, Config, LinkConfig, NodeConfig, portable, settle

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from hypergraph.tasks.result import Result


def node_classification(
    dataset: str | os.PathLike[str] | Data | None = None,
    head: str | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    backend: str = "local",
    say: Callable[[str], None] = lambda text: None,
    **settings: Any,
) -> Result:
    """Train and test node classification over several seeds.

    Under ``torchrun`` its processes share out every batch; then only the first of them gets the result, the
    others ``None``.

    Args:
        dataset: A dataset's name, a file or folder, or a PyG graph.
        head: A registered head; ``bmlr-p`` by default.
        config: A TOML file of settings.
        out: The run folder; by default the next free one under ``runs/``.
        resume: A run folder to continue instead.
        jobs: How many seeds run side by side; the numbers do not depend on it.
        backend: Where: ``"local"``, or ``"ray"`` for a Ray cluster.
        say: Told in words what matters before training.
        **settings: Fields of :class:`hypergraph.tasks.config.NodeConfig`.

    Example:
        >>> result = node_classification("disease", "bmlr-p", seeds=2, epochs=2, out="runs/disease")
        >>> len(result.values("accuracy")), 0 <= result.mean <= 1, result.folder.name
        (2, True, 'disease')
    """
    return _run(NodeConfig, dataset, {"head": head, **settings}, config, out, resume, jobs, backend, say)


def link_prediction(
    dataset: str | os.PathLike[str] | Data | None = None,
    fc: str | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    backend: str = "local",
    say: Callable[[str], None] = lambda text: None,
    **settings: Any,
) -> Result:
    """Train and test link prediction over several seeds.

    Args:
        dataset: A dataset's name, a file or folder, or a PyG graph.
        fc: A registered linear layer; ``bfc-p`` by default.
        **settings: Fields of :class:`hypergraph.tasks.config.LinkConfig`.

    The other arguments are those of :func:`node_classification`.

    Example:
        >>> result = link_prediction("cora", "bfc-p", seeds=1, epochs=1, out="runs/links")
        >>> sorted(result.seeds[0]["test"])
        ['ap', 'auc', 'loss']
    """
    return _run(LinkConfig, dataset, {"fc": fc, **settings}, config, out, resume, jobs, backend, say)


def image_classification(
    dataset: str | os.PathLike[str] | None = None,
    head: str | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    backend: str = "local",
    say: Callable[[str], None] = lambda text: None,
    **settings: Any,
) -> Result:
    """Train and test image classification over several seeds.

    Args:
        dataset: ``digits`` (the default), ``cifar10``, ``cifar100``, ``tiny-imagenet``, ``imagenet``, or a
            folder.
        head: A registered head; ``bmlr-p`` by default.
        **settings: Fields of :class:`hypergraph.tasks.classify_config.ImageConfig`.

    The other arguments are those of :func:`node_classification`.

    Example:
        >>> result = image_classification("digits", "bmlr-p", seeds=5)  # doctest: +SKIP
        >>> result.values("accuracy")  # doctest: +SKIP
    """
    from hypergraph.tasks.classify_config import ImageConfig

    return _run(ImageConfig, dataset, {"head": head, **settings}, config, out, resume, jobs, backend, say)


def genome_classification(
    dataset: str | os.PathLike[str] | None = None,
    head: str | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    backend: str = "local",
    say: Callable[[str], None] = lambda text: None,
    **settings: Any,
) -> Result:
    """Train and test the classification of genome sequences over several seeds.

    Args:
        dataset: ``simulated`` (the default), a folder, a file, or a name below ``data``.
        head: A registered head; ``bmlr-p`` by default.
        **settings: Fields of :class:`hypergraph.tasks.classify_config.GenomeConfig`.

    The other arguments are those of :func:`node_classification`.

    Example:
        >>> result = genome_classification("simulated", "bmlr-l", seeds=5)  # doctest: +SKIP
        >>> result.values("mcc")  # doctest: +SKIP
    """
    from hypergraph.tasks.classify_config import GenomeConfig

    return _run(GenomeConfig, dataset, {"head": head, **settings}, config, out, resume, jobs, backend, say)


def _run(
    cls: type[Config],
    dataset: Any,
    given: dict[str, Any],
    config: str | os.PathLike[str] | None,
    out: str | os.PathLike[str] | None,
    resume: str | os.PathLike[str] | None,
    jobs: int | None,
    backend: str,
    say: Callable[[str], None],
) -> Any:
    from hypergraph.tasks import distributed

    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}.")
    for name, path in (("out", out), ("resume", resume), ("config", config)):
        if path is not None:
            check_text(name, os.fspath(path))
            if not os.fspath(path):
                raise InputError(f"{name} is empty; name a path, or leave it out.")
    graph = None if dataset is None or isinstance(dataset, (str, os.PathLike)) else dataset
    if graph is not None:
        if distributed.launched():
            raise InputError("Under torchrun every process loads the graph: give a file or a dataset's name.")
        from hypergraph.datasets import default_split, load_graph

        graph = load_graph(graph)
        given = {"dataset": graph.name, **given}
        if cls is NodeConfig and given.get("split") is None and graph.y is not None:
            given["split"] = default_split(graph)
    elif dataset is not None:
        given = {"dataset": os.fspath(dataset), **given}
    if resume is not None:
        return _resume(cls, Path(resume), given, graph, config, out, jobs, backend, say)
    from hypergraph.tasks import runner

    settings = settle(cls, given, config)
    if distributed.launched():
        return distributed.run(settings, Path(out) if out else None, say)
    if cls in (NodeConfig, LinkConfig) and not given.get("dataset") and settings.dataset == DEFAULT_GRAPH:
        say(f"No dataset is given, so this is {DEFAULT_GRAPH}; name another with --dataset.")
    result = runner.run(
        settings,
        data=_prepare(settings, graph),
        out=Path(out) if out else None,
        jobs=jobs,
        backend=backend,
        say=say,
    )
    return replace(result, data=graph)


def _resume(
    cls: type[Config],
    path: Path,
    given: dict[str, Any],
    graph: Any,
    config: object,
    out: object,
    jobs: int | None,
    backend: str,
    say: Callable[[str], None],
) -> Any:
    from hypergraph.tasks import distributed, runner
    from hypergraph.tasks.run import Run

    if config is not None or out is not None:
        raise InputError("A run is resumed with its own settings and folder: leave out --config and --out.")
    given = portable(given)
    source = given.pop("data", None)  # it says where the data are, and changes no result
    folder = Run.open(path, source)
    if folder.config.task != cls.task:
        raise InputError(f"{path}: a run of {folder.config.task}, not of {cls.task}.")
    folder.check_given({k: v for k, v in given.items() if (k, v) != ("device", "auto")})
    if distributed.launched():
        return distributed.run(path, None, say, source)
    prepared = _prepare(folder.config, graph)
    return runner.resume(path, data=prepared, source=source, jobs=jobs, backend=backend, say=say)


def _prepare(settings: Config, graph: Any) -> Any:
    if graph is None:
        return None
    from hypergraph.tasks.kinds import KINDS

    task: Any = KINDS[settings.task].load_task()
    return task.prepare(settings, graph)

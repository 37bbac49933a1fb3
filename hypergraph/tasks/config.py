"""What a run is made with: presets, overridden by a file, overridden by what was typed. No torch here."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args, get_type_hints

from hypergraph.errors import InputError, unknown_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]


def choice(default: str, *names: str) -> Any:
    """A field that is one of some names."""
    return field(default=default, metadata={"choices": names})


@dataclass(frozen=True, kw_only=True)
class Config:
    """What every task has.

    Args:
        dataset: A dataset's name, or a file or folder.
        data: A folder that holds raw files of datasets.
        seeds: How many seeds are run.
        seed: The first of them.
        epochs: The most epochs.
        patience: Stop after so many epochs without a better validation metric; 0 never stops early.
        min_epochs: Do not stop before this epoch.
        eval_every: Evaluate after every so many epochs.
        dropout: Of weights in hyperbolic layers (DropConnect).
        threads: Torch's threads for each seed. Sums depend on it in the last digit, so it is not left to
            the number of seeds that happen to run side by side.
    """

    task: ClassVar[str]
    chosen: ClassVar[str]  # the field that names the layer which the run is about

    dataset: str
    data: str | None = None
    seeds: int = 5
    seed: int = 0
    epochs: int = 5000
    patience: int = 100
    min_epochs: int = 100
    eval_every: int = 1
    lr: float = 0.01
    weight_decay: float = 0.0
    dropout: float = 0.0
    K: float = -1.0
    learn_curvature: bool = False
    clip: float | None = None
    dtype: str = choice("float32", "float32", "float64")
    device: str = "cpu"
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("seeds", "epochs", "eval_every", "threads"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}.")
        for name in ("seed", "patience", "min_epochs", "weight_decay"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must not be negative, got {getattr(self, name)}.")
        if not self.lr > 0:
            raise InputError(f"lr must be above 0, got {self.lr}.")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must be at least 0 and below 1, got {self.dropout}.")
        if not self.K < 0:
            raise InputError(f"K must be below 0, got {self.K}; a Euclidean head or layer is flat.")
        if self.clip is not None and not self.clip > 0:
            raise InputError(f"clip must be above 0, got {self.clip}.")
        for entry in fields(self):
            names = entry.metadata.get("choices")
            if names and getattr(self, entry.name) not in names:
                raise unknown_name(entry.name, getattr(self, entry.name), names)

    @property
    def all_seeds(self) -> range:
        """The seeds of the run."""
        return range(self.seed, self.seed + self.seeds)

    def to_dict(self) -> dict[str, Any]:
        """The fields that are set, as TOML can hold them."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class GraphConfig(Config):
    """What node classification and link prediction share.

    Args:
        encoder: ``hgcn``, ``hnn``, or the Euclidean ``gcn`` and ``mlp``.
        dim: The dimension of the embedding.
        layers: The number of the encoder's layers.
        act: The activation between layers; ``none`` leaves it out.
        split: By default the one that publications use on the dataset.
        split_seed: HGCN's own, so that every seed trains on the published split.
    """

    encoder: str = choice("hgcn", "hgcn", "hnn", "gcn", "mlp")
    dim: int = 16
    layers: int = 2
    act: str = "relu"
    split: str | None = None
    split_seed: int = 1234

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("dim", "layers"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}.")


@dataclass(frozen=True, kw_only=True)
class NodeConfig(GraphConfig):
    """Node classification: an encoder and a head.

    Args:
        head: A registered head.
        linear: The encoder's linear layers, a registered name; by default the encoder's own.
    """

    task: ClassVar[str] = "node-clf"
    chosen: ClassVar[str] = "head"

    head: str = "bmlr-p"
    linear: str | None = None


@dataclass(frozen=True, kw_only=True)
class LinkConfig(GraphConfig):
    """Link prediction: an encoder of linear layers and a Fermi-Dirac decoder.

    Args:
        fc: A registered linear layer.
        phi: The activation inside BFC; ``none`` is the identity.
        r: Where the decoder gives a half, as a squared distance.
        t: How slowly it falls there.
    """

    task: ClassVar[str] = "link-pred"
    chosen: ClassVar[str] = "fc"

    fc: str = "bfc-p"
    encoder: str = choice("hnn", "hgcn", "hnn", "gcn", "mlp")
    phi: str = "none"
    r: float = 2.0
    t: float = 1.0


C = TypeVar("C", bound=Config)


def resolve(cls: type[C], given: Mapping[str, Any], *, space: str, file: Path | None = None) -> C:
    """The configuration: presets < ``file`` < ``given``, where ``None`` means not given.

    Args:
        cls: The task's configuration.
        given: What was typed, or passed from Python.
        space: The model of the chosen head or layer, for which presets differ.
        file: A TOML file of fields, or the ``config.toml`` of a run.
    """
    typed = (read_settings(cls, file) if file else {}) | {k: v for k, v in given.items() if v is not None}
    defaults = {entry.name: entry.default for entry in fields(cls)}
    dataset = typed.get("dataset", defaults["dataset"])
    if dataset is MISSING:
        raise InputError("No dataset is given; name one with --dataset.")
    chosen = str(typed.get(cls.chosen, defaults[cls.chosen]))
    values = preset(cls.task, Path(str(dataset)).name, space, chosen) | typed
    return cls(**{name: _fit(cls, name, value) for name, value in values.items()})


def preset(task: str, dataset: str, *variants: str) -> dict[str, Any]:
    """The presets of a task for a dataset; ``variants`` (space, head) are more and more special.

    In the file, ``[default]`` and then ``[<dataset>]`` give the values, each with a table of its own for a
    variant where that differs; ``like`` names the dataset whose presets are used too.
    """
    tables = tomllib.loads((files("hypergraph") / "presets" / f"{task}.toml").read_text(encoding="utf-8"))
    values: dict[str, Any] = {}
    like = tables.get(dataset, {}).get("like")
    for name in ("default", like, dataset):
        table = tables.get(name, {})
        for part in (table, *(table.get(variant, {}) for variant in variants)):
            values |= {key: value for key, value in part.items() if not isinstance(value, dict)}
    values.pop("like", None)
    return values


def read_settings(cls: type[Config], path: Path) -> dict[str, Any]:
    """The fields in a TOML file, or in the ``config.toml`` of a run of the same task."""
    document = read_toml(path)
    if isinstance(document.get("config"), dict):
        if document.get("task") != cls.task:
            raise InputError(f"{path}: the configuration of {document.get('task')}, not of {cls.task}.")
        document = document["config"]
    for name in document:
        if name not in (entry.name for entry in fields(cls)):
            raise InputError(f"{path}: {unknown_name('setting', name, (e.name for e in fields(cls)))}")
    return document


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file from a person."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file ({error}).") from error


def _fit(cls: type[Config], name: str, value: Any) -> Any:
    """``value`` as the field's type: a whole number may stand for a float, nothing else bends."""
    hint = get_type_hints(cls)[name]
    wanted = next((part for part in get_args(hint) if part is not type(None)), hint)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise InputError(f"{name} must be of type {wanted.__name__}, got {value!r}.")
    return value

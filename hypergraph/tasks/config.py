"""What a run is made with: presets, overridden by a file, overridden by what was typed. No torch here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from hypergraph.datasets.names import DATASETS, LINK_SPLITS, NODE_SPLITS, may_have_masks
from hypergraph.errors import InputError, short, unknown_name
from hypergraph.nn.registry import ACTIVATIONS, DEFAULT_FC, ENCODERS, FCS, HEADS
from hypergraph.option import MOST, MOST_SEED, check_fields, fit, option, option_of
from hypergraph.tasks.fitting import check_fc, check_head, check_propagate, idle, listed, takers

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]


_LARGEST = 2**20  # bytes of a file of settings
DATA, MODEL, TRAINING = "Data", "Model", "Training"  # the headings of the help


@dataclass(frozen=True, kw_only=True)
class Config:
    """What every task has. Each field is an option of the command line, and says itself what it is."""

    task: ClassVar[str]
    chosen: ClassVar[str]  # the field that names the layer which the run is about
    retired: ClassVar[
        tuple[str, ...]
    ] = ()  # settings of earlier versions that did nothing: files may have them
    curved: ClassVar[tuple[str, ...]] = ("K", "learn_curvature")  # settings that say nothing in flat space
    # what `hypergraph tune` searches where nothing is asked for, within what training survives
    search: ClassVar[tuple[str, ...]] = ("lr=1e-3:5e-2:log", "weight_decay=1e-5:5e-2:log", "K=-2:-0.01:log")

    dataset: str = option(
        ..., "A dataset's name (see `hypergraph data list`), or a file or folder.", group=DATA
    )
    data: str | None = option(None, "A folder with the raw files of datasets.", group=DATA)
    seeds: int = option(5, "How many seeds.", least=1, most=10_000)
    seed: int = option(0, "The first seed.", least=0, most=MOST_SEED)
    epochs: int = option(5000, "The most epochs.", least=1, most=MOST)
    patience: int = option(
        100, "Stop after so many epochs without a better validation metric; 0: never.", least=0, most=MOST
    )
    min_epochs: int = option(100, "Do not stop before this epoch.", least=0, most=MOST)
    eval_every: int = option(1, "Evaluate after every so many epochs.", least=1, most=MOST)
    lr: float = option(0.01, "Learning rate.", above=0)
    weight_decay: float = option(0.0, "L2 weight decay.", least=0)
    K: float = option(-1.0, "Curvature, below 0.", group=MODEL, flags="--K", least=-10_000, most=-1e-6)
    learn_curvature: bool = option(
        False, "Train the curvature too.", group=MODEL, flags="--learn-curvature/--fix-curvature"
    )
    clip: float | None = option(
        None, "Clip features to this norm before they are lifted.", group=MODEL, above=0, most=1e6
    )
    dtype: str = option("float32", "The type of numbers.", choices=("float32", "float64"))
    device: str = option("auto", "cpu, cuda, cuda:1 ...; auto is a GPU where there is one.")
    # The last digits of sums depend on it, so it is a setting and does not follow from the number of jobs.
    threads: int = option(1, "Torch's threads for each seed.", least=1, most=256)

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def idle(cls, values: Mapping[str, Any], name: str) -> str | None:
        """Why a setting has no effect beside all the others, in a sentence; ``None`` where it has one."""
        return idle(cls.chosen, cls.curved, values, name)

    @property
    def all_seeds(self) -> range:
        """The seeds of the run."""
        return range(self.seed, self.seed + self.seeds)

    def to_dict(self) -> dict[str, Any]:
        """The fields that are set, as TOML can hold them."""
        return {name: value for name, value in asdict(self).items() if value is not None}


DEFAULT_GRAPH = "cora"  # which is part of the package
_FLAT = listed(entry.name for entry in ENCODERS.values() if entry.flat)
_ENCODER = f"The encoder: hyperbolic, or the Euclidean {_FLAT}."


@dataclass(frozen=True, kw_only=True)
class GraphConfig(Config):
    """What node classification and link prediction share."""

    search: ClassVar[tuple[str, ...]] = (*Config.search[:2], "dropout=0:0.6", *Config.search[2:])

    dataset: str = option(
        DEFAULT_GRAPH, "A dataset's name (see `hypergraph data list`), or a file or folder.", group=DATA
    )
    encoder: str = option("hgcn", _ENCODER, group=MODEL, choices=ENCODERS)
    dim: int = option(16, "Dimension of the embedding.", group=MODEL, least=1, most=4096)
    num_layers: int = option(2, "Number of the encoder's layers.", group=MODEL, least=1, most=1000)
    act: str = option("relu", "The activation between layers.", group=MODEL, choices=ACTIVATIONS)
    norm: str = option(
        "mean",
        f"How {listed(takers('encoder', 'norm'))} weighs the messages to a node.",
        group=MODEL,
        choices=("mean", "symmetric"),
    )
    propagate: int = option(
        0,
        f"Aggregations without weights after the layers of {listed(takers('encoder', 'propagate'))}.",
        group=MODEL,
        least=0,
        most=100,
    )
    residual: bool = option(
        False, "Add what comes into a layer to what comes out.", group=MODEL, flags="--residual/--no-residual"
    )
    dropout: float = option(
        0.0,
        f"Dropout of the weights of a layer (DropConnect); with {_FLAT} of its output.",
        least=0,
        below=1,
    )
    feature_dropout: float = option(0.0, "Dropout of features.", least=0, below=1)
    hidden_dropout: float = option(
        0.0, "Dropout of what comes out of a layer, in the tangent space.", least=0, below=1
    )
    weights: bool = option(
        True, "Use the weights of the edges, where there are any.", group=DATA, flags="--weights/--no-weights"
    )
    normalize_features: bool | None = option(
        None,
        "Divide each row of features by its sum; by default as publications do with the dataset.",
        group=DATA,
        flags="--normalize-features/--raw-features",
    )
    # HGCN's own, so that every seed trains on the published split.
    split_seed: int = option(1234, "The seed of the split.", group=DATA, least=0, most=MOST_SEED)
    batch_size: int = option(
        0, "Nodes or edges that train in one step, over all processes; 0: all.", least=0, most=MOST
    )
    fanout: str | None = option(
        None, "Neighbours drawn in each layer of a batch, such as 15,10; -1: all. By default 10 in each."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_propagate(self.propagate, self.encoder)
        if self.num_layers * self.dim**2 > MOST:
            raise InputError(
                f"{self.num_layers} layers of dimension {self.dim} have over {MOST} weights; "
                "lower num_layers or dim."
            )
        if self.fanout is None:
            return
        if not self.batch_size:
            raise InputError("fanout is for batches: give a batch_size too, such as 1024.")
        if not ENCODERS[self.encoder].uses_graph:
            raise InputError(f"The encoder {self.encoder} does not look at the graph; leave out fanout.")
        if len(self.fanouts) != self.num_layers + self.propagate:
            raise InputError(
                f"fanout names {len(self.fanouts)} layers ({self.fanout}), and the encoder has "
                f"{self.num_layers + self.propagate}; give one number for each."
            )

    @property
    def fanouts(self) -> list[int]:
        """The neighbours drawn in each layer."""
        if self.fanout is None:
            return [10] * (self.num_layers + self.propagate)
        try:
            counts = [int(count) for count in self.fanout.split(",")]
        except ValueError:
            counts = []
        if not counts or any(count < 1 and count != -1 for count in counts):
            raise InputError(
                f"fanout must be whole numbers above 0 (or -1 for all neighbours), such as 15,10, got "
                f"'{self.fanout}'."
            )
        return counts


MAGNITUDES = ("free", "row")
NODE_RECIPES = ("few-labels", "many-labels")
LINK_RECIPES = ("published", "ours")
_MAGNITUDE = "Whether the magnitudes of {} are parameters of their own, or norms of rows."
_OWN = f"{DEFAULT_FC['poincare']} on the Poincaré ball, {DEFAULT_FC['lorentz']} on the Lorentz model"
_SPLIT = "The split; by default the one that publications use on the dataset."


@dataclass(frozen=True, kw_only=True)
class NodeConfig(GraphConfig):
    """Node classification: an encoder and a head."""

    task: ClassVar[str] = "node-clf"
    chosen: ClassVar[str] = "head"

    head: str = option("bmlr-p", "The head (see `hypergraph heads`).", group=MODEL, choices=HEADS)
    fc: str | None = option(
        None,
        f"The linear layers of {listed(takers('encoder', 'fc'))} (see `hypergraph fcs`); by default {_OWN}.",
        group=MODEL,
        choices=FCS,
    )
    magnitude: str = option(
        "free", _MAGNITUDE.format(listed(takers("head", "magnitude"))), group=MODEL, choices=MAGNITUDES
    )
    recipe: str | None = option(
        None,
        "Settings for few labelled nodes, or for many, in place of the dataset's own. By default a graph "
        "without presets gets few-labels if a split comes with it, else many-labels.",
        group=MODEL,
        choices=NODE_RECIPES,
    )
    head_lr: float | None = option(None, "Learning rate of the head; by default that of the rest.", above=0)
    head_weight_decay: float | None = option(
        None, "L2 weight decay of the head; by default that of the rest.", least=0
    )
    split: str | None = option(None, _SPLIT, group=DATA, choices=NODE_SPLITS)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_head(self.head, self.encoder, self.fc)


@dataclass(frozen=True, kw_only=True)
class LinkConfig(GraphConfig):
    """Link prediction: an encoder of linear layers and a Fermi-Dirac decoder."""

    task: ClassVar[str] = "link-pred"
    chosen: ClassVar[str] = "fc"

    fc: str = option("bfc-p", "The linear layers (see `hypergraph fcs`).", group=MODEL, choices=FCS)
    encoder: str = option("hnn", _ENCODER, group=MODEL, choices=ENCODERS)
    phi: str = option(
        "none", f"The activation inside {listed(takers('fc', 'phi'))}.", group=MODEL, choices=ACTIVATIONS
    )
    init: str = option(
        "data",
        f"How {listed(takers('fc', 'init'))} begin: at a scale that the data give, or as published.",
        group=MODEL,
        choices=("data", "published"),
    )
    magnitude: str = option(
        "free", _MAGNITUDE.format(listed(takers("fc", "magnitude"))), group=MODEL, choices=MAGNITUDES
    )
    recipe: str = option(
        "published",
        "published: the paper's network. ours: on Cora and PubMed the number of layers, decoder, dropout and "
        "weight decay that did best on validation.",
        group=MODEL,
        choices=LINK_RECIPES,
    )
    r: float = option(2.0, "The squared distance at which the probability of an edge is a half.", group=MODEL)
    t: float = option(
        1.0,
        "How slowly the probability of an edge falls with the distance d: its logit is (r - d^2) / t.",
        group=MODEL,
        above=0,
    )
    split: str | None = option(None, _SPLIT, group=DATA, choices=LINK_SPLITS)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fc(self.fc, self.encoder)


_RENAMED: Mapping[str, str] = {"linear": "fc", "layers": "num_layers"}


def renamed(settings: Mapping[str, Any], cls: type[Config] = Config) -> dict[str, Any]:
    """Settings of a file as they are named now: earlier versions wrote other names, and some more."""
    for old, new in _RENAMED.items():
        if old in settings and new in settings:
            raise InputError(f"{old} is the earlier name of {new}, and both are set; leave out {old}.")
    return {_RENAMED.get(name, name): value for name, value in settings.items() if name not in cls.retired}


C = TypeVar("C", bound=Config)


def settle(
    cls: type[C],
    given: Mapping[str, Any],
    file: str | os.PathLike[str] | None = None,
    *,
    refuse_idle: bool = True,
) -> C:
    """The effective configuration: presets < ``file`` < ``given``, where ``None`` means not given.

    Args:
        cls: The task's configuration.
        given: What was typed, or passed from Python.
        file: A TOML file of fields, or the ``config.toml`` of a run.
        refuse_idle: Whether a setting that is given and has no effect is refused. Presets and files may have
            settings for every head and layer.
    """
    known = {entry.name: entry for entry in fields(cls)}
    check_names(cls, given)
    typed = read_settings(cls, Path(file)) if file is not None else {}
    typed |= {name: value for name, value in portable(given).items() if value is not None}
    typed = fit(cls, typed)
    dataset = typed.get("dataset", known["dataset"].default)
    if dataset is MISSING:
        raise InputError("No dataset is given; name one with --dataset.")
    chosen = typed.get(cls.chosen, known[cls.chosen].default)
    names = option_of(known[cls.chosen]).choices
    if chosen not in names:
        raise unknown_name(cls.chosen, chosen, names)
    space = (FCS if cls.chosen == "fc" else HEADS)[chosen].space
    variants = [space, chosen]
    # where a recipe for any graph is asked for, the dataset's own settings are not used
    named = "" if typed.get("recipe") in NODE_RECIPES else Path(dataset).name
    if "encoder" in known:
        values = preset(cls.task, named, *variants) | typed
        variants.append(values.get("encoder", known["encoder"].default))
    if "recipe" in known:
        usual = known["recipe"].default or _recipe(dataset, typed.get("split"))
        variants.append(typed.setdefault("recipe", usual))
    settled = cls(**fit(cls, preset(cls.task, named, *variants) | typed))
    for said in idle_settings(settled, given).values() if refuse_idle else ():
        raise InputError(said)
    return replace(settled, **_depending(settled))


def idle_settings(config: Config, given: Mapping[str, Any], **instead: Any) -> dict[str, str]:
    """Which of the settings that are given have no effect, and why.

    Args:
        config: All settings.
        given: Those that were typed; ``None`` means not given.
        **instead: Settings that stand in place of those of ``config``.
    """
    values = {**vars(config), **instead}
    names = [name for name, value in given.items() if value is not None]
    said = {name: config.idle(values, name) for name in names}
    return {name: why for name, why in said.items() if why is not None}


def check_names(cls: type[Config], names: Iterable[str]) -> None:
    """Refuse the first name that is no setting of a task."""
    known = [entry.name for entry in fields(cls)]
    for name in names:
        if name not in known:
            raise unknown_name("setting", name, known)


def _recipe(dataset: str, split: str | None) -> str:
    """By the split: those that come with a graph train few nodes of a class; ours train most of them."""
    known = DATASETS.get(dataset)
    split = split or (known.split if known else "masks" if may_have_masks(dataset) else "strict")
    return "few-labels" if split in ("planetoid", "masks") else "many-labels"


def _depending(config: Config) -> dict[str, Any]:
    """The values of settings that were left open: the device of this machine, the split of the dataset."""
    found: dict[str, Any] = {}
    if config.device == "auto":
        import torch

        found["device"] = "cuda" if torch.cuda.is_available() else "cpu"
    if isinstance(config, NodeConfig) and config.split is None and config.dataset in DATASETS:
        found["split"] = DATASETS[config.dataset].split
    if isinstance(config, LinkConfig) and config.split is None:
        found["split"] = "hgcn"
    return found


def portable(given: Mapping[str, Any]) -> dict[str, Any]:
    """Paths as a run that is resumed from elsewhere finds them; a dataset's name stays a name."""
    paths = {
        name: str(Path(value).resolve())
        for name in ("dataset", "data")
        if (value := given.get(name)) and value not in DATASETS and Path(value).exists()
    }
    return {**given, **paths}


def presets(task: str) -> dict[str, Any]:
    """The file of a task's presets."""
    return tomllib.loads((files("hypergraph") / "presets" / f"{task}.toml").read_text(encoding="utf-8"))


def preset(task: str, dataset: str, *variants: str) -> dict[str, Any]:
    """The presets of a task for a dataset.

    In the file ``[default]`` gives the values for every dataset, and ``[<dataset>]`` overrides them. A table
    within one of these, such as ``[cora.lorentz]`` or ``[cora.hnn.ours]``, overrides it for a variant or for
    several together. ``like`` names a dataset whose values come first.

    Args:
        task: Its name.
        dataset: Its name.
        variants: The space, the head or linear layer, the encoder and the recipe: later ones override
            earlier ones.
    """
    tables = presets(task)
    values: dict[str, Any] = {}
    chain = [dataset]
    while (like := tables.get(chain[0], {}).get("like")) is not None:
        chain.insert(0, like)
    for name in ("default", *chain):
        for table in _within(tables.get(name, {}), variants):
            values |= {key: value for key, value in table.items() if not isinstance(value, dict)}
    values.pop("like", None)
    return values


def _within(table: dict[str, Any], variants: Sequence[str]) -> Iterator[dict[str, Any]]:
    yield table
    for variant in variants:
        if variant in table:
            yield from _within(table[variant], variants)


def read_settings(cls: type[Config], path: Path) -> dict[str, Any]:
    """The fields in a TOML file, or in the ``config.toml`` of a run of the same task."""
    document = read_toml(path)
    if isinstance(document.get("config"), dict):
        if document.get("task") != cls.task:
            raise InputError(f"{path}: the configuration of {document.get('task')}, not of {cls.task}.")
        document = document["config"]
    try:
        document = renamed(document, cls)
        check_names(cls, document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return document


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file from a person."""
    try:
        if not path.is_file() and path.exists():  # a device has no end, and a pipe may have no writer
            raise InputError(f"{path}: not a file.")
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path}: {path.stat().st_size} bytes are too many for a file of settings.")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except RecursionError:
        raise InputError(f"{path}: not a file of settings, its values are nested too deeply.") from None
    except InputError:
        raise
    except ValueError as error:  # not TOML, not UTF-8, or a path with a null byte
        raise InputError(f"{short(path)}: not a TOML file ({short(error)}).") from error

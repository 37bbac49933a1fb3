"""Options: those of a task from the fields of its configuration, and those that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any

import typer

from hypergraph.errors import InputError, short
from hypergraph.option import Option, kind_of, option_of
from hypergraph.tasks.config import DATA, MODEL, TRAINING, Config, presets

GROUPS = (DATA, MODEL, TRAINING)
RUN_GROUP = "Run"

DATA_FOLDER = typer.Option(None, "--data", help="A folder with the raw files of datasets.")
# A graph is named in the same way everywhere: as the argument, or with --dataset.
NAMED = typer.Argument(None, metavar="DATASET", help="The same as --dataset.", show_default=False)
DATASET = typer.Option(
    None, "--dataset", help="A dataset's name (see `hypergraph data list`), or a file or folder of your own."
)
JOBS = typer.Option(
    None,
    "--jobs",
    help="Seeds that run side by side; the results do not depend on it.",
    rich_help_panel=RUN_GROUP,
)
BACKEND = typer.Option(
    "local",
    "--backend",
    help="Where seeds run side by side: local, or ray for a Ray cluster.",
    rich_help_panel=RUN_GROUP,
)
JSON = typer.Option(
    False,
    "--json",
    help="Print one JSON object; everything else goes to standard error.",
    rich_help_panel=RUN_GROUP,
)

# How a run is carried out: none of these options changes the results.
HOW: Mapping[str, tuple[Any, Any]] = {
    "config": (
        str | None,
        typer.Option(
            None,
            help="A TOML file of settings, or a run's config.toml; flags override it.",
            rich_help_panel=RUN_GROUP,
        ),
    ),
    "print_config": (
        bool,
        typer.Option(
            False,
            "--print-config",
            help="Print the effective settings and stop.",
            rich_help_panel=RUN_GROUP,
        ),
    ),
    "out": (
        str | None,
        typer.Option(
            None,
            help="The run folder; by default the next free one under runs/.",
            rich_help_panel=RUN_GROUP,
        ),
    ),
    "resume": (
        str | None,
        typer.Option(None, metavar="RUN", help="Continue this interrupted run.", rich_help_panel=RUN_GROUP),
    ),
    "jobs": (int | None, JOBS),
    "backend": (str, BACKEND),
    "log": (
        list[str] | None,
        typer.Option(
            None,
            metavar="NAME",
            help="Where else metrics go: csv, tensorboard or wandb; again for more.",
            rich_help_panel=RUN_GROUP,
        ),
    ),
    "json": (bool, JSON),
    "quiet": (
        bool,
        typer.Option(
            False, "--quiet", "-q", help="Print the result alone, and errors.", rich_help_panel=RUN_GROUP
        ),
    ),
    "verbose": (
        bool,
        typer.Option(
            False,
            "--verbose",
            "-v",
            help="Print the confusion matrix, settings and versions too.",
            rich_help_panel=RUN_GROUP,
        ),
    ),
}


Parameters = Mapping[str, tuple[Any, Any]]  # by name: the type and what typer knows of it


def command(run: Callable[[dict[str, Any]], None], help: str, parameters: Parameters) -> Callable[..., None]:
    """A function for typer with these parameters, which passes what was typed on."""

    def function(**typed: Any) -> None:
        run(typed)

    function.__doc__ = help
    function.__annotations__ = {name: hint for name, (hint, _) in parameters.items()}
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=info, annotation=hint)
            for name, (hint, info) in parameters.items()
        ]
    )
    return function


def one_dataset(named: str | None, dataset: str | None) -> str | None:
    """The dataset that was typed, as the argument or with ``--dataset``."""
    if named is not None and dataset is not None and named != dataset:
        raise InputError(f"Two datasets are given, {short(named)} and {short(dataset)}; name one.")
    return dataset if named is None else named


def need_dataset(named: str | None, dataset: str | None) -> str:
    """The same where there is none to fall back on."""
    found = one_dataset(named, dataset)
    if found is None:
        raise InputError("Name a dataset, such as cora (see `hypergraph data list`), or a file or folder.")
    return found


def given(typed: Mapping[str, Any]) -> dict[str, Any]:
    """What was typed."""
    return {name: value for name, value in typed.items() if value is not None}


def task_options(cls: type[Config]) -> dict[str, tuple[Any, Any]]:
    """The options of a task: those of its configuration, and how it is run."""
    entries = sorted(fields(cls), key=lambda entry: _place(entry, cls))
    options = from_fields(cls, [entry.name for entry in entries], *_defaults(cls)) | dict(HOW)
    _, chosen = options[cls.chosen]
    chosen.help, chosen.metavar = f"{chosen.help} Give it again to compare several.", "NAME"
    return {"named": (str | None, NAMED), **options, cls.chosen: (list[str] | None, chosen)}


def from_fields(
    cls: Any,
    names: Sequence[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
    varied: Collection[str] = (),
) -> dict[str, tuple[Any, Any]]:
    """The fields of a dataclass as options, each ``None`` unless it is typed.

    Args:
        cls: The dataclass, with :func:`hypergraph.option.option` fields.
        names: Those that are wanted, in their order; by default all.
        defaults: What the help says of defaults, where that is not the field's own.
        varied: The fields whose default depends on the rest.
    """
    entries = {entry.name: entry for entry in fields(cls)}
    found = {}
    for name in names or entries:
        default = entries[name].default if defaults is None else defaults[name]
        found[name] = _option(cls, entries[name], default, name in varied)
    return found


def _place(entry: Field[Any], cls: type[Config]) -> tuple[int, int]:
    """Groups in their order; the dataset and the chosen layer first in theirs."""
    group = _group(cls, option_of(entry))
    first = entry.name in ("dataset", cls.chosen)
    return (GROUPS.index(group) if group in GROUPS else len(GROUPS), not first)


def _group(cls: Any, known: Option) -> str | None:
    return known.group or (TRAINING if issubclass(cls, Config) else None)


def _option(cls: Any, entry: Field[Any], default: Any, varied: bool) -> tuple[Any, Any]:
    known = option_of(entry)
    said = [known.help]
    if known.choices:
        said.append(f"One of {', '.join(known.choices)}.")
    if default not in (None, "", MISSING):
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        said.append(f"Default: {shown}{', or what the preset says' if varied else ''}.")
    wanted = kind_of(cls, entry.name)
    names = sorted(known.choices)
    required = entry.default is MISSING and not issubclass(cls, Config)  # of a task a file may say it
    return wanted if required else wanted | None, typer.Option(
        ... if required else None,
        *([known.flags] if known.flags else []),
        help=" ".join(said),
        rich_help_panel=_group(cls, known),
        show_default=False,
        autocompletion=(lambda incomplete: [n for n in names if n.startswith(incomplete)]) if names else None,
    )


def _defaults(cls: type[Config]) -> tuple[dict[str, Any], set[str]]:
    """The default of every field, and the fields for which some dataset, space or head has another."""
    tables = presets(cls.task)
    general = tables.pop("default")
    values = {entry.name: None if entry.default is MISSING else entry.default for entry in fields(cls)}
    values |= {name: value for name, value in general.items() if not isinstance(value, dict)}
    varied: set[str] = set()
    waiting = [*tables.values(), *(value for value in general.values() if isinstance(value, dict))]
    while waiting:
        for name, value in waiting.pop().items():
            if isinstance(value, dict):
                waiting.append(value)
            else:
                varied.add(name)
    return values, varied

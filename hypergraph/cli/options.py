"""Options: those of a task from the fields of its configuration, and those that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

import typer

from hypergraph.tasks.config import DATA, MODEL, TRAINING, Config, presets
from hypergraph.tasks.kinds import Kind
from hypergraph.tasks.option import kind_of, option_of

GROUPS = (DATA, MODEL, TRAINING)
RUN_GROUP = "Run"

DATA_FOLDER = typer.Option(None, "--data", help="A folder with the raw files of datasets.")
JOBS = typer.Option(
    None,
    "--jobs",
    help="Seeds that run side by side; the numbers do not depend on it.",
    rich_help_panel=RUN_GROUP,
)
JSON = typer.Option(
    False,
    "--json",
    help="Print one JSON object; everything else goes to standard error.",
    rich_help_panel=RUN_GROUP,
)

# What a run is told besides its settings: none of it has a say in the numbers.
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
    "json": (bool, JSON),
}


def task_command(kind: Kind, run: Callable[[dict[str, Any]], None]) -> Callable[..., None]:
    """The function of a task's command, for typer: its parameters are the fields of the configuration."""
    cls = kind.load_config()
    defaults, varied = _defaults(cls)
    entries = sorted(fields(cls), key=lambda entry: _place(entry, cls))
    parameters = {entry.name: _field(cls, entry, defaults[entry.name], varied) for entry in entries}
    parameters |= HOW

    def command(**typed: Any) -> None:
        run(typed)

    command.__doc__ = kind.help
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=info, annotation=hint)
            for name, (hint, info) in parameters.items()
        ]
    )
    command.__annotations__ = {name: hint for name, (hint, _) in parameters.items()}
    return command


def _place(entry: Field[Any], cls: type[Config]) -> tuple[int, int]:
    """Groups in their order; the dataset and the chosen layer first in theirs."""
    group = option_of(entry).group
    first = entry.name in ("dataset", cls.chosen)
    return (GROUPS.index(group) if group in GROUPS else len(GROUPS), not first)


def _field(cls: type[Config], entry: Field[Any], default: Any, varied: set[str]) -> tuple[Any, Any]:
    """A field as a parameter that is ``None`` unless it is typed: presets may say what it is then."""
    known = option_of(entry)
    said = [known.help]
    if known.choices:
        said.append(f"One of {', '.join(known.choices)}.")
    if default not in (None, ""):
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        said.append(f"Default: {shown}{', or what the preset says' if entry.name in varied else ''}.")
    wanted = kind_of(cls, entry.name)
    names = sorted(known.choices)
    return wanted | None, typer.Option(
        None,
        *([known.flags] if known.flags else []),
        help=" ".join(said),
        rich_help_panel=known.group,
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

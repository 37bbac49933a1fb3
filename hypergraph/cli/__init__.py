"""The command line: a thin layer over tasks. Nothing heavy is imported at the top."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import typer

from hypergraph.cli.app import app
from hypergraph.errors import InputError

for _part in ("tasks", "tune", "runs", "data", "lists"):  # each adds its commands, in the order of the help
    importlib.import_module(f"hypergraph.cli.{_part}")


def _sentence(error: Any) -> str:
    """A mistake on the command line in one sentence, with the nearest right name."""
    import difflib
    import re

    ctx, said = getattr(error, "ctx", None), error.format_message()
    if ctx is None:
        return str(said)
    if match := re.match(r"No such (option|command):? '?(-*[^\s']+)", said):
        kind, wrong = match.groups()
        options = [
            name for parameter in ctx.command.params for name in (*parameter.opts, *parameter.secondary_opts)
        ]
        names = [*options, "--help"] if kind == "option" else list(ctx.command.commands)
        near = difflib.get_close_matches(wrong, names, n=1, cutoff=0.4)
        said = f"There is no {kind} '{wrong}'" + (f", did you mean '{near[0]}'?" if near else ".")
    return f"{said.rstrip('.')} (see '{ctx.command_path} --help')."


def main() -> None:
    """Run the command line: a mistake in what was given is one sentence on standard error and exit code 2."""
    try:
        code = app(prog_name="hypergraph", standalone_mode=False)
    except InputError as error:
        typer.echo(f"hypergraph: {error}", err=True)
        sys.exit(2)
    except Exception as error:
        # typer's own errors (its module for them differs between versions); anything else is a bug of ours
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ != "NoArgsIsHelpError":  # then the help has been printed
            typer.echo(f"hypergraph: {_sentence(error)}", err=True)
        sys.exit(2)
    if code == 130:
        typer.echo("hypergraph: interrupted.", err=True)
    sys.exit(code if isinstance(code, int) else 0)

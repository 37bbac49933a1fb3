"""The command line: a thin layer over tasks. Nothing heavy is imported at the top."""

from __future__ import annotations

import difflib
import importlib
import io
import os
import re
import sys
import warnings
from typing import Any

import typer

from hypergraph.cli.app import app
from hypergraph.cli.startup import start_quickly
from hypergraph.errors import sentence, short

for _part in (
    "tasks",
    "tune",
    "runs",
    "pictures",
    "data",
    "lists",
):  # each adds its commands, in the order of the help
    importlib.import_module(f"hypergraph.cli.{_part}")


def main() -> None:
    """Run the command line: a mistake in what was given is one sentence on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show ± gets a ? instead
    # Importing torch-geometric makes torch warn every user of something that only its authors can change.
    warnings.filterwarnings("ignore", ".torch.jit.script. is deprecated")
    start_quickly()
    try:
        code = app(prog_name="hypergraph", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe, as in `hypergraph heads | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        said = _typed_wrong(error) if hasattr(error, "format_message") else sentence(error)
        if said is None:  # a bug of ours
            raise
        if said:
            typer.echo(f"hypergraph: {_one_line(said)}", err=True)
        sys.exit(2)
    if code == 130:
        typer.echo("hypergraph: interrupted.", err=True)
    sys.exit(code if isinstance(code, int) else 0)


def _typed_wrong(error: Any) -> str:
    """An error of typer (its module for them differs between versions), with the nearest right name."""
    ctx, said = getattr(error, "ctx", None), str(error.format_message())
    if type(error).__name__ == "NoArgsIsHelpError":  # the help has been printed
        return ""
    if ctx is None:
        return said
    if match := re.match(r"No such (option|command):? '?(-*[^\s']*)", said):
        kind, wrong = match.groups()
        options = [name for known in ctx.command.params for name in (*known.opts, *known.secondary_opts)]
        names = [*options, "--help"] if kind == "option" else list(ctx.command.commands)
        bare = {name.lstrip("-"): name for name in names}
        near = difflib.get_close_matches(wrong.lstrip("-"), bare, n=1, cutoff=0.6)
        hint = f", did you mean '{bare[near[0]]}'?" if near else "."
        said = f"There is no {kind} '{short(wrong)}'{hint}"
    return f"{said.rstrip('.')} (see '{ctx.command_path} --help')."


def _one_line(text: str) -> str:
    """Text that fits in a line: what was typed may be very long, and a file name may hold line breaks."""
    text = re.sub(r"[^\s'\"]{300,}", lambda word: short(word[0]), text)
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)

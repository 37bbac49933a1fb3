"""The commands that list what is registered."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict

import typer

from hypergraph.cli.app import app
from hypergraph.cli.options import JSON
from hypergraph.cli.output import print_json
from hypergraph.nn import registry


@app.command("heads")
def list_heads(json: bool = JSON) -> None:
    """List the classification heads: space, formula in words, parameters, FLOPs, reference."""
    _list_entries(registry.HEADS, json)


@app.command("fcs")
def list_fcs(json: bool = JSON) -> None:
    """List the linear layers: space, formula in words, parameters, FLOPs, reference."""
    _list_entries(registry.FCS, json)


def _list_entries(entries: Mapping[str, registry.Entry], json: bool) -> None:
    """A table on a terminal, Markdown in a pipe."""
    if json:
        print_json([asdict(entry) for entry in entries.values()])
    elif not sys.stdout.isatty():
        typer.echo(_markdown(entries))
    else:
        from rich.console import Console
        from rich.table import Table

        view = Table(show_lines=True)
        for column in ("name", "space"):
            view.add_column(column, no_wrap=True)
        for column in ("what it computes", "parameters", "FLOPs", "reference"):
            view.add_column(column)
        for entry in entries.values():
            params = f"{entry.params} + {entry.bias}" if entry.bias else entry.params
            view.add_row(entry.name, entry.space, entry.formula, params, entry.flops, entry.reference)
        Console().print(view)


def _markdown(entries: Mapping[str, registry.Entry]) -> str:
    rows = [["name", "space", "what it computes", "parameters", "FLOPs", "reference"], ["---"] * 6]
    for entry in entries.values():
        params = f"{entry.params}, gyro bias {entry.bias}" if entry.bias else entry.params
        formula = entry.formula.replace("|", r"\|")
        rows.append([f"`{entry.name}`", entry.space, formula, params, entry.flops, entry.reference])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)

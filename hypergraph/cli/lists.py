"""The commands that list what is registered."""

from __future__ import annotations

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


@app.command("layers")
def list_layers(json: bool = JSON) -> None:
    """List the linear layers: space, formula in words, parameters, FLOPs, reference."""
    _list_entries(registry.FCS, json)


def _list_entries(entries: Mapping[str, registry.Entry], json: bool) -> None:
    if json:
        print_json([asdict(entry) for entry in entries.values()])
    else:
        typer.echo(registry.table(entries))

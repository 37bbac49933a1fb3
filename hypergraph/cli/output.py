"""How commands print what they found."""

from __future__ import annotations

from typing import Any

import typer


def print_record(record: dict[str, Any], json: bool) -> None:
    """Print nested facts, one a line."""
    if json:
        print_json(record)
        return

    def lines(value: Any, depth: int) -> None:
        for key, inner in value.items():
            if isinstance(inner, dict):
                typer.echo(f"{'  ' * depth}{key}:")
                lines(inner, depth + 1)
            else:
                mark = "; " if isinstance(inner, list) and any("," in str(cell) for cell in inner) else ", "
                shown = mark.join(map(str, inner)) if isinstance(inner, list) else inner
                typer.echo(f"{'  ' * depth}{key}: {shown}")

    lines(record, 0)


def print_table(columns: list[str], rows: list[list[str]]) -> None:
    """Print columns under their names; the last one may be as long as it likes."""
    widths = [max(len(row[i]) for row in (columns, *rows)) for i in range(len(columns))]
    for row in (columns, *rows):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def print_json(value: Any) -> None:
    """Print one JSON object."""
    import json

    typer.echo(json.dumps(value, indent=2))

"""What `hypergraph reproduce` does: one table or all of them, to standard output and to files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hypergraph.errors import InputError
from hypergraph.files import atomic_write_text
from hypergraph.tasks.reproduce import reproduce
from hypergraph.tasks.tables import MEASURED, TABLES, TRAINED


def run_tables(table: str, out: Path | None, *, finished: bool, **settings: Any) -> None:
    """Print a table, or all of them; of all, one that cannot be had is told of and left out."""

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    if table != "all":
        text = reproduce(table, finished=finished, keep=_rows(table, out), say=say, **settings)
        if out is not None:
            atomic_write_text(out, text)
        print(text, end="")
        return
    if settings.get("datasets") or settings.get("methods"):
        raise InputError(
            "All tables have datasets and methods of their own; name one table to choose from it."
        )
    folder = out or Path("results")
    folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        if finished and name in MEASURED:
            continue  # nothing is kept of them to be taken
        try:
            keep = _rows(name, folder / f"{name}.md")
            text = reproduce(name, finished=finished, keep=keep, say=say, **settings)
        except InputError as error:
            say(f"{name} is left out: {error}")
            continue
        atomic_write_text(folder / f"{name}.md", text)
        print(folder / f"{name}.md", flush=True)


def _rows(table: str, page: Path | None) -> Path | None:
    """Where the rows of a page are kept, so that a later call may make some of them anew."""
    return page.with_suffix(".jsonl") if page is not None and table in TRAINED else None

"""What `hypergraph reproduce` does: one table to standard output, several to a folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypergraph.errors import InputError, unknown_name
from hypergraph.files import atomic_write_text
from hypergraph.tasks.reproduce import reproduce
from hypergraph.tasks.tables import TABLES, TRAINED


def run_tables(tables: Sequence[str], out: Path | None, *, finished: bool, **settings: Any) -> None:
    """Print one table, or write several to a folder; one that cannot be made is left out, with the reason."""

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    for name in tables:
        if name not in TABLES and name != "all":
            raise unknown_name("table", name, (*TABLES, "all"))
    if len(tables) == 1 and tables[0] != "all":
        text = reproduce(tables[0], finished=finished, keep=_rows(tables[0], out), say=say, **settings)
        if out is not None:
            atomic_write_text(out, text)
        print(text, end="")
        return
    if settings.get("datasets") or settings.get("methods"):
        raise InputError(
            "Several tables have datasets and methods of their own; name one table to choose from it."
        )
    folder = out or Path("results")
    folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES if "all" in tables else dict.fromkeys(tables):
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

"""Progress on standard error, where that is a terminal; silence where it is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_quiet = False


def be_quiet(quiet: bool = True) -> None:
    """Show no progress in this process, or show it again."""
    global _quiet
    _quiet = quiet


class Report(Protocol):
    """What a long job calls to say how far it is."""

    def __call__(self, completed: float, note: str = "") -> None: ...


@contextmanager
def progress(description: str, total: float | None, *, unit: str = "") -> Iterator[Report]:
    """A bar with a note and the time left; ``total=None`` pulses, ``unit="bytes"`` counts in sizes."""
    if _quiet or not sys.stderr.isatty():
        yield lambda completed, note="": None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    count: ProgressColumn = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        count,
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total, note="")
        yield lambda completed, note="": bar.update(task, completed=completed, note=note)

"""One process at a time in a run folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypergraph.errors import InputError

NAME = ".lock"


@contextmanager
def hold(folder: Path, patience: float) -> Iterator[int | None]:
    """Keep other processes, and other runs of this one, out of a folder.

    Yields the lock's descriptor, for workers to hold too; the system lets go of it when all of them have
    ended, however they did. A worker outlives a killed parent by a moment, hence the patience in seconds.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield None
        return
    # A link in somebody else's folder must not make us create the file that it points to.
    descriptor = os.open(folder / NAME, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o666)
    try:
        end = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise InputError(
                        f"{folder}: another process is working on this run; wait for it, or choose another "
                        "folder with --out."
                    ) from None
                time.sleep(0.1)
        yield descriptor
    finally:
        os.close(descriptor)

"""How much memory there is: what a thing would take is asked before it is taken. No torch here."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from hypergraph.errors import InputError

# Of the memory that is there; the rest is for what is made of a thing afterwards.
SHARE = 0.5
_GROUP = Path("/sys/fs/cgroup")


def available() -> int:
    """Bytes that this process may still take without swapping; no limit where that is unknown."""
    found = [2**63]
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as lines:
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    if len(found) == 1:
        with suppress(AttributeError, ValueError):
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError, KeyError):  # a container's own limit
        most, used = (int((_GROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        kept = dict(line.split() for line in (_GROUP / "memory.stat").read_text().splitlines())
        # Files that are kept in memory make room when it is needed.
        found.append(most - used + int(kept["active_file"]) + int(kept["inactive_file"]))
    return max(min(found), 0)


def require(needed: int, what: str) -> None:
    """Refuse what would take more than a share of the memory that is there.

    >>> require(2**70, "graph.npz: 1,000,000,000 nodes")
    Traceback (most recent call last):
    InputError: graph.npz: 1,000,000,000 nodes would take 1024 EiB of memory, of which only ... are free.
    """
    free = available()
    if needed > SHARE * free:
        raise InputError(
            f"{what} would take {size(needed)} of memory, and {size(free)} are free, of which a half is used."
        )


def size(count: float) -> str:
    """A number of bytes as people write it.

    >>> size(3 * 2**30)
    '3.0 GiB'
    """
    units = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    for unit in units:
        if count < 1024 or unit == units[-1]:
            break
        count /= 1024
    return f"{count:.0f} bytes" if unit == "bytes" else f"{count:.1f} {unit}"

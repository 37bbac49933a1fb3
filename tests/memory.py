"""The most memory that this process has had."""

from __future__ import annotations

import sys


def peak() -> int:
    """In KiB; tests before this one may have had more."""
    if sys.platform == "win32":
        import psutil

        return psutil.Process().memory_info().peak_wset >> 10
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most >> 10 if sys.platform == "darwin" else most

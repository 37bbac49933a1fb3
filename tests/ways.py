"""The two ways an operator runs: by its definition, and by its kernel where it has one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest.mock import patch

from hypergraph.geometry.kernels.dispatch import definitions_only
from hypergraph.geometry.kernels.small import SqNorm

WAYS = ("kernel", "definition")


@contextlib.contextmanager
def way(name: str) -> Iterator[None]:
    """Run operators by their kernels, however few the numbers, or by their definitions."""
    with definitions_only() if name == "definition" else patch.object(SqNorm, "least", 0):
        yield

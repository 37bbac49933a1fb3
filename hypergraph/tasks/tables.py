"""The tables that `hypergraph reproduce` knows. Nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Mapping

# The tables that are trained, and the task of each.
TRAINED: Mapping[str, str] = {
    "node-clf": "node-clf",
    "link-pred": "link-pred",
    "activation": "link-pred",
    "curvature": "node-clf",
    "genome": "genome",
    "image": "image",
}
# The tables that are measured: see hypergraph.tasks.measured.
MEASURED = ("hyperbolicity", "efficiency", "heads", "classes")
TABLES = (*TRAINED, *MEASURED)

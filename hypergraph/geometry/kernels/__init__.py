"""Fast versions of definitions in :mod:`hypergraph.geometry`, and the one place that chooses between the
two."""

from hypergraph.geometry.kernels.ball import BallExp0
from hypergraph.geometry.kernels.dispatch import Kernel, definitions_only, eager, with_kernel
from hypergraph.geometry.kernels.origin import FromDistances, Shift
from hypergraph.geometry.kernels.planes import Gram, Horospheres, Products, Tail
from hypergraph.geometry.kernels.radial import Radial
from hypergraph.geometry.kernels.rows import Combine, Dot, Join, SqNorm
from hypergraph.geometry.kernels.sheet import SheetDist, SheetDist0, SheetProject

__all__ = [
    "BallExp0",
    "Combine",
    "Dot",
    "FromDistances",
    "Gram",
    "Horospheres",
    "Join",
    "Kernel",
    "Products",
    "Radial",
    "SheetDist",
    "SheetDist0",
    "SheetProject",
    "Shift",
    "SqNorm",
    "Tail",
    "definitions_only",
    "eager",
    "with_kernel",
]

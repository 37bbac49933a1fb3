"""Every head, linear layer and encoder by the name a person types: help, docs and tests are made from it.

Nothing here imports torch until something is made.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hypergraph.errors import InputError, unknown_name

if TYPE_CHECKING:
    from torch import nn

    from hypergraph.geometry.space import Space


@dataclass(frozen=True)
class Entry:
    """One registered head or linear layer."""

    kind: str  # "head" or "fc"
    name: str  # what a person types
    cls: str  # its class, imported when first made
    space: str  # the model it works on: "poincare", "lorentz" or "euclidean"
    formula: str  # what it computes, in words
    params: str  # the number of parameters, for n features and C classes or m outputs, without the gyro bias
    flops: str  # the paper's count for one point
    reference: str  # where it comes from
    bias: str = ""  # the number of parameters of the gyro bias; empty for a head
    takes: tuple[str, ...] = ()  # the keyword arguments of its own that a configuration may set

    def load(self) -> type[nn.Module]:
        """Import the class."""
        return _load("heads" if self.kind == "head" else "linear", self.cls)


def _load(module: str, cls: str) -> type[nn.Module]:
    return getattr(importlib.import_module(f"hypergraph.nn.{module}"), cls)


def _table(*entries: Entry) -> Mapping[str, Entry]:
    return {entry.name: entry for entry in entries}


_BUSEMANN = "Chen et al. 2026, Hyperbolic Busemann Neural Networks"
_GANEA = "Ganea et al. 2018, Hyperbolic Neural Networks"
_EQ27 = f"{_GANEA}, Eq. 27"
_SHIMIZU = "Shimizu et al. 2021, Hyperbolic Neural Networks++"
_EQ6, _EQ7 = f"{_SHIMIZU}, Eq. 6", f"{_SHIMIZU}, Eq. 7"
_NGUYEN = "Nguyen et al. 2025, pseudo-Busemann MLR, Cor. 4.3"
_BDEIR = "Bdeir et al. 2024, Fully Hyperbolic CNNs, Eq. 12"
_CHAMI = "Chami et al. 2019, Hyperbolic Graph Convolutional Networks"
_HYBONET = "Chen et al. 2022, Fully Hyperbolic Neural Networks, Eq. 3"

_HORO = "signed distance to a horosphere: minus alpha_k times the Busemann function towards v_k, plus b_k"
_NORMAL = "2 alpha_k times the signed distance to the geodesic hyperplane with normal v_k at distance 2 b_k"
_PLACED = "the Riemannian norm of a_k times the signed distance to the geodesic hyperplane through p_k"
_PSEUDO = "minus d(x, p_k) times the Busemann function of (-p_k) + x towards v_k over the norm of (-p_k) + x"
_SHEET = "|z_k| times the signed distance to the geodesic hyperplane with normal z_k at distance b_k"
_TANGENT = "Euclidean MLR on the logarithm at the origin: <a_k, log0(x)> + b_k"
_FLAT = "Euclidean MLR: <a_k, x> + b_k"
_PFC = "the point whose signed distances to the coordinate hyperplanes are the logits of pmlr"
_BFC = "the point whose signed distances to the coordinate hyperplanes are phi of the logits of"
_MOEBIUS = "Moebius matrix product: exp0(W log0(x))"
_LTFC = "linear map in the tangent space at the origin: exp0(W log0(x))"
_LFC = "spatial part of norm lambda sigmoid(<v, x> + b') in the direction of W phi(x) + b"
_LFC_PARAMS = "m(n+1)+m+(n+1)+2"

_MAGNITUDE, _OF_BFC = ("magnitude",), ("phi", "init", "magnitude")
_head, _fc = partial(Entry, "head"), partial(Entry, "fc", bias="m")
HEADS = _table(
    _head("bmlr-p", "BMLR", "poincare", _HORO, "C(n+2)", "C(6n+12)", _BUSEMANN, takes=_MAGNITUDE),
    _head("bmlr-l", "BMLR", "lorentz", _HORO, "C(n+2)", "C(2n+12)", _BUSEMANN, takes=_MAGNITUDE),
    _head("pmlr", "PoincareMLR", "poincare", _NORMAL, "C(n+2)", "C(4n+52)", _EQ6, takes=_MAGNITUDE),
    _head("pmlr-ganea", "GaneaMLR", "poincare", _PLACED, "C(2n)", "C(19n+29)", f"{_GANEA}, Eq. 25"),
    _head("pbmlr-p", "PseudoBusemannMLR", "poincare", _PSEUDO, "C(2n)", "C(19n+34)", _NGUYEN),
    _head("lmlr", "LorentzMLR", "lorentz", _SHEET, "C(n+1)", "C(4n+52)", _BDEIR),
    _head("tangent-p", "TangentMLR", "poincare", _TANGENT, "C(n+1)", "C(2n)", _CHAMI),
    _head("tangent-l", "TangentMLR", "lorentz", _TANGENT, "C(n+1)", "C(2n)", _CHAMI),
    _head("mlr", "TangentMLR", "euclidean", _FLAT, "C(n+1)", "C(2n)", "multinomial logistic regression"),
)
FCS = _table(
    _fc("mobius", "TangentLinear", "poincare", _MOEBIUS, "mn", "2nm+2n+2m+24", _EQ27),
    _fc("poincare-fc", "PoincareFC", "poincare", _PFC, "m(n+2)", "4nm+71m+4", _EQ7, takes=_MAGNITUDE),
    _fc("bfc-p", "BFC", "poincare", f"{_BFC} bmlr-p", "m(n+2)", "6nm+29m+4", _BUSEMANN, takes=_OF_BFC),
    _fc("ltfc", "TangentLinear", "lorentz", _LTFC, "mn", "2nm+2n+2m+24", f"{_EQ27}, on the Lorentz model"),
    # It has a phi of its own, on coordinates. Configurations do not set it: the phi of the presets is BFC's.
    _fc("lorentz-fc", "LorentzFC", "lorentz", _LFC, _LFC_PARAMS, "2nm+8m+2n+10", _HYBONET, bias="m+1"),
    _fc("bfc-l", "BFC", "lorentz", f"{_BFC} bmlr-l", "m(n+2)", "2nm+30m+2", _BUSEMANN, takes=_OF_BFC),
    _fc("linear", "TangentLinear", "euclidean", "W x", "mn", "2nm", "Euclidean linear layer"),
)


@dataclass(frozen=True)
class EncoderEntry:
    """One registered encoder of node features."""

    name: str  # what a person types
    cls: str  # its class, imported when first made
    flat: bool  # a Euclidean baseline; the others take any hyperbolic space and linear layer
    uses_graph: bool  # and its weights; the others see the features alone
    takes: tuple[str, ...] = ()  # the options of a configuration that not every encoder has

    def load(self) -> type[nn.Module]:
        """Import the class."""
        return _load("encoders", self.cls)


ENCODERS: Mapping[str, EncoderEntry] = {
    "hgcn": EncoderEntry("hgcn", "HGCN", flat=False, uses_graph=True, takes=("fc", "norm", "propagate")),
    "hnn": EncoderEntry("hnn", "HNN", flat=False, uses_graph=False, takes=("fc",)),
    "gcn": EncoderEntry("gcn", "GCN", flat=True, uses_graph=True, takes=("propagate",)),
    "mlp": EncoderEntry("mlp", "MLP", flat=True, uses_graph=False),
}

# Functions of one number by their names in PyG's resolver: what may be chosen as an activation.
ACTIVATIONS = (
    *("none", "relu", "leaky_relu", "prelu", "elu", "selu", "celu", "gelu", "silu", "mish", "relu6"),
    *("tanh", "sigmoid", "softplus", "softsign", "hardtanh", "hardswish", "hardsigmoid", "logsigmoid"),
)


SPACES: Mapping[str, str] = {"poincare": "PoincareBall", "lorentz": "Lorentz", "euclidean": "Euclidean"}


def make_space(model: str, K: float = -1.0, learnable: bool = False) -> Space:
    """The space of this name; ``K`` and ``learnable`` mean nothing to ``"euclidean"``.

    Args:
        model: ``"poincare"``, ``"lorentz"`` or ``"euclidean"``.
        K: the curvature, below 0.
        learnable: whether the curvature is trained.
    """
    if model not in SPACES:
        raise unknown_name("space", model, SPACES)
    cls = getattr(importlib.import_module("hypergraph.geometry.space"), SPACES[model])
    return cls() if model == "euclidean" else cls(K=K, learnable=learnable)


def as_space(space: Any) -> Space:
    """A space as it is; a name is that space at K = -1. Anything else is refused when a layer is made."""
    if isinstance(space, str):
        return make_space(space)
    from hypergraph.geometry.space import Space

    if not isinstance(space, Space):
        raise InputError(
            f"A space is needed, such as PoincareBall(K=-1.0) or one of {', '.join(SPACES)}, got {space!r}."
        )
    return space


def make_head(
    name: str, in_channels: int, num_classes: int, space: Space | None = None, **options: Any
) -> nn.Module:
    """The head of this name.

    Args:
        name: a name in :data:`HEADS`.
        in_channels: the dimension n of the space.
        num_classes: the number of classes C.
        space: the space that the points are in; by default the head's own at K = -1.
        **options: keyword arguments of the class.
    """
    entry, space = _fitting(HEADS, "head", name, space)
    return entry.load()(in_channels, num_classes, space, **options)


DEFAULT_FC: Mapping[str, str] = {"poincare": "mobius", "lorentz": "ltfc", "euclidean": "linear"}


def make_fc(
    name: str | None, in_channels: int, out_channels: int, space: Space | None = None, **options: Any
) -> nn.Module:
    """The linear layer of this name.

    Args:
        name: a name in :data:`FCS`; ``None`` for the space's own: ``mobius``, ``ltfc`` or ``linear``.
        in_channels: the dimension n of the space of the points that come in.
        out_channels: the dimension m of the space of the points that go out.
        space: the space of both; by default the layer's own at K = -1.
        **options: keyword arguments of the class, such as ``bias``, ``dropout`` and ``phi``.
    """
    if name is None and space is None:
        raise InputError("A linear layer needs its name or its space; pass one of them.")
    entry, space = _fitting(FCS, "fc", name or DEFAULT_FC[space.model], space)  # type: ignore[union-attr]
    return entry.load()(in_channels, out_channels, space, **options)


def _fitting(table: Mapping[str, Entry], kind: str, name: str, space: Space | None) -> tuple[Entry, Space]:
    if name not in table:
        raise unknown_name(kind, name, table)
    entry = table[name]
    if space is None:
        space = make_space(entry.space)
    elif space.model != entry.space:
        fitting = ", ".join(other.name for other in table.values() if other.space == space.model)
        raise InputError(
            f"The {kind} '{name}' works on the {entry.space} model, not on {space!r}; there use {fitting}."
        )
    return entry, space

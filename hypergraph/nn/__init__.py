"""Heads, layers, convolutions, encoders and decoders; each is imported when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypergraph._lazy import lazy
from hypergraph.nn.registry import FCS, HEADS, make_fc, make_head, make_space

if TYPE_CHECKING:
    from hypergraph.geometry.numerics import clip
    from hypergraph.nn.activation import Activation
    from hypergraph.nn.adjacency import normalized_adjacency
    from hypergraph.nn.conv import HGCNConv
    from hypergraph.nn.decoders import FermiDirac
    from hypergraph.nn.encoders import GCN, HGCN, HNN, MLP
    from hypergraph.nn.genome import GenomeCNN
    from hypergraph.nn.heads import (
        BMLR,
        GaneaMLR,
        LorentzMLR,
        PoincareMLR,
        PseudoBusemannMLR,
        TangentMLR,
    )
    from hypergraph.nn.hetero import HeteroConv
    from hypergraph.nn.linear import BFC, LorentzFC, PoincareFC, TangentLinear
    from hypergraph.nn.vision import ResNet18

_WHERE = {
    "BMLR": "hypergraph.nn.heads",
    "GaneaMLR": "hypergraph.nn.heads",
    "LorentzMLR": "hypergraph.nn.heads",
    "PoincareMLR": "hypergraph.nn.heads",
    "PseudoBusemannMLR": "hypergraph.nn.heads",
    "TangentMLR": "hypergraph.nn.heads",
    "BFC": "hypergraph.nn.linear",
    "GCN": "hypergraph.nn.encoders",
    "HGCN": "hypergraph.nn.encoders",
    "HNN": "hypergraph.nn.encoders",
    "MLP": "hypergraph.nn.encoders",
    "Activation": "hypergraph.nn.activation",
    "FermiDirac": "hypergraph.nn.decoders",
    "HGCNConv": "hypergraph.nn.conv",
    "HeteroConv": "hypergraph.nn.hetero",
    "GenomeCNN": "hypergraph.nn.genome",
    "LorentzFC": "hypergraph.nn.linear",
    "PoincareFC": "hypergraph.nn.linear",
    "ResNet18": "hypergraph.nn.vision",
    "TangentLinear": "hypergraph.nn.linear",
    "clip": "hypergraph.geometry.numerics",
    "normalized_adjacency": "hypergraph.nn.adjacency",
}
__all__ = [
    "BFC",
    "BMLR",
    "FCS",
    "GCN",
    "HEADS",
    "HGCN",
    "HNN",
    "MLP",
    "Activation",
    "FermiDirac",
    "GaneaMLR",
    "GenomeCNN",
    "HGCNConv",
    "HeteroConv",
    "LorentzFC",
    "LorentzMLR",
    "PoincareFC",
    "PoincareMLR",
    "PseudoBusemannMLR",
    "ResNet18",
    "TangentLinear",
    "TangentMLR",
    "clip",
    "make_fc",
    "make_head",
    "make_space",
    "normalized_adjacency",
]
__getattr__ = lazy(__name__, _WHERE)

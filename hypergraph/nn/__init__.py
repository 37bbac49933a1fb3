"""Heads, layers, convolutions, encoders and decoders; each is imported when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypergraph._lazy import lazy

if TYPE_CHECKING:
    from hypergraph.geometry.numerics import clip
    from hypergraph.nn.adjacency import normalized_adjacency
    from hypergraph.nn.conv import HeteroConv, HGCNConv
    from hypergraph.nn.decoders import FermiDirac
    from hypergraph.nn.encoders import GCN, HGCN, HNN, MLP
    from hypergraph.nn.genome import GenomeCNN
    from hypergraph.nn.heads import BMLR, GaneaMLR, LorentzMLR, PoincareMLR, PseudoBusemannMLR, TangentMLR
    from hypergraph.nn.linear import BFC, Activation, LorentzFC, PoincareFC, TangentLinear
    from hypergraph.nn.registry import FCS, HEADS, make_fc, make_head, make_space
    from hypergraph.nn.vision import ResNet18

__all__ = ["FCS", "HEADS", "clip", "make_fc", "make_head", "make_space", "normalized_adjacency"]
__all__ += ["BMLR", "GaneaMLR", "LorentzMLR", "PoincareMLR", "PseudoBusemannMLR", "TangentMLR"]
__all__ += ["BFC", "Activation", "FermiDirac", "LorentzFC", "PoincareFC", "TangentLinear"]
__all__ += ["GCN", "HGCN", "HNN", "MLP", "GenomeCNN", "HGCNConv", "HeteroConv", "ResNet18"]
_FILES = {
    "adjacency": "normalized_adjacency",
    "conv": "HGCNConv HeteroConv",
    "decoders": "FermiDirac",
    "encoders": "GCN HGCN HNN MLP",
    "genome": "GenomeCNN",
    "heads": "BMLR GaneaMLR LorentzMLR PoincareMLR PseudoBusemannMLR TangentMLR",
    "linear": "BFC Activation LorentzFC PoincareFC TangentLinear",
    "registry": "FCS HEADS make_fc make_head make_space",
    "vision": "ResNet18",
}
_WHERE = {name: f"hypergraph.nn.{file}" for file, names in _FILES.items() for name in names.split()}
_WHERE["clip"] = "hypergraph.geometry.numerics"
__getattr__ = lazy(__name__, _WHERE)

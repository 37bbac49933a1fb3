"""A string names a space; anything else that is none is refused when a layer is made."""

from __future__ import annotations

import inspect

import pytest

from hypergraph.errors import InputError
from hypergraph.nn import BFC, BMLR, GCN, HGCN, HNN, MLP, FermiDirac, HGCNConv
from hypergraph.nn.registry import FCS


def test_a_string_names_a_space() -> None:
    assert repr(BMLR(16, 4, "poincare")) == "BMLR(16, 4, PoincareBall(K=-1))"
    assert HGCN(5, 4, 2, "lorentz").space.model == "lorentz"
    assert HGCNConv(5, 4, "poincare").fc.space.model == "poincare"
    assert BFC(5, 4, "lorentz").space.K.item() == FermiDirac("lorentz").space.K.item() == -1.0


def test_anything_else_is_refused_at_once() -> None:
    for wrong in (3, None, BMLR):
        with pytest.raises(InputError, match="A space is needed, such as PoincareBall"):
            BMLR(16, 4, wrong)
    with pytest.raises(InputError, match="Unknown space 'poincar'; did you mean 'poincare'"):
        BFC(16, 4, "poincar")


@pytest.mark.parametrize("cls", [HGCN, HNN, GCN, MLP])
def test_signatures_are_whole(cls: type) -> None:
    names = list(inspect.signature(cls).parameters)
    assert names[:4] == ["in_channels", "hidden_channels", "num_layers", "space"] and "dropout" in names


def test_signatures_of_layers_are_whole() -> None:
    own = {
        "bfc-p": ["magnitude", "phi", "init"],
        "poincare-fc": ["magnitude"],
        "lorentz-fc": ["phi"],
        "mobius": [],
    }
    for name, options in own.items():
        found = list(inspect.signature(FCS[name].load()).parameters)
        assert found == ["in_channels", "out_channels", "space", "bias", "dropout", *options], name
    with pytest.raises(TypeError, match="droput"):
        BFC(16, 4, "poincare", droput=0.1)

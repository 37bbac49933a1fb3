"""A NaN that goes into a head or a layer comes out, in its own row and no other."""

from __future__ import annotations

import math

import pytest
import torch

from hypergraph.nn import FCS, HEADS, make_fc, make_head, make_space


@pytest.mark.parametrize("learnable", [False, True], ids=["fixed K", "learnable K"])
@pytest.mark.parametrize("name", [*HEADS, *FCS])
def test_nan_in_nan_out(name: str, learnable: bool) -> None:
    torch.manual_seed(0)
    table, make = (HEADS, make_head) if name in HEADS else (FCS, make_fc)
    space = make_space(table[name].space, -0.5, learnable)
    module = make(name, 3, 2, space).eval()
    x = space.exp0(torch.randn(4, 3))
    for column in range(x.size(1)):
        damaged = x.detach().clone()
        damaged[1, column] = math.nan
        for shape in ((4, -1), (2, 2, -1)):
            out = module(damaged.reshape(shape)).reshape(4, -1)
            assert out.isnan().any(-1).tolist() == [False, True, False, False], column

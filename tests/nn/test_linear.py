from __future__ import annotations

import pytest
import torch

from hypergraph.nn import LAYERS, make_linear, make_space

COUNTS = {
    "mobius": (464, 480, 8288, 23216),
    "poincare-fc": (528, 544, 8352, 23280),
    "bfc-p": (528, 544, 8352, 23280),
    "ltfc": (464, 480, 8288, 23216),
    "lorentz-fc": (563, 580, 8876, 24737),
    "bfc-l": (528, 544, 8352, 23280),
    "linear": (464, 480, 8288, 23216),
}


@pytest.mark.parametrize("name", LAYERS)
def test_parameter_counts_of_the_two_layer_encoders(name: str) -> None:
    counts = tuple(
        sum(p.numel() for n in (features, 16) for p in make_linear(name, n, 16).parameters())
        for features in (11, 12, 500, 1433)
    )
    assert counts == COUNTS[name]


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("K", [-1.0, -0.5, -2.3])
def test_outputs_are_on_the_manifold(name: str, K: float) -> None:
    torch.manual_seed(0)
    space = make_space(LAYERS[name].space, K).double()
    layer = make_linear(name, 5, 4, space).double()
    y = layer(space.exp0(torch.randn(7, 5, dtype=torch.float64)))
    assert y.shape == (7, space.ambient(4))
    assert bool(space.contains(y).all())

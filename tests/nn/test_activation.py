from __future__ import annotations

import pytest
import torch
from torch import nn

from hypergraph.errors import InputError
from hypergraph.nn import Activation, clip, make_space
from hypergraph.nn.linear import resolve_activation


@pytest.mark.parametrize("model", ["poincare", "lorentz"])
@pytest.mark.parametrize("act", ["relu", "tanh", "elu", "LeakyReLU"])
def test_activation_acts_on_the_logarithm(model: str, act: str) -> None:
    torch.manual_seed(0)
    space, out_space = make_space(model, -0.5).double(), make_space(model, -2.3).double()
    u = torch.randn(5, 4, dtype=torch.float64)
    y = Activation(act, space, out_space)(space.exp0(u))
    torch.testing.assert_close(out_space.log0(y), resolve_activation(act)(u))


def test_no_activation_is_the_identity() -> None:
    space = make_space("lorentz")
    x = space.exp0(torch.randn(3, 2))
    assert Activation(None, space)(x) is x


def test_autocast_keeps_single_precision() -> None:
    space = make_space("poincare")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert Activation("relu", space)(space.exp0(torch.randn(3, 2))).dtype == torch.float32


def test_names() -> None:
    assert isinstance(resolve_activation("tanh"), nn.Tanh)
    module = nn.PReLU()
    assert resolve_activation(module) is module
    with pytest.raises(InputError, match=r"Unknown activation 'rleu'; use the name of one in torch.nn"):
        resolve_activation("rleu")
    assert (
        repr(Activation("relu", make_space("poincare", -0.5))) == "Activation(ReLU(), PoincareBall(K=-0.5))"
    )


def test_clip_bounds_the_norm_and_leaves_short_vectors() -> None:
    u = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    torch.testing.assert_close(clip(u, 1.0), torch.tensor([[0.6, 0.8], [0.3, 0.4]]))

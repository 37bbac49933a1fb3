"""The CNN for DNA against the same network written with plain 1-d convolutions."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hypergraph.nn.genome import GenomeCNN


def by_definition(net: GenomeCNN, x: Tensor) -> Tensor:
    for number, block in enumerate(net.blocks):
        first, first_norm, _, second, second_norm = block.layers
        out = x
        for conv, norm, act in ((first, first_norm, True), (second, second_norm, False)):
            out = F.conv1d(out, conv.weight.squeeze(2), conv.bias, padding=4)
            mean, var = out.mean((0, 2)), out.var((0, 2), unbiased=False)
            out = (out - mean[:, None]) / (var[:, None] + norm.eps).sqrt()
            out = out * norm.weight[:, None] + norm.bias[:, None]
            out = out.relu() if act else out
        x = (out + x if number else out).relu()
    return F.linear(x.transpose(1, 2).flatten(1), net.dense.weight, net.dense.bias).relu()


def letters(batch: int, length: int) -> Tensor:
    return F.one_hot(torch.randint(5, (batch, length)), 5).transpose(1, 2).double()


def test_equals_its_definition() -> None:
    torch.manual_seed(0)
    net = GenomeCNN(11, 7, hidden_channels=6).double()
    for norm in net.modules():
        if isinstance(norm, nn.BatchNorm2d):
            nn.init.uniform_(norm.weight, 0.5, 2)
            nn.init.normal_(norm.bias)
    x = letters(4, 11)
    out = net(x)
    assert out.shape == (4, 7)
    torch.testing.assert_close(out, by_definition(net, x))
    torch.testing.assert_close(net(x.contiguous()), out)


def test_every_parameter_gets_a_gradient() -> None:
    torch.manual_seed(1)
    net = GenomeCNN(13, 5, hidden_channels=4, num_blocks=2).double()
    net(letters(6, 13)).square().sum().backward()
    # A convolution before batch norm has a bias that batch norm takes out again.
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 1e-9 or name.endswith(("layers.0.bias", "layers.3.bias")), name


def test_size_and_repr() -> None:
    net = GenomeCNN(70)
    assert str(net) == "GenomeCNN(70, 528)"
    convolutions = 5 * 9 * 32 + 32 + 5 * (32 * 32 * 9 + 32) + 6 * 64
    assert sum(p.numel() for p in net.parameters()) == convolutions + 70 * 32 * 528 + 528


def test_errors_name_the_remedy() -> None:
    with pytest.raises(ValueError, match="must be odd"):
        GenomeCNN(10, kernel_size=8)
    with pytest.raises(ValueError, match=r"expected letters of shape \(batch, 5, 10\), got \(2, 10, 5\)"):
        GenomeCNN(10)(torch.zeros(2, 10, 5))

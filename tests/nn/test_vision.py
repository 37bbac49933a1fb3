"""ResNet-18: its size, its shapes, its gradients."""

from __future__ import annotations

import pytest
import torch

from hypergraph.nn.vision import ResNet18


@pytest.mark.parametrize(("stem", "first"), [("small", 3 * 64 * 9), ("imagenet", 3 * 64 * 49)])
def test_parameters_are_those_of_the_published_network(stem: str, first: int) -> None:
    # torchvision's resnet18 has 11,689,512 parameters, 513,000 of them in its classifier.
    expected = 11_689_512 - 513_000 - 3 * 64 * 49 + first
    net = ResNet18(stem)
    assert sum(p.numel() for p in net.parameters()) == expected
    assert str(net) == "ResNet18(3, 512)"


@pytest.mark.parametrize(("stem", "size", "places"), [("small", 32, 4), ("small", 8, 1), ("imagenet", 64, 2)])
def test_shapes(stem: str, size: int, places: int) -> None:
    net = ResNet18(stem, in_channels=1, width=4)
    x = torch.randn(2, 1, size, size)
    assert net.blocks(net.stem(x)).shape == (2, 32, places, places)
    assert net(x).shape == (2, net.out_channels) == (2, 32)


def test_channels_last_and_autocast_agree_with_the_plain_network() -> None:
    torch.manual_seed(0)
    net = ResNet18(width=8).eval()
    x = torch.rand(4, 3, 32, 32)
    plain = net(x)
    fast = net.to(memory_format=torch.channels_last)
    torch.testing.assert_close(fast(x.to(memory_format=torch.channels_last)), plain, rtol=1e-4, atol=1e-4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = fast(x)
    torch.testing.assert_close(half.float(), plain, rtol=0.1, atol=0.1)


def test_every_parameter_gets_a_gradient() -> None:
    torch.manual_seed(0)
    net = ResNet18(width=4)
    net(torch.randn(4, 3, 32, 32)).square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def test_unknown_stem() -> None:
    with pytest.raises(ValueError, match="stem must be one of small, imagenet, got 'big'"):
        ResNet18("big")

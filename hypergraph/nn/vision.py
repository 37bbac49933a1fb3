"""ResNet-18 up to its features, for small images and for ImageNet's."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn


def _conv(in_channels: int, out_channels: int, size: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_channels, out_channels, size, stride, padding=size // 2, bias=False)


class _Block(nn.Module):
    """Two 3x3 convolutions and a skip, which a 1x1 convolution fits where the shape changes."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        stride = channels // in_channels  # half the resolution where there are twice the channels
        self.conv1 = _conv(in_channels, channels, 3, stride)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = _conv(channels, channels, 3)
        self.norm2 = nn.BatchNorm2d(channels)
        self.skip: nn.Module = nn.Identity()
        if stride > 1:
            self.skip = nn.Sequential(_conv(in_channels, channels, 1, stride), nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        out = self.norm1(self.conv1(x)).relu_()
        return self.norm2(self.conv2(out)).add_(self.skip(x)).relu_()


class ResNet18(nn.Module):
    r"""ResNet-18 of `"Deep Residual Learning" <https://arxiv.org/abs/1512.03385>`_ without its classifier.

    Args:
        stem: ``"small"`` for images of 32 or 64 pixels (a 3x3 convolution), or ``"imagenet"`` (7x7 with
            stride 2, then max-pooling).
        in_channels: Channels of an image.
        width: Channels of the first stage; each of the other three has twice those of the one before.

    Shapes:
        - **input:** ``(batch, in_channels, height, width)``
        - **output:** ``(batch, out_channels)`` with ``out_channels = 8 * width``, means over all places

    >>> ResNet18(width=8)(torch.rand(2, 3, 32, 32)).shape
    torch.Size([2, 64])
    """

    STEMS = ("small", "imagenet")

    def __init__(self, stem: str = "small", *, in_channels: int = 3, width: int = 64) -> None:
        super().__init__()
        if stem not in self.STEMS:
            raise ValueError(f"stem must be one of {', '.join(self.STEMS)}, got '{stem}'")
        self.in_channels, self.out_channels = in_channels, 8 * width
        first = _conv(in_channels, width, 3) if stem == "small" else _conv(in_channels, width, 7, stride=2)
        self.stem = nn.Sequential(first, nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        if stem == "imagenet":
            self.stem.append(nn.MaxPool2d(3, stride=2, padding=1))
        widths = [width] + [width << stage for stage in (0, 0, 1, 1, 2, 2, 3, 3)]
        self.blocks = nn.Sequential(*(_Block(n, m) for n, m in pairwise(widths)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.BatchNorm2d):
                module.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks(self.stem(x)).mean((2, 3))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"

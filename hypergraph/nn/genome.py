"""The convolutional network of the genome experiments: DNA letters in, plain features out."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn


class _Block(nn.Module):
    """Two convolutions of equal length with batch norm; the skip needs as many channels in as out."""

    def __init__(self, in_channels: int, channels: int, kernel_size: int) -> None:
        super().__init__()
        self.skip = in_channels == channels
        # A sequence is an image of height 1: oneDNN's channels-last 2-d convolution is near the peak of the
        # processor, and its 1-d convolution is not (prom_core_tata on one core: 1.4 ms against 7.4 ms).
        width, padding = (1, kernel_size), (0, kernel_size // 2)
        self.layers = nn.Sequential(
            nn.Conv2d(in_channels, channels, width, padding=padding),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, width, padding=padding),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        out = self.layers(x)
        return (out + x if self.skip else out).relu_()


class GenomeCNN(nn.Module):
    r"""The CNN of `"Hyperbolic Genome Embeddings" <https://arxiv.org/abs/2507.21648>`_, up to its features.

    Residual blocks of two convolutions each, without pooling, then one dense layer on all positions. The
    first block has no skip, because its input are the letters.

    Args:
        length: The number of letters of a sequence.
        out_channels: The number of features.
        in_channels: The number of letters in the alphabet.
        hidden_channels: The number of channels of every convolution.
        num_blocks: The number of residual blocks.
        kernel_size: The width of a convolution; odd.

    Shapes:
        - **input:** ``(batch, in_channels, length)``, one-hot letters
        - **output:** ``(batch, out_channels)``

    >>> GenomeCNN(length=20, out_channels=8)(torch.rand(2, 5, 20)).shape
    torch.Size([2, 8])
    """

    def __init__(
        self,
        length: int,
        out_channels: int = 528,
        *,
        in_channels: int = 5,
        hidden_channels: int = 32,
        num_blocks: int = 3,
        kernel_size: int = 9,
    ) -> None:
        super().__init__()
        if kernel_size % 2 == 0:
            raise ValueError(f"kernel_size must be odd so that the length is kept, got {kernel_size}")
        self.in_channels, self.length, self.out_channels = in_channels, length, out_channels
        widths = [in_channels] + [hidden_channels] * num_blocks
        self.blocks = nn.Sequential(*(_Block(i, o, kernel_size) for i, o in pairwise(widths)))
        self.dense = nn.Linear(length * hidden_channels, out_channels)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 3 or x.shape[1:] != (self.in_channels, self.length):
            raise ValueError(
                f"expected letters of shape (batch, {self.in_channels}, {self.length}), got {tuple(x.shape)}"
            )
        # Letters last in memory throughout: a transposed one-hot tensor arrives like this without a copy,
        # and the dense layer reads position by position.
        x = x.transpose(1, 2).contiguous().transpose(1, 2).unsqueeze(2)
        x = self.blocks(x)
        return self.dense(x.permute(0, 2, 3, 1).flatten(1)).relu()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.length}, {self.out_channels})"

"""The yardstick of graph.py: HGCN computed the way the published code is described to compute it.

Dense features, a Möbius matrix product with its own logarithm and exponential, a projection after every map,
three pairs of logarithm and exponential a layer, an adjacency in COO under ``torch.sparse.mm``. Written from
the paper and from descriptions of the code; K = -c, and c is a tensor of one number, as there. The published
code projects to a radius of 1 - 4e-3 in float32; here the margin can be set, so that losses can be compared.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

TINY = 1e-15


class _Artanh(torch.autograd.Function):
    """Forward in double precision, its derivative in that of x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.clamp(-1 + TINY, 1 - TINY)
        ctx.save_for_backward(x)
        z = x.double()
        return torch.log(1 + z).sub_(torch.log(1 - z)).mul_(0.5).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grads[0] / (1 - x * x)


artanh = _Artanh.apply


def norm(x: Tensor) -> Tensor:
    """The norm of every row, kept off 0."""
    return x.norm(dim=-1, keepdim=True).clamp_min(TINY)


class Ball(nn.Module):
    """The operators of the ball of curvature -c; points are kept this far inside the boundary."""

    c: Tensor

    def __init__(self, c: float, margin: float) -> None:
        super().__init__()
        self.register_buffer("c", torch.tensor([c]))
        self.margin = margin

    def proj(self, x: Tensor) -> Tensor:
        length, most = norm(x), (1 - self.margin) / self.c**0.5
        return torch.where(length > most, x / length * most, x)

    def expmap0(self, u: Tensor) -> Tensor:
        length = norm(u)
        return torch.tanh((self.c**0.5 * length).clamp(-15, 15)) * u / (self.c**0.5 * length)

    def logmap0(self, x: Tensor) -> Tensor:
        length = norm(x)
        return artanh(self.c**0.5 * length) / (self.c**0.5 * length) * x

    def matvec(self, m: Tensor, x: Tensor) -> Tensor:
        length, mx = norm(x), x @ m.T
        mx_length = norm(mx)
        angle = mx_length / length * artanh(self.c**0.5 * length)
        result = torch.tanh(angle.clamp(-15, 15)) * mx / (mx_length * self.c**0.5)
        return torch.where((mx == 0).all(-1, keepdim=True), torch.zeros(1, dtype=mx.dtype), result)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        x2 = x.pow(2).sum(-1, keepdim=True)
        y2 = y.pow(2).sum(-1, keepdim=True)
        xy = (x * y).sum(-1, keepdim=True)
        numerator = (1 + 2 * self.c * xy + self.c * y2) * x + (1 - self.c * x2) * y
        return numerator / (1 + 2 * self.c * xy + self.c**2 * x2 * y2).clamp_min(TINY)


class OfficialStyleHGCN(nn.Module):
    """Two or more graph convolutions on the ball.

    Args:
        widths: the number of features, then the dimension after every layer.
        c: minus the curvature.
        margin: how far inside the boundary points are kept.
    """

    def __init__(self, widths: list[int], c: float = 1.0, margin: float = 4e-3) -> None:
        super().__init__()
        self.ball = Ball(c, margin)
        self.weights = nn.ParameterList(torch.empty(m, n) for n, m in pairwise(widths))
        self.biases = nn.ParameterList(torch.zeros(m) for m in widths[1:])
        for weight in self.weights:
            nn.init.xavier_uniform_(weight, gain=math.sqrt(2))

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        ball = self.ball
        x = ball.proj(ball.expmap0(x))
        for weight, bias in zip(self.weights, self.biases):
            x = ball.proj(ball.matvec(weight, x))
            x = ball.proj(ball.add(x, ball.proj(ball.expmap0(bias.unsqueeze(0)))))
            x = ball.proj(ball.expmap0(torch.sparse.mm(adjacency, ball.logmap0(x))))
            x = ball.proj(ball.expmap0(F.relu(ball.logmap0(x))))
        return x


class OfficialStyleBMLR(nn.Module):
    """The head ``bmlr-p`` as the paper writes it, in plain operations; with the weights of ours."""

    def __init__(self, head: nn.Module, ball: Ball) -> None:
        super().__init__()
        self.weight, self.raw_alpha, self.b = (
            nn.Parameter(p.detach().clone()) for p in (head.weight, head.raw_alpha, head.b)
        )
        self.ball = ball

    def forward(self, x: Tensor) -> Tensor:
        c, v = self.ball.c, F.normalize(self.weight, dim=-1)
        x2 = x.pow(2).sum(-1, keepdim=True)
        gap = (1 - 2 * c**0.5 * (x @ v.T) + c * x2).clamp_min(TINY)
        busemann = torch.log(gap / (1 - c * x2).clamp_min(TINY)) / c**0.5
        return -F.softplus(self.raw_alpha) * busemann + self.b

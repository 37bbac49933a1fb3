"""The heads and layers of the paper, one point and one class at a time, straight from its formulas.

Everything is float64; nothing of the package is used. ``K`` is a float, points and weights are tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

Logit = Callable[..., Tensor]


def lorentz_inner(x: Tensor, y: Tensor) -> Tensor:
    return x[1:] @ y[1:] - x[0] * y[0]


def moebius_add(x: Tensor, y: Tensor, K: float) -> Tensor:
    xy, x2, y2 = x @ y, x @ x, y @ y
    return ((1 - 2 * K * xy - K * y2) * x + (1 + K * x2) * y) / (1 - 2 * K * xy + K * K * x2 * y2)


def exp0(u: Tensor, K: float, model: str) -> Tensor:
    s, r = math.sqrt(-K), u.norm()
    direction = u / r if r > 0 else u
    if model == "poincare":
        return torch.tanh(s * r) / s * direction
    return torch.cat([torch.cosh(s * r)[None] / s, torch.sinh(s * r) / s * direction])


def log0(x: Tensor, K: float, model: str) -> Tensor:
    s = math.sqrt(-K)
    if model == "poincare":
        return torch.atanh(s * x.norm()) / s * x / x.norm()
    return torch.acosh(s * x[0]) / s * x[1:] / x[1:].norm()


def gyro_add(x: Tensor, y: Tensor, K: float, model: str) -> Tensor:
    if model == "poincare":
        return moebius_add(x, y, K)
    s = math.sqrt(-K)
    a, b = 1 + s * x[0], 1 + s * y[0]
    nx, ny, sxy = x[1:] @ x[1:], y[1:] @ y[1:], x[1:] @ y[1:]
    D = a**2 * b**2 - 2 * K * a * b * sxy + K**2 * nx * ny
    N = a**2 * ny + 2 * a * b * sxy + b**2 * nx
    A_s = a * b**2 - 2 * K * b * sxy - K * a * ny
    A_y = b * (a**2 + K * nx)
    return torch.cat([((D - K * N) / (D + K * N) / s)[None], 2 * (A_s * x[1:] + A_y * y[1:]) / (D + K * N)])


def busemann(x: Tensor, v: Tensor, K: float, model: str) -> Tensor:
    s = math.sqrt(-K)
    if model == "poincare":
        return torch.log((v - s * x).square().sum() / (1 + K * (x @ x))) / s
    return torch.log(s * (x[0] - x[1:] @ v)) / s


def bmlr(x: Tensor, v: Tensor, alpha: Tensor, b: Tensor, K: float, model: str) -> Tensor:
    return -alpha * busemann(x, v, K, model) + b


def pmlr(x: Tensor, v: Tensor, alpha: Tensor, b: Tensor, K: float) -> Tensor:
    s = math.sqrt(-K)
    lam = 2 / (1 + K * (x @ x))
    first = lam * s * (x @ v) * torch.cosh(2 * s * b)
    second = (lam - 1) * torch.sinh(2 * s * b)
    return 2 / s * alpha * torch.asinh(first - second)


def pmlr_ganea(x: Tensor, p: Tensor, a: Tensor, K: float) -> Tensor:
    s = math.sqrt(-K)
    w = moebius_add(-p, x, K)
    lam = 2 / (1 + K * (p @ p))
    argument = 2 * s * (w @ a) / ((1 + K * (w @ w)) * a.norm())
    return lam * a.norm() / s * torch.asinh(argument)


def pbmlr(x: Tensor, p: Tensor, v: Tensor, K: float) -> Tensor:
    s = math.sqrt(-K)
    w = moebius_add(-p, x, K)
    distance = 2 / s * torch.atanh(s * w.norm())
    return -distance * busemann(w, v, K, "poincare") / w.norm()


def lmlr(x: Tensor, z: Tensor, b: Tensor, K: float) -> Tensor:
    """With the hyperplane's normal w: the paper's table prints alpha without |z| x_t beside sinh."""
    s = math.sqrt(-K)
    w = torch.cat([(torch.sinh(s * b) * z.norm())[None], torch.cosh(s * b) * z])
    alpha = lorentz_inner(w, x)
    beta = torch.sqrt((torch.cosh(s * b) * z).square().sum() - (torch.sinh(s * b) * z.norm()) ** 2)
    return torch.sign(alpha) * beta * torch.asinh(s * alpha / beta).abs() / s


def from_responses(u: Tensor, K: float, model: str) -> Tensor:
    s = math.sqrt(-K)
    omega = torch.sinh(s * u) / s
    if model == "poincare":
        return omega / (1 + torch.sqrt(1 - K * (omega @ omega)))
    return torch.cat([torch.sqrt(-1 / K + omega @ omega)[None], omega])


def moebius(x: Tensor, W: Tensor, K: float) -> Tensor:
    s, Wx = math.sqrt(-K), W @ x
    return torch.tanh(Wx.norm() / x.norm() * torch.atanh(s * x.norm())) / s * Wx / Wx.norm()


def ltfc(x: Tensor, W: Tensor, K: float) -> Tensor:
    return exp0(W @ log0(x, K, "lorentz"), K, "lorentz")


def lorentz_fc(
    x: Tensor, W: Tensor, b: Tensor, v: Tensor, b_prime: Tensor, lam: Tensor, K: float, phi: Logit
) -> Tensor:
    direction = W @ phi(x) + b
    psi = lam * torch.sigmoid(v @ x + b_prime) * direction / direction.norm()
    return torch.cat([torch.sqrt(psi @ psi - 1 / K)[None], psi])

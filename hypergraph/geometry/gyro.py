r"""Möbius addition and gyration in ball coordinates, shared by the two models.

A point comes with its gap :math:`g_x = 1 - s^2\lVert x\rVert^2`, because only the caller knows how to get
that without cancellation: on the Lorentz model it is :math:`2/(1 + s x_t)`. With :math:`w = x + y` and
:math:`W = s^2\lVert w\rVert^2` every scalar is a sum of positive terms, and near opposite points lose no
digits:

.. math::
    1 + 2s^2\langle x, y\rangle + s^4\lVert x\rVert^2\lVert y\rVert^2 = g_x g_y + W, \qquad
    x \oplus y = \frac{g_x w + W x}{g_x g_y + W}, \qquad
    1 - s^2\lVert x \oplus y\rVert^2 = \frac{g_x g_y}{g_x g_y + W}.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hypergraph.geometry.numerics import Scalar, dot, finite, sq_norm


def chord(x: Tensor, y: Tensor, K: Scalar) -> tuple[Tensor, Tensor]:
    r""":math:`w = x + y` and :math:`W = s^2\lVert w\rVert^2`, which is below 4 in the ball."""
    w = x + y
    return w, (-K * sq_norm(w)).clamp_max(4)


def rotate(x: Tensor, gap_x: Tensor, y: Tensor, gap_y: Tensor, z: Tensor, K: Scalar) -> Tensor:
    r""":math:`\mathrm{gyr}[x, y] z`: a rotation in the plane of x and y.

    With the bivector :math:`B = s^2 x \wedge y = s^2 x \wedge w` and
    :math:`\alpha = 1 + s^2\langle x, y\rangle` it is :math:`z + 2(\alpha B z + B^2 z)/(g_x g_y + W)`.
    """
    w, ww = chord(x, y, K)
    # s^2 times <x, x>, <x, w>, and 1 + <x, y>, from the gaps
    xx, xw, alpha = 1 - gap_x, (gap_y - gap_x + ww) / 2, (gap_x + gap_y + ww) / 2
    factor = -2 * K / (gap_x * gap_y + ww)
    # bounded, so that no finite z overflows
    xz, wz = ((factor * finite(dot(p, z))).clamp(-1e30, 1e30) for p in (x, w))
    on_x = (alpha + xw) * wz - ww * xz
    on_w = (alpha - xw) * xz + xx * wz
    return torch.addcmul(torch.addcmul(z, on_x, x), on_w, w, value=-1)

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

from typing import NamedTuple

from torch import Tensor

from hypergraph.geometry.rows import Scalar, dot, sq_norm


class Point(NamedTuple):
    """A point in ball coordinates, and its gap."""

    vector: Tensor
    gap: Tensor

    def __neg__(self) -> Point:
        return Point(-self.vector, self.gap)


def chord(x: Point, y: Point, K: Scalar) -> tuple[Tensor, Tensor]:
    r""":math:`w = x + y` and :math:`W = s^2\lVert w\rVert^2`, which is below 4 in the ball."""
    w = x.vector + y.vector
    return w, -K * sq_norm(w)


def rotate(x: Point, y: Point, z: Tensor, K: Scalar) -> Tensor:
    r"""The gyration :math:`\mathrm{gyr}[x, y] z = z + ax - bw`, a rotation in the plane of x and y.

    With the bivector :math:`B = s^2 x \wedge y = s^2 x \wedge w` and
    :math:`\alpha = 1 + s^2\langle x, y\rangle` it is :math:`z + 2(\alpha B z + B^2 z)/(g_x g_y + W)`.
    """
    w, ww = chord(x, y, K)
    factor = -2 * K / (x.gap * y.gap + ww)
    xz, wz = factor * dot(x.vector, z), factor * dot(w, z)
    # alpha and s^2 <x, w> are (g_x + g_y + W) / 2 and (g_y - g_x + W) / 2
    on_x, on_w = (y.gap + ww) * wz - ww * xz, x.gap * xz + (1 - x.gap) * wz
    return z + on_x * x.vector - on_w * w

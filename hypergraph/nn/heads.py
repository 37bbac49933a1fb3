"""Classification heads (multinomial logistic regression): points in, logits out.

Each logit is a signed distance, scaled: to a horosphere (:class:`BMLR`), or to a geodesic hyperplane. The
formulas are in :mod:`hypergraph.geometry.planes`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hypergraph.geometry import euclidean
from hypergraph.geometry.space import Space
from hypergraph.nn.registry import as_space
from hypergraph.nn.shared import Directed, ShowsArguments, check_channels, check_points


class _Head(ShowsArguments):
    """What the heads share: the three arguments, the check on entry, the weight."""

    def __init__(self, in_channels: int, num_classes: int, space: Space) -> None:
        super().__init__()
        check_channels(in_channels=in_channels, num_classes=num_classes)
        self.in_channels, self.num_classes, self.space = in_channels, num_classes, as_space(space)
        self.weight = nn.Parameter(torch.empty(num_classes, in_channels))
        self.add_parameters()
        self.reset_parameters()

    def add_parameters(self) -> None:
        """Those beside the weight."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Initialise anew."""
        raise NotImplementedError

    def checked(self, x: Tensor) -> Tensor:
        """x, where these are points of the space."""
        return check_points(x, self.space, self.in_channels, self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.num_classes}, {self.space})"


class _Scaled(Directed, _Head):
    """What BMLR and PoincareMLR share."""

    def reset_parameters(self) -> None:
        """Directions and magnitudes of normal vectors of variance 1/n, zero offsets, as HNN++ does."""
        self.reset_directions(self.in_channels**-0.5)


class BMLR(_Scaled):
    r"""Busemann multinomial logistic regression, on the ball, the Lorentz model and flat space.

    .. math::
        u_k(x) = -\alpha_k B^{v_k}(x) + b_k

    which is :math:`\alpha_k` times the signed distance to the horosphere :math:`\{B^{v_k} = b_k/\alpha_k\}`.

    Args:
        in_channels: the dimension n of the space.
        num_classes: the number of classes C.
        space: the space of the points.
        magnitude: ``"free"``, as published: :math:`\alpha_k` is a parameter of its own, and of a row of the
            weight only the direction counts, so that weight decay does not restrain the function; or
            ``"row"``: :math:`\alpha_k` is the norm of the row, as of a Euclidean head.

    Shapes:
        - **input:** points ``(..., space.ambient(n))``
        - **output:** logits ``(..., C)``

    >>> ball = PoincareBall(K=-1.0)
    >>> BMLR(16, 7, ball)(ball.lift(torch.randn(4, 16))).shape
    torch.Size([4, 7])
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.space.horospheres(self.checked(x), self.weight, -self.alpha, self.b)


class PoincareMLR(_Scaled):
    r"""The Poincaré MLR of `Hyperbolic Neural Networks++ <https://arxiv.org/abs/2006.08210>`_.

    .. math::
        u_k(x) = \frac{2\alpha_k}{\sqrt{-K}} \sinh^{-1}\bigl(\lambda_x\sqrt{-K}\langle x, v_k\rangle
        \cosh(2\sqrt{-K}b_k) - (\lambda_x - 1)\sinh(2\sqrt{-K}b_k)\bigr)

    Arguments and shapes are those of :class:`BMLR`.

    >>> ball = PoincareBall(K=-1.0)
    >>> PoincareMLR(16, 7, ball)(ball.lift(torch.randn(4, 16))).shape
    torch.Size([4, 7])
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.space.hyperplanes(self.checked(x), self.weight, 2 * self.b, 2 * self.alpha)


class _Offset(_Head):
    """Offsets b_k beside the weight: what LorentzMLR and TangentMLR share."""

    def add_parameters(self) -> None:
        self.b = nn.Parameter(torch.empty(self.num_classes))

    def reset_parameters(self) -> None:
        """Uniform in 1/sqrt(n), as ``nn.Linear`` and the source of LorentzMLR do."""
        bound = self.in_channels**-0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.b, -bound, bound)


class LorentzMLR(_Offset):
    r"""The Lorentz MLR of `Fully Hyperbolic Convolutional Neural Networks <https://arxiv.org/abs/2303.15919>`_.

    .. math::
        u_k(x) = \frac{\lVert z_k\rVert}{\sqrt{-K}} \sinh^{-1}\bigl(\sqrt{-K}(\cosh(\sqrt{-K}b_k)
        \langle \hat z_k, x_s\rangle - \sinh(\sqrt{-K}b_k)\, x_t)\bigr), \quad \hat z_k = z_k/\lVert z_k\rVert

    The published :math:`\beta` is :math:`\lVert z_k\rVert`, since :math:`\cosh^2 - \sinh^2 = 1`. The
    published :math:`\alpha` prints :math:`\sinh` without its factor :math:`\lVert z_k\rVert x_t`; with it,
    as here, the logit is the signed distance to the published hyperplane.

    Arguments and shapes are those of :class:`BMLR`, without ``magnitude``.

    >>> sheet = Lorentz(K=-1.0)
    >>> LorentzMLR(16, 7, sheet)(sheet.lift(torch.randn(4, 16))).shape
    torch.Size([4, 7])
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.space.hyperplanes(self.checked(x), self.weight, self.b)


class _Placed(_Head):
    """A point p_k, as exp0 of a free vector, for each class: what GaneaMLR and PseudoBusemannMLR share."""

    def add_parameters(self) -> None:
        self.point = nn.Parameter(torch.empty_like(self.weight))

    def reset_parameters(self) -> None:
        """Xavier normals, and every point at the origin, as HNN does."""
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.point)


class GaneaMLR(_Placed):
    r"""The Poincaré MLR of `Hyperbolic Neural Networks <https://arxiv.org/abs/1805.09112>`_, with a point
    :math:`p_k` for each class.

    .. math::
        u_k(x) = \frac{\lambda_{p_k}\lVert a_k\rVert}{\sqrt{-K}} \sinh^{-1}\frac{2\sqrt{-K}
        \langle -p_k\oplus x, a_k\rangle}{(1 + K\lVert -p_k\oplus x\rVert^2)\lVert a_k\rVert}

    Arguments and shapes are those of :class:`BMLR`, without ``magnitude``.

    >>> ball = PoincareBall(K=-1.0)
    >>> GaneaMLR(16, 7, ball)(ball.lift(torch.randn(4, 16))).shape
    torch.Size([4, 7])
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.space.hyperplanes_through(self.checked(x), self.point, self.weight)


class PseudoBusemannMLR(_Placed):
    r"""The pseudo-Busemann MLR of Nguyen et al. (2025), with a point :math:`p_k` for each class.

    .. math::
        u_k(x) = -d(x, p_k) \frac{B^{v_k}(-p_k\oplus x)}{\lVert -p_k\oplus x\rVert}

    The leading minus is in their code, not in their text.

    Arguments and shapes are those of :class:`BMLR`, without ``magnitude``.

    >>> ball = PoincareBall(K=-1.0)
    >>> PseudoBusemannMLR(16, 7, ball)(ball.lift(torch.randn(4, 16))).shape
    torch.Size([4, 7])
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.space.pseudo_busemann(self.checked(x), self.point, self.weight)


class TangentMLR(_Offset):
    r"""Euclidean MLR on the logarithm at the origin.

    .. math::
        u_k(x) = \langle a_k, \mathrm{Log}_0(x)\rangle + b_k

    The head of `HGCN <https://arxiv.org/abs/1910.12933>`_; in flat space, the usual one.

    Arguments and shapes are those of :class:`BMLR`, without ``magnitude``.

    >>> sheet = Lorentz(K=-1.0)
    >>> TangentMLR(16, 7, sheet)(sheet.lift(torch.randn(4, 16))).shape
    torch.Size([4, 7])
    """

    def forward(self, x: Tensor) -> Tensor:
        return euclidean.shift0(self.space.log0(self.checked(x)), self.b, self.weight)

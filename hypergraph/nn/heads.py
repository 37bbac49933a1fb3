"""Classification heads (multinomial logistic regression): points in, logits out.

Each logit is a signed distance, scaled: to a horosphere (:class:`BMLR`), or to a geodesic hyperplane. On the
hyperboloid every hyperplane is a linear equation, so each head is one or two matrix products and a few passes
over batch x classes; no tensor of batch x classes x coordinates exists.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hypergraph.geometry.fused import gram, nonzero, pair_products, products, tail
from hypergraph.geometry.lorentz import busemann_floor
from hypergraph.geometry.numerics import at_least, distance_limit, safe_sqrt, shrink, sinhc
from hypergraph.geometry.rows import sq_norm
from hypergraph.geometry.space import Space
from hypergraph.nn.functional import (
    check_points,
    horosphere_distances,
    hyperplane_distances,
    product,
    softplus_inverse,
    unit,
)


class _Head(nn.Module):
    """What the heads share: the three arguments, the check on entry, the weight."""

    def __init__(self, in_channels: int, num_classes: int, space: Space) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.num_classes = num_classes
        self.space = space
        self.weight = nn.Parameter(torch.empty(num_classes, in_channels))

    def forward(self, x: Tensor) -> Tensor:
        return self.logits(check_points(x, self.space, self.in_channels, self))

    def logits(self, x: Tensor) -> Tensor:
        """The logits of points that were checked."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.num_classes}, {self.space})"


class _Scaled(_Head):
    """Unit directions v_k, magnitudes alpha_k > 0 and offsets b_k: what BMLR and PoincareMLR share."""

    def __init__(self, in_channels: int, num_classes: int, space: Space) -> None:
        super().__init__(in_channels, num_classes, space)
        self.raw_alpha = nn.Parameter(torch.empty(num_classes))
        self.b = nn.Parameter(torch.empty(num_classes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Directions and magnitudes of normal vectors of variance 1/n, zero offsets, as HNN++ does."""
        nn.init.normal_(self.weight, std=self.in_channels**-0.5)
        with torch.no_grad():
            self.raw_alpha.copy_(softplus_inverse(self.weight.norm(dim=-1)))
        nn.init.zeros_(self.b)

    @property
    def alpha(self) -> Tensor:
        """The magnitudes, positive."""
        return F.softplus(self.raw_alpha)

    @property
    def v(self) -> Tensor:
        """The unit directions."""
        return unit(self.weight)


class BMLR(_Scaled):
    r"""Busemann multinomial logistic regression, on the ball, the Lorentz model and flat space.

    .. math::
        u_k(x) = -\alpha_k B^{v_k}(x) + b_k

    which is :math:`\alpha_k` times the signed distance to the horosphere :math:`\{B^{v_k} = b_k/\alpha_k\}`.

    Args:
        in_channels: the dimension n of the space.
        num_classes: the number of classes C.
        space: the space of the points.

    Shapes:
        - **input:** points ``(..., space.ambient(n))``
        - **output:** logits ``(..., C)``
    """

    def logits(self, x: Tensor) -> Tensor:
        return horosphere_distances(x, self.weight, self.b, self.alpha, self.space)


class PoincareMLR(_Scaled):
    r"""The Poincaré MLR of `Hyperbolic Neural Networks++ <https://arxiv.org/abs/2006.08210>`_.

    .. math::
        u_k(x) = \frac{2\alpha_k}{\sqrt{-K}} \sinh^{-1}\bigl(\lambda_x\sqrt{-K}\langle x, v_k\rangle
        \cosh(2\sqrt{-K}b_k) - (\lambda_x - 1)\sinh(2\sqrt{-K}b_k)\bigr)

    Args:
        in_channels: the dimension n of the space.
        num_classes: the number of classes C.
        space: the space of the points.

    Shapes:
        - **input:** points ``(..., n)``
        - **output:** logits ``(..., C)``
    """

    def logits(self, x: Tensor) -> Tensor:
        return hyperplane_distances(x, self.weight, 2 * self.b, 2 * self.alpha, self.space)


class LorentzMLR(_Head):
    r"""The Lorentz MLR of `Fully Hyperbolic Convolutional Neural Networks <https://arxiv.org/abs/2303.15919>`_.

    .. math::
        u_k(x) = \frac{\lVert z_k\rVert}{\sqrt{-K}} \sinh^{-1}\bigl(\sqrt{-K}(\cosh(\sqrt{-K}b_k)
        \langle \hat z_k, x_s\rangle - \sinh(\sqrt{-K}b_k)\, x_t)\bigr), \quad \hat z_k = z_k/\lVert z_k\rVert

    The published :math:`\beta` is :math:`\lVert z_k\rVert`, since :math:`\cosh^2 - \sinh^2 = 1`. The
    published :math:`\alpha` prints :math:`\sinh` without its factor :math:`\lVert z_k\rVert x_t`; with it,
    as here, the logit is the signed distance to the published hyperplane.

    Args:
        in_channels: the dimension n of the space.
        num_classes: the number of classes C.
        space: the space of the points.

    Shapes:
        - **input:** points ``(..., n + 1)``
        - **output:** logits ``(..., C)``
    """

    def __init__(self, in_channels: int, num_classes: int, space: Space) -> None:
        super().__init__(in_channels, num_classes, space)
        self.b = nn.Parameter(torch.empty(num_classes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in 1/sqrt(n), as its source does."""
        bound = self.in_channels**-0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.b, -bound, bound)

    def logits(self, x: Tensor) -> Tensor:
        return hyperplane_distances(x, self.weight, self.b, None, self.space)


class _Placed(_Head):
    """A point p_k, as exp0 of a free vector, for each class: what GaneaMLR and PseudoBusemannMLR share."""

    def __init__(self, in_channels: int, num_classes: int, space: Space) -> None:
        super().__init__(in_channels, num_classes, space)
        self.point = nn.Parameter(torch.empty(num_classes, in_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Xavier normals, and every point at the origin, as HNN does."""
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.point)

    def placed(self, p2: Tensor, pz: Tensor, z2: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The points on the Lorentz model of curvature -1, as numbers a class: the factor of ``point`` in the
        spatial part, that part's squared norm, the time, the inner product with the unit normal, and the
        length of the normal; from the inner products of ``point`` and ``weight``."""
        K, limit = self.space.K, distance_limit(self.point.dtype)
        # on the ball exp0(u) is at distance 2|u|
        q = -4 * K * p2
        scale = 2 * (-K) ** 0.5 * sinhc(q.clamp_max(limit * limit)) * shrink(q, limit)
        r2 = scale.square() * p2
        length = torch.where(z2 > 0, z2, 1.0).sqrt()
        return scale, r2, (1 + r2).sqrt(), scale * pz / length, length


class GaneaMLR(_Placed):
    r"""The Poincaré MLR of `Hyperbolic Neural Networks <https://arxiv.org/abs/1805.09112>`_, with a point
    :math:`p_k` for each class.

    .. math::
        u_k(x) = \frac{\lambda_{p_k}\lVert a_k\rVert}{\sqrt{-K}} \sinh^{-1}\frac{2\sqrt{-K}
        \langle -p_k\oplus x, a_k\rangle}{(1 + K\lVert -p_k\oplus x\rVert^2)\lVert a_k\rVert}

    With :math:`(x_t, x_s)` and :math:`(p_t, p_s)` the points of the Lorentz model of curvature -1,
    :math:`\hat a = a_k/\lVert a_k\rVert` and :math:`h = \langle p_s, \hat a\rangle`, the argument is
    :math:`\langle x_s, \hat a + h p_s/(1 + p_t)\rangle - h x_t`: one product, with a vector of norm
    :math:`\sqrt{1 + h^2}`.

    Args:
        in_channels: the dimension n of the space.
        num_classes: the number of classes C.
        space: the space of the points.

    Shapes:
        - **input:** points ``(..., n)``
        - **output:** logits ``(..., C)``
    """

    def logits(self, x: Tensor) -> Tensor:
        s = (-self.space.K) ** 0.5
        scale, _, time, along, length = self.placed(*gram(self.point, self.weight))
        coefficient = length * along * scale / (1 + time)
        normal = self.weight + coefficient.unsqueeze(-1) * self.point
        x = self.space.to_lorentz(x)
        inner, norms = products(x[..., 1:], normal)
        column = s * (1 + along.square()).sqrt() / nonzero(norms)
        return tail("asinh", inner, x[..., :1], column, -s * along, scale=(1 + time) * length / s)


class PseudoBusemannMLR(_Placed):
    r"""The pseudo-Busemann MLR of Nguyen et al. (2025), with a point :math:`p_k` for each class.

    .. math::
        u_k(x) = -d(x, p_k) \frac{B^{v_k}(-p_k\oplus x)}{\lVert -p_k\oplus x\rVert}

    The leading minus is in their code, not in their text. Moving x by an isometry moves the ideal point the
    other way, :math:`B^{v}(-p\oplus x) = B^{v'}(x) + B^{v}(-p)` with :math:`v' = \sqrt{-K}p\oplus v` on the
    sphere, and :math:`d/\lVert -p\oplus x\rVert = 2h\coth h` with :math:`h = \sqrt{-K}d/2`: two products.

    Args:
        in_channels: the dimension n of the space.
        num_classes: the number of classes C.
        space: the space of the points.

    Shapes:
        - **input:** points ``(..., n)``
        - **output:** logits ``(..., C)``
    """

    def logits(self, x: Tensor) -> Tensor:
        s = (-self.space.K) ** 0.5
        shape, x = x.shape[:-1], x.reshape(-1, self.in_channels)
        x_s = s * self.space.to_lorentz(x)[:, 1:]
        inner_p, inner_z, *numbers = pair_products(x_s, self.point, self.weight)
        scale, r2, time, along, length = self.placed(*numbers)
        # p + v has the time T + h, which is its norm, and the spatial part v + (1 + h / (1 + T)) p
        rise = at_least(r2 / (1 + time) + along, 1 / (time + safe_sqrt(r2)) - 1)
        q = sq_norm(x_s)
        x_t = (1 + q).sqrt()
        inner = torch.addcmul(inner_z, inner_p, length * scale * (1 + along / (1 + time)))
        busemann = tail(
            "log1p",
            inner,
            q / (1 + x_t),
            -1 / (length * (1 + rise)),
            scale=-2 / s,
            offset=-2 / s * torch.log1p(rise),
            low=busemann_floor(q),
        )
        # cosh(s d) is a Minkowski product
        logits = busemann * tail("hcothh", inner_p, x_t, -scale, time, low=1.0)
        return logits.reshape(*shape, self.num_classes)


class TangentMLR(_Head):
    r"""Euclidean MLR on the logarithm at the origin.

    .. math::
        u_k(x) = \langle a_k, \mathrm{Log}_0(x)\rangle + b_k

    The head of `HGCN <https://arxiv.org/abs/1910.12933>`_; in flat space, the usual one.

    Args:
        in_channels: the dimension n of the space.
        num_classes: the number of classes C.
        space: the space of the points.

    Shapes:
        - **input:** points ``(..., space.ambient(n))``
        - **output:** logits ``(..., C)``
    """

    def __init__(self, in_channels: int, num_classes: int, space: Space) -> None:
        super().__init__(in_channels, num_classes, space)
        self.b = nn.Parameter(torch.empty(num_classes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in 1/sqrt(n), as ``nn.Linear`` does."""
        bound = self.in_channels**-0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.b, -bound, bound)

    def logits(self, x: Tensor) -> Tensor:
        return product(self.space.log0(x), self.weight) + self.b

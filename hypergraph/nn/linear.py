"""Layers between hyperbolic spaces: fully connected ones, of one curvature, and activations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from hypergraph.errors import InputError
from hypergraph.geometry.kernels.torch_internals import transformed
from hypergraph.geometry.numerics import distance_limit, raised, without_autocast
from hypergraph.geometry.rows import unit
from hypergraph.geometry.space import Space
from hypergraph.nn.registry import as_space
from hypergraph.nn.shared import Directed, ShowsArguments, check_channels, check_points, check_probabilities
from hypergraph.sparse import SparseRows

Act = str | Callable[[Tensor], Tensor] | None
torch.fx.wrap("distance_limit")  # a tracer's stand-in has no dtype to compare, and no numbers to look at
torch.fx.wrap("unit")


def resolve_activation(act: Act) -> nn.Module:
    """The activation of a name that PyG's resolver knows, a module as it is, the identity for ``None``."""
    if act is None:
        return nn.Identity()
    if isinstance(act, nn.Module):
        return act
    from torch_geometric.nn.resolver import activation_resolver

    try:
        return activation_resolver(act)
    except ValueError:
        raise InputError(
            f"Unknown activation '{act}'; use the name of one in torch.nn, such as 'relu', 'tanh' or 'elu'."
        ) from None


class Activation(nn.Module):
    r"""An activation in the tangent space at the origin, :math:`\mathrm{Exp}_0(\phi(\mathrm{Log}_0(x)))`.

    Args:
        act: a name that PyG's resolver knows, or a module; ``None`` is the identity.
        space: the space of the points that come in.
        out_space: the space of the points that go out; by default the same. Both are of one dimension.

    Shapes:
        - **input:** points ``(..., space.ambient(n))``
        - **output:** points ``(..., out_space.ambient(n))``

    >>> ball = PoincareBall(K=-1.0)
    >>> Activation("relu", ball)(ball.exp0(torch.tensor([-1.0, 0.0])))
    tensor([0., 0.])
    """

    def __init__(self, act: Act, space: Space, out_space: Space | None = None) -> None:
        super().__init__()
        self.act, self.space = resolve_activation(act), as_space(space)
        self.out_space = self.space if out_space is None else as_space(out_space)

    def forward(self, x: Tensor) -> Tensor:
        if self.out_space is self.space and isinstance(self.act, nn.Identity):
            return x
        u = self.space.log0(x)
        with without_autocast(u.device.type):
            return self.out_space.exp0(self.act(u))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.act}, {self.space})"


class _FC(ShowsArguments):
    """What the layers share: a weight with DropConnect, and a gyro bias."""

    bias: nn.Parameter | None

    def __init__(
        self, in_channels: int, out_channels: int, space: Space, *, bias: bool = True, dropout: float = 0.0
    ) -> None:
        super().__init__()
        check_channels(in_channels=in_channels, out_channels=out_channels)
        check_probabilities(dropout=dropout)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.space, self.dropout = as_space(space), dropout
        self.register_parameter("bias", nn.Parameter(torch.empty(out_channels)) if bias else None)
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels))
        self.add_parameters()
        self.reset_parameters()

    def add_parameters(self) -> None:
        """Those of a layer besides the weight and the bias."""

    def reset_parameters(self) -> None:
        """Initialise anew: the bias without effect."""
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        phi: Any = self._modules.get("phi")
        if hasattr(phi, "reset_parameters"):  # an activation with parameters
            phi.reset_parameters()

    def dropped_weight(self, weight: Tensor) -> Tensor:
        """The weight with DropConnect."""
        return F.dropout(weight, self.dropout) if self.dropout > 0 and self.training else weight

    def forward(self, x: Tensor | SparseRows, *, tangent: bool = False) -> Tensor:
        """The points that the layer gives; with ``tangent`` these and x, which may be sparse, are logarithms
        at the origin: between the layers of an encoder no point is formed."""
        space = self.space
        u = self.logarithm(check_points(x, space, self.in_channels, self, tangent), tangent)
        return u if tangent else space.exp0(u)

    def logarithm(self, x: Any, tangent: bool) -> Tensor:
        """The logarithms of the points that the layer gives; x as for :meth:`forward`."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, {self.space})"


class TangentLinear(_FC):
    r"""A matrix in the tangent space at the origin, with a gyro bias.

    .. math::
        y = \mathrm{Exp}_0(W \mathrm{Log}_0(x)) \oplus b

    The Möbius layer of `Hyperbolic Neural Networks <https://arxiv.org/abs/1805.09112>`_ on the ball, LTFC on
    the Lorentz model, ``nn.Linear`` in flat space.

    Args:
        in_channels: the dimension n of the input space.
        out_channels: the dimension m of the output space.
        space: the space of both.
        bias: whether to add the gyro bias.
        dropout: the probability with which an entry of the weight is dropped in training.

    Shapes:
        - **input:** points ``(..., space.ambient(n))``
        - **output:** points ``(..., space.ambient(m))``

    >>> ball = PoincareBall(K=-1.0)
    >>> TangentLinear(16, 8, ball)(ball.lift(torch.randn(4, 16))).shape
    torch.Size([4, 8])
    """

    def reset_parameters(self) -> None:
        """Xavier with gain sqrt(2) and a zero bias, as HGCN does."""
        super().reset_parameters()
        nn.init.xavier_uniform_(self.weight, gain=math.sqrt(2))

    def logarithm(self, x: Any, tangent: bool) -> Tensor:
        u = x if tangent else self.space.log0(x)
        return self.space.shift0(u, self.bias, self.dropped_weight(self.weight))


class _Directions(Directed, _FC):
    """What PoincareFC and BFC share."""

    def reset_parameters(self) -> None:
        """Directions and magnitudes of normal vectors of variance 1/(2nm), zero offsets, as HNN++ does."""
        super().reset_parameters()
        self.reset_directions((2 * self.in_channels * self.out_channels) ** -0.5)


class PoincareFC(_Directions):
    r"""The Poincaré fully connected layer of
    `Hyperbolic Neural Networks++ <https://arxiv.org/abs/2006.08210>`_, with a gyro bias.

    .. math::
        y = \frac{\omega}{1 + \sqrt{1 - K\lVert\omega\rVert^2}}, \quad
        \omega_k = \frac{\sinh(\sqrt{-K}\, u_k(x))}{\sqrt{-K}}

    with :math:`u_k` the logits of :class:`~hypergraph.nn.heads.PoincareMLR`.

    Arguments and shapes are those of :class:`TangentLinear`, and ``magnitude`` is as for :class:`BFC`.

    >>> ball = PoincareBall(K=-1.0)
    >>> PoincareFC(16, 8, ball)(ball.lift(torch.randn(4, 16))).shape
    torch.Size([4, 8])
    """

    def logarithm(self, x: Any, tangent: bool) -> Tensor:
        weight = self.dropped_weight(self.weight)
        u = self.space.hyperplanes(x, weight, 2 * self.b, 2 * self.alpha_of(weight), tangent=tangent)
        return self.space.from_distances0(u, self.bias)


class BFC(_Directions):
    r"""The Busemann fully connected layer, on the ball and on the Lorentz model, with a gyro bias.

    .. math::
        \bar d(y, H_{e_k, e}) = \phi(u_k(x)), \quad u_k(x) = -\alpha_k B^{v_k}(x) + b_k

    that is, the point whose signed distances to the coordinate hyperplanes are the responses.

    With ``init="data"`` the first batch in training (or :meth:`init_from`) centres the responses: far from
    the origin every Busemann function is positive, so with :math:`b_k = 0` all responses are negative, and a
    ReLU after them gives only 0.

    Arguments and shapes are those of :class:`TangentLinear`, and besides:

    Args:
        phi: the activation inside, a name that PyG's resolver knows or a module.
        init: ``"data"``, magnitudes and offsets from the first batch, or ``"published"``, those of HNN++.
        magnitude: ``"free"``, as published, or ``"row"``: :math:`\alpha_k` is the norm of a row, which Adam
            moves as fast as a matrix; a large :math:`\alpha_k` of its own it moves slowly.

    >>> sheet = Lorentz(K=-1.0)
    >>> BFC(16, 8, sheet, phi="relu")(sheet.lift(torch.randn(4, 16))).shape
    torch.Size([4, 9])
    """

    initialised: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        space: Space,
        *,
        phi: Act = None,
        init: str = "data",
        **kwargs: Any,
    ) -> None:
        if init not in ("data", "published"):
            raise InputError(f"Unknown init '{init}'; use 'data' or 'published'.")
        self.init = init
        super().__init__(in_channels, out_channels, space, **kwargs)
        self.phi = resolve_activation(phi)

    def add_parameters(self) -> None:
        super().add_parameters()
        # The buffer travels in state_dict; the plain bool is what forward reads, since reading a tensor
        # would break a compiled graph.
        self.register_buffer("initialised", torch.tensor(False))

    def reset_parameters(self) -> None:
        """As :class:`PoincareFC`; with ``init="data"`` the next batch in training initialises again."""
        super().reset_parameters()
        self._initialised = self.init == "published"
        self.initialised.fill_(self._initialised)

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args)
        self._initialised = bool(self.initialised)

    @torch.no_grad()
    def init_from(self, x: Tensor | SparseRows, *, tangent: bool = False) -> None:
        r"""Choose :math:`\alpha_k` and :math:`b_k` so that the responses to x have mean 0 and spread 1. Where
        processes train together, x is the batches of all of them, so that they stay equal."""
        x = check_points(x, self.space, self.in_channels, self, tangent)
        values = -self.space.horospheres(x, self.weight, tangent=tangent).reshape(-1, self.out_channels)
        count = _sum_over_processes(torch.full_like(self.b, values.size(0)))
        mean = _sum_over_processes(values.sum(0)) / count
        spread = (_sum_over_processes((values - mean).square().sum(0)) / count).sqrt()
        # one point, or points that a direction does not tell apart, say nothing about the scale
        alpha = torch.where(spread > 1e-3, 1 / spread, self.alpha)
        self.set_alpha(alpha)
        self.b.copy_(-alpha * mean)
        self._initialised = True
        self.initialised.fill_(True)

    def logarithm(self, x: Any, tangent: bool) -> Tensor:
        real = torch.compiler.is_compiling() or not transformed()  # and no stand-in for a batch
        if real and self.training and not self._initialised and 0 not in x.shape:
            self.init_from(x, tangent=tangent)
        weight = self.dropped_weight(self.weight)
        u = self.phi(self.space.horospheres(x, weight, -self.alpha_of(weight), self.b, tangent=tangent))
        return self.space.from_distances0(u, self.bias)


def _sum_over_processes(total: Tensor) -> Tensor:
    if dist.is_available() and dist.is_initialized():
        dist.all_reduce(total)
    return total


class LorentzFC(_FC):
    r"""The Lorentz fully connected layer of
    `Fully Hyperbolic Neural Networks <https://arxiv.org/abs/2105.14686>`_, with a gyro bias.

    .. math::
        y_s = \lambda\,\sigma(v^\top x + b')\,\frac{W\phi(x) + b}{\lVert W\phi(x) + b\rVert}, \quad
        y_t = \sqrt{\lVert y_s\rVert^2 - 1/K}

    The gyro bias has ambient coordinates, m + 1 of them, as the paper counts; its time follows from the rest.

    Arguments and shapes are those of :class:`TangentLinear`, and besides:

    Args:
        phi: the activation on the coordinates, a name that PyG's resolver knows or a module.

    >>> sheet = Lorentz(K=-1.0)
    >>> LorentzFC(16, 8, sheet)(sheet.lift(torch.randn(4, 16))).shape
    torch.Size([4, 9])
    """

    def __init__(
        self, in_channels: int, out_channels: int, space: Space, *, phi: Act = None, **kwargs: Any
    ) -> None:
        if as_space(space).ambient(0) == 0:
            raise InputError(f"LorentzFC needs the Lorentz model, whose points have a time; got {space!r}.")
        super().__init__(in_channels, out_channels, space, **kwargs)
        self.phi = resolve_activation(phi)

    def add_parameters(self) -> None:
        n, m = self.in_channels, self.out_channels
        self.weight = nn.Parameter(torch.empty(m, n + 1))
        self.b = nn.Parameter(torch.empty(m))
        self.v = nn.Parameter(torch.empty(1, n + 1))
        self.b_prime = nn.Parameter(torch.empty(1))
        self.log_lambda = nn.Parameter(torch.empty(()))
        if self.bias is not None:
            self.bias = nn.Parameter(torch.empty(m + 1))

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Uniform in 1/sqrt(m), blind to time at first, and lambda = 10, as HyboNet's graph code does. Its
        translation code begins at 0.02: then one step of Adam triples W x, and on Cora all points are equal
        after five."""
        bound = self.out_channels**-0.5
        for weight in (self.weight, self.v):
            nn.init.uniform_(weight, -bound, bound)
            weight[:, 0] = 0
        self.b.zero_()
        self.b_prime.zero_()
        self.log_lambda.fill_(math.log(10))
        if self.bias is not None:
            self.bias.copy_(self.space.origin(self.out_channels))

    def logarithm(self, x: Any, tangent: bool) -> Tensor:
        space, weight, v = self.space, self.dropped_weight(self.weight), self.dropped_weight(self.v)
        if tangent and not isinstance(self.phi, nn.Identity):
            # phi acts on coordinates, of which it may leave none at 0
            x, tangent = space.exp0(x.dense() if isinstance(x, SparseRows) else x), False
        y = self.phi(x)
        direction = unit(space.linear_forms(y, weight, tangent=tangent) + raised(self.b))
        largest = raised(self.log_lambda).clamp_max(distance_limit(direction.dtype)).exp()
        size = largest * torch.sigmoid(space.linear_forms(x, v, tangent=tangent) + raised(self.b_prime))
        out = space.project(torch.cat([size, size * direction], -1))
        return space.log0(out if self.bias is None else space.gyro_add(out, space.project(self.bias)))

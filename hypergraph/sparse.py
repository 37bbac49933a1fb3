"""Sparse matrices that do not change while a model trains: features and adjacencies."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from hypergraph.memory import empty

Made = TypeVar("Made")


def csr_tensor(crow: Any, col: Any, value: Any, size: tuple[int, int]) -> Tensor:
    """A ``torch.sparse_csr`` matrix from its row pointer, column indices and values (arrays or tensors).

    Indices become int32 where they fit: the CPU kernels copy int64 ones at every product.

    >>> csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2)).to_dense()
    tensor([[0., 1.],
            [2., 0.]])
    """
    crow, col, value = torch.as_tensor(crow), torch.as_tensor(col), torch.as_tensor(value)
    index = torch.int32 if max(*size, value.numel()) < 2**31 else torch.int64
    with warnings.catch_warnings():
        # torch says once per process that the layout is in beta and that its invariants go unchecked.
        warnings.filterwarnings("ignore", "Sparse", UserWarning)
        return torch.sparse_csr_tensor(crow.to(index), col.to(index), value, size)


class SparseMatrix:
    r"""A constant sparse matrix with its transpose, so that ``matrix @ x`` is one SpMM forward and one back.

    Gradients flow to x, to any order, and not to the values. :func:`torch.compile` takes it as an argument,
    which it refuses for a ``torch.sparse_csr`` tensor.

    Args:
        csr: the matrix as a ``torch.sparse_csr`` tensor.
        transposed: its transpose in the same layout; computed where absent.
    """

    def __init__(self, csr: Tensor, transposed: Tensor | None = None) -> None:
        if csr.layout != torch.sparse_csr or csr.dim() != 2:
            raise ValueError(f"a SparseMatrix is made of a 2-d torch.sparse_csr tensor, got {csr.layout}")
        self.csr = _narrow(csr)
        self.transposed = _transpose(self.csr) if transposed is None else transposed
        # the compiler may look at these, and not at the two above
        self._parts = (*_parts(self.csr), *_parts(self.transposed))
        self.shape = (csr.shape[0], csr.shape[1])
        self._order: Tensor | None = None
        self._sq_norms: Tensor | None = None

    @property
    def dtype(self) -> torch.dtype:
        """The type of the values."""
        return self._parts[2].dtype

    @property
    def device(self) -> torch.device:
        """Where the values are."""
        return self._parts[2].device

    @property
    def T(self) -> SparseMatrix:
        """The transpose; nothing is copied."""
        other = object.__new__(SparseMatrix)
        other.csr, other.transposed = self.transposed, self.csr
        other._parts = (*self._parts[3:], *self._parts[:3])
        other.shape = self.shape[::-1]
        other._order = None
        other._sq_norms = None
        return other

    def __matmul__(self, x: Tensor) -> Tensor:
        return spmm(self, x)

    def dropout(self, p: float) -> SparseMatrix:
        """The matrix with each entry dropped with probability p, and the others times 1/(1 - p)."""
        crow, col, value, t_crow, t_col, _ = self._parts
        if self._order is None:  # where each entry is in the transpose
            places = torch.arange(value.numel(), dtype=torch.float64, device=value.device)
            self._order = _transpose(csr_tensor(crow, col, places, self.shape)).values().long()
        value = torch.nn.functional.dropout(value, p)
        return SparseMatrix(
            csr_tensor(crow, col, value, self.shape),
            csr_tensor(t_crow, t_col, value.index_select(0, self._order), self.shape[::-1]),
        )

    def edges(self) -> tuple[Tensor, Tensor]:
        """The entries as edges from column to row, ``(2, entries)``, and their values."""
        crow, col, value = self._parts[:3]
        row = torch.arange(self.shape[0], device=col.device)
        row = row.repeat_interleave(crow.diff().long(), output_size=col.numel())
        return torch.stack([col.long(), row]), value

    def size(self, dim: int) -> int:
        """As of a tensor."""
        return self.shape[dim]

    def sq_norms(self) -> Tensor:
        """The squared norm of every row: shape ``(rows,)``; kept, since the matrix does not change."""
        if torch.compiler.is_compiling():
            return _row_sums(self._parts[0], self._parts[2].square())
        if self._sq_norms is None:
            self._sq_norms = _row_sums(self._parts[0], self._parts[2].square())
        return self._sq_norms

    def to(self, *args: Any, **kwargs: Any) -> SparseMatrix:
        """On another device or of another type, as :meth:`torch.Tensor.to`."""
        return SparseMatrix(self.csr.to(*args, **kwargs), self.transposed.to(*args, **kwargs))

    def __repr__(self) -> str:
        return f"SparseMatrix({self.shape[0]}, {self.shape[1]}, nnz={self._parts[2].numel()})"


class SparseRows:
    """Constant sparse vectors, each times its number: tangent vectors that a map at the origin has scaled.

    Args:
        matrix: one vector a row.
        factor: one number for all, or one for each, ``(rows, 1)``, through which gradients flow.
    """

    def __init__(self, matrix: SparseMatrix, factor: float | Tensor = 1.0) -> None:
        self.matrix = matrix
        self.factor = factor

    def scaled(self, factor: float | Tensor) -> SparseRows:
        """Each vector times one more number."""
        if isinstance(factor, float) and factor == 1:
            return self
        return SparseRows(self.matrix, factor * self.factor)

    def learns(self) -> bool:
        """Whether the numbers have a gradient, as those have that depend on a learnt curvature."""
        return isinstance(self.factor, Tensor) and self.factor.requires_grad

    def product(self, weight: Tensor) -> Tensor:
        """The inner products with the rows of a dense matrix."""
        product = spmm(self.matrix, weight.T)
        return product if isinstance(self.factor, float) and self.factor == 1 else self.factor * product

    def sq_norm(self) -> Tensor:
        """The squared norms, ``(rows, 1)``."""
        square = self.matrix.sq_norms().unsqueeze(-1)
        if isinstance(self.factor, float):
            return square if self.factor == 1 else self.factor**2 * square
        return self.factor.square() * square

    @property
    def shape(self) -> tuple[int, int]:
        """As of a tensor."""
        return self.matrix.shape

    def size(self, dim: int | None = None) -> Any:
        """As of a tensor."""
        return self.shape if dim is None else self.shape[dim]

    @property
    def dtype(self) -> torch.dtype:
        """The type of the numbers."""
        return self.matrix.dtype

    def dense(self) -> Tensor:
        """The vectors as a tensor."""
        return self.factor * self.matrix.csr.to_dense()

    def __repr__(self) -> str:
        return f"SparseRows({self.matrix})"


def product(x: Tensor | SparseRows, weight: Tensor) -> Tensor:
    """``x @ weight.T`` for dense or sparse rows."""
    return x.product(weight) if isinstance(x, SparseRows) else torch.nn.functional.linear(x, weight)


def _parts(csr: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return csr.crow_indices(), csr.col_indices(), csr.values().detach()


def _narrow(csr: Tensor) -> Tensor:
    rows, columns = csr.shape
    return csr_tensor(*_parts(csr), (rows, columns))


def _transpose(csr: Tensor) -> Tensor:
    rows, columns = csr.shape
    if csr.values().numel() == 0:
        return csr_tensor(torch.zeros(columns + 1), torch.zeros(0), csr.values().detach(), (columns, rows))
    csc = csr.detach().to_sparse_csc()
    return csr_tensor(csc.ccol_indices(), csc.row_indices(), csc.values(), (columns, rows))


def _row_sums(crow: Tensor, value: Tensor) -> Tensor:
    return torch.segment_reduce(value, "sum", lengths=crow.diff().long(), unsafe=True)


def spmm(matrix: SparseMatrix, x: Tensor) -> Tensor:
    """``matrix @ x``, spelt as a function because the compiler does not trace the operator."""
    from hypergraph.geometry.kernels.torch_internals import transformed  # geometry imports this file

    if transformed():
        if torch.compiler.is_compiling():
            return _spmm(*matrix._parts, x)
        # by its definition, which torch.func and fake tensors can follow
        (source, target), value = matrix.edges()
        zeros = x.new_zeros(matrix.shape[0], x.size(1))
        return zeros.index_add(0, target, value.unsqueeze(-1) * x.index_select(0, source))
    if torch.is_grad_enabled() and x.requires_grad:
        return _SpMM.apply(x, matrix)
    return _multiply(matrix.csr, x)


def _multiply(csr: Tensor, x: Tensor) -> Tensor:
    if torch.is_autocast_enabled(x.device.type):
        with torch.autocast(x.device.type, enabled=False):  # there is no sparse product in half precision
            return _multiply(csr, x.to(csr.dtype))
    # csr @ x would fill a matrix with zeros and copy it before the product
    out = empty(csr.size(0), x.size(1), x)
    return torch.addmm(out, csr, x, beta=0, out=out)


class _SpMM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        return _multiply(matrix.csr, x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        if torch.is_grad_enabled():
            return spmm(ctx.matrix.T, grads[0]), None
        return _multiply(ctx.matrix.transposed, grads[0]), None


@torch.library.custom_op("hypergraph::spmm", mutates_args=())
def _spmm(
    crow: Tensor, col: Tensor, value: Tensor, t_crow: Tensor, t_col: Tensor, t_value: Tensor, x: Tensor
) -> Tensor:
    """The product as an operator on dense tensors: what the compiler can trace."""
    return csr_tensor(crow, col, value, (crow.numel() - 1, t_crow.numel() - 1)) @ x


@_spmm.register_fake
def _(
    crow: Tensor, col: Tensor, value: Tensor, t_crow: Tensor, t_col: Tensor, t_value: Tensor, x: Tensor
) -> Tensor:
    return x.new_empty(crow.shape[0] - 1, x.shape[1])


def _keep(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:6])


def _spmm_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    parts = ctx.saved_tensors
    return (None,) * 6 + (_spmm(*parts[3:], *parts[:3], grad),)


_spmm.register_autograd(_spmm_backward, setup_context=_keep)


class Memo:
    """The last result of a computation, kept while its inputs are the same tensors, unchanged in place.

    A tensor is recognised by identity (through a weak reference, so a new tensor at an old address is not
    mistaken for it) and by torch's version counter.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget the result."""
        self._last: tuple[tuple[Any, ...], Any] | None = None

    def __call__(self, make: Callable[[], Made], *inputs: Any) -> Made:
        """``make()``, or what it gave last time."""
        last = self._last  # read once: another thread may replace it
        if last is not None and _same(last[0], inputs):
            return last[1]
        if any(isinstance(given, Tensor) and given.is_inference() for given in inputs):
            return make()  # an inference tensor has no version counter
        with torch.inference_mode(False):  # training may use what an evaluation left here
            made = make()
        seen = tuple((weakref.ref(x), x._version) if isinstance(x, Tensor) else x for x in inputs)
        self._last = seen, made
        return made

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()  # a copy or a pickle of a model starts afresh


def _same(seen: tuple[Any, ...], inputs: tuple[Any, ...]) -> bool:
    if len(seen) != len(inputs):
        return False
    for old, new in zip(seen, inputs):
        if isinstance(new, Tensor):
            if not isinstance(old, tuple) or old[0]() is not new or old[1] != new._version:
                return False
        elif isinstance(old, tuple) or old != new:
            return False
    return True

from __future__ import annotations

import copy
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hypergraph.sparse import Memo, SparseMatrix, csr_tensor, spmm


def test_equals_scipy() -> None:
    matrix = sp.random(7, 5, density=0.4, format="csr", dtype=np.float32, rng=np.random.default_rng(0))
    tensor = csr_tensor(matrix.indptr, matrix.indices, matrix.data, matrix.shape)
    assert tensor.layout == torch.sparse_csr
    assert tensor.crow_indices().dtype == torch.int32
    assert np.array_equal(tensor.to_dense().numpy(), matrix.toarray())


def test_first_use_in_a_process_does_not_warn() -> None:
    code = (
        "import torch; from hypergraph.sparse import csr_tensor;"
        "matrix = csr_tensor([0, 1], [0], [1.0], (1, 1)); weight = torch.ones(1, 1, requires_grad=True);"
        "(matrix @ weight).sum().backward(); matrix.t().to_sparse_csr().to_dense()"
    )
    subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code], check=True)


def test_gradient_flows_through_a_product() -> None:
    weight = torch.ones(2, 3, requires_grad=True)
    (csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2)) @ weight).sum().backward()
    assert weight.grad is not None
    assert weight.grad[:, 0].tolist() == [2.0, 1.0]


def random_matrix(rows: int = 6, columns: int = 4) -> SparseMatrix:
    rng = np.random.default_rng(0)
    matrix = sp.random(rows, columns, density=0.4, format="csr", dtype=np.float64, rng=rng)
    return SparseMatrix(csr_tensor(matrix.indptr, matrix.indices, matrix.data, matrix.shape))


def test_product_and_both_its_derivatives() -> None:
    matrix = random_matrix()
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(matrix @ x, matrix.csr.to_dense() @ x)
    torch.testing.assert_close(matrix.T @ (matrix @ x), matrix.csr.to_dense().T @ (matrix @ x))
    assert torch.autograd.gradcheck(lambda x: matrix @ x, x)
    assert torch.autograd.gradgradcheck(lambda x: (matrix @ x).pow(3), x)


def test_rows() -> None:
    matrix = random_matrix()
    dense = matrix.csr.to_dense()
    torch.testing.assert_close(matrix.sq_norms(), dense.square().sum(1))
    index, value = matrix.edges()
    again = torch.zeros(6, 4, dtype=torch.float64)
    again[index[1], index[0]] = value
    torch.testing.assert_close(again, dense)
    assert matrix.to(torch.float32).dtype == torch.float32
    assert str(matrix) == "SparseMatrix(6, 4, nnz=10)"


def test_empty_matrices() -> None:
    for rows, columns in ((0, 4), (3, 4), (3, 0)):
        matrix = SparseMatrix(csr_tensor(torch.zeros(rows + 1), [], torch.zeros(0), (rows, columns)))
        assert torch.equal(matrix @ torch.ones(columns, 2), torch.zeros(rows, 2))
        assert torch.equal(matrix.T @ torch.ones(rows, 2), torch.zeros(columns, 2))


@pytest.mark.parametrize("density", [0.0, 0.2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_was_in_the_memory_of_a_result_does_not_matter(
    monkeypatch: pytest.MonkeyPatch, density: float, dtype: torch.dtype
) -> None:
    monkeypatch.setattr(
        "hypergraph.sparse.empty",
        lambda rows, columns, like: like.new_full((rows, columns), torch.nan),
    )
    plain = sp.random(9, 5, density=density, format="csr", rng=np.random.default_rng(0))
    matrix = SparseMatrix(csr_tensor(plain.indptr, plain.indices, plain.data, plain.shape).to(dtype))
    x = torch.randn(5, 3, dtype=dtype, requires_grad=True)
    y = spmm(matrix, x)
    y.sum().backward()
    assert x.grad is not None
    dense = torch.from_numpy(plain.toarray()).to(dtype)
    torch.testing.assert_close(y, dense @ x)
    torch.testing.assert_close(x.grad, dense.sum(0).unsqueeze(-1).expand(5, 3))


def test_only_csr_is_taken() -> None:
    with pytest.raises(ValueError, match=r"2-d torch\.sparse_csr"):
        SparseMatrix(torch.eye(2))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # torch 2.15's check
def test_operator_is_registered_right() -> None:
    matrix = random_matrix()
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    torch.library.opcheck(torch.ops.hypergraph.spmm.default, (*matrix._parts, x))


def test_memo_between_threads() -> None:
    """Each gets what belongs to its own input."""
    memo, wrong = Memo(), []

    def ask(x: torch.Tensor) -> None:
        wrong.extend(1 for _ in range(20_000) if memo(lambda: x, x) is not x)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=(torch.zeros(1),)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def test_what_an_evaluation_keeps_can_be_trained_with() -> None:
    memo, x, weight = Memo(), torch.ones(3), torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        memo(lambda: 2 * x, x)
    (memo(lambda: 2 * x, x) * weight).sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [2, 2, 2]


def test_memo() -> None:
    memo, calls = Memo(), []
    x, y = torch.zeros(2), torch.zeros(2)

    def ask(*inputs: object) -> int:
        return memo(lambda: calls.append(1) or len(calls), *inputs)

    assert [ask(x, 1), ask(x, 1)] == [1, 1]
    assert [ask(x, 2), ask(y, 2), ask(y, None), ask(None, None), ask(y)] == [2, 3, 4, 5, 6]
    y.add_(1)
    assert [ask(y), ask(y)] == [7, 7]
    with torch.inference_mode():
        z = torch.zeros(2)
        assert [ask(z), ask(z)] == [8, 9], "an inference tensor has no version"
    assert ask(y) == 7
    assert copy.deepcopy(memo)._last is None
    memo.clear()
    assert ask(y) == 10

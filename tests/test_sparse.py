from __future__ import annotations

import subprocess
import sys

import numpy as np
import scipy.sparse as sp
import torch

from hypergraph.sparse import csr_tensor


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

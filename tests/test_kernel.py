from __future__ import annotations

import networkx as nx
import numba.core.caching
import numpy as np
import pytest

from hypergraph.hyperbolicity import blocks, distances
from hypergraph.kernel import kernel


def twice(x):
    return 2 * x


def test_compiles_also_where_nothing_can_be_written(monkeypatch):
    cached = kernel(twice)
    assert cached(4) == 8 and cached._cache.cache_path
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    assert kernel(twice)(4) == 8


@pytest.mark.parametrize("name", ["biconnected", "clustered", "depths"])
def test_few_arcs_are_searched_in_plain_python_to_the_same_end(monkeypatch, name):
    matrix = nx.to_scipy_sparse_array(nx.gnm_random_graph(300, 450, seed=1), format="csr", dtype=np.int8)
    arcs = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    function, more = getattr(distances, name, None) or getattr(blocks, name), (7,) if name == "depths" else ()
    plain = function(*arcs, *more)
    monkeypatch.setattr("hypergraph.kernel.LITTLE", 0)
    compiled = function(*arcs, *more)
    for one, other in zip(*((got if isinstance(got, tuple) else (got,)) for got in (plain, compiled))):
        assert np.array_equal(one, other) and one.dtype == other.dtype

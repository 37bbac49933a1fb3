from __future__ import annotations

import numba.core.caching

from hypergraph.kernel import kernel


def twice(x):
    return 2 * x


def test_compiles_also_where_nothing_can_be_written(monkeypatch):
    cached = kernel(twice)
    assert cached(4) == 8 and cached._cache.cache_path
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    assert kernel(twice)(4) == 8

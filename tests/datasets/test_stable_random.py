from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hypergraph.datasets.stable_random import StableRandom, mix64


def test_the_finaliser_is_splitmix64() -> None:
    # The first outputs of the reference generator for seed 1234567, as published with it.
    state = 1234567
    golden = 0x9E3779B97F4A7C15
    words = np.array([(state + (i + 1) * golden) % 2**64 for i in range(3)], dtype=np.uint64)
    assert mix64(words).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_the_stream_never_changes() -> None:
    random = StableRandom(7, "test", 3)
    assert random.bits(2).tolist() == [3273667228331178393, 9276508310966856005]
    assert random.integers(100, 5).tolist() == [36, 53, 39, 12, 15]
    assert random.permutation(6).tolist() == [5, 2, 3, 0, 1, 4]
    assert random.normal(2).tolist() == [1.1304070760961622, -1.8518397123552859]


@settings(deadline=None)
@given(seed=st.integers(-(2**70), 2**70), cut=st.integers(0, 20))
def test_a_stream_does_not_depend_on_how_it_is_read(seed: int, cut: int) -> None:
    whole, parts = StableRandom(seed, "a"), StableRandom(seed, "a")
    assert whole.bits(20).tolist() == [*parts.bits(cut).tolist(), *parts.bits(20 - cut).tolist()]
    assert StableRandom(seed, "a").bits(4).tolist() != StableRandom(seed, "b").bits(4).tolist()
    assert sorted(StableRandom(seed).permutation(20)) == list(range(20))


def test_moments() -> None:
    random = StableRandom(0, "moments")
    uniform, normal = random.uniform(200_000), random.normal(200_000)
    assert abs(uniform.mean() - 1 / 2) < 0.003
    assert abs(uniform.var() - 1 / 12) < 0.001
    assert 0 <= uniform.min() < 1e-4 < 1 - 1e-4 < uniform.max() < 1
    assert abs(normal.mean()) < 0.01
    assert abs(normal.std() - 1) < 0.01
    counts = np.bincount(random.integers(10, 100_000))
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 28  # chi-squared, 9 degrees of freedom, p = 0.001

"""A random generator whose stream never changes: the same numbers on every machine and every version.

NumPy's ``Generator`` and torch may change their streams between releases; a published split must not. Every
number here is SplitMix64's finaliser of a counter, in integer arithmetic only.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def mix64(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser: a bijection of 64-bit words that scatters them."""
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    return value ^ (value >> np.uint64(31))


class StableRandom:
    """A stream of random numbers named by a seed and a path, e.g. ``StableRandom(0, "split", "cora")``.

    Streams with different seeds or paths are independent, so that a new use never shifts an old one.
    """

    def __init__(self, seed: int, *path: str | int) -> None:
        name = "/".join(map(str, (int(seed), *path)))
        digest = hashlib.sha256(name.encode()).digest()
        self._key = np.frombuffer(digest[:8], dtype="<u8").astype(np.uint64)
        self._used = 0

    def bits(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` 64-bit words."""
        counter = np.arange(self._used + 1, self._used + count + 1, dtype=np.uint64)
        self._used += count
        return mix64(self._key + counter * _GOLDEN)

    def integers(self, high: int, count: int) -> NDArray[np.int64]:
        """Integers in ``[0, high)``; the bias of the remainder is below ``high / 2**64``."""
        return (self.bits(count) % np.uint64(high)).astype(np.int64)

    def uniform(self, count: int) -> NDArray[np.float64]:
        """Numbers in ``[0, 1)`` with 53 random bits."""
        return (self.bits(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def normal(self, count: int) -> NDArray[np.float64]:
        """Nearly normal numbers: the sum of twelve uniforms, exact in integers.

        A logarithm or a cosine may differ in the last bit between machines; a sum of integers does not.
        """
        halves = self.bits(6 * count).view(np.uint32).astype(np.int64).reshape(count, 12)
        return (halves.sum(axis=1) - 6 * (2**32 - 1)) * 2.0**-32

    def permutation(self, count: int) -> NDArray[np.int64]:
        """A random order of ``0 .. count - 1``."""
        return np.argsort(self.bits(count), kind="stable").astype(np.int64)

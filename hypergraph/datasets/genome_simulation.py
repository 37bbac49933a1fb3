"""Simulated DNA: planted motifs, and species that differ in their k-mers. Both are drawn from a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hypergraph.datasets.genomes import GenomeData, Sequences
from hypergraph.datasets.stable_random import StableRandom


def simulate_motifs(
    num_classes: int = 4,
    *,
    length: int = 60,
    motif: int = 10,
    mutation: float = 0.1,
    sizes: tuple[int, int, int] = (2000, 400, 400),
    seed: int = 0,
) -> GenomeData:
    """Random letters with a motif planted near the middle: each class has its own, with some letters mutated.

    Args:
        num_classes: The number of classes; class 0 has no motif.
        length: Letters of a sequence.
        motif: Letters of a motif.
        mutation: The probability that a planted letter is replaced by a random one.
        sizes: Sequences for training, dev and test.
        seed: The same seed gives the same sequences on every machine.
    """
    if length < motif + 11:
        raise ValueError(f"length must be at least {motif + 11} for a motif of {motif} letters, got {length}")
    random = StableRandom(seed, "simulated-motifs", num_classes, length)
    motifs = random.integers(4, num_classes * motif).reshape(num_classes, motif)
    parts = []
    for size in sizes:
        codes = random.integers(4, size * length).reshape(size, length)
        labels = np.arange(size) % num_classes
        start = (length - motif) // 2 + random.integers(11, size) - 5
        place = start[:, None] + np.arange(motif)
        planted = np.where(
            random.uniform(size * motif).reshape(size, motif) < mutation,
            np.take_along_axis(codes, place, 1),
            motifs[labels],
        )
        has = labels > 0
        codes[np.flatnonzero(has)[:, None], place[has]] = planted[has]
        parts.append(Sequences(codes.astype(np.uint8), labels.astype(np.int64)))
    names = ("none", *(f"motif{number}" for number in range(1, num_classes)))
    train, dev, test = parts
    return GenomeData("simulated", names, train, dev, test)


def simulate_species(
    num_classes: int,
    *,
    length: int = 100,
    order: int = 2,
    sizes: tuple[int, int, int] = (4000, 500, 1000),
    seed: int = 0,
) -> GenomeData:
    """Species of a random binary tree: a class is a Markov chain whose k-mers drift away from its parent's.

    Args:
        num_classes: The number of species, the leaves of the tree.
        length: Letters of a sequence.
        order: The letters that the next one depends on: k - 1.
        sizes: Sequences for training, dev and test.
        seed: The same seed gives the same species and sequences on every machine.
    """
    random = StableRandom(seed, "simulated-species", num_classes, length)
    chains = _drifting_chains(num_classes, 4**order, random)
    parts = []
    for size in sizes:
        labels = np.arange(size) % num_classes
        parts.append(Sequences(_walk(chains, labels, length, order, random), labels.astype(np.int64)))
    train, dev, test = parts
    names = tuple(f"species{number}" for number in range(num_classes))
    return GenomeData(f"species-{num_classes}", names, train, dev, test)


def _drifting_chains(num_classes: int, contexts: int, random: StableRandom) -> NDArray[np.float64]:
    """Cumulative transition probabilities ``(classes, contexts, 4)``; every branch of the tree drifts."""
    logits = random.normal(contexts * 4).reshape(1, contexts, 4)
    while len(logits) < num_classes:
        drift = random.normal(2 * logits.size).reshape(2 * len(logits), contexts, 4)
        logits = np.repeat(logits, 2, axis=0) + 0.5 * drift
    weights = np.exp(logits[:num_classes])
    return np.cumsum(weights / weights.sum(-1, keepdims=True), axis=-1)


def _walk(
    chains: NDArray[np.float64], labels: NDArray[np.int64], length: int, order: int, random: StableRandom
) -> NDArray[np.uint8]:
    context = random.integers(4**order, len(labels))
    draws = random.uniform(len(labels) * length).reshape(length, len(labels))
    codes = np.empty((len(labels), length), dtype=np.uint8)
    for place, draw in enumerate(draws):
        letter = np.minimum((draw[:, None] >= chains[labels, context]).sum(-1), 3)
        codes[:, place] = letter
        context = (context * 4 + letter) % 4**order
    return codes

"""Labels as people have them, brought to one form: an index of a class for every node, and its name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.datasets.arrays import UNLABELLED
from hypergraph.errors import InputError

Where = Callable[[int], str]
_MISSING = {"", "nan", "-1", "-1.0", "none", "<na>"}
_NUMBER = re.compile(r"[+-]?\d{1,18}(\.0*)?")
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)


def encode_labels(values: Any, where: str, node: Where) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Classes in sorted order and the index of each label, -1 where there is none.

    A label is a word, a whole number or a truth value; ``None``, nan, an empty one and -1 mean none.

    Args:
        values: One label a node.
        where: The file, for messages.
        node: Where a node is described, for messages.
    """
    labels = np.asarray(values)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.dtype.kind not in "biufUSO":
        raise InputError(
            f"{where}: labels are {labels.dtype} of shape {labels.shape}, where one label a node is needed."
        )
    if labels.dtype.kind == "f":
        return _numbers(_whole(labels, node))
    if labels.dtype.kind in "iu":
        return _numbers(labels)
    words = [_word(label) for label in labels.tolist()]
    named = [word for word in words if word.lower() not in _MISSING]
    if named and all(_NUMBER.fullmatch(word) for word in named):
        numbers = [int(w.partition(".")[0]) if _NUMBER.fullmatch(w) else UNLABELLED for w in words]
        return _numbers(np.array(numbers, dtype=np.int64))
    if len(named) == len(words) and all(_NUMBER.fullmatch(w) or _FLOAT.fullmatch(w) for w in words):
        row = next(row for row, word in enumerate(words) if not _NUMBER.fullmatch(word))
        raise _not_whole(words[row], node(row))
    classes = sorted(set(named), key=natural)
    index = {name: number for number, name in enumerate(classes)}
    return np.array([index.get(word, UNLABELLED) for word in words], dtype=np.int64), tuple(classes)


def natural(name: str) -> tuple[int, float, str]:
    """The order of names: numbers in theirs, before words; nan, which has no place among them, is a word."""
    try:
        number = float(name)
    except ValueError:
        number = math.nan
    return (1, 0.0, name) if math.isnan(number) else (0, number, name)


def _word(label: Any) -> str:
    if isinstance(label, bytes):
        return label.decode("utf-8", "replace").strip()
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return "" if label is None else str(label).strip()


def _whole(labels: NDArray[Any], node: Where) -> NDArray[np.int64]:
    missing = np.isnan(labels)
    bad = (~missing & ~((np.abs(labels) < 2**53) & (labels == np.floor(labels)))).nonzero()[0]
    if len(bad):
        raise _not_whole(labels[bad[0]], node(int(bad[0])))
    return np.where(missing, UNLABELLED, labels).astype(np.int64)


def _not_whole(label: Any, place: str) -> InputError:
    return InputError(f"{place}: label '{label}' is not a whole number; a class is a whole number or a word.")


def _numbers(labels: NDArray[Any]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    ordered = np.sort(labels)
    known = ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered
    known = known[known != UNLABELLED] if labels.dtype.kind == "i" else known
    y = np.searchsorted(known, labels).astype(np.int64)
    if labels.dtype.kind == "i":
        y[labels == UNLABELLED] = UNLABELLED
    return y, tuple(str(label) for label in known.tolist())

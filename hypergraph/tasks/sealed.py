"""Documents that carry the SHA-256 of what they say, so that a flipped bit in one is noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypergraph.errors import InputError
from hypergraph.files import reading, regular_file

# Nothing that a run writes as text comes near it.
_MOST = 1 << 28


def seal(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its hash in front, where a file that was cut short still has it."""
    return {"sha256": _digest(document), **document}


def check_seal(document: dict[str, Any], path: Path, remedy: str) -> dict[str, Any]:
    """The document without its hash; one that says something else than was sealed is refused.

    Documents of versions that sealed nothing are taken as they are.
    """
    whole = {key: value for key, value in document.items() if key != "sha256"}
    if "sha256" in document and document["sha256"] != _digest(whole):
        raise InputError(f"{path}: damaged or edited (its SHA-256 is another than the one in it); {remedy}.")
    return whole


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """A sealed JSON object."""
    with reading(path, "written by hypergraph", remedy):
        document = json.loads(read_text(path))
        if not isinstance(document, dict):
            raise TypeError("not an object")
        return check_seal(document, path, remedy)


def read_text(path: Path) -> str:
    """A text file of a run."""
    size = regular_file(path)
    if size > _MOST:
        raise InputError(f"{path}: {size} bytes, more than any such file of a run has.")
    return path.read_text(encoding="utf-8")


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

"""Which settings go together: parts of one space, and options that a part takes. No torch here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hypergraph.errors import InputError
from hypergraph.nn.registry import DEFAULT_FC, ENCODERS, FCS, HEADS, EncoderEntry, Entry

_PARTS: Mapping[str, Mapping[str, Entry] | Mapping[str, EncoderEntry]] = {
    "head": HEADS,
    "fc": FCS,
    "encoder": ENCODERS,
}
# Beside the layers that take init, link prediction scales the first matrix of those in the tangent space.
_SCALED = [entry.name for entry in FCS.values() if "init" in entry.takes or entry.cls == "TangentLinear"]


def listed(names: Iterable[str], word: str = "and") -> str:
    """Names in words: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


def takers(part: str, name: str) -> list[str]:
    """The heads, linear layers or encoders that an option has an effect on.

    >>> takers("encoder", "propagate")
    ['hgcn', 'gcn']
    """
    if (part, name) == ("fc", "init"):
        return _SCALED
    return [entry.name for entry in _PARTS[part].values() if name in entry.takes]


def _encoders(flat: bool) -> str:
    return listed((entry.name for entry in ENCODERS.values() if entry.flat == flat), "or")


def check_head(head: str, encoder: str, fc: str | None) -> None:
    """Refuse a head, an encoder and linear layers of different spaces."""
    space = HEADS[head].space
    if space == "euclidean" and not ENCODERS[encoder].flat:
        raise InputError(
            f"The head '{head}' is Euclidean, the encoder {encoder} is not; "
            f"use --encoder {_encoders(flat=True)}, or the head tangent-p or tangent-l."
        )
    if fc is not None and "fc" in ENCODERS[encoder].takes and FCS[fc].space != space:
        fitting = ", ".join(entry.name for entry in FCS.values() if entry.space == space)
        raise InputError(
            f"The fc '{fc}' is {FCS[fc].space}, but the head '{head}' is {space}; use {fitting}."
        )


def check_fc(fc: str, encoder: str) -> None:
    """Refuse linear layers that an encoder cannot have."""
    flat = FCS[fc].space == "euclidean"
    if flat != ENCODERS[encoder].flat:
        other = DEFAULT_FC["poincare" if flat else "euclidean"]
        raise InputError(
            f"The fc '{fc}' is {FCS[fc].space}, and the encoder {encoder} has no such layers; "
            f"use --encoder {_encoders(flat)}, or another fc, such as {other}."
        )


def check_propagate(propagate: int, encoder: str) -> None:
    """Refuse aggregations in an encoder that has none."""
    if propagate and "propagate" not in ENCODERS[encoder].takes:
        flat = ENCODERS[encoder].flat
        can = listed((name for name in takers("encoder", "propagate") if ENCODERS[name].flat == flat), "or")
        raise InputError(f"The encoder {encoder} takes no propagate; leave it out, or use the encoder {can}.")


def idle(chosen: str, curved: Iterable[str], values: Mapping[str, Any], name: str) -> str | None:
    """Why a setting has no effect beside the others, and what to do; ``None`` where it has one.

    Args:
        chosen: The field of the layer that a run is about: ``"head"`` or ``"fc"``.
        curved: The settings that say nothing in flat space.
        values: All settings.
        name: The setting.
    """
    used = values[chosen]
    flat = getattr(_PARTS[chosen][used], "space", None) == "euclidean"
    if flat and name in curved:
        return f"The {chosen} {used} is Euclidean and takes no {name}; leave it out, or use another {chosen}."
    for part in (chosen, "encoder") if "encoder" in values else (chosen,):
        taking = takers(part, name)
        if name == chosen or not taking or values[part] in taking:
            continue
        if part == "encoder":  # those that go with the head, or with the linear layers
            either = chosen == "head" and not flat
            taking = [other for other in taking if either or ENCODERS[other].flat == flat]
        instead = f", or use the {part} {listed(taking, 'or')}" if taking else ""
        return f"The {part} {values[part]} takes no {name}; leave it out{instead}."
    return None

"""Errors meant for people: one sentence that says what is wrong, where, and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Something given from outside is wrong. The command line prints it and exits with code 2."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not in a list, with the nearest one that is.

    >>> str(unknown_name("head", "bmlr", ["bmlr-p", "mlr"]))
    "Unknown head 'bmlr'; did you mean 'bmlr-p'? Known: bmlr-p, mlr."
    """
    names = list(known)
    # what was typed may be the beginning of a name ("bmlr"): that beats a shorter near miss ("mlr")
    near = [known for known in names if name and known.startswith(name)]
    near = near or difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return InputError(f"Unknown {kind} '{short(name)}'{hint} Known: {', '.join(names)}.")


def short(value: object, most: int = 80) -> str:
    """A value as text that fits in a sentence."""
    text = str(value)
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 4 :]}"


def sentence(error: BaseException) -> str | None:
    """What an error says to the person whose input led to it; ``None`` where it is a bug of ours."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = f"{short(error.filename)}: " if error.filename else ""
        return f"{where}{error.strerror[0].lower()}{error.strerror[1:]}."
    if isinstance(error, MemoryError) or _out_of_memory(error):
        return "There is not enough memory for this; ask for something smaller, or free some."
    if isinstance(error, ValueError) and "null byte" in str(error):
        return "A path must not hold a null byte."
    return None


def _out_of_memory(error: BaseException) -> bool:
    """Whether it is torch that found no memory: for the CPU it has no class of its own."""
    told = ("can't allocate memory", "not enough memory", "Tried to allocate", "Storage size calculation")
    return isinstance(error, RuntimeError) and any(part in str(error) for part in told)

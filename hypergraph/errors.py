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
    near = near or difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return InputError(f"Unknown {kind} '{name}'{hint} Known: {', '.join(names)}.")

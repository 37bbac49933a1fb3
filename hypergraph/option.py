"""A setting, written once: its type and default are those of a dataclass field, the rest is here."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, get_args, get_type_hints

from hypergraph.errors import InputError, short, unknown_name

MOST = 10**9  # of whole numbers that have no nearer bound
MOST_SEED = 2**32 - 1  # of every generator that may be asked


@dataclass(frozen=True)
class Option:
    """What is known of a field of a configuration besides its type and its default.

    The command line, its help, the checks and the error messages are made from it.

    Args:
        help: What it is, one sentence.
        group: The heading in the help; by default the general one.
        choices: The names that are allowed.
        flags: How the option is written, where ``--name`` is not right.
        least: Its smallest value.
        most: Its largest value.
        above: What it must be above.
        below: What it must be below.
    """

    help: str
    group: str = ""
    choices: Collection[str] = ()
    flags: str | None = None
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def check(self, name: str, value: Any) -> None:
        """Refuse a value that is not allowed, in one sentence."""
        if value is None:
            return
        if isinstance(value, str):
            if self.choices and value not in self.choices:
                raise unknown_name(name, value, self.choices)
            check_text(name, value)
        elif not self._inside(value):
            finite = "" if math.isfinite(value) else "finite, "
            raise InputError(f"{name} must be {finite}{self.range()}, got {short(value)}.")

    def _inside(self, value: float) -> bool:
        return (
            math.isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def range(self) -> str:
        """The allowed numbers in words."""
        bounds = {"at least": self.least, "above": self.above, "at most": self.most, "below": self.below}
        return " and ".join(f"{k} {v}" for k, v in bounds.items() if v is not None) or "a number"


def check_text(name: str, value: str) -> None:
    """Refuse text that no file can be named by, or that no file can hold."""
    if any(ord(letter) < 32 or "\ud800" <= letter <= "\udfff" for letter in value):
        raise InputError(f"{name} must be plain text, got {short(value)!a}.")


def check_fields(settings: Any) -> None:
    """Refuse the first field of a dataclass with a value that is not allowed."""
    for entry in fields(settings):
        option_of(entry).check(entry.name, getattr(settings, entry.name))


def option(default: Any, help: str, **more: Any) -> Any:
    """A field with an :class:`Option`; a default of ``...`` must be given."""
    known = Option(help, **more)
    return field(default=MISSING if default is ... else default, metadata={"option": known})


def option_of(entry: Field[Any]) -> Option:
    """The option of a field; one that has none is a plain setting."""
    found: Option = entry.metadata.get("option") or Option("")
    return found


def kind_of(cls: type, name: str) -> type:
    """The type of a field, without its ``None``."""
    hint = get_type_hints(cls)[name]
    kind: type = next((part for part in get_args(hint) if part is not type(None)), hint)
    return kind


def fit(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as the types of the fields: a whole number may stand for a float, nothing else bends."""
    fitted = {}
    for name, value in values.items():
        wanted = kind_of(cls, name)
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value) if abs(value) < 2**1000 else math.inf
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise InputError(f"{name} must be of type {wanted.__name__}, got {short(repr(value))}.")
        fitted[name] = value
    return fitted

"""What `hypergraph tune` may choose from: ``lr=1e-3:1e-1:log``, ``dropout=0:0.6``, ``K=-1,-0.1``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from hypergraph.errors import InputError
from hypergraph.option import kind_of, option_of
from hypergraph.tasks.config import Config, check_names

if TYPE_CHECKING:
    from optuna import Trial


@dataclass(frozen=True)
class Choice:
    """One of some values."""

    values: tuple[Any, ...]

    def suggest(self, trial: Trial, name: str) -> Any:
        return trial.suggest_categorical(name, self.values)


@dataclass(frozen=True)
class Range:
    """A number between two others; ``log`` goes by their ratio, also where both are negative."""

    low: float
    high: float
    log: bool
    whole: bool

    def suggest(self, trial: Trial, name: str) -> Any:
        low, high = (-self.high, -self.low) if self.high < 0 and self.log else (self.low, self.high)
        if self.whole:
            return trial.suggest_int(name, int(low), int(high), log=self.log)
        value = trial.suggest_float(name, low, high, log=self.log)
        # four digits: what is written into a preset is what was tried
        value = float(f"{value:.4g}")
        return -value if self.high < 0 and self.log else value


def parse(cls: type[Config], texts: Sequence[str]) -> dict[str, Choice | Range]:
    """The search space that a person typed, by setting."""
    space: dict[str, Choice | Range] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not rest.strip():
            raise InputError(f"'{text}' is no search; write lr=1e-3:1e-1:log, or dropout=0,0.2,0.5.")
        check_names(cls, [name])
        space[name] = _range(cls, name, rest) if ":" in rest else _choice(cls, name, rest)
    return space


def read_value(cls: type[Config], name: str, text: str) -> Any:
    """A setting as typed, in the type of its field."""
    kind, text = kind_of(cls, name), text.strip()
    if kind is bool:
        if text not in ("true", "false"):
            raise InputError(f"{name} is true or false, got '{text}'.")
        return text == "true"
    try:
        return kind(text)
    except ValueError:
        raise InputError(f"{name} must be of type {kind.__name__}, got '{text}'.") from None


def _choice(cls: type[Config], name: str, rest: str) -> Choice:
    values = tuple(read_value(cls, name, text) for text in rest.split(","))
    known = next(option_of(entry) for entry in fields(cls) if entry.name == name)
    for value in values:
        known.check(name, value)
    return Choice(values)


def _range(cls: type[Config], name: str, rest: str) -> Range:
    kind = kind_of(cls, name)
    low, high, *more = rest.split(":")
    if kind not in (int, float) or more not in ([], ["log"]):
        raise InputError(
            f"'{name}={rest}' is no range; write low:high or low:high:log for a number, a,b,c for the rest."
        )
    first, last = (read_value(cls, name, text) for text in (low, high))
    if not first < last:
        raise InputError(f"{name}: the range {rest} begins at or above its end.")
    if more and first <= 0 <= last:
        raise InputError(f"{name}: a range on a logarithmic scale must not contain 0, got {rest}.")
    return Range(first, last, bool(more), kind is int)


def describe(space: Mapping[str, Choice | Range]) -> dict[str, str]:
    """The search space as ``config.toml`` keeps it."""
    return {
        name: ",".join(map(str, part.values))
        if isinstance(part, Choice)
        else f"{part.low}:{part.high}" + (":log" if part.log else "")
        for name, part in space.items()
    }

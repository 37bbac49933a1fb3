"""Names that import their module when first used, so that the command line starts without torch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """A module ``__getattr__`` (PEP 562), and its ``__dir__``: the names in ``__all__`` and no others.

    Args:
        package: The module.
        where: Maps each public name to the module that defines it, or that it is.
    """
    module = sys.modules[package]

    def __getattr__(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        found = importlib.import_module(where[name])
        value = found if where[name] == f"{package}.{name}" else getattr(found, name)
        setattr(module, name, value)
        return value

    def __dir__() -> list[str]:
        special = (name for name in vars(module) if name.startswith("__"))
        return sorted({*vars(module).get("__all__", where), *special})

    vars(module)["__dir__"] = __dir__
    return __getattr__

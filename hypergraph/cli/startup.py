"""A quick start: torch and PyG import much that no command uses.

PyG imports torch's compiler, numba and all of its datasets, and torch's optimisers import the compiler only
to tell it to leave them alone: half of the time of a short command. Here these imports wait until they are
used.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_COMPILER = "torch._dynamo"
_LATER = (_COMPILER, "torch_geometric.datasets", "numba")
_LARGE = ("torch", "torch_geometric")


def start_quickly() -> None:
    """Delay heavy imports. It changes every import of the process, so only the command line calls it."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in (*_LATER, *_LARGE):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = (_Later if fullname in _LATER else _Uncollected)(spec.loader)
        return spec


class _Wrapped(Loader):
    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def run(self, module: ModuleType) -> None:
        """Run the code of a module, which is an ordinary one from then on."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)


class _Uncollected(_Wrapped):
    """Stops the garbage collector during the import: a million objects are made, and all of them stay."""

    def exec_module(self, module: ModuleType) -> None:
        enabled = gc.isenabled()
        gc.disable()
        try:
            self.run(module)
        finally:
            if enabled:
                gc.enable()


class _Later(_Wrapped):
    """Leaves a module empty, to be filled when a name is missing in it."""

    def exec_module(self, module: ModuleType) -> None:
        del module.__path__  # so that an import of a part asks for it, and loads the whole first
        if module.__name__ == _COMPILER:
            _stand_aside(module)
        module.__class__ = _Waiting


class _Waiting(ModuleType):
    def __getattr__(self, name: str) -> Any:
        # Tracebacks and pickles ask every module for special names: that must not load this one.
        if name.startswith("__") and name != "__path__":
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        spec = self.__spec__
        assert spec is not None and isinstance(spec.loader, _Later)
        for undo in self.__dict__.pop("_undo", ()):
            undo()
        self.__class__ = ModuleType  # type: ignore[assignment]
        self.__path__ = list(spec.submodule_search_locations or ())
        spec.loader.run(self)
        return getattr(self, name)


def _stand_aside(module: ModuleType) -> None:
    """Give an empty compiler module the two functions that optimisers call when they are imported.

    Nothing is compiled yet, so both do nothing.
    """
    untouched: list[Callable[..., Any]] = []

    def disable(function: Callable[..., Any], *how: Any, **more: Any) -> Callable[..., Any]:
        untouched.append(function)
        return function

    def forget() -> None:
        for function in untouched:  # torch keeps what was answered in this attribute
            vars(function).pop("__dynamo_disable", None)

    vars(module).update(disable=disable, graph_break=lambda *how, **more: None, _undo=[forget])

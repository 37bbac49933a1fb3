"""Reading pickles that others made, without running what is in them."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from hypergraph.errors import InputError

Global = tuple[str, str]


def restricted_load(
    path: str | os.PathLike[str],
    allowed: Set[Global],
    *,
    aliases: Mapping[Global, Any] | None = None,
    encoding: str = "latin1",
) -> Any:
    """Unpickle ``path``, admitting exactly the globals in ``allowed`` and refusing any other by its name.

    Args:
        path: The file.
        allowed: ``(module, name)`` of every global that the file may use, as spelled in the file.
        aliases: What a global in ``allowed`` means where it is not to be imported, e.g. because it moved.
        encoding: How the byte strings of Python 2 are decoded.
    """
    meanings = aliases or {}

    class Restricted(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if (module, name) not in allowed:
                raise InputError(
                    f"{path}: refused to load '{module}.{name}': this pickle may run code; "
                    "take the file from its public home instead."
                )
            if (module, name) in meanings:
                return meanings[module, name]
            return super().find_class(module, name)

    content = Path(path).read_bytes()
    try:
        return Restricted(io.BytesIO(content), encoding=encoding).load()
    except InputError:
        raise
    # A broken pickle may raise nearly anything, from EOFError to UnicodeDecodeError.
    except Exception as error:
        raise InputError(f"{path}: not a readable pickle ({error}); download the file again.") from error

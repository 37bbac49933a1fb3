"""Files that are either whole or absent when written, and trusted only as far as checked when read."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypergraph.errors import InputError

# In the hidden name of a file that is being written.
_PART = ".part-"


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it replaces ``path``, on failure nothing is left.

    A process that is killed in between leaves the temporary file, which :func:`sweep` removes.

    >>> with atomic_path("result.json") as part:
    ...     part.write_text("{}")
    """
    path = Path(path)
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix is kept because numpy and matplotlib choose the format by it.
    part = path.with_name(f".{path.stem}{_PART}{secrets.token_hex(6)}{path.suffix}")
    part.touch(exist_ok=False)
    try:
        yield part
        with part.open("r+b") as written:
            os.fsync(written.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def atomic_write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` to ``path`` in UTF-8, atomically."""
    atomic_write_bytes(path, text.encode())


def atomic_write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write ``content`` to ``path``, atomically; a link there is replaced, not followed."""
    with atomic_path(path) as part:
        part.write_bytes(content)


def is_part(path: Path) -> bool:
    """Whether a file is one that :func:`atomic_path` is writing, or was when it was killed."""
    return path.name.startswith(".") and _PART in path.name


def sweep(folder: Path) -> None:
    """Remove what killed processes were writing in a folder; only for one who knows that none is left."""
    for path in folder.glob(".*"):
        if is_part(path):
            path.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, as ``sha256sum`` prints it."""
    regular_file(path)
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def regular_file(path: Path) -> int:
    """The size of a file; folders, devices and pipes are refused, which may have no end."""
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except ValueError as error:  # a null byte
        raise InputError(f"{str(path)!r}: not the name of a file.") from error
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{path}: a folder, where a file is needed.")
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path}: a device or a pipe, where a file is needed.")
    return found.st_size


@contextmanager
def reading(path: Path | str, kind: str, remedy: str = "") -> Iterator[None]:
    """Turn whatever a reader raises on a damaged or forged file into one sentence.

    Args:
        path: The file, or what is read.
        kind: What it should be, such as ``"a GML file"``.
        remedy: What can be done about it.
    """
    end = f"; {remedy}." if remedy else "."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a library's remark on a damaged file is no second sentence
            yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path}: reading it takes more memory than there is.") from error
    except RecursionError as error:
        raise InputError(f"{path}: not {kind} that can be read: it is nested too deeply{end}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or first_line(error)}){end}") from error
    # Parsers raise nearly anything on a damaged file, from struct.error to UnicodeDecodeError.
    except Exception as error:
        raise InputError(
            f"{path}: damaged, or not {kind} ({type(error).__name__}: {first_line(error)}){end}"
        ) from error


def first_line(error: Exception) -> str:
    """What an error says, in one line that is not too long."""
    said = " ".join(str(error).split())
    return (said if len(said) <= 200 else f"{said[:200]} ...").rstrip(".")

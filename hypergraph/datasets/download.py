"""Downloads that resume, are verified, and leave a whole file or none."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from pathlib import Path

from hypergraph.errors import InputError
from hypergraph.progress import progress

_BLOCK = 1 << 18
_ATTEMPTS = 3
_TIMEOUT = 30.0


def download(url: str, path: Path, *, sha256: str | None) -> None:
    """Fetch ``url`` to ``path``. What arrived of an interrupted transfer is kept beside it and continued.

    Args:
        url: The address.
        path: Where the file is to be; it appears when it is complete and its checksum is right.
        sha256: The checksum, or ``None`` where none is known; then only the announced length is checked.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    for attempt in range(_ATTEMPTS):
        resumed = part.exists()
        try:
            complete = _transfer(url, part)
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            if isinstance(error, urllib.error.HTTPError) and error.code == 416:
                # Nothing beyond what is here: it is whole, or another file; the checksum knows.
                complete = sha256 is not None
                if not complete:
                    part.unlink()
            elif isinstance(error, (urllib.error.URLError, FileNotFoundError)) or attempt == _ATTEMPTS - 1:
                raise InputError(f"{url}: {getattr(error, 'reason', error)}") from error
            else:
                continue
        if not complete:
            continue
        found = hashlib.sha256(part.read_bytes()).hexdigest()
        if sha256 is None or found == sha256:
            os.replace(part, path)
            return
        part.unlink()
        if not resumed:
            raise InputError(f"{url}: the SHA-256 of what arrived is {found}, not {sha256}; try again later.")
    raise InputError(f"{url}: the transfer broke off; run the command again and it continues from there.")


def _transfer(url: str, part: Path) -> bool:
    """Fetch what is missing of ``part``; whether all that the server announced is here."""
    start = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "hypergraph"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
        if response.status != http.client.PARTIAL_CONTENT:
            start = 0  # the server sends all of it
        length = response.headers.get("Content-Length")
        total = start + int(length) if length else None
        done = start
        with (
            part.open("ab" if start else "wb") as file,
            progress(f"Fetching {url.rsplit('/', 1)[-1]}", total, unit="bytes") as report,
        ):
            while block := response.read(_BLOCK):
                file.write(block)
                done += len(block)
                report(done)
    return total is None or done == total

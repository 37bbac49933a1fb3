from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hypergraph.datasets.download import download
from hypergraph.errors import InputError

CONTENT = bytes(range(256)) * 4096
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves ``CONTENT``, as badly as it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.break_after: list[int] = []  # bytes that the next answers send before they break off
        self.ranges = True
        self.asked: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/file"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        if self.path == "/absent":
            self.send_error(404)
            return
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.server.ranges else 0
        if start >= len(self.server.content):
            self.send_error(416)
            return
        body = self.server.content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.break_after.pop(0)] if self.server.break_after else body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_a_whole_transfer(server: Server, tmp_path: Path) -> None:
    download(server.url, tmp_path / "deep" / "file", sha256=SHA256)
    assert (tmp_path / "deep" / "file").read_bytes() == CONTENT
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["file"]


def test_a_transfer_that_breaks_off_is_continued(server: Server, tmp_path: Path) -> None:
    server.break_after = [300_000, 200_000]
    download(server.url, tmp_path / "file", sha256=SHA256)
    assert server.asked == [None, "bytes=300000-", "bytes=500000-"]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_what_arrived_is_kept_for_the_next_time(server: Server, tmp_path: Path) -> None:
    server.break_after = [1000, 1000, 1000]
    with pytest.raises(InputError, match=r"broke off; run the command again"):
        download(server.url, tmp_path / "file", sha256=SHA256)
    assert [path.name for path in tmp_path.iterdir()] == ["file.part"]
    download(server.url, tmp_path / "file", sha256=SHA256)
    assert server.asked[-1] == "bytes=3000-"
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_server_without_ranges_sends_all_again(server: Server, tmp_path: Path) -> None:
    server.ranges, server.break_after = False, [1000]
    download(server.url, tmp_path / "file", sha256=SHA256)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_corrupt_transfer_leaves_nothing(server: Server, tmp_path: Path) -> None:
    server.content = CONTENT[:-1] + b"!"
    with pytest.raises(InputError, match=rf"the SHA-256 of what arrived is \w+, not {SHA256}"):
        download(server.url, tmp_path / "file", sha256=SHA256)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stale", [b"another file", CONTENT + b"more"])
def test_a_stale_part_is_thrown_away(server: Server, tmp_path: Path, stale: bytes) -> None:
    (tmp_path / "file.part").write_bytes(stale)
    download(server.url, tmp_path / "file", sha256=SHA256)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_without_a_checksum_a_part_that_is_too_long_is_thrown_away(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT + b"more")
    download(server.url, tmp_path / "file", sha256=None)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_complete_part_is_taken(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT)
    download(server.url, tmp_path / "file", sha256=SHA256)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_without_a_checksum_the_length_is_checked(server: Server, tmp_path: Path) -> None:
    server.break_after = [10]
    download(server.url, tmp_path / "file", sha256=None)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_an_absent_file_and_an_absent_server(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"/absent: Not Found"):
        download(server.url.replace("/file", "/absent"), tmp_path / "file", sha256=SHA256)
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9/file: .*refused"):
        download("http://127.0.0.1:9/file", tmp_path / "file", sha256=SHA256)
    assert not list(tmp_path.iterdir())

"""Shared fixtures: where the real data is."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hypergraph.progress import be_quiet
from tests.ways import WAYS, way

# Read at once: the tests of datasets take it out of the environment.
_GIVEN = os.environ.get("HYPERGRAPH_DATA")
# A job in the background of a shell ignores Ctrl-C, and so would every command that a test interrupts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    be_quiet(False)  # a command with --quiet that ran in this process before
    if sys.platform == "win32" and item.get_closest_marker("posix"):
        pytest.skip("Windows has no signals, pipes, devices or links such as this test is about")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data; a test that needs it is skipped where it is absent."""
    folder = Path(_GIVEN) if _GIVEN else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is absent; set HYPERGRAPH_DATA to the folder that holds it")
    return folder


@pytest.fixture
def real_data(request: pytest.FixtureRequest) -> Callable[[str], Path | None]:
    """The folder that holds a dataset; none is needed for those that are part of the package."""

    def folder(name: str) -> Path | None:
        return None if name in ("cora", "disease") else request.getfixturevalue("data_dir")

    return folder


@pytest.fixture(params=WAYS)
def either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the test by kernels and by definitions."""
    with way(request.param):
        yield

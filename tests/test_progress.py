import io
import sys

import pytest

from hypergraph.progress import progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_silent_when_not_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with progress("work", 3) as report:
        report(1)
        report(3, "done")
    out, err = capfd.readouterr()
    assert out == "" and err == ""


@pytest.mark.parametrize(("total", "unit"), [(3, ""), (None, ""), (2048, "bytes")])
def test_shows_description_and_note_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, total: float | None, unit: str
) -> None:
    screen = _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress("training", total, unit=unit) as report:
        report(2, "loss 0.5")
    assert "training" in screen.getvalue() and "loss 0.5" in screen.getvalue()

"""Tasks in other processes: results, errors, progress, lost processes, and no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hypergraph.errors import InputError
from hypergraph.tasks import executors
from hypergraph.tasks.api import node_classification
from hypergraph.tasks.executors import as_done, check_backend, executor

pytestmark = pytest.mark.posix

HELPERS = """
import os, signal, time
from pathlib import Path
from hypergraph.errors import InputError
from hypergraph.tasks.executors import tell

def square(x):
    tell(x, 0.5, "half")
    return x * x, os.getpid()

def refuse(x):
    raise InputError(f"no {x}.")

def lost_once(mark):
    if not Path(mark).exists():
        Path(mark).write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"

def lost_always():
    os.kill(os.getpid(), signal.SIGKILL)

def wait_long(mark):
    Path(mark).write_text(str(os.getpid()))
    time.sleep(300)
"""


@pytest.fixture
def helpers(tmp_path, monkeypatch):
    """Functions that another process can import."""
    (tmp_path / "executor_helpers.py").write_text(HELPERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    import executor_helpers

    yield executor_helpers
    del sys.modules["executor_helpers"]


# A Ray instance takes half a minute to start: make test-ray
@pytest.fixture(params=["local", pytest.param("ray", marks=pytest.mark.slow)])
def backend(request, monkeypatch):
    if request.param == "ray":
        pytest.importorskip("ray", reason="Ray is not installed: make test-ray")
        # Ray starts its processes with nice 15, and on a busy machine they hardly run
        monkeypatch.setenv("RAY_worker_niceness", "0")
    return request.param


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int) -> bool:
    end = time.monotonic() + 20
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not alive(pid)


def test_results_errors_and_news(helpers, backend):
    heard = []
    with executor(backend, 2) as running:
        futures = {running.submit(helpers.square, x): x for x in range(4)}
        bad = running.submit(helpers.refuse, "way")
        for future in as_done(running, futures, lambda *told: heard.append(told)):
            value, process = future.result()
            assert value == futures[future] ** 2 and process != os.getpid()
        with pytest.raises(InputError, match=r"^no way\.$"):
            bad.result()
    if backend == "local":
        assert sorted(heard) == [(x, 0.5, "half") for x in range(4)]


def test_a_lost_process_is_tried_again(helpers, backend, tmp_path):
    with executor(backend, 2) as running:
        futures = [
            running.submit(helpers.lost_once, str(tmp_path / "mark")),
            running.submit(helpers.square, 3),
        ]
        assert futures[0].result(60) == "done" and futures[1].result(60)[0] == 9


def test_a_process_that_is_always_lost_is_an_error(helpers, backend):
    with executor(backend, 1) as running:
        with pytest.raises(InputError, match="its process was lost 3 times"):
            running.submit(helpers.lost_always).result(120)
        if backend == "local":
            assert running.submit(helpers.square, 3).result(60)[0] == 9


def test_no_process_is_left_behind(helpers, tmp_path, caplog):
    mark = tmp_path / "pid"
    with executor("local", 1) as running:
        for _ in range(5):  # most are cancelled, in silence
            running.submit(helpers.wait_long, str(mark))
        while not mark.exists() or not mark.read_text():
            time.sleep(0.05)
    assert gone(int(mark.read_text())) and not caplog.records


def test_processes_end_when_the_one_that_started_them_is_killed(helpers, tmp_path):
    mark = tmp_path / "pid"
    code = f"""
from hypergraph.tasks.executors import executor
import executor_helpers
with executor("local", 1) as running:
    running.submit(executor_helpers.wait_long, {str(mark)!r}).result()
"""
    script = tmp_path / "script.py"  # without `if __name__`, which spawned processes would run again
    script.write_text(code)
    process = subprocess.Popen([sys.executable, str(script)])
    end = time.monotonic() + 60
    while not (mark.exists() and mark.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert gone(int(mark.read_text()))


def test_seeds_have_the_same_numbers_everywhere(graph, tmp_path, backend, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    settings = {"seeds": 2, "epochs": 3, "patience": 0}
    here = node_classification(graph, out=tmp_path / "here", jobs=1, **settings)
    there = node_classification(graph, out=tmp_path / "there", jobs=2, backend=backend, **settings)
    assert [seed["test"] for seed in here.seeds] == [seed["test"] for seed in there.seeds]


def test_short_seeds_stay_in_this_process(graph, tmp_path, monkeypatch):
    monkeypatch.setattr("hypergraph.tasks.runner.cores", lambda config: 2)
    monkeypatch.setattr("hypergraph.tasks.runner._START", 1000.0)

    def never(*args, **kwargs):
        raise AssertionError("a process was started")

    monkeypatch.setattr("hypergraph.tasks.runner.executor", never)
    settings = {"seeds": 2, "epochs": 3, "patience": 0}
    node_classification(graph, out=tmp_path / "short", **settings)
    # long ones do not: what is left goes to others, and comes to the same
    monkeypatch.setattr("hypergraph.tasks.runner._START", -1.0)
    with pytest.raises(AssertionError, match="a process was started"):
        node_classification(graph, out=tmp_path / "long", **settings)


def test_bad_backends_are_one_sentence(graph, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="Unknown backend 'rai'; did you mean 'ray'"):
        check_backend("rai")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"Ray is not installed; .* pip install 'hypergraph\[ray\]'"):
        node_classification(graph, out=tmp_path / "run", backend="ray")
    assert not (tmp_path / "run").exists()
    assert executors.BACKENDS == ("local", "ray")

"""The command line: light at the start, one sentence for a mistake, JSON alone on standard output."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import pytest

import hypergraph
from hypergraph import cli
from hypergraph.tasks.kinds import KINDS

ROOT = Path(hypergraph.__file__).parents[1]


def run(monkeypatch: pytest.MonkeyPatch, *typed: str) -> int:
    """Run the command in this process; its exit code."""
    monkeypatch.setattr(sys, "argv", ["hypergraph", *typed])
    with pytest.raises(SystemExit) as leaving:
        cli.main()
    code = leaving.value.code
    return code if isinstance(code, int) else 0


def test_nothing_heavy_at_the_start() -> None:
    code = (
        "import sys, hypergraph.cli as cli\n"
        "sys.argv = ['hypergraph', '--help']\n"
        "try:\n    cli.main()\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'scipy', 'torch_geometric', 'matplotlib', 'sklearn', 'numba'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert "node-clf" in done.stdout and done.stderr.strip() == "[]"


def test_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"hypergraph {hypergraph.__version__}\n"


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("node-clg", "There is no command 'node-clg', did you mean 'node-clf'?"),
        ("node-clf --datset cora", "There is no option '--datset', did you mean '--dataset'?"),
        ("--verion", "There is no option '--verion', did you mean '--version'?"),
        ("node-clf --epochs many", "Invalid value for '--epochs'"),
        ("node-clf --epochs", "Option '--epochs' requires an argument"),
        ("node-clf --dataset diseas", "Unknown dataset 'diseas'; did you mean 'disease'?"),
        ("node-clf --dataset disease --head bmlr", "Unknown head 'bmlr'; did you mean 'bmlr-p'?"),
        ("link-pred --dataset disease --fc bfc-q", "Unknown fc 'bfc-q'; did you mean 'bfc-p'?"),
        (
            "node-clf --dataset disease --split strickt",
            "Unknown split 'strickt'; did you mean 'strict'?",
        ),
        ("node-clf --dataset disease --config no.toml", "no.toml: cannot be read"),
        ("node-clf --dataset disease --device gpu", "Unknown device 'gpu'"),
        ("node-clf --resume nowhere", "nowhere: not a run folder"),
        ("show nowhere", "nowhere: not a run folder"),
        ("predict nowhere", "nowhere: not a run folder"),
        ("compare nowhere elsewhere", "nowhere: no result.json there"),
        ("predict", "Missing argument 'RUN'"),
        ("node-clf --dataset disease --log tensorbord", "Unknown log 'tensorbord'; did you mean"),
        ("node-clf --phi tanh", "There is no option '--phi' (see"),
        (
            "node-clf --dataset disease --weight-decay nan",
            "weight_decay must be finite, at least 0",
        ),
        ("node-clf --dataset disease --lr inf", "lr must be finite, above 0, got inf."),
        ("node-clf --dataset disease --seed 99999999999999999999", "seed must be at least 0 and at most"),
        ("node-clf --dataset disease --dim 2147483648", "dim must be at least 1 and at most 4096"),
        ("node-clf --dataset disease --num-layers 1000 --dim 4096", "lower num_layers or dim"),
        pytest.param(
            "node-clf --dataset disease --config /dev/zero",
            "/dev/zero: not a file.",
            marks=pytest.mark.posix,
        ),
        ("link-pred --dataset disease --phi MultiheadAttention", "Unknown phi 'MultiheadAttention'"),
        ("link-pred --dataset disease --fc=", "Unknown fc ''. Known: mobius"),
        ("genome --length 1000000000", "length must be at least 1 and at most 1000000"),
        ("delta --dataset disease --method sampled --seed -1", "seed must be at least 0"),
        ("delta --dataset disease --time-limit nan", "time_limit must be finite, above 0"),
    ],
)
def test_one_sentence_and_code_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    typed: str,
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *typed.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("hypergraph: ") and text in printed.err
    assert len(printed.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(30, "Read-only file system", "run/.lock"), "run/.lock: read-only file system."),
        (MemoryError(), "There is not enough memory for this"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "There is not enough memory for this"),
        (ValueError("embedded null byte"), "A path must not hold a null byte."),
    ],
)
def test_what_the_machine_refuses_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, text: str
) -> None:
    def refused(task: str, typed: dict[str, object]) -> None:
        raise error

    monkeypatch.setattr("hypergraph.tasks.command.run_task", refused)
    assert run(monkeypatch, "node-clf", "--resume", "run") == 2
    assert text in capsys.readouterr().err


def test_a_terminal_without_unicode(tmp_path: Path) -> None:
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "hypergraph", "node-clf", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.returncode == 0 and "mean ? std" in done.stdout and not done.stderr


def test_a_bug_is_no_mistake_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(task: str, typed: dict[str, object]) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("hypergraph.tasks.command.run_task", broken)
    monkeypatch.setattr(sys, "argv", ["hypergraph", "node-clf", "--dataset", "disease"])
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main()


@pytest.mark.parametrize("task", KINDS)
def test_every_field_is_an_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], task: str
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    assert run(monkeypatch, task, "-h") == 0
    printed = capsys.readouterr().out
    for entry in fields(KINDS[task].load_config()):
        assert f"--{entry.name.replace('_', '-')} " in printed
        for name in entry.metadata["option"].choices:
            assert name in printed
    assert " Data " in printed and " Model " in printed and "Default: " in printed


def test_print_config(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ("node-clf", "--dataset", "cora", "--head", "bmlr-l", "--K", "-0.5", "--learn-curvature")
    assert run(monkeypatch, *typed, "--print-config") == 0
    printed = capsys.readouterr().out.splitlines()
    assert {"K = -0.5", "dropout = 0.3", "learn_curvature = true", 'encoder = "hgcn"'} <= set(printed)


def test_a_run_then_show_predict_compare(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    common = ("--dataset", "disease", "--seeds", "2", "--jobs", "1", "--epochs", "3")
    assert run(monkeypatch, "node-clf", *common, "--json") == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert result["folder"] == "runs/node-clf-disease-bmlr-p-1" and "Run folder" in printed.err
    assert "seed 0: val F1 " in printed.err and "seed 1: val F1 " in printed.err
    assert len(result["seeds"]) == 2 and "test_f1" in result["summary"]

    assert run(monkeypatch, "node-clf", *common, "--head", "pmlr", "--out", "mine") == 0
    printed = capsys.readouterr()
    assert "test F1" in printed.out and "Run folder" not in printed.out
    assert printed.err.count("Run folder: mine\n") == 1

    assert run(monkeypatch, "show", "mine", "--json") == 0
    assert json.loads(capsys.readouterr().out)["config"]["head"] == "pmlr"
    assert run(monkeypatch, "predict", "mine", "--out", "preds.csv") == 0
    assert len((tmp_path / "preds.csv").read_text().splitlines()) == 1045
    assert run(monkeypatch, "compare", "mine", result["folder"], "--json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["runs"][1]["difference"] is not None
    (tmp_path / "half").mkdir()
    shutil.copy(tmp_path / "mine" / "config.toml", tmp_path / "half" / "config.toml")
    assert run(monkeypatch, "compare", "mine", "half", result["folder"]) == 0
    printed = capsys.readouterr()
    assert "difference" in printed.out and "half is left out: it is unfinished." in printed.out
    assert run(monkeypatch, "runs", ".") == 0
    printed = capsys.readouterr()
    assert "node-clf-disease-bmlr-p-1" in printed.out and "0 of 2  unfinished" in printed.out


def test_several_heads_are_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    short = ("--dataset", "disease", "--seeds", "1", "--jobs", "1", "--epochs", "2")
    typed = ("node-clf", *short, "--head", "bmlr-p", "--head", "pmlr", "--out", "both", "-q", "--log", "csv")
    assert run(monkeypatch, *typed) == 0
    printed = capsys.readouterr()
    assert printed.err == "" and "difference" in printed.out and printed.out.count("(1 seed)") == 2
    assert {path.name for path in (tmp_path / "both").iterdir()} == {"bmlr-p", "pmlr"}
    config = (tmp_path / "both" / "pmlr" / "config.toml").read_text()
    assert 'split = "hgcn"' in config and 'device = "auto"' not in config
    first, *rows = (tmp_path / "both" / "pmlr" / "metrics.csv").read_text().splitlines()
    assert first.startswith("seed,epoch,") and [row[:4] for row in rows] == ["0,1,", "0,2,"]


def test_several_are_checked_before_the_first_is_trained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    short = ("--dataset", "disease", "--seeds", "1", "--epochs", "1", "--out", "both")
    for typed, said in (
        (("--fc", "mobius", "--fc", "foo"), "Unknown fc 'foo'"),
        (("--fc", "mobius", "--fc", "linear", "--encoder", "hnn"), "The fc 'linear' is euclidean"),
        (("--fc", "mobius", "--fc", "ltfc", "--phi", "tanh"), "The fc mobius takes no phi"),
    ):
        assert run(monkeypatch, "link-pred", *short, *typed) == 2
        assert said in capsys.readouterr().err and not list(tmp_path.iterdir())
    (tmp_path / "both" / "bfc-p" / "mine").mkdir(parents=True)
    assert run(monkeypatch, "link-pred", *short, "--fc", "mobius", "--fc", "bfc-p") == 2
    assert "the folder is not empty" in capsys.readouterr().err
    assert not (tmp_path / "both" / "mobius").exists()
    # an option that one of them takes is for that one
    typed = ("link-pred", "disease", "--fc", "mobius", "--fc", "bfc-p", "--phi", "tanh", "--print-config")
    assert run(monkeypatch, *typed) == 0
    printed = capsys.readouterr().out
    assert printed.count('phi = "none"') == printed.count('phi = "tanh"') == 1


def test_heads_on_a_terminal_and_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "heads") == 0
    assert capsys.readouterr().out.startswith("| name | space |")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert run(monkeypatch, "fcs") == 0
    printed = capsys.readouterr().out
    assert "|" not in printed and "bfc-l" in printed


@pytest.mark.posix
def test_interrupt_leaves_a_resumable_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hypergraph.cli", "node-clf", "--dataset", "disease", "--seeds", "1"]
    process = subprocess.Popen(
        [*command, "--epochs", "100000", "--patience", "0", "--out", "run"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    while not (tmp_path / "run" / "seeds" / "0" / "checkpoint.safetensors").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert "'hypergraph node-clf --resume run' continues" in said and "Traceback" not in said


def test_a_dataset_is_named_in_the_same_way_everywhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "square.csv").write_text("a,b\nb,c\nc,d\nd,a\n")
    graph = str(tmp_path / "square.csv")
    for command in ("data info", "delta", "plot tree", "plot delta", "explore", "node-clf --print-config"):
        out = ["--out", str(tmp_path / "out.html" if command == "explore" else tmp_path / "out.png")]
        given = out if command.startswith(("plot", "explore")) else []
        if command.startswith("node"):
            graph = "disease"
        said = []
        for named in ([graph], ["--dataset", graph], ["--dataset", graph, graph]):
            if command == "explore" and len(named) > 2:  # two, side by side
                continue
            assert run(monkeypatch, *command.split(), *named, *given) == 0, capsys.readouterr().err
            said.append([line for line in capsys.readouterr().out.splitlines() if " s" not in line])
        assert all(lines == said[0] for lines in said)
    for command in ("data info", "data fetch", "delta", "plot tree", "explore"):
        assert run(monkeypatch, *command.split()) == 2
        assert "Name a dataset, such as cora" in capsys.readouterr().err
    for at, named in enumerate(([graph], ["--dataset", graph], ["--dataset", graph, graph])):
        folder = str(tmp_path / f"folder{at}")
        assert run(monkeypatch, "data", "convert", *named, folder) == 0, capsys.readouterr().err
        assert (tmp_path / f"folder{at}" / "edge_index.npy").is_file()
        words = [
            "--method",
            "bmlr-p",
            "--search",
            "lr=0.01",
            "--set",
            "epochs=1",
            "--trials",
            "1",
            "--seeds",
            "1",
        ]
        study = str(tmp_path / f"study{at}")
        assert run(monkeypatch, "tune", "node-clf", *named, *words, "--out", study) == 0, (
            capsys.readouterr().err
        )
    capsys.readouterr()
    for command, said in (
        ("data convert", "Name a dataset"),
        ("data convert cora", "Name the folder to write"),
    ):
        assert run(monkeypatch, *command.split()) == 2
        assert said in capsys.readouterr().err
    assert run(monkeypatch, "tune", "node-clf") == 2
    assert "Name a dataset, such as cora" in capsys.readouterr().err
    assert run(monkeypatch, "delta", "cora", "--dataset", "disease") == 2
    assert "Two datasets are given, cora and disease; name one." in capsys.readouterr().err

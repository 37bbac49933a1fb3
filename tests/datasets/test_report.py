from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hypergraph.cli import app
from hypergraph.datasets import report, sources
from hypergraph.datasets.names import DATASETS
from hypergraph.errors import InputError


def data(*arguments: str) -> Any:
    """What `hypergraph data ARGUMENTS --json` prints; its error is raised."""
    result = CliRunner().invoke(app, ["data", *arguments, "--json"])
    if result.exception is not None:
        raise result.exception
    return json.loads(result.stdout)


def text(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["data", *arguments])
    assert result.exit_code == 0
    return result.stdout


def test_list(data_dir: Path) -> None:
    rows = {row["name"]: row for row in data("list", "--data", str(data_dir))}
    assert list(rows) == list(DATASETS)
    assert rows["cora"]["files"] == "folder"
    assert rows["citeseer"]["files"] == "to fetch"
    assert rows["disease"]["files"] == "package"
    assert rows["pubmed"] | {"files": ""} == {
        "name": "pubmed",
        "nodes": 19717,
        "edges": 44324,
        "features": 500,
        "classes": 3,
        "split": "planetoid",
        "files": "",
        "about": "Citations of papers on diabetes (Planetoid)",
    }
    assert text("list").splitlines()[0].split() == list(rows["cora"])


def test_info() -> None:
    airport = data("info", "airport")
    assert "225 of its 506 test nodes are training nodes" in airport["note"]
    assert airport["link"] == {"nodes": 3188, "edges": 18630, "features": 12}
    assert airport["sources"]["airport"]["found"] == "to fetch"
    assert set(data("info", "disease-hgcn")["sources"]) == {"disease_nc", "disease_lp"}
    assert "sources" not in data("info", "disease")
    assert "hgcn, strict, planetoid, random" in text("info", "cora")
    with pytest.raises(InputError, match=r"Unknown dataset 'cofa'; did you mean 'cora'"):
        data("info", "cofa")


def test_info_on_a_graph_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b\nb,c\n")
    (tmp_path / "labels.csv").write_text("a,0\nb,1\nc,1\nd,0\n")
    info = data("info", str(tmp_path))
    assert (info["nodes"], info["edges"], info["isolated"]) == (4, 2, 1)
    assert info["classes"] == {"0": 2, "1": 2}
    assert data("check", str(tmp_path))["graph"] == info


def test_check(data_dir: Path, tmp_path: Path) -> None:
    checked = report.check(data_dir)
    assert not checked["ok"] and checked["missing"] == ["disease_nc.feats.npz"]
    assert set(checked["datasets"]["pubmed"].values()) == {"ok"}
    assert checked["datasets"]["disease-hgcn-node"]["disease_nc.feats.npz"] == "missing"
    with pytest.raises(InputError, match=r"missing: disease_nc\.feats\.npz; fetch them again"):
        data("check", str(data_dir))
    shutil.copyfile(data_dir / "airport" / "airport.p", tmp_path / "airport.p")
    assert data("check", str(tmp_path))["datasets"] == {"airport": {"airport.p": "ok"}}
    with (tmp_path / "airport.p").open("ab") as file:
        file.write(b"!")
    with pytest.raises(InputError, match=r"damaged: airport\.p; fetch them again"):
        data("check", str(tmp_path))
    with pytest.raises(InputError, match=r"absent: no such folder"):
        data("check", str(tmp_path / "absent"))


def test_fetch(data_dir: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(url: str, path: Path, *, sha256: str | None) -> None:
        source = data_dir / url.split("/")[-2] / path.name
        if not source.is_file():
            raise InputError(f"{url}: Not Found")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)

    monkeypatch.setattr(sources, "download", download)
    fetched = data("fetch", "airport")
    assert fetched == {
        "name": "airport",
        "files": {"airport.p": str(cache / "airport" / "raw" / "airport.p")},
    }
    assert data("list")[3]["files"] == "cache"
    assert data("fetch", "disease")["files"] == {}
    # What can be had is fetched, and what cannot is named.
    with pytest.raises(InputError, match=r"disease_nc\.feats\.npz: not in .*Not Found"):
        data("fetch", "disease-hgcn")
    assert (cache / "disease-hgcn" / "raw" / "disease_lp.feats.npz").is_file()
    with pytest.raises(InputError, match=r"Unknown dataset 'airprot'; did you mean 'airport'"):
        data("fetch", "airprot")


def test_the_list_does_not_import_torch() -> None:
    code = (
        "import sys; from hypergraph.datasets import report; report.list_datasets(); report.describe('cora');"
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

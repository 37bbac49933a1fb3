"""Reading labelled DNA: the CSV files of GUE and TEB, FASTA, one CSV that is split here, or simulated."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hypergraph.datasets.labels import natural
from hypergraph.datasets.stable_random import StableRandom
from hypergraph.errors import InputError, short
from hypergraph.files import reading, regular_file
from hypergraph.limits import require

ALPHABET = "ACGTN"
# What each letter of IUPAC may stand for. N is a letter of its own in the benchmarks; U is RNA's T, and a gap
# says as little as N.
IUPAC = {
    **{base: base for base in ALPHABET},
    "R": "AG",
    "Y": "CT",
    "S": "CG",
    "W": "AT",
    "K": "GT",
    "M": "AC",
    "B": "CGT",
    "D": "AGT",
    "H": "ACT",
    "V": "ACG",
    "U": "T",
    "-": "N",
    ".": "N",
}
_CODE = np.full(256, 255, dtype=np.uint8)
for _index, _letter in enumerate(IUPAC):
    _CODE[[ord(_letter), ord(_letter.lower())]] = _index
_PAD = ALPHABET.index("N")
_HEADERS = {"sequence": ("sequence", "seq"), "label": ("label", "class")}
_PARTS = ("train", "dev", "test")
FRACTIONS = (0.8, 0.1, 0.1)


@dataclass(frozen=True)
class Sequences:
    """One part: ``codes`` ``(number, length)`` index :data:`IUPAC`, ``labels`` the classes."""

    codes: NDArray[np.uint8]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class GenomeData:
    """Labelled sequences of one length, in three parts; ``notices`` say what was changed to get there."""

    name: str
    classes: tuple[str, ...]
    train: Sequences
    dev: Sequences
    test: Sequences
    notices: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        return self.train.codes.shape[1]


@dataclass(frozen=True)
class _Record:
    line: int
    letters: NDArray[np.uint8]
    label: str


def letter_weights() -> NDArray[np.float32]:
    """A row over :data:`ALPHABET` for each code: one-hot, or the shares of what the letter may stand for."""
    rows = np.zeros((len(IUPAC), len(ALPHABET)), dtype=np.float32)
    for row, meanings in zip(rows, IUPAC.values()):
        row[[ALPHABET.index(base) for base in meanings]] = 1 / len(meanings)
    return rows


def load_genome(
    name_or_path: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    length: int | None = None,
    split_seed: int = 0,
) -> GenomeData:
    """Load labelled sequences.

    Args:
        name_or_path: ``"simulated"``; a folder with ``train``, ``dev`` and ``test`` (``.csv`` or ``.fasta``);
            one such file, which is split here; or the name of one of these below ``data``, e.g. ``"splice"``
            or ``"gue/prom_core_tata"``.
        data: The folder for names; by default ``HYPERGRAPH_DATA``.
        length: Letters of a sequence: longer ones are cut, shorter ones filled with N. By default that of
            the longest training sequence.
        split_seed: The seed of the split of one file.
    """
    if str(name_or_path) == "simulated":
        from hypergraph.datasets.genome_simulation import simulate_motifs

        return simulate_motifs()
    path = _locate(str(name_or_path), data)
    if path.is_dir():
        files = {part: _part_file(path, part) for part in _PARTS}
        records = {part: list(_read(file)) for part, file in files.items()}
        _check_headers(files)
    else:
        files = dict.fromkeys(_PARTS, path)
        records = _split(list(_read(path)), split_seed, path)
    classes = sorted({record.label for record in records["train"]}, key=natural)
    if len(classes) < 2:
        raise InputError(
            f"{files['train']}: the training sequences have the one label {classes}; give two or more."
        )
    index = {label: number for number, label in enumerate(classes)}
    for part in _PARTS:
        for record in records[part]:
            if record.label not in index:
                raise InputError(
                    f"{files[part]}, line {record.line}: label '{short(record.label)}' does not occur in "
                    f"training; known there: {short(', '.join(classes), 400)}."
                )
    sizes = [len(record.letters) for part in _PARTS for record in records[part]]
    wanted = length or max(len(record.letters) for record in records["train"])
    require(2 * len(sizes) * wanted, f"{path}: {len(sizes):,} sequences of {wanted:,} letters each")
    notices = _length_notices(np.array(sizes), wanted)
    train, dev, test = (_stack(records[part], index, wanted) for part in _PARTS)
    return GenomeData(path.stem, tuple(classes), train, dev, test, notices)


def _locate(name: str, data: str | os.PathLike[str] | None) -> Path:
    given = data or os.environ.get("HYPERGRAPH_DATA")
    root = Path(given) if given else None
    places = [Path(name)] + ([root / name, root / "gue" / name] if root else [])
    for place in places:
        if place.is_file():
            return place
        if place.is_dir():
            # A folder with a single table, as UCI's splice/splice.csv.
            tables = [*place.glob("*.csv"), *place.glob("*.fa"), *place.glob("*.fasta")]
            return tables[0] if len(tables) == 1 else place
    below = f" nor below {root}" if root else "; name the folder that holds it with --data or HYPERGRAPH_DATA"
    raise InputError(f"{name}: neither 'simulated' nor a file or folder here{below}.")


def _part_file(folder: Path, part: str) -> Path:
    for suffix in (".csv", ".fasta", ".fa"):
        if (folder / f"{part}{suffix}").is_file():
            return folder / f"{part}{suffix}"
    raise InputError(f"{folder}: {part}.csv (or {part}.fasta) is missing; train, dev and test are needed.")


def _read(path: Path) -> Iterator[_Record]:
    require(4 * regular_file(path), str(path))
    with reading(path, "a CSV or FASTA file in UTF-8"):
        records = list(_read_csv(path) if path.suffix.lower() == ".csv" else _read_fasta(path))
    if not records:
        raise InputError(f"{path}: no sequences in it.")
    return iter(records)


def _header(path: Path, row: list[str]) -> dict[str, int]:
    """Where the sequence and the label are."""
    names = [name.strip().lower() for name in row]
    found = {}
    for wanted, spellings in _HEADERS.items():
        places = [place for place, name in enumerate(names) if name in spellings]
        if not places:
            raise InputError(f"{path}, line 1: no column '{wanted}' in the header '{short(','.join(row))}'.")
        found[wanted] = places[0]
    return found


def _check_headers(files: dict[str, Path]) -> None:
    """The three tables must have the same columns: else one of them is of another dataset."""
    first = None
    for path in files.values():
        if path.suffix != ".csv":
            continue
        with path.open(encoding="utf-8-sig") as file:
            header = [name.strip() for name in file.readline().split(",")]
        if first is not None and header != first[1]:
            raise InputError(
                f"{path}, line 1: the header '{','.join(header)}' is not that of {first[0].name}, "
                f"'{','.join(first[1])}'; give the three files the same columns."
            )
        first = first or (path, header)


def _read_csv(path: Path) -> Iterator[_Record]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            column = _header(path, next(rows, []))
            for row in rows:
                if not row:
                    continue
                if len(row) <= max(column.values()):
                    raise InputError(
                        f"{path}, line {rows.line_num}: fewer fields than the header, {len(row)}; "
                        "give each line a sequence and a label."
                    )
                label = row[column["label"]].strip()
                yield _record(path, rows.line_num, row[column["sequence"]], label)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8 ({error}).") from error


def _read_fasta(path: Path) -> Iterator[_Record]:
    """The label is the last field of a header, after a blank or a bar: ``>name|promoter``."""
    start, label, lines = 0, "", []  # type: tuple[int, str, list[str]]
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate((text.strip() for text in file), 1):
                if line.startswith(">"):
                    if start:
                        yield _record(path, start, "".join(lines), label, fasta=lines)
                    fields = line[1:].replace("|", " ").split()
                    if len(fields) < 2:
                        raise InputError(
                            f"{path}, line {number}: no label in the header '{short(line)}'; write "
                            "'>name|label'."
                        )
                    start, label, lines = number, fields[-1].removeprefix("label="), []
                elif line and not start:
                    raise InputError(f"{path}, line {number}: letters before the first header '>name|label'.")
                elif line:
                    lines.append(line)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a FASTA file in UTF-8 ({error}).") from error
    if start:
        yield _record(path, start, "".join(lines), label, fasta=lines)


def _record(path: Path, line: int, text: str, label: str, fasta: list[str] | None = None) -> _Record:
    text = text.strip()
    if not label:
        raise InputError(f"{path}, line {line}: the label is empty.")
    if not text:
        raise InputError(f"{path}, line {line}: the sequence is empty.")
    letters = _CODE[np.frombuffer(text.encode("latin-1", "replace"), dtype=np.uint8)]
    wrong = np.flatnonzero(letters == 255)
    if len(wrong):
        place, row = int(wrong[0]), line
        for number, part in enumerate(fasta or [], 1):
            row = line + number
            if place < len(part):
                break
            place -= len(part)
        raise InputError(
            f"{path}, line {row}: '{text[wrong[0]]}' at letter {place + 1} is no IUPAC letter "
            f"({''.join(IUPAC)}); correct it, or write N."
        )
    return _Record(line, letters, label)


def _split(records: list[_Record], seed: int, path: Path) -> dict[str, list[_Record]]:
    """80/10/10 within every class, from a stream that never changes."""
    order = StableRandom(seed, "genome-split").permutation(len(records))
    by_class: dict[str, list[int]] = {}
    for number in order.tolist():
        by_class.setdefault(records[number].label, []).append(number)
    parts: dict[str, list[int]] = {part: [] for part in _PARTS}
    for label, members in by_class.items():
        dev, test = (max(1, round(share * len(members))) for share in FRACTIONS[1:])
        if len(members) < 3:
            raise InputError(
                f"{path}, line {records[members[-1]].line}: class '{label}' has {len(members)} sequences, "
                "too few for training, dev and test; give three or more."
            )
        parts["dev"] += members[:dev]
        parts["test"] += members[dev : dev + test]
        parts["train"] += members[dev + test :]
    return {part: [records[number] for number in sorted(members)] for part, members in parts.items()}


def _length_notices(sizes: NDArray[np.int64], wanted: int) -> tuple[str, ...]:
    cut, filled = int((sizes > wanted).sum()), int((sizes < wanted).sum())
    if not (cut or filled):
        return ()
    return (f"{cut} of {len(sizes)} sequences were cut to {wanted} letters, {filled} were filled with N.",)


def _stack(records: list[_Record], index: dict[str, int], length: int) -> Sequences:
    codes = np.full((len(records), length), _PAD, dtype=np.uint8)
    for row, record in zip(codes, records):
        row[: len(record.letters)] = record.letters[:length]
    return Sequences(codes, np.array([index[record.label] for record in records], dtype=np.int64))

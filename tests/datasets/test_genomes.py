"""Readers of labelled DNA: what is read, what is refused, and with which words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hypergraph.datasets.genome_simulation import simulate_motifs, simulate_species
from hypergraph.datasets.genomes import IUPAC, letter_weights, load_genome
from hypergraph.errors import InputError

TABLE = "sequence,label\nACGT,0\nCCGT,1\n"


def folder(path: Path, **parts: str) -> Path:
    for part in ("train", "dev", "test"):
        (path / f"{part}.csv").write_text(parts.get(part, TABLE), encoding="utf-8")
    return path


def text_of(codes: np.ndarray) -> str:
    return "".join(list(IUPAC)[code] for code in codes)


def test_three_tables(tmp_path: Path) -> None:
    parts = {"train": "ACGT,10\nccNr,9\n", "dev": "TTTT,9\n", "test": "GGGG,10\n"}
    data = load_genome(folder(tmp_path, **{part: "sequence,label\n" + rows for part, rows in parts.items()}))
    assert data.classes == ("9", "10")
    assert [text_of(row) for row in data.train.codes] == ["ACGT", "CCNR"]
    assert data.train.labels.tolist() == [1, 0]
    assert (len(data.dev), len(data.test), data.length, data.notices) == (1, 1, 4, ())


def test_letters_become_shares() -> None:
    weights = letter_weights()
    np.testing.assert_allclose(weights.sum(1), 1)
    np.testing.assert_array_equal(weights[:5], np.eye(5))
    rows = dict(zip(IUPAC, weights.tolist()))
    assert rows["R"] == [0.5, 0, 0.5, 0, 0]
    assert rows["U"] == rows["T"] and rows["-"] == rows["N"]
    assert rows["D"] == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3, 0])


def test_unequal_lengths_are_filled_and_cut_with_a_notice(tmp_path: Path) -> None:
    table = "sequence,label\nACGTAC,0\nCC,1\n"
    data = load_genome(folder(tmp_path, train=table, dev="sequence,label\nACGTACGTA,1\n"))
    assert [text_of(row) for row in data.train.codes] == ["ACGTAC", "CCNNNN"]
    assert text_of(data.dev.codes[0]) == "ACGTAC"
    assert data.notices == ("1 of 5 sequences were cut to 6 letters, 3 were filled with N.",)
    assert load_genome(tmp_path, length=3).length == 3


def test_fasta_takes_the_label_from_the_header(tmp_path: Path) -> None:
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.fasta").write_text(">a|x\nAC\nGT\n\n>b some words y\nTTTT\n>c label=x\nAAAA\n")
    data = load_genome(tmp_path)
    assert data.classes == ("x", "y")
    assert [text_of(row) for row in data.test.codes] == ["ACGT", "TTTT", "AAAA"]
    assert data.test.labels.tolist() == [0, 1, 0]


def test_one_table_is_split_within_classes_and_the_same_every_time(tmp_path: Path) -> None:
    rows = [f"{'ACGT'[i % 4] * 6}, {'AB'[i % 10 == 0]} , id{i}" for i in range(200)]
    path = tmp_path / "all.csv"
    path.write_text("\n".join(["Sequence, Class, Donor", *rows]) + "\n")
    data, again, other = (load_genome(path, split_seed=seed) for seed in (0, 0, 1))
    assert [np.bincount(part.labels).tolist() for part in (data.train, data.dev, data.test)] == [
        [144, 16],
        [18, 2],
        [18, 2],
    ]
    np.testing.assert_array_equal(data.dev.codes, again.dev.codes)
    assert not np.array_equal(data.dev.codes, other.dev.codes)
    assert data.dev.codes[:, 0].tolist()[:6] == [2, 0, 3, 3, 1, 0]  # pinned: the split must never change


@pytest.mark.parametrize(
    ("part", "table", "words"),
    [
        (
            "train",
            "sequence,label\nACGT,0\nACJT,1\n",
            r"train.csv, line 3: 'J' at letter 3 is no IUPAC letter",
        ),
        ("dev", "sequence,label\nACGT,2\n", r"dev.csv, line 2: label '2' does not occur in training; known"),
        ("test", "seq,label\nACGT,1\n", r"test.csv, line 1: the header 'seq,label' is not that of train.csv"),
        (
            "train",
            "letters,label\nACGT,1\n",
            r"train.csv, line 1: no column 'sequence' in the header 'letters",
        ),
        ("dev", "sequence,label\nACGT\n", r"dev.csv, line 2: fewer fields than the header, 1;"),
        ("dev", "sequence,label\nACGT,\n", r"dev.csv, line 2: the label is empty"),
        ("dev", "sequence,label\n,1\n", r"dev.csv, line 2: the sequence is empty"),
        ("dev", "sequence,label\n", r"dev.csv: no sequences in it"),
        ("train", "sequence,label\nACGT,1\n", r"train.csv: the training sequences have the one label"),
    ],
)
def test_bad_tables_name_file_and_line(tmp_path: Path, part: str, table: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_genome(folder(tmp_path, **{part: table}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (">a|x\nACGT\nAC!T\n", "line 3: '!' at letter 3 is no IUPAC letter"),
        (">a\nACGT\n", "line 1: no label in the header '>a'; write '>name|label'"),
        ("ACGT\n>a|x\n", "line 1: letters before the first header"),
        (">a|x\n>b|y\nAC\n", "line 1: the sequence is empty"),
        (">a|x\nAC\n>b|x\nAC\n>c|x\nAC\n>d|y\nAC\n", "line 7: class 'y' has 1 sequences"),
    ],
)
def test_bad_fasta_names_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "all.fa"
    path.write_text(text)
    with pytest.raises(InputError, match=r"all\.fa, " + words):
        load_genome(path)


def test_missing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYPERGRAPH_DATA", raising=False)
    with pytest.raises(InputError, match="neither 'simulated' nor a file or folder here; name the folder"):
        load_genome("nothing")
    folder(tmp_path)
    (tmp_path / "dev.csv").unlink()
    with pytest.raises(InputError, match=r"dev\.csv \(or dev\.fasta\) is missing"):
        load_genome(tmp_path)


def test_real_data(data_dir: Path) -> None:
    core = load_genome("prom_core_tata", data=data_dir)
    assert (len(core.train), len(core.dev), len(core.test), core.length) == (4904, 613, 613, 70)
    splice = load_genome("splice", data=data_dir)
    assert (splice.classes, splice.length) == (("EI", "IE", "N"), 60)
    assert [len(part) for part in (splice.train, splice.dev, splice.test)] == [2550, 320, 320]
    codes = np.concatenate([part.codes for part in (splice.train, splice.dev, splice.test)])
    ambiguous = {letter: int((codes == code).sum()) for code, letter in enumerate(IUPAC) if code > 3}
    assert {letter: count for letter, count in ambiguous.items() if count} == {
        "N": 56,
        "R": 1,
        "S": 1,
        "D": 2,
    }


def test_simulated_motifs_are_planted() -> None:
    data = simulate_motifs(3, length=40, mutation=0.0, sizes=(30, 6, 6))
    texts = [text_of(row) for row in data.train.codes]
    motif = {text[place : place + 10] for text in texts[1::3] for place in range(31)}
    common = [m for m in motif if all(m in text for text in texts[1::3])]
    assert len(common) == 1 and not any(common[0] in text for text in texts[::3])
    np.testing.assert_array_equal(load_genome("simulated").train.codes, simulate_motifs().train.codes)


def test_species_differ_in_their_kmers() -> None:
    data = simulate_species(5, sizes=(500, 50, 50))
    assert data.classes == tuple(f"species{n}" for n in range(5))
    pairs = data.train.codes[:, :-1] * 4 + data.train.codes[:, 1:]
    counts = np.stack([np.bincount(pairs[data.train.labels == n].ravel(), minlength=16) for n in range(5)])
    share = counts / counts.sum(1, keepdims=True)
    assert min(np.abs(share[i] - share[j]).sum() for i in range(5) for j in range(i)) > 0.05

"""Tables of a user's own graph: edges, features and labels in CSV, TSV, npy and npz."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hypergraph.errors import InputError

DELIMITERS = {".csv": ",", ".tsv": "\t"}
_ID_NAMES = {"id", "node", "node_id", "nodeid", "name"}
_ENDS = {("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("i", "j"), ("node1", "node2")}


@dataclass
class Table:
    """The rows of a text table, each with its line in the file."""

    path: Path
    rows: list[list[str]]
    lines: list[int]

    def where(self, row: int) -> str:
        return f"{self.path}:{self.lines[row]}"

    def without_first_row(self) -> Table:
        if len(self.rows) == 1:
            raise InputError(f"{self.where(0)}: only a header, and no rows below it.")
        return Table(self.path, self.rows[1:], self.lines[1:])


@dataclass
class NodeTable:
    """Features or labels: one row a node, by its id or, where ``ids`` is ``None``, in order."""

    path: Path
    values: Any
    ids: list[str] | None
    where: Callable[[int], str]


def read_table(path: Path) -> Table:
    """Read a CSV or TSV file; empty lines and lines that begin with ``#`` are skipped."""
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=DELIMITERS[path.suffix.lower()])
            for row in reader:
                cells = [cell.strip() for cell in row]
                if not any(cells) or cells[0].startswith("#"):
                    continue
                if rows and len(cells) != len(rows[0]):
                    raise InputError(
                        f"{path}:{reader.line_num}: {len(cells)} columns, where line {lines[0]} has "
                        f"{len(rows[0])}; every row needs as many."
                    )
                rows.append(cells)
                lines.append(reader.line_num)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a text table in UTF-8 ({error}).") from error
    if not rows:
        raise InputError(f"{path}:1: the file is empty.")
    return Table(path, rows, lines)


def read_edge_list(path: Path) -> tuple[Table, list[tuple[str, str]]]:
    """Read an edge list: two ids a row, with or without a header; columns after the second are not read."""
    table = read_table(path)
    if len(table.rows[0]) < 2:
        raise InputError(f"{table.where(0)}: one column, where an edge needs two: source and target.")
    first = tuple(cell.lower() for cell in table.rows[0][:2])
    # Ids may be words, so a first row of words is a header only by its names, or above rows of numbers.
    above_numbers = len(table.rows) > 1 and all(_is_number(cell) for cell in table.rows[1][:2])
    if first in _ENDS or (above_numbers and not any(map(_is_number, first))):
        table = table.without_first_row()
    for row, cells in enumerate(table.rows):
        if not (cells[0] and cells[1]):
            raise InputError(f"{table.where(row)}: an edge with an empty end; give both ids.")
    return table, [(cells[0], cells[1]) for cells in table.rows]


def read_features(path: Path) -> NodeTable:
    """Read features: a CSV/TSV with an ``id`` column or in the order of the nodes, an npy or an npz."""
    if path.suffix.lower() not in DELIMITERS:
        values = _read_numpy(path, ("x", "features", "feats"))
        where = _row_of(path)
        if values.ndim != 2:
            raise InputError(f"{path}: an array with {values.ndim} dimensions, where features need two.")
        if not sp.issparse(values) and not np.issubdtype(values.dtype, np.number):
            raise InputError(f"{path}: an array of {values.dtype}, where features are numbers.")
        return NodeTable(path, values, None, where)
    table, header = _split_header(read_table(path))
    by_id = header is not None and header[0].lower() in _ID_NAMES
    if by_id and len(table.rows[0]) < 2:
        raise InputError(f"{table.where(0)}: only ids, and no column of features.")
    values = np.empty((len(table.rows), len(table.rows[0]) - by_id))
    for row, cells in enumerate(table.rows):
        for column, cell in enumerate(cells[by_id:]):
            try:
                values[row, column] = float(cell)
            except ValueError:
                raise InputError(
                    f"{table.where(row)}: feature '{cell}' in column {column + by_id + 1} is not a number."
                ) from None
    return NodeTable(path, values, _ids(table) if by_id else None, table.where)


def read_labels(path: Path) -> NodeTable:
    """Read labels: a CSV/TSV with the columns id and label, or only labels in order; an npy or an npz."""
    if path.suffix.lower() not in DELIMITERS:
        values = _read_numpy(path, ("y", "labels"))
        return NodeTable(path, values, None, _row_of(path))
    table, _ = _split_header(read_table(path))
    if len(table.rows[0]) > 2:
        raise InputError(
            f"{table.where(0)}: {len(table.rows[0])} columns, where labels are `id,label` or `label`."
        )
    values = np.empty(len(table.rows), dtype=np.int64)
    for row, cells in enumerate(table.rows):
        try:
            values[row] = int(cells[-1])
        except ValueError:
            raise InputError(
                f"{table.where(row)}: label '{cells[-1]}' is not an integer; number the classes from 0."
            ) from None
    return NodeTable(path, values, _ids(table) if len(table.rows[0]) == 2 else None, table.where)


def load_numpy(path: Path) -> Any:
    """An array, or a dictionary of the arrays in an npz; pickled objects are refused."""
    try:
        with path.open("rb") as stream:
            content = np.load(stream, allow_pickle=False)
            return dict(content) if isinstance(content, np.lib.npyio.NpzFile) else content
    except EOFError:
        raise InputError(f"{path}:1: the file is empty.") from None
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a NumPy file without pickled objects ({error}).") from error


def sparse_parts(arrays: dict[str, Any], prefix: str, path: Path) -> sp.csr_matrix | None:
    """The CSR matrix whose parts are in an npz under ``prefix``, as SciPy and our cache write them."""
    if not all(f"{prefix}{key}" in arrays for key in ("data", "indices", "indptr", "shape")):
        return None
    try:
        parts = tuple(arrays[f"{prefix}{key}"] for key in ("data", "indices", "indptr"))
        matrix = sp.csr_matrix(parts, shape=tuple(arrays[f"{prefix}shape"]))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: its sparse features are inconsistent ({error}).") from error
    return matrix


def _read_numpy(path: Path, names: tuple[str, ...]) -> Any:
    content = load_numpy(path)
    if not isinstance(content, dict):
        return content
    sparse = sparse_parts(content, "", path)
    if sparse is not None:
        if content.get("format", np.array(b"csr")).item() not in (b"csr", "csr"):
            raise InputError(f"{path}: a sparse matrix that is not CSR; save it with `matrix.tocsr()`.")
        return sparse
    for name in names:
        if name in content:
            return content[name]
    if len(content) == 1:
        return next(iter(content.values()))
    raise InputError(f"{path}: which array is meant, of {', '.join(content)}? Name it {names[0]}.")


def _split_header(table: Table) -> tuple[Table, list[str] | None]:
    """A first row without a single number is a header."""
    if any(_is_number(cell) for cell in table.rows[0]):
        return table, None
    return table.without_first_row(), table.rows[0]


def _ids(table: Table) -> list[str]:
    first: dict[str, int] = {}
    for row, cells in enumerate(table.rows):
        if cells[0] in first:
            raise InputError(
                f"{table.where(row)}: node '{cells[0]}' is there twice, first on line "
                f"{table.lines[first[cells[0]]]}; an id names one node."
            )
        first[cells[0]] = row
    return list(first)


def _row_of(path: Path) -> Callable[[int], str]:
    return lambda row: f"{path}: row {row}"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True

"""Tables of a user's own graph: text with any of the usual marks between columns, parquet, npy and npz."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hypergraph.datasets.check import checked_csr
from hypergraph.datasets.reading import load_numpy, open_text
from hypergraph.errors import InputError
from hypergraph.files import reading, regular_file
from hypergraph.limits import require

TEXT = (".csv", ".tsv", ".txt", ".edgelist", ".edges")
_ID_NAMES = {"id", "node", "node_id", "nodeid", "name"}
_LABEL_NAMES = {"label", "class", "y", "category"}
_TRUTH = {"true": "1", "false": "0"}
_MARKS = ("\t", ";", ",", " ")  # the rarer inside a word first


def suffix_of(path: Path) -> str:
    """The ending that says what a file is, without ``.gz``."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def stem_of(path: Path) -> str:
    """The name without its endings."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).stem


@dataclass
class Table:
    """The rows of a table, each with its line in the file; ``names`` are those of a header."""

    path: Path
    rows: list[list[str]]
    lines: list[int]
    names: list[str] = field(default_factory=list)

    def where(self, row: int) -> str:
        return f"{self.path}:{self.lines[row]}"


@dataclass
class NodeTable:
    """What is said of nodes: one row a node, by its id or, where ``ids`` is ``None``, in order."""

    path: Path
    ids: list[str] | None
    where: Callable[[int], str]
    x: Any = None
    y: Any = None
    columns: tuple[str, ...] = ()
    changes: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.ids) if self.ids is not None else len(self.y) if self.x is None else self.x.shape[0]


def cells_of(file: IO[str], mark: str) -> Iterator[tuple[int, list[str]]]:
    """The line and the cells of every row; empty lines and lines that begin with ``#`` are skipped."""
    if mark == " ":
        for number, line in enumerate(file, 1):
            # networkx writes the attributes of an edge as a dictionary behind it
            cells = line.partition("{")[0].split() if "{" in line else line.split()
            if cells and not cells[0].startswith("#"):
                weight = re.search(r"'weight': ([^,}]+)", line) if "{" in line else None
                yield number, [*cells, weight[1]] if weight else cells
        return
    reader = csv.reader(file, delimiter=mark, skipinitialspace=True)
    for row in reader:
        if row and not row[0].startswith("#") and any(row):
            yield reader.line_num, row


def mark_of(path: Path, *, blanks: bool) -> str:
    """The mark between columns: the first of tab, ``;``, ``,`` and (where ``blanks``) blanks that cuts the
    first lines into equally many."""
    with open_text(path) as file:
        # a line without an end would be read whole
        lines = list(itertools.islice(iter(lambda: file.readline(1 << 16), ""), 100))
    lines = [line.rstrip("\r\n") for line in lines if line.strip() and not line.lstrip().startswith("#")][:20]
    if not lines:
        raise InputError(f"{path}:1: the file is empty.")
    marks = [mark for mark in _MARKS if blanks or mark != " "]
    for mark in marks:
        widths = {len(cells) for _, cells in cells_of(iter(lines), mark)}  # type: ignore[arg-type]
        if len(widths) == 1 and widths.pop() > 1:
            return mark
    usual = {".csv": ",", ".tsv": "\t"}.get(suffix_of(path), " ")
    return next((mark for mark in marks if mark in lines[0]), usual)


def read_table(path: Path, *, blanks: bool = False) -> Table:
    """Read a text table; every row has as many columns as the first."""
    rows: list[list[str]] = []
    lines: list[int] = []
    with reading(path, "a text table in UTF-8"):
        mark = mark_of(path, blanks=blanks)
        with open_text(path) as file:
            for number, row in cells_of(file, mark):
                if rows and len(row) != len(rows[0]):
                    raise _ragged(path, number, len(row), lines[0], len(rows[0]))
                rows.append([cell.strip() for cell in row])
                lines.append(number)
    return Table(path, rows, lines)


def _ragged(path: Path, line: int, count: int, first: int, expected: int) -> InputError:
    return InputError(
        f"{path}:{line}: {count} columns, where line {first} has {expected}; every row needs as many."
    )


def read_nodes(path: Path, what: str) -> NodeTable:
    """What is said of nodes in a table.

    Args:
        path: A text table or parquet; also an npy or npz of ``"features"`` or ``"labels"`` in order.
        what: ``"features"``, ``"labels"`` (``id,label`` or ``label``), or ``"nodes"``: an id, and in columns
            of their own a label and features; columns of words are left out.
    """
    if suffix_of(path) in (".npy", ".npz"):
        values = _read_numpy(path, ("x", "features", "feats") if what == "features" else ("y", "labels"))
        if what == "features":
            return NodeTable(path, None, _row_of(path), x=values)
        return NodeTable(path, None, _row_of(path), y=values)
    table = _with_header(read_parquet(path) if suffix_of(path) == ".parquet" else read_table(path))
    lower = [name.lower() for name in table.names]
    by_name = next((at for at, name in enumerate(lower) if name in _ID_NAMES), None)
    width = len(table.rows[0])
    if what == "labels":
        if width > 2:
            raise InputError(f"{table.where(0)}: {width} columns, where labels are `id,label` or `label`.")
        ids = _ids(table, 0) if width == 2 else None
        return NodeTable(path, ids, table.where, y=np.array([row[-1] for row in table.rows], dtype=object))
    if what == "nodes" and by_name is None:
        if table.names and not lower[0].startswith("id"):
            raise InputError(f"{path}:1: no column 'id' in the header '{','.join(table.names)}'.")
        by_name = 0
    label = next((at for at, name in enumerate(lower) if what == "nodes" and name in _LABEL_NAMES), None)
    columns = [at for at in range(width) if at not in (by_name, label)]
    if what == "features" and not columns:
        raise InputError(f"{table.where(0)}: only ids, and no column of features.")
    _truth_as_numbers(table, columns)
    text = [at for at in columns if what == "nodes" and not any(_is_number(row[at]) for row in table.rows)]
    columns = [at for at in columns if at not in text]
    changes = []
    if text:
        named = ", ".join(table.names[at] if table.names else str(at + 1) for at in text)
        changes.append(f"columns of words left out: {named}")
    return NodeTable(
        path,
        None if by_name is None else _ids(table, by_name),
        table.where,
        x=_numbers(table, columns) if columns else None,
        y=None if label is None else np.array([row[label] for row in table.rows], dtype=object),
        columns=tuple(table.names[at] for at in columns) if table.names else (),
        changes=changes,
    )


def _truth_as_numbers(table: Table, columns: list[int]) -> None:
    """Write 1 and 0 for columns of true and false."""
    for at in columns:
        if all(row[at].lower() in _TRUTH for row in table.rows):
            for row in table.rows:
                row[at] = _TRUTH[row[at].lower()]


def _numbers(table: Table, columns: list[int]) -> NDArray[np.float64]:
    require(8 * len(table.rows) * len(columns), f"{table.path}: {len(columns)} columns of features")
    values = np.empty((len(table.rows), len(columns)))
    for row, cells in enumerate(table.rows):
        try:
            values[row] = [float(cells[column]) for column in columns]
        except ValueError:
            wrong = next(column for column in columns if not _is_number(cells[column]))
            raise InputError(
                f"{table.where(row)}: feature '{cells[wrong]}' in column {wrong + 1} is not a number."
            ) from None
    return values


def read_parquet(path: Path) -> Table:
    """A parquet table as text; needs pyarrow."""
    frame = parquet_columns(path)
    columns = [["" if cell is None else str(cell) for cell in column] for column in frame.values()]
    rows = [list(row) for row in zip(*columns)]
    return Table(path, rows, list(range(1, len(rows) + 1)), list(map(str, frame)))


def parquet_columns(path: Path, names: list[str] | None = None) -> dict[str, list[Any]]:
    """The columns of a parquet file."""
    regular_file(path)
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise InputError(f"{path}: parquet files need pyarrow: pip install 'hypergraph[table]'.") from None
    with reading(path, "a parquet file"):
        file = parquet.ParquetFile(path)
        about = file.metadata
        packed = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
        require(max(packed, 64 * about.num_rows * about.num_columns), f"{path}: {about.num_rows:,} rows")
        if not about.num_rows:
            raise InputError(f"{path}: the table has no rows.")
        columns: dict[str, list[Any]] = file.read(columns=names).to_pydict()
        return columns


def sparse_parts(arrays: dict[str, Any], prefix: str, path: Path) -> sp.csr_matrix | None:
    """The CSR matrix whose parts are in an npz under ``prefix``, as SciPy and our cache write them."""
    if not all(f"{prefix}{key}" in arrays for key in ("data", "indices", "indptr", "shape")):
        return None
    if arrays.get("format", np.array("csr")).item() not in (b"csr", "csr"):
        raise InputError(f"{path}: a sparse matrix that is not CSR; save it with `matrix.tocsr()`.")
    with reading(path, "an npz with a sparse matrix"):
        parts = tuple(arrays[f"{prefix}{key}"] for key in ("data", "indices", "indptr"))
        if any(arrays[f"{prefix}{key}"].dtype.kind not in "iu" for key in ("indices", "indptr", "shape")):
            raise ValueError("indices that are no whole numbers")
        shape = tuple(int(side) for side in arrays[f"{prefix}shape"].tolist())
        require(8 * max(shape), f"{path}: a sparse matrix of shape {shape}")
        return checked_csr(sp.csr_matrix(parts, shape=shape), str(path))


def _read_numpy(path: Path, names: tuple[str, ...]) -> Any:
    content = load_numpy(path)
    if not isinstance(content, dict):
        return content
    sparse = sparse_parts(content, "", path)
    if sparse is not None:
        return sparse
    for name in names:
        if name in content:
            return content[name]
    if len(content) == 1:
        return next(iter(content.values()))
    raise InputError(f"{path}: which array is meant, of {', '.join(content)}? Name it {names[0]}.")


def _with_header(table: Table) -> Table:
    """A first row without a single number is a header."""
    if table.names or any(_is_number(cell) for cell in table.rows[0]):
        return table
    if len(table.rows) == 1:
        raise InputError(f"{table.where(0)}: only a header, and no rows below it.")
    if not _names_columns(table.rows):
        return table
    return Table(table.path, table.rows[1:], table.lines[1:], table.rows[0])


def _names_columns(rows: list[list[str]]) -> bool:
    """Whether a first row of words is a header: by a usual name, or above numbers."""
    if {cell.lower() for cell in rows[0]} & (_ID_NAMES | _LABEL_NAMES | {"labels"}):
        return True
    return any(_is_number(cell) for row in rows[1:50] for cell in row)


def _ids(table: Table, column: int) -> list[str]:
    first: dict[str, int] = {}
    for row, cells in enumerate(table.rows):
        if cells[column] in first:
            raise InputError(
                f"{table.where(row)}: node '{cells[column]}' is there twice, first on line "
                f"{table.lines[first[cells[column]]]}; an id names one node."
            )
        if not cells[column]:
            raise InputError(f"{table.where(row)}: the id is empty; every node needs one.")
        first[cells[column]] = row
    return list(first)


def _row_of(path: Path) -> Callable[[int], str]:
    return lambda row: f"{path}: row {row}"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True

"""Edge lists: two columns of ids, a weight where there is one, in text, parquet or a data frame."""

from __future__ import annotations

import codecs
import gzip
import itertools
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.datasets.arrays import first_of_each
from hypergraph.datasets.reading import open_text
from hypergraph.datasets.tables import _is_number, _ragged, cells_of, mark_of, parquet_columns
from hypergraph.errors import InputError
from hypergraph.files import reading, regular_file
from hypergraph.limits import require

_ENDS = [
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("i", "j"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("source_id", "target_id"),
    ("head", "tail"),
    ("start", "end"),
]
_TEXT = 1 << 22  # bytes of a text that is read in blocks
_WEIGHTS = ("weight", "weights", "w", "edge_weight")
# An id is read as a number where nothing is lost by it: 007 and 7 are two nodes.
_PLAIN = re.compile(rb"[0-9][0-9,; \t\r\n]*")
_BYTES = bytes(range(256))
_PADDED = re.compile(rb"(?:^|[,; \t\n])0[0-9]|[0-9]{19}")


@dataclass
class EdgeList:
    """Edges between the nodes ``ids``: ``edge_index`` holds their places in it, ``(2, edges)``."""

    edge_index: NDArray[np.int64]
    ids: list[str]
    weights: NDArray[np.float64] | None = None
    where: Callable[[int], str] = str
    changes: list[str] = field(default_factory=list)


def read_edge_list(path: Path) -> EdgeList:
    """Read edges from a text table or parquet, with or without a header."""
    if path.name.lower().endswith(".parquet"):
        return from_columns(parquet_columns(path), str(path))
    if regular_file(path) == 0:
        raise InputError(f"{path}:1: the file is empty.")
    with reading(path, "an edge list in UTF-8"):
        mark = mark_of(path, blanks=True)
        return _plain_numbers(path, mark) or _regular(path, mark) or _words(path, mark)


def _plain_numbers(path: Path, mark: str) -> EdgeList | None:
    """Two columns of whole numbers and nothing else: read by NumPy, ten times as fast."""
    if path.suffix.lower() == ".gz":
        return None
    with path.open("rb") as file:
        if not _PLAIN.fullmatch(file.read(1 << 12)):
            return None
        file.seek(0)
        content = file.read()
    require(20 * len(content), str(path))
    if not _PLAIN.fullmatch(content) or _PADDED.search(content):
        return None
    try:
        pairs = np.loadtxt(path, np.int64, delimiter=None if mark == " " else mark, ndmin=2)
    except ValueError:
        return None  # ragged: the other way names the line
    if pairs.shape[1] != 2:
        return None
    edge_index, ids = _numbered(np.ascontiguousarray(pairs.T))
    return EdgeList(edge_index, ids, where=_line_of(path))


def _numbered(pairs: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
    """Places among the numbers that occur, and those as ids, in their order."""
    known = _distinct(pairs)
    compact = len(known) and known[0] == 0 and known[-1] == len(known) - 1
    return (pairs if compact else np.searchsorted(known, pairs)), list(map(str, known.tolist()))


def _line_of(path: Path, header: bool = False) -> Callable[[int], str]:
    def where(row: int) -> str:
        with open_text(path) as file:
            for at, (line, _) in enumerate(cells_of(file, mark_of(path, blanks=True))):
                if at == row + header:
                    return f"{path}:{line}"
        return str(path)

    return where


@dataclass
class EdgeBlocks:
    """Edges between nodes that are numbers: ``read()`` gives their ends in blocks, from the first one on."""

    read: Callable[[], Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]]
    ids: list[str] | None
    where: Callable[[int], str]


def edge_blocks(path: Path, *, numbered: bool) -> EdgeBlocks | None:
    """The edges of a text of two columns of whole numbers, with a header or without; ``None`` of any other.

    Args:
        path: The text.
        numbered: Whether the numbers are those of nodes; else nodes are their places among the ones that
            occur, which are the ids.
    """
    known, waiting = np.empty(0, np.int64), [np.empty(0, np.int64)]
    with reading(path, "an edge list in UTF-8"):
        mark = mark_of(path, blanks=True)
        header = _is_header(path, mark)
        try:
            for pairs in _number_blocks(path, mark, header):
                if not numbered:
                    waiting.append(_distinct(pairs))
                    if sum(map(len, waiting)) > max(len(known), 1 << 21):
                        known, waiting = _distinct(np.concatenate([known, *waiting])), []
        except _IrregularError:
            return None
    known = _distinct(np.concatenate([known, *waiting]))
    compact = numbered or (known[0] == 0 and known[-1] == len(known) - 1)
    place = _places(known) if not compact else lambda numbers: numbers

    def read() -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        for pairs in _number_blocks(path, mark, header):
            source, target = place(pairs).T
            yield source, target

    return EdgeBlocks(read, None if compact else list(map(str, known.tolist())), _line_of(path, header))


def _places(known: NDArray[np.int64]) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Gives the places of numbers among the known ones, by a table where that is small: ten times as fast."""
    if known[-1] > 4 * len(known):
        return lambda numbers: np.searchsorted(known, numbers)
    table = np.empty(known[-1] + 1, np.int64)
    table[known] = np.arange(len(known))
    return lambda numbers: table[numbers]


class _IrregularError(Exception):
    """A text is not two columns of whole numbers."""


def _is_header(path: Path, mark: str) -> bool:
    with open_text(path) as file:
        first, second = (file.readline(1 << 12).rstrip("\r\n").split(mark) for _ in range(2))
    return len(first) == 2 and not any(map(_is_number, first)) and _layout(first, second)[2]


def _number_blocks(path: Path, mark: str, header: bool) -> Iterator[NDArray[np.int64]]:
    """The rows of a text, some at a time."""
    rest = b""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        if header:
            file.readline()
        while block := file.read(_TEXT):
            text = rest + block
            cut = text.rfind(b"\n") + 1
            text, rest = text[:cut], text[cut:]
            yield _parsed(text, mark)
        if rest:
            yield _parsed(rest + b"\n", mark)


def _parsed(text: bytes, mark: str) -> NDArray[np.int64]:
    text = text.replace(b"\r\n", b"\n")
    letters = np.frombuffer(text, np.uint8)
    ends = ((letters == ord(mark)) | (letters == ord("\n"))).nonzero()[0]
    starts = np.append(0, ends[:-1] + 1)
    length = ends - starts
    digits = int(((letters >= ord("0")) & (letters <= ord("9"))).sum())
    padded = (letters[starts] == ord("0")) & (length > 1)
    plain = digits + len(ends) == len(letters) and 0 < length.min() <= length.max() < 19 and not padded.any()
    if not plain or len(ends) % 2 or (letters[ends].reshape(-1, 2) != [ord(mark), ord("\n")]).any():
        raise _IrregularError
    return np.fromstring(text.replace(mark.encode(), b" "), np.int64, sep=" ").reshape(-1, 2)


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    ordered = np.sort(numbers, axis=None)
    return ordered[first_of_each(ordered)]


def _regular(path: Path, mark: str) -> EdgeList | None:
    """A table without quotes, comments, gaps or blanks around cells: cut at once, a third of the time.

    Anything else is left to :func:`_words`, which names the line where something is wrong.
    """
    with open_text(path) as file:
        content = bytes(file.buffer.read()).removeprefix(codecs.BOM_UTF8)
    require(20 * len(content), str(path))
    content = content.replace(b"\r\n", b"\n").removesuffix(b"\n") + b"\n"
    lines = content.decode().split("\n", 2)
    first, cut = lines[0].split(mark), mark.encode()
    odd = [b'"', b"\0", b"\r", b"{", b"\n#", b"\n ", b" \n", b" " + cut, cut + b" ", *[b"\t"] * (mark == " ")]
    if content.startswith((b"#", b" ")) or any(_holds(content, sign) for sign in odd):
        return None
    width = len(first)
    marks = content.translate(None, _BYTES.translate(None, cut + b"\n"))
    if width < 2 or marks != (cut * (width - 1) + b"\n") * (len(marks) // width):
        return None
    (one, two), weight, header, changes = _layout(first, lines[1].split(mark) if lines[1] else None)
    cells = content.replace(cut, b"\n").split(b"\n")[width * header : -1]
    pairs = cells
    if (one, two) != (0, 1) or width > 2:
        pairs = [b""] * (2 * (len(cells) // width))
        pairs[::2], pairs[1::2] = cells[one::width], cells[two::width]
    try:
        given = None if weight is None else np.array(list(map(float, cells[weight::width])))
    except ValueError:
        return None
    known: dict[bytes, int] = defaultdict(itertools.count().__next__)  # a new id gets the next number
    places = np.fromiter(map(known.__getitem__, pairs), np.int64, len(pairs))
    ids = [node.decode() for node in known]
    if not ids or any(not node or node != node.strip() for node in ids):
        return None
    edge_index = np.ascontiguousarray(places.reshape(-1, 2).T)
    return _in_order(EdgeList(edge_index, ids, given, _line_of(path, header), changes))


def _holds(content: bytes, sign: bytes) -> bool:
    """Whether ``sign`` occurs; one letter is looked for faster than two."""
    return all(letter in content for letter in sign) and sign in content


def _in_order(edges: EdgeList) -> EdgeList:
    """Ids that are all numbers come in their order."""
    ids = edges.ids
    if all(re.fullmatch(r"-?\d{1,18}", node) for node in ids):
        order = sorted(range(len(ids)), key=lambda at: int(ids[at]))
        place = np.empty(len(ids), dtype=np.int64)
        place[order] = np.arange(len(ids))
        return replace(edges, edge_index=place[edges.edge_index], ids=[ids[at] for at in order])
    return edges


def _words(path: Path, mark: str) -> EdgeList:
    """Edges between any ids, row by row."""
    known: dict[str, int] = {}
    number = known.setdefault
    sources, targets, weights, lines = array("q"), array("q"), array("d"), array("q")
    with open_text(path) as file:
        rows = cells_of(file, mark)
        start, first = next(rows)
        width = len(first)
        if width < 2:
            raise InputError(f"{path}:{start}: one column, where an edge needs two: source and target.")
        again = next(rows, None)
        columns, weight, header, changes = _layout(first, None if again is None else again[1])
        if header and again is None:
            raise InputError(f"{path}:{start}: only a header, and no rows below it.")
        one, two = columns
        ahead = [] if header else [(start, first)]
        for line, row in _chain(ahead, again, rows):
            if len(row) != width:
                raise _ragged(path, line, len(row), start, width)
            source, target = row[one].strip(), row[two].strip()
            if not (source and target):
                raise InputError(f"{path}:{line}: an edge with an empty end; give both ids.")
            sources.append(number(source, len(known)))
            targets.append(number(target, len(known)))
            lines.append(line)
            if weight is not None:
                weights.append(_weight(row[weight], path, line))
    edge_index = np.stack([np.frombuffer(ends, dtype=np.int64) for ends in (sources, targets)])
    given = np.frombuffer(weights) if weight is not None else None
    return _in_order(EdgeList(edge_index, list(known), given, lambda row: f"{path}:{lines[row]}", changes))


def without_header(edges: EdgeList, known: Collection[str]) -> EdgeList:
    """The edges without a first row of words that is a header, whatever its columns are called.

    Where nodes are ``known`` from elsewhere, that is a row of two unknown ones; else the only row whose ends
    occur in no other.
    """
    if edges.edge_index.shape[1] < 2:
        return edges
    first = edges.edge_index[:, 0]
    names = [edges.ids[at] for at in first]
    if any(name in known or _is_number(name) for name in names) or first.tolist() != [0, 1]:
        return edges
    if not known:
        degree = np.bincount(edges.edge_index.ravel(), minlength=len(edges.ids))
        alone = (degree[edges.edge_index] == 1).all(axis=0)
        if not alone[0] or alone[1:].any():
            return edges
    rest = edges.edge_index[:, 1:]
    if rest.min() < 2:
        return edges
    return EdgeList(
        rest - 2,
        edges.ids[2:],
        None if edges.weights is None else edges.weights[1:],
        lambda row: edges.where(row + 1),
        [*edges.changes, f"the first row is read as a header: {', '.join(names)}"],
    )


def _chain(ahead: list[Any], again: Any, rows: Any) -> Any:
    yield from ahead
    if again is not None:
        yield again
        yield from rows


def _weight(cell: str, path: Path, line: int) -> float:
    try:
        return float(cell)
    except ValueError:
        raise InputError(f"{path}:{line}: weight '{cell}' is not a number.") from None


def _layout(
    first: Sequence[str], second: Sequence[str] | None
) -> tuple[tuple[int, int], int | None, bool, list[str]]:
    """Which columns are the ends and the weight, whether the first row is a header, and what is not read."""
    names = [str(cell).strip().lower() for cell in first]
    ends = next(((names.index(a), names.index(b)) for a, b in _ENDS if a in names and b in names), None)
    numbers = [at for at, cell in enumerate((second or ())[: len(names)]) if _is_number(cell)]
    # Ids may be words, so that a first row of words is a header by its names, or above a column of numbers.
    header = ends is not None or (
        any(not _is_number(names[at]) for at in numbers) and not any(map(_is_number, names))
    )
    one, two = ends or (0, 1)
    others = [at for at in range(len(names)) if at not in (one, two)]
    weight = next((at for at in others if header and names[at] in _WEIGHTS), None)
    if not header and len(names) == 3 and _is_number(names[2]):
        weight = 2
    dropped = [str(first[at]).strip() if header else str(at + 1) for at in others if at != weight]
    return (one, two), weight, header, [f"columns not read: {', '.join(dropped)}"] if dropped else []


def from_columns(columns: dict[str, list[Any]], where: str) -> EdgeList:
    """The edges of a data frame: columns like ``source`` and ``target``, or the first two."""
    if len(columns) < 2:
        raise InputError(f"{where}: one column, where an edge needs two: source and target.")
    names = [str(name).strip() for name in columns]
    values = list(columns.values())
    (one, two), weight, header, changes = _layout(names, None)
    if not header:
        lower = [name.lower() for name in names]
        weight = next((at for at in range(2, len(names)) if lower[at] in _WEIGHTS), None)
        left = [names[at] for at in range(2, len(names)) if at != weight]
        changes = [f"columns not read: {', '.join(left)}"] if left else []
    ends = [np.asarray(values[at]) for at in (one, two)]
    place = lambda row: f"{where}: row {row}"  # noqa: E731
    given = None if weight is None else np.asarray(values[weight])
    if all(end.dtype.kind in "iu" for end in ends):
        edge_index, ids = _numbered(np.stack([end.astype(np.int64) for end in ends]))
        return EdgeList(edge_index, ids, given, place, changes)
    known: dict[str, int] = {}
    edge_index = np.empty((2, len(ends[0])), dtype=np.int64)
    for row, pair in enumerate(zip(*(end.tolist() for end in ends))):
        for end, node in enumerate(pair):
            if node is None or node != node or not str(node).strip():
                raise InputError(f"{place(row)}: an edge with an empty end; give both ids.")
            edge_index[end, row] = known.setdefault(str(node).strip(), len(known))
    return EdgeList(edge_index, list(known), given, place, changes)

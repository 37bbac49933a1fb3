"""Regular tables of edges are cut at once, to the same edges as row by row; all else goes row by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hypergraph.datasets import edge_lists
from hypergraph.errors import InputError

REGULAR = {
    "words": "source,target\nann,bob\nbob,cem\ncem,ann\n",
    "no header": "ann;bob\nbob;cem\n",
    "blanks inside": "Lieferant;Kunde\nA b;c d\nc d;e\n",
    "windows": "\ufeffsource,target,weight\r\nann,bob,1.5\r\nbob,ann,2\r\n",
    "columns": "year\tto\tfrom\tw\n1999\tann\tbob\t3\n2001\tbob\tcem\t4\n",
    "lines of blanks": "ann bob\nbob cem\ncem ann\n",
    "numbers": "7,8,0.5\n8,10,1\n",
    "no end of line": "ann,bob\nbob,cem",
    "letters": "é,ß\nß,日本\n",
}
ODD = {
    "quotes": 'ann,"b,b"\n"b,b",cem\n',
    "comment": "ann,bob\n# more\nbob,cem\n",
    "gap": "ann,bob\n\nbob,cem\n",
    "blanks around": "ann, bob\nbob ,cem\n",
    "networkx": "ann bob {'weight': 2}\nbob cem {'weight': 3}\n",
    "old Macintosh": "ann,bob\rbob,cem\r",
    "no-break space": "ann,bob\u00a0\nbob,cem\n",
}


def same(one: edge_lists.EdgeList, other: edge_lists.EdgeList) -> bool:
    weights = [edges.weights if edges.weights is not None else np.empty(0) for edges in (one, other)]
    return (
        one.ids == other.ids
        and np.array_equal(one.edge_index, other.edge_index)
        and np.array_equal(*weights)
        and one.changes == other.changes
        and one.where(1) == other.where(1)
    )


@pytest.mark.parametrize("text", [*REGULAR.values(), *ODD.values()], ids=[*REGULAR, *ODD])
def test_the_quick_way_reads_what_the_slow_one_reads(tmp_path: Path, text: str) -> None:
    path = tmp_path / "edges.csv"
    path.write_bytes(text.encode())
    mark = edge_lists.mark_of(path, blanks=True)
    quick = edge_lists._regular(path, mark)
    assert (quick is None) == (text in ODD.values())
    if quick is not None:
        assert same(quick, edge_lists._words(path, mark))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ann,bob\nbob\n", "edges.csv:2: 1 columns"),
        ("ann,bob\n,cem\n", "edges.csv:2: an edge with an empty end"),
        ("source,target,weight\nann,bob,1\nbob,cem,heavy\n", "edges.csv:3: weight 'heavy' is not a number"),
        ("source,target\n", "edges.csv:1: only a header"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "edges.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        edge_lists.read_edge_list(path)

"""Fill the generated parts of README.md and docs/layers.md: `python docs/refresh.py`.

The table of heads and layers comes from the registry, the results from the tables in docs/results/, which
`hypergraph reproduce` writes. A test fails where a page differs from what this would write.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
PAGES = (ROOT / "README.md", ROOT / "docs" / "layers.md")


def heads() -> str:
    """The registry as two Markdown tables."""
    from hypergraph.nn.registry import FCS, HEADS

    lines = []
    for title, counts, entries in (
        ("head", "n features, C classes", HEADS),
        ("linear layer", "n → m, without the gyro bias", FCS),
    ):
        lines += [
            f"| {title} | model | what it computes | parameters ({counts}) | from |",
            "|---|---|---|---|---|",
        ]
        for entry in entries.values():
            formula = entry.formula.replace("|", r"\|").replace("<", "&lt;")
            lines.append(
                f"| `{entry.name}` | {entry.space} | {formula} | {entry.params} | {entry.reference} |"
            )
        lines.append("")
    return "\n".join(lines).strip()


def results() -> str:
    """The pages of results that are the paper's main tables, shortened to methods by datasets."""
    parts = []
    for page in (ROOT / "docs" / "results" / f"{name}.md" for name in ("node-clf", "link-pred", "genome")):
        text = page.read_text(encoding="utf-8")
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
        command = re.search(r"`hypergraph reproduce [^`]+`", text)
        if title and table and command:
            link = f"docs/results/{page.name}"
            parts.append(f"**[{title[1]}]({link})**, from {command[0]}:\n\n{shortened(table[0])}")
    return "\n\n".join(parts)


BUSEMANN = ("bmlr-p", "bmlr-l", "bfc-p", "bfc-l")
FLAT = ("mlr", "gcn", "mlp")


def shortened(table: str) -> str:
    """A table of rows (dataset, method, ours, published) as one column a dataset: the Busemann rows, and the
    highest of the other hyperbolic ones, of those that the paper has not, and of the flat ones."""
    names, _, *rows = ([cell.strip() for cell in line.strip(" |").split("|")] for line in table.splitlines())
    where = [names.index("dataset"), names.index("method")]
    where += [
        next(i for i, name in enumerate(names) if name.endswith(end)) for end in (", ours", ", published")
    ]
    metric = names[where[2]].removesuffix(", ours")
    cells: dict[str, dict[str, str]] = {}
    highest: dict[str, dict[str, tuple[float, str]]] = {"other": {}, "of ours": {}, "flat": {}}
    for row in rows:
        dataset, method, ours, published = (row[i] for i in where)
        name = method.removesuffix(" (ours)")
        if name in BUSEMANN:
            cells.setdefault(name, {})[dataset] = ours if published == "–" else f"{ours} ({published})"
            continue
        kind = "flat" if name in FLAT else "of ours" if name != method else "other"
        found = float(ours.split()[0]), f"{ours}, {name.replace(', ', ' with ')}"
        highest[kind][dataset] = max(highest[kind].get(dataset, found), found)
    for kind, chosen in highest.items():
        cells[f"highest {kind}"] = {dataset: shown for dataset, (_, shown) in chosen.items()}
    datasets = list(dict.fromkeys(row[where[0]] for row in rows))
    lines = [
        f"| test {metric}, % (published) | {' | '.join(datasets)} |",
        "|---|" + "---:|" * len(datasets),
        *(
            f"| {method} | {' | '.join(found.get(name, '') for name in datasets)} |"
            for method, found in cells.items()
            if found
        ),
    ]
    return "\n".join(lines)


def refreshed(text: str) -> str:
    """A page with its generated parts made anew."""
    for name, make in (("heads", heads), ("results", results)):
        block = rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)"
        text = re.sub(
            block, lambda found, make=make: f"{found[1]}{make()}\n{found[2]}", text, flags=re.DOTALL
        )
    return text


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")

"""Fill the generated parts of README.md: `python docs/refresh.py`.

The table of heads and layers comes from the registry, the results from the tables in docs/results/, which
`hypergraph reproduce` writes. A test fails where the README differs from what this would write.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def heads() -> str:
    """The registry as two Markdown tables."""
    from hypergraph.nn.registry import HEADS, LAYERS

    lines = []
    for title, counts, entries in (
        ("head", "n features, C classes", HEADS),
        ("linear layer", "n → m, without the gyro bias", LAYERS),
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
    """Each page of results: its title and first table."""
    parts = []
    for page in sorted((ROOT / "docs" / "results").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
        command = re.search(r"`hypergraph reproduce [^`]+`", text)
        if title and table and command:
            link = f"docs/results/{page.name}"
            parts.append(f"**[{title[1]}]({link})**, from {command[0]}:\n\n{table[0].strip()}")
    return "\n\n".join(parts)


def refreshed(readme: str) -> str:
    """The README with its generated parts made anew."""
    for name, make in (("heads", heads), ("results", results)):
        block = rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)"
        readme = re.sub(
            block, lambda found, make=make: f"{found[1]}{make()}\n{found[2]}", readme, flags=re.DOTALL
        )
    return readme


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")

"""Print the lowest versions that pyproject.toml promises: `pip install -r <(python tools/floor.py)`.

`python tools/floor.py torch` prints the version of one package.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
EXTRAS = ("image", "table", "tune")  # those that come with the development tools, and are tested with them


def floor() -> dict[str, str]:
    """The lowest version of every dependency of the core, and of these extras."""
    text = PYPROJECT.read_text("utf-8")
    blocks = re.findall(rf"^(?:dependencies|{'|'.join(EXTRAS)}) = \[(.*?)\]", text, re.DOTALL | re.MULTILINE)
    return dict(re.findall(r'"([\w-]+)>=([\d.]+)[;"]', "".join(blocks)))


if __name__ == "__main__":
    versions = floor()
    if len(sys.argv) > 1:
        print(versions[sys.argv[1]])
    else:
        print("\n".join(f"{name}=={version}" for name, version in versions.items()))

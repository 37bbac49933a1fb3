"""Print the lowest versions that pyproject.toml promises: `pip install -r <(python tools/floor.py)`.

`python tools/floor.py torch` prints the version of one package.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def floor() -> dict[str, str]:
    """The lowest version of every dependency of the core."""
    block = re.search(r"^dependencies = \[(.*?)^\]", PYPROJECT.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert block is not None
    return dict(re.findall(r'"([\w-]+)>=([\d.]+)[;"]', block[1]))


if __name__ == "__main__":
    versions = floor()
    if len(sys.argv) > 1:
        print(versions[sys.argv[1]])
    else:
        print("\n".join(f"{name}=={version}" for name, version in versions.items()))

"""The documentation site: Markdown pages (MyST), typeset mathematics, an API reference from docstrings."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import hypergraph

# Public names are imported when first used, and autodoc lists only what a package holds: so use each once.
for page in (Path(__file__).parent / "api").glob("[!i]*.md"):
    package = importlib.import_module(f"hypergraph.{page.stem}")
    for name in package.__all__:
        getattr(package, name)

project = "hypergraph"
author = "The hypergraph authors"
copyright = "2026, the hypergraph authors"
release = version = hypergraph.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",  # the mathematics needs no network either
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "imported-members": True}
autodoc_inherit_docstrings = False  # forward is described by its class, not by torch
autoclass_content = "class"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Shapes", "notes_style")]

html_theme = "furo"
html_title = "hypergraph"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_search_summary = False  # a browser fetches no page for it where the site is opened as a file

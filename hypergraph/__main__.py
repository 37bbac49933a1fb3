"""``python -m hypergraph`` is the command ``hypergraph``."""

from hypergraph.cli import main

if __name__ == "__main__":
    main()

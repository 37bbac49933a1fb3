"""`python cli.py …` from a clone; the command line itself is hypergraph/cli/."""

from hypergraph.cli import main

if __name__ == "__main__":
    main()

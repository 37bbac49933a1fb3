from hypergraph.cli import main

main()

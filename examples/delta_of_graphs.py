"""Which graphs are like trees? The exact delta of a few families.

python examples/delta_of_graphs.py
"""

import networkx as nx

from hypergraph.hyperbolicity import delta_hyperbolicity

GRAPHS = {
    "tree": nx.balanced_tree(3, 5),
    "tree and 20 more edges": nx.compose(nx.balanced_tree(3, 5), nx.gnm_random_graph(364, 20, seed=0)),
    "scale-free (Barabási-Albert)": nx.barabasi_albert_graph(364, 2, seed=0),
    "random (Erdős-Rényi)": nx.gnm_random_graph(364, 900, seed=0),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(19, 19)),
    "cycle": nx.cycle_graph(364),
}


def main() -> None:
    print(f"{'graph':30} {'delta':>6} {'diameter':>9} {'2 delta / diameter':>19}")
    for name, graph in GRAPHS.items():
        found = delta_hyperbolicity(graph)
        print(f"{name:30} {found.delta:6g} {found.diameter:9d} {found.relative:19.2f}")
    print("0 is a tree, 1 is as far from one as can be; `witness` holds four nodes that show it.")


if __name__ == "__main__":
    main()

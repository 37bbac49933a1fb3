"""A graph of your own, some of whose nodes have no label: train on the others, predict these.

python examples/own_graph.py
"""

import networkx as nx
import numpy as np

from hypergraph import HyperbolicClassifier

SPECIES = ("fern", "moss", "lichen")


def main() -> None:
    rng = np.random.default_rng(0)
    graph = nx.random_labeled_rooted_tree(300, seed=0)
    # a class is a branch of the tree, and features say a little about it
    order = list(nx.bfs_tree(graph, graph.graph["root"]))
    kind = {node: i % 3 for i, node in enumerate(order[:12])}
    for parent, child in nx.bfs_edges(graph, graph.graph["root"]):
        kind.setdefault(child, kind[parent])
    labels = np.array([SPECIES[kind[node]] for node in graph], dtype=object)
    for node in graph:
        graph.nodes[node]["x"] = (rng.normal(size=3) + 1.2 * np.eye(3)[kind[node]]).tolist()

    hidden = rng.random(len(labels)) < 0.5
    known = np.where(hidden, None, labels)
    model = HyperbolicClassifier(head="bmlr-p", K=-0.5, epochs=100).fit(graph, known)
    right = model.predict()[hidden] == labels[hidden]
    print(f"{model.classes_}: {100 * right.mean():.0f} % of {hidden.sum()} nodes without a label are right")


if __name__ == "__main__":
    main()

"""A tree in the disk by Sarkar's construction, and how well the distances in the picture follow the tree's.

python examples/draw_a_tree.py     # writes tree.png
"""

import networkx as nx
import numpy as np
import torch

from hypergraph import PoincareBall, viz


def main() -> None:
    graph = nx.balanced_tree(3, 4)
    edges = np.array(graph.edges).T
    ax = viz.disk()
    viz.tree(edges, len(graph), ax)
    ax.set_title("121 nodes, every edge of the same length")
    ax.get_figure().savefig("tree.png", dpi=150)

    # and the other way: points that learn the distances of the tree
    space = PoincareBall(K=-1.0)
    steps = torch.tensor(np.array(nx.floyd_warshall_numpy(graph)), dtype=torch.float64)
    start = torch.randn(len(graph), 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    u = (0.1 * start).requires_grad_()
    optimizer = torch.optim.Adam([u], lr=0.05)
    for _ in range(100):
        z = space.exp0(u)
        off_diagonal = ~torch.eye(len(graph), dtype=torch.bool)
        ratio = space.dist(z[:, None], z)[off_diagonal] / steps[off_diagonal]
        loss = (ratio / ratio.mean() - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(
        f"Distances of the points follow those of the tree to {100 * loss.item() ** 0.5:.0f} %; see tree.png."
    )


if __name__ == "__main__":
    main()

"""In the way of scikit-learn: on features alone, in a grid search, and on a graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hypergraph import HyperbolicClassifier
from hypergraph.datasets import load_graph
from hypergraph.errors import InputError


def test_features_in_a_grid_search() -> None:
    X, y = load_iris(return_X_y=True)
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    model = make_pipeline(StandardScaler(), HyperbolicClassifier(epochs=40, patience=0, lr=0.05))
    grid = {"hyperbolicclassifier__head": ["bmlr-l", "mlr"]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, words)
    assert search.best_score_ > 0.85
    assert set(search.predict(X)) <= set(words)
    assert search.best_estimator_[-1].classes_.tolist() == sorted(set(words))


def test_the_same_seed_gives_the_same_numbers() -> None:
    X, y = load_iris(return_X_y=True)
    model = HyperbolicClassifier(head="bmlr-p", K=-0.3, epochs=5, random_state=3)
    first, second = model.fit(X, y), clone(model).fit(X, y)
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))
    assert first.predict(X).dtype == y.dtype and first.n_features_in_ == 4
    assert first.embed(X[:7]).shape == (7, 16)
    assert np.allclose(first.predict_proba(), first.predict_proba(X))


def test_a_graph_with_unlabelled_nodes(graph: Path) -> None:
    data = load_graph(graph)
    y = np.array(["red", "green", "blue"], dtype=object)[data.y.numpy()]
    y[::3] = ""
    model = HyperbolicClassifier(head="bmlr-l", epochs=60).fit(data, y)
    known = y != ""
    assert model.predict().shape == (120,) and set(model.classes_) == {"red", "green", "blue"}
    assert (model.predict()[known] == y[known]).mean() > 0.8
    assert (model.predict(data) == model.predict()).all()
    assert HyperbolicClassifier(epochs=2).fit(graph).classes_.tolist() == ["0", "1", "2"]


def test_mistakes() -> None:
    X, y = load_iris(return_X_y=True)
    for model, labels, text in (
        (HyperbolicClassifier(head="bmlr"), y, "Unknown head 'bmlr'"),
        (HyperbolicClassifier(), y[:9], "one label a node"),
        (HyperbolicClassifier(), None, "There are no labels"),
        (HyperbolicClassifier(), np.zeros_like(y), "two classes are needed"),
        (HyperbolicClassifier(validation_fraction=2), y, "validation_fraction must be"),
    ):
        with pytest.raises(InputError, match=text):
            model.fit(X, labels)
    with pytest.raises(InputError, match=r"X is no table of numbers .* load_graph makes a graph"):
        HyperbolicClassifier().fit([["ann", "bob"], ["bob", "cem"]], [0, 1])
    with pytest.raises(NotFittedError):
        HyperbolicClassifier().predict(X)

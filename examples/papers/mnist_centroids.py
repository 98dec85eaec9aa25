"""Figures 7, 8 and 9 of Wang, Lawrence and Niepert, 2022: the meaning of the centroids of a network on pixels."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from typing import Any

from examples.papers import _classification
from examples.papers._experiment import Claim, Finding, Record, Run, percent
from examples.papers._lazy import Array, analysis, drawings, keras, np

DIGITS = 2000
"""Test digits, drawn at random."""

SHOWN = 10
"""Maximum number of centroids in a figure: the most frequent ones."""


class MnistCentroids(_classification.DigitTable):
    """The centroids of the network in `--model`; otherwise of a small one that is trained for an epoch."""

    name = "mnist-centroids"
    title = "What centroids stand for, in pixels"
    place = "Wang, Lawrence and Niepert 2022, figures 7, 8 and 9"
    measure = "digits that are classified correctly"
    options = frozenset({"data", "model"})
    run_name = "{model[run]}"
    header = "run | pixels | centroids | in use | digits | correct | by transitions"
    rows = {
        "": {
            **{"side": 14, "units": 32, "embedding": 0, "head": "last_and_cell", "dropout": 0.0, "batch": 32},
            **_classification.regularized("SR-LSTM-P", 10, temperature=2.0),
            **{"learning_rate": 0.01, "clip": 5.0, "epochs": 1},
        }
    }

    def identity(self, run: Run) -> dict[str, Any]:
        return {**super().identity(run), "model": run.model.parent.name if run.model else "trained here"}

    def run(self, run: Run) -> Record:
        if importlib.util.find_spec("sklearn") is None:
            raise ImportError("mnist-centroids needs scikit-learn: pip install 'keras_interp_rnn[examples]'")
        data = self.load(run)
        if run.model:
            model = keras.models.load_model(run.model)
        else:
            _, model = _classification.train(self.protocol(run), data, run)
        x, y = data.test
        drawn = np.random.default_rng(run.seed).permutation(len(x))[:DIGITS]
        side = math.isqrt(x.shape[1])
        x, y = x[drawn], y[drawn]
        chunks = [analysis.trace(model, x[first : first + 100])["alpha"] for first in range(0, len(x), 100)]
        # The state does not move at the last pixel.
        alpha = np.nan_to_num(np.concatenate(chunks)).transpose(0, 2, 1).reshape(len(x), -1, side, side)
        predicted = model.predict(x, batch_size=100, verbose=0).argmax(axis=1)
        points, score = _by_transitions(alpha.mean(axis=(2, 3)), y, run.seed)
        for name, figure in _figures(x, y, y == predicted, alpha, points).items():
            figure.savefig(run.folder / name, dpi=150)
        identity = self.identity(run)
        return {
            "data": {**identity, "pixels": side * side, "digits": len(x)},
            "model": {"centroids": alpha.shape[1], "run": identity["model"]},
            "protocol": {"seed": run.seed},
            "result": {
                "accuracy": float(np.mean(predicted == y)),
                "by_transitions": score,
                "centroids_used": int((alpha.mean(axis=(0, 2, 3)) > 0.001).sum()),
            },
        }

    def lines_of(self, record: Record) -> list[list[object]]:
        data, model, result = record["data"], record["model"], record["result"]
        own = [model["run"], data["pixels"], model["centroids"], result["centroids_used"], f"{data['digits']:,}"]
        return [[*own, *(f"{result[name]:.1%}" for name in ("accuracy", "by_transitions"))]]

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        scores = [(record["result"]["by_transitions"], record["data"]["pixels"]) for record in records]
        return [
            self.claim(
                "features",
                "a linear classifier of their means is right on at least 80 % of the digits",
                *(Finding(f"{percent(score)} right, on {pixels} pixels", score >= 0.8) for score, pixels in scores),
            )
        ]


def _by_transitions(means: Array, y: Array, seed: int) -> tuple[Array, float]:
    """Digits in the plane, by t-SNE of their mean transition probabilities; how well these tell the classes.

    Args:
        means: (digits, centroids). y: classes.

    Returns:
        (digits, 2), and the accuracy of a logistic regression on half of the digits, trained on the other half.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.manifold import TSNE
    from sklearn.preprocessing import StandardScaler

    scaled, half = StandardScaler().fit_transform(means), len(y) // 2
    regression = LogisticRegression(max_iter=5000).fit(scaled[:half], y[:half])
    points = TSNE(perplexity=min(30, half // 3), random_state=seed, init="pca").fit_transform(scaled)
    return points, float(regression.score(scaled[half:], y[half:]))


def _figures(x: Array, y: Array, is_right: Array, alpha: Array, points: Array) -> dict[str, Any]:
    """File name -> figure.

    Args:
        x, y: digits and classes. is_right: whether the network classifies each correctly. points: (digits, 2).
        alpha: (digits, centroids, height, width), transition probabilities.
    """
    side, share = alpha.shape[-1], alpha.mean(axis=(0, 2, 3))
    shown = np.argsort(-share)[:SHOWN]
    means = np.stack([alpha[y == digit].mean(axis=0) for digit in range(10)])[:, shown]
    names = [f"{i}\n{share[i]:.0%}" for i in shown]
    order = np.argsort(y, kind="stable")
    drawn = {
        "figure7.png": drawings.pixel_maps(
            means, [*"0123456789"], columns=names, label="mean probability", max_value=float(means.max())
        ),
        "figure9.png": drawings.feature_map(points[order], [str(digit) for digit in y[order]]),
    }
    chosen = [rows[0] for digit in range(10) if len(rows := np.flatnonzero((y == digit) & is_right))]
    if chosen:
        maps = alpha[chosen][:, shown[:3]].transpose(1, 0, 2, 3)
        grid = np.concatenate([x[chosen].reshape(1, -1, side, side), maps])
        panels, columns = ["read", *(f"centroid {i}" for i in shown[:3])], [str(y[i]) for i in chosen]
        drawn["figure8.png"] = drawings.pixel_maps(grid, panels, columns=columns, label="pixel, or probability")
    return drawn

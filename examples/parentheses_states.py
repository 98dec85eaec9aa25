"""Where does a network that checks parentheses keep its count: in the state or in the memory?

Trains an LSTM and an SR-LSTM-P, an LSTM with peepholes whose hidden state moves among k centroids, to tell balanced
strings of parentheses and letters from unbalanced ones. Draws hidden state and memory of both along one string (the
paper's figure 5), and prints their errors on deeper strings and how far their states drift.

    python examples/parentheses_states.py

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.2.
"""

import argparse
import tempfile
from pathlib import Path

import quiet

with quiet.standard_error():
    import keras
    import numpy as np

    from keras_interp_rnn import analysis, figures, layers

SIGNS = "\0()abcde$"  # padding first, the end of a string last


def words(rng: np.random.Generator, count: int, depth: int, length: int) -> tuple[list[str], np.ndarray]:
    """Strings of S -> (S) | SS | letter up to a depth, half of them with some signs drawn anew; and which balance."""
    found: dict[str, bool] = {}
    while len(found) < count:
        word, level = "", 0
        for _ in range(rng.integers(2, length)):
            sign = rng.choice(["(", ")", "a"], p=[0.35, 0.35, 0.3])
            sign = {"(": "a", ")": "a"}.get(sign, sign) if (sign, level) in (("(", depth), (")", 0)) else sign
            level += {"(": 1, ")": -1}.get(sign, 0)
            word += rng.choice(list("abcde")) if sign == "a" else sign
        word += ")" * level
        if rng.random() < 0.5:
            word = "".join(rng.choice(list("()a")) if rng.random() < 0.15 else sign for sign in word)
        found[word] = balanced(word)
    return list(found), np.array(list(found.values()), "float32")


def balanced(word: str) -> bool:
    level = 0
    for sign in word:
        level += {"(": 1, ")": -1}.get(sign, 0)
        if level < 0:
            return False
    return level == 0


def ids(texts: list[str], longest: int) -> np.ndarray:
    lines = [[SIGNS.index(sign) for sign in text + "$"] for text in texts]
    return np.array([line + [0] * (longest - len(line)) for line in lines])


def network(recurrent: keras.layers.Layer) -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(len(SIGNS), 5, mask_zero=True),
            recurrent,
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-2, global_clipnorm=1.0), "binary_crossentropy", metrics=["accuracy"])
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=10)
    parser.add_argument("--centroids", type=int, default=5)
    parser.add_argument("--words", type=int, default=2000, help="for training")
    parser.add_argument("--epochs", type=int, default=20, help="at each of the depths 1, 2, ..., 5")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figures", default="runs/parentheses")
    parser.add_argument("--smoke", action="store_true", help="few words, in a scratch folder")
    args = parser.parse_args()
    if args.smoke:
        args.words, args.epochs, args.figures = 60, 1, tempfile.mkdtemp(prefix="parentheses_states-")
    rng = np.random.default_rng(args.seed)
    depths = {depth: words(rng, args.words // 5, depth, 6 * depth + 4) for depth in range(1, 6)}
    tests = {depth: words(rng, args.words // 5, depth, 100) for depth in (5, 10, 20)}
    networks = {
        "LSTM": lambda: keras.layers.LSTM(args.units, name="recurrent"),
        "SR-LSTM-P": lambda: layers.SRPeepholeLSTM(
            args.units, args.centroids, regularize_last_step=False, name="recurrent"
        ),
    }
    Path(args.figures).mkdir(parents=True, exist_ok=True)
    probe = "((a)b(()c)(d(e))" * 3 + ")" * 3
    print(f"{'':10}" + "".join(f"   error to depth {depth:2d}" for depth in tests) + "   drift of h   drift of c")
    for name, make in networks.items():
        keras.utils.set_random_seed(args.seed)
        model = network(make())
        for depth in depths:  # from shallow to deep
            texts = [text for d in range(1, depth + 1) for text in depths[d][0]]
            labels = np.concatenate([depths[d][1] for d in range(1, depth + 1)])
            model.fit(ids(texts, 40), labels, 32, args.epochs, verbose=0)
        errors = [1 - model.evaluate(ids(texts, 121), labels, verbose=0)[1] for texts, labels in tests.values()]
        traced = analysis.trace(model, ids([probe], len(probe) + 1))
        drifts = [analysis.drift(traced[kind][:, :-1])[0] for kind in "hc"]
        print(f"{name:10}" + "".join(f"{error:20.1%} " for error in errors) + "".join(f"{d:13.1f}" for d in drifts))
        states = {"hidden state h": traced["h"][0, :-1], "memory c": traced["c"][0, :-1]}
        figures.state_paths(states, probe).savefig(Path(args.figures) / f"figure5-{name}.png", dpi=150)
    print(f"Figures: {args.figures}")


if __name__ == "__main__":
    main()

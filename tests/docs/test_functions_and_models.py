"""docs/functions-and-models.md says which function reads which model: every cell of its table is tried."""

import inspect
import re
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, deploy, layers

PAGE = Path(__file__).parents[2] / "docs" / "functions-and-models.md"
SYMBOLS, TEXT = 5, [1, 3, 2, 1]
IDS = np.array([TEXT, [4, 1, 1, 2]])


def symbols(*parts: keras.layers.Layer) -> keras.Model:
    return keras.Sequential([keras.Input((None,), dtype="int32"), *parts])


def embedded(*parts: keras.layers.Layer, mask_zero: bool = False) -> keras.Model:
    return symbols(keras.layers.Embedding(SYMBOLS, 3, mask_zero=mask_zero), *parts)


def isan(**flags) -> layers.ISAN:
    return layers.ISAN(3, SYMBOLS, **flags)


dense, pool, both = keras.layers.Dense, keras.layers.GlobalAveragePooling1D, keras.layers.Bidirectional
MODELS = {
    "ISAN": lambda: symbols(isan(return_sequences=True), dense(SYMBOLS, "softmax")),
    "FactoredISAN": lambda: symbols(layers.FactoredISAN(3, 2, SYMBOLS), dense(2)),
    "MinGRU": lambda: embedded(layers.MinGRU(3), dense(2)),
    "DeltaNet": lambda: embedded(layers.DeltaNet(4, 2, normalize=False), dense(2)),
    "masked": lambda: embedded(layers.MinGRU(3), dense(2), mask_zero=True),
    "mean": lambda: symbols(isan(return_sequences=True), pool(), dense(2)),
    "two-way": lambda: symbols(both(isan()), dense(2)),
    "stack": lambda: embedded(layers.MinGRU(3, return_sequences=True), layers.MinGRU(3), dense(2)),
    "bent": lambda: symbols(isan(), dense(3, "tanh"), dense(2)),
    "SRGRU": lambda: embedded(layers.SRGRU(3, 2), dense(1), mask_zero=True),
    "MinimalRNN": lambda: embedded(layers.MinimalRNN(3), dense(2)),
    "LSTM": lambda: embedded(keras.layers.LSTM(3), dense(2)),
    "two-way LSTM": lambda: embedded(both(keras.layers.LSTM(3)), dense(2)),
    "LSTMs": lambda: embedded(keras.layers.LSTM(3, return_sequences=True), keras.layers.LSTM(3), dense(2)),
    "nested": lambda: embedded(keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(3)]), dense(2)),
}
FUNCTIONS = {
    "contributions": lambda model: analysis.contributions(model, TEXT),
    "recent_contributions": lambda model: next(iter(analysis.recent_contributions(model, TEXT, window=2))),
    "affine_map": lambda model: analysis.affine_map(model, TEXT),
    "from_network": automata.WeightedAutomaton.from_network,
    "shapley_values": lambda model: analysis.shapley_values(model, TEXT),
    "equivalent": lambda model: analysis.equivalent(model, model),
    "minimize": analysis.minimize,
    "truncate": lambda model: analysis.truncate(model, 2, sequences=[TEXT]),
    "attribution": lambda model: analysis.attribution(model, IDS, target=0),
    "interactions": lambda model: analysis.interactions(model, TEXT),
    "affine_surrogate": lambda model: analysis.affine_surrogate(model, TEXT, target=0),
    "substitutions": lambda model: analysis.substitutions(model, TEXT, alternatives=[1, 2, 3]),
    "trace": lambda model: analysis.trace(model, IDS),
    "patching": lambda model: analysis.patching(model, IDS[:1], corrupted=IDS[1:]),
    "input_output_jacobian": lambda model: analysis.input_output_jacobian(model, IDS, lag=2),
    "fixed_points": lambda model: fixed_points(model),
    "lyapunov_exponents": lambda model: analysis.lyapunov_exponents(model, IDS),
    "transition_probabilities": lambda model: analysis.transition_probabilities(model, IDS),
    "extract": lambda model: automata.extract(model, alphabet={"a": 1, "b": 2}, start=3),
    "learn": lambda model: automata.learn(model, {"a": 1, "b": 2}, max_words=20, max_length=4),
    "to_c": deploy.to_c,
}


def fixed_points(model: keras.Model):
    """Of an ISAN those of its symbols' maps; of another network those under an input."""
    try:
        return analysis.fixed_points(model)
    except ValueError:
        return analysis.fixed_points(model, np.ones(3), num_starts=8)


def table() -> dict[tuple[str, str], str]:
    """(function, model) -> what the page says, "yes" or "no" with a reason."""
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    [head, *rows] = rows
    names = [re.sub(r"`", "", name) for name in head[1:]]
    return {(row[0].strip("`"), name): cell for row in rows for name, cell in zip(names, row[1:], strict=True)}


CELLS = table()


OTHERS = {
    # Of ISANs alone, or of networks that come with other data.
    *("bias_norms", "change_basis", "balanced_basis"),
    *("homogeneous_matrices", "mean_state", "readout_basis", "sparse_basis"),
    *("timescales", "transition_spectra"),
    # Of models that predict the next id.
    "surprise",
    # Other readings of what a row already has.
    *("explain", "generate", "jacobian_singular_values", "phase_portrait", "phrases", "prototypes"),
}
"""Functions of a network without a row."""


def test_every_function_of_a_network_has_a_row_or_is_named_as_one_without():
    functions = {
        name
        for name in analysis.__all__
        if inspect.isfunction(found := getattr(analysis, name))
        and next(iter(inspect.signature(found).parameters)) == "network"
    }
    assert functions - set(FUNCTIONS) == OTHERS


def test_the_table_has_every_function_and_model():
    assert {function for function, _ in CELLS} == set(FUNCTIONS)
    assert {model for _, model in CELLS} == set(MODELS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_reads_what_the_page_says_and_refuses_the_rest_in_a_sentence(function):
    keras.utils.set_random_seed(0)
    for name, build in MODELS.items():
        model = build()
        if CELLS[function, name] == "✓":
            assert FUNCTIONS[function](model) is not None, name
        else:
            assert CELLS[function, name] == "–", (function, name)
            with pytest.raises(ValueError, match=r"must|Received"):
                FUNCTIONS[function](model)

"""docs/functions-and-models.md says which function reads which model: every cell of its table is tried."""

import inspect
import re
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, deploy, layers
from keras_interp_rnn._alphabet import with_token_ids

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


def attention() -> keras.Model:
    ids = keras.Input((None,), dtype="int32")
    states = keras.layers.LSTM(3, return_sequences=True)(keras.layers.Embedding(SYMBOLS, 3)(ids))
    return keras.Model(ids, dense(2)(pool()(keras.layers.Attention()([states, states]))))


MODELS = {
    "LSTM, GRU, SimpleRNN, CFN, your own cell": lambda: embedded(keras.layers.LSTM(3), dense(2)),
    "the same in both directions": lambda: embedded(both(keras.layers.LSTM(3)), dense(2)),
    "one LSTM above another": lambda: embedded(
        keras.layers.LSTM(3, return_sequences=True), keras.layers.LSTM(3), dense(2)
    ),
    "an LSTM in a nested model": lambda: embedded(
        keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(3)]), dense(2)
    ),
    "attention over the states of an LSTM": attention,
    "a causal convolution under an LSTM": lambda: embedded(
        keras.layers.Conv1D(3, 2, padding="causal"), keras.layers.LSTM(3), dense(2)
    ),
    "MinimalRNN": lambda: embedded(layers.MinimalRNN(3), dense(2)),
    "SRGRU and other state-regularized layers": lambda: embedded(layers.SRGRU(3, 2), dense(1), mask_zero=True),
    "MinGRU, MinLSTM, LRU, RGLRU": lambda: embedded(layers.MinGRU(3), dense(2)),
    "the same, padding masked": lambda: embedded(layers.MinGRU(3), dense(2), mask_zero=True),
    "DeltaNet with `normalize=False`, GatedLinearAttention": lambda: embedded(
        layers.DeltaNet(4, 2, normalize=False), dense(2)
    ),
    "one linear recurrence above another": lambda: embedded(
        layers.MinGRU(3, return_sequences=True), layers.MinGRU(3), dense(2)
    ),
    "ISAN": lambda: symbols(isan(return_sequences=True), dense(SYMBOLS, "softmax")),
    "FactoredISAN": lambda: symbols(layers.FactoredISAN(3, 2, SYMBOLS), dense(2)),
    "the mean of an ISAN's states": lambda: symbols(isan(return_sequences=True), pool(), dense(2)),
    "an ISAN in both directions": lambda: symbols(both(isan()), dense(2)),
    "an ISAN, an activation inside the head": lambda: symbols(isan(), dense(3, "tanh"), dense(2)),
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
    "extract": lambda model: automata.extract(model, alphabet=with_token_ids({"a": 1, "b": 2}, 3, None)),
    "learn": lambda model: automata.learn(model, {"a": 1, "b": 2}, max_words=20, max_length=4),
    "to_c": deploy.to_c,
}


def fixed_points(model: keras.Model):
    """Of an ISAN those of its symbols' maps; of another network those under an input."""
    try:
        return analysis.fixed_points(model)
    except ValueError:
        return analysis.fixed_points(model, np.ones(3), num_starts=8)


QUESTIONS = {
    "which steps and pairs of steps made the output": (
        "attribution",
        "interactions",
        "substitutions",
        "patching",
        "trace",
        "input_output_jacobian",
    ),
    "what each step adds to it, exactly": ("contributions",),
    "of a window of steps": ("recent_contributions",),
    "a text as one affine map": ("affine_map",),
    "a weighted automaton": ("from_network", "shapley_values", "equivalent", "minimize", "truncate"),
    "an affine network beside it": ("affine_surrogate",),
    "where its state goes": ("fixed_points", "lyapunov_exponents"),
    "the automaton of its centroids": ("transition_probabilities", "extract"),
    "an automaton by queries": ("learn",),
    "C": ("to_c",),
}
"""Column of the table -> the functions that answer it, which read the same models."""


def reads(function: str, model: str) -> bool:
    """Whether a function reads a kind of model; a refusal must be a sentence."""
    keras.utils.set_random_seed(0)
    try:
        return FUNCTIONS[function](MODELS[model]()) is not None
    except ValueError as error:
        if not re.search("must|Received", str(error)):
            raise
        return False


def lines() -> list[str]:
    """The table as it must be."""
    head = [f"{question}: {', '.join(f'`{name}`' for name in names)}" for question, names in QUESTIONS.items()]
    rows = [["", *head], ["---"] * (len(head) + 1)]
    for model in MODELS:
        cells = [{reads(name, model) for name in names} for names in QUESTIONS.values()]
        assert all(len(found) == 1 for found in cells), (model, cells)
        rows.append([model, *("✓" if found == {True} else "–" for found in cells)])
    return [f"| {' | '.join(row)} |" for row in rows]


def table() -> dict[tuple[str, str], str]:
    """(question, model) -> what the page says."""
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    [head, _, *rows] = rows or [[""], []]
    questions = [name.split(":")[0] for name in head[1:]]
    return {(name, row[0]): cell for row in rows for name, cell in zip(questions, row[1:], strict=True)}


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


def test_the_table_has_every_question_and_model():
    assert list(dict.fromkeys(question for question, _ in CELLS)) == list(QUESTIONS)
    assert list(dict.fromkeys(model for _, model in CELLS)) == list(MODELS)
    assert sorted(name for names in QUESTIONS.values() for name in names) == sorted(FUNCTIONS)


IN_THE_MATRIX = [model for i, model in enumerate(MODELS) if i % 5]
"""Kinds of models that are tried in the matrix alone."""


@pytest.mark.parametrize("model", [pytest.param(x, marks=[pytest.mark.matrix] * (x in IN_THE_MATRIX)) for x in MODELS])
@pytest.mark.parametrize("question", QUESTIONS)
def test_functions_read_what_the_page_says_and_refuse_the_rest_in_a_sentence(question, model):
    """Write the table by `python docs/functions_and_models.py`."""
    for function in QUESTIONS[question]:
        assert CELLS[question, model] == ("✓" if reads(function, model) else "–"), (function, model)

"""Margins of certificates of random networks, compared with the note's bounds computed by literal loops.

In float64 rounding is negligible, and the margins are those of exact arithmetic. In float32 they must count each
rounding at least once by the textbook's bound, and not many times.
"""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import automata, layers
from keras_interp_rnn._alphabet import with_token_ids
from keras_interp_rnn.automata import DFA
from keras_interp_rnn.automata.certificates import _bounds
from keras_interp_rnn.automata.certificates._proved import Proved
from keras_interp_rnn.equations import SimpleRNN
from tests.oracles import certificate as oracle

IDS = {"a": 4, "b": 2, "c": 5}
START, END = 1, 6
SYMBOLS = with_token_ids(IDS, START, None)

CELLS = {
    "SimpleRNN": (layers.SRSimpleRNN, {}),
    "SimpleRNN, no bias": (layers.SRSimpleRNN, {"use_bias": False}),
    "GRU": (layers.SRGRU, {}),
    "GRU, reset before": (layers.SRGRU, {"reset_after": False}),
    "GRU, no bias": (layers.SRGRU, {"use_bias": False}),
}
COMPONENTS = {
    "mixture": {},
    "soft_argmax": {"transition": "soft_argmax"},
    "gumbel": {"transition": "gumbel"},
    "learned temperature": {"learn_temperature": True},
    "learned temperature, hard": {"learn_temperature": True, "transition": "soft_argmax"},
    "end token": {"regularize_last_step": False},
    "labels": {"outputs": 5},
    "labels, hard": {"outputs": 5, "transition": "soft_argmax"},
    "labels, end token": {"outputs": 5, "regularize_last_step": False},
    "other sizes": {"units": 3, "centroids": 2, "features": 5},
    "one unit": {"units": 1, "centroids": 3, "features": 2, "transition": "soft_argmax"},
    "one feature": {"units": 4, "centroids": 7, "features": 1},
}


def array(weight):
    return np.asarray(ops.convert_to_numpy(weight), np.float64)


def network(name, seed, dtype, units=5, centroids=4, features=3, outputs=1, **arguments):
    """A network of random asymmetric weights, with no two sizes alike; with several outputs there is one per label."""
    kind, of_cell = CELLS[name]
    rng = np.random.default_rng(seed)
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(7, features, mask_zero=True, dtype=dtype),
            kind(units, centroids, dtype=dtype, **{"temperature": 0.5, **of_cell, **arguments}),
            keras.layers.Dense(outputs, "softmax" if outputs > 1 else None, dtype=dtype),
        ]
    )
    embedding, layer, head = model.layers
    inner = layer.cell.cell
    for weight in (*inner.trainable_weights, *head.trainable_weights):
        weight.assign(0.4 * rng.normal(size=weight.shape))
    embedding.embeddings.assign(1.2 * rng.normal(size=(7, features)))
    layer.cell.centroids.assign(2 * rng.normal(size=(centroids, units)))
    return model


def certified(model):
    """The certificate for the network's own automaton."""
    end = None if model.layers[1].regularize_last_step else END
    tokens = {"alphabet": with_token_ids(IDS, START, end)}
    return automata.certify(model, automata.extract(model, **tokens).machine, **tokens)


def by_the_note(model, found, arithmetic, epsilon=None):
    """The oracle's bounds for the path, the centroids and epsilon of a certificate."""
    embedding, layer, head = model.layers
    inner = layer.cell.cell
    kernel, recurrent = array(inner.kernel), array(inner.recurrent_kernel)
    gru = isinstance(inner, keras.layers.GRUCell)
    bias = array(inner.bias) if inner.use_bias else np.zeros((2, 3 * len(recurrent)) if gru else len(recurrent))
    cell = (oracle.GRU if gru else oracle.SimpleRNN)(kernel, recurrent, bias)
    spread = 2.0**-19 if layer.cell.learn_temperature else 0.0
    temperatures = found.temperature * (1 - spread), found.temperature * (1 + spread)
    component = oracle.Component(array(layer.cell.centroids), *temperatures, hard=found.epsilon == 0)
    table, kernel, bias, path = array(embedding.embeddings), array(head.kernel), array(head.bias), found.path
    one = isinstance(path, DFA)
    return oracle.bounds(
        cell,
        component,
        oracle.Head(kernel[:, 0], float(bias[0])) if one else oracle.Heads(kernel, bias),
        (path.transitions, path.accepting if one else list(path.outputs), path.start),
        found.centroids,
        found.epsilon if epsilon is None else epsilon,
        [table[IDS[symbol]] for symbol in found.path.alphabet],
        table[START],
        None if layer.regularize_last_step else table[END],
        arithmetic,
    )


def named(found, start):
    """The failure of a proof: of the start token, else of the worst transition, else of the worst decision."""
    path, centroids = found.path, found.centroids
    if start <= 0:
        return f"the start token leads to centroid {centroids[path.start]}, but not with enough probability"
    worst, state, column = min((m, i, j) for i, row in enumerate(found.margins) for j, m in enumerate(row))
    if worst <= 0:
        return (
            f"from centroid {centroids[state]} the symbol {path.alphabet[column]!r} leads to centroid "
            f"{centroids[path.transitions[state][column]]}, but the bound misses what is needed by {-worst:.2f} nats"
        )
    _, state = min((m, i) for i, m in enumerate(found.decision_margins))
    return f"the head's decision on centroid {centroids[state]} is not the same over its whole region"


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("seed", [0, 1])
def test_margins_are_those_of_the_note(name, component, seed):
    model = network(name, seed, "float64", **COMPONENTS[component])
    found = certified(model)
    expected = by_the_note(model, found, oracle.Arithmetic(unit=0.0))
    assert isinstance(found.path, DFA) == ("labels" not in component)
    assert (found.epsilon == 0) == (COMPONENTS[component].get("transition") == "soft_argmax")
    for figures, bounds in ((found.margins, expected.margins), (found.decision_margins, expected.verdicts)):
        np.testing.assert_allclose(figures, bounds, rtol=0, atol=2e-9)
        assert (figures <= bounds).all()  # below, by an allowance for their own rounding
    assert found.holds == (expected.least > 0)
    assert found.holds or found.failure == named(found, expected.start)


@pytest.mark.parametrize("transition", ["mixture", "soft_argmax"])
def test_a_network_of_one_centroid_cannot_leave_it(transition):
    model = network("GRU", 0, "float32", centroids=1, transition=transition)
    found = certified(model)
    assert found.holds, found
    assert found.margins.min() > 1e300
    assert found.check(model, alphabet=SYMBOLS)
    model.layers[2].bias.assign([-array(model.layers[2].kernel)[:, 0] @ array(model.layers[1].cell.centroids)[0]])
    again = certified(model)
    assert not again.holds
    assert "the head's decision on centroid 0 is not the same" in again.failure


@pytest.mark.parametrize(("rho", "bounded"), [(0.6, True), (0.95, True), (1.03, False), (1.7, False)])
def test_there_is_no_region_if_rounding_reaches_the_largest_centroid(rho, bounded):
    """At temperatures at which the rounding of the scores makes the note's rho this large."""
    model = network("GRU", 1, "float32")
    once = oracle.Arithmetic(unit=2.0**-24, tiny=2.0**-126)
    low, high = 1e-6, 1.0
    for _ in range(60):
        tau = (low * high) ** 0.5
        component = oracle.Component(array(model.layers[1].cell.centroids), tau, tau, hard=False)
        low, high = (tau, high) if component.rho(once) > rho else (low, tau)
    dfa = automata.extract(model, alphabet=SYMBOLS).dfa
    found = automata.certify(model, dfa, temperature=tau, alphabet=SYMBOLS)
    for figures in (found.margins, found.decision_margins):
        assert np.isfinite(figures).all() if bounded else (figures == -np.inf).all()


def check_epsilon(model):
    """The certificate; raises if another epsilon comes closer to a proof, of the path first and of the decisions."""
    found = certified(model)
    exact = oracle.Arithmetic(unit=0.0)
    chosen = by_the_note(model, found, exact)
    for factor in (0.2, 0.6, 1.7, 5.0):
        other = found.epsilon * factor
        if 1e-9 <= other <= 0.45:
            bounds = by_the_note(model, found, exact, epsilon=other)
            assert bounds.least <= chosen.least or chosen.least_of_path > 0 >= bounds.least_of_path
    return found


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", CELLS)
def test_the_epsilon_of_a_certificate_is_about_the_best(name, seed):
    check_epsilon(network(name, seed, "float64"))


@pytest.mark.parametrize("seed", [1, 2])
def test_names_the_worst_transition_that_fails(seed):
    model = network("SimpleRNN", seed, "float64", temperature=0.1)
    found = certified(model)
    start = by_the_note(model, found, oracle.Arithmetic(unit=0.0)).start
    assert not found.holds
    assert found.margins.min() < 0 < min(start, found.margins.max())
    assert found.failure == named(found, start)


@pytest.mark.parametrize("name", ["SimpleRNN", "GRU"])
def test_the_path_holds_for_epsilon_if_only_a_decision_fails(name):
    model = network(name, 1, "float64", temperature=0.02)
    first = certified(model).centroids[0]
    head, centroids = model.layers[2], array(model.layers[1].cell.centroids)
    head.bias.assign([-centroids[first] @ array(head.kernel)[:, 0]])
    found = check_epsilon(model)
    assert not found.holds
    assert found.margins.min() > 0
    assert found.failure == f"the head's decision on centroid {first} is not the same over its whole region"


def changed(model, change):
    """The model after a change of its weights: name -> array."""
    embedding, layer, head = model.layers
    inner = layer.cell.cell
    variables = {
        **{"features": embedding.embeddings, "centroids": layer.cell.centroids},
        **{"kernel": inner.kernel, "recurrent": inner.recurrent_kernel, "bias": inner.bias},
        **{"head": head.kernel, "head bias": head.bias},
    }
    weights = {name: array(variable) for name, variable in variables.items() if variable is not None}
    change(weights, np.random.default_rng(9))
    for name, weight in weights.items():
        variables[name].assign(weight)
    return model


def large_features(weights, rng):
    """Two features that nearly cancel."""
    features, kernel = weights["features"], weights["kernel"]
    features[:, 0] = rng.uniform(-400, 400, len(features))
    features[:, 1] = features[:, 0] + 0.1
    kernel[1] = -kernel[0]


def large_features_of_gates(weights, rng):
    """The same, for gates only."""
    large_features(weights, rng)
    kernel = weights["kernel"]
    n = len(weights["recurrent"])
    if kernel.shape[1] == 3 * n:
        kernel[:2, 2 * n :] = 0


def large_features_of_candidates(weights, rng):
    """The same, larger, for all but gates."""
    large_features(weights, rng)
    weights["features"][:, :2] += 3000
    kernel = weights["kernel"]
    kernel[:2, : kernel.shape[1] - len(weights["recurrent"])] = 0


def large_states(weights, rng):
    """Two units that nearly cancel, in the cell and in the head."""
    centroids, recurrent = weights["centroids"], weights["recurrent"]
    centroids[:, :2] = -300 + 0.1 * centroids[:, :2]
    recurrent[1] = -recurrent[0] * (1 + 1 / 3000)
    weights["head"][1] = -weights["head"][0]


def large_states_carried_along(weights, rng):
    """The same, of units that the cell does not read."""
    large_states(weights, rng)
    weights["recurrent"][:2] = 0


def large_recurrent_weights(weights, rng, by=300.0):
    """Two equal units that cancel; their reset gates, which come first, are equal too."""
    weights["centroids"][:, 1] = weights["centroids"][:, 0]
    recurrent, kernel = weights["recurrent"], weights["kernel"]
    n = len(recurrent)
    candidate = slice(recurrent.shape[1] - n, None)
    recurrent[0, candidate] *= by
    recurrent[1, candidate] = -recurrent[0, candidate] + rng.normal(size=n)
    if recurrent.shape[1] == 3 * n:
        recurrent[:, n + 1], kernel[:, n + 1] = recurrent[:, n], kernel[:, n]
        if "bias" in weights:
            weights["bias"][..., n + 1] = weights["bias"][..., n]


def large_biases(weights, rng):
    """Biases that a feature or a unit cancels."""
    weights["head bias"][:] = -300
    if "bias" not in weights:
        return
    weights["features"][:, 0] = weights["centroids"][:, 0] = -1
    bias, large = weights["bias"], 300 * rng.normal(size=weights["bias"].shape)
    for name, column in (("kernel", 0), ("recurrent", 1)) if bias.ndim == 2 else (("kernel", ...),):
        weights[name][0] += large[column]
        bias[column] += large[column]


def small_centroids(weights, rng):
    weights["centroids"] *= 0.1


def smallest_numbers(weights, rng):
    """States near the smallest normal number, whose products underflow, and large weights in return."""
    large_recurrent_weights(weights, rng, by=10.0)
    weights["centroids"] *= 1e-36
    weights["recurrent"] *= 1e35
    weights["head"] *= 1e35


HARD = {"transition": "soft_argmax"}
ROUNDING = {
    "of large features": (large_features, {}),
    "of large features, hard": (large_features, HARD),
    "of large features of gates": (large_features_of_gates, HARD),
    "of large features of candidates": (large_features_of_candidates, HARD),
    "of large states": (large_states, {**HARD, "temperature": 10.0}),
    "of large states carried along": (large_states_carried_along, {**HARD, "temperature": 10.0}),
    "of large recurrent weights": (large_recurrent_weights, HARD),
    "of large biases": (large_biases, HARD),
    "of scores over a low temperature": (lambda *_: None, {"temperature": 1e-2}),
    "of scores over a low temperature, hard": (lambda *_: None, {**HARD, "temperature": 1e-2}),
    "of scores of small centroids": (small_centroids, {"temperature": 1e-3}),
    "of a mixture": (lambda *_: None, {"temperature": 30.0}),
    "of what underflows": (smallest_numbers, {"temperature": 1e-36}),
    "of what underflows, warmer": (smallest_numbers, {"temperature": 1e-34}),
    "of what underflows, hard": (smallest_numbers, {**HARD, "temperature": 1e-36}),
    "after the end token": (large_features, {"regularize_last_step": False}),
    "of labels": (large_features, {"outputs": 7}),
    "of labels, hard": (large_states, {**HARD, "outputs": 7, "temperature": 10.0}),
}


@pytest.mark.parametrize("case", ROUNDING)
@pytest.mark.parametrize("name", CELLS)
def test_margins_count_the_rounding_of_float32(name, case):
    change, arguments = ROUNDING[case]
    model = changed(network(name, 1, "float32", units=11, **arguments), change)
    found = certified(model)
    exact = by_the_note(model, found, oracle.Arithmetic(unit=0.0))
    once = by_the_note(model, found, oracle.Arithmetic(unit=2.0**-24, tiny=2.0**-126))
    # Next to the note's allowance for a region the cell's is small. For underflow all weights count together.
    most = 80 if "underflows" in case else 10 if found.epsilon == 0 else 1.6
    for figures, without, least in (
        (found.margins, exact.margins, once.margins),
        (found.decision_margins, exact.verdicts, once.verdicts),
    ):
        counted = (without - figures) / (without - least)
        assert (counted >= 1).all()
        assert (counted <= most).all()


TINY = 2.0**-126  # the smallest normal number of float32


def flushed(x):
    """A number as arithmetic has it that takes all below the smallest normal number for zero."""
    return np.where(np.abs(x) < TINY, 0.0, x)


def proved(kernel, bias, centroids=((1.0,),), cell=None):
    """The numbers of a network in float32, of which a test reads some."""
    return Proved(
        *(SYMBOLS, START, "float32", False, False, {}),
        cell,
        np.array(centroids),
        np.array(kernel),
        np.array(bias),
    )


# One operand is below the smallest normal number, the other is large; all else of its kind is small.
SMALL, LARGE = 0.9 * TINY, 1e36


@pytest.mark.parametrize("target", [0, 1, 2])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_scores_of_centroids_of_very_different_sizes_count_what_underflows(order, target):
    centroids = np.array([[LARGE], [-LARGE], [1e-6]])[list(order)]
    scores = _bounds.Scores(centroids, True, 1e-3, 1e-3, _bounds.Arithmetic.of("float32"))
    for u in ([SMALL], [-SMALL]):
        values = flushed(flushed(u) * centroids).sum(axis=-1) / 1e-3
        bound = scores.worst_log_odds(_bounds.Box(np.array(u), np.array(u)), target)
        assert np.isfinite(bound)
        assert bound <= values[target] - np.delete(values, target).max()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_scores_of_units_of_very_different_sizes_count_what_underflows(order):
    centroids = np.array([[SMALL], [-SMALL]])[list(order)]
    scores = _bounds.Scores(centroids, True, 1e-3, 1e-3, _bounds.Arithmetic.of("float32"))
    for target, u in ((0, [LARGE]), (1, [-LARGE])):
        assert scores.worst_log_odds(_bounds.Box(np.array(u), np.array(u)), target) <= 0


def test_a_region_counts_probabilities_that_underflow_times_a_large_centroid():
    scores = _bounds.Scores(np.array([[0.0], [1e-3], [1e18]]), False, 1e34, 1e34, _bounds.Arithmetic.of("float32"))
    box = scores.region(0, 0.0).box()
    assert -1e-18 < box.low[0] <= -SMALL * 1e18
    assert SMALL * 1e18 <= box.high[0] < 1e-18


@pytest.mark.parametrize(
    ("kernel", "recurrent", "x", "state"),
    [
        ([[LARGE], [1e-6]], [[1e-6]], [SMALL, 1e-6], [1e-6]),
        ([[SMALL], [1e-6]], [[1e-6]], [LARGE, 1e-6], [1e-6]),
        ([[1e-6], [1e-6]], [[LARGE]], [1e-6, 1e-6], [SMALL]),
        ([[1e-6], [1e-6]], [[SMALL]], [1e-6, 1e-6], [LARGE]),
    ],
    ids=["a feature", "a kernel", "a state", "a recurrent kernel"],
)
def test_a_cell_counts_what_underflows(kernel, recurrent, x, state):
    equations = SimpleRNN(np.array(kernel), np.array(recurrent), np.zeros(1))
    cell, _, _ = _bounds.bounds_of(proved([1.0], 0.0, cell=equations), 1.0)
    box = cell(_bounds.Region.point(np.array(state)))(np.array(x))
    drive = flushed(flushed(x) @ flushed(kernel)) + flushed(flushed(state) @ flushed(recurrent))
    exact = np.tanh(np.array(x) @ kernel + np.array(state) @ recurrent)
    assert np.abs(exact - np.tanh(drive)) > 1e-3  # far above the allowance for tanh
    assert box.low[0] <= np.tanh(drive) <= box.high[0]
    assert box.low[0] <= exact <= box.high[0]


@pytest.mark.parametrize("labels", [1, 2, 3])
@pytest.mark.parametrize(("weight", "state"), [(LARGE, SMALL), (SMALL, LARGE)])
def test_a_head_counts_what_underflows(weight, state, labels):
    kernel = [weight] if labels == 1 else [[weight, -weight, 1e-6][:labels]]
    _, decision, _ = _bounds.bounds_of(
        proved(kernel, 0.0 if labels == 1 else np.zeros(labels), cell=SimpleRNN(*np.zeros((2, 1, 1)), np.zeros(1))), 1.0
    )
    box = _bounds.Box(np.array([state]), np.array([state]))
    assert decision(box, 1 if labels == 1 else 0) <= 0  # the logits that are computed are all 0

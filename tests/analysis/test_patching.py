"""Patching against loops that put the clean value there by hand, and against `trace(set=)`."""

import functools
import html
import importlib

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, layers
from tests.network.test_own_equations import SilentCell
from tests.samples import passing_masks_on

PAIRS, STEPS, FEATURES, UNITS = 3, 5, 4, 3


def sequences(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.random.default_rng(seed).normal(size=(2, PAIRS, STEPS, FEATURES)).astype("float32"))


def built(build, seed: int = 1) -> keras.layers.RNN:
    """A layer with random weights, biases and peepholes too."""
    layer = build()
    layer(np.zeros((1, 2, FEATURES), "float32"))
    rng = np.random.default_rng(seed)
    layer.set_weights([rng.normal(size=weight.shape) for weight in layer.get_weights()])
    return layer


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def lstm(weights, x, states, put):
    (kernel, recurrent, bias, *peephole), (h, c) = weights, states
    p_i, p_f, p_o = peephole[0] if peephole else np.zeros((3, UNITS))
    a_i, a_f, a_c, a_o = np.split(x @ kernel + h @ recurrent + bias, 4)
    i, f = put("i", sigmoid(a_i + p_i * c)), put("f", sigmoid(a_f + p_f * c))
    c = f * c + i * put("candidate", np.tanh(a_c))
    o = put("o", sigmoid(a_o + p_o * c))
    return put("h", o * np.tanh(c)), put("c", c)


def gru(weights, x, states, put, reset_after=True):
    (kernel, recurrent, bias), (h,) = weights, states
    of_input, of_state = bias if reset_after else (bias, np.zeros_like(bias))
    a_u, a_r, a_c = np.split(x @ kernel + of_input, 3)
    b_u, b_r, b_c = np.split(h @ recurrent + of_state, 3)
    u, r = put("u", sigmoid(a_u + b_u)), put("r", sigmoid(a_r + b_r))
    mixed = r * b_c if reset_after else (r * h) @ recurrent[:, 2 * UNITS :]
    candidate = put("candidate", np.tanh(a_c + mixed))
    return (put("h", u * h + (1 - u) * candidate),)


def cfn(weights, x, states, put):
    (kernel, recurrent, bias), (h,) = weights, states
    a_u, a_i, a_c = np.split(x @ kernel + bias, 3)
    b_u, b_i = np.split(h @ recurrent, 2)
    u, i, candidate = put("u", sigmoid(a_u + b_u)), put("i", sigmoid(a_i + b_i)), put("candidate", np.tanh(a_c))
    return (put("h", u * np.tanh(h) + i * candidate),)


def minimal_rnn(weights, x, states, put):
    (kernel, recurrent, bias, into, offset), (h,) = weights, states
    z = put("z", np.tanh(x @ into + offset))
    u = put("u", sigmoid(z @ kernel + h @ recurrent + bias))
    return (put("h", u * h + (1 - u) * z),)


def simple_rnn(weights, x, states, put):
    (kernel, recurrent, bias), (h,) = weights, states
    return (put("h", np.tanh(x @ kernel + h @ recurrent + bias)),)


def weights_of(layer):
    cell = layer.cell
    names = ["kernel", "recurrent_kernel", "bias"] + ["peephole"] * hasattr(cell, "peephole")
    encoder = cell.encoder.weights if hasattr(cell, "encoder") else []
    return [ops.convert_to_numpy(w).astype(np.float64) for w in (*(getattr(cell, name) for name in names), *encoder)]


CELLS = {
    "SimpleRNN": (lambda: keras.layers.SimpleRNN(UNITS), simple_rnn),
    "LSTM": (lambda: keras.layers.LSTM(UNITS), lstm),
    "PeepholeLSTM": (lambda: layers.PeepholeLSTM(UNITS), lstm),
    "GRU": (lambda: keras.layers.GRU(UNITS), gru),
    "GRU, reset before": (
        lambda: keras.layers.GRU(UNITS, reset_after=False),
        functools.partial(gru, reset_after=False),
    ),
    "CFN": (lambda: layers.CFN(UNITS), cfn),
    "MinimalRNN": (lambda: layers.MinimalRNN(UNITS), minimal_rnn),
}


def by_hand(step, weights, clean, corrupted, num_states, group, at):
    """The last h of a corrupted sequence (time, features), with the clean values of a group at one step."""
    seen = {}

    def run(x, put):
        states = [np.zeros(UNITS)] * num_states
        for t, vector in enumerate(x.astype(np.float64)):
            states = step(weights, vector, states, lambda name, value, t=t: put(t, name, value))
        return states[0]

    run(clean, lambda t, name, value: seen.setdefault((t, name), value))
    return run(corrupted, lambda t, name, value: seen[t, name] if t == at and name in group else value)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", CELLS)
def test_states_and_gates_are_those_of_a_loop_that_puts_them_there(name, seed):
    build, step = CELLS[name]
    layer, (clean, corrupted) = built(build, seed), sequences(seed)
    weights = weights_of(layer)
    found = analysis.patching(layer, clean, corrupted=corrupted, target=seed)
    num_states = 2 if "c" in found.names else 1
    expected = [
        [
            [by_hand(step, weights, a, b, num_states, name.split("+"), t)[seed] for t in range(STEPS)]
            for name in found.names
        ]
        for a, b in zip(clean, corrupted, strict=True)
    ]
    tolerance = 1e-6 if name == "MinimalRNN" else 1e-13  # its encoder runs in its own dtype
    np.testing.assert_allclose(found.outputs, expected, rtol=0, atol=tolerance)
    assert found.difference < 1e-5
    traced = set(analysis.trace(layer, clean))
    assert {part for name in found.names for part in name.split("+")} == traced


OTHERS = {
    "SRGRU": lambda: layers.SRGRU(UNITS, 2),
    "SRLSTM": lambda: layers.SRLSTM(UNITS, 2, regularize_last_step=False),
    "MinGRU": lambda: layers.MinGRU(UNITS),
    "LRU": lambda: layers.LRU(UNITS),
    "RGLRU": lambda: layers.RGLRU(UNITS),
    "DeltaNet": lambda: layers.DeltaNet(4, 2),
    "backwards": lambda: keras.layers.LSTM(UNITS, go_backwards=True),
}


@pytest.mark.parametrize("name", OTHERS)
def test_all_states_of_any_cell_are_set_as_trace_sets_them(name):
    keras.utils.set_random_seed(0)
    layer, (clean, corrupted) = OTHERS[name](), sequences()
    states = [name for name in analysis.trace(layer, clean) if name in ("h", "c") or name.startswith("state_")]
    found = analysis.patching(layer, clean, corrupted=corrupted, target=1, quantities=[states])
    traced, unit = analysis.trace(layer, clean), 1
    # Where the output is another function of the states, the check below is the one that holds.
    for t in range(STEPS if name not in ("LRU", "DeltaNet") else 0):
        new = [traced[state][:, t] for state in states]
        run = analysis.trace(layer, corrupted, set={t: new if len(new) > 1 else new[0]})
        np.testing.assert_allclose(found.outputs[:, 0, t], run["h"][:, -1, unit], atol=1e-5)
    # The input after step 2 is the same: all of the change passes through the states from there on.
    same = np.concatenate([clean[:, :3], corrupted[:, 3:]], axis=1)
    if name == "backwards":
        same = np.concatenate([corrupted[:, :2], clean[:, 2:]], axis=1)
    found = analysis.patching(layer, same, corrupted=corrupted, target=1, quantities=[states])
    np.testing.assert_allclose(found.outputs[:, 0, 2:4], np.tile(found.clean[:, None], 2), atol=1e-12)
    np.testing.assert_allclose(found.restored[0, 2:4], 1, atol=1e-9)


def model(*, mask_zero: bool = False) -> keras.Model:
    keras.utils.set_random_seed(3)
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(7, FEATURES, mask_zero=mask_zero),
            passing_masks_on(keras.layers.LSTM(UNITS, return_sequences=True, name="lower")),
            keras.layers.GRU(UNITS, name="upper"),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )


CLEAN, CORRUPTED = np.array([[1, 2, 3, 4], [5, 1, 1, 6]]), np.array([[1, 5, 3, 4], [2, 1, 3, 6]])


def test_the_layers_above_go_on_from_a_patched_layer_below():
    network = model()
    found = analysis.patching(network, CLEAN, corrupted=CORRUPTED, quantities=[("lower/h", "lower/c")], target=1)
    embedding, lower, upper, dense = network.layers
    clean, corrupted = (ops.convert_to_numpy(embedding(ids)) for ids in (CLEAN, CORRUPTED))
    traced = analysis.trace(lower, clean)
    for t in range(4):
        states = analysis.trace(lower, corrupted, set={t: [traced["h"][:, t], traced["c"][:, t]]})["h"]
        expected = ops.convert_to_numpy(dense(upper(states)))[:, 1]
        np.testing.assert_allclose(found.outputs[:, 0, t], expected, atol=1e-6)
    np.testing.assert_allclose(found.clean, network.predict(CLEAN, verbose=0)[:, 1], atol=1e-6)
    np.testing.assert_allclose(found.corrupted, network.predict(CORRUPTED, verbose=0)[:, 1], atol=1e-6)
    both = analysis.patching(network, CLEAN, corrupted=CORRUPTED, quantities=[("lower/h", "lower/c", "upper/h")])
    last_difference = [1, 2]
    for pair, t in enumerate(last_difference):
        np.testing.assert_allclose(both.outputs[pair, 0, t:], both.clean[pair], atol=1e-13)
    assert both.targets.tolist() == network.predict(CLEAN, verbose=0).argmax(axis=1).tolist()


def test_effects_are_means_over_the_pairs():
    found = analysis.patching(model(), CLEAN, corrupted=CORRUPTED, target=0)
    effects = np.mean([found.outputs[pair] - found.corrupted[pair] for pair in range(2)], axis=0)
    np.testing.assert_allclose(found.effects, effects, atol=1e-15)
    np.testing.assert_allclose(found.restored, effects / (found.clean - found.corrupted).mean(), rtol=1e-12)
    assert (found.num_pairs == 2).all()
    assert found.effects.shape == (len(found.names), 4)


def test_a_sequence_patched_with_itself_changes_nothing():
    found = analysis.patching(model(), CLEAN, corrupted=CLEAN, target=0)
    np.testing.assert_allclose(found.effects, 0, atol=1e-15)
    assert np.isnan(found.restored).all()  # nothing to restore
    assert "–" in str(found)


def test_masked_steps_are_not_patched_and_do_not_count():
    network = model(mask_zero=True)
    clean, corrupted = np.pad(CLEAN, ((0, 0), (0, 2))), np.pad(CORRUPTED, ((0, 0), (0, 2)))
    padded = analysis.patching(network, clean, corrupted=corrupted, target=0)
    plain = analysis.patching(network, CLEAN, corrupted=CORRUPTED, target=0)
    np.testing.assert_allclose(padded.outputs[..., :4], plain.outputs, atol=1e-13)
    assert np.isnan(padded.outputs[..., 4:]).all()
    assert np.isnan(padded.effects[:, 4:]).all()
    lengths = clean.copy(), corrupted.copy()
    for ids in lengths:
        ids[0, 2:] = 0
    mixed = analysis.patching(network, lengths[0], corrupted=lengths[1], target=0)
    assert mixed.num_pairs[0].tolist() == [2, 2, 1, 1, 0, 0]
    np.testing.assert_allclose(mixed.effects[:, 2], plain.outputs[1, :, 2] - plain.corrupted[1], atol=1e-13)
    change = plain.clean[1] - plain.corrupted[1]
    np.testing.assert_allclose(mixed.restored[:, 2], mixed.effects[:, 2] / change, rtol=1e-9, atol=1e-12)


def test_two_directions_are_patched_each_at_the_step_that_it_read():
    keras.utils.set_random_seed(0)
    layer, (clean, corrupted) = keras.layers.Bidirectional(keras.layers.GRU(UNITS)), sequences()
    layer(clean)
    both = analysis.patching(layer, clean, corrupted=corrupted, target=UNITS)  # a unit of the backward layer
    alone = analysis.patching(layer.backward_layer, clean, corrupted=corrupted, target=0)
    for i, name in enumerate(alone.names):
        found = both.outputs[:, both.names.index(f"backward/{name}")]
        np.testing.assert_allclose(found, alone.outputs[:, i, ::-1], atol=1e-14)
    forward = [i for i, name in enumerate(both.names) if name.startswith("forward/")]
    np.testing.assert_allclose(both.effects[forward], 0, atol=1e-15)


def test_an_output_at_an_earlier_step_does_not_feel_later_ones():
    layer, (clean, corrupted) = keras.layers.LSTM(UNITS, return_sequences=True), sequences()
    found = analysis.patching(layer, clean, corrupted=corrupted, target=0, step=2)
    np.testing.assert_allclose(found.effects[:, 3:], 0, atol=1e-15)
    assert found.restored[found.names.index("h"), 2] == pytest.approx(1)


def test_many_rows_are_run_in_parts(monkeypatch):
    expected = analysis.patching(model(), CLEAN, corrupted=CORRUPTED)
    monkeypatch.setattr(importlib.import_module("keras_interp_rnn.analysis.attribution.opening"), "ROWS", 3)
    found = analysis.patching(model(), CLEAN, corrupted=CORRUPTED)
    np.testing.assert_allclose(found.outputs, expected.outputs, atol=1e-14)


def test_texts_are_read_by_the_names_of_their_ids():
    names = list(".abcdef")
    texts = analysis.patching(model(), ["abcd", "eaaf"], corrupted=["aecd", "bacf"], alphabet=names)
    np.testing.assert_array_equal(texts.outputs, analysis.patching(model(), CLEAN, corrupted=CORRUPTED).outputs)


def test_a_stack_of_cells_is_patched_cell_by_cell():
    keras.utils.set_random_seed(0)
    cells, (clean, corrupted) = [keras.layers.LSTMCell(UNITS), keras.layers.GRUCell(2)], sequences()
    found = analysis.patching(keras.layers.RNN(cells), clean, corrupted=corrupted, target=0)
    apart = keras.Sequential([keras.layers.RNN(cells[0], return_sequences=True), keras.layers.RNN(cells[1])])
    expected = analysis.patching(apart, clean, corrupted=corrupted, target=0)
    assert [name[:2] for name in found.names] == ["0/"] * 6 + ["1/"] * 4 + ["0/"]
    np.testing.assert_allclose(found.outputs, expected.outputs, atol=1e-14)


def test_print_names_the_step_of_the_largest_effect():
    shown = str(analysis.patching(model(), CLEAN, corrupted=CORRUPTED, quantities="upper/h", target=0)).splitlines()
    assert shown[0].startswith("upper/h at step 4")
    assert " restores 100% of the difference; mean output from " in shown[0]
    assert shown[0].endswith(" clean, 2 pairs")
    assert shown[2].split()[:2] == ["upper/h", "4"]
    assert "100.0%" in shown[2]


def test_steps_have_the_names_of_what_all_pairs_read_there():
    names = list(".abcdef")
    one = analysis.patching(model(), ["abcd"], corrupted=["aecd"], alphabet=names, target=0)
    assert [one.step_name(step) for step in range(4)] == ["“a”", "“b” for “e”", "“c”", "“d”"]
    both = analysis.patching(model(), ["abcd", "eacf"], corrupted=["aecd", "bacf"], alphabet=names, target=0)
    assert [both.step_name(step) for step in range(4)] == ["", "", "“c”", ""]
    drawn = one.drawing()
    assert all(html.escape(one.step_name(step)) in drawn for step in range(4))
    columns = one.table().to_dict()
    assert columns["read"] == [one.step_name(step) for step in range(4)] * len(one.names)
    np.testing.assert_array_equal(np.reshape(columns["restored"], one.restored.shape), one.restored)
    np.testing.assert_array_equal(np.reshape(columns["effect"], one.effects.shape), one.effects)


def test_patching_names_a_step_that_all_pairs_read():
    keras.utils.set_random_seed(1)
    parts = [keras.layers.Embedding(9, 3, mask_zero=True), keras.layers.LSTM(3), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *parts])
    clean, corrupted = [[1, 0], [3, 0], [5, 7]], [[2, 0], [8, 0], [5, 2]]
    found = analysis.patching(model, clean, corrupted=corrupted, target=0, quantities=["h"])
    np.testing.assert_array_equal(found.num_pairs, [[3, 1]])
    assert found.summary().columns[1].values == [1]
    assert found.table().columns[-1].values == [3, 1]


def test_the_sentence_is_about_one_quantity_alone():
    """All states at the step of the last difference restore all of it by construction."""
    found = analysis.patching(model(), ["abcd"], corrupted=["aecd"], alphabet=list(".abcdef"), target=0)
    assert found.restored[[name.count("+") > 0 for name in found.names]].max() > 0.9
    assert "+" not in found.table().caption.split(" at step ")[0]


@pytest.mark.parametrize(
    ("build", "more", "rule"),
    [
        (model, {"quantities": ["lower/u"]}, "`quantities` must be one of 'lower/h'"),
        (model, {"quantities": []}, "`quantities` must be names, at least one"),
        (model, {"quantities": 3}, "Quantities must be a list"),
        (model, {"quantities": [3]}, "Quantities must be a list"),
        (model, {"quantities": [()]}, "`quantities` must be names, at least one"),
        (model, {"target": 2}, r"`target` must be"),
        (model, {"corrupted": CORRUPTED[:, :3]}, r"must have the same shape. Received: \(2, 4\) and \(2, 3\)"),
        (model, {"corrupted": CORRUPTED[:1]}, "must have the same shape"),
        (lambda: model(mask_zero=True), {"corrupted": CORRUPTED * [1, 1, 1, 0]}, "must read the same steps"),
    ],
)
def test_refusals(build, more, rule):
    with pytest.raises(ValueError, match=rule):
        analysis.patching(build(), CLEAN, **{"corrupted": CORRUPTED, **more})


def test_refusals_of_networks_and_inputs():
    clean, corrupted = sequences()
    own = keras.layers.RNN(SilentCell(UNITS), name="mine")
    with pytest.raises(
        ValueError, match="equations of a cell must be known, to patch it. Received: mine over SilentCell"
    ):
        analysis.patching(own, clean, corrupted=corrupted)
    for value in (np.nan, np.inf):
        broken = corrupted.copy()
        broken[0, 1, 2] = value
        with pytest.raises(ValueError, match="must be finite"):
            analysis.patching(keras.layers.GRU(UNITS), clean, corrupted=broken)
        with pytest.raises(ValueError, match="must be finite"):
            analysis.patching(keras.layers.GRU(UNITS), broken, corrupted=clean)
    dense = keras.Sequential([keras.Input((STEPS, FEATURES)), keras.layers.Dense(1)])
    twice, read = keras.layers.GRU(FEATURES, return_sequences=True), keras.Input((STEPS, FEATURES))
    with pytest.raises(ValueError, match="Every layer must be called once, to be patched. Received: gru"):
        analysis.patching(keras.Model(read, twice(twice(read))), clean, corrupted=corrupted)
    with pytest.raises(ValueError, match="no recurrent layer"):
        analysis.patching(dense, clean, corrupted=clean)
    with pytest.raises(ValueError, match="stateful=True"):
        analysis.patching(keras.layers.GRU(UNITS, stateful=True), clean, corrupted=corrupted)
    with pytest.raises(ValueError, match="`quantities` must be one of 'h'. Received"):
        analysis.patching(layers.MinGRU(UNITS), clean, corrupted=corrupted, quantities=["z"])


def test_a_state_is_patched_below_attention():
    x = keras.Input((5, 3))
    lstm, attention, head = keras.layers.LSTM(4, return_sequences=True), keras.layers.Attention(), keras.layers.Dense(2)
    states = lstm(x)
    model = keras.Model(x, head(keras.layers.GlobalAveragePooling1D()(attention([states, states]))))
    clean, corrupted = np.random.default_rng(0).normal(size=(2, 1, 5, 3)).astype("float32")
    found = analysis.patching(model, clean, corrupted=corrupted, target=1, quantities=["h"])

    def run(patched):
        """The output where the state after a step is that of the clean sequence."""
        own, of_clean = ([ops.zeros((1, 4))] * 2 for _ in range(2))
        outputs = []
        for t in range(5):
            of_clean = lstm.cell(clean[:, t], of_clean)[1]
            own = lstm.cell(corrupted[:, t], own)[1]
            own = [of_clean[0], own[1]] if t == patched else own
            outputs.append(own[0])
        sequence = ops.stack(outputs, axis=1)
        return float(head(ops.mean(attention([sequence, sequence]), axis=1))[0, 1])

    np.testing.assert_allclose(found.outputs[0, 0], [run(t) for t in range(5)], atol=1e-6)
    np.testing.assert_allclose(found.corrupted[0], run(None), atol=1e-6)


def rows_as_steps():
    x = keras.Input((5, 3))
    states = keras.layers.GRU(3)(ops.reshape(x, (-1, 1, 3)))
    return keras.Model(x, keras.layers.Dense(2)(ops.reshape(states, (-1, 5, 3))[:, -1]))


def two_directions_multiplied():
    both = keras.layers.Bidirectional(keras.layers.GRU(3), merge_mode="mul")
    return keras.Sequential([keras.Input((5, 3)), both, keras.layers.Dense(2)])


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (two_directions_multiplied, "run their cells by known equations. Received: Keras runs bidirectional"),
        (rows_as_steps, "must read as many steps as the network"),
    ],
)
def test_what_has_no_states_to_patch_is_refused_in_a_sentence(build, sentence):
    clean, corrupted = np.random.default_rng(0).normal(size=(2, 1, 5, 3))
    with pytest.raises(ValueError, match=sentence):
        analysis.patching(build(), clean, corrupted=corrupted)

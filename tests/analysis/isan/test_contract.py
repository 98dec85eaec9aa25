"""The contract of all readings of an ISAN: forms of the network and the text, refusals, and the origin."""

import functools

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.analysis.isan.biases import bias_parts
from keras_interp_rnn.analysis.isan.timescales import contributions_by_age
from tests.analysis.isan.networks import contracting, network, shift
from tests.program.test_fold import REFUSED, Twice
from tests.tolerances import assert_close

pytestmark = pytest.mark.core

UNITS, SYMBOLS = 6, 4
TEXT = np.array([2, 0, 0, 3, 1, 2, 3, 3, 0, 1])

READINGS = {
    "contributions": analysis.contributions,
    "recent_contributions": lambda isan, text, **more: [
        (one.values, one.earlier, one.logits) for one in analysis.recent_contributions(isan, text, window=3, **more)
    ],
    "contributions_by_age": lambda isan, text, **more: list(contributions_by_age(isan, text, max_age=30, **more)),
    "timescales": lambda isan, text, **more: analysis.timescales(isan, text, max_age=3, **more),
    "shapley_values": analysis.shapley_values,
    "truncate": lambda isan, text, **more: analysis.truncate(isan, 2, sequences=[text], **more),
    "CompositionTable": lambda isan, text, **more: analysis.CompositionTable(isan, [text], **more),
    "affine_map": analysis.affine_map,
    "mean_state": lambda isan, text: analysis.mean_state(isan, [text]),
    "bias_parts": lambda isan, text, **more: bias_parts(isan, **more),
    "bias_norms": lambda isan, text, **more: analysis.bias_norms(isan, **more),
    "transition_spectra": lambda isan, text, **more: analysis.transition_spectra(isan, **more),
    "readout_basis": lambda isan, text, **more: analysis.readout_basis(isan, **more),
    "change_basis": lambda isan, text, **more: analysis.change_basis(isan, BASIS, **more),
    "sparse_basis": lambda isan, text, **more: analysis.sparse_basis(isan, np.ones((9, 4)), **more),
    "minimize": lambda isan, text, **more: analysis.minimize(isan, **more),
    "homogeneous_matrices": lambda isan, text: analysis.homogeneous_matrices(isan),
    "fixed_points": lambda isan, text: analysis.fixed_points(isan),
}
BASIS = analysis.Basis(analysis.AffineMap.identity(UNITS), analysis.AffineMap.identity(UNITS), 0, tuple("abcdef"))
OF_A_TEXT = list(READINGS)[:9]
WITHOUT_A_HEAD = ("affine_map", "mean_state", "homogeneous_matrices", "fixed_points")
WITH_A_HEAD = [name for name in READINGS if name not in (*WITHOUT_A_HEAD, "sparse_basis")]
WITH_AN_ORIGIN = [name for name in WITH_A_HEAD if name.startswith(("bias", "contr", "recent", "times"))]
of_a_text, with_a_head, with_an_origin, every = (
    pytest.mark.parametrize("name", names) for names in (OF_A_TEXT, WITH_A_HEAD, WITH_AN_ORIGIN, READINGS)
)


def numbers(result):
    """All arrays of a result."""
    if isinstance(result, np.ndarray):
        return [result] if result.dtype.kind == "f" else []
    if isinstance(result, keras.layers.Layer):
        return result.get_weights()
    parts = result if isinstance(result, (list, tuple)) else getattr(result, "__dict__", {}).values()
    return [array for part in parts for array in numbers(part)]


@with_a_head
def test_a_layer_or_a_cell_with_its_readout_is_read_as_the_model(name):
    read, model = READINGS[name], network(UNITS, SYMBOLS, SYMBOLS, 1)[0]
    isan, head = model.layers
    expected = numbers(read(model, TEXT))
    assert expected
    cell = isan if name == "change_basis" else isan.cell  # which makes a layer of a layer
    for layer, readout in ((isan, head), (isan, tuple(head.get_weights())), (cell, head.get_weights())):
        for one, other in zip(numbers(read(layer, TEXT, readout=readout)), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@of_a_text
def test_refuses_invalid_texts(name):
    model = network(UNITS, SYMBOLS, SYMBOLS, 1)[0]
    for text, sentence in (
        ([0, 1, 4], r"`symbols` must lie in \[0, 4\). Received: 0 to 4"),
        ([-1, 2, 0], r"`symbols` must lie in \[0, 4\). Received: -1 to 2"),
        ([[0, 1, 2]], r"integers of one text, shape \(time,\). Received: int64 of shape \(1, 3\). Pass one row"),
        ([0.5, 1, 2], "integers of one text.*Received: float64"),
        (object(), "symbols must be .*Received: .*, which makes one of dtype object"),
        ([[1], [2, 3]], "setting an array element with a sequence"),
        (
            [b"a", b"b"],
            r"A text must come with an alphabet. Received: \['a', 'b'\]|symbols must be .*, which makes one of .*S1",
        ),
        ({0: 1}, "symbols must be one array. Received: a dict of 1, 0. Stack what a step is made of"),
        (
            "abba",
            "A text must come with an alphabet. Received: .*Pass alphabet=|symbols must be .*(Encode it|dtype <U4)",
        ),
    ):
        with pytest.raises(ValueError, match=sentence):
            READINGS[name](model, text)


@functools.cache
def refused(why):
    return REFUSED[why][0]()


@every
def test_a_network_that_is_not_read_is_refused(name):
    read = READINGS[name]
    for why in ("shifted ids", "a mask", "int8", "a subclass of Dense"):
        if name in WITHOUT_A_HEAD and why in ("int8", "a subclass of Dense"):
            read(refused(why), TEXT)
            continue
        with pytest.raises(ValueError, match=REFUSED[why][1]):
            read(refused(why), TEXT)
    if name != "sparse_basis":
        with pytest.raises(ValueError, match="must have its weights.*Call it on symbols once"):
            read(layers.ISAN(UNITS, SYMBOLS), TEXT)
        with pytest.raises(ValueError, match="Exactly one ISAN can be read|must have an ISAN"):
            read(keras.layers.LSTM(4), TEXT)


@of_a_text
def test_a_layer_that_reads_backwards_is_refused(name):
    isan = layers.ISAN(UNITS, SYMBOLS, go_backwards=True)
    isan(TEXT[None])
    with pytest.raises(ValueError, match="Received: .*go_backwards=True|backwards"):
        READINGS[name](isan, TEXT)
    assert analysis.fixed_points(isan).states.shape == (SYMBOLS, UNITS)


@with_a_head
def test_a_readout_that_is_not_affine_is_refused(name):
    isan = network(UNITS, SYMBOLS, SYMBOLS, 1)[0].layers[0]
    quantized, twice = keras.layers.Dense(SYMBOLS, dtype="int8_from_float32"), Twice(SYMBOLS)
    for layer in (quantized, twice):
        layer.build((None, UNITS))
    model = keras.Sequential([keras.layers.Dense(2, "tanh")])
    for readout in (quantized, twice, "head", model, keras.layers.Dense(SYMBOLS)):
        with pytest.raises(ValueError, match="`readout` must be affine: a Dense layer.*Received: "):
            READINGS[name](isan, TEXT, readout=readout)
    for shapes in ([(6, 2), (3,)], [(3, 2), (2,)], [(6, 2)], [(6,), (6,)], [(6, 2), (2, 1)]):
        with pytest.raises(ValueError, match=r"shapes \(6, outputs\) and \(outputs,\)\. Received: \("):
            READINGS[name](isan, TEXT, readout=[np.zeros(shape) for shape in shapes])


@every
def test_weights_that_are_not_finite_are_refused(name):
    model = network.__wrapped__(UNITS, SYMBOLS, SYMBOLS, 1)[0]
    if name not in WITHOUT_A_HEAD:
        model.layers[-1].bias.assign(np.full(SYMBOLS, np.nan))
        with pytest.raises(ValueError, match="The weights must be finite. Received: NaN or infinity in .*dense.*/bias"):
            READINGS[name](model, TEXT)
    model.layers[0].cell.bias.assign(np.full((SYMBOLS, UNITS), np.inf))
    with pytest.raises(ValueError, match="The weights must be finite. Received: .*isan_cell/bias"):
        READINGS[name](model, TEXT)


def growing():
    """A model whose states overflow float64 within a dozen symbols, and whose contributions do."""
    model = network.__wrapped__(UNITS, SYMBOLS, SYMBOLS, 0)[0]
    kernel, *others = model.get_weights()
    model.set_weights([1e30 * kernel, *others])
    return model


@of_a_text
def test_refuses_an_overflow_with_one_sentence(name):
    with pytest.raises(ValueError, match=r"must fit into floats. Received: weights so large.*pass a shorter text"):
        READINGS[name](growing(), np.arange(40) % 4)


def test_the_steps_before_an_overflow_are_read():
    text = np.arange(40) % 4
    split = analysis.contributions(growing(), text, targets=5)
    assert split.residual < 1e-9 * np.abs(split.logits).max()
    recent = analysis.recent_contributions(growing(), text, window=3)
    np.testing.assert_allclose([next(recent).logits for _ in range(5)][-1], split.logits[0], rtol=1e-9)
    with pytest.raises(ValueError, match="must fit into floats"):
        analysis.attribution(growing(), text[None], target=1)
    # A generator leaves NumPy's settings alone between its steps.
    for one in analysis.recent_contributions(growing(), text[:5], window=2):
        with pytest.warns(RuntimeWarning, match="overflow"):
            np.float64(1e300) * (1e300 + 0 * one.step)


@functools.cache
def shifted(seed):
    """A network with its readout, a text, an origin, and the same network with that origin."""
    layer, readout, _ = contracting(UNITS, SYMBOLS, SYMBOLS, seed)
    text = np.random.default_rng(seed).integers(SYMBOLS, size=60)
    mean = analysis.mean_state(layer, [text])
    changed = analysis.change_basis(layer, shift(mean), readout=readout)
    return layer, readout, text, mean, (changed.layer, changed.readout)


@with_an_origin
def test_a_reading_with_an_origin_is_that_of_the_shifted_network(name):
    layer, readout, text, mean, (other, its_readout) = shifted(0)
    found = numbers(READINGS[name](layer, text, readout=readout, origin=mean))
    for one, expected in zip(found, numbers(READINGS[name](other, text, readout=its_readout)), strict=True):
        assert_close(one, expected, "float64", "numpy")
    as_trained = numbers(READINGS[name](layer, text, readout=readout))
    assert any(not np.allclose(one, plain, equal_nan=True) for one, plain in zip(found, as_trained, strict=True))


def test_no_origin_changes_an_output_and_the_initial_state_as_origin_adds_nothing():
    layer, readout, text, _, _ = shifted(1)
    plain = analysis.contributions(layer, text, readout=readout)
    for origin in ("initial", np.arange(UNITS)):
        found = analysis.contributions(layer, text, readout=readout, origin=origin)
        assert_close(found.logits, plain.logits, "float64", "numpy")
        assert found.residual < 1e-10
    initial = analysis.contributions(layer, text, readout=readout, origin="initial")
    np.testing.assert_array_equal(initial.values[0], 0)


@with_an_origin
def test_refuses_an_origin_that_is_not_a_state(name):
    layer, readout, text, _, _ = shifted(0)
    for origin, rule in (
        ("mean", r"`origin` must be a state, \"initial\" or None. Received: 'mean'"),
        (np.zeros(5), r"a state of 6 finite numbers. Received: shape \(5,\)"),
        (np.full(6, np.nan), "6 finite numbers"),
        (0.0, r"shape \(\)"),
    ):
        with pytest.raises(ValueError, match=rule):
            READINGS[name](layer, text, readout=readout, origin=origin)

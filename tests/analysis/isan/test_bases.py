"""Bases of input-switched affine networks; that of zeros and ones must find a hidden delay line."""

import functools

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.layers import ISAN
from tests.analysis.isan.networks import HIDDEN, SIZES, contracting, hidden, isan_of, network, shift
from tests.oracles import isan as loops
from tests.samples import sample
from tests.tolerances import assert_close

pytestmark = pytest.mark.core(2)  # cases are seeds, sizes and budgets


def outputs(layer, readout, symbols):
    states = keras.ops.convert_to_numpy(layer(symbols.astype(np.int32)))
    return states @ readout[0] + readout[1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("units", "symbols", "outputs"), SIZES)
def test_a_shift_by_the_mean_state_moves_it_to_zero_and_no_output(units, symbols, outputs, seed):
    layer, readout, weights = contracting(units, symbols, outputs, seed)
    rng = np.random.default_rng([seed, units])
    texts = [rng.integers(symbols, size=length) for length in (1, 17, 40)]
    reached = np.concatenate([loops.states(*weights, text[None])[0] for text in texts])
    logits = reached @ readout[0] + readout[1]
    basis = shift(analysis.mean_state(layer, iter(texts)))
    assert_close(reached + basis.to.apply(reached).mean(axis=0), reached, "float64", "numpy")
    assert_close(basis.back.apply(basis.to.apply(reached)), reached, "float64", "numpy")
    changed = analysis.change_basis(layer, basis, readout=readout)
    # The readout's bias is the mean output, and contributions are what is left of each prediction.
    assert_close(changed.readout.offset, logits.mean(axis=0), "float64", "numpy")
    split = analysis.contributions(changed.layer, texts[2], readout=changed.readout)
    assert_close(split.values.sum(axis=0) + logits.mean(axis=0), logits[18:], "float64", "numpy")
    before = analysis.contributions(layer, texts[2], readout=readout)
    assert np.abs(split.values - before.values).max() > 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_a_centred_contribution_is_the_mean_change_of_the_output_when_its_symbol_is_inserted(seed):
    layer, (matrix, offset), weights = contracting(6, 4, 3, seed)
    rng = np.random.default_rng(seed)
    texts, text = [rng.integers(4, size=5), rng.integers(4, size=3)], rng.integers(4, size=6)

    def output(word):
        return loops.states(*weights, np.array([[*word, 0]]))[0, len(word) - 1] @ matrix + offset

    prefixes = [other[:end].tolist() for other in texts for end in range(1, len(other) + 1)]
    mean = analysis.mean_state(layer, texts)
    split = analysis.contributions(layer, text, readout=(matrix, offset), origin=mean)
    for t in range(1, len(text) + 1):
        for s in range(1, t + 1):
            with_it, without = text[s - 1 : t].tolist(), text[s:t].tolist()
            change = np.mean([output(p + with_it) - output(p + without) for p in prefixes], axis=0)
            assert_close(change, split.values[s, t - 1], "float64", "numpy")
        read = text[:t].tolist()
        started = output(read) - np.mean([output(p + read) for p in prefixes], axis=0)
        assert_close(started, split.values[0, t - 1], "float64", "numpy")


@pytest.mark.parametrize("seed", range(3))
def test_augmented_matrices_are_the_affine_maps(seed):
    line = sample(seed, vocabulary_size=5, units=4)
    maps = analysis.homogeneous_matrices(line.layer())
    assert maps.shape == (5, 5, 5)
    state = line.start[0]
    for symbol in range(5):
        expected = line.W[symbol] @ state + line.bias[symbol]
        np.testing.assert_allclose(np.append(state, 1) @ maps[symbol], np.append(expected, 1), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("units", "rank", "columns"), [(7, 3, 3), (6, 2, 5), (4, 4, 9)])
def test_the_readout_basis_splits_what_the_readout_sees_from_the_rest(seed, units, rank, columns):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(units, rank)) @ rng.normal(size=(rank, columns))
    layer = sample(seed, units=units).layer()
    basis = analysis.readout_basis(layer, (matrix, rng.normal(size=columns)))
    vectors = basis.to.matrix
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(units), atol=1e-12)
    assert basis.num_readout == rank
    np.testing.assert_allclose(matrix.T @ vectors[:, rank:], 0, atol=1e-12)
    np.testing.assert_allclose(vectors[:, :rank] @ (vectors[:, :rank].T @ matrix), matrix, atol=1e-11)
    assert basis.names[rank - 1] == f"readout {rank - 1}"


def test_the_residual_of_a_change_of_basis_sees_what_shows_after_several_symbols():
    """A delay line; of its first unit, which is read three symbols on, the coordinates keep 0.9."""
    layer = isan_of(np.eye(4, k=1)[None].repeat(2, 0), np.array([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]]), np.zeros(4))
    head = np.eye(4)[:, 3:], np.zeros(1)
    lossy = analysis.Basis(AffineMap(np.diag([0.9, 1, 1, 1]), np.zeros(4)), AffineMap.identity(4), 0, tuple("abcd"))
    changed = analysis.change_basis(layer, lossy, readout=head)
    assert changed.max_length >= 4
    assert changed.residual == pytest.approx(0.1, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_scales_of_units_do_not_decide_what_the_readout_sees(seed):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.permutation(np.linspace(-15, 15, 6))
    matrix = rng.normal(size=(6, 3)) @ rng.normal(size=(3, 4))
    layer = isan_of(np.zeros((2, 6, 6)), np.zeros((2, 6)))
    basis = analysis.readout_basis(layer, readout=(matrix / scale[:, None], np.zeros(4)))
    assert basis.num_readout == 3
    unseen = (basis.back.matrix @ (matrix / scale[:, None]))[3:]
    assert np.abs(unseen).max() < 1e-12 * np.abs(matrix / scale[:, None]).max()


@pytest.mark.parametrize("seed", range(3))
def test_a_changed_basis_leaves_every_output_as_it_was(seed):
    line = sample(seed, batch=3, time=9, units=6, vocabulary_size=4)
    rng = np.random.default_rng(seed)
    readout = (rng.normal(size=(6, 2)), rng.normal(size=2))
    layer = line.layer(return_sequences=True)
    matrix, shift = rng.normal(size=(6, 6)), rng.normal(size=6)
    inverse = np.linalg.inv(matrix)
    random = analysis.Basis(AffineMap(matrix, shift), AffineMap(inverse, -shift @ inverse), 0, tuple("abcdef"))
    expected = loops.logits(readout[0].T, readout[1], line.states())
    for basis in (random, analysis.readout_basis(layer, readout)):
        changed, head = analysis.change_basis(layer, basis, readout=readout)
        assert isinstance(changed, ISAN)
        assert np.abs(changed.get_weights()[0] - line.kernel).max() > 0.1
        assert_close(outputs(changed, head, line.symbols), expected, "float64")


def found(line):
    return analysis.sparse_basis(line.layer, line.states, readout=line.readout)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", HIDDEN)
def test_a_hidden_delay_line_is_recovered(sizes, seed):
    line = hidden(*sizes, seed)
    basis = found(line)
    W, b, _, W_ro, b_ro = line.paper
    assert (basis.num_binary, basis.num_readout) == (b.shape[1], len(b_ro))
    assert len(basis.blocks) == (line.task[2] + 1) * line.task[0]
    assert basis.residual < 1e-9
    # Which of the delay line's dimensions each coordinate is; the readout's come first, in order.
    coordinates = basis.to.apply(line.states)[..., : basis.num_binary].reshape(-1, basis.num_binary)
    codes = line.codes.reshape(-1, basis.num_binary)
    order = [int(np.abs(codes - column[:, None]).max(axis=0).argmin()) for column in coordinates.T]
    assert sorted(order) == list(range(basis.num_binary))
    assert order[: len(b_ro)] == list(range(len(b_ro)))
    np.testing.assert_allclose(coordinates, codes[:, order], atol=1e-9)
    changed, head = analysis.change_basis(line.layer, basis, readout=line.readout)
    kernel, bias, _ = changed.get_weights()
    m = basis.num_binary
    np.testing.assert_allclose(kernel[:, :m, :m], W.transpose(0, 2, 1)[:, order][:, :, order], atol=1e-9)
    np.testing.assert_allclose(bias[:, :m], 0, atol=1e-9)
    np.testing.assert_allclose(head.matrix[:m], W_ro.T[order], atol=1e-9)
    np.testing.assert_allclose(head.offset, 0, atol=1e-9)
    text = np.random.default_rng(seed + 9).integers(len(b), size=(4, 50))
    assert_close(outputs(changed, head, text), outputs(line.layer, line.readout, text), "float64")


def test_the_scales_of_units_do_not_decide_which_coordinates_are_binary():
    line = hidden(2, 2, 2, 1, 3, 0)
    kernel, bias, start = line.layer.get_weights()
    scale = 10.0 ** np.random.default_rng(1).uniform(-8, 8, len(start))
    layer = isan_of(kernel * scale / scale[:, None], bias * scale, start * scale)
    head = line.readout[0] / scale[:, None], line.readout[1]
    basis = analysis.sparse_basis(layer, line.states * scale, readout=head)
    assert basis.residual < 1e-10
    assert analysis.change_basis(layer, basis, readout=head).residual < 1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", HIDDEN)
def test_rounding_does_not_grow_in_the_changed_network(sizes, seed):
    """Redundant coordinates could leave the states that are reached faster and faster."""
    line = hidden(*sizes, seed)
    kernel, _, _ = analysis.change_basis(line.layer, found(line), readout=line.readout)[0].get_weights()
    for text in np.random.default_rng(seed).integers(len(kernel), size=(4, 50)):
        product = np.linalg.multi_dot(kernel[text])
        assert np.abs(product).max() < 100


def constant_on(state):
    """A readout that is 0 on one state, and neither 0 nor 1 elsewhere."""
    direction = np.random.default_rng(1).normal(size=(len(state), 1))
    return direction, -state @ direction


def refused(sentence, call, *arguments, **options):
    with pytest.raises(ValueError, match=sentence):
        call(*arguments, **options)


def test_refuses_states_and_networks_without_a_basis():
    line = hidden(2, 3, 1, 1, 5, seed=0)
    head, states = line.readout, line.states
    sparse = functools.partial(analysis.sparse_basis, line.layer)
    sentence = r"0 or 1 to within 0.25 on every state. Received: output \d \(index \d\), up to"
    refused(sentence, sparse, states, readout=(head[0] * 1.4, head[1]))
    refused(r"Received: output 1 \(index 0\) after \d, up to", sparse, states[0, :1], readout=constant_on(states[0, 0]))
    refused("Received: max_functions=9, and more", sparse, states, readout=head, max_functions=9)
    refused("must be a number between 0 and 0.5. Received: tolerance=0.5", sparse, states, readout=head, tolerance=0.5)
    refused("an entry per unit of the layer", sparse, states[..., 1:], readout=head)
    for wrong in (states[:0], np.where(states == states.max(), np.nan, states)):
        refused("`states` must be finite, and at least one. Received: shape", sparse, wrong, readout=head)
    basis = found(line)
    refused("a basis of 21 units and a layer of 4", analysis.change_basis, sample().layer(), basis)
    refused("must have a `layers.ISAN`", analysis.change_basis, line.layer.cell, basis)


def test_refuses_texts_without_a_mean_state():
    model = network(7, 4, 3, 0)[0]
    for sequences, rule in (([], "no symbol"), ([[]], "no symbol"), ([[0, 99]], "must lie in"), (["text"], "numbers")):
        refused(rule, analysis.mean_state, model, sequences)

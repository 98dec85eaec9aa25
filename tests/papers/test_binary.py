"""A network that counts, in coordinates of zeros and ones, and rounded; the oracle's, hidden, must be found."""

import numpy as np
import pytest

from examples.papers import _binary
from keras_interp_rnn import analysis
from tests.analysis.isan.networks import HIDDEN, hidden
from tests.oracles import counting as oracle

pytestmark = pytest.mark.core(2)  # cases are sizes


def bases(line):
    """The basis given the counts, and without them."""
    given = {"num_readout": line.readout[0].shape[1], "readout": line.readout}
    return (
        _binary.label_basis(line.layer, line.states, line.codes, **given),
        analysis.sparse_basis(line.layer, line.states, readout=line.readout),
    )


@pytest.mark.parametrize("sizes", HIDDEN)
def test_given_the_counts_their_codes_are_the_coordinates(sizes):
    line = hidden(*sizes, 1)
    basis, sparse = bases(line)
    binary = line.codes.shape[-1]
    assert (basis.num_binary, basis.num_readout) == (binary, line.readout[0].shape[1])
    np.testing.assert_allclose(basis.to.apply(line.states)[..., :binary], line.codes, atol=1e-9)
    assert {frozenset(block) for block in basis.blocks} >= {
        frozenset(range(start, start + line.task[1] + 1)) for start in range(0, binary, line.task[1] + 1)
    }
    assert sparse.num_binary == binary


@pytest.mark.parametrize("sizes", [*HIDDEN, (1, 1, 1, 1, 1)])
def test_the_rebuilt_network_counts_without_error(sizes):
    line = hidden(*sizes, seed=1)
    text = np.random.default_rng(5).integers(len(line.paper[1]), size=(3, 200))
    types, maximum, delay = line.task
    for basis in bases(line):
        layer, readout = _binary.binarized_network(line.layer, basis, readout=line.readout)
        for array in (*layer.get_weights(), *readout):
            assert set(np.unique(array)) <= {0, 1}
        for row, states in zip(text, analysis.trace(layer, text)["h"], strict=True):
            expected = [oracle.target(step, maximum) for step in oracle.counts(row, types, maximum, delay)]
            np.testing.assert_array_equal(readout.apply(states)[delay:], expected[delay:])


def test_a_network_that_is_too_far_from_zeros_and_ones_is_refused():
    line = hidden(2, 3, 1, 1, 5, seed=0)
    matrix, offset = line.readout
    with pytest.raises(ValueError, match=r"nearer than 0.5 to 0 or 1. Received: 0\.|Received: [1-9]"):
        _binary.binarized_network(line.layer, bases(line)[1], readout=(matrix * 3, offset))


def test_small_errors_of_the_weights_stay_small():
    line = hidden(2, 3, 1, 1, 0, seed=2, error=1e-4)
    basis = bases(line)[1]
    changed, head = analysis.change_basis(line.layer, basis, readout=line.readout)
    parts = _binary.named_blocks(changed, basis)
    assert 1e-5 < _binary.rounding_error(*parts, head.matrix[: basis.num_binary]) < 0.01


def test_distances_from_zero_and_one():
    assert _binary.rounding_error([0.1, 0.9], [[1.2]]) == pytest.approx(0.2)
    assert _binary.rounding_error(np.zeros((3, 0))) == 0
    assert _binary.fraction_near_zero([0.0, 0.04, -0.04], [1.0]) == 0.75
    assert _binary.fraction_near_zero([0.3, -0.2], tolerance=0.25) == 0.5

"""The equations of Foerster et al. 2017, in float64 NumPy and in keras.ops, against loops written from the paper."""

import keras
import numpy as np
import pytest

from keras_interp_rnn.equations import isan as equations
from tests.oracles import isan as oracle
from tests.samples import MASKS, sample
from tests.tolerances import assert_close

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


SEEDS = (0, 1, 2)
NAMESPACES = pytest.mark.parametrize(("xp", "backend"), [(np, "numpy"), (keras.ops, None)], ids=["numpy", "keras.ops"])


def tensors(xp, *arrays: np.ndarray) -> list:
    return [array if xp is np else keras.ops.convert_to_tensor(array) for array in arrays]


@NAMESPACES
@pytest.mark.parametrize("seed", SEEDS)
def test_the_states_of_a_text_equal_the_oracles(xp, backend: str | None, seed: int) -> None:
    some = sample(seed)
    kernel, bias, start = tensors(xp, some.kernel, some.bias, some.initial_state)
    states = list(equations.states(xp, kernel, bias, start, some.symbols[1]))
    assert len(states) == 7
    for state, expected in zip(states, some.states()[1], strict=True):
        assert_close(state, expected, "float64", backend)


@NAMESPACES
@pytest.mark.parametrize("seed", SEEDS)
def test_the_sources_of_a_state_are_its_contributions_and_sum_to_it(xp, backend: str | None, seed: int) -> None:
    some = sample(seed)
    text = some.symbols[2]
    kappa = oracle.contributions(some.W, some.bias, some.initial_state, np.eye(some.units), text)
    kernel, bias, start = tensors(xp, some.kernel, some.bias, some.initial_state)
    terms = list(equations.sources(xp, kernel, bias, start, text))
    for t, (rows, state) in enumerate(zip(terms, some.states()[2], strict=True)):
        assert_close(rows, kappa[: t + 2, t], "float64", backend)
        assert_close(xp.sum(rows, axis=0), state, "float64", backend)


@NAMESPACES
@pytest.mark.parametrize("seed", SEEDS)
def test_logits_are_equation_3(xp, backend: str | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    readout, readout_bias, states = rng.normal(size=(4, 6)), rng.normal(size=6), rng.normal(size=(2, 3, 4))
    expected = oracle.logits(readout.T, readout_bias, states)
    result = equations.logits(xp, *tensors(xp, readout, readout_bias, states))
    assert_close(result, expected, "float64", backend)


@pytest.mark.parametrize("mask", [None, *MASKS])
def test_the_oracles_gradients_are_finite_differences(mask: str | None) -> None:
    some = sample(3, batch=2, time=5, vocabulary_size=3, units=4, mask=mask)
    weights = [some.W, some.bias, some.start]

    def loss_with(which: int):
        def loss(array: np.ndarray) -> float:
            changed = [array if i == which else weight for i, weight in enumerate(weights)]
            return float(np.sum(some.cotangent * oracle.states(*changed, some.symbols, some.mask)))

        return loss

    found = oracle.loss_gradients(*weights, some.symbols, some.cotangent, some.mask)
    for which, gradient in enumerate(found):
        # Central differences with a step of 1e-6 are good to 1e-9 or so of the loss.
        np.testing.assert_allclose(gradient, oracle.numerical_gradient(loss_with(which), weights[which]), atol=1e-6)

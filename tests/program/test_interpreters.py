"""Every interpreter on every kind of model: what it takes it computes as Keras does, what it does not it refuses."""

from __future__ import annotations

import re

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import _program, analysis
from keras_interp_rnn._network.prefixes import Prefixes, is_read_by_steps
from keras_interp_rnn._network.vectors import open_network
from keras_interp_rnn._program import stack_of
from keras_interp_rnn._program.step import steps_of
from keras_interp_rnn._program.values import forward, with_functions
from tests.deploy.compiled import Network, needs_compiler
from tests.program.models import MODELS, SYMBOLS

STEPS, NETWORKS = 8, 3
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def drawn(name, seed=3):
    """The model, with asymmetric weights, and inputs for it: the last steps of the first sequence are 0."""
    keras.utils.set_random_seed(seed)
    model, rng = MODELS[name].make(), np.random.default_rng(seed)
    for weight in model.weights:
        if "int" not in weight.dtype and "seed" not in weight.path:
            weight.assign(rng.normal(size=weight.shape) ** (2 if len(weight.shape) == 1 else 1) * 0.7)
    inputs = [
        rng.integers(SYMBOLS, size=(2, STEPS)) if x.ndim == 2 else rng.normal(size=(2, STEPS, x.shape[-1]))
        for x in model.inputs
    ]
    inputs[0][0, 5:] = 0
    return model, inputs


def own(model, inputs):
    given = [ops.cast(x, tensor.dtype) for x, tensor in zip(inputs, model.inputs, strict=True)]
    return np.asarray(ops.convert_to_numpy(model(given if len(given) > 1 else given[0], training=False)), np.float64)


def last(outputs, model):
    return outputs[:, -1] if len(model.outputs[0].shape) == 3 else outputs


def taken(make, pattern="must"):
    """The value that a function makes; None where it refuses, in a sentence with this pattern."""
    try:
        return make()
    except ValueError as error:
        assert re.search(pattern, str(error), re.DOTALL)  # noqa: PT017
        return None


# Each interpreter: whether it takes the model, and if so, a check against Keras.


def values(model, inputs, folder):
    program = _program.read(model)
    known = dict(zip(program.inputs, inputs, strict=True))
    forward(with_functions(program.operations), known)
    np.testing.assert_allclose(known[program.outputs[0]], own(model, inputs), **CLOSE)
    return True


def pull_back(model, inputs, folder):
    """Gradients in float64, against differences of the network's own values."""
    network = taken(lambda: open_network(model, inputs))
    if network is None or network.by_keras:
        return False
    rng, rows = np.random.default_rng(5), np.arange(2)
    way, size = rng.normal(size=network.inputs.shape) * network.mask[..., None], 1e-4  # cells may round what they read
    ahead, back = (network.run(network.inputs + sign * size * way, rows)[:, -1] for sign in (1, -1))
    outputs = np.full(2, network.output.shape[-1] - 1)
    slopes = (network.gradient(network.inputs, rows, outputs) * way).sum(axis=(1, 2))
    np.testing.assert_allclose(slopes, (ahead - back) / (2 * size), rtol=5e-3, atol=5e-3)
    return True


def many(model, inputs, folder):
    """The tensors of several networks."""
    stack = stack_of(model)
    if stack is None:
        return False
    rng = np.random.default_rng(1)
    variables = model.trainable_variables
    weights = [rng.normal(size=(NETWORKS, *v.shape)).astype("float32") / 2 for v in variables]
    place = {id(variable): value for variable, value in zip(variables, weights, strict=True)}

    def read(variable):
        return ops.convert_to_tensor(place.get(id(variable), np.stack([ops.convert_to_numpy(variable)] * NETWORKS)))

    of_networks = [[np.roll(x, network, axis=1) for x in inputs] for network in range(NETWORKS)]
    given = [
        np.stack(x).astype(tensor.dtype) for x, tensor in zip(zip(*of_networks, strict=True), model.inputs, strict=True)
    ]
    found = ops.convert_to_numpy(stack(read, [*map(ops.convert_to_tensor, given)]))
    for network in range(NETWORKS):
        for variable, value in zip(variables, weights, strict=True):
            variable.assign(value[network])
        np.testing.assert_allclose(found[network], own(model, of_networks[network]), **CLOSE)
    return True


def step(model, inputs, folder):
    """One symbol after the other, twice: the second text begins anew."""
    steps = None if len(model.inputs[0].shape) > 2 else steps_of(_program.read(model), SYMBOLS)
    if steps is None:
        return False
    for text, expected in zip(inputs[0], own(model, inputs), strict=True):
        found = np.concatenate([steps.read(int(symbol)) for symbol in text])
        np.testing.assert_allclose(found if expected.ndim == 2 else found[-1], expected, **CLOSE)
        steps.reset()
    return True


def c(model, inputs, folder):
    """Compiled C."""
    network = taken(lambda: Network(model, folder), "must.*Received")
    if network is None:
        return False
    outputs, _ = network.run(inputs[0])
    read = (inputs[0] != 0).reshape(2, STEPS, -1).any(axis=-1)  # a masked step leaves the output
    expected = own(model, inputs)
    if expected.ndim == 3:
        np.testing.assert_allclose(outputs[read], expected[read], **CLOSE)
    else:
        np.testing.assert_allclose(outputs[1, -1], expected[1], **CLOSE)
    return True


def fold(model, inputs, folder):
    """What each symbol adds to the logits."""
    split = taken(lambda: analysis.contributions(model, inputs[0][1]), "must|can be read")
    if split is None:
        return False
    assert split.residual < 1e-5
    return True


def prefixes(model, inputs, folder):
    """Step by step, of all steps and of none at once."""
    network = taken(lambda: open_network(model, inputs))
    if network is None or not is_read_by_steps(network):
        return False
    absent = np.random.default_rng(2).normal(size=network.inputs[1].shape)
    game = Prefixes(network, 1, absent, np.arange(len(absent)))
    found = game.outputs(np.array([[True] * len(absent), [False] * len(absent)]))
    expected = last(own(model, inputs), model)[1]
    np.testing.assert_allclose(found[0], expected.ravel(), **CLOSE)
    np.testing.assert_allclose(found[1], network.run(absent[None], np.array([1]))[0], **CLOSE)
    return True


INTERPRETERS = {each.__name__: each for each in (values, pull_back, many, step, c, fold, prefixes)}


@pytest.mark.core(4)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_operations(name):
    found = " ".join(type(each).__name__ for each in _program.read(MODELS[name].make()).operations)
    assert found == MODELS[name].operations


@pytest.mark.core(16)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("interpreter", [pytest.param(x, marks=[needs_compiler] * (x == "c")) for x in INTERPRETERS])
def test_an_interpreter_computes_what_keras_does_or_refuses(name, interpreter, tmp_path):
    takes = INTERPRETERS[interpreter](*drawn(name), tmp_path)
    assert takes == (interpreter in ("values", *MODELS[name].taken_by.split()))

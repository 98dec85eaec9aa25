"""Attacks on certificates: deployments that judge words otherwise than their weights, NaN, overflow, forgeries."""

import dataclasses
import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import _backend, automata, layers
from keras_interp_rnn._alphabet import with_token_ids
from keras_interp_rnn.automata import DFA, MooreMachine, tomita
from keras_interp_rnn.automata.certificates import _kernels, certificate
from keras_interp_rnn.equations import transitions
from tests.automata.deployments import START, SYMBOLS, Weights, misjudged, plain
from tests.automata.machines import drawn_words, words
from tests.automata.networks import LABELS, MODULO_3, drawn, network_of, turned


class AlwaysDropout(keras.layers.Dropout):
    def call(self, inputs, training=None):
        return super().call(inputs, training=True)


class OtherDense(keras.layers.Dense):
    def call(self, inputs, training=None):
        return -super().call(inputs)


class OtherEmbedding(keras.layers.Embedding):
    def call(self, inputs):
        return super().call(ops.where(inputs > 1, 5 - inputs, inputs))


class SimpleRNNCell(keras.layers.SimpleRNNCell):
    """Named as Keras's, and not it."""

    def call(self, sequence, states, training=False):
        output, new = super().call(sequence, states, training=training)
        return -output, [-x for x in new]


class OtherLayer(layers.SRSimpleRNN):
    def call(self, sequences, initial_state=None, mask=None, training=False):
        return -super().call(sequences, initial_state=initial_state, mask=mask, training=training)


class OtherModel(keras.Sequential):
    def call(self, inputs, training=None, mask=None):
        return -super().call(inputs, training=training, mask=mask)


D = tomita(3)
W = Weights(D)


def sequential(*parts, kind=keras.Sequential, after=(), **flags):
    """The embedding, the layer and the head of `W`, or others in their place; with parts between and after them."""
    embedding, layer, head = W.parts(flags, {}, {})
    found = {keras.layers.Embedding: embedding, keras.layers.RNN: layer, keras.layers.Dense: head}
    middle = [part for part in parts if not isinstance(part, tuple(found))]
    found.update({kind: part for kind in found for part in parts if isinstance(part, kind)})
    embedding, layer, head = found.values()
    model = kind([keras.Input((None,), dtype="int32"), embedding, layer, *middle, head, *after])
    W.put(embedding, layer, head)
    return model


def with_cell(cell):
    return layers.StateRegularizedRNN(layers.StateRegularizedCell(cell, len(W.centroids)))


def quantized():
    model = sequential()
    model.layers[-1].quantize("int8")
    return model


def masking():
    def build(ids, embedding, layer, head):
        return head(layer(keras.layers.Masking(0.0)(embedding(ids))))

    model = W.functional(build, embedding={"mask_zero": False})
    table = W.embeddings.copy()
    table[0] = table[2]  # padding looks like the symbol 0
    model.layers[1].set_weights([table])
    return model


def lora():
    model = sequential()
    model.layers[0].enable_lora(2)
    for weight in model.layers[0].trainable_weights:
        weight.assign(np.random.default_rng(0).normal(size=weight.shape))
    return model


def convolution():
    convolved = keras.layers.Conv1D(4, 3, padding="causal", use_bias=False)
    model = W.functional(
        lambda ids, e, rnn, head: head(rnn(convolved(e(ids)), mask=ops.not_equal(ids, 0))),
        embedding={"mask_zero": False},
    )
    kernel = np.zeros((3, 4, 4))
    kernel[2], kernel[1] = np.eye(4), np.eye(4)[::-1]
    convolved.set_weights([kernel])
    return model


def two_networks():
    """The verdict of one network, minus a thousand times that of another."""

    def build(ids, embedding, layer, head):
        return head(layer(embedding(ids))) - 1000.0 * head(layer(embedding(ids)))

    return W.functional(build)


def by_place(ids, embedding, layer, head):
    x = embedding(ids)
    late = ops.cast(ops.cumsum(ops.ones_like(x), axis=1) > 3, "float32")
    return head(layer(x * (1 - 2 * late), mask=ops.not_equal(ids, 0)))


class Zero:
    """A constant that is equal to 0, and is another number to the backend."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return True

    __hash__ = None

    def __array__(self, dtype=None, copy=None):
        return np.array(self.number, dtype)


class ZeroNumber(int):
    """An int that is equal to everything."""

    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def masked_by(constant):
    """A model masked by another constant, put in place of the 0 with which Keras made the operation."""
    model = W.functional(lambda i, e, r, h: h(r(e(i), mask=ops.not_equal(i, 0))), embedding={"mask_zero": False})
    arguments = not_equal_of(model)._inbound_nodes[0].arguments
    arguments.args = (arguments.args[0], constant)
    return model


REFUSED = {
    "reads from the end": (lambda: network_of(D, go_backwards=True), "recurrent with go_backwards=True"),
    "zeros for padded words": (
        lambda: network_of(D, zero_output_for_mask=True),
        "recurrent with zero_output_for_mask=True",
    ),
    "a last step without centroids": (
        lambda: network_of(D, regularize_last_step=False),
        "regularize_last_step=False and no end token: its last state need not be near a centroid",
    ),
    "noise for every word": (
        lambda: network_of(D, transition="gumbel", sample_at_inference=True, noise=30.0),
        "which draws noise outside training",
    ),
    "state from word to word": (
        lambda: W.functional(plain, layer={"stateful": True}, batch=1),
        "recurrent with stateful=True",
    ),
    "head reads every step": (
        lambda: sequential(return_sequences=True),
        "recurrent with return_sequences=True",
    ),
    "cell in half precision": (
        lambda: sequential(with_cell(keras.layers.SimpleRNNCell(W.units, dtype="mixed_bfloat16"))),
        "All layers must be in float32.* of mixed_bfloat16",
    ),
    "dropout in float64": (
        lambda: sequential(keras.layers.Dropout(0.5, dtype="float64")),
        "All layers must be in float32.* of float64",
    ),
    "head in int8": (quantized, r"(dense|head)\w* .Dense."),
    "embedding with LoRA": (lora, "embedding.* with LoRA"),
    "dropout of its own kind": (lambda: sequential(AlwaysDropout(0.8, seed=1)), "always_dropout.* .AlwaysDropout."),
    "dropout that is always on": (
        lambda: W.functional(lambda i, e, r, h: h(keras.layers.Dropout(0.8, seed=1)(r(e(i)), training=True))),
        "dropout.*, which is called with training",
    ),
    "a layer that is always training": (
        lambda: W.functional(
            lambda i, e, r, h: h(r(e(i), training=True)), layer={"transition": "gumbel", "noise": 30.0}
        ),
        "recurrent .*, which is called with training",
    ),
    "a head of its own kind": (lambda: sequential(OtherDense(1)), "other_dense.* .OtherDense."),
    "an embedding of its own kind": (
        lambda: sequential(OtherEmbedding(4, 4, mask_zero=True)),
        r"other_embedding.* \(OtherEmbedding\)",
    ),
    "a cell of its own kind": (
        lambda: sequential(with_cell(SimpleRNNCell(W.units))),
        "must be a GRUCell or a SimpleRNNCell. Received: SimpleRNNCell",
    ),
    "a layer of its own kind": (lambda: sequential(OtherLayer(W.units, len(W.centroids))), r"\(OtherLayer\)"),
    "a model of its own kind": (lambda: sequential(kind=OtherModel), "must be Sequential or functional.* a OtherModel"),
    "padding read": (masking, "masking.* .Masking."),
    "a symbol masked": (
        lambda: W.functional(
            lambda i, e, r, h: h(r(e(i), mask=ops.logical_and(ops.not_equal(i, 0), ops.not_equal(i, 3))))
        ),
        "logical_and.* .LogicalAnd.",
    ),
    "another id masked": (
        lambda: W.functional(lambda i, e, r, h: h(r(e(i), mask=ops.not_equal(i, 3))), embedding={"mask_zero": False}),
        "not masked where ids are 0 and nowhere else",
    ),
    "a mask by an object equal to 0": (
        lambda: masked_by(Zero(3)),
        "not_equal.* .NotEqual.",
    ),
    "a mask by a number equal to 0": (
        lambda: masked_by(ZeroNumber(3)),
        "not_equal.* .NotEqual.",
    ),
    "an operation before the head": (
        lambda: W.functional(lambda i, e, r, h: h(-r(e(i)))),
        "negative.* .Negative.",
    ),
    "an operation after the head": (
        lambda: W.functional(lambda i, e, r, h: ops.sin(4 * h(r(e(i))))),
        "multiply.* .Multiply.",
    ),
    "a layer after the head": (
        lambda: sequential(after=[keras.layers.Activation("relu")]),
        "Received: head of 1, and relu",
    ),
    "features of the neighbours": (convolution, "conv1d.* .Conv1D."),
    "features of the place": (lambda: W.functional(by_place), "which|besides|.Cast|.Ones"),
    "two verdicts": (two_networks, "multiply.* .Multiply.|subtract.* .Subtract."),
    "ids cast": (lambda: W.functional(plain, dtype="int8"), "inputs of int8, which cannot hold the ids up to 3"),
    "an initial state": (
        lambda: W.functional(lambda i, e, r, h: h(r(e(i), initial_state=[ops.ones((1, W.units))]))),
        "recurrent .*, which is called with initial_state",
    ),
    "two outputs": (
        lambda: (lambda m: keras.Model(m.inputs, [m.outputs[0], m.outputs[0]]))(W.functional(plain)),
        "several inputs or outputs",
    ),
}


@pytest.fixture(scope="module")
def certified():
    return automata.certify(network_of(D), D)


@pytest.mark.parametrize("name", REFUSED)
def test_rejects_what_a_proof_does_not_know(name, certified):
    build, reason = REFUSED[name]
    model = build()
    for prove in (automata.certify, automata.largest_temperature):
        with pytest.raises(ValueError, match=reason):
            prove(model, D, alphabet=SYMBOLS)
    with pytest.raises(ValueError, match=reason):
        certified.check(model, alphabet=SYMBOLS)


both_kinds = pytest.mark.parametrize("truth", [D, MODULO_3], ids=["DFA", "MooreMachine"])


def model_of(truth):
    return network_of(truth) if isinstance(truth, DFA) else automata.compile(truth)


def of_labels(activation="softmax", outputs=3, dtype="float32", **layer):
    """A random network with an output for each label."""
    parts = [
        keras.layers.Embedding(7, 3, mask_zero=True, dtype=dtype),
        layers.SRGRU(5, 4, temperature=0.5, dtype=dtype, **layer),
        keras.layers.Dense(outputs, activation, dtype=dtype),
    ]
    return keras.Sequential([keras.Input((None,), dtype="int32"), *parts])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"activation": "sigmoid"}, "linear or softmax with an output for each label"),
        ({"outputs": 1}, "linear or sigmoid"),
        ({"return_sequences": True}, "return_sequences=True"),
        ({"dtype": "mixed_bfloat16"}, "layers must be in float32, or all in float64"),
    ],
)
def test_rejects_what_a_proof_about_labels_does_not_know(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        automata.certify(of_labels(**arguments), MODULO_3, alphabet=SYMBOLS)


HARMLESS = {
    *("head reads every step", "two outputs", "ids cast", "a layer after the head", "state from word to word"),
    *("cell in half precision", "dropout in float64", "head in int8", "an initial state"),
}
"""Refused as well: with these weights they do no harm, with others they do."""


@pytest.mark.parametrize("name", sorted(set(REFUSED) - HARMLESS))
def test_the_attacks_are_real(name):
    model = REFUSED[name][0]()
    assert misjudged(model, D) > 0


ACCEPTED = {
    "dropout between": lambda: W.functional(
        lambda i, e, r, h: h(keras.layers.Dropout(0.5)(r(keras.layers.Dropout(0.3)(e(i)))))
    ),
    "the mask by hand": lambda: W.functional(
        lambda i, e, r, h: h(r(e(i), mask=ops.not_equal(i, 0))), embedding={"mask_zero": False}
    ),
    "ids as floats": lambda: W.functional(plain, dtype="float32"),
    "a sigmoid": lambda: W.functional(plain, head={"activation": "sigmoid"}),
    "float64": lambda: W.functional(plain, *({"dtype": "float64"} for _ in range(3))),
    "learned temperature": lambda: W.functional(plain, layer={"learn_temperature": True}),
    "hard": lambda: W.functional(plain, layer={"transition": "gumbel", "straight_through": True}),
    "a layer used elsewhere too": lambda: used_elsewhere(),
    "layers of another model": lambda: keras.Sequential([keras.Input((None,), dtype="int32"), *sequential().layers]),
    "fitted and read": lambda: fitted_and_read(),
    "another policy since": lambda: built_under_another_policy(),
    "a layer whose mask is made at run time": lambda: W.functional(lambda i, e, r, h: h(r(e(i), training=False))),
    "an input whose dtype has methods": lambda: W.functional(plain, dtype=Text("int32")),
}


def fitted_and_read():
    """Whatever training, evaluation and prediction leave on a model."""
    model = sequential(kernel_regularizer="l2", centroids_constraint="max_norm")
    weights, ids = model.get_weights(), np.array([[1, 2, 3, 0]] * 4, np.int32)
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(ids, np.zeros((4, 1)), validation_data=(ids, np.zeros((4, 1))), verbose=0)
    model.predict(ids, verbose=0)
    model.set_weights(weights)
    model.note = "of mine"
    return model


def built_under_another_policy():
    model = sequential()
    keras.config.set_dtype_policy("mixed_bfloat16")
    return model


def used_elsewhere():
    """Its layers have other calls, which are no part of the model."""

    def build(ids, embedding, layer, head):
        output = head(layer(embedding(ids)))
        other = keras.Input((None,), dtype="int32")
        head(layer(embedding(5 - other)))
        return output

    return W.functional(build)


@pytest.mark.parametrize("name", ACCEPTED)
def test_ordinary_deployments_are_certified(name):
    policy = keras.config.dtype_policy()
    try:
        model = ACCEPTED[name]()
        found = automata.certify(model, D, alphabet=SYMBOLS)
        assert found.holds, found
        assert found.check(model, alphabet=SYMBOLS)
        assert misjudged(model, D) == 0
    finally:
        keras.config.set_dtype_policy(policy)


def wrapped(find, name):
    """A change that puts a function on an instance in place of its method."""

    def change(model):
        found = find(model)
        method = getattr(found, name)
        setattr(found, name, lambda *args, **kwargs: method(*args, **kwargs))

    return change


def turned_round(find, name):
    """A function on an instance that computes the opposite of its method."""

    def change(model):
        found = find(model)
        method = getattr(found, name)
        setattr(found, name, lambda *args, **kwargs: -method(*args, **kwargs))

    return change


def dtypes_with_methods(model):
    embedding, layer, head = model.layers
    for part in (embedding, layer, layer.cell, layer.cell.cell, head):
        policy = keras.DTypePolicy("float32")
        vars(policy).update(_compute_dtype=Text("float32"), _variable_dtype=Text("float32"))
        vars(part).update(_dtype_policy=policy)


def noise_at_inference(model):
    cell = model.layers[1].cell
    cell.transition.sample_at_inference = True
    cell.set_noise(5.0)


def not_equal_of(model):
    return next(operation for operation in model.operations if type(operation).__name__ == "NotEqual")


def in_its_head(model):
    return model.layers[-1]


def itself(model):
    return model


class EqualToAll:
    """An activation that is equal to any other."""

    def __eq__(self, other):
        return True

    __hash__ = None

    def __call__(self, x):
        return -x


class Key(int):
    """A key with the `repr` of another."""

    def __repr__(self):
        return "0"


class Name(str):
    """The name of an entry that pretends to be one that is not compared."""

    def endswith(self, *ends):
        return True


class Text(str):
    """A note with methods of its own."""


class Asked(list):
    """A list, or by its truth a flag, that does something when a call uses it."""

    def clear(self):
        self.pop()


class Size(int):
    """A number of units that does something when a call compares it."""

    __hash__ = int.__hash__

    def __eq__(self, other):
        return int(self) == other


class Truth:
    """A flag that may change its mind."""

    def __bool__(self):
        return True


class Policy(keras.DTypePolicy):
    """A policy that converts inputs in its own way."""


CHANGED = {
    "an activation with its own ==": lambda m: setattr(in_its_head(m), "activation", EqualToAll()),
    "a strategy": lambda m: setattr(m, "_distribute_strategy", Truth()),
    "a policy of the model": lambda m: setattr(m, "dtype_policy", Policy("float32")),
    "a key that is written as another": lambda m: m._functional._nodes_by_depth.update({Key(-1): []}),
    "a name that compares as it likes": (lambda m: vars(in_its_head(m)).update({Name("call"): in_its_head(m).call})),
    "a note with methods": lambda m: setattr(m._functional, "_nnx_op_mapping", Text()),
    "a handle of a variable": lambda m: setattr(in_its_head(m)._kernel._value, "_handle", Truth()),
    "a flag that is no bool": lambda m: setattr(m.layers[1].cell.cell, "use_bias", Truth()),
    "noise switched on": noise_at_inference,
    "a call of the model": wrapped(itself, "call"),
    "another call of the model": turned_round(itself, "call"),
    "another call of the head": turned_round(in_its_head, "call"),
    "a call of its graph": wrapped(lambda m: m._functional, "call"),
    "a prediction": wrapped(itself, "predict"),
    "another prediction": turned_round(itself, "predict"),
    "a step of the cell": wrapped(lambda m: m.layers[1].cell, "step"),
    "the mask's operation": wrapped(not_equal_of, "call"),
    "a dtype of the head": lambda m: setattr(in_its_head(m)._dtype_policy, "_compute_dtype", "float64"),
    "a tracker of the model": lambda m: setattr(m._tracker, "track", lambda value: value),
    "a tracker of a layer": lambda m: setattr(m.layers[1]._tracker, "track", lambda value: value),
    "what a tracker looks for": lambda m: m.layers[1]._tracker.config.update(layers=(lambda value: False, [])),
    "a name with methods": lambda m: vars(m.layers[1]).update(name=Text("it")),
    "a flag that a call asks": lambda m: vars(m.layers[1]).update(_lock=Truth()),
    "a flag that a variable asks": lambda m: vars(in_its_head(m)._kernel).update(_trainable=Truth()),
    "a list that a call clears": lambda m: vars(in_its_head(m)).update(_losses=Asked()),
    "a flag that a prediction asks": lambda m: vars(m).update(_run_eagerly=Truth()),
    "a dtype with methods": dtypes_with_methods,
    "a number of units with methods": (lambda m: setattr(m.layers[1].cell.cell, "units", Size(m.layers[1].units))),
    "a variable of the head": lambda m: setattr(in_its_head(m)._kernel, "_maybe_autocast", lambda value: -value),
}
"""Changes of a model that are no change of its numbers, or that change what is read as its numbers."""

REFUSED_SINCE = {
    "an activation with its own ==": "One Dense layer must read the state and decide: linear or sigmoid",
    "a note with methods": "The model itself must read words. Received: .*, which raises TypeError",
    "a handle of a variable": "Attempt to convert a value",
    "noise switched on": "which draws noise outside training",
    "a dtype of the head": "layers must be in float32",
    "a flag that a call asks": "The model itself must read words. Received: .*, which raises RuntimeError",
    "a list that a call clears": "pop from empty list",
}
CONTRADICTED = {
    "another call of the model": "the model itself classifies",
    "another call of the head": "the path of the centroids is another automaton",
    "a variable of the head": "the path of the centroids is another automaton",
}

VARIANTS = {
    "the mask's operation": lambda: W.functional(plain),
    "noise switched on": lambda: sequential(transition="gumbel"),
}


@pytest.mark.core
@pytest.mark.parametrize("name", CHANGED)
def test_what_was_changed_after_building_is_refused_or_not_deployed(name, certified):
    """A certificate is about numbers: what an object computes besides is in no network that is built of them."""
    keras.config.set_dtype_policy(keras.DTypePolicy("float32"))  # which a case may spoil
    model = VARIANTS.get(name, sequential)()
    try:
        CHANGED[name](model)
        if name in REFUSED_SINCE:
            with pytest.raises((ValueError, IndexError), match=REFUSED_SINCE[name]):
                automata.certify(model, D, alphabet=SYMBOLS)
            return
        found = automata.certify(model, D, alphabet=SYMBOLS)
        assert found.holds == (name not in CONTRADICTED)
        assert CONTRADICTED.get(name, "") in found.failure
        assert certified.check(model, alphabet=SYMBOLS) == found.holds
        if found.holds:
            built = found.network()
            assert misjudged(built, D) == 0
            assert found.check(built, alphabet=SYMBOLS)
    finally:
        if name == "a list that a call clears":
            keras.utils.clear_session(free_memory=False)  # or Keras goes on as if in that call, which it never left
        keras.config.set_dtype_policy(keras.DTypePolicy("float32"))


def test_compiles_a_prediction_again_that_was_compiled_before():
    model, ids = sequential(), np.array([[1, 2, 3], [1, 3, 3], [1, 3, 0]], np.int32)
    model.layers[-1].activation = lambda x: -x
    before = model.predict(ids, verbose=0)
    model.layers[-1].activation = keras.activations.linear
    assert automata.certify(model, D, alphabet=SYMBOLS).holds
    np.testing.assert_array_equal(model.predict(ids, verbose=0), -before)


def test_the_model_itself_reads_every_symbol(monkeypatch):
    """One of 200 symbols is judged otherwise; the shortest words do not have it."""
    alphabet = tuple(range(200))
    dfa = DFA([[int(symbol == 199 or state) for symbol in alphabet] for state in range(2)], {1}, alphabet=alphabet)
    model = automata.compile(dfa, "SRSimpleRNN")
    call = model.call
    model.call = lambda ids, **_: ops.where(ops.any(ids == 199 + 2, axis=1, keepdims=True), -1.0, 1.0) * call(ids)
    assert "the model itself classifies (199,) otherwise" in automata.certify(model, dfa).failure


@pytest.mark.parametrize("padding", ["none", "before", "after"])
def test_the_model_itself_reads_words_with_every_padding(padding, monkeypatch):
    """One that answers the other way on words with this padding alone."""
    model = network_of(tomita(4))
    call = model.call

    def answer(ids, training=None, mask=None):
        padded = {"none": ops.all(ids != 0), "before": ops.any(ids[:, 0] == 0), "after": ops.any(ids[:, -1] == 0)}
        return ops.where(padded[padding], -1.0, 1.0) * call(ids, training=training)

    model.call = answer
    assert "the model itself classifies" in automata.certify(model, tomita(4)).failure


def test_labels_differ_by_their_last_character():
    machine = MooreMachine([[1, 2], [1, 2], [2, 0]], ["a", "a\0", "b"], alphabet="01")
    model = automata.compile(machine)
    assert automata.certify(model, machine).holds
    assert [model.classify([word])[0] for word in ("", "0", "1")] == ["a", "a\0", "b"]
    model.labels = iter(model.labels)
    with pytest.raises(ValueError, match="A recognizer must have a label of its own for each output"):
        automata.certify(model, machine)


def test_names_an_unknown_transition():
    class TopTwo(transitions.Transition):
        name = ""

    with pytest.raises(
        ValueError, match=r"A transition must be one that the proof knows: 'mixture', 'soft_argmax'.*TopTwo"
    ):
        automata.certify(network_of(D, transition=TopTwo()), D)


class Liar(DFA):
    """An automaton whose answers are not those of its table."""

    def accepts(self, word):
        return not super().accepts(word)

    def _over(self, alphabet):
        return DFA(D.transitions, D.accepting, start=D.start, alphabet=alphabet)


def test_a_certificate_is_about_the_table_of_an_automaton(certified):
    model = network_of(D)
    everything, nothing = DFA([[0, 0]], {0}), Liar([[0, 0]], set())
    for prove in (automata.certify, automata.largest_temperature):
        with pytest.raises(ValueError, match="must be a DFA or a MooreMachine itself. Received: a Liar"):
            prove(model, nothing)
    assert not dataclasses.replace(certified, path=Liar(D.transitions, D.accepting), dfa=nothing).check(model)
    lying = DFA([[0, 0]], set())
    for name, method in (("difference", lambda other: None), ("_product", D._product), ("_of", lambda *_: D)):
        vars(lying).update({name: method})
    for forged in ({"path": lying, "dfa": lying}, {"dfa": lying}, {"path": lying}):
        assert not dataclasses.replace(certified, **forged).check(model)
    patched_later = DFA(D.transitions, D.accepting, start=D.start)
    vars(patched_later).update(accepts=everything.accepts)
    found = automata.certify(model, patched_later)
    assert found.holds
    assert [found.dfa.accepts(word) for word in ("", "000", "11000")] == [
        D.accepts(word) for word in ("", "000", "11000")
    ]


def test_a_certificate_survives_saving(tmp_path):
    model = W.functional(plain)
    found = automata.certify(model, D, alphabet=SYMBOLS)
    model.save(tmp_path / "model.keras")
    assert found.check(keras.models.load_model(tmp_path / "model.keras"), alphabet=SYMBOLS)


def patched(model, attribute, change):
    """The model, whose weight is changed in place."""
    part = model
    *path, last = attribute.split(".")
    for name in path:
        part = part.layers[int(name)] if name.isdigit() else getattr(part, name)
    weight = getattr(part, last)
    weight.assign(change(ops.convert_to_numpy(weight).copy()))
    return model


CELL_WEIGHTS = ("kernel", "recurrent_kernel", "bias")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf], ids=str)
@pytest.mark.parametrize(
    "weight",
    ["0.embeddings", "1.cell.centroids", "2.kernel", "2.bias", *(f"1.cell.cell.{name}" for name in CELL_WEIGHTS)],
)
def test_rejects_weights_that_are_not_finite(weight, bad):
    everything = DFA([[0, 0]], {0}, start=0, alphabet="01")
    claims = {D: (D, everything, everything.complement()), MODULO_3: (MODULO_3,)}
    for truth in (D, MODULO_3) if weight.startswith("2") else (D,):
        model = model_of(truth)
        found = automata.certify(model, truth)

        def spoil(values):
            values.flat[np.random.default_rng(0).integers(values.size)] = bad
            return values

        patched(model, weight, spoil)
        for claimed in claims[truth]:
            with pytest.raises(ValueError, match="The weights must be finite. Received: NaN or infinity"):
                automata.certify(model, claimed)
        with pytest.raises(ValueError, match="The weights must be finite"):
            found.check(model)


def test_temperatures_at_which_scores_overflow_or_are_all_rounding():
    model = network_of(D)
    for temperature in (1e-5, 1e-7, 1e-12, 1e-30, 1e-37):
        found = automata.certify(model, D, temperature=temperature)
        assert not found.holds
        assert "overflow, or its rounding is too large" in found.failure


@pytest.mark.parametrize("transition", ["mixture", "soft_argmax"])
@pytest.mark.parametrize("temperature", [1e-36, 1e-37, 1.2e-38])
def test_certifies_no_network_that_overflows(temperature, transition):
    model = network_of(D, transition=transition, scale=1e3)
    model.layers[1].cell.set_temperature(temperature)
    found = automata.certify(model, D)
    assert not found.holds
    assert (found.margins == -np.inf).all()
    assert misjudged(model, D) > 0


def test_rejects_temperatures_that_the_layer_cannot_hold():
    model = network_of(D)
    for temperature in (1e-46, 1e-39, 1e39, np.nan, 0):
        with pytest.raises(ValueError, match="`temperature` must be a (normal|positive) number"):
            automata.certify(model, D, temperature=temperature)


@pytest.mark.parametrize("gain", [1e18, 1e30])
def test_certifies_no_arithmetic_that_may_overflow(gain):
    """Features and weights that cancel, on the way through infinity."""
    model = sequential(keras.layers.Embedding(4, 4, mask_zero=True))
    patched(model, "0.embeddings", lambda table: table * gain)
    patched(model, "1.cell.cell.kernel", lambda kernel: kernel * gain)
    assert not automata.certify(model, D, alphabet=SYMBOLS).holds


@pytest.mark.parametrize(("gain", "holds"), [(1e30, True), (4e37, False)])
@both_kinds
def test_certifies_no_head_whose_sums_may_overflow(truth, gain, holds):
    """Its terms cancel, on the way through infinity."""
    model = model_of(truth)
    kernel, bias = model.layers[-1].get_weights()
    model.layers[-1].set_weights([gain * kernel / np.abs(kernel).max(), bias])
    found = automata.certify(model, truth)
    assert found.holds == holds
    assert holds or "overflow" in found.failure or "the head's decision" in found.failure


@pytest.mark.parametrize("scale", [1e-2, 1e-3, 1e-4])
def test_certifies_hard_transitions_only_where_the_probabilities_differ(scale):
    """The network takes the largest of the computed probabilities, which are equal long before the scores are."""
    model = network_of(D, transition="soft_argmax", scale=scale)
    largest = automata.largest_temperature(model, D)
    assert 0 < largest < 1e5
    cell = model.layers[1].cell
    cell.set_temperature(largest)
    assert automata.certify(model, D).holds
    assert misjudged(model, D) == 0
    cell.set_temperature(1e5 * largest)
    assert misjudged(model, D) > 0
    assert not automata.certify(model, D).holds


@pytest.mark.parametrize("scale", [0.3, 0.2, 0.1])
def test_rejects_a_hard_proof_for_a_soft_network(scale):
    model = network_of(D, scale=scale)
    found = automata.certify(model, D)
    assert not found.holds
    assert not dataclasses.replace(found, holds=True, epsilon=0.0, failure="").check(model)
    assert misjudged(model, D) > 0


def test_rejects_a_soft_proof_for_a_hard_network():
    model = network_of(D, transition="soft_argmax")
    found = automata.certify(model, D)
    assert found.check(model)
    assert not dataclasses.replace(found, epsilon=0.3).check(model)


def test_a_certificate_is_about_one_temperature():
    model = network_of(D, scale=0.9)  # whose margins are so small that epsilon matters
    cell = model.layers[1].cell
    found = automata.certify(model, D, temperature=0.2)
    assert found.holds
    assert not found.check(model)  # deployed at 1
    cell.set_temperature(0.2)
    assert found.check(model)
    assert not dataclasses.replace(found, temperature=1.0, epsilon=0.45).check(model)
    cell.set_temperature(1000)
    assert not found.check(model)
    assert not automata.certify(model, D).holds
    assert misjudged(model, D) > 0


class Equal(float):
    """A number that is equal to everything."""

    __hash__ = None

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False


def with_table(machine, rows, alphabet=None):
    labels = machine.accepting if isinstance(machine, DFA) else machine.outputs
    return type(machine)(rows, labels, start=machine.start, alphabet=alphabet or machine.alphabet)


def forgeries(found):
    """Changes of a certificate."""
    path, centroids = found.path, found.centroids
    k = len(centroids)
    for epsilon in (0.45, 1e-300, -0.1, np.nan, np.inf, 1.0, 2.0, 0.0, -1e-9):
        yield {"epsilon": epsilon}
    for figures in (found.margins + 1, found.margins[:1], found.margins * np.nan):
        yield {"margins": figures}
    yield {"decision_margins": 2 * found.decision_margins}
    for temperature in (40.0, 1.0 + found.temperature, Equal(40.0)):
        yield {"temperature": temperature}
    yield from ({"holds": False}, {"failure": "no proof"})
    for order in ((*centroids[1:], centroids[0]), (*centroids[:-1], 99), tuple(i - k for i in centroids)):
        yield {"centroids": order}
    rows = [list(row) for row in path.transitions]
    for state, column in itertools.product(range(len(path)), range(2)):
        targets = [(rows[state][column] + 1) % len(path)]
        if isinstance(path, DFA):
            targets.append(-1)  # missing, and the last centroid to a careless reader
        for target in targets:
            changed = [list(row) for row in rows]
            changed[state][column] = target
            lying = with_table(path, changed)
            yield {"path": lying, "dfa": lying}
    part = with_table(path, [row[:1] for row in rows], path.alphabet[:1])
    yield {"path": part, "dfa": part, "margins": found.margins[:, :1]}
    if isinstance(path, DFA):
        lies = [DFA(rows, set(range(len(path))) - path.accepting, start=path.start), tomita(4)]
    else:
        lies = [turned(path), DFA([[0, 0]], {0}), MooreMachine([[0, 0]], ["unknown"])]
        yield {"dfa": DFA.from_moore(path, "yes")}
    for lie in lies:
        yield from ({"dfa": lie}, {"path": lie}, {"dfa": lie, "path": lie})


@both_kinds
def test_rejects_forged_certificates(truth, monkeypatch):
    model = model_of(truth)
    found = automata.certify(model, truth)
    opened = certificate._opened(model, None)
    monkeypatch.setattr(certificate, "_opened", lambda *_: opened)  # once: the model stays as it is
    assert found.check(model)
    for change in forgeries(found):
        assert not dataclasses.replace(found, **change).check(model), change


@both_kinds
def test_rejects_another_network_and_another_language(truth):
    model, other = model_of(truth), tomita(5) if truth is D else turned(truth)
    refused = automata.certify(model, other)
    assert not refused.holds
    assert "the path of the centroids is another automaton: they differ on (" in refused.failure
    assert not refused.check(model)
    found = automata.certify(model, truth)
    assert not found.check(model_of(other))
    assert not automata.certify(model, with_table(truth, [truth.transitions[0], *truth.transitions[:-1]])).holds
    centroids = model.layers[1].cell.centroids
    centroids.assign(ops.convert_to_numpy(centroids)[::-1])
    assert not found.check(model)


def test_rejects_a_claim_of_the_other_kind():
    model, binary = automata.compile(MODULO_3), network_of(D)
    with pytest.raises(ValueError, match="compared with another MooreMachine. Received: DFA"):
        automata.certify(model, DFA.from_moore(MODULO_3, "yes"))
    with pytest.raises(ValueError, match="compared with another DFA. Received: MooreMachine"):
        automata.certify(binary, MODULO_3)
    assert not automata.certify(model, MODULO_3).check(binary)
    assert not automata.certify(binary, D).check(model)


def test_labels_are_part_of_the_proof():
    model = automata.compile(MODULO_3)
    found = automata.certify(model, MODULO_3)
    model.labels = ("yes", "no", "perhaps")
    assert not found.check(model)
    assert not dataclasses.replace(found, proved=None).check(model)
    assert not automata.certify(model, MODULO_3).holds
    model.labels = ("x", "y", "z")
    assert not found.check(model)
    model.labels = LABELS
    assert found.check(model)


@pytest.mark.parametrize("activation", ["softmax", "linear"])
def test_certifies_no_tie(activation):
    """Rounding alone decides between equal outputs."""
    model = automata.compile(MODULO_3)
    model.layers[-1].activation = keras.activations.get(activation)
    kernel, bias = model.layers[-1].get_weights()
    for apart in (0, 1e-9):  # less than a softmax tells apart
        kernel[:, 1] = kernel[:, 0] - apart * np.abs(kernel).max()
        model.layers[-1].set_weights([kernel, bias])
        found = automata.certify(model, automata.extract(model).machine)
        assert not found.holds
        assert "the head's decision on centroid" in found.failure
        assert not automata.certify(model, MODULO_3).holds


@both_kinds
def test_rejects_a_model_that_contradicts_its_proof(truth, monkeypatch):
    """The model itself reads words, for parts that no list foresees."""
    model = model_of(truth)
    found, read = automata.certify(model, truth), automata.extract(model)
    call = model.layers[-1].call
    monkeypatch.setattr(certificate, "extract_exactly", lambda _: read)
    other = (lambda logits: -logits) if truth is D else (lambda logits: logits[:, ::-1])
    monkeypatch.setattr(model.layers[-1], "call", lambda inputs, training=None: other(call(inputs)))
    again = automata.certify(model, truth)
    assert not again.holds
    assert "the model itself classifies () otherwise" in again.failure
    assert not found.check(model)


def test_the_start_token_is_part_of_the_proof():
    model = network_of(D)

    def weak(kernel):
        kernel[START] = 0.0  # no unit is on: the network is nearly between its states
        return kernel

    patched(model, "1.cell.cell.kernel", weak)
    found = automata.certify(model, D)
    assert not found.holds
    assert "the start token leads to centroid" in found.failure


def test_words_are_judged_after_the_end_token():
    """The head then reads the state of the cell, which is bounded once more."""
    dfa, symbols = tomita(2), 2
    # A network over {0, 1, end}: the end token leads every state to itself; its units are those of the pair with it.
    with_end = DFA(
        [(*row, state) for state, row in enumerate(dfa.transitions)],
        dfa.accepting,
        start=dfa.start,
        alphabet=("0", "1", "$"),
    )
    weights = Weights(with_end)
    ids = keras.Input((None,), dtype="int32")
    parts = weights.parts({"regularize_last_step": False}, {}, {})
    model = keras.Model(ids, plain(ids, *parts))
    weights.put(*parts)
    head, [kernel, bias] = parts[2], weights.head
    # The state of the cell is the centroid's over the scale, one unit of each pair.
    head.set_weights([kernel * 3.0, bias])
    known = {"0": 2, "1": 3}
    found = automata.certify(model, dfa, alphabet=with_token_ids(known, 1, 2 + symbols))
    assert found.holds, found
    assert found.check(model, alphabet=with_token_ids(known, 1, 2 + symbols))
    head.set_weights([-kernel * 3.0, bias])
    assert not found.check(model, alphabet=with_token_ids(known, 1, 2 + symbols))
    regularized = network_of(with_end)
    with pytest.raises(ValueError, match="component must skip an end token, for a decision after it to be bounded"):
        automata.certify(regularized, dfa, alphabet=with_token_ids(known, 1, 2 + symbols))


# A random search: networks of random automata, whose weights, flags, dtypes and temperatures are drawn.

LAYER_FLAGS = {
    "go_backwards": True,
    "zero_output_for_mask": True,
    "regularize_last_step": False,
    "return_sequences": True,
    "unroll": False,
    "learn_temperature": True,
}
COMPONENTS = (
    {"transition": "mixture"},
    {"transition": "soft_argmax"},
    {"transition": "gumbel"},
    {"transition": "gumbel", "straight_through": True},
    {"transition": "gumbel", "sample_at_inference": True, "noise": 10.0},
    {"transition": "sample"},
)
DTYPES = ("float32", "float32", "float32", "float64", "mixed_bfloat16", "mixed_float16")


def deployment(rng):
    """One way of deploying a network of SimpleRNNCell: functional or not, flags, dtypes, dropout."""
    policy = str(rng.choice(["float32", "float32", "float64"]))
    dtypes = [str(rng.choice(DTYPES)) if rng.random() < 0.04 else policy for _ in range(3)]
    flags = {name: value for name, value in LAYER_FLAGS.items() if rng.random() < 0.03}
    component = COMPONENTS[rng.choice(len(COMPONENTS), p=[0.45, 0.2, 0.1, 0.17, 0.04, 0.04])]
    head = {"activation": str(rng.choice(["linear", "sigmoid"]))}
    middle = [keras.layers.Dropout(0.5)] if rng.random() < 0.2 else []
    middle += [AlwaysDropout(0.5, seed=1)] if rng.random() < 0.03 else []
    masked = rng.random() > 0.03

    def build(states, units):
        parts = (
            keras.layers.Embedding(4, 4, mask_zero=bool(masked), dtype=dtypes[0]),
            layers.SRSimpleRNN(units, states, dtype=dtypes[1], **flags, **component),
            keras.layers.Dense(1, dtype=dtypes[2], **head),
        )
        model = keras.Sequential([keras.Input((None,), dtype="int32"), *parts[:2], *middle, parts[2]])
        return model, parts

    return build


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(8))
def test_no_random_deployment_is_certified_and_wrong(seed):
    """2,000 models in all: a certified one judges all words of up to six symbols as its automaton does."""
    outcomes = search(np.random.default_rng(1000 + seed), 250)
    assert outcomes["wrong"] == 0, outcomes
    assert outcomes["certified"] > 50, outcomes
    assert outcomes["refused"] > 30, outcomes
    assert outcomes["not certified"] > 30, outcomes


def search(rng, models):
    outcomes = {"certified": 0, "not certified": 0, "refused": 0, "wrong": 0}
    for _ in range(models // 10):
        dfa = drawn(rng, int(rng.integers(2, 6)), ("0", "1"))
        build = deployment(rng)
        model = None
        for _ in range(10):
            weights = Weights(dfa, scale=float(10 ** rng.uniform(-2, 1)), sharp=float(rng.uniform(1, 8)))
            if model is None:
                model, parts = build(len(dfa), weights.units)
            weights.put(*parts)
            spread = float(rng.choice([0, 0.02, 0.1, 0.3]))
            for weight in model.trainable_weights:
                values = np.asarray(ops.convert_to_numpy(weight), np.float64)
                values = values + spread * np.abs(values).mean() * rng.normal(size=values.shape)
                values.flat[rng.integers(values.size)] *= rng.choice(
                    [1, 1e-40, 1e20, np.nan], p=[0.985, 0.005, 0.005, 0.005]
                )
                weight.assign(values)
            parts[1].cell.set_temperature(float(10 ** rng.uniform(-3, 1.5)))
            outcomes[outcome(model, dfa)] += 1
    return outcomes


def outcome(model, dfa):
    try:
        claimed = automata.extract(model, alphabet=SYMBOLS).dfa
        if not automata.certify(model, claimed, alphabet=SYMBOLS).holds:
            return "not certified"
    except ValueError:
        return "refused"
    return "wrong" if misjudged(model, claimed) else "certified"


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(4))
def test_no_random_network_of_labels_is_certified_and_wrong(seed):
    """Compiled networks under noise, other heads, temperatures and transitions; every short word is read."""
    rng = np.random.default_rng(50 + seed)
    outcomes = dict.fromkeys(("certified", "not certified", "refused"), 0)
    some = words("ab", 6) + drawn_words("ab", 40, 60, seed)
    for _ in range(5):
        machine = drawn(rng, int(rng.integers(3, 7)), "ab", LABELS)
        transition, layer = (
            str(rng.choice(["mixture", "soft_argmax", "gumbel"])),
            str(rng.choice(["SRGRU", "SRSimpleRNN"])),
        )
        model = automata.compile(machine, layer, transition=transition)
        model.layers[-1].activation = keras.activations.get(str(rng.choice(["softmax", "linear"])))
        weights = model.get_weights()
        for _ in range(12):
            spread = float(rng.choice([0, 0.01, 0.03, 0.1, 0.3]))
            noisy = [w + spread * np.abs(w).mean() * rng.normal(size=w.shape) for w in weights]
            if rng.random() < 0.05:
                noisy[-1].flat[0] = np.nan
            for variable, value in zip(model.weights, noisy, strict=True):
                if variable.trainable:
                    variable.assign(value)
            model.layers[1].cell.set_temperature(float(0.0625 * 10 ** rng.uniform(-2, 1.5)))
            outcomes[outcome_of_labels(model, some)] += 1
    assert outcomes["certified"] >= 10, outcomes
    assert outcomes["not certified"] >= 5, outcomes


def outcome_of_labels(model, some):
    claimed = automata.extract(model).machine
    if any(np.isnan(weight).any() for weight in model.get_weights()):
        with pytest.raises(ValueError, match="must be finite"):
            automata.certify(model, claimed)
        return "refused"
    if not automata.certify(model, claimed).holds:
        return "not certified"
    assert model.classify(some).tolist() == [claimed.output(word) for word in some]
    return "certified"


def test_products_must_be_in_full_float32(monkeypatch):
    monkeypatch.setattr(_backend, "reduced_products", lambda: ("a device of few digits", "many_digits()"))
    sentence = r"computed in full float32. Received: a device of few digits. Call many_digits\(\), here and where the"
    with pytest.raises(ValueError, match=sentence):
        automata.certify(network_of(tomita(1)), tomita(1))


def reduced(received, remedy):
    """Whether products are reduced, of which these are parts of the sentence."""
    found = _backend.reduced_products()
    return found is not None and received in found[0] and remedy in found[1]


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="torch's own switches")
def test_torch_must_multiply_in_float32_and_not_cast_by_itself():
    import torch

    assert _backend.reduced_products() is None
    for precision in ("high", "medium"):
        torch.set_float32_matmul_precision(precision)
        try:
            assert reduced(f"torch with the matmul precision '{precision}'", "'highest'")
        finally:
            torch.set_float32_matmul_precision("highest")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert reduced("torch under torch.autocast", "the network outside of it")


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="JAX's own switch")
def test_jax_must_multiply_in_float32(monkeypatch):
    import jax

    for precision, device, is_reduced in (
        *((None, "cpu", False), (None, "gpu", True), ("tensorfloat32", "gpu", True), ("bfloat16", "cpu", True)),
        *(("highest", "gpu", False), ("float32", "tpu", False)),
    ):
        monkeypatch.setattr(jax, "default_backend", lambda device=device: device)
        with jax.default_matmul_precision(precision):
            assert reduced(f"JAX on {device} with the matmul precision", "'highest'") == is_reduced


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TensorFlow's own switches")
def test_tensorflow_must_multiply_in_float32(monkeypatch):
    """TensorFloat-32 is of GPUs; a graph may be rewritten anywhere."""
    import tensorflow as tf

    for gpus, is_on in itertools.product(([], ["a GPU"]), (False, True)):
        monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None, gpus=gpus: gpus)
        monkeypatch.setattr(tf.config.experimental, "tensor_float_32_execution_enabled", lambda is_on=is_on: is_on)
        assert reduced("TensorFlow on a GPU with TensorFloat-32", "(False)") == (bool(gpus) and is_on)
    monkeypatch.undo()
    for name in ("auto_mixed_precision_onednn_bfloat16", "auto_mixed_precision"):
        assert _backend.reduced_products() is None
        tf.config.optimizer.set_experimental_options({name: True})
        try:
            assert reduced(f"TensorFlow with {name}", f"{{'{name}': False}}")
        finally:
            tf.config.optimizer.set_experimental_options({name: False})


def test_measures_functions_before_every_proof(monkeypatch):
    model = network_of(tomita(1))
    certificate = automata.certify(model, tomita(1))
    monkeypatch.setattr(_kernels, "_measured", lambda dtype: (("tanh", 1e-3), ("sigmoid", 0.0), ("exp", 0.0)))
    for prove in (automata.certify, automata.largest_temperature):
        with pytest.raises(ValueError, match="tanh"):
            prove(model, tomita(1))
    with pytest.raises(ValueError, match="tanh"):
        certificate.check(model)


def test_a_model_of_a_fixed_length_is_tried_on_words_that_it_reads():
    model = automata.compile(tomita(4))
    units, centroids = model.layers[1].units, model.layers[1].num_centroids
    parts = [automata.SymbolEmbedding("01", 3), layers.SRGRU(units, centroids, 0.0625), keras.layers.Dense(1)]
    short = keras.Sequential([keras.Input((5,), dtype="int32"), *parts])
    short.set_weights(model.get_weights())
    assert automata.certify(short, tomita(4)).holds
    assert automata.certify(model, tomita(4)).check(short)


def test_a_model_without_an_input_is_given_one_of_any_length():
    model = keras.Sequential([automata.SymbolEmbedding("01", 3), layers.SRSimpleRNN(4, 3), keras.layers.Dense(1)])
    extraction = automata.extract(model)
    assert model.input_shape == (None, None)
    assert extraction.agreement(["0", "0110"]).words == 2

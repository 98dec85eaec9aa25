"""Texts as strings, in tensors, beside numbers and to subclasses; and steps that are masked are read by no function."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, callbacks, views
from tests.callbacks.events import described, look
from tests.samples import passing_masks_on

pytestmark = pytest.mark.core

Dense, Input, Model = keras.layers.Dense, keras.Input, keras.Model
TEXTS = ["refund my money", "where is my parcel", "my parcel"]
AGES = np.array([[0.3], [0.4], [0.5]])
IDS = np.array([[3, 4, 5, 0, 0, 0], [6, 7, 0, 0, 0, 0], [8, 1, 2, 3, 0, 0]])
NAMES = ["<pad>", *"abcdefgh"]


def normal(seed):
    return keras.initializers.RandomNormal(0, 1, seed=seed)


def embedding(size=9):
    return keras.layers.Embedding(size, 4, mask_zero=True, embeddings_initializer=normal(0))


def head(x):
    return Dense(2, kernel_initializer=normal(1))(x)


def chain():
    ids = Input((None,), dtype="int32")
    return Model(ids, head(keras.layers.LSTM(3)(embedding()(ids))))


def of_two_inputs(structure=dict):
    ids, age = Input((6,), dtype="int32", name="text"), Input((1,), name="age")
    inputs = {"text": ids, "age": age} if structure is dict else [age, ids]
    return Model(inputs, head(keras.layers.Concatenate()([keras.layers.LSTM(3)(embedding()(ids)), age])))


def with_attention():
    ids = Input((6,), dtype="int32")
    states = passing_masks_on(keras.layers.LSTM(3, return_sequences=True))(embedding()(ids))
    attended = keras.layers.Attention()([states, states])
    return Model(ids, head(keras.layers.GlobalAveragePooling1D()(attended)))


class Subclass(Model):
    def __init__(self):
        super().__init__()
        self.table, self.lstm, self.head = embedding(), keras.layers.LSTM(3), Dense(2)

    def call(self, inputs):
        return self.head(self.lstm(self.table(inputs)))


class SubclassOfTwo(Subclass):
    def call(self, inputs):
        return self.head(ops.concatenate([self.lstm(self.table(inputs["text"])), inputs["age"]], axis=-1))


def without_recurrence():
    ids = Input((6,), dtype="int32")
    return Model(ids, head(keras.layers.GlobalAveragePooling1D()(embedding()(ids))))


MODELS = {
    "chain": (chain, lambda ids: ids),
    "dict": (of_two_inputs, lambda ids: {"text": ids, "age": AGES[0]}),
    "list": (lambda: of_two_inputs(list), lambda ids: [AGES[0], ids]),
    "attention": (with_attention, lambda ids: ids),
    "subclass": (Subclass, lambda ids: ids),
    "subclass of two inputs": (SubclassOfTwo, lambda ids: {"text": ids, "age": AGES[:1]}),
    "no recurrence": (without_recurrence, lambda ids: ids),
}


def by_itself(model, given, ids):
    """The outputs of a model for ids, beside the other input of what is given, if there is one."""
    given = given(ids)
    age = ops.convert_to_tensor(AGES[:1].astype("float32"))
    ids = ops.convert_to_tensor(ids[None])
    if isinstance(given, dict):
        return np.asarray(ops.convert_to_numpy(model({"text": ids, "age": age})))[0]
    return np.asarray(ops.convert_to_numpy(model([age, ids] if isinstance(given, list) else ids)))[0]


@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_put_in_the_place_of_padding(name):
    make, given = MODELS[name]
    model, text = make(), IDS[0]
    changed = analysis.substitutions(model, given(text), alphabet=NAMES)
    np.testing.assert_array_equal(changed.read, text != 0)
    np.testing.assert_array_equal(changed.symbols, text)
    np.testing.assert_array_equal(changed.alternatives, np.arange(1, 9))
    np.testing.assert_array_equal(changed.outputs[3:], np.broadcast_to(changed.original, (3, 8, 2)))
    assert {position for position, *_ in changed.top(1000)} == {0, 1, 2}
    np.testing.assert_allclose(changed.original, by_itself(model, given, text), atol=1e-5)
    for position, other in ((0, 8), (2, 1)):
        other_text = np.where(np.arange(6) == position, other, text)
        found = changed.outputs[position, other - 1]
        np.testing.assert_allclose(found, by_itself(model, given, other_text), atol=1e-5)
    assert "<pad>" not in str(changed)
    assert str(changed).startswith("after 'c d e': ")


def test_a_replacement_by_padding_is_tried_if_it_is_asked_for():
    model = chain()
    changed = analysis.substitutions(model, IDS[0], alternatives=[0, 1])
    np.testing.assert_array_equal(changed.alternatives, [0, 1])
    without = by_itself(model, lambda ids: ids, np.array([3, 0, 5, 0, 0, 0]))
    np.testing.assert_allclose(changed.outputs[1, 0], without, atol=1e-5)
    assert changed.deleted.shape == (6, 2)
    np.testing.assert_array_equal(changed.deleted[3:], np.broadcast_to(changed.original, (3, 2)))


def test_padding_that_is_read_is_a_symbol():
    ids = Input((6,), dtype="int32")
    table = keras.layers.Embedding(9, 4, embeddings_initializer=normal(0))
    changed = analysis.substitutions(Model(ids, head(keras.layers.LSTM(3)(table(ids)))), IDS[0], alphabet=NAMES)
    assert changed.read.all()
    assert changed.outputs.shape == (6, 9, 2)


def test_a_padding_of_its_own_is_that_of_the_model():
    ids = Input((6,), dtype="int32")
    table = keras.layers.Embedding(9, 4, embeddings_initializer=normal(0))
    model = Model(ids, head(keras.layers.LSTM(3)(table(ids), mask=ops.not_equal(ids, 5))))
    changed = analysis.substitutions(model, [1, 2, 0, 3, 5, 5], alphabet=NAMES)
    assert changed.read.tolist() == [True] * 4 + [False] * 2
    assert 5 not in changed.alternatives
    assert 0 in changed.alternatives


def test_of_two_texts_the_symbols_of_one_are_replaced():
    first, second = Input((6,), dtype="int32", name="first"), Input((6,), dtype="int32", name="second")
    table = embedding()
    states = [keras.layers.LSTM(3)(table(first)), keras.layers.GRU(3)(table(second))]
    model = Model({"first": first, "second": second}, head(keras.layers.Concatenate()(states)))
    texts = {"first": IDS[0], "second": [0, 0, 3, 0, 4, 5]}
    changed = analysis.substitutions(model, texts, alphabet=NAMES, with_respect_to="second")
    np.testing.assert_array_equal(changed.read, np.array(texts["second"]) != 0)
    np.testing.assert_array_equal(changed.alternatives, np.arange(1, 9))


def test_a_text_of_padding_alone_is_refused():
    for make, given in MODELS.values():
        if make is not with_attention and make is not without_recurrence:
            with pytest.raises(ValueError, match="a symbol that is read. Received: 6 symbols, all of which are masked"):
                analysis.substitutions(make(), given(np.zeros(6, int)), alphabet=NAMES)


def test_several_rows_beside_one_text_are_refused():
    with pytest.raises(ValueError, match="One text must come with one row of each other input. Received: 3 rows"):
        analysis.substitutions(of_two_inputs(), {"text": IDS[0], "age": AGES}, alphabet=NAMES)


@pytest.mark.parametrize("kind", ["substitutions", "attribution"])
@pytest.mark.parametrize("name", ["chain", "dict", "attention"])
def test_a_page_says_which_symbols_are_masked(name, kind, tmp_path):
    make, given = MODELS[name]
    if kind == "attribution":
        inputs = given(IDS[:1])
        result = analysis.attribution(make(), inputs, target=0, alphabet=NAMES)
        assert ["  masked" in line for line in str(result).splitlines()[-6:]] == [False] * 3 + [True] * 3
        np.testing.assert_array_equal(result.read, IDS[:1] != 0)
    else:
        result = analysis.substitutions(make(), given(IDS[0]), alphabet=NAMES)
    path = tmp_path / "page.html"
    views.save(result, path)
    assert '"masked":[3,4,5]' in path.read_text().replace(" ", "")


def test_the_text_of_a_callback_is_masked_too(tmp_path):
    for kind in ("Attributions", "Substitutions"):
        look(chain(), getattr(callbacks, kind)(tmp_path, [IDS[0]], alphabet=NAMES))
        content = described(tmp_path / kind.lower(), f"{kind.lower()}/text_0")
        assert content["masked"] == [3, 4, 5]
        with pytest.raises(ValueError, match=f"Each text of {kind} must be all that the model reads. Received: a dict"):
            getattr(callbacks, kind)(tmp_path, [{"text": IDS[0], "age": 1.0}])


# Texts.


def vectorization():
    layer = keras.layers.TextVectorization(max_tokens=20, output_sequence_length=5)
    layer.adapt(TEXTS)
    return layer


def of_texts():
    text = Input((1,), dtype="string")
    return Model(text, head(keras.layers.LSTM(3)(embedding(20)(vectorization()(text)))))


def of_texts_and_numbers(structure=dict):
    text, age = Input((1,), dtype="string", name="text"), Input((1,), name="age")
    states = keras.layers.LSTM(3)(embedding(20)(vectorization()(text)))
    inputs = {"text": text, "age": age} if structure is dict else [age, text]
    return Model(inputs, head(keras.layers.Concatenate()([states, age])))


class Classifier(Model):
    def __init__(self):
        super().__init__()
        self.words, self.table = vectorization(), embedding(20)
        self.lstm, self.head = keras.layers.LSTM(3), Dense(2, kernel_initializer=normal(1))

    def call(self, inputs):
        return self.head(self.lstm(self.table(self.words(inputs))))


def tensor(texts):
    return ops.convert_to_tensor([[text] for text in texts], dtype="string")


FORMS = {
    "list": list,
    "array": np.array,
    "column": lambda texts: np.array(texts)[:, None],
    "objects": lambda texts: np.array(texts, object),
    "tensor": lambda texts: ops.convert_to_tensor(list(texts), dtype="string"),
    "column of a tensor": tensor,
    "bytes": lambda texts: [text.encode() for text in texts],
    "lists of words": lambda texts: [text.split() for text in texts],
}
on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="tensors of strings are TensorFlow's"
)
TOKENS = (
    ("refund", "my", "money", "<pad>", "<pad>"),
    ("where", "is", "my", "parcel", "<pad>"),
    ("my", "parcel", "<pad>", "<pad>", "<pad>"),
)
READ = np.array([[name != "<pad>" for name in row] for row in TOKENS])


@on_tensorflow
@pytest.mark.parametrize("form", FORMS)
def test_texts_are_read_in_every_form(form):
    model = of_texts()
    split = analysis.attribution(model, FORMS[form](TEXTS), target=0)
    assert split.tokens == TOKENS
    np.testing.assert_array_equal(split.read, READ)
    np.testing.assert_allclose(split.output, model(tensor(TEXTS))[:, 0], atol=1e-5)
    one = FORMS[form](TEXTS[:1])
    changed = analysis.substitutions(model, one[0] if form == "lists of words" else one)
    np.testing.assert_array_equal(changed.read, READ[0])
    np.testing.assert_allclose(changed.original, model(tensor(TEXTS[:1]))[0], atol=1e-5)
    place = changed.alternatives.tolist().index(int(analysis.substitutions(model, "parcel").symbols[0]))
    np.testing.assert_allclose(changed.outputs[0, place], model(tensor(["parcel my money"]))[0], atol=1e-5)


@on_tensorflow
@pytest.mark.parametrize("structure", [dict, list])
@pytest.mark.parametrize("form", FORMS)
def test_texts_with_numbers(form, structure):
    model = of_texts_and_numbers(structure)

    def both(texts, ages):
        return {"text": texts, "age": ages} if structure is dict else [ages, texts]

    expected = model(both(tensor(TEXTS), ops.convert_to_tensor(AGES, "float32")))
    split = analysis.attribution(model, both(FORMS[form](TEXTS), AGES), target=0)
    assert split.tokens == TOKENS
    np.testing.assert_array_equal(split.read, READ)
    np.testing.assert_allclose(split.output, expected[:, 0], atol=1e-5)
    changed = analysis.substitutions(model, both(FORMS[form](TEXTS[:1]), AGES[:1]))
    np.testing.assert_array_equal(changed.read, READ[0])
    np.testing.assert_allclose(changed.original, expected[0], atol=1e-5)


@on_tensorflow
@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_a_subclass_that_reads_texts(form, called):
    model = Classifier()
    if called:
        model(tensor(TEXTS))
    split = analysis.attribution(model, FORMS[form](TEXTS), target=0)
    assert split.tokens == TOKENS
    np.testing.assert_array_equal(split.read, READ)
    np.testing.assert_allclose(split.output, model(tensor(TEXTS))[:, 0], atol=1e-5)
    changed = analysis.substitutions(model, TEXTS[1])
    np.testing.assert_array_equal(changed.read, READ[1])
    np.testing.assert_allclose(changed.original, model(tensor(TEXTS[1:2]))[0], atol=1e-5)


def test_refuses_ids_that_a_layer_makes_other_ids_of():
    ids = Input((6,), dtype="int32")
    looked_up = keras.layers.IntegerLookup(vocabulary=[3, 5, 7])(ids)
    model = Model(ids, head(keras.layers.LSTM(3)(embedding()(looked_up))))
    with pytest.raises(ValueError, match=r"must read the ids of its tables. Received: integer_lookup\w* \(Integer"):
        analysis.attribution(model, IDS)


def test_one_empty_text_in_a_batch_of_a_chain_has_shares_of_0():
    model, ids = chain(), IDS.copy()
    ids[1] = 0
    split = analysis.attribution(model, ids, target=0)
    np.testing.assert_array_equal(split.shares[1], 0)
    np.testing.assert_array_equal(split.read, ids != 0)
    np.testing.assert_allclose(split.shares[[0, 2]], analysis.attribution(model, IDS[[0, 2]], target=0).shares)


def test_one_empty_text_in_a_batch_of_an_attention_model_is_named():
    ids = IDS.copy()
    ids[1] = 0
    with pytest.raises(ValueError, match="NaN for sequence 2 of 3, of which no step is read, as all are masked"):
        analysis.attribution(with_attention(), ids, target=0)


# The input whose steps are looked at.


def of_inputs(**shapes):
    """A model of a dict of inputs of these shapes, of ids where the name begins with "ids"."""
    inputs, parts = {}, []
    for name, shape in shapes.items():
        inputs[name] = x = Input(shape, name=name, dtype="int32" if name.startswith("ids") else "float32")
        x = embedding()(x) if name.startswith("ids") else x
        x = keras.layers.Flatten()(x) if shape == (1,) else x
        parts.append(keras.layers.GRU(2)(x) if len(x.shape) > 2 else x)
    return Model(inputs, head(keras.layers.Concatenate()(parts)))


def given(model, rows=2):
    rng = np.random.default_rng(0)
    shapes = {name: (rows, *tensor.shape[1:]) for name, tensor in model.input.items()}
    return {
        name: rng.integers(1, 9, shape) if name.startswith("ids") else rng.normal(size=shape)
        for name, shape in shapes.items()
    }


@pytest.mark.parametrize(
    ("shapes", "steps"),
    [
        ({"age": (1,), "ids": (6,)}, 6),
        ({"age": (3,), "series": (4, 2)}, 4),
        ({"ids_of_users": (1,), "series": (4, 2)}, 4),
    ],
)
def test_of_a_dict_the_only_input_of_steps_is_looked_at(shapes, steps):
    model = of_inputs(**shapes)
    assert analysis.attribution(model, given(model), target=0).shares.shape == (2, steps)


def test_of_a_dict_of_several_inputs_of_steps_one_must_be_named():
    model = of_inputs(a=(1,), ids=(6,), series=(4, 2))
    with pytest.raises(ValueError, match="a dict of a, ids, series, of which ids, series are read as steps. Pass its"):
        analysis.attribution(model, given(model), target=0)
    assert analysis.attribution(model, given(model), target=0, with_respect_to="series").shares.shape == (2, 4)
    listed = Model([model.input[name] for name in ("a", "series", "ids")], model.output)
    inputs = [given(model)[name] for name in ("a", "series", "ids")]
    assert analysis.attribution(listed, inputs, target=0).shares.shape == (2, 4)

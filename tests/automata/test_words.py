"""Words as ids against rows written by hand, and invalid words, alphabets and configurations."""

import copy
import dataclasses
import itertools
import json
import pickle

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_interp_rnn import automata, callbacks
from keras_interp_rnn.automata import SymbolEmbedding, WordEncoding, tomita
from keras_interp_rnn.automata.machines import encoding_of
from keras_interp_rnn.datasets import LabelledWords
from tests.automata.networks import network_of

some_symbols = st.lists(
    st.one_of(st.text(max_size=2), st.integers(-9, 9), st.tuples(st.integers(0, 2))),
    min_size=1,
    max_size=5,
    unique=True,
)
some_ids = st.integers(1, 12)
some_tokens = st.none() | some_ids


@st.composite
def encodings(draw):
    symbols = draw(some_symbols)
    codes = draw(st.lists(some_ids, min_size=len(symbols), max_size=len(symbols), unique=True))
    return WordEncoding(dict(zip(symbols, codes, strict=True)), start=draw(some_tokens), end=draw(some_tokens))


@st.composite
def encoded_words(draw):
    encoding = draw(encodings())
    word = st.lists(st.sampled_from(encoding.alphabet), max_size=6).map(tuple)
    return encoding, draw(st.lists(word, max_size=5))


@given(encoded_words())
def test_a_row_is_the_tokens_and_the_id_of_each_symbol(pair):
    encoding, some = pair
    rows = encoding.ids(some)
    before, after = ([token] if token is not None else [] for token in (encoding.start, encoding.end))
    longest = max(map(len, some), default=0) + len(before) + len(after)
    assert rows.dtype == np.int32
    assert rows.shape == (len(some), longest)
    for row, word in zip(rows.tolist(), some, strict=True):
        line = before + [encoding.codes[encoding.alphabet.index(symbol)] for symbol in word] + after
        assert row == line + [0] * (longest - len(line))
    np.testing.assert_array_equal(encoding.ids(some, longest + 3), np.pad(rows, ((0, 0), (0, 3))))
    assert rows.max(initial=0) < encoding.size


@given(encodings())
def test_an_encoding_survives_its_configuration_and_pickling(encoding):
    for again in (pickle.loads(pickle.dumps(encoding)), copy.deepcopy(encoding)):
        assert again == encoding
        assert hash(again) == hash(encoding)
        assert again.symbol_ids == encoding.symbol_ids
    if any(isinstance(symbol, tuple) for symbol in encoding.alphabet):
        with pytest.raises(ValueError, match=r"must be ints or strings\. Received: \([0-2],\)\. Name the symbols"):
            encoding.get_config()
        return
    config = encoding.get_config()
    assert WordEncoding.from_config(json.loads(json.dumps(config))) == encoding
    assert keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(encoding)) == encoding


def test_default_ids_begin_at_2_and_tokens_are_1_and_k_plus_2():
    encoding = WordEncoding("abc")
    assert (encoding.alphabet, encoding.codes) == (("a", "b", "c"), (2, 3, 4))
    assert (encoding.start, encoding.end, encoding.tokens, encoding.size) == (None, None, (), 5)
    assert encoding == WordEncoding({"a": 2, "b": 3, "c": 4}) == WordEncoding.with_tokens(["a", "b", "c"])
    assert WordEncoding.with_tokens("abc", start=True, end=True) == WordEncoding("abc", start=1, end=5)
    assert WordEncoding.with_tokens("abc", start=True).tokens == (1,)
    assert WordEncoding.with_tokens("abc", end=True).size == 6
    assert (encoding.symbol_ids, encoding.code("c")) == ({"a": 2, "b": 3, "c": 4}, 4)
    with pytest.raises(ValueError, match=r"Received: the symbol 'd'\. Leave it out"):
        encoding.code("d")


def test_encodings_are_immutable_values_that_depend_on_the_order_of_the_alphabet():
    encoding = WordEncoding({"a": 2, "b": 3}, start=np.int64(1))
    assert encoding != WordEncoding({"b": 3, "a": 2}, start=1)
    assert encoding != WordEncoding({"a": 2, "b": 3})
    assert encoding == WordEncoding({"a": 2, "b": 3}, start=1)
    assert type(encoding.start) is int
    encoding.symbol_ids["c"] = 4  # a copy
    assert encoding.alphabet == ("a", "b")
    with pytest.raises(dataclasses.FrozenInstanceError):
        encoding.start = 2
    assert str(encoding) == "WordEncoding(alphabet=('a', 'b'), codes=(2, 3), start=1, end=None)"


NO_WORDS = r"Words must be a list of sequences of symbols.* Received: "


@pytest.mark.parametrize(
    ("some", "length", "sentence"),
    [
        (["ab", "axb"], None, r"over the alphabet \('a', 'b'\)\. Received: the symbol 'x' in 'axb'\. Leave it out"),
        ([["a", []]], None, r"Received: the symbol \[\] in \('a', \[\]\)"),
        (["a" * 99 + "x"], None, r"Received: the symbol 'x' in 'a{56}\.\.\."),
        ("ab", None, rf"{NO_WORDS}'ab'\. Give \[word\] for one"),
        ([3], None, rf"{NO_WORDS}\[3\]"),
        (None, None, f"{NO_WORDS}None"),
        (["a", "ab"], 3, r"the tokens\. Received: length=3, and a word that needs 4\. Give a larger"),
    ],
)
def test_rejects_words_that_have_no_ids(some, length, sentence):
    encoding = WordEncoding("ab", start=1, end=4)
    assert encoding.ids(["ab"], length=4).tolist() == [[1, 2, 3, 4]]
    with pytest.raises(ValueError, match=sentence):
        encoding.ids(some, length)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (({},), "must hold at least one symbol, each once. Received: {}"),
        (("aba",), "must hold at least one symbol, each once. Received: 'aba'"),
        (([["a"]],), r"sequence of hashable symbols, or {symbol: id, \.\.\.}\. Received: \[\['a'\]\]"),
        ((3,), "sequence of hashable symbols, .* Received: 3"),
        (({"a": 0},), r"ints from 1 to 2147483647, as 0 is padding\. Received: 0 for the symbol 'a'"),
        (({"a": 2**31},), "Received: 2147483648 for the symbol 'a'"),
        (({"a": True},), "Received: True for the symbol 'a'"),
        (({"a": "2"},), "Received: '2' for the symbol 'a'"),
        (({"a": 2.0},), "Received: 2.0 for the symbol 'a'"),
        (("a", 0), "Received: 0 for the start token"),
        (("a", None, -1), "Received: -1 for the end token"),
        (({"a": 2, "b": 3, "c": 2},), "an id of its own. Received: id 2 for 'a' and for 'c'. Leave one of them out"),
    ],
)
def test_rejects_invalid_encodings(arguments, sentence):
    symbols, start, end = (*arguments, None, None)[:3]
    with pytest.raises(ValueError, match=sentence):
        WordEncoding(symbols, start=start, end=end)


@pytest.mark.core
@pytest.mark.parametrize("change", [{"end": None}, {"other": 1}, {"codes": [2]}, {"alphabet": 3}])
def test_rejects_a_damaged_configuration(change):
    config = {**WordEncoding("ab", start=1).get_config(), **change}
    if "end" in change:
        del config["end"]
    with pytest.raises(ValueError, match=r"must have an alphabet, an id for each .* Pass what get_config returned"):
        WordEncoding.from_config(config)
    with pytest.raises(ValueError, match="each once"):
        WordEncoding.from_config({"alphabet": ["a", "a"], "codes": [2, 3], "start": 1, "end": None})


def test_an_encoding_replaces_alphabet_start_and_end():
    encoding = WordEncoding("ab", start=1)
    assert encoding_of(None) is None
    assert encoding_of(encoding) is encoding
    assert encoding_of({"a": 2, "b": 3}, 1, None) == encoding
    for arguments, sentence in (
        ((encoding, 1), r"must come without a WordEncoding, .* start=1, end=None, .* Leave them out"),
        (("ab", 1), "`alphabet` must be a mapping of each symbol to its id. Received: alphabet='ab'"),
        ((None, None, 4), r"together with an alphabet\. Received: start=None, end=4, alphabet=None\."),
    ):
        with pytest.raises(ValueError, match=sentence):
            encoding_of(*arguments)


def test_tokens_are_not_ignored_for_a_model_that_carries_its_alphabet():
    model, truth = network_of(tomita(4)), tomita(4)
    for call in (
        lambda: automata.extract(model, start=1),
        lambda: automata.certify(model, truth, end=4),
        lambda: automata.largest_temperature(model, truth, start=1),
        lambda: automata.certify(model, truth).check(model, end=4),
    ):
        with pytest.raises(ValueError, match="or none of the three if the model has its own"):
            call()


@pytest.mark.matrix
def test_functions_of_networks_take_an_encoding(tmp_path):
    truth = tomita(4)
    model, encoding = network_of(truth), WordEncoding("01", start=1)
    found = automata.extract(model, alphabet=encoding)
    assert found.dfa == automata.extract(model, alphabet={"0": 2, "1": 3}, start=1).dfa
    assert found.network.encoding == encoding
    certificate = automata.certify(model, truth, alphabet=encoding)
    assert certificate.holds
    assert certificate.check(model, alphabet=encoding)
    assert automata.largest_temperature(model, truth, alphabet=encoding) == automata.largest_temperature(model, truth)
    callbacks.Automaton(tmp_path, alphabet=encoding)
    with pytest.raises(ValueError, match="an id of its own. Received: id 2 for '0' and for '1'"):
        callbacks.Automaton(tmp_path, alphabet={"0": 2, "1": 2})


def test_labelled_words_have_the_default_ids():
    labelled = LabelledWords(("ab", "", "bb"), np.array([True, False, True]), "ab")
    for start, end in itertools.product((False, True), repeat=2):
        encoding = labelled.encoding(start, end)
        assert encoding.start == (labelled.start_id if start else None)
        assert encoding.end == (labelled.end_id if end else None)
        np.testing.assert_array_equal(labelled.ids(start, end, length=6), encoding.ids(labelled.words, 6))


def test_an_embedding_saved_by_version_0_1_loads():
    settings = {"name": "symbols", "trainable": True, "dtype": "float32", "input_dim": 4, "output_dim": 5}
    config = {
        "module": "keras_interp_rnn.automata.recognizer",
        "class_name": "SymbolEmbedding",
        "registered_name": "keras_interp_rnn>SymbolEmbedding",
        "config": {**settings, "embeddings_initializer": "uniform", "mask_zero": True, "alphabet": ["0", "1"]},
    }
    layer = keras.saving.deserialize_keras_object(config)
    assert type(layer) is SymbolEmbedding
    assert layer.encoding == WordEncoding("01", start=1) == WordEncoding.with_tokens("01", start=True)
    assert (layer.input_dim, layer.output_dim, layer.mask_zero, layer.start_id) == (4, 5, True, 1)
    assert layer.symbol_ids == {"0": 2, "1": 3}

"""Symbols and their ids: rows written by hand, properties, what is saved, and what is refused."""

import copy
import dataclasses
import json
import pickle
import re
import subprocess
import sys

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_interp_rnn import automata, callbacks, layers
from keras_interp_rnn._alphabet import with_token_ids
from keras_interp_rnn.datasets import Alphabet, DataError, LabelledWords, words

BOOK = "\tNAME:\nO, for a muse of fire — é 日\U0001f600\n" * 3
SOME_SYMBOLS = st.one_of(st.text(max_size=2), st.integers(-9, 9), st.tuples(st.integers(0, 2)))


@st.composite
def alphabets(draw):
    """Of any symbols and ids, with any of the special symbols, of which two may be the same."""
    symbols = draw(st.lists(SOME_SYMBOLS, min_size=4, max_size=9, unique=True))
    ids = draw(st.none() | st.lists(st.integers(0, 30), min_size=len(symbols), max_size=len(symbols), unique=True))
    special = {name: draw(st.none() | st.sampled_from(symbols[:2])) for name in ("start", "end", "unknown")}
    return Alphabet(symbols, ids=ids, padding=draw(st.none() | st.just(symbols[2])), **special)


@st.composite
def alphabets_and_texts(draw):
    alphabet = draw(alphabets())
    text = st.lists(st.sampled_from(alphabet.ordinary), max_size=6)
    return alphabet, draw(st.lists(text, max_size=5))


@given(alphabets_and_texts())
def test_a_row_is_start_the_id_of_each_symbol_end_and_padding(pair):
    alphabet, texts = pair
    ids = dict(zip(alphabet.symbols, alphabet.ids, strict=True))
    before, after = ([] if symbol is None else [ids[symbol]] for symbol in (alphabet.start, alphabet.end))
    lines = [before + [ids[symbol] for symbol in text] + after for text in texts]
    assert [alphabet.encode(text).tolist() for text in texts] == lines
    assert [alphabet.encode(text, end=False).tolist() for text in texts] == [
        line[: len(line) - len(after)] for line in lines
    ]
    padding = alphabet.padding_id
    assert padding == (ids[alphabet.padding] if alphabet.padding is not None else None if 0 in alphabet.ids else 0)
    longest = max(map(len, lines), default=len(before + after))
    if padding is None and any(len(line) != longest for line in lines):
        with pytest.raises(DataError, match="read together must have one length"):
            alphabet.encode_batch(texts)
        return
    rows = alphabet.encode_batch(texts)
    assert (rows.dtype, rows.shape) == (np.int32, (len(texts), longest))
    assert rows.tolist() == [line + [padding] * (longest - len(line)) for line in lines]
    if padding is not None:
        longer = alphabet.encode_batch(texts, longest + 3)
        np.testing.assert_array_equal(longer, np.pad(rows, ((0, 0), (0, 3)), constant_values=padding))
        assert alphabet.lengths(longer).tolist() == [*map(len, lines)]
    assert rows.max(initial=0) < len(alphabet)


@given(alphabets_and_texts())
def test_decode_is_the_inverse_of_encode(pair):
    alphabet, texts = pair
    for text in texts:
        expected = "".join(text) if alphabet.is_characters else text
        assert alphabet.decode(alphabet.encode(text)) == expected
        assert list(map(alphabet.name, alphabet.ids_of(text))) == text


@given(alphabets())
def test_an_alphabet_survives_its_configuration_and_pickling(alphabet):
    for again in (pickle.loads(pickle.dumps(alphabet)), copy.deepcopy(alphabet), dataclasses.replace(alphabet)):
        assert again == alphabet
        assert hash(again) == hash(alphabet)
        assert again.ids_of(again.symbols).tolist() == list(alphabet.ids)
    if any(isinstance(symbol, tuple) for symbol in alphabet.symbols):
        with pytest.raises(ValueError, match=r"must be ints or strings\. Received: \([0-2],\)\. Name the symbols"):
            alphabet.get_config()
        return
    config = json.loads(json.dumps(alphabet.get_config()))
    assert Alphabet.from_config(config) == alphabet
    assert keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(alphabet)) == alphabet


@pytest.mark.parametrize("raw", [BOOK, "a", "\n\n", "".join(map(chr, range(1, 300))), "\ud800x\udfff"])
def test_the_alphabet_of_a_text_encodes_it_and_decodes_it(raw):
    alphabet = Alphabet.from_text(raw)
    assert alphabet.symbols == "".join(sorted(set(raw)))
    ids = alphabet.encode(raw)
    assert ids.dtype == np.int32
    np.testing.assert_array_equal(ids, [alphabet.symbols.index(character) for character in raw])
    assert alphabet.decode(ids) == raw
    assert alphabet.decode(ids.tolist()) == raw
    assert alphabet.decode(alphabet.encode("")) == ""


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_encoding_does_not_depend_on_the_block_size(block, monkeypatch):
    monkeypatch.setattr("keras_interp_rnn._alphabet._BLOCK", block)
    alphabet = Alphabet({"z": 3, "y": 0, "x": 7, "é": 2, "\n": 9}, unknown="x", start="y")
    raw = "".join(np.random.default_rng(0).choice(list("zyxé\n?"), 150))
    expected = [{"z": 3, "y": 0, "é": 2, "\n": 9}.get(character, 7) for character in raw]
    np.testing.assert_array_equal(alphabet.ids_of(raw), expected)
    np.testing.assert_array_equal(alphabet.ids_of(list(raw)), expected)
    np.testing.assert_array_equal(alphabet.encode(raw), [0, *expected])


def test_the_order_is_that_of_the_string():
    alphabet = Alphabet("ba\n")
    assert (len(alphabet), list(alphabet), alphabet[2], "a" in alphabet) == (3, ["b", "a", "\n"], "\n", True)
    assert alphabet.encode("a\nb").tolist() == [1, 2, 0]
    assert alphabet == Alphabet("ba\n") != Alphabet("ab\n")
    assert len({alphabet, Alphabet("ba\n")}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        alphabet.symbols = "xyz"


def test_ids_without_a_symbol_are_numbers_and_0_is_padding():
    alphabet = Alphabet({"a": 2, "b": 4})
    assert (list(alphabet), len(alphabet), alphabet[1:3]) == (["<pad>", "id 1", "a", "id 3", "b"], 5, ("id 1", "a"))
    assert ("id 1" in alphabet, "b" in alphabet, alphabet.padding_id) == (False, True, 0)
    assert alphabet == Alphabet("ab", ids=[2, 4]) != Alphabet("ab")
    assert alphabet.encode_batch(["ab", ""]).tolist() == [[2, 4], [0, 0]]
    assert [alphabet.name(0), alphabet.name(4)] == ["<pad>", "b"]
    with pytest.raises(DataError, match=r"name every id that occurs\. Received: 2 symbols, none with the id 3"):
        alphabet.decode([3])


def test_rare_characters_become_the_unknown_one():
    raw = "aaaabbbccd\n"
    alphabet = Alphabet.from_text(raw, min_count=2, unknown="?")
    assert (alphabet.symbols, alphabet.unknown) == ("?abc", "?")
    assert alphabet.decode(alphabet.encode("abcd\n\U0001f600?")) == "abc????"
    assert Alphabet.from_text(raw, max_size=3, unknown="?").symbols == "?ab"
    assert Alphabet.from_text(raw, max_size=3).symbols == "abc"
    # One of the text itself may stand for the others; its own count does not matter.
    assert Alphabet.from_text(raw, min_count=3, unknown="d").symbols == "abd"
    # Of equals those that come first in Unicode.
    assert Alphabet.from_text("zyx", max_size=2).symbols == "xy"


TEXTS = [["b", "a", "b"], ["c", "a", "d", "b"]]


def test_the_commonest_words_have_ids_and_ties_go_by_the_alphabet():
    found = Alphabet.from_texts(TEXTS, max_size=7)
    assert found.symbols == ("<pad>", "<unk>", "<s>", "</s>", "b", "a", "c")
    assert (len(found), found.ordinary) == (7, ("b", "a", "c"))
    assert Alphabet.from_texts(TEXTS, min_count=2).ordinary == ("b", "a")
    # A special symbol in a text is no word.
    assert Alphabet.from_texts([["</s>", "a", "</s>"]]).ordinary == ("a",)
    bare = Alphabet.from_texts(TEXTS, start=None, end=None, unknown=None, padding="-")
    assert (bare.symbols, bare.padding_id) == ("-bacd", 0)


def test_texts_become_rows_with_start_and_end_and_padding():
    found = Alphabet.from_texts(TEXTS, max_size=7)
    assert found.encode_batch(TEXTS, 7).tolist() == [[2, 4, 5, 4, 3, 0, 0], [2, 6, 5, 1, 4, 3, 0]]
    last = found.encode_batch(TEXTS, 4, truncate=True)
    assert last.tolist() == [[2, 5, 4, 3], [2, 1, 4, 3]], "the last words are kept"
    assert found.encode_batch(TEXTS, 4, end=False, truncate=True).tolist() == [[2, 4, 5, 4], [2, 5, 1, 4]]
    assert found.encode_batch(TEXTS, 2, truncate=True).tolist() == [[2, 3], [2, 3]]
    assert found.encode_batch([]).shape == (0, 2)
    with pytest.raises(ValueError, match="`length` must be an integer of at least 2. Received: length=1. A row holds"):
        found.encode_batch(TEXTS, 1, truncate=True)


def test_a_string_is_split_into_words():
    found = Alphabet.from_texts(["Good film!", "a good one"], max_size=8)
    assert found == Alphabet.from_texts([["good", "film", "!"], ["a", "good", "one"]], max_size=8)
    rows = [["a", "good", "film"], ["bad"]]
    assert found.encode_batch(["A good film", "Bad"]).tolist() == found.encode_batch(rows).tolist()


def test_words_of_an_automaton_have_the_default_ids():
    assert Alphabet.with_tokens("abc") == Alphabet({"<pad>": 0, "a": 2, "b": 3, "c": 4}, padding="<pad>")
    both = Alphabet.with_tokens("abc", start=True, end=True)
    assert list(both) == ["<pad>", "<s>", "a", "b", "c", "</s>"]
    assert (both.ordinary, both.start_id, both.end_id) == (("a", "b", "c"), 1, 5)
    assert len(Alphabet.with_tokens("abc", start=True)) == 5
    # A symbol may have the name of a token.
    assert Alphabet.with_tokens(["<s>", "<pad>"], start=True).encode(["<pad>", "<s>"]).tolist() == [1, 3, 2]
    labelled = LabelledWords(("ab", "", "bb"), np.array([True, False, True]), "ab")
    for start, end in ((False, False), (True, False), (False, True), (True, True)):
        alphabet = Alphabet.with_tokens("ab", start=start, end=end)
        np.testing.assert_array_equal(labelled.ids(start, end, length=6), alphabet.encode_batch(labelled.words, 6))


def test_tokens_may_be_one_but_neither_padding_nor_a_symbol():
    assert with_token_ids({"a": 2}, 1, 1).encode("a").tolist() == [1, 2, 1]
    assert with_token_ids({"b": 3, "a": 2}, 9, 7).encode("ab").tolist() == [9, 2, 3, 7]
    assert with_token_ids({"b": 3, "a": 2}, 9, 7).ordinary == ("b", "a")
    for ids, start, end in (({"a": 0}, None, None), ({"a": 2}, 2, None), ({"a": 2}, 1, 2)):
        with pytest.raises(ValueError, match="Every symbol must have an id of its own"):
            with_token_ids(ids, start, end)
    for start, end in ((0, None), (None, 0), (0, 0)):
        with pytest.raises(ValueError, match="`padding` must be neither `start`, `end` nor `unknown`"):
            with_token_ids({"a": 2}, start, end)


@pytest.mark.parametrize(
    ("raw", "shown", "position"), [("abX", "'X'", 3), ("\U0001f600", "'\U0001f600'", 1), ("a\x00", r"'\x00'", 2)]
)
def test_a_foreign_character_is_named(raw, shown, position):
    sentence = f"its alphabet, ('a', 'b', 'c'). Received: {shown} at position {position}. Leave it out"
    for text in (raw, list(raw), raw + 100 * "a"):
        with pytest.raises(DataError, match=re.escape(sentence)):
            Alphabet("abc").encode(text)


WORDS = Alphabet(["-", "on", "off"], padding="-")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Alphabet(""), "at least one symbol, each once. Received: ''"),
        (lambda: Alphabet({}), "at least one symbol, each once. Received: {}"),
        (lambda: Alphabet(["on", "off", "on"]), "at least one symbol, each once. Received: 'on' 2 times"),
        (lambda: Alphabet([["a"]]), r"sequence of hashable symbols, or {symbol: id, \.\.\.}\. Received: \[\['a'\]\]"),
        (lambda: Alphabet(3), "sequence of hashable symbols, .* Received: 3"),
        (lambda: Alphabet([float("nan")]), "A symbol must be equal to itself. Received: nan"),
        (lambda: Alphabet(["on", "off"], unknown="o"), "one of the symbols. Received: unknown='o'"),
        (lambda: Alphabet("abc", start="ab"), "one of the symbols. Received: start='ab'"),
        (lambda: Alphabet("abc", padding=0), "one of the symbols. Received: padding=0"),
        (lambda: Alphabet({"a": -1}), "ints from 0 to 2147483647. Received: -1 for the symbol 'a'"),
        (lambda: Alphabet({"a": 2**31}), "Received: 2147483648 for the symbol 'a'"),
        (lambda: Alphabet({"a": True}), "Received: True for the symbol 'a'"),
        (lambda: Alphabet({"a": 2.0}), "Received: 2.0 for the symbol 'a'"),
        (lambda: Alphabet("abc", ids=[2, 3, 2]), "an id of its own. Received: id 2 for 'a' and for 'c'"),
        (lambda: Alphabet("abc", ids=[2, 3]), r"an id for each of 3 symbols. Received: ids=\(2, 3\)"),
        (lambda: Alphabet.from_text("abc", unknown="<unk>").decode([9]), r"`ids` must lie in \[0, 4\)"),
        (lambda: WORDS.encode("on off"), "list of symbols such as 'on'.* the string 'on off'. Split it, "),
        (lambda: WORDS.encode(["on", "of"]), "Received: 'of' at position 2. Leave it out"),
        (lambda: WORDS.encode(["on", ["of"]]), r"Received: \['of'\] at position 2. Leave it out"),
        (lambda: Alphabet("abc").encode(["ab", "c"]), r"a list with 'ab'. Encode several by encode_batch"),
        (lambda: Alphabet("abc").encode(3), "a string or a list of symbols. Received: int. Decode bytes"),
        (lambda: Alphabet("abc").encode(b"abc"), "or a list of symbols. Received: bytes. Decode bytes first"),
        (lambda: Alphabet("abc").encode_batch("abc"), r"several texts. Received: 'abc'. Pass \[text\] for one"),
        (lambda: Alphabet("abc").encode_batch(None), "several texts. Received: None"),
        (lambda: Alphabet("abc").encode_batch(["a", "ab"]), "one length. Received: lengths from 1 to 2. Pass one"),
        (lambda: Alphabet("abc").encode_batch(["a"], 2), "one length. Received: lengths from 1 to 2. Pass one"),
        (lambda: WORDS.encode_batch([["on"] * 4], 3), "length=3, and a text that needs 4. Give a larger length or"),
        (lambda: Alphabet.from_texts("abc"), r"several texts. Received: 'abc'. Pass \[text\] for one"),
        (lambda: Alphabet.from_texts(TEXTS, max_size=4), "at least 5. Received: max_size=4. 4 of them are special"),
        (lambda: Alphabet.from_text("abc", min_count=2), "min_count=2 times. Received: a text of 3 characters"),
        (lambda: Alphabet.from_text(""), "Received: a text of 0 characters"),
        (lambda: Alphabet.from_text("abc", max_size=0), "`max_size` must be a positive integer. Received: max_size=0"),
        (lambda: Alphabet.from_text("abc", max_size=1, unknown="?"), "at least 2. Received: max_size=1. 1 of them"),
        (lambda: Alphabet("abc").decode([0, 3]), r"`ids` must lie in \[0, 3\). Received: ids from 0 to 3"),
        (lambda: Alphabet("abc").decode([-1]), r"`ids` must lie in \[0, 3\). Received: ids from -1 to -1"),
        (lambda: Alphabet("abc").decode([0.5]), "integers.*Received: float64 of shape"),
        (lambda: Alphabet("abc").decode([[1]]), r"integers.*Received: int64 of shape \(1, 1\)"),
        (lambda: Alphabet("ab", ids=5), "`ids` must be a list of ids. Received: ids=5"),
        (lambda: Alphabet("ab", start=["a"]), "`start` must be one of the symbols. Received: start="),
        (lambda: Alphabet("ab", padding="a", end="a"), "neither `start`, `end` nor `unknown`. Received: padding='a'"),
        (lambda: Alphabet("ab", split=" "), "`split` must be a function of a string. Received: split=' '"),
        (lambda: Alphabet("ab", split=lambda text: None).encode("a"), "string or a list of symbols. Received: None"),
        (lambda: Alphabet.of(None), "`model` must be a Keras model. Received: model=None"),
        (lambda: Alphabet("ab").name(1.7), "`id` must be an integer. Received: 1.7"),
        (lambda: Alphabet.from_text([1, "a"]), "must consist of strings. Received: 1"),
        (lambda: Alphabet.from_text(5), "a string or a list of symbols. Received: 5"),
        (lambda: Alphabet.from_texts([5]), "a string or a list of symbols. Received: 5"),
        (lambda: Alphabet.from_texts(["a"], min_count="a"), "`min_count` must be a positive integer"),
        (lambda: Alphabet("ab").encode_batch(np.array("ab")), "must be several texts. Received: array"),
        (lambda: Alphabet("ab", split=str.split).get_config(), "`split` must be a registered function, if the"),
        (lambda: Alphabet.from_config({"symbols": "ab", "split": "me>mine"}), "name of a registered function"),
    ],
)
def test_wrong_symbols_and_foreign_texts_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_tokens_are_symbols_as_characters_are():
    day = ["login", "fail", "fail", "logout"]
    alphabet = Alphabet.from_text(day, min_count=2, unknown="<unk>")
    assert alphabet.symbols == ("<unk>", "fail")
    assert alphabet.decode(alphabet.encode(day)) == ["<unk>", "fail", "fail", "<unk>"]
    events = Alphabet(("login", "fail", "logout"))
    np.testing.assert_array_equal(events.encode(np.array(day)), [0, 1, 1, 2])
    assert (len(events), list(events), events.encode([]).shape) == (3, ["login", "fail", "logout"], (0,))
    again = keras.models.model_from_json(character_model(events).to_json())
    assert Alphabet.of(again) == events == Alphabet(list(events))


def test_a_list_of_characters_is_their_string():
    assert Alphabet(["b", "a"]) == Alphabet("ba")
    assert Alphabet("ba").encode(["a", "b", "a"]).tolist() == Alphabet("ba").encode("aba").tolist()


@keras.saving.register_keras_serializable(package="tests", name="by_dashes")
def by_dashes(text):
    return text.split("-")


@pytest.mark.parametrize(
    "alphabet",
    [
        Alphabet.from_text(BOOK),
        Alphabet("a\ud800?", unknown="?"),
        Alphabet(["log in", "\n", "?"], unknown="?"),
        Alphabet.from_texts(["\u00e9t\u00e9 it's . ... \u2026 #"], max_size=12),
        Alphabet.from_texts(["on-off", "on"], split=by_dashes),
        Alphabet.with_tokens(["a", 3], start=True, end=True),
    ],
)
def test_an_alphabet_is_saved_and_loaded(alphabet, tmp_path):
    alphabet.save(tmp_path / "alphabet.json")
    assert Alphabet.load(tmp_path / "alphabet.json") == alphabet
    model = keras.Sequential([keras.Input((None,), dtype="int32"), alphabet.layer(), keras.layers.Embedding(99, 2)])
    model.save(tmp_path / "model.keras")
    assert Alphabet.of(keras.models.load_model(tmp_path / "model.keras")) == alphabet


def test_a_file_that_is_not_written_to_its_end_leaves_the_one_before(tmp_path, monkeypatch):
    path = tmp_path / "alphabet.json"
    Alphabet("abc").save(path)

    def half(partial, content, **how):
        partial.write_bytes(content[: len(content) // 2].encode())
        raise OSError("the disk is full")

    monkeypatch.setattr(type(path), "write_text", half)
    with pytest.raises(OSError, match="the disk is full"):
        Alphabet("xyz").save(path)
    assert Alphabet.load(path).symbols == "abc"


@pytest.mark.parametrize("content", ["", "[]", '{"unknown": null}', '{"symbols": "aa"}', "[" * 100_000])
def test_load_refuses_a_file_without_an_alphabet(content, tmp_path):
    (tmp_path / "other").write_text(content)
    with pytest.raises(ValueError, match=r"JSON with `symbols`. Received: .*other \("):
        Alphabet.load(tmp_path / "other")
    with pytest.raises(DataError, match="`path` must be a file. Received: .*nowhere, which does not exist"):
        Alphabet.load(tmp_path / "nowhere")


OF_03 = {
    "Alphabet": ({"symbols": "ab?", "unknown": "?"}, Alphabet("ab?", unknown="?")),
    "Vocabulary": (
        {"names": ["<pad>", "<unk>", "<s>", "</s>", "film", "good"]},
        Alphabet.from_texts(["film good"]),
    ),
    "WordEncoding": (
        {"alphabet": ["0", "1"], "codes": [4, 2], "start": 1, "end": 5},
        Alphabet({"<pad>": 0, "<s>": 1, "0": 4, "1": 2, "</s>": 5}, padding="<pad>", start="<s>", end="</s>"),
    ),
}
"""Registered name -> a configuration that version 0.3 wrote, and the alphabet that it is."""


@pytest.mark.parametrize("name", OF_03)
def test_an_alphabet_of_version_0_3_loads(name):
    config, expected = OF_03[name]
    saved = {
        "module": "keras_interp_rnn.anywhere",
        "class_name": name,
        "registered_name": f"keras_interp_rnn>{name}",
        "config": config,
    }
    found = keras.saving.deserialize_keras_object(saved)
    assert type(found) is Alphabet
    assert found == expected
    layer = {
        "module": "keras_interp_rnn.datasets._alphabet",
        "class_name": "AlphabetLayer",
        "registered_name": "keras_interp_rnn>AlphabetLayer",
        "config": {"name": "named", "trainable": True, "dtype": "float32", "alphabet": saved},
    }
    assert keras.saving.deserialize_keras_object(layer).alphabet == expected


def test_an_embedding_saved_by_version_0_1_loads():
    settings = {"name": "symbols", "trainable": True, "dtype": "float32", "input_dim": 4, "output_dim": 5}
    config = {
        "module": "keras_interp_rnn.automata.recognizer",
        "class_name": "SymbolEmbedding",
        "registered_name": "keras_interp_rnn>SymbolEmbedding",
        "config": {**settings, "embeddings_initializer": "uniform", "mask_zero": True, "alphabet": ["0", "1"]},
    }
    layer = keras.saving.deserialize_keras_object(config)
    assert type(layer) is automata.SymbolEmbedding
    assert layer.alphabet == Alphabet.with_tokens("01", start=True)
    assert (layer.input_dim, layer.output_dim, layer.mask_zero) == (4, 5, True)


def character_model(alphabet):
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            alphabet.layer(),
            layers.ISAN(5, len(alphabet), return_sequences=True),
            keras.layers.Dense(len(alphabet)),
        ]
    )


LOAD = """
import sys, keras
from keras_interp_rnn import datasets
alphabet = datasets.Alphabet.of(keras.models.load_model(sys.argv[1]))
print(ascii(alphabet.symbols), ascii(alphabet.unknown))
"""


@pytest.mark.matrix
def test_a_model_carries_its_alphabet_into_a_fresh_process(tmp_path):
    alphabet = Alphabet.from_text(BOOK, unknown="\N{REPLACEMENT CHARACTER}")
    model = character_model(alphabet)
    ids = alphabet.encode(BOOK)[None]
    expected = keras.ops.convert_to_numpy(model(ids))
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(model.layers[-1](model.layers[1](ids))), expected)
    model.save(tmp_path / "model.keras")
    np.testing.assert_array_equal(keras.models.load_model(tmp_path / "model.keras").predict(ids, verbose=0), expected)
    told = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path / "model.keras")], capture_output=True, text=True, check=True
    )
    assert told.stdout.split("\n")[-2] == f"{ascii(alphabet.symbols)} {ascii(alphabet.unknown)}"


def test_the_layer_passes_masks_and_any_shape_on():
    layer = Alphabet("ab").layer()
    model = keras.Sequential([keras.layers.Embedding(3, 2, mask_zero=True), layer])
    out = model(np.array([[1, 0]]))
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(out._keras_mask), [[True, False]])
    assert keras.ops.convert_to_numpy(layer(np.ones((2, 3), "int32"))).dtype == np.int32
    again = type(layer).from_config(json.loads(json.dumps(layer.get_config())))
    assert again.alphabet == layer.alphabet


def test_a_model_within_a_model_carries_its_alphabet_too():
    inner = character_model(Alphabet("abc"))
    assert Alphabet.of(keras.Sequential([keras.Input((None,), dtype="int32"), inner])) == Alphabet("abc")


@pytest.mark.parametrize("alphabets", [[], [Alphabet("abc"), Alphabet("acb")]])
def test_a_model_without_exactly_one_alphabet_is_refused(alphabets):
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *(a.layer() for a in alphabets)])
    with pytest.raises(ValueError, match=rf"must have one alphabet. Received: .*, with {len(alphabets)}. Put"):
        Alphabet.of(model)


@pytest.mark.parametrize("alphabet", [None, "abc", 3])
def test_a_layer_without_an_alphabet_is_refused(alphabet):
    config = {**Alphabet("abc").layer().get_config(), "alphabet": alphabet}
    with pytest.raises(ValueError, match="`alphabet` must be an Alphabet. Received: "):
        type(Alphabet("abc").layer()).from_config(config)


def test_functions_of_networks_take_an_alphabet_or_ids_of_symbols(tmp_path):
    truth = automata.tomita(4)
    model, alphabet = automata.compile(truth), Alphabet.with_tokens("01", start=True)
    found = automata.extract(model, alphabet=alphabet)
    assert found.dfa == automata.extract(model).dfa == truth.minimize()
    assert found.network.symbols == alphabet
    certificate = automata.certify(model, truth, alphabet=alphabet)
    assert certificate.holds
    assert certificate.check(model, alphabet=alphabet)
    assert automata.largest_temperature(model, truth, alphabet=alphabet) == automata.largest_temperature(model, truth)
    callbacks.Automaton(tmp_path, alphabet=alphabet)
    for call in (
        lambda: automata.extract(model, alphabet={"0": 2, "1": 3}),
        lambda: automata.certify(model, truth, alphabet={"0": 2, "1": 3}),
    ):
        with pytest.raises(ValueError, match="Received: a model without one. Train with a token before every word"):
            call()
    with pytest.raises(ValueError, match="an id of its own. Received: id 2 for '0' and for '1'"):
        callbacks.Automaton(tmp_path, alphabet={"0": 2, "1": 2})
    for first in ("-01", Alphabet("-^01", start="^")):  # whose id 0 is a symbol
        with pytest.raises(ValueError, match="The id 0 must be padding, .* Received: an alphabet with the symbol"):
            automata.extract(model, alphabet=first)


@pytest.mark.parametrize("symbols", [[5, 6, 7], "abc", ["on", "off", "x"]])
def test_arrays_and_tensors_are_texts(symbols):
    alphabet = Alphabet(symbols)
    text = [symbols[2], symbols[0], symbols[1]]
    expected = alphabet.encode(text).tolist()
    assert expected == [2, 0, 1]
    assert alphabet.encode(np.array(text)).tolist() == expected
    assert alphabet.encode(np.array(text, object)).tolist() == expected
    if isinstance(symbols[0], int):
        assert alphabet.encode(keras.ops.convert_to_tensor(text)).tolist() == expected
    with pytest.raises(DataError, match=r"must be one text. Received: an array of shape \(1, 3\)"):
        alphabet.encode(np.array([text]))
    with pytest.raises(DataError, match=r"Received: \{'b'\} at position 2"):
        alphabet.encode([symbols[0], {"b"}])


def test_names_of_ids_are_distinct_whatever_the_symbols_are():
    alphabet = Alphabet({"1": 3, "id 1": 5, "<pad>": 2})
    assert list(alphabet) == ["<pad>'", "id 1'", "<pad>", "1", "id 4", "id 1"]
    assert [alphabet.index(symbol) for symbol in alphabet.symbols] == list(alphabet.ids)
    assert ([1] in alphabet, "id 4" in alphabet, alphabet.name(0)) == (False, False, "<pad>'")


def test_large_ids_take_no_memory():
    alphabet = Alphabet({"a": 2**31 - 1})
    assert alphabet.decode([2**31 - 1]) == "a"
    assert alphabet.lengths([[2**31 - 1, 0]]).tolist() == [1]
    assert alphabet.lengths(np.zeros((2, 0), int)).tolist() == [0, 0]


def test_numbers_and_none_are_symbols():
    assert Alphabet.with_tokens([None, "a"], start=True).ordinary == (None, "a")
    assert Alphabet.from_config(Alphabet(np.arange(3)).get_config()) == Alphabet([0, 1, 2])
    assert Alphabet(["a", "b", 0], unknown=0).decode([0, 2]) == "a0"
    assert Alphabet.from_texts(["a b"], start="|", end="|").encode("a").tolist() == [2, 3, 2]


def test_a_string_is_split_for_ids_too():
    assert Alphabet.from_texts(["bad film"]).ids_of("Bad film!").tolist() == [4, 5, 1]


def test_the_tokenizer_of_an_alphabet_is_that_of_the_module():
    assert Alphabet.from_texts(["a"]).split is words.tokenize

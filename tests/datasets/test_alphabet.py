import dataclasses
import json
import re
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers
from keras_interp_rnn.datasets import DataError, words
from keras_interp_rnn.datasets.text import Alphabet

BOOK = "\tNAME:\nO, for a muse of fire — é 日\U0001f600\n" * 3


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
    monkeypatch.setattr("keras_interp_rnn.datasets._alphabet._BLOCK", block)
    alphabet = Alphabet("zyxabc é\n")
    raw = "".join(np.random.default_rng(0).choice(list(alphabet), 50))
    np.testing.assert_array_equal(alphabet.encode(raw), [alphabet.index(character) for character in raw])


def test_the_order_is_that_of_the_string():
    alphabet = Alphabet("ba\n")
    assert (len(alphabet), list(alphabet), alphabet[2], "a" in alphabet) == (3, ["b", "a", "\n"], "\n", True)
    assert alphabet.encode("a\nb").tolist() == [1, 2, 0]
    assert alphabet == Alphabet("ba\n") != Alphabet("ab\n")
    assert len({alphabet, Alphabet("ba\n")}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        alphabet.symbols = "xyz"


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


@pytest.mark.parametrize(
    ("raw", "shown", "position"), [("abX", "'X'", 3), ("\U0001f600", "'\U0001f600'", 1), ("a\x00", r"'\x00'", 2)]
)
def test_a_foreign_character_is_named(raw, shown, position):
    sentence = f"the 3 symbols of its alphabet. Received: {shown} at position {position}. Leave it out"
    with pytest.raises(DataError, match=re.escape(sentence)):
        Alphabet("abc").encode(raw)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Alphabet(""), "a string of at least one character, or a list of names. Received: symbols=''"),
        (
            lambda: Alphabet(["a", ""]),
            r"a string of at least one character, or a list of names. Received: symbols=\['a', ''\]",
        ),
        (lambda: Alphabet([1, 2]), r"or a list of names. Received: symbols=\[1, 2\]"),
        (lambda: Alphabet(["on", "off", "on"]), "`symbols` must be distinct. Received: 'on' 2 times"),
        (lambda: Alphabet(["on", "off"], "o"), "one of the symbols. Received: unknown='o'"),
        (lambda: Alphabet.from_text("abc", unknown="<unk>"), "one of the symbols. Received: unknown='<unk>'"),
        (
            lambda: Alphabet(["on", "off"]).encode("on off"),
            "list of tokens.*the string 'on off'. Split it, ",
        ),
        (lambda: Alphabet(["on", "off"]).encode(["on", "of"]), "Received: 'of' at position 2. Leave it out"),
        (lambda: Alphabet("abc").encode(["ab", "c"]), r"a list with 'ab'. Encode one at a time, \[alphabet.encode"),
        (lambda: Alphabet("abc").encode([0, 1]), "a string or a list of symbols. Received: list. Decode bytes"),
        (lambda: Alphabet("abca"), "`symbols` must be distinct. Received: 'a' 2 times. Use Alphabet.from_text"),
        (lambda: Alphabet("abc", "d"), "one of the symbols. Received: unknown='d'"),
        (lambda: Alphabet("abc", "ab"), "one of the symbols. Received: unknown='ab'"),
        (
            lambda: Alphabet.from_text("abc", min_count=2),
            "at least min_count=2 times. Received: a text of 3 characters",
        ),
        (lambda: Alphabet.from_text(""), "Received: a text of 0 characters"),
        (lambda: Alphabet.from_text("abc", max_size=0), "`max_size` must be a positive integer. Received: max_size=0"),
        (
            lambda: Alphabet.from_text("abc", max_size=1, unknown="?"),
            "`max_size` must be an integer of at least 2. Received: max_size=1. One of the symbols is `unknown`",
        ),
        (
            lambda: Alphabet("abc").encode(b"abc"),
            "or a list of symbols. Received: bytes. Decode bytes first",
        ),
        (lambda: Alphabet("abc").decode([0, 3]), r"`ids` must lie in \[0, 3\). Received: ids from 0 to 3"),
        (lambda: Alphabet("abc").decode([-1]), r"`ids` must lie in \[0, 3\). Received: ids from -1 to -1"),
        (lambda: Alphabet("abc").decode([0.5]), "integers.*Received: float64 of shape"),
        (lambda: Alphabet("abc").decode([[1]]), r"integers.*Received: int64 of shape \(1, 1\)"),
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


@pytest.mark.parametrize(
    "alphabet", [Alphabet.from_text(BOOK), Alphabet("a\ud800?", "?"), Alphabet(["log in", "\n", "?"], "?")]
)
def test_an_alphabet_is_saved_and_loaded(alphabet, tmp_path):
    alphabet.save(tmp_path / "alphabet.json")
    loaded = Alphabet.load(tmp_path / "alphabet.json")
    assert (loaded, loaded.unknown) == (alphabet, alphabet.unknown)


def test_a_file_that_is_not_written_to_its_end_leaves_the_one_before(tmp_path, monkeypatch):
    path = tmp_path / "alphabet.json"
    Alphabet("abc").save(path)

    def half(partial, content, **how):
        partial.write_bytes(content[: len(content) // 2].encode())
        raise OSError("the disk is full")

    monkeypatch.setattr(type(path), "write_text", half)
    for saved in (Alphabet("xyz"), words.Vocabulary((*words.SPECIAL, "x"))):
        with pytest.raises(OSError, match="the disk is full"):
            saved.save(path)
    assert Alphabet.load(path).symbols == "abc"


@pytest.mark.parametrize(
    "content", ["", "[]", '{"symbols": "abc"}', '{"symbols": "aa", "unknown": null}', "[" * 100_000]
)
def test_load_refuses_a_file_without_an_alphabet(content, tmp_path):
    (tmp_path / "other").write_text(content)
    with pytest.raises(ValueError, match=r"JSON with `symbols` and `unknown`. Received: .*other \("):
        Alphabet.load(tmp_path / "other")
    with pytest.raises(DataError, match="`path` must be a file. Received: .*nowhere, which does not exist"):
        Alphabet.load(tmp_path / "nowhere")


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
alphabet = datasets.text.Alphabet.of(keras.models.load_model(sys.argv[1]))
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
    with pytest.raises(ValueError, match="`alphabet` must be an Alphabet or a Vocabulary. Received: "):
        type(Alphabet("abc").layer()).from_config(config)

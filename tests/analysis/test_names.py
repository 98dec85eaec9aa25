"""Texts as users pass them, and names where they read: of every function, for a model that carries its alphabet."""

import itertools

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, layers
from keras_interp_rnn._results import as_html
from keras_interp_rnn.datasets.text import Alphabet
from keras_interp_rnn.datasets.words import SPECIAL, Vocabulary

LETTERS, EVENTS = Alphabet("-^ACGT"), Alphabet(["<pad>", "<s>", "login", "fail", "logout", "A"])
TEXTS = {"letters": (LETTERS, "^ACGTA"), "events": (EVENTS, ["<s>", "login", "fail", "fail", "logout", "A"])}


def network(alphabet, kind):
    keras.utils.set_random_seed(0)
    size = len(alphabet)
    body = {
        "ISAN": lambda: [layers.ISAN(3, size, return_sequences=True), keras.layers.Dense(size)],
        "LSTM": lambda: [keras.layers.Embedding(size, 3), keras.layers.LSTM(4), keras.layers.Dense(1)],
        "SRGRU": lambda: [
            *(keras.layers.Embedding(size, 3, mask_zero=True), layers.SRGRU(4, 2), keras.layers.Dense(1)),
        ],
    }[kind]()
    return keras.Sequential([keras.Input((None,), dtype="int32"), alphabet.layer(), *body])


def recent(model, text):
    return list(analysis.recent_contributions(model, text, window=2))[-1]


# Function -> the network that it reads, the function of a model and a text, and whether it takes a batch.
FUNCTIONS = {
    "contributions": ("ISAN", analysis.contributions),
    "recent_contributions": ("ISAN", recent),
    "shapley_values": ("ISAN", analysis.shapley_values),
    "timescales": ("ISAN", lambda model, text: analysis.timescales(model, text, max_age=2)),
    "attribution of an ISAN": ("ISAN", lambda model, text: analysis.attribution(model, text, target=0)),
    "generate": ("ISAN", lambda model, text: analysis.generate(model, text, num_symbols=3)),
    "substitutions": ("LSTM", analysis.substitutions),
    "attribution": ("LSTM", lambda model, text: analysis.attribution(model, text, target=0)),
    "trace": ("LSTM", analysis.trace),
    "explain": ("SRGRU", analysis.explain),
    "prototypes": ("SRGRU", analysis.prototypes),
    "phrases": ("SRGRU", lambda model, text: analysis.phrases(model, text, length=2)),
}
BATCHES = ("attribution of an ISAN", "attribution", "trace", "prototypes", "phrases")
NAMELESS = ("recent_contributions", "timescales", "generate")


def arrays(result):
    """The numbers of a result, to compare two of them."""
    if isinstance(result, dict) or hasattr(result, "items"):
        return list(result.values())
    return [value for value in vars(result).values() if isinstance(value, np.ndarray)]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_is_read_by_the_alphabet_of_the_model(name, kind):
    alphabet, text = TEXTS[kind]
    model_kind, function = FUNCTIONS[name]
    model, ids = network(alphabet, model_kind), alphabet.encode(text)
    by_text, by_ids = function(model, text), function(model, ids[None] if name in BATCHES else ids)
    if name == "generate":
        assert list(by_text[: len(text)]) == list(text)
        assert alphabet.encode(by_text).tolist() == by_ids.tolist()
        return
    for one, other in zip(arrays(by_text), arrays(by_ids), strict=True):
        np.testing.assert_array_equal(one, other)
    for found in (by_text, by_ids) if name not in NAMELESS else ():
        shown = found.tokens if name == "trace" else str(found) + as_html(found)
        assert all(symbol in str(shown) for symbol in text)
        assert "loginfail" not in str(shown)
    if name in BATCHES:
        both = function(model, [text, text])
        assert len(both.tokens if hasattr(both, "tokens") else both) >= 1


def test_texts_that_are_read_together_have_one_length():
    with pytest.raises(ValueError, match="have one length. Received: lengths from 2 to 3. Pass one at a time; or ids"):
        analysis.attribution(network(LETTERS, "LSTM"), ["AC", "ACG"], target=0)
    with pytest.raises(ValueError, match="A string is read by an alphabet. Received: 'ACG', and none"):
        analysis.trace(network(LETTERS, "LSTM").layers[-2], "ACG")


@pytest.mark.parametrize("kind", TEXTS)
def test_an_automaton_is_extracted_by_the_alphabet_of_the_model(kind):
    alphabet, text = TEXTS[kind]
    extraction = automata.extract(network(alphabet, "SRGRU"), start=1)
    assert extraction.dfa.alphabet == tuple(alphabet)[2:]
    assert extraction.network.encoding.ids([text[1:]]).tolist() == [alphabet.encode(text).tolist()]


def test_an_alphabet_without_padding_is_told_what_is_missing():
    model = keras.Sequential([*network(LETTERS, "SRGRU").layers[:1], keras.layers.Embedding(6, 3), layers.SRGRU(3, 2)])
    with pytest.raises(ValueError, match="Give its Embedding mask_zero=True, and its symbols the ids from 1"):
        automata.extract(keras.Sequential([*model.layers, keras.layers.Dense(1)]), start=1)


@pytest.fixture(scope="module")
def recognizer():
    keras.utils.set_random_seed(0)
    words = automata.SymbolEmbedding("AC", 4)
    return automata.Recognizer([keras.Input((None,), dtype="int32"), words, layers.SRGRU(4, 2), keras.layers.Dense(1)])


def test_a_recognizer_reads_words_by_its_own_encoding(recognizer):
    assert analysis.explain(recognizer, "CAC").tokens == ("<s>", "C", "A", "C")
    assert analysis.trace(recognizer, ["CA", "A"]).tokens == (("<s>", "C", "A"), ("<s>", "A", "<pad>"))
    split = analysis.attribution(recognizer, ["CA", "A"], target=0)
    assert split.tokens[1] == ("<s>", "A", "<pad>")
    assert split.shares[1, 2] == 0
    changed = analysis.substitutions(recognizer, "CAC")
    assert [changed.name(symbol) for symbol in changed.alternatives] == ["A", "C"]
    np.testing.assert_array_equal(changed.changes()[0], 0)  # of the start token, which is not replaced
    np.testing.assert_array_equal(analysis.substitutions(recognizer, "CAC", alternatives="A").alternatives, [2])


@pytest.mark.parametrize("given", [["login", "fail"], np.array(["login", "fail"]), np.array(["login", "fail"], object)])
def test_names_of_a_vocabulary_are_an_alphabet(given):
    vocabulary = Vocabulary((*SPECIAL, "login", "fail"))
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 6), keras.layers.Dense(6)])
    split = analysis.contributions(model, given, alphabet=vocabulary.names)
    assert split.symbols.tolist() == [4, 5]
    assert str(split).startswith("after 'login fail': ")
    assert split.by_word().names == ("h_0", "login fail")
    with pytest.raises(ValueError, match="Received: 'l'. Pass a list of them, as some have several letters"):
        analysis.contributions(model, "login", alphabet=vocabulary.names)


def test_ids_are_separated_and_positions_printed():
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 12), keras.layers.Dense(12)])
    printed = str(analysis.contributions(model, [1, 11, 2])).splitlines()
    assert printed[0].startswith("after '1 11 2': ")
    assert [line.split()[:2] for line in printed[4:]] == [["1", "1"], ["2", "11"], ["3", "2"]]


def test_letters_are_not_separated():
    text = "".join(itertools.islice(itertools.cycle("ACGT"), 12))
    assert f"after {text!r}: " in str(analysis.contributions(network(LETTERS, "ISAN"), text))
    assert f"after {text!r}: " in str(analysis.substitutions(network(LETTERS, "LSTM"), text))

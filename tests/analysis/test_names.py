"""Texts as users pass them, and names where they read: of every function, for a model that carries its alphabet."""

import html

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, layers
from keras_interp_rnn._results import as_html
from keras_interp_rnn.datasets import Alphabet
from keras_interp_rnn.datasets.words import tokenize

LETTERS, EVENTS = Alphabet("-^ACGT"), Alphabet(["<pad>", "<s>", "login", "fail", "logout", "A"])
NAMES = ("<pad>", "<unk>", "<s>", "</s>", "good", "bad", "film")
WORDS = Alphabet.from_config(
    {"symbols": NAMES, **dict(zip(("padding", "unknown", "start", "end"), NAMES[:4], strict=True)), "split": tokenize}
)
TEXTS = {
    "letters": "^ACGTA",
    "events": ["<s>", "login", "fail", "fail", "logout", "A"],
    "words": "Good film, bad film",
    "tokens": ["good", "film", "unheard"],
    "vectorization": "Good film good bad",
    "lookup": ["login", "fail", "unheard", "fail"],
}
"""Source of the names -> a text."""

on_tensorflow = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="Keras splits texts by TensorFlow")


def front(kind):
    """An input, the layer that carries the names, and their number."""
    ids = keras.Input((None,), dtype="int32")
    if kind in ("letters", "events"):
        alphabet = {"letters": LETTERS, "events": EVENTS}[kind]
        return ids, alphabet.layer(), len(alphabet)
    if kind in ("words", "tokens"):
        return ids, WORDS.layer(), len(WORDS)
    if kind == "vectorization":
        layer = keras.layers.TextVectorization(vocabulary=["good", "bad", "film"])
        return keras.Input((), dtype="string"), layer, layer.vocabulary_size()
    layer = keras.layers.StringLookup(vocabulary=["login", "fail"], mask_token="")
    return keras.Input((None,), dtype="string"), layer, layer.vocabulary_size()


def network(names, kind):
    keras.utils.set_random_seed(0)
    given, layer, size = front(names)
    body = {
        "ISAN": lambda: [layers.ISAN(3, size, return_sequences=True), keras.layers.Dense(size)],
        "LSTM": lambda: [keras.layers.Embedding(size, 3), keras.layers.LSTM(4), keras.layers.Dense(1)],
        "SRGRU": lambda: [
            *(keras.layers.Embedding(size, 3, mask_zero=True), layers.SRGRU(4, 2), keras.layers.Dense(1)),
        ],
    }[kind]()
    return keras.Sequential([given, layer, *body])


def ids_of(kind, text):
    """The ids of a text, by what carries the names."""
    _, layer, _ = front(kind)
    if kind in ("letters", "events"):
        return layer.alphabet.encode(text)
    if kind in ("words", "tokens"):
        return WORDS.encode(text)
    texts = [text] if kind == "vectorization" else text
    return keras.ops.convert_to_numpy(layer(keras.ops.convert_to_tensor(texts))).reshape(-1)


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


@pytest.mark.core
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", [*TEXTS][:4] + [pytest.param(kind, marks=on_tensorflow) for kind in [*TEXTS][4:]])
def test_a_text_is_read_by_the_names_that_the_model_carries(name, kind):
    model_kind, function = FUNCTIONS[name]
    model, text, ids = network(kind, model_kind), TEXTS[kind], ids_of(kind, TEXTS[kind])
    # In a batch, a list of words would be several texts.
    by_text = function(model, [text] if kind == "tokens" and name in BATCHES else text)
    if name == "generate":
        begin = ids[:-1] if kind in ("words", "tokens") else ids  # a text that goes on has no end
        by_ids = function(model, begin)
        assert list(by_text)[: len(begin)] == names_of_ids(kind, begin)
        assert list(by_text) == names_of_ids(kind, by_ids)
        return
    by_ids = function(model, ids[None] if name in BATCHES else ids)
    for one, other in zip(arrays(by_text), arrays(by_ids), strict=True):
        np.testing.assert_array_equal(one, other)
    for found in (by_text, by_ids) if name not in NAMELESS else ():
        shown = found.tokens if name == "trace" else str(found) + as_html(found)
        shown = html.unescape(str(shown))
        read = names_of_ids(kind, ids)
        if found is by_text and name.startswith("attribution"):  # words outside the vocabulary keep their names
            read = [symbol for symbol in read if symbol not in ("<unk>", "[UNK]")]
        assert all(symbol in shown for symbol in read)
        assert "loginfail" not in shown
    if name in BATCHES:
        both = function(model, [text, text])
        assert len(both.tokens if hasattr(both, "tokens") else both) >= 1


def names_of_ids(kind, ids):
    layer = front(kind)[1]
    names = {
        "letters": lambda: LETTERS,
        "events": lambda: EVENTS,
        **dict.fromkeys(("words", "tokens"), lambda: WORDS.symbols),
        **dict.fromkeys(("vectorization", "lookup"), lambda: ["<pad>", *layer.get_vocabulary()[1:]]),
    }[kind]()
    return [names[i] for i in ids]


@pytest.mark.parametrize("names", [WORDS, NAMES, dict(enumerate(NAMES)), {name: i for i, name in enumerate(NAMES)}])
def test_names_are_an_alphabet_a_sequence_or_a_mapping(names):
    model = keras.Sequential(network("words", "LSTM").layers[1:])
    shares = analysis.attribution(model, [[2, 4, 6, 3]], target=0, alphabet=names)
    assert shares.tokens == (("<s>", "good", "film", "</s>"),)
    framed = names is WORDS  # which writes the tokens around a text by itself
    text = ["good", "film"] if framed else ["<s>", "good", "film", "</s>"]
    again = analysis.attribution(model, [text], target=0, alphabet=names)
    np.testing.assert_array_equal(again.shares, shares.shares)


def test_texts_of_words_are_padded_as_their_alphabet_pads_them():
    model = network("words", "SRGRU")
    both = analysis.attribution(model, ["Good film", "bad"], target=0)
    assert both.tokens[1] == ("<s>", "bad", "</s>", "<pad>")
    [alone] = analysis.attribution(model, ["bad"], target=0).shares
    np.testing.assert_allclose(both.shares[1], [*alone, 0], atol=1e-7)


@on_tensorflow
@pytest.mark.parametrize("kind", ["Sequential", "functional"])
def test_a_model_of_strings_is_read_after_its_text_layer(kind):
    keras.utils.set_random_seed(0)
    given, layer, size = front("vectorization")
    parts = [keras.layers.Embedding(size, 3), keras.layers.LSTM(3, return_sequences=True), layers.MinGRU(4)]
    model = keras.Sequential([given, layer, *parts, keras.layers.Dense(1)])
    if kind == "functional":
        model = keras.Model(given, model.outputs)
    text = "good film good"
    [output] = keras.ops.convert_to_numpy(model(keras.ops.convert_to_tensor([text])))
    split = analysis.contributions(model, text)
    np.testing.assert_allclose(split.logits[-1], output, rtol=1e-5)
    assert split.given == parts[-1].name
    shares = analysis.attribution(model, text, target=0, method="telescoping")
    np.testing.assert_allclose(shares.output, output, rtol=1e-5)
    assert shares.tokens == (("good", "film", "good"),)


@on_tensorflow
def test_refuses_a_text_layer_that_makes_no_ids():
    layer = keras.layers.TextVectorization(vocabulary=["good"], output_mode="multi_hot")
    with pytest.raises(ValueError, match="A text layer must make ids of texts. Received: .* output_mode='multi_hot'"):
        analysis.trace(keras.Sequential(network("words", "LSTM").layers[1:]), "good", tokens=layer)


def test_refuses_several_texts_as_one_and_texts_of_different_lengths():
    with pytest.raises(ValueError, match="must be one text. Received: 2 lists of symbols. Pass one of them."):
        analysis.contributions(network("events", "ISAN"), [["login"], ["fail"]])
    with pytest.raises(ValueError, match="have one length. Received: lengths from 2 to 3. Pass one text at a time"):
        analysis.attribution(network("letters", "LSTM"), ["AC", "ACG"], target=0)
    with pytest.raises(ValueError, match="A text must come with an alphabet. Received: 'ACG', without one"):
        analysis.trace(network("letters", "LSTM").layers[-2], "ACG")


@pytest.mark.parametrize(
    "alphabet",
    [
        Alphabet("-^ACGT", padding="-", start="^"),
        Alphabet(["<pad>", "<s>", "login", "fail", "logout", "A"], padding="<pad>", start="<s>"),
        Alphabet(["<pad>", "<unk>", "a", "b", "^", "$"], padding="<pad>", unknown="<unk>", start="^", end="$"),
    ],
)
def test_an_automaton_is_extracted_by_the_alphabet_of_the_model(alphabet):
    keras.utils.set_random_seed(0)
    body = keras.layers.Embedding(len(alphabet), 3, mask_zero=True), layers.SRGRU(4, 2), keras.layers.Dense(1)
    extraction = automata.extract(keras.Sequential([keras.Input((None,), dtype="int32"), alphabet.layer(), *body]))
    assert extraction.dfa.alphabet == alphabet.ordinary
    assert extraction.network.symbols == alphabet


def test_refuses_an_alphabet_without_padding():
    def extract(alphabet, **options):
        body = keras.layers.Embedding(6, 3, **options), layers.SRGRU(3, 2), keras.layers.Dense(1)
        model = keras.Sequential([keras.Input((None,), dtype="int32"), alphabet.layer(), *body])
        return automata.extract(model)

    with pytest.raises(ValueError, match="Give its Embedding mask_zero=True, and its symbols the ids from 1"):
        extract(Alphabet("-^ACGT", padding="-", start="^"))
    with pytest.raises(ValueError, match="The id 0 must be padding, .* the symbol '-' there. Pass Alphabet"):
        extract(LETTERS, mask_zero=True)


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
def test_a_list_of_names_is_an_alphabet(given):
    names = (*NAMES[:4], "login", "fail")
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 6), keras.layers.Dense(6)])
    split = analysis.contributions(model, given, alphabet=names)
    assert split.symbols.tolist() == [4, 5]
    assert str(split).startswith("after 'login fail': ")
    assert split.by_word().names == ("h_0", "login fail")
    with pytest.raises(ValueError, match="a list of symbols .* several letters. Received: the string 'login'"):
        analysis.contributions(model, "login", alphabet=names)


def of_two_inputs(names=("red", "uno")):
    """A model of two texts, each with an alphabet of its own, and their alphabets."""
    alphabets = [Alphabet(["<pad>", name, "b", "c"], padding="<pad>") for name in names]
    inputs = [keras.Input((None,), dtype="int32") for _ in names]
    read = [
        keras.layers.GRU(3)(keras.layers.Embedding(4, 3)(alphabet.layer()(given)))
        for alphabet, given in zip(alphabets, inputs, strict=True)
    ]
    return keras.Model(inputs, keras.layers.Dense(2)(keras.layers.Concatenate()(read)))


def test_each_input_has_its_own_alphabet():
    model, x = of_two_inputs(), np.array([[1, 2, 3]])
    for index, name in enumerate(("red", "uno")):
        for read in (x, [[name, "b", "c"]]):
            given = [x, x]
            given[index] = read
            found = analysis.attribution(model, given, target=0, with_respect_to=index)
            assert found.tokens == ((name, "b", "c"),)
            assert analysis.interactions(model, given, target=0, with_respect_to=index).tokens == found.tokens[0]


def test_numbers_are_ids_in_every_function_also_where_symbols_are_numbers():
    model = keras.Sequential(
        [keras.Input((None,), dtype="int32"), Alphabet({1: 0, 0: 1}).layer(), layers.ISAN(3, 2), keras.layers.Dense(2)]
    )
    split = analysis.attribution(model, [[1, 1, 0]], target=0)
    assert split.tokens == (("0", "0", "1"),)
    pairs = analysis.interactions(model, [1, 1, 0], target=0)
    assert pairs.tokens == split.tokens[0]
    np.testing.assert_allclose(pairs.output, split.output, rtol=1e-6)
    np.testing.assert_allclose(analysis.shapley_values(model, [1, 1, 0]).logits[0, 0], pairs.output, rtol=1e-6)


def test_a_network_equals_itself_whatever_its_symbols_are_called():
    alphabet = Alphabet({"1": 3, "2": 1})
    model = keras.Sequential(
        [keras.Input((None,), dtype="int32"), alphabet.layer(), layers.ISAN(3, 4), keras.layers.Dense(1)]
    )
    assert analysis.equivalent(model, model)
    assert len(automata.WeightedAutomaton.from_network(model).alphabet) == 4


def test_a_prompt_keeps_tokens_that_are_start_and_end_and_those_inside():
    alphabet = Alphabet(".ab", start=".", end=".")
    model = keras.Sequential(
        [keras.Input((None,), dtype="int32"), alphabet.layer(), layers.ISAN(3, 3, return_sequences=True)]
    )
    model.add(keras.layers.Dense(3))
    greedy = {"num_symbols": 3, "inverse_temperature": np.inf}
    assert analysis.generate(model, "ab", **greedy) == "".join(
        alphabet[i] for i in analysis.generate(model, alphabet.encode("ab", end=False), **greedy)
    )
    lines = keras.Sequential(
        [keras.Input((None,), dtype="int32"), layers.ISAN(3, 3, return_sequences=True), keras.layers.Dense(3)]
    )
    assert analysis.generate(lines, "a\nb", num_symbols=0, alphabet=Alphabet("\nab", end="\n")) == "a\nb"


def test_names_of_several_ids_are_followed_by_the_id():
    model = keras.Sequential(network("letters", "LSTM").layers[1:])
    for names in ({1: "x", 0: "x"}, ["x", "x"]):
        assert analysis.trace(model, [[0, 1]], tokens=names).tokens == (("x (0)", "x (1)"),)
    assert analysis.trace(model, [[0, 1, 2]], tokens=["a", "a", "a (0)"]).tokens == (("a (0)'", "a (1)", "a (0)"),)


def test_a_list_names_ids_but_the_symbols_of_an_alphabet_with_tokens_are_these():
    carried = Alphabet({"a": 1, "b": 0})
    model = keras.Sequential([keras.Input((None,), dtype="int32"), carried.layer(), keras.layers.Embedding(2, 3)])
    model.add(keras.layers.GRU(2))
    for names in (["a", "b"], np.array(["a", "b"])):
        assert analysis.trace(model, [[0, 1]], tokens=names).tokens == (("a", "b"),)
    embedding = automata.SymbolEmbedding("01", 3)
    recognizer = keras.Sequential([keras.Input((None,), dtype="int32"), embedding, keras.layers.GRU(2)])
    for names in (["0", "1"], np.array(["0", "1"]), "01"):
        assert analysis.trace(recognizer, "10", tokens=names).tokens == (("<s>", "1", "0"),)


@on_tensorflow
def test_text_layers_of_other_kinds_read_lists_of_words():
    import tensorflow as tf

    layer = keras.layers.TextVectorization(
        split=lambda text: tf.strings.split(text, ","), standardize=None, vocabulary=["a", "b", "c"]
    )
    model = keras.Sequential(network("words", "LSTM").layers[1:])
    assert analysis.trace(model, "a,b,c", tokens=layer).tokens == (("a", "b", "c"),)
    with pytest.raises(ValueError, match="Received: a list of 3 strings, of which some have several words"):
        analysis.trace(model, [["a", "b", "c"]], tokens=layer)
    characters = keras.layers.TextVectorization(split="character", vocabulary=["a", "b"])
    assert analysis.trace(model, [["a", "b"]], tokens=characters).tokens == (("a", "b"),)
    whole = keras.layers.TextVectorization(split=None, standardize=None, vocabulary=["new york"])
    assert analysis.trace(model, "new york", tokens=whole).tokens == (("new york",),)
    buckets = keras.layers.StringLookup(vocabulary=["login"], num_oov_indices=3)
    read = keras.ops.convert_to_numpy(buckets(np.array(["q", "r", "login"], object)))
    found = analysis.substitutions(model, ["login", "q"], alternatives=["q", "r"], alphabet=buckets)
    assert found.alternatives.tolist() == read[:2].tolist()
    with pytest.raises(ValueError, match="must make ids of texts. Received: .* with invert=True"):
        analysis.trace(model, ["login"], tokens=keras.layers.StringLookup(vocabulary=["login"], invert=True))


def test_sessions_are_several():
    with pytest.raises(ValueError, match="must be several sessions. Received: 'abb'"):
        analysis.surprise(network("letters", "ISAN"), "abb")


def test_words_of_an_automaton_are_over_its_symbols_alone():
    alphabet = Alphabet(["<pad>", "^", "?", "a", "b"], padding="<pad>", start="^", unknown="?")
    body = keras.layers.Embedding(5, 3, mask_zero=True), layers.SRGRU(4, 2), keras.layers.Dense(1)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), alphabet.layer(), *body])
    for word in ("az", "a^b", ["a", ["b"]]):
        with pytest.raises(ValueError, match=r"over the alphabet \('a', 'b'\)\. Received: the symbol"):
            automata.extract(model, [word], method="counts")
    with pytest.raises(ValueError, match="over symbols with an id each. Received: special symbols alone"):
        automata.extract(model, alphabet=Alphabet("-^", padding="-", start="^"))


@on_tensorflow
def test_automata_need_a_model_of_ids_and_no_text_layer():
    strings = network("vectorization", "SRGRU")
    with pytest.raises(ValueError, match="A model of words must read ids. Received: .*, which reads strings"):
        automata.extract(strings)
    with pytest.raises(ValueError, match="over symbols with an id each. Received: a text layer, which may change them"):
        automata.extract(keras.Sequential(network("words", "SRGRU").layers[1:]), alphabet=strings.layers[0])


def test_ids_are_separated_and_letters_are_not():
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 12), keras.layers.Dense(12)])
    printed = str(analysis.contributions(model, [1, 11, 2])).splitlines()
    assert printed[0].startswith("after '1 11 2': ")
    assert [line.split()[:2] for line in printed[4:]] == [["1", "1"], ["2", "11"], ["3", "2"]]
    assert "after 'ACGTAC': " in str(analysis.contributions(network("letters", "ISAN"), "ACGTAC"))
    assert "after 'ACGTAC': " in str(analysis.substitutions(network("letters", "LSTM"), "ACGTAC"))

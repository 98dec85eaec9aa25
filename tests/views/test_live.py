"""Pages that read typed text: their arithmetic in Node is that of NumPy."""

import html
import json
import re
import shutil
import subprocess

import keras
import numpy as np
import pytest
import scipy.stats

from keras_interp_rnn import analysis, automata, datasets, layers, presets, views
from keras_interp_rnn._results import as_page
from keras_interp_rnn.views import live
from tensorboard_plugins.interp_rnn import document
from tests.automata.networks import network_of

NODE = shutil.which("node")
with_node = pytest.mark.skipif(NODE is None, reason="needs node")

LETTERS = "abcde"
VECTORS = {
    "MinGRU": lambda: layers.MinGRU(4, return_sequences=True),
    "LRU": lambda: layers.LRU(3, 4, return_sequences=True),
    "gated linear attention": lambda: layers.GatedLinearAttention(4, 2, 3, 2, normalize=False, return_sequences=True),
    "DeltaNet": lambda: layers.DeltaNet(4, 1, 3, 2, normalize=False, return_sequences=True),
}
SWITCHED = {
    "ISAN": lambda: layers.ISAN(6, len(LETTERS), return_sequences=True),
    "factored": lambda: layers.FactoredISAN(6, 3, len(LETTERS), return_sequences=True),
    "factored alone": lambda: layers.FactoredISAN(5, 4, len(LETTERS), shared=False, return_sequences=True),
}


def model_of(name, outputs=5, alphabet=LETTERS):
    keras.utils.set_random_seed(3)
    read = [SWITCHED[name]()] if name in SWITCHED else [keras.layers.Embedding(len(LETTERS), 4), VECTORS[name]()]
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            *([] if alphabet is None else [datasets.Alphabet(alphabet).layer()]),
            *read,
            keras.layers.Dense(outputs),
        ]
    )
    rng = np.random.default_rng(1)
    for weight in model.weights:  # nothing is zero
        weight.assign(np.asarray(weight) + 0.1 * rng.normal(size=weight.shape))
    return model


def series_of(network):
    """The data of the page of a network."""
    [tags] = live.live_view(network).data["runs"].values()
    return tags[live.KIND]["series"]


NUMBERS = """
const numbers = async (series, ids, changed, symbol) => {
  const arrays = {};
  for (const [name, array] of Object.entries(series.weights)) arrays[name] = await packed.unpacked(array);
  const read = live.network(arrays);
  read(ids.slice(0, Math.floor(ids.length / 2)).concat(symbol));  // a text before, which begins alike
  const text = read(ids), other = read(ids);
  const outputs = [...text.logits.keys()];
  outputs.slice(1).forEach(text.carry);  // the first one is not: it has the terms from the state's side
  other.carryAll();
  const all = (one) => ({
    logits: [...one.logits], terms: ids.map((_, i) => outputs.map((o) => one.term(i, o))),
    ...(ids.length ? {
      deleted: [...one.deleted(changed)], replaced: [...one.replaced(changed, symbol)],
      without: outputs.map((o) => one.without(changed, o)),
    } : {}),
  });
  return {one: all(text), all: all(other), start: outputs.map((o) => (other.start(o))), bias: [...text.bias]};
};
"""


def in_node(series, *texts):
    """The numbers of the page's code for texts (ids, a position, a symbol that is read there)."""
    modules = f"{document.module('packed')}\n{document.module('live')}\n{NUMBERS}"
    code = f"{modules}\nconst task = JSON.parse(require('fs').readFileSync(0));\n" + (
        "Promise.all(task.texts.map((text) => numbers(task.series, ...text)))"
        ".then((found) => process.stdout.write(JSON.stringify(found)));"
    )
    return run_in_node(code, json.dumps({"series": series, "texts": texts}))


def run_in_node(code, task=""):
    done = subprocess.run([NODE, "-e", code], input=task, capture_output=True, text=True, encoding="utf-8", check=True)
    return json.loads(done.stdout)


def logits_of(network, ids):
    if len(ids):
        return analysis.contributions(network, np.asarray(ids), targets=-1).logits[-1]
    arrays, _ = live.switch_arrays(network)
    return arrays["initial"] @ arrays["readout"] + arrays["offset"]


def assert_numpys(network, found, ids, changed, symbol, tolerance):
    """The page computes the numbers of NumPy."""
    close = {"rtol": tolerance, "atol": tolerance}
    for way in (found["one"], found["all"]):
        np.testing.assert_allclose(way["logits"], logits_of(network, ids), **close)
        if not len(ids):
            continue
        split = analysis.contributions(network, np.asarray(ids), targets=-1)
        np.testing.assert_allclose(way["terms"], split.values[1:, 0], **close)
        np.testing.assert_allclose(found["start"], split.values[0, 0], **close)
        np.testing.assert_allclose(found["bias"], split.bias, **close)
        without = logits_of(network, [*ids[:changed], *ids[changed + 1 :]])
        np.testing.assert_allclose(way["deleted"], without, **close)
        np.testing.assert_allclose(way["without"], without, **close)
        replaced = logits_of(network, [*ids[:changed], symbol, *ids[changed + 1 :]])
        np.testing.assert_allclose(way["replaced"], replaced, **close)


@with_node
@pytest.mark.parametrize("name", [*SWITCHED, *VECTORS])
def test_the_pages_numbers_are_numpys(name):
    network = model_of(name)
    rng = np.random.default_rng(0)
    texts = [(rng.integers(0, 5, length).tolist(), length // 3, 2) for length in (0, 1, 2, 37)]
    found = in_node(series_of(network), *texts)
    for each, text in zip(found, texts, strict=True):
        assert_numpys(network, each, *text, 1e-10)


EACH = {"return_sequences": True}


def a_model(*parts, mask_zero=False, head=None, alphabet=True):
    """A model of letters with random weights in float64."""
    names = datasets.Alphabet(["<pad>", *LETTERS], padding="<pad>") if mask_zero else datasets.Alphabet(LETTERS)
    with_names, symbols = [names.layer()] if alphabet else [], len(names)
    embedding = keras.layers.Embedding(symbols, 3, mask_zero=mask_zero)
    end = keras.layers.Dense(3, "softmax") if head is None else head
    return keras.Sequential([keras.Input((None,), dtype="int32"), *with_names, embedding, *parts, end])


def one_hot():
    ids = keras.Input((None,), dtype="int32")
    states = keras.layers.LSTM(3)(keras.ops.one_hot(ids, len(LETTERS)))
    return keras.Model(ids, keras.layers.Dense(2)(states))


def two_tables():
    ids = keras.Input((None,), dtype="int32")
    vectors = [keras.layers.Embedding(len(LETTERS) + more, 3)(ids) for more in (0, 2)]
    return keras.Model(ids, keras.layers.Dense(2)(keras.layers.LSTM(3)(keras.layers.Concatenate()(vectors))))


def side_by_side():
    ids = keras.Input((None,), dtype="int32")
    vectors = keras.layers.Embedding(len(LETTERS), 4)(ids)
    states = [layer(vectors) for layer in (keras.layers.LSTM(3, **EACH), keras.layers.GRU(3, **EACH))]
    last = keras.layers.GRU(2)(keras.layers.Concatenate()(states))
    first = keras.layers.GRU(2, go_backwards=True)(vectors)
    return keras.Model(ids, keras.layers.Dense(2)(keras.layers.Concatenate()([last, first])))


def the_last_step():
    ids = keras.Input((None,), dtype="int32")
    states = keras.layers.GRU(3, return_sequences=True)(keras.layers.Embedding(len(LETTERS), 4)(ids))
    return keras.Model(ids, keras.layers.Dense(2, "sigmoid")(1 - keras.layers.Dense(3, "relu")(states)[:, -1]))


MEAN = keras.layers.GlobalAveragePooling1D
OF_INSTRUCTIONS = {
    "LSTM": lambda: a_model(keras.layers.LSTM(4)),
    "GRU, masked": lambda: a_model(keras.layers.GRU(4), mask_zero=True),
    "GRU, reset before": lambda: a_model(keras.layers.GRU(4, reset_after=False, activation="relu")),
    "SimpleRNN": lambda: a_model(keras.layers.SimpleRNN(4), head=keras.layers.Dense(1)),
    "two LSTMs": lambda: a_model(keras.layers.LSTM(4, **EACH), keras.layers.LayerNormalization(), keras.layers.LSTM(3)),
    "each step": lambda: a_model(keras.layers.LSTM(4, **EACH), head=keras.layers.Dense(len(LETTERS))),
    "PeepholeLSTM": lambda: a_model(layers.PeepholeLSTM(4)),
    "MinimalRNN": lambda: a_model(layers.MinimalRNN(4)),
    "CFN": lambda: a_model(layers.CFN(4)),
    "both directions": lambda: a_model(keras.layers.Bidirectional(keras.layers.LSTM(3))),
    "the mean of both directions": lambda: a_model(
        keras.layers.Bidirectional(keras.layers.GRU(3, **EACH)), MEAN(), mask_zero=True
    ),
    "backwards": lambda: a_model(keras.layers.GRU(3, go_backwards=True)),
    "SRLSTM": lambda: a_model(layers.SRLSTM(4, 3, **EACH), MEAN(), head=keras.layers.Dense(1, "sigmoid")),
    "the last step without centroids": lambda: a_model(layers.SRLSTM(4, 3, regularize_last_step=False, **EACH), MEAN()),
    "SRGRU, hard": lambda: a_model(layers.SRGRU(4, 3, transition="soft_argmax", **EACH), MEAN()),
    "MinGRU above an LSTM": lambda: a_model(keras.layers.LSTM(4, **EACH), layers.MinGRU(3), layers_below()),
    "the mean of an ISAN": lambda: a_model(keras.layers.Dense(3, "tanh"), layers.RGLRU(4, **EACH), MEAN()),
    "one-hot": one_hot,
    "two layers side by side": side_by_side,
    "tables of two sizes": two_tables,
    "MinLSTM of positive states": lambda: a_model(layers.MinLSTM(4, positive=True), keras.layers.Dense(3, "relu")),
    "the last step": the_last_step,
}


def layers_below():
    return keras.layers.BatchNormalization()


def drawn(name, seed=2):
    """A network in float64: the page computes in doubles."""
    keras.config.set_dtype_policy("float64")
    try:
        keras.utils.set_random_seed(seed)
        network = OF_INSTRUCTIONS[name]()
    finally:
        keras.config.set_dtype_policy("float32")
    rng = np.random.default_rng(seed)
    for weight in network.trainable_weights:
        weight.assign(rng.normal(size=weight.shape) * 0.7)
    return network


READ = """
const task = JSON.parse(require('fs').readFileSync(0));
(async () => {
  const arrays = {};
  for (const [number, array] of Object.entries(task.series.weights)) arrays[number] = await packed.unpacked(array);
  const read = machine.reader(task.series.machine, arrays, task.options);
  const found = task.texts.map(([ids, changed, symbol]) => {
    const text = read(ids), outputs = [...text.logits.keys()];
    const {value, error, base, exact} = text.shares;
    const of = (f) => ids.map((_, i) => outputs.map((o) => f(i, o)));
    return {logits: text.logits, shares: of(value), errors: of(error), base: outputs.map(base), exact,
      asRead: [...ids, 0].map((_, t) => outputs.map((o) => text.asRead(t, o))),
      deleted: [...text.deleted(changed)], replaced: [...text.replaced(changed, symbol)]};
  });
  process.stdout.write(JSON.stringify(found));
})();
"""


def read_in_node(network, texts, **options):
    modules = "\n".join(map(document.module, ("packed", "shapley", "machine", "live")))
    code = f"{modules}\n{READ}"
    return run_in_node(code, json.dumps({"series": series_of(network), "texts": texts, "options": options}))


def outputs_of(network, ids):
    """The outputs before their activation, of a text as it is."""
    split = analysis.attribution(network, np.array([ids]), method="telescoping", target="all")
    return split.output[0]


@with_node
@pytest.mark.core(4)
@pytest.mark.parametrize("name", OF_INSTRUCTIONS)
def test_a_page_reads_as_the_network_does(name):
    network, rng = drawn(name), np.random.default_rng(5)
    first = int("masked" in name or "mean of both" in name)
    texts = [(rng.integers(first, len(LETTERS) + first, length).tolist(), length // 2, first + 1) for length in (2, 7)]
    close = {"rtol": 1e-9, "atol": 1e-9}
    for found, (ids, changed, symbol) in zip(read_in_node(network, texts, most=8), texts, strict=True):
        split = analysis.attribution(network, np.array([ids]), method="shapley", target="all")
        assert found["exact"]
        np.testing.assert_allclose(found["logits"], split.output[0], **close)
        np.testing.assert_allclose(found["base"], split.reference_output[0], **close)
        np.testing.assert_allclose(found["shares"], split.shares[0], **close)
        np.testing.assert_allclose(found["asRead"][-1], split.output[0], **close)
        np.testing.assert_allclose(
            found["deleted"], outputs_of(network, [*ids[:changed], *ids[changed + 1 :]]), **close
        )
        changed_to = outputs_of(network, [*ids[:changed], symbol, *ids[changed + 1 :]])
        np.testing.assert_allclose(found["replaced"], changed_to, **close)


@with_node
def test_intervals_of_few_orders_are_those_of_student():
    degrees = [2, 3, 5, 10, 100]
    found = run_in_node(
        f"{document.module('shapley')}\nprocess.stdout.write(JSON.stringify({degrees}.map(shapley.studentT)))"
    )
    np.testing.assert_allclose(found, scipy.stats.t.ppf(0.975, degrees), rtol=0.01)


@with_node
def test_sampled_shares_of_a_page_lie_within_their_intervals():
    network, ids = drawn("LSTM"), np.random.default_rng(1).integers(0, 5, 12).tolist()
    [exact], [estimated] = (
        read_in_node(network, [(ids, 0, 1)], **how) for how in ({"most": 12}, {"most": 4, "pairs": 200})
    )
    assert exact["exact"]
    assert not estimated["exact"]
    shares, errors = np.array(estimated["shares"]), np.array(estimated["errors"])
    total = np.array(estimated["logits"]) - estimated["base"]
    np.testing.assert_allclose(shares.sum(axis=0), total, atol=1e-9)
    inside = np.abs(shares - exact["shares"]) <= errors
    assert 0.85 <= inside.mean() <= 1
    assert errors.max() < 0.2 * np.abs(shares).max()


@with_node
@pytest.mark.parametrize("length", [30, pytest.param(500, marks=pytest.mark.matrix)])
def test_the_numbers_of_a_preset_are_numpys(length):
    network = presets.load("text-isan").model
    ids = np.random.default_rng(length).integers(0, 27, length).tolist()
    [found] = in_node(series_of(network), (ids, length // 2, 5))
    assert_numpys(network, found, ids, length // 2, 5, 1e-9)


def test_weights_travel_in_the_shortest_float_that_is_exact():
    values = np.array([1.5, -0.1, 70_000.0, 3.0])
    kinds = [live._packed(part)["dtype"] for part in (values[:1], values[1:2].astype(np.float32).astype(float), values)]
    assert kinds == ["f2", "f4", "f8"]
    half = series_of(presets.load("text-isan").model)["weights"]
    assert {name: array["dtype"] for name, array in half.items()} == dict.fromkeys(
        ("initial", "kernel", "bias", "readout", "offset"), "f2"
    )
    assert sum(len(array["values"]) for array in half.values()) < 1_200_000
    assert {array["dtype"] for array in series_of(model_of("factored"))["weights"].values()} == {"f4"}


def test_names_are_those_of_the_alphabet():
    alphabet = datasets.Alphabet(" \nab?", unknown="?")
    series = series_of(model_of("ISAN", alphabet=alphabet.symbols))
    assert series["alphabet"] == [" ", "\n", "a", "b", "?"]
    assert [series["shown"].get(i, name) for i, name in enumerate(series["alphabet"])] == series["outputs"]
    assert series["outputs"] == ["␣", "⏎", "a", "b", "?"]
    assert series["unknown"] is None
    nameless = series_of(model_of("ISAN", outputs=2, alphabet=None))
    assert nameless["alphabet"] == ["0", "1", "2", "3", "4"]
    assert not nameless["shown"]
    assert nameless["outputs"] == ["output 1 (index 0)", "output 2 (index 1)"]


@with_node
@pytest.mark.parametrize(
    ("text", "alphabet", "unknown", "expected"),
    [
        ("a bé", [" ", "a", "b"], None, {"ids": [1, 0, 2], "names": ["a", " ", "b"], "strays": [["é", 4]]}),
        ("a b𝄞", [" ", "a", "b"], 1, {"ids": [1, 0, 2, 1], "names": ["a", " ", "b", "𝄞"], "strays": [["𝄞", 4]]}),
        ("  up  down of", ["down", "up"], None, {"ids": [1, 0], "names": ["up", "down"], "strays": [["of", 3]]}),
        ("", ["a"], None, {"ids": [], "names": [], "strays": []}),
    ],
)
def test_a_text_as_ids(text, alphabet, unknown, expected):
    typed = {"typed": [*range(len(alphabet))], "frame": [[], []]}
    assert encoded_in_node(text, {"alphabet": alphabet, "unknown": unknown, **typed}) == expected


def encoded_in_node(text, series):
    asked = f"live.encoded({json.dumps(text)}, {json.dumps(series)})"
    return run_in_node(f"{document.module('live')}\nprocess.stdout.write(JSON.stringify({asked}))")


@with_node
@pytest.mark.parametrize("text", ["good film", "A good, unheard film!", ""])
def test_a_text_of_a_vocabulary_has_its_tokens_around_it(text):
    vocabulary = datasets.Alphabet.from_texts(["a film good"])
    parts = vocabulary.layer(), keras.layers.Embedding(len(vocabulary), 3), layers.MinGRU(4), keras.layers.Dense(1)
    series = series_of(of_ids(*parts))
    names = ("alphabet", "typed", "unknown", "frame", "in_words")
    found = encoded_in_node(text, {name: series[name] for name in names})
    assert found["ids"] == vocabulary.encode(text).tolist()
    assert found["names"] == ["<s>", *datasets.words.tokenize(text), "</s>"]
    assert [name for name, _ in found["strays"]] == [x for x in datasets.words.tokenize(text) if x not in "a film good"]


@with_node
def test_a_text_is_split_into_words_as_in_python():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice([*"aB3'.,! \n-/<>_"], 30)) for _ in range(200)]
    texts += [
        "It isn\u2019t “good”… 3/10",
        "Café<br />naïve d'été",
        "cafe\u0301 rock\u2011n\u2011roll",
        "Été'x 'tis don't's",
    ]
    asked = f"{json.dumps(texts)}.map(live.words)"
    found = run_in_node(f"{document.module('live')}\nprocess.stdout.write(JSON.stringify({asked}))")
    assert found == [datasets.words.tokenize(text) for text in texts]


def test_a_recognizer_is_its_automaton_with_the_verdict():
    view = live.live_view(network_of(automata.tomita(2)), text="10")
    assert view.name == "states"
    assert view.data["state"]["word"] == "10"
    [tag] = view.data["runs"][""].values()
    assert "Proved: on every word" in json.dumps(tag["steps"]["0"])
    page = as_page(presets.load("tomita-4"))
    assert "Proved: on every word" in page
    assert "The automaton of the network's centroids is in this page" in html.unescape(page)


def test_a_page_without_a_proof_claims_none():
    keras.utils.set_random_seed(0)
    words = automata.SymbolEmbedding("01", 4)
    view = live.live_view(of_ids(words, layers.SRGRU(8, 3), keras.layers.Dense(1)))
    assert view.name == "states"
    assert "proved" not in json.dumps(view.data)
    assert "least confidence of a transition" in json.dumps(view.data)


def of_ids(*parts):
    return keras.Sequential([keras.Input((None,), dtype="int32"), *parts])


def attending():
    ids = keras.Input((None,), dtype="int32")
    states = keras.layers.LSTM(3, return_sequences=True)(keras.layers.Embedding(4, 3)(ids))
    return keras.Model(ids, keras.layers.Dense(1)(MEAN()(keras.layers.Attention()([states, states]))))


def both(**flags):
    return keras.layers.Bidirectional(keras.layers.LSTM(2, **flags))


def twice_masked():
    ids = keras.Input((None,), dtype="int32")
    vectors, unequal = keras.layers.Embedding(4, 3)(ids), keras.ops.not_equal
    states = [
        layer(vectors, mask=unequal(ids, i)) for i, layer in ((0, keras.layers.GRU(2)), (3, keras.layers.LSTM(2)))
    ]
    return keras.Model(ids, keras.layers.Dense(2)(keras.layers.Concatenate()(states)))


def graph_of(make):
    ids = keras.Input((None,), dtype="int32")
    return keras.Model(ids, keras.layers.Dense(2)(make(ids)))


def read_by_an_lstm(ids, **flags):
    return keras.layers.LSTM(2)(keras.layers.Embedding(4, 3, **flags)(ids))


def named(alphabet, size, **flags):
    parts = [alphabet.layer(), keras.layers.Embedding(size, 3, **flags), keras.layers.LSTM(2), keras.layers.Dense(2)]
    return of_ids(*parts)


REFUSED = {
    "two masks": (twice_masked, "needs masks of other numbers than symbols, or two different ones"),
    "a cast": (
        lambda: graph_of(lambda ids: keras.ops.cast(keras.ops.cast(5 * read_by_an_lstm(ids), "int32"), "float32")),
        "needs a cast to int32",
    ),
    "numbers that are not finite": (
        lambda: graph_of(lambda ids: read_by_an_lstm(ids) * float("inf")),
        "needs numbers that are not finite",
    ),
    "arithmetic of ids": (
        lambda: graph_of(lambda ids: read_by_an_lstm(keras.layers.Add()([ids, ids]))),
        "needs add.* on symbols or masks",
    ),
    "a fixed length": (
        lambda: keras.Sequential(
            [keras.Input((4,), dtype="int32"), keras.layers.Embedding(4, 3), keras.layers.LSTM(2)]
        ),
        "of texts of any length",
    ),
    "names for a part of the ids": (lambda: named(datasets.Alphabet("abc"), 6), "must name all 6 symbols"),
    "an unknown symbol that is masked": (
        lambda: named(datasets.Alphabet(["?", "a", "b", "c"], unknown="?"), 4, mask_zero=True),
        "needs a start, end or unknown symbol that is not masked",
    ),
    "attention": (attending, r"needs instructions for attention.* \(Attention\)"),
    "two layers in both directions": (
        lambda: of_ids(keras.layers.Embedding(4, 3), both(**EACH), both()),
        "needs layers above both directions",
    ),
    "each step in both directions": (
        lambda: of_ids(keras.layers.Embedding(4, 3), both(**EACH)),
        "needs outputs of each step of both directions",
    ),
    "noise": (lambda: of_ids(keras.layers.Embedding(4, 3), layers.SRLSTM(2, 3, transition="sample")), "or no noise"),
    "matrices": (lambda: of_ids(keras.layers.Embedding(4, 4), layers.DeltaNet(4, 2)), "needs"),
    "an activation": (
        lambda: of_ids(keras.layers.Embedding(4, 3), keras.layers.LSTM(2), keras.layers.Dense(2, "gelu")),
        "needs the activation of dense",
    ),
    "vectors": (
        lambda: keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(2)]),
        r"and one input, ids \(batch, time\)",
    ),
    "states that are carried": (
        lambda: keras.Sequential(
            [keras.Input((None,), 2, "int32"), keras.layers.Embedding(4, 3), keras.layers.LSTM(2, stateful=True)]
        ),
        "needs states that are carried",
    ),
}


@pytest.mark.parametrize(("make", "cause"), REFUSED.values(), ids=REFUSED)
def test_rejects_other_networks_and_names_an_alternative(make, cause, tmp_path):
    network = make()
    with pytest.raises(
        ValueError, match=rf"The network of a page that reads typed text must .*{network.name}.*{cause}"
    ) as error:
        views.save(network, tmp_path / "live.html")
    assert "Save analysis.attribution(model, ids, target=...) instead" in str(error.value)
    assert not list(tmp_path.iterdir())


def test_rejects_too_many_weights(monkeypatch, tmp_path):
    network = model_of("ISAN")
    for name, value, received in (("MAX_NUMBERS", 200, "251 numbers"), ("MAX_BYTES", 1000, "with 0.0 MiB")):
        with monkeypatch.context() as context:
            context.setattr(live, name, value)
            with pytest.raises(ValueError, match=f"The weights in a page must take at most .*{received}"):
                views.save(network, tmp_path / "live.html")


FOOL = """
const task = JSON.parse(require('fs').readFileSync(0));
(async () => {
  const arrays = {};
  for (const [number, array] of Object.entries(task.weights)) arrays[number] = await packed.unpacked(array);
  const made = machine.networkOf(task.machine, arrays);
  const found = proof.fooling(made, task.proved, task.typed);
  process.stdout.write(JSON.stringify({found, prefixes: made.prefixes(found[0]).map(([output]) => output)}));
})();
"""


@with_node
def test_words_that_fool_a_network_are_those_on_which_it_is_wrong():
    preset = presets.load("tomita-4-lstm")
    [tags] = preset.page_view().data["runs"].values()
    order = {}
    document._needed("proof", order)
    found = run_in_node("\n".join(map(document.module, order)) + FOOL, json.dumps(tags[live.KIND]["series"]))
    words = ["".join(preset.alphabet[i] for i in ids) for ids in found["found"]]
    assert len(set(words)) == len(words) > 100
    assert [*map(len, words)] == sorted(map(len, words))
    truth = automata.tomita(4)
    for word in words[:: len(words) // 60]:
        accepted = preset.model.predict(preset.encode(word)[None], verbose=0)[0, 0] > 0
        assert accepted != truth.accepts(word), word
    ids = found["found"][0]
    for length in range(1, len(ids) + 1):
        output = preset.model.predict(np.array([ids[:length]]), verbose=0)[0, 0]
        np.testing.assert_allclose(found["prefixes"][length], output, rtol=1e-4, atol=1e-4)


@with_node
@pytest.mark.parametrize("last", [True, False])
def test_what_is_said_of_the_beginning_of_a_text_is_what_is_said_of_that_text_alone(last):
    """Also of a layer whose last step is another one."""
    keras.utils.set_random_seed(2)
    layer = layers.SRGRU(4, 3, regularize_last_step=last)
    network = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(5, 3), layer])
    network.add(keras.layers.Dense(2))
    code = (
        "const text = machine.reader(task.series.machine, arrays)(task.ids);"
        "process.stdout.write(JSON.stringify(task.ids.map((_, i) => text.prefix(i + 1))));"
    )
    ids = [1, 4, 0, 2, 2]
    modules = "\n".join(map(document.module, ("packed", "shapley", "machine")))
    head = READ.split("const read =")[0]
    found = run_in_node(f"{modules}\n{head}{code}}})();", json.dumps({"series": series_of(network), "ids": ids}))
    for length in range(1, len(ids) + 1):
        output = network.predict(np.array([ids[:length]]), verbose=0)[0]
        np.testing.assert_allclose(found[length - 1], output, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in presets.list() if name != "text-isan-216"])
def test_a_preset_has_a_page_that_reads(name):
    preset = presets.load(name)
    page = as_page(preset)
    assert html.escape(preset.card.data) in page
    assert "<script" in page
    assert ('"outputs":["1","2","3"' in page) is (name == "lookup-delta-net")


def test_a_network_as_text(tmp_path, capsys):
    network = model_of("ISAN")
    views.save(network, tmp_path / "live.txt")
    assert re.match(rf"{network.name}: 251 weights\. ", (tmp_path / "live.txt").read_text())
    views.show(network, browser=False)
    assert capsys.readouterr().out == (tmp_path / "live.txt").read_text()


def test_a_page_begins_with_a_text_that_reads_like_one():
    def first(alphabet, **options):
        view = live.live_view(model_over(alphabet), **options)
        assert view.title == "A network that reads"
        return view.data["state"]["word"]

    def model_over(alphabet):
        names = datasets.Alphabet(alphabet)
        read = layers.ISAN(2, len(names), return_sequences=True)
        return keras.Sequential([keras.Input((None,), dtype="int32"), names.layer(), read, keras.layers.Dense(2)])

    assert first("\n !\"#'abcdefghijklmnopqrstuvwxyz") == "the network reads"
    assert first(".,:;!?helo") == "hello"
    assert first("0123456789ACGT") == "ACGT"
    assert first("\n!?:;.,-+*") == "\n!?:;.,-"
    assert first("0123456789ACGT", text="A1") == "A1"

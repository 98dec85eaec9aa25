"""Pages that read typed text: their arithmetic in Node is that of NumPy."""

import html
import json
import re
import shutil
import subprocess

import keras
import numpy as np
import pytest

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
  for (const [name, array] of Object.entries(series.weights)) arrays[name] = await live.unpacked(array);
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
    code = f"{document.module('live')}\n{NUMBERS}\nconst task = JSON.parse(require('fs').readFileSync(0));\n" + (
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
    assert series["symbols"] == series["outputs"] == ["␣", "⏎", "a", "b", "?"]
    assert series["unknown"] is None
    nameless = series_of(model_of("ISAN", outputs=2, alphabet=None))
    assert nameless["alphabet"] == nameless["symbols"] == ["0", "1", "2", "3", "4"]
    assert nameless["outputs"] == ["output 1 (index 0)", "output 2 (index 1)"]


@with_node
@pytest.mark.parametrize(
    ("text", "alphabet", "unknown", "expected"),
    [
        ("a bé", [" ", "a", "b"], None, {"ids": [1, 0, 2], "strays": [["é", 4]]}),
        ("a b𝄞", [" ", "a", "b"], 1, {"ids": [1, 0, 2, 1], "strays": []}),
        ("  up  down of", ["down", "up"], None, {"ids": [1, 0], "strays": [["of", 3]]}),
        ("", ["a"], None, {"ids": [], "strays": []}),
    ],
)
def test_a_text_as_ids(text, alphabet, unknown, expected):
    typed = {"typed": [*range(len(alphabet))], "frame": [[], []]}
    assert encoded_in_node(text, {"alphabet": alphabet, "unknown": unknown, **typed}) == expected


def encoded_in_node(text, series):
    asked = f"live.encoded({json.dumps(text)}, {json.dumps(series)})"
    return run_in_node(f"{document.module('live')}\nprocess.stdout.write(JSON.stringify({asked}))")


@with_node
@pytest.mark.parametrize("text", ["good film", "a good unheard film", ""])
def test_a_text_of_a_vocabulary_has_its_tokens_around_it(text):
    vocabulary = datasets.Alphabet.from_texts(["a film good"])
    parts = vocabulary.layer(), keras.layers.Embedding(len(vocabulary), 3), layers.MinGRU(4), keras.layers.Dense(1)
    series = series_of(of_ids(*parts))
    found = encoded_in_node(text, {name: series[name] for name in ("alphabet", "typed", "unknown", "frame")})
    expected = vocabulary.encode(text)
    assert found == {"ids": expected.tolist(), "strays": []}


def test_a_recognizer_is_its_automaton_with_the_verdict():
    view = live.live_view(network_of(automata.tomita(2)), text="10")
    assert view.name == "states"
    assert view.data["state"]["word"] == "10"
    [tag] = view.data["runs"][""].values()
    assert "proved for every word" in json.dumps(tag["steps"]["0"])
    page = as_page(presets.load("tomita-4"))
    assert "proved for every word" in page
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


def lstm():
    return of_ids(keras.layers.Embedding(4, 3), keras.layers.LSTM(2))


def pooled():
    isan = layers.ISAN(3, 4, return_sequences=True)
    return of_ids(isan, keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1))


def with_memory():
    return of_ids(automata.SymbolEmbedding("01", 4), layers.SRLSTM(4, 3), keras.layers.Dense(1))


@pytest.mark.parametrize(
    ("make", "cause"),
    [(lstm, "Exactly one ISAN"), (pooled, "reads their mean"), (with_memory, "a further state")],
)
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


@pytest.mark.parametrize("name", [name for name in presets.list() if name != "text-isan-216"])
def test_a_preset_has_a_page_that_reads_or_its_card_alone(name):
    preset = presets.load(name)
    page = as_page(preset)
    assert html.escape(preset.card.data) in page
    assert ("<script" in page) is (name not in ("reviews-sr-lstm", "counting-isan"))
    assert ('"outputs": ["1", "2", "3"' in page) is (name == "lookup-delta-net")


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

"""Views: every result on the screen and in one file of its own, with everything that comes from a user escaped."""

import base64
import dataclasses
import functools
import hashlib
import html.parser
import itertools
import json
import re
import sys
import tempfile
import types
import webbrowser
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, datasets, layers, presets, views
from keras_interp_rnn._results import Fields, Result, Table, as_html, as_page, as_text, drawings, rgb, texts
from keras_interp_rnn._results import html as html_views
from keras_interp_rnn._results.html import as_element
from keras_interp_rnn._results.names import chance
from keras_interp_rnn.analysis.attribution import results as attribution_results
from keras_interp_rnn.analysis.phase_portraits import PhasePortrait
from keras_interp_rnn.automata.networks import Agreement, TrainingReport
from keras_interp_rnn.views.live import Network
from tensorboard_plugins.interp_rnn import document, recording, tokens
from tests.automata.networks import network_of

HOSTILE = (
    "<script>alert(1)</script>\u2028<!--",
    '"><img src=x onerror=y> style="color:red',
    "</style></script>]]>&amp;",
)
VOID = {"meta", "br", "img", "link"}


class Page(html.parser.HTMLParser):
    """The tags and attributes of a document, and its text; every tag must be closed."""

    def __init__(self, document):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open, self.outermost = [], [], [], [], []
        self.feed(document)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if not self.open:
            self.outermost.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def model_of_symbols():
    keras.utils.set_random_seed(0)
    return keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 3), keras.layers.Dense(3)])


def model_of_sequences():
    keras.utils.set_random_seed(1)
    isan = layers.ISAN(3, 3, return_sequences=True)
    return keras.Sequential([keras.Input((None,), dtype="int32"), isan, keras.layers.Dense(3)])


def surprised():
    model = model_of_sequences()
    model.layers[-1].bias.assign([5.0, 0.0, 0.0])
    return analysis.surprise(model, [[0, 1, 2, 0], [2]], alphabet=HOSTILE)


def classifier():
    keras.utils.set_random_seed(0)
    return keras.Sequential([keras.layers.Embedding(4, 3), layers.SRGRU(4, num_centroids=2), keras.layers.Dense(1)])


def built_gru():
    keras.utils.set_random_seed(0)
    return keras.Sequential([keras.Input((None, 3)), keras.layers.GRU(4)])


def hostile_automaton():
    """Words with an odd number of the first symbol, over symbols that are HTML."""
    return automata.DFA([[1, 0], [0, 1]], {1}, start=0, alphabet=HOSTILE[:2])


def hostile_machine():
    """The number of the first symbol modulo 3, over symbols and labels that are HTML."""
    return automata.MooreMachine([[1, 0], [2, 1], [0, 2]], HOSTILE, alphabet=HOSTILE[:2])


def stack():
    keras.utils.set_random_seed(0)
    lower = layers.SRGRU(4, 3, return_sequences=True)
    symbols = automata.SymbolEmbedding("ab", 4)
    return keras.Sequential(
        [keras.Input((None,), dtype="int32"), symbols, lower, layers.SRGRU(4, 3), keras.layers.Dense(1)]
    )


def hostile_contributions():
    return analysis.contributions(model_of_symbols(), [0, 1, 2, 0], alphabet=HOSTILE)


def estimates():
    """Shapley values with intervals, of a probability near 1, and of which a budget was spent."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(3, 4), keras.layers.LSTM(4)])
    model.add(keras.layers.Dense(1, "sigmoid", bias_initializer=keras.initializers.Constant(7.0)))
    model.set_weights([2 * weight for weight in model.get_weights()])
    text = np.random.default_rng(0).integers(0, 3, (1, 24))
    return analysis.attribution(model, text, alphabet=HOSTILE, max_work=1000)


TOKENS = ("padding", *HOSTILE)
RESULTS = {
    "contributions": hostile_contributions,
    "explanation": lambda: analysis.explain(classifier(), [1, 2, 3], tokens=TOKENS),
    "prototypes": lambda: analysis.prototypes(classifier(), [[1, 2, 3]], tokens=TOKENS),
    "phrases": lambda: analysis.phrases(classifier(), [[1, 2, 3]], length=2, tokens=TOKENS),
    "trace": lambda: analysis.trace(classifier(), np.array([[1, 2, 3]])),
    "patching": lambda: analysis.patching(built_gru(), np.ones((1, 4, 3)), corrupted=np.zeros((1, 4, 3))),
    "automaton": hostile_automaton,
    "weighted automaton": lambda: automata.WeightedAutomaton.from_dfa(hostile_automaton()),
    "extraction": lambda: automata.extract(network_of(hostile_automaton())),
    "fidelity": lambda: automata.extract(network_of(hostile_automaton())).fidelity(10, 2, max_length=5, num_searched=3),
    "agreement": lambda: Agreement(2, 1, 0.1, 0.9, HOSTILE),
    "training report": lambda: TrainingReport(
        learned=False,
        network_accuracy=1.0,
        automaton_accuracy=0.5,
        confidence=0.1,
        num_states=1,
        num_attempts=2,
        seconds=3.0,
        reason="<b>",
    ),
    "certificate": lambda: automata.certify(network_of(hostile_automaton()), hostile_automaton()),
    "Moore machine": hostile_machine,
    "extraction of labels": lambda: automata.extract(automata.compile(hostile_machine())),
    "certificate of labels": lambda: automata.certify(automata.compile(hostile_machine()), hostile_machine()),
    "extraction of a stack": lambda: automata.extract(stack()),
    "automaton of a function": lambda: automata.learn(
        lambda words: [word.count(HOSTILE[0]) % 2 == 0 for word in words], HOSTILE[:2], max_words=100
    ),
    "inference": lambda: automata.infer(
        [tuple(HOSTILE[i] for i in word) for n in range(7) for word in itertools.product(range(2), repeat=n)],
        [sum(word) % 2 == 0 for n in range(7) for word in itertools.product(range(2), repeat=n)],
        alphabet=HOSTILE,
    ),
    "surprise": surprised,
    "surprising event": lambda: surprised().events[0],
    "words": lambda: hostile_contributions().by_word(separator=0),
    "Shapley values": lambda: analysis.shapley_values(model_of_symbols(), [0, 1, 2, 0], alphabet=HOSTILE),
    "interactions": lambda: analysis.interactions(model_of_symbols(), [0, 1, 2, 0], alphabet=HOSTILE),
    "interactions of vectors": lambda: analysis.interactions(built_gru(), np.random.default_rng(0).normal(size=(4, 3))),
    "attribution": lambda: analysis.attribution(classifier(), np.array([[1, 2, 3], [3, 3, 1]]), target=0),
    "estimates of log-odds": lambda: estimates(),
    "fixed points of a cell": lambda: analysis.fixed_points(built_gru(), np.zeros(3), num_starts=16),
    "a result without a view of its own": lambda: analysis.fixed_points(model_of_symbols()),
    "an affine map": lambda: analysis.affine_map(model_of_symbols(), [0]),
    "substitutions": lambda: analysis.substitutions(model_of_symbols(), [0, 1, 2, 0], alphabet=HOSTILE),
    "singular values": lambda: analysis.jacobian_singular_values(built_gru(), np.ones((2, 6, 3)), lags=[0, 4]),
    "a preset": lambda: presets.load("lookup-delta-net"),
    "a network": model_of_symbols,
    "a Jacobian": lambda: analysis.input_output_jacobian(built_gru(), np.ones((2, 6, 3)), lag=4),
}


def shown(result):
    """What views show of it: itself, unless it cannot be derived from their class."""
    if isinstance(result, keras.Model):
        return Network(result)
    return Fields(result) if isinstance(result, analysis.AffineMap) else result


VIEWS = {
    "contributions": "reads",
    "Shapley values": "reads",
    "substitutions": "reads",
    "attribution": "reads",
    "interactions": "reads",
    "interactions of vectors": "reads",
    "estimates of log-odds": "reads",
    "explanation": "states",
    "trace": "reads",
    "automaton": "states",
    "extraction": "states",
    "certificate": "states",
    "Moore machine": "states",
    "extraction of labels": "states",
    "certificate of labels": "states",
    "extraction of a stack": "states",
    "automaton of a function": "states",
    "singular values": "memory",
    "inference": "labels",
    "a preset": "typing",
    "a network": "typing",
}
"""The plugin's view of each result that has one."""
made = functools.cache(lambda name: shown(RESULTS[name]()))
every_result = pytest.mark.parametrize("name", RESULTS)


def hashed(text):
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@every_result
def test_a_saved_page_is_one_well_formed_file_that_needs_no_other_and_allows_nothing_else(name, tmp_path):
    views.save(made(name), tmp_path / "x.html")
    [file] = tmp_path.iterdir()
    document = file.read_text(encoding="utf-8")
    assert document.startswith("<!doctype html>")
    page = Page(document)
    assert not {"img", "link", "iframe", "object"} & set(page.tags)
    # The data, and the code that draws them.
    assert page.tags.count("script") == (2 if name in VIEWS else 0)
    names = {key for key, _ in page.attributes}
    assert "style" not in names
    assert not {key for key in names if key.startswith("on")} | {"src", "href"} & names
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import", document)
    assert not [value for _, value in page.attributes if value and "url(" in value and "url(#" not in value]
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', document)
    [style] = re.findall(r"<style>(.*?)</style>", document, re.S)
    scripts = re.findall(r"<script>(.*?)</script>", document, re.S)
    allowed = "".join(f"script-src '{hashed(script)}'; img-src data:; " for script in scripts)
    expected = f"default-src 'none'; style-src '{hashed(style)}'; {allowed}base-uri 'none'; form-action 'none'"
    assert policy == expected


@every_result
def test_a_piece_for_a_notebook_is_one_element_that_refers_to_nothing_outside(name, monkeypatch):
    # So it survives the conversion of a notebook to HTML, wherever it is put.
    monkeypatch.setattr(html_views, "MAX_ROWS", 1)
    result = made(name)
    piece = as_html(result)
    page = Page(piece)
    assert len(page.outermost) == 1
    assert not {"script", "style", "link", "img"} & set(page.tags)
    assert not {key for key, _ in page.attributes if key in ("src", "href") or key.startswith("on")}
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", piece)
    frames = [dict(page.attributes)] if "iframe" in page.tags else []
    assert len(frames) == (name in VIEWS)
    for frame in frames:  # the page itself, which has no rights in the notebook, and below it the numbers
        assert frame["srcdoc"] == as_page(result)
        assert frame["sandbox"] == "allow-scripts allow-downloads"
        assert piece.endswith(f"<summary>Without scripts</summary>{as_element(result.summary())}</details></div>")


NAMED = (
    *("contributions", "Shapley values", "words", "explanation", "prototypes", "phrases", "extraction"),
    *("certificate", "Moore machine", "extraction of labels", "certificate of labels", "automaton of a function"),
)
"""Results with a hostile name on their page, whatever they print; of others it is there if they print it."""


@every_result
def test_names_are_text_and_not_tags(name):
    result, hostile = made(name), HOSTILE[0].split("\u2028")[0]
    if name in NAMED or hostile in as_text(result):
        assert any(hostile in text for text in Page(as_page(result)).texts)


@every_result
def test_text_is_what_print_shows(name, tmp_path, capsys):
    result = made(name)
    views.show(result)
    shown = capsys.readouterr().out
    assert shown == as_text(result) + "\n"
    if isinstance(result, Result):
        assert str(result) == as_text(result)
    if not isinstance(result, analysis.AffineMap | keras.Model):
        assert result._repr_html_() == as_html(result)
    views.save(result, tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_text(encoding="utf-8") == shown


@every_result
def test_drawings_are_svg_but_of_sentences(name, tmp_path):
    if name in ("fidelity", "agreement", "training report", "a preset", "a network"):
        with pytest.raises(ValueError, match=r"^A table must have bars to be drawn\."):
            views.save(made(name), tmp_path / "x.svg")
        return
    views.save(made(name), tmp_path / "x.svg")
    assert ET.parse(tmp_path / "x.svg").getroot().tag.endswith("svg")


def test_rejects_drawings_and_rows_of_sentences(tmp_path):
    with pytest.raises(ValueError, match=r"must have bars to be drawn. Received: '1 of 2 words"):
        views.save(made("agreement"), tmp_path / "x.svg")
    with pytest.raises(ValueError, match="must be of a table. Received: Agreement, a sentence without rows"):
        views.save(made("agreement"), tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [None, 3, "text", np.zeros(3), {"h": 1}])
def test_rejects_other_objects(wrong, tmp_path):
    rule = "`result` must be a result of analysis or automata, a preset or a network over symbols."
    sentence = f"{rule} Received: {type(wrong).__name__}"
    with pytest.raises(TypeError, match=sentence):
        views.show(wrong)
    with pytest.raises(TypeError, match=sentence):
        views.save(wrong, tmp_path / "x.html")


@pytest.mark.parametrize("path", ["x.pdf", "x", "html"])
def test_rejects_other_endings(path, tmp_path):
    with pytest.raises(ValueError, match=rf"`path` must be a file that ends in \.html, .*, \.png\. Received: .*{path}"):
        views.save(made("agreement"), tmp_path / path)


def recorded_in(saved):
    """The block of data of a page, and its only tag."""
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', saved, re.S)
    data = json.loads(text)
    [tags] = data["runs"].values()
    [tag] = tags.values()
    return text, data, tag


def array(encoded):
    return np.frombuffer(zlib.decompress(base64.b64decode(encoded["values"])), "<f4").reshape(encoded["shape"])


def test_the_example_of_a_deleted_letter_in_the_documentation_is_that_of_the_network():
    reader = presets.load("text-isan").model
    text = "the end of the second world wa"
    without = analysis.contributions(reader, text).without([len(text)])[-1]
    deleted = analysis.substitutions(reader, text, alternatives="e").deleted[-1]
    names = datasets.text.ALPHABET
    found = [(names[one.argmax()], (np.exp(one) / np.exp(one).sum()).max()) for one in (without, deleted)]
    read = " ".join((Path(__file__).parents[2] / "docs" / "views.md").read_text().split())
    (first, sure), (second, other) = found
    assert f"the sum without the term of the last `a` predicts `{first}` with {sure:.0%}" in read
    assert f"the network reads the text without that `a`, it predicts `{second}` with {other:.0%}" in read
    assert first != second


def test_a_page_of_many_outputs_has_the_most_probable_and_the_sum_of_the_others():
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 3), keras.layers.Dense(100)])
    split = analysis.contributions(model, [0, 1, 2, 0])
    _, _, tag = recorded_in(as_page(split))
    assert tag["kind"] == "top_contributions"
    block = array(tag["steps"]["0"]["slices"][-1])
    top = block[0, :-2].astype(int)
    np.testing.assert_array_equal(top, np.argsort(-split.logits[-1])[: len(top)])
    np.testing.assert_allclose(block[1:-1, :-2], split.values[:, -1, top], rtol=1e-5, atol=1e-7)
    others = np.delete(split.values[:, -1], top, axis=-1).sum(axis=-1)
    np.testing.assert_allclose(block[1:-1, -2], others, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(block[1:-1, -1], np.linalg.norm(split.values[:, -1], axis=-1), rtol=1e-5)
    parts = np.exp(split.logits[-1]) / np.exp(split.logits[-1]).sum()
    np.testing.assert_allclose(block[0, -2], 1 - parts[top].sum(), rtol=1e-5)


def test_a_page_of_a_long_text_is_small_and_has_the_last_targets():
    text = np.random.default_rng(0).integers(0, 27, 500)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 27), keras.layers.Dense(27)])
    saved = as_page(analysis.contributions(model, text))
    assert len(saved) < 400_000
    slices = recorded_in(saved)[2]["steps"]["0"]["slices"]
    assert len(slices) == 501
    assert slices[-1]["shape"] == [502, 27]
    present = [i for i, one in enumerate(slices) if one is not None]
    assert present == list(range(present[0], 501))
    assert present[0] > 0


def whole_text(kind):
    """A model whose head reads a text as a whole."""
    keras.utils.set_random_seed(0)
    isan = layers.ISAN(3, 3, return_sequences=kind in ("mean", "two-way, every step"))
    parts = {
        "last": [isan],
        "mean": [isan, keras.layers.GlobalAveragePooling1D()],
        "two-way": [keras.layers.Bidirectional(isan)],
        "two-way, every step": [keras.layers.Bidirectional(isan)],
    }[kind]
    return keras.Sequential([keras.Input((None,), dtype="int32"), *parts, keras.layers.Dense(4)])


@pytest.mark.core
@pytest.mark.parametrize("kind", ["last", "mean", "two-way", "two-way, every step"])
def test_a_page_has_the_last_target_of_a_network_that_reads_a_text_as_a_whole(kind):
    targets = -1 if kind == "last" else None
    split = analysis.contributions(whole_text(kind), [0, 1, 2, 0], alphabet="abc", targets=targets)
    _, _, tag = recorded_in(as_page(split))
    assert (tag["kind"], tag["series"]["symbols"], tag["series"]["first"]) == ("contributions", list("abca"), 4)
    *missing, last = tag["steps"]["0"]["slices"]
    assert missing == [None] * 4
    block = array(last)
    np.testing.assert_allclose(block[:-1], split.values[:, -1], rtol=1e-6)
    np.testing.assert_allclose(block.sum(axis=0), split.logits[-1], rtol=1e-5)


@pytest.mark.parametrize(("targets", "first", "last"), [([1, 2], 1, 2), ([1, 3, 4], 3, 4), ([4, 2], 4, 4)])
def test_a_page_has_the_targets_that_end_without_a_gap(targets, first, last):
    split = analysis.contributions(model_of_symbols(), [0, 1, 2, 0], alphabet="abc", targets=targets)
    shown = split.last_targets()
    assert (shown.targets.tolist(), len(shown.symbols)) == ([*range(first, last + 1)], last)
    whole = analysis.contributions(model_of_symbols(), [0, 1, 2, 0])
    np.testing.assert_array_equal(shown.values, whole.values[: last + 1, first - 1 : last])
    np.testing.assert_array_equal(shown.logits, whole.logits[first - 1 : last])


def test_a_page_leaves_out_a_target_that_later_symbols_have_terms_of():
    split = analysis.contributions(whole_text("two-way, every step"), [0, 1, 2, 0], targets=[2])
    assert split.last_targets() is None
    assert split.page_view() is None


def test_the_text_of_a_certificate_has_five_lines():
    machine = automata.tomita(7)
    network = automata.compile(machine)
    proof = automata.certify(network, machine)
    verdict, when, of, margins, assumed = str(proof).splitlines()
    assert (
        verdict
        == "Proved: on every word, however long, the network answers as Tomita's automaton 7, “0*1*0*1*” (5 states)."
    )
    assert when == f"When: at the temperature {proof.temperature:g}."
    assert f"in float32, of whose 5 centroids a word reaches {len(proof.centroids)}" in of
    assert f"at least {proof.margins.min():.2f} nats for a move" in margins
    assert f"{proof.decision_margins.min():.2g} for a decision" in margins
    assert "within 2^-20 of their values" in assumed
    [tags] = proof.page_view().data["runs"].values()
    assert tags["automaton"]["steps"]["0"]["graph"]["verdict"] == str(proof).splitlines()
    verdict, why = str(automata.certify(network, automata.tomita(4))).splitlines()
    assert verdict.startswith("Not yet proved for every word")
    assert why.endswith("they differ on ('0', '0', '0').")


def test_a_certificate_counts_the_states_that_are_drawn():
    proof = presets.load("tomita-7").certificate
    verdict = str(proof).splitlines()[0]
    assert verdict.endswith("automaton 7, “0*1*0*1*” (6 states, 5 when equivalent ones are merged).")
    [tags] = proof.page_view().data["runs"].values()
    graph = tags["automaton"]["steps"]["0"]["graph"]
    assert (len(graph["states"]), graph["minimal"], graph["verdict"][0]) == (6, 5, verdict)


def test_a_transition_that_was_never_seen():
    words = [("a",), ("a", "b")]
    model = network_of(automata.DFA([[1, 0], [0, 1]], {1}, start=0, alphabet="ab"))
    found = automata.extract(model, words, method="counts")
    assert "never seen" in as_element(found.summary())


@pytest.mark.core
@pytest.mark.parametrize("name", ["automaton", "Moore machine", "extraction", "certificate", "extraction of a stack"])
def test_the_numbers_of_an_automaton_have_a_row_for_each_transition(name):
    result = made(name)
    automaton = getattr(result, "path", getattr(result, "dfa", result))
    page = Page(as_element(result.summary()))
    assert page.tags.count("tr") == 1 + len(automaton) * len(automaton.alphabet)
    assert "svg" not in page.tags
    proved = any(text.startswith("Proved: on every word, however long, ") for text in page.texts)
    assert proved == (name == "certificate")


def test_a_heat_map_has_a_cell_for_each_number():
    values = np.array([[1.0, -2.0], [0.5, np.nan], [0.0, 2.0]])
    root = ET.fromstring(drawings.heat_map(values, ["unit 0", "<b>"]))
    cells = [cell for cell in root if cell.tag.endswith("rect")]
    assert [(cell.get("x"), cell.get("y")) for cell in cells] == [
        (str(drawings.CELL * t), str(drawings.CELL * i)) for t in range(3) for i in range(2)
    ]
    assert [float(cell.get("fill-opacity")) for cell in cells] == [0.5, 1, 0.25, 0.3, 0, 1]
    colors = [cell.get("fill") for cell in cells]
    assert colors[0] == colors[2] == colors[5] != colors[1]
    assert len(set(colors)) == 3
    assert [cell[0].text for cell in cells][:4] == [
        *("step 1, unit 0: 1", "step 1, <b>: -2"),
        *("step 2, unit 0: 0.5", "step 2, <b>: nan"),
    ]
    small = ET.fromstring(drawings.heat_map([[0.25, -0.5]], "ab"))
    assert [float(cell.get("fill-opacity")) for cell in small] == [0.25, 0.5]


@pytest.mark.parametrize(("fixed", "rings"), [(-1.0, 1), (2.0, 1), (-1.001, 0), (2.001, 0), (np.nan, 0)])
def test_a_fixed_point_has_a_ring_up_to_the_first_and_the_last_logit(fixed, rings):
    logits, one = np.array([-1.0, 0.5, 2.0]), np.ones(1)
    portrait = PhasePortrait(
        logits, -0.5 * logits, np.zeros(3, int), -0.5 * one, 0 * one, 0 * one, fixed * one, np.ones((1, 1)), None
    )
    assert portrait.drawing().count("<circle") == rings


def test_what_no_event_has_is_a_row_where_shares_have_a_sum():
    split = made("surprising event")
    assert split.method == "contributions"
    assert f"no event</td><td>{split.rest:+.3f}<" in as_html(split)
    automaton = automata.WeightedAutomaton.from_words(["ab", "ab", "abb"] * 9, alphabet="ab")
    [deleted] = analysis.surprise(automaton, ["abbb"], num_events=1).events
    assert np.isnan(deleted.rest)
    assert "no event" not in as_html(deleted)


@pytest.mark.parametrize(("length", "shown"), [(60, "a" * 60), (61, f"…{'a' * 59}")])
def test_a_word_of_sixty_characters_is_whole(length, shown):
    report = dataclasses.replace(made("training report"), questions=(("a",) * length,))
    assert str(report).split("to be labelled next: ")[1].startswith(f"{shown!r};")


def test_a_large_heat_map_shows_the_first_steps_and_names_its_size():
    names = ["h"] * (drawings.MAX_ENTRIES + 2)
    root = ET.fromstring(drawings.heat_map(np.ones((drawings.MAX_STEPS + 1, drawings.MAX_ENTRIES + 2)), names))
    assert len(root) == drawings.MAX_STEPS * drawings.MAX_ENTRIES
    assert root.get("aria-label") == f"60 of 61 steps, {drawings.MAX_ENTRIES} of {drawings.MAX_ENTRIES + 2} entries"
    assert ET.fromstring(drawings.heat_map(np.full((2, 2), np.nan), "ab")).get("width") == str(2 * drawings.CELL)


def test_a_long_table_counts_the_rows_that_it_leaves_out(monkeypatch):
    monkeypatch.setattr(html_views, "MAX_ROWS", 2)
    page = Page(as_element(Table("five rows", (texts("a", "12345"), texts("b", "abcde")))))
    assert page.tags.count("tr") == 3
    assert page.texts[-1] == "3 more rows"


def test_in_a_notebook_results_are_displayed(monkeypatch, capsys):
    displayed = []
    kernel = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: kernel))
    display = types.SimpleNamespace(display=lambda data, raw: displayed.append((data, raw)))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    for result in (made("agreement"), made("automaton")):
        views.show(result)
        assert displayed.pop() == ({"text/html": as_html(result), "text/plain": as_text(result)}, True)
    assert not capsys.readouterr().out


def test_in_a_terminal_of_ipython_results_are_printed(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace()))
    views.show(made("agreement"))
    assert capsys.readouterr().out.startswith("1 of 2 words")


def test_a_trace_is_a_mapping_with_a_line_for_each_quantity():
    traced = made("trace")
    assert dict(traced) == {**traced}
    assert set(traced) >= {"h", "u", "alpha", "centroid"}
    said, columns, *lines = str(traced).splitlines()
    assert said == f"{len(traced)} quantities of 3 steps of 1 sequence"
    assert columns.split() == ["quantity", "shape", "least", "largest"]
    assert [line.split()[0] for line in lines] == list(traced)
    [alpha] = [line.split() for line in lines if line.startswith("alpha")]
    assert alpha[:2] == ["alpha", "1x3x2"]
    np.testing.assert_allclose([*map(float, alpha[2:])], [traced["alpha"].min(), traced["alpha"].max()], atol=5e-4)


def test_one_module_defines_all_colours():
    package, plugin = Path(views.__file__).parents[1], Path(document.__file__).parent
    literal = r"#[0-9a-fA-F]{3,8}\b|tab:[a-z]+|rgb\(\d|\bRdBu|viridis|cmap=\""
    for path in [*package.rglob("*.py"), *plugin.rglob("*.py"), *plugin.rglob("*.js"), *plugin.rglob("*.css")]:
        if path.name != "tokens.py":
            assert not re.search(literal, path.read_text()), path


def contrast(*colors):
    def luminance(color):
        parts = [part / 255 for part in rgb(color)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return np.dot([0.2126, 0.7152, 0.0722], linear)

    dark, light = sorted(map(luminance, colors))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("palette", "lines"), [(tokens.LIGHT, tokens.RUNS), (tokens.DARK, tokens.DARK_RUNS)])
def test_text_of_each_colour_can_be_read_on_its_paper(palette, lines):
    for name in ("ink", "faint", "accent", "for", "against", "good", "error"):
        assert min(contrast(palette[name], palette[paper]) for paper in ("paper", "raised")) >= 4.5, name
    assert all(contrast(color, palette["paper"]) >= 3 for color in lines)


def test_a_style_sheet_has_every_token_light_and_dark():
    sheet = tokens.css(by_class=True)
    assert set(tokens.LIGHT) == set(tokens.DARK)
    for palette, lines in ((tokens.LIGHT, tokens.RUNS), (tokens.DARK, tokens.DARK_RUNS)):
        for name, value in [*palette.items(), *((f"line-{i}", color) for i, color in enumerate(lines))]:
            assert f"--{name}: {value};" in sheet
    assert ":root.dark {" in sheet
    assert "prefers-color-scheme: dark" in tokens.css(by_class=False)
    used = set(re.findall(r"var\(--([\w-]+)\)", (Path(document.__file__).parent / "static" / "style.css").read_text()))
    assert used <= set(re.findall(r"--([\w-]+):", sheet))


def test_legends_call_the_colours_by_their_names():
    legend = as_html(made("a Jacobian")).lower()
    script = (Path(document.__file__).parent / "static" / "reads.js").read_text()
    for name in tokens.NAMES.values():
        assert name in legend
        assert name in script.lower()
    assert not re.search(r"\bred\b", legend + script)


@pytest.mark.parametrize(
    "name", ["words", "attribution", "estimates of log-odds", "fixed points of a cell", "Shapley values"]
)
def test_a_printed_result_has_at_most_twenty_lines(name):
    assert 2 <= len(str(made(name)).splitlines()) <= 20


@pytest.mark.parametrize("steps", [14, 15, 16, 200])
def test_contributions_of_a_long_text_print_the_strongest_and_the_sum_of_the_others(steps):
    text = np.random.default_rng(0).integers(0, 3, steps)
    split = analysis.contributions(model_of_symbols(), text, alphabet="abc")
    lines = str(split).splitlines()
    assert len(lines) == (2 + 1 + steps + 1 if steps <= 15 else 2 + 2 + 15)
    assert max(map(len, lines[1:])) <= 110
    numbers = [float(re.search(r"[+-]?\d+\.\d+", line)[0]) for line in lines[2:]]
    first, second = split.winner()
    assert abs(sum(numbers) - (split.logits[-1, first] - split.logits[-1, second])) <= 0.00005 * len(numbers) + 1e-9
    if steps > 15:
        assert lines[3].strip().startswith(f"{steps + 1 - 15} others ")
        assert min(map(abs, numbers[2:])) >= np.sort(np.abs(split.logit_difference()[: steps + 1]))[-15] - 1e-4


def test_the_largest_entry_of_a_jacobian_has_full_colour():
    matrix = analysis.input_output_jacobian(built_gru(), np.ones((2, 6, 3)), lag=4)
    assert np.abs(matrix[0]).max() < 0.5
    opacities = [float(value) for value in re.findall(r'fill-opacity="([0-9.]+)"', as_html(matrix))]
    np.testing.assert_allclose(opacities, (np.abs(matrix[0]) / np.abs(matrix[0]).max()).T.ravel(), atol=6e-4)


def test_fixed_points_are_discs_and_squares():
    root = ET.fromstring(drawings.points([[0.0, 0, 0], [2, 0, 0], [1, 1, 0]], [True, True, False]))
    shapes = [part.tag.split("}")[1] for part in root]
    assert shapes == ["rect", "circle", "circle", "rect"]
    assert (
        ET.fromstring(drawings.points(np.zeros((0, 3)), [])).get("aria-label") == "0 fixed points, 0 of which attract"
    )


def test_the_block_of_a_page_holds_the_terms_and_names_of_any_kind():
    split = hostile_contributions()
    saved = as_page(split)
    text, data, tag = recorded_in(saved)
    assert "<" not in text
    assert text.isascii()
    assert data["state"]["place"] == "reads"
    assert tag["kind"] == "contributions"
    assert tag["series"]["outputs"][0].startswith("<script>alert(1)</script>")
    slices = tag["steps"]["0"]["slices"]
    assert [one["shape"] for one in slices[1:]] == [[target + 2, 3] for target in (1, 2, 3, 4)]
    tensor = array(slices[-1])
    np.testing.assert_allclose(tensor[:-1], split.values[:, -1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(tensor[-1], split.bias, rtol=1e-6, atol=1e-9)


def test_a_block_holds_no_nan():
    with pytest.raises(ValueError, match="Out of range float values"):
        document.block({"x": float("nan")})


def test_a_page_leaves_out_data_that_are_too_large_with_a_note(monkeypatch):
    monkeypatch.setattr(recording, "MAX_BYTES", 8)
    page = Page(as_page(hostile_contributions()))
    assert "script" not in page.tags
    assert any(text.startswith("The interactive view is left out. A page holds data of at most") for text in page.texts)


def opening(monkeypatch, tmp_path, *, works):
    """The addresses that a browser is asked to open; `works` is whether there is one."""
    asked = []
    monkeypatch.setattr(webbrowser, "open_new_tab", lambda address: asked.append(address) or works)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return asked


def test_show_opens_a_page_in_the_browser(monkeypatch, tmp_path, capsys):
    asked = opening(monkeypatch, tmp_path, works=True)
    views.show(made("agreement"), browser=True)
    [page] = tmp_path.rglob("Agreement.html")
    assert asked == [page.as_uri()]
    assert capsys.readouterr().out.splitlines()[1:] == [str(page)]


@pytest.mark.parametrize(("terminal", "display", "opens"), [(True, ":0", 1), (False, ":0", 0), (True, "", 0)])
def test_show_opens_nothing_without_a_terminal_and_a_display(monkeypatch, tmp_path, terminal, display, opens):
    asked = opening(monkeypatch, tmp_path, works=True)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    views.show(made("agreement"))
    assert len(asked) == opens


def test_show_needs_no_output(monkeypatch, tmp_path):
    asked = opening(monkeypatch, tmp_path, works=True)
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setenv("DISPLAY", ":0")
    views.show(made("agreement"))
    assert not asked


def test_show_names_the_page_if_no_browser_can_be_opened(monkeypatch, tmp_path):
    opening(monkeypatch, tmp_path, works=False)
    with pytest.raises(RuntimeError, match=r"No browser can be opened here.*Agreement\.html yourself") as error:
        views.show(made("agreement"), browser=True)
    assert "\n" not in str(error.value)


def test_an_attribution_shows_what_is_read():
    split = analysis.attribution(model_of_symbols(), [[0, 1, 2], [2, 2, 1]], target=0, alphabet=["in", "out", "up"])
    rows = str(split).split("\n\n")[0].splitlines()[5:]
    assert [line.split()[:2] for line in rows] == [["1", "in"], ["2", "out"], ["3", "up"]]
    [recorded] = split.page_view().data["runs"].values()
    assert [tag["series"]["symbols"] for tag in recorded.values()] == [["in", "out", "up"], ["up", "up", "out"]]
    for sequence, tag in enumerate(recorded.values()):
        [one] = tag["steps"]["0"]["slices"]
        expected = [0, split.output[sequence], *split.shares[sequence], split.reference_output[sequence]]
        np.testing.assert_allclose(array(one)[:, 0], expected, rtol=1e-6)


def series_split(**options):
    """Shares of three series of vectors, the second of which ends in masked steps."""
    keras.utils.set_random_seed(4)
    parts = [keras.layers.Masking(), keras.layers.GRU(4), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input((None, 3)), *parts])
    x = np.random.default_rng(4).normal(size=(3, 24, 3))
    x[1, 20:] = 0
    return analysis.attribution(model, x, **options)


def of_sequence(split, number):
    """The same of one sequence of a batch."""
    arrays = "shares output reference_output targets read standard_error probability num_runs as_read largest".split()
    there = {name: getattr(split, name) for name in arrays if getattr(split, name) is not None}
    return dataclasses.replace(split, **{name: array[number : number + 1] for name, array in there.items()})


WORDS = ["not", "a", "good", "film", "at", "all", ",", "but", "long"]


def of_words(activation, outputs=1, scale=1.0, length=9, **options):
    """Shares of two texts in the outputs of an LSTM; a larger scale brings probabilities nearer to 0 and 1."""
    keras.utils.set_random_seed(3)
    head = keras.layers.Dense(outputs, activation)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(9, 4)])
    model.add(keras.layers.LSTM(8))
    model.add(head)
    model.set_weights([3 * weight for weight in model.get_weights()])
    head.set_weights([scale * weight for weight in head.get_weights()])
    texts = np.random.default_rng(1).integers(0, 9, (2, length))
    return analysis.attribution(model, texts, alphabet=WORDS, **options)


def printed(split):
    """What a terminal shows of the first sequence: the sentence, the notes, the heading, the rows."""
    lines = str(split).split("\n\n")[0].splitlines()
    place = next(i for i, line in enumerate(lines) if line.split()[0] in ("position", "step", "group"))
    head, *notes = lines[:place]
    return head, notes, lines[place], lines[place + 1 :]


class TestWhatIsExplained:
    def test_log_odds_stand_beside_their_probability(self):
        split = of_words("sigmoid")
        head, ends, how, columns, *_ = str(split).splitlines()
        p = 1 / (1 + np.exp(-split.output[0]))
        assert head == (
            f"sequence 1 of 2: output 1: {p:.0%}, above all because of “at” at position 1 "
            f"({split.shares[0, 0]:+.3g} nats)"
        )
        assert split.shares[0, 0] == split.shares[0].min()
        assert ends == (
            f"output 1 (index 0): log-odds {split.output[0]:.4f}, probability {p:.3f}, "
            f"and {split.reference_output[0]:.4f} without any step"
        )
        assert how.startswith("exact Shapley values: no exact sum over the steps is known for this network; residual")
        assert columns.split() == ["position", "read", *"share of the log-odds, in nats".split()]
        [tag] = of_sequence(split, 0).page_view().data["runs"][""].values()
        assert (tag["series"]["unit"], tag["series"]["both"], tag["series"]["errors"]) == ("log-odds", True, True)
        rows = array(tag["steps"]["0"]["slices"][0])[:, 0]
        np.testing.assert_allclose(rows[1:11], [split.output[0], *split.shares[0]], rtol=1e-6)
        np.testing.assert_array_equal(rows[12:21], 0)
        np.testing.assert_allclose(rows[21], p, rtol=1e-6)

    def test_several_logits_have_a_column_each(self):
        split = of_words("softmax", 3, target=[0, 2])
        _, ends, _, columns, *_ = str(split).splitlines()
        for k, name in enumerate(("output 1 (index 0)", "output 3 (index 2)")):
            value, part = split.output[0, k], split.probability[0, k]
            assert f"{name}: logit {value:.4f}, probability {part:.3f}, and " in ends
        assert re.fullmatch(r"position  read    +output 1 +output 3, nats", columns)

    def test_probabilities_alone_have_no_nats(self):
        split = of_words("softmax", 3, of="probability")
        head, ends, _, columns, *_ = str(split).splitlines()
        assert "nats" not in head
        assert f": probability {split.output[0]:.4f}, and " in ends
        assert columns.endswith("share of the probability")

    @pytest.mark.parametrize("of", ["logit", "probability"])
    def test_a_probability_near_0_or_1_has_a_sentence(self, of):
        plain, near = of_words("sigmoid", of=of), of_words("sigmoid", scale=40, of=of)
        p = chance(float(near.output[0] if of == "probability" else near.probability[0]))
        said = {
            "logit": f"the shares say what moved the log-odds, which a probability of {p} hardly shows any more",
            "probability": f"a probability of {p} hardly changes, whatever is read: split the logit instead "
            "(of='logit')",
        }[of]
        assert str(near).splitlines()[3] == said
        assert "hardly" not in str(plain)

    @pytest.mark.parametrize(
        ("part", "shown"),
        [(0.961, "0.961"), (0.99321, "0.9932"), (0.0011, "0.0011"), (1.0, "above 0.999999"), (1e-9, "below 0.000001")],
    )
    def test_a_probability_has_the_digits_that_tell_it_from_0_and_1(self, part, shown):
        assert chance(part) == shown

    def test_estimates_have_their_intervals_and_what_limited_them(self):
        split = of_words("sigmoid", length=40, max_work=2000)
        assert not split.exact
        _, [_, how], columns, [nothing, others, *rows] = printed(split)
        assert how.startswith(
            "Shapley values, ±: 95% interval: no exact sum over the steps is known for this network; "
        )
        assert "; the budget was spent before the standard errors" in how
        assert columns.endswith(" share of the log-odds, in nats")
        assert nothing.split()[0] == "nothing"
        np.testing.assert_allclose(float(nothing.split()[1]), split.reference_output[0], atol=5e-4)
        margins = 1.96 * split.standard_error[0]
        listed = [int(row.split()[0]) - 1 for row in rows]
        most = min(margins[listed].sum(), np.delete(margins, listed).sum())
        _, _, total, _, margin = others.split()
        np.testing.assert_allclose(float(total), np.delete(split.shares[0], listed).sum(), atol=5e-4)
        np.testing.assert_allclose(float(margin.removeprefix("≤")), most, rtol=6e-2)
        for row in rows:
            place, _, share, _, margin, *_ = row.split()
            np.testing.assert_allclose(float(share), split.shares[0, int(place) - 1], atol=5e-4)
            np.testing.assert_allclose(float(margin), 1.96 * split.standard_error[0, int(place) - 1], rtol=6e-2)

    @pytest.mark.parametrize(
        ("output", "without", "unit", "shown"),
        [
            (7.15684, -0.5, "log-odds", ("7.1568", "-0.5000")),
            (3e-5, 2e-5, "", ("0.000030", "0.000020")),
            (0.5, 3e-9, "", ("0.5000", "0.0000")),
            (4e-12, 1e-12, "", ("4e-12", "1e-12")),
            (0.0, 0.6328, "", ("0.0000", "0.6328")),
            (0.99997, 0.6, "probability", ("0.999970", "0.6000")),
            (0.50002, 0.5, "", ("0.500020", "0.500000")),
        ],
    )
    def test_outputs_have_the_digits_that_tell_them_apart(self, output, without, unit, shown):
        split = dataclasses.replace(
            of_words("sigmoid"),
            output=np.array([output] * 2),
            reference_output=np.array([without] * 2),
            unit=unit,
            probability=None,
        )
        unit = f"{unit} " * bool(unit)
        assert f": {unit}{shown[0]}, and {shown[1]} without any step\n" in str(split)

    def test_groups_are_counted_and_named(self):
        split = of_words("sigmoid", groups=[0, 0, 1, 1, 2, 2, 2, 3, 3])
        _, _, columns, [_, first, second, third, last] = printed(split)
        assert columns.split()[:3] == ["group", "read", "share"]
        for number, row in enumerate((first, second, third, last), start=1):
            assert row.split()[0] == str(number)
            assert f" {split.tokens[0][number - 1]} " in row
        tag = split.page_view().data["runs"][""]["sequence_0"]["series"]
        assert (tag["groups"], tag["vectors"], tag["symbols"]) == (True, False, list(split.tokens[0]))

    def test_groups_of_vectors_have_numbers(self):
        split = series_split(target=0, groups=np.arange(24) // 6)
        assert [row.split()[0] for row in printed(split)[3]] == ["nothing", *"1234"]
        tag = split.page_view().data["runs"][""]["sequence_0"]["series"]
        assert (tag["groups"], tag["vectors"]) == (True, False)
        assert tag["symbols"] == [f"group {number}" for number in (1, 2, 3, 4)]


@pytest.mark.parametrize(("activation", "unit"), [("sigmoid", "log-odds"), ("softmax", "logit"), (None, "")])
def test_pairs_have_the_unit_of_shares(activation, unit):
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(9, 4), keras.layers.LSTM(8)])
    model.add(keras.layers.Dense(3 if activation == "softmax" else 1, activation))
    pairs = analysis.interactions(model, [1, 5, 2, 7], alphabet=WORDS)
    said = f" in the {unit}, in nats," if unit else ","
    assert str(pairs).splitlines()[1].startswith(f"Shapley interactions{said} ")


class TestSums:
    """What a sum misses is said of the sequence that is shown."""

    def test_occlusion_says_by_how_much_its_shares_miss_the_change(self):
        split = of_words("sigmoid", scale=2, method="occlusion")
        for number in (0, 1):
            one = of_sequence(split, number)
            missed, change = (
                abs(one.reference_output + one.shares.sum() - one.output)[0],
                abs(one.output - one.reference_output)[0],
            )
            assert missed > 0.01 * change
            how = str(one).splitlines()[2]
            assert how.endswith(f"the shares miss the change of the output by {missed:.2g} of {change:.2g}")
        assert str(split).splitlines()[2].endswith("; 1 of the other sequences misses more than 1% of the change")

    def test_a_path_integral_that_misses_says_so_and_one_that_does_not_has_its_residual(self):
        split = series_split(target=0, method="path_integral")
        assert re.search(r"residual of the sum \d\.\de[+-]\d\d$", str(split).splitlines()[2])
        shares = split.shares.copy()
        shares[1, 0] += 0.5
        wrong = dataclasses.replace(split, shares=shares, features=None)
        how = str(wrong).splitlines()[2]
        assert "residual of the sum" in how  # of the first sequence, which is right
        assert how.endswith("; 1 of the other sequences misses more than 1% of the change")
        assert "the shares miss the change of the output by 0.5 of " in str(of_sequence(wrong, 1)).splitlines()[2]

    def test_of_several_outputs_that_one_is_named_whose_sum_is_wrong(self):
        split = of_words("softmax", 3, target=[0, 2], method="telescoping")
        shares = split.shares.copy()
        shares[0, 0, 1] += 0.5
        how = str(dataclasses.replace(split, shares=shares)).splitlines()[2]
        change = abs(split.output - split.reference_output)[0, 1]
        assert how.endswith(f"; the shares miss the change of output 3 by 0.5 of {change:.2g}")

    def test_telescoping_has_a_residual_of_rounding(self):
        assert "residual of the sum" in str(of_words("sigmoid", method="telescoping"))


def test_the_steps_that_are_not_listed_have_a_sum():
    split = series_split(target=0)
    head, _, columns, [_, others, *steps] = printed(split)
    assert head.startswith("sequence 1 of 3: output 1 is ")
    assert columns.split() == ["step", *"share of the output".split()]
    count, name, rest, _, margin = others.split()
    assert (count, name, margin[0]) == ("12", "others", "≤")
    listed = {int(line.split()[0]) - 1: float(line.split()[1]) for line in steps}
    assert sorted(listed) == sorted(step for step, _ in split.top(12))
    hidden = [step for step in range(24) if step not in listed]
    np.testing.assert_allclose(float(rest), split.shares[0, hidden].sum(), rtol=1e-2)
    total = sum(listed.values()) + float(rest) + split.reference_output[0]
    np.testing.assert_allclose(total, split.output[0], rtol=2e-2, atol=2e-3)


def test_masked_steps_are_said_to_be_masked():
    split = series_split(target=0)
    hard = of_sequence(split, 1)
    assert re.search(r"12 others .* 4 masked$", printed(hard)[3][1])
    errors = hard.standard_error[:, 12:]
    short = dataclasses.replace(hard, shares=hard.shares[:, 12:], read=hard.read[:, 12:], standard_error=errors)
    assert ["masked" in line for line in printed(short)[3]] == [False] * 9 + [True] * 4


def test_features_count_from_1_in_text_and_have_their_shares_in_the_page():
    split = series_split(target=[0, 1], method="path_integral")
    for line in printed(split)[3][2:]:
        step, *_, feature, share = line.split()
        shares = split.features[0, int(step) - 1, :, 0]
        assert int(feature) == np.abs(shares).argmax() + 1
        np.testing.assert_allclose(float(share), shares[int(feature) - 1], rtol=1e-2)
    [recorded] = split.page_view().data["runs"].values()
    assert [tag["series"]["title"] for tag in recorded.values()] == ["sequence 1", "sequence 2", "sequence 3"]
    for sequence, tag in enumerate(recorded.values()):
        series = tag["series"]
        assert (series["vectors"], series["features"], series["features_left_out"]) == (True, 3, False)
        assert series["masked"] == ([20, 21, 22, 23] if sequence == 1 else [])
        [one] = tag["steps"]["0"]["slices"]
        np.testing.assert_allclose(array(one)[27 : 27 + 72].reshape(24, 3, 2), split.features[sequence], rtol=1e-6)


def test_shares_of_features_that_are_too_many_for_a_page_are_left_out(monkeypatch):
    monkeypatch.setattr(attribution_results, "MAX_FEATURE_SHARES", 3 * 24 * 3 * 2 - 1)
    [recorded] = series_split(target=[0, 1], method="path_integral").page_view().data["runs"].values()
    for tag in recorded.values():
        assert (tag["series"]["features"], tag["series"]["features_left_out"]) == (0, True)
        assert len(array(tag["steps"]["0"]["slices"][0])) == 27 + 25


def test_contributions_of_vectors_are_those_of_steps():
    keras.utils.set_random_seed(5)
    model = keras.Sequential([keras.Input((None, 2)), layers.MinGRU(4), keras.layers.Dense(3)])
    x = np.random.default_rng(5).normal(size=(4, 2))
    split = analysis.contributions(model, x, targets=-1)
    head, _, *rows = str(split).splitlines()
    assert head.startswith("after step 4: ")
    assert [row.split()[:2] for row in rows[2:]] == [[str(step), "step"] for step in (1, 2, 3, 4)]
    [recorded] = split.page_view().data["runs"].values()
    [tag] = recorded.values()
    assert (tag["series"]["symbols"], tag["series"]["vectors"]) == ([*"1234"], True)
    assert "vectors" not in RESULTS["contributions"]().page_view().data["runs"][""]["contributions"]["series"]


def test_pages_leave_out_comments_and_no_code():
    source = "a();\n  /** @type {X} */ (b).c();\n/** One\n * two. */\nd(); // e\n// f\n"
    code = "a();\n  /** @type {X} */ (b).c();\nd();\n"
    assert re.sub(document.COMMENT, "", source, flags=re.M | re.S) == code

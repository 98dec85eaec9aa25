"""Prototypes, explanations and phrases of a network of known weights: its last word alone decides."""

import re

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn._results.html import as_element
from keras_interp_rnn.analysis.state_regularized.phrases import Phrases
from keras_interp_rnn.analysis.state_regularized.prototypes import Prototypes
from keras_interp_rnn.analysis.state_regularized.tokens import ranked

WORDS = ("", "the", "good", "bad", "fine", "<b>")
PULL = np.array([[0.0, 0], [0.1, 0], [3, -3], [-3, 3], [1, -1], [0, 0.2]])
"""The state before regularization after each word is tanh(PULL): towards centroid 0 or centroid 1."""

CENTROIDS = np.array([[2.0, -2], [-2, 2], [-9, -9]])
"""Positive, negative, and one that no word reaches."""


def network(head: str = "sigmoid", **arguments) -> keras.Model:
    recurrent = layers.SRSimpleRNN(2, 3, name="recurrent", **arguments)
    dense = keras.layers.Dense(1, activation="sigmoid") if head == "sigmoid" else keras.layers.Dense(2)
    embedding = keras.layers.Embedding(6, 2, mask_zero=True)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), embedding, recurrent, dense])
    embedding.set_weights([PULL])
    recurrent.cell.cell.set_weights([np.eye(2), np.zeros((2, 2)), np.zeros(2)])
    recurrent.cell.centroids.assign(CENTROIDS)
    # Class 1 for the first entry above the second.
    kernel = np.array([[1.0], [-1]] if head == "sigmoid" else [[-1.0, 1], [1, -1]])
    dense.set_weights([kernel, np.zeros(dense.units)])
    return model


def alpha_of(word: str) -> np.ndarray:
    scores = np.tanh(PULL[WORDS.index(word)]) @ CENTROIDS.T
    return np.exp(scores) / np.exp(scores).sum()


TEXTS = np.array([[1, 2, 3, 2, 0], [4, 2, 5, 3, 3], [1, 1, 3, 0, 0]])
heads = pytest.mark.parametrize("head", ["sigmoid", "softmax"])


@heads
def test_prototypes_are_the_words_that_move_there(head):
    found = analysis.prototypes(network(head), TEXTS, tokens=WORDS, num_tokens=2)
    assert [[word for word, _, _ in tokens] for tokens in found.tokens] == [["good", "fine"], ["bad", "<b>"], []]
    [(_, probability, times), _] = found.tokens[0]
    assert probability == pytest.approx(alpha_of("good").max(), abs=1e-6)
    assert times == 3
    np.testing.assert_allclose(found.share, [7 / 12, 5 / 12, 0])  # of the 12 words: the, good, fine to 0; bad, <b> to 1
    assert found.classes.tolist()[:2] == [1, 0]
    assert found.outputs.shape == (3, 1 if head == "sigmoid" else 2)


def test_prototypes_may_be_ranked_by_the_mean_and_rare_words_left_out():
    found = analysis.prototypes(network(), TEXTS, tokens=WORDS, by="mean", min_count=2)
    assert [word for word, _, _ in found.tokens[0]] == ["good", "the"]
    assert [word for word, _, _ in found.tokens[1]] == ["bad"]


@pytest.mark.parametrize("by", ["highest", "mean"])
def test_ties_go_to_the_more_frequent_item(by):
    assert ranked(np.array([3, 1, 1]), np.ones(3), by=by, min_count=1) == [(1, 1.0, 2), (3, 1.0, 1)]


def test_prototypes_are_shown_as_a_table():
    found = analysis.prototypes(network(), TEXTS, tokens=WORDS, num_tokens=2)
    lines = str(found).splitlines()
    assert len(lines) == 4, "centroids that are not used have no line"
    assert lines[0].endswith("in use; centroid 0 takes 58% of the steps")
    assert lines[2].split()[:3] == ["0", "1", "58.3%"]
    assert "good (0.98)" in lines[2]
    page = found._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


@heads
def test_an_explanation_gives_each_word_its_probability_of_the_predicted_class(head):
    model = network(head)
    found = analysis.explain(model, TEXTS[0], tokens=WORDS)
    assert found.tokens == ("the", "good", "bad", "good")
    assert found.prediction == 1
    assert found.centroids == (0,)
    np.testing.assert_allclose(found.weights, [alpha_of(word)[0] for word in found.tokens], atol=1e-6)
    assert analysis.explain(model, TEXTS[0]).tokens == ("1", "2", "3", "2")
    assert analysis.explain(model, TEXTS[0], tokens=dict(enumerate(WORDS))).tokens[1] == "good"
    negative = analysis.explain(model, TEXTS[1], tokens=WORDS)
    assert negative.prediction == 0
    assert negative.centroids == (1,)
    np.testing.assert_allclose(negative.weights, [alpha_of(word)[1] for word in negative.tokens], atol=1e-6)
    both = analysis.explain(model, TEXTS[1], tokens=WORDS, centroids=(0, 1))
    np.testing.assert_allclose(both.weights, [alpha_of(word)[:2].sum() for word in both.tokens], atol=1e-6)


def test_explanations_are_shown_in_a_notebook_and_in_a_terminal():
    found = analysis.explain(network(), TEXTS[1], tokens=WORDS)
    shown = as_element(found.summary())
    assert "&lt;b&gt;" in shown
    assert shown in found._repr_html_()
    assert found.shown(colors=True).count("\x1b[0m") == 5
    assert "good" in found.shown(colors=True)


@pytest.mark.parametrize(
    ("terminal", "no_color", "colored"), [(True, "", True), (True, "1", False), (False, "", False)]
)
def test_the_standard_output_decides_on_colors(monkeypatch, terminal, no_color, colored):
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    found = analysis.explain(network(), TEXTS[1], tokens=WORDS)
    assert str(found).splitlines()[1] == found.shown(colored)
    assert ("\x1b[" in str(found)) == colored


def test_without_colors_the_tokens_that_moved_the_network_have_their_probability():
    found = analysis.explain(network(), TEXTS[1], tokens=WORDS)
    [*_, bad] = found.weights
    assert bad > 0.5
    expected = f"class 0: fine good <b> ({found.weights[2]:.2f}) bad ({bad:.2f}) bad ({bad:.2f})"
    assert found.shown(colors=False) == expected


def test_line_breaks_and_characters_that_print_nothing_are_visible_where_tokens_are_shown():
    words = ["", "a\nb", "\n", "\x07", " ", "<\t>"]
    table = analysis.prototypes(network(), TEXTS, tokens=words)
    text = analysis.explain(network(), TEXTS[1], tokens=words)
    for shown in (*str(text).splitlines(), as_element(text.summary()), table._repr_html_(), *str(table).splitlines()):
        assert not re.search(r"[\n\t\x07]", shown)
    assert len(str(table).splitlines()) == 4
    for shown in (str(table), table._repr_html_()):
        assert all(name in shown for name in ("a⏎b", "⏎", r"\x07", "␣"))
    assert re.sub(r" \([0-9.]+\)", "", text.shown(colors=False)).split()[2:] == ["␣", "⏎", "<⇥>", r"\x07", r"\x07"]
    assert [phrase for phrase, _, _ in analysis.phrases(network(), TEXTS, length=2, tokens=words)[0]][0] == r"\x07 \x07"


def test_an_end_token_without_the_stochastic_component_counts_nothing():
    found = analysis.explain(network(regularize_last_step=False), TEXTS[0], tokens=WORDS)
    assert found.tokens == ("the", "good", "bad", "good")
    assert found.weights[-1] == 0
    assert np.isnan(found.alpha[-1]).all()
    for shown in (str(found), found._repr_html_()):
        assert "read without centroids: good" in shown
    assert "without centroids" not in str(analysis.explain(network(), TEXTS[0], tokens=WORDS))


def test_phrases_are_shown_a_line_for_each_class():
    found = analysis.phrases(network(), TEXTS, length=1, tokens=WORDS)
    lines = repr(found).splitlines()
    assert [line[:9] for line in lines] == [f"class {label}: " for label in found]
    for line, ranking in zip(lines, found.values(), strict=True):
        assert all(f"{phrase} ({probability:.2f})" in line for phrase, probability, _ in ranking[:3])
        assert len(ranking) <= 3 or line.endswith(f", {len(ranking) - 3} more")
    page = found._repr_html_()
    assert page.count("<tr>") == 1 + sum(map(len, found.values()))
    assert ">&lt;b&gt;</td>" in page
    assert repr(Phrases()) == "no phrases"


def test_phrases_are_ranked_by_their_mean_probability():
    found = analysis.phrases(network(), TEXTS, length=2, tokens=WORDS, num_phrases=3)
    assert set(found) == {0, 1}
    texts = {label: [text for text, _, _ in ranked] for label, ranked in found.items()}
    assert texts[1][0] == "fine good"
    assert texts[0][0] == "bad bad"
    (_, probability, times), *_ = found[1]
    assert probability == pytest.approx((alpha_of("fine")[0] + alpha_of("good")[0]) / 2, abs=1e-6)
    assert times == 1


@pytest.mark.parametrize("masked", [True, False])
def test_a_head_over_the_mean_classifies_a_centroid_as_a_text_that_stays_there(masked):
    ids = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(6, 2, mask_zero=masked)(ids)
    states = layers.SRSimpleRNN(2, 3, return_sequences=True)(embedded)
    dense = keras.layers.Dense(2)
    model = keras.Model(ids, dense(keras.layers.GlobalAveragePooling1D()(states)))
    model.layers[1].set_weights([PULL])
    recurrent = next(layer for layer in model.layers if isinstance(layer, layers.SRSimpleRNN))
    recurrent.cell.cell.set_weights([np.eye(2), np.zeros((2, 2)), np.zeros(2)])
    recurrent.cell.centroids.assign(CENTROIDS)
    found = analysis.prototypes(model, TEXTS, tokens=WORDS)
    kernel, bias = dense.get_weights()
    np.testing.assert_allclose(found.outputs, CENTROIDS @ kernel + bias, rtol=1e-5)


def test_a_head_that_reads_more_than_the_states_is_refused():
    ids = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(6, 2)(ids)
    state, memory = layers.SRSimpleRNN(2, 3)(embedded), keras.layers.GlobalAveragePooling1D()(embedded)
    model = keras.Model(ids, keras.layers.Dense(1)(keras.layers.Concatenate()([state, memory])))
    with pytest.raises(ValueError, match="depends on more than that of"):
        analysis.prototypes(model, TEXTS)


def test_probabilities_have_enough_digits_to_differ_and_ties_have_counts():
    apart = (("a", 0.99, 5), ("b", 0.98, 7))
    close = (("a", 0.99991, 5), ("b", 0.9996, 7))
    closer_to_half = (("a", 0.5112, 5), ("b", 0.5068, 7))
    equal = (("a", 0.999981, 7), ("b", 0.999984, 1), ("c", 0.98, 2))
    empty = np.zeros((4, 1))
    found = Prototypes((apart, close, equal, closer_to_half), np.array([0.4, 0.3, 0.2, 0.1]), empty, np.zeros(4, int))
    _, _, first, second, third, fourth = str(found).splitlines()
    assert "  a (0.99) b (0.98) " in first
    assert "  a (0.9999) b (0.9996) " in second
    assert "  a (1.0000, 7 times) b (1.0000, 1 time) c (0.9800) " in third
    assert "  a (0.511) b (0.507) " in fourth
    page = found._repr_html_()
    for shown in ("a (0.99)", "b (0.9996)", "a (1.0000, 7 times)"):
        assert shown in page
    assert repr(Phrases({0: equal, 1: close})).splitlines() == [
        "class 0: a (1.0000, 7 times), b (1.0000, 1 time), c (0.9800)",
        "class 1: a (0.9999), b (0.9996)",
    ]


def test_the_default_centroid_is_that_of_the_step_read_last():
    """Backwards, that is the first token of the text."""
    model, backwards = network(), network(go_backwards=True)
    for each in (model, backwards):  # all centroids are of one class
        each.layers[-1].set_weights([np.zeros((2, 1)), np.ones(1)])
    forwards = analysis.explain(model, TEXTS[1])
    found = analysis.explain(backwards, TEXTS[1][::-1])
    assert found.centroids == forwards.centroids == (1,)
    np.testing.assert_allclose(found.alpha, forwards.alpha[::-1], rtol=1e-5, atol=1e-7)


def test_refuses_invalid_arguments():
    explain, prototypes, phrases = analysis.explain, analysis.prototypes, analysis.phrases
    model, alone = network(), network(regularize_last_step=False)

    def refused(sentence, call, *arguments, **options):
        with pytest.raises(ValueError, match=sentence):
            call(*arguments, **{"tokens": WORDS, **options})

    for wrong in (np.zeros((2, 3)), np.zeros(3, int), np.zeros((0, 3), int)):
        refused(r"`inputs` must be integers \(batch, time\)", prototypes, model, wrong)
    for tokens in (WORDS[:3], dict(enumerate(WORDS[:3]))):
        refused("Received: 3 symbols, none with the id 3", explain, model, TEXTS[0], tokens=tokens)
    gru = keras.Sequential([keras.layers.Embedding(6, 2), keras.layers.GRU(2), keras.layers.Dense(1)])
    refused("which has none", prototypes, gru, TEXTS)
    for centroid in (5, -1, 3, 0.5, True):
        sentence = rf"`centroid` must be an integer in \[0, 3\). Received: centroid={centroid}. Leave centroids out"
        refused(sentence, explain, model, [1, 2, 3], centroids=[centroid])
    refused("must be a list of at least one centroid", explain, model, [1, 2, 3], centroids=[])
    for count in (-1, 0, 1.5, None, "3", True):
        for call, names in (
            (prototypes, ("num_tokens", "min_count")),
            (phrases, ("length", "num_phrases", "min_count")),
        ):
            for name in names:
                options = {**({"length": 2} if call is phrases else {}), name: count}
                sentence = re.escape(f"`{name}` must be a positive integer. Received: {name}={count!r}")
                refused(sentence, call, model, TEXTS, **options)
    for ask in (explain, prototypes):
        refused(
            "A text must come with an alphabet. Received: 'the good', without one", ask, model, "the good", tokens=None
        )
    for sequence, rest in (
        (TEXTS[:1], r"int64 of shape \(1, 5\)\. Pass its one row, ids\[0\]\."),
        (TEXTS, r"int64 of shape \(3, 5\)\. Pass one text, ids\[i\] of a batch\."),
        (3, r"int64 of shape \(\)\. Pass one text"),
        ([], r"float64 of shape \(0,\)\. Pass one text"),
    ):
        refused(
            rf"`sequence` must be the integers of one text, shape \(time,\)\. Received: {rest}",
            explain,
            model,
            sequence,
        )
    beyond = network("softmax")
    beyond.layers[-1].kernel.assign([[-3e38, 3e38], [3e38, -3e38]])
    refused("The outputs of the network must fit into floats", explain, beyond, TEXTS[0])
    refused("Received: a text without one. Pass centroids.", explain, alone, [1])
    assert np.isnan(explain(alone, [1], centroids=[0]).alpha).all()
    sentence = "Some step must be regularized. Received: texts without such a step."
    refused(sentence, prototypes, alone, [[1], [2]])
    refused("`by` must be one of 'highest', 'mean'. Received: by='median'", prototypes, model, TEXTS, by="median")

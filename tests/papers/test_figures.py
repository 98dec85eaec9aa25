"""What the papers' figures draw is what they are given."""

import io

import numpy as np
import pytest
from scipy.special import softmax

from keras_interp_rnn.analysis.isan.biases import BiasParts

pytest.importorskip("matplotlib")

from examples.papers import figures
from examples.papers._ngrams import NgramAgreement
from tests.figures.test_isan import ALPHABET, names_of, split_of
from tests.oracles import isan_reading as reading

SHOWN = ["␣", "a", "$", "<", "_"]
SENTENCE = [1, 3, 0, 2, 1, 0, 4, 0, 1, 1, 3]


def random(*shape):
    return np.random.default_rng(0).uniform(0.1, 2, shape)


def drawn(figure):
    """The axes of a figure that can be saved; a warning would fail the test."""
    figure.savefig(io.BytesIO(), dpi=30)
    return figure.axes


def heights(axis):
    return [bar.get_height() for bar in axis.patches]


def lines(axis):
    return [line.get_ydata() for line in axis.lines]


def test_the_prediction_stack_has_every_source_the_bias_and_their_sum():
    split = split_of()
    upper, lower, _ = drawn(figures.prediction_stack(split))
    rows = np.reshape(upper.images[0].get_array(), (8 + 2, 7, 5))
    np.testing.assert_array_equal(rows[:8], split.values)
    np.testing.assert_array_equal(rows[8], np.tile(split.bias, (7, 1)))
    np.testing.assert_allclose(rows[:9].sum(axis=0), rows[9], atol=1e-12)
    read = ["␣", "a", "$", "␣", "<", "_", "a"]
    assert names_of(upper.get_yticklabels()) == ["$h_0$", *read, "bias", "logits"]
    assert names_of(lower.get_xticklabels()) == read
    p = softmax(split.logits, axis=1)
    np.testing.assert_allclose(heights(lower), p.ravel(), rtol=1e-12)
    assert names_of(lower.texts) == [SHOWN[winner] for winner in p.argmax(axis=1)]


@pytest.mark.parametrize("targets", [None, range(1, 11)])
def test_word_contributions_are_the_norms_of_words_and_what_is_left_without_the_old_ones(targets):
    split = split_of(SENTENCE, targets)
    upper, lower, *_ = drawn(figures.word_contributions(split))
    words, starts, steps = reading.by_word(split.values, SENTENCE, 0), [1, 3, 6, 8], len(split.targets)
    expected = [
        [reading.length(words[w + 1, t]) if t + 1 >= starts[w] else np.nan for t in range(steps)] for w in range(4)
    ]
    np.testing.assert_allclose(upper.images[0].get_array().filled(np.nan), expected, rtol=1e-12)
    assert [line.get_label() for line in lower.lines] == ["all words", "the last 3", "the last 2", "this word alone"]
    for line, count in zip(lower.lines, (4, 3, 2, 1), strict=True):
        probabilities = []
        for t in range(10):
            current = max(word for word in range(4) if starts[word] <= t + 1)
            kept = range(max(0, current - count + 1), current + 1)
            logits = split.bias + sum(words[word + 1, t] for word in kept)
            probabilities.append(reading.softmax(logits)[SENTENCE[t + 1]])
        np.testing.assert_allclose(line.get_ydata(), probabilities, rtol=1e-12)


def test_norms_of_biases_stand_at_the_frequencies():
    norms, log_p = BiasParts(*random(3, 5)), -random(5)
    for axis, norm in zip(drawn(figures.bias_norms(norms, log_p, names=ALPHABET)), norms, strict=True):
        assert names_of(axis.texts) == SHOWN
        np.testing.assert_array_equal([text.get_position() for text in axis.texts], np.transpose([log_p, norm]))
        assert axis.get_title().endswith(f"correlation {reading.correlation(log_p, norm):+.2f}")


def test_cosines_of_biases_stand_in_the_order_of_space_vowels_consonants():
    cosines, order = random(3, 5, 5), [4, 1, 0, 2, 3]
    *axes, _ = drawn(figures.bias_cosines(cosines, ["x", "i", "_", "$", " "]))
    for axis, cosine in zip(axes, cosines, strict=True):
        np.testing.assert_array_equal(axis.images[0].get_array(), 1 - cosine[np.ix_(order, order)])
        assert names_of(axis.get_xticklabels()) == names_of(axis.get_yticklabels()) == ["␣", "i", "x", "_", "$"]
        assert [line.get_xdata()[0] for line in axis.lines[:1]] == [1.5]


def test_the_agreement_with_ngrams_has_bars_side_by_side_and_letters_by_correlation():
    correlations, baseline = random(2, 5)
    correlations[1] = baseline[1] = np.nan  # nothing follows this symbol
    found = NgramAgreement(random(5), random(5) / 2, random(5, 5), random(5, 5) / 3, 0.875, correlations, baseline)
    left, middle, right = drawn(figures.ngram_agreement(found, ALPHABET))
    assert heights(left) == [*found.unigram, *found.counted_unigram]
    assert heights(middle) == [*found.bigram[0], *found.counted_bigram[0]]
    assert [left.get_title(), middle.get_title()] == [
        "unigrams: correlation 0.88",
        f"after ␣: correlation {correlations[0]:.2f}",
    ]
    assert names_of(right.texts) == ["␣", "$", "<", "_"]
    known = np.transpose([baseline, correlations])[[0, 2, 3, 4]]
    np.testing.assert_array_equal([text.get_position() for text in right.texts], known)


def test_a_change_of_basis_has_matrices_and_states_as_columns():
    matrices, states = (random(4, 4), random(6, 6)), (random(7, 3), random(7, 5))
    parts = [("readout", 2), ("computation", 2)]
    axes = drawn(figures.change_of_basis(matrices, states, symbol="[", tokens="()[]a)(", parts=parts))
    for axis, matrix, path in zip((axes[0], axes[2]), matrices, states, strict=True):
        np.testing.assert_array_equal(axis.images[0].get_array(), matrix.T)
        np.testing.assert_array_equal(axes[axes.index(axis) + 1].images[0].get_array(), np.c_[path, np.ones(7)].T)
    assert names_of(axes[1].get_xticklabels()) == list("()[]a)(")
    assert names_of(axes[2].texts) == names_of(axes[3].texts) == ["readout", "computation"]


def test_spectra_have_a_line_for_each_network_with_its_shares():
    spectra = {"ISAN, 4": [0.5, 0.3, 0.2, 0.0], "GRU": np.array([0.9, 0.1])}
    [axis] = drawn(figures.state_spectra(spectra))
    assert names_of(axis.get_legend().get_texts()) == list(spectra)
    for line, shares in zip(axis.lines, spectra.values(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(shares) + 1))
        np.testing.assert_array_equal(line.get_ydata(), np.maximum(shares, 1e-12))


def test_temperatures_have_a_row_each_and_a_column_for_every_symbol():
    rng = np.random.default_rng(0)
    alphas = {2.5: rng.dirichlet(np.ones(12), size=3), 0.5: rng.dirichlet(np.ones(12), size=3)}
    axes = np.reshape(drawn(figures.temperatures(alphas, ["S", "1", "0"])), (2, 3))
    for row, alpha in zip(axes, alphas.values(), strict=True):
        for axis, probabilities in zip(row, alpha, strict=True):
            bars = sorted(axis.patches, key=lambda bar: bar.get_x())
            np.testing.assert_array_equal([bar.get_height() for bar in bars], probabilities)
    assert [[axis.get_title() for axis in row] for row in axes] == [["after S", "after 1", "after 0"], [""] * 3]
    assert [[axis.get_ylabel() for axis in row] for row in axes] == [["τ = 2.5", "", ""], ["τ = 0.5", "", ""]]


def test_state_paths_have_a_panel_for_each_name_and_a_line_for_each_entry():
    states = {"h": np.random.default_rng(0).normal(size=(4, 3)), "c": np.zeros((4, 2))}
    upper, lower = drawn(figures.state_paths(states, "(())"))
    assert (len(upper.lines), len(lower.lines)) == (3, 2)
    np.testing.assert_array_equal([line.get_ydata() for line in upper.lines], states["h"].T)
    assert (upper.get_ylabel(), names_of(lower.get_xticklabels())) == ("h", list("(())"))


def test_curves_are_the_numbers_given():
    by_steps, by_hours = drawn(figures.metric_progress({"GRU": ([1, 2], [0.1, 0.3], [0.2, 0.4])}))
    assert [axis.lines[0].get_xydata().tolist() for axis in (by_steps, by_hours)] == [
        [[1, 0.2], [2, 0.4]],
        [[0.1, 0.2], [0.3, 0.4]],
    ]
    [axis] = drawn(figures.error_curves({"k = 2": ([1, 2, 3], [0.4, 0.1, 0.2]), "k = 5": ([2, 4], [0.3, 0.2])}))
    assert [line.tolist() for line in lines(axis)] == [[40, 10, 10], [40, 10, 20], [30, 20], [30, 20]]
    [axis] = drawn(figures.counts_read({"LSTM": [0.5, 1.5], "SR-LSTM-P": [0, 1, 2]}))
    assert [list(line) for line in lines(axis)] == [[0.5, 1.5], [0, 1, 2], [0, 2]]
    assert names_of(axis.get_legend().get_texts()) == ["LSTM", "SR-LSTM-P"]


def test_gate_entries_are_the_rows_of_the_recurrent_weights():
    inputs, recurrent = random(6, 4), random(4, 4)
    upper, lower, *_ = drawn(figures.latent_weights(inputs, recurrent, blocks={"item": 4, "page": 2}))
    np.testing.assert_array_equal(upper.images[0].get_array(), inputs)
    np.testing.assert_array_equal(lower.images[0].get_array(), recurrent.T)
    assert names_of(upper.get_yticklabels()) == ["item", "page"]


def test_pixel_maps_are_a_grid_of_named_images():
    values = random(2, 3, 5, 4)
    *images, bar = drawn(figures.pixel_maps(values, ["0", "1"], columns=["a", "b", "c"], label="share", max_value=0.5))
    for axis, wanted in zip(images, values.reshape(6, 5, 4), strict=True):
        np.testing.assert_array_equal(axis.images[0].get_array(), wanted)
        assert axis.images[0].get_clim() == (0, 0.5)
    assert [axis.get_title() for axis in images] == ["a", "b", "c", "", "", ""]
    assert [axis.get_ylabel() for axis in images] == ["0", "", "", "1", "", ""]
    assert bar.get_ylabel() == "share"


def test_the_feature_map_has_a_colour_for_each_label():
    points = random(5, 2)
    [axis] = drawn(figures.feature_map(points, ["a", "b", "a", "a", "b"]))
    found = {collection.get_label(): collection.get_offsets() for collection in axis.collections}
    assert list(found) == ["a", "b"]
    np.testing.assert_array_equal(found["b"], points[[1, 4]])

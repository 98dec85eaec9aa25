"""Figures of input-switched affine networks: what is drawn is what was given, and odd names do no harm."""

import io
import itertools

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib.colors
from matplotlib.backends.backend_agg import FigureCanvasAgg

from keras_interp_rnn import figures
from keras_interp_rnn.analysis.isan.biases import BiasParts
from keras_interp_rnn.analysis.isan.contributions import Contributions
from keras_interp_rnn.analysis.isan.ngram_agreement import NgramAgreement
from keras_interp_rnn.analysis.isan.timescales import Timescales, TwoExponentials
from keras_interp_rnn.figures.isan import BLUE, GREY, ORANGE, RED
from tests.oracles import isan_reading as reading

ALPHABET = " a$<_"
TEXT = [0, 1, 2, 0, 3, 4, 1]


def split_of(text=TEXT, targets=None, alphabet=ALPHABET, outputs=5, seed=0):
    """Contributions as they come out of `analysis.contributions`, with random terms."""
    rng = np.random.default_rng(seed)
    targets = np.arange(1, len(text) + 1) if targets is None else np.array(targets)
    values = rng.normal(size=(len(text) + 1, len(targets), outputs))
    values[np.arange(len(text) + 1)[:, None] > targets] = 0
    bias = rng.normal(size=outputs)
    return Contributions(np.array(text), targets, values, bias, bias + values.sum(axis=0), 0.0, alphabet)


def saved(figure):
    """The figure, drawn; a warning would fail the test."""
    figure.savefig(io.BytesIO(), dpi=30)
    return figure


def names_of(labels):
    return [label.get_text() for label in labels]


def bars_of(axis, color):
    """Bars of one colour in the order they were drawn."""
    wanted = matplotlib.colors.to_rgba(color)
    return [bar for bar in axis.patches if bar.get_facecolor() == wanted]


def lines_of(axis):
    return {line.get_label(): line for line in axis.lines}


def legend_of(axis):
    return names_of(axis.get_legend().get_texts())


@pytest.mark.matrix
def test_spectra_have_a_line_for_each_network_with_its_shares():
    spectra = {"ISAN, 4": [0.5, 0.3, 0.2, 0.0], "$GRU": np.array([0.9, 0.1])}
    [axis] = saved(figures.state_spectra(spectra)).axes
    assert legend_of(axis) == list(spectra)
    for line, shares in zip(axis.lines, spectra.values(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(shares) + 1))
        np.testing.assert_array_equal(line.get_ydata(), np.maximum(shares, 1e-12))
    assert (axis.get_yscale(), axis.get_ylim()) == ("log", (1e-8, 1))
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("principal direction", "fraction of variance")


@pytest.mark.parametrize("targets", [None, [2, 5, 7]])
def test_the_prediction_stack_has_every_source_the_bias_and_their_sum(targets):
    split = split_of(targets=targets)
    upper, lower, colors = saved(figures.prediction_stack(split)).axes
    [image] = upper.images
    steps = len(split.targets)
    drawn = np.reshape(image.get_array(), (8 + 2, steps, 5))
    np.testing.assert_array_equal(drawn[:8], split.values)
    np.testing.assert_array_equal(drawn[8], np.tile(split.bias, (steps, 1)))
    np.testing.assert_array_equal(drawn[9], split.logits)
    np.testing.assert_allclose(drawn[:9].sum(axis=0), drawn[9], atol=1e-12)
    assert names_of(upper.get_yticklabels()) == ["$h_0$", "␣", "a", "$", "␣", "<", "_", "a", "bias", "logits"]
    limit = np.abs(drawn).max()
    assert (image.norm.vmin, image.norm.vmax) == (-limit, limit)
    for value, strongest in ((1.0, "blue"), (0.0, "red")):
        red, _, blue, _ = image.cmap(value)
        assert strongest == ("blue" if blue > red else "red")
    assert (upper.get_ylabel(), colors.get_ylabel()) == ("source", "nats")
    p = np.array([reading.softmax(logits) for logits in split.logits])
    np.testing.assert_allclose([bar.get_height() for bar in lower.patches], p.ravel(), rtol=1e-12)
    np.testing.assert_allclose([bar.get_x() + 0.5 for bar in lower.patches], np.arange(steps * 5), atol=1e-12)
    winners = p.argmax(axis=1)
    assert names_of(lower.texts) == ["␣" if winner == 0 else ALPHABET[winner] for winner in winners]
    for text, t in zip(lower.texts, range(steps), strict=True):
        place, height = text.get_position()
        assert place == 5 * t + winners[t]
        assert 0 < height - p[t].max() < 0.2
    assert lower.get_xticks().tolist() == [5 * t + 2 for t in range(steps)]
    read = ["␣", "a", "$", "␣", "<", "_", "a"]
    assert names_of(lower.get_xticklabels()) == [read[step - 1] for step in split.targets]
    borders = [5 * t - 0.5 for t in range(1, steps)]
    for axis in (upper, lower):
        assert [line.get_xdata()[0] for line in axis.lines] == borders


def test_a_stack_of_a_single_symbol_or_without_names_can_be_drawn():
    figure = saved(figures.prediction_stack(split_of([3], alphabet=None, outputs=2)))
    assert [name.strip() for name in names_of(figure.axes[0].get_yticklabels())] == ["$h_0$", "3", "bias", "logits"]
    nothing = Contributions(np.array([0]), np.array([1]), np.zeros((2, 1, 3)), np.zeros(3), np.zeros((1, 3)), 0)
    assert saved(figures.prediction_stack(nothing)).axes[0].images[0].norm.vmax == 1


@pytest.mark.parametrize(("target", "step"), [(-1, 7), (2, 3)])
def test_the_column_shows_one_target_by_symbol_and_by_word(target, step):
    split = split_of(seed=1)
    left, middle, right, colors = saved(figures.contribution_column(split, target)).axes
    first, second = split.winner(target)
    winner, runner = split.name(first), split.name(second)
    [image] = left.images
    np.testing.assert_array_equal(image.get_array(), split.values[: step + 1, target])
    assert image.norm.vmax == -image.norm.vmin == np.abs(split.values[: step + 1, target]).max()
    sources = ["$h_0$", "␣", "a", "$", "␣", "<", "_", "a"][: step + 1]
    assert names_of(left.get_yticklabels()) == sources
    assert names_of(left.get_xticklabels()) == ["␣", "a", "$", "<", "_"]
    assert names_of(middle.get_yticklabels()) == sources
    for axis in (middle, right):
        assert legend_of(axis) == [f"logit of {winner}", f"logit of {runner}"]
        assert axis.yaxis_inverted()
        assert axis.get_xlabel() == "nats"
    for color, output in ((ORANGE, first), (RED, second)):
        bars = bars_of(middle, color)
        np.testing.assert_array_equal([bar.get_width() for bar in bars], split.values[: step + 1, target, output])
        offset = -0.2 if color == ORANGE else 0.2
        places = [bar.get_y() + bar.get_height() / 2 for bar in bars]
        np.testing.assert_allclose(places, np.arange(step + 1) + offset, atol=1e-12)
        words = reading.by_word(split.values, TEXT, 0)[: 3 if step > 3 else 2, target, output]
        bars = [bar.get_width() for bar in bars_of(right, color)]
        np.testing.assert_allclose(bars, [*words, split.bias[output]], atol=1e-12)
        np.testing.assert_allclose(sum(bars), split.logits[target, output], atol=1e-12)
    words = ["$h_0$", r"␣a\$", "␣<_a", "bias"] if step > 3 else ["$h_0$", r"␣a\$", "bias"]
    assert names_of(right.get_yticklabels()) == words
    assert (middle.get_title(), right.get_title(), colors.get_ylabel()) == ("by symbol", "by word", "nats")


def test_the_column_splits_words_at_the_separator_it_is_given():
    [_, _, right, _] = figures.contribution_column(split_of(), separator=1).axes
    assert names_of(right.get_yticklabels()) == ["$h_0$", "␣", r"a\$␣<_", "a", "bias"]


def test_words_with_two_dollars_are_no_formulas():
    split = split_of([0, 2, 1, 2, 0, 2, 4, 2])
    column, words = saved(figures.contribution_column(split)), saved(figures.word_contributions(split))
    assert names_of(column.axes[2].get_yticklabels())[1:3] == [r"␣\$a\$", r"␣\$_\$"]
    assert names_of(words.axes[0].get_yticklabels()) == [r"␣\$a\$", r"␣\$_\$"]


def found_timescales(counts=(80, 49, 50, 3)):
    rng = np.random.default_rng(0)
    decay = np.exp(-np.arange(9) / 3.0)
    medians = rng.uniform(1, 4, (3, len(counts)))
    positions = np.arange(1, len(counts) + 1)
    return Timescales(np.arange(9), decay, rng.uniform(1, 4, 10), 1.25, positions, np.array(counts), *medians)


@pytest.mark.parametrize("fit", [None, TwoExponentials((0.7, 0.25), (2.51, 33.3), 0.1, 0.2)])
def test_timescales_are_drawn_as_found(fit):
    found = found_timescales()
    decay, position, history = saved(figures.timescales(found, fit)).axes
    assert len(decay.lines) == (1 if fit is None else 2)
    np.testing.assert_array_equal(decay.lines[0].get_xydata(), np.transpose([found.ages, found.decay]))
    assert decay.get_yscale() == "log"
    if fit is not None:
        expected = [0.7 * np.exp(-age / 2.51) + 0.25 * np.exp(-age / 33.3) for age in range(9)]
        np.testing.assert_allclose(decay.lines[1].get_ydata(), expected, rtol=1e-12)
        assert legend_of(decay) == ["mean norm", "two exponentials, 2.5 and 33.3 symbols"]
    # Medians of fewer than 50 targets say little.
    lines = lines_of(position)
    for label, medians in (
        ("all contributions", found.median_all),
        ("all but the last space", found.median_without),
        ("the last space alone", found.median_only),
    ):
        assert lines[label].get_xdata().tolist() == [1, 3]
        assert lines[label].get_ydata().tolist() == medians[[0, 2]].tolist()
    assert len(lines) == 3
    assert position.get_ylim()[0] == 0
    whole = lines_of(history)["all of it: 1.250 bits"]
    assert whole.get_ydata() == [1.25, 1.25]
    assert whole.get_color() == GREY
    np.testing.assert_array_equal(history.lines[0].get_xydata(), np.transpose([np.arange(10), found.history]))
    assert [axis.get_title(loc="left") for axis in (decay, position, history)] == ["a", "b", "c"]


@pytest.mark.parametrize("counts", [(), (3, 2)])
def test_timescales_of_a_text_with_few_words_have_no_medians(counts):
    [_, position, _] = figures.timescales(found_timescales(counts)).axes
    assert [len(line.get_xdata()) for line in position.lines] == [0, 0, 0]


def test_timescales_of_a_text_without_words_can_be_saved():
    saved(figures.timescales(found_timescales(())))


SENTENCE = [1, 3, 0, 2, 1, 0, 4, 0, 1, 1, 3]


@pytest.mark.parametrize("targets", [None, range(1, 11)])
def test_word_contributions_are_the_norms_of_words_and_what_is_left_without_the_old_ones(targets):
    split = split_of(SENTENCE, targets)
    steps = len(split.targets)
    figure = saved(figures.word_contributions(split))
    upper, lower, _ = figure.axes
    words = reading.by_word(split.values, SENTENCE, 0)
    starts = [1, 3, 6, 8]
    expected = [
        [reading.length(words[w + 1, t]) if t + 1 >= starts[w] else np.nan for t in range(steps)] for w in range(4)
    ]
    np.testing.assert_allclose(upper.images[0].get_array().filled(np.nan), expected, rtol=1e-12)
    assert names_of(upper.get_yticklabels()) == ["a<", r"␣\$a", "␣_", "␣aa<"]
    read = ["a", "<", "␣", "$", "a", "␣", "_", "␣", "a", "a", "<"]
    assert names_of(lower.get_xticklabels()) == read[:steps]
    lines = lines_of(lower)
    assert list(lines) == ["all words", "the last 3", "the last 2", "this word alone"]
    assert sorted(names_of(figure.legends[0].get_texts())) == sorted(lines)
    for label, count in (("all words", 4), ("the last 3", 3), ("the last 2", 2), ("this word alone", 1)):
        probabilities = []
        for t in range(10):
            current = max(word for word in range(4) if starts[word] <= t + 1)
            kept = range(max(0, current - count + 1), current + 1)
            logits = split.bias + sum(words[word + 1, t] for word in kept)
            probabilities.append(reading.softmax(logits)[SENTENCE[t + 1]])
        np.testing.assert_array_equal(lines[label].get_xdata(), np.arange(10))
        np.testing.assert_allclose(lines[label].get_ydata(), probabilities, rtol=1e-12)
    shades = [lines[label].get_alpha() for label in lines]
    assert shades == sorted(shades, reverse=True)
    assert shades[0] == 1


@pytest.mark.parametrize(("fewest", "labels"), [(2, ["all words", "the last 3", "the last 2"]), (4, ["all words"])])
def test_lines_of_too_few_words_are_left_out(fewest, labels):
    [_, lower, _] = figures.word_contributions(split_of(SENTENCE), min_words=fewest).axes
    assert list(lines_of(lower)) == labels


@pytest.mark.parametrize(
    ("text", "labels"), [([1, 3], ["all words"]), ([1, 0, 3], ["all words", "this word alone"]), ([1], ["all words"])]
)
def test_a_text_of_one_or_two_words_can_be_drawn(text, labels):
    [upper, lower, _] = saved(figures.word_contributions(split_of(text))).axes
    assert list(lines_of(lower)) == labels
    assert len(upper.images[0].get_array()) == text.count(0) + 1


def test_words_begin_at_the_separator_that_is_given():
    [upper, *_] = figures.word_contributions(split_of(TEXT), separator=1).axes
    assert names_of(upper.get_yticklabels()) == ["␣", r"a\$␣<_", "a"]


def parts_of(shape, seed=0):
    rng = np.random.default_rng(seed)
    return BiasParts(*rng.uniform(0.5, 2, (3, *shape)))


TITLES = ["whole bias", "readout subspace", "computational subspace"]


def test_norms_of_biases_have_a_letter_at_its_frequency_and_length():
    norms, log_p = parts_of((5,)), -np.array([1.0, 3.0, 2.5, 0.5, 4.0])
    axes = saved(figures.bias_norms(norms, log_p.tolist(), names=ALPHABET)).axes
    for axis, norm, title in zip(axes, norms, TITLES, strict=True):
        assert names_of(axis.texts) == ["␣", "a", "$", "<", "_"]
        np.testing.assert_array_equal([text.get_position() for text in axis.texts], np.transpose([log_p, norm]))
        assert axis.get_title() == f"{title}: correlation {reading.correlation(log_p, norm):+.2f}"
        (low, high), (bottom, top) = axis.get_xlim(), axis.get_ylim()
        assert low < log_p.min() < log_p.max() < high
        assert bottom < norm.min() < norm.max() < top
        assert (axis.get_xlabel(), axis.get_ylabel()) == ("log probability, nats", "norm")


@pytest.mark.parametrize(
    ("names", "first", "order", "cut"),
    [
        (" a$e_", " aeiou", [0, 1, 3, 2, 4], 3),
        (["x", "i", "_", "$", " "], " aeiou", [4, 1, 0, 2, 3], 2),
        (["x", "i", "_", "$", " "], "_x", [2, 0, 1, 3, 4], 2),
        ("bcdfg", " aeiou", [0, 1, 2, 3, 4], 0),
    ],
)
def test_cosines_of_biases_stand_in_the_order_of_space_vowels_consonants(names, first, order, cut):
    cosines = parts_of((5, 5))
    *axes, colors = figures.bias_cosines(cosines, names, first=first).axes
    shown = ["␣" if names[i] == " " else names[i] for i in order]
    for axis, cosine, title in zip(axes, cosines, TITLES, strict=True):
        [image] = axis.images
        expected = [[1 - cosine[i, j] for j in order] for i in order]
        np.testing.assert_array_equal(image.get_array(), expected)
        # White is 0, aligned; black is 2.
        assert (image.norm.vmin, image.norm.vmax) == (0, 2)
        assert image.cmap(0.0)[:3] == (1, 1, 1)
        assert image.cmap(1.0)[:3] == (0, 0, 0)
        assert names_of(axis.get_xticklabels()) == names_of(axis.get_yticklabels()) == shown
        assert axis.get_title() == title
        assert [line.get_xdata()[0] for line in axis.lines[:1]] == [cut - 0.5]
        assert [line.get_ydata()[0] for line in axis.lines[1:]] == [cut - 0.5]
    assert colors.get_ylabel() == "cosine distance"


def test_cosines_of_symbols_with_odd_names_can_be_saved():
    saved(figures.bias_cosines(parts_of((5, 5)), ALPHABET, first="$_"))


def test_cosines_begin_with_the_space_and_the_vowels_by_default():
    axes = figures.bias_cosines(parts_of((5, 5)), "ua x_").axes
    assert names_of(axes[0].get_xticklabels()) == ["␣", "a", "u", "x", "_"]


CHARACTERS = {
    27: " abcdefghijklmnopqrstuvwxyz",
    65: "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    # All of a keyboard, the widest among them, and some that are shown by four characters.
    100: "\t\n\r\x0b\x0c" + "".join(map(chr, range(32, 127))),
}
WORDS = [1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8, 9]
DRAWN = {
    "column": lambda names: figures.contribution_column(split_of(alphabet=names, outputs=len(names))),
    "stack": lambda names: figures.prediction_stack(split_of(alphabet=names, outputs=len(names))),
    "words": lambda names: figures.word_contributions(split_of(WORDS, alphabet=names, outputs=len(names))),
    "cosines": lambda names: figures.bias_cosines(parts_of((len(names),) * 2), names),
    "agreement": lambda names: figures.ngram_agreement(agreement(size=len(names)), names),
}


@pytest.mark.parametrize("count", CHARACTERS)
@pytest.mark.parametrize("name", DRAWN)
def test_names_do_not_overlap_and_can_be_read(name, count):
    assert len(CHARACTERS[count]) == count
    figure = DRAWN[name](CHARACTERS[count])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    most = 0
    for axis in figure.axes:
        for ticks in (axis.get_xticklabels(), axis.get_yticklabels()):
            labels = [text for text in ticks if text.get_text() and text.get_visible()]
            boxes = [text.get_window_extent(renderer) for text in labels]
            most = max(most, len(boxes))
            assert all(text.get_fontsize() >= 7 for text in labels)
            for one, next_one in itertools.pairwise(boxes):
                assert not one.overlaps(next_one), (name, count, axis.get_title(), one, next_one)
    assert most >= (count if name in ("column", "cosines", "agreement") else 7), "every name is drawn"


def test_figures_of_27_letters_have_the_size_of_a_page():
    sizes = [DRAWN[name](CHARACTERS[27]).get_size_inches() for name in DRAWN]
    assert max(width for width, _ in sizes) <= 14.5


def agreement(unknown=(), size=5):
    rng = np.random.default_rng(0)
    bigram, counted = rng.dirichlet(np.ones(size), (2, size))
    correlations, baseline = rng.uniform(-0.3, 1, (2, size))
    for array in (counted, correlations, baseline):
        array[list(unknown)] = np.nan
    unigram, counted_unigram = rng.dirichlet(np.ones(size), 2)
    return NgramAgreement(unigram, counted_unigram, bigram, counted, 0.875, correlations, baseline)


@pytest.mark.parametrize("symbol", [0, 2])
def test_the_agreement_with_ngrams_has_bars_side_by_side_and_letters_by_correlation(symbol):
    found = agreement()
    left, middle, right = saved(figures.ngram_agreement(found, ALPHABET, symbol=symbol)).axes
    names = ["␣", "a", "$", "<", "_"]
    for axis, ours, counted in (
        (left, found.unigram, found.counted_unigram),
        (middle, found.bigram[symbol], found.counted_bigram[symbol]),
    ):
        for color, heights, offset in ((BLUE, ours, -0.2), (ORANGE, counted, 0.2)):
            bars = bars_of(axis, color)
            np.testing.assert_array_equal([bar.get_height() for bar in bars], heights)
            places = [bar.get_x() + bar.get_width() / 2 for bar in bars]
            np.testing.assert_allclose(places, np.arange(5) + offset, atol=1e-12)
        assert names_of(axis.get_xticklabels()) == names
        assert legend_of(axis) == ["network", "counted"]
        assert axis.get_ylabel() == "probability"
    assert left.get_title() == "unigrams: correlation 0.88"
    assert middle.get_title() == f"after {names[symbol]}: correlation {found.bigram_correlations[symbol]:.2f}"
    assert names_of(right.texts) == names
    expected = np.transpose([found.unigram_baseline, found.bigram_correlations])
    np.testing.assert_array_equal([text.get_position() for text in right.texts], expected)
    assert right.get_xlim() == right.get_ylim()
    assert right.get_xlim()[0] < expected.min() < 1 < right.get_xlim()[1]
    assert right.get_xlabel() == "correlation of unigrams with bigrams"
    assert right.get_ylabel() == "correlation of the network with bigrams"


def test_symbols_that_nothing_follows_have_no_place_among_the_correlations():
    found = agreement(unknown=[1, 3])
    right = figures.ngram_agreement(found, list(ALPHABET), symbol=1).axes[2]
    assert names_of(right.texts) == ["␣", "$", "_"]
    expected = np.transpose([found.unigram_baseline, found.bigram_correlations])[[0, 2, 4]]
    np.testing.assert_array_equal([text.get_position() for text in right.texts], expected)
    assert right.get_xlim()[0] < expected.min()


def test_bits_by_units_has_a_line_for_each_curve_and_one_for_the_network_before():
    figure = figures.bits_by_units([128, 192], {"truncated": [1.7, 1.6], "fine-tuned": [1.5, 1.4]}, before=(216, 1.3))
    [axis] = figure.axes
    assert [list(line.get_ydata()) for line in axis.lines] == [[1.3, 1.3], [1.7, 1.6], [1.5, 1.4]]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == [
        "before: 216 units, 1.300 bits",
        "truncated",
        "fine-tuned",
    ]
    with pytest.raises(ValueError, match=r"a number for each size. Received: 'a', \(1,\) for \(2,\)"):
        figures.bits_by_units([1, 2], {"a": [1.0]})

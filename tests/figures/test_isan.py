"""Figures of input-switched affine networks: what is drawn is what was given, and odd names do no harm."""

import io
import itertools

import numpy as np
import pytest

from keras_interp_rnn.analysis.isan.contributions import Contributions
from keras_interp_rnn.analysis.isan.timescales import Timescales, TwoExponentials

pytest.importorskip("matplotlib")

import matplotlib.colors
from matplotlib.backends.backend_agg import FigureCanvasAgg

from keras_interp_rnn import figures
from keras_interp_rnn.figures.isan import AGAINST, FOR, GREY
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
    rgba = matplotlib.colors.to_rgba(color)
    return [bar for bar in axis.patches if bar.get_facecolor() == rgba]


def lines_of(axis):
    return {line.get_label(): line for line in axis.lines}


def legend_of(axis):
    return names_of(axis.get_legend().get_texts())


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
    for color, output in ((FOR, first), (AGAINST, second)):
        bars = bars_of(middle, color)
        np.testing.assert_array_equal([bar.get_width() for bar in bars], split.values[: step + 1, target, output])
        offset = -0.2 if color == FOR else 0.2
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
    column = saved(figures.contribution_column(split))
    assert names_of(column.axes[2].get_yticklabels())[1:3] == [r"␣\$a\$", r"␣\$_\$"]


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
    [_, position, _] = saved(figures.timescales(found_timescales(counts))).axes
    assert [len(line.get_xdata()) for line in position.lines] == [0, 0, 0]


CHARACTERS = {
    27: " abcdefghijklmnopqrstuvwxyz",
    65: "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    # All of a keyboard, the widest among them, and some that are shown by four characters.
    100: "\t\n\r\x0b\x0c" + "".join(map(chr, range(32, 127))),
}


@pytest.mark.parametrize("count", CHARACTERS)
def test_names_do_not_overlap_and_can_be_read(count):
    names = CHARACTERS[count]
    assert len(names) == count
    figure = figures.contribution_column(split_of(alphabet=names, outputs=count))
    assert count > 27 or figure.get_size_inches()[0] <= 14.5, "27 letters have the size of a page"
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
                assert not one.overlaps(next_one), (axis.get_title(), one, next_one)
    assert most >= count, "every name is drawn"


def test_a_symbol_of_two_dollars_is_no_formula():
    saved(figures.contribution_column(split_of([0, 1], alphabet=["$^$", "b", "c", "d", "e"])))


def test_the_last_word_of_a_column_ends_where_the_target_is():
    split = split_of([0, 1, 3], alphabet=" ab<_")
    assert names_of(figures.contribution_column(split, target=1).axes[2].get_yticklabels())[1] == "␣a"


def test_a_figure_of_an_empty_text_is_refused():
    empty = Contributions(np.zeros(0, int), np.zeros(0, int), np.zeros((1, 0, 5)), np.zeros(5), np.zeros((0, 5)), 0.0)
    with pytest.raises(ValueError, match="[Ee]mpty|at least one"):
        figures.contribution_column(empty)

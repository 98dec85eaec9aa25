"""Figures of state-regularized networks: what is drawn is what was given."""

import matplotlib.colors
import numpy as np
import pytest

from keras_interp_rnn import figures


def test_the_transition_map_has_a_row_for_each_centroid():
    alpha = np.random.default_rng(0).dirichlet(np.ones(3), size=5)
    figure = figures.transition_map(alpha, "abcde")
    [axis, _] = figure.axes
    np.testing.assert_array_equal(axis.images[0].get_array(), alpha.T)
    assert [label.get_text() for label in axis.get_xticklabels()] == list("abcde")
    with pytest.raises(ValueError, match="one row for each of 4 tokens. Received: shape"):
        figures.transition_map(alpha, "abcd")


def test_temperatures_have_a_row_each_and_a_column_for_every_token():
    rng = np.random.default_rng(0)
    alphas = {2.5: rng.dirichlet(np.ones(12), size=3), 0.5: rng.dirichlet(np.ones(12), size=3).tolist()}
    figure = figures.temperatures(alphas, ["S", "1", "0"])
    assert len(figure.axes) == 2 * 3
    axes = np.reshape(figure.axes, (2, 3))
    for row, alpha in zip(axes, alphas.values(), strict=True):
        for axis, probabilities in zip(row, alpha, strict=True):
            bars = sorted(axis.patches, key=lambda bar: bar.get_x())
            np.testing.assert_array_equal([bar.get_height() for bar in bars], probabilities)
            np.testing.assert_allclose([bar.get_x() + bar.get_width() / 2 for bar in bars], np.arange(12))
            assert axis.get_ylim() == (0, 1.05)
            assert axis.get_xticks().tolist() == [0, 2, 4, 6, 8, 10]
    assert [[axis.get_title() for axis in row] for row in axes] == [["after S", "after 1", "after 0"], [""] * 3]
    assert [[axis.get_ylabel() for axis in row] for row in axes] == [["τ = 2.5", "", ""], ["τ = 0.5", "", ""]]
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("centroid", "probability")


def test_a_single_temperature_and_token_make_a_single_panel():
    [axis] = figures.temperatures({1: [[0.25, 0.75]]}, ["S"]).axes
    assert [bar.get_height() for bar in axis.patches] == [0.25, 0.75]
    assert (axis.get_title(), axis.get_ylabel()) == ("after S", "τ = 1")


@pytest.mark.parametrize("tokens", [["S", "1"], ["S", "1", "0", "0"]])
def test_temperatures_with_another_number_of_tokens_are_refused(tokens):
    alpha = np.random.default_rng(0).dirichlet(np.ones(4), size=len(tokens))
    with pytest.raises(ValueError, match=rf"one row for each of {len(tokens)} tokens. Received: shape \(3, 4\)"):
        figures.temperatures({0.5: alpha, 1.0: np.full((3, 4), 0.25)}, tokens)


def test_the_token_map_shades_every_token_by_its_weight():
    texts = [["skip", "it", "$5"], ["great"]]
    figure = figures.token_map(texts, [[0.0, 0.5, 1.0], [0.25]], titles=["Negative", "Positive"])
    [axis] = figure.axes
    drawn = {text.get_text(): text for text in axis.texts}
    assert set(drawn) == {"Negative", "skip", "it", r"\$5", "Positive", "great"}
    opacity = {
        name: matplotlib.colors.to_rgba(text.get_bbox_patch().get_facecolor())[3]
        for name, text in drawn.items()
        if text.get_bbox_patch()
    }
    assert opacity == pytest.approx({"skip": 0, "it": 0.225, r"\$5": 0.45, "great": 0.1125})
    with pytest.raises(ValueError, match="zip"):
        figures.token_map([["a", "b"]], [[1.0]], titles=["x"])


def test_tokens_that_print_nothing_are_visible():
    tokens, shown = ["\n", "\t", " ", "\x07", "a\nb"], ["⏎", "⇥", "␣", r"\x07", "a⏎b"]
    alpha = np.random.default_rng(0).dirichlet(np.ones(3), size=len(tokens))
    drawn = [axis.get_title() for axis in figures.temperatures({1.0: alpha}, tokens).axes]
    assert drawn == [f"after {name}" for name in shown]
    for figure in (figures.transition_map(alpha, tokens), figures.state_paths({"h": alpha}, tokens)):
        assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == shown
    [axis] = figures.token_map([tokens], [np.zeros(5)], titles=["title"]).axes
    assert [text.get_text() for text in axis.texts] == ["title", *shown]
    # A name takes the room of what is drawn.
    places = [text.get_position()[0] for text in axis.texts[1:]]
    assert np.diff(places).tolist() == [2, 2, 2, 5]


def test_long_texts_are_broken_into_lines_that_fit():
    words = ["word"] * 100
    [axis] = figures.token_map([words], [np.zeros(100)], titles=["title"]).axes
    places = [text.get_position() for text in axis.texts[1:]]
    assert len({y for _, y in places}) == 6
    assert max(x for x, _ in places) + 4 <= axis.get_xlim()[1]


def test_state_paths_have_a_panel_for_each_name_and_a_line_for_each_entry():
    states = {"h": np.random.default_rng(0).normal(size=(4, 3)), "c": np.zeros((4, 2))}
    upper, lower = figures.state_paths(states, "(())").axes
    assert (len(upper.lines), len(lower.lines)) == (3, 2)
    np.testing.assert_array_equal([line.get_ydata() for line in upper.lines], states["h"].T)
    assert upper.get_ylabel() == "h"
    with pytest.raises(ValueError, match="one row for each of 3 tokens"):
        figures.state_paths(states, "(()")


def test_temperatures_of_nothing_and_tokens_that_look_like_formulas():
    with pytest.raises(ValueError, match="at least one temperature"):
        figures.temperatures({}, [])
    figure = figures.temperatures({1.0: np.full((1, 2), 0.5)}, ["$a$"])
    figure.canvas.draw()

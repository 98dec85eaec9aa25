"""Figures of state-regularized networks: what is drawn is what was given."""

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


def test_tokens_that_print_nothing_are_visible():
    tokens, shown = ["\n", "\t", " ", "\x07", "a\nb"], ["⏎", "⇥", "␣", r"\x07", "a⏎b"]
    figure = figures.transition_map(np.full((5, 3), 1 / 3), tokens)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == shown

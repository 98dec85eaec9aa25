"""Figure 9 of the ISAN paper: what is drawn is what was given, states as columns."""

import numpy as np
import pytest

from keras_interp_rnn.figures import isan_counting


def test_figure_9_has_matrices_and_states_in_both_bases():
    rng = np.random.default_rng(0)
    matrices = rng.normal(size=(4, 4)), rng.normal(size=(6, 6))
    states = rng.normal(size=(7, 3)), rng.normal(size=(7, 5))
    figure = isan_counting.change_of_basis(
        matrices, states, symbol="[", tokens="()[]a)(", parts=[("readout", 2), ("computation", 2)]
    )
    panels = figure.axes[:4]
    for axis, values in zip(panels[::2], matrices, strict=True):
        np.testing.assert_array_equal(axis.images[0].get_array(), values.T)
        assert (axis.get_xlabel()[:4], axis.get_ylabel()[:2]) == ("from", "to")
    for axis, values in zip(panels[1::2], states, strict=True):
        np.testing.assert_array_equal(axis.images[0].get_array(), np.c_[values, np.ones(7)].T)
        assert [label.get_text() for label in axis.get_xticklabels()] == list("()[]a)(")
    assert [text.get_text() for text in panels[2].texts] == ["readout", "computation"]
    assert [axis.get_title(loc="left")[:2] for axis in panels] == ["a)", "b)", "c)", "d)"]
    assert not panels[0].texts


@pytest.mark.parametrize(
    ("matrix", "steps", "parts", "says"),
    [
        (4, 7, [], r"Received: states \(7, 5\), matrix \(4, 4\)"),
        (6, 6, [], r"belong to 7 tokens.* Received: states \(6, 3\)"),
        (6, 7, [("readout", 6)], r"lie within 5 dimensions. Received: \[\('readout', 6\)\]"),
    ],
)
def test_what_does_not_pair_up_is_said(matrix, steps, parts, says):
    states = np.zeros((steps, 3)), np.zeros((steps, 5))
    with pytest.raises(ValueError, match=says):
        isan_counting.change_of_basis((np.eye(4), np.eye(matrix)), states, symbol="(", tokens="()[]a)(", parts=parts)

"""Corner cases of figures of an ISAN: names of all kinds, empty texts."""

import numpy as np
import pytest

from keras_interp_rnn import figures
from keras_interp_rnn.analysis.isan.contributions import Contributions
from tests.figures.test_isan import names_of, saved, split_of


@pytest.mark.parametrize(
    "draw",
    [
        lambda names: figures.contribution_column(split_of([0, 1], alphabet=names)),
        lambda names: figures.state_spectra({names[0]: [0.5, 0.5]}),
    ],
)
def test_a_symbol_of_two_dollars_is_no_formula(draw):
    saved(draw(["$^$", "b", "c", "d", "e"]))


def test_networks_whose_name_begins_with_an_underscore_are_in_the_legend():
    # matplotlib hides such labels, and warns if no other is left.
    [axis] = figures.state_spectra({"_tanh": [0.5, 0.5], "ISAN": [0.7, 0.3]}).axes
    assert [text.get_text().strip() for text in axis.get_legend().get_texts()] == ["_tanh", "ISAN"]


def test_the_last_word_of_a_column_ends_where_the_target_is():
    split = split_of([0, 1, 3], alphabet=" ab<_")
    assert names_of(figures.contribution_column(split, target=1).axes[2].get_yticklabels())[1] == "␣a"


def test_a_figure_of_an_empty_text_is_refused():
    empty = Contributions(np.zeros(0, int), np.zeros(0, int), np.zeros((1, 0, 5)), np.zeros(5), np.zeros((0, 5)), 0.0)
    with pytest.raises(ValueError, match="[Ee]mpty|at least one"):
        figures.contribution_column(empty)

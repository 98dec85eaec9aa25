"""Corner cases of reading an ISAN: empty texts, parts that are rounding, constants, names of all kinds."""

import numpy as np
import pytest

from keras_interp_rnn import analysis, figures, layers
from tests.figures.test_isan import names_of, saved, split_of


def isan_of(kernel, bias, start=None):
    isan = layers.ISAN(bias.shape[1], len(bias), return_sequences=True, dtype="float64")
    isan.build((None, None))
    isan.set_weights([kernel, bias, np.zeros(bias.shape[1]) if start is None else start])
    return isan


def random_isan(units, symbols, biased=True, seed=0):
    rng = np.random.default_rng(seed)
    return isan_of(
        rng.normal(size=(symbols, units, units)) * 0.3,
        rng.normal(size=(symbols, units)) * biased,
        rng.normal(size=units),
    )


def test_an_empty_text_has_one_word_the_initial_state():
    words = analysis.contributions(random_isan(5, 3), []).by_word()
    assert words.starts.tolist() == [0]
    assert words.names == ("h_0",)
    assert words.values.shape == (1, 0, 5)


def test_top_names_no_source_that_was_not_read_yet():
    split = analysis.contributions(random_isan(5, 3), [0, 1, 2, 1, 0])
    assert [source for source, _ in split.top(5, target=0) if source > 1] == []


def test_counts_of_no_positions_are_integers():
    readout = (np.random.default_rng(0).normal(size=(5, 4)), np.zeros(4))
    found = analysis.timescales(random_isan(5, 4), [1, 2, 3, 1, 2, 2], max_age=2, readout=readout)
    assert found.counts.dtype == np.int64


def test_the_decay_of_a_network_without_biases_is_refused():
    readout = (np.random.default_rng(0).normal(size=(5, 4)), np.zeros(4))
    found = analysis.timescales(random_isan(5, 4, biased=False), np.arange(40) % 4, max_age=20, readout=readout)
    with pytest.raises(ValueError, match="Does the network have biases"):
        found.fit()


@pytest.mark.parametrize("value", [0.1, 0.7])
def test_equal_states_of_any_value_are_refused(value):
    with pytest.raises(ValueError, match="States must vary"):
        analysis.state_spectrum(np.full((10, 3), value))


def test_a_computational_part_that_is_rounding_has_no_angles():
    # A readout that spans the state: norms are 1e-16, cosines those of rounding errors (0.9, -0.8, ...).
    readout = (np.random.default_rng(1).normal(size=(4, 5)), np.zeros(5))
    cosines = analysis.bias_cosines(random_isan(4, 5), readout).computational
    assert np.allclose(cosines, 0, atol=1e-6) or np.isnan(cosines).all()


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
    empty = analysis.Contributions(
        np.zeros(0, int), np.zeros(0, int), np.zeros((1, 0, 5)), np.zeros(5), np.zeros((0, 5)), 0.0
    )
    with pytest.raises(ValueError, match="[Ee]mpty|at least one"):
        figures.contribution_column(empty)

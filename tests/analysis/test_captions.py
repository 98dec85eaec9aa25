"""Sentences about results: none says more than the numbers do."""

import csv
import io
import re

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers, views
from keras_interp_rnn._results import because
from keras_interp_rnn.datasets import Alphabet, Outputs

X = np.array([[1, 5, 2]])


def network(outputs, activation=None, bias=(), loss=None, recurrent=None):
    keras.utils.set_random_seed(3)
    parts = [keras.layers.Embedding(9, 3), recurrent or keras.layers.GRU(4)]
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *parts, keras.layers.Dense(outputs, activation)])
    if len(bias):
        model.layers[-1].bias.assign(bias)
    if loss:
        model.compile("adam", loss)
    return model


@pytest.mark.parametrize("target", [2, [0, 2]])
def test_an_output_that_is_not_the_largest_is_not_called_undecided(target):
    split = analysis.attribution(network(3, "softmax", [0, 4, 0]), X, target=target, outputs=list("abc"))
    caption = split.table().caption
    assert "does not decide" not in caption
    assert re.match(r"“[ac]”: \d+%", caption)
    assert not split.largest.any()
    assert split[0].largest.shape == split.largest.shape


def test_what_is_undecided_is_the_largest_output():
    split = analysis.attribution(network(12, "softmax"), X, outputs=list("abcdefghijkl"))
    assert split.table().caption.startswith("does not decide: “")
    assert split.largest.all()


@pytest.mark.parametrize("bias", [[-2.0, -3, -4], [3.0, 3, 3]])
def test_sigmoids_share_no_probability(bias):
    model = network(3, "sigmoid", bias)
    split = analysis.attribution(model, X, outputs=list("abc"))
    part = float(model.predict(X, verbose=0).max())
    assert f"{100 * part:.0f}%" in split.table().caption
    assert "chance" not in split.table().caption
    changed = analysis.substitutions(model, X[0], alternatives=[1, 2], outputs=list("abc"))
    assert changed.values
    assert f" {changed.original.max():.4g}" in changed.table().caption
    assert " sure" not in changed.table().caption
    np.testing.assert_array_equal(changed.probabilities()[1], changed.original)
    isan = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            layers.ISAN(4, 5),
            keras.layers.Dense(3, "sigmoid", bias_initializer="ones"),
        ]
    )
    contributed = analysis.contributions(isan, [0, 2, 1], outputs=list("abc"))
    assert " sure" not in contributed.table().caption
    assert contributed.regression
    assert contributed.tag()[1]["values"]


def test_replacements_in_a_regression_change_its_quantities():
    model = network(2, None, [520, 490], loss="mse")
    changed = analysis.substitutions(model, X[0], alternatives=[1, 2], outputs=Outputs(["load", "wind"], units="kW"))
    table = changed.table()
    assert "load (kW) 5" in table.caption
    assert " changes load (kW) most, by " in table.caption
    assert table.columns[-1].heading == "change of load (kW)"
    expected = changed.outputs[..., 0] - changed.original[0]
    np.testing.assert_allclose(np.sort(np.abs(table.columns[-1].values))[::-1], np.abs(table.columns[-1].values))
    assert {*np.round(table.columns[-1].values, 9)} <= {*np.round(expected.ravel(), 9)}
    assert changed.tag()[1]["values"]


@pytest.mark.parametrize("activation", [None, "sigmoid"])
def test_two_classes_near_chance_are_not_decided(activation):
    model = network(1, activation, [0.0])
    model.layers[-1].kernel.assign(0 * model.layers[-1].kernel)
    for result in (
        analysis.attribution(model, X, outputs=["neg", "pos"]),
        analysis.substitutions(model, X[0], alternatives=[1, 2], outputs=["neg", "pos"]),
    ):
        assert "does not decide: “" in result.table().caption
        assert "chance is 50%" in result.table().caption
        assert " most, by" not in result.table().caption  # nothing changes


def test_contributions_in_both_directions_have_rows_of_later_symbols():
    recurrent = keras.layers.Bidirectional(layers.MinGRU(3, return_sequences=True))
    model = network(2, recurrent=recurrent)
    split = analysis.contributions(model, [0, 2, 1, 3], outputs=["x", "y"])
    for target in range(4):
        table = split.table(target=target)
        assert table.columns[0].values == [None, None, 1, 2, 3, 4]
        for output, column in enumerate(table.columns[3:]):
            np.testing.assert_allclose(sum(column.values), split.logits[target, output], atol=1e-12)
        expected = np.abs(split.logit_difference(target)).max()
        assert max(abs(term) for _, term in split.top(5, target=target)) == pytest.approx(
            np.abs(split.values[:, target, split.winner(target)[0]]).max()
        )
        assert max(map(abs, table.columns[2].values[1:])) == pytest.approx(expected)
    assert split.table(target=0).caption.startswith("at step 1 of ")
    assert split.table().caption.startswith("after ")


def test_a_step_that_opposes_the_answer_is_no_reason_for_it():
    assert (
        because(["a", "b"], [-1.0, -2.0], "nats", towards=1) == ", although “b” moves it the other way most (-2 nats)"
    )
    assert because(["a", "b"], [-1.0, -2.0], "nats") == ", above all because of “b” (-2 nats)"
    assert because(["a", "b"], [-1.0, 0.5], "nats", towards=1) == ", above all because of “b” (+0.5 nats)"


def test_shares_of_a_feature_are_in_one_output():
    keras.utils.set_random_seed(2)
    model = keras.Sequential([keras.Input((4, 2)), keras.layers.GRU(3), keras.layers.Dense(2)])
    x = np.random.default_rng(0).normal(size=(20, 4, 2))
    split = analysis.attribution(model, x, method="path_integral")
    assert len(np.unique(split.targets)) == 2
    with pytest.raises(ValueError, match=r"must be in one output. Received: .*output 1, output 2. Pass `target`"):
        split.dependence(0)
    assert (
        "share of output 2"
        in analysis.attribution(model, x, method="path_integral", target=1).dependence(0).table().bars
    )


def test_a_ranking_has_the_mean_that_it_names():
    split = analysis.attribution(network(1), np.array([[1, 5, 2], [3, 1, 1]]))
    split.shares[:] = [[1.0, 0, 0], [0, 1.0, 0.8]]
    caption = split.ranking().table().caption
    assert caption.startswith("“1” moves ")
    assert ": up, by 0.933 on average; " in caption
    split.shares[:] = 0
    assert split.ranking().table().caption.startswith("nothing moves ")


class TestBarsOfAnything:
    @pytest.mark.parametrize("name", ["position", "token", "value"])
    def test_an_output_of_any_name_has_its_bars(self, name):
        table = views.bars(["a", "b"], [3.0, -1.5], outputs=[name]).table()
        np.testing.assert_array_equal(table.bar_parts(), [1, -0.5])

    @pytest.mark.parametrize("values", [np.zeros((2, 0)), [1j, 2], [[1], [1, 2]], ["x", "y"], [None, object()], 3])
    def test_refuses_what_are_no_numbers(self, values):
        with pytest.raises(ValueError, match="`values` must be an array"):
            views.bars(["a", "b"], values)

    def test_refuses_names_that_are_none(self):
        with pytest.raises(ValueError, match="`tokens` must be a sequence of names"):
            views.bars(None, [1.0])
        with pytest.raises(ValueError, match="`outputs` must be a name for each of 1 outputs"):
            views.bars("ab", [1.0, 2], outputs=3)

    def test_nothing_finite_is_said_to_be_so(self):
        assert views.bars("ab", [np.nan, np.inf]).table().caption == "no number is finite"
        assert views.bars("ab", [0.0, 0]).table().caption == "every number is 0"

    def test_names_are_made_visible(self, tmp_path):
        drawn = views.bars(["a\r", "b\x1b"], [[1.0, 2], [3, 4]], outputs=["x\r\ny", "\x00"], unit="k\nW")
        views.save(drawn, tmp_path / "x.csv")
        rows = list(csv.reader(io.StringIO((tmp_path / "x.csv").read_text(encoding="utf-8"))))
        assert [len(row) for row in rows] == [4, 4, 4]
        assert all(cell.isprintable() for row in rows for cell in row)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1234.0, 0.4, 0.0], ["+1234", "+0.4", "0"]),
        ([5.2, -0.0049, 0.0049], ["+5.200", "-0.005", "+0.005"]),
        ([0.9996, 0.0004], ["+0.9996", "+0.0004"]),
    ],
)
def test_a_number_other_than_0_is_never_printed_as_0(values, shown):
    column = views.bars("abc"[: len(values)], values).table().columns[-1]
    assert [column.cell(row) for row in range(len(values))] == shown


def test_a_text_without_a_symbol_that_can_be_replaced_has_no_view(tmp_path):
    keras.utils.set_random_seed(0)
    ids = keras.Input((None,), dtype="int32")
    named = Alphabet(["<s>", "</s>", "a", "b"], start="<s>", end="</s>").layer()(ids)
    model = keras.Model(ids, keras.layers.Dense(2)(keras.layers.GRU(3)(keras.layers.Embedding(4, 2)(named))))
    changed = analysis.substitutions(model, "")
    assert changed.page_view() is None
    views.save(changed, tmp_path / "x.html")


def test_all_outputs_are_drawn_as_bars_of_the_largest(tmp_path):
    split = analysis.attribution(network(4), X, target="all", outputs=list("abcd"))
    views.save(split, tmp_path / "x.svg")
    best = "abcd"[int(split.output[0].argmax())]
    assert f"{best} is " in (tmp_path / "x.svg").read_text(encoding="utf-8")

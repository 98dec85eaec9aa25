"""Tables: what results say, as text, HTML, CSV and drawings."""

import csv
import dataclasses
import io
import json
import re
import xml.etree.ElementTree as ET

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_interp_rnn import analysis, datasets, layers, views
from keras_interp_rnn._results import Column, Table, because, percent, verdict
from keras_interp_rnn._results.html import as_element
from keras_interp_rnn._results.text import as_lines

WORDS = ["", "not", "a", "good", "film"]


def table(values, base=0, **options):
    """A row for each value, named n0, n1, ..."""
    names = tuple(f"n{i}" for i in range(len(values)))
    columns = Column("name", names), Column("share", list(values), form="+.2f", sums=True)
    return Table("what was found", columns, bars="share", base=base, **options)


def critic(activation=None, named=True):
    """A network of words with one output."""
    keras.utils.set_random_seed(5)
    ids = keras.Input((None,), dtype="int32")
    named_ids = datasets.Alphabet(WORDS, padding="", split=str.split).layer()(ids)
    named_ids = datasets.Outputs(["bad", "good"]).layer()(named_ids) if named else named_ids
    states = keras.layers.LSTM(6)(keras.layers.Embedding(5, 4, mask_zero=True)(named_ids))
    model = keras.Model(ids, keras.layers.Dense(1, activation)(states))
    model.set_weights([4 * weight for weight in model.get_weights()])
    return model


class TestText:
    def test_columns_line_up_and_bars_of_both_signs_have_one_axis(self):
        said, head, *rows = as_lines(table([0.5, -1.0, 0.25]), width=8)
        assert (said, head) == ("what was found", "name  share")
        assert rows == ["n0    +0.50      |##", "n1    -1.00  ----|", "n2    +0.25      |#"]

    def test_bars_of_one_sign_take_all_the_room(self):
        assert as_lines(table([0.5, 1.0]), width=8)[2:] == ["n0    +0.50  ####", "n1    +1.00  ########"]

    def test_a_scale_keeps_small_bars_small(self):
        assert as_lines(table([0.25, 0.5], scale=1.0), width=8)[2:] == ["n0    +0.25  ##", "n1    +0.50  ####"]

    @given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=60), st.integers(0, 3), st.integers(1, 20))
    @settings(max_examples=60, deadline=None)
    def test_rows_that_are_left_out_are_counted_and_summed(self, values, base, rows):
        shown = table(values, base=min(base, len(values)), rows=rows)
        chosen = shown.strongest(rows).tolist()
        left = [value for i, value in enumerate(values) if i not in chosen]
        lines = as_lines(shown)[2:]
        others = [line for line in lines if " others " in f"{line} "]
        assert len(lines) == len(chosen) + bool(left)
        if left:
            [line] = others
            assert line.split()[:2] == [str(len(left)), "others"]
            assert float(line.split()[2]) == pytest.approx(sum(left), abs=0.005 + 1e-9)
            smallest = min((abs(values[i]) for i in chosen if i >= shown.base), default=np.inf)
            assert max(map(abs, left)) <= smallest

    def test_a_column_of_nothing_is_left_out(self):
        columns = Column("name", ("a", "b")), Column("", ("", "")), Column("x", [1.0, np.nan], form=".1f")
        assert as_lines(Table("t", columns)) == ["t", "name    x", "a     1.0", "b       –"]


def test_html_has_all_rows_with_the_base_outlined_and_escapes_names():
    names = Column("name", ("<b>", "x"))
    drawn = as_element(Table("<i>", (names, Column("share", [0.5, -0.5])), bars="share", base=1))
    root = ET.fromstring(drawn)
    assert [part.text for part in root.iter("td") if part.text] == ["<b>", "+0.5", "x", "-0.5"]
    outlined, filled = (part for part in root.iter("path") if part.get("fill"))
    assert (outlined.get("fill"), filled.get("fill")[0]) == ("none", "#")


def test_a_table_is_columns_for_data_frames():
    estimates = Column("share", np.array([0.5, 0.25]), "nats", error=np.array([0.1, 0.0]))
    found = Table("t", (Column("read", ("a", "b")), estimates)).to_dict()
    assert found == {"read": ["a", "b"], "share, nats": [0.5, 0.25], "± share, nats": [0.1, 0.0]}
    assert all(type(value) is float for value in found["share, nats"])


@pytest.mark.parametrize(
    ("values", "form", "shown"),
    [
        ([7.3621, 7.0, -0.2123, 0.0], "+.3g", ["+7.36", "+7.00", "-0.21", "0.00"]),
        ([0.9, 0.0, -0.4], "+.4g", ["+0.9", "0.0", "-0.4"]),
        ([5.0, -3.0], "+.4g", ["+5", "-3"]),
        ([12345.678, 3.25], "+.4g", ["+1.235e+04", "+3.25"]),
        ([1.0, 2e-5], "+.3g", ["+1", "+2e-05"]),  # too far apart
        ([1.0, 2e-12], "+.3g", ["+1", "0"]),  # rounding
        ([3.1e-9, 2.0e-9], ".3g", ["3.1e-09", "2e-09"]),
        ([0.5, np.nan, None], ".3g", ["0.5", "–", ""]),
        ([np.inf, 0.25], "+.3g", ["+inf", "+0.25"]),
        ([0.123456, 10.0], ".2g", ["0.12", "10"]),  # errors keep their digits
        ([0.1234, 0.5], ".1%", ["12.3%", "50.0%"]),
        ([3, 12], "d", ["3", "12"]),
    ],
)
def test_numbers_of_a_column_have_the_decimals_of_the_largest(values, form, shown):
    column = Column("x", values, form=form)
    assert [column.cell(row) for row in range(len(values))] == shown


class TestSentences:
    @pytest.mark.parametrize(
        ("part", "shown"),
        [(0.911, "91%"), (0.5, "50%"), (0.99922, "99.92%"), (0.0042, "0.4%"), (1.0, "more than 99.9999%")],
    )
    def test_a_probability_has_the_digits_that_tell_it_from_0_and_1(self, part, shown):
        assert percent(part) == shown

    def test_a_prediction_near_chance_does_not_decide(self):
        assert verdict("f", 0.09, 12) == "does not decide: “f” 9%, chance is 8%"
        assert verdict("f", 0.41, 12) == "“f”, 41% sure"

    def test_the_reason_is_the_step_that_speaks_for_what_is_said(self):
        names, shares = ["not", "bad", "film"], [-3.0, 2.0, 0.5]
        assert because(names, shares, "nats", towards=1) == ", above all because of “bad” (+2 nats)"
        assert because(names, shares, towards=-1) == ", above all because of “not” (-3)"
        assert because(["a", "b", "a"], [1.0, 0.0, -2.0]) == ", above all because of “a” at position 3 (-2)"
        assert because(names, [0.0, 0.0, np.nan]) == ""
        assert because(names, shares, margins=[1, 1.5, 0]).endswith("as far as the intervals tell")


class TestVerdicts:
    def test_two_named_classes_have_a_verdict_with_and_without_a_sigmoid(self):
        plain, with_sigmoid = (analysis.attribution(critic(a), ["not a good film"]) for a in (None, "sigmoid"))
        assert (plain.unit, with_sigmoid.unit) == ("log-odds", "log-odds")
        np.testing.assert_allclose(plain.shares, with_sigmoid.shares, atol=1e-9)
        np.testing.assert_allclose(plain.probability, 1 / (1 + np.exp(-plain.output)))
        part = float(plain.probability[0])
        name, sure = ("good", part) if part > 0.5 else ("bad", 1 - part)
        assert plain.table().caption.startswith(f"does not decide: “{name}” {percent(sure)}, chance is 50%, above all")
        decided = dataclasses.replace(plain, probability=np.array([0.8]), output=np.log([4.0]))
        assert decided.table().caption.startswith("“good”, 80% sure, above all because of “")
        assert with_sigmoid.table().caption == plain.table().caption
        [(_, described)] = plain.tags()
        assert described["classes"] == ["bad", "good"]

    def test_an_output_without_names_of_classes_stays_what_it_is(self):
        split = analysis.attribution(critic(named=False), ["not a good film"])
        assert (split.unit, split.probability) == ("", None)
        assert split.table().caption.startswith("output 1 is ")

    @pytest.mark.parametrize("activation", ["tanh", "relu"])
    def test_another_activation_makes_no_log_odds(self, activation):
        assert analysis.attribution(critic(activation), ["not a good film"]).unit == ""

    def test_a_regression_is_no_classifier(self):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((None, 2)), layers.MinGRU(4), keras.layers.Dense(3)])
        x = np.random.default_rng(5).normal(size=(6, 2))
        assert " sure" in analysis.contributions(model, x).table().caption
        names = datasets.Outputs(["load", "loss", "speed"], units=["kW", "kW", "m/s"])
        split = analysis.contributions(model, x, outputs=names)
        said, columns = split.table().caption, split.summary().columns
        largest = names.of(3)[int(split.logits[-1].argmax())]
        assert said.startswith(f"after step 6: {largest} ")
        assert not {"sure", "nats"} & {*said.split()}
        assert columns[-1].heading == f"share of {largest}"
        np.testing.assert_allclose(sum(columns[-1].values), split.logits[-1].max(), atol=1e-12)
        assert split.tag()[1]["values"]
        model.compile("adam", "mse")
        assert analysis.contributions(model, x).regression


def test_an_attribution_of_many_texts_is_one_table(tmp_path):
    texts = ["not a good film", "good", "a film"]
    split = analysis.attribution(critic(), texts)
    columns = split.table().to_dict()
    assert columns["sequence"] == [i for i in (1, 2, 3) for _ in range(5)]
    share = next(values for name, values in columns.items() if name.startswith("share of"))
    sums = np.reshape(share, (3, 5)).sum(axis=1)
    np.testing.assert_allclose(sums, split.output, atol=1e-12)
    views.save(split, tmp_path / "x.csv")
    rows = list(csv.reader(io.StringIO((tmp_path / "x.csv").read_text(encoding="utf-8"))))
    assert rows[0] == list(columns)
    assert len(rows) == 1 + 15
    assert [
        float(row[rows[0].index(next(n for n in rows[0] if n.startswith("share of")))]) for row in rows[1:]
    ] == share
    said = [line for line in str(split).splitlines() if re.match(r" +[123]  (does not decide: )?“", line)]
    assert len(said) == 3


class TestFiles:
    def test_a_page_saves_the_table_of_its_result(self, tmp_path):
        for split in (
            analysis.attribution(critic(), ["not a good film", "good"]),
            analysis.interactions(critic(), "not a good film"),
            analysis.trace(critic(), ["not a good film"]),
            analysis.substitutions(critic(), "not a film", alternatives=["good"]),
        ):
            views.save(split, tmp_path / "x.csv")
            views.save(split, tmp_path / "x.html")
            [block] = re.findall(r'id="data">(.*?)</script>', (tmp_path / "x.html").read_text(encoding="utf-8"))
            assert json.loads(block)["csv"] == (tmp_path / "x.csv").read_text(encoding="utf-8")

    def test_columns_of_one_heading_are_all_kept(self):
        found = Table("x", (Column("a", [1]), Column("a", [2], error=[3.0]), Column("a", [4]))).to_dict()
        assert found == {"a": [1], "a (2)": [2], "± a": [3.0], "a (3)": [4]}

    def test_contributions_have_a_column_for_each_output(self):
        keras.utils.set_random_seed(2)
        model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(5)])
        model.set_weights([np.random.default_rng(i).normal(size=w.shape) for i, w in enumerate(model.get_weights())])
        names = list("vwxyz")
        split = analysis.contributions(model, [1, 0, 2, 3], outputs=names)
        columns = split.table().to_dict()
        found = [columns[f"{name}, nats"] for name in names]
        np.testing.assert_allclose(np.sum(found, axis=1), split.logits[-1], atol=1e-12)
        np.testing.assert_array_equal([row[1:] for row in found], split.values[:, -1].T)
        second = analysis.contributions(model, [1, 0, 2, 3], outputs=names).table(target=1)
        assert len(second) == 4

    def test_a_trace_has_a_row_for_each_number(self):
        traced = analysis.trace(critic(), ["not a good film", "good"])
        columns = traced.table().to_dict()
        assert len(columns["value"]) == sum(values.size for values in traced.values())
        for sequence, step, read, name, unit, value in list(zip(*columns.values(), strict=True))[::7]:
            array = traced[name].reshape(2, 4, -1)
            np.testing.assert_equal(value, array[sequence - 1, step - 1, unit])
            assert read == traced.tokens[sequence - 1][step - 1]


def test_a_ranking_names_the_output_and_the_direction():
    split = analysis.attribution(critic(), ["not a good film", "good", "a film"])
    ranked = split.ranking()
    assert ranked.table().caption.startswith(f"“{ranked.names[0]}” moves the log-odds of good most: ")
    up = dataclasses.replace(ranked, mean=ranked.mean_absolute)
    assert f"most: up, by {up.mean[0]:.3g} nats on average; " in up.table().caption
    down = dataclasses.replace(ranked, mean=-ranked.mean_absolute)
    assert " most: down, by " in down.table().caption
    assert " most: up or down, by " in dataclasses.replace(ranked, mean=0 * ranked.mean).table().caption


class TestAllOutputs:
    def classifier(self, activation):
        keras.utils.set_random_seed(3)
        gru = keras.layers.GRU(6, kernel_initializer="random_normal")
        parts = [keras.layers.Embedding(4, 3), gru, keras.layers.Dense(5, activation)]
        return keras.Sequential([keras.Input((None,), dtype="int32"), *parts])

    @pytest.mark.parametrize("method", ["shapley", "telescoping", "occlusion", "path_integral"])
    @pytest.mark.parametrize("activation", ["softmax", "sigmoid", None])
    def test_all_outputs_have_the_shares_that_each_has_alone(self, method, activation):
        model, x = self.classifier(activation), np.array([[1, 2, 3, 0], [3, 3, 1, 2]])
        both = analysis.attribution(model, x, target="all", method=method)
        assert both.shares.shape == (2, 4, 5)
        for output in range(5):
            one = analysis.attribution(model, x, target=output, method=method)
            np.testing.assert_allclose(both.shares[..., output], one.shares, atol=1e-12)
        single = analysis.attribution(model, x, target="all", method=method)[1]
        np.testing.assert_array_equal(single.shares, both.shares[1:])

    def test_outputs_of_a_softmax_share_a_probability_on_a_page(self):
        x = np.array([[1, 2, 3, 0]])
        for activation, shared in (("softmax", True), ("sigmoid", False), (None, False)):
            split = analysis.attribution(self.classifier(activation), x, target="all")
            [(rows, described)] = split.tags()
            assert described["values"] is not shared
            np.testing.assert_allclose(rows[1], split.probability[0] if shared else split.output[0], rtol=1e-6)
            np.testing.assert_array_equal(rows[2:6], split.shares[0].astype("float32"))
        [(rows, described)] = analysis.attribution(self.classifier("softmax"), x, target=[0, 3]).tags()
        assert described["values"]  # two of five share less than 1

    def test_refuses_another_word(self):
        with pytest.raises(ValueError, match=r"several of them, 'all' or None. Received: target='every'"):
            analysis.attribution(self.classifier(None), np.ones((1, 3), int), target="every")


class TestFeatures:
    def split(self):
        keras.utils.set_random_seed(4)
        model = keras.Sequential(
            [keras.Input((None, 3)), keras.layers.Masking(), keras.layers.GRU(4), keras.layers.Dense(2)]
        )
        x = np.random.default_rng(1).normal(size=(6, 5, 3))
        x[0, 3:] = 0
        names = ["rain", "sun", "wind"]
        return x, analysis.attribution(model, x, method="path_integral", features=names, target=[0, 1])

    def test_shares_against_values_are_those_of_the_steps_that_are_read(self, tmp_path):
        x, split = self.split()
        read = np.ones((6, 5), bool)
        read[0, 3:] = False
        found = split.dependence("sun", output=1)
        np.testing.assert_array_equal(found.values, x[read][:, 1])
        np.testing.assert_array_equal(found.shares, split.features[read][:, 1, 1])
        assert (found.feature, len(found.shares)) == ("sun", 28)
        one = split[2].dependence(1, output=-1)
        np.testing.assert_array_equal(one.values, x[2, :, 1])
        views.save(found, tmp_path / "x.svg")
        root = ET.parse(tmp_path / "x.svg").getroot()
        assert len(root.findall(".//{*}circle")) == 28
        assert {"sun", found.table().columns[-1].heading} <= {part.text for part in root.iter() if part.text}

    def test_says_whether_shares_rise_with_the_values(self):
        _, split = self.split()
        found = split.dependence("sun")
        rising = dataclasses.replace(found, shares=found.values**3)
        assert rising.rank_correlation == pytest.approx(1)
        low, high = rising.shares.min(), rising.shares.max()
        says = (
            f"shares of “sun” rise with its value, from {low:+.3g} to {high:+.3g}: rank correlation +1.00 over 28 steps"
        )
        assert rising.table().caption == f"{says} of 6 sequences"
        assert " fall with its value" in dataclasses.replace(found, shares=-found.values).table().caption
        flat = dataclasses.replace(found, shares=0 * found.values)
        assert flat.table().caption.endswith("they or its values do not vary")

    def test_the_largest_shares_of_features(self):
        _, split = self.split()
        found = split.top_features(4, sequence=2, output=1)
        table = split.features[2, ..., 1]
        assert [share for *_, share in found] == sorted(table.ravel().tolist(), key=abs, reverse=True)[:4]
        assert all(table[step, feature] == share for step, feature, share in found)

    def test_refuses_what_has_no_shares_of_features(self):
        _, split = self.split()
        with pytest.raises(ValueError, match="one of 'rain', 'sun', 'wind'"):
            split.dependence("snow")
        with pytest.raises(ValueError, match=r"`feature` must be .*3"):
            split.dependence(3)
        texts = analysis.attribution(critic(), ["good"])
        for ask in (texts.top_features, lambda: texts.dependence(0)):
            with pytest.raises(ValueError, match="Choose method='path_integral'"):
                ask()
        of_ids = analysis.attribution(critic(), ["good film"], method="path_integral")
        with pytest.raises(ValueError, match=r"Use ranking\(\)"):
            of_ids.dependence(0)


class TestBars:
    def test_numbers_of_ones_own_are_drawn(self, tmp_path):
        drawn = views.bars(["a", "<b>"], [1.0, -0.5], outputs=["good"], unit="nats")
        assert drawn.table().caption == "good, above all because of “a” (+1 nats)"
        views.save(drawn, tmp_path / "x.svg")
        root = ET.parse(tmp_path / "x.svg").getroot()
        assert {"a", "<b>", "+1.0", "-0.5"} <= {part.text for part in root.iter() if part.text}

    def test_several_outputs_have_a_column_each(self):
        drawn = views.bars("ab", [[1, 2], [3, 4]], outputs=["x", "y"])
        assert drawn.table().to_dict() == {"position": [1, 2], "token": ["a", "b"], "x": [1.0, 3.0], "y": [2.0, 4.0]}

    @pytest.mark.parametrize(
        ("values", "outputs", "rule"),
        [
            ([1.0], None, "a number for each token"),
            ([[1, 2], [3, 4]], None, "each of 2 outputs"),
            ([1, 2], "xy", "1 out"),
        ],
    )
    def test_refuses_numbers_and_names_that_do_not_fit(self, values, outputs, rule):
        with pytest.raises(ValueError, match=rule):
            views.bars("ab", values, outputs=outputs)


def test_a_png_has_the_size_of_its_drawing(tmp_path):
    pytest.importorskip("resvg_py")
    drawn = views.bars(["a", "b"], [1.0, -0.5])
    views.save(drawn, tmp_path / "x.png")
    data = (tmp_path / "x.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    root = ET.fromstring(drawn.drawing())
    assert (width, height) == (2 * int(root.get("width")), 2 * int(root.get("height")))

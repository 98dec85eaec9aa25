"""Names of outputs, of steps and of features: passed or carried, they are in texts, tags and pages of every result."""

import json
import re

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, callbacks, datasets, deploy, layers, views
from keras_interp_rnn._results import as_html
from keras_interp_rnn.datasets import Alphabet, Outputs

WORDS = Alphabet.from_texts(["a good film bad"])
VERDICTS, QUANTITIES = Outputs(["terrible", "great"]), Outputs(["load", "loss"], units=["kW", "W"])
TEXT = "a good film"


def of_words(kind, carried=True):
    keras.utils.set_random_seed(0)
    embedding = keras.layers.Embedding(len(WORDS), 4, mask_zero=True)
    body = {
        "LSTM": lambda: [embedding, keras.layers.LSTM(4), keras.layers.Dense(1, activation="sigmoid")],
        "SRGRU": lambda: [embedding, layers.SRGRU(4, 3), keras.layers.Dense(1)],
        "ISAN": lambda: [layers.ISAN(3, len(WORDS), return_sequences=True), keras.layers.Dense(2)],
    }[kind]()
    given = [keras.Input((None,), dtype="int32"), WORDS.layer(), *([VERDICTS.layer()] if carried else [])]
    return keras.Sequential([*given, *body])


def of_vectors(carried=True):
    keras.utils.set_random_seed(0)
    named = [QUANTITIES.layer()] if carried else []
    return keras.Sequential(
        [keras.Input((None, 3)), *named, keras.layers.GRU(4, name="gru"), keras.layers.Dense(2)], name="series"
    )


X = np.random.default_rng(0).normal(size=(2, 5, 3))
DAYS, COLUMNS = ["Mon", "Tue", "Wed", "Thu", "Fri"], ["temperature", "wind", "rain"]

FUNCTIONS = {
    "attribution": ("LSTM", lambda model, **names: analysis.attribution(model, [TEXT], **names)),
    "interactions": ("LSTM", lambda model, **names: analysis.interactions(model, TEXT, **names)),
    "affine_surrogate": ("LSTM", lambda model, **names: analysis.affine_surrogate(model, TEXT, **names)),
    "substitutions": ("LSTM", lambda model, **names: analysis.substitutions(model, TEXT, **names)),
    "explain": ("SRGRU", lambda model, **names: analysis.explain(model, TEXT, **names)),
    "prototypes": ("SRGRU", lambda model, **names: analysis.prototypes(model, [TEXT, "bad"], **names)),
    "phrases": ("SRGRU", lambda model, **names: analysis.phrases(model, [TEXT, "a bad film"], length=2, **names)),
    "contributions": ("ISAN", lambda model, **names: analysis.contributions(model, TEXT, **names)),
    "shapley_values": ("ISAN", lambda model, **names: analysis.shapley_values(model, TEXT, **names)),
    "interactions of an ISAN": ("ISAN", lambda model, **names: analysis.interactions(model, TEXT, **names)),
}


@pytest.mark.core
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_names_its_outputs(name):
    kind, function = FUNCTIONS[name]
    nameless = str(function(of_words(kind, carried=False)))
    assert not any(word in nameless for word in ("great", "terrible"))
    for found, names in (
        (function(of_words(kind)), ("terrible", "great")),
        (function(of_words(kind), outputs=["left", "right"]), ("left", "right")),
        (function(of_words(kind, carried=False), outputs=Outputs(["left", "right"])), ("left", "right")),
    ):
        for shown in (str(found), as_html(found)):
            assert any(word in shown for word in names)
            if kind == "LSTM":
                assert names[1] in shown, "one output is the class above the threshold"
        assert "output 1" not in str(found)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_number_of_names_is_refused(name):
    kind, function = FUNCTIONS[name]
    with pytest.raises(
        ValueError, match=r"`outputs` must be a name for each of [12] outputs. Received: outputs=\('a',"
    ):
        function(of_words(kind), outputs=["a", "b", "c"])


def test_names_that_a_model_carries_for_other_outputs_are_not_used():
    model = of_vectors()
    inside = keras.Sequential([keras.Input((None, 3)), QUANTITIES.layer(), keras.layers.GRU(4)])
    assert analysis.attribution(model, X, target=0).output_names == ("load (kW)", "loss (W)")
    assert analysis.attribution(inside, X, target=0).output_names == ()


def test_the_names_of_the_outer_model_come_first():
    inner = keras.Sequential([keras.Input((None, 3)), Outputs(["noun", "verb"]).layer(), keras.layers.GRU(2)])
    head = keras.layers.Dense(2)
    outer = keras.Sequential([keras.Input((None, 3)), QUANTITIES.layer(), inner, head])
    assert analysis.attribution(outer, X, target=0).output_names == ("load (kW)", "loss (W)")
    # A new head has other outputs than the model below it; an activation has not.
    assert analysis.attribution(keras.Sequential([keras.Input((None, 3)), inner, head]), X, target=0).output_names == ()
    ended = keras.Sequential([keras.Input((None, 3)), of_vectors(), keras.layers.Activation("softmax")])
    assert analysis.attribution(ended, X, target=0).output_names == ("load (kW)", "loss (W)")


def test_names_of_outputs_survive_their_model(tmp_path):
    of_vectors().save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert again.layers[0].output_names == QUANTITIES
    np.testing.assert_array_equal(again.predict(X, verbose=0), of_vectors().predict(X, verbose=0))
    written = [deploy.to_c(model, name="net") for model in (again, of_vectors(carried=False))]
    assert len({re.sub(r"(gru|dense)_\d+", "", code) for code in written}) == 1
    config = again.layers[0].get_config()
    with pytest.raises(ValueError, match="`output_names` must be Outputs. Received: output_names='a'"):
        type(again.layers[0]).from_config({**config, "output_names": "a"})


def test_a_series_has_names_of_steps_of_features_and_of_outputs():
    options = {"target": [0, 1], "method": "path_integral", "features": COLUMNS, "times": DAYS}
    found = analysis.attribution(of_vectors(), X, **options)
    text = str(found)
    for name in ("load (kW)", "loss (W)", "Fri", "time", "temperature"):
        assert name in text
    [(_, described), _] = found.tags()
    assert described["outputs"] == ["load (kW)", "loss (W)"]
    assert (described["symbols"], described["feature_names"], described["vectors"]) == (DAYS, COLUMNS, True)
    assert found[1].tokens == (tuple(DAYS),)
    assert {*found.ranking().names} == {*DAYS}
    assert "; mean shares by step, 2 sequences" in str(found.ranking())
    pairs = analysis.interactions(of_vectors(), X[:1], times=DAYS)
    assert pairs.tokens == tuple(DAYS)
    assert pairs.tag()[1]["vectors"]
    grouped = analysis.interactions(of_vectors(), X[:1], times=DAYS, groups=[0, 0, 1, 1, 1])
    assert len(grouped.tokens) == 2


def test_traces_and_contributions_of_a_series_have_names_of_steps():
    traced = analysis.trace(of_vectors(), X, times=DAYS)
    assert traced.tokens == (tuple(DAYS),) * 2
    described = traced.tag()[1]
    assert (described["tokens"][1], described["vectors"]) == (DAYS, True)
    back = keras.layers.GRU(2, go_backwards=True)
    assert analysis.trace(back, X, times=DAYS).tokens[0] == tuple(DAYS[::-1])
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((None, 3)), layers.MinGRU(4), keras.layers.Dense(2)])
    split = analysis.contributions(model, X[0], times=DAYS)
    assert "after Fri: " in str(split)
    assert split.tag()[1]["symbols"] == DAYS
    assert [split.source_name(i) for i in range(6)] == ["h_0", *DAYS]
    for refused in (
        lambda: analysis.trace(of_words("LSTM"), TEXT, times=DAYS),
        lambda: analysis.contributions(of_words("ISAN"), TEXT, times=DAYS),
    ):
        with pytest.raises(ValueError, match="`times` must be None for a network that reads no vectors"):
            refused()


def cropped():
    """A network whose recurrent layer reads the last three of five steps."""
    keras.utils.set_random_seed(0)
    parts = [keras.layers.Cropping1D((2, 0)), layers.MinGRU(4), keras.layers.Dense(1)]
    return keras.Sequential([keras.Input((5, 3)), *parts])


def test_names_are_left_out_where_layers_change_the_steps(tmp_path):
    with pytest.raises(ValueError, match="`times` must be None where a layer changes the number of steps"):
        analysis.contributions(cropped(), X[0], times=DAYS)
    split = analysis.attribution(cropped(), X, method="contributions", times=DAYS)
    assert (split.tokens, split.shares.shape) == ((), (2, 3))
    assert split.ranking().names[0].startswith("step ")
    views.save(split, tmp_path / "page.html")
    assert analysis.trace(cropped(), X, times=DAYS).tokens == ()
    parts = Alphabet("abc").layer(), keras.layers.Embedding(3, 3), keras.layers.Conv1D(3, 3), layers.MinGRU(4)
    letters = keras.Sequential([keras.Input((5,), dtype="int32"), *parts, keras.layers.Dense(1)])
    split = analysis.contributions(letters, "ccacb")
    assert split.vectors
    assert [split.source_name(i) for i in range(4)] == ["h_0", "step", "step", "step"]
    assert analysis.attribution(letters, "ccacb", method="contributions").tokens == ()


def test_names_are_left_out_where_layers_read_in_both_orders():
    back = keras.layers.GRU(3, return_sequences=True, go_backwards=True)
    mixed = keras.Sequential([keras.Input((5, 3)), back, keras.layers.GRU(2)])
    assert analysis.trace(mixed, X, times=DAYS).tokens == ()
    both = keras.Sequential([keras.Input((5, 3)), keras.layers.Bidirectional(keras.layers.GRU(2))])
    assert analysis.trace(both, X, times=DAYS).tokens[0] == tuple(DAYS)


def test_steps_of_one_of_several_inputs_are_named():
    keras.utils.set_random_seed(0)
    inputs = [keras.Input((None, 3)), keras.Input((None, 2))]
    read = [keras.layers.GRU(2)(inputs[0]), keras.layers.GRU(2)(inputs[1])]
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Concatenate()([read[0], 0 * read[1]])))
    rng = np.random.default_rng(0)
    for steps in (4, 18):
        given = [rng.normal(size=(1, steps, size)) for size in (3, 2)]
        times = [str(i) for i in range(steps)]
        assert analysis.trace(model, given, times=times).tokens == (tuple(times),)
        # The output does not read the second input.
        assert np.abs(analysis.interactions(model, given, with_respect_to=1).values).max() < 1e-6
        assert np.abs(analysis.interactions(model, given, with_respect_to=0).values).max() > 1e-4


def test_names_of_outputs_that_a_layer_makes_anew_are_not_used():
    def named(*names):
        given = keras.Input((5, 3))
        head = keras.layers.Dense(1, activation="sigmoid")
        return keras.Model(given, head(keras.layers.GRU(2)(Outputs(names).layer()(given))))

    given = keras.Input((5, 3))
    both = keras.layers.Concatenate()([named("dry", "rain")(given), named("calm", "wind")(given)])
    assert analysis.attribution(keras.Model(given, both), X, target=0).output_names == ()


def test_names_are_on_one_line():
    found = analysis.attribution(of_vectors(), X, target=0, times=["a\nb", *DAYS[1:]])
    assert found.tokens[0][0] == "a⏎b"
    with pytest.raises(ValueError, match="`outputs` must be|`names` must be a list of names"):
        analysis.attribution(of_vectors(), X, outputs=np.array("a"))
    with pytest.raises(ValueError, match="`times` must be a name for each of 5 steps"):
        analysis.attribution(of_vectors(), X, times=np.array(5))


def test_the_page_of_a_series_has_its_names(tmp_path):
    found = analysis.attribution(of_vectors(), X, target=[0, 1], method="path_integral", features=COLUMNS, times=DAYS)
    views.save(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for name in ("load (kW)", "loss (W)", *DAYS, *COLUMNS):
        assert json.dumps(name)[1:-1] in page


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"times": DAYS[1:]}, "`times` must be a name for each of 5 steps. Received: times="),
        ({"times": "MTWTF"}, "`times` must be a name for each of 5 steps. Received: times='MTWTF'"),
        ({"features": ["wind"]}, "`features` must be a name for each of 3 features. Received: features="),
        ({"outputs": "ab"}, "`names` must be a list of names, each once. Received: names='ab'"),
        ({"outputs": 3}, "`names` must be a list of names, each once. Received: names=3"),
        ({"outputs": b"ab"}, "`names` must be a list of names, each once. Received: names=b'ab'"),
        ({"times": {*DAYS}}, "`times` must be a name for each of 5 steps"),
        ({"times": 5}, "`times` must be a name for each of 5 steps. Received: times=5"),
        ({"features": iter(COLUMNS)}, "`features` must be a name for each of 3 features"),
        ({"outputs": ["a", "a"]}, "`names` must be a list of names, each once. Received: names="),
    ],
)
def test_wrong_names_of_a_series_are_refused(names, sentence):
    with pytest.raises(ValueError, match=sentence):
        analysis.attribution(of_vectors(), X, **names)
    if "times" in names:
        with pytest.raises(ValueError, match="must be None for a network that reads no vectors"):
            analysis.attribution(of_words("LSTM"), [TEXT], times=["a"])


def test_units_are_one_for_all_or_one_for_each():
    assert Outputs(["a", "b"], units="m").of(2) == ("a (m)", "b (m)")
    assert Outputs(["a", "b"], units=["m", ""]).of(2) == Outputs(["a", "b"], units=["m", None]).of(2) == ("a (m)", "b")
    with pytest.raises(ValueError, match="one unit, or one for each of 2 outputs. Received: units=5"):
        Outputs(["a", "b"], units=5)
    with pytest.raises(ValueError, match="one unit, or one for each of 2 outputs. Received: units="):
        Outputs(["a", "b"], units=["m"])


@pytest.mark.parametrize("name", ["Attributions", "Contributions", "ShapleyValues", "Substitutions"])
def test_callbacks_take_names_of_outputs(name, tmp_path):
    model = of_words("ISAN", carried=False)
    probe = getattr(callbacks, name)(tmp_path, [TEXT], outputs=["left", "right"])
    probe.set_model(model)
    [found] = probe.measure()
    described = found.tag()[1]
    assert described["outputs"] == ["left", "right"]


def test_names_are_where_users_find_them():
    assert {"Alphabet", "Outputs"} <= set(datasets.__all__)

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, layers, views

K = 4


def one_unit(seed=0, outputs=1):
    generator = np.random.default_rng(seed)
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            layers.DiagonalISAN(1, K, return_sequences=True),
            keras.layers.Dense(outputs),
        ]
    )
    for variable in model.trainable_variables:
        variable.assign(generator.normal(size=variable.shape) * 0.5)
    model.layers[0].cell.recurrent_kernel.assign(generator.uniform(0.3, 0.9, (K, 1, 1, 1)))
    words = [generator.integers(0, K, length) for length in (40, 25, 31)]
    return model, words


def numbers(variable):
    return keras.ops.convert_to_numpy(variable).astype(np.float64)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_network_of_one_unit_has_lines_with_its_decays_and_fixed_points(seed):
    model, words = one_unit(seed)
    portrait = analysis.phase_portrait(model, words, alphabet="abcd")
    cell, head = model.layers[0].cell, model.layers[1]
    decay, bias = numbers(cell.recurrent_kernel).ravel(), numbers(cell.bias).ravel()
    r, c = numbers(head.kernel).item(), numbers(head.bias).item()
    np.testing.assert_allclose(portrait.slopes, decay - 1, atol=1e-9)
    np.testing.assert_allclose(portrait.fixed_points, bias / (1 - decay) * r + c, atol=1e-9)
    np.testing.assert_allclose(-portrait.intercepts / portrait.slopes, portrait.fixed_points, atol=1e-9)
    np.testing.assert_allclose(portrait.time_constants[:, 0], -1 / np.log(decay))
    assert portrait.residual.max() < 1e-12
    assert portrait.name(2) == "c"


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_points_are_the_steps_of_the_model(outputs):
    model, words = one_unit(2, outputs)
    options = {"towards": 2, "against": 0} if outputs == 3 else {}
    portrait = analysis.phase_portrait(model, words, **options)
    direction = {1: [1], 2: [-1, 1], 3: [-1, 0, 1]}[outputs]
    after = np.concatenate([model.predict(word[None], verbose=0)[0] @ direction for word in words])
    starts = np.concatenate([np.full(len(word), i) for i, word in enumerate(words)])
    steps = np.concatenate([np.arange(len(word)) for word in words])
    # Points come by step, then by sequence.
    by_step = np.lexsort((starts, steps))
    np.testing.assert_allclose(portrait.logits + portrait.changes, after[by_step], atol=1e-5)
    np.testing.assert_array_equal(portrait.symbols, np.concatenate(words)[by_step])


def test_a_direction_that_grows_has_a_negative_time_constant():
    agent = automata.WeightedAutomaton([0, 0, 1], [[[1.5, 0, 0], [0, 0.5, 0], [1, 1, 1]]], [1, 1, 0])
    portrait = analysis.phase_portrait(agent, [[0, 0, 0]])
    assert np.isnan(portrait.fixed_points[0])
    assert portrait.time_constants[0] == pytest.approx([-1 / np.log(0.5), -1 / np.log(1.5)])
    assert 1.5 ** -portrait.time_constants[0, 1] == pytest.approx(np.e)


def test_points_of_several_units_scatter_and_a_symbol_that_keeps_the_state_has_no_fixed_point():
    kept = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    moves = [[0.5, 0, 0], [0, 0.9, 0], [1, -2, 1]]
    agent = automata.WeightedAutomaton([0, 0, 1], [kept, moves], [1, 1, 0])
    portrait = analysis.phase_portrait(agent, [[1, 0, 1, 1, 0, 1, 1]])
    assert np.isnan(portrait.fixed_points[0])
    assert np.isinf(portrait.time_constants[0]).all()
    assert portrait.fixed_points[1] == pytest.approx(1 / 0.5 - 2 / 0.1)
    assert portrait.time_constants[1] == pytest.approx([-1 / np.log(0.9), -1 / np.log(0.5)])
    assert portrait.residual[1] > 0.01
    assert portrait.slopes[0] == pytest.approx(0, abs=1e-12)


def test_a_gated_network_has_points_and_lines_but_no_fixed_points():
    inputs = keras.Input((None,), dtype="int32")
    states = keras.layers.GRU(2, return_sequences=True)(keras.layers.Embedding(K, 3)(inputs))
    model = keras.Model(inputs, keras.layers.Dense(1)(states))
    words = [np.array([0, 1, 2, 3, 0, 1, 2, 3])]
    portrait = analysis.phase_portrait(model, words)
    outputs = model.predict(words[0][None], verbose=0)[0, :, 0]
    np.testing.assert_allclose(portrait.changes, np.diff(outputs), atol=1e-6)
    assert np.isnan(portrait.fixed_points).all()
    assert portrait.symbols.tolist() == [1, 2, 3, 0, 1, 2, 3]


def test_a_portrait_is_shown_as_text_and_as_a_page(tmp_path):
    model, words = one_unit(3)
    portrait = analysis.phase_portrait(model, words, alphabet=["<a>", "b", "c", "d"])
    said, head, *rows = str(portrait).splitlines()
    assert said.endswith(" pulls back most")
    assert head.split() == "symbol slope residual fixed point time constants (steps)".split()
    name, slope, _, point, constant = rows[0].split()
    assert (name, slope, point) == ("<a>", f"{portrait.slopes[0]:+.3f}", f"{portrait.fixed_points[0]:+.3f}")
    assert float(constant) == pytest.approx(portrait.time_constants[0, 0], rel=5e-3)
    assert len(rows) == K
    page = portrait._repr_html_()
    assert page.count("<line") == 1 + K
    assert "&lt;a&gt;" in page
    assert "<a>" not in page
    views.save(portrait, tmp_path / "portrait.svg")
    assert (tmp_path / "portrait.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("outputs", "words", "options", "sentence"),
    [
        (1, [], {}, "`sequences` must have a step that is read"),
        (1, [[]], {}, "`sequences` must have a step that is read"),
        (3, [[0, 1]], {}, "`towards` and `against` must be outputs of a network of 3"),
        (3, [[0, 1]], {"towards": 3, "against": 0}, "`towards` must be an output, below 3"),
    ],
)
def test_errors_say_what_must_be(outputs, words, options, sentence):
    model, _ = one_unit(0, outputs)
    with pytest.raises(ValueError, match=sentence):
        analysis.phase_portrait(model, [np.array(word, int) for word in words], **options)


def test_a_gated_network_without_an_output_at_every_step_is_refused():
    model = keras.Sequential([keras.Input((None,)), keras.layers.Embedding(K, 3), keras.layers.GRU(2)])
    with pytest.raises(ValueError, match="`network` must have an output at every step"):
        analysis.phase_portrait(model, [np.array([0, 1])])


def test_print_says_which_directions_do_not_decay():
    isan = layers.ISAN(2, 2, dtype="float64")
    isan.build((None, None))
    isan.set_weights([np.array([[[1.25, 0], [0, 0.5]], [[1, 0], [0, 0.25]]]), np.zeros((2, 2)), np.ones(2)])
    text = str(analysis.phase_portrait((isan, (np.ones((2, 1)), np.zeros(1))), [[0, 1, 0]]))
    assert "1.44 none (grows by e in 4.48)" in text
    assert "none (unchanged) 0.721" in text

"""The functions that read ISANs read linear recurrences exactly: of symbols after an Embedding, and of vectors."""

import keras
import numpy as np
import pytest
from scipy.special import softmax

from keras_interp_rnn import analysis, automata, layers
from keras_interp_rnn.equations import NUMPY

SYMBOLS, UNITS, OUTPUTS = 4, 4, 3
HEADS = {"num_heads": 2, "normalize": False}
KINDS = {
    "MinGRU": {},
    "MinLSTM": {"positive": True},
    "LRU": {"state_dim": 3},
    "RGLRU": {},
    "GatedLinearAttention": HEADS,
    "GatedLinearAttention, one decay a head": {**HEADS, "decay_rank": None, "output_gate": False},
    "DeltaNet": HEADS,
    "DeltaNet, gated": {**HEADS, "gated": True},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def recurrent(kind: str, **more):
    return getattr(layers, kind.split(",")[0])(UNITS, return_sequences=True, **{**KINDS[kind], **more})


def draw(model: keras.Model, seed: int) -> keras.Model:
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(rng.normal(size=weight.shape) / np.sqrt(weight.shape[0]))
    return model


def of_symbols(kind: str, seed: int = 0, width: int = 5, **more) -> keras.Model:
    """A model of an Embedding, whose width may be that of the units: RG-LRU and LRU then have another form."""
    parts = [keras.layers.Embedding(SYMBOLS, width), recurrent(kind, **more), keras.layers.Dense(OUTPUTS)]
    return draw(in_float64([keras.Input((None,), dtype="int32"), *parts]), seed)


def of_vectors(kind: str, seed: int = 0, width: int = 5) -> keras.Model:
    inputs = keras.Input((None, width), dtype="float64")
    return draw(in_float64([inputs, recurrent(kind), keras.layers.Dense(OUTPUTS)]), seed)


def in_float64(parts: list) -> keras.Model:
    rebuilt = [
        part
        if not isinstance(part, keras.layers.Layer) or isinstance(part, keras.layers.InputLayer)
        else type(part).from_config({**part.get_config(), "dtype": "float64"})
        for part in parts
    ]
    return keras.Sequential(rebuilt)


def logits(model: keras.Model, read: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(model(keras.ops.convert_to_tensor(read[None])))[0]


@every_kind
@pytest.mark.parametrize(("seed", "width"), [(0, 5), (1, UNITS)])
def test_contributions_of_symbols_are_exact(kind, seed, width):
    model = of_symbols(kind, seed, width)
    text = np.random.default_rng(seed).integers(0, SYMBOLS, 30).astype("int32")
    split = analysis.contributions(model, text)
    assert split.residual < 1e-12
    np.testing.assert_allclose(split.logits, logits(model, text), atol=1e-11)
    last = analysis.contributions(model, text, targets=-1)
    np.testing.assert_allclose(last.values[:, 0], split.values[:, -1], atol=1e-12)
    [*_, recent] = analysis.recent_contributions(model, text, window=5)
    np.testing.assert_allclose(recent.values, split.values[-5:, -1], atol=1e-12)
    assert not split.values[0].any()  # the initial state is zero


@every_kind
def test_contributions_of_vectors_are_exact_and_those_of_their_symbols(kind):
    model = of_vectors(kind)
    sequence = np.random.default_rng(3).normal(size=(20, 5))
    split = analysis.contributions(model, sequence)
    assert split.residual < 1e-12
    np.testing.assert_allclose(split.logits, logits(model, sequence), atol=1e-11)
    # The same sequence, as symbols for its vectors.
    table = keras.layers.Embedding(20, 5, dtype="float64")
    named = keras.Sequential([keras.Input((None,), dtype="int32"), table, *model.layers])
    table.embeddings.assign(sequence)
    np.testing.assert_allclose(analysis.contributions(named, np.arange(20)).values, split.values, atol=1e-12)


@every_kind
def test_shares_of_features_are_those_of_networks_that_add_one_feature_alone(kind):
    """The candidate or the value that is added to the state reads one feature; the gates read all."""
    model, sequence = of_vectors(kind), np.random.default_rng(4).normal(size=(9, 5))
    if kind == "MinLSTM":  # its candidate is not linear in the input
        with pytest.raises(ValueError, match="linear in the vector, given the gates"):
            analysis.contributions(model, sequence, by_feature=True)
        return
    split = analysis.contributions(model, sequence, by_feature=True)
    assert split.features.shape == (9, 5, 9, OUTPUTS)
    assert split.given == ""
    head = keras.ops.convert_to_numpy(model.layers[-1].kernel)
    for feature in range(5):
        outputs = outputs_of_one_feature(model.layers[0].cell, sequence, np.delete(np.arange(5), feature))
        np.testing.assert_allclose(split.features[:, feature].sum(axis=0), outputs @ head, atol=1e-12)
    early = analysis.contributions(model, sequence[:6], by_feature=True)
    np.testing.assert_allclose(early.features, split.features[:6, :, :6], atol=1e-12)
    assert not split.features[6:, :, :6].any()
    if kind != "MinGRU":  # the one candidate with a bias
        np.testing.assert_allclose(split.features.sum(axis=1), split.values[1:], atol=1e-12)


@every_kind
def test_the_top_layer_of_a_stack_is_split_given_its_inputs(kind):
    text = np.random.default_rng(5).integers(0, SYMBOLS, 12).astype("int32")
    below = [keras.layers.Embedding(SYMBOLS, 5), keras.layers.GRU(6, return_sequences=True), recurrent(kind)]
    between = [keras.layers.LayerNormalization(), recurrent(kind), keras.layers.Dense(OUTPUTS, "softmax")]
    model = draw(in_float64([keras.Input((None,), dtype="int32"), *below, *between]), seed=6)
    top, head = model.layers[-2:]
    split = analysis.contributions(model, text)
    assert split.residual < 1e-12
    assert split.given == top.name
    assert f"exact given what {top.name} reads" in str(split)
    assert split.symbols.tolist() == text.tolist()
    np.testing.assert_allclose(softmax(split.logits, axis=1), logits(model, text), atol=1e-11)
    made = keras.ops.convert_to_numpy(keras.Model(model.inputs[0], top.input)(text[None]))[0]
    np.testing.assert_allclose(analysis.contributions(top, made, readout=head).values, split.values, atol=1e-12)
    recent = [*analysis.recent_contributions(model, text, window=3)][-1]
    np.testing.assert_allclose(recent.values, split.values[-3:, -1], atol=1e-12)
    np.testing.assert_allclose(recent.logits, split.logits[-1], atol=1e-12)


@pytest.mark.parametrize(
    "odd",
    [
        {"below": [keras.layers.Embedding(SYMBOLS, 5, mask_zero=True), layers.MinGRU(4, return_sequences=True)]},
        {"above": [keras.layers.Activation("tanh")]},
        {"head": [keras.layers.Dense(3, "relu"), keras.layers.Dense(2)]},
    ],
    ids=["masks", "activation on the states", "activation in the head"],
)
def test_a_stack_that_is_not_affine_on_top_is_refused(odd):
    below = odd.get("below", [keras.layers.Embedding(SYMBOLS, 5), layers.MinGRU(4, return_sequences=True)])
    top = [layers.MinGRU(4, return_sequences=True), *odd.get("above", [])]
    parts = [*below, *top, *odd.get("head", [keras.layers.Dense(2)])]
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *parts])
    with pytest.raises(ValueError, match=r"analysis\.attribution"):
        analysis.contributions(model, [1, 2, 3])


def outputs_of_one_feature(cell, sequence: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Outputs of all steps, where what is added to the state is made without the `others` and without a bias."""
    equations = cell.equations(keras.ops.convert_to_numpy)
    drive, alone = list(equations.drive(NUMPY, sequence)), sequence.copy()
    alone[:, others] = 0
    if isinstance(cell, layers.MinGRUCell):
        drive[1] = alone @ equations.kernel[:, UNITS:]
    elif isinstance(cell, layers.LRUCell):
        drive = list(equations.drive(NUMPY, alone))
    elif isinstance(cell, layers.RGLRUCell):
        drive[2] = alone @ equations.input_kernel
    elif isinstance(cell, layers.GatedLinearAttentionCell):
        drive[2] = alone @ equations.kernel[:, -UNITS:]
    else:
        of_values = equations.kernel[:, -UNITS - cell.num_heads : -cell.num_heads]
        drive[2] = alone @ of_values / (1 + np.exp(-(sequence @ of_values)))
    state, outputs = np.zeros((1, cell.state_size)), []
    for t in range(len(sequence)):
        now = tuple(entry[t : t + 1] for entry in drive)
        [state] = equations.step(NUMPY, (state,), now).states
        outputs.append(equations.output(NUMPY, (state,), now)[0])
    return np.array(outputs)


@every_kind
def test_a_network_of_symbols_is_a_weighted_automaton_and_an_isan(kind):
    model = of_symbols(kind)
    automaton = automata.WeightedAutomaton.from_network(model)
    isan = automaton.to_isan(dtype="float64")
    for length in (1, 2, 7):
        for word in np.random.default_rng(length).integers(0, SYMBOLS, (5, length)).astype("int32"):
            right = logits(model, word)[-1]
            np.testing.assert_allclose(automaton.value(word), right, atol=1e-12)
            np.testing.assert_allclose(logits(isan, word).ravel()[-OUTPUTS:], right, atol=1e-12)
    proof = analysis.equivalent(model, isan)
    # DeltaNet's matrices are computed from weights, and do not shrink states: rounding may grow with the word.
    assert proof.equal or (kind == "DeltaNet" and proof.equal is None and "of at most" in str(proof))
    assert len(analysis.minimize(model)) <= len(automaton)
    assert analysis.equivalent(model, of_symbols(kind, seed=1)).equal is False


@every_kind
@pytest.mark.parametrize("seed", [2, 5])
def test_a_network_is_proved_equal_to_its_smallest(kind, seed):
    model = of_symbols(kind, seed)
    automaton = automata.WeightedAutomaton.from_network(model)
    for smallest in (automaton.minimize(), analysis.minimize(model)):
        found = analysis.equivalent(automaton, smallest)
        if kind == "DeltaNet":  # no norm contracts: a symbol that is repeated keeps what is orthogonal to its key
            assert found.equal is None
            assert found.max_length > 500
        else:
            assert found.equal
            assert found.max_length is None


@every_kind
def test_shares_of_steps_sum_to_the_output(kind):
    """A nonlinearity after the layer, for which the layer has no exact split."""
    inputs = keras.Input((None, 5), dtype="float64")
    hidden = recurrent(kind, dtype="float64")(inputs)
    above = keras.layers.GRU(3, dtype="float64")(keras.layers.Dense(3, "tanh", dtype="float64")(hidden))
    model = draw(keras.Model(inputs, keras.layers.Dense(2, dtype="float64")(above)), 0)
    found = analysis.attribution(model, np.random.default_rng(0).normal(size=(2, 6, 5)), target=1, method="telescoping")
    assert max(found.residual, found.difference) < 1e-10


@every_kind
def test_a_trace_has_the_states_and_the_quantities_of_the_paper(kind):
    layer = of_vectors(kind).layers[0]
    traced = analysis.trace(layer, np.random.default_rng(0).normal(size=(1, 6, 5)))
    assert traced["h"].shape == (1, 6, layer.cell.state_size)
    name = {"Min": "z" if kind == "MinGRU" else "f", "RGL": "r", "Gat": "alpha", "Del": "q"}.get(kind[:3], "h")
    assert name in traced


def test_in_a_stack_of_cells_the_next_one_reads_the_output():
    stack = keras.layers.StackedRNNCells([layers.LRUCell(3, state_dim=4), keras.layers.GRUCell(2)])
    layer = keras.layers.RNN(stack, return_sequences=True)
    sequence = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
    expected = keras.ops.convert_to_numpy(layer(sequence))
    np.testing.assert_allclose(analysis.trace(layer, sequence)["1/h"], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"normalize": True}, r"affine in the state.*Received: .*, which divides each head's output .*normalize=False"),
        ({"go_backwards": True}, "must read forwards for its text"),
    ],
)
def test_refuses_networks_that_are_not_affine_or_read_backwards(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        analysis.contributions(of_symbols("DeltaNet", **change), [0, 1])


def test_refuses_inputs_that_the_network_does_not_read():
    vectors, isan = np.zeros((3, 5)), layers.ISAN(2, 5)
    with pytest.raises(ValueError, match="reads symbols"):
        analysis.contributions(of_symbols("MinGRU"), [1, 2], by_feature=True)
    isan.build((None, None))
    with pytest.raises(ValueError, match=r"with an Embedding must read ids. Received: float64 of shape \(3, 5\)"):
        analysis.contributions(of_symbols("MinGRU"), vectors)
    with pytest.raises(ValueError, match=r"must have the 5 features that the layer reads. Received: shape \(3, 4\)"):
        analysis.contributions(of_vectors("MinGRU"), vectors[:, :4])
    with pytest.raises(ValueError, match=r"An ISAN must read symbols. Received: float64 of shape \(3, 5\)"):
        analysis.contributions(isan, vectors)
    with pytest.raises(ValueError, match="must be finite at steps that are read. Received: nan at step 1 of"):
        analysis.contributions(of_vectors("MinGRU"), np.full((3, 5), np.nan))
    ids = keras.Input((None,), dtype="int32")
    states = layers.MinGRU(2)(keras.layers.Embedding(4, 3)(ids), mask=keras.ops.not_equal(ids, 3))
    with pytest.raises(ValueError, match="must reach its ISAN unchanged.* called with mask"):
        analysis.contributions(keras.Model(ids, states), [1, 2])


def test_a_cell_that_computes_something_of_its_own_is_refused():
    class Mine(layers.MinGRUCell):
        def drive(self, inputs):
            return tuple(2 * part for part in super().drive(inputs))

    cell = Mine(2)
    cell.build((None, 3))
    with pytest.raises(ValueError, match="Exactly one ISAN can be read at a time|must be those of its class"):
        analysis.contributions(cell, [0, 1])


def test_matrices_that_do_not_fit_are_refused_with_their_size():
    layer = layers.DeltaNet(128, num_heads=2, normalize=False, return_sequences=True)
    model = keras.Sequential([keras.Input((None, 5)), layer])
    with pytest.raises(ValueError, match=r"must fit into 4 GiB. Received: 100 vectors and 8320 units"):
        analysis.contributions(model, np.zeros((100, 5)))

"""Names and arguments of the release before are taken, with a warning, and give the same."""

import warnings

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.analysis.isan.bases import compare

TEXT = [0, 2, 1, 1, 0]


def model():
    keras.utils.set_random_seed(0)
    return keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(4, 3), keras.layers.Dense(3)])


def classifier():
    keras.utils.set_random_seed(0)
    return keras.Sequential([keras.layers.Embedding(4, 3), layers.SRGRU(4, num_centroids=2), keras.layers.Dense(1)])


@pytest.mark.parametrize(
    ("former", "name"),
    [
        ("Blocks", "BasisBlocks"),
        ("Parts", "BiasParts"),
        ("Recent", "RecentContributions"),
        ("Words", "WordContributions"),
        ("augmented", "homogeneous_matrices"),
        ("by_age", "contributions_by_age"),
        ("drift", "relative_drift"),
        ("near_zero", "fraction_near_zero"),
        ("rebuilt", "binarized_network"),
    ],
)
def test_a_former_name(former, name):
    with pytest.warns(DeprecationWarning, match=rf"analysis\.{former} is now called {name}"):
        assert getattr(analysis, former) is getattr(analysis, name)
    assert former not in analysis.__all__


def test_another_name():
    with pytest.raises(AttributeError, match="has no attribute 'by_ages'"):
        analysis.by_ages  # noqa: B018


CALLS = {
    "contributions": (
        lambda m: analysis.contributions(layer=m, symbols=TEXT).values,
        lambda m: analysis.contributions(m, TEXT).values,
    ),
    "contributions by position": (
        lambda m: analysis.contributions(m, TEXT, None, [2]).values,
        lambda m: analysis.contributions(m, TEXT, targets=[2]).values,
    ),
    "recent_contributions": (
        lambda m: [recent.earlier for recent in analysis.recent_contributions(m, TEXT, 2)],
        lambda m: [recent.earlier for recent in analysis.recent_contributions(m, TEXT, window=2)],
    ),
    "timescales": (
        lambda m: analysis.timescales(m, TEXT, oldest=2).decay,
        lambda m: analysis.timescales(m, TEXT, max_age=2).decay,
    ),
    "label_basis": (
        lambda m: analysis.label_basis([[0.0], [1.0]], [[0], [1]], readout=1).to.matrix,
        lambda m: analysis.label_basis([[0.0], [1.0]], [[0], [1]], num_readout=1).to.matrix,
    ),
    "CompositionTable": (
        lambda m: analysis.CompositionTable(m, [[0, 1]], budget=2**20).score(TEXT),
        lambda m: analysis.CompositionTable(m, [[0, 1]], max_bytes=2**20).score(TEXT),
    ),
    "from_corpus": (
        lambda m: analysis.CompositionTable.from_corpus(m, TEXT, longest=3).score(TEXT),
        lambda m: analysis.CompositionTable.from_corpus(m, TEXT, max_length=3).score(TEXT),
    ),
    "generate": (
        lambda m: analysis.generate(m, TEXT, length=4),
        lambda m: analysis.generate(m, TEXT, num_symbols=4),
    ),
    "input_output_jacobian": (
        lambda m: analysis.input_output_jacobian(m, np.array([TEXT]), 2),
        lambda m: analysis.input_output_jacobian(m, np.array([TEXT]), lag=2),
    ),
    "BackoffModel": (
        lambda m: analysis.BackoffModel(TEXT, 2, 3).bits(TEXT),
        lambda m: analysis.BackoffModel(TEXT, 2, vocabulary_size=3).bits(TEXT),
    ),
    "top": (
        lambda m: analysis.contributions(m, TEXT).top(count=2),
        lambda m: analysis.contributions(m, TEXT).top(num_sources=2),
    ),
    "pull": (
        lambda m: analysis.contributions(m, TEXT).pull(1, 0, 2),
        lambda m: analysis.contributions(m, TEXT).logit_difference(1, towards=0, against=2),
    ),
    "hot": (lambda m: analysis.readout_basis(m).hot, lambda m: analysis.readout_basis(m).num_binary),
    "readout": (lambda m: analysis.readout_basis(m).readout, lambda m: analysis.readout_basis(m).num_readout),
    "trace": (
        lambda m: analysis.trace(layer=m, inputs=np.array([TEXT]))["h"],
        lambda m: analysis.trace(m, np.array([TEXT]))["h"],
    ),
    "prototypes": (
        lambda m: analysis.prototypes(classifier(), [[1, 2, 3]], None, 2, least=1).share,
        lambda m: analysis.prototypes(classifier(), [[1, 2, 3]], num_tokens=2, min_count=1).share,
    ),
    "phrases": (
        lambda m: list(analysis.phrases(classifier(), [[1, 2, 3]], 2, None, 5)),
        lambda m: list(analysis.phrases(classifier(), [[1, 2, 3]], length=2, num_phrases=5)),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_former_call_gives_the_same(name):
    former, today = CALLS[name]
    network = model()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given = former(network)
    # Keras warns of itself meanwhile; those of ours point here.
    sentences = [str(warning.message) for warning in caught if warning.filename == __file__]
    assert sentences
    assert all(sentence.endswith("for one more release.") for sentence in sentences)
    np.testing.assert_array_equal(given, today(network))


def test_results_still_unpack():
    network = model()
    whole, readout, computational = analysis.bias_parts(network)
    np.testing.assert_allclose(whole, readout + computational, atol=1e-12)
    basis = analysis.readout_basis(network)
    changed = analysis.change_basis(network, basis)
    layer, head = changed
    assert (layer, head) == (changed.layer, changed.readout) == (changed[0], changed[1])
    assert len(changed) == 2
    rr, *others = analysis.named_blocks(layer, basis)
    assert rr.shape == (3, 3, 3)
    assert len(others) == 5
    ends, states = analysis.CompositionTable(network, [[0, 2]]).states(TEXT)
    assert len(ends) == len(states)


@pytest.mark.parametrize(("dtype", "bound"), [("float64", 1e-12), ("float32", 1e-5)])
def test_the_residual_of_a_change_of_basis_is_rounding(dtype, bound):
    network = model()
    changed = analysis.change_basis(network, analysis.readout_basis(network), dtype=dtype)
    assert 0 < changed.residual < bound


def test_the_residual_of_a_change_of_basis_tells_of_another_network():
    network = model()
    changed = analysis.change_basis(network, analysis.readout_basis(network))
    changed.layer.cell.bias.assign(changed.layer.cell.bias + 0.1)
    again = compare(changed.layer, changed.readout, network, None)
    kernel, bias, start = analysis.network.isan_weights(network)
    outputs = changed.readout.apply(np.full(4, 0.1)) - changed.readout.offset
    assert again.residual == pytest.approx(np.abs(outputs).max(), rel=1e-9)

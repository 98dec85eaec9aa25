"""The smallest ISAN: of known sizes, with the same outputs, out of padded networks and of automata."""

import numpy as np
import pytest

from examples.papers import _binary
from keras_interp_rnn import analysis, presets
from keras_interp_rnn.automata import WeightedAutomaton, tomita
from tests.analysis.weighted.networks import drawn, rotation, scales, stored
from tests.oracles import weighted_automata as oracle

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


WORDS = list(oracle.words(3, 5))


def assert_same(minimized, network, tolerance=1e-11):
    found, expected = stored(minimized).all_outputs(WORDS), network.all_outputs(WORDS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("seed", range(4))
def test_a_dense_network_is_the_smallest_already(seed):
    network = drawn(seed)
    minimized = analysis.minimize(network.pair())
    assert (minimized.units_before, minimized.reachable, minimized.units) == (5, 5, 5)
    assert minimized.residual < 1e-10
    assert minimized.max_length is None
    assert minimized.largest_dropped < 1e-14
    assert_same(minimized, network)


def with_useless_units(seed, unreachable, unseen, mixed):
    """A network, the same with further units, apart or in another basis, and the generator."""
    rng = np.random.default_rng(seed)
    network = drawn(seed)
    padded = network.padded(rng, unreachable, unseen)
    return network, padded.in_basis(rotation(rng, padded.units)) if mixed else padded, rng


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mixed", [False, True], ids=["apart", "in another basis"])
def test_thirty_useless_units_go(seed, mixed):
    network, padded, _ = with_useless_units(seed, 17, 13, mixed)
    minimized = analysis.minimize(padded.pair())
    assert (minimized.units_before, minimized.units) == (35, 5)
    assert minimized.reachable == 18
    assert minimized.residual < 1e-8
    assert minimized.smallest_kept > 1e6 * minimized.largest_dropped
    assert_same(minimized, network, tolerance=1e-10)


def test_the_size_is_the_rank_of_the_table_of_differences():
    """Oracle in fractions: rank of f(uv) with a column of ones is the number of units and one."""
    rng = np.random.default_rng(5)
    for units in (1, 2, 3):
        network = drawn(units, units=units, symbols=2, outputs=1)
        padded = network.padded(rng, 2, 2)
        # Numbers that fractions hold exactly and that do not round in the products of the oracle.
        small = padded._replace(**{name: np.round(part * 4) / 4 for name, part in padded._asdict().items()})
        size = oracle.hankel_rank(small.outputs, 2, 3, constant=True) - 1
        assert analysis.minimize(small.pair()).units == size <= units


@pytest.mark.parametrize("number", range(1, 8))
def test_the_languages_of_tomita_come_down_to_their_rank(number):
    dfa = tomita(number)
    automaton = WeightedAutomaton.from_dfa(dfa)
    size = oracle.hankel_rank(lambda word: automaton.value([dfa.alphabet[i] for i in word]), 2, 4, constant=True) - 1
    minimized = analysis.minimize(dfa)
    assert minimized.units == size <= len(dfa)
    words = list(oracle.words(2, 7))
    accepted = [dfa.accepts([dfa.alphabet[i] for i in word]) for word in words]
    np.testing.assert_array_equal(stored(minimized).all_outputs(words)[:, 0].round(), accepted)


def test_a_constant_is_one_unit_that_stays_zero():
    network = drawn(0)
    constant = network._replace(readout=np.zeros_like(network.readout))
    minimized = analysis.minimize(constant.pair())
    assert minimized.units == 0
    assert minimized.layer.units == 1
    np.testing.assert_allclose(stored(minimized).outputs([0, 2, 1]), network.offset)


def test_directions_below_the_tolerance_go_and_the_residual_says_so():
    network = drawn(1)
    weak = network._replace(
        bias=network.bias * [1, 1, 1, 1, 1e-7],
        initial=network.initial * [1, 1, 1, 1, 0],
        kernel=network.kernel * np.where(np.arange(5) == 4, 1e-7, 1),
    )
    assert analysis.minimize(weak.pair()).units == 5
    cut = analysis.minimize(weak.pair(), tolerance=1e-5)
    assert cut.units == 4
    assert 1e-9 < cut.residual < 1e-3
    assert_same(cut, weak, tolerance=cut.residual)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mixed", [False, True], ids=["apart", "in another basis"])
def test_the_scales_of_units_decide_no_size(seed, mixed):
    network, padded, rng = with_useless_units(seed, 3, 2, mixed)
    scaled = padded.in_basis(scales(rng, padded.units))
    minimized = analysis.minimize(scaled.pair())
    assert (minimized.reachable, minimized.units) == (7, 5)
    assert minimized.residual < 1e-8
    assert_same(minimized, network, tolerance=minimized.residual)
    smallest = scaled.automaton().minimize()
    assert len(smallest) == 6
    np.testing.assert_allclose(smallest.values(WORDS), network.all_outputs(WORDS), atol=1e-9)
    assert analysis.equivalent(scaled.pair(), minimized).equal


@pytest.mark.parametrize("step", [1e-6, 1e-11, 1e-13, 1e-100])
@pytest.mark.parametrize("decay", [0.9, 1.0], ids=["that decays", "that counts"])
def test_a_small_step_that_is_read_by_a_large_weight_stays(step, decay):
    """Symbol 0 adds to the second unit what the first one holds."""
    kernel = [[[decay, step, 0], [0, 1, 0], [0, 0, 0]], [[decay, 0, 0], [0, 1, 0], [0, 0, 0]]]
    automaton = WeightedAutomaton([1.0, 0, 0], kernel, [0, 1 / step, 0])
    smallest, minimized = automaton.minimize(), analysis.minimize(automaton)
    assert len(smallest) == 2
    assert minimized.residual < 1e-12
    words = list(oracle.words(2, 7))
    expected = [automaton.value(word) for word in words]
    np.testing.assert_allclose([smallest.value(word) for word in words], expected, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(stored(minimized).all_outputs(words)[:, 0], expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("gain", [0.4, 1.2], ids=["contracting", "expanding"])
@pytest.mark.parametrize(("tolerance", "dtype"), [(1e-10, "float32"), (1e-3, "float64")])
def test_the_residual_bounds_the_difference_of_the_outputs(seed, gain, tolerance, dtype):
    rng = np.random.default_rng(seed)
    network = drawn(seed, gain=gain)
    strong = np.array([1, 1, 1, 1, 10.0 ** rng.uniform(-6, -3)])  # of the last unit little is known and little seen
    weak = network._replace(bias=network.bias * strong, initial=0 * strong, kernel=network.kernel * strong)
    weak = weak.in_basis(rotation(rng, 5)).in_basis(scales(rng, 5))
    minimized = analysis.minimize(weak.pair(), tolerance=tolerance, dtype=dtype)
    longest = 6 if minimized.max_length is None else minimized.max_length
    assert (minimized.max_length is None) == (gain < 1)
    assert longest >= 6
    words = list(oracle.words(3, 6))
    apart = np.abs(stored(minimized).all_outputs(words) - weak.all_outputs(words)).max()
    assert apart <= minimized.residual * (1 + 1e-9) + 1e-13
    where = "all words of at most" if gain > 1 else "all words;"
    assert f"outputs differ by at most {minimized.residual:.1e} on {where}" in str(minimized)


@pytest.mark.parametrize("tolerance", [-1e-3, 1, float("nan"), None, "1e-6"])
def test_a_tolerance_is_a_fraction(tolerance):
    with pytest.raises(ValueError, match=r"`tolerance` must be a number in \[0, 1\)"):
        analysis.minimize(drawn().pair(), tolerance=tolerance)


def test_a_network_that_counts_is_minimized_to_its_counts():
    """Two counts up to 5, and both one step ago: each is one-hot, five coordinates and the constant."""
    preset = presets.load("counting-isan")
    # As trained, nothing is quite 0, and all 35 units are needed.
    assert analysis.minimize(preset.model).layer.units == 35
    network, readout = _binary.binarized_network(preset.model, preset.basis)
    smallest = analysis.minimize(network, readout=readout)
    assert smallest.layer.units == 2 * 2 * 5
    assert smallest.residual < 1e-12
    equal = analysis.equivalent((network, readout), (smallest.layer, smallest.readout), tolerance=1e-6)
    assert equal.equal is not False


def learner(seed: int) -> WeightedAutomaton:
    """A Q-learner of two choices that forgets: symbols are choice and reward, the output is how one is preferred."""
    rng = np.random.default_rng(seed)
    learns, forgets, prefers = rng.uniform(0.02, 0.98), rng.uniform(0.005, 0.9), rng.uniform(0.5, 8)
    forgets = learns if seed % 3 == 0 else forgets
    transitions = np.zeros((4, 3, 3))
    for symbol, matrix in enumerate(transitions):
        choice, reward = divmod(symbol, 2)
        matrix[[0, 1, 2], [0, 1, 2]] = 1 - forgets, 1 - forgets, 1
        matrix[choice, choice], matrix[2, choice] = 1 - learns, learns * reward
    return WeightedAutomaton([0.5, 0.5, 1], transitions, [-prefers, prefers, 0])


@pytest.mark.parametrize("seed", range(40))
def test_minimizing_the_smallest_network_keeps_its_values(seed):
    """Minimized again, with entries that rounding left of zeros, and in other scales of its units."""
    agent = learner(seed)
    small = agent.minimize()
    scale = 2.0 ** np.random.default_rng(seed).integers(-30, 30, len(small))
    scaled = WeightedAutomaton(
        small.initial * scale, small.transitions * scale / scale[:, None], small.final / scale, small.alphabet
    )
    for again in (small, small.minimize(), small.minimize().minimize(), scaled.minimize()):
        assert len(again) <= len(small)
        for word in oracle.words(4, 4):
            assert abs(again.value(word) - agent.value(word)) < 1e-9

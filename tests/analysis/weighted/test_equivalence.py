"""Equality with its proof, and words that tell networks apart, against brute force over words."""

import math

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.analysis.weighted import _exact
from keras_interp_rnn.automata import DFA, MooreMachine, WeightedAutomaton, tomita
from keras_interp_rnn.datasets import Alphabet
from tests.analysis.weighted.networks import Network, drawn, rotation, scales
from tests.oracles import weighted_automata as oracle

pytestmark = pytest.mark.core(1)  # cases are seeds, sizes or another layer in the same way


WORDS = list(oracle.words(3, 6))


def apart(first, second, words=WORDS):
    return np.abs(first.all_outputs(words) - second.all_outputs(words)).max()


@pytest.mark.parametrize("seed", range(4))
def test_a_network_equals_itself_in_another_order_and_padded_in_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    network = drawn(seed, gain=2)  # which explodes
    for other in (network, network.permuted(rng.permutation(5)), network.padded(rng, 4, 3, gain=2)):
        found = analysis.equivalent(network.pair(), other.pair())
        assert (found.equal, found.exact, found.bound, found.max_length) == (True, True, 0, None)
        assert "in exact arithmetic" in str(found)


@pytest.mark.parametrize("seed", range(4))
def test_a_network_equals_itself_in_another_basis_to_a_bound_that_holds(seed):
    rng = np.random.default_rng(seed)
    network = drawn(seed)
    padded = network.padded(rng, 4, 3)
    for other in (network.in_basis(rotation(rng, 5)), padded.in_basis(rotation(rng, 12))):
        found = analysis.equivalent(network.pair(), other.pair())
        assert (found.equal, found.exact, found.max_length) == (True, False, None)
        assert apart(network, other) <= found.bound <= 1e-8
        assert found.residual < 1e-11


@pytest.mark.parametrize("decay", [0.3, 0.45], ids=["two units", "one unit"])
def test_an_automaton_is_proved_equal_to_its_smallest(decay):
    """Values of two arms, one of which is chosen and moves to the reward while the other one decays."""
    kernel = np.zeros((4, 3, 3))
    for symbol, matrix in enumerate(kernel):
        arm, reward = divmod(symbol, 2)
        matrix[arm, arm], matrix[1 - arm, 1 - arm], matrix[2, arm], matrix[2, 2] = 0.7, 1 - decay, 0.3 * reward, 1
    agent = WeightedAutomaton([0.5, 0.5, 1], kernel, [-3, 3, 0.2])
    for smallest in (agent.minimize(), analysis.minimize(agent), agent.minimize().minimize()):
        found = analysis.equivalent(agent, smallest)
        assert (found.equal, found.max_length) == (True, None)
        assert found.bound < 1e-11


@pytest.mark.parametrize("seed", range(3))
def test_the_scales_of_units_decide_nothing(seed):
    rng = np.random.default_rng(seed)
    network = drawn(seed)
    other = network.in_basis(rotation(rng, 5)).in_basis(scales(rng, 5))
    found = analysis.equivalent(network.in_basis(scales(rng, 5)).pair(), other.pair())
    assert (found.equal, found.max_length) == (True, None)
    changed = network.changed(rng, 1e-3).in_basis(scales(rng, 5))
    assert analysis.equivalent(network.pair(), changed.pair()).equal is False


def test_a_network_that_explodes_is_equal_up_to_a_length():
    rng = np.random.default_rng(0)
    network = drawn(0, gain=1.5)
    other = network.in_basis(rotation(rng, 5))
    found = analysis.equivalent(network.pair(), other.pair())
    assert found.equal is None
    assert 5 <= found.max_length < 100
    assert found.bound <= found.tolerance
    assert "undecided: equal to 1e-06 on all words of at most" in str(found)
    words = [word for word in WORDS if len(word) <= found.max_length]
    assert apart(network, other, words) <= found.bound
    short = analysis.equivalent(network.pair(), other.pair(), max_length=5)
    assert (short.equal, short.max_length) == (True, 5)
    assert "equal on all words of at most 5 symbols" in str(short)


@pytest.mark.parametrize("seed", range(200))
def test_random_pairs_against_brute_force(seed):
    """Pairs that are equal, close or far, on all words of up to five symbols."""
    rng = np.random.default_rng(seed)
    sizes = dict(zip(("units", "symbols", "outputs"), rng.integers(1, (5, 4, 4)).tolist(), strict=True))
    network = drawn(seed, **sizes)
    other = network if seed % 4 else network.padded(rng, 2, 1)
    if seed % 3:
        other = other.changed(rng, 10.0 ** rng.uniform(-8, 0))
    if seed % 2:
        other = other.in_basis(rotation(rng, other.units))
    tolerance = 1e-4
    found = analysis.equivalent(network.automaton(), other.automaton(), tolerance=tolerance, max_words=2000)
    expected = oracle.first_difference(network.outputs, other.outputs, len(network.kernel), 5, tolerance)
    if expected is not None:
        assert found.equal is False
        assert found.is_shortest
        assert len(found.witness) == len(expected)
        gap = np.abs(network.outputs(found.witness) - other.outputs(found.witness)).max()
        assert gap == pytest.approx(found.difference, rel=1e-6)
        assert gap > tolerance
    else:
        words = list(oracle.words(len(network.kernel), 5))
        assert found.equal is not False or len(found.witness) > 5
        assert found.equal is None or found.equal is False or apart(network, other, words) <= found.bound + 1e-13


def test_a_difference_at_the_end_of_a_long_chain_is_found():
    """60 states in a row: the first word that shows a difference has 59 symbols, without and with another symbol."""
    n = 60
    chain = np.stack([np.eye(n, k=1), np.zeros((n, n))])
    initial, final = np.eye(n)[0], np.eye(n)[-1]
    for kernel in (chain, chain[:1]):
        blind = WeightedAutomaton(initial, kernel, 0 * final)
        found = analysis.equivalent(WeightedAutomaton(initial, kernel, final), blind)
        assert (found.equal, found.witness, found.difference) == (False, (0,) * 59, 1)
        assert found.is_shortest  # words that lead to the same state count as one


def test_beyond_the_budget_a_witness_need_not_be_the_shortest():
    """States are all different, and the difference shows first after six symbols."""
    rng = np.random.default_rng(0)
    matrices = np.stack([np.linalg.qr(rng.normal(size=(8, 8)))[0] for _ in range(3)])
    chain = np.eye(7, k=1)
    both = np.zeros((3, 15, 15))
    both[:, :8, :8], both[0, 8:, 8:] = matrices, chain
    initial, final = np.append(rng.normal(size=8), np.eye(7)[0]), np.append(rng.normal(size=8), np.eye(7)[-1])
    other = np.append(final[:8], np.zeros(7))
    first, second = (WeightedAutomaton(initial, both, each) for each in (final, other))
    found = analysis.equivalent(first, second, max_words=300)
    assert found.witness == (0,) * 6
    assert not found.is_shortest


@pytest.mark.parametrize("number", range(1, 8))
def test_automata_are_compared_as_their_languages(number):
    dfa = tomita(number)
    bigger = DFA([*dfa.transitions, [0, 0]], dfa.accepting, start=dfa.start)
    assert analysis.equivalent(dfa, bigger).exact
    assert analysis.equivalent(dfa, WeightedAutomaton.from_dfa(dfa)).exact
    assert analysis.equivalent(dfa, WeightedAutomaton.from_dfa(dfa).to_isan()).exact  # zeros and ones in float32
    other = tomita(number % 7 + 1)
    found = analysis.equivalent(dfa, other)
    assert not found.equal
    assert dfa.accepts(found.witness) != other.accepts(found.witness)
    assert len(found.witness) == len(dfa.difference(other))
    assert found.is_shortest


def test_alphabets_pair_up_by_name():
    first = DFA([[0, 1], [1, 0]], {1}, alphabet="ab")
    second = DFA([[1, 0], [0, 1]], {1}, alphabet="ba")
    assert analysis.equivalent(first, second).exact
    with pytest.raises(ValueError, match="Both networks must read the same alphabet"):
        analysis.equivalent(first, DFA([[1, 0], [0, 1]], {1}, alphabet="ac"))


@pytest.mark.parametrize("symbols", ["ab", "abcde"])
def test_an_alphabet_has_a_symbol_for_each_that_a_network_reads(symbols):
    ids = keras.Input((None,), dtype="int32")
    named = keras.Model(ids, keras.layers.Dense(2)(layers.ISAN(4, 3)(Alphabet(symbols).layer()(ids))))
    with pytest.raises(ValueError, match=f"one symbol for each of the 3 that it reads. Received: {len(symbols)}"):
        analysis.equivalent(named, named)


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_do_not_see_a_constant(seed):
    rng = np.random.default_rng(seed)
    network = drawn(seed)
    other = network._replace(readout=network.readout + rng.normal(size=(5, 1)), offset=network.offset + 2.5)
    assert analysis.equivalent(network.pair(), other.pair()).equal is False
    found = analysis.equivalent(network.pair(), other.in_basis(rotation(rng, 5)).pair(), compare="probabilities")
    assert found.equal
    large = network._replace(readout=network.readout + 2.0 ** rng.integers(9, size=(5, 1)))
    small = network._replace(readout=large.readout - large.readout[:, :1])  # which rounds
    assert analysis.equivalent(large.pair(), small.pair(), compare="probabilities").equal
    order = rng.permutation(5)
    assert analysis.equivalent(large.pair(), large.permuted(order).pair(), compare="probabilities").exact
    changed = other.changed(rng, 1e-2)
    found = analysis.equivalent(network.pair(), changed.pair(), compare="probabilities")
    gap = network.outputs(found.witness) - changed.outputs(found.witness)
    assert np.abs(gap - gap.mean()).max() == pytest.approx(found.difference, rel=1e-9)
    assert found.difference > 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_holds_on_long_words(seed):
    """Ones that a search by the largest next difference finds, besides random ones."""
    rng = np.random.default_rng(seed)
    network = drawn(seed, gain=0.5)
    noise = {name: part * (1 + 1e-9 * rng.normal(size=part.shape)) for name, part in network._asdict().items()}
    other = network._replace(**noise).in_basis(rotation(rng, 5))
    found = analysis.equivalent(network.pair(), other.pair(), tolerance=1e-3, max_length=60)
    assert found.equal
    words = [rng.integers(3, size=60) for _ in range(50)]
    greedy: tuple[int, ...] = ()
    for _ in range(60):
        greedy = max(((*greedy, x) for x in range(3)), key=lambda w: apart(network, other, [w]))
        words.append(greedy)
    assert 1e-10 < apart(network, other, words) <= found.bound


def test_a_difference_of_the_matrices_alone_is_in_the_bound():
    """From the state 0, with equal biases and readouts, all of the difference comes from the matrices."""
    rng = np.random.default_rng(0)
    network = drawn(0)._replace(initial=np.zeros(5), offset=np.zeros(4))
    other = network._replace(kernel=network.kernel + 1e-7 * rng.normal(size=network.kernel.shape))
    found = analysis.equivalent(network.pair(), other.pair(), tolerance=1e-2)
    assert found.equal
    assert 1e-8 < apart(network, other) <= found.bound


def test_rounding_of_large_states_is_no_witness():
    """One symbol stretches a direction a trillionfold, another drops it: what is left differs by rounding."""
    rng = np.random.default_rng(0)
    basis, readout = rotation(rng, 3), rng.normal(size=(3, 1))
    kernel = np.array([np.diag([1e12, 0.5, 0.5]), np.diag([0, 0.5, 0.5])])
    network = Network(kernel, np.zeros((2, 3)), np.ones(3), readout, np.zeros(1)).in_basis(basis)
    other = network.in_basis(rotation(rng, 3))
    assert apart(network, other, [(0, 1)]) > 1e-5
    found = analysis.equivalent(network.pair(), other.pair(), tolerance=1e-7)
    # The rounded weights may differ by as much where 1e12 shows.
    assert found.witness is None or len(found.witness) == 1


def test_nearly_singular_networks():
    network = drawn(0)
    flat = network._replace(kernel=network.kernel * np.array([1, 1, 1, 1e-9, 1e-12])[:, None])
    rng = np.random.default_rng(0)
    assert analysis.equivalent(flat.pair(), flat.in_basis(rotation(rng, 5)).pair()).equal
    assert analysis.equivalent(flat.pair(), analysis.minimize(flat.pair())).equal


def test_states_that_overflow_end_the_search():
    network = drawn(0, gain=1e40)
    other = network._replace(offset=network.offset + 1e-9)
    found = analysis.equivalent(network.pair(), other.pair(), max_words=100_000)
    assert found.equal is None
    assert found.max_length <= 10


def test_one_word_may_be_enough():
    pair = drawn(0).pair()
    found = analysis.equivalent(pair, drawn(1).pair(), max_words=1)
    assert (found.witness, found.is_shortest) == ((), True)
    assert "different" in str(found)
    assert all("no symbol" in shown for shown in (str(found), found._repr_html_()))


def test_constants_are_compared():
    network = drawn(0)
    first = network._replace(readout=np.zeros((5, 4)))
    assert analysis.equivalent(first.pair(), first._replace(offset=first.offset + 1e-9).pair()).equal
    assert analysis.equivalent(first.pair(), first._replace(offset=first.offset + 1e-3).pair()).witness == ()


def test_a_bound_that_is_not_proved_is_infinite(monkeypatch):
    monkeypatch.setattr(_exact, "WORK", 0)
    network = drawn(0, gain=30)
    other = network.in_basis(rotation(np.random.default_rng(0), 5))
    found = analysis.equivalent(network.pair(), other.pair(), tolerance=1e-14, max_words=1)
    assert (found.equal, found.max_length, found.bound) == (None, -1, math.inf)
    assert "nothing is proved" in str(found)


def test_outputs_of_moore_machines_pair_up_by_their_labels():
    table = [[0, 1], [1, 2], [2, 0]]
    first, second = (MooreMachine(table, labels) for labels in (["cat", "dog", "fox"], ["cow", "hen", "pig"]))
    with pytest.raises(ValueError, match="the same labels. Received: .*'cat'.* and .*'cow'"):
        analysis.equivalent(first, second)
    np.testing.assert_array_equal(WeightedAutomaton.from_dfa(first).final, np.eye(3))
    a, b, c = (frozenset(name) for name in "abc")  # which have no order of their own
    first, second = MooreMachine(table, [a, b, c]), MooreMachine([[0, 2], [1, 0], [2, 1]], [b, a, c], start=1)
    assert first.equivalent(second)
    assert analysis.equivalent(first, second).equal
    other = MooreMachine(table, [b, a, c])
    assert not first.equivalent(other)
    assert analysis.equivalent(first, other).witness == ()


def test_a_word_is_shortest_only_if_rounding_hides_no_shorter_one():
    ends = [[0, 1], [0, 0]]
    first = WeightedAutomaton([1.0, 0], [ends], [1e10, 0], alphabet="a")
    second = WeightedAutomaton([1.0, 0], [ends], [1e10 + 4e-6, 5], alphabet="a")
    assert second.value("") - first.value("") > 1e-6  # less than what rounding is assumed to do to 1e10
    found = analysis.equivalent(first, second)
    assert found.witness == ("a",)
    assert not found.is_shortest


def test_a_bool_is_a_symbol_where_the_alphabet_has_bools():
    dfa = DFA([[0, 1], [1, 1]], {1}, alphabet=(True, False))
    for word in ([1, 1], [True, 0], [False]):
        assert WeightedAutomaton.from_dfa(dfa).value(word) == dfa.accepts(word)


def test_refuses_invalid_arguments():
    pair, other = drawn().pair(), drawn(1).pair()
    for second, options, rule in (
        (other, {"tolerance": 0}, "`tolerance` must be a positive number"),
        (other, {"tolerance": float("nan")}, "`tolerance` must be a positive number"),
        (other, {"tolerance": math.inf}, "`tolerance` must be a positive number"),
        (other, {"max_length": 1.5}, "a non-negative integer. Received: max_length=1.5"),
        (other, {"max_words": 1e4}, "`max_words` must be a positive integer"),
        (other, {"compare": "words"}, "`compare` must be one of 'logits', 'probabilities'"),
        (other, {"max_length": -1}, "`max_length` must be a non-negative integer"),
        (other, {"max_words": 0}, "`max_words` must be a positive integer"),
        (drawn(0, symbols=4).pair(), {}, "3 symbols and 4 outputs, and 4 and 4"),
        (drawn(0, outputs=2).pair(), {}, "3 symbols and 4 outputs, and 3 and 2"),
    ):
        with pytest.raises(ValueError, match=rule):
            analysis.equivalent(pair, second, **options)


def of_gates(bias: float, readout: float = 1.0) -> keras.Model:
    """A MinGRU of two units over one symbol, whose difference is read out: sigmoid(0) - sigmoid(bias)."""
    layers_ = [keras.layers.Embedding(2, 1), layers.MinGRU(2), keras.layers.Dense(1)]
    built = [type(x).from_config({**x.get_config(), "dtype": "float64"}) for x in layers_]
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *built])
    embedding, gru, head = model.layers
    embedding.set_weights([np.ones((2, 1))])
    gru.set_weights([np.array([[0.0, 0, 1, 1]]), np.array([0, bias, 0, 0])])
    head.set_weights([np.array([[readout], [-readout]]), np.zeros(1)])
    return model


def test_computed_matrices_are_not_exact_but_bounded_with_their_rounding():
    """Both have the same matrices in float64, and 1e21 times their difference is 2.5."""
    found = analysis.equivalent(of_gates(0.0, 1e21), of_gates(1e-20, 1e21))
    assert not found.exact
    assert found.equal is None
    small = analysis.equivalent(of_gates(0.0), of_gates(1e-20))
    assert (small.equal, small.exact) == (True, False)
    assert 1e-20 / 4 < small.bound < 1e-12
    assert analysis.equivalent(of_gates(0.5, 1e21), of_gates(0.5, 1e21)).exact


def test_a_head_of_several_layers_is_not_exact():
    rng = np.random.default_rng(0)
    isan = layers.ISAN(3, 2, dtype="float64")
    first, second = (keras.layers.Dense(units, dtype="float64") for units in (4, 1))
    model = keras.Sequential([keras.Input((None,), dtype="int32"), isan, first, second])
    model.set_weights([rng.normal(size=weight.shape) / 4 for weight in model.weights])
    matrix = first.get_weights()[0] @ second.get_weights()[0]
    bias = first.get_weights()[1] @ second.get_weights()[0] + second.get_weights()[1]
    found = analysis.equivalent(model, (isan, (matrix, bias)))
    assert (found.equal, found.exact) == (True, False)
    assert 0 < found.bound < 1e-10

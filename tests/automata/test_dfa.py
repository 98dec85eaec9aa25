"""DFA: against words read one by one, against Tomita's languages by their definition, against two other libraries."""

import itertools
import math
import pickle
import random
import re
import types
import xml.etree.ElementTree

import pytest
from aalpy.automata import Dfa, DfaState, Mdp, MdpState, MealyMachine, MealyState, MooreState
from aalpy.automata import MooreMachine as TheirMooreMachine
from automata.fa.nfa import NFA
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_interp_rnn.automata import DFA, MooreMachine, tomita

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:automata.*", "ignore::DeprecationWarning:aalpy.*")


def a_mealy_machine():
    state = MealyState("s")
    state.transitions, state.output_fun = {"0": state}, {"0": "x"}
    return MealyMachine(state, [state])


def a_markov_decision_process():
    state = MdpState("s", "x")
    state.transitions["0"].append((state, 1.0))
    return Mdp(state, [state])


def made_of(transitions, accepting, start=0, alphabet="01"):
    return DFA(transitions, accepting, start=start, alphabet=alphabet)


def words(alphabet, longest: int):
    return itertools.chain.from_iterable(itertools.product(alphabet, repeat=n) for n in range(longest + 1))


@st.composite
def automata(draw, largest: int = 7, partial: bool = True, alphabet: str | None = None) -> DFA:
    n = draw(st.integers(1, largest))
    symbols = alphabet or draw(st.sampled_from(["a", "ab", "abc"]))
    target = st.integers(-1 if partial else 0, n - 1)
    rows = draw(st.lists(st.lists(target, min_size=len(symbols), max_size=len(symbols)), min_size=n, max_size=n))
    accepting = draw(st.sets(st.integers(0, n - 1)))
    return DFA(rows, accepting, start=draw(st.integers(0, n - 1)), alphabet=symbols)


def drawn(rng: random.Random, largest: int = 12, alphabet: str = "ab") -> DFA:
    n = rng.randint(1, largest)
    rows = [[rng.randrange(n) for _ in alphabet] for _ in range(n)]
    return DFA(rows, [s for s in range(n) if rng.random() < 0.5], start=0, alphabet=alphabet)


TOMITA = {
    1: lambda w: "0" not in w,
    2: lambda w: w == "10" * (len(w) // 2),
    3: lambda w: not re.search(r"(^|0)1(11)*(0[01]*1)?0(00)*(1|$)", w),
    4: lambda w: "000" not in w,
    5: lambda w: w.count("0") % 2 == 0 and w.count("1") % 2 == 0,
    6: lambda w: (w.count("0") - w.count("1")) % 3 == 0,
    7: lambda w: bool(re.fullmatch("0*1*0*1*", w)),
}


@pytest.mark.parametrize("number", TOMITA)
def test_tomitas_languages_are_as_they_are_described(number):
    dfa = tomita(number)
    aalpy_says = getattr(pytest.importorskip("aalpy.SULs.TomitaSUL"), f"tomita_{number}")
    for letters in words("01", 11):
        word = "".join(letters)
        assert dfa.accepts(word) == TOMITA[number](word), word
        assert dfa.accepts(word) == aalpy_says(word), word
    assert dfa.minimize() == dfa
    assert len(dfa) == {1: 2, 2: 3, 3: 5, 4: 4, 5: 4, 6: 3, 7: 5}[number]


def test_there_is_no_eighth():
    with pytest.raises(ValueError, match="numbers 1 to 7. Received: 8"):
        tomita(8)


class TestReading:
    def test_a_run_ends_where_a_transition_is_missing(self):
        dfa = DFA([{"a": 1}, {"b": 0}], {1}, start=0, alphabet="ab")
        assert dfa.run("abb") == [0, 1, 0, -1]
        assert [dfa.accepts(word) for word in ("a", "", "abb", "aba")] == [True, False, False, True]

    def test_symbols_need_not_be_letters(self):
        dfa = DFA([[1, 0], [0, 1]], {1}, start=0, alphabet=[("x", 1), 7])
        assert dfa.accepts([("x", 1), 7, 7])

    def test_automata_are_values(self):
        one, same = tomita(3), tomita(3)
        assert one == same
        assert len({one, same, tomita(4)}) == 2
        assert pickle.loads(pickle.dumps(one)) == one
        with pytest.raises(AttributeError):
            one.start = 1

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (([[0, 2]], {0}, 0, "ab"), r"one of the 1 states, or -1, for each of 2 symbols. Received: state 0 with"),
            (([[0]], {0}, 0, "ab"), r"Received: state 0 with \[0\]"),
            (([[0, 0]], {3}, 0, "ab"), r"among 0 to 0. Received: start=0, accepting=\[3\]"),
            (([[0, 0]], {0}, 1, "ab"), r"Received: start=1"),
            (([{"c": 0}], {0}, 0, "ab"), r"over the alphabet \('a', 'b'\). Received: the symbol 'c'"),
            (([[0, 0]], {0}, 0, "aa"), "each once. Received:"),
            (([[]], {0}, 0, ""), "at least one symbol"),
        ],
    )
    def test_what_is_no_automaton(self, arguments, sentence):
        with pytest.raises(ValueError, match=sentence):
            made_of(*arguments)

    def test_what_is_no_word(self):
        with pytest.raises(ValueError, match="over the alphabet .* Received: the symbol '2'"):
            tomita(1).accepts("12")


class TestOperations:
    @given(automata())
    def test_the_same_language_complete_reachable_minimal(self, dfa):
        for other in (dfa.complete(), dfa.reachable(), dfa.minimize()):
            assert all(dfa.accepts(word) == other.accepts(word) for word in words(dfa.alphabet, 5))
        assert dfa.complete().is_complete
        assert len(dfa.minimize()) <= len(dfa.complete())

    @given(automata())
    def test_no_two_states_of_a_minimal_automaton_are_alike(self, dfa):
        small = dfa.minimize()
        for a, b in itertools.combinations(range(len(small)), 2):
            at_a, at_b = (DFA(small.transitions, small.accepting, start=s, alphabet=small.alphabet) for s in (a, b))
            assert any(at_a.accepts(word) != at_b.accepts(word) for word in words(small.alphabet, len(small)))

    @given(automata(alphabet="ab"), automata(alphabet="ab"))
    def test_minimal_automata_of_one_language_are_equal(self, one, other):
        assert (one.minimize() == other.minimize()) == one.equivalent(other)

    @given(automata(alphabet="ab"), automata(alphabet="ab"))
    def test_product_and_complement(self, one, other):
        both, exclusive, none = (
            one.product(other, lambda a, b: a and b),
            one.product(other, lambda a, b: a != b),
            one.complement(),
        )
        for word in words("ab", 5):
            a, b = one.accepts(word), other.accepts(word)
            assert both.accepts(word) == (a and b)
            assert exclusive.accepts(word) == (a != b)
            assert none.accepts(word) != a

    @given(automata(alphabet="ab"), automata(alphabet="ab"))
    def test_a_counterexample_is_the_first_shortest_one(self, one, other):
        found = one.counterexample(other)
        differing = (word for word in words("ab", 5) if one.accepts(word) != other.accepts(word))
        if found is None or len(found) <= 5:
            assert found == next(differing, None)
        else:
            assert one.accepts(found) != other.accepts(found)
            assert next(differing, None) is None

    def test_the_order_of_the_alphabet_does_not_matter(self):
        turned = DFA([[1, 0], [0, 1]], {0}, start=0, alphabet="ba")
        assert turned.equivalent(DFA([[0, 1], [1, 0]], {0}, start=0, alphabet="ab"))
        with pytest.raises(ValueError, match="must read the same alphabet"):
            turned.equivalent(tomita(1))

    @given(automata(), st.integers(0, 6))
    def test_words_of_a_length_are_counted_listed_and_drawn(self, dfa, length):
        language = [word for word in itertools.product(dfa.alphabet, repeat=length) if dfa.accepts(word)]
        assert dfa.count(length) == len(language)
        assert list(dfa.words(length)) == language
        if language:
            assert dfa.sample(length, 3) in language
        else:
            with pytest.raises(ValueError, match=f"Received: length={length}, of which there is none"):
                dfa.sample(length)

    def test_every_word_of_a_length_is_drawn_as_often(self):
        rng = random.Random(0)
        counts = dict.fromkeys(tomita(4).words(4), 0)
        for _ in range(130 * len(counts)):
            counts[tomita(4).sample(4, rng)] += 1
        assert all(abs(n - 130) < 6 * 130**0.5 for n in counts.values())

    def test_numbers_may_be_large(self):
        assert DFA([[0, 0]], {0}, start=0, alphabet="ab").count(1000) == 2**1000


class TestExpressions:
    @pytest.mark.parametrize(
        "expression", ["1*", "(10)*", "0*1*0*1*", "(0|1)*1(0|1)", "0?1+|", "((0|11)+0)*?", "()", "(01|10)+1?", "0**"]
    )
    def test_they_mean_what_they_mean_elsewhere(self, expression):
        dfa = DFA.from_regex(expression)
        meant = re.compile(expression.replace("*?", "*").replace("**", "*"))
        assert all(dfa.accepts(w) == bool(meant.fullmatch("".join(w))) for w in words("01", 9))
        assert dfa.minimize() == dfa

    @pytest.mark.parametrize(("expression", "place"), [("(0", 2), ("0)", 1), ("*0", 0), ("02", 1), ("0(|1", 4)])
    def test_what_is_none(self, expression, place):
        with pytest.raises(ValueError, match=f"A regular expression holds.*Received: expression='.*at place {place}"):
            DFA.from_regex(expression)

    @pytest.mark.parametrize("depth", [1, 300, 20_000])
    def test_any_depth_is_read(self, depth):
        assert DFA.from_regex("(" * depth + "0" + "*)" * depth) == DFA.from_regex("0*")

    def test_an_automaton_with_too_many_states_is_refused(self):
        expression = "(0|1)*1" + "(0|1)" * 6
        assert len(DFA.from_regex(expression, max_states=128)) == 128
        sentence = (
            r"With max_states=127 an expression has at most 127 states before it is minimized\. Received: "
            r"expression='\(0\|1.*', which has more\. Give a smaller expression or a larger max_states\."
        )
        with pytest.raises(ValueError, match=sentence):
            DFA.from_regex(expression, max_states=127)
        with pytest.raises(ValueError, match=r"at most 10,000 states.*Received: expression='.{57}\.\.\.', which"):
            DFA.from_regex("(0|1)*1" + "(0|1)" * 40)

    def test_the_work_on_an_expression_is_bounded(self, monkeypatch):
        assert len(DFA.from_regex("0" * 8, max_states=10)) == 10
        with pytest.raises(ValueError, match=r"With max_states=10 an expression has at most 300 characters"):
            DFA.from_regex("0" * 301, max_states=10)
        expression = "(" + "0?" * 100 + ")*"
        assert len(DFA.from_regex(expression, max_states=10)) == 2
        monkeypatch.setattr("keras_interp_rnn.automata.regex.WORK", 20)
        with pytest.raises(ValueError, match=r"With max_states=10 an expression has at most 200 nodes to visit"):
            DFA.from_regex(expression, max_states=10)

    def test_arguments_of_another_kind(self):
        with pytest.raises(ValueError, match=r"A regular expression is a string\. Received: expression=b'01'"):
            DFA.from_regex(b"01")
        with pytest.raises(
            ValueError, match=r"symbols of an expression are single characters\. Received: alphabet=.*'ab'"
        ):
            DFA.from_regex("ab", ["ab", "c"])
        with pytest.raises(ValueError, match=r"sequence of hashable symbols, .* Received: None"):
            DFA.from_regex("0", None)
        with pytest.raises(ValueError, match=r"An automaton has at least one state\. Received: max_states=0\."):
            DFA.from_regex("0", max_states=0)


class TestWitnesses:
    """Thousands of random automata, and what two other libraries make of them."""

    def test_automata_lib(self):
        rng = random.Random(1)
        for _ in range(1500):
            one, other = drawn(rng), drawn(rng)
            theirs, others = one.to_automata_lib(), other.to_automata_lib()
            assert len(one.minimize()) == len(theirs.minify(retain_names=False).states)
            difference = theirs ^ others  # bound, as isempty() on a temporary raises in automata-lib 9
            assert one.equivalent(other) == difference.isempty()
            assert DFA.from_automata_lib(theirs, one.alphabet) == one.reachable()

    def test_aalpy(self):
        rng = random.Random(2)
        for _ in range(1500):
            dfa = drawn(rng)
            theirs = dfa.reachable().to_aalpy()  # whose minimize keeps states that no word reaches
            assert isinstance(theirs, Dfa)
            assert DFA.from_aalpy(theirs, dfa.alphabet) == dfa.reachable()
            theirs.minimize()
            assert len(theirs.states) == len(dfa.minimize())

    @pytest.mark.parametrize(("kind", "state"), [(DFA, DfaState), (MooreMachine, MooreState)])
    def test_states_of_aalpy_that_have_one_name(self, kind, state):
        one, other, third = state("q", True), state("q", False), state("r", True)
        one.transitions, other.transitions = {"a": other}, {"a": one}
        theirs = {DfaState: Dfa, MooreState: TheirMooreMachine}[state](one, [one, other])
        read = kind.from_aalpy(theirs)
        label = read.accepts if kind is DFA else read.output
        assert [label("a" * n) for n in range(4)] == [True, False, True, False]
        other.transitions["b"] = one.transitions["b"] = third
        with pytest.raises(ValueError, match="must be among the states of an automaton. Received: 'r', which is not"):
            kind.from_aalpy(theirs)

    def test_states_that_automata_lib_was_not_asked_to_check(self):
        theirs = DFA([[0, 1], [1, 0]], {0}).to_automata_lib()
        parts = {name: getattr(theirs, name) for name in ("input_symbols", "transitions", "final_states")}
        other = types.SimpleNamespace(**parts, states={0}, initial_state=0, allow_partial=False)
        with pytest.raises(ValueError, match="must be among the states of an automaton. Received: 1, which is not"):
            DFA.from_automata_lib(other)

    def test_networkx(self):
        graph = DFA([[1, 1], [0, -1]], {1}, start=0, alphabet="ab").to_networkx()
        assert sorted((a, b, d["symbol"]) for a, b, d in graph.edges(data=True)) == [
            (0, 1, "a"),
            (0, 1, "b"),
            (1, 0, "a"),
        ]
        assert graph.nodes[1] == {"accepting": True, "start": False}


class TestDrawing:
    @pytest.mark.matrix
    @settings(max_examples=30, deadline=None)
    @given(automata(largest=30))
    def test_states_do_not_overlap_and_the_drawing_is_well_formed(self, dfa):
        drawing = xml.etree.ElementTree.fromstring(dfa.to_svg())
        circles = list(drawing.iter("{http://www.w3.org/2000/svg}circle"))
        assert len(circles) == len(dfa) + len(dfa.accepting)
        places = {(float(circle.get("cx")), float(circle.get("cy"))) for circle in circles}
        assert len(places) == len(dfa)
        for first, second in itertools.combinations(places, 2):
            assert math.dist(first, second) > 2 * 17 + 8

    def test_signs_that_mean_something_in_svg_and_dot(self):
        dfa = DFA([[0, 0]], {0}, start=0, alphabet=['<b>"', "&\\"])
        xml.etree.ElementTree.fromstring(dfa.to_svg(["<start>"]))
        assert {r'  0 -> 0 [label="<b>\""];', r'  0 -> 0 [label="&\\"];'} <= set(dfa.to_dot().splitlines())

    def test_drawings_on_one_page_share_no_id(self):
        drawings = [tomita(number).to_svg() for number in range(1, 8)]
        ids = [re.findall(r'id="([^"]*)"', drawing) for drawing in drawings]
        assert len({each for [each] in ids}) == 7
        for [each], drawing in zip(ids, drawings, strict=True):
            assert set(re.findall(r"url\(#([^)]*)\)", drawing)) == {each}

    def test_symbols_of_one_edge_are_drawn_together(self):
        assert "a-e, x" in DFA([[0] * 6], {0}, start=0, alphabet="abcdex").to_svg()
        assert "0, 1" in DFA([[0, 0]], {0}, start=0, alphabet="01").to_svg()
        assert r">␣, ⏎, \x07<" in DFA([[0, 0, 0]], {0}, start=0, alphabet=" \n\x07").to_svg()

    def test_names_of_the_states(self):
        assert ">yes<" in tomita(1).to_svg(["yes", "no"])
        long = tomita(1).to_svg(["a state with a long name", "b"])
        assert re.search(r'font-size="8">a s\w*…<', long)
        assert "<title>state a state with a long name, accepting</title>" in long
        with pytest.raises(ValueError, match="a name for each of 2 states. Received: names=.'yes'"):
            tomita(1).to_svg(["yes"])

    def test_dot(self):
        assert tomita(1).to_dot().splitlines()[2:] == [
            '  0 [label="0", shape=doublecircle];',
            '  1 [label="1", shape=circle];',
            '  0 -> 1 [label="0"];',
            '  0 -> 0 [label="1"];',
            '  1 -> 1 [label="0"];',
            '  1 -> 1 [label="1"];',
            '  __start0 [label="", shape=none];',
            '  __start0 -> 0 [label=""];',
            "}",
        ]

    def test_notebooks_show_it(self):
        assert tomita(2)._repr_svg_() == tomita(2).to_svg()


@pytest.mark.parametrize(
    ("arguments", "received"),
    [
        (([[0, 0.5]], [0]), "0.5 in transitions"),
        (([[0, "0"]], [0]), "'0' in transitions"),
        (([{"0": 0.5}], [0]), "0.5 in transitions"),
        (([[0, 0]], [0.5]), "0.5 in accepting"),
        (([[0, 0]], "0"), "'0' in accepting"),
        (([[0, 0]], [0], "0"), "'0' in start"),
        (([[0, 0]], [0], 0.0), "0.0 in start"),
    ],
)
def test_a_state_that_is_no_integer(arguments, received):
    with pytest.raises(ValueError, match=f"States are the ints 0, 1, .* Received: {received}. Number the states"):
        made_of(*arguments)


@pytest.mark.parametrize("length", [-1, 2.5, "3", None, [1]])
def test_a_length_that_is_none(length):
    dfa = DFA([[0, 0]], [0])
    for asked in (dfa.count, dfa.sample, lambda n: list(dfa.words(n))):
        with pytest.raises(ValueError, match="A length is an int of at least 0. Received: length="):
            asked(length)


def test_words_too_long_to_count():
    everything = DFA([[0, 0]], [0])
    assert everything.count(10_000) == 2**10_000
    with pytest.raises(ValueError, match=r"at most 1 GB\. Received: length=1000000, which takes up to 62\.5 GB"):
        everything.count(10**6)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((None, [0]), "a row of transitions for each state, and a set of accepting states. Received: transitions=None"),
        (([[0, 0]], 0), "Received: transitions=.*, accepting=0"),
        (([0], [0]), "a row of states for each state. Received: 0 for a row"),
        (([[0, 0]], [0], 0, None), "a sequence of hashable symbols, .* Received: None"),
        (([[0, 0]], [0], 0, [[0], [1]]), r"sequence of hashable symbols, .* Received: \[\[0\], \[1\]\]"),
    ],
)
def test_what_is_no_automaton(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        made_of(*arguments)


def test_what_cannot_be_read_or_compared():
    dfa = DFA([[0, 1], [1, 0]], [0])
    for state in (2, -2):
        with pytest.raises(ValueError, match=f"States are 0 to 1, or -1 for none. Received: state={state}"):
            dfa.step(state, "0")
    with pytest.raises(ValueError, match=r"over the alphabet .* Received: the symbol \[\]"):
        dfa.accepts([[]])
    with pytest.raises(ValueError, match="compared with another DFA. Received: 'x'"):
        dfa.equivalent("x")


def test_names_of_states_may_be_numbers():
    assert DFA([[0, 0]], [0]).to_svg([7]) == DFA([[0, 0]], [0]).to_svg(["7"])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda dfa: dfa.accepts(3), "A word is a sequence of symbols. Received: 3"),
        (lambda dfa: dfa.run(None), "A word is a sequence of symbols. Received: None"),
        (lambda dfa: dfa.step(1.5, "0"), "States are 0 to 1, or -1 for none. Received: state=1.5"),
        (lambda dfa: dfa.product(dfa, True), "`accept` is a function of two bools. Received: accept=True"),
        (lambda dfa: dfa.sample(2, seed=[]), "A seed is an integer, or a random.Random. Received: seed=.."),
        (lambda dfa: dfa.to_dot(name=3), "The name of a graph is a string. Received: name=3"),
        (lambda dfa: dfa.to_svg(names=3), "a name for each of 2 states. Received: names=3"),
        (
            lambda dfa: DFA.from_att("0 0 a a\n0", alphabet=3),
            "An alphabet is a sequence of hashable symbols.*Received: 3",
        ),
        (lambda dfa: DFA.from_aalpy(3), "An automaton is an aalpy.automata.Dfa. Received: other=3"),
        (
            lambda dfa: DFA.from_aalpy(MooreMachine([[0, 1], [1, 0]], ["even", "odd"]).to_aalpy()),
            "An automaton is an aalpy.automata.Dfa. Received: other=",
        ),
        (
            lambda dfa: MooreMachine.from_aalpy(a_mealy_machine()),
            "An automaton is an aalpy.automata.MooreMachine.",
        ),
        (
            lambda dfa: MooreMachine.from_aalpy(a_markov_decision_process()),
            "The start and the targets of all transitions must be among the states",
        ),
        (lambda dfa: DFA.from_automata_lib(3), "An automaton is an automata.fa.dfa.DFA. Received: other=3"),
        (lambda dfa: DFA.from_automata_lib(NFA.from_regex("a|ab")), "Make a nondeterministic one deterministic by DFA"),
    ],
)
def test_what_methods_refuse(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(tomita(1).complete())


def test_counts_over_one_symbol_are_bounded_too():
    with pytest.raises(ValueError, match="Counts of words take at most 1 GB. Received: length=20000000"):
        DFA([[1], [0]], {0}, alphabet="a").count(20_000_000)


def test_symbols_that_are_the_same_as_strings_have_no_counterpart_in_automata_lib():
    with pytest.raises(ValueError, match="Symbols of automata-lib are strings. Received: .* of which two are"):
        DFA([[0, 1], [1, 0]], {0}, alphabet=(1, "1")).to_automata_lib()


@pytest.mark.parametrize("alphabet", ["()", "a|", "+-", "?", "a*"])
def test_operators_are_no_symbols_of_an_expression(alphabet):
    with pytest.raises(ValueError, match=r"none of its operators, \| \* \+ \? \( \). Received: alphabet="):
        DFA.from_regex("a", alphabet=alphabet)

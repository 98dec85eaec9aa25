"""DFAs and Moore machines against words read one by one, the definitions of Tomita's languages, and other libraries."""

import importlib
import itertools
import math
import pickle
import random
import re
import xml.etree.ElementTree

import pytest
from aalpy.automata import Dfa, DfaState, Mdp, MdpState, MealyMachine, MealyState, MooreState
from aalpy.automata import MooreMachine as TheirMooreMachine
from automata.fa.nfa import NFA
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_interp_rnn.automata import DFA, MooreMachine, tomita
from tests.automata.machines import KINDS, drawn, machines, words

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:automata.*", "ignore::DeprecationWarning:aalpy.*")

TOMITA = {
    1: lambda w: "0" not in w,
    2: lambda w: w == "10" * (len(w) // 2),
    3: lambda w: not re.search(r"(^|0)1(11)*(0[01]*1)?0(00)*(1|$)", w),
    4: lambda w: "000" not in w,
    5: lambda w: w.count("0") % 2 == 0 and w.count("1") % 2 == 0,
    6: lambda w: (w.count("0") - w.count("1")) % 3 == 0,
    7: lambda w: bool(re.fullmatch("0*1*0*1*", w)),
}


def moore_of(language):
    whole = language.complete()
    return MooreMachine(whole.transitions, whole.outputs, start=whole.start, alphabet=whole.alphabet)


@pytest.mark.parametrize("number", TOMITA)
def test_tomitas_languages_are_as_they_are_described(number):
    dfa = tomita(number)
    aalpys = getattr(importlib.import_module("aalpy.SULs.TomitaSUL"), f"tomita_{number}")
    for word in map("".join, words("01", 11)):
        assert dfa.accepts(word) == TOMITA[number](word) == aalpys(word), word
    assert dfa.minimize() == dfa
    assert len(dfa) == {1: 2, 2: 3, 3: 5, 4: 4, 5: 4, 6: 3, 7: 5}[number]
    partial = DFA([[t if t != 1 else -1 for t in row] for row in dfa.transitions], dfa.accepting)
    for language in (dfa, partial):
        machine = moore_of(language)
        for of in (machine, language):
            assert DFA.from_moore(of, True).equivalent(language)
            assert DFA.from_moore(of, False).equivalent(language.complement())
        assert len(machine.minimize()) == len(language.minimize())


@given(machines())
def test_a_word_has_the_label_of_the_state_it_leads_to(machine):
    for word in words(machine.alphabet, 4):
        states = [machine.start]
        for symbol in word:
            row = (*machine.transitions[states[-1]], -1)
            states.append(-1 if states[-1] == -1 else row[machine.alphabet.index(symbol)])
        assert machine.run(word) == states
        expected = (*machine.outputs, False)[states[-1]]
        assert machine.output(word) == expected
        if isinstance(machine, DFA):
            assert machine.accepts(word) == expected == (states[-1] in machine.accepting)


def test_rows_may_be_mappings_and_symbols_any_hashables():
    dfa = DFA([{"a": 1}, {"b": 0}], {1}, alphabet="ab")
    assert dfa.transitions == ((1, -1), (-1, 0))
    assert DFA([[1, 0], [0, 1]], {1}, alphabet=[("x", 1), 7]).accepts([("x", 1), 7, 7])


@pytest.mark.parametrize("kind", KINDS)
def test_machines_are_values(kind):
    one, same, other = (kind(t, [0, 1]) for t in ([[0, 1], [1, 0]], [{"0": 0, "1": 1}, (1, 0)], [[0, 1], [1, 1]]))
    assert one == same
    assert len({one, same, other}) == 2
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(AttributeError):
        one.start = 1
    start = "start=0, alphabet=('0', '1')"
    states = f"{start}, accepting=frozenset({{0, 1}})" if kind is DFA else f"outputs=(0, 1), {start}"
    assert repr(one) == f"{kind.__name__}(transitions=((0, 1), (1, 0)), {states})"


def test_labels_have_an_order():
    assert MooreMachine([[0], [1], [2]], [3, 1, 3], alphabet="a").labels == (1, 3)
    assert MooreMachine([[0], [1], [2]], ["b", 1, None], alphabet="a").labels == (None, 1, "b")


class TestOperations:
    @given(machines(largest=7))
    def test_reachable_and_minimal_machines_give_the_same_labels(self, machine):
        small = machine.minimize()
        complete = machine.complete()
        assert complete.is_complete
        for other in (machine.reachable(), complete, small):
            assert all(machine.output(word) == other.output(word) for word in words(machine.alphabet, 5))
            assert machine.equivalent(other)
        for a, b in itertools.combinations(range(len(small)), 2):
            at_a, at_b = (small._of(small.transitions, small.outputs, state, small.alphabet) for state in (a, b))
            assert any(at_a.output(word) != at_b.output(word) for word in words(small.alphabet, len(small) - 1))

    @given(
        st.sampled_from(KINDS).flatmap(
            lambda kind: st.tuples(*[machines(kind, largest=4, alphabet="ab", labels="xyz")] * 2)
        )
    )
    def test_a_difference_is_the_first_shortest_word_and_minimal_machines_are_equal_without_one(self, pair):
        one, other = pair
        found = one.difference(other)
        # With a sink they have five states each: a shortest difference has at most 5 + 5 - 2 symbols.
        assert found == next((word for word in words("ab", 8) if one.output(word) != other.output(word)), None)
        assert (one.minimize() == other.minimize()) == one.equivalent(other) == (found is None)

    @given(machines(DFA, alphabet="ab"), machines(DFA, alphabet="ab"))
    def test_product_and_complement(self, one, other):
        both, exclusive = one.product(other, lambda a, b: a and b), one.product(other, lambda a, b: a != b)
        rejected = one.complement()
        for word in words("ab", 5):
            a, b = one.accepts(word), other.accepts(word)
            assert (both.accepts(word), exclusive.accepts(word), rejected.accepts(word)) == (a and b, a != b, not a)

    @given(machines(MooreMachine, alphabet="ab"))
    def test_the_words_of_a_label_are_a_language(self, machine):
        languages = {output: DFA.from_moore(machine, output) for output in machine.labels}
        for word in words("ab", 5):
            assert [output for output, dfa in languages.items() if dfa.accepts(word)] == [machine.output(word)]

    def test_the_order_of_the_alphabet_does_not_matter(self):
        turned, dfa = DFA([[1, 0], [0, 1]], [1], alphabet="ba"), DFA([[0, 1], [1, 0]], [1], alphabet="ab")
        assert turned.equivalent(dfa)
        with pytest.raises(ValueError, match="must read the same alphabet"):
            turned.equivalent(DFA([[0, 1], [1, 0]], [1]))

    @given(machines(DFA), st.integers(0, 6))
    def test_words_of_a_length_are_counted_listed_and_drawn(self, dfa, length):
        language = [word for word in itertools.product(dfa.alphabet, repeat=length) if dfa.accepts(word)]
        assert dfa.count(length) == len(language)
        assert list(dfa.words(length)) == language
        if language:
            assert dfa.sample(length, 3) in language
        else:
            with pytest.raises(ValueError, match=f"must have a word of that length. Received: length={length}."):
                dfa.sample(length)

    def test_words_of_a_length_are_drawn_with_equal_probability(self):
        rng = random.Random(0)
        counts = dict.fromkeys(tomita(4).words(4), 0)
        for _ in range(130 * len(counts)):
            counts[tomita(4).sample(4, rng)] += 1
        assert all(abs(n - 130) < 6 * 130**0.5 for n in counts.values())

    def test_counts_are_exact_and_their_memory_is_bounded(self):
        everything = DFA([[0, 0]], [0])
        assert everything.count(10_000) == 2**10_000
        with pytest.raises(ValueError, match=r"at most 1 GB\. Received: length=1000000, which takes up to 62\.5 GB"):
            everything.count(10**6)
        with pytest.raises(ValueError, match="Counts of words must take at most 1 GB. Received: length=20000000"):
            DFA([[1], [0]], {0}, alphabet="a").count(20_000_000)  # over one symbol too


class TestExpressions:
    @pytest.mark.parametrize(
        "expression", ["1*", "(10)*", "0*1*0*1*", "(0|1)*1(0|1)", "(0?1+)?", "((0|11)+0)*?", "()", "(01|10)+1?", "0**"]
    )
    def test_languages_are_those_of_python(self, expression):
        dfa = DFA.from_regex(expression)
        pythons = re.compile(expression.replace("*?", "*").replace("**", "*"))
        assert all(dfa.accepts(w) == bool(pythons.fullmatch("".join(w))) for w in words("01", 9))
        assert dfa.minimize() == dfa

    def test_deep_expressions_are_read(self):
        assert DFA.from_regex("(" * 200 + "0" + "*)" * 200) == DFA.from_regex("0*")

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            *(
                (
                    (expression,),
                    f"must be one that automata-lib reads.*Received: expression='.*: .*{reason}",
                )
                for expression, reason in (
                    ("(0", "unclosed"),
                    ("0)", "mismatched"),
                    ("*0", "at the start"),
                    ("02", "symbol 2"),
                    ("0(|1", "Union"),
                )
            ),
            (("(" * 100,), r"Received: expression='\({57}\.\.\.': "),
            ((b"01",), r"`expression` must be a string\. Received: expression=b'01'"),
            (("ab", ["ab", "c"]), r"Symbols of an expression must be single characters.* Received: alphabet=.*'ab'"),
            (("0", None), r"sequence of hashable symbols, .* Received: None"),
            *((("a", symbols), "other than its operators .* Received: ") for symbols in ("()", "a|", "a.")),
        ],
    )
    def test_rejects_invalid_expressions(self, arguments, sentence):
        with pytest.raises(ValueError, match=sentence):
            DFA.from_regex(*arguments)


class TestOtherLibraries:
    """Hundreds of random machines in other libraries."""

    def test_automata_lib(self):
        rng = random.Random(1)
        for _ in range(500):
            one, other = drawn(DFA, rng), drawn(DFA, rng)
            theirs, others = one.to_automata_lib(), other.to_automata_lib()
            assert len(one.minimize()) == len(theirs.minify(retain_names=False).states)
            difference = theirs ^ others  # bound, as isempty() on a temporary raises in automata-lib 9
            assert one.equivalent(other) == difference.isempty()
            assert DFA.from_automata_lib(theirs, one.alphabet) == one.reachable()

    @pytest.mark.parametrize("kind", KINDS)
    def test_aalpy(self, kind):
        rng = random.Random(2)
        for _ in range(500):
            machine = drawn(kind, rng)
            theirs = machine.reachable().to_aalpy()  # whose minimize keeps states that no word reaches
            assert isinstance(theirs, Dfa if kind is DFA else TheirMooreMachine)
            assert kind.from_aalpy(machine.to_aalpy(), machine.alphabet) == machine.reachable()
            for word in words("ab", 2):
                theirs.reset_to_initial()
                assert [theirs.step(None), *map(theirs.step, word)][-1] == machine.output(word)
            theirs.minimize()
            assert len(theirs.states) == len(machine.minimize())

    def test_mealy_machines_are_read_as_moore_machines_of_their_last_outputs(self, tmp_path):
        rng = random.Random(3)
        for _ in range(100):
            rows = drawn(DFA, rng).transitions
            states = [MealyState(f"s{i}") for i in range(len(rows))]
            for state, row in zip(states, rows, strict=True):
                state.transitions = {symbol: states[t] for symbol, t in zip("ab", row, strict=True)}
                state.output_fun = {symbol: rng.choice("xyz") for symbol in "ab"}
            theirs = MealyMachine(states[0], states)
            found = MooreMachine.from_aalpy(theirs, "ab")
            theirs.save(str(tmp_path / "theirs"))
            assert MooreMachine.from_dot((tmp_path / "theirs.dot").read_text(), alphabet="ab") == found
            for word in words("ab", 4):
                theirs.reset_to_initial()
                assert ["", *map(theirs.step, word)][-1] == found.output(word)
        with pytest.raises(ValueError, match="must be an aalpy.automata.Dfa. Received"):
            DFA.from_aalpy(theirs)

    @pytest.mark.parametrize(("kind", "state"), [(DFA, DfaState), (MooreMachine, MooreState)])
    def test_states_of_aalpy_may_share_a_name(self, kind, state):
        one, other, third = state("q", True), state("q", False), state("r", True)
        one.transitions, other.transitions = {"a": other}, {"a": one}
        theirs = {DfaState: Dfa, MooreState: TheirMooreMachine}[state](one, [one, other])
        read = kind.from_aalpy(theirs)
        assert [read.output("a" * n) for n in range(4)] == [True, False, True, False]
        other.transitions["b"] = one.transitions["b"] = third
        with pytest.raises(ValueError, match="must be among the states of an automaton. Received: 'r', which is not"):
            kind.from_aalpy(theirs)

    def test_networkx(self):
        graph = DFA([[1, 1], [0, -1]], {1}, alphabet="ab").to_networkx()
        assert sorted(graph.edges(data="symbol")) == [(0, 1, "a"), (0, 1, "b"), (1, 0, "a")]
        assert graph.nodes[1] == {"accepting": True, "start": False}
        graph = MooreMachine([[1], [0]], ["x", "y"], alphabet="a").to_networkx()
        assert graph.nodes[0] == {"output": "x", "start": True}
        assert list(graph.edges(data="symbol")) == [(0, 1, "a"), (1, 0, "a")]


SVG = "{http://www.w3.org/2000/svg}"


def texts_of(drawing):
    return {text.text for text in xml.etree.ElementTree.fromstring(drawing).iter(f"{SVG}text")}


class TestDrawing:
    @pytest.mark.matrix
    @settings(max_examples=30, deadline=None)
    @given(machines(DFA, largest=30))
    def test_states_do_not_overlap_and_the_drawing_is_well_formed(self, dfa):
        root = xml.etree.ElementTree.fromstring(dfa.to_svg())
        assert len(list(root.iter(f"{SVG}circle"))) == len(dfa) + len(dfa.accepting)
        moves = [each.get("transform", "") for each in root.iter(f"{SVG}g") if each.find(f"{SVG}circle") is not None]
        places = {tuple(map(float, re.fullmatch(r"translate\((\S+) (\S+)\)", move).groups())) for move in moves}
        assert len(places) == len(moves) == len(dfa)
        for first, second in itertools.combinations(places, 2):
            assert math.dist(first, second) > 2 * 17 + 8

    def test_special_characters_of_svg_and_dot_are_escaped(self):
        dfa = DFA([[0, 0]], {0}, alphabet=['<b>"', "&\\"])
        assert "<s>" in texts_of(dfa.to_svg(["<s>"]))
        assert {r'  0 -> 0 [label="<b>\""];', r'  0 -> 0 [label="&\\"];'} <= set(dfa.to_dot().splitlines())

    def test_drawings_on_one_page_share_no_id(self):
        drawings = [tomita(number).to_svg() for number in range(1, 8)]
        ids = [re.findall(r' id="([^"]*)"', drawing) for drawing in drawings]
        assert len({each for [each] in ids}) == 7
        assert [set(re.findall(r"url\(#([^)]*)\)", drawing)) for drawing in drawings] == [{each} for [each] in ids]

    @pytest.mark.parametrize(
        ("alphabet", "text"),
        [
            ("abcdex", "a-e, x"),
            ("abeg", "a, b, e, g"),
            ("01", "0, 1"),
            (" \n\x07", r"␣, ⏎, \x07"),
            ("acegi", "a, c, e +2"),
        ],
    )
    def test_symbols_of_one_edge_are_drawn_together(self, alphabet, text):
        assert text in texts_of(DFA([[0] * len(alphabet)], {0}, alphabet=alphabet).to_svg())

    def test_states_show_their_names_and_outputs(self):
        assert "yes" in texts_of(tomita(1).to_svg(["yes", "no"]))
        assert tomita(1)._repr_svg_() == tomita(1).to_svg()
        assert DFA([[0, 0]], [0]).to_svg([7]) == DFA([[0, 0]], [0]).to_svg(["7"])
        machine = MooreMachine([[0, 1], [1, 2], [2, 0]], ["none", "<&>", 2])
        drawing = machine.to_svg(["p", "q", "r"])
        assert {"p", "none", "q", "<&>", "r", "2"} <= texts_of(drawing)
        assert "<title>state r, output 2</title>" in drawing
        assert drawing.count("<circle") == 3
        for drawing, title in (
            (tomita(1).to_svg(["a state with a long name", "b"]), "state a state with a long name, accepting"),
            (MooreMachine([[0]], ["a state's output"], alphabet="a").to_svg(), "output a state&#x27;s output"),
        ):
            assert re.search(r'font-size="8">a s\w*…<', drawing)  # cut, and whole in the title
            assert title in drawing


NOT_INTS = "States must be the ints 0, 1, .* Received: {} in {}. Number the states"
NOT_LABELS = "`outputs` must be hashable labels that equal themselves. Received: outputs="


@pytest.mark.parametrize(
    ("kind", "arguments", "sentence"),
    [
        (DFA, ([[0, 2]], [0], 0, "ab"), "must have one of the 1 states, or -1, for each of 2 symbols. .* state 0 with"),
        (DFA, ([[0]], [0], 0, "ab"), r"Received: state 0 with \[0\]"),
        (DFA, ([{"c": 0}], [0], 0, "ab"), r"over the alphabet \('a', 'b'\). Received: the symbol 'c'"),
        (DFA, ([[0, 0]], [0], 1), "`start` must be one of the states 0 to 0. Received: start=1"),
        (DFA, ([[0, 0]], [0], 0, "aa"), "each once. Received:"),
        (DFA, ([0], [0]), "must have a row of states for each state. Received: the row 0"),
        (DFA, (None, [0]), "`transitions` must be a row for each state. Received: transitions=None"),
        (DFA, ([[0, 0.5]], [0]), NOT_INTS.format(0.5, "transitions")),
        (DFA, ([{"0": "0"}], [0]), NOT_INTS.format("'0'", "transitions")),
        (DFA, ([[0, 0]], [0], 0.0), NOT_INTS.format(0.0, "start")),
        (DFA, ([[0, 0]], "0"), NOT_INTS.format("'0'", "accepting")),
        (DFA, ([[0, 0]], {3}, 0, "ab"), r"`accepting` must be among the states 0 to 0. Received: accepting=\[3\]"),
        (DFA, ([[0, 0]], 0), "`accepting` must be a set of states. Received: accepting=0"),
        (MooreMachine, ([], []), "one of the states 0 to -1. Received: start=0"),
        (MooreMachine, ([[0, 0]], "xy"), "`outputs` must be a label for each of 1 states. Received: outputs=.'x', 'y'"),
        (MooreMachine, ([[0, 0]], 3), "`outputs` must be a label for each state. Received: outputs=3"),
        (MooreMachine, ([[0, None]], "x"), "a table with a missing transition, -1. Add a state for these words"),
        (MooreMachine, ([[0, 0]], [(1, [2])]), NOT_LABELS),
        (MooreMachine, ([[0, 0]], [float("nan")]), NOT_LABELS),
    ],
)
def test_rejects_invalid_tables(kind, arguments, sentence):
    transitions, labels, *rest = arguments
    with pytest.raises(ValueError, match=sentence):
        kind(transitions, labels, **dict(zip(("start", "alphabet"), rest, strict=False)))


def markov_decision_process():
    state = MdpState("s", "x")
    state.transitions["0"].append((state, 1.0))
    return Mdp(state, [state])


def without_a_state():
    first, second = MooreState("s", "x"), MooreState("t", "y")
    first.transitions["0"] = second
    return TheirMooreMachine(first, [first])


ONES = tomita(1)
MOORE = moore_of(ONES)
NO_STATE = "`state` must be one of 0 to 1, or -1 for none. Received: state="


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: tomita(8), "`number` must be an integer from 1 to 7. Received: number=8"),
        (lambda: ONES.accepts(3), "A word must be a sequence of symbols. Received: 3"),
        (lambda: ONES.accepts("12"), "over the alphabet .* Received: the symbol '2'"),
        (
            lambda: DFA([[0] * 50], [0], alphabet=[f"E{i}" for i in range(50)]).accepts(["E0", "E999"]),
            r"alphabet 'E0', 'E1', .*, 'E9' and 40 others\. Received: the symbol 'E999'",
        ),
        (lambda: ONES.accepts([[]]), r"over the alphabet .* Received: the symbol \[\]"),
        *((lambda state=state: ONES.step(state, "0"), f"{NO_STATE}{state}") for state in (2, -2, 1.5)),
        (lambda: ONES.equivalent(MOORE), "must be compared with another DFA. Received: MooreMachine"),
        (lambda: MOORE.difference("x"), "must be compared with another MooreMachine. Received: 'x'"),
        (lambda: DFA.from_moore(MOORE, "x"), "`label` must be one of the machine's, False, True. Received: label='x'"),
        (lambda: DFA.from_moore("0*", "x"), r"`dfa` must be a MooreMachine\. Received: dfa='0\*'"),
        (lambda: ONES.product(ONES, True), "`accept` must be a function of two bools. Received: accept=True"),
        (lambda: ONES.sample(2, seed=[]), r"`seed` must be an integer, a random.Random or None. Received: seed=\[\]"),
        (lambda: ONES.count(-1), "`length` must be a non-negative integer. Received: length=-1"),
        (lambda: list(ONES.words("3")), "`length` must be a non-negative integer. Received: length='3'"),
        (lambda: ONES.to_dot(name=3), "`name` must be a string. Received: name=3"),
        (lambda: ONES.to_svg(names=3), "`names` must be a name for each of 2 states. Received: names=3"),
        (lambda: ONES.to_svg(["yes"]), r"`names` must be a name for each of 2 states. Received: names=\['yes'\]"),
        (lambda: DFA.from_aalpy(3), "`other` must be an aalpy.automata.Dfa. Received: other=3"),
        (lambda: DFA.from_aalpy(MOORE.to_aalpy()), "`other` must be an aalpy.automata.Dfa. Received: other="),
        (
            lambda: MooreMachine.from_aalpy(markov_decision_process()),
            "`other` must be an aalpy.automata.MooreMachine or MealyMachine. Received: other=",
        ),
        (lambda: DFA.from_automata_lib(3), "`other` must be an automata.fa.dfa.DFA. Received: other=3"),
        (lambda: DFA.from_automata_lib(NFA.from_regex("a|ab")), "Make a nondeterministic one deterministic by DFA"),
        (lambda: MooreMachine.from_aalpy(without_a_state()), "among the states .* Received: 't', which is not. Add it"),
        (lambda: DFA([[0, 0]], {0}, alphabet=(1, "1")).to_automata_lib(), "cannot hold every symbol. .* .'1', '1'"),
    ],
)
def test_methods_reject_invalid_arguments(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()

"""Moore machines: against words read one by one, against the DFAs of their labels, and against AALpy."""

import ctypes
import itertools
import pickle
import random
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest
from aalpy.utils import load_automaton_from_file
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_interp_rnn import views
from keras_interp_rnn.automata import DFA, MooreMachine, tomita

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:aalpy.*")

LABELS = ("x", "y", 3, ("a", 1), None)


def words(alphabet, longest):
    return itertools.chain.from_iterable(itertools.product(alphabet, repeat=n) for n in range(longest + 1))


@st.composite
def machines(draw, largest=7, alphabet="ab", labels=LABELS):
    n = draw(st.integers(1, largest))
    target = st.integers(0, n - 1)
    rows = draw(st.lists(st.tuples(*[target] * len(alphabet)), min_size=n, max_size=n))
    outputs = draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n))
    return MooreMachine(rows, outputs, start=draw(target), alphabet=alphabet)


def drawn(rng, largest=12, alphabet="ab", labels="xyz"):
    n = rng.randint(1, largest)
    rows = [[rng.randrange(n) for _ in alphabet] for _ in range(n)]
    return MooreMachine(rows, [rng.choice(labels) for _ in rows], alphabet=alphabet)


def by_hand(machine, word):
    state = machine.start
    for symbol in word:
        state = machine.transitions[state][machine.alphabet.index(symbol)]
    return machine.outputs[state]


class TestReading:
    @given(machines(alphabet="abc"))
    def test_a_word_has_the_output_of_its_last_state(self, machine):
        for word in words("abc", 4):
            assert machine.output(word) == by_hand(machine, word)
            assert machine.outputs[machine.run(word)[-1]] == by_hand(machine, word)

    def test_machines_are_values(self):
        one = MooreMachine([[0, 1], [1, 0]], ["x", 2])
        assert pickle.loads(pickle.dumps(one)) == one
        assert len({one, MooreMachine([{"0": 0, "1": 1}, (1, 0)], ("x", 2)), MooreMachine([[0, 1], [1, 0]], "xy")}) == 2
        with pytest.raises(AttributeError):
            one.outputs = ()
        assert repr(one) == "MooreMachine(transitions=((0, 1), (1, 0)), outputs=('x', 2), start=0, alphabet=('0', '1'))"

    def test_labels_have_an_order(self):
        assert MooreMachine([[0], [1], [2]], [3, 1, 3], alphabet="a").labels == (1, 3)
        assert MooreMachine([[0], [1], [2]], ["b", 1, None], alphabet="a").labels == (None, 1, "b")

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (([[0, 2]], "x"), "one of the 1 states, or -1, for each of 2 symbols. Received: state 0 with"),
            (([[0, 0]], "xy"), "has one output. Received: 2 outputs for 1 states. Give one for each"),
            (([[0, -1]], "x"), "Received: a table with a missing transition, -1. Add a state for these words"),
            (([[0, None]], "x"), "Received: a table with a missing transition"),
            (([[0, 0]], [[1]]), r"Outputs are hashable, and equal to themselves. Received: the output \[1\]"),
            (([[0, 0]], [(1, [2])]), r"Outputs are hashable.* Received: the output \(1, \[2\]\)"),
            (([[0, 0]], [float("nan")]), "equal to themselves. Received: the output nan"),
            (([[0, 0]], "x", 1), "among the states 0 to 0. Received: start=1"),
            (([], []), "among the states 0 to -1. Received: start=0"),
            (([[0, 0]], "x", "0"), "Received: '0' in start"),
            ((None, "x"), "a row of transitions and an output for each state. Received: transitions=None"),
            (([[0, 0]], 3), "Received: .*, outputs=3"),
            (([[0, 0]], "x", 0, "aa"), "each once. Received:"),
        ],
    )
    def test_what_is_no_machine(self, arguments, sentence):
        transitions, outputs, *rest = arguments
        with pytest.raises(ValueError, match=sentence):
            MooreMachine(transitions, outputs, **dict(zip(("start", "alphabet"), rest, strict=False)))

    def test_what_is_no_word(self):
        with pytest.raises(ValueError, match="over the alphabet .* Received: the symbol '2'"):
            MooreMachine([[0, 0]], "x").output("02")


class TestOperations:
    @given(machines())
    def test_the_same_labels_reachable_minimal(self, machine):
        for other in (machine.reachable(), machine.minimize()):
            assert all(machine.output(word) == other.output(word) for word in words("ab", 6))
            assert machine.equivalent(other)

    @given(machines())
    def test_no_two_states_of_a_minimal_machine_are_alike(self, machine):
        small = machine.minimize()
        for a, b in itertools.combinations(range(len(small)), 2):
            at_a, at_b = (MooreMachine(small.transitions, small.outputs, start=s, alphabet="ab") for s in (a, b))
            assert any(at_a.output(word) != at_b.output(word) for word in words("ab", len(small)))

    @given(machines(largest=4, labels="xyz"), machines(largest=4, labels="xyz"))
    def test_minimal_machines_of_the_same_labels_are_equal(self, one, other):
        same = all(one.output(word) == other.output(word) for word in words("ab", 8))
        assert (one.minimize() == other.minimize()) == one.equivalent(other) == same

    @given(machines(largest=4), machines(largest=4))
    def test_a_difference_is_the_first_shortest_one(self, one, other):
        found = one.difference(other)
        differing = (word for word in words("ab", 8) if one.output(word) != other.output(word))
        assert found == next(differing, None)

    @given(machines())
    def test_the_words_of_a_label_are_a_language(self, machine):
        languages = {label: machine.accepting(label) for label in machine.labels}
        for word in words("ab", 5):
            assert [label for label, dfa in languages.items() if dfa.accepts(word)] == [machine.output(word)]
        assert sum(dfa.count(6) for dfa in languages.values()) == 2**6

    @given(machines())
    def test_hopcroft_splits_no_less_than_all_labels_together(self, machine):
        """The product of the labels' minimal automata has the states of the minimal machine."""
        smallest = [machine.accepting(label).minimize() for label in machine.labels]
        states = {tuple(dfa.run(word)[-1] for dfa in smallest) for word in words("ab", 7)}
        assert len(machine.minimize()) == len(states)

    def test_the_order_of_the_alphabet_does_not_matter(self):
        turned = MooreMachine([[1, 0], [0, 1]], "xy", alphabet="ba")
        assert turned.equivalent(MooreMachine([[0, 1], [1, 0]], "xy", alphabet="ab"))
        with pytest.raises(ValueError, match="must read the same alphabet"):
            turned.equivalent(MooreMachine([[0, 1], [1, 0]], "xy"))

    def test_what_is_not_compared(self):
        machine = MooreMachine.from_dfa(tomita(1))
        for other in ("x", tomita(1)):
            with pytest.raises(ValueError, match="compared with another MooreMachine. Received: "):
                machine.difference(other)
        with pytest.raises(ValueError, match="compared with another DFA. Received: MooreMachine"):
            tomita(1).equivalent(machine)
        with pytest.raises(ValueError, match="Labels of this machine are False, True. Received: 'x'"):
            machine.accepting("x")

    @pytest.mark.parametrize("number", range(1, 8))
    def test_a_dfa_is_a_machine_of_two_labels(self, number):
        dfa = tomita(number)
        partial = DFA([[t if t != 1 else -1 for t in row] for row in dfa.transitions], dfa.accepting)
        for given_ in (dfa, partial):
            machine = MooreMachine.from_dfa(given_)
            assert machine.accepting(True).equivalent(given_)
            assert machine.accepting(False).equivalent(given_.complement())
            assert len(machine.minimize()) == len(given_.minimize())
        with pytest.raises(ValueError, match=r"made from a DFA\. Received: dfa='0\*'"):
            MooreMachine.from_dfa("0*")


class TestFormats:
    @settings(deadline=None)
    @given(machines(labels=("x", "y z", 'a "b"', "<|>{}\\")))
    def test_dot_there_and_back(self, machine):
        assert MooreMachine.from_dot(machine.to_dot(), alphabet="ab") == machine

    @settings(deadline=None)
    @given(machines(labels=("x", 1, 0, -7, "", "é\n")))
    def test_json_there_and_back(self, machine):
        assert MooreMachine.from_json(machine.to_json()) == machine

    def test_outputs_by_their_text(self):
        machine = MooreMachine([[0, 1], [1, 2], [2, 0]], [0, 1, 2])
        assert MooreMachine.from_dot(machine.to_dot()).outputs == ("0", "1", "2")
        assert MooreMachine.from_dot(machine.to_dot(), labels=[2, 1, 0]) == machine
        with pytest.raises(
            ValueError, match=r"every output of the digraph. Received: \(0, 1\), and states with \['2'\]"
        ):
            MooreMachine.from_dot(machine.to_dot(), labels=[0, 1])

    def test_aalpy_reads_what_is_written_and_the_other_way_round(self, tmp_path):
        rng = random.Random(0)
        for _ in range(60):
            machine = drawn(rng).reachable()
            (tmp_path / "ours.dot").write_text(machine.to_dot())
            read = load_automaton_from_file(tmp_path / "ours.dot", "moore")
            assert MooreMachine.from_aalpy(read, "ab") == machine
            read.save(str(tmp_path / "theirs"))
            text = (tmp_path / "theirs.dot").read_text()
            assert MooreMachine.from_dot(text, alphabet="ab").equivalent(machine)

    def test_a_record_that_is_set_upright(self):
        text = 'digraph { s0 [shape=record label="{s0|x}"]; s0 -> s0 [label=a]; __start0 -> s0; }'
        assert MooreMachine.from_dot(text) == MooreMachine([[0]], "x", alphabet="a")

    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            (tomita(1).to_dot(), r"`name\|output`. Received: a digraph whose state '0' has none"),
            ('digraph { a [label="a|x"]; a -> b [label=0]; __start0 -> a; }', "whose state 'b' has none"),
            ('digraph { a [label="a|x"]; b [label="b|y"]; a -> b [label=0]; __start0 -> a; }', "missing transition"),
            ('digraph { a [label="a|x"]; a -> a [label=0]; }', "0 starts"),
            (
                'digraph { a [label="a|x", peripheries=2]; a -> a [label=0]; __start0 -> a; }',
                "must have no accepting states. Received: a digraph with outputs and states of two rings",
            ),
        ],
    )
    def test_digraphs_that_are_no_machines(self, text, rule):
        with pytest.raises(ValueError, match=rule):
            MooreMachine.from_dot(text)

    def test_the_kinds_are_not_mixed_up(self):
        machine = MooreMachine.from_dfa(tomita(1))
        assert MooreMachine.from_json(machine.to_json()) == machine
        for read, text in ((DFA.from_json, machine.to_json()), (MooreMachine.from_json, tomita(1).to_json())):
            with pytest.raises(ValueError, match='has the "format" keras_interp_rnn.'):
                read(text)
        with pytest.raises(ValueError, match="outputs missing or of another kind"):
            MooreMachine.from_json(machine.to_json().replace('"outputs"', '"accepting"'))

    def test_what_a_format_cannot_hold(self):
        one = [[0, 0]]
        for machine, write, rule in (
            (MooreMachine(one, [None]), "to_json", "Outputs in JSON are strings, integers or bools. Received: None"),
            (MooreMachine(one, [1.5]), "to_python", "Outputs in Python code are .* Received: 1.5"),
            (MooreMachine(one, "x", alphabet=[(1, 2), "b"]), "to_json", "strings or integers"),
            (MooreMachine(one, ["a\nb"]), "to_dot", "DOT cannot hold every output"),
            (MooreMachine([[0, 1], [1, 0]], [1, "1"]), "to_dot", "cannot hold every output. Received: .'1', '1'"),
            (MooreMachine(one, "x", alphabet=["a, b", "c"]), "to_dot", "cannot hold every symbol of the alphabet"),
            (MooreMachine([[0] * 300], "x", alphabet=range(300)), "to_c", "at most 255 symbols"),
        ):
            with pytest.raises(ValueError, match=rule):
                getattr(machine, write)()

    @settings(deadline=None, max_examples=60)
    @given(machines(labels=("x", b"y", 3, True)))
    def test_python_code_gives_the_same_labels(self, machine):
        module = {}
        exec(machine.to_python(), module)
        assert all(module["output"](word) == machine.output(word) for word in words("ab", 6))
        with pytest.raises(KeyError):
            module["output"]("z")

    @pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
    @pytest.mark.parametrize(("states", "labels"), [(1, 1), (9, 3), (300, 290)])
    def test_c_code_gives_the_same_labels(self, states, labels, tmp_path):
        rng = random.Random(states)
        rows = [[rng.randrange(states) for _ in range(3)] for _ in range(states)]
        outputs = [f"*/ \n{i % labels}" for i in range(states)]
        machine = MooreMachine(rows, outputs, alphabet=["*/", "\n", 'é"\\'])
        (tmp_path / "moore.c").write_text(machine.to_c("our"))
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, "moore.c", "-o", "moore.so"], cwd=tmp_path, check=True)
        output = ctypes.CDLL(str(tmp_path / "moore.so")).our_output
        output.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        for _ in range(2000):
            ids = [rng.randrange(3) for _ in range(rng.randrange(12))]
            label = machine.output([machine.alphabet[i] for i in ids])
            assert machine.labels[output(bytes(ids), len(ids))] == label
        assert output(bytes([0, 3]), 2) == -1

    def test_aalpy_there_and_back(self):
        rng = random.Random(1)
        for _ in range(300):
            machine = drawn(rng)
            theirs = machine.reachable().to_aalpy()
            assert MooreMachine.from_aalpy(theirs, "ab") == machine.reachable()
            for word in itertools.islice(words("ab", 3), 15):
                theirs.reset_to_initial()
                outputs = [theirs.step(None), *(theirs.step(symbol) for symbol in word)]
                assert outputs[-1] == machine.output(word)
            theirs.minimize()
            assert len(theirs.states) == len(machine.minimize())

    def test_networkx(self):
        graph = MooreMachine([[1], [0]], ["x", "y"], alphabet="a").to_networkx()
        assert graph.nodes[1] == {"output": "y", "start": False}
        assert list(graph.edges(data="symbol")) == [(0, 1, "a"), (1, 0, "a")]


class TestDrawing:
    def test_states_show_their_output(self):
        machine = MooreMachine([[0, 1], [1, 2], [2, 0]], ["none", "<&>", 2])
        drawing = machine.to_svg(["p", "q", "r"])
        texts = [
            text.text for text in xml.etree.ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")
        ]
        assert {"p", "none", "q", "<&>", "r", "2"} <= set(texts)
        assert "<title>state r, output 2</title>" in drawing
        assert drawing.count("<circle") == 3
        assert machine._repr_svg_() == machine.to_svg()

    def test_a_long_output_is_cut_and_the_title_has_it_whole(self):
        drawing = MooreMachine([[0]], ["a long output"], alphabet="a").to_svg()
        assert re.search(r'font-size="8">a \w*…<', drawing)
        assert "output a long output" in drawing

    def test_it_is_shown_and_saved(self, tmp_path):
        machine = MooreMachine([[0, 1], [1, 0]], ["x", "y"])
        views.save(machine, tmp_path / "machine.html")
        assert machine.to_svg() in (tmp_path / "machine.html").read_text()
        views.save(machine, tmp_path / "machine.svg")
        views.save(machine, tmp_path / "machine.txt")
        assert "outputs=('x', 'y')" in (tmp_path / "machine.txt").read_text()

"""Automata as text and back, as compiled code, and text that is no automaton."""

import ctypes
import json
import random
import re
import secrets
import shutil
import subprocess

import pytest
from aalpy.utils import load_automaton_from_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_interp_rnn.automata import DFA, MooreMachine, tomita
from tests.automata.machines import KINDS, drawn, drawn_words, machines, words

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:aalpy.*")

TEXTS = ("x", "y z", 'a "b"', "<|>{}\\")


@settings(deadline=None)
@given(machines(alphabet="abc", labels=TEXTS))
def test_dot_is_read_back(machine):
    assert type(machine).from_dot(machine.to_dot(), alphabet="abc") == machine


@settings(deadline=None)
@given(machines(alphabet="abc", labels=("x", 1, 0, -7, "", "é\n", True)))
def test_json_is_read_back(machine):
    assert type(machine).from_json(machine.to_json()) == machine
    assert json.loads(machine.to_json())["alphabet"] == ["a", "b", "c"]


@settings(deadline=None, max_examples=60)
@given(machines(alphabet="abc", labels=("x", b"y", 3, True)))
def test_python_code_gives_the_same_labels(machine):
    module = {}
    exec(machine.to_python(), module)  # the module that it wrote
    output = module["accepts" if isinstance(machine, DFA) else "output"]
    assert all(output(word) == machine.output(word) for word in drawn_words("abc"))
    with pytest.raises(KeyError):
        output("z")


@settings(deadline=None, max_examples=100)
@given(machines(alphabet="abc", labels=("x", "y", 3)))
def test_objects_of_both_libraries_are_read_back(machine):
    """AALpy's automata are complete; those of automata-lib accept, and keep no state that no word reaches."""
    kind = type(machine)
    assert kind.from_aalpy(machine.to_aalpy(), "abc") == machine.complete().reachable()
    if kind is DFA:
        assert DFA.from_automata_lib(machine.to_automata_lib(), "abc") == machine.reachable()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(machine=machines(alphabet="abc", labels=("x", "y", 3)))
def test_c_code_of_any_machine_gives_its_labels(machine, tmp_path):
    (tmp_path / "code.c").write_text(machine.to_c("our"))
    shared = tmp_path / f"{secrets.token_hex(8)}.so"  # a library of one name is loaded once
    subprocess.run(["cc", "-std=c99", "-shared", "-fPIC", "code.c", "-o", shared], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(shared))
    output = library.our_accepts if isinstance(machine, DFA) else library.our_output
    output.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    for ids in drawn_words(range(3), 200):
        assert machine.labels[output(bytes(ids), len(ids))] == machine.output(["abc"[i] for i in ids])


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("kind", "states", "labels"),
    [(DFA, 1, 2), (DFA, 300, 2), (MooreMachine, 1, 1), (MooreMachine, 9, 3), (MooreMachine, 300, 290)],
)
def test_c_code_gives_the_same_labels(kind, states, labels, tmp_path):
    rng = random.Random(states)
    rows = [[rng.randrange(-1 if kind is DFA else 0, states) for _ in range(3)] for _ in range(states)]
    accepting = {state for state in range(states) if rng.random() < 0.5}
    outputs = [f"*/ \n{i % labels}" for i in range(states)]
    machine = kind(rows, accepting if kind is DFA else outputs, alphabet=["*/ /*/", "\n", 'é"\\'])
    (tmp_path / "code.c").write_text(machine.to_c("our"))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "code.c", "-o", "code.so"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "code.so"))
    output = library.our_accepts if kind is DFA else library.our_output
    output.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    for ids in drawn_words(range(3), 2000):
        assert machine.labels[output(bytes(ids), len(ids))] == machine.output([machine.alphabet[i] for i in ids])
    assert output(bytes([0, 3]), 2) == -1
    state = ctypes.c_uint()
    for ids in drawn_words(range(3), 50):
        library.our_reset(ctypes.byref(state))
        for end, symbol in enumerate(ids, start=1):
            label = library.our_step(ctypes.byref(state), symbol)
            assert machine.labels[label] == machine.output([machine.alphabet[i] for i in ids[:end]])
            assert library.our_step(ctypes.byref(state), 3) == library.our_step(ctypes.byref(state), -1) == -1


def test_symbols_of_c_code_have_names():
    assert "enum { our_symbol_a = 0, our_symbol_b1 = 1 };" in DFA([[0, 0]], {0}, alphabet=["a", "b1"]).to_c("our")
    assert "enum { our_symbol_number_0 = 0 };" in DFA([[0]], {0}, alphabet=["é"]).to_c("our")
    assert "our_symbol_number_1 = 1" in DFA([[0, 0]], {0}, alphabet=[1, "1"]).to_c("our")


B_LAST = re.compile("[ab]*b")
CORPUS = {
    # DOT
    "AALpy": (
        'digraph LearnedModel {\ns0 [label="s0"];\ns1 [label="s1", shape=doublecircle];\ns0 -> s0 [label="a"];\n'
        's0 -> s1 [label="b"];\ns1 -> s0 [label="a"];\ns1 -> s1 [label="b"];\n__start0 [label="", shape=none];\n'
        '__start0 -> s0 [label=""];\n}\n',
        B_LAST,
    ),
    "AALpy, Moore": (
        'digraph LearnedModel {\ns0 [label="s0|x", shape=record, style=rounded];\ns0 -> s0 [label="a"];\n'
        '__start0 [label="", shape=none];\n__start0 -> s0 [label=""];\n}\n',
        "Received: none. Its states have outputs: read it by MooreMachine.from_dot",
    ),
    "AALpy, Mealy": (
        'digraph LearnedModel {\ns0 [label="s0"];\ns0 -> s0 [label="a/0"];\n__start0 [label="", shape=none];\n'
        '__start0 -> s0 [label=""];\n}\n',
        "must have no output or weight. Received: a digraph, the edge s0 -> s0 with 'a/0', as of a Mealy machine",
    ),
    "AALpy, Markov decision process": (
        'digraph LearnedModel {\ns0 [label="x"];\ns1 [label="y"];\ns0 -> s0 [label="a:0.25"];\n'
        's0 -> s1 [label="a:0.75"];\n__start0 [label="", shape=none];\n__start0 -> s0 [label=""];\n}\n',
        "must be deterministic. Received: .* probabilities, such as 'a:0.25', .* neither DFA nor MooreMachine is",
    ),
    "AALpy, stochastic, with records": (
        'digraph LearnedModel {\ns0 [label="s0|x"];\ns1 [label="s1|y", shape=doublecircle];\n'
        's0 -> s1 [label="req/A:1"];\ns1 -> s0 [label="req/A:5e-1"];\ns1 -> s1 [label="req/B:.5"];\n'
        '__start0 [label="", shape=none];\n__start0 -> s0 [label=""];\n}\n',
        "must be deterministic. Received: .* probabilities, such as 'req/A:1'",
    ),
    "symbols with a colon and a number": (
        'digraph g {\ns0 [label="v:1"];\ns0 -> s0 [label="v:1"];\n__start0 [shape=none];\n__start0 -> s0;\n}\n',
        "must have an accepting state",
    ),
    "LearnLib": (
        'digraph g {\n\n\ts0 [shape="circle" label="0"];\n\ts1 [shape="doublecircle" label="1"];\n'
        '\ts0 -> s0 [label="a"];\n\ts0 -> s1 [label="b"];\n\ts1 -> s0 [label="a"];\n\ts1 -> s1 [label="b"];\n\n'
        '__start0 [label="" shape="none" width="0" height="0"];\n__start0 -> s0;\n\n}\n',
        B_LAST,
    ),
    "Graphviz's gallery": (
        'digraph finite_state_machine {\n\tfontname="Helvetica,Arial,sans-serif"\n'
        '\tnode [fontname="Helvetica,Arial,sans-serif"]\n\trankdir=LR;\n\tnode [shape = doublecircle]; 0 3;\n'
        '\tnode [shape = circle];\n\t0 -> 3 [label = "a"];\n}\n',
        "must point to the one start. Received: 0 starts. Add",
    ),
    "Graphviz's gallery, with a start": (
        "digraph finite_state_machine {\n\tnode [shape = point]; start;\n\tnode [shape = doublecircle]; 1;\n"
        '\tnode [shape = circle];\n\tstart -> 0;\n\t0 -> 0 [label = "a"];\n\t0 -> 1 [label = "b"];\n'
        '\t1 -> 0 [label = "a"];\n\t1 -> 1 [label = "b"];\n}\n',
        B_LAST,
    ),
    "dot -Tdot": (
        'digraph g {\n\tgraph [bb="0,0,54,180"];\n\tnode [label="\\N"];\n\t"" [height=0.5, pos="27,162",\n\t\t'
        'style=invis, width=0.75];\n\t0 [height=0.5, pos="27,90", width=0.75];\n\t"" -> 0 [pos="e,27,108 27,144"];\n'
        '\t1 [height=0.61, peripheries=2, pos="27,18", width=0.83];\n\t0 -> 0 [label=a, lp="75.5,90", pos="e,52,83"];\n'
        '\t0 -> 1 [label=b, lp="30,54"];\n\t1 -> 0 [label=a];\n\t1 -> 1 [label=b];\n}\n',
        B_LAST,
    ),
    "pygraphviz": (
        'strict digraph "" {\n\tgraph [rankdir=LR];\n\tnode [label="\\N"];\n\t"" [shape=none];\n\t"" -> 0;\n'
        "\t0 -> 0 [label=a];\n\t0 -> 1 [label=b];\n\t1 [shape=doublecircle];\n\t1 -> 0 [label=a];\n"
        "\t1 -> 1 [label=b];\n}\n",
        B_LAST,
    ),
    "Vcsn": (
        'digraph\n{\n  vcsn_context = "letterset<char_letters(ab)>, b"\n  rankdir = LR\n  I0 -> 0\n}\n',
        "Attributes of each graph must be .* Received: vcsn_context='letterset",
    ),
    "Vcsn, without its context": (
        "digraph\n{\n  rankdir = LR\n  edge [arrowhead = vee, arrowsize = .6]\n  {\n    node [shape = point, width = 0]"
        "\n    I0\n    F1\n  }\n  {\n    node [shape = circle, style = rounded, width = 0.5]\n    0\n    1\n  }\n"
        '  I0 -> 0\n  0 -> 1 [label = "a, b"]\n  1 -> F1\n}\n',
        re.compile("[ab]"),
    ),
    "Vcsn, epsilon": (
        'digraph {\n  { node [shape = point]\n I0\n F1 }\n  I0 -> 0\n  0 -> 1 [label = "\\\\e"]\n  1 -> F1\n}\n',
        "must read a symbol. Received: a digraph, the edge 0 -> 1 with the label",
    ),
    "fstdraw": (
        'digraph FST {\nrankdir = LR;\nsize = "8.5,11";\ncenter = 1;\norientation = Landscape;\n'
        '0 [label = "0", shape = circle, style = bold, fontsize = 14]\n\t0 -> 1 [label = "a", fontsize = 14];\n'
        '1 [label = "1", shape = doublecircle, style = solid, fontsize = 14]\n}\n',
        "0 starts",
    ),
    "dot -Txdot, Graphviz 2.43": (
        'digraph automaton {\n\tgraph [_draw_="c 9 -#fffffe00 C 7 -#ffffff ",\n\t\tbb="0,0,95,83",\n'
        '\t\trankdir=LR,\n\t\txdotversion=1.7\n\t];\n\tnode [label="\\N"];\n\t0\t[_draw_="c 7 -#000000 ",\n'
        '\t\t_ldraw_="F 14 11 -Times-Roman c 7 -#000000 ",\n\t\tshape=circle];\n\t1\t[shape=doublecircle];\n'
        '\t0 -> 0\t[_draw_="c 7 ",\n\t\t_hdraw_="S 5 -solid ",\n\t\t_ldraw_="F 14 ",\n\t\tlabel=a,\n\t\tlp="27,77"];\n'
        '\t0 -> 1\t[label=b];\n\t1 -> 0\t[label=a];\n\t1 -> 1\t[label=b];\n\t__start0\t[label="",\n\t\tshape=none];\n'
        '\t__start0 -> 0\t[_tdraw_=""];\n}\n',
        B_LAST,
    ),
    "fstdraw --acceptor, weighted, OpenFst 1.7.9": (
        'digraph FST {\nrankdir = LR;\nsize = "8.5,11";\ncenter = 1;\norientation = Portrait;\nranksep = "0.4";\n'
        'nodesep = "0.25";\n0 [label = "0", shape = circle, style = bold, fontsize = 14]\n'
        '\t0 -> 1 [label = "b/0.5", fontsize = 14];\n1 [label = "1/0.25", shape = doublecircle, style = solid]\n}\n',
        "must have no output or weight. Received: a digraph, the edge 0 -> 1 with 'b/0.5'",
    ),
    "FlexFringe": (
        'digraph DFA {\n\t0 [label="root" shape=box];\n\t\tI -> 0;\n\t0 [ label="0:#480\nfin: 0:0" , penwidth=6.1];\n'
        '\t\t0 -> 0 [label="1\n" ];\n}\n',
        "must read a symbol. Received: a digraph, the edge I -> 0 with the label ''",
    ),
    "networkx": (
        "digraph {\n0 [accepting=True, start=True];\n0 -> 0 [key=0, symbol=a];\n}\n",
        "Attributes of each node must be .* Received: accepting='True'. Remove it if",
    ),
}


@pytest.mark.core
@pytest.mark.parametrize(("text", "expected"), CORPUS.values(), ids=CORPUS)
def test_files_of_other_programs_are_read_or_refused_with_a_reason(text, expected):
    """A file that is read has its language on all words up to length 5."""
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            DFA.from_dot(text)
        return
    dfa = DFA.from_dot(text)
    assert dfa.alphabet == ("a", "b")
    for word in words("ab", 5):
        assert dfa.accepts(word) == bool(expected.fullmatch("".join(word)))


START = "digraph { __start0 [shape=none]; __start0 -> s; "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (START + "s -> t [label=a]; t [peripheries=2] }", ["a"]),
        (START + "s -> t [label=a]; t [shape=doublecircle, peripheries=1] }", []),
        (START + "s -> t [label=a]; NODE [shape=doublecircle]; t; u; t -> u [label=b] }", ["ab"]),
        (START + "node [shape=doublecircle]; { node [shape=circle]; t } s -> t -> u [label=a] }", ["aa"]),
        (START + "subgraph f { edge [label=a]; s -> t; } edge [label=b] t -> u u [peripheries=2] }", ["ab"]),
        (START + 'Node [color=red]; "node" [peripheries=2]; s -> "node" [label="a"] }', ["a"]),
        (START + r's -> t [label="\n, \", \\, \r"]; t [peripheries=2] }', ["\n", "\r", '"', "\\"]),
        (START + 's -> t [label="a\\\nb"]; t [peripheries=2] }', [("ab",)]),
        (START + "s [shape=circle] s -> t [label=a]; t [peripheries=1] }", []),
    ],
)
def test_dot_is_read_as_graphviz_reads_it(text, expected):
    dfa = DFA.from_dot(text)
    found = [word for n in range(4) for word in dfa.words(n)]
    assert found == [tuple(word) for word in expected]


@pytest.mark.core
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        *(
            (START + text, rule)
            for text, rule in (
                ("s -> t }", "must read a symbol. Received: a digraph, the edge s -> t with the label ''"),
                ('s -> t [label="ε"] }', "Remove the epsilon transitions first"),
                ('s -> t [label="a,b"] }', "several with \", \" between them. Received: .* s -> t with 'a,b'"),
                (r's -> t [label="a\nb"] }', "rename a symbol that has a comma, a line break"),
                ('s -> t [label="a "] }', "or blanks around it"),
                (r's -> t [label="\N"] }', "An escape in a label must be .* write out a name"),
                ("s -> t [label=<b>] }", "without ports or HTML. Received: '<b>"),
                ("s -> t:n [label=b] }", "without ports or HTML. Received: 't:n"),
                ("s -> {t u} [label=b] }", "edges between them, and subgraphs"),
                ("s -> t [label=b, dir=back] }", "Attributes of each edge must be .* Received: dir='back'"),
                ("s -> t [label=b, style=invis] }", "An edge must be visible. Received: a digraph, the edge s -> t"),
                ("s [peripheries=3] }", "must be a circle or a box, .* Received: 's' with shape=ellipse, 3 rings"),
                ("s [shape=tripleoctagon] }", "Received: 's' with shape=tripleoctagon"),
                ("__start0 -> s [label=a] }", "from nowhere to the start, .* must have no label. .* with 'a'"),
                ("t [shape=point] t -> s; s -> t; }", "must point to the one start"),
                ("s -> s [label=a] } digraph { }", "one digraph"),
                ("s [shape=circle] s -> s [label=a] }", "must have an accepting state"),
            )
        ),
        (
            f"strict {START} s -> s [label=a]; s -> s [label=b] }}",
            "A strict digraph must have one edge .* Remove `strict`",
        ),
        ("graph { a -- b }", "one digraph"),
        ('digraph { "" [shape=none]; "" -> 0; "" -> 1; 0 -> 1 [label=a]; }', "2 starts"),
        ('digraph { "" [shape=none]; "" -> 0; 0 -> 1 [label=a]; 0 -> 0 [label=a]; }', "Determinize"),
        ("digraph { 0 -> subgraph a { 0 } }", "one digraph"),
        ("digraph { 0 -> 1 [label] }", "one digraph"),
        ("digraph { 0 $ 1 }", r"Received: .* found '\$'"),
        ("", "one digraph"),
    ],
)
def test_rejects_digraphs_that_are_not_clearly_a_dfa(text, rule):
    with pytest.raises(ValueError, match=rule):
        DFA.from_dot(text)


@pytest.mark.core
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('digraph { a [label="a|x"]; a -> b [label=0]; __start0 -> a; }', "whose state 'b' has none"),
        ('digraph { a [label="a|x"]; b [label="b|y"]; a -> b [label=0]; __start0 -> a; }', "missing transition"),
        (
            'digraph { a [label="a|x", peripheries=2]; a -> a [label=0]; __start0 -> a; }',
            "must have no accepting states. Received: a digraph with outputs and states of two rings",
        ),
    ],
)
def test_rejects_digraphs_that_are_no_moore_machines(text, rule):
    with pytest.raises(ValueError, match=rule):
        MooreMachine.from_dot(text)


def test_outputs_in_dot_are_read_by_their_text():
    machine = MooreMachine([[0, 1], [1, 2], [2, 0]], [0, 1, 2])
    assert MooreMachine.from_dot(machine.to_dot()).outputs == ("0", "1", "2")
    assert MooreMachine.from_dot(machine.to_dot(), labels=[2, 1, 0]) == machine
    with pytest.raises(ValueError, match=r"every output of the digraph. Received: \(0, 1\), and states with \['2'\]"):
        MooreMachine.from_dot(machine.to_dot(), labels=[0, 1])
    upright = 'digraph { s0 [shape=record label="{s0|x}"]; s0 -> s0 [label=a]; __start0 -> s0; }'
    assert MooreMachine.from_dot(upright) == MooreMachine([[0]], "x", alphabet="a")


def test_moore_machines_of_learnlib_are_read():
    text = (
        'digraph g {\n\n\ts0 [shape="circle" label="0 / x y"];\n\ts1 [shape="circle" label="1 / "];\n'
        '\ts0 -> s1 [label="a"];\n\ts1 -> s0 [label="a"];\n\n'
        '__start0 [label="" shape="none" width="0" height="0"];\n__start0 -> s0;\n\n}\n'
    )
    assert MooreMachine.from_dot(text) == MooreMachine([[1], [0]], ["x y", ""], alphabet="a")
    with pytest.raises(ValueError, match="whose state 's0' has none"):
        MooreMachine.from_dot(text.replace("x y", "x / y"))


CLEAR = ["a", ",", "/", " ", "\\", "\\n", '"', 1, "1"]
UNCLEAR = ["", "ε", "@0@", "a\nb", "a, b", "a,b", "x/0", "a "]


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.sampled_from(CLEAR + UNCLEAR), min_size=1, max_size=3, unique=True).flatmap(
        lambda symbols: machines(DFA, alphabet=symbols)
    )
)
def test_odd_symbols_are_read_back_or_refused_by_the_writer(dfa):
    if set(UNCLEAR) & set(dfa.alphabet) or {1, "1"} <= set(dfa.alphabet):
        with pytest.raises(ValueError, match="cannot hold every symbol"):
            dfa.to_dot()
    else:
        assert DFA.from_dot(dfa.to_dot(), alphabet=dfa.alphabet) == dfa


@pytest.mark.parametrize("kind", KINDS)
def test_aalpy_reads_what_is_written_and_the_other_way_round(kind, tmp_path):
    rng = random.Random(0)
    for _ in range(60):
        machine = drawn(kind, rng, 9).reachable()
        (tmp_path / "ours.dot").write_text(machine.to_dot())
        read = load_automaton_from_file(tmp_path / "ours.dot", "dfa" if kind is DFA else "moore")
        assert kind.from_aalpy(read, "ab") == machine
        if kind is MooreMachine or machine.accepting:  # AALpy's file does not tell that no state accepts
            read.save(str(tmp_path / "theirs"))
            text = (tmp_path / "theirs.dot").read_text()
            assert kind.from_dot(text, alphabet="ab").equivalent(machine)


JSON = tomita(1).to_json()
MOORE = MooreMachine([[0, 1], [1, 0]], [True, False]).to_json()


@pytest.mark.core
@pytest.mark.parametrize(
    ("read", "text", "rule"),
    [
        *((read, None, "from a string. Received: NoneType") for read in (DFA.from_dot, DFA.from_json)),
        (DFA.from_json, "[]", 'must have the "format"'),
        (DFA.from_json, "[" * 200_000, "must be a JSON object. Received: "),
        (DFA.from_json, JSON.replace('"version": 1', '"version": 2'), "must be of version 1. Received: version 2"),
        (
            DFA.from_json,
            '{"format": "keras_interp_rnn.DFA", "version": 1, "start": 0}',
            "accepting, transitions missing",
        ),
        (DFA.from_json, JSON.replace('"start"', '"weights": [1], "start"'), r"no more. Received: \['weights'\]"),
        (DFA.from_json, JSON.replace('["0", "1"]', "[0, null]"), "must be strings or integers. Received: None"),
        (DFA.from_json, JSON.replace('"start": 0', '"start": 9'), "`start` must be one of .* Received: start=9"),
        (DFA.from_json, JSON.replace('"start": 0', '"start": 0, "start": 1'), "a name twice"),
        (MooreMachine.from_json, JSON, 'must have the "format" keras_interp_rnn.'),
        (MooreMachine.from_json, MOORE.replace('"outputs"', '"accepting"'), "outputs missing or of another kind"),
    ],
)
def test_rejects_text_that_is_no_automaton(read, text, rule):
    with pytest.raises(ValueError, match=rule):
        read(text)


class Odd(str):
    def __repr__(self):
        return "__import__('os')"


def of_symbols(*symbols):
    return DFA([[0] * len(symbols)], {0}, alphabet=symbols)


def of_output(output):
    return MooreMachine([[0, 0]], [output])


LARGE = DFA([[0] * 100] * 3000, {0}, alphabet=range(100))


@pytest.mark.core
@pytest.mark.parametrize(
    ("write", "rule"),
    [
        (of_symbols((1, 2), "b").to_json, "Symbols in JSON must be strings or integers. Received"),
        (of_symbols(True).to_json, "Symbols in JSON must be strings or integers. Received: True"),
        (of_symbols("<eps>").to_dot, "cannot hold every symbol"),
        (of_symbols((1, 2), "b").to_python, "Symbols in Python code must be of str, int, bytes. Received"),
        (of_symbols(Odd("a")).to_python, "Symbols in Python code must be of str, int, bytes. Received"),
        (of_symbols(*range(300)).to_c, "at most 255 symbols"),
        (lambda: tomita(1).to_c("2x"), "`name` must be an identifier of C. Received: name='2x'"),
        (LARGE.to_python, "must have at most 250,000 entries. Received: 300,000, 3,000 states times 100"),
        (LARGE.to_c, "must have at most 250,000 entries. Received: 300,000, 3,000 states times 100"),
        (of_output(None).to_json, "Outputs in JSON must be strings, integers or bools. Received: None"),
        (of_output(1.5).to_python, "Outputs in Python code must be of .* Received: 1.5"),
        (of_output("a\nb").to_dot, "DOT cannot hold every output"),
        (MooreMachine([[0, 1], [1, 0]], [1, "1"]).to_dot, "cannot hold every output. Received: .'1', '1'"),
    ],
)
def test_rejects_what_a_format_cannot_hold(write, rule):
    with pytest.raises(ValueError, match=rule):
        write()

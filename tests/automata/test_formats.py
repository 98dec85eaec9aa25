"""Automata as text and back, what a compiler makes of them, and files that are none."""

import ctypes
import json
import random
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_interp_rnn.automata import DFA, tomita


@st.composite
def automata(draw, alphabet="abc", complete=False):
    """Of up to six states, some transitions missing."""
    n = draw(st.integers(1, 6))
    targets = st.integers(0 if complete else -1, n - 1)
    rows = draw(st.lists(st.tuples(*[targets] * len(alphabet)), min_size=n, max_size=n))
    accepting = draw(st.sets(st.integers(0, n - 1)))
    return DFA(rows, accepting, start=draw(st.integers(0, n - 1)), alphabet=alphabet)


def drawn_words(alphabet, count=200, seed=0):
    rng = random.Random(seed)
    return [tuple(rng.choice(alphabet) for _ in range(rng.randrange(12))) for _ in range(count)]


@settings(deadline=None, max_examples=150)
@given(automata())
def test_att_there_and_back(dfa):
    if not any(target >= 0 for target in dfa.transitions[dfa.start]) and dfa.start not in dfa.accepting:
        with pytest.raises(ValueError, match="names the start. Received: an automaton whose start has no edge"):
            dfa.to_att()
        dfa = dfa.complete()
    back = DFA.from_att(dfa.to_att(), alphabet=dfa.alphabet)
    assert back.equivalent(dfa)


@settings(deadline=None, max_examples=60)
@given(automata())
def test_dot_there_and_back(dfa):
    assert DFA.from_dot(dfa.to_dot(), alphabet=dfa.alphabet) == dfa


@settings(deadline=None, max_examples=150)
@given(automata())
def test_json_there_and_back(dfa):
    assert DFA.from_json(dfa.to_json()) == dfa
    assert json.loads(dfa.to_json())["alphabet"] == ["a", "b", "c"]


@settings(deadline=None, max_examples=150)
@given(automata())
def test_a_regular_expression_has_the_words_of_the_automaton(dfa):
    if dfa.shortest() is None:
        with pytest.raises(ValueError, match="accepts none"):
            dfa.to_regex()
        return
    again = DFA.from_regex(dfa.to_regex(), alphabet=dfa.alphabet, max_states=100_000)
    assert again == dfa.minimize()


@pytest.mark.parametrize("number", range(1, 8))
def test_regular_expressions_of_tomita(number):
    language = tomita(number)
    assert DFA.from_regex(language.to_regex(), max_states=100_000).equivalent(language)


@settings(deadline=None, max_examples=60)
@given(automata())
def test_python_code_accepts_the_same_words(dfa):
    module = {}
    exec(dfa.to_python(), module)  # the module that it wrote
    for word in drawn_words(dfa.alphabet):
        assert module["accepts"](word) == dfa.accepts(word)
    with pytest.raises(KeyError):
        module["accepts"]("z")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("states", [1, 5, 300])
def test_c_code_accepts_the_same_words(states, tmp_path):
    rng = random.Random(states)
    rows = [[rng.randrange(-1, states) for _ in range(3)] for _ in range(states)]
    dfa = DFA(rows, {s for s in range(states) if rng.random() < 0.5}, alphabet=["*/", "\n", 'é"\\'])
    (tmp_path / "dfa.c").write_text(dfa.to_c("our_dfa"))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "dfa.c", "-o", "dfa.so"], cwd=tmp_path, check=True)
    accepts = ctypes.CDLL(str(tmp_path / "dfa.so")).our_dfa_accepts
    accepts.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    for ids in drawn_words(range(3), 3000):
        expected = dfa.accepts([dfa.alphabet[i] for i in ids])
        assert accepts(bytes(ids), len(ids)) == expected
    assert accepts(bytes([0, 3]), 2) == -1


AALPY = """
digraph learnedModel {
s0 [label="s0", shape=doublecircle];
s1 [label="s1"];
s0 -> s0  [label="a"];
s0 -> s1  [label="b"];
s1 -> s0  [label="b"];
s1 -> s1  [label="a"];
__start0 [label="", shape=none];
__start0 -> s0  [label=""];
}
"""
WIKI = """
digraph g {
    __start0 [label="" shape="none"];

    0 [shape="circle" label="0"];
    1 [shape="doublecircle" label="1"];
    0 -> 1 [label="a"];
    1 -> 0 [label="a"];

    __start0 -> 0;
}
"""


def test_dialects_of_dot():
    even = DFA.from_dot(AALPY)
    assert even.alphabet == ("a", "b")
    assert even.accepts("abab")
    assert not even.accepts("ab")
    odd = DFA.from_dot(WIKI)
    assert odd.accepts("a")
    assert not odd.accepts("aa")


def test_what_aalpy_writes_is_read(tmp_path):
    dfa = tomita(5)
    dfa.to_aalpy().save(str(tmp_path / "dfa"))
    assert DFA.from_dot((tmp_path / "dfa.dot").read_text(), alphabet=dfa.alphabet).equivalent(dfa)


def test_att_of_other_programs():
    openfst = "3\t7\ta\ta\t0.5\n7\t3\tb\tb\n7\t0.25\n"
    dfa = DFA.from_att(openfst)
    assert (len(dfa), dfa.start, dfa.alphabet) == (2, 0, ("a", "b"))
    assert [dfa.accepts(word) for word in ("a", "ab", "aba")] == [True, False, True]
    assert DFA.from_att("0 0 x x\n0", alphabet="xy").alphabet == ("x", "y")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "has a state, and an alphabet"),
        ("0\n", "has a state, and an alphabet"),
        ("0 1 a b\n1", "line 1, '0 1 a b'. Pass an acceptor, not a transducer"),
        ("0 1 a a\n0 2 a a\n", "line 2: a second one from 0 with 'a'. Determinize"),
        ("0\t1\t@0@\t@0@\n1", "Remove the epsilon transitions"),
        ("0 1 a a 0.5 7 8\n1", "symbol twice"),
    ],
)
def test_att_tables_that_are_no_automata(text, rule):
    with pytest.raises(ValueError, match=rule):
        DFA.from_att(text)


def test_att_symbols_outside_the_alphabet():
    with pytest.raises(ValueError, match=r"edges with \['z'\]. Pass the alphabet"):
        DFA.from_att("0 0 z z\n0", alphabet="ab")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("graph { a -- b }", "one digraph"),
        ("digraph { 0 -> 1 [label=a]; }", "0 starts. Add"),
        ('digraph { "" [shape=none]; "" -> 0; "" -> 1; 0 -> 1 [label=a]; }', "2 starts"),
        ('digraph { "" [shape=none]; "" -> 0; 0 -> 1 [label=a]; 0 -> 0 [label=a]; }', "Determinize"),
        ("digraph { subgraph a { 0 } }", "one digraph"),
        ("digraph { 0 -> 1 [label] }", "one digraph"),
        ("digraph { 0 $ 1 }", r"Received: '\$ 1 }'"),
        ("", "one digraph"),
        ("digraph { 0 -> ", "one digraph"),
    ],
)
def test_digraphs_that_are_no_automata(text, rule):
    with pytest.raises(ValueError, match=rule):
        DFA.from_dot(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "is a JSON object"),
        ("[]", 'has the "format"'),
        ('{"format": "keras_interp_rnn.DFA", "version": 2}', "version 1. Received: version 2"),
        ('{"format": "keras_interp_rnn.DFA", "version": 1, "start": 0}', "alphabet, accepting, transitions missing"),
    ],
)
def test_json_that_is_no_automaton(text, rule):
    with pytest.raises(ValueError, match=rule):
        DFA.from_json(text)


def test_json_with_a_state_that_is_not_there():
    damaged = tomita(1).to_json().replace('"start": 0', '"start": 9')
    with pytest.raises(ValueError, match="Start and accepting states"):
        DFA.from_json(damaged)


def test_symbols_that_a_format_cannot_hold():
    odd = DFA([[0, 0]], {0}, alphabet=[(1, 2), "b"])
    for write, rule in (
        (odd.to_json, "strings or integers"),
        (odd.to_python, "strings, bytes or integers"),
        (odd.to_regex, "cannot hold every symbol"),
        (DFA([[0]], {0}, alphabet=["\t"]).to_att, "cannot hold every symbol"),
        (DFA([[0, 0]], {0}, alphabet=[1, "1"]).to_att, "cannot hold every symbol"),
        (DFA([[0] * 300], {0}, alphabet=range(300)).to_c, "at most 255 symbols"),
    ):
        with pytest.raises(ValueError, match=rule):
            write()
    with pytest.raises(ValueError, match="identifier for a name. Received: name='2x'"):
        tomita(1).to_c("2x")


def test_an_expression_that_would_be_too_long():
    rng = random.Random(0)
    dfa = DFA([[rng.randrange(12) for _ in "abc"] for _ in range(12)], {3, 5}, alphabet="abc")
    with pytest.raises(ValueError, match=r"at most max_length=1,000 characters. Received: an automaton of \d+ states"):
        dfa.to_regex(max_length=1000)


def test_what_is_no_text_or_no_number():
    for read in (DFA.from_att, DFA.from_dot, DFA.from_json):
        with pytest.raises(ValueError, match="is read from a string. Received: NoneType"):
            read(None)
    with pytest.raises(ValueError, match="identifier for a name. Received: name=3"):
        tomita(1).to_c(3)
    with pytest.raises(ValueError, match="at least one character. Received: max_length='x'"):
        tomita(1).to_regex(max_length="x")


def test_json_that_is_deep_or_says_something_twice():
    with pytest.raises(ValueError, match="is a JSON object. Received: "):
        DFA.from_json("[" * 200_000)
    twice = tomita(1).to_json().replace('"start": 0', '"start": 0, "start": 1')
    with pytest.raises(ValueError, match="a name twice"):
        DFA.from_json(twice)


def test_att_of_unusual_symbols():
    odd = DFA([[0, 1, 1, 0], [1, 1, 0, 0]], {0}, alphabet=["\x0b", "\x85", "\u2028", "a b"])
    assert DFA.from_att(odd.to_att(), alphabet=odd.alphabet) == odd
    with pytest.raises(ValueError, match="cannot hold every symbol"):
        DFA([[0]], {0}, alphabet=["<eps>"]).to_att()
    with pytest.raises(ValueError, match="line 1, '0 1 a a hello'"):
        DFA.from_att("0 1 a a hello\n1")
    with pytest.raises(ValueError, match="cannot hold every symbol of the alphabet. Received: .*'1', '1'"):
        DFA.from_att("0 1 a a\n1", alphabet=[1, "1", "a"])


def test_a_name_with_a_quote_in_dot():
    assert DFA.from_dot(tomita(1).to_dot('a "b"')) == tomita(1)


def test_code_is_bounded_and_made_of_plain_symbols():
    class Odd(str):
        def __repr__(self):
            return "__import__('os')"

    with pytest.raises(ValueError, match="strings, bytes or integers"):
        DFA([[0]], {0}, alphabet=[Odd("a")]).to_python()
    large = DFA([[0] * 100] * 3000, {0}, alphabet=range(100))
    for write in (large.to_python, large.to_c):
        with pytest.raises(ValueError, match="at most 250,000 entries. Received: 300,000, 3,000 states times 100"):
            write()

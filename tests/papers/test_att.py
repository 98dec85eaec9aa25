"""Acceptors of OpenFst, foma and MLRegTest: read as they are meant, or refused with a reason."""

import re

import pytest

from examples.papers.data._att import read_att
from keras_interp_rnn.automata import DFA
from tests.automata.machines import words

B_LAST = re.compile("[ab]*b")
CORPUS = {
    "fstprint": ("0\t0\ta\ta\n0\t1\tb\tb\n1\t0\ta\ta\n1\t1\tb\tb\n1\n", B_LAST),
    "fstprint, weighted": ("0\t0\ta\ta\t0.5\n0\t1\tb\tb\n1\t0\ta\ta\t2\n1\t1\tb\tb\n1\t0.25\n", B_LAST),
    "fstprint --acceptor": ("0\t0\ta\n0\t1\tb\n1\t0\ta\n1\t1\tb\n1\n", B_LAST),
    "fstprint --acceptor, weighted": ("0\t0\ta\t0.5\n0\t1\tb\t3\n1\t0\ta\t1e-3\n1\t1\tb\t0.5\n1\t0.25\n", B_LAST),
    "fstprint --acceptor, some weighted": ("0\t0\ta\n0\t1\tb\t3\n1\t0\ta\n1\t1\tb\t2\n1\n", B_LAST),
    "fstprint --acceptor, a word for a weight": (
        "0\t0\ta\n0\t1\tb\tc\n1\n",
        "and weights finite. Received: line 2",
    ),
    "fstprint, a transducer or integer weights": (
        "0\t1\ta\t1\n1\n",
        "line 1, .*. Pass an acceptor, not a transducer; write an integer weight as 1.0, not 1",
    ),
    "fstprint, an infinite weight": ("0\t1\ta\ta\tInfinity\n1\n", "and weights finite. Received: line 1"),
    "fstprint, infinite at the end": ("0\t1\ta\ta\n1\tInfinity\n", "and weights finite. Received: line 2"),
    "foma 0.10, symbols of several letters": ("0\t1\ta\ta\n0\t2\tb\tb\n1\t2\tb\tb\n2\n", re.compile("a?b")),
    "foma 0.10, a transducer": ("0\t0\ta\tb\n0\t1\tb\tb\n1\n", "line 1, .*. Pass an acceptor, not a transducer"),
    "fstprint --acceptor --show_weight_one, OpenFst 1.7.9": (
        "0\t0\ta\t0\n0\t1\tb\t0.5\n1\t0\ta\t1\n1\t1\tb\t0\n1\t0.25\n",
        B_LAST,
    ),
    "foma, any other symbol": (
        "0\t1\ta\ta\n0\t1\t@_IDENTITY_SYMBOL_@\t@_IDENTITY_SYMBOL_@\n1\n",
        "must read a symbol. Received: line 2, .* write an edge for each symbol of a wildcard",
    ),
    "foma, a flag": ("0\t1\t@P.CASE.NOM@\t@P.CASE.NOM@\n1\n", "transitions and flags first"),
    "OpenFst, epsilon": ("0\t1\t<eps>\t<eps>\n1\n", "must read a symbol. Received: line 1"),
    "Windows": ("\ufeff0 0 a a\r\n0 1 b b\r\n1 0 a a\r\n1 1 b b\r\n1\r\n", B_LAST),
    "an old Mac": ("0 0 a a\r0 1 b b\r1 0 a a\r1 1 b b\r1\r", B_LAST),
    "a comment of two fields": (
        "# even\n0 1 b b\n1\n",
        "states are numbers, .* Received: line 1, '# even'. Pass an acceptor",
    ),
    "a title": ("even\n0 1 b b\n1\n", "states are numbers, .* Received: line 1, 'even'"),
    "an empty symbol": ("0\t1\t\t\n1\n", "must read a symbol. Received: line 1"),
}


@pytest.mark.core
@pytest.mark.parametrize(("text", "expected"), CORPUS.values(), ids=CORPUS)
def test_files_of_other_programs_are_read_or_refused_with_a_reason(text, expected):
    """A file that is read has its language on all words up to length 5."""
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            read_att(text)
        return
    dfa = read_att(text)
    assert dfa.alphabet == ("a", "b")
    for word in words("ab", 5):
        assert dfa.accepts(word) == bool(expected.fullmatch("".join(word)))


def test_states_are_numbered_as_they_are_first_named():
    expected = DFA([[1, -1], [-1, 0]], {1}, alphabet="ab")
    assert read_att("3\t7\ta\ta\t0.5\n7\t3\tb\tb\n7\t0.25\n") == expected


def test_unusual_symbols_are_read():
    odd = ["\x0b", "\x85", "\u2028", "a b"]
    text = "".join(f"0\t{i % 2}\t{symbol}\t{symbol}\n" for i, symbol in enumerate(odd)) + "0\n"
    expected = {symbol: i % 2 for i, symbol in enumerate(odd)}
    assert read_att(text) == DFA([expected, {}], {0}, alphabet=sorted(odd))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("0 1 a b\n1", "line 1, '0 1 a b'. Pass an acceptor, not a transducer"),
        ("0 1 a a\n0 2 a a\n", "line 2, '0 2 a a'. Determinize"),
        ("0 1 a a 0.5 7 8\n1", "symbol twice"),
        ("0 1 a a hello\n1", "line 1, '0 1 a a hello'"),
        ("", "at least one symbol"),
    ],
)
def test_rejects_what_is_no_acceptor(text, rule):
    with pytest.raises(ValueError, match=rule):
        read_att(text)

"""Automata as text: AT&T tables, regular expressions, JSON, Python and C; DOT is in `_dot.py`.

What is read is a list of edges by the names in the file; what is written follows from the table. A reader refuses what
it does not understand, with the line or the edge, and a writer what its reader would read as something else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from keras_interp_rnn._numbers import is_integer

NO_SYMBOL = re.compile(r"|ε|\\e|<eps>|<epsilon>|@0@|@_\w+_@|@[CDENPRU]\.[^@]+@")
"""What programs write for no symbol (epsilon), for any other symbol, or for a flag."""

JSON_FORMAT = "keras_interp_rnn."
"""Before the name of the class."""

OPERATORS = "|*+?()"
"""Signs of regular expressions that are no symbols."""

MAX_ENTRIES, MAX_READ = 250_000, 10_000_000
"""Of a table that is written as code, and of one that is read: states times symbols."""


class Table(NamedTuple):
    """An automaton as `DFA` takes it, or as `MooreMachine` does: with outputs, and no accepting states."""

    transitions: list[list[int]]
    accepting: list[int]
    start: int
    alphabet: tuple[Hashable, ...]
    outputs: list[Hashable] | None = None


class Edges:
    """Named states and edges, numbered in the order in which they are first named."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.numbers: dict[str, int] = {}
        self.edges: dict[tuple[int, str], int] = {}
        self.accepting: list[int] = []
        self.outputs: dict[int, str] = {}

    def state(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))

    def add(self, source: str, symbol: str, target: str, where: str) -> None:
        edge, found = (self.state(source), symbol), self.state(target)
        if self.edges.setdefault(edge, found) != found:
            raise ValueError(
                f"From a state of a deterministic automaton one edge reads a symbol. Received: {self.what}, {where}: "
                f"a second one from {source} with {symbol!r}. Determinize the automaton first."
            )

    def table(self, start: int, alphabet: Iterable[Hashable] | None) -> Table:
        found = sorted({symbol for _, symbol in self.edges})
        symbols = tuple(found) if alphabet is None else tuple(alphabet)
        names = texts(symbols, f"The alphabet of {self.what}", lambda name: False)
        strays = sorted(set(found) - set(names))
        if strays or not symbols or not self.numbers:
            raise ValueError(
                "An automaton has a state, and an alphabet with every symbol of its edges. Received: "
                f"{self.what} with {len(self.numbers)} states, alphabet {symbols!r}"
                f"{f', and edges with {strays}' if strays else ''}. Pass the alphabet."
            )
        if len(self.numbers) * len(symbols) > MAX_READ:
            raise ValueError(
                f"An automaton that is read must have at most {MAX_READ:,} states times symbols. Received: "
                f"{self.what} with {len(self.numbers):,} states and {len(symbols):,} symbols. Pass a smaller one."
            )
        rows = [[self.edges.get((state, name), -1) for name in names] for state in self.numbers.values()]
        return Table(rows, sorted(set(self.accepting)), start, symbols)


def read_att(text: str, alphabet: Iterable[Hashable] | None) -> Table:
    """An acceptor as an AT&T table: lines `from to symbol [symbol] [weight]`, and `state [weight]` for accepting."""
    edges = Edges("an AT&T table")
    lines = [
        (number, line, line.split("\t") if "\t" in line else line.split())
        for number, line in enumerate(re.split("\r\n|\r|\n", checked_text(text, "An AT&T table")), start=1)
        if line.strip()
    ]
    # Programs write the symbol of every edge twice, or that of every edge once, and then a fourth field is a weight.
    # "Once" shows by three fields, or a fourth that is no integer; otherwise it may be the output of a transducer.
    once = any(len(row) == 3 or (len(row) == 4 and row[2] != row[3] and _is_fraction(row[3])) for _, _, row in lines)
    for number, line, row in lines:
        received = f"Received: line {number}, {line[:60]!r}."
        states = row[: 2 if len(row) > 2 else 1]
        symbols, weights = row[2:4], row[4:] if len(row) > 2 else row[1:]
        if once and len(row) == 4 and row[2] != row[3]:
            symbols, weights = row[2:3], row[3:]
        values = [_number(weight) for weight in weights]
        are_states = all(state.isascii() and state.isdigit() for state in states)
        if not are_states or len(set(symbols)) > 1 or len(values) > 1 or any(map(math.isnan, values)):
            remedy = "Pass an acceptor, not a transducer" if len(set(symbols)) > 1 else "Remove what is neither"
            integer = len(row) == 4 and re.fullmatch("[0-9]+", row[3])
            raise ValueError(
                "A line of an AT&T table of an acceptor must be `from to symbol symbol [weight]`, the symbol twice, or "
                f"an accepting state, `state [weight]`; states are numbers. {received} {remedy}"
                f"{'; write an integer weight as 1.0, not 1' if integer else ''}."
            )
        if any(map(math.isinf, values)):
            raise ValueError(
                f"A weight must be finite, as OpenFst writes Infinity for what is not there. {received} Remove "
                "the line."
            )
        if len(row) <= 2:
            edges.accepting.append(edges.state(row[0]))
            continue
        if NO_SYMBOL.fullmatch(row[2]):
            raise ValueError(
                f"Every edge of a deterministic automaton must read a symbol. {received} Remove the epsilon "
                "transitions and flags first, and write an edge for each symbol that a wildcard stands for."
            )
        edges.add(row[0], row[2], row[1], f"line {number}")
    return edges.table(0, alphabet)


def write_att(table: Table) -> str:
    """The start first, as the state of the first line is the start."""
    names = texts(
        table.alphabet, "An AT&T table", lambda name: NO_SYMBOL.fullmatch(name) or re.search(r"[\t\n\r]", name)
    )
    order = [table.start, *(state for state in range(len(table.transitions)) if state != table.start)]
    lines = [
        f"{state}\t{target}\t{name}\t{name}"
        for state in order
        for name, target in zip(names, table.transitions[state], strict=True)
        if target >= 0
    ]
    if not any(target >= 0 for target in table.transitions[table.start]) and table.start not in table.accepting:
        raise ValueError(
            "The first line of an AT&T table names the start. Received: an automaton whose start has no edge and does "
            "not accept. Write `complete()` of it."
        )
    accepting = sorted(table.accepting, key=lambda state: (state != table.start, state))
    first = [str(state) for state in accepting]
    # Without an edge from the start its accepting line comes first.
    return (
        "\n".join([*lines, *first] if any(t >= 0 for t in table.transitions[table.start]) else [*first, *lines]) + "\n"
    )


def write_regex(table: Table, max_length: int) -> str:
    """An expression by elimination of states, those with the shortest labels first (Brzozowski, McCluskey, 1963)."""
    if not is_integer(max_length) or max_length < 1:
        raise ValueError(
            f"An expression has at least one character. Received: max_length={max_length!r}. Pass an int > 0."
        )
    names = texts(table.alphabet, "A regular expression", lambda name: len(name) != 1 or name in OPERATORS)
    n = len(table.transitions)
    begin, end = n, n + 1
    edges: dict[tuple[int, int], str] = {(begin, table.start): ""}
    for state, row in enumerate(table.transitions):
        for name, target in zip(names, row, strict=True):
            if target >= 0:
                edges[state, target] = _either(edges.get((state, target)), name)
    edges.update({(state, end): "" for state in table.accepting})
    left = set(range(n))
    while left:
        state = min(left, key=lambda one: (sum((one in edge) * len(label) for edge, label in edges.items()), one))
        left.remove(state)
        loop = _starred(edges.pop((state, state), None))
        into = [(a, label) for (a, b), label in edges.items() if b == state]
        out = [(b, label) for (a, b), label in edges.items() if a == state]
        for a, before in into:
            for b, after in out:
                edges[a, b] = _either(edges.get((a, b)), f"{_factor(before)}{loop}{_factor(after)}")
        edges = {edge: label for edge, label in edges.items() if state not in edge}
        if sum(map(len, edges.values())) > max_length:
            raise ValueError(
                f"The expression of an automaton has at most max_length={max_length:,} characters. Received: an "
                f"automaton of {n} states whose expression is longer. Minimize it, or raise max_length."
            )
    if (begin, end) not in edges:
        raise ValueError("A regular expression has words. Received: an automaton that accepts none. Test `shortest()`.")
    return edges[begin, end] or "()"


def _either(one: str | None, other: str) -> str:
    if one is None or one == other:
        return other
    return f"{one}|{other}"


def _alternatives(label: str) -> bool:
    """Whether an expression has a | outside all parentheses."""
    depth = 0
    for sign in label:
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and not depth:
            return True
    return False


def _factor(label: str) -> str:
    return f"({label})" if _alternatives(label) else label


def _starred(label: str | None) -> str:
    if not label:
        return ""
    return f"{label}*" if len(label) == 1 else f"({label})*"


def _fit_for_json(table: Table) -> Table:
    """The table; raises ValueError unless symbols are strings and integers, and outputs these or bools."""
    for symbol in table.alphabet:
        if not isinstance(symbol, (str, int)) or isinstance(symbol, bool):
            raise ValueError(f"Symbols in JSON are strings or integers. Received: {symbol!r}. Rename the symbols.")
    for output in table.outputs or ():
        if not isinstance(output, (str, int)):
            raise ValueError(f"Outputs in JSON are strings, integers or bools. Received: {output!r}. Rename them.")
    return table


def write_json(table: Table) -> str:
    """One object with what `_fit_for_json` lets through."""
    _fit_for_json(table)
    rows = ",\n    ".join(json.dumps(row) for row in table.transitions)
    kind, name, labels = (
        ("DFA", "accepting", sorted(table.accepting))
        if table.outputs is None
        else ("MooreMachine", "outputs", table.outputs)
    )
    return (
        f'{{\n  "format": {json.dumps(JSON_FORMAT + kind)},\n  "version": 1,\n'
        f'  "alphabet": {json.dumps(table.alphabet)},\n'
        f'  "start": {table.start},\n  "{name}": {json.dumps(labels)},\n'
        f'  "transitions": [\n    {rows}\n  ]\n}}\n'
    )


def read_json(text: str, kind: str) -> Table:
    """What `write_json` wrote of a "DFA" or a "MooreMachine"."""
    try:
        found = json.loads(checked_text(text, "An automaton in JSON"), object_pairs_hook=_without_repetition)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"An automaton is a JSON object. Received: {str(error)[:100]}. Pass what to_json gave."
        ) from None
    if not isinstance(found, Mapping) or found.get("format") != JSON_FORMAT + kind:
        raise ValueError(
            f'An automaton has the "format" {JSON_FORMAT}{kind}. Received: {text[:60]!r}. Pass what to_json gave.'
        )
    if found.get("version") != 1:
        raise ValueError(
            f"This version reads automata of version 1. Received: version {found.get('version')!r}. Install a newer "
            "keras_interp_rnn."
        )
    name = "accepting" if kind == "DFA" else "outputs"
    kinds = {"alphabet": list, "start": int, name: list, "transitions": list}
    wrong = [part for part, its in kinds.items() if not isinstance(found.get(part), its)]
    if wrong:
        raise ValueError(
            f"An automaton has {', '.join(kinds)}. Received: {', '.join(wrong)} missing or of another kind."
        )
    strays = sorted(found.keys() - {"format", "version", *kinds})
    if strays:
        raise ValueError(f"An automaton must have {', '.join(kinds)} and no more. Received: {strays}. Remove them.")
    table = Table(found["transitions"], found.get("accepting", []), found["start"], tuple(found["alphabet"]))
    return _fit_for_json(table if kind == "DFA" else table._replace(outputs=found["outputs"]))


PYTHON = '''\
"""A deterministic automaton of {states} states over {symbols} symbols."""

ALPHABET = {alphabet!r}
START, {constant} = {start}, {labels!r}
TRANSITIONS = (
{rows}
)
"""For each state the next one for each symbol; -1 where there is none."""

_COLUMN = {{symbol: i for i, symbol in enumerate(ALPHABET)}}


def {function}(word):
    """{says}. KeyError for a symbol outside the alphabet."""
    state = START
    for symbol in word:
        column = _COLUMN[symbol]
        state = TRANSITIONS[state][column] if state >= 0 else -1
    return {returned}
'''


def write_python(table: Table) -> str:
    """A module of its own."""
    _check_size(table)
    for symbol in table.alphabet:
        if type(symbol) not in (str, int, bytes):  # another class may write anything into the code
            raise ValueError(
                f"Symbols in Python code are strings, bytes or integers. Received: {symbol!r}. Rename them."
            )
    return PYTHON.format(
        states=len(table.transitions),
        symbols=len(table.alphabet),
        alphabet=tuple(table.alphabet),
        start=table.start,
        **_python_labels(table),
        rows="\n".join(f"    {tuple(row)!r}," for row in table.transitions),
    )


def _python_labels(table: Table) -> dict[str, Any]:
    """What code says of the last state."""
    if table.outputs is None:
        return {
            "constant": "ACCEPTING",
            "labels": frozenset(table.accepting),
            "function": "accepts",
            "says": "Whether a word, an iterable of symbols, is accepted",
            "returned": "state in ACCEPTING",
        }
    for output in table.outputs:
        if type(output) not in (str, int, bytes, bool):
            raise ValueError(
                f"Outputs in Python code are strings, bytes, integers or bools. Received: {output!r}. Rename them."
            )
    return {
        "constant": "OUTPUTS",
        "labels": tuple(table.outputs),
        "function": "output",
        "says": "The label of a word, an iterable of symbols",
        "returned": "OUTPUTS[state]",
    }


C = """\
/* A deterministic automaton of {states} states over {count} symbols.
 * {name}_{function}(word, length) is {says}, -1 if it has an id outside [0, {count}).
 * A word is an array of ids: {ids}.{legend}
 */
#include <stddef.h>

static const {kind} {name}_next[{rows_count}][{count}] = {{
{rows}
}};

static const {label_kind} {name}_{array}[{rows_count}] = {{{labels}}};

int {name}_{function}(const unsigned char *word, size_t length) {{
    {kind} state = {start};
    for (size_t i = 0; i < length; i++) {{
        if (word[i] >= {count}) return -1;
        state = {name}_next[state][word[i]];
    }}
    return {name}_{array}[state];
}}
"""


def write_c(table: Table, name: str, different: Sequence[Hashable] = ()) -> str:
    """A table and a loop; a missing transition leads to a last state that rejects.

    Args:
        different: the outputs of a Moore machine, each once, in the order of the numbers that stand for them.
    """
    _check_size(table)
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name):
        raise ValueError(f"A C function has an identifier for a name. Received: name={name!r}. Pass letters.")
    states, count = len(table.transitions), len(table.alphabet)
    if count > 255:
        raise ValueError(f"Ids in the C code are bytes: at most 255 symbols. Received: {count}. Use to_python.")
    sink = [[states] * count] if any(-1 in row for row in table.transitions) else []
    rows = [[target if target >= 0 else states for target in row] for row in table.transitions] + sink
    return C.format(
        states=states,
        count=count,
        name=name,
        ids=_numbered(table.alphabet),
        kind="unsigned char" if len(rows) <= 256 else "unsigned int",
        rows_count=len(rows),
        rows=",\n".join(f"    {{{', '.join(map(str, row))}}}" for row in rows),
        start=table.start,
        **_c_labels(table, len(rows), different),
    )


def _c_labels(table: Table, num_rows: int, different: Sequence[Hashable]) -> dict[str, str]:
    """What code says of the last state."""
    if table.outputs is None:
        return {
            "function": "accepts",
            "array": "accepting",
            "label_kind": "unsigned char",
            "says": "1 if the word is accepted, 0 if it is not",
            "legend": "",
            "labels": ", ".join(str(int(state in table.accepting)) for state in range(num_rows)),
        }
    place = {label: i for i, label in enumerate(different)}
    return {
        "function": "output",
        "array": "outputs",
        "label_kind": "unsigned char" if len(place) <= 256 else "int",
        "says": "the number of the word's label",
        "legend": f"\n * The labels are {_numbered(different)}.",
        "labels": ", ".join(str(place[output]) for output in table.outputs),
    }


def _numbered(things: Sequence[Hashable]) -> str:
    return ", ".join(f"{i} for {_in_a_comment(thing)}" for i, thing in enumerate(things))


def _in_a_comment(symbol: Hashable) -> str:
    """A symbol in printable ASCII that neither begins nor ends a comment."""
    return ascii(symbol).replace("*/", "* /").replace("/*", "/ *").replace("\\", "\\\\")


def checked_text(given: Any, what: str) -> str:
    """A text without the byte order mark of its file; ValueError for what is no text."""
    if not isinstance(given, str):
        raise ValueError(f"{what} is read from a string. Received: {type(given).__name__}. Pass the text of the file.")
    return given.removeprefix("\ufeff")


def _number(field: str) -> float:
    """NaN for what is no number."""
    try:
        return float(field)
    except ValueError:
        return math.nan


def _is_fraction(field: str) -> bool:
    """Whether a field is a number that is not written as an integer."""
    return not math.isnan(_number(field)) and not re.fullmatch(r"[-+]?\d+", field)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a name twice among {[name for name, _ in pairs][:8]}")
    return found


def _check_size(table: Table) -> None:
    entries = len(table.transitions) * len(table.alphabet)
    if entries > MAX_ENTRIES:
        raise ValueError(
            f"A table written as code has at most {MAX_ENTRIES:,} entries. Received: {entries:,}, "
            f"{len(table.transitions):,} states times {len(table.alphabet):,} symbols. Minimize it, or use to_json."
        )


def texts(given: Sequence[Hashable], what: str, is_bad: Any, kind: str = "symbol of the alphabet") -> list[str]:
    """Symbols, or outputs, as strings; ValueError if one is bad or two are the same."""
    names = [str(symbol) for symbol in given]
    bad = [name for name in names if is_bad(name)]
    if bad or len(set(names)) < len(names):
        raise ValueError(f"{what} cannot hold every {kind}. Received: {bad or names}. Rename them.")
    return names

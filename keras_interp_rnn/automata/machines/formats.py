"""Automata as text: AT&T tables, JSON, FlexFringe's JSON, Python and C; DOT is in `_dot.py`.

A reader refuses what it does not understand, and names the line or the edge; a writer refuses what its reader would
take for something else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from keras_interp_rnn._checks import c_identifier, invalid
from keras_interp_rnn.automata.machines._deterministic import Deterministic

NO_SYMBOL = re.compile(r"|ε|\\e|<eps>|<epsilon>|@0@|@_\w+_@|@[CDENPRU]\.[^@]+@")
"""Names that programs write for no symbol (epsilon), for any other symbol, or for a flag."""

JSON_FORMAT = "keras_interp_rnn."
"""Prefix of the name of the class."""

MAX_ENTRIES, MAX_READ = 250_000, 10_000_000
"""Maximum of states times symbols of a table written as code, and of one that is read."""


class Table(NamedTuple):
    """An automaton as its constructor takes it: `states` are those that accept, or the outputs of a Moore machine."""

    transitions: Any
    states: Any
    start: int
    alphabet: tuple[Hashable, ...]


class Edges:
    """Named states, numbered in the order in which they are first named, and their edges."""

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
                f"From a state of a deterministic automaton one edge must read a symbol. Received: {self.what}, "
                f"{where}: a second one from {source} with {symbol!r}. Determinize the automaton first."
            )

    def table(self, start: int, alphabet: Iterable[Hashable] | None) -> Table:
        found = sorted({symbol for _, symbol in self.edges})
        symbols = tuple(found) if alphabet is None else tuple(alphabet)
        names = texts(symbols, f"The alphabet of {self.what}")
        strays = sorted(set(found) - set(names))
        if strays or not symbols or not self.numbers:
            raise ValueError(
                "An automaton must have a state, and an alphabet with every symbol of its edges. Received: "
                f"{self.what} with {len(self.numbers)} states, alphabet {symbols!r}"
                f"{f', and edges with {strays}' if strays else ''}. Pass the alphabet."
            )
        if len(self.numbers) * len(symbols) > MAX_READ:
            raise ValueError(
                f"An automaton that is read must have at most {MAX_READ:,} states times symbols. Received: "
                f"{self.what} with {len(self.numbers):,} states and {len(symbols):,} symbols. Pass a smaller one."
            )
        rows = [[self.edges.get((state, name), -1) for name in names] for state in self.numbers.values()]
        return Table(rows, self.accepting, start, symbols)


def read_att(text: str, alphabet: Iterable[Hashable] | None) -> Table:
    """An acceptor as an AT&T table: lines `from to symbol [symbol] [weight]`, and `state [weight]` for accepting."""
    edges = Edges("an AT&T table")
    lines = [
        (number, line, line.split("\t") if "\t" in line else line.split())
        for number, line in enumerate(re.split("\r\n|\r|\n", checked_text(text, "An AT&T table")), start=1)
        if line.strip()
    ]
    # Programs write the symbol of every edge twice; or once, and then a fourth field is a weight. Three fields, or a
    # fourth that is a fraction, mean once; an integer may be the output of a transducer.
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
                f"A weight must be finite, as OpenFst writes Infinity for an absent edge. {received} Remove the line."
            )
        if len(row) <= 2:
            edges.accepting.append(edges.state(row[0]))
            continue
        if NO_SYMBOL.fullmatch(row[2]):
            raise ValueError(
                f"Every edge of a deterministic automaton must read a symbol. {received} Remove the epsilon "
                "transitions and flags first, and write an edge for each symbol of a wildcard."
            )
        edges.add(row[0], row[2], row[1], f"line {number}")
    return edges.table(0, alphabet)


def _check_for_json(symbols: Iterable[Any], outputs: Iterable[Any]) -> None:
    """Raises ValueError unless symbols are strings and integers, and outputs these or bools."""
    for symbol in symbols:
        if not isinstance(symbol, (str, int)) or isinstance(symbol, bool):
            raise ValueError(f"Symbols in JSON must be strings or integers. Received: {symbol!r}. Rename the symbols.")
    for output in outputs:
        if not isinstance(output, (str, int)):
            raise ValueError(f"Outputs in JSON must be strings, integers or bools. Received: {output!r}. Rename them.")


def write_json(automaton: Deterministic) -> str:
    """The automaton as a JSON object."""
    _check_for_json(automaton.alphabet, automaton.outputs)
    states = automaton._names.states
    values = getattr(automaton, states)
    values = sorted(values) if isinstance(values, frozenset) else values
    rows = ",\n    ".join(json.dumps(row) for row in automaton.transitions)
    return (
        f'{{\n  "format": {json.dumps(JSON_FORMAT + type(automaton).__name__)},\n  "version": 1,\n'
        f'  "alphabet": {json.dumps(automaton.alphabet)},\n'
        f'  "start": {automaton.start},\n  "{states}": {json.dumps(values)},\n'
        f'  "transitions": [\n    {rows}\n  ]\n}}\n'
    )


def read_json(text: str, kind: str, states: str) -> Table:
    """Reads what `write_json` wrote of the class `kind`, whose constructor's second argument is `states`."""
    found = _json(text, "Pass what to_json gave.")
    if not isinstance(found, Mapping) or found.get("format") != JSON_FORMAT + kind:
        raise ValueError(
            f'An automaton must have the "format" {JSON_FORMAT}{kind}. Received: {text[:60]!r}. Pass what to_json gave.'
        )
    if found.get("version") != 1:
        raise ValueError(
            f"An automaton must be of version 1. Received: version {found.get('version')!r}. Install a newer release."
        )
    kinds = {"alphabet": list, "start": int, states: list, "transitions": list}
    wrong = [part for part, kind in kinds.items() if not isinstance(found.get(part), kind)]
    if wrong:
        raise ValueError(
            f"An automaton must have {', '.join(kinds)}. Received: {', '.join(wrong)} missing or of another kind."
        )
    strays = sorted(found.keys() - {"format", "version", *kinds})
    if strays:
        raise ValueError(f"An automaton must have {', '.join(kinds)} and no more. Received: {strays}. Remove them.")
    _check_for_json(found["alphabet"], found[states])
    return Table(found["transitions"], found[states], found["start"], tuple(found["alphabet"]))


def read_flexfringe(text: str, alphabet: Iterable[Hashable] | None, accepted: str) -> Table:
    """The automaton that FlexFringe printed as JSON; a state accepts if most words that end there are accepted."""
    found = _json(text, "Pass the JSON file that FlexFringe wrote.")
    parts = {name: found.get(name) for name in ("nodes", "edges")} if isinstance(found, Mapping) else {}
    if not parts or not all(
        isinstance(part, list) and all(isinstance(e, Mapping) for e in part) for part in parts.values()
    ):
        raise ValueError(
            "An automaton of FlexFringe must be an object with the lists `nodes` and `edges`. Received: "
            f"{text.strip()[:60]!r}. Pass the JSON file that FlexFringe wrote."
        )
    edges = Edges("FlexFringe's JSON")
    of_type: dict[str, bool] = {}
    for place, node in enumerate(found["nodes"]):
        name, data = node.get("id"), node.get("data")
        counts = data.get("final_counts") if isinstance(data, Mapping) else None
        if (
            not _is_count(name)
            or str(name) in edges.numbers
            or not isinstance(counts, Mapping)
            or not all(map(_is_count, counts.values()))
        ):
            raise ValueError(
                "A state of FlexFringe's automaton must have an id of its own and the counts data.final_counts of the "
                f"words that end there. Received: nodes[{place}], {str(dict(node))[:80]}. Use a heuristic that counts "
                "labels, such as alergia or edsm."
            )
        state = edges.state(str(name))
        of_type |= dict.fromkeys(counts, True)
        if 2 * counts.get(accepted, 0) > sum(counts.values()):
            edges.accepting.append(state)
    if of_type and accepted not in of_type:
        raise invalid("accepted", f"one of the file's labels, {', '.join(map(repr, of_type))}", accepted)
    for place, edge in enumerate(found["edges"]):
        ends, symbol = [edge.get("source"), edge.get("target")], edge.get("name")
        where = f"edges[{place}], {str(dict(edge))[:80]}"
        if not isinstance(symbol, str) or not all(str(end) in edges.numbers for end in ends):
            raise ValueError(
                "An edge of FlexFringe's automaton must have the name of a symbol, and lead from one of its nodes to "
                f"another. Received: {where}. Print all states: with --printblue=1 and --printwhite=1."
            )
        edges.add(str(ends[0]), symbol, str(ends[1]), where)
    if "0" not in edges.numbers:
        raise ValueError(
            "An automaton of FlexFringe must have the node 0, its start. Received: none. Print all states."
        )
    return edges.table(edges.state("0"), alphabet)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _json(text: str, remedy: str) -> Any:
    """The content of a text in JSON, in which no object names a part twice."""
    try:
        return json.loads(checked_text(text, "An automaton in JSON"), object_pairs_hook=_without_repetition)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"An automaton must be a JSON object. Received: {str(error)[:100]}. {remedy}") from None


PYTHON = '''\
"""A deterministic automaton of {states} states over {symbols} symbols."""

ALPHABET = {alphabet!r}
START = {start}
OUTPUTS = {outputs!r}
TRANSITIONS = (
{rows}
)
"""For each state the next one for each symbol."""

_COLUMN = {{symbol: i for i, symbol in enumerate(ALPHABET)}}


def {question}(word):
    """The output of the state that a word, an iterable of symbols, leads to; KeyError for another symbol."""
    state = START
    for symbol in word:
        state = TRANSITIONS[state][_COLUMN[symbol]]
    return OUTPUTS[state]
'''


def write_python(automaton: Deterministic) -> str:
    """A Python module without imports."""
    _check_size(automaton)
    # The repr of any other class could be any code.
    for name, values, kinds in (
        ("Symbols", automaton.alphabet, (str, int, bytes)),
        ("Outputs", automaton.outputs, (str, int, bytes, bool)),
    ):
        for value in values:
            if type(value) not in kinds:
                known = ", ".join(kind.__name__ for kind in kinds)
                raise ValueError(f"{name} in Python code must be of {known}. Received: {value!r}. Rename them.")
    whole = automaton.complete()
    return PYTHON.format(
        states=len(whole),
        symbols=len(whole.alphabet),
        alphabet=whole.alphabet,
        start=whole.start,
        outputs=whole.outputs,
        question=whole._names.question,
        rows="\n".join(f"    {row!r}," for row in whole.transitions),
    )


C = """\
/* A deterministic automaton of {states} states over {count} symbols.
 * {name}_{question}(word, length) is the number of the word's label, or -1 if it has an id outside [0, {count}).
 * A word is an array of ids: {ids}.
 * The labels are {labels}.
 */
#include <stddef.h>

static const {kind} {name}_next[{states}][{count}] = {{
{rows}
}};

static const {label_kind} {name}_outputs[{states}] = {{{outputs}}};

int {name}_{question}(const unsigned char *word, size_t length) {{
    {kind} state = {start};
    for (size_t i = 0; i < length; i++) {{
        if (word[i] >= {count}) return -1;
        state = {name}_next[state][word[i]];
    }}
    return {name}_outputs[state];
}}
"""


def write_c(automaton: Deterministic, name: str) -> str:
    """C code, a table and a loop; a missing transition leads to a last state that rejects."""
    _check_size(automaton)
    c_identifier("name", name)
    count = len(automaton.alphabet)
    if count > 255:
        raise ValueError(
            f"Ids in C code are bytes, so there must be at most 255 symbols. Received: {count}. Use to_python."
        )
    whole = automaton.complete()
    index = {label: i for i, label in enumerate(whole.labels)}
    return C.format(
        states=len(whole),
        count=count,
        name=name,
        question=whole._names.question,
        ids=_numbered(whole.alphabet),
        labels=_numbered(whole.labels),
        kind="unsigned char" if len(whole) <= 256 else "unsigned int",
        label_kind="unsigned char" if len(index) <= 256 else "int",
        rows=",\n".join(f"    {{{', '.join(map(str, row))}}}" for row in whole.transitions),
        outputs=", ".join(str(index[output]) for output in whole.outputs),
        start=whole.start,
    )


def _numbered(names: Sequence[Hashable]) -> str:
    """The numbers of symbols or labels, in printable ASCII that neither begins nor ends a comment."""
    text = ", ".join(f"{i} for {name!a}" for i, name in enumerate(names))
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\\", "\\\\")


def checked_text(text: Any, what: str) -> str:
    """A text without the byte order mark of its file; raises ValueError if it is no string."""
    if not isinstance(text, str):
        raise ValueError(f"{what} must be read from a string. Received: {type(text).__name__}. Pass the file's text.")
    return text.removeprefix("\ufeff")


def _number(field: str) -> float:
    """A field as a float; NaN if it is no number."""
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


def _check_size(automaton: Deterministic) -> None:
    states, symbols = len(automaton), len(automaton.alphabet)
    if states * symbols > MAX_ENTRIES:
        raise ValueError(
            f"A table written as code must have at most {MAX_ENTRIES:,} entries. Received: {states * symbols:,}, "
            f"{states:,} states times {symbols:,} symbols. Minimize it, or use to_json."
        )


def texts(
    symbols: Sequence[Hashable], what: str, is_bad: Callable[[str], Any] | None = None, kind: str = "symbol"
) -> list[str]:
    """Symbols, or outputs, as strings; raises ValueError if one is bad or two are the same."""
    names = [str(symbol) for symbol in symbols]
    bad = list(filter(is_bad, names)) if is_bad else []
    if bad or len(set(names)) < len(names):
        raise ValueError(f"{what} cannot hold every {kind}. Received: {bad or names}. Rename them.")
    return names

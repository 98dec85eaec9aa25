"""Automata as text: JSON, Python and C. A reader refuses what it does not understand; DOT is in `dot.py`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from keras_interp_rnn._checks import c_identifier
from keras_interp_rnn._types import FiniteAutomaton

JSON_FORMAT = "keras_interp_rnn."
"""Prefix of the name of the class."""

MAX_ENTRIES = 250_000
"""Maximum of states times symbols of a table written as code."""


class Table(NamedTuple):
    """An automaton as its constructor takes it: `states` are those that accept, or the outputs of a Moore machine."""

    transitions: Any
    states: Any
    start: int
    alphabet: tuple[Hashable, ...]


def _check_for_json(symbols: Iterable[object], outputs: Iterable[object]) -> None:
    """Raises ValueError unless symbols are strings and integers, and outputs these or bools."""
    for symbol in symbols:
        if not isinstance(symbol, (str, int)) or isinstance(symbol, bool):
            raise ValueError(f"Symbols in JSON must be strings or integers. Received: {symbol!r}. Rename the symbols.")
    for output in outputs:
        if not isinstance(output, (str, int)):
            raise ValueError(f"Outputs in JSON must be strings, integers or bools. Received: {output!r}. Rename them.")


def write_json(table: Table, kind: str, states: str) -> str:
    """The automaton of a class, the second argument of whose constructor has this name, as a JSON object."""
    _check_for_json(table.alphabet, table.states)
    rows = ",\n    ".join(json.dumps(row) for row in table.transitions)
    return (
        f'{{\n  "format": {json.dumps(JSON_FORMAT + kind)},\n  "version": 1,\n'
        f'  "alphabet": {json.dumps(table.alphabet)},\n'
        f'  "start": {table.start},\n  "{states}": {json.dumps(table.states)},\n'
        f'  "transitions": [\n    {rows}\n  ]\n}}\n'
    )


def read_json(text: str, kind: str, states: str) -> Table:
    """Reads what `write_json` wrote."""
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


def write_python(automaton: FiniteAutomaton, question: str) -> str:
    """A Python module without imports of a complete automaton, with a function of this name."""
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
    return PYTHON.format(
        states=len(automaton),
        symbols=len(automaton.alphabet),
        alphabet=tuple(automaton.alphabet),
        start=automaton.start,
        outputs=tuple(automaton.outputs),
        question=question,
        rows="\n".join(f"    {row!r}," for row in automaton.transitions),
    )


C = """\
/* A deterministic automaton of {states} states over {count} symbols: {ids}.
 * {name}_reset(state) begins a word, {name}_step(state, symbol) reads a symbol, {name}_{question}(word, length) a word.
 * The last two return the number of the label of the word so far, or -1 for a symbol outside [0, {count}), which
 * leaves the state as it is. The labels are {labels}.
 */
#include <stddef.h>

enum {{ {symbols} }};
typedef {kind} {name}_state;

static const {kind} {name}_next[{states}][{count}] = {{
{rows}
}};

static const {label_kind} {name}_outputs[{states}] = {{{outputs}}};

void {name}_reset({name}_state *state) {{ *state = {start}; }}

int {name}_step({name}_state *state, int symbol) {{
    if (symbol < 0 || symbol >= {count}) return -1;
    *state = {name}_next[*state][symbol];
    return {name}_outputs[*state];
}}

int {name}_{question}(const unsigned char *word, size_t length) {{
    {name}_state state = {start};
    for (size_t i = 0; i < length; i++)
        if ({name}_step(&state, word[i]) < 0) return -1;
    return {name}_outputs[state];
}}
"""


def write_c(automaton: FiniteAutomaton, name: str, question: str) -> str:
    """C code, a table and a loop, of a complete automaton."""
    _check_size(automaton)
    c_identifier("name", name)
    count = len(automaton.alphabet)
    if count > 255:
        raise ValueError(
            f"Ids in C code are bytes, so there must be at most 255 symbols. Received: {count}. Use to_python."
        )
    index = {label: i for i, label in enumerate(automaton.labels)}
    written = [str(symbol) for symbol in automaton.alphabet]
    are_names = len({*written}) == count and all(re.fullmatch("[A-Za-z0-9_]+", text) for text in written)
    names = written if are_names else [f"number_{i}" for i in range(count)]
    return C.format(
        states=len(automaton),
        count=count,
        name=name,
        question=question,
        symbols=", ".join(f"{name}_symbol_{text} = {i}" for i, text in enumerate(names)),
        ids=_numbered(automaton.alphabet),
        labels=_numbered(automaton.labels),
        kind="unsigned char" if len(automaton) <= 256 else "unsigned int",
        label_kind="unsigned char" if len(index) <= 256 else "int",
        rows=",\n".join(f"    {{{', '.join(map(str, row))}}}" for row in automaton.transitions),
        outputs=", ".join(str(index[output]) for output in automaton.outputs),
        start=automaton.start,
    )


def _numbered(names: Sequence[Hashable]) -> str:
    """The numbers of symbols or labels, in printable ASCII that neither begins nor ends a comment."""
    text = ", ".join(f"{i} for {name!a}" for i, name in enumerate(names))
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\\", "\\\\")


def checked_text(text: object, what: str) -> str:
    """A text without the byte order mark of its file; raises ValueError if it is no string."""
    if not isinstance(text, str):
        raise ValueError(f"{what} must be read from a string. Received: {type(text).__name__}. Pass the file's text.")
    return text.removeprefix("\ufeff")


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a name twice among {[name for name, _ in pairs][:8]}")
    return found


def _check_size(automaton: FiniteAutomaton) -> None:
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

"""The page of an automaton that was found from words: a reader labels the words that would tell it from others.

The page holds the automaton, its questions, and the literals of Python and JSON for the symbols and labels.
static/labels.js takes the labels of these words, and of others that the reader types, and writes them as code, with
which `infer` goes on.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from keras_interp_rnn._results import View, visible
from keras_interp_rnn.automata.machines import MooreMachine, Word

KIND = "questions"
"""The name, in the page, of the only tag that it shows."""


def view_of_questions(
    dfa: MooreMachine, labels: Sequence[Hashable], questions: Sequence[Word], lead: str
) -> View | None:
    """The view; None if neither Python nor JSON has literals for the symbols and labels.

    Args:
        labels: of the words, in the order of `dfa.labels`. questions: the words to label. lead: of the page.
    """
    alphabet = dfa.alphabet
    forms = _forms(alphabet, labels)
    if not forms:
        return None
    place = {symbol: i for i, symbol in enumerate(alphabet)}
    names = [str(symbol) for symbol in alphabet]
    series: dict[str, Any] = {
        "alphabet": names if _can_be_typed(names) else [str(i) for i in range(1, len(names) + 1)],
        "typed": [*range(len(names))],
        "unknown": None,
        "frame": [[], []],
        "symbols": [*map(visible, names)],
        "letters": names if all(isinstance(symbol, str) and len(symbol) == 1 for symbol in alphabet) else None,
        "questions": [[place[symbol] for symbol in word] for word in questions],
        "transitions": [list(row) for row in dfa.transitions],
        "start": dfa.start,
        "outputs": [dfa.labels.index(output) for output in dfa.outputs],
        "labels": label_names(labels),
        "forms": forms,
        "steps": [0],
    }
    tag = {"kind": KIND, "series": series, "steps": {"0": {}}}
    data = {"views": {"labels": [KIND]}, "folders": [], "state": {"place": "labels"}, "runs": {"": {KIND: tag}}}
    return View("labels", data, lead=lead)


def label_names(labels: Sequence[Hashable]) -> list[str]:
    """The names of labels as the page shows them."""
    return ["reject", "accept"] if labels[0] is False else [visible(str(label)) for label in labels]


def _can_be_typed(names: Sequence[str]) -> bool:
    """Whether a typed text of the names determines the symbols: all are single characters, or have no blanks."""
    if len(set(names)) < len(names):
        return False
    return all(len(name) == 1 and name not in "\r\n" for name in names) or all(name.split() == [name] for name in names)


def _forms(*values: Iterable[object]) -> dict[str, dict[str, list[str]]]:
    """The literals of symbols and labels in each language that has literals for all of them."""
    symbols, labels = ([x.item() if isinstance(x, np.generic) else x for x in several] for several in values)
    forms = {}
    if all(map(_is_python, (*symbols, *labels))):
        forms["Python"] = {"symbols": [*map(repr, symbols)], "labels": [*map(repr, labels)]}
    if all(map(_is_json, (*symbols, *labels))):
        forms["JSON"] = {"symbols": [*map(json.dumps, symbols)], "labels": [*map(json.dumps, labels)]}
    return forms


def _is_python(value: object) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False


def _is_json(value: object) -> bool:
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))

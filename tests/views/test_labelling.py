"""The page on which words are labelled: its data, and how Python and JSON write symbols and labels."""

import ast
import itertools
import json

import numpy as np
import pytest

from keras_interp_rnn import automata
from keras_interp_rnn._results import as_html


def inferred(alphabet, labels=(False, True)):
    """The automaton of the number of second symbols, of as many labels, from words in which the third comes first."""
    one, two, first = alphabet
    words = [(first, *word) for n in range(6) for word in itertools.product((one, two), repeat=n)]
    return automata.infer(words, [labels[word.count(two) % len(labels)] for word in words], alphabet=alphabet)


def series_of(result):
    [tags] = result.page_view().data["runs"].values()
    [tag] = tags.values()
    return tag["series"]


@pytest.mark.core
@pytest.mark.parametrize(
    ("alphabet", "labels", "forms"),
    [
        ("abc", (False, True), ["Python", "JSON"]),
        (("open", "read it", ""), ("no", "yes"), ["Python", "JSON"]),
        ((0, 1, -7), ("none", "one", "two"), ["Python", "JSON"]),
        ((("x", 1), None, 1.5), (0, 1), ["Python"]),
        ((np.str_("a"), np.str_("b"), np.str_("'\n")), (np.int64(3), np.int64(4)), ["Python", "JSON"]),
        ((float("inf"), 2.0, 3.0), (False, True), []),
    ],
)
def test_symbols_and_labels_are_literals(alphabet, labels, forms):
    result = inferred(alphabet, labels)
    view = result.page_view()
    assert (view is None) == (not forms)
    assert ("<iframe" in as_html(result)) == bool(forms)
    if not forms:
        return
    series = series_of(result)
    assert list(series["forms"]) == forms
    for name, form in series["forms"].items():
        read = {"Python": ast.literal_eval, "JSON": json.loads}[name]
        assert [*map(read, form["symbols"])] == [*alphabet]
        assert [*map(read, form["labels"])] == [*labels]
    words = [tuple(result.dfa.alphabet[i] for i in word) for word in series["questions"]]
    assert words == [*result.questions]


@pytest.mark.core
@pytest.mark.parametrize(
    ("alphabet", "typed"),
    [
        ("ab ", ["a", "b", " "]),
        ("ab\n", ["1", "2", "3"]),
        ((10, 20, 30), ["10", "20", "30"]),
        (("open", "read", "x"), ["open", "read", "x"]),
        (("open", "read it", "x"), ["1", "2", "3"]),
        (("open", "read", ""), ["1", "2", "3"]),
        ((1, "1", 2), ["1", "2", "3"]),
    ],
)
def test_symbols_are_typed_by_name_or_by_number_if_names_do_not_tell_them_apart(alphabet, typed):
    series = series_of(inferred(alphabet))
    assert series["alphabet"] == typed
    assert series["letters"] == ([*alphabet] if isinstance(alphabet, str) else None)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ((False, True), ["reject", "accept"]),
        ((0, 1), ["0", "1"]),
        (("no", "yes"), ["no", "yes"]),
        (("none", "one", "two"), ["none", "one", "two"]),
    ],
)
def test_labels_are_the_users_and_the_page_has_those_of_the_automaton(labels, names):
    result = inferred("abc", labels)
    series = series_of(result)
    assert series["labels"] == names
    for word in itertools.product(range(3), repeat=4):
        state = series["start"]
        for symbol in word:
            state = series["transitions"][state][symbol]
        label = names[series["outputs"][state]]
        output = result.dfa.output("abc"[symbol] for symbol in word)
        assert label == names[result.dfa.labels.index(output)]
    first = "".join(result.questions[0])
    label, left = names[result.dfa.labels.index(result.dfa.output(first))], ' style="text-align:left"'
    assert f"<td>1</td><td{left}>{label}</td><td{left}>{first}</td>" in as_html(result)

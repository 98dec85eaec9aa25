"""The smallest edit that changes the label of a word, against all words and their distances by brute force."""

import itertools
import random

import numpy as np
import pytest

from keras_interp_rnn import automata
from keras_interp_rnn.automata import DFA, MooreMachine, smallest_edit, tomita
from tests.automata.machines import drawn


def edit_distance(one: str, other: str) -> int:
    """Levenshtein's distance, by the table of Wagner and Fischer."""
    row = np.arange(len(other) + 1)
    for i, x in enumerate(one):
        above, row = row, np.full(len(other) + 1, i + 1)
        for j, y in enumerate(other):
            row[j + 1] = min(above[j + 1] + 1, row[j] + 1, above[j] + (x != y))
    return int(row[-1])


@pytest.mark.parametrize("seed", range(4))
def test_no_word_of_another_label_is_nearer(seed):
    rng = random.Random(seed)
    for _ in range(10):
        machine = drawn(MooreMachine, rng, 5, "abc"[: rng.randint(1, 3)])
        word = "".join(rng.choices(machine.alphabet, k=rng.randint(0, 5)))
        every = ["".join(symbols) for n in range(8) for symbols in itertools.product(machine.alphabet, repeat=n)]
        for label in (None, *machine.labels):
            nearest = min(
                (
                    edit_distance(word, other)
                    for other in every
                    if (machine.output(other) == label if label else machine.output(other) != machine.output(word))
                ),
                default=None,
            )
            if nearest is None:
                continue
            edit = smallest_edit(machine, word, label=label)
            assert edit.distance == nearest == edit_distance(word, "".join(edit.edited))
            positions = [change.position for change in edit.changes]
            assert positions == sorted(positions)
            assert edit.label == machine.output(word)
            assert edit.new_label == machine.output(edit.edited)
            assert edit.new_label == label if label else edit.new_label != edit.label


def test_missing_transitions_reject():
    edit = smallest_edit(DFA([[1, -1], [-1, 0]], accepting={0}, alphabet="ab"), "abb")
    assert (edit.label, edit.new_label, edit.distance, edit.edited) == (False, True, 1, ("a", "b"))


def test_symbols_and_labels_of_any_kind():
    machine = MooreMachine([[0, 1], [1, 1]], ["normal", "alert"], alphabet=["login", 7])
    edit = smallest_edit(machine, ["login", 7, "login"])
    assert edit.changes[0] == ("delete", 1, 7, None)
    assert str(edit) == "'normal' in place of 'alert' after 1 edit: delete 7 at position 2."
    assert repr(smallest_edit(machine, [])) == (
        "'alert' in place of 'normal' after 1 edit: insert 7 before position 1."
    )


def test_an_edit_of_a_certified_network_changes_its_verdict():
    network = automata.compile(tomita(4))
    certificate = automata.certify(network, tomita(4))
    assert certificate.holds
    edit = smallest_edit(certificate, "1010001011")
    assert network.classify([edit.word, edit.edited]).tolist() == [False, True]
    assert edit.distance == 1


def test_a_certificate_that_does_not_hold_proves_no_edit():
    failed = automata.certify(automata.compile(tomita(1)), tomita(4))
    assert not failed.holds
    with pytest.raises(ValueError, match="A certificate must hold.*they differ on"):
        smallest_edit(failed, "0")


def test_long_words():
    word = "01" * 500
    edit = smallest_edit(tomita(7), word)
    assert tomita(7).accepts("".join(edit.edited))
    assert edit.distance == edit_distance(word, "".join(edit.edited))


@pytest.mark.parametrize(
    ("arguments", "options", "rule"),
    [
        ((None, "01"), {}, "`dfa` must be a DFA.*Received: None"),
        ((tomita(1), "0a"), {}, "over the alphabet.*'a'"),
        ((tomita(1), 3), {}, "must be a sequence of symbols"),
        ((tomita(1), "01"), {"label": "yes"}, "`label` must be one of False, True"),
        ((DFA([[0, 0]], accepting={0}), "01"), {}, "At least one word must have another label"),
    ],
)
def test_refusals(arguments, options, rule):
    with pytest.raises(ValueError, match=rule):
        smallest_edit(*arguments, **options)

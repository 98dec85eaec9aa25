"""Copies of words, words held out, and transitions that no word takes, in reports and drawings."""

import html
import itertools
import random
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from keras_interp_rnn import automata, views
from keras_interp_rnn._results import as_text
from keras_interp_rnn.automata import DFA, MooreMachine
from keras_interp_rnn.automata.inference import Inference, evidence_of
from keras_interp_rnn.automata.inference._sample import FEWEST, sample_of
from keras_interp_rnn.automata.learning import report_of
from keras_interp_rnn.automata.machines import counts_of_transitions
from keras_interp_rnn.automata.networks import TrainingReport
from tests.automata.machines import drawn, words


def test_a_word_has_the_label_of_most_of_its_copies():
    some = [*words("ab", 3), "a", "a", "a", "bb"]
    labels = [len(word) % 2 == 0 for word in words("ab", 3)] + [True, False, False, False]
    sample = sample_of(some, labels, None, 0, consistent=False, hold_out=0.0)
    assert sample.words == words("ab", 3)
    assert sample.alphabet == ("a", "b")
    assert sample.labels[sample.words.index(("a",))].item() is False
    assert sample.counts[sample.words.index(("a",))].tolist() == [3, 1]
    assert sample.labels[sample.words.index(("b", "b"))].item() is False  # as often True: the first of the classes
    even = DFA([[1, 1], [0, 0]], {0}, alphabet="ab")
    contradicted = sample.num_contradicted(sample.labels_by(even))
    assert {sample.words[row]: int(contradicted[row]) for row in np.flatnonzero(contradicted)} == {
        ("a",): 1,
        ("b", "b"): 1,
    }


def test_holds_out_words_of_every_label_and_of_all_lengths():
    some = words("ab", 8)
    labels = [("few" if word.count("a") == len(word) else "many", "more")[word.count("a") % 2] for word in some]
    for seed in range(5):
        sample = sample_of(some, labels, "ab", seed, consistent=True, hold_out=0.2)
        assert abs(sample.held_out.sum() - 0.2 * len(some)) <= 2
        for label, name in enumerate(sample.classes):
            lengths = np.array([len(word) for word, its in zip(some, labels, strict=True) if its == name])
            held_out = sample.held_out[sample.labels == label]
            if name == "few":
                assert len(held_out) == FEWEST
                assert not held_out.any()
            else:
                assert abs(held_out.sum() - 0.2 * len(held_out)) <= 2
                assert 0 < lengths[held_out].min() <= 5
                assert lengths[held_out].max() == 8


REPORT = TrainingReport(
    learned=True,
    network_accuracy=0.9767,
    automaton_accuracy=0.9767,
    held_out_accuracy=2 / 7,
    confidence=1.0,
    num_states=3,
    seconds=4.0,
    num_words=28,
    num_labels=519,
    num_held_out=7,
    num_transitions=81,
)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {},
            "learned from 28 different words (519 in all): automaton of 3 states, balanced accuracy 97.67%; held out 7",
        ),
        ({}, "; held out 7 words, right on 2; 81 of 81 transitions taken by your words; least"),
        ({"unsupported": ((0, "a"), (2, "b"))}, "; 79 of 81 transitions taken by your words; "),
        ({"num_held_out": 1, "held_out_accuracy": 1.0}, "; held out 1 word, right on 1; "),
        ({"num_held_out": 0, "held_out_accuracy": float("nan")}, "; held out no word; "),
        ({"num_held_out": 50, "held_out_accuracy": 0.98}, "; held out 50 words, right on 49 (89.4% to 99.9%); "),
        ({"num_contradicted": 2, "num_labels": 516}, "; contradicts 2 of 516 labels (0.39%; 0.05% to 1.39%); "),
        ({"network_accuracy": 0.9}, "balanced accuracy 97.67% (network 90.00%); "),
        ({"num_states": 1}, "automaton of 1 state, "),
        ({}, "; 1 attempt, 4 s"),
        ({"num_attempts": 2}, "; 2 attempts, 4 s"),
    ],
)
def test_a_report_states_its_evidence(fields, text):
    assert text in str(TrainingReport(**{**vars(REPORT), **fields}))


@pytest.fixture(scope="module")
def learned():
    """A network for words with a c at the start and nowhere else, with a report about them; and the words."""
    some = [("c", *word) for word in words("ab", 6)]
    labels = [word.count("b") % 2 == 0 for word in some]
    model = automata.compile(automata.infer(some, labels).dfa)
    model.report = report_of(model, sample_of(some, labels, None, 0, consistent=True))
    return model, some


def test_lists_transitions_that_no_word_takes(learned, tmp_path):
    model, some = learned
    report, found = model.report, automata.extract(model)
    machine = found.dfa.minimize()
    taken = {pair for word in some for pair in zip(machine.run(word), word, strict=False)}
    pairs = {(state, symbol) for state in range(len(machine)) for symbol in "abc"}
    assert set(report.unsupported) == pairs - taken != set()
    assert report.num_transitions == len(pairs)
    with_words = automata.extract(model, some)
    assert with_words.unsupported == found.unsupported
    assert with_words.support.sum() == sum(map(len, some))
    assert f"; {len(report.unsupported)} of {len(pairs)} transitions are taken by no word" in str(found)
    for name, text in (("found.svg", "(c)"), ("found.html", '"unsupported":["c"]')):
        views.save(found, tmp_path / name)
        assert text in (tmp_path / name).read_text(), name


@pytest.mark.parametrize("kind", [DFA, MooreMachine])
def test_drawings_dash_transitions_that_no_word_takes(kind):
    table = [[0, 1, 1], [1, 1, 1]]
    machine = kind(table, {1}, alphabet="abc") if kind is DFA else kind(table, "xy", alphabet="abc")
    pairs = [(0, "c"), (1, "a"), (1, "b"), (1, "c")]
    root = ET.fromstring(machine.to_svg(unsupported=pairs))
    dashed = [path for path in root.iter() if path.get("stroke-dasharray")]
    assert len(dashed) == 1
    assert {"a", "b (c)", "(a, b, c)"} <= {text.text for text in root.iter() if text.tag.endswith("text")}
    dot = machine.to_dot(unsupported=pairs)
    assert "dasharray" not in machine.to_svg()
    lines = [line for line in dot.splitlines() if "dashed" in line]
    assert lines[0] == '  0 -> 1 [label="c", style=dashed];'
    assert len(lines) == len(pairs)
    assert kind.from_dot(dot, **({} if kind is DFA else {"labels": "xy"})) == machine
    with pytest.raises(ValueError, match="a state and a symbol of this automaton. Received: unsupported with"):
        machine.to_dot(unsupported=[(2, "a")])


def test_a_drawing_has_how_often_words_take_its_edges():
    machine = DFA([[0, 1, 1], [1, 1, 1]], {1}, alphabet="abc")
    support = counts_of_transitions(machine, ["aab", "ba", "b" * 1200])
    drawing = machine.to_svg(unsupported=[(0, "c"), (1, "c")], support=support)
    texts = {text.text for text in ET.fromstring(drawing).iter()}
    assert {"a: 2", "b (c): 3", "a, b (c): 1,200"} <= texts
    with pytest.raises(ValueError, match=r"`support` must be of shape \(2, 3\). Received: support=\(2, 2\)"):
        machine.to_svg(support=[[1, 2], [3, 4]])


@pytest.mark.parametrize("seed", [0, 1, 6, 7])
def test_a_question_tells_from_an_automaton_that_fits_the_words_as_well(seed):
    """All tables with one transition changed are tried; sinks are states of the larger table."""
    rng = random.Random(seed)
    machine = drawn(DFA, rng, 5).minimize()
    some = [word for word in words("ab", 5) if rng.random() < 0.25]
    labels = [machine.accepts(word) for word in some]
    sample = sample_of(some, labels, "ab", 0, consistent=True)
    found = evidence_of(sample, machine)
    counts = {(state, symbol): 0 for state in range(len(machine)) for symbol in "ab"}
    for word in some:
        for edge in set(zip(machine.run(word), word, strict=False)):
            counts[edge] += 1
    n = len(machine)
    larger = [*map(list, machine.transitions), [n, n], [n + 1, n + 1]]
    candidates = []
    for state, column, target in itertools.product(range(n), range(2), range(n + 2)):
        table = [row[:] for row in larger]
        table[state][column] = target
        other = DFA(table, machine.accepting | {n + 1}, alphabet="ab")
        if all(other.accepts(word) == label for word, label in zip(some, labels, strict=True)):
            candidates.append(other)
    untaken = {edge for edge, count in counts.items() if count == 0}

    def rank(word):
        edges = [*zip(machine.run(word), word, strict=False)]
        differing = sum(other.accepts(word) != machine.accepts(word) for other in candidates)
        return sum(edge in untaken for edge in edges), -differing, len(word), word

    assert list(found["questions"]) == sorted({machine.difference(other) for other in candidates} - {None}, key=rank)
    assert not set(found["questions"]) & set(some)
    assert set(found["unsupported"]) == untaken
    assert set(found["rare"]) == {edge for edge, count in counts.items() if count in (1, 2)}


def test_the_question_that_tells_most_comes_before_shorter_ones():
    """One session has "e", after which no label tested anything; no session begins with any event but "a"."""
    truth = DFA.from_regex("a(b|c|d)*(e(b|c|d|e)*)?", "abcde").minimize()
    some = [("a", *rest) for n in range(4) for rest in itertools.product("bcd", repeat=n)]
    some += [(*word, "a", *rest) for word in some[:6] for rest in some[:3]] + [tuple("ae")]
    sample = sample_of(some, [truth.accepts(word) for word in some], "abcde", 0, consistent=True)
    found = evidence_of(sample, truth)
    trivial = [("b",), ("c",), ("d",), ("e",)]
    first = found["questions"][0]
    assert "e" in first
    assert len(first) > 1
    assert all(edge not in found["unsupported"] for edge in zip(truth.run(first), first, strict=False))
    assert all(found["questions"].index(word) > 0 for word in trivial if word in found["questions"])


def test_an_edge_that_few_words_take_is_named_however_often_they_take_it():
    truth = DFA([[1, 0, 0], [1, 0, 0]], {1}, alphabet=["E1", "E2", "E3"])
    some = [word for word in words(truth.alphabet, 5) if "E3" not in word]
    some += [("E1", *["E3"] * 5), ("E3",)]
    found = automata.infer(some, [truth.accepts(word) for word in some])
    assert found.dfa == truth
    assert found.support[:, 2].tolist() == [5, 1]
    assert found.rare == ((0, "E3"), (1, "E3"))
    first = str(found).splitlines()[0]
    assert "; only one or two words take E3 from state 0 to 0, E3 from state 1 to 0; to be labelled" in first
    assert repr(found) == first


def test_the_text_of_an_automaton_has_every_symbol_of_every_edge():
    alphabet = [f"E{i}" for i in range(50)]
    rows = [[1 if i in (3, *range(20, 46)) else 2 if i == 4 else 0 for i in range(50)], [1] * 50, [0, 1, *[2] * 48]]
    machine = MooreMachine(rows, ["no", "yes", "odd"], alphabet=alphabet)
    some = [["E3"], ["E4", "E1", "E1"], ["E20"], ["E4", "E2"]]
    support = np.array(counts_of_transitions(machine, some))
    untaken = [(state, alphabet[i]) for state, i in np.argwhere(support == 0)]
    result = Inference(automaton_accuracy=1.0, num_states=3, dfa=machine, method="merging", support=support)
    lines = [line.strip() for line in str(replace(result, unsupported=tuple(untaken))).splitlines()[1:]]
    assert max(map(len, lines)) <= 100
    text = " ".join(lines)
    names = ", ".join(symbol for i, symbol in enumerate(alphabet) if rows[0][i] == 0)
    assert f"state 0, start, output 'no' to 0 by ({names}): 0 times" in text
    assert "to 1 by every other symbol (25 of 27 taken by no word): 2 times to 2 by E4: 2 times" in text
    assert "state 1, output 'yes' to 1 by every symbol (49 of 50 taken by no word): 1 time" in text
    assert "to 0 by (E0): 0 times to 1 by E1: 1 time to 2 by every other symbol (47 of 48 taken by no word)" in text
    drawing = machine.to_svg(support=support, unsupported=untaken)
    assert f"<title>({names})</title>" in drawing
    assert html.escape(names) in replace(result, unsupported=tuple(untaken))._repr_html_().replace("\n        ", " ")


def test_a_missing_transition_is_no_other_symbol():
    machine = DFA([[0, 0, 0, 0, 0, -1], [0] * 6], {0}, alphabet="abcdef")
    assert as_text(machine).splitlines() == [
        "DFA: 2 states, 6 symbols; a word without a transition is rejected",
        "state 0, start, accepting",
        "    to 0 by a, b, c, d, e",
        "state 1, rejecting",
        "    to 0 by every symbol",
    ]


def test_an_edit_along_an_edge_that_one_word_takes_says_so():
    truth = DFA([[1, 0, 0], [0, 1, 1]], {1}, alphabet=["E1", "E2", "E37"])
    some = [word for word in words(truth.alphabet, 6) if "E37" not in word]
    some += [("E1", "E37")]
    found = automata.infer(some, [truth.accepts(word) for word in some])
    assert found.rare == ((1, "E37"),)
    assert found.unsupported == ((0, "E37"),)
    edited = automata.smallest_edit(found, ["E1", "E1", "E37"])
    rare = [edge for edge in zip(found.dfa.run(edited.edited), edited.edited, strict=False) if edge[1] == "E37"]
    assert edited.rare == tuple(rare) != ()
    state = rare[0][0]
    assert str(edited).endswith(
        f" Little evidence: the edited word takes E37 from state {state}, as fewer than 3 words do."
    )
    assert automata.smallest_edit(found.dfa, ["E1", "E1", "E37"]).rare == ()
    assert "evidence" not in str(automata.smallest_edit(found, ["E1", "E2"]))


def test_labels_of_questions_lead_to_the_language():
    truth = DFA([[0, 1, 2], [1, 0, 2], [2, 2, 2]], {0}, alphabet="abc")  # an even number of b, and no c
    some = list(words("ab", 4))
    found = automata.infer(some, [truth.accepts(word) for word in some], alphabet="abc")
    assert "; to be labelled next: 'c'" in str(found)
    assert "What should happen here?" in found._repr_html_()
    for _ in range(6):
        if not found.questions:
            break
        some += found.questions
        found = automata.infer(some, [truth.accepts(word) for word in some], alphabet="abc")
    assert found.dfa == truth.minimize()
    assert found.unsupported == ()
    assert found.support.sum() == sum(map(len, some))


def test_a_network_that_few_words_do_not_carry_has_not_learned():
    truth = automata.tomita(4)
    few = ["000", "00", "0", "1000", "1"]
    report = report_of(automata.compile(truth), sample_of(few, [*map(truth.accepts, few)], "01", 0, consistent=True))
    assert not report.learned
    assert report.automaton_accuracy == 1
    assert "NOT learned from 5 different words, as so few words do not carry the automaton" in str(report)

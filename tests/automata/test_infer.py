"""Automata from labelled words: which search finds them, when it ends, the evidence of the words, errors."""

import itertools
import math
import re
import sys
import time

import keras
import numpy as np
import pytest
import scipy.stats

from keras_interp_rnn import automata, views
from keras_interp_rnn.automata import DFA, MooreMachine, tomita
from keras_interp_rnn.automata.inference import (
    _deadline,
    _searches,
    _state_merging,
    evidence_of,
    from_words,
    sample_of,
)
from keras_interp_rnn.automata.inference._deadline import NEVER, Deadline, Limits
from keras_interp_rnn.automata.inference._prefix_tree import Machine, Words, description_length, is_shorter
from keras_interp_rnn.automata.inference._searches import fewest_bits, search
from keras_interp_rnn.automata.inference._state_merging import smallest_automaton
from tests.automata.machines import words
from tests.automata.networks import LABELS, MODULO_3, dfa_of, drawn, long_words


class NotAvailable:
    """As the NA of pandas: neither equal to anything nor different from it."""

    def __repr__(self):
        return "<NA>"

    def __ne__(self, other):
        return self

    def __bool__(self):
        raise TypeError


def outputs_of(truth, some):
    return [truth.output(word) for word in some]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.matrix) for seed in (1, 2))])
@pytest.mark.parametrize("labels", [(), LABELS], ids=["DFA", "MooreMachine"])
def test_merges_short_words_to_the_automaton(labels, seed):
    truth = drawn(np.random.default_rng(seed), 5, "ab", labels)
    some = words("ab", 8)
    found = automata.infer(some, outputs_of(truth, some), seed=seed)
    assert found.dfa == truth
    assert found.machine is found.dfa
    assert (found.method, found.contradicted, found.unsupported) == ("merging", (), ())
    assert (found.num_words, found.num_held_out, found.num_states) == (511, 51, len(truth))
    assert found.automaton_accuracy == found.held_out_accuracy == 1
    assert 0.8 < found.held_out_interval[0] < found.held_out_interval[1] == 1
    assert str(found).startswith(f"found by merging from 511 different words: automaton of {len(truth)} states, ")


def test_finds_rules_where_words_share_few_prefixes():
    truth = DFA.from_regex("(a|b|c)*", "abcd")  # merging would find it too, in a minute
    found = automata.infer(*long_words(np.random.default_rng(0), truth, 300), alphabet="abcd")
    assert found.method == "patterns"
    assert found.dfa.equivalent(truth)


def test_symbols_and_labels_may_be_anything_hashable():
    some = words([("x",), 1.5], 7)
    found = automata.infer(some, [(None, sum(symbol == 1.5 for symbol in word) % 3) for word in some])
    labels = [(None, i) for i in range(3)]
    assert found.dfa == MooreMachine([[1, 0], [2, 1], [0, 2]], labels, alphabet=found.dfa.alphabet)


def test_learns_a_label_of_a_single_word():
    some = words("01", 6)
    found = automata.infer(some, ["empty" if not word else "even" if len(word) % 2 == 0 else "odd" for word in some])
    assert outputs_of(found.dfa, ("", "0", "01")) == ["empty", "odd", "even"]


@pytest.mark.parametrize(
    ("truth", "noise", "known"),
    [
        (tomita(4), 0.02, True),
        (tomita(5), 0.07, False),
        (tomita(5), 0.0, False),
        (drawn(np.random.default_rng(10), 5, "01", LABELS), 0.02, True),
        pytest.param(drawn(np.random.default_rng(11), 5, "01", LABELS), 0.02, True, marks=pytest.mark.matrix),
    ],
)
def test_names_wrong_labels_and_estimates_their_fraction(truth, noise, known):
    rng = np.random.default_rng(100)  # another one than for the words held out
    some, labels = words("01", 9), truth.labels
    wrong = rng.random(len(some)) < noise
    noisy = [
        labels[(labels.index(label) + rng.integers(1, len(labels))) % len(labels)] if w else label
        for label, w in zip(outputs_of(truth, some), wrong, strict=True)
    ]
    found = automata.infer(some, noisy, label_noise=noise if known else None)
    assert found.method == "merging"
    assert found.dfa.equivalent(truth)
    assert found.contradicted == tuple(word for word, w in zip(some, wrong, strict=True) if w)
    assert found.label_noise == wrong.mean()
    exact = scipy.stats.binomtest(int(wrong.sum()), len(wrong)).proportion_ci(method="exact")
    np.testing.assert_allclose(found.label_noise_interval, exact, rtol=1e-6)
    assert (f"; contradicts {wrong.sum()} of 1,023 labels ({wrong.mean():.2%}; " in str(found)) == (noise > 0)


def test_rejects_an_automaton_that_contradicts_more_labels_than_may_be_wrong():
    some = words("ab", 7)
    wrong = np.random.default_rng(1).random(len(some)) < 0.1
    labels = np.array([("b", "b") not in itertools.pairwise(word) for word in some]) ^ wrong
    assert automata.infer(some, labels, label_noise=0.1).label_noise == wrong.mean()
    rule = (
        r"No automaton was found .* labels of 255 different words over 2 symbols and predicts words held out\. .*"
        r" Pass more words, short ones above all, or label_noise=None if more are wrong(, or a larger time_budget)?; or"
    )
    with pytest.raises(ValueError, match=rule):
        automata.infer(some, labels, label_noise=0.02, time_budget=6)


def test_copies_are_counted_but_are_no_evidence():
    some = words("ab", 5)
    labels = [word.count("a") % 3 == 1 for word in some]
    once, often = automata.infer(some, labels), automata.infer(some * 60, labels * 60)
    assert often.dfa == once.dfa
    assert (often.num_words, often.num_labels, often.num_held_out) == (63, 63 * 60, 6)
    assert often.held_out_interval == once.held_out_interval
    assert str(often).startswith("found by merging from 63 different words (3,780 in all): automaton of 3 states")
    assert repr(often).endswith("; held out 6 words, right on 6; 6 of 6 transitions taken by your words")


@pytest.mark.parametrize(
    ("labels", "accepted"),
    [
        ([True, False, False], True),
        ([np.True_, np.False_, np.False_], True),
        (np.array([[1], [0], [0]]), 1),
        ([1.0, 0, 0.0], 1),
        (np.array([2, 1, 1]), 2),
        (["No", "Yes", "Yes"], "Yes"),
        (np.array(["pos", "neg", "neg"]), "pos"),
        (keras.ops.convert_to_tensor([1, -1, -1]), 1),
        (np.array(["valid", "invalid", "invalid"], object), "valid"),
    ],
)
def test_one_of_two_labels_means_accepted(labels, accepted):
    labels = [*labels, labels[0]]
    sample = sample_of(["0", "1", "00", "11"], labels, "01", 0, consistent=True)
    assert sample.accepted == accepted
    assert sample.labels.tolist() == [label == accepted for label in labels]
    assert sample.labels.dtype == bool
    assert sample.classes == (False, True)


@pytest.mark.parametrize("labels", [["b", "a", "c"], np.array([7, 2, 9])])
def test_three_labels_are_places_in_their_order(labels):
    sample = sample_of(["0", "1", "00"], labels, "01", 0, consistent=True)
    assert sample.classes == tuple(sorted(labels))
    assert sample.labels.tolist() == [1, 0, 2]


def test_names_the_label_of_accepted_words():
    some = words("ab", 6)
    found = automata.infer(some, ["accept" if "bb" not in "".join(word) else "reject" for word in some])
    assert (found.accepted, found.dfa.accepts("ab"), found.dfa.accepts("abb")) == ("accept", True, False)
    assert "automaton of 3 states that accepts 'accept', " in str(found)


def test_a_deadline_passes_by_the_clock_or_by_computing():
    assert not NEVER.passed
    assert Deadline(time.monotonic() - 1).passed
    assert not Deadline(time.monotonic() + 1000, time.thread_time() + 1000).passed
    assert Deadline(computed=time.thread_time() - 1).passed
    deadline = Deadline(5.0, time.thread_time() + 1)
    assert deadline.within(1000) == deadline
    assert deadline.within(0.5).computed < deadline.computed
    limited = NEVER.within(0.2)
    time.sleep(0.3)  # is no computing
    assert not limited.passed
    while time.thread_time() < limited.computed:
        pass
    time.sleep(0.001)
    assert limited.passed


@pytest.mark.matrix
def test_a_few_rules_may_need_more_states_than_a_table_of_the_labels_pays_for():
    """The words without abab, bcbc and caca as subsequences."""
    forbidden = [(0, 1, 0, 1), (1, 2, 1, 2), (2, 0, 2, 0)]
    rng = np.random.default_rng(0)
    some = [tuple(rng.integers(6, size=rng.integers(12, 22)).tolist()) for _ in range(700)]

    def label(word):
        rests = [iter(word) for _ in forbidden]
        return not any(all(symbol in rest for symbol in p) for p, rest in zip(forbidden, rests, strict=True))

    labelled = Words(some, np.array([label(word) for word in some]).astype(np.int64), 6, 2)
    found, describes = search("patterns", labelled, Limits())
    assert describes
    assert not is_shorter(labelled.tree, found)
    dfa = dfa_of(found, range(6))
    assert all(dfa.accepts(word) == label(word) for word in rng.integers(6, size=(500, 25)).tolist())


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["a", "b", "c", "d"], "Every word must have a label. Received: 3 words and 4 labels. Pass one for each"),
        ([True, True, False], "at least two different ones of each. Received: 2 in it and 1 not. Pass more words"),
        (["yes"] * 3, "at least two different ones of each. Received: the label 'yes' alone"),
        (None, r"Every word must have a label.*\(Gold, 1967\). Received: labels=None. Pass words outside the language"),
        ([1.0, 0, float("nan")], "Every word must have a label. Received: the label nan. Leave out words"),
        (np.array([1.0, 0, np.nan]), "Received: the label nan"),
        ([True, False, None], "Every word must have a label. Received: the label None"),
        ([True, False, NotAvailable()], "Every word must have a label. Received: the label <NA>"),
        (["ham", "spam", "spam"], r"Received: 'ham' and 'spam'. Pass \[label == 'ham' for label in labels\], if that"),
        (["yes", 0, 0], "Received: 'yes' and 0. Pass"),
        ([[1], [0], [0]], r"A label must be one value for a word. Received: \[1\]. Pass numbers or strings"),
        (np.eye(3)[[0, 1, 1]], r"one value for a word. Received: an array of shape \(3,\). Pass the number of the"),
    ],
)
def test_rejects_labels_that_cannot_be_learned(labels, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        automata.infer(["0", "1", "00"], labels, alphabet="01")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("some", "labels", "alphabet", "sentence"),
    [
        (["0", "2"], [1, 0], "01", r"over the alphabet \('0', '1'\). Received: \('2',\), with '2'. Add the symbol"),
        (["0", "1"], [True, False], "00", "must hold at least one symbol, each once. Received: '0' 2 times"),
        (["0", "1"], [True, False], 3, "An alphabet must be a sequence of hashable symbols, .* Received: 3"),
        ([], [], "01", "at least two different ones of each. Received: none"),
        (
            ["0", "0", "1", "1", "00", "00", "11", "11"],
            [True, False] * 4,
            "01",
            r"both labels for 4 words: \('0',\), \('1',\), \('0', '0'\), \.\.\.\. Remove the wrong ones, or pass",
        ),
        (["0", "1", "00", "11", "0"], [1, 0, 1, 0, 0], "01", r"Received: both labels for 1 word: \('0',\)\. Remove"),
        (
            [*words("01", 4), "01", ("1",)],
            [*outputs_of(MODULO_3, words("01", 4)), "yes", "no"],
            "01",
            r"A word must have one label. .* several labels for 2 words: \('1',\), \('0', '1'\). Remove",
        ),
    ],
)
def test_rejects_words_that_cannot_be_learned_from(some, labels, alphabet, sentence):
    with pytest.raises(ValueError, match=sentence):
        automata.infer(some, labels, alphabet=alphabet)


@pytest.mark.parametrize("accepted", [6, 9, 12])
def test_labels_in_random_order_rarely_have_an_automaton_of_a_third_of_their_bits(accepted):
    """Counted from all automata of two states; of labels of less than 18 bits a third is less than one of them has."""
    some = [tuple(map(int, word)) for word in words("01", 5)][1:25]
    fitted = set()
    for table, outputs in itertools.product(np.ndindex(2, 2, 2, 2), ([0, 1], [1, 0])):
        tree = Words(some, np.zeros(len(some), np.int64), 2, 2).tree
        labels = np.array(outputs)[tree.states(np.array(table).reshape(2, 2))[tree.ends]]
        if labels.sum() == accepted:
            fitted.add(tuple(labels.tolist()))
    alone = math.log2(math.comb(len(some), accepted))
    third = description_length(2, 0, tree) < alone * _searches.MAX_DESCRIPTION
    assert third == (accepted > 6)
    assert not third or len(fitted) * 2**-alone < 2 ** (1 - 2 * alone / 3) < 1 / 2048


def test_says_at_once_that_labels_have_too_few_bits(monkeypatch):
    """24 sessions, 3 of them flagged: log2 C(24, 3) = 11 bits, and a rule on one of 27 symbols has 4.8 and saves 10."""
    monkeypatch.setattr(from_words, "first_found", None)
    sessions = [(f"E{i}", "E26") for i in range(24)]
    sentence = r"labels must have more than 14\.8 bits, .* Received: 24 different words, whose labels have 11\.0 bits\."
    with pytest.raises(ValueError, match=f"No automaton was found: {sentence} Pass more words"):
        automata.infer(sessions, [i < 3 for i in range(24)], alphabet=[f"E{i}" for i in range(27)])


def test_labels_of_few_bits_are_those_of_no_automaton_of_two_states():
    tree = Words([(0,), (1,)], np.array([0, 1]), 2, 2).tree
    assert fewest_bits(2) == description_length(2, 0, tree) == 6


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"label_noise": 0.5}, r"`label_noise` must be a number in \[0, 0.5\). Received: label_noise=0.5"),
        ({"max_work": 0}, "`max_work` must be a positive integer. Received: max_work=0"),
        ({"time_budget": math.inf}, "`time_budget` must be a positive number. Received: time_budget=inf"),
    ],
)
def test_rejects_invalid_settings(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        automata.infer(["0", "1", "00", "11"], [0, 1, 0, 1], **options)


def test_words_that_are_hard_to_predict_do_not_lose_an_automaton_of_a_short_description(monkeypatch):
    """The words held out are those that another automaton labels otherwise, which merging finds without them."""
    truth = DFA([[1, 0], [2, 0], [3, 1], [3, 4], [4, 0]], {0, 2, 3}, alphabet="ab")
    some = words("ab", 8)
    labels = outputs_of(truth, some)
    other = DFA([[1, 0], [2, 0], [3, 1], [3, 4], [4, 1]], {0, 2, 3}, alphabet="ab")
    hard = np.array([other.accepts(word) != label for word, label in zip(some, labels, strict=True)])
    sample = sample_of(some, labels, "ab", 0, consistent=True)._replace(held_out=hard)
    searched, first = [], Machine(np.array(other.transitions), np.array(other.outputs).astype(np.int64))
    monkeypatch.setitem(_searches.SEARCHES, "patterns", lambda *_: searched.append("patterns"))

    def merged(part, limits, start=None):
        return smallest_automaton(part, limits, start) if len(part) == len(some) else first

    monkeypatch.setitem(_searches.SEARCHES, "merging", merged)
    found = _searches.first_found(sample, Limits())
    assert found.automaton == truth
    assert found.held_out_right == 0
    assert not searched
    monkeypatch.setattr(_searches, "MAX_DESCRIPTION", 0.0)
    assert _searches.first_found(sample, Limits()) == _searches.NotFound("", len(found.automaton), 0)
    assert searched == ["patterns"]


def noisy_words():
    some = words("ab", 9)
    wrong = np.random.default_rng(0).random(len(some)) < 0.05
    return some, [(word.count("a") % 2 == 1) != w for word, w in zip(some, wrong, strict=True)]


@pytest.mark.parametrize("work", [300, 10**6])
def test_the_same_work_gives_the_same_result_whatever_the_clock_says(monkeypatch, work):
    def found():
        result = automata.infer(*noisy_words(), label_noise=0.05, max_work=work, time_budget=None)
        return result.dfa, result.method, result.cut_off, result.questions, result.held_out_accuracy

    first = found()
    clock = time.thread_time
    monkeypatch.setattr(time, "thread_time", lambda: 1000 * clock())  # a machine that is a thousand times slower
    assert found() == first
    assert first[2] == ("work" if work == 300 else "")


@pytest.mark.parametrize(("limit", "reason"), [({"max_work": 300}, "work"), ({"time_budget": 1.0}, "time")])
def test_a_result_says_that_a_search_was_cut_off(limit, reason, monkeypatch, tmp_path):
    if reason == "time":
        monkeypatch.setattr(_state_merging, "SECONDS", 1e-3)
        start = Machine(np.array([[1, 0], [0, 1]]), np.array([0, 1]))
        searched = _searches.SEARCHES["merging"]
        monkeypatch.setitem(_searches.SEARCHES, "merging", lambda w, limits, _: searched(w, limits, start) or start)
    found = automata.infer(*noisy_words(), label_noise=0.05, **limit)
    assert found.cut_off == reason
    ended = "time ended a search" if reason == "time" else "max_work ended a search"
    assert f"{ended} before it was complete: a better automaton may exist" in str(found)
    assert ended in found._repr_html_()
    views.save(found, tmp_path / "page.html")
    assert f"Not to the end: {ended}" in (tmp_path / "page.html").read_text()


def test_a_search_that_ends_by_itself_says_nothing_of_a_cut():
    some = words("ab", 7)
    for limit in ({}, {"max_work": 10**9}, {"time_budget": None}):
        found = automata.infer(some, [word.count("a") % 3 == 0 for word in some], **limit)
        assert found.cut_off == ""
        assert "ended" not in str(found)


def test_too_little_work_is_named_with_its_remedy():
    with pytest.raises(ValueError, match=r"cut off by max_work=1\..* a larger max_work"):
        automata.infer(*noisy_words(), label_noise=0.05, max_work=1)


def test_questions_come_from_where_contradicted_labels_lie():
    """The automaton takes two states for one, and the words that it contradicts say where."""
    some = [word for word in words("ab", 9) if word]
    labels = [word.count("a") % 4 == 3 for word in some]
    sample = sample_of(some, labels, "ab", 0, consistent=False, hold_out=0.0)
    merged = DFA([[1, 0], [2, 1], [0, 2]], {2}, alphabet="ab").minimize()  # by threes
    asked = evidence_of(sample, merged)["questions"]
    assert asked
    refuting = [word for word in asked[:10] if merged.accepts(word) != (word.count("a") % 4 == 3)]
    assert len(refuting) > 5


@pytest.mark.parametrize("budget", [5, 50, 150])
def test_the_time_budget_covers_the_reading_of_the_words(budget, monkeypatch):
    """By a clock that moves on by a second whenever it is read: in each of four passes over the 40 words."""
    clock = itertools.count()
    monkeypatch.setattr(_deadline.time, "monotonic", lambda: float(next(clock)))
    some = [[number % 7 for number in range(20 + i)] for i in range(40)]
    with pytest.raises(ValueError, match=f"`time_budget` must suffice to read the words. Received: .*={budget}. Pass"):
        automata.infer(some, [i % 2 == 0 for i in range(40)], time_budget=budget)
    assert 0.8 * budget < next(clock) <= budget + 2


def test_the_time_budget_is_not_waited_for_where_labels_have_too_few_bits(monkeypatch):
    monkeypatch.setattr(_deadline.time, "monotonic", lambda: 0.0)
    with pytest.raises(ValueError, match="labels must have more than"):
        automata.infer([[0, 1], [1, 2], [2], [3]], [True, False, True, False], time_budget=5)


@pytest.fixture
def clock_of_calls(monkeypatch):
    """A clock that moves on with every call of a function, by 10 us: the time that a search takes on any machine."""
    calls = [0]

    def count(frame, event, argument):
        calls[0] += event in ("call", "c_call")

    def now():
        return 1e-5 * calls[0]

    for name in ("monotonic", "thread_time"):
        monkeypatch.setattr(_deadline.time, name, now)
    sys.setprofile(count)
    yield now
    sys.setprofile(None)


@pytest.mark.parametrize("budget", [1.0, 2.0])
def test_the_time_budget_holds_for_many_symbols(budget, clock_of_calls):
    rng = np.random.default_rng(0)
    some = [tuple(rng.integers(0, 2000, size=20).tolist()) for _ in range(300)]
    started = clock_of_calls()
    with pytest.raises(ValueError, match=f"No automaton was found.* cut off by time_budget={budget:g}"):
        automata.infer(some, (rng.random(300) < 0.5).tolist(), time_budget=budget)
    assert 0.5 * budget < clock_of_calls() - started < 1.5 * budget


@pytest.mark.parametrize(
    "missing",
    [math.nan, np.float32("nan"), np.datetime64("NaT"), ("a", math.nan), ("a", ("b", math.nan)), NotAvailable()],
)
def test_what_is_missing_is_no_symbol(missing):
    some = [[missing if symbol == "a" else "b" for symbol in word] for word in words("ab", 5)]
    labels = [len(word) % 2 == 0 for word in some]
    for alphabet in (None, [missing, "b"]):
        with pytest.raises(ValueError, match="A symbol must be equal to itself"):
            automata.infer(some, labels, alphabet=alphabet)
    with pytest.raises(ValueError, match="A symbol must be equal to itself"):
        DFA([[0, 0]], {0}, alphabet=[missing, "b"])


@pytest.mark.parametrize("seed", [0, 1])
def test_answers_to_questions_never_lose_the_automaton(monkeypatch, seed):
    """Few words are held out here, and chance explains one or two errors if no search does better."""
    monkeypatch.setitem(_searches.SEARCHES, "patterns", lambda *_: None)
    rng = np.random.default_rng(seed)
    truth = drawn(rng, 6, "abc")
    some = words("abc", 4) + [tuple(rng.choice(list("abc"), rng.integers(5, 12)).tolist()) for _ in range(60)]
    for _ in range(8):
        found = automata.infer(some, outputs_of(truth, some))
        assert not found.contradicted
        if not found.questions:
            break
        some += found.questions
    assert not found.questions
    assert found.dfa == truth


def test_an_automaton_of_the_shortest_words_is_that_of_all_if_it_contradicts_none(monkeypatch):
    truth, read = drawn(np.random.default_rng(3), 5, "ab"), []

    def recorded(part, limits, start=None):
        read.append((len(part), max(map(len, part.words))))
        return smallest_automaton(part, limits, start)

    monkeypatch.setitem(_searches.SEARCHES, "merging", recorded)
    monkeypatch.setattr(_searches, "PART", 100)
    some = words("ab", 11)
    found = automata.infer(some, outputs_of(truth, some))
    assert found.dfa == truth
    assert read == [(100, 6)]
    assert found.held_out_accuracy == 1


@pytest.mark.parametrize("by", ["merging", "patterns"])
def test_of_all_parts_the_automaton_that_contradicts_fewest_words_remains(monkeypatch, by):
    truth = tomita(4)
    some = words("01", 9)
    every = Words([tuple(map(int, word)) for word in some], np.array(outputs_of(truth, some)).astype(np.int64), 2, 2)
    right = Machine(np.array(truth.transitions), np.array(truth.outputs).astype(np.int64))
    wrong = Machine(np.zeros((1, 2), np.int64), np.array([0]))
    better = Machine(right.table[:, [0, 0]], right.outputs)  # wrong on some words
    found = iter([better, None, wrong, right, wrong])
    starts = []
    monkeypatch.setitem(_searches.SEARCHES, by, lambda words, limits, start: starts.append(start) or next(found))
    monkeypatch.setattr(_searches, "PART", 10)
    assert _searches._on_growing_parts(by, every, Limits(), None) is (right if by == "merging" else better)
    assert starts == [None, *[better] * (3 if by == "merging" else 2)]


@pytest.mark.parametrize("seed", range(4))
def test_an_automaton_that_contradicts_a_few_words_is_repaired(monkeypatch, seed):
    """Where merging itself finds nothing."""
    monkeypatch.setattr(_state_merging, "merge_states", lambda *_, **__: None)
    rng = np.random.default_rng(seed)
    truth = drawn(rng, 6, "ab")
    some = words("ab", 8)
    every = Words([tuple(map("ab".index, word)) for word in some], np.array(outputs_of(truth, some), np.int64), 2, 2)
    table = np.array(truth.transitions)
    table[rng.integers(len(table)), 0] = rng.integers(len(table))
    start = Machine(table, np.array(truth.outputs).astype(np.int64))
    found = smallest_automaton(every, Limits(), start)
    assert every.error(found) == 0
    assert dfa_of(found, "ab").equivalent(truth)


@pytest.mark.parametrize(
    ("noise", "found", "time_budget", "remedy"),
    [
        (0.0, None, None, "label_noise if labels may be wrong"),
        (None, False, 1000, None),
        (0.01, False, 0.5, "label_noise=None if more are wrong"),
        (0.0, True, 0.5, "label_noise if labels may be wrong"),
    ],
)
def test_an_error_says_why_the_searches_ended_and_which_remedies_apply(monkeypatch, noise, found, time_budget, remedy):
    some = words("ab", 4)
    labels = [word.count("a") % 3 == 1 for word in some]
    machine = None if found is None else Machine(np.array([[0, 0]]), np.array([int(found)]))

    def searched(by):
        time.sleep(0.5 if time_budget == 0.5 else 0.0)
        return None if by == "patterns" else machine  # rules are found only where they describe the labels

    for by in _searches.SEARCHES:
        monkeypatch.setitem(_searches.SEARCHES, by, lambda *_, by=by: searched(by))
    with pytest.raises(ValueError, match="the labels of 31 different words over 2 symbols and predicts") as error:
        automata.infer(some, labels, label_noise=noise, time_budget=time_budget)
    text = str(error.value)
    ended = re.search(r" The searches ended after \d+ s; a larger time_budget would change nothing\. ", text)
    cut_off = time_budget == 0.5
    assert (" A search was cut off by time_budget=0.5. " in text, ended is not None) == (cut_off, not cut_off)
    assert ("or a larger time_budget; or train" in text) == cut_off
    wrong = sum(label != found for label in labels)
    assert (f" The best automaton, of 1 state, contradicts {wrong} words. Pass" in text) == (found is not None)
    assert remedy in text if remedy else "label_noise" not in text


def test_an_error_names_an_automaton_that_fits_and_predicts_too_little(monkeypatch):
    some = words("ab", 8)
    labels = [word.count("a") % 3 == 1 for word in some]
    monkeypatch.setattr(_searches, "MAX_DESCRIPTION", 0.0)
    monkeypatch.setattr(_searches, "MAX_HELD_OUT_ERRORS", -1.0)  # a perfect prediction is not enough
    with pytest.raises(
        ValueError, match=r"of 3 states, contradicts no word, but .* predicts too few of those held out"
    ):
        automata.infer(some, labels)

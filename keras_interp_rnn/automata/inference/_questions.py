"""Words whose labels would tell an automaton from others that contradict no more labels of a sample.

The others have one transition that leads elsewhere: to another state, or to a new one that is never left. One is a
candidate if it contradicts no more words. The shortest word on which it differs is a question: its label speaks for one
of the two. Transitions that few words take are tried first, as they are least certain. Those that no word takes may
lead to every state: they are tried in turn with the others, as they are many and tell less.

An automaton that contradicts labels may have one state for two. So candidates also split a state: a transition that
words of contradicted labels take leads to a copy of its target, which has another label, or one other transition. The
candidates that contradict fewest labels speak loudest against the automaton, and their questions come first.

A label tells most if words like those of the sample depend on it. So questions along transitions that words take come
next; of these, those on which most candidates differ from the automaton.

To ask where candidates disagree: Seung, Opper and Sompolinsky, "Query by committee", COLT 1992.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest

import numpy as np

from keras_interp_rnn._types import Ints
from keras_interp_rnn.automata.inference._deadline import Deadline, TimeUp
from keras_interp_rnn.automata.inference._prefix_tree import Words

Word = tuple[int, ...]
Edge = tuple[int, int]
Change = tuple[int, int, int]

END = -1
"""In place of the symbol after a transition, where a word ends."""
SECONDS_FOR_SPLITS = 0.5  # computing time for candidates that split a state

MAX_QUESTIONS = 100
"""Maximum number of words that are asked for a label."""


def words_taking(words: Words, table: Ints) -> dict[Edge, list[int]]:
    """The transition (state, symbol) of an automaton that starts in state 0 -> the words that take it."""
    rows, taking = table.tolist(), dict[Edge, list[int]]()
    for number, word in enumerate(words.words):
        for edge in dict.fromkeys(_path(rows, word)):
            taking.setdefault(edge, []).append(number)
    return taking


def questions(
    words: Words, table: Ints, outputs: Ints, taking: Mapping[Edge, list[int]], until: Deadline
) -> list[Word]:
    """Words that tell an automaton that starts in state 0 from its candidates, the most telling first.

    They are ordered by the labels that a candidate contradicts less than the automaton, the most first; then by the
    number of transitions on their path that no word takes, by the number of candidates that give them another label,
    the most first, by length and alphabet.

    Args:
        words: the sample. table: (n, K). outputs: (n,), the labels of states.
        taking: of `words_taking`. until: when to stop looking.
    """
    labels = np.concatenate([outputs, np.arange(words.num_labels)])
    sinks = np.repeat(np.arange(len(table), len(labels))[:, None], table.shape[1], axis=1)
    whole = np.concatenate([table, sinks])
    found = _of_splits(words, whole, labels, until.within(SECONDS_FOR_SPLITS).share(1 / 2))
    candidates: list[Change] = []
    for change in _candidates(words, whole, labels, len(table), taking, until):
        word = _difference(whole, _changed(whole, change), labels)
        if word is not None:
            candidates.append(change)
            found.setdefault(word, 0)
        if len(candidates) == MAX_QUESTIONS:
            break
    changes, rows = np.array(candidates, np.int64).reshape(-1, 3), whole.tolist()

    def rank(word: Word) -> tuple[int, int, int, int, Word]:
        untaken = sum(edge not in taking for edge in _path(rows, word))
        return -found[word], untaken, -_num_differing(whole, changes, labels, word), len(word), word

    return sorted(found, key=rank)[:MAX_QUESTIONS]


def _of_splits(words: Words, table: Ints, labels: Ints, until: Deadline) -> dict[Word, int]:
    """The questions of candidates that split a state, with the number of labels that they contradict less.

    Transitions, and the symbols after them, that most words of contradicted labels take come first.
    """
    rows, size = table.tolist(), len(table)
    is_wrong = labels[words.tree.states(table)[words.tree.ends]] != words.labels
    suspected, readers = Counter[tuple[Edge, int]](), dict[Edge, list[int]]()
    for number, word in enumerate(words.words if is_wrong.any() else ()):
        path = list(_path(rows, word))
        for edge in dict.fromkeys(path):
            readers.setdefault(edge, []).append(number)
        if is_wrong[number] and path:
            suspected.update({*zip(path, [*(symbol for _, symbol in path[1:]), END], strict=True)})
    best = dict[Word, int]()
    with contextlib.suppress(TimeUp):
        for (edge, symbol), _ in sorted(suspected.items(), key=lambda each: (-each[1], each[0])):
            numbers = np.array(readers[edge])
            some, wrong = words[numbers], int(is_wrong[numbers].sum())
            whole, named = np.concatenate([table, table[table[edge]][None]]), np.append(labels, labels[table[edge]])
            for target in range(words.num_labels) if symbol == END else range(size + 1):
                until.check(1)
                other, of_other = whole.copy(), named.copy()
                other[edge] = size
                if symbol == END:
                    of_other[size] = target
                else:
                    other[size, symbol] = target
                fewer = wrong - int((of_other[some.tree.states(other)[some.tree.ends]] != some.labels).sum())
                question = _difference(whole, other, named, of_other) if fewer > 0 else None
                if question is not None:
                    best[question] = max(fewer, best.get(question, 0))
    return best


def _path(rows: list[list[int]], word: Sequence[int]) -> Iterator[Edge]:
    """The transitions that a word takes."""
    state = 0
    for symbol in word:
        yield state, symbol
        state = rows[state][symbol]


def _changed(table: Ints, change: Change) -> Ints:
    """A table with one transition (state, symbol) that leads to another state."""
    state, symbol, target = change
    changed = table.copy()
    changed[state, symbol] = target
    return changed


def _candidates(
    words: Words, table: Ints, labels: Ints, num_states: int, taking: Mapping[Edge, list[int]], until: Deadline
) -> Iterator[Change]:
    """The changes of one transition that contradict no more words. Only the words that take it are read again."""

    def wrong(some: Words, table: Ints) -> int:
        return int((labels[some.tree.states(table)[some.tree.ends]] != some.labels).sum())

    edges = list(np.ndindex(num_states, table.shape[1]))
    taken = sorted(taking, key=lambda edge: (len(taking[edge]), edge))
    untaken = [edge for edge in edges if edge not in taking]
    for edge in filter(None, chain.from_iterable(zip_longest(taken, untaken))):
        readers = words[np.array(taking[edge])] if edge in taking else None
        allowed = wrong(readers, table) if readers else 0
        for target in range(len(table)):
            try:
                until.check(1)
            except TimeUp:
                return
            change = (*edge, target)
            if target == table[edge]:
                continue
            if readers is None or wrong(readers, _changed(table, change)) <= allowed:
                yield change


def _num_differing(table: Ints, changes: Ints, labels: Ints, word: Word) -> int:
    """The number of changes of a table, (changes, 3), with which a word has another label."""
    state, states = 0, np.zeros(len(changes), np.int64)
    for symbol in word:
        moved = (changes[:, 0] == states) & (changes[:, 1] == symbol)
        states = np.where(moved, changes[:, 2], table[states, symbol])
        state = table[state, symbol]
    return int((labels[states] != labels[state]).sum())


def _difference(one: Ints, two: Ints, labels: Ints, of_two: Ints | None = None) -> Word | None:
    """The first shortest word to which two tables give different labels; by default states have the same in both."""
    of_two = labels if of_two is None else of_two
    before: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {(0, 0): None}
    queue = deque(before)
    while queue:
        pair = queue.popleft()
        if labels[pair[0]] != of_two[pair[1]]:
            word = []
            while (step := before[pair]) is not None:
                pair, symbol = step
                word.append(symbol)
            return tuple(reversed(word))
        for symbol, following in enumerate(zip(one[pair[0]].tolist(), two[pair[1]].tolist(), strict=True)):
            if following not in before:
                before[following] = (pair, symbol)
                queue.append(following)
    return None

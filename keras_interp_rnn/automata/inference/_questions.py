"""Words whose labels would tell an automaton from others that give the words of a sample the same labels.

The others have one transition that leads elsewhere: to another state, or to a new one that is never left. One is a
candidate if it contradicts no more words. The shortest word on which it differs is a question: its label speaks for one
of the two. Transitions that few words take are tried first, as they are least certain. Those that no word takes may
lead to every state: they are tried in turn with the others, as they are many and tell less.

A label tells most if words like those of the sample depend on it. So questions along transitions that words take come
first; of these, those on which most candidates differ from the automaton.

To ask where candidates disagree: Seung, Opper and Sompolinsky, "Query by committee", COLT 1992.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain, zip_longest

import numpy as np

from keras_interp_rnn._types import Ints
from keras_interp_rnn.automata.inference._deadline import Deadline
from keras_interp_rnn.automata.inference._prefix_tree import Words

Word = tuple[int, ...]
Edge = tuple[int, int]
Change = tuple[int, int, int]

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

    They are ordered by the number of transitions on their path that no word takes, then by the number of candidates
    that give them another label, the most first, then by length and alphabet.

    Args:
        words: the sample. table: (n, K). outputs: (n,), the labels of states.
        taking: of `words_taking`. until: when to stop looking.
    """
    labels = np.concatenate([outputs, np.arange(words.num_labels)])
    sinks = np.repeat(np.arange(len(table), len(labels))[:, None], table.shape[1], axis=1)
    whole = np.concatenate([table, sinks])
    found: dict[Word, None] = {}
    candidates: list[Change] = []
    for change in _candidates(words, whole, labels, len(table), taking, until):
        word = _difference(whole, _changed(whole, change), labels)
        if word is not None:
            candidates.append(change)
            found[word] = None
        if len(found) == MAX_QUESTIONS:
            break
    changes, rows = np.array(candidates).reshape(-1, 3), whole.tolist()

    def rank(word: Word) -> tuple[int, int, int, Word]:
        untaken = sum(edge not in taking for edge in _path(rows, word))
        return untaken, -_num_differing(whole, changes, labels, word), len(word), word

    return sorted(found, key=rank)


def _path(rows: list[list[int]], word: Word) -> Iterator[Edge]:
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
            if until.passed:
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


def _difference(one: Ints, two: Ints, labels: Ints) -> Word | None:
    """The first shortest word to which two tables with the same labels of states give different labels."""
    before: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {(0, 0): None}
    queue = deque(before)
    while queue:
        pair = queue.popleft()
        if labels[pair[0]] != labels[pair[1]]:
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

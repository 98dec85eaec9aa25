"""Words whose labels would tell an automaton from others that give the words of a sample the same labels.

The others have one transition that leads elsewhere: to another state, or to a new one that is never left. One is a
candidate if it contradicts no more words. The shortest word on which it differs is a question: its label speaks for one
of the two. Transitions that few words take come first, as they are least certain; those that no word takes may lead to
every state.

To ask where candidates disagree: Seung, Opper and Sompolinsky, "Query by committee", COLT 1992.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from keras_interp_rnn._types import Ints
from keras_interp_rnn.automata.inference._deadline import Deadline
from keras_interp_rnn.automata.inference._prefix_tree import Words

Word = tuple[int, ...]

MAX_QUESTIONS = 100
"""Maximum number of words that are asked for a label."""


def questions(words: Words, table: Ints, outputs: Ints, support: Ints, until: Deadline) -> list[Word]:
    """The shortest words that tell an automaton that starts in state 0 from its candidates, the shortest first.

    Args:
        words: the sample. table: (n, K). outputs: (n,), the labels of states.
        support: (n, K), how often words take each transition. until: when to stop looking.
    """
    labels = np.concatenate([outputs, np.arange(words.num_labels)])
    sinks = np.repeat(np.arange(len(table), len(labels))[:, None], table.shape[1], axis=1)
    whole = np.concatenate([table, sinks])
    found: dict[Word, None] = {}
    for candidate in _candidates(words, whole, labels, support, until):
        word = _difference(whole, candidate, labels)
        if word is not None:
            found[word] = None
        if len(found) == MAX_QUESTIONS:
            break
    return sorted(found, key=lambda word: (len(word), word))


def _candidates(words: Words, table: Ints, labels: Ints, support: Ints, until: Deadline) -> Iterator[Ints]:
    """The tables with one transition changed that contradict no more words."""

    def wrong(changed: Ints) -> int:
        return int((labels[words.tree.states(changed)[words.tree.ends]] != words.labels).sum())

    allowed = wrong(table)
    for place in np.argsort(support, axis=None, kind="stable").tolist():
        state, symbol = divmod(place, support.shape[1])
        for target in range(len(table)):
            if until.passed:
                return
            if target == table[state, symbol]:
                continue
            changed = table.copy()
            changed[state, symbol] = target
            if not support[state, symbol] or wrong(changed) <= allowed:
                yield changed


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

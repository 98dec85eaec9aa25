"""Words to try an automaton on: all short words, the shortest of a language, and random words with a label."""

from __future__ import annotations

import itertools
import random
from collections.abc import Hashable, Sequence

from keras_interp_rnn.automata.machines.dfa import DFA
from keras_interp_rnn.automata.machines.graphs import reaching
from keras_interp_rnn.automata.machines.moore import MooreMachine
from keras_interp_rnn.automata.machines.words import Word


def short_words(alphabet: Sequence[Hashable], max_words: int, *, max_length: int | None = None) -> list[Word]:
    """All words up to the largest length of which there are at most `max_words`; always the empty word."""
    words: list[Word] = [()]
    lengths = itertools.count(1) if max_length is None else range(1, max_length + 1)
    for length in lengths if alphabet else ():
        if len(words) + len(alphabet) ** length > max_words:
            break
        words.extend(word for word in itertools.product(alphabet, repeat=length))  # Ctrl-C comes between two of them
    return words


def accepted_words(dfa: DFA, max_words: int, *, seed: int = 0) -> list[Word]:
    """The shortest words that an automaton accepts: all words of the first lengths, and a draw from the next."""
    words: list[Word] = []
    rng = random.Random(seed)
    length = last = 0
    # An infinite language has a word among any n consecutive lengths, for n states.
    while len(words) < max_words and length <= last + len(dfa):
        count = dfa.count(length)
        if count:
            last = length
        if count <= max_words - len(words):
            words += dfa.words(length)
        else:
            drawn: dict[Word, None] = {}
            while len(drawn) < max_words - len(words):
                drawn[dfa.sample(length, rng)] = None
            words += drawn
        length += 1
    return words


def random_word(automaton: MooreMachine, label: Hashable, rng: random.Random, max_length: int) -> Word | None:
    """A word with a label, by a random walk through states from which the label is reached; None if the walk fails."""
    goals = {state for state, output in enumerate(automaton.outputs) if output == label}
    open_states = reaching(automaton.transitions, goals)
    word: list[Hashable] = []
    state = automaton.start
    length = rng.randint(1, max_length)
    while state in open_states:
        options = [
            (symbol, target)
            for symbol, target in zip(automaton.alphabet, automaton.transitions[state], strict=True)
            if target in open_states
        ]
        if len(word) >= length and state in goals or not options or len(word) >= max_length:
            break
        symbol, state = rng.choice(options)
        word.append(symbol)
    return tuple(word) if state in goals else None

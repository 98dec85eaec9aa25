"""Automata of both kinds, drawn at random, and words for them to read."""

from __future__ import annotations

import itertools
import random
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from keras_interp_rnn.automata import DFA, MooreMachine

KINDS = (DFA, MooreMachine)
LABELS = ("x", "y", 3, ("a", 1), None)


def words(alphabet: Iterable[Hashable], longest: int) -> list[tuple]:
    """All words up to a length, the shortest first."""
    return [word for n in range(longest + 1) for word in itertools.product(alphabet, repeat=n)]


def drawn_words(alphabet: Sequence[Hashable], number: int = 200, longest: int = 12, seed: int = 0) -> list[tuple]:
    rng = random.Random(seed)
    return [tuple(rng.choice(alphabet) for _ in range(rng.randrange(longest))) for _ in range(number)]


@st.composite
def machines(draw, kind=None, largest=6, alphabet=None, labels=LABELS):
    """A machine of a kind, or of either; a DFA may lack transitions."""
    kind = kind or draw(st.sampled_from(KINDS))
    symbols = alphabet or draw(st.sampled_from(["a", "ab", "abc"]))
    n = draw(st.integers(1, largest))
    target = st.integers(-1 if kind is DFA else 0, n - 1)
    rows = draw(st.lists(st.tuples(*[target] * len(symbols)), min_size=n, max_size=n))
    output = st.booleans() if kind is DFA else st.sampled_from(labels)
    return kind._of(rows, draw(st.lists(output, min_size=n, max_size=n)), draw(st.integers(0, n - 1)), symbols)


def drawn(kind: Any, rng: random.Random, largest: int = 12, alphabet: Sequence[Hashable] = "ab") -> Any:
    """A machine without missing transitions; outputs are letters."""
    n = rng.randint(1, largest)
    rows = [[rng.randrange(n) for _ in alphabet] for _ in range(n)]
    outputs = [rng.random() < 0.5 if kind is DFA else rng.choice("xyz") for _ in rows]
    return kind._of(rows, outputs, 0, alphabet)

"""Automata read off state-regularized networks, and how far they agree with them.

Wang, Lawrence and Niepert, 2022, section 4.2: `counts` is algorithm 1, `mean_probability` eqs. 21 and 22. `exact` needs
no data: where the centroid is all that a network remembers, its transition under every symbol can be asked for.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._progress import say
from keras_interp_rnn._result import Sentence
from keras_interp_rnn.automata._network import CHUNK, Acceptor, open_acceptor, require_memoryless
from keras_interp_rnn.automata.dfa import DFA, MISSING
from keras_interp_rnn.automata.words import Word, WordEncoding, encoding_of

Array = NDArray[np.float64]

METHODS = ("exact", "counts", "mean_probability")


@dataclass(frozen=True, repr=False)
class Agreement(Sentence):
    """How many of some words a network and an automaton judge alike.

    Attributes:
        words: how many there were. agreeing: on how many both say the same.
        low, high: the exact 95 % interval (Clopper and Pearson) of the share, as if the words had been drawn. Where
            they are all there are, both are the share.
        disagreement: the shortest word on which they differ, or None.
        up_to: the length up to which they are all the words there are; None where words were drawn or given.
    """

    words: int
    agreeing: int
    low: float
    high: float
    disagreement: Word | None
    up_to: int | None = None

    @property
    def share(self) -> float:
        """NaN of no words."""
        return self.agreeing / self.words if self.words else math.nan


@dataclass(frozen=True, repr=False)
class Fidelity(Sentence):
    """Agreement with the network on three kinds of words."""

    short: Agreement
    long: Agreement
    searched: Agreement

    @property
    def perfect(self) -> bool:
        return all(part.agreeing == part.words for part in (self.short, self.long, self.searched))


@dataclass(frozen=True, eq=False, repr=False)
class Extraction(Sentence):
    """An automaton read off a network.

    Attributes:
        dfa: its states are the centroids that are reached, in the order in which the shortest words reach them.
        centroids: of each state, its centroid.
        support: (states, symbols): how often the transition was seen; 1 for `exact`, which sees each once.
        confidence: (states, symbols): share of the times at which the network took it (`counts`), its mean
            probability (`mean_probability`), or its probability alpha (`exact`). NaN where it was never seen.
        entropy: (states, symbols), nats: of alpha over the next centroids (`exact`), or of the shares of the times at
            which each followed. 0 where the network is the automaton. NaN where nothing was seen.
        unseen: (state, symbol) of which nothing was seen: missing in the automaton.
        start_confidence: alpha of the first state, after the start token.
        margins: (states,), what the head puts out for the state, less its middle: > 0 accepts. With `counts` and
            `mean_probability` the share of words ending there that were accepted, less 1/2; NaN where none ended.
        method: by which it was read off. network: what it was read off.
    """

    dfa: DFA
    centroids: tuple[int, ...]
    support: NDArray[np.int64]
    confidence: Array
    entropy: Array
    unseen: tuple[tuple[int, Hashable], ...]
    start_confidence: float
    margins: Array
    method: str
    network: Acceptor

    def fidelity(
        self, shortest: int = 2000, long: int = 200, longest: int = 1000, searched: int = 2000, seed: int = 0
    ) -> Fidelity:
        """How far the automaton and the network agree; in a terminal, with a line of progress.

        Args:
            shortest: at most so many words, the shortest ones, all of a length.
            long: random words, of lengths up to `longest`.
            searched: words looked at by a search that keeps what leads the network somewhere new.
            seed: of the random words and of the search.

        Raises:
            ValueError: if a number of words is below 0, or `longest` below 1 or above what the model reads.
        """
        for name, value, least in (("long", long, 0), ("longest", longest, 1), ("searched", searched, 0)):
            if value < least:
                raise ValueError(f"`{name}` must be at least {least}. Received: {name}={value}.")
        room = self.network.longest_word
        if room is not None and longest > room:
            raise ValueError(
                f"The model reads words of at most {room} symbols. Received: longest={longest}. Pass longest={room} or "
                "less, or give the model Input((None,))."
            )
        rng = random.Random(seed)
        alphabet = self.network.alphabet
        whole = short_words(alphabet, shortest, room)
        many = [tuple(rng.choices(alphabet, k=rng.randint(1, longest))) for _ in range(long)]
        # Random words of most languages are rejected early on: half of them from the automaton's own.
        accepted = [self._some_accepted(rng, longest) for _ in range(long // 2)]
        many[: len(accepted)] = [word if word is not None else many[i] for i, word in enumerate(accepted)]
        try:
            short = self._agreement(whole, "short words")
            short = replace(short, low=short.share, high=short.share, up_to=len(whole[-1]))
            drawn = self._agreement(many, "random long words")
            return Fidelity(short, drawn, self._agreement(self._search(searched, rng, room), "searched words"))
        finally:
            say("")

    def agreement(self, words: Sequence[Word]) -> Agreement:
        """On how many of these words the network and the automaton say the same."""
        return self._agreement(words)

    def _agreement(self, words: Sequence[Word], progress: str = "") -> Agreement:
        """With what the words are, a line of progress."""
        apart: list[Word] = []
        for first, last in _slices([len(word) for word in words]):
            if progress:
                say(f"fidelity: {progress}, {first:,} of {len(words):,}")
            some = words[first:last]
            automaton_says = np.array([self.dfa.accepts(word) for word in some])
            same = self.network.accepts(some) == automaton_says
            apart += [word for word, alike in zip(some, same, strict=True) if not alike]
        low, high = interval(len(words) - len(apart), len(words))
        return Agreement(len(words), len(words) - len(apart), low, high, min(apart, key=len, default=None))

    def _some_accepted(self, rng: random.Random, longest: int) -> Word | None:
        """A walk that stays where acceptance can still be reached."""
        alive = _alive(self.dfa)
        word: list[Hashable] = []
        state = self.dfa.start
        length = rng.randint(1, longest)
        while state in alive:
            options = [
                (s, t)
                for s, t in zip(self.dfa.alphabet, self.dfa.transitions[state], strict=True)
                if t != MISSING and t in alive
            ]
            if len(word) >= length and state in self.dfa.accepting or not options or len(word) >= longest:
                break
            symbol, state = rng.choice(options)
            word.append(symbol)
        return tuple(word) if state in self.dfa.accepting else None

    def _search(self, budget: int, rng: random.Random, room: int | None) -> list[Word]:
        """Words found by changing words that led the network somewhere new.

        New is a pair of a centroid and how sure the network was of it, or of two centroids after one another; so words
        that make the network hesitate breed. `room` is the length of the longest word that the model reads.
        """
        alphabet = self.network.alphabet
        corpus: list[Word] = [(), *((symbol,) for symbol in alphabet)]
        known: set[Any] = set()
        found: list[Word] = []
        while len(found) < budget:
            say(f"fidelity: looking for words, {len(found):,} of {budget:,}")
            words = [_changed(rng.choice(corpus), alphabet, rng)[:room] for _ in range(min(256, budget - len(found)))]
            found += words
            layer_trace = self.network.trace(words)
            alpha, centroid = layer_trace["alpha"], layer_trace["centroid"]
            sure = np.nan_to_num(alpha.max(axis=-1))
            level = np.round(-2 * np.log10(np.maximum(1 - sure, 1e-7))).astype(int)
            for i, word in enumerate(words):
                read = centroid[i] >= 0
                signs: set[Any] = set(zip(centroid[i][read].tolist(), level[i][read].tolist(), strict=True))
                signs |= {("then", *pair) for pair in itertools.pairwise(centroid[i][read].tolist())}
                if not signs <= known:
                    known |= signs
                    corpus.append(word)
        return found


def extract(
    model: Any,
    data: Iterable[Iterable[Hashable]] | None = None,
    method: str = "exact",
    alphabet: WordEncoding | Mapping[Hashable, int] | None = None,
    start: int | None = None,
    end: int | None = None,
) -> Extraction:
    r"""The automaton of a state-regularized network: its states are centroids.

    Args:
        model: of `train_recognizer`, or any model of ids, one state-regularized layer and a head of one output.
        data: words, for "counts" and "mean_probability".
        method: "exact": $\delta(i, a) = \arg\max_j \alpha_j$ after centroid i has read a, k times |alphabet| steps of
            the cell; for networks whose centroid is all they remember. "counts": the transition taken most often
            (algorithm 1). "mean_probability": the one with the highest mean probability (eqs. 21, 22).
        alphabet: a `WordEncoding`, or symbol -> id, for a model that does not carry it.
        start, end: ids of the tokens around every word, beside symbol -> id.

    Returns:
        The automaton with its support and what it agrees on.

    Raises:
        ValueError: for an unknown method; for "exact" on a network with a memory; for the others without data; if the
            alphabet does not fit; if the model has no such layer or head.

    Reference: Wang, Lawrence and Niepert, 2022, section 4.2.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}. Received: {method!r}.")
    acceptor = open_acceptor(model, encoding_of(alphabet, start, end))
    if method == "exact":
        require_memoryless(acceptor)
        return exact(acceptor)
    try:
        words = [tuple(word) for word in data] if data is not None else []
    except TypeError:
        raise ValueError(f"data are words, sequences of symbols. Received: data={data!r}.") from None
    if not words:
        raise ValueError(f"method={method!r} counts what a network does on words. Received: no data. Pass words.")
    return _from_data(acceptor, words, method)


def exact(acceptor: Acceptor) -> Extraction:
    """What `extract` reads off a network without memory, from one step of the cell for each centroid and symbol."""
    centroids, features = acceptor.centroids(), acceptor.features()
    alphas = np.stack([acceptor.transitions(centroids, features[i]) for i in acceptor.encoding.codes], axis=1)
    first = acceptor.initial()
    margins = acceptor.decision_values(centroids)
    table = alphas.argmax(axis=-1)
    whole = DFA(table.tolist(), np.flatnonzero(margins > 0).tolist(), int(first.argmax()), acceptor.alphabet)
    order = _met(whole)
    confidence = alphas.max(axis=-1)[order]
    return Extraction(
        whole.reachable(),
        tuple(order),
        np.ones(confidence.shape, np.int64),
        confidence,
        _entropy(alphas[order]),
        (),
        float(first.max()),
        margins[order],
        "exact",
        acceptor,
    )


def _from_data(acceptor: Acceptor, words: list[Word], method: str) -> Extraction:
    k, symbols = len(acceptor.centroids()), acceptor.alphabet
    column = {symbol: c for c, symbol in enumerate(symbols)}
    taken = np.zeros((k, len(symbols), k))
    weight = np.zeros((k, len(symbols), k))
    ends = np.zeros((k, 2))
    starts = np.zeros(k)
    start_alpha = 0.0
    for first in range(0, len(words), 512):
        some = words[first : first + 512]
        found = acceptor.trace(some)
        centroid, sure = found["centroid"], np.nan_to_num(found["alpha"].max(axis=-1))
        accepted = acceptor.accepts(some)
        skip = 0 if acceptor.encoding.start is None else 1
        for row, word in enumerate(some):
            at = -1
            if skip:
                at = int(centroid[row, 0])
                starts[at] += 1
                start_alpha = float(sure[row, 0])
            for t, symbol in enumerate(word, start=skip):
                to = int(centroid[row, t])
                if to < 0:
                    break
                if at >= 0:
                    taken[at, column[symbol], to] += 1
                    weight[at, column[symbol], to] += sure[row, t]
                else:
                    starts[to] += 1
                at = to
            else:
                ends[at, int(accepted[row])] += 1
    scores = taken if method == "counts" else np.divide(weight, taken, out=np.zeros_like(weight), where=taken > 0)
    seen = taken.sum(axis=-1)
    table = np.where(seen > 0, scores.argmax(axis=-1), MISSING)
    ended = ends.sum(axis=-1)
    margins = np.divide(ends[:, 1], ended, out=np.full(k, np.nan), where=ended > 0) - 0.5
    accepting = np.flatnonzero(np.nan_to_num(margins, nan=-1) > 0)
    whole = DFA(table.tolist(), accepting.tolist(), int(starts.argmax()), symbols)
    order = _met(whole)
    rows, columns = np.indices(seen.shape)
    best = scores[rows, columns, np.maximum(table, 0)]
    confidence = best / np.maximum(seen, 1) if method == "counts" else best
    confidence = np.where(seen > 0, confidence, np.nan)[order]
    shares = np.divide(taken, seen[..., None], out=np.full_like(taken, np.nan), where=seen[..., None] > 0)
    unseen = tuple((i, symbols[c]) for i, s in enumerate(order) for c in range(len(symbols)) if not seen[s, c])
    return Extraction(
        whole.reachable(),
        tuple(order),
        seen[order].astype(np.int64),
        confidence,
        _entropy(shares[order]),
        unseen,
        start_alpha,
        margins[order],
        method,
        acceptor,
    )


def _entropy(shares: Array) -> Array:
    """Nats, of distributions in the last axis."""
    return -(shares * np.log(np.maximum(shares, np.finfo(np.float64).tiny))).sum(axis=-1)


def interval(agreeing: int, words: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of Clopper and Pearson for a fraction; the whole of [0, 1] for no words."""
    from scipy.stats import binomtest  # half a second, for those who ask

    if not words:
        return 0.0, 1.0
    bounds = binomtest(agreeing, words).proportion_ci(level, method="exact")
    return float(bounds.low), float(bounds.high)


def _met(dfa: DFA) -> list[int]:
    """States in the order of `reachable`."""
    order = [dfa.start]
    for state in order:
        order += [t for t in dict.fromkeys(dfa.transitions[state]) if t != MISSING and t not in order]
    return order


def _alive(dfa: DFA) -> set[int]:
    """States from which some word is accepted."""
    alive = set(dfa.accepting)
    while True:
        more = {s for s, row in enumerate(dfa.transitions) if s not in alive and alive.intersection(row)}
        if not more:
            return alive
        alive |= more


def short_words(alphabet: Sequence[Hashable], most: int, longest: int | None = None) -> list[Word]:
    """The shortest words, all of a length or none: at most so many, and the empty one, up to a length if given."""
    found: list[Word] = [()]
    length = 1
    # Without symbols there is no other word. With one or more, every round adds a word, so that the bound is reached.
    while alphabet and len(found) + len(alphabet) ** length <= most and (longest is None or length <= longest):
        found += itertools.product(alphabet, repeat=length)
        length += 1
    return found


def words_of(dfa: DFA, most: int, seed: int = 0) -> list[Word]:
    """The shortest words that an automaton accepts, at most so many: whole lengths, and a draw from the next."""
    found: list[Word] = []
    rng = random.Random(seed)
    length = last = 0
    # In a language without end, as many lengths as there are states do not pass without a word.
    while len(found) < most and length <= last + len(dfa):
        count = dfa.count(length)
        if count:
            last = length
        if count <= most - len(found):
            found += dfa.words(length)
        else:
            drawn: dict[Word, None] = {}
            while len(drawn) < most - len(found):
                drawn[dfa.sample(length, rng)] = None
            found += drawn
        length += 1
    return found


def _slices(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Words from one to before the other, of at most `CHUNK` symbols together, or one word."""
    first = symbols = 0
    for last, length in enumerate(lengths):
        if symbols + length > CHUNK and last > first:
            yield first, last
            first, symbols = last, 0
        symbols += length
    if len(lengths) > first:
        yield first, len(lengths)


def _changed(word: Word, alphabet: tuple[Hashable, ...], rng: random.Random) -> Word:
    """The word with one to three changes: symbols put in, taken out, replaced, or stretches said again."""
    letters = list(word)
    for _ in range(rng.randint(1, 3)):
        place = rng.randint(0, len(letters))
        kind = rng.randrange(4)
        if kind == 0 or not letters:
            letters.insert(place, rng.choice(alphabet))
        elif kind == 1:
            del letters[place - 1]
        elif kind == 2:
            letters[place - 1] = rng.choice(alphabet)
        else:
            stretch = letters[max(0, place - rng.randint(1, 8)) : place]
            letters[place:place] = stretch * rng.randint(1, 6)
    return tuple(letters[:300])

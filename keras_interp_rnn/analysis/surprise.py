r"""How surprising each event of a session is to a network, or a stochastic automaton, that predicts the next one.

The surprise of an event is -ln p(event | events before it), in nats; over a session it sums to -ln p(session). For an
automaton of probabilities, with the states as rows and $\omega' = (1 - \sum_x A_x)^{-1} \omega$,

    p(x | w) = a A_x w' / a w',    p(end | w) = a w / a w',    a = initial A_{w_1} ... A_{w_t}.

After an event that it never saw where it comes, such an automaton goes on from the state under which the events that
follow are likeliest, so that one wrong event is one surprise. Of a session with such events that is the path with the
largest probability, where each of them may lead to any state (Viterbi).

Where e was expected and x came, the log-odds ln p(e | w) / p(x | w) are a difference of two logits. A network that is
affine in its state splits it exactly among the events before (`analysis.contributions`); for any other, and for an
automaton, the share of an event is by how much the log-odds fall if that event is left out, which need not sum.

The anomaly of a session by its likelihood under a model of normal ones: Chandola, Banerjee and Kumar, "Anomaly
detection for discrete sequences: a survey", IEEE Transactions on Knowledge and Data Engineering 24, 2012.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from keras_interp_rnn._arrays import check_finite
from keras_interp_rnn._checks import choice, integer, integers
from keras_interp_rnn._network import (
    AffineReading,
    GivenAlphabet,
    check_logits,
    gives_probabilities,
    predict_on_batch,
    read_text,
    resolve_alphabet,
)
from keras_interp_rnn._program.graph import is_stateful
from keras_interp_rnn._results import (
    Column,
    Result,
    Table,
    because,
    counted,
    heat_map,
    nth,
    quoted,
    symbol_name,
    texts,
)
from keras_interp_rnn._types import AnyArray, Array, Ints, LinearAutomaton, TextModel
from keras_interp_rnn.analysis.isan.contributions import contributions
from keras_interp_rnn.analysis.weighted.forms import word_ids

BY = ("mean", "total", "largest")
BATCH = 256
"""Maximum number of sessions that are read at a time."""
EXPLAINED = 0.1
"""Largest probability of an event that is explained as surprising."""
IMPOSSIBLE = 1e-12
"""The probability that an impossible event has where paths through it are compared."""


SESSIONS, FULL_COLOUR = 24, 6.0
"""Maximum number of sessions in a drawing, and the nats of an event in full colour."""


@dataclass(frozen=True, eq=False, repr=False)
class SurprisingEvent(Result):
    """A surprising event, with the share of each earlier event in the log-odds of the expected event against it.

    Attributes:
        session, position: which session, and which of its events, from 0.
        symbols: (position,), the earlier events.
        came, expected: the event that came, and the most probable event.
        nats: the surprise of the event that came. expected_nats: the surprise of the expected event.
        shares: (position,), the share of each earlier event in the log-odds ln(p(expected) / p(came)).
        rest: the part of the log-odds due to no event, such as the bias of a readout; NaN for shares by deletion.
        residual: the error of the sum of shares and rest; NaN for shares by deletion, which need not sum.
        method: "contributions", which are exact, or "deletion": the decrease of the log-odds without the event.
        names: of the events, for views.

    Units: nats.

    Example: see `surprise`.
    """

    session: int
    position: int
    symbols: Ints
    came: int
    expected: int
    nats: float
    expected_nats: float
    shares: Array
    rest: float
    residual: float
    method: str
    names: tuple[str, ...]

    @property
    def log_odds(self) -> float:
        """ln(p(expected) / p(came)), in nats."""
        return self.nats - self.expected_nats

    def name(self, symbol: int) -> str:
        """The displayed name of an event."""
        return symbol_name(self.names, symbol)

    def table(self) -> Table:
        """The event that came and the expected one; a row for each event before, with its share in the log-odds."""
        expected, came = self.name(self.expected), self.name(self.came)
        names, shares = [self.name(int(symbol)) for symbol in self.symbols], self.shares.tolist()
        place = f"{nth('event', self.position)} of {nth('session', self.session)}"
        caption = (
            f"{place}: {came!r} came ({math.exp(-self.nats):.2g}), {expected!r} was expected "
            f"({math.exp(-self.expected_nats):.1%}){because(names, shares, 'nats', towards=1)}"
        )
        if not names:
            return Table(caption)
        exact = f"residual {self.residual:.1e}" if self.method == "contributions" else "they need not sum"
        places = [*range(1, len(names) + 1)]
        if not math.isnan(self.rest):
            names, shares, places = ["no event", *names], [self.rest, *shares], [None, *places]
        heading = f"nats for {expected!r}"
        sums = self.method == "contributions"
        return Table(
            caption,
            (
                Column("position", places, form="d"),
                texts("event", names),
                Column(heading, shares, form="+.3f", sums=sums),
            ),
            (f"shares of the events before, by {self.method}: {exact}",),
            bars=heading,
            scale=1.0,
            base=len(names) - len(self.symbols),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Surprise(Result):
    """The surprise of every event of every session.

    Attributes:
        symbols: for each session its events (T,).
        nats: for each session the surprise of each event (T,); NaN if the network does not predict the event, as for
            the first event without a start token.
        expected: for each session the most probable event at each position (T,); -1 if there is no prediction.
        expected_nats: for each session the surprise that the expected event would have had (T,).
        events: the most surprising events, of a probability of at most 0.1, with the shares of the events before them:
            the first of each session, the most surprising first, then the second of each session, and so on.
        names: of the events, for views. An automaton has one more event, the "end" of a session.

    Units: nats.

    Example: see `surprise`.
    """

    title: ClassVar[str] = "Surprising sessions"

    symbols: tuple[Ints, ...]
    nats: tuple[Array, ...]
    expected: tuple[Ints, ...]
    expected_nats: tuple[Array, ...]
    events: tuple[SurprisingEvent, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        """Number of sessions."""
        return len(self.symbols)

    def scores(self, by: str = "mean") -> Array:
        """(sessions,), how surprising each session is; 0 if none of its events is predicted.

        Args:
            by: "mean" over its events; "total", which is -ln of the session's probability if it has no event that an
                automaton never saw there; or "largest".
        """
        choice("by", by, BY)
        predicted = [row[~np.isnan(row)] for row in self.nats]
        if by == "largest":
            return np.array([row.max(initial=0.0) for row in predicted])
        return np.array([row.sum() / (max(len(row), 1) if by == "mean" else 1) for row in predicted])

    def ranked(self, by: str = "mean") -> Ints:
        """(sessions,), the indices of the sessions, from 0, the most surprising first; `by` as for `scores`."""
        return np.argsort(-self.scores(by), kind="stable")

    def name(self, symbol: int) -> str:
        """The displayed name of an event."""
        return symbol_name(self.names, symbol)

    def table(self) -> Table:
        """A row for each session, the most surprising first, with its most surprising event; below, why these came."""
        means, totals, order = self.scores(), self.scores("total"), self.ranked().tolist()
        most = f", the most surprising one {means[order[0]]:.3f}: {nth('session', order[0])}" if order else ""
        found = f"{means.mean():.3f} nats per event in the mean{most}" if order else "no session"
        return Table(
            f"{counted(len(self), 'session')}, {found}",
            (
                Column("session", [i + 1 for i in order], form="d"),
                Column("events", [len(self.symbols[i]) for i in order], form="d"),
                Column("mean", [float(means[i]) for i in order], "nats per event", ".3f"),
                Column("total", [float(totals[i]) for i in order], "nats", ".3f"),
                texts("its most surprising event", [self._largest(i) for i in order]),
            ),
            parts=tuple(event.table() for event in self.events),
            drawings=(self.drawing,) if order else (),
        )

    def _largest(self, session: int) -> str:
        """The most surprising event of a session in words; "" if none is predicted."""
        nats = self.nats[session]
        if not np.isfinite(nats).any():
            return ""
        place = int(np.nanargmax(nats))
        came, expected = (self.name(int(rows[session][place])) for rows in (self.symbols, self.expected))
        return f"{nth('event', place)}, {quoted(came)}" + (f" for {quoted(expected)}" if came != expected else "")

    def drawing(self) -> str:
        """The surprise of each event, a row for each session, the most surprising first."""
        order = self.ranked()[:SESSIONS].tolist()
        steps = max((len(self.nats[i]) for i in order), default=0)
        values = np.full((steps, len(order)), np.nan)
        for column, i in enumerate(order):
            values[: len(self.nats[i]), column] = self.nats[i]
        names = [nth("session", i) for i in order]
        return heat_map(values, names, column="event", least=FULL_COLOUR, labelled=True)


def surprise(
    network: Any,
    sequences: Iterable[object],
    *,
    alphabet: GivenAlphabet | None = None,
    num_events: int = 5,
) -> Surprise:
    r"""How surprising each event of each session is, in nats, and why the most surprising events are.

    Args:
        network: a model that reads ids (batch, time) and predicts the next id, by logits or a softmax over all K ids,
            either at each step from the steps so far, (batch, time, K), or after the last step, (batch, K). Or an
            automaton of probabilities, as from `WeightedAutomaton.from_words`, which also predicts the end of a
            session. After an event that it never saw where it comes (one that is impossible there, or has the least
            probability, below 0.1, and keeps the state) it goes on from the state under which all events that follow
            are likeliest; if none is better, from its own. A network goes on with its own state.
        sequences: the sessions, of any lengths: lists of ids, or of symbols if the ids have names.
        alphabet: names of the ids; by default those that the model carries, or the alphabet of the automaton.
        num_events: maximum number of events that are explained, none of a probability above 0.1. No session has a
            second one before each has its first.

    Returns:
        `Surprise`; `print` lists the most surprising sessions and events, and `views.save` makes a page of them.

    Raises:
        ValueError: if there is no session, or one without events; if the network has other outputs, such as sigmoids,
            reads later events or is stateful; if an automaton does not give probabilities; if an event is not in the
            alphabet.

    Units: nats.
    Exactness: an automaton and contributions are computed in float64, the latter with a residual. A model predicts in
        its own dtype.
    Example:

    >>> from keras_interp_rnn import automata
    >>> normal = [["open", "read", "close"]] * 60 + [["open", "close"]] * 40
    >>> automaton = automata.WeightedAutomaton.from_words(normal, alphabet=["open", "read", "close"])
    >>> found = surprise(automaton, [["open", "read", "close"], ["open", "read", "read"]])
    >>> found.ranked().tolist(), [found.name(symbol) for symbol in found.expected[1]]
    ([1, 0], ['open', 'read', 'close', 'end'])

    Reference: Chandola, Banerjee and Kumar, "Anomaly detection for discrete sequences: a survey", IEEE Transactions on
        Knowledge and Data Engineering 24, 2012.
    """
    integer("num_events", num_events, 0)
    predictor = (_Automaton if isinstance(network, LinearAutomaton) else _Model)(network, alphabet)
    if isinstance(sequences, str):
        raise ValueError(f"`sequences` must be several sessions. Received: {sequences!r:.60}. Pass [sequence] for one.")
    texts = [predictor.ids(session.tolist() if isinstance(session, np.ndarray) else session) for session in sequences]
    empty = next((i for i, text in enumerate(texts, start=1) if not len(text)), 0)
    if empty or not texts:
        received = f"session {empty} of {len(texts):,}, which has none" if empty else "no session"
        raise ValueError(
            f"There must be a session, and every session must have an event. Received: {received}. Leave out those "
            "without events."
        )
    texts = [predictor.whole(text) for text in texts]
    logs = predictor.logs(texts)
    rows = [np.arange(len(text)) for text in texts]
    nats = [-log[row, text] for log, row, text in zip(logs, rows, texts, strict=True)]
    known = [~np.isnan(each) for each in nats]
    expected = [np.where(there, log.argmax(axis=1), -1) for log, there in zip(logs, known, strict=True)]
    least = [-log[row, best] for log, row, best in zip(logs, rows, expected, strict=True)]
    strange = []
    for i, (high, low) in enumerate(zip(nats, least, strict=True)):
        places = np.flatnonzero((high > low) & (high >= -math.log(EXPLAINED)))  # not NaN
        odds = high[places] - low[places]
        order = np.argsort(-odds, kind="stable")
        strange += [(rank, -odds[k], i, int(places[k])) for rank, k in enumerate(order.tolist())]
    events = []
    for _, _, i, t in sorted(strange)[:num_events]:
        came, best = int(texts[i][t]), int(expected[i][t])
        shares, rest, residual, method = predictor.shares(texts[i], t, best)
        both = float(nats[i][t]), float(least[i][t])
        event = (i, t, texts[i][:t], came, best, *both, shares, rest, residual, method, predictor.names)
        events.append(SurprisingEvent(*event))
    return Surprise(tuple(texts), tuple(nats), tuple(expected), tuple(least), tuple(events), predictor.names)


Shares = tuple[Array, float, float, str]
"""The shares of the events before, the share of no event, the residual and the method."""


class _Predictor(ABC):
    """A model or an automaton that predicts the next event; logarithms are NaN where none is predicted."""

    names: tuple[str, ...] = ()

    @abstractmethod
    def ids(self, session: object) -> Ints:
        """The events (T,) of a session."""

    def whole(self, text: Ints) -> Ints:
        """A session with its end, if the predictor knows ends."""
        return text

    @abstractmethod
    def logs(self, texts: Sequence[Ints]) -> list[Array]:
        """For each text (T,) the logarithms (T, K) of the probabilities at each place, given the events before it."""

    @abstractmethod
    def at(self, texts: Sequence[Ints], place: int) -> list[Array]:
        """The logarithms (K,) before the last `place` events of each text, NaN if those before cannot be read."""

    def shares(self, text: Ints, place: int, expected: int) -> Shares:
        """By how much the log-odds of an event of a text fall if one before it is left out."""
        texts = [text, *(np.delete(text, before) for before in range(place))]
        with np.errstate(invalid="ignore"):  # infinity less infinity
            odds = np.array([log[expected] - log[text[place]] for log in self.at(texts, len(text) - place)])
            return odds[0] - odds[1:], math.nan, math.nan, "deletion"


class _Automaton(_Predictor):
    """An automaton of probabilities; its sessions end."""

    def __init__(self, automaton: LinearAutomaton, alphabet: object) -> None:
        if alphabet is not None:
            raise ValueError(
                "`alphabet` must be None for an automaton, which has its own. Received: an automaton and `alphabet`. "
                "Leave it out."
            )
        self.initial, self.transitions, final = (
            np.asarray(array, np.float64) for array in (automaton.initial, automaton.transitions, automaton.final)
        )
        self.alphabet, self.end = automaton.alphabet, len(self.transitions)
        self.names = (*map(str, range(self.end) if self.alphabet is None else self.alphabet), "end")
        one = final.ndim == 1
        self.whole_words = np.asarray(automaton.prefix_sums().final, np.float64)
        total = float(self.initial @ self.whole_words) if one else math.nan
        if not abs(total - 1) < 1e-6:
            received = f"values that sum to {total:.6g}" if one else f"{final.shape[1]} values a word"
            raise ValueError(
                f"The values of an automaton must be probabilities of words, which sum to 1. Received: {received}. "
                "Pass WeightedAutomaton.from_words(...), or divide `final` by the sum."
            )
        self.nexts = np.concatenate([self.transitions @ self.whole_words, final[None]]).T
        self.unseen: NDArray[np.bool_] | None = None
        if min(array.min() for array in (self.initial, self.transitions, final)) >= 0:  # the states are meaningful
            with np.errstate(all="ignore"):  # 0 / 0, in states that no word leaves to its end
                shares = np.nan_to_num(self.nexts / self.whole_words[:, None])
                self.chances = np.nan_to_num(self.transitions * self.whole_words / self.whole_words[:, None])
            weights = np.concatenate([self.transitions.sum(axis=2), final[None]]).T
            keeps = weights[:, :-1] == np.diagonal(self.transitions, axis1=1, axis2=2).T
            keeps = np.column_stack([keeps, np.zeros(len(keeps), bool)])  # an end keeps no state
            rarest = (weights == weights.min(axis=1, keepdims=True)) & (shares < EXPLAINED)
            self.shares_of_states, self.unseen = shares, (weights == 0) | (rarest & keeps)

    def ids(self, session: object) -> Ints:
        return word_ids(session, self.alphabet, self.end)

    def whole(self, text: Ints) -> Ints:
        return np.append(text, self.end)

    def logs(self, texts: Sequence[Ints]) -> list[Array]:
        return [self._logs(text) for text in texts]

    def at(self, texts: Sequence[Ints], place: int) -> list[Array]:
        return [self._logs(text)[-place] for text in texts]

    def _logs(self, text: Ints) -> Array:
        """The logarithms (T, K + 1) at each place of a text with its end."""
        found = np.empty((len(text), self.end + 1))
        state, later = self.initial, None
        for step, symbol in enumerate(text):
            shares = state @ self.nexts
            if shares.min() < -1e-9 * shares.max():
                raise ValueError(
                    "The values of an automaton must be probabilities of words. Received: a negative one after "
                    f"{step} events. Learn it by WeightedAutomaton.from_words, whose values are probabilities."
                )
            with np.errstate(divide="ignore"):
                found[step] = np.log(shares.clip(0) / shares.clip(0).sum())
            if step + 1 == len(text):
                break
            unseen = self.unseen is not None and bool(self.unseen[state > 0, symbol].all())
            following = state @ self.transitions[symbol]
            size = float(following @ self.whole_words)
            state = following / size if size > 0 else state  # what is impossible is read as if it had not come
            if unseen:
                later = self._likelihoods(text) if later is None else later
                best = int(later[step + 1].argmax())
                if later[step + 1, best] > (1 + 1e-9) * float(state * self.whole_words @ later[step + 1]):
                    state = np.eye(len(state))[best] / self.whole_words[best]
        return found

    def _likelihoods(self, text: Ints) -> Array:
        """How likely the events from each place on are from each state (T, n), each row but for a factor.

        After an event that is unseen in its state, the state is the one from which the following events are likeliest.
        """
        assert self.unseen is not None
        found = np.empty((len(text), len(self.initial)))
        following = np.ones(len(self.initial))
        for step in range(len(text) - 1, -1, -1):
            symbol = text[step]
            jumps = np.maximum(self.shares_of_states[:, symbol], IMPOSSIBLE) * following.max()
            if symbol == self.end:
                found[step] = jumps
            else:
                found[step] = np.where(self.unseen[:, symbol], jumps, self.chances[symbol] @ following)
            following = found[step] = found[step] / found[step].max()
        return found


class _Model(_Predictor):
    """A Keras model, whose sessions have the ends that the model knows, if any."""

    def __init__(self, model: object, alphabet: object) -> None:
        if not isinstance(model, TextModel):
            raise ValueError(f"`network` must be a model or an automaton. Received: {model!r}. Put the layer into one.")
        check_finite(model)
        if is_stateful(model):
            raise ValueError(
                f"A model must read each session from the start. Received: {model.name}, which carries its state over "
                "batches (stateful=True). Rebuild it without stateful, and give it the same weights."
            )
        self.model, self.alphabet = resolve_alphabet(model, alphabet)
        shape = getattr(self.model, "input_shape", None)
        self.length = shape[1] if isinstance(shape, tuple) and len(shape) > 1 else None
        self.at_each_step = False

    def ids(self, session: object) -> Ints:
        return integers("sequences", read_text("A session", session, self.alphabet), ndim=1, below=2**31).astype(
            np.int64
        )

    def logs(self, texts: Sequence[Ints]) -> list[Array]:
        longest = max(texts, key=len)
        outputs = self._outputs(np.zeros((1, 1), np.int64))
        self.at_each_step = outputs.ndim == 3
        num = outputs.shape[-1]
        largest = max(int(text.max()) for text in texts)
        if outputs.ndim not in (2, 3) or not 1 < num > largest:
            raise ValueError(
                "A network that predicts events must have an output for each of them. Received: outputs of shape "
                f"{outputs.shape}, and the event {largest}. Pass a model of the next event, whose head has all of them."
            )
        self.names = tuple(symbol_name(self.alphabet, i) for i in range(num))
        found = [np.full((len(text), num), np.nan) for text in texts]
        if self.at_each_step:
            self._check_causal(longest[: self.length])
            read: list[tuple[int, Any, Ints]] = [
                (i, slice(1, None), text[:-1]) for i, text in enumerate(texts) if len(text) > 1
            ]
        else:
            window = self.length or 0
            places = ((i, t) for i, text in enumerate(texts) for t in range(max(window, 1), len(text)))
            read = [(i, t, texts[i][t - window if window else 0 : t]) for i, t in places]
        for (i, place, _), log in zip(read, self._read([text for *_, text in read]), strict=True):
            found[i][place] = log
        return found

    def at(self, texts: Sequence[Ints], place: int) -> list[Array]:
        missing = np.full(len(self.names), np.nan)
        fixed = None if self.at_each_step else self.length
        before = [text[: len(text) - place] for text in texts]
        there = [i for i, text in enumerate(before) if len(text) and (fixed is None or len(text) >= fixed)]
        logs = self._read([before[i] if fixed is None else before[i][-fixed:] for i in there])
        read = dict(zip(there, logs, strict=True))
        return [(read[i][-1] if self.at_each_step else read[i]) if i in read else missing for i in range(len(texts))]

    def shares(self, text: Ints, place: int, expected: int) -> Shares:
        try:
            splits = place > 0 and self.at_each_step and AffineReading(self.model).splits()
        except ValueError:
            splits = False
        if not splits:
            return super().shares(text, place, expected)
        came = text[place]
        split = contributions(self.model, text[:place], targets=-1)
        each = split.values[:, 0, expected] - split.values[:, 0, came]
        rest = float(each[0] + split.bias[expected] - split.bias[came])
        return each[1:], rest, split.residual, "contributions"

    def _read(self, texts: Sequence[Ints]) -> list[Array]:
        """For each text the logarithms at each of its steps (T, K), or those after it (K,); equal texts once."""
        keys = [text.tobytes() for text in texts]
        groups: dict[int, dict[bytes, Ints]] = {}
        for key, text in zip(keys, texts, strict=True):
            groups.setdefault(self._padded(len(text)), {})[key] = text
        found: dict[bytes, Array] = {}
        for length, group in groups.items():
            for start in range(0, len(group), BATCH):
                some = list(group.items())[start : start + BATCH]
                batch = np.zeros((len(some), length), np.int64)
                for row, (_, text) in zip(batch, some, strict=True):
                    row[: len(text)] = text
                logs = self._logs_of(self._outputs(batch))
                for log, (key, text) in zip(logs, some, strict=True):
                    found[key] = log[: len(text)] if self.at_each_step else log
        return [found[key] for key in keys]

    def _padded(self, length: int) -> int:
        """The length to which a text is padded: few lengths, as the model is built for each."""
        if not self.at_each_step:
            return length
        if self.length is not None and length > self.length:
            raise ValueError(
                f"A session must fit into the model. Received: {length + 1} events, and a model of {self.length} "
                "steps. Cut the session, or build the model with Input((None,))."
            )
        return self.length or 1 << (length - 1).bit_length()

    def _outputs(self, batch: AnyArray) -> Array:
        if self.length is not None and batch.shape[1] < self.length:
            batch = np.pad(batch, ((0, 0), (0, self.length - batch.shape[1])))
        outputs = predict_on_batch(self.model, batch.astype(np.int32), len(batch))
        if isinstance(outputs, list | tuple | dict):
            raise ValueError(
                f"The model must have one output. Received: {self.model.name}, with {len(outputs)}. Choose one."
            )
        return np.asarray(outputs).astype(np.float64)

    def _logs_of(self, outputs: Array) -> Array:
        if not gives_probabilities(self.model, outputs.reshape(-1, outputs.shape[-1])):
            check_logits(self.model, outputs)
            return np.asarray(log_softmax(outputs, axis=-1))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(outputs.clip(0)))

    def _check_causal(self, text: Ints) -> None:
        """Raises ValueError if the outputs at the first steps change with the later ones."""
        half = (len(text) + 1) // 2
        [alone], [outputs] = self._outputs(text[None, :half]), self._outputs(text[None])
        if not np.allclose(alone[:half], outputs[:half], rtol=1e-3, atol=1e-4):
            raise ValueError(
                "A network that predicts events must not read later ones. Received: "
                f"{self.model.name}, whose outputs depend on them, as of a Bidirectional layer. Train one that reads "
                "forwards."
            )

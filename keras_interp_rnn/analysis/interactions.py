r"""Interactions: which pairs of steps act together in an output.

The value v(S) of a set S of steps is an output if these alone are known. What steps i and j change together, less what
they change apart, is v(S with i, j) - v(S with i) - v(S with j) + v(S); an interaction index is its mean over the sets
S of other steps. With the multilinear extension f of v, its value where each step t is there with chance q_t,

    Shapley interaction index:  I_ij = int_0^1 d^2 f / dq_i dq_j (q, ..., q) dq,
    Banzhaf interaction index:  I_ij = d^2 f / dq_i dq_j (1/2, ..., 1/2).

The integral takes the mean over the sizes of S first, so that all sizes weigh alike. By the fundamental theorem of
calculus the Shapley interactions of a step sum to what it changes where all others are there, less what it changes
where none is.

For a network that is an affine map for each symbol, f is a product of factors of degree 1
(`analysis.weighted.games`), the integrand is a polynomial of degree T - 2, and Gauss-Legendre quadrature with
ceil((T - 1) / 2) nodes is exact. One pass over the word has the states that each earlier symbol changes, of all nodes.
For any other network the sum over all coalitions is taken (`analysis.attribution.pairs`); where these are too many, the
interactions are those of its affine surrogate, which is such a network.

Reference: Grabisch and Roubens, "An axiomatic approach to the concept of interaction among players in cooperative
games", International Journal of Game Theory, 1999; Owen, "Multilinear extensions of games", Management Science, 1972;
Banzhaf, "Weighted voting doesn't work", Rutgers Law Review, 1965.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._arrays import check_range
from keras_interp_rnn._checks import choice, integer
from keras_interp_rnn._network import AffineReading, GivenAlphabet, token_names
from keras_interp_rnn._network.inputs import are_several, read_inputs
from keras_interp_rnn._network.interface import last_activation
from keras_interp_rnn._outputs import GivenOutputs, names_of_steps, output_names
from keras_interp_rnn._results import (
    Column,
    Result,
    Table,
    Tag,
    View,
    counted,
    masked_steps,
    nth,
    output_name,
    step_numbers,
    symbol_name,
    texts,
    view,
    visible,
)
from keras_interp_rnn._types import Array, FiniteAutomaton, LinearAutomaton, ProvedNetwork, ReadNetwork
from keras_interp_rnn.analysis.attribution.affine_surrogate import AffineSurrogate, affine_surrogate
from keras_interp_rnn.analysis.attribution.groups import Players, players_of
from keras_interp_rnn.analysis.attribution.opening import UNITS, batch_of_one
from keras_interp_rnn.analysis.attribution.pairs import OneSequence, exact_interactions, gap_of_sums, open_sequence
from keras_interp_rnn.analysis.attribution.wording import (
    ROUNDING,
    ends,
    in_nats,
    near_certainty,
    probability_of,
    unit_of,
    variance,
)
from keras_interp_rnn.analysis.weighted.backgrounds import Background, background_over
from keras_interp_rnn.analysis.weighted.forms import AffineForm, affine_form
from keras_interp_rnn.analysis.weighted.games import Game, quadrature

INDICES = ("shapley", "banzhaf")

NO_MODELS = (FiniteAutomaton, LinearAutomaton, ProvedNetwork, ReadNetwork, tuple)
"""Networks that are affine, or are refused."""


MISSED = 0.1
"""Maximum gap of the output of a surrogate, in parts of its change, for its pairs to be read."""


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Result):
    r"""The interactions of the pairs of steps of a sequence in one output.

    Attributes:
        values: (T, T), symmetric, $I_{ij}$ of steps i and j: what they change together less what they change apart, on
            average over the other steps that are there. 0 on the diagonal, and for steps that are not `players`. With
            `groups` T is the number of groups.
        index: "shapley" or "banzhaf".
        exact: whether the values are those of the network, but for rounding.
        r_squared: of an affine surrogate the share of the variance of the output over coalitions that it explains; None
            if exact. It is no measure of the pairs, which are small differences of outputs: of a GRU with 0.991 the
            worst pair was off by 38 % of the largest one.
        residual: for "shapley" the largest $|\sum_j I_{ij} - (l_i - a_i)|$, with $l_i$ what step i changes where all
            others are there, and $a_i$ where none is; NaN for "banzhaf", which has no such identity.
        method: "affine maps", "coalitions" or "affine surrogate". reason: why, and how many coalitions were run.
        target: index of the output. output: its value. reference_output: its value with no step there.
        output_name: the name of the output, for views.
        unit: of the values; "" for that of the output.
        tokens: (T,), the names of what is read, for views; () for vectors.
        players: bool (T,), False at steps that a mask leaves out or that the reference equals.
        groups: (steps,), the group of each step; None if there are none.
        surrogate_output: of an affine surrogate its output for the sequence, to compare with `output`; None if exact.
        vectors: whether vectors were read, so that `tokens`, if there are any, are the names of steps.

    Steps and outputs are indices from 0. Views count them from 1.

    Example: see `interactions`.
    """

    title: ClassVar[str] = "Which steps act together"

    values: Array
    index: str
    exact: bool
    r_squared: float | None
    residual: float
    method: str
    reason: str
    target: int
    output: float
    reference_output: float
    output_name: str
    unit: str
    tokens: tuple[str, ...]
    players: NDArray[np.bool_]
    groups: NDArray[np.int64] | None = field(default=None, repr=False)
    surrogate_output: float | None = None
    vectors: bool = field(default=False, repr=False)

    def top(self, num_pairs: int = 5) -> list[tuple[int, int, float]]:
        """The pairs of players with the largest interactions by absolute value, the largest first.

        Args:
            num_pairs: maximum number of pairs.

        Returns:
            [(step, later step, interaction), ...]; steps count from 0.
        """
        integer("num_pairs", num_pairs, 0)
        players = np.flatnonzero(self.players)
        first, second = (players[side] for side in np.triu_indices(len(players), 1))
        values = self.values[first, second]
        order = np.argsort(-np.abs(values), kind="stable")[:num_pairs]
        return [(int(first[k]), int(second[k]), float(values[k])) for k in order]

    def name(self, step: int) -> str:
        """The name of what is read at a step, or the number of a step of vectors; with `groups` those of a group."""
        return self.tokens[step] if self.tokens else nth(self.kind, step)

    @property
    def kind(self) -> str:
        """The players: "step" or "group"."""
        return "step" if self.groups is None else "group"

    def table(self) -> Table:
        """A row for each pair of players with their positions, from 1: what they change together, less than apart."""
        table, pairs = self.summary(), self.top(self.values.size)
        if not pairs:
            return table
        one = "position" if self.groups is None else "group"
        first, second, _ = zip(*pairs, strict=True)
        columns = [
            (Column(position, [i + 1 for i in places], form="d"), texts(name, [self.name(i) for i in places]))
            for places, position, name in ((first, one, self.kind), (second, f"{one} of the other", "the other"))
        ]
        return replace(table, columns=(*columns[0], *columns[1], table.columns[-1]))

    def summary(self) -> Table:
        """A row for each pair of players: what they change together, less what they change apart."""
        whole, nothing = ends(self.output, self.reference_output, self.unit)
        unit, pairs = f" in {in_nats(self.unit)}" if self.unit else "", self.top(self.values.size)
        part = probability_of(self.output, self.unit)
        notes = [
            f"{self.index.capitalize()} interactions{unit}, {self.how_exact}",
            *near_certainty(part, self.unit, "the pairs say what steps change together in"),
        ]
        caption = f"{self.output_name}: {whole}, {nothing} without any step"
        if not pairs:
            return Table(
                caption,
                notes=(*notes, f"no pair among {counted(int(self.players.sum()), self.kind)} that can be there or not"),
            )
        i, j, value = pairs[0]
        together = "more" if value > 0 else "less"
        if abs(value) > self._rounding:
            caption += (
                f"; {self.in_words(i)} with {self.in_words(j)} add {abs(value):.3g} {together} together than apart"
            )
        count = counted(len(pairs), "pair")
        notes += [
            *self._trust(),
            f"{count}, the strongest first; below 0 they add less together than apart, above 0 more",
        ]
        first, second, values = zip(*pairs, strict=True)
        decimals = max(0, min(2 - math.floor(math.log10(max(abs(value), self._rounding, 1e-300))), 9))
        return Table(
            caption,
            (
                texts(self.kind, [self.in_words(i) for i in first]),
                texts("with", [self.in_words(j) for j in second]),
                Column("interaction", values, unit_of(self.unit), f"+.{decimals}f"),
            ),
            tuple(notes),
            bars="interaction",
            scale=self._rounding,
        )

    @property
    def _rounding(self) -> float:
        """Below it an interaction is rounding of the outputs."""
        return ROUNDING * (abs(self.output) + abs(self.reference_output))

    @property
    def how_exact(self) -> str:
        """Whether the interactions are exact, and why; or how well the surrogate explains the network."""
        if self.r_squared is None:
            return f"exact: {self.reason}"
        return f"of an affine surrogate that explains {variance(self.r_squared)} of the variance over coalitions"

    def _trust(self) -> list[str]:
        """How far the pairs of a surrogate are to be trusted."""
        if self.surrogate_output is None:
            return []
        missed, change = abs(self.output - self.surrogate_output), abs(self.output - self.reference_output)
        if missed > MISSED * change + ROUNDING * abs(self.output):
            return [
                f"the surrogate misses the output by {missed:.2g} of a change of {change:.2g}: do not rely on its pairs"
            ]
        return ["estimates: pairs are small differences of outputs, and may be off by much more than the outputs are"]

    def in_words(self, step: int) -> str:
        """The name of what is read at a step, with its position if it occurs twice; the number of a step of vectors."""
        if not self.tokens:
            return nth(self.kind, step)
        name = self.tokens[step]
        return f'"{name}" ({step + 1})' if self.tokens.count(name) > 1 else f'"{name}"'

    def tag(self) -> Tag:
        """The interactions of all pairs, and steps that are no players, for the TensorBoard plugin."""
        steps, grouped = len(self.values), self.groups is not None
        return self.values.astype(np.float32), {
            "kind": "interactions",
            "symbols": list(self.tokens) or ([self.name(i) for i in range(steps)] if grouped else step_numbers(steps)),
            "vectors": (self.vectors or not self.tokens) and not grouped,
            **({"groups": True} if grouped else {}),
            "output": self.output_name,
            "says": self.output,
            "index": self.index,
            "masked": masked_steps(self.players),
            **({"unit": self.unit} if self.unit else {}),
            **({} if self.exact else {"r_squared": max(0.0, self.r_squared or 0.0)}),
        }

    def page_view(self) -> View | None:
        """The text in the plugin's view, a step of the strongest pair picked; None without a pair."""
        if self.players.sum() < 2:
            return None
        [(step, _, _)] = self.top(1)
        return view("reads", self.tag(), picked=step)


def interactions(
    network: object,
    sequence: ArrayLike | str | Sequence[Hashable] | Mapping[str, ArrayLike],
    *,
    index: str = "shapley",
    target: int | None = None,
    background: Background | ArrayLike | None = None,
    reference: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    of: str = "logit",
    alphabet: GivenAlphabet | None = None,
    outputs: GivenOutputs | None = None,
    times: Sequence[object] | None = None,
    with_respect_to: int | str | None = None,
) -> Interactions:
    r"""Which pairs of steps act together: the interaction index of every pair of steps of a sequence in an output.

    A pair of steps has the value 0 if what each changes does not depend on the other. Below 0 they add less together
    than apart, as two words that say the same, or "not" before "great"; above 0 they add more.

    Args:
        network: any network of `shapley_values`, whose symbols are affine maps: a model of an ISAN, a FactoredISAN or
            a linear recurrence over symbols with a Dense head, its layer with or without a readout, a
            `WeightedAutomaton`, a `DFA`, a `Certificate` that holds. Or any network that `attribution` takes.
        sequence: one of its sequences: ids (T,), vectors (T, features), or a text, if the ids have names; with or
            without an axis of 1 for the batch. For a model with several inputs a list, or a dict by their names. Masked
            steps, such as padding, are no players and stay.
        index: "shapley" for the Shapley interaction index, "banzhaf" for that of Banzhaf.
        target: index of the output to explain; None for the largest one. Of outputs at every step the last are meant.
        background: of a network whose symbols are affine maps the distribution of unknown symbols, as in
            `shapley_values`; None for uniform, independent ones.
        reference: the vectors that replace steps which are not there, as in `attribution`: (features,) or
            (T, features). None for `background` where symbols are affine maps, otherwise for the one of `attribution`.
        groups: int (T,), the number of the group of each step, from 0: steps of a group are one player. For affine maps
            the symbols of a group must follow one another, masked steps aside.
        of: "logit" for what is before a softmax or a sigmoid at the end, "probability" for what is after it.
        alphabet: names of the ids; by default the alphabet that a model carries.
        outputs: names of the outputs: `datasets.Outputs` or a list; by default those that a model carries.
        times: names of the steps of vectors, in order, such as dates.
        with_respect_to: as in `attribution`, which of several inputs the steps are of.

    Returns:
        `Interactions`; `print` names the strongest pairs, and `views.save` makes a page that shows, of each step, its
        interactions with all others.

    Raises:
        ValueError: as `attribution`, or for an automaton as `shapley_values`; if there is more than one sequence; for
            more players than can be run (see "Exactness"); for a background of a network whose symbols are no affine
            maps, or together with a reference.

    Units: of the output: of a softmax the logit of the class, of a sigmoid the log-odds, unless `of` is "probability".
    Exactness: exact for affine maps and sequences of any length. Of other networks exact to 16 players, from the
        outputs of all coalitions, if they are read step by step (layers one after the other, as in `attribution`), and
        to 8 players if not. For more players those of `affine_surrogate`, if the network is read step by step in one
        direction: `exact` is then False, and `r_squared` how much of the output the surrogate explains. That is no
        measure of the pairs: at 0.99 single ones may be off by a third of the largest. `residual` is the largest gap of
        an identity, for estimates within the surrogate.
    Cost: O(T^3 n^2) for affine maps, K times that for a Markov background; otherwise 2^(T + 1) updates of the state.
    Example:

        >>> from keras_interp_rnn import analysis, automata
        >>> both = automata.DFA.from_regex("(a|b)*a(a|b)*b(a|b)*", alphabet="ab")  # an a, and a b after it
        >>> pairs = analysis.interactions(both, "ab")
        >>> pairs.values.round(2)
        array([[0.  , 0.25],
               [0.25, 0.  ]])
        >>> pairs.top(1)
        [(0, 1, 0.25)]

    Reference: Grabisch and Roubens, 1999; Owen, 1972; Banzhaf, 1965.
    """
    choice("index", index, INDICES)
    choice("of", of, ("logit", "probability"))
    affine = None if times is not None else _as_affine_maps(network, sequence, alphabet, reference, with_respect_to, of)
    if affine is not None:
        return _of_affine_maps(network, *affine, index, target, background, groups, outputs)
    if background is not None:
        raise ValueError(
            "`background` must be None unless the symbols of the network are affine maps and their logits are "
            "explained. Received: a background of another network, or with a reference. Pass `reference`, the vectors "
            "that replace steps."
        )
    reading = read_inputs(network, batch_of_one(network, sequence, alphabet), alphabet, with_respect_to)
    vectors = reading.arrays[reading.varies]
    steps = names_of_steps(vectors, times)
    game = open_sequence(reading, reference, groups, of)
    chosen = _chosen(target, game.ends[1])
    if game.num_players > game.max_players:
        fit = functools.partial(affine_surrogate, target=chosen, reference=reference, groups=groups, of=of)
        fit = functools.partial(
            fit, network, sequence, alphabet=alphabet, outputs=outputs, with_respect_to=with_respect_to
        )
        return _of_surrogate(network, game, fit, index, _names(game.players, steps))
    ran = game.all_outputs()[:, [chosen]]
    check_range("Interactions", (ran,))
    values = exact_interactions(ran, index)[..., 0]
    residual = np.nan
    if index == "shapley":
        bits = 1 << np.arange(game.num_players)
        first, last = ran[bits, 0] - ran[0, 0], ran[-1, 0] - ran[-1 - bits, 0]
        residual = gap_of_sums(values.sum(axis=1), first, last)
    reason = f"all {len(ran):,} coalitions of {game.num_players} players{game.reason}"
    name = _name_of_output(output_names(network, outputs, game.ends.shape[1], game.names), chosen, game.ends.shape[1])
    values, there = _at_places(game.players, np.arange(game.num_players), values)
    return Interactions(
        values=values,
        players=there,
        index=index,
        exact=True,
        r_squared=None,
        residual=residual,
        method="coalitions",
        reason=reason,
        target=chosen,
        output=float(game.ends[1, chosen]),
        reference_output=float(game.ends[0, chosen]),
        output_name=name,
        unit=game.unit,
        tokens=_names(game.players, steps or token_names(vectors, reading.names)),
        groups=_groups(game.players),
        vectors=np.ndim(vectors) == 3,
    )


def _as_affine_maps(
    network: object,
    sequence: object,
    alphabet: GivenAlphabet | None,
    reference: ArrayLike | None,
    with_respect_to: int | str | None,
    of: str,
) -> tuple[AffineForm, NDArray[np.int64]] | None:
    """A network as affine maps of symbols, and the word, if it is that and its logits are explained."""
    by_vectors = reference is not None or with_respect_to is not None
    if isinstance(network, NO_MODELS) and not callable(network):
        if by_vectors:
            raise ValueError(
                "`reference` and `with_respect_to` must be None for an automaton and for a pair of a layer and a "
                f"readout. Received: a {type(network).__name__} with one of them. Pass `background`, or a model."
            )
        form = affine_form(network, alphabet=alphabet)
        return form, form.ids(sequence)
    if by_vectors or are_several(sequence, network) or (of == "probability" and last_activation(network) in UNITS):
        return None
    batch = np.asarray(batch_of_one(network, sequence, alphabet))
    if batch.ndim != 2 or len(batch) != 1:
        return None  # vectors, or several sequences
    try:
        if not AffineReading(network).explains_logits:
            return None
        form = affine_form(network, alphabet=alphabet)
    except ValueError:
        return None
    return form, form.ids(batch[0])


def _of_affine_maps(
    network: object,
    form: AffineForm,
    word: NDArray[np.int64],
    index: str,
    target: int | None,
    background: Background | ArrayLike | None,
    groups: ArrayLike | None,
    names_of_outputs: GivenOutputs | None,
) -> Interactions:
    """The interactions of the symbols of a word."""
    if not len(word):
        raise ValueError("`sequence` must have at least one symbol. Received: a word without any.")
    background = background_over(form.num_symbols, background)
    read = form.reads(word)
    players = players_of(groups, read[None])
    of_steps = players.of_steps[0][read]
    runs = np.split(np.arange(len(of_steps)), np.flatnonzero(np.diff(of_steps)) + 1) if len(of_steps) else []
    order = of_steps[np.array([run[0] for run in runs], np.intp)]
    if len(set(order.tolist())) < len(order):
        raise ValueError(
            "`groups` of symbols that are affine maps must be of symbols that follow one another. Received: "
            f"groups={np.asarray(groups).tolist()!r:.200}. Pass a number for each run, or a `reference`."
        )
    outputs = form.outputs(word)
    chosen = _chosen(target, outputs)
    initial, maps, final = form.homogeneous()
    game = Game(initial, maps, final[:, [chosen]], word[read], background, runs)
    count = len(runs)
    values, residual = np.zeros((count, count)), np.nan
    with np.errstate(all="ignore"):
        mean = game.mean()
        if index == "banzhaf":
            values = game.second_derivatives(np.array([0.5]), np.ones(1))
        else:
            # The integrand is of degree count - 2.
            for q, weights in quadrature(max(1, count // 2), game.bytes_of_a_state * 5 * max(1, count)):
                values += game.second_derivatives(q, weights)
            first, last = (game.derivatives(np.array([q]), np.ones(1))[:, 0] for q in (0.0, 1.0))
            residual = gap_of_sums(values.sum(axis=1), first, last)
    check_range("Interactions", (values, mean, outputs))
    activation = last_activation(network) if not (isinstance(network, NO_MODELS) and not callable(network)) else None
    names = tuple(symbol_name(form.alphabet, int(symbol)) for symbol in word)
    values, there = _at_places(players, order, values)
    labels = () if form.labels is None else tuple(visible(str(label)) for label in form.labels)
    named = output_names(network, names_of_outputs, form.num_outputs) or labels or _as_symbols(form)
    return Interactions(
        values=values,
        players=there,
        index=index,
        exact=True,
        r_squared=None,
        residual=residual,
        method="affine maps",
        reason="every symbol is an affine map of the state",
        target=chosen,
        output=float(outputs[chosen]),
        reference_output=float(mean[0]),
        output_name=_name_of_output(named, chosen, form.num_outputs),
        unit=UNITS.get(activation or "", ""),
        tokens=_names(players, (names,)),
        groups=_groups(players),
    )


def _of_surrogate(
    network: object, game: OneSequence, fit: Callable[[], AffineSurrogate], index: str, times: tuple[str, ...]
) -> Interactions:
    """The interactions of the affine surrogate of a network along a sequence."""
    if not game.is_read_in_one_direction:
        raise _too_many(game)
    surrogate = fit()
    pairs = interactions(surrogate.model, surrogate.word, index=index, background=surrogate.background)
    # The word is in the order in which the network reads.
    there = np.zeros(len(pairs.values), bool)
    there[game.players.places[0]] = True
    values = np.zeros_like(pairs.values)
    values[np.ix_(surrogate.word, surrogate.word)] = pairs.values
    num_outputs = game.ends.shape[1]
    return Interactions(
        values=values * there * there[:, None],
        players=there,
        index=index,
        exact=False,
        r_squared=surrogate.r_squared,
        residual=pairs.residual,
        method="affine surrogate",
        reason=f"{game.num_players} players have too many coalitions; it was fitted to {surrogate.num_runs:,} of them",
        target=surrogate.target,
        output=float(game.ends[1, surrogate.target]),
        reference_output=float(game.ends[0, surrogate.target]),
        output_name=_name_of_output(
            surrogate.output_names or output_names(network, None, num_outputs, game.names),
            surrogate.target,
            num_outputs,
        ),
        unit=game.unit,
        tokens=times or surrogate.tokens,
        groups=_groups(game.players),
        vectors=not surrogate.tokens,
        surrogate_output=surrogate.surrogate_output,
    )


def _as_symbols(form: AffineForm) -> tuple[str, ...]:
    """The symbols as names of the outputs, where there are as many."""
    if form.alphabet is None or len(form.alphabet) != form.num_outputs or form.num_outputs == 1:
        return ()
    return tuple(symbol_name(form.alphabet, i) for i in range(form.num_outputs))


def _name_of_output(names: tuple[str, ...], chosen: int, num_outputs: int) -> str:
    if names:
        return names[chosen]
    return "the output" if num_outputs == 1 else output_name(None, chosen, num_outputs)


def _chosen(target: int | None, outputs: Array) -> int:
    return int(outputs.argmax()) if target is None else integer("target", target, 0, below=len(outputs))


def _at_places(players: Players, order: NDArray[np.intp], values: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The values (T, T) of all places, from those of players in some order; and which places have a player."""
    places = players.places[0][order]
    found, there = np.zeros((players.num_places, players.num_places)), np.zeros(players.num_places, bool)
    found[np.ix_(places, places)] = values
    there[places] = True
    return found, there


def _groups(players: Players) -> NDArray[np.int64] | None:
    return None if players.groups is None else players.groups[0]


def _names(players: Players, tokens: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    [names] = players.names(tokens) or ((),)
    return tuple(names)


def _too_many(game: OneSequence) -> ValueError:
    kind = "read step by step" if game.is_read_by_steps else "that is run as a whole"
    return ValueError(
        f"A network {kind} must have at most {game.max_players} players for all their coalitions to be run. Received: "
        f"{game.num_players}. Pass a shorter sequence, or `groups` of steps."
    )

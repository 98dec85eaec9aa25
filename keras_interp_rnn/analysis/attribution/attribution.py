r"""Attribution: the share of each step of a sequence in the outputs of any recurrent network.

A step is taken away by putting a reference r in its place, in the vectors that the model reads, or that its Embedding
makes of ids. With f the output that is explained, x the sequence and r the reference at every step:

- shapley: $a_t$ is the Shapley value of step t in the game whose value of a set of steps is f of x at these steps and r
  at all others: what the step changes, on average over all orders in which the steps come. The sum is f(x) - f(r).
  Exact for up to 16 steps if the network is read step by step, 8 if not, with a standard error for more (`shapley`).
- telescoping: $a_t = f(x_1 \dots x_t, r \dots r) - f(x_1 \dots x_{t-1}, r \dots r)$, one of these orders. The sum is
  f(x) - f(r). Interactions count for the later of two steps: in "not good" all that "not" does to "good" is in the
  share of "good". Steps are in the order of the inputs, for Bidirectional layers too.
- path integral: $a_{t,i} = (x_{t,i} - r_{t,i}) \int_0^1 \partial_{t,i} f(r + s (x - r))\, ds$ for feature i of step t,
  integrated gradients (Sundararajan, Taly and Yan, ICML 2017), by Gauss-Legendre quadrature. No order matters, and its
  sum misses f(x) - f(r) by the error of the quadrature. Where f is linear, a share is what is lost without the
  feature.
- occlusion: $a_t = f(x) - f(x$ with r at step t). The sum need not be f(x) - f(r).
- contributions: the terms of `analysis.contributions`, exact if the network is affine in its state.

f is the logit, or the log-odds, under a softmax or a sigmoid at the end of the network: a probability near 0 or 1
hardly changes, whatever a step adds.

A network is run in float64 (`_network.vectors`), layers whose equations are not known by Keras in their own dtype.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from keras_interp_rnn._arrays import as_array, is_float, without_unread
from keras_interp_rnn._checks import choice, integer, integers, invalid, is_number
from keras_interp_rnn._io import Count, say
from keras_interp_rnn._network import (
    AffineReading,
    GivenAlphabet,
    are_quantities,
    gives_probabilities,
    read_text,
    resolve_alphabet,
    token_names,
)
from keras_interp_rnn._network.inputs import Reading, read_inputs
from keras_interp_rnn._network.interface import last_activation
from keras_interp_rnn._network.prefixes import Prefixes, is_read_by_steps
from keras_interp_rnn._network.vectors import Network
from keras_interp_rnn._outputs import (
    MANY_OUTPUTS,
    TOP,
    GivenOutputs,
    class_names,
    names_of_features,
    names_of_steps,
    output_names,
    true_classes,
    two_classes,
)
from keras_interp_rnn._program.operations import PROBABILITIES
from keras_interp_rnn._results import output_name
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.attribution.coalitions import Coalitions
from keras_interp_rnn.analysis.attribution.groups import Players, players_of
from keras_interp_rnn.analysis.attribution.opening import (
    UNITS,
    absent_vectors,
    activated,
    as_explained,
    opened_for,
    outputs_of,
    row_slices,
    steps_that_count,
)
from keras_interp_rnn.analysis.attribution.path_integral import path_integral
from keras_interp_rnn.analysis.attribution.replacing import by_replacing
from keras_interp_rnn.analysis.attribution.results import Attribution, TopAttribution
from keras_interp_rnn.analysis.attribution.shapley import (
    EXACT_PLAYERS,
    RUNS,
    UPDATES,
    Estimate,
    by_prefixes,
    by_running,
    divided,
)
from keras_interp_rnn.analysis.attribution.wording import as_typed
from keras_interp_rnn.analysis.isan.contributions import contributions

METHODS = ("auto", "shapley", "telescoping", "path_integral", "occlusion", "contributions")


def attribution(
    network: object,
    inputs: ArrayLike | str | Sequence[object] | Mapping[str, object],
    *,
    target: int | Sequence[int] | str | None = None,
    step: int = -1,
    method: str = "auto",
    reference: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    with_respect_to: int | str | None = None,
    num_points: int = 32,
    alphabet: GivenAlphabet | None = None,
    outputs: GivenOutputs | None = None,
    features: Sequence[str] | None = None,
    times: Sequence[object] | None = None,
    groups: ArrayLike | None = None,
    tolerance: float = 0.05,
    of: str = "logit",
    max_work: int | None = None,
    labels: Sequence[object] | None = None,
) -> Attribution:
    r"""Splits an output of any network with a recurrent layer among the steps that it read, and among their features.

    Args:
        network: a model with a recurrent layer, Sequential, functional or a subclass; or a recurrent layer, whose last
            state is then explained.
        inputs: (batch, time) ids or (batch, time, features), as the network reads them. If the ids have names, one text
            or several are accepted too, as strings or lists of symbols; they must have one length unless id 0 is
            padding (docs/functions-and-models.md). For a model with several inputs pass a list, or a dict by their
            names.
        target: index of the output to explain, or indices of several; "all" for all of them, which costs no more
            than one but for "path_integral"; None for the largest output of each sequence.
        step: the step to explain if there are outputs at every step, from 0, or negative from the end.
        method: "shapley", "telescoping", "path_integral", "occlusion" or "contributions": see docs/attributions.md.
            "auto" is "contributions" if these are exact given the inputs alone, otherwise "shapley". They are exact for
            an ISAN or a linear recurrence, in one direction or two, whose states or their mean pass through a head that
            is affine before its last activation.
        reference: (features,), (time, features) or (batch, time, features), the vectors that replace the steps taken
            away; None for zeros or, if the layer reads symbols as an ISAN does, for the mean of all symbols.
        mask: bool (batch, time), False at steps that a layer does not read; None for a model, which computes its own.
        with_respect_to: index or name of the input whose steps are taken away, if there are several. The others stay
            fixed. None for the only one that is read as ids, as a text or as vectors (batch, time, features); of
            several such inputs in a list the first, in a dict a name must be given.
        num_points: points of the quadrature of "path_integral", to begin with; they double, up to 1,024, until the sum
            misses the change of the output by less than a hundredth of it.
        alphabet: names of the ids: an `Alphabet`, a sequence, a mapping, or a text layer of Keras; by default the
            alphabet that a model carries, or the ids.
        outputs: names of the outputs: `datasets.Outputs` or a list; by default those that a model carries.
        features: names of the features of the vectors, in order. times: names of their steps, in order, such as dates.
        groups: int (time,) or (batch, time), from 0: the group of each step, such as the word of each token. A group
            has one share. Of "shapley" its steps come and go together; of "telescoping", "path_integral" and
            "contributions" it has the sum of the shares of its steps. None for each step by itself.
        tolerance: of "shapley", the largest standard error of a sequence, in parts of the range of its shares.
        of: "logit" for the logit, or log-odds, under a softmax, or sigmoid, at the end of the network; "probability"
            for what that makes of it. Of other networks the output.
        max_work: of "shapley", updates of the state in a call, which its sequences share, but for 256 a step that the
            coarsest estimate takes; or, for a network that is not read step by step, runs of each sequence. None for
            2^20 updates, or 512 runs and at least 4 for each step.
        labels: (batch,), the true class of each sequence, by index or by name, where it is known: print and page tell
            whether the network is wrong. The two classes of a single output need names.

    Returns:
        `Attribution`.

    Raises:
        ValueError: if the network has no recurrent layer or several outputs, is stateful or draws noise; if its output
            depends on other rows of the batch, or on a sequence otherwise than by a vector for each step; if an output,
            a weight or an input at a step that is read is not finite; if an argument is out of range.

    Units: `unit` of the result: "logit" and "log-odds" in nats; "" for the output's own. A single output without an
        activation is the log-odds of the second class if both classes have names.
    Exactness: Shapley values of up to 16 steps or groups that are read and differ from the reference are exact while
        the updates of the state are within `max_work`: 2^(steps + 1), if all steps differ. Of a network that is not
        read step by step those of up to 8 are. Otherwise they are estimates with standard errors: exact
        values of the network with like states merged, and a regression on what these miss. float64 for cells whose
        equations are known, Dense layers, normalizations, softmax and means, in a graph of any form. Other layers, such
        as attention or convolutions, are run and differentiated by Keras in their own dtype, and named in `reason`.
        `residual` and `difference` report the errors.
    Example:

        >>> from keras_interp_rnn import analysis
        >>> model = keras.Sequential([keras.layers.Embedding(9, 3), keras.layers.GRU(4), keras.layers.Dense(1)])
        >>> split = analysis.attribution(model, np.array([[1, 5, 2]]))
        >>> split.method, split.exact, split.shares.shape, split.residual < 1e-12
        ('shapley', True, (1, 3), True)
        >>> split = analysis.attribution(model, np.array([[1, 5, 2]]), method="path_integral")
        >>> split.features.shape, split.residual < 1e-6
        ((1, 3, 3), True)

    Reference: Shapley, 1953; Sundararajan, Taly and Yan, ICML 2017, arXiv:1703.01365, for the path integral; Zeiler and
        Fergus, ECCV 2014, for occlusion.
    """
    reading = read_inputs(network, inputs, alphabet, with_respect_to)
    vectors = reading.arrays[reading.varies]
    steps, columns = names_of_steps(vectors, times), names_of_features(vectors, features)
    asked = _Asked(method, reference, mask, num_points, step, groups, tolerance, of, max_work)
    found = _split(reading, _chosen(target), asked)
    classes = two_classes(network, outputs, found.all_outputs.shape[1])
    quantities = are_quantities(network, outputs)
    found = found if of == "probability" or quantities else _between_classes(found, classes, network)
    one = target is None or (np.ndim(target) == 0 and not isinstance(target, str))
    places: Any = (..., 0) if one else ...

    def at_places(array: Array | None) -> Array | None:
        return None if array is None else array[places]

    truth = _compared(found, labels, network, outputs)
    tokens = steps or as_typed(token_names(vectors, reading.names), inputs, reading.names)
    # Contributions are of the steps that the recurrent layer reads, of which layers below it may make fewer.
    same = groups is not None or np.shape(vectors)[1:2] == found.shares.shape[1:2]
    tokens = tokens if same else ()
    return Attribution(
        shares=found.shares[places],
        output=found.output[places],
        reference_output=found.reference_output[places],
        residual=found.residual,
        difference=found.difference,
        method=found.method,
        reason=found.reason,
        targets=found.top[places],
        features=at_places(found.features),
        inputs=None if found.features is None or np.ndim(vectors) != 3 else np.asarray(vectors, np.float64),
        tokens=tokens if found.players is None else found.players.names(tokens),
        read=found.read if same else None,
        standard_error=at_places(found.standard_error),
        as_read=at_places(found.as_read),
        num_runs=found.num_runs,
        unit=found.unit,
        probability=at_places(found.probability),
        groups=None if found.players is None else found.players.groups,
        output_names=output_names(network, outputs, found.all_outputs.shape[1]),
        largest=(found.top == found.all_outputs.argmax(axis=1)[:, None])[places],
        feature_names=columns,
        vectors=np.ndim(vectors) == 3 or not same,
        class_names=classes,
        labels=truth.labels,
        wrong=truth.wrong,
    )


class _Truth(NamedTuple):
    """The names of the true classes of sequences, and whether the network answers others; () and None if unknown."""

    labels: tuple[str, ...] = ()
    wrong: NDArray[np.bool_] | None = None


def _compared(found: _Split, labels: object, network: object, outputs: GivenOutputs | None) -> _Truth:
    if labels is None:
        return _Truth()
    count, num = found.all_outputs.shape
    quantities = are_quantities(network, outputs)
    names = () if quantities else class_names(network, outputs, num)
    if quantities or (num == 1 and (not names or found.probabilities is None)):
        received = "a regression" if quantities else "a single output without names of two classes"
        raise ValueError(
            f"`labels` must be classes of the network. Received: labels of {received}. Leave them out, or pass "
            "`outputs`, the names of both classes."
        )
    names = names or tuple(output_name(None, output, num) for output in range(num))
    classes = true_classes(labels, names, count)
    if num > 1 or found.probabilities is None:
        answers = found.all_outputs.argmax(axis=1)
    else:
        answers = (found.probabilities[:, 0] >= 1 / 2).astype(np.int64)
    return _Truth(tuple(names[i] for i in classes), answers != classes)


def _between_classes(found: _Split, classes: tuple[str, ...], network: object) -> _Split:
    """A single output whose two classes have names, and which no activation changes, is the log-odds of the second."""
    if not classes or found.unit or last_activation(network) != "linear":
        return found
    return found._replace(unit="log-odds", probabilities=expit(found.all_outputs))


def _chosen(target: int | Sequence[int] | str | None) -> Callable[[Array], NDArray[np.int64]]:
    """The outputs (batch, K) to be explained, from all (batch, outputs)."""

    def choose(outputs: Array) -> NDArray[np.int64]:
        if target is None:
            return np.asarray(outputs.argmax(axis=1)[:, None])
        if isinstance(target, str):
            if target != "all":
                raise invalid("target", "an index of an output, several of them, 'all' or None", target)
            chosen = np.arange(outputs.shape[1])
        elif np.ndim(target) == 0:
            chosen = np.array([integer("target", target, 0, below=outputs.shape[1])])
        else:
            chosen = integers("target", target, ndim=1, below=outputs.shape[1], remedy="Pass indices of outputs.")
        if not len(chosen):
            raise ValueError("`target` must name at least one output. Received: []. Leave it out.")
        return np.broadcast_to(chosen.astype(np.int64), (len(outputs), len(chosen)))

    return choose


def top_attribution(
    network: object,
    text: ArrayLike | str,
    *,
    method: str = "auto",
    alphabet: GivenAlphabet | None = None,
    outputs: GivenOutputs | None = None,
    max_work: int | None = None,
    label: object = None,
) -> TopAttribution:
    """Splits the outputs after one text among its steps: all outputs, or the 16 largest of more than 64.

    Several outputs that nothing makes probabilities are logits, unless the network was compiled with the loss of a
    regression, as "mse".

    Args:
        network, method, alphabet, outputs: as `attribution`.
        label: the true class, as one of `labels`.
        max_work: as `attribution`; None for 2^17 updates, or 128 runs and at least 4 for each step.
        text: ids (time,), or a string or a list of symbols, if the ids have names.

    Raises:
        ValueError: as `attribution`.
    """
    ids = read_text("A text", text, resolve_alphabet(network, alphabet)[1])[None]
    of_numbers = are_quantities(network, outputs)
    reading = read_inputs(network, ids, alphabet)
    given, network, names = network, reading.network, reading.names
    found = _split(reading, _most_probable, _Asked(method, max_work=max_work, usual_work=(UPDATES // 8, RUNS // 4)))
    classes = two_classes(given, outputs, found.all_outputs.shape[1])
    found = found if of_numbers else _between_classes(found, classes, given)
    truth = _compared(found, None if label is None else [label], given, outputs)
    whole, top = found.all_outputs, found.top[0]
    num = whole.shape[1]
    unit, values = found.unit, False
    if found.probabilities is not None:
        whole = found.probabilities
    elif num > 1 and not gives_probabilities(network, whole):
        values = of_numbers
        whole, unit = (whole, unit) if values else (softmax(whole, axis=-1), "logit")
    named = output_names(given, outputs, num, names)
    named = named or tuple("the output" if num == 1 else output_name(None, output, num) for output in range(num))
    [tokens] = as_typed(token_names(reading.arrays[reading.varies], names), [text], names)
    arrays = top, whole[0, top], found.shares[0], found.reference_output[0], found.output[0]
    read = None if found.read is None else found.read[0]
    errors, as_read = (None if array is None else array[0] for array in (found.standard_error, found.as_read))
    return TopAttribution(
        tokens, *arrays, named, found.residual, found.method, unit, read, errors, values, classes, as_read, truth.labels
    )


def _most_probable(outputs: Array) -> NDArray[np.int64]:
    return np.argsort(-outputs, axis=1, kind="stable")[:, : TOP if outputs.shape[1] > MANY_OUTPUTS else None]


class _Asked(NamedTuple):
    """How an output is to be split: arguments of `attribution`."""

    method: str = "auto"
    reference: ArrayLike | None = None
    mask: ArrayLike | None = None
    num_points: int = 32
    step: int = -1
    groups: ArrayLike | None = None
    tolerance: float = 0.05
    of: str = "logit"
    max_work: int | None = None
    usual_work: tuple[int, int] = (UPDATES, RUNS)
    """The default of `max_work`: updates of the state, or runs."""

    def check(self) -> None:
        """Raises ValueError for an argument out of range, or one that the method does not take."""
        choice("method", self.method, METHODS)
        choice("of", self.of, ("logit", "probability"))
        if not is_number(self.tolerance) or not self.tolerance > 0:
            raise invalid(
                "tolerance", "a positive number", self.tolerance, "Pass 0.05 for 5 % of the range of the shares."
            )
        if self.max_work is not None:
            integer("max_work", self.max_work)
        if self.method == "contributions" and self.unused:
            raise ValueError(
                "Contributions put nothing in place of a step, so mask and reference must be None. Received: "
                f"method='contributions' with {', '.join(self.unused)}. Leave them out, or choose 'shapley'."
            )
        if self.method == "occlusion" and self.groups is not None:
            raise ValueError(
                "Occlusion takes steps away one by one, so groups must be None. Received: method='occlusion' with "
                "groups. Leave them out, or choose 'shapley'."
            )

    @property
    def unused(self) -> list[str]:
        """The arguments that contributions do not take."""
        given = {"mask": self.mask, "reference": self.reference}
        return [name for name, value in given.items() if value is not None]


class _Split(NamedTuple):
    """Shares (batch, places, K) in the outputs `top` (batch, K), all outputs, and those of `top` with no step there.

    `probabilities` are all outputs after the activation at the end, where they are split before it.
    """

    shares: Array
    top: NDArray[np.int64]
    all_outputs: Array
    reference_output: Array
    difference: float
    method: str
    reason: str
    unit: str = ""
    probabilities: Array | None = None
    features: Array | None = None
    read: NDArray[np.bool_] | None = None
    players: Players | None = None
    standard_error: Array | None = None
    num_runs: NDArray[np.int64] | None = None
    as_read: Array | None = None

    @property
    def output(self) -> Array:
        return np.take_along_axis(self.all_outputs, self.top, axis=1)

    @property
    def probability(self) -> Array | None:
        """The probabilities of `top`."""
        return None if self.probabilities is None else np.take_along_axis(self.probabilities, self.top, axis=1)

    @property
    def residual(self) -> float:
        return float(np.abs(self.reference_output + self.shares.sum(axis=1) - self.output).max(initial=0.0))


def _split(reading: Reading, choose: Callable[[Array], NDArray[np.int64]], asked: _Asked) -> _Split:
    """The shares in the outputs (batch, K) that `choose` selects from all outputs (batch, outputs)."""
    asked.check()
    network, method = reading.network, asked.method
    if method == "contributions" or (method == "auto" and not asked.unused and _splits_exactly(network, asked.of)):
        reason = "every output is a sum over the steps, before the activation at the end"
        return _by_contributions(reading, choose, asked, reason if method == "auto" else ASKED)
    opened, reason = opened_for(reading, asked.mask, asked.step, functools.partial(absent_vectors, asked.reference))
    if method != "auto":
        reason = f"{ASKED}{reason}"
    elif asked.unused:
        reason = f"it takes a {' and a '.join(asked.unused)}{reason}"
    else:
        reason = f"no exact sum over the steps is known for this network{reason}"
    method = "shapley" if method == "auto" else method
    own, each = opened.output, np.arange(len(opened.inputs))
    opened, whole, unit, probabilities = as_explained(opened, asked.of)
    top = np.asarray(choose(own if probabilities is None else whole), np.int64)
    absent = absent_vectors(asked.reference, opened.inputs, opened.reads_symbols)
    without_steps = np.take_along_axis(outputs_of(opened, absent, each), top, axis=1)
    if not np.isfinite(without_steps).all():
        row, output = (int(index[0]) for index in np.nonzero(~np.isfinite(without_steps)))
        raise ValueError(
            "The outputs of a network must be numbers where no step is there. Received: "
            f"{without_steps[row, output]} for sequence {row + 1}. Pass another `reference`."
        )
    players = players_of(asked.groups, steps_that_count(opened, absent))
    features = errors = runs = None
    ends = without_steps, np.take_along_axis(whole, top, axis=1)
    if method == "shapley":
        shares, errors, runs, note = _by_shapley(opened, absent, top, players, ends, asked)
        reason = f"{reason}; {note}" if note else reason
    elif method == "path_integral":
        features = path_integral(opened, absent, top, ends, asked.num_points)
        shares = features.reshape(*features.shape[:2], -1, features.shape[-1]).sum(axis=2)
        features = None if players.groups is not None else features
    else:
        shares = by_replacing(opened, absent, top, ends, telescoping=method == "telescoping")
    computed, given = (
        np.take_along_axis(x, top, axis=1) for x in (whole if probabilities is None else probabilities, own)
    )
    return _Split(
        shares=shares if method == "shapley" else players.sums(shares),
        top=top,
        all_outputs=whole,
        reference_output=without_steps,
        difference=float(np.abs(computed - given).max()),
        method=method,
        reason=reason,
        unit=unit,
        probabilities=probabilities,
        features=features,
        read=players.read(opened.mask),
        players=players,
        standard_error=errors,
        num_runs=runs,
        as_read=_as_read(opened, absent, top, ends, players, shares if method == "telescoping" else None),
    )


def _as_read(
    opened: Network,
    absent: Array,
    top: NDArray[np.int64],
    ends: tuple[Array, Array],
    players: Players,
    steps: Array | None,
) -> Array | None:
    """The outputs (batch, time + 1, K) with the first steps there and the others not; None where that takes long."""
    count, length = opened.mask.shape
    is_cheap = count * length**2 <= UPDATES // 2 if is_read_by_steps(opened) else length <= RUNS // 4
    if players.groups is not None or (steps is None and not is_cheap):
        return None
    if steps is None:
        steps = by_replacing(opened, absent, top, ends, telescoping=True)
    without, whole = ends
    found = np.concatenate([without[:, None], without[:, None] + steps.cumsum(axis=1)], axis=1)
    found[:, -1] = whole
    return found


def _by_shapley(
    opened: Network, absent: Array, top: NDArray[np.int64], players: Players, ends: tuple[Array, Array], asked: _Asked
) -> tuple[Array, Array, NDArray[np.int64], str]:
    """Shares (batch, places, K), their standard errors, the runs of each sequence, and what limited them."""
    count = len(top)
    shares, errors = np.zeros((2, count, players.num_places, top.shape[1]))
    runs, limited = np.zeros(count, np.int64), 0
    progress = Count("attribution: sequence", count)
    for row, found in enumerate(_estimates(opened, absent, top, players, ends, asked)):
        shares[row, players.places[row]], errors[row, players.places[row]] = found.values, found.errors
        runs[row] = found.runs
        limited += found.is_limited
        if count > 1:
            progress.say(row + 1)
    if count > 1:
        say("")
    of = "" if count == 1 else f" of {limited} of {count} sequences"
    note = f"the budget was spent before the standard errors{of} were below {100 * asked.tolerance:g}% of the range"
    return shares, errors, runs, note if limited else ""


def _estimates(
    opened: Network, absent: Array, top: NDArray[np.int64], players: Players, ends: tuple[Array, Array], asked: _Asked
) -> Iterator[Estimate]:
    sizes = [len(places) for places in players.places]
    if is_read_by_steps(opened):
        first = Prefixes(opened, 0, absent[0], players.of_steps[0])
        of_exact = [
            first.updates_of_all(of_steps) if n <= EXACT_PLAYERS else None
            for n, of_steps in zip(sizes, players.of_steps, strict=True)
        ]
        budgets = divided(asked.usual_work[0] if asked.max_work is None else asked.max_work, of_exact)
        for row, (columns, budget) in enumerate(zip(top, budgets, strict=True)):
            game = Prefixes(opened, row, absent[row], players.of_steps[row])
            yield by_prefixes(game, columns, asked.tolerance, budget, np.random.default_rng(0), len(top))
        return

    def run(rows: NDArray[np.intp], coalitions: Sequence[Coalitions]) -> list[Array]:
        if not len(rows):
            return []
        sequence = np.repeat(rows, [len(given) for given in coalitions])
        there = np.ones((len(sequence), opened.inputs.shape[1]), bool)
        places = np.cumsum([len(given) for given in coalitions])[:-1]
        for row, given, of_row in zip(rows, coalitions, np.split(there, places), strict=True):
            of_row[:] = players.steps_there(int(row), given)
        there = there.reshape(*there.shape, *[1] * (opened.inputs.ndim - 2))
        found = []
        for part in row_slices(opened, len(sequence)):
            x = np.where(there[part], opened.inputs[sequence[part]], absent[sequence[part]])
            found.append(np.take_along_axis(opened.run(x, sequence[part]), top[sequence[part]], axis=1))
        # Digits of a row differ from batch to batch: the sum is held to those of the ends.
        values, (without, whole) = np.concatenate(found), ends
        all_of_them = np.concatenate([given.all(axis=1) for given in coalitions])[:, None]
        nobody = np.concatenate([~given.any(axis=1) for given in coalitions])[:, None]
        values = np.where(all_of_them, whole[sequence], np.where(nobody, without[sequence], values))
        return np.split(values, places)

    rngs = [np.random.default_rng(0) for _ in sizes]
    limits = [max(asked.usual_work[1], 4 * n) if asked.max_work is None else asked.max_work for n in sizes]
    yield from by_running(run, sizes, asked.tolerance, limits, rngs)


ASKED = "it was asked for"
"""The reason for a method that the user chose."""


def _splits_exactly(network: object, of: str) -> bool:
    try:
        reading = AffineReading(network)
        return reading.explains_logits and (of == "logit" or reading.activation is None) and reading.splits()
    except ValueError:
        return False


def _by_contributions(
    reading: Reading, choose: Callable[[Array], NDArray[np.int64]], asked: _Asked, reason: str
) -> _Split:
    network, step = reading.network, asked.step
    affine = AffineReading(network)
    activation = PROBABILITIES.get(affine.activation)
    if asked.of == "probability" and activation is not None:
        raise ValueError(
            f"Contributions are of the {UNITS[activation]}s before a {activation}, so of must be 'logit'. Received: "
            "method='contributions', of='probability'. Choose method='shapley'."
        )
    if not affine.explains_logits:
        reason = f"{reason}; of the outputs before their {last_activation(network) or 'activation'}"
    rows = as_array("The inputs", reading.arrays[0])
    if not rows.ndim or not len(rows):
        raise ValueError(f"The inputs must be at least one sequence (batch, time). Received: shape={rows.shape}.")
    if is_float(rows) and rows.ndim == 3:
        rows = without_unread(rows, np.ones(rows.shape[:2], bool))
    splits = [contributions(network, row, targets=step + 1 if step >= 0 else step) for row in rows]
    logits = np.stack([split.logits[0] for split in splits])
    top = np.asarray(choose(logits), np.int64)
    pairs = list(zip(splits, top, strict=True))
    shares = np.stack([split.values[1:, 0, outputs] for split, outputs in pairs])
    without_symbols = np.stack([(split.bias + split.values[0, 0])[outputs] for split, outputs in pairs])
    found = affine.outputs_at(rows, logits, step)
    difference = np.nan if found is None else np.abs(np.take_along_axis(found[1] - found[0], top, axis=1)).max()
    calls = () if affine.flow is None else affine.flow.recurrences
    read = None
    if all(value.kind in ("symbols", "vectors") for _, value in calls) and rows.ndim == 2:
        read = (rows != 0) | ~np.array(any(value.mask == "zero" for _, value in calls))
    players = players_of(asked.groups, np.ones(rows.shape[:2], bool))
    return _Split(
        shares=players.sums(shares),
        top=top,
        all_outputs=logits,
        reference_output=without_symbols,
        difference=float(difference),
        method="contributions",
        reason=reason,
        unit=UNITS.get(activation or "", ""),
        probabilities=None if activation is None else activated(logits, activation),
        read=None if read is None else players.read(read),
        players=players,
    )

"""Results as text for a terminal. Places without names count from 1, as in pages (`_results.nth`)."""

from __future__ import annotations

import functools
import math
import os
import textwrap
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from scipy.special import expit, softmax

from keras_interp_rnn._checks import is_proved
from keras_interp_rnn._io import in_terminal
from keras_interp_rnn._results import (
    FOR,
    as_text,
    class_name,
    named_output,
    nth,
    output_name,
    rgb,
    separator,
    symbol_name,
    text_of,
    visible,
)
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.attribution import AffineSurrogate, Attribution, ShareAgreement, ShareRanking
from keras_interp_rnn.analysis.fixed_points import CellFixedPoints
from keras_interp_rnn.analysis.interactions import Interactions
from keras_interp_rnn.analysis.isan.contributions import Contributions, WordContributions
from keras_interp_rnn.analysis.isan.spectra import TransitionSpectra
from keras_interp_rnn.analysis.jacobians import Derivatives
from keras_interp_rnn.analysis.patching import Patching
from keras_interp_rnn.analysis.phase_portraits import PhasePortrait
from keras_interp_rnn.analysis.state_regularized.explanation import Explanation
from keras_interp_rnn.analysis.state_regularized.phrases import Phrases
from keras_interp_rnn.analysis.state_regularized.prototypes import Prototypes
from keras_interp_rnn.analysis.substitutions import Substitutions
from keras_interp_rnn.analysis.surprise import Surprise, SurprisingEvent
from keras_interp_rnn.analysis.traces import Trace
from keras_interp_rnn.analysis.weighted.equivalence import Equivalence
from keras_interp_rnn.analysis.weighted.minimization import Minimization
from keras_interp_rnn.analysis.weighted.truncation import Truncation
from keras_interp_rnn.automata import DFA, Certificate, MooreMachine, WeightedAutomaton, tomita
from keras_interp_rnn.automata.inference import Evidence, Inference
from keras_interp_rnn.automata.machines import MIN_WORDS, Edit, Transitions, label_of_edge
from keras_interp_rnn.automata.networks import Agreement, Extraction, Fidelity, TrainingReport
from keras_interp_rnn.automata.queries import Learned
from keras_interp_rnn.views.tags import seen_errors

MIN_HELD_OUT = 10
"""Minimum number of held-out words for an interval of the fraction that is right."""

WORD = 60
"""Maximum number of characters of a word, which is cut if it is longer."""
PERCENTS = (0, 16, 50, 84, 100)
"""Percentiles of singular values."""
WIDTH = 24
"""Maximum number of signs of a bar."""
ITEMS = 15
"""Maximum number of lines about words, steps, symbols, lags or points."""
OUTPUTS = 4
"""Maximum number of outputs whose shares are ranked."""
QUESTIONS = 2
"""Number of words that are asked for a label."""
VALUES = 6
"""Maximum number of words whose values an automaton shows, of values of each, of edits and of transitions."""
INTERVAL = 1.96
"""Standard errors on each side of an estimate, of its 95 % interval."""
SMALL, ROUNDING = 0.01, 2**-20
"""Maximum gap of a sum, in parts of a change, and of rounding, in parts of the sizes of its terms. A probability nearer
to 0 or 1 than the first hardly changes."""
MISSED = 0.1
"""Maximum gap of the output of a surrogate, in parts of its change, for its pairs to be read."""
MAX_SYMBOLS, LINE = 4, 100
"""Maximum number of symbols of a state's largest edge that are listed, and of characters of a line of an edge."""


@as_text.register
def contributions(split: Contributions, *, target: int = -1, width: int = WIDTH) -> str:
    """A line for each source: its position, how far it moved the winner ahead of the runner-up, and a bar.

    Of a long text the strongest sources in the order of the text, and the sum of the others. If there is a single
    output, each line shows what the source added to it.
    """
    if not len(split.targets):
        return "Contributions of an empty text"
    first, second = split.winner(target)
    step, difference = int(split.targets[target]), split.logit_difference(target)
    p = softmax(split.logits[target])
    named = functools.partial(output_name, split.output_names or split.alphabet, num_outputs=split.logits.shape[1])
    winner, runner = named(first), named(second)
    read = text_of(split.alphabet, split.symbols[:step])
    if len(read) > WORD:
        read = f"…{read[1 - WORD :]}"
    if split.vectors:
        read = f"step {step}" if not split.times else split.times[step - 1]
    else:
        read = repr(read)
    if split.logits.shape[1] == 1:
        lines = [f"after {read}: {split.logits[target, 0]:.4f}", "position  source   share"]
        bias = float(split.bias[0])
    else:
        lines = [
            f"after {read}: {winner!r} {p[first]:.1%}, {runner!r} {p[second]:.1%}",
            f"position  source   nats for {named(first, again=True)!r} over {named(second, again=True)!r}",
        ]
        bias = float(split.bias[first] - split.bias[second])
    if split.given:
        lines.insert(1, f"exact given what {split.given} reads: the layers below it decide its gates")
    rows = [("", split.bias_name.split()[-1], bias)]
    strongest = list(range(step + 1))
    if step + 1 > ITEMS + 1:
        strongest = sorted(np.argsort(-np.abs(difference[: step + 1]), kind="stable")[:ITEMS].tolist())
        others = np.delete(difference[: step + 1], strongest)
        rows.append(("", f"{len(others)} others", float(others.sum())))
    rows += [(str(s or ""), split.source_name(s), float(difference[s])) for s in strongest]
    scale = max(float(np.abs(difference).max()), 1e-300)
    return "\n".join([*lines, *_bars(rows, scale, width)])


@as_text.register
def word_contributions(result: WordContributions) -> str:
    """The words that moved the last prediction most, in the order of the text."""
    norms = result.norms()
    if not norms.size:
        return "Contributions of no words"
    last = norms[:, -1]
    strongest = sorted(np.argsort(-last, kind="stable")[:ITEMS].tolist())
    lines = [f"norm in nats, last prediction: {len(strongest)} of {len(last)} words"]
    return "\n".join(lines + [f"{visible(result.names[i]):16} {last[i]:9.4f}" for i in strongest])


@as_text.register
def surprise(result: Surprise) -> str:
    """The most surprising sessions, by their mean surprise, and the most surprising events with their shares."""
    means, totals = result.scores(), result.scores("total")
    ranked = result.ranked()[:ITEMS].tolist()
    lines = [
        f"{len(result):,} sessions, {means.mean():.3f} nats per event in the mean; the most surprising:",
        "session  events  nats per event     total",
        *(f"{i + 1:>7}  {len(result.symbols[i]):>6}  {means[i]:>14.3f}  {totals[i]:>8.3f}" for i in ranked),
    ]
    return "\n\n".join(["\n".join(lines), *map(as_text, result.events)])


@as_text.register
def surprising_event(result: SurprisingEvent) -> str:
    """The event that came and the expected one, and a line for each event before: its share in the log-odds."""
    lines = [
        f"{nth('event', result.position)} of {nth('session', result.session)}: {result.name(result.came)!r} came "
        f"({math.exp(-result.nats):.2g}), {result.name(result.expected)!r} was expected "
        f"({math.exp(-result.expected_nats):.1%})"
    ]
    if not len(result.symbols):
        return lines[0]
    exact = f"residual {result.residual:.1e}" if result.method == "contributions" else "they need not sum"
    lines += [f"position  event  nats for {result.name(result.expected)!r}   (by {result.method}: {exact})"]
    size = np.abs(np.where(np.isfinite(result.shares), result.shares, 0))
    strongest = sorted(np.argsort(-size, kind="stable")[:ITEMS].tolist())
    scale = max(float(size.max()), 1e-300)
    rows = [(str(t + 1), result.name(int(result.symbols[t])), float(result.shares[t])) for t in strongest]
    if len(result.shares) > len(strongest) and result.method == "contributions":
        rows.insert(0, ("", "others", float(np.delete(result.shares, strongest).sum())))
    if not math.isnan(result.rest):
        rows.insert(0, ("", "none", result.rest))
    return "\n".join([*lines, *_bars(rows, scale)])


@as_text.register
def attribution(result: Attribution) -> str:
    """The steps with the largest shares of the first sequence, in its order, and the sum of the other steps.

    Each line also has half the width of the 95 % interval of an estimate, that of the sum at most so much, and the
    feature with the largest share of the step, if there are features. Sequences, steps and features count from 1;
    `Attribution.top` returns indices.
    """
    if not len(result.shares):
        return "Shares of no sequence"
    num_places = result.shares.shape[1]
    shares = result.shares[0].reshape(num_places, -1)
    margins = INTERVAL * seen_errors(result)[0].reshape(shares.shape)
    estimated = result.standard_error is not None and bool(result.standard_error[0].any())
    strongest = sorted(place for place, _ in result.top(ITEMS))
    rows = shares[strongest]
    scale = float(np.abs(rows).max(initial=0)) or 1e-300
    features = None if result.features is None else result.features[0].reshape(num_places, -1, rows.shape[1])
    several = features is not None and features.shape[1] > 1
    others = np.delete(np.arange(num_places), strongest)
    # Errors are correlated: that of a sum is at most their sum, and as the total is exact, at most that of the rest.
    most = np.minimum(margins[others].sum(axis=0), margins[strongest].sum(axis=0))
    masked = set() if result.read is None else set(np.flatnonzero(~result.read[0]).tolist())
    wide = max(8, len(f"{len(others)} others"))
    place = "group" if result.groups is not None else "position" if result.tokens and not result.vectors else "step"
    head = "time" if result.vectors else "read"
    names = result.tokens[0] if result.tokens else ("",) * num_places
    longest = max([len(head), *(len(names[i]) for i in strongest)]) if result.tokens else 0
    wide_name = min(max(longest, 6), WORD // 2)

    def cell(share: float, margin: float) -> str:
        around = f" ± {margin:<8.2g}" if margin else " " * 11
        return f"{share:+10.3g}{around if estimated else ''}"

    def line(at: str, name: str, shares: Array, margins: Array) -> str:
        read = f"{name:{wide_name}} " if result.tokens else ""
        cells = " ".join(cell(*pair) for pair in zip(shares.tolist(), margins.tolist(), strict=True))
        return f"{at:>{wide}}  {read}{cells}"

    column = 21 if estimated else 10
    if rows.shape[1] == 1:
        heads = f"{'share':>10}"
    else:
        heads = " ".join(
            f"{_short(named_output(result, i, again=True), 10):>10}{'':{column - 10}}" for i in result.targets[0]
        )
    read = f"{head:{wide_name}} " if result.tokens else ""
    more = "  feature, its share" if several else ""
    lines = [
        f"{nth('sequence', 0)} of {len(result.shares)}, {_explained(result)}",
        f"{_method(result, estimated)}: {result.reason}{_sum(result)}",
        *_saturated(result),
        f"{place:>{wide}}  {read}{heads}{more} {_unit(result)}",
    ]
    if len(others):
        hidden = len(masked.intersection(others.tolist()))
        note = f"  {hidden} of them masked" if hidden else ""
        note = f"{note}  ±: at most" if most.any() else note
        rest = line(f"{len(others)} others", "", shares[others].sum(axis=0), most)
        lines.append(f"{rest}{note}".rstrip())
    for i, row in zip(strongest, rows, strict=True):
        text = line(str(i + 1), names[i], row, margins[i])
        if several and features is not None:
            feature = int(np.abs(features[i, :, 0]).argmax())
            name = _short(result.feature_names[feature], 16) if result.feature_names else f"{feature + 1}"
            text += f"  {name:>7} {features[i, feature, 0]:+11.3g}"
        if i in masked:
            text += "  masked"
        lines.append(f"{text}  {_bar(row[0] / scale)}".rstrip() if len(row) == 1 else text.rstrip())
    return "\n".join(lines)


def _short(name: str, width: int) -> str:
    """A name cut off to a width."""
    return name if len(name) <= width else f"{name[: width - 1]}…"


def _unit(result: Attribution) -> str:
    """The whole that shares are parts of, and its unit: "of the log-odds, in nats"."""
    if result.targets.ndim == 1:
        return f"of {_in_nats(result.unit or 'output')}"
    plural = {"": "outputs", "logit": "logits", "probability": "probabilities"}
    return f" shares of {_in_nats(plural.get(result.unit, result.unit))}"


def _in_nats(unit: str) -> str:
    """A unit of a result in words: "the log-odds, in nats"."""
    return f"the {unit}{', in nats' if unit in ('logit', 'logits', 'log-odds') else ''}"


def _explained(result: Attribution) -> str:
    """The outputs of the first sequence, with and without its steps: "output 1 (index 0): log-odds 3.2100"."""
    found = []
    targets, output, without = (np.ravel(x[0]) for x in (result.targets, result.output, result.reference_output))
    probability = [None] * len(targets) if result.probability is None else np.ravel(result.probability[0]).tolist()
    for target, value, start, part in zip(targets, output, without, probability, strict=True):
        unit = f"{result.unit} " * bool(result.unit)
        whole, nothing = _ends(value, start, result.unit)
        known = "" if part is None else f", probability {chance(part)}"
        found.append(f"{named_output(result, target)}: {unit}{whole}{known}, and {nothing} without any step")
    return "; ".join(found)


def _ends(output: float, reference_output: float, unit: str) -> tuple[str, str]:
    """An output and that without any step, with the digits that tell them from 0, from 1 and from each other."""
    scale = max(abs(output), abs(reference_output))

    def digits(value: float, other: float) -> str:
        if unit == "probability" and not SMALL <= value <= 1 - SMALL:
            return chance(value)
        sizes = [size for size in (abs(value), abs(value - other)) if size > ROUNDING * scale]
        decimals = max(4, 1 - math.floor(math.log10(min(sizes)))) if sizes else 4
        return f"{value:.{decimals}f}" if decimals <= 8 else f"{value:.2g}"

    return digits(output, reference_output), digits(reference_output, output)


def _method(result: Attribution, estimated: bool) -> str:
    if result.method != "shapley":
        return f"by {result.method.replace('_', ' ')}"
    return "Shapley values, ±: 95 % interval" if estimated else "exact Shapley values"


def _sum(result: Attribution) -> str:
    """How far the sums of the shares are from the changes of the outputs."""
    changes, missed = np.abs(result.output - result.reference_output), result.residuals
    sizes = np.abs(result.shares).sum(axis=1) + np.abs(result.output) + np.abs(result.reference_output)
    far = (missed > SMALL * changes + ROUNDING * sizes).reshape(len(changes), -1)
    of_first = np.ravel(missed[0])
    text = f"; residual of the sum {of_first.max():.1e}"
    if far[0].any():
        worst = int(np.where(far[0], of_first, 0).argmax())
        name = (
            named_output(result, np.ravel(result.targets[0])[worst], again=True) if len(of_first) > 1 else "the output"
        )
        change = float(np.ravel(changes[0])[worst])
        text = f"; the shares miss the change of {name} by {of_first[worst]:.2g} of {change:.2g}"
    rest = int(far[1:].any(axis=1).sum())
    if rest:
        text += f"; {rest} of the other sequences miss{'es' * (rest == 1)} more than 1 % of the change"
    return text


def _saturated(result: Attribution) -> list[str]:
    """A sentence where a probability of the first sequence is near 0 or 1."""
    found = result.output if result.unit == "probability" else result.probability
    if found is None:
        return []
    parts = np.ravel(found[0]).tolist()
    near = [k for k, part in enumerate(parts) if not SMALL <= part <= 1 - SMALL]
    if not near:
        return []
    name = f" of {named_output(result, np.ravel(result.targets[0])[near[0]], again=True)}" if len(parts) > 1 else ""
    return [_near_certainty(f"{chance(parts[near[0]])}{name}", result.unit, "the shares say what moved")]


def _near_certainty(probability: str, unit: str, moved: str) -> str:
    """A sentence about a probability near 0 or 1 and a unit in which it is split."""
    if unit == "probability":
        return f"a probability of {probability} hardly changes, whatever is read: split the logit instead (of='logit')"
    return f"{moved} the {unit}, which a probability of {probability} hardly shows any more"


def chance(part: float) -> str:
    """A probability, with the digits that tell it from 0 and 1."""
    near = min(part, 1 - part)
    if near >= SMALL:
        return f"{part:.3f}"
    if near < 1e-6:
        return "above 0.999999" if part > 0.5 else "below 0.000001"
    return f"{part:.{1 - math.floor(math.log10(near))}f}"


@as_text.register
def interactions(result: Interactions) -> str:
    """The pairs with the largest interactions, in words, each with a bar."""
    pairs = result.top(ITEMS)
    count = int(result.players.sum())
    unit = f" in {_in_nats(result.unit)}" if result.unit else ""
    whole, nothing = _ends(result.output, result.reference_output, result.unit)
    lines = [
        f"{result.output_name}: {whole}, {nothing} without any step",
        f"{result.index.capitalize()} interactions{unit}, {how_exact(result)}",
    ]
    part = {"probability": result.output, "log-odds": float(expit(result.output))}.get(result.unit)
    if part is not None and not SMALL <= part <= 1 - SMALL:
        lines.append(_near_certainty(chance(part), result.unit, "the pairs say what steps change together in"))
    if not pairs:
        return "\n".join([*lines, f"no pair among {counted(count, result.kind)} that can be there or not"])
    lines += _trust(result)
    num_pairs = count * (count - 1) // 2
    most = (
        f"the {len(pairs)} strongest of {num_pairs:,} pairs" if num_pairs > len(pairs) else counted(num_pairs, "pair")
    )
    lines.append(f"{most}; below 0 they add less together than apart, above 0 more")
    named = [f"{step_in_words(result, i)} with {step_in_words(result, j)}:" for i, j, _ in pairs]
    rounding = ROUNDING * (abs(result.output) + abs(result.reference_output))
    wide, scale = max(map(len, named)), max(abs(pairs[0][2]), rounding, 1e-300)
    decimals = max(0, min(2 - math.floor(math.log10(scale)), 9))
    for name, (_, _, value) in zip(named, pairs, strict=True):
        lines.append(f"{name:{wide}}  {value:+.{decimals}f}  {_bar(value / scale)}".rstrip())
    return "\n".join(lines)


def how_exact(result: Interactions) -> str:
    """Whether interactions are exact, and why; or how well the surrogate explains the network."""
    if result.r_squared is None:
        return f"exact: {result.reason}"
    return f"of an affine surrogate that explains {_percent(result.r_squared)} of the variance over coalitions"


def _trust(result: Interactions) -> list[str]:
    """How far the pairs of a surrogate are to be trusted."""
    if result.surrogate_output is None:
        return []
    missed, change = abs(result.output - result.surrogate_output), abs(result.output - result.reference_output)
    if missed > MISSED * change + ROUNDING * abs(result.output):
        return [
            f"the surrogate misses the output by {missed:.2g} of a change of {change:.2g}: do not rely on its pairs"
        ]
    return ["estimates: pairs are small differences of outputs, and may be off by much more than the outputs are"]


def step_in_words(result: Interactions, step: int) -> str:
    """The name of what is read at a step, with its position if it occurs twice; the number of a step of vectors.

    With groups those of a group.
    """
    if not result.tokens:
        return nth(result.kind, step)
    name = result.tokens[step]
    return f'"{name}" ({step + 1})' if result.tokens.count(name) > 1 else f'"{name}"'


@as_text.register
def share_ranking(result: ShareRanking) -> str:
    """A line for each of the first tokens: how often it is read, and its mean absolute and its mean share.

    Of several outputs the first ones have some lines each.
    """
    outputs = np.unique(result.outputs)
    shown = outputs[:OUTPUTS]
    if not len(outputs):
        return f"Shares of no {result.kind}"
    lines = [
        f"mean shares by {result.kind}{f', in {result.unit}' if result.unit else ''}, "
        f"{counted(result.num_sequences, 'sequence')}; ± standard error over sequences"
    ]
    rows = [np.flatnonzero(result.outputs == output) for output in shown]
    limit = ITEMS if len(shown) == 1 else ITEMS // len(shown) - 1
    wide = max(len(result.kind), *(len(result.names[i]) for of_output in rows for i in of_output[:limit]))
    wide = min(wide, WORD // 2)
    head = f"{result.kind:{wide}}   count   mean |share|           mean share"
    for output, of_output in zip(shown, rows, strict=True):
        if len(shown) > 1:
            lines.append(f"{named_output(result, output)}:")
        lines += [head] if output == shown[0] else []
        for i in of_output[:limit]:
            name = _short(result.names[i], wide)
            absolute = _with_error(result.mean_absolute[i], result.standard_error_absolute[i], "")
            signed = _with_error(result.mean[i], result.standard_error[i], "+")
            lines.append(f"{name:{wide}} {result.counts[i]:>7,}   {absolute:20} {signed}".rstrip())
    left = len(result.names) - sum(min(limit, len(of_output)) for of_output in rows)
    more = f", of {counted(len(outputs) - len(shown), 'further output')} too" if len(outputs) > len(shown) else ""
    return "\n".join([*lines, *([f"and {left:,} more{more}"] if left else [])])


def _with_error(value: float, error: float, sign: str) -> str:
    return f"{value:{sign}.3g}{f' ± {error:.2g}' if math.isfinite(error) else ''}"


@as_text.register
def share_agreement(result: ShareAgreement) -> str:
    """How far all shares agree, and a line for each of the sequences that agree least."""
    first, second = (method.replace("_", " ") for method in result.methods)
    overall = zip(np.ravel(result.overall_correlation), np.ravel(result.overall_rank_correlation), strict=True)
    largest = result.same_largest[np.isfinite(result.same_largest)]
    apart = result.difference[np.isfinite(result.difference)]
    lines = [
        f"{first} and {second}, {counted(len(result.correlation), 'sequence')}: shares of all steps correlate "
        + ", ".join(f"{pearson:.3f} (their ranks {ranks:.3f})" for pearson, ranks in overall),
        f"the largest share is that of the same step in {int(largest.sum())} of {len(largest)}",
    ]
    if len(apart):
        lines.append(f"they differ by {apart.mean():.1%} of the range of the first ones, in the mean")
    if not result.correlation.size:
        return lines[0]
    table = [x.reshape(len(x), -1) for x in (result.correlation, result.rank_correlation, result.difference)]
    worst = np.argsort(-np.nan_to_num(table[2], nan=-1).max(axis=1), kind="stable")[: ITEMS // 3]
    lines += ["the sequences that differ most:", "sequence  correlation  of ranks  difference"]
    for i in worst:
        numbers = zip(*(x[i] for x in table), strict=True)
        cells = ";  ".join(
            f"{pearson:11.3f}  {ranks:8.3f}  {difference:10.1%}" for pearson, ranks, difference in numbers
        )
        lines.append(f"{i + 1:>8}  {cells}")
    return "\n".join(lines)


@as_text.register
def affine_surrogate(result: AffineSurrogate) -> str:
    """To what it was fitted, what it explains, and that it is no more than that."""
    steps = counted(len(result.word), "step" if result.groups is None else "group")
    percent = _percent(result.r_squared)
    unseen = f"over {result.num_held_out} coalitions that it has not seen, the text and the empty one"
    output = named_output(result, result.target)
    unit = f" ({result.unit})" if result.unit else ""
    fitted = f"{counted(result.num_runs, 'run')} along this text"
    if not result.num_held_out:
        fitted, unseen = f"all {counted(result.num_runs, 'coalition')} of this text", "over them"
    return "\n".join(
        [
            f"an affine network fitted to {fitted}, {steps}; explains {percent} of the variance "
            f"{unseen}; what it misses is not in its numbers",
            f"{output}{unit}: {result.output:.4f} by the network, {result.surrogate_output:.4f} by the surrogate, of "
            f"rank {result.rank}",
        ]
    )


def _percent(r_squared: float) -> str:
    """R^2 in percent, with as many digits as it takes not to be 100; "none" where nothing is explained."""
    if r_squared <= 0:
        return "none"
    digits = next((d for d in range(1, 7) if round(100 * r_squared, d) < 100), None)
    return "100 %" if digits is None else f"{100 * r_squared:.{digits}f} %"


@as_text.register
def patching(result: Patching) -> str:
    """The outputs, and a line for each quantity: the step at which it has the largest effect."""
    wide = max(len("quantity"), *map(len, result.names))
    lines = [
        f"{counted(len(result.clean), 'pair')}, mean output {result.corrupted.mean():.4g} corrupted, "
        f"{result.clean.mean():.4g} clean",
        f"{'quantity':{wide}}  step      effect  restored",
    ]
    for name, effects, restored in list(zip(result.names, result.effects, result.restored, strict=True))[:ITEMS]:
        step = int(np.nan_to_num(np.abs(effects)).argmax())
        share, bar = "–", ""
        if np.isfinite(restored[step]):
            share, bar = f"{restored[step]:.1%}", _bar(float(np.clip(restored[step], -1, 1)))
        lines.append(f"{name:{wide}}  {step + 1:4}  {effects[step]:+10.3g}  {share:>8}  {bar}".rstrip())
    return "\n".join(lines)


@as_text.register
def phase_portrait(result: PhasePortrait) -> str:
    """A line for each symbol: its slope, how far points are from it, its fixed point, its time constants."""
    lines = ["symbol         slope  residual  fixed point  time constants (steps)"]
    for name, slope, residual, point, constants in portrait_rows(result):
        lines.append(f"{name:12} {slope:>8}{residual:>10}{point:>13}  {constants}")
    return "\n".join(lines)


def portrait_rows(result: PhasePortrait) -> list[tuple[str, ...]]:
    """The name, slope, residual, fixed point and time constants of each symbol, as text."""
    numbers = np.stack([result.slopes, result.residual, result.fixed_points], axis=1).tolist()
    return [
        (
            result.name(symbol),
            *("–" if math.isnan(x) else f"{x:{form}}" for x, form in zip(row, ("+.3f", ".1e", "+.3f"), strict=True)),
            " ".join(map(_time_constant, result.time_constants[symbol][:VALUES])),
        )
        for symbol, row in enumerate(numbers)
    ]


def _time_constant(value: float) -> str:
    """A time constant; a direction that does not decay has none."""
    if abs(value) > 1e12:  # an eigenvalue of 1 but for rounding
        return "none (unchanged)"
    return f"none (grows by e in {-value:.3g})" if value < 0 else f"{value:.3g}"


@as_text.register
def cell_fixed_points(result: CellFixedPoints) -> str:
    """The number of points, and a line for each number of unstable directions."""
    head = (
        f"{counted(len(result.states), 'fixed point')}, {int(result.attracts.sum())} of which attract; residual "
        f"{result.residual:.1e}, reached from {result.num_converged:,} starts"
    )
    counts = sorted(Counter(result.num_unstable.tolist()).items())
    lines = [f"{count:5} with {counted(unstable, 'unstable direction')}" for unstable, count in counts[:ITEMS]]
    return "\n".join([head, *lines])


@as_text.register
def explanation(explained: Explanation, *, colors: bool | None = None) -> str:
    """The text, on a background that is bluer for higher probabilities, or with the probabilities in brackets."""
    if colors is None:
        colors = in_terminal() and not os.environ.get("NO_COLOR")
    tokens = list(zip(map(visible, explained.tokens), explained.weights.tolist(), strict=True))
    if colors:
        text = " ".join(_shaded(token, weight) for token, weight in tokens)
    else:
        text = " ".join(f"{token} ({weight:.2f})" if weight >= 0.5 else token for token, weight in tokens)
    unregularized = [explained.tokens[i] for i in np.flatnonzero(np.isnan(explained.alpha).any(axis=1))]
    note = f"; read without centroids: {', '.join(map(visible, unregularized))}" if unregularized else ""
    return f"{class_name(explained.class_names, explained.prediction)}: {text}{note}"


@as_text.register
def prototypes(table: Prototypes) -> str:
    """Table 6 of the paper: a line for each centroid in use; ties go to the more frequent token."""
    names = [class_name(table.class_names, label).removeprefix("class ") for label in table.classes]
    wide = max(5, *map(len, names))
    lines = [f"centroid  {'class':>{wide}}  share  tokens (transition probability)"]
    for i in np.argsort(-table.share):
        if table.share[i] > 0:
            words = " ".join(f"{visible(token)} ({p})" for token, p in distinguishable(table.tokens[i]))
            lines.append(f"{i:8d}  {names[i]:>{wide}}  {table.share[i]:5.1%}  {words}")
    return "\n".join(lines)


@as_text.register
def phrases(best: Phrases) -> str:
    """A line for each class, with its first three phrases."""
    lines = []
    for label, ranked in best.items():
        first = [f"{phrase} ({probability})" for phrase, probability in distinguishable(ranked)[:3]]
        rest = [f"{len(ranked) - 3} more"] if len(ranked) > 3 else []
        lines.append(f"{class_name(best.class_names, label)}: {', '.join(first + rest)}")
    return "\n".join(lines) or "no phrases"


@as_text.register
def trace(traced: Trace) -> str:
    """A line for each quantity: its shape and its range."""
    width = max(map(len, traced), default=0)
    lines = []
    for name, values in traced.items():
        known = values[~np.isnan(values)]
        span = f"{known.min():.4g} to {known.max():.4g}" if known.size else "nothing known"
        lines.append(f"{name:{width}}  {'x'.join(map(str, values.shape))}  {span}")
    return "\n".join(lines)


@as_text.register
def substitutions(changed: Substitutions) -> str:
    """The replacements that change the prediction most."""
    _, usual = changed.probabilities()
    first, single = int(usual.argmax()), len(usual) == 1
    named = functools.partial(output_name, changed.output_names or changed.alphabet, first, len(usual))
    output, prediction = f"the probability of {named(again=True)!r}", f"{named()} {usual[first]:.1%}"
    if single:
        output = changed.output_names[0] if changed.output_names else "the output"
        prediction = f"{usual[0]:.4f}"
    read = text_of(changed.alphabet, changed.symbols if changed.read is None else changed.symbols[changed.read])
    if len(read) > WORD:  # cut between words, if there are any
        read = f"…{read[1 - WORD :].partition(' ')[2] or read[1 - WORD :]}"
    lines = [f"after {read!r}: {prediction}", f"position  symbol  instead  change of {output}"]
    strongest = changed.top(ITEMS)
    scale = max((abs(change) for *_, change in strongest), default=0) or 1e-300
    for position, symbol, change in strongest:
        value = f"{change:+.4g}" if single else f"{change:+.1%}"
        symbols = f"{changed.name(int(changed.symbols[position])):6}  {changed.name(symbol):7}"
        lines.append(f"{position + 1:8}  {symbols}  {value:>8}  {_bar(change / scale)}")
    return "\n".join(lines)


@as_text.register
def jacobians(values: Derivatives) -> str:
    """The percentiles of singular values, a line for each lag; any other derivatives as an array."""
    array = np.asarray(values)
    if not values.lags:
        return np.array2string(array)
    percentiles = np.percentile(array.reshape(len(values.lags), -1), PERCENTS, axis=1).T
    lines = [f"singular values by {values.method}, percentiles", " lag" + "".join(f"{p:>9} %" for p in PERCENTS)]
    for lag, row in zip(values.lags, percentiles.tolist(), strict=True):
        lines.append(f"{lag:4}" + "".join(f"{value:11.3g}" for value in row))
    return "\n".join(lines[: ITEMS + 3])


@as_text.register
def agreement(result: Agreement) -> str:
    """The number of words on which network and automaton agree, and a word on which they do not."""
    if result.up_to is None:
        text = f"{result.agreeing:,} of {result.words:,} words ({result.low:.4%} to {result.high:.4%})"
    else:
        text = f"{result.agreeing:,} of all {result.words:,} words up to length {result.up_to}"
    return text if result.disagreement is None else f"{text}, not on {word(result.disagreement)!r}"


@as_text.register
def fidelity(result: Fidelity) -> str:
    """A line for each of the three kinds of words."""
    return (
        f"short words: {as_text(result.short)}\nrandom long words: {as_text(result.long)}\n"
        f"searched words: {as_text(result.searched)}"
    )


@as_text.register
def extraction(result: Extraction) -> str:
    """One line: states, the least confidence, transitions that no word takes."""
    known = result.confidence[~np.isnan(result.confidence)]
    least = f"{known.min():.4f}" if known.size else "none"
    sink = "" if result.dfa.is_complete else " with a rejecting sink for the missing transitions"
    support = ""
    if result.unsupported is not None:
        support = f"; {len(result.unsupported):,} of {result.support.size:,} transitions are taken by no word"
    minimal = len(result.dfa.minimize())
    return (
        f"{counted(len(result.dfa), 'state')} by {result.method}, {minimal} after minimization{sink}; least confidence "
        f"of a transition {least}{support}"
    )


@as_text.register
def learned(result: Learned) -> str:
    """States, words, whether a difference is known, and the fidelity on fresh words; it is never a proof."""
    early = f", {'' if result.finished else 'NOT to the end, '}{result.reason}"
    counterexamples = counted(len(result.counterexamples), "counterexample")
    asked = f"learned from {counted(result.num_words, 'word')} in {result.seconds:.1f} s{early}, {counterexamples}"
    known = "no difference found" if result.difference is None else f"differs on {word(result.difference)!r}"
    fresh = f"{result.fresh.agreeing:,} of {counted(result.fresh.words, 'fresh word')}"
    interval = f" ({result.fresh.low:.2%} to {result.fresh.high:.2%})" if result.fresh.words else ""
    return (
        f"{counted(len(result.dfa), 'state')} {asked}\n{known}; agrees on {fresh} up to length "
        f"{result.max_length}{interval}; no proof"
    )


@as_text.register
def training_report(report: TrainingReport) -> str:
    """Whether the network learned, from how many words, its accuracy, and the evidence of the words."""
    reason = f", {report.reason}" if report.reason and not report.learned else ""
    head = f"{'learned' if report.learned else 'NOT learned'}{_words(report)}{reason}"
    equal = report.network_accuracy == report.automaton_accuracy
    network = "" if equal else f" (network {report.network_accuracy:.2%})"
    rest = [f"least confidence {report.confidence:.4f}", counted(report.num_attempts, "attempt")]
    return f"{'; '.join([*_evidence(head, report, network), *rest])}, {report.seconds:.0f} s"


CUT_OFF = {
    "time": "time ended a search before it was complete: a better automaton may exist, and another run may find one",
    "work": "max_work ended a search before it was complete: a better automaton may exist",
}
"""The sentence of an inference of which a search was cut off."""


@as_text.register
def inference(result: Inference, *, edges: bool = True) -> str:
    """How the automaton was found, from how many words, its accuracy, the evidence of the words, and its edges.

    An edge has the number of times that words take it, and symbols with which no word takes it are in parentheses.
    """
    lines = ["; ".join(_evidence(f"found by {result.method}{_words(result)}", result))]
    if result.cut_off:
        lines[0] += f"; {CUT_OFF[result.cut_off]}"
    if edges:
        lines += _edges(result.dfa, result.unsupported, result.support.tolist())
    return "\n".join(lines)


@as_text.register(MooreMachine)
def automaton(machine: MooreMachine) -> str:
    """Its size, and the edges of each state."""
    sizes = f"{counted(len(machine), 'state')}, {counted(len(machine.alphabet), 'symbol')}"
    missing = "" if machine.is_complete else "; a word without a transition is rejected"
    return "\n".join([f"{type(machine).__name__}: {sizes}{missing}", *_edges(machine)])


def _edges(
    machine: MooreMachine, unsupported: Transitions = (), support: Sequence[Sequence[int]] | None = None
) -> list[str]:
    """A line for each state, with its output, and below it one for each edge, with all of its symbols.

    If the edge of most symbols has many, "every other symbol" takes their place.
    """
    lines, untaken, place = [], set(unsupported), {symbol: i for i, symbol in enumerate(machine.alphabet)}
    edges = machine.edges()
    for state, output in enumerate(machine.outputs):
        kind = ("accepting" if output else "rejecting") if isinstance(machine, DFA) else f"output {output!r}"
        lines.append(f"state {state}, {'start, ' if state == machine.start else ''}{kind}")
        leaving = {target: symbols for (source, target), symbols in edges.items() if source == state}
        largest = max(leaving, key=lambda target: len(leaving[target]), default=None)
        is_complete = sum(map(len, leaving.values())) == len(machine.alphabet)
        for target, symbols in leaving.items():
            taken = [symbol for symbol in symbols if (state, symbol) not in untaken]
            never = len(symbols) - len(taken)
            if target == largest and len(symbols) > MAX_SYMBOLS and is_complete:
                shown = "every symbol" if len(leaving) == 1 else "every other symbol"
                shown += f" ({never:,} of {len(symbols):,} taken by no word)" * bool(never)
            else:
                shown = label_of_edge(symbols, taken)
            times = "" if support is None else f": {counted(sum(support[state][place[s]] for s in symbols), 'time')}"
            text = f"to {target} by {shown}{times}"
            lines += textwrap.wrap(text, LINE, initial_indent=4 * " ", subsequent_indent=8 * " ")
    return lines


def _words(evidence: Evidence) -> str:
    if not evidence.num_words:
        return ""
    copies = f" ({evidence.num_labels:,} in all)" if evidence.num_labels > evidence.num_words else ""
    return f" from {counted(evidence.num_words, 'different word')}{copies}"


def _evidence(head: str, evidence: Evidence, more: str = "") -> list[str]:
    """The evidence of words for an automaton, in parts of a sentence."""
    accepting = "" if evidence.accepted == 1 else f" that accepts {evidence.accepted!r}"  # True is 1 too
    parts = [
        f"{head}: automaton of {counted(evidence.num_states, 'state')}{accepting}, balanced accuracy "
        f"{evidence.automaton_accuracy:.2%}{more}"
    ]
    if evidence.num_words:
        parts.append(_held_out(evidence))
    if evidence.num_contradicted:
        low, high = evidence.label_noise_interval
        parts.append(
            f"contradicts {evidence.num_contradicted:,} of {counted(evidence.num_labels, 'label')} "
            f"({evidence.label_noise:.2%}; {low:.2%} to {high:.2%})"
        )
    if evidence.num_transitions:
        taken = evidence.num_transitions - len(evidence.unsupported)
        parts.append(f"{taken:,} of {counted(evidence.num_transitions, 'transition')} taken by your words")
    if evidence.rare:
        machine = getattr(evidence, "dfa", None)
        parts.append(f"only one or two words take {_transitions(evidence.rare, machine)}")
    if evidence.questions:
        shown = ", ".join(_quoted_word(word) for word in evidence.questions[:QUESTIONS])
        parts.append(f"to be labelled next: {shown}")
    return parts


def _quoted_word(word: Sequence[Hashable]) -> str:
    """A word in quotes, cut if it is long; its symbols apart unless all are single characters."""
    text = separator(word).join(visible(str(symbol)) for symbol in word)
    return repr(text if len(text) <= WORD else f"…{text[1 - WORD :]}")


def _held_out(evidence: Evidence) -> str:
    """The number of held-out words and of right answers, with an interval if there are enough."""
    if not evidence.num_held_out:
        return "held out no word"
    right = round(evidence.num_held_out * evidence.held_out_accuracy)
    text = f"held out {counted(evidence.num_held_out, 'word')}, right on {right:,}"
    if evidence.num_held_out < MIN_HELD_OUT:
        return text
    low, high = evidence.held_out_interval
    return f"{text} ({low:.1%} to {high:.1%})"


def counted(number: int, noun: str) -> str:
    """A number with its noun in singular or plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@as_text.register
def certificate(result: Certificate) -> str:
    """Five lines: the verdict, what is proved, of which network, by what margins, under which assumptions.

    The states are those that are drawn, one for each centroid that a word reaches; equivalent ones may be among them.
    """
    size, minimal = len(result.path), len(result.dfa.minimize())
    article = "An" if size in (8, 11, 18) or 80 <= size < 90 else "A"
    merged = f", {minimal} when equivalent ones are merged" if minimal < size else ""
    if not is_proved(result):
        why = result.failure or f"`holds` is {result.holds!r}"
        return f"Not yet proved for every word at temperature {result.temperature:g}.\nWhy: {why}."
    lines = [
        f"{article} {size}-state automaton{merged}, proved for every word at temperature {result.temperature:g}.",
        f"What: on every word, however long, the network agrees with {_named(result.dfa)}.",
    ]
    state, column = np.unravel_index(np.argmin(result.margins), np.shape(result.margins))
    place = f"from centroid {result.centroids[state]} by {visible(str(result.path.alphabet[column]))}"
    moves, decisions = np.min(result.margins), np.min(result.decision_margins)
    lines.append(f"Margins: at least {moves:.2f} nats for a move ({place}), {decisions:.2g} for a decision.")
    if result.proved is not None:
        proved = result.proved
        cell, reached = type(proved.equations).__name__, len(result.centroids)
        network = f"Of: a {cell} of {np.shape(proved.centroids)[1]} units in {proved.dtype}, of whose "
        network += f"{counted(len(proved.centroids), 'centroid')} a word reaches {reached}"
        sure = f"; the right one has all of the probability but {result.epsilon:.1g}" if result.epsilon else ""
        lines.insert(2, f"{network}{sure}. Deploy `certificate.network()`, which has these numbers.")
    errors = result.function_errors.values()
    within = f"; on this machine they are within 2^{math.ceil(math.log2(max(errors)))}" if errors else ""
    lines.append(f"Assumed: IEEE arithmetic, and tanh, sigmoid and exp within 2^-20 of their values{within}.")
    return "\n".join(lines)


def _named(automaton: MooreMachine) -> str:
    """The name of the language of an automaton, or its alphabet."""
    if isinstance(automaton, DFA) and {*automaton.alphabet} == {"0", "1"}:
        for number in range(1, 8):
            if automaton.equivalent(tomita(number)):
                return f"Tomita's automaton {number}"
    symbols = ", ".join(visible(str(symbol)) for symbol in automaton.alphabet[:6])
    return f"the automaton over {symbols}{' ...' if len(automaton.alphabet) > 6 else ''}"


@as_text.register
def equivalence(result: Equivalence) -> str:
    """Equal, with the bound and the words that it covers; different, with a witness; or undecided."""
    words = "all words" if result.max_length is None else f"all words of at most {result.max_length} symbols"
    if result.witness is not None:
        which = "a shortest word" if result.is_shortest else "a word"
        after = repr(word(result.witness)) if result.witness else "no symbol"
        return f"different: by {result.difference:.3g} after {after}, {which} that tells them apart"
    if result.equal:
        how = "in exact arithmetic" if result.exact else f"to {result.bound:.1e}"
        return f"equal on {words}, {how}"
    proved = f"equal to {result.tolerance:g} on {words}" if result.max_length != -1 else "nothing is proved"
    return (
        f"undecided: {proved}; the largest difference on {result.num_tried:,} words tried was {result.difference:.1e}; "
        "no bound within the tolerance was found for longer words, which also happens where states contract"
    )


@as_text.register
def truncation(result: Truncation) -> str:
    """One line: the sizes and the errors."""
    bits = f"; {result.bits_before:.4f} bits per symbol became {result.bits_after:.4f}"
    return (
        f"{result.units} of {result.units_before} units: logits differ by {result.logit_error:.2g} nats (root mean "
        f"square), at most {result.residual:.2g}, on the sequences; nothing is proved of others"
        f"{'' if math.isnan(result.bits_before) else bits}"
    )


@as_text.register
def minimization(result: Minimization) -> str:
    """One line: the sizes, the difference of the outputs, and the singular values at the cut."""
    words = "all words" if result.max_length is None else f"all words of at most {result.max_length} symbols"
    return (
        f"{result.units} of {result.units_before} units ({result.reachable} dimensions are reached): outputs differ by "
        f"at most {result.residual:.1e} on {words}; singular values kept from {result.smallest_kept:.1e}, dropped to "
        f"{result.largest_dropped:.1e}"
    )


@as_text.register
def transition_spectra(spectra: TransitionSpectra) -> str:
    """A line for each symbol, in descending order of the spectral radius."""
    order = np.argsort(-spectra.radius, kind="stable")
    names = [symbol_name(spectra.alphabet, int(k)) for k in order[:ITEMS]]
    width = max(len("symbol"), *map(len, names))
    lines = [
        f"{name:>{width}}  {spectra.radius[k]:7.4g}  {spectra.values[k, 0]:7.4g}"
        for name, k in zip(names, order[:ITEMS], strict=True)
    ]
    more = [f"and {len(order) - ITEMS:,} more symbols"] if len(order) > ITEMS else []
    return "\n".join([f"{'symbol':>{width}}   radius  largest singular value", *lines, *more])


@as_text.register
def weighted_automaton(automaton: WeightedAutomaton) -> str:
    """Its size, and its values for the shortest words."""
    names = range(automaton.num_symbols) if automaton.alphabet is None else automaton.alphabet
    outputs = automaton.final.shape[1] if automaton.final.ndim == 2 else 1
    several = f", {outputs} values a word" if outputs > 1 else ""
    sizes = f"{counted(len(automaton), 'state')}, {counted(len(names), 'symbol')}"
    lines = [f"weighted automaton: {sizes}{several}"]
    for short in [(), *((name,) for name in names[: VALUES - 1])]:
        try:
            values = np.ravel(automaton.value(short))
        except ValueError:
            shown = "too large for a float"
        else:
            shown = ", ".join(f"{value:.4g}" for value in values[:VALUES]) + (", ..." if outputs > VALUES else "")
        lines.append(f"value of {repr(word(short)) if short else 'the empty word'}: {shown}")
    return "\n".join(lines)


@as_text.register
def edit(result: Edit) -> str:
    """One sentence: the new label, the number of edits and the first of them."""
    changes = [str(change) for change in result.changes[:VALUES]]
    if result.distance > VALUES:
        changes.append(f"and {result.distance - VALUES:,} more")
    count = counted(result.distance, "edit")
    text = f"{result.new_label!r} in place of {result.label!r} after {count}: {'; '.join(changes)}."
    if result.rare:
        text += (
            f" Little evidence: the edited word takes {_transitions(result.rare)}, as fewer than {MIN_WORDS} words do."
        )
    return text


def _transitions(edges: Transitions, machine: MooreMachine | None = None) -> str:
    """Transitions by symbol and state; of many the first ones, and the number of the others."""
    shown = [
        f"{visible(str(symbol))} from state {state}" + (f" to {machine.step(state, symbol)}" if machine else "")
        for state, symbol in edges[:VALUES]
    ]
    more = f" and {len(edges) - VALUES:,} others" if len(edges) > VALUES else ""
    return f"{', '.join(shown)}{more}"


def word(symbols: Sequence[Hashable]) -> str:
    """A word of an automaton on one line; words of single characters without spaces."""
    blank = separator(symbols) if all(isinstance(symbol, str) for symbol in symbols) else " "
    text = blank.join(visible(str(symbol)) for symbol in symbols)
    return text if len(text) <= WORD else f"{text[: WORD - 3]}..."


def distinguishable(ranked: Iterable[tuple[str, float, int]]) -> list[tuple[str, str]]:
    """(thing, its probability as text), in two to four digits, as many as distinguish the probabilities.

    Things that agree in four digits also show their number of occurrences, by which they were ranked.
    """
    things = list(ranked)
    for digits in (2, 3, 4):
        shown = [f"{p:.{digits}f}" for _, p, _ in things]
        if len(set(shown)) == len(things):
            break
    repeated = Counter(shown)
    return [
        (thing, f"{text}, {counted(n, 'time')}" if repeated[text] > 1 else text)
        for text, (thing, _, n) in zip(shown, things, strict=True)
    ]


def _bars(rows: Iterable[tuple[str, str, float]], scale: float, width: int = WIDTH) -> list[str]:
    """A line for each (position, name, value), with a bar relative to a value of `scale`."""
    return [f"{at:>8}  {name:6} {value:+9.4f}  {_bar(value / scale, width)}".rstrip() for at, name, value in rows]


def _bar(share: float, width: int = WIDTH) -> str:
    """A bar of up to `width` signs; empty if the share is not finite."""
    return ("#" if share > 0 else "-") * round(width * min(abs(share), 1)) if math.isfinite(share) else ""


def _shaded(token: str, weight: float) -> str:
    red, green, blue = (round(255 - 0.6 * weight * (255 - part)) for part in rgb(FOR))
    return f"\x1b[30;48;2;{red};{green};{blue}m{token}\x1b[0m"

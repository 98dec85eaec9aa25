"""Results as HTML: a piece for notebooks, and a page for a file. Everything that comes from a user is escaped."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from keras_interp_rnn._results import (
    RAMP,
    Result,
    as_html,
    as_text,
    rgba,
    separator,
    signed,
    visible,
)
from keras_interp_rnn.analysis.attribution import Attribution
from keras_interp_rnn.analysis.fixed_points import CellFixedPoints
from keras_interp_rnn.analysis.isan.contributions import Contributions, WordContributions
from keras_interp_rnn.analysis.isan.spectra import TransitionSpectra
from keras_interp_rnn.analysis.jacobians import Derivatives
from keras_interp_rnn.analysis.state_regularized.explanation import Explanation
from keras_interp_rnn.analysis.state_regularized.phrases import Phrases
from keras_interp_rnn.analysis.state_regularized.prototypes import Prototypes
from keras_interp_rnn.analysis.substitutions import Substitutions
from keras_interp_rnn.analysis.traces import Trace
from keras_interp_rnn.analysis.weighted.equivalence import Equivalence
from keras_interp_rnn.analysis.weighted.minimization import Minimization
from keras_interp_rnn.analysis.weighted.shapley import ShapleyValues
from keras_interp_rnn.analysis.weighted.truncation import Truncation
from keras_interp_rnn.automata import DFA, Certificate, MooreMachine, WeightedAutomaton
from keras_interp_rnn.automata.inference import Evidence
from keras_interp_rnn.automata.machines import MISSING
from keras_interp_rnn.automata.networks import Agreement, Extraction, Fidelity
from keras_interp_rnn.presets.cards import Card
from keras_interp_rnn.presets.loading import Preset
from keras_interp_rnn.views import svg, text
from keras_interp_rnn.views.interactive import view_of
from tensorboard_plugins.interp_rnn.document import page
from tensorboard_plugins.interp_rnn.recording import TooLarge

MAX_ROWS = 500
"""Rows of a table."""
MAX_SEQUENCES = 20
"""Sequences of an attribution that are drawn, the first ones."""


@functools.singledispatch
def as_page(result: Any) -> str:
    """A result as a document of its own: the plugin's view, where it has one, over the piece of HTML."""
    return interactive_page(result, title_of(result), as_html(result))


def title_of(result: Any) -> str:
    """What the page of a result is called."""
    if isinstance(result, Contributions):
        of_background = isinstance(result, ShapleyValues)
        return "Shapley values of a prediction" if of_background else "Contributions to a prediction"
    names = {DFA: "Automaton", Derivatives: "Jacobians", Substitutions: "What if a symbol were another"}
    for kind, name in names.items():
        if isinstance(result, kind):
            return name
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(result).__name__).capitalize()


def interactive_page(result: Any, title: str, body: str) -> str:
    """The plugin's view over a piece of HTML; the piece alone where there is no such view, or too much data for it."""
    try:
        view = view_of(result)
    except TooLarge as error:
        return page(title, f"{body}<p>The interactive view is left out. {html.escape(str(error))}</p>")
    return (
        page(title, body) if view is None else page(title, body, view=view.name, data=view.data, lead=lead_of(result))
    )


def lead_of(result: Any) -> str:
    """What stands above the plugin's view of a result, if the view does not say it."""
    return f"Class {result.prediction}; {_caption(result)}." if isinstance(result, Explanation) else ""


def in_notebook(result: Any) -> str:
    """A result as a notebook shows it: its page in a frame of its own, and below it, folded, the piece of HTML.

    Where frames or scripts are blocked, the piece is what is left.
    """
    document = as_page(result)
    if "<script>" not in document:
        return as_html(result)
    return (
        f'<div><iframe srcdoc="{html.escape(document)}" title="{html.escape(title_of(result))}" width="100%" '
        f'height="640" sandbox="allow-scripts allow-downloads"></iframe><details><summary>Without scripts</summary>'
        f"{as_html(result)}</details></div>"
    )


@as_html.register
def contributions(split: Contributions, *, target: int = -1) -> str:
    """One target: every symbol shaded by how far it moved the winner ahead of the runner-up, or a single output."""
    if not len(split.targets):
        return "<p>Contributions of an empty text</p>"
    first, second = split.winner(target)
    step, difference = int(split.targets[target]), split.logit_difference(target)
    p = softmax(split.logits[target])
    scale = max(float(np.abs(difference[1 : step + 1]).max(initial=0)), 1e-300)
    names = map(split.source_name, range(1, step + 1))
    spans = _shaded(names, difference[1 : step + 1], "{:+.4f} nats", separator(split.alphabet))
    winner, runner = (html.escape(split.output_name(i)) for i in (first, second))
    bias = split.bias[first] - split.bias[second]
    heading = (
        f"Next: <b>{winner}</b> {p[first]:.1%} before <b>{runner}</b> {p[second]:.1%}. "
        f"Blue moved {winner} ahead, orange {runner}; up to {scale:.2f} nats a symbol. "
    )
    if split.logits.shape[1] == 1:
        bias = split.bias[0]
        heading = f"Output <b>{split.logits[target, 0]:.4f}</b>. Blue raised it, orange lowered it; up to {scale:.2f}. "
    name = split.bias_name
    start = f"Initial state {difference[0]:+.3f}, {name}" if split.values[0].any() else name.capitalize()
    return (
        f"<div><p>{heading}{html.escape(start)} {bias:+.3f}. "
        f'Residual of the sum {split.residual:.1e}.</p><p style="font-family:monospace;font-size:130%;'
        f'overflow-wrap:anywhere">{spans}</p></div>'
    )


def _shaded(names: Iterable[str], values: NDArray[np.float64], number: str, blank: str) -> str:
    """The symbols of a text, the bluer or redder, the larger their values, which are their tooltips."""
    scale = max(float(np.abs(values).max(initial=0)), 1e-300)
    return blank.join(
        f'<span title="{number.format(value)}" style="background:{rgba(signed(value), 0.45 * abs(value) / scale)}">'
        f"{html.escape(name)}</span>"
        for name, value in zip(names, values.tolist(), strict=True)
    )


@as_html.register
def word_contributions(result: WordContributions) -> str:
    """The norm of each word's contribution to the last target, and a heat map for all targets."""
    norms = result.norms()
    if not norms.size:
        return "<p>Contributions of no words</p>"
    largest = max(float(norms[:, -1].max()), 1e-300)
    rows = (
        (html.escape(visible(name)), f"{norm:.4g}", svg.bar(norm / largest))
        for name, norm in zip(result.names, norms[:, -1].tolist(), strict=True)
    )
    return (
        f"<div><p>How far each word moved the last prediction: the norm of its contribution, in nats.</p>"
        f"{table(('word', 'norm, nats', ''), rows)}<h2>All predictions</h2><p>Words from top to bottom, predictions "
        f"from left to right: at most {svg.MAX_ENTRIES} words and {svg.MAX_STEPS} predictions, the first ones. Full "
        f"colour is 1 nat, or the largest norm above it.</p>{svg.heat_map(norms.T)}</div>"
    )


@as_html.register
def attribution(result: Attribution) -> str:
    """The steps of each sequence, shaded by their shares."""
    pieces = []
    for i, shares in enumerate(result.shares[:MAX_SEQUENCES]):
        names = result.tokens[i] if result.tokens else [str(step + 1) for step in range(len(shares))]
        read = _shaded(names, shares[: len(names)], "{:+.4g}", separator(names))
        pieces.append(
            f"<p>Output {result.output[i]:.4g}, {result.reference_output[i]:.4g} without any step:</p>"
            f'<p style="font-family:monospace;font-size:130%;overflow-wrap:anywhere">{read}</p>'
        )
    left_out = len(result.shares) - MAX_SEQUENCES
    more = f"<p>{left_out:,} more sequences</p>" if left_out > 0 else ""
    return (
        f"<div><p>By {html.escape(result.method.replace('_', ' '))}; residual of the sums {result.residual:.1e}. Blue "
        f"raised the output, orange lowered it.</p>{''.join(pieces)}{more}</div>"
    )


@as_html.register
def cell_fixed_points(result: CellFixedPoints) -> str:
    """The points on their first two principal axes, and a row for each."""
    moduli = np.abs(result.eigenvalues).max(axis=1, initial=0)
    rows = (
        (
            f"{i}",
            "yes" if result.attracts[i] else "no",
            f"{result.num_unstable[i]}",
            f"{moduli[i]:.4f}",
            " ".join(f"{value:.3g}" for value in state[:6]) + (" …" if len(state) > 6 else ""),
        )
        for i, state in enumerate(result.states.tolist())
    )
    head = ("point", "attracts", "unstable directions", "largest |eigenvalue|", "state")
    return (
        f"<div><p>{html.escape(as_text(result).splitlines()[0])}</p>{svg.points(result.states, result.attracts)}"
        f"<p>Discs attract, squares do not. Axes: the first two principal components of the points.</p>"
        f"{table(head, rows)}</div>"
    )


@as_html.register
def explanation(explained: Explanation) -> str:
    """The text, each token shaded by its probability."""
    spans = " ".join(
        f'<span title="{weight:.2f}" style="background:{rgba(RAMP, 0.4 * weight)};padding:1px 2px">'
        f"{html.escape(visible(token))}</span>"
        for token, weight in zip(explained.tokens, explained.weights.tolist(), strict=True)
    )
    caption = f"class {explained.prediction}; {_caption(explained)}{html.escape(text.not_regularized(explained))}"
    return f'<div style="line-height:1.7">{spans}<br><small>{caption}</small></div>'


def _caption(explained: Explanation) -> str:
    return f"shade: probability of moving to centroid {', '.join(map(str, explained.centroids))}"


@as_html.register
def prototypes(result: Prototypes) -> str:
    """A row for each centroid that is used."""
    rows = (
        (f"{i}", f"{result.classes[i]}", f"{result.share[i]:.1%}", svg.bar(result.share[i]), _ranking(result.tokens[i]))
        for i in np.argsort(-result.share)
        if result.share[i] > 0
    )
    return table(("centroid", "class", "share of steps", "", "tokens"), rows)


@as_html.register
def phrases(best: Phrases) -> str:
    """A row for each class."""
    return table(("class", "phrases"), ((f"{label}", _ranking(ranked, ", ")) for label, ranked in best.items()))


@as_html.register
def jacobians(values: Derivatives) -> str:
    """Of singular values a line for each lag; of a Jacobian the matrix of the first sequence."""
    if values.lags or values.ndim != 3 or not values.size:
        return preformatted(values)
    return (
        f"<div><p>The Jacobian of the first of {len(values)} sequences, by {html.escape(values.method)}: a row for "
        f"each entry of the state, a column for each of the input; at most {svg.MAX_ENTRIES} by {svg.MAX_STEPS}. "
        f"Blue is positive, orange negative; full colour is the largest value.</p>"
        f"{svg.heat_map(np.asarray(values[0]).T, least=0)}</div>"
    )


@as_html.register(DFA)
@as_html.register(MooreMachine)
def automaton(dfa: DFA | MooreMachine) -> str:
    """The drawing."""
    return f"<div>{dfa.to_svg()}</div>"


@as_html.register
def weighted_automaton(automaton: WeightedAutomaton) -> str:
    """The drawing; of a dense automaton what it is."""
    if automaton.is_drawable:
        return f"<div>{automaton.to_svg()}</div>"
    return sentences(automaton)


@as_html.register(Agreement)
@as_html.register(Equivalence)
@as_html.register(Minimization)
@as_html.register(Truncation)
@as_html.register(Fidelity)
@as_html.register(Evidence)
@as_html.register(Card)
@as_html.register(Preset)
def sentences(result: Result) -> str:
    """The lines of the text, as paragraphs."""
    return "<div>" + "".join(f"<p>{html.escape(line)}</p>" for line in as_text(result).splitlines()) + "</div>"


@as_html.register(TransitionSpectra)
@as_html.register(Trace)
@as_html.register(Substitutions)
def preformatted(result: Any) -> str:
    """The table of the text."""
    return f"<div><pre>{html.escape(as_text(result))}</pre></div>"


@as_html.register
def extraction(result: Extraction) -> str:
    """The automaton, its states named by their centroids, and what is known of each transition."""
    names = [str(centroid) for centroid in result.centroids]
    rows = []
    for state, targets in enumerate(result.dfa.transitions):
        for column, target in enumerate(targets):
            symbol, confidence = result.dfa.alphabet[column], result.confidence[state, column]
            reached = "never seen" if target == MISSING else names[target]
            sure = "" if np.isnan(confidence) else f"{confidence:.4f}"
            taken = "" if result.unsupported is None else "no" if (state, symbol) in result.unsupported else "yes"
            if result.support[state, column]:
                taken = f"{result.support[state, column]:,}"
            rows.append((names[state], html.escape(visible(str(symbol))), reached, taken, sure))
    return (
        f"<div><p>{html.escape(as_text(result))}</p>{result.dfa.to_svg(names, unsupported=result.unsupported or ())}"
        f"{table(('from centroid', 'symbol', 'to centroid', 'taken by words', 'confidence'), rows)}</div>"
    )


@as_html.register
def certificate(result: Certificate) -> str:
    """The verdict, the automaton that the network follows, and the margin of every transition."""
    names = [str(centroid) for centroid in result.centroids]
    rows = []
    for state, margins in enumerate(np.asarray(result.margins)):
        for symbol, margin in zip(result.path.alphabet, margins, strict=True):
            target = names[result.path.step(state, symbol)]
            rows.append((names[state], html.escape(visible(str(symbol))), target, f"{margin:.2f}"))
    return (
        f"<div>{sentences(result)}{result.path.to_svg(names)}"
        f"{table(('from centroid', 'symbol', 'to centroid', 'margin, nats'), rows)}</div>"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table of cells that are already HTML; the last column is text, aligned on the left."""
    left = ' style="text-align:left"'
    columns = "".join(f'<th scope="col">{name}</th>' for name in head[:-1]) + f'<th scope="col"{left}>{head[-1]}</th>'
    given = list(rows)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row[:-1]) + f"<td{left}>{row[-1]}</td></tr>"
        for row in given[:MAX_ROWS]
    )
    drawn = f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"
    more = len(given) - MAX_ROWS
    return f"<div>{drawn}<p>{more:,} more rows</p></div>" if more > 0 else drawn


def _ranking(ranked: Iterable[tuple[str, float, int]], separator: str = " ") -> str:
    return separator.join(
        f"{html.escape(visible(thing)).replace(' ', '&nbsp;')}&nbsp;({probability})"
        for thing, probability in text.distinguishable(ranked)
    )

"""Results as HTML: a piece for notebooks, and a page for a file. Everything that comes from a user is escaped."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import softmax

from keras_interp_rnn._display import visible
from keras_interp_rnn._palette import LIGHT_RED, rgba, signed
from keras_interp_rnn._result import as_html, as_text
from keras_interp_rnn.analysis import (
    Contributions,
    Equivalence,
    Explanation,
    Minimization,
    Phrases,
    Prototypes,
    Trace,
    Truncation,
)
from keras_interp_rnn.automata import DFA, Agreement, Certificate, Extraction, Fidelity, TrainingReport
from keras_interp_rnn.automata.dfa import MISSING
from keras_interp_rnn.views import svg, text

MAX_TARGETS = 200
"""Targets of a text that a page shows one by one, the last ones."""
MAX_ROWS = 500
"""Rows of a table."""

STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 1.5rem 0 0.25rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.75rem; text-align: right; border-bottom: 1px solid #8884; }
summary { cursor: pointer; } svg { max-width: 100%; height: auto; }
.scroll { overflow-x: auto; }
"""


def page(title: str, body: str) -> str:
    """A whole document around a piece of HTML; it refers to nothing outside itself."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{html.escape(title)}</h1>\n"
        f'<div class="scroll">{body}</div>\n</body>\n</html>\n'
    )


@functools.singledispatch
def as_page(result: Any) -> str:
    """A result as a document of its own."""
    return page(type(result).__name__, as_html(result))


@as_page.register
def contributions_page(split: Contributions) -> str:
    """The last target, and every target before it, folded."""
    targets = range(len(split.targets))[-MAX_TARGETS:]
    folded = "".join(
        f"<details><summary>{html.escape(_read_before(split, i))}</summary>{contributions(split, target=i)}</details>"
        for i in reversed(targets[:-1])
    )
    others = f"<h2>Earlier predictions</h2>{folded}" if folded else ""
    return page("Contributions to a prediction", contributions(split) + others)


@as_html.register
def contributions(split: Contributions, *, target: int = -1) -> str:
    """One target: every symbol shaded by how far it moved the winner ahead of the runner-up, or a single output."""
    if not len(split.targets):
        return "<p>Contributions of an empty text</p>"
    first, second = split.winner(target)
    step, difference = int(split.targets[target]), split.logit_difference(target)
    p = softmax(split.logits[target])
    scale = max(float(np.abs(difference[1 : step + 1]).max(initial=0)), 1e-300)
    spans = "".join(
        f'<span title="{value:+.4f} nats" style="background:{rgba(signed(value), 0.75 * abs(value) / scale)}">'
        f"{html.escape(split.source_name(source))}</span>"
        for source, value in enumerate(difference[1 : step + 1].tolist(), start=1)
    )
    winner, runner = (html.escape(split.name(i)) for i in (first, second))
    bias = split.bias[first] - split.bias[second]
    heading = (
        f"Next: <b>{winner}</b> {p[first]:.1%} before <b>{runner}</b> {p[second]:.1%}. "
        f"Blue moved {winner} ahead, red {runner}; up to {scale:.2f} nats a symbol. "
    )
    if split.logits.shape[1] == 1:
        bias = split.bias[0]
        heading = f"Output <b>{split.logits[target, 0]:.4f}</b>. Blue raised it, red lowered it; up to {scale:.2f}. "
    return (
        f"<div><p>{heading}Initial state {difference[0]:+.3f}, {html.escape(split.bias_name)} {bias:+.3f}. "
        f'Residual of the sum {split.residual:.1e}.</p><p style="font-family:monospace;font-size:130%;'
        f'overflow-wrap:anywhere">{spans}</p></div>'
    )


@as_html.register
def explanation(explained: Explanation) -> str:
    """The text, each token shaded by its probability."""
    spans = " ".join(
        f'<span title="{weight:.2f}" style="background:{rgba(LIGHT_RED, 0.75 * weight)};padding:1px 2px">'
        f"{html.escape(visible(token))}</span>"
        for token, weight in zip(explained.tokens, explained.weights.tolist(), strict=True)
    )
    places = ", ".join(map(str, explained.centroids))
    caption = f"class {explained.prediction}; shade: probability of moving to centroid {places}"
    return f'<div style="line-height:1.7">{spans}<br><small>{caption}</small></div>'


@as_html.register
def prototypes(result: Prototypes) -> str:
    """A row for each centroid that is used."""
    rows = (
        (f"{i}", f"{result.classes[i]}", f"{result.share[i]:.1%}", _ranking(result.tokens[i]))
        for i in np.argsort(-result.share)
        if result.share[i] > 0
    )
    return table(("centroid", "class", "share of steps", "tokens"), rows)


@as_html.register
def phrases(best: Phrases) -> str:
    """A row for each class."""
    return table(("class", "phrases"), ((f"{label}", _ranking(ranked, ", ")) for label, ranked in best.items()))


@as_html.register
def trace(traced: Trace) -> str:
    """A heat map of each quantity over the steps of the first sequence."""
    maps = "".join(
        f"<h2>{html.escape(name)} <small>{'×'.join(map(str, values.shape))}, {text.span(values)}</small></h2>"
        f"{svg.heat_map(svg.of_first_sequence(values))}"
        for name, values in traced.items()
    )
    return (
        f"<div><p>The first sequence: at most {svg.MAX_STEPS} steps, from left to right, and {svg.MAX_ENTRIES} "
        f"entries, from top to bottom. Blue is positive, red negative, grey unknown; full colour is 1, or more where "
        f"values exceed 1.</p>{maps}</div>"
    )


@as_html.register
def automaton(dfa: DFA) -> str:
    """The drawing."""
    return f"<div>{dfa.to_svg()}</div>"


@as_html.register(Agreement)
@as_html.register(Equivalence)
@as_html.register(Minimization)
@as_html.register(Truncation)
@as_html.register(Fidelity)
@as_html.register(TrainingReport)
def sentences(result: Agreement | Fidelity | Equivalence | Minimization | Truncation | TrainingReport) -> str:
    """The lines of the text, as paragraphs."""
    return "<div>" + "".join(f"<p>{html.escape(line)}</p>" for line in as_text(result).splitlines()) + "</div>"


@as_html.register
def extraction(result: Extraction) -> str:
    """The automaton, its states named by their centroids, and what is known of each transition."""
    names = [str(centroid) for centroid in result.centroids]
    rows = []
    for state, targets in enumerate(result.dfa.transitions):
        for column, target in enumerate(targets):
            reached = "never seen" if target == MISSING else names[target]
            support, confidence = result.support[state, column], result.confidence[state, column]
            sure = "" if np.isnan(confidence) else f"{confidence:.4f}"
            symbol = html.escape(visible(str(result.dfa.alphabet[column])))
            rows.append((names[state], symbol, reached, f"{support:,}", sure))
    return (
        f"<div><p>{html.escape(as_text(result))}</p>{result.dfa.to_svg(names)}"
        f"{table(('from centroid', 'symbol', 'to centroid', 'seen', 'confidence'), rows)}</div>"
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
        f"<div><p>{html.escape(as_text(result))}</p>{result.path.to_svg(names)}"
        f"{table(('from centroid', 'symbol', 'to centroid', 'margin, nats'), rows)}</div>"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table of cells that are already HTML; the last column is text, aligned on the left."""
    left = ' style="text-align:left"'
    columns = "".join(f"<th>{name}</th>" for name in head[:-1]) + f"<th{left}>{head[-1]}</th>"
    given = list(rows)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row[:-1]) + f"<td{left}>{row[-1]}</td></tr>"
        for row in given[:MAX_ROWS]
    )
    more = f"<p>{len(given) - MAX_ROWS:,} more rows</p>" if len(given) > MAX_ROWS else ""
    return f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>{more}"


def _ranking(ranked: Iterable[tuple[str, float, int]], separator: str = " ") -> str:
    return separator.join(
        f"{html.escape(visible(thing)).replace(' ', '&nbsp;')}&nbsp;({probability})"
        for thing, probability in text.distinguishable(ranked)
    )


def _read_before(split: Contributions, target: int) -> str:
    """What was read before a target, and what the model predicted, on one line."""
    read = "".join(map(split.name, split.symbols[: int(split.targets[target])]))
    return f"after {read[-40:]}: {split.name(split.winner(target)[0])}"

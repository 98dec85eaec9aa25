"""Results as HTML: an element for notebooks, and a page for a file. Everything that comes from a user is escaped.

A result that the TensorBoard plugin can draw (`view_of`) is drawn by its scripts, in notebooks inside a frame. The page
also has the numbers of the result, as text or as a table, for screen readers and if scripts are blocked. Other results
are tables and drawings in SVG.
"""

from __future__ import annotations

import contextlib
import functools
import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from keras_interp_rnn._results import AGAINST, FOR, GREY, Result, as_html, as_text, class_name, rgb, separator, visible
from keras_interp_rnn.analysis.attribution import Attribution
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
from keras_interp_rnn.analysis.weighted.shapley import ShapleyValues
from keras_interp_rnn.analysis.weighted.truncation import Truncation
from keras_interp_rnn.automata import DFA, Certificate, MooreMachine, WeightedAutomaton
from keras_interp_rnn.automata.inference import Evidence, Inference
from keras_interp_rnn.automata.machines import MISSING
from keras_interp_rnn.automata.networks import Agreement, Extraction, Fidelity
from keras_interp_rnn.automata.queries import Learned
from keras_interp_rnn.presets.cards import Card
from keras_interp_rnn.presets.loading import Preset
from keras_interp_rnn.views import svg, text
from keras_interp_rnn.views.interactive import view_of
from keras_interp_rnn.views.labelling import label_names
from tensorboard_plugins.interp_rnn.document import page
from tensorboard_plugins.interp_rnn.recording import TooLarge

MAX_ROWS = 500
"""Maximum number of rows of a table, and of events of a session."""
MAX_STATES = 60
"""Maximum number of states of an automaton that is drawn with its evidence."""
FULL_SURPRISE = 6.0
"""Nats of an event in full colour."""
TITLES = {
    ShapleyValues: "Shapley values of a prediction",
    Contributions: "Contributions to a prediction",
    DFA: "Automaton",
    Derivatives: "Jacobians",
    Inference: "Automaton from words",
    Interactions: "Which steps act together",
    Learned: "Automaton learned by queries",
    Substitutions: "What if a symbol were another",
    Surprise: "Surprising sessions",
}
"""Titles of pages, a subclass before its base; others are the name of the class."""


@functools.singledispatch
def as_page(result: Any) -> str:
    """A result as an HTML document: the plugin's view if it has one, otherwise the element for notebooks."""
    try:
        drawn = interactive_page(result)
    except TooLarge as error:
        left_out = f"<p>The interactive view is left out. {html.escape(str(error))}</p>"
        return page(title_of(result), f"{numbers(result)}{left_out}")
    return page(title_of(result), as_html(result)) if drawn is None else drawn


def interactive_page(result: Any) -> str | None:
    """The plugin's view above the numbers; None if there is no such view. Raises TooLarge as `view_of`."""
    view = view_of(result)
    if view is None:
        return None
    title, lead = view.title or title_of(result), view.lead or lead_of(result)
    return page(title, numbers(result), views=[view.name], data=view.data, lead=lead)


def title_of(result: Any) -> str:
    """The title of the page of a result."""
    if isinstance(result, Preset):
        return result.name
    for kind, title in TITLES.items():
        if isinstance(result, kind):
            return title
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(result).__name__).capitalize()


def lead_of(result: Any) -> str:
    """The sentence above the plugin's view of a result, if the view needs one."""
    if isinstance(result, Inference) and result.cut_off:
        return f"Not to the end: {text.CUT_OFF[result.cut_off]}."
    if not isinstance(result, Explanation):
        return ""
    centroids = ", ".join(map(str, result.centroids))
    label = class_name(result.class_names, result.prediction)
    return f"{label[:1].upper()}{label[1:]}; shade: probability of moving to centroid {centroids}."


@as_html.register(Contributions)
@as_html.register(Attribution)
@as_html.register(Interactions)
@as_html.register(Substitutions)
@as_html.register(Trace)
@as_html.register(Explanation)
@as_html.register(MooreMachine)
@as_html.register(Extraction)
@as_html.register(Learned)
@as_html.register(Certificate)
@as_html.register(Inference)
@as_html.register(Preset)
def framed(result: Any) -> str:
    """The page in a frame, with the numbers folded below it; the numbers alone if there is no such page."""
    drawn = None
    with contextlib.suppress(TooLarge):
        drawn = interactive_page(result)
    if drawn is None:
        return numbers(result)
    return (
        f'<div><iframe srcdoc="{html.escape(drawn)}" title="{html.escape(title_of(result))}" width="100%" height="640" '
        f'sandbox="allow-scripts allow-downloads"></iframe><details><summary>Without scripts</summary>'
        f"{numbers(result)}</details></div>"
    )


@functools.singledispatch
def numbers(result: Any) -> str:
    """The numbers of a result that is drawn, for screen readers: by default its text."""
    return preformatted(result)


@numbers.register(MooreMachine)
def transitions(dfa: MooreMachine) -> str:
    """A row for each transition."""
    return _transitions(dfa, range(len(dfa)), {})


@numbers.register
def extraction(result: Extraction) -> str:
    """A row for each transition, with the words that take it and its confidence."""

    def taken(state: int, column: int) -> str:
        if result.support[state, column]:
            return f"{result.support[state, column]:,}"
        if result.unsupported is None:
            return ""
        return "no" if (state, result.dfa.alphabet[column]) in result.unsupported else "yes"

    def confidence(state: int, column: int) -> str:
        value = result.confidence[state, column]
        return "" if np.isnan(value) else f"{value:.4f}"

    columns = {"taken by words": taken, "confidence": confidence}
    return f"<div>{sentences(result)}{_transitions(result.dfa, result.centroids, columns)}</div>"


@numbers.register
def learned(result: Learned) -> str:
    """The report, and a row for each transition."""
    return f"<div>{sentences(result)}{_transitions(result.dfa, range(len(result.dfa)), {})}</div>"


@numbers.register
def certificate(result: Certificate) -> str:
    """The verdict, and the margin of every transition of the automaton that the network follows."""
    columns = {"margin, nats": lambda state, column: f"{result.margins[state][column]:.2f}"}
    return f"<div>{sentences(result)}{_transitions(result.path, result.centroids, columns)}</div>"


def _transitions(dfa: MooreMachine, names: Sequence[Any], columns: Mapping[str, Callable[[int, int], str]]) -> str:
    """A row for each transition, with these names of states; further columns are functions of state and symbol."""
    rows = (
        (
            str(names[state]),
            html.escape(visible(str(dfa.alphabet[column]))),
            "never seen" if target == MISSING else str(names[target]),
            *(cell(state, column) for cell in columns.values()),
        )
        for state, targets in enumerate(dfa.transitions)
        for column, target in enumerate(targets)
    )
    return table(("from", "symbol", "to", *columns), rows)


@as_html.register
def word_contributions(result: WordContributions) -> str:
    """The norm of each word's contribution to the last target, and a heat map of all targets."""
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
        f"colour is 1 nat, or the largest norm above it.</p>"
        f"{svg.heat_map(norms.T, [*map(visible, result.names)], column='prediction')}</div>"
    )


@as_html.register
def patching(result: Patching) -> str:
    """The outputs, and a row for each quantity: what it restores at each step, and the largest effect of a step."""
    rows = []
    for name, effects, restored in zip(result.names, result.effects, result.restored, strict=True):
        step = int(np.nan_to_num(np.abs(effects)).argmax())
        drawn = svg.heat_map(restored[:, None], [name])
        rows.append((html.escape(name), drawn, str(step + 1), f"{effects[step]:+.3g}", f"{restored[step]:.1%}"))
    return (
        f"<div><p>{html.escape(as_text(result).splitlines()[0])}. Each cell of a row is a step, at most "
        f"{svg.MAX_STEPS}: blue for a share of the change that is restored, orange for a change away from the clean "
        f"output; full colour is all of it, or the largest share above that.</p>"
        f"{table(('quantity', 'restored at each step', 'strongest step', 'effect', 'restored'), rows)}</div>"
    )


@as_html.register
def surprise(result: Surprise) -> str:
    """A row for each session, the most surprising first, its events shaded by their surprise; then why."""
    means, totals = result.scores(), result.scores("total")
    rows = (
        (f"{i + 1}", f"{means[i]:.3f}", f"{totals[i]:.3f}", _shaded_session(result, i))
        for i in result.ranked().tolist()
    )
    why = "".join(map(surprising_event, result.events))
    return (
        f"<div><p>Sessions, the most surprising first. Full colour is {FULL_SURPRISE:g} nats: an event of probability "
        f"{np.exp(-FULL_SURPRISE):.1%} or less. A tooltip has what was expected.</p>"
        f"{table(('session', 'nats per event', 'total', 'events'), rows)}"
        f"{'<h2>Why were the most surprising events not expected?</h2>' * bool(why)}{why}</div>"
    )


def _shaded_session(result: Surprise, session: int) -> str:
    """The events of a session as words with their surprise for background."""
    red, green, blue = rgb(AGAINST)
    words = []
    rows = (result.symbols[session], result.nats[session], result.expected[session], result.expected_nats[session])
    for symbol, nats, expected, least in zip(*(row.tolist() for row in rows), strict=True):
        title = "not predicted"
        if not np.isnan(nats):
            title = f"{nats:.2f} nats; expected: {result.name(expected)} ({np.exp(-least):.1%})"
        strength = 0 if np.isnan(nats) else 0.85 * min(nats / FULL_SURPRISE, 1)
        words.append(
            f'<span title="{html.escape(title)}" style="background:rgba({red},{green},{blue},{strength:.2f})">'
            f"{html.escape(result.name(symbol))}</span>"
        )
    more = len(words) - MAX_ROWS
    return " ".join(words[:MAX_ROWS]) + (f" … {more:,} more" if more > 0 else "")


@as_html.register
def surprising_event(event: SurprisingEvent) -> str:
    """A row for each event before, with its share in the log-odds of the expected event."""
    scale = max(float(np.abs(event.shares[np.isfinite(event.shares)]).max(initial=0)), 1e-300)
    rows = [
        (
            f"{place}",
            html.escape(event.name(symbol)),
            f"{share:+.3f}",
            svg.bar(abs(share) / scale, FOR if share > 0 else AGAINST),
        )
        for place, (symbol, share) in enumerate(
            zip(event.symbols.tolist(), event.shares.tolist(), strict=True), start=1
        )
    ]
    if not np.isnan(event.rest):
        rows.insert(0, ("", "no event", f"{event.rest:+.3f}", svg.bar(abs(event.rest) / scale, GREY)))
    exact = f"residual {event.residual:.1e}" if event.method == "contributions" else "need not sum"
    return (
        f"<div><p>{html.escape(as_text(event).splitlines()[0])}: the share of each event before, by {event.method} "
        f"({exact}).</p>"
        f"{table(('position', 'event', 'nats for the expected one', ''), rows)}</div>"
    )


@as_html.register
def phase_portrait(result: PhasePortrait) -> str:
    """The lines of all symbols, and a row for each."""
    rows = ((html.escape(name), *cells) for name, *cells in text.portrait_rows(result))
    head = ("symbol", "slope", "residual", "fixed point", "time constants (steps)")
    return (
        "<div><p>Change of the logit against the logit before, a line for each symbol; rings are fixed points.</p>"
        f"{svg.phase_lines(result)}{table(head, rows)}</div>"
    )


@as_html.register
def cell_fixed_points(result: CellFixedPoints) -> str:
    """The points on their first two principal axes, and a row for each."""
    moduli = np.abs(result.eigenvalues).max(axis=1, initial=0)
    rows = (
        (
            f"{i + 1}",
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
def prototypes(result: Prototypes) -> str:
    """A row for each centroid that is used."""
    rows = (
        (
            f"{i}",
            _label(result.class_names, result.classes[i]),
            f"{result.share[i]:.1%}",
            svg.bar(result.share[i]),
            _ranking(result.tokens[i]),
        )
        for i in np.argsort(-result.share)
        if result.share[i] > 0
    )
    return table(("centroid", "class", "share of steps", "", "tokens"), rows)


@as_html.register
def phrases(best: Phrases) -> str:
    """A row for each class."""
    rows = ((_label(best.class_names, label), _ranking(ranked, ", ")) for label, ranked in best.items())
    return table(("class", "phrases"), rows)


@as_html.register
def jacobians(values: Derivatives) -> str:
    """The page of the lags of singular values, or the Jacobian of the first sequence."""
    if values.lags or values.ndim != 3 or not values.size:
        return framed(values)
    units = [f"unit {i}" for i in range(values.shape[1])]
    return (
        f"<div><p>The Jacobian of the first of {len(values)} sequences, by {html.escape(values.method)}: a row for "
        f"each unit of the state, a column for each entry of the input; at most {svg.MAX_ENTRIES} by {svg.MAX_STEPS}. "
        f"Blue is positive, orange negative; full colour is the largest value.</p>"
        f"{svg.heat_map(np.asarray(values[0]).T, units, column='input', least=0)}</div>"
    )


@as_html.register
def weighted_automaton(automaton: WeightedAutomaton) -> str:
    """The drawing, or the text of an automaton with too many edges."""
    return f"<div>{automaton.to_svg()}</div>" if automaton.is_drawable else sentences(automaton)


@as_html.register(Agreement)
@as_html.register(Equivalence)
@as_html.register(Minimization)
@as_html.register(Truncation)
@as_html.register(Fidelity)
@as_html.register(Evidence)
@as_html.register(Card)
def sentences(result: Result) -> str:
    """The lines of the text as paragraphs."""
    return "<div>" + "".join(f"<p>{html.escape(line)}</p>" for line in as_text(result).splitlines()) + "</div>"


@numbers.register
def inference(result: Inference) -> str:
    """The evidence, the automaton with how often words take its edges, drawn and as text, and the questions."""
    names, labels = label_names(result), result.dfa.labels
    between = separator(result.dfa.alphabet)
    rows = (
        (
            f"{i}",
            html.escape(names[labels.index(result.dfa.output(word))]),
            html.escape(between.join(visible(str(symbol)) for symbol in word)) or "the empty word",
        )
        for i, word in enumerate(result.questions, start=1)
    )
    asked = (
        "<h2>What should happen here?</h2><p>Each of these words tells this automaton from another one that fits your "
        "words no worse. Label them, the first ones above all, and infer again.</p>"
        f"{table(('', 'this automaton', 'word'), rows)}"
    )
    counted = "Edges have the number of times that your words take them; no word takes those in parentheses."
    drawn = ""
    if len(result.dfa) <= MAX_STATES:
        drawn = f'<figure><div class="drawn">{svg.as_svg(result)}</div><figcaption>{counted}</figcaption></figure>'
    evidence, _, edges = as_text(result).partition("\n")
    rule = f"<h2>The automaton as text</h2><pre>{html.escape(edges)}</pre>"
    return f"<div><p>{html.escape(evidence)}</p>{drawn}{asked * bool(result.questions)}{rule}</div>"


@as_html.register(TransitionSpectra)
def preformatted(result: Any) -> str:
    """The text with its line breaks and spaces."""
    return f"<div><pre>{html.escape(as_text(result))}</pre></div>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table of cells that are already HTML; the last column is text, aligned on the left."""

    def line(cells: Sequence[str], tag: str) -> str:
        end = tag.split()[0]
        *first, last = (f"{cell}</{end}>" for cell in cells)
        return "".join(f"<{tag}>{cell}" for cell in first) + f'<{tag} style="text-align:left">{last}'

    all_rows = list(rows)
    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in all_rows[:MAX_ROWS])
    head_row = line(head, 'th scope="col"')
    drawn = f"<table><thead><tr>{head_row}</tr></thead><tbody>{body}</tbody></table>"
    more = len(all_rows) - MAX_ROWS
    return f"<div>{drawn}<p>{more:,} more rows</p></div>" if more > 0 else drawn


def _label(names: Sequence[str], label: int) -> str:
    """A class in a column of classes: its name, or its index."""
    return html.escape(class_name(names, label).removeprefix("class "))


def _ranking(ranked: Iterable[tuple[str, float, int]], separator: str = " ") -> str:
    return separator.join(
        f"{html.escape(visible(thing)).replace(' ', '&nbsp;')}&nbsp;({probability})"
        for thing, probability in text.distinguishable(ranked)
    )

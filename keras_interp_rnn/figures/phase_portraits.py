"""Phase portraits of small networks, as figure 3 of Ji-An, Benna and Mattar, Nature 644, 2025."""

from __future__ import annotations

import itertools

import numpy as np

from keras_interp_rnn._checks import annotated
from keras_interp_rnn._results import GREY, LINES
from keras_interp_rnn.analysis.phase_portraits import PhasePortrait
from keras_interp_rnn.figures._figure import Figure
from keras_interp_rnn.figures._names import plain

MAX_POINTS = 400
"""Points that are drawn of one symbol, evenly spread over its logits."""


@annotated
def phase_portrait(portrait: PhasePortrait) -> Figure:
    """How much each symbol changes the logit, as a function of the logit before it; a line for each symbol.

    A ring marks the fixed point of a symbol if it lies within the range of the logits. For networks of several units
    the points scatter about their line.

    Args:
        portrait: as `analysis.phase_portrait`.

    Returns:
        `Figure`.

    Example:

    >>> from keras_interp_rnn import analysis, automata, figures
    >>> learner = automata.WeightedAutomaton([0, 1], [[[0.8, 0], [-1, 1]], [[0.8, 0], [1, 1]]], [2, 0])
    >>> figures.phase_portrait(analysis.phase_portrait(learner, [[0, 1, 1, 0, 1]])).axes[0].get_xlabel()
    'logit before (nats)'
    """
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axis = figure.subplots()
    axis.axhline(0, color=GREY, linewidth=1)
    reached = portrait.logits.min(), portrait.logits.max()
    for symbol, color in zip(np.unique(portrait.symbols), itertools.cycle(LINES)):
        places = np.flatnonzero(portrait.symbols == symbol)
        places = places[np.argsort(portrait.logits[places], kind="stable")]
        places = places[np.unique(np.linspace(0, len(places) - 1, MAX_POINTS).astype(int))]
        axis.plot(portrait.logits[places], portrait.changes[places], ".", markersize=3, alpha=0.5, color=color)
        ends = portrait.logits[places[[0, -1]]]
        changes = portrait.slopes[symbol] * ends + portrait.intercepts[symbol]
        axis.plot(ends, changes, color=color, label=plain(portrait.name(int(symbol))).replace("_", " _", 1))
        if reached[0] <= portrait.fixed_points[symbol] <= reached[1]:
            axis.plot(portrait.fixed_points[symbol], 0, "o", color=color, fillstyle="none", markersize=8)
    axis.set(xlabel="logit before (nats)", ylabel="change of the logit (nats)")
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    return figure

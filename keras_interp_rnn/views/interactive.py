"""Results in the views of the TensorBoard plugin: the view of each result, and the data from which it is drawn."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from keras_interp_rnn._results import as_text, visible
from keras_interp_rnn.analysis.attribution import MANY_OUTPUTS, TOP, Attribution
from keras_interp_rnn.analysis.interactions import Interactions
from keras_interp_rnn.analysis.isan.contributions import Contributions
from keras_interp_rnn.analysis.isan.top_contributions import most_probable
from keras_interp_rnn.analysis.jacobians import Derivatives
from keras_interp_rnn.analysis.state_regularized.explanation import Explanation
from keras_interp_rnn.analysis.substitutions import Substitutions
from keras_interp_rnn.analysis.traces import Trace
from keras_interp_rnn.analysis.weighted.shapley import ShapleyValues
from keras_interp_rnn.automata import Certificate
from keras_interp_rnn.automata.machines import MooreMachine
from keras_interp_rnn.automata.networks import Extraction
from keras_interp_rnn.automata.queries import Learned
from keras_interp_rnn.views import tags
from tensorboard_plugins.interp_rnn import recording

MAX_EDGES = 2000
"""Maximum number of edges of an automaton that is drawn."""


class View(NamedTuple):
    """A view of the plugin and its data; a title and a lead, if they are not those of the result's class."""

    name: str
    data: dict[str, Any]
    title: str = ""
    lead: str = ""


@functools.singledispatch
def view_of(result: Any) -> View | None:
    """The plugin's view of a result, or None.

    Raises:
        recording.TooLarge: if its data are too large for a page.
    """
    return None


@view_of.register
def contributions(split: Contributions) -> View | None:
    """The terms of the last predictions."""
    last = tags.last_targets(split)
    if last is None:
        return None
    if last.logits.shape[1] > MANY_OUTPUTS:
        return _view("reads", tags.top_contributions(most_probable(last, TOP)))
    return _view("reads", tags.contributions(last))


@view_of.register
def shapley_values(values: ShapleyValues) -> View:
    """The symbols up to the target."""
    return _view("reads", tags.shapley_values(values))


@view_of.register
def substitutions(changed: Substitutions) -> View:
    """The text with each symbol replaced or deleted."""
    position, symbol, _ = changed.top(1)[0]
    return _view("reads", tags.substitutions(changed), picked=position, instead=changed.name(symbol))


@view_of.register
def attribution(result: Attribution) -> View | None:
    """The steps of each sequence."""
    if not result.shares.size:
        return None
    names = {f"sequence_{i}": tag for i, tag in enumerate(tags.attributions(result))}
    return _pane("reads", *(recording.single(values, name=name, **more) for name, (values, more) in names.items()))


@view_of.register
def interactions(result: Interactions) -> View | None:
    """The text, a step of the strongest pair picked."""
    if result.players.sum() < 2:
        return None
    [(step, _, _)] = result.top(1)
    return _view("reads", tags.interactions(result), picked=step)


@view_of.register
def trace(traced: Trace) -> View | None:
    """All quantities, if they have the same steps."""
    if len({values.shape[:2] for values in traced.values()}) != 1:
        return None
    return _view("reads", tags.trace(traced))


@view_of.register
def explanation(explained: Explanation) -> View | None:
    """The text, its path through the centroids, and its moves among them as a graph."""
    tokens = [visible(token) for token in explained.tokens]
    counts, description = tags.transition_counts(explained.alpha, tokens)
    if not counts.any():
        return None
    alpha, more = tags.transition_probabilities(explained.alpha[None], [tokens])
    recorded = recording.single(counts, **description), recording.single(alpha, **more)
    return _pane("states", *recorded, centroid=explained.centroids[0])


@view_of.register
def jacobians(singular_values: Derivatives) -> View | None:
    """The distributions of singular values at each lag."""
    if not singular_values.lags or not singular_values.size:
        return None
    return _view("memory", tags.jacobian(singular_values, singular_values.lags))


@view_of.register
def automaton(dfa: MooreMachine) -> View | None:
    """The states and edges."""
    return _states(dfa)


@view_of.register
def extraction(result: Extraction) -> View | None:
    """The automaton of the centroids, with the confidence of each transition."""
    verdict = as_text(result).splitlines()
    return _states(result.dfa, result.centroids, result.confidence, unsupported=result.unsupported, verdict=verdict)


@view_of.register
def learned(result: Learned) -> View | None:
    """The automaton, with its report."""
    return _states(result.dfa, verdict=as_text(result).splitlines())


@view_of.register
def certificate(result: Certificate) -> View | None:
    """The automaton of the centroids, which the network follows."""
    return _states(result.path, result.centroids, verdict=as_text(result).splitlines())


def _states(dfa: MooreMachine, *measured: Any, **more: Any) -> View | None:
    edges = {(state, target) for state, row in enumerate(dfa.transitions) for target in row if target >= 0}
    if not dfa.alphabet or len(edges) > MAX_EDGES:
        return None
    text, description = tags.automaton(dfa, *measured, minimal=len(dfa.minimize()), **more)
    return _view("states", (np.array(text, object), description))


def _view(name: str, tag: tags.Tag, **state: Any) -> View:
    """A view of a tag of one step."""
    values, description = tag
    return _pane(name, recording.single(values, **description), **state)


def _pane(name: str, *recorded: recording.Tag, **state: Any) -> View:
    """A view of tags of one step, the first of which is drawn with what the others add."""
    return View(name, recording.block(recorded, {"place": name, **state}))

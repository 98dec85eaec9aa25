"""A fitted network read: which agent it is, and what it would choose in the subject's place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from examples.behaviour.agents import Agent, agent_logits, agents_for, chosen, fit_agent, nats, probabilities
from examples.behaviour.models import Network
from examples.behaviour.tasks import Array, Event, Task, Trials, simulate
from keras_interp_rnn import analysis
from keras_interp_rnn.automata import WeightedAutomaton

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Match:
    """The agent of a family that is nearest to a network.

    Attributes:
        agent: the family. parameters: name -> value. distance: mean divergence of its choices from the network's, in
            nats a choice. score: the distance plus the price of its k parameters in the N choices that the network was
            fitted to, k log(N) / 2 N (Schwarz, 1978), so that a family that contains another is not nearer for nothing.
    """

    agent: Agent
    parameters: dict[str, float]
    distance: float
    score: float


def which_agent(logits: Array, trials: Trials, agents: Sequence[Agent], *, num_choices: int) -> list[Match]:
    """The nearest agent of each family, the best first.

    Args:
        logits: of the network, on the sessions. trials: the sessions on which choices are compared. agents: families.
        num_choices: N, to which the network was fitted.
    """
    targets, weights = probabilities(logits), trials.scored / trials.scored.sum()
    entropy = (nats(logits, targets) * weights).sum()
    found = []
    for agent in agents:
        middle = [sum(usual) / 2 for _, _, usual in agent.parameters.values()]
        best = fit_agent(agent, trials, targets=targets, start=middle)
        distance = float((nats(agent_logits(agent, best, trials), targets) * weights).sum() - entropy)
        price = len(best) * np.log(num_choices) / (2 * num_choices)
        named = dict(zip(agent.parameters, map(float, best), strict=True))
        found.append(Match(agent, named, distance, distance + float(price)))
    return sorted(found, key=lambda match: match.score)


class AffineAgent(Agent):
    """A weighted automaton over a task's symbols, such as a fitted network, as an agent that chooses."""

    name, parameters = "network", {}

    def __init__(self, automaton: WeightedAutomaton, task: Task) -> None:
        self.automaton, self.task = automaton, task

    def initial(self, theta: Array, task: Task) -> Array:
        return np.broadcast_to(self.automaton.initial, (*theta.shape[:-1], len(self.automaton)))

    def logits(self, theta: Array, state: Array) -> Array:
        return state @ self.automaton.final.reshape(len(self.automaton), -1)

    def update(self, theta: Array, state: Array, event: Event) -> Array:
        rewards = np.searchsorted(self.task.rewards, event.reward)
        symbols = self.task.symbols(event.choice, event.state, rewards)
        return np.einsum("...i,...ij->...j", state, self.automaton.transitions[symbols])


def stays(trials: Trials) -> dict[str, Array]:
    """How often a choice is repeated, after what: name -> a mean for each session that has such trials.

    In a bandit after the rewards of the last two trials, the later one last; in the two-step task after a common or a
    rare transition, and its reward.
    """
    again = trials.choices[:, 1:] == trials.choices[:, :-1]
    value = np.array(trials.task.rewards)[trials.rewards[:, :-1]]
    if trials.task.num_states > 1:
        common = trials.states[:, :-1] == trials.choices[:, :-1]
        cases = {"common": common, "rare": ~common}
    else:
        before = np.concatenate([np.full((len(trials), 1), np.nan), value[:, :-1]], axis=1)
        cases = {f"{reward:g} then": before == reward for reward in trials.task.rewards}
    found = {}
    for case, there in cases.items():
        for reward in trials.task.rewards:
            rows = there & (value == reward) & trials.scored
            some = rows.any(axis=1)
            found[f"{case} {reward:g}"] = (again & rows).sum(axis=1)[some] / rows.sum(axis=1)[some]
    return found


def drawn_stays(sources: dict[str, Trials]) -> Figure:
    """Bars of `stays`, a colour for each source, with intervals of 95 percent over sessions."""
    from matplotlib.figure import Figure

    figure, width = Figure(figsize=(6, 3.5), layout="constrained"), 0.8 / len(sources)
    axes = figure.subplots()
    for place, (name, trials) in enumerate(sources.items()):
        cases = stays(trials)
        at = np.arange(len(cases)) + (place - (len(sources) - 1) / 2) * width
        means = [values.mean() for values in cases.values()]
        errors = [1.96 * values.std() / len(values) ** 0.5 for values in cases.values()]
        axes.bar(at, means, width, yerr=errors, label=name)
    axes.set_xticks(range(len(cases)), list(cases))
    axes.set(ylim=(0, 1), ylabel="probability of the same choice again", xlabel="what came before")
    axes.legend(ncols=len(sources), loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    return figure


def read(trials: Trials, *, units: int, figure: Path | None = None) -> None:
    """Fits a network to all sessions, prints what it is, and draws what it would choose."""
    task = trials.task
    network, every = Network("DiagonalISAN", units), np.ones((1, len(trials)), bool)
    num_choices = int(trials.scored.sum())
    fits = network.fits(trials, every, penalties=np.array([0.05 / num_choices]), seed=0)
    model = fits.load(0)
    logits = np.asarray(model.predict_on_batch(trials.symbols[:, :-1]), float)
    print(
        f"{network.name}, {network.num_weights(task)} weights, {num_choices:,} choices: "
        f"{loss_of(logits, trials):.4f} nats a choice in sample, {fits.seconds:.1f} s."
    )
    pair = {} if task.num_choices == 2 else {"towards": 0, "against": 1}
    portrait = analysis.phase_portrait(model, list(trials.symbols[:50]), alphabet=task.names, **pair)
    print(portrait)
    automaton = WeightedAutomaton.from_network(model)
    print(f"The smallest automaton of its logits has {len(automaton.minimize())} states.")
    matches = which_agent(logits, trials, agents_for(task), num_choices=num_choices)
    for match in matches:
        values = ", ".join(f"{name} {value:.2f}" for name, value in match.parameters.items())
        print(f"  {match.distance:.5f} nats a choice from a {match.agent.name}: {values}")
    split = analysis.contributions(model, trials.symbols[0, : trials.lengths[0]])
    print(f"Credit of past trials for the last choice of session 1 (residual {split.residual:.0e}):")
    print(split.shown(-1))
    if figure is not None:
        from keras_interp_rnn import figures

        best = matches[0]
        each: dict[str, Any] = {"trials": int(trials.lengths.max()), "subjects": trials.subjects}
        sources = {
            "data": trials,
            "network": simulate(task, AffineAgent(automaton, task), [], seed=1, **each),
            best.agent.name: simulate(task, best.agent, list(best.parameters.values()), seed=2, **each),
        }
        for part, drawn in (("stays", drawn_stays(sources)), ("portrait", figures.phase_portrait(portrait))):
            path = figure.with_stem(f"{figure.stem}-{part}")
            drawn.savefig(path, dpi=100)
            print(f"Figure: {path}")


def loss_of(logits: Array, trials: Trials) -> float:
    """Mean nats a choice."""
    return float((nats(logits, chosen(trials)) * trials.scored).sum() / trials.scored.sum())

"""Tasks, and sessions of choices: simulated by an agent, or read from a file.

A trial is a choice, the second-stage state that it led to (two-step task alone), the choice made there, and a reward. A
network reads choice, state and reward as one symbol and predicts the next choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from examples.behaviour.agents import Agent

Array = NDArray[Any]

COMMON = 0.7
"""Probability with which a choice of the two-step task leads to its own state."""


class Event(NamedTuple):
    """What happened in a trial, one entry a session: ids, and the value of the reward."""

    choice: Array
    state: Array
    second: Array
    reward: Array


@dataclass(frozen=True)
class Task:
    """What can be chosen, what can come of it, and how the probabilities of a reward change.

    Attributes:
        name: of the task. num_choices: A. rewards: the values that a reward can take, in ascending order.
        num_states: second-stage states; 1 for a bandit. start: probabilities of a reward at first, None for uniform
            draws. drift: standard deviation of their random walk, reflected at `bounds`.
        hazard: probability with which all arms change places before a trial.
    """

    name: str
    num_choices: int = 2
    rewards: tuple[float, ...] = (0.0, 1.0)
    num_states: int = 1
    start: tuple[float, ...] | None = None
    drift: float = 0.0
    bounds: tuple[float, float] = (0.1, 0.9)
    hazard: float = 0.0

    @property
    def num_symbols(self) -> int:
        """K: choices x states x rewards."""
        return self.num_choices * self.num_states * len(self.rewards)

    @property
    def names(self) -> list[str]:
        """A name for each symbol: choice, state where there are several, reward."""
        events = [self.event(symbol) for symbol in range(self.num_symbols)]
        states = ["" if self.num_states == 1 else f"→{event.state + 1}" for event in events]
        return [f"{'ABCD'[event.choice]}{state} {event.reward:g}" for event, state in zip(events, states, strict=True)]

    def symbols(self, choices: Array, states: Array, rewards: Array) -> Array:
        """The symbol of each trial; rewards as their places in `rewards`."""
        return (choices * self.num_states + states) * len(self.rewards) + rewards

    def event(self, symbol: int) -> Event:
        """The event that a symbol is, second choice 0."""
        rest, reward = divmod(symbol, len(self.rewards))
        return Event(*map(np.array, (*divmod(rest, self.num_states), 0, self.rewards[reward])))

    def begin(self, sessions: int, rng: np.random.Generator) -> Array:
        """The probability of a reward of each arm in the first trial; in a two-step task of each second choice."""
        shape = sessions, self.num_choices if self.num_states == 1 else 2 * self.num_states
        return rng.uniform(*self.bounds, size=shape) if self.start is None else np.tile(self.start, (sessions, 1))

    def go_on(self, probabilities: Array, rng: np.random.Generator) -> Array:
        """The same, one trial later."""
        if self.drift:
            low, high = self.bounds
            moved = np.abs(probabilities + self.drift * rng.normal(size=probabilities.shape) - low) + low
            probabilities = high - np.abs(high - moved)
        flipped = rng.random(len(probabilities)) < self.hazard
        return np.where(flipped[:, None], probabilities[:, ::-1], probabilities)


TASKS = {
    task.name: task
    for task in (
        Task("bandit2", drift=0.05),
        Task("bandit4", num_choices=4, drift=0.05),
        Task("reversal", start=(0.8, 0.2), hazard=0.02),
        Task("two-step", num_states=2, drift=0.025, bounds=(0.25, 0.75)),
    )
}


@dataclass(frozen=True)
class Trials:
    """Sessions of a task, padded at their ends.

    Attributes:
        choices, states, seconds, rewards: int (sessions, trials), rewards as places in `task.rewards`.
        lengths: trials of each session. subjects: whose each session is.
    """

    task: Task
    choices: Array
    states: Array
    seconds: Array
    rewards: Array
    lengths: Array
    subjects: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.choices)

    @property
    def symbols(self) -> Array:
        """Int (sessions, trials): what a network reads."""
        return self.task.symbols(self.choices, self.states, self.rewards)

    @property
    def scored(self) -> Array:
        """Bool (sessions, trials - 1): which choices from the second on there are."""
        return np.arange(1, self.choices.shape[1]) < self.lengths[:, None]

    @property
    def subject_ids(self) -> Array:
        """Int (sessions,): the place of each session's subject among the sorted subjects."""
        return np.unique(self.subjects, return_inverse=True)[1]

    def take(self, rows: ArrayLike) -> Trials:
        """Some of the sessions."""
        places = np.arange(len(self))[np.asarray(rows)]
        parts = {name: getattr(self, name)[places] for name in ("choices", "states", "seconds", "rewards", "lengths")}
        return replace(self, **parts, subjects=tuple(self.subjects[place] for place in places))

    def event(self, trial: int) -> Event:
        """What happened in a trial of all sessions."""
        rewards = np.array(self.task.rewards)[self.rewards[:, trial]]
        return Event(self.choices[:, trial], self.states[:, trial], self.seconds[:, trial], rewards)


def simulate(
    task: Task, agent: Agent, parameters: ArrayLike, *, trials: int, seed: int, subjects: Sequence[str]
) -> Trials:
    """Sessions of an agent.

    Args:
        task: with two rewards, of which an arm gives the greater one with its probability. agent: who chooses.
        parameters: (k,) of the agent, or (sessions, k). trials: of each session. subjects: whose each session is.
    """
    rng, sessions = np.random.default_rng(seed), len(subjects)
    theta = np.broadcast_to(np.asarray(parameters, float), (sessions, len(agent.parameters)))
    state, arms = agent.initial(theta, task), task.begin(sessions, rng)
    found = np.zeros((trials, 4, sessions), int)
    for trial in found:
        scores = np.concatenate([np.zeros((sessions, 1)), agent.logits(theta, state)], axis=1)
        choice = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
        stage, second, arm = np.zeros(sessions, int), np.zeros(sessions, int), choice
        if task.num_states > 1:
            stage = np.where(rng.random(sessions) < COMMON, choice, 1 - choice)
            second = (agent.second_logit(theta, state, stage) + rng.logistic(size=sessions) > 0).astype(int)
            arm = 2 * stage + second
        reward = (rng.random(sessions) < arms[np.arange(sessions), arm]).astype(int)
        trial[:] = choice, stage, second, reward
        state = agent.update(theta, state, Event(choice, stage, second, np.array(task.rewards)[reward]))
        arms = task.go_on(arms, rng)
    choices, states, seconds, rewards = found.transpose(1, 2, 0)
    return Trials(task, choices, states, seconds, rewards, np.full(sessions, trials), tuple(subjects))

"""Models of learning: how an agent's values follow from choices and rewards, and its choices from its values.

Each is one class with one `update`, which simulates, computes likelihoods and, where it is affine in the state, gives
the matrices of a weighted automaton. Logits are those of the choices from the second on, less that of the first.
Parameters (..., k) and states (..., n) are batched, and may be complex: gradients are complex steps, exact to rounding.

References: Ito and Doya, 2009 (forgetting); Lau and Glimcher, 2005 (perseverance); Beron, Neufeld, Linderman and
Sabatini, PNAS 2022 (RFLR); Daw et al., Neuron 2011 (hybrid); Squire and Trapp, SIAM Review 1998 (complex steps).
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from examples.behaviour.tasks import COMMON, Array, Event, Task, Trials

if TYPE_CHECKING:
    from keras_interp_rnn.automata import WeightedAutomaton

RATE, WEIGHT = (1e-3, 1 - 1e-3), (-20.0, 20.0)
"""Bounds of parameters."""

STEP = 1e-20
"""Of derivatives: too small to change the real part."""


class Agent(abc.ABC):
    """How values change and what is chosen.

    Attributes:
        name: of the family. parameters: name -> its bounds, and those between which simulated agents have it.
    """

    name: ClassVar[str]
    parameters: ClassVar[Mapping[str, tuple[float, float, tuple[float, float]]]]

    @abc.abstractmethod
    def initial(self, theta: Array, task: Task) -> Array:
        """The state (..., n) before the first trial."""

    @abc.abstractmethod
    def logits(self, theta: Array, state: Array) -> Array:
        """Logits (..., A - 1) of the next choice."""

    @abc.abstractmethod
    def update(self, theta: Array, state: Array, event: Event) -> Array:
        """The state after a trial."""

    def second_logit(self, theta: Array, state: Array, stage: Array) -> Array:
        """The logit of the second choice 1 in a state of the second stage; 0 where the agent has no values there."""
        return np.zeros(stage.shape)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Parameters (count, k) of simulated agents."""
        low, high = np.array([usual for _, _, usual in self.parameters.values()]).T
        return rng.uniform(low, high, size=(count, len(self.parameters)))


def _one_hot(choice: Array, like: Array) -> Array:
    return (choice[..., None] == np.arange(like.shape[-1])).astype(float)


def _against_first(values: Array) -> Array:
    return values[..., 1:] - values[..., :1]


class QLearner(Agent):
    r"""A forgetting Q-learner: $q_c \leftarrow q_c + \alpha (r - q_c)$; others $q \leftarrow (1 - \phi) q$."""

    name = "Q-learner"
    parameters = {
        "learning": (*RATE, (0.1, 0.6)),
        "forgetting": (*RATE, (0.05, 0.4)),
        "inverse temperature": (0.0, 30.0, (2.0, 5.0)),
    }

    def initial(self, theta: Array, task: Task) -> Array:
        return np.zeros((*theta.shape[:-1], task.num_choices))

    def logits(self, theta: Array, state: Array) -> Array:
        return theta[..., 2, None] * _against_first(state)

    def update(self, theta: Array, state: Array, event: Event) -> Array:
        chosen = _one_hot(event.choice, state)
        learning, forgetting = theta[..., 0, None], theta[..., 1, None]
        return state + learning * chosen * (event.reward[..., None] - state) - forgetting * (1 - chosen) * state


class PerseveringQLearner(QLearner):
    r"""A Q-learner that adds $\pi k$ to its logits, k a trace of its choices, $k \leftarrow k + \kappa (e_c - k)$."""

    name = "persevering Q-learner"
    parameters = {
        **QLearner.parameters,
        "trace": (*RATE, (0.1, 0.6)),
        "perseverance": (*WEIGHT, (0.5, 2.0)),
    }

    def initial(self, theta: Array, task: Task) -> Array:
        return np.zeros((*theta.shape[:-1], 2 * task.num_choices))

    def logits(self, theta: Array, state: Array) -> Array:
        values, trace = np.split(state, 2, axis=-1)
        return super().logits(theta, values) + theta[..., 4, None] * _against_first(trace)

    def update(self, theta: Array, state: Array, event: Event) -> Array:
        values, trace = np.split(state, 2, axis=-1)
        trace = trace + theta[..., 3, None] * (_one_hot(event.choice, trace) - trace)
        return np.concatenate([super().update(theta, values, event), trace], axis=-1)


class RFLR(PerseveringQLearner):
    r"""Recursively formulated logistic regression: logits $a e_c + \phi$, $\phi \leftarrow (1 - f) \phi + b r e_c$.

    $1 - f$ is the paper's $e^{-1 / \tau}$. It is a persevering Q-learner that learns as fast as it forgets, both at the
    rate f, and whose trace is its last choice: $\beta = b / f$, $\kappa = 1$, $\pi = a$.
    """

    name = "RFLR"
    parameters = {
        "forgetting": (*RATE, (0.1, 0.6)),
        "choice": (*WEIGHT, (0.3, 1.5)),
        "evidence": (*WEIGHT, (0.8, 2.5)),
    }

    def logits(self, theta: Array, state: Array) -> Array:
        return super().logits(self._of_q_learner(theta), state)

    def update(self, theta: Array, state: Array, event: Event) -> Array:
        return super().update(self._of_q_learner(theta), state, event)

    def _of_q_learner(self, theta: Array) -> Array:
        forgetting, choice, evidence = np.moveaxis(theta, -1, 0)
        return np.stack([forgetting, forgetting, evidence / forgetting, np.ones_like(choice), choice], axis=-1)


class BayesianObserver(Agent):
    r"""The belief b that the second of two arms is the better one, when they change places with some hazard.

    A reward has the likelihood g from the better arm, 1 - g from the other. Logit $\beta (2 b - 1)$.
    """

    name = "Bayesian observer"
    parameters = {
        "hazard": (1e-3, 0.5, (0.01, 0.15)),
        "reward of the better": (0.501, 0.999, (0.65, 0.9)),
        "inverse temperature": (0.0, 30.0, (1.0, 4.0)),
    }

    def initial(self, theta: Array, task: Task) -> Array:
        if task.num_choices != 2:
            raise ValueError(f"A Bayesian observer must have two arms. Received: {task.name}. Use a Q-learner.")
        return np.full((*theta.shape[:-1], 1), 0.5)

    def logits(self, theta: Array, state: Array) -> Array:
        return theta[..., 2, None] * (2 * state - 1)

    def update(self, theta: Array, state: Array, event: Event) -> Array:
        for_second = (event.choice == 1) == (event.reward > 0)
        likely = np.where(for_second, theta[..., 1], 1 - theta[..., 1])[..., None]
        after = likely * state / (likely * state + (1 - likely) * (1 - state))
        hazard = theta[..., 0, None]
        return (1 - hazard) * after + hazard * (1 - after)


class Hybrid(Agent):
    """Daw's hybrid of model-based and model-free learning in the two-step task; its choices of the first stage."""

    name = "hybrid"
    parameters = {
        "first learning": (*RATE, (0.2, 0.7)),
        "second learning": (*RATE, (0.2, 0.7)),
        "eligibility": (0.0, 1.0, (0.2, 0.9)),
        "model-based": (0.0, 30.0, (1.0, 5.0)),
        "model-free": (0.0, 30.0, (1.0, 4.0)),
        "stickiness": (*WEIGHT, (0.0, 1.0)),
    }

    def initial(self, theta: Array, task: Task) -> Array:
        if task.num_states != 2:
            raise ValueError(f"The hybrid model must have two stages. Received: {task.name}. Use a Q-learner.")
        return np.zeros((*theta.shape[:-1], 7))  # two first values, four second ones, last choice as -1 or 1

    def logits(self, theta: Array, state: Array) -> Array:
        best = np.maximum(state[..., [2, 4]], state[..., [3, 5]])
        parts = [(2 * COMMON - 1) * _against_first(best), _against_first(state[..., :2]), state[..., 6:]]
        return (theta[..., None, 3:6] * np.stack(parts, axis=-1)).sum(axis=-1)

    def update(self, theta: Array, state: Array, event: Event) -> Array:
        first = _one_hot(event.choice, state[..., :2])
        second = _one_hot(2 * event.state + event.second, state[..., 2:6])
        reached = (second * state[..., 2:6]).sum(axis=-1, keepdims=True)
        surprise = event.reward[..., None] - reached
        step = theta[..., 0, None] * (reached - state[..., :2] + theta[..., 2, None] * surprise)
        return np.concatenate(
            [
                state[..., :2] + first * step,
                state[..., 2:6] + second * theta[..., 1, None] * surprise,
                _against_first(first) + 0 * surprise,
            ],
            axis=-1,
        )

    def second_logit(self, theta: Array, state: Array, stage: Array) -> Array:
        values = np.where((stage == 0)[..., None], state[..., 2:4], state[..., 4:6])
        return theta[..., 4] * _against_first(values)[..., 0]


AGENTS: dict[str, Agent] = {
    agent.name: agent for agent in (QLearner(), PerseveringQLearner(), RFLR(), BayesianObserver(), Hybrid())
}


def agents_for(task: Task) -> list[Agent]:
    """The families that can do a task."""
    others = {"two-step": "Bayesian observer", "bandit4": "Bayesian observer"}
    return [
        agent
        for agent in AGENTS.values()
        if agent.name != others.get(task.name) and (task.num_states == 2 or agent.name != "hybrid")
    ]


def agent_logits(agent: Agent, parameters: ArrayLike, trials: Trials) -> Array:
    """Logits (..., sessions, trials - 1, A - 1) of the choices from the second on.

    Args:
        agent: the family. parameters: (k,), or (..., sessions, k), also complex. trials: what is read.
    """
    theta = np.asarray(parameters)
    theta = np.broadcast_to(theta, (*theta.shape[:-2], len(trials), theta.shape[-1]))
    state, found = agent.initial(theta, trials.task), []
    for trial in range(trials.choices.shape[1] - 1):
        state = agent.update(theta, state, trials.event(trial))
        found.append(agent.logits(theta, state))
    return np.stack(found, axis=-2)


def probabilities(logits: Array) -> Array:
    """Probabilities (..., A) of choices from their logits (..., A - 1)."""
    scores = np.concatenate([np.zeros_like(logits[..., :1]), logits], axis=-1)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def nats(logits: Array, targets: Array) -> Array:
    """Cross entropy (sessions, trials - 1) of choices.

    Args:
        logits: (sessions, trials - 1, A - 1). targets: probabilities (sessions, trials - 1, A), one-hot or not.
    """
    scores = np.concatenate([np.zeros_like(logits[..., :1]), logits], axis=-1)
    top = scores.max(axis=-1, keepdims=True)
    return top[..., 0] + np.log(np.exp(scores - top).sum(axis=-1)) - (targets * scores).sum(axis=-1)


def chosen(trials: Trials) -> Array:
    """The choices from the second on, one-hot (sessions, trials - 1, A)."""
    return np.eye(trials.task.num_choices)[trials.choices[:, 1:]]


def fit_agent(
    agent: Agent,
    trials: Trials,
    *,
    targets: Array | None = None,
    groups: Array | None = None,
    start: ArrayLike | None = None,
) -> Array:
    """Maximum likelihood: L-BFGS with exact gradients, all groups as one batch.

    Args:
        agent: the family. trials: what is fitted. targets: probabilities (sessions, trials - 1, A) in place of the
            choices. groups: int (sessions,); the sessions of each group have parameters of their own.
        start: (k,); None for the better of two starts among the usual parameters.

    Returns:
        (k,), or (groups, k).
    """
    low, high, usual = (np.array(part) for part in zip(*agent.parameters.values(), strict=True))
    least, span = usual[:, 0], usual[:, 1] - usual[:, 0]  # all parameters are searched in their usual span
    ids = np.zeros(len(trials), int) if groups is None else groups
    shape = (ids.max() + 1, len(low))
    weights = trials.scored / trials.scored.sum()
    goal = chosen(trials) if targets is None else targets
    steps = 1j * STEP * np.eye(len(low))[:, None, :]

    def objective(flat: Array) -> tuple[float, Array]:
        theta = least + span * flat.reshape(shape)
        found = agent_logits(agent, theta[ids] + steps, trials)
        logits = found[0].real
        excess = (probabilities(logits) - goal)[..., 1:] * weights[..., None]
        slopes = np.zeros(shape)
        np.add.at(slopes, ids, np.einsum("stc,kstc->sk", excess, found.imag / STEP))
        return float((nats(logits, goal) * weights).sum()), (slopes * span).ravel()

    bounds = np.tile((np.stack([low, high], axis=1) - least[:, None]) / span[:, None], (shape[0], 1))
    options: dict[str, Any] = {"maxiter": 300, "ftol": 1e-11, "gtol": 1e-6 / shape[0]}
    points = [np.full(shape, part) for part in (0.2, 0.8)]
    if start is not None:
        points = [np.broadcast_to((np.asarray(start) - least) / span, shape)]
    fits = [
        minimize(objective, point.ravel(), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        for point in points
    ]
    best = least + span * min(fits, key=lambda fit: float(fit.fun)).x.reshape(shape)
    return best[0] if groups is None else best


def automaton(agent: Agent, parameters: ArrayLike, task: Task) -> WeightedAutomaton:
    """The agent as a weighted automaton over the ids of symbols, whose values are its logits; its last state is 1.

    Raises:
        ValueError: if the agent is not affine in its state.
    """
    from keras_interp_rnn.automata import WeightedAutomaton

    theta = np.asarray(parameters, float)
    initial = agent.initial(theta, task)
    n = len(initial)
    probes = np.concatenate([np.eye(n), np.zeros((1, n)), np.random.default_rng(0).uniform(-1, 1, size=(1, n))])
    every = np.broadcast_to(theta, (n + 2, len(theta)))
    maps = [
        agent.update(every, probes, Event(*(np.broadcast_to(part, n + 2) for part in task.event(symbol))))
        for symbol in range(task.num_symbols)
    ]
    values = [*maps, agent.logits(every, probes)]
    homogeneous = np.concatenate([probes, np.ones((n + 2, 1))], axis=1)
    forms = []
    for value in values:
        linear = np.concatenate([value[:n] - value[n], value[n : n + 1]])
        if not np.allclose(homogeneous @ linear, value, rtol=0, atol=1e-9):
            raise ValueError(f"An agent must be affine in its state to be an automaton. Received: {agent.name}.")
        forms.append(linear)
    last = np.zeros((n + 1, 1))
    last[n] = 1
    transitions = np.stack([np.concatenate([linear, last], axis=1) for linear in forms[:-1]])
    final = forms[-1][:, 0] if task.num_choices == 2 else forms[-1]
    return WeightedAutomaton(np.append(initial, 1.0), transitions, final)

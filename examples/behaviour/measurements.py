"""The measurements, each a line of JSON in a file of records, and the tables made of them.

A line that is there is not measured again: what was stopped goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from examples.behaviour import models, protocol, reading
from examples.behaviour.agents import AGENTS, agent_logits, agents_for, fit_agent
from examples.behaviour.tasks import TASKS, Trials, simulate
from examples.papers import _records

LENGTH = 250
"""Trials of a session of a simulated agent."""

RECOVERED = {"Q-learner": 2, "RFLR": 2, "persevering Q-learner": 3}
"""Agent -> units of the network that is fitted to it."""

RATES = ("learning", "forgetting", "trace")

COMPARED = 4_000
"""Trials on which a network and agents are compared."""


def recover(folder: Path, name: str, *, num_agents: int, num_trials: int) -> None:
    """Parameters of simulated agents on reversal learning, read off the networks that were fitted to their choices."""
    task, agent, sessions = TASKS["reversal"], AGENTS[name], max(num_trials // LENGTH, 1)
    run = f"{name}, {num_agents} agents, {num_trials} trials"

    def measure() -> dict[str, Any]:
        true = agent.draw(num_agents, np.random.default_rng(0))
        settings = {"sessions": num_agents * sessions, "trials": min(LENGTH, num_trials), "seed": 1}
        trials = simulate(task, agent, np.repeat(true, sessions, axis=0), **settings)
        groups = np.repeat(np.arange(num_agents), sessions)
        network = models.Network("DiagonalISAN", RECOVERED[name])
        penalty, clock = 0.05 / num_trials, time.process_time()
        fits = network.fit(trials, groups == np.arange(num_agents)[:, None], penalty=penalty, seed=0)
        fitted, found = time.process_time() - clock, []
        likely = np.stack([fit_agent(agent, trials.take(groups == g), starts=(0.5,)) for g in range(num_agents)])
        for g, logits in enumerate(fits):
            part = trials.take(np.flatnonzero(groups == g)[: max(COMPARED // LENGTH, 1)])
            matches = reading.which_agent(logits(part), part, agents_for(task), num_choices=num_trials)
            own = next(match for match in matches if match.agent.name == name)
            found.append(
                {
                    "true": _rounded(true[g]),
                    "network": _rounded(list(own.parameters.values())),
                    "likelihood": _rounded(likely[g]),
                    "distance": own.distance,
                    "nearest": matches[0].agent.name,
                }
            )
        model = {"name": network.name, "parameters": network.num_weights(task)}
        return {"model": model, "result": {"agents": found, "fit_cpu_seconds": round(fitted, 1)}}

    _measure(folder, "recovery", run, measure)


def compare(folder: Path, name: str, trials: Trials, chosen_models: Sequence[models.Model]) -> None:
    """Nats a choice of models, by nested cross-validation over subjects."""
    for model in chosen_models:

        def measure(model: models.Model = model) -> dict[str, Any]:
            clock = time.process_time()
            scores = protocol.cross_validate(model, trials)
            result = {"nats": _rounded(scores.by_subject, 6), "penalties": scores.penalties}
            result |= {"cpu_seconds": round(time.process_time() - clock, 1), "seconds": round(scores.seconds, 1)}
            return {"model": {"name": model.name, "parameters": scores.num_weights}, "result": result}

        _measure(
            folder,
            "comparison",
            f"{name}: {model.name}",
            measure,
            data={"name": name, "choices": int(trials.scored.sum())},
        )


def speed(folder: Path, num_subjects: int) -> None:
    """Seconds of a nested cross-validation in which each subject has a network of its own."""
    trials = subjects_of("reversal", "Q-learner", num_subjects=num_subjects, num_trials=500)

    def measure() -> dict[str, Any]:
        network, clock = models.Network("DiagonalISAN", 2), time.process_time()
        scores = protocol.cross_validate(network, trials, each_subject=True)
        result = {"cpu_seconds": round(time.process_time() - clock, 1), "seconds": round(scores.seconds, 1)}
        return {
            "model": {"name": network.name, "parameters": scores.num_weights},
            "result": result | {"nats": float(scores.by_subject.mean())},
        }

    _measure(folder, "speed", f"{num_subjects} subjects of 500 trials", measure)


def subjects_of(task: str, agent: str, *, num_subjects: int, num_trials: int) -> Trials:
    """Simulated subjects, each an agent with parameters of its own and five sessions."""
    theta = AGENTS[agent].draw(num_subjects, np.random.default_rng(2))
    settings = {"sessions": 5 * num_subjects, "trials": num_trials // 5, "seed": 3}
    trials = simulate(TASKS[task], AGENTS[agent], np.repeat(theta, 5, axis=0), **settings)
    return trials.named([f"{number // 5:03d}" for number in range(5 * num_subjects)])


def true_loss(trials: Trials, agent: str, num_subjects: int) -> float:
    """Mean nats a choice of the agents that made `subjects_of`."""
    theta = np.repeat(AGENTS[agent].draw(num_subjects, np.random.default_rng(2)), 5, axis=0)
    return reading.loss_of(agent_logits(AGENTS[agent], theta, trials), trials)


def _measure(
    folder: Path, experiment: str, run: str, measure: Callable[[], dict[str, Any]], data: dict[str, Any] | None = None
) -> None:
    if _records.find(folder, experiment, run) is None:
        settings = {"restarts": models.RESTARTS, "max_steps": models.MAX_STEPS}
        record = {"experiment": experiment, "run": run, "data": data or {"name": "simulated"}, "protocol": settings}
        _records.append(folder, {**record, **measure()})
        print(run, flush=True)


def _rounded(values: Any, digits: int = 4) -> list[float]:
    return [round(float(value), digits) for value in values]

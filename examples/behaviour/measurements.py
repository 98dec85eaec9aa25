"""The measurements, each a line of JSON in a file of records, and the tables made of them.

A line that is there is not measured again: what was stopped goes on.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from examples.behaviour import models, protocol, reading, samples
from examples.behaviour.agents import AGENTS, agent_logits, agents_for, fit_agent
from examples.behaviour.tasks import TASKS, Trials, simulate
from examples.papers import _records

LENGTH = 250
"""Trials of a session of a simulated agent."""

RECOVERED = {"Q-learner": 2, "RFLR": 2, "persevering Q-learner": 3}
"""Agent -> units of the network that is fitted to it."""

RATES = ("learning", "forgetting", "trace")

BASELINE = "GRU(2)"
"""What others are compared with."""

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

        data = {"name": name, "choices": int(trials.scored.sum())}
        _measure(folder, "comparison", f"{name}: {model.name}", measure, data=data)


def speed(folder: Path, num_subjects: int) -> None:
    """Seconds of a nested cross-validation in which each subject has a network of its own."""
    trials = subjects_of("reversal", "Q-learner", num_subjects=num_subjects, num_trials=500)

    def measure() -> dict[str, Any]:
        network, clock = models.Network("DiagonalISAN", 2), time.process_time()
        scores = protocol.cross_validate(network, trials, each_subject=True)
        result = {"nats": float(scores.by_subject.mean()), "seconds": round(scores.seconds, 1)}
        result |= {"cpu_seconds": round(time.process_time() - clock, 1)}
        return {"model": {"name": network.name, "parameters": scores.num_weights}, "result": result}

    _measure(folder, "speed", f"{num_subjects} subjects of 500 trials", measure)


def sessions_of(args: Namespace) -> tuple[str, Trials]:
    """The sessions that arguments of the command line ask for, and a name for them."""
    if args.data is not None:
        return args.data.stem, samples.read(args.data, args.task)
    able = [agent.name for agent in agents_for(TASKS[args.task])]
    if args.agent not in able:
        raise ValueError(f"--agent must be one of {', '.join(able)} in this task. Received: {args.agent}.")
    subjects, trials = (3, 40) if args.smoke else (getattr(args, "subjects", 20), getattr(args, "trials", 500))
    name = f"{args.task}, {subjects} {args.agent}s, {trials} trials"
    return name, subjects_of(args.task, args.agent, num_subjects=subjects, num_trials=trials)


def measure(args: Namespace) -> None:
    """One of the measurements, by arguments of the command line."""
    if args.smoke:
        models.MAX_STEPS = 5
    if args.what == "recovery":
        for name in list(RECOVERED)[: 1 if args.smoke else None]:
            recover(args.records, name, num_agents=2 if args.smoke else args.subjects, num_trials=args.trials)
    elif args.what == "speed":
        speed(args.records, args.subjects)
    else:
        name, trials = sessions_of(args)
        every = models.models_for(trials.task)
        compare(args.records, name, trials, every[:1] + every[-7:-6] if args.smoke else every)


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


def tables(folder: Path) -> dict[str, list[str]]:
    """The tables of the records in Markdown: name -> lines."""
    found: dict[str, list[str]] = {}
    recovered: dict[tuple[str, int], Any] = {}
    for record in _read(folder, "recovery"):
        name, _, trials = record["run"].split(", ")
        recovered[name, int(trials.split()[0])] = record["result"]["agents"]
    if recovered:
        head = [
            "agent",
            "trials",
            "rates within 0.05, network",
            "by likelihood",
            "median error, network",
            "by likelihood",
        ]
        rows = []
        for (name, trials), agents in sorted(
            recovered.items(), key=lambda item: (list(RECOVERED).index(item[0][0]), item[0][1])
        ):
            places = [place for place, rate in enumerate(AGENTS[name].parameters) if rate in RATES]
            row = [name, f"{trials:,}"]
            errors = {
                way: np.array([[abs(each[way][p] - each["true"][p]) for p in places] for each in agents])
                for way in ("network", "likelihood")
            }
            row += [f"{(error < 0.05).mean():.0%} of {error.size}" for error in errors.values()]
            row += [f"{np.median(error):.3f}" for error in errors.values()]
            named = sum(each["nearest"] == name for each in agents)
            rows.append([*row, f"{named} of {len(agents)}"])
        found["recovery"] = _table([*head, "family named right"], rows)
    by_data: dict[str, list[Any]] = {}
    for record in _read(folder, "comparison"):
        by_data.setdefault(record["data"]["name"], []).append(record)
    for data, records in by_data.items():
        by_name = {record["model"]["name"]: np.array(record["result"]["nats"]) for record in records}
        rows = []
        for record in sorted(records, key=lambda record: float(np.mean(record["result"]["nats"]))):
            values = by_name[record["model"]["name"]]
            cells = ["{:.4f} ({:.4f} to {:.4f})".format(*protocol.interval(values)), "", ""]
            if BASELINE in by_name and record["model"]["name"] != BASELINE:
                cells[1] = "{:+.4f} ({:+.4f} to {:+.4f})".format(*protocol.interval(values - by_name[BASELINE]))
            cells[2] = f"{record['result']['cpu_seconds']:.0f}"
            rows.append([record["model"]["name"], str(record["model"]["parameters"]), *cells])
        found[data] = _table(["model", "weights", "nats a choice", f"less {BASELINE}", "seconds"], rows)
    rows = [
        [record["run"], f"{record['result']['cpu_seconds']:.0f}", f"{record['result']['seconds']:.0f}"]
        for record in _read(folder, "speed")
    ]
    if rows:
        found["speed"] = _table(["fitted", "seconds of one core", "seconds by the clock"], rows)
    return found


def _read(folder: Path, experiment: str) -> list[dict[str, Any]]:
    path = _records.path_of(folder, experiment)
    return _records.read(path) if path.exists() else []


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)]


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

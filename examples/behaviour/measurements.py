"""The measurements, each a line of JSON in a file of records, and the tables made of them.

A line that is there is not measured again: what was stopped goes on.
"""

from __future__ import annotations

import functools
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from examples.behaviour import models, protocol, reading, samples
from examples.behaviour.agents import AGENTS, agents_for, fit_agent
from examples.behaviour.tasks import TASKS, Array, Trials, simulate
from examples.papers import _records
from examples.papers._experiment import table

LENGTH, SESSIONS = 100, 5
"""Trials of a session of an agent that is recovered; sessions of a simulated subject."""

RECOVERED = {"Q-learner": 2, "RFLR": 2, "persevering Q-learner": 3}
"""Agent -> units of the network that is fitted to it."""

MARKS = "<!-- tables -->", "<!-- end of tables -->"
"""Of a page, between which its tables are."""

RATES = ("learning", "forgetting", "trace")
"""Parameters that are rates."""

BASELINE = "GRU(2)"
"""What others are compared with."""

COMPARED = 4_000
"""Trials on which a network and agents are compared."""


def measure(args: Namespace) -> None:
    """One of the measurements, by arguments of the command line."""
    if args.smoke:
        models.MAX_STEPS, args.subjects = 5, 2
    if args.what == "recovery":
        for name in _only(args, RECOVERED)[: 1 if args.smoke else None]:
            recover(args.records, name, num_agents=args.subjects, num_trials=args.trials, part=args.part)
    elif args.what == "speed":
        speed(args.records, args.subjects)
    else:
        name, trials = sessions_of(args)
        every = {model.name: model for model in models.models_for(trials.task)}
        names = ["Q-learner", "logistic regression, 5 lags"] if args.smoke and not args.only else _only(args, every)
        compare(args.records, name, trials, [every[each] for each in names])


def _only(args: Namespace, names: Iterable[str]) -> list[str]:
    """The names, or the one that is asked for."""
    if args.only is not None and args.only not in names:
        raise ValueError(f"--only must be one of {', '.join(names)}. Received: {args.only}.")
    return list(names) if args.only is None else [args.only]


def recover(folder: Path, name: str, *, num_agents: int, num_trials: int, part: str) -> None:
    """Parameters of simulated agents on reversal learning, read off the networks that were fitted to their choices.

    Args:
        folder: of the records. name: of the agents' family. num_agents: how many are simulated.
        num_trials: of each. part: "K/N" for part K of N of the agents, a record of its own.
    """
    task, agent = TASKS["reversal"], AGENTS[name]
    sessions, length = max(num_trials // LENGTH, 1), min(LENGTH, num_trials)
    place, number = map(int, part.split("/"))
    chosen = np.arange(num_agents)[place - 1 :: number]

    def measured() -> dict[str, Any]:
        true = agent.draw(num_agents, np.random.default_rng(0))
        subjects = [f"{number:03d}" for number in range(num_agents) for _ in range(sessions)]
        theta = np.repeat(true, sessions, axis=0)
        trials = simulate(task, agent, theta, trials=length, seed=1, subjects=subjects)
        groups = trials.subject_ids == chosen[:, None]
        network, clock = models.Network("DiagonalISAN", RECOVERED[name]), time.process_time()
        fits = network.fit(trials, groups, penalties=np.full(len(chosen), 0.05 / num_trials), seed=0)
        seconds, found = round(time.process_time() - clock, 1), []
        for parameters, logits, rows in zip(true[chosen], fits, groups, strict=True):
            compared = trials.take(np.flatnonzero(rows)[: max(COMPARED // LENGTH, 1)])
            matches = reading.which_agent(logits(compared), compared, agents_for(task), num_choices=num_trials)
            [same] = [match for match in matches if match.agent is agent]
            near = list(same.parameters.values())
            likely = fit_agent(agent, trials.take(rows), start=near)
            read = {"true": parameters, "network": near, "likelihood": likely}
            entries = {way: _rounded(values, 4) for way, values in read.items()}
            found.append({**entries, "distance": same.distance, "nearest": matches[0].agent.name})
        model = {"name": network.name, "parameters": network.num_weights(task)}
        return {"model": model, "result": {"agents": found, "fit_cpu_seconds": seconds}}

    agents = f"{num_agents} agents" if number == 1 else f"part {part} of {num_agents} agents"
    _append(folder, "recovery", f"{name}, {agents}, {num_trials} trials", "simulated", measured)


def compare(folder: Path, name: str, trials: Trials, chosen_models: Sequence[models.Model]) -> None:
    """Nats a choice of models, by nested cross-validation over subjects."""
    for model in chosen_models:
        measured = functools.partial(_scored, model, trials)
        _append(folder, "comparison", f"{name}: {model.name}", name, measured)


def speed(folder: Path, num_subjects: int) -> None:
    """Seconds of a nested cross-validation in which each subject has a network of its own."""
    trials = subjects_of("reversal", "Q-learner", num_subjects=num_subjects, num_trials=500)
    network = models.Network("DiagonalISAN", 2)
    run = f"{num_subjects} subjects of 500 trials"
    _append(folder, "speed", run, "simulated", lambda: _scored(network, trials, each_subject=True))


def subjects_of(task: str, agent: str, *, num_subjects: int, num_trials: int) -> Trials:
    """Simulated subjects, each an agent with parameters of its own and several sessions."""
    theta = np.repeat(AGENTS[agent].draw(num_subjects, np.random.default_rng(2)), SESSIONS, axis=0)
    subjects = [f"{number:03d}" for number in range(num_subjects) for _ in range(SESSIONS)]
    return simulate(TASKS[task], AGENTS[agent], theta, trials=num_trials // SESSIONS, seed=3, subjects=subjects)


def sessions_of(args: Namespace) -> tuple[str, Trials]:
    """The sessions that arguments of the command line ask for, and a name for them."""
    if args.data is not None:
        return args.data.stem, samples.read(args.data, args.task)
    able = [agent.name for agent in agents_for(TASKS[args.task])]
    if args.agent not in able:
        raise ValueError(f"--agent must be one of {', '.join(able)} in this task. Received: {args.agent}.")
    subjects, trials = (10, 40) if args.smoke else (args.subjects, args.trials)
    name = f"{args.task}, {subjects} {args.agent}s, {trials} trials"
    return name, subjects_of(args.task, args.agent, num_subjects=subjects, num_trials=trials)


def report(folder: Path, page: Path | None) -> None:
    """Prints the tables of the records, or puts them into a page between its two marks."""
    lines = [line for name, text in tables(folder).items() for line in (f"### {name}", "", text, "")]
    if page is None:
        print("\n".join(lines))
    else:
        start, _, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
        end = rest.partition(MARKS[1])[2]
        page.write_text("\n".join([start + MARKS[0], "", *lines, MARKS[1] + end]), encoding="utf-8")


def tables(folder: Path) -> dict[str, str]:
    """The tables of the records in Markdown, by name."""
    found: dict[str, str] = {}
    recovered: dict[tuple[str, int], list[dict[str, Any]]] = {}
    by_data: dict[str, dict[str, Any]] = {}
    for record in _read(folder, "recovery"):
        name, _, trials = record["run"].split(", ")
        recovered.setdefault((name, int(trials.split()[0])), []).append(record)
    if recovered:
        head = "agent | trials | rates within 0.05 | by likelihood | median error | by likelihood | named right"
        found["Parameters recovered"] = table(head, [_recovery(*each) for each in sorted(recovered.items())])
    for record in _read(folder, "comparison"):
        by_data.setdefault(record["data"]["name"], {})[record["model"]["name"]] = record
    for name, records in by_data.items():
        lines = [_comparison(record, records) for record in sorted(records.values(), key=_mean)]
        found[name] = table(f"model | weights | nats a choice | less that of {BASELINE} | seconds", lines)
    if timed := _read(folder, "speed"):
        times = [[each["run"], *(f"{each['result'][key]:.0f}" for key in ("cpu_seconds", "seconds"))] for each in timed]
        found["Time"] = table("one network each | seconds of one core | by the clock", times)
    return found


def _recovery(of: tuple[str, int], records: Sequence[dict[str, Any]]) -> list[str]:
    name, trials = of
    agents = [agent for record in records for agent in record["result"]["agents"]]
    rates = [place for place, parameter in enumerate(AGENTS[name].parameters) if parameter in RATES]
    ways = {way: np.array([each[way] for each in agents])[:, rates] for way in ("true", "network", "likelihood")}
    errors = [np.abs(ways[way] - ways["true"]) for way in ("network", "likelihood")]
    right = sum(each["nearest"] == name for each in agents)
    within = [f"{(error < 0.05).sum()} of {error.size}" for error in errors]
    medians = [f"{np.median(error):.3f}" for error in errors]
    return [name, f"{trials:,}", *within, *medians, f"{right} of {len(agents)}"]


def _comparison(record: dict[str, Any], records: dict[str, dict[str, Any]]) -> list[str]:
    values, seconds = np.array(record["result"]["nats"]), f"{record['result']['cpu_seconds']:.0f}"
    less = ""
    if BASELINE in records and record is not records[BASELINE]:
        paired = values - np.array(records[BASELINE]["result"]["nats"])
        less = "{:+.4f} ({:+.4f} to {:+.4f})".format(*protocol.interval(paired))
    nats = "{:.4f} ({:.4f} to {:.4f})".format(*protocol.interval(values))
    return [record["model"]["name"], str(record["model"]["parameters"]), nats, less, seconds]


def _mean(record: dict[str, Any]) -> float:
    return float(np.mean(record["result"]["nats"]))


def _read(folder: Path, experiment: str) -> list[dict[str, Any]]:
    path = _records.path_of(folder, f"behaviour-{experiment}")
    return _records.read(path) if path.exists() else []


def _scored(model: models.Model, trials: Trials, each_subject: bool = False) -> dict[str, Any]:
    clock, wall = time.process_time(), time.perf_counter()
    scores = protocol.cross_validate(model, trials, each_subject=each_subject)
    seconds = {"cpu_seconds": time.process_time() - clock, "seconds": time.perf_counter() - wall}
    result = {
        "nats": _rounded(scores.by_subject, 6),
        "penalties": scores.penalties,
        **{name: round(value, 1) for name, value in seconds.items()},
    }
    return {"model": {"name": model.name, "parameters": model.num_weights(trials.task)}, "result": result}


def _append(folder: Path, experiment: str, run: str, data: str, measured: Callable[[], dict[str, Any]]) -> None:
    experiment = f"behaviour-{experiment}"
    if _records.find(folder, experiment, run) is None:
        settings = {"restarts": models.RESTARTS, "max_steps": models.MAX_STEPS}
        record = {"experiment": experiment, "run": run, "data": {"name": data}, "protocol": settings}
        _records.append(folder, {**record, **measured()})
        print(run, flush=True)


def _rounded(values: Sequence[float] | Array, digits: int) -> list[float]:
    return [round(float(value), digits) for value in values]

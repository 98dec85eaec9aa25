"""Choices: tasks, agents, networks fitted to them, and what is measured."""

import dataclasses
import functools
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from examples.behaviour import measurements, models, protocol, reading, samples
from examples.behaviour.__main__ import main
from examples.behaviour.agents import AGENTS, agent_logits, agents_for, automaton, chosen, fit_agent, nats
from examples.behaviour.tasks import TASKS, Task, simulate
from keras_interp_rnn.automata import WeightedAutomaton
from tests.behaviour.oracles import ORACLES

ROOT = Path(__file__).parents[2]
AFFINE = ("Q-learner", "persevering Q-learner", "RFLR")


def sessions(task, name, *, number=3, trials=40, seed=0, subjects=None):
    """Sessions of agents that all differ, and their parameters."""
    theta = AGENTS[name].draw(number, np.random.default_rng(seed))
    names = subjects or [f"{place}" for place in range(number)]
    return simulate(TASKS[task], AGENTS[name], theta, trials=trials, seed=seed + 1, subjects=names), theta


def of_session(trials, row):
    rewards = np.array(trials.task.rewards)[trials.rewards[row]]
    return list(zip(trials.choices[row], trials.states[row], trials.seconds[row], rewards, strict=True))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_is_the_papers_loop(name, seed):
    trials, theta = sessions("two-step" if name == "hybrid" else "reversal", name, seed=seed)
    found = agent_logits(AGENTS[name], theta, trials)[..., 0]
    for row, parameters in enumerate(theta):
        expected = ORACLES[name](of_session(trials, row), *parameters)[:-1]
        np.testing.assert_allclose(found[row], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", AFFINE)
def test_an_affine_agent_is_its_automaton(name, task):
    trials, theta = sessions(task, name)
    found = agent_logits(AGENTS[name], theta, trials)
    for row, parameters in enumerate(theta):
        machine = automaton(AGENTS[name], parameters, trials.task)
        expected = [machine.value(trials.symbols[row, :length]) for length in range(1, 40)]
        np.testing.assert_allclose(found[row], np.reshape(expected, found[row].shape), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "task"), [("Bayesian observer", "reversal"), ("hybrid", "two-step")])
def test_an_agent_that_is_not_affine_has_no_automaton(name, task):
    theta = AGENTS[name].draw(1, np.random.default_rng(0))[0]
    with pytest.raises(ValueError, match=f"must be affine in its state to be an automaton. Received: {name}"):
        automaton(AGENTS[name], theta, TASKS[task])


def test_agents_refuse_tasks_that_they_cannot_do():
    for name, task in (("Bayesian observer", "bandit4"), ("hybrid", "reversal")):
        assert AGENTS[name] not in agents_for(TASKS[task])
        with pytest.raises(ValueError, match="must have two"):
            sessions(task, name)


@pytest.mark.parametrize("name", AGENTS)
def test_a_fit_is_the_likeliest_agent_around(name):
    task = "two-step" if name == "hybrid" else "reversal"
    theta = AGENTS[name].draw(1, np.random.default_rng(5))[0]
    trials = simulate(TASKS[task], AGENTS[name], theta, trials=150, seed=1, subjects=["a"] * 20)
    found = fit_agent(AGENTS[name], trials)

    def loss(parameters):
        return reading.loss_of(agent_logits(AGENTS[name], parameters, trials), trials)

    assert loss(found) < loss(theta)
    for step in np.concatenate([0.03 * np.eye(len(theta)), -0.03 * np.eye(len(theta))]):
        assert loss(found * (1 + step)) > loss(found) - 1e-7


def test_groups_are_fitted_as_if_each_were_alone():
    trials, _ = sessions("reversal", "Q-learner", number=6, trials=80, subjects=list("aabbba"))
    together = fit_agent(AGENTS["Q-learner"], trials, groups=trials.subject_ids)
    for group in (0, 1):
        alone = fit_agent(AGENTS["Q-learner"], trials.take(trials.subject_ids == group))
        np.testing.assert_allclose(together[group], alone, rtol=1e-3, atol=1e-3)


def test_symbols_and_events_are_inverse():
    task = Task("many", num_choices=3, rewards=(-1.0, 0.0, 2.0), num_states=2)
    assert len(set(task.names)) == task.num_symbols == 18
    for symbol in range(18):
        event = task.event(symbol)
        assert task.symbols(event.choice, event.state, task.rewards.index(event.reward)) == symbol


def test_reward_probabilities_drift_within_bounds_or_change_places():
    rng = np.random.default_rng(0)
    for name, task in TASKS.items():
        arms = first = task.begin(500, rng)
        for _ in range(50):
            arms = task.go_on(arms, rng)
        low, high = task.bounds
        assert (low <= arms).all(), name
        assert (arms <= high).all(), name
        assert abs((arms != first).any(axis=1).mean() - (0.5 if task.hazard else 1.0)) < 0.1, name


def test_a_two_step_choice_leads_to_its_own_state_in_seven_trials_of_ten():
    trials, _ = sessions("two-step", "hybrid", number=50, trials=100)
    assert abs((trials.states == trials.choices).mean() - 0.7) < 0.02


def test_an_agent_and_its_automaton_make_the_same_choices():
    theta = AGENTS["persevering Q-learner"].draw(1, np.random.default_rng(0))[0]
    task, settings = TASKS["bandit4"], {"trials": 60, "seed": 4, "subjects": list("abcd")}
    agent = AGENTS["persevering Q-learner"]
    machine = reading.AffineAgent(automaton(agent, theta, task), task)
    first, second = simulate(task, agent, theta, **settings), simulate(task, machine, [], **settings)
    assert (first.symbols == second.symbols).all()


def test_the_nearest_agent_of_an_agent_is_itself():
    trials, theta = sessions("reversal", "RFLR", number=8, trials=120)
    logits = agent_logits(AGENTS["RFLR"], theta[0], trials)
    best, *others = reading.which_agent(logits, trials, agents_for(trials.task), num_choices=20_000)
    assert best.agent.name == "RFLR"
    np.testing.assert_allclose(list(best.parameters.values()), theta[0], rtol=1e-2)
    assert best.distance < 1e-6
    assert all(other.score > best.score for other in others)


def test_repeated_choices_are_counted_after_what_came_before():
    trials, _ = sessions("reversal", "Q-learner", number=1, trials=5)
    choices, rewards = np.array([[0, 0, 1, 1, 1]]), np.array([[1, 0, 1, 1, 0]])
    trials = dataclasses.replace(trials, choices=choices, rewards=rewards)
    found = {name: values.tolist() for name, values in reading.stays(trials).items()}
    assert found == {"0 then 0": [], "0 then 1": [1.0], "1 then 0": [0.0], "1 then 1": [1.0]}


# Networks


@pytest.mark.parametrize(("kind", "units", "weights"), [("DiagonalISAN", 2, 16), ("GRU", 2, 51), ("lags", 5, 21)])
def test_a_network_counts_its_weights_and_is_fitted_to_each_set_of_sessions(kind, units, weights, monkeypatch):
    monkeypatch.setattr(models, "MAX_STEPS", 15)
    network, (trials, _) = models.Network(kind, units), sessions("reversal", "Q-learner", number=4, trials=30)
    assert network.num_weights(trials.task) == weights
    subsets = np.array([[True, True, False, False], [False, False, True, True]])
    first, second = network.fit(trials, subsets, penalties=np.full(2, 1e-4), seed=0)
    for logits, rows in ((first, subsets[0]), (second, subsets[1])):
        assert logits(trials).shape == (4, 29, 1)
        assert reading.loss_of(logits(trials.take(rows)), trials.take(rows)) < np.log(2)
    assert np.abs(first(trials) - second(trials)).max() > 1e-3


def test_a_fitted_network_is_an_automaton_of_its_logits(monkeypatch):
    monkeypatch.setattr(models, "MAX_STEPS", 5)
    trials, _ = sessions("bandit4", "Q-learner", trials=12)
    fits = models.Network("DiagonalISAN", 3).fits(trials, np.ones((1, 3), bool), penalties=np.full(1, 1e-4), seed=0)
    machine = WeightedAutomaton.from_network(fits.model)
    expected = [machine.value(trials.symbols[1, :length]) for length in range(1, 12)]
    np.testing.assert_allclose(fits.model.predict(trials.symbols[1:2, :-1], verbose=0)[0], expected, atol=1e-5)


# The protocol


class Memorizer(models.Model):
    """With penalty 1 it knows the choices of the sessions that it was fitted to, and errs on all others."""

    name, penalties = "memorizer", (0.0, 1.0)

    def num_weights(self, task):
        return 0

    def fit(self, trials, subsets, *, penalties, seed):
        def logits(seen, penalty, other):
            signs = np.where([session.tobytes() in seen for session in other.symbols], 1, -1)[:, None, None]
            return 30.0 * penalty * signs * (2 * other.choices[:, 1:, None] - 1)

        seen = [{session.tobytes() for session in trials.symbols[rows]} for rows in subsets]
        return [functools.partial(logits, *each) for each in zip(seen, penalties, strict=True)]


class Share(models.Model):
    """Predicts the share of choice 1 in the sessions that it was fitted to."""

    name, penalties = "share", (0.0, 1.0)

    def num_weights(self, task):
        return 1

    def fit(self, trials, subsets, *, penalties, seed):
        def logits(share, penalty, other):
            return np.full((*other.choices[:, 1:].shape, 1), np.log(share / (1 - share)) + penalty)

        shares = [trials.choices[rows].mean() for rows in subsets]
        return [functools.partial(logits, *each) for each in zip(shares, penalties, strict=True)]


@pytest.mark.parametrize("each_subject", [False, True])
def test_neither_scores_nor_penalties_see_sessions_of_the_fit(each_subject):
    trials, _ = sessions("reversal", "Q-learner", number=50, trials=20, subjects=5 * list("abcdefghij"))
    scores = protocol.cross_validate(Memorizer(), trials, each_subject=each_subject)
    np.testing.assert_allclose(scores.by_subject, [np.log(2)] * 10, atol=1e-12)
    assert scores.penalties == (0.0,) * 5


@pytest.mark.parametrize("each_subject", [False, True])
def test_a_score_is_that_of_a_fit_to_the_other_sessions(each_subject):
    trials, _ = sessions("reversal", "Q-learner", number=50, trials=20, subjects=5 * list("abcdefghij"))
    split = protocol.folds_by_session if each_subject else protocol.folds_by_subject
    outer, ids = split(trials, 5, 0), trials.subject_ids
    scores, expected = protocol.cross_validate(Share(), trials, each_subject=each_subject), []
    for subject in range(10):
        losses = []
        for row in np.flatnonzero(ids == subject):
            others = (outer != outer[row]) & ((ids == subject) | (not each_subject))
            share = trials.choices[others].mean()
            losses.append(nats(np.full((1, 19, 1), np.log(share / (1 - share))), chosen(trials.take([row]))).mean())
        expected.append(np.mean(losses))
    np.testing.assert_allclose(scores.by_subject, expected, atol=1e-12)


def test_too_few_subjects_for_the_folds_are_refused():
    trials, _ = sessions("reversal", "Q-learner", number=3, trials=5)
    with pytest.raises(ValueError, match=r"Every fold must have subjects to fit .* 3 subjects, folds=5, inner=2\."):
        protocol.cross_validate(Share(), trials)


def test_folds_keep_subjects_together_or_spread_their_sessions():
    trials, _ = sessions("reversal", "Q-learner", number=10, trials=5, subjects=list("aaaaabbbbb"))
    together, spread = protocol.folds_by_subject(trials, 2, 0), protocol.folds_by_session(trials, 5, 0)
    for subject in (0, 1):
        assert len(set(together[trials.subject_ids == subject])) == 1
        assert sorted(spread[trials.subject_ids == subject]) == list(range(5))
    assert len(set(together)) == 2


def test_an_interval_is_students():
    mean, low, high = protocol.interval(np.array([1.0, 2.0, 3.0, 4.0]))
    assert (mean, round(low, 4), round(high, 4)) == (2.5, 0.4457, 4.5543)  # 2.5 +- 3.1824 * 1.2910 / 2
    assert protocol.interval(np.ones(1)) == (1.0, -np.inf, np.inf)


# Files


def test_a_file_is_read_by_subject_and_a_missing_trial_is_left_out(tmp_path):
    path = tmp_path / "ts.txt"
    rows = [
        "subjID level1_choice level2_choice reward",
        "7 1 4 1",
        "7 2  0",
        "7 2 1 0",
        "7 1 2 1",
        "3 2 3 1",
        "3 1 1 0",
    ]
    path.write_text("\n".join(row.replace(" ", "\t") for row in rows) + "\n")
    trials = samples.read(path, "two-step")
    assert trials.subjects == ("7", "3")
    assert trials.lengths.tolist() == [3, 2]
    assert trials.scored.tolist() == [[True, True], [True, False]]
    assert of_session(trials, 0)[:2] == [(0, 1, 1, 1.0), (1, 0, 0, 0.0)]
    assert trials.choices.tolist()[0] == [0, 1, 0]
    assert of_session(trials, 1)[0] == (1, 1, 0, 1.0)
    assert trials.choices.tolist()[1][:2] == [1, 0]


def test_gains_and_losses_add_up(tmp_path):
    path = tmp_path / "bandit4arm.csv"
    path.write_text("subjID,gain,loss,choice\n1,1,0,4\n1,0,-1,2\n1,0,0,1\n1,0,0,3\n")
    trials = samples.read(path, "bandit4")
    assert trials.task.rewards == (-1.0, 0.0, 1.0)
    assert [entry[::3] for entry in of_session(trials, 0)][:3] == [(3, 1.0), (1, -1.0), (0, 0.0)]
    assert trials.choices.tolist() == [[3, 1, 0, 2]]


def test_a_file_without_the_columns_is_refused(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("subjID,choice\n1,1\n")
    with pytest.raises(ValueError, match="outcome"):
        samples.read(path, "reversal")


# The command


def run(*arguments, path):
    environment = {**os.environ, "PYTHONPATH": str(path)}
    command = [sys.executable, "-m", "examples.behaviour", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("command", [[], ["read"], ["measure"], ["report"]])
def test_help_does_not_wait_for_keras(tmp_path, command):
    blocked = "tensorflow", "keras", "numpy", "scipy", "keras_interp_rnn"
    (tmp_path / "sitecustomize.py").write_text(f"import sys; sys.modules.update(dict.fromkeys({blocked!r}))")
    done = run(*command, "--help", path=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_a_trial_run_reads_a_network_and_draws(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(models, "MAX_STEPS", 5)
    assert main(["read", "--smoke", "--figure", str(tmp_path / "read.png")]) == 0
    shown = capsys.readouterr().out
    for part in ("DiagonalISAN(2), 16 weights", "nats a choice from a Q-learner", "states", "residual", "Figure:"):
        assert part in shown
    for part in ("stays", "portrait"):
        assert (tmp_path / f"read-{part}.png").stat().st_size > 5_000


def test_measurements_that_are_there_are_not_repeated(tmp_path, capsys, monkeypatch):
    arguments = ["measure", "comparison", "--smoke", "--records", str(tmp_path)]
    assert main(arguments) == 0
    first = (tmp_path / "behaviour-comparison.jsonl").read_text()
    assert [json.loads(line)["model"]["name"] for line in first.splitlines()] == [
        "Q-learner",
        "logistic regression, 5 lags",
    ]
    monkeypatch.setattr(protocol, "cross_validate", None)
    assert main(arguments) == 0
    assert (tmp_path / "behaviour-comparison.jsonl").read_text() == first
    capsys.readouterr()
    assert main(["report", "--records", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "\n| model | weights | nats a choice | less that of GRU(2) | seconds |\n|---|" in shown
    assert len([line for line in shown.splitlines() if line.startswith("| ")]) == 3  # the head and two models


def test_recovery_is_counted_in_rates(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(measurements, "COMPARED", 40)
    assert main(["measure", "recovery", "--smoke", "--trials", "40", "--records", str(tmp_path)]) == 0
    [record] = [json.loads(line) for line in (tmp_path / "behaviour-recovery.jsonl").read_text().splitlines()]
    record["result"]["agents"] = [
        {"true": [0.3, 0.2, 3], "network": [0.34, 0.26, 9], "likelihood": [0.3, 0.2, 9], "nearest": "Q-learner"},
        {"true": [0.3, 0.2, 3], "network": [0.31, 0.21, 9], "likelihood": [0.4, 0.2, 9], "nearest": "RFLR"},
    ]
    expected = ["Q-learner", "40", "3 of 4", "3 of 4", "0.025", "0.000", "1 of 2"]
    assert measurements._recovery(("Q-learner", 40), [record]) == expected


def test_parts_of_the_agents_are_the_agents(tmp_path, monkeypatch):
    monkeypatch.setattr(measurements, "COMPARED", 40)
    monkeypatch.setattr(models, "MAX_STEPS", 5)
    settings = {"num_agents": 3, "num_trials": 40}
    for number in (1, 2):
        for place in range(1, number + 1):
            measurements.recover(tmp_path / str(number), "RFLR", part=f"{place}/{number}", **settings)
    whole, parts = (measurements.tables(tmp_path / number)["Parameters recovered"] for number in "12")
    assert whole == parts
    assert len(whole.splitlines()) == 3
    [whole], parts = (measurements._read(tmp_path / number, "recovery") for number in "12")
    found = [agent["true"] for part in parts for agent in part["result"]["agents"]]
    assert sorted(found) == sorted(agent["true"] for agent in whole["result"]["agents"])


def test_one_model_can_be_measured_alone(tmp_path, capsys):
    arguments = ["measure", "comparison", "--subjects", "10", "--trials", "40", "--records", str(tmp_path)]
    assert main([*arguments, "--only", "RFLR"]) == 0
    assert [record["model"]["name"] for record in measurements._read(tmp_path, "comparison")] == ["RFLR"]
    assert main([*arguments, "--only", "GRU(9)"]) == 2
    assert "--only must be one of Q-learner, persevering Q-learner" in capsys.readouterr().err


RECORDS = ROOT / "examples" / "behaviour" / "records"


@pytest.mark.skipif(not RECORDS.exists(), reason="a source archive has no records")
def test_the_page_has_the_tables_of_the_records(tmp_path):
    page = ROOT / "docs" / "behaviour.md"
    copy = tmp_path / "page.md"
    copy.write_bytes(page.read_bytes())
    assert main(["report", "--records", str(RECORDS), "--page", str(copy)]) == 0
    assert copy.read_bytes() == page.read_bytes()


def test_an_agent_that_cannot_do_the_task_is_refused(capsys):
    assert main(["read", "--agent", "hybrid"]) == 2
    assert "--agent must be one of Q-learner, " in capsys.readouterr().err

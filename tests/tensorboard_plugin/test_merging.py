"""Equivalent states as one, in the graph that the page draws."""

import numpy as np
import pytest

from keras_interp_rnn import automata
from tensorboard_plugins.interp_rnn import layout


def graph_of(machine, *centroids):
    [tags] = machine.page_view(*centroids).data["runs"].values()
    return tags["automaton"]["steps"]["0"]["graph"]


def answers(graph, word):
    """What a graph makes of a word: whether it accepts it, or its output."""
    next_state = {(edge["from"], name): edge["to"] for edge in graph["edges"] for name, _ in edge["symbols"]}
    state = graph["start"]
    for name in word:
        state = next_state[state, name]
    [found] = [each for each in graph["states"] if each["id"] == state]
    return found.get("output", found["accepting"])


def machine_of(seed, outputs):
    rng = np.random.default_rng(seed)
    num_states = int(rng.integers(3, 14))
    transitions = rng.integers(num_states, size=(num_states, 2)).tolist()
    if outputs:
        return automata.MooreMachine(transitions, rng.choice(["x", "y", "z"], num_states).tolist(), alphabet="ab")
    accepting = np.flatnonzero(rng.integers(2, size=num_states)).tolist()
    return automata.DFA(transitions, accepting, alphabet="ab")


@pytest.mark.parametrize("outputs", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_a_merged_graph_reads_as_the_whole_one(seed, outputs):
    machine = machine_of(seed, outputs)
    graph = graph_of(machine)
    distinct = {machine_from(machine, state).minimize() for state in range(len(machine))}
    if "merged" not in graph:
        assert len(distinct) == len(machine)
        return
    merged = graph["merged"]
    assert len(merged["states"]) == len(distinct) < len(graph["states"])
    rng = np.random.default_rng(seed)
    for length in range(12):
        for word in rng.choice(["a", "b"], (8, length)):
            assert answers(merged, word) == answers(graph, word)
    members = [name for state in merged["states"] for name in state["name"].split(" = ")]
    assert sorted(members) == sorted(map(str, range(len(machine))))
    assert {*merged["positions"]} == {str(state["id"]) for state in merged["states"]}
    assert len(merged["routes"]) == len(merged["edges"])


def machine_from(machine, state):
    """The same machine, begun in another state: states are equivalent if these are equal once minimal."""
    labels = machine.outputs if not isinstance(machine, automata.DFA) else machine.accepting
    return type(machine)(machine.transitions, labels, start=state, alphabet=machine.alphabet)


def test_the_certificate_of_a_larger_network_merges_to_the_language():
    graph = graph_of(automata.DFA([[1, 2], [2, 1], [1, 2]], {1, 2}, alphabet="01"))
    assert [state["name"] for state in graph["merged"]["states"]] == ["q0", "q1 = q2"]


@pytest.mark.parametrize(("symbols", "named"), [("01", ["q0", "q1"]), ("ab", ["0", "1"]), ("13", ["q0", "q1"])])
def test_states_are_not_called_as_a_symbol_is(symbols, named):
    assert layout.state_names([0, 1], symbols) == named
    graph = graph_of(automata.DFA([[0, 1], [1, 0]], {0}, alphabet=symbols))
    assert [state.get("name", str(state["id"])) for state in graph["states"]] == named
    drawn = automata.DFA([[0, 1], [1, 0]], {0}, alphabet=symbols).to_svg()
    assert all(f">{name}</text>" in drawn for name in named)

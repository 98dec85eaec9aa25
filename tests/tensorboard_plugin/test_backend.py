"""The plugin's answers to requests of its pages, over the recorded log of callbacks and over broken ones."""

import concurrent.futures
import functools
import json
import re
import subprocess
import sys
import urllib.parse

import numpy as np
import pytest
import tensorflow as tf
from tensorboard import context as tensorboard_context
from tensorboard import errors
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.plugins import base_plugin
from werkzeug.test import Client

from keras_interp_rnn import automata
from tensorboard_plugins.interp_rnn import data, layout, plugin, schema
from tests.tensorboard_plugin import logs


def plugin_over(folder):
    multiplexer = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={schema.PLUGIN: 0})
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, str(folder))
    return plugin.Plugin(base_plugin.TBContext(logdir=str(folder), data_provider=provider, multiplexer=multiplexer))


@functools.cache
def recorded():
    return plugin_over(logs.VERSION_1)


def ask(served, path, **arguments):
    address, _, _ = path.partition("?")
    client = Client(served.get_plugin_apps()[address])
    return client.get(f"{path}?{urllib.parse.urlencode(arguments)}")


def get(served, path, **arguments):
    response = ask(served, path, **arguments)
    assert response.status_code == 200, response.get_data(as_text=True)
    return json.loads(response.get_data())


def cut(served, **arguments):
    response = ask(served, "/slice", **arguments)
    shape = [int(n) for n in response.headers["X-Shape"].split(",")]
    return np.frombuffer(response.get_data(), "<f4").reshape(shape)


def test_the_losses_are_the_last_finite_ones_that_keras_logged(tmp_path):
    logged = {
        "a/train": {"epoch_loss": [3.0, 2.0]},
        "a/validation": {"epoch_loss": [3.5, 2.5, float("nan")], "epoch_accuracy": [0.5]},
        "b/c/train": {"epoch_loss": [1.0]},
        "train": {"epoch_loss": [4.0]},
        "other": {"epoch_loss": [9.0]},
        "d/train": {"loss": [7.0]},
        "e/train": {"epoch_loss": [float("inf")]},
    }
    for run, tags in logged.items():
        with tf.summary.create_file_writer(str(tmp_path / run)).as_default():
            for tag, values in tags.items():
                for step, value in enumerate(values):
                    tf.summary.scalar(tag, value, step)
    assert get(plugin_over(tmp_path), "/losses") == {
        "a": {"train": 2.0, "validation": 2.5},
        "b/c": {"train": 1.0},
        ".": {"train": 4.0},
    }


def test_no_logs_no_tags(tmp_path):
    assert get(plugin_over(tmp_path), "/tags") == {}


def test_all_steps_in_one_tag_are_read_too(tmp_path):
    described = schema.metadata("contributions", symbols=["a"], outputs=["a", "b"])
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    write(tmp_path, "interp_rnn/contributions/text_0", values, described, steps=(0, 7))
    served, where = plugin_over(tmp_path), {"run": ".", "tag": "interp_rnn/contributions/text_0"}
    found = get(served, "/series", **where)
    assert (found["steps"], found["shapes"]) == ([0, 7], [[3, 2]] * 2)
    np.testing.assert_array_equal(cut(served, **where, step=7, index=1), values)


def test_an_attribution_comes_whole(tmp_path):
    described = schema.metadata("attribution", method="occlusion", symbols=["a"], outputs=["x", "y", "z"])
    values = np.array([[2, 0], [0.5, 0.25], [3, 4], [5, 6]], np.float32)
    write(tmp_path, "interp_rnn/attribution", values, described)
    served, where = plugin_over(tmp_path), {"run": ".", "tag": "interp_rnn/attribution"}
    assert get(served, "/series", **where)["method"] == "occlusion"
    np.testing.assert_array_equal(cut(served, **where, step=0), values)


def over_automaton(folder, table, **description):
    """The plugin over the log of one automaton, and its tag."""
    described = schema.metadata("automaton", **{"symbols": ["a", "b"], "reference": None, **description})
    write(folder, "interp_rnn/automaton", tf.constant(json.dumps(table)), described)
    return plugin_over(folder), {"run": ".", "tag": "interp_rnn/automaton"}


class TestGraphs:
    def test_an_automaton_is_what_was_logged(self, tmp_path):
        table = {
            "transitions": [[1, -1], [1, 0]],
            "accepting": [1],
            "start": 0,
            "centroids": [7, 3],
            "visits": [0.25, 0.75],
            "confidence": [[0.9, None], [0.5, 0.8]],
            "unsupported": [[1, 0]],
            "equivalent": False,
            "counterexample": ["b", "a"],
        }
        served, where = over_automaton(tmp_path, table)
        graph = get(served, "/graph", **where, step=0)
        assert graph["start"] == 7
        assert (graph["equivalent"], graph["counterexample"]) == (False, ["b", "a"])
        assert graph["states"] == [
            {"id": 7, "accepting": False, "use": 0.25},
            {"id": 3, "accepting": True, "use": 0.75},
        ]
        edges = {(edge["from"], edge["to"]): edge["symbols"] for edge in graph["edges"]}
        assert edges == {(7, 3): [["a", 0.9]], (3, 3): [["a", 0.5]], (3, 7): [["b", 0.8]]}
        assert [edge["unsupported"] for edge in graph["edges"] if "unsupported" in edge] == [["a"]]

    def test_a_moore_machine_has_the_outputs_of_its_states(self, tmp_path):
        table = {
            **{"transitions": [[1, 0], [0, 1]], "outputs": ["even", "odd"], "start": 0, "centroids": [14, 6]},
            **{"names": ["(2, 2)", "(1, 0)"], "visits": [0.25, 0.75]},
        }
        reference = {"transitions": [[0, 0]], "outputs": ["none"], "start": 0}
        served, where = over_automaton(tmp_path, table, reference=reference)
        graph = get(served, "/graph", **where, step=0)
        first, second = graph["states"]
        inside = first.pop("inside")
        assert first == {"id": 14, "accepting": None, "name": "(2, 2)", "output": "even", "use": 0.25}
        assert (second["name"], second["output"]) == ("(1, 0)", "odd")
        assert [line[0] for line in inside] == ["(2, 2)", "even"]
        assert inside[0][1] < 0 < inside[1][1]
        series = get(served, "/series", **where)
        assert series["labels"] == ["even", "none", "odd"]
        [state] = series["reference_graph"]["states"]
        assert (state["id"], state["output"]) == (0, "none")

    def test_a_log_without_visits_and_confidence_is_read(self, tmp_path):
        table = {"transitions": [[0]], "accepting": [], "start": 0, "centroids": [2]}
        served, where = over_automaton(tmp_path, table, symbols=["a"])
        graph = get(served, "/graph", **where, step=0)
        assert graph["states"] == [{"id": 2, "accepting": False, "use": None}]
        assert graph["edges"] == [{"from": 2, "to": 2, "symbols": [["a", None]]}]
        history = get(served, "/series", **where)["history"]
        assert history == {"states": [1], "minimal": [None], "entropy": [None], "agreement": [None], "distance": [None]}

    def test_counts_become_shares_of_each_symbol(self, tmp_path):
        counts = np.zeros((2, 3, 3), np.float32)
        counts[0, 0] = [0, 3, 1]
        counts[1, 1] = [500, 0, 1]  # one in 501 is too rare
        write(
            tmp_path, "interp_rnn/transition_counts", counts, schema.metadata("transition_counts", symbols=["a", "b"])
        )
        where = {"run": ".", "tag": "interp_rnn/transition_counts"}
        graph = get(plugin_over(tmp_path), "/graph", **where, step=0)
        edges = {(edge["from"], edge["to"]): edge["symbols"] for edge in graph["edges"]}
        assert edges == {(0, 1): [["a", 0.75]], (0, 2): [["a", 0.25]], (1, 0): [["b", 0.998]]}
        assert [(state["id"], state["accepting"]) for state in graph["states"]] == [(0, None), (1, None), (2, None)]
        assert sum(state["use"] for state in graph["states"]) == pytest.approx(1, abs=1e-5)
        a = -(3 * np.log(3 / 4) + np.log(1 / 4))
        b = -(500 * np.log(500 / 501) + np.log(1 / 501))
        assert graph["entropy"] == pytest.approx((a + b) / 505)
        series = get(plugin_over(tmp_path), "/series", **where)
        assert set(series["positions"]) == {"0", "1", "2"}
        assert series["history"] == {"states": [3], "entropy": [graph["entropy"]]}

    @pytest.mark.parametrize(
        ("run", "tag"),
        [("sr/automaton", "interp_rnn/automaton"), ("sr/transitions", "interp_rnn/transition_counts")],
    )
    def test_a_graph_is_drawn_within_its_box_and_states_keep_their_places(self, run, tag):
        series = get(recorded(), "/series", run=run, tag=tag)
        for step in series["steps"]:
            graph = get(recorded(), "/graph", run=run, tag=tag, step=step)
            left, top, width, height = graph["box"]
            assert len(graph["routes"]) == len(graph["edges"])
            for edge, (path, x, y) in zip(graph["edges"], graph["routes"], strict=True):
                assert re.fullmatch(r"M[-\d. ]+([CL][-\d. ]+)+", path)
                assert left < x < left + width
                assert top < y < top + height
                numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
                for state, end in ((edge["from"], numbers[:2]), (edge["to"], numbers[-2:])):
                    away = np.hypot(*np.subtract(series["positions"][str(state)], end))
                    assert away == pytest.approx(layout.RADIUS, abs=0.2)
            assert {str(state["id"]) for state in graph["states"]} <= set(series["positions"])

    def test_the_reference_is_drawn_too(self):
        reference = get(recorded(), "/series", **AUTOMATON)["reference_graph"]
        truth = automata.tomita(4)
        assert reference["start"] == 0
        assert {state["id"] for state in reference["states"] if state["accepting"]} == truth.accepting
        edges = {(edge["from"], edge["to"]): tuple(name for name, _ in edge["symbols"]) for edge in reference["edges"]}
        assert edges == truth.edges()
        assert set(reference["positions"]) == {"0", "1", "2", "3"}
        assert len(reference["routes"]) == len(edges)


CONTRIBUTIONS = {"run": "isan/contributions", "tag": "interp_rnn/contributions/text_0"}


AUTOMATON = {"run": "sr/automaton", "tag": "interp_rnn/automaton"}


class TestBadRequests:
    @pytest.mark.parametrize(
        ("path", "arguments", "status", "reason"),
        [
            ("/series", {}, 400, "must have the argument run"),
            ("/series", {"run": "isan/contributions"}, 400, "must have the argument tag"),
            ("/series", {"run": "nowhere", "tag": "x"}, 404, "no tag 'x' of this plugin in the run 'nowhere'"),
            ("/series", {"run": "../../etc", "tag": "passwd"}, 404, "no tag"),
            ("/series", {"run": "isan/contributions", "tag": "keras"}, 404, "no tag"),
            ("/slice", {**CONTRIBUTIONS, "step": "1.5"}, 400, "step must be an integer"),
            ("/slice", {**AUTOMATON, "step": 1_000_000}, 404, "no step 1000000"),
            ("/slice", {**CONTRIBUTIONS, "step": 1_000_000}, 404, "no step 1000000"),
            ("/slice", {**CONTRIBUTIONS, "step": 0, "index": 4}, 400, r"index must lie in \[0, 3\]. Received: 4"),
            ("/slice", {**CONTRIBUTIONS, "step": 0, "index": -1}, 400, "index must lie in"),
            ("/graph", {**CONTRIBUTIONS, "step": 0}, 400, "A graph must be one of an automaton"),
            ("/texts", {**CONTRIBUTIONS, "step": 0}, 400, "Texts must be those of transition_texts"),
            ("/slice", {**AUTOMATON, "step": 0}, 400, "A slice must be one of an array"),
        ],
    )
    def test_an_error_names_the_reason(self, path, arguments, status, reason):
        kind = {400: errors.InvalidArgumentError, 404: errors.NotFoundError}[status]
        with pytest.raises(kind) as caught:
            ask(recorded(), path, **arguments)
        assert caught.value.http_code == status
        assert re.search(reason, str(caught.value)), str(caught.value)

    def test_an_unknown_experiment_is_not_an_error(self):
        from tensorboard.backend import experiment_id

        client = Client(recorded().get_plugin_apps()["/tags"])
        found = client.get("/tags", environ_overrides={experiment_id.WSGI_ENVIRON_KEY: "nowhere"})
        assert found.status_code == 200  # TensorBoard's own provider of a log directory knows one experiment alone

    def test_only_files_of_the_list_are_served(self):
        apps = recorded().get_plugin_apps()
        assert {path for path in apps if "." in path} == {f"/{name}" for name in plugin.FILES}
        for name, kind in plugin.FILES.items():
            response = ask(recorded(), f"/{name}")
            assert response.status_code == 200
            assert response.headers["Content-Type"].startswith(kind)
        assert sorted(path.name for path in plugin.STATIC.iterdir()) == sorted(plugin.FILES)


def automaton(**entries):
    table = {"transitions": [[0, 1], [1, -1]], "accepting": [0], "start": 0, "centroids": [3, 5], "visits": [0.5, 0.5]}
    return tf.constant(json.dumps({**table, "confidence": [[1, 0.5], [0.2, None]], "entropy": 0.1, **entries}))


def description(kind, **content):
    return json.dumps({"kind": kind, "version": 1, **content}).encode()


def of(kind, shape, value=0.0, **content):
    """A description, and an array of one number."""
    return description(kind, **content), np.full(shape, value, np.float32)


def shares(shape, value=0.0, method="telescoping"):
    return of("attribution", shape, value, method=method, symbols=["a"], outputs=["x"])


def pairs(shape, value=0.0, **content):
    return of(
        "interactions", shape, value, **{"symbols": ["a", "b"], "output": "x", "says": 1, "index": "i", **content}
    )


def top(shape, value=1.0, **content):
    return of("top_contributions", shape, value, **{"symbols": ["a"], "outputs": ["a", "b"], "top": 1, **content})


def changed(shape, value=0.0, **content):
    """Of two symbols, three alternatives and five outputs."""
    return of("substitutions", shape, value, symbols=["a"] * 2, alternatives=["b"] * 3, outputs=["c"] * 5, **content)


def referring(**entries):
    reference = {"transitions": [[0]], "accepting": [0], "start": 0, **entries}
    return description("automaton", symbols=[], reference=reference), automaton()


def text(**entries):
    return description("transition_texts"), tf.constant(json.dumps({"prototypes": [], "moves": [], **entries}))


AN_AUTOMATON = description("automaton", symbols=["0", "1"], reference=None)
MATRIX = np.ones((2, 2), np.float32)
OF_STATES = "one name for each state"
SHAPE = "must have the shape "

HOSTILE = {
    "part_of a list": (*of("outputs", (2, 2), middle=0, part_of=["x"]), "part_of must be the name"),
    "part_of null": (*of("outputs", (2, 2), middle=0, part_of=None), "part_of must be the name"),
    "a deep description": (b"[" * 100_000 + b"]" * 100_000, MATRIX, "nested"),
    "a description that is null": (b"null", MATRIX, "must be a JSON object. Received: None"),
    "a description that is no text": (b"\xff", MATRIX, "not described as"),
    "a description that is not JSON": (b"\x00 not JSON", MATRIX, "not described as"),
    "no version": (b'{"kind": "jacobian"}', MATRIX, "not described as"),
    "another version": (
        b'{"kind": "jacobian", "version": 99, "lags": [0]}',
        MATRIX,
        "Received: version 99 of 'jacobian'",
    ),
    "another kind": (description("other"), MATRIX, "version 1 of 'other'"),
    "a kind that is an object": (*of({}, (2, 2)), "version 1 of {}"),
    "NaN": (b'{"kind": "outputs", "version": 1, "middle": NaN}', MATRIX, "NaN is not a number in JSON"),
    "a number beyond floats": (b'{"kind": "outputs", "version": 1, "middle": 1e999}', MATRIX, "Received: inf"),
    "no middle": (*of("outputs", (2, 2)), "must have middle, a number"),
    "outputs in one row": (*of("outputs", 3, middle=0), SHAPE + r"\(k \+ sequences, outputs\)\. Received: \(3,\)"),
    "lags a number": (*of("jacobian", (1, 101), lags=1), "a list of integers. Received: 1"),
    "lags of names": (*of("jacobian", (1, 101), lags=["0"]), "a list of integers"),
    "no lags": (*of("jacobian", (0, 101), lags=[]), SHAPE + r"\(0, 101\)"),
    "more lags than described": (*of("jacobian", (3, 101), lags=[0, 5]), SHAPE + r"\(2, 101\). Received: \(3, 101\)"),
    "a text for numbers": (description("jacobian", lags=[0]), np.array("text"), "must be real numbers"),
    "counts with symbols a number": (*of("transition_counts", (1, 3, 3), symbols=7), "Received: 7"),
    "symbols a number": (description("automaton", symbols=5), automaton(), "symbols must be a list of names"),
    "symbols numbers": (description("automaton", symbols=[1, None]), automaton(), "symbols must be a list of names"),
    "reference a name": (description("automaton", symbols=[], reference="x"), automaton(), "an automaton or null"),
    "reference beyond its states": (*referring(accepting=[1]), "an automaton or null"),
    "reference with too few outputs": (*referring(outputs=[], accepting=None), "an automaton or null"),
    "reference with numbers for names": (*referring(names=[1]), "an automaton or null"),
    "reference with a text for names": (*referring(names="x"), "an automaton or null"),
    "reference with too few names": (*referring(names=[]), "an automaton or null"),
    "reference with visits beyond 1": (*referring(visits=[2]), "an automaton or null"),
    "no outputs": (*of("contributions", (6, 0), symbols=["a", "b"], outputs=[]), SHAPE + r"\(6, 0\)"),
    "contributions too long": (*of("contributions", (4, 1), symbols=["a"], outputs=["a"]), SHAPE + r"\(3, 1\)"),
    "contributions NaN": (*of("contributions", (3, 1), np.nan, symbols=["a"], outputs=["a"]), "Received: 3 that are"),
    "a Shapley value infinite": (
        description("shapley_values", symbols=["a"], outputs=["a"]),
        np.array([[np.inf], [1]], np.float32),
        "shapley_values must be finite. Received: 1 that are not",
    ),
    "substitutions infinite": (*changed((7, 5), -np.inf), "substitutions must be finite. Received: 35 that are not"),
    "deletions that are missing": (*changed((7, 5), deletions=True), SHAPE + r"\(9, 5\). Received: \(7, 5\)"),
    "deletions that are too many": (*changed((9, 5)), SHAPE + r"\(7, 5\). Received: \(9, 5\)"),
    "deletions that are no switch": (*changed((9, 5), deletions=1), "deletions must be true or false. Received: 1"),
    "shares of more steps than names": (*shares((5, 1)), r"\(4, outputs\), of at most 1 outputs. Received: \(5, 1\)"),
    "shares in more outputs than there are": (*shares((4, 2)), r"\(4, outputs\), of at most 1 .* Received: \(4, 2\)"),
    "shares in no output": (*shares((4, 1), 1), r"integers in \[0, 1\), the numbers of outputs. Received: 1 to 1"),
    "errors that are missing": (
        *of("attribution", (5, 1), method="shapley", symbols=["a"], outputs=["x"], errors=True, both=True),
        r"\(6, outputs\), of at most 1 outputs. Received: \(5, 1\)",
    ),
    "errors that are no switch": (
        *of("attribution", (5, 1), method="shapley", symbols=["a"], outputs=["x"], errors=1),
        "errors must be true or false. Received: 1",
    ),
    "a reason that is no text": (
        *of("attribution", (4, 1), method="shapley", symbols=["a"], outputs=["x"], reason=["x"]),
        "reason must be a text. Received:",
    ),
    "shares without a method": (*shares((4, 1), method=""), "method must be a name. Received: ''"),
    "pairs of more steps than names": (*pairs((3, 3)), SHAPE + r"\(2, 2\). Received: \(3, 3\)"),
    "pairs in a row": (*pairs((2, 1)), SHAPE + r"\(2, 2\). Received: \(2, 1\)"),
    "a pair that is NaN": (*pairs((2, 2), np.nan), "interactions must be finite. Received: 4 that are not"),
    "pairs that explain a name": (*pairs((2, 2), r_squared="all"), "r_squared must be a number. Received: 'all'"),
    "pairs of a network that says nothing": (*pairs((2, 2), says=None), "says must be a number. Received: None"),
    "numbers of no output": (*top((4, 3), 2), r"integers in \[0, 2\), the numbers of outputs. Received: 2 to 2"),
    "half a number of an output": (*top((4, 3), 0.5), r"integers in \[0, 2\), .* Received: 0.5 to 0.5"),
    "a number that is NaN": (*top((4, 3), np.nan), "top_contributions must be finite. Received: 12 that are not"),
    "top of nothing": (*top((4, 2), top=0), "top must be a number of outputs. Received: 0"),
    "top beyond its columns": (*top((4, 3), top=2**52), SHAPE + r"\(4, 4503599627370498\)"),
    "a deep text": (AN_AUTOMATON, tf.constant("[" * 100_000 + "]" * 100_000), "nested"),
    "not UTF-8": (AN_AUTOMATON, tf.constant(b"\xff\xfe"), "must be JSON"),
    "not JSON": (AN_AUTOMATON, tf.constant("{not JSON"), "must be JSON"),
    "a list for an automaton": (AN_AUTOMATON, tf.constant("[]"), "must be a JSON object"),
    "numbers for an automaton": (AN_AUTOMATON, MATRIX, "must be a JSON text. Received: float32"),
    "no accepting": (AN_AUTOMATON, automaton(accepting=None), "accepting must be a list of states. Received: None"),
    "accepting beyond its states": (AN_AUTOMATON, automaton(accepting=[2]), "accepting must be a list of states"),
    "accepting of lists": (AN_AUTOMATON, automaton(accepting=[[0]]), "accepting must be a list of states"),
    "half a start": (AN_AUTOMATON, automaton(start=0.5), "start must be a state. Received: 0.5"),
    "outputs too few": (AN_AUTOMATON, automaton(outputs=["x"]), f"outputs must be {OF_STATES}"),
    "outputs numbers": (AN_AUTOMATON, automaton(outputs=[1, 2]), f"outputs must be {OF_STATES}"),
    "outputs a text": (AN_AUTOMATON, automaton(outputs="ab"), f"outputs must be {OF_STATES}"),
    "names too few": (AN_AUTOMATON, automaton(names=["x"]), f"names must be {OF_STATES}, or null"),
    "names numbers": (AN_AUTOMATON, automaton(names=[1, 2]), f"names must be {OF_STATES}, or null"),
    "visits too short": (AN_AUTOMATON, automaton(visits=[0.5]), "visits must be one number from 0 to 1 for each state"),
    "visits a number": (AN_AUTOMATON, automaton(visits=3), "visits must be one number from 0 to 1 for each state"),
    "visits below 0": (AN_AUTOMATON, automaton(visits=[-1.0, 0.5]), "visits must be one number from 0 to 1 for each"),
    "visits beyond 1": (AN_AUTOMATON, automaton(visits=[1e308, 1e308]), "one number from 0 to 1 for each state"),
    "unsupported of no symbol": (AN_AUTOMATON, automaton(unsupported=[[0, 2]]), "unsupported must be a list of"),
    "confidence too short": (AN_AUTOMATON, automaton(confidence=[[1]]), "confidence must be states x symbols"),
    "confidence NaN": (AN_AUTOMATON, automaton(confidence=[[np.nan, 1], [1, 1]]), "NaN is not a number in JSON"),
    "agreement NaN": (AN_AUTOMATON, automaton(agreement=np.nan), "NaN is not a number in JSON"),
    "entropy a text": (AN_AUTOMATON, automaton(entropy="x"), "entropy must be a number or null"),
    "half transitions": (AN_AUTOMATON, automaton(transitions=[[0.5, 1], [1, -1]]), "transitions must be states"),
    "transitions to no state": (AN_AUTOMATON, automaton(transitions=[[7, 1], [1, -1]]), "transitions must be states"),
    "transitions of texts": (AN_AUTOMATON, automaton(transitions=[["0"], ["1"]]), "transitions must be states"),
    "uneven transitions": (AN_AUTOMATON, automaton(transitions=[[0, 1], [1]]), "transitions must be states"),
    "no states": (AN_AUTOMATON, automaton(transitions=[]), "transitions must be states x symbols"),
    "the same centroid twice": (AN_AUTOMATON, automaton(centroids=[3, 3]), "one centroid for each state"),
    "centroids of lists": (AN_AUTOMATON, automaton(centroids=[[1], [2]]), "one centroid for each state"),
    "a centroid beyond integers": (AN_AUTOMATON, automaton(centroids=[10**40, 1]), "one centroid for each state"),
    "counts NaN": (*of("transition_counts", (1, 3, 3), np.nan, symbols=[]), "finite and 0 or more"),
    "counts infinite": (*of("transition_counts", (1, 3, 3), np.inf, symbols=[]), "finite and 0 or more"),
    "counts negative": (*of("transition_counts", (1, 3, 3), -1, symbols=[]), "finite and 0 or more"),
    "counts of nothing": (*of("transition_counts", (1, 0, 0), symbols=[]), SHAPE + r"\(symbols, k, k\)"),
    "counts that are not square": (*of("transition_counts", (1, 3, 2), symbols=[]), SHAPE + r"\(symbols, k, k\)"),
    "complex": (description("outputs", middle=0), np.ones((2, 2), np.complex64), "real numbers. Received: complex64"),
    "no sequences": (*of("transition_probabilities", (0, 3, 2), tokens=[]), SHAPE),
    "probabilities of one sequence": (*of("transition_probabilities", (4, 1), tokens=[]), SHAPE),
    "texts NaN": (*text(prototypes=[[["a", np.nan]]]), "NaN is not a number in JSON"),
    "moves of texts": (*text(moves=["abcd"]), r"a list of \[symbol, from, to, text\]"),
    "moves too short": (*text(moves=[[0, 1]]), r"a list of \[symbol, from, to, text\]"),
}
"""Description, value, and why it cannot be read."""


def write(folder, tag, values, metadata, steps=(0,)):
    with tf.summary.create_file_writer(str(folder)).as_default():
        for step in steps:
            tf.summary.write(tag, values, step=step, metadata=metadata)


class TestBrokenLogs:
    def test_nan_and_infinities_become_null(self, tmp_path):
        values = np.full((1, 101), np.nan, np.float32)
        values[0, :50] = np.inf
        write(tmp_path, "interp_rnn/jacobian_percentiles", values, schema.metadata("jacobian", lags=[0]))
        found = get(plugin_over(tmp_path), "/series", run=".", tag="interp_rnn/jacobian_percentiles")
        assert found["percentiles"] == [[[None] * len(found["lines"])]]

    @pytest.mark.core
    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_hostile_tag_is_rejected_with_a_reason_and_hides_no_other(self, tmp_path, name):
        content, value, reason = HOSTILE[name]
        metadata = schema.metadata("outputs")
        metadata.plugin_data.content = content
        write(tmp_path / "bad", "interp_rnn/x/1", value, metadata)
        write(tmp_path / "good", "interp_rnn/automaton", automaton(), schema.metadata("automaton", symbols=["0", "1"]))
        served, where = plugin_over(tmp_path), {"run": "bad", "tag": "interp_rnn/x/1"}
        found = get(served, "/tags")
        assert [entry["kind"] for entry in found["good"]] == ["automaton"]
        [entry] = found["bad"]
        if "error" in entry:
            reasons = [entry["error"]]
            with pytest.raises(errors.InvalidArgumentError) as caught:
                ask(served, "/series", **where)
            assert reasons[0] in str(caught.value)
        else:
            series = get(served, "/series", **where)
            reasons = series["left_out"]
            assert series["steps"] == []
            assert reasons[0].startswith("Step 0 is left out. ")
        assert len(reasons) == 1
        assert re.search(reason, reasons[0]), reasons[0]
        assert len(reasons[0]) < 400
        for path, arguments in (("/graph", {}), ("/texts", {}), ("/slice", {}), ("/slice", {"index": 1})):
            with pytest.raises((errors.InvalidArgumentError, errors.NotFoundError)):
                ask(served, path, **where, step=0, **arguments)

    def test_a_part_of_a_series_of_another_name_is_a_tag_of_its_own(self, tmp_path):
        metadata = schema.metadata("outputs", middle=0, part_of="interp_rnn/elsewhere")
        write(tmp_path, "interp_rnn/x", tf.ones((2, 2)), metadata)
        served = plugin_over(tmp_path)
        [entry] = get(served, "/tags")["."]
        assert get(served, "/series", run=".", tag=entry["tag"])["steps"] == [0]

    def test_a_run_begun_again_with_more_centroids_shows_the_new_one(self, tmp_path):
        described = schema.metadata("transition_counts", symbols=[])
        rng = np.random.default_rng(0)
        write(tmp_path, "interp_rnn/c", rng.random((1, 3, 3)).astype(np.float32), described, steps=(0, 4, 8, 12))
        write(tmp_path, "interp_rnn/c", rng.random((1, 5, 5)).astype(np.float32), described, steps=(0, 4))
        served, where = plugin_over(tmp_path), {"run": ".", "tag": "interp_rnn/c"}
        found = get(served, "/series", **where)
        assert found["steps"] == [0, 4]
        assert found["history"]["states"] == [5, 5]
        [reason] = found["left_out"]
        assert reason.startswith("2 steps from 8 to 12 are left out. The shape is (1, 3, 3), and (1, 5, 5) in what")
        assert len(get(served, "/graph", **where, step=4)["states"]) == 5
        with pytest.raises(errors.NotFoundError, match="no step 12"):
            ask(served, "/graph", **where, step=12)

    def test_half_an_event_file_gives_what_is_whole(self, tmp_path):
        write(tmp_path, "interp_rnn/j", tf.zeros((1, 101)), schema.metadata("jacobian", lags=[0]), steps=range(3))
        [file] = tmp_path.glob("events*")
        file.write_bytes(file.read_bytes()[:-40])
        assert get(plugin_over(tmp_path), "/series", run=".", tag="interp_rnn/j")["steps"] == [0, 1]

    def test_a_run_begun_again_in_the_same_folder_replaces_the_values(self, tmp_path):
        described = schema.metadata("jacobian", lags=[0])
        for value in (1.0, 2.0):
            write(tmp_path, "interp_rnn/j", tf.fill((1, 101), value), described, steps=(0, 5))
        found = get(plugin_over(tmp_path), "/series", run=".", tag="interp_rnn/j")
        assert found["steps"] == [0, 5]
        assert {value for [row] in found["percentiles"] for value in row} == {2.0}

    def test_a_series_in_parts_leaves_out_the_steps_of_another_text(self, tmp_path):
        """TensorBoard keeps the first description of a tag, and what a later run writes there is not of it."""
        for order, (text, step) in enumerate((("abcd", 0), ("abcd", 1), ("ab", 1), ("ab", 2))):
            described = schema.metadata(
                "contributions", part_of="interp_rnn/contributions/text_0", symbols=[*text], outputs=["x", "y"]
            )
            rows = np.zeros((sum(range(2, len(text) + 2)) + 1, 2), np.float32)
            write(tmp_path / "run", f"interp_rnn/contributions/text_0/step_{step}", rows, described, [step])
            [written] = (tmp_path / "run").glob("events.out.tfevents.??*")
            written.rename(tmp_path / "run" / f"events.out.tfevents.{order}")  # files are read in the order of names
        series = get(plugin_over(tmp_path), "/series", run="run", tag="interp_rnn/contributions/text_0")
        assert series["symbols"] == ["a", "b"]
        assert series["steps"] == [2]
        [left_out] = series["left_out"]
        assert left_out.startswith("2 steps from 0 to 1 are left out. Other texts were logged")
        assert left_out.endswith("log to a new folder.")

    def test_a_run_whose_files_are_deleted_is_answered_from_the_cache(self, tmp_path):
        write(tmp_path / "a", "interp_rnn/j", tf.zeros((1, 101)), schema.metadata("jacobian", lags=[0]))
        served = plugin_over(tmp_path)
        get(served, "/series", run="a", tag="interp_rnn/j")
        next((tmp_path / "a").glob("events*")).unlink()
        assert get(served, "/series", run="a", tag="interp_rnn/j")["steps"] == [0]


class TestMemory:
    def test_the_cache_is_bounded_and_holds_the_newest(self, tmp_path, monkeypatch):
        for run in "abc":
            write(tmp_path / run, "interp_rnn/j", tf.zeros((1, 101)), schema.metadata("jacobian", lags=[0]))
        monkeypatch.setattr(data, "MAX_CACHE", 101 * 4)
        served = plugin_over(tmp_path)
        for run in "abc":
            get(served, "/series", run=run, tag="interp_rnn/j")
        assert [key[1] for key in served._logs._cache] == ["c"]

    @pytest.mark.matrix
    def test_many_threads_at_once(self, tmp_path, monkeypatch):
        """TensorBoard answers each request in a thread of its own."""
        for run in range(30):
            described = schema.metadata("outputs", middle=0)
            write(tmp_path / str(run), "interp_rnn/x", tf.ones((2, 2)), described, steps=range(3))
        monkeypatch.setattr(data, "MAX_CACHE", 20 * 3 * 16)  # less than all of them, so that what is kept changes
        served = plugin_over(tmp_path)
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                asked = [str(run) for run in np.random.default_rng(0).integers(30, size=2000)]
                context = tensorboard_context.RequestContext()
                read = list(pool.map(lambda run: served._logs.series(context, "", run, "interp_rnn/x")["steps"], asked))
        finally:
            sys.setswitchinterval(before)
        assert read == [[0, 1, 2]] * len(asked)


class TestLoader:
    def test_more_steps_are_loaded_unless_the_user_chooses_another_number(self):
        class Flags:
            samples_per_plugin = {}

        plugin.Loader().fix_flags(Flags)
        assert Flags.samples_per_plugin == {"interp_rnn": 200}
        Flags.samples_per_plugin = {"interp_rnn": 7}
        plugin.Loader().fix_flags(Flags)
        assert Flags.samples_per_plugin == {"interp_rnn": 7}

    def test_without_a_data_provider_there_is_no_plugin(self):
        assert plugin.Loader().load(base_plugin.TBContext()) is None

    def test_it_imports_neither_keras_nor_tensorflow(self):
        code = (
            "import sys, tensorboard_plugins.interp_rnn.plugin as p; "
            "print([n for n in ('keras', 'tensorflow', 'keras_interp_rnn') if n in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"

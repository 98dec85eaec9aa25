"""What people read counts from 1, what code reads from 0: docs/conventions.md, "Counting"."""

import ast
import re
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, datasets, layers, views
from keras_interp_rnn._results import as_html, as_text, nth, output_name
from keras_interp_rnn._results.html import as_element
from tests.views.test_views import Page, every_result, made

ROOT = Path(__file__).parents[1]
COUNTED = "sequence|session|event|step|position|feature|output|prediction|point|item|input|row|fit|subset|start|place"
NUMBER_ZERO = re.compile(rf"(?<!mean )\b({COUNTED}) 0\b(?![.,]\d)")
BEFORE_A_NUMBER = re.compile(rf"\b({COUNTED})s? $")
# What stands in a text after one of these words, and is no index.
NO_INDEX = {
    "keras_interp_rnn/_network/inputs.py": {"', '.join(names)": "names of inputs"},
    "keras_interp_rnn/analysis/isan/contributions.py": {
        **dict.fromkeys(("step", "self.step", "place"), "the paper's t, from 1"),
    },
    "keras_interp_rnn/automata/machines/showing.py": {"output": "a label"},
    "keras_interp_rnn/analysis/surprise.py": {"largest": "an id", "empty": "from 1"},
    "keras_interp_rnn/automata/machines/moore.py": {"row": "the row itself"},
    "keras_interp_rnn/automata/machines/drawing.py": {"written": "a label"},
    "keras_interp_rnn/automata/queries/_asking.py": {"shapes": "shapes"},
    "keras_interp_rnn/callbacks/_probes.py": {"self._logged": "updates of a training"},
    "keras_interp_rnn/callbacks/stability.py": {"optimizer_steps(self.model)": "updates of a training"},
    "keras_interp_rnn/datasets/_sessions.py": {"group": "the name of a session"},
    "tensorboard_plugins/interp_rnn/data.py": {"step": "updates of a training"},
    **{
        f"tensorboard_plugins/interp_rnn/static/{name}.js": {"state.step": "updates of a training"}
        for name in ("memory", "page")
    },
    "tensorboard_plugins/interp_rnn/static/bars.js": {"name": "the number of a step, from 1"},
    "tensorboard_plugins/interp_rnn/static/outputs.js": {"symbols[i]": "the number of a step, from 1"},
    "tensorboard_plugins/interp_rnn/static/sources.js": {"step": "updates of a training"},
    "tensorboard_plugins/interp_rnn/static/states.js": {"state.output": "a label"},
}


def in_python(path):
    """What texts of a file of Python say right after one of the words that are counted."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for text, part in (
            zip([None, *node.values], node.values, strict=False) if isinstance(node, ast.JoinedStr) else ()
        ):
            said = isinstance(text, ast.Constant) and BEFORE_A_NUMBER.search(str(text.value))
            if said and isinstance(part, ast.FormattedValue):
                yield ast.unparse(part.value)


def in_javascript(path):
    """The same of a file of JavaScript."""
    return [
        found[2] for found in re.finditer(rf"\b({COUNTED})s? \$\{{([^}}[][^}}]*)\}}", path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(
    ("folder", "ending", "reader"),
    [
        ("keras_interp_rnn", "py", in_python),
        ("tensorboard_plugins", "py", in_python),
        ("tensorboard_plugins", "js", in_javascript),
    ],
)
def test_no_text_says_an_index_in_place_of_a_number(folder, ending, reader):
    found, excused = set(), set()
    for path in sorted((ROOT / folder).rglob(f"*.{ending}")):
        name = path.relative_to(ROOT).as_posix()
        for expression in reader(path):
            reasons = NO_INDEX.get(name, {})
            if not expression.endswith(" + 1"):
                (excused if expression in reasons else found).add((name, expression))
    assert not found, "add 1, call `nth`, or say in NO_INDEX why it is no index"
    here = {(name, text) for name, texts in NO_INDEX.items() for text in texts if name.startswith(folder)}
    assert excused == {(name, text) for name, text in here if name.endswith(ending)}


@every_result
def test_nothing_that_is_read_has_the_number_zero(name):
    result = made(name)
    for text in (as_text(result), as_element(result.summary()), as_html(result)):
        assert not NUMBER_ZERO.search(text), NUMBER_ZERO.search(text)
    view = result.page_view()
    for tag in [tag for tags in view.data["runs"].values() for tag in tags.values()] if view else ():
        names = [*tag["series"].get("outputs", ()), tag["series"].get("title", "")]
        assert not [name for name in names if NUMBER_ZERO.search(str(name))]


def test_the_name_of_an_output_has_its_index_once():
    assert nth("step", np.int64(2)) == "step 3"
    assert output_name(None, 3, 5) == output_name("ab", 3, 5) == "output 4 (index 3)"
    assert output_name(None, 3, 5, again=True) == "output 4"
    assert output_name("abcde", 3, 5) == output_name("abcde", 3, 5, again=True) == "d"


def sensors(outputs=1):
    keras.utils.set_random_seed(0)
    return keras.Sequential([keras.Input((None, 3)), keras.layers.GRU(4), keras.layers.Dense(outputs)])


class TestTheFirst:
    """The first of a kind, which code finds at 0, is called 1."""

    def test_sequence_step_feature_and_output(self):
        x = np.zeros((2, 4, 3))
        x[:, 0, 0] = 1
        split = analysis.attribution(sensors(3), x, target=0, method="path_integral")
        assert split.top(1)[0][0] == 0
        head, ends, _, *rows = str(split).splitlines()
        assert head.startswith("sequence 1 of 2: output 1 is ")
        assert ends.startswith("output 1 (index 0): ")
        first = max(rows, key=lambda row: row.count("#") + row.count("-"))
        assert re.match(r" +1 .*  +1 +[+-]\d", first), first
        tag = next(iter(split.page_view().data["runs"].values()))["sequence_0"]["series"]
        assert (tag["title"], tag["symbols"][0], tag["outputs"]) == ("sequence 1", "1", ["output 1 (index 0)"])

    def test_prediction(self):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 3), keras.layers.Dense(4)])
        split = analysis.contributions(model, [0, 1, 2], alphabet="abc")
        first, second = split.winner()
        head, names, *_ = str(split).splitlines()
        assert f"output {first + 1} (index {first})" in head
        assert names.endswith(f"nats for 'output {first + 1}' over 'output {second + 1}'")
        changed = analysis.substitutions(model, [0, 1, 2], alphabet="abc")
        position, *_ = changed.top(1)[0]
        assert re.search(rf"^ +{position + 1} ", str(changed).splitlines()[2])

    def test_session_and_event(self):
        automaton = automata.WeightedAutomaton.from_words(["ab", "ab", "abb"] * 9, alphabet="ab")
        found = analysis.surprise(automaton, ["ba", "ab"], num_events=1)
        assert found.ranked().tolist() == [0, 1]
        _, _, first, second, _, why, *_ = str(found).splitlines()
        assert (first.split()[0], second.split()[0]) == ("1", "2")
        assert why.startswith("event 1 of session 1: 'b' came ")
        [event] = found.events
        assert (event.session, event.position) == (0, 0)
        page = as_html(found)
        assert page.index("<td>1<td>") < page.index("<td>2<td>") if "<td>1<td>" in page else "<td>1</td>" in page

    def test_step_of_a_patch_and_unit_of_a_trace(self, tmp_path):
        x = np.ones((1, 1, 3))
        patched = analysis.patching(sensors(), x, corrupted=0 * x)
        assert {line.split()[1] for line in str(patched).splitlines()[2:]} == {"1"}
        views.save(analysis.trace(sensors(), x), tmp_path / "x.svg")
        drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
        assert "<title>step 1, unit 0: " in drawn  # a unit is named by its index

    def test_fixed_point(self):
        points = Page(as_html(analysis.fixed_points(sensors().layers[0], np.zeros(3), num_starts=16)))
        assert any(text.startswith("point 1, ") for text in points.texts)


WINDOWS = datasets.Windows(np.arange(400) % 9, 4, length=5)


def read_out_of_order():
    WINDOWS.on_epoch_begin()
    WINDOWS[0], WINDOWS[5]


@pytest.mark.parametrize(
    ("call", "received"),
    [
        (
            lambda: analysis.trace(
                sensors().layers[0], np.ones((3, 4, 3)), mask=np.arange(3)[:, None] * np.ones((3, 4)) != 1
            ),
            "a mask that is False at every step of sequence 2.",
        ),
        (
            lambda: analysis.input_output_jacobian(
                sensors().layers[0], np.ones((3, 4, 3)), lag=3, mask=np.arange(4) < [[4], [4], [2]]
            ),
            "sequence 3 with 2 ",
        ),
        (lambda: datasets.Alphabet("ab").encode("abc"), "'c' at position 3."),
        (lambda: datasets.text.encode("a-"), "'-' at position 2."),
        (read_out_of_order, "item 6 after item 1."),
        (lambda: analysis.trace(sensors().layers[0], np.ones((1, 4, 3)), set={0: np.ones(5)}), "for set[0]."),
    ],
)
def test_an_error_counts_as_people_do(call, received):
    with pytest.raises(ValueError, match=re.escape(received)):
        call()

"""Every kind of tag is one file, and adding one takes a file, a view and a line; logs of version 1 are still read."""

import ast
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from keras_interp_rnn import callbacks
from tensorboard_plugins.interp_rnn import plugin, schema
from tests.tensorboard_plugin import logs, record_log
from tests.tensorboard_plugin.logs import VERSION_1

PLUGIN = Path(plugin.__file__).parent
KIND_FILES = sorted(path for path in (PLUGIN / "kinds").glob("*.py") if not path.name.startswith("_"))


class TestTables:
    def test_each_kind_is_the_file_of_its_name(self):
        assert sorted(schema.KINDS) == [path.stem for path in KIND_FILES]
        assert {name: kind.NAME for name, kind in schema.KINDS.items()} == {name: name for name in schema.KINDS}
        for path in KIND_FILES:
            assert ast.get_docstring(ast.parse(path.read_text())).startswith(f"{path.stem}: "), path.name

    def test_each_view_is_a_file_and_each_file_that_draws_is_a_view(self):
        drawing = [name for name in plugin.FILES if "export async function draw(" in (plugin.STATIC / name).read_text()]
        in_files_alone = ["typing", "labels", "proof"]  # they draw networks and an inference, which are not logged
        assert sorted(drawing) == sorted(f"{view}.js" for view in [*schema.views(), *in_files_alone])
        around = {"index.js", "embedded.js", "page.js", "sources.js", "style.css", "example.json"}
        of_instructions = {"machine.js", "shapley.js"}
        shared = {"render.js", "scales.js", "charts.js", "letters.js", "packed.js", "saving.js", "tips.js", "texts.js"}
        of_reads = {"readings.js", "outputs.js", "bars.js", "triangle.js", "traces.js", "waterfall.js", "stack.js"}
        assert set(plugin.FILES) == {
            *drawing,
            *around,
            *shared,
            *of_reads,
            "graph.js",
            "path.js",
            "live.js",
            *of_instructions,
        }

    def test_the_page_has_no_list_of_its_own(self):
        assert "await json('views')" in (plugin.STATIC / "index.js").read_text()
        for name in ("index.js", "page.js"):
            page = (plugin.STATIC / name).read_text()
            assert not [name for name in (*schema.KINDS, *schema.views()) if re.search(rf"['\"/]{name}\b", page)]

    def test_folders_of_callbacks_are_one_run(self):
        made = {getattr(getattr(callbacks, name), "folder", None) for name in callbacks.__all__} - {None}
        assert made == set(schema.FOLDERS)

    def test_nobody_asks_for_the_name_of_a_kind(self):
        for path in PLUGIN.rglob("*.py"):
            compared = [
                ast.unparse(node)
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Compare)
                and any(isinstance(part, ast.Constant) and part.value in schema.KINDS for part in ast.walk(node))
            ]
            assert not compared, f"{path.name} compares {compared}: give Kind a method"


def imported(path):
    """Top-level packages that a file imports, and the plugin's own modules, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            ours = node.module.startswith("tensorboard_plugins")
            yield node.module if ours else node.module.split(".")[0]


class TestImports:
    @pytest.mark.parametrize("path", sorted(PLUGIN.rglob("*.py")), ids=lambda path: str(path.relative_to(PLUGIN)))
    def test_the_plugin_needs_tensorboard_and_numpy_alone(self, path):
        served = path.name in ("plugin.py", "data.py", "folder.py")
        allowed = {"numpy"} | ({"tensorboard", "werkzeug"} if served else set())
        if path.name == "schema.py":
            allowed = {"tensorboard"}  # within `metadata`
        names = set(imported(path)) - set(sys.stdlib_module_names) - {"__future__"}
        assert {name for name in names if not name.startswith("tensorboard_plugins.interp_rnn")} <= allowed

    def test_the_layout_needs_the_standard_library_alone(self):
        assert set(imported(PLUGIN / "layout.py")) <= set(sys.stdlib_module_names)


KIND = '''
"""loudness: float32 (steps,), of a sound."""

from tensorboard_plugins.interp_rnn.kinds._kind import ArrayKind


class _Loudness(ArrayKind):
    NAME = "loudness"
    VIEW = "sounds"

    def form(self, description, shape):
        return "(steps,)", len(shape) == 1


KIND = _Loudness()
'''

VIEW = """
import {html} from './charts.js';

export const title = 'Sounds';
export const about = 'How loud it is.';
export const example = 'pass';

export async function draw(body, page) {
  const {values} = await page.slice(page.state.step);
  body.replaceChildren(html('p', {class: 'loudness'}, `${Math.max(...values)} at step ${page.state.step}`));
}
"""

ASK = """
import sys
from pathlib import Path
import tensorflow as tf
from keras_interp_rnn import callbacks
from tensorboard_plugins.interp_rnn import plugin, schema
from tests.tensorboard_plugin.test_backend import ask, cut, get, plugin_over

with tf.summary.create_file_writer(sys.argv[1]).as_default():
    tf.summary.write("interp_rnn/l", tf.constant([1.0, 7.0]), step=3, metadata=schema.metadata("loudness"))
served = plugin_over(sys.argv[1])
where = {"run": ".", "tag": "interp_rnn/l"}
assert list(get(served, "/views")["views"])[-1] == "sounds"
assert get(served, "/tags")["."][0]["kind"] == "loudness"
assert get(served, "/series", **where)["shapes"] == [[2]]
assert cut(served, **where, step=3).tolist() == [1.0, 7.0]
assert ask(served, "/sounds.js").status_code == 200
"""


@pytest.fixture(scope="module")
def with_another_kind(tmp_path_factory):
    """The folder of a copy of the plugin with a kind more, and a log of it."""
    root = tmp_path_factory.mktemp("copy")
    copy = root / "tensorboard_plugins" / "interp_rnn"
    shutil.copytree(PLUGIN, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "kinds" / "loudness.py").write_text(KIND.lstrip())
    (copy / "static" / "sounds.js").write_text(VIEW)
    table = (copy / "schema.py").read_text()
    last = f'        "{list(schema.KINDS)[-1]}",\n'
    assert table.count(last) == 1
    (copy / "schema.py").write_text(table.replace(last, f'{last}        "loudness",\n'))
    script = root / "ask.py"
    script.write_text(ASK)
    log = root / "log"
    environment = {**os.environ, "PYTHONPATH": f"{root}:{logs.ROOT}"}
    done = subprocess.run([sys.executable, str(script), str(log)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return root, log


@pytest.mark.matrix
def test_a_kind_is_added_by_a_file_a_view_and_a_line(with_another_kind):
    root, log = with_another_kind
    with logs.served(log, plugin=root) as address:
        for path, text in (("views", "sounds"), ("sounds.js", "How loud it is"), ("tags", "loudness")):
            with urllib.request.urlopen(f"{address}/data/plugin/interp_rnn/{path}") as answer:
                assert text in answer.read().decode()


@pytest.mark.matrix
@pytest.mark.usefixtures("chromium")
def test_the_added_view_is_a_tab(with_another_kind):
    from tests.tensorboard_plugin.tab import opened_over

    root, log = with_another_kind
    with opened_over(log, "sounds", plugin=root) as tab:
        assert tab.one("p.loudness").text == "7 at step 3"
        assert tab.all("nav button")[-1].text == "Sounds"


def test_a_log_of_version_1_is_still_read():
    with gzip.open(VERSION_1 / "answers.json.gz", "rt") as file:
        expected = json.load(file)
    answers = record_log.answers(VERSION_1)
    kinds = {entry["kind"] for tags in expected["tags"].values() for entry in tags}
    assert kinds >= {"automaton", "transition_counts", "transition_texts", "transition_probabilities", "outputs"}
    assert kinds >= {"contributions", "jacobian"}
    assert answers == expected

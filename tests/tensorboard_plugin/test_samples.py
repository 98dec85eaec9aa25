"""The code that an empty view shows can be run as it is, and fills the view."""

import re

import numpy as np
import pytest

from tensorboard_plugins.interp_rnn import plugin, schema
from tests.tensorboard_plugin.test_backend import get, plugin_over

RNG = np.random.default_rng(0)
WORDS = np.concatenate([np.ones((8, 1), int), RNG.integers(2, 5, (8, 6))], axis=1)
NAMES = ["", "the", "a", "book", "film"]
LABELS = np.array([0, 1] * 4)
OTHERS = {"top_contributions", "attribution", "interactions", "trace"}
"""What is written where networks have thousands of outputs, or are no ISAN, or by no callback."""


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("view", "names"),
    [
        ("states", {"x": WORDS, "y": LABELS}),
        ("overview", {}),
        ("reads", {}),
        ("memory", {"x": RNG.normal(size=(8, 27, 3)).astype("float32"), "y": LABELS}),
    ],
)
def test_the_sample_of_a_view_fills_it(view, names, tmp_path, monkeypatch):
    sample = sample_of(view)
    assert all(len(line) <= 90 for line in sample.splitlines())
    monkeypatch.chdir(tmp_path)
    if "python_documentation" in sample:
        shortened(monkeypatch)
    exec(sample, dict(names))
    written = {entry["kind"] for tags in get(plugin_over(tmp_path / "logs"), "/tags").values() for entry in tags}
    assert written >= set(schema.views()[view]) - OTHERS


def sample_of(view):
    """What the view shows; views of texts share theirs."""
    script = (plugin.STATIC / f"{view}.js").read_text()
    name = "logging" if "export const example = logging;" in script else "example"
    shared = (plugin.STATIC / "texts.js").read_text() if name == "logging" else script
    return re.search(rf"export const {name} = `(.*?)`;", shared, re.DOTALL)[1]


def shortened(monkeypatch):
    """The text that the sample trains on, of a size for a test."""
    from keras_interp_rnn import datasets

    whole = datasets.text.python_documentation()
    monkeypatch.setattr(datasets.text, "python_documentation", lambda: whole[:5000])

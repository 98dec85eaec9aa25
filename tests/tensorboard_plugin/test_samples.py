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
FOR_MANY_OUTPUTS = {"top_contributions"}
"""What is written in place of another kind where networks have thousands of outputs; samples have few."""


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("view", "names"),
    [
        ("states", {"x": WORDS, "y": LABELS}),
        ("contributions", {}),
        ("shapley", {}),
        ("substitutions", {}),
        ("traces", {"x": WORDS, "y": LABELS, "words": NAMES}),
        ("jacobians", {"x": RNG.normal(size=(8, 27, 3)).astype("float32"), "y": LABELS}),
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
    assert set(schema.views()[view]) - FOR_MANY_OUTPUTS <= written


def sample_of(view):
    """What the view shows; views of texts share theirs, but for the callback."""
    script = (plugin.STATIC / f"{view}.js").read_text()
    if callback := re.search(r"export const example = logging\('(\w+)'\);", script):
        shared = (plugin.STATIC / "texts.js").read_text()
        return re.search(r"=> `(.*?)`;", shared, re.DOTALL)[1].replace("${callback}", callback[1])
    return re.search(r"export const example = `(.*?)`;", script, re.DOTALL)[1]


def shortened(monkeypatch):
    """The text that the sample trains on, of a size for a test."""
    from keras_interp_rnn import datasets

    whole = datasets.text.python_documentation()
    monkeypatch.setattr(datasets.text, "python_documentation", lambda: whole[:5000])

"""Plain `tensorboard`, as it is started in an environment into which the package was installed."""

import contextlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import urllib.request

import pytest

from tests.tensorboard_plugin import logs

INSTALLED = importlib.metadata.entry_points(group="tensorboard_plugins", name="interp_rnn")
pytestmark = [pytest.mark.matrix, pytest.mark.skipif(not INSTALLED, reason="the package is not installed")]


@contextlib.contextmanager
def plain(folder):
    """The address of TensorBoard as its own command starts it."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}) as process:
        try:
            yield next(found[0] for line in process.stderr if (found := re.search(r"http://\S+?:\d+/", line)))
        finally:
            process.terminate()
            process.stderr.close()


def listing(address):
    with urllib.request.urlopen(f"{address}data/plugins_listing") as response:
        return json.loads(response.read())["interp_rnn"]


def test_with_our_data_the_tab_is_there():
    with plain(logs.written()) as address:
        found = listing(address)
        assert found["tab_name"] == "Interpretable RNN"
        assert found["enabled"]
        with urllib.request.urlopen(f"{address}data/plugin/interp_rnn/tags") as response:
            assert "sr/automaton" in json.loads(response.read())


def test_without_it_the_tab_is_there_and_not_active(tmp_path):
    with plain(tmp_path) as address:
        found = listing(address)
        assert found["tab_name"] == "Interpretable RNN"
        assert not found["enabled"]

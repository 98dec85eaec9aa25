"""Automata that are read off networks, and automata that are learned from them by queries."""

import sys

import pytest

from keras_interp_rnn import automata
from tests.papers.common import EXPERIMENTS, a_run

EXPERIMENT = EXPERIMENTS["compare-extraction"]


def test_without_aalpy_nothing_is_trained(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "aalpy.learning_algs", None)
    monkeypatch.setattr(automata, "train_recognizer", lambda *args, **kwargs: pytest.fail("it was trained"))
    sentence = r"^compare-extraction needs AALpy \(.+\): pip install 'keras_interp_rnn\[automata\]'$"
    with pytest.raises(ImportError, match=sentence):
        EXPERIMENT.run(a_run(tmp_path, "1", settings=EXPERIMENT.rows["1"]))

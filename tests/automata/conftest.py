"""Certificates without what takes longest."""

import pytest

from keras_interp_rnn.automata.certificates import certificate


@pytest.fixture
def the_proof_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate is proved, and the model itself reads no words: seven eighths of the time."""
    monkeypatch.setattr(certificate, "_misclassified", lambda *_: None)

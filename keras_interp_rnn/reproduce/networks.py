"""The networks of the protocols by name, and how often those on languages read: what tables say without Keras."""

from __future__ import annotations

CHARACTERS = ("RNN", "IRNN", "GRU", "LSTM", "ISAN")
"""On characters, `characters.py`."""

ABLATIONS = ("ISAN without biases", "linear", "linear, nonlinear readout")
"""An ISAN whose biases stay zero; a linear network without switching, under a linear readout or under one with a
rectified layer of four times as many units."""

COUNTED = ("unigrams", "bigrams", "naive Bayes")
"""Models that are counted, not trained."""

LANGUAGES = ("LSTM", "LSTM-P", "SR-LSTM", "SR-LSTM-P")
"""On the words of a language, `context_free.py`."""

PASSES = {"balanced_parentheses": 2, "palindromes": 10}
"""Over the words of each length, by language; over its small data ten times as many."""


def usual_passes(language: str, config: str) -> int:
    """Over the words of each length of `config`, as the records have it."""
    return PASSES[language] * (10 if config.startswith("small") else 1)

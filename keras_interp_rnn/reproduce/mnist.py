"""Table 5 of Wang, Lawrence and Niepert, 2022: digits, pixel by pixel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_interp_rnn.reproduce import _classification
from keras_interp_rnn.reproduce._classification import regularized

COMMON = {"units": 64, "embedding": 0, "head": "last_and_cell", "dropout": 0.0, "batch": 32}

LSTM = {"learning_rate": 6e-3, "clip": 3.0}
SR = {"temperature": 2.0, "learning_rate": 0.01, "clip": 5.0}
"""Settings of the best trials of two searches, for LSTM and for SR-LSTM-P (k = 100, eq. 20). Networks without a cell
state have the paper's temperature."""

WITHOUT_CELL = {"head": "last", "batch": 64}


def _rows(side: int) -> dict[str, dict[str, Any]]:
    rows = {
        **_classification.lstms(100, LSTM, SR),
        "SR-LSTM-P (k = 10)": {**regularized("SR-LSTM-P", 10), **SR},
        "SR-RNN (k = 100)": {**regularized("SR-RNN", 100), **WITHOUT_CELL},
        "SR-GRU (k = 100)": {**regularized("SR-GRU", 100), **WITHOUT_CELL},
    }
    return {name: {"side": side, **COMMON, **row} for name, row in rows.items()}


class Pixels(_classification.ClassTable):
    """Networks that read all 784 pixels of a digit."""

    name = "sr-mnist"
    title = "MNIST pixel by pixel"
    place = "Wang, Lawrence and Niepert 2022, table 5"
    data = "MNIST: a folder with the four idx files; else TFDS's mnist"
    minutes = 20
    of_data = ("side",)
    rows = _rows(28)
    paper = {
        "LSTM": 0.023,
        "LSTM-P": 0.015,
        "SR-LSTM (k = 100)": 0.014,
        "SR-LSTM-P (k = 100, eq. 17)": 0.041,
        "SR-LSTM-P (k = 100, eq. 19)": 0.067,
        "SR-LSTM-P (k = 100, eq. 20)": 0.008,
        "SR-LSTM-P (k = 50)": 0.014,
        "SR-RNN (k = 100)": "failed to converge",
        "SR-GRU (k = 100)": "failed to converge",
    }

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> _classification.Sequences:
        return _classification.digits(data, smoke, **settings)


class QuarterOfPixels(Pixels):
    """Networks that read the means of four pixels each, 196 in all."""

    name = "sr-mnist-quarter"
    title = "MNIST by a quarter of its pixels"
    rows = _rows(14)

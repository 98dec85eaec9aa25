"""Section 3.2 of Foerster et al., 2017: bytes of the Billion Word corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_interp_rnn.reproduce import _characters, _records
from keras_interp_rnn.reproduce._experiment import UNTRIED, Claim, Record, below, mean_of_row


def _rows(isan: str, lstm: str) -> dict[str, dict[str, Any]]:
    """ISAN and LSTM with at most this number of weights."""
    rows = {
        "ISAN": {"network": "ISAN", "size": isan, **_characters.BASELINE, "learning_rate": 2.0},
        "LSTM": {"network": "LSTM", "size": lstm, **_characters.BASELINE, "learning_rate": 8.0, "batch": 32},
    }
    return {name: {**row, "optimizer": "adagrad"} for name, row in rows.items()}


class BillionWord(_characters.CharacterTable):
    """Networks that predict the next byte, of a size for two cores."""

    name = "isan-lm1b"
    title = "Bytes of the Billion Word corpus"
    place = "Foerster et al. 2017, section 3.2"
    measure = "bits per byte"
    data = "One Billion Word: a folder with 1b_benchmark.dev.tokens and 1b_benchmark.test.tokens; else TFDS's lm1b"
    minutes = 30
    rows = _rows("1e6", "1e6")
    paper = {"ISAN": 1.36, "LSTM": 1.1}

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> _characters.Text:
        """The 70 most frequent bytes are distinguished when read, all 256 when predicted."""
        import numpy as np

        from keras_interp_rnn import datasets

        names = ("train", "validation", "test")
        if smoke:
            rng = np.random.default_rng(0)
            parts = {name: rng.integers(97, 123, 2000).astype(np.uint8) for name in names}
        else:
            parts = {name: datasets.lm1b.load(name, source=data) for name in names}
        info = {
            **{"name": "lm1b", "bytes": {name: len(part) for name, part in parts.items()}, "whole": data is None},
            "text_sha256": _records.sha256(*parts.values()),
        }
        return _characters.Text(parts, 256, datasets.lm1b.most_frequent(parts["train"]), info)

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        isan, lstm = (mean_of_row(records, row, "test_bits") for row in ("ISAN", "LSTM"))
        return [
            Claim(
                "section 3.2",
                "An LSTM (1.1 bits per byte) is ahead of an ISAN (1.36).",
                "the LSTM has fewer bits",
                (below(lstm, isan, lambda bits: f"{bits:.3f}"),),
            ),
            Claim("section 3.2", "A wider ISAN is better: 1.36 bits instead of 1.40.", "fewer bits", UNTRIED),
            Claim(
                "section 3.2",
                "Samples keep apart lower and upper case, and are coherent over short segments.",
                "known words, as often capitalized as in the text",
                UNTRIED,
            ),
        ]


class WholeBillionWord(BillionWord):
    """Networks of the paper's size, for a week each."""

    name = "isan-lm1b-full"
    title = "Bytes of the Billion Word corpus, networks of the paper's size"
    minutes = 7 * 24 * 60
    rows = _rows("4.1e7", "4.4e7")

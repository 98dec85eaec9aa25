"""Bytes of the Billion Word corpus: the table before the network, its samples, and the claims."""

import keras
import numpy as np
import pytest

from examples.papers import _characters as characters
from examples.papers import lm1b
from examples.papers.data import lm1b as corpus
from keras_interp_rnn import analysis, layers
from tests.papers.common import EXPERIMENTS

EXPERIMENT = EXPERIMENTS["isan-lm1b"]

TRAIN = np.frombuffer(b"The Pole and the pole . " * 5, np.uint8)


def text():
    return characters.Text({"train": TRAIN}, 256, corpus.most_frequent(TRAIN, 6), {})


def test_a_network_behind_the_table_reads_bytes():
    ids = [
        keras.Input(batch_shape=(4, None), dtype="int32"),
        layers.ISAN(5, 6, return_sequences=True, stateful=True),
        keras.layers.Dense(256),
    ]
    model = keras.Sequential(ids)
    reads_bytes = lm1b._reading_bytes(model, text())
    given = np.random.default_rng(0).integers(256, size=(4, 9)).astype("int32")
    found = keras.ops.convert_to_numpy(reads_bytes(given))
    model.layers[0].reset_state()
    np.testing.assert_array_equal(found, keras.ops.convert_to_numpy(model(text().read[given])))
    assert not reads_bytes.get_layer("ids_of_bytes").trainable


def test_samples_are_told_by_their_words(monkeypatch):
    """Of "ish The pOle Xyz the": neither the first word, which the prompt began, nor the last, which was cut off."""

    def generate(_, prompt, *, num_symbols, seed):
        return np.concatenate([prompt, np.frombuffer(b"ish The pOle Xyz the", np.uint8)]).astype(np.int32)

    monkeypatch.setattr(analysis, "generate", generate)
    monkeypatch.setattr(lm1b, "_reading_bytes", lambda model, text: model)
    found = lm1b._sampled(None, text(), seed=0)
    assert found["written"][0] == "The polish The pOle Xyz the"
    assert (found["known"], found["capitalized"], found["mixed"]) == pytest.approx((1 / 3, 2 / 3, 1 / 3))
    assert found["text"] == {"known": 1.0, "capitalized": 0.4, "mixed": 0.0}


def record_of(row, bits, **samples):
    given = {"known": 0.95, "capitalized": 0.21, "mixed": 0.004, "written": ["The pole\nsaid"], **samples}
    text = {"known": 0.99, "capitalized": 0.2, "mixed": 0.001}
    return {
        "experiment": EXPERIMENT.name,
        "environment": {"date": "", "commit": "", "hardware": "", "python": "", "versions": {}},
        "data": {"name": "lm1b"},
        "model": {"parameters": 10},
        "protocol": {"seed": 0},
        "result": {"test_bits": bits, "validation_bits": bits, "training_seconds": 60, "characters": 1e6},
        "table": {"row": row, "order": list(EXPERIMENT.rows).index(row)},
        **({} if row == "LSTM" else {"samples": {**given, "text": text}}),
    }


def test_so_little_text_says_nothing_of_networks_and_something_of_samples():
    lstm = record_of("LSTM", 3.0)
    verdicts = [claim.verdict for claim in EXPERIMENT.claims([record_of("ISAN", 2.1), lstm])]
    assert verdicts == ["not tried", "not tried", "found"]
    records = [record_of("ISAN", 2.1, known=0.89), record_of(lm1b.WIDE, 2.0), lstm]
    assert [claim.verdict for claim in EXPERIMENT.claims(records)] == ["not tried", "not tried", "found in part"]
    assert [claim.verdict for claim in EXPERIMENT.claims([lstm])] == ["not tried", "not tried", "not tried"]

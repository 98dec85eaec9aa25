"""Networks of equal size: those of the factored switch, and those of rare symbols."""

import keras
import numpy as np
import pytest

from examples.papers import factored_isan, rare_symbols
from tests.papers.common import committed, needs_records


@needs_records
@pytest.mark.parametrize("symbols", [27, 729])
def test_the_networks_are_those_of_the_records(symbols):
    task, most = ("characters", 60_000) if symbols == 27 else ("pairs", 120_000)
    of_task = [r for r in committed("factored-isan") if r["run"].startswith(f"factored_isan-{task}-")]
    expected = {r["model"]["layer"]: r["model"]["parameters"] for r in of_task}
    networks = [row["network"] for row in factored_isan.Factored.rows.values() if row["task"] == task]
    weights = {}
    for network in networks:
        name, recurrent = factored_isan.symbol_network(network, symbols, most)
        ids = keras.Input((7,), batch_size=2, dtype="int32")
        weights[name] = keras.Sequential([ids, *recurrent, keras.layers.Dense(symbols)]).count_params()
        assert weights[name] <= most
    assert weights == expected


def test_the_sine_turns_as_it_is_told():
    commands, sine = factored_isan.oscillator(3)
    assert commands.shape == sine.shape == (3, 60, 1)
    assert np.abs(commands).max() <= 1
    np.testing.assert_allclose(np.sin(np.cumsum(0.3 + 0.2 * commands[1, :, 0])), sine[1, :, 0], atol=1e-5)


@pytest.mark.parametrize("record", committed("rare-symbols"), ids=lambda r: r["model"]["layer"])
def test_the_networks_on_words_are_those_of_the_records(record):
    row = {"network": record["model"]["layer"].split("(")[0], "optimizer": record["protocol"]["optimizer"]}
    assert row.items() <= rare_symbols.RareSymbols.rows[f"{row['network']}, {row['optimizer']}"].items()

    def weights(symbols, n, f):
        """Of the network that is built."""
        if row["network"] == "ISAN":
            return symbols * n * (n + 1) + n + symbols * (n + 1)
        return symbols * (f + n) + 2 * n * f + n * n + n + symbols * (n + 1)

    sizes = (16, 0) if row["network"] == "ISAN" else (64, 32)
    assert record["model"]["parameters"] == weights(10_000, *sizes)
    name, model = rare_symbols.build(row, 16, 50, 600)  # ten thousand orthogonal matrices take half a minute
    assert name.replace("50", "10000") == record["model"]["layer"]
    assert model.count_params() == weights(50, *sizes)
    assert type(model.optimizer).__name__ == row["optimizer"]

"""Hostile files of tables: refused before anything large is allocated."""

import numpy as np
import pytest

from keras_interp_rnn import layers
from keras_interp_rnn.analysis import CompositionTable


@pytest.fixture
def saved(tmp_path):
    """A file, and the arrays in it."""
    layer = layers.ISAN(4, 3)
    layer.build((None, None))
    CompositionTable(layer, [(0, 1), (1, 2), (0, 0)], readout=(np.ones((4, 3)), np.zeros(3))).save(tmp_path / "t.npz")
    return tmp_path / "t.npz", dict(np.load(tmp_path / "t.npz"))


def test_loads_a_saved_table(saved):
    file, arrays = saved
    np.savez(file, **arrays)
    assert CompositionTable.load(file).words == ((0,), (0, 0), (0, 1), (1,), (1, 2), (2,))


@pytest.mark.core
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("length", lambda x: -x),
        ("length", lambda x: np.zeros(0)),
        ("length", lambda x: x.astype(float)),
        ("length", lambda x: x[::-1]),
        ("length", lambda x: np.array(3)),
        ("maps", lambda x: x.astype(bool)),
        ("maps", lambda x: x.astype(np.float16)),
        ("maps", lambda x: x.astype(complex)),
        ("maps", lambda x: x[:-1]),
        ("maps", lambda x: x[:, :-1]),
        ("maps", lambda x: np.zeros(0)),
        ("symbols", lambda x: np.array(3)),
        ("symbols", lambda x: x + 2**30),
        ("symbols", lambda x: x[::-1]),
        ("symbols", lambda x: x - 1),
        ("symbols", lambda x: np.where(np.arange(len(x)) == 2, -1, x)),  # sorted, and all single symbols are there
        ("vocabulary_size", lambda x: np.array(2**28)),
        ("vocabulary_size", lambda x: np.array(0)),
        ("vocabulary_size", lambda x: np.array(2.5)),
        ("initial_state", lambda x: x[:-1]),
        ("initial_state", lambda x: np.array(1.0)),
        ("readouts", lambda x: x[:-1]),
        ("readouts", lambda x: x[0]),
    ],
)
def test_an_array_that_save_did_not_write_is_refused(saved, name, change):
    file, arrays = saved
    np.savez(file, **{**arrays, name: change(arrays[name])})
    with pytest.raises(ValueError, match="`path` must be a file that CompositionTable.save wrote"):
        CompositionTable.load(file)


def test_a_small_file_makes_no_large_index(saved):
    """A word of each of 30,000 symbols and a network of one unit: 0.5 MB would become an index of 3.6 GB."""
    file, arrays = saved
    count = 30_000
    more = {"symbols": np.arange(count), "length": np.ones(count, int), "vocabulary_size": np.array(count)}
    maps, start = np.zeros((count, 2, 1), np.float32), np.zeros(1, np.float32)
    del arrays["readouts"]
    np.savez(file, **{**arrays, **more, "maps": maps, "initial_state": start})
    with pytest.raises(ValueError, match="CompositionTable.save wrote"):
        CompositionTable.load(file)

"""Windows over one text, against the text cut by hand and against a layer that reads each lane at once."""

import re

import keras
import numpy as np
import pytest

from keras_interp_rnn.datasets import Windows

BATCH, LENGTH = 3, 4


FITS_STATEFUL_LAYERS = pytest.mark.skipif(
    keras.version().startswith("3.12."), reason="Keras 3.12's stateful layers ask for the truth of a symbolic tensor"
)


def some_text(size: int = 67) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 27, size).astype(np.uint8)


def model(stateful: bool, batch_size: int = BATCH) -> keras.Model:
    keras.utils.set_random_seed(1)
    inputs = keras.Input((None,), batch_size=batch_size, dtype="int32")
    hidden = keras.layers.Embedding(27, 5)(inputs)
    hidden = keras.layers.SimpleRNN(6, return_sequences=True, stateful=stateful)(hidden)
    built = keras.Model(inputs, keras.layers.Dense(27)(hidden))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    built.compile("sgd", loss)
    return built


def test_every_window_cut_by_hand() -> None:
    symbols = some_text(67)  # (67 - 1) // 12 = 5 windows, 6 symbols left over
    windows = Windows(symbols, BATCH, length=LENGTH)
    assert len(windows) == 5
    assert windows.symbols_per_pass == 60
    assert windows.workers == 1
    for item in range(5):
        x, y = windows[item]
        assert x.dtype == y.dtype == np.int32
        for lane in range(BATCH):
            at = lane * 20 + item * LENGTH
            np.testing.assert_array_equal(x[lane], symbols[at : at + LENGTH])
            np.testing.assert_array_equal(y[lane], symbols[at + 1 : at + LENGTH + 1])


@pytest.mark.parametrize("size", [13, 24, 25, 36, 37, 60, 61])
def test_lanes_follow_one_another_and_fill_the_text(size: int) -> None:
    symbols = some_text(size)
    windows = Windows(symbols, BATCH, length=LENGTH)
    x = np.concatenate([item[0] for item in windows], axis=1)
    y = np.concatenate([item[1] for item in windows], axis=1)
    used = windows.symbols_per_pass
    np.testing.assert_array_equal(x.ravel(), symbols[:used])
    np.testing.assert_array_equal(y.ravel(), symbols[1 : used + 1])
    assert size - 1 - BATCH * LENGTH < used <= size - 1


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64])
def test_the_text_is_not_copied(dtype: type) -> None:
    symbols = some_text().astype(dtype)
    windows = Windows(symbols, BATCH, length=LENGTH)
    symbols[:] = 26 - symbols
    np.testing.assert_array_equal(windows[0][0][0], symbols[:LENGTH])


@pytest.mark.parametrize("start", [0, 1, 4, 5, 13])
def test_a_resumed_run_reads_what_the_stopped_one_would_have(start: int) -> None:
    whole = Windows(some_text(), BATCH, length=LENGTH)
    resumed = Windows(some_text(), BATCH, length=LENGTH, start=start)
    assert len(resumed) == len(whole) == 5
    for item in range(5):
        np.testing.assert_array_equal(resumed[item], whole[(start + item) % 5])


def test_a_stateful_layer_reads_each_lane_as_one_text() -> None:
    windows = Windows(some_text(), BATCH, length=LENGTH)
    stateful, stateless = model(stateful=True), model(stateful=False)
    # Called one by one: under JAX, `predict` (Keras 3.15) does not carry the state from batch to batch.
    carried = [keras.ops.convert_to_numpy(stateful(x)) for x, _ in windows]
    lanes = some_text()[:60].reshape(BATCH, 20).astype(np.int32)
    at_once = keras.ops.convert_to_numpy(stateless(lanes))
    np.testing.assert_allclose(np.concatenate(carried, axis=1), at_once, atol=1e-5)


@pytest.mark.matrix
@FITS_STATEFUL_LAYERS
def test_fit_in_order_over_several_epochs() -> None:
    windows = Windows(some_text(1000), BATCH, length=LENGTH)
    history = model(True).fit(windows, validation_data=windows, epochs=3, shuffle=False, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]
    model(True).fit(windows, epochs=2, steps_per_epoch=7, shuffle=False, verbose=0)


@FITS_STATEFUL_LAYERS
def test_fit_shuffles_by_default_and_is_stopped() -> None:
    with pytest.raises(Exception, match=r"Call `fit\(\.\.\., shuffle=False\)`"):  # TensorFlow wraps the ValueError
        model(True).fit(Windows(some_text(1000), BATCH, length=LENGTH), verbose=0)


def test_outside_training_any_item_may_be_read() -> None:
    windows = Windows(some_text(1000), BATCH, length=LENGTH)
    windows[40], windows[3]
    windows.on_epoch_begin()
    windows[0], windows[1], windows[0], windows[2], windows[1]
    with pytest.raises(ValueError, match=r"Windows must be read in order.*Received: item 10 after item 3\."):
        windows[9]
    windows.on_epoch_end()
    windows[9]


@pytest.mark.parametrize("index", [-1, 5])
def test_an_index_outside_the_pass_is_refused(index: int) -> None:
    with pytest.raises(IndexError, match=re.escape(f"`index` must lie in [0, 5). Received: index={index}.")):
        Windows(some_text(), BATCH, length=LENGTH)[index]


def test_a_short_text_is_refused() -> None:
    assert len(Windows(some_text(13), BATCH, length=LENGTH)) == 1
    with pytest.raises(
        ValueError, match=r"length \+ 1 = 13 symbols, .*Received: 12 symbols with batch_size=3, length=4. Give"
    ):
        Windows(some_text(12), BATCH, length=LENGTH)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("batch_size", 0, "positive"),
        ("length", -2, "positive"),
        ("num_windows", 0, "positive"),
        ("start", -1, "non-negative"),
    ],
)
def test_sizes_out_of_range_are_refused(name: str, value: int, rule: str) -> None:
    with pytest.raises(ValueError, match=f"`{name}` must be a {rule} integer. Received: {name}={value}"):
        Windows(some_text(), **{"batch_size": BATCH, "length": LENGTH, name: value})


@pytest.mark.parametrize("symbols", [np.zeros((4, 30), np.uint8), np.zeros(90, np.float32)])
def test_symbols_other_than_one_row_of_integers_are_refused(symbols: np.ndarray) -> None:
    with pytest.raises(ValueError, match=rf"`symbols` must be one row of integers. Received: {symbols.dtype} of shape"):
        Windows(symbols, BATCH, length=LENGTH)


def test_more_items_than_a_pass_holds_go_round() -> None:
    symbols = np.arange(31) % 7
    one_pass, longer = Windows(symbols, 2, length=5), Windows(symbols, 2, length=5, start=2, num_windows=8)
    assert (len(one_pass), len(longer), longer.windows_per_pass) == (3, 8, 3)
    for i in range(8):
        for found, expected in zip(longer[i], one_pass[(i + 2) % 3], strict=True):
            np.testing.assert_array_equal(found, expected)


def test_windows_show_as_one_line():
    symbols = np.arange(100) % 7
    assert repr(Windows(symbols, 4, length=5)) == "Windows(batch_size=4, length=5): 4 items of 20 symbols, 4 per pass"
    shown = "Windows(batch_size=4, length=5, start=3): 1,200 items of 20 symbols, 4 per pass"
    assert repr(Windows(symbols, 4, length=5, start=3, num_windows=1200)) == shown


@pytest.mark.parametrize(
    ("symbols", "rule"),
    [
        (
            [0, 2**32 + 1, 2, 3, 1],
            r"`symbols` must lie in \[0, 2147483647\]. Received: ids from 0 to 4294967297. Number",
        ),
        (np.array([0, 2**31, 2, 3, 1], np.uint32), "ids from 0 to 2147483648"),
        (np.arange(5, dtype=np.uint64) * 2**40, "ids from 0 to 4398046511104"),
        (np.array([0, -1, 2, 3, 1], np.int8), "ids from -1 to 3"),
    ],
)
def test_ids_that_int32_does_not_hold_are_refused(symbols, rule):
    with pytest.raises(ValueError, match=rule):
        Windows(np.asarray(symbols), 1, length=4)


def test_a_masked_id_is_none():
    masked, whole = (np.ma.array([0, 1, 2, 1, 2], mask=mask) for mask in ([0, 0, 1, 0, 0], False))
    for symbols, table in ((masked, None), (np.arange(5), masked)):
        with pytest.raises(ValueError, match="must have no masked entries. Received: 1 of them. Remove them"):
            Windows(symbols, 1, length=4, input_table=table)
    assert Windows(whole, 1, length=4)[0][0].tolist() == [[0, 1, 2, 1]]


@pytest.mark.parametrize(
    ("symbols", "table", "rule"),
    [
        (
            [0, -1, 2, 1, 2],
            [5, 6, 7],
            r"`symbols` must lie in \[0, 2\]. Received: ids from -1 to 2. Give `input_table`",
        ),
        ([0, 1, 2, 3, 1], [5, 6, 7], r"`symbols` must lie in \[0, 2\]. Received: ids from 0 to 3"),
        (
            [0, 1, 2, 1, 2],
            [5, 2**31, 7],
            r"`input_table` must lie in \[0, 2147483647\]. Received: ids from 5 to 2147483648",
        ),
        ([0, 1, 2, 1, 2], [5, -6, 7], "ids from -6 to 7. Number the symbols from 0"),
        ([0, 1, 2, 1, 2], [], "`input_table` must have an id for each symbol. Received: none"),
        ([0, 1, 2, 1, 2], [[5, 6, 7]], "`input_table` must be one row of integers"),
        ([0, 1, 2, 1, 2], [5.0, 6.0, 7.0], "`input_table` must be one row of integers"),
    ],
)
def test_a_table_has_an_id_for_each_symbol(symbols, table, rule):
    with pytest.raises(ValueError, match=rule):
        Windows(np.array(symbols), 1, length=4, input_table=table)


def test_the_largest_id_and_a_table_are_read():
    x, y = Windows(np.array([0, 2**31 - 1, 2, 3, 1]), 1, length=4)[0]
    assert (x.tolist(), y.tolist()) == ([[0, 2**31 - 1, 2, 3]], [[2**31 - 1, 2, 3, 1]])
    x, y = Windows(np.array([0, 1, 2, 1, 2], np.uint8), 1, length=4, input_table=[5, 6, 6])[0]
    assert (x.tolist(), y.tolist()) == ([[5, 6, 6, 6]], [[1, 2, 1, 2]])

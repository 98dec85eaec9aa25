"""Windows over one long text for next-symbol prediction with carried states.

The text is cut into `batch_size` lanes of consecutive symbols, and a batch is one window of every lane:

    text    a b c d e f g h i j k l m        batch_size 2, length 3: two windows per pass

    lane 0  a b c | d e f
    lane 1  g h i | j k l                    y of the last window ends in m

The first symbol of a window follows the last one of the previous window, in every lane, so a layer with
`stateful=True` reads each lane as one text. Symbols after the last whole window are not used.
"""

import keras
import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn._checks import integer, integers
from keras_interp_rnn._results import nth
from keras_interp_rnn._types import AnyArray

__all__ = ["Windows"]

LARGEST_ID = np.iinfo(np.int32).max
"""Windows have int32."""


class Windows(keras.utils.PyDataset):
    """Windows of a long text, in order, for `fit(windows, shuffle=False)`.

    Item i is the pair (x, y) of int32 arrays (batch_size, length), where y has the symbol after each symbol of x. After
    the last window of a pass the first one follows, and the states must be reset: `callbacks.CarriedState` resets them
    at the start of each epoch.

    `fit` shuffles by default, which would carry states to the wrong windows. Keras does not tell a dataset whether it
    shuffles, but an item out of order in the first pass of training raises an error.

    Args:
        symbols: integers (num_symbols,) in [0, 2^31), the text. They are not copied; one window at a time becomes
            int32.
        batch_size: int > 0, number of lanes: parts of the text that are read in parallel.
        length: int > 0, symbols in a window.
        start: int >= 0, number of windows already read: item i is window (i + start) modulo the windows of a pass. A
            run that stopped after `start` batches resumes there, if its states are restored too.
        num_windows: int > 0, number of items; None for one pass. With `steps_per_epoch`, `fit` ends an epoch where the
            items end (Keras 3.15), so pass the number of steps of all epochs.
        input_table: int (num_symbols_of_the_alphabet,), applied to the inputs and not to the targets: x becomes
            `input_table[x]`. It merges symbols, such as rare ones, that are distinguished only as targets.

    Raises:
        ValueError: if `symbols` is not one row of integers; if an id is negative, 2^31 or more, or has no entry in
            `input_table`; if a size is not positive, or the text is shorter than batch_size * length + 1 symbols, one
            window for every lane.

    Example:

    >>> windows = Windows(np.arange(13), batch_size=2, length=3)
    >>> x, y = windows[1]
    >>> x
    array([[ 3,  4,  5],
           [ 9, 10, 11]], dtype=int32)
    >>> y
    array([[ 4,  5,  6],
           [10, 11, 12]], dtype=int32)

    To train on a text:

        windows = Windows(text.python_documentation(), batch_size=32, length=50)
        model.fit(windows, epochs=10, shuffle=False, callbacks=[callbacks.CarriedState()])
    """

    def __init__(
        self,
        symbols: AnyArray,
        batch_size: int,
        *,
        length: int,
        start: int = 0,
        num_windows: int | None = None,
        input_table: ArrayLike | None = None,
    ) -> None:
        super().__init__()
        symbols = integers("symbols", symbols, ndim=1, remedy="`datasets.text.encode` returns the symbols of a text.")
        if input_table is not None:
            table = integers("input_table", input_table, ndim=1, remedy="Pass an id for each symbol.")
            if not len(table):
                raise ValueError("`input_table` must have an id for each symbol. Received: none. Pass them, or None.")
            _check_ids("input_table", table, LARGEST_ID, "Number the symbols from 0.")
            _check_ids("symbols", symbols, len(table) - 1, "Give `input_table` an entry for each symbol.")
        _check_ids("symbols", symbols, LARGEST_ID, "Number the symbols from 0.")
        batch_size, length = integer("batch_size", batch_size), integer("length", length)
        if num_windows is not None:
            num_windows = integer("num_windows", num_windows)
        self.batch_size, self.length, self.start = batch_size, length, integer("start", start, 0)
        self.windows_per_pass = (len(symbols) - 1) // (batch_size * length)
        self._input_table = None if input_table is None else table.astype(np.int32)
        self._num_windows = self.windows_per_pass if num_windows is None else num_windows
        if self.windows_per_pass < 1:
            raise ValueError(
                f"`symbols` must have at least batch_size * length + 1 = {batch_size * length + 1} symbols, for one "
                f"window of every lane. Received: {len(symbols)} symbols with batch_size={batch_size}, "
                f"length={length}. Give a longer text, fewer lanes or shorter windows."
            )
        self._inputs = symbols[: self.symbols_per_pass].reshape(batch_size, -1)
        self._targets = symbols[1 : self.symbols_per_pass + 1].reshape(batch_size, -1)
        self._training = False
        self._furthest = -1

    @property
    def symbols_per_pass(self) -> int:
        """Number of symbols predicted in one pass, in all lanes together."""
        return self.windows_per_pass * self.batch_size * self.length

    def __repr__(self) -> str:
        start = f", start={self.start}" if self.start else ""
        return (
            f"Windows(batch_size={self.batch_size}, length={self.length}{start}): {len(self):,} items of "
            f"{self.batch_size * self.length:,} symbols, {self.windows_per_pass:,} per pass"
        )

    def __len__(self) -> int:
        """Number of items: `num_windows`, or the windows of a pass."""
        return self._num_windows

    def __getitem__(self, index: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Returns window (index + start) modulo the windows of a pass, as (x, y)."""
        if not 0 <= index < len(self):
            raise IndexError(f"`index` must lie in [0, {len(self)}). Received: index={index}.")
        self._check_order(index)
        first = (index + self.start) % self.windows_per_pass * self.length
        window = slice(first, first + self.length)
        x, y = self._inputs[:, window].astype(np.int32), self._targets[:, window].astype(np.int32)
        return (x if self._input_table is None else self._input_table[x]), y

    def on_epoch_begin(self) -> None:
        """Called by Keras before items are read in order."""
        self._training = True

    def on_epoch_end(self) -> None:
        """Called by Keras before items may be read in any order."""
        self._training = False

    def _check_order(self, index: int) -> None:
        # Keras reads ahead in several iterators, each from item 0. Items are in order if the previous item was read
        # before by any of them, which detects shuffling in the first pass only.
        if index <= self._furthest + 1:
            self._furthest = max(self._furthest, index)
        elif self._training:
            raise ValueError(
                "Windows must be read in order, as each continues the states of the one before. Received: "
                f"{nth('item', index)} after {nth('item', self._furthest)}. Call `fit(..., shuffle=False)`."
            )


def _check_ids(name: str, ids: AnyArray, largest: int, remedy: str) -> None:
    """Refuses ids outside [0, largest]; looks at none if their type holds no others."""
    if not ids.size or (np.iinfo(ids.dtype).min == 0 and np.iinfo(ids.dtype).max <= largest):
        return
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high > largest:
        raise ValueError(f"`{name}` must lie in [0, {largest}]. Received: ids from {low} to {high}. {remedy}")

"""Next-symbol prediction over one long text, with the state carried from window to window.

The text is cut into `batch_size` lanes that lie one after the other, and a batch is one window of every lane:

    text    a b c d e f g h i j k l m        batch_size 2, length 3: two windows a pass

    lane 0  a b c | d e f
    lane 1  g h i | j k l                    y of the last window ends in m

so the first symbol of a window follows the last one of the window before, in every lane, and a layer with
`stateful=True` reads each lane as one text. What is left over after the last whole window is not used.
"""

from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

__all__ = ["Windows"]


class Windows(keras.utils.PyDataset):
    """Windows of a long text, in order, for `fit(windows, shuffle=False)`.

    Item i is the pair (x, y) of int32 arrays (batch_size, length), with y the symbol after x. After the last
    window comes the first, at the end of a pass or, with a `start` greater than zero, within it. That window
    begins with the state of another place unless something resets the states: `callbacks.CarriedState` does so at the
    start of each epoch.

    `fit` shuffles by default, which would carry states to windows they do not belong to. Keras does not tell
    a dataset; an item out of order in the first pass of a training raises.

    Args:
        symbols: integers (characters,). Kept as they are; only a window at a time becomes int32.
        batch_size: int > 0, lanes.
        length: int > 0, symbols in a window.
        start: int >= 0, windows read already: item i is window (i + start) modulo the windows of a pass. A
            run that was stopped after that many batches goes on where it was, with the states it had.
        count: int > 0, items; one pass by default. With `steps_per_epoch`, `fit` ends an epoch where the items
            end (Keras 3.15), so give the steps of all epochs here.

        read: int (symbols,), what symbol each is read as, where fewer are told apart when read than when predicted:
            x is `read[x]`, y stays.

    Raises:
        ValueError: if `symbols` is not one row of integers, if a size is not positive, or if the text is too
            short for one window: batch_size * length + 1 symbols.

    Example:
        ```python
        windows = Windows(text.python_documentation(), batch_size=32, length=50)
        model.fit(windows, epochs=10, shuffle=False)
        ```
    """

    def __init__(
        self,
        symbols: NDArray[Any],
        batch_size: int,
        length: int,
        start: int = 0,
        count: int | None = None,
        read: NDArray[Any] | None = None,
    ) -> None:
        super().__init__()
        symbols = np.asarray(symbols)
        if symbols.ndim != 1 or not np.issubdtype(symbols.dtype, np.integer):
            raise ValueError(
                f"Windows are cut from one row of integer symbols. Received: {symbols.dtype} of shape "
                f"{symbols.shape}. `datasets.text.encode` makes symbols of a text."
            )
        sizes = {"batch_size": (batch_size, 1), "length": (length, 1), "start": (start, 0), "count": (count, 1)}
        for name, (value, least) in sizes.items():
            if value is not None and value < least:
                raise ValueError(f"`{name}` is at least {least}. Received: {name}={value}. Give a larger one.")
        self.batch_size, self.length, self.start = batch_size, length, start
        self.windows_per_pass = (len(symbols) - 1) // (batch_size * length)
        self._read = None if read is None else np.asarray(read, np.int32)
        self._count = self.windows_per_pass if count is None else count
        if self.windows_per_pass < 1:
            raise ValueError(
                f"One window of every lane takes batch_size * length + 1 = {batch_size * length + 1} symbols."
                f" Received: {len(symbols)} symbols with batch_size={batch_size}, length={length}. "
                f"Give a longer text, fewer lanes or shorter windows."
            )
        self._inputs = symbols[: self.symbols_per_pass].reshape(batch_size, -1)
        self._targets = symbols[1 : self.symbols_per_pass + 1].reshape(batch_size, -1)
        self._training = False
        self._furthest = -1

    @property
    def symbols_per_pass(self) -> int:
        """Symbols predicted in one pass, in all lanes together."""
        return self.windows_per_pass * self.batch_size * self.length

    def __repr__(self) -> str:
        start = f", start={self.start}" if self.start else ""
        return (
            f"Windows(batch_size={self.batch_size}, length={self.length}{start}): {len(self):,} items of "
            f"{self.batch_size * self.length:,} symbols, {self.windows_per_pass:,} a pass"
        )

    def __len__(self) -> int:
        """Items: `count`, or the whole windows in a pass."""
        return self._count

    def __getitem__(self, index: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Returns window (index + start) modulo the windows of a pass, as (x, y)."""
        if not 0 <= index < len(self):
            raise IndexError(f"Windows have indices in [0, {len(self)}). Received: {index}. Give one of these.")
        self._check_order(index)
        first = (index + self.start) % self.windows_per_pass * self.length
        window = slice(first, first + self.length)
        x, y = self._inputs[:, window].astype(np.int32), self._targets[:, window].astype(np.int32)
        return (x if self._read is None else self._read[x]), y

    def on_epoch_begin(self) -> None:
        """Called by Keras: from here on, items are read in order."""
        self._training = True

    def on_epoch_end(self) -> None:
        """Called by Keras: from here on, items may be read in any order."""
        self._training = False

    def _check_order(self, index: int) -> None:
        # Keras reads ahead, in several iterators at a time, each from item 0: in order means that every item
        # comes after the one before has been read by somebody. That shows shuffling in the first pass only.
        if index <= self._furthest + 1:
            self._furthest = max(self._furthest, index)
        elif self._training:
            raise ValueError(
                f"Windows are read in order, or states would be carried to the wrong place. Received: item "
                f"{index} after item {self._furthest}. Call `fit(..., shuffle=False)`."
            )

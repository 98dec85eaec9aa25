"""The figure class of all functions here, and the colour maps of signed numbers and of magnitudes."""

from __future__ import annotations

import io
from typing import Any

from keras_interp_rnn._io import needed

with needed("matplotlib", extra="figures", by="`keras_interp_rnn.figures`"):
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure as MatplotlibFigure

from keras_interp_rnn._results import AGAINST, FOR, LINES, RAMP

SIGNED = LinearSegmentedColormap.from_list("signed", [AGAINST, "white", FOR])
MAGNITUDE = LinearSegmentedColormap.from_list("magnitude", ["white", RAMP])


class Figure(MatplotlibFigure):
    """A `matplotlib.figure.Figure` that a notebook displays; its lines have the colours of the package.

    It is independent of pyplot: it opens no window, need not be closed, and does not need `%matplotlib inline`.

    Example:

    >>> from keras_interp_rnn import figures
    >>> figure = figures.transition_map([[1.0, 0.0], [0.2, 0.8]], "ab")
    >>> figure.savefig("transitions.png")
    """

    def subplots(self, *args: Any, **kwargs: Any) -> Any:
        """Matplotlib's."""
        axes = super().subplots(*args, **kwargs)
        for axis in self.axes:
            axis.set_prop_cycle(color=LINES)
        return axes

    def _repr_png_(self) -> bytes:
        png = io.BytesIO()
        self.savefig(png, format="png")
        return png.getvalue()

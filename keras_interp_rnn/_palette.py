"""The colours of figures, views and drawings, in one place."""

from __future__ import annotations

BLUE = "#2166ac"
"""Positive terms; the network."""
RED = "#b2182b"
"""Negative terms; what a curve is compared with."""
LIGHT_RED = "#d6604d"
"""Probabilities that shade a text."""
ORANGE = "#e08214"
"""Counts of a text, beside the network's blue."""
GREEN = "#1b7837"
GREY = "#888888"
"""Guides: lines to compare with."""
INK = "#1f2933"
"""Text and outlines of drawings."""
LINE = "#7b8794"
"""Edges of drawings."""


def rgb(color: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, of a colour "#rrggbb"."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def rgba(color: str, opacity: float) -> str:
    """A colour for CSS, with an opacity in [0, 1]."""
    red, green, blue = rgb(color)
    return f"rgba({red},{green},{blue},{opacity:.3f})"


def signed(value: float) -> str:
    """The colour of a signed number: blue above zero, red from zero down."""
    return BLUE if value > 0 else RED

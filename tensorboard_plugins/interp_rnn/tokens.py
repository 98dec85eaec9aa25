"""The appearance of everything that is drawn: colours, type sizes, spaces, signs for white space.

The page's style sheet, drawings of results, the terminal and Matplotlib figures use them. Blue is for an output and
orange against it, which colour-blind readers can distinguish. Each text colour has a contrast of 4.5 to 1 with its
background, light and dark.
"""

from __future__ import annotations

LIGHT = {
    "ink": "#1c1c1c",
    "faint": "#595959",
    "line": "#d8d8d8",
    "paper": "#ffffff",
    "raised": "#f6f7f9",
    "accent": "#1f5fae",
    "for": "#1f5fae",
    "against": "#c2410c",
    "ramp": "#0b3d78",
    "good": "#1b6e3c",
    "error": "#b3261e",
}
"""Colours on white. `ramp` is the colour of the largest magnitude; 0 is the colour of the paper."""

DARK = {
    "ink": "#ececec",
    "faint": "#b8b8b8",
    "line": "#4a4a4a",
    "paper": "#303030",
    "raised": "#3a3a3a",
    "accent": "#8ab8ff",
    "for": "#8ab8ff",
    "against": "#ffa06b",
    "ramp": "#a8cdff",
    "good": "#7bd8a2",
    "error": "#f2b8b5",
}
"""Colours on TensorBoard's dark grey."""

GUIDE, EDGE = "#888888", "#7b8794"
"""Colours of guide lines, and of edges of drawings, on white and on grey."""

RUNS = ("#1f5fae", "#c2410c", "#2a7f4f", "#7e57c2", "#a16207", "#0e7490")
DARK_RUNS = ("#8ab8ff", "#ffa06b", "#5fd39a", "#c3abf5", "#e0b34d", "#5fc6dc")
"""Colours of lines: runs, outputs of states, quantities."""

NAMES = {"for": "blue", "against": "orange"}
"""Names of the two colours in texts."""

SIZES = {"small": "12px", "text": "14px", "large": "17px", "head": "22px"}
SPACES = {"space-1": "4px", "space-2": "8px", "space-3": "16px"}

SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥"}
"""Signs for white space that Matplotlib's font has; it lacks the rest of their Unicode block."""


def css(*, by_class: bool) -> str:
    """The variables of a style sheet; dark by the class of the page, or by the setting of the reader's system."""
    light = _declared({**LIGHT, **_numbered(RUNS), **SIZES, **SPACES, "scheme": "light"})
    dark = _declared({**DARK, **_numbered(DARK_RUNS), "scheme": "dark"})
    darkened = f":root.dark {dark}" if by_class else f"@media (prefers-color-scheme: dark) {{ :root {dark} }}"
    return f":root {light}\n{darkened}\n"


def _numbered(colors: tuple[str, ...]) -> dict[str, str]:
    return {f"line-{i}": color for i, color in enumerate(colors)}


def _declared(variables: dict[str, str]) -> str:
    return "{ " + " ".join(f"--{name}: {value};" for name, value in variables.items()) + " }"

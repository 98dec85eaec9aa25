"""Names, numbers and colours as results show them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, SupportsInt

from tensorboard_plugins.interp_rnn import tokens

FOR, AGAINST = tokens.LIGHT["for"], tokens.LIGHT["against"]
"""Colours of positive and negative terms, or of a network and its reference."""
RAMP = tokens.LIGHT["ramp"]
"""Colour of the largest magnitude."""
LINES = tokens.RUNS
"""Colours of several lines in one drawing."""
GREY = tokens.GUIDE
"""Colour of guide lines."""
INK = tokens.LIGHT["ink"]
"""Colour of text and outlines."""
PAPER = tokens.LIGHT["paper"]
"""Colour of text on a strong colour."""
LINE = tokens.EDGE
"""Colour of edges."""


def rgb(color: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, of a colour "#rrggbb"."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def signed(value: float) -> str:
    """The colour of a signed number."""
    return FOR if value > 0 else AGAINST


def visible(name: str) -> str:
    r"""A name on one line with every character visible.

    A single space becomes "␣" and is kept inside a longer name; a newline becomes "⏎", a tab "⇥"; other unprintable
    characters are escaped as in Python, "\x07", but for joiners within a name, which make one sign of several; a
    combining accent follows "◌"; an empty name becomes "∅".
    """
    if name == " ":
        return tokens.SIGNS[name]
    joiners = {found.start() for found in re.finditer(r"(?<=\S)[\u200c\u200d](?=\S)", name)}
    shown = "".join(
        c if c.isprintable() or i in joiners else tokens.SIGNS.get(c) or c.encode("unicode_escape").decode()
        for i, c in enumerate(name)
    )
    return "◌" + shown if shown and unicodedata.combining(shown[0]) else shown or "∅"


def symbol_name(alphabet: Sequence[object] | None, symbol: int) -> str:
    """The displayed name of a symbol: its name, or its id if it has none."""
    if alphabet is None or not 0 <= symbol < len(alphabet):
        return str(symbol)
    return visible(str(alphabet[symbol]))


def nth(noun: str, index: SupportsInt) -> str:
    """The displayed name of a thing that has a place and no name, counted from 1: "step 3" for the index 2."""
    return f"{noun} {int(index) + 1}"


def output_name(alphabet: Sequence[object] | None, output: int, num_outputs: int, *, again: bool = False) -> str:
    """The displayed name of an output: that of a symbol if their numbers agree, otherwise "output 4 (index 3)".

    Args:
        again: whether the text named the output before, so that "output 4" suffices.
    """
    if alphabet is not None and len(alphabet) == num_outputs:
        return symbol_name(alphabet, output)
    return nth("output", output) if again else f"{nth('output', output)} (index {int(output)})"


def named_output(result: Any, output: SupportsInt, *, again: bool = False) -> str:
    """The displayed name of an output of a result, of which `output_names` has the names, if there are any."""
    return output_name(result.output_names or None, int(output), len(result.output_names), again=again)


def class_name(names: Sequence[str], label: SupportsInt) -> str:
    """The displayed name of a class: its own, or "class 1", by its index."""
    return visible(str(names[int(label)])) if names else f"class {int(label)}"


def separator(names: Iterable[object] | None) -> str:
    """The separator of names in a text: empty if all are single characters, otherwise a space, as between ids."""
    return "" if names is not None and all(len(str(name)) == 1 for name in names) else " "


def text_of(alphabet: Sequence[object] | None, symbols: Iterable[int]) -> str:
    """Symbols of a text on one line."""
    return separator(alphabet).join(symbol_name(alphabet, int(symbol)) for symbol in symbols)


def counted(number: int, noun: str) -> str:
    """A number with its noun in singular or plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cut(name: str, width: int) -> str:
    """A name of at most so many characters."""
    return name if len(name) <= width else f"{name[: width - 1]}…"


WORD = 60
"""Maximum number of characters of a word, which is cut if it is longer."""
NEAR_CERTAIN = 0.01
"""A probability nearer to 0 or 1 hardly changes, whatever is read."""


def chance(part: float) -> str:
    """A probability, with the digits that tell it from 0 and 1."""
    near = min(part, 1 - part)
    if near >= NEAR_CERTAIN:
        return f"{part:.3f}"
    if near < 1e-6:
        return "above 0.999999" if part > 0.5 else "below 0.000001"
    return f"{part:.{1 - math.floor(math.log10(near))}f}"


def shown_word(symbols: Sequence[Hashable]) -> str:
    """A word of an automaton on one line; words of single characters without spaces."""
    blank = separator(symbols) if all(isinstance(symbol, str) for symbol in symbols) else " "
    text = blank.join(visible(str(symbol)) for symbol in symbols)
    return text if len(text) <= WORD else f"{text[: WORD - 3]}..."


def percent(part: float) -> str:
    """A probability in per cent, with the digits that tell it from 0 and 1: "91%", "99.98%"."""
    near = min(part, 1 - part)
    if near < 1e-6:
        return "more than 99.9999%" if part > 0.5 else "less than 0.0001%"
    digits = 0 if near >= NEAR_CERTAIN else -2 - math.floor(math.log10(near))
    return f"{100 * part:.{digits}f}%"


def quoted(name: str) -> str:
    """A name in quotes, unless it is only the number of a thing: “tedious”, step 3."""
    head, _, number = name.partition(" ")
    return name if head in NUMBERED and number[:1].isdigit() else f"“{name}”"


NUMBERED = ("output", "step", "group", "class", "sequence")
"""Things without names, which are numbered."""


def verdict(name: str, part: float, num_outputs: int) -> str:
    """The answer of a network, and how sure it is: "“negative”, 91% sure"; or that it does not decide."""
    if num_outputs > 1 and part < UNDECIDED / num_outputs:
        return f"does not decide: {quoted(name)} {percent(part)}, chance is {percent(1 / num_outputs)}"
    return f"{quoted(name)}, {percent(part)} sure"


def verdict_between(names: Sequence[str], part: float) -> str:
    """The answer of a network that decides between two classes; part: the probability of the second."""
    answer = (names[1], part) if part >= DECIDES else (names[0], 1 - part)
    return verdict(*answer, len(names))


DECIDES = 0.5
"""A probability above which there is no larger one."""
UNDECIDED = 1.15
"""A probability of fewer times chance decides nothing."""


def because(
    names: Sequence[str], shares: Sequence[float], unit: str = "", margins: Sequence[float] = (), *, towards: int = 0
) -> str:
    """The step that moved an output most, as the end of a sentence; "" if none did.

    Where it went towards something although no step moved it there, the one that is most against that.

    Args:
        names: of the steps. shares: how far each moved it. unit: of these. margins: half their intervals, if they are
            estimates.
        towards: 1 or -1 for a step that moved it up or down, if one did; 0 for either.
    """
    known = [share if math.isfinite(share) else 0.0 for share in shares]
    along = [max(towards * share, 0.0) for share in known]
    sizes = along if any(along) else [abs(share) for share in known]
    if not any(sizes):
        return ""
    best = max(range(len(sizes)), key=sizes.__getitem__)
    name = quoted(names[best])
    if name != names[best] and list(names).count(names[best]) > 1:
        name += f" at position {best + 1}"
    least = sizes[best] - margins[best] if len(margins) else 0.0
    unsure = any(i != best and sizes[i] + margin > least for i, margin in enumerate(margins) if margins[best])
    told = ", as far as the intervals tell" if unsure else ""
    number = f"({shares[best]:+.3g}{f' {unit}' if unit else ''}){told}"
    if towards and not any(along):
        return f", although {name} moves it the other way most {number}"
    return f", above all because of {name} {number}"


def told_apart(ranked: Iterable[tuple[str, float, int]]) -> list[tuple[str, str]]:
    """(thing, its probability as text), in two to four digits, as many as tell the probabilities apart.

    Things that agree in four digits also show their number of occurrences, by which they were ranked.
    """
    things = list(ranked)
    for digits in (2, 3, 4):
        shown = [f"{p:.{digits}f}" for _, p, _ in things]
        if len(set(shown)) == len(things):
            break
    repeated = Counter(shown)
    return [
        (thing, f"{text}, {counted(n, 'time')}" if repeated[text] > 1 else text)
        for text, (thing, _, n) in zip(shown, things, strict=True)
    ]

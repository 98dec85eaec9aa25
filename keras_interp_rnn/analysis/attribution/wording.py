"""Outputs, units, certainty and tokens in words, for the tables of attributions and interactions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import expit

from keras_interp_rnn._alphabet import Alphabet
from keras_interp_rnn._network import as_strings, batch_of, is_text
from keras_interp_rnn._results import visible
from keras_interp_rnn._results.names import NEAR_CERTAIN, chance

SMALL, ROUNDING = 0.01, 2**-20
"""Maximum gap of a sum, in parts of a change, and of rounding, in parts of the sizes of its terms."""
INTERVAL = 1.96
"""Standard errors on each side of an estimate, of its 95% interval."""

PLURAL = {"": "outputs", "logit": "logits", "probability": "probabilities"}


def unit_of(quantity: str) -> str:
    """The unit of shares of a quantity: nats of logits; "" for the output's own."""
    return "nats" if quantity in ("logit", "log-odds") else ""


def in_nats(quantity: str) -> str:
    """A quantity that is split, in words: "the log-odds, in nats"."""
    return f"the {quantity}{', in nats' if quantity in ('logit', 'logits', 'log-odds') else ''}"


def ends(output: float, reference_output: float, quantity: str) -> tuple[str, str]:
    """An output and that without any step, with the digits that tell them from 0, from 1 and from each other."""
    scale = max(abs(output), abs(reference_output))

    def digits(value: float, other: float) -> str:
        if quantity == "probability" and not NEAR_CERTAIN <= value <= 1 - NEAR_CERTAIN:
            return chance(value)
        sizes = [size for size in (abs(value), abs(value - other)) if size > ROUNDING * scale]
        decimals = max(4, 1 - math.floor(math.log10(min(sizes)))) if sizes else 4
        return f"{value:.{decimals}f}" if decimals <= 8 else f"{value:.2g}"

    return digits(output, reference_output), digits(reference_output, output)


def near_certainty(part: float | None, quantity: str, moved: str, of: str = "") -> tuple[str, ...]:
    """A sentence where a probability is near 0 or 1: (sentence,), otherwise ().

    Args:
        part: the probability; None if it is not known. quantity: what is split. moved: "the shares say what moved".
        of: the name of the output, in " of NAME".
    """
    if part is None or NEAR_CERTAIN <= part <= 1 - NEAR_CERTAIN:
        return ()
    shown = f"{chance(part)}{of}"
    if quantity == "probability":
        return (f"a probability of {shown} hardly changes, whatever is read: split the logit instead (of='logit')",)
    return (f"{moved} the {quantity}, which a probability of {shown} hardly shows any more",)


def probability_of(output: float, quantity: str) -> float | None:
    """The probability of a single output of this quantity; None where it is not known."""
    return {"probability": output, "log-odds": float(expit(output))}.get(quantity)


def variance(r_squared: float) -> str:
    """R^2 in per cent, with as many digits as it takes not to be 100; "none" where nothing is explained."""
    if r_squared <= 0:
        return "none"
    digits = next((d for d in range(1, 7) if round(100 * r_squared, d) < 100), None)
    return "100%" if digits is None else f"{100 * r_squared:.{digits}f}%"


def as_typed(
    tokens: tuple[tuple[str, ...], ...], given: object, alphabet: Alphabet | None
) -> tuple[tuple[str, ...], ...]:
    """Names of the tokens of texts as they were given: symbols that the alphabet does not know by their own names."""
    texts = as_strings(given)
    if alphabet is None or alphabet.unknown is None or not is_text(texts):
        return tokens
    unknown, before = visible(str(alphabet.unknown)), int(alphabet.start is not None)

    def named(row: tuple[str, ...], text: str | Sequence[str]) -> tuple[str, ...]:
        symbols = [*(alphabet.split(text) if isinstance(text, str) and alphabet.split is not None else text)]
        typed = [*row[:before], *(visible(str(symbol)) for symbol in symbols), *row[before + len(symbols) :]]
        return tuple(new if name == unknown else name for name, new in zip(row, typed, strict=True))

    return tuple(named(row, text) for row, text in zip(tokens, batch_of(texts, alphabet), strict=True))

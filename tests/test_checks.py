"""Checks of arguments: the converted values, and the messages with rule, value received and remedy."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from keras_interp_rnn import _checks as checks

HUGE = 10**400
"""An integer that no float holds."""


@pytest.mark.parametrize(
    ("check", "value", "result"),
    [
        (checks.integer, np.int8(3), 3),
        (checks.integer, HUGE, HUGE),
        (checks.positive, np.float32(0.5), 0.5),
        (checks.positive, 2, 2.0),
        (checks.non_negative, 0, 0.0),
        (checks.fraction, 0, 0.0),
        (checks.fraction, np.float64(0.25), 0.25),
    ],
)
def test_a_number_becomes_one_of_python(check: Any, value: Any, result: float) -> None:
    found = check("size", value)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("check", "options", "values", "rule"),
    [
        (checks.integer, {}, [0, -1, 1.0, np.float64(2), True, "1", None, np.array([1])], "a positive integer"),
        (checks.integer, {"minimum": 0}, [-1, 0.0, False], "a non-negative integer"),
        (checks.integer, {"minimum": 2}, [1, 2.0], "an integer of at least 2"),
        (checks.positive, {}, [0, -1.0, np.nan, np.inf, True, "1", None, 1j, HUGE], "a positive number"),
        (checks.non_negative, {}, [-1, np.nan, np.inf, False, "0", HUGE], "a non-negative number"),
        (checks.fraction, {}, [1, -0.1, np.nan, False, "0"], "a number in [0, 1)"),
        (checks.fraction, {"below": 0.5}, [0.5, HUGE], "a number in [0, 0.5)"),
        (checks.within, {"minimum": 0, "maximum": 1}, [-0.1, 1.1, np.nan, True, None], "a number in [0, 1]"),
        (checks.as_path, {}, ["", b"a", 3, None], "a path: a string, not empty, or a pathlib.Path"),
        (checks.expanded_path, {}, ["~nosuchuser/x"], "a path whose ~ is the home folder of a user"),
        (checks.choice, {"choices": ("lstm", 1, None)}, ["gru", True, 1.5], "one of 'lstm', 1, None"),
    ],
)
def test_an_error_has_the_rule_and_the_value(check: Any, options: dict[str, Any], values: list[Any], rule: str) -> None:
    for value in values:
        with pytest.raises(ValueError, match="Received") as error:
            check("size", value, **options)
        message = f"`size` must be {rule}. Received: size={value!r}."
        assert str(error.value)[: len(message)] == message


def test_an_error_ends_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=re.escape("Received: size=0. Give the number of rows.")):
        checks.integer("size", 0, remedy="Give the number of rows.")


def test_a_choice_suggests_names_that_are_spelled_alike() -> None:
    assert checks.choice("cell", "gru", ("gru", "lstm")) == "gru"
    with pytest.raises(ValueError, match=re.escape("Received: cell='GRUU'. Did you mean 'gru'?")):
        checks.choice("cell", "GRUU", ("gru", "lstm"))


def test_a_path_becomes_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert checks.as_path("path", "~/a") == Path("~/a")
    assert checks.expanded_path("path", Path("~/a")) == Path("/home/ada/a")


class TestIntegers:
    def test_an_array_of_integers_keeps_its_type(self) -> None:
        assert checks.integers("tokens", np.uint8([1, 2])).dtype == np.uint8
        assert checks.integers("tokens", [[0, 3]], below=4).tolist() == [[0, 3]]
        assert checks.integers("tokens", [], ndim=1).shape == (0,)

    @pytest.mark.parametrize(
        ("tokens", "options", "message"),
        [
            ([0.5], {}, "`tokens` must be integers. Received: float64 of shape (1,)."),
            ([True], {}, "`tokens` must be integers. Received: bool of shape (1,)."),
            ([[1]], {"ndim": 1}, "`tokens` must be one row of integers. Received: int64 of shape (1, 1)."),
            ([0, 4], {"below": 4}, "`tokens` must lie in [0, 4). Received: tokens from 0 to 4."),
            (
                [-1, 3],
                {"below": 4, "remedy": "Encode."},
                "`tokens` must lie in [0, 4). Received: tokens from -1 to 3. Encode.",
            ),
        ],
    )
    def test_other_arrays_are_refused(self, tokens: Any, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            checks.integers("tokens", tokens, **options)


@pytest.mark.parametrize(
    ("annotation", "fitting", "others"),
    [
        (float, [1, 0.5, np.float32(2), float("nan")], [None, True, "1", [1.0], np.zeros(1)]),
        (int, [1, np.int8(3)], [1.0, True, None, "1", np.array([2])]),
        (str, ["", "a", np.str_("a")], [b"a", None, 3]),
        (ArrayLike, [1.0, [[1, 2]], np.zeros((2, 3)), [True]], [None, "a", [[1], [1, 2]], object(), [None]]),
        (Sequence[str], ["abc", ["a", "b"], ("a",), np.array(["a"])], [b"abc", [1], None, {"a": 1}, {"a"}]),
        (Sequence[float], [[1, 2.5], np.arange(3.0)], ["ab", np.float64(1), [[1.0]]]),
        (Mapping[str, ArrayLike], [{}, {"a": [1, 2]}], [[], {"a": "b"}, None]),
        (tuple[int, float], [(1, 2.0), [1, 2]], [(1,), (1.5, 2.0), (1, 2, 3), None, 1]),
        (int | None, [None, 1], ["1", 1.5]),
    ],
)
def test_a_value_fits_a_type_or_does_not(annotation: Any, fitting: list[Any], others: list[Any]) -> None:
    assert [value for value in fitting if not checks.fits(value, annotation)] == []
    assert [value for value in others if checks.fits(value, annotation)] == []

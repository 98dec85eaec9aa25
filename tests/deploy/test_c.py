"""Numbers and indices as C."""

import re

import numpy as np
import pytest

from keras_interp_rnn.deploy._c import Place, Unwritten, literal, plus, times
from keras_interp_rnn.deploy._code import Code
from keras_interp_rnn.deploy._values import Given, Value


def test_every_float_is_read_back():
    bits = np.random.default_rng(0).integers(2**32, size=20_000, dtype=np.uint32)
    drawn = bits.view(np.float32)
    limits = np.finfo(np.float32)
    special = [0.0, -0.0, 1.0, -3.0, limits.max, limits.min, limits.tiny, limits.smallest_subnormal, 16777216.0, 1e10]
    for x in [*drawn[np.isfinite(drawn)], *np.float32(special)]:
        text = literal(x)
        assert re.fullmatch(r"-?\d+(\.\d+)?(e[+-]\d+)?f", text)
        assert "." in text or "e" in text  # else C takes it for an integer with a wrong suffix
        assert np.float32(float(text[:-1])).tobytes() == np.float32(x).tobytes()


@pytest.mark.parametrize("x", [1e39, -1e300, np.inf, np.nan])
def test_a_number_that_no_float_holds_has_no_literal(x):
    with pytest.raises(Unwritten, match="beyond the range of float"):
        literal(x)


def test_indices_are_simplified():
    assert [plus("0", "i"), plus("i", "8"), plus("2", "3"), plus("0", "0")] == ["i", "i + 8", "5", "0"]
    assert [times("symbol", 3), times("symbol * 2 + i", 3), times("4", 3)] == [
        "symbol * 3",
        "(symbol * 2 + i) * 3",
        "12",
    ]
    assert times("symbol", 1) == "symbol"
    assert Place("w", "symbol * 8").at("i") == "w[symbol * 8 + i]"
    assert str(Place("w").moved("8")) == "w + 8"


def test_operations_with_0_and_1_are_left_out():
    code = Code("our", "float32")
    x = Given(code, 3, Place("x"))
    for same in (x + 0, 0 + x, x - 0, x * 1, 1 * x, x / 1):
        assert same is x
    assert [x * 0, 0 * x, x - x] == [0, 0, 0]
    assert [(x * 2).at("i"), (1 - x).at("i"), (2 * (x + 1)).at("i")] == [
        "x[i] * 2.0f",
        "1.0f - x[i]",
        "2.0f * (x[i] + 1.0f)",
    ]


@pytest.mark.parametrize(("shape", "axis"), [((1, 2, 3), -1), ((1, 3), 0)])
def test_functions_of_several_rows_have_no_c(shape, axis):
    code = Code("our", "float32")
    for function in (code.softmax, code.mean, code.argmax):
        with pytest.raises(Unwritten, match="functions of several rows"):
            function(Value(code, shape), axis=axis)

"""What figures refuse before they draw."""

from collections.abc import Mapping, Sequence

import keras
import numpy as np
import pytest
from numpy.typing import ArrayLike

from keras_interp_rnn import analysis, figures, layers
from keras_interp_rnn.figures._arguments import fits


@pytest.mark.parametrize(
    ("wanted", "right", "wrong"),
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
def test_a_value_fits_a_type_or_does_not(wanted, right, wrong):
    assert [value for value in right if not fits(value, wanted)] == []
    assert [value for value in wrong if fits(value, wanted)] == []


def test_an_argument_of_another_type_is_refused_before_anything_is_drawn():
    with pytest.raises(ValueError, match=r"contributions is of the type Contributions\. Received: contributions=None"):
        figures.contribution_column(None)
    with pytest.raises(ValueError, match=r"spectra is of the type Mapping\[str, ArrayLike\]\. Received: spectra=\[1"):
        figures.state_spectra([1.0])
    with pytest.raises(TypeError, match="missing a required argument: 'tokens'"):
        figures.transition_map([[0.5, 0.5]])


def test_what_does_not_belong_together_is_refused():
    with pytest.raises(ValueError, match="steps of .'CFN'., values of .'GRU'., and 1 lags"):
        figures.jacobian_percentiles({"CFN": [0.0]}, {"GRU": np.ones((1, 1, 3))}, lags=[0])
    with pytest.raises(ValueError, match="one kind of state or more"):
        figures.state_paths({}, "ab")
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.ISAN(3, 4), keras.layers.Dense(4)])
    with pytest.raises(ValueError, match="target is an index into 3 targets. Received: target=3"):
        figures.contribution_column(analysis.contributions(model, [0, 2, 1]), 3)

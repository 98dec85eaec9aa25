"""The figures say what they are given: labels, positions of lines, and nothing cut off."""

import io

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from keras_interp_rnn import figures

LAGS = [0, 5]
NAMES = ["GRU", "MinimalRNN"]


def values(shape, seed=0):
    return np.random.default_rng(seed).lognormal(size=shape)


def texts(figure):
    return [text.get_text() for text in figure.findobj(match=lambda part: hasattr(part, "get_text"))]


def assert_inside(figure):
    """Draws, and checks that no label leaves the picture."""
    figure.savefig(io.BytesIO())
    width, height = figure.canvas.get_width_height()
    box = figure.get_tightbbox().transformed(figure.dpi_scale_trans)
    assert box.x0 >= -1
    assert box.y0 >= -1
    assert box.x1 <= width + 1
    assert box.y1 <= height + 1


def test_the_histogram_marks_the_median_and_counts_everything():
    given = {name: values((2, 3, 40), seed) for seed, name in enumerate(NAMES)}
    figure = figures.jacobian_histogram(given, LAGS)
    assert_inside(figure)
    assert {"k = 0", "k = 5", *NAMES} <= set(texts(figure))
    for axis, of_lag in zip(figure.axes, [lag for array in given.values() for lag in array], strict=True):
        assert sum(bar.get_height() for bar in axis.patches) == pytest.approx(1)
        assert axis.lines[1].get_xdata()[0] == pytest.approx(np.median(of_lag))


def test_vanished_values_are_drawn_at_the_edge():
    figure = figures.jacobian_histogram({"vanilla": np.array([[1.0, 0.5], [0.0, 1e-40]])}, LAGS)
    assert figure.axes[1].lines[1].get_xdata()[0] == figures.minimal_rnn.SMALLEST
    assert_inside(figure)


def test_values_below_rounding_are_counted_and_not_drawn():
    jacobians = np.array([[[1.0, 1e-3, 2e-9], [1e-6, 2e-9, 1e-15]], [[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]])
    figure = figures.jacobian_histogram({"SR-GRU": jacobians}, LAGS, rounding=float(np.finfo("float32").eps))
    assert_inside(figure)
    first, second = figure.axes
    assert [text.get_text() for text in first.texts] == ["2 of 6\nbelow rounding"]
    assert sum(bar.get_height() for bar in first.patches) == pytest.approx(4 / 6)
    assert (
        min(bar.get_x() for bar in first.patches if bar.get_height()) >= 1e-9
    )  # 2e-9 is real where 1e-6 is the largest
    assert first.lines[1].get_xdata()[0] == pytest.approx(np.median([1, 1e-3, 1e-6, 2e-9]))
    assert not second.texts
    everything = figures.jacobian_histogram({"SR-GRU": jacobians}, LAGS).axes[0]
    assert not everything.texts
    assert sum(bar.get_height() for bar in everything.patches) == pytest.approx(1)
    with pytest.raises(ValueError, match=r"in \[0, 1\)\. Received: rounding=1\."):
        figures.jacobian_histogram({"SR-GRU": jacobians}, LAGS, rounding=1)


def test_the_middle_line_of_the_percentiles_is_the_median():
    steps = {name: [0, 10, 20] for name in NAMES}
    given = {name: values((3, 2, 50), seed) for seed, name in enumerate(NAMES)}
    figure = figures.jacobian_percentiles(steps, given, lags=LAGS)
    assert_inside(figure)
    assert {"k = 0", "k = 5", *NAMES, "training steps"} <= set(texts(figure))
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), np.median(given["GRU"][:, 0], axis=1))
    band = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(given["GRU"][:, 0].min())
    assert band.max() == pytest.approx(given["GRU"][:, 0].max())


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (lambda: figures.jacobian_histogram({}, LAGS), "at least one architecture"),
        (lambda: figures.jacobian_histogram({"GRU": values((3, 2))}, LAGS), "GRU"),
        (
            lambda: figures.jacobian_percentiles({"GRU": [1]}, {"GRU": values((2, 2, 5))}, lags=LAGS),
            "1 steps and 2 values",
        ),
    ],
)
def test_arguments_of_different_lengths_are_refused(call, place):
    with pytest.raises(ValueError, match=place):
        call()

"""Figures in a notebook: shown without pyplot, and nothing left open."""

import io
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib.image

from keras_interp_rnn import figures


def test_a_figure_shows_itself_as_the_png_it_would_be_saved_as():
    figure = figures.Figure()
    figure.subplots().plot([0.5, 0.3, 0.2])
    assert isinstance(figure, figures.Figure)
    png = figure._repr_png_()
    assert png.startswith(b"\x89PNG\r\n")
    saved = io.BytesIO()
    figure.savefig(saved)
    shown, expected = (matplotlib.image.imread(io.BytesIO(data)) for data in (png, saved.getvalue()))
    np.testing.assert_array_equal(shown, expected)
    assert np.ptp(shown[..., :3]) > 0.5, "something is drawn"


def test_no_figure_is_left_to_pyplot():
    import matplotlib.pyplot

    before = matplotlib.pyplot.get_fignums()
    for _ in range(3):
        figures.transition_map([[0.5, 0.5]], "a")._repr_png_()
    assert matplotlib.pyplot.get_fignums() == before


@pytest.mark.parametrize("name", [name for name in figures.__all__ if name[0].islower()])
def test_every_function_promises_such_a_figure(name):
    assert getattr(figures, name).__annotations__["return"] == "Figure"
    assert sys.modules[getattr(figures, name).__module__].Figure is figures.Figure

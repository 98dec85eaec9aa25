"""ISAN on torch: its path, eagerly and under tracing, changes no number."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_interp_rnn import losses
from keras_interp_rnn.layers import ISAN
from tests.samples import sample
from tests.tolerances import assert_close

if keras.backend.backend() != "torch":
    pytest.skip("the paths are torch's", allow_module_level=True)

import torch

SIZES = {"batch": 3, "time": 11, "vocabulary_size": 7, "units": 10}


def test_fit_takes_the_grouped_path_by_default() -> None:
    layer = ISAN(10, 7, return_sequences=True)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layer, keras.layers.Dense(7)])
    model.compile("sgd", losses.BitsPerSymbol())
    symbols = sample(**SIZES).symbols
    model.fit(symbols[:, :-1], symbols[:, 1:], verbose=0)
    assert layer.chosen_path == ("grouped", "torch on CPU")


@pytest.mark.parametrize("mask", [None, "scattered", "whole rows"])
def test_double_precision_is_kept(mask: str | None) -> None:
    """Other operations of Keras compute float64 in float32."""
    some = sample(mask=mask, **SIZES)
    states = some.layer(return_sequences=True)(some.symbols, mask=some.mask).detach()
    assert np.abs(states.numpy() - some.outputs()).max() < 1e-12 * np.abs(states.numpy()).max()


@pytest.mark.filterwarnings("ignore:`torch.jit.trace")  # of torch since 2.13; models are still traced by it
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")  # Keras looks at shapes
def test_a_trace_takes_the_static_path_and_reads_other_symbols() -> None:
    some, other = sample(**SIZES), sample(1, **SIZES)
    layer = some.layer(return_sequences=True)
    with torch.no_grad():
        traced = torch.jit.trace(layer, torch.tensor(some.symbols), check_trace=False)
    assert layer.chosen_path.name == "static"
    assert_close(traced(torch.tensor(other.symbols)), some._replace(symbols=other.symbols).states(), "float64")


def test_an_exported_program_reads_other_symbols() -> None:
    some, other = sample(**SIZES), sample(1, **SIZES)
    layer = some.layer(return_sequences=True)
    program = torch.export.export(layer, (torch.tensor(some.symbols),), strict=False)
    found = program.module()(torch.tensor(other.symbols))
    assert_close(found, some._replace(symbols=other.symbols).states(), "float64")

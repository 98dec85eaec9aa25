"""Whole-sequence trajectories and their adjoints, against two witnesses that share no code with them.

The witnesses are the stepwise recurrence differentiated by the backend, and the oracle's back-propagation by hand. The
paths: "static", "blocks" and "dense" on every backend, "grouped" on each in its own way.
"""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import _backend, layers
from keras_interp_rnn._sequence import affine, blocks, masks, scan, sizes
from keras_interp_rnn.equations import isan as equations
from tests import autodiff
from tests.oracles import isan as oracle
from tests.samples import MASKS, Sample, sample
from tests.tolerances import assert_close

pytestmark = pytest.mark.core(2)  # cases are flags, or another layer in the same way


BACKEND = keras.backend.backend()
TENSORFLOW = BACKEND == "tensorflow"
PATHS = ("static", "blocks", "dense", "grouped")
LEAST = sizes.SMALLEST_GROUPED_UNITS[BACKEND]["few"]

on_a_cpu = pytest.mark.skipif(bool(_backend.accelerator()), reason="an accelerator takes the static path")

# With more than 64 symbols (SLOTS) the grouped path of TensorFlow treats the rarer ones apart. Kernel gradients come
# in blocks of 32 rows (BLOCK). The path of blocks has 16 (ROWS_OF_BLOCK), the grouped one of JAX rounds of 8 blocks
# (BLOCKS) of 8 rows (ROWS).
# `test_the_sizes_here_straddle_those_of_the_code` holds these cases to that.
CASES = {
    "small": {},
    "another seed": {"seed": 1},
    "batch of one": {"batch": 1, "time": 6},
    "one step": {"time": 1},
    "one step of one sequence": {"batch": 1, "time": 1},
    "one unit": {"units": 1},
    "no sequence": {"batch": 0},
    "an alphabet of one": {"vocabulary_size": 1},
    "one symbol throughout": {"read": (2,)},
    "the last symbol throughout": {"read": (4,)},
    "absent symbols": {"vocabulary_size": 9, "read": (1, 6)},
    "many rows a symbol": {"batch": 11, "time": 13, "vocabulary_size": 3, "units": 5},
    "exactly one block of rows": {"batch": 4, "time": 8, "vocabulary_size": 3, "units": 5, "read": (1,)},
    "blocks of two rounds": {"batch": 100, "time": 3, "vocabulary_size": 3, "units": 5, "read": (1,)},
    "blocks of several symbols": {"batch": 100, "time": 4, "vocabulary_size": 3, "units": 5},
    "as many symbols as slots": {"batch": 11, "time": 8, "vocabulary_size": 64, "units": 25},
    "one symbol more than slots": {"batch": 11, "time": 8, "vocabulary_size": 65, "units": 25},
    "more symbols than slots": {"batch": 9, "time": 11, "vocabulary_size": 70, "units": 25},
    "most symbols absent": {"batch": 9, "time": 11, "vocabulary_size": 200, "units": 24},
    "few of many symbols": {"batch": 6, "time": 11, "vocabulary_size": 130, "units": 24, "read": (3, 77, 128, 129)},
}
MASKED_CASES = ("small", "many rows a symbol", "more symbols than slots")
HARDEST = ("blocks of several symbols", "more symbols than slots")


def stepwise(kernel, bias, start, symbols: np.ndarray, mask: np.ndarray | None):
    """The recurrence as it is written, one step after the other: (batch, time, n)."""
    state, states = start, []
    for t in range(symbols.shape[1]):
        moved = equations.step(ops, kernel, bias, state, symbols[:, t])
        state = moved if mask is None else ops.where(mask[:, t, None], moved, state)
        states.append(state)
    return ops.stack(states, axis=1)


def check_values_and_gradients(path: str, some: Sample, dtype: str) -> None:
    """Raises unless the path agrees with both witnesses, in its states and in the gradients of all three inputs."""
    arrays = [array.astype(dtype) for array in (some.kernel, some.bias, some.start)]
    cotangent = ops.convert_to_tensor(some.cotangent.astype(dtype))
    symbols = ops.convert_to_tensor(some.symbols)
    mask = None if some.mask is None else ops.convert_to_tensor(some.mask)

    def whole(kernel, bias, start):
        return ops.sum(cotangent * affine.switched_affine_states(path, kernel, bias, start, symbols, mask))

    def stepped(kernel, bias, start):
        return ops.sum(cotangent * stepwise(kernel, bias, start, some.symbols, some.mask))

    tensors = [ops.convert_to_tensor(array) for array in arrays]
    states = affine.switched_affine_states(path, *tensors, symbols, mask)
    assert_close(states, some.states(some.start), dtype)
    assert_close(states, ops.convert_to_numpy(stepwise(*tensors, some.symbols, some.mask)), dtype)

    dW, db, dstart = oracle.loss_gradients(some.W, some.bias, some.start, some.symbols, some.cotangent, some.mask)
    by_hand = (np.swapaxes(dW, 1, 2), db, dstart)
    found, expected = autodiff.gradients(whole, arrays), autodiff.gradients(stepped, arrays)
    for gradient, one_witness, other_witness in zip(found, expected, by_hand, strict=True):
        assert_close(gradient, one_witness, dtype)
        assert_close(gradient, other_witness, dtype)


@pytest.mark.core
@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=() if name in HARDEST else pytest.mark.matrix) for name in CASES]
)
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.matrix)])
@pytest.mark.parametrize("path", PATHS)
def test_states_and_gradients_equal_those_of_the_stepwise_recurrence(path: str, dtype: str, case: str) -> None:
    check_values_and_gradients(path, sample(**CASES[case]), dtype)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("case", MASKED_CASES)
@pytest.mark.parametrize("path", PATHS)
def test_a_mask_keeps_the_state_and_stops_the_gradient(path: str, case: str, mask: str) -> None:
    check_values_and_gradients(path, sample(**CASES[case], mask=mask), "float64")


@pytest.mark.parametrize("case", sorted(set(CASES) - set(MASKED_CASES)))
@pytest.mark.parametrize("path", PATHS)
def test_a_scattered_mask_over_every_kind_of_text(path: str, case: str) -> None:
    check_values_and_gradients(path, sample(**CASES[case], mask="scattered"), "float64")


@pytest.mark.parametrize("path", PATHS)
def test_a_mask_of_true_changes_nothing(path: str) -> None:
    some = sample()
    tensors = [ops.convert_to_tensor(array) for array in (some.kernel, some.bias, some.start, some.symbols)]
    everything = ops.convert_to_tensor(np.ones_like(some.symbols, bool))
    expected = affine.switched_affine_states(path, *tensors)
    assert_close(affine.switched_affine_states(path, *tensors, everything), expected, "float64")


@pytest.mark.skipif(BACKEND != "jax", reason="JAX refuses no ids, and says NaN instead")
@pytest.mark.parametrize("path", PATHS[:3])
def test_an_id_out_of_range_harms_its_own_sequence_alone(path: str) -> None:
    some = sample(batch=20)
    wrong = some.symbols.copy()
    wrong[3, 2], wrong[8, 4] = some.vocabulary_size, -1
    tensors = [ops.convert_to_tensor(array) for array in (some.kernel, some.bias, some.start)]
    found = ops.convert_to_numpy(affine.switched_affine_states(path, *tensors, ops.convert_to_tensor(wrong)))
    assert np.isnan(found[3, 2:]).all()
    wrong[8, 4] = some.vocabulary_size - 1
    expected = some._replace(symbols=np.where(wrong == some.vocabulary_size, 0, wrong)).states(some.start)
    others = np.arange(20) != 3
    assert_close(found[others], expected[others], "float64")
    assert_close(found[3, :2], expected[3, :2], "float64")


@pytest.mark.parametrize("mask", [None, "scattered"])
@pytest.mark.parametrize("path", PATHS)
def test_the_gradient_can_be_differentiated(path: str, mask: str | None) -> None:
    some = sample(mask=mask)
    symbols, held = ops.convert_to_tensor(some.symbols), None if mask is None else ops.convert_to_tensor(some.mask)

    def whole(kernel, bias, start):
        return ops.sum(affine.switched_affine_states(path, kernel, bias, start, symbols, held) ** 3)

    def stepped(kernel, bias, start):
        return ops.sum(stepwise(kernel, bias, start, some.symbols, some.mask) ** 3)

    arrays = (some.kernel, some.bias, some.start)
    found, expected = (autodiff.gradients_of_gradients(way, arrays) for way in (whole, stepped))
    for gradient, witness in zip(found, expected, strict=True):
        assert_close(gradient, witness, "float64")


@pytest.mark.parametrize("dropped", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["MinimalRNN", "CFN", "FactoredISAN"])
def test_the_gradient_of_a_layer_by_its_inputs_can_be_differentiated(kind: str, dropped: float) -> None:
    rng = np.random.default_rng(0)
    inputs, start = rng.normal(size=(3, 5, 4)), rng.normal(size=(3, 6))
    mask = ops.convert_to_tensor(rng.random((3, 5)) >= dropped)
    sizes = {"factors": 2} if kind == "FactoredISAN" else {}
    whole, stepped = (
        getattr(layers, kind)(6, **sizes, fused=fused, return_sequences=True, dtype="float64")
        for fused in (True, False)
    )
    for layer in (whole, stepped):
        layer.build(inputs.shape)
        layer.set_weights([np.random.default_rng(1).normal(size=weight.shape) / 2 for weight in layer.weights])

    def of(layer):
        return lambda x, h: ops.sum(layer(x, initial_state=h, mask=mask) ** 3)

    found, expected = (autodiff.gradients_of_gradients(of(layer), (inputs, start)) for layer in (whole, stepped))
    for gradient, witness in zip(found, expected, strict=True):
        assert_close(gradient, witness, "float64", "jax, tanh" if BACKEND == "jax" else None)


def test_the_sizes_here_straddle_those_of_the_code() -> None:
    cases = {name: sample(**case) for name, case in CASES.items()}
    assert np.bincount(cases["many rows a symbol"].symbols.ravel()).min() > sizes.BLOCK
    assert cases["exactly one block of rows"].symbols.size == sizes.BLOCK
    assert len(cases["blocks of two rounds"].symbols) > sizes.ROWS * (sizes.BLOCKS + 1)
    each = [np.bincount(step, minlength=3) for step in cases["blocks of several symbols"].symbols.T]
    assert np.min(each) > sizes.ROWS_OF_BLOCK
    if TENSORFLOW:
        assert cases["as many symbols as slots"].vocabulary_size == sizes.SLOTS
        assert cases["one symbol more than slots"].vocabulary_size == sizes.SLOTS + 1
        for name in ("one symbol more than slots", "more symbols than slots", "most symbols absent"):
            assert len(np.unique(cases[name].symbols)) > sizes.SLOTS
        assert len(np.unique(cases["few of many symbols"].symbols)) < sizes.SLOTS


def expected_outputs(mask: list[bool], zero_output: bool) -> list[float]:
    some = np.arange(1.0, len(mask) + 1)
    states = ops.convert_to_tensor(some[None, :, None])
    result = masks.outputs_under_mask(states, ops.convert_to_tensor(np.array([mask])), zero_output)
    return ops.convert_to_numpy(result)[0, :, 0].tolist()


def test_outputs_under_a_mask() -> None:
    """Zero before the first step that is read, and wherever masked if told so; without a mask the states."""
    assert expected_outputs([False, True, False, True], zero_output=False) == [0, 2, 3, 4]
    assert expected_outputs([False, True, False, True], zero_output=True) == [0, 2, 0, 4]
    states = ops.convert_to_tensor(sample().cotangent)
    assert masks.outputs_under_mask(states, None, zero_output=True) is states


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 7, 12, 13])
@pytest.mark.parametrize("vocabulary_size", [1, 2, 5])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_no_rows_fill_more_blocks_than_there_are(rows: int, vocabulary_size: int, size: int) -> None:
    """Some fill all of them: all counts of the symbols are tried."""
    counts = [c for c in itertools.product(range(rows + 1), repeat=vocabulary_size) if sum(c) == rows]
    most = max(sum(-(-c // size) for c in each) for each in counts)
    assert blocks.number_of_blocks(rows, vocabulary_size, size) == most


@pytest.mark.parametrize("seed", range(3))
def test_every_row_is_once_in_a_block_of_its_symbol(seed: int) -> None:
    symbols = np.random.default_rng(seed).integers(5, size=(4, 9)).astype("int32")
    found = blocks.Blocks(*map(ops.convert_to_numpy, blocks.into_blocks(ops.convert_to_tensor(symbols), 5, 2)))
    for step in range(4):
        np.testing.assert_array_equal(found.rows[step, found.places[step]], np.arange(9))
        assert sorted(found.places[step]) == sorted(np.flatnonzero(found.filled[step]))
        np.testing.assert_array_equal(found.owners[step, found.places[step] // 2], symbols[step])


@pytest.mark.parametrize("case", ["small", "one step", "many rows a symbol"])
@pytest.mark.parametrize("path", PATHS[:3])
def test_an_accelerator_takes_several_steps_a_turn(path: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And larger blocks of gradients: the numbers are the same."""
    monkeypatch.setattr(type(_backend.current()), "accelerator", lambda self: "a chip")
    check_values_and_gradients(path, sample(**CASES[case], mask="scattered"), "float64")


class TestChoiceOfPath:
    def choose(self, fused: bool | str = "auto", **arguments) -> scan.Path:
        defaults = {"units": 48, "vocabulary_size": 27, "batch": 128, "reads_ids": True, "unroll": False}
        return affine.choose_path(fused, **{**defaults, **arguments})

    @pytest.mark.parametrize("fused", ["auto", True])
    @pytest.mark.parametrize(("units", "vocabulary_size", "smallest"), [(7, 27, 8), (7, 64, 8), (95, 65, 96)])
    def test_few_units_take_the_static_path_but_on_torch(
        self, units: int, vocabulary_size: int, smallest: int, fused: bool | str
    ) -> None:
        path = self.choose(fused, units=units, vocabulary_size=vocabulary_size)
        assert path.name == ("grouped" if BACKEND == "torch" else "static")
        if TENSORFLOW:
            because = f"below {smallest} units, with {vocabulary_size} symbols, grouping costs more than it saves"
            assert path.reason == because

    @on_a_cpu
    @pytest.mark.parametrize("fused", ["auto", True])
    @pytest.mark.parametrize(("units", "vocabulary_size"), [(LEAST, 27), (LEAST, 64), (96, 65)])
    def test_many_units_take_the_grouped_path(self, units: int, vocabulary_size: int, fused: bool | str) -> None:
        path = self.choose(fused, units=units, vocabulary_size=vocabulary_size)
        if BACKEND == "jax" and vocabulary_size == 65:
            assert path.name == "static"
            assert path.reason.startswith("with 65 symbols a pass over all matrices costs more than it saves; ")
        else:
            assert path == ("grouped", f"{_backend.title()} on CPU")

    @on_a_cpu
    @pytest.mark.skipif(BACKEND != "jax", reason="elsewhere a group is as large as it happens to be")
    @pytest.mark.parametrize("is_known", [True, False])
    def test_jax_groups_large_batches_of_a_known_size(self, is_known: bool) -> None:
        if is_known:
            batch, reason = 53, "53 sequences are fewer than two for each of 27 symbols"
        else:
            from jax import export

            [batch], reason = export.symbolic_shape("b"), "the number of sequences is not known"
        name, found = self.choose(batch=batch)
        assert name == "static"
        assert found.startswith(reason)
        assert self.choose(batch=54).name == "grouped"

    def test_an_obstacle_to_grouping_is_the_reason_for_the_static_path(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_backend, "why_not_grouped", lambda *_: "a GPU is visible")
        monkeypatch.setattr(_backend, "accelerator", lambda: "")
        monkeypatch.setattr(_backend, "compiles_by_xla", lambda: False)
        assert self.choose(units=216) == ("static", "a GPU is visible")

    @pytest.mark.parametrize(("units", "expected"), [(45, "static"), (46, "blocks")])
    def test_xla_on_a_cpu_takes_blocks_if_they_save_copies(
        self, units: int, expected: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_backend, "why_not_grouped", lambda *_: "XLA")
        monkeypatch.setattr(_backend, "accelerator", lambda: "")
        monkeypatch.setattr(_backend, "compiles_by_xla", lambda: True)
        path = self.choose(units=units)
        assert path.name == expected
        assert "33 matrices a step instead of 128" in path.reason
        assert self.choose(units=units, batch=48).name == "static"

    @pytest.mark.parametrize(
        ("sizes_of", "expected", "reason"),
        [
            ({"batch": 128}, "blocks", "blocks of 16 sequences copy 33 matrices a step instead of 128"),
            ({"batch": None}, "blocks", "blocks of 16 sequences copy 41 matrices a step instead of 256"),
            ({"batch": 64}, "static", "to copy 29 matrices a step instead of 64 would save less than sorting costs"),
            (
                {"batch": 128, "units": 128},
                "static",
                "to copy 33 matrices a step instead of 128 would save less than sorting costs",
            ),
            (
                {"batch": 512, "vocabulary_size": 10_000},
                "static",
                "to copy 512 matrices a step instead of 512 would save less than sorting costs",
            ),
            ({"vocabulary_size": 4}, "dense", "all 4 products of a sequence cost less than sorting"),
        ],
    )
    def test_an_accelerator_takes_blocks_where_that_saves_copies(
        self, sizes_of: dict, expected: str, reason: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_backend, "why_not_grouped", lambda *_: "a GPU is visible")
        monkeypatch.setattr(_backend, "accelerator", lambda: "a GPU")
        monkeypatch.setattr(_backend, "spreads_batches", lambda: False)
        path = self.choose(**{"units": 216, **sizes_of})
        assert path.name == expected
        assert path.reason.endswith(f"; {reason}")

    def test_several_devices_do_not_sort_their_batch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_backend, "why_not_grouped", lambda *_: "a GPU is visible")
        monkeypatch.setattr(_backend, "accelerator", lambda: "a GPU")
        monkeypatch.setattr(_backend, "spreads_batches", lambda: True)
        name, reason = self.choose(units=216)
        assert name == "static"
        assert reason.endswith("the batch may be spread over several devices, and sorting would collect it")

    def test_fused_false_steps_whatever_else_holds(self) -> None:
        for reads_ids in (True, False):
            for unroll in (True, False):
                assert self.choose(False, reads_ids=reads_ids, unroll=unroll) == ("stepwise", "fused=False")

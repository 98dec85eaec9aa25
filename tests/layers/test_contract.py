"""The contract: the behaviour of every layer of the package, on every path.

Its subjects are in tests/layers/subjects.py. Values and gradients are the oracles' in float64. On JAX, Keras's `fit`
and `predict` do not carry the states of stateful layers (3.15): carrying is tested by calling the layer.
"""

import copy
import functools
import inspect
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import layers, losses
from tests import autodiff
from tests.layers.common import assert_same_in_a_fresh_process, next_symbols, numpy, serialized, tensor
from tests.layers.contract import ARGUMENTS, BACKEND, QUICK, Sample, Subject
from tests.layers.subjects import (
    ALL,
    MANY_SYMBOLS,
    SUBJECTS,
    TRIED,
    every_subject,
    no_variant,
    one_a_family,
    parametrized,
)
from tests.samples import MASKS

pytestmark = pytest.mark.core(6 if BACKEND == "tensorflow" else 2)  # layers of other families


TENSORFLOW = BACKEND == "tensorflow"
SMALL = {"batch": 2, "time": 4, "features": 5}
SIZES: list[dict[str, int]] = [{}, {"batch": 1}, {"time": 1}, {"units": 1, "batch": 2}, {"features": 1, "units": 3}]
POLICIES = [("mixed_bfloat16", "bfloat16"), ("mixed_float16", "float16")]

only_tensorflow = pytest.mark.skipif(not TENSORFLOW, reason="tf.function is TensorFlow's")
every_policy = pytest.mark.parametrize(("policy", "compute"), POLICIES)
with_dropout = parametrized([subject for subject in TRIED if subject.drops])
every_loop = parametrized([subject for subject in TRIED if subject.loops])
with_many_symbols = parametrized([*(subject for subject in TRIED if not subject.variant), MANY_SYMBOLS])


def single(x: Any) -> np.ndarray:
    return numpy(ops.cast(x, "float32"))


def rounded(x: np.ndarray) -> np.ndarray:
    return x.astype("float32").astype("float64")


def begun(some: Sample) -> Sample:
    """A sample whose first step is read: before it, Keras's loop on JAX (3.15) outputs the initial state."""
    if some.mask is not None:
        some.mask[:, 0] = True
    return some


def single_inputs(some: Sample) -> np.ndarray:
    """Sequences for a bare cell of another precision."""
    return some.as_columns().astype(some.subject.dtype.replace("64", "32"))


def small(subject: Subject, mask: str | None = None, **sizes: int) -> Sample:
    """So small that complex steps by every number take little."""
    units = {"units": 3} if subject.units == 4 else {}
    return subject.sample(mask=mask, **{**SMALL, **units, **sizes})


def windows(some: Sample, *ends: int) -> Iterator[tuple[Sample, np.ndarray, list[np.ndarray]]]:
    """The sample in windows, each with its outputs and last states: it starts where the one before ended."""
    starts = None
    for window in itertools.starmap(slice, itertools.pairwise((0, *ends))):
        mask = None if some.mask is None else some.mask[:, window]
        part = some._replace(inputs=some.inputs[:, window], mask=mask, starts=starts or some.starts)
        outputs = part.outputs(given=starts is not None)
        starts = part.last_states(given=starts is not None)
        yield part, outputs, starts


def masks_of(subject: Subject) -> tuple[str | None, ...]:
    return (None, *MASKS) if subject.thorough else (None, "scattered", "leading")


class TestValues:
    @every_subject
    @pytest.mark.parametrize("zero_output_for_mask", [False, True])
    @pytest.mark.parametrize("go_backwards", [False, True])
    def test_outputs_and_last_states_equal_the_oracles(
        self, subject: Subject, go_backwards: bool, zero_output_for_mask: bool
    ) -> None:
        """Both the default initial state and given ones."""
        flags = {"go_backwards": go_backwards, "zero_output_for_mask": zero_output_for_mask}
        every = subject.sample().layer(return_sequences=True, return_state=True, **flags)
        last = subject.sample().layer(**flags)
        for mask in masks_of(subject):
            some = subject.sample(mask=mask)
            for given in (False, True) if mask in (None, "leading") else (False,):
                start = some.starts if given else None
                outputs, *states = every(some.inputs, mask=some.mask, initial_state=start)
                expected, about = some.outputs(given, **flags), (mask, given)
                subject.assert_close(outputs, expected, about=about)
                subject.assert_all_close(states, some.last_states(given, go_backwards), about=about)
                if mask in (None, "trailing", "scattered") and not given:
                    alone = last(some.inputs, mask=some.mask, initial_state=start)
                    subject.assert_close(alone, expected[:, -1], about=about)
        if subject.path:
            assert every.chosen_path.name == subject.path

    @no_variant
    @pytest.mark.parametrize(("go_backwards", "zero_output_for_mask"), [(False, False), (False, True), (True, False)])
    def test_unrolled_steps_give_the_same(
        self, subject: Subject, go_backwards: bool, zero_output_for_mask: bool
    ) -> None:
        flags = {"go_backwards": go_backwards, "zero_output_for_mask": zero_output_for_mask}
        layer = subject.sample(time=4).layer(unroll=True, return_sequences=True, return_state=True, **flags)
        for mask in masks_of(subject):
            some = subject.sample(time=4, mask=mask)
            given = mask in ("leading", "scattered")
            outputs, *states = layer(some.inputs, mask=some.mask, initial_state=some.starts if given else None)
            subject.assert_close(outputs, some.outputs(given, **flags), about=mask)
            subject.assert_all_close(states, some.last_states(given, go_backwards), about=mask)
        last = subject.sample().layer(unroll=True, **flags)
        subject.assert_close(last(subject.sample().inputs), subject.sample().outputs(**flags)[:, -1])

    @pytest.mark.skipif(BACKEND == "torch", reason="the steps are run as they come, unrolled or not")
    @no_variant
    @pytest.mark.parametrize("unroll", [False, True])
    def test_unrolled_steps_need_no_loop(self, subject: Subject, unroll: bool) -> None:
        some = subject.sample()
        layer = some.layer(unroll=unroll)
        if BACKEND == "jax":
            import jax

            text = str(jax.make_jaxpr(layer)(some.inputs))
            loops = "scan" in text or "while" in text
        else:
            import tensorflow as tf

            graph = tf.function(layer).get_concrete_function(tf.constant(some.inputs)).graph
            loops = any("While" in operation.type for operation in graph.get_operations())
        assert loops is not unroll

    @pytest.mark.core  # of every layer, as nothing else in the core holds all equations to their oracles
    @parametrized(TRIED, all_in_the_core=True)
    @pytest.mark.parametrize("seed", [1, 2])
    def test_sizes_and_seeds(self, subject: Subject, seed: int) -> None:
        for size in SIZES:
            some = subject.sample(seed, **size)
            subject.assert_close(some.layer(return_sequences=True)(some.inputs), some.outputs(), about=size)

    @no_variant
    def test_initial_states_are_given_in_any_form(self, subject: Subject) -> None:
        some = subject.sample(mask="leading")
        layer = some.layer(return_sequences=True)
        forms = [some.starts, tuple(some.starts), [tensor(start) for start in some.starts]]
        if subject.states == 1:
            forms += some.starts
        for start in forms:
            subject.assert_close(layer(some.inputs, initial_state=start, mask=some.mask), some.outputs(True))
        subject.assert_close(layer(some.inputs, mask=some.mask), some.outputs())

    @no_variant
    @pytest.mark.parametrize("dtype", ["int32", "float32"])
    def test_numbers_are_taken_as_a_mask(self, subject: Subject, dtype: str) -> None:
        some = subject.sample(mask="scattered")
        subject.assert_close(some.layer()(some.inputs, mask=some.mask.astype(dtype)), some.outputs()[:, -1])

    @no_variant
    @pytest.mark.parametrize("return_state", [False, True])
    @pytest.mark.parametrize("return_sequences", [False, True])
    def test_shapes_are_known_without_values(
        self, subject: Subject, return_sequences: bool, return_state: bool
    ) -> None:
        flags = {"return_sequences": return_sequences, "return_state": return_state}
        layer, n = subject.layer(dtype="mixed_bfloat16", **flags), subject.units
        result = layer(subject.input(dtype=None if subject.integers else "float32"))
        outputs, *states = result if return_state else [result]
        assert outputs.shape == ((None, None, n) if return_sequences else (None, n))
        assert {x.dtype for x in (outputs, *states)} == {"bfloat16"}
        assert [state.shape for state in states] == [(None, subject.width)] * (subject.states * return_state)

    @no_variant
    def test_a_model_takes_sequences_mask_and_initial_states_as_inputs(self, subject: Subject) -> None:
        some = subject.sample(mask="scattered")
        some = some._replace(starts=[rounded(start) for start in some.starts])  # as `predict` rounds
        mask, inputs = keras.Input((None,), dtype="bool"), subject.input()
        starts = [keras.Input((subject.width,), dtype="float64") for _ in some.starts]
        layer = some.layer(return_sequences=True)
        model = keras.Model([inputs, mask, *starts], layer(inputs, mask=mask, initial_state=starts))
        result = model.predict([some.inputs, some.mask, *some.starts], verbose=0)
        subject.assert_close(result, some.outputs(True))


def spoiled(some: Sample) -> Sample:
    """A sample with NaN and infinity, or ids that do not exist, at the masked steps."""
    inputs, masked = some.inputs.copy(), ~some.mask
    inputs[masked] = -7 if some.subject.integers else np.nan
    if not some.subject.integers:
        inputs[masked, 0] = np.inf
    return some._replace(inputs=inputs)


class TestMaskedSteps:
    """What stands at masked steps reaches nothing: a product with 0 would be NaN for NaN and infinity."""

    @every_subject
    @pytest.mark.parametrize("flags", [{}, {"go_backwards": True}, {"unroll": True}, {"fused": False}], ids=str)
    def test_outputs_states_and_gradients_are_those_of_read_steps(
        self, subject: Subject, flags: dict[str, bool]
    ) -> None:
        for mask in ("leading", "scattered", "trailing"):
            some = subject.sample(mask=mask, time=5)
            bad = spoiled(some)
            layer = some.layer(return_sequences=True, **flags)
            for given in (False, True):
                starts = some.starts if given else None
                clean, found = (layer(x.inputs, mask=some.mask, initial_state=starts) for x in (some, bad))
                subject.assert_close(found, numpy(clean), about=(mask, given))
                clean, found = (x.gradients_of(layer, layer.cell, given) for x in (some, bad))
                subject.assert_all_close(found, clean, about=(mask, given))

    @one_a_family
    def test_a_mask_is_a_list_or_an_array(self, subject: Subject) -> None:
        some = subject.sample(mask="scattered")
        layer = some.layer(return_sequences=True)
        for mask in (some.mask.tolist(), some.mask):
            subject.assert_close(layer(tensor(some.inputs), mask=mask), some.outputs())

    @no_variant
    def test_last_outputs_and_states(self, subject: Subject) -> None:
        some = subject.sample(mask="scattered")
        layer = some.layer(return_state=True)
        clean, found = (layer(x.inputs, mask=some.mask) for x in (some, spoiled(some)))
        subject.assert_all_close(found, map(numpy, clean))

    @no_variant
    def test_two_directions(self, subject: Subject) -> None:
        some = subject.sample(mask="scattered")
        layer = keras.layers.Bidirectional(some.layer(return_sequences=True), dtype="float64")
        clean, found = (layer(tensor(x.inputs), mask=tensor(some.mask)) for x in (some, spoiled(some)))
        assert np.array_equal(numpy(found), numpy(clean))

    @parametrized(
        [subject for subject in TRIED if not subject.integers and not (BACKEND == "jax" and subject.state_size)]
    )
    def test_keras_loops_over_the_cell(self, subject: Subject) -> None:
        """The values alone: gradients of Keras's loop are NaN there for its own cells too (3.15)."""
        some = begun(subject.sample(mask="inner"))
        stepwise = keras.layers.RNN(some.cell(), return_sequences=True, dtype="float64")
        clean, found = (stepwise(tensor(x.inputs), mask=tensor(some.mask)) for x in (some, spoiled(some)))
        subject.assert_close(found, numpy(clean))


class TestGradients:
    """Against the oracle's complex steps, and against Keras's loop over the same cell, which the backend derives."""

    @staticmethod
    def check(some: Sample, **flags: bool) -> None:
        reads = {name: value for name, value in flags.items() if name != "unroll"}
        layer = some.layer(return_sequences=True, **flags)
        for given in (False, True):
            found, expected = some.gradients_of(layer, layer.cell, given), some.gradients(given, **reads)
            some.subject.assert_all_close(found, expected, about=given)

    @every_subject
    @pytest.mark.parametrize("go_backwards", [False, True])
    def test_gradients_by_weights_inputs_and_initial_states(self, subject: Subject, go_backwards: bool) -> None:
        if subject.settings:  # whose oracles take long
            masks = ("scattered", "leading") if go_backwards else (None, "trailing")
        else:
            masks = (None, *MASKS) if subject.representative else (None, "scattered", "leading", "whole rows")
        for mask in masks:
            self.check(small(subject, mask), go_backwards=go_backwards)

    @every_subject
    @pytest.mark.parametrize("flags", [{"unroll": True}, {"zero_output_for_mask": True}], ids=str)
    def test_gradients_of_unrolled_steps_and_zeroed_outputs(self, subject: Subject, flags: dict[str, bool]) -> None:
        self.check(small(subject, "scattered"), **flags)

    @parametrized([subject for subject in TRIED if not subject.settings])
    def test_gradients_of_several_sizes(self, subject: Subject) -> None:
        for size in SIZES[1:]:
            self.check(small(subject, seed=3, **size))

    @every_loop
    @pytest.mark.parametrize("mask", [None, "inner", "trailing"])
    def test_keras_loops_over_the_cell(self, subject: Subject, mask: str | None) -> None:
        """A bare cell in `keras.layers.RNN` gives the layer's values, states and gradients."""
        if BACKEND == "jax" and mask and subject.state_size:
            pytest.skip("under a mask Keras's loop on JAX (3.15) takes no output of another size than the state's")
        some = begun(subject.sample(mask=mask))
        cell, layer = some.cell(), some.layer(return_sequences=True)
        stepwise = keras.layers.RNN(cell, return_sequences=True, return_state=True, dtype="float64")
        regularizes_all = getattr(layer, "regularize_last_step", True)
        columns = some.as_columns()
        outputs, *states = stepwise(columns, mask=some.mask)
        if not regularizes_all:  # a bare cell does not know which step is the last
            subject.assert_close(outputs[:, 0], some.outputs()[:, 0])
            return
        subject.assert_close(outputs, some.outputs())
        subject.assert_all_close(states, some.last_states())

        def run(inputs: Any, **call: Any) -> Any:
            return stepwise(ops.reshape(inputs, columns.shape), **call)[0]

        for given in (False, True) if mask != "trailing" else ():
            theirs, ours = some.gradients_of(run, cell, given), some.gradients_of(layer, layer.cell, given)
            subject.assert_all_close(ours, theirs)

    @every_subject
    def test_gradients_of_the_last_output_alone(self, subject: Subject) -> None:
        some = small(subject)
        some.cotangent[:, :-1] = 0
        layer, last = some.layer(), tensor(some.cotangent[:, -1])
        found = autodiff.variable_gradients(lambda: ops.sum(last * layer(some.inputs)), some.variables(layer.cell))
        subject.assert_all_close(found, some.gradients())


class TestCell:
    @every_subject
    def test_one_step(self, subject: Subject) -> None:
        some = subject.sample(time=2)
        cell, step = some.cell(), (some.as_columns() if subject.loops else some.inputs)[:, 0]
        # A state-regularized cell regularizes every step, the last of a sequence too.
        for given, start in ((False, cell.get_initial_state(batch_size=3)), (True, [tensor(s) for s in some.starts])):
            expected = [states[:, 0] for states in some.states(given)]
            output, states = cell(step, start)
            subject.assert_close(output, some.read_out(given)[:, 0])
            subject.assert_all_close(states, expected)
        if subject.states == 1:
            output, state = cell(step, tensor(some.starts[0]))
            subject.assert_close(output, some.read_out(True)[:, 0])
            subject.assert_close(state, expected[0])

    @every_loop
    def test_a_cell_in_a_stack_of_cells(self, subject: Subject) -> None:
        some = subject.sample()
        stacked = keras.layers.StackedRNNCells([some.cell(), keras.layers.GRUCell(6, dtype="float64")], dtype="float64")
        both = keras.layers.RNN(stacked, return_sequences=True, dtype="float64")
        below = keras.layers.RNN(some.cell(), return_sequences=True, dtype="float64")
        above = keras.layers.GRU(6, return_sequences=True, dtype="float64")
        inputs = tensor(some.as_columns())
        expected = above(below(inputs))
        both.build(inputs.shape)
        some.give(both.cell.cells[0])
        for variable, weight in zip(both.cell.cells[1].weights, above.weights, strict=True):
            variable.assign(weight)
        subject.assert_close(both(inputs), expected)

    @every_loop
    @every_policy
    def test_a_cell_of_mixed_precision_in_the_loop_of_keras(self, subject: Subject, policy: str, compute: str) -> None:
        some = subject.sample(time=4)
        cell = some.cell(dtype=policy)
        outputs = keras.layers.RNN(cell, return_sequences=True, dtype=policy)(single_inputs(some))
        assert keras.backend.standardize_dtype(outputs.dtype) == compute
        assert {weight.dtype for weight in cell.weights} == {"float32"}
        if subject.smooth and getattr(some.layer(), "regularize_last_step", True):
            right = some.outputs()
            scale = max(1, np.abs(right).max()) if subject.exact else 1
            np.testing.assert_allclose(single(outputs), right, atol=(0.05 if subject.exact else 0.1) * scale)


@keras.saving.register_keras_serializable(package="tests")
class Hides(keras.layers.Layer):
    """Passes on x of [x, mask], with the mask for the next layer."""

    def call(self, inputs: Any) -> Any:
        return inputs[0]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return inputs[1]


class TestWrappers:
    @every_subject
    @pytest.mark.parametrize("return_sequences", [False, True])
    def test_bidirectional(self, subject: Subject, return_sequences: bool) -> None:
        there, back = subject.sample(), subject.sample(1)
        layer = keras.layers.Bidirectional(there.layer(return_sequences=return_sequences), dtype="float64")
        layer.build(there.inputs.shape)
        there.give(layer.forward_layer.cell)
        back.give(layer.backward_layer.cell)
        for mask in (None, "leading", "scattered", "whole rows"):
            there = subject.sample(mask=mask)
            back = back._replace(inputs=there.inputs, mask=there.mask)
            # Bidirectional sets zero_output_for_mask where it returns sequences.
            first = there.outputs(zero_output_for_mask=return_sequences)
            second = back.outputs(go_backwards=True, zero_output_for_mask=return_sequences)
            if return_sequences:
                expected = np.concatenate([first, second[:, ::-1]], axis=-1)
            else:
                expected = np.concatenate([first[:, -1], second[:, -1]], axis=-1)
            subject.assert_close(layer(there.inputs, mask=there.mask), expected, about=mask)
        if subject.path:
            assert layer.backward_layer.chosen_path.name == subject.path

    @every_subject
    @pytest.mark.parametrize("keras_version", ["this Keras", "Keras 3.16"])
    def test_a_mask_goes_through_to_the_next_layer(
        self, subject: Subject, keras_version: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Keras 3.16 has `supports_masking = False` in `RNN.__init__`, where Keras up to 3.15 has True."""
        plain = keras.layers.RNN.__init__

        def without_masks(self: Any, *args: Any, **kwargs: Any) -> None:
            plain(self, *args, **kwargs)
            self.supports_masking = False

        if keras_version != "this Keras":
            monkeypatch.setattr(keras.layers.RNN, "__init__", without_masks)
        below = begun(subject.sample(mask="scattered"))
        above = SUBJECTS["CFN"].sample(1, features=subject.units, units=6)
        above = above._replace(inputs=below.outputs(), mask=below.mask)
        first, second = (some.layer(return_sequences=True) for some in (below, above))
        inputs, mask = subject.input(3, 7), keras.Input((7,), batch_size=3, dtype="bool")
        hidden = first(Hides(dtype=subject.dtype)([inputs, mask]))
        outputs = second(hidden)
        SUBJECTS["CFN"].assert_close(keras.Model([inputs, mask], outputs)([below.inputs, below.mask]), above.outputs())
        assert first.compute_mask(inputs, mask) is not None
        assert subject.layer().compute_mask(inputs, mask) is None, "one output has no steps to hide"


class TestStateful:
    @every_subject
    @pytest.mark.parametrize("mask", [None, "inner"])
    def test_two_windows_are_one_sequence(self, subject: Subject, mask: str | None) -> None:
        some = subject.sample(mask=mask)
        if some.mask is not None:
            some.mask[:, [0, 2, 3]] = True  # each window is a sequence of its own, whose outputs begin with zeros
        layer = some.layer(stateful=True, return_sequences=True)
        found = []
        for part, expected, ends in windows(some, 3, 7):
            found.append(numpy(layer(part.inputs, mask=part.mask)))
            subject.assert_close(found[-1], expected)
            subject.assert_all_close((state.value for state in layer.states), ends)
        if getattr(layer, "regularize_last_step", True):  # else each window has a last step
            subject.assert_close(np.concatenate(found, axis=1), some.outputs())
        if subject.path:
            assert layer.chosen_path.name == subject.path

    @no_variant
    def test_reset_returns_to_the_initial_state(self, subject: Subject) -> None:
        some = subject.sample()
        layer = some.layer(stateful=True, return_sequences=True)
        assert layer.at_start
        layer(some.inputs)
        assert not layer.at_start
        assert not np.allclose(numpy(layer(some.inputs)), some.outputs(), atol=1e-3)
        layer.reset_state()
        assert layer.at_start
        subject.assert_close(layer(some.inputs), some.outputs())

    @no_variant
    def test_a_learned_initial_state_is_read_as_it_is_at_the_first_batch(self, subject: Subject) -> None:
        some = subject.sample()
        [*learned] = (name for name in some.weights if name.endswith("initial_state"))
        layer = subject.layer(stateful=True, return_sequences=True)
        layer.reset_state()  # before it is built there is nothing to reset
        layer.build(some.inputs.shape)
        some.give(layer.cell)  # after what `build` made of them
        subject.assert_close(layer(some.inputs), some.outputs())
        layer.reset_state()
        other = some.with_(**{name: np.arange(1.0, 1.0 + subject.units) for name in learned})
        other.give(layer.cell)
        subject.assert_close(layer(some.inputs), other.outputs())

    @no_variant
    def test_a_learned_initial_state_learns_from_the_first_batch_after_a_reset_alone(self, subject: Subject) -> None:
        some = small(subject)
        layer = some.layer(stateful=True, return_sequences=True)

        def gradients() -> list[np.ndarray]:
            found = some.gradients_of(lambda x, **_: layer(x), layer.cell)
            layer(some.inputs)  # on JAX the state does not leave the gradient's scope
            return [x for name, x in zip(some.weights, found, strict=True) if name.endswith("initial_state")]

        named = zip(some.weights, some.gradients(), strict=True)
        expected = [x for name, x in named if name.endswith("initial_state")]
        subject.assert_all_close(gradients(), expected)
        subject.assert_all_close(gradients(), [np.zeros_like(right) for right in expected])
        layer.reset_state()
        subject.assert_all_close(gradients(), expected)

    @no_variant
    def test_the_states_are_set_from_outside(self, subject: Subject) -> None:
        some = subject.sample()
        layer = some.layer(stateful=True, return_sequences=True)
        layer.set_states(some.starts)
        assert not layer.at_start
        subject.assert_close(layer(some.inputs), some.outputs(True))
        layer.reset_state()
        layer.set_states([tensor(start) for start in some.starts])
        subject.assert_close(layer(some.inputs), some.outputs(True))

    @no_variant
    def test_a_state_given_is_read_once_and_then_carried(self, subject: Subject) -> None:
        some = subject.sample()
        layer = some.layer(stateful=True, return_sequences=True)
        first = some._replace(inputs=some.inputs[:, :3])
        subject.assert_close(layer(first.inputs, initial_state=some.starts), first.outputs(True))
        second = some._replace(inputs=some.inputs[:, 3:], starts=first.last_states(True))
        subject.assert_close(layer(second.inputs), second.outputs(True))

    @no_variant
    @pytest.mark.parametrize("batch", [1, 3])
    def test_predict_carries_the_state(self, subject: Subject, batch: int) -> None:
        some = subject.sample(batch=batch, time=8)
        layer = some.layer(stateful=True, return_sequences=True)
        inputs = subject.input(batch)
        model = keras.Model(inputs, layer(inputs))
        layer.reset_state()
        for part, expected, _ in windows(some, 3, 4, 8):
            subject.assert_close(model.predict(part.inputs, verbose=0), expected)

    @no_variant
    def test_fit_and_evaluate_carry_the_state(self, subject: Subject) -> None:
        """On JAX too, where layers of Keras begin every batch at the initial state."""
        some = subject.sample(time=8)
        layer = some.layer(stateful=True, return_sequences=True)
        inputs = subject.input(len(some.inputs))
        model = keras.Model(inputs, layer(inputs))
        model.compile(keras.optimizers.SGD(0.0), "mse")
        layer.reset_state()
        data = np.concatenate(np.split(some.inputs, 2, axis=1)), np.zeros((2 * len(some.inputs), 4, subject.units))
        model.fit(*data, batch_size=len(some.inputs), shuffle=False, verbose=0)
        model.evaluate(*data, batch_size=len(some.inputs), verbose=0)
        twice = some._replace(inputs=np.concatenate([some.inputs] * 2, axis=1))
        *_, (_, _, ends) = windows(twice, 4, 8, 12, 16)
        subject.assert_all_close((state.value for state in layer.states), ends)


class TestWeights:
    @every_subject
    @pytest.mark.parametrize("stateful", [False, True])
    def test_weights_have_their_documented_names_shapes_and_order(self, subject: Subject, stateful: bool) -> None:
        """And no state is among them."""
        some = subject.sample()
        layer = some.layer(stateful=stateful)
        layer(some.inputs)
        documented = {
            id(variable): name for name, variable in zip(some.weights, some.variables(layer.cell), strict=True)
        }
        found = [documented.pop(id(weight)) for weight in layer.weights if id(weight) in documented]
        assert found == list(some.weights)
        assert not documented
        for name, variable in zip(some.weights, some.variables(layer.cell), strict=True):
            assert variable.name == name.split(".")[-1]
            assert tuple(variable.shape) == some.weights[name].shape
        assert len(layer.weights) == len(some.weights) + subject.settings
        assert layer.count_params() == sum(array.size for array in some.weights.values()) + subject.settings
        assert [weight.name for weight in layer.trainable_weights] == [name.split(".")[-1] for name in some.weights]

    @no_variant
    def test_a_frozen_layer_has_no_trainable_weights(self, subject: Subject) -> None:
        layer = subject.sample().layer()
        trained = len(layer.trainable_weights)
        layer.trainable = False
        assert layer.trainable_weights == []
        layer.trainable = True
        assert len(layer.trainable_weights) == trained > 0

    @no_variant
    def test_the_global_seed_repeats_weights(self, subject: Subject) -> None:
        drawn = []
        for seed in (1, 1, 2):
            keras.utils.set_random_seed(seed)
            layer = subject.layer()
            layer.build(subject.sample().inputs.shape)
            drawn.append(
                dict(zip(subject.sample().weights, map(numpy, subject.sample().variables(layer.cell)), strict=True))
            )
        for name, first in drawn[0].items():
            np.testing.assert_array_equal(first, drawn[1][name])
            if first.ndim > 1 and np.ptp(first) > 0:
                assert np.abs(first - drawn[2][name]).max() > 1e-3, name

    @every_subject
    @pytest.mark.parametrize("part", ["regularizer", "constraint", "initializer"])
    def test_each_weight_has_regularizer_constraint_and_initializer(self, subject: Subject, part: str) -> None:
        if not subject.options:
            pytest.skip("the cell's")
        some = subject.sample()
        named: dict[str, list[str]] = {}
        for name in some.weights:
            last = name.split(".")[-1]
            if name.split(".")[0] != "encoder":
                named.setdefault(ARGUMENTS.get(last, last), []).append(name)
        if part == "constraint":
            self.assert_constrained(some, {f"{argument}_constraint": "non_neg" for argument in named})
            return
        for argument, names in named.items():
            if part == "regularizer":
                layer = some.layer(**{f"{argument}_regularizer": keras.regularizers.L2(0.1)})
                expected = 0.1 * sum(np.sum(some.weights[name] ** 2) for name in names)
                assert float(numpy(sum(layer.losses))) == pytest.approx(expected, rel=1e-5), argument
                continue
            layer = subject.layer(**{f"{argument}_initializer": lambda shape, dtype=None: ops.full(shape, 0.25, dtype)})
            layer.build(some.inputs.shape)
            for name, variable in zip(some.weights, some.variables(layer.cell), strict=True):
                if name in names:
                    share = np.isclose(numpy(variable), 0.25).mean()
                    assert share >= (0.3 if argument == "bias" else 1), "a gate's bias may have a start of its own"

    @staticmethod
    def assert_constrained(some: Sample, constraints: dict[str, str]) -> None:
        some = some.with_(**{name: -np.abs(weight) for name, weight in some.weights.items()})
        layer = some.layer(dtype="float32", **constraints)
        model = keras.Sequential([keras.Input(some.inputs.shape[1:], dtype=some.subject.dtype), layer])
        model.compile(keras.optimizers.SGD(1e-3), "mse", jit_compile=QUICK)
        model.fit(some.inputs, np.zeros((3, some.subject.units)), batch_size=3, verbose=0)
        for name, variable in zip(some.weights, some.variables(layer.cell), strict=True):
            if "encoder" not in name:
                assert numpy(variable).min() >= 0, name


@with_dropout
class TestDropout:
    @pytest.mark.parametrize("rate", ["dropout", "recurrent_dropout"])
    def test_draws_in_training_alone_by_its_seed(self, subject: Subject, rate: str) -> None:
        some = subject.sample()
        arguments = {"return_sequences": True, rate: 0.4}
        layer, same, other = (some.layer(**arguments, seed=seed) for seed in (3, 3, 4))
        for each in (layer, same):
            subject.assert_close(each(some.inputs), some.outputs())
            subject.assert_close(each(some.inputs, training=False), some.outputs())
        drawn = [numpy(layer(some.inputs, training=True)) for _ in range(2)]
        if subject.smooth:
            assert np.abs(drawn[0] - some.outputs()).max() > 1e-3
            assert np.abs(drawn[0] - drawn[1]).max() > 1e-3, "another draw for the next batch"
            assert np.abs(drawn[0] - numpy(other(some.inputs, training=True))).max() > 1e-3
        for states in drawn:
            np.testing.assert_array_equal(states, numpy(same(some.inputs, training=True)))

    def test_dropout_of_rate_zero_changes_nothing(self, subject: Subject) -> None:
        if "gumbel" in subject.name:
            pytest.skip("it draws in training")
        some = subject.sample()
        subject.assert_close(some.layer(return_sequences=True)(some.inputs, training=True), some.outputs())

    def test_fit_draws_at_every_batch(self, subject: Subject) -> None:
        if not subject.representative:
            pytest.skip("one of each family")
        some = subject.sample(batch=8)
        model = keras.Sequential([keras.Input(some.inputs.shape[1:]), some.layer(dtype="float32", dropout=0.4, seed=1)])
        model.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=QUICK)
        history = model.fit(some.inputs, np.zeros((8, 4)), batch_size=8, epochs=4, verbose=0).history["loss"]
        assert len(set(history)) > 1


class TestPrecision:
    @every_subject
    @every_policy
    def test_mixed_precision_puts_out_the_compute_dtype(self, subject: Subject, policy: str, compute: str) -> None:
        some = subject.sample(time=40 if subject.exact else 7)
        if subject.exact and not subject.integers:
            some = some._replace(inputs=np.round(some.inputs * 16) / 16)  # which the compute dtype holds
        flags = {"return_sequences": True, "return_state": True, "stateful": True}
        mixed, plain = (some.layer(dtype=dtype, **flags) for dtype in (policy, "float32"))
        assert {weight.dtype for weight in mixed.weights} == {"float32"}
        for found, expected in zip(mixed(some.inputs), plain(some.inputs), strict=True):
            assert keras.backend.standardize_dtype(found.dtype) == compute
            if subject.exact:  # outputs are rounded, and nothing else
                np.testing.assert_array_equal(single(found), single(ops.cast(expected, compute)))
            elif subject.smooth:
                np.testing.assert_allclose(single(found), numpy(expected), atol=0.1)
        for state in mixed.states:
            assert state.dtype == "float32"

    @every_subject
    @every_policy
    def test_states_are_carried_unrounded(self, subject: Subject, policy: str, compute: str) -> None:
        """Two windows end where the whole sequence does."""
        some = subject.sample()
        whole, layer = (some.layer(stateful=True, dtype=policy) for _ in range(2))
        if not getattr(layer, "regularize_last_step", True):
            pytest.skip("each window has a last step")
        whole(some.inputs)
        for window in (slice(0, 3), slice(3, 7)):
            layer(some.inputs[:, window])
        for found, expected in zip(layer.states, whole.states, strict=True):
            subject.assert_close(found.value, numpy(expected.value), "float32")

    @no_variant
    def test_the_global_policy_counts(self, subject: Subject, global_policy: Callable[[str], None]) -> None:
        global_policy("mixed_bfloat16")
        layer = subject.layer(dtype=None)
        outputs = layer(subject.sample().inputs)
        assert keras.backend.standardize_dtype(outputs.dtype) == "bfloat16"
        assert {weight.dtype for weight in layer.weights} == {"float32"}

    @every_subject
    def test_gradients_of_mixed_precision_are_near_and_single(self, subject: Subject) -> None:
        some = small(subject)
        layer = some.layer(return_sequences=True, dtype="mixed_bfloat16")
        cotangent = tensor(some.cotangent.astype("float32"))
        found = autodiff.variable_gradients(
            lambda: ops.sum(cotangent * ops.cast(layer(some.inputs), "float32")), some.variables(layer.cell)
        )
        # As the outputs round, so does what comes back through them.
        rounded = single(ops.cast(tensor(some.cotangent.astype("float32")), "bfloat16")).astype("float64")
        expected = some.gradients(cotangent=rounded)
        largest = max(np.abs(right).max() for right in expected)
        for gradient, right in zip(found, expected, strict=True):
            assert gradient.dtype == "float32"
            if subject.exact and subject.integers:
                subject.assert_close(gradient, right, "float32")
            elif subject.smooth:
                bound = 0.1 * max(1, np.abs(right).max()) if subject.settings else 0.03 * np.abs(right).max()
                if subject.state_size:  # what decays do is small, and the readout rounds what is large
                    bound = 0.03 * largest
                np.testing.assert_allclose(gradient, right, atol=bound)

    @no_variant
    def test_mixed_precision_predicts_one_sequence(self, subject: Subject) -> None:
        some = subject.sample(batch=1, time=5)
        layer = some.layer(dtype="mixed_float16", return_sequences=True)
        model = keras.Sequential([subject.input(dtype=None if subject.integers else "float32"), layer])
        inputs = some.inputs.astype(subject.dtype.replace("64", "32"))
        found, expected = numpy(model.predict(inputs, verbose=0)), numpy(model(inputs))
        assert found.dtype == "float16"
        if subject.smooth:
            np.testing.assert_allclose(found, expected, rtol=0, atol=4e-3 * np.abs(expected).max())


def fitted(subject: Subject, jit_compile: bool | str = QUICK, **arguments: Any) -> list[float]:
    """Losses, epoch by epoch, of a model of next symbols."""
    x, y = next_symbols(26)
    dtype = arguments.get("dtype", "float32")
    read = {
        "ids": lambda ids: ids,
        "columns": keras.layers.Reshape((-1, 1), dtype="int32"),
        "distributions": keras.layers.CategoryEncoding(5, output_mode="one_hot"),
    }.get(subject.reads, keras.layers.Embedding(5, 5, dtype=dtype))
    layer = subject.make(9, 5, return_sequences=True, **{**arguments, "dtype": dtype})
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, keras.layers.Dense(5, dtype=dtype)(layer(read(ids))))
    model.compile(keras.optimizers.Adam(0.03), losses.BitsPerSymbol(), jit_compile=jit_compile)
    return model.fit(x, y, epochs=8, batch_size=4, verbose=0).history["loss"]


RATES = {"dropout": 0.1, "recurrent_dropout": 0.1}
LEARNING: list[tuple[Subject, dict[str, Any], float]] = [
    *((subject, {}, 0.8) for subject in ALL if subject.representative),
    *((SUBJECTS["ISAN, grouped"], {"dtype": policy}, 0.9) for policy, _ in POLICIES),
    *((SUBJECTS[name], {"dtype": policy}, 0.9) for policy, _ in POLICIES for name in ("MinimalRNN", "CFN")),
]
if TENSORFLOW:  # JAX compiles by XLA anyway, torch has none
    LEARNING += [
        (SUBJECTS[name], {"jit_compile": True, **rates}, 0.8) for rates in ({}, RATES) for name in ("MinimalRNN", "CFN")
    ]
"""Subjects, arguments of `fitted`, and the share of the first loss below which the last one lies."""


class TestTraining:
    @pytest.mark.matrix
    @pytest.mark.parametrize(
        ("subject", "arguments", "share"), [pytest.param(*case, id=f"{case[0].name} {case[1]}") for case in LEARNING]
    )
    def test_fit_learns(self, subject: Subject, arguments: dict[str, Any], share: float) -> None:
        history = fitted(subject, **arguments)
        assert history[-1] < share * history[0]

    @no_variant
    def test_fit_moves_every_trained_weight_and_no_other(self, subject: Subject) -> None:
        some = subject.sample(batch=4, time=3)
        # Unrolled steps are derived by the backend.
        layer = some.layer(dtype="float32", unroll=subject.representative)
        model = keras.Sequential([keras.Input(some.inputs.shape[1:], dtype=subject.dtype), layer])
        before = [numpy(weight).copy() for weight in layer.weights]
        model.compile(keras.optimizers.SGD(0.02), "mse", jit_compile=QUICK)
        history = model.fit(some.inputs, np.tanh(some.cotangent[:, 0]), batch_size=4, epochs=3, verbose=0).history[
            "loss"
        ]
        trained = {id(weight) for weight in layer.trainable_weights}
        for weight, old in zip(layer.weights, before, strict=True):
            assert (np.abs(numpy(weight) - old).max() > 1e-7) == (id(weight) in trained), weight.path
        assert history[-1] < history[0]


# What a compiled model knows of batch and time, and whether it takes a mask.
every_model = pytest.mark.parametrize(
    ("shape", "masked"),
    [((None, None), True), ((None, 1), False), ((1, None), False), ((1, None), True), ((1, 1), False)],
    ids=str,
)


def fitting(shape: tuple[int | None, int | None]) -> list[tuple[int, int]]:
    """The sizes that a model of this shape takes."""
    sizes = [(1, 5), (3, 5), (1, 1), (3, 1)]
    return [size for size in sizes if all(k in (None, s) for k, s in zip(shape, size, strict=True))]


def model_of(subject: Subject, shape: tuple[int | None, int | None], masked: bool) -> keras.Model:
    """A model of sequences, with or without a mask; `shape` is its static batch and time."""
    inputs, mask = subject.input(*shape), keras.Input((shape[1],), batch_size=shape[0], dtype="bool")
    layer = subject.layer(return_sequences=True)
    model = keras.Model(*(([inputs, mask], layer(inputs, mask=mask)) if masked else (inputs, layer(inputs))))
    subject.sample().give(layer.cell)
    return model


def rows(some: Sample, part: slice = slice(None)) -> Any:
    """The batch as `model_of` takes it."""
    return some.inputs[part] if some.mask is None else [some.inputs[part], some.mask[part]]


class TestBatchAndTime:
    """Batches of one, sequences of one step, and sizes that a compiled model does not know.

    Outside a compiled model a size is always known. There, TensorFlow infers shapes of its own accord, and a size of
    one is the one number that it may lose.
    """

    @only_tensorflow
    @with_many_symbols
    @every_model
    def test_values_and_gradients_in_a_function_equal_the_eager_ones(
        self, subject: Subject, shape: tuple[int | None, int | None], masked: bool
    ) -> None:
        import tensorflow as tf

        layer = subject.sample().layer(return_sequences=True)
        weights = [weight.value for weight in layer.trainable_weights]

        def values_and_gradients(sequences: Any, mask: Any, cotangent: Any) -> list:
            with tf.GradientTape() as tape:
                outputs = layer(sequences, mask=mask if masked else None)
                loss = tf.reduce_sum(outputs * cotangent)
            found = tape.gradient(loss, weights, unconnected_gradients="zero")
            return [outputs, *(tf.convert_to_tensor(gradient) for gradient in found)]

        signature = [
            tf.TensorSpec((*shape, *subject.step_shape), subject.dtype),
            tf.TensorSpec(shape, "bool"),
            tf.TensorSpec((*shape, subject.units), "float64"),
        ]
        compiled = tf.function(values_and_gradients, input_signature=signature)
        for batch, time in fitting(shape):
            some = subject.sample(batch=batch, time=time, mask="scattered")
            given = (some.inputs, some.mask, some.cotangent)
            subject.assert_all_close(compiled(*given), values_and_gradients(*given))
            if subject.features < 20:
                subject.assert_close(compiled(*given)[0], (some if masked else some._replace(mask=None)).outputs())
        if subject.path:
            assert layer.chosen_path.name == subject.path

    @with_many_symbols
    @pytest.mark.parametrize(("shape", "masked"), [((None, None), False), ((1, None), True)], ids=str)
    def test_predictions_are_the_oracles(
        self, subject: Subject, shape: tuple[int | None, int | None], masked: bool
    ) -> None:
        model = model_of(subject, shape, masked)
        for batch, time in fitting(shape):
            some = subject.sample(batch=batch, time=time, mask="scattered" if masked else None)
            expected = some.outputs()
            subject.assert_close(model.predict_on_batch(rows(some)), expected)
            subject.assert_close(model.predict(rows(some), verbose=0, batch_size=2), expected)  # 3 are 2 and 1

    @pytest.mark.matrix
    @pytest.mark.skipif(not TENSORFLOW, reason="elsewhere Keras computes parts of a float64 step in float32")
    @with_many_symbols
    def test_fit_takes_the_eager_steps(self, subject: Subject) -> None:
        model = model_of(subject, (None, None), True)
        some = subject.sample(time=5, mask="scattered")
        targets = np.round(some.cotangent * 64) / 64
        expected = keras.models.clone_model(model)
        expected.set_weights(model.get_weights())

        def loss(part: slice) -> Any:
            errors = ops.mean((expected(rows(some, part), training=True) - targets[part]) ** 2, axis=-1)
            # The mask goes on with the outputs. A sum over the steps that it shows, as Keras 3.12 adds 1e-7 to their
            # number when it averages.
            return ops.sum(errors * some.mask[part])

        for part in (slice(0, 1), slice(1, 2), slice(2, 3), slice(0, 1)):
            found = autodiff.variable_gradients(functools.partial(loss, part), expected.trainable_variables)
            for variable, gradient in zip(expected.trainable_variables, found, strict=True):
                variable.assign(numpy(variable) - gradient / 32)
        squares = keras.losses.MeanSquaredError(reduction="sum", dtype="float64")
        model.compile(keras.optimizers.SGD(1 / 32), squares, jit_compile=QUICK)
        model.fit(rows(some), targets, batch_size=1, shuffle=False, verbose=0)
        model.train_on_batch(rows(some, slice(0, 1)), targets[:1])
        subject.assert_all_close(*(map(numpy, one.trainable_variables) for one in (model, expected)))

    @pytest.mark.matrix
    @only_tensorflow
    @one_a_family
    def test_compiled_by_xla(self, subject: Subject) -> None:
        import tensorflow as tf

        some = small(subject, "scattered")
        layer = some.layer(return_sequences=True)
        weights = [variable.value for variable in some.variables(layer.cell)]

        @tf.function(jit_compile=True)
        def compiled(inputs: Any, mask: Any) -> tuple:
            with tf.GradientTape() as tape:
                outputs = layer(inputs, mask=mask)
                loss = tf.reduce_sum(outputs * some.cotangent)
            return outputs, [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, weights)]

        outputs, found = compiled(tf.constant(some.inputs), tf.constant(some.mask))
        subject.assert_close(outputs, some.outputs())
        subject.assert_all_close(found, some.gradients())


NON_DEFAULT: dict[str, Any] = {
    **{"units": 4, "vocabulary_size": 5, "factors": 7, "shared": False, "learn_initial_state": False, "fused": False},
    **{"activation": "softsign", "recurrent_activation": "hard_sigmoid", "use_bias": False, "unit_forget_bias": False},
    **{"reset_after": False, "unit_update_bias": False, "dropout": 0.1, "recurrent_dropout": 0.2, "seed": 7},
    **{"num_centroids": 6, "temperature": 0.5, "transition": "gumbel", "strength": 0.9, "learn_temperature": True},
    **{"straight_through": True, "sample_at_inference": True, "noise": 0.8, "learn_centroids": False},
    **{"regularize_last_step": False, "return_sequences": True, "return_state": True, "go_backwards": True},
    **{"positive": True, "state_dim": 3, "min_radius": 0.1, "max_radius": 0.9, "max_phase": 3.0},
    **{"min_decay": 0.5, "max_decay": 0.9, "num_heads": 2, "key_dim": 6, "value_dim": 7, "decay_rank": None},
    **{"output_gate": False, "normalize": False, "gated": True, "block_size": 2},
    **{"rate": 0.3, "unknown_id": 2, "padding_id": 3},
    **{"stateful": True, "unroll": True, "zero_output_for_mask": True},
    **{"name": "some_layer", "trainable": False, "dtype": "mixed_bfloat16"},
    "encoder": keras.layers.Dense(4, use_bias=False, name="some_encoder"),
}
for number, part in enumerate(
    [
        *("recurrent", "bias", "initial_state", "shared", "factor", "switch", "kernel", "peephole", "centroids"),
        *("output", "skip", "decay", "phase", "gain", "input", "gate", "scale", "rate"),
    ],
    start=1,
):
    NON_DEFAULT[f"{part}_initializer"] = keras.initializers.RandomNormal(stddev=0.2, seed=number)
    NON_DEFAULT[f"{part}_regularizer"] = keras.regularizers.L2(number / 8)
    NON_DEFAULT[f"{part}_constraint"] = keras.constraints.MaxNorm(number)
# The cell of a class of `layers`, whose arguments it takes besides those in its own signature.
CELLS = {
    "FactoredISAN": layers.FactoredISANCell,
    "PeepholeLSTM": layers.PeepholeLSTMCell,
    "PeepholeLSTMCell": keras.layers.LSTMCell,
    "SRSimpleRNN": keras.layers.SimpleRNNCell,
    "SRGRU": keras.layers.GRUCell,
    "SRLSTM": keras.layers.LSTMCell,
    "SRPeepholeLSTM": layers.PeepholeLSTMCell,
}
every_class = pytest.mark.parametrize("kind", [getattr(layers, name) for name in layers.__all__])


def arguments_of(kind: type) -> dict[str, Any]:
    """Every argument of the class, its own and its cell's, another than the default."""
    names = set(inspect.signature(kind).parameters) - {"kwargs", "cell"}
    found = {name: NON_DEFAULT[name] for name in (*names, "name", "trainable", "dtype")}
    if kind is layers.StateRegularizedCell:
        found["cell"] = keras.layers.GRUCell(4, reset_after=False)
    if kind is layers.StateRegularizedRNN:
        inner = layers.MinimalRNNCell(4, encoder=keras.layers.Embedding(5, 4))
        found["cell"] = layers.StateRegularizedCell(inner, 3, strength=0.5)
    elif issubclass(kind, layers.StateRegularizedRNN):
        found |= {name: value for name, value in arguments_of(layers.StateRegularizedCell).items() if name != "cell"}
    if kind.__name__ in CELLS:
        found |= arguments_of(CELLS[kind.__name__])
    return found


def plain(kind: type) -> keras.layers.Layer:
    """A layer with default arguments."""
    if kind is layers.StateRegularizedCell:
        return kind(keras.layers.GRUCell(5), 2)
    if kind is layers.StateRegularizedRNN:
        return kind(plain(layers.StateRegularizedCell))
    needs = [p for p in inspect.signature(kind).parameters.values() if p.default is p.empty and p.kind != 4]
    if kind.__name__.startswith("FactoredISAN"):
        return kind(5, 2)
    if kind is layers.WordDropout:
        return kind(0.5)
    return kind(*[8, 2][: len(needs)])


class TestConfiguration:
    @pytest.mark.core
    @every_class
    def test_every_argument_survives(self, kind: type) -> None:
        arguments = arguments_of(kind)
        config = json.loads(json.dumps(kind(**arguments).get_config()))
        again = kind.from_config(copy.deepcopy(config))
        assert json.loads(json.dumps(again.get_config())) == config
        default = plain(kind).get_config()
        for name, value in arguments.items():
            if name != "dtype":
                assert config[name] == serialized(name, value), name
            assert config[name] != default[name], f"{name} has its default in {config}"

    @every_class
    def test_registered_so_that_keras_finds_it(self, kind: type) -> None:
        again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(plain(kind)))
        assert type(again) is kind
        assert keras.saving.get_registered_name(kind) == f"keras_interp_rnn>{kind.__name__}"

    @no_variant
    def test_a_deep_copy_computes_the_same_and_is_another(self, subject: Subject) -> None:
        some = subject.sample()
        layer = some.layer(return_sequences=True)
        copied = copy.deepcopy(layer)
        for variable in some.variables(layer.cell):
            variable.assign(np.zeros(variable.shape))
        subject.assert_close(copied(some.inputs), some.outputs())


class TestSaving:
    @with_many_symbols
    def test_a_saved_model_predicts_any_batch_and_time(self, subject: Subject, tmp_path: Path) -> None:
        model_of(subject, (None, None), True).save(tmp_path / "model.keras")
        loaded = keras.models.load_model(tmp_path / "model.keras")
        for batch, time in fitting((None, None)):
            some = subject.sample(batch=batch, time=time, mask="scattered")
            subject.assert_close(loaded.predict(rows(some), verbose=0), some.outputs())

    @pytest.mark.matrix
    def test_a_trained_model_loads_in_a_fresh_process(self, tmp_path: Path) -> None:
        """All layers, and a cell of each kind in the loop of Keras."""
        x, y = next_symbols(26)
        ids = keras.Input((None,), dtype="int32")
        read = {
            "ids": ids,
            "columns": keras.layers.Reshape((-1, 1), dtype="int32")(ids),
            "distributions": keras.layers.CategoryEncoding(5, output_mode="one_hot")(ids),
            "features": keras.layers.Embedding(5, 5)(ids),
        }
        flags = {"return_sequences": True, "dtype": "float32"}
        hidden = [subject.layer(**flags)(read[subject.reads]) for subject in TRIED if not subject.variant]
        cells = [layers.ISANCell(4, 5), layers.FactoredISANCell(4, 2), layers.MinimalRNNCell(4), layers.CFNCell(6)]
        cells += [layers.PeepholeLSTMCell(3), layers.StateRegularizedCell(keras.layers.GRUCell(4), 3)]
        stacked = keras.layers.RNN(keras.layers.StackedRNNCells(cells), return_sequences=True)
        hidden.append(keras.layers.Bidirectional(stacked)(read["distributions"]))
        model = keras.Model(ids, keras.layers.Dense(5)(keras.layers.Concatenate()(hidden)))
        model.compile(keras.optimizers.Adam(0.01), losses.BitsPerSymbol(), jit_compile=QUICK)
        model.fit(x, y, epochs=1, verbose=0)
        assert_same_in_a_fresh_process(model, x, tmp_path)

    @pytest.mark.matrix
    @only_tensorflow
    @parametrized(
        [*(one for one in ALL if one.representative and "SR" not in one.name), SUBJECTS["ISAN"], MANY_SYMBOLS]
    )
    def test_an_exported_model_computes_the_same_on_any_batch(self, subject: Subject, tmp_path: Path) -> None:
        import tensorflow as tf

        model = model_of(subject, (None, None), False)
        model.export(tmp_path / "saved_model", verbose=False)
        served = tf.saved_model.load(str(tmp_path / "saved_model"))
        for batch, time in ((3, 7), (5, 2), (1, 7), (5, 1), (3, 7)):
            some = subject.sample(batch=batch, time=time)
            subject.assert_close(served.serve(tf.constant(some.inputs)), some.outputs())

    # Keras warns about every layer without matrices that it can quantize; Keras 3.16 in other words.
    @pytest.mark.matrix
    @pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize:UserWarning")
    @pytest.mark.filterwarnings("ignore:.*were skipped because they do not support quantization:UserWarning")
    @parametrized([subject for subject in TRIED if not (subject.variant or subject.path == "stepwise")])
    def test_a_quantized_model_saved_and_loaded_gives_the_same_numbers(self, subject: Subject, tmp_path: Path) -> None:
        """Keras quantizes Dense and Embedding, here the readout and encoders; our own matrices stay as they are."""
        some = subject.sample()
        inputs = some.inputs.astype(subject.dtype.replace("64", "32"))
        layer = subject.layer(dtype="float32")
        readout = keras.layers.Dense(2)
        model = keras.Sequential([keras.Input((None, *subject.step_shape), dtype=inputs.dtype.name), layer, readout])
        some.give(layer.cell)
        precise = numpy(model(inputs))
        model.quantize("int8")
        quantized = numpy(model(inputs))
        error = np.abs(quantized - precise).max()
        assert 0 < error < 0.1 * max(1, np.abs(precise).max()) or not subject.smooth
        model.save(tmp_path / "model.keras")
        loaded = keras.models.load_model(tmp_path / "model.keras")
        np.testing.assert_array_equal(numpy(loaded(inputs)), quantized)
        clone = keras.models.clone_model(model)
        clone.set_weights(model.get_weights())
        np.testing.assert_array_equal(numpy(clone(inputs)), quantized)

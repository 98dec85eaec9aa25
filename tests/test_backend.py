"""The contract of the seam, on whichever backend runs."""

import gc
import sys
import weakref

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import _backend
from keras_interp_rnn._backend.base import Backend, StaticBackend

BACKEND = keras.backend.backend()


def test_one_backend_is_imported_and_it_is_final():
    backend = _backend.current()
    assert isinstance(backend, Backend)
    assert backend is _backend.current()
    assert type(backend).__name__ == _backend.CLASSES[_backend.name()]
    assert type(backend).__final__
    loaded = {name.rsplit(".", 1)[-1] for name in sys.modules if name.startswith("keras_interp_rnn._backend.")}
    assert loaded & set(_backend.CLASSES) == {BACKEND}


@pytest.mark.parametrize("kind", [Backend, StaticBackend])
def test_the_base_classes_are_abstract(kind):
    with pytest.raises(TypeError, match="abstract"):
        kind()


def test_rejects_an_unknown_backend(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "numpy")
    _backend.current.cache_clear()
    try:
        with pytest.raises(
            RuntimeError, match="must be tensorflow, jax or torch. Received: 'numpy'. Set KERAS_BACKEND"
        ):
            _backend.accelerator()
    finally:
        _backend.current.cache_clear()


def test_values_are_known_of_arrays_and_eager_tensors_alone():
    x = np.arange(3)
    assert _backend.static_values(x) is x
    assert _backend.static_values(keras.Input((3,))) is None
    if not _backend.accelerator():
        np.testing.assert_array_equal(_backend.static_values(ops.convert_to_tensor(x)), x)


@pytest.mark.filterwarnings("ignore:`torch.jit.trace")  # of torch since 2.13; models are still traced by it
def test_values_are_not_known_where_a_function_is_traced():
    seen = []

    def traced(x):
        seen.append(_backend.static_values(x))
        return x

    if BACKEND == "tensorflow":
        import tensorflow as tf

        tf.function(traced)(tf.ones(3))
    elif BACKEND == "jax":
        import jax

        jax.jit(traced)(jax.numpy.ones(3))
    else:
        import torch

        torch.jit.trace(traced, torch.ones(3), check_trace=False)
    assert seen
    assert all(values is None for values in seen)


def test_a_traced_size_is_told_from_a_number():
    """As an exported function of any batch size has it; 3 and its look-alikes are none."""
    if BACKEND == "tensorflow":
        import tensorflow as tf

        seen = []
        tf.function(lambda x: seen.append(tf.shape(x)[0]), input_signature=[tf.TensorSpec([None])])(tf.ones(3))
    elif BACKEND == "jax":
        from jax import export

        seen = [export.symbolic_shape("batch, 3")[0]]
    else:
        import torch

        seen = []

        class Sizes(torch.nn.Module):
            def forward(self, x):
                seen.append(_backend.is_traced_size(x.shape[0]))
                return x

        torch.export.export(Sizes(), (torch.ones(3),), dynamic_shapes=({0: torch.export.Dim("batch")},), strict=False)
        assert all(seen)
        seen = [torch.tensor(3)]  # torch.jit.trace
    assert seen
    assert all(map(_backend.is_traced_size, seen))
    assert not any(map(_backend.is_traced_size, [3, 3.0, "batch", None, ops.ones(()), np.zeros(2, int)]))


def test_layouts():
    assert _backend.layout(ops.ones((2, 3))) == "dense"
    assert _backend.layout(keras.Input((3,))) == "dense"
    assert _backend.layout(keras.KerasTensor((2, 3), sparse=True)) == "sparse"


def test_a_gradient_is_that_of_a_known_function():
    x = np.array([1.0, -2.0, 3.0], "float32")
    found = _backend.gradient(lambda x: ops.sum(x * x * x), x)
    np.testing.assert_allclose(found, 3 * x**2, rtol=1e-6)
    assert isinstance(found, np.ndarray)


def test_the_gradient_of_what_does_not_depend_on_x_is_zero():
    one = ops.ones(())
    if BACKEND == "torch":
        one.requires_grad_()
    np.testing.assert_array_equal(_backend.gradient(lambda x: one * 2, np.ones(3, "float32")), np.zeros(3))


def test_batches_are_grouped_on_cpus_alone():
    found = _backend.why_not_grouped(batch=128, vocabulary_size=27)
    assert found is None if not _backend.accelerator() else "starve" in found or "stall" in found


def test_a_function_with_its_own_gradient_has_that_one():
    @_backend.custom_gradient
    def tripled(x):
        return x * 2, lambda *args, upstream=None: ((args[-1] if upstream is None else upstream) * 3,)

    np.testing.assert_array_equal(_backend.gradient(lambda x: ops.sum(tripled(x)), np.ones(3, "float32")), [3, 3, 3])


@pytest.mark.skipif(BACKEND != "torch", reason="other backends keep no output with what made it")
def test_a_function_with_its_own_gradient_lets_go_of_its_output():
    """Without waiting for Python to collect circles: the adjoint holds the output, which holds what holds it."""
    import torch

    x = torch.ones(3, requires_grad=True)

    @_backend.custom_gradient
    def squared(x):
        output = x * x
        held.append(weakref.ref(output))
        return output, lambda upstream: (upstream * output / x * 2,)

    held = []
    gc.disable()
    try:
        squared(x).sum().backward()
        assert held[0]() is None
    finally:
        gc.enable()
    np.testing.assert_array_equal(x.grad, [2, 2, 2])


def test_ids_in_range_pass():
    ids = ops.convert_to_tensor(np.array([0, 2, 1], "int32"))
    np.testing.assert_array_equal(ops.convert_to_numpy(_backend.assert_ids_in_range(ids, 3)), [0, 2, 1])
    symbolic = keras.Input((3,), dtype="int32")
    assert _backend.assert_ids_in_range(symbolic, 3) is symbolic


def test_known_sizes_stay_as_they_are():
    sequences, states = ops.ones((2, 5, 3)), [ops.ones((2, 4))]
    found, mask, held = _backend.of_one_batch(sequences, None, states)
    assert (found is sequences, mask, held) == (True, None, states)


def test_a_copy_of_a_variable_is_assigned():
    variable = keras.Variable(np.zeros(3, "float32"))
    [copy] = _backend.copies(variable)
    copy.assign(np.arange(3, dtype="float32"))
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(variable), np.arange(3))

"""The equations of the factorised switch, in float64 NumPy and in keras.ops, against loops written from the paper."""

import keras
import numpy as np
import pytest

from keras_interp_rnn.equations import factored_isan as equations
from tests.oracles import factored_isan as oracle
from tests.tolerances import assert_close

NAMESPACES = pytest.mark.parametrize(("xp", "backend"), [(np, "numpy"), (keras.ops, None)], ids=["numpy", "keras.ops"])
SEEDS = pytest.mark.parametrize("seed", [0, 1, 2])
SHARED = pytest.mark.parametrize("shared", [False, True])
BATCH, FEATURES, UNITS, FACTORS = 3, 5, 4, 2


def network(seed: int, shared: bool = True, factors: int = FACTORS) -> oracle.Network:
    rng = np.random.default_rng(seed)
    shapes = [(UNITS, UNITS), (UNITS, factors), (factors, UNITS), (factors, FEATURES), (UNITS, FEATURES), (UNITS,)]
    W_0, *others = (rng.normal(size=shape) / np.sqrt(shape[-1]) for shape in shapes)
    return oracle.Network(W_0 if shared else None, *others, h0=rng.normal(size=UNITS))


def tensors(xp, *arrays: np.ndarray | None) -> list:
    """Tensors with states as rows: the transposed arrays."""
    return [None if a is None else a.T.copy() if xp is np else keras.ops.convert_to_tensor(a.T) for a in arrays]


@NAMESPACES
@SEEDS
@SHARED
@pytest.mark.parametrize("factors", [1, FACTORS, UNITS, UNITS + 3])
def test_the_state_moves_by_the_matrix_of_its_input(
    xp, backend: str | None, seed: int, shared: bool, factors: int
) -> None:
    some = network(seed, shared, factors)
    rng = np.random.default_rng(seed + 9)
    x, state = rng.normal(size=(BATCH, FEATURES)), rng.normal(size=(BATCH, UNITS))
    W_0, V, U = tensors(xp, some.W_0, some.V, some.U)
    [gains] = tensors(xp, some.P @ x.T)
    joint = equations.joint_kernel(xp, W_0, V)
    assert tuple(joint.shape) == (UNITS, factors + UNITS * shared)
    moved, entered = equations.apply_kernel(xp, joint, U, *tensors(xp, state.T), gains)
    matrices = equations.kernels(xp, W_0, V, U, gains)
    for row in range(BATCH):
        W, _ = oracle.affine_map(some, x[row])
        assert_close(matrices[row], W.T, "float64", backend)
        assert_close(moved[row], W @ state[row], "float64", backend)
        assert_close(entered[row], some.V @ state[row], "float64", backend)


@SEEDS
@SHARED
def test_the_transposed_matrix_has_the_same_form(seed: int, shared: bool) -> None:
    some = network(seed, shared)
    gains = np.random.default_rng(seed).normal(size=(BATCH, FACTORS))
    W_0, V, U = tensors(np, some.W_0, some.V, some.U)
    matrices = equations.kernels(np, W_0, V, U, gains)
    transposed = equations.kernels(np, some.W_0, some.U, some.V, gains)
    assert_close(transposed, np.swapaxes(matrices, 1, 2), "float64", "numpy")


@NAMESPACES
def test_matrices_of_any_leading_axes(xp, backend: str | None) -> None:
    some = network(1)
    gains = np.random.default_rng(1).normal(size=(3, 2, FACTORS))
    W_0, V, U = tensors(xp, some.W_0, some.V, some.U)
    given = gains if xp is np else keras.ops.convert_to_tensor(gains)
    found = equations.kernels(xp, W_0, V, U, given)
    assert tuple(found.shape) == (3, 2, UNITS, UNITS)
    expected = (some.W_0 + some.U @ np.diag(gains[2, 1]) @ some.V).T
    assert_close(found[2, 1], expected, "float64", backend)

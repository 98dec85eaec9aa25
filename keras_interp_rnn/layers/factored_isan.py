"""Affine networks switched by few factors: `FactoredISANCell` and `FactoredISAN`.

What ISAN has for every symbol, a matrix of its own, is here one low-rank correction of a shared matrix, whose factors
the input scales. So inputs may be real-valued, and vocabularies large.

Reference: Foerster, Gilmer, Sohl-Dickstein, Chorowski, Sussillo, "Input Switched Affine Networks: An RNN Architecture
Designed for Interpretability", ICML 2017, arXiv:1611.09434, section 5.2; the factorisation is that of Sutskever,
Martens and Hinton, "Generating Text with Recurrent Neural Networks", ICML 2011.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import constraints, initializers, ops, regularizers
from numpy.typing import ArrayLike, NDArray

from keras_interp_rnn import _backend, _recurrence
from keras_interp_rnn.equations import factored_isan as equations
from keras_interp_rnn.layers._symbols import is_integer, symbols_or_distribution
from keras_interp_rnn.layers._whole_sequence import WholeSequenceRNN, independent, positive_int

Tensor = Any

PARTS = ("shared", "factor", "switch", "kernel", "bias", "initial_state")
"""What has an initializer, a regularizer and a constraint: W_0, U and V, P, B, c or the biases of symbols, h_0."""


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class FactoredISANCell(keras.layers.Layer):
    r"""One step of an affine network whose matrix the input switches by few factors.

    $$h_t = h_{t-1} W(x_t) + b(x_t), \qquad W(x) = W_0 + U \operatorname{diag}(g(x)) V, \qquad
      g(x) = x P, \qquad b(x) = x B + c.$$

    There is no nonlinearity: $g$ and $b$ are linear in the input, the step is affine in the state. With a vocabulary,
    $g$ and $b$ are rows of tables, one for each symbol, and given a distribution over the symbols the cell applies the
    expected map. States are rows.

    Args:
        units: int > 0, state size $n$.
        factors: int > 0, number of factors $f$: the rank of what distinguishes one input's matrix from another's.
        vocabulary_size: int > 0, alphabet size $K$, if inputs are symbols; None if they are real-valued.
        shared: whether there is $W_0$. Without it $W(x)$ has rank $f$ at most, and $W(-x) = -W(x)$ for real-valued
            inputs.
        learn_initial_state: whether $h_0$ is trained; if False it stays as initialised.
        shared_initializer: for $W_0$; default `Orthogonal(gain=0.9)`, as for the matrices of an ISAN.
        factor_initializer: for $U$ and $V$, drawn independently.
        switch_initializer: for $P$. By default, with orthogonal $U$ and $V$, the gains $g$ of a symbol, or of an input
            whose features have mean square 1, are normal with deviation 0.1, so that $W(x)$ starts near $W_0$; without
            $W_0$ they lie around 0.9 for symbols, and have root mean square 0.9 for real-valued inputs.
        kernel_initializer: for $B$ of real-valued inputs.
        bias_initializer: for $c$, default zeros; or for the (K, n) biases of symbols, default glorot_uniform.
        initial_state_initializer: for $h_0$.
        shared_regularizer, factor_regularizer, switch_regularizer, kernel_regularizer, bias_regularizer,
            initial_state_regularizer: as in Keras.
        shared_constraint, factor_constraint, switch_constraint, kernel_constraint, bias_constraint,
            initial_state_constraint: as in Keras.
        **kwargs: as `keras.layers.Layer`.

    Call arguments:
        inputs: (batch, features); with a vocabulary int (batch, 1), ids in [0, K), or (batch, K), one-hot or a
            distribution.
        states: [(batch, n)].

    Returns: (output, [state]), both (batch, n) and equal.
    Weights: shared_kernel (n, n), if shared; into_factors (n, f), out_of_factors (f, n); real-valued inputs:
        switch_kernel (features, f), kernel (features, n), bias (n,); symbols: switch_kernel (K, f), bias (K, n);
        initial_state (n,).
    Precision: weights and products keep the variable dtype under mixed precision, the output has the compute dtype.
    Raises: ValueError for sizes that are not positive integers, and for inputs of another shape, dtype or range. Ids
        are checked where their values are known, as in `ISANCell`.
    Example:

    >>> cell = FactoredISANCell(4, factors=2, vocabulary_size=3)
    >>> output, [state] = cell(np.array([[2], [0]]), cell.get_initial_state(batch_size=2))
    >>> tuple(output.shape)
    (2, 4)

    Reference: Foerster et al., ICML 2017, section 5.2.
    """

    def __init__(
        self,
        units: int,
        factors: int,
        vocabulary_size: int | None = None,
        shared: bool = True,
        learn_initial_state: bool = True,
        shared_initializer: Any = None,
        factor_initializer: Any = "orthogonal",
        switch_initializer: Any = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = None,
        initial_state_initializer: Any = "zeros",
        shared_regularizer: Any = None,
        factor_regularizer: Any = None,
        switch_regularizer: Any = None,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        initial_state_regularizer: Any = None,
        shared_constraint: Any = None,
        factor_constraint: Any = None,
        switch_constraint: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        initial_state_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = positive_int("units", units)
        self.factors = positive_int("factors", factors)
        self.vocabulary_size = None if vocabulary_size is None else positive_int("vocabulary_size", vocabulary_size)
        self.shared = shared
        self.learn_initial_state = learn_initial_state
        if shared_initializer is None:
            shared_initializer = initializers.Orthogonal(gain=0.9)
        if switch_initializer is None:
            switch_initializer = _default_switch(self.vocabulary_size is not None, shared)
        if bias_initializer is None:
            bias_initializer = "zeros" if self.vocabulary_size is None else "glorot_uniform"
        self.shared_initializer = initializers.get(shared_initializer)
        self.factor_initializer = initializers.get(factor_initializer)
        self.switch_initializer = initializers.get(switch_initializer)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.initial_state_initializer = initializers.get(initial_state_initializer)
        self.shared_regularizer = regularizers.get(shared_regularizer)
        self.factor_regularizer = regularizers.get(factor_regularizer)
        self.switch_regularizer = regularizers.get(switch_regularizer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.initial_state_regularizer = regularizers.get(initial_state_regularizer)
        self.shared_constraint = constraints.get(shared_constraint)
        self.factor_constraint = constraints.get(factor_constraint)
        self.switch_constraint = constraints.get(switch_constraint)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.initial_state_constraint = constraints.get(initial_state_constraint)
        self.state_size = self.units
        self.output_size = self.units

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        n, f, rows = self.units, self.factors, self.vocabulary_size or input_shape[-1]
        if rows is None:
            raise ValueError(
                f"The weights need a known number of features. Received: inputs of shape {tuple(input_shape)}. Give "
                "the model's Input its last axis."
            )
        self.shared_kernel = self._weight("shared", "shared_kernel", (n, n)) if self.shared else None
        self.into_factors = self._weight("factor", "into_factors", (n, f))
        self.out_of_factors = self._weight("factor", "out_of_factors", (f, n), draw=1)
        self.switch_kernel = self._weight("switch", "switch_kernel", (rows, f))
        symbols = self.vocabulary_size is not None
        self.kernel = None if symbols else self._weight("kernel", "kernel", (rows, n))
        self.bias = self._weight("bias", "bias", (rows, n) if symbols else (n,))
        self.initial_state = self._weight("initial_state", "initial_state", (n,), self.learn_initial_state)
        self.built = True

    def _weight(self, part: str, name: str, shape: tuple[int, ...], trainable: bool = True, draw: int = 0) -> Any:
        # autocast=False: the recurrence compounds rounding over the whole sequence, half precision has none to spare.
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=independent(getattr(self, f"{part}_initializer"), draw),
            regularizer=getattr(self, f"{part}_regularizer"),
            constraint=getattr(self, f"{part}_constraint"),
            trainable=trainable,
            autocast=False,
        )

    def call(self, inputs: Tensor, states: Any, training: bool | None = None) -> tuple[Tensor, list[Tensor]]:
        given = states[0] if isinstance(states, (list, tuple)) else states
        gains, addends = self.switch(self.checked(inputs, time_axes=0))
        if self.vocabulary_size is not None and len(gains.shape) == 3:  # ids have an axis of 1
            gains, addends = gains[:, 0], addends[:, 0]
        state = ops.cast(given, self.variable_dtype)
        moved, _ = equations.moved(ops, self.joint_kernel(), self.out_of_factors, state, gains)
        new = moved + addends
        # The state leaves in the dtype it came in: Keras's loops allow no other.
        new_state = ops.cast(new, given.dtype)
        return ops.cast(new, self.compute_dtype), [new_state] if isinstance(states, (list, tuple)) else new_state

    def checked(self, inputs: Tensor, time_axes: int = 1) -> Tensor:
        """The inputs, ids with a last axis of 1; raises ValueError on wrong ones.

        Args:
            inputs: sequences (batch, time, ...) if time_axes is 1, one step (batch, ...) if it is 0.
        """
        if self.vocabulary_size is not None:
            return symbols_or_distribution(inputs, self.vocabulary_size, time_axes, "FactoredISAN")
        inputs = inputs if hasattr(inputs, "shape") else ops.convert_to_tensor(inputs)
        self.check_shape(tuple(inputs.shape), time_axes)
        return inputs

    def check_shape(self, shape: tuple[int | None, ...], time_axes: int = 1) -> None:
        """Raises ValueError unless real-valued inputs may have this shape."""
        features = self.switch_kernel.shape[0] if self.built else None
        if self.vocabulary_size is None and (len(shape) != 2 + time_axes or features not in (None, shape[-1])):
            axes = "(batch, time, " if time_axes else "(batch, "
            raise ValueError(
                f"FactoredISAN without vocabulary_size reads real-valued inputs {axes}"
                f"{'features' if features is None else features}). Received: shape={shape}. Pass vocabulary_size if "
                "these are ids, or bring the features into the last axis."
            )

    def switch(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """What checked inputs make of the step: gains g (..., f) and addends b (..., n), in the variable dtype."""
        if self.vocabulary_size is None:
            inputs = ops.cast(inputs, self.variable_dtype)
            return equations.projections(ops, inputs, self.switch_kernel, self.kernel, self.bias)
        if is_integer(inputs):
            return _looked_up(self.switch_kernel, inputs), _looked_up(self.bias, inputs)
        return equations.projections(ops, ops.cast(inputs, self.variable_dtype), self.switch_kernel, self.bias)

    def joint_kernel(self) -> Tensor:
        """[W_0 | U] (n, n + f), or U (n, f)."""
        return equations.joint_kernel(ops, self.shared_kernel, self.into_factors)

    def kernels(self, inputs: ArrayLike | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The affine maps of inputs: matrices W(x) (..., n, n) and biases b(x) (..., n), NumPy in float64.

        They are the kernel and the bias of the `ISAN` that does the same, whose exact analysis holds for them. K
        matrices take 8 K n^2 bytes: 1.3 GB for 10,000 symbols and 128 units, so ask for those that a text reads.

        Args:
            inputs: with a vocabulary int (...), symbols, by default all K in their order; otherwise (..., features).

        Raises:
            ValueError: if there are no weights yet, if the inputs are no symbols of the vocabulary or have another
                number of features, or if real-valued inputs are not given.
        """
        if not self.built:
            raise ValueError("The layer has no weights yet. Received: a cell not built. Call the layer on inputs once.")
        shared = None if self.shared_kernel is None else _array(self.shared_kernel)
        switch_kernel, bias = _array(self.switch_kernel), _array(self.bias)
        if self.kernel is None:
            symbols = np.arange(len(switch_kernel)) if inputs is None else np.asarray(inputs)
            low, high = (symbols.min(), symbols.max()) if symbols.size else (0, 0)
            if not np.issubdtype(symbols.dtype, np.integer) or low < 0 or high >= len(switch_kernel):
                raise ValueError(
                    f"symbols must be integers in [0, {len(switch_kernel)}). Received: {symbols.dtype} from {low} to "
                    f"{high}. Map the text with the alphabet the layer was trained on."
                )
            gains, addends = switch_kernel[symbols], bias[symbols]
        else:
            x = np.asarray([] if inputs is None else inputs, np.float64)
            if x.shape[-1:] != switch_kernel.shape[:1]:
                raise ValueError(
                    f"inputs must be real-valued (..., {len(switch_kernel)}). Received: "
                    f"{None if inputs is None else x.shape}. Pass those whose maps are wanted: there is no list of all."
                )
            gains, addends = equations.projections(np, x, switch_kernel, _array(self.kernel), bias)
        matrices = equations.kernels(np, shared, _array(self.into_factors), _array(self.out_of_factors), gains)
        return matrices, addends

    def get_initial_state(self, batch_size: Any = None) -> list[Tensor]:
        """[(batch_size, n)], $h_0$ for every sequence."""
        if not self.built and self.vocabulary_size is not None:
            self.build((None, 1))
        if not self.built:
            raise ValueError(
                "The initial state is a weight, and there are none before the number of features is known. Received: "
                "a cell not built. Call cell.build((None, features)) first."
            )
        # A sum, not a broadcast: torch refuses to assign to a tensor whose rows share memory.
        return [ops.zeros((batch_size, self.units), dtype=self.variable_dtype) + self.initial_state]

    def compute_output_shape(self, input_shape: Any, states_shape: Any = None) -> Any:
        shape = (input_shape[0], self.units)
        return shape, [shape]

    def get_config(self) -> dict[str, Any]:
        config = {
            **super().get_config(),
            "units": self.units,
            "factors": self.factors,
            "vocabulary_size": self.vocabulary_size,
            "shared": self.shared,
            "learn_initial_state": self.learn_initial_state,
        }
        for kind in (initializers, regularizers, constraints):
            suffix = kind.__name__.split(".")[-1].removesuffix("s")
            for part in PARTS:
                config[f"{part}_{suffix}"] = kind.serialize(getattr(self, f"{part}_{suffix}"))
        return config


@keras.saving.register_keras_serializable(package="keras_interp_rnn")
class FactoredISAN(WholeSequenceRNN):
    r"""Affine network whose matrix the input switches by few factors: for real-valued inputs and large vocabularies.

    $$h_t = h_{t-1} W(x_t) + b(x_t), \qquad W(x) = W_0 + U \operatorname{diag}(g(x)) V, \qquad
      g(x) = x P, \qquad b(x) = x B + c,$$

    with $U$ (n, f) and $V$ (f, n). With a vocabulary $g$ and $b$ are rows of tables. Affine in the state for every
    input, so that a state is one term per step, as in `ISAN`:

    $$h_T = h_0 W(x_1)\cdots W(x_T) + \sum_s b(x_s) W(x_{s+1})\cdots W(x_T).$$

    Args:
        units: int > 0, state size $n$.
        factors: int > 0, number of factors $f$.
        vocabulary_size: int > 0, alphabet size $K$, if inputs are symbols; None if they are real-valued.
        return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask: as `keras.layers.RNN`.
            With `stateful=True` a sequence begins with $h_0$ before the first batch and after every `reset_state()`.
        **kwargs: as `FactoredISANCell`; and name, dtype, trainable, activity_regularizer of the layer.

    Call arguments:
        sequences: (batch, time, features); with a vocabulary int (batch, time), ids in [0, K), or (batch, time, K),
            one-hot or a distribution at each step.
        initial_state: (batch, n), in place of $h_0$.
        mask: bool (batch, time); False repeats the previous state. Outputs before the first True are zero, as in
            every Keras RNN.

    Returns: (batch, n), or (batch, time, n) with `return_sequences`; with `return_state` followed by the last state.
    Weights: as in `FactoredISANCell`.
    Precision: weights, states and products keep the variable dtype under mixed precision, outputs have the compute
        dtype.
    Cost: O(T n (n + f)) time, O(T (n + f)) memory a sequence; K (f + n) + 2 n f + n^2 + n weights with a vocabulary,
        where an ISAN has K n (n + 1) + n. g and b are made for the whole sequence before the loop.
    Rare symbols: the gradients of both tables are dense, zero in the rows of symbols that a batch does not read. SGD
        leaves these rows as they are. Adam moves them on by their momentum, and passes over all K (f + n) numbers, as
        it does in Keras 3.15 whatever the gradient. With K = 10,000, n = 128, f = 64, batches of 32 times 50 symbols
        and one core of an AMD EPYC (TensorFlow 2.21), a step took 10.3 ms with SGD, 15.5 ms with Adam and 10.4 ms with
        Adam under XLA where one number is predicted; where the next of the 10,000 symbols is, 278, 306 and 246 ms: the
        readout costs far more than the tables.
    Raises: ValueError, as `FactoredISANCell`; if the mask has another shape.
    Example:

    >>> model = keras.Sequential([
    ...     keras.Input((None,), dtype="int32"),
    ...     FactoredISAN(128, factors=64, vocabulary_size=10_000),
    ...     keras.layers.Dense(1),
    ... ])
    >>> model.count_params()
    1953025

    Reference: Foerster et al., ICML 2017, section 5.2.
    """

    def __init__(
        self,
        units: int,
        factors: int,
        vocabulary_size: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        own = ("name", "dtype", "trainable", "activity_regularizer")
        of_layer = {name: kwargs.pop(name) for name in own if name in kwargs}
        policy = keras.dtype_policies.get(of_layer.get("dtype") or keras.config.dtype_policy())
        cell = FactoredISANCell(
            units,
            factors,
            vocabulary_size,
            dtype=policy.variable_dtype,  # not the compute dtype: rounding would add up along the sequence
            trainable=of_layer.get("trainable", True),
            name="factored_isan_cell",
            **kwargs,
        )
        super().__init__(
            cell,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=unroll,
            zero_output_for_mask=zero_output_for_mask,
            **of_layer,
        )

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        if not self.cell.built:
            self.cell.check_shape(tuple(sequences_shape))
            self.cell.build((sequences_shape[0], *sequences_shape[2:]))
        # The loop of keras.layers.RNN wants a feature axis, which ids have not.
        super().build((*sequences_shape[:2], *(sequences_shape[2:] or (1,))), initial_state_shape)

    def checked(self, sequences: Tensor) -> Tensor:
        return self.cell.checked(sequences)

    @property
    def units(self) -> int:
        return self.cell.units

    @property
    def factors(self) -> int:
        return self.cell.factors

    @property
    def vocabulary_size(self) -> int | None:
        return self.cell.vocabulary_size

    @property
    def learn_initial_state(self) -> bool:
        return self.cell.learn_initial_state

    def kernels(self, inputs: ArrayLike | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The affine maps of inputs, by default of all symbols: as `FactoredISANCell.kernels`."""
        return self.cell.kernels(inputs)

    def inner_loop(
        self, sequences: Tensor, initial_state: Any, mask: Tensor | None, training: bool = False
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        if self.vocabulary_size is not None and is_integer(sequences):
            sequences = sequences[:, :, 0]
        if self.go_backwards:
            sequences = ops.flip(sequences, axis=1)
            mask = None if mask is None else ops.flip(mask, axis=1)
        gains, addends = self.cell.switch(ops.swapaxes(sequences, 0, 1))
        states = _affine_states(
            ops.copy(self.cell.joint_kernel()),  # copy: a tensor, as TensorFlow's custom gradients take no variables
            ops.copy(self.cell.out_of_factors),
            initial_state[0],
            gains,
            addends,
            None if mask is None else ops.transpose(mask)[:, :, None],
            self.unroll,
        )
        states = ops.swapaxes(states, 0, 1)
        outputs = _recurrence.outputs_under_mask(states, mask, self.zero_output_for_mask)
        return outputs[:, -1], outputs, [states[:, -1]]


def _looked_up(table: Any, symbols: Tensor) -> Tensor:
    """Rows of a table (K, width) of weights, int (...) -> (..., width).

    Its gradient is dense, and sums the rows of a symbol that is read several times. TensorFlow's own lists them one by
    one, and Keras's optimizers (3.15) do not sum what they square: their second moments, and the norms they clip, would
    be those of the single readings (tests/layers/test_factored_isan.py, a symbol read several times).
    """
    if _backend.name() != "tensorflow":  # dense there anyway
        return ops.take(table, symbols, axis=0)

    @ops.custom_gradient
    def run(table: Tensor) -> Any:
        def gradient(*args: Tensor, upstream: Tensor | None = None) -> Tensor:
            upstream = args[0] if upstream is None else upstream
            return ops.segment_sum(_rows(upstream), ops.reshape(symbols, (-1,)), num_segments=table.shape[0])

        return ops.take(table, symbols, axis=0), gradient

    return run(ops.copy(table))


def _affine_states(
    joint: Tensor,
    out_of_factors: Tensor,
    start: Tensor,
    gains: Tensor,
    addends: Tensor,
    read: Tensor | None,
    unroll: bool,
) -> Tensor:
    """States h_1, ..., h_T of every sequence of a batch, time-major, differentiable in all tensors but the mask.

    The adjoint is a recurrence of the same form, so that nothing is stored but states and factors, and the gradient of
    a weight is one product over all steps.

    Args:
        joint: [W_0 | U] (n, n + f), or U (n, f). out_of_factors: V (f, n).
        start: (batch, n). gains: g (time, batch, f). addends: b (time, batch, n).
        read: bool (time, batch, 1), False keeps the state; or None.
        unroll: whether the graph repeats the step instead of looping.

    Returns:
        (time, batch, n)
    """
    factors, units = out_of_factors.shape
    shared = joint.shape[1] > factors

    def silenced(x: Tensor) -> Tensor:
        return x if read is None else ops.where(read, x, ops.zeros_like(x))

    @ops.custom_gradient
    def run(joint: Tensor, out_of_factors: Tensor, start: Tensor, gains: Tensor, addends: Tensor) -> Any:
        _, states, entered = _affine_scan(joint, out_of_factors, start, gains, silenced(addends), read, unroll)

        def gradient(*args: Tensor, upstream: Tensor | None = None) -> tuple[Tensor, ...]:
            upstream = args[0] if upstream is None else upstream
            transposed = None if not shared else ops.transpose(joint[:, :units])
            back_joint = equations.joint_kernel(ops, transposed, ops.transpose(out_of_factors))
            # From q_T = u_T; u_0 = 0, so the last one is the gradient of start.
            earlier = ops.concatenate([ops.zeros_like(upstream[:1]), upstream[:-1]], axis=0)
            into_start, backward, left = _affine_scan(
                back_joint, ops.transpose(joint[:, -factors:]), upstream[-1], gains, earlier, read, unroll, True
            )
            into_addends = silenced(ops.concatenate([backward[1:], upstream[-1:]], axis=0))
            left = silenced(left)
            before = ops.concatenate([start[None], states[:-1]], axis=0)
            into_product = equations.joint_kernel(ops, _rows(into_addends) if shared else None, _rows(left * gains))
            into_joint = ops.matmul(ops.transpose(_rows(before)), into_product)
            into_out = ops.matmul(ops.transpose(_rows(entered * gains)), _rows(into_addends))
            return into_joint, into_out, into_start, entered * left, into_addends

        return states, gradient

    return run(joint, out_of_factors, start, gains, addends)


def _affine_scan(
    joint: Tensor,
    out_of_factors: Tensor,
    start: Tensor,
    gains: Tensor,
    addends: Tensor,
    read: Tensor | None,
    unroll: bool,
    reverse: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """h_t = h_{t-1} W_t + a_t, where W_t is the identity at steps not read; and the factors h_{t-1} U."""
    factors, units = out_of_factors.shape

    def step(state: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        gains, addends, *read = now
        moved, entered = equations.moved(ops, joint, out_of_factors, state, gains)
        new = (ops.where(read[0], moved, state) if read else moved) + addends
        return new, (new, entered)

    masks = () if read is None else (read,)
    state, [states, entered] = _recurrence.scan(
        step, start, (gains, addends, *masks), (units, factors), reverse=reverse, unroll=unroll
    )
    return state, states, entered


def _array(weight: Any) -> NDArray[np.float64]:
    return np.asarray(ops.convert_to_numpy(weight), np.float64)


def _rows(x: Tensor) -> Tensor:
    return ops.reshape(x, (-1, x.shape[-1]))


def _default_switch(symbols: bool, shared: bool) -> Any:
    if symbols:
        return initializers.RandomNormal(mean=0.0 if shared else 0.9, stddev=0.1)
    return initializers.VarianceScaling(0.1**2 if shared else 0.9**2, "fan_in", "untruncated_normal")

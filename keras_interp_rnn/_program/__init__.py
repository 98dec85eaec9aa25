"""A Keras network as a program: a list of about a dozen kinds of operations, read once, for every interpreter.

- `read`: the list of layers, from a model to its `operations`.
- `values`: what they compute, in float64, and gradients pulled back; `along`: cells along the steps, by equations.
- `many`: the tensors of many networks of one architecture, for fits.
- `step`: one symbol after the other, for `generate`.
- `fold`: what is affine in the state of one layer, for contributions, weighted automata and affine maps.

`deploy` writes C of a program. Which network a user means, and what it must be, is found in `_network`.
"""

from keras_interp_rnn._program.affine_layers import (
    is_linear_recurrence,
)
from keras_interp_rnn._program.along import (
    CellAlong,
    check_num_steps,
    draws_noise,
    innermost,
    linear_steps,
    output_in_state,
    state_names,
    step_cell,
)
from keras_interp_rnn._program.many import (
    stack_of,
)
from keras_interp_rnn._program.read import (
    Program,
    read,
    read_layer,
)

__all__ = [
    "CellAlong",
    "Program",
    "check_num_steps",
    "draws_noise",
    "innermost",
    "is_linear_recurrence",
    "linear_steps",
    "output_in_state",
    "read",
    "read_layer",
    "stack_of",
    "state_names",
    "step_cell",
]

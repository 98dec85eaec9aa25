"""A Keras network as a program: a list of about a dozen kinds of operations, read once, for every interpreter.

`analysis` reads networks through this folder, and is NumPy otherwise. A network is a model, a recurrent layer or a
cell. A layer or a cell is read as it is. A model is read through its recurrent layers, those of nested models too, with
what the layers before them make of the model's inputs. Functions that read one layer refuse a model with none or
several; pass the layer itself.

- `read`: the list of layers, from a model to its operations.
- `values`: what they compute, in float64, and gradients pulled back; with it `network`, a model as a function of the
  vectors of one of its inputs, and `prefixes`, one sequence in many variants at once.
- `many`: the tensors of many networks of one architecture, for fits.
- `step`: one symbol after the other, for `generate`.
- `fold`: what is affine in the state of one layer, for contributions, weighted automata and affine maps.
"""

from keras_interp_rnn._backend.trained_losses import are_quantities
from keras_interp_rnn._program.affine_layers import is_linear_recurrence
from keras_interp_rnn._program.affine_reading import (
    AffineReading,
    ISANWeights,
    OpenedText,
    Way,
    matrix_and_offset,
    vectors_of,
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
from keras_interp_rnn._program.arrays import (
    as_array,
    as_float64,
    as_symbols,
    check_finite,
    check_range,
    check_reads,
    generator,
    listed,
)
from keras_interp_rnn._program.continuation import Stepper
from keras_interp_rnn._program.interface import (
    check_logits,
    ends_in_softmax,
    gives_probabilities,
    predict_on_batch,
    share_no_probability,
)
from keras_interp_rnn._program.linear_recurrences import affine_maps, feature_addends
from keras_interp_rnn._program.made_isans import isan_like, isan_model, isan_of
from keras_interp_rnn._program.many import stack_of
from keras_interp_rnn._program.quantities import run_with_quantities
from keras_interp_rnn._program.read import Program, read, read_layer
from keras_interp_rnn._program.recurrent import (
    apply_head,
    centroids_of,
    check_one_output,
    decision_threshold,
    has_many_states,
    last_regularized,
    predicted_classes,
    read_above,
    recurrent_layer_inputs,
    recurrent_layers,
    regularized_stack,
    resolve_recurrent_layer,
    states_to_set,
)
from keras_interp_rnn._program.text_layers import TextLayerAlphabet, is_text
from keras_interp_rnn._program.texts import (
    GivenAlphabet,
    alphabet_of,
    read_text,
    read_texts,
    resolve_alphabet,
    token_name,
    token_names,
)

__all__ = [
    "AffineReading",
    "CellAlong",
    "GivenAlphabet",
    "ISANWeights",
    "OpenedText",
    "Program",
    "Stepper",
    "TextLayerAlphabet",
    "Way",
    "affine_maps",
    "alphabet_of",
    "apply_head",
    "are_quantities",
    "as_array",
    "as_float64",
    "as_symbols",
    "centroids_of",
    "check_finite",
    "check_logits",
    "check_num_steps",
    "check_one_output",
    "check_range",
    "check_reads",
    "decision_threshold",
    "draws_noise",
    "ends_in_softmax",
    "feature_addends",
    "generator",
    "gives_probabilities",
    "has_many_states",
    "innermost",
    "is_linear_recurrence",
    "is_text",
    "isan_like",
    "isan_model",
    "isan_of",
    "last_regularized",
    "linear_steps",
    "listed",
    "matrix_and_offset",
    "output_in_state",
    "predict_on_batch",
    "predicted_classes",
    "read",
    "read_above",
    "read_layer",
    "read_text",
    "read_texts",
    "recurrent_layer_inputs",
    "recurrent_layers",
    "regularized_stack",
    "resolve_alphabet",
    "resolve_recurrent_layer",
    "run_with_quantities",
    "share_no_probability",
    "stack_of",
    "state_names",
    "states_to_set",
    "step_cell",
    "token_name",
    "token_names",
    "vectors_of",
]

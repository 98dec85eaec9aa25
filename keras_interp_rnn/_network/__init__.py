"""From Keras networks to arrays: `analysis` reads a network through this folder, and is NumPy otherwise.

A network is a model, a recurrent layer or a cell. A layer or a cell is read as it is. A model is read through its
recurrent layers, also those of nested models, with what the layers before them make of the model's inputs. Functions
that read one layer refuse a model with none or several; pass the layer itself.
"""

from keras_interp_rnn._backend.trained_losses import is_regression
from keras_interp_rnn._network.along import (
    CellAlong,
    check_num_steps,
    draws_noise,
    innermost,
    linear_steps,
    output_in_state,
    state_names,
)
from keras_interp_rnn._network.arrays import (
    as_array,
    as_float64,
    as_symbols,
    check_finite,
    check_range,
    check_reads,
    generator,
    listed,
)
from keras_interp_rnn._network.chain import NotAChain, calls_of
from keras_interp_rnn._network.graph import (
    check_logits,
    ends_in_softmax,
    evaluate,
    gives_probabilities,
    predict_on_batch,
)
from keras_interp_rnn._network.quantities import run_with_quantities
from keras_interp_rnn._network.recurrent import (
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
    step_cell,
)
from keras_interp_rnn._network.symbols import (
    GivenNames,
    Names,
    WordNames,
    is_text,
    read_text,
    read_texts,
    resolve_names,
    token_name,
    token_names,
)

__all__ = [
    "CellAlong",
    "GivenNames",
    "Names",
    "NotAChain",
    "WordNames",
    "apply_head",
    "calls_of",
    "draws_noise",
    "innermost",
    "state_names",
    "as_array",
    "as_float64",
    "generator",
    "gives_probabilities",
    "has_many_states",
    "listed",
    "as_symbols",
    "centroids_of",
    "check_finite",
    "check_logits",
    "check_num_steps",
    "check_one_output",
    "check_range",
    "check_reads",
    "decision_threshold",
    "ends_in_softmax",
    "evaluate",
    "is_regression",
    "is_text",
    "predict_on_batch",
    "read_text",
    "read_texts",
    "linear_steps",
    "output_in_state",
    "predicted_classes",
    "last_regularized",
    "read_above",
    "recurrent_layer_inputs",
    "regularized_stack",
    "recurrent_layers",
    "resolve_names",
    "resolve_recurrent_layer",
    "run_with_quantities",
    "states_to_set",
    "step_cell",
    "token_name",
    "token_names",
]

"""The network that a user passes: which one is meant, what it must be, and as a function of what it reads.

A network is a model, a recurrent layer or a cell. A layer or a cell is read as it is. A model is read through its
recurrent layers, those of nested models too, with what the layers before them make of the model's inputs. Functions
that read one layer refuse a model with none or several; pass the layer itself. `analysis` and `automata` read networks
through this folder; what a network computes is a program (`_program`).

- `vectors`: a model as a function of the vectors of one of its inputs; `prefixes`: one sequence in many variants at
  once; `entering` and `agreement`: what is refused, as a proof or an explanation would be wrong.
- `affine_network`: what is affine in the state of one layer, with its head.
- `recurrent`, `recurrent_part`: recurrent layers, what they read, and what is read above them.
- `texts`, `text_layers`: ids of texts, and their names.
"""

from keras_interp_rnn._backend.trained_losses import (
    are_quantities,
)
from keras_interp_rnn._network.affine_network import (
    AffineReading,
    ISANWeights,
    OpenedText,
    Way,
    matrix_and_offset,
    vectors_of,
)
from keras_interp_rnn._network.affine_steps import (
    affine_maps,
    feature_addends,
)
from keras_interp_rnn._network.continuation import (
    Stepper,
)
from keras_interp_rnn._network.interface import (
    check_logits,
    ends_in_softmax,
    gives_probabilities,
    predict_on_batch,
    share_no_probability,
)
from keras_interp_rnn._network.isans import (
    isan_like,
    isan_model,
    isan_of,
)
from keras_interp_rnn._network.quantities import (
    run_with_quantities,
)
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
)
from keras_interp_rnn._network.text_layers import (
    TextLayerAlphabet,
    as_strings,
    is_text,
)
from keras_interp_rnn._network.texts import (
    GivenAlphabet,
    alphabet_of,
    batch_of,
    read_text,
    read_texts,
    resolve_alphabet,
    token_name,
    token_names,
)

__all__ = [
    "AffineReading",
    "GivenAlphabet",
    "ISANWeights",
    "OpenedText",
    "Stepper",
    "TextLayerAlphabet",
    "Way",
    "affine_maps",
    "alphabet_of",
    "apply_head",
    "are_quantities",
    "as_strings",
    "batch_of",
    "is_text",
    "centroids_of",
    "check_logits",
    "check_one_output",
    "decision_threshold",
    "ends_in_softmax",
    "feature_addends",
    "gives_probabilities",
    "has_many_states",
    "is_text",
    "isan_like",
    "isan_model",
    "isan_of",
    "last_regularized",
    "matrix_and_offset",
    "predict_on_batch",
    "predicted_classes",
    "read_above",
    "read_text",
    "read_texts",
    "recurrent_layer_inputs",
    "recurrent_layers",
    "regularized_stack",
    "resolve_alphabet",
    "resolve_recurrent_layer",
    "run_with_quantities",
    "share_no_probability",
    "states_to_set",
    "token_name",
    "token_names",
    "vectors_of",
]

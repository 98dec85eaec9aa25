"""A TensorBoard plugin for the logs of keras_interp_rnn."""

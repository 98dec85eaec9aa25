"""What keras_interp_rnn logs, for TensorBoard."""

"""Recurrent networks for Keras whose workings can be read exactly, and the tools that read them.

- `layers`: cells and layers that plug into ordinary Keras models.
- `analysis`: exact analysis of trained layers, in float64 NumPy.
- `automata`: finite automata, and their extraction from networks.
- `losses`: what is minimised, in the papers' units.
- `optimizers`: for weights of which a batch touches a few rows.
- `callbacks`: for `fit`.
- `datasets`: text and TensorFlow Datasets builders.
- `figures`: the papers' figures; imported by itself, as it needs matplotlib.
"""

from keras_interp_rnn import analysis, automata, callbacks, datasets, layers, losses, optimizers

__all__ = ["analysis", "automata", "callbacks", "datasets", "layers", "losses", "optimizers"]
__version__ = "0.1.0"

"""Trained networks that ship with the package, each with a card that says what it is, from which data, and how good.

preset = presets.load("text-isan")
print(preset.card)
print(analysis.contributions(preset.model, "the return val"))

The weights are NumPy arrays without pickled objects, and the models are built by the package's own code, so loading one
runs no code of a file. They load under TensorFlow, JAX and torch. `python -m examples.papers preset NAME`, in a clone,
trains one again.
"""

from keras_interp_rnn.presets.loading import list, load

__all__ = ["list", "load"]

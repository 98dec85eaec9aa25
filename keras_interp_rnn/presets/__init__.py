"""Trained networks that ship with the package, each with a card: architecture, data, and quality.

preset = presets.load("text-isan")
print(preset.card)
print(analysis.contributions(preset.model, "the return val"))

The weights are NumPy arrays without pickled objects, and the models are built by the package's own code, so loading one
runs no code from a file. They load under TensorFlow, JAX and torch. In a clone, `python -m examples.papers preset NAME`
trains one again.
"""

from keras_interp_rnn.presets.loading import list, load

__all__ = ["list", "load"]

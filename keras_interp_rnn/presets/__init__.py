"""Trained networks that ship with the package, each with a card: architecture, data, and quality.

preset = presets.load("text-isan")
print(preset.card)
print(analysis.contributions(preset.model, "the return val"))

The weights are NumPy arrays without pickled objects, and the package's own code builds the models, so loading a preset
runs no code from a file. Presets load on TensorFlow, JAX and torch. In a clone, `python -m examples.papers preset NAME`
trains a preset again.
"""

from keras_interp_rnn.presets.loading import list, load

__all__ = ["list", "load"]

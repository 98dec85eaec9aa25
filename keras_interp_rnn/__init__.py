"""Recurrent layers for Keras whose inner workings can be read exactly, and tools that read any recurrent Keras network.

- `layers`: cells and layers that plug into ordinary Keras models.
- `analysis`: exact analysis of trained layers, in float64 NumPy.
- `automata`: finite automata, and their extraction from networks.
- `constraints`: bounds on recurrent matrices during training.
- `regularizers`: penalties that make switches slow or sparse, or similar among subjects.
- `initializers`: gate biases with which gradients reach a given number of steps back.
- `losses`: losses in the papers' units.
- `callbacks`: callbacks for `fit`, which carry states, resume runs and log to TensorBoard.
- `fitting`: second-order fits of small networks, many at once.
- `deploy`: trained networks as code for microcontrollers.
- `datasets`: texts, words of formal languages, and logs of sessions.
- `presets`: trained networks that ship with the package.
- `views`: results as text, HTML and SVG.
- `figures`: figures of the papers; import it by itself, because it needs matplotlib.
"""

import sys


def _runs_as_command() -> bool:
    """Whether this is `python -m keras_interp_rnn`: while Python looks for the module to run, `sys.argv[0]` is "-m"."""
    given = sys.orig_argv
    return sys.argv[:1] == ["-m"] and "-m" in given and given[given.index("-m") + 1] == __name__


# Python imports the package before its command. The command imports those that register classes once it has read its
# options, so that `--help` does not wait for TensorFlow. For everyone else one import registers every class with Keras.
if not _runs_as_command():
    from keras_interp_rnn import (
        analysis,
        automata,
        callbacks,
        constraints,
        datasets,
        deploy,
        fitting,
        initializers,
        layers,
        losses,
        presets,
        regularizers,
        views,
    )
    from keras_interp_rnn.automata import networks  # noqa: F401 - automata imports on first use

__all__ = [
    "analysis",
    "automata",
    "callbacks",
    "constraints",
    "datasets",
    "deploy",
    "fitting",
    "initializers",
    "layers",
    "losses",
    "presets",
    "regularizers",
    "views",
]
__version__ = "0.3.0"

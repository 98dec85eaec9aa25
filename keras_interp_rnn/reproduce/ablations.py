"""Section 3.1 of Foerster et al., 2017: which parts of an ISAN does it need?"""

from __future__ import annotations

from keras_interp_rnn.reproduce import _characters

TRAINED = {
    "size": "4.5e5",
    "batch": 64,
    "length": 50,
    "clip": 1.0,
    "epochs": 6,
    "validation": 64,
}


class Ablations(_characters.CharacterTable):
    """Networks without a part of the ISAN, and counted models."""

    name = "isan-ablations"
    title = "What makes an ISAN work"
    place = "Foerster et al. 2017, section 3.1"
    rows = {network: {"network": network} for network in _characters.COUNTED} | {
        network: {"network": network, **TRAINED} for network in (*_characters.ABLATIONS, "ISAN")
    }
    paper = {"naive Bayes": 3.3, "linear": 3.1, "linear, nonlinear readout": 2.15, "ISAN": 1.58}

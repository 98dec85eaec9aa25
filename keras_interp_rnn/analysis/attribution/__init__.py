"""The share of each step of a sequence in the outputs of any recurrent network."""

from keras_interp_rnn.analysis.attribution.affine_surrogate import AffineSurrogate, affine_surrogate
from keras_interp_rnn.analysis.attribution.attribution import (
    METHODS,
    attribution,
    top_attribution,
)
from keras_interp_rnn.analysis.attribution.opening import row_slices
from keras_interp_rnn.analysis.attribution.results import Attribution, ShareAgreement, ShareRanking, TopAttribution

__all__ = [
    "METHODS",
    "AffineSurrogate",
    "Attribution",
    "ShareAgreement",
    "ShareRanking",
    "TopAttribution",
    "affine_surrogate",
    "attribution",
    "row_slices",
    "top_attribution",
]

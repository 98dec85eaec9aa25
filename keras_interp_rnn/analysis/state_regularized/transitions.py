"""Transition probabilities of a state-regularized network (Wang, Lawrence and Niepert, 2022, eq. 15)."""

from __future__ import annotations

from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.analysis.traces import Trace, trace


def transition_probabilities(network: object, inputs: object, *, mask: object = None) -> AnyArray:
    r"""The probabilities $\alpha$ of moving to each centroid, at every step (eq. 15).

    Args:
        network, inputs, mask: as `trace`, with one state-regularized layer.

    Returns:
        (batch, time, k), rows that sum to 1; NaN if a step is masked or skips the stochastic component.

    Raises:
        ValueError: as `trace`; if the layer has no centroids.

    Example:

        >>> from keras_interp_rnn import analysis, layers
        >>> layer = layers.SRGRU(4, num_centroids=3)
        >>> analysis.transition_probabilities(layer, np.ones((2, 5, 1))).shape
        (2, 5, 3)

    Reference: Wang, Lawrence and Niepert, 2022, eq. 15.
    """
    return regularized_trace(network, inputs, mask)["alpha"]


def regularized_trace(network: object, inputs: object, mask: object = None) -> Trace:
    """`trace` of a single state-regularized layer; raises ValueError for another one."""
    traced = trace(network, inputs, mask=mask)
    if "centroid" not in traced:  # an alpha alone may be a decay
        several = ", ".join(name for name in traced if name.endswith("/centroid"))
        found = f"with {several}. Pass the layer and its own inputs."
        none = (
            "which has none. Use analysis.attribution, which reads any recurrent layer, or build it of layers.SRLSTM."
        )
        raise ValueError(
            "Transition probabilities must be those of a single state-regularized layer. Received: "
            f"{network!r}, {found if several else none}"
        )
    return traced

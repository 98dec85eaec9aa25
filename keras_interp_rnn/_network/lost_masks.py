"""Masks that a recurrent layer is given, and does not pass on to the layers above."""

from __future__ import annotations

import warnings
from typing import Any

import keras

from keras_interp_rnn._program import operations as o
from keras_interp_rnn._program.graph import runs_its_graph, takes_mask
from keras_interp_rnn._program.read import RECURRENT, read

DROP_MASKS = (*RECURRENT, keras.layers.TimeDistributed)
"""Layers that pass on the mask that they are given before Keras 3.16, and not since."""

IGNORE_MASKS = (keras.layers.Lambda, keras.layers.TimeDistributed, keras.Model)
"""Layers that take a mask and treat each step alike."""


def warn_of_lost_masks(network: object) -> None:
    """Warns where a layer reads steps that are masked for a recurrent layer below, which did not pass its mask on.

    It does since Keras 3.16 if it is one of `DROP_MASKS` whose `supports_masking` nobody has set.
    """
    if not isinstance(network, keras.Model) or not runs_its_graph(network):
        return
    lost_by: dict[o.Value, Any] = {}
    affected: dict[int, tuple[Any, Any]] = {}
    for operation in read(network).operations:
        layer, reads = operation.layer, operation.reads[:1]
        is_masked = any(mask is not None for mask in (operation.mask, *(value.mask for value in reads)))
        below = next((lost_by[value] for value in reads if value in lost_by), None)
        reads_mask = takes_mask(layer) and not isinstance(layer, IGNORE_MASKS)
        if reads_mask and below is not None and not is_masked:
            affected.setdefault(id(layer), (layer, below))
        for value in operation.makes:
            if len(value.shape) < 3 or value.mask is not None:
                continue
            joins = below is not None and isinstance(operation, o.Join | o.Sum)  # two directions, which lost it
            if isinstance(layer, DROP_MASKS) and (is_masked or joins):
                lost_by[value] = layer
            elif below is not None and (isinstance(layer, DROP_MASKS) or getattr(layer, "supports_masking", False)):
                lost_by[value] = below
    for above, below in affected.values():
        warnings.warn(
            "Every layer is read with the mask that this Keras gives it. Received: "
            f"{network.name}, where {below.name} ({type(below).__name__}) does not pass its mask on, so that "
            f"{above.name} ({type(above).__name__}) reads masked steps too. If the network was trained with Keras "
            f"before 3.16, which passed it on, set `supports_masking = True` on {below.name}.",
            UserWarning,
            stacklevel=4,
        )

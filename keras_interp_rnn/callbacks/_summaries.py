"""What the callbacks write to TensorBoard and `tf.summary` cannot: exact distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorboard.plugins.histogram import metadata

from keras_interp_rnn.analysis.jacobians import PERCENTILES


def write_distribution(tag: str, values: NDArray[Any], step: int) -> None:
    """Writes values to the default summary writer so that the Distributions tab shows their very percentiles.

    `tf.summary.histogram` counts in 30 equal bins between minimum and maximum, from which the tab interpolates: for a
    skewed sample its lines may lie anywhere. Here the bins end at the percentiles themselves.
    """
    edges = np.percentile(values, PERCENTILES)
    masses = np.diff(PERCENTILES) / 100 * values.size
    buckets = np.stack([edges[:-1], edges[1:], masses], axis=1)
    summary_metadata = metadata.create_summary_metadata(display_name=None, description=None)
    tf.summary.write(tag, tf.constant(buckets, tf.float64), step=step, metadata=summary_metadata)

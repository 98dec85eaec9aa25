"""Events that callbacks write for TensorBoard through `tf.summary`; TensorFlow is imported when a writer is made."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_interp_rnn._types import AnyArray
from keras_interp_rnn.analysis.jacobians import PERCENTILES

PREFIX = "interp_rnn"
"""Every tag begins with it."""


def writer(folder: str | os.PathLike[str]) -> Any:
    """A `tf.summary.SummaryWriter` of a folder, which is made if it does not exist; OSError if it cannot be made."""
    import tensorflow as tf

    try:
        os.fspath(folder).encode()
        return tf.summary.create_file_writer(os.fspath(folder))
    except UnicodeEncodeError:
        raise OSError("TensorFlow writes to folders whose names are Unicode") from None
    except tf.errors.OpError as error:
        raise OSError(re.sub(r"{{.*?}} *", "", error.message)) from None  # TensorFlow's name of the operation


def scalars(values: Mapping[str, object], step: int) -> None:
    """Writes numbers by name to the default summary writer."""
    import tensorflow as tf

    for name, value in values.items():
        tf.summary.scalar(f"{PREFIX}/{name}", value, step=step)


def tensor(name: str, values: str | AnyArray, step: int, metadata: object) -> None:
    """Writes a text or an array to the default summary writer; its `SummaryMetadata` names the plugin that reads it."""
    import tensorflow as tf

    tf.summary.write(f"{PREFIX}/{name}", tf.constant(values), step=step, metadata=metadata)


def distribution(name: str, values: AnyArray, step: int) -> None:
    """Writes values to the default summary writer so that the Distributions tab shows their exact percentiles.

    `tf.summary.histogram` counts in 30 equal bins between minimum and maximum, from which the tab interpolates: for a
    skewed sample its lines may lie anywhere. Here the bins end at the percentiles themselves.
    """
    from tensorboard.plugins.histogram import metadata

    edges = np.percentile(values, PERCENTILES)
    masses = np.diff(PERCENTILES) / 100 * values.size
    buckets = np.stack([edges[:-1], edges[1:], masses], axis=1)
    tensor(name, buckets, step, metadata.create_summary_metadata(display_name=None, description=None))

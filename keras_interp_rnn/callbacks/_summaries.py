"""What the callbacks write for TensorBoard by `tf.summary`: TensorFlow is imported when a writer is made."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn.analysis.jacobians import PERCENTILES


def writer(folder: str | os.PathLike[str]) -> Any:
    """A `tf.summary.SummaryWriter` of a folder, made if it is not there; raises OSError if it cannot be."""
    import tensorflow as tf

    try:
        os.fspath(folder).encode()
        return tf.summary.create_file_writer(os.fspath(folder))
    except UnicodeEncodeError:
        raise OSError("TensorFlow writes to folders whose names are Unicode") from None
    except tf.errors.OpError as error:
        raise OSError(re.sub(r"{{.*?}} *", "", error.message)) from None  # what TensorFlow calls the operation


def scalar(tag: str, value: Any, step: int) -> None:
    """Writes a number to the default summary writer."""
    import tensorflow as tf

    tf.summary.scalar(tag, value, step=step)


def image(tag: str, pixels: NDArray[np.uint8], step: int, description: str) -> None:
    """Writes an image (height, width, 3) to the default summary writer; the description is Markdown."""
    import tensorflow as tf

    tf.summary.image(tag, pixels[None], step=step, description=description)


def tensor(tag: str, values: str | NDArray[Any], step: int, metadata: Any) -> None:
    """Writes a text or an array to the default summary writer, with `SummaryMetadata` that say whose it is."""
    import tensorflow as tf

    tf.summary.write(tag, tf.constant(values), step=step, metadata=metadata)


def distribution(tag: str, values: NDArray[Any], step: int) -> None:
    """Writes values to the default summary writer so that the Distributions tab shows their very percentiles.

    `tf.summary.histogram` counts in 30 equal bins between minimum and maximum, from which the tab interpolates: for a
    skewed sample its lines may lie anywhere. Here the bins end at the percentiles themselves.
    """
    from tensorboard.plugins.histogram import metadata

    edges = np.percentile(values, PERCENTILES)
    masses = np.diff(PERCENTILES) / 100 * values.size
    buckets = np.stack([edges[:-1], edges[1:], masses], axis=1)
    tensor(tag, buckets, step, metadata.create_summary_metadata(display_name=None, description=None))

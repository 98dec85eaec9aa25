"""TensorFlow 2.21 writes notes to standard error while it is imported, whatever its log level: kept out of sight."""

import contextlib
import os
from collections.abc import Iterator

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # what matters there reaches Python as an exception


@contextlib.contextmanager
def standard_error() -> Iterator[None]:
    """Nothing reaches standard error inside; an exception passes through and is printed outside."""
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)

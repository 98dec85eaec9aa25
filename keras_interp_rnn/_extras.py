"""What is not installed, and the extra that brings it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def needed(package: str, extra: str, by: str) -> Iterator[None]:
    """Inside, a failed import names the extra of `setup.cfg` that installs the package.

    Args:
        package: what is imported. extra: that brings it. by: what needs it.

    Raises:
        ImportError: in place of one that was raised inside.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{by} needs {package} ({error}): pip install 'keras_interp_rnn[{extra}]'") from error

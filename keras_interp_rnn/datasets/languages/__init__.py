"""The generated data as a dataset of TensorFlow Datasets: the words and sequences of the modules beside, and no others.

    made = languages.builder("tomita_4")
    made.info.metadata                               # the alphabet, numbers of words and positives of each split
    made.as_dataset("train[:10%]", as_supervised=True).batch(32)

The config is the name of the module, and after "_" that of its config: "tomita_1" to "tomita_7",
"balanced_parentheses_small", "palindromes_large_near", ...; and "counting".
"""

import os
from typing import TYPE_CHECKING

from keras_interp_rnn._numbers import at_least
from keras_interp_rnn.datasets import _tfds
from keras_interp_rnn.datasets._arguments import one_of

if TYPE_CHECKING:
    from keras_interp_rnn.datasets.languages.languages_dataset_builder import Builder

__all__ = ["builder"]


def builder(config: str, *, seed: int = 0, data_dir: str | os.PathLike[str] | None = None) -> "Builder":
    """Prepares the data, and returns their TFDS builder.

    Args:
        config: such as "tomita_4", "palindromes_small" or "counting".
        seed: int >= 0, of the words; each seed has its own folder.
        data_dir: folder of prepared data; None for the environment variable TFDS_DATA_DIR, or ~/tensorflow_datasets.

    Returns:
        The builder, for `as_dataset` and everything else TFDS offers.

    Raises:
        ImportError: if `tensorflow_datasets` is missing.
        ValueError: if `config` is unknown, or `seed` is not an integer >= 0.
        datasets.DataError: if the prepared data are damaged.

    Example:

    >>> from keras_interp_rnn.datasets import languages
    >>> languages.builder("tomita_1").info.metadata["splits"]["train"]
    {'words': 1036, 'positives': 16}
    """
    _tfds.imported("languages")
    from keras_interp_rnn.datasets.languages.languages_dataset_builder import Builder

    one_of("config", config, sorted(Builder.builder_configs))
    seed = at_least("seed", seed, 0)
    root = _tfds.data_root(data_dir)
    with _tfds.undamaged(root / "languages"):
        made = Builder(config=Builder.config_of(config, seed), data_dir=root)
    _tfds.prepare(made, quiet=True)
    return made

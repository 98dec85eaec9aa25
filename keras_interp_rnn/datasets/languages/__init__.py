"""A TensorFlow Datasets builder of the generated data of `datasets`.

    builder = languages.builder("tomita_4")
    builder.info.metadata                            # the alphabet, and the numbers of words and positives per split
    builder.as_dataset("train[:10%]", as_supervised=True).batch(32)

The config is the name of a module and its own config, joined by "_": "tomita_1" to "tomita_7",
"balanced_parentheses_small", "palindromes_large_near", ...; and "counting".
"""

import os
from typing import TYPE_CHECKING

from keras_interp_rnn._checks import choice, integer
from keras_interp_rnn.datasets import _tfds

if TYPE_CHECKING:
    from keras_interp_rnn.datasets.languages.languages_dataset_builder import Builder

__all__ = ["builder"]


def builder(config: str, *, seed: int = 0, data_dir: str | os.PathLike[str] | None = None) -> "Builder":
    """Prepares the data, and returns their TFDS builder.

    Args:
        config: a name such as "tomita_4", "palindromes_small" or "counting".
        seed: int >= 0, of the words; each seed has its own folder.
        data_dir: folder of prepared data; None for the environment variable TFDS_DATA_DIR, or ~/tensorflow_datasets.

    Returns:
        The builder, for `as_dataset` and the other methods of TFDS.

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

    choice("config", config, sorted(Builder.builder_configs))
    seed = integer("seed", seed, 0)
    root = _tfds.data_root(data_dir)
    with _tfds.undamaged(root / "languages"):
        languages = Builder(config=Builder.config_of(config, seed), data_dir=root)
    _tfds.prepare(languages, quiet=True)
    return languages

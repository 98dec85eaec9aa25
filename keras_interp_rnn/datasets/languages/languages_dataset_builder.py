"""TFDS builder of the data of `tomita`, `balanced_parentheses`, `palindromes` and `counting`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import tensorflow_datasets as tfds

from keras_interp_rnn.datasets import balanced_parentheses, counting, palindromes, tomita
from keras_interp_rnn.datasets.counting import Counts
from keras_interp_rnn.datasets.labelled_words import LabelledWords

__all__ = ["Builder", "CountingConfig", "WordsConfig"]

LANGUAGES = {each.LANGUAGE.name: each.LANGUAGE for each in (tomita, balanced_parentheses, palindromes)}


@dataclasses.dataclass(kw_only=True)
class WordsConfig(tfds.core.BuilderConfig):
    """The words of a language.

    Attributes:
        language: name of its module. subset: config of its `load`. seed: seed of its `load`.
    """

    language: str
    subset: str
    seed: int = 0

    names: ClassVar[tuple[str, str]] = ("word", "label")

    def features(self) -> dict[str, Any]:
        """The features of an example."""
        return {"word": tfds.features.Text(), "label": tfds.features.Scalar(np.bool_)}

    def splits(self) -> dict[str, LabelledWords]:
        """The words of each split."""
        language = LANGUAGES[self.language]
        return {split: language.load(split, self.subset, self.seed) for split in language.splits}

    def metadata(self, splits: Mapping[str, LabelledWords]) -> dict[str, Any]:
        """Alphabet, seed, and numbers of words in each split."""
        numbers = {name: {"words": len(data), "positives": data.positives} for name, data in splits.items()}
        return {"alphabet": LANGUAGES[self.language].alphabet, "seed": self.seed, "splits": numbers}

    def rows(self, data: LabelledWords) -> Iterator[tuple[Any, Any]]:
        """The examples of a split."""
        return zip(data.words, data.labels, strict=True)


@dataclasses.dataclass(kw_only=True)
class CountingConfig(tfds.core.BuilderConfig):
    """Sequences of parentheses and noise, with the settings of `counting.load`."""

    num_types: int = 2
    max_count: int = 5
    delay: int = 1
    num_noise_symbols: int = 1
    length: int = 100
    seed: int = 0

    names: ClassVar[tuple[str, str]] = ("symbols", "counts")

    def features(self) -> dict[str, Any]:
        """The features of an example."""
        return {
            "symbols": tfds.features.Tensor(shape=(self.length,), dtype=np.int32),
            "counts": tfds.features.Tensor(shape=(self.length, self.num_types), dtype=np.int32),
        }

    def splits(self) -> dict[str, Counts]:
        """The sequences of each split."""
        numbers = ("num_types", "max_count", "delay", "num_noise_symbols", "length", "seed")
        options = {name: getattr(self, name) for name in numbers}
        return {split: counting.load(split, **options) for split in counting.SIZES}

    def metadata(self, splits: Mapping[str, Counts]) -> dict[str, Any]:
        """Names of the symbols, seed, and numbers of sequences in each split."""
        names = counting.symbol_names(self.num_types, self.num_noise_symbols)
        sizes = {name: {"sequences": len(data.symbols)} for name, data in splits.items()}
        return {"symbols": list(names), "seed": self.seed, "splits": sizes}

    def rows(self, data: Counts) -> Iterator[tuple[Any, Any]]:
        """The examples of a split."""
        return zip(*data, strict=True)


class Builder(tfds.core.GeneratorBasedBuilder):
    """Words labelled by formal languages, and sequences of parentheses with their nesting levels.

    References: Tomita, 1982; Wang, Lawrence and Niepert, 2022, sections 5.1 and 5.2; Foerster et al., ICML 2017,
    section 4.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "Initial release."}
    BUILDER_CONFIGS: ClassVar[list[WordsConfig | CountingConfig]] = [
        *(
            WordsConfig(name=f"{name}_{config}", description=description, language=name, subset=config)
            for name, language in LANGUAGES.items()
            for config, description in language.configs.items()
        ),
        CountingConfig(name="counting", description="Nesting levels of two types of parentheses, one step late."),
    ]

    @classmethod
    def config_of(cls, name: str, seed: int) -> Any:
        """The config of this name and seed; each seed other than 0 has its own folder."""
        config: Any = cls.builder_configs[name]
        return dataclasses.replace(config, name=f"{name}-seed{seed}", seed=seed) if seed else config

    def _info(self) -> tfds.core.DatasetInfo:
        config = self.builder_config
        return tfds.core.DatasetInfo(
            builder=self,
            description=config.description,
            features=tfds.features.FeaturesDict(config.features()),
            supervised_keys=config.names,
            disable_shuffling=True,
            metadata=tfds.core.MetadataDict(),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Any]:
        splits = self.builder_config.splits()
        self.info.metadata.update(self.builder_config.metadata(splits))
        return {name: self._generate_examples(data) for name, data in splits.items()}

    def _generate_examples(self, data: LabelledWords | Counts) -> Iterator[tuple[int, dict[str, Any]]]:
        for key, row in enumerate(self.builder_config.rows(data)):
            yield key, dict(zip(self.builder_config.names, row, strict=True))

"""TFDS builder of sequences of parentheses and noise, and the nesting level of each type."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import tensorflow_datasets as tfds

from keras_interp_rnn.datasets.counting._stream import Counts, stream, symbol_names

__all__ = ["SIZES", "Builder", "CountingConfig"]

SIZES = {"train": 2000, "validation": 500, "test": 500}
"""Number of sequences of each split."""


@dataclasses.dataclass(kw_only=True)
class CountingConfig(tfds.core.BuilderConfig):
    """The numbers of `counting.stream`, the length of a sequence, and a seed."""

    num_types: int = 2
    max_count: int = 5
    delay: int = 1
    num_noise_symbols: int = 1
    length: int = 100
    seed: int = 0

    @classmethod
    def of(
        cls, num_types: int, max_count: int, delay: int, num_noise_symbols: int, length: int, seed: int
    ) -> CountingConfig:
        """The config whose name gives its numbers."""
        return cls(
            # The sequences are drawn from a seed that contains the name, and folders have it: it keeps former words.
            name=f"types{num_types}-maximum{max_count}-delay{delay}-noise{num_noise_symbols}-length{length}-seed{seed}",
            description=(
                f"Nesting levels of {num_types} types of parentheses, at most {max_count}, delayed by {delay} steps."
            ),
            num_types=num_types,
            max_count=max_count,
            delay=delay,
            num_noise_symbols=num_noise_symbols,
            length=length,
            seed=seed,
        )


class Builder(tfds.core.GeneratorBasedBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS declares no types
    """Sequences of uniformly drawn parentheses and noise, and the nesting level of each type.

    Reference: Foerster et al., "Input Switched Affine Networks", ICML 2017, section 4.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "Initial release."}
    BUILDER_CONFIGS: ClassVar[list[CountingConfig]] = [CountingConfig.of(2, 5, 1, 1, 100, 0)]

    def _info(self) -> tfds.core.DatasetInfo:
        config = self.builder_config
        return tfds.core.DatasetInfo(
            builder=self,
            description=f"{config.description} After Foerster et al., ICML 2017, section 4.",
            features=tfds.features.FeaturesDict(
                {
                    "symbols": tfds.features.Tensor(shape=(config.length,), dtype=np.int32),
                    "counts": tfds.features.Tensor(shape=(config.length, config.num_types), dtype=np.int32),
                }
            ),
            supervised_keys=("symbols", "counts"),
            disable_shuffling=True,
            metadata=tfds.core.MetadataDict(),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Any]:
        config = self.builder_config
        rng = np.random.default_rng(list(f"{self.name} {self.VERSION} {config.name}".encode()))
        sequences = distinct(rng, sum(SIZES.values()), config)
        self.info.metadata.update(
            {
                "symbols": list(symbol_names(config.num_types, config.num_noise_symbols)),
                "seed": config.seed,
                "splits": {name: {"sequences": size} for name, size in SIZES.items()},
            }
        )
        ends = np.cumsum(list(SIZES.values()))
        return {
            name: self._generate_examples(Counts(*(array[end - size : end] for array in sequences)))
            for (name, size), end in zip(SIZES.items(), ends, strict=True)
        }

    def _generate_examples(self, examples: Counts) -> Iterator[tuple[int, dict[str, Any]]]:
        for key, (symbols, counts) in enumerate(zip(*examples, strict=True)):
            yield key, {"symbols": symbols, "counts": counts}


def distinct(rng: np.random.Generator, num_sequences: int, config: CountingConfig) -> Counts:
    """Draws sequences of which no two are the same.

    Raises:
        ValueError: if fewer than four times this number of sequences of this length exist.
    """
    num_symbols = 2 * config.num_types + config.num_noise_symbols
    if num_symbols**config.length < 4 * num_sequences:
        raise ValueError(
            f"{num_sequences:,} distinct sequences are drawn from at least four times that number. Received: length="
            f"{config.length} over {num_symbols} symbols. Choose a larger `length`."
        )
    batches = stream(
        rng,
        num_sequences,
        length=config.length,
        num_types=config.num_types,
        max_count=config.max_count,
        delay=config.delay,
        num_noise_symbols=config.num_noise_symbols,
    )
    rows: dict[bytes, tuple[Any, Any]] = {}
    while len(rows) < num_sequences:
        for row, counts in zip(*next(batches), strict=True):
            if len(rows) < num_sequences:
                rows.setdefault(row.tobytes(), (row, counts))
    return Counts(*(np.stack(arrays) for arrays in zip(*rows.values(), strict=True)))

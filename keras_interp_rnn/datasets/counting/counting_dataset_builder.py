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
"""Sequences of a split."""


@dataclasses.dataclass(kw_only=True)
class CountingConfig(tfds.core.BuilderConfig):
    """The numbers of `counting.stream`, the length of a sequence, and a seed."""

    types: int = 2
    maximum: int = 5
    delay: int = 1
    noise: int = 1
    length: int = 100
    seed: int = 0

    @classmethod
    def of(cls, types: int, maximum: int, delay: int, noise: int, length: int, seed: int) -> CountingConfig:
        """The config under the name that says its numbers."""
        return cls(
            name=f"types{types}-maximum{maximum}-delay{delay}-noise{noise}-length{length}-seed{seed}",
            description=f"Nesting levels of {types} types of parentheses, up to {maximum}, {delay} steps late.",
            types=types,
            maximum=maximum,
            delay=delay,
            noise=noise,
            length=length,
            seed=seed,
        )


class Builder(tfds.core.GeneratorBasedBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS declares no types
    """Symbols drawn uniformly, and the clipped counts that are to be put out."""

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
                    "counts": tfds.features.Tensor(shape=(config.length, config.types), dtype=np.int32),
                }
            ),
            supervised_keys=("symbols", "counts"),
            disable_shuffling=True,
            metadata=tfds.core.MetadataDict(),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Any]:
        config = self.builder_config
        rng = np.random.default_rng(list(f"{self.name} {self.VERSION} {config.name}".encode()))
        found = distinct(rng, sum(SIZES.values()), config)
        self.info.metadata.update(
            {
                "symbols": list(symbol_names(config.types, config.noise)),
                "seed": config.seed,
                "splits": {name: {"sequences": size} for name, size in SIZES.items()},
            }
        )
        ends = np.cumsum(list(SIZES.values()))
        return {
            name: self._generate_examples(Counts(*(array[end - size : end] for array in found)))
            for (name, size), end in zip(SIZES.items(), ends, strict=True)
        }

    def _generate_examples(self, examples: Counts) -> Iterator[tuple[int, dict[str, Any]]]:
        for key, (symbols, counts) in enumerate(zip(*examples, strict=True)):
            yield key, {"symbols": symbols, "counts": counts}


def distinct(rng: np.random.Generator, sequences: int, config: CountingConfig) -> Counts:
    """So many sequences, no two of them the same.

    Raises:
        ValueError: if there are fewer than four times as many of this length.
    """
    symbols = 2 * config.types + config.noise
    if symbols**config.length < 4 * sequences:
        raise ValueError(
            f"{sequences:,} different sequences are drawn from at least four times as many. Received: length="
            f"{config.length} over {symbols} symbols. Ask for longer ones."
        )
    batches = stream(rng, sequences, config.length, config.types, config.maximum, config.delay, config.noise)
    found: dict[bytes, tuple[Any, Any]] = {}
    while len(found) < sequences:
        for row, counts in zip(*next(batches), strict=True):
            if len(found) < sequences:
                found.setdefault(row.tobytes(), (row, counts))
    return Counts(*(np.stack(arrays) for arrays in zip(*found.values(), strict=True)))

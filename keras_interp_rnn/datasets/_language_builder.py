"""What the TFDS builders of formal languages share: words are drawn from a seed, and no two splits share one."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import tensorflow_datasets as tfds

Words = dict[str, bool]
"""Word -> whether it is in the language."""


@dataclasses.dataclass(kw_only=True)
class LanguageConfig(tfds.core.BuilderConfig):
    """A language and a seed.

    Attributes:
        language: the config's name without the seed; the name itself if empty.
        seed: of all words, together with the builder's version.
    """

    language: str = ""
    seed: int = 0


class LanguageBuilder(tfds.core.GeneratorBasedBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS declares no types
    """Words of a language and words outside it; a subclass says which, in `drawn`."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "Initial release."}
    ALPHABET: ClassVar[str]
    SOURCE: ClassVar[str]

    def drawn(self, language: str, rng: random.Random) -> dict[str, Words]:
        """The words of every split."""
        raise NotImplementedError

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            description=f"{self.builder_config.description} {self.SOURCE}",
            features=tfds.features.FeaturesDict(
                {"word": tfds.features.Text(), "label": tfds.features.Scalar(np.bool_)}
            ),
            supervised_keys=("word", "label"),
            disable_shuffling=True,
            metadata=tfds.core.MetadataDict(),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Any]:
        config = self.builder_config
        language = config.language or config.name
        rng = random.Random(f"{self.name} {self.VERSION} {language} {config.seed}")
        splits = self.drawn(language, rng)
        counts = {name: {"words": len(words), "positives": sum(words.values())} for name, words in splits.items()}
        self.info.metadata.update({"alphabet": self.ALPHABET, "seed": config.seed, "splits": counts})
        return {name: self._generate_examples(words, rng) for name, words in splits.items()}

    def _generate_examples(self, words: Words, rng: random.Random) -> Iterator[tuple[int, dict[str, Any]]]:
        order = list(words.items())
        rng.shuffle(order)
        for key, (word, label) in enumerate(order):
            yield key, {"word": word, "label": label}


def collect(
    positives: int,
    negatives: int,
    draw: Callable[[], str],
    accepts: Callable[[str], bool],
    corrupt: Callable[[str], str],
    taken: set[str],
) -> Words:
    """Numbers of new words of either label, none of them in `taken`, to which they are added.

    Positives come from `draw`; a negative is one of those after `corrupt`, if it is no longer in the language.
    """
    found: Words = {}
    wanted = {True: positives, False: negatives}
    for label in wanted:
        missed = 0
        while wanted[label]:
            word = draw()
            if not label:
                word = corrupt(word)
            missed += 1
            if missed > 10_000:
                raise ValueError(f"There are no {wanted[label]} more new words to be drawn. Ask for fewer.")
            if word in taken or accepts(word) != label:
                continue
            missed = 0
            found[word] = label
            taken.add(word)
            wanted[label] -= 1
    return found


def scattered(word: str, alphabet: str, rng: random.Random) -> str:
    """The word with each symbol redrawn with probability 1/2."""
    return "".join(rng.choice(alphabet) if rng.random() < 0.5 else symbol for symbol in word)

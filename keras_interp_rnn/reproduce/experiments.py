"""How the rows of a table are run: settings and what the command line asks for, to a record."""

from __future__ import annotations

import abc
import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras

from keras_interp_rnn import datasets
from keras_interp_rnn.reproduce import characters, classification, context_free, networks, reading, records, sources


@dataclasses.dataclass(frozen=True)
class Asked:
    """What the command line asks for, of one run.

    Attributes:
        data: file or folder of local data, None for TensorFlow Datasets. budget: minutes of training, None for the
            table's own. seed: of the run. folder: of the run. smoke: made-up data, and a network of toy size.
        verbose: as in `fit`.
    """

    data: Path | None
    budget: float | None
    seed: int
    folder: Path
    smoke: bool = False
    verbose: int = 2


class Experiment(abc.ABC):
    """How the rows of a table are run."""

    @abc.abstractmethod
    def run(self, row: str, settings: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
        """Runs a row; its record."""

    def data(self, settings: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
        """What a record says of the data by which they are told from others; {} where the settings say it all."""
        return {}

    def takes_minutes(self, settings: Mapping[str, Any]) -> bool:
        """Whether a row is trained for as many minutes as asked; else for the passes of its protocol."""
        return False

    def nothing_drawn(self, settings: Mapping[str, Any]) -> bool:
        """Whether a row comes out the same for every seed."""
        return False


@functools.lru_cache(maxsize=1)
def _read(source: Callable[..., Any], data: Path | None, made_up: bool, **of_data: Any) -> Any:
    try:
        return source(data, made_up, **of_data)
    except datasets.DataError as error:  # names the argument of the function that reads
        raise datasets.DataError(re.sub("`source`", "`--data`", str(error))) from None


def _loaded(source: Callable[..., Any], asked: Asked, **of_data: Any) -> Any:
    """Data that several rows have in common are read once."""
    return _read(source, asked.data, asked.smoke, **of_data)


def _of_data(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a row's settings that its data depend on."""
    return {key: settings[key] for key in ("vocabulary", "longest", "headers", "side") if key in settings}


@dataclasses.dataclass(frozen=True)
class Characters(Experiment):
    """Networks that predict the next symbol of a text.

    Attributes:
        source: (data, made up) -> the text.
    """

    source: Callable[..., characters.Text]

    def data(self, settings: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
        return {"text_sha256": _loaded(self.source, asked).info["text_sha256"]}

    def takes_minutes(self, settings: Mapping[str, Any]) -> bool:
        return not self.nothing_drawn(settings)

    def nothing_drawn(self, settings: Mapping[str, Any]) -> bool:
        return settings["network"] in networks.COUNTED

    def setting(
        self, settings: Mapping[str, Any], asked: Asked
    ) -> tuple[str, str, characters.Text, characters.Protocol]:
        """Network, size, text and protocol."""
        chosen = {"epochs": 10, **settings}
        network, size = chosen.pop("network"), chosen.pop("size")
        chosen.setdefault("learning_rate", characters.RATES[network])
        protocol = characters.Protocol(**chosen)
        if asked.smoke:
            size = "4e3"
            protocol = dataclasses.replace(protocol, batch=8, length=20, steps=3, epochs=2, warm_up=1, validation=2)
        return network, size, _loaded(self.source, asked), protocol

    def run(self, row: str, settings: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
        """Trains a row, or counts; its record."""
        if settings["network"] in networks.COUNTED:
            return characters.count(settings["network"], _loaded(self.source, asked))
        setting = self.setting(settings, asked)
        record, _ = characters.run(row, *setting, asked.folder, asked.budget, asked.seed, asked.verbose)
        return record


@dataclasses.dataclass(frozen=True)
class Classes(Experiment):
    """Networks that tell classes apart.

    Attributes:
        source: (data, made up, vocabulary, longest, headers, side) -> sequences; the last four where the settings say
            them.
    """

    source: Callable[..., classification.Sequences]

    def data(self, settings: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
        identity = _loaded(self.source, asked, **_of_data(settings)).identity()
        return {name: identity[name] for name in ("name", "sha256")}

    def takes_minutes(self, settings: Mapping[str, Any]) -> bool:
        return True

    def setting(
        self, settings: Mapping[str, Any], asked: Asked
    ) -> tuple[classification.Protocol, classification.Sequences]:
        """Protocol and sequences."""
        of_data = _of_data(settings)
        protocol = classification.Protocol(**{key: value for key, value in settings.items() if key not in of_data})
        if asked.smoke:
            small: dict[str, Any] = {"units": 4, "embedding": 4, "segment": 0, "batch": 8, "epochs": 2, "steps": 3}
            protocol = dataclasses.replace(protocol, **small, centroids=min(protocol.centroids, 3))
        return protocol, _loaded(self.source, asked, **of_data)

    def run(self, row: str, settings: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
        """Trains a row; its record."""
        setting = self.setting(settings, asked)
        record, best = classification.run(row, *setting, asked.folder, asked.budget, asked.seed, asked.verbose)
        protocol, data = setting
        # What a head makes of a centroid is known where it reads hidden states alone. And headers hold people's
        # addresses; the paper too reads the network without them.
        alone = protocol.network.startswith("SR") and protocol.head != "last_and_cell"
        if alone and data.vocabulary is not None and not settings.get("headers"):
            record["reading"] = reading.words(keras.models.load_model(best), data)
        return record


@dataclasses.dataclass(frozen=True)
class Language(Experiment):
    """Networks that learn a language from words and outsiders.

    Attributes:
        load: (split, config, data_dir) -> words. tests: splits to judge.
    """

    load: Callable[..., Any]
    tests: tuple[str, ...]

    def data(self, settings: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
        config = "small" if asked.smoke else settings["config"]
        return context_free.identity(config, self.load("train", config=config, data_dir=asked.data))

    def run(self, row: str, settings: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
        """Trains a row; its record."""
        config, passes, tests, units = settings["config"], settings["passes"], self.tests, 10
        if asked.smoke:
            config, passes, units, tests = "small", 1, 4, tests[:1]
        own = {"config": config, "passes": passes, "units": units, "seed": asked.seed}
        environment = records.begin(asked.folder, {**settings, **own})
        record, model = context_free.trained(
            config,
            settings["network"],
            functools.partial(self.load, config=config, data_dir=asked.data),
            tests,
            units,
            settings.get("centroids", 0),
            passes,
            asked.seed,
            asked.folder / "training.npz",
        )
        model.save(asked.folder / "model.keras")
        return {"environment": environment, **record}


@dataclasses.dataclass(frozen=True)
class Recommendation(Experiment):
    """Networks that say which item a user meets next."""

    def data(self, settings: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
        from keras_interp_rnn.reproduce import recommendation

        data, name = self._interactions(asked)
        return recommendation.identity(name, data)

    def _interactions(self, asked: Asked) -> tuple[datasets.interactions.Interactions, str]:
        """The data and their name."""
        if asked.smoke:
            return datasets.interactions.generate(50, 64, length=30), "smoke"
        if asked.data is None:
            raise datasets.DataError(
                "The paper's data are not public; nothing is downloaded in their place. Give a file of interactions "
                "by --data, a line `user item [time]` or `user item item ...` each, such as data/Video.txt of "
                "https://github.com/kang205/SASRec."
            )
        return datasets.interactions.load(asked.data), asked.data.name.split(".")[0]

    def run(self, row: str, settings: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
        """Trains a row; its record."""
        # Not with the others: it asks for TensorFlow, whatever Keras's backend.
        from keras_interp_rnn.reproduce import recommendation

        protocol = recommendation.Protocol()
        if asked.smoke:
            protocol = recommendation.Protocol(units=8, batch=32, epochs=2, negatives=16, probe=4, lags=(0, 5))
        data, name = self._interactions(asked)
        asked.folder.mkdir(parents=True, exist_ok=True)
        record, _ = recommendation.trained(
            settings["network"], name, data, protocol, asked.folder, asked.seed, asked.verbose
        )
        return record


@dataclasses.dataclass(frozen=True)
class Start(Experiment):
    """Jacobians before any training, of draws that are the row's own."""

    def nothing_drawn(self, settings: Mapping[str, Any]) -> bool:
        return True

    def run(self, row: str, settings: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
        """Draws networks and takes the singular values; the record."""
        from keras_interp_rnn.reproduce import recommendation

        protocol = {"units": 128, "length": 50, "batch": 16, "draws": 5, "lags": [0, 5, 10, 25], **settings}
        if asked.smoke:
            protocol = {**protocol, "units": 6, "length": 12, "batch": 2, "draws": 1, "lags": [0, 5]}
        return recommendation.start_record(protocol, recommendation.at_start(protocol))


EXPERIMENTS: dict[str, Experiment] = {
    "isan-text8": Characters(sources.text8),
    "isan-ablations": Characters(sources.text8),
    "isan-pairs": Characters(sources.pairs),
    "isan-lm1b": Characters(sources.lm1b),
    "isan-lm1b-full": Characters(sources.lm1b),
    "minimal-rnn-recommendation": Recommendation(),
    "minimal-rnn-start": Start(),
    "sr-parentheses": Language(datasets.balanced_parentheses.load, context_free.PARENTHESES),
    "sr-palindromes": Language(datasets.palindromes.load, context_free.PALINDROMES),
    "sr-imdb": Classes(sources.imdb),
    "sr-mnist": Classes(sources.mnist),
    "sr-mnist-quarter": Classes(sources.mnist),
    "sr-newsgroups": Classes(sources.newsgroups),
}
"""Table of `tables.TABLES` -> how its rows are run."""

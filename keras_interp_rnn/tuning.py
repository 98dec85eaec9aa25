"""KerasTuner hypermodels: which learning rate, clipping, scale, batch, centroids, temperature suit a network?

What is searched, and how far, follows Collins, Sohl-Dickstein and Sussillo, "Capacity and Trainability in Recurrent
Neural Networks", 2017 (arXiv:1611.09913), from where the ISAN paper took its tuning.

    python -m keras_interp_rnn tune sr-imdb --row LSTM --data aclImdb --trials 20

A search that was stopped goes on with the same command. With KerasTuner's environment variables it runs on several
machines: KERASTUNER_TUNER_ID=chief on one, tuner0, tuner1, ... on the others, KERASTUNER_ORACLE_IP and
KERASTUNER_ORACLE_PORT on all. TensorBoard's HParams tab shows the trials.
"""

from __future__ import annotations

import dataclasses
import math
import os
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

import keras

from keras_interp_rnn import callbacks
from keras_interp_rnn._extras import needed
from keras_interp_rnn.datasets import Windows
from keras_interp_rnn.reproduce import characters, classification, records, training

with needed("keras_tuner", extra="tuner", by="`keras_interp_rnn.tuning`"):
    import keras_tuner
    from sklearn.exceptions import ConvergenceWarning

__all__ = ["Characters", "Classes", "search", "trials"]


class Characters(keras_tuner.HyperModel):
    """A network that predicts the next character.

    Args:
        network, size: as `reproduce.characters.run`. text: what it reads.
        protocol: what is not searched; its steps and epochs are those of a trial.
        seed: of the first weights, the same for every trial.

    Attributes:
        worst: twice the loss of a guess, which stands for that of a training that ran away.
    """

    def __init__(
        self, network: str, size: str, text: characters.Text, protocol: characters.Protocol, seed: int = 0
    ) -> None:
        super().__init__(name=network)
        self.network, self.text, self.base, self.seed = network, text, protocol, seed
        self.units = characters.units_within(network, float(size), text.inputs, text.outputs)
        self.worst = 2 * math.log2(text.outputs)

    def protocol(self, hp: Any) -> characters.Protocol:
        """The protocol with the settings of a trial, which reads as many characters whatever its batch."""
        batch = hp.Choice("batch", sorted({self.base.batch // 2, self.base.batch, 2 * self.base.batch}))

        def as_many(windows: int) -> int:
            return max(1, windows * self.base.batch // batch)

        return dataclasses.replace(
            self.base,
            batch=batch,
            steps=as_many(self.base.steps),
            validation=None if self.base.validation is None else as_many(self.base.validation),
            learning_rate=hp.Float("learning_rate", 0.1, 30.0, sampling="log"),
            decay=hp.Choice("decay", [0.01, 0.1, 1.0]),
            clip=hp.Float("clip", 0.01, 3.0, sampling="log"),
            scale=hp.Float("scale", 0.25, 1.5),
        )

    def settings(self) -> dict[str, Any]:
        """All that a search depends on, but for its own seed."""
        own = {"network": self.network, "units": self.units, "weights_seed": self.seed, "data": self.text.info}
        return {**dataclasses.asdict(self.base), **own}

    def build(self, hp: Any) -> keras.Model:
        """A compiled model."""
        keras.utils.set_random_seed(self.seed)
        return characters.build(self.network, self.units, self.text, self.protocol(hp))

    def fit(self, hp: Any, model: keras.Model, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Trains it for the protocol's steps; the least validation loss of its epochs."""
        protocol = self.protocol(hp)

        def windows(part: str, count: int | None) -> Windows:
            read = self.text.read
            return Windows(
                self.text.parts[part], protocol.batch, length=protocol.length, num_windows=count, input_table=read
            )

        kwargs["callbacks"] = [callbacks.CarriedState(across_epochs=True), *kwargs.get("callbacks", [])]
        history = model.fit(
            windows("train", protocol.steps * protocol.epochs),
            epochs=protocol.epochs,
            steps_per_epoch=protocol.steps,
            shuffle=False,
            validation_data=windows("validation", protocol.validation),
            **kwargs,
        )
        return _least(history, self.worst)


class Classes(keras_tuner.HyperModel):
    """A network that tells classes apart.

    Args:
        protocol: what is not searched; its steps and epochs are those of a trial. data: sequences and classes.
        seed: of weights, draws and orders, the same for every trial.

    Attributes:
        worst: as of `Characters`.
    """

    def __init__(self, protocol: classification.Protocol, data: classification.Sequences, seed: int = 0) -> None:
        super().__init__(name=protocol.network)
        self.base, self.data, self.seed = protocol, data, seed
        self.worst = 2 * math.log(len(data.classes))

    def protocol(self, hp: Any) -> classification.Protocol:
        """The protocol with the settings of a trial."""
        found = {
            "learning_rate": hp.Float("learning_rate", 3e-4, 3e-2, sampling="log"),
            "decay": hp.Choice("decay", [0.01, 0.1, 1.0]),
            "clip": hp.Float("clip", 0.1, 10.0, sampling="log"),
            "dropout": hp.Float("dropout", 0.0, 0.6) if self.base.dropout else 0.0,
            "batch": hp.Choice("batch", sorted({self.base.batch // 2, self.base.batch, 2 * self.base.batch})),
        }
        if self.data.vocabulary is not None:
            found["word_dropout"] = hp.Float("word_dropout", 0.0, 0.4)
        if self.base.network.startswith("SR"):
            found["centroids"] = hp.Choice("centroids", [5, 10, 20, 50])
            # About the paper's 1; at 0.05 networks run away, as StateRegularizedCell's gradient, 1 / (12 tau), has it.
            found["temperature"] = hp.Float("temperature", 0.05, 4.0, sampling="log")
        return dataclasses.replace(self.base, **found)

    def settings(self) -> dict[str, Any]:
        """All that a search depends on, but for its own seed."""
        return {**dataclasses.asdict(self.base), "weights_seed": self.seed, "data": self.data.identity()}

    def build(self, hp: Any) -> keras.Model:
        """A compiled model."""
        protocol = self.protocol(hp)
        return classification.build(protocol, self.data, self._steps(protocol) * protocol.epochs, self.seed)

    def fit(self, hp: Any, model: keras.Model, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Trains it for the protocol's steps, or passes; half as many steps of a batch twice as large.

        Returns:
            The least validation loss of its epochs.
        """
        protocol = self.protocol(hp)
        steps = self._steps(protocol)
        kept, held_out = classification.split(self.data, self.seed)
        x, y = self.data.train
        history = model.fit(
            training.Shuffled(
                *(x[kept], y[kept], protocol.batch, self.seed),
                count=steps * protocol.epochs,
                segment=protocol.segment,
            ),
            epochs=protocol.epochs,
            steps_per_epoch=steps,
            shuffle=False,
            validation_data=(x[held_out], y[held_out]),
            **kwargs,
        )
        return _least(history, self.worst)

    def _steps(self, protocol: classification.Protocol) -> int:
        rows = self.base.steps * self.base.batch if self.base.steps else len(classification.split(self.data, 0)[0])
        return max(1, rows // protocol.batch)


def search(
    hypermodel: Characters | Classes,
    directory: str | os.PathLike[str],
    most: int = 20,
    seed: int = 0,
    verbose: int = 0,
    kept: Collection[str] = (),
) -> keras_tuner.Tuner:
    """Searches by Bayesian optimization for the settings of least validation loss, or goes on with a search.

    Args:
        hypermodel: what is trained. directory: of the search; TensorBoard reads its folder `tensorboard`.
        most: trials in all. seed: of the search. verbose: as in `fit`.
        kept: names of settings that every trial takes from the hypermodel's own protocol.

    Returns:
        The tuner; `trials` reads it.

    Raises:
        ValueError: if the search in the directory was begun with other settings, or a name in `kept` is not one of a
            setting that is searched.
    """
    directory = Path(directory)
    space = _space(hypermodel, kept)
    records.begin(directory, {**hypermodel.settings(), "seed": seed, "kept": sorted(kept)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the Gaussian process, after few trials
        # KerasTuner 1.4.8 asks for threads by their old name.
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="keras_tuner")
        # On the chief of a distributed search this ends when the search does.
        tuner = keras_tuner.BayesianOptimization(
            hypermodel,
            objective=keras_tuner.Objective("val_loss", "min"),
            max_trials=most,
            num_initial_points=max(2, most // 3),
            seed=seed,
            hyperparameters=space,
            directory=str(directory.parent),
            project_name=directory.name,
            overwrite=False,
        )
        tuner.search(callbacks=[keras.callbacks.TensorBoard(str(directory / "tensorboard"))], verbose=verbose)
    return tuner


def trials(tuner: keras_tuner.Tuner) -> list[dict[str, Any]]:
    """Settings and validation loss of every finished trial, the best first; None for one whose training ran away."""
    ordered = [trial for trial in tuner.oracle.get_best_trials(1_000_000) if trial.score is not None]
    worst = tuner.hypermodel.worst
    return [
        {
            "settings": dict(trial.hyperparameters.values),
            "val_loss": float(trial.score) if trial.score < worst else None,
        }
        for trial in ordered
    ]


def _space(hypermodel: Characters | Classes, kept: Collection[str]) -> keras_tuner.HyperParameters:
    """What is settled before a search: KerasTuner takes what it finds here for what the hypermodel asks for."""
    asked, settled = keras_tuner.HyperParameters(), keras_tuner.HyperParameters()
    hypermodel.protocol(asked)
    own = {name: getattr(hypermodel.base, name) for name in asked.values}
    told = [name for name, value in own.items() if value is not None]  # what the protocol leaves to the network is not
    for name in kept:
        if name not in told:
            raise ValueError(f"What is kept is one of {', '.join(told)}. Received: {name!r}. Leave it out.")
        settled.Fixed(name, own[name])
    return settled


def _least(history: keras.callbacks.History, worst: float) -> dict[str, float]:
    """The least validation loss, at most `worst`: KerasTuner ends at losses that are no numbers."""
    return {"val_loss": min(loss if loss < worst else worst for loss in history.history["val_loss"])}

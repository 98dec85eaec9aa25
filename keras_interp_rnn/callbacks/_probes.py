"""Base classes of callbacks that measure a network while it trains."""

from __future__ import annotations

import copy
import itertools
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_interp_rnn import _backend
from keras_interp_rnn._alphabet import Alphabet
from keras_interp_rnn._backend.keras_quirks import fit_around, optimizer_steps
from keras_interp_rnn._checks import as_path, integer
from keras_interp_rnn._network import (
    GivenAlphabet,
    carried_states,
    is_text,
    read_texts,
    recurrent_layer_inputs,
    resolve_alphabet,
)
from keras_interp_rnn._results import Tag
from keras_interp_rnn.callbacks import _summaries
from keras_interp_rnn.callbacks._base import NamedCallback, claim, release
from tensorboard_plugins.interp_rnn import schema


class Probe(NamedCallback):
    """Measures a network before the first step and every `update_freq`, and writes the result.

    A subclass defines `folder`, `measure` and `write`. Two writers in one folder hide each other's events, so each
    class has a folder of its own in `log_dir`, and a second one that would write there meanwhile is refused. In a
    search of KerasTuner each execution of a trial has a folder in `log_dir`, the one that KerasTuner gives
    `keras.callbacks.TensorBoard`. Steps are optimizer iterations and continue when a saved model is trained further. An
    error of `measure` stops the training at its beginning; later it is warned of once and nothing is written. If
    several processes train together, all measure, as that may need all of them, and the chief writes.

    Of a model that carries states over batches (`stateful=True`) a copy without states is measured, which has its
    weights: every text is read from the start, in batches of any size, and training goes on from its own states.

    Args:
        log_dir, update_freq: as the subclass documents them.

    Raises:
        ValueError: if the frequency is not positive; when training begins, if the folder cannot be made, or another
            callback writes there.
    """

    folder: str

    def __init__(self, log_dir: str | os.PathLike[str], update_freq: str | int) -> None:
        super().__init__()
        self.log_dir = as_path("log_dir", log_dir)
        self.update_freq = update_freq
        if update_freq != "epoch":
            remedy = "Pass a number of training steps, or 'epoch'."
            self.update_freq = integer("update_freq", update_freq, remedy=remedy)
        self._writer: Any = None  # a tf.summary.SummaryWriter
        self._folder: Path | None = None  # in which it writes
        self._copy: tuple[Any, Any] = None, None  # the model and its `copies.Copy`, of one that carries states

    @property
    def network(self) -> keras.Model:
        """The model, or a copy of one that carries states, which carries none."""
        return self.model if self._copy[0] is not self.model else self._copy[1].model

    def measure(self) -> Any:
        """The result to write now, of `network`, None for nothing; raises ValueError if it cannot be computed."""
        raise NotImplementedError

    def write(self, found: Any, step: int) -> None:
        """Writes a result to the default summary writer."""
        raise NotImplementedError

    def on_train_begin(self, logs: Any = None) -> None:
        found = self._measure()
        if _backend.is_chief(self.model):
            self._writer = self._new_writer()
        self._warned = False
        self._logged = optimizer_steps(self.model)
        self._write(found)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        every = self.update_freq
        if isinstance(every, int) and optimizer_steps(self.model) // every > self._logged // every:
            self._log()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.update_freq == "epoch":
            self._log()

    def on_train_end(self, logs: Any = None) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._folder is not None:
            release(self._folder, self)

    def _measure(self) -> Any:
        if carried_states.stateful_layers(self.model):
            if self._copy[0] is not self.model:
                self._copy = self.model, carried_states.copy_without(self.model)
            carried_states.copy_weights(*self._copy)
        return self.measure()

    def _new_writer(self) -> Any:
        callbacks, fit = fit_around(self)
        self._folder = _folder(self.log_dir, self.folder, callbacks)
        claim(
            self._folder, self, fit, "A folder of logs must have at most one writer, as two hide each other's events."
        )
        try:
            return _summaries.writer(self._folder)
        except OSError as error:
            raise ValueError(
                f"{type(self).__name__} must be able to write into log_dir. Received: "
                f"log_dir={str(self.log_dir)!r}, where no folder can be made ({error}). Pass another."
            ) from None

    def _log(self) -> None:
        self._logged = optimizer_steps(self.model)
        try:
            found = self._measure()
        except ValueError as error:
            if not self._warned:
                warnings.warn(
                    f"{type(self).__name__} writes nothing from step {self._logged} on. {error}", stacklevel=2
                )
            self._warned = True
        else:
            self._write(found)

    def _write(self, found: Any) -> None:
        if found is None or self._writer is None:
            return
        with self._writer.as_default():
            self.write(found, self._logged)
        self._writer.flush()


class InputProbe(Probe):
    """A probe of a layer that reads a fixed batch of inputs, as the model reads them, or of texts.

    Attributes:
        tokens: names of the ids, as the subclass documents them; None for the names that the model carries.

    Args:
        log_dir, inputs, layer, update_freq: as the subclass documents them.

    Raises:
        ValueError: if the batch is empty or the frequency is not positive.
    """

    tokens: GivenAlphabet | None = None

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        inputs: Any,
        layer: str | keras.layers.Layer | None,
        update_freq: str | int,
    ) -> None:
        super().__init__(log_dir, update_freq)
        self.inputs = copied(inputs)
        self.layer = layer
        parts = [] if is_text(inputs) else keras.tree.flatten(self.inputs)
        if not (parts or is_text(inputs)) or any(part.ndim == 0 or len(part) == 0 for part in parts):
            raise ValueError(
                f"{type(self).__name__} must read a fixed batch of sequences. Received: none. Pass a few sequences."
            )

    def resolved(self) -> tuple[keras.Model, Alphabet | None]:
        """The model from the ids on, and their names."""
        return resolve_alphabet(self.network, self.tokens)

    def read(self, inputs: Any) -> Any:
        """Inputs as the model reads them, texts as ids."""
        return read_texts(inputs, self.resolved()[1])

    def layer_and_reads(self, inputs: Any) -> tuple[keras.layers.Layer, Any, Any]:
        """The measured layer, its inputs when the model is given these inputs, and its mask or None."""
        if isinstance(self.layer, keras.layers.Layer):
            if getattr(self.layer, "stateful", False) and not self.layer.built:
                raise ValueError(
                    "A layer that carries states must be built, so that the training begins as it does without the "
                    f"callback. Received: {self.layer.name}, which is not. Call the model once."
                )
            return self.layer, self.read(inputs), None
        return recurrent_layer_inputs(self.resolved()[0], self.read(inputs), self.layer)


def write_tag(name: str, tag: Tag, step: int, **more: Any) -> None:
    """Writes a tag of the plugin to the default summary writer; `more` are further entries of its description."""
    values, description = tag
    _summaries.tensor(name, values, step, schema.metadata(**description, **more))


def copied(inputs: Any) -> Any:
    """A copy of inputs, as arrays, or of texts, which the caller cannot change."""
    return copy.deepcopy(inputs) if is_text(inputs) else keras.tree.map_structure(np.array, inputs)


def copied_text(text: Any) -> Any:
    """A copy of one text: a string, or an array of ids or of symbols."""
    return text if isinstance(text, str) else np.array(text)


def length_of(text: Any) -> tuple[int, ...]:
    """The shape of a copied text; (T,) if it is valid."""
    return (len(text),) if isinstance(text, str) else tuple(text.shape)


def _folder(log_dir: Path, name: str, callbacks: Sequence[keras.callbacks.Callback]) -> Path:
    """The folder for events, inside that of the KerasTuner trial to which the callbacks belong, if any.

    KerasTuner copies all callbacks for each execution of a trial, but changes `log_dir` only of a class with the name
    TensorBoard. It adds a callback with the trial, which does not have the number of the execution.
    """
    trials = (getattr(getattr(callback, "trial", None), "trial_id", None) for callback in callbacks)
    trial = next((trial for trial in trials if trial is not None), None)
    if trial is None or trial in log_dir.parts:
        return log_dir / name
    folders: Iterator[Path] = (log_dir / trial / f"execution{i}" / name for i in itertools.count())
    return next(folder for folder in folders if not folder.exists())

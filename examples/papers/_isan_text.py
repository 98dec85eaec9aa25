"""A trained ISAN and its text, for the experiments that take one apart (Foerster et al., 2017, sections 3.1 to 3.6)."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.papers import _records
from examples.papers._experiment import Experiment, Record, Run
from examples.papers._lazy import Array, analysis, datasets, keras, layers, losses, np, presets, training

BATCH, LENGTH = 64, 50
UNITS, STEPS, EPOCHS = 128, 100, 6
"""State size and training of the ISAN that is read where `--model` names none."""

NUM_TEXTS, OF_MEAN = 60, 1000
"""Number of the texts, from the start of the training text, on which the mean state is taken, and their length."""


class IsanText(Experiment):
    """An experiment that reads a trained ISAN, and the text that it was trained on.

    Without a model it trains a small one, which all these experiments on a text share.
    """

    data = "the text that --model was trained on (.zip, .xz, .gz or plain); else Python's own documentation"
    options = frozenset({"data", "model"})

    @abc.abstractmethod
    def analyse(self, model: keras.Model, parts: Sequence[Array], run: Run) -> tuple[Record, Record]:
        """Protocol and result of a record.

        Args:
            model: an ISAN of 27 symbols and a linear readout. parts: training, validation and test text.
        """

    def run(self, run: Run) -> Record:
        name, symbols = self.load(run)
        parts, num_symbols = datasets.text.split(symbols), len(datasets.text.ALPHABET)
        if run.model is None or run.smoke:
            model = _small(parts, run, _records.sha256(symbols))
        elif not run.model.is_file():
            raise ValueError(f"`--model` must be a file. Received: {run.model}. Leave it out to train one.")
        elif run.model.suffix == ".npz":
            model = presets.load(run.model.stem, source=run.model).model
        else:
            model = keras.models.load_model(run.model)
        isan = [layer for layer in model.layers if isinstance(layer, layers.ISAN)]
        if [layer.vocabulary_size for layer in isan] != [num_symbols]:
            raise ValueError(
                f"A model on text must have one ISAN of {num_symbols} symbols. Received: --model {run.model}, with "
                f"{[layer.vocabulary_size for layer in isan]}. Train one by `python -m examples.papers run isan-text8`."
            )
        protocol, result = self.analyse(model, parts, run)
        sizes = {"layer": "ISAN", "units": isan[0].units, "parameters": model.count_params()}
        return {
            "data": {"name": name, **self.identity(run)},
            "model": {**sizes, "sha256": _records.sha256(*model.get_weights())},
            "protocol": {**protocol, "seed": run.seed},
            "result": result,
        }

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> tuple[str, Array]:
        """Name and symbols of a text: of a file, or of Python's own documentation, which `smoke` shortens."""
        text = datasets.text
        if smoke:
            return "smoke", text.python_documentation()[:200_000]
        return ("Python documentation", text.python_documentation()) if data is None else (data.name, text.read(data))

    def identity(self, run: Run) -> dict[str, Any]:
        model = run.model if run.model is not None and run.model.is_file() and not run.smoke else None
        digest = "" if model is None else _records.sha256(np.fromfile(model, np.uint8))
        return {"text_sha256": datasets.text.sha256(self.load(run)[1]), "model_file_sha256": digest}

    def called(self, record: Record) -> str:
        model = record["model"]
        sizes = f"ISAN of {model['units']} units, {model['parameters']:,} weights"
        return f"{record['data']['name']}, {sizes}, sha256 of the weights `{model['sha256'][:16]}…`"


def texts(symbols: Array) -> list[Array]:
    return [symbols[i : i + OF_MEAN] for i in range(0, min(len(symbols), NUM_TEXTS * OF_MEAN), OF_MEAN)]


def origins(model: keras.Model, symbols: Array) -> dict[str, Array | None]:
    """Name -> origin of the state: where training left it, and the mean state on the start of the text."""
    return {"as trained": None, "mean state": analysis.mean_state(model, texts(symbols))}


def train(recurrent: Callable[[], keras.layers.Layer], parts: Sequence[Array], run: Run, epochs: int = 1) -> Any:
    """A model that predicts the next symbol from the states of a layer; resumes its training in the folder of the run.

    Args:
        recurrent: makes the layer. parts: as `IsanText.analyse`. run: its settings have the steps of an epoch.
    """
    steps, symbols = run.settings["steps"], len(datasets.text.ALPHABET)

    def build() -> keras.Model:
        keras.utils.set_random_seed(run.seed)
        layer = recurrent()
        embedding = [] if isinstance(layer, layers.ISAN) else [keras.layers.Embedding(symbols, symbols)]
        inputs = keras.Input((LENGTH,), batch_size=BATCH, dtype="int32")
        model = keras.Sequential([inputs, *embedding, layer, keras.layers.Dense(symbols)])
        rate = training.schedule(2e-3, steps * epochs, 0, 0.02)
        model.compile(keras.optimizers.Adam(rate, global_clipnorm=1.0), losses.BitsPerSymbol())
        return model

    def windows(part: Array, **which: Any) -> Any:
        return datasets.Windows(part, BATCH, length=LENGTH, **which)

    def batches(start: int, count: int) -> Any:
        return windows(parts[0], start=start, num_windows=count)

    validation = windows(parts[1], num_windows=20)
    return training.fit(run.folder, build, batches, validation, steps, epochs, run.verbose).load_best()


def _small(parts: Sequence[Array], run: Run, digest: str) -> Any:
    units, steps, epochs = (12, 20, 1) if run.smoke else (UNITS, STEPS, EPOCHS)
    folder = run.folder.parent / f"isan-text-{digest[:8]}-{run.seed}"
    settings = {"units": units, "steps": steps, "epochs": epochs, "text_sha256": digest, "seed": run.seed}
    _records.start_run(folder, settings)

    def isan() -> layers.ISAN:
        return layers.ISAN(units, len(datasets.text.ALPHABET), return_sequences=True, stateful=True)

    return train(isan, parts, dataclasses.replace(run, folder=folder, settings=settings), epochs)

"""A trained ISAN and its text, for the experiments that take one apart (Foerster et al., 2017, sections 3.1 to 3.6)."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.papers import _records
from examples.papers._experiment import Experiment, Record, Run, runs

if TYPE_CHECKING:
    import keras
    from numpy.typing import NDArray

BATCH, LENGTH = 64, 50
UNITS, STEPS, EPOCHS = 128, 100, 6
"""State size and training of the ISAN that stands in where no trained one is given."""

NUM_TEXTS, OF_MEAN = 60, 1000
"""Number of the texts, from the start of the training text, on which the mean state is taken, and their length."""


class IsanText(Experiment):
    """An experiment that reads a trained ISAN, and the text that it was trained on.

    Without a model it trains a small one, which all these experiments on a text share.
    """

    data = "the text that --model was trained on (.zip, .xz, .gz or plain); else Python's own documentation"
    options = frozenset({"data", "model"})

    @abc.abstractmethod
    def analyse(self, model: keras.Model, parts: Sequence[NDArray[Any]], run: Run) -> tuple[Record, Record]:
        """Protocol and result of a record.

        Args:
            model: an ISAN of 27 symbols and a linear readout. parts: training, validation and test text.
        """

    def run(self, run: Run) -> Record:
        import keras

        from keras_interp_rnn import figures, layers  # noqa: F401 - figures asks for matplotlib before the training
        from keras_interp_rnn.datasets import text

        name, symbols = self.load(run)
        parts = text.split(symbols)
        if run.model is None or run.smoke:
            model = _small(parts, run, _records.sha256(symbols))
        elif not run.model.is_file():
            raise ValueError(f"A trained model is a file. Received: --model {run.model}. Leave it out to train one.")
        else:
            model = keras.models.load_model(run.model)
        isan = [layer for layer in model.layers if isinstance(layer, layers.ISAN)]
        if [layer.vocabulary_size for layer in isan] != [len(text.ALPHABET)]:
            raise ValueError(
                f"A model on text has one ISAN of {len(text.ALPHABET)} symbols. Received: --model {run.model}, with "
                f"{[layer.vocabulary_size for layer in isan]}. Train one by `python -m examples.papers run isan-text8`."
            )
        protocol, result = self.analyse(model, parts, run)
        return {
            "data": {"name": name, **self.identity(run)},
            "model": {
                **{"layer": "ISAN", "units": isan[0].units, "parameters": model.count_params()},
                "sha256": _records.sha256(*model.get_weights()),
            },
            "protocol": {**protocol, "seed": run.seed},
            "result": result,
        }

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> tuple[str, NDArray[Any]]:
        """As `characters`."""
        return characters(data, smoke)

    def identity(self, run: Run) -> dict[str, Any]:
        import numpy as np

        from keras_interp_rnn.datasets import text

        model = run.model if run.model is not None and run.model.is_file() and not run.smoke else None
        digest = "" if model is None else _records.sha256(np.fromfile(model, np.uint8))
        return {"text_sha256": text.sha256(self.load(run)[1]), "model_file_sha256": digest}

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        return {"table": self.table(records), "runs": runs(records, text_and_model)}

    @abc.abstractmethod
    def table(self, records: Sequence[Record]) -> str:
        """The figures of the records as Markdown."""


def origins(model: keras.Model, symbols: NDArray[Any]) -> dict[str, NDArray[Any] | None]:
    """Name -> origin of the state: where training left it, and the mean state on the start of the text."""
    from keras_interp_rnn import analysis

    texts = [symbols[i : i + OF_MEAN] for i in range(0, min(len(symbols), NUM_TEXTS * OF_MEAN), OF_MEAN)]
    return {"as trained": None, "mean state": analysis.mean_state(model, texts)}


def characters(data: Path | None, smoke: bool) -> tuple[str, NDArray[Any]]:
    """Name and symbols of a text: of a file, or of Python's own documentation, which `smoke` shortens."""
    from keras_interp_rnn.datasets import text

    if smoke:
        return "smoke", text.python_documentation()[:200_000]
    if data is None:
        return "Python documentation", text.python_documentation()
    return data.name, text.read(data)


def train(recurrent: Callable[[], keras.layers.Layer], parts: Sequence[NDArray[Any]], run: Run, epochs: int = 1) -> Any:
    """A model that predicts the next symbol from the states of a layer; resumes its training in the folder of the run.

    Args:
        recurrent: makes the layer. parts: as `IsanText.analyse`. run: its settings have the steps of an epoch.
    """
    import keras

    from examples.papers import _training
    from keras_interp_rnn import layers, losses
    from keras_interp_rnn.datasets import Windows, text

    steps, symbols = run.settings["steps"], len(text.ALPHABET)

    def build() -> keras.Model:
        keras.utils.set_random_seed(run.seed)
        layer = recurrent()
        embedding = [] if isinstance(layer, layers.ISAN) else [keras.layers.Embedding(symbols, symbols)]
        inputs = keras.Input((LENGTH,), batch_size=BATCH, dtype="int32")
        model = keras.Sequential([inputs, *embedding, layer, keras.layers.Dense(symbols)])
        rate = _training.schedule(2e-3, steps * epochs, 0, 0.02)
        model.compile(keras.optimizers.Adam(rate, global_clipnorm=1.0), losses.BitsPerSymbol())
        return model

    done = _training.fit(
        run.folder,
        build,
        lambda start, count: Windows(parts[0], BATCH, length=LENGTH, start=start, num_windows=count),
        Windows(parts[1], BATCH, length=LENGTH, num_windows=20),
        steps,
        epochs,
        run.verbose,
    )
    return done.load_best()


def text_and_model(record: Record) -> str:
    """What a record of these experiments is called."""
    model = record.get("model")
    if model is None:
        return str(record["data"]["name"])
    return (
        f"{record['data']['name']}, ISAN of {model['units']} units, {model['parameters']:,} weights, sha256 of the "
        f"weights `{model['sha256'][:16]}…`"
    )


def _small(parts: Sequence[NDArray[Any]], run: Run, digest: str) -> Any:
    from keras_interp_rnn import layers
    from keras_interp_rnn.datasets import text

    units, steps, epochs = (12, 20, 1) if run.smoke else (UNITS, STEPS, EPOCHS)
    folder = run.folder.parent / f"isan-text-{digest[:8]}-{run.seed}"
    settings = {"units": units, "steps": steps, "epochs": epochs, "text_sha256": digest, "seed": run.seed}
    _records.start_run(folder, settings)

    def isan() -> layers.ISAN:
        return layers.ISAN(units, len(text.ALPHABET), return_sequences=True, stateful=True)

    return train(isan, parts, dataclasses.replace(run, folder=folder, settings=settings), epochs)

"""A trained ISAN made smaller by balanced truncation: what it costs, before and after further training."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from examples.papers import _characters, _isan_text, _records
from examples.papers._experiment import Record, Run, table

if TYPE_CHECKING:
    import keras
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from keras_interp_rnn.analysis.weighted.truncation import Truncation

RATES = {"fine-tuned": 0.1, "from scratch": _characters.RATES["ISAN"]}
"""Adam's highest learning rate times the number of units, by how the training starts."""

SPEED_WINDOWS, SPEED_PASSES = 20, 5
"""Scoring is timed over this number of batches, each network in turn, this number of times."""


class TruncatedIsan(_isan_text.IsanText):
    """Bits per character of an ISAN truncated to fewer units, of that fine-tuned, and of that size from scratch."""

    name = "isan-truncation"
    title = "Truncation: a smaller ISAN from a trained one"
    place = "no table of the papers"
    measure = "bits per character"
    options = frozenset({"data", "model", "budget"})
    minutes = 10
    rows = {f"{units} units": {"units": units} for units in (192, 160, 128)}

    def analyse(self, model: keras.Model, parts: Sequence[NDArray[Any]], run: Run) -> tuple[Record, Record]:
        from keras_interp_rnn import analysis
        from keras_interp_rnn.datasets import text

        units = 8 if run.smoke else run.settings["units"]
        small: dict[str, Any] = {"batch": 8, "length": 20, "steps": 3, "epochs": 2, "warm_up": 1, "validation": 2}
        protocol = _characters.Protocol(**({"epochs": 10, "validation": 16, **(small if run.smoke else {})}))
        weighed, length = (5, 100) if run.smoke else (_isan_text.NUM_TEXTS, _isan_text.OF_MEAN)
        before = next(layer.units for layer in model.layers if hasattr(layer, "vocabulary_size"))
        if units >= before:
            raise ValueError(
                f"A network is truncated to fewer units than it has. Received: row {run.row!r}, and a network of "
                f"{before}. Pass a larger one by --model; `run isan-text8 --rows ISAN-1.28e6` trains it."
            )
        texts = [parts[0][i : i + length] for i in range(0, weighed * length, length)]
        truncated = analysis.truncate(model, units, sequences=texts)
        info = {"text_sha256": text.sha256(self.load(run)[1])}
        names = ("train", "validation", "test")
        source = _characters.Text(dict(zip(names, parts, strict=True)), len(text.ALPHABET), None, info)
        networks = {"whole": _copy(model, before, source, protocol)}
        networks["truncated"] = started = _filled(_characters.build("ISAN", units, source, protocol), truncated)
        protocol, minutes = _planned(units, source, protocol, run)
        curves: dict[str, Any] = {}
        for start in RATES:
            networks[start], curves[start] = _trained(start, started, units, source, protocol, run)
        result = {
            "test_bits": {name: _bits(network, source, protocol, run) for name, network in networks.items()},
            "characters_per_second": _speed(networks, source, protocol),
            "logit_error": truncated.logit_error,
            "largest_logit_error": truncated.residual,
            "singular_values": truncated.singular_values.tolist(),
            "curves": curves,
        }
        settings = {**dataclasses.asdict(protocol), "learning_rate": RATES, "minutes": minutes, "units": units}
        return {**settings, "weighed_by": sum(map(len, texts))}, result

    def summary(self, record: Record) -> str:
        return ", ".join(f"{name} {bits:.3f}" for name, bits in record["result"]["test_bits"].items())

    def table(self, records: Sequence[Record]) -> str:
        rows = []
        for record in sorted(records, key=_units):
            bits, speed = (record["result"][key] for key in ("test_bits", "characters_per_second"))
            protocol = record["protocol"]
            read = protocol["epochs"] * protocol["steps"] * protocol["batch"] * protocol["length"]
            rows.append(
                [
                    *(record["data"]["name"], record["model"]["units"], _units(record)),
                    *(f"{bits[name]:.3f}" for name in ("whole", "truncated", *RATES)),
                    *(
                        f"{protocol['minutes'] or 0:g}",
                        f"{read / 1e6:,.0f} M",
                        f"{speed['truncated'] / speed['whole']:.2f}",
                    ),
                ]
            )
        header = [
            "text",
            "units before",
            "units",
            "whole",
            "truncated",
            *RATES,
            "minutes of each",
            "read by each",
            "speed of scoring",
        ]
        return table(header, rows)

    def pictures(self, records: Sequence[Record]) -> dict[str, Figure]:
        from examples.papers import figures

        records = sorted(records, key=_units)
        units = [_units(record) for record in records]
        bits = [record["result"]["test_bits"] for record in records]
        curves = {name: [one[name] for one in bits] for name in ("truncated", *RATES)}
        before = (records[-1]["model"]["units"], bits[-1]["whole"])
        return {"isan-truncation.png": figures.bits_by_units(units, curves, before=before)}


def _units(record: Record) -> int:
    return int(record["protocol"]["units"])


def _copy(model: keras.Model, units: int, source: _characters.Text, protocol: _characters.Protocol) -> keras.Model:
    """The network with the batch and the windows of the protocol."""
    copied = _characters.build("ISAN", units, source, protocol)
    copied.set_weights(model.get_weights())
    return copied


def _filled(model: keras.Model, truncated: Truncation) -> keras.Model:
    """The model with the weights of a truncated network."""
    isan, head = model.layers
    isan.set_weights(truncated.layer.get_weights())
    head.set_weights([truncated.readout.matrix, truncated.readout.offset])
    return model


def _planned(
    units: int, source: _characters.Text, protocol: _characters.Protocol, run: Run
) -> tuple[_characters.Protocol, float]:
    """The protocol with the number of steps that fit into the minutes of a training, and these minutes."""
    from examples.papers import _training
    from keras_interp_rnn.datasets import Windows

    if run.minutes is None:
        return protocol, 0.0

    def windows() -> Windows:
        return Windows(source.parts["train"], protocol.batch, length=protocol.length)

    run.folder.mkdir(parents=True, exist_ok=True)
    step = _training.trial_steps(lambda: (_characters.build("ISAN", units, source, protocol), windows()))
    steps = _training.steps_for_minutes(run.folder, run.minutes, protocol.epochs, step)
    return dataclasses.replace(protocol, steps=steps), run.minutes


def _trained(
    start: str,
    truncated: keras.Model,
    units: int,
    source: _characters.Text,
    protocol: _characters.Protocol,
    run: Run,
) -> tuple[keras.Model, list[dict[str, float]]]:
    """A network trained from the truncated weights, or from random ones; resumed in a folder of its own."""
    import keras

    from examples.papers import _training
    from keras_interp_rnn.datasets import Windows

    folder = run.folder / start.replace(" ", "-")
    chosen = dataclasses.replace(protocol, learning_rate=RATES[start])
    weights = truncated.get_weights() if start == "fine-tuned" else []
    own = {"units": units, "seed": run.seed, "start": _records.sha256(*weights), "data": source.info}
    _records.start_run(folder, {**dataclasses.asdict(chosen), **own})

    def build() -> keras.Model:
        keras.utils.set_random_seed(run.seed)
        model = _characters.build("ISAN", units, source, chosen)
        if weights:
            model.set_weights(weights)
        return model

    def windows(part: str, **which: Any) -> Windows:
        return Windows(source.parts[part], chosen.batch, length=chosen.length, **which)

    print(f"\n{run.row}, {start}.")
    done = _training.fit(
        folder,
        build,
        lambda first, count: windows("train", start=first, num_windows=count),
        windows("validation", num_windows=chosen.validation),
        chosen.steps,
        chosen.epochs,
        run.verbose,
    )
    return done.load_best(), done.history


def _bits(network: keras.Model, source: _characters.Text, protocol: _characters.Protocol, run: Run) -> float:
    from keras_interp_rnn.datasets import Windows

    some = 2 if run.smoke else None
    test = Windows(source.parts["test"], protocol.batch, length=protocol.length, num_windows=some)
    return float(network.evaluate(test, verbose=0))


def _speed(
    networks: dict[str, keras.Model], source: _characters.Text, protocol: _characters.Protocol
) -> dict[str, float]:
    """Characters per second of `predict_on_batch`: the median of passes in which the networks take turns."""
    from keras_interp_rnn.datasets import Windows

    batch = Windows(source.parts["test"], protocol.batch, length=protocol.length, num_windows=1)[0][0]
    seconds: dict[str, list[float]] = {name: [] for name in networks}
    for _ in range(SPEED_PASSES + 1):
        for name, network in networks.items():
            began = time.monotonic()
            for _ in range(SPEED_WINDOWS):
                network.predict_on_batch(batch)
            seconds[name].append(time.monotonic() - began)
    each = SPEED_WINDOWS * batch.size
    return {name: each / statistics.median(times[1:]) for name, times in seconds.items()}

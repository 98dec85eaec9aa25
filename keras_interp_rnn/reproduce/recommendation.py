"""The MinimalRNN paper's recommender: which item will a user meet next (Chen, 2017, section 3)?

One protocol for every recurrent layer: items (and time gaps, where known) are embedded and read in order, and the state
is compared with the embeddings of all items. Training draws negatives (sampled softmax), evaluation ranks the whole
catalogue, in chunks. The backend is TensorFlow.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_interp_rnn import analysis, callbacks, layers
from keras_interp_rnn.analysis.jacobians import PERCENTILES
from keras_interp_rnn.datasets import interactions
from keras_interp_rnn.recommender import Catalogue, Recommender
from keras_interp_rnn.reproduce import records, training

ARCHITECTURES = ("vanilla", "GRU", "CFN", "MinimalRNN")
TOP = 20


def recurrent_layer(kind: str, units: int, features: int, seed: int, **flags: Any) -> keras.layers.Layer:
    """One of `ARCHITECTURES`, every matrix orthogonal and drawn by itself, as in the paper."""
    seeds = iter(range(100 * seed, 100 * seed + 100))

    def orthogonal() -> keras.initializers.Initializer:
        return keras.initializers.Orthogonal(seed=next(seeds))

    both = {"kernel_initializer": orthogonal(), "recurrent_initializer": orthogonal()}
    if kind == "vanilla":
        return keras.layers.SimpleRNN(units, **both, **flags)
    if kind == "CFN":
        return layers.CFN(units, **both, **flags)
    if kind == "MinimalRNN":
        encoder = keras.layers.Dense(units, "tanh", kernel_initializer=orthogonal())
        return layers.MinimalRNN(units, encoder=encoder, **both, **flags)
    if kind != "GRU":
        raise ValueError(f"The architectures are {ARCHITECTURES}. Received: {kind!r}.")
    layer = keras.layers.GRU(units, **flags)
    layer.build((None, None, features))
    for weight in (layer.cell.kernel, layer.cell.recurrent_kernel):  # Keras draws the three gates as one matrix
        weight.assign(np.concatenate([orthogonal()((weight.shape[0], units)) for _ in range(3)], axis=1))
    return layer


def recommender(kind: str, items: int, units: int, with_gaps: bool, seed: int = 0, negatives: int = 512) -> Recommender:
    """Items, and time gaps in a quarter as many features, through one recurrent layer, to states of `units`."""
    keras.utils.set_random_seed(seed)
    catalogue = Catalogue(items, units, negatives, seed, name="catalogue")
    inputs = {"items": keras.Input((None,), dtype="int32", name="items")}
    read, features = catalogue(inputs["items"]), units
    if with_gaps:
        inputs["gaps"] = keras.Input((None,), dtype="int32", name="gaps")
        features += units // 4
        gaps = keras.layers.Embedding(interactions.GAPS, units // 4, name="gaps_embedding")(inputs["gaps"])
        read = keras.layers.Concatenate()([read, gaps])
    layer = recurrent_layer(kind, units, features, seed, return_sequences=True, name="recurrent")
    return Recommender(inputs, layer(read))


class Validation(keras.callbacks.Callback):
    """Ranks held-out items after every epoch, and takes the singular values of the Jacobians on a fixed batch.

    Args:
        examples: to be ranked. probe: model inputs. lags: as `analysis.jacobian_singular_values`.
        checkpoint: a file, written after every epoch, from which `load` goes on; None for none.

    Attributes:
        curve: per epoch the training steps and seconds so far, the metrics, and the singular values' percentiles
            (`PERCENTILES`), a row per lag.
        seconds: of training, without validation.
        best: highest MAP so far. weights: the model's there.
    """

    def __init__(
        self, examples: interactions.Examples, probe: Any, lags: Sequence[int], checkpoint: Path | None = None
    ) -> None:
        super().__init__()
        self.examples, self.probe, self.lags, self.checkpoint = examples, probe, lags, checkpoint
        self.curve: list[dict[str, Any]] = []
        self.seconds, self.best = 0.0, -1.0

    def load(self, model: Recommender) -> None:
        """Sets a compiled model to what the checkpoint holds, if there is one; the next epoch is `len(curve)`."""
        if self.checkpoint is not None and self.checkpoint.exists():
            self.weights, progress = training.load_progress(self.checkpoint, model)
            self.curve = progress["curve"]
            self.seconds = self.curve[-1]["seconds"]
            self.best = max(point[f"map_{TOP}"] for point in self.curve)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._start = time.monotonic()

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        self.seconds += time.monotonic() - self._start
        found = metrics(ranks(self.model, self.examples))
        values = analysis.jacobian_singular_values(self.model, self.probe, lags=self.lags).reshape(len(self.lags), -1)
        self.curve.append(
            {
                "step": int(self.model.optimizer.iterations),
                "seconds": self.seconds,
                **found,
                "singular_values": np.percentile(values, PERCENTILES, axis=1).T.tolist(),
            }
        )
        if logs is not None:
            logs.update({f"val_{name}": value for name, value in found.items()})
        if found[f"map_{TOP}"] > self.best:
            self.best, self.weights = found[f"map_{TOP}"], self.model.get_weights()
        if self.checkpoint is not None:
            training.save_progress(self.checkpoint, self.model, self.weights, {"curve": self.curve})


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How a recommender is trained.

    Args:
        units: of the layer and of an item's embedding. batch: histories. epochs: of training. learning_rate: Adam's.
        longest: interactions kept of a user. negatives: items drawn for a batch. probe: histories whose Jacobians are
            taken after each epoch, at these lags.
    """

    units: int = 64
    batch: int = 128
    epochs: int = 20
    learning_rate: float = 3e-3
    longest: int = 500
    negatives: int = 512
    probe: int = 16
    lags: tuple[int, ...] = (0, 10, 25)


def identity(name: str, data: interactions.Interactions) -> dict[str, Any]:
    """What a record says of the data."""
    return {
        **{"name": name, "items": len(data.names), "interactions": len(data.items)},
        "sha256": records.sha256(data.items, data.starts, *([] if data.gaps is None else [data.gaps])),
    }


def trained(
    kind: str,
    name: str,
    data: interactions.Interactions,
    protocol: Protocol,
    folder: Path,
    seed: int = 0,
    verbose: int = 1,
) -> tuple[dict[str, Any], Recommender]:
    """Trains a recommender, or goes on with it, and judges its best epoch by validation MAP on each user's last item.

    Args:
        kind: one of `ARCHITECTURES`. name: of the data. folder: checkpoint, model and TensorBoard's logs go there.
        seed: of weights and orders. verbose: as in `fit`.

    Returns:
        The record, and the model.
    """
    about = identity(name, data)
    own = {"network": kind, "seed": seed, "data": about}
    environment = records.begin(folder, {**dataclasses.asdict(protocol), **own})
    train, validation, test = data.leave_one_out(protocol.longest)
    model = recommender(kind, len(data.names), protocol.units, data.gaps is not None, seed, protocol.negatives)
    # As many negatives as are found: no fixed shape for XLA.
    model.compile(keras.optimizers.Adam(protocol.learning_rate, global_clipnorm=1.0), jit_compile=False)
    long_enough = np.flatnonzero(np.minimum(validation.histories.lengths, protocol.longest) > max(protocol.lags))
    probe = validation.histories.padded(long_enough[: protocol.probe])
    watch = Validation(validation, probe, protocol.lags, folder / "training.npz")
    watch.load(model)
    histograms = callbacks.JacobianHistograms(folder, probe, lags=protocol.lags)
    print(f"\n{name}, {kind}, seed {seed}: {model.count_params():,} weights.")
    done = len(watch.curve)
    if done < protocol.epochs:
        batches = interactions.TrainingBatches(train, protocol.batch, seed=seed, epoch=done)
        how = {"epochs": protocol.epochs, "initial_epoch": done, "verbose": verbose, "shuffle": False}
        model.fit(batches, callbacks=[histograms, watch], **how)
    model.set_weights(watch.weights)
    found = metrics(ranks(model, test))
    model.save(folder / "model.keras")
    result: dict[str, Any] = {**found, "validation_map_20": watch.best, "seconds": watch.seconds}
    result["popularity"] = popularity(data)
    if kind == "MinimalRNN":
        result["gate"] = gate_weights(latent_weights(model)[1])
    record = {
        "experiment": "recommend",
        "environment": environment,
        "data": about,
        "model": {"layer": kind, "seed": seed, "parameters": model.count_params()},
        "protocol": dataclasses.asdict(protocol),
        "result": result,
        "curve": watch.curve,
    }
    return record, model


def latent_weights(model: Recommender) -> tuple[NDArray[np.float32], NDArray[np.float32], dict[str, int]]:
    """What figure 3 shows of a MinimalRNN: W_x (features, n), U_h (n, n) as the layer has it, features by input."""
    cell = model.get_layer("recurrent").cell
    kernel, recurrent = (np.asarray(weight.value) for weight in (cell.encoder.kernel, cell.recurrent_kernel))
    items = model.get_layer("catalogue").size
    blocks = {"item": items, "time gap": len(kernel) - items}
    return kernel, recurrent, {name: features for name, features in blocks.items() if features}


def gate_weights(recurrent: NDArray[np.floating]) -> dict[str, float]:
    """What the paper says of U_h in figure 3, in numbers.

    Args:
        recurrent: (n, n), entry (j, i) by which h[j] moves entry i of the gate.

    Returns:
        diagonal: mean |U_h[j, j]|. moving: the largest, over j, of the mean |U_h[j, i]|, i != j: of a dimension that
            acts on all of the gate. moved: the largest, over i, of the mean |U_h[j, i]|, j != i: of an entry on which
            all of the state acts. All over the mean |U_h[j, i]|, i != j.
    """
    sizes = np.abs(np.asarray(recurrent, np.float64))
    diagonal, others = np.diagonal(sizes), len(sizes) - 1
    moving, moved = ((sizes.sum(axis=axis) - diagonal) / others for axis in (1, 0))
    found = {"diagonal": diagonal.mean(), "moving": moving.max(), "moved": moved.max()}
    return {name: float(size / moving.mean()) for name, size in found.items()}


def at_start(protocol: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Singular values of the Jacobians of untrained networks, all matrices orthogonal, inputs normal (figure 4).

    Args:
        protocol: units, length, batch, draws, lags, scale: `draws` of all weights and of `batch` sequences of `length`
            steps whose entries have the standard deviation `scale`. gate_bias, if it is there: one bias for the gate
            that keeps the state, in every architecture that has one; otherwise each layer's own default.

    Returns:
        {architecture: (lags, values)}.
    """
    units, lags, gate_bias = protocol["units"], protocol["lags"], protocol.get("gate_bias")
    kinds = [kind for kind in ARCHITECTURES if gate_bias is None or kind != "vanilla"]
    found: dict[str, list[NDArray[np.float64]]] = {kind: [] for kind in kinds}
    for draw in range(protocol["draws"]):
        shape = (protocol["batch"], protocol["length"], units)
        inputs = np.random.default_rng(draw).normal(scale=protocol["scale"], size=shape).astype("float32")
        for kind, values in found.items():
            layer = recurrent_layer(kind, units, units, seed=draw)
            if gate_bias is not None:
                set_gate_bias(layer, gate_bias, units)
            values.append(analysis.jacobian_singular_values(layer, inputs, lags=lags).reshape(len(lags), -1))
    return {kind: np.concatenate(values, axis=1) for kind, values in found.items()}


def set_gate_bias(layer: keras.layers.RNN, value: float, features: int) -> None:
    """Sets the bias of the gate that keeps the state; in a CFN minus it for the gate that admits the input."""
    if not layer.built:
        layer.build((None, None, features))
    bias, n = np.zeros(layer.cell.bias.shape), layer.units
    bias[..., :n] = value  # u comes first in all three
    if isinstance(layer, layers.CFN):
        bias[n : 2 * n] = -value
    if bias.ndim == 2:  # a GRU has one for the input and one for the state, which are added
        bias[1] = 0
    layer.cell.bias.assign(bias)


def start_record(protocol: Mapping[str, Any], found: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """What `at_start` found: 10 %, 50 % and 90 % of the values at each lag."""
    result = {kind: np.percentile(values, [10, 50, 90], axis=1).T.tolist() for kind, values in found.items()}
    return {
        "experiment": "jacobians_at_start",
        "protocol": dict(protocol),
        "result": {kind: {"p10_p50_p90": rows} for kind, rows in result.items()},
    }


def ranks(model: Recommender, examples: interactions.Examples, batch_size: int = 256) -> NDArray[np.int64]:
    """Rank of every example's target, among all items, after its history."""
    found = np.empty(len(examples.targets), np.int64)
    for rows in examples.histories.batches(batch_size):
        histories = examples.histories.padded(rows)
        states = model.read({name: tf.constant(values) for name, values in histories.items()})
        last = np.maximum((histories["items"] > 0).sum(axis=1) - 1, 0)
        states = tf.gather(states, last, batch_dims=1)
        found[rows] = model.get_layer("catalogue").ranks(states, examples.targets[rows])
    return found


def popularity(data: interactions.Interactions) -> dict[str, float]:
    """Metrics of one list for everybody, the items most frequent in training, on each user's last item.

    As in `Catalogue.ranks` all items are ranked, and ties count against the target.
    """
    train, _, test = data.leave_one_out()
    borders = np.zeros(len(data.items) + 1, np.int64)
    np.add.at(borders, train.starts, 1)
    np.add.at(borders, train.ends, -1)
    in_training = np.cumsum(borders[:-1]) > 0
    counts = np.bincount(data.items[in_training], minlength=len(data.names) + 1)[1:]
    as_frequent = len(counts) - np.searchsorted(np.sort(counts), counts[test.targets - 1], side="left")
    return metrics(as_frequent)


def metrics(ranks: NDArray[np.int64], top: int = TOP) -> dict[str, float]:
    """Means over examples with one relevant item each, at rank r >= 1 (Järvelin and Kekäläinen, 2002, for NDCG).

    MAP@k: 1/r if r <= k, else 0. Recall@k: 1 if r <= k. NDCG@k: 1 / log2(1 + r) if r <= k.
    """
    hit = ranks <= top
    return {
        f"map_{top}": float(np.mean(hit / ranks)),
        f"recall_{top}": float(np.mean(hit)),
        f"ndcg_{top}": float(np.mean(hit / np.log2(1 + ranks))),
    }

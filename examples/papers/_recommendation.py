"""Which item will a user meet next (Chen, 2017, section 3)? One protocol for every recurrent layer.

Items (and time gaps, where known) are embedded and read in order, and the state is compared with the embeddings of all
items. Training draws negatives (sampled softmax); evaluation ranks the whole catalogue, in chunks. The backend is
TensorFlow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.papers import _records
from examples.papers._experiment import Record, Run
from examples.papers._files import read_json, write_json
from examples.papers._lazy import Array, analysis, callbacks, corpora, keras, np, training
from examples.papers._minimal_rnn import recurrent_layer

if TYPE_CHECKING:
    from examples.papers.recommender import Recommender

TOP = 20


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How a recommender is trained.

    Args:
        units: of the layer and of an item's embedding. batch: histories. epochs: number. learning_rate: Adam's.
        longest: interactions kept of a user. negatives: items drawn for a batch.
        probe: histories whose Jacobians are taken after each epoch, at these lags.
        gate_bias, gate_steps: as `recurrent_layer`.
        attributes: whether the layer reads the attributes of an item too.
    """

    units: int = 64
    batch: int = 128
    epochs: int = 20
    learning_rate: float = 3e-3
    longest: int = 500
    negatives: int = 512
    probe: int = 16
    lags: tuple[int, ...] = (0, 10, 25)
    gate_bias: float | None = None
    gate_steps: float | None = None
    attributes: bool = False


def recommender(
    kind: str,
    items: int,
    units: int,
    with_gaps: bool,
    seed: int = 0,
    negatives: int = 512,
    attributes: Array | None = None,
    **gates: Any,
) -> Recommender:
    """Items, through one recurrent layer, to states of `units`; with time gaps and attributes, if there are any.

    Args:
        with_gaps: whether there are time gaps, with a quarter of the features. gates: as `recurrent_layer`.
        attributes: as `read_attributes`, of which the layer reads a quarter of the features too.
    """
    from examples.papers.recommender import Catalogue, Recommender

    keras.utils.set_random_seed(seed)
    inputs = {"items": keras.Input((None,), dtype="int32", name="items")}
    read = [Catalogue(items, units, negatives, seed, name="catalogue")(inputs["items"])]
    if with_gaps:
        inputs["gaps"] = keras.Input((None,), dtype="int32", name="gaps")
        embedding = keras.layers.Embedding(corpora.interactions.GAPS, units // 4, name="gaps_embedding")
        read = [keras.layers.Concatenate()([*read, embedding(inputs["gaps"])])]
    if attributes is not None:
        of_items = keras.layers.Embedding(*attributes.shape, trainable=False, name="attributes_of_items")
        weighted = keras.layers.Dense(units // 4, use_bias=False, name="attributes")(of_items(inputs["items"]))
        of_items.set_weights([attributes])
        read = [keras.layers.Concatenate()([*read, weighted])]
    flags: dict[str, Any] = {"return_sequences": True, "name": "recurrent", **gates}
    return Recommender(inputs, recurrent_layer(kind, units, read[0].shape[-1], seed, **flags)(read[0]))


def curve_of(
    model: Recommender,
    examples: corpora.interactions.Examples,
    probe: Any,
    lags: Sequence[int],
    folder: Path,
    epoch: int = 0,
) -> tuple[list[dict[str, Any]], keras.callbacks.Callback]:
    """A curve, and what adds to it after every epoch: metrics of held-out items, singular values of the Jacobians.

    Args:
        examples: to be ranked. probe: model inputs. lags: as `analysis.jacobian_singular_values`.
        folder: of the run, in which the curve is kept. epoch: number of its epochs that are finished.

    Returns:
        Per epoch the training steps and seconds so far, the metrics, and the singular values' percentiles, a row per
        lag; and the callback.
    """
    from keras_interp_rnn.analysis.jacobians import PERCENTILES

    path = folder / "curve.json"
    # A kill after this callback and before the checkpoint leaves the curve one epoch ahead.
    curve: list[dict[str, Any]] = read_json(path, "Delete the folder.", curve=list)["curve"][:epoch] if epoch else []

    def add(_: int, logs: dict[str, float]) -> None:
        scores = metrics(ranks(model, examples))
        values = analysis.jacobian_singular_values(model, probe, lags=lags).reshape(len(lags), -1)
        before = curve[-1]["seconds"] if curve else 0.0
        curve.append(
            {
                "step": int(model.optimizer.iterations),
                "seconds": before + logs.get("training_seconds", 0.0),
                **scores,
                "singular_values": np.percentile(values, PERCENTILES, axis=1).T.tolist(),
            }
        )
        write_json(path, {"curve": curve})
        logs.update({f"val_{name}": value for name, value in scores.items()})

    return curve, keras.callbacks.LambdaCallback(on_epoch_end=add)


def identity(name: str, data: corpora.interactions.Interactions) -> dict[str, Any]:
    """Name, sizes and digest of the data, for a record."""
    digest = _records.sha256(data.items, data.starts, *([] if data.gaps is None else [data.gaps]))
    return {"name": name, "items": len(data.names), "interactions": len(data.items), "sha256": digest}


def read_attributes(path: Path, names: Sequence[Any]) -> Array:
    """The attributes of items, of mean square 1 / (number of attributes) each, so that all are read alike.

    Args:
        path: JSON, name of an item -> numbers of its attributes. names: of the items.

    Returns:
        (1 + items, attributes): row i of item i, row 0 of the padding; 1 / sqrt(m) for each of m attributes.
    """
    rule = "The attributes of items must be a JSON object of lists, item by item"
    if not path.is_file():
        raise ValueError(f"{rule}, beside `--data`. Received: no {path}. Put it there, or choose another row.")
    listed = read_json(path, "Download it again.")
    lacking = [name for name in map(str, names) if not isinstance(listed.get(name), list)]
    if lacking:
        raise ValueError(f"{rule}. Received: {path} without {lacking[0]!r}. Give that of the same data.")
    ids = {attribute: i for i, attribute in enumerate(sorted({a for name in names for a in listed[str(name)]}))}
    table = np.zeros((1 + len(names), len(ids)), np.float32)
    for row, name in zip(table[1:], names, strict=True):
        of_item = [ids[attribute] for attribute in listed[str(name)]]
        row[of_item] = 1 / np.sqrt(max(len(of_item), 1))
    return table


def train(
    kind: str,
    name: str,
    data: corpora.interactions.Interactions,
    protocol: Protocol,
    run: Run,
    attributes: Array | None = None,
) -> tuple[Record, Recommender]:
    """Trains a recommender, or resumes its training; judges its best epoch by validation MAP on each user's last item.

    Args:
        kind: one of `_minimal_rnn.NETWORKS`. name: of the data. run: in its folder are the checkpoints, the model and
            TensorBoard's logs. attributes: as `read_attributes`.

    Returns:
        The record, and the model.
    """
    import examples.papers.recommender  # noqa: F401, registers the classes of a model that is loaded

    about, settings = identity(name, data), dataclasses.asdict(protocol)
    environment = _records.start_run(run.folder, {**settings, "network": kind, "seed": run.seed, "data": about})
    training_data, validation, test = data.leave_one_out(protocol.longest)
    resumable = callbacks.Resumable(run.folder, f"val_map_{TOP}", mode="max")
    model = resumable.load()
    if model is None:
        gates: dict[str, Any] = {"gate_bias": protocol.gate_bias, "gate_steps": protocol.gate_steps}
        sizes = len(data.names), protocol.units, data.gaps is not None, run.seed, protocol.negatives
        model = recommender(kind, *sizes, attributes, **gates)
        # The number of negatives varies: no fixed shape for XLA.
        model.compile(keras.optimizers.Adam(protocol.learning_rate, global_clipnorm=1.0), jit_compile=False)
    long_enough = np.flatnonzero(np.minimum(validation.histories.lengths, protocol.longest) > max(protocol.lags))
    probe = validation.histories.padded(long_enough[: protocol.probe])
    curve, watch = curve_of(model, validation, probe, protocol.lags, run.folder, resumable.epoch)
    print(f"\n{name}, {kind}, seed {run.seed}: {model.count_params():,} weights.")
    histograms = callbacks.JacobianHistograms(run.folder, probe, lags=protocol.lags)
    if resumable.epoch < protocol.epochs:
        model.fit(
            corpora.interactions.TrainingBatches(training_data, protocol.batch, seed=run.seed, epoch=resumable.epoch),
            epochs=protocol.epochs,
            initial_epoch=resumable.epoch,
            verbose=run.verbose,
            shuffle=False,
            callbacks=[training.TrainingTime(), histograms, watch, resumable],
        )
    best = resumable.load_best()
    result: dict[str, Any] = {
        **metrics(ranks(best, test)),
        "validation_map_20": max(point[f"map_{TOP}"] for point in curve),
        "seconds": curve[-1]["seconds"],
        "popularity": popularity(data),
    }
    if kind == "MinimalRNN":
        kernel, recurrent, blocks = latent_weights(best)
        result["gate"] = gate_weights(recurrent)
        if len(blocks) > 1:
            result["dimensions_of_items"] = dimensions_of_items(kernel, blocks["item"])
    record = {
        "environment": environment,
        "data": about,
        "model": {"layer": kind, "seed": run.seed, "parameters": best.count_params()},
        "protocol": settings,
        "result": result,
        "curve": curve,
    }
    return record, best


def latent_weights(model: Recommender) -> tuple[Array, Array, dict[str, int]]:
    """Weights of figure 3, of a MinimalRNN: W_x (features, n), U_h (n, n) as the layer has it, features by input."""
    cell = model.get_layer("recurrent").cell
    kernel, recurrent = (np.asarray(weight.value) for weight in (cell.encoder.kernel, cell.recurrent_kernel))
    layers_of = {layer.name: layer for layer in model.layers}
    blocks = {"item": layers_of["catalogue"].size}
    if "gaps_embedding" in layers_of:
        blocks["time gap"] = layers_of["gaps_embedding"].output_dim
    if "attributes" in layers_of:
        blocks["attributes"] = layers_of["attributes"].units
    return kernel, recurrent, blocks


def dimensions_of_items(kernel: Array, items: int) -> float:
    """The fraction of the latent dimensions that items move more than the context does.

    Args:
        kernel: W_x, (features, n). items: number of the items' features, the first ones.
    """
    squares = np.asarray(kernel, np.float64) ** 2
    return float(np.mean(squares[:items].mean(axis=0) > squares[items:].mean(axis=0)))


def gate_weights(recurrent: Array) -> dict[str, float]:
    """The paper's statements on U_h in figure 3, in numbers.

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
    largest = {"diagonal": diagonal.mean(), "moving": moving.max(), "moved": moved.max()}
    return {name: float(size / moving.mean()) for name, size in largest.items()}


def ranks(model: Recommender, examples: corpora.interactions.Examples, batch_size: int = 256) -> Array:
    """Rank of every example's target, among all items, after its history."""
    of_targets = np.empty(len(examples.targets), np.int64)
    for rows in examples.histories.batches(batch_size):
        histories = examples.histories.padded(rows)
        states = model.read({name: keras.ops.convert_to_tensor(values) for name, values in histories.items()})
        last = np.maximum((histories["items"] > 0).sum(axis=1) - 1, 0)
        states = keras.ops.take_along_axis(states, last[:, None, None], axis=1)[:, 0]
        of_targets[rows] = model.get_layer("catalogue").ranks(states, examples.targets[rows])
    return of_targets


def popularity(data: corpora.interactions.Interactions) -> dict[str, float]:
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


def metrics(ranks: Array) -> dict[str, float]:
    """Means over examples with one relevant item each, at rank r >= 1 (Järvelin and Kekäläinen, 2002, for NDCG).

    MAP@k: 1/r if r <= k, else 0. Recall@k: 1 if r <= k. NDCG@k: 1 / log2(1 + r) if r <= k.
    """
    hit = ranks <= TOP
    return {
        f"map_{TOP}": float(np.mean(hit / ranks)),
        f"recall_{TOP}": float(np.mean(hit)),
        f"ndcg_{TOP}": float(np.mean(hit / np.log2(1 + ranks))),
    }

"""Trains a network with each callback on some devices, in a process of its own.

    python on_devices.py PLACE FOLDER CALLBACK...

PLACE is "mirrored-2", "data-2", "model-2" or "one-1": the kind and the number of devices, on the backend of Keras. On
JAX the environment makes them (`test_devices.py`).

Writes the weights after training with each callback into FOLDER/CALLBACK.npz, and its logs beside them. A callback that
stops the training leaves the sentence of its exception in FOLDER/CALLBACK.txt.
"""

import contextlib
import sys
from pathlib import Path

import keras
import numpy as np

from keras_interp_rnn import callbacks, datasets, layers

kind, devices = sys.argv[1].split("-")
folder, names, scope = Path(sys.argv[2]), sys.argv[3:], contextlib.nullcontext
if kind == "mirrored":
    import tensorflow as tf

    [cpu] = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * int(devices))
    scope = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(int(devices))]).scope
elif kind == "data":
    keras.distribution.set_distribution(keras.distribution.DataParallel())
elif kind == "model":
    mesh = keras.distribution.DeviceMesh((1, int(devices)), ["batch", "model"])
    layout = keras.distribution.LayoutMap(mesh)
    layout[".*isan.*kernel"] = ("model", None, None)
    keras.distribution.set_distribution(keras.distribution.ModelParallel(layout_map=layout, batch_dim_name="batch"))

LANES, LENGTH, SYMBOLS = 12, 5, 6
text = np.random.default_rng(0).integers(1, SYMBOLS, LANES * LENGTH * 4 + 1).astype("int32")
windows = datasets.Windows(text, LANES, length=LENGTH)  # four steps an epoch
words, labels = text[:60].reshape(12, 5), (text[:60].reshape(12, 5).sum(axis=1) % 2 == 0)


def language_model(stateful: bool = False) -> keras.Model:
    lanes = {"batch_size": LANES // int(devices) if kind == "mirrored" else LANES} if stateful else {}
    isan = layers.ISAN(6, SYMBOLS, return_sequences=True, stateful=stateful)
    model = keras.Sequential([keras.Input((LENGTH,), dtype="int32", **lanes), isan, keras.layers.Dense(SYMBOLS)])
    model.compile(keras.optimizers.SGD(0.5), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def regularized() -> keras.Model:
    embedding, layer = keras.layers.Embedding(SYMBOLS, 4, mask_zero=True), layers.SRGRU(6, num_centroids=4)
    model = keras.Sequential([keras.Input((5,), dtype="int32"), embedding, layer, keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def run(name: str, build, callback, **more) -> None:
    if name not in names:
        return
    keras.utils.set_random_seed(0)
    try:
        with scope():
            model = build()
        data = (words, labels[:, None].astype("float32")) if build is regularized else (windows,)
        more = {"batch_size": LANES, **more} if build is regularized else more
        model.fit(*data, epochs=2, shuffle=False, verbose=0, callbacks=[callback], **more)
        if kind == "model" and build is not regularized:  # or the layout named no weight, and nothing was split
            assert not model.layers[0].cell.recurrent_kernel.value.sharding.is_fully_replicated
        if isinstance(callback, callbacks.Resumable):  # a fresh process would go on so
            again = callbacks.Resumable(callback.directory, "loss")
            with scope():
                model = again.load()
            model.fit(*data, epochs=3, initial_epoch=2, shuffle=False, verbose=0, callbacks=[again])
        np.savez(folder / f"{name}.npz", *model.get_weights())
    except Exception as error:
        (folder / f"{name}.txt").write_text(f"{type(error).__name__}: {error}")


def stateful() -> keras.Model:
    return language_model(stateful=True)


logs, sample, held_out = folder / "logs", text[:8], datasets.Windows(text[::-1], LANES, length=LENGTH)
run("Attributions", regularized, callbacks.Attributions(logs, words[:1]))
run("Contributions", language_model, callbacks.Contributions(logs, [sample]))
run("ShapleyValues", language_model, callbacks.ShapleyValues(logs, [sample]))
run("Stability", language_model, callbacks.Stability(logs, text))
run("Traces", language_model, callbacks.Traces(logs, windows[0][0][:2]))
run("Substitutions", language_model, callbacks.Substitutions(logs, [sample], alternatives=np.arange(SYMBOLS)))
run("TransitionProbabilities", regularized, callbacks.TransitionProbabilities(logs, words[:4], validation=words))
run("JacobianHistograms", regularized, callbacks.JacobianHistograms(logs, words[:4], lags=(0, 3), update_freq=1))
run(
    "Automaton",
    regularized,
    callbacks.Automaton(logs, alphabet=datasets.Alphabet.with_tokens("ab", start=True), num_words=20),
)
schedule = {"strength": lambda step: 1 / (1 + step), "update_freq": "batch"}
run("TemperatureSchedule", regularized, callbacks.TemperatureSchedule(lambda step: 1 / (1 + step), **schedule))
run("CarriedState", stateful, callbacks.CarriedState(across_epochs=True), validation_data=held_out)
run("Resumable", stateful, callbacks.Resumable(folder / "run", "loss"))

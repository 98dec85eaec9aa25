# %% [markdown]
# # From TensorBoard to a figure in a paper
#
# A callback logs the Jacobians of a network while it is trained, for TensorBoard. This notebook reads the log back and
# draws the figure that goes into a paper.

# %% tags=["skip-execution"]
# %pip install "keras-interp-rnn[figures]"

# %%
import tempfile
from pathlib import Path

import keras
import matplotlib.pyplot as plt
import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

from keras_interp_rnn import callbacks, layers, presets

keras.utils.set_random_seed(0)
logs = Path(tempfile.mkdtemp())

# %% [markdown]
# ## Train and log
#
# A MinimalRNN learns the language of the preset `tomita-4`, labelled by the preset's automaton: no three 0s in a row.
# `JacobianHistograms` measures 16 words after every epoch, in closed form.

# %%
automaton = presets.load("tomita-4").automaton
rng = np.random.default_rng(0)
bits = rng.integers(0, 2, (4000, 12))
x = bits[..., None].astype("float32")
y = np.array([automaton.accepts("".join(map(str, row))) for row in bits], "float32")

model = keras.Sequential([keras.Input((12, 1)), layers.MinimalRNN(16), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.01), keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
watch = [
    callbacks.JacobianHistograms(logs, x[:16], lags=(0, 5, 11)),
    keras.callbacks.TensorBoard(logs, write_graph=False),
]
model.fit(x, y, 64, epochs=20, verbose=0, callbacks=watch)
print(sorted(path.parent.name for path in logs.rglob("events*")))

# %% [markdown]
# `tensorboard --logdir FOLDER` shows the log now, in the tab "Interpretable RNN". The rest needs no browser.
#
# ## Read the log
#
# Every value of the dashboard is an ordinary TensorBoard tensor. `interp_rnn/jacobian_percentiles` holds the
# percentiles 0 to 100 of the singular values, for each lag.

# %%
measured = EventAccumulator(str(logs / "jacobians"), size_guidance={"tensors": 0}).Reload()
events = measured.Tensors("interp_rnn/jacobian_percentiles")
steps = np.array([event.step for event in events])
percentiles = np.stack([make_ndarray(event.tensor_proto) for event in events])
print(percentiles.shape, "= (points in time, lags, percentiles)")

training = EventAccumulator(str(logs / "train"), size_guidance={"tensors": 0}).Reload()
accuracy = [make_ndarray(event.tensor_proto).item() for event in training.Tensors("epoch_accuracy")]

# %% [markdown]
# ## Draw the figure
#
# Bands between percentiles say more than histograms at this size: median, middle half, and the range from 7 to 93%.

# %%
plt.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
figure, axes = plt.subplots(1, 4, figsize=(7, 2), layout="constrained", sharex=True)
for axis, lag, values in zip(axes[:3], (0, 5, 11), percentiles.swapaxes(0, 1), strict=True):
    for low, high, opacity in ((7, 93, 0.2), (25, 75, 0.4)):
        axis.fill_between(steps, values[:, low], values[:, high], color="#1f5fae", alpha=opacity, linewidth=0)
    axis.plot(steps, values[:, 50], color="#1f5fae")
    axis.set(yscale="log", title=f"k = {lag}", xlabel="step")
axes[0].set_ylabel(r"singular values of $\partial h_T / \partial x_{T-k}$")
axes[3].plot(steps[1:], accuracy, color="black")
axes[3].set(title="accuracy", xlabel="step", ylim=(0, 1.02))
plt.show()

# %% [markdown]
# A vector file for the paper:

# %%
figure.savefig(logs / "jacobians.pdf")
print((logs / "jacobians.pdf").stat().st_size > 0)

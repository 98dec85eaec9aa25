# %% [markdown]
# # How gradients travel
#
# An error at step $T$ reaches step $T-k$ through the Jacobian $\partial h_T / \partial x_{T-k}$. The singular values of
# the Jacobian say how much of the error is left. Here they are computed in closed form, for a trained network, and for
# a GRU and a MinimalRNN while they learn to remember.

# %% tags=["skip-execution"]
# %pip install "keras-interp-rnn[figures]"

# %%
import keras
import numpy as np

from keras_interp_rnn import analysis, figures, layers, presets

# %% [markdown]
# ## A trained network
#
# The preset `text-isan` reads English. With respect to its state, the Jacobian over $k$ letters is the product of their
# matrices, $W_{x_{T-k+1}} \cdots W_{x_T}$.

# %%
reader = presets.load("text-isan")
text = reader.encode("it was the best of times it was the worst of times")[None]
lags = [0, 1, 5, 10, 25]
values = analysis.jacobian_singular_values(reader.model, text, lags=lags, with_respect_to="state")
print("how:", values.method)
for lag, of_lag in zip(lags, values[:, 0], strict=True):
    above = np.sum(of_lag > 0.1)
    print(f"k = {lag:2}: largest {of_lag[0]:.3f}, median {np.median(of_lag):.1e}, {above} of 128 above 0.1")

# %% [markdown]
# Half of the directions are forgotten within five letters, and all of them within 25.
#
# ## Before training
#
# Four layers with orthogonal weights read noise. Over ten steps, the singular values of the gated layers spread less
# than those of the SimpleRNN, which span ten powers of ten.

# %%
keras.utils.set_random_seed(0)
noise = np.random.default_rng(0).normal(size=(8, 40, 64)).astype("float32")
start = {}
for kind in (keras.layers.SimpleRNN, keras.layers.GRU, layers.CFN, layers.MinimalRNN):
    layer = kind(64, kernel_initializer=keras.initializers.Orthogonal(seed=0))
    start[kind.__name__] = analysis.jacobian_singular_values(layer, noise, lags=[0, 5, 10])
figures.jacobian_histogram(start, [0, 5, 10])

# %% [markdown]
# ## Through training
#
# The task: what was the sign of the first of 20 numbers? An error has to travel 19 steps. After every epoch the
# Jacobians of a fixed batch are measured.

# %%
rng = np.random.default_rng(1)
x = rng.normal(size=(2048, 20, 1)).astype("float32")
y = (x[:, 0, 0] > 0).astype("float32")
lags = [0, 9, 19]


def train(layer):
    """Accuracy and Jacobians after each epoch."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((20, 1)), layer, keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.01), keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
    measured = [analysis.jacobian_singular_values(model, x[:16], lags=lags)]
    measure = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: measured.append(analysis.jacobian_singular_values(model, x[:16], lags=lags))
    )
    history = model.fit(x, y, 64, epochs=12, verbose=0, callbacks=[measure])
    return history.history["accuracy"], measured


# A MinimalRNN's gate starts with a bias of 1, a GRU's with 0. Both start with 1 here, so that the architectures differ.
gru = keras.layers.GRU(16)
gru.build((None, 20, 1))
gru.cell.bias.assign(np.repeat([[1, 0, 0], [0, 0, 0]], 16, axis=1))
results = {"GRU": train(gru), "MinimalRNN": train(layers.MinimalRNN(16))}
for name, (accuracy, _) in results.items():
    print(f"{name:10} accuracy after each epoch:", *(f"{value:.2f}" for value in accuracy))

# %% [markdown]
# The line is the median of the singular values, and the bands are percentiles. In both networks, the singular values
# for $k = 19$ have grown by two powers of ten when the task is learned: the error has found its way back.

# %%
figures.jacobian_percentiles(
    {name: range(0, 32 * len(measured), 32) for name, (_, measured) in results.items()},
    {name: np.stack(measured) for name, (_, measured) in results.items()},
    lags=lags,
)

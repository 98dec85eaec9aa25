# %% [markdown]
# # Your own LSTM, traced and attributed
#
# Take any recurrent Keras model. This notebook looks at its gates and states, splits its verdict among the steps that
# it read, and finds the points at which its state comes to rest.

# %% tags=["skip-execution"]
# %pip install "keras-interp-rnn[figures]"

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np

from keras_interp_rnn import analysis, presets

keras.utils.set_random_seed(0)

# %% [markdown]
# ## The model
#
# An ordinary LSTM of 12 units learns the language of the preset `tomita-4`: words without three 0s in a row. The
# preset's automaton labels random words. Id 1 is "0", id 2 is "1", and 0 is padding.

# %%
automaton = presets.load("tomita-4").automaton
rng = np.random.default_rng(0)
words = ["".join(rng.choice(["0", "1"], n)) for n in rng.integers(1, 16, 6000)]
ids = np.zeros((len(words), 15), "int32")
for row, word in zip(ids, words, strict=True):
    row[: len(word)] = [int(symbol) + 1 for symbol in word]
labels = np.array([automaton.accepts(word) for word in words], "float32")

model = keras.Sequential(
    [
        keras.Input((None,), dtype="int32"),
        keras.layers.Embedding(3, 4, mask_zero=True),
        keras.layers.LSTM(12),
        keras.layers.Dense(1),
    ]
)
model.compile(keras.optimizers.Adam(0.01), keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(ids[500:], labels[500:], 64, epochs=15, verbose=0)
logits = model.predict(ids[:500], verbose=0)[:, 0]
print(f"right on {np.mean((logits > 0) == labels[:500]):.1%} of 500 other words")

# %% [markdown]
# ## Gates and states at every step
#
# `trace` gives every quantity of every step by its name: states h and c, gates i, f and o.

# %%
word = "110101000111"
steps = np.array([[int(symbol) + 1 for symbol in word]])
traced = analysis.trace(model, steps)
print(traced)

# %%
figure, axes = plt.subplots(3, 1, figsize=(7, 6.5), layout="constrained")
titles = {"f": "forget gate f", "c": "memory c", "h": "output h"}
for axis, (name, title) in zip(axes, titles.items(), strict=True):
    values = traced[name][0].T
    largest = 1.0 if name == "f" else np.abs(values).max()
    lowest, colours = (0.0, "viridis") if name == "f" else (-largest, "RdBu")
    drawn = axis.imshow(values, cmap=colours, vmin=lowest, vmax=largest, aspect="auto")
    axis.set(title=title, ylabel="unit", yticks=range(0, 12, 3), xticks=range(len(word)), xticklabels=list(word))
    figure.colorbar(drawn, ax=axis)
axes[-1].set_xlabel("symbol read")
plt.show()

# %% [markdown]
# ## What did each symbol do to the verdict?
#
# `attribution` splits the output among the steps. "telescoping" fills in one step after another; the share of a step is
# the change of the output when it is filled in. The shares sum to the output minus that for the empty text, and
# `residual` is the error of the sum.

# %%
split = analysis.attribution(model, steps, target=0, method="telescoping", alphabet={1: "0", 2: "1"})
split

# %%
total = split.output[0] - split.reference_output[0]
print(f"the word moved the logit by {total:+.2f}, its three 0s in a row by {split.shares[0, 6:9].sum():+.2f}")
print(f"residual {split.residual:.1e}")

# %% [markdown]
# ## Where does the state come to rest?
#
# Feed the same symbol again and again. The points where the state then stays are the network's memory. Newton's method
# on the exact Jacobian finds them; the eigenvalues there say whether they attract.

# %%
embedding, lstm = model.layers[:2]
vectors = keras.ops.convert_to_numpy(embedding.embeddings)
kernel, bias = model.layers[-1].get_weights()
visited = analysis.trace(model, ids[:200])
states = np.concatenate([visited["h"], visited["c"]], axis=-1).reshape(-1, 24)
for symbol in "01":
    points = analysis.fixed_points(lstm, vectors[int(symbol) + 1], states=states, num_starts=256)
    logits = points.states[:, :12] @ kernel[:, 0] + bias
    print(f"reading {symbol}: {len(points.states)} found, {points.attracts.sum()} of them attract, logits {logits}")

# %% [markdown]
# The language needs two points of rest while 1s are read: one after three 0s in a row, and one without. Is the network
# an automaton for longer words than those of its training? Read "000" and then many 1s, which must stay rejected:

# %%
for num_ones in (5, 10, 20, 50, 100):
    [[logit]] = model.predict(np.array([[1, 1, 1] + [2] * num_ones]), verbose=0)
    print(f"000 and {num_ones:3} times 1: {'accepted' if logit > 0 else 'rejected'} (logit {logit:+.1f})")

# %% [markdown]
# Being right on every word of a test set says nothing about longer words. The notebook on languages has networks for
# which it is proved.

# %% [markdown]
# # Your own LSTM, traced and attributed
#
# Take any recurrent Keras model. This notebook looks at its gates and states, splits its verdict among the steps that
# it read, exactly or with error bars, and finds the points at which its state comes to rest.

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
# preset's automaton labels random words. Id 1 is "0", id 2 is "1", and 0 is padding. The output is a probability.

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
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy")
model.fit(ids[500:], labels[500:], 64, epochs=15, verbose=0)
accepted = model.predict(ids[:500], verbose=0)[:, 0] > 0.5
print(f"right on {np.mean(accepted == labels[:500]):.1%} of 500 other words")

# %% [markdown]
# ## Gates and states at every step
#
# `trace` gives every quantity of every step by its name: states h and c, gates i, f and o. The page has a map of each,
# and one unit as lines; a click on a symbol lists the units that are on there.

# %%
names = {1: "0", 2: "1"}
word = "110101000111"
steps = np.array([[int(symbol) + 1 for symbol in word]])
traced = analysis.trace(model, steps, tokens=names)
traced

# %% [markdown]
# ## What did each symbol do to the verdict?
#
# `attribution` splits the output among the steps. The share of a step is its Shapley value: what it changes when it is
# added, on average over all orders in which the steps can come. What is split is the logarithm of the odds, as the
# probability itself is near 0 or 1 whatever a single symbol says.
#
# A share depends on what takes the place of a symbol that is not there: the `reference`. By default that is a vector
# of zeros, which is none of this language's symbols. So ask against a word of 1s, which is accepted: what did each 0
# change? A 1 is the same in both, and has no share. The values are exact, as at most 16 symbols differ: all sets of
# them are run.

# %%
one = keras.ops.convert_to_numpy(model.layers[0].embeddings)[2]
split = analysis.attribution(model, steps, reference=one, alphabet=names)
split

# %%
print(f"exact: {split.exact}, from {split.num_runs[0]} sets of 0s; residual of the sum {split.residual:.1e}")
print(f"log-odds {split.reference_output[0]:+.2f} of a word of 1s, {split.output[0]:+.2f} of this word")
print(f"the three 0s in a row: {split.shares[0, 6:9].sum():+.2f}")

# %% [markdown]
# Each of the three has a third. Telescoping, which fills in one symbol after the other, credits the whole verdict to
# the symbol that completes the run, as it is only one of all the orders. Occlusion, which leaves out one symbol at a
# time, credits each of the three with the whole.

# %%
figure, axis = plt.subplots(figsize=(7, 2.6), layout="constrained")
for k, method in enumerate(["shapley", "telescoping", "occlusion"]):
    shares = analysis.attribution(model, steps, reference=one, method=method).shares[0]
    axis.bar(np.arange(len(word)) + 0.27 * (k - 1), shares, 0.27, label=method)
axis.set(xticks=range(len(word)), xticklabels=list(word), xlabel="symbol read", ylabel="share, in nats")
axis.axhline(0, color="grey", linewidth=0.5)
axis.legend()
plt.show()

# %% [markdown]
# A share is a mean, and does not say that these 0s matter through one another. `interactions` has what each pair
# changes together, less what its two symbols change apart.

# %%
pairs = analysis.interactions(model, steps, reference=one, alphabet=names)
pairs

# %% [markdown]
# ## A longer word has error bars
#
# This word has 27 symbols that are 0, and more sets of them than one would run. The values are estimates, with a 95%
# interval each: of 100 such intervals about 95 hold the exact value. `tolerance` is the standard error that you accept,
# in parts of the range of the shares.

# %%
longer = "1010" * 12 + "1000" + "11"
steps_of_longer = np.array([[int(symbol) + 1 for symbol in longer]])
analysis.attribution(model, steps_of_longer, reference=one, alphabet=names)

# %% [markdown]
# Several steps can have one share: say to which group each belongs, from 0. With 16 groups or fewer the values are
# exact again.

# %%
sixes = np.arange(len(longer)) // 6
analysis.attribution(model, steps_of_longer, reference=one, alphabet=names, groups=sixes)

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
    odds = points.states[:, :12] @ kernel[:, 0] + bias
    print(f"reading {symbol}: {len(points.states)} found, {points.attracts.sum()} of them attract, log-odds {odds}")

# %% [markdown]
# The language needs two points of rest while 1s are read: one after three 0s in a row, and one without. Is the network
# an automaton for longer words than those of its training? Read "000" and then many 1s, which must stay rejected:

# %%
for num_ones in (5, 10, 20, 50, 100):
    [[chance]] = model.predict(np.array([[1, 1, 1] + [2] * num_ones]), verbose=0)
    print(f"000 and {num_ones:3} times 1: {'accepted' if chance > 0.5 else 'rejected'} (probability {chance:.2g})")

# %% [markdown]
# Being right on every word of a test set says nothing about longer words. The notebook on languages has networks for
# which it is proved.

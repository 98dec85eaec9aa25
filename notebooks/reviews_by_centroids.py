# %% [markdown]
# # Reviews explained by centroids
#
# An LSTM judges film reviews while its state moves among ten learned centroids. Each centroid stands for certain words,
# and the words that moved the state explain the verdict.

# %% tags=["skip-execution"]
# %pip install "keras-interp-rnn[figures]"

# %%
import numpy as np

from keras_interp_rnn import analysis, figures, presets

critic = presets.load("reviews-sr-lstm")
print(critic.card)

# %% [markdown]
# ## A verdict
#
# After each word the cell's proposal $u$ is compared with the centroids, $\alpha = \mathrm{softmax}(S u / \tau)$, and
# the state becomes the mixture $h = \sum_j \alpha_j s_j$. A head reads the mean state.

# %%
reviews = [
    "a dull film with a terrible script , a waste of time",
    "a wonderful film , moving and beautiful , one of the best of the year",
    "the first half is boring but then it becomes a superb and haunting film",
    "great actors , but the story is awful and the ending is worse",
]
ids = [critic.encode(review) for review in reviews]
for review, row in zip(reviews, ids, strict=True):
    [[logit]] = critic.model.predict(row[None], verbose=0)
    print(f"{logit:+6.2f}  {review}")

# %% [markdown]
# ## What the centroids stand for
#
# Each centroid votes: its product with the head's weights is what the logit would be if the state stayed there. Listed
# beside the vote are the words of the training data that most typically led to the centroid.

# %%
weights, _ = critic.model.get_layer("head").get_weights()
votes = np.asarray(critic.model.get_layer("recurrent").cell.centroids) @ weights[:, 0]
for centroid in np.argsort(votes):
    print(f"{votes[centroid]:+6.2f}  centroid {centroid}: {critic.centroids[centroid]}")

# %% [markdown]
# ## Word by word
#
# The probabilities of the centroids while the third review is read. The state leaves the negative centroids when the
# tone turns. The verdict, which reads the mean over all words, stays below zero: the network is wrong about this one.

# %%
tokens = [critic.alphabet[i] for i in ids[2] if i][:-1]  # at the end token the state is not regularized
alpha = analysis.transition_probabilities(critic.model, ids[2][None])[0]
figures.transition_map(alpha[: len(tokens)], tokens)

# %% [markdown]
# An explanation marks each word by the probability with which it moved the state to a centroid. First the most negative
# centroid in the first review, then the most positive one in the second.

# %%
worst, best = int(votes.argmin()), int(votes.argmax())
analysis.explain(critic.model, ids[0], tokens=critic.alphabet, centroids=[worst])

# %%
analysis.explain(critic.model, ids[1], tokens=critic.alphabet, centroids=[best])

# %% [markdown]
# ## What if a word were another?
#
# An explanation makes a prediction that can be tested: replace the word, and the verdict should move.

# %%
for review in ("a dull film", "a wonderful film", "a film"):
    [[logit]] = critic.model.predict(critic.encode(review)[None], verbose=0)
    print(f"{logit:+6.2f}  {review}")

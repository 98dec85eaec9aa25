# %% [markdown]
# # A text read by an ISAN
#
# An input-switched affine network reads English letter by letter. Each of its predictions is a sum, and this notebook
# looks at the terms.

# %% tags=["skip-execution"]
# %pip install "keras-interp-rnn[figures]"

# %%
import numpy as np

from keras_interp_rnn import analysis, datasets, figures, presets

reader = presets.load("text-isan")
print(reader.card)

# %% [markdown]
# The network has 27 symbols and 128 units. Symbol $x$ applies its own affine map, $h_t = h_{t-1} W_x + b_x$, and the
# logits are linear in the state. There is no nonlinearity anywhere but in the last softmax.
#
# It writes text like any character model:

# %%
print(
    analysis.generate(reader.model, "the city of ", num_symbols=200, inverse_temperature=1.5, alphabet=reader.alphabet)
)

# %% [markdown]
# ## A prediction, taken apart
#
# Each letter added something to each logit, and the letters after it carried that along. So the logit is
# the sum of one contribution for each letter, one for the bias and one for the initial state.

# %%
text = "the end of the second world wa"
split = analysis.contributions(reader.model, text, alphabet=reader.alphabet)
split

# %% [markdown]
# Nothing is approximated. `residual` is the largest difference between the sum and the network's own logits:

# %%
print(f"{split.residual:.1e}")

# %% [markdown]
# As a figure, the contributions to the logits of all 27 symbols (left: blue speaks for a symbol, red against it), and
# to the two likeliest, letter by letter and word by word. The "r" comes from "second world", more than from the "wa" at
# the end, which alone would speak for an "s".

# %%
figures.contribution_column(split)

# %% [markdown]
# ## A word is one affine map
#
# The maps of letters compose, so a whole word is one map too. Reading "second" at once gives the state that reading it
# letter by letter gives, here to the rounding of the layer's float32.

# %%
word = analysis.affine_map(reader.model, datasets.text.encode("second "))
before = analysis.trace(reader.model, datasets.text.encode("the ")[None])["h"][0, -1]
after = analysis.trace(reader.model, datasets.text.encode("the second ")[None])["h"][0, -1]
print(f"{np.abs(word.apply(before) - after).max():.1e}")

# %% [markdown]
# ## How far back does it look?
#
# The size of a contribution, by the age of its letter, over 5,000 letters of Python's own documentation, with a fit by
# two exponentials:

# %%
scales = analysis.timescales(reader.model, datasets.text.python_documentation()[:5000], max_age=60)
fit = scales.fit()
print("contributions decay on scales of {:.1f} and {:.1f} letters".format(*fit.scales))
figures.timescales(scales, fit)

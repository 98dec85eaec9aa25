# %% [markdown]
# # A language learned, proved, deployed as a table
#
# An automaton is inferred from labelled words. A network is made of it, and a proof shows that the network follows it
# on words of every length, so that the automaton, as a table, can take the place of the network.

# %% tags=["skip-execution"]
# %pip install "keras-interp-rnn[figures]"

# %%
import itertools
import random

from keras_interp_rnn import analysis, automata, figures, presets

# %% [markdown]
# ## A network that is an automaton
#
# The preset `tomita-4` accepts words without three 0s in a row. It is a GRU whose state moves among centroids, so each
# symbol leads from one centroid to another. The certificate proves that it follows the automaton on all words.

# %%
recognizer = presets.load("tomita-4")
print(recognizer.model.classify(["0110", "01000"]))
recognizer.certificate

# %% [markdown]
# Which centroid is it in? The probabilities $\alpha$ after each symbol of a word show it; the third 0 in a row leads to
# the centroid that rejects, and nothing leads away from it.

# %%
word = "0100110001"
ids = recognizer.encode(word)
figures.transition_map(analysis.trace(recognizer.model, ids[None])["alpha"][0], ["start", *word])

# %% [markdown]
# ## A language of your own
#
# Words over a, b and c with an even number of a's and no two c's side by side. All words of up to seven symbols, each
# with its label, are the only data:

# %%
words = ["".join(letters) for n in range(8) for letters in itertools.product("abc", repeat=n)]
labels = [word.count("a") % 2 == 0 and "cc" not in word for word in words]
found = automata.infer(words, labels)
print(len(words), "words:", found)
learned = found.dfa
learned

# %% [markdown]
# `compile` makes a network of the automaton, and `certify` proves that the network follows it.

# %%
model = automata.compile(learned)
certificate = automata.certify(model, learned)
print("proved:", certificate.holds)

# %% [markdown]
# The proof is about words that nobody has tried. Here are some of about 430 symbols, judged by the network and by
# the rule:

# %%
random.seed(0)
parts, ends = ["ab", "b", "ba", "cb"], ["", "", "cc"]
long = ["".join(random.choices(parts, k=250)) + random.choice(ends) for _ in range(200)]
rule = [word.count("a") % 2 == 0 and "cc" not in word for word in long]
print("agree:", list(model.classify(long)) == rule, "- accepted:", sum(rule))

# %% [markdown]
# ## A table instead of the network
#
# On every word the automaton gives the same verdict as the network, so it can take its place. It is a table and a loop,
# in Python or in C.

# %%
print(learned.to_python())

# %%
module = {}
exec(learned.to_python(), module)
print([module["accepts"](word) for word in long] == rule)

# %% [markdown]
# ## Which symbols decided?
#
# Shapley values split the verdict of the proved network on a word among its symbols, exactly, against words of
# independent, equally likely symbols. A negative value speaks for rejection.

# %%
analysis.shapley_values(certificate, "abacca")

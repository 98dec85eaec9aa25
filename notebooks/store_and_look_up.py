# %% [markdown]
# # A DeltaNet that stores and looks up
#
# DeltaNet is a layer of today's sequence models. Its state is a matrix, a memory: each step writes a value under a key,
# in place of what the key read before, and reads with a query. This notebook opens a small one and sees which write
# decides each answer, exactly.

# %% tags=["skip-execution"]
# %pip install keras-interp-rnn

# %%
from keras_interp_rnn import analysis, automata, presets, views

memory = presets.load("lookup-delta-net")
print(memory.card)

# %% [markdown]
# It reads writes, such as `c=5`, and questions, such as `c?`. A key may be written again; the last value counts.

# %%
text = ["c=5", "a=1", "b=7", "c=2", "h=4", "c?", "a=6", "b?", "a?"]
said = memory.model.predict(memory.encode(text)[None], verbose=0)[0].argmax(axis=-1) + 1
print({symbol: int(said[step]) for step, symbol in enumerate(text) if "?" in symbol})

# %% [markdown]
# ## Which write decided?
#
# Keys, values, queries and the strength of writing are functions of the input alone. Given the input, the memory is
# therefore a sum with one term for each write, and so is every logit. For `c?` the write `c=2` decides, and little is
# left of `c=5`, which it wrote over. (Output 2 is the value 2.)

# %%
split = analysis.contributions(memory.model, text)
print(split.shown(text.index("c?")))
print(f"The terms miss the logits by {split.residual:.0e}.")

# %%
views.show(split)

# %% [markdown]
# ## The same network, as an automaton
#
# Over symbols, each symbol applies one affine map to the 64 numbers of the memory. The outputs are not the memory
# itself, so they join the state. What is left when every direction is removed that no output ever depends on has 73
# dimensions: 64 numbers of the memory, 8 logits, and the constant 1.

# %%
automaton = automata.WeightedAutomaton.from_network(memory.model)
smallest = automaton.minimize()
print(len(automaton), "->", len(smallest))

# %% [markdown]
# So the exact Shapley value of every symbol takes milliseconds. It asks another question than a contribution: what a
# symbol is worth when others may be unknown. The question itself gets a share now, because without it nothing is asked.

# %%
print(analysis.shapley_values(memory.model, text[:6]))

# %% [markdown]
# And the network is an ISAN of 72 units over 72 symbols, a layer that can be put in its place:

# %%
isan = smallest.to_isan(return_sequences=True)
same = isan(memory.encode(text)[None])[0].numpy().argmax(axis=-1) + 1
print(isan.layers[0].units, (same == said).all())

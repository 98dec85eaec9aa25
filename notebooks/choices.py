# %% [markdown]
# # Choices, read by a network of two units
#
# A subject chooses between two arms again and again, and each choice is rewarded or not. Which rule makes the choices? A
# network of two units learns to predict them. It is small enough to be read whole, and compared with a rule exactly.

# %% tags=["skip-execution"]
# %pip install "keras-interp-rnn[figures]"

# %%
import keras
import numpy as np

from keras_interp_rnn import analysis, automata, constraints, fitting, layers

# %% [markdown]
# ## A subject whose rule is known
#
# A forgetting Q-learner keeps a value for each arm. The chosen one moves towards the reward at the learning rate, the
# other fades at the forgetting rate, and the logit of choosing arm B is the difference of both times 3. The better arm
# pays in 8 of 10 trials, the other in 2, and they change places now and then.

# %%
LEARNING, FORGETTING, SCALE = 0.3, 0.15, 3.0
NAMES = ["A, nothing", "A, reward", "B, nothing", "B, reward"]


def simulated(sessions, trials, seed):
    """Symbols 2 * choice + reward, (sessions, trials)."""
    rng, rows = np.random.default_rng(seed), np.arange(sessions)
    values, pays = np.zeros((sessions, 2)), np.tile([0.8, 0.2], (sessions, 1))
    symbols = np.zeros((sessions, trials), int)
    for trial in range(trials):
        logit = SCALE * (values[:, 1] - values[:, 0])
        choice = (rng.logistic(size=sessions) < logit).astype(int)
        reward = (rng.random(sessions) < pays[rows, choice]).astype(int)
        symbols[:, trial] = 2 * choice + reward
        values[rows, choice] += LEARNING * (reward - values[rows, choice])
        values[rows, 1 - choice] *= 1 - FORGETTING
        change = rng.random(sessions) < 0.02
        pays[change] = pays[change, ::-1]
    return symbols


symbols = simulated(sessions=100, trials=100, seed=0)
print("".join("AaBb"[symbol] for symbol in symbols[0]), "(small letters: rewarded)")

# %% [markdown]
# ## The network
#
# What was chosen and what came of it is one of four symbols. A `DiagonalISAN` gives each symbol a decay and a drive for
# each unit, $h_t = w_x \odot h_{t-1} + b_x$, and the two units add up to the logit: 16 numbers. With so few, L-BFGS does
# in seconds what Adam does in many epochs.

# %%
model = keras.Sequential(
    [
        keras.Input((None,), dtype="int32"),
        layers.DiagonalISAN(
            2,
            vocabulary_size=4,
            return_sequences=True,
            learn_initial_state=False,
            recurrent_constraint=constraints.Interval(0, 1),
        ),
        keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", trainable=False),
    ]
)
model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True))
fits = fitting.fit_lbfgs(model, (symbols[:, :-1], symbols[:, 1:, None] // 2), num_restarts=3, verbose=0)
print(fits)

# %% [markdown]
# One unit should hold the value of A, below zero as it speaks against B, the other that of B. The decays are then one
# minus the rates: 0.7 for the arm that was chosen, 0.85 for the other.

# %%
kernel, drive = model.layers[0].cell.kernels()
for name, matrix, row in zip(NAMES, kernel, drive, strict=True):
    print(f"{name:12} decays {np.diag(matrix).round(2)}  drives {row.round(2)}")

# %% [markdown]
# ## Is it the Q-learner?
#
# The rule is affine in its values given a symbol, so it is a weighted automaton too: a matrix for each symbol, with the
# constant 1 as the last state.

# %%
matrices = np.tile(np.eye(3), (4, 1, 1))
for symbol in range(4):
    choice, reward = divmod(symbol, 2)
    matrices[symbol, choice, choice], matrices[symbol, 2, choice] = 1 - LEARNING, LEARNING * reward
    matrices[symbol, 1 - choice, 1 - choice] = 1 - FORGETTING
rule = automata.WeightedAutomaton([0, 0, 1], matrices, [-SCALE, SCALE, 0])
print(analysis.equivalent(rule, rule.minimize()))
print(analysis.equivalent(model, rule, tolerance=0.5))

# %% [markdown]
# The fitted network is near the rule and not equal to it: it saw 10,000 choices. How far apart are the choices that both
# predict?

# %%
theirs = np.array([[rule.value(row[:length]) for length in range(1, 100)] for row in symbols[:10]])
ours = model.predict(symbols[:10, :-1], verbose=0)[..., 0]
p, q = 1 / (1 + np.exp(-theirs)), 1 / (1 + np.exp(-ours))
print(f"{(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).mean():.5f} nats a choice")

# %% [markdown]
# ## Which trial made this choice?
#
# The logit of a choice is a sum with one term for each past trial, exactly.

# %%
split = analysis.contributions(model, symbols[0, :30])
print(split.shown(-1))
print(f"The terms miss the logits by {split.residual:.0e}.")

# %% [markdown]
# ## Does it take two units?
#
# `truncate` leaves out the direction of the state that matters least on these sessions, and says what that costs.

# %%
smaller = analysis.truncate(model, 1, sequences=list(symbols[:20]))
print(f"One unit: logits change by {smaller.logit_error:.2f}, root mean square.")

# %% [markdown]
# # A log of sessions: learned, proved, explained, deployed
#
# A file server logs the events of each session. From labelled sessions an automaton is learned, and a network that is
# proved to follow it. A flagged session is explained by its smallest edit; the automaton is drawn for colleagues, and
# deployed as a table in C. Next to it are the usual detectors.

# %% tags=["skip-execution"]
# %pip install "keras-interp-rnn[figures]"

# %%
import random
import time

import keras
import numpy as np

from keras_interp_rnn import analysis, automata, datasets

keras.utils.set_random_seed(0)
random.seed(0)

# %% [markdown]
# ## The log
#
# The protocol: log in, with two failures at most; open a file, read or write it, close it, as often as one likes; log
# out. Half of the sessions have a fault: an event is left out, put in or exchanged. Your own log is a CSV, a data
# frame, or a file in XES, with a row for each event.

# %%
EVENTS = ("connect", "fail", "login", "open", "read", "write", "close", "logout")


def normal(files):
    session = ["connect", *["fail"] * random.choice([0, 0, 0, 1, 2]), "login"]
    for _ in range(random.randint(0, files)):
        session += ["open", *random.choices(["read", "write"], [3, 1], k=random.randint(1, 4)), "close"]
    return [*session, "logout"]


def follows_protocol(session):
    state, failures = "start", 0
    steps = {("start", "connect"): "connected", ("connected", "login"): "in", ("in", "open"): "file"}
    steps |= {("file", "read"): "used", ("file", "write"): "used", ("used", "read"): "used", ("used", "write"): "used"}
    steps |= {("used", "close"): "in", ("in", "logout"): "end"}
    for event in session:
        if state == "connected" and event == "fail" and failures < 2:
            failures += 1
        else:
            state = steps.get((state, event))
    return state == "end"


def faulty(files):
    session = normal(files)
    while follows_protocol(session):
        at = random.randrange(len(session))
        session[at : at + random.choice([0, 1, 1])] = random.choices(EVENTS, k=random.choice([0, 1]))
    return session


def log(sessions, files):
    drawn = [(faulty if i % 2 else normal)(files) for i in range(sessions)]
    rows = [(f"{i:05}", event, not i % 2) for i, session in enumerate(drawn) for event in session]
    return dict(zip(("session", "event", "ok"), zip(*rows, strict=True), strict=True))


past, new = log(1500, files=3), log(1000, files=8)
sessions = datasets.sessions(past, "event", by="session", label="ok")
unseen = datasets.sessions(new, "event", by="session", label="ok")
print(" ".join(sessions.words[0]), "->", sessions.labels[0])

# %% [markdown]
# ## An automaton from the labels
#
# The new sessions are more than twice as long as those it learns from.


# %%
def rightly(dfa):
    verdicts = [dfa.accepts(word) for word in unseen.words]
    return f"{np.mean(np.array(verdicts) == unseen.labels):.1%} of the new sessions are judged rightly"


words, labels = list(sessions.words), list(sessions.labels)
found = automata.infer(words, labels, alphabet=EVENTS)
print(found)
print(rightly(found.dfa))

# %% [markdown]
# The sessions do not say everything. `questions` are words that would tell the automaton from others that fit as well;
# who knows the protocol labels them, here the function above, and the search goes on. Three rounds:

# %%
for _ in range(3):
    words += found.questions
    labels += [follows_protocol(word) for word in found.questions]
    found = automata.infer(words, labels, alphabet=EVENTS)
print(f"after {len(words) - len(sessions.words)} answers: {len(found.dfa)} states,", rightly(found.dfa))

# %% [markdown]
# Transitions that no session takes are dashed: there the search had nothing but its preference for short descriptions.

# %%
found

# %% [markdown]
# ## A network that is proved to follow it

# %%
model = automata.compile(found.dfa)
certificate = automata.certify(model, found.dfa)
print("proved for sessions of every length:", certificate.holds)

# %% [markdown]
# ## Why was this session flagged?
#
# The smallest change that makes it normal says what is missing, for the network as for the automaton.

# %%
flagged = next(word for word, label in zip(unseen.words, unseen.labels, strict=True) if not label and len(word) < 14)
print(" ".join(flagged))
print(automata.smallest_edit(certificate, flagged))

# %%
analysis.shapley_values(certificate, flagged)

# %% [markdown]
# Without labels, from normal sessions alone, a stochastic automaton says which event came instead of which.

# %%
normal_words = [word for word, label in zip(sessions.words, sessions.labels, strict=True) if label]
stochastic = automata.WeightedAutomaton.from_words(normal_words, alphabet=EVENTS)
analysis.surprise(stochastic, [flagged]).events[0]

# %% [markdown]
# ## Deployed
#
# The same verdicts from a table, without a library.

# %%
print(found.dfa.to_c()[:700], "...")

# %% [markdown]
# ## Next to the usual detectors
#
# The first two learn from labels, as the automaton does; the others from normal sessions alone, with the threshold that
# flags 2% of them. F1 is of the flagged sessions.

# %%
IDS = {event: i + 1 for i, event in enumerate(EVENTS)}


def padded(words, length):
    ids = [[IDS[event] for event in word] for word in words]
    return keras.utils.pad_sequences(ids, maxlen=length, padding="post")


def counts(words, n):
    rows = np.zeros((len(words), len(EVENTS) ** n))
    for row, word in zip(rows, words, strict=True):
        ids = [IDS[event] - 1 for event in word]
        for gram in zip(*(ids[i:] for i in range(n)), strict=False):
            row[np.ravel_multi_index(gram, (len(EVENTS),) * n)] += 1
    return rows


def logistic(n):
    regression = keras.Sequential([keras.Input((len(EVENTS) ** n,)), keras.layers.Dense(1, activation="sigmoid")])
    regression.compile(keras.optimizers.Adam(0.05), "binary_crossentropy")
    regression.fit(counts(sessions.words, n), np.array(sessions.labels, float), epochs=40, batch_size=256, verbose=0)
    return lambda words: regression.predict(counts(words, n), verbose=0)[:, 0] > 0.5


def below_threshold(score):
    threshold = np.quantile(score(normal_words), 0.98)
    return lambda words: score(words) <= threshold


def autoencoder():
    ids = padded(normal_words, 40)
    network = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(len(EVENTS) + 1, 8, mask_zero=True),
            keras.layers.LSTM(16),
            keras.layers.RepeatVector(40),
            keras.layers.LSTM(16, return_sequences=True),
            keras.layers.Dense(len(EVENTS) + 1, activation="softmax"),
        ]
    )
    network.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    network.fit(ids, ids, epochs=30, batch_size=64, verbose=0)

    def score(words):
        target = padded(words, 40)
        given = network.predict(target, batch_size=256, verbose=0)
        nats = -np.log(np.take_along_axis(given, target[..., None], -1)[..., 0] + 1e-9)
        return (nats * (target > 0)).sum(1) / (target > 0).sum(1)

    return below_threshold(score)


module = {}
exec(found.dfa.to_python(), module)
detectors = {
    "automaton, as a table": lambda words: np.array([module["accepts"](word) for word in words]),
    "network, proved": lambda words: np.array(model.classify(words)),
    "events counted, logistic": logistic(1),
    "triples counted, logistic": logistic(3),
    "stochastic automaton": below_threshold(lambda words: analysis.surprise(stochastic, words).scores("largest")),
    "LSTM autoencoder": autoencoder(),
}
truth = ~np.asarray(unseen.labels, bool)
print(f"{'':28}{'F1':>6}{'sessions/s':>12}")
for name, accepts in detectors.items():
    accepts(unseen.words[:2])
    start = time.perf_counter()
    flags = ~np.asarray(accepts(unseen.words), bool)
    seconds = time.perf_counter() - start
    right = 2 * (flags & truth).sum() / (flags.sum() + truth.sum())
    print(f"{name:28}{right:6.3f}{len(unseen.words) / seconds:12,.0f}")

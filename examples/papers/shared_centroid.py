"""A centroid that stands for two states: right on every word that was tried, and no automaton of its centroids.

Wang, Lawrence and Niepert, 2022, section 5.1, read a network as the automaton of its centroids. Here networks learn
Tomita's language 3, whose minimal automaton has five states, with four centroids and with five. A mixture of centroids
can tell two states apart that share one; the automaton cannot, and `automata.certify` names a word.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from examples.papers import _languages
from examples.papers._experiment import Experiment, Record, Run, grouped, runs, table
from examples.papers._lazy import analysis, automata, datasets, keras, layers, np

LANGUAGE, UNITS, EACH, BATCH, RATE, CHECKED = 3, 8, 1024, 32, 5e-3, 5
"""Number of the language, size of the state, words of each label in an epoch, batch, Adam's rate, and epochs from one
check of all words to the next."""

LONGEST, TRIED, READ = 11, 14, 10
"""Symbols of the longest word that is trained on, that is tried, and on which the automaton is compared."""


class SharedCentroid(Experiment):
    name = "shared-centroid"
    title = "A centroid that stands for two states"
    place = "Wang, Lawrence and Niepert 2022, section 5.1"
    measure = "words on which network and automaton are wrong"
    rows = {f"{k} centroids": {"centroids": k, "epochs": 100} for k in (4, 5)}
    small = {"epochs": 1}
    run_name = "{table[row]}, seed {model[seed]}"

    def run(self, run: Run) -> Record:
        settings = self.settings(run)
        longest, tried = (3, 4) if run.smoke else (LONGEST, TRIED)
        truth = automata.tomita(LANGUAGE)
        words, every = (_languages.short_words(truth, length) for length in (longest, tried))
        model, epochs = train(words, every, settings["centroids"], settings["epochs"], run)
        model.save(run.folder / "model.keras")
        extraction = automata.extract(model, alphabet=alphabet())
        certificate = automata.certify(model, truth, alphabet=alphabet())
        short = _languages.short_words(truth, min(tried, READ))
        read = [extraction.dfa.output(word) for word in short.words]
        word = extraction.dfa.difference(truth)
        return {
            "data": {"name": f"Tomita {LANGUAGE}", "longest": longest, "words": len(words)},
            "model": {"layer": "SRGRU", "seed": run.seed, "parameters": model.count_params()},
            "protocol": {**settings, "units": UNITS, "batch": BATCH, "learning_rate": RATE},
            "result": {
                "epochs": epochs,
                "tried": len(every),
                "wrong": int(np.sum(wrong(model, every))),
                "read": len(short),
                "automaton_wrong": int(np.sum(read != short.labels)),
                "used": len(extraction.dfa),
                "certified": certificate.holds,
                "failure": certificate.failure,
                "word": None if word is None else "".join(map(str, word)),
                "right_on_word": None if word is None else bool(truth.accepts(word) == (_logits(model, [word])[0] > 0)),
                "mixtures": mixtures(model, truth, short).tolist(),
            },
        }

    def summary(self, record: Record) -> str:
        result = record["result"]
        says = "certified" if result["certified"] else result["failure"]
        return f"{result['wrong']} of {result['tried']} words wrong, {result['used']} centroids in use; {says}"

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        """A line for each network; and the mixtures of the first that is right on every word, by state."""
        lines = []
        for (centroids, seed), (record,) in grouped(records, _place).items():
            result = record["result"]
            network, automaton = (
                f"{result[w]:,} of {result[n]:,}" for w, n in (("wrong", "tried"), ("automaton_wrong", "read"))
            )
            refused = (
                f"`{result['word']}`" if result["word"] is not None else None if result["certified"] else "too soft"
            )
            lines.append([centroids, seed, result["epochs"], network, result["used"], automaton, refused])
        header = "centroids | seed | epochs | words wrong | in use | wrong by the automaton | refused with"
        right = next((record for record in records if not record["result"]["wrong"]), records[0])
        mixed = [
            [state, *(f"{probability:.2f}" for probability in of_state)]
            for state, of_state in enumerate(right["result"]["mixtures"])
        ]
        names = ["state", *(f"centroid {i}" for i in range(len(mixed[0]) - 1))]
        shown = {"network": self.called(right), "mixtures": table(names, mixed)}
        return {"table": table(header, lines), **shown, "runs": runs(records, self.called)}


def _place(record: Record) -> tuple[int, int]:
    return record["protocol"]["centroids"], record["model"]["seed"]


def alphabet() -> Any:
    """The ids that the networks read: a start token first."""
    return datasets.Alphabet.with_tokens("01", start=True)


def build(centroids: int) -> keras.Model:
    """An SRGRU between an embedding and one logit; temperature 1, and nothing that makes transitions sharp."""
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(len(alphabet()), UNITS, mask_zero=True),
            layers.SRGRU(UNITS, centroids, reset_after=False),
            keras.layers.Dense(1),
        ]
    )


def train(words: Any, every: Any, centroids: int, epochs: int, run: Run) -> tuple[keras.Model, int]:
    """A network, and the epochs after which it was right on every word that is tried, or all of them."""
    keras.utils.set_random_seed(run.seed)
    model, rng = build(centroids), np.random.default_rng(run.seed)
    model.compile(keras.optimizers.Adam(RATE), keras.losses.BinaryCrossentropy(from_logits=True), jit_compile=False)
    ids, labels = words.ids(start=True), words.labels
    of_each = [np.flatnonzero(labels == label) for label in (True, False)]
    for epoch in range(1, epochs + 1):
        order = rng.permutation(np.concatenate([rng.choice(of_one, EACH) for of_one in of_each]))
        loss = model.fit(ids[order], labels[order], BATCH, verbose=0).history["loss"][0]
        if epoch % CHECKED:
            continue
        missed = int(np.sum(wrong(model, words)))
        if run.verbose:
            print(f"epoch {epoch}: loss {loss:.4f}, {missed} of {len(words)} words wrong", flush=True)
        if not missed and not np.any(wrong(model, every)):
            break
    return model, epoch


def wrong(model: keras.Model, words: Any) -> Any:
    return (_logits(model, words.words) > 0) != words.labels


def mixtures(model: keras.Model, truth: automata.DFA, words: Any) -> Any:
    """(states, centroids): mean probabilities of the centroids after words that lead to a state of the automaton."""
    ids = words.ids(start=True)
    alphas = analysis.trace(model, ids)["alpha"][np.arange(len(ids)), np.count_nonzero(ids, axis=1) - 1]
    states = np.array([functools.reduce(truth.step, word, truth.start) for word in words.words])
    return np.array([alphas[states == state].mean(axis=0) for state in range(len(truth))])


def _logits(model: keras.Model, words: Any) -> Any:
    return model.predict(alphabet().encode_batch(words), batch_size=4096, verbose=0)[:, 0]

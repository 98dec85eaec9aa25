"""Section 5.1 of Wang, Lawrence and Niepert, 2022: automata read off a network, and learned by queries.

A state-regularized GRU is read as an automaton; AALpy's L* and KV learn one from it, from a GRU and from an LSTM by
membership queries, with three oracles that look for counterexamples.
"""

from __future__ import annotations

import operator
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from examples.papers import _aalpy, _languages
from examples.papers._experiment import Claim, Experiment, Finding, Record, Run
from examples.papers._lazy import automata, datasets, keras, np

ALPHABET = ("0", "1")

Learner = Callable[["automata.Recognizer", int], tuple["automata.DFA", int]]
"""Network and the number of symbols that it may read -> automaton, and the number that it read."""


class CompareExtraction(Experiment):
    name = "compare-extraction"
    title = "Automata read off and automata learned by asking"
    place = "Wang, Lawrence and Niepert 2022, section 5.1"
    measure = "agreement of the automata with the networks"
    rows = {str(language): {"longest": 10, "most": 20_000} for language in range(1, 8)}
    small = {"longest": 3, "most": 500}
    run_name = "{data[name]}"
    header = "language | network | method | states | seconds | symbols | agreement | true language"

    def run(self, run: Run) -> Record:
        settings, learners = self.settings(run), _learners()
        keras.utils.set_random_seed(run.seed)
        truth = automata.tomita(int(run.row))
        words = _languages.short_words(truth, settings["longest"])
        models = {
            "SR-GRU": automata.train_recognizer(words.words, words.labels, alphabet=ALPHABET, seed=run.seed, verbose=0)
        }
        for network in ("GRU",) if run.smoke else ("GRU", "LSTM"):
            models[network] = _train(getattr(keras.layers, network)(24), words, num_batches=40 if run.smoke else 400)
        tests = ["".join(random.choices(ALPHABET, k=random.randint(1, 100))) for _ in range(500)]
        rows: list[Record] = []
        for network, model in models.items():
            methods = {"exact": _extract, **learners} if network == "SR-GRU" else learners
            for method, learn in methods.items():
                row = _tested(model, learn, settings["most"], tests, truth)
                rows.append({"network": network, "method": method, **row})
                if run.verbose:
                    print(" | ".join(str(cell or "") for cell in _cells(rows[-1])), flush=True)
        return {
            "data": {"name": f"Tomita {run.row}"},
            "protocol": {**settings, "seed": run.seed},
            "result": {"rows": rows},
        }

    def lines_of(self, record: Record) -> list[list[object]]:
        return [[record["data"]["name"], *_cells(row)] for row in record["result"]["rows"]]

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        findings = []
        for record in records:
            of_it = [row for row in record["result"]["rows"] if row["network"] == "SR-GRU"]
            exact = [row for row in of_it if row["method"] == "exact"][0]
            fewest = min(row["read"] for row in of_it if row["method"] != "exact")
            figure = f"{record['data']['name']}: {exact['read']} symbols against {fewest} or more"
            findings.append(Finding(figure, exact["agreement"] == 1 and exact["read"] < fewest))
        return [
            self.claim(
                "faithful",
                "it agrees on all tried words, and fewer symbols are read than by any learner that asks this network",
                *findings,
            )
        ]


def _cells(row: Record) -> list[object]:
    own = [row["network"], row["method"]]
    if row["states"] is None:
        return [*own, "gave up", None, f"{row['read']:,}", None, None]
    true = "yes" if row["true"] else "no"
    return [*own, row["states"], f"{row['seconds']:.2f}", f"{row['read']:,}", f"{row['agreement']:.1%}", true]


def _train(recurrent: Any, words: datasets.LabelledWords, num_batches: int) -> automata.Recognizer:
    """A network without centroids, trained on short words before long ones."""
    embedding = automata.SymbolEmbedding(ALPHABET, 4)
    model = automata.Recognizer([keras.Input((None,), dtype="int32"), embedding, recurrent, keras.layers.Dense(1)])
    model.compile(
        keras.optimizers.Adam(5e-3, global_clipnorm=1.0),
        keras.losses.BinaryCrossentropy(from_logits=True),
        jit_compile=num_batches > 50,  # compiling takes seconds
        steps_per_execution=num_batches // 8,
    )
    ids, labels, lengths = words.ids(start=True), words.labels, np.array([len(word) for word in words.words])
    rng = np.random.default_rng(0)
    for length in range(min(4, lengths.max()), lengths.max() + 1):
        parts = [np.flatnonzero((lengths <= length) & (labels == label)) for label in (False, True)]
        rows = np.concatenate([rng.choice(part, (num_batches, 32)) for part in parts], axis=1).ravel()
        model.fit(ids[rows], labels[rows].astype("float32"), 64, shuffle=False, verbose=0)
    return model


def _learners() -> dict[str, Learner]:
    """Method -> what learns an automaton with it; ImportError without AALpy."""
    try:
        from aalpy.learning_algs import run_KV, run_Lstar
        from aalpy.oracles import RandomWMethodEqOracle, RandomWordEqOracle, StatePrefixEqOracle
    except ImportError as error:
        install = "pip install 'keras_interp_rnn[automata]'"
        raise ImportError(f"compare-extraction needs AALpy ({error}): {install}") from error

    def learner(algorithm: Any, oracle: Any, settings: dict[str, int]) -> Learner:
        def learn(model: automata.Recognizer, max_symbols: int) -> tuple[automata.DFA, int]:
            system, letters = _aalpy.queried(model, max_symbols), list(ALPHABET)
            asks = oracle(letters, system, **settings)
            learned = algorithm(letters, system, asks, automaton_type="dfa", print_level=0)
            return automata.DFA.from_aalpy(learned, ALPHABET), len(system.known)

        return learn

    oracles = {
        "W-method": (RandomWMethodEqOracle, {"walks_per_state": 10, "walk_len": 20}),
        "words": (RandomWordEqOracle, {"num_walks": 200, "min_walk_len": 5, "max_walk_len": 40}),
        "prefixes": (StatePrefixEqOracle, {"walks_per_state": 10, "walk_len": 20}),
    }
    return {
        f"{name}, {looks}": learner(algorithm, *oracle)
        for name, algorithm in (("L*", run_Lstar), ("KV", run_KV))
        for looks, oracle in oracles.items()
    }


def _extract(model: automata.Recognizer, max_symbols: int) -> tuple[automata.DFA, int]:
    """The automaton that is read off the network, and the number of its transitions."""
    dfa = automata.extract(model).dfa
    assert isinstance(dfa, automata.DFA)  # of a network with one output
    return dfa, len(dfa) * len(ALPHABET)


def _tested(
    model: automata.Recognizer, learn: Learner, max_symbols: int, tests: list[str], truth: automata.DFA
) -> Record:
    """The record of an automaton; all but the symbols read is None where the learner gave up."""
    started = time.perf_counter()
    try:
        dfa, read = learn(model, max_symbols)
    except TimeoutError:
        return {"read": max_symbols, **dict.fromkeys(("states", "seconds", "agreement", "true"))}
    seconds = time.perf_counter() - started
    agreeing = sum(map(operator.eq, map(dfa.accepts, tests), model.classify(tests)))
    return {
        "states": len(dfa.minimize()),
        "seconds": seconds,
        "read": read,
        "agreement": float(agreeing / len(tests)),
        "true": dfa.equivalent(truth),
    }

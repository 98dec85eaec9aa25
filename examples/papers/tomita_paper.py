"""Section 5.1 of Wang, Lawrence and Niepert, 2022, by the paper's own protocol: fifty centroids, and no recipe of ours.

`tomita.py` trains networks into automata by the recipe of `automata.train_recognizer`. Here a network with 100 units
and 50 centroids is trained from the start by the protocol of the paper and its published code, until it is right on all
training words; so is a plain GRU.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from examples.papers import _languages, _records
from examples.papers._experiment import Claim, Experiment, Finding, Record, Run, grouped
from examples.papers._lazy import automata, callbacks, datasets, keras, layers, np, training

LEARNED = ("1", "2", "3", "4", "7")
"""The languages on which the paper's GRU converged."""

NETWORKS = ("GRU", "SR-GRU")

PROTOCOL = {
    **{"units": 100, "centroids": 50, "gate": "hard_sigmoid", "batch": 2, "sorted_epochs": 10, "epochs": 1000},
    **{"rho": 0.95, "epsilon": 1e-6, "readout_decay": 1e-4, "centroids_scale": 0.1, "clip": _languages.PAPER["clip"]},
}
"""Adadelta's rho and epsilon; an L2 penalty on the readout; centroids U(-0.1, 0.1). The bound on the gradient's norm is
never reached: it is there for XLA, as in `_languages.PAPER`."""

LONG = f", {PROTOCOL['epochs']:,} epochs"
"""Ends the names of rows that go on once every training word is right."""

EARLIER = ", slope 1/6"
"""Ends the names of networks that were trained with Keras's hard sigmoid, in place of Theano's."""

SMOKE = {"units": 6, "centroids": 3, "batch": 8, "sorted_epochs": 1, "epochs": 2, "more": 0}


class TomitaPaper(Experiment):
    """Networks of 100 units, with fifty centroids and without; a row is a language and a network."""

    name = "tomita-paper"
    title = "Tomita's languages by the paper's protocol"
    place = "Wang, Lawrence and Niepert 2022, section 5.1"
    measure = "automata that are right"
    options = frozenset({"budget"})
    minutes = 60
    resets_before = True
    rows = {
        f"{language}-{network}": {"language": language, "network": network}
        for language in LEARNED
        for network in NETWORKS
    } | {
        f"{language}-SR-GRU{LONG}": {"language": language, "network": "SR-GRU", "more": PROTOCOL["epochs"]}
        for language in LEARNED
    }
    small = SMOKE
    run_name = "{table[row]}, seed {model[seed]}"
    header = (
        "language | network | all training words right | epochs | seconds | validation errors | states | "
        "right by counts | centroids by counts | right by steps | centroids by steps | least sure"
    )

    def run(self, run: Run) -> Record:
        language, network = run.settings["language"], run.settings["network"]
        own = {name: value for name, value in self.settings(run).items() if name not in ("language", "network")}
        protocol = {**PROTOCOL, "more": 0, **own, "seed": run.seed}
        truth = automata.tomita(int(language))
        if run.smoke:
            train = validation = _languages.short_words(truth, 4)
        else:
            train, validation = (datasets.tomita.load(split, config=language) for split in ("train", "validation"))
        environment = _records.start_run(run.folder, {**protocol, "row": run.row})
        model, curve = _train(network, train, protocol, run)
        learned = _epochs_to_learn(curve)
        result: Record = {
            "converged": learned is not None,
            "validation_error": _wrong(model, validation) / len(validation),
            "epochs": learned or len(curve),
            "seconds": training.training_seconds(curve[:learned]),
        }
        if network == "SR-GRU":
            extraction = automata.extract(model, alphabet=_alphabet())
            counted = automata.extract(model, train.words, method="counts", alphabet=_alphabet())
            (run.folder / "centroids.svg").write_text(extraction.dfa.to_svg([str(c) for c in extraction.centroids]))
            result |= {
                "exact": extraction.dfa.minimize() == truth,
                "states": len(truth),
                "centroids": len(extraction.dfa),
                "least": float(extraction.confidence.min()),
                "by_counts": {"exact": counted.dfa.minimize() == truth, "centroids": len(counted.dfa)},
                "difference": extraction.dfa.difference(truth),
            }
        return {
            "environment": environment,
            "data": {"name": f"Tomita {language}", "words": len(train), "positives": train.positives},
            "model": {"layer": network, "seed": run.seed, "parameters": model.count_params()},
            "protocol": protocol,
            "result": result,
            "curve": curve,
        }

    def lines(self, records: Sequence[Record]) -> list[list[object]]:
        rows: list[list[object]] = []
        for (_, _, name, network, more), group in grouped(records, _kind).items():
            results = [record["result"] for record in group]
            learned = [result for result in results if result["converged"]]
            cells: list[object] = [f"{len(learned)} of {len(results)}"]
            for measure, form in (("epochs", "g"), ("seconds", ".0f")):
                found = [result[measure] for result in learned]
                cells.append(format(statistics.median(found), form) if found else None)
            cells.append(f"{statistics.mean(result['validation_error'] for result in results):.1%}")
            if network == "SR-GRU":
                counted = [result["by_counts"] for result in results]
                cells += [results[0]["states"], *_read_off(counted), *_read_off(results)]
                cells.append(f"{statistics.median(result['least'] for result in results):.2f}")
            else:
                cells += [None] * 6
            rows.append([name, f"{network}{more}", *cells])
        return rows

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        kinds = {kind[2:]: [record["result"] for record in group] for kind, group in grouped(records, _kind).items()}

        def of(name: str, network: str, *ends: str) -> list[Record]:
            """The results of the first of these kinds that is on record."""
            return next((kinds[name, network, end] for end in ends if (name, network, end) in kinds), [])

        minimal, epochs, seconds = [], [], []
        for name in (f"Tomita {n}" for n in LEARNED):
            own, plain = (of(name, network, "", EARLIER) for network in ("SR-GRU", "GRU"))
            results = of(name, "SR-GRU", LONG, LONG + EARLIER, "", EARLIER)
            right = [_is_minimal(result) for result in results if result["converged"]]
            # A network that has not learned the words decides nothing.
            minimal.append(
                Finding(f"{name}: {sum(right)} of {len(right)} networks" * bool(right), all(right) if right else None)
            )
            if own and plain and all(result["converged"] for result in (*own, *plain)):
                (slow, fast), (long, short) = (
                    [statistics.median(result[measure] for result in each) for each in (own, plain)]
                    for measure in ("epochs", "seconds")
                )
                epochs.append(Finding(f"{name}: {slow:g} epochs against {fast:g}", slow <= 2 * fast))
                seconds.append(long - short)
        hour = [Finding(f"at most {max(seconds):.0f} s later", max(seconds) <= 360)] if seconds else [Finding()]
        return [
            self.claim(
                "centroids",
                "by the paper's algorithm 1 the automaton is the right one, and has this number of centroids, for"
                " languages 1 to 4 and 7; of each, the networks that trained longest",
                *minimal,
                evidence="of the five networks that the authors published, those for Tomita 2 and 3 fail too",
            ),
            self.claim(
                "time",
                "at most a tenth of the hour that the paper gives; at most twice as many epochs, for each language",
                *hour,
                *epochs,
                decides="whether an hour or the GRU's own time is the measure",
            ),
        ]


def _kind(record: Record) -> tuple[int, int, str, str, str]:
    """A line of the table: two numbers that sort it, the language, the network, and the end of its name."""
    name, network, row = record["data"]["name"], record["model"]["layer"], record["table"]["row"]
    own = "".join(row.partition(",")[1:]) + EARLIER * ("gate" not in record["protocol"])
    return int(name.split()[1]), NETWORKS.index(network), name, network, own


def _is_minimal(result: Mapping[str, Any]) -> bool:
    """Whether a network has, by counts, the right automaton and a centroid for each state."""
    counted = result["by_counts"]
    return bool(counted["exact"] and counted["centroids"] == result["states"])


def _read_off(automata: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """How many are right, and how many centroids they have."""
    least, most = (of(found["centroids"] for found in automata) for of in (min, max))
    right = sum(found["exact"] for found in automata)
    return f"{right} of {len(automata)}", f"{least}" if least == most else f"{least} to {most}"


@functools.cache
def _alphabet() -> Any:
    return datasets.Alphabet.with_tokens("01", start=True)


def _build(network: str, protocol: Mapping[str, Any]) -> keras.Model:
    """An embedding, a GRU, and one logit, initialized as in the published code."""
    from examples.papers import _layers  # with Keras

    keras.utils.set_random_seed(protocol["seed"])
    units = protocol["units"]
    cell = {"reset_after": False, "use_bias": False, "recurrent_activation": _layers.hard_sigmoid}
    if network == "GRU":
        recurrent: keras.layers.RNN = keras.layers.GRU(units, **cell)
    else:
        scale = protocol["centroids_scale"]
        centroids = keras.initializers.RandomUniform(-scale, scale)
        recurrent = layers.SRGRU(units, protocol["centroids"], centroids_initializer=centroids, **cell)
    penalty = keras.regularizers.L2(protocol["readout_decay"])
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(len(_alphabet()), units, mask_zero=True),
            recurrent,
            keras.layers.Dense(1, kernel_regularizer=penalty),
        ]
    )
    inner = recurrent.cell if network == "GRU" else recurrent.cell.cell
    for weight in (inner.kernel, inner.recurrent_kernel):  # orthogonal, each gate by itself
        gates = [keras.initializers.Orthogonal(seed=protocol["seed"] * 10 + i)((units, units)) for i in range(3)]
        weight.assign(keras.ops.concatenate(gates, axis=1))
    optimizer = keras.optimizers.Adadelta(
        1.0, rho=protocol["rho"], epsilon=protocol["epsilon"], global_clipnorm=protocol["clip"]
    )
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(optimizer, loss, jit_compile=_languages.JIT_COMPILE, steps_per_execution=_languages.STEPS)
    return model


def _train(
    network: str, words: datasets.LabelledWords, protocol: Mapping[str, Any], run: Run
) -> tuple[keras.Model, list[dict[str, float]]]:
    """Epochs in the order of the words' lengths, then in a random order, until every word is right or time is up.

    Words of one length are shuffled in each epoch.
    After the first epoch with every word right `more` epochs follow. The model after the last epoch, and the logs of
    each; a killed run resumes after its last epoch.
    """
    ids, labels = words.ids(start=True), words.labels.astype("float32")[:, None]
    lengths = np.array([len(word) for word in words.words])
    resumable = callbacks.Resumable(run.folder, "wrong")
    model = resumable.load() or _build(network, protocol)

    def judge(epoch: int, logs: dict[str, float]) -> None:
        logs["wrong"] = _wrong(model, words)
        if run.verbose:
            print(f"epoch {epoch + 1}: loss {logs['loss']:.4f}, {logs['wrong']} of {len(words)} wrong", flush=True)

    def is_over() -> bool:
        if not resumable.history:
            return False
        late = run.minutes is not None and resumable.history[-1]["seconds"] > 60 * run.minutes
        learned = _epochs_to_learn(resumable.history)
        last = protocol["epochs"] if learned is None else min(learned + protocol["more"], protocol["epochs"])
        return late or resumable.epoch >= last

    more = [training.TrainingTime(), keras.callbacks.LambdaCallback(on_epoch_end=judge)]
    while not is_over():
        epoch = resumable.epoch
        order = np.random.default_rng([protocol["seed"], epoch]).permutation(len(words))
        if epoch < protocol["sorted_epochs"]:
            order = order[np.argsort(lengths[order], kind="stable")]
        training.fit_next_epoch(model, ids[order], labels[order], protocol["batch"], resumable, more)
    return model, resumable.history


def _epochs_to_learn(curve: Sequence[Mapping[str, float]]) -> int | None:
    """The number of epochs after which every training word was right; None if it never was."""
    return next((i for i, point in enumerate(curve, 1) if point["wrong"] == 0), None)


def _wrong(model: keras.Model, words: datasets.LabelledWords) -> int:
    longest = max(map(len, words.words)) + 1
    logits = model.predict(words.ids(start=True, length=longest), batch_size=512, verbose=0)[:, 0]
    return int(np.sum((logits > 0) != words.labels))

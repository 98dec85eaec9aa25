"""Section 4 of Foerster et al., 2017: an ISAN that counts parentheses, read down to zeros and ones.

The network outputs the nesting levels of several types of parentheses one step late. A basis is sought in which its
states and matrices are zeros and ones: given the true counts, and without them. A network made of the rounded matrices
is tested with the trained one on fresh symbols.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from examples.papers import _records
from examples.papers._experiment import Claim, Experiment, Finding, Record, Run
from examples.papers._lazy import Array, analysis, binary, callbacks, corpora, drawings, keras, layers, np, training

if TYPE_CHECKING:
    from examples.papers.data.counting import Counts

BATCH, LENGTH, STEPS, RATE = 32, 60, 250, 5e-3
"""Sequences in a batch, their length, batches in an epoch, and Adam's highest learning rate."""

TESTED = 10_000_000
"""Steps of the test, in a thousand sequences."""


class Counting(Experiment):
    """ISANs that count nested parentheses; a row says of how many types, and up to which count."""

    name = "counting"
    title = "Counting, reverse-engineered"
    place = "Foerster et al. 2017, section 4"
    measure = "errors over fresh steps"
    rows = {
        "2 types to 5": {"types": 2, "maximum": 5, "steps": 5000, "decay": 0.4},
        "3 types to 9": {"types": 3, "maximum": 9, "steps": 7000, "decay": 0.15},
    }
    small = {"types": 1, "maximum": 2, "steps": 750, "decay": 0.4}
    run_name = "{data[types]} types to {data[maximum]}, seed {model[seed]}"
    header = (
        "types, up to | seed | units | seconds | errors | basis | hot | matrices off | states off | near 0 | "
        "rounded: errors"
    )

    def run(self, run: Run) -> Record:
        settings = self.settings(run)
        tested = 20_000 if run.smoke else TESTED
        task = {"types": settings["types"], "maximum": settings["maximum"], "delay": 1, "noise": 1}
        units = 3 * task["types"] * (task["maximum"] + 1) - 1
        protocol = {**settings, "batch": BATCH, "length": LENGTH, "rate": RATE}
        environment = _records.start_run(run.folder, {**protocol, "units": units, "seed": run.seed})
        model, curve = _train(units, protocol, task, run)
        model.save(run.folder / "counting.keras")
        isan, dense = model.layers
        kernel, bias = dense.get_weights()
        wrong = errors(isan, kernel, bias, tested, task, seed=1_000_003)
        bases, same = _read_in_bases(model, task, tested, run)
        return {
            "environment": environment,
            "data": {**task, "length": LENGTH},
            "protocol": protocol,
            "model": {"layer": "ISAN", "units": units, "seed": run.seed, "parameters": model.count_params()},
            "result": {"wrong": wrong, "tested": tested, "bases": bases, "same": same, **curve[-1]},
            "curve": curve,
        }

    def lines_of(self, record: Record) -> list[list[object]]:
        data, model, result = record["data"], record["model"], record["result"]
        own = [f"{data['types']}, {data['maximum']}", model["seed"], model["units"], f"{result['seconds']:.0f}"]
        own.append(f"{result['wrong']} of {result['tested']:,}")
        rows: list[list[object]] = []
        for name, basis in result["bases"].items():
            if "hot" in basis:
                off = [f"{basis[which]:.4f}" for which in ("matrices", "states")]
                rows.append([*own, name, basis["hot"], *off, f"{basis['near_zero']:.0%}", basis["rebuilt_wrong"]])
        return rows

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        def read(types: int) -> list[Finding]:
            """Whether the states have the counts' zeros and ones, and the matrices are zeros and ones."""
            some = [record for record in records if record["data"]["types"] == types]
            bases = [basis for record in some for basis in record["result"]["bases"].values() if "hot" in basis]
            if not bases:
                return []
            off, hot = max(basis["matrices"] for basis in bases), {basis["hot"] for basis in bases}
            needed = {2 * types * (record["data"]["maximum"] + 1) for record in some}
            dimensions = " and ".join(map(str, sorted(hot)))
            return [Finding(f"{dimensions} dimensions", hot == needed), Finding(f"off by {off:.4f}", off <= 0.05)]

        two = [record["result"] for record in records if record["data"]["types"] == 2]
        wrong, tested = (sum(result[name] for result in two) for name in ("wrong", "tested"))
        return [
            self.claim(
                "counts",
                "wrong in fewer than one in a million steps",
                Finding(f"{wrong} of {tested:,}", wrong < 1e-6 * tested) if tested else Finding(),
            ),
            self.claim(
                "basis",
                "24 dimensions that are 0 or 1; entries of the matrices within 0.05 of 0 or 1; in each of three "
                "networks",
                *read(2),
                picture="isan-9.png",
            ),
            self.claim("more types", "the same for three types up to 9", *read(3)),
        ]


def _train(units: int, protocol: Mapping[str, Any], task: Mapping[str, int], run: Run) -> tuple[keras.Model, list[Any]]:
    """A network trained on fresh sequences, and its loss along the way; resumes."""

    def build() -> keras.Model:
        keras.utils.set_random_seed(run.seed)
        types, maximum = task["types"], task["maximum"]
        isan = layers.ISAN(units, 2 * types + 1, return_sequences=True, recurrent_constraint=None)
        dense = keras.layers.Dense(types * (maximum + 1))
        model = keras.Sequential([keras.Input((LENGTH,), dtype="int32"), isan, dense])
        schedule = keras.optimizers.schedules.CosineDecay(RATE, protocol["steps"], alpha=0.003)
        # The decay removes what the task does not need: the memory of earlier counts, and unused directions.
        optimizer = keras.optimizers.AdamW(schedule, weight_decay=protocol["decay"], beta_2=0.99, global_clipnorm=1.0)
        model.compile(optimizer, "mse")
        return model

    resumable = callbacks.Resumable(run.folder, "loss")
    model = resumable.load() or build()
    epochs = protocol["steps"] // STEPS
    for epoch in range(resumable.epoch, epochs):
        rng = np.random.default_rng([run.seed, epoch])
        symbols, counts = _stream(rng, STEPS * BATCH, LENGTH, task)
        codes = corpora.counting.one_hot(counts, task["maximum"])
        training.fit_next_epoch(model, symbols, codes, BATCH, resumable)
        if run.verbose and (epoch % 4 == 3 or epoch + 1 == epochs):
            logs = resumable.history[-1]
            print(f"  step {STEPS * (epoch + 1):6,}: loss {logs['loss']:.1e}, {logs['seconds']:.0f} s", flush=True)
    return model, [{"step": STEPS * (i + 1), **logs} for i, logs in enumerate(resumable.history)]


def _stream(rng: np.random.Generator, batch: int, length: int, task: Mapping[str, int]) -> Counts:
    """A batch of fresh sequences of a task, which has its names in records."""
    sizes = {"num_types": task["types"], "max_count": task["maximum"], "num_noise_symbols": task["noise"]}
    return next(corpora.counting.stream(rng, batch, length=length, delay=task["delay"], **sizes))


def errors(layer: layers.ISAN, kernel: Array, bias: Array, steps: int, task: Mapping[str, int], seed: int) -> int:
    """Number of wrong steps among `steps` fresh ones, in a thousand sequences; the readout is (kernel, bias)."""
    drawn = _stream(np.random.default_rng(seed), 1000, steps // 1000, task)
    wrong = 0
    for symbols, counts in zip(*(np.array_split(each, 20) for each in drawn), strict=True):  # for their memory
        codes = (analysis.trace(layer, symbols)["h"] @ kernel + bias).reshape(*counts.shape, -1)
        wrong += int((codes.argmax(axis=-1) != counts).any(axis=-1).sum())
    return wrong


def _read_in_bases(
    model: keras.Model, task: Mapping[str, int], tested: int, run: Run
) -> tuple[dict[str, dict[str, Any]], bool]:
    """The network in each basis, and whether the codes found without labels are the codes of the counts.

    Draws figure 9.
    """
    isan, counting = model.layers[0], corpora.counting
    late, now = (_stream(np.random.default_rng(9), 150, 300, {**task, "delay": delay}) for delay in (1, 0))
    codes = np.concatenate([counting.one_hot(c, task["maximum"]) for c in (late.counts, now.counts)], axis=-1)
    states = analysis.trace(isan, late.symbols)["h"]
    bases = {
        "given counts": binary.label_basis(model, states, codes, num_readout=codes.shape[-1] // 2),
        "without labels": analysis.sparse_basis(model, states),
    }
    result: dict[str, dict[str, Any]] = {
        "as trained": {"near_zero": binary.fraction_near_zero(analysis.homogeneous_matrices(isan)[:, :, :-1])}
    }
    for name, basis in bases.items():
        changed, readout = analysis.change_basis(model, basis)
        blocks = binary.named_blocks(changed, basis)
        rounded, head = binary.binarized_network(model, basis)
        result[name] = {
            "hot": basis.num_binary,
            "states": basis.residual,
            "unused": basis.unused,
            "matrices": binary.rounding_error(*blocks, readout.matrix[: basis.num_binary], readout.offset),
            "near_zero": binary.fraction_near_zero(*blocks),
            "rebuilt_wrong": errors(rounded, head.matrix, head.offset, tested, task, seed=1_000_033),
        }
    in_basis = basis.to.apply(states)
    pairs = (in_basis[..., : basis.num_binary], codes)
    own, true = ({code.tobytes() for code in (pair > 0.5).reshape(-1, pair.shape[-1]).T} for pair in pairs)

    names, symbol, last = counting.symbol_names(task["types"]), 2 * (task["types"] > 1), slice(-40, None)
    sizes = {"readout": basis.num_readout, "computation": basis.num_binary - basis.num_readout}
    drawings.change_of_basis(
        (analysis.homogeneous_matrices(isan)[symbol], analysis.homogeneous_matrices(changed)[symbol]),
        (states[0, last], in_basis[0, last]),
        symbol=names[symbol],
        tokens=[names[read] for read in late.symbols[0, last]],
        parts=[*sizes.items(), ("rest", len(basis.names) - basis.num_binary)],
    ).savefig(run.folder / "figure9.png", dpi=150)
    return result, own == true

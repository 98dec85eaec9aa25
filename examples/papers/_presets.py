"""`python -m examples.papers preset NAME`: makes the trained networks that ship with the package.

A recipe names an experiment with its settings. What the experiment trains is stored, loaded again as a user loads it,
and measured: the figures of a card are those of the weights as they are stored, float16 or float32. The prose of a card
is kept: a new preset begins as a card in which someone describes the network, its data, their licence and its limits.
"""

from __future__ import annotations

import abc
import argparse
import dataclasses
import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.papers import _records
from examples.papers._experiment import Experiment, Record, Run
from examples.papers._files import cached
from examples.papers._lazy import (
    Array,
    analysis,
    automata,
    binary,
    callbacks,
    corpora,
    datasets,
    keras,
    layers,
    losses,
    np,
)

if TYPE_CHECKING:
    from keras_interp_rnn.presets.loading import Preset

PASSAGE = (
    "the first thing that a reader of a long book forgets is how it began so a good writer says it again in other "
    "words near the end when the river had gone back to its bed and the people of the town came down from the hill "
    "they found that the old bridge was still there although the road on both sides of it had been washed away for "
    "years nobody thought of building another one because the water was high in the spring and low in the summer and "
    "because the two farms on the far side were empty then a teacher and her four children moved into one of them and "
    "in the next winter the council decided that a bridge which leads nowhere is worse than none"
)
"""English for the figure of a card that needs no data: written for this purpose, in the 27 symbols of text8."""

REVIEWS = (
    ("A wonderful film. The acting is superb, the story is moving, and I enjoyed every minute of it.", 1),
    ("What a waste of time. The plot makes no sense, the acting is awful, and the ending is worse.", 0),
    ("I loved this movie when I was a child, and it is still one of the best I have ever seen.", 1),
    ("Boring, badly written and far too long. I would not recommend it to anyone.", 0),
    ("An excellent cast and a great script: funny, touching and highly recommended.", 1),
    ("The worst film of the year. Terrible dialogue, cheap effects, no idea at all.", 0),
    ("The first half is slow, but then it becomes a beautiful and powerful story.", 1),
    ("It started well, but sadly it turned into a dull and predictable mess.", 0),
)
"""Reviews and whether they praise: written for this purpose."""

Measured = tuple[str, float, str]

WORD_LENGTH, COUNTED, NUM_TEXTS = 12, 1_000_000, 1000
"""Longest words on which a recognizer is tried; fresh steps of the counting network; texts whose tokens name
centroids."""


class Recipe(abc.ABC):
    """How a preset is trained and measured.

    Attributes:
        name: of the preset. experiment, row, settings, seed: what trains it. file: of the model, in the run's folder.
        dtype: in which weights are stored. takes: what `--data` takes.
        example: the text with which the preset's page opens; "" for one without a page that reads. outputs: their
            names, if they are not the symbols. choices: names of several answers, each of which has these outputs.
    """

    name: str
    experiment: str = ""
    row: str = ""
    settings: Mapping[str, Any]
    seed = 0
    file = "model.keras"
    dtype = "float32"
    takes = ""
    example = ""
    outputs: Sequence[str] = ""
    choices: Sequence[str] = ()

    @property
    def make(self) -> str:
        """The command that makes it again."""
        return f"python -m examples.papers preset {self.name}" + f" --data {self.takes}" * bool(self.takes)

    @property
    def page(self) -> dict[str, Any]:
        """The first text of a page that reads, for the card; empty without one."""
        several = {"choices": list(self.choices)} if self.choices else {}
        return {"text": self.example, "outputs": list(self.outputs), **several} if self.example else {}

    def train(self, run: Run, experiments: Mapping[str, Experiment]) -> Record:
        """Trains it, with a model file in the folder of the run; the record."""
        return experiments[self.experiment].run(run)

    @abc.abstractmethod
    def network(self, model: keras.Model, data: Any) -> dict[str, Any]:
        """The settings from which `presets.networks` builds the network; data as the experiment loads them."""

    def more(self, model: keras.Model, data: Any, record: Record) -> tuple[dict[str, Any], dict[str, Array]]:
        """Further entries of the card, and further arrays; record: of the training."""
        return {}, {}

    @abc.abstractmethod
    def figures(self, preset: Preset, data: Any) -> list[Measured]:
        """Measurements of the loaded network: name, number, and its unit in words."""


class Tomita(Recipe):
    """A recognizer of one of Tomita's languages, by its number."""

    experiment = "tomita"
    example = "0110100"
    settings = {"longest": 10, "attempts": 4}

    def __init__(self, number: int) -> None:
        self.number, self.name, self.row = number, f"tomita-{number}", f"{number}"
        self.seed = {5: 1, 6: 2}.get(number, 0)  # these two were not learned with the seed 0 in the first attempt

    def network(self, model: keras.Model, data: Any) -> dict[str, Any]:
        symbols, recurrent, _ = model.layers
        return {
            **{"kind": "recognizer", "alphabet": "".join(symbols.alphabet.ordinary), "embedding": symbols.output_dim},
            **{"units": recurrent.cell.units, "centroids": recurrent.cell.num_centroids},
            "report": dataclasses.asdict(model.report),
        }

    def more(self, model: keras.Model, data: Any, record: Record) -> tuple[dict[str, Any], dict[str, Array]]:
        return {"automaton": {"tomita": self.number}}, {}

    def figures(self, preset: Preset, data: Any) -> list[Measured]:
        truth, certificate = preset.automaton, preset.certificate
        assert truth is not None
        assert certificate is not None
        words = [word for n in range(WORD_LENGTH + 1) for word in itertools.product("01", repeat=n)]
        found = preset.model.classify(words)
        wrong = sum(bool(accepted) != truth.accepts(word) for accepted, word in zip(found, words, strict=True))
        highest = automata.largest_temperature(preset.model, truth)
        return [
            ("certified", float(certificate.holds), "if proved for every word, 0 if not"),
            ("states", float(len(truth)), "states of the smallest automaton"),
            ("wrong", float(wrong), f"errors on all {len(words):,} words of at most {WORD_LENGTH} symbols"),
            ("temperature", certificate.temperature, "is the deployed temperature"),
            ("largest_temperature", highest, "is the highest temperature for which the proof succeeds"),
        ]


class Tested(Recipe):
    """An LSTM that is right on all its test words and wrong on longer ones, of Tomita's language 4.

    Several are trained alike; the first of those that the test set cannot tell from a network without errors is stored.
    """

    name = "tomita-4-lstm"
    example = "000" + 20 * "1"
    outputs = ("no", "yes")
    settings = {"networks": 10, "words": 6000, "longest": 15, "epochs": 30, "tests": 2000, "units": 12, "embedding": 4}
    ones = 100

    def train(self, run: Run, experiments: Mapping[str, Experiment]) -> Record:
        found: list[dict[str, Any]] = []
        for seed in range(self.settings["networks"]):
            keras.utils.set_random_seed(seed)
            model = self.built()
            model.compile(keras.optimizers.Adam(0.01), keras.losses.BinaryCrossentropy(from_logits=True))
            ids, labels = self.words(seed)
            model.fit(ids, labels, batch_size=64, epochs=self.settings["epochs"], verbose=0)
            wrong, ones = self.wrong(model, *self.tests(seed)), self.fooled(model)
            stored = wrong == 0 and ones > 0 and not any(each["stored"] for each in found)
            if stored:
                model.save(run.folder / self.file)
            found.append({"stored": stored, "seed": seed, "test_wrong": wrong, "ones": ones})
            if run.verbose:
                print(f"  {found[-1]}", flush=True)
        return {"data": {}, "model": {"layer": "LSTM"}, "protocol": dict(self.settings), "result": {"networks": found}}

    def built(self) -> keras.Model:
        from keras_interp_rnn.presets import networks

        return networks.build(self.network(None, None))

    def network(self, model: keras.Model | None, data: Any) -> dict[str, Any]:
        sizes = {"units": self.settings["units"], "embedding": self.settings["embedding"]}
        return {"kind": "lstm", "alphabet": ["", "0", "1"], **sizes}

    def more(self, model: keras.Model, data: Any, record: Record) -> tuple[dict[str, Any], dict[str, Array]]:
        found = record["result"]["networks"]
        right, fooled = (sum(map(of, found)) for of in (lambda one: not one["test_wrong"], lambda one: one["ones"] > 0))
        ones = max(one["ones"] for one in found)
        tests, longest, units = (self.settings[name] for name in ("tests", "longest", "units"))
        words = {
            "begin": "000",
            "again": "1",
            "rule": "The rule: no three 0s in a row. A word with 000 in it is a “no”, however it goes on.",
            "tested": tests,
            "test": f"Its {tests:,} test words, of at most {longest} symbols, are drawn as its training words were, "
            f"and are none of these. Of {len(found)} networks trained alike {right} are right on all of theirs, and "
            f"{fooled} say “yes” to 000 with {ones} or fewer 1s after it.",
            "name": f"an LSTM of {units} units, tested",
            "proved": "the preset tomita-4, a GRU with centroids, proved",
        }
        title = "Right on its test set, against proved"
        return {"against": {"proved": "tomita-4", "title": title, "words": words}}, {}

    def words(self, seed: int) -> tuple[Array, Array]:
        """Random words, and their labels."""
        return self._labelled(self._drawn(np.random.default_rng(seed), self.settings["words"]))

    def tests(self, seed: int) -> tuple[Array, Array]:
        """Other random words, all different, none of which was trained on."""
        known = {*self._drawn(np.random.default_rng(seed), self.settings["words"])}
        fresh: list[str] = []
        rng = np.random.default_rng(1_000_003 + seed)
        while len(fresh) < self.settings["tests"]:
            [word] = self._drawn(rng, 1)
            if word not in known:
                known.add(word)
                fresh.append(word)
        return self._labelled(fresh)

    def _drawn(self, rng: Any, count: int) -> list[str]:
        return ["".join(rng.choice(["0", "1"], n)) for n in rng.integers(1, self.settings["longest"] + 1, count)]

    def _labelled(self, words: Sequence[str]) -> tuple[Array, Array]:
        truth = automata.tomita(4)
        ids = datasets.Alphabet(["", *truth.alphabet], padding="").encode_batch(words)
        return ids, np.array([truth.accepts(word) for word in words], np.float32)

    def wrong(self, model: keras.Model, ids: Array, labels: Array) -> int:
        """How many words it answers wrongly."""
        accepted = model.predict(ids, batch_size=1024, verbose=0)[:, 0] > 0
        return int((accepted != labels.astype(bool)).sum())

    def fooled(self, model: keras.Model) -> int:
        """How many 1s after 000 suffice for a wrong answer; 0 if no number up to `ones` does."""
        ids, _ = self._labelled(["000" + n * "1" for n in range(self.ones + 1)])
        accepted = model.predict(ids, batch_size=1024, verbose=0)[:, 0] > 0
        return int(accepted.argmax()) if accepted.any() else 0

    def figures(self, preset: Preset, data: Any) -> list[Measured]:
        seed = next(each["seed"] for each in preset.record["result"]["networks"] if each["stored"])
        tests = self.tests(seed)
        every = [*map("".join, (word for n in range(1, WORD_LENGTH + 1) for word in itertools.product("01", repeat=n)))]
        longest = self.settings["longest"]
        return [
            (
                "test_wrong",
                self.wrong(preset.model, *tests),
                f"errors on {len(tests[0]):,} test words, up to {longest}",
            ),
            (
                "short_wrong",
                self.wrong(preset.model, *self._labelled(every)),
                f"errors on all {len(every):,} words up to {WORD_LENGTH}",
            ),
            ("fooled", float(self.fooled(preset.model)), "symbols 1 after 000 suffice for a wrong answer"),
        ]


class Counting(Recipe):
    """An ISAN that counts parentheses, with the basis in which it consists of zeros and ones."""

    name = "counting-isan"
    experiment = "counting"
    row = "2 types to 5"
    settings = {"types": 2, "maximum": 5, "steps": 5000, "decay": 0.4}
    file = "counting.keras"
    example = "(([a)(("
    outputs = tuple(f"{depth} open" for depth in range(6))
    choices = ("( )", "[ ]")

    def network(self, model: keras.Model, data: Any) -> dict[str, Any]:
        recurrent, head = model.layers
        return {"kind": "symbols", "alphabet": "()[]a", "units": recurrent.cell.units, "outputs": head.units}

    def more(self, model: keras.Model, data: Any, record: Record) -> tuple[dict[str, Any], dict[str, Array]]:
        seen, _ = _stream(9, 150, 300)
        basis = analysis.sparse_basis(model, analysis.trace(model, seen)["h"])
        described = {
            **{"num_readout": basis.num_readout, "num_binary": basis.num_binary},
            **{"residual": float(basis.residual), "unused": float(basis.unused), "names": list(basis.names)},
            "blocks": [[int(i) for i in block] for block in basis.blocks],
        }
        arrays = {
            **{"basis_to": basis.to.matrix, "basis_to_offset": basis.to.offset},
            **{"basis_back": basis.back.matrix, "basis_back_offset": basis.back.offset},
            **{"basis_relations": basis.relations, "basis_points": basis.points},
        }
        return {"basis": described}, arrays

    def figures(self, preset: Preset, data: Any) -> list[Measured]:
        basis = preset.basis
        assert basis is not None
        symbols, counts = _stream(1_000_003, 1000, COUNTED // 1000)
        changed, readout = analysis.change_basis(preset.model, basis)
        rounded, head = binary.binarized_network(preset.model, basis)
        codes = preset.model.predict(symbols, batch_size=250, verbose=0)
        rebuilt = head.apply(analysis.trace(rounded, symbols)["h"])
        blocks = binary.named_blocks(changed, basis)
        off = binary.rounding_error(*blocks, readout.matrix[: basis.num_binary], readout.offset)
        found = [outputs.reshape(*counts.shape, 6).argmax(axis=-1) for outputs in (codes, rebuilt)]
        wrong = [float((each != counts).any(axis=-1).sum()) for each in found]
        return [
            ("wrong", wrong[0], f"errors in {COUNTED:,} fresh steps"),
            ("binary", float(basis.num_binary), "coordinates of the basis are 0 or 1"),
            ("off", off, "is the largest distance of a matrix entry from 0 or 1 in the basis"),
            ("rebuilt_wrong", wrong[1], f"errors in {COUNTED:,} fresh steps with all entries rounded"),
        ]


def _stream(seed: int, batch: int, length: int) -> Any:
    return next(corpora.counting.stream(seed, batch, length=length, num_types=2, max_count=5, delay=1))


class Lookup(Recipe):
    """A DeltaNet that stores values under keys and looks them up: its tables are drawn for every batch."""

    name = "lookup-delta-net"
    example = "a=3 b=7 c=1 a?"
    outputs = "12345678"
    settings = {"keys": "abcdefgh", "values": "12345678", "length": 40, "asked": 0.4, "steps": 1000, "batch": 64}

    def alphabet(self) -> list[str]:
        keys, values = self.settings["keys"], self.settings["values"]
        return [f"{key}={value}" for key in keys for value in values] + [f"{key}?" for key in keys]

    def tables(self, seed: int, rows: int) -> tuple[Array, Array, Array]:
        """Ids, the values asked for and where they are asked for, each (rows, length)."""
        keys, values, length = len(self.settings["keys"]), len(self.settings["values"]), self.settings["length"]
        rng = np.random.default_rng(seed)
        key, value = rng.integers(keys, size=(rows, length)), rng.integers(values, size=(rows, length))
        asked, answers = rng.random((rows, length)) < self.settings["asked"], np.zeros((rows, length), np.int32)
        stored, every = np.full((rows, keys), -1), np.arange(rows)
        for step in range(length):
            asked[:, step] &= stored[every, key[:, step]] >= 0
            answers[:, step] = np.maximum(stored[every, key[:, step]], 0)
            writes = ~asked[:, step]
            stored[writes, key[writes, step]] = value[writes, step]
        ids = np.where(asked, keys * values + key, key * values + value)
        return ids.astype(np.int32), answers, asked

    def train(self, run: Run, experiments: Mapping[str, Experiment]) -> Record:
        from keras_interp_rnn.presets import networks

        keras.utils.set_random_seed(run.seed)
        sizes = {"embedding": 32, "units": 16, "key_dim": 8, "value_dim": 8, "outputs": len(self.settings["values"])}
        model = networks.build({"kind": "memory", "alphabet": self.alphabet(), **sizes})
        steps, started = self.settings["steps"], time.monotonic()
        rate = keras.optimizers.schedules.CosineDecay(1e-2, steps, alpha=0.01)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(rate, global_clipnorm=1.0), loss)
        for step in range(1, steps + 1):
            ids, answers, asked = self.tables(step, self.settings["batch"])
            found = float(model.train_on_batch(ids, answers, sample_weight=asked.astype(np.float32)))
            if run.verbose and step % 100 == 0:
                print(f"  step {step:5,}: loss {found:.1e}", flush=True)
        model.save(run.folder / self.file)
        more = {"loss": found, "seconds": time.monotonic() - started}
        return {"data": {}, "model": {"layer": "DeltaNet", **sizes}, "protocol": dict(self.settings), "result": more}

    def network(self, model: keras.Model, data: Any) -> dict[str, Any]:
        cell, head = model.get_layer("recurrent").cell, model.get_layer("head")
        sizes = {"units": cell.units, "key_dim": cell.key_dim, "value_dim": cell.value_dim, "outputs": head.units}
        embedding = model.get_layer("symbols").output_dim
        return {"kind": "memory", "alphabet": self.alphabet(), "embedding": embedding, **sizes}

    def figures(self, preset: Preset, data: Any) -> list[Measured]:
        ids, answers, asked = self.tables(1_000_003, 2000)
        wrong = int(((preset.model.predict(ids, verbose=0).argmax(axis=-1) != answers) & asked).sum())
        automaton = automata.WeightedAutomaton.from_network(preset.model)
        return [
            ("wrong", float(wrong), f"errors in {int(asked.sum()):,} fresh questions"),
            ("states", float(len(automaton.minimize())), "states of the smallest weighted automaton"),
        ]


class Text(Recipe):
    """An ISAN that reads English, by its number of weights."""

    experiment = "isan-text8"
    dtype = "float16"
    example = "the end of the second world wa"
    takes = "TEXT"

    def __init__(self, name: str, size: str) -> None:
        self.name, self.row = name, f"ISAN-{size}"
        self.settings = {"network": "ISAN", "size": size, "validation": 16}

    def network(self, model: keras.Model, data: Any) -> dict[str, Any]:
        recurrent, head = model.layers
        alphabet = datasets.text.ALPHABET
        return {"kind": "symbols", "alphabet": alphabet, "units": recurrent.cell.units, "outputs": head.units}

    def figures(self, preset: Preset, data: Any) -> list[Measured]:
        ids = keras.Input((100,), batch_size=256, dtype="int32")
        recurrent, head = preset.model.layers[-2:]
        states = layers.ISAN(recurrent.cell.units, head.units, return_sequences=True, stateful=True)(ids)
        reader = keras.Model(ids, keras.layers.Dense(head.units)(states))
        reader.set_weights(preset.model.get_weights())
        reader.compile(loss=losses.BitsPerSymbol())
        test = data.parts["test"]
        windows = datasets.Windows(test, 256, length=100)
        bits = reader.evaluate(windows, verbose=0, callbacks=[callbacks.CarriedState()])
        passage = preset.encode(PASSAGE)
        own = losses.BitsPerSymbol()(passage[None, 1:], preset.model.predict(passage[None, :-1], verbose=0))
        written = f"bits per character on {len(passage) - 1} characters that were written for this card"
        return [
            ("test_bits", float(bits), f"bits per character on {len(test):,} held-out characters"),
            ("passage_bits", float(own), written),
        ]


class Reviews(Recipe):
    """An SR-LSTM-P that judges film reviews by its centroids."""

    name = "reviews-sr-lstm"
    example = "a moving film, though the plot is a little dull"
    experiment = "sr-imdb"
    row = "SR-LSTM-P (k = 10, eq. 20), mean"
    dtype = "float16"
    takes = "aclImdb"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = {**settings, "units": 24, "embedding": 16, "vocabulary": 8000}

    def network(self, model: keras.Model, data: Any) -> dict[str, Any]:
        cell = model.get_layer("recurrent").cell
        sizes = {"units": cell.units, "centroids": cell.num_centroids, "temperature": cell.initial["temperature"]}
        embedding = self.settings["embedding"]
        return {"kind": "words", "vocabulary": len(data.vocabulary), "embedding": embedding, **sizes}

    def more(self, model: keras.Model, data: Any, record: Record) -> tuple[dict[str, Any], dict[str, Array]]:
        rows = np.sort(np.random.default_rng(0).permutation(len(data.test[0]))[:NUM_TEXTS])
        found = analysis.prototypes(
            model, data.test[0][rows], tokens=data.vocabulary, num_tokens=3, by="mean", min_count=5
        )
        names = []
        for label, tokens in zip(found.classes, found.tokens, strict=True):
            words = ", ".join(word for word, *_ in tokens) or "no word of its own"
            names.append(f"{data.classes[label]}: {words}")
        return {"vocabulary": list(data.vocabulary), "centroids": names}, {}

    def figures(self, preset: Preset, data: Any) -> list[Measured]:
        x, y = data.test
        error = float(((preset.model.predict(x, batch_size=256, verbose=0)[:, 0] > 0) != y).mean())
        rows = [preset.encode(text) for text, _ in REVIEWS]
        padded = np.array([np.pad(row, (0, max(map(len, rows)) - len(row))) for row in rows])
        praised = preset.model.predict(padded, verbose=0)[:, 0] > 0
        right = int((praised == [bool(label) for _, label in REVIEWS]).sum())
        return [
            ("test_error", error, f"of {len(y):,} test reviews are misclassified"),
            ("own_right", float(right), f"of {len(REVIEWS)} reviews written for this card are right"),
        ]


def recipes(experiments: Sequence[Experiment]) -> dict[str, Recipe]:
    """Name of a preset -> how it is made."""
    by_name = {experiment.name: experiment for experiment in experiments}
    reviews = Reviews(by_name[Reviews.experiment].rows[Reviews.row])
    texts = Text("text-isan", "4.5e5"), Text("text-isan-216", "1.28e6")
    return {
        recipe.name: recipe for recipe in (*map(Tomita, range(1, 8)), Tested(), Counting(), Lookup(), *texts, reviews)
    }


def make(
    name: str, experiments: Sequence[Experiment], *, data: Path | None, runs: Path, out: Path, verbose: int = 1
) -> Preset:
    """Trains a preset, or resumes its training, and writes card and weights.

    Args:
        name: of the preset. experiments: among which is that of its recipe.
        data: as that experiment takes it. runs: folder of the training; what has finished there is taken over.
        out: folder of card and weights. verbose: as in `fit`.
    """
    from keras_interp_rnn import presets
    from keras_interp_rnn.presets import cards, networks, storage

    known = recipes(experiments)
    recipe = known[cards.checked_name(name, tuple(known))]
    by_name = {experiment.name: experiment for experiment in experiments}
    run = Run(recipe.row, recipe.settings, data, None, None, recipe.seed, runs / name, verbose=verbose)
    run.folder.mkdir(parents=True, exist_ok=True)

    def trained() -> dict[str, Any]:
        record = recipe.train(run, by_name)
        result = record["result"]
        own = {"environment": _records.environment(), "experiment": recipe.experiment}
        return {**own, **record, "result": result if isinstance(result, dict) else result.entries()}

    record = cached(run.folder / "record.json", trained, result=dict)
    record.pop("reading", None)  # it quotes texts
    loaded = by_name[recipe.experiment].load(run) if recipe.takes else None
    source = keras.models.load_model(run.folder / recipe.file, compile=False)
    settings = recipe.network(source, loaded)
    model = networks.build(settings)
    model.set_weights(source.get_weights())
    more, arrays = recipe.more(model, loaded, record)
    card = cards.read_card(name)
    about = {"what": card.what, "data": card.data, "licence": card.licence, "limits": list(card.limits)}

    def write(measured: Sequence[Measured]) -> None:
        storage.write(
            out,
            name,
            model,
            dtype=recipe.dtype,
            description={**about, "make": recipe.make},
            figures=[cards.Figure(*each) for each in measured],
            settings={"model": settings, "page": recipe.page, **more, "record": record},
            arrays=arrays,
        )

    write([])
    write(recipe.figures(presets.load(name, source=out), loaded))
    return presets.load(name, source=out)


def preset_command(experiments: Sequence[Experiment], args: argparse.Namespace) -> None:
    for name in args.names:
        preset = make(name, experiments, data=args.data, runs=args.runs, out=args.out, verbose=args.verbose)
        print(f"\n{preset}\n\n{args.out / name}.json and .npz")

"""Reading an automaton off a network, or learning it by asking: which is right, and what does it cost?

Trains a state-regularized GRU, a GRU and an LSTM on the words of one of Tomita's languages. Reads the first as an
automaton, and lets AALpy's L* and KV learn one from each network by membership queries, with several oracles that look
for counterexamples. One table: states, seconds, symbols the network had to read, agreement with the network on random
words of up to 100 symbols, and whether it is the true language.

    python examples/compare_extraction.py --language 4    # four minutes on two cores; needs the extra automata

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.1.
"""

import itertools
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--language", type=int, default=4, help="number of Tomita's language, 1 to 7")
parser.add_argument("--longest", type=int, default=10, help="symbols in the longest training word")
parser.add_argument("--most", type=int, default=20_000, help="symbols that a learner may read")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--records", default="runs/records", help="folder of the JSON record")
parser.add_argument("--smoke", action="store_true", help="short words, little training, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np
    import tensorflow as tf
    from aalpy.base import SUL
    from aalpy.learning_algs import run_KV, run_Lstar
    from aalpy.oracles import RandomWMethodEqOracle, RandomWordEqOracle, StatePrefixEqOracle

    from keras_interp_rnn import automata, datasets
    from keras_interp_rnn.reproduce import records

ALPHABET = ["0", "1"]
COLUMNS = ("network", "method", "states", "seconds", "read", "agreement", "true")
GAVE_UP = "gave up: more than {read:,} symbols to read"
LEARNERS = {"L*": run_Lstar, "KV": run_KV}
ORACLES = {
    "W-method": lambda system: RandomWMethodEqOracle(ALPHABET, system, walks_per_state=10, walk_len=20),
    "words": lambda system: RandomWordEqOracle(ALPHABET, system, num_walks=200, min_walk_len=5, max_walk_len=40),
    "prefixes": lambda system: StatePrefixEqOracle(ALPHABET, system, walks_per_state=10, walk_len=20),
}


class Asked(SUL):
    """A network that says after every symbol whether it accepts what it has read; no prefix is read twice."""

    def __init__(self, model: automata.Recognizer, most: int) -> None:
        super().__init__()
        embedding, recurrent, head = model.layers

        @tf.function
        def step(symbol: tf.Tensor, states: list) -> tuple:
            output, states = recurrent.cell(tf.gather(embedding.embeddings, symbol), states)
            return head(output)[0, 0], states

        self.most, self.ids, self.read = most, embedding.symbol_ids, step
        self.known = {(): step(tf.constant([embedding.start_id]), list(recurrent.get_initial_state(batch_size=1)))}

    def pre(self) -> None:
        self.word = ()

    def post(self) -> None:
        pass

    def step(self, letter: str | None) -> bool:
        if letter is not None:
            _, states = self.known[self.word]
            self.word = (*self.word, letter)
            if len(self.known) > self.most:
                raise TimeoutError
            if self.word not in self.known:
                self.known[self.word] = self.read(tf.constant([self.ids[letter]]), states)
        return bool(self.known[self.word][0] > 0)


def plain(recurrent: keras.layers.Layer, words: datasets.LabelledWords, batches: int) -> automata.Recognizer:
    """A network without centroids, trained on short words before long ones."""
    embedding = automata.SymbolEmbedding(ALPHABET, 4)
    model = automata.Recognizer([keras.Input((None,), dtype="int32"), embedding, recurrent, keras.layers.Dense(1)])
    adam, loss = keras.optimizers.Adam(5e-3, global_clipnorm=1.0), keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(adam, loss, jit_compile=batches > 50, steps_per_execution=batches // 8)  # compiling takes seconds
    ids, labels, lengths = words.ids(start=True), words.labels, np.array([len(word) for word in words.words])
    rng = np.random.default_rng(0)
    for length in range(min(4, lengths.max()), lengths.max() + 1):
        parts = [np.flatnonzero((lengths <= length) & (labels == label)) for label in (False, True)]
        rows = np.concatenate([rng.choice(part, (batches, 32)) for part in parts], axis=1).ravel()
        model.fit(ids[rows], labels[rows].astype("float32"), 64, shuffle=False, verbose=0)
    return model


def compare(name: str, model: automata.Recognizer, truth: automata.DFA, tests: list, most: int) -> Iterator[dict]:
    """The automaton of one network, by all means there are."""
    said = model.classify(tests)

    def row(method: str, dfa: automata.DFA, started: float, read: int) -> dict:
        seconds = time.perf_counter() - started
        agreement = float(np.mean([dfa.accepts(word) == yes for word, yes in zip(tests, said, strict=True)]))
        values = name, method, len(dfa.minimize()), seconds, read, agreement, dfa.equivalent(truth)
        return dict(zip(COLUMNS, values, strict=True))

    if name.startswith("SR"):
        started = time.perf_counter()
        dfa = automata.extract(model).dfa
        yield row("exact", dfa, started, len(dfa) * len(ALPHABET))
    for (learner, learn), (oracle, look) in itertools.product(LEARNERS.items(), ORACLES.items()):
        system, started = Asked(model, most), time.perf_counter()
        try:
            learned = learn(ALPHABET, system, look(system), automaton_type="dfa", print_level=0)
        except TimeoutError:
            yield dict(zip(COLUMNS, (name, f"{learner}, {oracle}", None, None, most, None, None), strict=True))
        else:
            yield row(f"{learner}, {oracle}", automata.DFA.from_aalpy(learned, ALPHABET), started, len(system.known))


def main() -> None:
    if args.smoke:
        args.language, args.longest, args.most = 1, 3, 500
        args.records = tempfile.mkdtemp(prefix="compare_extraction-")
    keras.utils.set_random_seed(args.seed)
    truth, kinds = automata.tomita(args.language), ("GRU", "LSTM")[: 1 if args.smoke else 2]
    texts = ["".join(word) for n in range(args.longest + 1) for word in itertools.product(ALPHABET, repeat=n)]
    words = datasets.LabelledWords(tuple(texts), np.array([truth.accepts(text) for text in texts]), "01")
    networks = {
        "SR-GRU": automata.train_recognizer(
            texts, words.labels, alphabet=ALPHABET, units=24, seed=args.seed, verbose=0
        ),
        **{kind: plain(getattr(keras.layers, kind)(24), words, 40 if args.smoke else 400) for kind in kinds},
    }
    tests = [tuple(random.choices(ALPHABET, k=random.randint(1, 100))) for _ in range(500)]
    print(f"{'network':8}{'method':14}{'states':>7}{'seconds':>9}{'symbols':>9}{'agreement':>11}  true language")
    rows = []
    for row in itertools.chain(*(compare(name, model, truth, tests, args.most) for name, model in networks.items())):
        rows.append(row)
        found = "{states:7}{seconds:9.2f}{read:9,}{agreement:11.1%}  {true}" if row["states"] else GAVE_UP
        print(f"{{network:8}}{{method:14}}{found}".format_map(row), flush=True)
    how = {name: getattr(args, name) for name in ("longest", "most", "seed")}
    record = {"data": {"name": f"Tomita {args.language}"}, "protocol": how, "result": {"rows": rows}}
    name = f"compare_extraction-{args.language}-{args.seed}.json"
    records.write(Path(args.records) / name, {"experiment": "compare_extraction", **record})


if __name__ == "__main__":
    main()

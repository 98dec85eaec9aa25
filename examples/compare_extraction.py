"""Reading an automaton off a network, or learning it by asking: which is right, and what does it cost?

Trains a state-regularized GRU on a language of Tomita's and reads an automaton off it; AALpy's L* learns one from it,
and from a plain GRU. Prints states, seconds, symbols read, agreement on random words, and whether it is the true one.

    python examples/compare_extraction.py          # a minute on two cores; needs the extra automata

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.1.
"""

import random
import time

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--language", type=int, default=4, choices=range(1, 8), help="number of Tomita's language")
parser.add_argument("--smoke", action="store_true", help="the first language, short words, little training")
args = parser.parse_args()

with command_line.quiet(extra="automata"):
    import keras
    import numpy as np
    from aalpy.base import SUL
    from aalpy.learning_algs import run_Lstar
    from aalpy.oracles import RandomWMethodEqOracle

    from keras_interp_rnn import automata, datasets

ALPHABET = ["0", "1"]


class Network(SUL):
    """Says after every symbol whether the network accepts the word so far; no word is read twice."""

    def __init__(self, model: automata.Recognizer) -> None:
        super().__init__()
        self.embedding, self.recurrent, self.head = model.layers
        self.known = {(): self.read(self.embedding.alphabet.start_id, self.recurrent.get_initial_state(batch_size=1))}

    def read(self, symbol_id: int, states: list) -> tuple[bool, list]:
        output, states = self.recurrent.cell(self.embedding.embeddings[symbol_id][None], states)
        return bool(self.head(output)[0, 0] > 0), states

    def pre(self) -> None:
        self.word = ()

    post = pre

    def step(self, letter: str | None) -> bool:
        _, states = self.known[self.word]
        self.word += () if letter is None else (letter,)
        if self.word not in self.known:
            self.known[self.word] = self.read(self.embedding.alphabet.ids_of([letter])[0], states)
        return self.known[self.word][0]


def main() -> None:
    keras.utils.set_random_seed(0)
    language, length, epochs = (1, 3, 5) if args.smoke else (args.language, 10, 60)
    truth = automata.tomita(language)
    texts = [f"{i:b}"[1:] for i in range(1, 2 ** (length + 1))]  # all words of up to `length` symbols
    words = datasets.LabelledWords(tuple(texts), np.array([*map(truth.accepts, texts)]), "01")
    regularized = automata.train_recognizer(texts, words.labels, alphabet=ALPHABET, verbose=command_line.VERBOSE)
    embedding, head = automata.SymbolEmbedding(ALPHABET, 4), keras.layers.Dense(1)
    plain = automata.Recognizer([keras.Input((None,), dtype="int32"), embedding, keras.layers.GRU(24), head])
    plain.compile(keras.optimizers.Adam(5e-3), keras.losses.BinaryCrossentropy(from_logits=True))
    plain.fit(words.ids(start=True), words.labels.astype("float32"), 64, epochs, verbose=command_line.VERBOSE)
    tests = ["".join(random.choices(ALPHABET, k=random.randint(1, 100))) for _ in range(500)]

    def report(network: str, method: str, model: automata.Recognizer, dfa: automata.DFA, seconds: float, read: int):
        agreement = np.mean(np.array([*map(dfa.accepts, tests)]) == model.classify(tests))
        states, is_true = len(dfa.minimize()), "yes" if dfa.equivalent(truth) else "no"
        print(f"{network:8}{method:8}{states:6}{seconds:9.2f}{read:9,}{agreement:11.1%}  {is_true}", flush=True)

    print("network method  states  seconds  symbols  agreement  true language")
    started, dfa = time.perf_counter(), automata.extract(regularized).dfa
    report("SR-GRU", "exact", regularized, dfa, time.perf_counter() - started, len(dfa) * len(ALPHABET))
    for network, model in {"SR-GRU": regularized, "GRU": plain}.items():
        started, system = time.perf_counter(), Network(model)
        oracle = RandomWMethodEqOracle(ALPHABET, system, walks_per_state=10, walk_len=20)
        # The rounds are bounded: a network that is no small automaton gives counterexamples without end.
        learned = run_Lstar(ALPHABET, system, oracle, "dfa", max_learning_rounds=20, print_level=0)
        seconds, dfa = time.perf_counter() - started, automata.DFA.from_aalpy(learned, ALPHABET)
        report(network, "L*", model, dfa, seconds, len(system.known))


if __name__ == "__main__":
    main()

"""AALpy: merging states of the prefixes of words, in a process that ends in time, and queries to a network."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Hashable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from examples.papers._lazy import automata, keras

Words = Sequence[Sequence[Hashable]]

MERGING = ("RPNI", "EDSM")


def merged(
    learner: str, words: Words, labels: Sequence[bool], alphabet: Sequence[Hashable], seconds: float
) -> tuple[float, automata.DFA | None]:
    """The automaton that one of `MERGING` finds, taking all labels for right, and the seconds that it took.

    It is ended after `seconds`; then there is no automaton.
    """
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    task = spawn.Process(target=_merge, args=(learner, words, labels, alphabet, sender))
    task.start()
    sender.close()
    try:
        receiver.recv()  # AALpy is imported
        if not receiver.poll(seconds):
            return seconds, None
        took, text = receiver.recv()
    finally:
        task.kill()
        task.join()
    return took, automata.DFA.from_json(text)


def _merge(
    learner: str, words: Words, labels: Sequence[bool], alphabet: Sequence[Hashable], sender: Connection
) -> None:
    """Sends a word when it begins, then the seconds and the automaton as JSON."""
    from aalpy.learning_algs import run_EDSM, run_RPNI

    automata.DFA  # noqa: B018 - imported before the clock starts
    data = [*zip(words, labels, strict=True)]
    sender.send("begins")
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Automaton (is not input-complete|has unknown outputs)")
        learn = {"RPNI": run_RPNI, "EDSM": run_EDSM}[learner]
        learned = learn(data, automaton_type="dfa", print_info=False)
    sender.send((time.monotonic() - began, automata.DFA.from_aalpy(learned, alphabet).to_json()))


def asked(model: automata.Recognizer, words: Words, alphabet: Sequence[Hashable], max_symbols: int) -> automata.DFA:
    """The automaton that L* learns from a network: it agrees with the network on these words.

    Counterexamples are looked for in the words, in their order. TimeoutError if the network would have to read more
    than `max_symbols`.
    """
    from aalpy.base import Oracle
    from aalpy.learning_algs import run_Lstar

    system, letters, verdicts = queried(model, max_symbols), list(alphabet), model.classify(words)

    class FirstOfWords(Oracle):
        def find_cex(self, hypothesis: Any) -> tuple[Hashable, ...] | None:
            dfa = automata.DFA.from_aalpy(hypothesis, alphabet)
            pairs = zip(words, verdicts, strict=True)
            return next((tuple(word) for word, accepted in pairs if dfa.accepts(word) != accepted), None)

    learned = run_Lstar(letters, system, FirstOfWords(letters, system), automaton_type="dfa", print_level=0)
    return automata.DFA.from_aalpy(learned, alphabet)


def queried(model: automata.Recognizer, max_symbols: int) -> Any:
    """The network as AALpy queries it: after each symbol, whether it accepts the word so far. No prefix is read twice.

    A step raises TimeoutError when the network has read `max_symbols`.
    """
    from aalpy.base import SUL

    embedding, recurrent, head = model.layers
    start = recurrent.get_initial_state(batch_size=1)
    states = [keras.Input(tuple(state.shape[1:])) for state in start]
    vectors = keras.ops.convert_to_numpy(embedding.embeddings)
    inputs = keras.Input((1, *vectors.shape[1:]))
    output, *after = keras.layers.RNN(recurrent.cell, return_state=True, unroll=True)(inputs, initial_state=states)
    step = keras.Model([inputs, *states], [head(output), *after])

    def read(code: int, before: list[Any]) -> tuple[bool, list[Any]]:
        logit, *after = step.predict_on_batch([vectors[None, code : code + 1], *before])
        return bool(logit[0, 0] > 0), after

    class System(SUL):
        def __init__(self) -> None:
            super().__init__()
            self.known: dict[tuple[str, ...], tuple[bool, list[Any]]] = {}
            self.known[()] = read(embedding.alphabet.start_id, [keras.ops.convert_to_numpy(state) for state in start])

        def pre(self) -> None:
            self.word: tuple[str, ...] = ()

        def post(self) -> None:
            pass

        def step(self, letter: str | None) -> bool:
            if letter is not None:
                _, states = self.known[self.word]
                self.word = (*self.word, letter)
                if len(self.known) > max_symbols:
                    raise TimeoutError
                if self.word not in self.known:
                    self.known[self.word] = read(embedding.alphabet.ids_of([letter])[0], states)
            accepted, _ = self.known[self.word]
            return accepted

    return System()

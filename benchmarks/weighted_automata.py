"""How long do the exact questions about an ISAN take: Shapley values, the smallest network, equality?

A network of 216 units over 27 symbols with random contracting matrices, a text of 500 symbols, one thread. Shapley
values of one logit and of all 27; `minimize`; `equivalent` with the same network in another basis (a proof for all
words), and with one entry of it changed by a thousandth (a witness). A trained network, whose matrices expand, with
`--model`: its units in another order, and another basis.

    OMP_NUM_THREADS=1 python benchmarks/weighted_automata.py
    python benchmarks/weighted_automata.py --smoke
    python benchmarks/weighted_automata.py --model isan.keras

The results, with hardware, date and commit, are in benchmarks/README.md.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

from keras_interp_rnn import analysis, layers
from keras_interp_rnn.automata import WeightedAutomaton

Array = np.ndarray


def network(kernel: Array, bias: Array, initial: Array) -> layers.ISAN:
    layer = layers.ISAN(len(initial), len(kernel), dtype="float64", recurrent_constraint=None)
    layer.build((None, None))
    layer.set_weights([kernel, bias, initial])
    return layer


def timed(name: str, question: Callable[[], Any], answer: Callable[[Any], str]) -> None:
    started, used = time.perf_counter(), time.process_time()
    found = question()
    clock, processor = time.perf_counter() - started, time.process_time() - used
    print(f"| {name} | {clock:.1f} | {processor:.1f} | {answer(found)} |", flush=True)


def trained(path: str) -> None:
    """Equality of a trained model with itself, its units in another order and in another basis."""
    model = keras.models.load_model(path)
    machine = WeightedAutomaton.from_network(model)
    size, rng = len(machine.initial), np.random.default_rng(0)
    for name, basis in (
        ("another order", np.eye(size - 1)[rng.permutation(size - 1)]),
        ("another basis", np.linalg.qr(rng.normal(size=(size - 1, size - 1)))[0]),
    ):
        turn = np.eye(size)  # the last state is the constant 1
        turn[:-1, :-1] = basis
        other = WeightedAutomaton(machine.initial @ turn, turn.T @ machine.transitions @ turn, turn.T @ machine.final)
        for tolerance in (1e-6, 1e-3):
            timed(
                f"equivalent, a trained network in {name}, to {tolerance:g}",
                lambda other=other, tolerance=tolerance: analysis.equivalent(model, other, tolerance=tolerance),
                str,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="a toy size")
    parser.add_argument("--model", metavar="FILE", help="a saved model of an ISAN with a linear head")
    arguments = parser.parse_args()
    units, symbols, steps = (8, 3, 12) if arguments.smoke else (216, 27, 500)
    rng = np.random.default_rng(0)
    kernel = 0.95 * np.array([np.linalg.qr(rng.normal(size=(units, units)))[0] for _ in range(symbols)])
    bias, initial = rng.normal(size=(symbols, units)), rng.normal(size=units)
    readout, offset = rng.normal(size=(units, symbols)) / np.sqrt(units), rng.normal(size=symbols)
    word, basis = rng.integers(symbols, size=steps), np.linalg.qr(rng.normal(size=(units, units)))[0]
    layer = network(kernel, bias, initial)
    turned = network(basis.T @ kernel @ basis, bias @ basis, initial @ basis)
    changed = kernel.copy()
    changed[1, 2, 3] += 1e-3
    other = network(basis.T @ changed @ basis, bias @ basis, initial @ basis)
    print("| question | seconds | processor seconds | answer |\n|---|---|---|---|")
    for outputs in (1, symbols):
        timed(
            f"Shapley values of {steps} symbols, {outputs} logit{'s' * (outputs > 1)}",
            lambda outputs=outputs: analysis.shapley_values(
                layer, word, readout=(readout[:, :outputs], offset[:outputs])
            ),
            lambda shares: f"residual {shares.residual:.1e}",
        )
    timed("minimize", lambda: analysis.minimize(layer, readout=(readout, offset)), lambda m: f"{m.units} units")
    for name, second in (("equivalent, another basis", turned), ("equivalent, one entry changed", other)):
        timed(
            name,
            lambda second=second: analysis.equivalent(
                (layer, (readout, offset)), (second, (basis.T @ readout, offset))
            ),
            str,
        )
    if arguments.model:
        trained(arguments.model)


if __name__ == "__main__":
    main()

"""Can a network that counts parentheses be read completely, down to zeros and ones?

Trains an input-switched affine network to put out the nesting levels of parentheses one step late, and looks for a
basis in which its states and matrices are zeros and ones: given the true counts, and without them. Rounds what it
finds, tests both networks on fresh symbols, and draws the paper's figure 9.

    python examples/counting.py                              # two types, up to 5: about five minutes on two cores
    python examples/counting.py --types 3 --maximum 9 --steps 7000 --decay 0.15

Reference: Foerster et al., "Input Switched Affine Networks", ICML 2017, arXiv:1611.09434, section 4 and figure 9.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--types", type=int, default=2, help="types of parentheses")
parser.add_argument("--maximum", type=int, default=5, help="largest count")
parser.add_argument("--units", type=int, help="state size (default: 3 types (maximum + 1) - 1)")
parser.add_argument("--steps", type=int, default=5000, help="training steps")
parser.add_argument("--rate", type=float, default=5e-3, help="learning rate at the start")
parser.add_argument("--decay", type=float, default=0.4, help="weight decay, times the learning rate")
parser.add_argument("--test", type=int, default=10**7, help="steps of the test, rounded up to thousands")
parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
parser.add_argument("--records", default="runs/records", help="folder of the JSON record")
parser.add_argument("--figures", default="runs/counting", help="folder of the figure and the model")
parser.add_argument("--smoke", action="store_true", help="one type, up to 2, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import analysis, layers
    from keras_interp_rnn.affine import AffineMap
    from keras_interp_rnn.datasets import counting
    from keras_interp_rnn.figures import isan_counting
    from keras_interp_rnn.reproduce import records


def train(args: argparse.Namespace, task: dict[str, int]) -> tuple[tuple, list[dict[str, float]]]:
    """A network trained on fresh sequences, with its layers, and its loss along the way."""
    keras.utils.set_random_seed(args.seed)
    isan = layers.ISAN(args.units, 2 * args.types + 1, return_sequences=True, recurrent_constraint=None)
    dense = keras.layers.Dense(args.types * (args.maximum + 1))
    model = keras.Sequential([keras.Input((args.length,), dtype="int32"), isan, dense])
    schedule = keras.optimizers.schedules.CosineDecay(args.rate, args.steps, alpha=0.003)
    # The decay takes away what the task does not need: the memory of earlier counts, and unused directions.
    optimizer = keras.optimizers.AdamW(schedule, weight_decay=args.decay, beta_2=0.99, global_clipnorm=1.0)
    model.compile(optimizer, "mse")
    fresh = counting.stream(np.random.default_rng(args.seed), 250 * args.batch, length=args.length, **task)
    curve, began = [], time.monotonic()
    for step in range(250, args.steps + 1, 250):
        symbols, counts = next(fresh)
        history = model.fit(symbols, counting.one_hot(counts, args.maximum), args.batch, shuffle=False, verbose=0)
        curve.append({"step": step, "seconds": time.monotonic() - began, "loss": history.history["loss"][-1]})
        if step % 1000 == 0 or step == args.steps:
            print(f"  step {step:6,}: loss {curve[-1]['loss']:.1e}, {curve[-1]['seconds']:.0f} s", flush=True)
    return (model, isan, dense), curve


def run(layer: layers.ISAN, symbols: np.ndarray) -> Iterator[np.ndarray]:
    """States after each step (batch, n), in float64."""
    maps, start = analysis.homogeneous_matrices(layer), keras.ops.convert_to_numpy(layer.cell.initial_state)
    state = np.tile(np.append(start, 1.0), (len(symbols), 1))
    for column in symbols.T:
        following = np.empty_like(state)
        for symbol, matrix in enumerate(maps):
            following[column == symbol] = state[column == symbol] @ matrix
        state = following
        yield state[:, :-1]


def errors(layer: layers.ISAN, readout: AffineMap, steps: int, task: dict[str, int], seed: int) -> int:
    """Wrong steps among so many fresh ones: a thousand sequences, as long as that takes."""
    symbols, counts = next(counting.stream(np.random.default_rng(seed), 1000, length=steps // 1000, **task))
    wrong = 0
    for states, right in zip(run(layer, symbols), counts.swapaxes(0, 1), strict=True):
        blocks = (states @ readout.matrix + readout.offset).reshape(*right.shape, -1)
        wrong += int((blocks.argmax(axis=-1) != right).any(axis=-1).sum())
    return wrong


def main() -> None:
    if args.smoke:
        args.types, args.maximum, args.steps, args.test = 1, 2, 750, 20_000
        args.records = args.figures = tempfile.mkdtemp(prefix="counting-")
    args.units = args.units or 3 * args.types * (args.maximum + 1) - 1
    args.batch, args.length, args.test = 32, 60, -(-args.test // 1000) * 1000
    task = {"num_types": args.types, "max_count": args.maximum, "delay": 1, "num_noise_symbols": 1}
    print(f"ISAN({args.units}), {args.types} types of parentheses, counts up to {args.maximum}:")
    (model, isan, dense), curve = train(args, task)
    place = Path(args.figures) / f"counting-{args.types}-{args.maximum}-{args.seed}.keras"
    place.parent.mkdir(parents=True, exist_ok=True)
    model.save(place)
    wrong = errors(isan, AffineMap(*dense.get_weights()), args.test, task, seed=1_000_003)
    print(f"  wrong on {wrong:,} of {args.test:,} fresh steps\n")
    late, now = (
        next(counting.stream(np.random.default_rng(9), 150, length=300, **{**task, "delay": d})) for d in (1, 0)
    )
    codes = np.concatenate([counting.one_hot(c, args.maximum) for c in (late.counts, now.counts)], axis=-1)
    states = np.stack(list(run(isan, late.symbols)), axis=1)
    print("Hot coordinates are 0 or 1 on every state; columns 3 and 4: how far states and matrices are from 0 or 1.")
    print(f"{'basis':16}{'hot':>5}{'states off':>18}{'matrices off':>14}{'zeros':>8}{'wrong if rounded':>18}")
    rows = {"as trained": {"near_zero": analysis.fraction_near_zero(analysis.homogeneous_matrices(isan)[:, :, :-1])}}
    for label in ("given counts", "without labels"):
        given = label == "given counts" and analysis.label_basis(states, codes, num_readout=codes.shape[-1] // 2)
        basis = given or analysis.sparse_basis(model, states)
        changed, readout = analysis.change_basis(model, basis)
        parts = analysis.named_blocks(changed, basis)
        rows[label] = row = {"hot": basis.num_binary, "states": basis.residual, "unused": basis.unused}
        row["matrices"] = analysis.rounding_error(*parts, readout.matrix[: basis.num_binary], readout.offset)
        row["near_zero"] = analysis.fraction_near_zero(*parts)
        row["rebuilt_wrong"] = errors(*analysis.binarized_network(model, basis), args.test, task, seed=1_000_033)
        numbers = f"{row['states']:18.4f}{row['matrices']:14.4f}{row['near_zero']:8.1%}{row['rebuilt_wrong']:18,}"
        print(f"{label:16}{basis.num_binary:5}{numbers}", flush=True)
    r, m = basis.num_readout, basis.num_binary
    pairs = (basis.to.apply(states)[..., :m], codes)
    found, true = ({code.tobytes() for code in (pair > 0.5).reshape(-1, pair.shape[-1]).T} for pair in pairs)
    print(f"\nThe codes found without labels are {'those' if found == true else 'not those'} of the counts.")
    names, symbol, shown = counting.symbol_names(args.types), 2 * (args.types > 1), slice(-40, None)
    figure = isan_counting.change_of_basis(
        (analysis.homogeneous_matrices(isan)[symbol], analysis.homogeneous_matrices(changed)[symbol]),
        (states[0, shown], basis.to.apply(states[0, shown])),
        symbol=names[symbol],
        tokens=[names[read] for read in late.symbols[0, shown]],
        parts=[("readout", r), ("computation", m - r), ("rest", len(basis.names) - m)],
    )
    figure.savefig(place.with_suffix(".png"), dpi=150)
    record = {
        "experiment": "counting",
        "data": {"types": args.types, "maximum": args.maximum, "delay": 1, "noise": 1, "length": args.length},
        "protocol": {n: getattr(args, n) for n in ("steps", "batch", "length", "rate", "decay")},
        "model": {"layer": "ISAN", "units": args.units, "seed": args.seed, "parameters": model.count_params()},
        "result": {"wrong": wrong, "tested": args.test, "bases": rows, "same": found == true, **curve[-1]},
        "curve": curve,
    }
    records.write(Path(args.records) / f"{place.stem}.json", record)
    print(f"Figure and model: {place.parent}. Record: {args.records}")


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:  # a network that did not learn the task has no such basis
        sys.exit(f"counting: {error}")

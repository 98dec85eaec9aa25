"""A certified network against the C code of its automaton: do they decide alike, and at what cost?

Takes the network of a preset, proves it equal to its automaton, writes the automaton as C (`DFA.to_c`), compiles that,
and has both classify random words of 1 to 64 symbols: the network in batches, the compiled function word by word, in a
loop that is C too.

    python benchmarks/deployed_automaton.py                     # a million words, some minutes; needs a C compiler
    python benchmarks/deployed_automaton.py --smoke

The result, with hardware, date and commit, is in benchmarks/README.md.
"""

import argparse
import ctypes
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from keras_interp_rnn import automata, presets

LONGEST, BATCH = 64, 8192

LOOP = """
void many(const unsigned char *words, const size_t *lengths, size_t count, size_t longest, unsigned char *accepted) {
    for (size_t i = 0; i < count; i++) accepted[i] = (unsigned char)dfa_accepts(words + i * longest, lengths[i]);
}
"""


def compiled(dfa: automata.DFA, folder: Path) -> tuple[ctypes.CDLL, int]:
    """The automaton as a library, and the bytes of its tables."""
    (folder / "dfa.c").write_text(dfa.to_c() + LOOP, encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "dfa.c", "-o", "dfa.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "dfa.so")), len(dfa) * (len(dfa.alphabet) + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="tomita-5")
    parser.add_argument("--words", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--smoke", action="store_true", help="a thousand words")
    args = parser.parse_args()
    count = 1000 if args.smoke else args.words

    preset = presets.load(args.preset)
    dfa, certificate = preset.automaton, preset.certificate
    if dfa is None or certificate is None:
        parser.error(f"a preset with an automaton is needed, such as tomita-5. Received: {args.preset}.")
    print(certificate)
    rng = np.random.default_rng(args.seed)
    lengths = rng.integers(1, LONGEST + 1, count).astype(np.uintp)
    words = rng.integers(0, len(dfa.alphabet), (count, LONGEST)).astype(np.uint8)

    with tempfile.TemporaryDirectory() as folder:
        library, table_bytes = compiled(dfa, Path(folder))
        by_table = np.empty(count, np.uint8)
        started = time.perf_counter()
        library.many(
            words.ctypes.data_as(ctypes.c_void_p),
            lengths.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(count),
            ctypes.c_size_t(LONGEST),
            by_table.ctypes.data_as(ctypes.c_void_p),
        )
        table_seconds = time.perf_counter() - started

    encoding = preset.model.layers[0].encoding
    codes = np.array([encoding.code(symbol) for symbol in dfa.alphabet], np.int32)
    ids = np.zeros((count, LONGEST + 1), np.int32)
    ids[:, 0] = encoding.start
    ids[:, 1:] = np.where(np.arange(LONGEST) < lengths[:, None], codes[words], 0)
    preset.model.predict(ids[:BATCH], batch_size=BATCH, verbose=0)
    started = time.perf_counter()
    outputs = preset.model.predict(ids, batch_size=BATCH, verbose=0)
    network_seconds = time.perf_counter() - started
    by_network = outputs[:, 0] > 0

    weights = sum(weight.numpy().nbytes for weight in preset.model.weights)
    print(f"{count:,} words, {by_table.mean():.2%} accepted; decided otherwise: {(by_table != by_network).sum():,}")
    print(f"network: {weights:,} bytes of weights, {count / network_seconds:,.0f} words/s")
    print(f"table:   {table_bytes:,} bytes, {count / table_seconds:,.0f} words/s")


if __name__ == "__main__":
    main()

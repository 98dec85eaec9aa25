"""The counting task of Foerster et al., ICML 2017, section 4, by literal loops, and a network for it built by hand.

The paper's convention throughout: states are columns. Symbols 2 k and 2 k + 1 open and close type k, the rest are
noise. `delay_line` is the network of figure 9, for any delay: its state holds, for each type, the one-hot codes of the
counts after the last delay + 1 steps, the oldest first, which is what it reads out. Reading a symbol moves every code
one place on (identity blocks), and writes the newest one: shifted by one and held at the end for the type the symbol
belongs to, unchanged for all others.
"""

import numpy as np


def change(symbol: int, kind: int) -> int:
    """What a symbol does to the count of a type before clipping."""
    if symbol == 2 * kind:
        return 1
    return -1 if symbol == 2 * kind + 1 else 0


def counts(symbols, types: int, maximum: int, delay: int) -> np.ndarray:
    """What is to be put out for one sequence (time,): (time, types)."""
    after = [[0] * types]
    for symbol in symbols:
        now = []
        for kind in range(types):
            count = after[-1][kind] + change(symbol, kind)
            now.append(min(max(count, 0), maximum))
        after.append(now)
    result = [after[max(t - delay, 0)] for t in range(1, len(symbols) + 1)]
    return np.array(result, int).reshape(len(symbols), types)


def target(counts_at_one_step, maximum: int) -> np.ndarray:
    """One-hot codes of all types side by side."""
    code = []
    for count in counts_at_one_step:
        code += [1.0 if level == count else 0.0 for level in range(maximum + 1)]
    return np.array(code)


def delay_line(types: int, maximum: int, delay: int, noise: int):
    """W (K, n, n), b (K, n), h0 (n,), W_ro (outputs, n), b_ro: columns; n = (delay + 1) types (maximum + 1)."""
    levels = maximum + 1
    code = types * levels
    n, symbols = (delay + 1) * code, 2 * types + noise
    newest = delay * code
    W = np.zeros((symbols, n, n))
    for symbol in range(symbols):
        for i in range(newest):
            W[symbol, i, i + code] = 1
        for kind in range(types):
            for level in range(levels):
                moved = min(max(level + change(symbol, kind), 0), maximum)
                W[symbol, newest + kind * levels + moved, newest + kind * levels + level] = 1
    h0 = np.zeros(n)
    h0[::levels] = 1
    W_ro = np.zeros((code, n))
    for i in range(code):
        W_ro[i, i] = 1
    return W, np.zeros((symbols, n)), h0, W_ro, np.zeros(code)

"""Weighted automata by literal loops and by brute force over words and coalitions.

The convention of the textbooks: states are columns, so the matrices of a word multiply from the left, initial is a
column and final a row for each output. `value(initial, matrices, final, word)` is final A_{x_T} ... A_{x_1} initial.
"""

import itertools
import math
from fractions import Fraction

import numpy as np


def value(initial, matrices, final, word):
    """The outputs after a word."""
    state = np.array(initial, float)
    for symbol in word:
        state = matrices[symbol] @ state
    return final @ state


def of_isan(W, b, h0, W_ro, b_ro):
    """The weighted automaton of the paper's network h_t = W_x h + b_x, logits W_ro h + b_ro: a 1 below the state."""
    n = len(h0)
    matrices = []
    for kernel, bias in zip(W, b, strict=True):
        matrix = np.zeros((n + 1, n + 1))
        matrix[:n, :n] = kernel
        matrix[:n, n] = bias
        matrix[n, n] = 1
        matrices.append(matrix)
    return np.append(h0, 1.0), np.array(matrices), np.concatenate([W_ro, b_ro[:, None]], axis=1)


def words(symbols: int, up_to: int):
    """All words, short ones first, those of a length by the order of the symbols."""
    for length in range(up_to + 1):
        yield from itertools.product(range(symbols), repeat=length)


def first_difference(first, second, symbols: int, up_to: int, tolerance: float):
    """The first word of `words` on which two functions of words differ by more than the tolerance; or None."""
    for word in words(symbols, up_to):
        if np.abs(np.asarray(first(word)) - np.asarray(second(word))).max() > tolerance:
            return word
    return None


def chain_probability(initial, transitions, word):
    """The probability of a word under a Markov chain."""
    probability = 1.0
    for t, symbol in enumerate(word):
        probability *= initial[symbol] if t == 0 else transitions[word[t - 1]][symbol]
    return probability


def worth(function, word, coalition, symbols: int, probability):
    """v(S) = E f(z): z is the word at the places of the coalition, and drawn from the background elsewhere."""
    total = 0.0
    for drawn in itertools.product(range(symbols), repeat=len(word)):
        mixed = tuple(word[t] if t in coalition else drawn[t] for t in range(len(word)))
        total = total + probability(drawn) * np.asarray(function(mixed))
    return total


def worth_of_independent(initial, matrices, final, word, coalition, probabilities):
    """The same for independent symbols, by their mean matrix."""
    mean = sum(p * matrix for p, matrix in zip(probabilities, matrices, strict=True))
    state = np.array(initial, float)
    for t, symbol in enumerate(word):
        state = (matrices[symbol] if t in coalition else mean) @ state
    return final @ state


def shapley_values(worth_of, players: int):
    """Shapley's formula: the mean of v(S with t) - v(S) over coalitions S without t, by their sizes."""
    worths = {}
    for size in range(players + 1):
        for coalition in itertools.combinations(range(players), size):
            worths[frozenset(coalition)] = np.asarray(worth_of(frozenset(coalition)))
    values = []
    for t in range(players):
        total = 0.0
        for coalition, before in worths.items():
            if t not in coalition:
                s = len(coalition)
                weight = math.factorial(s) * math.factorial(players - s - 1) / math.factorial(players)
                total = total + weight * (worths[coalition | {t}] - before)
        values.append(total)
    return np.array(values)


def interactions(worth_of, players: int, index: str):
    """The mean, over coalitions of the others, of what two players change together less what they change apart."""
    worths = {}
    for size in range(players + 1):
        for coalition in itertools.combinations(range(players), size):
            worths[frozenset(coalition)] = np.asarray(worth_of(frozenset(coalition)), float)
    values = np.zeros((players, players, *worths[frozenset()].shape))
    for i, j in itertools.permutations(range(players), 2):
        for coalition, neither in worths.items():
            if not coalition & {i, j}:
                s = len(coalition)
                weight = 1 / 2 ** (players - 2)
                if index == "shapley":
                    weight = math.factorial(s) * math.factorial(players - s - 2) / math.factorial(players - 1)
                both, first, second = (worths[coalition | more] for more in ({i, j}, {i}, {j}))
                values[i, j] += weight * (both - first - second + neither)
    return values


def hankel_rank(function, symbols: int, up_to: int, constant: bool = False) -> int:
    """The rank of the table f(uv) over words u and v up to a length, in fractions; with a column of ones beside it."""
    names = list(words(symbols, up_to))
    rows = []
    for u in names:
        row = []
        for v in names:
            row += [Fraction(float(x)) for x in np.atleast_1d(function((*u, *v)))]
        rows.append(row + ([Fraction(1)] if constant else []))
    return rank(rows)


def rank(rows) -> int:
    """By elimination in fractions."""
    rows = [list(row) for row in rows]
    found = 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column] != 0), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            factor = rows[i][column] / rows[found][column]
            if factor:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def occurrences(words, part) -> float:
    """The mean number of times that a part occurs in a word; the empty part at each of its T + 1 places."""
    total = 0
    for word in words:
        for place in range(len(word) - len(part) + 1):
            total += tuple(word[place : place + len(part)]) == tuple(part)
    return total / len(words)


def draw(initial, stop, emissions, transitions, rng) -> tuple[int, ...]:
    """A word of a hidden Markov model, step by step."""
    state = rng.choice(len(initial), p=initial)
    word = []
    while rng.random() >= stop[state]:
        word.append(int(rng.choice(len(emissions[state]), p=emissions[state])))
        state = rng.choice(len(initial), p=transitions[state])
    return tuple(word)

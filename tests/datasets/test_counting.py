"""Streams of parentheses and their splits, against counts by a literal loop."""

import hashlib
import itertools

import numpy as np
import pytest

from keras_interp_rnn.datasets import counting
from tests.oracles import counting as oracle

SMALL = {"num_types": 1, "max_count": 2, "delay": 2, "num_noise_symbols": 2, "length": 9}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("types", "maximum", "delay", "noise"), [(2, 5, 1, 1), (1, 1, 0, 0), (3, 2, 4, 2), (5, 9, 1, 1)]
)
def test_a_stream_counts_as_the_oracle(seed, types, maximum, delay, noise):
    batches = counting.stream(
        np.random.default_rng(seed),
        4,
        length=60,
        num_types=types,
        max_count=maximum,
        delay=delay,
        num_noise_symbols=noise,
    )
    for symbols, counts in itertools.islice(batches, 2):
        assert symbols.shape == (4, 60)
        assert counts.shape == (4, 60, types)
        assert set(np.unique(symbols)) <= set(range(2 * types + noise))
        targets = counting.one_hot(counts, maximum)
        for row, found, code in zip(symbols, counts, targets, strict=True):
            expected = oracle.counts(row, types, maximum, delay)
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(code, [oracle.target(step, maximum) for step in expected])


def test_the_papers_target_is_a_two_hot_vector_of_twelve():
    _, counts = next(counting.stream(np.random.default_rng(0), 3, length=50))
    targets = counting.one_hot(counts, 5)
    assert targets.shape == (3, 50, 12)
    assert (targets.sum(axis=-1) == 2).all()
    assert counting.symbol_names() == ("(", ")", "[", "]", "a")
    assert counting.symbol_names(5, 2) == (*"()[]{}<>", "(5", ")5", "a", "b")


def test_symbols_are_uniform_and_batches_fresh():
    batches = counting.stream(np.random.default_rng(0), 100, length=500)
    first, second = next(batches), next(batches)
    shares = np.bincount(np.ravel(first.symbols), minlength=5) / first.symbols.size
    np.testing.assert_allclose(shares, 0.2, atol=6 * np.sqrt(0.16 / first.symbols.size))
    assert not (first.symbols == second.symbols).all(axis=1).any()
    again = next(counting.stream(np.random.default_rng(0), 100, length=500))
    np.testing.assert_array_equal(first.symbols, again.symbols)


def test_splits_are_distinct_sequences_with_the_right_counts():
    parts = {split: counting.load(split, **SMALL) for split in counting.SIZES}
    assert {split: len(part.symbols) for split, part in parts.items()} == counting.SIZES
    rows = [tuple(row) for part in parts.values() for row in part.symbols.tolist()]
    assert len(rows) == len(set(rows))
    for part in parts.values():
        for row, counts in zip(part.symbols[::50], part.counts[::50], strict=True):
            np.testing.assert_array_equal(counts, oracle.counts(row, 1, 2, 2))


DIGESTS = {"train": "050f291c1423401b", "validation": "0265fa82ba235aff", "test": "3853df0c1ff3e9ea"}


@pytest.mark.parametrize("split", DIGESTS)
def test_a_seed_gives_the_sequences_that_it_has_always_given(split):
    symbols, counts = counting.load(split, **SMALL, seed=4)
    assert symbols.dtype == counts.dtype == np.int32
    assert hashlib.sha256(symbols.tobytes() + counts.tobytes()).hexdigest()[:16] == DIGESTS[split]
    assert not np.array_equal(counting.load(split, **SMALL).symbols, symbols)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_types": 0}, "`num_types` must be a positive integer. Received: num_types=0"),
        ({"max_count": 2.5}, "`max_count` must be a positive integer. Received: max_count=2.5"),
        ({"delay": -1}, "`delay` must be a non-negative integer. Received: delay=-1"),
        (
            {"num_noise_symbols": True},
            "`num_noise_symbols` must be a non-negative integer. Received: num_noise_symbols=True",
        ),
        ({"length": 0}, "`length` must be a positive integer"),
        ({"seed": -3}, "`seed` must be a non-negative integer"),
        ({"length": 5}, "`length` must allow at least 12,000 sequences. Received: length=5 over 5 symbols"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        counting.load("train", **arguments)


def test_a_count_beyond_the_maximum_has_no_code():
    with pytest.raises(ValueError, match=r"`counts` must lie in \[0, 3\). Received: counts from 0 to 3. Pass the"):
        counting.one_hot([[0, 3]], 2)
    with pytest.raises(ValueError, match="`batch_size` must be a positive integer"):
        counting.stream(np.random.default_rng(0), 0, length=5)

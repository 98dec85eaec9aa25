"""Sizes and thresholds of the paths of an ISAN."""

BLOCK, BLOCK_ON_ACCELERATORS = 32, 128
"""Rows per block of the static kernel gradient; every symbol is padded to a multiple of it."""

ROWS_OF_BLOCK = 16
"""Sequences that share a product on the path "blocks"."""

LEAST_SAVED = {"accelerator": 4_000_000, "CPU": 200_000}
"""Least saving of the path "blocks", in copied numbers per step, as it moves the sequences twice. It also needs at most
half as many blocks as sequences, because of the products of empty places."""

USUAL_BATCH = 256
"""Assumed batch size if a graph is traced without one."""

DENSE_SYMBOLS = 4
"""Largest alphabet for which an accelerator multiplies every sequence by all matrices."""

SLOTS = 64
"""Symbols with their own product on the grouped path. A larger number means more empty operations, a smaller one more
copies of matrices."""

ROWS, BLOCKS = 8, 8
"""Rows of a symbol that share a product on JAX, and blocks of rows that fetch their matrices together."""

SMALLEST_GROUPED_UNITS: dict[str, dict[str, int | None]] = {
    "tensorflow": {"few": 8, "many": 96},
    "torch": {"few": 1, "many": 1},
    "jax": {"few": 48, "many": None},
}
"""Fewest units for which one product per symbol is faster than copies of matrices; None if it never is. Few symbols are
at most `SLOTS`. The eager operations of torch make the grouped path faster at all sizes. On JAX every step visits the
matrices of all symbols."""

"""Sizes by which the paths of an ISAN are chosen and laid out."""

BLOCK, BLOCK_ON_ACCELERATORS = 32, 128
"""Rows per block of the static kernel gradient: every symbol pads to a multiple of it."""

ROWS_OF_BLOCK = 16
"""Sequences that share a product on the path of blocks."""

LEAST_SAVED = {"accelerator": 4_000_000, "CPU": 200_000}
"""Numbers a step that the path of blocks must save copying, for it moves the sequences twice. And no more than half as
many blocks as sequences: the products of empty places cost something."""

USUAL_BATCH = 256
"""Sequences of a batch whose number is not known when a graph is traced."""

DENSE_SYMBOLS = 4
"""With no more symbols an accelerator multiplies every sequence by all matrices."""

SLOTS = 64
"""Symbols with a product of their own on the grouped path. More of them mean more empty operations, fewer mean more
copies of matrices."""

ROWS, BLOCKS = 8, 8
"""Rows of a symbol that share a product on JAX, and blocks of so many rows that fetch their matrices together."""

SMALLEST_GROUPED_UNITS: dict[str, dict[str, int | None]] = {
    "tensorflow": {"few": 8, "many": 96},
    "torch": {"few": 1, "many": 1},
    "jax": {"few": 48, "many": None},
}
"""With fewer units the products are so small that launching one per symbol costs more than copying matrices; None where
it always does. Few symbols are at most `SLOTS`. torch launches each operation of the static path too, and wins at all
sizes. On JAX every step passes over the matrices of all symbols."""

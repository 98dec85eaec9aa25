"""Sizes by which the paths of an ISAN are chosen and laid out."""

BLOCK = 32
"""Rows per block of the static kernel gradient: every symbol pads to a multiple of it."""

SLOTS = 64
"""Symbols with a product of their own on the grouped path. More of them mean more empty operations, fewer mean more
copies of matrices."""

SMALLEST_GROUPED_UNITS = {"tensorflow": {"few": 8, "many": 96}, "torch": {"few": 1, "many": 1}}
"""With fewer units the products are so small that launching one per symbol costs more than copying matrices. Few symbols
are at most `SLOTS`. On torch, which launches each operation of the static path too, grouping wins at all sizes."""

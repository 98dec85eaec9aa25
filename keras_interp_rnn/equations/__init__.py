"""The papers' equations, once, one module per paper: pure functions of (xp, weights, ...).

`xp` is the array namespace, NumPy for exact analysis in float64 or `keras.ops` inside layers.
"""

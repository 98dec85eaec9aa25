"""Choices of animals and people, read by networks of one to four units (`python -m examples.behaviour --help`).

- `tasks`: bandits, reversal learning, the two-step task; sessions of choices, simulated or read from a file.
- `agents`: models of learning, fitted by maximum likelihood, as weighted automata where they are affine.
- `models`: networks and agents under one interface. `protocol`: nested cross-validation by subject or by session.
- `reading`: which agent a fitted network is, and what both would choose. `measurements`: the records and their tables.
"""

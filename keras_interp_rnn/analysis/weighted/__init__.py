"""Weighted automata: networks and automata whose outputs are linear in a state that each symbol maps."""

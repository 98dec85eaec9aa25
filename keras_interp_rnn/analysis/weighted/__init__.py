"""Of networks and automata whose outputs are linear in a state that each symbol maps: weighted automata."""

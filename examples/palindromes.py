"""Does a network that learned palindromes up to 100 letters know those of 500?

Trains an LSTM, an LSTM with peepholes, and both with their hidden state moving among k centroids, to tell w w^-1 from
strings in which half of the letters were drawn anew, and prints their errors on longer ones, the paper's table 3. A
finished run is not repeated.

    python examples/palindromes.py                   # four networks, about twenty minutes

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.2 and table 3.
"""

import command_line

usual = "10, or 100 over the small words"
args = command_line.learns_language(__doc__, "palindromes", ["large", "small"], usual).parse_args()

with command_line.quiet():
    from keras_interp_rnn import datasets
    from keras_interp_rnn.reproduce import context_free

if __name__ == "__main__":
    context_free.main("palindromes", datasets.palindromes.load, context_free.PALINDROMES, args)

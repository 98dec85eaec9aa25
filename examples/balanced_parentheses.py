"""Does a network that learned to match parentheses five deep match them twenty deep?

Trains an LSTM, an LSTM with peepholes, and both with their hidden state moving among k centroids, on balanced and
unbalanced strings of parentheses and letters, and prints their errors on deeper and longer ones, the paper's table 1;
with several --centroids on the small words, its table 2, and draws figure 6. A finished run is not repeated.

    python examples/balanced_parentheses.py          # four networks, about eight minutes on two cores
    python examples/balanced_parentheses.py --data small small_near --networks SR-LSTM-P --centroids 2 5 10 50

Reference: Wang, Lawrence and Niepert, "State-Regularized Recurrent Neural Networks", 2022, section 5.2, tables 1 and
2.
"""

import command_line

parser = command_line.learns_language(
    __doc__, "balanced_parentheses", ["large_near", "large", "small", "small_near"], "2, or 20 over the small words"
)
args = parser.parse_args()

with command_line.quiet():
    from keras_interp_rnn import datasets
    from keras_interp_rnn.reproduce import context_free, pictures

if __name__ == "__main__":
    records, folder = context_free.main(
        "balanced_parentheses", datasets.balanced_parentheses.load, context_free.PARENTHESES, args
    )
    for name, figure in pictures.parentheses(records).items():
        figure.savefig(folder / name, dpi=150)
        print(f"Figure: {folder / name}")

"""What the papers report: the places and figures that our tables repeat, and how our trainings differ from theirs.

Foerster et al., "Input Switched Affine Networks", ICML 2017; Chen, "MinimalRNN", 2017; Wang, Lawrence and Niepert,
"State-Regularized Recurrent Neural Networks to Extract Automata and Explain Predictions", 2022.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

PAPER_TABLE_1 = {
    network: dict(zip(("8e4", "3.2e5", "1.28e6"), bits, strict=True))
    for network, bits in {
        "RNN": (1.88, 1.69, 1.59),
        "IRNN": (1.89, 1.71, 1.58),
        "GRU": (1.83, 1.66, 1.59),
        "LSTM": (1.85, 1.68, 1.59),
        "ISAN": (1.92, 1.71, 1.58),
    }.items()
}
"""Foerster et al., table 1: network -> largest number of parameters -> text8 test bits per character."""

PAPER_PARENTHESES = {
    "large": {
        "LSTM": (0.005, 0.334, 0.341, 0.002, 0.207, 0.543),
        "SR-LSTM": (0.038, 0.255, 0.313, 0.044, 0.227, 0.540),
        "SR-LSTM-P": (0.000, 0.001, 0.003, 0.000, 0.004, 0.020),
    },
    "small": {
        "LSTM": (0.068, 0.472, 0.479, 0.042, 0.409, 0.519),
        "SR-LSTM": (0.037, 0.347, 0.352, 0.028, 0.279, 0.508),
        "SR-LSTM-P": (0.017, 0.189, 0.196, 0.015, 0.138, 0.380),
    },
}
"""Wang, Lawrence and Niepert, table 1: error on each test set, in the order of the builder."""

PAPER_CENTROIDS = {
    2: (0.019, 0.096, 0.097, 0.014, 0.038, 0.399),
    5: (0.017, 0.189, 0.196, 0.015, 0.138, 0.380),
    10: (0.021, 0.205, 0.213, 0.012, 0.154, 0.432),
    50: (0.034, 0.192, 0.191, 0.047, 0.128, 0.410),
}
"""Table 2: SR-LSTM-P on the small data, by number of centroids."""

PAPER_PALINDROMES = {
    "LSTM": (0.312, 0.420, 0.477),
    "LSTM-P": (0.284, 0.362, 0.415),
    "SR-LSTM": (0.280, 0.360, 0.446),
    "SR-LSTM-P": (0.105, 0.167, 0.298),
}
"""Table 3: error by largest length 100, 200, 500."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A table or figure of a paper.

    Attributes:
        title: in few words. place: in which paper, where. measure: what its figures are.
        figures: name of a row -> the paper's figure, or its words where it gives none.
        about: what differs in ours, for the report; empty where its section there says so itself.
        read: what the paper reads off its network, where it does.
    """

    title: str
    place: str
    measure: str
    figures: Mapping[str, float | str] = dataclasses.field(default_factory=dict)
    about: str = ""
    read: str = ""


_PIXELS: dict[str, float | str] = {
    "LSTM": 0.023,
    "LSTM-P": 0.015,
    "SR-LSTM (k = 100)": 0.014,
    "SR-LSTM-P (k = 100, eq. 17)": 0.041,
    "SR-LSTM-P (k = 100, eq. 19)": 0.067,
    "SR-LSTM-P (k = 100, eq. 20)": 0.008,
    "SR-LSTM-P (k = 50)": 0.014,
    "SR-RNN (k = 100)": "failed to converge",
    "SR-GRU (k = 100)": "failed to converge",
}

_BYTES = {"ISAN": 1.36, "LSTM": 1.1}

ENTRIES: dict[str, Entry] = {
    "isan-text8": Entry(
        "ISAN on character text",
        "Foerster et al. 2017, table 1",
        "bits per character",
        {f"{network}-{size}": bits for network, row in PAPER_TABLE_1.items() for size, bits in row.items()},
    ),
    "isan-ablations": Entry(
        "What makes an ISAN work",
        "Foerster et al. 2017, section 3.1",
        "bits per character",
        {"naive Bayes": 3.3, "linear": 3.1, "linear, nonlinear readout": 2.15, "ISAN": 1.58},
        "About as many weights and as many characters for every network that is trained; the paper's were trained "
        "to their end, its ISAN has 1.28 million weights. Without biases an ISAN predicts no better than unigrams, "
        "says the paper's version 1.",
    ),
    "isan-pairs": Entry(
        "Pairs of characters as symbols",
        "Foerster et al. 2017, section 3.1",
        "bits per character",
        {"ISAN": 3.55 / 2, "LSTM": 3.4 / 2},
        "729 symbols, two characters at a step; 1.28 million weights give the ISAN 40 units. The paper gives bits per "
        "pair, 3.55 and 3.4, on text8, of networks trained to their end.",
    ),
    "isan-lm1b": Entry(
        "Bytes of the Billion Word corpus",
        "Foerster et al. 2017, section 3.2",
        "bits per byte",
        _BYTES,
        "The paper trains networks of 41 and 44 million weights on the whole corpus (4 GB).",
    ),
    "isan-lm1b-full": Entry(
        "Bytes of the Billion Word corpus, networks of the paper's size",
        "Foerster et al. 2017, section 3.2",
        "bits per byte",
        _BYTES,
        "The paper trains on the whole corpus (4 GB).",
    ),
    "minimal-rnn-recommendation": Entry(
        "Next-item recommendation", "Chen 2017, section 3, figures 2, 3 and 5", "MAP@20"
    ),
    "minimal-rnn-start": Entry("Jacobians at the initial point", "Chen 2017, figure 4", "singular values"),
    "sr-parentheses": Entry("Balanced parentheses", "Wang, Lawrence and Niepert 2022, tables 1 and 2", "error"),
    "sr-palindromes": Entry("Palindromes", "Wang, Lawrence and Niepert 2022, table 3", "error"),
    "sr-imdb": Entry(
        "IMDB reviews",
        "Wang, Lawrence and Niepert 2022, tables 4, 6, 9 and 10, section 5.3.2",
        "error",
        {
            "LSTM": 0.101,
            "LSTM-P": 0.103,
            "SR-LSTM (k = 10)": 0.094,
            "SR-LSTM-P (k = 10, eq. 17)": 0.111,
            "SR-LSTM-P (k = 10, eq. 19)": 0.110,
            "SR-LSTM-P (k = 10, eq. 20)": 0.092,
            "SR-LSTM-P (k = 50)": 0.098,
            "SR-GRU (k = 10)": 0.136,
            "SR-RNN (k = 10)": 0.319,
        },
        "The labelled reviews alone, the last 400 tokens of each, 10,000 words; 300 of the tokens, from a place drawn "
        "anew, are read in each pass of the training. The embeddings start from word vectors counted from the training "
        "reviews, and the head reads the last hidden and cell state, as the paper's on pixels (of a network without a "
        "cell state the hidden one), or, where a row says so, the mean hidden state. Adam, dropout and "
        "word dropout; the paper takes RMSprop and no dropout. It does not say its sizes.",
        "*The paper's (table 6, of five centroids): a positive one, loved (1.0), definitely (1.0), 8 (0.99), realistic "
        "(0.99), a negative one, no (1.0), worst (1.0), terrible (1.0), poorly (1.0), and others that stand for "
        "neither. Its phrases (table 10): worst movie, incredibly awful, not a decent performance; great acting, "
        "superbly crafted, 10 / 10 .*",
    ),
    "sr-mnist": Entry(
        "MNIST pixel by pixel",
        "Wang, Lawrence and Niepert 2022, table 5",
        "error",
        _PIXELS,
        "The same minutes of training for every network, far fewer passes over the data than the paper's. Adam and a "
        "temperature of 2; the paper takes RMSprop and 1.",
    ),
    "sr-mnist-quarter": Entry(
        "MNIST by a quarter of its pixels",
        "Wang, Lawrence and Niepert 2022, table 5",
        "error",
        _PIXELS,
        "Not the paper's 784 pixels but the means of four each, 196 in all, so that two cores see every image some "
        "times; minutes of training, not passes, are the same for every network. Adam and a "
        "temperature of 2; the paper takes RMSprop and 1.",
    ),
    "sr-newsgroups": Entry(
        "20 newsgroups",
        "Wang, Lawrence and Niepert 2022, section 6, tables 7 and 8",
        "error",
        {"SR-LSTM, with headers": 0.144, "SR-LSTM, without": 0.343},
        "15,076 posts for training and 3,770 for the test, as many as in the paper, drawn at random; 10,003 words; the "
        "first 200 tokens of each post. The head reads the mean of the states over time. Word vectors counted from the "
        "training posts, Adam, dropout, word dropout and a temperature of 1.44; the paper takes RMSprop, no dropout "
        "and 1, and its network without headers is an SR-RNN.",
        "*The paper's (table 7), of four classes: comp.graphics, interrupt (0.83), driver (0.80), version (0.75); "
        "comp.windows.x, domain (0.48), information (0.39), source (0.34); talk.politics.mideast, state (0.55), "
        "expansion (0.49), woman (0.43); talk.politics.misc, comment (0.58), damage (0.53), right (0.51).*",
    ),
}
"""Name of our table -> what it repeats."""

"""Table 3 of Wang, Lawrence and Niepert, 2022: palindromes."""

from __future__ import annotations

from keras_interp_rnn.reproduce import _languages


class Palindromes(_languages.LanguageTable):
    """Networks that learn palindromes."""

    name = "sr-palindromes"
    title = "Palindromes"
    place = "Wang, Lawrence and Niepert 2022, table 3"
    former_name = "palindromes"
    language = "palindromes"
    tests = ("test_l100", "test_l200", "test_l500")
    rows = {
        **_languages.rows_of(_languages.NETWORKS, "large", passes=10),
        **_languages.rows_of(_languages.NETWORKS, "small", passes=100),
    }
    paper_errors = {
        "large-LSTM": (0.312, 0.420, 0.477),
        "large-LSTM-P": (0.284, 0.362, 0.415),
        "large-SR-LSTM": (0.280, 0.360, 0.446),
        "large-SR-LSTM-P": (0.105, 0.167, 0.298),
    }
    paper = _languages.percentages(paper_errors)

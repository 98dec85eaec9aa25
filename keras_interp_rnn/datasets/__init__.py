"""Data the papers are reproduced on, and the one way in which a long text is fed to a recurrent layer.

| name | what it is |
|---|---|
| `text` | any text as symbols: an `Alphabet` of its own, or the 27 letters of text8 |
| `text8` | 100 MB of Wikipedia over those letters, as a TFDS builder and as one array |
| `interactions` | who met which item when: sequences for next-item recommendation, and their leave-one-out split |
| `words` | text as words: tokens, a vocabulary, sequences of ids |
| `imdb` | reviews of films, positive and negative, from a folder or from TFDS |
| `newsgroups20` | posts to 20 newsgroups, as a TFDS builder and as lists |
| `lm1b` | the One Billion Word benchmark as bytes, from a folder or from TFDS |
| `mnist` | handwritten digits, from a folder or from TFDS |
| `tomita` | words of up to 1,000 symbols, labelled by Tomita's languages, as a TFDS builder |
| `balanced_parentheses`, `palindromes` | two languages that need a memory, as TFDS builders |
| `counting` | brackets of several types and how deep each is nested, as a TFDS builder and as an endless stream |
| `LabelledWords` | what these three load: words, labels, and their ids with start and end tokens |
| `Windows` | next-symbol prediction over one long text, lane by lane, for `stateful=True` layers |

`tensorflow_datasets` is imported by the functions that need it, not before.
"""

from keras_interp_rnn.datasets import (
    balanced_parentheses,
    counting,
    imdb,
    interactions,
    lm1b,
    mnist,
    newsgroups20,
    palindromes,
    text,
    text8,
    tomita,
    words,
)
from keras_interp_rnn.datasets.labelled_words import LabelledWords
from keras_interp_rnn.datasets.windows import Windows

__all__ = [
    "LabelledWords",
    "Windows",
    "balanced_parentheses",
    "counting",
    "imdb",
    "interactions",
    "lm1b",
    "mnist",
    "newsgroups20",
    "palindromes",
    "text",
    "text8",
    "tomita",
    "words",
]

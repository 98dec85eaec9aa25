"""Alphabets, texts, words of formal languages, and `Windows`, which feeds a long text to a recurrent layer.

| name | contents |
|---|---|
| `Alphabet` | which id stands for which character, word, event or symbol of an automaton |
| `Outputs` | names of the outputs of a network, kept with it |
| `text` | any text as characters, or as the 27 symbols of text8 |
| `text8` | 100 MB of Wikipedia over those symbols |
| `words` | text as words: tokens, and word vectors |
| `tomita` | words of up to 1,000 symbols, labelled by Tomita's languages |
| `LabelledWords` | what `tomita` loads: words, labels, and ids |
| `abbadingo` | your own labelled words, in the format of Abbadingo and FlexFringe |
| `sessions` | tables of trials, with choices and rewards, or logs of events, as padded sequences |
| `Windows` | next-symbol prediction over one long text, lane by lane, for layers with `stateful=True` |
| `DataError` | raised if data cannot be used |

Every data set is loaded in the same way:

    load(split, *, source=None, data_dir=None)

- `source` is a file, your own copy of the data. Without it TensorFlow Datasets downloads the data.
- `data_dir` is the folder in which TensorFlow Datasets stores prepared data.
- Generated data (`tomita`) have neither argument: they are drawn from a `seed` when they are loaded.
- Further options are passed by name: `config`, `seed`.

`tensorflow_datasets` is not imported before a function needs it.
"""

from keras_interp_rnn._alphabet import Alphabet
from keras_interp_rnn._io import DataError
from keras_interp_rnn._outputs import Outputs
from keras_interp_rnn.datasets import text, text8, tomita, words
from keras_interp_rnn.datasets._abbadingo import abbadingo
from keras_interp_rnn.datasets._sessions import sessions
from keras_interp_rnn.datasets.labelled_words import LabelledWords
from keras_interp_rnn.datasets.windows import Windows

__all__ = [
    "Alphabet",
    "DataError",
    "LabelledWords",
    "Outputs",
    "Windows",
    "abbadingo",
    "sessions",
    "text",
    "text8",
    "tomita",
    "words",
]

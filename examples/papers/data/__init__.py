"""The data on which the papers' networks are trained: from your own copy, from a download, or drawn.

| name | contents | a `source` is |
|---|---|---|
| `imdb` | film reviews, positive and negative | `aclImdb_v1.tar.gz`, or the folder aclImdb |
| `mnist` | handwritten digits | a folder with the four idx files |
| `newsgroups20` | posts to 20 newsgroups | `20news-bydate.tar.gz`, or the folder it unpacks to |
| `interactions` | which user met which item, and when: next-item recommendation | a text file, plain, .gz or .xz |
| `mlregtest` | words labelled by regular languages of known classes: a benchmark | the folder, or an archive |
| `balanced_parentheses`, `palindromes` | words labelled by two languages that need memory | drawn from a seed |
| `counting` | brackets of several types, with their nesting depths | drawn from a seed |

The first three are downloaded into Keras's cache if `load` gets no `source`. What is missing or damaged raises
`keras_interp_rnn.datasets.DataError`.
"""

"""Results as text, pages, drawings and tables.

`analysis` and `automata` say what they found as a table (`result.table()`); text for a terminal, HTML for notebooks and
files, SVG, PNG and CSV are drawn from that, so `print(result)` and a notebook cell that ends in `result` show it too.
All names are escaped, and a saved page needs no other file and no network.

| name | what it does |
|---|---|
| `save` | writes a result, a network or a folder of logs into one file |
| `show` | shows a result on the screen |
| `bars` | draws numbers of your own as bars on their tokens |
"""

from keras_interp_rnn.views.bars import bars
from keras_interp_rnn.views.output import save, show

__all__ = ["bars", "save", "show"]

"""Views of results: text for a terminal, HTML for notebooks and files, SVG for drawings.

`analysis` and `automata` compute; this package draws. The class of a result determines its view (`as_text` and
`as_html` of `_results`), so `print(result)` and a notebook cell that ends in `result` show it too. All names are
escaped, and a saved page needs no other file and no network.
"""

from keras_interp_rnn.views.output import save, show

__all__ = ["save", "show"]

"""The page of a network that is right on its test set, next to one that is proved to be an automaton.

The page has the instructions and weights of the first network, as those of `live`, and the table of the automaton with
the text of its certificate. static/proof.js reads with both any word that is typed, one word lengthened step by step,
and searches for words of which they say different things.
"""

from __future__ import annotations

from typing import NamedTuple

import keras

from keras_interp_rnn import automata
from keras_interp_rnn._outputs import class_names
from keras_interp_rnn._results import View
from keras_interp_rnn.views.live import in_instructions, names_in_page, page_of

LEAD = (
    "A test set is a sample; a proof is about every word. Both networks are in this page: type a word, make it longer, "
    "or search for one that fools the network without a proof."
)
FIRST = 20
"""How often the symbol is added to the word with which the page begins."""


class Words(NamedTuple):
    """Words of the page.

    Attributes:
        begin: a word that is lengthened. again: the symbol that is added again and again.
        rule: of the language, in a sentence. tested: how many test words the network is right on. test: which, in a
            sentence. name: of the network, and proved: of the other one, in a few words each.
    """

    begin: str
    again: str
    rule: str
    tested: int
    test: str
    name: str
    proved: str


def against_proof(network: keras.Model, certificate: automata.Certificate, words: Words, title: str) -> View:
    """The page of a network and of a certificate that holds, about words over the same symbols.

    Args:
        network: a model over symbols in one direction, with one output that decides between two classes with names.
        certificate: of another network. words: of the page. title: of the page.
    """
    numbers, alphabet, symbols, outputs = in_instructions(network)
    names, shown = names_in_page(alphabet, symbols)
    table = certificate.dfa
    place = {str(symbol): i for i, symbol in enumerate(table.alphabet)}
    series = {
        **numbers,
        **{"alphabet": names, "shown": shown},
        "network": words.name,
        "rule": words.rule,
        "tested": words.tested,
        "test": words.test,
        "classes": [*class_names(network, None, outputs)],
        "family": [[names.index(symbol) for symbol in words.begin], names.index(words.again)],
        "proved": {
            "name": words.proved,
            "start": table.start,
            "transitions": [
                [row[place[name]] if name in place else state for name in names]
                for state, row in enumerate(table.transitions)
            ],
            "outputs": [bool(output) for output in table.outputs],
            "said": str(certificate).splitlines(),
        },
    }
    return page_of("proof", series, {"word": words.begin + FIRST * words.again}, "", title, LEAD)

r"""Pages that read typed text: each holds the network itself, not its answers about one text.

For a network whose state is affine in the state before, given a symbol, the page holds the initial state, a matrix and
a bias for each symbol (the factors of the matrices of a `FactoredISAN`), and the linear readout. static/live.js
computes with them, in doubles, every term of the sum, and the outputs for the text as it is and with a symbol deleted
or replaced: the numbers of `analysis.contributions` and `analysis.substitutions`, to rounding in float64.

Each array is stored in the shortest float, of 16, 32 or 64 bits, that holds all of its numbers exactly, deflated and in
base64. So nothing is rounded: weights of a preset that is stored in float16 stay float16, weights of a trained Keras
model float32, and matrices computed from the weights of a linear recurrence float64. The 449,435 weights of text-isan
are 0.90 MB of float16, and take 1.11 MB of its page.

Any other network is in the page as lists of instructions (`deploy.instructions`), which static/machine.js runs: its
outputs are computed with each letter, and so are Shapley values, exact for short texts and sampled for others
(static/shapley.js), of the same reference as in `analysis.attribution`.

For a state-regularized network the page holds the table of its automaton and, if the proof succeeds, the certificate
that network and table agree on every word.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import zlib
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import keras
import numpy as np

from keras_interp_rnn import automata
from keras_interp_rnn._checks import is_proved
from keras_interp_rnn._network import resolve_alphabet
from keras_interp_rnn._outputs import output_names, two_classes
from keras_interp_rnn._results import Shown, Table, View, output_name, separator, symbol_name
from keras_interp_rnn._tokens import tokenize
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.weighted.forms import switch_arrays
from keras_interp_rnn.automata.networks import Extraction
from keras_interp_rnn.deploy.instructions import Unwritten, instructions_of

MAX_NUMBERS = 2**24
"""Maximum number of entries of all arrays of a page, which a browser holds unpacked."""
MAX_BYTES = 8 * 2**20
"""Maximum size of all arrays of a page, packed."""
LEADS = {
    "typing": "The network is in this page: type, and it reads.",
    "states": "The automaton of the network's centroids is in this page, in place of the network: type a word, and see "
    "its path. Where it is proved that the network and the automaton agree on every word, the page states it.",
}
"""The sentence above each view."""
TITLE = "A network that reads"
"""The title of the page of a network, whose own name is often an automatic one, such as functional_1."""
TEXTS = ("the network reads", "hello")
"""First texts, the first of which is taken that the alphabet spells."""
FIRST = 8
"""Number of symbols of the first text, if none is given and the alphabet spells none of `TEXTS`."""
KIND = "network"
"""The name, in the page, of the only tag that it shows."""


class TooLarge(ValueError):
    """Raised where the arrays of a network are too large for a page."""


InPage: TypeAlias = tuple[dict[str, Any], Sequence[Hashable] | None, int, int]
"""A network in the form of the page with what is typed, its alphabet, and how many symbols and outputs it has."""


def live_view(
    network: keras.Model,
    name: str = "",
    text: str = "",
    outputs: Sequence[str] = (),
    lines: Sequence[str] = (),
    choices: Sequence[str] = (),
) -> View:
    """The view of a network that reads typed text.

    Args:
        network: a model over symbols.
        name: its name in sentences.
        text: the first text; "" for one that the alphabet spells.
        outputs: names of the outputs, if they are not the symbols.
        lines: sentences about the network.
        choices: names of several answers, each of which has all `outputs`; () if the network gives one answer.

    Raises:
        ValueError: if the network is neither affine in its state nor state-regularized, or is too large.
    """
    if any(hasattr(getattr(part, "cell", None), "centroids") for part in network.layers):
        with contextlib.suppress(ValueError):  # centroids are not all of its state
            return _view_of_automaton(network, text)
    try:
        numbers, alphabet, symbols, answers = _as_sum(network)
    except ValueError as error:
        try:
            numbers, alphabet, symbols, answers = in_instructions(network)
        except ValueError as other:
            too_large = [each for each in (other, error) if isinstance(each, TooLarge)]
            raise (too_large[0] if too_large else _refused(network, other)) from None
    named = output_names(network, None, answers)
    names, shown = names_in_page(alphabet, symbols)
    series = {
        **numbers,
        **{"alphabet": names, "shown": shown},
        "outputs": [*outputs] or [output_name(named or alphabet, i, answers) for i in range(answers)],
        "said": [*lines],
        "choices": [{"name": each, "first": i * len(outputs), "outputs": [*outputs]} for i, each in enumerate(choices)],
    }
    first = text or _first_text([names[i] for i in numbers["typed"]])
    method = {"method": "deleted"} if choices else {}
    return page_of("typing", series, {"word": first, **method}, name, TITLE, LEADS["typing"])


def page_of(
    module: str, series: Mapping[str, object], first: Mapping[str, str], name: str, title: str, lead: str
) -> View:
    """A page that a module of the plugin draws of the numbers of a network; first: the state that it begins with."""
    tag = {"kind": KIND, "series": {**series, "steps": [0]}, "steps": {"0": {}}}
    state = {"place": module, **first}
    data = {"views": {module: [KIND]}, "folders": [], "state": state, "runs": {name: {KIND: tag}}}
    return View(module, data, title, lead)


def names_in_page(alphabet: Sequence[Hashable] | None, symbols: int) -> tuple[list[str], dict[int, str]]:
    """The symbols as they are typed, and the names of those that are shown otherwise."""
    names = [str(i if alphabet is None else alphabet[i]) for i in range(symbols)]
    shown = {i: symbol_name(alphabet, i) for i in range(symbols)}
    return names, {i: name for i, name in shown.items() if name != names[i]}


def _as_sum(network: keras.Model) -> InPage:
    """A network whose state is affine in the state before: its arrays."""
    arrays, alphabet = switch_arrays(network)
    symbols = len(arrays["bias"])
    numbers = {"weights": _weights(network, arrays), **_typed(alphabet, symbols)}
    return numbers, alphabet, symbols, len(arrays["offset"])


def in_instructions(network: keras.Model) -> InPage:
    """Any other network of symbols: its instructions, and the arrays that they read."""
    network, alphabet = resolve_alphabet(network)
    found = instructions_of(network)
    symbols = found.num_symbols
    if alphabet is not None and len(alphabet) != symbols:
        raise ValueError(
            f"An alphabet must name all {symbols} symbols of its network. Received: one of {len(alphabet)}"
        )
    typed = _typed(alphabet, symbols, found.masked)
    if {*found.masked} & {typed["unknown"], *itertools.chain(*typed["frame"])}:
        raise Unwritten("a start, end or unknown symbol that is not masked")
    classes = two_classes(network, None, found.output.size)
    sides = [
        {
            "backwards": side.backwards,
            "step": side.step,
            "states": [row.number for row in side.states],
            "starts": [start.tolist() for start in side.starts],
            "after": [row.number for row in side.after],
        }
        for side in found.sides
    ]
    machine = {
        **{"symbol": found.symbol, "sides": sides, "head": found.head},
        **{
            "output": found.output.number,
            "count": found.count.number,
            "last": found.last.number,
            "width": found.output.size,
        },
        **{"masked": found.masked, "activation": found.activation, "classes": [*classes]},
    }
    arrays = {str(number): array for number, array in found.constants.items()}
    numbers = {"machine": machine, "weights": _weights(network, arrays), **typed}
    return numbers, alphabet, symbols, found.output.size


def _first_text(names: Sequence[str]) -> str:
    """A text to begin with: one of `TEXTS` that the symbols spell, otherwise the first letters or words, or symbols."""
    for text in TEXTS if all(len(name) == 1 for name in names) else ():
        if {*text} <= {*names}:
            return text
    read = [name for name in names if name.isalpha()] or names
    return separator(read).join(read[:FIRST])


def _typed(alphabet: Any, symbols: int, masked: Sequence[int] = ()) -> dict[str, Any]:
    """The ids of the symbols of a typed text and of unknown symbols, and the tokens before and after the text."""
    if alphabet is None:
        return {"typed": [i for i in range(symbols) if i not in masked], "unknown": None, "frame": [[], []]}
    before, after = ([] if token is None else [token] for token in (alphabet.start_id, alphabet.end_id))
    unknown = None if alphabet.unknown is None else int(alphabet.ids_of([alphabet.unknown])[0])
    typed = [i for i in alphabet.ids_of(alphabet.ordinary).tolist() if i not in masked]
    in_words = alphabet.split is tokenize
    return {"typed": typed, "unknown": unknown, "frame": [before, after], "in_words": in_words}


def _view_of_automaton(network: keras.Model, word: str) -> View:
    """The certificate of a network's automaton if it holds, otherwise the extracted automaton."""
    result: Extraction | automata.Certificate = automata.extract(network)
    with contextlib.suppress(ValueError):  # the proof does not cover a layer of the network
        certificate = automata.certify(network, result.dfa)
        result = certificate if is_proved(certificate) else result
    view = result.page_view()
    if view is None:
        raise ValueError(
            f"An automaton must have few enough edges to be drawn. Received: {len(result.machine)} states. Save "
            "automata.extract(network).dfa.minimize() instead."
        )
    data = {**view.data, "state": {**view.data["state"], "word": word}}
    return View(view.name, data, TITLE, LEADS["states"])


def _weights(network: keras.Model, arrays: dict[str, Array]) -> dict[str, dict[str, str]]:
    """The arrays as a page holds them; raises ValueError if they are too large."""
    numbers = sum(array.size for array in arrays.values())
    packed = {} if numbers > MAX_NUMBERS else {name: _packed(array) for name, array in arrays.items()}
    size = sum(len(array["values"]) for array in packed.values())
    if numbers > MAX_NUMBERS or size > MAX_BYTES:
        received = f"{size / 2**20:.1f} MiB" if packed else f"{numbers:,} numbers"
        raise TooLarge(
            f"The weights in a page must take at most {MAX_BYTES // 2**20} MiB, and be at most {MAX_NUMBERS:,} "
            f"numbers. Received: {network.name}, with {received}. Use fewer units or symbols, or layers.FactoredISAN; "
            "or save analysis.contributions, the page of one text."
        )
    return packed


def _packed(array: Array) -> dict[str, str]:
    """An array in the shortest float that is exact, as live.js unpacks it."""
    with np.errstate(over="ignore"):
        forms = (array.astype(dtype) for dtype in ("<f2", "<f4", "<f8"))
        exact = next(form for form in forms if np.array_equal(form, array))
    values = base64.b64encode(zlib.compress(exact.tobytes(), 9)).decode()
    return {"dtype": exact.dtype.str[1:], "values": values}


def _refused(network: keras.Model, error: ValueError) -> ValueError:
    return ValueError(
        "The network of a page that reads typed text must read symbols by cells whose equations are known, and layers "
        f"that read each step, the last one or their mean. Received: {network.name}"
        f"{f', which needs {error}' if isinstance(error, Unwritten) else f'. ({error})'}. Save "
        "analysis.attribution(model, ids, target=...) instead, the page of one text, which takes any model."
    )


class Network(Shown):
    """A Keras model over symbols, as something that is shown: a page that reads what is typed."""

    reads_typing = True

    def __init__(self, model: keras.Model) -> None:
        self.model = model

    def table(self) -> Table:
        """One line, as the model has a `summary`."""
        name, weights = self.model.name, self.model.count_params()
        return Table(f"{name}: {weights:,} weights. views.save(model, 'live.html') makes a page of it.")

    def page_view(self) -> View:
        """The page; raises ValueError as `live_view`."""
        return live_view(self.model)

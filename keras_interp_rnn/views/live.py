r"""Networks as pages that read what anybody types: what travels is the network, not its answers to one text.

Of a network whose state is affine in the one before, given a symbol, the page holds initial state, a matrix and a bias
for each symbol (of a `FactoredISAN` the factors of its matrices), and the linear readout. static/live.js computes with
them, in doubles, every term of the sum, and what the network says of the text as it is and with a symbol deleted or
replaced: the numbers of `analysis.contributions` and `analysis.substitutions`, to rounding in float64.

Each array is stored in the shortest float, of 16, 32 or 64 bits, that holds all of its numbers exactly, deflated and in
base64, so nothing is rounded: weights of a preset that is stored in float16 travel so, those of a trained Keras model
in float32, matrices that a linear recurrence makes of its weights in float64. The 449,435 weights of text-isan are
0.90 MB of float16, and take 1.11 MB of its page.

Of a state-regularized network the page holds the table of its automaton, and the certificate's verdict, if the proof
succeeds, that the network says of every word what the table says.
"""

from __future__ import annotations

import base64
import contextlib
import zlib
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_interp_rnn import automata
from keras_interp_rnn._results import as_html, as_text, output_name, separator, symbol_name
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.weighted.forms import switch_arrays
from keras_interp_rnn.automata.networks import Extraction
from keras_interp_rnn.presets.loading import Preset
from keras_interp_rnn.views import html
from keras_interp_rnn.views.interactive import View, view_of

MAX_NUMBERS = 2**24
"""Of all arrays of a page, which a browser holds unpacked."""
MAX_BYTES = 8 * 2**20
"""Of all arrays of a page, as they travel."""
LEADS = {
    "typing": "The network is in this page: type, and it reads.",
    "states": "The automaton of the network's centroids is in this page, in place of the network: type a word, and see "
    "its path. Where it is proved that the network says of every word what the automaton says, the page says so.",
}
"""View -> what stands above it."""
FIRST = 8
"""Symbols that are typed at first, where no text is given."""
NO_SYMBOL = "\U0010ffff"
"""Of no alphabet: Unicode will never have it."""
KIND = "network"
"""What the page calls the only tag that it shows."""


def live_view(
    network: keras.Model, name: str = "", text: str = "", outputs: Sequence[str] = (), said: Sequence[str] = ()
) -> View:
    """What a page shows of a network.

    Args:
        network: a model over symbols.
        name: in sentences about it. text: what is typed at first; "" for some symbols. said: lines about it.
        outputs: their names, if they are not the symbols.

    Raises:
        ValueError: if the network is neither affine in its state nor state-regularized, or is too large.
    """
    try:
        if any(hasattr(getattr(part, "cell", None), "centroids") for part in network.layers):
            return _view_of_automaton(network, text)
        arrays, alphabet = switch_arrays(network)
    except ValueError as error:
        raise _refused(network, error) from None
    symbols, answers = len(arrays["bias"]), len(arrays["offset"])
    names = [str(i if alphabet is None else alphabet[i]) for i in range(symbols)]
    series = {
        "weights": _weights(network, arrays),
        "alphabet": names,
        "symbols": [symbol_name(alphabet, i) for i in range(symbols)],
        "outputs": [*outputs] or [output_name(alphabet, i, answers) for i in range(answers)],
        **_typed(alphabet, symbols),
        "said": [*said],
        "steps": [0],
    }
    tag = {"kind": KIND, "series": series, "steps": {"0": {}}}
    first = [names[i] for i in series["typed"]]
    state = {"place": "typing", "word": text or separator(first).join(first[:FIRST])}
    data = {"views": {"typing": [KIND]}, "folders": [], "state": state, "runs": {name: {KIND: tag}}}
    return View("typing", data, network.name, LEADS["typing"])


def _typed(alphabet: Any, symbols: int) -> dict[str, Any]:
    """How a typed text is read: the ids of its symbols, that of unknown ones, those before a text and behind it."""
    if alphabet is None:
        return {"typed": [*range(symbols)], "unknown": None, "frame": [[], []]}
    before = [int(i) for i in alphabet.frame if i != alphabet.end]
    behind = [] if alphabet.end is None else [int(alphabet.end)]
    unknown = None
    with contextlib.suppress(ValueError):  # unknown symbols are refused
        unknown = int(alphabet.encode([NO_SYMBOL])[len(before)])
    return {"typed": [int(i) for i in alphabet.symbols], "unknown": unknown, "frame": [before, behind]}


def _view_of_automaton(network: keras.Model, word: str) -> View:
    """The certificate of a network's automaton, if it holds; else the automaton as it is extracted."""
    result: Extraction | automata.Certificate = automata.extract(network)
    with contextlib.suppress(ValueError):  # a layer that the proof does not know
        certificate = automata.certify(network, result.dfa)
        result = certificate if certificate.holds else result
    view = view_of(result)
    if view is None:
        raise ValueError(
            f"An automaton must have few enough edges to be drawn. Received: {len(result.machine)} states."
        )
    data = {**view.data, "state": {**view.data["state"], "word": word}}
    return View(view.name, data, network.name, LEADS["states"])


def _weights(network: keras.Model, arrays: dict[str, Array]) -> dict[str, dict[str, str]]:
    """The arrays as a page holds them; raises ValueError if they are too large."""
    numbers = sum(array.size for array in arrays.values())
    packed = {} if numbers > MAX_NUMBERS else {name: _packed(array) for name, array in arrays.items()}
    size = sum(len(array["values"]) for array in packed.values())
    if numbers > MAX_NUMBERS or size > MAX_BYTES:
        received = f"{size / 2**20:.1f} MiB" if packed else f"{numbers:,} numbers"
        raise ValueError(
            f"The weights in a page must take at most {MAX_BYTES // 2**20} MiB, and be at most {MAX_NUMBERS:,} "
            f"numbers. Received: {network.name}, with {received}. Take fewer units or symbols, or layers.FactoredISAN; "
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
        "A page that reads what is typed must be one of a network over symbols whose state is affine in the one "
        "before, under a linear readout, or of a state-regularized one that its centroids alone make an automaton. "
        f"Received: {network.name}. ({error}) Save analysis.attribution(model, ids, target=...) instead, the page of "
        "one text, which takes any model."
    )


@as_text.register
def network_text(network: keras.Model) -> str:
    """A line: the model has a `summary` of its own."""
    return f"{network.name}: {network.count_params():,} weights. views.save(model, 'live.html') makes a page of it."


@view_of.register
def network_view(network: keras.Model) -> View:
    """A network that reads what is typed."""
    return live_view(network)


@view_of.register
def preset_view(preset: Preset) -> View | None:
    """A preset that reads what is typed; None of one that cannot, or whose outputs are not one choice."""
    begins = preset.card.settings.get("page")
    if not begins:
        return None
    view = live_view(preset.model, preset.name, begins["text"], begins["outputs"], as_text(preset).splitlines()[1:])
    return view._replace(title=preset.name, lead=f"{preset.card.what} {view.lead}")


as_html.register(keras.Model, html.framed)

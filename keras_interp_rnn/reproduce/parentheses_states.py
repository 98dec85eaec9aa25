"""Figure 5 of Wang, Lawrence and Niepert, 2022: what hidden state and memory have of the count of parentheses."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from keras_interp_rnn.reproduce import _languages, _records
from keras_interp_rnn.reproduce._experiment import Claim, Finding, Record, Run, below, runs, table

if TYPE_CHECKING:
    import keras
    from numpy.typing import NDArray

    from keras_interp_rnn.datasets import LabelledWords

TEXT = "((a)b(()c)(d(e))" * 3 + ")" * 3

COUNTED = "test_d10_l200"
"""The set of the strings along which the count is read off."""

STRINGS = 200
"""The largest number of them."""

FITTED = 100
"""Symbols of long strings to which a reading of the count is fitted, as many as the longest training strings have."""

TELLS = 0.9
"""The least share of the count's variance that a state has to explain, to tell the count."""


class ParenthesesStates(_languages.LanguageExperiment):
    """States of an LSTM and of an SR-LSTM-P that check parentheses."""

    name = "parentheses-states"
    title = "Where the count is"
    place = "Wang, Lawrence and Niepert 2022, figure 5"
    former_name = "parentheses_states"
    language = "balanced_parentheses"
    tests = ("test_d5_l200", "test_d10_l200", "test_d20_l1000")
    rows = {
        "large_near": {"config": "large_near", "passes": 1, "centroids": 5},
        "large_paper": {"config": "large_paper", "centroids": 5, **_languages.PAPER},
    }

    def run(self, run: Run) -> Record:
        import numpy as np

        from keras_interp_rnn import analysis, datasets, figures

        words, protocol, tests = self.load(run), self.protocol(run), self.tests_of(run)
        settings = {**dataclasses.asdict(protocol), "seed": run.seed}
        environment = _records.start_run(run.folder, {**settings, "data": self.identity(run)})
        probe = datasets.LabelledWords((TEXT,), np.array([True]), words("train").alphabet)
        result = {}
        for network in ("LSTM", "SR-LSTM-P")[run.smoke :]:
            folder = run.folder / network
            model, _ = _languages.train(
                network, words("train"), words("validation"), protocol, run.seed, folder, run.verbose
            )
            traced = analysis.trace(model, probe.ids(start=protocol.start_token, end=True))
            states = {name: traced[name][:, int(protocol.start_token) : -1] for name in "hc"}
            result[network] = {
                "errors": {test: _languages.error(model, words(test), protocol.start_token) for test in tests},
                "drift": {name: float(analysis.relative_drift(of_name)[0]) for name, of_name in states.items()},
                **count_in_states(model, words(tests[0] if run.smoke else COUNTED), protocol.start_token),
                "drift_of_count": drift_of_count(model, words(tests[-1]), protocol.start_token),
            }
            shown = {"hidden state h": states["h"][0], "memory c": states["c"][0]}
            figures.state_paths(shown, TEXT).savefig(run.folder / f"figure5-{network}.png", dpi=150)
        return {
            "environment": environment,
            "data": self.identity(run),
            "protocol": {**settings, "tests": list(tests)},
            "result": result,
        }

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        # A network that has not learned to count has no count to be read off.
        record = min(records, key=_rank)
        own, other = (record["result"].get(network, {}) for network in ("SR-LSTM-P", "LSTM"))
        drifts = tuple(
            below(own.get("drift", {}).get(name), other.get("drift", {}).get(name), lambda value: f"{value:.1f}")
            for name in "hc"
        )
        visited = own.get("visited")
        return [
            Claim(
                "section 5.2, figure 5",
                "An SR-LSTM-P has two hidden states and counts in its memory; an LSTM counts in its hidden state.",
                f"of the seed with the fewest errors at depth 10: along {STRINGS} strings it is at two centroids for "
                f"99 % of the steps; its memory, and the LSTM's hidden state, explain {TELLS:.0%} of the "
                "count's variance",
                (
                    Finding("", None) if visited is None else Finding(f"{visited} centroids", visited == 2),
                    _tells(own, "c"),
                    _tells(other, "h"),
                ),
            ),
            Claim(
                "figure 5",
                "States of an LSTM drift, those of an SR-LSTM-P do not.",
                "of that seed: the hidden state of the SR-LSTM-P drifts less; its memory does",
                drifts,
            ),
        ]

    def summary(self, record: Record) -> str:
        drifts = (
            f"{network}: drift of h {of_network['drift']['h']:.1f}, of c {of_network['drift']['c']:.1f}"
            for network, of_network in record["result"].items()
        )
        return "; ".join(drifts)

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        return {
            "table": _table(records),
            "runs": runs(records, lambda record: f"{record['data']['config']}, seed {record['protocol']['seed']}"),
        }


def count_in_states(model: keras.Model, words: LabelledWords, start_token: bool) -> dict[str, Any]:
    """What the states along strings of the language have of the number of open brackets.

    Args:
        model, start_token: as in `_languages`. words: of which the first `STRINGS` strings in the language are read.

    Returns:
        count: "h" and "c" -> the share of the count's variance that an affine function of the state explains, fitted to
        every other string and measured on the rest. visited: the number of centroids, in the order of their shares,
        that take 99 % of the steps; of networks that have them.
    """
    import numpy as np

    traced, counts = _along(model, words, start_token)
    fitted, held_out = slice(0, None, 2), slice(1, None, 2)
    found: dict[str, Any] = {"count": {}}
    for name in "hc":
        read = _fitted(np.concatenate(traced[name][fitted]), np.concatenate(counts[fitted]))
        wanted = np.concatenate(counts[held_out])
        residual = read(np.concatenate(traced[name][held_out])) - wanted
        found["count"][name] = float(1 - (residual**2).mean() / wanted.var())
    if "alpha" in traced:
        nearest = np.concatenate(traced["alpha"]).argmax(axis=1)
        shares = np.sort(np.bincount(nearest) / len(nearest))[::-1].cumsum()
        found["visited"] = int(np.searchsorted(shares, 0.99) + 1)
    return found


def drift_of_count(model: keras.Model, words: LabelledWords, start_token: bool) -> float:
    """How many brackets too many a hundred further symbols add to the count in the memory c.

    The count is an affine function of c, fitted to the first `FITTED` symbols of each string; the drift is the slope of
    its error over all of them. Arguments as `count_in_states`.
    """
    import numpy as np

    traced, counts = _along(model, words, start_token)
    memories = traced["c"]
    read = _fitted(*(np.concatenate([along[:FITTED] for along in part]) for part in (memories, counts)))
    errors = np.concatenate([read(c) - count for c, count in zip(memories, counts, strict=True)])
    places = np.concatenate([np.arange(len(count)) for count in counts])
    return float(100 * np.polyfit(places, errors, 1)[0])


def _along(
    model: keras.Model, words: LabelledWords, start_token: bool
) -> tuple[dict[str, list[NDArray[Any]]], list[NDArray[Any]]]:
    """Traced quantities, and the count, after each symbol of the first `STRINGS` strings in the language."""
    import numpy as np

    from keras_interp_rnn import analysis, datasets

    inside = [word for word, label in zip(words.words, words.labels, strict=True) if label][:STRINGS]
    chosen = datasets.LabelledWords(tuple(inside), np.ones(len(inside), bool), words.alphabet)
    traced = analysis.trace(model, chosen.ids(start=start_token, end=True))
    first, steps = int(start_token), {"(": 1, ")": -1}
    along = {
        name: [traced[name][i, first : first + len(word)].astype(np.float64) for i, word in enumerate(inside)]
        for name in ("h", "c", "alpha")
        if name in traced
    }
    return along, [np.cumsum([steps.get(symbol, 0) for symbol in word]) for word in inside]


def _fitted(x: NDArray[Any], y: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """The affine function of the rows of x that is closest to y."""
    import numpy as np

    origin = x.mean(axis=0)
    weights, *_ = np.linalg.lstsq(x - origin, y - y.mean(), rcond=None)
    return lambda new: y.mean() + (new - origin) @ weights


def _tells(of_network: dict[str, Any], name: str) -> Finding:
    """Whether a state tells the count."""
    if "count" not in of_network:
        return Finding("", None)
    share = of_network["count"][name]
    return Finding(f"{name} explains {share:.0%}", share >= TELLS)


def _rank(record: Record) -> tuple[bool, float]:
    """Sorts strings as the paper's before others, and networks by their errors on the strings that are counted."""
    errors = record["result"].get("SR-LSTM-P", {}).get("errors", {})
    return not str(record["data"]["config"]).endswith("paper"), errors.get(COUNTED, math.inf)


def _table(records: Sequence[Record]) -> str:
    """A line for each network of each record."""
    tried = {test for record in records for test in record["protocol"]["tests"]}
    tests = [test for test in ParenthesesStates.tests if test in tried]
    rows = [
        [
            *(record["data"]["config"], record["protocol"]["seed"], network),
            *(f"{of_network['errors'][test]:.1%}" if test in of_network["errors"] else None for test in tests),
            *(f"{of_network['count'][name]:.0%}" if "count" in of_network else None for name in "hc"),
            of_network.get("visited"),
            f"{of_network['drift_of_count']:+.1f}" if "drift_of_count" in of_network else None,
            *(f"{of_network['drift'][name]:.1f}" for name in "hc"),
        ]
        for record in records
        for network, of_network in record["result"].items()
    ]
    header = ["count in h", "count in c", "centroids for 99 % of the steps", "drift of the count", "of h", "of c"]
    return table(["words", "seed", "network", *map(_languages.shown, tests), *header], rows)

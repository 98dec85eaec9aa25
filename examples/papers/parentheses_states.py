"""Figure 5 of Wang, Lawrence and Niepert, 2022: what hidden state and memory have of the count of parentheses."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from examples.papers import _languages, _records
from examples.papers._experiment import Claim, Finding, Record, Run, grouped, runs, table
from examples.papers._lazy import Array, analysis, datasets, drawings, figures, keras, np
from examples.papers._verdicts import above

if TYPE_CHECKING:
    Along = tuple[Mapping[str, list[Array]], list[Array]]
    """Name of a traced quantity -> its values after each symbol of some strings; and the counts there."""

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
    name = "parentheses-states"
    title = "Where the count is"
    place = "Wang, Lawrence and Niepert 2022, figure 5"
    language = "balanced_parentheses"
    tests = ("test_d5_l200", "test_d10_l200", "test_d20_l1000")
    run_name = "{data[config]}, seed {protocol[seed]}"
    rows = {
        "large_near": {"config": "large_near", "passes": 1, "centroids": 5},
        "large_paper": {"config": "large_paper", "centroids": 5, **_languages.PAPER},
    }

    def run(self, run: Run) -> Record:
        words, protocol, tests = self.load(run), self.protocol(run), self.tests_of(run)
        settings, token = {**dataclasses.asdict(protocol), "seed": run.seed}, protocol.start_token
        environment = _records.start_run(run.folder, {**settings, "data": self.identity(run)})
        probe = datasets.LabelledWords((TEXT,), np.array([True]), words("train").alphabet)
        result = {}
        for network in ("LSTM", "SR-LSTM-P")[run.smoke :]:
            folder, both = run.folder / network, (words("train"), words("validation"))
            model, _ = _languages.train(network, *both, protocol, run.seed, folder, run.verbose)
            traced = analysis.trace(model, probe.ids(start=token, end=True))
            states = {name: traced[name][:, int(token) : -1] for name in "hc"}
            counted = states_along(model, words(tests[0] if run.smoke else COUNTED), token)
            deepest = states_along(model, words(tests[-1]), token)
            result[network] = {
                "errors": {test: _languages.error(model, words(test), token) for test in tests},
                "drift": {name: drift(of_name[0]) for name, of_name in states.items()},
                **count_in_states(*counted),
                "drift_of_count": drift_of_count(*deepest),
                "counts_read": counts_read(counted, deepest),
                "rejected": rejected(model, words(tests[-1]), token),
            }
            shown = {"hidden state h": states["h"][0], "memory c": states["c"][0]}
            drawings.state_paths(shown, TEXT).savefig(run.folder / f"figure5-{network}.png", dpi=150)
        protocol_of_record = {**settings, "tests": list(tests)}
        data = self.identity(run)
        return {"environment": environment, "data": data, "protocol": protocol_of_record, "result": result}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        by_words = grouped(records, lambda record: not _languages.is_of_the_paper(record))
        results = [record["result"] for record in next(iter(by_words.values()))]
        own, other = ([result.get(network, {}) for result in results] for network in ("SR-LSTM-P", "LSTM"))

        def tells(of_networks: Sequence[Record], name: str) -> Finding:
            explained = [of["count"][name] for of in of_networks if "count" in of]
            return above(explained, TELLS, "{:.0%}".format, f"{name} explains")

        def drifts(name: str) -> Finding:
            ours, others = ([of["drift"][name] for of in each if "drift" in of] for each in (own, other))
            if not (ours and others):
                return Finding()
            medians = statistics.median(ours), statistics.median(others)
            figure = f"{name}: {medians[0]:.1f} against {medians[1]:.1f} (medians of {len(ours)} seeds)"
            return Finding(figure, medians[0] < medians[1] if len(ours) > 2 else None)

        visited = [of["visited"] for of in own if "visited" in of]
        two = f"{', '.join(map(str, sorted(visited)))} centroids" * bool(visited)
        return [
            self.claim(
                "count",
                f"along {STRINGS} strings the median network is at two centroids for 99 % of the steps; its memory, "
                f"and the LSTM's hidden state, explain more than {TELLS:.0%} of the count's variance",
                Finding(two, statistics.median(visited) == 2 if len(visited) > 2 else None),
                tells(own, "c"),
                tells(other, "h"),
                evidence="the LSTM counts in its memory too, in three of three seeds",
            ),
            self.claim(
                "drift",
                "the hidden state of the SR-LSTM-P drifts less in the median; so does its memory",
                drifts("h"),
                drifts("c"),
                picture="parentheses-SR-LSTM-P.png",
            ),
        ]

    def pictures(self, records: Sequence[Record]) -> dict[str, figures.Figure]:
        """The count that the memory has, by the true one, of strings as the paper's."""
        read = {
            f"{network}, seed {record['protocol']['seed']}": of_network["counts_read"]
            for network in ("LSTM", "SR-LSTM-P")
            for record in records
            if _languages.is_of_the_paper(record) and "counts_read" in (of_network := record["result"].get(network, {}))
        }
        return {"parentheses-counts.png": drawings.counts_read(read)} if read else {}

    def summary(self, record: Record) -> str:
        drifts = {network: of_network["drift"] for network, of_network in record["result"].items()}
        return "; ".join(f"{network}: drift of h {of['h']:.1f}, of c {of['c']:.1f}" for network, of in drifts.items())

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        """A line for each network of each record."""
        tried = {test for record in records for test in record["protocol"]["tests"]}
        tests = [test for test in self.tests if test in tried]
        rows: list[list[object]] = []
        for record in records:
            for network, of in record["result"].items():
                errors, count, read = (of.get(name, {}) for name in ("errors", "count", "counts_read"))
                rows.append(
                    [
                        *(record["data"]["config"], record["protocol"]["seed"], network),
                        *(_shown(errors.get(test), ".1%") for test in tests),
                        *(_shown(count.get(name), ".0%") for name in "hc"),
                        of.get("visited"),
                        _shown(of.get("drift_of_count"), "+.1f"),
                        *(_shown(of["drift"][name], ".1f") for name in "hc"),
                        _shown(read[-1] if read else None, ".1f"),
                        _shown(of.get("rejected"), ".0%"),
                    ]
                )
        header = ["words", "seed", "network", *map(_languages.shown, tests), "count in h", "count in c"]
        header += ["centroids for 99 % of the steps", "drift of the count", "of h", "of c", "20 brackets read as"]
        return {"table": table([*header, "balanced ones rejected"], rows), "runs": runs(records, self.called)}


def _shown(value: float | None, form: str) -> str | None:
    return None if value is None else format(value, form)


def drift(states: Array) -> float:
    """The distance between the mean states of the first and the last quarter, in units of the mean step; (time, n).

    It is about 0 for states that return, and up to 3 T / 4 for states that move in one direction.
    """
    states, quarter = states.astype(np.float64), len(states) // 4
    distance = np.linalg.norm(states[-quarter:].mean(axis=0) - states[:quarter].mean(axis=0))
    step = np.linalg.norm(np.diff(states, axis=0), axis=1).mean()
    return float(distance / step) if step else 0.0


def states_along(model: keras.Model, words: datasets.LabelledWords, start_token: bool) -> Along:
    """States after each symbol of the first `STRINGS` strings in the language, and the numbers of open brackets.

    Args:
        model, start_token: as in `_languages`.
    """
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


def count_in_states(traced: Mapping[str, list[Array]], counts: list[Array]) -> dict[str, Any]:
    """How well the states along strings determine the number of open brackets.

    Args:
        traced, counts: as from `states_along`.

    Returns:
        count: "h" and "c" -> the share of the count's variance that an affine function of the state explains, fitted to
        every other string and measured on the rest. visited: the number of centroids, in the order of their shares,
        that take 99 % of the steps; of networks that have them.
    """
    fitted, held_out = slice(0, None, 2), slice(1, None, 2)
    found: dict[str, Any] = {"count": {}}
    for name in "hc":
        read = _fitted(np.concatenate(traced[name][fitted]), np.concatenate(counts[fitted]))
        true = np.concatenate(counts[held_out])
        residual = read(np.concatenate(traced[name][held_out])) - true
        found["count"][name] = float(1 - (residual**2).mean() / true.var())
    if "alpha" in traced:
        nearest = np.concatenate(traced["alpha"]).argmax(axis=1)
        shares = np.sort(np.bincount(nearest) / len(nearest))[::-1].cumsum()
        found["visited"] = int(np.searchsorted(shares, 0.99) + 1)
    return found


def drift_of_count(traced: Mapping[str, list[Array]], counts: list[Array]) -> float:
    """How many brackets too many a hundred further symbols add to the count in the memory c.

    The count is an affine function of c, fitted to the first `FITTED` symbols of each string; the drift is the slope of
    its error over all of them. Arguments as `count_in_states`.
    """
    memories = traced["c"]
    read = _fitted(*(np.concatenate([along[:FITTED] for along in part]) for part in (memories, counts)))
    errors = np.concatenate([read(c) - count for c, count in zip(memories, counts, strict=True)])
    places = np.concatenate([np.arange(len(count)) for count in counts])
    return float(100 * np.polyfit(places, errors, 1)[0])


def counts_read(fitted: Along, deepest: Along) -> list[float]:
    """The count that is read off the memory c, in the mean, at 0, 1, 2, ... open brackets.

    Args:
        fitted: states and counts to which an affine function of c is fitted. deepest: those on which it is read.
    """
    (shallow, known), (deep, true) = fitted, deepest
    read = _fitted(np.concatenate(shallow["c"]), np.concatenate(known))
    values, counts = read(np.concatenate(deep["c"])), np.concatenate(true)
    return [float(values[counts == count].mean()) for count in range(int(counts.max()) + 1)]


def rejected(model: keras.Model, words: datasets.LabelledWords, start_token: bool) -> float:
    """The share of the words in the language that a network rejects. Arguments as `states_along`."""
    return float(np.mean(_languages.predict(model, words, start_token)[words.labels] <= 0))


def _fitted(x: Array, y: Array) -> Callable[[Array], Array]:
    """The affine function of the rows of x that is closest to y."""
    origin = x.mean(axis=0)
    weights, *_ = np.linalg.lstsq(x - origin, y - y.mean(), rcond=None)
    return lambda new: y.mean() + (new - origin) @ weights

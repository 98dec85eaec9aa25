"""Figure 5 of Wang, Lawrence and Niepert, 2022: hidden state and memory along one string of parentheses."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from keras_interp_rnn.reproduce import _languages, _records
from keras_interp_rnn.reproduce._experiment import Claim, Finding, Record, Run, below, runs, table

TEXT = "((a)b(()c)(d(e))" * 3 + ")" * 3


class ParenthesesStates(_languages.LanguageExperiment):
    """States of an LSTM and of an SR-LSTM-P that check parentheses."""

    name = "parentheses-states"
    title = "Where the count is"
    place = "Wang, Lawrence and Niepert 2022, figure 5"
    former_name = "parentheses_states"
    language = "balanced_parentheses"
    tests = ("test_d5_l200", "test_d10_l200", "test_d20_l1000")
    rows = {"large_near": {"config": "large_near", "passes": 1, "centroids": 5}}

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
            traced = analysis.trace(model, probe.ids(end=True))
            states = {name: traced[name][:, :-1] for name in "hc"}
            result[network] = {
                "errors": {test: _languages.error(model, words(test)) for test in tests},
                "drift": {name: float(analysis.relative_drift(of_name)[0]) for name, of_name in states.items()},
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
        drift = {network: of["drift"] for network, of in records[-1]["result"].items()}
        own, other = drift.get("SR-LSTM-P", {}), drift.get("LSTM", {})
        drifts = tuple(below(own.get(name), other.get(name), lambda value: f"{value:.1f}") for name in "hc")
        return [
            Claim(
                "section 5.2, figure 5",
                "An SR-LSTM-P has two hidden states and counts in its memory; an LSTM counts in its hidden state.",
                "measured along many strings",
                (Finding("drawn along one string", None),),
            ),
            Claim(
                "figure 5",
                "States of an LSTM drift, those of an SR-LSTM-P do not.",
                "the hidden state of the SR-LSTM-P drifts less; its memory does",
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
            "tables": "\n\n".join(map(_table, records)),
            "runs": runs(records, lambda record: record["data"]["config"]),
        }


def _table(record: Record) -> str:
    tests = record["protocol"]["tests"]
    rows = [
        [
            *(record["data"]["config"], network, *(f"{of_network['errors'][test]:.1%}" for test in tests)),
            *(f"{of_network['drift'][name]:.1f}" for name in "hc"),
        ]
        for network, of_network in record["result"].items()
    ]
    return table(["words", "network", *map(_languages.shown, tests), "drift of h", "drift of c"], rows)

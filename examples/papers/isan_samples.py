"""Samples of an ISAN after "annual reve" at several inverse temperatures (Foerster et al., 2017, section 3.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from examples.papers import _isan_text
from examples.papers._experiment import Claim, Finding, Record, Run, percent
from examples.papers._lazy import Array, analysis, datasets, keras

OFTEN = 3
"""A word of the samples is known if the training text has it this often."""


class Samples(_isan_text.IsanText):
    name = "isan-samples"
    title = "Samples"
    place = "Foerster et al. 2017, section 3.1"
    measure = "share of known words"
    rows = {"": {"prompt": "annual reve", "inverse_temperatures": (1.0, 1.5, 2.0), "symbols": 240, "samples": 10}}
    small = {"symbols": 20, "samples": 2}
    header = "text | inverse temperature | known words | the first sample"

    def analyse(self, model: keras.Model, parts: Sequence[Array], run: Run) -> tuple[Record, Record]:
        text, settings = datasets.text, self.settings(run)
        known = Counter(text.decode(parts[0]).split())
        results = []
        for beta in settings["inverse_temperatures"]:
            written = [
                analysis.generate(
                    model,
                    f" {settings['prompt']}",
                    num_symbols=settings["symbols"],
                    inverse_temperature=beta,
                    seed=run.seed * settings["samples"] + i,
                    alphabet=text.ALPHABET,
                ).strip()
                for i in range(settings["samples"])
            ]
            # Neither the last word, which the end cuts off, nor those of the prompt before its unfinished word.
            begun = len(settings["prompt"].split()) - 1
            words = [word for sample in written for word in sample.split()[begun:-1]]
            share = sum(known[word] >= OFTEN for word in words) / max(len(words), 1)
            results.append({"inverse_temperature": beta, "known": share, "words": len(words), "samples": written})
        return {**settings, "inverse_temperatures": list(settings["inverse_temperatures"])}, {"by_temperature": results}

    def lines_of(self, record: Record) -> list[list[object]]:
        name = record["data"]["name"]
        return [
            [name, f"{one['inverse_temperature']:g}", f"{one['known']:.1%} of {one['words']:,}", one["samples"][0]]
            for one in record["result"]["by_temperature"]
        ]

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        samples = [one for record in records for one in record["result"]["by_temperature"]]
        return [
            self.claim(
                "coherent",
                "at each, at least 95 % of the words occur in the training text three times or more",
                *(
                    Finding(f"{percent(one['known'])} at {one['inverse_temperature']:g}", one["known"] >= 0.95)
                    for one in samples
                    if one["inverse_temperature"] > 1
                ),
            )
        ]

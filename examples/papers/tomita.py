"""Section 5.1 and figure 4 of Wang, Lawrence and Niepert, 2022: automata of Tomita's languages."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from examples.papers import _languages
from examples.papers._experiment import (
    UNTRIED,
    Claim,
    Experiment,
    Finding,
    Record,
    Run,
    grouped,
    runs,
    table,
)


class Tomita(Experiment):
    """Networks that are trained into automata; a row is the number of a language."""

    name = "tomita"
    title = "Tomita's languages"
    place = "Wang, Lawrence and Niepert 2022, section 5.1"
    measure = "automata that are right, and certified"
    rows = {str(language): {"longest": 10, "attempts": 4} for language in range(1, 8)}

    def run(self, run: Run) -> Record:
        from keras_interp_rnn import automata

        settings, num_long = dict(run.settings), 200
        if run.smoke:
            settings, num_long = {"longest": 3, "attempts": 1}, 2
        truth = automata.tomita(int(run.row))
        words = _languages.short_words(truth, settings["longest"])
        model = automata.train_recognizer(
            words.words,
            words.labels,
            alphabet="01",
            num_attempts=settings["attempts"],
            seed=run.seed,
            verbose=min(run.verbose, 1),
            time_budget=None,
            method="training",
        )
        assert model.report is not None
        model.save(run.folder / "model.keras")
        extraction = automata.extract(model)
        smallest = extraction.dfa.minimize()
        (run.folder / "centroids.svg").write_text(extraction.dfa.to_svg([str(c) for c in extraction.centroids]))
        (run.folder / "automaton.svg").write_text(smallest.to_svg())
        certificate = automata.certify(model, truth)
        fidelity = extraction.fidelity(
            num_random=num_long,
            max_length=30 if run.smoke else 1000,
            num_searched=10 * num_long,
            seed=run.seed,
        )
        return {
            "data": {
                "name": f"Tomita {run.row}",
                "longest": settings["longest"],
                "words": len(words),
                "positives": words.positives,
            },
            "protocol": settings,
            "model": {"layer": "SRGRU", "seed": run.seed, "parameters": model.count_params()},
            "result": {
                "exact": smallest == truth,
                "states": len(smallest),
                "centroids": len(extraction.dfa),
                "certified": certificate.holds,
                "temperature": certificate.temperature,
                "epsilon": certificate.epsilon,
                "largest_temperature": automata.largest_temperature(model, truth) if certificate.holds else 0.0,
                "long_words": fidelity.long.words,
                "long_agreeing": fidelity.long.agreeing,
                "searched_words": fidelity.searched.words,
                "searched_agreeing": fidelity.searched.agreeing,
                "attempts": model.report.num_attempts,
                "seconds": model.report.seconds,
            },
        }

    def summary(self, record: Record) -> str:
        result = record["result"]
        exact = "the language's automaton" if result["exact"] else "another automaton"
        certified = "certified" if result["certified"] else "not certified"
        return f"{exact}, {result['states']} states, {certified}, {result['seconds']:.0f} s"

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        languages = grouped(records, lambda record: record["data"]["name"])
        header = "language | seeds | exact | certified | random long words right | temperature | attempts"
        return {
            "table": table(
                [*header.split(" | "), "median seconds"],
                [_row(language, [record["result"] for record in group]) for language, group in languages.items()],
            ),
            "runs": runs([group[0] for group in languages.values()], lambda record: record["data"]["name"]),
        }

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        learned = [record for record in records if record["data"]["name"][-1] in "12347"]

        def every(name: str, is_so: Sequence[bool]) -> Finding:
            return Finding(f"{sum(is_so)} of {len(is_so)} {name}", all(is_so)) if is_so else UNTRIED[0]

        results = [record["result"] for record in learned]
        fewest = [result["centroids"] == result["states"] for result in results]
        return [
            Claim(
                "section 5.1, figure 4",
                "The minimal automata of Tomita's languages 1 to 4 and 7 are read off trained networks.",
                "for every seed",
                (every("networks", [result["exact"] for result in results]),),
            ),
            Claim(
                "theorem 4.2",
                "As the temperature goes to 0, a network without memory behaves like its automaton.",
                "proved for every word, at the temperature of deployment, for every language and seed",
                (every("networks", [record["result"]["certified"] for record in records]),),
            ),
            Claim(
                "section 5.1",
                "A network uses as many centroids as the minimal automaton has states, even if it has more.",
                "for every seed with twelve centroids",
                (every("networks", fewest),),
            ),
        ]


def _row(language: str, results: Sequence[Record]) -> list[object]:
    ratios = [result["largest_temperature"] / result["temperature"] for result in results if result["certified"]]
    return [
        *(language, len(results), *(sum(result[name] for result in results) for name in ("exact", "certified"))),
        " of ".join(str(sum(result[name] for result in results)) for name in ("long_agreeing", "long_words")),
        f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "",
        f"{max(result['attempts'] for result in results)} at most",
        f"{statistics.median(result['seconds'] for result in results):.0f}",
    ]

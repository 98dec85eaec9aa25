"""Section 5.1 and figure 4 of Wang, Lawrence and Niepert, 2022: automata of Tomita's languages."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from examples.papers import _languages
from examples.papers._experiment import Claim, Experiment, Record, Run, grouped, runs, table
from examples.papers._lazy import automata
from examples.papers._verdicts import share


class Tomita(Experiment):
    """Networks that are trained into automata; a row is the number of a language."""

    name = "tomita"
    title = "Tomita's languages"
    place = "Wang, Lawrence and Niepert 2022, section 5.1"
    measure = "automata that are right, and certified"
    rows = {str(language): {"longest": 10, "attempts": 4} for language in range(1, 8)}
    small = {"longest": 3, "attempts": 1}
    run_name = "{data[name]}"

    def run(self, run: Run) -> Record:
        settings = self.settings(run)
        num_long, max_length = (2, 30) if run.smoke else (200, 1000)
        truth = automata.tomita(int(run.row))
        words = _languages.short_words(truth, settings["longest"])
        model = automata.train_recognizer(
            words.words,
            words.labels,
            alphabet="01",
            num_attempts=settings["attempts"],
            seed=run.seed,
            verbose=min(run.verbose, 1),
        )
        assert model.report is not None
        model.save(run.folder / "model.keras")
        extraction = automata.extract(model)
        smallest = extraction.dfa.minimize()
        (run.folder / "centroids.svg").write_text(extraction.dfa.to_svg([str(c) for c in extraction.centroids]))
        (run.folder / "automaton.svg").write_text(smallest.to_svg())
        certificate = automata.certify(model, truth)
        fidelity = extraction.fidelity(
            num_random=num_long, max_length=max_length, num_searched=10 * num_long, seed=run.seed
        )
        read = {"longest": settings["longest"], "words": len(words), "positives": words.positives}
        return {
            "data": {"name": f"Tomita {run.row}", **read},
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
        languages = grouped(records, self.called)
        rows = [_row(language, [record["result"] for record in group]) for language, group in languages.items()]
        header = "language | seeds | exact | certified | random long words right | temperature | attempts"
        first = [group[0] for group in languages.values()]
        return {"table": table(f"{header} | median seconds", rows), "runs": runs(first, self.called)}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        results = [record["result"] for record in records if record["data"]["name"][-1] in "12347"]
        return [
            self.claim(
                "minimal",
                "in more than four of five networks, trained by the recipe of this package",
                *share([result["exact"] for result in results], 0.8),
                picture="tomita-3.svg",
            ),
            self.claim(
                "certified",
                "proved for every word, at the temperature of deployment, for more than four of five networks",
                *share([record["result"]["certified"] for record in records], 0.8),
            ),
            self.claim(
                "centroids",
                "with twelve centroids, in more than half of the networks; and in more than four of five",
                *share([result["centroids"] == result["states"] for result in results], 0.5, 0.8),
                decides="more seeds",
            ),
        ]


def _row(language: str, results: Sequence[Record]) -> list[object]:
    def total(name: str) -> int:
        return sum(result[name] for result in results)

    ratios = [result["largest_temperature"] / result["temperature"] for result in results if result["certified"]]
    right = f"{total('long_agreeing')} of {total('long_words')}"
    temperature = f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""
    attempts = f"{max(result['attempts'] for result in results)} at most"
    seconds = f"{statistics.median(result['seconds'] for result in results):.0f}"
    return [language, len(results), total("exact"), total("certified"), right, temperature, attempts, seconds]

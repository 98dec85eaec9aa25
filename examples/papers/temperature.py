"""Figure 3 of Wang, Lawrence and Niepert, 2022: one network at several temperatures."""

from __future__ import annotations

from collections.abc import Sequence

from examples.papers import _languages
from examples.papers._experiment import Claim, Experiment, Finding, Record, Run, percent
from examples.papers._lazy import analysis, automata, datasets, drawings, np


class Temperature(Experiment):
    name = "temperature"
    title = "One network at several temperatures"
    place = "Wang, Lawrence and Niepert 2022, figure 3"
    measure = "words that are classified correctly"
    rows = {"1": {"word": "10", "longest": 10, "centroids": 10, "temperatures": [0.1, 0.5, 1.0, 2.0, 5.0, 10.0]}}
    small = {"longest": 3, "centroids": 4, "temperatures": [0.5, 1.0, 5.0]}
    run_name = "{data[name]}"
    header = "language | seed | temperature | least sure | automaton exact | words right | proved"

    def run(self, run: Run) -> Record:
        settings = self.settings(run)
        word, longest = settings["word"], settings["longest"]
        truth = automata.tomita(int(run.row))
        words = _languages.short_words(truth, longest)
        model = automata.train_recognizer(
            words.words,
            words.labels,
            alphabet="01",
            num_centroids=settings["centroids"],
            num_attempts=1 if run.smoke else 4,
            seed=run.seed,
            verbose=min(run.verbose, 1),
        )
        rng = np.random.default_rng(run.seed)
        tried = ["".join(rng.choice(["0", "1"], n)) for n in rng.integers(1, 2 * longest + 1, 500)]
        labels = np.array([truth.accepts(one) for one in tried])
        ids = datasets.LabelledWords((word,), np.array([truth.accepts(word)]), "01").ids(start=True)
        cell = model.get_layer("recurrent").cell
        trained = float(cell.current_temperature())
        alphas, rows = {}, []
        for temperature in settings["temperatures"]:
            cell.set_temperature(temperature)
            alphas[temperature] = analysis.transition_probabilities(model, ids)[0]
            extraction = automata.extract(model)
            rows.append(
                {
                    "temperature": temperature,
                    "least": min(float(extraction.confidence.min()), extraction.start_confidence),
                    "exact": extraction.dfa.equivalent(truth),
                    "right": float(np.mean(model.classify(tried) == labels)),
                    "certified": automata.certify(model, truth).holds,
                }
            )
        cell.set_temperature(trained)
        model.save(run.folder / "model.keras")
        drawings.temperatures(alphas, ["S", *word]).savefig(run.folder / "figure3.png", dpi=150)
        extraction = automata.extract(model)
        (run.folder / "automaton.svg").write_text(extraction.dfa.to_svg([str(c) for c in extraction.centroids]))
        largest = automata.largest_temperature(model, truth)
        return {
            "data": {"name": f"Tomita {run.row}", "longest": longest, "word": word},
            "protocol": {"longest": longest, "centroids": settings["centroids"]},
            "model": {"layer": "SRGRU", "seed": run.seed, "parameters": model.count_params()},
            "result": {"temperatures": rows, "trained": trained, "largest": largest},
        }

    def lines_of(self, record: Record) -> list[list[object]]:
        rows: list[list[object]] = []
        for row in record["result"]["temperatures"]:
            own = [record["data"]["name"], record["model"]["seed"], f"{row['temperature']:g}", f"{row['least']:.4f}"]
            exact, proved = ("yes" if row[name] else "no" for name in ("exact", "certified"))
            rows.append([*own, exact, f"{row['right']:.1%}", proved])
        return rows

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        rows = [row for record in records for row in record["result"]["temperatures"] if row["temperature"] <= 1]
        least, exact = min(row["least"] for row in rows), sum(row["exact"] for row in rows)
        return [
            self.claim(
                "up to 1",
                "its automaton is the right one, and no transition of it is less probable than 99 %",
                Finding(f"the right one at {exact} of {len(rows)} temperatures", exact == len(rows)),
                Finding(percent(least), least >= 0.99),
                picture="temperature.png",
            )
        ]

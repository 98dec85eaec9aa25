"""Figure 8 of Foerster et al., 2017: how much of an ISAN is an n-gram model?"""

from __future__ import annotations

from collections.abc import Sequence

from examples.papers import _isan_text
from examples.papers._experiment import Claim, Finding, Record, Run, claim, table
from examples.papers._lazy import Array, analysis, datasets, drawings, keras, ngrams, np


class Ngrams(_isan_text.IsanText):
    """An ISAN beside the n-grams of its text."""

    name = "isan-ngrams"
    title = "n-grams"
    place = "Foerster et al. 2017, figure 8"
    measure = "correlations with the counts, and bits per character"
    rows = {"": {"order": 5, "symbols": 20_000}}
    header = "text | origin | unigrams | bigrams, mean | unigrams with the bigrams, mean | letters with better bigrams"

    def analyse(self, model: keras.Model, parts: Sequence[Array], run: Run) -> tuple[Record, Record]:
        train, _, test = parts
        settings = {"order": 3, "symbols": 1000} if run.smoke else run.settings
        alphabet = datasets.text.ALPHABET
        by_origin = {}
        for name, origin in _isan_text.origins(model, train).items():
            agreement = ngrams.ngram_agreement(model, train, origin=origin)
            picture = run.folder / f"figure8-{name.replace(' ', '-')}.png"
            drawings.ngram_agreement(agreement, alphabet).savefig(picture, dpi=120)
            by_origin[name] = {
                "unigram_correlation": agreement.unigram_correlation,
                "bigram_correlation": float(np.nanmean(agreement.bigram_correlations)),
                "unigram_baseline": float(np.nanmean(agreement.unigram_baseline)),
                "better": int(np.nansum(agreement.bigram_correlations > agreement.unigram_baseline)),
            }
        start = test[: settings["symbols"]]
        bits = {
            f"{order}-gram": analysis.BackoffModel(train, order, vocabulary_size=len(alphabet)).bits(start)
            for order in range(1, settings["order"] + 1)
        }
        bits["ISAN"] = analysis.timescales(model, start, max_age=0).whole
        result = {**by_origin["as trained"], "from_mean_state": by_origin["mean state"], "bits": bits}
        return dict(settings), result

    def summary(self, record: Record) -> str:
        each = (f"{name} {bits:.3f}" for name, bits in record["result"]["bits"].items())
        return f"{', '.join(each)} bits per character"

    def lines(self, records: Sequence[Record]) -> list[list[object]]:
        names = ("unigram_correlation", "bigram_correlation", "unigram_baseline")
        return [
            [record["data"]["name"], origin, *(f"{one[name]:.2f}" for name in names), f"{one['better']} of 27"]
            for record in records
            for origin, one in (
                ("as trained", record["result"]),
                ("mean state", record["result"].get("from_mean_state")),
            )
            if one
        ]

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        names = sorted({name for record in records for name in record["result"]["bits"]})
        rows = []
        for record in records:
            bits = record["result"]["bits"]
            cells = [f"{bits[name]:.3f}" if name in bits else None for name in names]
            rows.append([record["data"]["name"], f"{record['protocol']['symbols']:,}", *cells])
        return {**super().fields(records), "bits": table(["text", "characters read", *names], rows)}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        trained, result = records[-1]["result"], records[-1]["result"].get("from_mean_state")
        unigrams: list[Finding] = []
        bigrams: list[Finding] = []
        if result:
            r = result["unigram_correlation"]
            figure = f"{r:.2f} (as trained {trained['unigram_correlation']:.2f})"
            unigrams = [Finding(figure, r >= 0.5), Finding(f"{r:.2f}", r >= 0.9)]
            own, baseline, better = (result[n] for n in ("bigram_correlation", "unigram_baseline", "better"))
            closer = Finding(f"{better} of 27 letters", better > 27 / 2)
            bigrams = [Finding(f"{own:.2f} against {baseline:.2f}", own > baseline), closer]
        return [
            claim(
                "section 3.6, figure 8a",
                "The readout's bias gives the unigram probabilities.",
                "with the origin at the mean state, a correlation of at least 0.5; of at least 0.9",
                *unigrams,
            ),
            claim(
                "figures 8b, 8c",
                "The readout of the biases predicts bigrams better than unigram probabilities do.",
                "with that origin, a higher correlation in the mean; and after most letters",
                *bigrams,
            ),
        ]

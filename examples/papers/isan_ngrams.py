"""Figure 8 of Foerster et al., 2017: how much of an ISAN is an n-gram model?"""

from __future__ import annotations

from collections.abc import Sequence

from examples.papers import _isan_text
from examples.papers._experiment import Claim, Finding, Record, Run, table
from examples.papers._lazy import Array, analysis, datasets, drawings, keras, ngrams, np
from examples.papers._verdicts import share


class Ngrams(_isan_text.IsanText):
    name = "isan-ngrams"
    title = "n-grams"
    place = "Foerster et al. 2017, figure 8"
    measure = "correlations with the counts, and bits per character"
    rows = {"": {"order": 5, "symbols": 20_000}}
    small = {"order": 3, "symbols": 1000}
    header = "text | origin | unigrams | bigrams, mean | unigrams with the bigrams, mean | letters with better bigrams"

    def analyse(self, model: keras.Model, parts: Sequence[Array], run: Run) -> tuple[Record, Record]:
        train, _, test = parts
        settings = self.settings(run)
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
        return settings, result

    def lines_of(self, record: Record) -> list[list[object]]:
        names = ("unigram_correlation", "bigram_correlation", "unigram_baseline")
        result = record["result"]
        return [
            [record["data"]["name"], origin, *(f"{one[name]:.2f}" for name in names), f"{one['better']} of 27"]
            for origin, one in (("as trained", result), ("mean state", result["from_mean_state"]))
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
        trained = records[-1]["result"]
        result = trained["from_mean_state"]
        r, own, baseline, better = (
            result[name] for name in ("unigram_correlation", "bigram_correlation", "unigram_baseline", "better")
        )
        figure = f"{r:.2f} with the origin at the mean state, {trained['unigram_correlation']:.2f} as trained"
        return [
            self.claim(
                "unigrams",
                "correlated with them at all: above 0.49, which random vectors of 27 letters exceed in 1 % of "
                "cases; they are its value: above 0.9",
                Finding(figure, min(r, trained["unigram_correlation"]) >= 0.49),
                Finding(
                    "the mean logits give a geometric mean, not the unigrams" if r < 0.9 else f"{r:.2f}",
                    r >= 0.9 or None,
                ),
                decides="nothing, as from the mean state the bias is the mean of the logits, whose softmax is a "
                "geometric mean, and from another origin anything ([origin](notes/origin.md))",
            ),
            self.claim(
                "bigrams",
                "with the origin at the mean state, a higher correlation in the mean; and after most letters",
                Finding(f"{own:.2f} against {baseline:.2f}", own > baseline),
                *share([*[True] * better, *[False] * (27 - better)], 0.5, of="letters"),
            ),
        ]

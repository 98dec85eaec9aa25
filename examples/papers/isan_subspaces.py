"""Figures 6 and 7 of Foerster et al., 2017: biases of letters in the readout subspace, and in the rest."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from examples.papers import _isan_text
from examples.papers._experiment import Claim, Finding, Record, Run, claim, table
from examples.papers._lazy import Array, analysis, datasets, drawings, keras, np

ALIGNMENT = "alignment_with_space"
PARTS = ("whole bias", "readout subspace", "computational subspace")


class Subspaces(_isan_text.IsanText):
    """Norms of the biases of an ISAN, and angles between them, by subspace."""

    name = "isan-subspaces"
    title = "Subspaces"
    place = "Foerster et al. 2017, figures 6 and 7"
    measure = "correlations of norms, and cosines"
    header = "text | origin | part | norm with log p | cosine within vowels | within consonants | across"

    def analyse(self, model: keras.Model, parts: Sequence[Array], run: Run) -> tuple[Record, Record]:
        alphabet = datasets.text.ALPHABET
        size = len(alphabet)
        log_p = np.log(np.maximum(np.bincount(parts[0], minlength=size), 1) / len(parts[0]))
        vowels = [alphabet.index(letter) for letter in "aeiou"]
        consonants = [i for i in range(1, size) if i not in vowels]
        different = ~np.eye(size, dtype=bool)
        by_origin: dict[str, list[dict[str, Any]]] = {}
        for name, origin in _isan_text.origins(model, parts[0]).items():
            file = f"{name.replace(' ', '-')}.png"
            norms, cosines = analysis.bias_norms(model, origin=origin), analysis.bias_cosines(model, origin=origin)
            drawings.bias_norms(norms, log_p, names=alphabet).savefig(run.folder / f"figure6-{file}", dpi=120)
            drawings.bias_cosines(cosines, alphabet).savefig(run.folder / f"figure7-{file}", dpi=120)
            by_origin[name] = rows = []
            for part, norm, cosine in zip(PARTS, norms, cosines, strict=True):
                pairs = ((vowels, vowels), (consonants, consonants), (vowels, consonants))
                means = [float(cosine[np.ix_(a, b)][different[np.ix_(a, b)]].mean()) for a, b in pairs]
                correlation = drawings.norm_correlation(norm, log_p, norms.whole.max())
                rows.append({"part": part, "correlation": correlation, "cosines": means})
        spectra = analysis.transition_spectra(model)
        return {}, {
            "parts": by_origin["as trained"],
            "parts_from_mean_state": by_origin["mean state"],
            "largest_singular_values": spectra.values[:, 0].tolist(),
            "radius": spectra.radius.tolist(),
            ALIGNMENT: spectra.alignment[:, 0].tolist(),
        }

    def summary(self, record: Record) -> str:
        rows = record["result"]["parts"]
        return "norm with log p: " + ", ".join(f"{row['part']} {row['correlation']:+.2f}" for row in rows)

    def lines(self, records: Sequence[Record]) -> list[list[object]]:
        return [
            [record["data"]["name"], origin, row["part"], *(f"{c:+.2f}" for c in (row["correlation"], *row["cosines"]))]
            for record in records
            for origin, parts in (("as trained", "parts"), ("mean state", "parts_from_mean_state"))
            for row in record["result"].get(parts, ())
        ]

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        rows = []
        for record in records:
            (space, *letters), alignment = (record["result"][key] for key in ("largest_singular_values", ALIGNMENT))
            numbers = (space, min(letters), max(letters), statistics.mean(alignment), max(alignment))
            rows.append([record["data"]["name"], *(f"{number:.2f}" for number in numbers)])
        header = "text | space | least letter | greatest letter | alignment, mean | alignment, greatest"
        return {**super().fields(records), "spectra": table(header, rows)}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        result = records[-1]["result"]
        trained = {row["part"]: row["correlation"] for row in result["parts"]}
        centred = {row["part"]: row for row in result.get("parts_from_mean_state", ())}
        whole, readout, rest = PARTS

        def correlated(part: str, is_strong: bool) -> Finding:
            if not centred:
                return Finding()
            of_mean = centred[part]["correlation"]
            figure = f"{part} {of_mean:+.2f} (as trained {trained[part]:+.2f})"
            return Finding(figure, (abs(of_mean) >= 0.6) == is_strong)

        def blocks(part: str, has_blocks: bool) -> Finding:
            if not centred:
                return Finding()
            vowels, consonants, across = centred[part]["cosines"]
            figure = f"{part} {vowels:+.2f} and {consonants:+.2f}, across {across:+.2f}"
            return Finding(figure, (min(vowels, consonants) - across >= 0.3) == has_blocks)

        spectra, alignment = result["largest_singular_values"], statistics.mean(result[ALIGNMENT])
        return [
            claim(
                "section 3.5, figure 6",
                "The norms of the biases follow the log probability of the letters, but only in the computational "
                "subspace.",
                "with the origin at the mean state, absolute correlations of at least 0.6 for the whole biases and for "
                "their part in that subspace, and a smaller one in the readout subspace",
                correlated(whole, True),
                correlated(rest, True),
                correlated(readout, False),
            ),
            claim(
                "figure 7",
                "Biases of vowels and of consonants form two blocks, but only in the readout subspace.",
                "with that origin, mean cosines within both are at least 0.3 above those across, there and not in the "
                "rest",
                blocks(readout, True),
                blocks(rest, False),
                picture="isan-7.png",
            ),
            claim(
                "version 1, section 4.4",
                "Of the largest singular values the space's is the smallest, and the direction that a matrix stretches "
                "most predicts a space.",
                "it is the smallest; the mean cosine with the space's readout is at least 0.5",
                Finding(f"{spectra[0]:.2f} against {min(spectra[1:]):.2f}", spectra[0] < min(spectra[1:])),
                Finding(f"{alignment:.2f}", alignment >= 0.5),
            ),
        ]

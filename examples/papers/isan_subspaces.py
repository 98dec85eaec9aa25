"""Figures 6 and 7 of Foerster et al., 2017, and the singular values of its version 1, in two systems of coordinates.

Norms, angles and singular values belong to the coordinates of the states, which no output of an ISAN determines. They
are taken in the coordinates that training left, from two origins, and in balanced ones, which the outputs determine.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from examples.papers import _isan_text
from examples.papers._experiment import Claim, Finding, Record, Run, table
from examples.papers._lazy import Array, analysis, datasets, drawings, keras, np

PARTS = ("whole bias", "readout subspace", "computational subspace")

SPECTRA = ("largest_singular_values", "alignment_with_space")

ROUNDING = 1e-12
"""The fraction of a bias up to which a part of it counts as rounding."""

TRAINED, CENTRED, BALANCED = COORDINATES = "as trained", "from the mean state", "balanced"


class Subspaces(_isan_text.IsanText):
    name = "isan-subspaces"
    title = "Subspaces"
    place = "Foerster et al. 2017, figures 6 and 7"
    measure = "correlations of norms, cosines, and singular values"
    header = "text | coordinates | part | norm with log p | cosine within vowels | within consonants | across"

    def analyse(self, model: keras.Model, parts: Sequence[Array], run: Run) -> tuple[Record, Record]:
        texts = _isan_text.texts(parts[0])
        basis = analysis.balanced_basis(model, sequences=texts)
        balanced = analysis.change_basis(model, basis)
        mean = analysis.mean_state(model, texts)
        networks = {TRAINED: [model], CENTRED: [model, None, mean], BALANCED: [*balanced]}
        readings = {name: self._read(name, parts[0], run, *network) for name, network in networks.items()}
        return {}, {"readings": readings, "residual_of_balanced": balanced.residual}

    def _read(
        self, name: str, text: Array, run: Run, network: Any, readout: Any = None, origin: Array | None = None
    ) -> dict[str, Any]:
        """The figures in one system of coordinates, which are drawn too."""
        alphabet = datasets.text.ALPHABET
        size = len(alphabet)
        log_p = np.log(np.maximum(np.bincount(text, minlength=size), 1) / len(text))
        vowels = [alphabet.index(letter) for letter in "aeiou"]
        consonants = [i for i in range(1, size) if i not in vowels]
        different = ~np.eye(size, dtype=bool)
        norms = analysis.bias_norms(network, readout, origin=origin)
        cosines = bias_cosines(network, readout, origin)
        file = f"{name.replace(' ', '-')}.png"
        drawings.bias_norms(norms, log_p, names=alphabet).savefig(run.folder / f"figure6-{file}", dpi=120)
        drawings.bias_cosines(cosines, alphabet).savefig(run.folder / f"figure7-{file}", dpi=120)
        rows = []
        for part, norm, cosine in zip(PARTS, norms, cosines, strict=True):
            pairs = ((vowels, vowels), (consonants, consonants), (vowels, consonants))
            means = [float(cosine[np.ix_(a, b)][different[np.ix_(a, b)]].mean()) for a, b in pairs]
            correlation = drawings.norm_correlation(norm, log_p, norms.whole.max())
            rows.append({"part": part, "correlation": correlation, "cosines": means})
        spectra = analysis.transition_spectra(network, readout)
        greatest = (of[:, 0].tolist() for of in (spectra.values, spectra.alignment))
        return {"parts": rows, **dict(zip(SPECTRA, greatest, strict=True))}

    def lines_of(self, record: Record) -> list[list[object]]:
        return [
            [record["data"]["name"], name, row["part"], *(f"{c:+.2f}" for c in (row["correlation"], *row["cosines"]))]
            for name, reading in _ordered(record)
            for row in reading["parts"]
        ]

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        rows = []
        for record in records:
            for name, reading in _ordered(record):
                if name != CENTRED:  # as trained: a shift changes no matrix
                    (space, *letters), alignment = map(reading.get, SPECTRA)
                    numbers = (space, min(letters), max(letters), statistics.mean(alignment), max(alignment))
                    rows.append([record["data"]["name"], name, *(f"{number:.2f}" for number in numbers)])
        header = "text | coordinates | space | least letter | greatest letter | alignment, mean | alignment, greatest"
        return {**super().fields(records), "spectra": table(header, rows)}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        readings = records[-1]["result"]["readings"]
        whole, readout, rest = PARTS

        def correlated(name: str) -> Finding:
            of = {row["part"]: row["correlation"] for row in readings[name]["parts"]}
            holds = min(abs(of[whole]), abs(of[rest])) >= 0.6 > abs(of[readout])
            return Finding(f"{name}: {of[whole]:+.2f}, {of[rest]:+.2f}, {of[readout]:+.2f}", holds)

        def blocks(name: str) -> Finding:
            gaps = {row["part"]: min(row["cosines"][:2]) - row["cosines"][2] for row in readings[name]["parts"]}
            holds = gaps[readout] >= 0.3 > gaps[rest]
            return Finding(f"{name}: {gaps[readout]:+.2f}, {gaps[rest]:+.2f}", holds)

        def smallest(name: str) -> Finding:
            space, *letters = readings[name]["largest_singular_values"]
            return Finding(f"{name}: {space:.2f} against {min(letters):.2f}", space < min(letters))

        def aligned(name: str) -> Finding:
            alignment = statistics.mean(readings[name]["alignment_with_space"])
            return Finding(f"{name}: alignment {alignment:.2f}", alignment >= 0.5)

        coordinates = "the coordinates, which no output determines ([origin](notes/origin.md))"
        return [
            self.claim(
                "norms",
                "absolute correlations of at least 0.6 for the whole biases and in that subspace, below 0.6 in "
                "the readout subspace; in the coordinates of the training, with the origin at the mean state, and"
                " in balanced ones",
                *map(correlated, COORDINATES),
                evidence=coordinates,
            ),
            self.claim(
                "blocks",
                "mean cosines within both are at least 0.3 above those across, there and not in the rest; in the "
                "same three systems of coordinates",
                *map(blocks, COORDINATES),
                evidence=coordinates,
                picture="isan-7.png",
            ),
            self.claim(
                "singular values",
                "it is the smallest, as trained and in balanced coordinates; in both the mean cosine with the "
                "space's readout is at least 0.5",
                *map(smallest, (TRAINED, BALANCED)),
                *map(aligned, (TRAINED, BALANCED)),
                evidence=coordinates,
            ),
        ]


def bias_cosines(network: Any, readout: Any, origin: Array | None) -> list[Array]:
    """Cosines (K, K) between the biases of symbols, and of their parts in the two subspaces; 0 if a vector is 0."""
    maps = analysis.homogeneous_matrices(network)
    kernel, bias = maps[:, :-1, :-1], maps[:, -1, :-1]
    if origin is not None:
        bias = origin @ kernel + bias - origin
    basis = analysis.readout_basis(network, readout, rank_tolerance=ROUNDING)
    directions = basis.to.matrix[:, : basis.num_readout]
    seen = bias @ directions @ directions.T
    cosines, whole = [], np.linalg.norm(bias, axis=1, keepdims=True)
    for part in (bias, seen, bias - seen):
        lengths = np.linalg.norm(part, axis=1, keepdims=True)
        units = np.where(lengths > ROUNDING * whole, part / np.where(lengths > 0, lengths, 1.0), 0.0)
        cosines.append(units @ units.T)
    return cosines


def _ordered(record: Record) -> list[tuple[str, Any]]:
    """The readings of a record, whose keys are sorted where it is kept."""
    return [(name, record["result"]["readings"][name]) for name in COORDINATES]

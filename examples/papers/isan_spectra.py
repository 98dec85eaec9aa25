"""Figure 1 of Foerster et al., 2017: the variance of states along their principal directions, in several networks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from examples.papers import _isan_text, _records
from examples.papers._experiment import Claim, Finding, Record, Run
from examples.papers._lazy import Array, analysis, datasets, drawings, figures, keras, np

FRACTIONS = (0.5, 0.9, 0.99)
"""Fractions of the variance."""

BALANCED, OTHERS = "ISAN in balanced coordinates", "others"


class Spectra(_isan_text.IsanText):
    name = "isan-spectra"
    title = "Principal directions of the states"
    place = "Foerster et al. 2017, figure 1"
    measure = "directions that explain 50, 90 and 99 % of the variance of the states"
    rows = {"": {"units": [128, 256], "steps": 1500, "windows": 12}}
    small = {"units": [12], "steps": 10, "windows": 4}
    header = "text | network | 50 % | 90 % | 99 %"

    def analyse(self, model: keras.Model, parts: Sequence[Array], run: Run) -> tuple[Record, Record]:
        settings = self.settings(run)
        networks = {"ISAN": model}
        for kind in ("SimpleRNN", "GRU"):
            for units in settings["units"]:
                networks[f"{kind}-{units}"] = self._trained(kind, units, parts, settings, run)
        states = {name: _states(network, parts[1], settings["windows"]) for name, network in networks.items()}
        basis = analysis.balanced_basis(model, sequences=_isan_text.texts(parts[0]))
        states[BALANCED] = basis.to.apply(states["ISAN"])
        found = []
        for name, of_one in states.items():
            spectrum = analysis.state_spectrum(of_one)
            directions = [int(np.searchsorted(np.cumsum(spectrum), fraction) + 1) for fraction in FRACTIONS]
            own = {"network": f"{name.partition('-')[0]}, {len(spectrum)} units", "units": len(spectrum)}
            found.append({**own, "directions": directions, "spectrum": spectrum.tolist()})
        for name, figure in _figures(found).items():
            figure.savefig(run.folder / name, dpi=120)
        return settings, {"networks": found}

    def _trained(
        self, kind: str, units: int, parts: Sequence[Array], settings: Mapping[str, Any], run: Run
    ) -> keras.Model:
        """A network of another kind, trained for the number of steps in the settings."""
        run = dataclasses.replace(run, folder=run.folder / f"{kind}-{units}", settings=settings)
        _records.start_run(run.folder, {"steps": settings["steps"], "seed": run.seed, **self.identity(run)})
        make = getattr(keras.layers, kind)
        return _isan_text.train(lambda: make(units, return_sequences=True, stateful=True), parts, run)

    def lines_of(self, record: Record) -> list[list[object]]:
        return [
            [record["data"]["name"], row["network"], *(f"{n} ({n / row['units']:.0%})" for n in row["directions"])]
            for row in record["result"]["networks"]
        ]

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        shares = _flatness(records)
        names = {"trained": "ISAN", "balanced": BALANCED, "others": OTHERS}
        shown = {name: f"{shares[key]:.0%}" if key in shares else "not measured" for name, key in names.items()}
        return {**super().fields(records), **shown}

    def pictures(self, records: Sequence[Record]) -> dict[str, figures.Figure]:
        """Figure 1, in the coordinates of the training and in balanced ones; none of a record without spectra."""
        networks = records[-1]["result"]["networks"]
        return _figures(networks) if all("spectrum" in row for row in networks) else {}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        shares = _flatness(records)

        def flatter(network: str) -> Finding:
            share, most = shares.get(network), shares[OTHERS]
            if share is None:
                return Finding()
            return Finding(f"{network}: {share:.0%} against at most {most:.0%}", share > most)

        return [
            self.claim(
                "flatter",
                "90 % of the variance takes a larger share of the directions than in each of them, in the "
                "coordinates of the training; and in balanced ones",
                flatter("ISAN"),
                flatter(BALANCED),
                evidence="the coordinates, which no output determines ([origin](notes/origin.md))",
                decides="the same in balanced coordinates",
            )
        ]


def _flatness(records: Sequence[Record]) -> dict[str, float]:
    """The share of the directions that 90 % of the variance takes, of ISANs; and the largest one of the others."""
    shares: dict[str, float] = {OTHERS: 0.0}
    for row in records[-1]["result"]["networks"]:
        name, share = row["network"].partition(", ")[0], row["directions"][FRACTIONS.index(0.9)] / row["units"]
        if name.startswith("ISAN"):
            shares[name] = share
        else:
            shares[OTHERS] = max(shares[OTHERS], share)
    return shares


def _figures(networks: Sequence[Mapping[str, Any]]) -> dict[str, figures.Figure]:
    """File name -> the spectra, with that of the ISAN in the coordinates of the training, and in balanced ones."""
    spectra = {row["network"]: row["spectrum"] for row in networks}
    trained, balanced = (name for name in spectra if name.startswith("ISAN"))
    others = {name: spectrum for name, spectrum in spectra.items() if name not in (trained, balanced)}
    return {
        file: drawings.state_spectra({name: spectra[name], **others})
        for file, name in (("isan-1.png", trained), ("isan-1-balanced.png", balanced))
    }


def _states(model: keras.Model, symbols: Array, windows: int) -> Array:
    """States of the recurrent layer along a text, read as in training, without its first quarter."""
    recurrent = next(layer for layer in model.layers if hasattr(layer, "cell"))
    reader = keras.Model(model.inputs[0], recurrent.output)
    recurrent.reset_state()
    batch, length = model.input_shape
    if batch is None:  # it carries no state from window to window: one long window
        batch, length, windows = _isan_text.BATCH, windows * _isan_text.LENGTH, 1
    text = datasets.Windows(symbols, batch, length=length)
    read = [np.asarray(reader(text[i][0], training=False)) for i in range(min(windows, len(text)))]
    states = np.concatenate(read, axis=1)
    return states[:, states.shape[1] // 4 :].reshape(-1, states.shape[-1])

"""Figure 1 of Foerster et al., 2017: the variance of states along their principal directions, beside other networks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from examples.papers import _isan_text, _records
from examples.papers._experiment import Claim, Finding, Record, Run, claim
from examples.papers._lazy import Array, analysis, datasets, figures, keras, np

FRACTIONS = (0.5, 0.9, 0.99)
"""Of the variance."""

BALANCED = "ISAN in balanced coordinates"


class Spectra(_isan_text.IsanText):
    """Principal directions of the states of an ISAN, of vanilla RNNs and of GRUs."""

    name = "isan-spectra"
    title = "Principal directions of the states"
    place = "Foerster et al. 2017, figure 1"
    measure = "directions that explain 50, 90 and 99 % of the variance of the states"
    rows = {"": {"units": [128, 256], "steps": 1500, "windows": 12}}
    header = "text | network | 50 % | 90 % | 99 %"

    def analyse(self, model: keras.Model, parts: Sequence[Array], run: Run) -> tuple[Record, Record]:
        settings: Mapping[str, Any] = run.settings
        if run.smoke:
            settings = {"units": [12], "steps": 10, "windows": 4}
        networks = {"ISAN": model}
        for kind in ("SimpleRNN", "GRU"):
            for units in settings["units"]:
                networks[f"{kind}-{units}"] = self._trained(kind, units, parts, settings, run)
        states = {name: _states(network, parts[1], settings["windows"]) for name, network in networks.items()}
        basis = analysis.balanced_basis(model, sequences=_isan_text.texts(parts[0]))
        states[BALANCED] = basis.to.apply(states["ISAN"])
        spectra = {
            f"{name.partition('-')[0]}, {of_one.shape[1]} units": analysis.state_spectrum(of_one)
            for name, of_one in states.items()
        }
        figures.state_spectra(spectra).savefig(run.folder / "figure1.png", dpi=120)
        found = []
        for name, shares in spectra.items():
            directions = [int(np.searchsorted(np.cumsum(shares), fraction) + 1) for fraction in FRACTIONS]
            found.append({"network": name, "directions": directions, "units": len(shares)})
        return dict(settings), {"networks": found}

    def _trained(
        self, kind: str, units: int, parts: Sequence[Array], settings: Mapping[str, Any], run: Run
    ) -> keras.Model:
        """A network of another kind, trained for the number of steps in the settings."""
        run = dataclasses.replace(run, folder=run.folder / f"{kind}-{units}", settings=settings)
        _records.start_run(run.folder, {"steps": settings["steps"], "seed": run.seed, **self.identity(run)})
        make = getattr(keras.layers, kind)
        return _isan_text.train(lambda: make(units, return_sequences=True, stateful=True), parts, run)

    def summary(self, record: Record) -> str:
        return "; ".join(f"{row['network']}: {row['directions']} directions" for row in record["result"]["networks"])

    def lines(self, records: Sequence[Record]) -> list[list[object]]:
        return [
            [record["data"]["name"], row["network"], *(f"{n} ({n / row['units']:.0%})" for n in row["directions"])]
            for record in records
            for row in record["result"]["networks"]
        ]

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        shares = {
            row["network"].partition(", ")[0]: row["directions"][FRACTIONS.index(0.9)] / row["units"]
            for record in records
            for row in sorted(record["result"]["networks"], key=lambda row: row["directions"][1] / row["units"])
        }
        most = max(share for network, share in shares.items() if not network.startswith("ISAN"))

        def flatter(network: str) -> Finding:
            share = shares.get(network)
            if share is None:
                return Finding()
            return Finding(f"{network}: {share:.0%} against at most {most:.0%}", share > most)

        return [
            claim(
                "figure 1",
                "The spectrum of the states is flatter than those of vanilla RNNs and GRUs of several sizes.",
                "The eigenvalue spectra, in log of variance explained, was significantly flatter for the ISAN than the "
                "other architectures. (3.1)",
                "90 % of the variance takes a larger share of the directions than in each of them, in the coordinates "
                "of the training; and in balanced ones",
                flatter("ISAN"),
                flatter(BALANCED),
                evidence="the coordinates, which no output determines ([origin](notes/origin.md))",
                decides="the same in balanced coordinates",
            )
        ]


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

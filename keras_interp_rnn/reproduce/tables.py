"""The papers' tables as data: which networks are trained on what, by which protocol.

Every row is a run for each seed; what a table does not say, its protocol's defaults do. `experiments.py` says how the
rows of each are run, `cli.py` runs them. Without Keras, so that the list of what there is comes at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from keras_interp_rnn.reproduce import networks, papers


@dataclasses.dataclass(frozen=True)
class Table:
    """How a table or figure of a paper is repeated; what the paper has there, `papers.ENTRIES` says.

    Attributes:
        data: what `--data` is given, and what is downloaded without it.
        rows: name -> settings of the protocol.
        minutes: of training that a row is given by default; None for the protocol's epochs.
        records: the experiment its records name, where that is not the table.
    """

    data: str
    rows: Mapping[str, Mapping[str, Any]]
    minutes: float | None = None
    records: str | None = None


BASELINE = {"batch": 64, "clip": 1.0, "validation": 64, "warm_up": 100}
"""Of the networks that are so much slower than the ISAN that they see little text: smaller batches, more steps."""

SEARCHED: dict[str, dict[str, Any]] = {
    "RNN": {"learning_rate": 1.55, "clip": 0.01, "scale": 0.25, "batch": 32},
    "IRNN": {"learning_rate": 1.6, "clip": 1.7, "scale": 0.53},
    "GRU": {"learning_rate": 5.5, "clip": 0.08, "scale": 1.1, "batch": 64},
    "LSTM": {"learning_rate": 10.0, "clip": 0.03, "scale": 0.5, "batch": 32},
}
"""The best settings of the searches, as the report's section on them shows them, but for the decay: to a hundredth, for
they are trained longer. With the identity itself the state of an IRNN, carried from window to window, grows without
bound."""

_TEXT = "text8: a file with it (.zip, .xz, .gz or plain), or any other text; else it is downloaded"

_TEXT8 = {
    f"{network}-{size}": {"network": network, "size": size}
    | ({"validation": 16} if network == "ISAN" else BASELINE)
    | SEARCHED.get(network, {})
    for size in ("8e4", "3.2e5", "1.28e6")
    for network in networks.CHARACTERS
}


def _sr(network: str, centroids: int, transition: str = "mixture", temperature: float = 1.0) -> dict[str, Any]:
    return {"network": network, "centroids": centroids, "transition": transition, "temperature": temperature}


def _alike(rows: Mapping[str, Mapping[str, Any]], **settings: Any) -> dict[str, dict[str, Any]]:
    """Rows with the settings that all of them have."""
    return {name: {**settings, **row} for name, row in rows.items()}


def _with_memory(centroids: int, plain: Mapping[str, Any], regularized: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The LSTMs of the paper's tables 4 and 5, with the settings of those without and of those with centroids."""
    return {
        "LSTM": {"network": "LSTM", **plain},
        "LSTM-P": {"network": "LSTM-P", **plain},
        f"SR-LSTM (k = {centroids})": {**_sr("SR-LSTM", centroids), **regularized},
        f"SR-LSTM-P (k = {centroids}, eq. 17)": {**_sr("SR-LSTM-P", centroids, "soft_argmax"), **regularized},
        f"SR-LSTM-P (k = {centroids}, eq. 19)": {**_sr("SR-LSTM-P", centroids, "gumbel"), **regularized},
        f"SR-LSTM-P (k = {centroids}, eq. 20)": {**_sr("SR-LSTM-P", centroids), **regularized},
        "SR-LSTM-P (k = 50)": {**_sr("SR-LSTM-P", 50), **regularized},
    }


_WORDS: dict[str, Any] = {"units": 64, "embedding": 64}
"""Of networks that read words."""


_LSTM_REVIEWS = {
    "learning_rate": 0.0118,
    "decay": 0.1,
    "clip": 8.7,
    "dropout": 0.094,
    "word_dropout": 0.126,
    "batch": 64,
}

_SR_REVIEWS = {
    "temperature": 1.04,
    "learning_rate": 5.8e-3,
    "decay": 0.1,
    "clip": 3.0,
    "dropout": 0.14,
    "word_dropout": 0.0064,
    "batch": 32,
}
"""Of networks on reviews, which have four passes: of trials of two passes the second best for the LSTM, better than the
best after four, and the third, with dropout, for the SR-LSTM-P (k = 10, eq. 20)."""


_WITHOUT_MEMORY = {
    "head": "last",
    "learning_rate": 6e-4,
    "clip": 0.19,
    "dropout": 0.09,
    "word_dropout": 0.086,
    "epochs": 6,
}
"""Of networks on reviews without a cell state, with those settings of the best trial for the SR-GRU."""


_SR_POSTS = {
    **_sr("SR-LSTM", 20, temperature=1.44),
    "learning_rate": 0.0124,
    "decay": 0.01,
    "clip": 0.3,
    "dropout": 0.17,
    "word_dropout": 0.3,
}
_LSTM_POSTS = {"learning_rate": 5e-3, "dropout": 0.2, "word_dropout": 0.1}
"""Of networks on posts: the best trial for the SR-LSTM with headers; the LSTM's, of two passes, learns fast and then by
heart, and after eight passes does worse than these settings."""


_SR_PIXELS = {"temperature": 2.0, "learning_rate": 0.01, "clip": 5.0}

_PIXELS: dict[str, dict[str, Any]] = {
    **_with_memory(100, {"learning_rate": 6e-3, "clip": 3.0}, _SR_PIXELS),
    "SR-LSTM-P (k = 10)": {**_sr("SR-LSTM-P", 10), **_SR_PIXELS},
    "SR-RNN (k = 100)": {**_sr("SR-RNN", 100), "head": "last", "batch": 64},
    "SR-GRU (k = 100)": {**_sr("SR-GRU", 100), "head": "last", "batch": 64},
}
"""Settings of the best trials of two searches, for LSTM and for SR-LSTM-P (k = 100, eq. 20); networks without a memory
at the paper's temperature."""


def _mnist(side: int) -> Table:
    of_pixels: dict[str, Any] = {"units": 64, "embedding": 0, "head": "last_and_cell", "dropout": 0.0, "batch": 32}
    return Table(
        "MNIST: a folder with the four idx files; else TFDS's mnist",
        _alike(_PIXELS, side=side, **of_pixels),
        20,
    )


def _lm1b(isan: str, lstm: str, minutes: float) -> Table:
    """With largest numbers of weights."""
    rows: dict[str, dict[str, Any]] = {
        "ISAN": {"network": "ISAN", "size": isan, **BASELINE, "learning_rate": 2.0},
        "LSTM": {"network": "LSTM", "size": lstm, **BASELINE, "learning_rate": 8.0, "batch": 32},
    }
    return Table(
        "One Billion Word: a folder with 1b_benchmark.dev.tokens and 1b_benchmark.test.tokens; else TFDS's lm1b",
        _alike(rows, optimizer="adagrad"),
        minutes,
    )


def _language(language: str, configs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Every network on every set of words."""
    return {
        f"{config}-{kind}": {"config": config, "passes": networks.usual_passes(language, config), "network": kind}
        | ({"centroids": 5} if kind.startswith("SR") else {})
        for config in configs
        for kind in networks.LANGUAGES
    }


_PARENTHESES = _language("balanced_parentheses", ("large", "large_near", "small", "small_near"))

TABLES: dict[str, Table] = {
    "isan-text8": Table(
        _TEXT,
        _TEXT8,
        30,
        "isan_text8",
    ),
    "isan-ablations": Table(
        _TEXT,
        {
            **{name: {"network": name} for name in networks.COUNTED},
            **_alike(
                {name: {"network": name} for name in (*networks.ABLATIONS, "ISAN")},
                size="4.5e5",
                batch=64,
                length=50,
                clip=1.0,
                epochs=6,
                validation=64,
            ),
        },
    ),
    "isan-pairs": Table(
        _TEXT,
        _alike(
            {
                "ISAN": {"network": "ISAN", "validation": 16},
                "GRU": {"network": "GRU", **BASELINE, **SEARCHED["GRU"]},
                "LSTM": {"network": "LSTM", **BASELINE, **SEARCHED["LSTM"]},
            },
            size="1.28e6",
            length=50,
        ),
        30,
    ),
    "isan-lm1b": _lm1b("1e6", "1e6", 30),
    "isan-lm1b-full": _lm1b("4.1e7", "4.4e7", 7 * 24 * 60),
    "minimal-rnn-recommendation": Table(
        "interactions of users with items: a file of lines `user item [time]`, or `user item item ...`",
        {network: {"network": network} for network in ("vanilla", "GRU", "CFN", "MinimalRNN")},
        records="recommend",
    ),
    "minimal-rnn-start": Table(
        "none",
        {f"inputs of standard deviation {scale:g}": {"scale": scale} for scale in (1.0, 0.3)},
        records="jacobians_at_start",
    ),
    "sr-parentheses": Table(
        "made by the package; --data says in which folder",
        {
            **_PARENTHESES,
            **{
                f"{config}-SR-LSTM-P-{k}": {**_PARENTHESES[f"{config}-SR-LSTM-P"], "centroids": k}
                for config in ("small", "large_near")
                for k in (2, 10, 50)
            },
        },
        records="balanced_parentheses",
    ),
    "sr-palindromes": Table(
        "made by the package; --data says in which folder",
        _language("palindromes", ("large", "small")),
        records="palindromes",
    ),
    "sr-imdb": Table(
        "IMDB reviews: the folder aclImdb; else TFDS's imdb_reviews",
        _alike(
            {
                **_with_memory(10, _LSTM_REVIEWS, _SR_REVIEWS),
                "SR-GRU (k = 10)": {**_sr("SR-GRU", 10), **_WITHOUT_MEMORY},
                "SR-LSTM-P (k = 10, eq. 20), mean": {**_sr("SR-LSTM-P", 10), **_SR_REVIEWS, "head": "mean"},
                "SR-RNN (k = 10)": {**_sr("SR-RNN", 10), **_WITHOUT_MEMORY},
            },
            **_WORDS,
            head="last_and_cell",
            vocabulary=10_000,
            longest=400,
            vectors=0.5,
            segment=300,
            epochs=4,
        ),
    ),
    "sr-mnist": _mnist(28),
    "sr-mnist-quarter": _mnist(14),
    "sr-newsgroups": Table(
        "20 newsgroups by date: the archive or the unpacked folder; else it is downloaded",
        _alike(
            {
                "SR-LSTM, with headers": {**_SR_POSTS, "headers": True},
                "LSTM, with headers": {"network": "LSTM", **_LSTM_POSTS, "headers": True},
                "SR-LSTM, without": {**_SR_POSTS, "headers": False},
                "LSTM, without": {"network": "LSTM", **_LSTM_POSTS, "headers": False},
            },
            **_WORDS,
            head="mean",
            vectors=1.0,
            batch=32,
            epochs=8,
        ),
    ),
}
"""Name -> table."""


def listed() -> str:
    """What can be repeated."""
    parts = []
    for name, table in TABLES.items():
        time_each = (
            f"{table.minutes} minutes of training a row" if table.minutes else "as many passes as the protocol says"
        )
        entry = papers.ENTRIES[name]
        parts.append(f"{name}: {entry.title}, {entry.place}; {entry.measure}; {time_each}\n  data: {table.data}")
        parts += [
            f"  - {row}" + (f" (paper: {entry.figures[row]})" if row in entry.figures else "") for row in table.rows
        ]
    parts.append("\nTo run a table: python -m keras_interp_rnn reproduce TABLE. With --smoke it takes seconds.")
    return "\n".join(parts)

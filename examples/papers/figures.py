"""The papers' figures that only these experiments draw; the others are `keras_interp_rnn.figures`.

Figures 1, 2 and 5 to 9 of Foerster et al., ICML 2017, "Input Switched Affine Networks for Recurrent Neural Networks"; 2
and 3 of Chen, "MinimalRNN", 2017, arXiv:1711.06788; 3 and 5 to 9 of Wang, Lawrence and Niepert, "State-Regularized
Recurrent Neural Networks", 2022; and curves of the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import ticker
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from keras_interp_rnn.figures import Figure
from tensorboard_plugins.interp_rnn import tokens

if TYPE_CHECKING:
    from examples.papers._ngrams import NgramAgreement
    from keras_interp_rnn.analysis.isan.biases import BiasParts
    from keras_interp_rnn.analysis.isan.contributions import Contributions

BLUE, ORANGE, GREY = tokens.LIGHT["for"], tokens.LIGHT["against"], tokens.GUIDE
SIGNED = LinearSegmentedColormap.from_list("signed", [ORANGE, "white", BLUE])
MAGNITUDE = LinearSegmentedColormap.from_list("magnitude", ["white", tokens.LIGHT["ramp"]])

SUBSPACES = "whole bias", "readout subspace", "computational subspace"


def state_spectra(spectra: Mapping[str, ArrayLike]) -> Figure:
    """Foerster, figure 1: the fraction of the variance of states that each principal direction explains.

    Args:
        spectra: name of a network -> (n,), as `analysis.state_spectrum`.
    """
    figure = Figure(figsize=(6, 4), layout="constrained")
    axis = figure.subplots()
    for name, spectrum in spectra.items():
        values = np.asarray(spectrum)
        axis.plot(np.arange(1, len(values) + 1), np.maximum(values, 1e-12), label=name)
    axis.set(xlabel="principal direction", ylabel="fraction of variance", yscale="log", ylim=(1e-8, 1))
    axis.legend(frameon=False)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def prediction_stack(contributions: Contributions) -> Figure:
    """Foerster, figure 2: every contribution of every symbol to every prediction of a short text.

    A column for each output of each step; a row for each source, then the readout's bias, then the logits, which are
    the sum of all rows above; below, the probabilities, with the winner's name.
    """
    steps, outputs = contributions.logits.shape
    bias = np.broadcast_to(contributions.bias, (1, steps, outputs))
    rows = np.concatenate([contributions.values, bias, contributions.logits[None]])
    figure = Figure(figsize=(max(5.0, 0.5 * steps + 1.6), 0.24 * len(rows) + 2.2), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[len(rows), 5])
    image = _signed(upper, rows.reshape(len(rows), steps * outputs))
    upper.set_yticks(range(len(rows)), ["$h_0$", *map(contributions.name, contributions.symbols), "bias", "logits"])
    upper.set_ylabel("source")
    probabilities = softmax(contributions.logits, axis=-1)
    lower.bar(np.arange(steps * outputs), probabilities.ravel(), width=1.0, color=BLUE)
    for t, winner in enumerate(probabilities.argmax(axis=1)):
        name = contributions.output_name(int(winner))
        lift = 0.12 if name in ("_", "␣") else 0.04  # both hang below the line
        lower.text(t * outputs + winner, probabilities[t, winner] + lift, name, ha="center")
    for axis in (upper, lower):
        for t in range(1, steps):
            axis.axvline(t * outputs - 0.5, color=GREY, linewidth=0.4)
    lower.set(ylim=(0, 1.25), yticks=[0, 1], ylabel="probability", xlabel="after reading (each column: all outputs)")
    lower.set_xticks((np.arange(steps) + 0.5) * outputs - 0.5, _read(contributions))
    figure.colorbar(image, ax=upper, label="nats", shrink=0.8)
    return figure


def word_contributions(contributions: Contributions) -> Figure:
    """Foerster, figure 5: how much each earlier word moves each prediction, and what is lost without distant words."""
    words = contributions.by_word()
    steps = len(contributions.targets)
    norms = np.where(words.starts[1:, None] <= contributions.targets, words.norms()[1:], np.nan)
    figure = Figure(figsize=(max(6.0, 0.3 * steps + 1.8), 0.3 * len(norms) + 3.2), layout="constrained")
    upper, lower = figure.subplots(2, 1, height_ratios=[len(norms), 8], sharex=True)
    image = upper.imshow(norms, cmap=MAGNITUDE, aspect="auto", interpolation="nearest")
    upper.set_yticks(range(len(norms)), words.names[1:])
    upper.set_ylabel("contribution of")
    figure.colorbar(image, ax=upper, label="norm, nats")
    # The next symbol of the text; nothing is known after its end.
    ends = contributions.targets[-1] == len(contributions.symbols)
    correct = contributions.symbols[contributions.targets[:-1] if ends else contributions.targets]
    of_word = np.searchsorted(words.starts, contributions.targets, side="right") - 1
    whole = len(norms)
    for count in dict.fromkeys(count for count in (whole, 3, 2, 1) if count <= whole):
        near = (words.values[max(1, word - count + 1) : word + 1, t].sum(axis=0) for t, word in enumerate(of_word))
        probabilities = softmax(contributions.bias + np.array([*near]), axis=-1)[np.arange(len(correct)), correct]
        label = "all words" if count == whole else f"the last {count}" if count > 1 else "this word alone"
        shade = 0.2 + 0.8 * count / whole
        lower.plot(range(len(correct)), probabilities, "o-", color=BLUE, alpha=shade, label=label, markersize=3)
    lower.set(ylim=(-0.02, 1.05), ylabel="probability of\nwhat comes next", xlabel="after reading")
    lower.set_xticks(range(steps), _read(contributions))
    figure.legend(*lower.get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside lower right", ncols=4)
    return figure


def norm_correlation(norms: NDArray[Any], log_probability: NDArray[Any], largest: float) -> float:
    """Correlation of norms with log probabilities; NaN where all norms are rounding errors: an empty subspace."""
    return float(np.corrcoef(norms, log_probability)[0, 1]) if np.ptp(norms) > 1e-12 * largest else np.nan


def bias_norms(norms: BiasParts, log_probability: ArrayLike, *, names: Sequence[str]) -> Figure:
    """Foerster, figure 6: norms of the biases and of their parts against the frequency of the symbols."""
    x = np.asarray(log_probability)
    figure = Figure(figsize=(13, 3.8), layout="constrained")
    for axis, y, title in zip(figure.subplots(1, 3), norms, SUBSPACES, strict=True):
        axis.scatter(x, y, s=0)
        for name, at, height in zip(names, x, y, strict=True):
            axis.text(at, height, _shown(name), ha="center", va="center", color=BLUE)
        axis.set(xlabel="log probability, nats", ylabel="norm")
        axis.set_title(f"{title}: correlation {norm_correlation(y, x, norms.whole.max()):+.2f}", fontsize=10)
        axis.margins(0.08)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def bias_cosines(cosines: Sequence[NDArray[Any]], names: Sequence[str], *, first: str = " aeiou") -> Figure:
    """Foerster, figure 7: cosine distances, 0 to 2, between the biases of symbols, those of `first` first."""
    order = sorted(range(len(names)), key=lambda i: first.index(names[i]) if names[i] in first else len(first))
    labels = [_shown(names[i]) for i in order]
    figure = Figure(figsize=(14, 4.6), layout="constrained")
    axes = figure.subplots(1, 3)
    for axis, cosine, title in zip(axes, cosines, SUBSPACES, strict=True):
        image = axis.imshow(1 - cosine[np.ix_(order, order)], cmap=MAGNITUDE, vmin=0, vmax=2, interpolation="nearest")
        for draw in (axis.axvline, axis.axhline):
            draw(sum(name in first for name in names) - 0.5, color=ORANGE, linewidth=1)
        axis.set_xticks(range(len(labels)), labels, fontsize=7)
        axis.set_yticks(range(len(labels)), labels, fontsize=7)
        axis.set_title(title, fontsize=10)
    figure.colorbar(image, ax=axes, label="cosine distance", shrink=0.85)
    return figure


def ngram_agreement(agreement: NgramAgreement, names: Sequence[str]) -> Figure:
    """Foerster, figure 8: unigrams and bigrams of the network, after the first symbol, next to counts of a text."""
    names = [_shown(name) for name in names]
    figure = Figure(figsize=(13.2, 3.8), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    places = np.arange(len(names))
    after = agreement.bigram[0], agreement.counted_bigram[0], agreement.bigram_correlations[0]
    for axis, (ours, counted, known), title in (
        (left, (agreement.unigram, agreement.counted_unigram, agreement.unigram_correlation), "unigrams"),
        (middle, after, f"after {names[0]}"),
    ):
        axis.bar(places - 0.2, ours, width=0.4, color=BLUE, label="network")
        axis.bar(places + 0.2, counted, width=0.4, color=ORANGE, label="counted")
        axis.set_xticks(places, names, fontsize=8)
        axis.margins(x=0.01)
        axis.set_ylabel("probability")
        axis.set_title(f"{title}: correlation {known:.2f}", fontsize=10)
        axis.legend(frameon=False)
    right.plot([-1, 1], [-1, 1], ":", color=GREY)
    for name, x, y in zip(names, agreement.unigram_baseline, agreement.bigram_correlations, strict=True):
        if not np.isnan(x + y):  # nothing follows this symbol
            right.text(x, y, name, ha="center", va="center", color=BLUE)
    low = np.nanmin([agreement.unigram_baseline, agreement.bigram_correlations]) - 0.08
    right.set(xlim=(low, 1.05), ylim=(low, 1.05))
    right.set(xlabel="correlation of unigrams with bigrams", ylabel="correlation of the network with bigrams")
    return figure


def change_of_basis(
    matrices: tuple[ArrayLike, ArrayLike],
    states: tuple[ArrayLike, ArrayLike],
    *,
    symbol: str,
    tokens: Sequence[str],
    parts: Sequence[tuple[str, int]],
) -> Figure:
    r"""Foerster, figure 9: the matrix of a symbol and states over time, in the original basis and in another.

    As in the paper, states are columns: a matrix leads from its columns to its rows, the last of them the constant 1.

    Args:
        matrices: $W'_x$ of `analysis.homogeneous_matrices`, (n + 1, n + 1) and (m + 1, m + 1), states as rows.
        states: (T, n) and (T, m), as rows, along one text.
        symbol: name of the symbol of the matrix. tokens: names of the T symbols that are read.
        parts: (name, dimensions) of the other basis, in order, such as readout and computation.
    """
    figure = Figure(figsize=(11, 9.6), layout="constrained")
    axes = figure.subplots(2, 2)
    for row, matrix, path, letters, basis in zip(
        axes, matrices, states, ("ab", "cd"), ("", ", new basis"), strict=True
    ):
        path = np.asarray(path, float)
        homogeneous = np.concatenate([path, np.ones((len(path), 1))], axis=1)
        titles = f"{letters[0]}) matrix of '{symbol}'{basis}", f"{letters[1]}) states{basis}"
        for axis, values, title in zip(row, (np.asarray(matrix, float).T, homogeneous.T), titles, strict=True):
            image = _signed(axis, values)
            axis.set_title(title, fontsize=11, loc="left", pad=22)
            axis.set_ylabel("dimension", fontsize=9)
            axis.tick_params(labelsize=8)
            figure.colorbar(image, ax=axis, shrink=0.9).ax.tick_params(labelsize=8)
        row[0].set(xlabel="from dimension (the last one: 1)", ylabel="to dimension (the last one: 1)")
        row[1].set_xlabel("symbol read")
        row[1].set_xticks(range(len(tokens)), tokens, fontsize=8)
    matrix, states_after = axes[1]
    for (name, size), end in zip(parts, np.cumsum([size for _, size in parts]), strict=True):
        at = float(end - size / 2 - 0.5)
        for line in (matrix.axhline, matrix.axvline, states_after.axhline):
            line(end - 0.5, color="black", linewidth=0.6)
        above, beside = matrix.get_xaxis_transform(), states_after.get_yaxis_transform()
        matrix.text(at, 1.01, name, transform=above, ha="center", va="bottom", fontsize=8)
        states_after.text(1.01, at, name, transform=beside, ha="left", va="center", fontsize=8, rotation=270)
    return figure


def metric_progress(curves: Mapping[str, tuple[Sequence[float], Sequence[float], Sequence[float]]]) -> Figure:
    """Chen, figure 2: MAP@20 of several architectures, by training steps and by hours.

    Args:
        curves: name -> steps, hours and values, of equal length.
    """
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    by_steps, by_hours = figure.subplots(1, 2, sharey=True)
    for name, (steps, hours, values) in curves.items():
        by_steps.plot(steps, values, label=name)
        by_hours.plot(hours, values, label=name)
    by_steps.set_xlabel("training steps")
    by_steps.set_ylabel("MAP@20")
    by_hours.set_xlabel("hours of training")
    by_hours.legend(frameon=False)
    return figure


def latent_weights(inputs: NDArray[Any], recurrent: NDArray[Any], *, blocks: Mapping[str, int]) -> Figure:
    r"""Chen, figure 3: $W_x$, which maps inputs to the latent space, above $U_h$, by which the state moves its gate.

    Args:
        inputs: (features, n), a row per input feature. recurrent: (n, n) as the layer has it, row j for
            $h_{t-1}[j]$; drawn with a row per gate entry, as in the paper.
        blocks: name -> number of features, in order, of the inputs that are concatenated.
    """
    features, units = inputs.shape
    heights = [max(2.0, 6.0 * features / units), 6.0]
    figure = Figure(figsize=(7.4, sum(heights) + 1.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, height_ratios=heights)
    for axis, matrix, title in ((upper, inputs, "$W_x$"), (lower, recurrent.T, "$U_h$")):
        figure.colorbar(_signed(axis, matrix), ax=axis, label="weight")
        axis.set_title(title)
    upper.set_xlabel("latent dimension")
    starts = np.cumsum([0, *blocks.values()])
    upper.set_yticks((starts[:-1] + starts[1:] - 1) / 2, list(blocks))
    for start in starts[1:-1]:
        upper.axhline(start - 0.5, color="black", linewidth=0.8)
    lower.set(xlabel="entry of $h_{t-1}$", ylabel="entry of the gate $u_t$")
    return figure


def temperatures(alphas: Mapping[float, NDArray[Any]], symbols: Sequence[str]) -> Figure:
    """Wang, figure 3: probabilities of all centroids after each symbol of one word, one row per temperature.

    Args:
        alphas: temperature -> (time, k), transition probabilities of the word. symbols: those of its steps.
    """
    k = next(iter(alphas.values())).shape[1]
    figure = Figure(figsize=(0.9 + 1.9 * len(symbols), 0.8 + 0.75 * len(alphas)), layout="constrained")
    axes = figure.subplots(len(alphas), len(symbols), sharex=True, sharey=True, squeeze=False)
    for row, (temperature, alpha) in zip(axes, alphas.items(), strict=True):
        for axis, probabilities in zip(row, alpha, strict=True):
            axis.bar(range(k), probabilities, color=BLUE, width=0.8)
            axis.set(ylim=(0, 1.05), yticks=[0, 0.5, 1])
            axis.spines[["top", "right"]].set_visible(False)
        row[0].set_ylabel(f"τ = {temperature:g}")
    for axis, symbol in zip(axes[0], symbols, strict=True):
        axis.set_title(f"after {symbol}", fontsize=10)
    axes[0][0].set_xticks(range(0, k, max(1, k // 5)))
    figure.supxlabel("centroid", fontsize=10)
    figure.supylabel("probability", fontsize=10)
    return figure


def state_paths(states: Mapping[str, NDArray[Any]], text: str) -> Figure:
    """Wang, figure 5: entries of states along a text, one panel per name.

    Args:
        states: name, such as "memory c" -> (time, n). text: a symbol for each step.
    """
    figure = Figure(figsize=(max(6.0, 0.12 * len(text) + 1), 1.9 * len(states) + 0.4), layout="constrained")
    axes = figure.subplots(len(states), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (name, values) in zip(axes, states.items(), strict=True):
        axis.plot(values, linewidth=1)
        axis.set_ylabel(name)
        axis.grid(alpha=0.3, linewidth=0.5)
    axes[-1].set_xticks(range(len(text)), text, fontsize=8)
    axes[-1].set_xlabel("token read")
    return figure


def error_curves(curves: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> Figure:
    """Wang, figure 6: the validation error through training, thin, and its minimum so far, of several networks.

    Args:
        curves: name -> steps and errors, in [0, 1], of equal length.
    """
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axis = figure.subplots()
    for name, (steps, errors) in curves.items():
        x, y = np.asarray(steps, float), 100 * np.asarray(errors, float)
        [line] = axis.plot(x, np.minimum.accumulate(y), label=name)
        axis.plot(x, y, color=line.get_color(), alpha=0.3, linewidth=0.8)
    axis.set_xlabel("training steps")
    axis.set_ylabel("validation error [%]")
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def errors_by_difference(
    panels: Mapping[tuple[str, str], tuple[ArrayLike, NDArray[Any]]], differences: Sequence[str]
) -> Figure:
    """Errors through training by how many parentheses are too many or too few; medians and quartiles of the seeds.

    Args:
        panels: (strings, network) -> steps (points,), and errors in [0, 1], (seeds, points, differences).
        differences: their names.
    """
    rows, columns = (list(dict.fromkeys(key[i] for key in panels)) for i in (0, 1))
    figure = Figure(figsize=(2.6 * len(columns) + 1.6, 2.3 * len(rows) + 0.4), layout="constrained")
    axes = figure.subplots(len(rows), len(columns), squeeze=False, sharex=True, sharey=True)
    colours = [BLUE, *(SIGNED(shade) for shade in np.linspace(0.0, 0.32, len(differences) - 1))]
    for (row, column), (steps, errors) in panels.items():
        axis = axes[rows.index(row), columns.index(column)]
        for i, (name, colour) in enumerate(zip(differences, colours, strict=True)):
            of_difference = 100 * errors[..., i]
            axis.plot(steps, np.median(of_difference, axis=0), color=colour, label=name)
            axis.fill_between(steps, *np.percentile(of_difference, [25, 75], axis=0), color=colour, alpha=0.12, lw=0)
        axis.grid(alpha=0.3, linewidth=0.5)
        axis.xaxis.set_major_locator(ticker.MultipleLocator(3000))
    for axis, name in zip(axes[0], columns, strict=True):
        axis.set_title(name, fontsize=10)
    for axis, name in zip(axes[:, 0], rows, strict=True):
        axis.set_ylabel(f"{name}: errors [%]")
    figure.supxlabel("training steps", fontsize=10)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, title="difference", frameon=False, loc="outside right upper")
    return figure


def counts_read(curves: Mapping[str, ArrayLike]) -> Figure:
    """The count of open brackets that is read off a state, by the true one; on the dashed line it is right.

    Args:
        curves: name -> what is read at a true count of 0, 1, 2, ...; (counts,).
    """
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axis = figure.subplots()
    for name, values in curves.items():
        axis.plot(np.asarray(values, float), label=name, marker=".")
    most = max(np.size(values) for values in curves.values()) - 1
    axis.plot([0, most], [0, most], color="grey", linestyle="--", linewidth=1)
    for numbers in (axis.xaxis, axis.yaxis):
        numbers.set_major_locator(ticker.MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    axis.set_xlabel("open brackets, true")
    axis.set_ylabel("open brackets, as read")
    axis.grid(alpha=0.3, linewidth=0.5)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def pixel_maps(
    values: ArrayLike,
    rows: Sequence[str],
    *,
    columns: Sequence[str],
    label: str = "probability",
    max_value: float = 1.0,
) -> Figure:
    """Wang, figures 7 and 8: a grid of images whose pixels are numbers from 0 up, such as transition probabilities.

    Args:
        values: (rows, columns, height, width). rows, columns: their names.
        label: of the colour bar. max_value: the number that is black.
    """
    figure = Figure(figsize=(0.72 * len(columns) + 1.9, 0.72 * len(rows) + 0.7))
    figure.set_layout_engine("constrained", w_pad=0.06, h_pad=0.06)
    axes = figure.subplots(len(rows), len(columns), squeeze=False)
    for of_row, images, row in zip(axes, np.asarray(values, float), rows, strict=True):
        for axis, pixels in zip(of_row, images, strict=True):
            image = axis.imshow(pixels, cmap="Greys", vmin=0, vmax=max_value, interpolation="nearest")
            axis.set(xticks=[], yticks=[])
        of_row[0].set_ylabel(row, fontsize=9, rotation=0, ha="right", va="center")
    for axis, column in zip(axes[0], columns, strict=True):
        axis.set_title(column, fontsize=9)
    figure.colorbar(image, ax=axes, label=label, shrink=min(1.0, 3 / len(rows)))
    return figure


def feature_map(points: NDArray[Any], labels: Sequence[str]) -> Figure:
    """Wang, figure 9: points in the plane (samples, 2), such as a t-SNE of transition probabilities, by their label."""
    figure = Figure(figsize=(5.6, 4.6), layout="constrained")
    axis = figure.subplots()
    names = np.asarray(labels)
    for name in dict.fromkeys(labels):
        x, y = points[names == name].T
        axis.scatter(x, y, s=6, alpha=0.7, label=name)
    axis.set(xticks=[], yticks=[])
    axis.legend(markerscale=2, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _shown(name: str) -> str:
    """The name of a letter, the space as a sign that is seen, as `Contributions.name` has it."""
    return "␣" if name == " " else name


def _read(contributions: Contributions) -> list[str]:
    """The names of the symbols after which the targets are predicted."""
    return [contributions.name(int(contributions.symbols[t - 1])) for t in contributions.targets]


def _signed(axis: Any, values: NDArray[Any]) -> Any:
    limit = float(np.abs(values).max()) or 1.0
    return axis.imshow(values, cmap=SIGNED, vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")

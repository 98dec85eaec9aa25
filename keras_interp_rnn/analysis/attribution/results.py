"""The results of `attribution`: shares, their means by token over a data set, and how far two results agree."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import SupportsIndex, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import choice, integer, is_integer
from keras_interp_rnn._results import (
    Column,
    Result,
    Table,
    Tag,
    View,
    counted,
    masked_steps,
    named_output,
    nth,
    pane,
    quoted,
    step_numbers,
    texts,
)
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.attribution.dependence import ShareDependence, correlation, rank_correlation
from keras_interp_rnn.analysis.attribution.tables import (
    SAID,
    SEQUENCES,
    Shares,
    answer_of,
    seen_errors,
    table_of,
    with_more,
    without_rounding,
)
from keras_interp_rnn.analysis.attribution.wording import unit_of

T = TypeVar("T", bound="NDArray[np.generic]")

ONE_WAY = 0.9
"""Mean of shares, in parts of their mean size, from which nearly all of them have one sign."""
CERTAIN = 1e-6
"""How far the sum of probabilities may be from 1."""
MAX_FEATURE_SHARES = 2**20
"""Maximum number of shares of features in a page, of all sequences."""


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(Shares):
    r"""The share of each step of each sequence in one output, or in several.

    Attributes:
        shares: (batch, time), or (batch, time, K) in K outputs; 0 at masked steps. With groups, (batch, groups) or
            (batch, groups, K).
        output: (batch,) or (batch, K), the explained outputs in `unit`, in float64.
        reference_output: as `output`, with all steps taken away; with "contributions" the part due to no symbol.
        residual: largest |reference_output + sum of shares - output|: rounding for "shapley", "telescoping" and
            "contributions", the error of the quadrature for "path_integral", the gap for "occlusion". It checks the
            sum, not the shares: those of telescoping sum to the change of any function.
        difference: largest difference between `output` (after the activation) and the output that the network that was
            given computes in its own dtype; NaN for a stateful ISAN, which is not run.
        method: the method that was used. reason: why it was used, and what limited it, of all sequences of the call.
        targets: int, as `output`, the indices of the outputs.
        features: with "path_integral" the shares of the features of each step, (batch, time, features) or
            (batch, time, features, K), which sum to `shares`; None with other methods. For ids these are the features
            of their vectors.
        tokens: for each sequence the names of what it reads at each step, for views; () if they are not known.
        read: bool (batch, time), False at steps that the network itself masks for all that read them, whose shares are
            0; None if the masks are not known.
        output_names: of all outputs of the network, with units; () if they have no names.
        largest: bool, as `output`, whether it is the largest of all outputs of the network; None if that is not known.
        feature_names: of the features of a step, for views; () if they have no names.
        as_read: (batch, time + 1) or (batch, time + 1, K), the explained outputs while a sequence is read: with its
            first t steps there and all others taken away, from `reference_output` to `output`. Its differences are the
            shares of telescoping. None with "contributions", with groups, and where it would take long.
        inputs: with `features` of vectors, the numbers that were read, (batch, time, features); otherwise None.
        vectors: whether vectors were read, so that `tokens`, if there are any, are the names of steps.
        class_names: the names of both classes between which a single output decides; () if they are not known.
        labels: for each sequence the name of its true class; () if they were not given. wrong: bool (batch,), whether
            the network answers another class; None without labels.

    `split[i]` has sequence i alone, `split[2:5]` some of them, and `len(split)` is the size of the batch.

    Sequences, steps and features are indices from 0. Views count them from 1.

    Example: see `attribution`.
    """

    def __len__(self) -> int:
        return len(self.shares)

    def __iter__(self) -> Iterator[Attribution]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: SupportsIndex | slice) -> Attribution:
        """One sequence, from 0 or negative from the end, or a slice of them.

        `difference` and `reason` stay those of the whole batch: whether the budget limited a sequence is in its
        `standard_error`.

        Raises:
            IndexError: for a sequence that is not there.
        """
        if not isinstance(index, slice):
            if not is_integer(index):
                raise TypeError(
                    f"A sequence must be an integer or a slice. Received: {index!r}. Pass split[0] or split[:3]."
                )
            place = operator.index(index)
            if not -len(self) <= place < len(self):
                raise IndexError(
                    f"A sequence must be an index in [{-len(self)}, {len(self)}). Received: {index}. There are "
                    f"{len(self)} of them, counted from 0."
                )
            index = slice(place % len(self), place % len(self) + 1)

        return replace(
            self._of_outputs(index),
            residual=float(self.residuals[index].max(initial=0.0)),
            inputs=_part(self.inputs, index),
            tokens=self.tokens[index],
            read=_part(self.read, index),
            labels=self.labels[index],
            wrong=_part(self.wrong, index),
            num_runs=_part(self.num_runs, index),
            groups=_part(self.groups, index),
        )

    def _of_outputs(self, index: slice | tuple[slice, EllipsisType, int]) -> Attribution:
        """The same with a part of every array that has a number for each sequence and explained output."""
        return replace(
            self,
            shares=self.shares[index],
            output=self.output[index],
            reference_output=self.reference_output[index],
            targets=self.targets[index],
            features=_part(self.features, index),
            standard_error=_part(self.standard_error, index),
            as_read=_part(self.as_read, index),
            largest=_part(self.largest, index),
            probability=_part(self.probability, index),
        )

    def ranking(self) -> ShareRanking:
        """The mean share of each token, and its mean absolute share; of each step where tokens have no names.

        Of several outputs each has rows of its own: of `target=None`, the sequences whose largest output it is. Masked
        steps are left out.

        Returns:
            `ShareRanking`, the largest mean absolute share first.
        """
        count, places = self.shares.shape[:2]
        read, targets = self._read(), _with_outputs(self.targets, 2)
        kind = "token" if self.tokens and not self.vectors else "step" if self.groups is None else "group"
        names = self.tokens or (tuple(nth(kind, i) for i in range(places)),) * count
        known = {name: i for i, name in enumerate(dict.fromkeys(name for row in names for name in row))}
        codes = np.array([[known[name] for name in row] for row in names], np.int64).reshape(count, places)
        shares = _with_outputs(self.shares, 3)
        rows = []
        for output in np.unique(targets):
            explains = targets == output
            sequence, place = np.nonzero(read & explains.any(axis=1)[:, None])
            values = shares[sequence, place, explains.argmax(axis=1)[sequence]]
            code, token = np.unique(codes[sequence, place], return_inverse=True)
            means = [_means(x, token, sequence, len(code)) for x in (values, np.abs(values))]
            order = np.argsort(-means[1][0], kind="stable")
            found = [np.full(len(code), output), code, np.bincount(token, minlength=len(code)), *means[0], *means[1]]
            rows.append([column[order] for column in found])
        columns = [np.concatenate(column) for column in zip(*rows, strict=True)] or [np.zeros(0, np.int64)] * 7
        outputs, code, counts, mean, error, mean_absolute, error_absolute = columns
        ordered = tuple(known)
        return ShareRanking(
            names=tuple(ordered[i] for i in code),
            outputs=outputs,
            counts=counts,
            mean=mean,
            standard_error=error,
            mean_absolute=mean_absolute,
            standard_error_absolute=error_absolute,
            num_sequences=count,
            kind=kind,
            unit=self.unit,
            output_names=self.output_names,
        )

    def agreement(self, other: Attribution) -> ShareAgreement:
        """How far another attribution of the same sequences has the same shares: of another method, or another network.

        That the sequences are the same is up to you: only their shapes, tokens, groups, targets and units are compared.
        Of vectors, which have no tokens, other inputs of the same shape are not noticed.

        Args:
            other: for the same outputs and steps. A step counts that either of both reads.

        Returns:
            `ShareAgreement`, with differences in parts of the range of the shares here.

        Raises:
            ValueError: if the shapes, tokens, groups or explained outputs of the sequences differ, or if one explains
                probabilities and the other does not.
        """
        self._check_comparable(other)
        first, second = (_with_outputs(split.shares, 3) for split in (self, other))
        read = self._read() | other._read()
        found = np.full((4, len(first), first.shape[2]), np.nan)
        for row, steps in enumerate(read):
            for k in range(first.shape[2]) if steps.any() else ():
                a, b = first[row, steps, k], second[row, steps, k]
                width = np.ptp(a)
                found[0, row, k], found[1, row, k] = correlation(a, b), rank_correlation(a, b)
                found[2, row, k] = np.abs(a).argmax() == np.abs(b).argmax()
                found[3, row, k] = np.abs(a - b).mean() / width if width > 0 else np.nan
        pooled = [
            [correlation(a, b), rank_correlation(a, b)] for a, b in zip(first[read].T, second[read].T, strict=True)
        ]
        shape = self.output.shape
        overall = np.array(pooled).reshape(-1, 2).T.reshape(2, *shape[1:])
        of_shares, of_ranks, same, difference = (x.reshape(shape) for x in found)
        return ShareAgreement(
            correlation=of_shares,
            rank_correlation=of_ranks,
            same_largest=same,
            difference=difference,
            overall_correlation=overall[0],
            overall_rank_correlation=overall[1],
            methods=(self.method, other.method),
        )

    def _read(self) -> NDArray[np.bool_]:
        """Bool (batch, places), which of them are read."""
        if self.read is not None:
            return self.read
        read = np.full(self.shares.shape[:2], self.groups is None)
        if self.groups is not None:
            np.put_along_axis(read, self.groups, True, axis=1)
        return read

    def _check_comparable(self, other: object) -> None:
        if not isinstance(other, Attribution):
            raise ValueError(
                f"`other` must be an Attribution. Received: a {type(other).__name__}. Pass what analysis.attribution "
                "returns."
            )

        groups = [None if split.groups is None else split.groups.tolist() for split in (self, other)]
        received = ""
        if self.shares.shape != other.shares.shape:
            received = f"shares of shapes {self.shares.shape} and {other.shares.shape}"
        elif self.tokens and other.tokens and self.tokens != other.tokens:
            row = next(i for i, pair in enumerate(zip(self.tokens, other.tokens, strict=True)) if pair[0] != pair[1])
            received = f"other tokens in {nth('sequence', row)}"
        elif groups[0] != groups[1]:
            received = "other groups"
        elif (self.targets != other.targets).any():
            row = int(np.flatnonzero((self.targets != other.targets).reshape(len(self), -1).any(axis=1))[0])
            outputs = [named_output(split, np.ravel(split.targets[row])[0]) for split in (self, other)]
            received = f"{outputs[0]} and {outputs[1]} in {nth('sequence', row)}"
        elif (self.unit == "probability") != (other.unit == "probability"):
            received = "shares in a probability, and others that are not"
        if received:
            raise ValueError(
                "Two attributions that are compared must be of the same sequences, groups and outputs. Received: "
                f"{received}. Pass the same inputs, names, `groups`, `target` and `of` to both."
            )

    def top(self, num_steps: int = 5, *, sequence: int = 0, output: int = 0) -> list[tuple[int, float]]:
        """The steps with the largest shares by absolute value, the largest first.

        Args:
            num_steps: maximum number of steps.
            sequence: which sequence of the batch, from 0 or negative from the end.
            output: which of the explained outputs, likewise.

        Returns:
            [(step, share), ...]; steps count from 0.

        Raises:
            ValueError: for a sequence that is not there, or an output that is not explained.
        """
        integer("num_steps", num_steps, 0)
        row = self._of(_with_outputs(self.shares, 3), sequence, output)
        return [(int(t), float(row[t])) for t in np.argsort(-np.abs(row), kind="stable")[:num_steps]]

    def top_features(
        self, num_features: int = 5, *, sequence: int = 0, output: int = 0
    ) -> list[tuple[int, int, float]]:
        """The features of steps with the largest shares by absolute value, the largest first.

        Args:
            num_features: maximum number of features of steps.
            sequence, output: as of `top`.

        Returns:
            [(step, feature, share), ...]; both count from 0.

        Raises:
            ValueError: as `top`, or without shares of features, which only method "path_integral" has.
        """
        integer("num_features", num_features, 0)
        table = self._of(_with_outputs(self._features(), 4), sequence, output)
        order = np.argsort(-np.abs(table), axis=None, kind="stable")[:num_features]
        return [
            (int(t), int(i), float(table[t, i])) for t, i in zip(*np.unravel_index(order, table.shape), strict=True)
        ]

    def dependence(self, feature: int | str, *, output: int = 0) -> ShareDependence:
        """The shares of one feature against its values, at all steps that are read.

        Args:
            feature: its index, or its name.
            output: which of the explained outputs, from 0 or negative from the end.

        Returns:
            `ShareDependence`; `print` tells whether shares rise with the value, `views.save` draws a point a step.

        Raises:
            ValueError: for a feature that is not there, or without shares of features of vectors, which only method
                "path_integral" has.
        """
        shares = _with_outputs(self._features(), 4)
        if self.inputs is None:
            raise ValueError(
                "Features must be those of vectors that were read. Received: an attribution of ids, whose vectors an "
                "Embedding makes. Use ranking() for the shares of tokens."
            )
        count, num_outputs = shares.shape[2:]
        targets = _with_outputs(self.targets, 2)
        k = integer("output", output, -num_outputs, f"Outputs here: {num_outputs}.", below=num_outputs)
        explained = np.unique(targets[:, k]) if len(targets) else targets[:0, k]
        if len(explained) > 1:
            raise ValueError(
                "Shares of one feature must be in one output. Received: shares in the largest output of each sequence, "
                f"{', '.join(named_output(self, each, again=True) for each in explained[:SAID])}. Pass `target`."
            )
        if isinstance(feature, str):
            choice("feature", feature, self.feature_names or tuple(map(str, range(count))))
            i = self.feature_names.index(feature) if self.feature_names else int(feature)
        else:
            i = integer("feature", feature, 0, f"Features here: {count}.", below=count)
        sequences, steps = np.nonzero(self._read())
        return ShareDependence(
            feature=self.feature_names[i] if self.feature_names else nth("feature", i),
            output=named_output(self, explained[0], again=True) if len(explained) else "the output",
            sequences=sequences,
            steps=steps,
            values=self.inputs[sequences, steps, i],
            shares=shares[sequences, steps, i, k],
            unit=self.unit,
        )

    def _of(self, array: NDArray[np.generic], sequence: int, output: int) -> Array:
        """The part (places, ...) of one sequence and output of an array (batch, places, ..., outputs)."""
        count, num_outputs = len(array), array.shape[-1]
        row = array[integer("sequence", sequence, -count, f"Sequences here: {count}.", below=count)]
        k = integer("output", output, -num_outputs, f"Outputs here: {num_outputs}.", below=num_outputs)
        return np.asarray(row[..., k], np.float64)

    def _features(self) -> Array:
        if self.features is None:
            raise ValueError(
                f"Shares of features must be those of a path integral over steps. Received: method={self.method!r}"
                f"{'' if self.groups is None else ' with groups'}. Choose method='path_integral', without `groups`."
            )
        return self.features

    def summary(self) -> Table:
        """The table for a terminal: the first sequence, and the answers to some others."""
        if len(self) <= 1:
            return self.table()
        return with_more(self, self[0].table(), [answer_of(self[i]) for i in range(min(len(self), SEQUENCES))])

    def table(self) -> Table:
        """A row for each step of each sequence, with its share in each output that is explained.

        Before the steps of a sequence comes a row of the outputs without any step. A terminal shows the steps with the
        largest shares, in their order, and the sum of the others. An estimate has half the width of its 95 % interval.
        If there are features, a row has the one with the largest share too. Sequences, steps and features count from 1.
        """
        return table_of(self)

    def drawing(self) -> str:
        """The bars of the first sequence; of several outputs those of the largest one there.

        Raises:
            ValueError: without a sequence.
        """
        if self.shares.ndim < 3 or not self.shares.size:
            return super().drawing()
        return self[:1]._of_outputs((slice(1), ..., int(self.output[0].argmax()))).drawing()

    def tags(self) -> list[Tag]:
        """A tag of the TensorBoard plugin for each sequence: its shares, with those of features if they fit.

        The masks are of places: of groups where there are some.
        """
        count, length = self.shares.shape[:2]
        shares = self.shares.reshape(count, length, -1)
        columns = shares.shape[2]
        targets, output, without = (x.reshape(count, -1) for x in (self.targets, self.output, self.reference_output))
        features = np.zeros((count, 0, columns)) if self.features is None else self.features.reshape(count, -1, columns)
        left_out = features.size > MAX_FEATURE_SHARES
        features = features[:, :0] if left_out else features
        first = np.broadcast_to(np.arange(columns), (count, columns))
        second, last = output, None if self.probability is None else self.probability.reshape(count, columns)
        # All outputs of a softmax: these share a probability.
        shared = last is not None and columns > 1 and np.allclose(last.sum(axis=1), 1, rtol=0, atol=CERTAIN)
        if shared and last is not None:
            second, last = last, np.asarray(output, np.float64)
        parts = [first[:, None], second[:, None], shares, without[:, None], features]
        if self.standard_error is not None:
            parts.append(seen_errors(self).reshape(count, length, columns))
        if last is not None:
            parts.append(last[:, None])
        if self.as_read is not None:
            parts.append(self.as_read.reshape(count, length + 1, columns))
        rows = np.concatenate(parts, axis=1)
        numbered = step_numbers(length) if self.groups is None else [nth("group", place) for place in range(length)]
        described = {
            "kind": "attribution",
            "method": self.method,
            "reason": self.reason,
            "vectors": (self.vectors or not self.tokens) and self.groups is None,
            "groups": self.groups is not None,
            "values": not shared,
            **({"unit": self.unit} if self.unit else {}),
            "errors": self.standard_error is not None,
            "both": self.probability is not None,
            **({"as_read": True} if self.as_read is not None else {}),
            "features": features.shape[1] // length,
            "features_left_out": left_out,
            **({"feature_names": [*self.feature_names]} if self.feature_names and not left_out else {}),
            **({"classes": [*self.class_names]} if self.class_names else {}),
            **({"scale": float(max(np.abs(shares).max(), np.abs(without).max()))} if count > 1 else {}),
        }
        return [
            (
                rows[i].astype(np.float32),
                {
                    **described,
                    "symbols": list(self.tokens[i]) if self.tokens else numbered,
                    "outputs": [named_output(self, target) for target in targets[i]],
                    "title": nth("sequence", i),
                    "masked": masked_steps(None if self.read is None else self.read[i]),
                    **({} if self.wrong is None else {"label": self.labels[i], "wrong": bool(self.wrong[i])}),
                },
            )
            for i in range(count)
        ]

    def page_view(self) -> View | None:
        """The steps of each sequence in the plugin's view; None without a share."""
        if not self.shares.size:
            return None
        return pane("reads", {f"sequence_{i}": tag for i, tag in enumerate(self.tags())})


def _part(array: T | None, index: slice | tuple[slice, EllipsisType, int]) -> T | None:
    """A part of an array, if there is one."""
    return None if array is None else cast(T, array[index])


def _with_outputs(array: NDArray[np.generic], ndim: int) -> NDArray[np.generic]:
    """An array whose last axis is that of the outputs, of which there may be one without an axis."""
    return array if array.ndim == ndim else array[..., None]


def _means(values: Array, token: NDArray[np.intp], sequence: NDArray[np.intp], num_tokens: int) -> tuple[Array, Array]:
    """The means of tokens and their standard errors over sequences, in which a token may occur several times."""
    counts = np.bincount(token, minlength=num_tokens)
    means = np.bincount(token, values, num_tokens) / counts
    pairs, pair = np.unique(np.stack([token, sequence]), axis=1, return_inverse=True)
    apart = np.bincount(pair.ravel(), values - means[token])  # of each token in each sequence
    groups = np.bincount(pairs[0], minlength=num_tokens)
    squares = np.bincount(pairs[0], apart**2, num_tokens)
    scale = np.where(groups > 1, groups / np.maximum(groups - 1, 1), np.nan)
    return means, np.sqrt(scale * squares) / counts


@dataclass(frozen=True, eq=False, repr=False)
class ShareRanking(Result):
    r"""Mean shares by token over a data set, a row for each output and token; the largest mean absolute share first.

    Attributes:
        names: of the tokens, or "step 1" and so on where there are none, "group 1" of groups.
        outputs: (rows,), the index of the output in which the shares are.
        counts: (rows,), how often a token is read.
        mean, mean_absolute: (rows,), of its shares. standard_error, standard_error_absolute: of both, over sequences,
            in which occurrences may depend on each other; NaN for a token of one sequence.
        num_sequences: of the data set. kind: "token", "step" or "group". unit, output_names: as of `Attribution`.

    Example: see `attribution`.
    """

    names: tuple[str, ...]
    outputs: NDArray[np.int64]
    counts: NDArray[np.int64]
    mean: Array
    standard_error: Array
    mean_absolute: Array
    standard_error_absolute: Array
    num_sequences: int
    kind: str
    unit: str = ""
    output_names: tuple[str, ...] = ()

    def table(self) -> Table:
        """A row for each token of each output: how often it is read, its mean absolute and its mean share."""
        outputs = np.unique(self.outputs)
        if not len(outputs):
            return Table(f"Shares of no {self.kind}")
        unit = unit_of(self.unit)
        count = counted(self.num_sequences, "sequence")
        moved = f"the {self.unit} of " * bool(self.unit) + named_output(self, self.outputs[0], again=True)
        mean, size = float(self.mean[0]), float(self.mean_absolute[0])
        one_way = abs(mean) >= ONE_WAY * size
        way, by = ("up" if mean > 0 else "down", abs(mean)) if one_way else ("up or down", size)
        found = f"{quoted(self.names[0])} moves {moved} most: {way}, by {by:.3g}{f' {unit}' if unit else ''} on average"
        found = found if size else f"nothing moves {moved}"
        caption = f"{found}; mean shares by {self.kind}, {count}"
        notes = ("± standard error over sequences",)
        if len(outputs) == 1:
            return Table(caption, self._columns(np.arange(len(self.names))), notes, bars="mean share")
        parts = []
        for output in outputs[:SAID]:
            rows, few = np.flatnonzero(self.outputs == output), 15 // min(len(outputs), SAID) - 1
            parts.append(Table(f"{named_output(self, output)}:", self._columns(rows), bars="mean share", rows=few))
        of = texts("output", [named_output(self, output) for output in self.outputs])
        columns = (of, *self._columns(np.arange(len(self.names))))
        return Table(caption, columns, notes, bars="mean share", folded=True, parts=tuple(parts))

    def _columns(self, rows: NDArray[np.int64]) -> tuple[Column, ...]:
        def estimates(name: str, values: Array, errors: Array, form: str) -> tuple[Column, Column]:
            known = [None if np.isnan(error) else float(error) for error in errors[rows]]
            return Column(name, values[rows].tolist(), form=form), Column(f"± {name}", known, form=".2g")

        return (
            texts(self.kind, [self.names[i] for i in rows]),
            Column("count", self.counts[rows].tolist(), form=",d"),
            *estimates("mean |share|", self.mean_absolute, self.standard_error_absolute, ".3g"),
            *estimates("mean share", self.mean, self.standard_error, "+.3g"),
        )


@dataclass(frozen=True, eq=False, repr=False)
class ShareAgreement(Result):
    r"""How far two attributions of the same sequences agree.

    Attributes:
        correlation, rank_correlation: as `output` of `Attribution`, of the shares of the steps that are read, Pearson's
            and that of their ranks; NaN where shares do not vary.
        same_largest: as `output`, 1 where the largest share, by absolute value, is that of the same step, otherwise 0;
            NaN where no step is read.
        difference: as `output`, the mean absolute difference of shares, in parts of the range of the first ones; NaN
            where these do not vary.
        overall_correlation, overall_rank_correlation: () or (K,), of the steps of all sequences together.
        methods: the names of both.

    Example: see `attribution`.
    """

    correlation: Array
    rank_correlation: Array
    same_largest: Array
    difference: Array
    overall_correlation: Array
    overall_rank_correlation: Array
    methods: tuple[str, str]

    def table(self) -> Table:
        """How far all shares agree; a row for each sequence, those that differ most first."""
        first, second = (method.replace("_", " ") for method in self.methods)
        overall = zip(np.ravel(self.overall_correlation), np.ravel(self.overall_rank_correlation), strict=True)
        caption = (
            f"{first} and {second}, {counted(len(self.correlation), 'sequence')}: shares of all steps correlate "
            + ", ".join(f"{pearson:.3f} (their ranks {ranks:.3f})" for pearson, ranks in overall)
        )
        if not self.correlation.size:
            return Table(caption)
        largest = self.same_largest[np.isfinite(self.same_largest)]
        apart = self.difference[np.isfinite(self.difference)]
        notes = [f"the largest share is that of the same step in {int(largest.sum())} of {len(largest)}"]
        if len(apart):
            notes.append(f"they differ by {apart.mean():.1%} of the range of the first ones, in the mean")
        table = [x.reshape(len(x), -1) for x in (self.correlation, self.rank_correlation, self.difference)]
        order = np.argsort(-np.nan_to_num(table[2], nan=-1).max(axis=1), kind="stable")
        columns = [Column("sequence", (order + 1).tolist(), form="d")]
        for k in range(table[0].shape[1]):
            of = f" {k + 1}" if table[0].shape[1] > 1 else ""
            names = (f"correlation{of}", f"of ranks{of}", f"difference{of}")
            forms = (".3f", ".3f", ".1%")
            columns += [Column(n, x[order, k].tolist(), form=f) for n, x, f in zip(names, table, forms, strict=True)]
        return Table(caption, tuple(columns), (*notes, "the sequences that differ most come first"))


@dataclass(frozen=True, eq=False, repr=False)
class TopAttribution(Result):
    r"""Shares of the steps of one text in the most probable outputs of a network.

    Attributes:
        tokens: (T,), the names of what is read.
        top: (K,), the outputs, the most probable first.
        predicted: (K,), their probabilities by a softmax, or their values: of a single output, and with `values`.
        shares: (T, K). reference_output: (K,), the outputs with no step there, in `unit`.
        output: (K,), those of the text.
        outputs: the names of all outputs.
        residual, method, unit: as of `Attribution`; "logit" also for outputs that no activation makes probabilities,
            but for those of a regression.
        read: bool (T,), standard_error: (T, K), as of `Attribution`.
        values: whether these are several outputs of a regression. class_names: as of `Attribution`.
        as_read: (T + 1, K), and labels, of one sequence, as of `Attribution`.
    """

    tokens: tuple[str, ...]
    top: NDArray[np.int64]
    predicted: Array
    shares: Array
    reference_output: Array
    output: Array
    outputs: tuple[str, ...]
    residual: float
    method: str
    unit: str = ""
    read: NDArray[np.bool_] | None = None
    standard_error: Array | None = None
    values: bool = False
    class_names: tuple[str, ...] = ()
    as_read: Array | None = None
    labels: tuple[str, ...] = ()

    def tag(self) -> Tag:
        """Shares in the outputs, their numbers, the prediction, the outputs with and without steps, for the plugin."""
        parts = [self.top[None], self.predicted[None], self.shares, self.reference_output[None]]
        if self.standard_error is not None:
            parts.append(without_rounding(self.standard_error, self.output, self.reference_output, axis=0))
        masked, as_read = masked_steps(self.read), [] if self.as_read is None else [self.as_read]
        return np.concatenate([*parts, self.output[None], *as_read]).astype(np.float32), {
            "kind": "attribution",
            "method": self.method,
            "symbols": list(self.tokens),
            "outputs": list(self.outputs),
            **({"masked": masked} if masked else {}),
            **({"unit": self.unit} if self.unit else {}),
            **({"values": True} if self.values else {}),
            **({"classes": [*self.class_names]} if self.class_names else {}),
            "errors": self.standard_error is not None,
            "both": True,
            **({"as_read": True} if as_read else {}),
            **({"label": self.labels[0]} if self.labels else {}),  # the answer is another one at each step
        }

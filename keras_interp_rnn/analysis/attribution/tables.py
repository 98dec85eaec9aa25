"""Attributions as tables: the answer of the network, the shares of the steps, and how exact they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._results import (
    DECIDES,
    Column,
    Result,
    Table,
    because,
    chance,
    counted,
    cut,
    named_output,
    nth,
    numbered,
    percent,
    quoted,
    texts,
    verdict,
    verdict_between,
)
from keras_interp_rnn._types import Array
from keras_interp_rnn.analysis.attribution.wording import (
    INTERVAL,
    ROUNDING,
    SMALL,
    ends,
    in_nats,
    near_certainty,
    unit_of,
)

EPSILON = 1e-14
"""In parts of an output, below which a standard error is rounding."""
SEQUENCES, SAID, FEATURE = 8, 4, 16
"""Maximum numbers of sequences that a terminal lists, of outputs in a sentence, and of characters of a feature."""
ROWS = 12
"""Maximum number of steps that a terminal shows."""


@dataclass(frozen=True, eq=False, repr=False)
class Shares(Result):
    """The numbers of an `Attribution`, whose attributes are described there."""

    shares: Array
    output: Array
    reference_output: Array
    residual: float
    difference: float
    method: str
    reason: str
    targets: NDArray[np.int64]
    features: Array | None = None
    inputs: Array | None = field(default=None, repr=False)
    tokens: tuple[tuple[str, ...], ...] = ()
    read: NDArray[np.bool_] | None = None
    standard_error: Array | None = None
    as_read: Array | None = field(default=None, repr=False)
    num_runs: NDArray[np.int64] | None = None
    unit: str = ""
    probability: Array | None = None
    groups: NDArray[np.int64] | None = None
    output_names: tuple[str, ...] = ()
    largest: NDArray[np.bool_] | None = field(default=None, repr=False)
    feature_names: tuple[str, ...] = field(default=(), repr=False)
    vectors: bool = field(default=False, repr=False)
    class_names: tuple[str, ...] = field(default=(), repr=False)
    labels: tuple[str, ...] = field(default=(), repr=False)
    wrong: NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def exact(self) -> bool:
        """Whether all shares are those of the method but for rounding: no sample, and no quadrature."""
        if self.method == "path_integral":
            return False
        return self.standard_error is None or not self.standard_error.any()

    @property
    def decides_between_two(self) -> bool:
        """Whether a single output is a probability, of one class of two."""
        return self.unit == "log-odds" or bool(self.class_names)

    @property
    def residuals(self) -> Array:
        """As `output`, |reference_output + sum of shares - output|."""
        return np.asarray(np.abs(self.reference_output + self.shares.sum(axis=1) - self.output))


def with_more(split: Shares, first: Table, answers: Sequence[str]) -> Table:
    """The table of the first sequence of a batch, and below it the answers to the first ones."""
    which = "all" if len(answers) == len(split.shares) else f"the first {len(answers)}"
    others = Table(f"{which} of {len(split.shares)}:", (numbered("sequence", len(answers)), texts("answer", answers)))
    rest, notes = int(_missed(split)[1:].any(axis=1).sum()), list(first.notes)
    if rest:
        notes[1] += f"; {rest} of the other sequences miss{'es' * (rest == 1)} more than 1% of the change"
    caption = f"sequence 1 of {len(split.shares)}: {first.caption}"
    return replace(first, caption=caption, notes=tuple(notes), parts=(others,))


def table_of(split: Shares) -> Table:
    """As `Attribution.table`."""
    if not len(split.shares):
        return Table("Shares of no sequence")
    count, places = split.shares.shape[:2]
    shares, without = split.shares.reshape(count, places, -1), split.reference_output.reshape(count, 1, -1)
    values = np.concatenate([without, shares], axis=1).reshape(count * (1 + places), -1)
    errors = np.pad(INTERVAL * seen_errors(split).reshape(shares.shape), ((0, 0), (1, 0), (0, 0))).reshape(values.shape)
    unit, one = unit_of(split.unit), shares.shape[2] == 1
    headings = [f"share of {in_nats(split.unit or 'output')}"]
    if not one:
        headings = [named_output(split, target, again=True) for target in np.ravel(split.targets[0])]
    columns = [
        *_places(split),
        *(
            Column(name, each, "" if one else unit, "+.3g", error if errors.any() else None, sums=True)
            for name, each, error in zip(headings, values.T.tolist(), errors.T.tolist(), strict=True)
        ),
        *_features(split),
    ]
    if split.read is not None:
        marks = np.pad(np.where(split.read, "", "masked"), ((0, 0), (1, 0)), constant_values="")
        columns.append(texts("", marks.ravel().tolist()))
    table = Table(
        f"{counted(count, 'sequence')} of {counted(places, 'step')}",
        tuple(columns),
        bars=headings[0] if one else "",
        scale=1.0 if unit else 0.0,
        size=values[:, 0],
        rows=ROWS,
    )
    if count > 1:
        return table
    method = f"{_method(split)}: {split.reason}{_sum(split)}"
    return replace(table, caption=answer_of(split), notes=(_outputs(split), method, *_saturated(split)), base=1)


def _places(split: Shares) -> Iterator[Column]:
    """The sequence, if there are several, the place and the name of each step."""
    count, places = split.shares.shape[:2]
    if count > 1:
        yield Column("sequence", np.repeat(np.arange(1, count + 1), 1 + places).tolist(), form="d")
    kind = "group" if split.groups is not None else "position" if split.tokens and not split.vectors else "step"
    yield Column(kind, [None if split.tokens else "nothing", *range(1, places + 1)] * count, form="d")
    if split.tokens:
        read = [name for row in split.tokens for name in ("nothing", *row)]
        yield texts("time" if split.vectors else "read", read)


def _features(split: Shares) -> Iterator[Column]:
    """The feature of each step with the largest share in the first output, and this share."""
    if split.features is None:
        return
    count, places = split.shares.shape[:2]
    features = split.features.reshape(count, places, -1, int(np.prod(split.shares.shape[2:])))[..., 0]
    if features.shape[2] > 1:
        best = np.abs(features).argmax(axis=2)
        names = split.feature_names or tuple(str(i + 1) for i in range(features.shape[2]))
        yield texts("feature", [name for row in best for name in ("", *(cut(names[i], FEATURE) for i in row))])
        theirs = np.take_along_axis(features, best[..., None], axis=2)[..., 0]
        yield Column("its share", [value for row in theirs.tolist() for value in (None, *row)], form="+.3g")


def answer_of(split: Shares) -> str:
    """The answer to one sequence, how sure the network is, and the step that speaks for it most."""
    output, shares = np.ravel(split.output[0]), split.shares[0].reshape(split.shares.shape[1], -1)
    errors = seen_errors(split)[0].reshape(shares.shape)
    probability = split.output if split.unit == "probability" else split.probability
    best = int(output.argmax())
    name, towards = named_output(split, np.ravel(split.targets[0])[best], again=True), 0
    if probability is None:
        caption = f"{name} is {output[best]:.4g}"
    else:
        part = float(np.ravel(probability[0])[best])
        is_largest = split.largest is None or bool(np.ravel(split.largest[0])[best])
        caption = verdict(name, part, len(split.output_names) if split.unit == "logit" and is_largest else 1)
        if split.class_names:
            caption = verdict_between(split.class_names, part)
        elif part <= DECIDES and not caption.startswith("does not"):
            caption = f"{quoted(name)}: {percent(part)}"
        towards = -1 if part < DECIDES and split.decides_between_two else 1
    kind = "step" if split.groups is None else "group"
    names = split.tokens[0] if split.tokens else tuple(nth(kind, place) for place in range(len(shares)))
    margins = (INTERVAL * errors[:, best]).tolist() if errors.any() else ()
    why = because(names, shares[:, best].tolist(), unit_of(split.unit), margins, towards=towards)
    wrong = split.wrong is not None and split.wrong[0]
    return f"{caption}{why}{f'; wrong: the label is {quoted(split.labels[0])}' if wrong else ''}"


def _outputs(split: Shares) -> str:
    """The explained outputs of one sequence, with and without its steps."""
    found: list[str] = []
    targets, output, without = (np.ravel(x[0]) for x in (split.targets, split.output, split.reference_output))
    probability: list[Any] = [None] * len(targets)
    if split.probability is not None:
        probability = np.ravel(split.probability[0]).tolist()
    for target, value, start, part in zip(targets, output, without, probability, strict=True):
        whole, nothing = ends(value, start, split.unit)
        known = "" if part is None else f", probability {chance(part)}"
        quantity = f"{split.unit} " * bool(split.unit)
        found.append(f"{named_output(split, target)}: {quantity}{whole}{known}, and {nothing} without any step")
    more = f"; and {len(found) - SAID} more" if len(found) > SAID else ""
    return f"{'; '.join(found[:SAID])}{more}"


def _method(split: Shares) -> str:
    if split.method != "shapley":
        return f"by {split.method.replace('_', ' ')}"
    estimated = split.standard_error is not None and bool(split.standard_error[0].any())
    return "Shapley values, ±: 95% interval" if estimated else "exact Shapley values"


def _missed(split: Shares) -> NDArray[np.bool_]:
    """Bool (batch, K), whose sum misses the change of the output by more than 1%."""
    changes = np.abs(split.output - split.reference_output)
    sizes = np.abs(split.shares).sum(axis=1) + np.abs(split.output) + np.abs(split.reference_output)
    return np.asarray(split.residuals > SMALL * changes + ROUNDING * sizes).reshape(len(changes), -1)


def _sum(split: Shares) -> str:
    """How far the sum of the shares of one sequence is from the change of the output."""
    missed, far = np.ravel(split.residuals[0]), _missed(split)[0]
    if not far.any():
        return f"; residual of the sum {missed.max():.1e}"
    worst = int(np.where(far, missed, 0).argmax())
    target = np.ravel(split.targets[0])[worst]
    name = named_output(split, target, again=True) if len(missed) > 1 else "the output"
    change = float(np.ravel(np.abs(split.output - split.reference_output)[0])[worst])
    return f"; the shares miss the change of {name} by {missed[worst]:.2g} of {change:.2g}"


def _saturated(split: Shares) -> tuple[str, ...]:
    """A sentence where a probability of one sequence is near 0 or 1."""
    found = split.output if split.unit == "probability" else split.probability
    for k, part in enumerate([] if found is None else np.ravel(found[0]).tolist()):
        of = f" of {named_output(split, np.ravel(split.targets[0])[k], again=True)}" if split.output.ndim > 1 else ""
        if caption := near_certainty(part, split.unit, "the shares say what moved", of):
            return caption
    return ()


def seen_errors(split: Shares) -> Array:
    """The standard errors of shares, as `without_rounding`."""
    errors = np.zeros_like(split.shares) if split.standard_error is None else split.standard_error
    return without_rounding(errors, split.output, split.reference_output, axis=1)


def without_rounding(errors: Array, output: Array, reference_output: Array, *, axis: int) -> Array:
    """Standard errors, 0 where they are rounding of the output, as of one that does not change; axis: of the steps."""
    size = np.expand_dims(np.fmax(np.abs(output), np.abs(reference_output)), axis)
    return np.where(errors > EPSILON * size, errors, 0.0)

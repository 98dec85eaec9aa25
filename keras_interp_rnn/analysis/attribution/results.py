"""The results of `attribution`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import integer
from keras_interp_rnn._results import Result
from keras_interp_rnn._types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(Result):
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
        method: the method that was used. reason: why it was used, and what limited it.
        targets: int, as `output`, the indices of the outputs.
        features: with "path_integral" the shares of the features of each step, (batch, time, features) or
            (batch, time, features, K), which sum to `shares`; None with other methods. For ids these are the features
            of their vectors.
        tokens: for each sequence the names of what it reads at each step, for views; () if they are not known.
        read: bool (batch, time), False at steps that the network itself masks for all that read them, whose shares are
            0; None if the masks are not known.

    Sequences, steps and features are indices from 0. Views count them from 1.

    Example: see `attribution`.
    """

    shares: Array
    output: Array
    reference_output: Array
    residual: float
    difference: float
    method: str
    reason: str
    targets: NDArray[np.int64]
    features: Array | None = None
    tokens: tuple[tuple[str, ...], ...] = ()
    read: NDArray[np.bool_] | None = None
    standard_error: Array | None = None
    num_runs: NDArray[np.int64] | None = None
    unit: str = ""
    probability: Array | None = None
    groups: NDArray[np.int64] | None = None

    @property
    def exact(self) -> bool:
        """Whether all shares are those of the method but for rounding: no sample, and no quadrature."""
        if self.method == "path_integral":
            return False
        return self.standard_error is None or not self.standard_error.any()

    @property
    def residuals(self) -> Array:
        """As `output`, |reference_output + sum of shares - output|."""
        return np.asarray(np.abs(self.reference_output + self.shares.sum(axis=1) - self.output))

    def top(self, num_steps: int = 5, *, sequence: int = 0, output: int = 0) -> list[tuple[int, float]]:
        """The steps with the largest shares by absolute value, the largest first.

        Args:
            num_steps: maximum number of steps.
            sequence: which sequence of the batch.
            output: which of the explained outputs.

        Returns:
            [(step, share), ...]; steps count from 0.
        """
        integer("num_steps", num_steps, 0)
        row = self.shares[sequence].reshape(self.shares.shape[1], -1)[:, output]
        return [(int(t), float(row[t])) for t in np.argsort(-np.abs(row), kind="stable")[:num_steps]]


@dataclass(frozen=True, eq=False, repr=False)
class TopAttribution(Result):
    r"""Shares of the steps of one text in the most probable outputs of a network.

    Attributes:
        tokens: (T,), the names of what is read.
        top: (K,), the outputs, the most probable first.
        predicted: (K,), their probabilities by a softmax; the value of a single output.
        shares: (T, K). reference_output: (K,), the outputs with no step there, in `unit`.
        output: (K,), those of the text.
        outputs: the names of all outputs.
        residual, method, unit: as of `Attribution`; "logit" also for outputs that no activation makes probabilities.
        read: bool (T,), standard_error: (T, K), as of `Attribution`.
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

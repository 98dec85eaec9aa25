"""Networks and agents under one interface: fitted to several sets of sessions at once, they give logits.

The units of a `DiagonalISAN` with one logit add up to it: its readout is fixed to ones, without a bias. A free readout
would only change the scale of each unit and, from the second trial on, add nothing that biases of the symbols cannot.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import keras
import numpy as np
from keras import ops

from examples.behaviour.agents import AGENTS, agent_logits, agents_for, fit_agent
from examples.behaviour.tasks import Array, Task, Trials
from keras_interp_rnn import constraints, fitting, layers

Logits = Callable[[Trials], Array]
"""Of the choices from the second on, (sessions, trials - 1, A - 1)."""

RESTARTS, MAX_STEPS = 2, 500
"""Starts of each fit, and steps of each start."""


@keras.saving.register_keras_serializable(package="examples.behaviour")
class ChoiceLoss(keras.losses.Loss):
    """Cross entropy of choices, int (batch, time), under logits (batch, time, A - 1); that of the first choice is 0."""

    def call(self, y_true: Any, y_pred: Any) -> Any:
        scores = ops.concatenate([ops.zeros_like(y_pred[..., :1]), y_pred], axis=-1)
        return ops.sparse_categorical_crossentropy(ops.cast(y_true, "int32"), scores, from_logits=True)


class Model(abc.ABC):
    """What predicts choices.

    Attributes:
        name: in tables. penalties: among which nested cross-validation chooses.
    """

    name: str
    penalties: ClassVar[tuple[float, ...]]

    @abc.abstractmethod
    def num_weights(self, task: Task) -> int:
        """Trained numbers."""

    @abc.abstractmethod
    def fit(self, trials: Trials, subsets: Array, *, penalties: Array, seed: int) -> list[Logits]:
        """Fits each of some sets of sessions, bool (fits, sessions), with a penalty of its own (fits,)."""


@dataclass(frozen=True)
class AgentModel(Model):
    """An agent, by maximum likelihood; sets that are fitted together have parameters of their own."""

    name: str
    penalties = (0.0,)

    def num_weights(self, task: Task) -> int:
        return len(AGENTS[self.name].parameters)

    def fit(self, trials: Trials, subsets: Array, *, penalties: Array, seed: int) -> list[Logits]:
        agent = AGENTS[self.name]
        groups, rows = np.nonzero(subsets)
        found = fit_agent(agent, trials.take(rows), groups=groups)
        return [functools.partial(agent_logits, agent, parameters) for parameters in found]


@dataclass(frozen=True)
class Network(Model):
    """A Keras model, by L-BFGS with a penalty on squares.

    Args:
        kind: "DiagonalISAN", "ISAN", "MinGRU", "GRU", "LSTM"; or "lags", logistic regression on the last trials.
        units: of the layer; lags.
    """

    kind: str
    units: int
    penalties = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"logistic regression, {self.units} lags" if self.kind == "lags" else f"{self.kind}({self.units})"

    def build(self, task: Task) -> keras.Model:
        """The compiled model: of ids of symbols, logits of the next choice; with the sum of squares as penalty."""
        symbols, size = keras.Input((None,), dtype="int32"), task.num_symbols
        outputs, square = task.num_choices - 1, keras.regularizers.L2(1.0)
        one_hot = keras.layers.Embedding(size, size, embeddings_initializer="identity", trainable=False)
        if self.kind == "lags":
            layer = keras.layers.Conv1D(outputs, self.units, padding="causal", kernel_regularizer=square)
            model = keras.Sequential([symbols, one_hot, layer])
        elif self.kind in ("ISAN", "DiagonalISAN"):
            settings: dict[str, Any] = {"return_sequences": True, "learn_initial_state": False}
            readout = keras.layers.Dense(outputs)
            if self.kind == "DiagonalISAN":
                settings["recurrent_constraint"] = constraints.Interval(0, 1)
                if outputs == 1:
                    readout = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", trainable=False)
            layer = getattr(layers, self.kind)(self.units, size, bias_regularizer=square, **settings)
            model = keras.Sequential([symbols, layer, readout])
        else:
            home = layers if self.kind == "MinGRU" else keras.layers
            layer = getattr(home, self.kind)(self.units, return_sequences=True, kernel_regularizer=square)
            model = keras.Sequential([symbols, one_hot, layer, keras.layers.Dense(outputs, kernel_regularizer=square)])
        model.compile(loss=ChoiceLoss())
        return model

    def num_weights(self, task: Task) -> int:
        return sum(int(np.prod(weight.shape)) for weight in self.build(task).trainable_variables)

    def fit(self, trials: Trials, subsets: Array, *, penalties: Array, seed: int) -> list[Logits]:
        fits = self.fits(trials, subsets, penalties=penalties, seed=seed)

        def logits(fit: int) -> Logits:
            return lambda trials: np.asarray(fits.load(fit).predict_on_batch(trials.symbols[:, :-1]))

        return [logits(fit) for fit in range(len(fits))]

    def fits(self, trials: Trials, subsets: Array, *, penalties: Array, seed: int) -> Any:
        """The same, as `fitting.fit_lbfgs` returns it."""
        keras.utils.set_random_seed(seed)
        data = trials.symbols[:, :-1], trials.choices[:, 1:], trials.scored.astype(float)
        settings: dict[str, Any] = {"num_restarts": RESTARTS, "max_steps": MAX_STEPS, "seed": seed, "verbose": 0}
        return fitting.fit_lbfgs(self.build(trials.task), data, subsets=subsets, penalty_factors=penalties, **settings)


def models_for(task: Task) -> list[Model]:
    """Those that are compared on a task."""
    networks = [("lags", 5), *(("DiagonalISAN", n) for n in (1, 2, 3)), ("ISAN", 2), ("MinGRU", 2)]
    networks += [*(("GRU", n) for n in (1, 2, 3, 4)), ("LSTM", 2)]
    return [*(AgentModel(agent.name) for agent in agents_for(task)), *(Network(*each) for each in networks)]

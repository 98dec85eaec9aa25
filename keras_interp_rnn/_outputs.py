"""Names of the outputs of a network, classes or quantities with units, and of the steps and features that it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from keras_interp_rnn._checks import invalid, is_hashable
from keras_interp_rnn._results import counted, short_repr, visible


@short_repr
@dataclass(frozen=True)
class Outputs(Sequence[str]):
    """Names of the outputs of a network: of its classes, or of the quantities that it predicts.

    Pass them as `outputs=` wherever a result names an output, or keep them with the model by `layer`. A list of names
    will do where there are no units.

    Args:
        names: distinct, one for each output. Of a network with one output that decides between two classes, as by a
            sigmoid, both: the class above the threshold comes last.
        units: of the quantities: one for all, or one for each; None if there are none.

    Raises:
        ValueError: if there is no name, one occurs twice, or there is not one unit for each.

    Example:

    >>> from keras_interp_rnn.datasets import Outputs
    >>> Outputs(["negative", "positive"]).of(1), Outputs(["load", "loss"], units="kW").of(2)
    (('positive',), ('load (kW)', 'loss (kW)'))

    A layer that returns its inputs saves the names with a model. Put it right after the input, of a model of strings
    after its text layer:

        model = keras.Sequential([
            keras.Input((None, 3)),
            outputs.layer(),
            keras.layers.LSTM(64),
            keras.layers.Dense(2),
        ])
    """

    names: Sequence[str]
    units: Sequence[str] | str | None = None

    def __post_init__(self) -> None:
        names = tuple(map(str, self.names)) if _is_list(self.names) else ()
        if not names or len(set(names)) < len(names):
            raise invalid("names", "a list of names, each once", self.names)
        units = self.units
        if _is_list(units):
            units = tuple("" if unit is None else str(unit) for unit in units)
        if not (units is None or isinstance(units, str) or (isinstance(units, tuple) and len(units) == len(names))):
            raise invalid("units", f"one unit, or one for each of {len(names)} outputs", self.units)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "units", units)

    def of(self, num_outputs: int) -> tuple[str, ...]:
        """The names of a network's outputs, with units.

        Args:
            num_outputs: number of outputs of the network.

        Raises:
            ValueError: if there is not a name for each output; of one output there may be two, of which it is the last.
        """
        units = (self.units,) * len(self) if isinstance(self.units, str) else self.units
        named = (
            tuple(self.names)
            if units is None
            else tuple(f"{a} ({b})" if b else a for a, b in zip(self, units, strict=True))
        )
        if num_outputs == 1 and len(named) == 2:
            return named[1:]
        if len(named) != num_outputs:
            raise invalid("outputs", f"a name for each of {num_outputs} outputs", self.names)
        return named

    def layer(self) -> Any:
        """A layer that returns its inputs and holds these names. Put it anywhere before the head of a model.

        Example:

        >>> Outputs(["no", "yes"]).layer().output_names.names
        ('no', 'yes')
        """
        import keras

        return keras.saving.get_registered_object("keras_interp_rnn>OutputsLayer")(self)

    def get_config(self) -> dict[str, object]:
        return {"names": list(self.names), "units": list(self.units) if isinstance(self.units, tuple) else self.units}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Outputs:
        return cls(**config)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: Any) -> Any:
        return self.names[index]


MANY_OUTPUTS, TOP = 64, 16
"""Above 64 outputs a view has the 16 most probable ones alone."""

SAME_OUTPUTS = ("Activation", "Dropout", "Identity", "ReLU", "Softmax")
"""Layers that make one output of each, by their names."""

GivenOutputs = Outputs | Sequence[str]
"""Names of outputs as users pass them."""


def as_outputs(given: Outputs | Sequence[str]) -> Outputs:
    """The names as users pass them."""
    return given if isinstance(given, Outputs) else Outputs(given)


def output_names(
    network: object, given: GivenOutputs | None, num_outputs: int, alphabet: Sequence[object] | None = None
) -> tuple[str, ...]:
    """A name for each output: those given, or that a layer carries, or of the alphabet; () where none has as many.

    Raises:
        ValueError: as `Outputs.of`, for those given.
    """
    if given is not None:
        return as_outputs(given).of(num_outputs)
    carried = carried_outputs(network)
    if carried is not None:
        fits = len(carried) == num_outputs or (len(carried), num_outputs) == (2, 1)
        return carried.of(num_outputs) if fits else ()
    if alphabet is not None and len(alphabet) == num_outputs > 1:
        return tuple(visible(str(name)) for name in alphabet)
    return ()


def two_classes(network: object, given: GivenOutputs | None, num_outputs: int) -> tuple[str, ...]:
    """Both names, where a single output has two: it decides between them; otherwise ()."""
    named = _given_or_carried(network, given)
    if named is None or num_outputs > 1 or len(named) != 2 or named.units is not None:
        return ()
    return named.of(2)


def true_classes(labels: object, classes: Sequence[str], count: int) -> NDArray[np.int64]:
    """The indices of the true classes of sequences, given by index or by name.

    Args:
        labels: one for each of `count` sequences. classes: their names.

    Raises:
        ValueError: if there is another number of labels, or one is no class.
    """
    given = list(labels) if _is_list(labels) else []
    if len(given) != count:
        raise invalid("labels", f"a class for each of {counted(count, 'sequence')}, by index or by name", labels)
    places: dict[object, int] = {name: i for i, name in enumerate(classes)}
    places |= {i: i for i in range(len(classes))}
    for label in given:
        if not is_hashable(label) or isinstance(label, bool) or label not in places:
            raise invalid("labels", f"indices in [0, {len(classes)}), or names: {', '.join(classes[:TOP])}", label)
    return np.array([places[label] for label in given], np.int64)


def have_units(network: object, given: GivenOutputs | None) -> bool:
    """Whether the outputs have units, as those of a regression."""
    named = _given_or_carried(network, given)
    return named is not None and named.units is not None


def _given_or_carried(network: object, given: GivenOutputs | None) -> Outputs | None:
    return carried_outputs(network) if given is None else as_outputs(given)


def class_names(network: object, given: GivenOutputs | None, num_outputs: int) -> tuple[str, ...]:
    """As `output_names`, a name for each class: one output decides between two."""
    return output_names(network, given, max(2, num_outputs))


def carried_outputs(model: object) -> Outputs | None:
    """The names that a layer of a model carries; None where none does."""
    parts = list(getattr(model, "layers", []))
    own = (getattr(part, "output_names", None) for part in parts)
    for found in own:
        if isinstance(found, Outputs):
            return found
    # A model within names its own outputs: they are those of the whole if nothing but an activation reads them.
    for part in reversed(parts):
        if hasattr(part, "layers"):
            return carried_outputs(part)
        if type(part).__name__ not in SAME_OUTPUTS:
            break
    return None


def _is_list(given: object) -> TypeGuard[Iterable[object]]:
    one = isinstance(given, str | bytes | set | frozenset) or (isinstance(given, np.ndarray) and given.ndim != 1)
    return isinstance(given, Iterable) and not one


def names_of_steps(vectors: NDArray[np.generic], times: Sequence[object] | None) -> tuple[tuple[str, ...], ...]:
    """For each sequence of vectors (batch, time, features) the names of its steps; () without names.

    Raises:
        ValueError: if there is not a name for each step, or the network reads no vectors.
    """
    return (_along("times", times, vectors, 1),) * len(vectors) if times is not None else ()


def names_of_features(vectors: NDArray[np.generic], features: Sequence[object] | None) -> tuple[str, ...]:
    """The names of the features of vectors (batch, time, features); () without names. Raises as `names_of_steps`."""
    return () if features is None else _along("features", features, vectors, 2)


def _along(argument: str, given: Sequence[object], vectors: NDArray[np.generic], axis: int) -> tuple[str, ...]:
    shape = np.shape(vectors)
    if len(shape) != 3:
        raise invalid(argument, "None for a network that reads no vectors", given, "Names of ids are an `alphabet`.")
    if not _is_list(given) or not isinstance(given, Sequence | np.ndarray) or len(given) != shape[axis]:
        raise invalid(argument, f"a name for each of {shape[axis]} {'steps' if axis == 1 else argument}", given)
    return tuple(visible(str(name)) for name in given)

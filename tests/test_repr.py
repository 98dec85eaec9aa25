"""Results at the prompt are short."""

import dataclasses
import importlib
from collections.abc import Mapping

import numpy as np

from keras_interp_rnn import automata, datasets
from keras_interp_rnn._results import Result, short_repr
from keras_interp_rnn.affine import AffineMap
from keras_interp_rnn.analysis.state_regularized.phrases import Phrases
from keras_interp_rnn.analysis.weighted.equivalence import Equivalence
from keras_interp_rnn.automata.inference import Inference
from keras_interp_rnn.automata.machines.edits import Change, Edit
from keras_interp_rnn.automata.networks import Agreement, Extraction, Fidelity, TrainingReport
from keras_interp_rnn.automata.queries import Learned
from keras_interp_rnn.fitting import Fits
from tests.test_public_names import PUBLIC, results

LINES, CHARACTERS = 16, 1200
BIG = np.random.default_rng(0).normal(size=(300, 7, 50))
WORD = tuple("ab" * 500)


def is_result(kind):
    """A dataclass or a NamedTuple of ours."""
    if not isinstance(kind, type) or not kind.__module__.startswith("keras_interp_rnn"):
        return False
    return dataclasses.is_dataclass(kind) or issubclass(kind, tuple)


def public_results():
    names = [name for name in PUBLIC if not name.endswith("figures")]
    modules = [*map(importlib.import_module, names), datasets.words]
    kinds = [kind for module in modules for kind in vars(module).values()]
    kinds += [kind for name in names for kind in results(name)]
    return sorted({AffineMap, *filter(is_result, kinds)}, key=lambda kind: kind.__name__)


def filled(kind):
    """An instance whose every field is a large array."""
    if issubclass(kind, tuple):
        return kind(*[BIG] * len(kind._fields))
    if issubclass(kind, Mapping):
        return kind(dict.fromkeys(("h", "alpha", "cell_u"), BIG))
    made = object.__new__(kind)
    for field in dataclasses.fields(kind):
        object.__setattr__(made, field.name, BIG)
    return made


AGREEMENT = Agreement(10_000, 9_999, 0.998765432, 0.999987654, WORD)
LANGUAGE = automata.DFA(
    np.random.default_rng(1).integers(0, 500, (500, 26)).tolist(), range(0, 500, 3), start=0, alphabet=range(26)
)
EDGES = tuple((i, i % 26) for i in range(500))
# Results that are sentences: what they are made of, in words.
SENTENCES = {
    "Agreement": AGREEMENT,
    "Certificate": automata.Certificate(True, LANGUAGE, LANGUAGE, tuple(range(500)), 1.0, 1 / 3, BIG[:, 0], BIG, ""),
    "Edit": Edit(WORD, WORD, False, True, (Change("insert", 3, None, "a symbol"),) * 300),
    "Equivalence": Equivalence(False, 1e-6, np.inf, -1, False, WORD, 1 / 3, False, 10_000, np.inf),
    "Extraction": Extraction(LANGUAGE, tuple(range(500)), BIG, BIG, BIG, EDGES, 0.9, BIG, "counts", None),
    "Fidelity": Fidelity(AGREEMENT, AGREEMENT, AGREEMENT),
    "Phrases": Phrases(dict.fromkeys(range(5), (("a phrase of five words", 1 / 3, 9),) * 40)),
    "Fits": Fits(None, BIG[0], BIG[0], BIG[0] > 0, np.ones(BIG[0].shape, int), 1.23456, None),
    "Learned": Learned(LANGUAGE, AGREEMENT, WORD, (WORD,) * 300, 10_000, 40, 1 / 3, False, "as the time is over", None),
    "Inference": Inference(automaton_accuracy=2 / 3, num_states=5, dfa=LANGUAGE, method="merging", support=BIG[0]),
    "TrainingReport": TrainingReport(
        learned=True,
        network_accuracy=1.0,
        automaton_accuracy=2 / 3,
        confidence=1 / 7,
        num_states=5,
        seconds=1.23456,
    ),
}


def test_a_result_of_large_arrays_is_a_line_or_a_small_table():
    digits = [f"{value:.8}"[:8] for value in BIG[0, 0]]
    for kind in public_results():
        shown = repr(SENTENCES[kind.__name__] if kind.__name__ in SENTENCES else filled(kind))
        assert len(shown.splitlines()) <= LINES, kind
        assert len(shown) <= CHARACTERS, kind
        assert not any(value in shown for value in digits), kind


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Viewless(Result):
    """A result without a table of its own."""

    number: float


def test_print_shows_the_fields_of_a_result_without_a_table_of_its_own():
    assert repr(Viewless(1 / 3)) == "Viewless(number=0.3333)"
    assert str(Viewless(1 / 3)).splitlines() == ["Viewless", "field   value", "number  0.3333"]


def test_the_results_are_all_here():
    names = {kind.__name__ for kind in public_results()}
    assert {"AffineMap", "Contributions", "Trace", "Alphabet", "Certificate"} <= names
    assert names >= SENTENCES.keys()


@short_repr
@dataclasses.dataclass
class Small:
    count: int
    share: float
    residual: np.float64
    names: tuple
    flags: list
    array: object
    inner: object = None
    hidden: int = dataclasses.field(default=3, repr=False)


def test_a_small_result_is_one_line_with_its_numbers_in_four_digits():
    small = Small(3, 1 / 3, np.float64(1.23456e-15), ("a",), [0.1 + 0.2], np.zeros(2))
    assert repr(small) == (
        "Small(count=3, share=0.3333, residual=1.235e-15, names=('a',), flags=[0.3], array=float64 (2,), inner=None)"
    )


def test_a_long_result_has_a_line_for_each_field_and_counts_what_is_long():
    inner = AffineMap(np.zeros((2, 3)), np.zeros(3))
    long = Small(3, 1.0, np.float64(0), ("word",) * 1000, list("ab"), np.zeros((2, 3), np.float32), inner)
    assert repr(long).splitlines() == [
        "Small",
        "  count     3",
        "  share     1",
        "  residual  0",
        "  names     tuple of 1,000",
        "  flags     ['a', 'b']",
        "  array     float32 (2, 3)",
        "  inner     AffineMap(matrix=float64 (2, 3), offset=float64 (3,))",
    ]


def test_values_are_shown_in_a_few_characters():
    for value, shown in (
        ("x" * 61, "'" + "x" * 56 + "..."),
        ((1.5,), "(1.5,)"),
        (tuple(range(10, 23)), "(10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22)"),
        (tuple(range(10, 26)), "tuple of 16"),
        (frozenset(range(100)), "frozenset of 100"),
        ({i: i for i in range(100)}, "dict of 100"),
        (range(10**9), "range(0, 1000000000)"),
        (np.int64(3), "3"),
        (np.zeros(()), "float64 ()"),
        (None, "None"),
        (True, "True"),
    ):
        assert repr(AffineMap(value, 0)) == f"AffineMap(matrix={shown}, offset=0)"


def test_tensors_of_a_backend_are_shown_by_dtype_and_shape():
    import keras

    shown = repr(AffineMap(keras.ops.zeros((2, 3)), keras.KerasTensor((None, 3))))
    assert shown.replace("torch.", "") == "AffineMap(matrix=float32 (2, 3), offset=float32 (None, 3))"


def test_a_small_automaton_shows_its_table():
    assert repr(automata.DFA([[0, 1], [1, 0]], {1}, start=0, alphabet="ab")) == (
        "DFA(transitions=((0, 1), (1, 0)), start=0, alphabet=('a', 'b'), accepting=frozenset({1}))"
    )

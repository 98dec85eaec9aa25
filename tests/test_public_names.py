import ast
import importlib
import re
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_interp_rnn

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from result_classes import results_by_page  # noqa: E402

NAMES = {
    "keras_interp_rnn": """
        analysis automata callbacks constraints datasets deploy fitting initializers layers losses presets
        regularizers views
    """,
    "keras_interp_rnn.analysis": """
        AffineMap Background BackoffModel Basis CompositionTable affine_map affine_surrogate attribution balanced_basis
        bias_norms change_basis contributions equivalent explain
        fixed_points generate homogeneous_matrices input_output_jacobian interactions jacobian_singular_values
        lyapunov_exponents mean_state minimize patching phase_portrait phrases prototypes readout_basis
        recent_contributions shapley_values sparse_basis state_spectrum substitutions
        surprise timescales trace transition_probabilities transition_spectra truncate
    """,
    "keras_interp_rnn.automata": """
        Certificate DFA MooreMachine Recognizer SymbolEmbedding WeightedAutomaton certify compile
        extract infer largest_temperature learn smallest_edit tomita train_recognizer
    """,
    "keras_interp_rnn.callbacks": """
        Attributions Automaton CarriedState Contributions JacobianHistograms Resumable ShapleyValues Stability
        Substitutions TemperatureSchedule Traces TransitionProbabilities
    """,
    "keras_interp_rnn.constraints": "Interval MaxSpectralNorm MaxSpectralRadius Zero",
    "keras_interp_rnn.datasets": """
        Alphabet DataError LabelledWords Outputs Windows abbadingo sessions text text8 tomita words
    """,
    "keras_interp_rnn.deploy": "to_c",
    "keras_interp_rnn.figures": """
        Figure contribution_column jacobian_histogram jacobian_percentiles phase_portrait timescales
        transition_map
    """,
    "keras_interp_rnn.fitting": "fit_lbfgs",
    "keras_interp_rnn.initializers": "CriticalBias mean_field",
    "keras_interp_rnn.layers": """
        CFN CFNCell DeltaNet DeltaNetCell DiagonalISAN DiagonalISANCell FactoredISAN FactoredISANCell
        GatedLinearAttention GatedLinearAttentionCell ISAN ISANCell LRU LRUCell MinGRU MinGRUCell MinLSTM
        MinLSTMCell MinimalRNN MinimalRNNCell PeepholeLSTM PeepholeLSTMCell RGLRU RGLRUCell SRGRU SRLSTM
        SRPeepholeLSTM SRSimpleRNN StateRegularizedCell StateRegularizedRNN WordDropout
    """,
    "keras_interp_rnn.losses": "BitsPerSymbol",
    "keras_interp_rnn.presets": "list load",
    "keras_interp_rnn.regularizers": "FromIdentity FromMean",
    "keras_interp_rnn.views": "bars save show",
}
PUBLIC = {module: names.split() for module, names in NAMES.items()}


def results(module):
    """The classes that functions of a module return, and that its `__all__` does not name."""
    pages = results_by_page(module, importlib.import_module(module).__all__)
    return [result for page in pages.values() for result in page]


@pytest.mark.parametrize("module", PUBLIC)
def test_the_contents_page_is_what_was_agreed_and_all_of_it_is_documented(module):
    imported = importlib.import_module(module)
    assert sorted(imported.__all__) == PUBLIC[module]
    assert imported.__doc__
    assert all(getattr(imported, name).__doc__ for name in PUBLIC[module])


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "notes").glob("*.md"))]
SCRIPTS = [*sorted((ROOT / "examples").glob("*.py")), *sorted((ROOT / "notebooks").glob("*.py"))]


def shown_code():
    """The code that users read: that of pages, of examples and of notebooks."""
    for page in PAGES:
        yield from re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    yield from (script.read_text(encoding="utf-8") for script in SCRIPTS)


def names_in(code):
    """(module, name) of each name that is taken from a module, and of each that is imported."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and not (place := ast.unparse(node.value)).startswith("keras."):
            yield place.rpartition(".")[2], node.attr
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("keras_interp_rnn"):
            yield from ((node.module.rpartition(".")[2], alias.name) for alias in node.names)


def test_every_public_name_is_in_code_on_a_page_in_an_example_or_in_a_notebook():
    """Otherwise nobody finds it: it gets a short true example where a reader would look for it, or it is not public."""
    shown = {pair for code in shown_code() for pair in names_in(code)}
    names = [(module, name) for module in PUBLIC for name in PUBLIC[module]]
    assert not [f"{module}.{name}" for module, name in names if (module.rpartition(".")[2], name) not in shown]


@pytest.mark.matrix
def test_the_code_in_the_readme_runs(tmp_path, monkeypatch, capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 110
    own, look, train = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    model = keras.Sequential([keras.Input((5, 3)), keras.layers.LSTM(4), keras.layers.Dense(2)])
    given = {"model": model, "x": np.ones((2, 5, 3)), "names": None}
    for code, page, names in ((own, "words", given), (look, "letters", {})):
        assert len(code.splitlines()) <= 5
        exec(compile(code, "README.md", "exec"), names)
        assert (tmp_path / f"{page}.html").read_text().startswith("<!doctype html>")
    exec(compile(train, "README.md", "exec"), {})
    assert "after 'return␣val'" in capsys.readouterr().out


def test_the_version_stands_in_one_place_and_the_citation_has_it():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^version: (.*)$", citation) == [keras_interp_rnn.__version__]
    assert "version = attr: keras_interp_rnn.__version__" in (ROOT / "setup.cfg").read_text(encoding="utf-8")

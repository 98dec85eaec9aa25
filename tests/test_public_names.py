import importlib
import re
from pathlib import Path

import pytest

import keras_interp_rnn

ROOT = Path(__file__).parents[1]

PUBLIC = {
    "keras_interp_rnn": [
        "analysis",
        "automata",
        "callbacks",
        "constraints",
        "datasets",
        "initializers",
        "layers",
        "losses",
        "presets",
        "views",
    ],
    "keras_interp_rnn.analysis": [
        "AffineMap",
        "Attribution",
        "Background",
        "BackoffModel",
        "Basis",
        "BiasParts",
        "CellFixedPoints",
        "CompositionTable",
        "Contributions",
        "Equivalence",
        "Explanation",
        "FixedPoints",
        "Minimization",
        "Phrases",
        "Prototypes",
        "RecentContributions",
        "ShapleyValues",
        "StatesAfterWords",
        "Substitutions",
        "Timescales",
        "Trace",
        "TransformedNetwork",
        "TransitionSpectra",
        "Truncation",
        "TwoExponentials",
        "WordContributions",
        "affine_map",
        "attribution",
        "bias_cosines",
        "bias_norms",
        "bias_parts",
        "binarized_network",
        "centred_basis",
        "change_basis",
        "contributions",
        "contributions_by_age",
        "equivalent",
        "explain",
        "fixed_points",
        "generate",
        "homogeneous_matrices",
        "input_output_jacobian",
        "jacobian_singular_values",
        "label_basis",
        "mean_state",
        "minimize",
        "phrases",
        "prototypes",
        "readout_basis",
        "recent_contributions",
        "relative_drift",
        "shapley_values",
        "sparse_basis",
        "state_spectrum",
        "substitutions",
        "timescales",
        "trace",
        "transition_probabilities",
        "transition_spectra",
        "truncate",
    ],
    "keras_interp_rnn.automata": [
        *("Agreement", "Certificate", "DFA", "Extraction", "Fidelity", "MooreMachine", "Recognizer"),
        *("SymbolEmbedding", "TrainingReport", "WeightedAutomaton", "WordEncoding", "certify", "compile", "extract"),
        *("largest_temperature", "tomita", "train_recognizer"),
    ],
    "keras_interp_rnn.callbacks": [
        "Automaton",
        "CarriedState",
        "Contributions",
        "JacobianHistograms",
        "Resumable",
        "ShapleyValues",
        "Stability",
        "Substitutions",
        "TemperatureSchedule",
        "Traces",
        "TransitionProbabilities",
    ],
    "keras_interp_rnn.constraints": ["MaxSpectralNorm", "MaxSpectralRadius", "Zero"],
    "keras_interp_rnn.datasets": [
        "DataError",
        "LabelledWords",
        "Windows",
        "balanced_parentheses",
        "counting",
        "palindromes",
        "text",
        "text8",
        "tomita",
        "words",
    ],
    "keras_interp_rnn.figures": [
        "Figure",
        "contribution_column",
        "jacobian_histogram",
        "jacobian_percentiles",
        "state_paths",
        "state_spectra",
        "temperatures",
        "timescales",
        "token_map",
        "transition_map",
    ],
    "keras_interp_rnn.initializers": ["CriticalBias", "MeanField", "mean_field"],
    "keras_interp_rnn.layers": [
        *(
            "CFN",
            "CFNCell",
            "FactoredISAN",
            "FactoredISANCell",
            "ISAN",
            "ISANCell",
            "MinimalRNN",
            "MinimalRNNCell",
            "PeepholeLSTM",
            "PeepholeLSTMCell",
        ),
        *(
            "SRGRU",
            "SRLSTM",
            "SRPeepholeLSTM",
            "SRSimpleRNN",
            "StateRegularizedCell",
            "StateRegularizedRNN",
            "WordDropout",
        ),
    ],
    "keras_interp_rnn.presets": ["Card", "Figure", "Preset", "list", "load"],
    "keras_interp_rnn.views": ["save", "show"],
}


@pytest.mark.parametrize("module", PUBLIC)
def test_the_contents_page_is_what_was_agreed(module):
    imported = importlib.import_module(module)
    assert sorted(imported.__all__) == PUBLIC[module]
    assert all(hasattr(imported, name) for name in PUBLIC[module])
    assert imported.__doc__


@pytest.mark.parametrize("module", [module for module in PUBLIC if module != "keras_interp_rnn"])
def test_every_public_function_and_class_is_documented(module):
    imported = importlib.import_module(module)
    assert all(getattr(imported, name).__doc__ for name in imported.__all__)


@pytest.mark.matrix
def test_the_code_in_the_readme_runs(tmp_path, monkeypatch, capsys):
    look, code = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(look.splitlines()) <= 5
    assert len(code.splitlines()) <= 15
    monkeypatch.chdir(tmp_path)
    exec(compile(look, "README.md", "exec"), {})
    assert (tmp_path / "prediction.html").read_text().startswith("<!doctype html>")
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert "```\n" + "\n".join(printed) + "\n```" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
    exec(compile(code, "README.md", "exec"), {})
    letter, *_ = capsys.readouterr().out.strip().splitlines()[-1]
    assert letter


def test_the_version_stands_in_one_place_and_the_citation_has_it():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^version: (.*)$", citation) == [keras_interp_rnn.__version__]
    assert "version = attr: keras_interp_rnn.__version__" in (ROOT / "setup.cfg").read_text(encoding="utf-8")

"""The competition's files: words, probabilities and machines, from a folder and from an archive, whole and damaged."""

import tarfile

import numpy as np
import pytest

from keras_interp_rnn.automata import WeightedAutomaton
from keras_interp_rnn.datasets import DataError, pautomac

MODEL = """I: (state)
\t(0) 0.25
\t(2) 0.75
F: (state)
\t(1) 0.5
\t(2) 1.0
S: (state,symbol)
\t(0,0) 0.75
\t(0,2) 0.25
\t(1,1) 1.0
T: (state,symbol,state)
\t(0,0,1) 1.0
\t(0,2,0) 0.5
\t(0,2,1) 0.5
\t(1,1,1) 1.0
"""
FILES = {
    "7.pautomac.train": "4 3\n2 0 1\n0\n1 2\n3 2 0 1\n",
    "7.pautomac.test": "2 3\n0\n1 0\n",
    "7.pautomac_solution.txt": "2\n0.9\n0.1\n",
    "7.pautomac_model.txt": MODEL,
}


@pytest.fixture(params=["folder", "archive"])
def source(request, tmp_path):
    folder = tmp_path / "pautomac"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    if request.param == "folder":
        return folder
    archive = tmp_path / "pautomac.tar.xz"
    with tarfile.open(archive, "w:xz") as made:
        made.add(folder, "pautomac")
    return archive


def test_words_are_read(source):
    train = pautomac.load("train", problem=7, source=source)
    assert train.num_symbols == 3
    assert [word.tolist() for word in train.words] == [[0, 1], [], [2], [2, 0, 1]]
    assert all(word.dtype == np.int32 for word in train.words)
    assert [word.tolist() for word in pautomac.load("test", problem=7, source=str(source)).words] == [[], [0]]


def test_the_machine_is_read_and_gives_probabilities(source):
    read = pautomac.machine(7, source=source)
    assert (read.emissions.shape, read.transitions.shape) == ((3, 3), (3, 3, 3))
    automaton = WeightedAutomaton.from_hmm(read.initial, read.transitions, read.emissions, stop=read.stop)
    # State 2 ends at once and puts out nothing.
    assert automaton.value(()) == 0.75
    assert automaton.value((2, 0, 1)) == 0.25 * 0.25 * 0.5 * 0.75 * 0.5 * 0.5
    assert automaton.prefix_sums().value(()) == pytest.approx(1)


def test_the_solution_is_read(source):
    assert pautomac.solution(7, source=source).tolist() == [0.9, 0.1]


def test_the_score_is_that_of_the_competition():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([2.0, 1.0, 1.0])
    expected = 2 ** -(0.5 * np.log2(0.5) + 0.3 * np.log2(0.25) + 0.2 * np.log2(0.25))
    assert pautomac.perplexity(q, p) == pytest.approx(expected)
    assert pautomac.perplexity(p, 3 * p) <= pautomac.perplexity(q, p)
    assert pautomac.perplexity([1, 1], [1, 0]) == 2
    for estimates in ([0.5, 0.5, 0.0], [0.5, np.nan, 0.5], [0.5, np.inf, 0.5], [0.5, 0.5]):
        with pytest.raises(ValueError, match="estimates are above 0"):
            pautomac.perplexity(estimates, p)


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("7.pautomac.train", "", "begins with the number of its words"),
        ("7.pautomac.train", "5 3\n0\n", "begins with the number of its words"),
        ("7.pautomac.train", "1 3\n2 0\n", "the length of its word"),
        ("7.pautomac.train", "1 3\n1 3\n", r"symbols in \[0, 3\)"),
        ("7.pautomac.train", "1 3\n1 x\n", "none of its format"),
        ("7.pautomac.train", "1 3\n1 \u00e9\n", "cannot be read"),
        ("7.pautomac_solution.txt", "3\n0.9\n0.1\n", "begins with the number of probabilities"),
        ("7.pautomac_solution.txt", "2\n1.9\n-0.1\n", "a number below 0"),
        ("7.pautomac_solution.txt", "2\n0.9\nmuch\n", "a number a line"),
        ("7.pautomac_model.txt", "I: (state)\n\t(0) one\n", "none of its format"),
        ("7.pautomac_model.txt", "(0) 1.0\n", "none of its format"),
        ("7.pautomac_model.txt", MODEL.replace("I: (state)", "I: (1) 0.5"), r"Received: 'I: \(1\) 0.5'"),
        ("7.pautomac_model.txt", MODEL.replace("0.25", "nan", 1), r"Received: '\\t\(0\) nan'"),
        ("7.pautomac_model.txt", MODEL.replace("(2) 0.75", "(0) 0.75", 1), r"Received: '\\t\(0\) 0.75'"),
        ("7.pautomac_model.txt", "I: (state)\n\t(0,1) 1.0\nS: (state,symbol)\n\t(0,0) 1.0\n", "other columns"),
        ("7.pautomac_model.txt", "", "none of symbols"),
    ],
)
def test_what_is_damaged_is_refused(tmp_path, name, text, rule):
    (tmp_path / name).write_text(text, encoding="utf-8")
    read = {"train": lambda: pautomac.load("train", problem=7, source=tmp_path)}
    read["txt"] = lambda: (pautomac.machine if "model" in name else pautomac.solution)(7, source=tmp_path)
    with pytest.raises(DataError, match=rule):
        read[name.rsplit(".", 1)[1]]()


def test_what_is_not_there_is_refused(source, tmp_path):
    with pytest.raises(DataError, match="which has no 8.pautomac.train"):
        pautomac.load("train", problem=8, source=source)
    with pytest.raises(DataError, match="which has no 7.pautomac.test"):
        pautomac.load("test", problem=7, source=tmp_path / "nowhere")
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(DataError, match="cannot be read"):
        pautomac.load("test", problem=7, source=tmp_path / "text")
    with pytest.raises(ValueError, match="must be one of"):
        pautomac.load("validation", problem=7, source=source)


@pytest.mark.parametrize(("estimates", "targets"), [([], []), ([1, 1], [0, 0]), ([1, 1], [np.inf, 0])])
def test_a_perplexity_is_of_words_of_which_some_occur(estimates, targets):
    with pytest.raises(ValueError, match="one probability for each test word; estimates are above 0, targets not all"):
        pautomac.perplexity(estimates, targets)

"""python -m examples.papers."""

import errno
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import keras
import pytest

from examples.papers import __main__ as command_line
from examples.papers import _commands, _report
from examples.papers import _recommendation as recommendation
from examples.papers import _records as records
from examples.papers._experiment import Result
from examples.papers.data import interactions
from tests.papers.common import EXPERIMENTS, RECORDS, committed, needs_records

ROOT = Path(__file__).parents[2]

ROWS = {
    "isan-text8": ["ISAN-8e4", "IRNN-8e4"],
    "isan-ablations": ["naive Bayes", "ISAN without biases", "linear, nonlinear readout"],
    "tomita": ["1"],
    "compare-extraction": ["1"],
    "sr-parentheses": ["small-LSTM"],
    "sr-palindromes": ["small-SR-LSTM"],
    "sr-imdb": ["LSTM-P", "SR-LSTM-P (k = 10, eq. 19)"],
}


def run(name, *arguments):
    return command_line.main(["run", name, *map(str, arguments)])


def report(*arguments):
    return command_line.main(["report", *map(str, arguments)])


@pytest.mark.matrix
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "tuning"])
def test_every_experiment_runs_on_generated_data_and_is_reported(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(_commands, "scratch_folder", lambda: tmp_path)
    rows = ROWS.get(name, list(EXPERIMENTS[name].rows)[:2])
    assert run(name, "--smoke", "--rows", *rows, "--verbose", "0", "--data", tmp_path / "data") == 0
    found = _report.read(tmp_path / "records")
    assert {record["table"]["row"] for record in found} == set(rows)
    assert {record["experiment"] for record in found} == {name}
    assert all(record["environment"]["versions"]["keras"] for record in found)
    text = "".join(_report.pages(list(EXPERIMENTS.values()), found, path=tmp_path / "results.md").values())
    assert EXPERIMENTS[name].place.split(",")[0] in text
    assert "![" not in text, "no pictures beside this report"
    said = capsys.readouterr().out
    assert re.search(rf"\[{len(rows)} of {len(rows)}; about \d+ min left\]", said) or len(rows) == 1
    # A second time nothing is trained.
    assert run(name, "--smoke", "--rows", rows[0]) == 0
    assert "(recorded before, " in capsys.readouterr().out


COMMAND = """
import sys
from pathlib import Path
from examples.papers import __main__, _commands
_commands.scratch_folder = lambda: Path({folder!r})
raise SystemExit(__main__.main({arguments!r}))
"""


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("isan-text8", "LSTM-8e4"),
        ("sr-parentheses", "large_paper-SR-LSTM-P-shared"),
        ("minimal-rnn-recommendation", "MinimalRNN"),
    ],
)
def test_a_process_that_builds_no_network_resumes_a_training(name, row, tmp_path, monkeypatch):
    """A killed run goes on in a new process, in which no class is known but those that the command imports."""
    monkeypatch.setattr(_commands, "scratch_folder", lambda: tmp_path)
    arguments = ["run", name, "--smoke", "--rows", row, "--verbose", "0"]
    assert command_line.main(arguments) == 0
    path = records.path_of(tmp_path / "records", name)
    [record] = records.read(path)
    path.unlink()
    program = COMMAND.format(folder=str(tmp_path), arguments=arguments)
    resumed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert resumed.returncode == 0, resumed.stderr[-2000:]
    assert [set(again["result"]) for again in records.read(path)] == [set(record["result"])]


def test_the_list_names_every_experiment_row_and_source(capsys):
    assert command_line.main(["list"]) == 0
    said = capsys.readouterr().out
    for name, experiment in EXPERIMENTS.items():
        assert f"{name}: {experiment.title}, {experiment.place}; " in said
        assert experiment.data in said
        assert all(f"- {row}" in said for row in experiment.rows)
        assert all((experiment.title, experiment.place, experiment.measure))
        assert set(experiment.paper) <= set(experiment.rows)
        assert experiment.options <= {"data", "model", "budget"}
        assert bool(experiment.data) == ("data" in experiment.options)
        assert experiment.minutes is None or "budget" in experiment.options


@pytest.mark.core
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["sr-imbd"], "The experiments are isan-text8, .* `list` says more. Received: 'sr-imbd'"),
        (["sr-imdb", "--rows", "BERT"], "sr-imdb has the rows 'LSTM', 'LSTM-P', .*Received: 'BERT'. Take one"),
        (
            ["sr-imdb", "--data", "nowhere"],
            "`--data` must be a file or folder. Received: nowhere, which does not exist",
        ),
        (["isan-text8", "--data", "nowhere.xz"], "`--data` must be a file. Received: nowhere.xz, which does not exist"),
        (
            ["sr-imdb", "--model", "a.keras"],
            r"sr-imdb \(LSTM, LSTM-P, .*has no use for --model. Received: --model a.keras. Leave it out\.$",
        ),
        (
            ["isan-ablations", "--rows", "bigrams", "--budget", "5"],
            "no use for --budget. Received: --budget 5.0. Leave it out: the number of epochs is part of",
        ),
        (["all", "--data", "somewhere"], "All experiments share no --data. Received: all with --data. Name an"),
        (["all", "--rows", "LSTM"], "All experiments share no --rows"),
        (["all", "--budget", "5"], "All experiments share no --budget"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments, says, tmp_path, capsys):
    folders = ["--runs", str(tmp_path / "runs"), "--records", str(tmp_path / "records")]
    assert run(*arguments, *folders) == 2
    [line] = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("papers: ")
    assert re.search(says, line), line
    assert not (tmp_path / "records").exists()


def test_of_all_experiments_those_without_data_are_left_out_and_named(monkeypatch, capsys):
    asked = []

    def run_rows(experiment, args):
        asked.append(experiment.name)
        if experiment.name in ("sr-imdb", "sr-mnist"):
            raise ValueError("There is nothing to download.")

    monkeypatch.setattr(_commands, "run_rows", run_rows)
    assert run("all") == 2
    assert asked == [name for name in EXPERIMENTS if name != "tuning"]
    *_, first, second, last = capsys.readouterr().err.strip().splitlines()
    assert first == "papers: sr-imdb: There is nothing to download."
    assert second == "papers: sr-mnist: There is nothing to download."
    assert last.endswith("Received: all, without sr-imdb, sr-mnist; see above.")


RETURNED = {
    "data": {"name": "", "sha256": ""},
    "model": {"parameters": 1},
    "protocol": {"seed": 0},
    "result": Result(test=0.1, validation=0.1, seconds=1.0, read=1, unit="error"),
}


@pytest.mark.parametrize(
    ("table", "row", "minutes", "seeds"),
    [
        ("isan-ablations", "unigrams", None, 1),
        ("isan-ablations", "linear", 5.0, 2),
        ("sr-imdb", "LSTM", 5.0, 2),
        ("minimal-rnn-start", "inputs of standard deviation 1", None, 1),
        ("sr-palindromes", "large-LSTM", None, 2),
    ],
)
def test_minutes_and_seeds_go_to_rows_that_have_a_use_for_them(
    table, row, minutes, seeds, tmp_path, monkeypatch, capsys
):
    runs = []

    def recorded(self, run):
        runs.append((run.minutes, run.seed))
        return {**RETURNED, "protocol": {"seed": run.seed}}

    monkeypatch.setattr(type(EXPERIMENTS[table]), "run", recorded)
    monkeypatch.setattr(type(EXPERIMENTS[table]), "summary", lambda self, record: "")
    arguments = [table, "--rows", row, "--seeds", "2", "--records", tmp_path / "records", "--runs", tmp_path / "runs"]
    if minutes is None:  # refused, and nothing is trained
        assert run(*arguments, "--budget", "5") == 2
        assert f"{table} ({row}) has no use for --budget. Received: --budget 5.0." in capsys.readouterr().err
        assert not runs
    else:
        arguments += ["--budget", "5"]
    assert run(*arguments) == 0
    assert runs == [(minutes, seed) for seed in range(seeds)]
    [written] = (tmp_path / "records").iterdir()
    assert {record["protocol"]["minutes"] for record in records.read(written)} == {minutes}
    assert run(*arguments, "--records", tmp_path / "more", "--first-seed", "7") == 0
    assert [seed for _, seed in runs[seeds:]] == [7, 8] if seeds > 1 else [0]


@pytest.mark.core
@pytest.mark.parametrize(
    ("verb", "options"),
    {
        "run": ["--budget -1", "--budget 0", "--seeds 0", "--seeds 1.5", "--first-seed -1"],
        "tune": ["--trials 0", "--steps 0", "--epochs 0"],
    }.items(),
)
def test_numbers_that_mean_nothing_are_refused(verb, options, capsys):
    for option, number in map(str.split, options):
        with pytest.raises(SystemExit) as stop:
            command_line.main([verb, "sr-imdb", option, number])
        assert stop.value.code == 2
        assert f"argument {option}: " in capsys.readouterr().err


def recipe(monkeypatch):
    """The experiment of the recipe in CONTRIBUTING, in the list of experiments."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## A new table")[2]
    [code] = re.findall(r"^ +```python\n(.*?)^ +```", section.partition("\n## ")[0], re.MULTILINE | re.DOTALL)
    names = {}
    exec(textwrap.dedent(code), names)  # as in a file of its own
    adding = names["Adding"]()
    monkeypatch.setattr(command_line, "EXPERIMENTS", (*command_line.EXPERIMENTS, adding))
    return adding


@pytest.mark.matrix  # a whole training
@needs_records
def test_a_table_by_the_recipe_runs_and_is_reported_with_the_others(tmp_path, monkeypatch, capsys):
    adding = recipe(monkeypatch)
    assert run("adding", "--records", tmp_path, "--runs", tmp_path / "runs", "--verbose", "0") == 0
    assert "mean squared error" in capsys.readouterr().out
    for suffix in ("jsonl", "md"):
        shutil.copy(RECORDS / f"temperature.{suffix}", tmp_path)
    assert report("--records", tmp_path) == 0
    text = capsys.readouterr().out
    for row in adding.rows:
        assert re.search(rf"\| normal numbers \| {row} \| [\d,]+ \| 1 \| [\d.]+ \| .*\| 2,000 sequences \|", text)
    assert "| 0.01 |" in text
    assert f"\n## {adding.title} ({adding.place})\n\n`python -m examples.papers run adding`; mean squared" in text
    assert EXPERIMENTS["temperature"].title in text
    # A record that its table cannot show leaves that table out, is named, and takes no other table with it.
    path = tmp_path / "adding.jsonl"
    path.write_text(path.read_text().replace("training_seconds", "seconds", 1))
    out = tmp_path / "results.md"
    for arguments in ([], ["--out", out]):
        assert report("--records", tmp_path, *arguments) == 2
        captured = capsys.readouterr()
        text = captured.out or "".join(path.read_text() for path in tmp_path.glob("results*.md"))
        assert adding.title not in text
        assert EXPERIMENTS["temperature"].title in text
        assert re.search(r"has all tables but adding\. adding: .*adding-GRU-0 \(KeyError\('training_", captured.err)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"result": {"test_error": 0.1}}, "`run` of adding must return a record whose result is a Result. Received: {"),
        ({"model": {}}, "must return a record with 'parameters' in 'model'. Received: model {}"),
    ],
)
def test_a_record_that_the_usual_table_cannot_show_is_refused_when_it_is_returned(
    changed, says, tmp_path, monkeypatch, capsys
):
    adding = recipe(monkeypatch)
    monkeypatch.setattr(type(adding), "run", lambda self, run: {**RETURNED, **changed})
    assert run("adding", "--rows", "GRU", "--records", tmp_path / "records", "--runs", tmp_path) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"test": "0.1"}, "`test` of a Result must be a number. Received: '0.1'"),
        ({"unit": "%"}, "name in Python's form"),
    ],
)
def test_a_result_has_numbers_and_a_unit(changed, says):
    whole = {"test": 0.25, "validation": 0.5, "seconds": 1.0, "read": 10, "unit": "error", "more": {"steps": 3}}
    assert Result.of(Result(**whole).entries()) == Result(**whole)
    with pytest.raises(ValueError, match=re.escape(says)):
        Result(**{**whole, **changed})


def test_a_record_of_other_settings_or_another_budget_is_not_overwritten(tmp_path, capsys):
    path = tmp_path / "sr-imdb.jsonl"
    protocol = {**EXPERIMENTS["sr-imdb"].rows["LSTM"], "minutes": 5, "learning_rate": 0.5}
    record = {"experiment": "sr-imdb", "run": "sr-imdb-LSTM-0", "table": {"row": "LSTM"}, "protocol": protocol}
    records.append(tmp_path, record)
    before = path.read_text()
    assert run("sr-imdb", "--rows", "LSTM", "--budget", "7", "--records", tmp_path, "--seeds", "2") == 2
    says = "the same settings. Received: {'learning_rate': 0.0118, 'minutes': 7.0}, and "
    assert f"{says}{path} with {{'learning_rate': 0.5, 'minutes': 5}}" in capsys.readouterr().err
    assert path.read_text() == before


def test_a_record_of_other_data_is_not_taken_for_the_rows(tmp_path, capsys):
    file = tmp_path / "one.txt"
    file.write_text("a x y z\nb y x z\n")
    about = recommendation.identity("one", interactions.load(file))
    records.append(
        tmp_path,
        {
            "experiment": "minimal-rnn-recommendation",
            "run": "minimal-rnn-recommendation-GRU-0",
            "table": {"row": "GRU"},
            "data": about,
            "protocol": {"minutes": None},
            "result": {"map_20": 0.1},
        },
    )
    arguments = ["minimal-rnn-recommendation", "--rows", "GRU", "--records", str(tmp_path), "--data", str(file)]
    assert run(*arguments) == 0
    assert "GRU: MAP@20 0.1000 (recorded before, " in capsys.readouterr().out
    file.write_text("a x y z\nb y x x\n")
    assert run(*arguments) == 2
    assert f"with {{'sha256': '{about['sha256']}'}}" in capsys.readouterr().err
    assert run(*arguments[:-1], tmp_path / "nowhere") == 2
    assert "which does not exist" in capsys.readouterr().err


@pytest.mark.matrix
def test_a_full_disk_keeps_what_there_is(tmp_path, monkeypatch, capsys):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_commands, "scratch_folder", lambda: tmp_path)
    arguments = ["sr-imdb", "--smoke", "--rows", "LSTM", "--verbose", "0"]
    with monkeypatch.context() as patched:
        patched.setattr(records, "append", full)
        assert run(*arguments) == 2
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert line.startswith("papers: [Errno 28] No space left on device.")
    assert line.endswith("Finished epochs and records are kept: the same command resumes.")
    monkeypatch.setattr(keras.Model, "fit", lambda *args, **kwargs: pytest.fail("trained again"))
    assert run(*arguments) == 0
    assert records.find(tmp_path / "records", "sr-imdb", "sr-imdb-LSTM-0")


@pytest.mark.matrix
@needs_records
def test_a_report_with_a_place_has_its_figures_beside_it(tmp_path):
    out = tmp_path / "of mine" / "mine.md"
    assert report("--records", str(RECORDS), "--out", str(out)) == 0
    [spectra] = committed("isan-spectra")
    drawn = [
        *["isan-1-balanced.png", "isan-1.png"] * ("spectrum" in spectra["result"]["networks"][0]),
        *("jacobians_in_training.png", "jacobians_in_training_by_gates.png"),
        *("parentheses-centroids.png", "parentheses-counts.png"),
        *("range-precision.png", "recommendation_progress.png"),
    ]
    assert sorted(path.name for path in (out.parent / "figures").iterdir()) == drawn
    text = "".join(path.read_text() for path in out.parent.glob("mine*.md"))
    assert all(f"](figures/{name})\n" in text for name in drawn)
    assert set(re.findall(r"\]\(figures/(.*)\)", text)) == set(drawn)


# The command as a stranger runs it. Where TensorFlow is not to be imported, it cannot be.

BLOCKED = "import sys; sys.modules.update(tensorflow=None, keras=None, numpy=None)"


def command(*given, blocked=False, folder=None):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    if blocked:
        (folder / "sitecustomize.py").write_text(BLOCKED)
        environment["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-m", "examples.papers", *map(str, given)],
        capture_output=True,
        text=True,
        env={**environment, "COLUMNS": "120"},
        cwd=ROOT,
    )


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        ([], 2, "usage: python -m examples.papers [-h] {list,run,report,tune,check,preset}"),
        (["list"], 0, "sr-palindromes: "),
        (["--help"], 0, "search for the hyperparameters of a row"),
        (["run", "--help"], 0, "experiments: isan-text8, "),
        (["tune", "--help"], 0, "number of trials (default: 20)"),
        (["run", "sr-imdb", "--budget", "inf"], 2, "must be a finite number above 0. Received: inf"),
    ],
)
def test_the_command_reads_its_options_without_tensorflow(given, code, says, tmp_path):
    done = command(*given, blocked=True, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert says in (done.stdout if code == 0 else done.stderr)
    assert not (done.stderr if code == 0 else done.stdout)


@pytest.mark.matrix
def test_the_command_runs_without_a_word_of_tensorflows():
    done = command("run", "minimal-rnn-start", "--smoke")
    assert done.returncode == 0
    assert done.stderr == ""
    *lines, last = done.stdout.strip().splitlines()
    assert last.startswith("Records: ")
    assert sum("median singular value of dh_T/dx_(T-5): vanilla " in line for line in lines) == 2


@pytest.mark.parametrize("verb", ["run", "report", "tune", "check"])
def test_every_option_with_a_value_says_its_default(verb, capsys):
    with pytest.raises(SystemExit):
        command_line.main([verb, "--help"])
    said = " ".join(capsys.readouterr().out.split()).split("options:")[1]
    options = re.findall(r" (--[a-z]+) (?:[A-Z]+|{0,1,2})", said)
    assert len(options) >= 2
    texts = re.split(r" --[a-z]+ ", said)
    missing = [text for text in texts if re.match(r"[A-Z{]", text) and "(default: " not in text]
    assert [text for text in missing if not text.startswith("ROW the row whose")] == []


@needs_records
class TestCheck:
    def check(self, *arguments):
        return command_line.main(["check", "--records", *map(str, arguments)])

    def test_a_report_that_was_edited(self, tmp_path, capsys):
        shutil.copytree(ROOT / "docs" / "figures", tmp_path / "figures")
        for path in (ROOT / "docs").glob("results*.md"):
            shutil.copy(path, tmp_path)
        assert self.check(RECORDS, "--report", tmp_path / "results.md") == 0
        assert re.search(r"\d+ records of \d+ experiments can be read.", capsys.readouterr().out)
        page = tmp_path / "results-isan.md"
        page.write_text(page.read_text().replace("1.661", "1.660"))
        assert self.check(RECORDS, "--report", tmp_path / "results.md") == 2
        assert "A report is generated from its records. Received: " in capsys.readouterr().err

    def test_a_record_of_an_unknown_experiment(self, tmp_path, capsys):
        records.append(tmp_path, {"experiment": "sr-imbd", "run": "x"})
        assert self.check(tmp_path) == 2
        assert re.search(r"Received: .*jsonl: x of 'sr-imbd'. Remove it, or register", capsys.readouterr().err)

    def test_records_without_a_digest_are_counted(self, tmp_path, capsys):
        records.append(tmp_path, committed("tomita")[0])
        assert self.check(tmp_path) == 0
        assert "older than digests" not in capsys.readouterr().out, "its words are generated"
        whole = next(record for record in committed("sr-imdb") if record["run"] == "sr-imdb-LSTM-0")
        whole["data"].pop("sha256", None)
        records.append(tmp_path, whole)
        assert self.check(tmp_path) == 0
        assert "1 of them, older than digests," in capsys.readouterr().out


def test_a_list_may_be_cut_short(tmp_path):
    done = subprocess.run(
        f"{sys.executable} -m examples.papers list | head -1",
        shell=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert (done.stdout.count("\n"), done.stderr) == (1, "")

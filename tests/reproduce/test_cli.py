"""python -m keras_interp_rnn reproduce."""

import errno
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import keras
import pytest

import keras_interp_rnn
from keras_interp_rnn.datasets import DataError, interactions
from keras_interp_rnn.datasets.imdb import ARCHIVE
from keras_interp_rnn.reproduce import arguments, cli, records, report
from keras_interp_rnn.reproduce.experiments import EXPERIMENTS
from keras_interp_rnn.reproduce.papers import ENTRIES
from keras_interp_rnn.reproduce.recommendation import identity
from keras_interp_rnn.reproduce.tables import TABLES

ROOT = Path(__file__).parents[2]

ROWS = {
    "isan-text8": ["ISAN-8e4", "IRNN-8e4"],
    "isan-ablations": ["naive Bayes", "ISAN without biases", "linear, nonlinear readout"],
    "sr-parentheses": ["small-LSTM"],
    "sr-palindromes": ["small-SR-LSTM"],
    "sr-imdb": ["LSTM-P", "SR-LSTM-P (k = 10, eq. 19)"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_every_table_runs_on_made_up_data_and_is_reported(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cli, "scratch_folder", lambda: tmp_path)
    rows = ROWS.get(name, list(TABLES[name].rows)[:2])
    assert cli.main([name, "--smoke", "--rows", *rows, "--verbose", "0", "--data", str(tmp_path / "data")]) == 0
    found = report.read(tmp_path / "records")
    assert {record["table"]["row"] for record in found} == set(rows)
    assert all(record["environment"]["versions"]["keras"] for record in found)
    text = report.results(found)
    assert ENTRIES[name].place.split(",")[0] in text
    said = capsys.readouterr().out
    assert re.search(rf"\[{len(rows)} of {len(rows)}; about \d+ min left\]", said) or len(rows) == 1
    # A second time nothing is trained.
    assert cli.main([name, "--smoke", "--rows", rows[0]]) == 0
    assert "(recorded before, " in capsys.readouterr().out


def test_the_list_names_every_table_row_and_source(capsys):
    assert cli.main(["list"]) == 0
    said = capsys.readouterr().out
    for name, table in TABLES.items():
        assert f"{name}: {ENTRIES[name].title}, {ENTRIES[name].place}; " in said
        assert all(f"- {row}" in said for row in table.rows)


def test_the_papers_figures_belong_to_rows():
    assert set(ENTRIES) == set(TABLES) == set(EXPERIMENTS)
    for name, entry in ENTRIES.items():
        assert set(entry.figures) <= set(TABLES[name].rows)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["sr-imbd"], "The tables are isan-text8, .* `list` says more. Received: 'sr-imbd'"),
        (["sr-imdb", "--rows", "BERT"], "sr-imdb has the rows 'LSTM', 'LSTM-P', .*Received: 'BERT'. Take one"),
        (["sr-imdb", "--data", "nowhere"], "`--data` must be a folder with reviews. Received: nowhere"),
        (["isan-text8", "--data", "nowhere.xz"], "`--data` must be a file. Received: nowhere.xz"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments, says, tmp_path, capsys):
    folders = ["--runs", str(tmp_path / "runs"), "--records", str(tmp_path / "records")]
    assert cli.main([*arguments, *folders]) == 2
    [line] = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("keras_interp_rnn: ")
    assert re.search(says, line), line
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize("more", [["--data", "somewhere"], ["--rows", "LSTM"]])
def test_all_tables_share_neither_data_nor_rows(more, capsys):
    assert cli.main(["all", *more]) == 2
    assert "All tables share neither data nor rows." in capsys.readouterr().err


def test_of_all_tables_those_without_data_are_left_out_and_named(monkeypatch, capsys):
    asked = []

    def reproduce(name, args):
        asked.append(name)
        if name in ("sr-imdb", "isan-lm1b"):
            raise DataError("There is nothing to download.")

    monkeypatch.setattr(cli, "reproduce", reproduce)
    assert cli.main(["all"]) == 2
    assert asked == list(TABLES)
    *_, first, second, last = capsys.readouterr().err.strip().splitlines()
    assert first == "keras_interp_rnn: isan-lm1b: There is nothing to download."
    assert second == "keras_interp_rnn: sr-imdb: There is nothing to download."
    assert last.endswith("Received: all, without isan-lm1b, sr-imdb; see above.")


@pytest.mark.parametrize(
    ("table", "row", "minutes", "seeds"),
    [
        ("isan-ablations", "unigrams", None, 1),
        ("isan-ablations", "linear", 5.0, 2),
        ("sr-imdb", "LSTM", 5.0, 2),
        ("minimal-rnn-start", "inputs of standard deviation 1", None, 1),
        ("sr-palindromes", "large-LSTM", None, 2),
        ("minimal-rnn-recommendation", "GRU", None, 2),
    ],
)
def test_minutes_and_seeds_go_to_rows_that_have_a_use_for_them(
    table, row, minutes, seeds, tmp_path, monkeypatch, capsys
):
    runs = []

    def run(self, row, settings, asked):
        runs.append((asked.budget, asked.seed))
        return {"data": {}, "protocol": {}, "result": {"test_error": 0.5}}

    monkeypatch.setattr(type(EXPERIMENTS[table]), "run", run)
    arguments = [table, "--rows", row, "--seeds", "2", "--records", str(tmp_path)]
    if minutes is None:  # refused, and nothing is trained
        assert cli.main([*arguments, "--budget", "5"]) == 2
        assert f"{row} of {table} say themselves how much is read. Received: --budget 5." in capsys.readouterr().err
        assert not runs
    else:
        arguments += ["--budget", "5"]
    assert cli.main(arguments) == 0
    assert runs == [(minutes, seed) for seed in range(seeds)]
    assert {records.read(path)["protocol"]["minutes"] for path in tmp_path.iterdir()} == {minutes}


@pytest.mark.parametrize("wrong", [["--budget", "-1"], ["--budget", "0"], ["--seeds", "0"], ["--seeds", "1.5"]])
def test_numbers_that_mean_nothing_are_refused(wrong, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["sr-imdb", *wrong])
    assert stop.value.code == 2
    assert f"argument {wrong[0]}: " in capsys.readouterr().err


def test_all_tables_at_once_are_not_tuned(capsys):
    assert cli.tune(["all", "--row", "LSTM"]) == 2
    assert "One row is tuned at a time. Received: all" in capsys.readouterr().err


def test_a_record_of_another_budget_is_not_overwritten(tmp_path, capsys):
    path = tmp_path / "sr-imdb-LSTM-0.json"
    records.write(path, {"experiment": "sr-imdb", "table": {"row": "LSTM"}, "protocol": {"minutes": 5}})
    before = path.read_text()
    assert cli.main(["sr-imdb", "--rows", "LSTM", "--budget", "7", "--records", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"made with the same settings. Received: {{'minutes': 7.0}}, and {path} with {{'minutes': 5}}" in said
    assert cli.main(["sr-imdb", "--rows", "LSTM", "--records", str(tmp_path), "--seeds", "2"]) == 2, "others' seeds"
    assert path.read_text() == before


def test_a_record_of_other_settings_is_not_taken_for_the_rows(tmp_path, capsys):
    protocol = {"minutes": None, **TABLES["sr-imdb"].rows["LSTM"], "learning_rate": 0.5}
    records.write(
        tmp_path / "sr-imdb-LSTM-0.json",
        {"experiment": "sr-imdb", "table": {"row": "LSTM"}, "protocol": protocol, "result": {"test_error": 0.1}},
    )
    assert cli.main(["sr-imdb", "--rows", "LSTM", "--records", str(tmp_path)]) == 2
    assert "Received: {'learning_rate': 0.0118}, and" in capsys.readouterr().err


def test_a_record_of_other_data_is_not_taken_for_the_rows(tmp_path, capsys):
    file = tmp_path / "one.txt"
    file.write_text("a x y z\nb y x z\n")
    about = identity("one", interactions.load(file))
    records.write(
        tmp_path / "minimal-rnn-recommendation-GRU-0.json",
        {
            "experiment": "recommend",
            "table": {"row": "GRU"},
            "data": about,
            "protocol": {"minutes": None},
            "result": {"map_20": 0.1},
        },
    )
    arguments = ["minimal-rnn-recommendation", "--rows", "GRU", "--records", str(tmp_path), "--data", str(file)]
    assert cli.main(arguments) == 0
    assert "GRU: MAP@20 0.1000 (recorded before, " in capsys.readouterr().out
    file.write_text("a x y z\nb y x x\n")
    assert cli.main(arguments) == 2
    assert f"with {{'sha256': '{about['sha256']}'}}" in capsys.readouterr().err
    assert cli.main([*arguments[:-1], str(tmp_path / "nowhere")]) == 2
    assert "must be a file. Received: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (json.dumps({"experiment": "sr-imdb", "format": 99}), "up to format 1. Received: .* of format 99"),
        ("{half", "A record is JSON with an experiment"),
        ("[]", "A record is JSON with an experiment"),
    ],
)
def test_records_that_cannot_be_read(tmp_path, capsys, text, says):
    (tmp_path / "x.json").write_text(text)
    assert cli.main(["report", "--records", str(tmp_path)]) == 2
    assert re.search(says, capsys.readouterr().err)


def test_a_full_disk_keeps_what_there_is(tmp_path, monkeypatch, capsys):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cli, "scratch_folder", lambda: tmp_path)
    arguments = ["sr-imdb", "--smoke", "--rows", "LSTM", "--verbose", "0"]
    with monkeypatch.context() as patched:
        patched.setattr(records, "write", full)
        assert cli.main(arguments) == 2
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert line.startswith("keras_interp_rnn: [Errno 28] No space left on device.")
    assert line.endswith("Finished epochs and records are kept: the same command resumes.")
    monkeypatch.setattr(keras.Model, "fit", lambda *args, **kwargs: pytest.fail("trained again"))
    assert cli.main(arguments) == 0
    assert (tmp_path / "records" / "sr-imdb-LSTM-0.json").exists()


def test_a_disk_that_fills_up_between_two_epochs_keeps_those_before(tmp_path, monkeypatch, capsys):
    save, epochs = keras.Model.save, []

    def full(model, path, **kwargs):
        if "epoch-0002" in str(path):
            raise OSError(errno.ENOSPC, "No space left on device")
        save(model, path, **kwargs)

    def counted(model, *args, **kwargs):
        epochs.append(kwargs["initial_epoch"])
        return fit(model, *args, **kwargs)

    fit = keras.Model.fit
    monkeypatch.setattr(cli, "scratch_folder", lambda: tmp_path)
    monkeypatch.setattr(keras.Model, "fit", counted)
    arguments = ["sr-imdb", "--smoke", "--rows", "LSTM", "--verbose", "0"]
    with monkeypatch.context() as patched:
        patched.setattr(keras.Model, "save", full)
        assert cli.main(arguments) == 2
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith("keras_interp_rnn: [Errno 28] No space left")
    assert cli.main(arguments) == 0
    assert epochs == [0, 1]
    [written] = (tmp_path / "records").iterdir()
    assert len(records.read(written)["curve"]) == 2


def test_a_report_of_no_folder_is_refused(tmp_path, capsys):
    assert cli.main(["report", "--records", str(tmp_path / "not-there")]) == 2
    assert "Records are JSON files in a folder. Received: " in capsys.readouterr().err


def test_a_report_with_a_place_has_its_figures_beside_it(tmp_path):
    out = tmp_path / "of mine" / "results.md"
    assert cli.main(["report", "--records", str(ROOT / "docs" / "records"), "--out", str(out)]) == 0
    drawn = ["jacobians_in_training.png", "parentheses-centroids.png", "recommendation_progress.png"]
    assert sorted(path.name for path in (out.parent / "figures").iterdir()) == drawn
    text = out.read_text()
    assert text.count("](figures/") == len(drawn)
    assert all(f"](figures/{name})\n" in text for name in drawn)


def test_without_network_it_says_how_to_give_the_data(tmp_path, monkeypatch, capsys):
    def unreachable(*args, **kwargs):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    assert cli.main(["sr-imdb", "--records", str(tmp_path / "records")]) == 2
    assert f"Unpack {ARCHIVE} and give the folder aclImdb as `--data`." in capsys.readouterr().err


# The command as a stranger runs it. Where TensorFlow is not to be imported, it cannot be.

BLOCKED = "import sys; sys.modules.update(tensorflow=None, keras=None, numpy=None)"


def command(*given, blocked=False, folder=None):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    if blocked:
        (folder / "sitecustomize.py").write_text(BLOCKED)
        environment["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-m", "keras_interp_rnn", *map(str, given)],
        capture_output=True,
        text=True,
        env={**environment, "COLUMNS": "120"},
        cwd=ROOT,
    )


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        ([], 2, "usage: python -m keras_interp_rnn [-h] [--version] {reproduce,tune}"),
        (["--help"], 0, "search for hyperparameters"),
        (["--version"], 0, f"keras_interp_rnn {keras_interp_rnn.__version__}"),
        (["reproduce", "list"], 0, "sr-palindromes: "),
        (["reproduce", "--help"], 0, "--seeds N             runs of each row, with seeds 0 to N - 1 (default: 1)"),
        (["reproduce", "sr-imdb", "--help"], 0, "tables: isan-text8, "),
        (["tune", "--help"], 0, "--trials TRIALS       trials in total (default: 20)"),
        (["reproduce", "sr-imdb", "--budget", "inf"], 2, "must be a finite number above 0. Received: inf"),
    ],
)
def test_the_command_reads_its_options_without_tensorflow(given, code, says, tmp_path):
    done = command(*given, blocked=True, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert says in (done.stdout if code == 0 else done.stderr)
    assert not (done.stderr if code == 0 else done.stdout)


def test_the_command_runs_without_a_word_of_tensorflows():
    done = command("reproduce", "minimal-rnn-start", "--smoke")
    assert done.returncode == 0
    assert done.stderr == ""
    *lines, last = done.stdout.strip().splitlines()
    assert last.startswith("Records: ")
    assert sum("median singular value of dh_T/dx_(T-5): vanilla " in line for line in lines) == 2


def test_a_program_that_names_the_package_gets_all_of_it(tmp_path):
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "__init__.py").write_text("import keras_interp_rnn")
    (tmp_path / "program" / "__main__.py").write_text(
        "import program\nprint(program.keras_interp_rnn.layers.ISAN.__name__)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-m", "program", "-m", "keras_interp_rnn"], capture_output=True, text=True, env=environment
    )
    assert done.stdout.strip() == "ISAN", done.stderr


@pytest.mark.parametrize("command", ["reproduce", "tune"])
def test_every_option_with_a_value_says_its_default(command, capsys):
    with pytest.raises(SystemExit):
        arguments.parse([command, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    options = re.findall(r" (--[a-z]+) (?:[A-Z]+|{0,1,2})", said.split("options:")[1])
    assert len(options) >= 8
    texts = re.split(r" --[a-z]+ ", said.split("options:")[1])
    missing = [text for text in texts if re.match(r"[A-Z{]", text) and "(default: " not in text]
    assert [text for text in missing if not text.startswith("ROW the row whose")] == []


@pytest.mark.parametrize("wrong", ["inf", "nan", "-inf", "1e999"])
def test_a_budget_is_finite(wrong, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["sr-imdb", f"--budget={wrong}"])
    assert stop.value.code == 2
    assert f"must be a finite number above 0. Received: {wrong}" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "trials"), [([], 3), (["--trials", "2"], 2), (["--trials", "9"], 3)])
def test_a_smoke_search_makes_at_most_the_trials_asked_for(given, trials, tmp_path, monkeypatch):
    searched = []
    monkeypatch.setattr(cli, "search", searched.append)
    monkeypatch.setattr(cli, "scratch_folder", lambda: tmp_path)
    assert cli.tune(["sr-imdb", "--row", "LSTM", "--smoke", *given]) == 0
    [args] = searched
    assert (args.trials, args.steps, args.epochs) == (trials, 2, 1)
    assert args.records == tmp_path / "records"

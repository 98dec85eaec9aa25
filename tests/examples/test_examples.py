"""Every example as a stranger runs it: in a process of its own, from another folder."""

import gzip
import importlib.util
import lzma
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "command_line.py")


def command(name, *arguments):
    return [sys.executable, str(ROOT / "examples" / name), *map(str, arguments)]


def run(folder, name, *arguments):
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command(name, *arguments), cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_help_does_not_wait_for_tensorflow(tmp_path, path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys; sys.modules.update(tensorflow=None, keras=None, numpy=None, keras_interp_rnn=None)"
    )
    done = subprocess.run(
        command(path.name, "--help"),
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "--smoke" in done.stdout
    assert path.read_text().splitlines()[0].strip('"') in " ".join(done.stdout.split())
    # Each option has a text, and each value that may be left out a default.
    shown = re.split(r"\n  (?=-)", done.stdout.partition("options:\n")[2])
    for option in (" ".join(option.split()) for option in shown):
        name, _, text = re.match(r"(-h, --help|--[a-z-]+)((?: [A-Z]+| {\S+}| \[.*?\]+)*)(.*)", option).groups()
        assert len(text.split()) >= 2, option


def test_an_extra_that_is_not_installed_is_named(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['aalpy'] = None")
    done = subprocess.run(
        command("compare_extraction.py", "--smoke"),
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert done.stderr == "This example needs aalpy.base: pip install 'keras_interp_rnn[automata]'\n"


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.matrix
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_smoke_run_ends_well(tmp_path, path):
    done = run(tmp_path, path.name, "--smoke")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "arning" not in done.stdout + done.stderr


@pytest.mark.matrix
def test_the_text_example_says_all_it_promises(tmp_path):
    done = run(tmp_path, "text_isan.py", "--smoke", "--prompt", "In 1 word")
    assert done.stderr == ""
    for promised in (
        "unigram",
        "bigram with back-off",
        "trigram with back-off",
        "ISAN, 16,899 weights",
        "It writes:\n  in one word",
        "after 'in␣one␣word': ",
        "contributions to all logits sum to the logits",
        "--logdir",
    ):
        assert promised in done.stdout


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("distributed.py", ["--batch", 1, "--workers", "a:1", "b:2"], "--batch must be a multiple of the number of"),
        ("devices.py", ["--batch", 7], "--batch must be a multiple of --devices, 2. Received: 7."),
    ],
)
def test_a_batch_that_devices_do_not_divide_is_refused(tmp_path, name, arguments, says):
    done = run(tmp_path, name, *arguments)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.matrix
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
@pytest.mark.parametrize(("split", "part"), [("batch", "0.00173"), ("vocabulary", "0.000864")])
def test_devices_of_jax_share_a_batch_or_a_vocabulary(tmp_path, split, part):
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
    asked = command("devices.py", "--smoke", "--split", split)
    done = subprocess.run(asked, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert f"each device holds {part} MB of the kernel's 0.00173" in done.stdout
    assert float(done.stdout.split()[-1]) < 1e-6


def bad_texts(folder):
    (folder / "empty.txt").write_text("")
    (folder / "symbols.txt").write_text("!?;:" * 500)
    (folder / "short.txt").write_text("too short")
    (folder / "truncated.xz").write_bytes(lzma.compress(os.urandom(5000))[:-200])
    (folder / "truncated.gz").write_bytes(gzip.compress(b"some words " * 500)[:-20])
    (folder / "folder").mkdir()
    return {
        "missing.txt": "does not exist",
        "folder": "which is a folder",
        "empty.txt": "empty",
        "symbols.txt": "a letter a-z or a digit",
        "short.txt": "too short|symbols",
        "truncated.xz": "truncated.xz",
        "truncated.gz": "truncated.gz",
    }


@pytest.mark.matrix
def test_bad_input_gets_one_line_and_exit_code_2_and_leaves_nothing(tmp_path):
    texts, here = tmp_path / "texts", tmp_path / "here"
    texts.mkdir()
    here.mkdir()
    for name, sentence in bad_texts(texts).items():
        done = run(here, "text_isan.py", "--text", texts / name)
        assert done.returncode == 2, (name, done)
        assert len(done.stderr.splitlines()) == 1, (name, done.stderr)
        assert done.stderr.startswith("text_isan: "), (name, done.stderr)
        assert any(part in done.stderr for part in sentence.split("|")), (name, done.stderr)
        assert files(here) == [], name


@pytest.mark.matrix
def test_a_folder_that_cannot_be_written_gets_one_line_and_exit_code_2(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = run(tmp_path, "text_isan.py", "--run", "file/run")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "file/run" in done.stderr
    assert files(tmp_path) == ["file"]


@pytest.mark.matrix
def test_ctrl_c_ends_the_training_and_looks_into_the_model_so_far(tmp_path):
    book = tmp_path / "book.txt"
    book.write_text("it was the best of times it was the worst of times " * 4000)
    arguments = ("--text", book, "--units", 24, "--epochs", 4000, "--run", "r")
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "PYTHONPATH": str(ROOT)}
    with (tmp_path / "said").open("w+") as said:
        process = subprocess.Popen(
            command("text_isan.py", *arguments),
            cwd=tmp_path,
            env=environment,
            stdout=said,
            stderr=subprocess.PIPE,
            # A shell makes what it starts in the background ignore interrupts, the tests and all that they start too.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        deadline = time.monotonic() + 120
        while "Epoch 2/" not in (tmp_path / "said").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for _ in range(6):
            # Python drops an interrupt that falls into a destructor; whoever sees no effect presses the keys again.
            process.send_signal(signal.SIGINT)
            while time.monotonic() < deadline and "Stopped." not in (tmp_path / "said").read_text():
                time.sleep(0.05)
                if process.poll() is not None:
                    break
            if "Stopped." in (tmp_path / "said").read_text():
                break
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert errors == b""
    assert "contributions to all logits sum to the logits" in (tmp_path / "said").read_text()
    check = "import keras, keras_interp_rnn; print(keras.models.load_model('r/model.keras').count_params())"
    loaded = subprocess.run(
        [sys.executable, "-c", check], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert loaded.stdout.strip() == "16899", loaded.stderr


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_teaches_one_thing_by_public_names(path):
    source = path.read_text()
    assert len(source.splitlines()) <= 90
    assert "examples.papers import" not in source
    assert "import reproduce" not in source

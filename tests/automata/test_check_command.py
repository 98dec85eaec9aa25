"""`python -m keras_interp_rnn check` in terminals and pipes, and with unusual files."""

import os
import subprocess
import sys

import pytest

from keras_interp_rnn import automata

COMMAND = f"{sys.executable} -m keras_interp_rnn check"
ASCII = "LC_ALL=C PYTHONUTF8=0 PYTHONIOENCODING=ascii"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a certificate that holds and a pipe into which nobody writes."""
    folder = tmp_path_factory.mktemp("certificates")
    network = automata.compile(automata.tomita(1))
    automata.certify(network, automata.tomita(1)).save(folder / "é.json")
    os.mkfifo(folder / "pipe")
    return folder


def run(folder, line):
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=folder, timeout=120, check=False)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        pytest.param(f"{ASCII} {COMMAND} é.json", "", id="a terminal without accents"),
        pytest.param(f"{COMMAND} é.json > /dev/full", "the report cannot be written: ", id="a full disk"),
        pytest.param(f"{COMMAND} é.json >&-", "", id="closed output"),
        pytest.param(f"{COMMAND} ./é.json é.json | true; exit ${{PIPESTATUS[0]}}", "", id="a reader that stops"),
    ],
)
def test_a_proof_that_holds_exits_with_0_wherever_the_report_goes(folder, line, error):
    done = run(folder, line)
    assert done.returncode == 0, done.stderr
    assert (error in done.stderr) if error else not done.stderr


@pytest.mark.parametrize("file", ["pipe", "/dev/zero", "."])
def test_only_regular_files_are_read(folder, file):
    done = run(folder, f"{COMMAND} {file}")
    assert done.returncode == 1
    assert "not a regular file" in done.stderr
    assert len(done.stderr.splitlines()) == 1

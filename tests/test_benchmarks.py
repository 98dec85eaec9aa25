"""The benchmarks run through at toy sizes; their figures are for people to make."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(path for path in (ROOT / "benchmarks").glob("*.py") if '"--smoke"' in path.read_text())


@pytest.mark.matrix
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_the_smoke_run_ends_well(tmp_path, path):
    if '"cc"' in path.read_text() and shutil.which("cc") is None:
        pytest.skip("no C compiler")
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(path), "--smoke"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "Traceback" not in done.stdout + done.stderr

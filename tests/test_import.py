"""What `import keras_interp_rnn` brings with it: Keras, the chosen backend, and nothing that is for later."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import keras_interp_rnn

ROOT = Path(keras_interp_rnn.__file__).parents[1]


def imported(statement: str, backend: str) -> set[str]:
    """The modules that a fresh process has imported after a statement."""
    ran = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    return set(ran.stdout.split())


@pytest.mark.matrix
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_the_package_imports_no_package_that_keras_does_not(backend):
    """Neither TensorBoard nor tensorflow_datasets, matplotlib, keras_tuner; nor TensorFlow, where it does not run."""
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    # Keras's own import takes matplotlib and scikit-learn, where they are installed.
    before, after = imported("import keras", backend), imported("import keras_interp_rnn", backend)
    assert backend in after
    assert ("tensorflow" in after) == (backend == "tensorflow")
    assert {f"keras_interp_rnn.{name}" for name in ("layers", "analysis", "callbacks", "datasets")} <= after
    added = {name.split(".")[0] for name in after - before} - set(sys.stdlib_module_names)
    assert added == {"keras_interp_rnn", "tensorboard_plugins"}


def registered(*statements: str) -> list[set[str]]:
    """The names that are registered with Keras in a fresh process after each statement."""
    program = "\n".join(f"{one}\nimport keras\nprint(*keras.saving.get_custom_objects())" for one in statements)
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-4000:]
    return [set(line.split()) for line in ran.stdout.splitlines()]


def test_one_import_registers_every_class_that_a_saved_model_may_have():
    """What only experiments use has another package name: their own import loads such a model."""
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for folder in ("keras_interp_rnn", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "register_keras_serializable" in path.read_text("utf-8")
    ]
    at_once, everything = registered("import keras_interp_rnn", "import " + ", ".join(modules))
    assert len(modules) > 10
    assert len(at_once) > 25
    assert {name for name in everything if name.startswith("keras_interp_rnn>")} == at_once
    assert {name.split(">")[0] for name in everything - at_once} == {"examples.behaviour", "examples.papers"}

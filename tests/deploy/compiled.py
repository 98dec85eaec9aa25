"""C from `to_c`, compiled as strictly as a compiler can be told to, and run on many sequences in this process."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_interp_rnn import deploy

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-pedantic", "-O2"]

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

RUN = """
void run(int count, int steps, const {kind} *x, float *outputs, int *returned)
{{
    our_state state;
    for (int s = 0; s < count; s++) {{
        our_reset(&state);
        for (int t = 0; t < steps; t++, outputs += our_outputs, x += {width})
            {call}
    }}
}}
"""
CALLS = {
    "int": "returned[s * steps + t] = our_step(&state, *x, outputs);",
    "float": "returned[s * steps + t] = (our_step(&state, x, outputs), 0);",
}


class Network:
    """A model as compiled C, in a folder."""

    def __init__(self, model: Any, folder: Path, weights: str = "float32") -> None:
        self.text = deploy.to_c(model, name="our", weights=weights)
        shape = model.inputs[0].shape
        self.kind, width = ("int", 1) if len(shape) == 2 else ("float", shape[2])
        self.outputs = int(model.outputs[0].shape[-1])
        text = self.text + RUN.format(kind=self.kind, width=width, call=CALLS[self.kind])
        (folder / "our.c").write_text(text, encoding="ascii")
        subprocess.run(["cc", *FLAGS, "-shared", "-fPIC", "our.c", "-lm", "-o", "our.so"], cwd=folder, check=True)
        self.library = ctypes.CDLL(str(folder / "our.so"))

    def run(self, inputs: Any) -> tuple[np.ndarray, np.ndarray]:
        """Outputs (batch, time, outputs) after each step, and what each step returned (batch, time)."""
        array = np.ascontiguousarray(inputs, np.intc if self.kind == "int" else np.float32)
        batch, steps = array.shape[:2]
        outputs, returned = np.full((batch, steps, self.outputs), np.nan, np.float32), np.zeros((batch, steps), np.intc)
        pointers = (x.ctypes.data_as(ctypes.c_void_p) for x in (array, outputs, returned))
        self.library.run(batch, steps, *pointers)
        return outputs, returned

"""How many wrong arguments of public functions and classes are answered by something else than one clear sentence?

The first call of each public name in the examples of the docstrings is recorded. Then each of its arguments is replaced
by each of the values in `ODD`, and what happens is counted:

- accepted: the call returns;
- clear: a ValueError, TypeError or other planned error raised by this package or by Keras;
- foreign: any other error, such as a TypeError of an operator, or one from inside NumPy; each is listed;
- slow: no answer in 20 seconds.

    python benchmarks/bad_input.py analysis automata       # of these packages; without arguments all of them
"""

import collections
import contextlib
import doctest
import functools
import importlib
import inspect
import io
import os
import pathlib
import signal
import sys
import tempfile
import traceback
import warnings

import keras
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import keras_interp_rnn  # noqa: E402
from tests.test_docstrings import MODULES, examples, write_samples  # noqa: E402
from tests.test_public_names import PUBLIC  # noqa: E402

SECONDS = 20

ODD = {
    **{"None": None, "object()": object(), "''": "", "'odd'": "odd", "b'x'": b"x", "a function": lambda *_: None},
    **{"-1": -1, "0": 0, "1.5": 1.5, "NaN": float("nan"), "infinity": float("inf"), "True": True, "int64": np.int64(3)},
    **{
        "[]": [],
        "{}": {},
        "[None]": [None],
        "an empty array": np.array([]),
        "an array of NaN": np.full((2, 2), np.nan),
    },
    **{"a complex array": np.zeros((1, 2, 3), "complex64"), "an array of objects": np.array([object()])},
}

PLANNED = (ValueError, TypeError, OSError, NotImplementedError, ImportError, RuntimeError)

KERAS = str(pathlib.Path(keras.__file__).parent)

OPERATORS = ("not supported between", "unsupported operand", "object is not", "has no len", "argument must be")
"""Python's own sentences, whose traceback may end in this package."""


def recorded(packages: list[str]) -> dict[str, tuple]:
    """Public name -> what is called, and the arguments of its first call in an example."""
    calls: dict[str, tuple] = {}
    depth = 0

    def recording(name, call, *, method=False):
        @functools.wraps(call)
        def wrapped(*args, **kwargs):
            nonlocal depth
            if not depth and name not in calls:
                calls[name] = (type(args[0]) if method else call, args[method:], kwargs)
            depth += 1
            try:
                return call(*args, **kwargs)
            finally:
                depth -= 1

        return wrapped

    changed = []
    for package in packages:
        module = importlib.import_module(package)
        for name in PUBLIC[package]:
            thing = getattr(module, name)
            place = f"{package.partition('.')[2]}.{name}"
            if inspect.isfunction(thing):
                changed.append((module, name, thing))
                setattr(module, name, recording(place, thing))
            elif inspect.isclass(thing) and not issubclass(thing, tuple) and "__init__" in vars(thing):
                changed.append((thing, "__init__", thing.__init__))
                thing.__init__ = recording(place, thing.__init__, method=True)
    for name in MODULES:
        if name.startswith(tuple(packages)):
            for test in examples(name):
                test.globs.update(np=np, keras=keras)
                with contextlib.redirect_stdout(io.StringIO()):
                    doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None)
    for place, name, thing in changed:
        setattr(place, name, thing)
    return calls


def answer(call, args, kwargs) -> tuple[str, str]:
    """What a call leads to, and of a foreign error its sentence and place."""
    package = str(pathlib.Path(keras_interp_rnn.__file__).parent)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            call(*args, **kwargs)
    except TimeoutError:
        return "slow", ""
    except Exception as error:
        said = str(error)
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if frame.filename.startswith(package)]
        python = any(words in said for words in OPERATORS)
        if (
            isinstance(error, PLANNED)
            and not python
            and (frames[-1].filename.startswith((package, KERAS)) or "Received" in said)
        ):
            return "clear", ""
        place = f"{pathlib.Path(ours[-1].filename).relative_to(ROOT)}:{ours[-1].lineno}" if ours else "?"
        return "foreign", f"{type(error).__name__}: {said.splitlines()[0] if said else ''} ({place})"
    finally:
        signal.alarm(0)
    return "accepted", ""


def main() -> None:
    packages = [f"keras_interp_rnn.{name}" for name in sys.argv[1:]] or [*PUBLIC][1:]
    write_samples(folder := pathlib.Path(tempfile.mkdtemp()))
    os.chdir(folder)
    os.environ["TFDS_DATA_DIR"] = str(folder / "data")

    def ring(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, ring)
    counts: collections.Counter[str] = collections.Counter()
    calls = recorded(packages)
    for name, (call, args, kwargs) in sorted(calls.items()):
        signature = inspect.signature(call)
        for parameter in signature.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name == "verbose":
                continue
            for said, value in ODD.items():
                bound = signature.bind(*args, **kwargs)
                bound.arguments[parameter.name] = value
                kind, why = answer(call, bound.args, bound.kwargs)
                counts[kind] += 1
                if kind in ("foreign", "slow"):
                    print(f"{kind}: {name}({parameter.name}={said}) {why}", flush=True)
    print(f"{sum(counts.values()):,} calls of {len(calls)} names: {dict(counts)}")


if __name__ == "__main__":
    main()

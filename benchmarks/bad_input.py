"""How many wrong arguments of public functions, classes and methods are answered by something else than one sentence?

The first call of each public name, and of each method of a public class, in the examples of the docstrings is recorded.
Then each of its arguments is replaced by each of the values in `ODD`, and what happens is counted:

- accepted: the call returns;
- clear: a ValueError, TypeError or other planned error raised by this package or by Keras;
- foreign: any other error, such as a TypeError of an operator, or one from inside NumPy; each is listed;
- slow: no answer in 20 seconds;
- memory: refused by the system, which gives this process 16 GiB.

    python benchmarks/bad_input.py analysis automata       # of these packages; without arguments all of them
"""

import collections
import contextlib
import copy
import doctest
import importlib
import inspect
import io
import os
import pathlib
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import keras_interp_rnn  # noqa: E402
from tests.test_docstrings import MODULES, examples, write_samples  # noqa: E402
from tests.test_public_names import PUBLIC  # noqa: E402

SECONDS, MEMORY = 20, 16 * 2**30

ODD = {
    **{"None": None, "object()": object(), "''": "", "'odd'": "odd", "b'x'": b"x", "a function": lambda *_: None},
    **{"-1": -1, "0": 0, "1.5": 1.5, "NaN": float("nan"), "infinity": float("inf"), "True": True, "int64": np.int64(3)},
    **{
        "[]": [],
        "{}": {},
        "[None]": [None],
        "10**9": 10**9,
        "an empty array": np.array([]),
        "an array of NaN": np.full((2, 2), np.nan),
    },
    **{"a complex array": np.zeros((1, 2, 3), "complex64"), "an array of objects": np.array([object()])},
}

PLANNED = (ValueError, TypeError, OSError, NotImplementedError, ImportError, RuntimeError)

DECORATORS = ("_checks.py",)

KERAS = str(pathlib.Path(keras.__file__).parent)

OPERATORS = ("not supported between", "unsupported operand", "object is not", "has no len", "argument must be")
"""Python's own sentences, whose traceback may end in this package."""


def recorded(packages: list[str]) -> dict[str, tuple[Callable[..., Any], inspect.BoundArguments]]:
    """Public name -> what is called, and the arguments of its first call in an example."""
    public: dict[Any, dict[Any, str]] = collections.defaultdict(dict)  # code -> what has it -> its name
    methods: dict[Any, tuple[str, str]] = {}  # code -> the name to show, and that of the method
    for package in packages:
        module = importlib.import_module(package)
        for name in PUBLIC[package]:
            thing = getattr(module, name)
            code = inspect.unwrap(thing.__init__ if inspect.isclass(thing) else thing)
            if hasattr(code, "__code__"):
                public[code.__code__][thing] = f"{package.partition('.')[2]}.{name}"
            for method, function in methods_of(thing).items():
                methods.setdefault(function.__code__, (f"{package.partition('.')[2]}.{name}.{method}", method))
    calls = {}

    def profile(frame, event, _):
        if event != "call" or (frame.f_code not in public and frame.f_code not in methods):
            return
        if frame.f_code in methods:
            called, method = methods[frame.f_code]
            thing = getattr(frame.f_locals[frame.f_code.co_varnames[0]], method)
        else:
            things = public[frame.f_code]
            thing = type(frame.f_locals.get("self"))
            thing = thing if thing in things else next(iter(things))
            called = things[thing]
        if called in calls:
            return
        caller = frame.f_back
        while caller.f_code.co_filename.endswith(DECORATORS):
            caller = caller.f_back
        if caller.f_code.co_filename.startswith("<doctest"):
            signature = inspect.signature(thing)
            given = {key: frame.f_locals[key] for key in signature.parameters if key in frame.f_locals}
            calls[called] = thing, inspect.BoundArguments(signature, given)

    for name in MODULES:
        if name.startswith(tuple(packages)):
            for test in examples(name):
                test.globs.update(np=np, keras=keras)
                with contextlib.redirect_stdout(io.StringIO()):
                    sys.setprofile(profile)
                    doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None)
                    sys.setprofile(None)
    return calls


def methods_of(thing: Any) -> dict[str, Any]:
    """Public methods and class methods of a class that this package wrote, by name."""
    found = {}
    for base in thing.__mro__ if inspect.isclass(thing) else ():
        for name, function in vars(base).items() if base.__module__.startswith("keras_interp_rnn") else ():
            if name.startswith("_") or isinstance(function, staticmethod):
                continue
            function = inspect.unwrap(getattr(function, "__func__", function))
            if inspect.isfunction(function):
                found.setdefault(name, function)
    return found


def own(call: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a copy of its object, where there is a copy."""
    bound = getattr(call, "__self__", None)
    if bound is None or inspect.isclass(bound) or inspect.ismodule(bound):
        return call
    try:
        return getattr(copy.deepcopy(bound), call.__name__)
    except Exception:  # what cannot be copied is shared
        return call


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
    except (MemoryError, tf.errors.ResourceExhaustedError):
        return "memory", ""
    except Exception as error:
        said = str(error)
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if frame.filename.startswith(package)]
        python = any(words in said for words in OPERATORS)
        if isinstance(error, OSError) and error.filename is not None:  # the system's sentence, which names the file
            return "clear", ""
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
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    counts: collections.Counter[str] = collections.Counter()
    calls = recorded(packages)
    for name, (call, example) in sorted(calls.items()):
        for parameter in example.signature.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name == "verbose":
                continue
            for said, value in ODD.items():
                bound = inspect.BoundArguments(example.signature, {**example.arguments, parameter.name: value})
                kind, why = answer(own(call), bound.args, bound.kwargs)
                counts[kind] += 1
                if kind in ("foreign", "slow"):
                    print(f"{kind}: {name}({parameter.name}={said}) {why}", flush=True)
    print(f"{sum(counts.values()):,} calls of {len(calls)} names: {dict(counts)}")


if __name__ == "__main__":
    main()

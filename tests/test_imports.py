"""Who imports whom, read off the syntax trees."""

import ast
import graphlib
import importlib.util
import re
from pathlib import Path

import keras
import pytest

from keras_interp_rnn import layers

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "keras_interp_rnn"
PAPERS = sorted((ROOT / "examples" / "papers").glob("*.py"))
BACKENDS = {"tensorflow", "jax", "torch"}
OURS = "keras_interp_rnn"
QUIRKS = f"{OURS}._backend.keras_quirks"

# Importing nothing themselves but each other; `_alphabet` imports Keras in functions.
EVERYBODY = {f"{OURS}.{name}" for name in ("_alphabet", "_checks", "_io", "_outputs", "_results", "_tokens", "_types")}

# Module, or folder of modules -> what it may import besides the standard library and NumPy.
MAY_IMPORT = {
    "_alphabet.py": {"keras"},
    "_arrays.py": {"keras", f"{OURS}._backend"},
    "_outputs.py": {"keras"},
    "_io.py": set(),
    "_results": {
        f"{OURS}._results",
        *(f"tensorboard_plugins.interp_rnn.{n}" for n in ("document", "recording", "tokens")),
    },
    "_checks.py": set(),
    "_tokens.py": set(),
    "_types.py": set(),
    "affine.py": set(),
    "_lbfgs.py": set(),
    "fitting.py": {"keras", *(f"{OURS}.{n}" for n in ("_backend", "_lbfgs", "_network", "_program", "constraints"))},
    "equations": {f"{OURS}.equations"},
    "_backend/tensorflow.py": {"keras", "tensorflow", f"{OURS}._backend"},
    "_backend/jax.py": {"keras", "jax", f"{OURS}._backend"},
    "_backend/torch.py": {"keras", "torch", f"{OURS}._backend"},
    "_backend": {"keras", f"{OURS}._backend"},
    "_sequence/grouped_tensorflow.py": {"tensorflow", f"{OURS}._sequence"},
    "_sequence/grouped_jax.py": {"jax", f"{OURS}._sequence"},
    "_sequence/grouped_torch.py": {"torch", f"{OURS}._sequence"},
    "_sequence": {"keras", f"{OURS}._backend", f"{OURS}._sequence", f"{OURS}.equations"},
    "_cells.py": {"keras", f"{OURS}.equations"},
    "losses.py": {"keras"},
    "constraints.py": {"keras"},
    "regularizers.py": {"keras"},
    "initializers.py": {"keras"},
    "layers": {
        "keras",
        f"{OURS}.layers",
        f"{OURS}.constraints",
        f"{OURS}.equations",
        f"{OURS}._backend",
        f"{OURS}._cells",
        f"{OURS}._sequence",
    },
    # From Keras networks to arrays: the rest of analysis knows no Keras.
    "_network": {
        "keras",
        *(f"{OURS}.{n}" for n in ("_arrays", "_backend", "_cells", "_network", "_program")),
        *(f"{OURS}.{n}" for n in ("_sequence", "affine", "equations")),
    },
    "_program": {
        "keras",
        *(f"{OURS}.{n}" for n in ("_arrays", "_backend", "_cells", "_program", "_sequence", "equations")),
    },
    "analysis": {
        "scipy",
        *(f"{OURS}.{n}" for n in ("_arrays", "_network", "_program", "affine", "analysis", "equations")),
    },
    # Keras for the class of models, of which it makes pages.
    **dict.fromkeys(
        ("views/live.py", "views/against_proof.py"),
        {"keras", *(f"{OURS}.{n}" for n in ("_network", "analysis", "automata", "deploy", "views"))},
    ),
    # It knows no class of results: each says what it found as a table. Pictures of other formats inside a function.
    "views": {
        *("keras", "matplotlib", "resvg_py", f"{OURS}.affine", f"{OURS}.views"),
        "tensorboard_plugins.interp_rnn.folder",
    },
    # Keras inside functions: cards are read without it.
    "presets/cards.py": set(),
    "presets": {
        "keras",
        *(f"{OURS}.{n}" for n in ("analysis", "automata", "datasets", "layers", "presets", "views")),
    },
    # Other libraries inside the methods that convert to them.
    "automata/machines/libraries.py": {
        *("networkx", "aalpy", "automata.base", "automata.fa"),
        f"{OURS}.automata.machines",
    },
    "automata/machines/dot.py": {"pydot", f"{OURS}.automata.machines"},
    **dict.fromkeys(
        ("automata/machines/drawing.py", "automata/weighted_drawing.py"),
        {"tensorboard_plugins.interp_rnn.layout", f"{OURS}.automata.machines"},
    ),
    "automata/machines": {f"{OURS}.automata.machines"},
    "automata/inference": {"scipy", *(f"{OURS}.automata.{n}" for n in ("inference", "machines"))},
    "automata/networks": {
        "keras",
        QUIRKS,
        *(f"{OURS}.{n}" for n in ("_arrays", "_network", "_program", "analysis", "layers")),
        *(f"{OURS}.automata.{n}" for n in ("inference", "machines", "networks")),
    },
    # A file of a certificate is proved again with NumPy alone.
    **dict.fromkeys(
        (f"automata/certificates/{name}.py" for name in ("_bounds", "_proved", "proof")),
        {f"{OURS}.equations", *(f"{OURS}.automata.{n}" for n in ("certificates", "machines"))},
    ),
    "automata/certificates": {
        "keras",
        *(f"{OURS}.{n}" for n in ("_arrays", "_backend", "_cells", "_network", "_program", "equations", "layers")),
        *(f"{OURS}.automata.{n}" for n in ("_on_first_use", "certificates", "machines", "networks")),
    },
    "automata": {
        "keras",
        *(f"{OURS}.{n}" for n in ("_arrays", "_network", "_program", "analysis", "automata", "layers")),
    },
    "deploy/_c.py": set(),
    "deploy": {
        "keras",
        QUIRKS,
        *(f"{OURS}.{n}" for n in ("_arrays", "_cells", "_network", "_program", "deploy", "equations")),
    },
    "figures": {
        *("matplotlib", "scipy"),
        *(f"{OURS}.{n}" for n in ("analysis", "figures")),
    },
    # TensorFlow and TensorBoard inside the functions that write.
    "callbacks/_summaries.py": {"tensorflow", "tensorboard", f"{OURS}.analysis"},
    "callbacks": {
        *("keras", "tensorboard_plugins.interp_rnn.schema"),
        *(f"{OURS}.{n}" for n in ("_arrays", "_backend", "_network", "_program", "callbacks", "analysis", "automata")),
    },
    "datasets/_files.py": set(),
    "datasets/labelled_words.py": {*(f"{OURS}.{n}" for n in ("automata", "datasets"))},
    "datasets/tomita.py": {f"{OURS}.datasets", f"{OURS}.automata"},
    # SciPy inside the function that counts word vectors.
    "datasets/words.py": {"scipy"},
    "datasets/text8": {"tensorflow_datasets", "tensorflow", "google", f"{OURS}.datasets"},
    "datasets": {"keras", f"{OURS}.datasets"},
    "__main__.py": {
        OURS,
        "keras",
        *(f"{OURS}.{n}" for n in ("analysis", "automata.certificates", "automata.networks", "presets", "views")),
    },
}


def imports(path):
    """Full names of everything a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def outside_names(path):
    """Those that are neither of the standard library nor NumPy."""
    import sys

    known = {*sys.stdlib_module_names, "numpy", "__future__"}
    return {name for name in imports(path) if name.split(".")[0] not in known}


MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def found_by(rule):
    """Place of each module of the package -> what a rule finds in it; modules in which it finds nothing left out."""
    places = {path.relative_to(PACKAGE): path for path in MODULES}
    return {str(place): found for place, path in places.items() if (found := rule(place, path))}


def test_a_module_imports_only_from_modules_below_it():
    """A module without a line in MAY_IMPORT needs one; docs/architecture.py writes it into the page."""

    def strays(place, path):
        rules = (str(place), *map(str, place.parents), place.parts[0])
        rule = next((r for r in rules if r in MAY_IMPORT), None)
        if rule is None:
            return ["has no line in MAY_IMPORT"]
        allowed = MAY_IMPORT[rule] | EVERYBODY
        return sorted(n for n in outside_names(path) if not any(n == a or n.startswith(f"{a}.") for a in allowed))

    assert not found_by(strays)


def test_the_architecture_page_has_these_rules_and_the_docstrings_of_the_folders():
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "docs" / "architecture.py")
    architecture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(architecture)
    assert architecture.PAGE.read_text(encoding="utf-8") == architecture.page(), "Run `python docs/architecture.py`."


WINGS = sorted(path.parent.name for path in (PACKAGE / "automata").glob("*/__init__.py"))


def test_a_wing_of_automata_is_imported_through_its_contents_page():
    """Nobody else imports a file of it; and within `automata` nothing waits until a function is called."""
    assert WINGS == ["certificates", "inference", "machines", "networks", "queries"]

    def files_of_others(place, path):
        found = []
        for name in imports(path):
            wing, _, rest = name.removeprefix(f"{OURS}.automata.").partition(".")
            is_file = (PACKAGE / "automata" / wing / f"{rest.split('.')[0]}.py").exists()
            if wing in WINGS and is_file and place.parts[:2] != ("automata", wing):
                found.append(name)
        return found

    def late(place, path):
        nodes = ast.walk(ast.parse(path.read_text())) if place.parts[0] == "automata" else ()
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        inside = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.ImportFrom)]
        return [node.module for node in inside if f"{node.module}.".startswith(f"{OURS}.")]

    assert not found_by(files_of_others)
    assert not found_by(late)


@pytest.mark.matrix
def test_no_private_name_crosses_a_package():
    """A module or a name `_y` of the package X is imported within X alone."""

    def private(place, path):
        own = place.parts[0] if len(place.parts) > 1 else ""
        return sorted(
            name
            for name in imports(path)
            if name.startswith(f"{OURS}.")
            and (parts := name.removeprefix(f"{OURS}.").split("."))[0] != own
            and any(part.startswith("_") for part in parts[1:])
        )

    assert not found_by(private)


def test_nobody_but_the_seam_compares_names_of_backends():
    """`_backend.base.Backend` gets a method that answers."""

    def compared(place, path):
        return [
            ast.unparse(node)
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Compare)
            and any(isinstance(part, ast.Constant) and part.value in BACKENDS for part in ast.walk(node))
        ]

    assert not found_by(compared)


def test_nobody_but_the_seam_reads_private_attributes_of_keras():
    """`_backend/keras_quirks.py` gets a function."""
    private = {"_flatten_layers", "_keras_history", "_keras_mask", "_inbound_nodes", "_outbound_nodes"}

    def read(place, path):
        nodes = [] if place.parts[0] == "_backend" else ast.walk(ast.parse(path.read_text()))
        return sorted({node.attr for node in nodes if isinstance(node, ast.Attribute)} & private)

    assert not found_by(read)


@pytest.mark.parametrize("folder", ["examples", "benchmarks"])
def test_examples_and_benchmarks_use_public_names_alone(folder):
    for path in sorted((ROOT / folder).glob("*.py")):
        private = {
            n for n in outside_names(path) if n.startswith(OURS) and any(p.startswith("_") for p in n.split("."))
        }
        assert not private, f"{path.name} imports {sorted(private)}"


def test_benchmarks_import_no_example():
    """An experiment may change with its paper; a figure of a benchmark stays."""
    files = sorted((ROOT / "benchmarks").glob("*.py"))
    assert not [path.name for path in files if any(n.startswith("examples") for n in outside_names(path))]


@pytest.mark.parametrize("folder", ["keras_interp_rnn", "examples", "benchmarks", "tests"])
def test_nobody_imports_private_modules_of_keras_or_tensorflow(folder):
    for path in sorted((ROOT / folder).rglob("*.py")):
        private = {name for name in outside_names(path) if name.startswith(("keras.src", "tensorflow.python"))}
        assert not private, f"{path} imports {sorted(private)}"


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_modules_import_each_other_in_no_circle():
    """Imports within functions and for types alone count too."""
    files = {module_name(path): path for path in MODULES}
    graph = {}
    for name, path in files.items():
        found = {n if n in files else n.rpartition(".")[0] for n in imports(path) if n.startswith(f"{OURS}.")}
        graph[name] = found & set(files) - {name}
    assert graph[f"{OURS}.layers.cfn"] >= {f"{OURS}.equations", f"{OURS}.layers._gated"}
    assert graph[f"{OURS}.automata.learning"] >= {f"{OURS}.automata.{wing}" for wing in WINGS if wing != "queries"}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"a circle: {' -> '.join(error.args[1])}")


def test_experiments_form_four_layers():
    """What an experiment is, and files; records and training; protocols; experiments and commands; their list."""
    package = "examples.papers"
    files = {f"{package}.{path.stem}": path for path in PAPERS if path.stem not in ("__init__", "__main__")}
    files[package] = ROOT / "examples" / "papers" / "__init__.py"
    graph = {
        name: {n if n in files else n.rpartition(".")[0] for n in imports(path)} & set(files) - {name, package}
        for name, path in files.items()
    }
    depth = {}
    for name in graphlib.TopologicalSorter(graph).static_order():
        depth[name] = 1 + max((depth[below] for below in graph[name]), default=0)
    assert depth[f"{package}._experiment"] == 1
    assert max(depth.values()) <= 5, sorted(depth.items(), key=lambda item: item[1])


@pytest.mark.parametrize("folder", ["papers", "behaviour"])
def test_experiments_use_public_names_alone(folder):
    files = sorted((ROOT / "examples" / folder).rglob("*.py"))
    private = {path.name: {n for n in outside_names(path) if n.startswith(OURS) and "._" in n} for path in files}
    assert not {name: names for name, names in private.items() if names}


CELLS = sorted(name for name in vars(keras.layers) if name.endswith("Cell")) + [
    name for name in layers.__all__ if name.endswith("Cell")
]


def test_nobody_asks_for_the_name_of_a_cell():
    """Strings that are the name of a cell's class, registered or not."""
    registered = {f"{OURS}>{name}" for name in CELLS} | set(CELLS)
    for path in MODULES:
        if path.name == "__init__.py":  # lists of public names
            continue
        texts = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
        assert not texts & registered, f"{path.relative_to(ROOT)} knows {sorted(texts & registered)}"


def test_the_folders_and_tests_that_the_makefile_names_are_there():
    named = re.findall(r"tests/[\w/]+(?:\.py)?", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []

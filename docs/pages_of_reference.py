"""One page a public module, which lists what its `__all__` names; autosummary makes a page of each name.

The page of a function has the classes of what it returns, too, which no `__all__` names.
"""

import importlib
from pathlib import Path

from result_classes import results_by_page

PACKAGE = "keras_interp_rnn"
# As `keras_interp_rnn.__all__` has them, and the two that are imported by themselves.
PACKAGES = [*importlib.import_module(PACKAGE).__all__, "figures", "equations"]
MODULES: dict[str, list[str]] = {name: list(importlib.import_module(f"{PACKAGE}.{name}").__all__) for name in PACKAGES}
RESULTS = {
    f"{PACKAGE}.{module}.{name}": [f"{found.__module__}.{found.__name__}" for found in results]
    for module, names in MODULES.items()
    for name, results in results_by_page(f"{PACKAGE}.{module}", names).items()
}


def write_pages(folder: Path) -> dict[str, str]:
    """Writes the pages, and returns names of files for names that differ in capitals alone.

    `analysis.Contributions` and `analysis.contributions` would be one file on Windows and macOS.
    """
    folder.mkdir(parents=True, exist_ok=True)
    other_files = {}
    for module, names in MODULES.items():
        full = f"{PACKAGE}.{module}"
        lines = [
            f"{module}\n{'=' * len(module)}",
            f".. automodule:: {full}\n   :no-members:",
            "\n".join([".. autosummary::", "   :toctree:", "", *(f"   {name}" for name in names)]),
        ]
        text = "\n\n".join(lines) + "\n"
        page = folder / f"{module}.rst"
        # An unchanged page keeps its time, so that it is not read again.
        if not page.exists() or page.read_text() != text:
            page.write_text(text)
        small = {name for name in names if name == name.lower()}
        for name in names:
            if name not in small and name.lower() in small:
                other_files[f"{full}.{name}"] = f"{full}.{name}-class"
    written = [*MODULES, *(f"{PACKAGE}.{module}.{name}" for module, names in MODULES.items() for name in names)]
    for page in folder.glob("*.rst"):
        if page.stem not in {other_files.get(name, name) for name in written}:
            page.unlink()  # of a name that is no longer public
    return other_files

"""The site: Markdown by MyST, the reference from docstrings and every `__all__`, equations as MathML.

The build needs no network, and a page that is served needs none either: equations are MathML, which docutils makes of
TeX and every current browser draws, so no MathJax is fetched.

Names of Keras lead to its site; inventories.py has the addresses, so that no inventory is fetched.
"""

import html
import importlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
# The kernels that run the notebooks say nothing of how they are connected, and read this checkout too.
SETTINGS = tempfile.TemporaryDirectory(prefix="ipython-", ignore_cleanup_errors=True)
PROFILE = Path(SETTINGS.name) / "profile_default"
PROFILE.mkdir()
(PROFILE / "ipython_kernel_config.py").write_text("get_config().IPKernelApp.log_level = 'ERROR'\n")
os.environ["IPYTHONDIR"] = SETTINGS.name
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])

import docutils.nodes  # noqa: E402
from docutils.utils.math import MathError, latex2mathml  # noqa: E402
from inventories import ADDRESSES, write_inventories  # noqa: E402
from live_pages import write_live_pages  # noqa: E402
from notebooks_of_scripts import write_notebooks  # noqa: E402
from pages_of_reference import MODULES, PACKAGE, RESULTS, write_pages  # noqa: E402
from sphinx.util import logging  # noqa: E402

import keras_interp_rnn  # noqa: E402

LOGGER = logging.getLogger(__name__)

project = PACKAGE
author = "The keras_interp_rnn authors"
copyright = author
release = version = keras_interp_rnn.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
]
# .rst first: autosummary takes the first one for the pages that it writes.
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4
suppress_warnings = [
    # results*.md are generated, and their first headings are as deep as the report wants them.
    "myst.header",
]

intersphinx_mapping = write_inventories(Path(SETTINGS.name))

# The notebooks are run while the site is built. What libraries write to standard error while they are imported is left
# out; a cell that fails or takes five minutes fails the build.
write_notebooks(HERE.parent / "notebooks", HERE / "notebooks", repository=os.environ.get("GITHUB_REPOSITORY", ""))
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_output_stderr = "remove"

# The reference: what `__all__` names, in the order of `__all__`.
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# Keras and matplotlib write their docstrings in a form of their own.
autodoc_inherit_docstrings = False
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autosummary_context = {"results": RESULTS}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
SECTIONS = [
    "Call arguments",
    "Weights",
    "Units",
    "Exactness",
    "Cost",
    "Precision",
    "Reference",
]
napoleon_custom_sections = [("Call arguments", "params_style"), *((name, "notes_style") for name in SECTIONS[1:])]

html_theme = "furo"
html_title = f"keras_interp_rnn {release}"
html_static_path = ["_static"]
# Pages with a network in them, made with the site: live/NAME.html.
html_extra_path = [str(Path(SETTINGS.name) / "pages")]
write_live_pages(Path(html_extra_path[0]) / "live")
html_css_files, html_js_files = ["site.css"], ["site.js"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_theme_options: dict[str, Any] = {"navigation_with_keys": True}

autosummary_filename_map = write_pages(HERE / "reference" / "generated")

PAGES_OUTSIDE = {"benchmarks/README.md": "benchmarks.md", "CONTRIBUTING.md": "contributing.md"}

OUTSIDE = {name for names in ADDRESSES.values() for name in names}
KNOWN = {f"{module}.{name}" for module, names in MODULES.items() for name in names}
HEADERS = {*SECTIONS, "Args", "Returns", "Raises", "Yields", "Example", "Attributes"}


def expanded_headers(lines: list[str]) -> list[str]:
    """`Cost: O(T)` as a header and a block below it, which is the form that napoleon reads."""
    found: list[str] = []
    for line in lines:
        header = re.match(r"([A-Z][A-Za-z ]*):(?: (.+))?$", line)
        if header and header[1] in HEADERS:
            if found and found[-1]:
                found.append("")
            found.append(f"{header[1]}:")
            if header[2]:
                found.append(f"    {header[2]}")
        else:
            found.append(line)
    return found


def joined_names(lines: list[str]) -> list[str]:
    """Names of arguments that go on in the next line, in one line."""
    found: list[str] = []
    for line in lines:
        if found and re.fullmatch(r" {4}[\w*]+(, [\w*]+)*,", found[-1]):
            found[-1] += f" {line.strip()}"
        else:
            found.append(line)
    return found


def literal_blocks(lines: list[str]) -> list[str]:
    """A sentence that ends in a colon, and an indented block behind a blank line: code."""
    found = list(lines)
    for place, line in enumerate(lines[:-2]):
        blank, block = lines[place + 1], lines[place + 2]
        deeper = len(block) - len(block.lstrip()) > len(line) - len(line.lstrip())
        if line.endswith(":") and not blank.strip() and deeper and not block.lstrip().startswith(">>> "):
            found[place] += ":"
    return found


def with_roles(text: str) -> str:
    """Markdown's code and equations as reStructuredText's."""

    def code(match: re.Match[str]) -> str:
        name = match[1].strip()
        if name in KNOWN:
            return f":py:obj:`{name} <{PACKAGE}.{name}>`"
        if name in OUTSIDE:
            return f":py:class:`{name}`"
        return f"``{name}``"

    def block(match: re.Match[str]) -> str:
        indent = re.search(r"(?m)^( *)\$\$", match[0])
        margin = indent[1] if indent else ""
        body = " ".join(match[2].split())
        return f"\n{margin}.. math::\n\n{margin}    {body}\n"

    text = re.sub(r"(?ms)^( *)\$\$(.+?)\$\$", block, text)
    pieces = re.split(r"(?s)(``.+?``|`[^`]+`|\$[^$\n]+(?:\n[^$\n]+)?\$)", text)
    for place, piece in enumerate(pieces):
        if piece.startswith("``"):
            continue
        if piece.startswith("`") and not pieces[place - 1].endswith(":"):
            pieces[place] = code(re.match(r"(?s)`(.+)`", re.sub(r"\s+", " ", piece)))  # type: ignore[arg-type]
        elif piece.startswith("$"):
            pieces[place] = f":math:`{' '.join(piece[1:-1].split())}`"
        else:
            # Outside code a star or a bar is itself, and not markup.
            pieces[place] = re.sub(r"(?<!\\)([*|])", r"\\\1", piece)
    return "".join(apart(pieces))


def apart(pieces: list[str]) -> list[str]:
    """Roles and code at every other place, with an escaped space where a letter touches them, as markup wants."""
    for place in range(1, len(pieces), 2):
        if re.match(r"\w", pieces[place + 1]):
            pieces[place + 1] = "\\ " + pieces[place + 1]
        if re.search(r"\w$", pieces[place - 1]):
            pieces[place - 1] += "\\ "
    return pieces


def translated(lines: list[str]) -> list[str]:
    """A docstring in this package's Markdown as reStructuredText in Google's form. Examples stay as they are."""
    found: list[str] = []
    prose: list[str] = []

    def end_of_prose() -> None:
        if prose:
            found.extend(with_roles("\n".join(prose)).split("\n"))
            prose.clear()

    example = False
    for line in literal_blocks(joined_names(expanded_headers(lines))):
        begins = line.lstrip().startswith(">>> ")
        if begins and not example:
            end_of_prose()
            if found and found[-1].strip():
                found.append("")
        example = begins or (example and bool(line.strip()))
        (found if example else prose).append(line)
    end_of_prose()
    return found


def process_docstring(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """Docstrings as napoleon reads them."""
    lines[:] = translated(lines)


def process_source(_app: Any, name: str, content: list[str]) -> None:
    """Links to Markdown outside docs/ lead to the pages that include it."""
    up = "../" * name.count("/")
    for outside, page in PAGES_OUTSIDE.items():
        content[0] = content[0].replace(f"](../{up}{outside}", f"]({up}{page}")


def mathml(node: docutils.nodes.Element, display: bool) -> str:
    """An equation in TeX as MathML; a warning where docutils cannot."""
    tex = re.sub(r"\\dots\b", r"\\ldots", node.astext())
    try:
        return str(latex2mathml.tex2mathml(tex, as_block=display))
    except MathError as error:
        LOGGER.warning("no MathML for %r: %s", tex, error, location=node)
        return html.escape(tex)


def visit_inline(translator: Any, node: docutils.nodes.Element) -> None:
    """Writes an equation in a line."""
    translator.body.append(f'<span class="math">{mathml(node, False)}</span>')
    raise docutils.nodes.SkipNode


def visit_block(translator: Any, node: docutils.nodes.Element) -> None:
    """Writes an equation of its own lines."""
    translator.body.append(f'<div class="math">{mathml(node, True)}</div>')
    raise docutils.nodes.SkipNode


def setup(app: Any) -> None:
    """Connects the functions above to Sphinx."""
    app.connect("source-read", process_source)
    # Before napoleon, which is connected at 500.
    app.connect("autodoc-process-docstring", process_docstring, priority=400)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))


for _module in MODULES:
    importlib.import_module(f"{PACKAGE}.{_module}")

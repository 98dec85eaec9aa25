"""A page in one HTML file that needs no server and no network, under a strict content security policy.

The policy is part of the page. It allows only the one style element and the one script, by their hashes, and pictures
in the page itself. So no style attribute may remain; each becomes a rule of the style element. The HTML that is passed
escapes quotes in everything that comes from a user: `style="` can only occur in a tag that this package wrote.

The script consists of the modules that draw the tab, joined. It reads a block of JSON, the answers that the server
would give (`kinds`, `Kind.answers`). If scripts are blocked, the passed HTML remains visible.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tensorboard_plugins.interp_rnn import tokens

STATIC = Path(__file__).parent / "static"
COMMENT = r"^ *//[^\n]*\n|^ */\*\*(?:(?!\*/).)*\*/\n|(?<=[;{,]) +// [^'\"`\n]*$"
"""Comments on lines of their own and at the ends of lines, which a page does not have."""


def page(
    title: str, body: str, *, views: Sequence[str] = (), data: Mapping[str, Any] | None = None, lead: str = ""
) -> str:
    """A document around an HTML body, without references to anything outside.

    Args:
        title: text.
        body: HTML.
        views: the modules static/VIEW.js that draw over the body, the first of which is shown first; none for a page
            without scripts.
        data: the answers that the views read, without NaN, from `recording.block`.
        lead: a sentence above the view, which the body contains too.
    """
    plain, rules = _without_style_attributes(body)
    style, sources, scripts = "\n" + tokens.css(by_class=False) + _static("style.css") + rules, "", ""
    if views:
        code = joined(*views)
        sources = f"script-src '{digest(code)}'; img-src data:; "
        scripts = f'<script type="application/json" id="data">{block(data or {})}</script>\n<script>{code}</script>\n'
    policy = f"default-src 'none'; style-src '{digest(style)}'; {sources}base-uri 'none'; form-action 'none'"
    named = html.escape(title)
    above = f'<p class="lead">{html.escape(lead)}</p>\n' if views and lead else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{named}</title>\n<style>{style}</style>\n</head>\n<body class="static">\n<main>\n<h1>{named}</h1>\n'
        f"{above}"
        f'<div class="scroll" role="region" aria-label="{named}" tabindex="0">{plain}</div>\n'
        f"</main>\n{scripts}</body>\n</html>\n"
    )


def block(data: Mapping[str, Any]) -> str:
    """JSON that is safe inside a script element: ASCII, without "<", which could end it or open a comment.

    Raises:
        ValueError: for NaN and infinity, which JSON lacks.
    """
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def joined(*views: str) -> str:
    """The modules that views need as one script, each inside a function.

    Raises:
        ValueError: as `module`; if the script could end its element.
    """
    order: dict[str, None] = {}
    for name in (*views, "embedded"):
        _needed(name, order)
    modules = "".join(map(module, order))
    code = f"\n'use strict';\n{modules}embedded.open({{{', '.join(views)}}});\n"
    if "</" in code or "<!--" in code:
        raise ValueError(
            f"A script in a page must not end its element. Received: {', '.join(views)}. Write '<' + '/' in a module."
        )
    return code


def _needed(name: str, order: dict[str, None]) -> None:
    """Adds a module to the order, after the modules that it imports."""
    for other in re.findall(r"^import .* from '\./(\w+)\.js';$", _static(f"{name}.js"), flags=re.M):
        _needed(other, order)
    order.setdefault(name)


def module(name: str) -> str:
    """A module of static/ as a constant: an object with its exports. Comments and indentation are left out.

    Raises:
        ValueError: if an import or export is not on a line of one of the forms that this function replaces.
    """
    source = re.sub(COMMENT, "", _static(f"{name}.js"), flags=re.M | re.S)
    source = re.sub(r"^ +", "", source, flags=re.M)
    source = re.sub(r"^import (\{[^}]*\}) from '\./(\w+)\.js';$", r"const \1 = \2;", source, flags=re.M)
    exports = re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", source, flags=re.M)
    exports += [
        name for names in re.findall(r"^export \{([^}]*)\};$", source, flags=re.M) for name in names.split(", ")
    ]
    source = re.sub(r"^export (?:\{[^}]*\};$|(?=async |function |const |class ))", "", source, flags=re.M)
    left = re.findall(r"^(?:import|export)\b.*", source, flags=re.M)
    if left:
        raise ValueError(
            f"A module must import and export names, line by line. Received: {left[0]!r} in {name}.js. Write it as the "
            "other modules do."
        )
    return f"const {name} = (() => {{\n{source}\nreturn {{{', '.join(exports)}}};\n}})();\n"


def _static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """The name of an inline element in a content security policy: the hash of its content."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _without_style_attributes(body: str) -> tuple[str, str]:
    """HTML with numbers instead of style attributes, and the rules of these numbers."""
    numbers: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        return f' data-style="{numbers.setdefault(match[1], len(numbers))}"'

    plain = re.sub(r' style="([^"]*)"', numbered, body)
    return plain, "".join(f'[data-style="{number}"] {{ {rule} }}\n' for rule, number in numbers.items())

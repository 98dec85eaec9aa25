"""A page of its own: one HTML file that needs no server and no network, under a strict content security policy.

The policy stands in the page. It allows nothing but the one style element, by its hash; so no style attribute may be
left, and each becomes a rule of that element. Pieces of HTML escape quotes in everything that comes from a user:
`style="` can only stand in a tag that this package wrote.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re

STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 1.5rem 0 0.25rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.75rem; text-align: right; border-bottom: 1px solid #8884; }
p, summary, h1 { overflow-wrap: anywhere; }
summary { cursor: pointer; } svg { max-width: 100%; height: auto; }
.scroll { overflow-x: auto; }
:focus-visible { outline: 2px solid Highlight; }
@media (max-width: 30rem) { body { margin: 1rem auto; } th, td { padding: 0.2rem 0.4rem; } }
"""


def page(title: str, body: str) -> str:
    """A whole document around a piece of HTML; it refers to nothing outside itself."""
    plain, rules = _without_style_attributes(body)
    style = f"\n{STYLE}{rules}"
    policy = f"default-src 'none'; style-src '{digest(style)}'; base-uri 'none'; form-action 'none'"
    named = html.escape(title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{named}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n<h1>{named}</h1>\n"
        f'<div class="scroll" role="region" aria-label="{named}" tabindex="0">{plain}</div>\n'
        "</main>\n</body>\n</html>\n"
    )


def digest(text: str) -> str:
    """The name of an inline element in a content security policy: the hash of what stands between its tags."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _without_style_attributes(body: str) -> tuple[str, str]:
    """A piece with numbers in place of style attributes, and the rules that these stand for."""
    numbers: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        return f' data-style="{numbers.setdefault(match[1], len(numbers))}"'

    plain = re.sub(r' style="([^"]*)"', numbered, body)
    return plain, "".join(f'[data-style="{number}"] {{ {rule} }}\n' for rule, number in numbers.items())

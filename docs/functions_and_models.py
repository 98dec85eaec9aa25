"""Writes the table of functions-and-models.md: every function is tried on every kind of model.

python docs/functions_and_models.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "functions-and-models.md"


def main() -> None:
    """Writes the table between its two marks."""
    sys.path.insert(0, str(ROOT))
    from tests.docs.test_functions_and_models import lines

    table = "\n".join(lines())
    text = PAGE.read_text(encoding="utf-8")
    between = re.compile("(<!-- table -->\n).*(<!-- end -->)", re.DOTALL)
    PAGE.write_text(between.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text), encoding="utf-8")


if __name__ == "__main__":
    main()

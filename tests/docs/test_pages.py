"""The code on the pages runs, and prints what the pages say."""

import ast
import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

from keras_interp_rnn import analysis, presets

DOCS = Path(__file__).parents[2] / "docs"
RUN = [
    "start.md",
    "presets.md",
    "views.md",
    "ideas.md",
    "linear-recurrences.md",
    "small-networks.md",
    "your-own-data.md",
    "your-own-cell.md",
    "learning-by-queries.md",
    "training-with-centroids.md",
    "deploy.md",
    "shapley-values.md",
    "tensorboard.md",
    "trackers.md",
    "scaling.md",
    "functions-and-models.md",
    "attributions.md",
    "exact.md",
    "notes/mean-field.md",
]
ROUNDING = re.compile(r"\b\d(\.\d+)?e-1[3-9]\b")
"""A residual that differs between machines."""
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.matrix
@pytest.mark.parametrize("page", RUN)
def test_code_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = ""
    for language, block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        if language == "c":
            Path("main.c").write_text(block, encoding="ascii")
        elif language == "python":
            assert not printed, f"the page shows nothing of what is printed: {printed}"
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block, page, "exec"), names)
            printed = out.getvalue()
        elif not language:
            lines = [line.rstrip() for line in printed.splitlines()]
            found, expected = (ROUNDING.sub("rounding", "\n".join(each)) for each in (lines, block.splitlines()))
            assert found == expected
            printed = ""
    assert not printed
    assert names, "a page of this list has code"


def test_the_files_of_test_quick_are_there():
    lines = (DOCS.parent / "Makefile").read_text().split("QUICK := ")[1].split("\n\n")[0]
    files = lines.replace("\\\n", " ").split()
    assert len(files) > 5
    assert not [file for file in files if not (DOCS.parent / file).is_file()]


def test_the_first_picture_is_of_a_review_that_is_judged_as_the_readme_says():
    assigned = [node for node in ast.parse((DOCS / "pictures.py").read_text()).body if isinstance(node, ast.Assign)]
    [review] = [ast.literal_eval(node.value) for node in assigned if node.targets[0].id == "REVIEW"]
    critic = presets.load("reviews-sr-lstm")
    split = analysis.attribution(critic.model, critic.encode(review)[None], alphabet=critic.alphabet)
    sure = f"{1 / (1 + np.exp(split.output[0])):.0%} sure"
    assert sure == "89% sure"
    for page in (DOCS.parent / "README.md", DOCS / "gallery.md"):
        assert f"egative, {sure}" in page.read_text(encoding="utf-8"), page
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert split.exact
    shares = dict(zip(split.tokens[0], split.shares[0], strict=True))
    for word, value in {"boring": -3.94, "half": -1.92, "becomes": -0.98, "superb": 3.04, "haunting": 1.7}.items():
        np.testing.assert_allclose(shares[word], value, atol=5e-3)
        assert re.search(rf'"{word}"\s\S*\s?\(?{abs(value):.2f}', readme), word
    assert f"{split.output[0]:.2f}" in readme


LIMIT = re.compile(r"up\s+to\s+16\s+(steps|words|tokens|players|of\s+them)")


def test_no_sentence_says_that_16_steps_are_exact_for_every_network():
    """They are for networks that are read step by step; for others 8 are."""
    root = DOCS.parent
    sources = [*root.glob("*.md"), *DOCS.glob("*.md"), root / "paper" / "paper.md"]
    found = 0
    for page in sources:
        for block in re.split(r"\n\s*\n|\n(?=[|-] )", page.read_text(encoding="utf-8")):
            if LIMIT.search(block):
                found += 1
                assert re.search(r"step\s+by\s+step|under\s+attention", block), f"{page.name}: {block}"
    assert found >= 10

"""Figures 2, 3 and 5 of Foerster et al., 2017: which letters and words of the past made up a prediction.

Also searches a text for beginnings of sentences where the first word decides: without its contribution the network
would predict another next letter, as in the paper's "annual reve", where "annual" turns "reverse" into "revenue".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from examples.papers import _isan_text
from examples.papers._experiment import Claim, Finding, Record, Run, table
from examples.papers._lazy import Array, analysis, datasets, drawings, figures, keras

PHRASE, SENTENCE = " annual revenue ", " the population was higher than in the "
"""Texts of figures 2 and 5."""

MAX_LENGTH = 12
"""Letters of the second word in the search."""


class Predictions(_isan_text.IsanText):
    name = "isan-predictions"
    title = "Predictions taken apart"
    place = "Foerster et al. 2017, figures 2, 3 and 5"
    measure = "the next letter, and the next letter without one of the words"
    rows = {"": {"prompt": "annual reve", "tried": 5000}}
    small = {"tried": 50}
    header = "text | after | next letter | second | next letter without | residual"

    def analyse(self, model: keras.Model, parts: Sequence[Array], run: Run) -> tuple[Record, Record]:
        settings = self.settings(run)
        split = _split(model, f" {settings['prompt']}")
        for name, figure in {
            "figure2.png": drawings.prediction_stack(_split(model, PHRASE)),
            "figure3.png": figures.contribution_column(split),
            "figure5.png": drawings.word_contributions(_split(model, SENTENCE)),
        }.items():
            figure.savefig(run.folder / name, dpi=120)
        words = split.by_word()
        ends = [*words.starts[1:], len(split.symbols) + 1]
        without = [split.without(range(start, end))[-1] for start, end in zip(words.starts, ends, strict=True)]
        winner, runner_up = split.winner()
        return settings, {
            "winner": split.name(winner),
            "runner_up": split.name(runner_up),
            "residual": split.residual,
            "without": [
                {"word": word, "says": split.name(int(logits.argmax()))}
                for word, logits in zip(words.names, without, strict=True)
            ],
            "decided": [row[1:] for row in decided_by_a_word(model, parts[1][:200_000], settings["tried"])[:20]],
        }

    def lines_of(self, record: Record) -> list[list[object]]:
        result = record["result"]
        without = ", ".join(f"{_spaced(row['word'])}: {_spaced(row['says'])}" for row in result["without"])
        prompt, residual = f"`{record['protocol']['prompt']}`", f"{result['residual']:.0e}"
        letters = [_spaced(result[name]) for name in ("winner", "runner_up")]
        return [[record["data"]["name"], prompt, *letters, without, residual]]

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        rows = [
            [record["data"]["name"], f"`{beginning.strip()}`", _spaced(letter), _spaced(other)]
            for record in records
            for beginning, letter, other in record["result"]["decided"][:8]
        ]
        decided = table("text | beginning | next letter | without the first word", rows)
        return {**super().fields(records), "decided": decided}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        results = [record["result"] for record in records]
        residual = max(result["residual"] for result in results)
        decided = min(len(result["decided"]) for result in results)
        turned = []
        for result in results:
            [without] = [row["says"] for row in result["without"] if "annual" in row["word"]]
            is_turned = (result["winner"], without) == ("n", "r")
            turned.append(Finding(f"`{result['winner']}`, and `{without}` without the word", is_turned))
        return [
            self.claim("a sum", "to 1e-12, in float64", Finding(f"off by {residual:.0e}", residual <= 1e-12)),
            self.claim(
                "annual",
                "`n`, and without them `r`",
                *turned,
                picture="isan-3.png",
                shows="what each symbol and each word adds to the logit of `n` and to that of the runner-up, `l`.",
            ),
            self.claim(
                "earlier words",
                "a correctly predicted letter changes when the contributions of an earlier word are removed",
                Finding(f"at least {decided} beginnings in the validation text", decided > 0),
            ),
        ]


def decided_by_a_word(model: keras.Model, symbols: Array, max_pairs: int) -> list[tuple[float, str, str, str]]:
    """Two words of a text, the second unfinished, where the first one decides the next letter, correctly.

    Args:
        max_pairs: number of pairs of neighbouring words to try, from the start of the text.

    Returns:
        (margin in nats, the beginning, the next letter, that without the first word), in descending order. The margin
        is the smaller one of the two predictions'.
    """
    alphabet = datasets.text.ALPHABET
    decided = []
    words = datasets.text.decode(symbols).split()
    for first, second in dict.fromkeys(list(zip(words, words[1:], strict=False))[:max_pairs]):
        if len(first) < 4 or not 4 < len(second) <= MAX_LENGTH:
            continue
        both = f" {first} {second}"
        split = _split(model, both)
        without = split.without(range(1, len(first) + 2))
        for t in range(len(first) + 4, len(both) - 1):
            letter, other = int(split.logits[t].argmax()), int(without[t].argmax())
            if letter != other and alphabet[letter] == both[t + 1]:
                lead = split.logits[t, letter] - split.logits[t, other]
                margin = float(min(lead, without[t, other] - without[t, letter]))
                decided.append((margin, both[: t + 1], alphabet[letter], alphabet[other]))
    return sorted(decided, reverse=True)


def _split(model: keras.Model, words: str) -> Any:
    return analysis.contributions(model, datasets.text.encode(words), alphabet=datasets.text.ALPHABET)


def _spaced(name: str) -> str:
    """A name out of a record, every space shown; older records have "_" for it, and their text no underscores."""
    return f"`{name if name == 'h_0' else name.replace('_', '␣').replace(' ', '␣')}`"

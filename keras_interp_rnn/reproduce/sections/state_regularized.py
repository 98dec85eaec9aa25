"""The report's sections on state-regularized networks (Wang, Lawrence and Niepert, 2022)."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from keras_interp_rnn.reproduce.papers import PAPER_CENTROIDS, PAPER_PALINDROMES, PAPER_PARENTHESES
from keras_interp_rnn.reproduce.pictures import by_centroids
from keras_interp_rnn.reproduce.sections.runs import ending

LSTMS = ("LSTM", "LSTM-P", "SR-LSTM", "SR-LSTM-P")

TESTS = (
    *("test_d1_10_l100", "test_d10_20_l100", "test_d10_20_l200", "test_d5_l200", "test_d10_l200", "test_d20_l1000"),
    *("test_l100", "test_l200", "test_l500"),
)
"""In the order of the paper's tables 1 and 3."""

TOMITA = """
## Tomita's languages (Wang, Lawrence and Niepert 2022, section 5.1)

`examples/tomita.py`: a state-regularized GRU is trained on all words of up to ten symbols, read as an automaton,
compared with the true one ("exact" counts the seeds where both are the same), and certified: proved to judge every
word, of any length, as the automaton does, at the temperature it is deployed with. "Temperature": the
highest at which it is certified too, in units of the deployed one. The paper extracts the right automaton for the
languages 1 to 4 and 7. Random long words have up to 1,000 symbols, half of them from the language.

Extracted automata of the languages 2, 3 and 4, numbers are those of the centroids (figure 4 of the paper):

![automaton of Tomita 2](figures/tomita-2.svg)
![automaton of Tomita 3](figures/tomita-3.svg)
![automaton of Tomita 4](figures/tomita-4.svg)

| language | seeds | exact | certified | random long words right | temperature | attempts | median seconds |
|---|---|---|---|---|---|---|---|
"""

TEMPERATURE = """
## One network at several temperatures (Wang, Lawrence and Niepert 2022, figure 3)

`examples/temperature.py`: a state-regularized GRU is trained on one of Tomita's languages at temperature 1, and run at
others. "Least sure" is the least probability of a transition that its automaton takes; "words right" are 500 random
words of up to twice the length trained on; "proved" is a certificate for all words.

![probabilities of all centroids after each symbol, by temperature](figures/temperature.png)
![automaton of Tomita 1](figures/tomita-1.svg)

| language | seed | temperature | least sure | automaton exact | words right | proved |
|---|---|---|---|---|---|---|
"""

COMPARE = """
## Automata read off and automata learned by asking (Wang, Lawrence and Niepert 2022, section 5.1)

`examples/compare_extraction.py`: a state-regularized GRU is read as an automaton, and AALpy's L* and KV, with three
oracles that look for counterexamples, learn one by asking it, a plain GRU and a plain LSTM. Symbols: as many as the
network had to read (for "exact", transitions asked for before the automaton is minimized). Agreement: with the network,
on 500 random words of up to 100 symbols. Gave up: not done when the network had read as many symbols as was allowed,
for a network that is no small automaton gives counterexamples without end.

| language | network | method | states | seconds | symbols | agreement | true language |
|---|---|---|---|---|---|---|---|
"""

PARENTHESES = """
## Balanced parentheses (Wang, Lawrence and Niepert 2022, tables 1 and 2)

`examples/balanced_parentheses.py`: networks of ten units are trained on strings of depth 1 to 5 and at most 100 symbols
and keep the weights that do best on depth 6 to 10. Errors on 1,000 strings of a depth d and of at most l symbols, short
ones more often than long ones, half of them balanced. Mean over the seeds, and least to greatest. A negative of `small`
and `large` has half of its symbols drawn anew, as in the published data; one of `small_near` and `large_near` differs
from a balanced string in one symbol.

"""

BY_CENTROIDS = """Validation errors through training on `small`, by the number of centroids of an SR-LSTM-P
(first seed), figure 6 of the paper: thin, after every pass, and the least so far.

![validation errors by number of centroids](figures/parentheses-centroids.png)

"""

STATES = """
## Where the count is (Wang, Lawrence and Niepert 2022, figure 5)

`examples/parentheses_states.py`: hidden state and memory along one string, of networks trained on balanced parentheses.
Drift: the distance between the means of the first and the last quarter of the states, in steps of usual size.

![hidden state and memory of an LSTM](figures/parentheses-LSTM.png)
![hidden state and memory of an SR-LSTM-P](figures/parentheses-SR-LSTM-P.png)

"""

PALINDROMES = """
## Palindromes (Wang, Lawrence and Niepert 2022, table 3)

`examples/palindromes.py`: w w^-1 over 26 letters; networks of ten units are trained on words of at most 100 letters.
Errors on 1,000 words of at most so many letters, half of them palindromes, in the others half of the letters drawn
anew. Mean over the seeds, and least to greatest.

"""


DIGITS = """
## What centroids stand for, in pixels (Wang, Lawrence and Niepert 2022, figures 7, 8 and 9)

`examples/mnist_centroids.py`, on a network of the table on MNIST: the mean probability of moving to each centroid at
every pixel, for each digit, the commonest centroids first with their shares of all steps; the same for single digits
that it reads rightly; and digits in the plane, by t-SNE of their mean transition probabilities. "By transitions": how
many a logistic regression tells rightly by those probabilities alone, in which the order of the steps is lost.

![mean transition probabilities for each digit](figures/mnist-7.png)
![transition probabilities of single digits](figures/mnist-8.png)
![digits by their mean transition probabilities](figures/mnist-9.png)

| run | pixels | centroids | in use | digits | read rightly | by transitions |
|---|---|---|---|---|---|---|
"""


def tomita(records: list[dict[str, Any]]) -> str:
    """Section 5.1 and figure 4."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault(record["data"]["name"], []).append(record)
    lines = []
    for name, group in sorted(groups.items()):
        found = [record["result"] for record in group]
        ratios = [r["largest_temperature"] / r["temperature"] for r in found if r["certified"]]
        lines.append(
            f"| {name} | {len(found)} | {sum(r['exact'] for r in found)} | {sum(r['certified'] for r in found)} "
            f"| {sum(r['long_agreeing'] for r in found)} of {sum(r['long_words'] for r in found)} "
            f"| {f'{min(ratios):.2f} to {max(ratios):.2f}' if ratios else ''} "
            f"| {max(r['attempts'] for r in found)} at most | {statistics.median(r['seconds'] for r in found):.0f} |\n"
        )
    first = [group[0] for _, group in sorted(groups.items())]
    return TOMITA + "".join(lines) + ending(first, lambda record: record["data"]["name"])


def temperature(records: list[dict[str, Any]]) -> str:
    """Figure 3."""
    lines = []
    for record in records:
        for row in record["result"]["temperatures"]:
            yes = {True: "yes", False: "no"}
            lines.append(
                f"| {record['data']['name']} | {record['model']['seed']} | {row['temperature']:g} | {row['least']:.4f} "
                f"| {yes[row['exact']]} | {row['right']:.1%} | {yes[row['certified']]} |\n"
            )
    return TEMPERATURE + "".join(lines) + ending(records, lambda record: record["data"]["name"])


def compare(records: list[dict[str, Any]]) -> str:
    """Extraction beside learning by queries."""
    lines = []
    for record in records:
        for row in record["result"]["rows"]:
            found = "gave up | | "
            said = " | | |"
            if row["states"] is not None:
                found = f"{row['states']} | {row['seconds']:.2f} | "
                said = f" | {row['agreement']:.1%} | {'yes' if row['true'] else 'no'} |"
            lines.append(
                f"| {record['data']['name']} | {row['network']} | {row['method']} | {found}{row['read']:,}{said}\n"
            )
    return COMPARE + "".join(lines) + ending(records, lambda record: record["data"]["name"])


def parentheses(records: list[dict[str, Any]]) -> str:
    """Tables 1 and 2, and figure 6."""
    return (
        PARENTHESES + BY_CENTROIDS * bool(by_centroids(records)) + _errors(records, PAPER_PARENTHESES, PAPER_CENTROIDS)
    )


def states(records: list[dict[str, Any]]) -> str:
    """Figure 5."""
    parts = []
    for record in records:
        tests = record["protocol"]["tests"]
        names = " | ".join(map(_shown, tests))
        part = f"| words | network | {names} | drift of h | drift of c |\n|{'---|' * (len(tests) + 4)}\n"
        for kind, found in record["result"].items():
            errors = " | ".join(f"{found['errors'][test]:.1%}" for test in tests)
            part += (
                f"| {record['data']['config']} | {kind} | {errors} | {found['drift']['h']:.1f} "
                f"| {found['drift']['c']:.1f} |\n"
            )
        parts.append(part)
    return STATES + "\n".join(parts) + ending(records, lambda record: record["data"]["config"])


def palindromes(records: list[dict[str, Any]]) -> str:
    """Table 3."""
    return PALINDROMES + _errors(records, {"large": PAPER_PALINDROMES}, {})


def digits(records: list[dict[str, Any]]) -> str:
    """Figures 7, 8 and 9."""
    lines = []
    for record in records:
        result, data = record["result"], record["data"]
        lines.append(
            f"| {record['model']['run']} | {data['pixels']} | {record['model']['centroids']} "
            f"| {result['centroids_used']} | {data['digits']:,} | {result['accuracy']:.1%} "
            f"| {result['by_transitions']:.1%} |\n"
        )
    return DIGITS + "".join(lines) + ending(records, lambda record: record["model"]["run"])


def _errors(
    records: list[dict[str, Any]],
    paper: Mapping[str, Mapping[str, Sequence[float]]],
    by_centroids: Mapping[int, Sequence[float]],
) -> str:
    """A table for each set of words: a row for each network and number of centroids, the paper's beside it."""
    tests = sorted(records[0]["result"]["errors"], key=TESTS.index)
    groups: dict[str, dict[tuple[int, str, int], list[dict[str, Any]]]] = {}
    for record in records:
        kind, k = record["model"]["layer"], record["protocol"]["centroids"]
        of_words = groups.setdefault(record["data"]["config"], {})
        of_words.setdefault((LSTMS.index(kind), kind, k), []).append(record)
    parts = []
    for config, networks in sorted(groups.items()):
        names = list(map(_shown, tests))
        first = next(iter(networks.values()))[0]["data"]
        parts.append(
            f"`{config}`, {first['words']:,} words for training, {first['positives']:,} of them in the language:\n\n"
            f"| network | k | seeds | median minutes | {' | '.join(names)} |\n|{'---|' * (len(tests) + 4)}\n"
        )
        for (_, kind, k), group in sorted(networks.items()):
            minutes = statistics.median(record["result"]["seconds"] for record in group) / 60
            cells = [_percent([record["result"]["errors"][test] for record in group]) for test in tests]
            parts.append(f"| {kind} | {k or ''} | {len(group)} | {minutes:.1f} | {' | '.join(cells)} |\n")
            said = paper.get(config, {}).get(kind) if k in (0, 5) else None
            if config == "small" and kind == "SR-LSTM-P":
                said = by_centroids.get(k, said)
            if said is not None:
                parts.append(f"| *the paper's* | {k or ''} | | | {' | '.join(f'*{error:.1%}*' for error in said)} |\n")
        parts.append("\n")
    first_runs = [group[0] for networks in groups.values() for group in networks.values()]
    return "".join(parts).removesuffix("\n") + ending(
        first_runs, lambda r: f"{r['data']['config']}, {r['model']['layer']}"
    )


def _shown(test: str) -> str:
    """The name of a test set, as the tables head their columns."""
    return re.sub(r"^test_", "", test).replace("_", " ")


def _percent(errors: list[float]) -> str:
    spread = f" ({min(errors):.1%} to {max(errors):.1%})" if len(errors) > 1 else ""
    return f"{statistics.mean(errors):.1%}{spread}"

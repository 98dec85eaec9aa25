"""The report's sections on input-switched affine networks (Foerster et al., ICML 2017)."""

from __future__ import annotations

from typing import Any

from keras_interp_rnn.reproduce.papers import PAPER_TABLE_1
from keras_interp_rnn.reproduce.sections.runs import ending, hardware, remark, runs

TEXT8 = """
## ISAN on character text (Foerster et al. 2017, table 1)

`examples/text8_isan.py`; test bits per character, lower is better. The paper's figures are for the whole text8
(100 million characters). A figure from other data can be set beside them, not against them.

| data | network | largest size | units | weights | test bits | validation bits | paper | characters read | minutes |
|---|---|---|---|---|---|---|---|---|---|
"""

EQUAL_TIME = """
Networks of equal numbers of weights, given equal time, in which fast ones read more text; the paper trained all of them
to their end (`python -m keras_interp_rnn reproduce isan-text8 --budget 30`, 5 and 2 minutes for the smaller ones):

| data | network | units | weights | test bits | paper, text8 | minutes of training | characters read | hardware |
|---|---|---|---|---|---|---|---|---|
"""

READING = """
## Reading an ISAN (Foerster et al. 2017, sections 3.1 and 3.3 to 3.6)

Figures 1 to 8 of the paper, each by one script, from an ISAN trained as the largest of the first table, or from the one
that a run names. What the paper says of its own model is beside the figures, in italics.

"""

RARE = """
## Ten thousand symbols (after Foerster et al. 2017, section 5.2)

`examples/rare_symbols.py`: a matrix for each of a text's commonest words, most of which are not in a batch. Adam moves
every matrix at every step; `optimizers.LazyAdam` those of the words in the batch. Test bits per word after as many
steps, lower is better, and the median time of a step, on a machine that others used too.

| text | network | weights | optimizer | steps | bits per word | ms per step |
|---|---|---|---|---|---|---|
"""

COUNTING = """
## Counting, reverse-engineered (Foerster et al. 2017, section 4)

`examples/counting.py`: an ISAN counts how deep brackets of several types are nested and puts the counts out one step
later. Errors are counted over fresh steps. Then the basis is sought in which states and matrices are zeros and ones:
from the counts, by regression as in the paper, and without any labels, from what the network itself puts out now and
later (`analysis.sparse_basis`). "Hot" dimensions are 0 or 1 in every state; the rest is about them alone. "Off": the
largest distance of an entry of the matrices, and of the states, from 0 or 1 in that basis; "near 0": the share of the
entries of the matrices within 0.05 of 0. A network made of the rounded matrices is run on fresh steps too. *The paper's
ISAN of 35 units uses 24.*

| types, up to | seed | units | seconds | errors | basis | hot | matrices off | states off | near 0 | rounded: errors |
|---|---|---|---|---|---|---|---|---|---|---|
"""

FACTORED = """
## A factorised switch (after Foerster et al. 2017, section 5.2)

`examples/factored_isan.py`: W(x) = W_0 + U diag(g(x)) V in place of one matrix for each symbol; FactoredISAN(n, f) has
n units and f factors. About equal numbers of weights, as many steps, one seed, a small budget. Characters and pairs of
characters (729 symbols, in bits for each character of a pair): lower is better. Oscillator: a signal whose frequency is
an input, the share of its variance that the forecast leaves; a linear network cannot follow it.

| data | network | weights | steps | bits per character | variance left |
|---|---|---|---|---|---|
"""


def text8(records: list[dict[str, Any]]) -> str:
    """Table 1, from `examples/text8_isan.py`: ISAN trained to its end, and networks given equal time."""
    records = sorted(records, key=_by_data_size_and_bits)
    to_the_end = [record for record in records if not record["protocol"].get("minutes")]
    equal_time = [record for record in records if record["protocol"].get("minutes")]
    heading = (
        "Runs (Adam, its learning rate the one given here divided by the number of units, cosine decay, clipping by "
        "the global norm, state carried across windows)"
    )
    found = TEXT8 + "".join(map(_row, to_the_end))
    if equal_time:
        found += EQUAL_TIME + "".join(map(_equal_time_row, equal_time))
    return found + "\n" + _data(records) + ending(records, _text8_name, heading)


def _by_data_size_and_bits(record: dict[str, Any]) -> tuple[str, float, float]:
    return record["data"]["name"], float(record["model"]["size"]), record["result"]["test_bits"]


def _row(record: dict[str, Any]) -> str:
    model, result = record["model"], record["result"]
    network = model.get("layer", "ISAN")
    paper = PAPER_TABLE_1[network].get(model["size"], "")
    return (
        f"| {record['data']['name']} | {network} | {model['size']} | {model['units']} | {model['parameters']:,} "
        f"| {result['test_bits']:.3f} | {result['validation_bits']:.3f} | {paper} "
        f"| {result['characters'] / 1e6:,.0f} M | {result['seconds'] / 60:.0f} |\n"
    )


def _equal_time_row(record: dict[str, Any]) -> str:
    model, result, protocol = record["model"], record["result"], record["protocol"]
    paper = PAPER_TABLE_1[model["layer"]].get(model["size"], "")
    return (
        f"| {record['data']['name']} | {model['layer']} | {model['units']} | {model['parameters']:,} "
        f"| {result['test_bits']:.3f} | {paper} | {result['training_seconds'] / 60:.0f} of {protocol['minutes']:.0f} "
        f"| {result['characters'] / 1e6:,.1f} M | {hardware(record['environment'])} |\n"
    )


def _text8_name(record: dict[str, Any]) -> str:
    minutes = record["protocol"].get("minutes")
    within = f", {record['model']['layer']}, {minutes:g} minutes" if minutes else ""
    return f"{record['data']['name']}, {record['model']['size']}{within}"


def _data(records: list[dict[str, Any]]) -> str:
    """One line per text, so that no figure is taken for one of another text."""
    texts = {record["data"]["name"]: record["data"] for record in records}
    lines = [
        f"- **{name}**: {text['characters']:,} characters in all, split 90/5/5, sha256 of the text "
        f"`{text['text_sha256'][:16]}…`. {'This is text8.' if text['whole_text8'] else 'Not the whole text8.'}\n"
        for name, text in sorted(texts.items())
    ]
    return "Data:\n\n" + "".join(lines)


def spectra(records: list[dict[str, Any]]) -> str:
    """Figure 1."""
    lines = []
    for record in records:
        for row in record["result"]["networks"]:
            counts = " | ".join(f"{n} ({n / row['units']:.0%})" for n in row["directions"])
            lines.append(f"| {row['network']} | {counts} |\n")
    return (
        READING
        + "Variance of states along their principal directions, `examples/isan_spectra.py`: *the ISAN's spectrum is "
        "flatter than those of vanilla RNNs and GRUs.* Directions that explain a share of the variance, of all:\n\n"
        "![explained variance](figures/isan-1.png)\n\n| network | 50 % | 90 % | 99 % |\n|---|---|---|---|\n"
        + "".join(lines)
        + ending(records, _read)
    )


def predictions(records: list[dict[str, Any]]) -> str:
    """Figures 2, 3 and 5."""
    parts = []
    for record in records:
        result, prompt = record["result"], record["protocol"]["prompt"]
        without = "; ".join(f"without `{_spaced(row['word'])}` `{_spaced(row['says'])}`" for row in result["without"])
        decided = ", ".join(
            f"`{text.strip()}` → `{_spaced(said)}` (else `{_spaced(other)}`)"
            for text, said, other in result["decided"][:8]
        )
        winner, runner_up = _spaced(result["winner"]), _spaced(result["runner_up"])
        parts.append(
            f"\nPredictions taken apart, `examples/isan_predictions.py`. After `{prompt}` comes `{winner}` before "
            f"`{runner_up}`; {without}. *In the paper, 'annual' turns 'reverse' into 'revenue'.* The sum of all "
            f"contributions misses the logits by {result['residual']:.0e}. Other beginnings in the validation text "
            f"where the first word decides, found by search: {decided}.\n\n"
            "![the stack of contributions](figures/isan-2.png)\n![one prediction](figures/isan-3.png)\n"
            "![contributions of words](figures/isan-5.png)\n"
        )
        parts.append(ending([record], _read))
    return "".join(parts)


def _spaced(name: str) -> str:
    """A name out of a record, every space shown; older records have "_" for it, and their text no underscores."""
    return name if name == "h_0" else name.replace("_", "␣").replace(" ", "␣")


def timescales(records: list[dict[str, Any]]) -> str:
    """Figure 4."""
    parts = []
    for record in records:
        result = record["result"]
        fast, slow = result["scales"]
        history = ", ".join(
            f"{n}: {bits:.2f}" for n, bits in sorted(result["history"].items(), key=lambda x: int(x[0]))
        )
        only = ", ".join(f"{bits:.2f}" for bits in result["median_only"][:8])
        parts.append(
            f"\nTimescales, `examples/isan_timescales.py`{', of another network' * ('model' in record)}. "
            "*Contributions decay on two exponential scales, a faster one for the first ten or so characters.* Here: "
            f"{fast:.1f} and {slow:.1f} characters; the fit is off by {result['error']:.1%}, a single exponential by "
            f"{result['error_of_one']:.1%}. *Prediction improves "
            "rapidly up to ten characters of history and then saturates.* Bits by characters of history, on the first "
            f"{record['protocol']['symbols']:,} of the {record['protocol'].get('part', 'validation')} text: "
            f"{history}, all: {result['whole']:.2f}. *With nothing but the last space, less than 1 bit from the fourth "
            f"letter on.* Here: medians of {only} at positions 1 to 8. Without the last space alone, the "
            f"median at the second letter goes from {result['median_all'][1]:.2f} to {result['median_without'][1]:.2f}."
            "\n" + "\n![timescales](figures/isan-4.png)\n" * (record is records[0])
        )
        parts.append(runs([record], _read))
    return "".join(parts[:-1]) + remark(records) + parts[-1]


def subspaces(records: list[dict[str, Any]]) -> str:
    """Figures 6 and 7."""
    parts = []
    for record in records:
        rows = "".join(
            f"| {row['part']} | {row['correlation']:+.2f} | {' | '.join(f'{c:+.2f}' for c in row['cosines'])} |\n"
            for row in record["result"]["parts"]
        )
        parts.append(
            "\nSubspaces, `examples/isan_subspaces.py`. *The norms of the biases follow the letters' log probability, "
            "by their part in the computational subspace alone. Vowels and consonants form two blocks, in the readout "
            "subspace alone.*\n\n"
            "![norms of the biases](figures/isan-6.png)\n![cosines of the biases](figures/isan-7.png)\n\n"
            "| | norm with log p | cosine within vowels | within consonants | across |\n|---|---|---|---|---|\n"
            f"{rows}"
        )
        parts.append(ending([record], _read))
    return "".join(parts)


def ngrams(records: list[dict[str, Any]]) -> str:
    """Figure 8."""
    parts = []
    for record in records:
        result = record["result"]
        bits = ", ".join(f"{name} {value:.3f}" for name, value in sorted(result["bits"].items()))
        parts.append(
            "\nn-grams, `examples/isan_ngrams.py`. *The readout's bias gives the unigrams, the biases' readout the "
            f"bigrams.* Correlation with the counts: unigrams {result['unigram_correlation']:.2f}; bigrams "
            f"{result['bigram_correlation']:.2f} on average, where unigrams have {result['unigram_baseline']:.2f}; "
            f"better than those for {result['better']} of 27 letters. Bits a character, of back-off models too, on "
            f"the first {record['protocol']['symbols']:,} characters of the test text: {bits}.\n\n"
            "![n-grams](figures/isan-8.png)\n"
        )
        parts.append(ending([record], _read))
    return "".join(parts)


def _read(record: dict[str, Any]) -> str:
    """The text and the model that a script read."""
    model = record.get("model")
    if model is None:
        return str(record["data"]["name"])
    return (
        f"{record['data']['name']}, ISAN of {model['units']} units, {model['parameters']:,} weights, sha256 of the "
        f"weights `{model['sha256'][:16]}…`"
    )


def rare(records: list[dict[str, Any]]) -> str:
    """Optimizers for many symbols."""
    lines = [
        f"| {record['data']['name']} | {record['model']['layer']} | {record['model']['parameters']:,} "
        f"| {record['protocol']['optimizer']} | {record['protocol']['steps']:,} "
        f"| {record['result']['bits_per_word']:.3f} | {record['result']['milliseconds']:.0f} |\n"
        for record in sorted(records, key=lambda record: (record["data"]["name"], record["model"]["layer"]))
    ]
    return RARE + "".join(lines) + ending(records, lambda r: f"{r['data']['name']}, {r['model']['layer']}")


def counting(records: list[dict[str, Any]]) -> str:
    """Section 4 and figure 9."""
    lines = []
    for record in records:
        data, result = record["data"], record["result"]
        for name, found in result["bases"].items():
            if "hot" not in found:
                continue
            lines.append(
                f"| {data['types']}, {data['maximum']} | {record['model']['seed']} | {record['model']['units']} "
                f"| {result['seconds']:.0f} | {result['wrong']} of {result['tested']:,} | {name} | {found['hot']} "
                f"| {found['matrices']:.4f} | {found['states']:.4f} | {found['near_zero']:.0%} "
                f"| {found['rebuilt_wrong']} |\n"
            )
    figure = (
        "\nMatrix of one bracket and states over time, as trained and in the basis found without labels (figure 9):\n\n"
        "![a matrix and states in both bases](figures/isan-9.png)\n"
    )
    return COUNTING + "".join(lines) + figure + ending(records, _counting_name)


def _counting_name(record: dict[str, Any]) -> str:
    return f"{record['data']['types']} types to {record['data']['maximum']}, seed {record['model']['seed']}"


def factored(records: list[dict[str, Any]]) -> str:
    """Section 5.2, its future work."""
    lines = []
    for record in sorted(records, key=lambda record: (record["data"]["name"], record["model"]["layer"])):
        result = record["result"]
        bits, left = result.get("bits_per_character"), result.get("of_the_variance_left")
        lines.append(
            f"| {record['data']['name']} | {record['model']['layer']} | {record['model']['parameters']:,} "
            f"| {record['protocol']['steps']:,} | {'' if bits is None else f'{bits:.3f}'} "
            f"| {'' if left is None else f'{left:.5f}'} |\n"
        )
    return FACTORED + "".join(lines) + ending(records[:1], lambda record: record["data"]["text"])

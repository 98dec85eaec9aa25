"""Section 3.2 of Foerster et al., 2017: bytes of the Billion Word corpus."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.papers import _characters, _records
from examples.papers._experiment import Claim, Finding, Record, Run, claim, percent, table
from examples.papers._lazy import analysis, corpora, keras, np

WIDE = "ISAN, half as wide again"

PROMPT, BYTES, SAMPLES = "The pol", 240, 20

OFTEN = 3
"""A word of the samples is known if the training text has it this often."""


def _rows(isan: str, wide: str, lstm: str) -> dict[str, dict[str, Any]]:
    """ISANs and an LSTM with at most this number of weights."""
    common = {**_characters.BASELINE, "optimizer": "adagrad"}
    return {
        "ISAN": {"network": "ISAN", "size": isan, **common, "learning_rate": 2.0},
        WIDE: {"network": "ISAN", "size": wide, **common, "learning_rate": 2.0},
        "LSTM": {"network": "LSTM", "size": lstm, **common, "learning_rate": 8.0, "batch": 32},
    }


class BillionWord(_characters.CharacterTable):
    """Networks that predict the next byte, of a size for two cores."""

    name = "isan-lm1b"
    title = "Bytes of the Billion Word corpus"
    place = "Foerster et al. 2017, section 3.2"
    measure = "bits per byte"
    data = "One Billion Word: a folder with 1b_benchmark.dev.tokens and 1b_benchmark.test.tokens; else TFDS's lm1b"
    minutes = 30
    rows = _rows("1e6", "2.2e6", "1e6")
    paper = {"ISAN": 1.4, WIDE: 1.36, "LSTM": 1.1}

    def read(self, data: Path | None, smoke: bool, settings: Mapping[str, Any]) -> _characters.Text:
        """The 70 most frequent bytes are distinguished when read, all 256 when predicted."""
        names = ("train", "validation", "test")
        if smoke:
            rng = np.random.default_rng(0)
            parts = {name: rng.integers(97, 123, 2000).astype(np.uint8) for name in names}
        else:
            parts = {name: corpora.lm1b.load(name, source=data) for name in names}
        sizes = {name: len(part) for name, part in parts.items()}
        digest = {"text_sha256": _records.sha256(*parts.values())}
        info = {"name": "lm1b", "bytes": sizes, "whole": data is None, **digest}
        return _characters.Text(parts, 256, corpora.lm1b.most_frequent(parts["train"]), info)

    def run(self, run: Run) -> Record:
        record = super().run(run)
        if run.settings["network"] == "ISAN":
            record["samples"] = _sampled(keras.models.load_model(run.folder / "model.keras"), self.load(run), run.seed)
        return record

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        usual = super().fields(records)
        sampled = [record for record in records if "samples" in record]
        rows = []
        for record in sampled:
            own, text = record["samples"], record["samples"]["text"]
            cells = [f"{own[name]:.1%} ({text[name]:.1%})" for name in ("known", "capitalized", "mixed")]
            rows.append([self.called(record), *cells])
        header = "network | known words (of the text itself) | capitalized | capital after a small letter"
        first = sampled[0]["samples"]["written"][:3] if sampled else []
        samples = "\n\n".join([table(header, rows), *("> " + one.replace("\n", " / ") for one in first)])
        return {"table": usual["table"], "samples": samples, "runs": usual["runs"]}

    def claims(self, records: Sequence[Record]) -> list[Claim]:
        sampled = [record["samples"] for record in records if "samples" in record]
        untried = (
            "ours read 3 MB in six minutes or repeat 1.7 MB; the paper's read the corpus, 0.8 billion words, and its "
            "LSTM has 44 million weights"
        )
        return [
            claim(
                "section 3.2",
                "An LSTM (1.1 bits per byte) is ahead of an ISAN (1.36).",
                "Our best LSTM model reached 1.1 bits per character. (3.2)",
                "the LSTM has fewer bits, on the whole corpus",
                decides=untried,
            ),
            claim(
                "section 3.2",
                "A wider ISAN is better: 1.36 bits instead of 1.40.",
                "Our best ISAN models reached 1.4 bits per character. (3.2)",
                "fewer bits with half as many units again, on the whole corpus",
                decides=untried,
            ),
            claim(
                "section 3.2",
                "Samples keep lower and upper case apart, and are coherent over short segments.",
                "",
                "the share of capitalized words is at most a fifth off the text's, capitals after small letters are at "
                "most a point more frequent; at least nine of ten words occur in the text three times or more",
                *(finding for one in sampled[:1] for finding in _like_the_text(one)),
                decides="more text than 1.7 MB",
            ),
        ]


class WholeBillionWord(BillionWord):
    """Networks of the paper's size, for a week each."""

    name = "isan-lm1b-full"
    title = "Bytes of the Billion Word corpus, networks of the paper's size"
    minutes = 7 * 24 * 60
    rows = _rows("1.8e7", "4.1e7", "4.4e7")


def _sampled(model: keras.Model, text: _characters.Text, seed: int) -> dict[str, Any]:
    """What a network writes after the prompt, and what its words are like, beside those of the training text."""
    prompt = np.frombuffer(PROMPT.encode(), np.uint8)
    reads_bytes = _reading_bytes(model, text)
    written = []
    for i in range(SAMPLES):
        ids = analysis.generate(reads_bytes, prompt, num_symbols=BYTES, seed=seed * SAMPLES + i)
        written.append(ids.astype(np.uint8).tobytes().decode(errors="replace"))
    known = Counter(_words(text.parts["train"].tobytes().decode(errors="replace")))
    # Neither the word that the prompt begins nor the last one, which the end cuts off.
    own = [word for one in written for word in _words(one[len(PROMPT) :])[1:-1]]
    return {**_of_words(own, known), "text": _of_words(known.elements(), known), "written": written}


def _reading_bytes(model: keras.Model, text: _characters.Text) -> keras.Model:
    """The layers of the network behind the table from bytes to the ids that it reads."""
    assert text.read is not None
    ids_of = keras.layers.Embedding(text.outputs, 1, trainable=False, name="ids_of_bytes")
    inputs = keras.Input(batch_shape=model.inputs[0].shape, dtype="int32")
    outputs = keras.ops.cast(ids_of(inputs)[..., 0], "int32")
    ids_of.set_weights([text.read[:, None]])
    for layer in model.layers:
        outputs = layer(outputs)
    return keras.Model(inputs, outputs)


def _words(text: str) -> list[str]:
    """Runs of letters."""
    return re.findall("[A-Za-z]+", text)


def _of_words(words: Iterable[str], known: Mapping[str, int]) -> dict[str, float]:
    """Shares of words: known ones, capitalized ones, and those with a capital after a small letter."""
    shares: Counter[str] = Counter()
    for word in words:
        shares["all"] += 1
        shares["known"] += known[word] >= OFTEN
        shares["capitalized"] += word[0].isupper()
        shares["mixed"] += re.search("[a-z][A-Z]", word) is not None
    return {name: shares[name] / max(shares["all"], 1) for name in ("known", "capitalized", "mixed")}


def _like_the_text(own: Mapping[str, Any]) -> tuple[Finding, Finding, Finding]:
    text = own["text"]
    capitalized = f"{percent(own['capitalized'])} capitalized, in the text {percent(text['capitalized'])}"
    return (
        Finding(capitalized, abs(own["capitalized"] - text["capitalized"]) <= 0.2 * text["capitalized"]),
        Finding(f"{percent(own['mixed'])} mixed", own["mixed"] <= text["mixed"] + 0.01),
        Finding(f"{percent(own['known'])} known", own["known"] >= 0.9),
    )

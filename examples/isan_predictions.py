"""Which letters and words of the past made up a prediction?

Splits the logits of an ISAN exactly among the symbols it has read, and draws the paper's figures 2, 3 and 5. Then looks
for beginnings of sentences where the first word decides: without its contribution the network would have said another
letter next, as in the paper's "annual reve", where "annual" turns "reverse" into "revenue".

    python examples/isan_predictions.py --model runs/text_isan/model.keras
    python examples/isan_predictions.py --model model.keras --text text8.zip --prompt "annual reve"

Reference: Foerster et al., ICML 2017, sections 3.3 and 3.4.
"""

import sys
from pathlib import Path

import command_line

parser = command_line.reads_isan(__doc__, "isan_predictions")
parser.add_argument("--prompt", default="annual reve", help="text whose last prediction is decomposed")
parser.add_argument("--phrase", default="annual revenue", help="text of figure 2")
parser.add_argument("--sentence", default="the population was higher than in the", help="text of figure 5")
parser.add_argument("--tried", type=int, default=5000, help="pairs of words of the validation text to try")
args = parser.parse_args()

with command_line.quiet():
    import numpy as np

    from keras_interp_rnn import analysis, datasets, figures
    from keras_interp_rnn.reproduce import isan_text, records

ALPHABET = datasets.text.ALPHABET


def split_of(model, text: str) -> analysis.Contributions:
    return analysis.contributions(model, datasets.text.encode(text), alphabet=ALPHABET)


def decided_by_a_word(model, symbols: np.ndarray, tried: int, longest: int) -> list[tuple[float, str, str, str, str]]:
    """Two words of the text, the second unfinished, where the first one turned the prediction; the surest first."""
    found = []
    words = datasets.text.decode(symbols).split()
    for first, second in dict.fromkeys(list(zip(words, words[1:], strict=False))[:tried]):
        if len(first) < 4 or not 4 < len(second) <= longest:
            continue
        text = f" {first} {second}"
        split = split_of(model, text)
        of_first = range(1, len(first) + 2)
        without = split.without(of_first)
        for t in range(len(first) + 4, len(text) - 1):
            said, else_said = split.logits[t].argmax(), without[t].argmax()
            if said != else_said and ALPHABET[said] == text[t + 1]:
                gain = split.logits[t, said] - split.logits[t, else_said]
                loss = without[t, else_said] - without[t, said]
                found.append((float(min(gain, loss)), first, text[: t + 1], ALPHABET[said], ALPHABET[else_said]))
    return sorted(found, reverse=True)


def main() -> None:
    try:
        model, (_, validation, _), about = isan_text.load(args)
    except datasets.DataError as error:
        print(f"isan_predictions: {error}", file=sys.stderr)
        sys.exit(2)
    folder, tried = Path(args.figures), 50 if args.smoke else args.tried
    split = split_of(model, f" {args.prompt}")
    print(f"{split}\nresidual of the sum: {split.residual:.1e}\n")
    figures.contribution_column(split).savefig(folder / "figure3.png", dpi=120)
    figures.prediction_stack(split_of(model, f" {args.phrase} ")).savefig(folder / "figure2.png", dpi=120)
    figures.word_contributions(split_of(model, f" {args.sentence} ")).savefig(folder / "figure5.png", dpi=120)
    words = split.by_word()
    first, second = split.winner()
    print("Without one word, the last prediction would be:")
    starts = [*words.starts, len(split.symbols) + 1]
    rows = []
    for number, name in enumerate(words.names):
        logits = split.without(range(starts[number], starts[number + 1]))[-1]
        other = int(logits.argmax())
        rows.append({"word": name, "says": split.name(other)})
        print(f"  without {name:12} {split.name(other)!r} (with it {split.name(first)!r})")
    decided = decided_by_a_word(model, validation[:200_000], tried, 12)
    print("\nBeginnings where the first word decides, by the smaller of the two margins:")
    for margin, _, text, said, other in decided[:10]:
        print(f"  {text.strip().replace(' ', '␣')!r} -> {said!r}; without the first word {other!r} ({margin:.2f} nats)")
    record = {
        "experiment": "isan_predictions",
        **about,
        "protocol": {"prompt": args.prompt, "tried": tried},
        "result": {
            "winner": split.name(first),
            "runner_up": split.name(second),
            "residual": split.residual,
            "without": rows,
            "decided": [row[2:] for row in decided[:20]],
        },
    }
    records.write(Path(args.records) / "isan_predictions.json", record)
    print(f"Figures: {folder}")


if __name__ == "__main__":
    main()

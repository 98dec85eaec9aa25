"""What do trained networks that ship with the package show, before anything is trained?

A prediction is taken apart, a network is proved to be an automaton, and a verdict on a film review is explained. Each
is printed, and saved as one HTML file that needs no server and no network.

    python examples/look.py
    python examples/look.py --prompt "the return val" --review "A dull film, but the music is wonderful."

References: Foerster et al., ICML 2017, arXiv:1611.09434, section 3.3; Wang, Lawrence and Niepert, "State-Regularized
Recurrent Neural Networks", 2022, sections 4.2 and 5.3.
"""

import sys
import tempfile
from pathlib import Path

import command_line

REVIEW = (
    "The first half is boring. Then it becomes a haunting, beautiful film with superb acting, and I loved the ending."
)

parser = command_line.Parser(__doc__)
parser.add_argument("--prompt", default="the end of the second world wa", help="text whose next letter is predicted")
parser.add_argument("--language", type=int, default=4, choices=range(1, 8), help="number of Tomita's language")
parser.add_argument("--review", default=REVIEW, help="a film review")
parser.add_argument("--out", default="runs/look", help="folder of the HTML files")
parser.add_argument("--smoke", action="store_true", help="the same, in a temporary folder")
args = parser.parse_args()

with command_line.quiet():
    from keras_interp_rnn import analysis, datasets, presets, views


def show(title: str, result: object, name: str) -> None:
    """Prints a result, and saves its page."""
    path = Path(args.out) / f"{name}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    views.save(result, path)
    print(f"\n{title}\n\n{result}\n\nThe page: {path.resolve()}")


def main() -> None:
    if args.smoke:
        args.out = tempfile.mkdtemp(prefix="look-")

    reader = presets.load("text-isan")
    split = analysis.contributions(reader.model, datasets.text.clean(args.prompt).lstrip())
    show("1. An ISAN predicts a letter: what every letter that it has read contributes.", split, "prediction")

    recognizer = presets.load(f"tomita-{args.language}")
    title = f"2. {recognizer.card.what} The proof, with its margins:"
    show(title, recognizer.certificate, "automaton")

    critic = presets.load("reviews-sr-lstm")
    ids = critic.encode(args.review)
    [logit] = critic.model.predict(ids[None], verbose=0)[0]
    # The head reads the mean state: of all centroids the one that speaks most clearly for this verdict.
    weights, _ = critic.model.get_layer("head").get_weights()
    votes = critic.model.get_layer("recurrent").cell.centroids.numpy() @ weights[:, 0]
    centroid = int((votes if logit > 0 else -votes).argmax())
    explained = analysis.explain(critic.model, ids, tokens=critic.alphabet, centroids=[centroid])
    verdict = f"{'praise' if logit > 0 else 'a pan'} (logit {logit:+.1f})"
    show(
        f"3. An LSTM that moves among ten centroids reads a review as {verdict}; the darker a word, the more probably "
        f"it moved the state to centroid {centroid} ({critic.centroids[centroid]}).",
        explained,
        "review",
    )
    print("\nAll presets: keras_interp_rnn.presets.list()")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        print(f"look: {error}", file=sys.stderr)
        sys.exit(2)

"""Makes the pictures of pages in README and docs anew, with Chromium, from the presets and two short trainings.

    python docs/pictures.py

Each picture shows what a user's own browser shows: the page that `views.save` writes, or the tab in TensorBoard.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import keras  # noqa: E402
import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402
from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402

from keras_interp_rnn import analysis, automata, callbacks, layers, presets, views  # noqa: E402
from tests.tensorboard_plugin import logs  # noqa: E402

FIGURES = HERE / "figures"
NEXT = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
YES = keras.losses.BinaryCrossentropy(from_logits=True)
TEXT = "the end of the second world wa"
REVIEW = "the first half is boring but then it becomes a superb and haunting film"


def browser(width: int, height: int, dark: bool = False) -> webdriver.Chrome:
    """Chromium, at two pixels a point."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=2"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_window_size(width, height)
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    return driver


def write_logs(folder: Path) -> None:
    """A reader of English and a recognizer as they ship, and two networks that are trained for a moment."""
    reader, rng = presets.load("text-isan"), np.random.default_rng(0)
    text = reader.encode(TEXT)[None]
    probes = (callbacks.Contributions, callbacks.ShapleyValues, callbacks.Substitutions)
    watch = [probe(folder / "text-isan", [TEXT], alphabet=reader.alphabet) for probe in probes]
    unchanged(reader.model, text, text, NEXT, watch)

    recognizer, truth = presets.load("tomita-7"), automata.tomita(7)
    words = ("0110100", "1100101", "0000111")
    ids = recognizer.model.layers[0].encoding.ids(words)
    labels = np.array([[truth.accepts(word)] for word in words], np.float32)
    watch = [
        callbacks.Automaton(folder / "tomita-7", truth),
        callbacks.TransitionProbabilities(folder / "tomita-7", ids, tokens=["", "start", "0", "1"]),
    ]
    unchanged(recognizer.model, ids, labels, YES, watch)

    x = rng.normal(size=(512, 24, 4)).astype("float32")
    for name, layer in (("LSTM", keras.layers.LSTM(16)), ("MinimalRNN", layers.MinimalRNN(16))):
        model = keras.Sequential([keras.Input((24, 4)), layer, keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(1e-2), "mse")
        watch = callbacks.JacobianHistograms(folder / name, x[:16], lags=(0, 5, 10, 15))
        model.fit(x, x[:, 4, :1], 64, 12, verbose=0, callbacks=[watch])


def unchanged(model: keras.Model, x: np.ndarray, y: np.ndarray, loss: keras.losses.Loss, watch: list) -> None:
    """One step of training that changes nothing, for the callbacks."""
    model.compile(keras.optimizers.SGD(0.0), loss)
    model.fit(x, y, verbose=0, callbacks=watch)


def pictures_of_pages(folder: Path) -> None:
    """The page of a prediction, and the bars of letters and of words, light and dark."""
    critic = presets.load("reviews-sr-lstm")
    splits = {
        ("first-look", 1280): analysis.contributions(presets.load("text-isan").model, TEXT),
        ("words", 1000): analysis.attribution(critic.model, critic.encode(REVIEW)[None], alphabet=critic.alphabet),
    }
    for (name, width), split in splits.items():
        page = folder / f"{name}.html"
        views.save(split, page)
        for dark in (False, True):
            driver = browser(width, 620, dark)
            driver.get(page.as_uri())
            time.sleep(2)
            end = "-dark" if dark else ""
            driver.find_element("css selector", "svg.strip").screenshot(str(FIGURES / f"{name}{end}.png"))
            if name == "first-look" and not dark:
                driver.save_screenshot(str(FIGURES / "views-contributions.png"))
            driver.quit()


def picture_of_typing(folder: Path) -> None:
    """A page that reads what is typed, with a symbol picked."""
    views.save(presets.load("text-isan"), folder / "live.html")
    driver = browser(1280, 980)
    driver.get((folder / "live.html").as_uri())
    time.sleep(2)
    token = driver.find_element("css selector", f"[data-token='{TEXT.index('world') - 1}']")
    driver.execute_script("arguments[0].dispatchEvent(new Event('click'))", token)  # no pointer, so no tooltip
    time.sleep(1)
    driver.save_screenshot(str(FIGURES / "views-live.png"))
    driver.quit()


def show(driver: webdriver.Chrome, address: str, state: dict[str, str]) -> None:
    """Opens the tab of a TensorBoard anew, in this state, and waits until it is drawn."""
    driver.get("about:blank")
    driver.get(f"{address}/?{urllib.parse.urlencode({'interp_rnn': json.dumps(state)})}#interp_rnn")
    time.sleep(12)


def pictures_of_the_tab(folder: Path) -> None:
    """The four places of the tab."""
    write_logs(folder)
    with logs.served(folder) as address:
        driver = browser(1280, 800)
        for place, run in (("overview", None), ("reads", "text-isan"), ("states", "tomita-7"), ("memory", None)):
            show(driver, address, {"place": place, **({"run": run} if run else {})})
            driver.save_screenshot(str(FIGURES / f"tensorboard-{place}.png"))
        driver.quit()


def write_contents(folder: Path) -> dict[str, str]:
    """Folders of logs of many kinds of content -> the place that shows them."""
    rng = np.random.default_rng(0)
    reader = presets.load("text-isan")
    letters = (
        "the history of the city began when a small group of people built a church on the hill above the river " * 5
    )[:500]
    ids = reader.encode(letters)[None]
    watch = callbacks.Contributions(folder / "500 letters" / "text-isan", [letters], alphabet=reader.alphabet)
    unchanged(reader.model, ids, ids, NEXT, [watch])

    judge = presets.load("reviews-sr-lstm")
    praise = "this film is a wonderful surprise . the story begins slowly , but the actors are brilliant"
    review = (praise.split() * 12)[:200]
    watch = callbacks.Attributions(folder / "200 words" / "reviews", [review], alphabet=judge.vocabulary)
    unchanged(judge.model, judge.encode(review)[None], np.ones((1, 1), np.float32), YES, [watch])

    names = [
        f"{word} {i}"
        for i in range(10)
        for word in ("open", "read", "write", "sync", "close", "login", "fail", "retry", "quit", "ping")
    ]
    ids = rng.integers(0, 100, (1, 12))
    events = keras.Sequential(
        [keras.Input((None,), dtype="int32"), layers.ISAN(16, 100, return_sequences=True), keras.layers.Dense(100)]
    )
    watch = [
        probe(folder / "100 events" / "isan", ids, alphabet=names)
        for probe in (callbacks.Contributions, callbacks.Substitutions)
    ]
    unchanged(events, ids, ids, NEXT, watch)

    moves = [[min(state + 1, 39), int(rng.integers(40))] for state in range(40)]
    expected = automata.DFA(moves, [state for state in range(40) if rng.random() < 0.3], alphabet="ab").minimize()
    compiled = automata.compile(expected)
    ids = compiled.layers[0].encoding.ids(["".join(rng.choice(["a", "b"], 30))])
    watch = callbacks.Automaton(folder / "40 states" / "compiled", expected)
    unchanged(compiled, ids, np.ones((1, 1), np.float32), YES, [watch])

    x = rng.normal(size=(64, 24, 4)).astype("float32")
    for seed in range(20):
        keras.utils.set_random_seed(seed)
        model = keras.Sequential([keras.Input((24, 4)), layers.MinimalRNN(8), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(1e-2), "mse")
        watch = callbacks.JacobianHistograms(folder / "20 runs" / f"seed-{seed}", x[:8], lags=(0, 5, 10))
        model.fit(x, x[:, 4, :1], 64, 8, verbose=0, callbacks=[watch])
    (folder / "nothing").mkdir()
    reads = dict.fromkeys(("500 letters", "200 words", "100 events"), "reads")
    return {**reads, "40 states": "states", "20 runs": "memory", "nothing": "overview"}


def strip_of_contents(folder: Path) -> None:
    """What the tab shows of each kind of content, light and dark, side by side."""
    parts = []
    for content, place in write_contents(folder).items():
        with logs.served(folder / content) as address:
            for dark in (False, True):
                driver = browser(1280, 800, dark)
                show(driver, address, {"place": place})
                parts.append(Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB"))
                driver.quit()
    width, height = 800, round(800 * parts[0].height / parts[0].width)
    sheet = Image.new("RGB", (4 * (width + 16), 3 * (height + 16)), "white")
    for i, part in enumerate(parts):
        sheet.paste(part.resize((width, height)), ((width + 16) * (i % 4) + 8, (height + 16) * (i // 4) + 8))
    sheet.save(FIGURES / "tensorboard-contents.png", optimize=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        pictures_of_pages(Path(scratch))
        picture_of_typing(Path(scratch))
        pictures_of_the_tab(Path(scratch) / "logs")
        strip_of_contents(Path(scratch) / "contents")

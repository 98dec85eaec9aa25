"""Makes the pictures of pages in README and docs anew, with Chromium, from the presets and two short trainings.

    python docs/pictures.py

Each picture shows what a user's own browser shows: the page that `views.save` writes, or the tab in TensorBoard.
"""

from __future__ import annotations

import base64
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
from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402

from keras_interp_rnn import analysis, automata, callbacks, layers, presets, views  # noqa: E402
from tests.tensorboard_plugin import logs  # noqa: E402

FIGURES = HERE / "figures"
NEXT = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
YES = keras.losses.BinaryCrossentropy(from_logits=True)
TEXT = "the end of the second world wa"
REVIEW = "the first half is boring but then it becomes a superb and haunting film"
"""Judged wrongly; with its start and end it has 16 words, so that its Shapley values are exact."""


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
    ids = recognizer.model.layers[0].alphabet.encode_batch(words)
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
    judge = keras.Sequential([critic.model, keras.layers.Activation("sigmoid")])
    splits = {
        ("first-look", 1280): analysis.contributions(presets.load("text-isan").model, TEXT),
        ("words", 1000): analysis.attribution(judge, [REVIEW], alphabet=critic.alphabet, labels=["positive"]),
    }
    for (name, width), split in splits.items():
        page = folder / f"{name}.html"
        views.save(split, page)
        for dark in (False, True):
            driver = browser(width, 620, dark)
            driver.get(page.as_uri())
            time.sleep(2)
            end = "-dark" if dark else ""
            if name == "words":
                with_headline(driver, FIGURES / f"{name}{end}.png")
            else:
                driver.find_element("css selector", "svg.strip").screenshot(str(FIGURES / f"{name}{end}.png"))
            if name == "first-look" and not dark:
                driver.save_screenshot(str(FIGURES / "views-contributions.png"))
            driver.quit()


def with_headline(driver: webdriver.Chrome, path: Path) -> None:
    """A picture of the bars with the sentence and the notes above them."""
    box = driver.execute_script(
        "const boxes = ['.headline', '.note', 'svg.strip'].map((name) => document.querySelector(name))"
        ".map((one) => one.getBoundingClientRect());"
        "return {x: 8, y: boxes[0].y - 8, width: innerWidth - 16, height: boxes[2].bottom - boxes[0].y + 16, scale: 1}"
    )
    found = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": box, "captureBeyondViewport": True})
    path.write_bytes(base64.b64decode(found["data"]))


def pictures_of_typing(folder: Path) -> None:
    """Pages that read what is typed: an ISAN's, with a symbol picked, and an LSTM's."""
    for preset, picture, picked in (("text-isan", "live", TEXT.index("world") - 1), ("reviews-sr-lstm", "lstm", None)):
        driver = browser(1280, 980 if picked else 1100)
        page = folder / f"{preset}.html"
        views.save(presets.load(preset), page)
        driver.get(page.as_uri())
        time.sleep(2)
        if picked is not None:
            token = driver.find_element("css selector", f"[data-token='{picked}']")
            driver.execute_script("arguments[0].dispatchEvent(new Event('click'))", token)  # no pointer, so no tooltip
        time.sleep(1)
        driver.save_screenshot(str(FIGURES / f"views-{picture}.png"))
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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        pictures_of_pages(Path(scratch))
        pictures_of_typing(Path(scratch))
        pictures_of_the_tab(Path(scratch) / "logs")

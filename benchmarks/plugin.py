"""How fast is the TensorBoard plugin with large logs: 200 steps, 50 centroids, 30 symbols, texts of 500 symbols?

Writes such logs by the callbacks' own schema, starts TensorBoard over them, and measures: requests to the back end, the
first paint of every view in Chromium, from the click on its name until the last answer is drawn, steps of the slider,
and the memory of TensorBoard's process. Medians, with the largest in brackets.

    python benchmarks/plugin.py                 # needs chromium and chromedriver
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf

from tensorboard_plugins.interp_rnn import schema

LETTERS = [chr(ord("a") + i) for i in range(26)] + ["_", ".", ",", "!"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--centroids", type=int, default=50)
    parser.add_argument("--symbols", type=int, default=30)
    parser.add_argument("--length", type=int, default=500, help="symbols of a text")
    parser.add_argument("--texts-at", type=int, default=10, help="steps at which contributions are logged")
    parser.add_argument("--fast", action="store_true", help="TensorBoard's fast loader")
    parser.add_argument("--logs", help="where the logs are written; a scratch folder by default")
    args = parser.parse_args()
    folder = Path(args.logs or tempfile.mkdtemp(prefix="plugin-"))
    write(folder, args)
    command = [sys.executable, "-m", "tests.tensorboard_plugin.logs", str(folder), "true" if args.fast else "false"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as board:
        address = next(line for line in board.stdout if line.startswith("http")).strip().rstrip("/")
        wait_for_all(address, args)
        requests(address, args)
        print(f"memory of TensorBoard: {memory(board.pid):.0f} MiB")
        browser(address)
        print(f"memory of TensorBoard after all views: {memory(board.pid):.0f} MiB")
        board.terminate()


def write(folder: Path, args: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    k, symbols = args.centroids, LETTERS[: args.symbols]
    writer = {name: tf.summary.create_file_writer(str(folder / name)) for name in ("automaton", "transitions", "isan")}
    table = rng.integers(0, k, (k, len(symbols)))
    tokens = [[LETTERS[i] for i in rng.integers(0, len(symbols), args.length)] for _ in range(4)]
    for step in range(0, 10 * args.steps, 10):
        changed = rng.random(table.shape) < 0.02
        table[changed] = rng.integers(0, k, changed.sum())
        said = {
            "transitions": table.tolist(),
            "accepting": list(range(0, k, 3)),
            "start": 0,
            "centroids": list(range(k)),
            "minimal": k,
            "agreement": 0.9,
            "distance": None,
            "entropy": 0.1,
            "visits": rng.dirichlet(np.ones(k)).round(6).tolist(),
            "confidence": rng.random(table.shape).round(4).tolist(),
        }
        with writer["automaton"].as_default():
            described = schema.metadata("automaton", symbols=symbols, reference=None)
            tf.summary.write("interp_rnn/automaton", tf.constant(json.dumps(said)), step=step, metadata=described)
        counts = np.zeros((len(symbols), k, k), np.float32)
        moves = rng.integers(0, k, (len(symbols), k, 2))
        for symbol in range(len(symbols)):
            counts[symbol, np.arange(k), moves[symbol, :, 0]] += 9
            counts[symbol, np.arange(k), moves[symbol, :, 1]] += 1
        with writer["transitions"].as_default():
            described = schema.metadata("transition_counts", symbols=symbols)
            tf.summary.write("interp_rnn/transition_counts", counts, step=step, metadata=described)
            alpha = rng.dirichlet(np.full(k, 0.05), (4, args.length)).astype(np.float32)
            described = schema.metadata("transition_probabilities", tokens=tokens)
            tf.summary.write("interp_rnn/transition_probabilities", alpha, step=step, metadata=described)
            described = schema.metadata("outputs", middle=0.0)
            outputs = rng.normal(size=(k + 4, 1)).astype(np.float32)
            tf.summary.write("interp_rnn/outputs", outputs, step=step, metadata=described)
        if step < 10 * args.texts_at:
            rows = args.length * (args.length + 3) // 2 + 1
            series = "interp_rnn/contributions/text_0"
            described = schema.metadata("contributions", part_of=series, symbols=tokens[0], outputs=symbols)
            with writer["isan"].as_default():
                terms = rng.normal(size=(rows, len(symbols))).astype(np.float32)
                tf.summary.write(f"{series}/step_{step}", terms, step=step, metadata=described)
        with writer["isan"].as_default():
            values = np.sort(rng.lognormal(size=(4, 101)).astype(np.float32))
            described = schema.metadata("jacobian", lags=[0, 5, 10, 25])
            tf.summary.write("interp_rnn/jacobian_percentiles", values, step=step, metadata=described)
    for each in writer.values():
        each.close()


def answer(address: str, path: str, **arguments: object) -> bytes:
    query = urllib.parse.urlencode(arguments)
    with urllib.request.urlopen(f"{address}/data/plugin/interp_rnn/{path}?{query}") as response:
        return response.read()


def wait_for_all(address: str, args: argparse.Namespace) -> None:
    last = 10 * (args.steps - 1)
    while True:
        tags = json.loads(answer(address, "tags"))
        if {entry["last_step"] for found in tags.values() for entry in found} >= {last, 10 * (args.texts_at - 1)}:
            return
        time.sleep(1)


def requests(address: str, args: argparse.Namespace) -> None:
    for run, tag, then in (
        ("automaton", "interp_rnn/automaton", "graph"),
        ("transitions", "interp_rnn/transition_counts", "graph"),
        ("transitions", "interp_rnn/transition_probabilities", "slice"),
        ("isan", "interp_rnn/contributions/text_0", "slice"),
        ("isan", "interp_rnn/jacobian_percentiles", "slice"),
    ):
        where = {"run": run, "tag": tag}
        first, text = timed(lambda where=where: answer(address, "series", **where))
        steps = json.loads(text)["steps"]
        again = [timed(lambda where=where: answer(address, "series", **where))[0] for _ in range(9)]
        chosen = [steps[i % len(steps)] for i in range(0, 7 * 20, 7)]
        each = [timed(lambda s=s, w=where, t=then: answer(address, t, **w, step=s, index=1))[0] for s in chosen]
        print(
            f"{tag}: {len(steps)} steps; first request {first:.0f} ms, then {spread(again)}; a step {spread(each)}",
            flush=True,
        )


def browser(address: str) -> None:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1500,1200"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
    driver.set_script_timeout(60)
    try:
        driver.get(f"{address}/#interp_rnn")
        while not driver.find_elements(By.CSS_SELECTOR, "iframe[src*=interp_rnn]"):
            time.sleep(0.1)
        driver.switch_to.frame(driver.find_element(By.CSS_SELECTOR, "iframe[src*=interp_rnn]"))
        while not driver.find_elements(By.CSS_SELECTOR, ".downloads"):
            time.sleep(0.1)
        for view in ("transitions", "contributions", "jacobians", "states"):
            painted = [driver.execute_async_script(FIRST, view) for _ in range(5)]
            moved = [driver.execute_async_script(STEP, i) for i in range(12)]
            print(f"{view}: painted after {spread(painted)}, a step of the slider {spread(moved)}", flush=True)
    finally:
        driver.quit()


QUIET = """
const done = arguments[arguments.length - 1];
const started = performance.now();
function settled() {
  if (document.querySelector('.loading') || document.body.getAttribute('aria-busy') === 'true') setTimeout(settled, 1);
  else requestAnimationFrame(() => setTimeout(() => done(performance.now() - started)));
}
"""

FIRST = QUIET + "document.querySelector(`[data-view=${arguments[0]}]`).click(); settled();"

STEP = (
    QUIET
    + """
const input = document.querySelector('input.steps');
input.value = String(Math.round(Number(input.max) * 0.3) + arguments[0] % Math.max(1, Number(input.max)));
input.dispatchEvent(new Event('input'));
settled();
"""
)


def timed(ask: Callable[[], bytes]) -> tuple[float, bytes]:
    """Milliseconds, and what was answered."""
    started = time.perf_counter()
    found = ask()
    return 1000 * (time.perf_counter() - started), found


def spread(milliseconds: list[float]) -> str:
    return f"{np.median(milliseconds):.0f} ms ({max(milliseconds):.0f})"


def memory(process: int) -> float:
    """Resident, in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024


if __name__ == "__main__":
    main()

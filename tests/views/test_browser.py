"""Saved pages in Chromium with no network: nothing is requested, and the page's own policy refuses nothing."""

import itertools
import json
import shutil

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, datasets, layers, presets, views
from keras_interp_rnn._results import INK, as_html, rgb
from keras_interp_rnn.views import html as html_views
from tests.views.test_views import RESULTS, VIEWS, every_result, model_of_symbols, whole_text

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.expected_conditions import staleness_of  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.matrix,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromium-driver"),
]


@pytest.fixture(scope="module")
def driver():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,900"):
        options.add_argument(argument)
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield opened
    opened.quit()


@pytest.fixture(scope="module", autouse=True)
def offline(driver):
    """No network at all."""
    driver.execute_cdp_cmd("Network.enable", {})
    nothing = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", nothing)


def opened(driver, result, folder):
    views.save(result, folder / "x.html")
    driver.get((folder / "x.html").as_uri())


@every_result
def test_a_page_opens_from_a_file(driver, name, tmp_path):
    opened(driver, RESULTS[name](), tmp_path)
    assert driver.find_element(By.TAG_NAME, "h1").text
    assert not driver.get_log("browser")
    assert not driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    # The policy let the one style element through.
    assert driver.execute_script("return document.styleSheets.length") == 1
    widest = "none" if name in VIEWS else "1024px"
    assert driver.execute_script("return getComputedStyle(document.body).maxWidth") == widest


@pytest.mark.parametrize("width", [400, 1200])
@every_result
def test_a_page_is_no_wider_than_its_window(driver, name, width, tmp_path):
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        opened(driver, RESULTS[name](), tmp_path)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_policy_refuses_what_a_page_does_not_have(driver, tmp_path):
    opened(driver, RESULTS["contributions"](), tmp_path)
    path = tmp_path / "x.html"
    document = path.read_text(encoding="utf-8")
    path.write_text(document.replace("</main>", '<script>document.title = "run"</script></main>'), encoding="utf-8")
    driver.get(path.as_uri())
    assert driver.title != "run"
    assert any("Content Security Policy" in entry["message"] for entry in driver.get_log("browser"))


def test_earlier_predictions_open_by_keyboard(driver, tmp_path):
    split = analysis.contributions(model_of_symbols(), [0, 1, 2, 0], alphabet="abc")
    opened(driver, split, tmp_path)
    summary = driver.find_element(By.CSS_SELECTOR, "summary")
    assert summary.text == "All 4 predictions"
    driver.execute_script("arguments[0].focus()", summary)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    WebDriverWait(driver, 60).until(
        lambda _: driver.find_elements(By.CSS_SELECTOR, "svg[aria-label^='norms of'] image")
    )
    assert driver.switch_to.active_element == summary


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_a_page_follows_the_readers_colour_scheme(driver, scheme, dark, tmp_path):
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    try:
        opened(driver, RESULTS["contributions"](), tmp_path)
        ink = driver.execute_script("return getComputedStyle(document.body).color")
        assert (ink in ("rgb(255, 255, 255)", "rgb(236, 236, 236)")) is dark
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def tokens_of(driver):
    return [token.text for token in driver.find_elements(By.CSS_SELECTOR, ".strip .name")]


def press(driver, element, key):
    driver.execute_script("arguments[0].focus()", element)
    driver.switch_to.active_element.send_keys(key)


def answers(driver):
    """What the panel of a picked symbol says."""
    panel = WebDriverWait(driver, 60).until(lambda _: driver.find_elements(By.CSS_SELECTOR, ".panel dl"))[0]
    names = [one.text.splitlines()[0] for one in panel.find_elements(By.TAG_NAME, "dt")]
    return dict(zip(names, [one.text for one in panel.find_elements(By.TAG_NAME, "dd")], strict=True))


def said(logits, names="abc"):
    probabilities = np.exp(logits - logits.max())
    probabilities /= probabilities.sum()
    first, second = np.argsort(-probabilities)[:2]
    first, second = ((quoted(names[i]), 100 * probabilities[i]) for i in (first, second))
    return f"{first[0]} {first[1]:.1f}%, then {second[0]} {second[1]:.1f}%"


def quoted(name):
    """A name as sentences have it: a symbol is quoted, the number of an output is not."""
    return name if name.startswith("output ") else f"“{name}”"


def test_contributions_are_the_plugins_view_and_work_by_keyboard(driver, tmp_path):
    split = analysis.contributions(model_of_symbols(), [0, 1, 2, 0], alphabet="abc")
    opened(driver, split, tmp_path)
    assert "".join(tokens_of(driver)) == "abca"
    assert driver.find_element(By.CSS_SELECTOR, ".headline").text.startswith("The network says ")
    symbol = driver.find_elements(By.CSS_SELECTOR, ".strip .token")[1]
    press(driver, symbol, Keys.SPACE)
    assert answers(driver)["as it is"] == said(split.logits[-1])
    assert answers(driver)["without this term of the sum"] == said(split.without([2])[-1])
    assert driver.switch_to.active_element == symbol
    assert symbol.get_attribute("aria-pressed") == "true"
    press(driver, driver.find_element(By.CSS_SELECTOR, "input[type=range]"), Keys.ARROW_LEFT)
    WebDriverWait(driver, 60).until(lambda _: "".join(tokens_of(driver)) == "abc")
    assert "after 3 of 4" in driver.find_element(By.CSS_SELECTOR, "output").text
    assert not driver.get_log("browser")


@pytest.mark.parametrize("of_isan", [True, False])
def test_an_initial_state_is_named_where_there_is_one(driver, of_isan, tmp_path):
    model = model_of_symbols()
    if of_isan:
        model.layers[0].cell.initial_state.assign(np.ones(3))
    else:
        keras.utils.set_random_seed(0)
        embedded = [keras.Input((None,), dtype="int32"), keras.layers.Embedding(3, 2)]
        model = keras.Sequential([*embedded, layers.MinGRU(4), keras.layers.Dense(3)])
    split = analysis.contributions(model, [0, 1, 2], alphabet="abc")
    [share] = [line for line in html_views.numbers(split).splitlines() if " h_0 " in line]
    assert ("+0.0000" not in share) is of_isan
    opened(driver, split, tmp_path)
    WebDriverWait(driver, 20).until(lambda _: tokens_of(driver))
    said = driver.find_element(By.TAG_NAME, "body").text
    assert "add up to the difference of the two logits" in said
    assert ("initial state" in said.lower()) is of_isan


def test_a_page_of_a_long_text_has_few_nodes(driver, tmp_path):
    text = np.random.default_rng(0).integers(0, 3, 500)
    opened(driver, analysis.contributions(model_of_symbols(), text, alphabet="abc"), tmp_path)
    assert (tmp_path / "x.html").stat().st_size < 400_000
    assert driver.find_elements(By.CSS_SELECTOR, ".strip .token")
    for summary in driver.find_elements(By.TAG_NAME, "summary"):
        summary.click()
    WebDriverWait(driver, 60).until(lambda _: driver.find_elements(By.CSS_SELECTOR, "tbody tr"))
    assert driver.execute_script("return document.querySelectorAll('*').length") < 5000
    slider = driver.find_element(By.CSS_SELECTOR, "input[type=range]")
    first = int(slider.get_attribute("min"))  # of the predictions that the file has
    assert 1 < first < 500
    press(driver, slider, Keys.HOME)
    WebDriverWait(driver, 60).until(
        lambda _: f"after {first} of 500" in driver.find_element(By.CSS_SELECTOR, "output").text
    )
    assert not driver.find_elements(By.CSS_SELECTOR, "[role=alert]")
    assert not driver.get_log("browser")


def test_hostile_names_are_text_in_the_plugins_view(driver, tmp_path):
    opened(driver, RESULTS["contributions"](), tmp_path)
    assert tokens_of(driver)[0].startswith("<script>alert(1)</script>")
    assert not driver.find_elements(By.TAG_NAME, "img")
    assert not driver.get_log("browser")


every_view = pytest.mark.parametrize("name", VIEWS)


@every_view
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_view_is_drawn_and_every_drawing_has_a_text(driver, name, scheme, tmp_path):
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    try:
        opened(driver, RESULTS[name](), tmp_path)
        assert driver.find_elements(By.CSS_SELECTOR, ".view figure svg")
        silent = driver.execute_script(
            "return [...document.querySelectorAll('.view svg')].filter((one) => one.ariaHidden !== 'true' && "
            "!one.getAttribute('aria-label')).map((one) => one.outerHTML.slice(0, 200))"
        )
        assert not silent
        nameless = driver.execute_script(
            "return [...document.querySelectorAll('.view input, .view select, .view [role=button]')].filter((one) => "
            "!one.getAttribute('aria-label') && !one.closest('label')).map((one) => one.outerHTML.slice(0, 200))"
        )
        assert not nameless
        assert not driver.get_log("browser")
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@every_view
def test_without_scripts_the_piece_is_what_is_left(driver, name, tmp_path):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened(driver, RESULTS[name](), tmp_path)
        assert not driver.find_elements(By.CSS_SELECTOR, ".view")
        assert len(driver.find_element(By.CSS_SELECTOR, "main > .scroll").text) > 3
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_what_if_a_symbol_were_another_by_keyboard(driver, tmp_path):
    changed = analysis.substitutions(model_of_symbols(), [0, 1, 2, 0], alphabet="abc")
    opened(driver, changed, tmp_path)
    position, symbol, _ = changed.top(1)[0]
    assert answers(driver)["replaced by"] == said(changed.outputs[position, symbol])  # the strongest is looked at first
    other = (position + 1) % 4
    press(driver, driver.find_elements(By.CSS_SELECTOR, ".strip .token")[other], Keys.ENTER)
    WebDriverWait(driver, 60).until(
        lambda _: f"number {other + 1} of 4" in driver.find_element(By.CSS_SELECTOR, ".panel").text
    )
    Select(driver.find_element(By.CSS_SELECTOR, ".panel select")).select_by_visible_text("c")
    WebDriverWait(driver, 60).until(lambda _: answers(driver)["replaced by"] == said(changed.outputs[other, 2]))
    assert answers(driver)["deleted"] == said(changed.deleted[other])
    assert not driver.get_log("browser")


def test_a_trace_shows_each_unit(driver, tmp_path):
    layer = keras.layers.GRU(4, return_sequences=True)
    model = keras.Sequential([keras.layers.Embedding(4, 3), layer])
    traced = analysis.trace(model, np.array([[1, 2, 3], [3, 3, 1]]), tokens=["-", "one", "two", "three"])
    opened(driver, traced, tmp_path)
    driver.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    assert "reads: one two three" in driver.find_element(By.CSS_SELECTOR, ".lead").text
    Select(driver.find_element(By.CSS_SELECTOR, ".controls select")).select_by_index(1)
    WebDriverWait(driver, 60).until(lambda _: "three three one" in driver.find_element(By.CSS_SELECTOR, ".lead").text)
    units = [option.text for option in Select(driver.find_element(By.CSS_SELECTOR, "details select")).options]
    change = np.abs(np.diff(traced["h"][1], axis=0)).sum(axis=0)
    assert units == [str(unit + 1) for unit in np.argsort(-change)]
    lines = driver.find_elements(By.CSS_SELECTOR, "svg[aria-label^='gates and states'] path[stroke]")
    assert len(lines) == len(traced) == 4
    driver.find_element(By.XPATH, "//details//button[.='Download CSV']").click()
    saved = tmp_path / "traces.csv"
    WebDriverWait(driver, 60).until(lambda _: saved.exists())
    rows = [line.split(",") for line in saved.read_text().splitlines()]
    values = {(row[0], row[3]): float(row[4]) for row in rows[1:] if row[2] == "h"}
    found = [[values[str(t + 1), str(unit + 1)] for unit in range(4)] for t in range(3)]
    np.testing.assert_allclose(found, traced["h"][1], rtol=1e-5, atol=1e-7)


def test_singular_values_are_bands_over_the_steps_back(driver, tmp_path):
    opened(driver, RESULTS["singular values"](), tmp_path)
    assert "of a change 4 steps back" in driver.find_element(By.CSS_SELECTOR, ".headline").text
    [chart] = driver.find_elements(By.CSS_SELECTOR, "main figure > svg")
    assert len(chart.find_elements(By.CSS_SELECTOR, "path.band")) == 1
    assert not driver.get_log("browser")


def test_shapley_values_are_the_plugins_view(driver, tmp_path):
    values = analysis.shapley_values(model_of_symbols(), [0, 1, 2, 0], alphabet="abc")
    opened(driver, values, tmp_path)
    winner, runner = values.winner()
    labels = [token.get_attribute("aria-label") for token in driver.find_elements(By.CSS_SELECTOR, ".strip .token")]
    assert all(one.endswith(f"for “{'abc'[winner]}” over “{'abc'[runner]}”") for one in labels)
    shown = [float(one.split(": ")[1].split()[0].replace("−", "-")) for one in labels]
    np.testing.assert_allclose(shown, values.logit_difference()[1:], rtol=2e-2, atol=1e-3)


def test_an_attribution_has_a_bar_on_each_token(driver, tmp_path):
    names = ["in", "out", "up"]
    split = analysis.attribution(model_of_symbols(), [[0, 1, 2], [2, 2, 1]], target=0, alphabet=names)
    opened(driver, split, tmp_path)
    for sequence, read in enumerate((["in", "out", "up"], ["up", "up", "out"])):
        driver.find_elements(By.CSS_SELECTOR, "[aria-label=sequence] button")[sequence].click()
        WebDriverWait(driver, 60).until(lambda _, read=read: tokens_of(driver) == read)
        labels = [one.get_attribute("aria-label") for one in driver.find_elements(By.CSS_SELECTOR, ".strip .token")]
        shown = [float(one.split(": ")[1].split()[0].replace("−", "-")) for one in labels]
        np.testing.assert_allclose(shown, split.shares[sequence], rtol=2e-2, atol=1e-3)
    assert not driver.get_log("browser")


def series_model(features, outputs=1):
    keras.utils.set_random_seed(2)
    parts = [keras.layers.Masking(), keras.layers.GRU(4), keras.layers.Dense(outputs)]
    return keras.Sequential([keras.Input((None, features)), *parts])


def pressed(driver):
    """The buttons of the sequences, and which of them is pressed."""
    buttons = driver.find_elements(By.CSS_SELECTOR, "[aria-label=sequence] button")
    return [(one.text, one.get_attribute("aria-pressed")) for one in buttons]


def bars_of(driver):
    labels = [one.get_attribute("aria-label") for one in driver.find_elements(By.CSS_SELECTOR, ".strip .token")]
    return labels, [float(one.split(": ")[1].split()[0].replace("−", "-")) for one in labels if "masked" not in one]


def test_the_sequences_of_a_batch_are_switched_by_a_click(driver, tmp_path):
    x = np.random.default_rng(0).normal(size=(3, 7, 2))
    x[1] = x[0]  # two alike are two sequences
    x[2, 5:] = 0
    split = analysis.attribution(series_model(2), x, target=0)
    opened(driver, split, tmp_path)
    for sequence in (0, 2, 1):
        driver.find_elements(By.CSS_SELECTOR, "[aria-label=sequence] button")[sequence].click()
        expected = [(f"sequence {i + 1}", "true" if i == sequence else "false") for i in range(3)]
        WebDriverWait(driver, 60).until(lambda _, expected=expected: pressed(driver) == expected)
        labels, shown = bars_of(driver)
        assert [one.split(":")[0] for one in labels] == [f"step {t + 1}" for t in range(7)]
        assert [t for t, one in enumerate(labels) if "masked" in one] == ([5, 6] if sequence == 2 else [])
        np.testing.assert_allclose(shown, split.shares[sequence][: len(shown)], rtol=2e-2, atol=1e-3)
        [(step, share)] = split.top(1, sequence=sequence)
        headline = driver.find_element(By.CSS_SELECTOR, ".headline").text
        assert f" by step {step + 1} (" in headline
        assert ("lowered" in headline) is (share < 0)
    read = driver.find_element(By.TAG_NAME, "main").text
    assert not any(word in read for word in ("token", "text", "symbol"))
    assert not driver.get_log("browser")


def test_the_shares_of_features_are_a_map_of_steps(driver, tmp_path):
    x = np.random.default_rng(1).normal(size=(2, 5, 3))
    split = analysis.attribution(series_model(3), x, target=0, method="path_integral")
    opened(driver, split, tmp_path)
    driver.find_elements(By.CSS_SELECTOR, "[aria-label=sequence] button")[1].click()
    WebDriverWait(driver, 60).until(lambda _: pressed(driver)[1][1] == "true")
    drawing = driver.find_element(
        By.CSS_SELECTOR, "svg[aria-label^='Shares of features in output 0: 3 features at 5 steps']"
    )
    assert drawing.find_elements(By.TAG_NAME, "image")
    assert [one.text for one in drawing.find_elements(By.TAG_NAME, "text")] == [*"123", *"12345"]
    cells = drawing.find_element(By.CSS_SELECTOR, ".hit")
    box = driver.execute_script(
        "const {x, y, width, height} = arguments[0].getBoundingClientRect(); return [x, y, width, height]", cells
    )
    for step, feature in ((0, 0), (3, 1), (4, 2)):
        at = box[0] + box[2] * (step + 0.5) / 5, box[1] + box[3] * (feature + 0.5) / 3
        tip = driver.execute_script(
            "const [cells, clientX, clientY] = arguments;"
            "cells.dispatchEvent(new PointerEvent('pointermove', {clientX, clientY})); return cells.dataset.tip",
            cells,
            *at,
        )
        name, value = tip.rsplit(": ", 1)
        assert name == f"Shares of features in output 0, feature {feature + 1}, of step {step + 1}"
        np.testing.assert_allclose(float(value), split.features[1, step, feature], rtol=1e-3, atol=1e-6)
    bar = driver.find_element(By.CSS_SELECTOR, ".colours").text.split()
    largest = np.abs(split.features[1]).max()
    np.testing.assert_allclose([float(one.replace("−", "-")) for one in bar], [-largest, largest], rtol=1e-3)
    assert not driver.get_log("browser")


def test_a_bar_of_every_symbol_has_its_number_and_an_automaton_its_verdict(driver, tmp_path):
    odd = automata.DFA([[0, 1], [1, 0]], accepting={0})
    opened(driver, analysis.shapley_values(odd, "0111"), tmp_path)
    assert driver.find_element(By.CSS_SELECTOR, ".headline").text.startswith("The automaton rejects the word; lowered")
    assert [one.text for one in driver.find_elements(By.CSS_SELECTOR, ".strip .value")] == ["−0.125"] * 4
    opened(driver, analysis.shapley_values(odd, "0110"), tmp_path)
    assert driver.find_element(By.CSS_SELECTOR, ".headline").text.startswith("The automaton accepts the word; raised")
    assert not driver.find_elements(By.CSS_SELECTOR, "[role=listitem]")  # no probabilities


@pytest.mark.parametrize("kind", ["mean", "two-way, every step"])
def test_contributions_to_the_last_target_alone_are_bars(driver, kind, tmp_path):
    split = analysis.contributions(whole_text(kind), [0, 1, 2, 0], alphabet="abc")
    opened(driver, split, tmp_path)
    assert "".join(tokens_of(driver)) == "abca"
    labels = [token.get_attribute("aria-label") for token in driver.find_elements(By.CSS_SELECTOR, ".strip .token")]
    shown = [float(one.split(": ")[1].split()[0].replace("−", "-")) for one in labels]
    np.testing.assert_allclose(shown, split.logit_difference()[1:], rtol=2e-2, atol=1e-3)
    press(driver, driver.find_elements(By.CSS_SELECTOR, ".strip .token")[2], Keys.ENTER)
    names = [f"output {i}" for i in range(4)]
    assert answers(driver)["as it is"] == said(split.logits[-1], names)
    assert answers(driver)["without this term of the sum"] == said(split.without([3])[-1], names)
    assert not driver.find_elements(By.CSS_SELECTOR, "input[type=range]")  # of earlier predictions
    assert "All 4 predictions" not in driver.find_element(By.TAG_NAME, "body").text
    assert not driver.get_log("browser")


def test_states_say_by_which_word_they_are_reached(driver, tmp_path):
    opened(driver, automata.tomita(4), tmp_path)
    state = driver.find_element(By.CSS_SELECTOR, "[data-state='2']")
    driver.execute_script("arguments[0].focus()", state)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert "Shortest word: “00”." in driver.find_element(By.CSS_SELECTOR, ".view .note").text
    assert driver.find_element(By.CSS_SELECTOR, ".view .headline").text == "A 4-state automaton."
    word = driver.find_element(By.CSS_SELECTOR, "input[type=text]")
    word.send_keys("0100")
    assert driver.find_element(By.CSS_SELECTOR, ".says").text == "It ends in state 2, accepting."
    word.send_keys("0")
    assert driver.find_element(By.CSS_SELECTOR, ".says").text == "It ends in state 3, rejecting."


@pytest.mark.parametrize("name", ["Moore machine", "extraction of labels", "certificate of labels"])
def test_states_of_a_moore_machine_say_their_label(driver, name, tmp_path):
    machine = automata.MooreMachine([[0, 1], [1, 2], [2, 0]], ["no", "perhaps", "yes"])
    network = automata.compile(machine) if name != "Moore machine" else None
    result = {
        "Moore machine": lambda: machine,
        "extraction of labels": lambda: automata.extract(network),
        "certificate of labels": lambda: automata.certify(network, machine),
    }[name]()
    opened(driver, result, tmp_path)
    states = driver.find_elements(By.CSS_SELECTOR, "[data-state]")
    words = {"": "no", "1": "perhaps", "11": "yes"}
    said = {}
    for i in range(len(states)):
        driver.find_elements(By.CSS_SELECTOR, "[data-state]")[i].send_keys(Keys.ENTER)
        note = driver.find_element(By.CSS_SELECTOR, ".view .note p").text
        word = note.split("Shortest word: ")[1].removesuffix(".").strip("“”")
        said[word.replace("the empty word", "")] = note.split("output ")[1].split(".")[0]
    assert words.items() <= said.items()
    assert len(said) == len(states)
    legend = driver.find_element(By.CSS_SELECTOR, ".view figcaption").text
    assert [part.split()[0] for part in legend.split("■")[1:]] == ["no", "perhaps", "yes"]
    fills = driver.execute_script(
        "return [...document.querySelectorAll('[data-state]')].map((one) => [one.getAttribute('aria-label')"
        ".match(/output (\\w+)/)[1], getComputedStyle(one.querySelector('.output')).fill])"
    )
    assert len({tuple(fill) for fill in fills}) == 3 == len({fill[1] for fill in fills})
    assert not driver.get_log("browser")


@pytest.mark.parametrize("name", ["contributions", "automaton", "agreement"])
def test_a_notebook_converted_to_html_shows_results(driver, name, tmp_path):
    nbformat, nbconvert = pytest.importorskip("nbformat"), pytest.importorskip("nbconvert")
    result = RESULTS[name]()
    outputs = [
        nbformat.v4.new_output("display_data", {"text/html": as_html(result)}),
        nbformat.v4.new_output("execute_result", {"text/html": as_html(result)}, execution_count=1),
    ]
    cell = nbformat.v4.new_code_cell("views.show(result)\nresult", outputs=outputs)
    document, _ = nbconvert.HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    (tmp_path / "notebook.html").write_text(document, encoding="utf-8")
    driver.get((tmp_path / "notebook.html").as_uri())
    frames = driver.find_elements(By.TAG_NAME, "iframe")
    assert len(frames) == 2 * (name in VIEWS)
    for frame in frames:
        driver.switch_to.frame(frame)
        assert driver.find_elements(By.CSS_SELECTOR, ".view figure svg")
        driver.switch_to.default_content()
    text = driver.find_element(By.TAG_NAME, "body").text
    assert ("1 of 2 words" in text) == (name == "agreement")
    # The template of nbconvert asks for its own scripts, in vain; of ours nothing is asked or refused.
    ours = [entry["message"] for entry in driver.get_log("browser") if "srcdoc" in entry["message"]]
    assert not ours


@pytest.mark.parametrize("function", [analysis.contributions, analysis.substitutions, analysis.shapley_values])
def test_names_of_several_letters_are_separated(driver, function, tmp_path):
    opened(driver, function(model_of_symbols(), [0, 1, 2, 0], alphabet=["in", "out", "up"]), tmp_path)
    assert tokens_of(driver) == ["in", "out", "up", "in"]
    boxes = driver.execute_script(
        "return [...document.querySelectorAll('.strip .name')].map((one) => one.getBBox())"
        ".map(({x, width}) => [x, width])"
    )
    assert all(x + width + 4 < after for (x, width), (after, _) in itertools.pairwise(boxes))  # spaces between words
    assert "inout" not in driver.find_element(By.TAG_NAME, "body").text
    assert not driver.get_log("browser")


TEXT_ISAN = "the end of the second world wa"


@pytest.fixture(scope="module")
def reader():
    return presets.load("text-isan")


@pytest.fixture(scope="module")
def live_page(reader, tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "live.html"
    views.save(reader, path)
    return path


def typed(driver, text):
    """Writes a text into the box, all at once."""
    write = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
    driver.execute_script(write, driver.find_element(By.CSS_SELECTOR, "textarea"), text)


def until(driver, condition):
    return WebDriverWait(driver, 60).until(lambda _: condition())


def downloaded(driver, folder):
    """The rows of the table that the page saves."""
    driver.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    saved = folder / "reads.csv"
    driver.find_element(By.XPATH, "//button[.='Download CSV']").click()
    until(driver, saved.exists)
    head, *rows = (line.split(",") for line in saved.read_text(encoding="utf-8").splitlines())
    saved.unlink()
    return head, rows


def logits_of(reader, text):
    return analysis.contributions(reader.model, text, targets=-1).logits[-1]


def named(reader):
    return ["␣", *reader.alphabet[1:]]


@pytest.mark.parametrize("length", [len(TEXT_ISAN), 500])
def test_a_live_page_computes_what_numpy_does(driver, reader, live_page, length, tmp_path):
    driver.get(live_page.as_uri())
    until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, ".strip .token"))
    text = (TEXT_ISAN + " " + TEXT_ISAN[::-1]) * 10
    text = text[:length]
    typed(driver, text)
    until(
        driver, lambda: f"after {length} of {length}" in driver.find_element(By.CSS_SELECTOR, ".controls output").text
    )
    split = analysis.contributions(reader.model, text, targets=-1)
    first, second = np.argsort(-split.logits[-1])[:2]
    head, rows = downloaded(driver, tmp_path)
    assert head[2:4] == [named(reader)[first], named(reader)[second]]
    found = np.array([[float(cell) for cell in row[2:]] for row in rows])
    expected = np.concatenate([split.values[1:, 0], split.values[:1, 0], split.bias[None]])[:, [first, second]]
    np.testing.assert_allclose(found[:, :2], expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found[:, 2], expected[:, 0] - expected[:, 1], rtol=0, atol=1e-5)
    driver.find_element(By.XPATH, "//button[.='Deletion']").click()
    until(driver, lambda: "the network has read every such text" in driver.find_element(By.CSS_SELECTOR, ".view").text)
    _, rows = downloaded(driver, tmp_path)
    for i in (0, 3, length // 2, length - 1):
        lost = split.logits[-1] - logits_of(reader, text[:i] + text[i + 1 :])
        np.testing.assert_allclose([float(cell) for cell in rows[i][2:4]], lost[[first, second]], rtol=0, atol=1e-5)
    assert not driver.get_log("browser")
    assert not driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")


def test_a_live_page_follows_the_keys(driver, reader, live_page):
    driver.get(live_page.as_uri())
    box = until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, ".typed textarea"))[0]
    assert box.get_attribute("value") == TEXT_ISAN
    assert driver.find_element(By.CSS_SELECTOR, ".headline").text.startswith("text-isan says “r”, ")
    place = TEXT_ISAN.index("world") - 1
    press(driver, driver.find_elements(By.CSS_SELECTOR, ".strip .token")[place], Keys.ENTER)
    Select(driver.find_element(By.CSS_SELECTOR, ".panel select")).select_by_visible_text("s")

    def shows(text):
        """What the panel says of the picked symbol is what the network says."""
        without, instead = text[:place] + text[place + 1 :], text[:place] + "s" + text[place + 1 :]
        split = analysis.contributions(reader.model, text, targets=-1)
        expected = {
            "as it is": split.logits[-1],
            "without this term of the sum": split.without([place + 1])[-1],
            "deleted": logits_of(reader, without),
            "replaced by": logits_of(reader, instead),
        }
        return answers(driver) == {name: said(logits, named(reader)) for name, logits in expected.items()}

    until(driver, lambda: shows(TEXT_ISAN))
    driver.execute_script("arguments[0].setSelectionRange(99, 99)", box)
    box.send_keys("r ")
    until(driver, lambda: "".join(tokens_of(driver)) == f"{TEXT_ISAN}r ".replace(" ", "␣"))
    assert driver.switch_to.active_element == box
    until(driver, lambda: shows(f"{TEXT_ISAN}r "))  # the symbol stays picked while it stands there
    typed(driver, "the")
    until(driver, lambda: tokens_of(driver) == [*"the"])
    assert not driver.find_elements(By.CSS_SELECTOR, ".panel")
    assert not driver.get_log("browser")


def test_a_live_page_asks_the_network_about_earlier_predictions_too(driver, reader, live_page):
    driver.get(live_page.as_uri())
    slider = until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, "input[type=range]"))[0]
    driver.execute_script("arguments[0].value = 7; arguments[0].dispatchEvent(new Event('input'))", slider)
    until(driver, lambda: tokens_of(driver) == [*"the␣end"])
    press(driver, driver.find_elements(By.CSS_SELECTOR, ".strip .token")[3], Keys.ENTER)
    assert answers(driver)["as it is"] == said(logits_of(reader, "the end"), named(reader))
    assert answers(driver)["deleted"] == said(logits_of(reader, "theend"), named(reader))
    assert "callbacks" not in driver.find_element(By.CSS_SELECTOR, ".panel").text
    assert not driver.get_log("browser")


def test_a_live_page_keeps_what_it_cannot_read(driver, reader, live_page):
    driver.get(live_page.as_uri())
    until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, ".strip .token"))
    typed(driver, "the Énd")
    until(driver, lambda: tokens_of(driver) == [*"the␣nd"])
    assert driver.find_element(By.ID, "strays").text == "No symbol of this network, and left out: “É” (number 5)."
    assert driver.find_element(By.CSS_SELECTOR, "textarea").get_attribute("value") == "the Énd"
    typed(driver, "")
    until(driver, lambda: not driver.find_elements(By.CSS_SELECTOR, ".strip"))
    weights = reader.model.get_weights()
    kernel, bias, initial, readout, offset = (np.asarray(weight, float) for weight in weights)
    del kernel, bias
    expected = said(initial @ readout + offset, named(reader))
    assert driver.find_element(By.CSS_SELECTOR, ".headline").text == f"Before any symbol the network says: {expected}."
    assert not driver.find_element(By.ID, "strays").text
    typed(driver, "the")
    until(driver, lambda: tokens_of(driver) == [*"the"])
    assert not driver.get_log("browser")


def test_a_live_page_ranks_replacements(driver, reader, live_page):
    driver.get(live_page.as_uri())
    until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, ".strip .token"))
    typed(driver, "the sto")
    until(driver, lambda: tokens_of(driver) == [*"the␣sto"])
    for summary in driver.find_elements(By.TAG_NAME, "summary"):
        if summary.text.startswith("The replacements"):
            summary.click()
    rows = until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, "tbody tr"))
    position, symbol, instead, *_ = rows[0].text.split()
    expected = []
    winner = logits_of(reader, "the sto").argmax()

    def part(text):
        logits = np.exp(logits_of(reader, text))
        return logits[winner] / logits.sum()

    usual = part("the sto")
    for i, a in itertools.product(range(7), reader.alphabet):
        if "the sto"[i] != a:
            expected.append((abs(part("the sto"[:i] + a + "the sto"[i + 1 :]) - usual), i, a))
    _, i, a = max(expected)
    assert (int(position), symbol, instead) == (i + 1, "the␣sto"[i], "␣" if a == " " else a)
    assert len(rows) == 12
    assert not driver.get_log("browser")


def test_a_live_page_without_an_alphabet_reads_ids(driver, tmp_path):
    model = model_of_symbols()
    opened(driver, model, tmp_path)
    until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, "textarea"))
    typed(driver, "0120")
    until(driver, lambda: tokens_of(driver) == [*"0120"])
    expected = said(analysis.contributions(model, [0, 1, 2, 0]).logits[-1], "012")
    press(driver, driver.find_elements(By.CSS_SELECTOR, ".strip .token")[1], Keys.ENTER)
    assert answers(driver)["as it is"] == expected
    assert not driver.get_log("browser")


def test_a_live_page_reads_in_a_notebook(driver, reader, tmp_path):
    cell = f'<!doctype html><meta charset="utf-8">{as_html(reader)}'
    (tmp_path / "notebook.html").write_text(cell, encoding="utf-8")
    driver.get((tmp_path / "notebook.html").as_uri())
    driver.switch_to.frame(driver.find_element(By.TAG_NAME, "iframe"))
    try:
        until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, ".strip .token"))
        typed(driver, "the")
        until(driver, lambda: tokens_of(driver) == [*"the"])
    finally:
        driver.switch_to.default_content()
    assert not driver.get_log("browser")


def test_hostile_names_are_text_in_a_live_page(driver, tmp_path):
    names = ["<img/src=x/onerror=alert(1)>", "</script><!--", "&amp;"]
    alphabet = datasets.text.Alphabet(names)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), alphabet.layer(), *model_of_symbols().layers])
    opened(driver, model, tmp_path)
    until(driver, lambda: tokens_of(driver) == names)
    typed(driver, "&amp; <b> &amp;")
    until(driver, lambda: tokens_of(driver) == ["&amp;", "&amp;"])
    assert "“<b>” (number 2)" in driver.find_element(By.ID, "strays").text
    assert not driver.find_elements(By.CSS_SELECTOR, "img, .strays b")
    assert not driver.get_log("browser")


def test_a_live_page_of_a_recognizer_reads_words(driver, tmp_path):
    opened(driver, presets.load("tomita-4"), tmp_path)
    assert "proved for every word" in driver.find_element(By.CSS_SELECTOR, ".view .headline").text
    word = driver.find_element(By.CSS_SELECTOR, "input[type=text]")
    for text in ("0110100", "01000"):
        word.clear()
        word.send_keys(text)
        verdict = "accepting" if automata.tomita(4).accepts(text) else "rejecting"
        assert driver.find_element(By.CSS_SELECTOR, ".says").text.endswith(f", {verdict}.")
    assert not driver.get_log("browser")


def labelled_words(alphabet, labels):
    """Words with the first symbol at their start alone, labelled by their number of third symbols."""
    first, second, third = alphabet
    words = [(first, *word) for n in range(6) for word in itertools.product((second, third), repeat=n)]
    return words, [labels[word.count(third) % len(labels)] for word in words]


def label(driver, name, place):
    """Presses a label of the word of a place: of a question, or -1 for the typed word."""
    if place < 0:
        group = driver.find_element(By.XPATH, "//p[starts-with(., 'Its label should be')]/span")
    else:
        group = driver.find_elements(By.CSS_SELECTOR, "td .switch")[place]
    button = group.find_element(By.XPATH, f"button[.='{name}']")
    press(driver, button, Keys.SPACE)


def write_word(driver, text):
    write = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
    driver.execute_script(write, driver.find_element(By.CSS_SELECTOR, "input[type=text]"), text)


def answers_in(driver):
    return driver.find_element(By.CSS_SELECTOR, "textarea").get_attribute("value")


@pytest.mark.parametrize(
    ("alphabet", "labels", "names", "typed"),
    [
        ("cab", (False, True), ("reject", "accept"), "bab"),
        (("log in", "read", "'\""), ("none", "one", "two"), ("none", "one", "two"), "323"),
        ((7, 10, -3), (0, 1), ("0", "1"), "-3 10 -3"),
    ],
)
def test_words_are_labelled_by_keyboard_and_the_search_goes_on(driver, alphabet, labels, names, typed, tmp_path):
    words, known = labelled_words(alphabet, labels)
    found = automata.infer(words, known, alphabet=alphabet)
    opened(driver, found, tmp_path)
    assert len(driver.find_elements(By.CSS_SELECTOR, "td .switch")) == len(found.questions) > 1
    assert not driver.find_elements(By.CSS_SELECTOR, "textarea")
    label(driver, names[1], 1)
    focused = driver.switch_to.active_element
    assert (focused.text, focused.get_attribute("aria-pressed")) == (names[1], "true")
    word = (alphabet[2], alphabet[1], alphabet[2])
    rights = [each.count(alphabet[2]) % len(labels) for each in (found.questions[0], word)]
    label(driver, names[rights[0] - 1], 0)
    label(driver, names[rights[0]], 0)
    label(driver, names[1], 1)  # withdrawn
    write_word(driver, typed)
    label_of_word = names[found.dfa.labels.index(found.dfa.output(word))]
    assert driver.find_element(By.ID, "read").text.endswith(f" This automaton gives it the label {label_of_word}.")
    label(driver, names[rights[1]], -1)
    assert driver.switch_to.active_element.tag_name == "input"
    assert driver.find_element(By.CSS_SELECTOR, "input[type=text]").get_attribute("value") == ""
    expected = [found.questions[0], word], [labels[right] for right in rights]
    scope = {"words": [], "labels": []}
    exec(answers_in(driver), scope)
    assert ([*map(tuple, scope["words"])], scope["labels"]) == expected
    driver.find_element(By.XPATH, "//button[.='JSON']").click()
    driver.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    driver.find_element(By.XPATH, "//button[.='Download']").click()
    until(driver, (tmp_path / "answers.json").exists)
    saved = json.loads((tmp_path / "answers.json").read_text(encoding="utf-8"))
    assert ([*map(tuple, saved["words"])], saved["labels"]) == expected
    again = automata.infer(words + saved["words"], known + saved["labels"], alphabet=alphabet)
    assert [again.dfa.output(word) for word in expected[0]] == [
        labels.index(one) == 1 if len(labels) == 2 else one for one in expected[1]
    ]
    assert not driver.get_log("browser")


def test_a_word_with_other_symbols_gets_no_label(driver, tmp_path):
    opened(driver, automata.infer(*labelled_words("cab", (False, True))), tmp_path)
    write_word(driver, "axb")
    assert driver.find_element(By.ID, "read").text == "No symbol of the automaton: “x” (number 2)."
    assert all(not button.is_enabled() for button in driver.find_elements(By.CSS_SELECTOR, "p .switch button"))
    write_word(driver, "")
    assert "the empty word" in driver.find_element(By.ID, "read").text
    label(driver, "accept", -1)
    assert answers_in(driver) == 'words += [\n    "",\n]\nlabels += [\n    True,\n]\n'
    assert not driver.get_log("browser")


def test_answers_outlive_a_change_of_colours_and_are_given_in_a_notebook(driver, tmp_path):
    found = automata.infer(*labelled_words("cab", (False, True)))
    cell = f'<!doctype html><meta charset="utf-8">{as_html(found)}'
    (tmp_path / "notebook.html").write_text(cell, encoding="utf-8")
    driver.get((tmp_path / "notebook.html").as_uri())
    driver.switch_to.frame(driver.find_element(By.TAG_NAME, "iframe"))
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    try:
        until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, "td .switch"))
        label(driver, "accept", 0)
        text = answers_in(driver)
        assert "True" in text
        drawn = driver.find_element(By.CSS_SELECTOR, "textarea")
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
        WebDriverWait(driver, 60).until(staleness_of(drawn))  # the page is drawn again
        until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, "textarea"))
        assert answers_in(driver) == text
        driver.find_element(By.XPATH, "//button[.='Copy']").click()
        assert driver.find_element(By.CSS_SELECTOR, ".downloads [role=status]").text == "Copied."
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        driver.switch_to.default_content()
    assert not driver.get_log("browser")


def test_a_drawing_on_white_keeps_its_ink_on_a_dark_page(driver, tmp_path):
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    try:
        opened(driver, automata.infer(*labelled_words("cab", (False, True))), tmp_path)
        texts = "[...document.querySelectorAll('svg text')]"
        fills = driver.execute_script(f"return {texts}.map((text) => getComputedStyle(text).fill)")
        assert set(fills) == {"rgb" + str(rgb(INK)).replace("[", "(").replace("]", ")")}
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

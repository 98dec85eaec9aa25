"""Saved pages in Chromium with no network: nothing is requested, and the page's own policy refuses nothing."""

import shutil

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, views
from keras_interp_rnn._results import as_html
from keras_interp_rnn.views import html as html_views
from tests.views.test_views import RESULTS, VIEWS, every_result, model_of_symbols

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

from tests.tensorboard_plugin.test_browser import assert_apart, charts_in  # noqa: E402

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
    split = analysis.contributions(model_of_symbols(), [0, 1, 2, 0], targets=[2, 4], alphabet="abc")
    opened(driver, split, tmp_path)
    assert not driver.find_elements(By.CSS_SELECTOR, "details[open]")
    driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)  # the region that scrolls
    driver.switch_to.active_element.send_keys(Keys.TAB)  # the first of the earlier predictions
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert len(driver.find_elements(By.CSS_SELECTOR, "details[open]")) == 1


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


def test_contributions_are_the_plugins_view_and_work_by_keyboard(driver, tmp_path):
    split = analysis.contributions(model_of_symbols(), [0, 1, 2, 0], alphabet="abc")
    opened(driver, split, tmp_path)
    symbols = driver.find_elements(By.CSS_SELECTOR, "p.text span")
    assert "".join(symbol.text for symbol in symbols) == "abca"
    without = split.without([2])[-1]
    probabilities = np.exp(without - without.max())
    probabilities /= probabilities.sum()
    driver.execute_script("arguments[0].focus()", symbols[1])
    driver.switch_to.active_element.send_keys(Keys.SPACE)
    winner = int(probabilities.argmax())
    said = driver.find_element(By.CSS_SELECTOR, ".now").text
    assert f"{'abc'[winner]} {100 * probabilities[winner]:.1f}%" in said
    assert driver.switch_to.active_element.get_attribute("aria-pressed") == "false"
    driver.find_element(By.CSS_SELECTOR, "input[type=range]").send_keys(Keys.ARROW_LEFT)
    assert "after symbol 3 of 4" in driver.find_element(By.CSS_SELECTOR, "output").text
    assert not driver.get_log("browser")


def test_hostile_names_are_text_in_the_plugins_view(driver, tmp_path):
    opened(driver, RESULTS["contributions"](), tmp_path)
    symbols = driver.find_elements(By.CSS_SELECTOR, "p.text span")
    assert symbols[0].text.startswith("<script>alert(1)</script>")
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
    symbols = driver.find_elements(By.CSS_SELECTOR, "p.text span")
    driver.execute_script("arguments[0].focus()", symbols[1])
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    Select(driver.find_element(By.CSS_SELECTOR, ".controls select")).select_by_visible_text("c")
    [probabilities] = changed.probabilities()[0][1:2, 2]
    winner = int(probabilities.argmax())
    said = driver.find_element(By.CSS_SELECTOR, ".says").text
    assert "If “b” at position 1 were “c” (acca)" in said
    assert said.split("): ")[1].startswith(f"{'abc'[winner]} {100 * probabilities[winner]:.1f}%")
    assert not driver.get_log("browser")


def test_a_trace_shows_each_unit(driver, tmp_path):
    layer = keras.layers.GRU(4, return_sequences=True)
    model = keras.Sequential([keras.layers.Embedding(4, 3), layer])
    traced = analysis.trace(model, np.array([[1, 2, 3], [3, 3, 1]]), tokens=["-", "one", "two", "three"])
    opened(driver, traced, tmp_path)
    assert driver.find_element(By.CSS_SELECTOR, "p.text").text.split() == ["one", "two", "three"]
    Select(driver.find_element(By.CSS_SELECTOR, ".controls select")).select_by_index(1)
    number = driver.find_element(By.CSS_SELECTOR, "input[type=number]")
    number.clear()
    number.send_keys("2", Keys.ENTER)
    number.send_keys(Keys.TAB)
    spans = driver.find_elements(By.CSS_SELECTOR, "p.text span")
    assert [span.text.strip() for span in spans] == ["three", "three", "one"]
    said = [span.get_attribute("title") for span in spans]
    assert all(one.startswith("h of unit 2: ") for one in said)
    np.testing.assert_allclose([float(one.split(": ")[1]) for one in said], traced["h"][1, :, 2], rtol=1e-3)
    lines = driver.find_elements(By.CSS_SELECTOR, "svg[aria-label^='gates and states'] path[stroke]")
    assert len(lines) == len(traced) == 4


def test_all_charts_of_singular_values_are_saved_as_one_drawing(driver, tmp_path):
    opened(driver, RESULTS["singular values"](), tmp_path)
    driver.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    driver.find_element(By.XPATH, "//button[.='Download SVG']").click()
    saved = tmp_path / "jacobians.svg"
    WebDriverWait(driver, 60).until(lambda _: saved.exists())
    charts, texts, frame = charts_in(driver, saved)
    assert len(charts) == 3  # by lag, and the distributions at two lags
    assert {"singular value", "Distributions", "singular value, lag 0", "singular value, lag 4"} < set(texts)
    assert_apart(charts, frame)


def test_shapley_values_are_the_plugins_view(driver, tmp_path):
    values = analysis.shapley_values(model_of_symbols(), [0, 1, 2, 0], alphabet="abc")
    opened(driver, values, tmp_path)
    winner, runner = values.winner()
    spans = driver.find_elements(By.CSS_SELECTOR, "p.text span")
    said = [span.get_attribute("title") for span in spans]
    assert all(one.endswith(f"for {'abc'[winner]} over {'abc'[runner]}") for one in said)
    shown = [float(one.split()[0].replace("−", "-")) for one in said]
    np.testing.assert_allclose(shown, values.logit_difference()[1:], rtol=1e-2, atol=1e-6)


def test_states_say_by_which_word_they_are_reached(driver, tmp_path):
    opened(driver, automata.tomita(4), tmp_path)
    state = driver.find_element(By.CSS_SELECTOR, "[data-state='2']")
    driver.execute_script("arguments[0].focus()", state)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert "Shortest word: “00”." in driver.find_element(By.CSS_SELECTOR, ".view .note").text
    assert driver.find_element(By.CSS_SELECTOR, ".view p").text == "A 4-state automaton."
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
        nbformat.v4.new_output("display_data", {"text/html": html_views.in_notebook(result)}),
        nbformat.v4.new_output("execute_result", {"text/html": as_html(result)}, execution_count=1),
    ]
    cell = nbformat.v4.new_code_cell("views.show(result)\nresult", outputs=outputs)
    document, _ = nbconvert.HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    (tmp_path / "notebook.html").write_text(document, encoding="utf-8")
    driver.get((tmp_path / "notebook.html").as_uri())
    frames = driver.find_elements(By.TAG_NAME, "iframe")
    assert len(frames) == (name in VIEWS)
    for frame in frames:
        driver.switch_to.frame(frame)
        assert driver.find_elements(By.CSS_SELECTOR, ".view figure svg")
        driver.switch_to.default_content()
    text = driver.find_element(By.TAG_NAME, "body").text
    assert "Next:" in text if name == "contributions" else "1 of 2 words" in text if name == "agreement" else True
    # The template of nbconvert asks for its own scripts, in vain; of ours nothing is asked or refused.
    ours = [entry["message"] for entry in driver.get_log("browser") if "srcdoc" in entry["message"]]
    assert not ours


@pytest.mark.parametrize("function", [analysis.contributions, analysis.substitutions, analysis.shapley_values])
def test_names_of_several_letters_are_separated(driver, function, tmp_path):
    opened(driver, function(model_of_symbols(), [0, 1, 2, 0], alphabet=["in", "out", "up"]), tmp_path)
    assert driver.find_element(By.CSS_SELECTOR, "p.text").text.strip() == "in out up in"
    assert "inout" not in driver.find_element(By.TAG_NAME, "body").text
    assert not driver.get_log("browser")

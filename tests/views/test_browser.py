"""Saved pages in Chromium with no network: nothing is requested, and the page's own policy refuses nothing."""

import shutil

import numpy as np
import pytest

from keras_interp_rnn import analysis, views
from tests.views.test_views import RESULTS, every_result, model_of_symbols

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
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
    assert driver.execute_script("return getComputedStyle(document.body).maxWidth") == "1024px"


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
    assert f"{'abc'[winner]} {100 * probabilities[winner]:.1f} %" in said
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

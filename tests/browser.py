"""A page in Chromium: what it shows, and what a reader does with it."""

import shutil

import numpy as np
import pytest

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.common.exceptions import TimeoutException  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402, F401
from selenium.webdriver.support.expected_conditions import staleness_of  # noqa: E402, F401
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

PATIENCE = 60
"""Seconds until a condition that a test waits for is taken to have failed; machines that run tests are busy."""

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NEEDS_CHROMIUM = [
    pytest.mark.matrix,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromium-driver"),
]


class Page:
    """A browser of its own."""

    def __init__(self, width, height):
        options = webdriver.ChromeOptions()
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            f"--window-size={width},{height}",
        ):
            options.add_argument(argument)
        options.binary_location = CHROMIUM
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))

    def close(self):
        self.driver.quit()

    def open(self, path):
        self.driver.get(path.as_uri())

    def run(self, code, *arguments):
        """The value that a script returns."""
        return self.driver.execute_script(code, *arguments)

    def until(self, condition):
        """The value of a condition, once it is true."""
        try:
            return WebDriverWait(self.driver, PATIENCE).until(lambda _: condition())
        except TimeoutException:
            raise AssertionError(f"Waited in vain. The page reads: {self.text()}") from None

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.until(lambda: self.all(selector))[0]

    def text(self):
        return self.driver.find_element(By.TAG_NAME, "body").text

    def button(self, name):
        [found] = [one for one in self.all("button") if one.text == name]
        return found

    def choice(self, label):
        """The list of a label."""
        [found] = [one for one in self.all("label") if one.text.startswith(label)]
        return Select(found.find_element(By.TAG_NAME, "select"))

    def press(self, element, key):
        """Presses a key on an element that has the focus."""
        self.run("arguments[0].focus()", element)
        self.driver.switch_to.active_element.send_keys(key)

    def write(self, element, value):
        """Writes the value of a field or a slider, all at once."""
        self.run("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", element, value)

    def save_to(self, folder):
        """Downloads go into this folder."""
        self.driver.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})

    def colours(self, scheme="light"):
        """The colours that the reader prefers: "light" or "dark"."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def offline(self, on=True):
        """Takes the network away, or gives it back."""
        self.driver.execute_cdp_cmd("Network.enable", {})
        rate = 0 if on else -1
        conditions = {"offline": on, "latency": 0, "downloadThroughput": rate, "uploadThroughput": rate}
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)

    def tokens(self):
        """The symbols of a text that is read."""
        return self.run("return [...document.querySelectorAll('.strip .token .name')].map((one) => one.textContent)")

    def labels(self):
        """The accessible name of each symbol: its name and its value."""
        return [token.get_attribute("aria-label") for token in self.all(".strip .token")]

    def values(self):
        """The values of the symbols that are not masked."""
        numbers = [label.split(": ")[1].split()[0] for label in self.labels() if "masked" not in label]
        return [float(number.replace("−", "-")) for number in numbers]

    def answers(self):
        """The predictions in the panel of a picked symbol, each by its name."""
        self.one(".answers dd")
        names = [one.text.splitlines()[0] for one in self.all(".answers dt")]
        return dict(zip(names, [one.text for one in self.all(".answers dd")], strict=True))


def prediction(logits, names):
    """The two most probable outputs as a page names them."""
    probabilities = np.exp(logits - logits.max())
    probabilities /= probabilities.sum()
    first, second = (
        # A symbol is quoted, the number of an output is not.
        f"{names[i] if names[i].startswith('output ') else f'“{names[i]}”'} {100 * probabilities[i]:.1f}%"
        for i in np.argsort(-probabilities)[:2]
    )
    return f"{first}, then {second}"

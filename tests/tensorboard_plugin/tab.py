"""The plugin's tab in TensorBoard in Chromium."""

import contextlib
import io
import json
import urllib.parse

import numpy as np
import pytest

from tensorboard_plugins.interp_rnn import schema
from tests.browser import By, Page
from tests.tensorboard_plugin import logs

PIL = pytest.importorskip("PIL.Image")
PLACES = [place for place, kinds in schema.views().items() if kinds]


class Tab(Page):
    """The plugin's tab in a browser of its own."""

    def __init__(self, address, view="overview"):
        super().__init__(1500, 1200)
        self.address = address
        self.open(view)

    def open(self, view, **state):
        self.link(json.dumps({"place": view, **state}), view)

    def link(self, kept, view):
        """Follows a link that keeps some text, and waits for the view that it should lead to."""
        query = urllib.parse.urlencode({"interp_rnn": kept})
        self.driver.switch_to.default_content()
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}/?{query}#interp_rnn")
        self.until(self._enter)
        self.one(f"[data-view={view}][aria-selected=true]")
        self.settled()

    def _enter(self):
        self.driver.switch_to.default_content()
        for frame in self.driver.find_elements(By.TAG_NAME, "iframe"):
            if "interp_rnn" in (frame.get_attribute("src") or ""):
                self.driver.switch_to.frame(frame)
                return bool(self.all("nav button"))
        return False

    def settled(self):
        self.until(lambda: not self.all(".loading, body[aria-busy=true]"))

    def view(self, name):
        self.one(f"[data-view={name}]").click()
        self.one(f"[data-view={name}][aria-selected=true]")
        self.one(".downloads, .card, .empty, [role=alert]")
        self.settled()

    def folded(self, name):
        """Opens a fold by its name."""
        [summary] = [one for one in self.all("summary") if one.text.startswith(name)]
        if not summary.find_element(By.XPATH, "..").get_attribute("open"):
            summary.click()
        self.settled()

    def drag(self, slider, to):
        self.write(slider, to)
        self.settled()

    def kept(self):
        """The state that the address holds."""
        query = urllib.parse.urlparse(self.run("return window.parent.location.href")).query
        return json.loads(urllib.parse.parse_qs(query)["interp_rnn"][0])

    def pixels(self, selector):
        """(height, width, 3) of an element, as it is drawn."""
        image = PIL.open(io.BytesIO(self.one(selector).screenshot_as_png)).convert("RGB")
        return np.asarray(image).astype(int)

    def dark(self, on):
        self.run("window.parent.document.body.classList.toggle('dark-mode', arguments[0])", on)
        self.settled()

    def reload(self):
        """As TensorBoard does when it has read its logs again."""
        self.driver.switch_to.default_content()
        post = "document.querySelector('iframe[src*=interp_rnn]').contentWindow.postMessage(arguments[0], '*')"
        self.run(post, "experimental.DataReloaded")
        self._enter()
        self.settled()

    def troubles(self):
        """Errors, violations of the page's policy, and warnings about files of the plugin."""
        ours = ("Security Policy", "plugin/interp_rnn")
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE" or any(part in entry["message"] for part in ours)
        ]


@contextlib.contextmanager
def opened_over(folder, view="overview", **options):
    """A tab over a log directory, which has no troubles in the end."""
    with logs.served(folder, **options) as address, contextlib.closing(Tab(address, view)) as opened:
        yield opened
        assert not opened.troubles()

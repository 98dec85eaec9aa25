"""The plugin in TensorBoard in Chromium: every view is opened, clicked and looked at."""

import contextlib
import io
import json
import re
import shutil
import urllib.error
import urllib.parse
import urllib.request

import numpy as np
import pytest

from tensorboard_plugins.interp_rnn import schema
from tests.tensorboard_plugin import logs

webdriver = pytest.importorskip("selenium.webdriver")
PIL = pytest.importorskip("PIL.Image")
from selenium.common.exceptions import TimeoutException  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

PATIENCE = 60
"""Seconds until something that was waited for is taken to have failed; machines that run tests are busy."""

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.matrix,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromium-driver"),
]


class Tab:
    """The plugin's tab in a browser of its own."""

    def __init__(self, address, view="states"):
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1500,1200"):
            options.add_argument(argument)
        options.binary_location = CHROMIUM
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        self.address = address
        self.open(view)

    def open(self, view, **state):
        self.link(json.dumps({"view": view, **state}), view)

    def link(self, kept, view):
        """Follows a link that keeps some text, and waits for the view that it should lead to."""
        query = urllib.parse.urlencode({"interp_rnn": kept})
        self.driver.switch_to.default_content()
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}/?{query}#interp_rnn")
        self.until(self._enter)
        self.until(lambda: self.all(f"[data-view={view}][aria-selected=true]"))
        self.settled()

    def _enter(self):
        self.driver.switch_to.default_content()
        for frame in self.driver.find_elements(By.TAG_NAME, "iframe"):
            if "interp_rnn" in (frame.get_attribute("src") or ""):
                self.driver.switch_to.frame(frame)
                return bool(self.all("nav button"))
        return False

    def until(self, condition):
        """What a condition gives, once it is true."""
        wait = WebDriverWait(self.driver, PATIENCE)
        try:
            return wait.until(lambda driver: condition())
        except TimeoutException:
            raise AssertionError(f"Waited in vain. The page says: {self.text()}") from None

    def settled(self):
        self.until(lambda: not self.all(".loading, body[aria-busy=true]"))

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.until(lambda: self.all(selector))[0]

    def view(self, name):
        self.one(f"[data-view={name}]").click()
        self.until(lambda: self.all(f"[data-view={name}][aria-selected=true]"))
        self.until(lambda: self.all(".downloads, .empty, [role=alert]"))
        self.settled()

    def text(self):
        return self.driver.find_element(By.TAG_NAME, "body").text

    def pixels(self, selector):
        """(height, width, 3) of an element, as it is drawn."""
        image = PIL.open(io.BytesIO(self.one(selector).screenshot_as_png)).convert("RGB")
        return np.asarray(image).astype(int)

    def dark(self, on):
        self.driver.execute_script("window.parent.document.body.classList.toggle('dark-mode', arguments[0])", on)
        self.settled()

    def reload(self):
        """As TensorBoard says it when it has read its logs again."""
        self.driver.switch_to.default_content()
        post = "document.querySelector('iframe[src*=interp_rnn]').contentWindow.postMessage(arguments[0], '*')"
        self.driver.execute_script(post, "experimental.DataReloaded")
        self._enter()
        self.settled()

    def troubles(self):
        """Errors, violations of the page's policy, and whatever our own files warn of."""
        ours = ("Security Policy", "plugin/interp_rnn")
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE" or any(part in entry["message"] for part in ours)
        ]

    def close(self):
        self.driver.quit()


@pytest.fixture(scope="module")
def tab():
    with logs.served(logs.written()) as address, contextlib.closing(Tab(address)) as opened:
        yield opened


def drag(tab, slider, to):
    tab.driver.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", slider, to
    )
    tab.settled()


def test_arrow_keys_move_the_slider(tab):
    tab.open("states")
    drag(tab, tab.one("input.steps"), 2)
    tab.one(".view p").click()  # keys go where the reader has clicked
    tab.one("body").send_keys(Keys.ARROW_LEFT)
    assert tab.one("input.steps").get_attribute("value") == "1"
    tab.one("body").send_keys(Keys.ARROW_RIGHT)
    assert tab.one("input.steps").get_attribute("value") == "2"


def test_contributions(tab):
    tab.view("contributions")
    spans = tab.all("p.text span")
    assert "".join(span.text for span in spans) == logs.TEXT.replace(" ", "␣")
    assert "After" in tab.text()
    assert "%" in tab.text()
    assert not tab.all(".now")
    stack = tab.one("rect.pick")
    tab.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", stack)
    at = stack.size["width"] // 2 - 2, stack.size["height"] // 2 - 2  # the last source, in the chosen column
    ActionChains(tab.driver).move_to_element_with_offset(stack, *at).perform()
    hovered = stack.find_element(By.TAG_NAME, "title").get_attribute("textContent")
    assert re.fullmatch(r"e → after e \(24\): norm \S+ nats: (\S+ [+-]\S+(, )?){5}", hovered), hovered
    spans[-1].click()
    assert "From the sum without the terms taken out" in tab.one(".now").text
    assert tab.all("p.text span.off")
    [button] = [button for button in tab.all("button") if button.text == "By words"]
    button.click()
    names = [text.text for text in tab.all("figure:last-of-type svg g text")]
    assert any(name.endswith("return") for name in names), names
    [everything] = [button for button in tab.all("button") if button.text == "Reset"]
    everything.click()
    assert not tab.all(".now")
    picture = tab.pixels("figure svg")
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20  # shades
    assert not tab.troubles()


def test_switching_a_source_off_gives_what_the_backend_says(tab):
    from tests.tensorboard_plugin.test_backend import cut, real

    tab.open("contributions")
    where = {"run": "isan/contributions", "tag": "interp_rnn/contributions/text_0"}
    step = int(tab.one("output").text.split()[1])
    terms = cut(real(), **where, step=step, index=len(logs.TEXT))
    without = terms.sum(axis=0) - terms[3]
    tab.all("p.text span")[2].click()
    probabilities = np.exp(without - without.max())
    probabilities /= probabilities.sum()
    winner = int(probabilities.argmax())
    name = "␣" if winner == 0 else logs.ALPHABET[winner]
    assert f"{name} {100 * probabilities[winner]:.1f}%" in tab.one(".now").text


def test_contributions_to_the_most_probable_outputs_and_to_all_others_together(tmp_path):
    import tensorflow as tf

    from tensorboard_plugins.interp_rnn import schema

    described = schema.metadata("top_contributions", symbols=["u", "v"], outputs=[*"abcdefghi"], top=2)
    values = np.zeros((schema.block_rows(2).stop, 4), np.float32)
    block = values[schema.block_rows(2)]
    block[0] = [7, 3, 0.2, 0]  # h and d; the others have a fifth of the probability
    block[1:4] = [[1, 0, -2, 3], [0.5, 0, -1, 2], [np.log(3) - 2, 0, -4, 9]]
    block[4] = [0.5, 0, 5, 0]
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        tf.summary.write("interp_rnn/contributions", values, step=0, metadata=described)
    with logs.served(tmp_path) as address, contextlib.closing(Tab(address, "contributions")) as opened:
        said = opened.text()
        assert "After uv: h 60.0%, then d 20.0%." in said  # 3 to 1 of four fifths
        assert "Here the 2 most probable of 9 outputs have a term each." in said
        assert "The other 7 have 20% of the probability, and one term, their sum." in said
        rows = [text.text for text in opened.all("figure:last-of-type svg g text:not(.number)")]
        assert rows == ["h₀", "u", "v", "bias"]
        stack = opened.one("rect.pick")
        opened.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", stack)
        at = stack.size["width"] // 2 - 2, stack.size["height"] // 2 - 2  # the last source of the last target
        ActionChains(opened.driver).move_to_element_with_offset(stack, *at).perform()
        hovered = stack.find_element(By.TAG_NAME, "title").get_attribute("textContent")
        assert hovered == "v → after v (2): norm 9 nats: h -0.9014, d 0, sum of 7 others -4"
        opened.all("p.text span")[0].click()
        assert "without the terms taken out, among the 2 outputs: h " in opened.one(".now").text
        assert not opened.troubles()


def test_words_begin_at_spaces_and_not_at_underscores(tmp_path):
    import tensorflow as tf

    from keras_interp_rnn._results import visible
    from tensorboard_plugins.interp_rnn import schema

    symbols = [visible(letter) for letter in "a_b _a"]
    described = schema.metadata("contributions", symbols=symbols, outputs=["a", "b"])
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        values = tf.ones((schema.target_rows(6).stop + 1, 2))
        tf.summary.write("interp_rnn/contributions", values, step=0, metadata=described)
    with logs.served(tmp_path) as address, contextlib.closing(Tab(address, "contributions")) as opened:
        [button] = [button for button in opened.all("button") if button.text == "By words"]
        button.click()
        rows = [text.text for text in opened.all("figure:last-of-type svg g text:not(.number)")]
        assert rows == ["h₀", "a_b", "␣_a", "bias"]
        assert not opened.troubles()


def test_jacobians(tab):
    tab.view("jacobians")
    assert len(tab.all("main figure figcaption")) >= 3
    paths = tab.all(".side figure svg path[stroke]")
    assert len(paths) == 2 * 9
    over = tab.all("fieldset input")
    assert len(over) == 1
    over[0].click()
    tab.until(lambda: len(tab.all(".side figure svg path[stroke]")) == 2 * 2 * 9)
    colours = {path.get_attribute("stroke") for path in tab.all(".side figure svg path[stroke]")}
    assert len(colours) == 2
    legend = {key.get_attribute("style"): key for key in tab.all("p.note span")}
    assert len(legend) == 2
    assert "■ GRU/jacobians ■ MinimalRNN/jacobians" in " ".join(tab.text().split())
    over[0].click()
    tab.until(lambda: not tab.all("p.note span"))
    tab.all(".pick")[0].click()
    tab.settled()
    tab.until(lambda: "Distribution at step" in tab.text())
    assert not tab.troubles()


def test_traces(tab):
    tab.view("traces")
    select = Select(tab.all(".controls select")[1])
    assert [option.text for option in select.options][1].startswith("1: ")
    select.select_by_index(1)
    tab.until(lambda: len(tab.all("p.text span")) == 4)  # the padding is not read
    assert not tab.all("p.text b")
    maps = [one.get_attribute("aria-label") for one in tab.all(".maps svg[role=img]")]
    assert [label.split(":")[0] for label in maps] == ["u", "r", "candidate", "h"]
    assert all("5 entries at 4 tokens" in label for label in maps)
    tab.all(".maps rect.pick")[3].click()  # the middle of the map of h
    assert "h of unit 2" in tab.text()
    assert {span.get_attribute("title").split(":")[0] for span in tab.all("p.text span")} == {"h of unit 2"}
    assert not tab.troubles()


def test_shapley_values(tab):
    tab.view("shapley")
    assert "".join(span.text for span in tab.all("p.text span")) == logs.TEXT.replace(" ", "␣")
    assert "From the mean logits of the background" in tab.text()
    drag(tab, tab.one("input.steps"), 0)
    assert len(tab.all("figure svg")) >= 2
    assert not tab.troubles()


def test_what_if(tab):
    tab.view("substitutions")
    tab.all("p.text span")[2].click()
    assert "If “e” at position 2 were" in tab.text()
    Select(tab.all(".controls select")[-1]).select_by_visible_text("o")
    assert "were “o” (tho␣name)" in tab.text()
    assert len(tab.all("tbody tr")) == 5
    assert not tab.troubles()


def test_two_runs_side_by_side(tab):
    tab.open("jacobians", run="GRU/jacobians")
    [button] = [button for button in tab.all("button") if button.text == "Side by side"]
    button.click()
    tab.until(lambda: len(tab.all(".panes > section .downloads")) == 2)
    tab.settled()
    first, second = tab.all(".panes > section")
    chosen = [pane.find_element(By.CSS_SELECTOR, "select").get_attribute("value") for pane in (first, second)]
    assert chosen == ["GRU/jacobians", "MinimalRNN/jacobians"]
    assert first.location["y"] == second.location["y"]
    assert first.location["x"] + first.size["width"] <= second.location["x"]
    slider = second.find_element(By.CSS_SELECTOR, "input.steps")
    drag(tab, slider, 0)
    shown = [pane.find_element(By.CSS_SELECTOR, "output").text for pane in (first, second)]
    assert shown[0] != shown[1] == "step 0"

    def noted():
        query = urllib.parse.urlparse(tab.driver.execute_script("return window.parent.location.href")).query
        return json.loads(urllib.parse.parse_qs(query)["interp_rnn"][0])

    tab.until(lambda: (noted().get("beside") or {}).get("step") == 0)
    tab.open(**noted())
    tab.until(lambda: len(tab.all(".panes > section .downloads")) == 2)
    [button] = [button for button in tab.all("button") if button.text == "Close"]
    button.click()
    tab.until(lambda: len(tab.all(".downloads")) == 1)
    assert not tab.troubles()


def content(tab):
    """What the first pane says outside of its drawings, and what its drawings are called."""
    said, names = tab.driver.execute_script(
        "const copy = document.querySelector('section .view').cloneNode(true);"
        "const names = [...copy.querySelectorAll('svg[aria-label]')].map((one) => one.getAttribute('aria-label'));"
        "copy.querySelectorAll('svg, fieldset').forEach((one) => one.remove());"  # a file has no other runs
        "return [copy.textContent, names]"
    )
    return said.replace("Save as HTML", ""), names


@pytest.mark.parametrize("view", [*schema.views(), "two panes"])
def test_a_view_is_saved_as_a_page_that_needs_no_server(tab, view, tmp_path):
    two = view == "two panes"
    name = "contributions" if two else view
    tab.open(name, **({"beside": {"index": 3}} if two else {}))
    tab.driver.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    looked_at = content(tab)
    [button, *_] = [button for button in tab.all("button") if button.text == "Save as HTML"]
    button.click()
    saved = tmp_path / f"{name}.html"
    tab.until(saved.exists)
    tab.driver.switch_to.default_content()
    tab.driver.execute_cdp_cmd("Network.enable", {})
    try:
        nothing = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        tab.driver.execute_cdp_cmd("Network.emulateNetworkConditions", nothing)
        tab.driver.get(saved.as_uri())
        tab.until(lambda: len(tab.all("section .view .downloads")) == (2 if two else 1))
        assert tab.all("section .view figure svg")
        assert content(tab) == looked_at
        for slider in tab.all("input.steps"):
            drag(tab, slider, 0)
        assert not tab.troubles()
    finally:
        everything = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        tab.driver.execute_cdp_cmd("Network.emulateNetworkConditions", everything)
        tab.open(name)


def test_a_page_that_would_be_too_large_says_so(tmp_path):
    import tensorflow as tf

    values = np.zeros((3_000, 1_000, 1), np.float32)
    described = schema.metadata("trace", quantities=[["h", 1]], tokens=[])
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        tf.summary.write("interp_rnn/trace", tf.constant(values), step=0, metadata=described)
    with logs.served(tmp_path) as address, contextlib.closing(Tab(address, "traces")) as opened:
        [button] = [button for button in opened.all("button") if button.text == "Save as HTML"]
        button.click()
        opened.until(lambda: opened.all("[role=alert]"))
        assert "A page holds data of at most 8 MiB" in opened.one("[role=alert]").text


def test_dark_mode_turns_the_page_dark(tab):
    for view in schema.views():
        tab.view(view)
        light = tab.pixels("body").mean()
        tab.dark(True)
        dark = tab.pixels("body").mean()
        tab.dark(False)
        assert light > 200 > 100 > dark
    assert not tab.troubles()


def test_the_address_keeps_what_is_looked_at(tab):
    tab.open("contributions")
    select = Select(tab.all(".controls select")[1])
    select.select_by_index(1)
    tab.until(lambda: len(tab.all("p.text span")) == len("an argument"))
    tab.settled()

    def noted():
        query = urllib.parse.urlparse(tab.driver.execute_script("return window.parent.location.href")).query
        return json.loads(urllib.parse.parse_qs(query)["interp_rnn"][0])

    tab.until(lambda: noted().get("tag", "").endswith("text_1"))
    tab.open(**noted())
    assert "".join(span.text for span in tab.all("p.text span")) == "an␣argument"


@pytest.mark.parametrize(
    "kept",
    [
        "no JSON",
        "null",
        "[5]",
        '{"view": "constructor"}',
        '{"view": "__proto__"}',
        '{"view": "toString"}',
        '{"view": {"a": 1}, "run": 5, "tag": [], "step": 1e400}',
        '{"view": "states", "__proto__": {"run": "x"}, "step": "x", "threshold": {}}',
    ],
)
def test_a_mangled_link_leads_to_the_first_view(tab, kept):
    tab.link(kept, "states")
    assert tab.one("figure svg g[data-state]")
    assert not tab.all("[role=alert]")
    assert not tab.troubles()


@pytest.mark.parametrize("view", ["contributions", "shapley", "substitutions", "traces", "jacobians"])
def test_a_mangled_link_leads_to_the_view_that_it_names(tab, view):
    wrong = {
        "index": "x",
        "centroid": {},
        "off": 5,
        "words": 1,
        "over": "x",
        "logarithmic": [],
        "beside": [1],
        "unit": 1e9,
    }
    tab.open(view, **wrong)
    assert tab.one("figure svg")
    assert not tab.all("[role=alert]")
    tab.open(view, off=["x"], over=[5])
    assert tab.one("figure svg")
    assert not tab.all("[role=alert]")
    assert not tab.troubles()


def test_numbers_and_drawings_are_saved(tab, tmp_path):
    folder = {"behavior": "allow", "downloadPath": str(tmp_path)}

    def saved():
        return {path.name for path in tmp_path.iterdir() if path.suffix in (".svg", ".png", ".csv")}

    for view in schema.views():
        tab.open(view)
        tab.driver.execute_cdp_cmd("Page.setDownloadBehavior", folder)
        for button in tab.all(".downloads button"):
            if button.text == "Save as HTML":
                continue
            have = saved()
            button.click()
            tab.until(lambda have=have: saved() > have)
    found = {path.name: path for path in tmp_path.iterdir()}
    names = ("automaton", "contributions", "shapley-values", "substitutions", "traces", "jacobians")
    assert set(found) == {f"{name}.{kind}" for name in names for kind in ("svg", "png", "csv")}
    header, *rows = found["automaton.csv"].read_text().splitlines()
    assert header == "step,from,symbol,to,probability"
    assert len(rows) >= 2
    import xml.etree.ElementTree as ElementTree

    for name in names:
        root = ElementTree.fromstring(found[f"{name}.svg"].read_text())
        assert root.tag.endswith("svg")
        width, height = map(float, root.get("viewBox").split()[2:])
        assert width * height > 5000  # no key of a legend
        image = np.asarray(PIL.open(found[f"{name}.png"]).convert("RGB")).astype(int)
        assert image.shape[1] == 2 * width
        assert (image.min(axis=2) < 150).sum() > 100  # ink
        assert image[0, 0].min() > 240  # on paper


def test_all_charts_of_the_jacobians_are_saved_as_one_drawing(tab, tmp_path):
    tab.open("jacobians", run="GRU/jacobians", over=["MinimalRNN/jacobians"])
    tab.driver.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    [button] = [button for button in tab.all("button") if button.text == "Download SVG"]
    button.click()
    tab.until((tmp_path / "jacobians.svg").exists)
    charts, texts, frame = charts_in(tab.driver, tmp_path / "jacobians.svg")
    assert len(charts) == 4  # two lags, through training and at one step
    assert {"lag 0", "lag 5", "singular value, lag 0", "singular value, lag 5"} < set(texts)
    assert texts[0].split() == ["■", "GRU/jacobians", "■", "MinimalRNN/jacobians"]
    assert_apart(charts, frame)
    assert len(tab.all("path[stroke]:not(.cursor)")) == 2 * 2 * 9


def charts_in(driver, path):
    """Boxes of the charts of a saved drawing, its texts, and its width and height."""
    driver.switch_to.default_content()
    driver.get(path.as_uri())
    return driver.execute_script(
        "const boxes = [...document.querySelectorAll('svg > g')].map((one) => one.getBBox());"
        "const moved = [...document.querySelectorAll('svg > g')].map((one) => one.transform.baseVal[0].matrix);"
        "const {width, height} = document.documentElement.viewBox.baseVal;"
        "return [boxes.map(({x, y, width, height}, i) => [x + moved[i].e, y + moved[i].f, width, height]),"
        "[...document.querySelectorAll('text')].map((one) => one.textContent), [width, height]]"
    )


def assert_apart(charts, frame):
    """No chart lies on another one, or beyond the frame."""
    for i, (left, top, width, height) in enumerate(charts):
        assert 0 <= left + 0.5 < left + width <= frame[0] + 0.5
        assert 0 <= top + 0.5 < top + height <= frame[1] + 0.5
        for x, y, other_width, other_height in charts[:i]:
            assert left >= x + other_width or x >= left + width or top >= y + other_height or y >= top + height


def test_runs_and_tags_with_markup_are_text_and_paths_lead_nowhere(tmp_path):
    import tensorflow as tf

    from tensorboard_plugins.interp_rnn import schema

    tag = "interp_rnn/<img src=x onerror=document.title='owned'>"
    for name in ("one", "two"):
        with tf.summary.create_file_writer(str(tmp_path / f"<b>{name}")).as_default():
            for suffix in ("", "2"):
                described = schema.metadata("jacobian", lags=[0])
                tf.summary.write(tag + suffix, tf.ones((1, 101)), step=0, metadata=described)
    with logs.served(tmp_path) as address, contextlib.closing(Tab(address, "jacobians")) as opened:
        assert opened.one("figure svg")
        assert [option.text for option in Select(opened.all(".controls select")[1]).options] == [tag, f"{tag}2"]
        assert not opened.all("img, b")
        assert opened.driver.execute_script("return window.parent.document.title + document.title") == "TensorBoard"
        assert not opened.troubles()
        for path in ("../schema.py", "%2e%2e/schema.py", "..%2f..%2fsetup.cfg", "static/page.js", "/etc/passwd"):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(f"{address}/data/plugin/interp_rnn/{path}")
            assert caught.value.code == 404
            caught.value.close()


def test_a_run_deleted_while_it_is_looked_at(tmp_path):
    folder = tmp_path / "logs"
    shutil.copytree(logs.written(), folder)
    with logs.served(folder) as address, contextlib.closing(Tab(address)) as opened:
        opened.open("jacobians", run="GRU/jacobians")
        shutil.rmtree(folder / "GRU")
        opened.until(lambda: "GRU/jacobians" not in listed(address))
        # The page still has the deleted run in its list, asks for it in vain, and goes on with a run that is left.
        assert opened.one(".controls select").get_attribute("value") == "GRU/jacobians"
        opened.one(".view .controls input").click()
        opened.until(lambda: "GRU/jacobians" not in opened.text())
        opened.settled()
        assert opened.one(".controls select").get_attribute("value") == "MinimalRNN/jacobians"
        assert opened.one("figure svg")
        assert not opened.all("[role=alert]")
        assert all("404" in message for message in opened.troubles())  # as the browser notes each answer
        shutil.rmtree(folder / "MinimalRNN")
        opened.until(lambda: "MinimalRNN/jacobians" not in listed(address))
        assert opened.one("figure svg")  # what was read stays until TensorBoard says that it has read again
        opened.reload()
        assert "No jacobians logged yet" in opened.one(".empty").text
        assert not opened.troubles()


def test_what_cannot_be_read_is_said_where_the_view_was():
    with contextlib.ExitStack() as stack:
        with logs.served(logs.written()) as address:
            opened = stack.enter_context(contextlib.closing(Tab(address)))
            opened.open("jacobians")
        opened.one(".view .controls input").click()
        assert "cannot be read" in opened.one("[role=alert]").text  # TensorBoard has been stopped


def listed(address):
    """The runs that TensorBoard has for the plugin."""
    with urllib.request.urlopen(f"{address}/data/plugin/interp_rnn/tags") as answer:
        return json.load(answer)


def test_the_tab_opens_with_the_first_view_that_has_something_to_show(tmp_path):
    shutil.copytree(logs.written() / "GRU", tmp_path / "GRU")
    with logs.served(tmp_path) as address, contextlib.closing(Tab(address, "jacobians")) as opened:
        opened.link("{}", "jacobians")
        assert opened.one("figure svg")
        opened.view("states")  # what was asked for stays, though there is nothing in it
        opened.reload()
        assert "No states logged yet" in opened.one(".empty").text


def test_steps_that_are_left_out_are_said(tmp_path):
    import tensorflow as tf

    from tensorboard_plugins.interp_rnn import schema

    for centroids, steps in ((3, (0, 5, 10)), (4, (0, 5))):
        with tf.summary.create_file_writer(str(tmp_path / "a")).as_default():
            for step in steps:
                described = schema.metadata("transition_counts", symbols=[])
                tf.summary.write("interp_rnn/c", tf.ones((1, centroids, centroids)), step=step, metadata=described)
    broken = schema.metadata("outputs", part_of=[1])
    with tf.summary.create_file_writer(str(tmp_path / "b")).as_default():
        tf.summary.write("interp_rnn/o", tf.ones((2, 2)), step=0, metadata=broken)
    with logs.served(tmp_path) as address, contextlib.closing(Tab(address)) as opened:
        assert len(opened.all("figure svg g[data-state]")) == 4
        assert "Step 10 is left out. The shape is (1, 3, 3)" in opened.text()
        assert "b/interp_rnn/o: The description of outputs" in opened.one("[role=alert]").text
        assert not opened.troubles()


def test_without_logs_the_page_says_how_to_write_them(tmp_path):
    with logs.served(tmp_path) as address, contextlib.closing(Tab(address)) as opened:
        for view, callback in (
            ("states", "Automaton"),
            ("contributions", "Contributions"),
            ("shapley", "ShapleyValues"),
            ("substitutions", "Substitutions"),
            ("traces", "Traces"),
            ("jacobians", "JacobianHistograms"),
        ):
            opened.view(view)
            sample = opened.one("pre")
            assert f"callbacks.{callback}(" in sample.text
            assert sample.get_property("scrollWidth") <= sample.get_property("clientWidth")  # nothing is cut off
        assert not opened.troubles()


def test_the_fast_loader_shows_the_same():
    with logs.served(logs.written(), fast=True) as address, contextlib.closing(Tab(address)) as opened:
        for view in schema.views():
            opened.view(view)
            opened.one("figure svg")
        assert not opened.troubles()

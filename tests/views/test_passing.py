"""What is passed on from a page in Chromium: pictures, tables, code; and pages that compare texts, states, networks."""

import json
import pathlib
import re
import xml.etree.ElementTree as ET

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, presets, views
from keras_interp_rnn._results import as_html
from tests.browser import NEEDS_CHROMIUM, Page
from tests.views.test_browser import saved_table, show

pytestmark = NEEDS_CHROMIUM
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def chromium():
    opened = Page(1200, 900)
    rights = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    opened.driver.execute_cdp_cmd("Browser.grantPermissions", rights)
    yield opened
    opened.close()


@pytest.fixture
def page(chromium):
    yield chromium
    assert not chromium.driver.get_log("browser")


def network():
    keras.utils.set_random_seed(7)
    parts = [keras.layers.Embedding(6, 4, mask_zero=True), keras.layers.LSTM(6), keras.layers.Dense(1, "sigmoid")]
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *parts])
    model.set_weights([3 * weight for weight in model.get_weights()])
    return model


WORDS = ["<pad>", "not", "a", "good", "film", "<b>"]


def split_of(texts, **options):
    return analysis.attribution(network(), np.array(texts), alphabet=WORDS, outputs=["bad", "good"], **options)


def saved(page, folder, name):
    """The file that a button of a page saves."""
    page.save_to(folder)
    before = set(folder.iterdir())
    page.button(name).click()
    page.until(lambda: [path for path in set(folder.iterdir()) - before if not path.name.endswith(".crdownload")])
    [path] = set(folder.iterdir()) - before
    return path


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_a_saved_drawing_looks_the_same_without_the_page(page, colours, tmp_path):
    resvg = pytest.importorskip("resvg_py")
    page.colours(colours)
    show(page, split_of([[1, 2, 3, 4]]), tmp_path)
    page.until(lambda: page.all("svg.strip"))
    path = saved(page, tmp_path, "SVG")
    assert path.name == "not-a-good-film-attribution-by-shapley.svg"
    text = path.read_text()
    assert "var(" not in text
    assert not re.search(r' (class|style|data-\w+|aria-\w+|role|tabindex)="', text)
    root = ET.fromstring(text)
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert " ".join(texts).startswith(page.one(".headline").text)
    assert texts[-1] == "Attribution"
    assert len(list(root.iter(f"{SVG}svg"))) == 3  # the picture, the walk and the bars
    fills = {each.get("fill") for each in root.iter() if each.get("fill")}
    assert {page.run("return getComputedStyle(document.querySelector('rect.for, rect.against')).fill")} <= fills
    for each in root.iter(f"{SVG}text"):
        assert each.get("font-size")
        assert each.get("font-family")
    width, height = (float(root.get(name)) for name in ("width", "height"))
    from PIL import Image

    (tmp_path / "x.png").write_bytes(bytes(resvg.svg_to_bytes(svg_string=text)))
    drawn = np.asarray(Image.open(tmp_path / "x.png").convert("RGB")).astype(int)
    assert drawn.shape[:2] == (height, width)
    paper = [255, 255, 255] if colours == "light" else [48, 48, 48]
    assert drawn[0, 0].tolist() == paper
    assert (np.abs(drawn - paper).sum(axis=2) > 150).sum() > 1000
    page.colours("light")


def clipboard(page):
    """What is in the clipboard: type -> text, of a picture its size."""
    code = """
    const [done] = arguments;
    navigator.clipboard.read().then(async ([item]) => {
      const found = {};
      for (const type of item.types) {
        const blob = await item.getType(type);
        found[type] = type.startsWith('image/') ? blob.size : await blob.text();
      }
      done(found);
    }, (error) => done({error: String(error)}));
    """
    return page.driver.execute_async_script(code)


def copied(page, name):
    page.button(name).click()
    page.until(lambda: [one for one in page.all("button") if one.text == f"{name} ✓"])
    return clipboard(page)


def test_table_picture_and_code_are_copied(page, tmp_path):
    split = split_of([[1, 2, 3, 4]])
    show(page, split, tmp_path)
    page.until(lambda: page.all("svg.strip"))
    table = copied(page, "table")
    rows = [line.split("\t") for line in table["text/plain"].splitlines()]
    assert [row[2] for row in rows[1:5]] == WORDS[1:5]
    np.testing.assert_allclose([float(row[-1]) for row in rows[1:5]], split.shares[0], rtol=1e-5)
    assert table["text/html"].count("<tr>") == len(rows)
    assert copied(page, "picture")["image/png"] > 5000
    code = copied(page, "Python")["text/plain"]
    printed = []
    exec(code, {"print": printed.append})  # as somebody who pastes it
    assert printed[0].tokens == tuple(WORDS[1:5])
    np.testing.assert_allclose(printed[0].values[:, 0], split.shares[0], rtol=1e-5)
    assert 'analysis.attribution(model, x, method="shapley")' in code


def test_the_code_of_a_live_page_computes_its_numbers_again(page, tmp_path):
    reader = presets.load("tomita-4-lstm").model
    views.save(reader, tmp_path / "live.html")
    page.open(tmp_path / "live.html")
    page.until(lambda: page.all("svg.strip"))
    box = page.one("textarea")
    box.clear()
    box.send_keys("1001")
    page.until(lambda: page.tokens() == [*"1001"])
    code = copied(page, "Python")["text/plain"]
    printed = []
    exec(code, {"print": printed.append})
    [call] = re.findall(r"^# result = (.*)$", code, re.M)
    result = eval(call, {"analysis": analysis, "model": reader})
    np.testing.assert_allclose(printed[0].values[:, 0], result.shares[0], rtol=1e-6, atol=1e-7)


def test_texts_stand_one_under_another_on_one_scale(page, tmp_path):
    split = split_of([[1, 2, 3, 4], [5, 1, 0, 0], [3, 3, 2, 0]], labels=["bad", "good", "good"])
    show(page, split, tmp_path)
    page.until(lambda: len(page.all("svg.strip")) == 3)
    heads = [one.text for one in page.all(".card .headline")]
    for i, head in enumerate(heads):
        assert head.startswith(f"Sequence {i + 1}: the network says “")
        assert ("is wrong: the label is " in head) == split.wrong[i]
    tokens = [[one.text for one in strip.find_elements("css selector", "text.name")] for strip in page.all("svg.strip")]
    assert tokens == [["not", "a", "good", "film"], ["<b>", "not"], ["good", "good", "a"]]  # without padding
    height = (
        "return [...document.querySelectorAll('svg.strip')].map((strip) => "
        "[...strip.querySelectorAll('rect.for, rect.against')].filter((rect) => rect.closest('[data-token]'))"
        ".map((rect) => Number(rect.getAttribute('height'))))"
    )
    bars, shares = (
        np.concatenate(page.run(height)),
        np.abs(np.concatenate([split.shares[0], split.shares[1, :2], split.shares[2, :3]])),
    )
    np.testing.assert_allclose(np.sort(bars)[-4:] / bars.max(), np.sort(shares)[-4:] / shares.max(), rtol=2e-2)
    _, *rows = saved_table(page, tmp_path)
    assert rows
    page.all(".card .more")[1].click()
    page.until(lambda: len(page.all("svg.strip")) == 1)
    assert page.tokens() == ["<b>", "not"]


def test_a_long_sentence_of_letters_opens_by_words(page, tmp_path):
    reader, text = presets.load("text-isan"), "the end of the second world war was not long before wa"
    split = analysis.contributions(reader.model, text)
    show(page, split, tmp_path)
    page.until(lambda: page.tokens() == text.split())
    [word] = re.findall(r"largest term: “(\w+)”", page.one(".headline").text)
    first, second = np.argsort(-split.logits[-1])[:2]
    lead = split.values[1 : len(text) + 1, -1, first] - split.values[1 : len(text) + 1, -1, second]
    starts = [0, *(i for i, letter in enumerate(text) if letter == " "), len(text)]
    sums = [lead[a:b].sum() for a, b in zip(starts, starts[1:], strict=False)]
    assert word == text.split()[int(np.abs(sums).argmax())]
    page.button("By words").click()
    page.until(lambda: len(page.tokens()) == len(text))


def test_a_text_from_right_to_left_begins_at_the_right(page, tmp_path):
    names = ["<pad>", "שלום", "עולם", "סרט", "טוב", "👨\u200d👩\u200d👧"]
    split = analysis.attribution(network(), np.array([[1, 2, 3, 5]]), alphabet=names, outputs=["bad", "טוב"])
    show(page, split, tmp_path)
    page.until(lambda: page.all("svg.strip"))
    middles = [float(one.get_attribute("x")) for one in page.all("svg.strip text.name")]
    assert middles == sorted(middles, reverse=True)
    assert page.tokens()[-1] == names[-1]
    assert "\u2068" in page.run(
        "return document.querySelector('.headline').textContent"
    )  # so that it turns nothing around it


def test_equal_states_are_merged_and_words_of_each_answer_are_read(page, tmp_path):
    show(page, automata.DFA([[1, 2], [3, 0], [0, 4], [3, 3], [4, 4]], {0, 3, 4}, alphabet="ab"), tmp_path)
    page.until(lambda: len(page.all("figure [data-state]")) == 5)
    shown = page.one(".examples").text
    assert "accepted: aa" in shown
    assert "rejected: a b" in shown
    page.button("Merge equal states").click()
    page.until(lambda: len(page.all("figure [data-state]")) == 4)
    [button] = [one for one in page.all(".examples button") if one.text == "aa"]
    button.click()
    page.until(lambda: "ends in state 3 = 4, accepting" in page.one(".says").text)
    assert "merged%22%3Atrue" in page.run("return location.hash") or page.until(
        lambda: "merged" in page.run("return location.hash")
    )


def test_a_trace_says_where_a_unit_changes_and_where_its_company_is_on(page, tmp_path):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Embedding(5, 3), keras.layers.GRU(8, return_sequences=True)])
    x = np.array([[1, 2, 3, 4, 1, 2], [4, 3, 2, 1, 2, 3]])
    traced = analysis.trace(model, x, tokens=["-", "one", "two", "three", "four"])
    show(page, traced, tmp_path)
    told = page.until(lambda: [one for one in page.all("details .headline") if one.text])[0].text
    unit, name = re.match(r"Unit (\d+) of h (?:rises|falls) most at “(\w+)”", told).groups()
    changes = np.abs(np.diff(traced["h"][0, :, int(unit)]))
    assert name == ["one", "two", "three", "four", "one", "two"][int(changes.argmax()) + 1]
    page.run(
        "document.querySelector('svg[aria-label^=\"gates and states\"] rect.pick').scrollIntoView({block: 'center'})"
    )
    page.one("svg[aria-label^='gates and states'] rect.pick").click()
    page.until(lambda: page.all(".panel h3"))
    page.button("Find where these units are on").click()
    found = [one.text for one in page.until(lambda: page.all(".panel li"))]
    on, of = map(int, re.match(r"(\d+) of (\d+): ", found[0]).groups())
    assert on == of >= 1  # the step that was clicked is one of them
    assert any("sequence 2" in one for one in found)


def test_the_page_of_test_set_and_proof(page, tmp_path):
    views.save(presets.load("tomita-4-lstm"), tmp_path / "proof.html")
    page.open(tmp_path / "proof.html")
    page.until(lambda: "it answers yes, which is wrong." in page.one(".headline").text)
    assert page.one(".headline").text.startswith("Right on all 2,000 words of its test set, and on “000")
    answers = [one.text for one in page.all(".verdict")]
    assert answers[0].startswith("yes ✗ log-odds +")
    assert answers[1] == "no ✓"
    page.write(page.one("input[type=range]"), 3)
    page.until(lambda: "on “000111” it answers no, which is right." in page.one(".headline").text)
    page.button("Find a word that fools it").click()
    page.until(lambda: "which is wrong." in page.one(".headline").text)
    first = page.run("return document.querySelector('input[type=text]').value")
    page.button("Find another word that fools it").click()
    page.until(lambda: page.run("return document.querySelector('input[type=text]').value") != first)
    kept = page.until(lambda: json.loads(page.run("return decodeURIComponent(location.hash.slice(1))") or "{}"))
    assert kept["word"]
    box = page.one("input[type=text]")
    box.clear()
    box.send_keys("1x1")
    page.until(lambda: "left out: “x”" in page.text())
    assert "on “11” it answers yes, which is right." in page.one(".headline").text


def test_a_page_in_a_frame_tells_its_height(page, tmp_path):
    views.save(split_of([[1, 2, 3, 4]]), tmp_path / "inner.html")
    script = "addEventListener('message', ({data}) => { document.title = String(data.interpRnnHeight); });"
    (tmp_path / "outer.html").write_text(
        f'<script>{script}</script><iframe src="inner.html" width="900" height="100"></iframe>'
    )
    page.open(tmp_path / "outer.html")
    page.until(lambda: page.driver.title.isdigit())
    page.driver.switch_to.frame(page.one("iframe"))
    height = page.run("return document.body.offsetHeight")
    page.driver.switch_to.default_content()
    page.until(lambda: int(page.driver.title) == height)


def test_frames_of_a_notebook_on_the_site_are_as_high_as_their_pages(page, tmp_path):
    script = (pathlib.Path(__file__).parents[2] / "docs" / "_static" / "site.js").read_text()
    pages = "".join(as_html(split_of([[1, 2, 3, 4]] * rows)) for rows in (1, 2))
    (tmp_path / "notebook.html").write_text(f"{pages}<script>{script}</script>")
    page.open(tmp_path / "notebook.html")
    heights = "return [...document.querySelectorAll('iframe')].map((frame) => frame.clientHeight)"
    first, second = page.until(lambda: (found := page.run(heights)) and 640 not in found and found)
    for frame, height in zip(page.all("iframe"), (first, second), strict=True):
        page.driver.switch_to.frame(frame)
        assert abs(page.run("return document.body.offsetHeight") - height) <= 2
        page.driver.switch_to.default_content()


def test_the_answers_of_a_network_that_counts_two_things(page, tmp_path):
    views.save(presets.load("counting-isan"), tmp_path / "live.html")
    page.open(tmp_path / "live.html")
    page.until(lambda: "for “2 open”" in page.one(".headline").text)
    page.choice("The answer about").select_by_visible_text("[ ]")
    page.until(lambda: "for “1 open”" in page.one(".headline").text)

"""The plugin in TensorBoard in Chromium: every view is opened, clicked and looked at."""

import contextlib
import functools
import itertools
import json
import re
import shutil
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_interp_rnn import callbacks, views
from tensorboard_plugins.interp_rnn import schema
from tests.browser import NEEDS_CHROMIUM, By, Keys, Select, prediction
from tests.callbacks.events import look
from tests.tensorboard_plugin import logs
from tests.tensorboard_plugin.tab import PIL, PLACES, Tab, opened_over
from tests.tensorboard_plugin.test_backend import cut, get, plugin_over, write

ActionChains = pytest.importorskip("selenium.webdriver.common.action_chains").ActionChains
pytestmark = NEEDS_CHROMIUM


def test_arrow_keys_move_the_slider(tab):
    tab.open("states")
    tab.drag(tab.one("input.steps"), 2)
    tab.one(".view p").click()  # keys go where the reader has clicked
    tab.one("body").send_keys(Keys.ARROW_LEFT)
    assert tab.one("input.steps").get_attribute("value") == "1"
    tab.one("body").send_keys(Keys.ARROW_RIGHT)
    assert tab.one("input.steps").get_attribute("value") == "2"


@functools.cache
def real():
    return plugin_over(logs.written())


def bars_of(tab):
    """Heights of the bars of the tokens, negative where they point down."""

    def height(token):
        for bar in token.find_elements(By.CSS_SELECTOR, "rect.for, rect.against"):
            sign = 1 if "for" in bar.get_attribute("class").split() else -1
            return sign * float(bar.get_attribute("height"))
        return 0.0

    return np.array([height(token) for token in tab.all(".strip .token")])


def last_slice(run, **index):
    """The array of the first text of a run at its last step."""
    where = {"run": run, "tag": f"interp_rnn/{run.split('/')[1]}/text_0"}
    return cut(real(), **where, step=get(real(), "/series", **where)["steps"][-1], **index)


def isan_terms():
    """The terms of the last prediction at the last step."""
    return last_slice("isan/contributions", index=len(logs.TEXT))


NAMES = ["␣", *logs.ALPHABET[1:]]


def tip_of_the_last_cell(page, cells):
    """The text over the last source of the last prediction."""
    page.run("arguments[0].scrollIntoView({block: 'center'})", cells)
    at = cells.size["width"] // 2 - 2, cells.size["height"] // 2 - 2
    ActionChains(page.driver).move_to_element_with_offset(cells, *at).perform()
    return page.one(".tip").text


def test_reads_are_bars_on_the_tokens(tab):
    tab.open("reads", run="isan")
    assert "".join(tab.tokens()) == logs.TEXT.replace(" ", "␣")
    terms = isan_terms()
    logits = terms.sum(axis=0)
    first, second = np.argsort(-logits)[:2]
    leads = (terms[:, first] - terms[:, second])[1:-1]
    bars = bars_of(tab)
    shown = np.abs(bars) > 0
    scale = np.abs(bars).max() / np.abs(leads).max()
    np.testing.assert_allclose(bars[shown], scale * leads[shown], rtol=1e-3, atol=1e-3)
    assert (np.abs(scale * leads[~shown]) < 0.71).all()
    headline = tab.one(".headline").text
    assert re.fullmatch(
        rf"isan says “{re.escape(NAMES[first])}”, >?\d+% sure; largest term: .+ \([+−][\d.]+ nats\)\.", headline
    ), headline
    outputs = tab.all("[role=listitem] text.output")
    assert [one.text for one in outputs[:2]] == [NAMES[first], NAMES[second]]
    label = tab.one(".strip .token").get_attribute("aria-label")
    assert re.fullmatch(
        rf"space: [+−]?[\d.]+ nats for “{re.escape(NAMES[first])}” over “{re.escape(NAMES[second])}”", label
    ), label


def test_a_picked_token_says_what_the_sum_is_without_its_term(tab):
    tab.open("reads", run="isan")
    tab.all(".strip .token")[2].click()
    terms = isan_terms()
    assert tab.answers()["as it is"] == prediction(terms.sum(axis=0), NAMES)
    assert tab.answers()["without this term of the sum"] == prediction(terms.sum(axis=0) - terms[3], NAMES)
    assert "number 3 of 24" in tab.one(".panel").text
    assert "its matrix carries the terms before it" in tab.one(".panel").text
    tab.all(".strip .token")[2].click()
    tab.until(lambda: not tab.all(".panel"))


def test_the_two_outputs_and_the_prediction_can_be_chosen(tab):
    tab.open("reads", run="isan", up="e", down="t")
    terms = isan_terms()
    leads = (terms[:, 5] - terms[:, 20])[1:-1]
    clear = np.abs(leads) > 0.2
    np.testing.assert_array_equal(np.sign(bars_of(tab))[clear], np.sign(leads)[clear])
    assert "orange for “t”" in tab.text()
    tab.choice("Bars up for").select_by_visible_text("a")
    tab.until(lambda: "Blue speaks for “a”" in tab.text())
    tab.drag(tab.one("input[aria-label='prediction after this token']"), 7)
    assert "".join(tab.tokens()) == logs.TEXT[:7].replace(" ", "␣")
    tab.folded("All 24 predictions")
    cells = tab.one("svg[aria-label^='norms of'] rect.pick")
    tip = tip_of_the_last_cell(tab, cells)
    assert re.fullmatch(r"e → after e \(24\): norm \S+ nats", tip), tip
    cells.click()
    tab.until(lambda: len(tab.tokens()) < 24)


def test_methods_are_a_switch_over_the_same_text(tab):
    tab.open("reads", run="isan")
    before = tab.tokens()
    tab.button("Shapley values").click()
    tab.until(lambda: "on average over what else is known" in tab.text())
    assert tab.tokens() == before
    values = last_slice("isan/shapley_values")
    first, second = np.argsort(-values.sum(axis=0))[:2]
    leads = values[:-1, first] - values[:-1, second]
    bars = bars_of(tab)
    shown = np.abs(bars) > 0
    np.testing.assert_allclose(bars[shown] / np.abs(bars).max(), leads[shown] / np.abs(leads).max(), atol=1e-3)
    assert not tab.all("input[aria-label='prediction after this token']")  # they are of the whole text
    tab.drag(tab.one("input.steps"), 0)
    assert tab.one("header output").text.startswith("0 of")


def test_words_are_sums_of_their_letters(tab):
    tab.open("reads", run="isan")
    leads = tab.values()
    tab.button("By words").click()
    tab.until(lambda: len(tab.all(".strip .token")) == 5)
    assert [label.split(": ")[0] for label in tab.labels()] == ["the", "return", "value", "of", "the"]
    assert sum(tab.values()) == pytest.approx(sum(leads), abs=0.3)
    tab.open("reads", run="isan", words=True)
    assert len(tab.all(".strip .token")) == 5


def test_deleted_and_replaced_symbols_are_what_the_network_says(tab):
    tab.open("reads", run="what_if")
    rows = last_slice("what_if/substitutions")
    assert "the network has read every such text" in tab.text()
    tab.all(".strip .token")[2].click()
    Select(tab.one(".answers select")).select_by_visible_text("o")
    tab.settled()
    found = tab.answers()
    assert found["as it is"] == prediction(rows[0], NAMES)
    assert found["deleted"] == prediction(rows[1 + 8 * 5 + 2], NAMES)
    assert found["replaced by"] == prediction(rows[1 + 2 * 5 + 3], NAMES)
    tab.folded("The replacements that change it most")
    assert len(tab.all("tbody tr")) == 12
    positions = [int(row.text.split()[0]) for row in tab.all("tbody tr")]
    assert set(positions) <= set(range(1, 9))
    tab.button("Replacement").click()
    tab.until(lambda: "another symbol is read in its place" in tab.text())


def test_arrow_keys_go_from_token_to_token(tab):
    tab.open("reads", run="isan")
    assert len(tab.all(".strip [tabindex='0']")) == 1  # a text is one stop
    tab.press(tab.all(".strip .token")[-1], Keys.ARROW_LEFT)
    tab.driver.switch_to.active_element.send_keys(Keys.ENTER)
    tab.until(lambda: "number 23 of 24" in tab.one(".panel").text)
    assert tab.driver.switch_to.active_element.get_attribute("data-token") == "22"
    assert tab.one(".tip").text.startswith("h: ")  # a tooltip opens on focus


def test_reads_of_the_most_probable_outputs_and_of_all_others_together(tmp_path):
    described = schema.metadata("top_contributions", symbols=["u", "v"], outputs=[*"abcdefghi"], top=2)
    values = np.zeros((schema.block_rows(2).stop, 4), np.float32)
    block = values[schema.block_rows(2)]
    block[0] = [7, 3, 0.2, 0]  # h and d; the others have a fifth of the probability
    block[1:4] = [[1, 0, -2, 3], [0.5, 0, -1, 2], [np.log(3) - 2, 0, -4, 9]]
    block[4] = [0.5, 0, 5, 0]
    write(tmp_path, "interp_rnn/contributions", values, described)
    with opened_over(tmp_path, "reads") as opened:
        read = opened.text()
        assert "The network says “h”, 60% sure" in read  # 3 to 1 of four fifths
        assert "Of 9 outputs, the 2 most probable have terms here; the others have 20.0% together." in read
        assert opened.labels() == ["u: +0.500 nats for “h” over “d”", "v: −0.901 nats for “h” over “d”"]
        opened.all(".strip .token")[0].click()
        assert opened.answers()["as it is"] == "“h” 60.0%, then “d” 20.0%"
        opened.folded("All 2 predictions")
        assert tip_of_the_last_cell(opened, opened.one("rect.pick")) == "v → after v (2): norm 9 nats"


def written_text(folder, symbols, terms):
    """A log of contributions of two outputs to a text: those of the last target alone are other than 0."""
    described = schema.metadata("contributions", symbols=symbols, outputs=["up", "down"])
    values = np.zeros((schema.target_rows(len(symbols)).stop + 1, 2), np.float32)
    values[schema.target_rows(len(symbols))][1:, 0] = terms
    write(folder, "interp_rnn/contributions", values, described)


def test_attributions_of_older_and_newer_logs_are_read(tmp_path):
    named = {"symbols": ["not", "good"], "outputs": ["no", "yes"]}
    before = schema.metadata("attribution", method="telescoping", unit="nats", **named)
    rows = [[1, 0], [0.75, 0.25], [1, 0], [0.0986123, 0], [0, 0]]
    write(tmp_path / "before", "interp_rnn/attributions/text_0", np.array(rows, np.float32), before)
    now = schema.metadata("attribution", method="shapley", unit="logit", errors=True, both=True, **named)
    rows = [[1, 0], [0.995, 0.005], [6, 0], [-0.7, 0], [0, 0], [0.05, 0.05], [0.05, 0.05], [5.3, 0]]
    write(tmp_path / "now", "interp_rnn/attributions/text_0", np.array(rows, np.float32), now)
    with opened_over(tmp_path, "reads") as opened:
        opened.open("reads", run="before")
        assert opened.one(".headline").text == "before says “yes”, 75% sure; largest share: “not” (+1.00 nats)."
        assert "By telescoping: what each token added to “yes” over “no”" in opened.text()
        assert "They add up to the difference of the two logits." in opened.text()
        assert not opened.all(".interval")
        opened.open("reads", run="now")
        said = "now says “yes”, >99% sure (logit 5.3); largest Shapley value: “not” (+6.00 ± 0.20 nats)."
        assert opened.one(".headline").text == said
        assert "which a probability of 0.9950 hardly shows any more" in opened.text()
        assert len(opened.all(".interval")) == 2
        opened.open("overview")
        headlines = {one.text for one in opened.all(".card .headline")}
        assert said in headlines


def test_words_have_room_and_are_not_cut(tmp_path):
    words = [
        *("the first half is boring . then it becomes a haunting , beautiful film".split()),
        "incomprehensibilities" * 2,
    ]
    written_text(tmp_path, words, np.linspace(-1, 1, len(words)))
    with opened_over(tmp_path, "reads") as opened:
        assert opened.tokens() == words
        boxes = opened.run(
            "return [...document.querySelectorAll('.strip .name')].map((one) => one.getBBox())"
            ".map(({x, y, width}) => [x, y, width])"
        )
        for (x, y, width), (next_x, next_y, _) in itertools.pairwise(boxes):
            assert next_y > y + 5 or next_x >= x + width  # a gap, or the next line
        assert "; largest term: “" in opened.one(".headline").text


def test_a_trace_of_vectors_has_positions_in_place_of_names(tmp_path):
    model = keras.Sequential([keras.Input((12, 2)), keras.layers.GRU(3)])
    look(model, callbacks.Traces(tmp_path, np.ones((2, 12, 2), np.float32)))
    with opened_over(tmp_path, "reads") as opened:
        assert opened.one(".lead").text.endswith(" reads steps 1 to 12.")
        assert [one.text for one in opened.all("[aria-label=sequence] button")] == ["sequence 1", "sequence 2"]


def test_of_a_long_text_what_matters_is_in_sight(tmp_path):
    terms = np.zeros(1400)
    terms[[300, 301, 1390]] = [5, -4, 3]
    written_text(tmp_path, [*("some words " * 200)[:1400]], terms)
    with opened_over(tmp_path, "reads") as opened:
        shown = {int(token.get_attribute("data-token")) for token in opened.all(".strip .token")}
        assert {300, 301, 1390, 1399} <= shown
        assert len(shown) < 700
        folds = opened.all(".fold")
        assert sum(int(re.search(r"(\d+) symbols", fold.text)[1]) for fold in folds) == 1400 - len(shown)
        assert len(opened.all("*")) < 5000
        folds[0].click()
        assert len(opened.all(".strip .token")) > len(shown)
        opened.one(".brush .hit").click()  # the middle of the text
        assert {int(token.get_attribute("data-token")) for token in opened.all(".strip .token")} >= {699, 700}
        assert opened.run("return document.documentElement.scrollHeight") < 1500


def test_the_numbers_are_a_table(tab):
    tab.open("reads", run="isan")
    tab.folded("The numbers")
    rows = [row.text.split() for row in tab.all("tbody tr")]
    assert len(rows) == len(logs.TEXT) + 2
    assert [row[0] for row in rows[:3]] == ["1", "2", "3"]


def test_gates_and_states_are_a_fold(tab):
    tab.open("reads", run="gru")
    tab.choice("Text").select_by_index(1)
    tab.settled()
    maps = tab.until(lambda: [one.get_attribute("aria-label") for one in tab.all(".maps svg[role=img]")])
    assert [label.split(":")[0] for label in maps] == ["u", "r", "candidate", "h"]
    assert all("5 entries at 4 tokens" in label for label in maps)  # the padding is not read
    assert not tab.all("main b b, main p b i")
    before = tab.choice("Unit").first_selected_option.text
    cells = tab.all(".maps rect.pick")[3]
    tab.run("arguments[0].scrollIntoView({block: 'center'})", cells)
    cells.click()  # the middle of the map of h
    tab.until(lambda: tab.choice("Unit").first_selected_option.text != before)
    units = [option.text for option in tab.choice("Unit").options]
    assert sorted(units) == ["0", "1", "2", "3", "4"]
    assert tab.choice("Unit").first_selected_option.text == units[2]  # in the order of the map


def test_memory_has_every_run_in_one_chart(tab):
    tab.open("memory")
    charts = tab.all("main figure > svg")
    assert len(charts) == 2
    for chart in charts:
        assert len(chart.find_elements(By.CSS_SELECTOR, "path.band")) == 2
        assert len({path.get_attribute("stroke") for path in chart.find_elements(By.CSS_SELECTOR, "path[stroke]")}) == 2
    assert [key.text for key in tab.all(".legend")] == ["GRU", "MinimalRNN"]
    series = get(real(), "/series", run="GRU/jacobians", tag="interp_rnn/jacobian_percentiles")
    median = series["percentiles"][-1][series["lags"].index(5)][series["lines"].index(50)]
    assert f"GRU passes on {float(f'{100 * median:.2g}'):g}% of a change 5 steps back" in tab.one(".headline").text
    tab.one("[data-run=MinimalRNN]").click()
    tab.until(lambda: tab.one(".headline").text.startswith("MinimalRNN passes on "))
    [logarithmic] = tab.all("main input[type=checkbox]")
    axis = [text.text for text in tab.all("main figure > svg text")]
    logarithmic.click()
    assert [text.text for text in tab.all("main figure > svg text")] != axis
    tab.drag(tab.one("input.steps"), 0)
    assert "at step 0" in tab.text()


def test_all_folders_of_a_training_are_one_run(tab):
    tab.open("overview")
    assert [one.text for one in tab.all("aside li")] == ["GRU", "gru", "isan", "MinimalRNN", "sr", "what_if"]
    tab.until(lambda: len(tab.all(".card .headline")) >= 6)
    headlines = {
        card.get_attribute("data-run"): card.find_element(By.CSS_SELECTOR, ".headline").text
        for card in tab.all(".card")
    }
    assert set(headlines) == {"GRU", "MinimalRNN", "gru", "isan", "sr", "what_if"}
    assert headlines["isan"].startswith("isan says ")
    assert re.match(r"sr: (an? \d+-state automaton|not yet the reference)", headlines["sr"]), headlines["sr"]
    assert "passes on" in headlines["GRU"]
    assert all(name in headline for name, headline in headlines.items())
    assert tab.one(".card").get_attribute("data-run") in ("gru", "isan", "what_if")  # those that read come first


def test_run_step_and_text_stay_when_the_place_is_changed(tab):
    tab.open("reads", run="isan")
    tab.choice("Text").select_by_index(1)
    tab.until(lambda: len(tab.tokens()) == len("an argument"))
    tab.drag(tab.one("input.steps"), 1)
    step = tab.one("header output").text
    tab.view("memory")
    assert tab.one("aside [aria-pressed=true]").text == "isan"
    tab.view("overview")
    tab.view("reads")
    assert "".join(tab.tokens()) == "an␣argument"
    assert tab.one("header output").text == step
    assert tab.driver.title != ""
    assert tab.run("return document.title") == "Reads: isan – Interpretable RNN"


@pytest.mark.parametrize("place", ["reads", "memory"])
def test_the_steps_are_played_to_the_last(tab, place):
    tab.open(place, step=0, **({"run": "isan"} if place == "reads" else {}))
    first, last = tab.one("header output").text.split(" of ")
    assert first == "0"
    tab.button("Play").click()
    tab.until(lambda: tab.one("header output").text.split(" of ")[0] == last)
    tab.until(lambda: any(one.text == "Play" for one in tab.all("header button")))  # and not Stop


def test_arrow_keys_go_from_place_to_place(tab):
    tab.open("overview")
    tabs = tab.all("[role=tab]")
    assert [one.get_attribute("tabindex") for one in tabs].count("0") == 1
    tab.press(tabs[0], Keys.ARROW_RIGHT)
    tab.one("[data-view=reads][aria-selected=true]")
    assert tab.driver.switch_to.active_element.get_attribute("data-view") == "reads"
    tab.settled()
    tab.driver.switch_to.active_element.send_keys(Keys.END)
    tab.one(f"[data-view={list(schema.views())[-1]}][aria-selected=true]")
    tab.settled()


def test_twenty_runs_can_be_searched(tmp_path):
    for i in range(20):
        shutil.copytree(logs.written() / "GRU", tmp_path / f"run-{i:02d}")
    with opened_over(tmp_path, "memory") as opened:
        assert len(opened.all("aside li")) == 20
        field = opened.one("aside input[type=search]")
        field.send_keys("-17")
        opened.until(lambda: len(opened.all("aside li")) == 1)
        assert opened.driver.switch_to.active_element == field  # the field is the same element
        opened.one("aside li button").click()
        opened.until(lambda: opened.one(".headline").text.startswith("run-17"))
        chart = opened.all("main figure > svg")[0]
        assert len(chart.find_elements(By.CSS_SELECTOR, "path.band")) == 1  # that of the run which was chosen
        assert len(chart.find_elements(By.CSS_SELECTOR, "path[stroke]")) == 20


def test_with_nothing_logged_there_is_an_example_that_says_so(tmp_path):
    with opened_over(tmp_path) as opened:
        assert "Example. Nothing is logged here yet." in opened.one(".example").text
        opened.one(".card .strip")
        headline = "text-isan says “r”, 96% sure; largest term: the space before “world” (+3.20 nats)."
        assert opened.one(".headline").text == headline
        opened.view("reads")
        opened.all(".strip .token")[-1].click()
        found = opened.answers()
        assert found["deleted"].startswith("“a” 82.5%")  # not what is left without its term
        assert found["without this term of the sum, among the 4 outputs"].startswith("“r” 94.")
        shutil.copytree(logs.written() / "GRU", tmp_path / "GRU")
        opened.until(lambda: "GRU/jacobians" in listed(opened))
        opened.reload()
        opened.until(lambda: not opened.all(".example"))


@contextlib.contextmanager
def offline(tab):
    """A browser without a network; then the tab again."""
    tab.driver.switch_to.default_content()
    tab.offline()
    yield
    tab.offline(False)
    tab.open("overview")


def content(tab):
    """The text of the place outside of its drawings, and the names of its drawings."""
    text, names = tab.run(
        "const copy = document.querySelector('.view').cloneNode(true);"
        "const names = [...copy.querySelectorAll('svg[aria-label]')].map((one) => one.getAttribute('aria-label'));"
        "copy.querySelectorAll('svg').forEach((one) => one.remove());"
        # A page without a server has no other runs, and does not save itself.
        "[...copy.querySelectorAll('label, button')]"
        ".filter((one) => /^(Compare with|HTML$)/.test(one.textContent)).forEach((one) => one.remove());"
        "return [copy.textContent, names]"
    )
    return text, names


@pytest.mark.parametrize("view", PLACES)
def test_a_place_is_saved_as_a_page_that_needs_no_server(tab, view, tmp_path):
    tab.open(view, **({"run": "isan", "target": 20} if view == "reads" else {}))
    tab.save_to(tmp_path)
    looked_at = content(tab)
    tab.button("HTML").click()
    [saved] = tab.until(lambda: list(tmp_path.glob("*.html")))
    with offline(tab):
        tab.driver.get(saved.as_uri())
        tab.one(".view .downloads")
        assert tab.all(".view figure svg")
        assert content(tab) == looked_at
        for slider in tab.all("input.steps"):
            tab.drag(slider, 0)


def test_a_folder_is_saved_as_a_page_of_all_places(tab, tmp_path):
    looked_at = {}
    for view in PLACES:
        tab.open(view)
        looked_at[view] = content(tab)
    views.save(logs.written(), tmp_path / "all.html")
    with offline(tab):
        for view in PLACES:
            tab.driver.get((tmp_path / "all.html").as_uri())
            tab.one(".card")
            tab.view(view)
            assert content(tab) == looked_at[view]


def test_a_page_that_would_be_too_large_says_so(tmp_path):
    described = schema.metadata("trace", quantities=[["h", 1]], tokens=[])
    noise = np.random.default_rng(0).normal(size=(3_000, 1_000, 1)).astype(np.float32)  # zeros would be packed
    write(tmp_path, "interp_rnn/trace", noise, described)
    with opened_over(tmp_path, "reads") as opened:
        opened.button("HTML").click()
        assert "A page holds data of at most 8 MiB" in opened.one("[role=alert]").text
        assert all("400" in message for message in opened.troubles())  # as the browser notes the answer


def test_dark_mode_turns_the_page_dark(tab):
    for view in schema.views():
        tab.open(view)
        light = tab.pixels("body").mean()
        tab.dark(True)
        dark = tab.pixels("body").mean()
        tab.dark(False)
        assert light > 200 > 100 > dark


def test_the_address_keeps_what_is_looked_at(tab):
    tab.open("reads", run="isan")
    tab.choice("Text").select_by_index(1)
    tab.until(lambda: len(tab.tokens()) == len("an argument"))
    tab.all(".strip .token")[4].click()
    tab.until(lambda: tab.kept().get("picked") == 4)
    tab.open("reads", **{name: value for name, value in tab.kept().items() if name != "place"})
    assert "".join(tab.tokens()) == "an␣argument"
    assert "number 5 of 11" in tab.one(".panel").text


@pytest.mark.parametrize(
    "kept",
    [
        "no JSON",
        "null",
        "[5]",
        '{"place": "constructor"}',
        '{"place": "__proto__"}',
        '{"place": "toString"}',
        '{"place": {"a": 1}, "run": 5, "tag": [], "step": 1e400}',
        '{"place": "overview", "__proto__": {"run": "x"}, "step": "x", "threshold": {}}',
    ],
)
def test_a_mangled_link_leads_to_the_first_place(tab, kept):
    tab.link(kept, "overview")
    assert tab.one(".card .headline")
    assert not tab.all("[role=alert]")


@pytest.mark.parametrize("view", PLACES)
def test_a_mangled_link_leads_to_the_place_that_it_names(tab, view):
    wrong = {
        **{"index": "x", "centroid": {}, "words": 1, "logarithmic": [], "unit": 1e9, "lag": -1},
        **{"token": 10**6, "picked": 10**6, "target": 10**6},
        **{"text": 5, "method": "none", "up": "none", "down": [], "instead": "none", "run": "none", "tag": "none"},
    }
    tab.open(view, **wrong)
    assert tab.one("figure svg")
    assert not tab.all("[role=alert]")
    tab.open(view, index=-5, target=-5, step=-1, token=-1, picked=-1, text="none", run=7)
    assert tab.one("figure svg")
    assert not tab.all("[role=alert]")


def test_numbers_and_drawings_are_saved(tab, tmp_path):
    def saved():
        return {path.name for path in tmp_path.iterdir() if path.suffix in (".svg", ".png", ".csv")}

    for view in PLACES:
        tab.open(view, **({"run": "isan"} if view == "reads" else {}))
        tab.save_to(tmp_path)
        for button in tab.all(".downloads button"):
            if button.text not in ("SVG", "PNG", "CSV", "Text as CSV"):
                continue
            have = saved()
            button.click()
            tab.until(lambda have=have: saved() > have)
    found = {path.name: path for path in tmp_path.iterdir()}
    names = {name.rpartition(".")[0] for name in found}
    first = "the-return-value-of-the-contributions"
    assert len(names) == 4
    assert first in names
    drawn = names - {"transitions"}  # those of a text are numbers beside the automaton
    [automaton] = [name for name in names if name.startswith("automaton")]
    assert set(found) == {f"{name}.{kind}" for name in drawn for kind in ("svg", "png", "csv")} | {"transitions.csv"}
    header, *rows = found[f"{automaton}.csv"].read_text().splitlines()
    assert header == "step,from,symbol,to,probability"
    assert len(rows) >= 2
    header, *rows = found[f"{first}.csv"].read_text().splitlines()
    assert header.startswith("index,position,symbol,")
    assert [row.split(",")[:2] for row in rows[: len(logs.TEXT)]] == [
        [str(i), str(i + 1)] for i in range(len(logs.TEXT))
    ]
    for name in drawn:
        root = ET.fromstring(found[f"{name}.svg"].read_text())
        assert root.tag.endswith("svg")
        width, height = map(float, root.get("viewBox").split()[2:])
        assert width * height > 5000  # no key of a legend
        image = np.asarray(PIL.open(found[f"{name}.png"]).convert("RGB")).astype(int)
        assert image.shape[1] == 2 * width
        assert (image.min(axis=2) < 150).sum() > 100  # ink
        assert image[0, 0].min() > 240  # on paper


def many_runs(folder):
    """Eight runs of two units and four rates that read one text, with the losses that Keras logs; their answers."""
    rng, answers = np.random.default_rng(0), {}
    names = {"symbols": ["not", "good"], "outputs": ["no", "yes"], "unit": "logit", "both": True, "errors": False}
    described = schema.metadata("attribution", method="shapley", label="yes", **names)
    for i, (units, rate) in enumerate(itertools.product((4, 16), (1, 2, 3, 4))):
        shares = rng.normal(size=(2, 2))
        logits = shares.sum(axis=0)
        probabilities = np.exp(logits) / np.exp(logits).sum()
        rows = [[0, 1], probabilities, *shares, [0, 0], logits]
        run = f"lstm-{units}/rate-{rate}"
        write(folder / run / "attributions", "interp_rnn/attributions/text_0", np.array(rows, np.float32), described)
        with tf.summary.create_file_writer(str(folder / run / "validation")).as_default():
            tf.summary.scalar("epoch_loss", 8.0 - i, 0)
        answers[run] = ("no", "yes")[int(logits.argmax())]
    return answers


def test_many_runs_are_a_table_in_order_and_in_groups(tmp_path):
    answers = many_runs(tmp_path)

    def shown():
        return [one.text for one in opened.all("table.runs tbody tr[data-run] th")]

    with opened_over(tmp_path) as opened:
        opened.until(lambda: opened.one(".headline").text.startswith("8 runs: "))
        wrong = list(answers.values()).count("no")
        assert f"The label is “yes”: {wrong} {'is' if wrong == 1 else 'are'} wrong." in opened.one(".headline").text
        assert shown() == [*answers][::-1]  # the lowest loss first
        for row in opened.all("table.runs tbody tr[data-run]"):
            said = row.find_element(By.CSS_SELECTOR, ".more").text
            answer = answers[row.get_attribute("data-run")]
            assert said.startswith(f"{answer} ")
            assert said.endswith("✗ wrong" if answer == "no" else "✓")
        opened.choice("Order by").select_by_visible_text("run")
        opened.until(lambda: shown() == [*answers])
        opened.choice("Group by").select_by_visible_text("part 2 of the name")
        groups = opened.until(lambda: [one.text for one in opened.all("table.runs .group")])
        assert groups == ["4: 4", "16: 4"]
        opened.choice("Group by").select_by_visible_text("what Reads says")
        counts = {answer: list(answers.values()).count(answer) for answer in sorted(set(answers.values()))}
        opened.until(lambda: [one.text for one in opened.all(".group")] == [f"{a}: {n}" for a, n in counts.items()])
        opened.all("table.runs .more")[-1].click()
        opened.until(lambda: opened.all("svg.strip"))
        run = opened.one("aside [aria-pressed=true]").text
        other = next(name for name in answers if name != run)
        opened.choice("Compare with").select_by_visible_text(other)
        opened.until(lambda: len(opened.all("svg.strip")) == 2)
        assert [one.text.split(" says ")[0] for one in opened.all(".card .headline")] == [run, other]


def test_runs_and_tags_with_markup_are_text_and_paths_lead_nowhere(tmp_path):
    described = schema.metadata("jacobian", lags=[0])
    for name, suffix in itertools.product(("one", "two"), ("", "2")):
        tag = f"interp_rnn/<img src=x onerror=document.title='owned'>{suffix}"
        write(tmp_path / f"<b>{name}", tag, np.ones((1, 101), np.float32), described)
    with opened_over(tmp_path, "memory") as opened:
        assert opened.one("figure svg")
        assert [one.text for one in opened.all("aside li")] == ["<b>one", "<b>two"]
        assert len(opened.all("main figure path.band, main figure circle")) == 4  # each tag of each run
        assert not opened.all("img, aside b, .legend b, .headline > b:first-child:not(:only-child)")
        assert opened.one(".headline").text.startswith("<b>one passes on")
        titles = opened.run("return [window.parent.document.title, document.title]")
        assert titles == ["TensorBoard", "Memory: <b>one – Interpretable RNN"]
        for path in ("../schema.py", "%2e%2e/schema.py", "..%2f..%2fsetup.cfg", "static/page.js", "/etc/passwd"):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(f"{opened.address}/data/plugin/interp_rnn/{path}")
            assert caught.value.code == 404
            caught.value.close()


def test_a_run_deleted_while_it_is_looked_at(tmp_path):
    folder = tmp_path / "logs"
    shutil.copytree(logs.written(), folder)
    with opened_over(folder) as opened:
        opened.open("memory", run="GRU")
        shutil.rmtree(folder / "GRU")
        opened.until(lambda: "GRU/jacobians" not in listed(opened))
        # The page still has the deleted run in its list, asks for it in vain, and goes on with those that are left.
        assert opened.one("aside [aria-pressed=true]").text == "GRU"
        opened.one("[data-run=MinimalRNN]").click()
        opened.until(lambda: not opened.all("[data-run=GRU]"))
        opened.settled()
        assert opened.one(".headline").text.startswith("MinimalRNN")
        assert opened.one("figure svg")
        assert not opened.all("[role=alert]")
        assert all("404" in message for message in opened.troubles())  # as the browser notes each answer
        shutil.rmtree(folder / "MinimalRNN")
        opened.until(lambda: "MinimalRNN/jacobians" not in listed(opened))
        assert opened.one("figure svg")  # what was read stays until TensorBoard says that it has read again
        opened.reload()
        assert "Nothing for memory is logged" in opened.one(".empty").text


def test_what_cannot_be_read_is_said_where_the_view_was():
    with contextlib.ExitStack() as stack:
        with logs.served(logs.written()) as address:
            opened = stack.enter_context(contextlib.closing(Tab(address)))
            opened.open("memory")
        opened.one("[data-run=MinimalRNN]").click()
        assert "cannot be" in opened.one("[role=alert]").text  # TensorBoard has been stopped


def listed(tab):
    """The runs that TensorBoard has for the plugin."""
    with urllib.request.urlopen(f"{tab.address}/data/plugin/interp_rnn/tags") as answer:
        return json.load(answer)


def test_a_place_without_logs_says_how_to_write_them(tmp_path):
    shutil.copytree(logs.written() / "GRU", tmp_path / "GRU")
    with opened_over(tmp_path) as opened:
        opened.link("{}", "memory")  # a single run with a single place
        for view in PLACES[:-1]:
            opened.view(view)
            assert opened.one(".empty h2").text == f"Nothing for {view} is logged in GRU"
            sample = opened.one("pre")
            assert "callbacks." in sample.text
            assert sample.get_property("scrollWidth") <= sample.get_property("clientWidth")  # nothing is cut off
        opened.reload()
        assert opened.all(".empty")  # what was asked for stays


def test_steps_that_are_left_out_are_said(tmp_path):
    described = schema.metadata("transition_counts", symbols=[])
    for centroids, steps in ((3, (0, 5, 10)), (4, (0, 5))):
        write(tmp_path / "a", "interp_rnn/c", np.ones((1, centroids, centroids), np.float32), described, steps)
    write(tmp_path / "b", "interp_rnn/o", np.ones((2, 2), np.float32), schema.metadata("outputs", part_of=[1]))
    with opened_over(tmp_path, "states") as opened:
        assert len(opened.all("figure svg g[data-state]")) == 4
        assert "Step 10 is left out. The shape is (1, 3, 3)" in opened.text()
        assert "b/interp_rnn/o: The description of outputs" in opened.one("[role=alert]").text


def test_the_centroids_that_a_network_moves_between_have_their_names(tmp_path):
    described = schema.metadata("transition_counts", symbols=[])
    moves = np.zeros((1, 9, 9), np.float32)
    path = [8, 7, 8, 6, 8, 5, 8, 3, 8, 7, 2, 7]
    np.add.at(moves[0], (path[:-1], path[1:]), 1)
    write(tmp_path / "a", "interp_rnn/c", moves, described, (0,))
    with opened_over(tmp_path, "states") as opened:
        assert opened.one(".headline").text == "The network moves between 6 of its centroids: 8, 7, 2, 3 and 2 others."


def test_the_fast_loader_shows_the_same():
    with opened_over(logs.written(), fast=True) as opened:
        for view in schema.views():
            opened.view(view)
            opened.one("figure svg")

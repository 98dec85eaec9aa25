"""Saved pages in Chromium with no network: nothing is requested, and the page's own policy refuses nothing."""

import csv
import dataclasses
import itertools
import json
import re
import urllib.parse

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, automata, datasets, layers, presets, views
from keras_interp_rnn._results import INK, as_html, rgb
from tests.browser import NEEDS_CHROMIUM, By, Keys, Page, Select, prediction, staleness_of
from tests.test_counting import NUMBER_ZERO
from tests.views.test_views import VIEWS, every_result, made, model_of_symbols, whole_text

pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def chromium():
    opened = Page(1200, 900)
    opened.offline()
    yield opened
    opened.close()


@pytest.fixture
def page(chromium):
    """A page of a wide window in light colours. No test leaves a message in the log of its browser."""
    yield chromium
    chromium.colours()
    chromium.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    chromium.driver.switch_to.default_content()
    assert not chromium.driver.get_log("browser")


def show(page, result, folder, sequence=None):
    """Opens the page of a result; of one of several sequences, from 0."""
    views.save(result, folder / "x.html")
    page.open(folder / "x.html")
    if sequence is not None:
        page.all("[aria-label=sequence] button")[sequence + 1].click()
        page.until(lambda: pressed(page)[sequence + 1][1] == "true")


@every_result
def test_a_page_opens_from_a_file(page, name, tmp_path):
    show(page, made(name), tmp_path)
    assert page.one("h1").text
    assert not page.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    # The policy let the one style element through.
    assert page.run("return document.styleSheets.length") == 1
    widest = "none" if name in VIEWS else "1024px"
    assert page.run("return getComputedStyle(document.body).maxWidth") == widest


@pytest.mark.parametrize("width", [400, 1200])
@every_result
def test_a_page_is_no_wider_than_its_window(page, name, width, tmp_path):
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    show(page, made(name), tmp_path)
    assert page.run("return document.documentElement.scrollWidth") <= width


def test_the_policy_refuses_what_a_page_does_not_have(page, tmp_path):
    show(page, made("contributions"), tmp_path)
    path = tmp_path / "x.html"
    document = path.read_text(encoding="utf-8")
    path.write_text(document.replace("</main>", '<script>document.title = "run"</script></main>'), encoding="utf-8")
    page.open(path)
    assert page.driver.title != "run"
    assert any("Content Security Policy" in entry["message"] for entry in page.driver.get_log("browser"))


def test_contributions_are_the_plugins_view_and_work_by_keyboard(page, tmp_path):
    split = analysis.contributions(model_of_symbols(), [0, 1, 2, 0], alphabet="abc")
    show(page, split, tmp_path)
    assert "".join(page.tokens()) == "abca"
    assert page.one(".headline").text.startswith("The network says ")
    symbol = page.all(".strip .token")[1]
    page.press(symbol, Keys.SPACE)
    assert page.answers()["as it is"] == prediction(split.logits[-1], "abc")
    assert page.answers()["without this term of the sum"] == prediction(split.without([2])[-1], "abc")
    assert page.driver.switch_to.active_element == symbol
    assert symbol.get_attribute("aria-pressed") == "true"
    page.press(page.one("input[type=range]"), Keys.ARROW_LEFT)
    page.until(lambda: "".join(page.tokens()) == "abc")
    assert "after 3 of 4" in page.one("output").text


@pytest.mark.parametrize("of_isan", [True, False])
def test_an_initial_state_is_named_where_there_is_one(page, of_isan, tmp_path):
    model = model_of_symbols()
    if of_isan:
        model.layers[0].cell.initial_state.assign(np.ones(3))
    else:
        keras.utils.set_random_seed(0)
        embedded = [keras.Input((None,), dtype="int32"), keras.layers.Embedding(3, 2)]
        model = keras.Sequential([*embedded, layers.MinGRU(4), keras.layers.Dense(3)])
    split = analysis.contributions(model, [0, 1, 2], alphabet="abc")
    [share] = [line for line in str(split).splitlines() if " h_0 " in line]
    assert (" 0.0000 " not in share) is of_isan
    show(page, split, tmp_path)
    page.until(lambda: page.tokens())
    text = page.text()
    assert "add up to the difference of the two logits" in text
    assert ("initial state" in text.lower()) is of_isan


def test_a_page_of_a_long_text_has_few_nodes(page, tmp_path):
    text = np.random.default_rng(0).integers(0, 3, 500)
    show(page, analysis.contributions(model_of_symbols(), text, alphabet="abc"), tmp_path)
    assert (tmp_path / "x.html").stat().st_size < 400_000
    assert page.all(".strip .token")
    for summary in page.all("summary"):
        summary.click()
    page.until(lambda: page.all("tbody tr"))
    assert page.run("return document.querySelectorAll('*').length") < 5000
    slider = page.one("input[type=range]")
    first = int(slider.get_attribute("min"))  # of the predictions that the file has
    assert 1 < first < 500
    page.press(slider, Keys.HOME)
    page.until(lambda: f"after {first} of 500" in page.one("output").text)
    assert not page.all("[role=alert]")


def test_hostile_names_are_text_in_the_plugins_view(page, tmp_path):
    show(page, made("contributions"), tmp_path)
    assert page.tokens()[0].startswith("<script>alert(1)</script>")
    assert not page.all("img")


every_view = pytest.mark.parametrize("name", VIEWS)


@every_view
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_view_is_drawn_in_the_readers_colours_and_every_drawing_has_a_text(page, name, scheme, tmp_path):
    page.colours(scheme)
    show(page, made(name), tmp_path)
    ink = page.run("return getComputedStyle(document.body).color")
    assert (ink in ("rgb(255, 255, 255)", "rgb(236, 236, 236)")) is (scheme == "dark")
    assert page.all(".view figure svg")
    silent = page.run(
        "return [...document.querySelectorAll('.view svg')].filter((one) => one.ariaHidden !== 'true' && "
        "!one.getAttribute('aria-label')).map((one) => one.outerHTML.slice(0, 200))"
    )
    assert not silent
    nameless = page.run(
        "return [...document.querySelectorAll('.view input, .view select, .view [role=button]')].filter((one) => "
        "!one.getAttribute('aria-label') && !one.closest('label')).map((one) => one.outerHTML.slice(0, 200))"
    )
    assert not nameless


@every_view
def test_a_view_counts_from_one(page, name, tmp_path):
    show(page, made(name), tmp_path)
    page.until(lambda: page.all(".view figure svg"))
    for summary in page.all("summary"):
        summary.click()
    said = page.run(
        "return [...document.querySelectorAll('*')].flatMap((one) => [one.ariaLabel, one.title, one.dataset?.tip, "
        "one.getAttribute('aria-valuetext')]).filter((text) => typeof text === 'string' && text)"
    )
    for text in (page.text(), *said):
        assert not NUMBER_ZERO.search(text), text


@every_view
def test_without_scripts_the_piece_is_what_is_left(page, name, tmp_path):
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    show(page, made(name), tmp_path)
    assert not page.all(".view")
    assert len(page.one("main > .scroll").text) > 3


@pytest.mark.parametrize("by", ["click", "arrow", "space"])
def test_a_word_that_is_picked_shows_its_pairs(page, by, tmp_path):
    pairs = analysis.interactions(model_of_symbols(), [0, 1, 2, 0, 1], alphabet="abc")
    show(page, pairs, tmp_path)
    [(strongest, _, _)] = pairs.top(1)
    page.until(lambda: page.tokens())
    pressed = lambda: [token.get_attribute("aria-pressed") == "true" for token in page.all(".strip .token")]  # noqa: E731
    assert pressed() == [t == strongest for t in range(5)]
    for step in (3, 4):
        token = page.all(".strip .token")[step]
        if by == "click":
            token.click()
        elif by == "space":
            page.press(token, Keys.SPACE)
        else:
            page.press(page.all(".strip .token")[step - 1], Keys.ARROW_RIGHT)
        page.until(lambda step=step: pressed() == [t == step for t in range(5)])
        assert page.driver.switch_to.active_element.get_attribute("data-token") == str(step)
        labels = page.labels()
        assert labels.pop(step).endswith(": picked")
        found = [float(label.split(": ")[1].split()[0].replace("−", "-")) for label in labels]
        np.testing.assert_allclose(found, np.delete(pairs.values[step], step), rtol=0, atol=6e-4)
    other = int(np.abs(pairs.values[4]).argmax())
    assert f"at position 5 acts most with the “{'abcab'[other]}” of “abcab”" in page.one(".headline").text
    _, *rows = saved_table(page, tmp_path)
    assert len(rows) == 10
    for first, name, second, other, value in rows:
        assert (name, other) == ("abcab"[int(first) - 1], "abcab"[int(second) - 1])
        assert float(value) == pairs.values[int(first) - 1, int(second) - 1]


def test_a_trace_shows_each_unit(page, tmp_path):
    layer = keras.layers.GRU(4, return_sequences=True)
    model = keras.Sequential([keras.layers.Embedding(4, 3), layer])
    traced = analysis.trace(model, np.array([[1, 2, 3], [3, 3, 1]]), tokens=["-", "one", "two", "three"])
    show(page, traced, tmp_path)
    page.save_to(tmp_path)
    assert "reads: one two three" in page.one(".lead").text
    Select(page.one(".controls select")).select_by_index(1)
    page.until(lambda: "three three one" in page.one(".lead").text)
    units = [option.text for option in Select(page.one("details select")).options]
    change = np.abs(np.diff(traced["h"][1], axis=0)).sum(axis=0)
    assert units == [str(unit) for unit in np.argsort(-change)]
    lines = page.all("svg[aria-label^='gates and states'] path[stroke]")
    assert len(lines) == len(traced) == 4
    [button] = [one for one in page.all("details button") if one.text == "CSV"]
    button.click()
    saved = tmp_path / "trace-three-three-one.csv"
    page.until(saved.exists)
    head, *rows = [line.split(",") for line in saved.read_text().splitlines()]
    assert head == ["sequence", "step", "read", "quantity", "unit", "value"]
    assert {tuple(row[:3]) for row in rows if row[0] == "2"} == {
        ("2", "1", "three"),
        ("2", "2", "three"),
        ("2", "3", "one"),
    }
    values = [float(row[5]) for row in rows if row[0] == "2" and row[3] == "h"]
    np.testing.assert_array_equal(np.reshape(values, (3, 4)), traced["h"][1])


def series_model(features):
    keras.utils.set_random_seed(2)
    parts = [keras.layers.Masking(), keras.layers.GRU(4), keras.layers.Dense(1)]
    return keras.Sequential([keras.Input((None, features)), *parts])


def pressed(page):
    """The buttons of the sequences, and which of them is pressed."""
    buttons = page.all("[aria-label=sequence] button")
    return [(one.text, one.get_attribute("aria-pressed")) for one in buttons]


def test_the_sequences_of_a_batch_are_switched_by_a_click(page, tmp_path):
    x = np.random.default_rng(0).normal(size=(3, 7, 2))
    x[1] = x[0]  # two alike are two sequences
    x[2, 5:] = 0
    split = analysis.attribution(series_model(2), x, target=0)
    show(page, split, tmp_path)
    assert pressed(page)[0] == ("all", "true")
    assert len(page.all("svg.strip")) == 3
    for sequence in (0, 2, 1):
        page.all("[aria-label=sequence] button")[sequence + 1].click()
        chosen = [(f"sequence {i + 1}", "true" if i == sequence else "false") for i in range(3)]
        page.until(lambda chosen=chosen: pressed(page) == [("all", "false"), *chosen])
        labels, shown = page.labels(), page.values()
        read = 5 if sequence == 2 else 7  # padding has no bars
        assert [one.split(":")[0] for one in labels] == [f"step {t + 1}" for t in range(read)]
        assert ("2 masked steps are not read" in page.text()) is (sequence == 2)
        np.testing.assert_allclose(shown, split.shares[sequence][: len(shown)], rtol=2e-2, atol=1e-3)
        [(step, share)] = split.top(1, sequence=sequence)
        headline = page.one(".headline").text
        assert f" by step {step + 1} (" in headline
        assert ("lowered" in headline) is (share < 0)
    shown = page.one("main").text
    assert not any(word in shown for word in ("token", "text", "symbol"))


def shown_split(**options):
    """Two texts of 40 words that an LSTM with a sigmoid has read."""
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(9, 4), keras.layers.LSTM(8)])
    model.add(keras.layers.Dense(1, "sigmoid"))
    model.set_weights([3 * weight for weight in model.get_weights()])
    texts = np.random.default_rng(1).integers(0, 9, (2, 40))
    return analysis.attribution(model, texts, alphabet="not a good film at all , but long".split(), **options)


def saved_table(page, folder):
    """The rows of the file that a page saves, header first."""
    page.save_to(folder)
    page.button("CSV").click()
    [file] = page.until(lambda: list(folder.glob("*.csv")))
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def test_estimates_have_their_unit_and_their_intervals(page, tmp_path):
    split = shown_split(max_work=4000)
    show(page, split, tmp_path, sequence=0)
    logit, p = (f"{number:.4g}".replace("-", "−") for number in (split.output[0], split.probability[0]))
    assert page.one(".headline").text.startswith(f"The network says log-odds {logit}, probability {float(p):.3f} for ")
    assert " ± " in page.one(".headline").text
    shown = page.text()
    assert "Shapley values, ±: 95% interval: what each token adds to the log-odds of output 1 (index 0)" in shown
    assert "the budget was spent before the standard errors" in shown
    assert re.search(r"(They|they) add up to the log-odds\.", shown)
    margins = 1.96 * split.standard_error[0]
    for place, label in enumerate(page.labels()):
        value, margin = re.search(r": ([+−]?[\d.]+) ± <?([\d.]+) nats for output 1$", label).groups()
        np.testing.assert_allclose(float(value.replace("−", "-")), split.shares[0, place], atol=2e-3)
        np.testing.assert_allclose(float(margin), margins[place], atol=2e-3)
    assert len(page.all(".strip .interval")) == 40
    boxes = page.run(
        "return [...document.querySelectorAll('.strip .token')].map((one) => ['.interval', 'rect.for, rect.against']"
        ".map((part) => one.querySelector(part)?.getBBox()).map((box) => box && [box.y, box.height]))"
    )
    heights = [(interval[1], bar[1]) for interval, bar in boxes if bar is not None and bar[1] > 20]
    reach = [
        (2 * m, abs(s)) for m, s, (_, bar) in zip(margins, split.shares[0], boxes, strict=True) if bar and bar[1] > 20
    ]
    for (tall, high), (width, value) in zip(heights, reach, strict=True):
        if width < 2 * value:  # all of the interval is on one side of the text
            np.testing.assert_allclose(tall / high, width / value, rtol=2e-2)
    head, _, first, *_ = saved_table(page, tmp_path)
    share = "share of the log-odds, in nats"
    assert head == ["sequence", "position", "read", share, f"± {share}", ""]
    np.testing.assert_allclose([*map(float, first[3:5])], [split.shares[0, 0], margins[0]], rtol=1e-15)


@pytest.mark.parametrize("method", ["occlusion", "path_integral", "telescoping", "shapley"])
def test_a_page_says_that_shares_add_up_where_they_do(page, method, tmp_path):
    split = shown_split(method=method)
    if method == "path_integral":
        split = dataclasses.replace(split, shares=0.7 * split.shares, features=None)
    show(page, split, tmp_path)
    for sequence in (0, 1):
        page.all("[aria-label=sequence] button")[sequence + 1].click()
        page.until(lambda sequence=sequence: pressed(page)[sequence + 1][1] == "true")
        missed = abs(split.reference_output + split.shares.sum(axis=1) - split.output)[sequence]
        change = abs(split.output - split.reference_output)[sequence]
        shown = page.text()
        if missed > 0.01 * change:
            said = re.search(r"The shares miss the change of the log-odds by ([\d.]+) nats of ([\d.]+) nats", shown)
            np.testing.assert_allclose([*map(float, said.groups())], [missed, change], rtol=6e-2)
            assert "add up to" not in shown
        else:
            assert "add up to the log-odds" in shown
        assert (missed > 0.01 * change) == (method in ("occlusion", "path_integral"))


def test_groups_and_a_probability_near_1_are_said(page, tmp_path):
    split = shown_split(groups=np.arange(40) // 8)
    near = dataclasses.replace(split, probability=np.full(2, 0.9953))
    show(page, near, tmp_path, sequence=0)
    assert len(page.tokens()) == 5
    assert page.tokens() == list(split.tokens[0])
    shown = page.text()
    assert "Exact Shapley values: what each group adds to the log-odds" in shown
    assert "The bars say what moved the log-odds, which a probability of 0.9953 hardly shows any more." in shown
    assert saved_table(page, tmp_path)[0][:3] == ["sequence", "group", "read"]


def padded_model():
    keras.utils.set_random_seed(3)
    parts = [keras.layers.Embedding(5, 3, mask_zero=True), keras.layers.GRU(4), keras.layers.Dense(2)]
    return keras.Sequential([keras.Input((5,), dtype="int32"), *parts])


@pytest.mark.parametrize("kind", ["attribution", "substitutions"])
def test_masked_symbols_have_no_numbers_on_a_page_and_a_mark_in_its_file(page, kind, tmp_path):
    text, names = np.array([3, 1, 2, 0, 0]), ["<pad>", *"abcd"]
    if kind == "attribution":
        result = analysis.attribution(padded_model(), text[None], target=0, alphabet=names)
    else:
        result = analysis.substitutions(padded_model(), text, alphabet=names)
    show(page, result, tmp_path)
    page.save_to(tmp_path)
    assert page.tokens() == [*"cab"]
    assert "2 masked" in page.text()
    for button in page.all("button"):
        if button.text == "CSV" and button.is_displayed():
            button.click()
            break
    saved = page.until(lambda: list(tmp_path.glob("*.csv")))[0]
    _, *rows = [line.split(",") for line in saved.read_text().splitlines()]
    if kind == "attribution":
        read = [("1", "c", ""), ("2", "a", ""), ("3", "b", ""), ("4", "<pad>", "masked"), ("5", "<pad>", "masked")]
        assert [(position, name, mark) for position, name, _, mark in rows if position] == read
    else:
        assert {(position, name) for position, name, *_ in rows} == {("1", "c"), ("2", "a"), ("3", "b")}
    if kind == "substitutions":
        page.all(".strip .token")[0].click()
        page.until(lambda: "number 1 of 5" in page.one(".panel").text)
        assert len(page.answers()) > 1
        [summary] = [one for one in page.all("summary") if one.text.startswith("The replacements")]
        summary.click()
        rows = page.until(lambda: page.all("tbody tr"))
        found = [row.text.split()[:3] for row in rows if row.is_displayed()]
        assert {row[0] for row in found} == {"1", "2", "3"}
        assert not any("<pad>" in row for row in found)


def test_the_shares_of_features_are_a_map_of_steps(page, tmp_path):
    x = np.random.default_rng(1).normal(size=(2, 5, 3))
    split = analysis.attribution(series_model(3), x, target=0, method="path_integral")
    show(page, split, tmp_path, sequence=1)
    drawing = page.one("svg[aria-label^='Shares of features in output 1: 3 features at 5 steps']")
    assert drawing.find_elements(By.TAG_NAME, "image")
    assert [one.text for one in drawing.find_elements(By.TAG_NAME, "text")] == [*"123", *"12345"]
    cells = drawing.find_element(By.CSS_SELECTOR, ".hit")
    box = page.run(
        "const {x, y, width, height} = arguments[0].getBoundingClientRect(); return [x, y, width, height]", cells
    )
    for step, feature in ((0, 0), (3, 1), (4, 2)):
        at = box[0] + box[2] * (step + 0.5) / 5, box[1] + box[3] * (feature + 0.5) / 3
        tip = page.run(
            "const [cells, clientX, clientY] = arguments;"
            "cells.dispatchEvent(new PointerEvent('pointermove', {clientX, clientY})); return cells.dataset.tip",
            cells,
            *at,
        )
        name, value = tip.rsplit(": ", 1)
        assert name == f"Shares of features in output 1, feature {feature + 1}, of step {step + 1}"
        shown = float(value.replace("−", "-"))
        np.testing.assert_allclose(shown, split.features[1, step, feature], rtol=1e-3, atol=1e-6)
    bar = page.one(".colours").text.split()
    largest = np.abs(split.features[1]).max()
    np.testing.assert_allclose([float(one.replace("−", "-")) for one in bar], [-largest, largest], rtol=1e-3)


def test_a_bar_of_every_symbol_has_its_number_and_an_automaton_its_verdict(page, tmp_path):
    odd = automata.DFA([[0, 1], [1, 0]], accepting={0})
    show(page, analysis.shapley_values(odd, "0111"), tmp_path)
    assert page.one(".headline").text.startswith("The automaton rejects the word; lowered")
    assert [one.text for one in page.all(".strip .value")] == ["+0.500", *["−0.125"] * 4]  # the mean first
    show(page, analysis.shapley_values(odd, "0110"), tmp_path)
    assert page.one(".headline").text.startswith("The automaton accepts the word; raised")
    assert not page.all("[role=listitem]")  # no probabilities


@pytest.mark.parametrize("kind", ["mean", "two-way, every step"])
def test_contributions_to_the_last_target_alone_are_bars(page, kind, tmp_path):
    split = analysis.contributions(whole_text(kind), [0, 1, 2, 0], alphabet="abc")
    show(page, split, tmp_path)
    assert "".join(page.tokens()) == "abca"
    np.testing.assert_allclose(page.values(), split.logit_difference()[1:], rtol=2e-2, atol=1e-3)
    page.press(page.all(".strip .token")[2], Keys.ENTER)
    names = [f"output {i + 1}" for i in range(4)]
    assert page.answers()["as it is"] == prediction(split.logits[-1], names)
    assert page.answers()["without this term of the sum"] == prediction(split.without([3])[-1], names)
    assert not page.all("input[type=range]")  # of earlier predictions
    assert "All 4 predictions" not in page.text()


def test_states_say_by_which_word_they_are_reached(page, tmp_path):
    show(page, automata.tomita(4), tmp_path)
    page.press(page.one("[data-state='2']"), Keys.ENTER)
    assert "Shortest word: “00”." in page.one(".view .note").text
    assert page.one(".view .headline").text == "A 4-state automaton."
    word = page.one("input[type=text]")
    word.send_keys("0100")
    assert page.one(".says").text == "It ends in state q2, accepting."
    word.send_keys("0")
    assert page.one(".says").text == "It ends in state q3, rejecting."


@pytest.mark.parametrize("name", ["Moore machine", "extraction of labels", "certificate of labels"])
def test_states_of_a_moore_machine_say_their_label(page, name, tmp_path):
    machine = automata.MooreMachine([[0, 1], [1, 2], [2, 0]], ["no", "perhaps", "yes"])
    network = automata.compile(machine) if name != "Moore machine" else None
    result = {
        "Moore machine": lambda: machine,
        "extraction of labels": lambda: automata.extract(network),
        "certificate of labels": lambda: automata.certify(network, machine),
    }[name]()
    show(page, result, tmp_path)
    states = page.all("[data-state]")
    words = {"": "no", "1": "perhaps", "11": "yes"}
    found = {}
    for i in range(len(states)):
        page.all("[data-state]")[i].send_keys(Keys.ENTER)
        note = page.one(".view .note p").text
        word = note.split("Shortest word: ")[1].removesuffix(".").strip("“”")
        found[word.replace("the empty word", "")] = note.split("output ")[1].split(".")[0]
    assert words.items() <= found.items()
    assert len(found) == len(states)
    legend = page.one(".view figcaption").text
    assert [part.split()[0] for part in legend.split("■")[1:]] == ["no", "perhaps", "yes"]
    fills = page.run(
        "return [...document.querySelectorAll('[data-state]')].map((one) => [one.getAttribute('aria-label')"
        ".match(/output (\\w+)/)[1], getComputedStyle(one.querySelector('.output')).fill])"
    )
    assert len({tuple(fill) for fill in fills}) == 3 == len({fill[1] for fill in fills})


@pytest.mark.parametrize("name", ["contributions", "automaton", "agreement"])
def test_a_notebook_converted_to_html_shows_results(page, name, tmp_path):
    nbformat, nbconvert = pytest.importorskip("nbformat"), pytest.importorskip("nbconvert")
    result = made(name)
    outputs = [
        nbformat.v4.new_output("display_data", {"text/html": as_html(result)}),
        nbformat.v4.new_output("execute_result", {"text/html": as_html(result)}, execution_count=1),
    ]
    cell = nbformat.v4.new_code_cell("views.show(result)\nresult", outputs=outputs)
    document, _ = nbconvert.HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    (tmp_path / "notebook.html").write_text(document, encoding="utf-8")
    page.open(tmp_path / "notebook.html")
    frames = page.all("iframe")
    assert len(frames) == 2 * (name in VIEWS)
    for frame in frames:
        page.driver.switch_to.frame(frame)
        assert page.all(".view figure svg")
        page.driver.switch_to.default_content()
    text = page.text()
    assert ("1 of 2 words" in text) == (name == "agreement")
    # The template of nbconvert asks for its own scripts, in vain; of ours nothing is asked or refused.
    ours = [entry["message"] for entry in page.driver.get_log("browser") if "srcdoc" in entry["message"]]
    assert not ours


TEXT_ISAN = "the end of the second world wa"


@pytest.fixture(scope="module")
def reader():
    return presets.load("text-isan")


@pytest.fixture(scope="module")
def page_of_reader(reader, tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "live.html"
    views.save(reader, path)
    return path


@pytest.fixture
def live(page, page_of_reader):
    """The page of the network that reads English."""
    page.open(page_of_reader)
    page.until(page.tokens)
    return page


def enter(page, text, tokens=None):
    """Writes a text, all at once, and waits until its symbols are read: these, or each of its characters."""
    page.write(page.one("textarea"), text)
    page.until(lambda: page.tokens() == [*(tokens or text)])


def logits_of(reader, text):
    return analysis.contributions(reader.model, text, targets=-1).logits[-1]


def names_of(reader):
    return ["␣", *reader.alphabet[1:]]


def test_a_live_page_of_an_lstm_has_the_shapley_values_of_numpy(page, tmp_path):
    critic, tokens = presets.load("reviews-sr-lstm"), ["<s>", "a", "dull", "film", ".", "</s>"]
    show(page, critic, tmp_path)
    page.until(page.tokens)
    enter(page, "A dull film.", tokens)
    assert re.search("says “negative”, .*% sure", page.one(".headline").text)
    assert page.one("svg.walk")
    split = analysis.attribution(critic.model, ["a dull film."], method="shapley")
    (tmp_path / "saved").mkdir()
    head, *rows = saved_table(page, tmp_path / "saved")
    shares = [float(row[head.index("bar, nats")]) for row in rows[: len(tokens)]]
    np.testing.assert_allclose(shares, split.shares[0], rtol=1e-5, atol=1e-5)
    enter(page, "a zzyzx film", ["<s>", "a", "zzyzx", "film", "</s>"])
    assert page.one("#strays").text == "Not known to the network, and all read alike: “zzyzx” (number 2)."


def test_a_link_opens_what_is_looked_at_again(live):
    enter(live, "the world", "the␣world")
    live.press(live.all(".strip .token")[3], Keys.ENTER)
    live.until(lambda: '"picked":3' in urllib.parse.unquote(live.driver.current_url))
    address = live.driver.current_url
    live.driver.get("about:blank")
    live.driver.get(address)
    live.until(lambda: "".join(live.tokens()) == "the␣world")
    assert live.one("textarea").get_attribute("value") == "the world"
    assert "number 4 of 9" in live.one(".panel h3").text
    live.driver.get("about:blank")
    live.driver.get(address.partition("#")[0] + "#nonsense")
    live.until(lambda: "".join(live.tokens()) == TEXT_ISAN.replace(" ", "␣"))


def test_a_live_page_follows_the_keys(live, reader):
    box = live.one(".typed textarea")
    assert box.get_attribute("value") == TEXT_ISAN
    assert live.one(".headline").text.startswith("text-isan says “r”, ")
    place = TEXT_ISAN.index("world") - 1
    live.press(live.all(".strip .token")[place], Keys.ENTER)
    Select(live.one(".panel select")).select_by_visible_text("s")

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
        return live.answers() == {name: prediction(logits, names_of(reader)) for name, logits in expected.items()}

    live.until(lambda: shows(TEXT_ISAN))
    live.run("arguments[0].setSelectionRange(99, 99)", box)
    box.send_keys("r ")
    live.until(lambda: "".join(live.tokens()) == f"{TEXT_ISAN}r ".replace(" ", "␣"))
    assert live.driver.switch_to.active_element == box
    live.until(lambda: shows(f"{TEXT_ISAN}r "))  # the symbol stays picked while it stands there
    enter(live, "the")
    assert not live.all(".panel")


def test_a_live_page_asks_the_network_about_earlier_predictions_too(live, reader):
    live.all("summary")[0].click()  # what can be chosen stands folded below the bars
    live.write(live.one("input[type=range]"), 7)
    live.until(lambda: live.tokens() == [*"the␣end"])
    live.press(live.all(".strip .token")[3], Keys.ENTER)
    assert live.answers()["as it is"] == prediction(logits_of(reader, "the end"), names_of(reader))
    assert live.answers()["deleted"] == prediction(logits_of(reader, "theend"), names_of(reader))
    assert "callbacks" not in live.one(".panel").text


def test_a_live_page_keeps_what_it_cannot_read(live, reader):
    enter(live, "the Énd", "the␣nd")
    assert live.one("#strays").text == "No symbol of this network, and left out: “É” (number 5)."
    assert live.one("textarea").get_attribute("value") == "the Énd"
    enter(live, "")
    assert not live.all(".strip")
    initial, readout, offset = (np.asarray(weight, float) for weight in reader.model.get_weights()[2:])
    expected = prediction(initial @ readout + offset, names_of(reader))
    assert live.one(".headline").text == f"Before any symbol the network says: {expected}."
    assert not live.one("#strays").text
    enter(live, "the")


def test_a_live_page_ranks_replacements(live, reader):
    enter(live, "the sto", "the␣sto")
    for summary in live.all("summary"):
        if summary.text.startswith("The replacements"):
            summary.click()
    rows = live.until(lambda: live.all("tbody tr"))
    position, symbol, instead, *_ = rows[0].text.split()
    winner = logits_of(reader, "the sto").argmax()

    def part(text):
        logits = np.exp(logits_of(reader, text))
        return logits[winner] / logits.sum()

    usual = part("the sto")
    _, i, a = max(
        (abs(part("the sto"[:i] + a + "the sto"[i + 1 :]) - usual), i, a)
        for i, a in itertools.product(range(7), reader.alphabet)
        if "the sto"[i] != a
    )
    assert (int(position), symbol, instead) == (i + 1, "the␣sto"[i], "␣" if a == " " else a)
    assert len(rows) == 12


def test_a_live_page_without_an_alphabet_reads_ids(page, tmp_path):
    model = model_of_symbols()
    show(page, model, tmp_path)
    enter(page, "0120")
    expected = prediction(analysis.contributions(model, [0, 1, 2, 0]).logits[-1], "012")
    expected = re.sub("“(.)”", lambda name: f"output {int(name[1]) + 1}", expected)  # outputs without names
    page.press(page.all(".strip .token")[1], Keys.ENTER)
    assert page.answers()["as it is"] == expected


def show_in_a_notebook(page, result, folder):
    """Opens the piece of a result, which has a frame."""
    piece = f'<!doctype html><meta charset="utf-8">{as_html(result)}'
    (folder / "notebook.html").write_text(piece, encoding="utf-8")
    page.open(folder / "notebook.html")
    page.driver.switch_to.frame(page.one("iframe"))


def test_a_live_page_reads_in_a_notebook(page, reader, tmp_path):
    show_in_a_notebook(page, reader, tmp_path)
    page.until(page.tokens)
    enter(page, "the")


def test_hostile_names_are_text_in_a_live_page(page, tmp_path):
    names = ["<img/src=x/onerror=alert(1)>", "</script><!--", "&amp;"]
    alphabet = datasets.Alphabet(names)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), alphabet.layer(), *model_of_symbols().layers])
    show(page, model, tmp_path)
    page.until(lambda: page.tokens() == names)
    enter(page, "&amp; <b> &amp;", ["&amp;", "&amp;"])
    assert "“<b>” (number 2)" in page.one("#strays").text
    assert not page.all("img, .strays b")


def test_a_live_page_of_a_recognizer_reads_words(page, tmp_path):
    show(page, presets.load("tomita-4"), tmp_path)
    assert "Proved: on every word" in page.one(".view .headline").text
    word = page.one("input[type=text]")
    for text in ("0110100", "01000"):
        word.clear()
        word.send_keys(text)
        verdict = "accepting" if automata.tomita(4).accepts(text) else "rejecting"
        assert page.one(".says").text.endswith(f", {verdict}.")


def labelled_words(alphabet, labels):
    """Words with the first symbol at their start alone, labelled by their number of third symbols."""
    first, second, third = alphabet
    words = [(first, *word) for n in range(6) for word in itertools.product((second, third), repeat=n)]
    return words, [labels[word.count(third) % len(labels)] for word in words]


def label(page, name, place):
    """Presses a label of the word of a place: of a question, or -1 for the typed word."""
    if place < 0:
        group = page.driver.find_element(By.XPATH, "//p[starts-with(., 'Its label should be')]/span")
    else:
        group = page.all("td .switch")[place]
    button = group.find_element(By.XPATH, f"button[.='{name}']")
    page.press(button, Keys.SPACE)


def write_word(page, text):
    page.write(page.one("input[type=text]"), text)


def answers_in(page):
    return page.one("textarea").get_attribute("value")


@pytest.mark.parametrize(
    ("alphabet", "labels", "names", "typed"),
    [
        ("cab", (False, True), ("reject", "accept"), "bab"),
        (("log in", "read", "'\""), ("none", "one", "two"), ("none", "one", "two"), "323"),
        ((7, 10, -3), (0, 1), ("0", "1"), "-3 10 -3"),
    ],
)
def test_words_are_labelled_by_keyboard_and_the_search_goes_on(page, alphabet, labels, names, typed, tmp_path):
    words, known = labelled_words(alphabet, labels)
    found = automata.infer(words, known, alphabet=alphabet)
    show(page, found, tmp_path)
    assert len(page.all("td .switch")) == len(found.questions) > 1
    assert not page.all("textarea")
    label(page, names[1], 1)
    focused = page.driver.switch_to.active_element
    assert (focused.text, focused.get_attribute("aria-pressed")) == (names[1], "true")
    word = (alphabet[2], alphabet[1], alphabet[2])
    rights = [each.count(alphabet[2]) % len(labels) for each in (found.questions[0], word)]
    label(page, names[rights[0] - 1], 0)
    label(page, names[rights[0]], 0)
    label(page, names[1], 1)  # withdrawn
    write_word(page, typed)
    label_of_word = names[found.dfa.labels.index(found.dfa.output(word))]
    assert page.one("#read").text.endswith(f" This automaton gives it the label {label_of_word}.")
    label(page, names[rights[1]], -1)
    assert page.driver.switch_to.active_element.tag_name == "input"
    assert page.one("input[type=text]").get_attribute("value") == ""
    expected = [found.questions[0], word], [labels[right] for right in rights]
    scope = {"words": [], "labels": []}
    exec(answers_in(page), scope)
    assert ([*map(tuple, scope["words"])], scope["labels"]) == expected
    page.button("JSON").click()
    page.save_to(tmp_path)
    page.button("Download").click()
    page.until((tmp_path / "answers.json").exists)
    saved = json.loads((tmp_path / "answers.json").read_text(encoding="utf-8"))
    assert ([*map(tuple, saved["words"])], saved["labels"]) == expected
    again = automata.infer(words + saved["words"], known + saved["labels"], alphabet=alphabet)
    assert [again.dfa.output(word) for word in expected[0]] == [
        labels.index(one) == 1 if len(labels) == 2 else one for one in expected[1]
    ]


def test_a_word_with_other_symbols_gets_no_label(page, tmp_path):
    show(page, automata.infer(*labelled_words("cab", (False, True))), tmp_path)
    write_word(page, "axb")
    assert page.one("#read").text == "No symbol of the automaton: “x” (number 2)."
    assert all(not button.is_enabled() for button in page.all("p .switch button"))
    write_word(page, "")
    assert "the empty word" in page.one("#read").text
    label(page, "accept", -1)
    assert answers_in(page) == 'words += [\n    "",\n]\nlabels += [\n    True,\n]\n'


def test_answers_outlive_a_change_of_colours_and_are_given_in_a_notebook(page, tmp_path):
    found = automata.infer(*labelled_words("cab", (False, True)))
    show_in_a_notebook(page, found, tmp_path)
    page.one("td .switch")
    label(page, "accept", 0)
    text = answers_in(page)
    assert "True" in text
    drawn = page.one("textarea")
    page.colours("dark")
    page.until(lambda: staleness_of(drawn)(page.driver))  # the page is drawn again
    assert answers_in(page) == text
    page.button("Copy").click()
    assert page.one(".downloads [role=status]").text == "Copied."


def test_a_drawing_on_white_keeps_its_ink_on_a_dark_page(page, tmp_path):
    page.colours("dark")
    show(page, automata.infer(*labelled_words("cab", (False, True))), tmp_path)
    fills = page.run("return [...document.querySelectorAll('svg text')].map((text) => getComputedStyle(text).fill)")
    assert set(fills) == {"rgb" + str(rgb(INK)).replace("[", "(").replace("]", ")")}


def walk_of(page):
    """The steps of the drawing as it is read: (name, change, value after it)."""
    tips = [one.get_attribute("data-tip") for one in page.all(".walk .step")]
    found = [re.fullmatch(r"(.*): ([+−]?[\d.]+), to (−?[\d.e-]+)", tip).groups() for tip in tips]
    return [(name, *(float(number.replace("−", "-")) for number in numbers)) for name, *numbers in found]


@pytest.mark.parametrize("several", [False, True])
def test_the_verdict_while_a_text_is_read(page, several, tmp_path):
    keras.utils.set_random_seed(4)
    head = keras.layers.Dense(4, "softmax") if several else keras.layers.Dense(1, "sigmoid")
    parts = [keras.layers.Embedding(5, 4), keras.layers.LSTM(6), head]
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *parts])
    model.set_weights([3 * weight for weight in model.get_weights()])
    names = ["bad", "good"] if not several else ["sports", "art", "music", "science"]
    words = ["not", "a", "good", "film", "<b>"]
    split = analysis.attribution(model, [[0, 1, 2, 3, 4, 0]], alphabet=words, outputs=names, target="all")
    show(page, split, tmp_path)
    found = walk_of(page)
    assert [name for name, *_ in found] == ["not", "a", "good", "film", "<b>", "not"]
    at = split.as_read[0]
    if several:
        first, second = np.argsort(-split.output[0])[:2]
        at = at[:, [first]] - at[:, [second]]
    np.testing.assert_allclose([change for _, change, _ in found], np.diff(at[:, 0]), atol=6e-3)
    np.testing.assert_allclose([value for *_, value in found], at[1:, 0], rtol=6e-4, atol=1e-6)
    sides = [one.text for one in page.all(".walk text.output")]
    assert sides[:2] == ([names[first], names[second]] if several else ["good", "bad"])
    turns = np.flatnonzero(np.diff(at[:, 0] >= 0))
    shown = page.text()
    if len(turns) == 0:
        assert "It never changed sides." in shown
    else:
        assert ("It changed sides at " if len(turns) == 1 else f"It changed sides {len(turns)} times") in shown
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    page.until(lambda: page.one("svg.walk"))
    assert page.run("return document.documentElement.scrollWidth") <= 400

"""The states of an automaton in Chromium: read, moved, enlarged, searched."""

import re

import pytest

from keras_interp_rnn import automata
from tests.browser import NEEDS_CHROMIUM, By, Keys, Select

ActionChains = pytest.importorskip("selenium.webdriver.common.action_chains").ActionChains
ScrollOrigin = pytest.importorskip("selenium.webdriver.common.actions.wheel_input").ScrollOrigin
pytestmark = NEEDS_CHROMIUM


def test_states(tab):
    tab.open("states")
    assert len(tab.all("figure svg g[data-state]")) >= 1
    assert len(tab.all("svg .ring")) >= 3  # the reference has three accepting states
    slider = tab.one("input.steps")
    assert slider.get_attribute("max") == "3"
    before = tab.one("header output").text
    tab.drag(slider, 0)
    assert tab.one("header output").text == "0 of 12" != before
    tab.one("g[data-state]").click()
    tab.until(lambda: "Shortest word" in tab.text())
    assert "Prototypes" in tab.text()  # of the texts that another callback logged
    tab.one("svg .label").click()
    tab.until(lambda: "Shortest words" in tab.text())
    assert tab.all("svg[aria-label^='through training: from ']")
    picture = tab.pixels("figure svg")
    assert (picture.min(axis=2) < 100).sum() > 50  # ink


def test_the_verdict_names_a_word_and_a_click_reads_it(tab):
    tab.open("states")
    for step in range(4):
        tab.drag(tab.one("input.steps"), step)
        said = tab.one(".view .headline").text
        if said.startswith("Not yet the reference: they differ on “"):
            break
    assert "The reference: 4 states" in tab.text()
    [button] = [each for each in tab.all(".view .headline button") if each.text in said]
    word = button.text.strip("“”")
    button.click()
    truth = automata.tomita(4)
    ends = f"It ends in state {{}}, {'rejecting' if truth.accepts(word) else 'accepting'}."
    [ending] = [each.text for each in tab.all(".says")]
    assert re.fullmatch(re.escape(ends).replace(r"\{\}", r"\d+"), ending)
    columns = tab.all("[role=group] > button[aria-pressed]")
    assert [column.text.split()[0] for column in columns] == list(word)
    assert len(tab.all("path.edge.chosen")) >= 1
    columns[0].click()
    assert len(tab.all("path.edge.chosen")) == 1


def test_counted_transitions_are_an_automaton_too(tab):
    tab.open("states", run="sr/transitions", threshold=0)
    states = tab.all("figure svg g[data-state]")
    assert 1 <= len(states) <= 6
    assert "class 0" in tab.one("figcaption").text or "class 1" in tab.one("figcaption").text
    states[0].click()
    tab.until(lambda: "Prototypes" in tab.text())
    tab.one("svg .label").click()
    tab.until(lambda: "Texts: “… " in tab.text())


def test_a_text_and_its_states(tab):
    tab.open("states", run="sr/transitions")
    [texts] = [Select(each) for each in tab.all("main select[aria-label=text]")]
    assert len(texts.options) == 5
    columns = tab.all("[role=group] > button[aria-pressed]")
    assert columns[0].text.split()[0] == "<b>start</b>"
    assert not tab.all("[role=group] b")
    assert columns[0].get_attribute("title").startswith("1: after “<b>start</b>”, state ")
    assert "support of class" in columns[0].get_attribute("title")
    assert "Predicted: class" in tab.text()
    tab.one("g[data-state]").click()
    tab.until(lambda: "shaded by the probability of state" in tab.text())
    tab.one("g[data-state]").send_keys(Keys.ENTER)
    texts.select_by_index(1)
    tab.settled()
    assert tab.all("[role=group] > button[aria-pressed]")


def box_of(tab):
    return [float(number) for number in tab.one("figure svg").get_dom_attribute("viewBox").split()]


def test_a_drawing_is_moved_and_enlarged_by_wheel_buttons_keys_and_pointer(tab):
    tab.open("states", run="sr/transitions", threshold=0)
    picture, whole = tab.one("figure svg"), box_of(tab)
    ActionChains(tab.driver).scroll_from_origin(ScrollOrigin.from_element(picture), 0, -100).perform()
    tab.until(lambda: box_of(tab)[2] < whole[2])
    near = box_of(tab)
    [larger] = [each for each in tab.all("button") if each.accessible_name == "larger"]
    larger.click()
    assert box_of(tab)[2] < near[2]
    picture.send_keys("-", "-", "-")
    assert box_of(tab)[2] > near[2]
    picture.send_keys(*"++++++++++")
    before = box_of(tab)
    picture.send_keys(Keys.ARROW_LEFT)
    assert box_of(tab)[0] < before[0]
    assert tab.one("input.steps").get_attribute("value") == "3"  # the arrow was not the slider's
    before = box_of(tab)
    right, top = picture.size["width"] // 2 - 8, 8 - picture.size["height"] // 2
    drawn = ActionChains(tab.driver).move_to_element_with_offset(picture, right, top).click_and_hold()
    drawn.move_by_offset(-60, 30).release().perform()
    assert box_of(tab)[0] > before[0]
    picture.send_keys("0")
    assert box_of(tab) == whole


def test_states_are_reached_by_keys_and_found_by_name_and_symbol(tab):
    tab.open("states")
    assert len(tab.all("figure [data-state][tabindex='0']")) == 1
    first = tab.one("figure [data-state][tabindex='0']")
    first.send_keys(Keys.ARROW_RIGHT)
    focused = tab.driver.switch_to.active_element
    assert focused.get_attribute("data-state") is not None
    assert tab.one("[role=tooltip]").text == focused.get_attribute("aria-label")
    focused.send_keys(Keys.ENTER)
    assert focused.get_attribute("aria-pressed") == "true"
    search = tab.one("input[type=search]")
    search.send_keys("1")
    edges = [each for each in tab.all("figure svg .label") if "1" in each.text.split(", ")]
    said = tab.one("div.note").text
    assert f"{len(edges)} edge" in said
    assert len(tab.all("path.edge.chosen")) == len(edges)


def test_states_keep_their_places_while_the_slider_moves(tab):
    tab.open("states")
    places = {}
    for step in range(4):
        tab.drag(tab.one("input.steps"), step)
        for state in tab.one("figure").find_elements(By.CSS_SELECTOR, "g[data-state]"):
            circle = state.find_element(By.TAG_NAME, "circle")
            place = circle.get_attribute("cx"), circle.get_attribute("cy")
            assert places.setdefault(state.get_attribute("data-state"), place) == place

"""The page's own modules: scales in Node, the renderer in Chromium."""

import json
import re
import shutil
import subprocess

import pytest

from tensorboard_plugins.interp_rnn import document, tokens

NODE = shutil.which("node")
with_node = pytest.mark.skipif(NODE is None, reason="needs node")


def script(*names):
    """Modules, each under its name, as a page without a server has them."""
    return "\n".join(document.module(name) for name in names)


def asked(expression, *names):
    """What an expression about modules is, in Node."""
    code = f"{script(*names)}\nprocess.stdout.write(JSON.stringify({expression}))"
    return json.loads(subprocess.run([NODE, "-e", code], capture_output=True, text=True, check=True).stdout)


@with_node
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("['a', 'é', 'e\\u0301', '👨\\u200d👩\\u200d👧', '🇩🇪', 'ab', '中文'].map(single)", [True] * 5 + [False] * 2),
        ("[['a', 'b'], ['a', 'bc'], ['👨\\u200d👩\\u200d👧', 'x']].map(blank)", ["", " ", ""]),
        ("[['(', 'שלום', 'a'], ['a', 'שלום'], ['1', '2'], ['سلام']].map(fromTheRight)", [True, False, False, True]),
        ("['a', 'שלום'].map(isolated)", ["a", "\u2068שלום\u2069"]),
        ("['␣', '⏎', '⇥', 'x'].map(spoken)", ["space", "new line", "tab", "x"]),
        (
            "[shortened('abcdef', 4), shortened('👨\\u200d👩\\u200d👧👨\\u200d👩\\u200d👧', 2)]",
            ["abc…", "👨\u200d👩\u200d👧" * 2],
        ),
    ],
)
def test_letters_are_those_that_a_reader_sees(expression, expected):
    names = "single, blank, fromTheRight, isolated, spoken, shortened"
    assert asked(f"(({{{names}}}) => {expression})(letters)", "letters") == expected


@with_node
class TestScales:
    @pytest.mark.parametrize(
        ("range_", "options", "expected"),
        [
            ([0, 10], {}, [0, 2, 4, 6, 8, 10]),
            ([0, 1], {}, [0, 0.2, 0.4, 0.6, 0.8, 1]),
            ([0.1, 0.7], {}, [0.2, 0.4, 0.6]),
            ([-3, 3], {}, [-2, 0, 2]),
            ([0, 3], {"whole": True}, [0, 1, 2, 3]),
            ([0.5, 1.5], {"whole": True}, [1]),
            ([99.5, 100], {}, [99.5, 99.6, 99.7, 99.8, 99.9, 100]),
            ([0.001, 100], {"form": "logarithmic"}, [0.001, 0.01, 0.1, 1, 10, 100]),
            ([1e-30, 1], {"form": "logarithmic"}, [1e-30, 1e-24, 1e-18, 1e-12, 1e-6, 1]),
            ([0.02, 0.07], {"form": "logarithmic"}, [0.02, 0.05]),
            ([0.3, 0.35], {"form": "logarithmic"}, [0.3, 0.35]),
            ([-100, 1000], {"form": "symlog"}, [-100, -10, -1, 0, 1, 10, 100, 1000]),
            ([0, 100], {"form": "symlog"}, [0, 1, 10, 100]),
        ],
    )
    def test_ticks_are_round_and_within_the_range(self, range_, options, expected):
        found = asked(f"scales.ticks({json.dumps(range_)}, {json.dumps(options)})", "scales")
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert all(range_[0] * (1 - 1e-9) <= one <= range_[1] * (1 + 1e-9) for one in found if one > 0)

    @pytest.mark.parametrize(
        ("values", "options", "expected"),
        [
            ([100, 100], {"low": 0, "high": 100}, [99.5, 100]),
            ([0, 0], {"low": 0}, [0, 0.5]),
            ([0, 0, 100], {"low": 0, "high": 100}, [0, 100]),
            ([3], {}, [2.5, 3.5]),
            ([1, 2, None], {}, [1, 2]),
            ([0, 0.1, 10], {"form": "logarithmic"}, [0.1, 10]),
            ([4], {"form": "logarithmic"}, [2, 8]),
            ([], {}, None),
            ([0, -1], {"form": "logarithmic"}, None),
        ],
    )
    def test_a_range_is_not_empty_and_keeps_to_what_the_quantity_can_be(self, values, options, expected):
        assert asked(f"scales.rangeOf({json.dumps(values)}, {json.dumps(options)})", "scales") == expected

    @pytest.mark.parametrize("form", ["linear", "logarithmic", "symlog"])
    def test_a_scale_goes_from_end_to_end(self, form):
        low = 1 if form == "logarithmic" else -10
        code = f"((at) => [at({low}), at(100), [2, 5, 50].map(at)])(scales.scale([{low}, 100], [300, 20], '{form}'))"
        start, end, between = asked(code, "scales")
        assert (start, end) == pytest.approx((300, 20))
        assert 300 > between[0] > between[1] > between[2] > 20

    def test_symlog_has_both_signs(self):
        at = "scales.scale([-100, 100], [-1, 1], 'symlog')"
        assert asked(f"[-9, 0, 9].map({at})", "scales") == pytest.approx([-0.499, 0, 0.499], abs=2e-3)

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            (
                "[0, 1234567, 0.00012, 0.5, 12.3456, null, NaN].map(shown)",
                ["0", "1.2e6", "1.2e-4", "0.5", "12.35", "–", "–"],
            ),
            ("[3.2, -0.5, 0].map(column([3.2, -0.5, 0]))", ["3.20", "−0.50", "0.00"]),
            ("[3.2, -0.5, 0.0001, -0.0001].map(signedColumn([3.2]))", ["+3.20", "−0.50", "0.00", "0.00"]),
            ("[3e-5, -2e-6, 0].map(signedColumn([3e-5, -2e-6]))", ["+0.0000300", "−0.0000020", "0.0000000"]),
            ("[3e-9, -2e-12, 0].map(signedColumn([3e-9]))", ["+3.00e-9", "−2.00e-12", "0"]),
            ("[3e-9, 0].map(signedColumn([3e-9], 1e-7))", ["0.0000", "0.0000"]),
            ("[1234.5, 2].map(signedColumn([1234.5, 2]))", ["+1235", "+2"]),
            ("[1, 0.9999, 0.5, 0.0001, 0].map((p) => percent(p))", ["100.0%", ">99.9%", "50.0%", "<0.1%", "0.0%"]),
            ("[0.963, 0.999].map((p) => percent(p, 0))", ["96%", ">99%"]),
            ("[0.431, -0.2, 0.00001].map(points)", ["+43.1 points", "−20.0 points", "0.0 points"]),
        ],
    )
    def test_numbers_as_text(self, expression, expected):
        names = "const {shown, column, signedColumn, percent, points} = scales;"
        assert asked(f"(() => {{ {names} return {expression}; }})()", "scales") == expected


@with_node
class TestSentences:
    @pytest.mark.parametrize(
        ("symbols", "place", "expected"),
        [
            ("the␣world␣wa", 3, "the space before “world”"),
            ("the␣world␣wa", 5, "the “o” of “world”"),
            ("the␣", 3, "the last space"),
            ("a␣b", 2, "“b”"),
            (["a", "haunting", "film"], 1, "“haunting”"),
            ("the␣seen␣wa", 6, "the “e” of “seen” at position 7"),
            (["the", "film", "the", "end"], 2, "“the” at position 3"),
        ],
    )
    def test_a_place_in_a_text(self, symbols, place, expected):
        assert asked(f"outputs.placeOf({json.dumps(list(symbols))}, {place})", *SENTENCES) == expected

    def test_the_signs_for_white_space_are_those_of_the_package(self):
        signs = json.dumps([*tokens.SIGNS.values(), "_"])
        assert asked(f"{signs}.map(letters.isSpace)", "letters") == [True] * 3 + [False]

    @staticmethod
    def sentence(moves, symbols="a␣wo", run="", pair=(0,), **reading):
        """The headline of a reading whose tokens have these values, in the first output of a pair over the second."""
        given = {"noun": "symbol", "unit": "", "outputs": ["r", "s"][: len(pair)], "tokens": len(symbols), **reading}
        logits = given.pop("logits", [3, 0])
        start = given.pop("start", 0)
        code = f"{{...{json.dumps(given)}, logits: (o) => {logits}[o], rest: [['x', () => {start}]]}}"
        lead = f"(i) => {json.dumps(list(moves))}[i]"
        said = f"outputs.sentence({json.dumps(run)}, {code}, {json.dumps(list(symbols))}, {lead}, {list(pair)})"
        return asked(f"{said}.map((part) => part.tag ? part.children[0] : part).join('')", *SENTENCES)

    def test_what_a_network_says_and_its_largest_term(self):
        said = self.sentence([0.5, 2, -1, 0], run="isan", pair=(0, 1), kind="term", unit="nats")
        assert said == "isan says “r”, 95% sure; largest term: the space before “wo” (+2.00 nats)."

    def test_the_largest_term_may_speak_against_what_is_said(self):
        said = self.sentence([0.5, 2, -2.5, 0], pair=(0, 1), kind="term", unit="nats")
        assert said == "The network says “r”, 95% sure; largest term: the “w” of “wo” (−2.50 nats)."

    def test_the_outputs_that_are_compared_are_named_where_others_are_said(self):
        said = self.sentence([0.5, 2, -1, 0], pair=(1, 0), kind="share")
        assert said == "The network says “r”, 95% sure; largest share for “s” over “r”: the space before “wo” (+2.00)."

    def test_a_symbol_is_quoted_and_the_number_of_an_output_is_not(self):
        said = self.sentence([1, 0, 0, 0], pair=(0, 1), kind="term", unit="nats", outputs=[":", ","])
        assert said.startswith("The network says “:”, 95% sure; ")
        said = self.sentence([1, 0, 0, 0], pair=(0, 1), kind="term", unit="nats", outputs=["output 1 (index 0)", ","])
        assert said.startswith("The network says output 1 (index 0), 95% sure; ")

    def test_the_index_of_an_output_is_said_once(self):
        names = ["output 1 (index 0)", "output 2 (index 1)"]
        said = self.sentence([1, 0, 0, 0], pair=(0, 1), kind="share", values=True, outputs=names)
        first, _, rest = said.partition("; ")
        assert first == "The network says 3.00 for output 1 (index 0), 0.00 for output 2 (index 1)"
        assert rest.startswith("largest share for output 1 over output 2: ")
        assert asked(f"outputs.says({json.dumps(names)}, [0, 0])", *SENTENCES) == "output 1 50.0%, then output 2 50.0%"

    @pytest.mark.parametrize(
        ("values", "output", "ending"),
        [
            ([0, 1e-5, 0, 0, -0.964], -0.964, "lowered most by step 5 (−0.964)"),
            ([0.002, 0.001, 0, 0, -0.944], -0.941, "lowered most by step 5 (−0.944)"),
            ([0, 0.5, 0, -0.1, 0], 0.4, "raised most by step 2 (+0.500)"),
            ([5, -3, -3.5, 0, 0], -1.5, "lowered most by step 3 (−3.50), though step 1 raised it more (+5.00)"),
            ([-5, 3, 3.5, 0, 0], 1.5, "raised most by step 3 (+3.50), though step 1 lowered it more (−5.00)"),
            ([1, -1, 0, 0, 0], 0, "raised most by step 1 (+1.00)"),
            ([0, 0, 0, 0, 0], 0, ""),
        ],
    )
    def test_a_single_output_names_the_step_that_moved_it_most_the_way_it_went(self, values, output, ending):
        said = self.sentence(values, "12345", kind="share", noun="step", logits=[output])
        shown = f"{output:g}".replace("-", "−")
        assert said == f"The network says {shown} for “r”{'; ' * bool(ending)}{ending}."

    def test_where_an_output_starts_is_no_part_of_its_way(self):
        said = self.sentence([0.5, -2, 0, 0], "1234", kind="share", noun="step", logits=[8.5], start=10)
        assert said == "The network says 8.5 for “r”; lowered most by step 2 (−2.00)."

    @pytest.mark.parametrize(
        ("kind", "pair", "ending"),
        [
            ("deleted", (0, 1), "deleting the “w” of “wo” would raise the lead most, by 2.50 nats"),
            ("replaced", (0, 1), "replacing the “w” of “wo” would raise the lead most, by 2.50 nats on average"),
            ("deleted", (1, 0), "deleting the “w” of “wo” would raise the lead for “s” over “r” most, by 2.50 nats"),
            ("shapley", (0, 1), "largest Shapley value: the “w” of “wo” (−2.50 nats)"),
        ],
    )
    def test_what_each_method_may_say_of_a_symbol(self, kind, pair, ending):
        assert self.sentence([0.5, 2, -2.5, 0], pair=pair, kind=kind, unit="nats").endswith(f"95% sure; {ending}.")

    def test_an_automaton_accepts_or_rejects(self):
        values = [-0.125] * 4
        said = self.sentence(values, "0110", kind="shapley", verdict=True, logits=[0], start=0.5)
        most = "lowered most by knowing the “0” of “0110” at position 1 (−0.125, as 3 others)"
        assert said == f"The automaton rejects the word; {most}."
        said = self.sentence(values, "0110", kind="shapley", verdict=True, logits=[1], start=1.5)
        assert said.startswith("The automaton accepts the word; ")

    def test_a_pair_that_acts_together(self):
        code = (
            "{kind: 'pair', noun: 'token', unit: 'log-odds', outputs: ['the output'], tokens: 3, picked: 1, "
            "of: () => null, logits: () => 1.5, rest: []}"
        )
        said = f"outputs.sentence('', {code}, ['so', 'not', 'great'], (i) => [0.1, 0, -0.58][i], [0])"
        said = asked(f"{said}.map((part) => part.tag ? part.children[0] : part).join('')", *SENTENCES)
        assert said == "The network says 1.5; “not” acts most with “great” (−0.580 log-odds)."

    def test_several_outputs_that_are_no_probabilities_have_their_values(self):
        said = self.sentence([0.5, -2], "12", pair=(0, 1), kind="share", noun="step", values=True, logits=[-1.5, -3])
        assert said == "The network says −1.50 for “r”, −3.00 for “s”; largest share for “r” over “s”: step 2 (−2.00)."

    def test_the_sum_that_a_number_stands_for(self):
        assert asked("outputs.says(['a', 'b', 'c'], [0, Math.log(3), 0])", *SENTENCES) == "“b” 60.0%, then “a” 20.0%"
        assert asked("outputs.says(['a', 'b'], [0, Math.log(3)], 0.8)", *SENTENCES) == "“b” 60.0%, then “a” 20.0%"
        assert asked("outputs.says(['only'], [1.25])", *SENTENCES) == "1.25"


SENTENCES = ("letters", "render", "scales", "bars", "outputs")
READ = """
const tensor = {shape: [rows.length, rows[0].length], values: Float32Array.from(rows.flat())};
const page = {entries: [{kind: series.kind ?? 'attribution'}], read: async () => series, part: async () => tensor};
const [{methods: [method], symbols}] = await readings.textsOf(page);
const reading = await method.load(0, symbols.length);
const pair = readings.pairOf(reading, {});
const lead = readings.leadOf(reading, pair);
const format = outputs.formatOf(reading, symbols.map((_, i) => lead(i)), pair);
const plain = (parts) => parts.map((part) => part.tag ? part.children[0] : part).join('');
"""
SAID = """{
  name: method.name,
  headline: plain(outputs.sentence('', reading, symbols, lead, pair)),
  note: outputs.noteOn(reading, pair.map((o) => reading.outputs[o]).join(' over '), symbols),
  sum: outputs.sumOf(reading, lead, pair, outputs.restOf(reading, pair, format)),
  near: outputs.saturation(reading, pair),
}"""


def read_by_a_page(rows, expression=SAID, **description):
    """What a page makes of the rows of an attribution; by default its sentences."""
    series = {"method": "shapley", "symbols": ["not", "good"], "outputs": ["the output"], "steps": [0], **description}
    given = f"const series = {json.dumps(series)}, rows = {json.dumps(rows)};"
    code = f"process.stdout.write(JSON.stringify({expression}))"
    program = f"{script(*SENTENCES, 'readings')}\n(async () => {{ {given} {READ} {code} }})();"
    return json.loads(subprocess.run([NODE, "-e", program], capture_output=True, text=True, check=True).stdout)


@with_node
class TestAttributions:
    def test_exact_values_of_log_odds(self):
        rows = [[0], [0.961], [-1.0], [3.71], [0.5], [0], [0], [3.21]]
        found = read_by_a_page(rows, unit="log-odds", errors=True, both=True)
        assert found == {
            "name": "Shapley attribution",
            "headline": "The network says log-odds 3.21, probability 0.961; raised most by “good” (+3.71 nats).",
            "note": "Exact Shapley values: what each token adds to the log-odds of the output, or takes from it, in "
            "nats, on average over all orders in which the tokens come.",
            "sum": "With +0.50 of the output without any token they add up to the log-odds.",
            "near": "",
        }

    def test_estimates_have_intervals(self):
        rows = [[0], [0.961], [-1.0], [3.71], [0.5], [0.01], [0.1], [3.21]]
        found = read_by_a_page(rows, unit="log-odds", errors=True, both=True)
        assert found["headline"].endswith("; raised most by “good” (+3.71 ± 0.20 nats).")
        assert found["note"].startswith("Shapley values, ±: 95% interval: ")
        rows[2:4] = [[3.5], [-0.79]]
        rows[5:7] = [[1.0], [1.0]]
        assert read_by_a_page(rows, unit="log-odds", errors=True, both=True)["headline"].endswith(
            "; raised most by “not” (+3.50 ± 1.96 nats)."
        )
        rows[3] = [-0.79 + 2]
        assert read_by_a_page(rows, unit="log-odds", errors=True, both=True)["headline"].endswith(
            "(+3.50 ± 1.96 nats), as far as the intervals tell."
        )
        margin = "outputs.errorOf(reading, [0, 1], pair)"
        assert read_by_a_page(rows, margin, errors=True, both=True) == pytest.approx(2 * 1.96)

    @pytest.mark.parametrize(
        ("method", "note"),
        [
            ("telescoping", "By telescoping: what each token added to .* as the tokens came one after another."),
            ("path_integral", "By a path integral: what each token added to .* as all tokens were faded in together."),
            ("occlusion", "By occlusion: what .* would lose, in nats, if the token alone were taken away."),
            ("contributions", "Contributions: what each token added to the log-odds of the output, .* in nats."),
        ],
    )
    @pytest.mark.parametrize("missed", [0.21, 0.001, 0])
    def test_no_method_says_that_shares_add_up_where_they_do_not(self, method, note, missed):
        rows = [[0], [0.62], [0.3], [0.2 - missed], [0], [0.5]]
        found = read_by_a_page(rows, method=method, unit="log-odds", both=True)
        assert re.fullmatch(note, found["note"])
        if missed == 0.21:
            ending = ": what is lost without one or another need not add up" if method == "occlusion" else ""
            assert found["sum"] == f"The shares miss the change of the log-odds by 0.21 nats of 0.5 nats{ending}."
            assert "add up to" not in str(found)
        else:
            assert found["sum"] == f"They add up to the log-odds{', but for 0.001 nats' * (missed > 0)}."

    def test_what_is_lost_without_a_token_is_not_said_to_have_raised_the_output(self):
        rows = [[0], [0.62], [0.3], [0.25], [0], [0.5]]
        found = read_by_a_page(rows, method="occlusion", unit="log-odds", both=True)
        assert found["headline"].endswith("; taking away “not” would lower it most, by 0.300 nats.")

    def test_a_gap_in_the_sum_is_that_of_the_outputs_compared(self):
        rows = [[0, 1], [0.7, 0.3], [2, 1], [1, 1], [0, 0], [3, 1]]  # the second misses 1, so does their difference
        said = {"method": "path_integral", "outputs": ["up", "down"], "unit": "logit", "both": True}
        found = read_by_a_page(rows, **said)
        assert found["sum"] == "The shares miss the change of the difference of the two logits by 1 nats of 2 nats."
        rows[3][1] = 0
        assert read_by_a_page(rows, **said)["sum"] == "They add up to the difference of the two logits."

    @pytest.mark.parametrize("part", [0.9934, 0.004])
    def test_a_probability_near_0_or_1_has_a_sentence(self, part):
        rows = [[0], [part], [2], [3], [0], [5]]
        said = read_by_a_page(rows, method="telescoping", unit="log-odds", both=True)["near"]
        shown = {0.9934: "0.9934", 0.004: "0.0040"}[part]
        assert said == f"The bars say what moved the log-odds, which a probability of {shown} hardly shows any more."
        rows = [[0], [part], [0.1], [part - 0.6], [0.5]]
        said = read_by_a_page(rows, method="telescoping", unit="probability", values=True)["near"]
        assert said == f"A probability of {shown} hardly changes, whatever a token says: split the logit instead."

    def test_a_choice_has_its_probability_and_its_logit(self):
        rows = [[1, 0], [0.96, 0.04], [3, 0], [0.2, 0], [0, 0], [0, 0], [0, 0], [3.2, 0.0]]
        found = read_by_a_page(rows, outputs=["no", "yes"], unit="logit", errors=True, both=True)
        assert found["headline"] == (
            "The network says “yes”, 96% sure (logit 3.2); largest Shapley value: “not” (+3.00 nats)."
        )

    def test_outputs_that_share_no_probability_have_their_own(self):
        rows = [[1, 0], [0.96, 0.9], [3, 0], [0.2, 2.2], [0, 0], [3.2, 2.2]]
        said = {"outputs": ["no", "yes"], "unit": "log-odds", "both": True}
        found = read_by_a_page(rows, **said)
        assert found["headline"].startswith("The network says “yes”, log-odds 3.2, probability 0.960; ")
        parts = read_by_a_page(rows, "[0, 1].map(reading.probability)", **said)
        assert parts == pytest.approx([0.96, 0.9])

    def test_outputs_of_a_regression_are_no_probabilities(self):
        rows = [[1, 0], [2.5, -0.5], [1.5, 0], [1, -0.5], [0, 0], [2.5, -0.5]]
        said = {"outputs": ["output 1", "output 2", "output 3"], "values": True, "both": True}
        found = read_by_a_page(rows, **said)
        assert found["headline"].startswith("The network says 2.50 for output 2, −0.50 for output 1; ")
        assert "sure" not in str(found)
        assert "logit" not in str(found)
        assert read_by_a_page(rows, "reading.others", **said) == {"count": 1, "probability": None}

    def test_a_target_has_its_name_and_a_group_its_number(self):
        rows = [[0], [3.21], [-1.0], [3.71], [0.5], [0.961]]
        said = {"outputs": ["output 3 (index 2)"], "symbols": ["group 1", "group 2"], "groups": True, "values": True}
        found = read_by_a_page(rows, **said, unit="logit", both=True)
        assert found["headline"] == (
            "The network says logit 3.21, probability 0.961 for output 3 (index 2); "
            "raised most by group 2 (+3.71 nats)."
        )
        assert "all orders in which the groups come" in found["note"]

    @pytest.mark.parametrize(
        ("method", "way"), [("telescoping", "came one after another"), ("path_integral", "were faded")]
    )
    def test_groups_have_the_shares_of_their_steps(self, method, way):
        rows = [[0], [0.5], [0.25], [0.25], [0]]
        note = read_by_a_page(rows, method=method, groups=True, symbols=["group 1", "group 2"])["note"]
        assert f"steps {way}" in note
        assert "groups" not in note

    def test_small_outputs_have_the_digits_that_matter(self):
        rows = [[0], [3e-5], [4e-6], [6e-6], [2e-5]]
        found = read_by_a_page(rows, values=True)
        assert found["headline"] == "The network says 3.0e-5; raised most by “good” (+0.00000600)."
        assert found["sum"] == "With +0.00002000 of the output without any token they add up to the output."
        rows = [
            [0],
            [0.99996],
            [
                1e-5,
            ],
            [-2e-5],
            [0.99997],
        ]
        found = read_by_a_page(rows, values=True, unit="probability", outputs=["output 2 (index 1)"])
        assert found["headline"].startswith(
            "The network says probability 0.999960 for output 2 (index 1); lowered most"
        )
        assert "of the output without any token" in found["sum"]

    def test_a_reference_is_said_where_the_bars_are_too_large_for_its_digits_or_all_0(self):
        found = read_by_a_page([[0], [3e-5], [0], [0], [3e-5]], values=True)
        assert found["sum"] == "With +3.0e-5 of the output without any token they add up to the output."
        assert found["headline"] == "The network says 3.0e-5."
        found = read_by_a_page([[0], [0.503], [300], [-299.5], [0.003]], values=True)
        assert found["sum"] == "With +0.003 of the output without any token they add up to the output."

    def test_rounding_is_no_share(self):
        assert read_by_a_page([[0], [0.5], [1e-9], [-1e-9], [0.5]], values=True)["headline"] == "The network says 0.5."

    @pytest.mark.parametrize("says", [0.75, 0.9934, 0.004])
    def test_pairs_of_a_probability_have_it_in_words(self, says):
        found = read_by_a_page(
            [[0, 0.25], [0.25, 0]],
            kind="interactions",
            output="output 2 (index 1)",
            says=says,
            index="shapley",
            unit="probability",
        )
        shown = {0.75: "0.750", 0.9934: "0.9934", 0.004: "0.0040"}[says]
        assert found["headline"] == (
            f"The network says probability {shown} for output 2 (index 1); “not” acts most with “good” (+0.250)."
        )
        near = f"A probability of {shown} hardly changes, whatever a token says: split the logit instead."
        assert found["near"] == (near if says != 0.75 else "")

    def test_pairs_of_log_odds_have_the_probability_too(self):
        said = {"kind": "interactions", "output": "the output", "index": "shapley", "unit": "log-odds"}
        found = read_by_a_page([[0, 0.25], [0.25, 0]], says=8.0, **said)
        assert found["headline"].startswith("The network says log-odds 8, probability 0.99966; “not” acts most with")
        assert found["near"] == (
            "The bars say what tokens change together in the log-odds, which a probability of 0.99966 hardly shows any "
            "more."
        )

    def test_older_logs_are_read(self):
        """They have probabilities alone, and shares of these, or of logits in nats."""
        rows = [[1, 0], [0.75, 0.25], [1, 0], [0.0986123, 0], [0, 0]]
        found = read_by_a_page(rows, method="telescoping", outputs=["no", "yes"], unit="nats")
        assert found["headline"] == "The network says “yes”, 75% sure; largest share: “not” (+1.00 nats)."
        assert found["sum"] == "They add up to the difference of the two logits."
        assert found["near"] == ""
        rows = [[1, 0], [0.75, 0.25], [0.2, -0.2], [0.05, -0.05], [0.5, 0.5]]
        found = read_by_a_page(rows, method="telescoping", outputs=["no", "yes"])
        assert found["headline"] == "The network says “yes”, 75% sure; largest share: “not” (+0.400)."
        assert found["sum"] == "They add up to the difference of the two outputs."
        found = read_by_a_page([[0], [0.75], [0.2], [0.1], [0.5]], method="occlusion")
        assert found["headline"] == "The network says 0.75; taking away “not” would lower it most, by 0.200."
        assert found["sum"].startswith("The shares miss the change of the output by 0.05 of 0.25: ")


@pytest.fixture(scope="module")
def browser(chromium):
    from tests.browser import Page

    opened = Page(1200, 900)
    yield opened.driver
    opened.close()


@pytest.mark.matrix
class TestRenderer:
    def run(self, browser, code):
        browser.get("about:blank")
        place = "const {h, patch} = render; const place = document.body;"
        return browser.execute_script(f"{script('render')}\n{place}\n{code}")

    def test_attributes_come_change_and_go(self, browser):
        code = """
        patch(place, h('p', {class: 'a', title: 'x', hidden: true}, 'one'));
        const first = place.firstChild, before = first.outerHTML;
        patch(place, h('p', {class: 'b', title: null}, 'two'));
        return [before, place.innerHTML, first === place.firstChild];"""
        before, after, same = self.run(browser, code)
        assert before == '<p class="a" title="x" hidden="">one</p>'
        assert after == '<p class="b">two</p>'
        assert same

    def test_what_has_a_key_stays_the_same_element_where_it_moves(self, browser):
        code = """
        const list = (...names) => patch(place, h('ul', {}, names.map((name) => h('li', {key: name}, name))));
        list('a', 'b', 'c');
        const [a, b, c] = place.firstChild.children;
        list('c', 'x', 'a');
        const [first, , third] = place.firstChild.children;
        return [place.textContent, first === c, third === a, b.isConnected];"""
        assert self.run(browser, code) == ["cxa", True, True, False]

    def test_focus_and_what_was_typed_survive(self, browser):
        code = """
        const draw = (...names) => patch(place, names.map((name) => h('input', {key: name, 'aria-label': name})));
        draw('a', 'b');
        place.children[1].focus();
        place.children[1].value = 'typed';
        draw('b', 'new', 'a');
        return [document.activeElement.getAttribute('aria-label'), place.children[0].value];"""
        assert self.run(browser, code) == ["b", "typed"]

    def test_a_listener_is_the_one_described_last_and_is_called_once(self, browser):
        code = """
        const calls = [];
        for (const name of ['one', 'two', 'three']) patch(place, h('button', {onclick: () => calls.push(name)}));
        place.firstChild.click();
        patch(place, h('button', {}));
        place.firstChild.click();
        return calls;"""
        assert self.run(browser, code) == ["three"]

    def test_text_is_text_and_drawings_are_svg(self, browser):
        code = """
        const drawing = h('svg', {}, h('g', {}, h('text', {}, '<i>')));
        patch(place, '<b>bold</b>', drawing, h('p', {}, 0, null, false, [['nested']]));
        const text = place.querySelector('text');
        const count = place.querySelectorAll('b, i').length;
        return [count, text.namespaceURI, text.textContent, place.lastChild.textContent];"""
        assert self.run(browser, code) == [0, "http://www.w3.org/2000/svg", "<i>", "0nested"]

    def test_a_choice_follows_its_description(self, browser):
        code = """
        const options = ['a', 'b'].map((name) => h('option', {value: name}, name));
        const draw = (value) => patch(place, h('select', {value}, options));
        draw('b');
        const first = place.firstChild.value;
        place.firstChild.value = 'b';
        draw('a');
        return [first, place.firstChild.value];"""
        assert self.run(browser, code) == ["b", "a"]

    def test_children_of_somebody_else_are_left_alone(self, browser):
        code = """
        const mine = document.createElement('div');
        mine.append('drawn elsewhere');
        const draw = (name) => patch(place, h('p', {}, name), mine, h('section', {own: true}));
        draw('one');
        place.lastChild.append('own');
        draw('two');
        return [place.children[1] === mine, place.textContent];"""
        assert self.run(browser, code) == [True, "twodrawn elsewhereown"]

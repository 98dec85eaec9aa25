import functools
import itertools
import json
import re
from pathlib import Path

import keras
import pytest

from keras_interp_rnn.reproduce import records, report

ROOT = Path(__file__).parents[2]


def record(name="mine", size="8e4", bits=1.9):
    return {
        "experiment": "isan_text8",
        "data": {"name": name, "characters": 1000, "text_sha256": "ab" * 32, "whole_text8": False},
        "model": {"size": size, "units": 53, "parameters": 78785},
        "protocol": {"batch": 2, "epochs": 1},
        "result": {"test_bits": bits, "validation_bits": 1.95, "characters": 2e6, "seconds": 7200},
        "environment": {**records.environment(), "commit": "c0ffee"},
    }


def test_the_committed_report_is_generated_from_the_committed_records():
    folder = ROOT / "docs" / "records"
    text = report.results(report.read(folder), ROOT / "docs")
    assert (ROOT / "docs" / "results.md").read_text() == text
    assert text.count("](figures/") > 20


def test_pictures_that_are_not_beside_the_report_are_left_out(tmp_path):
    found = [read for read in report.read(ROOT / "docs" / "records") if read["experiment"] == "temperature"]
    (tmp_path / "figures").mkdir()
    for folder in (None, tmp_path):
        assert "](figures/" not in report.results(found, folder)
    (tmp_path / "figures" / "temperature.png").write_bytes(b"")
    assert "](figures/temperature.png)\n" in report.results(found, tmp_path)


def test_every_figure_of_a_record_appears_beside_its_data_and_the_papers():
    text = report.results([record()])
    assert "| mine | ISAN | 8e4 | 53 | 78,785 | 1.900 | 1.950 | 1.92 | 2 M | 120 |" in text
    assert "`abababababababab…`. Not the whole text8." in text
    assert "commit `c0ffee`" in text


def test_every_section_is_linked_at_the_top_and_its_runs_are_folded():
    text = report.results(report.read(ROOT / "docs" / "records"))
    top, *sections = text.split("\n## ")
    links = re.findall(r"^- \[(.*)\]\(#(.*)\)$", top, re.MULTILINE)
    assert [heading for heading, _ in links] == [section.splitlines()[0] for section in sections]
    assert len({anchor for _, anchor in links}) == len(links)
    assert links[0][1] == "isan-on-character-text-foerster-et-al-2017-table-1"
    for section in sections:
        assert section.count("<details>") == section.count("</details>") > 0
        assert section.endswith("\n\n</details>\n")


def test_figures_in_the_readme_are_those_of_the_section_they_lead_to():
    top, *sections = report.results(report.read(ROOT / "docs" / "records")).split("\n## ")
    anchors = re.findall(r"^- \[.*\]\(#(.*)\)$", top, re.MULTILINE)
    found = dict(zip(anchors, sections, strict=True))
    checked = 0
    for item in re.split(r"^- ", (ROOT / "README.md").read_text(), flags=re.MULTILINE):
        for anchor in re.findall(r"\(docs/results\.md#(.*?)\)", item):
            for figure in re.findall(r"\*\*(\d.*?)\*\*", item):
                assert figure in found[anchor], (figure, anchor)
                checked += 1
    assert checked >= 9


def test_without_records_there_are_no_figures():
    assert "No records yet." in report.results([])


def test_rows_are_sorted_by_data_and_size():
    text = report.results([record("b", "1.28e6"), record("b", "8e4"), record("a", "3.2e5")])
    rows = [line.split("|")[1:4:2] for line in text.splitlines() if line.startswith(("| a", "| b"))]
    assert [[cell.strip() for cell in row] for row in rows] == [["a", "3.2e5"], ["b", "8e4"], ["b", "1.28e6"]]


def test_jacobians_stand_by_scale_network_and_lag():
    rows = {"GRU": {"p10_p50_p90": [[1e-3, 0.25, 0.5], [1e-9, 1e-7, 1e-5]]}}
    given = {
        "experiment": "jacobians_at_start",
        "protocol": {"scale": 1.0, "lags": [0, 25]},
        "result": rows,
        "environment": records.environment(),
    }
    text = report.results([given])
    assert "| k = 0 | k = 25 |" in text
    assert "| 1 | GRU | 0.25 (1.0e-03 to 5.0e-01) | 1e-07 (1.0e-09 to 1.0e-05) |" in text


def test_recommenders_are_averaged_over_their_seeds():
    def of_seed(seed, score):
        return {
            "experiment": "recommend",
            "data": {"name": "video"},
            "model": {"layer": "GRU", "seed": seed},
            "protocol": {"units": 64},
            "result": {"map_20": score, "recall_20": 2 * score, "ndcg_20": score, "seconds": 100 + seed},
            "environment": records.environment(),
        }

    text = report.results([of_seed(0, 0.1), of_seed(1, 0.2)])
    assert "| video | GRU | 2 | 0.1500 ± 0.0707 | 0.3000 ± 0.1414 | 0.1500 ± 0.0707 | 100 |" in text


def test_recommenders_stand_beside_the_most_popular_items():
    scores = {"map_20": 0.5, "recall_20": 0.25, "ndcg_20": 0.125}
    record = {
        "experiment": "recommend",
        "data": {"name": "video"},
        "model": {"layer": "GRU", "seed": 0},
        "protocol": {"units": 64},
        "result": {**scores, "seconds": 7, "popularity": {name: score / 2 for name, score in scores.items()}},
        "environment": records.environment(),
    }
    lines = report.results([record]).splitlines()
    place = lines.index("| video | the most popular items | | 0.2500 | 0.1250 | 0.0625 | |")
    assert lines[place + 1] == "| video | GRU | 1 | 0.5000 | 0.2500 | 0.1250 | 7 |"


def test_gates_of_a_minimal_rnn_are_shown_over_their_seeds():
    def of_seed(seed, diagonal):
        scores = dict.fromkeys(("map_20", "recall_20", "ndcg_20", "seconds"), 1.0)
        return {
            "experiment": "recommend",
            "data": {"name": "video"},
            "model": {"layer": "MinimalRNN", "seed": seed},
            "protocol": {"units": 64},
            "result": {**scores, "gate": {"diagonal": diagonal, "moving": 1.25, "moved": 2.0}},
            "environment": records.environment(),
        }

    text = report.results([of_seed(0, 1.5), of_seed(1, 12.0)])
    assert "on the diagonal 1.5 to 12.0 (" in text
    assert "in the largest column 1.2 (" in text
    assert "in the largest row, an entry of the gate on which all of the state acts, 2.0." in text


def runs(text):
    """The lines of the records."""
    return [line for line in text.splitlines() if line.startswith("- ") and not line.startswith("- [")]


def tables(text):
    """The cells of every table, row by row, all rows as long as the first; the rule below it left out."""
    found = []
    for above, line in itertools.pairwise(["", *text.splitlines()]):
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not above.startswith("|"):
            found.append([])
        found[-1].append(cells)
    for table in found:
        assert {len(row) for row in table} == {len(table[0])}
        assert set(table.pop(1)) == {"---"}
    return found


def test_temperatures_of_a_network_stand_one_below_the_other():
    def row(temperature, least, exact, right, certified):
        return {"temperature": temperature, "least": least, "exact": exact, "right": right, "certified": certified}

    given = {
        "experiment": "temperature",
        "data": {"name": "Tomita 4"},
        "model": {"seed": 3},
        "protocol": {"centroids": 10, "longest": 7},
        "result": {"temperatures": [row(0.5, 0.99996, True, 1.0, True), row(10.0, 0.13579, True, 0.874, False)]},
        "environment": {**records.environment(), "commit": "c0ffee"},
    }
    last = {**given, "data": {"name": "Tomita 7"}, "result": {"temperatures": [row(2.0, 0.5, False, 0.25, False)]}}
    text = report.results([given, last])
    [[head, *rows]] = tables(text)
    assert head == ["language", "seed", "temperature", "least sure", "automaton exact", "words right", "proved"]
    assert rows == [
        ["Tomita 4", "3", "0.5", "1.0000", "yes", "100.0%", "yes"],
        ["Tomita 4", "3", "10", "0.1358", "yes", "87.4%", "no"],
        ["Tomita 7", "3", "2", "0.5000", "no", "25.0%", "no"],
    ]
    assert [line.split(":")[0] for line in runs(text)] == ["- Tomita 4", "- Tomita 7"]
    assert all("commit `c0ffee`" in line and "; centroids 10, longest 7." in line for line in runs(text))


def test_extractions_stand_by_network_and_method_and_those_that_gave_up_have_no_automaton():
    names = ("network", "method", "states", "seconds", "read", "agreement", "true")
    rows = [
        ("SR-GRU", "exact", 4, 0.0316, 8, 1.0, True),
        ("GRU", "L*, W-method", 1234, 56.789, 19_876, 0.876, False),
        ("GRU", "KV, words", None, None, 20_000, None, None),
    ]
    given = {
        "experiment": "compare_extraction",
        "data": {"name": "Tomita 4"},
        "protocol": {"most": 20_000},
        "result": {"rows": [dict(zip(names, row, strict=True)) for row in rows]},
        "environment": records.environment(),
    }
    text = report.results([given])
    [[head, *found]] = tables(text)
    assert head == "language network method states seconds symbols agreement".split() + ["true language"]
    assert found == [
        ["Tomita 4", "SR-GRU", "exact", "4", "0.03", "8", "100.0%", "yes"],
        ["Tomita 4", "GRU", "L*, W-method", "1234", "56.79", "19,876", "87.6%", "no"],
        ["Tomita 4", "GRU", "KV, words", "gave up", "", "20,000", "", ""],
    ]
    assert "- Tomita 4: " in text
    assert "; most 20000." in text


PARENTHESES = {
    "test_d1_10_l100": 0.011,
    "test_d10_20_l100": 0.022,
    "test_d10_20_l200": 0.033,
    "test_d5_l200": 0.044,
    "test_d10_l200": 0.055,
    "test_d20_l1000": 0.066,
}
PALINDROMES = {"test_l100": 0.011, "test_l200": 0.022, "test_l500": 0.033}


def context_free(kind, k=0, config="small", seed=0, seconds=90, plus=0.0, errors=PARENTHESES):
    """A record; the errors, `plus` so much, in an order that is not the report's."""
    return {
        "experiment": "palindromes" if errors is PALINDROMES else "balanced_parentheses",
        "data": {"config": config, "words": 1286, "positives": 601},
        "model": {"layer": kind, "seed": seed, "parameters": 99},
        "protocol": {"units": 10, "centroids": k, "passes": 2},
        "result": {
            "errors": {name: errors[name] + plus for name in sorted(errors, reverse=True)},
            "validation_error": 0.25,
            "seconds": seconds,
        },
        "environment": records.environment(),
    }


def percents(values, how="{}"):
    return [how.format(f"{value}%") for value in values.split()]


@pytest.mark.parametrize("errors", [PARENTHESES, PALINDROMES], ids=["parentheses", "palindromes"])
def test_errors_stand_in_the_order_of_the_papers_tables(errors):
    [[head, row]] = tables(report.results([context_free("LSTM-P", config="small_near", errors=errors)]))
    names = ["d1 10 l100", "d10 20 l100", "d10 20 l200", "d5 l200", "d10 l200", "d20 l1000"]
    if errors is PALINDROMES:
        names = ["l100", "l200", "l500"]
    assert head == ["network", "k", "seeds", "median minutes", *names]
    assert row == ["LSTM-P", "", "1", "1.5", *percents("1.1 2.2 3.3 4.4 5.5 6.6")[: len(names)]]


def test_errors_have_their_mean_and_range_over_the_seeds():
    seconds, plus = (60, 240, 90), (0.0, 0.03, 0.006)
    given = [context_free("LSTM", seed=i, seconds=seconds[i], plus=plus[i], errors=PALINDROMES) for i in range(3)]
    text = report.results(given)
    [[_, row]] = tables(text)
    assert row == ["LSTM", "", "3", "1.5", "2.3% (1.1% to 4.1%)", "3.4% (2.2% to 5.2%)", "4.5% (3.3% to 6.3%)"]
    assert text.count("- small, LSTM: ") == 1


def test_every_set_of_words_has_its_table_with_the_networks_in_order():
    kinds = [("SR-LSTM-P", 50), ("SR-LSTM-P", 2), ("SR-LSTM", 10), ("LSTM-P", 0), ("LSTM", 0)]
    given = [context_free(kind, k, config) for config in ("small_near", "large_near") for kind, k in kinds]
    given[0]["data"].update(words=12_345, positives=6_789)
    text = report.results(given)
    for _, *rows in tables(text):
        assert [row[:2] for row in rows] == [[kind, str(k or "")] for kind, k in reversed(kinds)]
    titles = [line for line in text.splitlines() if line.startswith("`") and line.endswith(":")]
    assert titles == [
        "`large_near`, 1,286 words for training, 601 of them in the language:",
        "`small_near`, 12,345 words for training, 6,789 of them in the language:",
    ]
    assert len(runs(text)) == len(given)
    assert "- large_near, SR-LSTM-P: " in text
    assert "; centroids 50, passes 2, units 10." in text


# Tables 1, 2 and 3 of Wang, Lawrence and Niepert, 2022.
SAID = {
    ("large", "LSTM", 0): "0.5 33.4 34.1 0.2 20.7 54.3",
    ("large", "LSTM-P", 0): None,
    ("large", "SR-LSTM", 5): "3.8 25.5 31.3 4.4 22.7 54.0",
    ("large", "SR-LSTM", 10): None,
    ("large", "SR-LSTM-P", 2): None,
    ("large", "SR-LSTM-P", 5): "0.0 0.1 0.3 0.0 0.4 2.0",
    ("large", "SR-LSTM-P", 50): None,
    ("small", "LSTM", 0): "6.8 47.2 47.9 4.2 40.9 51.9",
    ("small", "LSTM-P", 0): None,
    ("small", "SR-LSTM", 2): None,
    ("small", "SR-LSTM", 5): "3.7 34.7 35.2 2.8 27.9 50.8",
    ("small", "SR-LSTM-P", 2): "1.9 9.6 9.7 1.4 3.8 39.9",
    ("small", "SR-LSTM-P", 5): "1.7 18.9 19.6 1.5 13.8 38.0",
    ("small", "SR-LSTM-P", 7): None,
    ("small", "SR-LSTM-P", 10): "2.1 20.5 21.3 1.2 15.4 43.2",
    ("small", "SR-LSTM-P", 50): "3.4 19.2 19.1 4.7 12.8 41.0",
    **dict.fromkeys(itertools.product(["large_near"], ["LSTM", "SR-LSTM-P"], [0, 5])),
    **dict.fromkeys(itertools.product(["small_near"], ["SR-LSTM-P"], [2, 5, 10, 50])),
}
SAID_OF_PALINDROMES = {
    ("large", "LSTM", 0): "31.2 42.0 47.7",
    ("large", "LSTM-P", 0): "28.4 36.2 41.5",
    ("large", "SR-LSTM", 5): "28.0 36.0 44.6",
    ("large", "SR-LSTM-P", 2): None,
    ("large", "SR-LSTM-P", 5): "10.5 16.7 29.8",
    ("small", "LSTM", 0): None,
    ("small", "SR-LSTM-P", 2): None,
    ("small", "SR-LSTM-P", 5): None,
}


@pytest.mark.parametrize(
    ("errors", "said"),
    [(PARENTHESES, SAID), (PALINDROMES, SAID_OF_PALINDROMES)],
    ids=["parentheses", "palindromes"],
)
def test_the_papers_figures_stand_beside_what_they_belong_to_and_nothing_else(errors, said):
    for (config, kind, k), figures in said.items():
        [[_, row, *paper]] = tables(report.results([context_free(kind, k, config, errors=errors)]))
        assert row[:3] == [kind, str(k or ""), "1"]
        expected = [["*the paper's*", str(k or ""), "", "", *percents(figures, "*{}*")]] if figures else []
        assert paper == expected, (config, kind, k)


def test_the_papers_row_follows_its_network():
    given = [context_free("SR-LSTM-P", k) for k in (50, 7, 5, 2, 10)] + [context_free("LSTM")]
    [[_, *rows]] = tables(report.results(given))
    beside = {"LSTM", "2", "5", "10", "50"}
    expected = []
    for kind, k in (("LSTM", ""), *(("SR-LSTM-P", str(k)) for k in (2, 5, 7, 10, 50))):
        expected.append((kind, k))
        expected += [("*the paper's*", k)] * bool({kind, k} & beside)
    assert [(row[0], row[1]) for row in rows] == expected


def test_sections_stand_in_one_order_whatever_the_order_of_the_records():
    given = [context_free("LSTM", errors=PALINDROMES), context_free("LSTM"), record()]
    for order in itertools.permutations(given):
        text = report.results(list(order))
        found = [text.index(title) for title in ("## ISAN on", "## Balanced parentheses", "## Palindromes")]
        assert found == sorted(found)
        assert text.count("\n## ") == 3


def equal_time(network, bits, minutes=30, size="1.28e6"):
    found = record(bits=bits)
    found["model"] = {**found["model"], "layer": network, "size": size, "parameters": int(float(size))}
    found["protocol"] = {**found["protocol"], "minutes": minutes}
    found["result"] = {**found["result"], "training_seconds": 60 * minutes}
    return found


def test_networks_given_equal_time_have_a_table_of_their_own_the_best_first():
    text = report.results([equal_time("LSTM", 2.0), record(), equal_time("ISAN", 1.6)])
    [[_, whole], [_, best, other]] = tables(text)[:2]
    assert whole[1:3] == ["ISAN", "8e4"]
    assert (best[1], best[4], best[5]) == ("ISAN", "1.600", "1.58")
    assert (other[1], other[4], other[5]) == ("LSTM", "2.000", "1.59")
    assert best[6] == "30 of 30"


def test_networks_given_equal_time_stand_by_size():
    given = [equal_time("LSTM", 2.0), equal_time("ISAN", 1.9, 6, "8e4"), equal_time("ISAN", 1.6)]
    [[_, *rows]] = tables(report.results([record(), *given]))[1:2]
    assert [(row[1], row[3], row[6]) for row in rows] == [
        ("ISAN", "80,000", "6 of 6"),
        ("ISAN", "1,280,000", "30 of 30"),
        ("LSTM", "1,280,000", "30 of 30"),
    ]


def of_table(row, order, error, seed=0):
    return {
        "experiment": "sr-mnist",
        "environment": record()["environment"],
        "table": {"row": row, "order": order},
        "data": {"name": "mnist"},
        "model": {"network": "LSTM", "parameters": 1234},
        "protocol": {"seed": seed},
        "result": {
            "test_error": error,
            "validation_error": 0.1,
            "training_seconds": 120.0,
            "seconds": 130.0,
            "sequences": 900,
        },
    }


def test_tables_of_the_command_have_a_line_for_each_row_in_its_order_with_the_papers_figure():
    given = [
        of_table("SR-GRU (k = 100)", 9, 0.2),
        of_table("of our own", 2, 0.4),
        of_table("LSTM", 0, 0.1),
        of_table("LSTM", 0, 0.3, seed=1),
    ]
    text = report.results(given)
    assert "## MNIST pixel by pixel (Wang, Lawrence and Niepert 2022, table 5)" in text
    [[_, first, second, third]] = tables(text)
    assert first == ["mnist", "LSTM", "1,234", "2", "20.0% (10.0% to 30.0%)", "2.3%", "10.0%", "2", "900 sequences"]
    assert second[1:6] == ["of our own", "1,234", "1", "40.0%", ""]
    assert third[1:6] == ["SR-GRU (k = 100)", "1,234", "1", "20.0%", "failed to converge"]


def test_a_search_shows_its_best_trial_and_how_far_the_others_are():
    trials = [
        {"settings": {"learning_rate": 0.5, "batch": 32}, "val_loss": 2.0},
        {"settings": {"learning_rate": 0.1, "batch": 64}, "val_loss": 2.5},
        {"settings": {"learning_rate": 3.0, "batch": 64}, "val_loss": None},
    ]
    given = {
        "experiment": "tuning",
        "table": {"table": "isan-text8", "row": "RNN"},
        "protocol": {"steps": 30, "epochs": 2},
        "result": {"trials": trials},
        "environment": records.environment(),
    }
    [[_, line]] = tables(report.results([given]))
    assert line == ["isan-text8", "RNN", "3", "60", "2.000", "2.500", "inf", "0.5", "batch 32"]


def test_a_record_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "r.json"
    records.write(path, {"a": 1, "environment": "elsewhere"})
    assert json.loads(path.read_text()) == {"a": 1, "environment": "elsewhere", "format": records.FORMAT}
    with pytest.raises(TypeError):
        records.write(path, {"a": object()})
    assert json.loads(path.read_text())["a"] == 1


def test_a_record_says_where_it_was_made(tmp_path):
    records.write(tmp_path / "r.json", {"a": 1})
    assert json.loads((tmp_path / "r.json").read_text())["environment"] == records.environment()


def test_the_environment_names_versions_and_hardware():
    found = records.environment()
    assert set(found) == {"date", "commit", "python", "versions", "backend", "hardware", "accelerator"}
    assert "cores of" in found["hardware"]
    assert found["backend"] == keras.backend.backend() in found["versions"]
    assert all(found["versions"].values())


def test_where_the_count_is_has_its_errors_in_the_order_of_the_tests():
    found = {"errors": {"test_d10_l200": 0.3, "test_d5_l200": 0.1}, "drift": {"h": 0.5, "c": 4.0}}
    given = {
        "experiment": "parentheses_states",
        "data": {"config": "large_near"},
        "protocol": {"tests": ["test_d5_l200", "test_d10_l200"]},
        "result": {"LSTM": found},
        "environment": records.environment(),
    }
    [[head, line]] = tables(report.results([given]))
    assert head[2:4] == ["d5 l200", "d10 l200"]
    assert line == ["large_near", "LSTM", "10.0%", "30.0%", "0.5", "4.0"]


@functools.cache
def committed():
    """A record of each experiment."""
    return {found["experiment"]: found for found in report.read(ROOT / "docs" / "records")}


@pytest.mark.parametrize("experiment", sorted(committed()))
def test_a_record_in_which_something_is_missing_is_named(experiment, tmp_path):
    whole = {name: value for name, value in committed()[experiment].items() if name not in ("file", "remark")}
    path = tmp_path / "mine.json"
    refused = 0
    for part in {"data", "environment", "model", "protocol", "result", "table"} & set(whole):
        for changed in ({}, {part: None}, {part: []}, {part: "x"}):
            path.write_text(json.dumps({**{name: whole[name] for name in whole if name != part}, **changed}))
            found = report.read(tmp_path)
            try:
                report.results(found)
            except ValueError as error:
                assert str(path) in str(error)  # noqa: PT017
                assert f"A record of {experiment} holds all that the report reads" in str(error)  # noqa: PT017
                refused += 1
    assert refused


def test_a_record_of_which_nothing_can_be_drawn_is_named(tmp_path):
    whole = committed()["recommend"]
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({**whole, "curve": [{}]}))
    with pytest.raises(ValueError, match=r"A record of recommend holds all .* Received: .*mine.json \(KeyError"):
        report.write(report.read(tmp_path), tmp_path / "results.md")

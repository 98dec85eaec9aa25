import functools
import json
import re
import types
from pathlib import Path

import pytest

from examples import papers
from examples.papers import _experiment
from examples.papers import _records as records
from examples.papers import _report as report
from tests.papers.common import EXPERIMENTS, RECORDS, tables

ROOT = Path(__file__).parents[2]


if not RECORDS.is_dir():
    pytest.skip("the source archive has no records", allow_module_level=True)


def pages(given, path=None, templates=RECORDS):
    """The pages of the report, with the committed prose."""
    return report.pages(papers.EXPERIMENTS, given, templates, path)


def results(given, path=None, templates=RECORDS):
    """All of its pages."""
    return "\n".join(pages(given, path, templates).values())


def test_the_committed_report_is_generated_from_the_committed_records():
    found = pages(report.read(RECORDS), ROOT / "docs" / "results.md")
    assert {path.name: path.read_text() for path in (ROOT / "docs").glob("results*.md")} == found
    assert sum(text.count("](figures/") for text in found.values()) > 30


def test_pictures_that_are_not_beside_the_report_are_left_out(tmp_path):
    found = [read for read in report.read(RECORDS) if read["experiment"] == "temperature"]
    (tmp_path / "figures").mkdir()
    for path in (None, tmp_path / "results.md"):
        assert "](figures/" not in results(found, path)
    (tmp_path / "figures" / "temperature.png").write_bytes(b"")
    assert results(found, tmp_path / "results.md").count("](figures/temperature.png)\n") == 2


def sections_by_link(texts):
    """page#anchor -> the section."""
    found = {}
    for page, text in texts.items():
        for section in text.split("\n## ")[1:]:
            anchor = re.sub(r"[^\w\- ]", "", section.splitlines()[0]).lower().replace(" ", "-")
            found[f"{page}#{anchor}"] = section
    return found


def test_every_section_says_what_was_found_before_how():
    for path in RECORDS.glob("*.md"):
        text = path.read_text()
        assert text.count("**What was found.**") == 1, path
        assert text.index("\n\n**What was found.**") < text.index("`python -m examples.papers "), path


def test_figures_in_the_readme_are_those_of_the_section_they_lead_to():
    found = sections_by_link(pages(report.read(RECORDS)))
    checked = 0
    for item in re.split(r"^- ", (ROOT / "README.md").read_text(), flags=re.MULTILINE):
        for link in re.findall(r"\(docs/(results[\w-]*\.md#.*?)\)", item):
            for figure in re.findall(r"\*\*(\d.*?)\*\*", item):
                assert figure in found[link], (figure, link)
                checked += 1
    assert checked >= 4


def test_the_readme_counts_the_networks_that_are_proved():
    results = [each["result"] for each in report.read(RECORDS) if each["experiment"] == "tomita"]
    assert all(result["certified"] and result["exact"] for result in results)
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert len(results) == 7 * 5
    assert "five networks were trained on each, and all 35 are proved right" in readme


def test_an_experiment_with_records_has_a_template_with_all_its_fields():
    used = {path.stem: re.findall(r"\{(\w+)\}", path.read_text()) for path in RECORDS.glob("*.md")}
    assert set(used) <= set(EXPERIMENTS)
    for experiment, of_this in report.by_experiment(papers.EXPERIMENTS, report.read(RECORDS)):
        assert set(used[experiment.name]) == set(experiment.fields(of_this)), experiment.name
        assert used[experiment.name][-1] == "runs", experiment.name


def test_a_template_with_an_unknown_field_is_named(tmp_path):
    (tmp_path / "sr-mnist.md").write_text("## Mine\n\n{tabel}\n")
    with pytest.raises(ValueError, match=r"must be among {table}, {runs}. Received: {tabel} in .*sr-mnist.md. Correct"):
        results([of_table("LSTM", 0, 0.1)], templates=tmp_path)


def of_table(row, order, error, seed=0):
    return {
        "experiment": "sr-mnist",
        "environment": records.environment(),
        "table": {"row": row, "order": order},
        "data": {"name": "mnist", "pixels": 784, "test": 1000},
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
    text = results(given)
    assert "## MNIST pixel by pixel (Wang, Lawrence and Niepert 2022, table 5)" in text
    [[_, first, second, third]] = tables(text.partition("\n# Results: ")[2])
    assert first == ["mnist", "LSTM", "1,234", "2", "20.0% (10.0% to 30.0%)", "2.3%", "10.0%", "2", "900 sequences"]
    assert second[1:6] == ["of our own", "1,234", "1", "40.0%", ""]
    assert third[1:6] == ["SR-GRU (k = 100)", "1,234", "1", "20.0%", "failed to converge"]


@functools.cache
def committed():
    """A record of each experiment."""
    return {found["experiment"]: found for found in report.read(RECORDS)}


@pytest.mark.parametrize("experiment", sorted(committed()))
def test_a_record_in_which_something_is_missing_is_named(experiment, tmp_path):
    whole = {name: value for name, value in committed()[experiment].items() if name != "file"}
    path = tmp_path / "mine.jsonl"
    refused = 0
    for part in {"data", "environment", "model", "protocol", "result", "table"} & set(whole):
        for changed in ({}, {part: None}, {part: []}, {part: "x"}):
            path.write_text(json.dumps({**{name: whole[name] for name in whole if name != part}, **changed}))
            rules = (f"A record of {experiment} holds all that the report reads", f"{part} of a record must be objects")
            try:
                results(report.read(tmp_path))
            except ValueError as error:
                assert str(path) in str(error)  # noqa: PT017
                assert any(rule in str(error) for rule in rules)  # noqa: PT017
                refused += 1
    assert refused


def test_a_record_of_which_nothing_can_be_drawn_is_named(tmp_path):
    whole = committed()["minimal-rnn-recommendation"]
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({**whole, "curve": [{}]}))
    with pytest.raises(
        ValueError, match=r"A record of minimal-rnn-recom.* holds all .* Received: .*mine.jsonl: .* \(KeyError"
    ):
        report.write(papers.EXPERIMENTS, report.read(tmp_path), tmp_path / "results.md")


def test_rows_stand_where_the_experiment_has_them_now():
    """Not where it had them when a record was written: seeds of a row that has moved since are one line."""
    posts = EXPERIMENTS["sr-newsgroups"]
    row = list(posts.rows)[-1]
    given = [{"experiment": "sr-newsgroups", "table": {"row": row, "order": order}} for order in (0, 3)]
    given.append({"experiment": "sr-newsgroups", "table": {"row": "of earlier days", "order": 7}})
    [(_, found)] = report.by_experiment([posts], given)
    assert [record["table"]["order"] for record in found] == [len(posts.rows) - 1] * 2 + [7]
    assert given[0]["table"]["order"] == 0


@pytest.mark.parametrize(
    ("first", "second", "counted"),
    [
        ((True,), (False,), "first"),
        ((None, None), (False, None), "second"),
        ((True, None), (False, False), "second"),
        ((True, None), (None, False), "first"),
        ((None,), (None,), "first"),
    ],
)
def test_of_experiments_on_one_claim_the_one_that_measured_more_counts(first, second, counted):
    def on(name, *holds):
        findings = [_experiment.Finding("a figure" * (each is not None), each) for each in holds]
        claims = [_experiment.Claim("table 5", "a claim", "", f"on {name}", tuple(findings))]
        return types.SimpleNamespace(place="Wang 2022, table 5"), claims, f"## {name.capitalize()}"

    text = report.at_a_glance(report._best_measured([on("first", *first), on("second", *second)]))
    [[_, line]] = tables(text)
    assert line[:3] == [f"[table 5](#{counted})", "a claim", f"on {counted}"]
    assert text.count("a claim") == 1


def test_networks_that_read_as_much_decide_what_was_not_tried():
    """The claim on small networks compares them after equal text; an ISAN trained to its end decides nothing."""
    given = [each for each in report.read(RECORDS) if each["run"].startswith("isan_text8")]

    def verdict(given):
        claims = EXPERIMENTS["isan-text8"].claims(given)
        [found] = [claim.verdict for claim in claims if claim.says.startswith("With 80,000 weights it is considerably")]
        return found

    assert verdict(given) == "not tried"
    [own] = [
        each
        for each in given
        if (each["model"]["size"], each["data"]["name"]) == ("8e4", "wiki27") and not each["protocol"].get("minutes")
    ]

    def read(network, more_bits):
        return {
            **own,
            "table": {"row": f"{network}-8e4, 128 M characters"},
            "model": {**own["model"], "layer": network},
            "protocol": {**own["protocol"], "minutes": None},
            "result": {**own["result"], "test_bits": own["result"]["test_bits"] + more_bits},
        }

    isans = [read("ISAN", bits) for bits in (0.0, 0.001, 0.002)]
    for more_bits, found in ((-0.1, "found in part"), (0.1, "contradicted")):
        others = [read(network, more_bits) for network in ("RNN", "IRNN", "GRU", "LSTM")]
        assert verdict([*given, *isans, *others]) == found
        # One seed of each: nothing is known of their spread.
        assert verdict([*given, isans[0], *others]) == "undetermined"

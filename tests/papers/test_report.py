import functools
import itertools
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


def tables_of_sections(text):
    """All but those of the claims."""
    return tables(text.partition("\n# Results: ")[2])


def pages(given, path=None, templates=RECORDS):
    """The pages of the report, with the committed prose."""
    return report.pages(papers.EXPERIMENTS, given, templates, path)


def results(given, path=None, templates=RECORDS):
    """All of its pages."""
    return "\n".join(pages(given, path, templates).values())


def record(name="mine", size="8e4", bits=1.9):
    return {
        "experiment": "isan-text8",
        "data": {"name": name, "characters": 1000, "text_sha256": "ab" * 32, "whole_text8": False},
        "model": {"layer": "ISAN", "size": size, "units": 53, "parameters": 78785},
        "protocol": {"batch": 2, "epochs": 1},
        "result": {"test_bits": bits, "validation_bits": 1.95, "characters": 2e6, "seconds": 7200},
        "environment": {**records.environment(), "commit": "c0ffee"},
    }


def test_the_committed_report_is_generated_from_the_committed_records():
    found = pages(report.read(RECORDS), ROOT / "docs" / "results.md")
    assert {path.name: path.read_text() for path in (ROOT / "docs").glob("results*.md")} == found
    assert sum(text.count("](figures/") for text in found.values()) > 30


def test_the_first_page_opens_with_pictures_and_what_was_found():
    first = pages(report.read(RECORDS), ROOT / "docs" / "results.md")["results.md"]
    shown = re.findall(r"^!\[(.*)\]\(figures/.*\)\n\n(.*)$", first.partition("\n**[")[0], re.MULTILINE)
    assert len(shown) == 10
    verdict = "|".join(verdict.capitalize() for verdict in _experiment.VERDICTS)
    for says, caption in shown:
        assert re.search(rf"\d, \[.*\]\(results-.*\): {re.escape(says)} \*\*({verdict})\*\*: [✓✗–]", caption)


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


def test_every_section_is_linked_at_the_top_and_its_runs_are_folded():
    texts = pages(report.read(RECORDS), Path("mine.md"))
    first, *others = texts
    assert first == "mine.md"
    assert others == [f"mine-{name}.md" for name in ("isan", "minimal-rnn", "state-regularized", "others")]
    of_experiments = {link: text for link, text in sections_by_link(texts).items() if not link.startswith("mine.md")}
    links = re.findall(r"^- \[.*\]\((.*)\)$", texts["mine.md"], re.MULTILINE)
    assert links == list(of_experiments)
    assert links[0] == "mine-isan.md#isan-on-character-text-foerster-et-al-2017-table-1"
    for page in others:
        top = texts[page].partition("\n## ")[0]
        assert [f"{page}{link}" for link in re.findall(r"\((#.*)\)$", top, re.MULTILINE)] == [
            link for link in links if link.startswith(f"{page}#")
        ]
    for section in of_experiments.values():
        assert section.count("<details>") == section.count("</details>") > 0
        assert section.endswith("\n\n</details>\n")


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.md")), ids=lambda path: path.stem)
def test_every_section_says_what_was_found_before_how(path):
    text = path.read_text()
    assert text.count("**What was found.**") == 1
    assert text.index("\n\n**What was found.**") < text.index("`python -m examples.papers ")


def test_links_lead_to_headings_that_are_there():
    texts = pages(report.read(RECORDS))
    headings = {
        f"{page}#{report._anchor(heading)}" for page, text in texts.items() for heading in report._headings(text, "##+")
    }
    followed = 0
    for page, text in texts.items():
        for other, anchor in re.findall(r"\]\((results[\w-]*\.md)?#(.*?)\)", text):
            assert f"{other or page}#{anchor}" in headings
            followed += 1
    assert followed > 100


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


@pytest.mark.parametrize("experiment", papers.EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_an_experiment_with_records_has_a_template_with_all_its_fields(experiment):
    of_this = [each for each in report.read(RECORDS) if each["experiment"] == experiment.name]
    path = RECORDS / f"{experiment.name}.md"
    if of_this:
        assert path.exists(), f"write {path}"
        used = re.findall(r"\{(\w+)\}", path.read_text())
        assert set(used) == set(experiment.fields(of_this))
        assert used[-1] == "runs"


def test_no_template_is_without_an_experiment():
    assert {path.stem for path in RECORDS.glob("*.md")} <= set(EXPERIMENTS)


def test_without_a_template_an_experiment_has_a_heading_and_its_tables():
    text = results([record()], templates=None)
    assert "\n## ISAN on character text (Foerster et al. 2017, table 1)\n\n`python -m examples.papers run" in text
    assert len(tables(text)) >= 1


def test_a_template_with_an_unknown_field_is_named(tmp_path):
    (tmp_path / "isan-text8.md").write_text("## Mine\n\n{tabel}\n")
    says = r"must be among {by_characters}, .* Received: {tabel} in .*isan-text8.md. Correct"
    with pytest.raises(ValueError, match=says):
        results([record()], templates=tmp_path)


def test_a_record_of_no_experiment_is_refused():
    with pytest.raises(ValueError, match="of an experiment that .* Received: mine.json of 'composition'"):
        results([{**record(), "experiment": "composition", "file": "mine.json"}])


def test_the_gru_that_was_trained_is_named_below_the_first_table_that_has_one():
    text = results([equal_time("GRU", 2.0), equal_time("LSTM", 2.1)])
    assert text.count("GRU: Keras's, whose reset gate multiplies after") == 1
    assert text.index("| GRU |") < text.index("GRU: Keras's") < text.index("Data:")
    assert "GRU: Keras's" not in results([equal_time("LSTM", 2.1)])


def test_sections_stand_in_one_order_whatever_the_order_of_the_records():
    given = [of_table("LSTM", 0, 0.1), {**of_table("LSTM", 0, 0.1), "experiment": "sr-imdb"}, record()]
    for order in itertools.permutations(given):
        text = results(list(order))
        found = [text.index(title) for title in ("## ISAN on", "## IMDB", "## MNIST")]
        assert found == sorted(found)
        assert text.count("\n## ") == 4  # with the claims


def equal_time(network, bits, minutes=30, size="1.28e6"):
    found = record(bits=bits)
    found["model"] = {**found["model"], "layer": network, "size": size, "parameters": int(float(size))}
    found["protocol"] = {**found["protocol"], "minutes": minutes}
    found["result"] = {**found["result"], "training_seconds": 60 * minutes}
    return found


def of_table(row, order, error, seed=0):
    return {
        "experiment": "sr-mnist",
        "environment": record()["environment"],
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
    [[_, first, second, third]] = tables_of_sections(text)
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


def claims_of(text):
    """(place, what the paper says) -> verdict, of the tables at the top of a report."""
    glance = text.partition("## The claims of the papers")[2].partition("\n## ")[0]
    rows = [row for table in tables(glance) for row in table[1:]]
    places = [re.sub(r"\[(.*)\]\(#.*\)", r"\1", row[0]) for row in rows]
    says = [row[1].partition(" *“")[0] for row in rows]
    return dict(zip(zip(places, says, strict=True), [row[4].split("*")[2] for row in rows], strict=True))


def test_the_report_counts_the_verdicts_on_all_claims_and_on_those_of_each_paper():
    text = results(report.read(RECORDS))
    found = list(claims_of(text).values())
    counts = [found.count(verdict) for verdict in report.VERDICTS]
    assert sum(counts) == len(found) > 60
    line = ", ".join(f"{count} {verdict}" for count, verdict in zip(counts, report.VERDICTS, strict=True))
    assert f"\nOf {len(found)} claims: {line}.\n" in text
    counted = ", ".join(rf"(\d+) {verdict}" for verdict in report.VERDICTS)
    of_papers = re.findall(rf"^### .* \d{{4}}: {counted}$", text, re.M)
    assert [sum(map(int, column)) for column in zip(*of_papers, strict=True)] == counts
    assert len(of_papers) == 3


def changed(experiment, change):
    """Verdicts on the claims of an experiment, as committed and after its records were changed."""
    given = [each for each in report.read(RECORDS) if each["experiment"] == experiment]
    before = claims_of(results(given))
    for each in given:
        change(each)
    return before, claims_of(results(given))


def verdict(claims, beginning):
    [found] = [verdict for (_, says), verdict in claims.items() if says.startswith(beginning)]
    return found


def test_more_bits_or_errors_make_a_claim_unfound():
    def worse(record):
        record["result"]["test_bits"] *= 1.1

    before, after = changed("isan-text8", worse)
    assert verdict(before, "An ISAN with 1.28 million") == "found"
    assert verdict(after, "An ISAN with 1.28 million") == "contradicted"

    def many_errors(record):
        record["result"]["test_error"] += 0.5

    before, after = changed("sr-newsgroups", many_errors)
    for headers in ("14.4% with", "34.3% without"):
        says = f"A network with 20 centroids has an error of {headers} headers"
        assert verdict(before, says) == "found"
        assert verdict(after, says) == "contradicted"


def test_a_share_of_networks_is_undecided_while_its_interval_holds_the_bound():
    def certified_up_to(seed):
        def change(record):
            record["result"]["certified"] = record["model"]["seed"] < seed

        return change

    says = "As the temperature goes to 0"
    verdicts = [verdict(changed("tomita", certified_up_to(seed))[1], says) for seed in (5, 4, 1)]
    assert verdicts == ["found", "undetermined", "contradicted"]


def test_a_claim_on_every_column_is_found_in_part_by_one():
    def one_column(record):
        if record["model"]["layer"] == "LSTM":
            record["result"]["errors"] |= {"test_d5_l200": 0.4, "test_d20_l1000": 0.9}

    before, after = changed("sr-parentheses", one_column)
    says = "An SR-LSTM-P extrapolates better than an LSTM"
    assert (verdict(before, says), verdict(after, says)) == ("found in part", "found")


def test_networks_that_read_as_much_decide_what_was_not_tried():
    """The claim on small networks compares them after equal text; an ISAN trained to its end decides nothing."""
    given = [each for each in report.read(RECORDS) if each["run"].startswith("isan_text8")]
    says = "With 80,000 weights it is considerably worse"
    assert verdict(claims_of(results(given)), says) == "not tried"
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
        assert verdict(claims_of(results([*given, *isans, *others])), says) == found
        # One seed of each: nothing is known of their spread.
        assert verdict(claims_of(results([*given, isans[0], *others])), says) == "undetermined"

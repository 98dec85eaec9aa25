"""Verdicts: what they follow from, and the intervals that decide."""

import math

import numpy as np
import pytest
from scipy import stats

from examples import papers
from examples.papers import _report
from examples.papers import _verdicts as verdicts
from examples.papers._experiment import CLAIMS, Claim, Finding, claims_of
from tests.papers.common import EXPERIMENTS, RECORDS, needs_records

OPEN = Finding("a figure")
MISSING = Finding()
TRUE, FALSE = (Finding("a figure", holds) for holds in (True, False))


def shown(value):
    return f"{value:.2f}"


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        ((TRUE, TRUE), "found"),
        ((TRUE, FALSE), "found in part"),
        ((TRUE, OPEN), "found in part"),
        ((TRUE, MISSING), "found in part"),
        ((FALSE, FALSE), "contradicted"),
        ((FALSE, OPEN), "contradicted"),
        ((OPEN, OPEN), "undetermined"),
        ((OPEN, MISSING), "undetermined"),
        ((MISSING, MISSING), "not tried"),
        ((), "not tried"),
    ],
)
def test_a_verdict_follows_from_what_holds(findings, verdict):
    assert Claim("table 1", "a claim", "", "a rule", findings or (MISSING,)).verdict == verdict


def test_a_share_is_above_a_bound_with_its_whole_interval():
    """Wilson's interval solves (p - share)^2 = z^2 p (1 - p) / n."""
    low, high = verdicts.wilson(21, 25)
    for p in (low, high):
        assert (p - 21 / 25) ** 2 == pytest.approx(1.96**2 * p * (1 - p) / 25)
    holds = [finding.holds for finding in verdicts.share([True] * 21 + [False] * 4, 0.5, 0.8, 0.99)]
    assert holds == [True, None, False]
    assert verdicts.share([], 0.5) == [MISSING]


@pytest.mark.parametrize("seed", range(3))
def test_means_differ_by_welchs_interval(seed):
    rng = np.random.default_rng(seed)
    ours, others = rng.normal(0.0, 1.0, 5).tolist(), rng.normal(0.5, 2.0, 4).tolist()
    interval = stats.ttest_ind(ours, others, equal_var=False).confidence_interval(0.95)
    for bound in (interval.low, interval.high):
        assert verdicts.fewer(ours, others, shown, -bound - 1e-9).holds is (True if bound == interval.high else None)
        assert verdicts.fewer(ours, others, shown, -bound + 1e-9).holds is (False if bound == interval.low else None)


def test_one_seed_decides_nothing_unless_the_spread_is_known():
    assert verdicts.fewer([1.0], [2.0, 2.1, 2.2], shown) == Finding("1.00 against 2.10 (1 and 3 seeds)")
    assert verdicts.fewer([1.0], [2.0, 2.1, 2.2], shown, spread=0.1).holds
    assert verdicts.fewer([1.0], [1.1], shown, spread=0.1).holds is None
    assert verdicts.reaches([1.0], 2.0, shown).holds is None
    assert verdicts.above([1.0], 0.5, shown).holds is None


def test_networks_are_alike_within_a_distance_with_their_whole_interval():
    same, apart = [1.0, 1.1, 0.9], [2.0, 2.1, 1.9]
    assert verdicts.alike(same, same, shown, 1.0).holds
    assert verdicts.alike(same, apart, shown, 0.5).holds is False
    assert verdicts.alike(same, apart, shown, 1.0).holds is None


def test_the_papers_figure_is_reached_unless_ours_is_above_it_by_the_errors_of_both():
    ours = [1.0, 1.1, 1.2]
    both = 2 * math.sqrt(0.1**2 / 3 + 0.1**2 + 2 * 0.05**2)
    assert verdicts.reaches(ours, 1.1, shown, error=0.05).holds
    assert verdicts.reaches(ours, 1.0, shown, margin=0.1).holds
    assert verdicts.reaches(ours, 1.1 - both + 1e-6, shown, error=0.05).holds is None
    assert verdicts.reaches(ours, 1.1 - both - 1e-6, shown, error=0.05).holds is False
    assert verdicts.reaches([], 1.0, shown) == MISSING


def test_a_mean_is_above_a_bound_with_its_whole_interval():
    assert verdicts.above([1.0, 1.01, 0.99], 0.9, shown, "it is") == Finding("it is 1.00 (3 seeds)", True)
    assert verdicts.above([1.0, 1.01, 0.99], 1.1, shown).holds is False
    assert verdicts.above([1.0, 1.5, 0.5], 0.9, shown).holds is None


@needs_records
def test_every_claim_of_the_papers_is_held_against_the_records():
    records = _report.read(RECORDS)
    told, listed = ({name: [] for name in EXPERIMENTS} for _ in range(2))
    for experiment, of_this in _report.by_experiment(papers.EXPERIMENTS, records):
        told[experiment.name] = [(one.place, one.says, one.quote) for one in experiment.claims(of_this)]
        listed[experiment.name] = [*claims_of(experiment.name).values()]
    assert told == listed
    pages = " ".join(" ".join(path.read_text("utf-8").replace("\n> ", " ").split()) for path in CLAIMS.glob("*.md"))
    every = {claim for of_experiment in told.values() for claim in of_experiment}
    assert len(every) == pages.count("**") / 2 > 70
    assert all(f"({place}). {says}" in pages and quote in pages for place, says, quote in every)


@needs_records
def test_every_claim_says_what_contradicts_it_and_what_would_decide_it():
    records = _report.read(RECORDS)
    for experiment, of_this in _report.by_experiment(papers.EXPERIMENTS, records):
        for one in experiment.claims(of_this):
            assert one.evidence or one.verdict != "contradicted", one.says
            assert one.decides or one.verdict not in ("undetermined", "not tried"), one.says
            assert one.decides or one.evidence or one.verdict == "found", one.says

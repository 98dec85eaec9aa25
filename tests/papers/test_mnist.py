"""Which differences between networks on pixels the claims count."""

import pytest

from tests.papers.common import EXPERIMENTS


def claims_of(name, **errors):
    """Row -> test errors; the findings of the claims, in their order."""
    records = [{"table": {"row": row}, "result": {"test_error": error}} for row in errors for error in errors[row]]
    return [claim.findings for claim in EXPERIMENTS[name].claims(records)]


@pytest.mark.parametrize(
    ("other", "holds"), [([0.011], None), ([0.0101, 0.0119, 0.011], None), ([0.0141, 0.0142, 0.014], True)]
)
def test_a_network_is_better_by_what_seeds_and_digits_leave_no_doubt_of(other, holds):
    own = {"SR-LSTM-P (k = 100, eq. 20)": [0.0100, 0.0101, 0.0099]}
    _, better, _, centroids, _ = claims_of("sr-mnist", **own, **{"LSTM": other, "SR-LSTM-P (k = 50)": other})
    assert [finding.holds for finding in better] == [None, None, holds]
    assert [finding.holds for finding in centroids] == [holds]


def test_networks_that_take_up_their_centroids_slowly_stand_for_their_kind():
    both = {"SR-LSTM-P (k = 100, eq. 20)": [0.05], "SR-LSTM-P (k = 100, eq. 20), slide": [0.02]}
    reached, better, *_ = claims_of("sr-mnist-quarter", **both, LSTM=[0.03])
    assert reached[0].figure == "2.00% (1 seed)"
    assert better[2].figure == "LSTM: 2.00% against 3.00% (1 and 1 seeds)"
    assert better[2].holds is None

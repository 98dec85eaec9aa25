"""WordDropout: replaced ids, their frequency, training alone."""

import numpy as np
import pytest

from keras_interp_rnn.layers import WordDropout
from tests.layers.common import numpy

IDS = np.tile([[0, 5, 6, 7]], (200, 1)).astype("int32")


def test_ids_become_unknown_in_training_alone_and_padding_stays():
    layer = WordDropout(0.5, seed=3)
    np.testing.assert_array_equal(numpy(layer(IDS)), IDS)
    replaced = numpy(layer(IDS, training=True))
    assert replaced.dtype == IDS.dtype
    assert (replaced[:, 0] == 0).all()
    for column in (1, 2, 3):
        assert set(np.unique(replaced[:, column])) == {1, IDS[0, column]}
    assert 0.4 < (replaced[:, 1:] == 1).mean() < 0.6
    assert (numpy(layer(IDS, training=True)) != replaced).any()


def test_the_ids_of_the_unknown_word_and_of_padding_can_be_set():
    replaced = numpy(WordDropout(0.5, unknown_id=9, padding_id=6, seed=3)(IDS, training=True))
    assert (replaced[:, 2] == 6).all()
    assert set(np.unique(replaced[:, 0])) == {0, 9}
    without_padding = numpy(WordDropout(0.5, padding_id=None, seed=3)(IDS, training=True))
    assert set(np.unique(without_padding[:, 0])) == {0, 1}


def test_a_seed_repeats_word_dropout():
    first, again, other = (numpy(WordDropout(0.5, seed=seed)(IDS, training=True)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("rate", [-0.1, 1.0, "a half"])
def test_rates_outside_zero_to_below_one_are_refused(rate):
    with pytest.raises(ValueError, match=r"`rate` must be a number in \[0, 1\)\. Received: rate="):
        WordDropout(rate)

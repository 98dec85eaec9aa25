"""Shares of many sequences: one of them, means by token, and how far two attributions agree."""

import dataclasses

import keras
import numpy as np
import pytest
from scipy import stats

from keras_interp_rnn import analysis

NAMES = ["<pad>", "not", "very", "good", "bad"]


def network(outputs=1, seed=0, mask=False):
    layers = [keras.Input((None,), dtype="int32"), keras.layers.Embedding(5, 3, mask_zero=mask)]
    model = keras.Sequential([*layers, keras.layers.GRU(4), keras.layers.Dense(outputs)])
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(size=weight.shape) for weight in model.get_weights()])
    return model


X = np.array([[1, 3, 2, 3], [4, 1, 3, 0], [2, 4, 0, 0], [3, 1, 4, 2], [4, 4, 1, 3]])


def split_of(model=None, **options):
    return analysis.attribution(model or network(mask=True), X, alphabet=NAMES, **options)


@pytest.mark.parametrize("options", [{}, {"target": [0, 1]}, {"method": "path_integral"}, {"groups": [0, 0, 1, 1]}])
def test_an_item_is_the_attribution_of_one_sequence(options):
    model = network(2, mask=True)
    split = split_of(model, **options)
    assert len(split) == 5
    for i in (0, 3, -1, np.int64(2)):
        one, alone = split[i], analysis.attribution(model, X[[i]], alphabet=NAMES, **options)
        for field in dataclasses.fields(one):
            found, expected = getattr(one, field.name), getattr(alone, field.name)
            if isinstance(expected, np.ndarray):
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
            elif field.name not in ("difference", "residual"):
                assert found == expected
        assert one.residual <= split.residual
    some = split[1:4]
    np.testing.assert_array_equal(some.shares, split.shares[1:4])
    assert some.tokens == split.tokens[1:4]
    assert [len(one) for one in split] == [1] * 5


@pytest.mark.parametrize("index", [5, -6])
def test_a_sequence_that_is_not_there_is_an_error(index):
    with pytest.raises(IndexError, match=rf"an index in \[-5, 5\). Received: {index}"):
        split_of()[index]


@pytest.mark.parametrize("index", ["0", 1.0, True, [0, 1], None])
def test_an_item_is_an_integer_or_a_slice(index):
    with pytest.raises(TypeError, match="an integer or a slice"):
        split_of()[index]


def test_a_ranking_has_the_means_of_tokens_without_masked_steps():
    split = split_of()
    found = split.ranking()
    shares = {}
    for row in range(5):
        for t in range(4):
            if X[row, t]:
                shares.setdefault(NAMES[X[row, t]], []).append((row, split.shares[row, t]))
    assert sorted(found.names) == sorted(shares)
    assert (np.diff(found.mean_absolute) <= 0).all()
    for i, name in enumerate(found.names):
        rows, values = map(np.array, zip(*shares[name], strict=True))
        assert found.counts[i] == len(values)
        for x, mean, error in (
            (values, found.mean[i], found.standard_error[i]),
            (np.abs(values), found.mean_absolute[i], found.standard_error_absolute[i]),
        ):
            np.testing.assert_allclose(mean, x.mean(), atol=1e-14)
            sums = np.array([(x - x.mean())[rows == row].sum() for row in np.unique(rows)])
            expected = np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / len(x)
            np.testing.assert_allclose(error, expected, atol=1e-14)


def test_the_error_of_a_token_that_is_read_once_in_each_sequence_is_that_of_a_mean():
    x = np.random.default_rng(0).normal(size=(7, 3, 2)).astype("float32")
    split = analysis.attribution(keras.Sequential([keras.layers.GRU(3), keras.layers.Dense(1)]), x)
    found = split.ranking()
    assert found.kind == "step"
    for name, mean, error in zip(found.names, found.mean, found.standard_error, strict=True):
        column = split.shares[:, int(name.removeprefix("step ")) - 1]
        np.testing.assert_allclose([mean, error], [column.mean(), stats.sem(column)], atol=1e-14)
    assert np.isnan(split[0].ranking().standard_error).all()


def test_each_of_several_outputs_has_rows_of_its_own():
    models = (network(3, seed=seed, mask=True) for seed in range(20))
    model = next(each for each in models if len(np.unique(each.predict(X, verbose=0).argmax(axis=1))) > 1)
    split = split_of(model)  # the largest output of each sequence
    found = split.ranking()
    assert len(np.unique(split.targets)) > 1
    for output in np.unique(split.targets):
        own = dataclasses.replace(
            split,
            shares=split.shares[split.targets == output],
            targets=split.targets[split.targets == output],
            read=split.read[split.targets == output],
            tokens=tuple(np.array(split.tokens, object)[split.targets == output].tolist()),
        ).ranking()
        rows = found.outputs == output
        np.testing.assert_array_equal(found.mean[rows], own.mean)
        assert tuple(np.array(found.names)[rows]) == own.names
    both, alone = split_of(model, target=[2, 0]).ranking(), split_of(model, target=0).ranking()
    np.testing.assert_allclose(both.mean[both.outputs == 0], alone.mean, atol=1e-14)
    assert "output 3 (index 2):" in str(both)


def test_groups_are_ranked_where_they_are():
    x = np.random.default_rng(0).normal(size=(3, 4, 2)).astype("float32")
    groups = [[0, 0, 1, 1], [0, 1, 1, 2], [0, 0, 0, 0]]
    found = analysis.attribution(keras.layers.GRU(3), x, target=0, groups=groups).ranking()
    assert dict(zip(found.names, found.counts.tolist(), strict=True)) == {"group 1": 3, "group 2": 2, "group 3": 1}


def test_a_printed_ranking_has_counts_and_errors():
    text = str(split_of().ranking())
    assert " most: " in text
    assert text.splitlines()[0].endswith("; mean shares by token, 5 sequences")
    assert "± standard error over sequences" in text
    assert "good" in text
    assert "<pad>" not in text
    assert len(text.splitlines()) <= 20


@pytest.mark.parametrize("outputs", [None, [0, 1]])
def test_agreement_of_two_methods_by_hand(outputs):
    model = network(2, mask=True)
    target = 1 if outputs is None else outputs
    first, second = split_of(model, target=target), split_of(model, target=target, method="telescoping")
    found = first.agreement(second)
    shares = [split.shares.reshape(5, 4, -1) for split in (first, second)]
    for k in range(shares[0].shape[2]):
        pooled = [[], []]
        for row in range(5):
            steps = X[row] != 0
            a, b = (x[row, steps, k] for x in shares)
            for side, x in zip(pooled, (a, b), strict=True):
                side.extend(x)
            each = [x.reshape(5, -1)[row, k] for x in (found.correlation, found.rank_correlation, found.difference)]
            expected = [
                stats.pearsonr(a, b)[0],
                stats.spearmanr(a, b)[0],
                np.abs(a - b).mean() / (a.max() - a.min()),
            ]
            np.testing.assert_allclose(each, expected, atol=1e-12)
            assert found.same_largest.reshape(5, -1)[row, k] == (np.abs(a).argmax() == np.abs(b).argmax())
        overall = [np.ravel(x)[k] for x in (found.overall_correlation, found.overall_rank_correlation)]
        np.testing.assert_allclose(overall, [stats.pearsonr(*pooled)[0], stats.spearmanr(*pooled)[0]], atol=1e-12)
    assert found.methods == ("shapley", "telescoping")
    assert found.overall_correlation.shape == first.output.shape[1:]
    assert "shapley and telescoping, 5 sequences: shares of all steps correlate" in str(found)


def test_agreement_with_itself_is_whole():
    split = split_of()
    found = split.agreement(split)
    np.testing.assert_allclose([found.correlation, found.rank_correlation], 1.0)
    assert (found.same_largest == 1).all()
    assert not found.difference.any()


def test_agreement_of_shares_that_do_not_vary_is_not_known():
    split = split_of()
    flat = dataclasses.replace(split, shares=np.zeros_like(split.shares))
    found = flat.agreement(split)
    assert np.isnan(found.correlation).all()
    assert np.isnan(found.difference).all()
    assert np.isnan(found.overall_correlation)
    empty = dataclasses.replace(split, read=np.zeros_like(split.read))
    assert np.isnan(empty.agreement(empty).same_largest).all()
    assert str(empty.agreement(empty))


def test_agreement_of_two_networks_on_the_same_texts():
    found = split_of(network(seed=0)).agreement(split_of(network(seed=1)))
    assert found.correlation.shape == (5,)
    assert found.overall_correlation < 1


OTHERS = {
    "shares of shapes": lambda split: split[:3],
    "other tokens in sequence 1": lambda split: analysis.attribution(network(2), X, target=0),
    "output 1 \\(index 0\\) and output 2 \\(index 1\\) in sequence 1": lambda split: split_of(network(2), target=1),
    "other groups": lambda split: dataclasses.replace(split, groups=np.zeros((5, 4), int)),
    "that are not": lambda split: dataclasses.replace(split, unit="probability"),
    "must be an Attribution": lambda split: split.shares,
}


@pytest.mark.parametrize("received", OTHERS)
def test_agreement_with_another_question_is_refused(received):
    split = split_of(network(2), target=0)
    with pytest.raises(ValueError, match=received):
        split.agreement(OTHERS[received](split))


@pytest.mark.parametrize("options", [{}, {"target": [0, 1]}])
def test_no_sequences_have_an_empty_ranking_and_agreement(options):
    none = split_of(network(2), **options)[0:0]
    ranking, agreement = none.ranking(), none.agreement(none)
    assert (ranking.names, len(ranking.mean), ranking.num_sequences) == ((), 0, 0)
    assert agreement.correlation.shape == agreement.difference.shape == none.output.shape
    assert np.isnan(agreement.overall_correlation).all()
    assert str(ranking).startswith("Shares of no ")
    assert "0 sequences" in str(agreement)
    with pytest.raises(ValueError, match=r"`sequence` must be an integer in \[0, 0\).* Sequences here: 0"):
        none.top()


def test_the_largest_shares_are_of_a_sequence_and_an_output_that_are_there():
    split = split_of(network(2), target=[0, 1])
    assert split.top(2, sequence=-1, output=-1) == split.top(2, sequence=4, output=1)
    for options, rule in (
        ({"sequence": 7}, r"`sequence` must be an integer in \[-5, 5\). Received: sequence=7"),
        ({"sequence": slice(2)}, "`sequence` must be an integer"),
        ({"output": 3}, r"`output` must be an integer in \[-2, 2\). Received: output=3"),
    ):
        with pytest.raises(ValueError, match=rule):
            split.top(**options)

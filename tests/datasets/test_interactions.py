"""Interactions against a reading one line at a time, and the split against its definition."""

import gzip

import numpy as np
import pytest

from keras_interp_rnn.datasets import DataError, interactions

EVENTS = "ann milk\nbob milk\nann bread\nbob eggs\nann milk\nann eggs\ncy bread\n"
SEQUENCES = "ann milk bread milk eggs\nbob milk eggs\ncy bread\n"
TIMED = "bob eggs 7\nann milk 3\nann bread 1\nbob milk 7.5\nann eggs 1e6\n"


def written(folder, content, name="interactions.txt"):
    path = folder / name
    path.write_text(content)
    return path


def by_user(data):
    """Names of every user's items."""
    return [[data.names[i - 1] for i in data.items[a:b]] for a, b in zip(data.starts, data.starts[1:], strict=False)]


@pytest.mark.parametrize("content", [EVENTS, SEQUENCES, EVENTS.replace(" ", "\t"), EVENTS.replace(" ", ", ")])
def test_events_and_sequences_say_the_same(tmp_path, content):
    data = interactions.load(written(tmp_path, content))
    assert by_user(data) == [["milk", "bread", "milk", "eggs"], ["milk", "eggs"], ["bread"]]
    assert data.gaps is None


def test_the_commonest_item_comes_first_and_zero_is_left_for_padding(tmp_path):
    data = interactions.load(written(tmp_path, EVENTS))
    counts = np.bincount(data.items)
    assert counts[0] == 0
    assert list(counts[1:]) == sorted(counts[1:], reverse=True)
    assert data.names[0] == "milk"


def test_times_put_interactions_in_order_and_give_gaps(tmp_path):
    path = tmp_path / "timed.gz"
    path.write_bytes(gzip.compress(TIMED.encode()))
    data = interactions.load(path)
    assert by_user(data) == [["bread", "milk", "eggs"], ["eggs", "milk"]]
    # 2 s lie in [2, 4), bucket 2; 999,997 s in [2^19, 2^20), bucket 20; half a second counts as one.
    assert data.gaps.tolist() == [0, 2, 20, 0, 1]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("", "which has none"),
        ("\n \n", "which has none"),
        ("a 1\nb\nc 2\n", "line 2"),
        ("a 1 2\nb 1\na 3 4 5\n", "line 3 with user a"),
        ("a x 3\nb y noon\n", "line 2, with 'noon'"),
        ("a x 3\nb y nan\n", "line 2, with 'nan'"),
        ("a x inf\nb y 3\n", "line 1, with 'inf'"),
    ],
)
def test_a_line_that_does_not_fit_is_named(tmp_path, content, place):
    with pytest.raises(DataError, match=place):
        interactions.load(written(tmp_path, content))


def test_names_in_another_encoding_are_not_thrown_together(tmp_path):
    path = tmp_path / "latin"
    path.write_bytes("a caf\xe9\na caf\xe8\n".encode("latin-1"))
    with pytest.raises(DataError, match="Names must be in UTF-8. Received: .*latin, line 1 "):
        interactions.load(path)


def test_the_last_two_interactions_of_long_enough_users_are_held_out(tmp_path):
    data = interactions.load(written(tmp_path, SEQUENCES))
    train, validation, test = data.leave_one_out()

    def names(ids):
        return [data.names[i - 1] for i in ids if i]

    rows = np.arange(3)
    assert [names(row) for row in train.padded(rows)["items"]] == [["milk", "bread"], ["milk", "eggs"], ["bread"]]
    assert names(validation.targets) == ["milk"]
    assert names(test.targets) == ["eggs"]
    assert names(validation.histories.padded(rows[:1])["items"][0]) == ["milk", "bread"]
    assert names(test.histories.padded(rows[:1])["items"][0]) == ["milk", "bread", "milk"]


def test_histories_keep_their_last_interactions_padded_at_the_end():
    data = interactions.generate(num_items=9, num_users=4, length=6)
    train, _, test = data.leave_one_out(max_length=3)
    assert train.padded(np.arange(4))["items"].shape == (4, 3)
    np.testing.assert_array_equal(test.histories.padded(np.array([2]))["items"][0], data.items[14:17])
    short = interactions.Histories(data, np.array([0, 6]), np.array([1, 9]), max_length=5)
    assert short.padded(np.array([0, 1]))["items"][0, 1:].tolist() == [0, 0]


def test_training_batches_cover_every_history_once_in_another_order_each_epoch():
    data = interactions.generate(num_items=50, num_users=23, length=8)
    train, _, _ = data.leave_one_out()
    batches = interactions.TrainingBatches(train, batch_size=5, seed=3)

    def epoch():
        return [batches[i] for i in range(len(batches))]

    first = epoch()
    batches.on_epoch_end()
    second = epoch()
    for inputs, targets in first:
        np.testing.assert_array_equal(inputs["items"][:, 1:], targets[:, :-1])
    rows = [sorted(map(tuple, np.concatenate([targets for _, targets in e]))) for e in (first, second)]
    assert rows[0] == rows[1] == sorted(tuple(row) for row in train.padded(np.arange(23))["items"][:, 1:])
    assert any((a[1].shape != b[1].shape) or (a[1] != b[1]).any() for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_keras_reads_batches_of_all_lengths(tmp_path, seed):
    lines = [" ".join(map(str, [user, *range(5)])) for user in range(30)] + ["more " + " ".join(map(str, range(9)))]
    train, _, _ = interactions.load(written(tmp_path, "\n".join(lines))).leave_one_out(max_length=6)
    batches = interactions.TrainingBatches(train, batch_size=4, seed=seed)
    assert len({batches[i][1].shape[1] for i in (0, 1)}) == 2, "Keras would take the length of these two for all"


def test_drawn_interactions_repeat_with_their_seed_and_stay_in_the_catalogue():
    one, same, other = (interactions.generate(num_items=1000, num_users=30, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.items, same.items)
    assert (one.items != other.items).any()
    assert one.items.min() >= 1
    assert one.items.max() <= 1000


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: interactions.generate(0, 2), "num_items"),
        (lambda: interactions.generate(3, -1), "num_users"),
        (lambda: interactions.generate(3, 2, length=1.5), "length"),
        (lambda: interactions.generate(3, 2).leave_one_out(0), "max_length"),
        (lambda: list(interactions.generate(3, 2).leave_one_out()[0].batches(-1)), "batch_size"),
        (lambda: interactions.TrainingBatches(interactions.generate(3, 2).leave_one_out()[0], 0), "batch_size"),
    ],
)
def test_sizes_are_integers_above_0(make, name):
    with pytest.raises(ValueError, match=f"`{name}` must be an integer of at least 1. Received: {name}="):
        make()


def test_training_takes_two_items():
    with pytest.raises(ValueError, match="Next items are learned from histories of at least two. Received: none."):
        interactions.TrainingBatches(interactions.generate(3, 2, length=1).leave_one_out()[0], 2)

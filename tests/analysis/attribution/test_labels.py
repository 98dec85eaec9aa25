"""True classes next to the answers of a network, and the words that were typed in place of unknown ones."""

import keras
import numpy as np
import pytest

from keras_interp_rnn import analysis, callbacks, datasets
from keras_interp_rnn.analysis.attribution import top_attribution

WORDS = "not a good film at all".split()
NAMES = ["bad", "good"]


def model_of(outputs, activation=None):
    keras.utils.set_random_seed(5)
    parts = [keras.layers.Embedding(6, 4), keras.layers.GRU(5), keras.layers.Dense(outputs, activation)]
    model = keras.Sequential([keras.Input((None,), dtype="int32"), *parts])
    model.set_weights([3 * weight for weight in model.get_weights()])
    return model


def texts(rows=8):
    return np.random.default_rng(3).integers(0, 6, (rows, 5))


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(("outputs", "activation"), [(1, "sigmoid"), (1, None), (3, "softmax"), (3, None)])
def test_a_network_is_wrong_where_it_answers_another_class(outputs, activation, by_name):
    model, x = model_of(outputs, activation), texts()
    found = model.predict(x, verbose=0)
    threshold = 0.5 if activation == "sigmoid" else 0.0
    answers = found.argmax(axis=1) if outputs > 1 else (found[:, 0] >= threshold).astype(int)
    assert len(set(answers)) > 1
    names = NAMES if outputs == 1 else ["sports", "art", "music"]
    labels = np.random.default_rng(0).integers(0, len(names), len(x))
    given = [names[label] for label in labels] if by_name else labels.tolist()
    split = analysis.attribution(model, x, outputs=names, alphabet=WORDS, labels=given, target=0)
    assert split.labels == tuple(names[label] for label in labels)
    np.testing.assert_array_equal(split.wrong, answers != labels)
    for i, one in enumerate(split):
        wrong = f"; wrong: the label is “{names[labels[i]]}”"
        assert str(one).splitlines()[0].endswith(wrong) == (answers[i] != labels[i])
        [(_, described)] = one.tags()
        assert (described["label"], described["wrong"]) == (names[labels[i]], bool(answers[i] != labels[i]))


def test_labels_that_are_not_known_are_not_made_up():
    split = analysis.attribution(model_of(1, "sigmoid"), texts(), outputs=NAMES)
    assert split.labels == ()
    assert split.wrong is None
    assert "wrong" not in str(split[0])
    assert "label" not in split.tags()[0][1]


def test_classes_without_names_are_numbered():
    split = analysis.attribution(model_of(3, "softmax"), texts(2), labels=[2, 0])
    assert split.labels == ("output 3 (index 2)", "output 1 (index 0)")


@pytest.mark.parametrize(
    ("outputs", "labels", "message"),
    [
        (NAMES, [1], "`labels` must be a class for each of 2 sequences"),
        (NAMES, "good", "`labels` must be a class for each of 2 sequences"),
        (NAMES, [0, 2], r"`labels` must be indices in \[0, 2\), or names: bad, good. Received: labels=2"),
        (NAMES, ["good", "Good"], "Received: labels='Good'"),
        (NAMES, [True, 0], "Received: labels=True"),
        (None, [0, 1], "Received: labels of a single output without names of two classes"),
        (datasets.Outputs(["price"], units="EUR"), [0, 0], "Received: labels of a regression"),
    ],
)
def test_rejects_labels_of_no_class(outputs, labels, message):
    with pytest.raises(ValueError, match=message):
        analysis.attribution(model_of(1), texts(2), outputs=outputs, labels=labels)


def test_a_callback_has_a_label_for_each_text(tmp_path):
    model = model_of(1, "sigmoid")
    top = top_attribution(model, texts(1)[0], outputs=NAMES, label="good")
    described = top.tag()[1]
    assert described["label"] == "good"
    assert "wrong" not in described  # the answer changes from step to step
    with pytest.raises(ValueError, match="`labels` must be a class for each of 2 texts"):
        callbacks.Attributions(tmp_path, [[1, 2], [3]], labels=[1])
    watch = callbacks.Attributions(tmp_path, [[1, 2], [3]], outputs=NAMES, labels=["bad", 1])
    watch.set_model(model)
    assert [watch.measured(text).labels for text in watch.texts] == [("bad",), ("good",)]


def test_a_word_outside_the_vocabulary_keeps_its_name():
    names = ["<pad>", "<unk>", "<s>", "a", "good", "film"]
    words = datasets.Alphabet(
        names, padding="<pad>", unknown="<unk>", start="<s>", split=lambda text: text.lower().split()
    )
    model = model_of(2)
    split = analysis.attribution(model, ["A zyzzyva film", "good film"], alphabet=words)
    assert split.tokens == (("<s>", "a", "zyzzyva", "film"), ("<s>", "good", "film", "<pad>"))
    assert top_attribution(model, "a <b> film", alphabet=words).tokens == ("<s>", "a", "<b>", "film")
    listed = analysis.attribution(model, [["a", "zyzzyva"], ["good", "film"]], alphabet=words)
    assert listed.tokens == (("<s>", "a", "zyzzyva"), ("<s>", "good", "film"))
    ids = words.encode_batch(["a zyzzyva film", "good film"])
    assert analysis.attribution(model, ids, alphabet=words).tokens[0][2] == "<unk>"

"""What the record says of a trained network with centroids."""

import dataclasses

import numpy as np
import pytest

from examples.papers import _classification as classification
from examples.papers import _reading as reading
from keras_interp_rnn import analysis
from tests.papers.common import EXPERIMENTS


@pytest.fixture(scope="module", params=["last", "mean"])
def trained(request):
    data = EXPERIMENTS["sr-newsgroups"].read(None, True, {})
    protocol = classification.Protocol(
        "SR-GRU", 6, "mixture", 1.0, units=8, embedding=8, head=request.param, dropout=0.0, batch=8
    )
    model = classification.build(protocol, data, 240, 0)
    x, y = (np.tile(part, (12, 1)[: part.ndim]) for part in data.train)
    model.fit(x, y, 8, epochs=4, verbose=0)
    return model, data


@pytest.mark.matrix
def test_it_says_what_the_analysis_says(trained):
    model, data = trained
    x, _ = data.test
    found = reading.interpret(model, data)
    assert found["texts"] == len(x)
    shares = [centroid["share"] for centroid in found["centroids"]]
    assert sum(shares) == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)
    wanted = analysis.prototypes(model, x, tokens=data.vocabulary, num_tokens=6, by="mean", min_count=5)
    commonest = int(np.argmax(wanted.share))
    assert found["centroids"][0]["class"] == data.classes[wanted.classes[commonest]]
    assert [word for word, _ in found["centroids"][0]["words"]] == [word for word, *_ in wanted.tokens[commonest]]
    of_two = analysis.phrases(model, x, length=2, tokens=data.vocabulary, num_phrases=5, min_count=2)
    for label, best in of_two.items():
        said = found["phrases"]["2"][data.classes[label]]
        assert said == [[phrase, pytest.approx(probability)] for phrase, probability, _ in best]


@pytest.mark.matrix
def test_texts_with_an_address_are_left_out(trained):
    model, data = trained
    names = ("<pad>", *data.vocabulary[1:-1], "@")
    x, y = data.test
    some = x.copy()
    some[:3, 2] = len(names) - 1
    found = reading.interpret(model, dataclasses.replace(data, test=(some, y), vocabulary=names))
    assert found["texts"] == len(x) - int((some == len(names) - 1).any(axis=1).sum()) < len(x)
    assert all("@" not in text["words"] for text in found["explained"])


def test_explained_texts_are_judged_rightly(trained):
    model, data = trained
    x, y = data.test
    logits = model.predict(x, verbose=0)
    classes = analysis.prototypes(model, x, tokens=data.vocabulary).classes
    chosen = reading.informative_texts(model, x, y, classes)
    assert [int(y[i]) for i in chosen] == [
        label for label in (classes.min(), classes.max()) if ((logits.argmax(1) == y) & (y == label)).any()
    ]
    assert (logits[chosen].argmax(axis=1) == y[chosen]).all()
    short = np.flatnonzero((logits.argmax(axis=1) == y) & (y == y[chosen[0]]))  # all are of one length
    towards = analysis.transition_probabilities(model, x[short])[..., classes == y[chosen[0]]].sum(axis=-1)
    spread = np.nanstd(towards, axis=1)
    assert spread[list(short).index(chosen[0])] == spread.max()
    for i in chosen:
        told = reading._explained(model, x[i], data.vocabulary, data.classes, np.flatnonzero(classes == y[i]))
        assert told["class"] == data.classes[y[i]]
        assert told["words"] == [data.vocabulary[token] for token in x[i] if token]
        towards = analysis.trace(model.get_layer("recurrent"), model.layers[1](x[i : i + 1]))["alpha"][0]
        wanted = towards[x[i] > 0][:, classes == y[i]].sum(axis=-1)
        found = np.array(told["probabilities"], np.float64)
        assert np.isnan(found).sum() == 1, "the last word moves it to no centroid"
        np.testing.assert_allclose(found, wanted, atol=1e-3)

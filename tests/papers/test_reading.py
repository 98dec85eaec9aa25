"""What the record says of a trained network with centroids."""

import dataclasses

import numpy as np
import pytest

from examples.papers import _classification as classification
from examples.papers import _reading as reading
from examples.papers import _report as report
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


def interpret(model, data):
    return reading.interpret(model, data)


@pytest.mark.matrix
def test_it_says_what_the_analysis_says(trained):
    model, data = trained
    x, _ = data.test
    found = interpret(model, data)
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
    found = interpret(model, dataclasses.replace(data, test=(some, y), vocabulary=names))
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


CLOSE = {"class": "neg", "share": 0.4, "words": [["bad", 0.9981], ["dull", 0.9962], ["poor", 0.9951]]}


def test_the_report_shows_the_words_and_takes_them_as_they_are():
    told = {
        "texts": 3,
        "centroids": [{"class": "pos", "share": 0.6, "words": [["*great*", 0.9], ["<b>", 0.8]]}, CLOSE],
        "phrases": {"2": {"pos": [["10 |", 0.7]]}},
        "explained": [
            {"class": "pos", "words": ["not", "_bad_", "at", "all", "x"], "probabilities": [0.2, 0.9, 0.85, 0.7, None]}
        ],
    }
    of_table = {"row": "x", "order": 0}
    result = {"test_error": 0.1, "validation_error": 0.2, "training_seconds": 60, "sequences": 9, "seconds": 60}
    record = {
        "experiment": "sr-imdb",
        "table": of_table,
        "data": {"name": "imdb"},
        "model": {"parameters": 3},
        "protocol": {"seed": 0},
        "result": result,
        "environment": {"date": "", "commit": "", "hardware": "", "python": "", "versions": {}},
    }
    better = {**record, "reading": told}
    worse = {**record, "result": {**result, "validation_error": 0.3}, "reading": {**told, "texts": 4}}
    experiments = [EXPERIMENTS["sr-imdb"]]
    text = "\n".join(report.pages(experiments, [record, worse, better]).values())
    assert r"| pos | 60.0% | \*great\* (0.90), \<b\> (0.80) |" in text
    assert "| neg | 40.0% | bad (0.998), dull (0.996), poor (0.995) |" in text
    assert r"| pos | 2 | 10 \| (0.70) |" in text
    assert r"- pos: not **_bad_** at *all* x" in text.replace("\\_", "_")
    assert "\n\n3\n\n" in text, "the number of texts, of the network with the lower validation error"
    assert "\n\n4\n\n" not in text
    assert "| class |" not in "\n".join(report.pages(experiments, [record]).values())

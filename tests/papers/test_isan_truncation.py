"""A trained ISAN made smaller: what is compared with what, and how it is shown."""

import keras
import numpy as np
import pytest

from examples.papers import _records as records
from examples.papers import isan_truncation
from keras_interp_rnn import analysis, datasets
from tests.papers.common import a_run, tables


@pytest.mark.matrix
def test_it_compares_the_network_its_truncation_and_two_trainings_of_equal_length(tmp_path):
    run = a_run(tmp_path / "one", row="192 units", settings={"units": 192})
    run.folder.mkdir()
    record = isan_truncation.TruncatedIsan().run(run)
    bits = record["result"]["test_bits"]
    assert list(bits) == ["whole", "truncated", "fine-tuned", "from scratch"]
    assert list(record["result"]["characters_per_second"]) == list(bits)
    curves = record["result"]["curves"]
    assert [len(curves[start]) for start in ("fine-tuned", "from scratch")] == [2, 2]
    assert (record["model"]["units"], record["protocol"]["units"]) == (12, 8)
    assert len(record["result"]["singular_values"]) == 12
    # Fine-tuning starts from the truncated weights; what was trained is taken over by a second run.
    again = isan_truncation.TruncatedIsan().run(run)
    assert again["result"]["test_bits"] == bits
    assert again["result"]["curves"] == curves


@pytest.mark.matrix
def test_the_truncated_network_is_that_of_the_analysis(tmp_path):
    run = a_run(tmp_path / "one", row="192 units", settings={"units": 192})
    run.folder.mkdir()
    experiment = isan_truncation.TruncatedIsan()
    seen = {}

    def analyse(model, parts, run):
        seen.update(model=model, parts=parts)
        return {}, {}

    experiment.analyse = analyse
    experiment.run(run)
    texts = [seen["parts"][0][i : i + 100] for i in range(0, 500, 100)]
    truncated = analysis.truncate(seen["model"], 8, sequences=texts)
    source = isan_truncation._characters.Text({"test": seen["parts"][2]}, 27, None, {})
    protocol = isan_truncation._characters.Protocol(batch=8, length=20)
    filled = isan_truncation._filled(isan_truncation._characters.build("ISAN", 8, source, protocol), truncated)
    symbols = np.asarray(seen["parts"][2][: 8 * 20]).reshape(8, 20)
    expected = truncated.readout.apply(keras.ops.convert_to_numpy(truncated.layer(symbols)))
    np.testing.assert_allclose(filled.predict_on_batch(symbols), expected, rtol=1e-5, atol=1e-5)


def test_a_network_that_is_no_larger_is_refused(tmp_path):
    model = isan_truncation._characters.build(
        "ISAN", 8, isan_truncation._characters.Text({}, 27, None, {}), isan_truncation._characters.Protocol(batch=2)
    )
    run = a_run(tmp_path, row="192 units", settings={"units": 192})
    parts = datasets.text.split(datasets.text.python_documentation()[:2000])
    with pytest.raises(ValueError, match="fewer units than it has. Received: row '192 units', and a network of 8"):
        isan_truncation.TruncatedIsan().analyse(model, parts, run)


def test_a_row_has_every_network_and_the_picture_the_sizes():
    def record(units, speed):
        names = ("whole", "truncated", "fine-tuned", "from scratch")
        return {
            **{"experiment": "isan-truncation", "data": {"name": "text"}},
            "model": {"layer": "ISAN", "units": 216, "parameters": 9, "sha256": "0" * 64},
            "protocol": {
                "units": units,
                "minutes": 10.0,
                "seed": 0,
                "epochs": 10,
                "steps": 100,
                "batch": 256,
                "length": 100,
            },
            "result": {
                "test_bits": dict(zip(names, (1.6, 1.7, 1.61, 1.65), strict=True)),
                "characters_per_second": dict.fromkeys(names, speed) | {"whole": 1e5},
            },
            "environment": records.environment(),
        }

    experiment = isan_truncation.TruncatedIsan()
    given = [record(192, 1.2e5), record(128, 2.5e5)]
    small, large = tables(experiment.fields(given)["table"])[0][1:]
    assert small == ["text", "216", "128", "1.600", "1.700", "1.610", "1.650", "10", "26 M", "2.50"]
    assert large[2] == "192"
    [axis] = experiment.pictures(given)["isan-truncation.png"].axes
    assert [list(line.get_xdata()) for line in axis.lines[1:]] == [[128, 192]] * 3
    assert experiment.summary(given[0]) == "whole 1.600, truncated 1.700, fine-tuned 1.610, from scratch 1.650"

"""Logs and addresses from strangers: never a failure of the server, and one broken tag hides no other."""

import json

import numpy as np
import pytest
from tensorboard import errors
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util

from tensorboard_plugins.interp_rnn import plugin, schema
from tests.tensorboard_plugin.test_backend import ask, get, plugin_over

COUNTS = np.ones((2, 3, 3), np.float32)
TABLE = {"transitions": [[0, 1], [1, 0]], "accepting": [0], "start": 0, "centroids": [0, 1]}


def write(folder, kind, tensor, *, tag="tag", wall_time=1e9, **content):
    """One event with a wall time and a tensor of the test's choice, as no summary writer would write it."""
    writer = EventFileWriter(str(folder))
    proto = tensor if isinstance(tensor, tensor_pb2.TensorProto) else tensor_util.make_tensor_proto(tensor)
    value = summary_pb2.Summary.Value(tag=tag, metadata=schema.metadata(kind, **content), tensor=proto)
    writer.add_event(event_pb2.Event(wall_time=wall_time, step=0, summary=summary_pb2.Summary(value=[value])))
    writer.close()


def lying(dtype, *shape):
    """A tensor of a few bytes that claims a dtype and a shape."""
    proto = tensor_pb2.TensorProto(dtype=dtype, tensor_content=b"12")
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def answer(folder, path, **arguments):
    """Status and text, as TensorBoard makes them of the public errors of a plugin; no other exception is caught."""
    try:
        response = ask(plugin_over(folder), path, **arguments)
    except errors.PublicError as error:
        return error.http_code, str(error)
    return response.status_code, response.get_data(as_text=True)


@pytest.mark.parametrize("wall_time", [np.nan, np.inf, -np.inf])
def test_a_wall_time_that_is_no_number_hides_no_run(tmp_path, wall_time):
    write(tmp_path / "good", "transition_counts", COUNTS, symbols=["a", "b"])
    write(tmp_path / "odd", "transition_counts", COUNTS, wall_time=wall_time, symbols=["a", "b"])
    served = plugin_over(tmp_path)
    assert set(get(served, "/tags")) == {"good", "odd"}
    assert get(served, "/series", run="odd", tag="tag")["steps"] == [0]


@pytest.mark.parametrize("proto", [lying(1, 10**9, 10**9), lying(1, 2, 3, 3), lying(99, 2, 3, 3), lying(20, 3)])
def test_a_tensor_that_is_not_what_it_claims_is_a_bad_request(tmp_path, proto):
    write(tmp_path / "r", "transition_counts", proto, symbols=["a", "b"])
    status, text = answer(tmp_path, "/series", run="r", tag="tag")
    assert status == 400
    assert "'tag' of the run 'r', which is damaged" in text


def test_a_damaged_tag_beside_another_leaves_its_page(tmp_path):
    write(tmp_path / "r", "transition_counts", COUNTS, symbols=["a", "b"])
    write(tmp_path / "r", "outputs", lying(1, 2, 3), tag="damaged", middle=0.5)
    status, _ = answer(tmp_path, "/page", view="states", tags=json.dumps([{"run": "r", "tag": "tag"}]))
    assert status == 200


@pytest.mark.parametrize(
    ("more", "status"),
    [
        *[(entry, 200) for entry in ('"step": 99', '"step": null', '"step": "0"', '"step": []', '"step": 0.5')],
        *[(entry, 200) for entry in ('"context": 1', '"experiment": 1', '"self": 1', '"tags": []', '"state": 2')],
        *[(entry, 400) for entry in ('"x": NaN', '"x": 1e999', '"x": Infinity', '"x": ' + "[" * 10_000)],
    ],
)
def test_the_state_of_a_page_may_hold_anything(tmp_path, more, status):
    write(tmp_path / "r", "automaton", json.dumps(TABLE).encode(), symbols=["a", "b"])
    tags = json.dumps([{"run": "r", "tag": "tag"}])
    assert answer(tmp_path, "/page", view="states", tags=tags, state=f"{{{more}}}")[0] == status
    told = f'[{{"run": "r", "tag": "tag", {more}}}]'
    assert answer(tmp_path, "/page", view="states", tags=told)[0] == status


@pytest.mark.parametrize("state", ["[]", "1", "null", "no JSON"])
def test_the_state_of_a_page_is_an_object(tmp_path, state):
    write(tmp_path / "r", "automaton", json.dumps(TABLE).encode(), symbols=["a", "b"])
    tags = json.dumps([{"run": "r", "tag": "tag"}])
    status, text = answer(tmp_path, "/page", view="states", tags=tags, state=state)
    assert status == 400
    assert "state must be a JSON object" in text


def test_there_is_no_page_of_a_tag_without_a_step_that_can_be_read(tmp_path):
    write(tmp_path / "r", "transition_counts", -COUNTS, symbols=["a", "b"])
    assert get(plugin_over(tmp_path), "/series", run="r", tag="tag")["steps"] == []
    status, text = answer(tmp_path, "/page", view="states", tags=json.dumps([{"run": "r", "tag": "tag"}]))
    assert status == 404
    assert "no step of 'tag' in the run 'r' that can be read" in text


def test_a_page_has_a_bounded_number_of_tags(tmp_path):
    write(tmp_path / "r", "automaton", json.dumps(TABLE).encode(), symbols=["a", "b"])
    tags = [{"run": "r", "tag": "tag"}] * (plugin.MAX_LISTED + 1)
    status, text = answer(tmp_path, "/page", view="states", tags=json.dumps(tags))
    assert status == 400
    assert f"tags must be at most {plugin.MAX_LISTED}. Received: {plugin.MAX_LISTED + 1}." in text

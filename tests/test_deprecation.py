"""Calls written for the release before are taken, with a warning that names the new form."""

import inspect

import pytest

from keras_interp_rnn._deprecation import former_arguments


@former_arguments(positional=("network", "inputs", "readout", "max_length"), layer="network", longest="max_length")
def read(network, inputs, *, readout=None, max_length=10):
    """Reads."""
    return network, inputs, readout, max_length


@former_arguments(layer="network")
def look(network, *, num_words=3):
    return network, num_words


def test_the_new_form_does_not_warn():
    assert read(1, 2, readout=3, max_length=4) == (1, 2, 3, 4)
    assert read(network=1, inputs=2) == (1, 2, None, 10)


def test_former_places():
    with pytest.warns(DeprecationWarning, match="read now takes readout, max_length by keyword alone"):
        assert read(1, 2, 3, 4) == (1, 2, 3, 4)


def test_former_names():
    with pytest.warns(DeprecationWarning, match="read now calls its argument longest max_length"):
        assert read(1, 2, longest=4) == (1, 2, None, 4)
    with pytest.warns(DeprecationWarning, match="look now calls its argument layer network"):
        assert look(layer=1) == (1, 3)


def test_the_warning_points_at_the_caller():
    with pytest.warns(DeprecationWarning, match="network") as caught:
        look(layer=1)
    assert caught[0].filename == __file__


def test_one_argument_under_two_names():
    with pytest.raises(TypeError, match=r"look\(\) got more than one value for network"):
        look(1, layer=2)
    with pytest.raises(TypeError, match="more than one value for max_length"):
        read(1, 2, max_length=3, longest=4)
    with (
        pytest.warns(DeprecationWarning, match="readout"),
        pytest.raises(TypeError, match="more than one value for readout"),
    ):
        read(1, 2, 3, readout=4)


def test_too_many_arguments():
    with pytest.raises(TypeError, match="takes 2 positional arguments but 5 "):
        read(1, 2, 3, 4, 5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        look(1, other=2)


def test_signature_and_docstring_are_the_new_ones():
    assert list(inspect.signature(read).parameters) == ["network", "inputs", "readout", "max_length"]
    assert read.__doc__ == "Reads."


@pytest.mark.parametrize("arguments", [{"positional": ("a", "b")}, {"old": "b"}, {"positional": ("b",)}])
def test_a_map_to_nothing_is_refused(arguments):
    def function(a, *, c=None):
        pass

    with pytest.raises(ValueError, match="Former arguments map to those of"):
        former_arguments(**arguments)(function)

"""Certificates in files: proofs are repeated when they are read, and changed files are rejected."""

import copy
import dataclasses
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from keras_interp_rnn import automata
from keras_interp_rnn.automata import DFA, Certificate, MooreMachine, tomita
from keras_interp_rnn.automata.certificates import _proved, proof
from tests.automata.networks import LABELS, MODULO_3, drawn, network_of, turned

ROOT = Path(__file__).parents[2]


def saved(folder, model, dfa):
    found = automata.certify(model, dfa)
    assert found.holds, found
    found.save(folder / "certificate.json")
    return found, folder / "certificate.json"


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    _, file = saved(tmp_path_factory.mktemp("certificate"), network_of(tomita(3)), tomita(3))
    return json.loads(file.read_text())


TRUTH = drawn(np.random.default_rng(0), 5, ("a", "b"))
OF_LABELS = drawn(np.random.default_rng(0), 6, "ab", ("a", 7, "b", 8))
PROOFS = {
    **{
        f"a DFA, {transition}": (TRUTH, lambda transition=transition: network_of(TRUTH, transition=transition))
        for transition in ("mixture", "soft_argmax", "gumbel")
    },
    "labels, float32": (OF_LABELS, lambda: automata.compile(OF_LABELS, "SRGRU")),
    "labels, float64": (OF_LABELS, lambda: automata.compile(OF_LABELS, "SRSimpleRNN", dtype="float64")),
}


@pytest.mark.core
@pytest.mark.parametrize("case", PROOFS)
def test_reads_back_the_proof(case, tmp_path):
    truth, build = PROOFS[case]
    model = build()
    certificate, file = saved(tmp_path, model, truth)
    found = Certificate.load(file)
    assert found.check(model)
    for field in ("holds", "dfa", "path", "centroids", "temperature", "epsilon", "failure"):
        assert getattr(found, field) == getattr(certificate, field), field
    assert found.machine == truth
    np.testing.assert_allclose(found.margins, certificate.margins, rtol=1e-12)
    np.testing.assert_allclose(found.decision_margins, certificate.decision_margins, rtol=1e-12)
    assert _proved.as_json(found.proved) == _proved.as_json(certificate.proved)
    assert not found.check(automata.compile(truth if isinstance(truth, DFA) else turned(truth)))


@pytest.fixture(scope="module")
def content_of_labels(tmp_path_factory):
    _, file = saved(tmp_path_factory.mktemp("moore"), automata.compile(MODULO_3, "SRSimpleRNN"), MODULO_3)
    return json.loads(file.read_text())


def changes_of_labels(content):
    """Parts of the file of a network with labels, and changed values of them."""
    network = content["network"]
    kernel, bias = network["head_kernel"], network["head_bias"]
    for labels in (
        *(None, [], ["no"], list(LABELS[:2]), ["a", "a", "b"], ["a", "b", "c"], [*LABELS, "x"]),
        *(["yes", "no", "perhaps"], [1.5, "no", "yes"], [["no"], "perhaps", "yes"], "abc", {"a": 1}),
    ):
        yield "network", {**network, "labels": labels}
    yield "network", {name: value for name, value in network.items() if name != "labels"}
    for value in (bias[:2], 0.0):
        yield "network", {**network, "head_bias": value}
    for value in ([row[:2] for row in kernel], [row[0] for row in kernel], [row[::-1] for row in kernel]):
        yield "network", {**network, "head_kernel": value}
    yield "assumptions", list(proof.ASSUMPTIONS)
    for part in ("dfa", "path"):
        yield part, json.loads(tomita(1).to_json())
        for outputs in (["perhaps", "yes", "no"], ["no", "perhaps"]):
            yield part, {**content[part], "outputs": outputs}


def test_rejects_changed_files_of_labels(content_of_labels, tmp_path):
    assert content_of_labels["network"]["labels"] == list(LABELS)
    assert content_of_labels["assumptions"][-1].startswith("The network is an Embedding, one state-regularized layer")
    assert "of which the largest decides" in content_of_labels["assumptions"][-1]
    for part, value in changes_of_labels(content_of_labels):
        refused(tmp_path, with_digest({**content_of_labels, part: value}), "changed.json")
    _, *others = content_of_labels["network"]["head_bias"]
    other = with_parts(content_of_labels, head_bias=[0.5, *others])
    refused(tmp_path, other, "the weights are not those of the sha256")
    both = json.loads(MooreMachine(MODULO_3.transitions, ["x", "y", "z"]).to_json())
    refused(tmp_path, {**content_of_labels, "dfa": both, "path": both}, "changed.json")


def test_saves_no_label_that_json_lacks(tmp_path):
    model = automata.compile(MODULO_3)
    model.labels = ((0,), (1,), (2,))
    found = automata.certify(model, automata.extract(model).machine)
    assert found.holds
    with pytest.raises(ValueError, match=r"Outputs in JSON must be strings, integers or bools. Received: \(0,\)"):
        found.save(tmp_path / "file.json")


def test_bounds_in_the_file_are_rounded_down_and_short(tmp_path):
    certificate, file = saved(tmp_path, network_of(tomita(5)), tomita(5))
    written = json.loads(file.read_text(), parse_float=Decimal)
    for name in ("margins", "decision_margins"):
        bounds = np.ravel(getattr(certificate, name))
        for bound, number in zip(bounds, np.ravel(written[name]), strict=True):
            assert number <= Decimal(float(bound))
            assert Decimal(float(bound)) - number <= abs(number) * Decimal("1e-8")
            assert len(number.normalize().as_tuple().digits) <= _proved.DIGITS


def test_rounds_down():
    rng = np.random.default_rng(0)
    for x in (rng.normal(size=500) * 10.0 ** rng.integers(-12, 12, size=500)).tolist():
        assert x - 1e-8 * abs(x) <= _proved.rounded_down(x) <= x
    with pytest.raises(ValueError, match="A bound must be finite. Received: inf"):
        _proved.rounded_down(np.inf)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    certificate, file = saved(tmp_path, network_of(tomita(3)), tomita(3))
    before = file.read_bytes()

    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "write_text", fails)
    with pytest.raises(OSError, match="the disk is full"):
        certificate.save(file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_saves_only_proofs_with_weights(tmp_path):
    failed = automata.certify(network_of(tomita(5)), tomita(4))
    with pytest.raises(ValueError, match="have weights, to be saved. Received: one that does not hold: the path of"):
        failed.save(tmp_path / "x.json")
    certificate = automata.certify(network_of(tomita(3)), tomita(3))
    with pytest.raises(ValueError, match="one without weights. Save one that certify"):
        dataclasses.replace(certificate, proved=None).save(tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


def test_check_compares_the_weights_of_the_certificate():
    model = network_of(tomita(3))
    certificate = automata.certify(model, tomita(3))
    assert certificate.check(model)
    assert dataclasses.replace(certificate, proved=None).check(model)
    other = dataclasses.replace(certificate.proved, bias=certificate.proved.bias + 1e-12)
    assert not dataclasses.replace(certificate, proved=other).check(model)


def other_number(value):
    """An array with another first number."""
    return [other_number(value[0]), *value[1:]] if isinstance(value, list) else float(np.float32(-2 * value - 1))


def other_numbers(value):
    """An array of other numbers."""
    return [other_numbers(part) for part in value] if isinstance(value, list) else float(np.float32(-2 * value - 1))


def of_another_network(tmp_path, content):
    """With the right digest the file is rejected, or is a true proof about other weights than the network's."""
    file, content = tmp_path / "other.json", with_digest(content)
    file.write_text(json.dumps(content))
    try:
        found = Certificate.load(file)
    except ValueError:
        refused(tmp_path, content, "must hold to be read")
    else:
        assert not found.check(network_of(tomita(3)))


def with_digest(content):
    return {**content, "sha256": _proved.digest(content["network"])}


def with_parts(content, **parts):
    """The content with other parts of the network, under the digest of the parts before."""
    return {**content, "network": {**content["network"], **parts}}


def refused(tmp_path, text, match):
    file = tmp_path / "changed.json"
    file.write_text(text if isinstance(text, str) else json.dumps(text))
    with pytest.raises(ValueError, match=match) as caught:
        Certificate.load(file)
    assert "\n" not in str(caught.value)


WEIGHTS = ["features", "cell_kernel", "recurrent_kernel", "cell_bias", "centroids", "head_kernel", "head_bias"]


@pytest.mark.parametrize("name", WEIGHTS)
def test_rejects_changed_weights(name, content, tmp_path):
    value = content["network"][name]
    if value is None:
        value = [1.0] * len(content["network"]["recurrent_kernel"][0])
    changed = with_parts(content, **{name: other_number(value)})
    refused(tmp_path, changed, "the weights are not those of the sha256")
    of_another_network(tmp_path, changed)
    refused(tmp_path, with_digest(with_parts(content, **{name: other_numbers(value)})), "the proof fails")
    for bad in ("x", [], [[1.0], [1.0, 2.0]], float("nan"), True, {}):
        refused(tmp_path, with_digest(with_parts(content, **{name: bad})), "must hold to be read")
    del changed["network"][name]
    refused(tmp_path, with_digest(changed), f"the network has other parts: {name}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("dtype", value) for value in ("float16", None)),
        *(("cell", value) for value in ("LSTM", [], None)),
        *(("start", value) for value in (None, 0, 3, "1", True)),
        *(("end", value) for value in (3, 0, "x")),
        *(("ids", value) for value in ([2], [2, 2], [0, 1], None)),
        *(("alphabet", value) for value in (["1", "0"], ["0"], ["0", "0"], [["0"], "1"], None)),
        *((name, value) for name in ("hard", "reset_after", "learns_temperature") for value in (None, 1, "no")),
        *(("hard", True), ("recurrent_bias", [1.0])),
    ],
)
def test_rejects_changed_parts_of_the_network(name, value, content, tmp_path):
    changed = with_parts(content, **{name: value})
    refused(tmp_path, changed, "the weights are not those of the sha256")
    refused(tmp_path, with_digest(changed), "must hold to be read")


def test_rejects_other_ids(content, tmp_path):
    changed = with_parts(content, ids=[3, 2])
    refused(tmp_path, changed, "the weights are not those of the sha256")
    of_another_network(tmp_path, changed)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("format", value) for value in ("keras_interp_rnn.DFA", 1)),
        *(("version", value) for value in (2, 0, True, "1")),
        *(("temperature", value) for value in (40.0, 1e-300, 0.0, -1.0, float("nan"), float("inf"), "1", None)),
        *(("epsilon", value) for value in (0.0, 1.0, 0.9, -0.1, 1e-300, float("nan"), "x")),
        *(
            ("centroids", value)
            for value in ([], [0, 0, 0, 0], [1, 2, 3, 4], [99, 0, 1, 2], ["0", 1, 2, 3], [True] * 4)
        ),
        *((name, value) for name in ("margins", "decision_margins") for value in ([], [1.0], [[1.0]], ["x"], [None])),
        *(("assumptions", []), ("sha256", "0" * 64), ("sha256", None)),
        *((name, value) for name in ("dfa", "path", "network") for value in ({}, [], None, "x")),
        *((name, json.loads(tomita(4).to_json())) for name in ("dfa", "path")),
        ("more", 1),
    ],
)
def test_rejects_changed_claims(name, value, content, tmp_path):
    refused(tmp_path, {**content, name: value}, "changed.json")


def test_rejects_a_path_with_its_symbols_in_another_order(content, tmp_path):
    changed = {**content, "path": {**content["path"], "alphabet": ["1", "0"]}}
    refused(tmp_path, changed, "the path is not over the network's alphabet")


@pytest.mark.parametrize("name", ["head_bias", "centroids", "temperature"])
def test_rejects_numbers_that_no_float32_holds(name, content, tmp_path):
    changed = copy.deepcopy(content)
    if name == "temperature":
        changed[name] += 1e-12
    elif name == "centroids":
        changed["network"][name][0][0] += 1e-12
    else:
        changed["network"][name] += 1e-12
    refused(tmp_path, with_digest(changed), "no float32 holds|cannot hold the temperature 1.0")


def test_rejects_bounds_better_than_proved(content, tmp_path):
    for name in ("margins", "decision_margins"):
        changed = {**content, name: (1.001 * np.array(content[name])).tolist()}
        refused(tmp_path, changed, "the bounds are better than those that are proved of the weights")


def test_replaces_bounds_worse_than_proved(content, tmp_path):
    """So files remain valid when the bounds are improved."""
    changed = {name: (0.9 * np.array(content[name])).tolist() for name in ("margins", "decision_margins")}
    path = tmp_path / "worse.json"
    path.write_text(json.dumps({**content, **changed}))
    found = automata.Certificate.load(path)
    np.testing.assert_allclose(found.margins, content["margins"], rtol=1e-8)
    np.testing.assert_allclose(found.decision_margins, content["decision_margins"], rtol=1e-8)


def test_rejects_damaged_and_missing_files(content, tmp_path):
    for name in content:
        refused(tmp_path, {key: value for key, value in content.items() if key != name}, f"KeyError\\('{name}'\\)")
    text = json.dumps(content)
    for damaged in ("", "{", text[:-1], text[: len(text) // 2], "[]", "1", "[" * 100_000):
        refused(tmp_path, damaged, "A certificate's file must be one that Certificate.save wrote. Received: ")
    with pytest.raises(FileNotFoundError):
        Certificate.load(tmp_path / "none.json")


def check(*files):
    """`python -m keras_interp_rnn check`, where importing Keras, a backend or SciPy raises."""
    program = f"""
import runpy, sys
for name in ("keras", "tensorflow", "jax", "torch", "scipy", "tensorboard"):
    sys.modules[name] = None
sys.argv = ["-m", "check", *{[str(file) for file in files]!r}]
sys.orig_argv = [sys.executable, "-m", "keras_interp_rnn"]
runpy.run_module("keras_interp_rnn", run_name="__main__", alter_sys=True)
"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)


def test_the_command_proves_files_again_with_numpy_alone(content_of_labels, tmp_path):
    certificate, file = saved(tmp_path, network_of(tomita(4)), tomita(4))
    (tmp_path / "labels.json").write_text(json.dumps(content_of_labels))
    done = check(file)
    assert (done.returncode, done.stderr) == (0, "")
    first, *lines = done.stdout.splitlines()
    assert first == f"{file}: the network classifies every word as the automaton does"
    assert lines[0].split() == ["automaton", "4", "states", "over", "'0',", "'1'"]
    assert f"{certificate.margins.min():.4g} nats of a transition" in lines[2]
    assert json.loads(file.read_text())["sha256"] in lines[3]
    assert lines[4:] == ["Assumed:", *(f"- {line}" for line in proof.ASSUMPTIONS)]
    done = check(file, tmp_path / "labels.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  automaton  3 states over '0', '1', labels 'no', 'perhaps', 'yes'" in done.stdout.splitlines()
    assumed = done.stdout.splitlines()[done.stdout.splitlines().index("Assumed:") + 1 :]
    assert len(assumed) == len(proof.ASSUMPTIONS) + 1
    assert sum("of which the largest decides" in line for line in assumed) == 1


def test_the_command_reports_errors_in_one_line_and_checks_the_other_files(content, tmp_path):
    """It prints no character that a terminal obeys."""
    changed = with_parts(content, head_bias=content["network"]["head_bias"] + 1e-3)
    (tmp_path / "changed.json").write_text(json.dumps(changed))
    (tmp_path / "good\x1b[31m\u202e.json").write_text(json.dumps(content))
    (tmp_path / "wrong\x1b]0;x\x07.json").write_text("{")
    names = ("changed.json", "none.json", "wrong\x1b]0;x\x07.json", "none\x9b.json", "good\x1b[31m\u202e.json")
    done = check(*(tmp_path / name for name in names))
    assert done.returncode == 1
    one, other, _, _ = done.stderr.splitlines()
    assert "the weights are not those of the sha256" in one
    assert other.endswith(f"there is no file {tmp_path / 'none.json'}. Give one that Certificate.save wrote.")
    assert done.stdout.startswith(f"{tmp_path}/good\\x1b[31m\\u202e.json: the network")
    assert "Assumed" not in done.stdout
    assert all(c.isprintable() or c == "\n" for c in done.stdout + done.stderr)

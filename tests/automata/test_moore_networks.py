"""Networks with an output for each label: compiled, read, proved and attacked."""

import copy
import dataclasses
import itertools
import json
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from keras_interp_rnn import analysis, automata, callbacks, layers, views
from keras_interp_rnn.automata import DFA, Certificate, MooreMachine, _bounds, _deployed, _proved, certificate, tomita
from keras_interp_rnn.automata._deployed import deployed
from keras_interp_rnn.automata._network import open_acceptor
from tests.automata.test_certificate_bounds import CELLS as RANDOM_CELLS
from tests.automata.test_certificate_bounds import END, IDS, START, array
from tests.oracles import certificate as oracle

ROOT = Path(__file__).parents[2]
LABELS = ("no", "perhaps", "yes")


def drawn(rng, states=6, alphabet="ab", labels=LABELS) -> MooreMachine:
    """A random minimal machine of all these labels."""
    while True:
        table = rng.integers(states, size=(states, len(alphabet))).tolist()
        outputs = [labels[i] for i in rng.integers(len(labels), size=states)]
        machine = MooreMachine(table, outputs, alphabet=alphabet).minimize()
        if len(machine.labels) == len(labels) and len(machine) >= states - 2:
            return machine


def drawn_words(alphabet, seed, number=200, longest=60):
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(list(alphabet), length)) for length in rng.integers(0, longest, number)]


def by_machine(machine, words):
    return [machine.output(word) for word in words]


MODULO_3 = MooreMachine([[0, 1], [1, 2], [2, 0]], LABELS)


class TestCompiled:
    @pytest.mark.parametrize("seed", range(8))
    @pytest.mark.parametrize("layer", ["SRSimpleRNN", "SRGRU"])
    def test_it_is_the_machine_and_certified(self, layer, seed):
        rng = np.random.default_rng(seed)
        labels = ((0, 1, 2), LABELS, ("a", 1, "b", True + 1, "c"))[seed % 3]
        truth = drawn(rng, int(rng.integers(5, 10)), "abc"[: rng.integers(1, 4)] if seed % 3 == 0 else "ab", labels)
        model = automata.compile(truth, layer)
        found = automata.certify(model, truth)
        assert found.holds, found.failure
        assert found.check(model)
        assert found.machine == truth
        assert found.decision_margins.min() > 0.9
        extraction = automata.extract(model)
        assert extraction.machine == truth.minimize()
        assert extraction.margins.min() > 0.2
        words = drawn_words(truth.alphabet, seed)
        assert model.classify(words).tolist() == by_machine(truth, words)

    @pytest.mark.parametrize("seed", range(3))
    def test_an_isan_is_exact(self, seed):
        truth = drawn(np.random.default_rng(seed))
        model = automata.compile(truth, "ISAN")
        assert analysis.equivalent(model, truth).bound == 0
        assert analysis.equivalent(model, automata.WeightedAutomaton.from_dfa(truth)).bound == 0
        for word in drawn_words("ab", seed, 20):
            if word:
                outputs = ops.convert_to_numpy(model(np.array([["ab".index(symbol) for symbol in word]])))[0]
                assert outputs.tolist() == [float(label == truth.output(word)) for label in truth.labels]

    def test_other_transitions_and_float64(self):
        for settings in ({"transition": "soft_argmax"}, {"transition": "gumbel"}, {"dtype": "float64"}):
            assert automata.certify(automata.compile(MODULO_3, **settings), MODULO_3).holds, settings

    def test_outputs_are_probabilities_and_the_model_is_saved_with_its_labels(self, tmp_path):
        model = automata.compile(MODULO_3)
        outputs = ops.convert_to_numpy(model(model.layers[0].encoding.ids(["101"])))
        np.testing.assert_allclose(outputs.sum(), 1, rtol=1e-6)
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert again.labels == LABELS
        assert automata.extract(again).machine == MODULO_3
        found = automata.certify(model, MODULO_3)
        assert found.check(again)
        copied = automata.Recognizer.from_config(model.get_config())
        assert copied.labels == LABELS
        assert "labels" not in automata.compile(tomita(1)).get_config()

    @pytest.mark.matrix
    def test_it_is_trained_further(self):
        model = automata.compile(MODULO_3, "SRSimpleRNN")
        words = [word for length in range(5) for word in itertools.product("01", repeat=length)]
        labels = np.array([LABELS.index(MODULO_3.output(word)) for word in words])
        model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy())
        losses = model.fit(model.layers[0].encoding.ids(words), labels, epochs=12, verbose=0).history["loss"]
        assert losses[-1] < 0.8 * losses[0]

    @pytest.mark.parametrize(
        ("machine", "sentence"),
        [
            (
                MooreMachine.from_dfa(tomita(1)),
                "three labels or more. Received: a Moore machine of the labels False, True",
            ),
            (
                MooreMachine([[0], [1], [2]], LABELS, alphabet="a"),
                "of the labels 'no'. Compile `accepting` of one of them",
            ),
            (MooreMachine([[1], [2], [0]], ["a", "b", (1,)], alphabet="a"), r"ints or strings. Received: \(1,\)"),
        ],
    )
    def test_what_cannot_be_compiled(self, machine, sentence):
        with pytest.raises(ValueError, match=sentence):
            automata.compile(machine)


def with_head(activation="softmax", units=3, layer=None, dtype="float32"):
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(7, 3, mask_zero=True, dtype=dtype),
            layer or layers.SRGRU(5, 4, temperature=0.5, dtype=dtype),
            keras.layers.Dense(units, activation, dtype=dtype),
        ]
    )


class TestExtracted:
    def test_a_model_without_labels_has_the_numbers_of_its_outputs(self):
        found = automata.extract(with_head(units=4), alphabet=IDS, start=START)
        assert isinstance(found.machine, MooreMachine)
        assert set(found.machine.outputs) <= {0, 1, 2, 3}
        assert found.machine is found.dfa
        words = drawn_words("abc", 0, 50, 12)
        classes = open_acceptor(with_head(units=4), automata.WordEncoding(IDS, start=START)).classify(words)
        assert classes.dtype.kind == "i"

    def test_what_it_is_worth(self):
        truth = drawn(np.random.default_rng(0))
        found = automata.extract(automata.compile(truth))
        fidelity = found.fidelity(num_short=200, num_random=40, max_length=80, num_searched=200)
        assert fidelity.perfect
        assert fidelity.short.words == 127
        others = {"no": "perhaps", "perhaps": "yes", "yes": "no"}
        lying = MooreMachine(found.dfa.transitions, [others[o] for o in found.dfa.outputs], alphabet="ab")
        wrong = dataclasses.replace(found, dfa=lying).fidelity(num_short=200, num_random=10, num_searched=0)
        assert wrong.short.agreeing == 0
        assert wrong.short.disagreement == ()

    def test_half_of_the_random_words_are_of_each_label_in_turn(self, monkeypatch):
        """A label of one word in a million is drawn too."""
        truth = MooreMachine([[i + 1, 9] for i in range(8)] + [[8, 9], [9, 9]], ["no"] * 8 + ["yes", "perhaps"])
        found, given = automata.extract(automata.compile(truth)), []
        original = type(found)._agreement
        monkeypatch.setattr(type(found), "_agreement", lambda self, w, what: given.append(w) or original(self, w, what))
        found.fidelity(num_short=1, num_random=60, max_length=40, num_searched=0)
        drawn = by_machine(truth, given[1][:30])
        assert drawn.count("yes") >= 8
        assert drawn.count("no") >= 8

    @pytest.mark.parametrize("method", ["counts", "mean_probability"])
    def test_words_do_not_make_a_machine(self, method):
        with pytest.raises(ValueError, match=f"method='{method}' reads .* of 3 labels. Use method='exact'"):
            automata.extract(automata.compile(MODULO_3), ["01"], method=method)

    def test_labels_that_do_not_fit(self):
        for labels in (LABELS[:2], ("a", "a", "b")):
            model = automata.compile(MODULO_3)
            model.labels = labels
            with pytest.raises(ValueError, match="a label of its own for each output. Received: 3 outputs, labels"):
                automata.extract(model)

    def test_two_outputs_are_one_too_many(self):
        for call in (automata.extract, lambda *a, **k: automata.certify(*a, tomita(1), **k)):
            with pytest.raises(ValueError, match="2 outputs|Received: a model with 2"):
                call(with_head(units=2), alphabet=IDS, start=START)

    def test_it_is_shown(self, tmp_path):
        model = automata.compile(MODULO_3)
        found, proof = automata.extract(model), automata.certify(model, MODULO_3)
        assert str(found).startswith("3 states by exact, 3 after minimization")
        assert str(proof).startswith("certified for every word at temperature 0.0625")
        for result in (found, proof):
            assert "perhaps" in result._repr_html_()
            views.save(result, tmp_path / "result.svg")
            assert "output perhaps" in (tmp_path / "result.svg").read_text()

    @pytest.mark.parametrize(("network", "reference"), [(MODULO_3, tomita(1)), (tomita(1), MODULO_3)])
    def test_the_callback_compares_with_a_reference_of_the_same_kind(self, network, reference, tmp_path):
        callback = callbacks.Automaton(tmp_path, reference)
        callback.set_model(automata.compile(network))
        with pytest.raises(ValueError, match="is compared with a DFA, one with .* Pass one of its kind") as error:
            callback.measure()
        assert "\n" not in str(error.value)


class TestBounds:
    """The lead of a label's logit over the others."""

    @pytest.mark.parametrize("arguments", [{}, {"transition": "soft_argmax"}, {"regularize_last_step": False}], ids=str)
    @pytest.mark.parametrize("name", RANDOM_CELLS)
    def test_leads_are_those_of_the_note(self, name, arguments):
        model = random_network(name, 3, "float64", 5, **arguments)
        found, exact = certified(model), oracle.Arithmetic(unit=0.0)
        np.testing.assert_allclose(found.decision_margins, leads(model, found, exact), rtol=0, atol=2e-9)
        model = random_network(name, 4, "float32", 7, **arguments)
        found = certified(model)
        without, once = (
            leads(model, found, each) for each in (exact, oracle.Arithmetic(unit=2.0**-24, tiny=2.0**-126))
        )
        counted = (without - found.decision_margins) / (without - once)
        assert (counted >= 1).all()
        assert (counted <= 10).all()

    @pytest.mark.parametrize("epsilon", [1e-6, 1e-2, 0.3])
    @pytest.mark.parametrize("seed", range(3))
    def test_no_state_of_a_region_has_a_smaller_lead(self, seed, epsilon):
        model = random_network("GRU", seed, "float32", 4)
        parts = deployed(open_acceptor(model, automata.WordEncoding(IDS, start=START)))
        _, decision, scores = _bounds.bounds_of(parts, parts.temperature())
        k, n = parts.centroids.shape
        rng = np.random.default_rng(seed)
        for i in range(k):
            region = scores.region(i, epsilon)
            shares = rng.dirichlet(np.full(k, 0.3), size=300)
            shares[:k] = np.eye(k)  # the corners
            alpha = epsilon * shares
            alpha[:, i] += 1 - alpha.sum(axis=1)
            states = alpha @ parts.centroids + region.error * rng.choice([-0.9, 0, 0.9], size=(300, n))
            logits = states.astype("float32") @ parts.kernel.astype("float32") + parts.bias.astype("float32")
            for label in range(4):
                lead = logits[:, label] - np.delete(logits, label, axis=1).max(axis=1)
                assert lead.min() >= decision(region.box(), label)

    @pytest.mark.parametrize("activation", ["softmax", "linear"])
    def test_ties_are_refused(self, activation):
        """Of equal outputs the first is taken, by rounding alone."""
        model = automata.compile(MODULO_3)
        kernel, bias = model.layers[-1].get_weights()
        kernel[:, 1] = kernel[:, 0]
        model.layers[-1].set_weights([kernel, bias])
        claimed = automata.extract(model).machine
        assert not automata.certify(model, claimed).holds
        assert not automata.certify(model, MODULO_3).holds
        kernel[:, 1] = kernel[:, 0] - 1e-9 * np.abs(kernel).max()  # less than a softmax tells apart
        model.layers[-1].set_weights([kernel, bias])
        found = automata.certify(model, automata.extract(model).machine)
        assert not found.holds
        assert "the head's decision on centroid" in found.failure

    def test_a_head_that_may_overflow_is_not_certified(self):
        model = automata.compile(MODULO_3)
        kernel, bias = model.layers[-1].get_weights()
        for gain, holds in ((1e30, True), (4e37, False)):
            model.layers[-1].set_weights([gain * kernel / np.abs(kernel).max(), bias])
            assert automata.certify(model, MODULO_3).holds == holds


def random_network(name, seed, dtype, outputs, **arguments):
    """Random asymmetric weights; a head of so many outputs."""
    kind, of_cell = RANDOM_CELLS[name]
    rng = np.random.default_rng(seed)
    layer = kind(6, 4, dtype=dtype, **{"temperature": 0.05, **of_cell, **arguments})
    model = with_head("softmax", outputs, layer, dtype)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    return model


def tokens(model):
    return {"alphabet": IDS, "start": START, "end": None if model.layers[1].regularize_last_step else END}


def certified(model):
    return automata.certify(model, automata.extract(model, **tokens(model)).machine, **tokens(model))


def leads(model, found, arithmetic):
    """The oracle's bounds on the decisions for what a certificate proposes."""
    embedding, layer, head = model.layers
    inner = layer.cell.cell
    kernel, recurrent = array(inner.kernel), array(inner.recurrent_kernel)
    gru = isinstance(inner, keras.layers.GRUCell)
    bias = array(inner.bias) if inner.use_bias else np.zeros((2, 3 * len(recurrent)) if gru else len(recurrent))
    table = array(embedding.embeddings)
    component = oracle.Component(array(layer.cell.centroids), found.temperature, found.temperature, found.epsilon == 0)
    return oracle.bounds(
        (oracle.GRU if gru else oracle.SimpleRNN)(kernel, recurrent, bias),
        component,
        oracle.Heads(array(head.kernel), array(head.bias)),
        (found.path.transitions, list(found.path.outputs), found.path.start),
        found.centroids,
        found.epsilon,
        [table[IDS[symbol]] for symbol in found.path.alphabet],
        table[START],
        None if layer.regularize_last_step else table[END],
        arithmetic,
    ).verdicts


def turned(machine):
    """The machine with its labels moved by one."""
    labels = machine.labels
    others = dict(zip(labels, (*labels[1:], labels[0]), strict=True))
    return MooreMachine(machine.transitions, [others[o] for o in machine.outputs], alphabet=machine.alphabet)


class TestAttacks:
    def test_another_machine(self):
        model = automata.compile(MODULO_3)
        found = automata.certify(model, turned(MODULO_3))
        assert not found.holds
        assert "the path of the centroids is another automaton: they differ on ()" in found.failure
        good = automata.certify(model, MODULO_3)
        assert not good.check(automata.compile(turned(MODULO_3)))
        assert not automata.certify(model, MooreMachine([[0, 1], [1, 2], [2, 2]], LABELS)).holds

    def test_a_dfa_is_no_claim_about_labels_nor_the_other_way_round(self):
        model, binary = automata.compile(MODULO_3), automata.compile(tomita(1))
        with pytest.raises(ValueError, match="compared with another MooreMachine. Received: DFA"):
            automata.certify(model, MODULO_3.accepting("yes"))
        with pytest.raises(ValueError, match="compared with another DFA. Received: MooreMachine"):
            automata.certify(binary, MODULO_3)
        of_labels, of_words = automata.certify(model, MODULO_3), automata.certify(binary, tomita(1))
        assert of_labels.check(model)
        assert of_words.check(binary)
        assert not of_labels.check(binary)
        assert not of_words.check(model)

    def test_labels_are_part_of_the_proof(self):
        model = automata.compile(MODULO_3)
        found = automata.certify(model, MODULO_3)
        model.labels = ("yes", "no", "perhaps")
        assert not found.check(model)
        assert not dataclasses.replace(found, proved=None).check(model)
        assert not automata.certify(model, MODULO_3).holds
        model.labels = ("x", "y", "z")
        assert not found.check(model)
        model.labels = LABELS
        assert found.check(model)

    def test_forged_claims(self):
        model = automata.compile(MODULO_3)
        found = automata.certify(model, MODULO_3)
        other = turned(MODULO_3)
        for change in (
            {"dfa": other},
            {"path": other},
            {"dfa": other, "path": other},
            {"centroids": (*found.centroids[1:], found.centroids[0])},
            {"decision_margins": 2 * found.decision_margins},
            {"margins": found.margins + 1},
            {"epsilon": 0.45},
            {"temperature": 1.0},
            {"dfa": DFA([[0, 0]], {0}), "path": DFA([[0, 0]], {0})},
            {"dfa": MODULO_3.accepting("yes")},
            {"dfa": MooreMachine([[0, 0]], ["unknown"]), "path": MooreMachine([[0, 0]], ["unknown"])},
            {"holds": False},
        ):
            assert not dataclasses.replace(found, **change).check(model), change

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf], ids=str)
    @pytest.mark.parametrize("place", range(2))
    def test_weights_of_the_head_that_are_not_finite_are_refused(self, place, bad):
        model = automata.compile(MODULO_3)
        found = automata.certify(model, MODULO_3)
        weights = model.layers[-1].get_weights()
        weights[place].flat[-1] = bad
        model.layers[-1].set_weights(weights)
        for call in (lambda: automata.certify(model, MODULO_3), lambda: found.check(model)):
            with pytest.raises(ValueError, match="The weights must be finite. Received: NaN or infinity"):
                call()

    REFUSED = {
        "sigmoids": (lambda: with_head("sigmoid"), "of an output for each label linear or softmax"),
        "tanh": (lambda: with_head("tanh"), "of an output for each label linear or softmax"),
        "a softmax of one": (lambda: with_head("softmax", 1), "linear or sigmoid"),
        "steps": (lambda: with_head(layer=layers.SRGRU(5, 4, return_sequences=True)), "return_sequences=True"),
        "from the end": (lambda: with_head(layer=layers.SRGRU(5, 4, go_backwards=True)), "go_backwards=True"),
        "half": (lambda: with_head(dtype="mixed_bfloat16"), "all layers are in float32, or all in float64"),
        "noise": (
            lambda: with_head(layer=layers.SRGRU(5, 4, transition="gumbel", sample_at_inference=True, noise=9.0)),
            "sample_at_inference=True in place of False",
        ),
    }

    @pytest.mark.parametrize("name", REFUSED)
    def test_what_a_proof_has_not_looked_at_is_refused(self, name):
        build, reason = self.REFUSED[name]
        with pytest.raises(ValueError, match=reason):
            automata.certify(build(), MODULO_3, alphabet={"0": 2, "1": 3}, start=1)

    def test_a_model_that_contradicts_its_proof(self, monkeypatch):
        model = automata.compile(MODULO_3)
        found, read = automata.certify(model, MODULO_3), automata.extract(model)
        call = model.layers[-1].call
        monkeypatch.setattr(_deployed, "first_difference", lambda *_: None)
        monkeypatch.setattr(certificate, "extract_exactly", lambda _: read)
        monkeypatch.setattr(model.layers[-1], "call", lambda inputs, training=None: call(inputs)[:, ::-1])
        again = automata.certify(model, MODULO_3)
        assert not again.holds
        assert "the model itself classifies () otherwise" in again.failure
        assert not found.check(model)

    @pytest.mark.matrix
    @pytest.mark.parametrize("seed", range(4))
    def test_no_random_deployment_is_certified_and_wrong(self, seed, monkeypatch):
        """Compiled networks under noise, other heads, temperatures and transitions; every short word is read."""
        monkeypatch.setattr(certificate, "_misclassified", lambda *_: None)  # the proof alone
        rng = np.random.default_rng(50 + seed)
        outcomes = dict.fromkeys(("certified", "not certified", "refused"), 0)
        words = [word for length in range(7) for word in itertools.product("ab", repeat=length)]
        words += drawn_words("ab", seed, 40)
        for _ in range(5):
            machine = drawn(rng, int(rng.integers(3, 7)))
            transition = str(rng.choice(["mixture", "soft_argmax", "gumbel"]))
            layer = str(rng.choice(["SRGRU", "SRSimpleRNN"]))
            model = automata.compile(machine, layer, transition=transition)
            model.layers[-1].activation = keras.activations.get(str(rng.choice(["softmax", "linear"])))
            weights = model.get_weights()
            for _ in range(12):
                spread = float(rng.choice([0, 0.01, 0.03, 0.1, 0.3]))
                noisy = [w + spread * np.abs(w).mean() * rng.normal(size=w.shape) for w in weights]
                if rng.random() < 0.05:
                    noisy[-1].flat[0] = np.nan
                for variable, value in zip(model.weights, noisy, strict=True):
                    if variable.trainable:
                        variable.assign(value)
                model.layers[1].cell.set_temperature(float(0.0625 * 10 ** rng.uniform(-2, 1.5)))
                outcomes[outcome(model, words)] += 1
        assert outcomes["certified"] >= 10, outcomes
        assert outcomes["not certified"] >= 5, outcomes


def outcome(model, words):
    claimed = automata.extract(model).machine
    if any(np.isnan(weight).any() for weight in model.get_weights()):
        with pytest.raises(ValueError, match="must be finite"):
            automata.certify(model, claimed)
        return "refused"
    if not automata.certify(model, claimed).holds:
        return "not certified"
    assert model.classify(words).tolist() == by_machine(claimed, words)
    return "certified"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model = automata.compile(MODULO_3, "SRSimpleRNN")
    file = tmp_path_factory.mktemp("moore") / "certificate.json"
    automata.certify(model, MODULO_3).save(file)
    return model, file


class TestFiles:
    def test_what_is_read_back_is_the_proof(self, saved):
        model, file = saved
        found = Certificate.load(file)
        assert found.check(model)
        assert found.machine == MODULO_3
        assert found.proved.labels == LABELS
        assert not found.check(automata.compile(turned(MODULO_3), "SRSimpleRNN"))
        content = json.loads(file.read_text())
        assert content["assumptions"][-1].startswith(
            "The network is an Embedding, one state-regularized layer and a Dense"
        )
        assert "of which the largest decides" in content["assumptions"][-1]

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_random_machines(self, tmp_path, dtype):
        for seed in range(3):
            truth = drawn(np.random.default_rng(seed), labels=("a", 7, "b", 8))
            model = automata.compile(truth, dtype=dtype)
            automata.certify(model, truth).save(tmp_path / "file.json")
            assert Certificate.load(tmp_path / "file.json").check(model)

    def test_changed_files(self, saved, tmp_path):
        model, file = saved
        content = json.loads(file.read_text())

        def refused(change, of_network=True):
            changed = copy.deepcopy(content)
            change(changed)
            if of_network:
                changed["sha256"] = _proved.digest(changed["network"])
            (tmp_path / "changed.json").write_text(json.dumps(changed))
            with pytest.raises(ValueError, match="changed.json") as caught:
                Certificate.load(tmp_path / "changed.json")
            assert "\n" not in str(caught.value)

        for labels in (None, [], ["no"], list(LABELS[:2]), ["a", "a", "b"], ["a", "b", "c"], [*LABELS, "x"]):
            refused(lambda c, labels=labels: c["network"].__setitem__("labels", labels))
        for labels in (["yes", "no", "perhaps"], [1.5, "no", "yes"], [["no"], "perhaps", "yes"], "abc", {"a": 1}):
            refused(lambda c, labels=labels: c["network"].__setitem__("labels", labels))
        refused(lambda c: c["network"].pop("labels"))
        refused(lambda c: c["network"].__setitem__("head_bias", c["network"]["head_bias"][:2]))
        refused(lambda c: c["network"].__setitem__("head_bias", 0.0))
        refused(lambda c: c["network"].__setitem__("head_kernel", [row[:2] for row in c["network"]["head_kernel"]]))
        refused(lambda c: c["network"].__setitem__("head_kernel", [row[0] for row in c["network"]["head_kernel"]]))
        refused(lambda c: c["network"].__setitem__("head_kernel", [row[::-1] for row in c["network"]["head_kernel"]]))
        refused(lambda c: c.__setitem__("assumptions", list(automata.proof.ASSUMPTIONS)))
        refused(lambda c: c["network"]["head_bias"].__setitem__(0, 0.5), of_network=False)
        for part in ("dfa", "path"):
            refused(lambda c, part=part: c.__setitem__(part, json.loads(tomita(1).to_json())))
            refused(lambda c, part=part: c[part].__setitem__("outputs", ["perhaps", "yes", "no"]))
            refused(lambda c, part=part: c[part].__setitem__("outputs", ["no", "perhaps"]))
        both = json.loads(MooreMachine(MODULO_3.transitions, ["x", "y", "z"]).to_json())
        refused(lambda c: c.update(dfa=both, path=both))

    def test_a_label_that_json_does_not_hold(self, tmp_path):
        model = automata.compile(MODULO_3)
        model.labels = ((0,), (1,), (2,))
        found = automata.certify(model, automata.extract(model).machine)
        assert found.holds
        with pytest.raises(ValueError, match=r"Outputs in JSON are strings, integers or bools. Received: \(0,\)"):
            found.save(tmp_path / "file.json")

    def test_the_command_proves_it_again_with_numpy_alone(self, saved, tmp_path):
        _, file = saved
        other = tmp_path / "tomita.json"
        binary = automata.compile(tomita(1))
        automata.certify(binary, tomita(1)).save(other)
        program = f"""
import runpy, sys
for name in ("keras", "tensorflow", "jax", "torch", "scipy", "tensorboard"):
    sys.modules[name] = None
sys.argv = ["-m", "check", {str(file)!r}, {str(other)!r}]
sys.orig_argv = [sys.executable, "-m", "keras_interp_rnn"]
runpy.run_module("keras_interp_rnn", run_name="__main__", alter_sys=True)
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
        assert (done.returncode, done.stderr) == (0, "")
        assert "  automaton  3 states over '0', '1', labels 'no', 'perhaps', 'yes'" in done.stdout.splitlines()
        assumed = done.stdout.splitlines()[done.stdout.splitlines().index("Assumed:") + 1 :]
        assert len(assumed) == len(automata.proof.ASSUMPTIONS) + 1
        assert sum("of which the largest decides" in line for line in assumed) == 1

"""Subjects of tests/layers/test_contract.py: every layer, by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from keras_interp_rnn import layers
from tests.layers.common import ON_ACCELERATOR
from tests.layers.contract import BACKEND, Subject
from tests.oracles import factored_isan, isan, linear_recurrences, minimal_rnn, state_regularized

FACTORS, CENTROIDS = 2, 6
UNITS, HEADS, KEYS, VALUES, RANK = 3, 2, 3, 2, 2
"""Complex units of an LRU; heads of matrix states, sizes of each, and the rank of their decays."""

FREE = {"recurrent_constraint": None}  # a constraint is no part of what the oracle computes
Weights = dict[str, np.ndarray]


def of(kind: str, *sizes: int, symbols: bool = False, **own: Any) -> Callable[..., keras.layers.RNN]:
    """Makes a layer of this name, with these sizes after the units, and a vocabulary size if it reads symbols."""

    def make(units: int, features: int, **arguments: Any) -> keras.layers.RNN:
        return getattr(layers, kind)(units, *sizes, *([features] if symbols else []), **{**own, **arguments})

    return make


def over(cell: Callable[..., keras.layers.Layer], **component: Any) -> Callable[..., keras.layers.RNN]:
    """Makes a state-regularized layer over a cell."""

    def make(units: int, features: int, dtype: Any = None, **flags: Any) -> keras.layers.RNN:
        inner = cell(units, features, dtype=dtype)
        return layers.StateRegularizedRNN(
            layers.StateRegularizedCell(inner, CENTROIDS, dtype=dtype, **component), dtype=dtype, **flags
        )

    return make


def split(weights: Weights, name: str, parts: int) -> list[np.ndarray]:
    """The gates of a weight, states as columns."""
    return [part.T for part in np.split(weights[name], parts, axis=-1)]


def run_isan(weights: Weights, inputs: Any, starts: Any, mask: Any) -> list[np.ndarray]:
    start = weights["initial_state"] if starts is None else starts[0]
    states = isan.states if inputs.ndim == 2 else isan.expected_states
    return [states(np.swapaxes(weights["recurrent_kernel"], 1, 2), weights["bias"], start, inputs, mask)]


def factored_network(weights: Weights) -> factored_isan.Network:
    symbols = "kernel" not in weights
    return factored_isan.Network(
        W_0=weights["shared_kernel"].T if "shared_kernel" in weights else None,
        U=weights["out_of_factors"].T,
        V=weights["into_factors"].T,
        P=weights["switch_kernel"].T,
        B=weights["bias" if symbols else "kernel"].T,
        c=np.zeros(len(weights["into_factors"])) if symbols else weights["bias"],
        h0=weights["initial_state"],
    )


def run_factored_isan(weights: Weights, inputs: Any, starts: Any, mask: Any) -> list[np.ndarray]:
    if inputs.ndim == 2:
        inputs = factored_isan.unit_vectors(inputs, len(weights["bias"]))
    start = None if starts is None else starts[0]
    return [factored_isan.states(factored_network(weights), inputs, start, mask)]


def gated_network(weights: Weights, prefix: str = "") -> minimal_rnn.Network:
    w = {name.removeprefix(prefix): array for name, array in weights.items()}
    if len(w["recurrent_kernel"].T) > len(w["recurrent_kernel"]):
        U_u, U_i = split(w, "recurrent_kernel", 2)
        V_u, V_i, W_x = split(w, "kernel", 3)
        b_u, b_i, b_x = split(w, "bias", 3)
        return minimal_rnn.CFN(U_u, V_u, b_u, U_i, V_i, b_i, W_x, b_x)
    encoder = (w["encoder.kernel"].T, w["encoder.bias"]) if "encoder.kernel" in w else (None, None)
    return minimal_rnn.MinimalRNN(*encoder, w["recurrent_kernel"].T, w["kernel"].T, w["bias"])


def run_gated(weights: Weights, inputs: Any, starts: Any, mask: Any) -> list[np.ndarray]:
    if "encoder.embeddings" in weights:
        inputs = weights["encoder.embeddings"][inputs]
    start = np.zeros(len(weights["recurrent_kernel"])) if starts is None else starts[0]
    return [minimal_rnn.states(gated_network(weights), start, inputs, mask)]


def keras_network(weights: Weights, kind: str, prefix: str = "cell.") -> state_regularized.Network:
    w = {name.removeprefix(prefix): array for name, array in weights.items()}
    if kind == "SimpleRNN":
        return state_regularized.VanillaRNN(w["kernel"].T, w["recurrent_kernel"].T, w["bias"])
    gates = "zrh" if kind == "GRU" else "ifco"
    by_letter = {"W": split(w, "kernel", len(gates)), "U": split(w, "recurrent_kernel", len(gates))}
    biases = w["bias"].reshape(-1, len(gates), w["bias"].shape[-1] // len(gates))
    by_letter |= dict(zip("bB", biases, strict=False))
    named = {f"{letter}_{gate}": a for letter, parts in by_letter.items() for gate, a in zip(gates, parts, strict=True)}
    if "peephole" in w:
        return state_regularized.PeepholeLSTM(**named, **dict(zip(("p_i", "p_f", "p_o"), w["peephole"], strict=True)))
    return (state_regularized.GRU if kind == "GRU" else state_regularized.LSTM)(**named)


def run_peephole_lstm(weights: Weights, inputs: Any, starts: Any, mask: Any) -> list[np.ndarray]:
    network = keras_network(weights, "LSTM", "")
    h, c = starts or [np.zeros(len(network.b_i))] * 2
    path = state_regularized.path(network, None, h, inputs, c, mask=mask)
    return [path.h, path.c]


def state_regularized_by(
    network: Callable[[Weights], Any],
    regularize_last_step: bool = True,
    temperature: float = 0.75,
    **component: Any,
) -> Callable[..., list[np.ndarray]]:
    """Runs a network with the stochastic component at inference, where gumbel draws no noise."""

    def run(weights: Weights, inputs: Any, starts: Any, mask: Any) -> list[np.ndarray]:
        S = weights["centroids"].T
        stochastic = state_regularized.Stochastic(S, tau=temperature, **component)
        inner = network(weights)
        start = weights.get("cell.initial_state", np.zeros(len(S)))
        memory = isinstance(inner, (state_regularized.LSTM, state_regularized.PeepholeLSTM))
        h, c = [*(starts or [start] * (1 + memory)), None][:2]
        g = np.zeros((*inputs.shape[:2], S.shape[1]))
        path = state_regularized.path(
            inner, stochastic, h, inputs, c, g, mask, regularize_last_step=regularize_last_step
        )
        return [path.h] if path.c is None else [path.h, path.c]

    return run


def run_min_gru(gates: int, positive: bool = False) -> Callable[..., list[np.ndarray]]:
    network = linear_recurrences.MinGRU if gates == 1 else linear_recurrences.MinLSTM
    layer = linear_recurrences.min_gru if gates == 1 else linear_recurrences.min_lstm

    def run(weights: Weights, inputs: Any, starts: Any, mask: Any) -> list[np.ndarray]:
        parts = (np.split(weights[name], gates + 1, axis=-1) for name in ("kernel", "bias"))
        known = network(*(array for pair in zip(*parts, strict=True) for array in pair))
        start = None if starts is None else starts[0]
        return [layer(known, inputs, mask, start, positive_states=positive).states]

    return run


def run_lru(weights: Weights, inputs: Any, starts: Any, mask: Any) -> list[np.ndarray]:
    B, C = np.split(weights["kernel"], 2, axis=1), np.split(weights["output_kernel"], 2, axis=0)
    parts = (weights["decay"], weights["phase"], weights["gain"])
    start = None if starts is None else np.stack(np.split(starts[0], 2, axis=-1), axis=-1)
    found = linear_recurrences.lru(linear_recurrences.LRU(*parts, *B, *C, weights.get("skip")), inputs, mask, start)
    return [np.concatenate([found.states[..., 0], found.states[..., 1]], axis=-1), found.outputs]


def run_rg_lru(weights: Weights, inputs: Any, starts: Any, mask: Any) -> list[np.ndarray]:
    (W_a, W_x), (b_a, b_x) = np.split(weights["kernel"], 2, axis=1), np.split(weights["bias"], 2)
    known = linear_recurrences.RGLRU(W_a[None], b_a[None], W_x[None], b_x[None], weights["decay"])
    inputs = inputs @ weights["input_kernel"] if "input_kernel" in weights else inputs
    return [linear_recurrences.rg_lru(known, inputs, mask, None if starts is None else starts[0]).states]


def run_matrix_state(layer: str) -> Callable[..., list[np.ndarray]]:
    """A layer of two heads, whose state is stored as a row."""

    def run(weights: Weights, inputs: Any, starts: Any, mask: Any) -> list[np.ndarray]:
        values = len(weights["output_kernel"])
        strengths = HEADS if layer == "delta_net" else 0
        keys = (weights["kernel"].shape[1] - values - strengths) // 2
        q, k, v, *beta = np.split(weights["kernel"], [keys, 2 * keys, 2 * keys + values][: 2 + bool(strengths)], axis=1)
        rest = (weights.get("scale"), weights["output_kernel"])
        if layer == "delta_net":
            gates = (weights.get(name) for name in ("decay_kernel", "rate", "decay_bias", "gate_kernel"))
            known = linear_recurrences.DeltaNet(q, k, v, *beta, *gates, *rest)
        else:
            first = weights.get("low_rank_kernel", weights["decay_kernel"])
            second = weights["decay_kernel"] if "low_rank_kernel" in weights else None
            gate = (weights.get("gate_kernel"), weights.get("gate_bias"))
            known = linear_recurrences.GatedLinearAttention(q, k, v, first, second, weights["decay_bias"], *gate, *rest)
        start = None if starts is None else starts[0].reshape(-1, HEADS, keys // HEADS, values // HEADS)
        found = getattr(linear_recurrences, layer)(known, inputs, mask, start, heads=HEADS)
        return [found.states.reshape(*found.states.shape[:2], -1), found.outputs]

    return run


def run_diagonal_isan(weights: Weights, inputs: Any, starts: Any, mask: Any) -> list[np.ndarray]:
    """The ISAN whose matrices have the decays on their diagonal."""
    decays = weights["recurrent_kernel"][:, :, 0, 0]
    kernel = decays[:, :, None] * np.eye(decays.shape[1])
    return run_isan({**weights, "recurrent_kernel": kernel}, inputs, starts, mask)


def diagonal_isan_shapes(n: int, f: int) -> dict[str, tuple[int, ...]]:
    return {"recurrent_kernel": (f, n, 1, 1), "bias": (f, n), "initial_state": (n,)}


def isan_shapes(n: int, f: int) -> dict[str, tuple[int, ...]]:
    return {"recurrent_kernel": (f, n, n), "bias": (f, n), "initial_state": (n,)}


def factored_shapes(
    shared: bool = True, symbols: bool = False, factors: int = FACTORS
) -> Callable[[int, int], dict[str, tuple[int, ...]]]:
    def shapes(n: int, f: int) -> dict[str, tuple[int, ...]]:
        found = {"shared_kernel": (n, n)} if shared else {}
        found |= {"into_factors": (n, factors), "out_of_factors": (factors, n), "switch_kernel": (f, factors)}
        found |= {"bias": (f, n)} if symbols else {"kernel": (f, n), "bias": (n,)}
        return {**found, "initial_state": (n,)}

    return shapes


def minimal_rnn_shapes(n: int, f: int) -> dict[str, tuple[int, ...]]:
    own = {"kernel": (n, n), "recurrent_kernel": (n, n), "bias": (n,)}
    return {**own, "encoder.kernel": (f, n), "encoder.bias": (n,)}


def embedded_shapes(n: int, f: int) -> dict[str, tuple[int, ...]]:
    return {"kernel": (n, n), "recurrent_kernel": (n, n), "bias": (n,), "encoder.embeddings": (f, n)}


def cfn_shapes(n: int, f: int) -> dict[str, tuple[int, ...]]:
    return {"kernel": (f, 3 * n), "recurrent_kernel": (n, 2 * n), "bias": (3 * n,)}


def min_gru_shapes(gates: int) -> Callable[[int, int], dict[str, tuple[int, ...]]]:
    return lambda n, f: {"kernel": (f, (gates + 1) * n), "bias": ((gates + 1) * n,)}


def lru_shapes(n: int, f: int) -> dict[str, tuple[int, ...]]:
    found = {"kernel": (f, 2 * UNITS), "output_kernel": (2 * UNITS, n)}
    found |= dict.fromkeys(("decay", "phase", "gain"), (UNITS,))
    return {**found, "skip": (n,)} if n == f else found


def rg_lru_shapes(n: int, f: int) -> dict[str, tuple[int, ...]]:
    found = {"kernel": (n, 2 * n), "bias": (2 * n,), "decay": (n,)}
    return found if n == f else {**found, "input_kernel": (f, n)}


def attention_shapes(ranked: bool = True, gated: bool = True, normalized: bool = True) -> Callable[..., dict[str, Any]]:
    def shapes(n: int, f: int) -> dict[str, tuple[int, ...]]:
        keys, values = HEADS * KEYS, HEADS * VALUES
        decays = keys if ranked else HEADS
        found = {"kernel": (f, 2 * keys + values)}
        found |= {"low_rank_kernel": (f, RANK)} if ranked else {}
        found |= {"decay_kernel": (RANK if ranked else f, decays), "decay_bias": (decays,)}
        found |= {"gate_kernel": (f, values), "gate_bias": (values,)} if gated else {}
        found |= {"scale": (VALUES,)} if normalized else {}
        return {**found, "output_kernel": (values, n)}

    return shapes


def delta_net_shapes(gated: bool = False, normalized: bool = True) -> Callable[[int, int], dict[str, tuple[int, ...]]]:
    def shapes(n: int, f: int) -> dict[str, tuple[int, ...]]:
        keys, values = HEADS * KEYS, HEADS * VALUES
        found = {"kernel": (f, 2 * keys + values + HEADS)}
        if gated:
            found |= {"decay_kernel": (f, HEADS), "rate": (HEADS,), "decay_bias": (HEADS,), "gate_kernel": (f, values)}
        found |= {"scale": (VALUES,)} if normalized else {}
        return {**found, "output_kernel": (values, n)}

    return shapes


def keras_shapes(gates: int, biases: int = 1, peephole: bool = False) -> Callable[..., dict[str, tuple[int, ...]]]:
    def shapes(n: int, f: int) -> dict[str, tuple[int, ...]]:
        bias = (gates * n,) if biases == 1 else (biases, gates * n)
        own = {"peephole": (3, n)} if peephole else {}
        return {**own, "kernel": (f, gates * n), "recurrent_kernel": (n, gates * n), "bias": bias}

    return shapes


def regularized(
    name: str,
    inner: Callable[[int, int], dict[str, tuple[int, ...]]],
    network: Callable[[Weights], Any],
    make: Callable[..., Callable[..., keras.layers.RNN]],
    regularize_last_step: bool = True,
    **settings: Any,
) -> Subject:
    """A state-regularized subject; `settings` in the names of the layer, and fields of `Subject`."""
    fields = {key: settings.pop(key) for key in list(settings) if key in Subject._fields}
    component = {"temperature": 0.75, "strength": 0.875, **settings}

    def shapes(n: int, f: int) -> dict[str, tuple[int, ...]]:
        return {"centroids": (CENTROIDS, n), **{f"cell.{name}": shape for name, shape in inner(n, f).items()}}

    oracle = state_regularized_by(network, regularize_last_step, **component)
    flags = {} if regularize_last_step else {"regularize_last_step": False}
    return Subject(name, make(**component, **flags), shapes, oracle, **{"settings": 3, **fields})


def sr(kind: str, name: str = "", reset_after: bool = True, **settings: Any) -> Subject:
    """SRSimpleRNN and so on."""
    lstm = kind.endswith("LSTM")
    inner = {"SimpleRNN": 1, "GRU": 3}.get(kind, 4)
    shapes = keras_shapes(inner, 2 if kind == "GRU" and reset_after else 1, kind == "PeepholeLSTM")
    own = {} if reset_after else {"reset_after": False}
    return regularized(
        f"SR{kind}{name}",
        shapes,
        lambda weights: keras_network(weights, "LSTM" if lstm else kind),
        lambda **component: of(f"SR{kind}", CENTROIDS, **own, **component),
        **{"states": 1 + lstm, "drops": True, **settings},
    )


def sr_over(
    name: str,
    cell: Callable[..., keras.layers.Layer],
    shapes: Callable[[int, int], dict[str, tuple[int, ...]]],
    network: Callable[[Weights], Any],
    **settings: Any,
) -> Subject:
    return regularized(
        f"StateRegularizedRNN over {name}",
        shapes,
        lambda weights: state_regularized.Memoryless(network(weights)),
        lambda **component: over(cell, **component),
        **{"options": False, **settings},
    )


def switch_of(weights: Weights) -> isan.Switch:
    return isan.Switch(np.swapaxes(weights["cell.recurrent_kernel"], 1, 2), weights["cell.bias"])


def embedding(units: int, symbols: int, **arguments: Any) -> keras.layers.RNN:
    dtype = arguments.get("dtype")
    encoder = arguments.pop("encoder", None) or keras.layers.Embedding(symbols, units, dtype=dtype)
    return layers.MinimalRNN(units, encoder=encoder, **arguments)


GROUPED = "static" if BACKEND == "jax" or ON_ACCELERATOR else "grouped"  # the batches here are too small for JAX
FEW_UNITS = "grouped" if BACKEND == "torch" and not ON_ACCELERATOR else "static"
LOOP = "parallel" if ON_ACCELERATOR else "loop"


def isan_subject(name: str, reads: str = "ids", fused: bool | str = "auto", **fields: Any) -> Subject:
    make = of("ISAN", symbols=True, fused=fused, **FREE)
    return Subject(name, make, isan_shapes, run_isan, reads, exact=True, **fields)


def diagonal_isan_subject(name: str, reads: str = "ids", **fields: Any) -> Subject:
    make = of("DiagonalISAN", symbols=True, **FREE)
    return Subject(name, make, diagonal_isan_shapes, run_diagonal_isan, reads, exact=True, path=LOOP, **fields)


def factored_isan_subject(name: str, shared: bool = True, symbols: bool = False, **fields: Any) -> Subject:
    make = of("FactoredISAN", FACTORS, symbols=symbols, shared=shared)
    reads = "ids" if symbols else "features"
    return Subject(name, make, factored_shapes(shared, symbols), run_factored_isan, reads, exact=True, **fields)


MATRICES = {"state_size": lambda units: HEADS * KEYS * VALUES, "path": "whole_sequence"}
ALL = [
    isan_subject("ISAN", path=FEW_UNITS),
    isan_subject("ISAN, grouped", units=9, path=GROUPED, representative=True),
    isan_subject("ISAN, stepwise", fused=False, path="stepwise"),
    isan_subject("ISAN of distributions", reads="distributions", path="stepwise"),
    diagonal_isan_subject("DiagonalISAN"),
    diagonal_isan_subject("DiagonalISAN of distributions", reads="distributions", variant=True),
    factored_isan_subject("FactoredISAN", representative=True),
    factored_isan_subject("FactoredISAN without shared", shared=False, variant=True),
    factored_isan_subject("FactoredISAN of symbols", symbols=True),
    factored_isan_subject("FactoredISAN of symbols without shared", symbols=True, shared=False, variant=True),
    Subject("MinimalRNN", of("MinimalRNN"), minimal_rnn_shapes, run_gated, drops=True, representative=True),
    Subject("MinimalRNN of ids", embedding, embedded_shapes, run_gated, "ids", loops=False),
    Subject("CFN", of("CFN"), cfn_shapes, run_gated, drops=True, representative=True),
    Subject(
        "PeepholeLSTM",
        of("PeepholeLSTM"),
        keras_shapes(4, peephole=True),
        run_peephole_lstm,
        states=2,
        drops=True,
        representative=True,
    ),
    Subject("MinGRU", of("MinGRU"), min_gru_shapes(1), run_min_gru(1), representative=True, path=LOOP),
    Subject("MinLSTM", of("MinLSTM"), min_gru_shapes(2), run_min_gru(2), path=LOOP),
    Subject(
        "MinLSTM, positive",
        of("MinLSTM", positive=True),
        min_gru_shapes(2),
        run_min_gru(2, positive=True),
        **{"path": LOOP, "variant": True},
    ),
    Subject(
        "LRU",
        of("LRU", state_dim=UNITS),
        lru_shapes,
        run_lru,
        **{"state_size": lambda units: 2 * UNITS, "path": LOOP, "representative": True},
    ),
    Subject(
        "LRU with skip",
        of("LRU", state_dim=UNITS),
        lru_shapes,
        run_lru,
        **{"state_size": lambda units: 2 * UNITS, "path": LOOP, "features": 4, "variant": True},
    ),
    Subject("RGLRU", of("RGLRU"), rg_lru_shapes, run_rg_lru, path=LOOP),
    Subject("RGLRU of its own size", of("RGLRU"), rg_lru_shapes, run_rg_lru, path=LOOP, features=4, variant=True),
    Subject(
        "GatedLinearAttention",
        of("GatedLinearAttention", HEADS, KEYS, VALUES, decay_rank=RANK),
        attention_shapes(),
        run_matrix_state("gated_linear_attention"),
        **{**MATRICES, "representative": True},
    ),
    Subject(
        "GatedLinearAttention, one decay a head",
        of("GatedLinearAttention", HEADS, KEYS, VALUES, decay_rank=None, output_gate=False, normalize=False),
        attention_shapes(False, False, False),
        run_matrix_state("gated_linear_attention"),
        **{**MATRICES, "variant": True},
    ),
    Subject(
        "DeltaNet",
        of("DeltaNet", HEADS, KEYS, VALUES),
        delta_net_shapes(),
        run_matrix_state("delta_net"),
        **{**MATRICES, "representative": True},
    ),
    Subject(
        "DeltaNet, gated, not normalized",
        of("DeltaNet", HEADS, KEYS, VALUES, gated=True, normalize=False),
        delta_net_shapes(True, False),
        run_matrix_state("delta_net"),
        **{**MATRICES, "variant": True},
    ),
    sr("SimpleRNN"),
    sr("SimpleRNN", ", soft_argmax", transition="soft_argmax", smooth=False, variant=True),
    sr("GRU", strength=1.0, representative=True),
    sr("GRU", ", reset before", reset_after=False, variant=True),
    sr("LSTM", strength=1.0),
    sr("PeepholeLSTM", representative=True),
    sr("PeepholeLSTM", ", gumbel, last step free", transition="gumbel", regularize_last_step=False, variant=True),
    sr_over("MinimalRNNCell", of("MinimalRNNCell"), minimal_rnn_shapes, lambda w: gated_network(w, "cell.")),
    sr_over("CFNCell", of("CFNCell"), cfn_shapes, lambda w: gated_network(w, "cell.")),
    sr_over(
        "ISANCell",
        of("ISANCell", symbols=True, **FREE),
        isan_shapes,
        switch_of,
        reads="columns",
        representative=True,
    ),
]
SUBJECTS = {subject.name: subject for subject in ALL}
# Too many weights for complex steps: its oracle is the layer called eagerly, on the path for rare symbols.
MANY_SYMBOLS = SUBJECTS["ISAN, grouped"]._replace(name="ISAN of many symbols", units=96, features=66)


def parametrized(subjects: list[Subject], all_in_the_core: bool = False) -> pytest.MarkDecorator:
    """The layers that a test takes; of each family the core has one."""
    core = [subject for subject in subjects if subject.representative] or subjects

    def case(subject: Subject) -> Any:
        matrix = [] if all_in_the_core or subject in core else [pytest.mark.matrix]
        return pytest.param(subject, id=subject.name, marks=matrix)

    return pytest.mark.parametrize("subject", list(map(case, subjects)))


# JAX compiles every eager call, three quarters of an hour for all: there one layer of each family, unless all are
# asked for.
TRIED = ALL if BACKEND != "jax" or "EVERY_LAYER" in os.environ else [some for some in ALL if some.representative]

every_subject = parametrized(TRIED)
no_variant = parametrized([subject for subject in TRIED if not subject.variant])
one_a_family = parametrized([subject for subject in ALL if subject.representative])

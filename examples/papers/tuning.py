"""KerasTuner searches: which learning rate, clipping, scale, batch size, number of centroids, temperature?

What is searched, and over which range, follows Collins, Sohl-Dickstein and Sussillo, "Capacity and Trainability in
Recurrent Neural Networks", 2017 (arXiv:1611.09913), which the ISAN paper followed too.

    python -m examples.papers tune sr-imdb --row LSTM --data aclImdb --trials 20

The same command resumes a search. With KerasTuner's environment variables it runs on several machines:
KERASTUNER_TUNER_ID=chief on one, tuner0, tuner1, ... on the others, KERASTUNER_ORACLE_IP and KERASTUNER_ORACLE_PORT on
all. TensorBoard's HParams tab shows the trials.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.papers import _records
from examples.papers._experiment import Experiment, Record, Run, Trainable
from examples.papers._lazy import callbacks, keras

if TYPE_CHECKING:
    import keras_tuner


def hypermodel(network: Trainable) -> keras_tuner.HyperModel:
    """A network as KerasTuner takes it: a trial's score is the lowest validation loss of its epochs."""
    import keras_tuner

    class Hypermodel(keras_tuner.HyperModel):
        def build(self, hp: Any) -> keras.Model:
            return network.build(network.protocol(hp))

        def fit(self, hp: Any, model: keras.Model, *args: Any, **kwargs: Any) -> dict[str, float]:
            protocol = network.protocol(hp)
            own = [callbacks.CarriedState(across_epochs=True), *kwargs.pop("callbacks", [])]
            losses = model.fit(
                network.batches(protocol, 0, protocol.steps * protocol.epochs),
                epochs=protocol.epochs,
                steps_per_epoch=protocol.steps,
                shuffle=False,
                validation_data=network.validation(protocol),
                callbacks=own,
                **kwargs,
            ).history["val_loss"]
            # At most `worst`: KerasTuner fails on a loss that is not finite.
            return {"val_loss": min(loss if loss < network.worst else network.worst for loss in losses)}

    return Hypermodel()


def search(
    network: Trainable,
    folder: Path,
    max_trials: int = 20,
    *,
    seed: int = 0,
    verbose: int = 0,
    keep: Collection[str] = (),
) -> keras_tuner.Tuner:
    """Searches by Bayesian optimization for the settings with the lowest validation loss, or resumes a search.

    Args:
        network: what is trained. folder: of the search; TensorBoard reads its folder `tensorboard`.
        max_trials: number of trials in all. seed: of the search. verbose: as in `fit`.
        keep: names of settings that every trial takes from `network.base`.

    Returns:
        The tuner; `trials` reads it.

    Raises:
        ImportError: without KerasTuner and scikit-learn.
        ValueError: if the search in the folder was started with other settings, or a name in `keep` is not that of a
            setting that is searched.
    """
    try:
        import keras_tuner
        from sklearn.exceptions import ConvergenceWarning
    except ImportError as error:
        raise ImportError(f"`tune` needs keras_tuner ({error}): pip install 'keras_interp_rnn[tuner]'") from error

    space = _space(network, keep)
    settings = {**dataclasses.asdict(network.base), "weights_seed": network.seed, "data": network.data}
    _records.start_run(folder, {**settings, "seed": seed, "kept": sorted(keep)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the Gaussian process, after few trials
        # KerasTuner 1.4.8 asks for threads by their old name.
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="keras_tuner")
        # On the chief of a distributed search this ends when the search does.
        tuner = keras_tuner.BayesianOptimization(
            hypermodel(network),
            objective=keras_tuner.Objective("val_loss", "min"),
            max_trials=max_trials,
            num_initial_points=max(2, max_trials // 3),
            seed=seed,
            hyperparameters=space,
            directory=str(folder.parent),
            project_name=folder.name,
            overwrite=False,
        )
        tuner.search(callbacks=[keras.callbacks.TensorBoard(str(folder / "tensorboard"))], verbose=verbose)
    return tuner


def trials(tuner: keras_tuner.Tuner, worst: float) -> list[dict[str, Any]]:
    """Settings and validation loss of every finished trial, the best first; None for a trial that diverged."""
    return [
        {
            "settings": dict(trial.hyperparameters.values),
            "val_loss": float(trial.score) if trial.score < worst else None,
        }
        for trial in tuner.oracle.get_best_trials(1_000_000)
        if trial.score is not None
    ]


def _space(network: Trainable, keep: Collection[str]) -> keras_tuner.HyperParameters:
    """The settings that are fixed before a search: KerasTuner returns these when the network asks for them."""
    import keras_tuner

    asked, fixed = keras_tuner.HyperParameters(), keras_tuner.HyperParameters()
    network.space(asked)
    values = {name: getattr(network.base, name) for name in asked.values}
    known = [name for name, value in values.items() if value is not None]  # None leaves the value to the network
    for name in keep:
        if name not in known:
            raise ValueError(f"A setting that is kept is one of {', '.join(known)}. Received: {name!r}. Leave it out.")
        fixed.Fixed(name, values[name])
    return fixed


class Searches(Experiment):
    """The searches' section of the report; `tune` makes the records."""

    name = "tuning"
    title = "Searches"
    place = "`tune`"
    measure = "validation loss"
    rows = {}
    run_name = "{table[table]}, {table[row]}"
    header = "table | row | trials | steps of each | best loss | median | worst | learning rate | others"

    def run(self, run: Run) -> Record:
        raise NotImplementedError("`tune` searches.")

    def fields(self, records: Sequence[Record]) -> dict[str, str]:
        searches = [_losses(record) for record in records]
        medians = [(losses[0], statistics.median(losses)) for losses in searches]
        gains = [1 - best / median for best, median in medians if math.isfinite(median)]
        diverged = sum(math.isinf(loss) for losses in searches for loss in losses)
        return {
            "searches": f"{len(searches)}",
            "gains": f"{min(gains):.0%} to {max(gains):.0%}" if gains else "no finite number",
            "diverged": f"{diverged} of {sum(map(len, searches))}",
            **super().fields(records),
        }

    def lines_of(self, record: Record) -> list[list[object]]:
        trials, protocol, losses = record["result"]["trials"], record["protocol"], _losses(record)
        settings = dict(trials[0]["settings"])
        rate = settings.pop("learning_rate")
        others = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in sorted(settings.items()))
        found = [f"{loss:.3f}" for loss in (losses[0], statistics.median(losses), losses[-1])]
        place = record["table"]["table"], record["table"]["row"]
        return [[*place, len(trials), protocol["steps"] * protocol["epochs"], *found, f"{rate:.3g}", others]]


def _losses(record: Record) -> list[float]:
    """The losses of a search in ascending order; infinite where a training diverged."""
    losses = (trial["val_loss"] for trial in record["result"]["trials"])
    return sorted(math.inf if loss is None else loss for loss in losses)

"""Nested cross-validation: every model is scored on sessions that neither its weights nor its penalty have seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from examples.behaviour.agents import chosen, nats
from examples.behaviour.models import Logits, Model
from examples.behaviour.tasks import Array, Trials


@dataclass(frozen=True)
class Scores:
    """Scores of a model.

    Attributes:
        by_subject: (subjects,), nats a choice. penalties: chosen in each outer fold.
    """

    by_subject: Array
    penalties: tuple[float, ...]


def folds_by_subject(trials: Trials, folds: int, seed: int) -> Array:
    """Int (sessions,): the fold of each session, those of a subject in one."""
    subjects = trials.subject_ids
    order = np.random.default_rng(seed).permutation(subjects.max() + 1)
    return np.asarray(order % folds)[subjects]


def folds_by_session(trials: Trials, folds: int, seed: int) -> Array:
    """Int (sessions,): the fold of each session, those of a subject spread evenly."""
    found, rng = np.zeros(len(trials), int), np.random.default_rng(seed)
    for subject in range(trials.subject_ids.max() + 1):
        rows = np.flatnonzero(trials.subject_ids == subject)
        found[rng.permutation(rows)] = np.arange(len(rows)) % folds
    return found


def cross_validate(
    model: Model, trials: Trials, *, each_subject: bool = False, folds: int = 5, inner: int = 2, seed: int = 0
) -> Scores:
    """Nested cross-validation.

    In each outer fold the penalty with the least mean loss over inner folds is chosen, and the model fitted with it to
    all sessions outside the fold.

    Args:
        model: what is scored. trials: the sessions.
        each_subject: whether each subject has a model of its own, scored on its other sessions; by default one model
            serves all, scored on other subjects.
        folds, inner: outer and inner folds. seed: of folds and starts.
    """
    split = folds_by_session if each_subject else folds_by_subject
    outer, within = split(trials, folds, seed), split(trials, inner, seed + 1)
    groups = np.eye(trials.subject_ids.max() + 1, dtype=bool)[:, trials.subject_ids] if each_subject else True
    groups = np.atleast_2d(np.broadcast_to(groups, (np.shape(groups)[0] if each_subject else 1, len(trials))))
    train, held = (_subsets(groups, outer, keep, folds) for keep in (False, True))
    pairs = [(rows & (within != i), rows & (within == i)) for rows in train for i in range(inner)]
    if not all(part.any(axis=1).all() for part in (train, held, *map(np.array, zip(*pairs, strict=True)))):
        kind = "sessions a subject" if each_subject else "subjects"
        raise ValueError(
            f"Every fold must have {kind} to fit and to score. Received: {len(trials)} sessions of "
            f"{trials.subject_ids.max() + 1} subjects, folds={folds}, inner={inner}. Pass fewer folds."
        )
    counts = trials.scored.sum(axis=1)
    number, penalties = len(model.penalties), np.repeat(model.penalties[0], folds)
    if number > 1:
        fit_on, score_on = (np.tile(part, (number, 1)) for part in zip(*pairs, strict=True))
        fits = model.fit(trials, fit_on, penalties=np.repeat(model.penalties, len(pairs)), seed=seed)
        losses = _sums(fits, trials, score_on).sum(axis=1) / np.maximum(score_on @ counts, 1)
        penalties = np.take(model.penalties, losses.reshape(number, folds, -1).mean(axis=-1).argmin(axis=0))
    fits = model.fit(trials, train, penalties=np.repeat(penalties, len(groups)), seed=seed)
    ids, total = trials.subject_ids, _sums(fits, trials, held).sum(axis=0)
    return Scores(np.bincount(ids, total) / np.bincount(ids, counts), tuple(penalties.tolist()))


def interval(values: Array) -> tuple[float, float, float]:
    """The mean over subjects and its interval of 95 percent, by Student's t."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, -np.inf, np.inf
    half = float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5)
    return mean, mean - half, mean + half


def _subsets(groups: Array, outer: Array, keep: bool, folds: int) -> Array:
    """Bool (folds x groups, sessions): the sessions of a group outside each fold, or in it."""
    return np.concatenate([groups & ((outer == fold) == keep) for fold in range(folds)])


def _sums(fits: list[Logits], trials: Trials, subsets: Array) -> Array:
    """Nats (fits, sessions) of each fit on the sessions of its set, 0 elsewhere.

    All sets are padded to one size, as a network is compiled for each number of sessions.
    """
    most, found = subsets.sum(axis=1).max(), np.zeros(subsets.shape)
    for sums, logits, rows in zip(found, fits, subsets, strict=True):
        places = np.argsort(~rows, kind="stable")[:most]
        part = trials.take(places)
        sums[places] = (nats(logits(part), chosen(part)) * part.scored).sum(axis=1) * rows[places]
    return found

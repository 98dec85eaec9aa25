"""The experiments of the papers, in the order of the report: `python -m examples.papers`, from the root of a clone.

A new table is a file here with a subclass of `Experiment`, a line in `EXPERIMENTS`, and a Markdown template next to the
records.
"""

from __future__ import annotations

from examples.papers import (
    ablations,
    automata_noise,
    compare_extraction,
    counting,
    imdb,
    isan_ngrams,
    isan_predictions,
    isan_samples,
    isan_spectra,
    isan_subspaces,
    isan_timescales,
    minimal_rnn_lags,
    minimal_rnn_recommendation,
    minimal_rnn_start,
    mlregtest,
    mlregtest_learners,
    mnist,
    mnist_centroids,
    newsgroups,
    pairs,
    palindromes,
    parentheses,
    parentheses_states,
    range_precision,
    shared_centroid,
    temperature,
    text8,
    tomita,
    tomita_paper,
    tuning,
)
from examples.papers._experiment import Experiment
from examples.papers._records import environment

__all__ = ["EXPERIMENTS", "environment"]

EXPERIMENTS: tuple[Experiment, ...] = (
    text8.Text8(),
    isan_spectra.Spectra(),
    isan_samples.Samples(),
    isan_predictions.Predictions(),
    isan_timescales.Timescales(),
    isan_subspaces.Subspaces(),
    isan_ngrams.Ngrams(),
    ablations.Ablations(),
    pairs.Pairs(),
    counting.Counting(),
    minimal_rnn_start.Start(),
    minimal_rnn_recommendation.Recommendation(),
    minimal_rnn_lags.Lags(),
    tomita.Tomita(),
    tomita_paper.TomitaPaper(),
    shared_centroid.SharedCentroid(),
    temperature.Temperature(),
    compare_extraction.CompareExtraction(),
    mlregtest.RegularLanguages(),
    mlregtest_learners.Learners(),
    automata_noise.AutomataFromNoise(),
    parentheses.Parentheses(),
    range_precision.RangeAndPrecision(),
    parentheses_states.ParenthesesStates(),
    palindromes.Palindromes(),
    imdb.Reviews(),
    mnist.Pixels(),
    mnist.QuarterOfPixels(),
    mnist_centroids.MnistCentroids(),
    newsgroups.Posts(),
    tuning.Searches(),
)

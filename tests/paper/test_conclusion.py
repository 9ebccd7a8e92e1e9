"""The conclusion: parameters themselves, which priors are told, and how long an update takes."""

import json

import numpy as np
import pytest

from penchant.files.output import json_text
from penchant_paper.report import reproduction_document
from penchant_paper.reproduction import Run, reproduce
from penchant_paper.statements import (
    SCALES,
    VARIANCES,
    PriorErrors,
    RealTime,
    _claim_easier,
    _claim_fast,
    _estimated,
    real_time,
    smaller,
)

GOOD = np.tile([4.0, 200.0, 1.0], (2, 300, 1))


def _told(error_of):
    rng = np.random.default_rng(1)
    pairs = [(v, 1.0) for v in VARIANCES] + [(1.0, s) for s in SCALES if s != 1.0]
    return tuple(
        PriorErrors(place, v, s, error_of(v, s) * rng.uniform(0.9, 1.1, (20, 2)))
        for place in "AB"
        for v, s in pairs
    )


def test_the_true_parameters_are_estimated_or_not():
    assert _estimated(GOOD).verdict == "holds"
    bad = GOOD.copy()
    bad[:, :, 2] = 1.6
    assert _estimated(bad).verdict == "holds in part"
    few = np.where(np.arange(6)[None, :, None] < 3, np.nan, GOOD[:, :6])
    assert _estimated(few).verdict == "not enough replicates to tell"


def test_small_variances_and_long_scales_are_easier_where_their_errors_are_smaller():
    assert _claim_easier(_told(lambda v, s: v / (1 + s))).verdict == "holds"
    assert _claim_easier(_told(lambda v, s: (1 + s) / v)).verdict == "does not hold"
    assert _claim_easier(_told(lambda v, s: v * (1 + s))).verdict == "holds in part"
    assert _claim_easier(_told(lambda v, s: 1.0)).verdict == "not enough replicates to tell"


def test_the_probability_of_a_smaller_error_is_that_of_pairs():
    rng = np.random.default_rng(2)
    draws = [smaller(rng.normal(size=30), rng.normal(0.5, size=30)) for _ in range(300)]
    shares, errors = np.array(draws).T
    assert shares.mean() == pytest.approx(0.638, abs=0.02)  # Phi(0.5 / sqrt 2)
    assert np.median(errors) == pytest.approx(shares.std(), rel=0.2)


@pytest.mark.parametrize(("slowest", "verdict"), [(0.02, "holds"), (9.0, "does not hold")])
def test_real_time_is_that_of_a_choice_of_the_experiment(slowest, verdict):
    claim = _claim_fast(RealTime(np.array([0.01, slowest]), np.array([0.01])))
    assert claim.verdict == verdict


def test_times_are_measured_after_the_last_choices_and_said_in_words():
    times = real_time(rng=np.random.default_rng(3))
    assert times.linearized.shape == times.exact.shape == (10,)
    assert "linearised estimate: median" in times.summary


@pytest.mark.slow
def test_times_are_in_no_file():
    run = Run(n_replicates=10, quick=True)
    one, two = (
        json.loads(json_text(reproduction_document(reproduce(["conclusion"], run=run))))
        for _ in range(2)
    )
    assert one == two

"""An estimate as numbers and text, and back."""

import json

import numpy as np
import pytest

import penchant as pn
from made import case, half_separated_case, separated_case


def _estimates():
    data = case()
    choices = data.choices
    doubled = pn.Choices.from_arrays(
        [np.column_stack([x, x[:, 0]]) for x in data.sets], data.chosen
    )
    limits = pn.Constraints.at_most(choices.names, x1=0.3)
    return {
        "converged": pn.fit(choices),
        "map": pn.fit(choices, parameter_prior=pn.GaussianPrior(0.3, 0.7)),
        "firth": pn.fit(choices, method="firth"),
        "bound": pn.fit(choices, constraints=limits),
        "separated": pn.fit(separated_case().choices),
        "half": pn.fit(half_separated_case().choices),
        "unidentified": pn.fit(doubled),
        "stopped": pn.fit(choices, max_steps=1),
    }


@pytest.mark.parametrize("kind", list(_estimates()))
def test_an_estimate_survives_json(kind):
    estimate = _estimates()[kind]
    content = json.loads(json.dumps(estimate.to_dict(), allow_nan=False))
    again = pn.Estimate.from_dict(content)
    assert again.to_dict() == estimate.to_dict()
    np.testing.assert_array_equal(again.theta, estimate.theta)
    np.testing.assert_array_equal(again.covariance, estimate.covariance)
    assert again.summary() == estimate.summary()
    assert again.choices is None
    assert again.diagnostics == estimate.diagnostics


@pytest.mark.parametrize("kind", ["converged", "map", "firth", "bound", "half"])
def test_a_restored_estimate_gives_the_same_intervals_and_predictions(kind):
    estimate = _estimates()[kind]
    again = pn.Estimate.from_dict(estimate.to_dict()).attach(estimate.choices)
    np.testing.assert_array_equal(again.interval(kind="profile"), estimate.interval(kind="profile"))
    if np.isfinite(estimate.theta).all():
        x = np.random.default_rng(2).normal(size=(4, 5, 3))
        np.testing.assert_array_equal(again.predict(x), estimate.predict(x))


def test_the_document_has_what_the_command_line_promises():
    content = _estimates()["converged"].to_dict()
    for field in ("status", "log_likelihood", "n_decisions", "parameters", "diagnostics"):
        assert field in content
    assert set(content["parameters"][0]) == {"name", "estimate", "standard_error", "low", "high"}
    assert content["format"] == "penchant-estimate"


def test_foreign_newer_and_damaged_documents_are_refused():
    content = _estimates()["converged"].to_dict()
    with pytest.raises(pn.DataError, match="format must be 'penchant-estimate'; got None"):
        pn.Estimate.from_dict({"theta": [1.0]})
    with pytest.raises(pn.DataError, match="version must be at most 1; got 99"):
        pn.Estimate.from_dict({**content, "version": 99})
    broken = {key: value for key, value in content.items() if key != "theta"}
    with pytest.raises(pn.DataError, match="an estimate must have the field 'theta'"):
        pn.Estimate.from_dict(broken)

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
    with pytest.raises(pn.errors.DataError, match=r"document must be what Estimate\.to_dict wrote"):
        pn.Estimate.from_dict({"theta": [1.0]})
    with pytest.raises(pn.errors.DataError, match="version must be at most 1; got 99"):
        pn.Estimate.from_dict({**content, "version": 99})
    broken = {key: value for key, value in content.items() if key != "theta"}
    with pytest.raises(pn.errors.DataError, match="theta must be given"):
        pn.Estimate.from_dict(broken)


def _damaged(field, value, kind="converged"):
    content = json.loads(json.dumps(_estimates()[kind].to_dict()))
    place = content
    *way, last = field.split(".")
    for step in way:
        place = place[step]
    place[last] = value
    return content


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("status", "great", "status must be one of converged, .*; got 'great'"),
        ("status", None, "status must be one of"),
        ("theta", [1.0], r"theta must hold numbers of shape \(3,\); got shape \(1,\)"),
        ("theta", ["a", 1.0, 2.0], "theta must hold numbers"),
        ("theta", 1.0, "theta must hold numbers"),
        ("names", ["a", "b"], r"theta must hold numbers of shape \(2,\)"),
        ("names", ["a", "a", "b"], "names must differ; got a"),
        ("names", "abc", "names must be a list of text"),
        ("covariance", [[1.0]], r"covariance must hold numbers of shape \(3, 3\)"),
        ("covariance", [[1, 2, 3], [1, 2], [1, 2, 3]], "covariance must hold numbers"),
        ("covariance", [[-1, 0, 0], [0, 1, 0], [0, 0, 1]], "covariance must have no negative"),
        ("inverse_information", None, "inverse_information must hold numbers"),
        ("scale", [], "scale must hold numbers"),
        ("log_likelihood", "low", "log_likelihood must be a number; got 'low'"),
        ("n_decisions", -3, "n_decisions must be a whole number from 0 on; got -3"),
        ("n_decisions", 2.5, "n_decisions must be a whole number"),
        ("total_weight", 0, "total_weight must be positive"),
        ("n_options", [3, 2], "n_options must be two sizes in order"),
        ("method", "magic", "method must be one of"),
        ("covariance_kind", "kind", "covariance_kind must be one of"),
        ("message", 3, "message must be text"),
        ("notes", "note", "notes must be a list of text"),
        ("prior", 3, "prior must be text or None"),
        ("diagnostics", [], "diagnostics must be a dict"),
        ("diagnostics.rank", 7, "diagnostics.rank must lie in 0..3; got 7"),
        ("diagnostics.iterations", "5", "diagnostics.iterations must be a whole number"),
        ("diagnostics.certificate", "luck", "diagnostics.certificate must be one of"),
        ("diagnostics.near_separation", {"q": 1.0}, "near_separation must name parameters"),
        ("diagnostics.separation", {"kind": "odd"}, "separation.kind must be one of"),
        ("diagnostics.null_directions", [{"x1": "a"}], "null_directions must hold numbers"),
        ("diagnostics.bounds", [1], "diagnostics.bounds must be a list of text"),
        ("quadratic", {"precision": 1, "linear": 1, "constant": 1}, "quadratic.precision must"),
        ("constraints", {"matrix": [[1]], "bound": [1], "labels": ["a"]}, "constraints.matrix"),
    ],
)
def test_a_field_that_is_wrong_is_named(field, value, words):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.Estimate.from_dict(_damaged(field, value))


def test_what_is_no_document_is_refused():
    with pytest.raises(
        pn.errors.DataError, match=r"document must be what Estimate\.to_dict wrote; got list"
    ):
        pn.Estimate.from_dict([1, 2])

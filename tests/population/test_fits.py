"""From fits to a population: exact, linearised and of choices; subjects without a maximum."""

import warnings

import numpy as np
import pytest

import penchant as pn
from penchant.population.subject_estimates import subject_estimates
from played import q_episode, ucl, ucl_episode

MODEL = pn.QLearning(4)


def episodes(n=6):
    """Some who can be estimated, one who always takes the same, one who chose once."""
    found = []
    for seed in range(n):
        e = q_episode(seed=seed, n_decisions=70)
        found.append(pn.Episode(e.chosen, e.rewards, subject=f"s{seed}"))
    stuck = pn.Episode([2] * 30, [0.9] * 30, subject="stuck")
    return [*found, stuck, pn.Episode([1], [0.9], subject="once")]


@pytest.fixture(scope="module")
def each():
    return pn.fit_each(episodes(), MODEL)


@pytest.mark.parametrize("rule", ["mean-pooled", "mean-sample", "fixed-effect", "random-effects"])
def test_subjects_without_a_maximum_are_listed_and_change_nothing(each, rule):
    found = pn.pool(each, rule=rule)
    assert [(x.subject, x.why) for x in found.left_out] == [
        ("stuck", "separated"),
        ("once", "not identified"),
    ]
    fine = pn.pool(each[:6], rule=rule)
    np.testing.assert_allclose(found.estimate, fine.estimate, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, fine.covariance, rtol=1e-12)
    assert found.names == ("inverse_temperature", "learning_rate")
    assert found.subjects == fine.subjects == tuple(f"s{i}" for i in range(6))


def test_the_joint_likelihood_keeps_everybody_and_is_the_fit_of_all_episodes(each):
    found = pn.pool(each, rule="joint")
    alone = pn.fit(episodes(), MODEL)
    np.testing.assert_allclose(found.estimate, alone.theta, rtol=1e-9)
    np.testing.assert_allclose(found.covariance, alone.covariance, rtol=1e-8)
    assert found.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-12)
    assert found.n_subjects == 8 and found.left_out == ()
    again = pn.pool(episodes()[::-1], model=MODEL, rule="joint")
    np.testing.assert_allclose(found.estimate, again.estimate, rtol=1e-7)
    by_category = pn.pool(each, categories=["a", "b"] * 4, rule="joint")
    half = pn.pool(episodes()[::2], model=MODEL, rule="joint")
    np.testing.assert_allclose(by_category["a"].estimate, half.estimate, rtol=1e-9)


def test_natural_parameters_have_delta_method_covariances(each):
    found = subject_estimates(each, scale="natural")
    assert found.names == ("temperature", "learning_rate")
    for i, estimate in enumerate(each[:6]):
        values = [p.estimate for p in estimate.parameters]
        errors = [p.standard_error for p in estimate.parameters]
        np.testing.assert_allclose(found.estimates[i], values, rtol=1e-12)
        np.testing.assert_allclose(np.sqrt(np.diag(found.covariances[i])), errors, rtol=1e-9)
    pooled = pn.pool(each, rule="mean-pooled", scale="natural")
    np.testing.assert_allclose(pooled.estimate, found.estimates[:6].mean(axis=0), rtol=1e-12)
    assert pooled.scale == "natural"
    joint = pn.pool(each, rule="joint", scale="natural")
    assert joint.names == ("temperature", "learning_rate")


def test_groups_of_fits_are_compared_in_natural_units(each):
    found = pn.compare_groups({"first": each[:3], "rest": each[3:]}, scale="natural")
    values = subject_estimates(each, scale="natural").estimates
    gap = values[:3].mean(axis=0) - values[3:6].mean(axis=0)
    np.testing.assert_allclose([d.difference for d in found.differences], gap, rtol=1e-9)
    assert found.populations["rest"].left_out[0].subject == "stuck"


def test_estimates_of_choices_are_pooled_and_jointly_fitted():
    rng = np.random.default_rng(4)
    who = np.repeat(["ann", "bob", "cy", "di"], [120, 90, 150, 3])
    sets = pn.Choices.from_arrays(
        rng.normal(size=(len(who), 4, 2)), None, subject=who, names=["gain", "risk"]
    )
    choices = pn.simulate(sets, [1.2, -0.6], rng=rng)
    found = pn.fit_each(choices)
    pooled = pn.pool(found, rule="fixed-effect")
    assert pooled.names == ("gain", "risk")
    used = [i for i, s in enumerate(found.subjects) if s in pooled.subjects]
    weights = [np.linalg.inv(found.covariance[i]) for i in used]
    mean = np.linalg.solve(
        sum(weights), sum(w @ found.theta[i] for w, i in zip(weights, used, strict=True))
    )
    np.testing.assert_allclose(pooled.estimate, mean, rtol=1e-9)
    listed = pn.pool(list(found), rule="fixed-effect")
    np.testing.assert_allclose(listed.estimate, pooled.estimate, rtol=1e-9)
    joint = pn.pool(choices, rule="joint")
    np.testing.assert_allclose(joint.estimate, pn.fit(choices).theta, rtol=1e-12)
    assert joint.n_subjects == 4
    with pytest.raises(pn.errors.DataError, match=r"Use pool\(data, model=model, rule"):
        pn.pool(found, rule="joint")


def test_everybody_can_be_separated_and_the_joint_likelihood_still_has_a_maximum():
    """Each subject is consistent, with themselves only."""
    x = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.3], [0.0, 0.0]]] * 3)
    who = ["ann", "ann", "bob", "bob", "cy", "cy"]
    choices = pn.Choices.from_arrays(x, [0, 0, 1, 1, 0, 1], subject=who)
    each = pn.fit_each(choices)
    assert set(each.status) == {"separated"}
    pooled = pn.pool(each)
    assert pooled.status == "no subjects" and len(pooled.left_out) == 3
    joint = pn.pool(choices, rule="joint")
    assert joint.status == "estimated" and np.isfinite(joint.standard_errors).all()


def test_linearised_estimates_are_pooled_and_mapped_back():
    model, nominal = ucl(), pn.RewardPrior(30.0, 100.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pn.errors.PenchantWarning)
        fits = [pn.fit_linearized(ucl_episode(seed), model, nominal=nominal) for seed in range(3)]
    pooled = pn.pool(fits, rule="mean-pooled", subjects=["ann", "bob", "cy"])
    assert pooled.names == ("theta1", "theta2", "theta3")
    np.testing.assert_allclose(pooled.estimate, np.mean([f.theta for f in fits], axis=0))
    one = pn.paper.population_in_natural_parameters(
        pn.pool(fits[:1], rule="mean-pooled"), model, nominal=nominal
    )
    np.testing.assert_allclose(one.estimate, [p.estimate for p in fits[0].parameters], rtol=1e-9)
    np.testing.assert_allclose(
        one.standard_errors, [p.standard_error for p in fits[0].parameters], rtol=1e-6
    )


def test_linearised_estimates_outside_the_model_are_left_out_of_natural_averages():
    model, nominal = ucl(), pn.RewardPrior(30.0, 100.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pn.errors.PenchantWarning)
        fits = [pn.fit_linearized(ucl_episode(seed), model, nominal=nominal) for seed in range(12)]
    inside = [bool(np.isfinite(f.validity.exact_log_likelihood)) for f in fits]
    assert 0 < sum(inside) < 12, "both kinds are needed"
    found = pn.pool(fits, rule="mean-sample", scale="natural")
    lost = [i for i, fine in enumerate(inside) if not fine]
    assert [x.subject for x in found.left_out] == lost
    assert np.isfinite(found.estimate).all()


def test_estimates_of_different_models_are_not_averaged(each):
    other = pn.fit(ucl_episode(1), ucl())
    with pytest.raises(pn.errors.DataError, match="estimates must have the same parameters"):
        pn.pool([each[0], other])
    with pytest.raises(pn.errors.DataError, match="estimates must be of the same model"):
        pn.pool([each[0], other], rule="joint")
    with pytest.raises(pn.errors.DataError, match="covariances must be left out with fits"):
        pn.pool(each, np.ones((8, 2, 2)))


def test_weakly_identified_subjects_are_kept_and_named(each):
    everyone = subject_estimates(each)
    assert "Weakly" not in pn.pool(everyone).summary()
    weak = type(everyone)(
        everyone.names,
        everyone.subjects,
        everyone.estimates,
        everyone.covariances,
        ("weakly identified", *everyone.status[1:]),
    )
    found = pn.pool(weak)
    assert found.n_subjects == 6
    assert "Weakly identified, and kept: s0." in found.summary()

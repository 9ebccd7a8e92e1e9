"""The same verbs for the estimate of choices, of a model, and of a linearised model."""

import json
import pickle

import numpy as np
import pytest

import penchant as pn
import played

MODEL = pn.QLearning(3)


def play(seed=4, n=120, subject=None):
    rng = np.random.default_rng(seed)
    task = pn.Landscape([0.2, 0.5, 0.9], pn.GaussianNoise(0.1))
    rule = {"temperature": 0.3, "learning_rate": 0.4}
    made = pn.simulate(task, MODEL, rule, n_decisions=n, rng=rng)
    return pn.Episode(made.chosen, made.rewards, subject=subject)


@pytest.fixture(scope="module")
def estimate():
    return pn.fit(play(), MODEL)


@pytest.fixture(scope="module")
def people():
    return pn.fit_each([play(seed, subject=f"s{seed}") for seed in (4, 5)], MODEL)


MADE = {
    "exact": lambda: pn.fit(play(), MODEL),
    "MAP": lambda: pn.fit(play(), MODEL, parameter_prior=pn.ScaledPrior()),
    "linear": lambda: pn.fit(play(), pn.QLearning(3, learning_rate=0.4)),
    "separated": lambda: pn.fit(pn.Episode([2] * 9, [0.3] * 9), played.Learner()),
    "not identified": lambda: pn.fit(pn.Episode([1], [0.4]), MODEL),
    "linearised": lambda: pn.fit_linearized(play(), MODEL, nominal={"learning_rate": 0.5}),
}


@pytest.mark.filterwarnings("ignore::penchant.errors.PenchantWarning")
@pytest.mark.parametrize("kind", MADE)
def test_an_estimate_comes_back_from_json_as_it_was(kind):
    found = MADE[kind]()
    document = json.loads(json.dumps(found.to_dict()))
    again = pn.Estimate.from_dict(document)
    assert again.to_dict().keys() - document.keys() <= {"natural_covariance"}
    assert {k: v for k, v in again.to_dict().items() if k in document} == document
    for name in ("theta", "covariance", "natural"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    assert repr(again) == repr(found)
    assert again.natural_names == found.natural_names
    assert again.summary() == found.summary()


def test_what_was_kept_says_what_it_lacks(estimate):
    again = pn.Estimate.from_dict(estimate.to_dict(0.9, "profile"))
    assert again.parameters == estimate.parameters_at(0.9, "profile")
    np.testing.assert_array_equal(again.interval(0.9, "profile"), estimate.interval(0.9, "profile"))
    with pytest.raises(
        pn.errors.DataError, match=r"must be those that were kept \(0\.9, 'profile'\)"
    ):
        again.interval()
    with pytest.raises(pn.errors.DataError, match=r"intervals of theta must have the model"):
        again.interval(0.9, "profile", of="theta")
    for ask in (again.predict, again.robust, again.log_likelihoods, again.clustered):
        with pytest.raises(pn.errors.DataError, match=r"\(\) must have the model and its data"):
            ask()
    with pytest.raises(pn.errors.DataError, match="profile must have the model and its data"):
        _ = again.profile
    np.testing.assert_array_equal(again.psi, estimate.psi)


def test_a_parameter_is_found_by_its_name(estimate):
    assert estimate["learning_rate"] == estimate.parameters[1]
    weight = estimate["inverse_temperature"]
    assert (weight.estimate, weight.standard_error) == (
        estimate.theta[0],
        estimate.standard_errors[0],
    )
    with pytest.raises(pn.errors.DataError, match="Did you mean 'learning_rate'"):
        estimate["learnign_rate"]


@pytest.mark.parametrize("kind", ["wald", "profile"])
def test_intervals_are_of_what_is_asked_for(estimate, kind):
    every = estimate.interval(0.9, kind)
    np.testing.assert_array_equal(estimate.interval(0.9, kind, "parameters"), every)
    np.testing.assert_allclose(estimate.interval(0.9, kind, "learning_rate"), every[1:], rtol=1e-9)
    theta = estimate.interval(0.9, kind, "theta")
    np.testing.assert_allclose(theta[1], every[1], rtol=1e-6)
    if kind == "profile":  # which follows the parameter through any map
        np.testing.assert_allclose(theta[0], 1 / every[0][::-1], rtol=1e-5)
    with pytest.raises(pn.errors.DataError, match="parameters must be among temperature"):
        estimate.interval(of=["temperature", "rate"])


def test_a_likelihood_ratio_test_inverts_the_profile_interval(estimate):
    for name, ends in zip(estimate.natural_names, estimate.interval(0.9, "profile"), strict=True):
        for end in ends:
            assert estimate.likelihood_ratio_test({name: end}).p_value == pytest.approx(
                0.1, abs=1e-4
            )
        there = estimate.likelihood_ratio_test({name: estimate[name].estimate})
        assert there.statistic == pytest.approx(0.0, abs=1e-8)
    with pytest.raises(
        pn.errors.DataError, match="hypothesis must name one parameter of the model"
    ):
        estimate.likelihood_ratio_test({"rate": 0.2})
    with pytest.raises(
        pn.errors.DataError, match=r"hypothesis must lie in 0\.\.inf for temperature"
    ):
        estimate.likelihood_ratio_test({"temperature": -1.0})
    weak = pn.fit(play(), MODEL, parameter_prior=pn.ScaledPrior())
    with pytest.raises(
        pn.errors.DataError, match="must have a maximum of the likelihood; got a prior"
    ):
        weak.likelihood_ratio_test({"temperature": 0.2})


def test_a_wald_test_is_of_natural_parameters_or_of_theta(estimate):
    rate, weight = estimate["learning_rate"], estimate["inverse_temperature"]
    found = estimate.wald_test({"learning_rate": 0.2})
    assert found.statistic == pytest.approx(((rate.estimate - 0.2) / rate.standard_error) ** 2)
    found = estimate.wald_test("inverse_temperature")
    assert found.statistic == pytest.approx((weight.estimate / weight.standard_error) ** 2)
    both = estimate.wald_test(["temperature", "learning_rate"])
    gap = np.linalg.solve(estimate.natural_covariance, estimate.natural)
    assert both.statistic == pytest.approx(float(gap @ estimate.natural))


def test_the_sandwich_of_a_model_is_made_of_its_scores(estimate):
    h = 1e-5
    slopes = []
    for a in range(2):
        moved = [estimate.theta + sign * h * np.eye(2)[a] for sign in (1, -1)]
        up, down = (log_probabilities(play(), *theta) for theta in moved)
        slopes.append((up - down) / (2 * h))
    meat = np.array(slopes) @ np.array(slopes).T
    expected = estimate.covariance @ meat @ estimate.covariance
    np.testing.assert_allclose(estimate.robust().covariance, expected, rtol=1e-5)
    assert "robust" in estimate.robust().summary()
    pairs = np.repeat(np.arange(60), 2)
    sums = np.array(slopes).reshape(2, 60, 2).sum(axis=2)
    expected = estimate.covariance @ (sums @ sums.T) @ estimate.covariance
    np.testing.assert_allclose(estimate.clustered(pairs).covariance, expected, rtol=1e-5)
    with pytest.raises(
        pn.errors.DataError, match="cluster must be given where episodes have no subject"
    ):
        estimate.clustered()


def log_probabilities(episode, weight, rate):
    """Of every choice of a learner whose values begin at 0, event by event."""
    values, found = np.zeros(3), []
    for option, reward in zip(episode.chosen, episode.rewards, strict=True):
        q = weight * values
        found.append(q[option] - np.log(np.exp(q).sum()))
        values[option] += rate * (reward - values[option])
    return np.array(found)


def test_a_pickled_estimate_of_a_model_takes_its_episodes_back(estimate):
    again = pickle.loads(pickle.dumps(estimate))
    assert again.episodes is None
    with pytest.raises(pn.errors.DataError, match="episodes must be at hand"):
        again.interval(kind="profile")
    with pytest.raises(
        pn.errors.DataError, match=r"episodes must be those of the fit \(120 decisions\)"
    ):
        again.attach(play(n=7))
    attached = again.attach(play()).interval(kind="profile")
    np.testing.assert_allclose(attached, estimate.interval(kind="profile"), rtol=1e-9)


def test_what_belongs_to_choices_or_to_models_alone_says_so(estimate):
    with pytest.raises(pn.errors.DataError, match=r"score_test\(\) must be of choices"):
        estimate.score_test("learning_rate")
    sets = pn.Choices.from_arrays(np.random.default_rng(0).normal(size=(60, 3, 1)), None)
    choices = pn.fit(pn.simulate(sets, [0.8], rng=np.random.default_rng(1)))
    with pytest.raises(pn.errors.DataError, match="profile must be of a model; got an estimate"):
        _ = choices.profile
    with pytest.raises(pn.errors.DataError, match="average must be left out for choices"):
        choices.predict(average=True)
    np.testing.assert_allclose(choices.predict().sum(axis=1), 1.0, rtol=1e-12)


def test_people_are_found_by_position_and_by_label(people):
    assert people["s5"].subject == people[1].subject == people.of("s5").subject == "s5"
    assert people[-1].theta.tolist() == people["s5"].theta.tolist()
    assert people[:1].subjects == ("s4",) and people[:1].theta.tolist() == people.theta[:1].tolist()
    with pytest.raises(pn.errors.DataError, match="subject must be one of the 2 fitted; got 's6'"):
        people["s6"]
    numbered = pn.fit_each([play(seed, subject=seed) for seed in (1, 0)], MODEL)
    assert (numbered[0].subject, numbered.of(0).subject) == (1, 0)  # a number is a position


def test_people_are_read_in_every_form(people):
    assert repr(people) == "<Estimates of 2 subjects: 2 converged>"
    text, table = people.summary(0.9), people.to_frame(0.9, "pyarrow").to_pydict()
    assert "Exact maximum likelihood of 2 subjects" in text and "(90 %)" in text and "s5" in text
    assert table["learning_rate"] == [e["learning_rate"].estimate for e in people]
    assert r"\toprule" in people.to_latex() and "<table" in people._repr_html_()
    assert str(people) == people.summary()
    again = pn.results.Estimates.from_dict(json.loads(json.dumps(people.to_dict())))
    assert again.summary() == people.summary() and again.subjects == people.subjects
    assert pickle.loads(pickle.dumps(people)).summary() == people.summary()
    with pytest.raises(
        pn.errors.DataError, match=r"document must be what Estimates\.to_dict wrote; got list"
    ):
        pn.results.Estimates.from_dict([])


def test_people_of_choices_are_read_in_every_form():
    rng = np.random.default_rng(3)
    subject = np.repeat(["a", "b"], 80)
    sets = pn.Choices.from_arrays(rng.normal(size=(160, 3, 2)), None, subject=subject)
    found = pn.fit_each(pn.simulate(sets, [0.7, -0.4], rng=rng))
    table = found.to_frame(0.9, "pyarrow", kind="profile").to_pydict()
    ends = [e.interval(0.9, "profile")[1] for e in found]
    np.testing.assert_allclose(np.transpose([table["x2_low"], table["x2_high"]]), ends, rtol=1e-9)
    again = pn.results.Estimates.from_dict(found.to_dict())
    assert again["b"].attach(found["b"].choices).summary() == found["b"].summary()
    assert again.summary() == found.summary()


def test_criteria_count_the_rank_of_the_weights_and_all_shape_parameters():
    rng = np.random.default_rng(8)
    people = [
        pn.Episode(rng.integers(2, size=30), rng.normal(0.5, 0.4, 30), subject=s) for s in range(12)
    ]
    fits = pn.fit_each(people, pn.QLearning(2))
    assert {int(np.isnan(fit.psi).sum()) for fit in fits} == {0, 1}  # some have no learning rate
    for fit in fits:
        assert fit.n_identified == 2
        assert fit.aic == pytest.approx(4 - 2 * fit.log_likelihood)
        assert fit.bic == pytest.approx(2 * np.log(30) - 2 * fit.log_likelihood)
    lost = pn.fit(pn.Episode([1], [0.4]), MODEL)
    assert lost.status == "not identified" and lost.n_identified == lost.diagnostics.rank + 1 < 2
    models = {"learner": pn.QLearning(2), "habit": pn.models.RandomChoice(2)}
    compared = pn.compare_models(models, people)
    np.testing.assert_allclose(compared.aic[:, 0], [fit.aic for fit in fits], rtol=1e-12)
    np.testing.assert_allclose(compared.bic[:, 0], [fit.bic for fit in fits], rtol=1e-12)

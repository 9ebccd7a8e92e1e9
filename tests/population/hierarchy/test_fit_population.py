"""Populations of players, of people with offers, and of choices: names, scales, people, exports."""

import dataclasses
import json

import numpy as np
import pytest

import penchant as pn
from penchant.errors import DataError
from penchant.population.hierarchy import fit, marginal_maximization
from penchant.population.hierarchy.marginal_maximization import SEARCH
from peopled import MODEL, discounters, mixed_choices, q_learner, q_learners


@pytest.fixture(scope="module")
def players():
    return q_learners(30, 60, np.random.default_rng(11))


@pytest.fixture(scope="module")
def people(players):
    return pn.fit_population(players[1], MODEL)


@pytest.fixture(scope="module")
def two_groups():
    rng = np.random.default_rng(12)
    _, controls = q_learners(20, 60, rng, label="control")
    _, patients = q_learners(20, 60, rng, mean=(0.6, -1.2), label="patient")
    episodes = controls + patients
    table = {
        "subject": [e.subject for e in episodes],
        "group": ["control"] * 20 + ["patient"] * 20,
        "age": np.linspace(18, 61, 40).tolist(),
    }
    return episodes, table


def test_names_links_and_coefficients_are_those_of_natural_parameters(people):
    assert people.names == ("learning_rate", "temperature")
    assert people.links == {"learning_rate": "logit", "temperature": "log"}
    typical = {p.name: p for p in people.parameters}
    rate, temperature = people.coefficients
    assert typical["learning_rate"].estimate == pytest.approx(1 / (1 + np.exp(-rate)), rel=1e-6)
    assert typical["temperature"].estimate == pytest.approx(np.exp(temperature))
    for p, (low, high) in zip(people.parameters, people.interval(), strict=True):
        link = people.source.likelihoods.coordinates.each[people.names.index(p.name)].link
        assert (p.low, p.high) == pytest.approx((link.value(low), link.value(high)))


def test_a_population_is_found_where_it_was_drawn(people):
    truth = np.array([-0.6, -1.2])
    assert (np.abs(people.coefficients - truth) < 3 * people.standard_errors).all()
    sd = {s.name: s for s in people.spreads()}
    assert sd["learning_rate"].low < 1.0 < sd["learning_rate"].high
    assert sd["temperature"].low < 0.5 < sd["temperature"].high
    low, high = people.correlation_interval("learning_rate", "temperature")
    assert low < 0.3 < high
    assert people.estimator == "reml"  # fewer than 50 subjects
    assert people.degrees_of_freedom.tolist() == [29.0, 29.0]


def test_everybody_counts_those_without_a_maximum_of_their_own_too(players, people):
    statuses = set(pn.fit_each(players[1], MODEL).status)
    assert statuses != {"converged"}
    assert len(people.subjects) == 30
    assert np.isfinite(people.subjects.mean).all()
    assert (people.subjects.sd > 0).all()
    assert np.isfinite(people.subjects.interval()).all()


def test_people_lie_nearer_to_their_truth_under_the_population_than_alone(players, people):
    h = players[0]
    alone = people.subjects.ml_natural
    coordinates = people.source.likelihoods.coordinates
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = coordinates.coordinates(alone) - h
    finite = np.isfinite(apart).all(axis=1)
    shrunken = people.subjects.mean - h
    size = (shrunken[finite] ** 2).mean(axis=0) / h.var(axis=0)
    assert size.sum() < ((apart[finite] ** 2).mean(axis=0) / h.var(axis=0)).sum()


def test_posterior_draws_ask_for_a_generator(people):
    with pytest.raises(
        DataError, match=r"^rng must be a generator of NumPy; got int\.\nWrite rng="
    ):
        people.subjects.draws(5, rng=3)


def test_posterior_draws_have_the_posterior_mean(people):
    draws = people.subjects.draws(400, rng=np.random.default_rng(0))
    coordinates = people.source.likelihoods.coordinates
    h = coordinates.coordinates(draws)
    assert draws.shape == (30, 400, 2)
    error = np.abs(h.mean(axis=1) - people.subjects.mean) / people.subjects.sd
    assert error.max() < 5 / np.sqrt(400 / 2)  # draws are taken with repetition


def test_reliability_is_one_minus_noise_over_spread(people):
    r = people.source.optimum.evaluation.covariances[:, :2, :2]
    expected = 1 - np.einsum("naa->na", r).mean(axis=0) / np.diag(people.spread)
    np.testing.assert_allclose(list(people.reliability.values()), expected)


def test_influences_sum_to_about_the_number_of_parameters(people):
    assert people.subjects.influence.min() >= 0
    assert 2 < people.subjects.influence.sum() < 10


def test_leaving_out_one_subject_agrees_with_fits_without_them(players):
    episodes = players[1][:14]
    found = pn.fit_population(episodes, MODEL, estimator="ml", spread="diagonal")
    for i in (0, 5):
        others = pn.fit_population(
            episodes[:i] + episodes[i + 1 :], MODEL, estimator="ml", spread="diagonal"
        )
        task = found.source.problem
        from penchant.population.hierarchy.marginal_maximization import evidences_on_other_nodes

        x = others.source.optimum.x
        exact = evidences_on_other_nodes(
            dataclasses.replace(task, nodes_per_dimension=15), found.source.optimum._replace(x=x)
        )[i]
        assert found.loo_each[i] == pytest.approx(exact, abs=0.35)  # one step of several


@pytest.mark.parametrize("seed", [3, 6, 13])
def test_the_integration_error_is_no_smaller_than_the_true_one(seed):
    _, episodes = q_learners(17, 40, np.random.default_rng(seed))
    found = pn.fit_population(episodes, MODEL)
    fine = dataclasses.replace(found.source.problem, nodes_per_dimension=45, extra_shape_nodes=40)
    true = (
        marginal_maximization.evidences_on_other_nodes(fine, found.source.optimum).sum()
        - found.log_likelihood
    )
    assert abs(true) < max(1.5 * found.integration_error, 0.005)
    assert found.integration_error < 0.1


def test_group_differences_are_contrasts_with_an_interval(two_groups):
    episodes, table = two_groups
    found = pn.fit_population(episodes, MODEL, covariates=["group"], people=table)
    assert found.names == (
        "learning_rate",
        "learning_rate:group[patient]",
        "temperature",
        "temperature:group[patient]",
    )
    contrast = found.contrast("group", "patient - control")
    assert contrast["learning_rate"]["difference"] == pytest.approx(found.coefficients[1])
    assert contrast["learning_rate"]["low"] < 1.2 < contrast["learning_rate"]["high"]
    assert contrast["temperature"]["p_value"] > 0.01
    back = found.contrast("group", "control - patient")
    np.testing.assert_allclose(back.difference, -contrast.difference)
    assert "patient - control" in contrast.summary()
    typical = {p.name: p.estimate for p in found.parameters_at(group="patient")}
    rate = found.coefficients[0] + found.coefficients[1]
    assert typical["learning_rate"] == pytest.approx(1 / (1 + np.exp(-rate)), rel=1e-6)
    own = found.group_parameters()
    assert list(own) == [("group", "control"), ("group", "patient")]
    assert own["group", "patient"] == found.parameters_at(group="patient")
    assert "group control: learning_rate" in found.summary()
    kept = pn.results.PopulationFit.from_dict(found.to_dict()).group_parameters()
    assert kept["group", "control"][0].estimate == own["group", "control"][0].estimate


def test_a_formula_gives_each_parameter_its_own_covariates(two_groups):
    episodes, table = two_groups
    pytest.importorskip("formulaic")
    found = pn.fit_population(
        episodes, MODEL, formula={"learning_rate": "~ group * age"}, people=table
    )
    assert found.names == (
        "learning_rate",
        "learning_rate:group[patient]",
        "learning_rate:age",
        "learning_rate:group[patient]:age",
        "temperature",
    )
    assert found.covariance.shape == (5, 5)
    assert found.degrees_of_freedom.tolist() == [36.0] * 4 + [39.0]


def test_numbers_are_centred_so_that_units_and_origins_do_not_matter(two_groups):
    episodes, table = two_groups
    other = dict(table, age=[12 * a + 100 for a in table["age"]])
    one = pn.fit_population(episodes, MODEL, covariates=["age"], people=table)
    two = pn.fit_population(episodes, MODEL, covariates=["age"], people=other)
    np.testing.assert_allclose(one.coefficients[[0, 2]], two.coefficients[[0, 2]], rtol=1e-3)
    np.testing.assert_allclose(
        one.coefficients[[1, 3]], 12 * two.coefficients[[1, 3]], rtol=1e-2, atol=1e-3
    )


def test_groups_may_have_spreads_of_their_own(two_groups):
    episodes, table = two_groups
    found = pn.fit_population(
        episodes, MODEL, covariates=["group"], people=table, spread="by group"
    )
    assert set(found.spread) == {"control", "patient"}
    assert found.spread["control"].shape == (2, 2)
    same = pn.fit_population(episodes, MODEL, covariates=["group"], people=table)
    assert found.n_parameters == same.n_parameters + 3
    comparison = found.compare(same)
    assert comparison.degrees_of_freedom == 3
    assert comparison.statistic > -1e-3
    assert "Standard deviations of patient" in found.summary()


def test_a_likelihood_ratio_finds_the_group(two_groups):
    episodes, table = two_groups
    with_group = pn.fit_population(episodes, MODEL, covariates=["group"], people=table)
    without = pn.fit_population(episodes, MODEL)
    found = with_group.compare(without)
    assert found.degrees_of_freedom == 2
    assert found.p_value < 0.05
    assert found.statistic == pytest.approx(
        2 * (with_group.maximum_log_likelihood - without.maximum_log_likelihood)
    )
    assert without.compare(with_group).statistic == pytest.approx(found.statistic)


def test_conditions_within_subjects_are_paired():
    rng = np.random.default_rng(3)
    episodes = []
    for i, h in enumerate(rng.multivariate_normal([-0.6, -1.2], np.diag([1.0, 0.2]), size=16)):
        shift = rng.normal(1.0, 0.3)
        episodes.append(q_learner(h, 60, rng, i, "placebo"))
        episodes.append(q_learner(h + np.array([shift, 0.0]), 60, rng, i, "dopa"))
    found = pn.fit_population(
        episodes, MODEL, within="drug", varying=["learning_rate"], spread="diagonal"
    )
    assert found.names == ("learning_rate", "learning_rate:drug[placebo]", "temperature")
    contrast = found.contrast("drug", "dopa - placebo")
    assert contrast.names == ("learning_rate",)
    assert contrast["learning_rate"]["low"] < 1.0 < contrast["learning_rate"]["high"]
    assert contrast["learning_rate"]["difference"] == pytest.approx(-2 * found.coefficients[1])
    names = [p.name for p in found.parameters]
    assert names == [
        "learning_rate[dopa]",
        "temperature[dopa]",
        "learning_rate[placebo]",
        "temperature[placebo]",
    ]
    given = pn.fit_population(
        episodes,
        MODEL,
        within={"drug": [e.block for e in episodes]},
        varying=["learning_rate"],
        spread="diagonal",
    )
    np.testing.assert_allclose(given.coefficients, found.coefficients)
    assert found.prior_for(drug="dopa").names == ("learning_rate", "temperature")


def test_offers_have_populations_too():
    h, offers = discounters(25, 60, np.random.default_rng(5))
    found = pn.fit_population(offers, pn.HyperbolicDiscounting())
    assert found.names == ("discount_rate", "temperature")
    assert found.links == {"discount_rate": "log", "temperature": "log"}
    truth = np.array([-4.4, 1.4])
    assert (np.abs(found.coefficients - truth) < 3.5 * found.standard_errors).all()
    inside = np.abs(h - found.subjects.mean) < 1.96 * found.subjects.sd
    assert inside.mean() > 0.85


def test_choices_have_a_mixed_logit():
    weights, choices = mixed_choices(60, 12, np.random.default_rng(6))
    found = pn.fit_population(choices)
    assert found.names == ("price", "quality")
    assert set(found.links.values()) == {"identity"}
    truth = np.array([-0.9, 0.7])
    assert (np.abs(found.coefficients - truth) < 3 * found.standard_errors).all()
    assert np.corrcoef(found.subjects.natural[:, 0], weights[:, 0])[0, 1] > 0.6


def test_weights_may_be_log_normal_or_bounded():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(50 * 12, 3, 2))
    subject = np.repeat(np.arange(50), 12)
    weights = np.column_stack([-np.exp(rng.normal(0, 0.5, 50)), rng.normal(0.7, 0.4, 50)])
    utility = (x * weights[subject][:, None]).sum(-1) + rng.gumbel(size=(600, 3))
    choices = pn.Choices.from_arrays(x, utility.argmax(1), subject=subject, names=["p", "q"])
    found = pn.fit_population(choices, links={"p": "negative log"}, spread="diagonal")
    assert found.links["p"] == "negative log"
    assert (found.subjects.natural[:, 0] < 0).all()
    assert np.abs(found.coefficients[0]) < 4 * found.standard_errors[0]
    bounded = pn.fit_population(choices, links={"p": ("logit", -6.0, 0.0)}, spread="diagonal")
    assert ((bounded.subjects.natural[:, 0] > -6) & (bounded.subjects.natural[:, 0] < 0)).all()
    assert bounded.links["p"] == "logit of -6 to 0"


def test_ratios_may_be_carried_by_their_weights():
    """Two options whose counts differ: log-odds are w0 (v1 - v0) + w1 (s1 - s0), w normal."""
    rng, model = np.random.default_rng(17), pn.models.UCB1(2, initial_value=0.0)
    weights = np.column_stack([np.exp(rng.normal(0.7, 0.4, 30)), rng.normal(0.8, 0.5, 30)])
    episodes = []
    for i, own in enumerate(weights):
        chosen, rewards = np.zeros(60, int), rng.normal(size=60)
        for t in range(60):
            so_far = pn.Episode(chosen[: t + 1], rewards[: t + 1])
            u = model.explanatory(so_far)[t] @ own
            chosen[t] = rng.random() < 1 / (1 + np.exp(u[0] - u[1]))
        episodes.append(pn.Episode(chosen, rewards, subject=f"s{i}"))
    found = pn.fit_population(episodes, model, links="weights", spread="diagonal")
    assert found.names == ("temperature", "exploration/temperature")
    assert found.links == {"temperature": "log", "exploration/temperature": "identity"}
    assert (np.abs(found.coefficients - [-0.7, 0.8]) < 3 * found.standard_errors).all()
    one = pn.fit_population(episodes, model, links={"exploration": "weight"}, spread="diagonal")
    np.testing.assert_allclose(one.coefficients, found.coefficients)
    drawn = found.draw(2000, rng=rng)
    assert sorted(drawn) == ["exploration", "temperature"]
    product = drawn["exploration"] / drawn["temperature"]
    assert product.mean() == pytest.approx(found.coefficients[1], abs=0.05)
    new = pn.fit(episodes[0], model, parameter_prior=found.prior)
    assert new.status == "converged"
    again = pn.results.PopulationFit.from_dict(found.to_dict())
    assert again.prior.coordinates_of(model).names == found.names


def test_options_not_on_offer_weights_and_offsets_count_as_in_fit():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(120, 4, 2))
    available = rng.random((120, 4)) < 0.8
    available[:, 0] = True
    hidden = np.where(available[:, :, None], x, np.nan)
    offset = rng.normal(size=(120, 4))
    choices = pn.Choices.from_arrays(
        hidden,
        np.zeros(120, int),
        available=available,
        offset=offset,
        weights=rng.integers(1, 4, 120),
        subject=np.repeat(np.arange(6), 20),
    )
    drawn = pn.simulate(choices, [0.4, -0.6], rng=rng)
    found = pn.fit_population(drawn, random=[])
    alone = pn.fit(drawn)
    np.testing.assert_allclose(found.coefficients, alone.theta, rtol=1e-6)
    assert found.log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-8)


def test_a_population_written_and_read_says_the_same(people, tmp_path):
    text = json.dumps(people.to_dict(), allow_nan=False)
    again = pn.results.PopulationFit.from_dict(json.loads(text))
    assert json.dumps(again.to_dict(), allow_nan=False) == text
    np.testing.assert_array_equal(again.coefficients, people.coefficients)
    assert again.parameters == people.parameters
    assert again.spreads() == people.spreads()
    assert again.summary() == people.summary()
    assert "Correlations: " in again.summary()
    assert again.prior.to_dict() == people.prior.to_dict()
    people.prior.save(tmp_path / "prior.json")
    assert pn.PopulationPrior.read(tmp_path / "prior.json").to_dict() == people.prior.to_dict()
    with pytest.raises(ValueError, match="predict must have the decisions; got a population read"):
        again.predict([])


def test_every_way_to_read_a_population_names_its_parameters(people):
    for words in (str(people), people._repr_html_(), people.to_frame().to_string()):
        assert "learning_rate" in words
        assert "temperature" in words
    assert "learning\\_rate" in people.to_latex()
    assert "Integration error" in people.summary()
    assert "REML" in people.summary()
    assert repr(people).startswith("<PopulationFit of 30 subjects")
    frame = people.subjects.to_frame(ml=True)
    assert {"learning_rate", "learning_rate_low", "learning_rate_ml", "status_ml"} <= set(frame)
    assert "learning_rate=" in repr(people.subjects["s3"])


def test_predictions_are_averaged_over_what_is_known_of_a_person(players, people):
    known = players[1][4]
    p = people.predict(known)
    assert p.shape == (60, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    at_mean = people.predict(known, average=False)
    assert np.abs(p - at_mean).max() > 1e-3
    stranger = pn.Episode(known.chosen, known.rewards, subject="somebody")
    assert np.abs(people.predict(stranger) - p).max() > 1e-3


def test_a_population_of_choices_predicts_what_read_returns_and_no_episodes(players):
    reading = pn.read(pn.datasets.load("menu"))
    found = pn.fit_population(reading)
    p = found.predict(reading)
    np.testing.assert_array_equal(p, found.predict(reading.data))
    with pytest.raises(pn.DataError, match="data must be Choices, as the fitted data were"):
        found.predict(players[1][4])


def test_new_people_are_drawn_from_the_population(people):
    drawn = people.draw(4000, rng=np.random.default_rng(1))
    logit = np.log(drawn["learning_rate"] / (1 - drawn["learning_rate"]))
    h = np.column_stack([logit, np.log(drawn["temperature"])])
    sd = np.sqrt(np.diag(people.spread))
    np.testing.assert_allclose(h.mean(axis=0), people.coefficients, atol=5 * sd.max() / 60)
    np.testing.assert_allclose(np.cov(h.T), people.spread, atol=0.12 * sd.max() ** 2)


def test_robust_errors_are_a_sandwich_over_subjects(players, people):
    robust = pn.fit_population(players[1], MODEL, covariance="robust")
    np.testing.assert_allclose(robust.coefficients, people.coefficients)
    ratio = robust.standard_errors / people.standard_errors
    assert ((ratio > 0.5) & (ratio < 2)).all()
    assert not np.allclose(ratio, 1, rtol=1e-6)


def test_dual_rates_are_integrated_although_they_have_kinks():
    rng = np.random.default_rng(9)
    model = pn.QLearning(2, initial_value=0.0, dual_rates=True)
    task = pn.Landscape([0.2, 0.6], pn.GaussianNoise(0.5))
    episodes = []
    for i in range(20):
        h = rng.normal([0.0, -1.0, -1.0], [0.7, 0.7, 0.3])
        truth = {"temperature": np.exp(h[2])}
        truth |= {"learning_rate_positive": 1 / (1 + np.exp(-h[0]))}
        truth |= {"learning_rate_negative": 1 / (1 + np.exp(-h[1]))}
        one = pn.simulate(task, model, truth, n_decisions=80, rng=rng)
        episodes.append(pn.Episode(one.chosen, one.rewards, subject=i))
    found = pn.fit_population(episodes, model, spread="diagonal")
    assert found.names == ("learning_rate_positive", "learning_rate_negative", "temperature")
    truth = np.array([0.0, -1.0, -1.0])
    assert (np.abs(found.coefficients - truth) < 4 * found.standard_errors).all()
    assert np.isfinite(found.log_likelihood)


@pytest.mark.slow
def test_the_errors_of_rough_nodes_do_not_hold_up_a_crowd(monkeypatch):
    ends = []

    def watched(*arguments, **named):
        ends.append(marginal_maximization.maximize_by_quadrature(*arguments, **named))
        return ends[-1]

    monkeypatch.setattr(fit, "maximize_by_quadrature", watched)
    _, episodes = q_learners(6000, 20, np.random.default_rng(5))
    people = pn.fit_population(episodes, pn.QLearning(2, initial_value=0.0))
    assert people.status == "converged"
    assert [(end.converged, end.k) for end in ends] == [(True, 9)]
    assert ends[0].n_rounds < 30


@pytest.fixture(scope="module")
def many_weights():
    """Choices of eight people by six weights, most of which hardly differ: draws, not products."""
    rng = np.random.default_rng(7)
    weights = rng.normal(size=6) + rng.normal(size=(8, 6)) * [0.7, 0.4, 0, 0, 0, 0]
    x = rng.normal(size=(8 * 30, 2, 6))
    subject = np.repeat(np.arange(8), 30)
    utility = (x * weights[subject][:, None]).sum(axis=-1) + rng.gumbel(size=x.shape[:2])
    names = [f"w{a}" for a in range(6)]
    choices = pn.Choices.from_arrays(x, utility.argmax(1), subject=subject, names=names)
    return choices, pn.fit_population(choices, spread="diagonal")


def test_a_search_among_draws_ends_in_bounded_work(many_weights):
    _, found = many_weights
    assert found.source.optimum.n_rounds <= SEARCH.max_rounds // 2 + 2 * SEARCH.max_redraws
    assert found.status != "stopped early"
    assert np.isfinite(found.covariance).all()
    assert all(not (s.low > s.sd or s.sd > s.high) for s in found.spreads())


def test_a_mean_that_is_not_told_leaves_the_others_their_intervals(many_weights):
    _, found = many_weights
    covariance = found.covariance.copy()
    covariance[5, 5] = np.inf
    told = dataclasses.replace(found, covariance=covariance).parameters
    ends = np.array([[p.low, p.high] for p in told])
    assert np.isfinite(ends[:5]).all()
    assert np.isinf(ends[5]).all()


@pytest.mark.parametrize("seed", [2, 5])
def test_intervals_of_spreads_are_those_of_the_likelihood_itself(seed):
    """Two decisions each: ends are far from the estimate, where its own nodes tell nothing."""
    x = np.random.default_rng(12).normal(size=(40 * 2, 2, 1)) * 0.7
    rng, subject = np.random.default_rng(seed), np.repeat(np.arange(40), 2)
    weights = rng.normal(0.5, 0.5, 40)
    utility = (x * weights[subject][:, None, None]).sum(-1) + rng.gumbel(size=(80, 2))
    chosen = utility.argmax(1)
    choices = pn.Choices.from_arrays(x, chosen, subject=subject, names=["gain"])
    found = pn.fit_population(choices, estimator="ml")
    gap = (x[np.arange(80), chosen] - x[np.arange(80), 1 - chosen])[:, 0].reshape(40, 2)
    z = np.linspace(-8, 8, 641)

    def best(sd):
        def total(mean):
            log_p = -np.log1p(np.exp(-gap[:, :, None] * (mean + sd * z))).sum(axis=1)
            return np.log((np.exp(log_p - 0.5 * z**2)).sum(axis=1)).sum()

        return max(total(m) for m in np.linspace(-1.5, 4.5, 121))

    (own,) = found.spreads()
    highest = best(own.sd)
    assert best(own.high) == pytest.approx(highest - 1.92, abs=0.1)
    if own.low == 0:
        assert best(1e-6) > highest - 1.92 - 0.02
    else:
        assert best(own.low) == pytest.approx(highest - 1.92, abs=0.1)


def test_populations_of_which_none_is_a_special_case_have_no_likelihood_ratio():
    rng = np.random.default_rng(8)
    _, choices = mixed_choices(12, 12, rng)
    people = {"subject": list(range(12)), "age": rng.normal(size=12), "dose": rng.normal(size=12)}
    by_age, by_dose = (
        pn.fit_population(choices, covariates=[name], people=people, spread=spread)
        for name, spread in (("age", "full"), ("dose", "diagonal"))
    )
    found = by_age.compare(by_dose)
    assert by_age.n_parameters > by_dose.n_parameters
    assert np.isnan(found.statistic)
    assert np.isnan(found.p_value)
    assert "neither is a special case of the other" in repr(found)
    assert np.isfinite(found.loo_difference)


def test_an_interval_of_a_spread_holds_0_only_where_the_likelihood_ratio_does():
    """The likelihood of weights that are the same for all is known near their mean only."""
    rng = np.random.default_rng(0)
    mean, sd = np.array([-0.9, 0.7, 3.0, -3.0]), np.array([0.7, 0.5, 0.0, 0.0])
    weights = rng.normal(mean, sd, size=(150, 4))
    x, subject = rng.normal(size=(150 * 12, 4, 4)), np.repeat(np.arange(150), 12)
    utility = (x * weights[subject][:, None]).sum(axis=-1) + rng.gumbel(size=x.shape[:2])
    choices = pn.Choices.from_arrays(x, utility.argmax(1), subject=subject, names=list("abcd"))
    found = pn.fit_population(choices, random=["a", "b"])
    without = pn.fit_population(choices, random=["a"])
    assert found.log_likelihood - without.log_likelihood > 1.93
    assert found.spreads()[1].low > 0


def test_intervals_are_never_narrower_than_those_of_known_parameters():
    rng = np.random.default_rng(5)
    _, episodes = q_learners(30, 100, rng)
    found = pn.fit_population(episodes, MODEL)
    low, high = np.arctanh(found.correlation_interval(*found.parameter_names))
    assert high - low >= 2 * 1.959 / np.sqrt(30 - 3)
    for own in found.spreads():
        assert np.log(own.high / own.low) > 2 * 1.959 / np.sqrt(2 * 30)


def test_correlations_that_rest_on_draws_have_no_interval(many_weights):
    choices, _ = many_weights
    found = pn.fit_population(choices, spread="full")
    assert np.isnan(found.correlation_interval(*found.parameter_names[:2])).all()
    assert "Correlations without an interval" in found.summary()


def test_a_summary_profiles_nothing(players, monkeypatch):
    from penchant.population.hierarchy import uncertainty

    found = pn.fit_population(players[1], MODEL)
    monkeypatch.setattr(uncertainty, "profile_limits", None)
    monkeypatch.setattr(uncertainty, "sd_limits", None)
    assert "learning_rate" in str(found)
    assert "learning_rate" in found.summary(level=0.9)


def test_correlations_of_many_parameters_need_many_people():
    from penchant.population.hierarchy.fit import default_spread

    assert default_spread(40, 8) == "diagonal"
    assert default_spread(144, 8) == "full"
    assert default_spread(5, 1) == "full"


def test_a_bonus_that_may_be_below_0_is_said_to_depend_on_locality():
    rng = np.random.default_rng(1)
    places = [(x, y) for x in range(4) for y in range(4)]
    near = pn.GPUCB(places, locality="distance", prior_mean=5.0, prior_sd=2.0, length_scale=1.0)
    plain = dataclasses.replace(near, locality=())
    truth = {"temperature": 1.0, "bonus": 0.3, "distance": -2.0}
    episodes = [
        pn.simulate(
            pn.Landscape(rng.normal(5, 2, 16), pn.GaussianNoise(0.1)),
            near,
            truth,
            n_decisions=12,
            rng=rng,
            subject=f"s{i}",
        )
        for i in range(8)
    ]
    found = pn.fit_population(episodes, plain)
    assert any("its sign depends on how staying near is modelled" in n for n in found.notes)
    positive = pn.fit_population(episodes, plain, links={"bonus": "log"})
    assert not any("staying near" in note for note in positive.notes)

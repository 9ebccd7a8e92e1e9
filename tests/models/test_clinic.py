"""What holds of every model of the clinic: likelihood, derivatives, agents, and the way through."""

import dataclasses
import pickle

import numpy as np
import pytest
from scipy import optimize, special, stats

import clinic_reference as literal
import penchant as pn
from clinic_cases import CASES
from penchant.models.model import weights_and_shape
from penchant.models.record import Record
from profile_problem import Problem

NAMES = sorted(CASES)
# Three shape parameters of models that are fitted with two elsewhere.
DEAR = ("filter, coupled", "volatile, bonus")
FITTED = [pytest.param(n, marks=pytest.mark.slow) if n in DEAR else n for n in NAMES]
WITH_SHAPE = [name for name in NAMES if CASES[name][0].shape]


def played(name, seed=1, subject=None, n_decisions=None):
    model, truth, task, _ = CASES[name]
    task = task if n_decisions is None else task.with_decisions(n_decisions)
    return pn.simulate(task, model, truth, rng=np.random.default_rng(seed), subject=subject)


def drawn_parameters(name, rng):
    """Natural parameters around the truth, and the weights and shape that they are."""
    model, truth, _, _ = CASES[name]
    near = {k: float(v * rng.uniform(0.75, 1.04)) for k, v in truth.items()}
    return near, *weights_and_shape(model, near)


def log_probabilities(model, episode, theta, psi):
    q = model.explanatory(episode, *psi) @ theta
    if episode.available is not None:
        q = np.where(episode.available, q, -np.inf)
    return special.log_softmax(q, axis=1)


@pytest.mark.parametrize("name", NAMES)
def test_the_likelihood_is_the_literal_one(name):
    model, _, _, written_out = CASES[name]
    episode, rng = played(name, n_decisions=90), np.random.default_rng(7)
    for _ in range(3):
        natural, theta, psi = drawn_parameters(name, rng)
        expected = np.array(written_out(episode, natural))
        found = log_probabilities(model, episode, theta, psi)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_natural_parameters_come_back_from_weights_and_shape(name):
    model, truth, _, _ = CASES[name]
    theta, psi = weights_and_shape(model, truth)
    told = {n.name: n.value(theta, psi) for n in pn.models.model.natural_parameters(model)}
    assert told == pytest.approx(truth, rel=1e-9)
    for shape, value in zip(model.shape, psi, strict=True):
        assert shape.low < value < shape.high


@pytest.mark.parametrize("name", WITH_SHAPE)
def test_slopes_are_derivatives(name):
    model, _, _, _ = CASES[name]
    episode, rng = played(name, 2, n_decisions=50), np.random.default_rng(8)
    _, _, psi = drawn_parameters(name, rng)
    x, slopes = model.explanatory_and_slopes(episode, *psi)
    np.testing.assert_array_equal(x, model.explanatory(episode, *psi))
    for q in range(len(psi)):
        h = 1e-6 * max(abs(psi[q]), 0.01)
        above, below = psi.copy(), psi.copy()
        above[q], below[q] = psi[q] + h, psi[q] - h
        rise = model.explanatory(episode, *above) - model.explanatory(episode, *below)
        # rounding of a difference is 1e-16 |x| / h
        atol = 1e-7 + 1e-15 * np.abs(x).max() / h
        np.testing.assert_allclose(slopes[q], rise / (above[q] - below[q]), rtol=1e-5, atol=atol)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wrong_with_the_model(name):
    """Agents, many episodes at once, no look at the future, parameters that can be told."""
    plays = [played(name, seed, subject=seed, n_decisions=60) for seed in (3, 4)]
    found = pn.models.check_model(CASES[name][0], plays, rng=np.random.default_rng(9))
    assert found.ok, found.summary()
    assert "agents" in found.passed
    assert pickle.loads(pickle.dumps(CASES[name][0])) == CASES[name][0]


@pytest.mark.parametrize("name", NAMES)
def test_simulated_choices_have_the_frequencies_of_the_likelihood(name):
    """Log-probabilities of what was chosen, standardised by their own mean and variance."""
    model, truth, _, _ = CASES[name]
    theta, psi = weights_and_shape(model, truth)
    total, variance = 0.0, 0.0
    for seed in range(10):
        episode = played(name, 100 + seed, n_decisions=60)
        log_p = log_probabilities(model, episode, theta, psi)
        p, told = np.exp(log_p), np.where(np.isfinite(log_p), log_p, 0.0)
        mean = (p * told).sum(axis=1)
        total += (told[np.arange(len(p)), episode.chosen] - mean).sum()
        variance += ((p * told**2).sum(axis=1) - mean**2).sum()
    assert variance > 1.0
    assert abs(total / np.sqrt(variance)) < stats.norm.isf(1e-3)


@pytest.mark.parametrize("name", FITTED)
def test_a_decision_without_a_choice_is_as_if_its_row_were_not_there(name):
    model, truth, _, _ = CASES[name]
    episode = played(name, 5, n_decisions=60)
    _, psi = weights_and_shape(model, truth)
    late = np.zeros(episode.n_events, dtype=bool)
    late[[6, 7, 20, 21]] = True  # whole trials of two stages
    if "balloon" in episode.before:
        late[:] = False
        late[-2:] = True
    chosen, rewards = episode.chosen.copy(), episode.rewards.copy()
    chosen[late], rewards[late] = -1, np.nan
    seen = episode.context
    missed = pn.Episode(chosen, rewards, **seen._asdict())
    without = pn.Episode(chosen[~late], rewards[~late], **seen.select_events(~late)._asdict())
    found = model.explanatory(missed, *psi)[~late]
    np.testing.assert_allclose(found, model.explanatory(without, *psi), atol=1e-14)
    assert pn.fit([missed], model).n_decisions == int((~late).sum())


@pytest.mark.parametrize("name", FITTED)
def test_the_model_works_wherever_others_do(name):
    model, truth, _, _ = CASES[name]
    prior = pn.ScaledPrior()
    plays = [played(name, seed, f"s{seed}", 100) for seed in (11, 12)]
    estimates = pn.fit_each(plays, model, parameter_prior=prior)
    one = pn.fit(plays[0], model, parameter_prior=prior)
    np.testing.assert_allclose(estimates[0].theta, one.theta, rtol=1e-6)
    assert set(one.natural_names) == set(truth)
    p = one.predict(plays[0])
    assert p.shape == (plays[0].n_decisions, model.n_options)
    told = pn.beliefs(one)
    assert len(told) == plays[0].n_events
    np.testing.assert_allclose(told["log_probability"].sum(), one.log_likelihood, rtol=1e-8)
    live = pn.live(model, parameter_prior=prior)
    first = plays[0]
    for t in range(8):
        seen = first.context.select_events(t)
        live.observe(first.chosen[t], first.rewards[t], **seen._asdict())
    assert live.n_decisions == 8
    np.testing.assert_array_equal(live.episode.chosen, first.chosen[:8])
    assert live.estimate().n_decisions == 8


@pytest.mark.parametrize("name", FITTED)
def test_the_estimate_is_the_highest_point_of_many_starts(name):
    """Starts of a simplex search around the truth find nothing higher."""
    model, truth, _, _ = CASES[name]
    episode = played(name, 6)
    estimate = pn.fit(episode, model)
    d, rng = len(model.weights), np.random.default_rng(13)
    positive = [model.weights.index(w) for w in getattr(model, "positive", ())]
    low = np.array([s.low for s in model.shape])
    high = np.array([s.high for s in model.shape])

    def cost(at):
        theta, psi = at[:d], at[d:]
        if (theta[positive] < 0).any() or (psi < low).any() or (psi > high).any():
            return 1e9
        log_p = log_probabilities(model, episode, theta, psi)
        found = log_p[np.arange(len(log_p)), episode.chosen].sum()
        return -found if np.isfinite(found) else 1e9

    theta, psi = weights_and_shape(model, truth)
    best = -np.inf
    for _ in range(3):
        start = np.append(theta, psi) * rng.uniform(0.6, 1.2, d + len(psi))
        found = optimize.minimize(cost, start, method="Nelder-Mead", options={"maxiter": 400})
        best = max(best, -found.fun)
    assert estimate.log_likelihood >= best - 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_many_episodes_at_many_psi_are_each_as_alone(name):
    model, truth, _, _ = CASES[name]
    episodes = [played(name, seed, n_decisions=40) for seed in (1, 2)]
    _, psi = weights_and_shape(model, truth)
    psis = np.array([psi, psi * 0.97, psi]).reshape(3, len(psi))
    x, slopes = model.explanatory_many(Record.of(episodes), np.array([1, 0, 1]), psis, True)
    parts = [
        model.explanatory_and_slopes(episodes[e], *at)
        for e, at in zip((1, 0, 1), psis, strict=True)
    ]
    np.testing.assert_array_equal(x, np.concatenate([part[0] for part in parts]))
    np.testing.assert_array_equal(slopes, np.concatenate([part[1] for part in parts], axis=1))


@pytest.mark.parametrize("name", NAMES)
def test_neighbours_change_no_digit(name):
    """Those who share an episode are unfolded together, eight at most."""
    model, truth, _, _ = CASES[name]
    record = Record.of([played(name, seed, n_decisions=n) for seed, n in ((1, 40), (2, 31))])
    which = np.repeat([0, 1, 0], [11, 3, 1])
    _, psi = weights_and_shape(model, truth)
    psis = psi * np.linspace(0.95, 1.0, len(which))[:, None]
    x, _ = model.explanatory_many(record, which, psis, False)
    alone = [
        model.explanatory_many(record, which[k : k + 1], psis[k : k + 1], True)[0]
        for k in range(len(which))
    ]
    np.testing.assert_array_equal(x, np.concatenate(alone))


CUT_OFF = pytest.mark.xfail(
    reason="sizes of punishments that are cut off make kinks: intervals held 103 of 117 values"
)
# Most people are only weakly identified by the design; see docs/clinic.md.
FEW = {"hidden state": 5, "iowa, decay": 5}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=CUT_OFF) if n == "aversive" else n for n in NAMES]
)
def test_parameters_are_recovered_and_intervals_hold_the_truth(name):
    """Of 40 people, whose parameters are spread around the truth, 95 % intervals hold theirs."""
    model, truth, world, _ = CASES[name]
    rng, held, asked = np.random.default_rng(14), 0, 0
    for _ in range(40):
        own = {k: float(v * rng.uniform(0.8, 1.15)) for k, v in truth.items()}
        if "prior_belief" in own:
            own["prior_belief"] = min(own["prior_belief"], 0.99)
        episodes = [pn.simulate(world, model, own, rng=rng) for _ in range(3)]
        estimate = pn.fit(episodes, model)
        if estimate.status != "converged":
            continue
        ends = estimate.interval(kind="profile", of=list(own))
        for (low, high), value in zip(ends, own.values(), strict=True):
            asked += 1
            held += low <= value <= high
    assert asked >= FEW.get(name, 10) * len(truth)
    assert held / asked > 0.90


def test_the_standard_error_at_a_kink_of_the_second_rate_is_that_of_the_expected_information():
    """Differences across the kink would make it many times too small."""
    model = pn.models.TwoStep(trace_decay=1.0)
    truth = {"inverse_temperature": 8.0, "model_based_share": 0.8, "stickiness": 0.3}
    truth |= {"inverse_temperature_2": 3.0, "learning_rate_1": 0.5, "learning_rate_2": 0.4}
    rng = np.random.default_rng(3)
    episode = pn.simulate(pn.models.TwoStepWorld(200), model, truth, rng=rng)
    estimate = pn.fit(episode, model)
    assert estimate.source.optimum.is_at_kink[0]
    theta, psi = estimate.weights, estimate.psi
    x, slopes = model.explanatory_and_slopes(episode, *psi)
    p = np.exp(log_probabilities(model, episode, theta, psi))
    columns = np.concatenate([x, np.moveaxis(slopes @ theta, 0, 2)], axis=2)
    away = columns - (p[:, :, None] * columns).sum(axis=1, keepdims=True)
    information = np.einsum("ti,tia,tib->ab", p, away, away)
    error = np.sqrt(np.linalg.inv(information)[-1, -1])
    assert estimate["learning_rate_2"].standard_error == pytest.approx(error, rel=1e-5)
    assert 0.03 < error < 0.08

    def height(rate):
        log_p = log_probabilities(model, episode, theta, [psi[0], rate])
        return log_p[np.arange(len(log_p)), episode.chosen].sum()

    h = 1e-4
    bend = (2 * height(psi[1]) - height(psi[1] + h) - height(psi[1] - h)) / h**2
    assert 1 / np.sqrt(bend) < error / 5


def test_a_trace_after_the_update_is_one_before_it_with_a_smaller_decay():
    """lambda there is lambda / (1 - a2) here, exactly: the errors are in this ratio."""
    _, truth, _, _ = CASES["two-step"]
    episode = played("two-step", 4)
    before = {**truth, "trace_decay": 0.7 * (1 - truth["learning_rate_2"])}
    after = {**truth, "trace_decay": 0.7}
    found = [
        log_probabilities(model, episode, *weights_and_shape(model, natural))
        for model, natural in (
            (pn.models.TwoStep(trace="before"), before),
            (pn.models.TwoStep(trace="after"), after),
        )
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-11)


def test_lambda_is_a_ratio_of_weights_whose_interval_stays_within_its_ends():
    """No shape parameter: the share of the whole trace among model-free weights."""
    model, _, _, _ = CASES["two-step"]
    assert [s.name for s in model.shape] == ["learning_rate_1", "learning_rate_2"]
    estimate = pn.fit(played("two-step", 6, n_decisions=120), model)
    free, traced = (estimate.weights[model.weights.index(n)] for n in model.weights[1:3])
    assert estimate["trace_decay"].estimate == pytest.approx(traced / (free + traced))


def test_the_weight_of_values_scales_what_is_fixed_elsewhere():
    """Rewards ten times as large are worth a tenth each: the weight of values is estimated."""
    model, _, _, _ = CASES["iowa, frequency"]
    episode = played("iowa, frequency", 7)
    larger = pn.Episode(episode.chosen, 10 * episode.rewards)
    one, ten = pn.fit(episode, model), pn.fit(larger, model)
    assert ten["value"].estimate == pytest.approx(one["value"].estimate / 10, rel=1e-4)
    assert ten.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-6)


def test_probabilities_of_punishment_are_cut_off_at_both_ends():
    episode = played("aversive", 8)
    x = pn.models.AversiveLearning().explanatory(episode, 0.6, 8.0)[:, :, 0]
    sizes = np.column_stack([episode.before[f"magnitude_{i}"] for i in (0, 1)])
    share = -x / sizes
    assert share.min() == 0.0
    assert share.max() == 1.0
    assert 0 < ((share > 0) & (share < 1)).mean() < 1


def test_under_a_prior_weights_that_would_be_negative_are_held_where_the_maximum_is():
    model, _, _, _ = CASES["two-step"]
    episode = played("two-step", 1)
    prior = pn.GaussianPrior(np.ones(5), 4 * np.eye(5))
    estimate = pn.fit(episode, model, parameter_prior=prior)
    held = estimate.weights == 0
    assert held.any()

    def cost(theta):
        log_p = log_probabilities(model, episode, theta, estimate.psi)
        found = log_p[np.arange(len(log_p)), episode.chosen].sum()
        return -found + ((theta - 1) ** 2).sum() / 8

    bounds = [(None, None) if w == "stickiness" else (0, None) for w in model.weights]
    best = optimize.minimize(cost, np.ones(5), bounds=bounds, tol=1e-12)
    np.testing.assert_allclose(estimate.weights, best.x, atol=1e-3)
    assert cost(estimate.weights) <= best.fun + 1e-8


def test_the_share_of_values_in_vpp_changes_no_likelihood():
    """w is not identified: other consistency and perseverance make up for any other w."""
    _, truth, _, _ = CASES["iowa, perseverance"]
    episode = played("iowa, perseverance", n_decisions=60)
    found = [np.array(literal.vpp(episode, truth, 100.0, w=w)) for w in (0.2, 0.5, 0.9)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-10)
    estimate = pn.fit(episode, pn.models.VPP())
    assert "w of values is not identified" in " ".join(estimate.summary().split())


def test_cues_and_states_out_of_range_are_refused_by_their_place():
    with pytest.raises(
        pn.errors.DataError, match=r"before\['cue'\] must be a whole number in 0..3; got 4"
    ):
        pn.fit(pn.Episode([0, 1], [1, 0], before={"cue": [1, 4]}), pn.models.GoNoGo())
    with pytest.raises(pn.errors.DataError, match=r"common must lie above 0\.5"):
        pn.models.TwoStep(common=0.3)
    with pytest.raises(
        pn.errors.DataError, match="pavlovian must be True or False with one sensitivity"
    ):
        pn.models.GoNoGo(pavlovian="by valence")
    with pytest.raises(
        pn.errors.DataError, match="task must be a world that tells state to TwoStep"
    ):
        task = pn.Landscape([0.2, 0.8], pn.GaussianNoise(0.1))
        rule = CASES["two-step"][1]
        rng = np.random.default_rng(1)
        pn.simulate(task, pn.models.TwoStep(), rule, n_decisions=4, rng=rng)


def test_players_of_a_filter_that_runs_off_choose_without_an_overflow():
    rule = {"inverse_temperature": 1.0, "omega_2": -1.0, "omega_3": -4.0}
    played_so = pn.simulate(
        pn.Task(pn.models.InputWorld(300)), pn.models.HGF(), rule, rng=np.random.default_rng(2)
    )
    assert played_so.n_decisions == 300


def test_a_filter_that_breaks_down_is_passed_over():
    """Of the grid some cells are outside; the estimate is not among them."""
    model, truth, _, literal_hgf = CASES["filter"]
    episode = played("filter", 1)
    psi = np.array(np.meshgrid(model.shape[0].grid(), model.shape[1].grid())).reshape(2, -1).T
    lost = [np.isnan(model.explanatory(episode, *at)).any() for at in psi]
    assert 0.02 < np.mean(lost) < 0.9
    for at, is_lost in list(zip(psi, lost, strict=True))[::20]:
        broken = literal_hgf(episode, {**truth, "omega_2": at[0], "omega_3": at[1]}) is None
        assert broken == is_lost
    assert np.isfinite(pn.fit(episode, model, parameter_prior=pn.ScaledPrior()).theta).all()


@pytest.mark.parametrize("kappa", [1.0, None])
def test_slopes_of_a_filter_are_derivatives_wherever_it_exists(kappa):
    model = pn.models.HGF(kappa=kappa)
    record = Record.of([played("filter", 1), played("filter", 2, None, 30)])
    rng, which = np.random.default_rng(3), np.array([0, 1] * 20)
    psi = np.column_stack([rng.uniform(s.low, s.high, 40) for s in model.shape])
    x, slopes = model.explanatory_many(record, which, psi, True)
    assert np.isnan(x).any()
    pair = np.repeat(np.arange(40), record.lengths(which))
    for q in range(psi.shape[1]):
        h = 1e-6 * np.eye(psi.shape[1])[q]
        above, _ = model.explanatory_many(record, which, psi + h, False)
        below, _ = model.explanatory_many(record, which, psi - h, False)
        lost = np.isnan(x + above + below).any(axis=(1, 2))
        inside = ~np.isin(pair, pair[lost])  # of others nobody asks
        rise = (above - below)[inside] / 2e-6
        assert np.abs(rise).max() > 0.1
        np.testing.assert_allclose(slopes[q, inside], rise, rtol=1e-5, atol=1e-6)


def test_a_filter_that_jumps_beyond_all_numbers_is_passed_over():
    """One psi at which a tendency passes 1e100 must not end the fits of everybody."""
    model = pn.models.HGF(initial=(0.0, 0.1, 300.0, 1.0))
    x = model.explanatory(played("filter", 1), 1.0, -1.0)[:, 1, 0]
    assert np.isnan(x).any()
    assert np.abs(x[np.isfinite(x)]).max() < 1e100


@pytest.mark.slow
def test_a_population_has_nobody_where_a_filter_breaks_down():
    """Places at which the model does not exist have likelihood 0, and the fit is finite."""
    model, _, _, _ = CASES["filter"]
    plays = [played("filter", seed, f"s{seed}", 40) for seed in range(5)]
    found = pn.fit_population(plays, model, nodes=3)
    assert np.isfinite(found.coefficients).all()
    assert np.isfinite(found.log_likelihood)
    assert np.isfinite(found.subjects.mean).all()
    people = found.source.people
    typical, sd = people.typical
    far = typical[None, None, None] + np.stack([0 * sd, 12 * sd, -12 * sd])[None, :, None]
    values = people.values(np.array([0]), far)
    assert np.isfinite(values[0, 0, 0])
    assert np.isneginf(values).any()
    slopes = people.derivatives(np.array([0]), far)
    np.testing.assert_allclose(slopes.value, values, rtol=1e-12)
    assert np.isfinite(slopes.gradient).all()


@pytest.mark.slow
def test_a_population_is_as_likely_as_one_person_who_stands_for_all():
    """Six people with a balloon or two: what has no spread must not run away from its maximum."""
    model, truth, task, _ = CASES["balloons, target"]
    rng, few = np.random.default_rng(3), task.with_decisions(40)
    plays = [pn.simulate(few, model, truth, rng=rng, subject=f"s{k}") for k in range(6)]
    found = pn.fit_population(plays, model, estimator="ml")
    alike = pn.fit([dataclasses.replace(play, subject="all") for play in plays], model)
    assert found.log_likelihood > alike.log_likelihood - 0.05
    assert np.isfinite(found.covariance).all()
    assert np.isfinite(found.subjects.mean).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-step, four parameters", "pairs", "balloons, target"])
def test_models_are_recovered_compared_and_played_anew(name):
    """Worlds, what was seen, and pairs that could be chosen go through the whole workflow."""
    model, truth, task, _ = CASES[name]
    rng, other = np.random.default_rng(15), pn.models.RandomChoice(model.n_options)
    plays = [played(name, seed, f"s{seed}", 60) for seed in (1, 2)]
    compared = pn.compare_models({"own": model, "random": other}, plays, folds=3)
    assert np.isfinite(compared.totals).all()
    recovered = pn.recover(model, task.with_decisions(60), truth, n_subjects=2, rng=rng)
    assert set(truth) <= set(str(recovered).split())
    fits = pn.fit_each(plays, model, parameter_prior=pn.ScaledPrior())
    assert len(pn.predictive_check(fits, n_draws=3, rng=rng, world=task.world).observed)


def test_a_population_is_fitted_with_pairs_that_could_be_chosen():
    plays = [played("pairs", seed, f"s{seed}", 60) for seed in range(5)]
    found = pn.fit_population(plays, CASES["pairs"][0])
    assert set(found.names) == {"temperature", "learning_rate"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["go/no-go, three", "two-step", "iowa, delta"])
def test_profile_intervals_of_few_decisions_stay_where_parameters_can_be(name):
    """Sensitivities are not negative, shares lie between 0 and 1, and nothing is refused."""
    model, truth, _, _ = CASES[name]
    estimate = pn.fit(played(name, 2, n_decisions=40), model)
    ends = dict(zip(truth, estimate.interval(kind="profile", of=list(truth)), strict=True))
    for key in ("sensitivity", "consistency"):
        assert key not in ends or ends[key][0] >= 0
    for key in ("model_based_share", "trace_decay"):
        assert key not in ends or (ends[key][0] >= 0 and ends[key][1] <= 1)


@pytest.mark.parametrize("seed", [55, 63])
def test_at_the_edge_of_the_domain_nothing_is_found_that_the_grid_was_above(seed):
    """Climbs begin outside of it, or come to where beliefs jump beyond all bounds."""
    rng = np.random.default_rng(seed)
    ranges = {"inverse_temperature": (1, 4), "omega_2": (-4, -1), "omega_3": (-8, -4)}
    truth = {name: rng.uniform(*ends) for name, ends in ranges.items()}
    task = pn.Task(pn.models.InputWorld(1000), 200)
    play = pn.simulate(task, pn.models.HGF(), truth, rng=rng)
    estimate = pn.fit(play, pn.models.HGF())
    assert estimate.log_likelihood >= estimate.source.search_grid.values.max() - 1e-9


@pytest.mark.parametrize("seed", [194, 279])
def test_where_a_model_ends_nothing_beside_the_estimate_is_higher(seed):
    """Slopes lead outside there, while the profile still rises along the edge."""
    rng = np.random.default_rng(seed)
    ranges = {"inverse_temperature": (1, 4), "omega_2": (-2, -1), "omega_3": (-6, -3)}
    truth = {name: float(rng.uniform(*ends)) for name, ends in ranges.items()}
    model = pn.models.HGF()
    play = pn.simulate(pn.Task(pn.models.InputWorld(200), 120), model, truth, rng=rng)
    estimate = pn.fit(play, model)
    problem = Problem(model, (play,))
    ways = np.array([(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)])
    far = np.repeat([1e-3, 1e-2, 0.1, 0.3], len(ways))[:, None] * np.tile(ways, (4, 1))
    low, high = problem.bounds.T
    beside = np.clip(problem.to_unconstrained(estimate.psi) + far, low, high)
    heights, _ = problem.values(np.array([problem.from_unconstrained(u) for u in beside]))
    assert heights.max() <= estimate.log_likelihood + 1e-5

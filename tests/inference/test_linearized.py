"""The paper's estimator: linearised about a nominal prior."""

import json
import pickle
import warnings

import numpy as np
import pytest

import penchant as pn
import played
from penchant.inference.linearized_model import linearized_choices, nominal_psi_and_ratios
from profile_problem import Problem

MODEL = pn.UCL(locations=pn.grid(10, 10), noise_variance=10.0, length_scale=4.0)


def play(prior_variance: float, seed: int = 5) -> pn.Episode:
    truth = {"decision_noise": 4.0, "prior_mean": 60.0, "prior_variance": prior_variance}
    rng = np.random.default_rng(seed)
    return pn.simulate(pn.paper.landscape_a(), MODEL, truth, n_decisions=90, rng=rng)


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore::penchant.errors.PenchantWarning")
@pytest.mark.parametrize("name", ["ucl_lam1b", "ucl_lam0"])
def test_certified_linearised_estimates_are_reproduced(evidence, name):
    exact = json.loads((evidence / "golden" / "ucl.json").read_text())[name]
    model = pn.UCL(exact["loc"], exact["sigma_s_sq"], length_scale=exact["true"]["lam"])
    nominal = pn.RewardPrior(exact["nominal"]["mu_bar"], exact["nominal"]["s0sq_bar"])
    episode = pn.Episode(exact["choices"], exact["rewards"])
    found = pn.fit_linearized(episode, model, nominal=nominal)
    np.testing.assert_allclose(found.theta, exact["linearised"]["mle"], rtol=1e-8)
    np.testing.assert_allclose(found.covariance, exact["linearised"]["cov"], rtol=1e-7)
    again = pn.paper.relinearize(episode, model, nominal=nominal)
    assert again.log_likelihood == pytest.approx(exact["full_mle"]["loglik"], abs=1e-8)


@pytest.mark.parametrize("prior_variance", [100.0, 1000.0])
def test_far_from_the_nominal_point_the_variance_is_an_artefact_and_said_to_be(prior_variance):
    episode = play(prior_variance)
    with pytest.warns(pn.errors.PenchantWarning, match="not a small deviation"):
        found = pn.fit_linearized(episode, MODEL, nominal=pn.RewardPrior(200, 1e6))
    assert not found.validity.valid
    assert found.validity.bounds == pytest.approx((-1.0, 2.0), abs=1e-3)
    assert found.parameters[2].estimate == pytest.approx(3.38e5, rel=0.02)
    exact = pn.fit(episode, MODEL).parameters[2]
    assert exact.estimate == pytest.approx(prior_variance, abs=4 * exact.standard_error)


def test_relinearised_estimates_are_exact_ones_and_one_shot_is_never_better():
    episode = play(1000.0)
    exact = pn.fit(episode, MODEL)
    again = pn.paper.relinearize(episode, MODEL, nominal=pn.RewardPrior(200, 1e6))
    np.testing.assert_allclose(again.theta, exact.theta, rtol=1e-6)
    ranked = pn.paper.compare_nominals(
        episode, MODEL, [pn.RewardPrior(200, 1e6), pn.RewardPrior(50, 800)]
    )
    values = [found.validity.exact_log_likelihood for found in ranked]
    assert values == sorted(values, reverse=True)
    assert max(values) <= exact.log_likelihood + 1e-9


# -- columns ---------------------------------------------------------------------------------------

DUAL = pn.QLearning(4, forgetting=None, stickiness=True)
KALMAN = pn.KalmanFilter(4, noise_variance=0.07)
POINTS = {
    "UCL": (played.ucl(), pn.RewardPrior(35, 120), played.ucl_episode),
    "length scale": (played.ucl(length_scale=None), pn.RewardPrior(35, 120, 1.4), None),
    "free bonus": (played.ucl(bonus="free"), pn.RewardPrior(35, 120), None),
    "Q-learning": (pn.QLearning(4), {"learning_rate": 0.3}, played.q_episode),
    "two rates": (
        DUAL,
        {"learning_rate": 0.4, "forgetting": 0.2, "stickiness": 0.1},
        played.q_episode,
    ),
    "Kalman": (KALMAN, {s.name: 0.4 for s in KALMAN.shape}, played.q_episode),
    "user's": (played.Learner(), {"learning_rate": 0.3}, played.q_episode),
}


def case(name):
    model, nominal, play = POINTS[name]
    return model, nominal, (play or played.ucl_episode)(seed=2)


@pytest.mark.parametrize("name", POINTS)
def test_columns_are_the_first_order_expansion_of_the_objective(name):
    """theta_1 (sum_a ratio_a x_a(psi)) differentiated in theta, at zero deviation."""
    model, nominal, episode = case(name)
    psi, ratios = nominal_psi_and_ratios(model, nominal)
    problem = Problem(model, (episode,))
    choices = linearized_choices(problem.profiles, psi, ratios)
    d, n = len(ratios), len(ratios) + len(psi)

    def objective(theta):
        weights = theta[0] * ratios + np.concatenate([[0.0], theta[1:d]])
        return model.explanatory(episode, *(psi + theta[d:] / theta[0])) @ weights

    at = np.concatenate([[1.0], np.zeros(n - 1)])
    columns = choices.explanatory.reshape(len(episode.chosen), -1, n)
    for a in range(n):
        h = 1e-5 * (psi[a - d] if a >= d else 1.0) * np.eye(n)[a]
        slope = (objective(at + h) - objective(at - h)) / (2 * h[a])
        size = np.abs(slope).max()
        centred = columns[..., a] - columns[..., a].mean(axis=1, keepdims=True)
        slope = slope - slope.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(centred, slope, atol=2e-6 * size)


# -- the way back ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::penchant.errors.PenchantWarning")
def test_both_coordinates_map_the_same_theta_back_by_their_own_formulas():
    episode = play(1000.0)
    nominal = pn.RewardPrior(50, 2000)
    one = pn.fit_linearized(episode, MODEL, nominal=nominal)
    two = pn.fit_linearized(episode, MODEL, nominal=nominal, coordinate="sigma0")
    np.testing.assert_array_equal(one.theta, two.theta)
    delta_bar = 10.0 / 2000
    deviation = one.theta[2] / one.theta[0]
    noise, mean, variance = (p.estimate for p in one.parameters)
    assert noise == pytest.approx(1 / one.theta[0])
    assert mean == pytest.approx(50 + one.theta[1] / one.theta[0])
    assert variance == pytest.approx(10.0 / (delta_bar + deviation))
    sd = np.sqrt(2000) * (1 - deviation / (2 * delta_bar))
    assert two.parameters[2].estimate == pytest.approx(sd**2)
    assert one.validity.ratio == pytest.approx(deviation / delta_bar)


@pytest.mark.filterwarnings("ignore::penchant.errors.PenchantWarning")
def test_a_learning_rate_that_cannot_be_is_outside_the_model():
    episode = pn.simulate(
        pn.Landscape([0.2, 0.55, 0.9, 0.4], pn.GaussianNoise(0.07)),
        pn.QLearning(4),
        {"temperature": 0.3, "learning_rate": 0.99},
        n_decisions=60,
        rng=np.random.default_rng(1),
    )
    statuses = set()
    for nominal in (0.02, 0.05, 0.1):
        found = pn.fit_linearized(episode, pn.QLearning(4), nominal={"learning_rate": nominal})
        statuses.add(found.status)
        rate = nominal + found.theta[1] / found.theta[0]
        inside = 0.001 <= rate <= 1 and found.theta[0] > 0
        assert (found.status == "converged") == inside
        assert np.isfinite(found.validity.exact_log_likelihood) == inside
        assert np.isfinite([p.estimate for p in found.parameters]).all() == inside
        if not inside:
            assert "cannot have" in found.message
    assert "outside the model" in statuses


@pytest.mark.filterwarnings("ignore::penchant.errors.PenchantWarning")
def test_constrained_estimates_stay_inside_their_bounds():
    for seed in range(2, 8):
        episode = played.ucl_episode(seed=seed, n_decisions=40)
        for nominal in (pn.RewardPrior(35, 120), pn.RewardPrior(0, 1e5)):
            found = pn.fit_linearized(episode, played.ucl(), nominal=nominal, constrained=True)
            if not np.isfinite(found.theta).all() or found.theta[0] <= 1e-9:
                continue
            low, high = found.validity.bounds
            assert low - 1e-6 <= found.validity.ratio <= high + 1e-6
            free = pn.fit_linearized(episode, played.ucl(), nominal=nominal)
            assert found.log_likelihood <= free.log_likelihood + 1e-7


# -- beside the exact estimate ---------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::penchant.errors.PenchantWarning")
@pytest.mark.parametrize("seed", [23, 26, 28, 33])
def test_the_exact_fit_is_never_lower_and_relinearisation_reaches_it(seed):
    """Seeds whose iteration alone ends at a lower peak from one of these points."""
    episode = played.ucl_episode(seed=seed, n_decisions=20 + seed)
    nominals = [pn.RewardPrior(35, 120), pn.RewardPrior(200, 1e6), pn.RewardPrior(0, 0.5)]
    exact = pn.fit(episode, played.ucl())
    for nominal in nominals:
        again = pn.paper.relinearize(episode, played.ucl(), nominal=nominal)
        assert again.status == exact.status
        assert again.log_likelihood == pytest.approx(exact.log_likelihood, abs=1e-7)
        for options in ({}, {"constrained": True}, {"coordinate": "sigma0"}):
            one = pn.fit_linearized(episode, played.ucl(), nominal=nominal, **options)
            assert not one.validity.exact_log_likelihood > exact.log_likelihood + 1e-8


def test_an_iteration_that_needed_the_grid_says_so():
    episode = played.ucl_episode(seed=26, n_decisions=46)
    far = pn.paper.relinearize(episode, played.ucl(), nominal=pn.RewardPrior(200, 1e6))
    assert any("ended at a lower peak" in note for note in far.notes)
    near = pn.paper.relinearize(episode, played.ucl(), nominal=pn.RewardPrior(35, 120))
    assert not any("lower peak" in note for note in near.notes)


@pytest.mark.parametrize("name", ["Q-learning", "two rates", "Kalman", "user's"])
def test_relinearisation_is_exact_for_other_models_too(name):
    model, nominal, episode = case(name)
    again, exact = pn.paper.relinearize(episode, model, nominal=nominal), pn.fit(episode, model)
    assert again.status == exact.status
    assert again.log_likelihood == pytest.approx(exact.log_likelihood, abs=1e-7)


def test_a_model_without_shape_parameters_is_linear_already():
    model = pn.QLearning(4, learning_rate=0.3, stickiness=True)
    episode = played.q_episode()
    exact = pn.fit(episode, model)
    for constrained in (False, True):
        found = pn.fit_linearized(episode, model, nominal={}, constrained=constrained)
        assert found.validity.exact_log_likelihood == pytest.approx(exact.log_likelihood, rel=1e-10)
    np.testing.assert_allclose(pn.paper.relinearize(episode, model, nominal={}).theta, exact.theta)


@pytest.mark.filterwarnings("ignore::penchant.errors.PenchantWarning")
def test_separated_choices_are_separated_here_too():
    episode = pn.Episode([2] * 20, np.linspace(1, 3, 20))
    nominal = pn.RewardPrior(35, 120)
    assert pn.fit_linearized(episode, played.ucl(), nominal=nominal).status == "separated"
    again = pn.paper.relinearize(episode, played.ucl(), nominal=nominal)
    assert again.status == pn.fit(episode, played.ucl()).status == "separated"


# -- many, and for reading -------------------------------------------------------------------------


def people():
    plays = [play(1000.0, seed) for seed in (5, 6)]
    labelled = [pn.Episode(e.chosen, e.rewards, subject=s) for s, e in enumerate(plays)]
    return [*labelled, labelled[0].extended(3, 1.0), pn.Episode([], [], subject="none")]


def test_each_of_many_is_linearised_as_by_itself():
    nominal, episodes = pn.RewardPrior(200, 1e6), people()
    with pytest.warns(pn.errors.PenchantWarning, match="2 of 2 linearised estimates lie outside"):
        each = pn.paper.fit_linearized_each(episodes, MODEL, nominal=nominal, threads=2)
    assert each.subjects == (0, 1)
    assert each.without_decisions == ("none",)
    for subject in each.subjects:
        mine = [e for e in episodes if e.subject == subject]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = pn.fit_linearized(mine, MODEL, nominal=nominal)
        found = each.of(subject)
        np.testing.assert_array_equal(found.theta, alone.theta)
        assert found.validity.ratio == alone.validity.ratio
        assert found.subject == alone.subject == subject
    table = each.to_frame(backend="pyarrow").to_pydict()
    assert table["ratio"] == [one.validity.ratio for one in each]
    assert table["prior_mean"] == [one.parameters[1].estimate for one in each]
    assert "1 without decisions" in repr(each)
    with pytest.raises(pn.errors.DataError, match="subject must be one of"):
        each.of("nobody")
    with pytest.raises(pn.errors.DataError, match="at least one decision"):
        pn.paper.fit_linearized_each([pn.Episode([], [])], MODEL, nominal=nominal)


@pytest.mark.filterwarnings("ignore::penchant.errors.PenchantWarning")
def test_an_estimate_is_written_pickled_and_printed_with_its_range():
    found = pn.fit_linearized(play(1000.0), MODEL, nominal=pn.RewardPrior(200, 1e6))
    document = json.loads(json.dumps(found.to_dict()))
    validity = document["validity"]
    assert validity["nominal"] == {"mean": 200, "variance": 1e6, "length_scale": None}
    assert validity["ratio"] == found.validity.ratio
    assert validity["valid"] is False
    assert validity["bounds"] == list(found.validity.bounds)
    assert validity["exact_log_likelihood"] == found.validity.exact_log_likelihood
    assert document["theta"] == found.theta.tolist()
    again = pickle.loads(pickle.dumps(found))
    assert repr(again) == repr(found)
    assert again.summary() == found.summary()
    assert "Linearised about prior mean 200, variance 1e+06" in found.summary()
    table = found.to_frame(backend="pyarrow").to_pydict()
    assert table["name"] == ["decision_noise", "prior_mean", "prior_variance"]
    assert table["ratio"] == [found.validity.ratio] * 3


# -- wrong use -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nominal", "said"),
    [
        ({}, "got none for learning_rate"),
        ({"learning_rate": np.nan}, "learning_rate must be finite; got nan"),
        ({"learning_rate": 2.0}, r"learning_rate must lie in 1e-08..1; got 2"),
        ({"learning_rate": 0.3, "rate": 1.0}, "got 'rate'"),
        (pn.RewardPrior(3, 1), "must be a mapping for this model"),
    ],
)
def test_a_nominal_point_that_cannot_be_is_refused(nominal, said):
    with pytest.raises(pn.errors.DataError, match=said):
        pn.fit_linearized(played.q_episode(), pn.QLearning(4), nominal=nominal)
    with pytest.raises(pn.errors.DataError, match=said):
        pn.paper.relinearize(played.q_episode(), pn.QLearning(4), nominal=nominal)


def test_a_coordinate_that_cannot_be_is_refused():
    with pytest.raises(pn.errors.DataError, match="coordinate must be 'delta' or 'sigma0'"):
        pn.fit_linearized(play(1000.0), MODEL, nominal=pn.RewardPrior(60, 1000), coordinate="sigma")
    with pytest.raises(pn.errors.DataError, match="left out for models other than UCL"):
        pn.fit_linearized(
            played.q_episode(),
            pn.QLearning(4),
            nominal={"learning_rate": 0.3},
            coordinate="sigma0",
        )

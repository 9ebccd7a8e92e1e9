"""The prior on maps wherever episodes are fitted: one at a time, many people, models compared."""

import re

import numpy as np
import pytest

import penchant as pn
from penchant.errors import DataError

PLACES = pn.grid(5, 4)
BASIS = pn.MapBasis.smooth(PLACES, n=5)
MODEL = pn.UCL(locations=PLACES, noise_variance=9.0, length_scale=3.0, prior_map=BASIS)
BARE = pn.UCL(locations=PLACES, noise_variance=9.0, length_scale=3.0)
PRIOR = pn.MapPrior(sd=8.0, others=0.3)


def plays(subject, seed, n_plays=2, sd=14.0, n_decisions=24):
    """Somebody who expects more to the right, on landscapes where nothing is."""
    rng = np.random.default_rng(seed)
    belief = 30 + sd * (PLACES[:, 0] - 2.0) / np.sqrt(2)
    own = pn.UCL(
        locations=PLACES, noise_variance=9.0, length_scale=3.0, prior_map=pn.MapBasis.of([belief])
    )
    natural = {"decision_noise": 5.0, "prior_mean": 30.0, "prior_variance": 60.0, "map_1": sd}
    place = pn.Landscape(np.full(20, 30.0), pn.GaussianNoise(9.0))
    return [
        pn.simulate(place, own, natural, n_decisions=n_decisions, rng=rng, subject=subject, block=k)
        for k in range(n_plays)
    ]


def test_live_gives_the_map_that_a_fit_of_the_same_choices_gives():
    (episode,) = plays("ann", 4, n_plays=1)
    live = pn.live(MODEL, parameter_prior=PRIOR)
    assert live.estimate().status == "not identified"
    for option, reward in zip(episode.chosen, episode.rewards, strict=True):
        live.observe(option, reward)
    whole = pn.fit(episode, MODEL, parameter_prior=PRIOR)
    np.testing.assert_array_equal(live.estimate().theta, whole.theta)
    np.testing.assert_array_equal(live.estimate().belief_map().mean, whole.belief_map().mean)
    with pytest.raises(DataError, match=re.escape("model must have a prior_map where")):
        pn.live(BARE, parameter_prior=PRIOR)


def test_every_subject_has_the_map_of_a_fit_by_itself():
    both = [*plays("ann", 4), *plays("bob", 5, sd=6.0)]
    silent = pn.Episode([3], [1.0], is_choice=[False], subject="cy")
    found = pn.fit_each([*both, silent], MODEL, parameter_prior=PRIOR, threads=2)
    assert found.of("cy").status == "not identified"
    for name in ("ann", "bob"):
        alone = pn.fit([e for e in both if e.subject == name], MODEL, parameter_prior=PRIOR)
        np.testing.assert_array_equal(found.of(name).theta, alone.theta)
        np.testing.assert_array_equal(found.of(name).belief_map().sd, alone.belief_map().sd)
    assert not np.array_equal(found.of("ann").theta, found.of("bob").theta)


def test_models_with_and_without_a_map_are_compared_by_plays_left_out():
    people = [*plays("ann", 4), *plays("bob", 5)]
    found = pn.compare_models(
        {"map": MODEL, "constant": BARE}, people, folds="block", parameter_prior=PRIOR
    )
    assert found.best == "map"  # both know where they expect more
    assert found.held_out is not None and "map (width 8) prior" in found.held_out.words
    train, test = people[0], people[1]
    for name, model, prior in (("map", MODEL, PRIOR), ("constant", BARE, pn.ScaledPrior(0.3))):
        expected = pn.fit(train, model, parameter_prior=prior).log_likelihoods(test)
        mine = found.held_out.log_likelihoods[name][24:48]
        np.testing.assert_allclose(mine, expected, rtol=1e-6)


def test_a_width_by_prediction_is_narrow_where_plays_share_no_map_and_wide_where_they_do():
    shared = plays("ann", 4, n_plays=3)
    found = pn.fit(shared, MODEL, parameter_prior=pn.MapPrior(sd="prediction")).belief_map()
    assert len(found.fits) == 1 and found.width > 2.0
    # the same choices with tiles renamed in every play: each has its own map, none is shared
    turned = []
    for k, play in enumerate(shared):
        rename = np.roll(np.arange(20).reshape(4, 5), 2 * k, axis=1).ravel()
        rename = rename if k != 1 else rename[::-1]
        turned.append(pn.Episode(rename[play.chosen], play.rewards))
    own = pn.fit(turned, MODEL, parameter_prior=pn.MapPrior(sd="prediction")).belief_map()
    assert own.width < 0.5 * found.width
    alone = pn.fit(shared[0], MODEL, parameter_prior=pn.MapPrior(sd="prediction"))
    likely = pn.fit(shared[0], MODEL, parameter_prior=pn.MapPrior(sd="evidence"))
    np.testing.assert_array_equal(alone.theta, likely.theta)

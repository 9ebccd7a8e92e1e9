"""Columns that ignore rewards: against loops, events of all kinds, agents, the weak prior."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

import penchant as pn
import played
from penchant.models.model import weights_and_shape

TERMS = ("distance", "log_distance", "same", "visited")
SPACING = min(
    math.dist(one, other) for a, one in enumerate(played.PLACES) for other in played.PLACES[:a]
)


def literal(episode, places, terms, spacing):
    """The columns, option by option."""
    rows = []
    for t in range(episode.n_events):
        before = [int(option) for option in episode.chosen[:t] if option >= 0]
        row = []
        for i, place in enumerate(places):
            if not before:
                row.append([0.0] * len(terms))
                continue
            apart = sum(abs(a - b) for a, b in zip(place, places[before[-1]], strict=True))
            values = {
                "distance": apart,
                "log_distance": math.log(1 + apart / spacing),
                "same": float(i == before[-1]),
                "visited": float(i in before),
            }
            row.append([values[term] for term in terms])
        rows.append(row)
    return np.array(rows)


@given(
    seed=st.integers(0, 10_000),
    terms=st.lists(st.sampled_from(TERMS), min_size=1, max_size=4, unique=True),
)
def test_columns_equal_the_literal_loop(seed, terms):
    episode = played.random_episode(seed, 7)
    found = pn.models.Locality(played.PLACES, terms).explanatory(episode)
    expected = literal(episode, played.PLACES, terms, SPACING)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def test_before_anything_was_seen_nothing_is_near():
    episode = pn.Episode([None, 3, 2], [None, 1.0, 2.0])
    x = pn.models.Locality(pn.grid(5, 1)).explanatory(episode)
    np.testing.assert_array_equal(x[:2], np.zeros((2, 5, 4)))
    np.testing.assert_array_equal(x[2, :, 0], [3, 2, 1, 0, 1])


def test_a_timeout_leaves_the_last_option_where_it_was():
    episode = pn.Episode([1, None, 2], [1.0, None, 2.0])
    x = pn.models.Locality(pn.grid(5, 1)).explanatory(episode)
    np.testing.assert_array_equal(x[2], x[1])


def test_an_option_shown_counts_like_one_chosen_and_rewards_do_not_count():
    shown = pn.Episode([1, 4, 2], [1.0, 2.0, 5.0], is_choice=[False, True, True])
    chosen = pn.Episode([1, 4, 2], [9.0, 8.0, 7.0])
    model = pn.models.Locality(pn.grid(3, 2))
    np.testing.assert_array_equal(model.explanatory(shown), model.explanatory(chosen))


def test_units_of_places_change_distances_and_nothing_else():
    episode = played.random_episode(5, 7)
    one = pn.models.Locality(played.PLACES).explanatory(episode)
    other = pn.models.Locality(2.5 * played.PLACES).explanatory(episode)
    np.testing.assert_allclose(other[:, :, 0], 2.5 * one[:, :, 0], rtol=1e-14)
    np.testing.assert_allclose(other[:, :, 1:], one[:, :, 1:], rtol=1e-14)


def test_many_episodes_at_once_are_each_by_itself_in_any_order():
    from penchant.models.record import Record

    episodes = [played.random_episode(seed, 7, n_events=9 + seed) for seed in range(4)]
    which = np.array([2, 0, 2, 3])
    model = pn.models.Locality(played.PLACES)
    found, _ = model.explanatory_many(Record.of(episodes), which, np.empty((4, 0)), False)
    expected = np.concatenate([model.explanatory(episodes[e]) for e in which])
    np.testing.assert_array_equal(found, expected)


def test_a_single_option_is_near_itself():
    x = pn.models.Locality([[0.5]]).explanatory(pn.Episode([0, 0], [1.0, 2.0]))
    np.testing.assert_array_equal(x[:, 0], [[0, 0, 0, 0], [0, 0, 1, 1]])


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (("distanse",), r"(?s)terms must be among distance.*got 'distanse'.*distance"),
        (("same", "same"), "terms must name each term once; got same, same"),
        ((), "terms must name one of distance"),
    ],
)
def test_terms_that_do_not_exist_are_refused(terms, message):
    with pytest.raises(pn.errors.DataError, match=message):
        pn.models.Locality(pn.grid(2, 2), terms)


def test_a_term_may_be_named_without_a_tuple():
    assert pn.models.Locality(pn.grid(2, 2), "same").weights == ("same",)
    assert pn.models.Locality(pn.grid(2, 2), "all").weights == TERMS
    assert pn.GPUCB(pn.grid(2, 2), "all", prior_mean=0.0).weights[2:] == TERMS


# -- estimates -----------------------------------------------------------------------------------

TRUTH = {"distance": -0.3, "log_distance": -0.4, "same": 0.7, "visited": -1.1}


def wander(n_agents, n_decisions, seed, truth=TRUTH):
    model = pn.models.Locality(pn.grid(4, 3), tuple(truth))
    place = pn.Landscape(np.linspace(1.0, 2.0, 12), pn.GaussianNoise(0.1))
    rng = np.random.default_rng(seed)
    return model, pn.simulate(
        place, model, truth, n_decisions=n_decisions, n_subjects=n_agents, rng=rng
    )


def test_agents_choose_with_the_probabilities_of_the_likelihood():
    """G-test of the options by rank of their probability."""
    model, episodes = wander(400, 8, 1)
    theta, _ = weights_and_shape(model, TRUTH)
    p = np.concatenate([special.softmax(model.explanatory(e) @ theta, axis=1) for e in episodes])
    chosen = np.concatenate([e.chosen for e in episodes])

    def p_value(p):
        order = np.argsort(p, axis=1, kind="stable")
        observed = np.bincount(np.argmax(order == chosen[:, None], axis=1), minlength=12)
        expected = np.take_along_axis(p, order, axis=1).sum(axis=0)
        return stats.chi2.sf(2 * special.rel_entr(observed, expected).sum(), 11)

    assert p_value(p) > 1e-3
    assert p_value(special.softmax(1.3 * np.log(p), axis=1)) < 1e-3


def test_weights_are_recovered():
    model, episodes = wander(60, 40, 2)
    estimate = pn.fit(episodes, model)
    assert estimate.status == "converged"
    for parameter in estimate.parameters:
        gap = parameter.estimate - TRUTH[parameter.name]
        assert abs(gap) < 4 * parameter.standard_error, parameter


def test_someone_who_never_returns_is_separated_and_the_weak_prior_predicts():
    """The normal case: no tile is visited twice."""
    episodes = [
        pn.Episode(np.random.default_rng(seed).permutation(12)[:9], np.arange(9.0))
        for seed in range(3)
    ]
    model = pn.models.Locality(pn.grid(4, 3), ("distance", "visited"))
    assert pn.fit(episodes, model).status == "separated"
    weak = pn.fit(episodes, model, parameter_prior=pn.ScaledPrior())
    assert weak.status == "converged"
    assert weak.weights[1] < -1.0
    again = pn.Episode([3, 3, 3, 5], [1.0, 2.0, 1.0, 4.0])  # what never happened in training
    assert np.isfinite(weak.log_likelihoods(again)).all()
    assert (weak.predict(again).min(axis=1) > 1e-5).all()


def test_a_column_that_is_always_zero_in_training_has_weight_zero_and_predicts_nothing():
    """Episodes of one decision: nothing was seen before, so nothing tells of any term."""
    firsts = [pn.Episode([option], [1.0]) for option in (0, 3, 5)]
    model = pn.models.Locality(pn.grid(4, 3), ("distance", "visited"))
    weak = pn.fit(firsts, model, parameter_prior=pn.ScaledPrior())
    np.testing.assert_array_equal(weak.weights, [0.0, 0.0])
    later = pn.Episode([3, 3, 7], [1.0, 2.0, 1.0])
    np.testing.assert_allclose(weak.predict(later), 1 / 12, rtol=1e-12)

"""What was seen before and learnt after decisions, and which options there were."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn
from penchant.models.record import Record


def cued(n=5, subject="anna"):
    rng = np.random.default_rng(n)
    return pn.Episode(
        rng.integers(0, 2, n),
        rng.normal(size=n),
        before={"cue": rng.integers(0, 3, n)},
        after={"gain": rng.normal(size=n)},
        subject=subject,
    )


def test_what_was_seen_is_kept_locked_and_survives_pickling():
    episode = cued()
    for one in (episode, pickle.loads(pickle.dumps(episode))):
        np.testing.assert_array_equal(one.before["cue"], episode.before["cue"])
        np.testing.assert_array_equal(one.after["gain"], episode.after["gain"])
        with pytest.raises(ValueError, match="read-only"):
            one.after["gain"][0] = 1.0
        with pytest.raises(TypeError):
            one.before["cue"] = 0


def test_an_episode_extended_event_by_event_is_the_whole_one():
    whole = cued(7)
    grown = pn.Episode([], [], subject="anna")
    for t in range(7):
        grown = grown.extended(
            whole.chosen[t],
            whole.rewards[t],
            before={"cue": whole.before["cue"][t]},
            after={"gain": whole.after["gain"][t]},
        )
    np.testing.assert_array_equal(grown.before["cue"], whole.before["cue"])
    np.testing.assert_array_equal(grown.after["gain"], whole.after["gain"])
    with pytest.raises(
        pn.errors.DataError, match="before must hold cue at every event; got nothing"
    ):
        grown.extended(1, 0.5, after={"gain": 1.0})


def test_a_number_that_is_missing_or_of_another_length_is_refused():
    with pytest.raises(
        pn.errors.DataError, match=r"before\['cue'\] must be finite .* nan at decision 1"
    ):
        pn.Episode([0, 1], [1, 0], before={"cue": [1, None]})
    with pytest.raises(pn.errors.DataError, match=r"after\['gain'\] must have shape \(2,\)"):
        pn.Episode([0, 1], [1, 0], after={"gain": [1, 2, 3]})
    with pytest.raises(pn.errors.DataError, match="before must map names to numbers; got list"):
        pn.Episode([0, 1], [1, 0], before=[1, 2])
    fine = pn.Episode([0, None, 1], [1, None, None], before={"cue": [1, None, 2]})
    assert np.isnan(fine.before["cue"][1])


def test_options_that_are_not_there_have_no_probability_and_no_part_in_the_likelihood():
    rng = np.random.default_rng(2)
    pairs = rng.permuted(np.tile([1, 1, 0], (60, 1)), axis=1).astype(bool)
    chosen = np.array([rng.choice(np.flatnonzero(mask)) for mask in pairs])
    rewards = rng.normal([0.1, 0.5, 0.9], 1.0, (60, 3))[np.arange(60), chosen]
    episode = pn.Episode(chosen, rewards, available=pairs)
    model = pn.QLearning(3, 0.0)
    estimate = pn.fit(episode, model, parameter_prior=pn.ScaledPrior())
    theta, rate = estimate.theta
    values, total = np.zeros(3), 0.0
    for option, reward, mask in zip(chosen, rewards, pairs, strict=True):
        total += theta * values[option] - np.log(np.exp(theta * values[mask]).sum())
        values[option] += rate * (reward - values[option])
    assert estimate.log_likelihood == pytest.approx(total, rel=1e-10)
    p = estimate.predict(episode)
    assert p.shape == (60, 3)
    assert (p[~pairs] == 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    told = pn.beliefs(estimate)
    np.testing.assert_allclose(told.options["probability"], p, rtol=1e-10, atol=1e-300)
    assert estimate.log_likelihoods().sum() == pytest.approx(total, rel=1e-10)


def test_an_option_that_was_not_there_cannot_be_chosen():
    with pytest.raises(
        pn.errors.DataError, match="chosen must be among the options that are available"
    ):
        pn.Episode([2], [1.0], available=[[1, 1, 0]])
    with pytest.raises(pn.errors.DataError, match="available must leave an option at every event"):
        pn.Episode([0, None], [1.0, None], available=[[1, 1, 0], [0, 0, 0]])


def test_a_model_says_what_it_misses():
    class Cued:
        weights = ("value",)
        shape = ()
        before = ("cue",)

        def explanatory(self, episode):
            cue = Record.of([episode]).event_values("before", "cue")
            return np.stack([cue, -cue], axis=1)[:, :, None]

    assert pn.fit(cued(40), Cued()).names == ("value",)
    with pytest.raises(
        pn.errors.DataError, match="before must hold 'cue' for this model; got nothing"
    ):
        pn.fit(pn.Episode([0, 1], [1, 0]), Cued())
    live = pn.live(Cued())
    with pytest.raises(pn.errors.DataError, match="before must hold cue for this model"):
        live.observe(0, 1.0)
    live.observe(0, 1.0, before={"cue": 1.0})
    assert live.n_decisions == 1


def test_a_model_without_weights_is_refused_in_a_sentence():
    class Weightless:
        weights = ()
        shape = (pn.models.Shape("rate", 0.1, 0.9),)

        def explanatory(self, episode, rate):
            return np.zeros((episode.n_events, 2, 0))

    with pytest.raises(
        pn.errors.DataError, match="model must have at least one weight; got none of Wei"
    ):
        pn.fit(cued(), Weightless())
    with pytest.raises(pn.errors.DataError, match="model must have at least one weight"):
        pn.fit_each([cued()], Weightless())


def test_a_look_at_what_is_learnt_later_is_found():
    class Prophet:
        weights = ("gain",)
        shape = ()

        def explanatory(self, episode):
            gain = episode.after["gain"]
            return np.stack([gain, -gain], axis=1)[:, :, None]

    class Foreseeing(Prophet):
        def explanatory(self, episode):
            cue = np.append(episode.before["cue"][1:], 0)
            return np.stack([cue, -cue], axis=1)[:, :, None]

    rng = np.random.default_rng(1)
    found = pn.models.check_model(Prophet(), cued(30), rng=rng)
    assert "when what is learnt after event" in found.problems[0].message
    found = pn.models.check_model(Foreseeing(), cued(30), rng=rng)
    assert "when what is seen at the event after" in found.problems[0].message


def test_columns_of_a_table_become_what_was_seen():
    table = pa.table(
        {
            "who": ["bo", "bo", "al", "al"],
            "press": [1, 0, 0, None],
            "paid": [1.0, 0.0, 1.0, None],
            "picture": [3, 1, 2, 2],
            "won": [1.0, 0.0, 2.0, None],
        }
    )
    al, bo = pn.episodes_from_frame(
        table,
        chosen="press",
        reward="paid",
        subject="who",
        before={"cue": "picture"},
        after=["won"],
    )
    np.testing.assert_array_equal(bo.before["cue"], [3, 1])
    np.testing.assert_array_equal(al.after["won"][:1], [2.0])
    with pytest.raises(pn.errors.DataError, match="colour"):
        pn.episodes_from_frame(table, chosen="press", reward="paid", before=["colour"])


def test_cells_where_a_model_does_not_exist_are_passed_over():
    class NarrowIntervals:
        """Q-learning that has no values at rates above 0.6."""

        weights = ("inverse_temperature",)
        positive = ("inverse_temperature",)
        outside = True
        shape = (pn.models.Shape("learning_rate", 0.01, 1.0),)

        def explanatory(self, episode, learning_rate):
            x = pn.QLearning(2, 0.0).explanatory(episode, learning_rate)
            return x if learning_rate <= 0.6 else np.full(x.shape, np.nan)

    class Silent(NarrowIntervals):
        outside = False

    task = pn.Landscape([0.2, 0.8], pn.GaussianNoise(0.1))
    rule = {"temperature": 0.3, "learning_rate": 0.3}
    rng = np.random.default_rng(3)
    episode = pn.simulate(task, pn.QLearning(2, 0.0), rule, n_decisions=200, rng=rng)
    estimate = pn.fit(episode, NarrowIntervals())
    whole = pn.fit(episode, pn.QLearning(2, 0.0))
    assert whole.theta[1] < 0.6
    np.testing.assert_allclose(estimate.theta, whole.theta, rtol=1e-5)
    with pytest.raises(pn.errors.DataError, match="finite"):
        pn.fit(episode, Silent())

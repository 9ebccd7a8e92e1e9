"""Play: simulated choices have the probabilities of the likelihood; what is asked is checked.

The agents keep covariances of rewards and condition them; the likelihood uses a recursion in units
of the noise, and the reference dense inverses: they share no code for beliefs.
"""

import numpy as np
import pytest
from scipy import stats

import belief_reference as dense
import penchant as pn
import played
from learners import p_value
from penchant.models.simulate import agents_of, draw_options, weights_and_shape

UCL_MODEL = played.ucl(length_scale=None)
Q_MODEL = pn.QLearning(4)
Q_LANDSCAPE = pn.Landscape([0.2, 0.55, 0.9, 0.4], pn.GaussianNoise(0.07))
Q_TRUTH = {"temperature": 0.3, "learning_rate": 0.35}


def q_weights(natural):
    return np.array([1 / natural["temperature"]]), np.array([natural["learning_rate"]])


def test_simulated_choices_have_the_probabilities_of_the_ucl_likelihood():
    episodes = pn.simulate(
        played.landscape(),
        UCL_MODEL,
        played.TRUTH,
        n_decisions=12,
        n_subjects=1500,
        rng=np.random.default_rng(1),
    )
    theta, psi = weights_and_shape(UCL_MODEL, played.TRUTH)
    assert p_value(episodes, UCL_MODEL, theta, psi) > 1e-3
    # the test has power: a little more noise, variance or mean is seen
    for name, factor in (("decision_noise", 1.15), ("prior_variance", 1.3), ("prior_mean", 1.2)):
        theta, psi = weights_and_shape(
            UCL_MODEL, {**played.TRUTH, name: played.TRUTH[name] * factor}
        )
        assert p_value(episodes, UCL_MODEL, theta, psi) < 1e-3, name


@pytest.mark.parametrize(
    "options", [{"cooling": "constant"}, {"clock": "events"}, {"bonus": "free"}]
)
def test_simulated_choices_follow_the_options_of_the_model(options):
    model = played.ucl(**options)
    episodes = pn.simulate(
        played.landscape(),
        model,
        {**played.TRUTH, "implied_noise_sd": np.sqrt(played.NOISE_VARIANCE)},
        n_decisions=8,
        n_subjects=800,
        rng=np.random.default_rng(2),
    )
    theta, psi = weights_and_shape(model, played.TRUTH)
    assert p_value(episodes, model, theta, psi) > 1e-3


def test_simulated_choices_follow_a_free_bonus_of_another_weight():
    model = played.ucl(bonus="free")
    truth = {**played.TRUTH, "implied_noise_sd": 3 * np.sqrt(played.NOISE_VARIANCE)}
    episodes = pn.simulate(
        played.landscape(),
        model,
        truth,
        n_decisions=8,
        n_subjects=800,
        rng=np.random.default_rng(3),
    )
    theta, psi = weights_and_shape(model, truth)
    assert p_value(episodes, model, theta, psi) > 1e-3


def test_simulated_choices_have_the_probabilities_of_the_q_learning_likelihood():
    episodes = pn.simulate(
        Q_LANDSCAPE, Q_MODEL, Q_TRUTH, n_decisions=15, n_subjects=1500, rng=np.random.default_rng(4)
    )
    assert p_value(episodes, Q_MODEL, *q_weights(Q_TRUTH), skip=1) > 1e-3
    for name, factor in (("temperature", 1.1), ("learning_rate", 1.25)):
        other = q_weights({**Q_TRUTH, name: Q_TRUTH[name] * factor})
        assert p_value(episodes, Q_MODEL, *other, skip=1) < 1e-3, name


def test_agents_know_what_the_reference_knows():
    """Replay: the probabilities of the agents in play are those of the dense formulas."""
    episode = played.ucl_episode(seed=3, n_decisions=25)
    agents = agents_of(UCL_MODEL, dict(played.TRUTH), 1)
    expected = np.exp(
        dense.ucl_log_probabilities(
            episode.chosen, episode.rewards, played.PLACES, played.NOISE_VARIANCE, played.NATURAL
        )
    )
    for t in range(25):
        np.testing.assert_allclose(agents.probabilities()[0], expected[t], rtol=1e-9)
        agents.observe(episode.chosen[t : t + 1], episode.rewards[t : t + 1])


def test_rewards_are_those_of_the_landscape():
    episodes = pn.simulate(
        played.landscape(),
        UCL_MODEL,
        played.TRUTH,
        n_decisions=10,
        n_subjects=300,
        rng=np.random.default_rng(5),
    )
    gaps = np.concatenate([e.rewards - played.MEANS[e.chosen] for e in episodes])
    assert stats.kstest(gaps, "norm", (0, np.sqrt(played.NOISE_VARIANCE))).pvalue > 1e-3


def test_the_same_seed_gives_the_same_episode_and_another_another():
    one, same = played.ucl_episode(seed=6), played.ucl_episode(seed=6)
    np.testing.assert_array_equal(one.chosen, same.chosen)
    np.testing.assert_array_equal(one.rewards, same.rewards)
    assert (played.ucl_episode(seed=7).chosen != one.chosen).any()


def test_one_agent_is_the_first_of_one():
    (many,) = pn.simulate(
        played.landscape(),
        UCL_MODEL,
        played.TRUTH,
        n_decisions=70,
        n_subjects=1,
        rng=np.random.default_rng(6),
    )
    one = played.ucl_episode(seed=6)
    np.testing.assert_array_equal(one.chosen, many.chosen)
    np.testing.assert_array_equal(one.rewards, many.rewards)
    assert many.subject == 0


def test_labels_are_kept():
    episode = pn.simulate(
        Q_LANDSCAPE,
        Q_MODEL,
        Q_TRUTH,
        n_decisions=3,
        rng=np.random.default_rng(1),
        subject="anna",
        block=2,
    )
    assert (episode.subject, episode.block, episode.n_decisions) == ("anna", 2, 3)


def test_without_decision_noise_the_largest_heuristic_is_taken():
    model = played.ucl(length_scale=None)
    for seed in range(3):
        episode = pn.simulate(
            played.landscape(),
            model,
            {**played.TRUTH, "decision_noise": 0.0},
            n_decisions=30,
            rng=np.random.default_rng(seed),
        )
        b, f, s = dense.beliefs(
            episode.chosen, episode.rewards, played.PLACES, played.NOISE_VARIANCE / 120.0, 1.4
        )
        z = np.array([dense.credible_z(t) for t in range(1, 31)])[:, None]
        heuristic = b + 35.0 * f + np.sqrt(played.NOISE_VARIANCE * s) * z
        taken = heuristic[np.arange(30), episode.chosen]
        np.testing.assert_allclose(taken, heuristic.max(axis=1), rtol=1e-12)


def test_little_decision_noise_is_the_deterministic_agent():
    plays = [
        pn.simulate(
            played.landscape(),
            UCL_MODEL,
            {**played.TRUTH, "decision_noise": nu},
            n_decisions=30,
            rng=np.random.default_rng(8),
        )
        for nu in (0.0, 1e-300)
    ]
    np.testing.assert_array_equal(plays[0].chosen, plays[1].chosen)


def simulated(model=UCL_MODEL, landscape=None, n_decisions=4, **wrong):
    return pn.simulate(
        landscape or played.landscape(),
        model,
        {**played.TRUTH, **wrong},
        n_decisions=n_decisions,
        rng=np.random.default_rng(1),
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"decision_noise": -1.0}, "decision_noise must be >= 0; got -1.0"),
        ({"decision_noise": np.nan}, "decision_noise must be >= 0; got nan"),
        ({"decision_noise": np.inf}, "decision_noise must be finite; got inf"),
        ({"prior_variance": 0.0}, "prior_variance must be > 0; got 0.0"),
        ({"prior_variance": np.inf}, "prior_variance must be finite; got inf"),
        ({"prior_mean": np.nan}, "prior_mean must be finite; got nan"),
    ],
)
def test_impossible_parameters_are_refused(wrong, message):
    with pytest.raises(pn.errors.DataError, match=message):
        simulated(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": 0.0}, "temperature must be > 0; got 0.0"),
        ({"temperature": np.nan}, "temperature must be > 0; got nan"),
        ({"learning_rate": 1.2}, r"learning_rate must lie in 0\.\.1; got 1.2"),
        ({"learning_rate": np.nan}, r"learning_rate must lie in 0\.\.1; got nan"),
    ],
)
def test_impossible_parameters_of_q_learning_are_refused(wrong, message):
    with pytest.raises(pn.errors.DataError, match=message):
        pn.simulate(
            Q_LANDSCAPE,
            Q_MODEL,
            {**Q_TRUTH, **wrong},
            n_decisions=4,
            rng=np.random.default_rng(1),
        )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("length_scale", [-1.0, np.nan, np.inf])
def test_an_impossible_length_scale_is_refused(length_scale):
    with pytest.raises(pn.errors.DataError, match="length_scale"):
        simulated(length_scale=length_scale)


@pytest.mark.parametrize("n_decisions", [-1, 2.5, "many"])
def test_an_impossible_number_of_decisions_is_refused(n_decisions):
    with pytest.raises(pn.errors.DataError, match="n_decisions"):
        simulated(n_decisions=n_decisions)


def test_parameters_the_model_does_not_have_are_refused():
    with pytest.raises(pn.errors.DataError, match="prior_varience"):
        simulated(prior_varience=4.0)


def test_missing_parameters_are_named():
    with pytest.raises(pn.errors.DataError, match="got none for prior_variance, length_scale"):
        pn.simulate(
            played.landscape(),
            UCL_MODEL,
            {"decision_noise": 1.0, "prior_mean": 2.0},
            n_decisions=4,
            rng=np.random.default_rng(1),
        )


def test_the_landscape_must_have_the_options_of_the_model():
    with pytest.raises(
        pn.errors.DataError, match="task must have the 7 options of the model; got 4"
    ):
        simulated(landscape=Q_LANDSCAPE)


def test_a_model_of_ones_own_plays_without_agents_of_its_own():
    rule, place = {"inverse_temperature": 4.0, "learning_rate": 0.35}, Q_LANDSCAPE
    ours, theirs = (
        pn.simulate(place, model, rule, n_decisions=25, n_subjects=3, rng=np.random.default_rng(3))
        for model, rule in (
            (Bare(), rule),
            (Q_MODEL, {"temperature": 0.25, "learning_rate": 0.35}),
        )
    )
    for own, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(own.chosen, other.chosen)
        np.testing.assert_array_equal(own.rewards, other.rewards)


class Bare:
    """Q-learning with four options as a user writes it."""

    weights = ("inverse_temperature",)
    shape = (pn.models.Shape("learning_rate", 0.01, 1.0),)

    def explanatory(self, episode, learning_rate):
        values, x = np.zeros(4), np.empty((episode.n_events, 4, 1))
        for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
            x[t, :, 0] = values
            values[option] += learning_rate * (reward - values[option])
        return x


def test_people_who_differ_are_given_as_a_list_of_parameters():
    rules = [{**Q_TRUTH, "learning_rate": rate} for rate in (0.1, 0.5, 0.9)]
    task = pn.Task(Q_LANDSCAPE, n_decisions=20, n_blocks=2)
    plays = pn.simulate(task, Q_MODEL, rules, rng=np.random.default_rng(2))
    assert [(e.subject, e.block) for e in plays] == [(s, b) for s in range(3) for b in range(2)]
    longer = pn.simulate(task.with_decisions(30), Q_MODEL, rules, rng=np.random.default_rng(2))
    np.testing.assert_array_equal(longer[0].chosen[:20], plays[0].chosen)
    same = pn.simulate(task, Q_MODEL, rules[:2], rng=np.random.default_rng(2))
    for one, other in zip(same, plays[:4], strict=True):  # each has randomness of its own
        np.testing.assert_array_equal(one.chosen, other.chosen)


def test_a_task_of_a_landscape_is_played_as_the_landscape():
    rng, again = np.random.default_rng(9), np.random.default_rng(9)
    plays = pn.simulate(Q_LANDSCAPE, Q_MODEL, Q_TRUTH, n_decisions=12, n_subjects=4, rng=rng)
    task = pn.Task(Q_LANDSCAPE, n_decisions=12)
    others = pn.simulate(task, Q_MODEL, Q_TRUTH, n_subjects=4, rng=again)
    for one, other in zip(plays, others, strict=True):
        assert one.subject == other.subject
        np.testing.assert_array_equal(one.chosen, other.chosen)


def test_everybody_has_every_block_of_a_task():
    task = pn.Task(Q_LANDSCAPE, n_decisions=5, n_blocks=3)
    plays = pn.simulate(task, Q_MODEL, Q_TRUTH, n_subjects=2, rng=np.random.default_rng(9))
    assert [(e.subject, e.block) for e in plays] == [(s, b) for s in range(2) for b in range(3)]
    assert len({e.rewards.tobytes() for e in plays}) == 6


def test_the_offers_of_a_person_are_answered_again():
    offers = {"amount": [[20, 50], [30, 35]], "delay": [[0, 30], [0, 90]]}
    ann = pn.Offers([0, 0], offers, subject="ann", block="first")
    rule = {"temperature": 0.0, "discount_rate": 0.02}
    model, rng = pn.HyperbolicDiscounting(), np.random.default_rng(1)
    again = pn.simulate(ann, model, rule, rng=rng)
    assert (again.subject, again.block, again.chosen.tolist()) == ("ann", "first", [1, 0])
    longer = pn.simulate(offers, model, rule, n_decisions=5, rng=rng)
    assert longer.chosen.tolist() == [1, 0, 1, 0, 1]
    two = pn.simulate(offers, model, rule, n_subjects=2, rng=rng)
    assert [(one.subject, one.chosen.tolist()) for one in two] == [(0, [1, 0]), (1, [1, 0])]


@pytest.mark.parametrize(
    ("task", "given", "message"),
    [
        (Q_LANDSCAPE, {}, "n_decisions must be given with a landscape"),
        (pn.Task(Q_LANDSCAPE, 5), {"n_decisions": 4}, "n_decisions must be left out for a Task"),
        (pn.Task(Q_LANDSCAPE, 5), {"n_subjects": 0}, "n_subjects must be"),
        ([1.0, 2.0], {"n_decisions": 3}, "world must be a Landscape, a schedule"),
    ],
)
def test_a_task_that_does_not_say_what_to_do_is_refused(task, given, message):
    with pytest.raises(pn.errors.DataError, match=message):
        pn.simulate(task, Q_MODEL, Q_TRUTH, rng=np.random.default_rng(1), **given)


@pytest.mark.parametrize("parameters", [None, 0.3, "temperature", [0.3, 0.4]])
def test_what_is_no_mapping_of_parameters_is_refused(parameters):
    with pytest.raises(
        pn.errors.DataError, match="parameters must map names to numbers, or be a list"
    ):
        pn.simulate(pn.Task(Q_LANDSCAPE, 5), Q_MODEL, parameters, rng=np.random.default_rng(1))


def test_as_many_people_as_parameters_are_simulated():
    task, rules = pn.Task(Q_LANDSCAPE, 5), [Q_TRUTH, Q_TRUTH]
    rng = np.random.default_rng(1)
    assert len(pn.simulate(task, Q_MODEL, rules, n_subjects=2, rng=rng)) == 2
    with pytest.raises(pn.errors.DataError, match=r"n_subjects must be as many .* got 3 and 2"):
        pn.simulate(task, Q_MODEL, rules, n_subjects=3, rng=rng)


def test_an_option_without_probability_is_never_drawn():
    class Zero:
        def random(self, shape):
            return np.zeros(shape)

    p = np.array([[0.0, 0.25, 0.75], [0.0, 0.0, 1.0]])
    assert draw_options(p, Zero()).tolist() == [1, 2]


def test_a_model_with_agents_of_its_own_can():
    class Turns:
        """Takes options in turn."""

        def __init__(self, n_agents):
            self.t, self.n_agents = 0, n_agents

        def probabilities(self):
            return np.tile(np.eye(7)[self.t % 7], (self.n_agents, 1))

        def observe(self, chosen, rewards):
            self.t += 1

    class InTurn(played.Learner):
        def agents(self, parameters, n_agents):
            return Turns(n_agents)

    np.testing.assert_array_equal(simulated(InTurn(), n_decisions=9).chosen, np.arange(9) % 7)


def test_parameters_given_are_not_changed():
    truth = dict(played.TRUTH)
    simulated()
    assert truth == played.TRUTH


def test_the_expected_sum_of_rewards_is_that_of_options_that_are_random():
    place = pn.Landscape([0.2, 0.9], pn.GaussianNoise(0.5))
    rule = {"temperature": 0.4, "learning_rate": 0.3}
    plays = pn.simulate(
        place, pn.QLearning(2), rule, n_decisions=20, n_subjects=2000, rng=np.random.default_rng(15)
    )
    received = np.array([play.rewards.sum() for play in plays])
    means = np.array([place.mean_rewards[play.chosen].sum() for play in plays])
    gap = received - means
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(plays))
    assert means.std() > 0.5  # no number, as the paper has it: it needs an expectation of its own

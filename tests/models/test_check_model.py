"""The checker says what is wrong with a model, and finds nothing in models that are right."""

import numpy as np
import pytest

import offered
import penchant as pn
import played
from penchant.models.catalogue import CATALOGUE
from penchant.models.model import Declared
from penchant.models.parameters import Parameter

EPISODES = [played.q_episode(1, 60), played.q_episode(2, 45)]


def check(model, data=EPISODES, **options):
    return pn.models.check_model(model, data, rng=np.random.default_rng(4), **options)


class Learner(played.Learner):
    """Right as it is; every wrong model below differs from it by one thing."""

    def rows(self, episode, learning_rate):
        return played.Learner.explanatory(self, episode, learning_rate)


def only(found, code, *words):
    """One problem, of this kind, that says these words."""
    assert [problem.code for problem in found.problems] == [code], found.summary()
    for word in words:
        assert word in found.problems[0].message
    assert not found.ok


# -- models that are right -------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(offered.STATIC))
def test_nothing_is_wrong_with_static_models(name):
    model, truth = offered.STATIC[name]
    rng = np.random.default_rng(1)
    decisions = pn.simulate(offered.offers_of(name), model, truth, rng=rng)
    found = check(model, decisions)
    assert found.ok, found.summary()
    assert "many episodes at once" in found.passed


@pytest.mark.parametrize(
    ("model", "episode"),
    [
        (pn.QLearning(4), EPISODES),
        (Learner(), EPISODES),
        (played.ucl(), played.ucl_episode(1)),
        (played.ucl(length_scale=None), [played.ucl_episode(1), played.ucl_episode(2)]),
        (pn.QLearning(5), played.random_episode(3, 5, 60)),
    ],
    ids=["q", "own", "ucl", "ucl-length", "timeouts"],
)
def test_nothing_is_wrong_with_learning_models(model, episode):
    found = check(model, episode)
    assert found.ok, found.summary()
    assert repr(found) == f"<ModelCheck of {type(model).__name__}: ok>"
    assert "nothing wrong was found" in found.summary()


PLAYED = [
    name
    for name, entry in CATALOGUE.items()
    if entry.data == "play"
    and not (Declared(entry.example()).before or Declared(entry.example()).after)
]


@pytest.mark.parametrize("name", [name for name in PLAYED if name != "locality"])
def test_nothing_is_wrong_with_the_models_of_the_catalogue(name):
    rng = np.random.default_rng(0)
    found = check(
        CATALOGUE[name].example(), pn.Episode(rng.integers(0, 2, 60), rng.normal(size=60))
    )
    assert found.ok, found.summary()


def test_terms_of_locality_are_told_apart_on_a_grid_but_not_on_two_places():
    rng = np.random.default_rng(0)
    wide = pn.Episode(rng.integers(0, 12, 80), rng.normal(size=80))
    assert check(pn.models.Locality(pn.grid(4, 3)), wide).ok
    narrow = pn.Episode(rng.integers(0, 2, 80), rng.normal(size=80))
    only(
        check(pn.models.Locality(pn.grid(2, 1)), narrow),
        "not identifiable",
        "distance, log_distance, same",
    )


def test_what_was_looked_at_is_said():
    assert check(Learner()).passed == (
        "declarations",
        "shape and type of the variables, the same at every call",
        "no look at the future",
        "parameters identifiable",
    )


# -- the future ------------------------------------------------------------------------------------


def test_a_row_that_knows_its_own_reward_is_found():
    class Wrong(Learner):
        def explanatory(self, episode, learning_rate):
            values, x = np.zeros(4), np.empty((episode.n_events, 4, 1))
            for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
                values[option] += learning_rate * (reward - values[option])
                x[t, :, 0] = values
            return x

    found = check(Wrong())
    assert found.problems[0].code == "future"
    assert "event 0 when the reward of event 0" in found.problems[0].message
    assert "fill the row first, learn after" in found.problems[0].message
    assert "choice it predicts" in found.problems[1].message


def test_a_row_that_knows_only_its_own_choice_is_found():
    class Wrong(Learner):
        def explanatory(self, episode, learning_rate):
            x = self.rows(episode, learning_rate)
            x[np.arange(len(x)), episode.chosen, 0] += 0.3
            return x

    only(check(Wrong()), "future", "when the choice at event 0 was changed", "looks at the choice")


def test_scaling_over_the_whole_episode_is_found():
    class Wrong(Learner):
        def explanatory(self, episode, learning_rate):
            x = self.rows(episode, learning_rate)
            return x / np.arange(len(x)).max()

    only(check(Wrong()), "future", "everything after event", "how many there are")


def test_a_reward_standardised_over_the_episode_is_found():
    class Wrong(Learner):
        def explanatory(self, episode, learning_rate):
            rewards = (episode.rewards - episode.rewards.mean()) / episode.rewards.std()
            return self.rows(pn.Episode(episode.chosen, rewards), learning_rate)

    found = check(Wrong())
    assert {problem.code for problem in found.problems} == {"future"}
    assert "do not centre, scale or sort" in found.problems[-1].message


def test_the_choice_among_offers_is_not_used_to_predict_itself():
    model, truth = offered.STATIC["hyperbolic"]
    rng = np.random.default_rng(1)
    decisions = pn.simulate(offered.delayed(), model, truth, rng=rng)

    class Wrong:
        weights = ("value", "taken")
        shape = model.shape

        def explanatory(self, decisions, rate):
            taken = decisions.chosen[:, None] == np.arange(2)
            value = decisions.offers["amount"] / (1 + rate * decisions.offers["delay"])
            return np.stack([value, taken.astype(float)], axis=-1)

    only(check(Wrong(), decisions), "future", "looks at the choice it predicts")


# -- numbers ---------------------------------------------------------------------------------------


def test_the_axis_of_the_weights_that_is_missing_is_found():
    class Wrong(Learner):
        def explanatory(self, episode, learning_rate):
            return self.rows(episode, learning_rate)[:, :, 0]

    only(check(Wrong()), "shape", "(60, n_options, 1); got (60, 4)", "return x[:, :, None]")


def test_rows_for_decisions_only_are_found():
    class Wrong(Learner):
        def explanatory(self, episode, learning_rate):
            return np.zeros((episode.n_decisions, 5, 1))

    only(check(Wrong(), played.random_episode(3, 5)), "shape", "Events that are not scored")


def test_options_counted_from_the_choices_are_found():
    class Wrong(Learner):
        def explanatory(self, episode, learning_rate):
            n = len(np.unique(episode.chosen))
            return np.ones((episode.n_events, n, 1)) * learning_rate

    few = pn.Episode([0, 1, 0, 1], [1.0, 0.0, 0.5, 0.3])
    only(check(Wrong(), [EPISODES[0], few]), "shape", "as many options", "got 4 and 2")
    gap = pn.Episode([0, 3, 0, 3], [1.0, 0.0, 0.5, 0.3], subject="bo")
    only(
        check(Wrong(), gap), "shape", "got 2 options, but option 3 was taken at event 1 of subject"
    )


@pytest.mark.parametrize(
    ("dtype", "word"),
    [(np.int64, "Fractions"), (np.float32, "Half the digits"), (object, "Convert them")],
)
def test_other_types_than_float64_are_found(dtype, word):
    class Wrong(Learner):
        def explanatory(self, episode, learning_rate):
            return self.rows(episode, learning_rate).astype(dtype)

    only(check(Wrong()), "dtype", f"got {np.dtype(dtype)}", word)


def test_a_timeout_that_makes_values_nan_is_found():
    with_gap = pn.Episode([0, None, 3, 1, 2], [1.0, None, 0.5, 0.2, 0.1], subject="bo")
    only(
        check(Learner(), with_gap),
        "not finite",
        "got nan for inverse_temperature of option 3 at event 2 of subject bo",
        "It follows event 1 of subject bo, which has no choice",
    )


def test_an_infinity_at_the_end_of_the_range_is_found():
    class Wrong(Learner):
        shape = (pn.models.Shape("learning_rate", 0.0, 1.0),)

        def __init__(self):
            self.n_options, self.unit = 4, 1.0

        def explanatory(self, episode, learning_rate):
            with np.errstate(divide="ignore", invalid="ignore"):
                return self.rows(episode, learning_rate) + np.arange(4)[:, None] / learning_rate

        def rows(self, episode, learning_rate):
            return np.zeros((episode.n_events, 4, 1))

    found = check(Wrong())
    assert found.problems[0].code == "not finite"
    assert "at learning_rate = 0" in found.problems[0].message


def test_what_a_model_raises_is_passed_on():
    class Wrong(Learner):
        def explanatory(self, episode, learning_rate):
            return self.rows(episode, learning_rate)[0, 0, 0]["a"]

    only(check(Wrong()), "explanatory", "got IndexError at learning_rate =", "Call it by itself")
    only(check(pn.QLearning(3)), "explanatory", "refused event 0", "chosen must lie in 0..2")


# -- state -----------------------------------------------------------------------------------------


def test_values_that_are_not_started_afresh_are_found():
    class Wrong(Learner):
        def __init__(self):
            super().__init__()
            self.values = np.zeros(4)

        def explanatory(self, episode, learning_rate):
            x = np.empty((episode.n_events, 4, 1))
            for t, (option, reward) in enumerate(zip(episode.chosen, episode.rewards, strict=True)):
                x[t, :, 0] = self.values
                self.values[option] += learning_rate * (reward - self.values[option])
            return x

    only(check(Wrong()), "state", "other numbers when called again", "keep nothing in self")


def test_an_array_that_is_used_again_is_found():
    class Wrong(Learner):
        def __init__(self):
            super().__init__()
            self.x = np.empty((60, 4, 1))

        def explanatory(self, episode, learning_rate):
            self.x[:] = self.rows(episode, learning_rate)
            return self.x

    only(check(Wrong(), EPISODES[0]), "state", "wrote over")


def test_random_numbers_are_found():
    rng = np.random.default_rng(0)

    class Wrong(Learner):
        def explanatory(self, episode, learning_rate):
            return self.rows(episode, learning_rate) + 0.01 * rng.random((episode.n_events, 4, 1))

    only(check(Wrong()), "state", "draw no random numbers")


def test_writing_into_the_episode_is_found():
    class Wrong(Learner):
        def explanatory(self, episode, learning_rate):
            episode.rewards[:] = 0.0
            return self.rows(episode, learning_rate)

    only(check(Wrong()), "state", "which are locked")

    class Sly(Learner):
        def explanatory(self, episode, learning_rate):
            rewards = episode.rewards.copy()
            rewards += 1.0
            object.__setattr__(episode, "rewards", rewards)
            return self.rows(episode, learning_rate)

    only(check(Sly(), played.q_episode(3, 20)), "state", "other numbers in it after a call")


# -- declarations ----------------------------------------------------------------------------------

RATE = pn.models.Shape("learning_rate", 0.001, 1.0)
TEMPERATURE = Parameter.reciprocal("temperature", "inverse_temperature")


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"weights": "beta"}, "got the text 'beta'. Write ('beta',)"),
        ({"weights": ()}, "weights must be a tuple of names; got ()"),
        ({"weights": (1,)}, "weights must be names; got (1,)"),
        ({"weights": ("a", "a")}, "weights must have different names"),
        ({"shape": RATE}, "got the Shape learning_rate itself"),
        ({"shape": ("learning_rate",)}, "shape must be a tuple of Shape"),
        ({"shape": (RATE, RATE)}, "got 'learning_rate' twice"),
        ({"weights": ("learning_rate",)}, "got 'learning_rate' twice"),
        (
            {"shape": (RATE, pn.models.Shape("decay", 0.0, 1.0))},
            "explanatory must take an episode and the 2",
        ),
        ({"shape": ()}, "Write explanatory(self, episode)."),
        ({"explanatory": 3}, "explanatory must be a method"),
        ({"positive": ("inverse_temprature",)}, "Did you mean 'inverse_temperature'?"),
        ({"positive": "inverse_temperature"}, "positive must be a tuple of names"),
        ({"parameters": (Parameter.reciprocal("tau", "beta"),)}, "got 'tau', which is not"),
        ({"parameters": (TEMPERATURE,)}, "got none that tells learning_rate"),
        ({"parameters": (TEMPERATURE, "rate")}, "must be a tuple of Parameter or Shape"),
        (
            {"parameters": (TEMPERATURE, Parameter("temperature", shape="learning_rate"))},
            "parameters must have different names",
        ),
    ],
)
def test_declarations_that_do_not_fit_together_are_found(declared, words):
    class Wrong:
        weights = ("inverse_temperature",)
        shape = (RATE,)

        def explanatory(self, episode, learning_rate):
            return Learner().rows(episode, learning_rate)

    for name, value in declared.items():
        setattr(Wrong, name, value)
    found = check(Wrong())
    assert found.problems[0].code == "declaration"
    assert any(words in problem.message for problem in found.problems), found.summary()


# -- ways to say the same --------------------------------------------------------------------------


def test_slopes_that_are_not_the_derivative_are_found():
    class Wrong(Learner):
        def explanatory_and_slopes(self, episode, learning_rate):
            x, slopes = pn.QLearning(4).explanatory_and_slopes(episode, learning_rate)
            return x, self.factor * slopes

    right, wrong = Wrong(), Wrong()
    right.factor, wrong.factor = 1.0, 1.001
    assert check(right).ok
    assert "slopes" in check(right).passed
    only(check(wrong), "slopes", "where differences give", "it is not needed")


def test_slopes_of_a_wrong_shape_and_other_variables_are_found():
    class Flat(Learner):
        def explanatory_and_slopes(self, episode, learning_rate):
            x, slopes = pn.QLearning(4).explanatory_and_slopes(episode, learning_rate)
            return x, slopes[0]

    only(check(Flat()), "slopes", "(1, 60, 4, 1), shape parameters first; got (60, 4, 1)")

    class Other(Learner):
        def explanatory_and_slopes(self, episode, learning_rate):
            x, slopes = pn.QLearning(4).explanatory_and_slopes(episode, learning_rate)
            return 2 * x, 2 * slopes

    only(check(Other()), "slopes", "the variables of explanatory first")


def test_many_at_once_that_forget_to_begin_afresh_are_found():
    class Wrong(Learner):
        def explanatory_many(self, record, which, psi, with_slopes):
            rows = [self.rows(record.episodes[e], *psi[0]) for e in which]
            return np.concatenate(rows), None

    only(check(Wrong()), "many", "pair after pair")


def test_weights_in_which_the_objective_bends_are_found():
    class Wrong(Learner):
        """One over the temperature is linear; the temperature is not."""

        weights = ("temperature",)

        def objective(self, episode, theta, psi):
            return self.rows(episode, *psi)[:, :, 0] / theta[0]

    only(check(Wrong()), "objective", "one that bends in temperature", "Declare it as a shape")


def test_variables_that_are_not_the_objective_are_found():
    def objective(episode, theta, psi):
        return 2 * Learner().rows(episode, *psi)[:, :, 0] * theta[0] + 7.0

    only(check(Learner(), objective=objective), "objective", "up to a constant in each decision")

    def right(episode, theta, psi):
        q = Learner().rows(episode, *psi)[:, :, 0] * theta[0]
        return q + np.arange(len(q))[:, None]

    found = check(Learner(), objective=right)
    assert found.ok
    assert "the objective, linear in the weights" in found.passed


def test_agents_that_choose_by_other_probabilities_are_found():
    class Player:
        def __init__(self, weight, rate):
            self.values, self.weight, self.rate = np.zeros((1, 4)), weight, rate

        def probabilities(self):
            e = np.exp(self.weight * self.values)
            return e / e.sum()

        def observe(self, chosen, rewards):
            self.values[0, chosen] += self.rate * (rewards - self.values[0, chosen])

    class Played(Learner):
        slower = 1.0

        def agents(self, parameters, n_agents):
            rate = self.slower * parameters["learning_rate"]
            return Player(parameters["inverse_temperature"], rate)

    right, wrong = Played(), Played()
    wrong.slower = 0.9
    assert "agents" in check(right).passed
    only(check(wrong), "agents", "probabilities of a fit", "Correct one of them")

    class Broken(Learner):
        def agents(self, parameters, n_agents):
            return Player(parameters["temperature"], parameters["learning_rate"])

    only(check(Broken()), "agents", "got KeyError: 'temperature'")


# -- parameters that are not identifiable ----------------------------------------------------------


def test_variables_that_are_combinations_of_each_other_are_found():
    class Wrong(Learner):
        weights = ("value", "surprise", "double")

        def explanatory(self, episode, learning_rate):
            x = self.rows(episode, learning_rate)
            last = np.roll(x, 1, axis=0) * (np.arange(len(x)) > 0)[:, None, None]
            return np.concatenate([x, last, 2 * x - 3 * last], axis=2)

    only(check(Wrong()), "not identifiable", "value, surprise, double", "combination of each other")


def test_a_variable_that_is_the_same_for_all_options_is_found():
    class Wrong(Learner):
        weights = ("value", "time")

        def explanatory(self, episode, learning_rate):
            x = self.rows(episode, learning_rate)
            time = np.broadcast_to(np.arange(len(x))[:, None, None], x.shape)
            return np.concatenate([x, time], axis=2)

    only(check(Wrong()), "not identifiable", "time must change", "same for all options")


def test_a_shape_parameter_without_effect_is_found():
    class Wrong(Learner):
        def __init__(self):
            super().__init__()
            self.shape = (*self.shape, pn.models.Shape("decay", 0.0, 1.0))

        def explanatory(self, episode, learning_rate, decay):
            return self.rows(episode, learning_rate)

    only(check(Wrong()), "not identifiable", "decay must change", "do not change with it")


def test_a_shape_parameter_that_a_weight_undoes_is_found():
    class Wrong(Learner):
        weights = ("inverse_temperature", "stickiness")

        def __init__(self):
            super().__init__()
            self.shape = (pn.models.Shape("sensitivity", 0.1, 10.0, scale="log"),)

        def explanatory(self, episode, sensitivity):
            x = self.rows(episode, 0.3)
            last = np.zeros_like(x)
            last[np.arange(1, len(x)), episode.chosen[:-1]] = 1.0
            return np.concatenate([sensitivity * x, last], axis=2)

    only(
        check(Wrong()),
        "not identifiable",
        "inverse_temperature, sensitivity must each change",
        "undone by the others",
    )


# -- the report ------------------------------------------------------------------------------------


def test_the_summary_lists_every_problem():
    class Wrong(Learner):
        weights = ("value", "taken")

        def explanatory(self, episode, learning_rate):
            x = self.rows(episode, learning_rate)
            return np.concatenate([x, x], axis=2)

        def explanatory_and_slopes(self, episode, learning_rate):
            x = self.explanatory(episode, learning_rate)
            return x, np.ones((1, *x.shape))

    found = check(Wrong())
    text = found.summary()
    assert text.startswith("Wrong: 2 problems.\n1. slopes: ")
    assert "\n2. not identifiable: value, taken" in text
    assert text.endswith(
        "Right: declarations, shape and type of the variables, the same at every "
        "call, no look at the\n   future."
    )
    assert str(found) == text
    assert max(map(len, text.splitlines())) <= 96
    assert repr(found) == "<ModelCheck of Wrong: slopes, not identifiable>"


def test_the_same_seed_says_the_same():
    assert check(Learner()).summary() == check(Learner()).summary()


@pytest.mark.parametrize("data", [[], 3, "episode", [1, 2]])
def test_other_data_are_refused(data):
    with pytest.raises(pn.errors.DataError, match="data must be Episode or Offers"):
        check(Learner(), data)


def test_data_without_a_decision_are_refused():
    with pytest.raises(pn.errors.DataError, match="at least one decision that is scored"):
        check(Learner(), pn.Episode([0, 1], [1.0, 2.0], scored=[False, False]))

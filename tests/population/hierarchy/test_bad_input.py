"""Data and arguments that cannot be used: one sentence each."""

import numpy as np
import pytest

import penchant as pn
from peopled import MODEL, mixed_choices, q_learners


@pytest.fixture(scope="module")
def episodes():
    return q_learners(6, 40, np.random.default_rng(1))[1]


@pytest.fixture
def table(episodes):
    return {
        "subject": [e.subject for e in episodes],
        "group": ["a", "a", "a", "b", "b", "b"],
        "age": [20.0, 30.0, 25.0, 41.0, 52.0, 33.0],
    }


def test_fewer_than_five_people_are_refused(episodes):
    with pytest.raises(pn.errors.DataError, match="at least 5 subjects for a population; got 4"):
        pn.fit_population(episodes[:4], MODEL)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"age": [30.0] * 6}, "age must differ between subjects; got 30.0 for all"),
        ({"age": [20, None, 3, 4, 5, 6]}, "age must be known for every subject; got none for s1"),
        ({"group": ["a"] * 5 + ["b"]}, "group must have at least two subjects of every level; got"),
        ({"subject": ["s0", "s1", "s2", "s3", "s4", "x"]}, "people must have a row for every"),
        ({"subject": ["s0", "s1", "s2", "s3", "s4", "s4"]}, "people must have one row per subject"),
    ],
)
def test_tables_of_people_that_do_not_fit_are_refused(episodes, table, change, words):
    covariates = [name for name in ("group", "age") if name in change] or ["age"]
    with pytest.raises(pn.errors.DataError, match=words):
        pn.fit_population(episodes, MODEL, covariates=covariates, people=dict(table, **change))


def test_people_without_decisions_are_refused(episodes, table):
    more = {name: [*values, values[0]] for name, values in table.items()}
    more["subject"][-1] = "nobody"
    with pytest.raises(pn.errors.DataError, match="only subjects with decisions; got nobody"):
        pn.fit_population(episodes, MODEL, covariates=["age"], people=more)


def test_columns_that_tell_each_other_are_refused(episodes, table):
    with pytest.raises(
        pn.errors.DataError, match="must not tell each other; got learning_rate:age, le"
    ):
        pn.fit_population(
            episodes,
            MODEL,
            covariates=["age", "twice"],
            people=dict(table, twice=[2 * a for a in table["age"]]),
        )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"covariates": ["agee"]},
            "covariates must name columns of people; got 'agee'(?s:.*)'age'",
        ),
        ({"formula": {"learning_rat": "~ age"}}, "formula must name parameters; got 'learning_rat"),
        ({"formula": {"learning_rate": "~ nothing"}}, "formula must name columns of people; got"),
        ({"formula": {"learning_rate": "~ age +* 2"}}, "must be one like '~ group \\* age'; got"),
        ({"formula": {"learning_rate": "~ 0 + age"}}, "must keep the mean of an average person"),
        ({"formula": {"learning_rate": "y ~ age"}}, "must begin with '~'; got 'y ~ age'"),
        ({"formula": "~ age"}, "formula must be a dictionary from parameters"),
        ({"covariates": ["age"], "formula": {}, "people": None}, "people must be given with cov"),
        ({"random": ["alpha"]}, "random must name parameters; got 'alpha', but they are"),
        ({"spread": "wide"}, "spread must be 'full', 'diagonal' or 'by group'; got 'wide'"),
        ({"spread": "by sex"}, "spread must be by a factor among the covariates; got 'by sex'"),
        ({"estimator": "map"}, "estimator must be 'ml' or 'reml'; got 'map'"),
        ({"nodes": 2}, "nodes must be a whole number from 3 to 99; got 2"),
        ({"covariance": "hc3"}, "covariance must be 'model' or 'robust'; got 'hc3'"),
        ({"links": {"temperature": "identity"}}, "links\\['temperature'\\] must be 'log'"),
        ({"links": {"alpha": "log"}}, "links must name parameters; got 'alpha'"),
        ({"links": {"temperature": "weight"}}, "must be 'weight' for a ratio of weights alone"),
        ({"links": "weight"}, "links must be 'weights' or a link by parameter; got 'weight'"),
        ({"links": {"temperature": "probit"}}, "must be one of identity, log, negative log, logit"),
        ({"within": "drug"}, "within must be known of every episode; got 'drug', but an episode"),
        ({"within": {"drug": [1, 2]}}, "within must have a label per episode \\(6\\); got 2"),
        ({"within": {"drug": list("aabbaa")}}, "conditions that subjects have in common; got one"),
        ({"within": {"drug": ["a"] * 6}}, "tell 2 to 6 conditions apart; got 1"),
        ({"varying": ["temperature"]}, "varying must come with within; got it alone"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(episodes, table, arguments, words):
    with pytest.raises(pn.errors.DataError, match=words):
        pn.fit_population(episodes, MODEL, **{"people": table, **arguments})


def test_episodes_need_a_model_and_subjects(episodes):
    with pytest.raises(pn.errors.DataError, match="model must be given with episodes; got none"):
        pn.fit_population(episodes)
    nameless = [pn.Episode(e.chosen, e.rewards) for e in episodes]
    with pytest.raises(
        pn.errors.DataError, match="data must say who decided; got an episode without"
    ):
        pn.fit_population(nameless, MODEL)
    silent = pn.Episode(episodes[0].chosen, episodes[0].rewards, scored=[False] * 40, subject="z")
    with pytest.raises(pn.errors.DataError, match="a decision of every subject; got none of z"):
        pn.fit_population([*episodes, silent], MODEL)


def test_choices_need_subjects_and_no_model():
    _, choices = mixed_choices(6, 4, np.random.default_rng(2))
    with pytest.raises(pn.errors.DataError, match="model must be left out with Choices; got one"):
        pn.fit_population(choices, MODEL)
    alone = pn.Choices.from_arrays(np.ones((3, 2, 1)), [0, 1, 0])
    with pytest.raises(
        pn.errors.DataError, match=r"subject must be given for a population.* got Choices without"
    ):
        pn.fit_population(alone)
    with pytest.raises(pn.errors.DataError, match="within must be left out with Choices"):
        pn.fit_population(choices, within="drug")


def test_contrasts_of_nothing_are_refused(episodes, table):
    found = pn.fit_population(episodes, MODEL, covariates=["group"], people=table)
    with pytest.raises(
        pn.errors.DataError, match="factor must be one among the covariates; got 'grop'"
    ):
        found.contrast("grop", "b - a")
    with pytest.raises(pn.errors.DataError, match="two levels with ' - ' between them; got 'b'"):
        found.contrast("group", "b")
    with pytest.raises(pn.errors.DataError, match="group must be one of a, b; got 'c'"):
        found.contrast("group", "c - a")
    with pytest.raises(
        pn.errors.DataError, match="sex must be a covariate of the population; got 'sex'"
    ):
        found.prior_for(sex="m")
    with pytest.raises(
        pn.errors.DataError, match="subject must be one of those fitted; got 'nobody'"
    ):
        found.subjects["nobody"]


def test_priors_that_are_none_are_refused(tmp_path):
    with pytest.raises(pn.errors.DataError, match="covariance must be positive definite; got a"):
        pn.PopulationPrior(("a", "b"), [0, 0], [[1, 1], [1, 1]], ("log", "log"))
    with pytest.raises(pn.errors.DataError, match="must be of 2 parameters; got shapes"):
        pn.PopulationPrior(("a", "b"), [0], [[1]], ("log",))
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(
        pn.errors.DataError, match="must be a penchant-population-prior file; got no"
    ):
        pn.PopulationPrior.read(tmp_path / "x.json")

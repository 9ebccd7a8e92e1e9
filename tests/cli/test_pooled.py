"""One estimate for several people says so, and predictions name their prior."""

import json

import pytest

import penchant as pn
from cli.plays import HEADER, Q, played
from cli.trips import HEADER as TRIPS
from cli.trips import csv, simulated


@pytest.fixture
def play(folder):
    (folder / "play.csv").write_text(csv(played(n=9), HEADER))
    return "play.csv"


def menu(subject="subject"):
    return pn.Choices.from_frame(
        pn.datasets.load("menu"),
        decision=["subject", "decision"] if subject is None else "decision",
        option="option",
        chosen="chosen",
        explanatory=["price", "quality"],
        subject=subject,
    )


def test_choices_of_several_people_fitted_as_one_say_so():
    estimate = pn.fit(menu())
    assert estimate.n_subjects == 20
    said = "20 subjects pooled as one, with the same parameters; each can be fitted alone."
    assert said in estimate.summary()
    assert estimate.to_dict()["n_subjects"] == 20
    assert pn.Estimate.from_dict(estimate.to_dict()).n_subjects == 20


def test_choices_of_one_person_or_of_nobody_in_particular_say_nothing():
    for estimate in (pn.fit(menu(None)), pn.fit_each(menu())[0]):
        assert estimate.n_subjects == 1
        assert "pooled" not in estimate.summary()


def episodes(subjects):
    return [
        pn.Episode([0, 1, 1, 2, 0, 1, 0], [0.3, 1.2, 0.9, -0.4, 0.1, 1.1, 0.2], subject=who)
        for who in subjects
    ]


def test_play_of_several_people_fitted_as_one_says_so():
    model = pn.QLearning(n_options=3, learning_rate=0.4)
    estimate = pn.fit(episodes(["ann", "ann", "bob", "NA"]), model)
    assert estimate.n_subjects == estimate.to_dict()["n_subjects"] == 3
    assert any("3 subjects pooled as one" in note for note in estimate.to_dict()["notes"])
    assert "3 subjects pooled as one, with the same parameters" in estimate.summary()
    alone = pn.fit(episodes(["ann", "ann"]), model)
    assert alone.n_subjects == 1 and "pooled" not in alone.summary()
    assert "pooled" not in pn.fit(episodes([None, None]), model).summary()


@pytest.mark.filterwarnings("ignore::penchant.errors.PenchantWarning")
def test_the_papers_estimator_says_it_too():
    model = pn.UCL(locations=pn.grid(3, 1), noise_variance=0.5, length_scale=1.0)
    found = pn.fit_linearized(
        episodes(["ann", "bob"]), model, nominal=pn.RewardPrior(mean=0.5, variance=1.0)
    )
    assert found.n_subjects == 2
    assert "2 subjects pooled as one" in found.summary()
    assert "each can be fitted alone" in found.summary()


def test_the_command_line_says_who_is_pooled_in_its_own_words(penchant, folder, play):
    shown = penchant("fit", play, *Q, "--pool")
    words = " ".join(shown.out.split())
    assert "2 subjects pooled as one, with the same parameters; each can be fitted alone" in words
    assert "fit_each" not in words
    assert json.loads(penchant("fit", play, *Q, "--pool", "--json").out)["n_subjects"] == 2
    people = [[f"s{k}", *row] for k in range(3) for row in simulated(20, seed=k)]
    (folder / "people.csv").write_text(csv(people, ["subject", *TRIPS]))
    options = ["people.csv", "--subject", "subject", "--covariance", "clustered"]
    assert "3 subjects pooled as one" in penchant("fit", *options).out
    assert "pooled" not in penchant("fit", "people.csv", "--subject", "subject").out


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ((), "MAP, weak (scaled, c = 1) prior"),
        (("--prior", "weak:2"), "MAP, weak (scaled, c = 2) prior"),
        (("--prior", "none"), "maximum likelihood"),
    ],
)
def test_predictions_name_the_prior_of_their_estimates(penchant, play, options, how):
    shown = penchant("predict", play, *Q, *options, "--json")
    assert f"Estimates: {how}" in shown.err
    assert {row["prior"] for row in json.loads(shown.out)} == {how}
    assert ("--prior none for maximum likelihood" in shown.err) == (options != ("--prior", "none"))

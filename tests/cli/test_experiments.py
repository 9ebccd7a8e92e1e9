"""Choice experiments given to `fit`, `compare` and `predict`: as first class as play is."""

import json
import re

import numpy as np
import pytest

import penchant as pn
from cli.trips import csv
from laboratory_files import shoppers, survey
from penchant.reading.formula_sets import attribute_sets


def table_of(rows):
    return csv([list(row.values()) for row in rows], list(rows[0]))


@pytest.fixture
def surveyed(folder, monkeypatch):
    """A table with attributes in words, wide columns and an option to take neither."""
    rows = survey(shoppers(n_people=6, n_decisions=16))
    (folder / "survey.csv").write_text(table_of(rows), encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder / "survey.csv"


@pytest.fixture
def long(folder, monkeypatch):
    """The data that come with the library, one row per option, their decisions in disorder."""
    table = pn.datasets.load("menu")
    rows = table.to_pylist()
    np.random.default_rng(3).shuffle(rows)
    (folder / "menu.csv").write_text(table_of(rows), encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder / "menu.csv"


def with_formula(formula):
    """The choices of the survey with the variables of a formula."""
    choices, sets = attribute_sets(pn.read("survey.csv"), {"own": formula})
    return choices.select(sets["own"])


def test_sets_of_attributes_are_compared_as_python_does(penchant, surveyed):
    sets = ("price + time", "price * C(brand)", "1")
    typed = [word for one in sets for word in ("--attributes", one)]
    ended = penchant("compare", "survey.csv", *typed, "--folds", "4", "--nested", "3,2", "--json")
    assert ended.code == 0, ended.err
    said = json.loads(ended.out)
    names = ["price + time", "price * C(brand)", "constants only"]
    assert [one["name"] for one in said["models"]] == names
    found = pn.compare_models(
        dict(zip(names, sets, strict=True)), pn.read("survey.csv"), folds=4, pool=True
    )
    for k, one in enumerate(said["models"]):
        assert one["bic"] == pytest.approx(found.bic[0, k])
        assert one["held_out_log_likelihood"] == pytest.approx(found.held_out_log_likelihood[0, k])
        wanted = pn.fit(with_formula(sets[k])).log_likelihood
        assert one["log_likelihood"] == pytest.approx(wanted)
    assert said["likelihood_ratios"][0]["df"] == 2
    assert "--subject subject for one each" in ended.err


def test_without_sets_all_attributes_are_compared_with_constants_alone(penchant, surveyed):
    both = json.loads(penchant("compare", "survey.csv", "--json").out)["models"]
    assert [one["name"] for one in both] == ["all attributes", "constants only"]
    assert [one["n_parameters"] for one in both] == [4, 2]
    one = json.loads(penchant("compare", "survey.csv", "--attributes", "price", "--json").out)
    assert [model["name"] for model in one["models"]] == ["price", "constants only"]
    each = json.loads(penchant("compare", "survey.csv", "--subject", "subject", "--json").out)
    assert len(each["subjects"]) == 6 and each["models"][0]["frequency"] is not None


def test_people_are_held_out_one_after_another(penchant, surveyed):
    ended = penchant(
        "compare", "survey.csv", "--folds", "subject", "--decisions", "held.csv", "--json"
    )
    assert ended.code == 0, ended.err
    assert "subjects that the fit did not see" in " ".join(json.loads(ended.out)["notes"])
    reading = pn.read("survey.csv")
    whose = np.array(reading.data.subject_labels)[reading.data.subject]
    rest = reading.data.subset(whose != "p03")
    fitted = pn.fit(rest, parameter_prior=pn.ScaledPrior())
    wanted = fitted.log_likelihoods(reading.data.subset(whose == "p03"))
    lines = (surveyed.parent / "held.csv").read_text().splitlines()
    place = lines[0].split(",").index('"all attributes"' if '"' in lines[0] else "all attributes")
    own = [line.split(",") for line in lines[1:]]
    found = [float(cells[place]) for cells in own if cells[3].strip('"') == "p03"]
    assert np.allclose(sorted(found), sorted(wanted))


def test_groups_are_compared_in_what_attributes_are_worth_to_them(penchant, surveyed):
    asked = ("compare", "survey.csv", "--attributes", "price + time", "--group", "group")
    ended = penchant(*asked, "--price", "price", "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)["groups"]
    assert {one["name"] for one in found["differences"]} >= {"price_sensitivity", "time_worth"}
    assert [one["group"] for one in found["groups"]] == ["old", "young"]
    words = penchant(*asked)
    assert "Differences between groups" in words.out and "  time " in words.out


def test_a_fit_says_what_attributes_are_worth(penchant, surveyed):
    ended = penchant("fit", "survey.csv", "--price", "price", "--json")
    assert ended.code == 0, ended.err
    found = {one["name"]: one["estimate"] for one in json.loads(ended.out)["parameters"]}
    plain = json.loads(penchant("fit", "survey.csv", "--json").out)["parameters"]
    weights = {one["name"]: one["estimate"] for one in plain}
    assert found["time_worth"] == pytest.approx(-weights["time"] / weights["price"], rel=1e-5)
    each = penchant("fit", "survey.csv", "--price", "price", "--subject", "subject", "--json")
    assert len(json.loads(each.out)) == 6
    unsure = [
        one["subject"]
        for one in json.loads(each.out)
        for p in one["parameters"]
        if p["name"] == "price_sensitivity" and not p["low"] > 0 and not p["high"] < 0
    ]
    said = f"The sensitivity to price of {len(unsure)} subject"
    assert (said in each.err) is bool(unsure) and all(who in each.err for who in unsure)


def test_worth_has_robust_and_clustered_errors_and_the_name_of_its_interval(
    penchant, surveyed, refused
):
    asked = ("fit", "survey.csv", "--price", "price")
    clustered = ("--covariance", "clustered", "--subject", "subject")
    errors = {}
    for kind in ((), ("--covariance", "robust"), clustered):
        found = json.loads(penchant(*asked, *kind, "--json").out)["parameters"]
        errors[kind] = {one["name"]: one["standard_error"] for one in found}
    plain = json.loads(penchant("fit", "survey.csv", *clustered, "--json").out)["parameters"]
    weights = {one["name"]: one for one in plain}
    assert errors[clustered]["price_sensitivity"] == pytest.approx(
        weights["price"]["standard_error"], rel=1e-5
    )
    assert len({kind["time_worth"] for kind in errors.values()}) == 3
    words = penchant(*asked).out.replace("\n", " ")
    assert "Intervals: Wald, from standard errors, of ratios Fieller's" in words
    said = refused(*asked, "--subject", "subject", "--covariance", "robust")
    assert "--covariance must be model or clustered with --price and --subject" in said


def test_choices_are_predicted_row_by_row(penchant, surveyed, refused):
    ended = penchant("predict", "survey.csv", "--all-options", "--json")
    assert ended.code == 0, ended.err
    rows = json.loads(ended.out)
    assert len(rows) == 96 and rows[0]["A_price"].startswith("€")
    p = pn.fit(pn.read("survey.csv"), parameter_prior=pn.ScaledPrior()).predict()
    labels = ("A", "B", "neither")
    assert np.allclose([[row[f"probability_{o}"] for o in labels] for row in rows], p)
    picked = [row[f"probability_{row['choice']}"] for row in rows]
    assert np.allclose([row["probability"] for row in rows], picked)
    each = penchant("predict", "survey.csv", "--subject", "subject", "--attributes", "price")
    assert each.code == 0 and "Model: attributes price, constant:neither" in each.err
    assert "--check must be left out with a choice" in refused(
        "predict", "survey.csv", "--check", "9", "--seed", "1"
    )


def test_a_long_table_has_the_probability_of_every_rows_own_option(penchant, long):
    rows = json.loads(penchant("predict", "menu.csv", "--subject", "subject", "--json").out)
    assert len(rows) == 2400
    sums, picked = {}, []
    for row in rows:
        key = row["subject"], row["decision"]
        sums[key] = sums.get(key, 0.0) + row["probability"]
        picked += [row["probability"]] if row["chosen"] == 1 else []
    assert np.allclose(list(sums.values()), 1.0)
    estimates = pn.fit_each(pn.read("menu.csv"), parameter_prior=pn.ScaledPrior())
    wanted = np.exp(np.concatenate([one.log_likelihoods() for one in estimates]))
    assert np.allclose(sorted(picked), sorted(wanted))
    assert "2 models of all subjects together" in penchant("compare", "menu.csv").out


def test_a_model_for_a_choice_experiment_is_refused_with_what_to_type(refused, surveyed):
    for command in (("compare", "--model", "hyperbolic", "--model", "random"), ("predict",)):
        models = command[1:] or ("--model", "q-learning")
        said = refused(command[0], "survey.csv", *models)
        assert "--model must be left out as survey.csv is a choice experiment" in said
        assert "--attributes 'price + time'" in said


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--attributes", "price", "--attributes", "price"), "must name each set once; got 'p"),
        (("--attributes", "prize"), "got 'prize', but they are"),
        (("--folds", "block"), "--folds must be a number, subject, or a column"),
        (("--price", "price"), "--price must be left out without --group"),
        (("--covariates", "age"), "--covariates must be left out without --group"),
        (("--nested", "1,3"), "--nested must name models by their place, 1 to 2"),
        (("--group", "grup"), "got 'grup', but they are .* Did you mean 'group'"),
    ],
)
def test_wrong_sets_are_refused_in_one_sentence(refused, surveyed, typed, said):
    assert re.search(said, refused("compare", "survey.csv", *typed))


def test_groups_of_play_are_compared_under_the_best_model(penchant, folder):
    rng = np.random.default_rng(2)
    rows = [
        [f"s{k}", "ab"[k % 2], 20 + k % 4, t, int(rng.integers(0, 2)), int(rng.integers(0, 2))]
        for k in range(8)
        for t in range(30)
    ]
    text = csv(rows, ["subject", "arm", "age", "trial", "chosen", "reward"])
    (folder / "play.csv").write_text(text)
    asked = ("compare", str(folder / "play.csv"), "--model", "random", "--model", "q-learning")
    found = json.loads(penchant(*asked, "--group", "arm", "--json").out)
    assert [one["group"] for one in found["groups"]["groups"]] == ["a", "b"]
    names = {one["name"] for one in found["groups"]["differences"]}
    assert names == ({"bias_0"} if found["best"] == "random" else {"temperature", "learning_rate"})
    same = json.loads(penchant(*asked, "--group", "arm", "--covariates", "age", "--json").out)
    assert same["groups"]["covariates"] == ["age"]
    first, adjusted = found["groups"]["differences"][0], same["groups"]["differences"][0]
    assert adjusted["standard_error"] != first["standard_error"]


@pytest.fixture
def cued(folder):
    """Two groups at four cues, of whom the second is led by what the cues promise."""
    rng = np.random.default_rng(8)
    model = pn.models.GoNoGo()
    truth = {"sensitivity": 4.0, "bias": 0.2, "learning_rate": 0.2}
    rows = []
    for k in range(10):
        led = truth | {"pavlovian": 0.2 if k % 2 else 1.5}
        episode = pn.simulate(pn.Task(pn.models.GoNoGoWorld(120)), model, led, rng=rng)
        cues = episode.before["cue"]
        rows += [
            [f"s{k}", "ab"[k % 2], int(cue) + 1, int(taken), reward]
            for cue, taken, reward in zip(cues, episode.chosen, episode.rewards, strict=True)
        ]
    header = ["subjID", "dx", "cue", "keyPressed", "outcome"]
    (folder / "cued.csv").write_text(csv(rows, header))
    return "cued.csv"


def test_groups_are_compared_under_one_model_or_that_of_the_task(penchant, cued, folder):
    asked = ("compare", cued, "--group", "dx", "--json")
    alone = json.loads(penchant(*asked, "--model", "go-no-go", "--figure", "groups.png").out)
    assert alone == json.loads(penchant(*asked, "--task", "go-no-go").out)
    reading = pn.read(folder / cued)
    weak = pn.ScaledPrior()
    estimates = pn.fit_each(reading, pn.models.GoNoGo(), parameter_prior=weak)
    library = pn.compare_groups(estimates, by="dx")
    assert alone == json.loads(json.dumps(library.document()))
    assert library.of("pavlovian")[0].adjusted_p_value < 0.05
    assert (folder / "groups.png").exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--folds", "3", "--group", "dx"), "--folds must be left out with one model"),
        (("--nested", "1,2", "--group", "dx"), "--nested must be left out with one model"),
        ((), "--model must be given twice or more; got go-no-go alone.*--group to compare groups"),
    ],
)
def test_one_model_ranks_nothing(refused, cued, typed, said):
    assert re.search(said, refused("compare", cued, "--model", "go-no-go", *typed))


def test_other_tables_are_told_what_is_wrong_with_them(refused, folder):
    (folder / "play.csv").write_text("subject,trial,chosen,reward\na,1,0,1\na,2,1,0\n")
    assert "--model must be given; got none" in refused("compare", "play.csv")
    assert "--model must be given; got none" in refused("predict", "play.csv")

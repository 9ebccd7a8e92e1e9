"""`penchant population`: everybody at once, from a table."""

import json

import numpy as np
import pytest

import penchant as pn
from peopled import MODEL, mixed_choices, q_learners


@pytest.fixture
def play(folder):
    """Two groups of players, and a table of who is who."""
    rng = np.random.default_rng(1)
    _, controls = q_learners(7, 30, rng, label="c")
    _, patients = q_learners(7, 30, rng, mean=(0.6, -1.2), label="p")
    episodes = controls + patients
    lines = ["subject,trial,choice,reward"]
    lines += [
        f"{e.subject},{t},{c},{r}"
        for e in episodes
        for t, (c, r) in enumerate(zip(e.chosen, e.rewards, strict=True))
    ]
    (folder / "play.csv").write_text("\n".join(lines) + "\n")
    who = ["subject,group"] + [f"{e.subject},{e.subject[0]}" for e in episodes]
    (folder / "people.csv").write_text("\n".join(who) + "\n")
    return episodes


def test_json_holds_what_the_library_finds(penchant, play):
    ended = penchant(
        "population", "play.csv", "--model", "q-learning", "--people", "people.csv",
        "--covariates", "group", "--spread", "diagonal", "--json",
    )  # fmt: skip
    assert ended.code == 0
    document = json.loads(ended.out)
    table = {"subject": [e.subject for e in play], "group": [e.subject[0] for e in play]}
    own = pn.fit_population(play, MODEL, covariates=["group"], people=table, spread="diagonal")
    assert document["names"] == list(own.names)
    np.testing.assert_allclose(document["coefficients"], own.coefficients, rtol=1e-6)
    assert document["status"] == own.status


def test_a_population_saved_is_a_prior_of_fit_and_predict(penchant, play, folder):
    ended = penchant(
        "population", "play.csv", "--model", "q-learning", "--spread", "diagonal",
        "--save-prior", "prior.json", "--subjects", "people_found.csv",
    )  # fmt: skip
    assert ended.code == 0
    assert "Typical person: learning_rate" in " ".join(ended.out.split())
    found = (folder / "people_found.csv").read_text().splitlines()
    assert found[0].startswith('"subject","n_decisions","learning_rate","learning_rate_low"')
    assert len(found) == 15
    again = penchant("fit", "play.csv", "--model", "q-learning", "--prior", "prior.json")
    assert again.code == 0
    assert "MAP, population (learning_rate, temperature) prior" in again.out
    said = penchant("predict", "play.csv", "--model", "q-learning", "--prior", "prior.json")
    assert said.code == 0


def test_choices_have_a_mixed_logit_on_the_command_line(penchant, folder):
    _, choices = mixed_choices(12, 6, np.random.default_rng(2))
    lines = ["who,old,decision,option,chosen,price,quality"]
    for k in range(choices.n_decisions):
        first = choices.first_row[k]
        for i in range(3):
            price, quality = choices.explanatory[first + i]
            taken = int(choices.chosen[k] == i)
            who = choices.subject[k]
            lines.append(f"{who},{'yn'[int(who) % 2]},{k},{i},{taken},{price},{quality}")
    (folder / "choices.csv").write_text("\n".join(lines) + "\n")
    ended = penchant(
        "population", "choices.csv", "--subject", "who", "--explanatory", "price,quality",
        "--random", "price", "--json",
    )  # fmt: skip
    assert ended.code == 0
    document = json.loads(ended.out)
    assert document["names"] == ["price", "quality"]
    assert document["spread"][1][1] == 0
    asked = ("population", "choices.csv", "--subject", "who", "--explanatory", "price")
    more = json.loads(penchant(*asked, "--random", "price", "--covariates", "old", "--json").out)
    assert more["names"] == ["price", "price:old[y]"]
    said = penchant(*asked, "--covariates", "decision").err
    assert "--covariates must be the same in all rows of a subject; got (" in said
    said = penchant(*asked, "--covariates", "olde").err
    assert "columns of choices.csv, or of --people; got 'olde'" in said
    (folder / "alone.csv").write_text("\n".join(line.partition(",")[2] for line in lines) + "\n")
    said = penchant("population", "alone.csv", "--explanatory", "price").err
    assert "--subject must be given for a population" in said
    said = penchant("fit", "choices.csv", "--explanatory", "price", "--prior", "no.json").err
    assert "--prior must be an existing file; got no.json" in said


def test_links_are_those_asked_for(penchant, play):
    command = "population", "play.csv", "--model", "q-learning", "--spread", "diagonal", "--json"
    usual = json.loads(penchant(*command).out)["links"]
    assert json.loads(penchant(*command, "--links", "learning_rate=0..1").out)["links"] == usual
    assert json.loads(penchant(*command, "--links", "weights").out)["links"] == usual


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--covariates", "group"), "column must be one of the table; got 'group'"),
        (("--formula", "group"), "--formula must be PARAMETER ~ COVARIATES; got 'group'"),
        (("--spread", "wide"), "spread must be 'full', 'diagonal' or 'by group'; got 'wide'"),
        (("--links", "log"), "--links must be NAME=LINK, or weights alone; got 'log'"),
        (("--links", "learning_rate=0..much"), "--links must have numbers about the dots"),
        (("--links", "temperature=weight"), "must be 'weight' for a ratio of weights alone"),
        (("--people", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_bad_usage_is_one_sentence_and_writes_nothing(penchant, play, folder, words, said):
    before = sorted(path.name for path in folder.iterdir())
    ended = penchant("population", "play.csv", "--model", "q-learning", *words, "-o", "out.json")
    assert ended.code == 2
    assert said in ended.error
    assert sorted(path.name for path in folder.iterdir()) == before


def test_conditions_are_read_from_a_column(penchant, folder):
    rng = np.random.default_rng(3)
    lines = ["subject,drug,trial,choice,reward"]
    _, one = q_learners(8, 25, rng)
    _, two = q_learners(8, 25, rng)
    for drug, episodes in (("no", one), ("yes", two)):
        lines += [
            f"{e.subject},{drug},{t},{c},{r}"
            for e in episodes
            for t, (c, r) in enumerate(zip(e.chosen, e.rewards, strict=True))
        ]
    (folder / "drug.csv").write_text("\n".join(lines) + "\n")
    ended = penchant(
        "population", "drug.csv", "--model", "q-learning", "--within", "drug", "--block", "drug",
        "--varying", "temperature", "--spread", "diagonal", "--json",
    )  # fmt: skip
    names = json.loads(ended.out)["names"]
    assert names == ["learning_rate", "temperature", "temperature:drug[yes]"]


def test_a_folder_holds_all_of_a_population_and_a_figure_is_drawn(penchant, play, folder):
    asked = ["population", "play.csv", "--model", "q-learning", "--spread", "diagonal"]
    ended = penchant(*asked, "-o", "results", "--figure", "people.svg")
    assert ended.code == 0 and "Written: " in ended.err
    names = {"coefficients.csv", "population.json", "population.pdf", "population.svg"}
    assert {path.name for path in (folder / "results").iterdir()} == names | {
        *("prior.json", "subjects.csv", "summary.txt")
    }
    drawn = (folder / "people.svg").read_text()
    assert "<!-- typical -->" in drawn and "<!-- learning rate -->" in drawn
    back = json.loads((folder / "results" / "population.json").read_text())
    assert pn.results.PopulationFit.from_dict(back).n_subjects == 14
    again = penchant("fit", "play.csv", "--model", "q-learning", "--prior", "results/prior.json")
    assert again.code == 0
    twice = penchant(*asked, "-o", "results")
    assert twice.code == 2 and "--output must not exist; got results" in twice.err
    wrong = penchant(*asked, "--figure", "people.docx")
    assert wrong.code == 2 and "--figure must end in .svg, .pdf, .png" in wrong.err
    odd = penchant("population", "play.csv", "--model", "q-learning", "--spread", "diag")
    assert odd.code == 2 and "--spread must be 'full', 'diagonal' or 'by group'" in odd.err


def test_differences_of_three_groups_have_the_p_values_of_a_study(penchant, folder):
    rng, lines = np.random.default_rng(5), ["subject,group,trial,choice,reward"]
    for group, mean in (("x", -1.5), ("y", 0.5), ("z", 1.0)):
        for e in q_learners(8, 40, rng, mean=(mean, -1.2), label=group)[1]:
            events = enumerate(zip(e.chosen, e.rewards, strict=True))
            lines += [f"{e.subject},{group},{t},{c},{r}" for t, (c, r) in events]
    (folder / "three.csv").write_text("\n".join(lines) + "\n")
    given = ["three.csv", "--model", "q-learning"]
    ended = penchant("population", *given, "--covariates", "group")
    found = [float(part.split()[0].rstrip(".")) for part in ended.out.split("adjusted p = ")[1:]]
    data = pn.read_study(folder / "three.csv", conditions=["group"])
    study = pn.study(data, MODEL, n_replicates=0, n_bootstrap=0, intervals="wald", threads=1)
    expected = [p for one in study.everybody.adjusted for p in one]
    assert len(found) == 6
    np.testing.assert_allclose(sorted(found), sorted(expected), rtol=0.05)

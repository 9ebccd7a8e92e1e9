"""Files as laboratories have them: check says what they are, and other commands take them."""

import json
import re
import shlex

import pytest

from laboratory_files import (
    as_csv,
    gorilla_offers,
    jspsych_offers,
    jspsych_play,
    lists_over_options,
    players,
    psych_ds,
    psychopy_play,
    qualtrics,
    savers,
    shoppers,
    survey,
)

PLAYERS, SAVERS, SHOPPERS = players(4, 30), savers(4, 30), shoppers(4, 16)
FILES = {
    "jspsych.json": lambda: json.dumps(jspsych_play(PLAYERS)),
    "psychopy.csv": lambda: as_csv(psychopy_play(PLAYERS), bom=True),
    "gorilla.csv": lambda: as_csv(gorilla_offers(SAVERS), bom=True),
    "lists.csv": lambda: as_csv(lists_over_options(SAVERS)),
    "survey.csv": lambda: as_csv(survey(SHOPPERS)),
    "qualtrics.csv": lambda: as_csv(qualtrics(SHOPPERS)),
}


# Which rows count, where a column tells practice or screens apart.
WHERE = {"jspsych.json": "phase == 'test'", "gorilla.csv": "display == 'trial'"}


@pytest.fixture
def lab(folder):
    for name, text in FILES.items():
        (folder / name).write_text(text(), encoding="utf-8")
    psych_ds(folder / "psych-ds", PLAYERS)
    return folder


@pytest.mark.parametrize(
    ("file", "said", "following"),
    [
        ("jspsych.json", "chosen = response; reward = reward; subject = subject_id", "q-learning"),
        ("psychopy.csv", "chosen = key_resp.keys; reward = reward; subject = part", "q-learning"),
        ("psych-ds", "chosen = choice; reward = reward; subject = subject", "q-learning"),
        ("gorilla.csv", "chosen = Response; subject = Participant Private ID", "hyperbolic"),
        ("lists.csv", "amount = amounts_0, amounts_1; delay = delays_0, delays_1", "hyperbolic"),
    ],
)
def test_check_says_what_a_file_is_and_what_to_run_next(penchant, lab, file, said, following):
    where = ["--where", WHERE[file]] if file in WHERE else []
    ended = penchant("check", file, *where)
    assert ended.code == 0, ended.err
    assert said in ended.err
    command = f'penchant fit {file} {where[0]} "{where[1]}"' if where else f"penchant fit {file}"
    command += f" --model {following}"
    assert f"Next: {command}\n" in ended.out
    fitted = penchant(*shlex.split(command)[1:], "--prior", "weak", "--json")
    assert fitted.code == 0, fitted.err
    assert len(json.loads(fitted.out)) == 4


@pytest.mark.parametrize(
    ("file", "who"), [("survey.csv", "subject"), ("qualtrics.csv", "ResponseId")]
)
def test_check_and_fit_take_a_choice_experiment(penchant, lab, file, who):
    ended = penchant("check", file)
    assert ended.code == 0, ended.err
    assert "price = A_price, B_price, 0; time = A_time, B_time, 0" in ended.err
    assert f"--subject {who} gives one estimate each" in ended.err
    fitted = penchant("fit", file, "--attributes", "price + C(brand)", "--json")
    names = [one["name"] for one in json.loads(fitted.out)["parameters"]]
    assert names[:2] == ["price", "brand:Zen"]
    assert names[2].lower() == "constant:neither"
    each = penchant("fit", file, "--subject", who, "--prior", "weak", "--json")
    assert len(json.loads(each.out)) == 4


def test_where_keeps_rows_and_is_in_the_next_command(penchant, lab):
    where = "phase == 'test' and trial_index < 40"
    ended = penchant("check", "jspsych.json", "--where", where)
    assert f"Note: 72 rows left out: not {where}." in ended.err
    assert f'Next: penchant fit jspsych.json --where "{where}" --model q-learning' in ended.out


def test_check_prints_what_was_taken_for_what_as_json(penchant, lab):
    where = WHERE["gorilla.csv"]
    found = json.loads(penchant("check", "gorilla.csv", "--where", where, "--json").out)
    assert found["kind"] == "offers"
    assert list(found["options"]) == ["Now", "Later"]
    assert found["columns"]["amount"] == "amount now, amount later"
    assert found["next"] == f'penchant fit gorilla.csv --where "{where}" --model hyperbolic'


def test_what_can_be_read_in_two_ways_is_asked_with_the_option_that_decides(refused, lab, penchant):
    (lab / "keys.csv").write_text(as_csv(jspsych_offers(SAVERS, answers=("f", "j"))))
    message = refused("check", "keys.csv")
    assert "Which codes are options, in their order?    --options f,j    --options j,f" in message
    assert penchant("check", "keys.csv", "--options", "j,f").code == 0
    (lab / "none.csv").write_text(as_csv(survey(SHOPPERS, words=("A", "B", "none"))))
    message = refused("fit", "none.csv")
    assert "none in choice may be an option, or a mark." in message
    assert penchant("fit", "none.csv", "--opt-out", "none").code == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace('"reward": 5.0', '"reward": "five"', 1), "'five' at row"),
        (lambda text: text[:-30], "must be a JSON file; got .* at line 1"),
        (lambda text: "[]", "must hold one object per row; got none"),
    ],
)
def test_bad_files_get_one_sentence_with_place_and_remedy(refused, lab, change, said):
    text = (lab / "jspsych.json").read_text()
    (lab / "bad.json").write_text(change(text))
    message = refused("fit", "bad.json", "--model", "q-learning", "--where", "")
    assert re.search(said, message), message


def test_a_wrong_condition_is_refused_with_the_values_there_are(refused, lab):
    message = refused("fit", "jspsych.json", "--model", "q-learning", "--where", "phase == 'tset'")
    assert "--where must leave at least one row" in message
    assert "'practice', 'test'" in message


STUDIES = {
    "survey.csv": ("--price", "price"),
    "gorilla.csv": ("--model", "hyperbolic"),
    "lists.csv": ("--model", "hyperbolic"),
    "jspsych.json": ("--model", "q-learning", "--replicates", "1"),
    "psychopy.csv": ("--model", "q-learning", "--replicates", "1"),
    "psych-ds": ("--model", "q-learning", "--replicates", "1"),
    "qualtrics.csv": ("--price", "price"),
}


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(STUDIES))
def test_groups_are_compared_and_drawn_in_one_command(penchant, lab, file):
    group = "Group" if file == "qualtrics.csv" else "group"
    where = ("--where", WHERE[file]) if file in WHERE else ()
    asked = ("study", file, *where, "--condition", group, "--prior", "weak", *STUDIES[file])
    ended = penchant(*asked, "-o", "results", "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert {one["condition"] for one in found["groups"]} == {"old", "young"}
    assert found["comparison"]
    assert {"groups.svg", "subjects.svg"} <= {
        path.name for path in (lab / "results" / "figures").iterdir()
    }


def test_check_prints_what_compares_groups_where_a_column_tells_them(penchant, lab):
    wanted = "Groups: penchant study psych-ds --model q-learning --condition group -o results"
    assert wanted in penchant("check", "psych-ds").out
    survey = penchant("check", "survey.csv")
    wanted = "study survey.csv --subject subject --condition group -o results"
    assert f"Groups: penchant {wanted}" in survey.out and "Next" not in survey.err
    assert survey.out.startswith("This is a choice experiment (options with attributes).")
    assert "\nNext: penchant fit survey.csv\n" in survey.out
    kept = json.loads(penchant("check", "survey.csv", "--json").out)
    assert kept["kind"] == "choices" and kept["groups"] == f"penchant {wanted}"
    assert kept["next"] == "penchant fit survey.csv"
    asked = ("check", "gorilla.csv", "--where", WHERE["gorilla.csv"], "--json")
    found = json.loads(penchant(*asked).out)
    assert found["groups"].startswith("penchant study gorilla.csv --where \"display == 'trial'\"")


def test_a_study_takes_a_folder_of_files_as_laboratories_have_them(penchant, lab):
    asked = ("study", "psych-ds", "--model", "random", "--condition", "group", "--figures", "none")
    ended = penchant(*asked, "--replicates", "0", "-o", "results", "--json")
    assert ended.code == 0, ended.err
    groups = {one["condition"] for one in json.loads(ended.out)["groups"]}
    assert groups == {"old", "young"}


def test_offers_without_a_model_are_told_one_of_offers(penchant, folder):
    (folder / "odd.csv").write_text("who,now,later,wait,said\n1,5,9,30,now\n1,8,9,30,later\n")
    ended = penchant("check", "odd.csv", "--offers", "amount=now/later,delay=0/wait")
    assert ended.code == 2
    assert "Say which: --model hyperbolic or --model prospect." in ended.error


def test_every_command_that_check_prints_is_one_to_paste(penchant, lab):
    rows = survey(SHOPPERS)
    for k, row in enumerate(rows):
        row["Age Band"] = "up to 40" if k < len(rows) / 2 else "above 40"
    (lab / "two.csv").write_text(as_csv(rows), encoding="utf-8")
    lines = dict(line.split(": ", 1) for line in penchant("check", "two.csv").out.splitlines()[-4:])
    assert lines["Worth"] == "penchant fit two.csv --price price"
    assert lines["Other groups"] == "--condition 'Age Band'"
    for name in ("Next", "Worth", "Groups"):
        ended = penchant(*shlex.split(lines[name])[1:])
        assert ended.code == 0, ended.err
    other = [*shlex.split(lines["Other groups"]), "-o", "others"]
    words = shlex.split(lines["Groups"])[1:]
    assert penchant(*words[: words.index("--condition")], *other).code == 0

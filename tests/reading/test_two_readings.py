"""Files that can be read in two ways are asked about, and each answer is read as it is meant."""

import zipfile

import numpy as np
import pytest

import penchant as pn
from laboratory_files import as_csv, players, savers, shoppers
from penchant.errors import DataError
from penchant.reading.read import read_by_arguments as by_args

PLAYERS, SAVERS, SHOPPERS = (
    players(4, 24, missed=False, seed=11),
    savers(4, 24, missed=False, seed=12),
    shoppers(4, 12, opt_out=False, seed=13),
)


def saved(tmp_path, rows, name="file.csv", **how):
    path = tmp_path / name
    path.write_text(as_csv(rows, **how), encoding="utf-8")
    return path


def play(make, people=PLAYERS):
    """A row for every choice: `make(person, t, option, reward, k)` says what is in it."""
    return [
        {"subject": person.name, "trial": t + 1} | make(person, t, option, reward, k)
        for k, person in enumerate(people)
        for t, (option, reward) in enumerate(zip(person.chosen, person.rewards, strict=True))
    ]


def offered(make):
    return [
        {"subject": person.name} | make(option, *offer, k + t)
        for k, person in enumerate(SAVERS)
        for t, (option, offer) in enumerate(zip(person.chosen, person.offers, strict=True))
    ]


def options_and_rewards(reading):
    """What everybody chose and got, options by the order in which they first occur."""
    found = {}
    for one in reading.data:
        own = found.setdefault(str(one.subject), ([], []))
        made = one.chosen >= 0
        own[0].extend(one.chosen[made].tolist())
        own[1].extend(one.rewards[made].tolist())
    return [(tuple(o), tuple(r)) for o, r in found.values()]


WANTED = [(tuple(p.chosen), tuple(p.rewards)) for p in PLAYERS]


def total(person, t, start=0.0):
    return start + sum(person.rewards[: t + 1])


def side(t, k):
    return (t * 7 + k) % 2


# What is in a row, what is asked, and answers: {argument: value} with whether they are as played.
ASKED = {
    "total": (
        lambda p, t, o, r, k: {"choice": "AB"[o], "score": total(p, t)},
        r"moves as a running total does",
        [({"reward": "diff(score)"}, True), ({"reward": "score"}, False)],
    ),
    "two rewards": (
        lambda p, t, o, r, k: {"choice": "AB"[o], "points": r, "outcome": int(r > 5)},
        r"outcome \(0, 1\) and points \(0 to 10\) can both be what a choice paid",
        [({"reward": "points"}, True), ({"reward": "outcome"}, False)],
    ),
    "code of a reward": (
        lambda p, t, o, r, k: {"choice": "AB"[o], "reward": 999 if t == 23 else r},
        r"999 in reward \(4 rows with a choice\) can be read in two ways",
        [({"reward": "reward"}, False)],
    ),
    "score of a block": (
        lambda p, t, o, r, k: {"block": t // 8, "choice": "AB"[o], "score": t // 8 * 9 + k},
        r"score says the same in all rows of a block",
        [({"reward": "score"}, False)],
    ),
    "sides": (
        lambda p, t, o, r, k: {
            "response": "fj"[o ^ side(t, k)],
            "A_side": ("left", "right")[side(t, k)],
            "reward": r,
        },
        r"A_side says that the place of A changes",
        [({"chosen": "response == A_side"}, True), ({"chosen": "response"}, False)],
    ),
    "two choices": (
        lambda p, t, o, r, k: {
            "response": ("left", "right")[o ^ side(t, k)],
            "chosen_stim": "AB"[o],
            "reward": r,
        },
        r"response \(left, right\) and chosen_stim \(A, B\) can both be what was chosen",
        [({"chosen": "chosen_stim"}, True), ({"chosen": "response"}, False)],
    ),
    "outcomes of all": (
        lambda p, t, o, r, k: (
            {"choice": "AB"[o]} | {f"outcome_{x}": r if "AB"[o] == x else 3.5 for x in "AB"}
        ),
        r"where the option in choice paid its own; or a choice experiment",
        [({"reward": "outcome[choice]"}, True)],
    ),
    "words for rewards": (
        lambda p, t, o, r, k: {"choice": "AB"[o], "outcome": "win" if r > 5 else "loss"},
        r"Pass reward='outcome\[.*=1.*\]' or reward=",
        [({"reward": "outcome[win=1, loss=-1]"}, False)],
    ),
    "numbers of a sentence": (
        lambda p, t, o, r, k: {"choice": "AB"[o], "feedback": f"You won {r:g} of 12 points"},
        r"Pass reward='feedback\[1\]' for .*, or reward='feedback\[2\]' for 12",
        [({"reward": "feedback[1]"}, True)],
    ),
    "counters that begin anew": (
        lambda p, t, o, r, k: {"trial": t % 12 + 1, "choice": "AB"[o], "reward": r},
        r"trial begins anew among the rows of a subject",
        [({"block": "restarts(trial)"}, True), ({"decision": "none"}, True)],
    ),
    "one label for two": (
        lambda p, t, o, r, k: {"subject": k // 2, "site": "xy"[k % 2], "choice": o, "reward": r},
        r"subject='subject\+site' of `read` if the same label of subject is several people",
        [({"subject": "subject+site"}, True)],
    ),
    "another age": (
        lambda p, t, o, r, k: {
            "subject": k // 2,
            "session": k % 2,
            "age": 20 + 9 * k,
            "choice": o,
            "reward": r,
        },
        r"age of subject 0 differs between its labels of session \(20, 29\)",
        [({"subject": "subject+session"}, True)],
    ),
    "capitals": (
        lambda p, t, o, r, k: {"key": ("fj", "FJ")[t == 3][o], "reward": r},
        r"F / f, J / j in key can be read in two ways",
        [({"options": {"f": 0, "F": 0, "j": 1, "J": 1}}, True)],
    ),
    "a 0 that pays nothing": (
        lambda p, t, o, r, k: {"choice": 0 if t == 4 else o + 1, "reward": 0 if t == 4 else r},
        r"0 in choice \(4 rows\) always pays 0, which can be read in two ways",
        [({"base": 1}, False), ({"options": [0, 1, 2]}, False)],
    ),
    "times": (
        lambda p, t, o, r, k: {"response": 0.3 + t / 71, "key": "fj"[o], "reward": r},
        r"times or amounts rather than options. Pass chosen='key'",
        [({"chosen": "key"}, True)],
    ),
    "no usual name": (
        lambda p, t, o, r, k: {"choice": "AB"[o], "ducats": r},
        r"reward must be given, as choice holds choices.* Pass reward='ducats'",
        [({"reward": "ducats"}, True)],
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_play_that_can_be_read_in_two_ways_is_asked_about(tmp_path, name):
    make, words, answers = ASKED[name]
    file = saved(tmp_path, play(make))
    with pytest.raises(DataError, match=words):
        by_args(file)
    for said, as_played in answers:
        assert (options_and_rewards(by_args(file, **said)) == WANTED) == as_played


READ = {
    "flags": lambda p, t, o, r, k: {"chose_A": int(o == 0), "chose_B": int(o == 1), "reward": r},
    "one flag": lambda p, t, o, r, k: {"chose_left": o == 0, "reward": r},
    "sentences": lambda p, t, o, r, k: {
        "choice": "AB"[o],
        "feedback": f"<p>You won <b>{r:g}</b> points!</p> Your total is {total(p, t):g}",
    },
    "a total beside": lambda p, t, o, r, k: {"choice": o, "points": total(p, t), "win": r},
    "a score of people": lambda p, t, o, r, k: {"choice": o, "score": 9 * k, "win": r},
    "reversals": lambda p, t, o, r, k: {"key": "fj"[o], "correct_key": "fj"[t // 12], "reward": r},
    "the same twice": lambda p, t, o, r, k: {"choice": "AB"[o], "response": "fj"[o], "reward": r},
    "codes on both sides": lambda p, t, o, r, k: {"choice": o, "reward": r},
}


@pytest.mark.parametrize("name", READ)
def test_play_that_can_be_read_in_one_way_is_read(tmp_path, name):
    rows = play(READ[name])
    if name == "codes on both sides":
        rows += [{"subject": p.name, "trial": 25, "choice": -99, "reward": -99} for p in PLAYERS]
    assert options_and_rewards(by_args(saved(tmp_path, rows))) == WANTED


def test_totals_may_begin_with_an_endowment_or_anew_in_every_block(tmp_path):
    file = saved(tmp_path, play(lambda p, t, o, r, k: {"choice": o, "bank": total(p, t, 2000)}))
    with pytest.raises(DataError, match=r"reward must say what people began with"):
        by_args(file, reward="diff(bank)")
    assert options_and_rewards(by_args(file, reward="diff(bank, 2000)")) == WANTED
    anew = play(
        lambda p, t, o, r, k: {
            "block": t // 12,
            "trial": t % 12,
            "choice": o,
            "score": sum(p.rewards[t // 12 * 12 : t + 1]),
        }
    )
    assert options_and_rewards(by_args(saved(tmp_path, anew), reward="diff(score)")) == WANTED


def test_flags_that_contradict_each_other_are_refused_by_their_line(tmp_path):
    rows = play(READ["flags"])
    rows[7] |= {"chose_A": 1, "chose_B": 1}
    with pytest.raises(DataError, match=r"got chose_A and chose_B at line 9 \(1 row so\)"):
        by_args(saved(tmp_path, rows))


def taken(reading):
    """Amount and delay of what everybody took."""
    return [
        [(one.offers["amount"][t, c], one.offers["delay"][t, c]) for t, c in enumerate(one.chosen)]
        for one in reading.data
    ]


TAKEN = [
    [(o[c], float(o[2]) if c else 0.0) for c, o in zip(p.chosen, p.offers, strict=True)]
    for p in SAVERS
]
OFFERED = {
    "now, later, wait": lambda o, s, late, d, k: (
        {"now": f"£{s:g}", "later": f"£{late:g}"}
        | {"wait": f"{d} days", "choice": ("Now", "Later")[o]}
    ),
    "Spanish": lambda o, s, late, d, k: (
        {"cantidad_hoy": s, "cantidad_despues": late}
        | {"demora_dias": d, "eleccion": ("ahora", "después")[o]}
    ),
    "flags": lambda o, s, late, d, k: (
        {"ss_amount": s, "ll_amount": late, "ll_delay": d} | {"chose_ss": 1 - o, "chose_ll": o}
    ),
    "one flag": lambda o, s, late, d, k: (
        {"ss_amount": s, "ll_amount": late, "ll_delay": d} | {"chose_ss": 1 - o}
    ),
    "what it pays": lambda o, s, late, d, k: (
        {"ss_amount": s, "ll_amount": late, "ll_delay": d} | {"choice": (s, late)[o]}
    ),
    "sentences": lambda o, s, late, d, k: (
        {"ss_amount": s, "ll_amount": late, "ll_delay": d}
        | {"choice": ("I take the smaller sooner", "I take the larger later")[o]}
    ),
}


@pytest.mark.parametrize("name", OFFERED)
def test_offers_under_other_names_are_read(tmp_path, name):
    assert taken(by_args(saved(tmp_path, offered(OFFERED[name])))) == TAKEN


def test_offers_whose_answers_can_be_read_in_two_ways_are_asked_about(tmp_path):
    plain = {"ss_amount": 0, "ll_amount": 1, "ll_delay": 2}

    def rows(**more):
        return offered(
            lambda o, *offer: (
                {n: offer[i] for n, i in plain.items()}
                | {n: f(o, offer[-1]) for n, f in more.items()}
            )
        )

    unasked = saved(tmp_path, rows(response=lambda o, k: ("no", "yes")[o]))
    with pytest.raises(DataError, match=r"what '(no|yes)', '(no|yes)' in response"):
        by_args(unasked)
    assert taken(by_args(unasked, options=["no", "yes"])) == TAKEN
    sided = saved(
        tmp_path,
        rows(
            response=lambda o, k: ("left", "right")[o ^ k % 2],
            ll_side=lambda o, k: ("right", "left")[k % 2],
        ),
    )
    with pytest.raises(DataError, match="ll_side says that the place of ll changes"):
        by_args(sided)
    assert taken(by_args(sided, chosen="response == ll_side")) == TAKEN
    coded = rows(choice=lambda o, k: o)
    coded[3]["ll_amount"] = -99
    with pytest.raises(DataError, match=r'-99 in ss_amount and ll_amount .*="ss_amount != -99'):
        by_args(saved(tmp_path, coded))
    missed = rows(choice=lambda o, k: o)
    missed[3]["choice"] = -99
    assert by_args(saved(tmp_path, missed)).n_missed == 1
    percent = [
        {"subject": "a", "sure": 5 + t, "gain": 20, "prob": 10 * t + 5, "choice": t % 2}
        for t in range(8)
    ]
    found = by_args(saved(tmp_path, percent)).data[0].offers["probability"]
    np.testing.assert_array_equal(found[:, 1], [(10 * t + 5) / 100 for t in range(8)])


def test_surveys_whose_questions_are_offers_are_read(tmp_path):
    offers = SAVERS[0].offers
    texts = [f"Do you prefer £{s:g} now or £{later:g} in {d} days?" for s, later, d in offers]
    answers = [
        {f"Q{t + 1}": (f"£{o[0]:g} now", f"£{o[1]:g} in {o[2]} days")[c] for t, (c, o) in
         enumerate(zip(p.chosen, offers, strict=True))}
        for p in SAVERS
    ]  # fmt: skip
    own = {"StartDate": "x", "RecordedDate": "x", "ResponseId": "x"}
    titles = own | {f"Q{t + 1}": text for t, text in enumerate(texts)}
    ids = {name: f'{{"ImportId":"{name}"}}' for name in titles}
    rows = [own | {"ResponseId": p.name} | a for p, a in zip(SAVERS, answers, strict=True)]
    wanted = [
        [(o[c], float(o[2]) if c else 0.0) for c, o in zip(p.chosen, offers, strict=True)]
        for p in SAVERS
    ]
    assert taken(by_args(saved(tmp_path, [titles, ids, *rows]))) == wanted
    headed = [
        {"Response ID": p.name} | dict(zip(texts, own.values(), strict=True))
        for p, own in zip(SAVERS, answers, strict=True)
    ]
    assert taken(by_args(saved(tmp_path, headed))) == wanted


def height(reading):
    """The log-likelihood, which no other reading shares."""
    estimate = pn.fit(reading.data, parameter_prior=pn.ScaledPrior())
    return round(estimate.log_likelihood, 9)


def test_choice_experiments_in_other_forms_are_the_same(tmp_path):
    names = ("price", "time", "brand")
    wide, flags, conjoint, long = [], [], [], []
    for p in SHOPPERS:
        person = {"ResponseId": p.name, "StartDate": "x", "RecordedDate": "x"}
        for t, (c, pair) in enumerate(zip(p.chosen, p.offers, strict=True)):
            cells = {
                f"{x}_{n}": v
                for x, o in zip("AB", pair, strict=True)
                for n, v in zip(names, o, strict=True)
            }
            row = {"subject": p.name, "task": t + 1} | cells
            wide.append(row | {"choice": "AB"[c]})
            flags.append(row | {"chose_A": int(c == 0), "chose_B": int(c == 1)})
            for k, n in enumerate(names):
                person |= {f"F-{t + 1}-{k + 1}": n}
                person |= {f"F-{t + 1}-{i + 1}-{k + 1}": pair[i][k] for i in (0, 1)}
            person[f"Q{t + 1}"] = c + 1
            for i in (0, 1):
                shown = dict(zip(names, pair[i], strict=True))
                long.append({"id": p.name, "task": t, "concept": i + 1, "Response": c + 1} | shown)
        conjoint.append(person)
    want = height(by_args(saved(tmp_path, wide)))
    for rows in (flags, conjoint, long):
        assert height(by_args(saved(tmp_path, rows))) == want
    wide[2]["A_price"] = -99
    with pytest.raises(DataError, match=r"-99 in A_price and B_price \(1 cell\) can be read"):
        by_args(saved(tmp_path, wide))
    alike = next(k for k, row in enumerate(wide) if row["A_brand"] == row["B_brand"])
    brands = [row | {"choice": row[f"{row['choice']}_brand"]} for row in wide[3:]]
    assert alike < len(wide)
    with pytest.raises(DataError, match=r"the brand of A and B alike, so that either can be"):
        by_args(saved(tmp_path, brands))
    told = [row for row in brands if row["A_brand"] != row["B_brand"]]
    again = [row for row in wide[3:] if row["A_brand"] != row["B_brand"]]
    by_brand, by_option = (by_args(saved(tmp_path, rows)) for rows in (told, again))
    assert height(by_brand) == height(by_option)


def workbook(path, **sheets):
    """An xlsx with text in place, and numbers."""
    with zipfile.ZipFile(path, "w") as book:
        sheet = '<sheet name="{}" xmlns:r="r" r:id="i{}"/>'
        listed = "".join(sheet.format(name, k) for k, name in enumerate(sheets))
        book.writestr("xl/workbook.xml", f"<workbook><sheets>{listed}</sheets></workbook>")
        link = '<Relationship Id="i{0}" Target="worksheets/{0}.xml"/>'
        links = "".join(link.format(k) for k in range(len(sheets)))
        book.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{links}</Relationships>")
        for k, rows in enumerate(sheets.values()):
            lines = []
            for r, row in enumerate(rows, 1):
                cells = [
                    f'<c r="{chr(65 + c)}{r}" t="inlineStr"><is><t>{cell}</t></is></c>'
                    if isinstance(cell, str)
                    else f'<c r="{chr(65 + c)}{r}"><v>{cell}</v></c>'
                    for c, cell in enumerate(row)
                    if cell is not None
                ]
                lines.append(f'<row r="{r}">{"".join(cells)}</row>')
            body = f"<worksheet><sheetData>{''.join(lines)}</sheetData></worksheet>"
            book.writestr(f"xl/worksheets/{k}.xml", body)


def test_workbooks_with_one_table_are_read_and_lines_are_rows_of_the_sheet(tmp_path):
    rows = play(lambda p, t, o, r, k: {"choice": "AB"[o], "reward": r})
    cells = [list(rows[0]), *([*row.values()] for row in rows)]
    file = tmp_path / "file.xlsx"
    workbook(file, Trials=cells, Notes=[["made in May"]])
    assert options_and_rewards(by_args(file)) == WANTED
    cells[5][3] = "many"
    workbook(file, Trials=cells)
    with pytest.raises(DataError, match="got 'many' at line 6"):
        by_args(file)
    workbook(file, Trials=cells, People=[["id", "age"], ["p01", 31]])
    with pytest.raises(DataError, match=r"one sheet with a table; got Trials \(97 rows\), People"):
        by_args(file)

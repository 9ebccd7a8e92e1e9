"""Choice experiments: wide and long, levels, opt-outs, formulas."""

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn
from laboratory_files import as_csv, shoppers, survey

PEOPLE = shoppers()
NAMES = ("price", "time", "brand:Zen", "constant:neither")


def _explanatory(people=PEOPLE):
    """What the variables must be: A, B and neither of every decision."""
    rows = []
    for person in people:
        for pair in person.offers:
            rows += [[price, minutes, float(brand == "Zen"), 0] for price, minutes, brand in pair]
            rows.append([0, 0, 0, 1])
    return np.array(rows, dtype=float)


def _long(people=PEOPLE):
    rows = []
    for person in people:
        for t, (taken, pair) in enumerate(zip(person.chosen, person.offers, strict=True)):
            who = {"respID": person.name, "obsID": t + 1, "age": 20 + len(person.name)}
            for k in range(3):
                own = dict(zip(("price", "time", "brand"), pair[k], strict=True)) if k < 2 else {}
                rows.append({**who, "altID": k + 1, "choice": int(taken == k), **own})
    return rows


@pytest.fixture
def file(tmp_path):
    def write(rows, **how):
        path = tmp_path / "survey.csv"
        path.write_text(as_csv(rows, **how), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    "name", ["{option}_{attribute}", "{attribute}_{option}", "{attribute}.{option}"]
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_wide_survey_becomes_choices_with_levels_and_an_opt_out(file, name, delimiter):
    reading = pn.read(file(survey(PEOPLE, name), delimiter=delimiter))
    assert reading.kind == "choices"
    assert reading.data.names == NAMES
    assert reading.options == {"A": "A", "B": "B", "neither": "neither"}
    np.testing.assert_array_equal(reading.data.explanatory, _explanatory())
    taken = [k for person in PEOPLE for k in person.chosen]
    assert reading.data.chosen.tolist() == taken


def asked(path, schema=None):
    """Roles that are asked about."""
    with pytest.raises(pn.errors.SchemaQuestions) as raised:
        pn.read(path, schema)
    return {question.role for question in raised.value.questions}


def test_options_may_be_called_otherwise_in_the_choices(file):
    reading = pn.read(file(survey(PEOPLE, words=("opt A", "opt B", "opt-out"))))
    assert reading.options == {"opt A": "A", "opt B": "B", "opt-out": "opt-out"}


def test_numbers_for_options_with_letters_and_none_are_asked_about(file):
    path = file(survey(PEOPLE, words=("1", "2", "neither")))
    assert "kind" in asked(path)
    labels = {"labels": ["1", "2", "neither"], "names": ["A", "B", "neither"]}
    reading = pn.read(path, SCHEMA | {"choice": {**labels, "opt_out": "neither"}})
    np.testing.assert_array_equal(reading.data.explanatory, _explanatory())
    path = file(survey(PEOPLE, words=("A", "B", "none")))
    assert {"choice.labels", "choice.missed"} <= asked(path)
    none = SCHEMA | {"choice": {"labels": ["A", "B"], "opt_out": "none"}}
    assert pn.read(path, none).data.names == (*NAMES[:3], "constant:none")
    left = pn.read(path, SCHEMA | {"choice": {"labels": ["A", "B"], "missed": ["none"]}})
    assert left.n_decisions == sum(k < 2 for person in PEOPLE for k in person.chosen)


SCHEMA = {
    "kind": "choices",
    "columns": {"subject": "subject", "choice": "choice"},
    "attributes": {name: [f"A_{name}", f"B_{name}"] for name in ("price", "time", "brand")},
}


def test_a_survey_without_an_opt_out_has_no_constant():
    people = shoppers(opt_out=False)
    assert pn.read(pa.Table.from_pylist(survey(people))).data.names == NAMES[:3]


def test_a_long_table_gives_the_same_choices_as_a_wide_one(file):
    wide = pn.read(file(survey(PEOPLE)))
    path = file(_long(), missing="NA")
    assert "attributes.columns" in asked(path)  # a time may be that of the answer
    attributes = {"columns": ["price", "time", "brand"]}
    assert asked(path, {"attributes": attributes}) >= {"choice.opt_out"}  # of no attributes
    long = pn.read(path, {"attributes": attributes}, opt_out=3)
    assert long.data.names == (*NAMES[:3], "constant:3")
    np.testing.assert_array_equal(long.data.explanatory, wide.data.explanatory)
    assert long.data.chosen.tolist() == wide.data.chosen.tolist()
    np.testing.assert_allclose(pn.fit(long).theta, pn.fit(wide).theta, rtol=1e-9)
    alone = pn.read(path, {"attributes": {"columns": ["price"]}}, opt_out=3)
    assert alone.data.names == ("price", "constant:3")


def test_the_level_that_others_are_compared_with_can_be_chosen(file):
    reading = pn.read(file(survey(PEOPLE)), reference={"brand": "Zen"})
    assert "brand:Acme" in reading.data.names
    with pytest.raises(pn.DataError, match="reference must be a level of brand; got 'Zan'"):
        pn.read(file(survey(PEOPLE)), reference={"brand": "Zan"})


def test_faults_are_told_by_the_line_they_stand_in(file):
    rows = survey(PEOPLE)
    rows[3]["choice"] = rows[5]["choice"] = None  # left out before what is missing is found
    rows[7]["B_time"] = None
    with pytest.raises(pn.DataError, match="an empty cell in time at line 9"):
        pn.read(file(rows))
    reading = pn.read(file(rows), missing="drop_set")
    assert reading.n_decisions == len(rows) - 3
    assert reading.n_missed == 2 and "2 rows left out: nobody decided" in reading.notes
    rows[7]["B_time"] = "long"
    with pytest.raises(pn.DataError, match="B_time must hold numbers; got 'long' at line 9"):
        pn.read(file(rows), SCHEMA | {"choice": {"opt_out": "neither"}}, decimal=".")


def test_decimal_commas_are_said(file):
    rows = [row | {"A_price": f"€{k},50"} for k, row in enumerate(survey(PEOPLE))]
    rows = [row | {"B_price": f"€{k},75"} for k, row in enumerate(rows)]
    schema = SCHEMA | {"choice": {"opt_out": "neither"}}
    said = "A_price must hold numbers; got '€0,50' at line 2(.|\\n)*Pass decimal=','"
    with pytest.raises(pn.DataError, match=said):
        pn.read(file(rows, delimiter=";"), schema)
    read = pn.read(file(rows, delimiter=";"), schema, decimal=",")
    assert read.data.explanatory[:2, 0].tolist() == [0.5, 0.75]


def test_groups_of_an_experiment_are_compared_and_studied(file):
    reading = pn.read(file(survey(shoppers(n_people=12, n_decisions=40))))
    estimates = pn.fit_each(reading, parameter_prior=pn.ScaledPrior())
    groups = reading.groups("group")
    by_group = {
        label: [e for e in estimates if groups[e.subject] == label] for label in ("young", "old")
    }
    price = pn.compare_groups(by_group).differences[0]
    assert price.name == "price"
    assert price.difference < 0  # the young mind the price more
    data = pn.read_study(reading, conditions=["group"])
    assert not data.is_play
    assert {data.condition(s) for s in data.subjects} == {"young", "old"}


def test_codes_in_the_order_of_the_options_are_read_whatever_the_order_of_columns():
    rng = np.random.default_rng(3)
    price = {option: rng.integers(1, 9, 40) for option in ("1", "2", "3")}
    quality = {option: rng.integers(1, 9, 40) for option in price}
    chosen = rng.integers(1, 4, 40)
    columns = {f"price_{k}": price[k] for k in ("2", "3", "1")}
    columns |= {f"quality_{k}": quality[k] for k in ("3", "1", "2")}
    table = pa.table({"id": np.repeat(np.arange(4), 10), **columns, "choice": chosen})
    reading = pn.read(table, kind="choices", subject="id")
    rows = reading.data.explanatory[reading.data.chosen_row]
    assert rows[:, 0].tolist() == [price[str(k)][row] for row, k in enumerate(chosen)]
    assert rows[:, 1].tolist() == [quality[str(k)][row] for row, k in enumerate(chosen)]

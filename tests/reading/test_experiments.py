"""Choice experiments: wide and long, levels, opt-outs, formulas."""

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn
from laboratory_files import as_csv, shoppers, survey
from penchant.reading.read import read_by_arguments as by_args

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
    reading = by_args(file(survey(PEOPLE, name), delimiter=delimiter))
    assert reading.kind == "choices"
    assert reading.data.names == NAMES
    assert reading.options == {"A": "A", "B": "B", "neither": "neither"}
    np.testing.assert_array_equal(reading.data.explanatory, _explanatory())
    taken = [k for person in PEOPLE for k in person.chosen]
    assert reading.data.chosen.tolist() == taken


def test_options_may_be_called_otherwise_in_the_choices(file):
    reading = by_args(file(survey(PEOPLE, words=("opt A", "opt B", "opt-out"))))
    assert reading.options == {"opt A": "A", "opt B": "B", "opt-out": "opt-out"}


def test_numbers_for_options_with_letters_are_asked_beside_an_opt_out(file):
    path = file(survey(PEOPLE, words=("1", "2", "neither")))
    with pytest.raises(pn.errors.DataError, match=r"Pass options=\{'1': 'A', '2': 'B'\} if"):
        by_args(path)
    reading = by_args(path, options={"1": "A", "2": "B"})
    assert reading.options == {"1": "A", "2": "B", "neither": "neither"}


def test_a_survey_without_an_opt_out_has_no_constant():
    people = shoppers(opt_out=False)
    assert by_args(pa.Table.from_pylist(survey(people))).data.names == NAMES[:3]


def test_none_is_asked_and_named(file):
    path = file(survey(PEOPLE, words=("A", "B", "none")))
    with pytest.raises(pn.errors.DataError, match=r"'none' in choice can be read in two ways"):
        by_args(path)
    assert by_args(path, opt_out="none").data.names == (*NAMES[:3], "constant:none")
    left = by_args(path, where="choice != 'none'")
    assert left.n_decisions == sum(k < 2 for person in PEOPLE for k in person.chosen)


def test_a_long_table_gives_the_same_choices_as_a_wide_one(file):
    wide = by_args(file(survey(PEOPLE)))
    long = by_args(file(_long(), missing="NA"))
    assert long.data.names == (*NAMES[:3], "constant:3")
    np.testing.assert_array_equal(long.data.explanatory, wide.data.explanatory)
    assert long.data.chosen.tolist() == wide.data.chosen.tolist()
    assert "age not used: the same for all options of a decision" in long.notes
    np.testing.assert_allclose(pn.fit(long).theta, pn.fit(wide).theta, rtol=1e-9)


def test_attributes_are_a_list_or_a_formula(file):
    path = file(_long())
    assert by_args(path, attributes=["price"]).data.names == ("price", "constant:3")
    reading = by_args(path, attributes="choice ~ C(price) + price:age + time")
    assert {"price:2", "price:age", "time"} < {*reading.data.names}
    ages = np.repeat([20 + len(person.name) for person in PEOPLE], 3 * len(PEOPLE[0].chosen))
    column = reading.data.names.index("price:age")
    np.testing.assert_array_equal(reading.data.explanatory[:, column], _explanatory()[:, 0] * ages)


def test_constants_of_all_options_are_one_term(file):
    reading = by_args(file(survey(PEOPLE)), attributes="price + 1")
    assert reading.data.names == ("price", "constant:B", "constant:neither")


def test_the_level_that_others_are_compared_with_can_be_chosen(file):
    reading = by_args(file(survey(PEOPLE)), reference={"brand": "Zen"})
    assert "brand:Acme" in reading.data.names
    with pytest.raises(pn.errors.DataError, match="reference must be a level of brand; got 'Zan'"):
        by_args(file(survey(PEOPLE)), reference={"brand": "Zan"})


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("prise + time", "got 'prise'.*Did you mean 'price'"),
        ("price / time", "must be names joined by .*got '/ time'"),
        ("price time", "got 'price time'"),
        ("", "must name at least one"),
    ],
)
def test_a_wrong_formula_is_refused(file, formula, said):
    with pytest.raises(pn.errors.DataError, match=f"attributes must.*{said}|{said}"):
        by_args(file(survey(PEOPLE)), attributes=formula)


def test_an_empty_attribute_of_an_option_is_named_by_its_line(file):
    rows = survey(PEOPLE)
    rows[7]["B_time"] = None
    with pytest.raises(pn.errors.DataError, match="an empty cell in time at line 9"):
        by_args(file(rows))
    kept = by_args(file(rows), missing="drop_set")
    assert kept.n_decisions == len(rows) - 1


def test_decimal_commas_are_asked_for(file):
    rows = [row | {"A_price": f"€{k},50"} for k, row in enumerate(survey(PEOPLE))]
    rows = [row | {"B_price": f"€{k},75"} for k, row in enumerate(rows)]
    with pytest.raises(
        pn.errors.DataError, match=r"'€0,50' at line 2. It looks like decimal comma"
    ):
        by_args(file(rows, delimiter=";"))
    price = by_args(file(rows, delimiter=";"), decimal=",").data.explanatory[:2, 0]
    assert price.tolist() == [0.5, 0.75]


def test_decisions_without_a_choice_are_left_out_and_counted(file):
    rows = survey(PEOPLE)
    rows[3]["choice"] = None
    reading = by_args(file(rows))
    assert reading.n_decisions == len(rows) - 1
    assert "1 decision without a choice left out" in reading.notes


def test_groups_can_be_compared(file):
    reading = by_args(file(survey(shoppers(n_people=12, n_decisions=40))))
    estimates = pn.fit_each(reading, parameter_prior=pn.ScaledPrior())
    groups = reading.groups("group")
    by_group = {
        label: [e for e in estimates if groups[e.subject] == label] for label in ("young", "old")
    }
    price = pn.compare_groups(by_group).differences[0]
    assert price.name == "price"
    assert price.difference < 0  # the young mind the price more

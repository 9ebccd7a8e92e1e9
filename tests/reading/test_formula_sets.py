"""Sets of attributes of a choice experiment that was read by a schema: names and formulas."""

import numpy as np
import pyarrow as pa
import pytest

import penchant as pn
from penchant.models.offers.attributes import Attributes
from penchant.reading.formula_sets import attribute_sets

SCHEMA = {
    "kind": "choices",
    "columns": {"subject": "id", "choice": "choice"},
    "choice": {"labels": ["A", "B"]},
    "attributes": {"price": ["A_price", "B_price"], "kind": ["A_kind", "B_kind"]},
}


def survey(income=(1.0, 2.0)):
    """Forty decisions of two people whose income is known."""
    rng = np.random.default_rng(4)
    n = 40
    return pa.table(
        {
            "id": ["ann", "bob"] * (n // 2),
            "income": [*income] * (n // 2),
            "A_price": rng.integers(1, 4, n),
            "B_price": rng.integers(1, 4, n),
            "A_kind": rng.choice(["new", "old", "used"], n),
            "B_kind": rng.choice(["new", "old", "used"], n),
            "choice": rng.choice(["A", "B"], n),
        }
    )


def made(given, table=None):
    reading = pn.read(survey() if table is None else table, SCHEMA)
    choices, sets = attribute_sets(reading, {"set": given})
    return reading.data, choices.select(sets["set"])


def test_products_with_columns_of_people_are_products():
    before, choices = made("price * income")
    assert choices.names == ("price", "income", "price:income")
    price, income, product = choices.explanatory.T
    assert np.array_equal(price, before.select(["price"]).explanatory[:, 0])
    of_each = {"ann": 1.0, "bob": 2.0}
    whose = [of_each[before.subject_labels[k]] for k in before.subject]
    assert np.array_equal(income, np.repeat(whose, 2))
    assert np.array_equal(product, price * income)


def test_one_is_a_constant_of_every_option_but_the_first():
    before, choices = made("1")
    assert choices.names == ("constant:B",)
    assert np.array_equal(choices.explanatory[:, 0], np.tile([0.0, 1.0], before.n_decisions))


def test_numbers_are_levels_where_a_formula_says_so():
    before, choices = made("C(price)")
    assert choices.names == ("price:2", "price:3")
    price = before.select(["price"]).explanatory
    assert np.array_equal(choices.explanatory, price == [[2, 3]])


@pytest.mark.parametrize("given", ["all", "price + kind", ["price", "kind"]])
def test_words_have_the_variables_of_the_reading(given):
    before, choices = made(given)
    assert choices.names == before.names
    assert np.array_equal(choices.explanatory, before.explanatory)


def test_one_level_of_a_word_is_a_variable_of_its_own():
    before, _ = made("all")
    level = before.names[1]
    for given in (["price", level], f"price + {level}", level):
        assert made(given)[1].names == (("price", level) if "price" in given else (level,))


def test_what_is_no_column_or_is_missing_is_refused():
    with pytest.raises(pn.errors.DataError, match=r"(?s)got 'prise', but they are .*Did you mean"):
        made("prise + 1")
    with pytest.raises(pn.errors.DataError, match="income must not be missing; got an empty cell"):
        made("price:income", survey((1.0, None)))


def test_formulas_are_compared_with_lists_and_models():
    reading = pn.read(survey(), SCHEMA)
    sets = {
        "constants": "1",
        "product": "price:income",
        "listed": ["price"],
        "model": Attributes(("price",)),
    }
    found = pn.compare_models(sets, reading, pool=True)
    assert found.n_parameters == (1, 1, 1, 1)
    alone = pn.fit(reading.data.select(["price"])).log_likelihood
    assert found.log_likelihood[0, 2:] == pytest.approx([alone, alone])
    constants = pn.fit(reading.data.with_constants().select(["constant:B"])).log_likelihood
    assert found.log_likelihood[0, 0] == pytest.approx(constants)


def test_the_constant_of_no_option_shown_is_one_of_the_constants():
    table = survey()
    answers = table["choice"].to_pylist()
    answers[::5] = ["neither"] * len(answers[::5])
    reading = pn.read(table.set_column(6, "choice", [answers]))
    assert "constant:neither" in reading.data.names
    choices, sets = attribute_sets(reading, {"set": "1"})
    assert sorted(sets["set"]) == ["constant:B", "constant:neither"]
    assert choices.select(sets["set"]).n_parameters == 2

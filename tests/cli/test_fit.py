"""`penchant fit`: the numbers of the library, from files of every form."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penchant as pn
from cli.trips import HEADER, OPTIONS, csv
from penchant.files.output import parse_json


def choices_of(rows, **more):
    table = pa.table({name: [row[a] for row in rows] for a, name in enumerate(HEADER)})
    return pn.Choices.from_frame(
        table,
        decision="decision",
        option="option",
        chosen="chosen",
        explanatory=["price", "wait"],
        **more,
    )


def document(ended, code=0):
    """Strict JSON: no NaN, no key twice."""
    assert ended.code == code, ended.err
    return parse_json(ended.out.encode(), "stdout")


def estimates(content):
    return [parameter["estimate"] for parameter in content["parameters"]]


def with_subjects(rows):
    """Decisions of three people, numbered afresh for each."""
    return [[f"s{row[0] % 3}", row[0] // 3, *row[1:]] for row in rows]


def test_the_table_on_stdout_is_the_summary_and_words_go_to_stderr(penchant, rows):
    ended = penchant("fit", "trips.csv")
    assert ended.code == 0
    assert ended.out == pn.fit(choices_of(rows)).summary() + "\n"
    assert "attributes = price, wait" in ended.err
    assert "Choices: 47 decisions, 3 options each" in ended.err


def test_json_holds_what_it_promises(penchant, rows):
    content = document(penchant("fit", "trips.csv", "--json"))
    estimate = pn.fit(choices_of(rows))
    assert content["status"] == "converged"
    assert content["n_decisions"] == 47
    assert content["log_likelihood"] == estimate.log_likelihood
    assert content["diagnostics"]["rank"] == 2
    for parameter, expected in zip(content["parameters"], estimate.parameters, strict=True):
        assert list(parameter) == ["name", "estimate", "standard_error", "low", "high"]
        assert list(parameter.values()) == [
            expected.name,
            expected.estimate,
            expected.standard_error,
            expected.low,
            expected.high,
        ]


def test_json_is_read_back_as_the_same_estimate(penchant, rows):
    content = document(penchant("fit", "trips.csv", "--json", "--level", "0.9"))
    assert pn.Estimate.from_dict(content).summary() == pn.fit(choices_of(rows)).summary()


def test_many_subjects_give_a_list_with_the_subject_in_each(penchant, folder, rows):
    rows = with_subjects(rows)
    (folder / "people.csv").write_text(csv(rows, ["subject", *HEADER]))
    content = document(penchant("fit", "people.csv", "--subject", "subject", "--json"))
    assert [one["subject"] for one in content] == ["s0", "s1", "s2"]
    mine = [row[1:] for row in rows if row[0] == "s1"]
    assert estimates(content[1]) == pytest.approx(pn.fit(choices_of(mine)).theta, rel=1e-9)
    again = [pn.Estimate.from_dict(one) for one in content]
    assert [one.subject for one in again] == ["s0", "s1", "s2"]


def test_several_columns_may_name_the_decision(penchant, folder, rows):
    (folder / "people.csv").write_text(csv(with_subjects(rows), ["subject", *HEADER]))
    content = document(penchant("fit", "people.csv", "--decision", "subject,decision", "--json"))
    assert estimates(content) == pytest.approx(pn.fit(choices_of(rows)).theta, rel=1e-9)


def test_clustering_by_subject_makes_one_estimate_of_all(penchant, folder, rows):
    (folder / "people.csv").write_text(csv(with_subjects(rows), ["subject", *HEADER]))
    options = ["--subject", "subject", "--covariance", "clustered", "--json"]
    content = document(penchant("fit", "people.csv", *options))
    assert content["covariance_kind"] == "clustered"
    assert content["n_decisions"] == 47


FORMS = {
    "Parquet": lambda rows: None,
    "semicolons and decimal commas": lambda rows: csv(rows, sep=";").replace(".", ","),
    "tabs": lambda rows: csv(rows, sep="\t"),
    "Windows": lambda rows: "\ufeff" + csv(rows).replace("\n", "\r\n"),
    "any order": lambda rows: csv(rows[::-1]),
    "UTF-16": lambda rows: csv(rows).encode("utf-16"),
    "unavailable": lambda rows: csv(
        [[*row, 1] for row in rows] + [[row[0], "ship", 0, "", "inf", 0] for row in rows if row[2]],
        [*HEADER, "there"],
    ),
    "label of the option": lambda rows: csv(
        [[*row[:2], next(r[1] for r in rows if r[0] == row[0] and r[2]), *row[3:]] for row in rows]
    ),
    "weights": lambda rows: csv([[*row, 1] for row in rows], [*HEADER, "weight"]),
    "incomplete": lambda rows: csv([*rows, [99, "air", 1, "", 2], [99, "bus", 0, 3, 4]]),
}
OPTIONS_OF = {
    "semicolons and decimal commas": ["--decimal", ","],
    "UTF-16": ["--encoding", "utf-16"],
    "unavailable": ["--available", "there"],
    "incomplete": ["--missing", "drop-set"],
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_the_file_does_not_matter(penchant, folder, rows, form):
    made = FORMS[form](rows)
    if made is None:
        table = {name: [row[a] for row in rows] for a, name in enumerate(HEADER)}
        pq.write_table(pa.table(table), folder / "form.csv")
    else:
        (folder / "form.csv").write_bytes(made if isinstance(made, bytes) else made.encode())
    content = document(penchant("fit", "form.csv", "--json", *OPTIONS_OF.get(form, [])))
    # rows in another order are summed in the same one
    assert estimates(content) == pytest.approx(pn.fit(choices_of(rows)).theta, rel=1e-12)


def test_what_was_left_out_is_counted(penchant, folder, rows):
    rows[4][3] = ""
    (folder / "gap.csv").write_text(csv(rows))
    ended = penchant("fit", "gap.csv", "--missing", "drop-set")
    assert "Note: 1 decision (3 rows) dropped: missing values." in ended.err


def wide(rows):
    """One row per decision, in reverse order, with an attribute."""
    header = ["trip", "choice", "income"]
    header += [f"{name}_{o}" for name in ("price", "wait") for o in OPTIONS]
    lines = []
    for k in sorted({row[0] for row in rows}, reverse=True):
        mine = [row for row in rows if row[0] == k]
        taken = next(row[1] for row in mine if row[2])
        lines.append([k, taken, k % 5 + 0.5, *[r[3] for r in mine], *[r[4] for r in mine]])
    return csv(lines, header)


WIDE = ["--wide", "--options", "air,bus,car", "--explanatory", "price,wait", "--decision", "trip"]


def test_a_wide_table_gives_the_same_as_a_long_one(penchant, folder, rows):
    (folder / "wide.csv").write_text(wide(rows))
    content = document(penchant("fit", "wide.csv", *WIDE, "--json"))
    assert estimates(content) == pytest.approx(pn.fit(choices_of(rows)).theta, rel=1e-12)


def test_attributes_and_constants_agree_between_wide_and_long(penchant, folder, rows):
    (folder / "wide.csv").write_text(wide(rows))
    long = csv([[*row, row[0] % 5 + 0.5] for row in rows], [*HEADER, "income"])
    (folder / "long.csv").write_text(long)
    terms = ["--interact", "income", "--constants", "car", "--json"]
    one = document(penchant("fit", "wide.csv", *WIDE, *terms))
    other = document(penchant("fit", "long.csv", *terms))
    assert one["names"] == other["names"]
    assert one["names"][2:] == ["income:air", "income:bus", "constant:air", "constant:bus"]
    assert estimates(one) == pytest.approx(estimates(other), rel=1e-9)
    values = [k % 5 + 0.5 for k in range(1, 48)]
    expected = pn.fit(
        choices_of(rows).with_interaction("income", values, reference="car").with_constants("car")
    )
    assert estimates(other) == pytest.approx(expected.theta, rel=1e-9)


def test_numbered_options_are_found_by_what_one_types(penchant, folder, rows):
    numbered = [[row[0], OPTIONS.index(row[1]) + 1, *row[2:]] for row in rows]
    (folder / "numbers.csv").write_text(csv(numbered))
    content = document(penchant("fit", "numbers.csv", "--constants", "3", "--json"))
    assert content["names"][2:] == ["constant:1", "constant:2"]
    (folder / "wide.csv").write_text("choice,price_1,price_2\n1,2.5,3\n2,2.5,4\n2,6,3.5\n1,2,2.1\n")
    options = ["--wide", "--options", "1,2", "--explanatory", "price"]
    assert document(penchant("fit", "wide.csv", *options, "--json"))["status"] == "converged"


def test_a_tied_prior_moves_the_estimate_to_its_mean(penchant, rows):
    content = document(penchant("fit", "trips.csv", "--prior", "normal:2,1e-6", "--json"))
    assert content["method"] == "MAP"
    assert estimates(content) == pytest.approx([2, 2], abs=1e-6)


def test_priors_are_those_of_the_library(penchant, rows):
    content = document(penchant("fit", "trips.csv", "--prior", "normal:0.5,2", "--json"))
    expected = pn.fit(choices_of(rows), parameter_prior=pn.GaussianPrior(0.5, 4.0))
    assert estimates(content) == expected.theta.tolist()
    content = document(penchant("fit", "trips.csv", "--prior", "weak:2.5", "--json"))
    expected = pn.fit(choices_of(rows), parameter_prior=pn.ScaledPrior(2.5))
    assert estimates(content) == expected.theta.tolist()


def test_bounds_hold_and_are_said(penchant):
    ended = penchant("fit", "trips.csv", "--constraint", "price >= -0.1", "--json")
    content = document(ended)
    assert content["status"] == "at a bound"
    assert estimates(content)[0] == pytest.approx(-0.1)
    assert content["diagnostics"]["bounds"] == ["price >= -0.1"]
    assert "--intervals profile" in ended.err


def test_intervals_by_likelihood_ratio_replace_the_others(penchant, rows):
    content = document(
        penchant("fit", "trips.csv", "--intervals", "profile", "--level", "0.8", "--json")
    )
    found = [[parameter["low"], parameter["high"]] for parameter in content["parameters"]]
    np.testing.assert_allclose(found, pn.fit(choices_of(rows)).interval(0.8, "profile"), rtol=1e-9)
    assert content["intervals"] == "profile"


def test_firth_and_robust_errors_are_those_of_the_library(penchant, rows):
    content = document(penchant("fit", "trips.csv", "--method", "firth", "--json"))
    assert estimates(content) == pn.fit(choices_of(rows), method="firth").theta.tolist()
    content = document(penchant("fit", "trips.csv", "--covariance", "robust", "--json"))
    errors = [parameter["standard_error"] for parameter in content["parameters"]]
    assert errors == pn.fit(choices_of(rows), covariance="robust").standard_errors.tolist()


SEPARATED = "decision,option,chosen,price\n" + "".join(
    f"{k},a,1,{k + 1}\n{k},b,0,{k + 2.5}\n" for k in range(5)
)


def test_d24_no_estimate_is_exit_code_1_with_the_remedy(penchant, folder):
    (folder / "sure.csv").write_text(SEPARATED)
    ended = penchant("fit", "sure.csv")
    assert ended.code == 1
    assert "Use --method firth or --prior weak" in " ".join(ended.out.split())
    assert "method=" not in ended.out
    content = document(penchant("fit", "sure.csv", "--json"), code=1)
    assert content["parameters"][0]["standard_error"] is None
    assert penchant("fit", "sure.csv", "--method", "firth").code == 0
    assert penchant("fit", "sure.csv", "--prior", "weak").code == 0


def test_d12_one_decision_is_fitted_and_called_separated(penchant, folder):
    (folder / "one.csv").write_text("decision,option,chosen,price\n1,a,1,2.5\n1,b,0,4\n")
    assert document(penchant("fit", "one.csv", "--json"), code=1)["status"] == "separated"


def test_d13_too_few_decisions_are_counted(penchant, folder):
    (folder / "few.csv").write_text("decision,option,chosen,x,y\n1,a,1,2.5,3\n1,b,0,4,7\n")
    ended = penchant("fit", "few.csv")
    assert ended.code == 1
    assert "at least 1 more decision" in " ".join(ended.out.split())


UNIDENTIFIED = {
    "D20 constant": (lambda row: 4.5, "extra does not vary inside any choice set"),
    "D21 of the person": (lambda row: row[0] % 7, "interact extra with the options"),
    "D22 collinear": (lambda row: 2 * row[3], "is the same for all options"),
    "D26 zero": (lambda row: 0, "extra does not vary"),
}


@pytest.mark.parametrize("case", UNIDENTIFIED)
def test_what_cannot_be_told_apart_is_named(penchant, folder, rows, case):
    value, words = UNIDENTIFIED[case]
    (folder / "x.csv").write_text(csv([[*row, value(row)] for row in rows], [*HEADER, "extra"]))
    ended = penchant("fit", "x.csv", "--explanatory", "price,wait,extra")
    assert ended.code == 1
    assert words in " ".join(ended.out.split())


def test_a_column_that_is_the_same_for_all_options_is_left_out_and_named(penchant, folder, rows):
    (folder / "x.csv").write_text(csv([[*row, row[0] % 7] for row in rows], [*HEADER, "income"]))
    ended = penchant("fit", "x.csv")
    assert ended.code == 0 and ended.out == penchant("fit", "trips.csv").out
    assert "Note: income: the same for all options of a decision, and not used." in ended.err
    assert "interact income with the options." in ended.err


def test_d25_an_option_that_all_choose_is_said_to_be_one(penchant, folder, rows):
    always = [[*row[:2], int(row[1] == "car"), *row[3:]] for row in rows]
    (folder / "car.csv").write_text(csv(always))
    ended = penchant("fit", "car.csv", "--constants", "air", "--explanatory", "price")
    assert ended.code == 1
    assert "separated" in ended.out


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_d27_units_do_not_matter(penchant, folder, rows, factor):
    scaled = [[*row[:3], row[3] * factor, row[4]] for row in rows]
    (folder / "units.csv").write_text(csv(scaled))
    content = document(penchant("fit", "units.csv", "--json"))
    theta = pn.fit(choices_of(rows)).theta
    assert estimates(content) == pytest.approx([theta[0] / factor, theta[1]], rel=1e-7)


def test_d09_and_d15_uninformative_and_repeated_decisions_are_noted(penchant, folder, rows):
    repeated = [[row[0] + 100 * i, *row[1:]] for i in range(3) for row in rows]
    (folder / "x.csv").write_text(csv([[999, "air", 1, 2, 3], *repeated]))
    ended = penchant("fit", "x.csv")
    assert "1 decision with a single option: uninformative." in ended.err
    assert "repeat another exactly" in ended.err


def test_d17_and_d18_ids_stay_what_they_are(penchant, folder, rows):
    for name, make in {"padded": lambda k: f"{k:03}", "huge": lambda k: 2**63 + k}.items():
        (folder / f"{name}.csv").write_text(csv([[make(row[0]), *row[1:]] for row in rows]))
        assert document(penchant("fit", f"{name}.csv", "--json"))["n_decisions"] == 47


def test_steps_that_end_too_early_give_no_estimate(penchant):
    ended = penchant("fit", "trips.csv", "--max-steps", "1", "--json")
    assert document(ended, code=1)["status"] == "stopped early"
    assert "--max-steps" in ended.err


def test_some_valid_estimates_suffice_unless_all_are_asked_for(penchant):
    assert penchant("fit", "--example", "menu").code == 0
    assert penchant("fit", "--example", "menu", "--strict").code == 1
    assert penchant("fit", "trips.csv", "--strict").code == 0


def test_subjects_without_an_estimate_are_shown_with_the_reason(penchant):
    ended = penchant("fit", "--example", "menu")
    assert "separated: 3" in ended.out
    assert "For example s05: The choices are separated" in ended.out


def test_examples_come_with_their_model(penchant):
    content = document(penchant("fit", "--example", "travel-mode", "--json"))
    # Greene, Econometric Analysis, table 18.2
    assert content["log_likelihood"] == pytest.approx(-199.1284, abs=5e-5)
    assert content["names"][2] == "income:air"


def test_examples_may_be_given_another_model(penchant):
    options = ["--explanatory", "wait,vehicle_cost", "--json"]
    content = document(penchant("fit", "--example", "travel-mode", *options))
    assert content["names"] == ["wait", "vehicle_cost"]


def test_an_unknown_example_is_refused_with_those_there_are(refused):
    message = refused("fit", "--example", "tavel-mode")
    assert "--example must be one of delays, menu, travel-mode" in message
    assert "Did you mean 'travel-mode'?" in message


def test_names_of_variables_in_json_are_utf_8(penchant, folder, rows):
    (folder / "x.csv").write_text(csv(rows, [*HEADER[:3], "prix €", "wait"]), encoding="utf-8")
    assert json.loads(penchant("fit", "x.csv", "--json").out)["names"][0] == "prix €"

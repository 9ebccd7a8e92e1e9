"""Advice of the library as one types it."""

import pytest

from penchant.cli.words import on_command_line

SAID = {
    "pass missing='drop_set' to": "pass --missing drop-set to",
    "Pass delimiter=';'.": "Pass --delimiter ';'.",
    r"Pass delimiter='\t'.": r"Pass --delimiter '\t'.",
    "pass decimal=',' when reading the table.": "pass --decimal ,.",
    "such as encoding='cp1252' or 'latin-1'.": "such as --encoding cp1252 or latin-1.",
    "Pass weight_kind='probability' for": "Pass --weight-kind probability for",
    "mark options in `available`, or": "mark options in --available, or",
    "name `subject` or columns in `decision`.": "name --subject or columns in --decision.",
    "Use method='firth' or parameter_prior=ScaledPrior()": "Use --method firth or --prior weak",
    "Drop a variable, give a parameter_prior, or": "Drop a variable, use --prior weak, or",
    "interact income with the options": "use --interact income",
    "Allow more with max_steps;": "Allow more with --max-steps;",
    "path must be a file": "FILE must be a file",
    "output must not exist; pass overwrite to": "--output must not exist; pass --overwrite to",
    "level must lie between": "--level must lie between",
    "weight must name a column": "--weight must name a column",
    "weight must be the same": "weight must be the same",
    "frame must hold": "The table must hold",
    "Name `subject` and `block`, or": "Name --subject and --block, or",
    "noise_variance must be > 0": "--noise-variance must be > 0",
    "Check is_choice and scored.": "Check --is-choice and --scored.",
    "Read the profile intervals, widen": "Read --intervals profile, widen",
    "afresh, and add the rows that are missing, with an empty choice.": (
        "afresh, add the rows that are missing with an empty choice, or pass --decision none if "
        "the rows are in order of time."
    ),
    "so re-linearise or use the exact fit.": (
        "so linearise about another prior, or leave --linearized out."
    ),
}


@pytest.mark.parametrize("said", SAID)
def test_advice_names_options_and_not_arguments(said):
    assert on_command_line(said) == SAID[said]


@pytest.mark.parametrize("said", SAID)
def test_saying_it_twice_changes_nothing(said):
    assert on_command_line(SAID[said]) == SAID[said]

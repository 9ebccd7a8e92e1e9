"""Histories of play that cannot be used: exit code 2, what, where and what to do."""

import pytest

from cli.plays import HEADER, UCL, Q, played
from cli.trips import csv

FILE = "bad.csv"


def cell(line, column, value):
    """The table with one cell changed, at a line of the file."""

    def altered(rows):
        rows[line - 2][HEADER.index(column)] = value
        return csv(rows, HEADER)

    return altered


def plain(rows):
    return csv(rows, HEADER)


def given(**changed):
    """Options of the model with some changed, or left out if None."""
    options = dict(zip(UCL[::2], UCL[1::2], strict=True))
    options |= {"--" + name.replace("_", "-"): value for name, value in changed.items()}
    return [word for pair in options.items() if pair[1] is not None for word in pair]


# id: (content of the file, options, what the message must hold)
CASES = {
    "D29 options from 1": (
        lambda rows: csv([[*row[:3], row[3] + 1, row[4]] for row in rows], HEADER),
        UCL,
        ["whole numbers from 0 to 11; got 12 at line ", "counted from 1: pass --base 1."],
    ),
    "D29 option 0 with base 1": (cell(6, "chosen", 0), [*UCL, "--base", "1"], ["0 at line 6"]),
    "D48 reward missing": (
        cell(6, "reward", ""),
        UCL,
        ["at line 6 (subject ann, block 1, decision 5)", "Fill them"],
    ),
    "D50 gap": (
        lambda rows: csv([row for row in rows if row[2] != 7], HEADER),
        [*UCL, "--gaps", "error"],
        ["decision", "8 after 6 at line 8 (subject ann, block 1)", "Add a row"],
    ),
    "D50 twice": (
        cell(6, "decision", 4),
        UCL,
        ["4 again at line 6 (subject ann, block 1)", "--subject and --block"],
    ),
    "D50 from 5": (
        lambda rows: csv([[*row[:2], row[2] + 4, *row[3:]] for row in rows], HEADER),
        [*UCL, "--gaps", "error"],
        ["start at 0 or 1", "5 at line 2 (subject ann, block 1)", "--gaps order"],
    ),
    "D50 negative": (
        cell(2, "decision", -1),
        [*UCL, "--gaps", "error"],
        ["-1 at line 2", "0 or 1"],
    ),
    "D50 no number": (cell(6, "decision", 4.5), UCL, ["4.5 at line 6", "whole numbers"]),
    "D50 blocks not told apart": (
        plain,
        [*UCL, "--block", "none"],
        ["1 again at line 19 (subject ann)", "--block"],
    ),
    "D52 reward of letters": (
        cell(6, "reward", "lots"),
        UCL,
        ["column reward must hold numbers", "'lots' at line 6"],
    ),
    "D52 infinite reward": (cell(6, "reward", "inf"), UCL, ["inf at line 6 (subject ann"]),
    "D52 huge reward": (cell(6, "reward", "1e300"), UCL, ["1e+300 at line 6", "rescale"]),
    "D53 option beyond the grid": (
        cell(7, "chosen", 120),
        UCL,
        ["whole numbers from 0 to 11; got 120 at line 7.", "There are 12 options"],
    ),
    "D53 option beyond the number": (
        cell(7, "chosen", 120),
        Q,
        ["whole numbers from 0 to 11; got 120 at line 7.", "There are 12 options"],
    ),
    "D53 option not whole": (cell(7, "chosen", 2.5), UCL, ["whole numbers", "2.5 at line 7"]),
    "D53 no grid": (plain, given(grid=None), ["--grid or --locations", "neither", "10x10"]),
    "D53 wrong grid": (plain, given(grid="4by3"), ["--grid", "'4by3'", "10x10"]),
    "D53 empty grid": (plain, given(grid="0x3"), ["--grid", "'0x3'"]),
    "D55 no noise": (plain, given(noise_variance="0"), ["--noise-variance must be > 0", "0"]),
    "D55 noise below 0": (plain, given(noise_variance="-1"), ["--noise-variance", "-1"]),
    "D55 noise infinite": (plain, given(noise_variance="inf"), ["--noise-variance", "inf"]),
    "D55 noise not given": (plain, given(noise_variance=None), ["--noise-variance", "none"]),
    "D55 scale below 0": (plain, given(length_scale="-2"), ["--length-scale must be >= 0", "-2"]),
    "D55 scale no number": (plain, given(length_scale="nan"), ["--length-scale", "nan"]),
    "D55 nominal variance 0": (
        plain,
        [*UCL, "--linearized", "20,0"],
        ["--linearized", "variance must be > 0"],
    ),
    "D55 nominal infinite": (plain, [*UCL, "--linearized", "20,inf"], ["variance", "inf"]),
    "D55 nominal mean": (plain, [*UCL, "--linearized", "nan,20"], ["mean must be finite"]),
    "D60 nominal of one number": (plain, [*UCL, "--linearized", "20"], ["'20'", "200,1e6"]),
    "D60 nominal with two lengths": (
        plain,
        [*UCL, "--linearized", "20,3,2"],
        ["MEAN,VARIANCE where --length-scale", "'20,3,2'"],
    ),
    "D60 nominal without a length": (
        plain,
        [*given(length_scale=None), "--linearized", "20,3"],
        ["MEAN,VARIANCE,LENGTH", "--length-scale"],
    ),
    "D60 linearised learning": (plain, [*Q, "--linearized", "2,3"], ["--linearized", "q-learning"]),
    "D60 linearised prior": (
        plain,
        [*UCL, "--linearized", "2,3", "--prior", "weak"],
        ["--prior must be left out with --linearized"],
    ),
    "D60 grid of a learner": (plain, [*Q, "--grid", "4x3"], ["--grid", "q-learning"]),
    "D60 other labels": (plain, [*Q[:3], "a,b"], ["must hold the codes a, b", "at line 2"]),
    "D60 a word as a number": (plain, [*Q[:3], "many"], ["--options must be a number", "many"]),
    "D60 one option": (plain, [*Q[:3], "1"], ["--options", "at least 2"]),
    "D60 variables": (plain, [*UCL, "--explanatory", "reward"], ["--explanatory must be left out"]),
    "D60 constants": (plain, [*UCL, "--constants", "3"], ["--constants must be left out"]),
    "D60 Firth": (plain, [*UCL, "--method", "firth"], ["--method must be left out with --model"]),
    "D60 no model": (plain, ["--grid", "4x3"], ["--grid", "--model ucl"]),
    "D60 no model for a reward": (plain, ["--reward", "reward"], ["--reward", "--model ucl"]),
    "D60 unknown model": (plain, ["--model", "ulc"], ["ulc", "ucl"]),
    "D60 base": (plain, [*UCL, "--base", "2"], ["--base must be 0 or 1"]),
    "D60 two decisions": (plain, [*UCL, "--decision", "block,decision"], ["--decision", "--block"]),
    "D33 no choice": (
        lambda rows: csv(rows, [*HEADER[:3], "square", "reward"]),
        UCL,
        ["Which column says what was chosen?", "--chosen square", "Add an option"],
    ),
    "D33 no reward": (
        lambda rows: csv(rows, [*HEADER[:4], "stuff"]),
        UCL,
        ["Which column says what the choice paid", "--reward stuff", "Add an option"],
    ),
    "D33 unknown block": (plain, [*UCL, "--block", "blok"], ["--block", "mean 'block'"]),
    "D19 subject missing": (cell(6, "subject", ""), UCL, ["subject", "line 6"]),
    "D11 no choice at all": (
        lambda rows: csv([[*row[:3], "", ""] for row in rows], HEADER),
        [*UCL, "--pool"],
        ["column chosen must hold choices; got empty cells alone", "Name another column"],
    ),
    "D35 column used twice": (
        plain,
        [*UCL, "--block", "subject", "--subject", "subject"],
        ["'subject'", "Give each"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_play_is_refused_with_its_place_and_the_remedy(case, refused, folder):
    content, options, words = CASES[case]
    (folder / FILE).write_text(content(played()))
    message = refused("fit", FILE, *options)
    assert all(word in message for word in words), message


def test_no_file_is_refused(refused):
    assert "FILE must be given with --model" in refused("fit", *UCL)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n0,0\n1,0\n0,0\n", ["--locations must differ", "(0.0, 0.0) at options 0 and 2"]),
        ("x,y\n0,0\n1,\n", ["--locations must be finite", "option 1"]),
        ("a,b\n0,0\n1,0\n", ["--locations must have columns x, y or z", "a, b"]),
        ("option,x\n0,0\n2,1\n", ["in order", "option 2 at line 3"]),
        ("x,y\n0,0\n1,0\n", ["whole numbers from 0 to 1", "at line 2", "There are 2 options"]),
    ],
)
def test_d53_locations_that_are_wrong_are_refused(text, words, refused, folder):
    (folder / FILE).write_text(plain(played()))
    (folder / "places.csv").write_text(text)
    message = refused("fit", FILE, *UCL[:2], "--locations", "places.csv", *UCL[4:])
    assert all(word in message for word in words), message


@pytest.mark.parametrize("command", ["fit", "study"])
def test_one_row_per_subject_is_taken_apart_and_its_rewards_are_asked_for(command, refused, folder):
    header = ["id", *(f"Choice_{k}" for k in range(1, 31))]
    (folder / FILE).write_text(csv([[who] + [1, 2] * 15 for who in "ab"], header))
    more = ["--output", "results"] if command == "study" else []
    words = refused(command, FILE, "--model", "q-learning", *more)
    assert "Which column says what the choice paid, in this trial alone?" in words
    assert "--reward COLUMN" in words

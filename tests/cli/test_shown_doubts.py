"""`penchant check`: a first option that was shown may have been read as a choice."""

import pytest

from cli.plays import HEADER, played
from cli.trips import csv

HINT = "pass --shown 1 if the option of number 0 was shown, not chosen"


def from_0(rows):
    return [[*row[:2], row[2] - 1, *row[3:]] for row in rows]


@pytest.fixture
def check(penchant, folder):
    def _check(rows, header, *options):
        (folder / "play.csv").write_text(csv(rows, header))
        ended = penchant("check", "play.csv", *options)
        assert ended.code == 0, ended.err
        return ended.out

    return _check


def test_places_numbered_from_0_ask_whether_the_first_was_shown(check):
    rows = [[*row[:3], row[3] % 4, row[3] // 4, row[4]] for row in from_0(played())]
    header = ["subject", "block", "trial", "x", "y", "reward"]
    assert f"and options are places: {HINT}" in check(rows, header)
    said = check(rows, header, "--shown", "1")
    assert "64 trials included of 68 events" in said and HINT not in said


def test_a_doubt_is_said_once_where_the_result_holds_it_and_before_a_fit(penchant, folder):
    rows = [[*row, 16] for row in from_0(played())]
    (folder / "play.csv").write_text(csv(rows, [*HEADER, "horizon"]))
    checked = penchant("check", "play.csv")
    assert checked.out.count(HINT) == 1 and HINT not in checked.err
    as_json = penchant("check", "play.csv", "--json")
    assert as_json.out.count(HINT) == 1 and HINT not in as_json.err
    assert HINT in penchant("fit", "play.csv", "--model", "q-learning").err


def test_a_horizon_one_less_than_the_events_asks_too(check):
    rows = [[*row, 16] for row in from_0(played())]
    said = check(rows, [*HEADER, "horizon"])
    assert f"horizon is one less than the events of every block: {HINT}" in said
    longer = [[*row[:5], 17] for row in rows]
    assert HINT not in check(longer, [*HEADER, "horizon"])


def test_other_tables_are_not_asked(check):
    assert HINT not in check(from_0(played()), HEADER)
    assert HINT not in check([[*row, 16] for row in played()], [*HEADER, "horizon"])
    flagged = [[*row, 16, int(row[2] > 0)] for row in from_0(played())]
    assert HINT not in check(flagged, [*HEADER, "horizon", "is_choice"])


def test_an_option_of_play_alone_says_that_a_table_is_one(check):
    rows, header = from_0(played()), ["subject", "block", "trial", "tile_no", "gold"]
    options = ["--chosen", "tile_no", "--reward", "gold", "--shown", "1"]
    assert "64 trials included of 68 events" in check(rows, header, *options)

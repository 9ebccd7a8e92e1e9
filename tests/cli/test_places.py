"""Tables in which a choice is a place: what is said of them, and what to add."""

import json

import pytest

from cli.plays import HEADER, HEIGHT, UCL, WIDTH, played
from cli.trips import csv

FILE = "places.csv"


@pytest.fixture
def places(folder):
    """The same play with columns x and y, counted from here on, instead of numbers."""

    def _places(base=0):
        header = [*HEADER[:3], "x", "y", "reward"]
        rows = [[*r[:3], r[3] % WIDTH + base, r[3] // WIDTH + base, r[4]] for r in played()]
        (folder / FILE).write_text(csv(rows, header))
        return FILE

    return _places


@pytest.mark.parametrize(("base", "more"), [(0, ""), (1, " --base 1")])
def test_check_says_where_places_lie_and_what_to_add(penchant, places, base, more):
    ended = penchant("check", places(base), *more.split())
    assert ended.code == 0, ended.err
    assert f"x from {base} to {WIDTH - 1 + base}, y from {base} to {HEIGHT - 1 + base}" in ended.out
    assert f"--model ucl --grid {WIDTH}x{HEIGHT}{more} --noise-variance VARIANCE" in ended.out


def test_what_check_advises_works(penchant, places):
    where = json.loads(penchant("check", places(), "--json").out)["where"]
    assert where == f"--grid {WIDTH}x{HEIGHT}"
    assert penchant("check", FILE, *where.split()).code == 0
    assert penchant("check", FILE, *UCL).code == 0


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("command", ["check", "fit"])
def test_the_map_counts_places_as_the_file_does(penchant, places, command, base):
    ended = penchant(command, places(base), *UCL, "--base", base)
    assert ended.code == 0, ended.err
    ends = f"from ({base}, {base}) to ({WIDTH - 1 + base}, {HEIGHT - 1 + base})"
    first = f"results call that at ({base}, {base}) option 0, at ({1 + base}, {base}) option 1."
    assert f"Map: {WIDTH * HEIGHT} options, {ends}; {first}" in ended.err
    assert "option = x" not in ended.err


def test_check_compares_places_with_a_grid(refused, places):
    assert "chosen must lie where an option is; got (3, " in refused(
        "check", places(), "--grid", "3x3"
    )


@pytest.mark.parametrize("command", ["fit", "check", "study"])
def test_models_without_places_say_which_models_have_them(refused, places, command):
    more = ["-o", "results"] if command == "study" else []
    said = refused(command, places(), "--model", "q-learning", *more)
    assert "got places, columns x and y. Say where the options lie, such as --grid" in said

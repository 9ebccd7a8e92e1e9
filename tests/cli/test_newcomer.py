"""What somebody meets on the first day: slips that are told, and tables that can be read."""

import sys

import pytest

from cli.plays import HEADER, played
from cli.trips import csv
from penchant.cli.terminal import say, wrap_text

SCHEMA = ("--schema", "reading.toml")


@pytest.fixture
def play(folder):
    """A history of play of three options as play.csv, numbered from here on."""

    def _play(base):
        rows = [[*row[:3], row[3] % 3 + base, row[4]] for row in played()]
        (folder / "play.csv").write_text(csv(rows, HEADER))
        return "play.csv"

    return _play


def test_options_counted_from_1_are_not_taken_for_one_option_more(play, penchant):
    from_1 = penchant("fit", play(1), "--model", "q-learning")
    assert from_1.code == 0 and "Options: 3" in from_1.err
    assert from_1.out == penchant("fit", play(0), "--model", "q-learning").out


@pytest.mark.parametrize("meant", [["--base", "1"], ["--options", "4"]])
def test_either_way_of_counting_can_be_meant(play, penchant, meant):
    assert penchant("fit", play(1), "--model", "q-learning", *meant).code == 0


def test_options_counted_from_0_need_no_word(play, penchant):
    ended = penchant("fit", play(0), "--model", "q-learning")
    assert ended.code == 0
    assert "Options: 3, as the largest number says" in ended.err


def test_a_history_of_play_without_a_model_is_told_to_name_one(play, refused):
    said = refused("fit", play(0))
    assert "--model must be given with task data" in said
    assert "penchant models lists them" in said


def test_places_of_wrong_options_are_ten_and_their_number(play, refused):
    said = refused("fit", play(0), "--model", "q-learning", "--options", "2")
    assert "chosen must hold whole numbers from 0 to 1; got 2 at line 3, 2 at line 6" in said
    assert said.count("2 at line") == 10 and "(... 30 in all). There are 2 options" in said


def test_a_table_of_many_parameters_goes_on_below(play, penchant):
    settings = "stickiness,bias,choice_kernel,dual_rates"
    ended = penchant("fit", play(0), "--model", "q-learning", "--settings", settings)
    lines = ended.out.splitlines()
    assert max(map(len, lines)) <= 100
    assert sum(line.startswith("subject ") for line in lines) > 1
    assert sum(line.startswith("ann ") for line in lines) > 1


def test_the_list_of_models_fits_a_page(penchant):
    assert max(map(len, penchant("models").out.splitlines())) <= 100


@pytest.mark.parametrize("data", [["--example", "menu"], ["trips.csv", "--subject", "who"]])
def test_words_of_a_check_fit_a_page(penchant, folder, data):
    rows = (folder / "trips.csv").read_text().splitlines()
    who = ["who", *(["ann", "bob"][i % 2] for i in range(len(rows) - 1))]
    (folder / "trips.csv").write_text("\n".join(f"{a},{b}" for a, b in zip(rows, who, strict=True)))
    ended = penchant("check", *data)
    assert max(map(len, ended.out.splitlines()), default=0) <= 100


def test_intervals_that_were_asked_for_are_shown(penchant):
    ended = penchant("fit", "--example", "menu", "--intervals", "profile", "--level", "0.9")
    assert "(90 %)" in ended.out and "(s.e.)" not in ended.out
    row = next(line for line in ended.out.splitlines() if line.startswith("s05 "))
    assert "-inf to -5.91" in row


def test_intervals_of_a_model_are_shown_too(play, penchant):
    ended = penchant("fit", play(0), "--model", "q-learning", "--intervals", "profile")
    assert "(95 %)" in ended.out and " to " in ended.out


def test_a_terminal_gets_whole_words_and_a_pipe_one_line(monkeypatch, capsys):
    words = "penchant: " + " ".join(["--noise-variance"] * 20)
    say(words)
    assert capsys.readouterr().err == f"{words}\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    say(words)
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 60
    assert {word for line in lines[1:] for word in line.split()} == {"--noise-variance"}


def test_lines_stay_lines():
    assert wrap_text("one\n\ntwo", 20) == "one\n\ntwo"


def test_commands_are_listed_in_the_order_one_needs_them(penchant):
    text = penchant("--help").out
    order = ["fit", "check", "models", "study", "compare", "predict", "simulate", "recover"]
    places = [text.index(f"│ {command} ") for command in [*order, "reproduce"]]
    assert places == sorted(places)


def test_help_is_not_broken_inside_a_sentence(penchant):
    """A line ends at the edge, or its paragraph does: lines of the source are not kept."""
    text = penchant("fit", "--help-all").out
    assert 'or --model); "-" reads stdin.' in " ".join(text.split())


@pytest.mark.parametrize("command", ["fit", "check", "study"])
def test_a_word_among_numbers_of_options_is_asked_about(play, folder, refused, penchant, command):
    lines = (folder / play(0)).read_text().splitlines()
    cells = lines[7].split(",")
    cells[3] = "miss"
    lines[7] = ",".join(cells)
    (folder / "play.csv").write_text("\n".join(lines))
    more = ["-o", "results"] if command == "study" else []
    said = refused(command, "play.csv", "--model", "q-learning", *more)
    assert "play.csv: schema must say what is open; got 2 questions." in said
    assert "1. miss in chosen may be an option, or a mark. Which codes are options" in said
    answers = "choice.labels = [0, 1, 2]", 'choice.missed = ["miss"]'
    assert all(answer in said for answer in answers)
    (folder / "reading.toml").write_text("\n".join(answers))
    ended = penchant(command, "play.csv", "--model", "q-learning", *more, *SCHEMA)
    assert ended.code == 0 and "Note: 1 decision that nobody made." in ended.err


def test_a_word_may_be_an_option(play, folder, penchant):
    rows = [[*row[:3], "safe" if row[3] % 3 == 2 else row[3] % 3, row[4]] for row in played()]
    (folder / play(0)).write_text(csv(rows, HEADER))
    options = ["--model", "random", "--options", "0,1,safe"]
    assert penchant("fit", "play.csv", *options).code == 0


@pytest.mark.parametrize(
    ("model", "rival"),
    [
        ("q-learning", "--model random, which learns nothing"),
        ("random", "--model q-learning"),
        ("hyperbolic", "--model exponential"),
        ("exponential", "--model hyperbolic"),
        ("prospect", "--model expected-utility"),
    ],
)
def test_one_model_alone_is_not_compared(play, refused, model, rival):
    said = refused("compare", play(0), "--model", model)
    assert f"--model must be given twice or more; got {model} alone. Add another, such as" in said
    assert rival in said and "penchant fit for one model" in said


def test_a_study_asks_for_its_model(play, refused):
    said = refused("study", play(0), "-o", "results")
    assert "--model must be given; got none. Try --model q-learning" in said


def test_a_study_of_places_says_that_its_model_is_the_papers(play, penchant):
    ended = penchant("study", play(0), "-o", "results", "--grid", "3x1")
    assert "Model: ucl, as options have places; --model for another." in ended.err
    assert ended.code == 2 and "--noise-variance must be given" in ended.err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["fit", "x.csv", "--model", "qlearning"], "--model must be a model of penchant models; "),
        (["fit", "x.csv", "--model", "qlearning"], "got 'qlearning'. Did you mean q-learning?"),
        (["fit", "x.csv", "--intervals", "prof"], "--intervals must be one of wald, profile, "),
        (["fit", "x.csv", "--level", "abc"], "--level must be a number; got 'abc'. See penchant"),
        (["fit", "x.csv", "--threads", "two"], "--threads must be a whole number; got 'two'. "),
        (["fit", "x.csv", "--model"], "--model must be given a value; got none. See penchant fit"),
        (["help", "fti"], 'Unknown command "fti". Did you mean "fit"?'),
    ],
)
def test_what_is_typed_wrongly_is_answered_by_a_rule(penchant, typed, said):
    ended = penchant(*typed)
    assert ended.code == 2 and said in ended.error, ended.err


@pytest.mark.parametrize("command", ["study", "compare", "predict"])
def test_a_table_without_a_model_is_answered_by_what_it_holds(penchant, folder, command):
    own = ["-o", "out"] if command == "study" else []
    rows = ["id,amount_now,delay_now,amount_later,delay_later,choice"]
    rows += [
        f"p{k % 3},{5 + k},0,{15 + k},{7 * k},{'now' if k % 2 else 'later'}" for k in range(12)
    ]
    (folder / "delays.csv").write_text("\n".join(rows) + "\n")
    ended = penchant(command, "delays.csv", *own)
    assert "one-shot choices between offers.\nTry --model hyperbolic" in ended.err
    rows = ["who,task,cost_A,cost_B,choice"]
    rows += [f"r{k % 3},{k},{5 + k},{9 - k},{('A', 'B', 'none')[k % 3]}" for k in range(12)]
    (folder / "survey.csv").write_text("\n".join(rows) + "\n")
    ended = penchant(command, "survey.csv", *own)
    assert ended.code == 2 and "none in choice may be an option, or a mark" in ended.err

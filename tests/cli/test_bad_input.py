"""The catalogue of bad input: exit code 2, what, where and what to do, and nothing touched."""

import gzip
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.trips import HEADER, OPTIONS, csv

FILE = "bad.csv"


def cell(line, column, value):
    """The table with one cell changed, at a line of the file."""

    def altered(rows):
        rows[line - 2][HEADER.index(column)] = value
        return csv(rows)

    return altered


def column(name, value):
    """The table with one more column, its cells made from the row."""
    return lambda rows: csv([[*row, value(row)] for row in rows], [*HEADER, name])


def chosen(value):
    """The table with another way to mark the choice, made from the row."""
    return lambda rows: csv([[*row[:2], value(row), *row[3:]] for row in rows])


def none_chosen(rows):
    return csv([[*row[:2], 0 if row[0] == 2 else row[2], *row[3:]] for row in rows])


def two_chosen(rows):
    return csv([[*row[:2], 1 if row[0] == 2 else row[2], *row[3:]] for row in rows])


def labelled(rows, wrong):
    """The table with the label of the chosen option, wrong in decision 7."""
    taken = {row[0]: row[1] for row in rows if row[2]} | {7: wrong}
    return chosen(lambda row: taken[row[0]])(rows)


# id: (content of the file, options, what the message must hold)
CASES = {
    "D01 empty cell": (cell(6, "price", ""), [], ["price", "line 6", "bus", "--missing drop-set"]),
    "D01 NULL": (cell(9, "wait", "NULL"), [], ["wait", "line 9", "--missing drop-set"]),
    "D02 infinite cell": (cell(6, "price", "-inf"), [], ["price", "line 6", "--available"]),
    "D04 none chosen": (none_chosen, [], ["decision 2", "line 5", "--missing drop-set"]),
    "D05 two chosen": (two_chosen, [], ["decision 2", "line 5", "Mark one"]),
    "D05 reused ids": (
        lambda rows: csv(rows + rows[:3]),
        [],
        ["line 2", "line 143", "Decision 1 appears in two blocks (line 2 to 4, line 143 to 145)"],
    ),
    "D06 yes and no": (
        chosen(lambda row: "yes" if row[2] else "no"),
        [],
        ["'no' at line ", "'yes' at line ", "0/1"],
    ),
    "D07 text among numbers": (
        cell(6, "price", "cheap"),
        [],
        ["column price must hold numbers", "'cheap' at line 6"],
    ),
    "D07 text among numbers that were named": (
        cell(6, "price", "cheap"),
        ["--explanatory", "price,wait"],
        ["column price must hold numbers", "'cheap' at line 6"],
    ),
    "D08 decimal comma": (
        lambda rows: csv(
            [[*row[:3], f"{row[3]:.2f}".replace(".", ","), 2] for row in rows], sep=";"
        ),
        [],
        ["column price", "'2,90' at line 2", "Pass --decimal , if these are numbers."],
    ),
    "D08 percentage": (
        column("share", lambda row: "30%" if row[1] == "bus" else row[3]),
        [],
        ["share must be in one unit", "'30%' at line 3", "in one."],
    ),
    "D10 single options": (
        lambda rows: csv([row for row in rows if row[2]]),
        [],
        ["47 decisions of one option", "Add the rows of the options that were not chosen"],
    ),
    "D11 empty file": (lambda rows: "", [], ["empty file", "Check"]),
    "D11 header only": (lambda rows: csv([]), [], ["0 rows", "filter"]),
    "D11 all dropped": (
        column("gap", lambda row: ""),
        ["--missing", "drop-set", "--explanatory", "price,gap"],
        ["0 decisions", "47 decisions"],
    ),
    "D14 row twice": (
        lambda rows: csv([*rows[:4], rows[3], *rows[4:]]),
        [],
        ["line 5 and line 6", "air", "Drop"],
    ),
    "D19 id missing": (cell(6, "decision", ""), [], ["'decision'", "line 6", "Fill or drop"]),
    "D30 unknown label": (
        lambda rows: labelled(rows, "aira"),
        [],
        ["'aira' at line 20", "Did you mean 'air'"],
    ),
    "D33 missing column": (
        csv,
        ["--explanatory", "price,wiat"],
        ["--explanatory", "'wiat'", "price, wait", "Did you mean 'wait'"],
    ),
    "D33 no decision": (
        lambda rows: csv(rows, ["k", *HEADER[1:]]),
        [],
        ["What is the table?", 'kind = "choices"', "--schema reading.toml"],
    ),
    "D34 duplicate names": (
        lambda rows: csv(rows, [*HEADER[:4], "price"]),
        [],
        ["'price' at columns 4 and 5", "Rename"],
    ),
    "D35 column used twice": (
        csv,
        ["--explanatory", "price,decision"],
        ["'decision'", "Give each"],
    ),
    "D36 Latin letters": (
        lambda rows: csv(rows).replace("bus", "bús").encode("latin-1"),
        [],
        ["byte 0xfa", "offset", "line 3", "--encoding cp1252"],
    ),
    "D36 UTF-16": (lambda rows: csv(rows).encode("utf-16-le"), [], ["line 1", "--encoding utf-16"]),
    "D37 wrong delimiter": (csv, ["--delimiter", ";"], ["--delimiter", "line 1", "--delimiter ,"]),
    "D37 ragged": (
        lambda rows: csv([*rows[:4], rows[4][:3], *rows[5:]]),
        [],
        ["3 on line 6", "Complete"],
    ),
    "D37 open quote": (
        lambda rows: csv(rows).replace("5,bus", '5,"bus', 1),
        [],
        ["line 15", "Close it"],
    ),
    "D37 NUL byte": (lambda rows: csv(rows) + "9,\0,1,1,1\n", [], ["NUL", "line 143", "Remove"]),
    "D38 truncated gzip": (
        lambda rows: gzip.compress(csv(rows).encode())[:-40],
        [],
        ["truncated after line", "again"],
    ),
    "D38 zip": (lambda rows: b"PK\x03\x04" + bytes(60), [], ["zip", "Unzip"]),
    "D38 truncated Parquet": (lambda rows: b"PAR1" + bytes(60), [], ["truncated", "again"]),
    "D41 negative weight": (
        column("weight", lambda row: -1 if row[0] == 3 else 2),
        [],
        ["-1 at decision 3", "Correct"],
    ),
    "D41 missing weight": (
        column("weight", lambda row: "" if row[0] == 3 else 2.5),
        [],
        ["weight", "line 8", "Fill"],
    ),
    "D41 weights of nothing": (column("weight", lambda row: 0), [], ["weights", "0"]),
    "D41 varying weight": (
        column("weight", lambda row: OPTIONS.index(row[1]) + 2),
        [],
        ["weight", "line 2", "Give each"],
    ),
    "D41 fractional frequency": (
        column("weight", lambda row: 1.5),
        ["--weight-kind", "frequency"],
        ["1.5 at decision 1", "--weight-kind probability"],
    ),
    "D42 one cluster": (
        column("subject", lambda row: "ann"),
        ["--subject", "subject", "--covariance", "clustered"],
        ["--subject", "two clusters", "--covariance robust"],
    ),
    "D42 cluster missing": (
        column("who", lambda row: "" if row[0] == 2 else row[0] % 5),
        ["--subject", "who", "--covariance", "clustered"],
        ["'who'", "line 5", "Fill or drop"],
    ),
    "D42 no cluster": (csv, ["--covariance", "clustered"], ["Name their column with --subject"]),
    "D47 dates": (
        column("day", lambda row: f"2021-03-0{OPTIONS.index(row[1]) + 1}"),
        [],
        ["day may be codes or labels", "--explanatory price,wait", "Add an option"],
    ),
    "D58 sd below 0": (csv, ["--prior", "normal:0,-2"], ["normal:0,-2", "above 0"]),
    "D58 sd of 0": (csv, ["--prior", "normal:0,0"], ["normal:0,0", "above 0"]),
    "D58 no size": (csv, ["--prior", "normal:1"], ["normal:MEAN,SD", "--prior weak"]),
    "D58 infinite mean": (csv, ["--prior", "normal:inf,1"], ["mean", "finite"]),
    "D58 weak by 0": (csv, ["--prior", "weak:0"], ["--prior weak:C", "positive"]),
    "D58 weak by a letter": (csv, ["--prior", "weak:e"], ["'weak:e'", "Try"]),
    "D59 level in percent": (csv, ["--level", "95"], ["--level", "mean 0.95"]),
    "D59 level of 1": (csv, ["--level", "1"], ["--level", "between 0 and 1"]),
    "D59 level of 0": (csv, ["--level", "0"], ["--level", "0.95"]),
    "D59 level not a number": (csv, ["--level", "nan"], ["--level", "0.95"]),
    "D60 unknown option": (csv, ["--methd", "ml"], ["--methd", "--method", "penchant fit --help"]),
    "D60 unknown method": (csv, ["--method", "firht"], ["firht", "firth"]),
    "D60 no steps": (csv, ["--max-steps", "0"], ["--max-steps", "at least 1"]),
    "D60 no threads": (csv, ["--threads", "0"], ["--threads", "at least 1"]),
    "D60 not whole": (csv, ["--max-steps", "2.5"], ["--max-steps", "2.5"]),
    "D60 not a number": (csv, ["--threads", "two"], ["--threads", "two"]),
    "D60 two files": (csv, ["more.csv"], ["more.csv", "commas"]),
    "D60 file and example": (csv, ["--example", "menu"], ["both", "Try"]),
    "D60 no bound": (csv, ["--constraint", "price=0"], ["price=0", "'price<=0'"]),
    "D60 bound of a stranger": (
        csv,
        ["--constraint", "prise<=0"],
        ["prise", "Did you mean 'price'"],
    ),
    "D60 bounds that contradict": (
        csv,
        ["--constraint", "price<=0", "--constraint", "price>=1"],
        ["--constraint", "contradict", "Remove one"],
    ),
    "D60 prior and Firth": (
        csv,
        ["--method", "firth", "--prior", "weak"],
        ["--method firth", "Drop one"],
    ),
    "D60 unknown reference": (csv, ["--constants", "cra"], ["--constants", "'air'", "mean 'car'"]),
    "D60 interaction that varies": (
        csv,
        ["--interact", "wait"],
        ["wait", "the same for all options"],
    ),
    "D33 no attribute": (csv, ["--interact", "incme"], ["--interact", "'incme'", "option, chosen"]),
    "D60 unknown encoding": (csv, ["--encoding", "utf-9"], ["--encoding", "utf-9"]),
    "D61 no folder": (csv, ["-o", "none/x.csv"], ["--output", "none", "Create"]),
    "D61 a folder": (csv, ["-o", "."], ["--output", "end in"]),
    "D61 unknown ending": (csv, ["-o", "x.doc"], ["--output", ".csv", "x.doc"]),
    "D62 exists": (csv, ["-o", "trips.csv"], ["trips.csv", "--overwrite"]),
    "D62 is the input": (csv, ["-o", f"./{FILE}", "--overwrite"], ["file that is read", "another"]),
}


OF_FIT_ALONE = ("D42", "D58", "D59", "D60", "D61", "D62")
RUNS = [("fit", case) for case in CASES]
RUNS += [("check", case) for case in CASES if not case.startswith(OF_FIT_ALONE)]


@pytest.mark.parametrize(("command", "case"), RUNS)
def test_bad_input_is_refused_with_its_place_and_the_remedy(command, case, refused, folder, rows):
    content, options, words = CASES[case]
    made = content(rows)
    (folder / FILE).write_bytes(made if isinstance(made, bytes) else made.encode())
    message = refused(command, FILE, *options)
    assert all(word in message for word in words), message
    if not options or "--missing" in options:
        assert FILE in message


def test_d01_an_empty_cell_among_whole_numbers_is_refused(refused, folder, rows):
    rows = [[*row, row[0] % 7 if row[1] == "bus" else 3] for row in rows]
    rows[4][5] = ""
    (folder / FILE).write_text(csv(rows, [*HEADER, "stops"]))
    assert "stops at line 6" in refused("fit", FILE, "--explanatory", "price,wait,stops")


def test_d29_options_counted_from_1_are_asked_about(refused, folder):
    (folder / FILE).write_text("choice,price_0,price_1\n1,2.5,3\n2,2.5,4\n")
    wide = ["--wide", "--options", "0,1", "--explanatory", "price"]
    said = refused("fit", FILE, *wide)
    assert "choice also holds 2. Are these decisions that nobody made?" in said


def test_d29_an_option_out_of_range_is_named_with_its_line(refused, folder):
    (folder / FILE).write_text("choice,price_0,price_1\n0,2.5,3\n\n7,2.5,4\n")
    (folder / "reading.toml").write_text("choice.missed = []")
    wide = ["--wide", "--options", "0,1", "--explanatory", "price"]
    assert "choice also holds 7" in refused("fit", FILE, *wide)
    said = refused("fit", FILE, *wide, "--schema", "reading.toml")
    assert "column choice must hold" in said and "7 at line 4" in said


def test_a_cell_of_one_row_per_decision_is_named_with_its_line(refused, folder):
    lines = ["choice,price_car,price_bus", *["car,2.5,3", "bus,3,2"] * 20]
    lines[5] = "car,2.5,"
    (folder / FILE).write_text("\n".join(lines))
    said = refused("fit", FILE)
    assert "price at line 6 (decision 4, option bus)" in said and "--missing drop-set" in said


def test_d34_columns_without_a_name_are_called_by_their_place(penchant, folder, rows):
    (folder / FILE).write_text(csv([[*row, row[3] % 1] for row in rows], [*HEADER, ""]))
    assert "column 6" in penchant("fit", FILE).out


def test_d40_a_missing_file_is_refused_and_the_nearest_named(refused):
    assert "'trips.csv'" in refused("fit", "trip.csv")


def test_d40_a_folder_without_tables_is_refused(refused, folder):
    (folder / "empty").mkdir()
    assert "FILE must be a folder with tables; got empty" in refused("fit", "empty")


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_d40_a_named_pipe_is_refused_and_not_waited_for(refused, folder):
    os.mkfifo(folder / "pipe")
    assert "pipe or device" in refused("fit", "pipe")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_d40_a_file_without_permission_is_refused(refused, folder):
    (folder / "trips.csv").chmod(0)
    assert "no permission" in refused("check", "trips.csv")


def test_d40_nothing_to_read_is_refused(refused):
    assert "neither" in refused("fit")


def test_d31_labels_that_differ_by_case_are_kept_apart_with_a_warning(penchant, folder, rows):
    rows[4][1] = "Bus"
    (folder / FILE).write_text(csv(rows))
    ended = penchant("fit", FILE)
    assert ended.code == 0
    assert "Warning: option holds labels that differ by case or spaces only: 'Bus'" in ended.err
    assert ".py" not in ended.err


def test_up_to_ten_places_are_shown_and_all_counted(refused, folder, rows):
    (folder / FILE).write_text(csv([[*row[:3], "", row[4]] for row in rows]))
    message = refused("fit", FILE, "--explanatory", "price,wait")
    assert message.count("at line") == 10
    assert "(... 141 in all)" in message


def test_lines_are_counted_as_the_file_has_them(refused, folder, rows):
    rows[5][3] = ""
    lines = csv(rows).splitlines()
    text = "\n".join([*lines[:2], "", "", *lines[2:]]).replace("1,bus", '1,"b\nus"', 1)
    (folder / FILE).write_text(text + "\n")
    assert "price at line 10 (decision 2" in refused("fit", FILE)


def test_rows_of_a_parquet_file_stay_rows(refused, folder):
    table = {"decision": [1, 1, 2, 2], "option": ["a", "b"] * 2, "chosen": [1, 0] * 2}
    table["price"] = [2.5, None, 4.5, 3.5]
    pq.write_table(pa.table(table), folder / "bad.parquet")
    assert "price at row 1 (decision 1, option b)" in refused("fit", "bad.parquet")


def test_a_subject_that_was_not_named_is_pointed_out(penchant, folder, rows):
    rows = [[f"s{row[0] % 3}", *row] for row in rows]
    (folder / FILE).write_text(csv(rows, ["subject", *HEADER]))
    ended = penchant("fit", FILE)
    assert ended.code == 0
    assert "--subject subject gives one estimate each" in ended.err

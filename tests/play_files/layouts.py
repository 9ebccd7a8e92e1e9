"""Files of play as programs and people write them, each with its truth."""

import csv
import io
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from play_files.columns import Plan, Row, everyone, number, plan, trial_rows
from play_files.people import Person
from play_files.words import Words


@dataclass
class Made:
    """A file, the truth in it, and the answers that a reader may ask for."""

    path: Path
    people: list[Person]
    plan: Plan
    layout: str
    mess: tuple[str, ...] = ()
    answers: dict[str, object] = field(default_factory=dict)
    grouped: bool = True


# --- writing ---------------------------------------------------------------------------------


def header(rows: list[Row]) -> list[str]:
    """Names of columns in the order in which they come."""
    return list(dict.fromkeys(name for row in rows for name in row))


def text(rows: list[Row], delimiter: str = ",", empty: str = "") -> str:
    """CSV of rows that may lack columns."""
    out = io.StringIO()
    writer = csv.DictWriter(out, header(rows), restval=empty, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def typed(cell: str) -> object:
    """A cell as JSON holds it."""
    if cell in ("", "null", "None", "NaN", "nan", "NA"):
        return None
    try:
        return int(cell)
    except ValueError:
        pass
    try:
        return float(cell)
    except ValueError:
        return cell


def write_xlsx(path: Path, rows: list[Row]) -> None:
    """A workbook of one sheet, without a library for it."""
    names = header(rows)
    lines = [names] + [[row.get(name, "") for name in names] for row in rows]

    def cell(value: str) -> str:
        as_number = typed(value)
        if value == "":
            return "<c/>"
        if isinstance(as_number, int | float) and str(as_number) == value:
            return f"<c><v>{value}</v></c>"
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'

    sheet = "".join(f"<row>{''.join(map(cell, line))}</row>" for line in lines)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types">'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
            f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/>'
            "</Types>",
        )
        book.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
            f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
            '<sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
            f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        )
        book.writestr(
            "xl/worksheets/sheet1.xml",
            f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
        )


# --- rows of trials --------------------------------------------------------------------------


@dataclass
class Shape:
    """Whether there are sessions and blocks, groups, practice, another task, and in what order."""

    n_sessions: int
    n_blocks: int
    restart: bool
    grouped: bool
    practice: str | None
    second_task: bool
    checks: bool
    shuffled: bool

    @property
    def mess(self) -> tuple[str, ...]:
        told = [f"{self.n_sessions} sessions", f"{self.n_blocks} blocks"]
        told += ["restart"] * self.restart + [f"practice {self.practice}"] * bool(self.practice)
        told += ["second task"] * self.second_task + ["checks"] * self.checks
        told += ["shuffled"] * self.shuffled
        return tuple(told)


def shape(rng: random.Random, *, plain: bool = True) -> Shape:
    """A random shape."""
    n_sessions = rng.choice((1, 1, 1, 2))
    n_blocks = rng.choice((1, 1, 2, 3))
    practice = rng.choice((None, None, None, "phase", "flag", "block")) if plain else None
    return Shape(
        n_sessions,
        n_blocks,
        rng.random() < 0.6,
        rng.random() < 0.7,
        practice if practice != "block" or n_blocks > 1 else "phase",
        plain and rng.random() < 0.08,
        plain and rng.random() < 0.08,
        plain and rng.random() < 0.12,
    )


def long_rows(
    rng: random.Random, made: Plan, person: Person, form: Shape, *, identified: bool = True
) -> list[Row]:
    """All rows of somebody, as one table per trial has them."""
    names = made.names
    who: Row = {names["subject"]: person.name} if identified else {}
    if form.grouped:
        who[names["group"]] = person.group
    mine = random.Random(person.name)
    who |= {name: mine.choice(values) for name, values in made.personal}
    who |= dict(made.constants)
    rows: list[Row] = []
    asks = form.practice == "phase" or form.checks
    practice, test = made.words.phases[hash_of(made) % len(made.words.phases)]
    flag = ("practice", "is_practice", "isPractice")[hash_of(made) % 3]
    clock = 0
    for k, play in enumerate(person.plays):
        session, block = divmod(k, form.n_blocks)
        head = dict(who)
        if form.n_sessions > 1:
            head[names["session"]] = str(session + 1)
        if form.n_blocks > 1:
            head[names["block"]] = str(block + 1)
        body = trial_rows(made, play)
        if block == 0 and not form.restart:
            clock = 0
        if k == 0 and form.practice:
            for j, row in enumerate(trial_rows(made, play[:3])[::-1]):
                told = head | {names["trial"]: str(j + 1)} | row
                if form.practice == "phase":
                    told[names["phase"]] = practice
                elif form.practice == "flag":
                    told[flag] = "1"
                else:
                    told[names["block"]] = "practice"
                rows.append(told)
        for j, row in enumerate(body):
            shown = j if form.restart else clock
            clock += 1
            told = head | {names["trial"]: str(shown + 1)} | row
            if asks:
                told[names["phase"]] = test
            if form.practice == "flag":
                told[flag] = "0"
            rows.append(told)
            if form.checks and j == 5:
                rows.append(head | {names["phase"]: "attention_check", names["seconds"]: "812"})
    if form.second_task:
        for row in rows:
            row["task_name"] = "bandit"
        for j in range(8):
            other = dict(who) | {names["trial"]: str(j + 1), "task_name": "stroop"}
            key = names.get("choice") or names.get("key") or made.labels[0]
            other |= {key: rng.choice(("red", "green")), names["seconds"]: "0.71"}
            if asks:
                other[names["phase"]] = test
            rows.append(other)
    return rows


def hash_of(made: Plan) -> int:
    """A number that stays the same for a plan."""
    return sum(map(ord, "".join(made.names.values())))


def answers(made: Plan, form: Shape) -> dict[str, object]:
    """What a person who knows the file would answer."""
    names = made.names
    known: dict[str, object] = {"subject": names["subject"], "decision": names["trial"]}
    if made.choice == "flags":
        known["chosen"] = made.labels
    else:
        known["chosen"] = names.get("choice", names.get("key"))
    if made.reward == "gain and loss":
        known["reward"] = (names["gain"], names["loss"])
    else:
        known["reward"] = names["reward"]
    if made.reward == "total":
        known["reward"] = f"diff({names['reward']})"
    parts = [names["session"]] * (form.n_sessions > 1) + [names["block"]] * (form.n_blocks > 1)
    if parts:
        known["block"] = parts[0] if len(parts) == 1 else tuple(parts)
    _, test = made.words.phases[hash_of(made) % len(made.words.phases)]
    if form.second_task:
        known["where"] = "task_name == 'bandit'"
    elif form.practice == "phase" or form.checks:
        known["where"] = f"`{names['phase']}` == '{test}'"
    return known


def _people(rng, made, form):
    return everyone(rng, made, n_plays=form.n_sessions * form.n_blocks)


# --- layouts ---------------------------------------------------------------------------------


def plain(rng: random.Random, words: Words, folder: Path) -> Made:
    """One table, one row per trial: CSV of any dialect, xlsx, JSON."""
    made, form = plan(rng, words), shape(rng)
    crowd = _people(rng, made, form)
    rows = [row for person in crowd for row in long_rows(rng, made, person, form)]
    if form.shuffled:
        rng.shuffle(rows)
    dialect = rng.choice(
        (",", ",", ",", ";", ";decimal", "\t", "bom", "utf-16", "xlsx", "json", "quoted")
    )
    if dialect == "xlsx":
        path = folder / "data.xlsx"
        write_xlsx(path, rows)
    elif dialect == "json":
        path = folder / "data.json"
        path.write_text(json.dumps([{k: typed(v) for k, v in row.items()} for row in rows]))
    elif dialect == ";decimal":
        path = folder / "data.csv"
        rows = [
            {k: v.replace(".", ",") if isinstance(typed(v), float) else v for k, v in row.items()}
            for row in rows
        ]
        path.write_text(text(rows, ";"), encoding="utf-8")
    elif dialect == "quoted":
        path = folder / "data.csv"
        out = io.StringIO()
        writer = csv.DictWriter(out, header(rows), quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(out.getvalue())
    else:
        path = folder / ("data.tsv" if dialect == "\t" else "data.csv")
        mark = {"bom": "utf-8-sig", "utf-16": "utf-16"}.get(dialect, "utf-8")
        delimiter = dialect if len(dialect) == 1 else ","
        path.write_text(text(rows, delimiter), encoding=mark)
    told = answers(made, form)
    if dialect == ";decimal":
        told |= {"decimal": ",", "delimiter": ";"}
    return Made(path, crowd, made, f"plain {dialect!r}", form.mess, told, form.grouped)


def folder_of_files(rng: random.Random, words: Words, folder: Path) -> Made:
    """One file per person, who is named by the file, as in Psych-DS and BIDS."""
    kind = rng.choice(("psych-ds", "bids", "loose"))
    made, form = plan(rng, words), shape(rng)
    form.shuffled = False
    if kind != "loose":
        form.second_task = False
    made.names["subject"] = "participant_id" if kind == "bids" else made.names["subject"]
    crowd = _people(rng, made, form)
    crowd = [
        Person("".join(c for c in person.name if c.isalnum()), person.group, person.plays)
        for person in crowd
    ]
    identified = kind == "loose" and rng.random() < 0.6
    for person in crowd:
        rows = long_rows(rng, made, person, form, identified=identified)
        if kind == "psych-ds":
            for row in rows:
                row.pop(made.names["group"], None) if form.grouped else None
            where = folder / "data" / f"subject-{person.name}_group-{person.group}_data.csv"
            where.parent.mkdir(exist_ok=True)
            where.write_text(text(rows))
        elif kind == "bids":
            for k, row in enumerate(rows):
                row.pop(made.names["group"], None) if form.grouped else None
                cells = {"onset": number(3.2 * k), "duration": "2.5"} | row
                rows[k] = {name: cell if cell != "" else "n/a" for name, cell in cells.items()}
            where = folder / f"sub-{person.name}" / "func"
            where.mkdir(parents=True)
            name = f"sub-{person.name}_task-bandit_events.tsv"
            (where / name).write_text(text(rows, "\t", "n/a"))
        else:
            (folder / f"{person.name}_bandit.csv").write_text(text(rows))
    if kind == "psych-ds":
        (folder / "dataset_description.json").write_text(
            json.dumps({"@context": "https://schema.org", "@type": "Dataset", "name": "x"})
        )
    if kind == "bids":
        lines = [{"participant_id": f"sub-{p.name}", "age": "30", "group": p.group} for p in crowd]
        (folder / "participants.tsv").write_text(text(lines, "\t"))
        (folder / "dataset_description.json").write_text(
            json.dumps({"Name": "x", "BIDSVersion": "1.8.0"})
        )
    told = answers(made, form)
    if not identified:
        told.pop("subject")
    return Made(folder, crowd, made, f"folder {kind}", form.mess, told, form.grouped)


def jspsych(rng: random.Random, words: Words, folder: Path) -> Made:
    """Screens of a browser: instructions, fixations, choices, feedback."""
    choice = rng.choice(("from 0", "keys", "keys", "stimuli", "stimuli on sides", "labels"))
    old = rng.random() < 0.3
    key = ("button_pressed" if choice == "from 0" else "key_press") if old else "response"
    fixed = {"trial": "trial_index", "seconds": "rt"}
    if choice in ("from 0", "keys"):
        fixed["choice"] = key
    elif choice.startswith("stimuli"):
        fixed["key"] = key
    made, form = plan(rng, words, fixed=fixed, choice=choice), shape(rng, plain=False)
    if made.missed is not None:
        made.missed = "null"
        made.missed_reward = rng.choice(("null", "0", ""))
    apart = made.reward in ("words", "sentence", "numbers") and rng.random() < 0.3
    screens = rng.choice(("task", "screen", "part", "trial_name"))
    crowd = _people(rng, made, form)
    files = {}
    for person in crowd:
        rows: list[Row] = []
        elapsed = 0

        def add(kind, stimulus, cells, rows=rows):
            nonlocal elapsed
            elapsed += rng.randrange(300, 2500)
            base = {
                "rt": "null",
                "stimulus": stimulus,
                key: "null",
                "trial_type": kind,
                "trial_index": str(len(rows)),
                "time_elapsed": str(elapsed),
                "internal_node_id": f"0.0-{len(rows)}.0",
            }
            rows.append(base | cells)

        who = {made.names["subject"]: person.name}
        who |= {made.names["group"]: person.group} if form.grouped else {}
        add("preload", "", who | {screens: "preload"})
        add(
            "html-keyboard-response",
            "<p>Welcome! Press any key.</p>",
            who | {screens: "instructions", "rt": "2811", key: "13" if old else "Enter"},
        )
        kind = "html-button-response" if choice == "from 0" else "html-keyboard-response"
        for k, play in enumerate(person.plays):
            session, block = divmod(k, form.n_blocks)
            head = dict(who)
            if form.n_sessions > 1:
                head[made.names["session"]] = str(session + 1)
            if form.n_blocks > 1:
                head[made.names["block"]] = str(block + 1)
            for cells in trial_rows(made, play):
                cells = dict(cells)
                shown = cells.pop("rt", "") or "null"
                paid = cells.pop(made.names["reward"]) if apart else None
                if rng.random() < 0.99:
                    add("html-keyboard-response", "<div>+</div>", head | {screens: "fixation"})
                add(kind, "<p>Choose</p>", head | cells | {screens: "choice", "rt": shown})
                stimulus = f"<p>{paid}</p>" if apart else "<p>feedback</p>"
                back = {made.names["reward"]: paid} if apart else {}
                add("html-keyboard-response", stimulus, head | back | {screens: "feedback"})
        add("survey-text", "", who | {screens: "debrief", key: '{"Q0":"fun"}', "rt": "9411"})
        files[person.name] = rows
    form_of_file = rng.choice(("csv", "json", "folder of json", "folder of csv"))
    everything = [row for rows in files.values() for row in rows]
    path = folder / "jspsych.csv"
    if form_of_file == "csv":
        path.write_text(text(everything))
    elif form_of_file == "json":
        path = folder / "jspsych.json"
        path.write_text(json.dumps([{k: typed(v) for k, v in r.items()} for r in everything]))
    else:
        path = folder
        for name, rows in files.items():
            if form_of_file.endswith("csv"):
                (folder / f"data_{name}.csv").write_text(text(rows))
            else:
                cells = [{k: typed(v) for k, v in row.items()} for row in rows]
                (folder / f"data_{name}.json").write_text(json.dumps(cells))
    told = answers(made, form) | {"where": f"{screens} == 'choice'"}
    mess = (*form.mess, *(["feedback screen"] * apart), *(["old"] * old))
    return Made(path, crowd, made, f"jspsych {form_of_file}", mess, told, form.grouped)


def psychopy(rng: random.Random, words: Words, folder: Path) -> Made:
    """Loops of PsychoPy, with practice in a loop of its own."""
    choice = rng.choice(("keys", "keys", "stimuli", "stimuli on sides", "labels"))
    resp = rng.choice(("key_resp", "resp", "choice_resp", "key_resp_2"))
    fixed = {"subject": "participant", "trial": "trials.thisN", "seconds": f"{resp}.rt"}
    if choice != "labels":
        fixed["choice" if choice == "keys" else "key"] = f"{resp}.keys"
    made, form = plan(rng, words, fixed=fixed, choice=choice), shape(rng, plain=False)
    form.n_sessions = 1
    if made.missed is not None:
        made.missed = rng.choice(("None", ""))
        made.missed_reward = rng.choice(("", "0"))
    practice = rng.random() < 0.4
    crowd = _people(rng, made, form)
    files = {}
    for person in crowd:
        info = {
            "participant": person.name,
            "session": "001",
            "date": "2024-03-05_14h02.11.532",
            "expName": "bandit",
            "psychopyVersion": "2023.2.3",
            "frameRate": "59.94",
        }
        if form.grouped:
            info[made.names["group"]] = person.group
        rows: list[Row] = [{"instr.started": "0.31", "key_instr.keys": "space"}]
        if practice:
            for j, cells in enumerate(trial_rows(made, person.plays[0][:3])[::-1]):
                loop = {"practice_trials.thisN": str(j), "practice_trials.thisTrialN": str(j)}
                rows.append(loop | cells)
        for k, play in enumerate(person.plays):
            for j, cells in enumerate(trial_rows(made, play)):
                loop = {"trials.thisRepN": str(j), "trials.thisTrialN": "0"}
                loop |= {"trials.thisN": str(j), "trials.thisIndex": "0"}
                if form.n_blocks > 1:
                    loop |= {"blocks.thisRepN": str(k), "blocks.thisN": str(k)}
                    loop |= {"blocks.thisTrialN": str(k), "blocks.thisIndex": str(k)}
                onset = {f"{resp}.started": number(5.1 + 3 * j), f"{resp}.stopped": ""}
                rows.append(cells | loop | onset)
        rows.append({"thanks.started": "412.2"})
        rows = [row | info | {"": ""} for row in rows]
        files[person.name] = rows
    if rng.random() < 0.5:
        path = folder
        for name, rows in files.items():
            (folder / f"{name}_bandit_2024-03-05_14h02.11.532.csv").write_text(text(rows))
    else:
        path = folder / "all.csv"
        path.write_text(text([row for rows in files.values() for row in rows]))
    told = answers(made, form)
    if form.n_blocks > 1:
        told["block"] = "blocks.thisN"
    mess = (*form.mess, *(["practice loop"] * practice))
    return Made(path, crowd, made, "psychopy", mess, told, form.grouped)


def gorilla(rng: random.Random, words: Words, folder: Path) -> Made:
    """Rows of Gorilla: screens and zones, with ends of task and of file."""
    choice = rng.choice(("keys", "labels", "stimuli on sides", "sides"))
    fixed = {"subject": "Participant Private ID", "trial": "Trial Number"}
    fixed |= {"seconds": "Reaction Time"}
    fixed["key" if choice.startswith("stimuli") else "choice"] = "Response"
    made, form = plan(rng, words, fixed=fixed, choice=choice), shape(rng, plain=False)
    form.n_sessions = 1
    if made.missed is not None:
        made.missed = rng.choice(("", "Timed Out"))
        made.missed_reward = ""
    crowd = _people(rng, made, form)
    crowd = [
        Person(str(4410231 + 17 * k), person.group, person.plays) for k, person in enumerate(crowd)
    ]
    rows: list[Row] = []
    zone = rng.choice(("response_button_image", "response_keyboard_single", "response_button_text"))
    for person in crowd:
        base = {
            "Event Index": "1",
            "UTC Date": "05/03/2024 14:02:11",
            "Experiment ID": "91022",
            "Participant Public ID": "BLIND",
            "Participant Private ID": person.name,
            "Participant Status": "complete",
            "Task Name": "Bandit",
            "Trial Number": "",
            "Screen Name": "",
            "Zone Type": "",
            "Reaction Time": "",
            "Response": "",
            "Correct": "",
        }
        mine: list[Row] = [base | {"Trial Number": "BEGIN TASK"}]
        group = {made.names["group"]: person.group} if form.grouped else {}
        mine.append(base | {"Screen Name": "Instructions", "Zone Type": "continue_button"})
        shown = 0
        for k, play in enumerate(person.plays):
            extra = {made.names["block"]: str(k + 1)} if form.n_blocks > 1 else {}
            for cells in trial_rows(made, play):
                shown += 1
                at = {"Trial Number": str(shown)} | group | extra
                mine.append(base | at | {"Screen Name": "fix", "Zone Type": "fixation"})
                mine.append(base | cells | at | {"Screen Name": "choice", "Zone Type": zone})
        mine.append(base | {"Trial Number": "END TASK"})
        rows += [row | {"Event Index": str(j + 1)} for j, row in enumerate(mine)]
    rows.append({"Event Index": "END OF FILE"})
    if rng.random() < 0.3:
        path = folder / "data_exp_91022-v3_task-x1.xlsx"
        write_xlsx(path, rows)
    else:
        path = folder / "data_exp_91022-v3_task-x1.csv"
        path.write_text(text(rows), encoding=rng.choice(("utf-8", "utf-8-sig")))
    return Made(path, crowd, made, "gorilla", form.mess, answers(made, form), form.grouped)


def eprime(rng: random.Random, words: Words, folder: Path) -> Made:
    """A merged file of E-Prime."""
    choice = rng.choice(("keys", "from 1", "stimuli on sides", "stimuli"))
    slide = rng.choice(("Choice", "Stimulus", "StimDisplay", "Slide1", "Bandit"))
    fixed = {"subject": "Subject", "trial": "Trial", "seconds": f"{slide}.RT"}
    fixed |= {"session": "Session", "block": "Block"}
    fixed["key" if choice.startswith("stimuli") else "choice"] = f"{slide}.RESP"
    made, form = plan(rng, words, fixed=fixed, choice=choice), shape(rng, plain=False)
    form.restart = True
    if made.missed is not None:
        made.missed = ""
        made.missed_reward = rng.choice(("", "0"))
    crowd = _people(rng, made, form)
    crowd = [Person(str(k + 1), person.group, person.plays) for k, person in enumerate(crowd)]
    practice = rng.random() < 0.3
    rows: list[Row] = []
    for person in crowd:
        mine = long_rows(rng, made, person, form)
        for row in mine:
            row[f"{slide}.ACC"] = "0"
            row[f"{slide}.CRESP"] = ""
            row[f"{slide}.OnsetTime"] = "48211"
            row["Procedure[Trial]"] = row["Running[Trial]"] = "TrialProc"
        if practice:
            first = dict(mine[1])
            first |= {"Procedure[Trial]": "PracProc", "Running[Trial]": "PracticeList"}
            mine = [first, *mine]
        for row in mine:
            rows.append(
                {"ExperimentName": "Bandit", "Subject": person.name, "Session": "1", "Block": "1"}
                | {"SessionDate": "03-05-2024", "SessionTime": "14:02:11", "RandomSeed": "48211"}
                | row
            )
    path = folder / "merged.txt"
    body = text(rows, "\t")
    if rng.random() < 0.4:
        body = "C:\\Data\\Bandit.emrg2\n" + body
    path.write_text(body, encoding=rng.choice(("utf-16", "utf-8", "utf-8-sig")))
    mess = (*form.mess, *(["practice"] * practice))
    told = answers(made, form)
    if practice:
        told["where"] = "`Procedure[Trial]` == 'TrialProc'"
    return Made(path, crowd, made, "eprime", mess, told, form.grouped)


def inquisit(rng: random.Random, words: Words, folder: Path) -> Made:
    """Raw data of Inquisit: trial codes, values, latencies."""
    choice = rng.choice(("keys", "labels", "from 1", "deck"))
    fixed = {"subject": "subject", "trial": "trialnum", "seconds": "latency", "block": "blocknum"}
    fixed["choice"] = (
        "response"
        if choice == "keys"
        else rng.choice(("values.choice", "values.selecteddeck", "values.option", "response"))
    )
    made, form = plan(rng, words, fixed=fixed, choice=choice), shape(rng, plain=False)
    form.n_sessions = 1
    if made.missed is not None:
        made.missed, made.missed_reward = rng.choice(("0", "")) if choice == "keys" else "", ""
    if made.reward in ("numbers", "words", "currency") and rng.random() < 0.7:
        made.names["reward"] = rng.choice(("values.reward", "values.outcome", "values.points"))
    crowd = _people(rng, made, form)
    rows: list[Row] = []
    for person in crowd:
        shown = 0
        base = {"date": "030524", "time": "14:02:11", "subject": person.name}
        base |= {made.names["group"]: person.group} if form.grouped else {}
        rows.append(
            base
            | {"blockcode": "intro", "blocknum": "1", "trialcode": "instructions", "trialnum": "1"}
            | {"response": "57", "latency": "4123"}
        )
        for k, play in enumerate(person.plays):
            for cells in trial_rows(made, play):
                shown += 1
                at = {"blockcode": "bandit", "blocknum": str(k + 2), "trialcode": "choice"}
                at |= {"trialnum": str(shown)}
                rows.append(base | at | {"response": "stim"} | cells | {"stimulusitem1": "+"})
                after = dict(cells) | {"trialcode": "feedback", "latency": "1500"}
                if made.names["choice"] == "response":
                    after["response"] = "0"
                if rng.random() < 2:
                    reward = {made.names.get("reward", ""): ""}
                    rows.append(
                        base
                        | {"blockcode": "bandit", "blocknum": str(k + 2), "trialnum": str(shown)}
                        | {"trialcode": "feedback", "response": "0", "latency": "1500"}
                        | {k: "" for k in reward if k}
                    )
    path = folder / rng.choice(("bandit_raw.csv", "bandit_raw.iqdat", "bandit_raw.tsv"))
    path.write_text(text(rows, "," if path.suffix == ".csv" else "\t"))
    told = answers(made, form) | {"where": "trialcode == 'choice'"}
    return Made(path, crowd, made, "inquisit", form.mess, told, form.grouped)


def labjs(rng: random.Random, words: Words, folder: Path) -> Made:
    """Screens of lab.js."""
    choice = rng.choice(("labels", "sides", "keys", "stimuli", "stimuli on sides"))
    fixed = {"seconds": "duration"}
    fixed["key" if choice.startswith("stimuli") else "choice"] = "response"
    made, form = plan(rng, words, fixed=fixed, choice=choice), shape(rng, plain=False)
    if made.missed is not None:
        made.missed, made.missed_reward = "", ""
    crowd = _people(rng, made, form)
    rows: list[Row] = []
    for person in crowd:
        base = {made.names["subject"]: person.name}
        base |= {made.names["group"]: person.group} if form.grouped else {}
        rows.append(
            base | {"sender": "Welcome", "sender_type": "html.Screen", "duration": "4123.2"}
        )
        for row in long_rows(rng, made, person, form):
            fix = {"sender": "Fixation", "sender_type": "canvas.Screen", "ended_on": "timeout"}
            rows.append(base | fix | {"duration": "500.1"})
            missed = row.get("response", "") == ""
            at = {"sender": "Choice", "sender_type": "html.Screen"}
            at |= {"ended_on": "timeout" if missed else "response"}
            rows.append(base | at | row)
            back = {"sender": "Feedback", "sender_type": "html.Screen", "ended_on": "timeout"}
            rows.append(base | back | {"duration": "1000.2"})
    rows = [
        row | {"timestamp": "2024-03-05T14:02:11.532Z", "sender_id": f"0_{k}"}
        for k, row in enumerate(rows)
    ]
    path = folder / "labjs.csv"
    path.write_text(text(rows))
    told = answers(made, form) | {"where": "sender == 'Choice'"}
    return Made(path, crowd, made, "labjs", form.mess, told, form.grouped)


def otree(rng: random.Random, words: Words, folder: Path) -> Made:
    """oTree: one app long, or all apps wide."""
    choice = rng.choice(("from 0", "from 1", "labels", "sides"))
    made = plan(rng, words, choice=choice, reward=rng.choice(("numbers", "words", "currency")))
    if made.missed is not None:
        made.missed, made.missed_reward = "", ""
    form = Shape(1, 1, True, rng.random() < 0.5, None, False, False, False)
    crowd = _people(rng, made, form)
    choice_name, reward_name = made.names["choice"].lower(), made.names["reward"].lower()
    wide = rng.random() < 0.5
    rows: list[Row] = []
    for k, person in enumerate(crowd):
        base = {
            "participant.id_in_session": str(k + 1),
            "participant.code": f"x{k}kq{k}z8w",
            "participant.label": "",
            "participant._is_bot": "0",
            "participant._index_in_pages": "41",
            "participant.payoff": "0",
        }
        cells = trial_rows(made, person.plays[0])
        if wide:
            row = base | {"session.code": "abc123", "session.is_demo": "0"}
            for t, cell in enumerate(cells):
                lead = f"bandit.{t + 1}"
                row[f"{lead}.player.id_in_group"] = str(k + 1)
                row[f"{lead}.player.payoff"] = "0"
                row[f"{lead}.player.{choice_name}"] = cell[made.names["choice"]]
                row[f"{lead}.player.{reward_name}"] = cell[made.names["reward"]]
                row[f"{lead}.subsession.round_number"] = str(t + 1)
            row["survey.1.player.age"] = "31"
            row["survey.1.player.gender"] = "f"
            rows.append(row)
        else:
            for t, cell in enumerate(cells):
                rows.append(
                    base
                    | {"player.id_in_group": str(k + 1), "player.role": "", "player.payoff": "0.0"}
                    | {f"player.{choice_name}": cell[made.names["choice"]]}
                    | {f"player.{reward_name}": cell[made.names["reward"]]}
                    | {"group.id_in_subsession": "1", "subsession.round_number": str(t + 1)}
                    | {"session.code": "abc123"}
                )
    path = folder / ("all_apps_wide.csv" if wide else "bandit.csv")
    path.write_text(text(rows))
    crowd = [Person(f"x{k}kq{k}z8w", p.group, p.plays) for k, p in enumerate(crowd)]
    told = {
        "subject": "participant.code",
        "chosen": choice_name if wide else f"player.{choice_name}",
        "reward": reward_name if wide else f"player.{reward_name}",
    }
    return Made(path, crowd, made, f"otree {'wide' if wide else 'long'}", (), told, False)


def one_row_each(rng: random.Random, words: Words, folder: Path) -> Made:
    """One row per person: numbered columns, or lists in cells, plain or of Qualtrics."""
    choice = rng.choice(("from 0", "from 1", "labels", "sides", "keys", "deck"))
    made = plan(rng, words, choice=choice, reward=rng.choice(("numbers", "numbers", "words")))
    form = Shape(1, 1, True, rng.random() < 0.7, None, False, False, False)
    kind = rng.choice(("numbered", "numbered", "json", "commas", "spaces", "qualtrics"))
    if made.missed is not None:
        lists = kind in ("json", "commas", "spaces")
        made.missed = rng.choice(("NaN", "null", "-1") if lists else ("", "NA", "NaN"))
        made.missed_reward = made.missed if made.missed != "-1" else "0"
    crowd = _people(rng, made, form)
    label = rng.choice(("{}_{}", "{}{}", "{}.{}", "{}_t{}"))
    lead = rng.choice(("{0}_{1}", "T{1}_{0}")) if kind == "qualtrics" else label
    pad = rng.choice(("", "02", "03"))
    rows: list[Row] = []
    for person in crowd:
        row = {made.names["subject"]: person.name}
        row |= {made.names["group"]: person.group} if form.grouped else {}
        row |= {name: rng.choice(values) for name, values in made.personal}
        cells = trial_rows(made, person.plays[0])
        kept = [made.names["choice"], made.names["reward"]]
        kept += [made.names["seconds"]] * (rng.random() < 2)
        for name in kept:
            column = [cell[name] for cell in cells]
            if kind == "json":
                row[name] = json.dumps([typed(cell) for cell in column])
            elif kind in ("commas", "spaces"):
                between = {"commas": ",", "spaces": " "}[kind]
                row[name] = between.join(cell.replace(between, "_") or "NaN" for cell in column)
            else:
                row |= {
                    lead.format(name, format(t + 1, pad)): cell for t, cell in enumerate(column)
                }
        rows.append(row)
    path = folder / "people.csv"
    if kind == "qualtrics":
        base = {"StartDate": "2024-03-05 14:02:11", "EndDate": "2024-03-05 14:22:11"}
        base |= {"Status": "IP Address", "Progress": "100", "Duration (in seconds)": "1201"}
        base |= {"Finished": "True", "RecordedDate": "2024-03-05 14:22:12"}
        for k, row in enumerate(rows):
            row.pop(made.names["subject"])
            rows[k] = base | {"ResponseId": f"R_{k}aB{k}x9"} | row
        crowd = [Person(f"R_{k}aB{k}x9", p.group, p.plays) for k, p in enumerate(crowd)]
        names = header(rows)
        rows = [
            {name: name for name in names},
            {name: f'{{"ImportId":"{name}"}}' for name in names},
            *rows,
        ]
    if rng.random() < 0.2 and kind != "qualtrics":
        path = folder / "people.xlsx"
        write_xlsx(path, rows)
    else:
        path.write_text(text(rows))
    told = answers(made, form)
    told.pop("decision")
    if kind == "qualtrics":
        told["subject"] = "ResponseId"
    return Made(path, crowd, made, f"one row each {kind}", (), told, form.grouped)


def matlab(rng: random.Random, words: Words, folder: Path) -> Made:
    """Matrices of numbers, NaN for what was missed, names that say where they come from."""
    made = plan(rng, words, choice=rng.choice(("from 1", "from 0", "floats")), reward="numbers")
    form = shape(rng, plain=False)
    if made.missed is not None:
        made.missed = made.missed_reward = "NaN"
    crowd = _people(rng, made, form)
    crowd = [Person(str(k + 1), "12"[k % 2], person.plays) for k, person in enumerate(crowd)]
    lead = rng.choice(("", "data_", "data.", "results_", "d."))
    rows = [row for person in crowd for row in long_rows(rng, made, person, form)]
    rows = [{lead + name: cell or "NaN" for name, cell in row.items()} for row in rows]
    path = folder / "data.csv"
    path.write_text(text(rows))
    told = {
        part: (
            tuple(lead + name for name in value) if isinstance(value, tuple) else f"{lead}{value}"
        )
        for part, value in answers(made, form).items()
    }
    return Made(path, crowd, made, "matlab", form.mess, told, form.grouped)


LAYOUTS: tuple[Callable[[random.Random, Words, Path], Made], ...] = (
    plain, plain, plain, plain, folder_of_files, folder_of_files, jspsych, jspsych, psychopy,
    gorilla, eprime, inquisit, labjs, otree, one_row_each, one_row_each, matlab,
)  # fmt: skip


def made_file(seed: int, words: Words, folder: Path) -> Made:
    """A file in this folder, which depends on the seed and the words only."""
    rng = random.Random(seed)
    return rng.choice(LAYOUTS)(rng, words, folder)

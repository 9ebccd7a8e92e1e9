"""How right and how fast populations are: the table of docs/everybody.md, from one command.

    python benchmarks/population.py --replicates 200 --markdown benchmarks/POPULATION.md
    python benchmarks/population.py --only q-learning,group --replicates 200
    python benchmarks/population.py --list

Each replicate is a simulated data set of its own seed. Its numbers are appended to a file (--runs)
as soon as they are there: a command that was interrupted goes on where it stopped. The table is
made of what the file holds; rows that it does not hold stay as the page has them.
"""

import argparse
import json
import os
import time
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from machine import about, load  # noqa: E402  (threads are counted when libraries load)
from population_peers import ONCE, PEERS  # noqa: E402
from population_rows import ROWS, Row, Seen, gathered  # noqa: E402

EVERY: dict[str, Row] = {**ROWS, **PEERS}
RUNS = Path("build/population.jsonl")
MADE = "Rows "


def read(path: Path) -> dict[str, dict[int, dict]]:
    """What was found so far, by row and replicate."""
    found: dict[str, dict[int, dict]] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            one = json.loads(line)
            found.setdefault(one["row"], {})[one["replicate"]] = one
    return found


def run(name: str, row: Row, replicates: int, path: Path, commit: str) -> None:
    """Do what is missing of a row, writing each replicate when it is done."""
    done = read(path).get(name, {})
    count = ONCE.get(name, replicates * row.times)
    wanted = [r for r in range(count) if r not in done]
    for r in wanted:
        begin = time.process_time()
        found = row.one(r)
        line = {
            "row": name,
            "replicate": r,
            "commit": commit,
            "seconds": round(time.process_time() - begin, 3),
            "load": load(),
            "found": found,
        }
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(f"{name} {r + 1}/{len(done) + len(wanted)}: {line['seconds']} s", flush=True)


def lines(name: str, row: Row, done: dict[int, dict]) -> list[str]:
    """Rows of the table."""
    seen: list[Seen] = row.judged(gathered([done[r]["found"] for r in sorted(done)]))
    found = []
    for a, one in enumerate(seen):
        met = "" if one.met is None else "met" if one.met else "**missed**"
        first = (f"`{name}`", row.about, str(len(done))) if not a else ("", "", "")
        found.append(f"| {' | '.join((*first, one.what, one.seen, one.asked, met))} |")
    return found


def page(found: dict[str, dict[int, dict]], machine: dict[str, str], before: str = "") -> str:
    """The table, with where each row was made; rows that were not run are those of before."""
    rows, missing = [], []
    kept = rows_of(before)
    for name, row in EVERY.items():
        if name in found:
            rows += lines(name, row, found[name])
        elif name in kept:
            rows += kept[name]
        else:
            missing.append(f"`{name}` ({row.about})")
    lacking = f"Not run here: {', '.join(missing)}." if missing else "All rows were run."
    return TEXT.format(
        table="\n".join(rows), lacking=lacking, machine=places(found, machine, before)
    )


def rows_of(text: str) -> dict[str, list[str]]:
    """Lines of each row of a page."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("| `"):
            name = line.split("`")[1]
        if name and line.startswith("| "):
            found.setdefault(name, []).append(line)
    return found


def places(found: dict[str, dict[int, dict]], machine: dict[str, str], before: str) -> str:
    """Where, when and of which commit rows were made: a paragraph for each time."""
    words = []
    for line in before.splitlines():
        if line.startswith(MADE):
            names, _, rest = line.removeprefix(MADE).partition(": ")
            still = [name for name in names.split(", ") if name.strip("`") not in found]
            words += [f"{MADE}{', '.join(still)}: {rest}"] if still else []
    if found:
        own = {**machine, "commit": ", ".join(sorted(commits_of(found)))}
        keys = ("date", "processor", "system", "versions", "commit")
        loads = [float(one["load"]) for row in found.values() for one in row.values()]
        names = ", ".join(f"`{name}`" for name in EVERY if name in found)
        where = "; ".join(f"{k}: {own[k]}" for k in keys)
        busy = f"load while it ran: {min(loads):.1f} to {max(loads):.1f}"
        words.append(f"{MADE}{names}: {where}; {busy}")
    return "\n\n".join(words)


def commits_of(found: dict[str, dict[int, dict]]) -> set[str]:
    """Of all replicates."""
    return {one["commit"] for row in found.values() for one in row.values()}


TEXT = """# Populations: how right, how fast

Made by `python benchmarks/population.py --replicates 200 --markdown benchmarks/POPULATION.md`.

Simulated people whose population is known. Q-learners: two options, a reversal every 25 decisions,
rewards of 1 and -1; logit learning rates N(-0.6, 1), log temperatures N(-1.2, 0.5), correlation
0.3. Discounters: log rates N(-4.4, 1.2), log temperatures N(1.4, 0.6), correlation -0.3. Pairs are
(learning or discount rate, temperature). Biases are in standard deviations between people,
intervals are of 95 %; REML. Of a share near 95 % the Monte Carlo error is 1.5 % with 200
replicates, and 0.8 % of a share near 5 % with 800.

| row | people | replicates | what | seen | asked for | |
|---|---|---|---|---|---|---|
{table}

{lacking}

{machine}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="rows by name, with commas")
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--runs", type=Path, default=RUNS, help="file of replicates")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--list", action="store_true", help="names of rows")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(f"{name}: {row.about}" for name, row in EVERY.items()))
        return
    names = arguments.only.split(",") if arguments.only else list(EVERY)
    for name in names:
        if name not in EVERY:
            parser.error(f"--only must name rows; got {name!r}. They are {', '.join(EVERY)}.")
    machine = about("")
    arguments.runs.parent.mkdir(parents=True, exist_ok=True)
    for name in names:
        run(name, EVERY[name], arguments.replicates, arguments.runs, machine["commit"])
    found = read(arguments.runs)
    if not arguments.markdown:
        found = {name: found[name] for name in names if name in found}
    before = arguments.markdown
    text = page(found, machine, before.read_text() if before and before.exists() else "")
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text)


if __name__ == "__main__":
    main()

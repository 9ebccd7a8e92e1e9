"""What `read` makes of a messy file: the truth, a question with a remedy that works, a failure."""

from __future__ import annotations

import ast
import re
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import penchant as pn
from messy_offers import Decision, Made
from penchant.reading.read import read_by_arguments as by_args

ARGUMENTS = (
    *("where", "kind", "subject", "block", "decision", "option", "chosen", "attributes", "offers"),
    *(
        "options",
        "opt_out",
        "reference",
        "is_choice",
        "scored",
        "weight",
        "available",
        "base",
        "units",
    ),
    *("delimiter", "decimal", "encoding", "missing", "task", "reward", "gaps", "missing_reward"),
)
DEEP = 5  # questions in a row
AMOUNTS = ("amount", "outcome", "reward", "value", "offer")


@dataclass
class Verdict:
    """right, extra (said), asked, needless, refused, or: wrong, stuck, traceback."""

    word: str
    detail: str = ""
    questions: tuple[str, ...] = ()


def judged(made: Made) -> Verdict:
    """What `read` makes of a file, with answers to what it asks."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", pn.errors.PenchantWarning)  # a way that is not the truth
        return _judged(made, stored(made, Path(folder)))


def stored(made: Made, folder: Path) -> Path:
    """The file, or the folder of files, in a folder."""
    path = folder / made.name
    if isinstance(made.content, bytes):
        path.write_bytes(made.content)
        return path
    for name, content in made.content.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def _judged(made: Made, path: Path) -> Verdict:
    try:
        reading = by_args(path)
    except pn.DataError as error:
        said = _plain(error, path)
        found = _answered(made, path, {}, said, ())
        if found is None and "refused" in made.doubts:
            return Verdict("refused", said)
        if found is None:
            return Verdict("stuck", said, (said,))
        return Verdict("asked" if made.doubts else "needless", said, found)
    except Exception as error:
        return Verdict("traceback", repr(error))
    problem = difference(made, reading)
    if problem is None:
        return Verdict("right")
    said = reading.summary().replace(str(path), path.name)
    if problem.startswith("people") and "nobody is told apart" in said:
        found = _answered(made, path, {}, said, ())
        if found is not None:
            return Verdict("said", said, found)
    if problem.startswith("extra"):
        return Verdict("extra", problem)
    return Verdict("wrong", f"{problem}\n{reading.summary()}")


def _plain(error: Exception, path: Path) -> str:
    return str(error).replace(str(path), path.name)


def _answered(
    made: Made, path: Path, given: dict[str, Any], said: str, before: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Questions on the way to the truth, or None where none leads there."""
    questions = (*before, said)
    if len(questions) > DEEP:
        return None
    own = known(made, said, given)
    ways = [[remedy] for remedy in (*remedies(said), *own)]
    for some in (*ways, own):  # one at a time, at last all that one knows
        now = {**given, **dict(some)}
        if "where" in given and now["where"] != given["where"]:
            now["where"] = f"({given['where']}) and ({now['where']})"
        if now == given:
            continue
        try:
            reading = by_args(path, **now)
        except pn.DataError as error:
            again = _plain(error, path)
            if again == said:
                continue
            found = _answered(made, path, now, again, questions)
            if found is not None:
                return found
        except Exception as error:
            raise AssertionError(f"{now} after {said!r}: {error!r}") from error
        else:
            problem = difference(made, reading)
            if problem is None or problem.startswith("extra"):
                return (*questions, f"-> {now}")
            note = reading.summary().replace(str(path), path.name)
            if problem.startswith("people") and "nobody is told apart" in note:
                found = _answered(made, path, now, note, questions)
                if found is not None:
                    return found
    return None


def remedies(said: str) -> list[tuple[str, Any]]:
    """Arguments with values that a message proposes."""
    found = []
    for match in re.finditer(rf"\b({'|'.join(ARGUMENTS)})=", said):
        value = _literal(said[match.end() :])
        if value is not None and (match[1], value) not in found:
            found.append((match[1], value))
    return found


def _literal(text: str) -> Any:
    """The value that a text begins with: in quotes or brackets, or a number."""
    number = re.match(r"-?\d+(\.\d+)?", text)
    if number:
        return ast.literal_eval(number[0])
    for end in range(2, len(text) + 1):
        try:
            value = ast.literal_eval(text[:end])
        except (SyntaxError, ValueError):
            continue
        return None if _has_ellipsis(value) else value
    return None


def _has_ellipsis(value: Any) -> bool:
    """Whether a list was cut short."""
    inside = [*value.items()] if isinstance(value, dict) else value
    several = isinstance(inside, (list, tuple))
    return value is ... or (several and any(map(_has_ellipsis, inside)))


def known(made: Made, said: str, given: dict[str, Any]) -> list[tuple[str, Any]]:
    """What one knows of one's own file, if a message speaks of that argument."""
    return [
        (name, value)
        for name, value in made.answers.items()
        if name not in given and re.search(rf"\b{name}\b", said)
    ]


# --- is it the truth? ----------------------------------------------------------------------


def difference(made: Made, reading: Any) -> str | None:
    """What differs from the truth, or None."""
    want = Counter(d.person for d in made.decisions)
    if hasattr(made.decisions[0], "reward"):
        return _play_differs(made, reading)
    if reading.kind == "play":
        return "read as play"
    if reading.kind == "choices":
        return _choices_differ(made, reading.data, want)
    return _offers_differ(made.decisions, reading.data, want)


Event = tuple[Any, int, float]  # what was seen, what was chosen, what it paid


def _play_differs(made: Made, reading: Any) -> str | None:
    """Whether events of a task differ, up to names of options, cues and states."""
    if reading.kind != "play":
        return f"read as {reading.kind}"
    true: dict[str, list[Event]] = {}
    for d in made.decisions:
        true.setdefault(d.person, []).extend(_true_events(made.family, d))
    read: dict[str, list[Event]] = {}
    for one in reading.data:
        read.setdefault(str(one.subject), []).extend(_read_events(one))
    sizes, want = ({w: len(e) for w, e in own.items()} for own in (read, true))
    if sizes != want:
        return f"people and events: {sizes} for {want}"
    pairs = [both for who in true for both in zip(true[who], read[who], strict=True)]
    for part in (lambda e: e[0], lambda e: e[:2]):
        if len({(part(a), part(b)) for a, b in pairs}) != len({part(a) for a, _ in pairs}):
            return f"events such as {pairs[0][0]} read as {pairs[0][1]}"
        if len({part(b) for _, b in pairs}) != len({part(a) for a, _ in pairs}):
            return f"events such as {pairs[0][0]} read as {pairs[0][1]}"
    if made.family == "go/no-go" and any(a[1] != b[1] for a, b in pairs):
        return "go and no-go"
    if made.family == "two-step" and _leads(read) != _leads(true):
        return "states that options lead to"
    scale = max(abs(b[2]) for _, b in pairs) / max(abs(a[2]) for a, _ in pairs)
    off = [(a, b) for a, b in pairs if abs(a[2] * scale - b[2]) > 1e-6]
    return f"rewards of {len(off)} events, such as {off[0]}" if off else None


def _leads(events: dict[str, list[Event]]) -> bool:
    """Whether the first option mostly leads to the first state."""
    both = [(own[k][1], own[k + 1][0]) for own in events.values() for k in range(0, len(own), 2)]
    return float(np.mean([first == second - 1 for first, second in both])) > 0.5


def _true_events(family: str, trial: Any) -> list[Event]:
    if family != "two-step":
        return [(trial.seen, trial.chosen, trial.reward)]
    return [(0, trial.chosen, 0.0), (trial.seen + 1, trial.second, trial.reward)]


def _read_events(episode: Any) -> list[Event]:
    before = episode.before or {}
    seen = next((before[name] for name in ("state", "cue") if name in before), None)
    return [
        (None if seen is None else float(seen[t]), int(option), float(reward))
        for t, (option, reward, scored) in enumerate(
            zip(episode.chosen, episode.rewards, episode.scored, strict=True)
        )
        if option >= 0 and scored
    ]


def _offers_differ(decisions: list[Decision], data: Any, want: Counter[str]) -> str | None:
    got = Counter()
    for one in data:
        got[str(one.subject)] += int(one.n_decisions)
    if got != want:
        return f"people and decisions: {dict(got)} for {dict(want)}"
    if any(isinstance(value, str) for d in decisions for o in d.options for value in o.values()):
        return "read as offers"
    true = [(d.person, [_canonical(o) for o in d.options], d.chosen) for d in decisions]
    read = []
    for one in data:
        arrays = {name: np.asarray(a) for name, a in one.offers.items()}
        for t in np.flatnonzero(one.scored):
            options = [
                _canonical(_flat({n: a[t, i] for n, a in arrays.items()}))
                for i in range(one.n_options)
            ]
            read.append((str(one.subject), options, int(one.chosen[t])))
    return _lists_differ(true, read)


def _flat(option: dict[str, Any]) -> dict[str, Any]:
    """Outcomes with their probabilities as x1, p1, x2, p2."""
    found: dict[str, Any] = {}
    for name, value in option.items():
        key = "amount" if name in AMOUNTS else name
        if np.ndim(value):
            letter = "x" if key == "amount" else "p"
            found.update({f"{letter}{k + 1}": float(v) for k, v in enumerate(value)})
        else:
            found[key] = float(value)
    return found


def _as_number(value: Any) -> Any:
    try:
        return float(value)
    except ValueError:  # a word, where a way is not the truth
        return value


def _canonical(option: dict[str, Any]) -> dict[str, float]:
    """Named numbers, with what is won by chance as amount and probability in one."""
    option = {("amount" if n in AMOUNTS else n): v for n, v in option.items()}
    found = {
        n: _as_number(v)
        for n, v in option.items()
        if n not in ("amount", "probability") and n[:1] + n[1:] not in ("x1", "x2", "p1", "p2")
    }
    pairs = [(option.get(f"x{k}"), option.get(f"p{k}")) for k in (1, 2)]
    pairs = [(x, 1.0 if p is None else p) for x, p in pairs if x is not None]
    if "amount" in option:
        pairs.append((option["amount"], option.get("probability", 1.0)))
    kept = sorted((float(x), round(float(p), 6)) for x, p in pairs if x != 0 and p != 0)
    for k, (x, p) in enumerate(kept):
        found[f"amount{k}"] = x
        found[f"probability{k}"] = p
    return {n: v for n, v in found.items() if v != 0}


def _lists_differ(true: list[Any], read: list[Any]) -> str | None:
    """The same decisions, up to the units of amounts, delays and efforts."""
    a, b = _multiset(true), _multiset(read)
    if a == b:
        return None
    only, other = list((a - b).elements())[:1], list((b - a).elements())[:1]
    return f"decisions: {sum((a - b).values())} differ, such as {only} read as {other}"


def _multiset(decisions: list[Any]) -> Counter[Any]:
    largest: dict[str, float] = {}
    for _, options, _ in decisions:
        for option in options:
            for name, value in option.items():
                key = name.rstrip("0123456789")
                largest[key] = max(largest.get(key, 0.0), abs(value))
    found: Counter[Any] = Counter()
    for person, options, chosen in decisions:
        scaled = [
            tuple(
                sorted(
                    (name, round(value if key == "probability" else value / largest[key], 6))
                    for name, value in option.items()
                    for key in (name.rstrip("0123456789"),)
                )
            )
            for option in options
        ]
        found[person, tuple(sorted(scaled)), scaled[chosen]] += 1
    return found


def _choices_differ(made: Made, data: Any, want: Counter[str]) -> str | None:
    labels = [str(label) for label in data.subject_labels or ()]
    codes = (
        np.asarray(data.subject) if data.subject is not None else np.zeros(data.n_decisions, int)
    )
    got = Counter(labels[c] for c in codes) if labels else Counter({"": data.n_decisions})
    if got != want:
        return f"people and decisions: {dict(got)} for {dict(want)}"
    true = _true_fit(made.decisions)
    first = np.asarray(data.first_row)
    x = np.asarray(data.explanatory)
    people = [labels[c] for c in codes]
    read = _fit(x, first, np.asarray(data.chosen), people)
    if _same(true, read):
        return None
    drop = [
        k
        for k, n in enumerate(data.names)
        if any(n.split(":")[0].lower() == e.lower() for e in made.extras)
    ]
    if drop:
        kept = np.delete(x, drop, axis=1)
        if _same(true, _fit(kept, first, np.asarray(data.chosen), people)):
            return f"extra: {[data.names[k] for k in drop]}"
    sizes = Counter(np.diff(first).tolist())
    fits = f"log-likelihoods {sum(read.values()):.4f} for {sum(true.values()):.4f}"
    return f"choices: variables {list(data.names)}, options {dict(sizes)}, {fits}"


def _same(a: dict[str, float], b: dict[str, float]) -> bool:
    return a.keys() == b.keys() and all(abs(a[k] - b[k]) < 1e-3 for k in a)


def _true_fit(decisions: list[Decision]) -> dict[str, float]:
    names = list(dict.fromkeys(n for d in decisions for o in d.options for n in o))
    levels: dict[str, list[str]] = {}
    for n in names:
        values = {o[n] for d in decisions for o in d.options if n in o}
        if any(isinstance(v, str) for v in values):
            levels[n] = sorted(values)[1:]
    rows, first, chosen = [], [0], []
    opt_out = any(not o for d in decisions for o in d.options)
    for d in decisions:
        for o in d.options:
            row = []
            for n in names:
                if n in levels:
                    row += [float(o.get(n) == level) for level in levels[n]]
                else:
                    row.append(float(o.get(n, 0.0)))
            rows.append([*row, float(not o)] if opt_out else row)
        first.append(len(rows))
        chosen.append(d.chosen)
    return _fit(np.array(rows), np.array(first), np.array(chosen), [d.person for d in decisions])


def _fit(x: Any, first: Any, chosen: Any, people: list[str]) -> dict[str, float]:
    """Log-likelihood of each person at everybody's maximum: the same, whatever the units."""
    sizes = np.diff(first)
    sets = np.repeat(np.arange(len(sizes)), sizes)
    mean = np.zeros((len(sizes), x.shape[1]))
    np.add.at(mean, sets, x)
    x = x - (mean / sizes[:, None])[sets]
    scale = np.sqrt((x**2).mean(axis=0))
    x = x[:, scale > 1e-12] / scale[scale > 1e-12]
    theta = np.zeros(x.shape[1])
    taken = first[:-1] + chosen
    for _ in range(60):
        q = x @ theta
        q -= np.maximum.reduceat(q, first[:-1])[sets]
        e = np.exp(q)
        p = e / np.add.reduceat(e, first[:-1])[sets]
        gradient = x[taken].sum(axis=0) - x.T @ p - 1e-6 * theta
        within = np.zeros((len(sizes), x.shape[1]))
        np.add.at(within, sets, p[:, None] * x)
        hessian = x.T @ (p[:, None] * x) - within.T @ within + 1e-6 * np.eye(x.shape[1])
        step = np.linalg.solve(hessian, gradient)
        theta = theta + step * min(1.0, 5 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    found: dict[str, float] = {}
    for person, value in zip(people, np.log(p[taken]), strict=True):
        found[person] = found.get(person, 0.0) + float(value)
    return found

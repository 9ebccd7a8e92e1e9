"""Which column of a table of play is what: found by the names that people give them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from unicodedata import normalize

from penchant.errors import DataError, argument, closest_match_hint, format_names, quoted_argument

MIN_NUMBERED_COLUMNS = 5  # columns that are numbered on, below which they may be anything
_NUMBERED = re.compile(r"(.*?[^\W\d_].*?)([ _.\-]?)[\[(]?(\d+)[\])]?")


class _Run(NamedTuple):
    """Columns with one name, numbered on."""

    stem: str
    divider: str
    first: str
    last: str


def refuse_one_row_per_subject(names: Sequence[str], subject: str | None = None) -> None:
    """Raise an error that says how to make a table long, if its columns number the decisions.

    Parameters
    ----------
    names
        Columns of a table in which those that are needed were not found.
    subject
        Column that names the subject, if there is one.
    """
    runs = _runs(names)
    if not runs:
        told = _said_for_play(names)
        if told:
            raise DataError(
                "The table",
                "must have one row per decision, with what was chosen and what it paid",
                got="one row per subject",
                fix=f"Make it long.{told}",
            )
        return
    if len(runs) == 1 and not is_called(USUAL["chosen"], runs[0].stem):
        first, last = runs[0].first, runs[0].last
        raise DataError(
            "The table",
            "must say what was offered in every question",
            got=(
                f"one row per subject, and answers in columns {first} to {last} whose offers "
                "stand in the texts of the questions"
            ),
            fix=(
                "Write a table with a row for each question (its name, amounts, delays or "
                "attributes), join it to the answers by the name of the question, and read "
                "the result: one row per subject and question."
            ),
        )
    columns = " and ".join(f"{run.first} to {run.last}" for run in runs)
    table, who = (
        ("table", subject) if subject else ('table.reset_index(names="subject")', "subject")
    )
    stems = ", ".join(f'"{run.stem}"' for run in runs)
    raise DataError(
        "The table",
        (
            "must have one row per decision, with what was chosen and what it paid, or "
            "what was offered"
        ),
        got=f"one row per subject, columns {columns}",
        fix=(
            f'Make it long, with pandas by pd.wide_to_long({table}, [{stems}], i="{who}", '
            f'j="decision", sep="{runs[0].divider}").reset_index(), or in R by '
            f"tidyr::pivot_longer, and name the columns.{_said_for_play(names)}"
        ),
    )


def _said_for_play(names: Sequence[str]) -> str:
    """How to say which of several columns that are numbered on is what, where they are of play."""
    runs = [own for own in numbered_on(names) if len(own) > 1]
    long = (
        [stem for stem, own in max(runs, key=len).items() if len(own) >= MIN_NUMBERED_COLUMNS]
        if runs
        else []
    )
    if len(long) < 2:
        return ""
    choices, rewards = (
        " or ".join(argument(part, stem) for stem in long) for part in ("chosen", "reward")
    )
    return f" Or say what they hold, for play {choices}, together with {rewards}."


# Numbers of decisions in names of columns, after what the columns hold or before it.
_COUNTED = (
    re.compile(
        r"(?P<stem>.*?[^\W\d_].*?)(?:[ _.\-](?:t|T|trial|Trial|round|Round))?"
        r"[ _.\-]?[\[(]?(?P<number>\d+)[\])]?"
    ),
    re.compile(
        r"(?:T|t|Q|q|CS|cs|task|Task|set|Set|trial|Trial|round|Round|choice_?set|screen|card)?"
        r"[ _.\-]?(?P<number>\d+)[ _.\-](?P<stem>.*[^\W\d_].*)"
    ),
)


def numbered_on(names: Sequence[str]) -> list[dict[str, dict[int, str]]]:
    """Columns that are numbered on, by what is left of the name; for either place of the number.

    >>> numbered_on(["id", "pick_1", "pick_2", "won_1", "won_2"])[0]
    {'pick': {1: 'pick_1', 2: 'pick_2'}, 'won': {1: 'won_1', 2: 'won_2'}}
    """
    runs = []
    for pattern in _COUNTED:
        found: dict[str, dict[int, str]] = {}
        for name in names:
            match = pattern.fullmatch(str(name))
            if match is not None:
                found.setdefault(match["stem"], {})[int(match["number"])] = str(name)
        runs.append(
            {
                stem: dict(sorted(own.items()))
                for stem, own in found.items()
                if len(own) > 1 and sorted(own) in (_count(own, 0), _count(own, 1))
            }
        )
    return runs


def _count(own: Mapping[int, str], start: int) -> list[int]:
    return list(range(start, start + len(own)))


def _runs(names: Sequence[str]) -> list[_Run]:
    """Columns that are numbered on, as many of each name, divided alike."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(str(name))
        if match is not None:
            found.setdefault((match[1], match[2]), []).append((int(match[3]), str(name)))
    runs = {key: sorted(own) for key, own in found.items() if _counts_on([n for n, _ in own])}
    if not runs:
        return []
    most = max(map(len, runs.values()))
    divider = next(key[1] for key, own in runs.items() if len(own) == most)
    return [
        _Run(stem, by, own[0][1], own[-1][1])
        for (stem, by), own in runs.items()
        if len(own) == most and by == divider
    ]


def _counts_on(numbers: Sequence[int]) -> bool:
    n = len(numbers)
    return (
        n >= MIN_NUMBERED_COLUMNS and max(numbers) - min(numbers) == n - 1 == len(set(numbers)) - 1
    )


def _joined(firsts: Sequence[str], seconds: Sequence[str]) -> tuple[str, ...]:
    """Names of two words, in both orders."""
    pairs = [(a, b) for a in firsts for b in seconds]
    return tuple(f"{a}_{b}" for a, b in (*pairs, *((b, a) for a, b in pairs)))


# What was done with an option, and what an option is: two of them are a name, as deck_chosen.
_TAKEN = (
    *("chosen", "chose", "choice", "selected", "select", "selection", "picked", "pick", "pressed"),
    *("press", "clicked", "response", "resp", "pulled", "taken"),
)
OBJECTS = (
    *(
        "option",
        "opt",
        "arm",
        "stim",
        "stimulus",
        "side",
        "image",
        "img",
        "color",
        "colour",
        "card",
    ),
    *("deck", "item", "shape", "symbol", "cue", "object", "name", "label", "key", "button"),
    *("machine", "door", "action", "picture", "pic", "fractal", "slot", "box", "lever", "target"),
    *("location", "position", "path", "route", "urn", "patch", "hole", "port", "tile", "bandit"),
)
# What is paid, and that it was: two of them are a name, as points_won.
_PAID = (
    *("reward", "outcome", "payoff", "points", "score", "payout", "coins", "money", "amount"),
    *("result", "win", "rew", "cents", "tokens", "stars", "feedback", "bonus", "pts"),
)
_GOT = (
    *("received", "obtained", "earned", "won", "gained", "got", "paid", "delivered", "given"),
    *("chosen", "magnitude", "size", "net"),
)
_WHO = (
    *("subject", "subj", "sub", "participant", "ppt", "person", "user", "worker", "respondent"),
    *("vp", "proband", "volunteer", "student", "child", "client", "patient", "mouse", "rat"),
    *("animal", "monkey", "teilnehmer", "sujet", "sujeto", "paciente", "deelnemer"),
)
_NUMBERS = (
    *("id", "nr", "no", "num", "number", "code", "idx", "index", "count", "counter", "n"),
    *("nummer", "numero"),
)
# The names that each part often has, tried in this order; case and punctuation do not matter,
# nor do words that say of every column the same, see `NEUTRAL`.
USUAL: Mapping[str, tuple[str, ...]] = {
    "chosen": (
        *("chosen", "choice", "option", "arm", "response", "action", "deck", "chosen_option"),
        *("chosen_arm", "chosen_action", "choice_index", "option_chosen", "arm_chosen", "selected"),
        *("selected_option", "selected_arm", "selection", "stim_chosen", "tile", "bandit"),
        *("button_pressed", "key_press", "choices", "actions", "responses"),
        *("wahl", "auswahl", "choix", "eleccion", "keuze", "scelta"),
        *("antwort", "reponse", "respuesta", "antwoord", "risposta", "entscheidung", "resp"),
        *("chosen_side", "side_chosen", "choice_side", "resp_key", "response_key", "key_response"),
        *("key_pressed", "pressed_key", "key", "taste", "touche", "tecla", "tasto", "toets"),
        *_joined(_TAKEN, OBJECTS),
        *("resp_keys", "key_resp_keys", "key_resp", "machine", "slot", "keys", "lever", "button"),
        *(
            "pick",
            "picked",
            "which_option",
            "which_arm",
            "mazo",
            "escolha",
            "elegida",
            "gewahlt",
            "gewaehlt",
        ),
    ),
    "reward": (
        *("reward", "rewards", "outcome", "payoff", "points", "score", "payout", "rew"),
        *("reward_received", "reward_obtained", "received_reward", "obtained_reward"),
        *("points_earned", "outcomes", "payoffs", "win", "feedback", "r"),
        *("belohnung", "gewinn", "punkte", "recompense", "recompensa", "beloning", "puntos"),
        *("ganancia", "premio", "vincita", "punti", "punten", "points_won", "points_gained"),
        *("outcome_chosen", "chosen_outcome", "reward_chosen", "chosen_reward", "payoff_chosen"),
        *("chosen_payoff", "outcome_received", "outcome_obtained", "winnings"),
        *_joined(_PAID, _GOT),
        *_joined(("feedback",), ("points", "reward", "outcome", "score", "payoff", "amount")),
        *("earned", "won", "coins", "money", "rewarded", "gained", "bonus", "tokens", "result"),
        *("feedback_text", "outcome_text", "feedback_message", "fb", "message", "is_rewarded"),
        *("ricompensa", "auszahlung", "gain_net", "net_gain", "net_outcome", "net", "pts"),
    ),
    "subject": (
        *("subject", "subjID", "subject_id", "subj", "participant", "participant_id"),
        *("person", "player", "worker_id", "prolific_pid", "pid", "sub", "sub_id", "subj_idx"),
        *("subject_number", "subject_num", "subject_nr", "participant_number", "participant_code"),
        *("person_id", "user_id", "player_id", "ppt", "sid", "id"),
        *("respondent", "respondent_id", "resp_id", "participant_private_id", "response_id"),
        *("jatos_worker_id", "prolific_id", "mturk_id", "sona_id", "rid"),
        *("run_id", "teilnehmer", "teilnehmernummer", "teilnehmer_id", "proband", "versuchsperson"),
        *("vp", "vpnr", "vpn", "vpcode", "vp_nummer", "vp_code"),
        *("sujet", "sujeto", "participante", "deelnemer", "proefpersoon", "ppn", "sub_num"),
        *("subj_num", "subj_no", "subj_nr", "subject_no", "sub_no", "participant_no", "ppt_id"),
        *("participant_nr", "sys_resp_num", "resp_num", "respondent_no", "uid", "soggetto"),
        *_joined(_WHO, _NUMBERS),
        *("pp", "vp_id", "id_sujeto", "codigo", "tn", "pt", *_WHO),
    ),
    "block": (
        *("block", "round", "game", "episode", "block_id", "block_number", "block_num"),
        *("block_index", "round_number", "round_num", "round_id", "game_number", "game_id"),
        *("block_nr", "block_no", "bloc", "bloque", "blok", "blocco"),
        *_joined(("block", "game", "round", "episode", "run", "miniblock"), _NUMBERS),
        *("run", "blk", "mini_block", "spiel", "runde", "durchlauf", "partie", "blocks"),
    ),
    "decision": (
        *("decision", "trial", "t", "trial_index", "trial_number", "trial_num", "trial_no"),
        *("trial_nr", "trial_id", "trials", "click", "step", "time_step", "turn", "period"),
        *("trial_n", "durchgang", "durchgangsnummer", "essai", "ensayo", "prova"),
        *_joined(("trial", "decision", "step", "essai", "ensayo", "durchgang"), _NUMBERS),
        *("trial_in_block", "trial_within_block", "block_trial", "trial_block", "trial_in_session"),
    ),
    "is_choice": ("is_choice",),
    "scored": ("scored",),
    "executed": ("executed", "executed_option", "option_executed"),
}
# Blocks are often numbered afresh in every session.
SESSION = (
    *("session", "session_number", "session_num", "session_nr", "ses", "session_id", "session_no"),
    *("sitzung", "sesion", "seance", "sessione", "sessie", "visit", "visit_number", "day", "wave"),
    *("timepoint", "termin", "messzeitpunkt", "visita", "visite", "testtag", "session_index"),
)
# Forced choices are shown: a column that is 1 where `is_choice` is 0.
FORCED = ("forced", "is_forced", "forced_choice", "forced_trial")
NOT = "not "
# Names of gains and of losses that have a column each; alone, those of losses are no rewards.
GAINS = ("gain", "gains", "win", "wins", "won", "winnings", "gewinn", "ganancia", "amount_won")
LOSSES = (
    *("loss", "losses", "lose", "lost", "loses", "penalty", "punishment", "verlust", "perdida"),
    *("perte", "fine", "amount_lost"),
)
COORDINATES = ("x", "y", "z")
NO_COLUMN = "none"
NEEDED = ("chosen", "reward")


@dataclass(frozen=True)
class PlayColumns:
    """The column of every part that a table of play has.

    Attributes
    ----------
    chosen
        Column of the option; several, the coordinates of the place chosen, where it has no number.
    reward
        Column of the reward; two where gains and losses have a column each.
    block
        Column of the play; several where sessions have a column of their own.
    executed
        Column of the option that was done, where it may differ from that chosen; several where
        places are given by coordinates.
    subject, decision, is_choice, scored
        Columns of the other parts; None where the table has none.
    found
        Parts that no one named: their columns were recognised.
    """

    chosen: str | tuple[str, ...]
    reward: str | tuple[str, str]
    subject: str | None = None
    block: str | tuple[str, ...] | None = None
    decision: str | None = None
    is_choice: str | None = None
    scored: str | None = None
    executed: str | tuple[str, ...] | None = None
    found: tuple[str, ...] = ()

    def arguments(self) -> dict[str, Any]:
        """The parts as arguments of `episodes_from_frame`."""
        return {part: getattr(self, part) for part in USUAL}

    def used(self) -> set[str]:
        """Every column that has a part."""
        return {flagged(name)[0] for name in _flat(self.arguments().values())}

    def words(self) -> str:
        """Which column is what, in one line.

        >>> PlayColumns(chosen="choice", reward=("gain", "loss"), subject="subjID").words()
        'chosen = choice; reward = gain - |loss|; subject = subjID'
        """
        parts = [
            f"{part} = {_words(part, name)}" for part, name in self.arguments().items() if name
        ]
        return "; ".join(parts)


def _words(part: str, column: Any) -> str:
    if isinstance(column, str):
        return column
    return f"{column[0]} - |{column[1]}|" if part == "reward" else f"({', '.join(column)})"


def play_columns(
    names: Sequence[str], given: Mapping[str, Any] | None = None, *, coordinates: int = 0
) -> PlayColumns:
    """Find the column of every part that is not given.

    Parameters
    ----------
    names
        Columns of the table.
    given
        Column of a part, by the name of the part; "none" for a part that the table shall not have.
    coordinates
        How many of the columns x, y and z may say which option was chosen where no other column
        does.

    Examples
    --------
    >>> found = play_columns(["subjID", "trial", "choice", "gain", "loss"])
    >>> found.subject, found.reward, found.block
    ('subjID', ('gain', 'loss'), None)
    """
    wanted = {part: column for part, column in (given or {}).items() if column}
    _check_given(wanted, names)
    columns: dict[str, Any] = {}
    taken = _flat(wanted.get(part) for part in NEEDED)
    for part in USUAL:
        if wanted.get(part) == NO_COLUMN and NO_COLUMN not in names:
            continue
        free = [name for name in names if name not in taken | _flat(columns.values())]
        columns[part] = wanted.get(part) or _found(part, free, coordinates)
    missing = [part for part in NEEDED if columns.get(part) is None]
    if missing:
        refuse_one_row_per_subject(names, columns.get("subject"))
        usual = USUAL[missing[0]]
        raise DataError(
            quoted_argument(missing[0]),
            f"must be given, as no column is called {' or '.join(usual[:3])}",
            got=f"columns {format_names(names)}",
            fix=f"Name the column with {quoted_argument(missing[0])}.",
        )
    found = tuple(part for part, name in columns.items() if name and part not in wanted)
    return PlayColumns(**columns, found=found)


def is_play(names: Sequence[str]) -> bool:
    """Whether the columns are those of task data rather than of options on offer.

    >>> is_play(["subject", "trial", "choice", "reward"]), is_play(["option", "chosen", "price"])
    (True, False)
    """
    has_reward = _found("reward", names, 0) is not None
    has_option = _found("chosen", names, len(COORDINATES)) is not None
    return has_reward and has_option and not is_long(names)


# The columns of a table with one row per option; names that these parts often have.
LONG: Mapping[str, tuple[str, ...]] = {
    "decision": (
        *("decision", "obs", "observation", "choice_set", "chid", "case", "decision_id", "obs_id"),
        *("task", "ques", "question", "question_id", "scenario", "choice_task", "set", "cs"),
        *("choice_situation", "card", "trial", "trial_number", "trial_index", "t"),
    ),
    "option": ("option", "alt", "alternative", "option_id", "alt_id", "profile", "concept"),
    "chosen": ("chosen", "choice", "chose", "selected", "picked", "response"),
}


def is_long(names: Sequence[str]) -> bool:
    """Whether there is one row per option, with a flag for the option that was taken."""
    plain = {plain_name(name) for name in names}
    options = plain & {plain_name(name) for name in LONG["option"]}
    taken = {"chosen", "choice", "chose", "selected", "picked"}
    taken |= {"response"} if options & {"concept", "profile", "alternative", "alt"} else set()
    return bool(options) and bool(plain & taken)


def _check_given(wanted: Mapping[str, Any], names: Sequence[str]) -> None:
    for part, column in wanted.items():
        for name in (column,) if isinstance(column, str) else column:
            if name not in names and flagged(name)[0] not in names and name != NO_COLUMN:
                raise DataError(
                    quoted_argument(part),
                    "must name a column",
                    got=f"{name!r}, but they are {format_names(names)}",
                    fix=closest_match_hint(name, names) or "Correct it.",
                )


def _flat(columns: Iterable[Any]) -> set[str]:
    """Names of columns, of which some parts have several and some none."""
    names: set[str] = set()
    for column in columns:
        names |= {column} if isinstance(column, str) else set(column or ())
    return names


def named_column(usual: Sequence[str], names: Sequence[str]) -> str | None:
    """The column with the first of the usual names that there is.

    >>> named_column(("choice", "response"), ["subject", "task_response", "data.choice"])
    'data.choice'
    """
    shared = _shared(names)
    for spelling in (plain_name, bare_name):
        by_name = {spelling(str(name)[shared:]): name for name in reversed(names)}
        for plain, name in _spelled(tuple(usual)).items():
            if plain in by_name:
                return name if name in names else by_name[plain]
    return None


@lru_cache(maxsize=64)
def _spelled(usual: tuple[str, ...]) -> dict[str, str]:
    """Usual names by their plain spelling, in their order."""
    found: dict[str, str] = {}
    for name in usual:
        found.setdefault(plain_name(name), name)
    return found


def _shared(names: Sequence[Any]) -> int:
    """Length of the word that all of several columns begin with, mark and all.

    >>> _shared(["exp1.choice", "exp1.reward", "exp1.id"]), _shared(["choice_1", "choice_2", "id"])
    (5, 0)
    """
    first = re.match(r"[^\W_]+[_.]", str(names[0])) if len(names) > 2 else None
    alike = first is not None and all(str(name).startswith(first[0]) for name in names)
    whole = alike and all(len(str(name)) > len(first[0]) for name in names) if first else False
    return len(first[0]) if first is not None and whole else 0


def is_called(usual: Iterable[str], name: Any) -> bool:
    """Whether a column has one of the usual names, or one with neutral words about it."""
    known = _spelled(tuple(usual))
    return plain_name(name) in known or bare_name(name) in known


def _found(part: str, names: Sequence[str], coordinates: int) -> Any:
    name = named_column(USUAL[part], names)
    if part == "block":
        return _within_sessions(name, names)
    if part == "is_choice" and name is None:
        forced = named_column(FORCED, names)
        return None if forced is None else NOT + forced
    if part == "reward" and (name is None or is_called(GAINS, name)):
        gain, loss = name or named_column(GAINS, names), named_column(LOSSES, names)
        if gain is not None and loss is not None:
            return gain, loss
        return _gain_and_loss(names) or gain
    if part == "reward":
        both = _gain_and_loss(names)
        return both if both is not None and both[0] == name else name
    if name is not None:
        return name
    if part == "chosen":
        axes = [named_column((axis,), names) for axis in COORDINATES[:coordinates]]
        return tuple(axis for axis in axes if axis is not None) or None
    return None


_GAIN_WORDS = {"gain": "loss", "gains": "losses", "win": "lose", "won": "lost", "wins": "losses"}


def _gain_and_loss(names: Sequence[str]) -> tuple[str, str] | None:
    """Two columns whose names differ by a gain and a loss alone, as gain_pts and loss_pts.

    >>> _gain_and_loss(["id", "winAmount", "loseAmount"])
    ('winAmount', 'loseAmount')
    """
    by_words = {tuple(w.lower() for w in _WORDS.findall(str(name))): str(name) for name in names}
    for words, name in by_words.items():
        for gain, loss in (*_GAIN_WORDS.items(), ("win", "loss")):
            other = tuple(loss if word == gain else word for word in words)
            if other != words and other in by_words:
                return name, by_words[other]
    return None


def flagged(name: Any) -> tuple[Any, bool]:
    """The column that a flag is read from, and whether it says the opposite.

    >>> flagged("is_choice"), flagged("not forced")
    (('is_choice', False), ('forced', True))
    """
    if isinstance(name, str) and name.startswith(NOT):
        return name.removeprefix(NOT), True
    return name, False


def _within_sessions(block: Any, names: Sequence[str]) -> Any:
    """The column of the block, together with that of the session where there is one."""
    session = named_column(SESSION, names)
    if session is None:
        return block
    return session if block is None else (session, block)


# Words before a name that say where its column comes from, and words about it that say of which
# trial or person it is, rather than what it holds.
_BEFORE = frozenset(("data", "values", "value", "results", "d", "raw"))
_ABOUT = frozenset(
    (
        *("task", "trial", "bandit", "game", "subject", "subj", "participant", "player", "ppt"),
        *("user", "agent", "this", "current", "actual", "made", "the", "on", "in", "of", "per"),
        *("coded", "value", "val", "amount", "amt", "txt", "str", "main", "experiment"),
    )
)
_SAYS_LITTLE = frozenset(
    (*("id", "index", "idx", "number", "num", "nr", "no", "code", "key", "name", "label"),)
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def bare_name(name: Any) -> str:
    """A name in plain spelling without words that say nothing of what its column holds.

    >>> bare_name("task_choice"), bare_name("trialReward"), bare_name("data.subjID")
    ('choice', 'reward', 'subjid')
    >>> bare_name("trial_index"), bare_name("amount")
    ('trialindex', 'amount')
    """
    text = str(name)
    words = [w.lower() for w in _WORDS.findall(unaccented(text))]
    if len(words) > 1 and words[0] in _BEFORE and not text.startswith("D"):  # of an option D
        words = words[1:]
    kept = "".join(word for word in words if word not in _ABOUT)
    left = {word for word in words if word not in _ABOUT and word not in _NUMBERS}
    if "trial" in words and left in ({"block"}, {"session"}, {"run"}):  # of a trial within it
        return "trialin" + "".join(left)
    return "".join(words) if len(kept) < 3 or kept in _SAYS_LITTLE else kept


def unaccented(text: str) -> str:
    """A text without accents, and without letters that ASCII lacks."""
    return (
        text
        if text.isascii()
        else "".join(mark for mark in normalize("NFKD", text) if mark.isascii())
    )


def plain_name(name: Any) -> str:
    """A name without case, punctuation and accents: SubjID, subj_id and subj.id are one.

    >>> plain_name("Später"), plain_name("subj.ID")
    ('spater', 'subjid')
    """
    return _plain(str(name))


@lru_cache(10_000)
def _plain(name: str) -> str:
    text = name.lower()
    return re.sub(r"[^a-z0-9]", "", text if text.isascii() else normalize("NFKD", text))

"""Words that laboratories give to options, attributes, answers and what else stands in a file."""

SOON_LATE = (
    ("ss", "ll"),
    ("SS", "LL"),
    ("sooner", "later"),
    ("immediate", "delayed"),
    ("imm", "del"),
    ("now", "later"),
    ("today", "future"),
    ("small", "large"),
    ("smaller", "larger"),
    ("early", "late"),
    ("near", "far"),
    ("SIR", "LDR"),
    ("soon", "late"),
    ("proximal", "distal"),
    ("sofort", "spaeter"),
    ("ahora", "despues"),
    ("maintenant", "plustard"),
    ("subito", "dopo"),
    ("straks", "nu")[::-1],
)
NUMBERED = (
    ("1", "2", "3"),
    ("A", "B", "C"),
    ("opt1", "opt2", "opt3"),
    ("option1", "option2", "option3"),
    ("alt1", "alt2", "alt3"),
    ("optA", "optB", "optC"),
    ("choice1", "choice2", "choice3"),
    ("left", "right"),
    ("L", "R"),
    ("top", "bottom"),
)
AMOUNT = (
    *("amount", "amt", "money", "reward", "value", "val", "magnitude", "mag", "sum", "dollars"),
    *("payoff", "pay", "betrag", "monto", "montant", "importo", "bedrag", "euros", "cash"),
)
DELAY = (
    *("delay", "wait", "time", "days", "when", "latency", "delay_days", "waiting_time", "t"),
    *("verzoegerung", "demora", "delai", "ritardo", "tage", "dias", "jours", "dly"),
)
CHANCE = ("prob", "probability", "p", "chance", "pct", "odds_pct", "likelihood", "wahrsch")
EFFORT = ("effort", "work", "presses", "difficulty", "squeeze", "level", "load", "steps", "mvc")
PERSON = (
    *(
        "subject",
        "subj",
        "subjID",
        "participant",
        "ppt",
        "ID",
        "id",
        "pid",
        "worker_id",
        "PROLIFIC_PID",
    ),
    *(
        "respondent",
        "resp_id",
        "vp",
        "versuchsperson",
        "sujeto",
        "sujet",
        "code",
        "Participant ID",
        "sub",
    ),
)
TASK = (
    *(
        "trial",
        "trial_number",
        "trialNum",
        "question",
        "q",
        "item",
        "set",
        "task",
        "round",
        "scenario",
    ),
    *("choice_set", "chid", "situation", "card", "obs", "durchgang", "ensayo", "trial_no"),
)
ANSWER = (
    *(
        "choice",
        "response",
        "resp",
        "answer",
        "chosen",
        "decision",
        "selection",
        "selected",
        "pick",
    ),
    *("choix", "eleccion", "wahl", "antwort", "scelta", "keuze", "picked", "preference"),
)
MISSED_WORDS = (
    *("", "NA", "NaN", "null", "None", "-", ".", "timeout", "no response", "missed", "miss"),
    *("NR", "n/a", "too slow", "omission", "TimeOut", "no_response", "N/A", "?"),
)
MISSED_NUMBERS = ("-1", "99", "999", "-99", "9", "-9")
PRACTICE = (
    ("phase", "practice", "test"),
    ("block", "practice", "main"),
    ("stage", "training", "experiment"),
    ("is_practice", "1", "0"),
    ("practice", "TRUE", "FALSE"),
    ("trial_phase", "Practice", "Real"),
    ("part", "demo", "task"),
    ("block_type", "prac", "exp"),
)
ATTRIBUTES = {
    "price": ("price", "cost", "fare", "fee", "preis", "prix", "precio", "tariff", "premium"),
    "time": ("time", "duration", "travel_time", "minutes", "dauer", "duree", "tt"),
    "distance": ("distance", "dist", "km", "entfernung"),
    "size": ("size", "storage", "capacity", "screen", "volume"),
    "risk": ("risk", "side_effects", "mortality", "failure_rate"),
}
LEVELS = {
    "brand": ("Acme", "Bolt", "Corex"),
    "label": ("organic", "conventional"),
    "colour": ("red", "green", "blue"),
    "comfort": ("low", "medium", "high"),
    "warranty": ("yes", "no"),
    "origin": ("local", "imported"),
    "doctor": ("GP", "nurse", "specialist"),
    "engine": ("petrol", "hybrid", "electric"),
}
MODES = (
    ("car", "bus", "train"),
    ("TRAIN", "SM", "CAR"),
    ("walk", "bike", "metro"),
    ("GP", "pharmacy", "online"),
)

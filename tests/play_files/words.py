"""Words that laboratories use for the parts of a table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """Names of columns and of values, some of which a file takes."""

    subject: tuple[str, ...]
    group: tuple[str, ...]
    groups: tuple[tuple[str, str], ...]
    session: tuple[str, ...]
    block: tuple[str, ...]
    trial: tuple[str, ...]
    choice: tuple[str, ...]
    stimulus_choice: tuple[str, ...]
    key_choice: tuple[str, ...]
    deck_choice: tuple[str, ...]
    reward: tuple[str, ...]
    total: tuple[str, ...]
    feedback: tuple[str, ...]
    gain: tuple[tuple[str, str], ...]
    seconds: tuple[str, ...]
    correct: tuple[str, ...]
    best: tuple[str, ...]
    chance: tuple[str, ...]
    payoff: tuple[str, ...]
    phase: tuple[str, ...]
    phases: tuple[tuple[str, str], ...]
    constant: tuple[tuple[str, str], ...]
    personal: tuple[tuple[str, tuple[str, ...]], ...]
    won: tuple[tuple[str, str], ...]
    sentences: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, ...], ...]
    sides: tuple[tuple[str, str], ...]
    keys: tuple[tuple[str, str], ...]
    missed: tuple[str, ...]
    previous: tuple[str, ...]
    stay: tuple[str, ...]


FIRST = Words(
    subject=(
        "subject", "subj", "sub", "participant", "participant_id", "ppt", "pp", "pid", "ID", "id",
        "subjID", "subject_nr", "Subject", "SubjectID", "vpn", "VP", "Versuchsperson", "sujet",
        "id_sujeto", "PROLIFIC_PID", "workerId", "user_id", "uid", "person", "patient", "mouse",
        "sub_id", "subNum", "ParticipantNumber", "player",
    ),
    group=("group", "Group", "diagnosis", "Gruppe", "groupe", "dx", "cohort", "condition"),
    groups=(("control", "patient"), ("young", "old"), ("HC", "MDD"), ("placebo", "drug")),
    session=("session", "ses", "visit", "Sitzung", "day"),
    block=("block", "Block", "block_number", "blockNr", "game", "run", "block_num", "bloc"),
    trial=(
        "trial", "Trial", "trial_number", "trialNum", "trial_nr", "t", "TrialNr", "Durchgang",
        "essai", "ensayo", "round", "trialno", "trial_index",
    ),
    choice=(
        "choice", "Choice", "chosen", "response", "resp", "chosen_option", "selected", "selection",
        "action", "arm", "chosen_arm", "machine", "Wahl", "Antwort", "choix", "eleccion", "scelta",
        "pick", "decision", "selectedOption", "task_choice", "option_chosen", "participantChoice",
        "bandit_choice", "slot_chosen",
    ),
    stimulus_choice=(
        "chosen_stim", "chosenStimulus", "stim_chosen", "chosen_image", "selected_stimulus",
        "choice_stim", "chosen_symbol", "choice",
    ),
    key_choice=(
        "key_press", "resp.keys", "response", "keyPressed", "key", "button_pressed", "choice_key",
        "resp_key", "Taste", "key_resp.keys",
    ),
    deck_choice=("deck", "Deck", "deck_chosen", "deckSelected", "choice", "card", "mazo"),
    reward=(
        "reward", "Reward", "outcome", "payoff", "points", "score", "earned", "payout", "rew",
        "rewardReceived", "reward_received", "Belohnung", "Gewinn", "recompense", "recompensa",
        "premio", "coins", "points_won", "trial_reward", "task_reward", "money", "r", "won",
        "obtained_reward", "outcomeValue",
    ),
    total=("total", "total_points", "cum_reward", "score_total", "balance", "TotalScore", "bank"),
    feedback=("feedback", "feedback_text", "Feedback", "fb", "outcome_text", "message"),
    gain=(("gain", "loss"), ("win", "lose"), ("wins", "losses"), ("gains", "penalty")),
    seconds=("rt", "RT", "response_time", "reactionTime", "resp.rt", "latency", "Reaktionszeit"),
    correct=("correct", "accuracy", "acc", "is_optimal", "optimal_choice", "corr", "hit"),
    best=("best_option", "correct_option", "optimal_arm", "good_stim", "best_arm", "corr_ans"),
    chance=("p_{}", "prob_{}", "p_reward_{}", "probability{}", "rewprob_{}"),
    payoff=("reward_{}", "payoff_{}", "outcome_{}", "points_{}", "r{}"),
    phase=("phase", "trial_type", "stage", "task_phase", "part", "section"),
    phases=(("practice", "test"), ("training", "main"), ("Practice", "Experiment"),
            ("practice", "task"), ("demo", "real")),
    constant=(
        ("version", "1.2"), ("experiment", "bandit_v3"), ("lang", "en"), ("n_options", "2"),
        ("iti", "1.5"), ("browser", "Chrome"), ("site", "1"), ("task", "bandit"),
        ("screen_width", "1920"), ("alpha", "0.5"), ("points_per_win", "10"), ("device", "1"),
    ),
    personal=(
        ("age", ("19", "24", "31", "42", "57")), ("gender", ("f", "m", "d")),
        ("counterbalance", ("1", "2")), ("cb", ("A", "B")), ("order", ("AB", "BA")),
        ("handedness", ("left", "right")), ("bdi", ("3", "12", "21", "30")),
        ("sex", ("0", "1")), ("list", ("1", "2", "3")), ("iq", ("101", "113", "97")),
    ),
    won=(("win", "loss"), ("win", "lose"), ("reward", "no reward"), ("gewonnen", "verloren"),
         ("hit", "miss"), ("True", "False"), ("yes", "no"), ("rewarded", "unrewarded"),
         ("correct", "incorrect"), ("win", "neutral")),
    sentences=(
        ("You won {} points!", "You lost {} points!"), ("+{}", "-{}"),
        ("You win {}", "You lose {}"), ("Won {} coins", "Lost {} coins"),
        ("<p>You won <b>{}</b> points</p>", "<p>You lost <b>{}</b> points</p>"),
    ),
    labels=(
        ("A", "B", "C", "D"), ("blue", "orange", "green", "red"),
        ("stimA.png", "stimB.png", "stimC.png", "stimD.png"),
        ("img/agata.jpg", "img/circle.jpg", "img/moon.jpg", "img/sun.jpg"),
        ("apple", "banana", "cherry", "melon"), ("Deck A", "Deck B", "Deck C", "Deck D"),
        ("a", "b", "c", "d"), ("bandit1", "bandit2", "bandit3", "bandit4"),
        ("square", "circle", "triangle", "star"),
    ),
    sides=(("left", "right"), ("L", "R"), ("links", "rechts"), ("gauche", "droite"),
           ("Left", "Right"), ("l", "r"), ("LEFT", "RIGHT"), ("izquierda", "derecha")),
    keys=(("f", "j"), ("ArrowLeft", "ArrowRight"), ("z", "m"), ("left", "right"), ("37", "39"),
          ("70", "74"), ("1", "0"), ("q", "p"), ("LeftArrow", "RightArrow"), ("arrowleft", "arrowright")),
    missed=("", "NA", "NaN", "null", "None", "timeout", "no response", "miss", "-1", "999", "99",
            "-", "n/a", "no_response", "missed", "too slow", "-99", "nan", ".", "0"),
    previous=("prev_choice", "last_choice", "choice_prev", "lag_choice"),
    stay=("stay", "switch", "repeat", "switched"),
)  # fmt: skip

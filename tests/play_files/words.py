"""Words that laboratories use for the parts of a table."""

from dataclasses import dataclass, replace


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
          ("70", "74"), ("1", "0"), ("q", "p"), ("LeftArrow", "RightArrow"), ("arrowleft",
          "arrowright")),
    missed=("", "NA", "NaN", "null", "None", "timeout", "no response", "miss", "-1", "999", "99",
            "-", "n/a", "no_response", "missed", "too slow", "-99", "nan", ".", "0"),
    previous=("prev_choice", "last_choice", "choice_prev", "lag_choice"),
    stay=("stay", "switch", "repeat", "switched"),
)  # fmt: skip


SECOND = Words(
    subject=(
        "Probandencode", "participant.id", "ParticipantID", "subj_code", "sbj", "s", "observer",
        "volunteer_id", "student", "child_id", "kid", "MTurkID", "prolificID", "SONA_ID", "codigo",
        "paziente", "Nr", "subjectNumber", "Subject_ID", "P", "ratID", "animal", "player_code",
        "identifiant", "code_sujet", "SubjNo", "ppn", "record_id",
    ),
    group=("grp", "Bedingung", "treatment", "arm", "status", "cohort", "clinical", "sample",
        "gruppo"),
    groups=(("sham", "tdcs"), ("CTRL", "SCZ"), ("jung", "alt"), ("0", "1"), ("caffeine", "water")),
    session=("SessionNumber", "visit_no", "testing_day", "timepoint", "ses_id", "wave", "tp"),
    block=("Blocknummer", "bl", "blk", "BlockNum", "run_number", "episode", "mini_block", "Partie",
           "gameNumber", "cycle", "set"),
    trial=(
        "trl", "TrialNumber", "trial_in_block", "Versuch", "tour", "numero_essai", "turn",
        "n_trial",
        "trialCount", "trial_id", "step", "k", "index",
    ),
    choice=(
        "subject_choice", "made_choice", "choiceMade", "ChosenOption", "chosen_bandit", "a", "act",
        "player_action", "arm_pulled", "pulled_arm", "Entscheidung", "gewaehlte_Option", "opcion",
        "option_choisie", "chosen_door", "door", "chosenBox", "planet", "which_machine", "choice_t",
        "user_choice", "click", "clicked_option", "Auswahl", "selected_door",
    ),
    stimulus_choice=(
        "stim_selected", "picked_card", "chosen_pic", "selected_image", "ChosenShape", "choice_id",
        "stimulus_chosen", "fractal_chosen", "chosen_item", "gewaehlter_Stimulus",
    ),
    key_choice=(
        "response_key", "pressed", "key_pressed", "keypress", "kb_resp", "resp", "key_resp_3.keys",
        "button", "touche", "ResponseKey", "keyboard_response", "side_chosen",
    ),
    deck_choice=("pile", "Stapel", "deck_choice", "card_deck", "chosenDeck", "selected_deck",
        "DeckPicked"),
    reward=(
        "rwd", "gain_trial", "pts", "credits", "euros", "cents_won", "reward_magnitude", "punkte",
        "Auszahlung", "resultado", "ganancia", "payment", "prize", "rewardOutcome", "trial_outcome",
        "rew_received", "outcome_points", "feedback_value", "is_win", "win", "reward_amt",
        "fb_points",
        "juice", "pellet", "nPoints", "earned_points", "out",
    ),
    total=("cumulative_points", "points_so_far", "runningTotal", "total_earned", "Punktestand",
           "totalReward", "score_so_far", "wallet", "account"),
    feedback=("feedback_shown", "fb_text", "Rueckmeldung", "displayed_feedback", "outcome_msg",
        "retour"),
    gain=(("reward_gain", "reward_loss"), ("won", "lost"), ("win_amount", "loss_amount"),
          ("Gewinn", "Verlust"), ("gain_pts", "loss_pts"), ("winAmount", "loseAmount")),
    seconds=("react_time", "RT_ms", "decision_time", "rt_choice", "time_to_choose", "Antwortzeit",
        "rts"),
    correct=("is_correct", "optimal", "chose_best", "Accuracy", "korrekt", "correct_choice",
        "best_chosen"),
    best=("better_option", "high_prob_option", "richer_arm", "correct_answer", "target_stim",
        "corrResp"),
    chance=("prob{}", "p{}", "reward_prob_{}", "{}_prob", "mu_{}", "walk_{}", "chance_{}"),
    payoff=("{}_reward", "payout_{}", "points{}", "{}_payoff", "potential_{}", "outcome{}"),
    phase=("trialphase", "exp_phase", "Phase", "trial_category", "kind", "segment", "TrialType"),
    phases=(("practice", "exp"), ("prac", "main"), ("Uebung", "Test"), ("tutorial", "game"),
            ("warmup", "experiment"), ("training", "testing"), ("example", "real")),
    constant=(
        ("build", "7"), ("study", "RL2"), ("locale", "de-DE"), ("arms", "2"), ("os", "Win10"),
        ("max_rt", "3000"), ("fb_dur", "1000"), ("reward_value", "5"), ("condition", "1"),
        ("trial_type", "choice"), ("session", "1"), ("block", "1"), ("response_device", "keyboard"),
        ("stimulus", "slots.png"), ("feedback_type", "full"),
    ),
    personal=(
        ("Alter", ("19", "24", "31", "42")), ("geschlecht", ("w", "m")), ("version", ("A", "B")),
        ("cb_order", ("1", "2")), ("left_key", ("f", "j")), ("stai", ("33", "41", "52")),
        ("final_score", ("120", "95", "143")), ("bonus_paid", ("1.2", "0.95", "1.43")),
        ("good_color", ("blue", "orange")), ("edad", ("20", "22", "35")), ("room", ("1", "2")),
        ("total_bonus", ("3.5", "4.1", "2.9")),
    ),
    won=(("WIN", "LOSS"), ("Gewinn", "Verlust"), ("gagné", "perdu"), ("positive", "negative"),
         ("coin", "nothing"), ("reward", "nothing"), ("Win", "NoWin"), ("good", "bad"),
         ("gold", "empty"), ("happy", "sad"), ("win.png", "lose.png"), ("+1", "0")),
    sentences=(
        ("+{} points", "-{} points"), ("Gewonnen: {}", "Verloren: {}"), ("You earned {} cents",
        "You lost {} cents"),
        ("You got {} coins!", "You lost {} coins!"), ("Reward: {}", "Loss: {}"),
        ("Well done! +{}", "Bad luck! -{}"),
    ),
    labels=(
        ("X", "Y", "Z", "W"), ("rot", "blau", "gelb", "lila"), ("door1", "door2", "door3", "door4"),
        ("stimuli/sym_03.bmp", "stimuli/sym_11.bmp", "stimuli/sym_17.bmp", "stimuli/sym_20.bmp"),
        ("cactus", "robot", "alien", "ufo"), ("M1", "M2", "M3", "M4"), ("opt_1", "opt_2", "opt_3",
        "opt_4"),
        ("Machine A", "Machine B", "Machine C", "Machine D"), ("s1", "s2", "s3", "s4"), ("top",
        "bottom", "mid", "far"),
        ("101", "102", "103", "104"),
    ),
    sides=(("left", "right"), ("sx", "dx"), ("Links", "Rechts"), ("lft", "rgt"), ("-1", "1"),
           ("left_button", "right_button"), ("leftkey", "rightkey"), ("G", "D")),
    keys=(("a", "l"), ("d", "k"), ("x", "m"), ("1", "2"), ("num_1", "num_2"), ("s", "l"), ("c",
        "n"),
          ("left", "right"), ("comma", "period"), ("KeyF", "KeyJ"), ("lctrl", "rctrl")),
    missed=("", "NA", "NaN", "-9", "-999", "no key", "No Response", "TIMEOUT", "none", "skip",
        "late",
            "verpasst", "keine Antwort", "missing", "9", "NR", "omission", "nr", "?", "aucune",
            "timed_out"),
    previous=("choice_t_minus_1", "prevChoice", "previous_response", "last_resp"),
    stay=("is_switch", "shift", "stayed", "wsls"),
)  # fmt: skip


THIRD = Words(
    subject=(
        "participant", "SubjectNumber", "subject_code", "pID", "participantNo", "User", "WorkerID",
        "vp_code", "Teilnehmer", "sujeto", "subj_id", "respondent", "MouseID", "patient_id",
        "case_id", "code", "Name", "login", "hash", "personID", "ID_participant",
    ),
    group=("Group", "treatment_group", "diag", "age_group", "cond", "between_condition",
        "Versuchsgruppe"),
    groups=(("low", "high"), ("HC", "OCD"), ("child", "adult"), ("A", "B"), ("exp", "con")),
    session=("session_nr", "Session", "visitNumber", "testday", "sess", "T"),
    block=("block_id", "BlockNumber", "blockIdx", "game_id", "episode_nr", "round_nr",
        "blockcount", "Spielnr"),
    trial=(
        "trial_counter", "trialnr", "Trial_No", "trial_n", "TrialIdx", "decision_nr", "pull",
        "spin",
        "trial_global", "event_nr", "trialID", "round_number",
    ),
    choice=(
        "choice_num", "choiceIndex", "Choice_Made", "chosenArm", "armChosen", "selected_machine",
        "slot", "machine_chosen", "chosen_side", "choose", "ActionTaken", "chosen_color",
        "colour_chosen",
        "opt_chosen", "lever", "Reaktion", "reponse", "keuze", "escolha", "picked_option",
        "resp_choice",
    ),
    stimulus_choice=(
        "chosen_fractal", "chosenImg", "selectedSymbol", "choice_image", "picked_stim",
        "chosen_name",
        "symbol_chosen", "selected_card",
    ),
    key_choice=(
        "key_pressed", "keyResponse", "pressed_key", "resp_key", "choice_resp.keys", "button_press",
        "response_side", "keys", "side",
    ),
    deck_choice=("deck_picked", "deckNumber", "deck", "chosen_deck", "card_chosen", "DeckChoice"),
    reward=(
        "reward_obtained", "points_gained", "trialScore", "Reward_Received", "payoff_trial",
        "gewinn",
        "coins_earned", "money_won", "outcome_amount", "rewarded", "reward_trial", "puntos",
        "tokens",
        "received", "rewardPoints", "outcome", "winnings", "bonus_trial", "stars_won", "Punkte",
    ),
    total=("totalpoints", "cum_score", "total_score", "earnings_total", "bank_balance",
        "cumReward"),
    feedback=("feedback", "feedback_string", "outcome_feedback", "feedbackText", "result_text"),
    gain=(("gain", "loss"), ("gains", "losses"), ("amount_won", "amount_lost"), ("win_pts",
        "lose_pts")),
    seconds=("RT", "reaction_time_ms", "choice_rt", "rtime", "response_latency", "TR", "rt_sec"),
    correct=("correct_response", "correct", "acc", "isBest", "chose_optimal", "accurate"),
    best=("best_stimulus", "optimal_option", "correct_side", "good_option", "best_deck",
        "correct_key"),
    chance=("p_{}", "prob_win_{}", "pr_{}", "rewardProb{}", "mean_{}", "true_p_{}"),
    payoff=("reward_{}", "{}_outcome", "payoff{}", "val_{}", "possible_{}"),
    phase=("phase", "trial_phase", "block_type", "exp_part", "Stage", "trialtype"),
    phases=(("practice", "main"), ("practice", "learning"), ("Training", "Experiment"),
            ("pract", "test"), ("instruction", "task"), ("tutorial", "main")),
    constant=(
        ("task_version", "2"), ("exp_id", "44"), ("language", "fr"), ("n_trials", "40"),
        ("feedback_duration", "1000"), ("monitor_hz", "60"), ("reward_prob_high", "0.8"),
        ("points_exchange", "100"), ("script", "rl.js"), ("platform", "mac"), ("consent", "1"),
    ),
    personal=(
        ("age", ("19", "24", "31", "42")), ("sex", ("F", "M")), ("counterbalancing", ("1", "2",
        "3")),
        ("mapping", ("AB", "BA")), ("phq9", ("3", "8", "15")), ("education", ("12", "16", "18")),
        ("total_payment", ("4.2", "5.1", "3.9")), ("start_time", ("09:12", "10:45", "14:30")),
        ("key_mapping", ("fj", "jf")), ("years", ("20", "22", "35")),
    ),
    won=(("win", "nowin"), ("won", "lost"), ("Reward", "NoReward"), ("success", "failure"),
         ("correct", "wrong"), ("TRUE", "FALSE"), ("gain", "nogain"), ("points", "no points"),
         ("smiley", "frowny")),
    sentences=(
        ("You won {}!", "You lost {}!"), ("{} points", "-{} points"), ("+{}", "-{}"),
        ("Congratulations, you won {} points", "Sorry, you lost {} points"), ("Gain: {}",
        "Loss: {}"),
    ),
    labels=(
        ("A", "B", "C", "D"), ("red", "green", "blue", "yellow"), ("lion", "tiger", "bear", "wolf"),
        ("pic1.jpg", "pic2.jpg", "pic3.jpg", "pic4.jpg"), ("circle", "square", "cross", "star"),
        ("Option 1", "Option 2", "Option 3", "Option 4"), ("alpha", "beta", "gamma", "delta"),
        ("img_07", "img_12", "img_21", "img_30"), ("I", "II", "III", "IV"),
    ),
    sides=(("left", "right"), ("L", "R"), ("Left", "Right"), ("links", "rechts"), ("0", "1")),
    keys=(("f", "j"), ("arrowleft", "arrowright"), ("q", "p"), ("z", "slash"), ("1", "2"), ("v",
        "n"),
          ("left", "right"), ("s", "k"), ("b", "y")),
    missed=("", "NA", "nan", "-1", "-99", "99", "no_resp", "TooSlow", "none", "Missed", "N/A",
        "null",
            "no answer", "time out", "void", "X", "noResp"),
    previous=("previous_choice", "prev_resp", "choice_lag1", "lastChoice"),
    stay=("stay", "switch", "did_switch", "repeated"),
)  # fmt: skip


FOURTH = replace(
    THIRD,
    subject=("subjectID", "Participant", "ppid", "VPN", "idnum", "worker", "S_ID", "Proband"),
    session=("session_num", "day_nr", "Ses", "occasion", "meas"),
    block=("blockno", "Durchlauf", "level", "bout", "block_index", "gameno"),
    trial=("Trialnummer", "trial_idx", "tr", "choice_nr", "trialcount", "count"),
    choice=("selection_made", "choiceOption", "arm_selected", "player_choice", "chose", "resp_arm"),
    stimulus_choice=("stim_choice", "chosenPicture", "item_chosen", "selected_shape"),
    key_choice=("key_response", "ButtonPressed", "resp.button", "response_button"),
    deck_choice=("deck_selected", "Deckwahl", "which_deck", "deckID"),
    reward=("rewardValue", "out_come", "pointsEarned", "payout_trial", "won_amount", "Ertrag"),
    total=("sum_points", "total_won", "purse", "cumulativeScore"),
    feedback=("fb_message", "feedback_display", "text_shown"),
    gain=(("wins", "losses"), ("gain_amount", "loss_amount"), ("won_points", "lost_points")),
    phase=("Phase", "trial_kind", "task_part"),
    phases=(("practice", "game"), ("prac", "exp"), ("trial_run", "real")),
    labels=(
        ("K", "L", "M", "N"),
        ("oak", "elm", "fir", "ash"),
        ("im1.bmp", "im2.bmp", "im3.bmp", "im4.bmp"),
        ("7", "3", "5", "9"),
    ),
    keys=(("g", "h"), ("left", "right"), ("e", "i"), ("w", "o"), ("Digit1", "Digit9")),
    missed=("", "NA", "-1", "999", "no-resp", "MISS", "nothing pressed", "-8", "n.a."),
)


# Written after names in public data and the languages of laboratories, before any rule saw them.
FIFTH = Words(
    subject=(
        "subid", "subno", "SubNo", "userId", "ppnr", "soggetto_id", "sujeito", "katilimci",
        "badany", "osoba", "被试编号", "испытуемый", "SN", "Ss", "ParticipantPublicID", "mouse_id",
        "rat", "animalID", "SUBJ", "randomID", "pseudonym", "identifiant_participant", "FP",
        "anon_id", "bird", "koodi", "deltager", "MID",
    ),
    group=("genotype", "manipulation", "virus", "Kohorte", "gruppe_nr", "grupo", "condizione",
        "between", "Diagnose", "population"),
    groups=(("OFF", "ON"), ("wt", "ko"), ("PD", "HC"), ("1", "2"), ("GFP", "ChR2"),
        ("saline", "ketamine"), ("low_anx", "high_anx")),
    session=("n_session", "sesh", "sessione_n", "testing_session", "SESSION", "messung", "scan",
        "date_index", "appointment"),
    block=("learningblock", "n_block", "blockID", "seq", "bloque_n", "iblock", "Lernblock",
        "pair_set", "contingency_block", "stimset", "season", "BLOCK"),
    trial=(
        "n_trial", "itrial", "trialN", "beurt", "intento", "tentativa", "deneme", "proba",
        "essai_n", "prova_n", "试次", "TRIAL", "trialNumInBlock", "trial_abs", "sample", "draw",
        "choice_number", "timestep", "attempt", "ntrl",
    ),
    choice=(
        "wybor", "secim", "valg", "选择", "выбор", "scelta_fatta", "escolha_feita",
        "opcion_elegida", "A", "ans", "participant_response", "chosen_idx", "bandit_id",
        "picked_slot", "lick_side", "port", "poke", "ActionIndex", "sub_choice", "cond_choice",
        "chx", "stimChoice", "final_choice", "chosen_state", "armIdx", "urn", "mushroom",
        "response_made", "ChosenLocation", "boat",
    ),
    stimulus_choice=(
        "symbole_choisi", "gewaehltes_bild", "chosen_face", "selectedRune", "shape_picked",
        "obj_chosen", "chosen_cue_id", "stimulus_picked", "selected_glyph",
    ),
    key_choice=(
        "key_down", "tecla_pulsada", "touche_appuyee", "taste_gedrueckt", "btn", "ButtonBox",
        "kbResponse", "resp_letter", "KeyCode", "finger", "pressedKey", "trial_resp.keys",
    ),
    deck_choice=("mazzo", "keuze_deck", "pile_choisie", "deck_letter", "DeckSelected",
        "stapel_gewaehlt", "IGT_choice"),
    reward=(
        "R", "rew.found", "opbrengst", "guadagno", "ganho", "monedas", "wygrana", "odul",
        "belonning", "奖励", "награда", "gain_euros", "feedbackType", "reward_binary", "water_ul",
        "correct_fb", "fb_value", "trial_points", "outcome_val", "rwrd", "rewardGiven", "US",
        "pay", "benefit", "drops", "resultat", "earn", "cash", "realized_outcome", "value_obtained",
    ),
    total=("acumulado", "points_accum", "totaal", "cagnotte", "running_score", "net_worth",
        "winsum", "cumpoints", "Kontostand", "piggybank"),
    feedback=("fb_string", "mensaje", "feedbackMsg", "texte_retour", "screen_text", "resultText"),
    gain=(("gewonnen", "verloren"), ("gagne", "perdu"), ("pos_outcome", "neg_outcome"),
          ("reward_pts", "punish_pts"), ("plus", "minus"), ("winpts", "losspts")),
    seconds=("tiempo_respuesta", "latencia", "Zeit_ms", "rtChoice", "temps_reponse", "response_rt",
        "decisionRT", "tr_ms"),
    correct=("cor", "choiceIsHighP", "hit_rate", "richtig", "chose_high", "aciertos", "was_best"),
    best=("corA", "high_arm", "correctSide", "S_high", "bonne_option", "target_side",
        "bestBandit"),
    chance=("contingency_{}", "P{}", "rewP_{}", "{}_p", "drift_{}", "prob_rew_{}", "w{}"),
    payoff=("counterfactual_{}", "rew{}", "amt_{}", "{}_points", "feedback_{}", "val{}"),
    phase=("fase", "runtype", "etape", "Abschnitt", "expPhase", "mode", "what", "epoch"),
    phases=(("oefen", "test"), ("entrainement", "test"), ("ensayo_practica", "experimento"),
            ("prova", "esperimento"), ("warm-up", "main_task"), ("habituation", "reversal"),
            ("learn_controls", "play"), ("train", "exp")),
    constant=(
        ("expe", "3"), ("protocol", "RL"), ("rig", "2"), ("lang", "nl"), ("n_arms", "2"),
        ("reward_size", "4"), ("p_high", "0.75"), ("timeout_s", "3"), ("fbtype", "1"),
        ("ns", "2"), ("currency", "EUR"), ("response_window", "2500"), ("seed", "42"),
        ("optimal", "na"), ("choice_set", "AB"), ("magnitude", "1"),
    ),
    personal=(
        ("leeftijd", ("19", "24", "31", "42")), ("sexe", ("F", "H")), ("age_months", ("240", "301",
        "355")), ("keymap", ("1", "2")), ("weight_g", ("21.5", "24.1", "19.8")),
        ("side_bias", ("left", "right")), ("bis11", ("51", "63", "70")), ("hand", ("R", "L")),
        ("bonus_eur", ("2.1", "3.4", "1.9")), ("colour_set", ("rb", "gy")),
        ("total_correct", ("31", "40", "28")), ("points_final", ("210", "340", "190")),
    ),
    won=(("ganado", "perdido"), ("gagne", "perdu"), ("treffer", "niete"), ("R", "NR"),
         ("thumbs_up", "thumbs_down"), ("kazandi", "kaybetti"), ("pos", "neg"), ("rew", "norew"),
         ("coin.png", "cross.png"), ("water", "omission"), ("high", "low"), ("ON", "OFF")),
    sentences=(
        ("Has ganado {} puntos", "Has perdido {} puntos"), ("Vous gagnez {} points",
        "Vous perdez {} points"), ("Je wint {} cent", "Je verliest {} cent"),
        ("Sie haben {} Punkte gewonnen", "Sie haben {} Punkte verloren"), ("Win: +{}", "Loss: -{}"),
        ("+ {} pts", "- {} pts"), ("You gain {} tokens", "You forfeit {} tokens"),
    ),
    labels=(
        ("kwadrat", "kolo", "gwiazda", "trojkat"), ("U", "V", "W", "Q"),
        ("rune_12", "rune_7", "rune_31", "rune_2"), ("北", "南", "东", "西"),
        ("stim/f01.png", "stim/f09.png", "stim/f17.png", "stim/f22.png"),
        ("north", "south", "east", "west"), ("purple", "cyan", "white", "black"),
        ("H", "T", "S", "D"), ("e1", "e2", "e3", "e4"), ("11", "12", "13", "14"),
        ("first", "second", "third", "fourth"), ("safe", "risky", "novel", "other"),
    ),
    sides=(("sinistra", "destra"), ("lewo", "prawo"), ("esquerda", "direita"), ("1", "-1"),
           ("Lport", "Rport"), ("CCW", "CW"), ("sol", "sag"), ("linke", "rechte"), ("2", "1")),
    keys=(("a", "s"), ("k", "l"), ("u", "i"), ("49", "50"), ("b1", "b2"), ("Left", "Right"),
          ("lshift", "rshift"), ("kp_1", "kp_3"), ("t", "y"), ("6", "7"), ("space", "return")),
    missed=("", "NA", "NULL", "-3", "888", "nogo", "brak", "timeLimit", "NoChoice", "--", "#N/A",
            "overtime", "geen", "sin respuesta", "pas de réponse", "None", "miss_trial", "abort",
            "7777", "0", "*", "timeout_no_resp", "wait"),
    previous=("choice_tm1", "lagchoice", "A_prev", "choix_precedent"),
    stay=("pstay", "cambio", "switchTrial", "same_as_last"),
)  # fmt: skip

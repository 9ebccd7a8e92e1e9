"""What parameters and columns are called where people read: figures, pages, headings of tables.

Files for machines keep the names of the code; this is the one place that turns them into words.
"""

from __future__ import annotations

import re

# the words, and the unit where the parameter has one
PARAMETERS = {
    "decision_noise": ("decision noise", "units of reward"),
    "prior_mean": ("prior mean", "units of reward"),
    "prior_variance": ("prior variance", "units of reward²"),
    "drift_variance": ("drift variance", "units of reward²"),
    "implied_noise_sd": ("implied SD of reward noise", "units of reward"),
    "length_scale": ("length scale", "units of distance"),
    "temperature": ("temperature", "units of value"),
    "inverse_temperature": ("inverse temperature", "1 / units of value"),
    "inverse_temperature_2": ("inverse temperature of stage 2", "1 / units of value"),
    "learning_rate": ("learning rate", ""),
    "learning_rate_1": ("learning rate of stage 1", ""),
    "learning_rate_2": ("learning rate of stage 2", ""),
    "learning_rate_positive": ("positive learning rate", ""),
    "learning_rate_negative": ("negative learning rate", ""),
    "discount_rate": ("discount rate", "per unit of delay"),
    "win_stay": ("win-stay", "log-odds"),
    "lose_shift": ("lose-shift", "log-odds"),
    "stickiness": ("stickiness", ""),
    "reward:transition": ("reward × transition", "log-odds"),
    "model_based_share": ("model-based share", ""),
}
COLUMNS = {
    "p_value": "p",
    "adjusted_p_value": "adjusted p",
    "wilcoxon_p_value": "Wilcoxon p",
    "degrees_of_freedom": "df",
    "df_1": "df",
    "df_2": "df of F",
    "hedges_g": "Hedges' g",
    "cohens_dz": "Cohen's dz",
    "name": "parameter",
    "n_subjects": "subjects",
    "n_decisions": "trials",
    "n_left_out": "left out",
    "n_pairs": "pairs",
    "i2": "I²",
    "log_likelihood": "log-likelihood",
    "exact_log_likelihood": "exact log-likelihood",
    "standard_error": "std. error",
}
ENDINGS = {"_standard_error": "std. error", "_low": "low", "_high": "high"}
LOG = "log "
CONSTANT = "constant:"
NUMBERED = (
    (re.compile(r"bias_(\w+)$"), "bias for option {}"),
    (re.compile(r"reward_(\d+)$"), "reward, {} back"),
    (re.compile(r"choice_(\d+)$"), "choice, {} back"),
)
SHARES = re.compile(
    r"(learning|choice|fictitious|forgetting)_rate(_\w+)?$|forgetting$|epsilon$|(\w+_)?share$|trace_decay$"
)
WORTH, SENSITIVITY = "_worth", "_sensitivity"  # of attributes, whose names are the user's
# of a population: learning_rate:group[old] and, within people, learning_rate[drug]
CONDITION = re.compile(r"([^\W\d][\w:]*?)(?::(\w[^[:]*))?\[(.+)\]$")
LEVEL = re.compile(r"[^\W\d]\w*:\S")  # of an attribute
NAME = re.compile(r"[^\W\d]\w*(?:/\w+)*$")


def in_words(name: str) -> str:
    """A name of the code in words; what is in words already stays as it is.

    Examples
    --------
    >>> in_words("learning_rate"), in_words("log prior_variance"), in_words("learning_rate_low")
    ('learning rate', 'log prior variance', 'learning rate, low')
    >>> in_words("label:organic_worth"), in_words("price_sensitivity")
    ('worth of label organic', 'price sensitivity')
    >>> in_words("travel_time_worth"), in_words("constant:neither_worth")
    ('worth of travel time', 'worth of neither')
    >>> in_words("learning_rate:group[old]"), in_words("learning_rate:dose[2]")
    ('learning rate: old', 'learning rate: dose 2')
    >>> in_words("learning_rate[placebo]"), in_words("learning_rate:age")
    ('learning rate: placebo', 'learning rate: age')
    >>> in_words("comfort:low"), in_words("constant:none"), in_words("travel_time:income")
    ('comfort low', 'constant of none', 'travel time income')
    >>> in_words("adjusted_p_value"), in_words("bias_0"), in_words("response time (s)")
    ('adjusted p', 'bias for option 0', 'response time (s)')
    """
    if name.startswith(LOG):
        return LOG + in_words(name.removeprefix(LOG))
    if name in PARAMETERS:
        return PARAMETERS[name][0]
    condition = CONDITION.match(name)
    if condition:
        parameter, column, label = condition.groups()
        said = f"{column} {label}" if column and label.replace(".", "").isdigit() else label
        return f"{in_words(parameter)}: {said}"
    parameter, _, covariate = name.rpartition(":")
    if covariate and not covariate.startswith(" ") and parameter in PARAMETERS:
        return f"{in_words(parameter)}: {covariate}"
    if name in COLUMNS:
        return COLUMNS[name]
    for ending, words in ENDINGS.items():
        if name.endswith(ending) and NAME.match(name):
            return f"{in_words(name.removesuffix(ending))}, {words}"
    if name.endswith(SENSITIVITY) and len(name) > len(SENSITIVITY):
        return in_words(name.removesuffix(SENSITIVITY)) + SENSITIVITY.replace("_", " ")
    if name.endswith(WORTH) and len(name) > len(WORTH):
        return f"worth of {attribute_words(name.removesuffix(WORTH))}"
    for pattern, words in NUMBERED:
        found = pattern.match(name)
        if found:
            return words.format(found.group(1))
    if LEVEL.match(name):
        return name.replace(":", " of ") if name.startswith(CONSTANT) else attribute_words(name)
    return name.replace("_", " ").replace("/", " / ") if NAME.match(name) else name


def in_sentence(name: str) -> str:
    """A name of the code in words that a sentence may hold: without a colon.

    Examples
    --------
    >>> in_sentence("learning_rate:drug[placebo]"), in_sentence("learning_rate")
    ('learning rate (placebo)', 'learning rate')
    """
    parameter, colon, rest = in_words(name).partition(": ")
    return f"{parameter} ({rest})" if colon else parameter


def attribute_words(name: str) -> str:
    """An attribute in words: of the level brand:Zen both, of a constant its option alone.

    Examples
    --------
    >>> attribute_words("brand:Zen"), attribute_words("constant:neither")
    ('brand Zen', 'neither')
    """
    kind, _, level = name.partition(":")
    if name.startswith(CONSTANT) and level:
        return level
    return f"{in_words(kind)} {level}" if level else in_words(kind)


def on_axis(name: str) -> str:
    """A name of the code for an axis: in words, with its unit where that is known.

    Examples
    --------
    >>> on_axis("prior_mean"), on_axis("learning_rate"), on_axis("estimate")
    ('prior mean (units of reward)', 'learning rate', 'estimate')
    """
    unit = PARAMETERS.get(name, ("", ""))[1]
    return f"{in_words(name)} ({unit})" if unit else in_words(name)


def range_of(name: str) -> tuple[float, float] | None:
    """What a parameter of this name can be: 0 to 1 for shares and rates of learning.

    Examples
    --------
    >>> range_of("learning_rate"), range_of("temperature")
    ((0.0, 1.0), None)
    """
    return (0.0, 1.0) if SHARES.match(name) else None

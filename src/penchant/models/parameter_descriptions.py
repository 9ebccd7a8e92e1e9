"""Words for parameters, by their names, which mean the same in every model.

Files for machines keep the names of the code; figures and reports take label, unit and meaning from
here.
"""

from __future__ import annotations

from typing import NamedTuple


class ParameterDescription(NamedTuple):
    """Label, unit and meaning of a parameter for reports; "" where there is none.

    Attributes
    ----------
    label
        Its name in words.
    unit
        In which unit it is, in words.
    meaning
        What it says of a person, as the end of a sentence.
    """

    label: str
    unit: str = ""
    meaning: str = ""


PARAMETER_WORDS = {
    "decision_noise": ParameterDescription(
        "decision noise",
        "units of reward",
        "how random choices are, in the units of rewards; 0 is always the best guess",
    ),
    "prior_mean": ParameterDescription(
        "prior mean",
        "units of reward",
        "the reward that was expected of every option before play",
    ),
    "prior_variance": ParameterDescription(
        "prior variance",
        "units of reward²",
        "how uncertain that expectation was; a large one makes people explore",
    ),
    "drift_variance": ParameterDescription("drift variance", "units of reward²"),
    "implied_noise_sd": ParameterDescription(
        "implied SD of reward noise",
        "units of reward",
        "the noise of rewards that the bonus for uncertainty amounts to",
    ),
    "length_scale": ParameterDescription(
        "length scale",
        "units of distance",
        "how far apart two options may lie and still be thought alike",
    ),
    "temperature": ParameterDescription(
        "temperature", "units of value", "how random choices are, in the units of rewards"
    ),
    "inverse_temperature": ParameterDescription("inverse temperature", "1 / units of value"),
    "inverse_temperature_2": ParameterDescription(
        "inverse temperature of stage 2", "1 / units of value"
    ),
    "learning_rate": ParameterDescription(
        "learning rate",
        meaning="how far the value of an option moves towards each new reward, from 0 to 1",
    ),
    "learning_rate_1": ParameterDescription("learning rate of stage 1"),
    "learning_rate_2": ParameterDescription("learning rate of stage 2"),
    "learning_rate_positive": ParameterDescription("positive learning rate"),
    "learning_rate_negative": ParameterDescription("negative learning rate"),
    "discount_rate": ParameterDescription(
        "discount rate",
        "per unit of delay",
        "how fast a reward loses value with its delay; 0 is not at all",
    ),
    "loss_aversion": ParameterDescription(
        "loss aversion",
        meaning="how much more a loss counts than a gain of the same size; 1 is as much",
    ),
    "present_bias": ParameterDescription(
        "present bias",
        meaning="what is left of the value of anything that is not now, from 0 to 1",
    ),
    "win_stay": ParameterDescription("win-stay", "log-odds"),
    "lose_shift": ParameterDescription("lose-shift", "log-odds"),
    "stickiness": ParameterDescription("stickiness"),
    "reward:transition": ParameterDescription("reward × transition", "log-odds"),
    "model_based_share": ParameterDescription("model-based share"),
}

"""Figures worth publishing: one function each, which takes data and an `Axes`.

All share one look (`style`): colours that everybody can tell apart, lines and markers that work in
grey, letters of 7 points and more at print size. Values that are not finite are counted and marked
at the edge, never drawn as a number.
"""

from typing import TYPE_CHECKING

from penchant._lazy_imports import lazy_exports
from penchant.figures.choices_and_learning import (
    belief_map,
    choice_map,
    choices_and_belief,
    heat_map,
    interface,
    landscape_profile,
    learning_curve,
    regret_growth,
    step_distances,
)
from penchant.figures.likelihood_profiles import profile, profile_likelihood
from penchant.figures.model_comparison import (
    choice_probability,
    exceedance,
    model_differences,
    model_totals,
    predicted_observed,
    predictive_intervals,
)
from penchant.figures.population_estimates import (
    coefficients,
    population,
    population_density,
    shrinkage,
)
from penchant.figures.simulation_studies import (
    confusion,
    convergence,
    data_needed,
    recovery,
    without_estimate,
)
from penchant.figures.style import PALETTE, figure, inline_svg, save, series_style, style
from penchant.figures.subject_estimates import forest, parameter_scatter

# imported lazily: the overview needs the modules of all results, which other figures do not
if TYPE_CHECKING:
    from penchant.figures.result_overview import overview as overview
else:
    __getattr__, _, _ = lazy_exports(__name__)

__all__ = [
    "PALETTE",
    "belief_map",
    "choice_map",
    "choice_probability",
    "choices_and_belief",
    "coefficients",
    "confusion",
    "convergence",
    "data_needed",
    "exceedance",
    "figure",
    "forest",
    "heat_map",
    "inline_svg",
    "interface",
    "landscape_profile",
    "learning_curve",
    "model_differences",
    "model_totals",
    "overview",
    "parameter_scatter",
    "population",
    "population_density",
    "predicted_observed",
    "predictive_intervals",
    "profile",
    "profile_likelihood",
    "recovery",
    "regret_growth",
    "save",
    "series_style",
    "shrinkage",
    "step_distances",
    "style",
    "without_estimate",
]


def __dir__() -> list[str]:
    return __all__

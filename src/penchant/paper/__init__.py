"""The paper: its landscapes and examples, its experiments, tables and claims."""

from typing import TYPE_CHECKING

from penchant._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from penchant.bandit.landscape import IntegerNoise as IntegerNoise
    from penchant.bandit.landscape import landscape_a as landscape_a
    from penchant.bandit.landscape import landscape_b as landscape_b
    from penchant.inference.linearized_model import compare_nominals as compare_nominals
    from penchant.inference.linearized_model import fit_linearized_each as fit_linearized_each
    from penchant.inference.linearized_model import relinearize as relinearize
    from penchant.paper.examples import cooling_choices as cooling_choices
    from penchant.paper.examples import q_learning_choices as q_learning_choices
    from penchant.paper.examples import temperature_choices as temperature_choices
    from penchant.population.pooled_estimates import (
        population_in_natural_parameters as population_in_natural_parameters,
    )

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)

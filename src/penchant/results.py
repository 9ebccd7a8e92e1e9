"""Classes of results, for annotations, and functions of results.

Objects of these classes are returned by functions: `fit_each` returns `Estimates`, `recover` a
`Recovery`. The functions take such results: `profile_curve` an estimate, `growth_orders` regrets.
"""

from typing import TYPE_CHECKING

from penchant._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from penchant.assistance.poor_performance_warning import EarlyWarning as EarlyWarning
    from penchant.assistance.poor_performance_warning import PoorPlayWarning as PoorPlayWarning
    from penchant.assistance.shared_autonomy import Advice as Advice
    from penchant.assistance.shared_autonomy import Helper as Helper
    from penchant.assistance.shared_autonomy import replay as replay
    from penchant.bandit.episode_table import episode_rows as episode_rows
    from penchant.bandit.landscape import cumulative_regret as cumulative_regret
    from penchant.inference.belief_map import BeliefMap as BeliefMap
    from penchant.inference.online_estimation import Live as Live
    from penchant.inference.profile_curve import profile_curve as profile_curve
    from penchant.models.checks import ModelCheck as ModelCheck
    from penchant.population.group_comparison_result import GroupComparison as GroupComparison
    from penchant.population.group_tests import adjusted_p_values as adjusted_p_values
    from penchant.population.hierarchy.contrasts import Contrast as Contrast
    from penchant.population.hierarchy.mixture import PopulationMixture as PopulationMixture
    from penchant.population.hierarchy.result import PopulationFit as PopulationFit
    from penchant.population.hierarchy.sampling import PopulationSample as PopulationSample
    from penchant.population.hierarchy.subject_posteriors import (
        PopulationSubjects as PopulationSubjects,
    )
    from penchant.population.meta_analysis import PopulationEstimate as PopulationEstimate
    from penchant.population.meta_analysis import PopulationEstimates as PopulationEstimates
    from penchant.population.regret_growth_categories import GrowthOrder as GrowthOrder
    from penchant.population.regret_growth_categories import GrowthOrders as GrowthOrders
    from penchant.population.regret_growth_categories import growth_orders as growth_orders
    from penchant.report.study import Study as Study
    from penchant.scale.subject_estimates import StoredEstimates as StoredEstimates
    from penchant.softmax.estimate_collection import Estimates as Estimates
    from penchant.studies.study_data import StudyData as StudyData
    from penchant.tables.reading import Reading as Reading
    from penchant.workflow.adaptive_question_posterior import Posterior as Posterior
    from penchant.workflow.adaptive_questions import Asker as Asker
    from penchant.workflow.candidate_question_arrays import Offer as Offer
    from penchant.workflow.design_simulation import Design as Design
    from penchant.workflow.latent_variables import Latent as Latent
    from penchant.workflow.model_comparison_results import ModelComparison as ModelComparison
    from penchant.workflow.model_comparison_results import (
        PopulationComparison as PopulationComparison,
    )
    from penchant.workflow.model_recovery import ModelRecovery as ModelRecovery
    from penchant.workflow.model_selection import ModelSelection as ModelSelection
    from penchant.workflow.model_selection import select_models as select_models
    from penchant.workflow.parameter_recovery import Recovery as Recovery
    from penchant.workflow.predictive_checks import PredictiveCheck as PredictiveCheck
    from penchant.workflow.predictive_checks import log_likelihood_draws as log_likelihood_draws
    from penchant.workflow.predictive_checks import parameter_draws as parameter_draws

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)

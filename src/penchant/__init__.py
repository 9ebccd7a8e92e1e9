"""What a decision-maker wants and believes, from the choices it makes."""

from typing import TYPE_CHECKING

from penchant._lazy import lazily
from penchant._version import __version__ as __version__

if TYPE_CHECKING:
    from penchant import datasets as datasets
    from penchant import figures as figures
    from penchant.bandit.beliefs import RewardPrior as RewardPrior
    from penchant.bandit.episode import Episode as Episode
    from penchant.bandit.episode_table import episode_rows as episode_rows
    from penchant.bandit.episode_table import episodes_from_frame as episodes_from_frame
    from penchant.bandit.landscape import GaussianNoise as GaussianNoise
    from penchant.bandit.landscape import IntegerNoise as IntegerNoise
    from penchant.bandit.landscape import Landscape as Landscape
    from penchant.bandit.landscape import cumulative_regret as cumulative_regret
    from penchant.bandit.landscape import landscape_a as landscape_a
    from penchant.bandit.landscape import landscape_b as landscape_b
    from penchant.bandit.locations import grid as grid
    from penchant.choices import Choices as Choices
    from penchant.choices import NaturalParameters as NaturalParameters
    from penchant.errors import DataError as DataError
    from penchant.errors import NotConvergedError as NotConvergedError
    from penchant.errors import NotIdentifiedError as NotIdentifiedError
    from penchant.errors import PenchantWarning as PenchantWarning
    from penchant.errors import SeparationError as SeparationError
    from penchant.inference.estimate import ModelEstimate as ModelEstimate
    from penchant.inference.fit import fit as fit
    from penchant.inference.fit_each import ModelEstimates as ModelEstimates
    from penchant.inference.fit_each import fit_each as fit_each
    from penchant.inference.linearized import compare_nominals as compare_nominals
    from penchant.inference.linearized import fit_linearized as fit_linearized
    from penchant.inference.linearized import fit_linearized_each as fit_linearized_each
    from penchant.inference.linearized import relinearize as relinearize
    from penchant.inference.linearized_estimate import LinearizedEstimate as LinearizedEstimate
    from penchant.inference.linearized_estimate import LinearizedEstimates as LinearizedEstimates
    from penchant.inference.live import Live as Live
    from penchant.inference.live import live as live
    from penchant.inference.profile_curve import profile_curve as profile_curve
    from penchant.models.checking.check_model import check_model as check_model
    from penchant.models.checking.findings import ModelCheck as ModelCheck
    from penchant.models.learning.baselines import RandomChoice as RandomChoice
    from penchant.models.learning.baselines import WinStayLoseShift as WinStayLoseShift
    from penchant.models.learning.history import HistoryRegression as HistoryRegression
    from penchant.models.learning.hybrid import GershmanHybrid as GershmanHybrid
    from penchant.models.learning.kalman import KalmanFilter as KalmanFilter
    from penchant.models.learning.known_values import KnownValues as KnownValues
    from penchant.models.learning.q_learning import QLearning as QLearning
    from penchant.models.learning.ucb1 import UCB1 as UCB1
    from penchant.models.model import Natural as Natural
    from penchant.models.model import Shape as Shape
    from penchant.models.natural_prior import NaturalPrior as NaturalPrior
    from penchant.models.offers.discounting import (
        ConstantSensitivityDiscounting as ConstantSensitivityDiscounting,
    )
    from penchant.models.offers.discounting import ExponentialDiscounting as ExponentialDiscounting
    from penchant.models.offers.discounting import HyperbolicDiscounting as HyperbolicDiscounting
    from penchant.models.offers.discounting import (
        QuasiHyperbolicDiscounting as QuasiHyperbolicDiscounting,
    )
    from penchant.models.offers.gambles import ExpectedUtility as ExpectedUtility
    from penchant.models.offers.gambles import MeanVariance as MeanVariance
    from penchant.models.offers.gambles import ProspectValue as ProspectValue
    from penchant.models.offers.offers import Trials as Trials
    from penchant.models.offers.table import trials_from_frame as trials_from_frame
    from penchant.models.population_prior import PopulationPrior as PopulationPrior
    from penchant.models.simulate import simulate as simulate
    from penchant.models.simulate import simulate_many as simulate_many
    from penchant.models.simulate import simulate_trials as simulate_trials
    from penchant.models.spatial.gp_ucb import GPUCB as GPUCB
    from penchant.models.spatial.locality import Locality as Locality
    from penchant.models.spatial.ucl import UCL as UCL
    from penchant.paper.examples import cooling_choices as cooling_choices
    from penchant.paper.examples import q_learning_choices as q_learning_choices
    from penchant.paper.examples import temperature_choices as temperature_choices
    from penchant.population.compare import compare_groups as compare_groups
    from penchant.population.comparison import GroupComparison as GroupComparison
    from penchant.population.comparison import adjusted_p_values as adjusted_p_values
    from penchant.population.estimate import PopulationEstimate as PopulationEstimate
    from penchant.population.estimate import PopulationEstimates as PopulationEstimates
    from penchant.population.growth import GrowthOrder as GrowthOrder
    from penchant.population.growth import GrowthOrders as GrowthOrders
    from penchant.population.growth import growth_order as growth_order
    from penchant.population.growth import growth_orders as growth_orders
    from penchant.population.hierarchy.contrasts import Contrast as Contrast
    from penchant.population.hierarchy.fit import fit_population as fit_population
    from penchant.population.hierarchy.mixture import PopulationMixture as PopulationMixture
    from penchant.population.hierarchy.mixture import fit_mixture as fit_mixture
    from penchant.population.hierarchy.result import PopulationFit as PopulationFit
    from penchant.population.hierarchy.sampling import PopulationSample as PopulationSample
    from penchant.population.hierarchy.subjects import PopulationSubjects as PopulationSubjects
    from penchant.population.mapping_back import back_map as back_map
    from penchant.population.pool import pool as pool
    from penchant.population.pool import pool_each as pool_each
    from penchant.population.pool import pool_jointly as pool_jointly
    from penchant.report.study_files import write_study as write_study
    from penchant.softmax.constraints import Constraints as Constraints
    from penchant.softmax.estimate import Estimate as Estimate
    from penchant.softmax.fit_each import Estimates as Estimates
    from penchant.softmax.prior import GaussianPrior as GaussianPrior
    from penchant.softmax.prior import ScaledPrior as ScaledPrior
    from penchant.softmax.probabilities import simulate_choices as simulate_choices
    from penchant.study.data import StudyData as StudyData
    from penchant.study.data import study_data as study_data
    from penchant.study.offers import study_trials as study_trials
    from penchant.study.run import run_study as run_study
    from penchant.study.study import Study as Study
    from penchant.workflow.beliefs import Latent as Latent
    from penchant.workflow.beliefs import latent as latent
    from penchant.workflow.compare import compare as compare
    from penchant.workflow.comparison import ModelComparison as ModelComparison
    from penchant.workflow.design import Design as Design
    from penchant.workflow.design import decisions_needed as decisions_needed
    from penchant.workflow.design import subjects_needed as subjects_needed
    from penchant.workflow.draws import log_likelihood_draws as log_likelihood_draws
    from penchant.workflow.draws import parameter_draws as parameter_draws
    from penchant.workflow.predictive import PredictiveCheck as PredictiveCheck
    from penchant.workflow.predictive import predictive_check as predictive_check
    from penchant.workflow.recover import Recovery as Recovery
    from penchant.workflow.recover import recover as recover
    from penchant.workflow.recover_models import ModelRecovery as ModelRecovery
    from penchant.workflow.recover_models import model_recovery as model_recovery
    from penchant.workflow.selection import ModelSelection as ModelSelection
    from penchant.workflow.selection import select_models as select_models
    from penchant.workflow.task import Task as Task

__getattr__, __dir__, __all__ = lazily(
    __name__,
    {
        "": ("datasets", "figures"),
        "penchant.bandit.beliefs": ("RewardPrior",),
        "penchant.bandit.episode": ("Episode",),
        "penchant.bandit.episode_table": ("episode_rows", "episodes_from_frame"),
        "penchant.bandit.landscape": (
            "GaussianNoise",
            "IntegerNoise",
            "Landscape",
            "cumulative_regret",
            "landscape_a",
            "landscape_b",
        ),
        "penchant.bandit.locations": ("grid",),
        "penchant.choices": ("Choices", "NaturalParameters"),
        "penchant.errors": (
            "DataError",
            "NotConvergedError",
            "NotIdentifiedError",
            "PenchantWarning",
            "SeparationError",
        ),
        "penchant.inference.estimate": ("ModelEstimate",),
        "penchant.inference.fit": ("fit",),
        "penchant.inference.fit_each": ("ModelEstimates", "fit_each"),
        "penchant.inference.linearized": (
            "compare_nominals",
            "fit_linearized",
            "fit_linearized_each",
            "relinearize",
        ),
        "penchant.inference.linearized_estimate": ("LinearizedEstimate", "LinearizedEstimates"),
        "penchant.inference.live": ("Live", "live"),
        "penchant.inference.profile_curve": ("profile_curve",),
        "penchant.models.checking.check_model": ("check_model",),
        "penchant.models.checking.findings": ("ModelCheck",),
        "penchant.models.learning.baselines": ("RandomChoice", "WinStayLoseShift"),
        "penchant.models.learning.history": ("HistoryRegression",),
        "penchant.models.learning.hybrid": ("GershmanHybrid",),
        "penchant.models.learning.kalman": ("KalmanFilter",),
        "penchant.models.learning.known_values": ("KnownValues",),
        "penchant.models.learning.q_learning": ("QLearning",),
        "penchant.models.learning.ucb1": ("UCB1",),
        "penchant.models.model": ("Natural", "Shape"),
        "penchant.models.natural_prior": ("NaturalPrior",),
        "penchant.models.offers.discounting": (
            "ConstantSensitivityDiscounting",
            "ExponentialDiscounting",
            "HyperbolicDiscounting",
            "QuasiHyperbolicDiscounting",
        ),
        "penchant.models.offers.gambles": ("ExpectedUtility", "MeanVariance", "ProspectValue"),
        "penchant.models.offers.offers": ("Trials",),
        "penchant.models.offers.table": ("trials_from_frame",),
        "penchant.models.population_prior": ("PopulationPrior",),
        "penchant.models.simulate": ("simulate", "simulate_many", "simulate_trials"),
        "penchant.models.spatial.gp_ucb": ("GPUCB",),
        "penchant.models.spatial.locality": ("Locality",),
        "penchant.models.spatial.ucl": ("UCL",),
        "penchant.paper.examples": ("cooling_choices", "q_learning_choices", "temperature_choices"),
        "penchant.population.compare": ("compare_groups",),
        "penchant.population.comparison": ("GroupComparison", "adjusted_p_values"),
        "penchant.population.estimate": ("PopulationEstimate", "PopulationEstimates"),
        "penchant.population.growth": (
            "GrowthOrder",
            "GrowthOrders",
            "growth_order",
            "growth_orders",
        ),
        "penchant.population.hierarchy.contrasts": ("Contrast",),
        "penchant.population.hierarchy.fit": ("fit_population",),
        "penchant.population.hierarchy.mixture": ("PopulationMixture", "fit_mixture"),
        "penchant.population.hierarchy.result": ("PopulationFit",),
        "penchant.population.hierarchy.sampling": ("PopulationSample",),
        "penchant.population.hierarchy.subjects": ("PopulationSubjects",),
        "penchant.population.mapping_back": ("back_map",),
        "penchant.population.pool": ("pool", "pool_each", "pool_jointly"),
        "penchant.report.study_files": ("write_study",),
        "penchant.softmax.constraints": ("Constraints",),
        "penchant.softmax.estimate": ("Estimate",),
        "penchant.softmax.fit_each": ("Estimates",),
        "penchant.softmax.prior": ("GaussianPrior", "ScaledPrior"),
        "penchant.softmax.probabilities": ("simulate_choices",),
        "penchant.study.data": ("StudyData", "study_data"),
        "penchant.study.offers": ("study_trials",),
        "penchant.study.run": ("run_study",),
        "penchant.study.study": ("Study",),
        "penchant.workflow.beliefs": ("Latent", "latent"),
        "penchant.workflow.compare": ("compare",),
        "penchant.workflow.comparison": ("ModelComparison",),
        "penchant.workflow.design": ("Design", "decisions_needed", "subjects_needed"),
        "penchant.workflow.draws": ("log_likelihood_draws", "parameter_draws"),
        "penchant.workflow.predictive": ("PredictiveCheck", "predictive_check"),
        "penchant.workflow.recover": ("Recovery", "recover"),
        "penchant.workflow.recover_models": ("ModelRecovery", "model_recovery"),
        "penchant.workflow.selection": ("ModelSelection", "select_models"),
        "penchant.workflow.task": ("Task",),
    },
)

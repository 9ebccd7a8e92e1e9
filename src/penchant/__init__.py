"""What a decision-maker wants and believes, from the choices it makes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penchant._version import __version__ as __version__

if TYPE_CHECKING:
    from penchant import datasets as datasets
    from penchant import figures as figures
    from penchant.bandit import Episode as Episode
    from penchant.bandit import GaussianNoise as GaussianNoise
    from penchant.bandit import IntegerNoise as IntegerNoise
    from penchant.bandit import Landscape as Landscape
    from penchant.bandit import RewardPrior as RewardPrior
    from penchant.bandit import cumulative_regret as cumulative_regret
    from penchant.bandit import episode_rows as episode_rows
    from penchant.bandit import episodes_from_frame as episodes_from_frame
    from penchant.bandit import grid as grid
    from penchant.bandit import landscape_a as landscape_a
    from penchant.bandit import landscape_b as landscape_b
    from penchant.choices import Choices as Choices
    from penchant.choices import NaturalParameters as NaturalParameters
    from penchant.errors import DataError as DataError
    from penchant.errors import NotConvergedError as NotConvergedError
    from penchant.errors import NotIdentifiedError as NotIdentifiedError
    from penchant.errors import PenchantWarning as PenchantWarning
    from penchant.errors import SeparationError as SeparationError
    from penchant.inference import LinearizedEstimate as LinearizedEstimate
    from penchant.inference import LinearizedEstimates as LinearizedEstimates
    from penchant.inference import Live as Live
    from penchant.inference import ModelEstimate as ModelEstimate
    from penchant.inference import ModelEstimates as ModelEstimates
    from penchant.inference import compare_nominals as compare_nominals
    from penchant.inference import fit as fit
    from penchant.inference import fit_each as fit_each
    from penchant.inference import fit_linearized as fit_linearized
    from penchant.inference import fit_linearized_each as fit_linearized_each
    from penchant.inference import live as live
    from penchant.inference import profile_curve as profile_curve
    from penchant.inference import relinearize as relinearize
    from penchant.models import GPUCB as GPUCB
    from penchant.models import UCB1 as UCB1
    from penchant.models import UCL as UCL
    from penchant.models import ConstantSensitivityDiscounting as ConstantSensitivityDiscounting
    from penchant.models import ExpectedUtility as ExpectedUtility
    from penchant.models import ExponentialDiscounting as ExponentialDiscounting
    from penchant.models import GershmanHybrid as GershmanHybrid
    from penchant.models import HistoryRegression as HistoryRegression
    from penchant.models import HyperbolicDiscounting as HyperbolicDiscounting
    from penchant.models import KalmanFilter as KalmanFilter
    from penchant.models import KnownValues as KnownValues
    from penchant.models import Locality as Locality
    from penchant.models import MeanVariance as MeanVariance
    from penchant.models import ModelCheck as ModelCheck
    from penchant.models import Natural as Natural
    from penchant.models import NaturalPrior as NaturalPrior
    from penchant.models import ProspectValue as ProspectValue
    from penchant.models import QLearning as QLearning
    from penchant.models import QuasiHyperbolicDiscounting as QuasiHyperbolicDiscounting
    from penchant.models import RandomChoice as RandomChoice
    from penchant.models import Shape as Shape
    from penchant.models import Trials as Trials
    from penchant.models import WinStayLoseShift as WinStayLoseShift
    from penchant.models import check_model as check_model
    from penchant.models import cooling_choices as cooling_choices
    from penchant.models import q_learning_choices as q_learning_choices
    from penchant.models import simulate as simulate
    from penchant.models import simulate_many as simulate_many
    from penchant.models import simulate_trials as simulate_trials
    from penchant.models import temperature_choices as temperature_choices
    from penchant.models import trials_from_frame as trials_from_frame
    from penchant.population import GroupComparison as GroupComparison
    from penchant.population import GrowthOrder as GrowthOrder
    from penchant.population import GrowthOrders as GrowthOrders
    from penchant.population import PopulationEstimate as PopulationEstimate
    from penchant.population import PopulationEstimates as PopulationEstimates
    from penchant.population import adjusted_p_values as adjusted_p_values
    from penchant.population import back_map as back_map
    from penchant.population import compare_groups as compare_groups
    from penchant.population import growth_order as growth_order
    from penchant.population import growth_orders as growth_orders
    from penchant.population import pool as pool
    from penchant.population import pool_each as pool_each
    from penchant.population import pool_jointly as pool_jointly
    from penchant.report import write_study as write_study
    from penchant.softmax import Constraints as Constraints
    from penchant.softmax import Estimate as Estimate
    from penchant.softmax import Estimates as Estimates
    from penchant.softmax import GaussianPrior as GaussianPrior
    from penchant.softmax import ScaledPrior as ScaledPrior
    from penchant.softmax import simulate_choices as simulate_choices
    from penchant.study import Design as Design
    from penchant.study import Latent as Latent
    from penchant.study import ModelComparison as ModelComparison
    from penchant.study import ModelRecovery as ModelRecovery
    from penchant.study import ModelSelection as ModelSelection
    from penchant.study import PredictiveCheck as PredictiveCheck
    from penchant.study import Recovery as Recovery
    from penchant.study import Study as Study
    from penchant.study import StudyData as StudyData
    from penchant.study import Task as Task
    from penchant.study import compare as compare
    from penchant.study import decisions_needed as decisions_needed
    from penchant.study import latent as latent
    from penchant.study import log_likelihood_draws as log_likelihood_draws
    from penchant.study import model_recovery as model_recovery
    from penchant.study import parameter_draws as parameter_draws
    from penchant.study import predictive_check as predictive_check
    from penchant.study import recover as recover
    from penchant.study import run_study as run_study
    from penchant.study import select_models as select_models
    from penchant.study import study_data as study_data
    from penchant.study import study_trials as study_trials
    from penchant.study import subjects_needed as subjects_needed

# Loaded at first use, so that `import penchant` and `penchant --help` answer at once.
_HOMES = {
    "penchant.bandit": (
        "Episode",
        "GaussianNoise",
        "IntegerNoise",
        "Landscape",
        "RewardPrior",
        "cumulative_regret",
        "episode_rows",
        "episodes_from_frame",
        "grid",
        "landscape_a",
        "landscape_b",
    ),
    "penchant.choices": ("Choices", "NaturalParameters"),
    "penchant.errors": (
        "DataError",
        "NotConvergedError",
        "NotIdentifiedError",
        "PenchantWarning",
        "SeparationError",
    ),
    "penchant.inference": (
        "LinearizedEstimate",
        "LinearizedEstimates",
        "Live",
        "ModelEstimate",
        "ModelEstimates",
        "compare_nominals",
        "fit",
        "fit_each",
        "fit_linearized",
        "fit_linearized_each",
        "live",
        "profile_curve",
        "relinearize",
    ),
    "penchant.models": (
        "ConstantSensitivityDiscounting",
        "ExpectedUtility",
        "ExponentialDiscounting",
        "GPUCB",
        "GershmanHybrid",
        "HistoryRegression",
        "HyperbolicDiscounting",
        "KalmanFilter",
        "KnownValues",
        "Locality",
        "MeanVariance",
        "ModelCheck",
        "Natural",
        "ProspectValue",
        "NaturalPrior",
        "QLearning",
        "QuasiHyperbolicDiscounting",
        "RandomChoice",
        "Shape",
        "Trials",
        "UCB1",
        "UCL",
        "WinStayLoseShift",
        "check_model",
        "cooling_choices",
        "q_learning_choices",
        "simulate",
        "simulate_many",
        "simulate_trials",
        "temperature_choices",
        "trials_from_frame",
    ),
    "penchant.population": (
        "GroupComparison",
        "GrowthOrder",
        "GrowthOrders",
        "PopulationEstimate",
        "PopulationEstimates",
        "adjusted_p_values",
        "back_map",
        "compare_groups",
        "growth_order",
        "growth_orders",
        "pool",
        "pool_each",
        "pool_jointly",
    ),
    "penchant.report": ("write_study",),
    "penchant.softmax": (
        "Constraints",
        "Estimate",
        "Estimates",
        "GaussianPrior",
        "ScaledPrior",
        "simulate_choices",
    ),
    "penchant.study": (
        "Design",
        "Latent",
        "ModelComparison",
        "ModelRecovery",
        "ModelSelection",
        "PredictiveCheck",
        "Recovery",
        "Study",
        "StudyData",
        "Task",
        "compare",
        "decisions_needed",
        "latent",
        "log_likelihood_draws",
        "model_recovery",
        "parameter_draws",
        "predictive_check",
        "recover",
        "run_study",
        "select_models",
        "study_data",
        "study_trials",
        "subjects_needed",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_PARTS = ("datasets", "figures")  # used by their own name: penchant.figures.forest(...)

__all__ = sorted([*_HOME_OF, *_PARTS])


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"penchant.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'penchant' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF, *_PARTS])

"""Penchant estimates what decision-makers want and believe from the choices they make."""

from typing import TYPE_CHECKING

from penchant._lazy_imports import lazy_exports
from penchant._version import __version__ as __version__

if TYPE_CHECKING:
    from penchant import datasets as datasets
    from penchant import errors as errors
    from penchant import figures as figures
    from penchant import models as models
    from penchant import paper as paper
    from penchant import results as results
    from penchant.assistance.assistant_beliefs import Field as Field
    from penchant.assistance.assistant_beliefs import Trust as Trust
    from penchant.assistance.poor_performance_warning import train_warning as train_warning
    from penchant.assistance.shared_autonomy import assist as assist
    from penchant.assistance.simulated_team import simulate_team as simulate_team
    from penchant.bandit.beliefs import RewardPrior as RewardPrior
    from penchant.bandit.episode import Episode as Episode
    from penchant.bandit.episode_table import episodes_from_frame as episodes_from_frame
    from penchant.bandit.landscape import GaussianNoise as GaussianNoise
    from penchant.bandit.landscape import Landscape as Landscape
    from penchant.bandit.landscape import grid as grid
    from penchant.choices import Choices as Choices
    from penchant.choices.offers import Offers as Offers
    from penchant.choices.offers import offers_from_frame as offers_from_frame
    from penchant.errors import DataError as DataError
    from penchant.inference.fit import fit as fit
    from penchant.inference.fit_each import fit_each as fit_each
    from penchant.inference.linearized_model import fit_linearized as fit_linearized
    from penchant.inference.online_estimation import live as live
    from penchant.models.learning.kalman import KalmanFilter as KalmanFilter
    from penchant.models.learning.q_learning import QLearning as QLearning
    from penchant.models.offers.discounting import HyperbolicDiscounting as HyperbolicDiscounting
    from penchant.models.priors import NaturalPrior as NaturalPrior
    from penchant.models.priors import PopulationPrior as PopulationPrior
    from penchant.models.simulate import simulate as simulate
    from penchant.models.spatial.gp_ucb import GPUCB as GPUCB
    from penchant.models.spatial.map_basis import MapBasis as MapBasis
    from penchant.models.spatial.map_basis import MapPrior as MapPrior
    from penchant.models.spatial.ucl import UCL as UCL
    from penchant.models.task import Task as Task
    from penchant.population.compare_groups import compare_groups as compare_groups
    from penchant.population.hierarchy.fit import fit_population as fit_population
    from penchant.population.hierarchy.mixture import fit_mixture as fit_mixture
    from penchant.population.pooled_estimates import pool as pool
    from penchant.reading.read import read as read
    from penchant.report.study import study as study
    from penchant.scale.chunked_scan import scan as scan
    from penchant.softmax.constraints import Constraints as Constraints
    from penchant.softmax.estimate import Estimate as Estimate
    from penchant.softmax.prior import GaussianPrior as GaussianPrior
    from penchant.softmax.prior import ScaledPrior as ScaledPrior
    from penchant.studies.study_data import read_study as read_study
    from penchant.tables.schema import Schema as Schema
    from penchant.workflow.adaptive_questions import ask as ask
    from penchant.workflow.compare_models import compare_models as compare_models
    from penchant.workflow.design_simulation import DetectDifference as DetectDifference
    from penchant.workflow.design_simulation import NarrowIntervals as NarrowIntervals
    from penchant.workflow.design_simulation import design as design
    from penchant.workflow.latent_variables import beliefs as beliefs
    from penchant.workflow.model_recovery import recover_models as recover_models
    from penchant.workflow.parameter_recovery import recover as recover
    from penchant.workflow.predictive_checks import predictive_check as predictive_check

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)

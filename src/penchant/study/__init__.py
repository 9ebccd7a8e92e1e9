"""A study of many subjects, from a table of choices to tables and tests."""

from penchant.study.compare import compare
from penchant.study.data import StudyData, study_data
from penchant.study.decisions_needed import decisions_needed
from penchant.study.design import Design
from penchant.study.latent import Latent, latent
from penchant.study.model_comparison import ModelComparison
from penchant.study.model_recovery import ModelRecovery, model_recovery
from penchant.study.parameter_draws import log_likelihood_draws, parameter_draws
from penchant.study.plan import PAPER_NOMINALS, Plan
from penchant.study.predictive import predictive_check
from penchant.study.predictive_result import PredictiveCheck
from penchant.study.recover import recover
from penchant.study.recovery import Recovery
from penchant.study.run import run_study
from penchant.study.selection import ModelSelection, select_models
from penchant.study.study import Study
from penchant.study.subjects_needed import subjects_needed
from penchant.study.tables import TABLES
from penchant.study.task import Task
from penchant.study.trial_data import study_trials

__all__ = [
    "PAPER_NOMINALS",
    "TABLES",
    "Design",
    "Latent",
    "ModelComparison",
    "ModelRecovery",
    "ModelSelection",
    "Plan",
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
]

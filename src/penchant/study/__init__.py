"""A study of many subjects, from a table of choices to tables and tests."""

from penchant.study.compare import compare
from penchant.study.data import StudyData, study_data
from penchant.study.model_comparison import ModelComparison
from penchant.study.plan import PAPER_NOMINALS, Plan
from penchant.study.recover import recover
from penchant.study.recovery import Recovery
from penchant.study.run import run_study
from penchant.study.selection import ModelSelection, select_models
from penchant.study.study import Study
from penchant.study.tables import TABLES
from penchant.study.task import Task

__all__ = [
    "PAPER_NOMINALS",
    "TABLES",
    "ModelComparison",
    "ModelSelection",
    "Plan",
    "Recovery",
    "Study",
    "StudyData",
    "Task",
    "compare",
    "recover",
    "run_study",
    "select_models",
    "study_data",
]

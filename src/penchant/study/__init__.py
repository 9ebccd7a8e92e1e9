"""A study of many subjects, from a table of choices to tables and tests."""

from penchant.study.data import StudyData, study_data
from penchant.study.plan import PAPER_NOMINALS, Plan
from penchant.study.run import run_study
from penchant.study.study import Study
from penchant.study.tables import TABLES

__all__ = ["PAPER_NOMINALS", "TABLES", "Plan", "Study", "StudyData", "run_study", "study_data"]

"""Reports: one page with everything, and the tables and figures beside it."""

from penchant.report.study_files import write_study

__all__ = ["write_study"]

"""Files of clinic tasks and of survey programs are read right, asked about, or refused with why."""

from collections import Counter

import pytest

import messy_words
from messy_clinic import EVERY, made_clinic
from messy_judge import judged
from messy_surveys import SURVEYS, made_survey

WORDS = [getattr(messy_words, name) for name in ("FIRST", "SECOND", "THIRD", "FOURTH")]
FAILED = ("wrong", "traceback", "stuck")
KINDS = [(made_clinic, family) for family in EVERY] + [(made_survey, f) for f in SURVEYS]


@pytest.mark.parametrize(("make", "family"), KINDS)
def test_a_file_of_a_task_or_a_survey_is_read_right_asked_about_or_refused(make, family):
    for seed in (1, 2):
        verdict = judged(make(seed, family, WORDS[seed % 4]))
        assert verdict.word not in FAILED, verdict.detail


@pytest.mark.slow
@pytest.mark.parametrize(("make", "family"), KINDS)
def test_no_file_of_a_task_or_a_survey_is_misread_without_a_word(make, family):
    verdicts = {seed: judged(make(seed, family, WORDS[seed % 4])) for seed in range(100)}
    found = Counter(verdict.word for verdict in verdicts.values())
    misread = {seed: own.detail for seed, own in verdicts.items() if own.word in FAILED[:2]}
    assert not misread, found
    assert found["stuck"] <= 3, found  # an error that none of its remedies mends

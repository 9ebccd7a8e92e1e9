"""Messy files with a known truth are read right, or asked about with a remedy that works."""

from collections import Counter

import pytest

import messy_words
from messy_judge import judged
from messy_offers import FAMILIES, made

WORDS = {name: getattr(messy_words, name) for name in ("FIRST", "SECOND", "THIRD", "FOURTH")}
FAILED = ("wrong", "traceback", "stuck")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_messy_file_is_read_right_or_asked_about(family):
    for seed, words in ((1, "FIRST"), (2, "SECOND")):
        verdict = judged(made(seed, family, WORDS[words]))
        assert verdict.word not in FAILED, verdict.detail


@pytest.mark.slow
@pytest.mark.parametrize("words", WORDS)
def test_no_messy_file_is_misread_without_a_word(words):
    verdicts = {seed: judged(made(seed, None, WORDS[words])) for seed in range(300)}
    found = Counter(verdict.word for verdict in verdicts.values())
    misread = {seed: own.detail for seed, own in verdicts.items() if own.word in FAILED[:2]}
    assert not misread, found
    assert found["stuck"] <= 15, found  # an error that none of its remedies mends

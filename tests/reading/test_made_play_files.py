"""Files of play in random formats, names, codes and mess: read as they are, or asked about."""

import pytest

from play_files import words
from play_files.judge import judged
from play_files.layouts import made_file

FEW = (0, 2, 9, 12, 17, 27, 30, 33, 44, 46, 65, 126)  # of many formats, read within seconds


STUCK, LONG = 0.08, 0.25  # shares of files that nothing leads on from, or only after three commands


def judged_files(folder, vocabulary, seeds):
    """{seed: (file, verdict)} of files that are made, read, and answered for."""
    found = {}
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        made = made_file(seed, vocabulary, place)
        found[seed] = made, judged(made)
    return found


def failures(found):
    """{seed: what became of the file} of files that were read wrongly, or refused for good."""
    return {
        seed: f"{verdict.outcome}: {made.layout} {made.mess} {verdict.words}"
        for seed, (made, verdict) in found.items()
        if verdict.failed
    }


def test_made_files_are_read_as_they_are_or_asked_about(tmp_path):
    assert not failures(judged_files(tmp_path, words.FIRST, FEW))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["FIRST", "SECOND", "THIRD", "FOURTH", "FIFTH"])
def test_no_file_is_read_as_what_it_is_not(tmp_path, name):
    found = judged_files(tmp_path, getattr(words, name), range(30_000, 30_300))
    failed = failures(found)
    assert not {seed: said for seed, said in failed.items() if said.startswith("misread")}
    assert len(failed) <= STUCK * len(found), failed
    long = [seed for seed, (_, verdict) in found.items() if verdict.commands > 3]
    assert len(long) <= LONG * len(found), long

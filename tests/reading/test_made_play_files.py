"""Files of play in random formats, names, codes and mess: read as they are, or asked about."""

import pytest

from play_files import words
from play_files.judge import judged
from play_files.layouts import made_file

FEW = (0, 2, 9, 12, 17, 27, 30, 33, 44, 46, 65, 126)  # of many formats, read within seconds


def verdicts(folder, vocabulary, seeds):
    """{seed: what became of the file} of files that were read wrongly, or refused for good."""
    found = {}
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        made = made_file(seed, vocabulary, place)
        verdict = judged(made)
        if verdict.failed:
            found[seed] = f"{verdict.outcome}: {made.layout} {made.mess} {verdict.words}"
    return found


def test_made_files_are_read_as_they_are_or_asked_about(tmp_path):
    assert not verdicts(tmp_path, words.FIRST, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["FIRST", "SECOND", "THIRD", "FOURTH"])
def test_no_file_is_read_as_what_it_is_not(tmp_path, name):
    found = verdicts(tmp_path, getattr(words, name), range(30_000, 30_300))
    assert not {seed: said for seed, said in found.items() if said.startswith("misread")}

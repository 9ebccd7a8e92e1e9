"""Files in random names, codes and mess: never misread, and read without a question where plain."""

import random

import pytest

import penchant as pn
from reading.made_files import FAMILIES, difference

N = 60  # files of each family


def outcome(family, seed, folder):
    """The file, and "right", "asked", or what went wrong."""
    rng = random.Random(seed)
    made = FAMILIES[family](rng)
    place = made.write(folder, rng)
    try:
        reading = pn.read(place)
    except pn.errors.SchemaQuestions as error:
        return made, "asked", [question.role for question in error.questions]
    wrong = difference(made, reading)
    return made, "right" if wrong is None else "wrong", wrong


@pytest.mark.parametrize("family", FAMILIES)
def test_files_are_read_as_they_are_or_asked_about(family, tmp_path):
    found = []
    for seed in range(N):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found.append((seed, *outcome(family, seed, folder)))
    assert not [(seed, said) for seed, _, word, said in found if word == "wrong"]
    asked = [(seed, said) for seed, made, word, said in found if word == "asked" and not made.trap]
    assert not asked  # names say all
    assert sum(word == "asked" for _, _, word, _ in found) <= 0.25 * N

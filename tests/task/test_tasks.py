"""What choices pay: drawn from keys, the same whenever they are drawn."""

import numpy as np
import pytest

pytest.importorskip("sqlalchemy", reason="penchant[task] is not installed")

from penchant.task.choice_tasks import (
    RewardNoise,
    random_integer,
    random_normal,
    random_permutation,
    random_uniform,
)
from penchant.task.study_plan import read_study_text


def task_of(text):
    return read_study_text(text).cells[0].blocks[0].task


def test_numbers_from_keys_are_uniform_and_independent_of_neighbours():
    drawn = np.array([random_uniform(3, "reward", 1, 0, t) for t in range(4000)])
    assert drawn.min() > 0 and drawn.max() < 1
    assert abs(drawn.mean() - 0.5) < 4 / np.sqrt(12 * 4000)  # four standard errors
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 4 / np.sqrt(4000)
    normals = np.array([random_normal(3, t) for t in range(4000)])
    assert abs(normals.std() - 1) < 4 / np.sqrt(8000)
    assert {random_integer(3, 1, t) for t in range(50)} == {0, 1, 2}


def test_keys_of_other_kinds_are_other_keys():
    assert random_uniform(1, "2") != random_uniform("1", 2) and random_uniform(
        1, 23
    ) != random_uniform(12, 3)


def test_integer_noise_has_the_papers_variance():
    noise = RewardNoise("integer", 5)
    drawn = np.array([noise.reward(30, (t,)) for t in range(4000)])
    assert set(drawn) == set(range(25, 36)) and noise.variance == 10.0
    assert abs(drawn.var() - 10) < 0.8  # four standard errors


def test_a_restless_bandit_walks_within_its_bounds_and_the_same_way_again():
    task = task_of(
        "[[block]]\ntask='bandit'\nmeans=[30,60,5]\nrewards='restless'\nstep_sd=8\ndecisions=200"
    )
    walk = (1, "walk", 2, 0)
    means = np.array([task.mean_rewards_at(t, walk) for t in range(200)])
    assert means.min() >= 0 and means.max() <= 100 and (means[0] == [30, 60, 5]).all()
    assert 6 < np.diff(means, axis=0).std() < 10
    assert (
        task.mean_rewards_at(150, walk)
        == task.mean_rewards_at(150, walk)
        != task.mean_rewards_at(150, (2, "walk"))
    )


def test_a_reversal_moves_the_means_on():
    text = "[[block]]\ntask='bandit'\nmeans=[80,20,50]\nrewards='reversal'\nreversals=[10,25]"
    task = task_of(text)
    found = [task.mean_rewards_at(t, ()) for t in (9, 10, 24, 25)]
    assert found == [(80, 20, 50), (50, 80, 20), (50, 80, 20), (20, 50, 80)]


def test_offers_are_shuffled_by_person_and_all_of_them_come():
    rows = "".join(f"\n[[block.offer]]\namount=[{i},50]\ndelay=[0,30]" for i in range(12))
    task = task_of("[[block]]\ntask='offers'" + rows)
    first = [task.offer(t, (1, "walk", 1, 0))["amount"][0] for t in range(12)]
    other = [task.offer(t, (1, "walk", 2, 0))["amount"][0] for t in range(12)]
    assert sorted(first) == sorted(other) == list(range(12)) and first != other
    assert random_permutation(4, 1) == random_permutation(4, 1)


def test_what_the_page_is_told_of_a_task_holds_no_mean():
    for text in (
        "[[block]]\ntask='grid'",
        "[[block]]\ntask='bandit'\nmeans=[31,62]",
    ):
        assert set(task_of(text).page_settings()) <= {"kind", "width", "height", "options"}

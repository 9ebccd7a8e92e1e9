"""Memory for variables is filled again, and never while somebody looks at it."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import penchant as pn
from penchant.models.record import KEPT, ROOMS, empty

SHAPE = (KEPT.start // 50, 10, 10)


def owner(array):
    """What an array is a part of."""
    return id(array if array.base is None else array.base)


def test_an_array_that_nobody_holds_is_given_again():
    def owners():
        first = empty(*SHAPE)
        whose = owner(first)
        del first
        return whose, owner(empty(*SHAPE)), owner(empty(SHAPE[0], 9, 10))  # who asks for less, too

    with ThreadPoolExecutor(1) as pool:  # which has nothing yet, whatever was asked for before
        assert len({*pool.submit(owners).result()}) == 1


def test_a_part_of_an_array_keeps_it():
    array = empty(*SHAPE)
    array[:] = 3.0
    part, whose = array[5:9, 2, ::3], owner(array)
    del array
    other = empty(*SHAPE)
    other[:] = 7.0
    assert owner(other) != whose
    assert (part == 3.0).all()


def test_arrays_that_are_held_never_overlap_however_many_there_are():
    held = [empty(*SHAPE) for _ in range(3 * ROOMS)]
    for k, array in enumerate(held):
        array[:] = k
    assert all((array == k).all() for k, array in enumerate(held))


def test_threads_have_memory_of_their_own():
    def fill(k):
        array = empty(*SHAPE)
        array[:] = k
        return float(array.min()), float(array.max())

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(fill, range(200)))
    assert found == [(k, k) for k in range(200)]


def test_variables_that_a_user_holds_stay_as_they_are():
    model = pn.QLearning(2)
    rng = np.random.default_rng(1)
    one, other = (
        pn.Episode(rng.integers(0, 2, KEPT.start), rng.normal(size=KEPT.start)) for _ in range(2)
    )
    held = model.explanatory(one, 0.3)
    before = held.copy()
    for rate in (0.1, 0.5):
        model.explanatory(other, rate)
    np.testing.assert_array_equal(held, before)
    assert held.base is None  # and no part of more memory

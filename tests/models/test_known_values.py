"""Softmax on known values: what time makes of them, and the same choices given by values."""

import numpy as np
import pytest

import penchant as pn


def test_known_values_are_multiplied_with_what_time_makes_of_them():
    episode = pn.Episode(
        [1, 0, None, 1, 0], [1.0, 2.0, None, 3.0, None], is_choice=[False] + 4 * [True]
    )
    t = np.array([1, 1, 2, 3, 4])  # what was shown comes before the first decision
    values = np.array([0.5, 2.0])
    for cooling, psi, factor in (
        ("constant", (), np.ones(5)),
        ("logarithmic", (), np.log(t)),
        ("power", (0.7,), t**0.7),
    ):
        x = pn.models.KnownValues([0.5, 2.0], cooling=cooling).explanatory(episode, *psi)
        np.testing.assert_allclose(x[:, :, 0], factor[:, None] * values, rtol=1e-14)


def test_known_values_agree_with_choices_given_by_values():
    rng = np.random.default_rng(1)
    values = [0.3, 1.1, 0.6]
    chosen = rng.choice(3, 50, p=[0.2, 0.5, 0.3])
    for cooling, choices in (
        ("constant", pn.paper.temperature_choices),
        ("logarithmic", pn.paper.cooling_choices),
    ):
        model = pn.models.KnownValues(values, cooling=cooling)
        one = pn.fit(pn.Episode(chosen, np.zeros(50)), model)
        other = pn.fit(choices(np.tile(values, (50, 1)), chosen))
        np.testing.assert_allclose(one.theta, other.theta, rtol=1e-8)
        assert one.parameters[0].name == other.parameters[0].name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": [1.0]}, "values must be two or more finite numbers"),
        ({"values": [1.0, np.nan]}, "values must be two or more finite numbers"),
        ({"values": [[1.0, 2.0]]}, "values must be two or more finite numbers"),
        ({"cooling": "slow"}, "cooling must be 'constant', 'logarithmic' or 'power'; got 'slow'"),
    ],
)
def test_impossible_known_values_are_refused(options, message):
    with pytest.raises(pn.errors.DataError, match=message):
        pn.models.KnownValues(**{"values": [1.0, 2.0], **options})

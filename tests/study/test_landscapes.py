"""What the options paid: known, given beside the choices, or estimated."""

import re

import numpy as np
import pytest

import penchant as pn
from penchant.errors import DataError
from penchant.studies.landscapes import MIN_REWARDS_OF_BEST, landscapes_of
from small_study import HEIGHT, MEANS, N_OPTIONS, WIDTH, data, table

PLACES = pn.grid(WIDTH, HEIGHT)


def landscapes(known=None, frame=None, locations=PLACES, **options):
    return landscapes_of(data(frame, **options), N_OPTIONS, locations, known)


def refused(message, *arguments, **options):
    with pytest.raises(DataError, match=re.escape(message)):
        landscapes(*arguments, **options)


def test_known_landscapes_are_taken_as_they_are():
    found = landscapes(MEANS)
    np.testing.assert_array_equal(found.means, [MEANS["A"], MEANS["B"]])
    assert found.best.tolist() == [15.0, 13.0]
    assert found.of_episode.tolist() == [0] * 5 + [1] * 4
    assert found.source == "known"


def test_one_landscape_holds_for_all():
    for known in (MEANS["A"], pn.Landscape(MEANS["A"], pn.GaussianNoise(2.5))):
        found = landscapes(known)
        assert found.of_episode.tolist() == [0] * 9
        np.testing.assert_array_equal(found.means, [MEANS["A"]])


def test_labels_of_several_columns_are_compared_as_text():
    frame = table().assign(number=np.where(table().landscape == "A", 1, 2))
    known = {("A", "1"): MEANS["A"], ("B", "2"): MEANS["B"]}
    found = landscapes(known, frame, landscape_by=["landscape", "number"])
    np.testing.assert_array_equal(found.means, [MEANS["A"], MEANS["B"]])


def test_expected_rewards_tell_the_options_chosen_and_neighbours_the_others():
    frame = table()
    frame["mean"] = [MEANS[p][c] for p, c in zip(frame.landscape, frame.choice, strict=True)]
    unseen = sorted(set(range(N_OPTIONS)) - set(frame.choice[frame.landscape == "A"]))
    frame = frame[~((frame.landscape == "A") & (frame.choice == 5))]
    found = landscapes(frame=frame, expected="mean", gaps="order")
    assert found.source == "expected"
    seen = [i for i in range(N_OPTIONS) if i not in (*unseen, 5)]
    np.testing.assert_array_equal(found.means[0][seen], MEANS["A"][seen])
    if {1, 4, 6, 9} <= set(seen):
        assert found.means[0][5] == pytest.approx(MEANS["A"][[1, 4, 6, 9]].mean(), rel=1e-12)


def test_estimated_landscapes_are_means_of_rewards():
    found = landscapes()
    rows = table()[table().landscape == "B"]
    by_option = rows.groupby("choice").reward.agg(["mean", "count"])
    np.testing.assert_allclose(
        found.means[1][by_option.index], by_option["mean"], rtol=1e-12
    )  # sums in another order
    often = by_option[by_option["count"] >= MIN_REWARDS_OF_BEST]
    assert found.best[1] == pytest.approx(often["mean"].max(), rel=1e-12)
    assert found.source == "estimated"
    assert "estimated from the data" in found.description


def test_the_noise_is_the_pooled_variance_around_the_means():
    rows = table()
    left = rows.reward - rows.groupby(["landscape", "choice"]).reward.transform("mean")
    freedom = len(rows) - rows.groupby(["landscape", "choice"]).ngroups
    assert landscapes().noise_variance == pytest.approx((left**2).sum() / freedom, rel=1e-10)


def test_rewards_of_0_and_1_are_told_from_others():
    assert not landscapes().binary
    assert landscapes(frame=table().assign(reward=(table().reward > 8).astype(float))).binary


def test_without_places_options_nobody_chose_have_the_mean_of_the_others():
    frame = table()[table().choice != 5]
    found = landscapes(frame=frame, locations=None, gaps="order")
    others = np.delete(found.means[0], 5)
    chosen = sorted(set(frame.choice[frame.landscape == "A"]))
    assert found.means[0][5] == pytest.approx(found.means[0][chosen].mean(), rel=1e-12)
    assert np.isfinite(others).all()


def test_every_landscape_played_must_be_known():
    refused(
        "landscape must hold mean rewards for every landscape that was played; got none for B.\n"
        "Add "
        "them, or name what tells landscapes apart with `landscape_by`.",
        {"A": MEANS["A"]},
    )


def test_a_landscape_has_one_finite_mean_per_option():
    refused(
        "landscape must have one mean reward for each of 12 options; got shape (5,).\nMatch them.",
        np.ones(5),
    )
    refused("landscape A must be finite; got nan.", MEANS | {"A": np.full(N_OPTIONS, np.nan)})


def test_expected_rewards_of_an_option_agree():
    frame = table().assign(mean=table().reward)
    refused(
        "expected must be the same wherever an option is chosen in a landscape; got",
        frame=frame,
        expected="mean",
    )
